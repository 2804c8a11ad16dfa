/* SPDX-License-Identifier: Apache-2.0 */
/* aten.c: the kernels that PyTorch's own library launches for what is no contraction: elementwise, softmax,
 * normalisation, reduction, pooling, scan.
 *
 *     time_s = launch_s + (sum over units of unit_s ^ 4) ^ (1 / 4)
 * A kernel of ours for the same group may keep a row on chip or vectorise what ATen does not; here is what ATen does:
 * how often it reads a row, what else it writes, and the SM cycles that its loops take. Counts in SM cycles are of
 * kernels that run on a full GPU, measured where a comment says so; shapes are PyTorch's sources
 * (aten/src/ATen/native/cuda), 2.1 to 2.5. */
#include "vendor/constants.h"
#include "vendor/kernels.h"

/* SM cycles for an element in each of the two kernels of a norm of a batch of vectors, a group or an instance: 0.69
 * with 128 FP32 lanes, 0.92 with 64 (A100, T4). */
static double moments_cycles(const fsim_costing *c)
{
    return aten_moments_cycles * (2 + aten_moments_lanes / fsim_hw_get(c->hw, FSIM_HW_FP32_RATE)) / 3;
}

static double seconds_of_cycles(const fsim_costing *c, double cycles) { return cycles / (c->sms * c->clock); }

/* The operator of the workload that the group computes, whole or in part; views that the group reads through are
 * ignored. */
static fsim_op source_of(const fsim_graph *g, const fsim_group *o)
{
    for (int i = 0; i < o->members; i++) {
        const fsim_node *n = &g->node[o->member[i].node];
        if (!o->member[i].clone && fsim_ops[n->op].class != FSIM_PERMUTE)
            return g->source[n->source].op;
    }
    return g->source[g->node[o->member[0].node].source].op;
}

static bool holds_class(const fsim_graph *g, const fsim_group *o, fsim_class class)
{
    for (int i = 0; i < o->members; i++)
        if (fsim_ops[g->node[o->member[i].node].op].class == class)
            return true;
    return false;
}

static bool holds_op(const fsim_graph *g, const fsim_group *o, fsim_op op)
{
    for (int i = 0; i < o->members; i++)
        if (g->node[o->member[i].node].op == op)
            return true;
    return false;
}

/* Is read i as large as the iteration space? A second pass then reads it again. */
static bool whole_row(const fsim_costing *c, int i)
{
    return c->group->read[i].full && c->read[i].compulsory_bytes > 0 &&
           c->g->tensor[c->group->read[i].tensor].elems >= c->group->points * c->group->reduced;
}

/* Bytes that warps request from L2. ATen does not transpose strided operands through tiles; its reductions read
 * neighbouring columns together. */
static double requested(const fsim_costing *c, const fsim_traffic *t)
{
    if (t->staged_bytes == 0)
        return t->request_bytes;
    return c->group->template == FSIM_POINTWISE || c->group->template == FSIM_COPY ? t->direct_bytes
                                                                                   : (double)t->sector_bytes;
}

/* Do results of one kernel stay in L2 for the next one? They share L2 with what the first kernel reads meanwhile:
 * pairs of elementwise kernels on H100 find nothing of 33 MB. */
static bool fits(const fsim_costing *c, const fsim_traffic *t)
{
    return 2 * (double)t->compulsory_bytes <= c->l2_bytes;
}

static bool by_chance(const fsim_costing *c) { return c->l2 && c->l2->found; }

/* How a kernel reads operands as large as its iteration space; all others are read once. */
typedef struct {
    double passes;  /* how often each is read from L2 */
    double fetches; /* how often each is read from DRAM, unless it is in L2 already */
    double more;    /* bytes written in addition to the results */
    double share;   /* share of the streaming bandwidth that is reached */
} walk;

