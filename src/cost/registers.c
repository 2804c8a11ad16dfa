/* SPDX-License-Identifier: Apache-2.0 */
/* registers.c: registers a thread of a generated kernel, as NVRTC 13.0 compiles it for sm_80, sm_90 and sm_100.
 * `fusesim validate --registers` compares; README.md has its summary.
 *
 * Up to 32 registers are free: an SM then holds as many threads as it may. The compiler fills them, with loads issued
 * ahead, and goes beyond only for values that must stay. So the figures up to 32 say what it fills, and change no time;
 * those above are of values that stay: live ones (fsim_registers), and rows kept from one walk to the next. */
#include "cost/costing.h"
#include "cost/thread_registers.h"

#include <math.h>

enum {
    FREE = 32,        /* registers a thread at 2048 threads and 64 Ki registers an SM */
    WALK_UNROLLED = 4 /* steps of a walk whose loads are issued together */
};

/* Temporaries of the widest operator, after its instructions: a power series holds about as many constants and terms.
 */
static double temporaries(const fsim_costing *c)
{
    enum { WIDEST = 24 };
    static const double each = 0.4;
    double most = 0;
    for (int i = 0; i < c->group->members; i++) {
        const fsim_node *n = &c->g->node[c->group->member[i].node];
        most = fmax(most, n->gemm.k ? 0 : fsim_ops[n->op].instructions);
    }
    return each * fmin(most, WIDEST);
}

static double words(const fsim_costing *c, int tensor) { return fsim_dtype_bytes(c->g->tensor[tensor].dtype) / 4.0; }

/* Elements that a thread takes: emit/pointwise.c loads twice as many halves where there are blocks enough, some of
 * which stay in pairs; windows and scattered elements go one by one. */
static double elements(const fsim_costing *c, int vector)
{
    enum { WIDE = 8, BLOCKS_AN_SM = 16 };
    static const double halves = 0.8;
    const fsim_group *o = c->group;
    double largest = 0;
    for (int i = 0; i < o->reads + o->writes; i++)
        largest = fmax(largest, words(c, i < o->reads ? o->read[i].tensor : o->write[i - o->reads].tensor));
    if (o->template == FSIM_POOLING || o->template == FSIM_OPAQUE_KERNEL)
        return 1;
    return vector == 4 && largest < 1 && o->points % WIDE == 0 &&
                   (double)o->points / (FSIM_BLOCK * WIDE) >= BLOCKS_AN_SM * c->sms
               ? WIDE * halves
               : vector;
}

int fsim_streaming_registers(const fsim_costing *c, int vector)
{
    enum { TILED = 28 }; /* four rows of a tile that turns a strided side around, and where they are */
    const fsim_group *o = c->group;
    const int staying = fsim_registers(o->live, vector);
    bool tiled = false;
    for (int i = 0; i < o->reads; i++)
        tiled = tiled || c->read[i].staged_bytes > 0;
    for (int i = 0; i < o->writes; i++)
        tiled = tiled || c->write[i].staged_bytes > 0;
    return staying > FREE ? staying
           : tiled        ? TILED
                          : (int)fmin(FREE, 9 + 0.75 * elements(c, vector) * o->live + temporaries(c));
}

int fsim_walk_registers(const fsim_costing *c, int vector)
{
    const fsim_group *o = c->group;
    const int staying = fsim_registers(o->live, vector);
    double loaded = 0;
    bool special = false;
    for (int i = 0; i < o->reads; i++)
        loaded += o->read[i].full ? words(c, o->read[i].tensor) : 0;
    for (int i = 0; i < o->members; i++)
        special = special || (o->member[i].full && c->g->node[o->member[i].node].specials > 0);
    const double own =
        o->template == FSIM_COLUMN_REDUCTION ? 18 : 13; /* which row and element; of bands also each step's */
    return staying > FREE ? staying : (int)fmin(FREE, own + WALK_UNROLLED * vector * loaded + (special ? vector : 0));
}

static bool several(unsigned stages) { return (stages & (stages - 1)) != 0; }

/* Does a member that is computed in one later walk only read it? What all its readers make again in each walk need not
 * stay. */
static bool crosses(const fsim_costing *c, int tensor, unsigned stages)
{
    const fsim_group *o = c->group;
    const unsigned first = stages & -stages;
    for (int i = 0; i < o->members; i++) {
        const fsim_node *n = &c->g->node[o->member[i].node];
        for (int k = 0; k < n->args; k++)
            if (n->arg[k].tensor == tensor && !several(o->member[i].stages) && !(o->member[i].stages & first))
                return true;
    }
    return false;
}

/* Words of each element of the row that stay from one walk to the next: what is loaded, or what is made of it,
 * whichever is less; special functions are not computed twice. */
