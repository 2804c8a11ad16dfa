/* SPDX-License-Identifier: Apache-2.0 */
/* open.c: where a plan without proof might still be improved.
 *
 * Between two borders a plan spends something, and a lower bound of the rest falls by something. The difference is what
 * the stretch between them leaves open; all stretches together leave the plan's gap. */
#include "plan/search/frontier.h"
#include "plan/search/priced.h"
#include "plan/search/states.h"

#include <stdlib.h>

/* A plan as it is run, kernel by kernel. */
typedef struct {
    fsim_frontier *f;
    bool *done; /* per place */
    int lowest, ran;
} run_so_far;

/* The front where the plan is; -1 where it is too wide for the bits. */
static int front_of_run(run_so_far *r)
{
    state s = {.ran = r->ran};
    while (r->lowest < r->f->l.count && r->done[r->lowest])
        r->lowest++;
    s.base = r->lowest;
    for (int i = 0; r->f->shadow && i < r->f->l.count; i++)
        s.worth += r->done[i] ? r->f->shadow->price[i] : 0;
    for (int i = r->lowest; i < r->f->l.count; i++)
        if (r->done[i] && i - r->lowest >= FSIM_BITS)
            return -1;
        else if (r->done[i])
            fsim_bit_set(&s.done, i - r->lowest);
    return r->f->state[fsim_state_of(r->f, &s)].front;
}

static int by_gap(const void *a, const void *b)
{
    const fsim_open_part *x = a, *y = b;
    return x->gap != y->gap ? (x->gap > y->gap ? -1 : 1) : x->first - y->first;
}

/* Those that leave most open, as parts of the plan's cost. */
static void take_largest(fsim_open_part *all, int count, const fsim_plan *plan, fsim_proof *proof)
{
    qsort(all, (size_t)count, sizeof *all, by_gap);
    proof->opens = 0;
    for (int i = 0; i < count && i < FSIM_MOST_OPEN && all[i].gap > 0; i++) {
        proof->open[i] = all[i];
        proof->open[proof->opens++].gap /= (double)plan->objective;
    }
}

/* What the stretches between borders leave open, to *all. Returns how many leave something. */
static int stretches(fsim_frontier *f, const fsim_plan *plan, fsim_sum bound, fsim_open_part *all)
{
    run_so_far r = {.f = f, .done = fsim_new(f->a, bool, f->l.count + 1)};
    fsim_sum rest = plan->objective, open = rest - bound;
    int count = 0, from = 0, j = 0;
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_part *part = &plan->partition.part[k];
        for (int i = 0; i < part->count; i++)
            if (!part->clone[i]) {
                r.done[f->l.place[part->node[i]]] = true;
                r.ran++;
            }
        rest -= fsim_objective_of(f->p, &plan->kernel[k]);
        const bool crosses = j < f->borders && r.ran >= f->border[j];
        const int where = crosses ? front_of_run(&r) : -1;
        if (!crosses && k + 1 < plan->kernels)
            continue;
        while (j < f->borders && r.ran >= f->border[j])
            j++;
        if (where < 0 && k + 1 < plan->kernels)
            continue;
        const fsim_sum left = k + 1 < plan->kernels ? rest - fsim_front_to_go(f, where) - f->excess[j - 1] : 0;
        if (open > left)
            all[count++] = (fsim_open_part){f->l.node[from], f->l.node[r.ran - 1], (double)(open - left)};
        open = left;
        from = r.ran < f->l.count ? r.ran : from;
    }
    return count;
}

void fsim_frontier_open(fsim_frontier *f, const fsim_plan *plan, fsim_sum bound, fsim_proof *proof)
{
    fsim_open_part *all = fsim_new(f->a, fsim_open_part, f->borders + 2);
    int count = 0;
    if (!fsim_frontier_complete(f) && f->lost != FSIM_NEVER && f->l.count > 0)
        all[count++] = (fsim_open_part){f->l.node[f->lost_at < f->l.count ? f->lost_at : f->l.count - 1],
                                        f->l.node[f->l.count - 1], (double)(plan->objective - bound)};
    else if (fsim_frontier_complete(f) && f->borders > 0)
        count = stretches(f, plan, bound, all);
    take_largest(all, count, plan, proof);
}

void fsim_open_priced(const fsim_problem *p, const fsim_priced *y, fsim_sum bound, const fsim_plan *plan,
                      fsim_proof *proof, fsim_arena *a)
{
    fsim_open_part *all = fsim_new(a, fsim_open_part, plan->kernels + 1);
    double sum = 0;
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_part *part = &plan->partition.part[k];
        int first = -1;
        fsim_sum beyond = fsim_objective_of(p, &plan->kernel[k]);
        for (int i = 0; i < part->count; i++) {
            if (part->clone[i])
                continue;
            beyond -= y->price[part->node[i]];
            first = first < 0 ? part->node[i] : first;
            all[k].last = part->node[i];
        }
        all[k].first = first;
        all[k].gap = (double)beyond;
        sum += (double)beyond;
    }
    for (int k = 0; k < plan->kernels && sum > 0; k++) /* the bound may be more than the prices */
        all[k].gap *= (double)(plan->objective - bound) / sum;
    take_largest(all, plan->kernels, plan, proof);
}