/* Sets the bytes that k moves, and their time in DRAM and L2. */
static void move(const fsim_costing *c, fsim_kernel *k, walk w, fsim_arena *a)
{
    const double l2 = fsim_hw_get(c->hw, FSIM_HW_L2_BANDWIDTH);
    fsim_input *input = fsim_new(a, fsim_input, k->inputs + 1);
    fsim_result *output = fsim_new(a, fsim_result, k->outputs + 1);
    k->dram_read_bytes = k->dram_write_bytes = 0;
    k->l2_bytes = w.more;
    for (int i = 0; i < k->inputs; i++) {
        const fsim_traffic *t = &c->read[i];
        const bool whole = whole_row(c, i);
        const double found = by_chance(c) || fits(c, t) ? fsim_found_in_l2(c->l2, i) : 0;
        input[i] = k->input[i];
        input[i].read_bytes = (int64_t)((double)t->sector_bytes * t->reread * (whole ? w.fetches : 1) * (1 - found));
        input[i].l2_bytes = requested(c, t) * (whole ? w.passes : 1);
        k->dram_read_bytes += input[i].read_bytes;
        k->l2_bytes += input[i].l2_bytes;
    }
    for (int i = 0; i < k->outputs; i++) {
        output[i] = k->output[i];
        if (by_chance(c))
            output[i].write_bytes = (int64_t)((double)c->write[i].sector_bytes * (1 - fsim_stays_in_l2(c->l2, i)));
        else if (!fits(c, &c->write[i]))
            output[i].write_bytes = c->write[i].sector_bytes;
        k->dram_write_bytes += output[i].write_bytes;
        k->l2_bytes += requested(c, &c->write[i]);
    }
    k->input = input;
    k->output = output;
    k->dram_write_bytes += (int64_t)w.more;
    k->shared_bytes_moved = 0;
    k->passes = (int)w.passes;
    k->unit[FSIM_DRAM] = fsim_dram_seconds(c->hw, (double)k->dram_read_bytes, (double)k->dram_write_bytes) / w.share;
    k->unit[FSIM_L2] = isnan(l2) ? 0 : k->l2_bytes / l2;
    k->unit[FSIM_SHARED] = 0;
}

static fsim_kernel summed(const fsim_costing *c, fsim_kernel *k)
{
    fsim_sum_up_by(c, k, aten_exponent);
    return *k;
}

/* Elements of a row, and their bytes. */
typedef struct {
    double rows, width, elem_bytes;
} row_shape;

static row_shape rows_of(const fsim_costing *c)
{
    row_shape s = {(double)c->group->points, (double)c->group->reduced, 4};
    for (int i = 0; i < c->group->reads; i++)
        if (whole_row(c, i))
            s.elem_bytes = fsim_dtype_bytes(c->g->tensor[c->group->read[i].tensor].dtype);
    return s;
}

static double resident_blocks(const fsim_costing *c, int threads)
{
    return fmin(fsim_hw_get(c->hw, FSIM_HW_BLOCKS_PER_SM), floor(fsim_hw_get(c->hw, FSIM_HW_THREADS_PER_SM) / threads));
}

/* The share of a second pass over a row that L2 does not serve while `under_way` rows are in progress: half where these
 * take `share` of L2, and from 0 to 1 on a ramp around that, whose slope is `width`. */
static double missing(const fsim_costing *c, row_shape s, double under_way, double share, double width)
{
    const double bytes = fmin(s.rows, under_way) * s.width * s.elem_bytes;
    return fmin(1, fmax(0, (bytes / (share * fsim_hw_get(c->hw, FSIM_HW_L2_CAPACITY)) - 1) * width + 0.5));
}

static int softmax_threads(row_shape s)
{
    const double wanted = floor(s.width / (ATEN_VECTOR_BYTES / s.elem_bytes)) / 2;
    int threads = 32;
    while (threads < wanted && threads < ATEN_SOFTMAX_THREADS)
        threads *= 2;
    return threads;
}

/* Softmax and log-softmax along the innermost dimension: a warp for a short row; otherwise a block, which reads the
 * row for its maximum, for its sum, and for the result. */
