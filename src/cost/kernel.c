/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/collective.h"
#include "cost/constants.h"
#include "cost/costing.h"

#include <math.h>
#include <string.h>

/* A scatter copies its first argument; after that it stores each element of the last one where the data say.
 * Assumed: L2 executes these as atomics, one read and one write for each sector: in place that is what the kernel reads
 * and writes of the rows. Where there are more elements than
 * places, that many meet at each place, one after the other: indices are as good as evenly spread. */
static void add_scatter(const fsim_costing *c, fsim_kernel *k)
{
    const fsim_node *n = c->group->anchor >= 0 ? &c->g->node[c->group->anchor] : NULL;
    if (!n || fsim_ops[n->op].class != FSIM_SCATTER)
        return;
    const fsim_access *values = &n->arg[n->args - 1];
    k->penalised = true;
    if (n->op == FSIM_OP_INDEX_COPY) /* plain stores, which are counted as the kernel's writes */
        return;
    if (c->g->tensor[n->result[0]].over < 0)
        k->l2_bytes += 2.0 * (double)values->distinct * fsim_dtype_bytes(c->g->tensor[values->tensor].dtype);
    const double meeting = (double)values->distinct / (double)c->g->tensor[n->result[0]].elems;
    if (!c->hw->host && n->op != FSIM_OP_SCATTER)
        k->unit[FSIM_LATENCY] += fmax(0, meeting - 1) * atomic_clocks / c->clock;
}

/* Pointwise kernels, copies, pooling, and opaque operators: a thread computes `vector` points. */
static fsim_kernel streamed(const fsim_costing *c, int vector, fsim_arena *a)
{
    fsim_kernel k = fsim_blank_kernel(c, a);
    k.vector = vector;
    fsim_lay_out(c, &k.schedule);
    k.registers = fsim_streaming_registers(c, k.vector);
    fsim_add_arithmetic(c, &k, NULL, true);
    fsim_add_memory(c, &k, NULL, NULL);
    fsim_add_access_issue(c, &k);
    add_scatter(c, &k);
    if (fsim_settle(c, &k, fsim_trips(c)))
        fsim_sum_up(c, &k);
    k.penalised = k.penalised || k.occupancy < 1;
    return k;
}

/* Can a thread compute `vector` neighbouring points? Ranges must begin and end between groups of so many. */
static bool takes(const fsim_group *o, int vector)
{
    for (int i = 0; i < o->reads; i++)
        for (int k = 0; k < o->read[i].maps && o->read[i].place; k++) {
            const fsim_map *place = &o->read[i].place[k];
            const fsim_mode *inner = place->modes ? &place->mode[place->modes - 1] : NULL;
            if (place->offset >= 0 &&
                (place->offset % vector != 0 || !inner || inner->stride != 1 || inner->extent % vector != 0))
                return false;
        }
    return true;
}

static fsim_kernel streaming(const fsim_costing *c, fsim_arena *a)
{
    fsim_kernel best = streamed(c, 1, a);
    if (best.vector > 1) /* a tile says how many points a thread has */
        return best;
    for (int vector = 2; vector <= 4 && c->group->points % vector == 0 && takes(c->group, vector); vector *= 2) {
        const fsim_kernel k = streamed(c, vector, a);
        if (k.time_s > 0 && k.time_s < best.time_s)
            best = k;
    }
    return best;
}

/* Running sums and products, with what is computed from single elements beside them. A block waits for memory, and for
 * its threads, in each step along a row. */
static fsim_kernel scanning(const fsim_costing *c, fsim_arena *a)
{
    const fsim_scan_shape x = fsim_scan_shape_of(c->g, c->group->anchor);
    fsim_kernel k = fsim_blank_kernel(c, a);
    fsim_lay_out(c, &k.schedule);
    k.registers = fsim_streaming_registers(c, FSIM_SCAN_EACH);
    fsim_add_arithmetic(c, &k, NULL, true);
    fsim_add_memory(c, &k, NULL, NULL);
    fsim_add_access_issue(c, &k);
    k.shared_bytes = 0; /* rows are walked in their order: no tile turns a strided side around */
    const double steps = ceil((double)x.width / ((double)k.row_threads * FSIM_SCAN_EACH));
    if (!fsim_settle(c, &k, steps))
        return k;
    if (k.row_threads > c->warp && !c->hw->host)
        k.unit[FSIM_LATENCY] += ceil(k.waves) * steps * barrier_s;
    fsim_sum_up(c, &k);
    k.penalised = true;
    return k;
}

