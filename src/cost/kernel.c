/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/chain.h"
#include "cost/cost.h"
#include "cost/traffic.h"

#include <math.h>
#include <string.h>

const char *const fsim_unit_names[FSIM_UNIT_COUNT] = {"launch", "dram", "l2", "shared", "compute", "special", "issue", "latency"};
const char *const fsim_regime_names[FSIM_REGIME_COUNT] = {"eager", "stream", "graph", "kernel"};

enum {
    BLOCK = 256,            /* threads of a streaming block */
    ISSUE_PER_SM = 4,       /* warp instructions per clock: one a sub-partition */
    ROW_UNROLL = 4,         /* independent loads of a row's loop in flight */
    LOADS_AHEAD = 64,       /* loads of straight-line code that the compiler issues before the first use: all of 8, 16, 32 and 64 inputs, 63 to 77 of 128 (SASS of
                             * nvcc 13.0 for sm_80 and sm_90, 1, 2 and 4 elements a load; registers permitting) */
    SM_PORT_BYTES = 64,     /* a clock from L2 to one SM: NVIDIA A100 and H100 white papers, "64 B/clk/SM" */
    KEPT_REGISTERS = 64,    /* registers that a row may take before it moves to shared memory */
    COLUMN_TILE = 32
};
static const double barrier_s = 30e-9;          /* block-wide reduction: two barriers of about 30 cycles each */
static const double convolution_share = 0.55;   /* implicit GEMM against GEMM on tensor units; measured convolutions of H100 and L4 lie at 0.4 to 0.6 */
static const double direct_cycles = 0.28;       /* SM cycles per output and tap of a depthwise convolution, measured on ATen kernels */
static const double default_latency_s = 500e-9; /* DRAM latency where the hardware file has none */

typedef struct {
    const fsim_graph *g;
    const fsim_hw *hw;
    fsim_regime regime;
    const fsim_group *group;
    const fsim_residency *l2;
    double sms, clock, warp, l2_bytes, latency_s;
    fsim_traffic *read, *write;
    double total_bytes;
} context;

static double or_else(double x, double otherwise) { return isnan(x) ? otherwise : x; }

static double rate_of(const context *c, fsim_hw_key key, fsim_hw_key otherwise)
{
    return c->sms * c->clock * or_else(fsim_hw_get(c->hw, key), fsim_hw_get(c->hw, otherwise));
}

/* Lanes per second of the pipe that computes in this dtype. */
static double pipe_rate(const context *c, fsim_dtype t)
{
    if (t == FSIM_F64)
        return rate_of(c, FSIM_HW_FP64_RATE, FSIM_HW_FP32_RATE);
    return fsim_dtype_floating(t) ? rate_of(c, FSIM_HW_FP32_RATE, FSIM_HW_FP32_RATE) : rate_of(c, FSIM_HW_INT32_RATE, FSIM_HW_FP32_RATE);
}

static int bits(unsigned x) { return __builtin_popcount(x); }

/* What of a member's `count` instructions a point its form leaves to do at each of its points. */
static double left(const context *c, const fsim_member *m, double count)
{
    switch (m->form) {
    case FSIM_DEFERRED: /* once a result instead of once an element of the intermediate */
        return count * (double)c->group->points / ((double)c->group->rows * (double)c->group->width);
    case FSIM_BASE_TWO:
        return fmin(count, 2);
    default:
        return count;
    }
}

/* Arithmetic of every member but the contraction itself. turns[i]: how often each element of a contraction's operand i is loaded, and its prologue
 * computed; NULL where there is none. kept: rows stay on chip; else they are walked once a stage. */
static void add_arithmetic(const context *c, fsim_kernel *k, const double *turns, bool kept)
{
    double special = 0, issued = 0;
    for (int i = 0; i < c->group->members; i++) {
        const fsim_member *m = &c->group->member[i];
        const fsim_node *n = &c->g->node[m->node];
        if (n->gemm.k)
            continue;
        double evaluations = (double)m->evaluations * ((m->prologue || m->middle) && turns ? turns[m->operand] : 1);
        if (!kept && m->full && bits(m->stages) > 1)
            evaluations *= bits(m->stages);
        k->flops += evaluations * n->flops;
        evaluations *= m->divergence;
        k->penalised = k->penalised || m->divergence > 1;
        k->unit[FSIM_COMPUTE] += evaluations * left(c, m, n->instructions) / pipe_rate(c, n->dtype);
        special += evaluations * left(c, m, n->specials);
        issued += evaluations * left(c, m, n->instructions);
    }
    k->unit[FSIM_SPECIAL] += special / rate_of(c, FSIM_HW_SPECIAL_RATE, FSIM_HW_SPECIAL_RATE);
    k->unit[FSIM_ISSUE] += issued / (c->sms * c->clock * ISSUE_PER_SM * c->warp);
}

/* Elements that the threads load of read r, one by one. */
static double loads_of(const context *c, const fsim_read *r)
{
    const double points = (double)c->group->points * (r->full ? (double)c->group->reduced : 1);
    double pieces = 0;
    if (r->maps == 0 && r->access->how == FSIM_READ_INDIRECT)
        return (double)r->access->rows * (double)r->access->run;
    if (!r->place && r->repeats == 0)
        return points * (r->maps ? r->maps : 1);
    for (int i = 0; i < r->maps; i++)
        pieces += (double)fsim_map_points(&r->map[i]) * (r->full ? (double)fsim_map_reduced(&r->map[i]) : 1);
    return pieces * fmax(1, r->repeats);
}

