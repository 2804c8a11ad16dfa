/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/convolution.h"

#include "cost/constants.h"
#include "cost/implicit_gemm.h"
#include "cost/product.h"
#include "kernel/layout.h"

#include <float.h>
#include <math.h>

/* How many windows of a convolution load each element of its input. */
static double window_loads(const fsim_node *n)
{
    double loads = 1;
    for (int i = 0; n->arg[0].how == FSIM_READ_WINDOW && i < n->arg[0].axes; i++)
        loads *= (double)n->arg[0].axis[i].out * (double)n->arg[0].axis[i].taps / (double)n->arg[0].axis[i].extent;
    return fmax(1, loads);
}

/* The share of the data sheet's rate that a generated kernel of this convolution reaches: that of the library's best
 * kernels, without changes of layout. With a tile it is at most what matrix products reach. */
static double own_share(const fsim_hw *hw, const fsim_convolution_shape *s)
{
    const fsim_convolution_shape planes = {
        .kind = FSIM_PLANES, .taps = TYPICAL_TAPS, .tensor = s->tensor, .most = s->most};
    return fmin(1,
                fmax(fsim_convolution_efficiency(hw, s), fsim_convolution_efficiency(hw, &planes)) * own_layout_gain);
}

/* Tiles that a library's kernels are assumed to have. */
static const int tile_sizes[][2] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128},
                                    {64, 64},   {32, 128},  {128, 32},  {32, 32},  {16, 64}};

/* The share of own_share that a tile of this size reaches. */
static double tile_share(int m, int n)
{
    return fmin(best_tile_share, 1 / (1 + narrow_tile_loss * (efficiency_tile / m + efficiency_tile / n - 2)));
}

/* A block of a library's kernel. */
static fsim_schedule library_block(const fsim_costing *c, const fsim_convolution_shape *s, int m, int n)
{
    const int elem = fsim_dtype_bytes(c->g->tensor[c->g->node[c->group->anchor].arg[0].tensor].dtype),
              step = s->tensor ? 64 / elem : 8; /* step: elements of k */
    int stages = s->tensor ? 3 : 2;
    while (stages > 1 && (m + n) * step * stages * elem > fsim_hw_get(c->hw, FSIM_HW_SHARED_PER_BLOCK))
        stages--;
    fsim_schedule l = {.template = FSIM_LIBRARY_CONTRACTION, .launches = 1, .passes = 1, .split_k = 1, .pieces = 1};
    l.tile_m = m;
    l.tile_n = n;
    l.grid = (int64_t)(s->groups * ceil(s->pixels / m) * ceil(s->filters / n));
    l.block = m * n >= 8192 ? 256 : 128;
    l.stages = stages;
    l.shared_bytes = (m + n) * step * stages * elem;
    l.registers = (int)fmin(255, m * n / l.block + 40);
    l.vector = 4;
    return l;
}

/* Blocks that share a tile's sum: over pixels as many as find an SM; a library also splits a long sum over channels and
 * taps. */
static double splits_of(const fsim_costing *c, const fsim_convolution_shape *s, const fsim_schedule *l, double tiles)
{
    const double idle = floor(c->sms / tiles), pieces = floor(s->channels * s->taps / conv_least_terms);
    const bool library = l->template == FSIM_LIBRARY_CONTRACTION && !c->group->strict;
    return fmax(1, s->sums_pixels ? idle : library ? fmin(idle, pieces) : 1);
}

/* Seconds of a block with such a tile and so many terms of each sum. */
static double tile_s(const fsim_costing *c, const fsim_convolution_shape *s, int m, int n, double depth)
{
    return 2.0 * m * n * depth / (s->peak_flops / c->sms * fmin(s->most, own_share(c->hw, s) * tile_share(m, n)));
}

/* A kernel that takes `busy_s` at least: can it be faster than `best`? What rounding adds up to is far below the
 * margin. */
static bool may_win(const fsim_costing *c, const fsim_schedule *layout, double busy_s, const fsim_kernel *best)
{
    return best->time_s <= 0 || busy_s + layout->launches * fmax(0, fsim_least_launch_s(c->hw, c->regime)) <
                                    best->time_s * (1 + sqrt(DBL_EPSILON)) + FSIM_TICK_S;
}

