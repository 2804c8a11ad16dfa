/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.c: why a set of primitives can't be one kernel, in words. */
#include "fusion/group.h"

#include "graph/barrier.h"
#include <math.h>
#include <string.h>

const char *const fsim_rule_names[FSIM_RULE_COUNT] = {"none",
                                                      "boundary",
                                                      "in_place",
                                                      "convexity",
                                                      "cycle",
                                                      "connected",
                                                      "space",
                                                      "index_map",
                                                      "grid_barrier",
                                                      "contractions",
                                                      "reduced_epilogue",
                                                      "prologue",
                                                      "window",
                                                      "assembly",
                                                      "shared_memory",
                                                      "parameters",
                                                      "numerics",
                                                      "user",
                                                      "cost"};

const char *const fsim_refusal_units[FSIM_REFUSAL_UNITS] = {
#define FSIM_REFUSAL_UNIT(id, text) [FSIM_IN_##id] = text,
#include "fusion/refusal.def"
#undef FSIM_REFUSAL_UNIT
};

bool fsim_refuse_pair(fsim_refusal *why, fsim_rule rule, int a, int b, fsim_excess excess)
{
    *why = (fsim_refusal){.rule = rule,
                          .a = a,
                          .b = b,
                          .through = -1,
                          .needed = excess.needed,
                          .limit = excess.limit,
                          .unit = excess.unit};
    return false;
}

static const char *number(fsim_arena *a, double x)
{
    return fabs(x) < 0x1p63 && x == trunc(x) ? fsim_printf(a, "%lld", (long long)x) : fsim_printf(a, "%.3g", x);
}

static const char *index_map_text(const fsim_graph *g, const fsim_refusal *r, fsim_arena *a)
{
    const char *op = fsim_ops[g->node[r->a].op].name, *x = g->node[r->a].name,
               *y = r->b >= 0 ? g->node[r->b].name : "its readers", *needed = number(a, r->needed),
               *limit = number(a, r->limit);
    switch (r->unit) {
    case FSIM_IN_POINTS:
        if (r->needed == r->limit)
            return fsim_printf(a,
                               "%s '%s' computes each of its %s points once, but its readers in this kernel do not "
                               "read each once: data or pieces choose",
                               op, x, limit);
        return fsim_printf(
            a, "%s '%s' has %s points, but this kernel would have to compute %s of them: it computes each once", op, x,
            limit, needed);
    case FSIM_IN_CHAIN_STAGES:
        return fsim_printf(
            a,
            "'%s' is needed in %s places of the chain (in front of, between or behind its contractions), "
            "and a kernel computes it in %s",
            x, needed, limit);
    case FSIM_IN_TILE_MAPS:
        return fsim_printf(a, "its readers do not read '%s' tile by tile, each of its rows once", x);
    case FSIM_IN_NONE:
        return fsim_printf(a, "'%s' reads '%s' across rows, in an order that no index map expresses", y, x);
    default:
        return fsim_printf(
            a, "the readers of '%s' in this kernel need it through %s index maps, and a kernel can serve %s", x, needed,
            limit);
    }
}

/* A reduction whose rows are short enough for a tile, and are not rows of the contraction's results. */
static const char *reduced_elsewhere_text(const fsim_graph *g, const fsim_refusal *r, fsim_arena *a)
{
    const bool before = r->b >= 0 && !g->node[r->a].gemm.k && g->node[r->b].gemm.k;
    const char *x = g->node[r->a].name, *y = r->b >= 0 ? g->node[r->b].name : x;
    return before
               ? fsim_printf(a,
                             "'%s' reduces what contraction '%s' reads; a kernel with a contraction reduces only the "
                             "contraction's results",
                             x, y)
               : fsim_printf(a,
                             "'%s' does not reduce whole rows of the results of contraction '%s', and a tile holds "
                             "nothing else",
                             y, x);
}

