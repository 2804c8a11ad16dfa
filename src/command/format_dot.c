/* SPDX-License-Identifier: Apache-2.0 */
/* --dot: the plan of one GPU as a graph, for Graphviz. */
#include "command/command.h"

static bool show_plans(FILE *out, const fsim_context *c, const void *what)
{
    const fsim_shown_plans *p = what;
    (void)c;
    fsim_report_dot(out, p->at);
    return true;
}

const fsim_renderer fsim_as_dot[FSIM_RESULT_KINDS] = {[FSIM_RESULT_PLANS] = {.show = show_plans}};