/* Loads and stores as instructions: one each `vector` elements, and one for its address. */
static void add_access_issue(const context *c, fsim_kernel *k)
{
    double accesses = 0;
    for (int i = 0; i < c->group->reads; i++) {
        const fsim_read *r = &c->group->read[i];
        accesses += loads_of(c, r) * (k->passes > 1 ? bits(r->stages) : 1);
    }
    for (int i = 0; i < c->group->writes; i++) {
        const fsim_write *x = &c->group->write[i];
        accesses += (double)fsim_map_points(&x->map) * (x->full ? (double)fsim_map_reduced(&x->map) : 1);
    }
    k->unit[FSIM_ISSUE] += 2 * accesses / k->vector / (c->sms * c->clock * ISSUE_PER_SM * c->warp);
}

/* DRAM and L2 traffic of all reads and writes; extra[i] multiplies what read i fetches (tiles, passes), from DRAM where extra_dram says so. */
static void add_memory(const context *c, fsim_kernel *k, const double *extra, const double *extra_dram)
{
    const fsim_group *o = c->group;
    int tile = 0;
    k->coalescing = 1;
    for (int i = 0; i < o->reads; i++) {
        const fsim_traffic *t = &c->read[i];
        const double times = extra_dram ? extra_dram[i] : 1;
        const bool hit = c->l2 && c->l2->hit && c->l2->hit[i];
        const double fetched = (double)t->sector_bytes * t->reread * times;
        k->input[i] = (fsim_input){.tensor = o->read[i].tensor, .bytes = t->compulsory_bytes, .read_bytes = hit ? 0 : (int64_t)fetched,
                                   .l2_bytes = t->request_bytes * (extra ? extra[i] : 1)};
        k->dram_read_bytes += k->input[i].read_bytes;
        k->l2_bytes += k->input[i].l2_bytes;
        k->shared_bytes_moved += 2 * t->staged_bytes;
        k->coalescing = fmin(k->coalescing, t->coalescing);
        k->penalised = k->penalised || t->reread * times > 1 || t->sector_bytes > c->g->tensor[o->read[i].tensor].bytes + 2 * FSIM_SECTOR_BYTES;
        const int own = t->staged_bytes > 0 ? COLUMN_TILE * (COLUMN_TILE + 1) * fsim_dtype_bytes(c->g->tensor[o->read[i].tensor].dtype) : 0;
        tile = own > tile ? own : tile;
    }
    if (o->anchor < 0)
        k->shared_bytes += tile; /* beside what a row keeps there */
    else
        k->shared_bytes = tile > k->shared_bytes ? tile : k->shared_bytes; /* operand tiles are done with by then */
    for (int i = 0; i < o->writes; i++) {
        const fsim_traffic *t = &c->write[i];
        const bool absorbed = c->l2 && c->l2->absorbed && c->l2->absorbed[i];
        k->output[i] = (fsim_result){.tensor = o->write[i].tensor, .bytes = t->compulsory_bytes, .write_bytes = absorbed ? 0 : t->sector_bytes};
        k->dram_write_bytes += k->output[i].write_bytes;
        k->l2_bytes += t->request_bytes;
        k->shared_bytes_moved += 2 * t->staged_bytes;
        k->coalescing = fmin(k->coalescing, t->coalescing);
    }
}

/* Little's law: what threads have asked for and not yet got moves at most at bytes in flight / latency. `waits` trips to memory, one after the other, for each of
 * `waves` sets of resident threads take waits x waves x latency however wide the memory is; a thread asks for as much in one trip as the compiler can issue ahead,
 * so it is not low occupancy by itself that costs bandwidth (Volkov, GTC 2010), but few bytes a thread at low occupancy. */
static double in_flight_seconds(const context *c, double waves, double waits) { return ceil(waves) * waits * c->latency_s; }

/* Trips of a thread that loads its operands once. */
static double trips(const context *c)
{
    double loads = 0;
    for (int i = 0; i < c->group->reads; i++)
        loads += c->group->read[i].place ? 1 : fmax(1, c->group->read[i].maps) * fmax(1, c->group->read[i].repeats);
    return fmax(1, ceil(loads / LOADS_AHEAD));
}

static void memory_seconds(const context *c, fsim_kernel *k, double resident)
{
    const double l2 = fsim_hw_get(c->hw, FSIM_HW_L2_BANDWIDTH), ports = fmin((double)k->grid, c->sms) * c->clock * SM_PORT_BYTES;
    const double spilled = (double)k->spilled_bytes / fmax(1, (double)k->grid) / 2 * fmin((double)k->grid, resident); /* of all threads at once */
    k->unit[FSIM_DRAM] = (double)(k->dram_read_bytes + k->dram_write_bytes) / fsim_hw_get(c->hw, FSIM_HW_DRAM_BANDWIDTH);
    if (spilled > c->l2_bytes) /* what L2 can't hold goes to DRAM and comes back */
        k->unit[FSIM_DRAM] += (double)k->spilled_bytes * (1 - c->l2_bytes / spilled) / fsim_hw_get(c->hw, FSIM_HW_DRAM_BANDWIDTH);
    k->unit[FSIM_L2] = isnan(l2) ? 0 : k->l2_bytes / (c->group->anchor < 0 ? fmin(l2, ports) : l2);
    k->unit[FSIM_SHARED] = k->shared_bytes_moved / (c->sms * c->clock * fsim_hw_get(c->hw, FSIM_HW_SHARED_BANDWIDTH));
}