static bool share_argument(const fsim_node *m, const fsim_node *n)
{
    for (int i = 0; i < m->args; i++)
        for (int k = 0; k < n->args; k++)
            if (m->arg[i].tensor == n->arg[k].tensor)
                return true;
    return false;
}

/* The sum of a product's operand, such as a bias's gradient beside the weight's, needs what no length of a row gives;
 * NULL: it is another reduction. */
static const char *beside_text(const fsim_graph *g, const fsim_refusal *r, fsim_arena *a)
{
    const bool first = g->node[r->a].gemm.k > 0;
    if (r->unit != FSIM_IN_TILE_ROW || r->b < 0 || first == (g->node[r->b].gemm.k > 0) ||
        !share_argument(&g->node[r->a], &g->node[r->b]))
        return NULL;
    return fsim_printf(a,
                       "'%s' reduces what contraction '%s' reads; a kernel with a contraction reduces only the "
                       "contraction's results%s",
                       g->node[first ? r->b : r->a].name, g->node[first ? r->a : r->b].name,
                       r->final ? "" : ", or what one contraction makes and another reads");
}

static const char *reduced_epilogue_text(const fsim_graph *g, const fsim_refusal *r, fsim_arena *a)
{
    const char *beside = beside_text(g, r, a), *limit = number(a, r->limit);
    if (r->unit == FSIM_IN_TILE_ROW && r->needed <= r->limit)
        return reduced_elsewhere_text(g, r, a);
    if (beside)
        return beside;
    return fsim_printf(
        a, "a reduction fused with a contraction needs %s %s, and there can be %s%s", number(a, r->needed),
        fsim_refusal_units[r->unit], r->limit > 1 ? fsim_printf(a, "at most %s", limit) : "none",
        r->limit > 1 && !r->final ? "; with the contraction at their other end the three could be one kernel" : "");
}

/* a leads to an output, b needs the gradient of one. */
static const char *barrier_text(const fsim_graph *g, const fsim_refusal *r, fsim_arena *a)
{
    static const char prefix[] = "grad/";
    const int seed = fsim_awaited_gradient(g, r->b), output = fsim_output_of(g, r->a);
    const char *gradient = seed < 0 ? "the gradient of an output" : g->tensor[seed].name,
               *of = seed < 0 ? "" : gradient + sizeof prefix - 1, *reached = output < 0 ? of : g->tensor[output].name;
    if (strcmp(of, reached) == 0)
        return fsim_printf(a, "%s is known only after %s", gradient, of);
    return fsim_printf(a, "%s is known only after all outputs, of which '%s' leads to %s", gradient, g->node[r->a].name,
                       reached);
}

static const char *space_text(const fsim_refusal *r, fsim_arena *a)
{
    const char *unit = r->unit ? fsim_refusal_units[r->unit] : "points"; /* "1 row against 4096" */
    if (r->needed == r->limit)
        return fsim_printf(a, "different iteration spaces: %s %s against as many of another dimension",
                           number(a, r->needed), unit);
    return fsim_printf(a, "different iteration spaces: %s %.*s against %s", number(a, r->needed),
                       (int)strlen(unit) - (r->needed == 1), unit, number(a, r->limit));
}

static const char *window_text(const char *x, const char *y, const fsim_refusal *r, fsim_arena *a)
{
    if (r->unit == FSIM_IN_WINDOWS)
        return fsim_printf(a, "'%s' and '%s' each need a kernel's loop over windows or sums, of which it has one", x,
                           y);
    return fsim_printf(a, "'%s' reads overlapping windows, so '%s' would be computed up to %s times an element", y, x,
                       number(a, r->needed));
}

