/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/floor.h"

#include "cost/costing.h"
#include "fusion/chain.h"
#include "plan/price/price.h"
#include <math.h>

enum { WIDEST_VECTOR = 4 }; /* elements that one instruction of a kernel without a contraction loads or stores */

double fsim_floor_launch(const fsim_problem *p) { return fsim_least_launch_s(p->hw, p->regime); }

fsim_floor fsim_floor_of(const fsim_problem *p, const int *node, int count)
{
    fsim_floor f = {.p = p, .lanes = fsim_hw_get(p->hw, FSIM_HW_SMS) * fsim_hw_get(p->hw, FSIM_HW_SM_CLOCK)};
    bool opaque = false; /* a sort, say, is the library's kernel, with rules of its own */
    for (int i = 0; i < count; i++) {
        f.products = f.products || p->graph->node[node[i]].gemm.k;
        opaque = opaque || fsim_ops[p->graph->node[node[i]].op].class == FSIM_OPAQUE;
    }
    f.arithmetic = p->limits.strict || !f.products;
    f.by_accesses = !f.products && !opaque && !p->hw->host && !p->hw->arch->plain;
    return f;
}

fsim_floor fsim_floor_of_plain(const fsim_problem *p)
{
    fsim_floor f = fsim_floor_of(p, NULL, 0);
    f.arithmetic = true;
    return f;
}

bool fsim_floor_is_plain(const fsim_node *n)
{
    const fsim_class class = fsim_ops[n->op].class;
    return fsim_classes[class].inlines || class == FSIM_REDUCE;
}

/* Instructions a second that the SMs issue, for each thread. */
static double issue_rate(const fsim_floor *f)
{
    return f->lanes * FSIM_ISSUE_PER_SM * fsim_hw_get(f->p->hw, FSIM_HW_WARP_SIZE);
}

/* Results a second of the pipe that computes in this type. */
static double pipe_rate(const fsim_floor *f, fsim_dtype type)
{
    const double floats = fsim_hw_get(f->p->hw, FSIM_HW_FP32_RATE);
    const fsim_hw_key other = type == FSIM_F64 ? FSIM_HW_FP64_RATE : FSIM_HW_INT32_RATE;
    return f->lanes * (type != FSIM_F64 && fsim_dtype_floating(type)
                           ? floats
                           : fsim_or_else(fsim_hw_get(f->p->hw, other), floats));
}

fsim_unit_seconds fsim_floor_arithmetic(const fsim_floor *f, const fsim_node *n)
{
    fsim_unit_seconds out = {{0}};
    if (!f->arithmetic || n->gemm.k || f->p->objective == FSIM_MINIMISE_BYTES)
        return out;
    const double points = (double)n->points * (double)n->reduced;
    out.s[FSIM_FLOOR_WORK] = points * n->instructions / pipe_rate(f, n->dtype);
    out.s[FSIM_FLOOR_SPECIAL] = points * n->specials / (f->lanes * fsim_hw_get(f->p->hw, FSIM_HW_SPECIAL_RATE));
    out.s[FSIM_FLOOR_ISSUE] = f->by_accesses ? points * n->instructions / issue_rate(f) : 0;
    return out;
}

fsim_unit_seconds fsim_floor_accesses(const fsim_floor *f, double bytes, double elems)
{
    fsim_unit_seconds out = {{0}};
    if (f->by_accesses && f->p->objective != FSIM_MINIMISE_BYTES) {
        out.s[FSIM_FLOOR_ISSUE] = 2 * elems / WIDEST_VECTOR / issue_rate(f);
        out.s[FSIM_FLOOR_L2] = bytes / fsim_or_else(fsim_hw_get(f->p->hw, FSIM_HW_L2_BANDWIDTH), INFINITY);
    }
    return out;
}

static fsim_unit_seconds access_units(const fsim_floor *f, double bytes, double elems, double dram_s)
{
    fsim_unit_seconds out = fsim_floor_accesses(f, bytes, elems);
    out.s[FSIM_FLOOR_DRAM] = f->p->objective == FSIM_MINIMISE_BYTES ? bytes : dram_s;
    return out;
}

fsim_unit_seconds fsim_floor_read(const fsim_floor *f, const fsim_access *x)
{
    const fsim_tensor *t = &f->p->graph->tensor[x->tensor];
    const double loaded = x->how == FSIM_READ_MAP ? (double)t->elems : 0; /* windows load several at once */
    return access_units(f, (double)t->bytes, loaded,
                        fsim_least_dram_seconds(f->p->hw, (double)t->bytes, 0, f->products));
}

