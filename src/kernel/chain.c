/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/chain.h"

#include "kernel/registers.h"

enum {
    WARP = 32,
    SCHEDULERS = 4, /* of an SM; each issues the instructions of its own warps */
    CHUNK = 64,     /* elements of the first product's k that are staged at once, where not all of them are */
    LEAST_SIDE = FSIM_CHAIN_LEAST, /* shortest side of a tile */
    MOST_COLUMNS = 128,
    NARROW = 32,     /* the last way to make a tile smaller is to have fewer columns than this */
    GROUP_ROWS = 64, /* of four warps that multiply together */
    GROUP_LINE = 64, /* elements of a line of their operands */
    GROUP_STAGES = 2,
    GROUP_PAIRED = 128,   /* most registers of a thread where fewer columns would let two blocks share an SM: one
                             multiplies while the other computes what lies between the products */
    GROUP_ALIGNED = 1024, /* bytes: alignment of their lines */
    SUMS = 160,           /* most words of scores and results in a thread */
    TENSOR_SUMS = 144,    /* the same with tensor cores */
    UNIT = 4,             /* k is padded to a multiple of this */
    TENSOR_UNIT = 16,
    PAD = 4, /* gap in elements between lines of a tile, so that threads access different banks */
    TENSOR_PAD = 8,
    ALIGNED = 16 /* bytes: alignment of a tile's start */
};

