/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/progress.h"

void fsim_progress_phase(const fsim_problem *p, const char *phase)
{
    if (!p->progress)
        return;
    p->progress->phase = phase;
    p->progress->of = 0;
}

void fsim_progress_done(const fsim_problem *p, int64_t done, int64_t of)
{
    if (!p->progress)
        return;
    p->progress->done = done;
    p->progress->of = of;
}

/* Other objectives have other units: what was known in them says nothing here. */
static void keep_unit(fsim_progress *g, fsim_objective in)
{
    if (g->in != in)
        g->best = g->bound = 0;
    g->in = in;
}

void fsim_progress_best(const fsim_problem *p, const fsim_plan *plan)
{
    fsim_progress *g = p->progress;
    if (!g || plan->kernels == 0)
        return;
    const fsim_sum objective = p->objective == FSIM_MINIMISE_MEMORY ? plan->peak_memory_bytes : plan->objective;
    keep_unit(g, p->objective);
    if (g->best == 0 || objective < g->best)
        g->best = objective;
}

void fsim_progress_bound(const fsim_problem *p, fsim_sum bound)
{
    if (!p->progress)
        return;
    keep_unit(p->progress, p->objective);
    if (bound > p->progress->bound)
        p->progress->bound = bound;
}

void fsim_progress_open(const fsim_problem *p, const char *open)
{
    if (p->progress)
        p->progress->open = open;
}

void fsim_progress_tick(const fsim_problem *p, double now_s, double left_s)
{
    fsim_progress *g = p->progress;
    if (!g || now_s < g->next_s)
        return;
    g->left_s = left_s;
    g->next_s = now_s + g->every_s;
    g->shown = true;
    g->show(g);
}

void fsim_progress_end(const fsim_problem *p)
{
    fsim_progress *g = p->progress;
    if (!g || !g->shown)
        return;
    g->ended = true;
    g->show(g);
    g->ended = g->shown = false;
}