/* With the layout. Tiles are of pixels x filters. time_s 0 where it is no faster than `best` anyway. */
static fsim_kernel tiled(const fsim_costing *c, const fsim_convolution_shape *s, const fsim_schedule *layout,
                         const fsim_kernel *best, fsim_arena *a)
{
    const fsim_group *o = c->group;
    const fsim_node *n = &c->g->node[o->anchor];
    const int m = layout->tile_m, filters = layout->tile_n;
    const double tiles_m = ceil(s->pixels / m), tiles_n = ceil(s->filters / filters),
                 tiles = s->groups * tiles_m * tiles_n, splits = splits_of(c, s, layout, tiles),
                 depth = s->channels * s->taps / splits, blocks = tiles * splits,
                 tiles_s = ceil(blocks / c->sms) * tile_s(c, s, m, filters, depth);
    if (!may_win(c, layout, tiles_s, best))
        return (fsim_kernel){0};
    fsim_kernel k = fsim_blank_kernel(c, a);
    k.schedule = *layout;
    k.flops = 2.0 * (double)n->gemm.batch * (double)n->gemm.m * (double)n->gemm.n * (double)n->gemm.k;
    k.penalised = k.penalised || layout->template == FSIM_TILED_CONTRACTION;
    fsim_add_arithmetic(c, &k, (const double[2]){tiles_n * window_loads(n), tiles_m},
                        true); /* every column of tiles loads the input, every row the weights */
    fsim_add_memory(
        c, &k, NULL,
        NULL); /* start-up, and the tiles' traffic in L2 and shared memory, are part of the measured efficiency */
    k.unit[FSIM_LATENCY] += conv_start_s + depth / 64 *
                                               (s->tensor ? CONV_TENSOR_STEP_CYCLES : CONV_VECTOR_STEP_CYCLES) /
                                               c->clock; /* a block's k loop when it has an SM to itself */
    if (!fsim_settle(c, &k, 1))
        return k;
    k.unit[FSIM_COMPUTE] += tiles_s;
    fsim_sum_up(c, &k);
    return k;
}

/* A thread for each result, with a load and a multiply-add in each step: groups with few filters, which have no
 * tiles; for generated kernels also everything else for which kernel/product.h has no tiles. A thread of a
 * transposed convolution visits the taps that meet an element, or with dilation all of them. */
static fsim_kernel direct(const fsim_costing *c, const fsim_convolution_shape *s, fsim_template template, fsim_arena *a)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    fsim_kernel k = fsim_blank_kernel(c, a);
    const double products = s->groups * s->pixels * (double)n->gemm.n * (double)n->gemm.k;
    const bool generated = template == FSIM_TILED_CONTRACTION;
    k.template = template;
    k.grid = (n->points + FSIM_BLOCK - 1) / FSIM_BLOCK;
    k.registers = fsim_registers(c->group->live, 1);
    if (generated)
        fsim_lay_out(c, &k.schedule);
    k.flops = 2 * products;
    fsim_add_arithmetic(c, &k, (const double[2]){window_loads(n), 1}, true);
    fsim_add_memory(c, &k, NULL, NULL);
    fsim_add_access_issue(c, &k);
    k.unit[FSIM_ISSUE] +=
        2 * products * (generated ? s->visited : 1) / (c->sms * c->clock * FSIM_ISSUE_PER_SM * c->warp);
    k.unit[FSIM_COMPUTE] += generated ? fmax(products / fsim_pipe_rate(c, FSIM_F32),
                                             fsim_least_convolution_s(c->g, c->hw, c->group->anchor))
                                      : products / fsim_pipe_rate(c, FSIM_F32);
    if (generated)
        fsim_add_operand_loads(c, &k, products * s->visited, 4);
    if (generated)
        k.unit[FSIM_LATENCY] += conv_start_s + (double)n->gemm.k * DIRECT_STEP_CYCLES / c->clock; /* alone on its SM */
    if (fsim_settle(c, &k, 1))
        fsim_sum_up(c, &k);
    k.penalised = true;
    return k;
}

