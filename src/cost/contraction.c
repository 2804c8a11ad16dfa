/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/costing.h"
#include "cost/gemm.h"

#include <math.h>

/* The device's dense rate for this arithmetic, FLOP/s, and how much of it a long contraction keeps. */
double fsim_contraction_rate(const fsim_costing *c, fsim_dtype t, double *efficiency, bool *tensor)
{
    const fsim_hw_key key = fsim_tensor_key(c->hw, t);
    *tensor = key != FSIM_HW_COUNT;
    *efficiency = fsim_or_else(fsim_hw_get(c->hw, *tensor ? FSIM_HW_CONTRACTION_TENSOR : FSIM_HW_CONTRACTION_FP32), 1);
    if (*tensor)
        return fsim_hw_get(c->hw, key);
    if (t == FSIM_F64)
        return fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_FP64_PEAK), fsim_hw_get(c->hw, FSIM_HW_FP32_PEAK) / 32);
    if (t == FSIM_F16)
        return fsim_or_else(fsim_hw_get(c->hw, FSIM_HW_FP16_PEAK), fsim_hw_get(c->hw, FSIM_HW_FP32_PEAK));
    return fsim_hw_get(c->hw, FSIM_HW_FP32_PEAK);
}

/* Steps of k that a block's start and end take as long as. */
double fsim_startup_of(bool tensor) { return tensor ? 240 : 10; }

/* The vendor's library adds a bias vector and a unary activation, nothing else. */
bool fsim_library_can(const fsim_costing *c)
{
    const fsim_group *o = c->group;
    const fsim_gemm *m = &c->g->node[o->anchor].gemm;
    int vectors = 0;
    if (!fsim_map_is_identity(&o->anchor_map) || o->writes > 1 || o->contractions > 1 || o->whole_row > 0)
        return false;
    for (int i = 0; i < o->members; i++) { /* a transposed or strided operand is an argument of the call */
        const fsim_class class = fsim_ops[c->g->node[o->member[i].node].op].class;
        if (o->member[i].node != o->anchor && class != (o->member[i].prologue ? FSIM_PERMUTE : FSIM_ELEMENTWISE))
            return false;
    }
    for (int i = 0; i < o->reads; i++) {
        if (o->read[i].operand >= 0)
            continue;
        if (c->g->tensor[o->read[i].tensor].elems > m->n * m->batch)
            return false;
        vectors++;
    }
    return vectors <= 1;
}

/* The kernel's contraction; those side by side are one with all their columns. */
static fsim_gemm gemm_of(const fsim_costing *c)
{
    fsim_gemm g = c->g->node[c->group->anchor].gemm;
    for (int i = 0; i < c->group->members && c->group->contractions > 1; i++)
        if (c->group->member[i].node != c->group->anchor)
            g.n += c->g->node[c->group->member[i].node].gemm.n;
    return g;
}

/* Tiles across: each holds columns of one of the contractions, or as many of each. */
static double tiles_across(const fsim_costing *c, int tile_n)
{
    double across = 0;
    for (int i = 0; i < c->group->members; i++)
        across += ceil((double)c->g->node[c->group->member[i].node].gemm.n / tile_n);
    return across;
}

/* As gemm.h has it: a matrix product, with nothing counted of what DRAM moves. */
static fsim_gemm_shape shape_of(const fsim_costing *c, const fsim_gemm *g)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    const int elem = fsim_dtype_bytes(c->g->tensor[n->arg[0].tensor].dtype);
    const double batch = (double)g->batch, m = (double)g->m, columns = (double)g->n, k = (double)g->k;
    return (fsim_gemm_shape){.batch = batch,
                             .m = m,
                             .n = columns,
                             .k = k,
                             .operand_bytes = {batch * m * k * elem, batch * k * columns * elem},
                             .result_bytes = batch * m * columns * elem,
                             .elem_bytes = elem,
                             .transposed_b = g->transposed_b,
                             .whole = c->group->strict};
}

