/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/unmeasured.h"

#include "cost/constants.h"
#include "vendor/kernels.h"
#include "vendor/library.h"

typedef struct {
    const fsim_graph *g;
    const fsim_hw *hw;
    fsim_maker maker;
    const fsim_kernel *k;
} kernel;

static fsim_op anchor_op(const kernel *x)
{
    return x->k->group->anchor < 0 ? FSIM_OP_COUNT : x->g->node[x->k->group->anchor].op;
}

static bool has_class(const kernel *x, fsim_class class)
{
    for (int i = 0; i < x->k->group->members; i++)
        if (fsim_ops[x->g->node[x->k->group->member[i].node].op].class == class)
            return true;
    return false;
}

static bool sorts(const kernel *x) { return anchor_op(x) == FSIM_OP_SORT || anchor_op(x) == FSIM_OP_TOPK; }
static bool is_custom(const kernel *x) { return anchor_op(x) == FSIM_OP_CUSTOM; }
static bool scatters(const kernel *x) { return has_class(x, FSIM_SCATTER); }
static bool gathers(const kernel *x) { return has_class(x, FSIM_GATHER); }
static bool resamples(const kernel *x) { return anchor_op(x) == FSIM_OP_INTERPOLATE; }
static bool scans(const kernel *x) { return x->maker == FSIM_BY_FUSESIM && x->k->template == FSIM_SCAN_KERNEL; }

static bool has_short_rows(const kernel *x)
{
    const fsim_template t = x->k->template;
    return (t == FSIM_ROW_REDUCTION || t == FSIM_COLUMN_REDUCTION) && x->k->group->reduced <= SHORT_ROW;
}

static bool is_narrow_product(const kernel *x)
{
    const fsim_template t = x->k->template;
    if (t != FSIM_LIBRARY_CONTRACTION && t != FSIM_TILED_CONTRACTION)
        return false;
    const fsim_gemm *m = &x->g->node[x->k->group->anchor].gemm;
    const int64_t side = m->m < m->n ? m->m : m->n;
    return !m->convolution && !fsim_is_tensor_arithmetic(m->arithmetic) && side > 1 && side < MEASURED_SIDE;
}

static bool has_wide_heads(const kernel *x)
{
    const fsim_costing c = {.g = x->g, .hw = x->hw, .group = x->k->group};
    return x->maker != FSIM_BY_FUSESIM && fsim_beyond_flash(&c, x->maker);
}

static bool has_score_bias(const kernel *x)
{
    const fsim_costing c = {.g = x->g, .hw = x->hw, .group = x->k->group};
    return !x->hw->arch->plain && fsim_has_score_bias(&c, x->maker);
}

static bool is_backward_attention(const kernel *x) { return fsim_is_backward_assumed(x->g, x->hw, x->k->group); }

/* A call that stores a mask of bits, or multiplies by a slope. */
static bool has_slope(const kernel *x)
{
    if (x->k->template != FSIM_LIBRARY_CONTRACTION || x->k->group->contractions != 1)
        return false;
    const fsim_epilogue e = fsim_epilogue_of(x->g, x->hw, x->k->group);
    return e.aux >= 0 || e.mask >= 0;
}

/* The collective of a communication kernel; NULL: it is none. */
static const fsim_node *collective(const kernel *x)
{
    const fsim_node *n = x->k->group->members > 0 ? &x->g->node[x->k->group->member[0].node] : NULL;
    return n && fsim_ops[n->op].class == FSIM_COMMUNICATION ? n : NULL;
}

static bool joins_many(const kernel *x) { return collective(x) && collective(x)->attrs.ranks > MEASURED_RANKS; }

/* Rows have whatever algorithm the library chose. */
static bool asks_for_algorithm(const kernel *x) { return collective(x) && collective(x)->attrs.algorithm > 0; }

double fsim_unmeasured_spread(const fsim_graph *g, const fsim_hw *hw, fsim_maker maker, const fsim_kernel *k)
{
    static const struct {
        bool (*holds)(const kernel *x);
        const double *spread;
    } kinds[] = {{sorts, &unmeasured_sort},
                 {is_custom, &unmeasured_custom},
                 {scatters, &unmeasured_scatter},
                 {gathers, &unmeasured_gather},
                 {resamples, &unmeasured_resample},
                 {scans, &unmeasured_scan},
                 {has_short_rows, &unmeasured_short_rows},
                 {has_wide_heads, &unmeasured_heads},
                 {has_score_bias, &unmeasured_bias},
                 {is_backward_attention, &unmeasured_backward},
                 {is_narrow_product, &unmeasured_narrow},
                 {has_slope, &unmeasured_slope},
                 {joins_many, &unmeasured_ranks},
                 {asks_for_algorithm, &unmeasured_algorithm}};
    const kernel x = {g, hw, maker, k};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !hw->host; i++)
        if (kinds[i].holds(&x))
            return *kinds[i].spread;
    return 0;
}