const char *fsim_refusal_text(const fsim_graph *g, const fsim_refusal *r, fsim_arena *a)
{
    const char *x = g->node[r->a].name, *y = r->b >= 0 ? g->node[r->b].name : "its readers",
               *needed = number(a, r->needed), *limit = number(a, r->limit);
    const char *unit = fsim_refusal_units[r->unit], *op = fsim_ops[g->node[r->a].op].name;
    switch (r->rule) {
    case FSIM_RULE_BOUNDARY:
        return fsim_printf(a, "%s '%s' %s: %s", op, x,
                           fsim_classes[fsim_ops[g->node[r->a].op].class].boundary ? "is a kernel of its own"
                           : fsim_ops[g->node[r->a].op].class == FSIM_SCAN         ? "stays apart"
                                                                                   : "ends its kernel",
                           fsim_classes[fsim_ops[g->node[r->a].op].class].why);
    case FSIM_RULE_IN_PLACE:
        if (r->b < 0)
            return fsim_printf(a, "'%s' reads what is overwritten in place, so it is computed once", x);
        if (g->node[r->a].phase == FSIM_OPTIMIZER)
            return fsim_printf(a, "'%s' changes weights in place, and the kernels before it read them", x);
        return fsim_printf(a, "'%s' writes in place, so what '%s' makes or reads must be in memory before", x, y);
    case FSIM_RULE_CONVEXITY:
    case FSIM_RULE_CYCLE:
        if (r->unit == FSIM_IN_BARRIER)
            return barrier_text(g, r, a);
        return fsim_printf(a, "would create a cycle through %s",
                           r->through >= 0 ? g->node[r->through].name : "another kernel");
    case FSIM_RULE_CONNECTED:
        return fsim_printf(a, "'%s' and '%s' share no tensor", x, y);
    case FSIM_RULE_SPACE:
        return space_text(r, a);
    case FSIM_RULE_INDEX_MAP:
        return index_map_text(g, r, a);
    case FSIM_RULE_GRID_BARRIER:
        return fsim_printf(a, "needs a barrier across the grid: %s %s (one block holds %s)", needed, unit, limit);
    case FSIM_RULE_CONTRACTIONS:
        return fsim_printf(a, "two contractions ('%s' and '%s') in one kernel: %s", x, y, unit);
    case FSIM_RULE_REDUCED_EPILOGUE:
        return reduced_epilogue_text(g, r, a);
    case FSIM_RULE_PROLOGUE:
        return fsim_printf(a, "'%s' would have to be computed while the contraction loads its operand, but %s", x,
                           r->needed == 0 && r->unit == FSIM_IN_NONE && r->b >= 0 &&
                                   fsim_classes[fsim_ops[g->node[r->a].op].class].clones
                               ? "other kernels read its value from memory"
                               : "a kernel can't compute it there");
    case FSIM_RULE_WINDOW:
        return window_text(x, y, r, a);
    case FSIM_RULE_ASSEMBLY:
        return fsim_printf(a, "'%s' picks its elements by ranges or by data, so its producer '%s' must be stored first",
                           y, x);
    case FSIM_RULE_SHARED:
        return r->needed > 0 ? fsim_printf(a, "needs %s KiB of shared memory per block, the GPU allows %s KiB",
                                           number(a, r->needed / 1024), number(a, r->limit / 1024))
                             : fsim_printf(a, "no configuration of '%s' and what is fused with it fits the GPU", x);
    case FSIM_RULE_PARAMETERS:
        return fsim_printf(a, "needs %s %s, the limit is %s", needed, unit, limit);
    case FSIM_RULE_NUMERICS:
        if (r->b < 0)
            return fsim_printf(a,
                               "strict numerics: one block sums all %s elements in order; splitting them, or a running "
                               "maximum or mean, is refused",
                               needed);
        return fsim_printf(a, "strict numerics: %s %s, one block keeps the order of %s", needed, unit, limit);
    case FSIM_RULE_USER:
        if (r->unit == FSIM_IN_LIBRARY_CALL)
            return fsim_printf(a, "a library's call has '%s' inside, and not '%s'", x, y);
        return fsim_printf(a, "the workload's fuse:, separate: or materialize: keeps '%s' and '%s' apart", x, y);
    case FSIM_RULE_COST:
        return fsim_printf(a, "legal, but one kernel takes longer");
    case FSIM_RULE_NONE:
    case FSIM_RULE_COUNT:
        break;
    }
    return "";
}
