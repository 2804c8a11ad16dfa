/* SPDX-License-Identifier: Apache-2.0 */
/* triton.c: the kernels that torch.compile generates. They stream as ours do. What differs:
 *   - Rows of more than 1,024 elements (64 where neighbouring rows are contiguous) are not kept on chip. Each loop over
 *     the row loads it again, from L2 where that still holds the rows under way. A softmax has three loops; statistics
 *     by Welford's method have one.
 *   - Reductions reach 1.06 of the bandwidth of copies over contiguous rows, 0.90 over others.
 *   - Unrolled pooling windows, Welford's updates, scans, and rows that do not begin at whole vectors keep the SMs
 * busy.
 *   - Pooling that has no lowering is ATen's. */
#include "vendor/triton.h"

#include "fusion/online.h"
#include "vendor/constants.h"
#include "vendor/kernels.h"
#include <math.h>

bool fsim_falls_back(const fsim_node *n)
{
    return fsim_ops[n->op].class == FSIM_WINDOW && (n->op == FSIM_OP_MAX_POOL3D || n->reduced > TRITON_MOST_UNROLLED);
}

/* Has the graph few 2d convolutions among many other nodes? Views are not counted. */
static bool few_convolve(const fsim_graph *g)
{
    int64_t convolutions = 0, nodes = g->nodes;
    for (int i = 0; i < g->nodes; i++)
        convolutions += g->node[i].gemm.convolution && g->tensor[g->node[i].result[0]].shape.rank == 4;
    for (int t = 0; t < g->tensors; t++)
        nodes += g->tensor[t].producer < 0;
    return nodes >= INDUCTOR_NODES * convolutions;
}

bool fsim_channels_last(const fsim_graph *g)
{
    double all = 0, weighted = 0;
    if (few_convolve(g))
        return false;
    for (int i = 0; i < g->nodes; i++) {
        const fsim_node *n = &g->node[i];
        if (!n->gemm.convolution || g->tensor[n->result[0]].shape.rank != 4)
            continue;
        const fsim_shape *in = &g->tensor[n->arg[0].tensor].shape, *out = &g->tensor[n->result[0]].shape;
        const double groups = (double)n->gemm.batch,
                     flops = groups * (double)n->gemm.m * (double)n->gemm.n * (double)n->gemm.k;
        const double from = (double)in->dim[1], to = (double)out->dim[1];
        all += flops;
        weighted += flops * (groups > 1 && from > groups ? inductor_grouped_weight
                             : from <= INDUCTOR_SMALL_CHANNELS && to <= INDUCTOR_SMALL_CHANNELS ? inductor_small_weight
                             : 2 * to <= from                                                   ? inductor_in_weight
                                              : inductor_default_weight);
    }
    return all > 0 && weighted <= all;
}

/* The read that has the elements of the rows. */
static const fsim_read *row_of(const fsim_group *o)
{
    const fsim_read *row = NULL;
    for (int i = 0; i < o->reads; i++)
        if (o->read[i].full && o->read[i].maps > 0 && (!row || o->read[i].bytes > row->bytes))
            row = &o->read[i];
    return row;
}

enum { RANK = 4, CHANNELS = 1, LAST = RANK - 1, MOST_STEPS = 32 };

/* Where permuting primitive n puts the given dimension of what it reads. */
static int moved_to(const fsim_graph *g, const fsim_node *n, int dim)
{
    const fsim_shape *from = &g->tensor[n->arg[0].tensor].shape, *to = &g->tensor[n->result[0]].shape;
    const fsim_map *m = &n->arg[0].map;
    int64_t stride = 1, points = 1;
    for (int d = dim + 1; d < from->rank; d++)
        stride *= from->dim[d];
    for (int i = m->modes, at = to->rank - 1; i-- > 0;) { /* the digit's place among the result's dimensions */
        while (at > 0 && points >= to->dim[at])
            points /= to->dim[at--];
        if (m->mode[i].stride == stride)
            return at;
        points *= m->mode[i].extent;
    }
    return dim;
}

/* The dimension that lies innermost in memory where 2d convolutions run channels last: of four, the second in images,
 * which are inputs, results of convolutions, and what is computed from images element by element; the last in what
 * other contractions, gathers and changes of shape make. */