double fsim_convolution_direct_s(const fsim_graph *g, const fsim_hw *hw, int node)
{
    const fsim_node *n = &g->node[node];
    const fsim_convolution_shape s = fsim_convolution_shape_of(hw, n);
    const fsim_costing c = {
        .g = g, .hw = hw, .sms = fsim_hw_get(hw, FSIM_HW_SMS), .clock = fsim_hw_get(hw, FSIM_HW_SM_CLOCK)};
    const double products = s.groups * s.pixels * (double)n->gemm.n * (double)n->gemm.k,
                 compute = fmax(products / fsim_pipe_rate(&c, FSIM_F32), fsim_least_convolution_s(g, hw, node)),
                 issue = 2 * products * s.visited /
                         (c.sms * c.clock * FSIM_ISSUE_PER_SM * fsim_hw_get(hw, FSIM_HW_WARP_SIZE)),
                 waits = conv_start_s + (double)n->gemm.k * DIRECT_STEP_CYCLES / c.clock;
    return hw->arch->plain ? compute : fmax(compute, fmax(issue, waits));
}

static bool is_direct(const fsim_gemm *m) { return m->batch > 1 && m->n < DIRECT_FILTERS; }

static void keep_faster(fsim_kernel *best, fsim_kernel k)
{
    if (k.time_s > 0 && (best->time_s == 0 || k.time_s < best->time_s))
        *best = k;
}

/* Threads find each element of the windows by its number along k and among the pixels: divisions by what is known when
 * the text is compiled, in integer units, before each load. */
static void add_window_loads(const fsim_costing *c, const fsim_convolution_shape *s, const fsim_schedule *layout,
                             fsim_kernel *k)
{
    const double elements = s->groups * s->pixels * s->channels * s->taps * ceil(s->filters / layout->tile_n);
    if (s->alone || s->sums_pixels)
        return;
    k->unit[FSIM_COMPUTE] += elements * s->axes * CONV_AXIS_INSTRUCTIONS / fsim_pipe_rate(c, FSIM_I32);
    k->unit[FSIM_ISSUE] += elements * (s->axes * CONV_AXIS_INSTRUCTIONS + CONV_ELEMENT_INSTRUCTIONS) /
                           (c->sms * c->clock * FSIM_ISSUE_PER_SM * c->warp);
}

/* With this layout, as generated: the equation and the rates of generated products (gemm.h). No faster than the
 * library's best kernels would be with such tiles. time_s 0 where it is no faster than `best` anyway. */
static fsim_kernel multiplied(const fsim_costing *c, const fsim_convolution_shape *s, const fsim_gemm_device *d,
                              const fsim_schedule *layout, const fsim_kernel *best, fsim_arena *a)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    const double tiles_m = ceil(s->pixels / layout->tile_m), tiles_n = ceil(s->filters / layout->tile_n),
                 tiles = s->groups * tiles_m * tiles_n, splits = splits_of(c, s, layout, tiles),
                 elem = fsim_dtype_bytes(c->g->tensor[n->arg[0].tensor].dtype);
    fsim_gemm_shape shape = {.batch = s->groups,
                             .m = s->pixels,
                             .n = s->filters,
                             .k = s->channels * s->taps,
                             .operand_bytes = {(double)n->arg[0].distinct * elem, (double)n->arg[1].distinct * elem},
                             .result_bytes = s->groups * s->pixels * s->filters * elem,
                             .elem_bytes = (int)elem,
                             .whole = c->group->strict};
    const double least_s =
        ceil(tiles * splits / c->sms) * tile_s(c, s, layout->tile_m, layout->tile_n, shape.k / splits);
    if (!may_win(c, layout, least_s, best))
        return (fsim_kernel){0};
    fsim_kernel k = fsim_blank_kernel(c, a);
    k.schedule = *layout;
    k.penalised = true;
    fsim_add_arithmetic(c, &k, (const double[2]){tiles_n * window_loads(n), tiles_m}, true);
    fsim_add_memory(c, &k, NULL, NULL);
    fsim_add_access_issue(c, &k);
    add_window_loads(c, s, layout, &k);
    shape.dram_bytes = (double)(k.dram_read_bytes + k.dram_write_bytes);
    fsim_gemm_time time = fsim_gemm_with(d, &shape, (fsim_gemm_tile){layout->tile_m, layout->tile_n, (int)splits});
    time.compute_s = fmax(time.compute_s, least_s);
    if (!may_win(c, layout, fmax(time.compute_s, fmax(time.dram_s, time.l2_s)), best))
        return (fsim_kernel){0};
    fsim_settle_product(c, &k, d, &shape, &time);
    return k;
}