/* Occupancy, waves, spills, and the derating of a grid that leaves SMs idle. steps: dependent trips to memory of one block. False when the block does not
 * fit an SM. */
static bool settle(const context *c, fsim_kernel *k, double steps)
{
    const int most = (int)fsim_hw_get(c->hw, FSIM_HW_REGISTERS_PER_THREAD);
    if (k->registers > most) {
        k->spilled_bytes = (int64_t)(k->registers - most) * 4 * 2 * k->grid * k->block;
        k->l2_bytes += (double)k->spilled_bytes;
        k->registers = most;
        k->penalised = true;
    }
    const int blocks = fsim_blocks_per_sm(c->hw, k->block, k->registers, k->shared_bytes);
    if (blocks == 0 || k->block > fsim_hw_get(c->hw, FSIM_HW_THREADS_PER_BLOCK))
        return false;
    const double resident = blocks * c->sms, threads = fsim_hw_get(c->hw, FSIM_HW_THREADS_PER_SM);
    k->occupancy = fmin(1, blocks * ceil(k->block / c->warp) * c->warp / threads);
    k->waves = (double)k->grid / resident;
    memory_seconds(c, k, resident);
    const double grid = (double)k->grid, busy = grid / (c->sms * ceil(grid / c->sms)); /* the last round of blocks leaves SMs idle */
    const double share = grid < resident ? busy : 1;
    k->penalised = k->penalised || share < 1; /* what a split moves to a kernel of more blocks runs faster there */
    static const fsim_unit on_sm[] = {FSIM_SHARED, FSIM_COMPUTE, FSIM_SPECIAL, FSIM_ISSUE};
    for (size_t i = 0; i < sizeof on_sm / sizeof on_sm[0]; i++)
        k->unit[on_sm[i]] /= share;
    k->unit[FSIM_LATENCY] += in_flight_seconds(c, k->waves, steps) + ceil(k->waves) * (c->group->stages - 1) * barrier_s;
    return true;
}

static void sum_up(const context *c, fsim_kernel *k)
{
    static const fsim_hw_key launch_key[FSIM_REGIME_COUNT] = {FSIM_HW_LAUNCH_EAGER, FSIM_HW_LAUNCH_STREAM, FSIM_HW_LAUNCH_GRAPH,
                                                              FSIM_HW_KERNEL_FLOOR};
    double launch = fsim_hw_get(c->hw, launch_key[c->regime]) * k->launches, cubes = 0, shares = 0;
    int largest = FSIM_DRAM;
    for (int u = FSIM_DRAM; u < FSIM_UNIT_COUNT; u++)
        cubes += k->unit[u] * k->unit[u] * k->unit[u];
    const double overlapped = cbrt(cubes);
    if (c->regime == FSIM_REGIME_EAGER) /* the host launches ahead: what the kernel takes hides the next launch */
        launch = fmax(launch - overlapped, fsim_hw_get(c->hw, FSIM_HW_KERNEL_FLOOR) * k->launches);
    k->unit[FSIM_LAUNCH] = k->time[FSIM_LAUNCH] = launch;
    for (int u = FSIM_DRAM; u < FSIM_UNIT_COUNT; u++) {
        k->time[u] = cubes > 0 ? overlapped * (k->unit[u] * k->unit[u] * k->unit[u] / cubes) : 0;
        largest = k->time[u] > k->time[largest] ? u : largest;
    }
    k->time_s = rint((launch + overlapped) / FSIM_TICK_S) * FSIM_TICK_S;
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        shares += u == largest ? 0 : k->time[u];
    k->time[largest] = k->time_s - shares;
    k->bound = k->time[FSIM_LAUNCH] > k->time[largest] ? FSIM_LAUNCH : (fsim_unit)largest;
}

static fsim_kernel blank(const context *c, fsim_arena *a)
{
    const fsim_group *o = c->group;
    fsim_kernel k = {.group = o, .template = o->template, .launches = 1, .block = BLOCK, .vector = 1, .passes = 1, .split_k = 1};
    k.inputs = o->reads;
    k.outputs = o->writes;
    k.input = fsim_new(a, fsim_input, o->reads + 1);
    k.output = fsim_new(a, fsim_result, o->writes + 1);
    k.penalised = o->recomputes;
    return k;
}

/* A scatter copies its first argument, then, when all of it is there, puts each element of the last where the data say. Assumed: L2 takes these as atomics, one read and one
 * write a sector, and no two meet on the same element. */
static void add_scatter(const context *c, fsim_kernel *k)
{
    const fsim_node *n = c->group->anchor >= 0 ? &c->g->node[c->group->anchor] : NULL;
    if (!n || fsim_ops[n->op].class != FSIM_SCATTER)
        return;
    const fsim_access *values = &n->arg[n->args - 1];
    k->launches = 2;
    k->l2_bytes += 2.0 * (double)values->distinct * fsim_dtype_bytes(c->g->tensor[values->tensor].dtype);
    k->penalised = true;
}

/* Pointwise, copy, pooling, and what is opaque: a thread for `vector` points. */
static fsim_kernel streaming(const context *c, int vector, fsim_arena *a)
{
    const fsim_group *o = c->group;
    fsim_kernel k = blank(c, a);
    k.vector = vector;
    k.grid = (o->points + (int64_t)BLOCK * vector - 1) / ((int64_t)BLOCK * vector);
    k.registers = fsim_registers(o->live, vector);
    add_arithmetic(c, &k, NULL, true);
    add_memory(c, &k, NULL, NULL);
    add_access_issue(c, &k);
    add_scatter(c, &k);
    if (settle(c, &k, trips(c)))
        sum_up(c, &k);
    k.penalised = k.penalised || k.occupancy < 1;
    return k;
}