static void set_tile(const fsim_costing *c, fsim_kernel *k, const fsim_gemm_time *t, bool tensor, int elem)
{
    const fsim_gemm g = gemm_of(c);
    const int m = t->tile.m, n = t->tile.n, stages = tensor ? 3 : 2,
              depth = tensor ? 64 / elem : 8; /* k elements of one step */
    k->tile_m = m;
    k->tile_n = n;
    k->split_k = t->tile.split;
    k->grid = (int64_t)t->blocks;
    k->block = m * n >= 8192 ? 256 : 128;
    k->shared_bytes = (m + n) * depth * stages * elem;
    k->registers = (int)fmin(255, (double)m * n / k->block + 40);
    if (k->template == FSIM_TILED_CONTRACTION)
        fsim_generated_tile(c, k, (fsim_tile_edge){(double)g.m, false}, (fsim_tile_edge){(double)g.n, false}, tensor,
                            elem);
    k->flops += 2.0 * (double)g.batch * (double)g.m * (double)g.n * (double)g.k;
}

/* Operands that DRAM serves once more than once. */
static void fetch_again(const fsim_costing *c, fsim_kernel *k, double again_bytes)
{
    double once = 0;
    for (int i = 0; i < k->inputs; i++)
        once += c->group->read[i].operand >= 0 ? (double)k->input[i].read_bytes : 0;
    for (int i = 0; i < k->inputs && once > 0 && again_bytes > 0; i++)
        if (c->group->read[i].operand >= 0) {
            const int64_t more = (int64_t)((double)k->input[i].read_bytes / once * again_bytes);
            k->input[i].read_bytes += more;
            k->dram_read_bytes += more;
            k->penalised = true;
        }
}

static void add_seconds(fsim_kernel *k, fsim_unit u, double seconds)
{
    const double before = k->time_s;
    k->unit[u] += seconds;
    k->time_s = rint((before + seconds) / FSIM_TICK_S) * FSIM_TICK_S;
    k->time[u] += k->time_s - before;
    k->bound = k->time[u] > k->time[k->bound] ? u : k->bound;
}

/* Tile, occupancy and the units' seconds, once arithmetic and memory are counted. False when the block does not fit an
 * SM. */
static bool finish(const fsim_costing *c, fsim_kernel *k, const fsim_gemm_device *d, const fsim_gemm_shape *s,
                   const fsim_gemm_time *t)
{
    static const double exponent = 2.5; /* fits GEMMs better than 3; see gemm.h */
    set_tile(c, k, t, d->tensor, s->elem_bytes);
    fetch_again(c, k, t->again_bytes);
    if (!fsim_settle(c, k, 1))
        return false;
    const bool vendor = k->template == FSIM_LIBRARY_CONTRACTION;
    k->l2_bytes += t->tile_bytes;
    k->shared_bytes_moved += t->tile_bytes * (d->tensor ? 2 : 4);
    k->unit[FSIM_DRAM] = vendor ? t->dram_s : fmax(k->unit[FSIM_DRAM], t->dram_s);
    k->unit[FSIM_L2] = vendor ? t->l2_s : fmax(k->unit[FSIM_L2], t->l2_s);
    k->unit[FSIM_COMPUTE] += t->compute_s;
    k->unit[FSIM_LATENCY] = vendor ? 0 : k->unit[FSIM_LATENCY];
    fsim_sum_up_by(c, k, exponent);
    add_seconds(k, FSIM_LATENCY, t->extra_s);
    return true;
}

/* A benchmark that rotates copies of its weights, so many that L2 can't hold them, finds its activations there unless
 * they fill it. */