static fsim_kernel softmax(const fsim_costing *c, const fsim_kernel *own, double more, fsim_arena *a)
{
    const row_shape s = rows_of(c);
    fsim_kernel k = *own;
    double miss = 0;
    k.unit[FSIM_LATENCY] = 0;
    k.block = FSIM_BLOCK / 2;
    k.grid = (int64_t)ceil(s.rows / 4);
    if (s.width > ATEN_WARP_SOFTMAX_MOST) {
        k.block = softmax_threads(s);
        k.grid = (int64_t)s.rows;
        const double under_way = c->sms * resident_blocks(c, k.block);
        miss = 2 * missing(c, s, under_way, fsim_hw_get(c->hw, FSIM_HW_SOFTMAX_L2),
                           fsim_hw_get(c->hw, FSIM_HW_SOFTMAX_L2_WIDTH));
        k.unit[FSIM_LATENCY] = fmax(1, s.rows / under_way) * fsim_hw_get(c->hw, FSIM_HW_SOFTMAX_BLOCK) / c->clock;
    }
    const bool aligned = fmod(s.width * s.elem_bytes, FSIM_SECTOR_BYTES) == 0;
    move(c, &k,
         (walk){s.width > ATEN_WARP_SOFTMAX_MOST ? 3 : 1, 1 + miss, more,
                aligned ? 1 : 1 / fsim_hw_get(c->hw, FSIM_HW_ROW_UNALIGNED)},
         a);
    k.launches = 1;
    return summed(c, &k);
}

/* Softmax along another dimension: a thread for each column, which reads it three times and keeps nothing. */
static fsim_kernel spatial_softmax(const fsim_costing *c, const fsim_kernel *own, double more, fsim_arena *a)
{
    fsim_kernel k = *own;
    const bool kept = (double)c->total_bytes <= c->l2_bytes;
    move(c, &k, (walk){3, kept ? 1 : 3, more, aten_outer_share}, a);
    k.launches = 1;
    return summed(c, &k);
}

static fsim_kernel any_softmax(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    return c->group->template == FSIM_COLUMN_REDUCTION ? spatial_softmax(c, own, 0, a) : softmax(c, own, 0, a);
}

/* The operator whose backward pass the group is, as a whole; FSIM_OP_COUNT otherwise. */
static fsim_op backward_of(const fsim_graph *g, const fsim_group *o)
{
    int of = -1, own = 0, all = 0, first = g->sources;
    for (int i = 0; i < o->members; i++) {
        const int source = g->node[o->member[i].node].source, whose = g->source[source].gradient_of;
        if (o->member[i].clone || fsim_ops[g->node[o->member[i].node].op].class == FSIM_PERMUTE)
            continue;
        if (g->source[source].phase != FSIM_BACKWARD || whose < 0 || (of >= 0 && whose != of))
            return FSIM_OP_COUNT;
        of = whose;
        own++;
        first = source < first ? source : first;
    }
    for (int s = first; of >= 0 && s < g->sources && g->source[s].gradient_of == of; s++)
        all += g->source[s].nodes;
    return of >= 0 && own >= all ? g->source[of].op : FSIM_OP_COUNT;
}

/* Backward of softmax, log-softmax and cross entropy along the innermost dimension: a kernel sums a row of the gradient
 * and of what forward kept and reads both again for the result. In front of it, ATen multiplies the two by each other
 * (softmax), or fills a gradient of the log-softmax with zeros and the targets' entries (cross entropy). */
static fsim_kernel softmax_backward(const fsim_costing *c, const fsim_kernel *own, fsim_op op, fsim_arena *a)
{
    const fsim_tensor *t = &c->g->tensor[c->group->write[0].tensor];
    const int elem = fsim_dtype_bytes(t->dtype);
    const double width = (double)t->shape.dim[t->shape.rank - 1], bytes = (double)t->elems * elem;
    const row_shape s = {(double)t->elems / width, width, elem}, both = {s.rows, width, 2.0 * elem};
    const bool block = width > ATEN_WARP_SOFTMAX_MOST, kept = 2 * bytes <= c->l2_bytes;
    const double under_way = c->sms * resident_blocks(c, softmax_threads(s)),
                 miss = block ? missing(c, both, under_way, fsim_hw_get(c->hw, FSIM_HW_SOFTMAX_L2),
                                        fsim_hw_get(c->hw, FSIM_HW_SOFTMAX_L2_WIDTH))
                              : 0,
                 before = op == FSIM_OP_SOFTMAX ? 2 : 0, steps = op == FSIM_OP_LOG_SOFTMAX ? 0 : 1;
    double whole = 0;
    for (int i = 0; i < c->group->reads; i++)
        whole += whole_row(c, i);
    fsim_kernel k = *own;
    k.launches = 1 + (int)steps;
    k.unit[FSIM_LATENCY] =
        block ? fmax(1, s.rows / under_way) * fsim_hw_get(c->hw, FSIM_HW_SOFTMAX_BLOCK) / c->clock : 0;
    move(c, &k,
         (walk){(before + (block ? 4 : 2)) / fmax(1, whole), ((kept ? 0 : before) + 2 * (1 + miss)) / fmax(1, whole),
                kept ? 0 : steps * bytes, 1},
         a);
    return summed(c, &k);
}