/* May a thread take `vector` neighbouring points at once? Ranges must begin and end between two such groups. */
static bool takes(const fsim_group *o, int vector)
{
    for (int i = 0; i < o->reads; i++)
        for (int k = 0; k < o->read[i].maps && o->read[i].place; k++) {
            const fsim_map *place = &o->read[i].place[k];
            const fsim_mode *inner = place->modes ? &place->mode[place->modes - 1] : NULL;
            if (place->offset >= 0 && (place->offset % vector != 0 || !inner || inner->stride != 1 || inner->extent % vector != 0))
                return false;
        }
    return true;
}

static fsim_kernel best_streaming(const context *c, fsim_arena *a)
{
    fsim_kernel best = streaming(c, 1, a);
    for (int vector = 2; vector <= 4 && c->group->points % vector == 0 && takes(c->group, vector); vector *= 2) {
        const fsim_kernel k = streaming(c, vector, a);
        if (k.time_s > 0 && k.time_s < best.time_s)
            best = k;
    }
    return best;
}

/* May several blocks share a row? Only when nothing as large as a row needs the reduced value, and sums may change their order. */
static bool splits(const fsim_group *o)
{
    bool after = o->strict || o->stages != 2;
    for (int i = 0; i < o->members && !after; i++)
        after = o->member[i].full && (o->member[i].stages & ~1u);
    return !after;
}

/* A tile that turns a strided side around needs a block of neighbouring rows; a block that has one row asks for a sector an element instead. */
static fsim_traffic by_the_row(fsim_traffic t)
{
    if (t.across) {
        t.coalescing *= t.request_bytes / t.direct_bytes;
        t.request_bytes = t.direct_bytes;
        t.staged_bytes = 0;
    }
    return t;
}

/* How blocks take the rows. */
typedef struct {
    double pieces; /* blocks that share a row */
    bool band;     /* a block has COLUMN_TILE neighbouring rows */
    bool alone;    /* one block an SM (it asks for more shared memory than it uses), so that fewer rows are under way */
} row_choice;

/* Reductions over rows: a warp, or a block, for each row, or `pieces` blocks whose results a second launch puts together. The row stays in registers or shared memory
 * where something wants it again after a reduction; where it does not fit it is read once a stage, from L2 if the rows under way fit there. */
static fsim_kernel rows_by(const context *all, row_choice choice, fsim_arena *a)
{
    const fsim_group *o = all->group;
    const bool column = choice.band, alone = choice.alone;
    const double pieces = choice.pieces;
    context own = *all, *c = &own;
    own.read = fsim_new(a, fsim_traffic, o->reads + 1);
    own.write = fsim_new(a, fsim_traffic, o->writes + 1);
    for (int i = 0; i < o->reads; i++)
        own.read[i] = column ? all->read[i] : by_the_row(all->read[i]);
    for (int i = 0; i < o->writes; i++)
        own.write[i] = column ? all->write[i] : by_the_row(all->write[i]);
    fsim_kernel k = blank(c, a);
    double *extra = fsim_new(a, double, o->reads + 1), *extra_dram = fsim_new(a, double, o->reads + 1);
    const int64_t elems = o->reduced;
    const int vector = !column && elems % 4 == 0 && takes(o, 4) ? 4 : 1;
    int row_threads = 32, most = 0;
    while (row_threads < 1024 && (int64_t)row_threads * vector * 4 < elems)
        row_threads *= 2;
    k.vector = vector;
    k.block = row_threads < BLOCK ? BLOCK : row_threads;
    const int64_t tile_rows = column ? COLUMN_TILE : k.block / row_threads;
    k.grid = (o->points + tile_rows - 1) / tile_rows;
    const double row_bytes = (double)o->kept_row_bytes * (column ? COLUMN_TILE : 1);
    const double kept_registers = row_bytes / 4 / (column ? BLOCK : row_threads);
    k.registers = fsim_registers(o->live, vector);
    for (int i = 0; i < o->reads; i++)
        most = bits(o->read[i].stages) > most ? bits(o->read[i].stages) : most;
    if (column)
        k.block = BLOCK;
    if (o->kept_row_bytes > 0) {
        const double shared = row_bytes * (column ? 1 : (double)tile_rows);
        const int holding = (int)fmax(k.registers, fmin(255, 24 + kept_registers));
        if (kept_registers <= KEPT_REGISTERS && fsim_blocks_per_sm(c->hw, k.block, holding, 0) > 0)
            k.registers = holding;
        else if (shared <= fsim_hw_get(c->hw, FSIM_HW_SHARED_PER_BLOCK))
            k.shared_bytes = (int)shared;
        else
            k.passes = most;
    }
    if (alone)
        k.shared_bytes = (int)fmin(fsim_hw_get(c->hw, FSIM_HW_SHARED_PER_BLOCK), fsim_hw_get(c->hw, FSIM_HW_SHARED_PER_SM) / 2 + 1);
    const int blocks = fsim_blocks_per_sm(c->hw, k.block, k.registers, k.shared_bytes);
    double steps = ceil((double)elems / ((double)(column ? k.block / COLUMN_TILE : row_threads) * vector * ROW_UNROLL)) * k.passes;
    const double resident = blocks * c->sms;
    if (pieces > 1) {
        k.launches = 2;
        k.grid = (int64_t)((double)k.grid * pieces);
        steps = ceil(steps / pieces);
        k.l2_bytes += 2 * pieces * (double)o->points * 4; /* partial results, written and read */
        k.penalised = true;
    }
    const double under_way = fmin((double)k.grid, resident) * row_bytes * (column ? 1 : (double)tile_rows);
    const double missed = fmin(1, fmax(0, under_way / c->l2_bytes - 1)); /* assumed: nothing is found again once twice the capacity is under way */
    for (int i = 0; i < o->reads; i++) {
        const int times = k.passes > 1 ? bits(o->read[i].stages) : 1;
        extra[i] = times;
        extra_dram[i] = 1 + (times - 1) * missed;
        if (!column && all->read[i].across) { /* the sector's other elements are for rows that run beside this one, and wait in L2 */
            const double beside = fmin((double)k.grid, resident) * (double)(tile_rows * elems) * fsim_dtype_bytes(c->g->tensor[o->read[i].tensor].dtype);
            extra_dram[i] *= 1 + (all->read[i].direct_bytes / all->read[i].request_bytes - 1) * fmin(1, fmax(0, beside / c->l2_bytes - 1));
        }
    }
    add_arithmetic(c, &k, NULL, k.passes == 1);
    add_memory(c, &k, extra, extra_dram);
    add_access_issue(c, &k);
    if (o->kept_row_bytes > 0 && k.shared_bytes > 0 && !alone) /* put there once, taken out once a later stage */
        k.shared_bytes_moved += (double)o->kept_row_bytes * (double)o->points * most;
    if (settle(c, &k, steps))
        sum_up(c, &k);
    k.penalised = k.penalised || k.passes > 1 || k.registers > 32 || k.shared_bytes > 0;
    return k;
}

