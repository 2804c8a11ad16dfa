/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h: what a search under way tells a user who waits. Whoever knows something new writes it into p->progress
 * by the functions below, which do nothing where nobody asked; the clock of fsim_within and fsim_late shows it now and
 * then. A prediction belongs to one thread, and so does its progress: threads inside it get a problem without one. */
#ifndef FUSESIM_PLAN_PRICE_PROGRESS_H
#define FUSESIM_PLAN_PRICE_PROGRESS_H

#include "plan/price/plan.h"

typedef struct fsim_progress {
    /* Set by who wants to see it; show also takes away what it showed, where `ended`. */
    void (*show)(struct fsim_progress *progress);
    void *to;
    double next_s, every_s; /* of fsim_clock_s: when show is called next, and how long after that again */
    /* Set by the prediction. */
    double begun_s;       /* when it began */
    const char *phase;    /* what is done: "greedy", "search"; lives as long as the prediction */
    int64_t done, of;     /* of how many primitives the search is through; of: 0 where that says nothing */
    const char *open;     /* segments that keep the proof open: "layer.3 attention, 0.4 %"; NULL: not known */
    fsim_sum best, bound; /* of the objective: the best plan so far, 0: none; no plan costs less, 0: not known */
    fsim_objective in;    /* their unit */
    double left_s;        /* until the search must end; INFINITY: not known */
    bool shown, ended;    /* show was called; it is called for the last time */
} fsim_progress;

/* What is done from now on. */
void fsim_progress_phase(const fsim_problem *p, const char *phase);
/* The search is through so many primitives of so many. */
void fsim_progress_done(const fsim_problem *p, int64_t done, int64_t of);
/* A plan that costs so much is known. */
void fsim_progress_best(const fsim_problem *p, const fsim_plan *plan);
/* No plan costs less than that. */
void fsim_progress_bound(const fsim_problem *p, fsim_sum bound);
/* What keeps the proof open; the text must live until it is replaced. */
void fsim_progress_open(const fsim_problem *p, const char *open);
/* Shows what there is, where it is time to. left_s: until the search must end. */
void fsim_progress_tick(const fsim_problem *p, double now_s, double left_s);
/* The prediction is done: what was shown is taken away. */
void fsim_progress_end(const fsim_problem *p);

#endif
