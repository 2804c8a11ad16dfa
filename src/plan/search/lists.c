/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/lists.h"

#include "plan/price/compare.h"
#include "plan/search/strategy.h"
#include <stdlib.h>
#include <string.h>

int fsim_add_plans(fsim_plan *list, int count, const fsim_plan *known, int knowns)
{
    for (int i = 0; i < knowns; i++)
        if (known[i].kernels > 0)
            list[count++] = known[i];
    return count;
}

static int compare_by(const fsim_plan *x, const fsim_plan *y, int64_t limit, bool memory)
{
    const bool fits_x = limit == 0 || x->peak_memory_bytes <= limit,
               fits_y = limit == 0 || y->peak_memory_bytes <= limit;
    if (fits_x != fits_y)
        return fits_x ? -1 : 1;
    if ((memory || !fits_x) && x->peak_memory_bytes != y->peak_memory_bytes)
        return x->peak_memory_bytes < y->peak_memory_bytes ? -1 : 1;
    if (!memory && x->objective != y->objective)
        return x->objective < y->objective ? -1 : 1;
    return (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

int fsim_compare_plans(const fsim_problem *p, const fsim_plan *x, const fsim_plan *y)
{
    return compare_by(x, y, p->memory_limit, p->objective == FSIM_MINIMISE_MEMORY);
}

static bool same_plan(const fsim_graph *g, const fsim_plan *x, const fsim_plan *y, fsim_arena *a)
{
    const fsim_mark scratch = fsim_save(a);
    fsim_difference *d;
    const bool same = x->kernels == y->kernels && fsim_compare(g, x, y, a, &d) == 0;
    fsim_rewind(a, scratch);
    return same;
}

int fsim_best_of(fsim_problem *p, fsim_plan *list, int count, int most)
{
    fsim_arena *a = fsim_arena_new();
    int kept = 0;
    for (int i = 0; i < count; i++) { /* an insertion in place: the sorted part never overtakes the reading position */
        const fsim_plan plan = list[i];
        int at = kept;
        bool known = false;
        for (int k = 0; k < kept && !known; k++)
            known = same_plan(p->graph, &list[k], &plan, a);
        if (known)
            continue;
        for (; at > 0 && compare_by(&plan, &list[at - 1], p->memory_limit, p->objective == FSIM_MINIMISE_MEMORY) < 0;
             at--)
            list[at] = list[at - 1];
        list[at] = plan;
        kept++;
    }
    fsim_arena_free(a);
    return kept < most ? kept : most;
}

int fsim_put_first(fsim_plan *list, int count, int most, const fsim_plan *best)
{
    count = count < most ? count : most - 1;
    memmove(&list[1], &list[0], (size_t)count * sizeof *list);
    list[0] = *best;
    return count + 1;
}

void fsim_adopt_best(fsim_problem *p, const fsim_plan *list, int count, fsim_plan *best)
{
    for (int i = 0; i < count; i++)
        if (compare_by(&list[i], best, p->memory_limit, p->objective == FSIM_MINIMISE_MEMORY) < 0)
            *best = list[i];
    best->strategy = fsim_strategy_names[FSIM_STRATEGY_OPTIMAL];
}

static int by_time_then_memory(const void *x, const void *y)
{
    const fsim_plan *a = x, *b = y;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    return (a->peak_memory_bytes > b->peak_memory_bytes) - (a->peak_memory_bytes < b->peak_memory_bytes);
}

int fsim_front_of(fsim_plan *list, int count)
{
    int kept = 0;
    if (count > 0)
        qsort(list, (size_t)count, sizeof *list, by_time_then_memory);
    for (int i = 0; i < count; i++)
        if (kept == 0 || list[i].peak_memory_bytes < list[kept - 1].peak_memory_bytes)
            list[kept++] = list[i];
    return kept;
}

int fsim_thin_front(fsim_plan *list, int count, int most)
{
    for (; count > most && count > 2; count--) {
        int least = 1;
        for (int i = 1; i + 1 < count; i++)
            if (list[i - 1].peak_memory_bytes - list[i + 1].peak_memory_bytes <
                list[least - 1].peak_memory_bytes - list[least + 1].peak_memory_bytes)
                least = i;
        memmove(&list[least], &list[least + 1], (size_t)(count - 1 - least) * sizeof *list);
    }
    return count;
}
