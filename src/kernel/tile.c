/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/tile.h"

#include "kernel/registers.h"

enum {
    LEAST_ROWS = 16,
    LEAST_COLUMNS = 32,
    MOST_RESULTS = 16384,     /* most results of a block */
    MOST_WIDE_RESULTS = 4096, /* most results of 8 bytes each */
    GATHERED_SIDE = 64,       /* longest side whose elements are loaded one by one: each waits in a register */
    THREADS = 256,            /* threads of a block with WIDE results or more; smaller blocks have half as many */
    WIDE = 8192,
    WIDE_GATHERED = 4096, /* WIDE where a side's elements are loaded one by one */
    SIMT_STEP = 8,        /* elements of k in a step, without tensor cores */
    TENSOR_STEP_BYTES = 64,
    WARP = 32,
    MMA = 16,         /* rows and columns of a warp are multiples of this */
    ASYNC_STAGES = 3, /* one step being multiplied, one complete, one being loaded */
    STAGES = 2,
    BYTE_FRAGMENTS = 24, /* words of 16 columns of a step, the sums of one fragment, and their addresses */
    ASYNC_BYTES = 16,    /* bytes of one asynchronous copy */
    MOST_SHARED = 96 << 10
};
/* Groups of four warps. */
enum {
    GROUP_ROWS = 64,
    GROUP_STEP_BYTES = 128, /* of k in a step: a line */
    GROUP_STAGES = 4, /* a step being multiplied, one whose products may still run, one complete, one being loaded */
    GROUP_PAIRED_STAGES = 3, /* where two blocks share an SM, or a group waits for the sums of each step (8-bit floats),
                                others' products run meanwhile */
    GROUP_BYTE_COLUMNS = 128, /* most columns of 8-bit floats: a step's sums and the total are both in registers */
    GROUP_PAIRED = 32 << 10,  /* bytes of a step of tiles of 128 x 128, of which two blocks fit on an SM */
    GROUP_ALIGNMENT = 1 << 10 /* bytes of eight lines, to which the first is aligned */
};

/* The largest of most, most / 2, ... that is at most `planned` and less than twice the extent; `least` at least. For
 * few rows it may be twice LEAST_ROWS: half of such a tile is empty, but threads have enough of it to copy it while the
 * step before is multiplied. */
static int snap(int most, int planned, int64_t extent, int least)
{
    const int64_t filled = extent > LEAST_ROWS ? extent : LEAST_ROWS + 1;
    int size = most;
    while (size > least && (size > planned || size / 2 >= filled))
        size /= 2;
    return size;
}

/* Sets how many warps (or threads) are side by side along each side, so that each one's part is nearly square. */
static bool spread(const fsim_tile_shape *s, fsim_tile_layout *l)
{
    if (!s->tensor) {
        const int each = l->m * l->n / l->threads, columns = each >= 64 ? 8 : each == 32 && l->m < l->n ? 8 : 4;
        l->across_n = l->n / columns;
        l->across_m = l->threads / l->across_n;
        return each >= 4 && l->across_m * (each / columns) == l->m;
    }
    int best = 0;
    const int warps = l->threads / WARP;
    for (int m = 1; m <= warps; m *= 2) {
        const int rows = l->m / m, columns = l->n / (warps / m);
        if (rows % MMA != 0 || columns % MMA != 0 || rows == 0 || columns == 0 || (best && rows + columns >= best))
            continue;
        best = rows + columns;
        l->across_m = m;
        l->across_n = warps / m;
    }
    return best > 0;
}

/* Bytes of an operand in one stage, with rows padded so that threads access different banks. */
static int staged_bytes(const fsim_tile_shape *s, const fsim_tile_layout *l, const fsim_tile_operand *x, int count)
{
    const bool by_k = s->tensor && (x->along_k || s->elem_bytes == 1);
    const int elem = s->elem_bytes, pad = !s->tensor          ? (elem == 8 ? 2 : 4)
                                          : elem == 1         ? ASYNC_BYTES
                                          : by_k && elem == 4 ? 4
                                                              : 8;
    return (by_k ? count * (l->step + pad) : l->step * (count + pad)) * elem;
}

/* Does memory hold the operand as shared memory does? 8-bit floats follow k there. */
static bool is_copied(const fsim_tile_shape *s, const fsim_tile_operand *x)
{
    return x->verbatim && x->vector * s->elem_bytes == ASYNC_BYTES && (x->along_k || s->elem_bytes > 1);
}

static int count_of(const fsim_tile_layout *l, int operand) { return operand ? l->n : l->m; }

/* Sets how many elements of operand i a thread loads at once, and whether it is copied asynchronously. */
static void settle_operand(const fsim_tile_shape *s, fsim_tile_layout *l, int i)
{
    const fsim_tile_operand *x = &s->operand[i];
    const int each = count_of(l, i) * l->step / l->threads;
    l->vector[i] = x->vector;
    l->copied[i] = s->tensor && is_copied(s, x) && each % x->vector == 0;
    while (l->vector[i] > each)
        l->vector[i] /= 2;
    l->async = l->async || l->copied[i];
}

