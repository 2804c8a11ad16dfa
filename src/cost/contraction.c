/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/product.h"

#include "cost/constants.h"
#include "cost/convolution.h"
#include "kernel/layout.h"
#include "kernel/rows.h"

#include <float.h>
#include <math.h>

/* The device's dense rate for this arithmetic, FLOP/s, and the share of it that a long contraction reaches. */
double fsim_contraction_rate(const fsim_costing *c, fsim_dtype t, double *efficiency, bool *tensor)
{
    *tensor = fsim_tensor_key(c->hw, t) != FSIM_HW_COUNT;
    *efficiency = fsim_or_else(fsim_hw_get(c->hw, *tensor ? FSIM_HW_CONTRACTION_TENSOR : FSIM_HW_CONTRACTION_FP32), 1);
    return fsim_dense_rate(c->hw, t);
}

/* The time of a block's start and end, in steps of k. */
double fsim_startup_of(bool tensor) { return tensor ? chain_tensor_startup : chain_vector_startup; }

/* A generated kernel's product: its sizes, the device's rates for it, and its tiles. */
typedef struct {
    const fsim_gemm *g;
    double dram_bytes;                     /* of the whole kernel, operands read once */
    double launch_s;                       /* that each of its launches takes at least */
    double arithmetic[3][FSIM_UNIT_COUNT]; /* seconds of each unit for what the group's other members compute: those
                                              beside the operands; and for each operand, loaded once */
    fsim_gemm_device *by;                  /* for each of fsim_multipliers; sms is 0 where nobody has asked */
    fsim_layout *l;
} product;

/* The rates of the layout that p->l has now. Only those that are asked for read their keys of the hardware file. */
static const fsim_gemm_device *device_of(const product *p)
{
    const fsim_multipliers by = fsim_multipliers_of(&p->l->tiling->plan[0]);
    if (p->by[by].sms == 0)
        p->by[by] = fsim_gemm_generated_of(p->l->hw, p->g->arithmetic, by);
    return &p->by[by];
}

/* The shape and tile of a generated kernel in this layout. Two products whose results meet count as one tile with the
 * columns of both. */
static fsim_gemm_tile tile_of(const fsim_costing *c, const product *p, const fsim_schedule *layout, fsim_gemm_shape *s)
{
    const fsim_gemm_tile tile = {layout->tile_m, layout->tile_n * p->l->tiling->plan[0].products, layout->split_k};
    *s = fsim_product_shape(c, p->g);
    s->n = (double)layout->grid / tile.split / s->batch / ceil(s->m / tile.m) * tile.n;
    s->dram_bytes = p->dram_bytes;
    return tile;
}

static void find_arithmetic(const fsim_costing *c, double seconds[3][FSIM_UNIT_COUNT])
{
    static const double loads[3][2] = {{0, 0}, {1, 0}, {0, 1}};
    bool loaded = false; /* is anything computed for operands? */
    for (int i = 0; i < c->group->members; i++)
        loaded = loaded || c->group->member[i].prologue || c->group->member[i].middle;
    for (int i = 0; i < (loaded ? 3 : 1); i++) {
        fsim_kernel k = {0};
        fsim_add_arithmetic(c, &k, loads[i], true);
        for (int u = 0; u < FSIM_UNIT_COUNT; u++)
            seconds[i][u] = k.unit[u] - (i > 0 ? seconds[0][u] : 0);
    }
}

/* Adds the arithmetic of the group's other members to the product in the layout that p->l has now. */
static void add_arithmetic(const product *p, fsim_gemm_shape *s)
{
    double loads[2], seconds[FSIM_UNIT_COUNT];
    fsim_tiling_loads(p->l->tiling, loads);
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        seconds[u] = p->arithmetic[0][u] + loads[0] * p->arithmetic[1][u] + loads[1] * p->arithmetic[2][u];
    s->beside_s = seconds[FSIM_COMPUTE];
    s->beside_powers = fsim_gemm_powers(seconds[FSIM_SPECIAL], seconds[FSIM_ISSUE]);
}

/* Can the kernel in this layout be faster than `best`? Its launches and the product with the kernel's bytes may take
 * longer; what rounding adds up to is far below the margin. */
static bool may_beat(const fsim_costing *c, const product *p, const fsim_schedule *layout, const fsim_kernel *best)
{
    fsim_gemm_shape s;
    const fsim_gemm_tile tile = tile_of(c, p, layout, &s);
    add_arithmetic(p, &s);
    return best->time_s <= 0 ||
           fsim_gemm_may_beat(device_of(p), &s, tile,
                              best->time_s * (1 + sqrt(DBL_EPSILON)) + FSIM_TICK_S - layout->launches * p->launch_s);
}