static int innermost(const fsim_graph *g, int tensor, int steps)
{
    const fsim_tensor *t = &g->tensor[tensor];
    if (t->shape.rank != RANK)
        return t->shape.rank - 1;
    if (t->producer < 0 || steps == 0)
        return CHANNELS;
    const fsim_node *n = &g->node[t->producer];
    const fsim_class class = fsim_ops[n->op].class;
    if (class == FSIM_CONTRACTION)
        return n->gemm.convolution ? CHANNELS : LAST;
    for (int k = 0; k < n->args; k++) {
        const fsim_tensor *x = &g->tensor[n->arg[k].tensor];
        if (x->shape.rank != RANK || (class == FSIM_ELEMENTWISE && x->elems != t->elems))
            continue;
        const int from = innermost(g, n->arg[k].tensor, steps - 1);
        return class == FSIM_PERMUTE ? moved_to(g, n, from) : from;
    }
    return LAST;
}

/* Has the tensor with the elements of the rows images of several channels? */
static bool has_channels(const fsim_group *o, const fsim_graph *g)
{
    const fsim_read *row = row_of(o);
    const fsim_shape *s = row ? &g->tensor[row->tensor].shape : NULL;
    return s && s->rank == RANK && s->dim[CHANNELS] != 1 && innermost(g, row->tensor, MOST_STEPS) == CHANNELS;
}

bool fsim_reduces_innermost(const fsim_group *o, const fsim_graph *g, bool channels_last)
{
    if (!channels_last || !has_channels(o, g))
        return o->template != FSIM_COLUMN_REDUCTION;
    const fsim_read *row = row_of(o);
    const fsim_shape *s = &g->tensor[row->tensor].shape;
    const int64_t spatial = s->dim[2] * s->dim[3];
    const fsim_map *m = &row->map[0];
    for (int i = m->split; i < m->modes; i++)
        if (m->mode[i].stride <= spatial && m->mode[i].stride * m->mode[i].extent >= spatial * s->dim[CHANNELS])
            return true; /* all channels */
    return false;
}

static bool reduces(const fsim_group *o)
{
    return o->template == FSIM_ROW_REDUCTION || o->template == FSIM_COLUMN_REDUCTION ||
           o->template == FSIM_FULL_REDUCTION;
}

/* Is this a row kernel that we generate with one loop (a maximum and the sum of exponentials together) and Triton
 * with more? The number of additional loops. */
static int more_loops(const fsim_costing *c)
{
    for (int i = 0; i < c->group->members; i++) {
        const int with = fsim_online_with(c->g, c->group->member[i].node);
        for (int k = 0; k < c->group->members && with >= 0; k++)
            if (c->group->member[k].node == with && c->g->node[with].op == FSIM_OP_MAX)
                return 1;
    }
    return 0;
}

/* The share of a row that L2 no longer holds when a later loop loads it. */
static double misses(const fsim_costing *c, bool innermost)
{
    double row = 0;
    for (int i = 0; i < c->group->reads; i++)
        row += c->group->read[i].full ? (double)c->read[i].sector_bytes / (double)c->group->points : 0;
    const double rows =
        fmin((double)c->group->points, c->sms * TRITON_BLOCKS_PER_SM * (innermost ? 1 : TRITON_PERSISTENT_COLUMN));
    return fmin(1, fmax(0, rows * row / c->l2_bytes - 0.5));
}

/* Seconds in which Welford's updates occupy the SMs where one block has whole rows. Their dependent steps leave an
 * SM half idle: group and instance norm. */
static double statistics_s(const fsim_costing *c)
{
    for (int i = 0; i < c->group->members; i++) {
        const fsim_node *n = &c->g->node[c->group->member[i].node];
        const fsim_op op = c->g->source[n->source].op;
        if (fsim_ops[n->op].class == FSIM_REDUCE && (op == FSIM_OP_GROUP_NORM || op == FSIM_OP_INSTANCE_NORM))
            return triton_statistics_cycles * (double)n->points * (double)n->reduced / (c->sms * c->clock);
    }
    return 0;
}

/* Is the number of elements in a row no multiple of a vector? Loads are not vectorised then. */
static bool is_unaligned(const fsim_costing *c)
{
    const fsim_read *row = row_of(c->group);
    return row && c->group->template == FSIM_ROW_REDUCTION &&
           c->group->reduced * fsim_dtype_bytes(c->g->tensor[row->tensor].dtype) % TRITON_VECTOR_BYTES != 0;
}

static double fourth_norm(double x, double y) { return sqrt(sqrt(x * x * x * x + y * y * y * y)); }

