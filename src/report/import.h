/* SPDX-License-Identifier: Apache-2.0 */
/* import.h: what was found in another tool's profile: what was matched to the plan, and what was not and why. */
#ifndef FUSESIM_REPORT_IMPORT_H
#define FUSESIM_REPORT_IMPORT_H

#include "measure/import.h"
#include "report/table.h"

/* all: every line; else the dearest 20 of what is left. */
void fsim_report_import(const fsim_page *page, const fsim_import *x, bool all);
void fsim_json_import(FILE *out, const fsim_import *x);

#endif
