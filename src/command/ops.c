/* SPDX-License-Identifier: Apache-2.0 */
/* ops: the operators with their attributes; or one operator in full. */
#include "command/command.h"
#include "graph/alias.h"

int fsim_run_ops(fsim_context *c)
{
    fsim_op only = FSIM_OP_COUNT;
    const fsim_alias *alias;
    if (c->args.count > 0 && !fsim_op_named(c->args.at[0], &only, &alias)) {
        fsim_error(c->diag, fsim_command_line, "%s", fsim_unknown_op(c->arena, c->args.at[0]));
        return fsim_usage_status(c);
    }
    return fsim_answer(c, &only);
}