/* The loops of a reduction kernel: the first loads the row, the others load again what L2 has lost. */
static void reduction_seconds(const fsim_costing *c, fsim_kernel *k)
{
    const fsim_group *o = c->group;
    const bool innermost = fsim_reduces_innermost(o, c->g, has_channels(o, c->g) && fsim_channels_last(c->g));
    const bool loops = o->reduced > (innermost ? TRITON_PERSISTENT : TRITON_PERSISTENT_COLUMN);
    const double missed = misses(c, innermost), l2 = fsim_hw_get(c->hw, FSIM_HW_L2_BANDWIDTH);
    const double elements = (double)o->points * (double)o->reduced;
    const int more = more_loops(c);
    double requested = 0, first = 0, accesses = 0;
    bool full = false;
    k->dram_read_bytes = 0;
    for (int i = 0; i < o->reads; i++) {
        const fsim_traffic *t = &c->read[i];
        const int stages = fsim_bits(o->read[i].stages),
                  again = loops && o->read[i].full && stages > 0 ? stages - 1 + more : 0;
        const double once = (double)t->sector_bytes * t->reread * (1 - fsim_found_in_l2(c->l2, i));
        k->input[i].read_bytes = (int64_t)(once * (1 + again * missed));
        k->input[i].l2_bytes = t->request_bytes * (1 + again);
        k->dram_read_bytes += k->input[i].read_bytes;
        requested += k->input[i].l2_bytes;
        first += once;
        accesses += o->read[i].full ? elements * (1 + again) : 0;
    }
    for (int i = 0; i < o->writes; i++) {
        full = full || o->write[i].full;
        accesses += o->write[i].full ? elements : 0;
        requested += c->write[i].request_bytes;
    }
    k->l2_bytes = requested;
    k->unit[FSIM_L2] = isnan(l2) ? 0 : requested / l2;
    k->unit[FSIM_DRAM] = fourth_norm(fsim_dram_seconds(c->hw, first, 0) / (full        ? 1
                                                                           : innermost ? triton_innermost_share
                                                                                       : triton_other_share),
                                     statistics_s(c)) +
                         fsim_dram_seconds(c->hw, (double)k->dram_read_bytes - first, (double)k->dram_write_bytes);
    if (loops && is_unaligned(c))
        k->unit[FSIM_ISSUE] = fmax(k->unit[FSIM_ISSUE], triton_unaligned_cycles * accesses / (c->sms * c->clock));
}

/* Pooling without a lowering, several in a row: the input of the first is copied, one more read and write. Known
 * from two graphs only (KernelBench l2/006 and 078, where torch.compile is slower than eager by about that on
 * several GPUs). Single pools are not copied; the reason is unknown. */
static fsim_kernel fallback(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    const fsim_node *pool = &c->g->node[c->group->anchor];
    const fsim_tensor *from = &c->g->tensor[pool->arg[0].tensor], *to = &c->g->tensor[pool->result[0]];
    const fsim_node *before = from->producer >= 0 ? &c->g->node[from->producer] : NULL;
    fsim_kernel k = fsim_aten_kernel(c, own, a);
    if (to->readers != 1 || !fsim_falls_back(&c->g->node[to->reader[0]]) || (before && fsim_falls_back(before)))
        return k;
    const double copy_s = fsim_dram_seconds(c->hw, (double)from->bytes, (double)from->bytes);
    k.dram_read_bytes += from->bytes;
    k.dram_write_bytes += from->bytes;
    k.launches++;
    k.time[FSIM_DRAM] += copy_s;
    k.time_s = rint((k.time_s + copy_s) / FSIM_TICK_S) * FSIM_TICK_S;
    return k;
}

fsim_kernel fsim_triton_kernel(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    const fsim_group *o = c->group;
    const fsim_node *anchor = o->anchor >= 0 ? &c->g->node[o->anchor] : NULL;
    if (anchor && fsim_falls_back(anchor))
        return fallback(c, own, a);
    fsim_kernel k = *own;
    k.input = fsim_new(a, fsim_input, o->reads + 1);
    for (int i = 0; i < o->reads; i++)
        k.input[i] = own->input[i];
    if (reduces(o))
        reduction_seconds(c, &k);
    if (o->template == FSIM_POOLING && anchor)
        k.unit[FSIM_ISSUE] = fmax(k.unit[FSIM_ISSUE], triton_pool_cycles * (double)anchor->points *
                                                          (double)anchor->reduced / (c->sms * c->clock));
    if (o->template == FSIM_SCAN_KERNEL && anchor)
        k.unit[FSIM_ISSUE] =
            fmax(k.unit[FSIM_ISSUE], triton_scan_cycles * (double)anchor->points / (c->sms * c->clock));
    for (int i = 0; i < o->members; i++) {
        const fsim_node *n = &c->g->node[o->member[i].node];
        if (n->op == FSIM_OP_CONCAT && n->args > INDUCTOR_MOST_CONCAT)
            k.compiled_extra += triton_concat_launches * (n->args - 1);
    }
    fsim_sum_up_by(c, &k, triton_exponent);
    return k;
}