/* Results that are reduced by rows go through shared memory: they are written, and read once in each walk. The threads
 * of a row combine what they have. Nothing was measured. */
static void reduce_rows(const fsim_costing *c, const fsim_tiling *t, fsim_kernel *k)
{
    enum { INSTRUCTIONS = 2, BYTES = 4 }; /* a shuffle, and the reduction's own */
    const fsim_group *o = c->group;
    const double results = (double)o->points * (double)o->reduced, threads = fsim_tile_row_threads(t->row);
    k->shared_bytes_moved += (1 + o->stages) * results * BYTES;
    for (int i = 0; i < o->members && !c->hw->host; i++)
        if (fsim_ops[c->g->node[o->member[i].node].op].class == FSIM_REDUCE)
            k->unit[FSIM_ISSUE] += INSTRUCTIONS * log2(threads) * (double)o->points * threads /
                                   (c->sms * c->clock * FSIM_ISSUE_PER_SM * c->warp);
    if (!c->hw->host)
        k->unit[FSIM_LATENCY] += 2 * barrier_s;
}

/* Sums over all tiles, or over those of a column: a block adds up what its threads have of each and leaves it, through
 * L2, to a second launch, whose threads go through the blocks. Nothing was measured. */
static void leave_totals(const fsim_costing *c, const fsim_tiling *t, const fsim_schedule *layout, fsim_kernel *k)
{
    enum { INSTRUCTIONS = 2, AHEAD = 4 }; /* a shuffle and an addition; loads that a thread has under way */
    enum { LINES = 8, SLOTS = 8 };        /* threads that share a column, of a warp and in the second launch */
    const fsim_group *o = c->group;
    const double blocks = (double)layout->grid, totals = o->across - o->columns, down = (double)fsim_tiles_down(t),
                 threads = blocks * layout->block,
                 issue_s = INSTRUCTIONS * threads / (c->sms * c->clock * FSIM_ISSUE_PER_SM * c->warp);
    k->partial_bytes = (int64_t)(2 * (blocks * totals + down * (double)t->plan[0].product[0].columns * o->columns)) *
                       fsim_sum_bytes(c->g, o);
    k->l2_bytes += (double)k->partial_bytes;
    if (c->hw->host)
        return;
    k->unit[FSIM_ISSUE] +=
        issue_s * (log2(layout->block) * totals + log2(LINES) * fmax(1, layout->tile_n / (double)SLOTS) * o->columns);
    k->unit[FSIM_LATENCY] +=
        fmax(totals > 0 ? ceil(blocks / (FSIM_BLOCK * AHEAD)) : 0, o->columns ? ceil(down / (LINES * AHEAD)) : 0) *
            c->latency_s +
        2 * o->across * barrier_s;
}

/* The price of a generated kernel in this layout: the product in such a tile, and the arithmetic of the group's other
 * members. */
static fsim_kernel generated_with(const fsim_costing *c, const product *p, const fsim_schedule *layout, fsim_arena *a)
{
    const fsim_gemm_device *d = device_of(p);
    const fsim_tiling *t = p->l->tiling;
    fsim_gemm_shape s;
    fsim_kernel k = fsim_blank_kernel(c, a);
    const fsim_gemm_tile tile = tile_of(c, p, layout, &s);
    double loads[2];
    fsim_tiling_loads(t, loads);
    k.schedule = *layout;
    k.penalised = true;
    if (t->row > 0)
        reduce_rows(c, t, &k);
    if (c->group->across > 0)
        leave_totals(c, t, layout, &k);
    fsim_add_arithmetic(c, &k, loads, true);
    fsim_add_memory(c, &k, NULL, NULL);
    fsim_add_access_issue(c, &k);
    fsim_gemm_time time = fsim_gemm_with(d, &s, tile);
    time.extra_s -= tile.split > 1 ? d->split_s : 0; /* the second launch is counted among the kernel's launches */
    fsim_settle_product(c, &k, d, &s, &time);
    return k;
}

enum { DIRECT_INSTRUCTIONS = 3 };

/* A thread sums up one result; each step takes a load from each operand and a multiply-add. Where reductions follow,
 * a block computes whole rows of results, or several blocks share one. */
