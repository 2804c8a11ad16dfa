/* SPDX-License-Identifier: Apache-2.0 */
/* visit.c: visits partitions one by one, by rising cost or as a Pareto front of cost and memory. */
#include "plan/search/frontier.h"
#include "plan/search/states.h"

/* Partitions in the order of their relaxed cost. */

typedef struct {
    fsim_sum promise, spent;
    int state, parent;
    const step *by;
} path;

static bool better_path(const path *x, const path *y)
{
    return x->promise != y->promise ? x->promise < y->promise : x->state > y->state;
}

bool fsim_frontier_each(fsim_frontier *f, fsim_sum *limit, const fsim_budget *budget,
                        bool (*visit)(void *to, const fsim_partition *part), void *to)
{
    fsim_arena *a = fsim_arena_new();
    path *all = NULL;
    int count = 0, room = 0, *heap = NULL, waiting = 0, heap_room = 0;
    bool going = true, in_time = f->last >= 0 && !f->haste;
    fsim_partition part = {0, fsim_new(a, fsim_part, f->l.count + 1)};
    f->budget = *budget;
    if (in_time) {
        *FSIM_PUSH(a, all, count, room) = (path){fsim_least_to_go(f, 0), 0, 0, -1, NULL};
        *FSIM_PUSH(a, heap, waiting, heap_room) = 0;
    }
    while (waiting > 0 && going && in_time) {
        const int top = heap[0], last = heap[--waiting];
        int i = 0;
        for (int child; (child = 2 * i + 1) < waiting; i = child) {
            if (child + 1 < waiting && better_path(&all[heap[child + 1]], &all[heap[child]]))
                child++;
            if (!better_path(&all[heap[child]], &all[last]))
                break;
            heap[i] = heap[child];
        }
        if (waiting > 0)
            heap[i] = last;
        const path at = all[top];
        if (at.promise >= *limit)
            break;
        in_time = fsim_proceed(f, budget, 2);
        if (at.state == f->last) {
            const fsim_mark mark = fsim_save(a);
            part.parts = 0;
            for (int k = top; all[k].by; k = all[k].parent)
                part.part[part.parts++] =
                    fsim_part_at(f, all[k].by->root, all[k].by->set->own, all[k].by->kernel->clones, a);
            going = visit(to, &part);
            fsim_rewind(a, mark);
            continue;
        }
        if (!f->state[at.state].expanded)
            fsim_expand(f, at.state);
        for (int k = f->state[at.state].first, end = k + f->state[at.state].steps; k < end; k++) {
            const fsim_sum rest = fsim_least_to_go(f, f->step[k].to), spent = at.spent + f->step[k].cost;
            const step *by = &f->step[k];
            if (spent + rest >= *limit)
                continue;
            *FSIM_PUSH(a, all, count, room) = (path){spent + rest, spent, by->to, top, by};
            FSIM_PUSH(a, heap, waiting, heap_room);
            int hole = waiting - 1;
            for (; hole > 0 && better_path(&all[count - 1], &all[heap[(hole - 1) / 2]]); hole = (hole - 1) / 2)
                heap[hole] = heap[(hole - 1) / 2];
            heap[hole] = count - 1;
        }
    }
    fsim_arena_free(a);
    return going && in_time;
}

/* Time against peak memory. */

typedef struct {
    fsim_sum spent, peak;
    int parent, next, state;
    const step *by;
} offer_of_memory;

bool fsim_frontier_front(fsim_frontier *f, int most, const fsim_budget *budget,
                         bool (*visit)(void *to, const fsim_partition *part, fsim_sum spent, fsim_sum peak), void *to)
{
    fsim_arena *a = fsim_arena_new();
    offer_of_memory *all = NULL;
    int count = 0, room = 0, *first = fsim_new(a, int, f->states + 1), *many = fsim_new(a, int, f->states + 1);
    bool whole = f->lost == FSIM_NEVER && !f->haste, in_time = f->last >= 0;
    *FSIM_PUSH(a, all, count, room) = (offer_of_memory){.parent = -1};
    first[0] = many[0] = 1;
    for (int size = 0; size < f->l.count && in_time; size++)
        for (int i = f->by_size[size]; i && in_time; i = f->state[i - 1].sibling)
            for (int at = first[i - 1]; at && in_time; at = all[at - 1].next)
                for (int k = f->state[i - 1].first, end = k + f->state[i - 1].steps; k < end; k++) {
                    const step *by = &f->step[k];
                    const fsim_sum spent = all[at - 1].spent + by->cost,
                                   peak = by->peak > all[at - 1].peak ? by->peak : all[at - 1].peak;
                    in_time = fsim_proceed(f, budget, 1 + many[by->to] / 4);
                    bool worse = false;
                    for (int *link = &first[by->to]; *link && !worse;) {
                        const offer_of_memory *x = &all[*link - 1];
                        worse = x->spent <= spent && x->peak <= peak;
                        if (!worse && spent <= x->spent && peak <= x->peak) {
                            *link = x->next;
                            many[by->to]--;
                        } else if (!worse) {
                            link = &all[*link - 1].next;
                        }
                    }
                    if (worse)
                        continue;
                    if (many[by->to] >= most) { /* too many: keep both ends, and some between them */
                        whole = false;
                        continue;
                    }
                    *FSIM_PUSH(a, all, count, room) = (offer_of_memory){spent, peak, at - 1, 0, by->to, by};
                    int *link = &first[by->to]; /* fastest first */
                    while (*link && all[*link - 1].spent < spent)
                        link = &all[*link - 1].next;
                    all[count - 1].next = *link;
                    *link = count;
                    many[by->to]++;
                }
    bool going = in_time;
    fsim_partition part = {0, fsim_new(a, fsim_part, f->l.count + 1)};
    for (int at = in_time && f->last >= 0 ? first[f->last] : 0; at && going; at = all[at - 1].next) {
        part.parts = 0;
        for (int k = at - 1; all[k].by; k = all[k].parent)
            part.part[part.parts++] =
                fsim_part_at(f, all[k].by->root, all[k].by->set->own, all[k].by->kernel->clones, a);
        going = visit(to, &part, all[at - 1].spent, all[at - 1].peak);
    }
    fsim_arena_free(a);
    return whole && in_time;
}