static void keep_faster(fsim_kernel *best, fsim_kernel k)
{
    if (k.time_s > 0 && (best->time_s == 0 || k.time_s < best->time_s))
        *best = k;
}

/* One block a row, or a band of rows, or several blocks a row: whatever takes least time. */
static fsim_kernel row_reduction(const context *c, fsim_arena *a)
{
    const fsim_group *o = c->group;
    const bool columns = o->template == FSIM_COLUMN_REDUCTION;
    const double most = splits(o) ? fmin(4096, (double)o->reduced / 32) : 1;
    bool across = false;
    fsim_kernel best = {0};
    for (int i = 0; i < o->reads; i++)
        across = across || c->read[i].across;
    for (int i = 0; i < o->writes; i++)
        across = across || c->write[i].across;
    for (int band = columns; band <= (columns || across); band++) {
        const fsim_kernel one = rows_by(c, (row_choice){1, band, false}, a);
        keep_faster(&best, one);
        if (one.passes > 1)
            keep_faster(&best, rows_by(c, (row_choice){1, band, true}, a));
        for (double pieces = 2; pieces <= most && (double)one.grid * pieces < 32 * c->sms; pieces *= 2)
            keep_faster(&best, rows_by(c, (row_choice){pieces, band, false}, a));
    }
    best.penalised = best.penalised || across;
    return best;
}

/* The device's dense rate for this arithmetic, FLOP/s, and how much of it a long contraction keeps. */
static double contraction_rate(const context *c, fsim_dtype t, double *efficiency, bool *tensor)
{
    static const struct {
        fsim_dtype t;
        fsim_hw_key key;
    } unit[] = {{FSIM_F16, FSIM_HW_TENSOR_F16},   {FSIM_BF16, FSIM_HW_TENSOR_BF16}, {FSIM_TF32, FSIM_HW_TENSOR_TF32}, {FSIM_F8E4M3, FSIM_HW_TENSOR_F8},
                {FSIM_F8E5M2, FSIM_HW_TENSOR_F8}, {FSIM_I8, FSIM_HW_TENSOR_I8},     {FSIM_U8, FSIM_HW_TENSOR_I8},     {FSIM_F64, FSIM_HW_TENSOR_F64}};
    *tensor = false;
    for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++)
        if (unit[i].t == t && fsim_hw_has(c->hw, unit[i].key)) {
            *tensor = true;
            *efficiency = or_else(fsim_hw_get(c->hw, FSIM_HW_CONTRACTION_TENSOR), 1);
            return fsim_hw_get(c->hw, unit[i].key);
        }
    *efficiency = or_else(fsim_hw_get(c->hw, FSIM_HW_CONTRACTION_FP32), 1);
    if (t == FSIM_F64)
        return or_else(fsim_hw_get(c->hw, FSIM_HW_FP64_PEAK), fsim_hw_get(c->hw, FSIM_HW_FP32_PEAK) / 32);
    if (t == FSIM_F16)
        return or_else(fsim_hw_get(c->hw, FSIM_HW_FP16_PEAK), fsim_hw_get(c->hw, FSIM_HW_FP32_PEAK));
    return fsim_hw_get(c->hw, FSIM_HW_FP32_PEAK);
}

/* Steps of k that a block's start and end take as long as. */
static double startup_of(bool tensor) { return tensor ? 240 : 10; }

typedef struct {
    int m, n;
} tile_size;
static const tile_size tiles[] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}, {32, 128}, {128, 32}, {32, 32}, {16, 64}};

/* The vendor's library adds a bias vector and a unary activation, nothing else. */
static bool library_can(const context *c)
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
static fsim_gemm gemm_of(const context *c)
{
    fsim_gemm g = c->g->node[c->group->anchor].gemm;
    for (int i = 0; i < c->group->members && c->group->contractions > 1; i++)
        if (c->group->member[i].node != c->group->anchor)
            g.n += c->g->node[c->group->member[i].node].gemm.n;
    return g;
}