static int64_t rounded(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

static int power_of_two(int64_t at_most)
{
    int x = 1;
    while (x * 2 <= at_most)
        x *= 2;
    return x;
}

static int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

static int word_of(const fsim_chain_request *r) { return r->elem_bytes > 4 ? 2 : 1; }

static int64_t place_tile(const fsim_chain_request *r, fsim_chain_operand_tile *t, int64_t offset, int64_t lines,
                          int64_t lead)
{
    *t = (fsim_chain_operand_tile){.offset = offset, .count = lines * lead, .lead = (int)lead};
    return offset + rounded(t->count * r->elem_bytes, ALIGNED);
}

/* Bytes in which warps that share columns leave their results and running values for each other, once the tiles are
 * no longer needed. */
static int64_t met_bytes(const fsim_chain_request *r, const fsim_chain_layout *l)
{
    enum { GROUP = 4, VALUE_BYTES = 4 }; /* threads of a warp that share a row, and each have its running values */
    return l->m * l->across * (l->columns + r->reductions * GROUP) * VALUE_BYTES;
}

/* The tiles of groups of warps, in whole lines. */
static void lay_out_lines(const fsim_chain_request *r, fsim_chain_layout *l)
{
    fsim_chain_operand_tile *t = l->tile;
    const int64_t first = l->n * l->depth, second = l->n * l->columns;
    int64_t at = place_tile(r, &t[FSIM_CHAIN_ROWS], 0, l->m, l->depth);
    t[FSIM_CHAIN_FIRST] = (fsim_chain_operand_tile){.offset = at, .count = first, .lead = GROUP_LINE};
    at += l->stages * first * r->elem_bytes;
    t[FSIM_CHAIN_SECOND] = (fsim_chain_operand_tile){.offset = at, .count = second, .lead = GROUP_LINE};
    l->scores = at + l->stages * second * r->elem_bytes;
    l->shared_bytes = l->scores + GROUP_ALIGNED;
}

static void lay_out(const fsim_chain_request *r, fsim_chain_layout *l)
{
    const int pad = r->tensor ? TENSOR_PAD : PAD;
    fsim_chain_operand_tile *t = l->tile;
    int64_t at = place_tile(r, &t[FSIM_CHAIN_ROWS], 0, l->m, (l->kept ? l->depth : l->depth_step) + pad);
    at = r->first_along_k ? place_tile(r, &t[FSIM_CHAIN_FIRST], at, l->n, l->depth_step + pad)
                          : place_tile(r, &t[FSIM_CHAIN_FIRST], at, l->depth_step, l->n + pad);
    at = r->second_along_width ? place_tile(r, &t[FSIM_CHAIN_SECOND], at, l->columns, l->n + pad)
                               : place_tile(r, &t[FSIM_CHAIN_SECOND], at, l->n, l->columns + pad);
    l->scores = at;
    l->shared_bytes = r->tensor ? at : at + (int64_t)l->m * (l->n + pad) * r->elem_bytes;
    if (l->across > 1 && met_bytes(r, l) > l->shared_bytes)
        l->shared_bytes = met_bytes(r, l);
}

/* Scores and results that a thread holds, in words. */
static int64_t sums_of(const fsim_chain_request *r, const fsim_chain_layout *l)
{
    return l->m * (l->n + l->columns * l->across) / l->threads * word_of(r);
}

static int registers_of(const fsim_chain_request *r, const fsim_chain_layout *l)
{
    enum { SHARING = 16, TENSOR_FRAGMENTS = 8 }; /* SHARING: threads that share a row */
    const double word = word_of(r), rows = (double)SHARING * l->m / l->threads,
                 wider = l->columns > l->n ? (double)l->columns : l->n;
    const fsim_thread_words w = {.threads = l->threads,
                                 .tensor = r->tensor,
                                 .sums = (double)sums_of(r, l),
                                 .fragments = r->tensor ? TENSOR_FRAGMENTS : (rows + wider / SHARING) * word,
                                 .packed = r->tensor ? (double)l->m * l->n / l->threads / 2 : 0};
    return l->grouped ? fsim_chain_group_registers(&w) : fsim_chain_registers(&w);
}

/* Warps that share columns: enough for all schedulers of an SM, while each has a fragment's columns. */
static int across_of(const fsim_chain_request *r, int m, int n)
{
    int across = 1;
    while (r->tensor && r->shares && 2 * across * m <= LEAST_SIDE * SCHEDULERS && n % (2 * across * LEAST_SIDE) == 0)
        across *= 2;
    return across;
}

static int threads_of(bool tensor, int m, int across)
{
    return tensor ? m / 16 * across * WARP : m >= 128 ? 256 : m >= 32 ? 128 : 64;
}

/* Divides the results of a row among `chunks` blocks. */
static void share_columns(const fsim_chain_request *r, fsim_chain_layout *l, int64_t most)
{
    const int64_t columns = most == FSIM_CHAIN_RESULTS ? rounded(r->columns, 16) : r->columns;
    l->chunks = (columns + most - 1) / most;
    l->columns = rounded((columns + l->chunks - 1) / l->chunks, 16);
}

static void start(const fsim_chain_request *r, fsim_chain_layout *l)
{
    *l = (fsim_chain_layout){.depth = rounded(r->depth, r->tensor ? TENSOR_UNIT : UNIT)};
    l->depth_step = r->tensor || l->depth < CHUNK ? l->depth : CHUNK;
    l->kept = l->depth <= FSIM_CHAIN_KEPT_DEPTH;
    if (!l->kept)
        l->depth_step = CHUNK;
    share_columns(r, l, FSIM_CHAIN_RESULTS);
    l->m = power_of_two(clamp(r->m, LEAST_SIDE, FSIM_CHAIN_ROWS_MOST));
    while (l->m > LEAST_SIDE && l->m / 2 >= r->batch_rows)
        l->m /= 2;
    l->n = r->whole ? (int)rounded(r->width, LEAST_SIDE) : power_of_two(clamp(r->n, LEAST_SIDE, MOST_COLUMNS));
}

/* Do groups of warps multiply this tile? */
static bool fits_groups(const fsim_chain_request *r, const fsim_chain_layout *l)
{
    return r->groups && l->across == 1 && l->m >= GROUP_ROWS && (l->n == GROUP_LINE || l->n == 2 * GROUP_LINE) &&
           l->kept && l->depth_step == r->depth && r->depth % GROUP_LINE == 0 && l->columns % GROUP_LINE == 0;
}

/* Lays out the tile of *l. Do its sums fit registers? */
static bool lay_out_tile(const fsim_chain_request *r, fsim_chain_layout *l)
{
    l->across = across_of(r, l->m, l->n);
    l->threads = threads_of(r->tensor, l->m, l->across);
    l->grouped = fits_groups(r, l);
    l->stages = l->grouped ? GROUP_STAGES : 1;
    if (l->grouped)
        lay_out_lines(r, l);
    else
        lay_out(r, l);
    l->registers = registers_of(r, l);
    const bool narrow = l->n <= GROUP_LINE || r->whole || l->registers <= GROUP_PAIRED;
    return sums_of(r, l) <= (r->tensor && !l->grouped ? TENSOR_SUMS : SUMS) && (!l->grouped || narrow);
}

/* The tile asked for with a long k of the first product in shared memory at once, rows and columns, so that copies can
 * run ahead: for batches of few rows, such as the heads of latent attention in decoding. False where it does not fit.
 */
static bool holds_long_depth(const fsim_chain_request *r, fsim_chain_layout *l)
{
    start(r, l);
    if (l->kept || !r->tensor || r->batch_rows > FSIM_CHAIN_ROWS_MOST)
        return false;
    l->kept = true;
    l->depth_step = l->depth;
    return lay_out_tile(r, l) && l->shared_bytes <= r->shared_most;
}

bool fsim_chain_layout_of(const fsim_chain_request *r, fsim_chain_layout *out)
{
    fsim_chain_layout *l = out;
    if (holds_long_depth(r, l))
        return true;
    start(r, l);
    for (;;) {
        const bool held = lay_out_tile(r, l), fits = l->shared_bytes <= r->shared_most;
        if (held && fits)
            return true;
        if (!r->whole && l->n > NARROW)
            l->n /= 2;
        else if (!fits && l->m > (held || r->tensor ? LEAST_SIDE : 64))
            l->m /= 2;
        else if (l->columns > NARROW)
            share_columns(r, l, l->columns / 2);
        else if (!r->whole && l->n > LEAST_SIDE)
            l->n /= 2;
        else if (l->m > LEAST_SIDE)
            l->m /= 2;
        else
            return false;
    }
}

int64_t fsim_chain_pieces(int64_t width, int n, int split, int64_t *piece)
{
    const int64_t steps = (width + n - 1) / n;
    *piece = width;
    if (split < 2 || steps < 2)
        return 1;
    *piece = (steps + split - 1) / split * n;
    return (width + *piece - 1) / *piece;
}