static bool is_softmax_backward(const fsim_costing *c, fsim_op op)
{
    const fsim_tensor *t = &c->g->tensor[c->group->write[0].tensor];
    return (op == FSIM_OP_SOFTMAX || op == FSIM_OP_LOG_SOFTMAX || op == FSIM_OP_CROSS_ENTROPY) &&
           c->group->writes == 1 && t->shape.rank > 0 && t->elems >= c->group->points * c->group->reduced &&
           c->group->template != FSIM_COLUMN_REDUCTION;
}

/* Layer norm of the innermost dimensions: a block for each row. The first pass computes its moments (Welford), the
 * second the result; it finds the row in L2 if all rows in progress fit. */
static fsim_kernel layer_norm(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    const row_shape s = rows_of(c);
    fsim_kernel k = *own;
    const double most = resident_blocks(c, ATEN_LAYER_NORM_THREADS), blocks = fmin(most, ceil(s.rows / c->sms));
    const double step = fmax(aten_layer_norm_latency, blocks * fsim_hw_get(c->hw, FSIM_HW_LAYER_NORM_STEP));
    k.block = ATEN_LAYER_NORM_THREADS;
    k.grid = (int64_t)s.rows;
    k.launches = 1;
    move(c, &k,
         (walk){2, 1 + missing(c, s, c->sms * most, fsim_hw_get(c->hw, FSIM_HW_LAYER_NORM_L2), aten_layer_norm_l2_ramp),
                0, 1},
         a);
    k.unit[FSIM_LATENCY] = fmax(1, s.rows / (c->sms * blocks)) * ceil(s.width / ATEN_LAYER_NORM_STEP) * step / c->clock;
    return summed(c, &k);
}

/* Cycles in which a block that has a channel of images, or a group, to itself takes an element for each of its threads.
 * As many blocks as channels: few channels leave SMs idle, and many are bound by DRAM. */
static double moments_step(const fsim_costing *c, fsim_op op)
{
    const bool newer = c->hw->sm >= ATEN_BATCH_MOMENTS_SM;
    return op == FSIM_OP_GROUP_NORM ? aten_moments_latency : newer ? aten_batch_moments_step : aten_batch_moments_older;
}

/* Batch, group and instance norm: a kernel computes the moments, a second one applies them. */
static fsim_kernel moments_norm(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    const fsim_op op = source_of(c->g, c->group);
    const fsim_node *n = &c->g->node[c->group->member[0].node];
    const bool statistics = holds_class(c->g, c->group, FSIM_REDUCE),
               channels = op == FSIM_OP_BATCH_NORM && n->args > 0 && c->g->tensor[n->arg[0].tensor].shape.rank > 2;
    const double elements = (double)c->group->points * (double)(statistics ? c->group->reduced : 1);
    fsim_kernel k = *own;
    k.launches = 1;
    move(c, &k, (walk){1, 1, 0, 1}, a);
    k.unit[FSIM_ISSUE] = channels ? 0 : seconds_of_cycles(c, elements * moments_cycles(c));
    k.unit[FSIM_LATENCY] = 0;
    if (statistics && (channels || op == FSIM_OP_GROUP_NORM)) {
        const double waves = fmax(1, (double)c->group->points / (c->sms * resident_blocks(c, ATEN_MOMENTS_THREADS)));
        k.unit[FSIM_LATENCY] =
            waves * ceil((double)c->group->reduced / ATEN_MOMENTS_THREADS) * moments_step(c, op) / c->clock;
    }
    return summed(c, &k);
}

/* A log-softmax that stores all of its result, then one block that gathers the targets' elements. */
static fsim_kernel cross_entropy(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    const row_shape s = rows_of(c);
    if (!holds_op(c->g, c->group, FSIM_OP_PICK)) {
        const double more = s.rows * s.width * s.elem_bytes;
        return c->group->template == FSIM_COLUMN_REDUCTION ? spatial_softmax(c, own, more, a)
                                                           : softmax(c, own, more, a);
    }
    fsim_kernel k = *own;
    k.launches = 1;
    k.grid = 1;
    k.block = ATEN_NLL_THREADS;
    k.unit[FSIM_LATENCY] =
        ceil((double)(c->group->points * c->group->reduced) / ATEN_NLL_THREADS) * aten_nll_trips * c->latency_s;
    return summed(c, &k);
}

