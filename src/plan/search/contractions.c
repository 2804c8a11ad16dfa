/* SPDX-License-Identifier: Apache-2.0 */
/* contractions.c: what a kernel's contractions take at least, as far as the set that it owns says what they are with: a
 * library's call has little beside a product, and a chain of two takes as long as chains do. */
#include "cost/cost.h"
#include "fusion/chain.h"
#include "plan/search/places.h"
#include "plan/search/states.h"
#include "vendor/library.h"
#include "vendor/vendor.h"

#include <math.h>

/* Does place x lead to y? */
static bool leads(const fsim_frontier *f, int x, int y)
{
    return x < y && y - x <= FSIM_BITS && fsim_bit(&f->l.after[x], y - x - 1);
}

/* May the library multiply its product by what the primitive computes, the slope of an activation? */
static bool is_slope(const fsim_frontier *f, const fsim_node *n, const fsim_gemm *product)
{
    const fsim_graph *g = f->p->graph;
    const int of = g->source[n->source].gradient_of;
    return (n->op == FSIM_OP_WHERE_OTHER && fsim_library_has(f->p->hw, product, FSIM_EPILOGUE_DRELU)) ||
           (n->phase == FSIM_BACKWARD && of >= 0 && fsim_is_tanh_gelu(g, of) &&
            fsim_library_has(f->p->hw, product, FSIM_EPILOGUE_DGELU));
}

/* May the library's call have the reduction: the sums of columns behind a slope, or eight bits of a mask as a byte? */
static bool is_sum_of_call(const fsim_frontier *f, const fsim_node *n, const fsim_gemm *product)
{
    const fsim_graph *g = f->p->graph;
    const int from = n->op == FSIM_OP_SUM ? g->tensor[n->arg[0].tensor].producer : -1;
    return from >= 0 &&
           ((fsim_library_has(f->p->hw, product, FSIM_EPILOGUE_BGRAD) && is_slope(f, &g->node[from], product)) ||
            (g->node[from].op == FSIM_OP_BIT_PLACE && fsim_library_has(f->p->hw, product, FSIM_EPILOGUE_RELU_AUX)));
}

/* Of members that the library's call has besides a contraction, more than one of which are none of one call: how many
 * this one counts for. It is none of a call alone (2) where it reduces what no call reduces, or combines what depends
 * on the contraction with another value of each point, which is no slope; a residual (1) where the library adds one. */
static int beyond_call(const fsim_frontier *f, int place, int contraction)
{
    const fsim_graph *g = f->p->graph;
    const fsim_node *n = fsim_node_of(f, place);
    const fsim_gemm *product = &fsim_node_of(f, contraction)->gemm;
    int values = 0, last = -1;
    if (fsim_ops[n->op].class == FSIM_REDUCE)
        return is_sum_of_call(f, n, product) ? 0 : 2;
    if (fsim_ops[n->op].class != FSIM_ELEMENTWISE || fsim_ops[g->source[n->source].op].class == FSIM_COMPOSITE ||
        is_slope(f, n, product) || !leads(f, contraction, place))
        return 0;
    for (int k = 0; k < n->args; k++) {
        values += n->arg[k].how == FSIM_READ_MAP && n->arg[k].distinct == n->points && n->arg[k].tensor != last;
        last = n->arg[k].tensor;
    }
    if (values < 2)
        return 0;
    return n->op == FSIM_OP_ADD && fsim_library_has(f->p->hw, product, FSIM_EPILOGUE_RESIDUAL) ? 1 : 2;
}

/* Does a member of the set, but its contraction, not need that one's result, so that no library's call has both? A call
 * loads its operands, at most in another order, and makes a slope itself that it multiplies its result with. What is
 * computed from weights alone may be folded into them. */
static bool makes_more(const expansion *x, int contraction)
{
    const fsim_frontier *f = x->f;
    const fsim_gemm *product = &fsim_node_of(f, contraction)->gemm;
    bool makes = false;
    FSIM_EACH_BIT(i, x->set->own)
    {
        const int at = x->root - FSIM_BACK + i;
        const fsim_node *n = fsim_node_of(f, at);
        if (leads(f, contraction, at) && is_slope(f, n, product))
            return false;
        makes = makes || (at != contraction && !leads(f, contraction, at) && fsim_ops[n->op].class != FSIM_PERMUTE &&
                          f->read_s[n->result[0]] > 0);
    }
    return makes;
}