/* Can several blocks share a row? Only where nothing as large as a row needs the reduced value, and the order of
 * sums is free. */
static bool splits(const fsim_group *o)
{
    bool after = o->strict || o->stages != 2 || o->across > 0 || o->stretch > 0;
    for (int i = 0; i < o->members && !after; i++)
        after = o->member[i].full && (o->member[i].stages & ~1u);
    return !after;
}

/* Reading a strided side through a tile needs neighbouring rows in a block; a block with one row requests a sector
 * for each element instead. */
static fsim_traffic by_the_row(fsim_traffic t)
{
    if (t.across) {
        t.coalescing *= t.request_bytes / t.direct_bytes;
        t.request_bytes = t.answered_bytes;
        t.staged_bytes = 0;
    }
    return t;
}

/* Threads with a row each read neighbouring rows side by side: no tile turns them around. */
static fsim_traffic by_the_thread(fsim_traffic t)
{
    t.staged_bytes = 0;
    return t;
}

/* Elements of a row that a thread loads at once. */
static int row_vector(const fsim_group *o)
{
    const int vector = o->reduced % 4 == 0 ? 4 : o->reduced % 2 == 0 && o->reduced <= SHORT_ROW ? 2 : 1;
    return o->stretch > 0 ? FSIM_STRETCH_VECTOR : takes(o, vector) ? vector : 1;
}

/* The threads of each stretch combine what they have, in half as many steps as it takes to leave one. */
static void combine_stretches(const fsim_costing *c, fsim_kernel *k)
{
    enum { INSTRUCTIONS = 2 }; /* a shuffle and the reduction's own */
    const fsim_group *o = c->group;
    for (int i = 0; i < o->members && !c->hw->host; i++)
        if (o->member[i].inner)
            k->unit[FSIM_ISSUE] += INSTRUCTIONS * log2((double)(o->stretch / k->vector)) * (double)o->points *
                                   (double)o->reduced / k->vector / (c->sms * c->clock * FSIM_ISSUE_PER_SM * c->warp);
}

/* On a host, the units of a row with several passes overlap little: a core has no other block to run while a pass
 * waits for memory or while the next one computes. Within a page the prefetchers already load the next row; they
 * stop at its end. Measured with softmax as in generated kernels, on an AMD EPYC with two threads: rows of 1 KiB fit
 * the 3-norm, rows of 16 and 128 KiB norms of 1.5 to 1.9; layer norm with rows of 4 KiB fits a norm of 1.3
 * (bench/host.sh). */
static void sum_up_rows(const fsim_costing *c, fsim_kernel *k)
{
    enum { VALUE_BYTES = 4 };
    const bool apart = c->hw->host && c->group->stages > 1 && c->group->reduced * VALUE_BYTES >= HOST_PAGE_BYTES;
    k->penalised = k->penalised || apart;
    if (apart)
        fsim_sum_up_by(c, k, host_rows_exponent);
    else
        fsim_sum_up(c, k);
}

/* How rows are assigned to blocks. */
typedef struct {
    double pieces;  /* blocks that share a row */
    bool band;      /* a block has FSIM_BAND_ROWS neighbouring rows */
    bool single;    /* a thread has a row of its own; neighbouring rows are contiguous */
    bool alone;     /* one block on each SM (it requests more shared memory than it uses), so that fewer rows are in
                       progress */
    fsim_keep keep; /* where a row stays, if it fits there; otherwise in shared memory, or it is read again */
    int beyond;     /* blocks on an SM: only with more is the kernel of use */
} row_choice;

/* Sums over all rows: as many blocks as the GPU holds at once take rows in turn and add on chip; what they have goes
 * through L2 to a second launch, whose threads go through the blocks. Returns how many turns a block has. */
