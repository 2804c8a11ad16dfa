/* SPDX-License-Identifier: Apache-2.0 */
/* xla.c: the kernels that XLA:GPU would make, by its own rules and its own time model; our costs price what it decides.
 * Constants are those of XLA's sources.
 *
 * Modelled: the time of its loop and reduction emitters (launch 1 us; each operand once from DRAM, the rest 2.5 or 20
 * times as fast where it fits L2 or L1; bandwidth that few blocks can't fill; arithmetic as clock cycles of its
 * operator profiles; overlap 0.95); priority fusion; its limits on operands and reductions; no two reductions in a
 * kernel but for rows short enough for its tiled emitter (softmax, layer norm); contractions and convolutions by
 * libraries with their epilogues (bias, a tensor added, ReLU; of a matrix product also tanh GELU); multi-output fusion
 * along the data where its time model agrees, and of siblings without asking it. Not modelled: layout transposes around
 * convolutions, coalescing, code size limits, Triton matrix products, horizontal fusion of unrelated loops, in-place
 * updates, command buffers. */
#include "plan/rivals/constants.h"
#include "plan/rivals/rivals.h"

#include "plan/price/deadline.h"
#include "plan/search/merge.h"
#include "vendor/library.h"

#include <math.h>

/* Clock cycles of each operator. */
static const struct {
    fsim_op op;
    double cycles;
} profile[] = {
#define FSIM_XLA_CYCLES(op, cycles, source) {FSIM_OP_##op, cycles},
#include "plan/rivals/xla.def"
#undef FSIM_XLA_CYCLES
};

static double cycles_of(fsim_op op)
{
    for (size_t i = 0; i < sizeof profile / sizeof *profile; i++)
        if (profile[i].op == op)
            return profile[i].cycles;
    return fsim_ops[op].flops > 0 ? xla_unknown_cycles : 0;
}

static double read_s(fsim_problem *p, const fsim_group *o, const fsim_read *r, double bytes_per_s)
{
    const fsim_tensor *t = &p->graph->tensor[r->tensor];
    const double times = r->maps > 1 ? r->maps : 1, points = (double)o->points * (r->full ? (double)o->reduced : 1);
    const double all = r->maps ? times * points * fsim_dtype_bytes(t->dtype)
                               : (double)r->access->distinct * fsim_dtype_bytes(t->dtype);
    const double first = fmin((double)t->bytes, all), sms = fsim_hw_get(p->hw, FSIM_HW_SMS);
    const double faster = first < xla_l1_bytes_per_sm * sms                 ? xla_l1_speedup
                          : first < fsim_hw_get(p->hw, FSIM_HW_L2_CAPACITY) ? xla_l2_speedup
                                                                            : 1;
    return first / bytes_per_s + (all - first) / (faster * bytes_per_s);
}

static double time_of(const fsim_belief *b, const fsim_kernel *k)
{
    fsim_problem *p = b->p;
    const fsim_group *o = k->group;
    const double clock = fsim_hw_peak(p->hw, FSIM_HW_SM_CLOCK), sms = fsim_hw_get(p->hw, FSIM_HW_SMS),
                 blocks = (double)k->grid;
    const double dram = fsim_hw_peak(p->hw, FSIM_HW_DRAM_BANDWIDTH),
                 reachable = fmin(dram, blocks * clock * xla_bytes_per_clock);
    double cycles = 0, memory_s = 0;
    for (int i = 0; i < o->members; i++)
        cycles += (double)o->member[i].evaluations * cycles_of(p->graph->node[o->member[i].node].op);
    for (int i = 0; i < o->reads; i++)
        memory_s += read_s(p, o, &o->read[i], reachable);
    for (int i = 0; i < o->writes; i++)
        memory_s += (double)p->graph->tensor[o->write[i].tensor].written_bytes / dram;
    const double compute_s =
        cycles / (2 * clock * fmin(k->block, fsim_hw_get(p->hw, FSIM_HW_FP32_RATE)) * fmin(blocks, sms));
    return xla_launch_s + compute_s + memory_s - xla_overlap * fmin(compute_s, memory_s);
}

