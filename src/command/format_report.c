/* SPDX-License-Identifier: Apache-2.0 */
/* --report: one HTML file. */
#include "command/command.h"
#include "report/html.h"

static bool show_plans(FILE *out, const fsim_context *c, const void *what)
{
    const fsim_shown_plans *p = what;
    (void)c;
    fsim_report_html(out, p->at, p->judged, p->count);
    return true;
}

const fsim_renderer fsim_as_report[FSIM_RESULT_KINDS] = {[FSIM_RESULT_PLANS] = {.show = show_plans}};
