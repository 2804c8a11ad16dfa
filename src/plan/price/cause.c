/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/cause.h"

#include "base/unit.h"
#include <math.h>
#include <string.h>

/* What a comparison of kernels uses: sums of their work, extremes of how they run. */
typedef struct {
    double unit[FSIM_UNIT_COUNT], flops, spilled, dram_read, grid, occupancy, coalescing;
    int launches, passes, registers;
    bool library;
} digest;

static digest digest_of(const fsim_kernel *const *kernel, int count)
{
    digest d = {.occupancy = INFINITY, .coalescing = INFINITY};
    for (int i = 0; i < count; i++) {
        const fsim_kernel *k = kernel[i];
        for (int u = 0; u < FSIM_UNIT_COUNT; u++)
            d.unit[u] += k->unit[u];
        d.flops += k->flops;
        d.spilled += (double)k->spilled_bytes;
        d.dram_read += (double)k->dram_read_bytes;
        d.grid = fmax(d.grid, (double)k->grid);
        d.occupancy = fmin(d.occupancy, k->occupancy);
        d.coalescing = fmin(d.coalescing, k->coalescing);
        d.launches += k->launches;
        d.passes = k->passes > d.passes ? k->passes : d.passes;
        d.registers = k->registers > d.registers ? k->registers : d.registers;
        d.library = d.library || k->template == FSIM_LIBRARY_CONTRACTION;
    }
    return d;
}

static double evaluations(const fsim_kernel *const *kernel, int count, int node)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        for (int m = 0; m < kernel[i]->group->members; m++)
            sum += kernel[i]->group->member[m].node == node ? (double)kernel[i]->group->member[m].evaluations : 0;
    return sum;
}

static bool writes(const fsim_kernel *const *kernel, int count, int tensor)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < kernel[i]->outputs; k++)
            if (kernel[i]->output[k].tensor == tensor)
                return true;
    return false;
}

/* Finds the primitives whose number of evaluations grew most. */
static void find_recomputed(fsim_cause *c, const fsim_kernel *const *before, int befores,
                            const fsim_kernel *const *after, int afters)
{
    for (int i = 0; i < afters; i++)
        for (int m = 0; m < after[i]->group->members; m++) {
            const int node = after[i]->group->member[m].node;
            const double times = evaluations(after, afters, node) / fmax(1, evaluations(before, befores, node));
            if (times > 1 && times >= c->to) {
                c->nodes = times > c->to ? 1 : c->nodes + 1;
                c->node = node;
                c->to = times;
            }
        }
}

/* The last primitive that is newly computed inside a contraction's operand loads; -1: there is none. */
static int prologue_of(const fsim_kernel *const *kernel, int count)
{
    int node = -1;
    for (int i = 0; i < count; i++)
        for (int m = 0; m < kernel[i]->group->members; m++)
            if (kernel[i]->group->member[m].prologue)
                node = kernel[i]->group->member[m].node;
    return node;
}

/* The largest tensor that is newly written to memory. */
static void find_stored(fsim_cause *c, const fsim_graph *g, const fsim_kernel *const *before, int befores,
                        const fsim_kernel *const *after, int afters)
{
    for (int i = 0; i < afters; i++)
        for (int k = 0; k < after[i]->outputs; k++) {
            const fsim_result *out = &after[i]->output[k];
            if (!writes(before, befores, out->tensor) && (double)out->bytes > c->to) {
                c->node = g->tensor[out->tensor].producer;
                c->to = (double)out->bytes;
            }
        }
}