static int reductions_of(const fsim_clusters *c, int x, int64_t at_least)
{
    int count = 0;
    for (int i = 0; i < c->part[x].count; i++) {
        const fsim_node *n = &c->p->graph->node[c->part[x].node[i]];
        count += fsim_ops[n->op].class == FSIM_REDUCE && n->reduced >= at_least;
    }
    return count;
}

/* Does the row fit one tile? Its length is padded to a power of two. */
static bool row_is_a_tile(fsim_problem *p, const fsim_kernel *k)
{
    int64_t padded = 1;
    while (padded < k->group->reduced)
        padded *= 2;
    return k->template == FSIM_ROW_REDUCTION &&
           (double)padded <= xla_tile_registers * fsim_hw_get(p->hw, FSIM_HW_REGISTERS_PER_SM);
}

static bool may_fuse(const fsim_belief *b, fsim_clusters *c, int x, int y, const fsim_kernel *both)
{
    const fsim_group *o = both->group;
    if (o->template == FSIM_TILED_CONTRACTION || o->template == FSIM_CHAINED_CONTRACTION ||
        o->reads + o->writes > XLA_MOST_OPERANDS || o->across > 0 || o->stretch > 0)
        return false;
    if (reductions_of(c, x, 1) + reductions_of(c, y, 1) > XLA_MOST_REDUCTIONS)
        return false;
    const fsim_kernel *first = fsim_joined_like(c, &x, 1, -1), *second = fsim_joined_like(c, &y, 1, -1);
    if (both->launches == 1 && first->launches + second->launches > 2)
        return false; /* reductions are split over blocks before fusion, so that what depends on one is another kernel
                       */
    return reductions_of(c, x, XLA_REAL_REDUCTION) == 0 || reductions_of(c, y, XLA_REAL_REDUCTION) == 0 ||
           row_is_a_tile(b->p, both);
}

/* Swapped operands of a product are folded into the call of the library as layouts. */
static void fold_transposes(fsim_clusters *c)
{
    const fsim_graph *g = c->p->graph;
    for (int n = 0; n < g->nodes; n++) {
        int *user;
        if (!fsim_swaps_matrix(&g->node[n]) || fsim_must_store(c, n) || fsim_users(c, n, &user) != 1)
            continue;
        const int last = c->part[user[0]].node[c->part[user[0]].count - 1], pair[2] = {user[0], n};
        if (fsim_ops[g->node[last].op].class == FSIM_CONTRACTION && !g->node[last].gemm.convolution &&
            fsim_joined_like(c, pair, 2, -1))
            fsim_join(c, pair, 2);
    }
}

static bool has(const fsim_clusters *c, int contraction, fsim_epilogue_kind kind)
{
    return fsim_library_has(c->p->hw, &c->p->graph->node[contraction].gemm, kind);
}

typedef struct {
    bool vector, tensor; /* a parameter that is broadcast; as large as the result, and not broadcast */
} summand;

static summand summand_of(const fsim_clusters *c, int part, const fsim_node *n)
{
    const fsim_graph *g = c->p->graph;
    const fsim_tensor *result = &g->tensor[n->result[0]];
    summand s = {false, false};
    for (int k = 0; k < n->args && n->op == FSIM_OP_ADD; k++) {
        const fsim_tensor *t = &g->tensor[n->arg[k].tensor];
        s.vector = s.vector || (t->producer < 0 && t->elems < result->elems);
        s.tensor = s.tensor || (t->elems == result->elems && (t->producer < 0 || fsim_home(c, t->producer) != part));
    }
    return s;
}

/* The library computes a bias, then adds a tensor, then ReLU or the tanh GELU, behind a contraction where it has them.
 * A tensor becomes C of cublasLtMatmul, or the side input of a convolution, whoever else reads it (gemm_rewriter.cc,
 * FuseMatrixBiasAdd; cudnn_fused_conv_rewriter.cc, FuseBiasOrSideInput). The tanh GELU is eight primitives. */