static fsim_kernel reduction(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    fsim_kernel k = *own;
    k.launches = 1; /* blocks that share a row synchronise with a semaphore */
    move(c, &k, (walk){1, 1, 0, c->group->template == FSIM_COLUMN_REDUCTION ? aten_outer_share : aten_inner_share}, a);
    return summed(c, &k);
}

static fsim_kernel pooling(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    const fsim_node *n = &c->g->node[c->group->anchor >= 0 ? c->group->anchor : c->group->member[0].node];
    const bool to_largest = n->op >= FSIM_OP_ADAPTIVE_MAX_POOL1D && n->op <= FSIM_OP_ADAPTIVE_MAX_POOL3D;
    const bool largest =
        to_largest || n->op == FSIM_OP_MAX_POOL1D || n->op == FSIM_OP_MAX_POOL2D || n->op == FSIM_OP_MAX_POOL3D;
    const bool adaptive = to_largest || n->op == FSIM_OP_ADAPTIVE_AVG_POOL1D || n->op == FSIM_OP_ADAPTIVE_AVG_POOL2D ||
                          n->op == FSIM_OP_ADAPTIVE_AVG_POOL3D;
    bool apart = true;
    for (int i = 0; i < n->arg[0].axes; i++)
        apart = apart && n->arg[0].axis[i].stride >= n->arg[0].axis[i].taps;
    fsim_kernel k = *own;
    move(c, &k, (walk){1, 1, largest ? (double)n->points * ATEN_INDEX_BYTES : 0, apart ? aten_apart_share : 1}, a);
    if (!adaptive && n->op != FSIM_OP_INTERPOLATE) /* adaptive pooling to one output is a mean */
        k.unit[FSIM_ISSUE] = seconds_of_cycles(
            c, (double)n->points * (largest ? aten_max_pool_output + aten_max_pool_tap * (double)n->reduced
                                            : aten_mean_pool_output + aten_mean_pool_tap * (double)n->reduced));
    k.unit[FSIM_COMPUTE] = 0; /* those cycles include its arithmetic */
    return summed(c, &k);
}

/* Number of elements along the scanned dimension. */
static double row_of_scan(const fsim_costing *c)
{
    const fsim_node *n = &c->g->node[c->group->member[0].node];
    const fsim_shape *s = &c->g->tensor[n->result[0]].shape;
    const int64_t dim = n->attrs.has_dim ? n->attrs.dim : s->rank - 1;
    return s->rank > 0 ? (double)s->dim[dim < 0 ? dim + s->rank : dim] : 1;
}

static fsim_kernel scan(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    fsim_kernel k = *own;
    move(c, &k, (walk){1, 1, 0, aten_scan_share}, a);
    k.unit[FSIM_ISSUE] = fmax(k.unit[FSIM_ISSUE], seconds_of_cycles(c, (double)c->group->points * aten_scan_cycles));
    k.unit[FSIM_LATENCY] = fmax(k.unit[FSIM_LATENCY], row_of_scan(c) * aten_scan_latency / c->clock);
    return summed(c, &k);
}

/* ATen computes squares and cubes by multiplication, their inverses by division, and square roots directly. */
static bool is_plain_power(double e) { return fabs(e) == 2 || e == 3 || fabs(e) == 1 || e == 0 || fabs(e) == 0.5; }

/* Instructions of powers with a constant exponent, beyond those that every power has. */
static double scalar_powers(const fsim_costing *c)
{
    double more = 0;
    for (int i = 0; i < c->group->members; i++) {
        const fsim_node *n = &c->g->node[c->group->member[i].node];
        if (n->op == FSIM_OP_POW && n->attrs.has_scalar && !is_plain_power(n->attrs.scalar))
            more += (double)c->group->member[i].evaluations * fmax(0, aten_scalar_pow - n->instructions) /
                    fsim_pipe_rate(c, n->dtype);
    }
    return more;
}

