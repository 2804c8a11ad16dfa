/* SPDX-License-Identifier: Apache-2.0 */
/* ops: the operators and their flops per point. */
#include "command/command.h"

int fsim_run_ops(fsim_context *c) { return fsim_answer(c, NULL); }
