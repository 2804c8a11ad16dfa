/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c: one line on the terminal while a search, or many of them, take longer than a second. */
#include "plan/price/progress.h"
#include "command/command.h"
#include "plan/price/deadline.h"
#include "report/describe.h"
#include "report/terminal.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const double patience_s = 1, every_s = 0.25;

/* "best plan 1.51 ms, gap 12.3 %" */
static const char *best_text(const fsim_progress *g, fsim_arena *a)
{
    if (g->best <= 0)
        return "no plan yet";
    const char *best = g->in == FSIM_MINIMISE_TIME ? fsim_seconds_text(a, (double)g->best * FSIM_TICK_S)
                                                   : fsim_bytes_text(a, (double)g->best);
    return g->bound > 0 ? fsim_printf(a, "best plan %s, gap %s", best,
                                      fsim_percent_text(a, fmax(0, 1 - (double)g->bound / (double)g->best)))
                        : fsim_printf(a, "best plan %s", best);
}

static const char *line_of(const fsim_progress *g, fsim_arena *a)
{
    const char *done = g->of > 0 ? fsim_printf(a, " %.0f%%", floor(100 * (double)g->done / (double)g->of)) : "",
               *open = g->open ? fsim_printf(a, ", open: %s", g->open) : "",
               *left = g->left_s < 1e6 ? fsim_printf(a, ", at most %.0f s more", ceil(fmax(0, g->left_s))) : "";
    return fsim_printf(a, "%.0f s, %s%s: %s%s%s; Ctrl-C takes it", fsim_clock_s() - g->begun_s,
                       g->phase ? g->phase : "planning", done, best_text(g, a), left, open);
}

/* One write for the whole line, so that lines of several threads do not mix; "" takes away what was there. */
static void show_line(const char *line)
{
    enum { MOST = 1024 };
    char text[MOST];
    const int width = fsim_terminal_width(); /* the last column stays free: a full line would wrap */
    snprintf(text, sizeof text, "\r\033[K%.*s", width - 1 < MOST - 8 ? width - 1 : MOST - 8, line);
    fputs(text, stderr);
    fflush(stderr);
}

static void show(fsim_progress *g)
{
    fsim_arena *a = fsim_arena_new();
    show_line(g->ended ? "" : line_of(g, a));
    fsim_arena_free(a);
}

fsim_progress *fsim_new_progress(const fsim_context *c, fsim_arena *a)
{
    if (!fsim_terminal_shows_progress(c->environment.term))
        return NULL;
    fsim_progress *g = fsim_new(a, fsim_progress, 1);
    *g = (fsim_progress){
        .show = show, .every_s = every_s, .begun_s = c->began_s, .next_s = c->began_s + patience_s, .left_s = INFINITY};
    return g;
}

struct fsim_tasks {
    const char *what;
    int64_t begun, of; /* done before this run; all */
    atomic_llong done;
    atomic_bool busy; /* somebody shows it */
    double began_s, next_s;
    bool shown;
};

fsim_tasks *fsim_new_tasks(const fsim_context *c, const char *what, int64_t done, int64_t of)
{
    if (!fsim_terminal_shows_progress(c->environment.term))
        return NULL;
    const double now_s = fsim_clock_s();
    fsim_tasks *n = fsim_new(c->arena, fsim_tasks, 1);
    n->what = what;
    n->begun = done;
    n->of = of;
    atomic_init(&n->done, done);
    atomic_init(&n->busy, false);
    n->began_s = now_s;
    n->next_s = now_s + patience_s;
    return n;
}

void fsim_task_done(fsim_tasks *n)
{
    if (!n)
        return;
    const int64_t done = atomic_fetch_add(&n->done, 1) + 1;
    if (atomic_exchange(&n->busy, true))
        return;
    const double now_s = fsim_clock_s(), passed_s = now_s - n->began_s;
    if (now_s >= n->next_s) {
        fsim_arena *a = fsim_arena_new();
        const double rate = (double)(done - n->begun) / passed_s;
        show_line(fsim_printf(a, "%.0f s, %lld of %lld %s, %.3g a second, %.0f s left; Ctrl-C ends it", passed_s,
                              (long long)done, (long long)n->of, n->what, rate, ceil((double)(n->of - done) / rate)));
        fsim_arena_free(a);
        n->shown = true;
        n->next_s = now_s + every_s;
    }
    atomic_store(&n->busy, false);
}

void fsim_tasks_end(fsim_tasks *n)
{
    if (n && n->shown)
        show_line("");
}