static fsim_kernel direct(const fsim_costing *c, const fsim_gemm *g, const fsim_gemm_device *d, fsim_arena *a)
{
    const double rows = (double)g->batch * (double)g->m, products = rows * (double)g->n * (double)g->k;
    const fsim_node *n = &c->g->node[c->group->anchor];
    fsim_kernel k = fsim_blank_kernel(c, a);
    const int elem = fsim_dtype_bytes(c->g->tensor[n->arg[0].tensor].dtype),
              result =
                  n->dtype == FSIM_F64 || n->dtype == FSIM_I64 ? 8 : 4; /* in the kernel's variables (4 or 8 bytes) */
    const bool whole = c->group->whole_row > 0;
    fsim_lay_out(c, &k.schedule);
    k.penalised = true;
    k.flops = 2 * products;
    fsim_add_arithmetic(c, &k, (const double[2]){(double)g->n, rows}, true);
    fsim_add_memory(c, &k, NULL, NULL);
    fsim_add_access_issue(c, &k);
    /* neighbouring threads read different columns; rows of one block are found in L1 */
    k.l2_bytes += (whole ? products / k.rows_per_block : products) * elem;
    fsim_add_operand_loads(c, &k, products, result);
    k.unit[FSIM_ISSUE] += DIRECT_INSTRUCTIONS * products / (c->sms * c->clock * FSIM_ISSUE_PER_SM * c->warp);
    k.unit[FSIM_COMPUTE] +=
        fmax(products / fsim_pipe_rate(c, result == 8 ? FSIM_F64 : FSIM_F32), fsim_gemm_least_s(d, 2 * products));
    k.unit[FSIM_LATENCY] +=
        vector_least_s + (double)g->k * DIRECT_STEP_CYCLES / c->clock; /* the time of a block that is alone on its SM */
    if (fsim_settle(c, &k, 1))
        fsim_sum_up(c, &k);
    return k;
}

/* Prices the layout with every split that it allows; *best becomes the fastest. */
static void try_splits(const fsim_costing *c, const product *p, fsim_schedule layout, fsim_kernel *best, fsim_arena *a)
{
    const fsim_gemm_shape s = fsim_product_shape(c, p->g);
    fsim_gemm_tile tile = {layout.tile_m, layout.tile_n, 1};
    bool more = layout.split_k == 1;
    while (more) {
        if (may_beat(c, p, &layout, best)) {
            const fsim_kernel k = generated_with(c, p, &layout, a);
            if (k.time_s > 0 && (best->time_s == 0 || k.time_s < best->time_s))
                *best = k;
        }
        layout.split_k = tile.split *= 2;
        more = fsim_gemm_may_split(device_of(p), &s, tile) && fsim_schedule_of(p->l, &layout) &&
               layout.split_k == tile.split;
    }
}

fsim_kernel fsim_contraction(const fsim_costing *c, fsim_arena *a)
{
    const fsim_gemm g = fsim_product_of(c);
    if (g.convolution)
        return fsim_convolution(c, FSIM_TILED_CONTRACTION, a);
    fsim_layout l = {.g = c->g, .hw = c->hw, .group = c->group, .tiling = fsim_tiling_of(c->g, c->hw, c->group, a)};
    fsim_kernel blank = fsim_blank_kernel(c, a), best = {0};
    fsim_schedule layout = blank.schedule;
    fsim_gemm_device by[FSIM_BY_GROUPS + 1] = {0};
    fsim_add_memory(c, &blank, NULL, NULL);
    product p = {.g = &g,
                 .dram_bytes = (double)(blank.dram_read_bytes + blank.dram_write_bytes),
                 .launch_s = fmax(0, fsim_least_launch_s(c->hw, c->regime)),
                 .by = by,
                 .l = &l};
    find_arithmetic(c, p.arithmetic);
    for (int i = 0; l.tiling && fsim_next_tile(&l, &i, &layout); i++)
        try_splits(c, &p, layout, &best, a);
    if (best.time_s > 0 || c->group->across > 0) /* no thread that sums up one result has a part of such sums */
        return best.time_s > 0 ? best : blank;
    const fsim_gemm_device d = fsim_gemm_device_of(c->hw, g.arithmetic);
    return direct(c, &g, &d, a);
}

/* A lower bound for this contraction in any template: at least gemm.h's time in tiles, and at least what the rate
 * allows in a chain. The prices divide by the same rates, so no price is below the bound. */