fsim_cause fsim_cause_of(const fsim_graph *g, const fsim_kernel *const *before, int befores,
                         const fsim_kernel *const *after, int afters)
{
    const digest b = digest_of(before, befores), n = digest_of(after, afters);
    fsim_cause c = {.node = -1, .registers_from = b.registers, .registers_to = n.registers}, recomputed = c, stored = c;
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        if (n.unit[u] - b.unit[u] > c.after_s - c.before_s) {
            c.unit = (fsim_unit)u;
            c.before_s = b.unit[u];
            c.after_s = n.unit[u];
        }
    if (!(c.after_s > c.before_s))
        return c;
    const bool arithmetic = c.unit == FSIM_COMPUTE || c.unit == FSIM_SPECIAL || c.unit == FSIM_ISSUE;
    const bool memory = c.unit == FSIM_DRAM || c.unit == FSIM_L2 || c.unit == FSIM_SHARED;
    find_recomputed(&recomputed, before, befores, after, afters);
    find_stored(&stored, g, before, befores, after, afters);
    const int loaded = prologue_of(before, befores) < 0 ? prologue_of(after, afters) : -1;
    const struct {
        bool applies;
        fsim_growth growth;
        double from, to;
        int node;
    } reason[] = {{c.unit == FSIM_LAUNCH && n.launches > b.launches, FSIM_GROWN_LAUNCHES, b.launches, n.launches, -1},
                  {memory && stored.node >= 0, FSIM_GROWN_STORING, 0, stored.to, stored.node},
                  {!arithmetic && n.spilled > b.spilled, FSIM_GROWN_SPILLS, b.spilled, n.spilled, -1},
                  {n.passes > b.passes, FSIM_GROWN_PASSES, b.passes, n.passes, -1},
                  {arithmetic && recomputed.node >= 0 && n.flops > 1.001 * b.flops, FSIM_GROWN_RECOMPUTING, 1,
                   recomputed.to, recomputed.node},
                  {arithmetic && loaded >= 0, FSIM_GROWN_PROLOGUE, 0, 0, loaded},
                  {!memory && b.library && !n.library, FSIM_GROWN_GENERATED, 0, 0, -1},
                  {memory && n.coalescing < 0.95 * b.coalescing, FSIM_GROWN_COALESCING, b.coalescing, n.coalescing, -1},
                  {!memory && n.occupancy < 0.95 * b.occupancy, FSIM_GROWN_OCCUPANCY, b.occupancy, n.occupancy, -1},
                  {!memory && n.grid < 0.95 * b.grid, FSIM_GROWN_BLOCKS, b.grid, n.grid, -1},
                  {c.unit == FSIM_DRAM && n.dram_read > b.dram_read, FSIM_GROWN_FETCHING, b.dram_read, n.dram_read, -1},
                  {true, FSIM_GROWN_UNEXPLAINED, 0, 0, -1}};
    int i = 0;
    while (!reason[i].applies)
        i++;
    c.growth = reason[i].growth;
    c.from = reason[i].from;
    c.to = reason[i].to;
    c.node = reason[i].node;
    c.nodes = c.growth == FSIM_GROWN_RECOMPUTING ? recomputed.nodes : c.node >= 0;
    return c;
}

static const char *reason_text(const fsim_graph *g, const fsim_cause *c, fsim_arena *a)
{
    char from[32], to[32];
    const char *name = c->node >= 0 ? g->node[c->node].name : "";
    switch (c->growth) {
    case FSIM_GROWN_LAUNCHES:
        return fsim_printf(a, ": %.0f launches instead of %.0f", c->to, c->from);
    case FSIM_GROWN_RECOMPUTING:
        return fsim_printf(a, ": '%s'%s computed %.*f times as often", name,
                           c->nodes > 1 ? fsim_printf(a, " and %d more are", c->nodes - 1) : " is", c->to < 10 ? 1 : 0,
                           c->to);
    case FSIM_GROWN_PROLOGUE:
        return fsim_printf(a, ": '%s' is computed again for every tile that loads it", name);
    case FSIM_GROWN_STORING:
        return fsim_printf(a, ": '%s', %s, goes through memory", name, fsim_show_bytes(to, sizeof to, c->to));
    case FSIM_GROWN_SPILLS:
        return fsim_printf(a, ": more values are live than a thread has registers, %s are spilled",
                           fsim_show_bytes(to, sizeof to, c->to));
    case FSIM_GROWN_PASSES:
        return fsim_printf(a, ": rows no longer stay on chip and are read %.0f times instead of %.0f", c->to, c->from);
    case FSIM_GROWN_GENERATED:
        return ": the vendor's library has no such kernel, a generated one is slower";
    case FSIM_GROWN_BLOCKS:
        return fsim_printf(a, ": %s blocks instead of %s share the work", fsim_show_count(to, sizeof to, c->to),
                           fsim_show_count(from, sizeof from, c->from));
    case FSIM_GROWN_OCCUPANCY:
        return fsim_printf(a, ": occupancy is %.0f%% instead of %.0f%% (%d registers a thread, %d before)", 100 * c->to,
                           100 * c->from, c->registers_to, c->registers_from);
    case FSIM_GROWN_COALESCING:
        return fsim_printf(a, ": accesses are strided, %.0f%% of the requested bytes are used instead of %.0f%%",
                           100 * c->to, 100 * c->from);
    case FSIM_GROWN_FETCHING:
        return fsim_printf(a, ": DRAM serves %s instead of %s", fsim_show_bytes(to, sizeof to, c->to),
                           fsim_show_bytes(from, sizeof from, c->from));
    case FSIM_GROWN_NOTHING:
    case FSIM_GROWN_UNEXPLAINED:
        break;
    }
    return "";
}

const char *fsim_cause_text(const fsim_graph *g, const fsim_cause *c, fsim_arena *a)
{
    char before[32], after[32];
    if (c->growth == FSIM_GROWN_NOTHING)
        return "no unit takes longer";
    const char *unit = fsim_unit_words[c->unit], *reason = reason_text(g, c, a);
    fsim_show_seconds(after, sizeof after, c->after_s);
    fsim_show_seconds(before, sizeof before, c->before_s);
    if (strcmp(after, before) == 0) /* the digits shown are the same */
        return fsim_printf(a, "%s takes %s longer%s", unit,
                           fsim_show_seconds(after, sizeof after, c->after_s - c->before_s), reason);
    return fsim_printf(a, "%s takes %s instead of %s%s", unit, after, c->before_s > 0 ? before : "nothing", reason);
}
