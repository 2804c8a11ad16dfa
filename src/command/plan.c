/* SPDX-License-Identifier: Apache-2.0 */
/* plan: the best plan on each GPU, in every format. */
#include "command/command.h"

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
    const fsim_shown_plans p = {fsim_new(c->arena, fsim_prediction, count), fsim_new(c->arena, fsim_judged, count),
                                count};
    for (int i = 0; i < count; i++) {
        in.how.typed.hw = fsim_shell_word(c->arena, c->set.hw.at[i]);
        p.at[i] = fsim_predict(in.graph, in.hw[i], &in.how, c->arena);
        fsim_find_smaller(c, &p.at[i]);
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