static int registers_of(const fsim_tile_shape *s, const fsim_tile_layout *l)
{
    const int word = s->elem_bytes == 8 ? 2 : 1;
    fsim_thread_words w = {.threads = l->threads,
                           .tensor = s->tensor,
                           .sums = (double)s->products * l->m * l->n / l->threads * word,
                           .live = s->live};
    for (int i = 0; i <= s->products; i++) {
        const double lines = (double)count_of(l, i) / (i ? l->across_n : l->across_m),
                     each = (double)count_of(l, i) * l->step / l->threads;
        /* Each lane has four words of 16 rows, two of 8 columns; of 8-bit floats all of a step's rows. */
        w.fragments += !s->tensor ? lines * word : s->elem_bytes > 1 ? lines / 4 : i ? BYTE_FRAGMENTS : lines / 2;
        w.staged += l->copied[i] ? 0 : s->elem_bytes == 1 ? each : each * s->elem_bytes / 4; /* bytes: not packed yet */
        w.gathered += l->vector[i] > 1 ? 0 : each;
    }
    return fsim_tile_registers(&w);
}

/* Chooses the tile's rows and columns and the number of threads. */
static void choose_sides(const fsim_tile_shape *s, int threads, fsim_tile_layout *l)
{
    const int most = (s->elem_bytes == 8 ? MOST_WIDE_RESULTS : MOST_RESULTS) / s->products;
    int wide = WIDE;
    l->m = snap(FSIM_TILE_SIDE, s->m, s->operand[0].extent, LEAST_ROWS);
    l->n = snap(FSIM_TILE_SIDE, s->n, s->operand[1].extent, LEAST_COLUMNS);
    while (l->m * l->n > most)
        *(l->n > l->m ? &l->n : &l->m) /= 2;
    for (int i = 0; i <= s->products && s->tensor; i++) {
        int *const count = i ? &l->n : &l->m;
        if (s->operand[i].vector > 1)
            continue;
        *count = *count > GATHERED_SIDE ? GATHERED_SIDE : *count;
        wide = WIDE_GATHERED;
    }
    if (l->m == LEAST_ROWS && l->n < 2 * LEAST_COLUMNS)
        l->n = 2 * LEAST_COLUMNS;
    l->threads = threads ? threads : l->m * l->n >= wide ? THREADS : THREADS / 2;
}

/* Do groups of warps multiply this tile? Both operands are copied, and it has 64 rows and columns at least. */
static bool fits_groups(const fsim_tile_shape *s, int threads)
{
    bool fits = s->groups && s->tensor && s->elem_bytes <= 2 && s->depth * s->elem_bytes >= GROUP_STEP_BYTES &&
                s->m >= GROUP_ROWS && s->n >= GROUP_ROWS &&
                (threads == 0 || threads == 2 * GROUP_ROWS || threads == 4 * GROUP_ROWS);
    for (int i = 0; i <= s->products; i++) {
        const fsim_tile_operand *x = &s->operand[i];
        fits = fits && is_copied(s, x) && 2 * x->extent > GROUP_ROWS;
    }
    return fits;
}

static void lay_out_groups(const fsim_tile_shape *s, int threads, fsim_tile_layout *l)
{
    l->grouped = l->async = true;
    l->step = GROUP_STEP_BYTES / s->elem_bytes;
    l->m = threads ? threads / 2 : snap(FSIM_TILE_SIDE, s->m, s->operand[0].extent, GROUP_ROWS);
    const bool of_bytes = s->elem_bytes == 1;
    l->n = snap((of_bytes ? GROUP_BYTE_COLUMNS : FSIM_GROUP_COLUMNS) / s->products, s->n, s->operand[1].extent,
                GROUP_ROWS);
    l->threads = 2 * l->m;
    l->across_m = l->threads / WARP;
    l->across_n = 1;
    for (int i = 0; i <= s->products; i++) {
        l->vector[i] = s->operand[i].vector;
        l->copied[i] = true;
    }
    const int bytes = (l->m + s->products * l->n) * GROUP_STEP_BYTES;
    l->stages = bytes == GROUP_PAIRED || of_bytes ? GROUP_PAIRED_STAGES : GROUP_STAGES;
    l->shared_bytes = bytes * l->stages + GROUP_ALIGNMENT;
    const int sums = s->products * l->n / 2; /* 8-bit floats: and those of a step */
    l->registers = fsim_group_registers(sums, s->live) + (of_bytes ? l->n / 2 : 0);
}

bool fsim_tile_layout_of(const fsim_tile_shape *s, int threads, fsim_tile_layout *out)
{
    fsim_tile_layout *l = out;
    if (fits_groups(s, threads)) {
        *l = (fsim_tile_layout){0};
        lay_out_groups(s, threads, l);
        return true;
    }
    *l = (fsim_tile_layout){.step = s->tensor ? TENSOR_STEP_BYTES / s->elem_bytes : SIMT_STEP};
    choose_sides(s, threads, l);
    if (!spread(s, l) || (l->m < l->n ? l->m : l->n) * l->step < l->threads)
        return false;
    int bytes = 0;
    for (int i = 0; i <= s->products; i++) {
        settle_operand(s, l, i);
        bytes += staged_bytes(s, l, &s->operand[i], count_of(l, i));
    }
    l->stages = l->async ? ASYNC_STAGES : STAGES;
    l->shared_bytes = bytes * l->stages;
    l->registers = registers_of(s, l);
    return l->shared_bytes <= MOST_SHARED;
}

int64_t fsim_tile_blocks(const fsim_tile_layout *l, int64_t batch, int64_t rows, int64_t columns)
{
    return batch * ((rows + l->m - 1) / l->m) * ((columns + l->n - 1) / l->n);
}
