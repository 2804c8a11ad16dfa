/* SPDX-License-Identifier: Apache-2.0 */
/* repeat.c: steps of a state in one of many equal layers, from those of its counterpart in the layer before. */
#include "plan/search/states.h"

#include <math.h>

/* A state as it is so many places later. */
static state later(const state *s, int by)
{
    state x = *s;
    x.base += by;
    x.ran += by;
    x.passed += s->passed > 0 ? by : 0;
    x.behind_base += s->passed > 0 ? by : 0;
    return x;
}

/* The state one layer earlier whose steps are those of the state, a layer earlier; -1 where there is none. */
static int counterpart(fsim_frontier *f, int from)
{
    const fsim_run *run = f->run;
    if (!run || f->lean || f->haste)
        return -1;
    const state before = later(&f->state[from], -run->period);
    if (before.base < run->first + run->lead)
        return -1;
    const int at = fsim_find_state(f, &before);
    const state *x = at < 0 ? NULL : &f->state[at];
    if (!x || !x->expanded || x->cut)
        return -1;
    return fsim_same_families(f, before.base, before.ran + x->ahead_by) ? at : -1;
}

bool fsim_repeat_steps(fsim_frontier *f, int from)
{
    const int earlier = counterpart(f, from);
    if (earlier < 0)
        return false;
    f->state[from].first = f->steps;
    f->state[from].ahead_by = f->state[earlier].ahead_by;
    for (int k = 0; k < f->state[earlier].steps; k++) {
        step by = f->step[f->state[earlier].first + k];
        state next = later(&f->state[by.to], f->run->period);
        next.left = fmax(0, f->state[from].left - (f->state[earlier].left - f->state[by.to].left));
        by.root += f->run->period;
        by.more = NULL;
        fsim_proceed(f, &f->budget, 1);
        fsim_link_step(f, from, &next, by);
    }
    f->state[from].steps = f->steps - f->state[from].first;
    fsim_set_expanded(f, from);
    return true;
}
