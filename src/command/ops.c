/* SPDX-License-Identifier: Apache-2.0 */
/* ops: the operators and their flops per point. */
#include "command/command.h"

static bool show_ops(FILE *out, fsim_format as, const fsim_context *c, const void *what)
{
    const fsim_page page = fsim_table_page(out, c);
    (void)what;
    as == FSIM_AS_JSON ? fsim_json_ops(out) : fsim_report_ops(&page);
    return true;
}

int fsim_run_ops(fsim_context *c) { return fsim_answer(c, show_ops, NULL); }