static void add_epilogues(fsim_clusters *c)
{
    const fsim_graph *g = c->p->graph;
    for (int n = 0; n < g->nodes; n++) {
        if (fsim_ops[g->node[n].op].class != FSIM_CONTRACTION)
            continue;
        int *user, x = fsim_home(c, n);
        for (int step = 0; step < 3; step++) {
            if (fsim_users(c, x, &user) != 1 || c->part[user[0]].count != 1 || fsim_must_store(c, x))
                break;
            const fsim_node *next = &g->node[c->part[user[0]].node[0]];
            const summand sum = summand_of(c, x, next);
            const bool bias = step == 0 && sum.vector && has(c, n, FSIM_EPILOGUE_BIAS),
                       takes = bias || (next->op == FSIM_OP_RELU && has(c, n, FSIM_EPILOGUE_RELU));
            const int pair[2] = {x, user[0]};
            const fsim_kernel *both = takes || sum.tensor ? fsim_joined_like(c, pair, 2, -1) : NULL;
            if (!both || (!takes && !fsim_library_can(g, c->p->hw, both->group)))
                break;
            fsim_join(c, pair, 2);
        }
        const fsim_source *s = fsim_users(c, x, &user) ? &g->source[g->node[c->part[user[0]].node[0]].source] : NULL;
        if (!s || s->op != FSIM_OP_GELU || s->nodes != 8 || g->node[n].gemm.convolution || fsim_must_store(c, x) ||
            !has(c, n, FSIM_EPILOGUE_GELU_TANH))
            continue;
        int all[9] = {x}, count = 1;
        for (int i = s->first; i < s->first + s->nodes; i++)
            all[count++] = fsim_home(c, i);
        if (fsim_joined_like(c, all, count, -1) && !fsim_interlocked(c, all, count))
            fsim_join(c, all, count);
    }
}

static void fuse_several_outputs(fsim_clusters *c, const fsim_belief *b, int x, int y, bool ask)
{
    const int pair[2] = {x, y};
    const fsim_kernel *both = x == y ? NULL : fsim_joined_like(c, pair, 2, -1);
    if (!both || !may_fuse(b, c, x, y, both) || fsim_interlocked(c, pair, 2))
        return;
    const fsim_kernel *first = fsim_joined_like(c, &x, 1, -1), *second = fsim_joined_like(c, &y, 1, -1);
    const bool same_loop =
        first->group->points * first->group->reduced == second->group->points * second->group->reduced;
    if (same_loop && (!ask || b->time_s(b, both) <= b->time_s(b, first) + b->time_s(b, second)))
        fsim_join(c, pair, 2);
}

fsim_partition fsim_xla_partition(fsim_problem *p, fsim_arena *a, const char ***rule)
{
    const fsim_partition singles = fsim_singles(p, a);
    fsim_clusters *c = fsim_clusters_of(p, &singles, a);
    const fsim_belief b = {p, time_of, may_fuse};
    const fsim_graph *g = p->graph;
    fold_transposes(c);
    add_epilogues(c);
    fsim_fuse_by_priority(c, &b);
    for (int t = g->tensors; t-- > 0 && !fsim_late(p);) { /* siblings, then producers; from the results upwards */
        const fsim_tensor *from = &g->tensor[t];
        if (from->elems == 1 || from->readers > FSIM_MOST_READERS)
            continue;
        for (int i = 0; i < from->readers; i++)
            for (int k = i + 1; k < from->readers; k++)
                fuse_several_outputs(c, &b, fsim_home(c, from->reader[i]), fsim_home(c, from->reader[k]), false);
        for (int i = 0; i < from->readers && from->producer >= 0; i++)
            fuse_several_outputs(c, &b, fsim_home(c, from->producer), fsim_home(c, from->reader[i]), true);
    }
    return fsim_partition_of(c, a, rule);
}