/* The primitive that the group computes, if it is one; views that it reads through do not count. */
static const fsim_node *only_primitive(const fsim_graph *g, const fsim_group *o)
{
    const fsim_node *only = NULL;
    for (int i = 0; i < o->members; i++) {
        const fsim_node *n = &g->node[o->member[i].node];
        if (fsim_ops[n->op].class == FSIM_PERMUTE)
            continue;
        if (only || o->member[i].clone)
            return NULL;
        only = n;
    }
    return only;
}

/* What ATen launches for an operator beside its last kernel, and the bytes that this moves more than one kernel for all
 * of it: from its first argument or what was written in its place, and to memory. */
typedef struct {
    int launches;
    double read, written;
} steps;

static bool is_gradient_of(const fsim_graph *g, const fsim_node *n, fsim_op op)
{
    const fsim_source *s = &g->source[n->source];
    return s->phase == FSIM_BACKWARD && s->gradient_of >= 0 && g->source[s->gradient_of].op == op;
}

/* Does the operator copy its argument and then write to the copy? masked_fill, and its gradient, which is one. */
static bool fills_copy(const fsim_graph *g, const fsim_node *n)
{
    const bool where = n->op == FSIM_OP_WHERE_INPUT || n->op == FSIM_OP_WHERE_OTHER || n->op == FSIM_OP_WHERE;
    return n->op == FSIM_OP_MASKED_FILL || (where && is_gradient_of(g, n, FSIM_OP_MASKED_FILL));
}

/* ATen/native: TensorAdvancedIndexing.cpp (masked_fill), PadNd.cpp (zero and negative paddings have no fill),
 * Onehot.cpp, TensorTransformations (a kernel for each rolled dimension), TensorCompare.cpp (isinf, isfinite).
 */
static steps steps_of(const fsim_costing *c)
{
    const fsim_node *n = only_primitive(c->g, c->group);
    if (!n || c->group->writes != 1 || n->args < 1)
        return (steps){0};
    const fsim_tensor *x = &c->g->tensor[n->arg[0].tensor], *y = &c->g->tensor[n->result[0]];
    const double in = (double)x->elems * fsim_dtype_bytes(x->dtype),
                 out = (double)y->elems * fsim_dtype_bytes(y->dtype);
    if (fills_copy(c->g, n))
        return (steps){1, out, out};
    switch (n->op) {
    case FSIM_OP_MUL: /* of a square: x to the power of 1, a copy, which then is doubled */
        return n->args == 1 && is_gradient_of(c->g, n, FSIM_OP_POW) ? (steps){1, out, out} : (steps){0};
    case FSIM_OP_PAD: /* filled, then the part copied; gradients of a split are joined instead */
        return y->elems > x->elems && !is_gradient_of(c->g, n, FSIM_OP_SPLIT) ? (steps){1, 0, in} : (steps){0};
    case FSIM_OP_ONE_HOT: /* zeros, then a sector for each 1 */
        return (steps){1, 0, fmin(out, (double)x->elems * FSIM_SECTOR_BYTES)};
    case FSIM_OP_ROLL: {
        const double more = log2(n->args) - 1;
        return more > 0 ? (steps){(int)more, more * out, more * out} : (steps){0};
    }
    case FSIM_OP_ISINF: /* |x|, then a comparison */
        return (steps){1, in, in};
    case FSIM_OP_ISFINITE: /* x == x, |x|, a comparison, their product */
        return (steps){3, 2 * in + 2 * out, in + 2 * out};
    default:
        return (steps){0};
    }
}

/* Adds these launches to k, which move() has set. What fits stays in L2 from one to the next. */
static void add_steps(const fsim_costing *c, steps more, fsim_kernel *k)
{
    const double l2 = fsim_hw_get(c->hw, FSIM_HW_L2_BANDWIDTH);
    const bool kept = fits(c, &c->write[0]) && (k->inputs == 0 || fits(c, &c->read[0]));
    if (more.launches == 0)
        return;
    k->launches += more.launches;
    k->l2_bytes += more.read + more.written;
    k->unit[FSIM_L2] = isnan(l2) ? 0 : k->l2_bytes / l2;
    if (k->inputs > 0)
        k->input[0].l2_bytes += more.read;
    if (kept)
        return;
    if (k->inputs > 0)
        k->input[0].read_bytes += (int64_t)more.read;
    k->dram_read_bytes += (int64_t)more.read;
    k->dram_write_bytes += (int64_t)more.written;
    k->unit[FSIM_DRAM] = fsim_dram_seconds(c->hw, (double)k->dram_read_bytes, (double)k->dram_write_bytes);
}

