/* SPDX-License-Identifier: Apache-2.0 */
/* diff: two results that --json wrote, plans, sweeps or validations: what changed, and what each change did. */
#include "command/command.h"

#include "report/diff.h"
#include "report/diff_rows.h"

/* A file with its JSON as a tree. */
typedef struct {
    const char *path;
    const fsim_yaml *root;
    bool plan;
    fsim_rows_kind rows; /* where it is no plan */
} side;

/* False after an error. */
static bool read_side(fsim_context *c, const char *path, side *s)
{
    size_t bytes = 0;
    const char *text = fsim_read_text(c, "result", path, &bytes);
    *s = (side){.path = path};
    if (!text)
        return false;
    fsim_diag_source(c->diag, path, text, bytes);
    s->root = fsim_yaml_parse_json(c->arena, c->diag, path, text, bytes);
    if (!s->root)
        return false;
    s->plan = fsim_is_filed_plan(s->root);
    if (s->plan || fsim_is_filed_rows(s->root, &s->rows))
        return true;
    fsim_error(c->diag, s->root->at,
               "diff compares what --json of plan, sweep or validate writes; this is something else");
    return false;
}

static int compare_plans(fsim_context *c, const side *old, const side *new)
{
    fsim_diff x;
    const int gates = c->set.gates.count;
    const fsim_gate *gate = fsim_read_gates(c, &fsim_diff_gates);
    if (fsim_errors(c->diag))
        return fsim_usage_status(c);
    const fsim_filed *before = fsim_filed_read(c->arena, c->diag, old->path, old->root),
                     *after = fsim_filed_read(c->arena, c->diag, new->path, new->root);
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

static int compare_rows(fsim_context *c, const side *old, const side *new)
{
    fsim_rows_diff x;
    const int gates = c->set.gates.count;
    const fsim_gate *gate = fsim_read_gates(c, &fsim_rows_diff_gates);
    if (fsim_errors(c->diag))
        return fsim_usage_status(c);
    const fsim_filed_rows *before = fsim_filed_rows_read(c->arena, c->diag, old->path, old->root, old->rows),
                          *after = fsim_filed_rows_read(c->arena, c->diag, new->path, new->root, new->rows);
    if (!before || !after || !fsim_rows_diff_of(before, after, c->arena, c->diag, &x))
        return fsim_conclude(c, FSIM_EXIT_OK);
    if (!fsim_rows_groups_check(gate, gates, &x, c->arena, c->diag))
        return fsim_usage_status(c);
    const fsim_shown_rows_diff s = fsim_rows_gates_try(&x, gate, gates, c->arena);
    c->kind = FSIM_RESULT_ROWS_DIFF;
    const int status = fsim_answer(c, &s);
    if (status)
        return status;
    const int failed = fsim_gates_failed(s.judged.at, gates);
    fsim_say_failed_gates(c, "", s.judged.at, gates);
    return fsim_conclude(c, failed > s.unsure ? FSIM_EXIT_GATE : failed ? FSIM_EXIT_INCONCLUSIVE : FSIM_EXIT_OK);
}

int fsim_run_diff(fsim_context *c)
{
    side old, new;
    if (c->args.count != 2)
        fsim_error(c->diag, fsim_command_line,
                   "diff wants two files that --json of plan, sweep or validate wrote: OLD.json NEW.json");
    else if (fsim_is_stdout(c->args.at[0]) && fsim_is_stdout(c->args.at[1]))
        fsim_error(c->diag, fsim_command_line, "the two files can't both be standard input");
    if (fsim_errors(c->diag))
        return fsim_usage_status(c);
    const bool first = read_side(c, c->args.at[0], &old), second = read_side(c, c->args.at[1], &new);
    if (first && second && (old.plan != new.plan || (!old.plan && old.rows != new.rows)))
        fsim_error(c->diag, (fsim_loc){new.path, 0, 0}, "'%s' is a result of another kind: %s; this is %s", old.path,
                   old.plan ? "plan" : fsim_rows_kind_names[old.rows],
                   new.plan ? "plan" : fsim_rows_kind_names[new.rows]);
    if (fsim_errors(c->diag))
        return fsim_conclude(c, FSIM_EXIT_OK);
    return old.plan ? compare_plans(c, &old, &new) : compare_rows(c, &old, &new);
}