static fsim_kernel generated(const fsim_costing *c, const fsim_convolution_shape *s, fsim_arena *a)
{
    fsim_layout l = {.g = c->g, .hw = c->hw, .group = c->group, .tiling = fsim_tiling_of(c->g, c->hw, c->group, a)};
    const bool known = !c->hw->host && !c->hw->arch->plain; /* whose kernels' rates are */
    fsim_gemm_device by[FSIM_BY_GROUPS + 1] = {0};          /* sms 0: not asked for yet */
    fsim_schedule layout = fsim_blank_kernel(c, a).schedule;
    fsim_kernel best = {0};
    for (int i = 0; l.tiling && fsim_next_tile(&l, &i, &layout); i++) {
        const fsim_multipliers of = fsim_multipliers_of(&l.tiling->plan[0]);
        if (known && by[of].sms == 0)
            by[of] = fsim_gemm_generated_of(c->hw, c->g->node[c->group->anchor].gemm.arithmetic, of);
        keep_faster(&best, known ? multiplied(c, s, &by[of], &layout, &best, a) : tiled(c, s, &layout, &best, a));
    }
    return best.time_s > 0 ? best : direct(c, s, FSIM_TILED_CONTRACTION, a);
}

fsim_kernel fsim_convolution(const fsim_costing *c, fsim_template template, fsim_arena *a)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    const fsim_convolution_shape s = fsim_convolution_shape_of(c->hw, n);
    fsim_kernel best = {0};
    if (is_direct(&n->gemm))
        return direct(c, &s, template, a);
    if (template == FSIM_TILED_CONTRACTION)
        return generated(c, &s, a);
    for (size_t t = 0; t < sizeof tile_sizes / sizeof tile_sizes[0]; t++) {
        const fsim_schedule block = library_block(c, &s, tile_sizes[t][0], tile_sizes[t][1]);
        keep_faster(&best, tiled(c, &s, &block, &best, a));
    }
    return best;
}

/* Blocks of a library's kernel, whose tiles nobody knows: those that take the product least time. */
static fsim_schedule assumed_blocks(const fsim_costing *c, const fsim_convolution_shape *s)
{
    fsim_schedule best = {0};
    double least = INFINITY;
    for (size_t t = 0; t < sizeof tile_sizes / sizeof tile_sizes[0]; t++) {
        const int m = tile_sizes[t][0], n = tile_sizes[t][1];
        fsim_schedule l = library_block(c, s, m, n);
        const double splits = splits_of(c, s, &l, (double)l.grid);
        l.grid *= (int64_t)splits;
        const double seconds = ceil((double)l.grid / c->sms) * tile_s(c, s, m, n, s->channels * s->taps / splits);
        if (seconds < least) {
            least = seconds;
            best = l;
        }
    }
    return best;
}

fsim_kernel fsim_convolution_call(const fsim_costing *c, const fsim_convolution_shape *s, fsim_convolution_steps steps,
                                  fsim_arena *a)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    fsim_kernel k = fsim_blank_kernel(c, a);
    k.schedule = assumed_blocks(c, s);
    k.schedule.launches = 1 + steps.changes;
    k.flops = 2.0 * (double)n->gemm.batch * (double)n->gemm.m * (double)n->gemm.n * (double)n->gemm.k;
    k.penalised = k.penalised || steps.changes > 0 || steps.exponent < KERNEL_EXPONENT;
    fsim_add_arithmetic(c, &k, NULL, true);
    fsim_add_memory(c, &k, NULL, NULL);
    k.unit[FSIM_LATENCY] += conv_start_s + fmin(s->channels * s->taps, conv_least_terms) / 64 *
                                               (s->tensor ? CONV_TENSOR_STEP_CYCLES : CONV_VECTOR_STEP_CYCLES) /
                                               c->clock;
    if (!fsim_settle(c, &k, 1))
        return k;
    k.unit[FSIM_COMPUTE] += steps.product_s;
    fsim_sum_up_by(c, &k, steps.exponent);
    if (steps.changes_s > 0)
        fsim_add_after(&k, FSIM_DRAM, steps.changes_s);
    return k;
}