static double take_turns(const fsim_costing *c, fsim_kernel *k)
{
    enum { SLICES = FSIM_BLOCK / FSIM_BAND_ROWS, AHEAD = 4, MOST_TURNS = 1 << 30 };
    const fsim_group *o = c->group;
    const int each = fsim_sum_bytes(c->g, o);
    const int64_t columns = fsim_columns_bytes(c->g, o, &k->schedule);
    k->shared_bytes = k->alone && k->shared_bytes > columns ? k->shared_bytes : k->shared_bytes + (int)columns;
    const int blocks = fsim_blocks_per_sm(c->hw, k->block, k->registers, k->shared_bytes);
    const double turns = blocks > 0 ? ceil((double)k->grid / (blocks * c->sms)) : 1;
    k->turns = (int)fmin(turns, MOST_TURNS);
    fsim_lay_out(c, &k->schedule);
    k->partial_bytes = 2 * k->grid * (o->columns * o->reduced + o->across - o->columns) * each;
    k->l2_bytes += (double)k->partial_bytes;
    k->shared_bytes_moved += 2.0 * o->columns * (double)o->points * (double)o->reduced * each;
    k->unit[FSIM_LATENCY] += ceil((double)k->grid / (SLICES * AHEAD)) * c->latency_s;
    if (!c->hw->host)
        k->unit[FSIM_LATENCY] += (k->turns - 1) * (o->stages - 1) * barrier_s;
    k->penalised = true;
    return k->turns;
}

/* Keeps the row between two walks as `how` says, where that fits; otherwise it is read `again` times. */
static void keep_row(const fsim_costing *c, fsim_kernel *k, fsim_keep how, int again)
{
    const fsim_group *o = c->group;
    const double step = (double)k->row_threads * k->vector, room = fsim_hw_get(c->hw, FSIM_HW_SHARED_PER_BLOCK),
                 kept_registers = (double)o->kept_row_bytes / 4 / k->row_threads;
    const int64_t shared = fsim_kept_bytes(c->g, o, &k->schedule), taken = fsim_columns_bytes(c->g, o, &k->schedule);
    const int holding = fsim_keeping_registers(c, k->vector, ceil((double)o->reduced / step) * k->vector);
    if (how == FSIM_KEEP_IN_REGISTERS && kept_registers <= KEPT_REGISTERS &&
        fsim_blocks_per_sm(c->hw, k->block, holding, 0) > 0) {
        k->registers = holding;
        k->keep = FSIM_KEEP_IN_REGISTERS;
    } else if (how != FSIM_KEEP_NOTHING && (double)(shared + taken) <= room - FSIM_ROW_STATIC) {
        k->shared_bytes = (int)shared;
        k->keep = FSIM_KEEP_IN_SHARED;
    } else {
        k->passes = again;
    }
}

/* Are rows put together from parts of several tensors? These are not kept: each walk asks for them again. Reductions
 * that depend on each other share a walk (src/emit/rows.c), so there are at most two. */
static bool is_put_together(const fsim_group *o)
{
    bool any = false;
    for (int i = 0; i < o->reads; i++)
        any = any || (o->read[i].place && o->read[i].full && fsim_bits(o->read[i].stages) > 1);
    return any;
}

/* Reductions over rows: a warp or a block for each row, or `pieces` blocks whose results a second launch combines.
 * The row stays in registers or shared memory if it is needed again after a reduction. Where it does not fit, it is
 * read once for each stage, from L2 if the rows in progress fit there. */
