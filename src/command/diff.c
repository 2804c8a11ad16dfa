/* SPDX-License-Identifier: Apache-2.0 */
/* diff: two plans that --json wrote: what changed, and what each change did. */
#include "command/command.h"

#include "report/diff.h"

static const fsim_filed *read_side(fsim_context *c, int i)
{
    size_t bytes = 0;
    const char *path = c->args.at[i], *text = fsim_read_text(c, "plan", path, &bytes);
    return text ? fsim_filed_read(c->arena, c->diag, path, text, bytes) : NULL;
}

int fsim_run_diff(fsim_context *c)
{
    fsim_diff x;
    const int gates = c->set.gates.count;
    const fsim_gate *gate = fsim_read_gates(c, &fsim_diff_gates);
    if (c->args.count != 2)
        fsim_error(c->diag, fsim_command_line, "diff wants two files of 'fusesim plan --json FILE': OLD.json NEW.json");
    else if (fsim_is_stdout(c->args.at[0]) && fsim_is_stdout(c->args.at[1]))
        fsim_error(c->diag, fsim_command_line, "the two files can't both be standard input");
    if (fsim_errors(c->diag))
        return fsim_usage_status(c);
    const fsim_filed *before = read_side(c, 0), *after = read_side(c, 1);
    if (!before || !after || !fsim_diff_of(before, after, c->arena, c->diag, &x))
        return fsim_conclude(c, FSIM_EXIT_OK);
    if (!fsim_diff_groups_check(gate, gates, &x, c->arena, c->diag))
        return fsim_usage_status(c);
    const fsim_shown_diff s = fsim_diff_gates_try(&x, gate, gates, c->arena);
    const int status = fsim_answer(c, &s);
    if (status)
        return status;
    int failed = 0;
    for (int i = 0; i < s.count; i++) {
        const fsim_judged *judged = &s.judged[i].gates;
        failed += fsim_gates_failed(judged->at, judged->count);
        fsim_say_failed_gates(c, fsim_shown_diff_gpu(&s, i, c->arena), judged->at, judged->count);
    }
    return fsim_conclude(c, failed ? FSIM_EXIT_GATE : FSIM_EXIT_OK);
}