/* What a generated kernel takes at least: with tiles only where windows are gathered (kernel/product.h). */
static double least_generated_s(const fsim_hw *hw, const fsim_node *n, const fsim_convolution_shape *s)
{
    const bool tiles = n->arg[0].how == FSIM_READ_WINDOW && !is_direct(&n->gemm);
    const double fp32 =
        2 * fsim_hw_get(hw, FSIM_HW_SMS) * fsim_hw_get(hw, FSIM_HW_SM_CLOCK) * fsim_hw_get(hw, FSIM_HW_FP32_RATE);
    return 2.0 * (double)n->gemm.batch * (double)n->gemm.m * (double)n->gemm.n * (double)n->gemm.k /
           (tiles || (!is_direct(&n->gemm) && (hw->host || hw->arch->plain))
                ? s->peak_flops * fmin(s->most, own_share(hw, s) * best_tile_share)
                : fp32);
}

/* Seconds in which threads find the elements of windows, with tiles of so many filters. */
static double least_windows_s(const fsim_costing *c, const fsim_convolution_shape *s, int filters)
{
    return s->alone || s->sums_pixels ? 0
                                      : s->groups * s->pixels * s->channels * s->taps * ceil(s->filters / filters) *
                                            s->axes * CONV_AXIS_INSTRUCTIONS / fsim_pipe_rate(c, FSIM_I32);
}

double fsim_convolution_tiled_s(const fsim_graph *g, const fsim_hw *hw, int node)
{
    enum { LEAST_SIDE = 16, MOST_SIDE = 256 }; /* as in kernel/layout.c */
    const fsim_node *n = &g->node[node];
    const fsim_convolution_shape s = fsim_convolution_shape_of(hw, n);
    const fsim_costing c = {
        .g = g, .hw = hw, .sms = fsim_hw_get(hw, FSIM_HW_SMS), .clock = fsim_hw_get(hw, FSIM_HW_SM_CLOCK)};
    double least = INFINITY;
    if (n->arg[0].how != FSIM_READ_WINDOW || is_direct(&n->gemm))
        return INFINITY;
    for (int m = LEAST_SIDE; m <= MOST_SIDE; m *= 2)
        for (int filters = LEAST_SIDE; filters <= MOST_SIDE; filters *= 2) {
            const double tiles = s.groups * ceil(s.pixels / m) * ceil(s.filters / filters),
                         rounds = s.sums_pixels ? tiles / c.sms : ceil(tiles / c.sms); /* blocks may share a sum */
            least = fmin(least,
                         rounds * tile_s(&c, &s, m, filters, s.channels * s.taps) + least_windows_s(&c, &s, filters));
        }
    return least;
}

double fsim_convolution_call_s(const fsim_graph *g, const fsim_hw *hw, int node)
{
    _Static_assert(KERNEL_EXPONENT == 3, "cost/cudnn.def has no more");
    const fsim_convolution_shape s = fsim_convolution_shape_of(hw, &g->node[node]);
    const double product = fsim_implicit_gemm_least_s(hw, &s), terms = fmin(s.channels * s.taps, conv_least_terms),
                 waits = conv_start_s + terms / 64 * (s.tensor ? CONV_TENSOR_STEP_CYCLES : CONV_VECTOR_STEP_CYCLES) /
                                            fsim_hw_get(hw, FSIM_HW_SM_CLOCK);
    return s.groups > 1 && s.channels == 1 ? 0 : cbrt(product * product * product + waits * waits * waits);
}

double fsim_least_convolution_s(const fsim_graph *g, const fsim_hw *hw, int node)
{
    const fsim_convolution_shape s = fsim_convolution_shape_of(hw, &g->node[node]);
    const double own = least_generated_s(hw, &g->node[node], &s);
    return hw->host || hw->arch->plain ? own : fmin(own, fsim_implicit_gemm_least_s(hw, &s));
}
