/* SPDX-License-Identifier: Apache-2.0 */
/* ops: the operators with their attributes; or one operator in full. */
#include "command/command.h"
#include "graph/op.h"

int fsim_run_ops(fsim_context *c)
{
    fsim_op only = FSIM_OP_COUNT;
    if (c->args.count > 0 && !fsim_op_parse(c->args.at[0], &only)) {
        int count;
        const char *const *names = fsim_op_names(&count);
        fsim_error(c->diag, fsim_command_line, "unknown operator '%s'%s", c->args.at[0],
                   fsim_did_you_mean(c->arena, c->args.at[0], names, count));
        return fsim_usage_status(c);
    }
    return fsim_answer(c, &only);
}
