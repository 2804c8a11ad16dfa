/* SPDX-License-Identifier: Apache-2.0 */
/* explain: can two operators share a kernel, and at what cost? */
#include "command/command.h"
#include "graph/find.h"

int fsim_run_explain(fsim_context *c)
{
    fsim_inputs in;
    int status = fsim_read_inputs(c, &in);
    if (status)
        return status;
    const int a = fsim_node_named(c->arena, c->diag, in.graph, c->args.at[1]),
              b = fsim_node_named(c->arena, c->diag, in.graph, c->args.at[2]);
    if (a >= 0 && a == b)
        fsim_error(c->diag, fsim_command_line, "'%s' and '%s' are the same primitive", c->args.at[1], c->args.at[2]);
    if ((status = fsim_conclude(c, FSIM_EXIT_OK)) || (status = fsim_open_outputs(c)))
        return status;
    fsim_catch_interrupt();
    const fsim_explanation found = fsim_explain(in.graph, in.hw[0], &in.how, a, b, c->arena);
    const fsim_shown_explanation x = {found.graph, in.hw[0], found};
    status = fsim_deliver(c, &x);
    return status ? status : fsim_interrupted_status();
}