static void rotate(const fsim_costing *c, fsim_kernel *k)
{
    enum { MOST_COPIES = 5 };
    static const double weight_over = 0.18, rest_over = 0.35; /* shares of L2 over which the misses set in */
    const double l2 = fsim_hw_get(c->hw, FSIM_HW_L2_CAPACITY), from = fsim_hw_get(c->hw, FSIM_HW_GEMM_RESIDENT);
    double rest = 0;
    for (int i = 0; i < k->inputs; i++)
        rest += c->g->tensor[k->input[i].tensor].role == FSIM_WEIGHT ? 0 : (double)k->input[i].bytes;
    for (int i = 0; i < k->outputs; i++)
        rest += (double)k->output[i].bytes;
    const double missed = fmin(1, fmax(0, (rest / l2 - from) / rest_over));
    k->dram_read_bytes = k->dram_write_bytes = 0;
    for (int i = 0; i < k->inputs; i++) {
        const double bytes = fmax(1, (double)k->input[i].bytes),
                     held = fmin(MOST_COPIES, ceil(l2 / bytes)) * bytes / l2;
        const bool weight = c->g->tensor[k->input[i].tensor].role == FSIM_WEIGHT;
        k->input[i].read_bytes = (int64_t)(bytes * (weight ? fmin(1, fmax(0, (held - from) / weight_over)) : missed));
        k->dram_read_bytes += k->input[i].read_bytes;
    }
    for (int i = 0; i < k->outputs; i++) {
        k->output[i].write_bytes = (int64_t)((double)k->output[i].bytes * missed);
        k->dram_write_bytes += k->output[i].write_bytes;
    }
}

/* The library knows neither what L2 holds nor what its kernel does besides: with a tile that went by the former, the
 * latter could take longer the more is found there. */
static fsim_gemm_tile tile_when_cold(const fsim_costing *c, const fsim_gemm_device *d, fsim_gemm_shape s)
{
    s.dram_bytes = 0;
    for (int i = 0; i < c->group->reads; i++)
        s.dram_bytes += (double)c->read[i].sector_bytes * c->read[i].reread;
    for (int i = 0; i < c->group->writes; i++)
        s.dram_bytes += (double)c->write[i].sector_bytes;
    return fsim_gemm_best(d, &s).tile;
}

/* The clock of a device that is held to little power falls within milliseconds of hard work: what starts on one that
 * rested is through sooner. Only where the product is the one contraction of its workload: after another the device has
 * not rested. Not taken from kin: whether a file's efficiency is that of rested devices depends on the runs that it was
 * fitted to. */
static double saved_by_rest(const fsim_costing *c, double seconds)
{
    const double span = fsim_hw_get(c->hw, FSIM_HW_GEMM_BURST_SPAN);
    int contractions = 0;
    for (int n = 0; n < c->g->nodes; n++)
        contractions += c->g->node[n].gemm.k > 0;
    const bool applies = contractions == 1 && fsim_hw_origin(c->hw, FSIM_HW_GEMM_BURST) == FSIM_FROM_FITTED;
    return applies ? seconds * fsim_hw_get(c->hw, FSIM_HW_GEMM_BURST) * span / (seconds + span) : 0;
}

/* The vendor's kernel for a matrix product. framework: as PyTorch calls it, which may split k whatever the order of
 * additions. */
static fsim_kernel library(const fsim_costing *c, const fsim_gemm *g, const fsim_gemm_device *d, bool framework,
                           fsim_arena *a)
{
    fsim_gemm_shape s = shape_of(c, g);
    fsim_kernel k = fsim_blank_kernel(c, a);
    k.template = FSIM_LIBRARY_CONTRACTION;
    k.vector = 4;
    k.penalised = k.penalised ||
                  c->group->members > 1; /* its units overlap less than those of kernels that it might be split into */
    fsim_add_arithmetic(c, &k, NULL, true);
    fsim_add_memory(c, &k, NULL, NULL);
    if (framework && c->l2 && c->l2->harness == FSIM_HARNESS_ROTATES)
        rotate(c, &k);
    s.whole = s.whole && !framework;
    s.dram_bytes = (double)(k.dram_read_bytes + k.dram_write_bytes);
    const fsim_gemm_time t =
        framework || c->group->members == 1 ? fsim_gemm_best(d, &s) : fsim_gemm_with(d, &s, tile_when_cold(c, d, s));
    const fsim_harness harness = framework && c->l2 ? c->l2->harness : FSIM_HARNESS_NONE;
    const bool runs = finish(c, &k, d, &s, &t);
    if (runs && harness == FSIM_HARNESS_CALLS)
        add_seconds(&k, FSIM_LATENCY, d->call_s + (c->group->members > 1 ? d->bias_call_s : 0));
    if (runs && harness == FSIM_HARNESS_RESTS && !d->tensor)
        add_seconds(&k, FSIM_COMPUTE, -fmin(k.time[FSIM_COMPUTE], saved_by_rest(c, k.time_s - k.time[FSIM_LAUNCH])));
    return k;
}

