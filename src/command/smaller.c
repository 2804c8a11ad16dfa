/* SPDX-License-Identifier: Apache-2.0 */
/* A smaller batch for a plan that does not fit the GPU's memory. */
#include "command/command.h"

#include "import/load.h"
#include "plan/price/memory.h"
#include <string.h>
#include <strings.h>

/* Names that people give to a batch. */
static bool is_batch(const fsim_symbol *s)
{
    static const char *const names[] = {"b", "n", "bs", "batch", "batch_size", "batchsize", "nb"};
    bool known = false;
    for (int i = 0; i < FSIM_COUNT_OF(names); i++)
        known = known || strcasecmp(s->name, names[i]) == 0;
    return known && s->dtype == FSIM_DTYPE_NONE && s->value > 1;
}

/* The workload with this value of the symbol, beside those of --set. NULL where it has none. */
static fsim_graph *read_with(const fsim_context *c, const char *symbol, int64_t value)
{
    const int sets = c->set.set.count;
    const fsim_binding *typed = fsim_command_bindings(c);
    fsim_binding *set = fsim_new(c->arena, fsim_binding, sets + 1);
    int count = 0;
    for (int i = 0; i < sets; i++)
        if (strcmp(typed[i].name, symbol) != 0)
            set[count++] = typed[i];
    set[count++] = (fsim_binding){symbol, fsim_printf(c->arena, "%lld", (long long)value)};
    fsim_workload_wanted how = fsim_wanted_workload(c);
    how.set = set;
    how.sets = count;
    return fsim_graph_load(c->arena, fsim_diag_new(c->arena), c->args.at[0], &how);
}

void fsim_find_smaller(const fsim_context *c, fsim_prediction *p)
{
    const fsim_graph *g = p->graph;
    int at = 0;
    while (at < g->symbols && !is_batch(&g->symbol[at]))
        at++;
    if (at == g->symbols || fsim_is_stdout(c->args.at[0]) || p->options.user_plan || fsim_plan_fits(p, p->chosen))
        return;
    const fsim_symbol *batch = &g->symbol[at];
    fsim_options how = p->options;
    how.time_limit_s /= 100; /* the answer is late already; a hasty plan says enough of the memory */
    for (int64_t value = batch->value / 2; value > 0; value /= 2) {
        const fsim_mark scratch = fsim_save(c->arena);
        const fsim_graph *less = read_with(c, batch->name, value);
        if (!less)
            return;
        const fsim_prediction now = fsim_predict(less, p->hw, &how, c->arena);
        const fsim_memory_use use = fsim_memory_of(less, &now.plan[now.chosen], c->arena);
        const bool fits = fsim_fits(p->hw, &use);
        fsim_rewind(c->arena, scratch);
        if (!fits)
            continue;
        p->smaller = (fsim_smaller){batch->name, value, batch->value, fsim_needed_bytes(&use)};
        return;
    }
}