static fsim_kernel rows_by(const fsim_costing *all, row_choice choice, fsim_arena *a)
{
    const fsim_group *o = all->group;
    const bool column = choice.band || choice.single, alone = choice.alone;
    const double pieces = choice.pieces;
    fsim_costing own = *all, *c = &own;
    own.read = fsim_new(a, fsim_traffic, o->reads + 1);
    own.write = fsim_new(a, fsim_traffic, o->writes + 1);
    for (int i = 0; i < o->reads; i++)
        own.read[i] = choice.single ? by_the_thread(all->read[i]) : column ? all->read[i] : by_the_row(all->read[i]);
    for (int i = 0; i < o->writes; i++)
        own.write[i] = choice.single ? by_the_thread(all->write[i])
                       : column      ? all->write[i]
                                     : by_the_row(all->write[i]);
    fsim_kernel k = fsim_blank_kernel(c, a);
    double *extra = fsim_new(a, double, o->reads + 1), *extra_dram = fsim_new(a, double, o->reads + 1);
    const int64_t elems = o->reduced;
    const int vector = column ? 1 : row_vector(o);
    int most = 0;
    k.vector = vector;
    k.band = choice.band;
    k.alone = alone;
    fsim_lay_out(c, &k.schedule);
    const int64_t tile_rows = k.rows_per_block;
    const double row_bytes = (double)o->kept_row_bytes * (choice.band ? FSIM_BAND_ROWS : 1);
    k.registers = fsim_walk_registers(c, vector);
    for (int i = 0; i < o->reads; i++)
        most = fsim_bits(o->read[i].stages) > most ? fsim_bits(o->read[i].stages) : most;
    if (is_put_together(o) && !c->hw->host && !c->hw->arch->plain)
        k.passes = 2;
    else if (o->kept_row_bytes > 0)
        keep_row(c, &k, choice.keep, most);
    if (alone)
        k.shared_bytes =
            (int)fmin(fsim_hw_get(c->hw, FSIM_HW_SHARED_PER_BLOCK), fsim_hw_get(c->hw, FSIM_HW_SHARED_PER_SM) / 2 + 1);
    double steps = ceil((double)elems / ((double)k.row_threads * vector * ROW_UNROLL)) * k.passes;
    if (o->across > 0)
        steps *= take_turns(c, &k);
    const int blocks = fsim_blocks_per_sm(c->hw, k.block, k.registers, k.shared_bytes);
    const double resident = blocks * c->sms;
    if (choice.beyond > 0 && blocks <= choice.beyond * k.passes)
        return (fsim_kernel){0};
    if (pieces > 1) {
        k.pieces = (int)pieces;
        fsim_lay_out(c, &k.schedule);
        steps = ceil(steps / pieces);
        k.partial_bytes = (int64_t)(2 * pieces * (double)o->points * 4);
        k.l2_bytes += 2 * pieces * (double)o->points * 4; /* partial results are written and read */
        k.penalised = true;
    }
    const double under_way = fmin((double)k.grid, resident) * row_bytes * (choice.band ? 1 : (double)tile_rows);
    const double missed =
        fmin(1, fmax(0, under_way / c->l2_bytes -
                            1)); /* assumed: nothing stays in L2 when twice its capacity is in progress */
    for (int i = 0; i < o->reads; i++) {
        const int times = k.passes > 1 ? fsim_bits(o->read[i].stages) : 1;
        extra[i] = times;
        extra_dram[i] = 1 + (times - 1) * missed;
        if (!column &&
            all->read[i]
                .across) { /* the other elements of a sector belong to neighbouring rows in progress, and wait in L2 */
            const double beside = fmin((double)k.grid, resident) * (double)(tile_rows * elems) *
                                  fsim_dtype_bytes(c->g->tensor[o->read[i].tensor].dtype);
            extra_dram[i] *= 1 + (all->read[i].direct_bytes / all->read[i].request_bytes - 1) *
                                     fmin(1, fmax(0, beside / c->l2_bytes - 1));
        }
    }
    fsim_add_arithmetic(c, &k, NULL, k.passes == 1);
    const int shared = k.shared_bytes;
    fsim_add_memory(c, &k, extra, extra_dram);
    k.shared_bytes = shared; /* no tile turns a strided side around: lanes go along the contiguous one */
    fsim_add_access_issue(c, &k);
    combine_stretches(c, &k);
    if (k.keep == FSIM_KEEP_IN_SHARED) /* stored there once, loaded once for each later stage */
        k.shared_bytes_moved += (double)o->kept_row_bytes * (double)o->points * most;
    if (fsim_settle(c, &k, steps))
        sum_up_rows(c, &k);
    k.penalised = k.penalised || k.passes > 1 || k.registers > 32 || k.shared_bytes > 0;
    return k;
}

static void keep_faster(fsim_kernel *best, fsim_kernel k)
{
    if (k.time_s > 0 && (best->time_s == 0 || k.time_s < best->time_s))
        *best = k;
}

/* The row where it stays best: in registers; in shared memory, where an SM holds more blocks then; or nowhere, where it
 * holds so many more that reading the row again costs less than waiting. */
static fsim_kernel rows_kept(const fsim_costing *c, row_choice choice, fsim_arena *a)
{
    fsim_kernel best = rows_by(c, choice, a);
    const bool waits =
        best.time_s <= 0 || best.turns > 1 || (double)best.grid > best.blocks_per_sm * c->sms; /* for blocks to end */
    if (best.keep == FSIM_KEEP_NOTHING || c->hw->host || !waits)
        return best;
    choice.beyond = best.time_s > 0 ? best.blocks_per_sm : 0;
    choice.keep = FSIM_KEEP_IN_SHARED;
    if (best.keep == FSIM_KEEP_IN_REGISTERS)
        keep_faster(&best, rows_by(c, choice, a));
    choice.beyond = best.time_s > 0 ? best.blocks_per_sm : 0;
    choice.keep = FSIM_KEEP_NOTHING;
    keep_faster(&best, rows_by(c, choice, a));
    return best;
}