/* A generated kernel with one tile: the library's rate, and the arithmetic of the other members. */
static fsim_kernel generated_with(const fsim_costing *c, const fsim_gemm *g, const fsim_gemm_device *d,
                                  fsim_gemm_tile tile, fsim_arena *a)
{
    fsim_gemm_shape s = shape_of(c, g);
    fsim_kernel k = fsim_blank_kernel(c, a);
    s.n = tiles_across(c, tile.n) * tile.n;
    const double turns[2] = {
        tiles_across(c, tile.n),
        ceil(s.m / tile.m)}; /* every column of tiles loads the first operand, every row of them the second */
    k.template = FSIM_TILED_CONTRACTION;
    k.vector = 4;
    k.penalised = true;
    fsim_add_arithmetic(c, &k, turns, true);
    fsim_add_memory(c, &k, NULL, NULL);
    fsim_add_access_issue(c, &k);
    s.dram_bytes = (double)(k.dram_read_bytes + k.dram_write_bytes);
    const fsim_gemm_time t = fsim_gemm_with(d, &s, tile);
    finish(c, &k, d, &s, &t);
    return k;
}

static fsim_kernel generated(const fsim_costing *c, const fsim_gemm *g, const fsim_gemm_device *d, fsim_arena *a)
{
    fsim_gemm_shape s = shape_of(c, g);
    fsim_kernel best = {0};
    s.whole = s.whole || c->group->whole_row;
    for (int i = 0; i < d->tiles; i++) {
        fsim_gemm_tile tile = d->tile[i];
        while (tile.n < c->group->whole_row)
            tile.n *= 2;
        for (tile.split = 1; fsim_gemm_may_split(d, &s, tile); tile.split *= 2) {
            const fsim_kernel k = generated_with(c, g, d, tile, a);
            if (k.time_s > 0 && (best.time_s == 0 || k.time_s < best.time_s))
                best = k;
        }
    }
    return best;
}

fsim_kernel fsim_contraction(const fsim_costing *c, fsim_arena *a)
{
    const fsim_gemm g = gemm_of(c);
    if (g.convolution)
        return fsim_convolution(c, a);
    const fsim_gemm_device d = fsim_gemm_device_of(c->hw, g.arithmetic);
    const fsim_kernel k = fsim_library_can(c) ? library(c, &g, &d, false, a) : (fsim_kernel){0};
    return k.time_s > 0 ? k : generated(c, &g, &d, a);
}

/* In any template: chained contractions take fsim_contraction_rate for their best. */
double fsim_least_contraction_s(const fsim_graph *g, const fsim_hw *hw, int node)
{
    const fsim_gemm *m = &g->node[node].gemm;
    const fsim_costing c = {.g = g, .hw = hw};
    const double flops = 2.0 * (double)m->batch * (double)m->m * (double)m->n * (double)m->k;
    double e0;
    bool tensor;
    if (m->convolution)
        return fsim_least_convolution_s(g, hw, node);
    const double rate = fsim_contraction_rate(&c, m->arithmetic, &e0, &tensor);
    const double other_s = flops / (rate * fmin(1, e0 / (tensor ? 0.8 : 0.9))),
                 chain_rate = fsim_chain_rate(hw, m->arithmetic);
    const fsim_gemm_device d = fsim_gemm_device_of(hw, m->arithmetic);
    const double least = fmin(other_s, fsim_gemm_least_s(&d, flops));
    return chain_rate > 0 ? fmin(least, flops / chain_rate) : least;
}

fsim_kernel fsim_framework_contraction(const fsim_costing *c, fsim_maker maker, const fsim_kernel *own, fsim_arena *a)
{
    (void)maker;
    const fsim_gemm g = gemm_of(c);
    if (g.convolution || !fsim_library_can(c))
        return *own;
    const fsim_gemm_device d = fsim_gemm_device_of(c->hw, g.arithmetic);
    const fsim_kernel k = library(c, &g, &d, true, a);
    return k.time_s > 0 ? k : *own;
}
