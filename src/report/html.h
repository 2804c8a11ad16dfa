/* SPDX-License-Identifier: Apache-2.0 */
/* html.h: plans as one HTML file that needs nothing else: no network, no other file, no library. */
#ifndef FUSESIM_REPORT_HTML_H
#define FUSESIM_REPORT_HTML_H

#include "report/plan_gates.h"
#include <stdio.h>

/* The plans of one workload, the GPUs one after the other. judged: the gates of each. */
void fsim_report_html(FILE *out, const fsim_prediction *p, const fsim_judged *judged, int count);

#endif