double fsim_least_contraction_s(const fsim_graph *g, const fsim_hw *hw, int node)
{
    const fsim_gemm *m = &g->node[node].gemm;
    const fsim_costing c = {.g = g, .hw = hw};
    const double flops = 2.0 * (double)m->batch * (double)m->m * (double)m->n * (double)m->k;
    if (m->convolution)
        return fsim_least_convolution_s(g, hw, node);
    const fsim_gemm_device d = fsim_gemm_device_of(hw, m->arithmetic);
    return fmin(fsim_gemm_least_s(&d, flops), flops / fsim_chain_rate(&c, m->arithmetic));
}

/* Summed up by one thread a result, as in direct(); as one of `company` products in a kernel. */
static double direct_least_s(const fsim_hw *hw, const fsim_gemm_device *d, const fsim_gemm_shape *s, int company)
{
    const double clock = fsim_hw_get(hw, FSIM_HW_SM_CLOCK), products = s->batch * s->m * s->n * s->k,
                 lanes = fsim_hw_get(hw, FSIM_HW_SMS) * clock * fsim_hw_get(hw, FSIM_HW_WARP_SIZE),
                 issue = DIRECT_INSTRUCTIONS * products / (lanes * FSIM_ISSUE_PER_SM),
                 waits = vector_least_s + s->k * DIRECT_STEP_CYCLES / clock;
    return fmax(fsim_gemm_least_s(d, 2 * products),
                hw->arch->plain ? 0 : fmax(issue, hw->host ? 0 : waits / company)); /* plain: only peaks are known */
}

/* The same as fsim_gemm_tiled_least_s in a kernel with other products, which is no library's; with company 1 of a
 * kernel without, where second_s is as in fsim_gemm_generated_least_s. */
static double generated_least_s(const fsim_hw *hw, fsim_dtype t, const fsim_gemm_shape *s, int company, double second_s)
{
    const bool tensor = fsim_tensor_text(hw->arch, t);
    const bool possible[] = {[FSIM_BY_THREADS] = true,
                             [FSIM_BY_LOADING_WARPS] = tensor && company == 1,
                             [FSIM_BY_WARPS] = tensor,
                             [FSIM_BY_GROUPS] = tensor && fsim_tile_groups(hw->arch, t)};
    double least = INFINITY;
    for (int by = 0; by <= FSIM_BY_GROUPS; by++)
        if (possible[by]) {
            const fsim_gemm_device d = fsim_gemm_generated_of(hw, t, by);
            least = fmin(least, company > 1 ? fsim_gemm_tiled_least_s(&d, s, company)
                                            : fsim_gemm_generated_least_s(&d, s, second_s));
        }
    return least;
}

/* The product's sizes, with no bytes of DRAM. */
static fsim_gemm_shape bare_shape(const fsim_graph *g, int node)
{
    const fsim_gemm *m = &g->node[node].gemm;
    return (fsim_gemm_shape){.batch = (double)m->batch,
                             .m = (double)m->m,
                             .n = (double)m->n,
                             .k = (double)m->k,
                             .elem_bytes = fsim_dtype_bytes(g->tensor[g->node[node].arg[0].tensor].dtype),
                             .transposed_b = m->transposed_b};
}

double fsim_contraction_direct_s(const fsim_graph *g, const fsim_hw *hw, int node)
{
    if (g->node[node].gemm.convolution)
        return fsim_convolution_direct_s(g, hw, node);
    const fsim_gemm_device d = fsim_gemm_device_of(hw, g->node[node].gemm.arithmetic);
    const fsim_gemm_shape s = bare_shape(g, node);
    return direct_least_s(hw, &d, &s, 1);
}

double fsim_contraction_untiled_s(const fsim_graph *g, const fsim_hw *hw, int node)
{
    enum { LOADED_BYTES = 2 * 4 }; /* both operands of a step, through L1, at least */
    const double direct = fsim_contraction_direct_s(g, hw, node);
    if (hw->arch->plain || hw->host)
        return direct;
    const fsim_gemm *m = &g->node[node].gemm;
    const double products = (double)m->batch * (double)m->m * (double)m->n * (double)m->k,
                 elem = fsim_dtype_bytes(g->tensor[g->node[node].arg[0].tensor].dtype),
                 l2 = m->convolution ? 0
                                     : products * elem / fsim_or_else(fsim_hw_get(hw, FSIM_HW_L2_BANDWIDTH), INFINITY),
                 loads = LOADED_BYTES * products /
                         (fsim_hw_get(hw, FSIM_HW_SMS) * fsim_hw_get(hw, FSIM_HW_SM_CLOCK) *
                          fsim_hw_get(hw, FSIM_HW_SHARED_BANDWIDTH));
    _Static_assert(KERNEL_EXPONENT == 3, "as in fsim_sum_up");
    return cbrt(direct * direct * direct + l2 * l2 * l2 + loads * loads * loads);
}