/* Tiles across: each holds columns of one of the contractions, or as many of each. */
static double tiles_across(const context *c, int tile_n)
{
    double across = 0;
    for (int i = 0; i < c->group->members; i++)
        across += ceil((double)c->g->node[c->group->member[i].node].gemm.n / tile_n);
    return across;
}

/* How often a convolution's windows load each element of their input. */
static double window_loads(const fsim_node *n)
{
    double loads = 1;
    for (int i = 0; n->arg[0].how == FSIM_READ_WINDOW && i < n->arg[0].axes; i++)
        loads *= (double)n->arg[0].axis[i].out * (double)n->arg[0].axis[i].taps / (double)n->arg[0].axis[i].extent;
    return fmax(1, loads);
}

typedef struct {
    bool vendor; /* the library's kernel, not a generated one */
    tile_size tile;
    int split;
} contraction_choice;

/* A contraction with one tile and split: rounds of blocks over the SMs, each a k loop with a start-up; operands from L2 for every tile, from DRAM once
 * unless both outgrow L2. */
static fsim_kernel tiled(const context *c, contraction_choice choice, fsim_arena *a)
{
    const fsim_group *o = c->group;
    const fsim_node *n = &c->g->node[o->anchor];
    const fsim_gemm whole = gemm_of(c), *g = &whole;
    fsim_kernel k = blank(c, a);
    bool tensor;
    double e0;
    const double rate = contraction_rate(c, g->arithmetic, &e0, &tensor) / c->sms, bm = choice.tile.m, bn = choice.tile.n;
    const double tiles_m = ceil((double)g->m / bm), tiles_n = tiles_across(c, choice.tile.n), kk = (double)g->k / choice.split;
    const double blocks = (double)g->batch * tiles_m * tiles_n * choice.split;
    double e = fmin(1, e0 / (1 + (tensor ? 0.33 : 0.1) * (128 / bm + 128 / bn - 2)));
    if (g->convolution && tensor)
        e *= convolution_share;
    const int elem = fsim_dtype_bytes(c->g->tensor[n->arg[0].tensor].dtype);
    k.template = choice.vendor ? FSIM_LIBRARY_CONTRACTION : FSIM_TILED_CONTRACTION;
    k.tile_m = choice.tile.m;
    k.tile_n = choice.tile.n;
    k.split_k = choice.split;
    k.launches = choice.split > 1 ? 2 : 1;
    k.grid = (int64_t)blocks;
    k.block = bm * bn >= 8192 ? 256 : 128;
    const int stages = tensor ? 3 : 2, depth = tensor ? 64 / elem : 8; /* k elements of one step */
    k.shared_bytes = (int)((bm + bn) * depth * stages * elem);
    k.registers = (int)fmin(255, bm * bn / k.block + 40 + (choice.vendor ? 0 : 2 * fmin(o->live, 40)));
    k.flops = 2.0 * (double)g->batch * (double)g->m * (double)g->n * (double)g->k;
    k.penalised = k.penalised || !choice.vendor;

    const double rounds = ceil(blocks / c->sms), one = 2 * bm * bn * (kk + startup_of(tensor)) / (rate * e);
    const double turns[2] = {tiles_n * window_loads(n), tiles_m}; /* every column of tiles loads the first operand, every row of them the second */
    double taps = 1; /* a window's taps read the same elements: L1 serves all but the first */
    for (int i = 0; n->arg[0].how == FSIM_READ_WINDOW && i < n->arg[0].axes; i++)
        taps *= (double)n->arg[0].axis[i].taps;
    add_arithmetic(c, &k, turns, true);
    double *extra = fsim_new(a, double, o->reads + 1), *extra_dram = fsim_new(a, double, o->reads + 1);
    const double resident = c->sms * fmax(1, fsim_blocks_per_sm(c->hw, k.block, k.registers, k.shared_bytes));
    double operand_bytes = 0;
    const double tile_bytes = blocks * (bm * kk / taps + bn * kk) * elem; /* what all blocks load together */
    for (int i = 0; i < o->reads; i++)
        operand_bytes += o->read[i].operand >= 0 ? (double)c->read[i].sector_bytes : 0;
    for (int i = 0; i < o->reads; i++) {
        extra[i] = extra_dram[i] = 1;
        /* Blocks that run at once form a square of the output and share its rows and columns; once the operands outgrow L2, the next square fetches again. */
        if (o->read[i].operand >= 0 && operand_bytes > 0.6 * c->l2_bytes)
            extra_dram[i] = fmax(1, tile_bytes / sqrt(resident) / operand_bytes);
    }
    add_memory(c, &k, extra, extra_dram);
    k.l2_bytes += tile_bytes;
    k.shared_bytes_moved += blocks * (bm + bn) * kk * elem * (tensor ? 2 : 4);
    if (choice.split > 1)
        k.l2_bytes += 2.0 * choice.split * (double)g->batch * (double)g->m * (double)g->n * 4;
    k.vector = 4;
    add_access_issue(c, &k);
    k.unit[FSIM_LATENCY] += 250e-9 + kk / 64 * (tensor ? 250 : 120) / c->clock; /* a block's k loop when it has an SM to itself */
    if (!settle(c, &k, 1))
        return k;
    k.unit[FSIM_COMPUTE] += rounds * one;
    sum_up(c, &k);
    return k;
}