/* The only contraction of the set, which no other part of a kernel has one beside. */
static double least_of_one(const expansion *x, int contraction)
{
    const fsim_frontier *f = x->f;
    const int node = f->l.node[contraction];
    int beyond = 0;
    if (!fsim_is_product(&f->p->graph->node[node]))
        return fsim_contraction_alone_for(f->p, node);
    FSIM_EACH_BIT(i, x->set->own)
    beyond += beyond_call(f, x->root - FSIM_BACK + i, contraction);
    return beyond > 1 || makes_more(x, contraction) ? fsim_contraction_generated_for(f->p, node)
                                                    : fsim_contraction_alone_for(f->p, node);
}

/* Is the place between the contractions of no chain: does it lead to the first one, need the second, or have nothing to
 * do with the first one, nor with anything that needs that? */
static bool is_outside(const fsim_frontier *f, int place, int first, int second)
{
    const fsim_bits behind = fsim_bits_shifted(f->l.after[place], place - first);
    return leads(f, place, first) || leads(f, second, place) ||
           (!leads(f, first, place) && !fsim_bits_meet(&behind, &f->l.after[first]));
}

/* Has the set of a chain a member that no call for an attention has? */
static bool is_more_than_attention(const expansion *x, int first, int second)
{
    FSIM_EACH_BIT(i, x->set->own)
    {
        const int at = x->root - FSIM_BACK + i;
        const fsim_op op = fsim_node_of(x->f, at)->op;
        const fsim_class class = fsim_ops[op].class;
        if (class != FSIM_CONTRACTION && class != FSIM_PERMUTE && op != FSIM_OP_COPY &&
            is_outside(x->f, at, first, second))
            return true;
    }
    return false;
}

/* What is known of a chain of two contractions: seconds, -1: not yet; ours: of a kernel that is no library's. */
struct fsim_known_chain {
    int second;
    double any_s, ours_s;
    struct fsim_known_chain *next;
};

static double chain_s(const fsim_frontier *f, int first, int second, bool ours)
{
    const fsim_limits limits = fsim_limits_of(f->p);
    const int pair[] = {f->l.node[first], f->l.node[second]};
    fsim_joint joint;
    fsim_refusal why;
    if (!fsim_joint_of(&limits, pair, 2, &joint, &why) || joint.kind != FSIM_CHAINED)
        return 0;
    const fsim_chain_pair both = {
        joint.first, joint.second, (double)joint.rows, (double)joint.width, f->masked[first] || f->masked[second],
        ours};
    return fsim_least_chain_call_s(f->p->graph, f->p->hw, both, fsim_floor_launch(f->p)) * (1 - 1e-12);
}

/* Two contractions of the set, of which the second needs the first. */
static double least_of_chain(const expansion *x, int first, int second)
{
    const fsim_frontier *f = x->f;
    struct fsim_known_chain *k = f->chain[first];
    while (k && k->second != second)
        k = k->next;
    if (!k) {
        k = fsim_new(f->a, struct fsim_known_chain, 1);
        *k = (struct fsim_known_chain){second, -1, -1, f->chain[first]};
        f->chain[first] = k;
    }
    const bool ours = is_more_than_attention(x, first, second);
    double *known = ours ? &k->ours_s : &k->any_s;
    if (*known < 0)
        *known = chain_s(f, first, second, ours);
    return *known;
}

double fsim_least_contractions_s(const expansion *x, const fsim_bits *whole)
{
    const fsim_frontier *f = x->f;
    int contraction[2] = {0}, count = 0;
    bool known = f->p->objective != FSIM_MINIMISE_BYTES;
    FSIM_EACH_BIT(i, x->set->own)
    {
        const int at = x->root - FSIM_BACK + i;
        if (!fsim_node_of(f, at)->gemm.k)
            continue;
        known = known && count < 2 && fsim_bit(whole, i) && !fsim_may_be_free(f, at);
        contraction[count < 2 ? count : 0] = at;
        count++;
    }
    if (!known || count == 0)
        return 0;
    return count == 1                                 ? least_of_one(x, contraction[0])
           : leads(f, contraction[0], contraction[1]) ? least_of_chain(x, contraction[0], contraction[1])
                                                      : 0;
}