fsim_unit_seconds fsim_floor_fetch(const fsim_floor *f, const fsim_tensor *t)
{
    return access_units(f, (double)t->bytes, 0, fsim_least_dram_seconds(f->p->hw, (double)t->bytes, 0, f->products));
}

fsim_unit_seconds fsim_floor_write(const fsim_floor *f, const fsim_tensor *t)
{
    const double bytes = (double)t->written_bytes;
    return access_units(f, bytes, bytes / fsim_dtype_bytes(t->dtype),
                        fsim_least_dram_seconds(f->p->hw, 0, bytes, f->products));
}

void fsim_floor_add(fsim_unit_seconds *sum, fsim_unit_seconds more)
{
    for (int u = 0; u < FSIM_FLOOR_UNITS; u++)
        sum->s[u] += more.s[u];
}

double fsim_floor_norm(const fsim_unit_seconds *sum)
{
    double cubes = 0;
    for (int u = 0; u < FSIM_FLOOR_UNITS; u++)
        cubes += sum->s[u] * sum->s[u] * sum->s[u];
    return cbrt(cubes);
}

/* Makes the shares of both of a chain no more than what it takes together. */
static void share_chain(double *share_s, int first, int second, double least_s)
{
    const double both = share_s[first] + share_s[second];
    if (least_s >= both)
        return;
    share_s[first] *= least_s / both * (1 - 1e-12);
    share_s[second] *= least_s / both * (1 - 1e-12);
}

void fsim_floor_find_shares(fsim_floor *f, const int *node, int count, const bool *masked, fsim_arena *a)
{
    enum { MOST_CHAINS = 16 };
    const fsim_graph *g = f->p->graph;
    double *share_s = fsim_new(a, double, g->nodes + 1);
    bool *skips = fsim_new(a, bool, g->nodes + 1), known = f->p->objective != FSIM_MINIMISE_BYTES;
    fsim_joint *chain = fsim_new(a, fsim_joint, MOST_CHAINS);
    const fsim_limits limits = fsim_limits_of(f->p);
    for (int n = 0; n < g->nodes && known; n++) {
        if (g->node[n].gemm.k && !g->node[n].gemm.convolution) {
            share_s[n] = fsim_contraction_beside_for(f->p, n);
            known = share_s[n] > 0;
        }
        skips[n] = true; /* of what is not in the list nothing is known */
    }
    for (int i = 0; i < count; i++)
        skips[node[i]] = masked[i];
    for (int i = 0; i < count && known; i++) {
        const int n = node[i];
        if (!g->node[n].gemm.k || g->node[n].gemm.convolution)
            continue;
        const int chains = fsim_chains_from(&limits, n, chain, MOST_CHAINS);
        known = chains >= 0;
        for (int k = 0; k < chains; k++) {
            const int second = chain[k].second;
            const fsim_chain_pair pair = {
                n, second, (double)chain[k].rows, (double)chain[k].width, skips[n] || skips[second], false};
            share_chain(share_s, n, second, fsim_least_chain_call_s(g, f->p->hw, pair, fsim_floor_launch(f->p)));
        }
    }
    f->share_s = known ? share_s : NULL;
}

bool fsim_floor_may_be_masked(const fsim_problem *p)
{
    for (int n = 0; n < p->graph->nodes; n++)
        if (p->graph->node[n].op == FSIM_OP_CAUSAL_MASK)
            return true;
    return false;
}

fsim_floor_product fsim_floor_contraction(const fsim_floor *f, int node, bool masked)
{
    const fsim_graph *g = f->p->graph;
    if (f->p->objective == FSIM_MINIMISE_BYTES)
        return (fsim_floor_product){0, 0};
    const fsim_limits limits = fsim_limits_of(f->p);
    const int company = fsim_contraction_company(&limits, node);
    const double share = f->share_s ? f->share_s[node] : 0;
    if (share > 0)
        return (fsim_floor_product){share, 1.0 / company};
    if (masked)
        return (fsim_floor_product){0.5 * fsim_least_contraction_s(g, f->p->hw, node), 0};
    const double alone = fsim_contraction_alone_for(f->p, node);
    return (fsim_floor_product){
        company == 1 ? alone : fmin(alone, fsim_contraction_share_s(g, f->p->hw, node, company)), 1.0 / company};
}