/* A convolution alone: with tiles, as products have them, or without; or the library's call. */
static double convolution_s(const fsim_graph *g, const fsim_hw *hw, int node)
{
    const fsim_gemm *m = &g->node[node].gemm;
    const fsim_convolution_shape s = fsim_convolution_shape_of(hw, &g->node[node]);
    const fsim_gemm_shape gemm = {.batch = s.groups,
                                  .m = s.pixels,
                                  .n = s.filters,
                                  .k = s.channels * s.taps,
                                  .elem_bytes = fsim_dtype_bytes(g->tensor[g->node[node].arg[0].tensor].dtype)};
    if (hw->host || hw->arch->plain)
        return 0;
    const double tiled = fsim_convolution_tiled_s(g, hw, node),
                 multiplied = s.sums_pixels ? 0 : generated_least_s(hw, m->arithmetic, &gemm, 1, 0);
    return fmin(fmax(tiled, multiplied),
                fmin(fsim_convolution_direct_s(g, hw, node), fsim_convolution_call_s(g, hw, node)));
}

double fsim_contraction_generated_s(const fsim_graph *g, const fsim_hw *hw, int node, double second_s)
{
    const fsim_gemm *m = &g->node[node].gemm;
    const double anywhere = fsim_least_contraction_s(g, hw, node);
    if (m->convolution)
        return fmax(anywhere, convolution_s(g, hw, node));
    const fsim_gemm_shape s = bare_shape(g, node);
    return fmax(anywhere,
                fmin(generated_least_s(hw, m->arithmetic, &s, 1, second_s), fsim_contraction_direct_s(g, hw, node)));
}

double fsim_contraction_alone_s(const fsim_graph *g, const fsim_hw *hw, int node, double second_s)
{
    const double ours = fsim_contraction_generated_s(g, hw, node, second_s);
    if (g->node[node].gemm.convolution)
        return ours;
    const fsim_gemm_device d = fsim_gemm_device_of(hw, g->node[node].gemm.arithmetic);
    return fmax(fsim_least_contraction_s(g, hw, node), fmin(ours, fsim_gemm_call_least_s(&d, bare_shape(g, node))));
}

double fsim_contraction_beside_s(const fsim_graph *g, const fsim_hw *hw, int node, double columns, int company,
                                 double second_s)
{
    const fsim_dtype t = g->node[node].gemm.arithmetic;
    const bool tensor = fsim_tensor_text(hw->arch, t),
               possible[] = {[FSIM_BY_THREADS] = true,
                             [FSIM_BY_LOADING_WARPS] = tensor,
                             [FSIM_BY_WARPS] = tensor,
                             [FSIM_BY_GROUPS] = tensor && fsim_tile_groups(hw->arch, t)};
    const fsim_gemm_device plain = fsim_gemm_device_of(hw, t);
    fsim_gemm_shape s = bare_shape(g, node);
    s.n = columns;
    double least = direct_least_s(hw, &plain, &s, 1);
    for (int turned = 0; turned < 2; turned++) /* others may have their operand in the other order */
        for (int by = 0; by <= FSIM_BY_GROUPS; by++)
            if (possible[by]) {
                const fsim_gemm_device d = fsim_gemm_generated_of(hw, t, by);
                s.transposed_b = turned;
                least = fmin(least, fsim_gemm_joint_least_s(&d, &s, company, second_s));
            }
    return least;
}

double fsim_contraction_share_s(const fsim_graph *g, const fsim_hw *hw, int node, int company)
{
    const fsim_gemm *m = &g->node[node].gemm;
    const double products = (double)m->batch * (double)m->m * (double)m->n * (double)m->k,
                 anywhere = fsim_least_contraction_s(g, hw, node);
    if (m->convolution)
        return anywhere;
    const fsim_gemm_device d = fsim_gemm_device_of(hw, m->arithmetic);
    const fsim_gemm_shape s = bare_shape(g, node);
    const double own = fmin(company > 1 ? generated_least_s(hw, m->arithmetic, &s, company, 0)
                                        : fsim_gemm_tiled_least_s(&d, &s, company),
                            direct_least_s(hw, &d, &s, company));
    const fsim_costing c = {.g = g, .hw = hw};
    const double chained = company > 1 ? 2 * products / fsim_chain_rate(&c, m->arithmetic) : own;
    return fmax(anywhere, fmin(own, chained));
}