/* Few channels a group: no tile to share, so a thread for each output. */
static fsim_kernel direct_convolution(const context *c, fsim_arena *a)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    fsim_kernel k = blank(c, a);
    const double points = (double)n->points * (double)n->reduced;
    k.template = library_can(c) ? FSIM_LIBRARY_CONTRACTION : FSIM_TILED_CONTRACTION;
    k.grid = (n->points + BLOCK - 1) / BLOCK;
    k.registers = fsim_registers(c->group->live, 1);
    k.flops = 2.0 * (double)n->gemm.batch * (double)n->gemm.m * (double)n->gemm.n * (double)n->gemm.k;
    add_arithmetic(c, &k, (const double[2]){window_loads(n), 1}, true);
    add_memory(c, &k, NULL, NULL);
    add_access_issue(c, &k);
    k.unit[FSIM_ISSUE] += points * direct_cycles / 32 / (c->sms * c->clock);
    k.unit[FSIM_COMPUTE] += points / pipe_rate(c, FSIM_F32);
    if (settle(c, &k, 1))
        sum_up(c, &k);
    k.penalised = true;
    return k;
}

static const fsim_chain_tile chain_tiles[] = {{256, 64, 1}, {128, 128, 1}, {128, 64, 1}, {64, 128, 1}, {64, 64, 1}, {64, 32, 1},
                                              {32, 64, 1}, {32, 32, 1}, {32, 16, 1}, {16, 64, 1}, {16, 32, 1}, {16, 16, 1}};

/* Chained contractions with one tile. */
static fsim_kernel chained_with(const context *c, fsim_chain_tile tile, fsim_arena *a)
{
    const fsim_group *o = c->group;
    const fsim_gemm *gemm[2] = {&c->g->node[o->first].gemm, &c->g->node[o->anchor].gemm};
    bool tensor[2];
    double e0[2], rate[2];
    for (int i = 0; i < 2; i++) {
        rate[i] = contraction_rate(c, gemm[i]->arithmetic, &e0[i], &tensor[i]) / c->sms;
        rate[i] *= fmin(1, e0[i] / (1 + (tensor[i] ? 0.33 : 0.1) * (128.0 / tile.m - 1)));
    }
    const fsim_chain_shape shape = fsim_chain_shape_of(c->g, o, tensor[0]);
    const fsim_chain_block b = fsim_chain_block_of(&shape, tile, o->live);
    fsim_kernel k = blank(c, a);
    k.tile_m = tile.m;
    k.tile_n = tile.n;
    k.split_k = tile.split;
    k.launches = tile.split > 1 ? 2 : 1;
    k.grid = (int64_t)b.blocks;
    k.block = b.threads;
    k.registers = b.registers;
    k.penalised = true;
    if ((double)b.shared_bytes > fsim_hw_get(c->hw, FSIM_HW_SHARED_PER_BLOCK))
        return k;
    k.shared_bytes = (int)b.shared_bytes;
    k.flops = 2.0 * shape.batch * shape.m * shape.width * b.turns[FSIM_CHAIN_OPERANDS] * (shape.k + shape.results) + b.fixing_flops;
    k.unit[FSIM_COMPUTE] += b.fixing_flops / pipe_rate(c, FSIM_F32);
    add_arithmetic(c, &k, b.turns, true);
    double *extra_dram = fsim_new(a, double, o->reads + 1), accesses = 0, other_bytes = 0;
    const double tiles_m = ceil(shape.m / tile.m), resident = c->sms * fmax(1, fsim_blocks_per_sm(c->hw, k.block, k.registers, k.shared_bytes));
    for (int i = 0; i < o->reads; i++)
        other_bytes += o->read[i].operand > FSIM_CHAIN_ROWS ? (double)c->read[i].sector_bytes : 0;
    /* Blocks of one batch walk its operands together; what the batches under way hold must stay in L2 until the last of their blocks has been. */
    const double batches = fmin(shape.batch, ceil(resident / (tiles_m * tile.split))), under_way = other_bytes / shape.batch * batches;
    const double rows_under_way = fmin(resident, b.blocks) * tile.m * shape.k * shape.elem_bytes;
    for (int i = 0; i < o->reads; i++) {
        const fsim_read *r = &o->read[i];
        extra_dram[i] = 1;
        if (r->operand > FSIM_CHAIN_ROWS && under_way > c->l2_bytes)
            extra_dram[i] = fmax(1, tiles_m * tile.split / resident);
        if (r->operand == FSIM_CHAIN_ROWS && b.streams && rows_under_way > c->l2_bytes)
            extra_dram[i] = b.steps;
        for (int m = 0; r->operand < 0 && m < r->maps; m++)
            accesses += (double)fsim_map_points(&r->map[m]) * (r->full ? (double)fsim_map_reduced(&r->map[m]) : 1);
    }
    for (int i = 0; i < o->writes; i++)
        accesses += (double)fsim_map_points(&o->write[i].map) * (o->write[i].full ? (double)fsim_map_reduced(&o->write[i].map) : 1);
    add_memory(c, &k, NULL, extra_dram);
    k.l2_bytes += b.l2_bytes;
    k.shared_bytes_moved += b.shared_bytes_moved;
    k.vector = 4;
    k.unit[FSIM_ISSUE] += 2 * (accesses / k.vector + b.l2_bytes / 16) / (c->sms * c->clock * ISSUE_PER_SM * c->warp);
    k.unit[FSIM_LATENCY] += 250e-9 + b.steps * (tensor[0] ? 500 : 250) / c->clock; /* a block's steps when it has an SM to itself */
    if (!settle(c, &k, 1))
        return k;
    k.unit[FSIM_COMPUTE] += ceil(b.blocks / c->sms) * (b.first_flops / rate[0] + b.second_flops / rate[1] + 2.0 * tile.m * tile.n * startup_of(tensor[0]) / rate[0]);
    sum_up(c, &k);
    return k;
}