/* One block for a row, or a band of rows for a block, or several blocks for a row, or a short row for a thread: the
 * fastest. */
static fsim_kernel row_reduction(const fsim_costing *c, fsim_arena *a)
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
        const fsim_kernel one =
            rows_kept(c, (row_choice){.pieces = 1, .band = band, .keep = FSIM_KEEP_IN_REGISTERS}, a);
        keep_faster(&best, one);
        if (one.passes > 1)
            keep_faster(&best, rows_by(c, (row_choice){.pieces = 1, .band = band, .alone = true}, a));
        for (double pieces = 2; pieces <= most && (double)one.grid * pieces < 32 * c->sms; pieces *= 2)
            keep_faster(&best,
                        rows_by(c, (row_choice){.pieces = pieces, .band = band, .keep = FSIM_KEEP_IN_REGISTERS}, a));
    }
    if (columns && o->reduced <= SHORT_ROW && !c->hw->host)
        keep_faster(&best, rows_kept(c, (row_choice){.pieces = 1, .single = true, .keep = FSIM_KEEP_IN_REGISTERS}, a));
    best.penalised = best.penalised || across;
    return best;
}

/* Rows that a block takes one after the other, with sums over all of them. */
static fsim_kernel mixed_reduction(const fsim_costing *c, fsim_arena *a)
{
    const fsim_kernel one = rows_kept(c, (row_choice){.pieces = 1, .keep = FSIM_KEEP_IN_REGISTERS}, a);
    fsim_kernel best = {0};
    keep_faster(&best, one);
    if (one.passes > 1)
        keep_faster(&best, rows_by(c, (row_choice){.pieces = 1, .alone = true}, a));
    return best;
}

/* Between devices, or host and device: bytes over the link. Counted as latency_s, because no unit of this GPU is
 * busy. */
static fsim_kernel over_link(const fsim_costing *c, fsim_hw_key link, double times, fsim_arena *a)
{
    fsim_kernel k = streamed(c, 1, a);
    const double rate = fsim_hw_get(c->hw, link);
    double bytes = 0;
    for (int i = 0; i < k.outputs; i++)
        bytes += (double)k.output[i].bytes;
    if (!isnan(rate)) {
        k.unit[FSIM_LATENCY] += times * bytes / rate;
        fsim_sum_up(c, &k);
    }
    k.penalised = true;
    return k;
}

/* Between so many GPUs of a node as the operator says; otherwise twice over the link, to the host and back. */
static fsim_kernel communication(const fsim_costing *c, fsim_arena *a)
{
    const fsim_node *n = &c->g->node[c->group->anchor];
    fsim_kernel k = streamed(c, 1, a);
    double bytes = 0;
    for (int i = 0; i < k.inputs; i++)
        bytes = fmax(bytes, (double)k.input[i].bytes);
    for (int i = 0; i < k.outputs; i++)
        bytes = fmax(bytes, (double)k.output[i].bytes);
    const double ranks = (double)n->attrs.ranks;
    const double seconds = ranks < 2 ? NAN
                           : n->attrs.algorithm != FSIM_BY_LIBRARY
                               ? fsim_all_reduce_by_s(c->hw, n->attrs.algorithm, bytes, ranks)
                               : fsim_collective_s(c->hw, n->op, bytes, ranks, c->regime == FSIM_REGIME_GRAPH);
    const double own = fsim_hw_get(c->hw, FSIM_HW_COLLECTIVES);
    if (!isnan(seconds)) {
        memset(k.unit, 0, sizeof k.unit);
        k.unit[FSIM_LATENCY] = seconds * own;
        k.penalised = true;
        fsim_sum_up_to(c, &k, seconds * own);
        return k;
    }
    return over_link(c, FSIM_HW_LINK_BANDWIDTH, 2, a);
}

static fsim_kernel transfer(const fsim_costing *c, fsim_arena *a)
{
    return over_link(c, FSIM_HW_HOST_LINK_BANDWIDTH, 1, a);
}

fsim_kernel fsim_generated_kernel(const fsim_costing *c, fsim_arena *a)
{
    static fsim_kernel (*const price_of[FSIM_TEMPLATE_COUNT])(const fsim_costing *, fsim_arena *) = {
#define FSIM_TEMPLATE(id, name, brief, has, schedule, price, emit, residual, compile, line) [FSIM_##id] = price,
#include "fusion/template.def"
#undef FSIM_TEMPLATE
    };
    return price_of[c->group->template](c, a);
}
