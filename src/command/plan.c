/* SPDX-License-Identifier: Apache-2.0 */
/* plan: the best plan on each GPU, in every format. */
#include "command/command.h"
#include "plan/price/deadline.h"
#include "plan/search/budget.h"
#include "report/describe.h"

#include <string.h>

/* "t4" for "my/t4.yaml": how gates name a GPU. */
static const char *stem(fsim_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end = strstr(name, ".yaml");
    return end && !end[5] ? fsim_strndup(a, name, (size_t)(end - name)) : name;
}

/* What the gates' groups mean: strategies, and GPUs of --hw as typed or by their own names. NULL after an error. */
static fsim_plan_group *read_groups(fsim_context *c, const fsim_inputs *in, const fsim_gate *gate)
{
    const int count = c->set.hw.count;
    fsim_plan_group *group = fsim_new(c->arena, fsim_plan_group, c->set.gates.count + 1);
    const fsim_gate_gpus gpus = {fsim_new(c->arena, const char *, count + 1),
                                 fsim_new(c->arena, const char *, count + 1), count};
    for (int i = 0; i < count; i++) {
        gpus.typed[i] = stem(c->arena, c->set.hw.at[i]);
        gpus.name[i] = in->hw[i]->name;
    }
    for (int i = 0; i < c->set.gates.count; i++)
        (void)fsim_plan_group_of(c->arena, c->diag, &gate[i], &gpus, &group[i]);
    return fsim_errors(c->diag) == 0 ? group : NULL;
}

typedef struct {
    const fsim_context *each; /* the command's, with an arena for each GPU */
    const fsim_inputs *in;
    fsim_prediction *out;
} gpu_plans;

static void plan_on(void *to, int i, int worker)
{
    (void)worker;
    const gpu_plans *w = to;
    const fsim_context *c = &w->each[i];
    fsim_options how = w->in->how;
    how.spent_s = i == 0 ? fsim_clock_s() - c->began_s : 0; /* the first has also waited for the workload */
    how.progress = fsim_new_progress(c, c->arena);
    how.typed.hw = fsim_shell_word(c->arena, c->set.hw.at[i]);
    w->out[i] = fsim_predict(w->in->graph, w->in->hw[i], &how, c->arena);
    fsim_find_smaller(c, &w->out[i]);
}

int fsim_searches_at_once(const fsim_context *c)
{
    const int jobs = fsim_jobs_of(c->set.jobs), most = fsim_searches_in_memory(c->set.search_memory);
    return jobs < most ? jobs : most;
}

/* The predictions on all GPUs, in the order of --hw. */
static fsim_prediction *plan_on_each(fsim_context *c, const fsim_inputs *in)
{
    const int count = c->set.hw.count;
    fsim_context *each = fsim_new(c->arena, fsim_context, count);
    fsim_arena **arena = fsim_arena_children(c->arena, count);
    for (int i = 0; i < count; i++) {
        each[i] = *c;
        each[i].arena = arena[i];
    }
    gpu_plans w = {each, in, fsim_new(c->arena, fsim_prediction, count)};
    fsim_in_parallel(fsim_searches_at_once(c), count, plan_on, &w);
    return w.out;
}

int fsim_run_plan(fsim_context *c)
{
    fsim_inputs in;
    const fsim_gate *gate = fsim_read_gates(c, &fsim_plan_gates);
    if (fsim_errors(c->diag) > 0)
        return fsim_usage_status(c);
    int status = fsim_read_inputs(c, &in);
    if (status)
        return status;
    const fsim_plan_group *group = read_groups(c, &in, gate);
    if (!group)
        return fsim_usage_status(c);
    status = fsim_open_outputs(c);
    if (status)
        return status;
    fsim_catch_interrupt();
    const int count = c->set.hw.count;
    const fsim_shown_plans p = {plan_on_each(c, &in), fsim_new(c->arena, fsim_judged, count), count};
    for (int i = 0; i < count; i++) {
        p.judged[i] = fsim_plan_gates_try(gate, group, c->set.gates.count, i, &p.at[i], c->arena);
        if (fsim_over_limit(&p.at[i]) || p.at[i].least_memory_bytes > 0 ||
            fsim_gates_failed(p.judged[i].at, p.judged[i].count))
            status = FSIM_EXIT_GATE;
        if (p.at[i].interrupted)
            status = FSIM_EXIT_INTERRUPTED;
    }
    const int delivered = fsim_deliver(c, &p);
    if (delivered)
        return delivered;
    for (int i = 0; i < count; i++)
        fsim_say_failed_gates(c, fsim_shown_gpu(c, &p, i), p.judged[i].at, p.judged[i].count);
    return fsim_conclude(c, status);
}
