/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c: one line on the terminal while a search takes longer than a second. */
#include "plan/price/progress.h"
#include "command/command.h"
#include "plan/price/deadline.h"
#include "report/describe.h"
#include "report/terminal.h"

#include <math.h>
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

/* One write for the whole line, so that lines of several threads do not mix. */
static void show(fsim_progress *g)
{
    enum { MOST = 1024 };
    char text[MOST];
    if (g->ended) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        return;
    }
    fsim_arena *a = fsim_arena_new();
    const int width = fsim_terminal_width(); /* the last column stays free: a full line would wrap */
    snprintf(text, sizeof text, "\r\033[K%.*s", width - 1 < MOST - 8 ? width - 1 : MOST - 8, line_of(g, a));
    fputs(text, stderr);
    fflush(stderr);
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
