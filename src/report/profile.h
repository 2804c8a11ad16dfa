/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h: the result of an import: what was matched with the plan, and what was not and why. */
#ifndef FUSESIM_REPORT_PROFILE_H
#define FUSESIM_REPORT_PROFILE_H

#include "evidence/profile_rows.h"
#include "report/table.h"

/* all: every line; else the dearest 20 of what is left. */
void fsim_report_import(const fsim_page *page, const fsim_import *x, bool all);
/* The same as JSON: rows, matches, and what was left with the reason. */
void fsim_json_import(FILE *out, const fsim_import *x);

#endif
