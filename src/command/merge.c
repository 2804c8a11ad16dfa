/* SPDX-License-Identifier: Apache-2.0 */
/* merge: the shards of a sweep as what the sweep would have been on one machine. */
#include "command/command.h"

#include "command/sweep_kept.h"

int fsim_run_merge(fsim_context *c)
{
    fsim_sweep x;
    const char **kernels = NULL;
    if (c->args.count == 0) {
        fsim_error(c->diag, fsim_command_line, "merge wants the files that 'fusesim sweep --shard I/N -o FILE' wrote");
        return fsim_usage_status(c);
    }
    if (!fsim_shards_read(c, &c->args, &x, &kernels))
        return fsim_conclude(c, FSIM_EXIT_OK);
    if (!fsim_sweep_limits_read(c->arena, c->diag, c->set.find, c->set.under.at, c->set.under.count, &x))
        return fsim_usage_status(c);
    int status = fsim_open_outputs_and(c, "-o", c->set.output);
    if (status)
        return status;
    fsim_sweep_conclude(&x, kernels, c->arena);
    if (c->own)
        fsim_sweep_write(fsim_stream(c->own), c->set.output, &x);
    if (!fsim_commit_own(c, c->set.output))
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    x.written = c->set.output && !fsim_is_stdout(c->set.output) ? c->set.output : NULL;
    return fsim_deliver(c, &x);
}