static fsim_kernel chained(const context *c, fsim_arena *a)
{
    const fsim_group *o = c->group;
    fsim_kernel best = {0};
    for (size_t t = 0; t < sizeof chain_tiles / sizeof chain_tiles[0]; t++)
        for (int split = 1; split <= 64; split *= 2) {
            const double rows = ceil((double)o->rows / (double)o->batch / chain_tiles[t].m) * (double)o->batch, width = (double)o->width;
            if (split > 1 && (o->strict || rows * split > 2 * c->sms || width / split < chain_tiles[t].n || o->writes > 1))
                break;
            const fsim_kernel k = chained_with(c, (fsim_chain_tile){chain_tiles[t].m, chain_tiles[t].n, split}, a);
            if (k.time_s > 0 && (best.time_s == 0 || k.time_s < best.time_s))
                best = k;
        }
    return best;
}

static fsim_kernel contraction(const context *c, fsim_arena *a)
{
    const fsim_gemm g = gemm_of(c);
    const bool library = library_can(c);
    const int64_t row = c->group->whole_row;
    fsim_kernel best = {0};
    if (g.convolution && g.batch > 1 && g.n < 16)
        return direct_convolution(c, a);
    for (int lib = library; lib >= 0; lib--) /* the vendor's where both take as long */
        for (size_t t = 0; t < sizeof tiles / sizeof tiles[0]; t++) {
            tile_size tile = tiles[t];
            while (tile.n < row)
                tile.n *= 2;
            for (int split = 1; split <= 16; split *= 2) {
                const double blocks = (double)g.batch * ceil((double)g.m / tile.m) * tiles_across(c, tile.n);
                if (split > 1 && (c->group->strict || row || blocks * split > 2 * c->sms || g.k / split < 128))
                    break;
                const fsim_kernel k = tiled(c, (contraction_choice){lib, tile, split}, a);
                if (k.time_s > 0 && (best.time_s == 0 || k.time_s < best.time_s))
                    best = k;
            }
        }
    return best;
}

double fsim_least_contraction_s(const fsim_graph *g, const fsim_hw *hw, int node)
{
    const fsim_gemm *m = &g->node[node].gemm;
    const context c = {.g = g, .hw = hw};
    double e0;
    bool tensor;
    const double rate = contraction_rate(&c, m->arithmetic, &e0, &tensor);
    return 2.0 * (double)m->batch * (double)m->m * (double)m->n * (double)m->k / (rate * fmin(1, e0 / (tensor ? 0.8 : 0.9)));
}

/* Between devices, or host and device: bytes over the link, in latency_s since no unit of this GPU is busy. */
static fsim_kernel over_link(const context *c, fsim_hw_key link, double times, fsim_arena *a)
{
    fsim_kernel k = streaming(c, 1, a);
    const double rate = fsim_hw_get(c->hw, link);
    double bytes = 0;
    for (int i = 0; i < k.outputs; i++)
        bytes += (double)k.output[i].bytes;
    if (!isnan(rate)) {
        k.unit[FSIM_LATENCY] += times * bytes / rate;
        sum_up(c, &k);
    }
    k.penalised = true;
    return k;
}

fsim_kernel fsim_kernel_of(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, const fsim_group *group, const fsim_residency *l2,
                           fsim_arena *a)
{
    context c = {.g = g, .hw = hw, .regime = regime, .group = group, .l2 = l2};
    c.sms = fsim_hw_get(hw, FSIM_HW_SMS);
    c.clock = fsim_hw_get(hw, FSIM_HW_SM_CLOCK);
    c.warp = fsim_hw_get(hw, FSIM_HW_WARP_SIZE);
    c.l2_bytes = fsim_l2_effective(hw);
    c.latency_s = or_else(fsim_hw_get(hw, FSIM_HW_DRAM_LATENCY), default_latency_s);
    c.read = fsim_new(a, fsim_traffic, group->reads + 1);
    c.write = fsim_new(a, fsim_traffic, group->writes + 1);
    for (int i = 0; i < group->writes; i++) {
        c.write[i] = fsim_write_traffic(g, &group->write[i], (int)c.warp);
        c.total_bytes += (double)c.write[i].sector_bytes;
    }
    for (int i = 0; i < group->reads; i++)
        c.total_bytes += (double)fsim_read_traffic(g, &group->read[i], 0, 0, 1).sector_bytes;
    for (int i = 0; i < group->reads; i++)
        c.read[i] = fsim_read_traffic(g, &group->read[i], (int)c.warp, c.total_bytes, c.l2_bytes);
    switch (group->template) {
    case FSIM_ROW_REDUCTION:
    case FSIM_COLUMN_REDUCTION:
    case FSIM_FULL_REDUCTION:
        return row_reduction(&c, a);
    case FSIM_TILED_CONTRACTION:
    case FSIM_LIBRARY_CONTRACTION:
        return contraction(&c, a);
    case FSIM_CHAINED_CONTRACTION:
        return chained(&c, a);
    case FSIM_COMMUNICATION_KERNEL:
        return over_link(&c, FSIM_HW_LINK_BANDWIDTH, 2, a);
    case FSIM_TRANSFER_KERNEL:
        return over_link(&c, FSIM_HW_HOST_LINK_BANDWIDTH, 1, a);
    default:
        return best_streaming(&c, a);
    }
}
