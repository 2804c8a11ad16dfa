/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints.c: dynamic programming over the steps of a chain and the bytes that are kept of those before. Where the
 * steps are equal there are as many different sums as steps, and the choice is exact; sums of unequal steps are rounded
 * up to units, so that what is chosen fits in any case. */
#include "plan/search/checkpoints.h"

#include <math.h>
#include <string.h>

enum { MOST_UNITS = 128 };

fsim_chain fsim_chain_of(const fsim_site *site, int sites, fsim_arena *a)
{
    fsim_chain c = {.site = site, .sites = sites, .a = a};
    for (int i = 0; i < sites; i++)
        c.total += site[i].bytes;
    return c;
}

/* The unit in which bytes are counted: that of all steps where they are equal. */
static int64_t unit_of(const fsim_chain *c)
{
    const int64_t fine = (c->total + MOST_UNITS - 1) / MOST_UNITS;
    for (int i = 0; i < c->sites; i++)
        if (c->site[i].bytes != c->site[0].bytes)
            return fine > 0 ? fine : 1;
    const int64_t step = c->sites > 0 ? c->site[0].bytes : 0;
    return step > fine ? step : fine > 0 ? fine : 1;
}

/* The least cost of the steps from i on where so many units are kept of those before; which step is kept next. */
typedef struct {
    double cost;
    int next;
} stage;

typedef struct {
    const fsim_chain *c;
    int64_t unit, limit;
    int *units; /* of each step */
    int width;  /* stages of one step */
    stage *at;
} table;

static stage best_from(const table *t, int i, int kept)
{
    stage best = {INFINITY, -1};
    int64_t again = 0;
    double cost = 0;
    for (int k = i; k <= t->c->sites && (kept + again) * t->unit <= t->limit; k++) {
        const int then = k < t->c->sites ? kept + t->units[k] : 0;
        const double rest = k == t->c->sites   ? 0
                            : then >= t->width ? INFINITY
                                               : t->at[(size_t)(k + 1) * (size_t)t->width + (size_t)then].cost;
        if (cost + rest < best.cost)
            best = (stage){cost + rest, k};
        if (k < t->c->sites) {
            again += t->units[k];
            cost += t->c->site[k].cost;
        }
    }
    return best;
}

bool fsim_chain_choose(const fsim_chain *c, int64_t limit, bool *dropped)
{
    const fsim_mark mark = fsim_save(c->a);
    table t = {.c = c, .unit = unit_of(c), .limit = limit, .units = fsim_new(c->a, int, c->sites + 1), .width = 1};
    for (int i = 0; i < c->sites; i++) {
        t.units[i] = (int)((c->site[i].bytes + t.unit - 1) / t.unit);
        t.width += t.units[i];
    }
    t.at = fsim_new(c->a, stage, (size_t)(c->sites + 1) * (size_t)t.width);
    for (int i = c->sites; i >= 0; i--)
        for (int kept = 0; kept < t.width; kept++)
            t.at[(size_t)i * (size_t)t.width + (size_t)kept] = best_from(&t, i, kept);
    const bool fits = t.at[0].cost < INFINITY;
    memset(dropped, 1, (size_t)c->sites * sizeof *dropped);
    for (int i = 0, kept = 0; fits && i < c->sites;) {
        const int next = t.at[(size_t)i * (size_t)t.width + (size_t)kept].next;
        if (next < c->sites) {
            dropped[next] = false;
            kept += t.units[next];
        }
        i = next + 1;
    }
    fsim_rewind(c->a, mark);
    return fits;
}
