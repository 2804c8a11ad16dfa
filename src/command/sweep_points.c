/* SPDX-License-Identifier: Apache-2.0 */
#include "command/sweep_points.h"

#include "base/names.h"
#include <string.h>

bool fsim_sweep_lay_out(fsim_context *c, const fsim_shard *shard, fsim_sweep *x)
{
    fsim_arena *a = c->arena;
    const int own = (x->grid.combinations - shard->number + shard->of - 1) / shard->of;
    x->points = 0;
    x->shard = shard->number;
    x->shards = shard->of;
    x->point = fsim_new(a, fsim_sweep_point, own * x->gpus + 1);
    for (int i = shard->number; i < x->grid.combinations; i += shard->of) {
        const char **value = fsim_new(a, const char *, x->grid.axes + 1);
        fsim_strategy strategy = x->strategy;
        if (!fsim_grid_values(a, c->diag, &x->grid, i, value))
            return false;
        for (int k = 0; k < x->grid.axes; k++)
            for (int s = 0; s < FSIM_STRATEGY_COUNT && x->grid.axis[k].kind == FSIM_OVER_STRATEGY; s++)
                if (strcmp(value[k], fsim_strategy_names[s]) == 0)
                    strategy = (fsim_strategy)s;
        for (int g = 0; g < x->gpus; g++)
            x->point[x->points++] =
                (fsim_sweep_point){.number = i * x->gpus + g, .value = value, .hw = x->gpu[g], .strategy = strategy};
    }
    return true;
}

void fsim_sweep_conclude(fsim_sweep *x, const char *const *kernels, fsim_arena *a)
{
    fsim_names known = {0};
    for (int i = 0; i < x->points; i++) {
        if (!kernels[i])
            continue;
        int at = fsim_names_get(&known, kernels[i]);
        if (at < 0)
            fsim_names_set(a, &known, kernels[i], at = ++x->plans);
        x->point[i].plan = at;
    }
    fsim_sweep_find(x, a);
}

void fsim_sweep_write(FILE *out, const char *path, const fsim_sweep *x)
{
    const char *ending = strrchr(path, '.');
    (ending && strcmp(ending, ".jsonl") == 0 ? fsim_json_lines_sweep : fsim_csv_sweep)(out, x);
}