static fsim_kernel elementwise(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    fsim_kernel k = *own;
    bool broadcast = false, narrow = false;
    for (int i = 0; i < c->group->writes; i++)
        narrow = narrow || fsim_dtype_bytes(c->g->tensor[c->group->write[i].tensor].dtype) == 2;
    for (int i = 0; i < c->group->reads; i++) {
        const fsim_tensor *t = &c->g->tensor[c->group->read[i].tensor];
        broadcast = broadcast || (c->group->read[i].maps > 0 && t->elems < c->group->points);
        narrow = narrow || fsim_dtype_bytes(t->dtype) == 2;
    }
    const bool mask = holds_op(c->g, c->group, FSIM_OP_DROPOUT);
    move(c, &k, (walk){1, 1, mask ? (double)c->group->points : 0, 1}, a);
    add_steps(c, steps_of(c), &k);
    k.unit[FSIM_COMPUTE] += scalar_powers(c);
    const bool lists = c->g->node[c->group->member[0].node].phase == FSIM_OPTIMIZER; /* multi_tensor_apply: vectors */
    const double cycles = lists                                                       ? 0
                          : holds_class(c->g, c->group, FSIM_GATHER)                  ? aten_gather_cycles
                          : !broadcast && !holds_class(c->g, c->group, FSIM_ASSEMBLE) ? 0
                          : narrow                                                    ? aten_narrow_broadcast
                                                                                      : aten_broadcast;
    k.unit[FSIM_ISSUE] = fmax(k.unit[FSIM_ISSUE], seconds_of_cycles(c, (double)c->group->points * cycles));
    return summed(c, &k);
}

/* Operators that have kernels of their own. */
static const struct {
    fsim_op op;
    fsim_kernel (*cost)(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a);
} special[] = {{FSIM_OP_SOFTMAX, any_softmax},        {FSIM_OP_LOG_SOFTMAX, any_softmax},
               {FSIM_OP_LAYER_NORM, layer_norm},      {FSIM_OP_BATCH_NORM, moments_norm},
               {FSIM_OP_GROUP_NORM, moments_norm},    {FSIM_OP_INSTANCE_NORM, moments_norm},
               {FSIM_OP_CROSS_ENTROPY, cross_entropy}};

fsim_aten_call fsim_aten_call_of(const fsim_graph *g, const fsim_group *o)
{
    const fsim_op op = source_of(g, o);
    const bool softmax_like = op == FSIM_OP_SOFTMAX || op == FSIM_OP_LOG_SOFTMAX ||
                              (op == FSIM_OP_CROSS_ENTROPY && !holds_op(g, o, FSIM_OP_PICK));
    if (!holds_class(g, o, FSIM_REDUCE))
        return FSIM_ATEN_OTHER;
    return softmax_like && o->template != FSIM_COLUMN_REDUCTION ? FSIM_ATEN_SOFTMAX
           : op == FSIM_OP_LAYER_NORM                           ? FSIM_ATEN_LAYER_NORM
                                                                : FSIM_ATEN_OTHER;
}

fsim_kernel fsim_aten_kernel(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    const fsim_op op = source_of(c->g, c->group), backward = backward_of(c->g, c->group);
    const bool reduces = holds_class(c->g, c->group, FSIM_REDUCE);
    if (is_softmax_backward(c, backward))
        return softmax_backward(c, own, backward, a);
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (special[i].op == op && (reduces || (special[i].cost == moments_norm && own->template == FSIM_POINTWISE)))
            return special[i].cost(c, own, a);
    switch (own->template) {
    case FSIM_POINTWISE:
    case FSIM_COPY:
        return elementwise(c, own, a);
    case FSIM_ROW_REDUCTION:
    case FSIM_COLUMN_REDUCTION:
    case FSIM_FULL_REDUCTION:
        return reduction(c, own, a);
    case FSIM_POOLING:
        return pooling(c, own, a);
    case FSIM_SCAN_KERNEL:
        return scan(c, own, a);
    default:
        return *own;
    }
}
