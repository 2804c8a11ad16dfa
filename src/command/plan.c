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

/* Reads --gate; groups are names of strategies and GPUs. False after an error. */
static bool read_gates(fsim_context *c, fsim_gate **gate, fsim_plan_group **group)
{
    *gate = fsim_read_gates(c, &fsim_plan_gates);
    *group = fsim_new(c->arena, fsim_plan_group, c->set.gates.count + 1);
    const char **gpu = fsim_new(c->arena, const char *, c->set.hw.count + 1);
    for (int i = 0; i < c->set.hw.count; i++)
        gpu[i] = stem(c->arena, c->set.hw.at[i]);
    for (int i = 0; i < c->set.gates.count; i++)
        (void)fsim_plan_group_of(c->arena, c->diag, &(*gate)[i], gpu, c->set.hw.count, &(*group)[i]);
    return fsim_errors(c->diag) == 0;
}

int fsim_run_plan(fsim_context *c)
{
    fsim_inputs in;
    fsim_gate *gate;
    fsim_plan_group *group;
    if (!read_gates(c, &gate, &group))
        return fsim_usage_status(c);
    int status = fsim_begin(c, &in);
    if (status)
        return status;
    const int count = c->set.hw.count;
    const fsim_shown_plans p = {fsim_new(c->arena, fsim_prediction, count), fsim_new(c->arena, fsim_judged, count),
                                count};
    for (int i = 0; i < count; i++) {
        p.at[i] = fsim_predict(in.graph, in.hw[i], &in.how, c->arena);
        p.judged[i] = fsim_plan_gates_try(gate, group, c->set.gates.count, i, &p.at[i], c->arena);
        if (fsim_over_limit(&p.at[i]) || p.at[i].least_memory_bytes > 0 ||
            fsim_gates_failed(p.judged[i].at, p.judged[i].count))
            status = FSIM_EXIT_GATE;
    }
    const int delivered = fsim_deliver(c, &p);
    if (delivered)
        return delivered;
    for (int i = 0; i < count; i++)
        fsim_say_failed_gates(c, fsim_shown_gpu(c, &p, i), p.judged[i].at, p.judged[i].count);
    return fsim_conclude(c, status);
}