static double crossing_words(const fsim_costing *c)
{
    const fsim_group *o = c->group;
    double made = 0, loaded = 0;
    bool special = false;
    for (int i = 0; i < o->reads; i++) {
        const fsim_read *r = &o->read[i];
        if (!r->full || !several(r->stages))
            continue;
        loaded += words(c, r->tensor);
        made += crosses(c, r->tensor, r->stages) ? words(c, r->tensor) : 0;
    }
    for (int i = 0; i < o->members; i++) {
        const fsim_member *m = &o->member[i];
        const fsim_node *n = &c->g->node[m->node];
        if (!m->full || !several(m->stages) || fsim_ops[n->op].class == FSIM_REDUCE ||
            !crosses(c, n->result[0], m->stages))
            continue;
        made += fmax(1, words(c, n->result[0])); /* halves are computed on as floats */
        special = special || n->specials > 0;
    }
    return made > 0 && (special || made < loaded) ? made : loaded;
}

/* Elements of one row, beside each other. */
static bool contiguous(const fsim_read *r)
{
    return r->maps > 0 && r->map[0].modes > r->map[0].split && r->map[0].mode[r->map[0].modes - 1].stride == 1;
}

int fsim_keeping_registers(const fsim_costing *c, int vector, double elems)
{
    const fsim_group *o = c->group;
    double registers = 20 + crossing_words(c) * elems;
    for (int i = 0; i < o->reads; i++) /* what the last walk reads beside the row is loaded while the row is there;
                                          pairs of halves fit in what is free */
        if (o->read[i].full && !several(o->read[i].stages) && contiguous(&o->read[i]) &&
            words(c, o->read[i].tensor) >= 1)
            registers += vector * words(c, o->read[i].tensor);
    return (int)fmin(255, fmax(registers, fmax(FREE, fsim_registers(o->live, vector))));
}

enum { MOST = 255, TWO_BLOCKS = 128 }; /* registers a thread; .. of 256 threads that leave an SM two blocks */

int fsim_tile_registers(const fsim_held_words *w)
{
    enum { SIMT_REST = 20, TENSOR_REST = 12, EACH_GATHERED = 5, EACH_LIVE = 2 };
    const double alone = w->sums + w->fragments + w->staged + EACH_GATHERED * w->gathered +
                         (w->tensor ? TENSOR_REST : SIMT_REST),
                 ahead = alone + w->fragments;
    const bool squeezed = w->tensor && w->threads == FSIM_BLOCK && ahead > TWO_BLOCKS && alone <= TWO_BLOCKS;
    return (int)fmin(MOST,
                     fmax(squeezed ? TWO_BLOCKS : ahead, w->sums + SIMT_REST + EACH_LIVE * fmin(w->live, SIMT_REST)));
}

int fsim_flash_registers(const fsim_held_words *w)
{
    enum { SIMT_REST = 20, TENSOR_REST = 28, AHEAD = 4 };
    return (int)fmin(MOST, w->sums + AHEAD * w->fragments + w->packed + (w->tensor ? TENSOR_REST : SIMT_REST));
}

int fsim_direct_registers(int live) { return (int)fmin(MOST, fmax(FREE, fsim_registers(live, 1))); }

/* Of a tile's side: the largest power of two up to 128, or 64 of elements that come one by one, that is not twice what
 * there is. */
static int side_of(int planned, fsim_tile_edge edge, int least)
{
    int size = edge.alone ? 64 : 128;
    while (size > least && (size > planned || size / 2.0 >= edge.extent))
        size /= 2;
    return size;
}

void fsim_generated_tile(const fsim_costing *c, fsim_kernel *k, fsim_tile_edge rows, fsim_tile_edge columns,
                         bool tensor, int elem_bytes)
{
    enum {
        WIDE = 8192,
        WIDE_ALONE = 4096,
        WARP = 32,
        SIMT_STEP = 8,
        TENSOR_STEP_BYTES = 64,
        SIMT_PAD = 4,
        TENSOR_PAD = 8
    };
    const int m = side_of(k->tile_m, rows, 16), n = side_of(k->tile_n, columns, 32),
              word = elem_bytes > 4 ? elem_bytes / 4 : 1;
    const int elem = tensor || elem_bytes > 4 ? elem_bytes : 4, step = tensor ? TENSOR_STEP_BYTES / elem : SIMT_STEP,
              stages = tensor && !(rows.alone && columns.alone) ? 3 : 2;
    k->block = m * n >= (rows.alone || columns.alone ? WIDE_ALONE : WIDE) ? FSIM_BLOCK : FSIM_BLOCK / 2;
    k->shared_bytes = (tensor ? (m + n) * (step + TENSOR_PAD) : (m + n + 2 * SIMT_PAD) * step) * stages * elem;
    const double sums = (double)m * n / k->block, area = tensor ? sums * WARP : sums,
                 side = exp2(floor(log2(area) / 2)), row = (double)m * step / k->block,
                 column = (double)n * step / k->block;
    const fsim_held_words w = {.threads = k->block,
                               .tensor = tensor,
                               .sums = sums * word,
                               .fragments = (side + area / side) * (tensor ? 0.25 : word),
                               .staged = ((!tensor || rows.alone ? row : 0) + (!tensor || columns.alone ? column : 0)) *
                                         elem / 4,
                               .gathered = (rows.alone ? row : 0) + (columns.alone ? column : 0),
                               .live = c->group->live};
    k->registers = fsim_tile_registers(&w);
}
