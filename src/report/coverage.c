/* SPDX-License-Identifier: Apache-2.0 */
#include "report/coverage.h"

#include "base/names.h"
#include <stdlib.h>
#include <string.h>

static bool is_unknown(const fsim_graph *g, const fsim_source *s)
{
    return s->op == FSIM_OP_CUSTOM && s->from && s->nodes > 0 && !g->node[s->first].attrs.has_work;
}

/* Is it a further result of the operator before it? Those are operators of their own that read nothing. */
static bool is_further(const fsim_graph *g, int i)
{
    const fsim_source *s = &g->source[i];
    return i > 0 && is_unknown(g, s) && is_unknown(g, s - 1) && strcmp(s->from, s[-1].from) == 0 && s->nodes > 0 &&
           g->node[s->first].args == 0;
}

static int by_count(const void *x, const void *y)
{
    const fsim_counted *a = x, *b = y;
    return a->count != b->count ? b->count - a->count : strcmp(a->name, b->name);
}

/* The operators that are known, or those that are not, by name. */
static fsim_counted *counted(const fsim_graph *g, bool unknown, fsim_arena *a, int *names)
{
    fsim_names at = {0};
    fsim_counted *out = fsim_new(a, fsim_counted, g->sources + 1);
    *names = 0;
    for (int i = 0; i < g->sources; i++) {
        const fsim_source *s = &g->source[i];
        const char *name = unknown ? s->from : fsim_ops[s->op].name;
        if (is_unknown(g, s) != unknown || is_further(g, i))
            continue;
        int n = fsim_names_get(&at, name);
        if (n < 0) {
            n = (*names)++;
            out[n] = (fsim_counted){name, 0};
            fsim_names_set(a, &at, name, n);
        }
        out[n].count++;
    }
    if (*names > 1)
        qsort(out, (size_t)*names, sizeof *out, by_count);
    return out;
}

fsim_counted *fsim_known_operators(const fsim_graph *g, fsim_arena *a, int *count)
{
    return counted(g, false, a, count);
}

fsim_coverage fsim_coverage_of(const fsim_graph *g, fsim_arena *a)
{
    fsim_coverage x = {.known = 1};
    x.of = counted(g, true, a, &x.names);
    for (int i = 0; i < g->sources; i++)
        x.operators += !is_further(g, i);
    for (int i = 0; i < x.names; i++)
        x.unknown += x.of[i].count;
    if (x.unknown > 0)
        x.known = 1 - (double)x.unknown / x.operators;
    return x;
}

const char *fsim_coverage_text(const fsim_coverage *x, fsim_arena *a)
{
    enum { MOST_NAMED = 4 };
    const char *text = "";
    if (x->unknown == 0)
        return text;
    for (int i = 0; i < x->names && i < MOST_NAMED; i++)
        text = fsim_printf(a, "%s%s%d x %s", text, i ? ", " : "", x->of[i].count, x->of[i].name);
    if (x->names > MOST_NAMED)
        text = fsim_printf(a, "%s and %d other%s", text, x->names - MOST_NAMED, x->names - MOST_NAMED > 1 ? "s" : "");
    /* rounded down, so that 100 % means all */
    return fsim_printf(a, "%d%% of operators known: %s cost%s a copy%s", (int)(100 * x->known), text,
                       x->unknown > 1 ? "" : "s", x->unknown > 1 ? " each" : "");
}
