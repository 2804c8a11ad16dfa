/* SPDX-License-Identifier: Apache-2.0 */
/* tile.c: which contractions of a group share a tile, and how large it is. */
#include "emit/tile.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TILES = 16, MOST_PARTIAL = 1 << 28, MOST_EXTENT = 1 << 30 };
enum { UNPLANNED = 64 }; /* side of the tile where the price has none */
enum {
    FEW = 64,
    ROOMY = 112
}; /* registers of 128, without tensor units: closer to them, tiles that are loaded in an unlucky order spill; with FEW
      the compiler spills nothing of its own accord */

/* Digits of the result that are of one class, outermost first, with what each of three maps does with them. */
typedef enum { BATCH, ROWS, COLUMNS } part;
typedef enum { RESULT, LEFT, RIGHT, MAPS } moved;
typedef struct {
    int count;
    int64_t extent[FSIM_MAX_MODES], stride[MAPS][FSIM_MAX_MODES];
    part of[FSIM_MAX_MODES];
    fsim_map k[MAPS]; /* LEFT, RIGHT: the reduced digits behind the split, and the offset */
} digits;

static void add(digits *d, int64_t extent, int64_t result, int64_t left, int64_t right, part of)
{
    if (extent == 1 || d->count == FSIM_MAX_MODES)
        return;
    d->extent[d->count] = extent;
    d->stride[RESULT][d->count] = result;
    d->stride[LEFT][d->count] = left;
    d->stride[RIGHT][d->count] = right;
    d->of[d->count++] = of;
}

/* The digits of `of`, as map `which` moves them. */
static void push_part(const digits *d, part of, moved which, fsim_map *m)
{
    for (int i = 0; i < d->count; i++)
        if (d->of[i] == of)
            fsim_map_push(m, d->extent[i], d->stride[which][i]);
}

static int64_t extent_of(const digits *d, part of)
{
    int64_t n = 1;
    for (int i = 0; i < d->count; i++)
        n *= d->of[i] == of ? d->extent[i] : 1;
    return n;
}

/* A matrix product's digits; whose operand is the columns' in *swapped: the first's. */
static bool product_digits(const fsim_node *n, digits *d, bool *swapped)
{
    fsim_map x, y;
    if (n->arg[0].how != FSIM_READ_MAP || n->arg[1].how != FSIM_READ_MAP ||
        !fsim_map_align(&n->arg[0].map, &n->arg[1].map, &x, &y) || x.modes > FSIM_MAX_MODES)
        return false;
    int64_t place = fsim_map_points(&x);
    if (place != n->points)
        return false;
    *swapped = x.modes > 0 && y.mode[y.modes - 1].stride == 0 && x.mode[x.modes - 1].stride != 0;
    for (int i = 0; i < x.modes; i++) {
        const bool first = x.mode[i].stride != 0, second = y.mode[i].stride != 0;
        place /= x.mode[i].extent;
        add(d, x.mode[i].extent, place, x.mode[i].stride, y.mode[i].stride,
            first && second      ? BATCH
            : second != *swapped ? COLUMNS
                                 : ROWS);
    }
    d->k[LEFT] = n->arg[0].map;
    d->k[RIGHT] = n->arg[1].map;
    return true;
}

/* A convolution's: result and input by image, group, filter and pixel; k by channel and taps. Rows are filters, columns
 * images and pixels. */
static bool convolution_digits(const fsim_emitter *e, const fsim_node *n, digits *d, bool *padded)
{
    const fsim_access *x = &n->arg[0];
    const int64_t groups = n->gemm.batch, filters = n->gemm.n;
    int64_t taps = 1, pixels = 1, inputs = 1;
    if (x->how != FSIM_READ_WINDOW || n->arg[1].how != FSIM_READ_MAP || filters < FSIM_LEAST_FILTERS)
        return false;
    *padded = false;
    for (int i = 0; i < x->axes; i++) {
        taps *= x->axis[i].taps;
        pixels *= x->axis[i].out;
        inputs *= x->axis[i].extent;
        *padded = *padded || x->axis[i].pad > 0;
    }
    const int64_t channels = n->gemm.k / taps, images = n->points / (groups * filters * pixels);
    if (images * groups * filters * pixels != n->points ||
        images * groups * channels * inputs > e->g->tensor[x->tensor].elems)
        return false;
    add(d, images, groups * filters * pixels, groups * channels * inputs, 0, COLUMNS);
    add(d, groups, filters * pixels, channels * inputs, filters * n->gemm.k, BATCH);
    add(d, filters, pixels, 0, n->gemm.k, ROWS);
    int64_t below = inputs, place = pixels;
    fsim_map k = {0};
    fsim_map_push(&k, channels, inputs);
    for (int i = 0; i < x->axes; i++) {
        const fsim_axis *a = &x->axis[i];
        below /= a->extent;
        place /= a->out;
        add(d, a->out, place, a->stride * below, 0, COLUMNS);
        fsim_map_push(&k, a->taps, a->dilation * below);
    }
    k.offset = x->map.offset;
    d->k[LEFT] = k;
    d->k[RIGHT] = (fsim_map){.offset = n->arg[1].map.offset};
    fsim_map_push(&d->k[RIGHT], n->gemm.k, 1);
    return true;
}

/* Neighbours along the digit inner, `by` at a time, lie beside each other and start at a multiple of it. */
static bool beside(const fsim_map *m, int inner, int by)
{
    if (m->offset % by != 0 || m->mode[inner].stride != 1 || m->mode[inner].extent % by != 0)
        return false;
    for (int i = 0; i < m->modes; i++)
        if (i != inner && m->mode[i].stride % by != 0)
            return false;
    return true;
}

static void side_of(const fsim_emitter *e, const fsim_access *x, const digits *d, part rows, moved which, bool padded,
                    fsim_tile_side *out)
{
    fsim_map m = {.offset = d->k[which].offset};
    *out = (fsim_tile_side){.access = x, .window = padded, .extent = extent_of(d, rows), .vector = 1};
    push_part(d, BATCH, which, &m);
    const int batch = m.modes;
    push_part(d, rows, which, &m);
    m.split = m.modes;
    for (int i = d->k[which].split; i < d->k[which].modes; i++)
        fsim_map_push(&m, d->k[which].mode[i].extent, d->k[which].mode[i].stride);
    out->map = m;
    if (padded || m.modes > FSIM_MAX_MODES)
        return;
    const bool rows_move = m.split > batch, k_moves = m.modes > m.split;
    const int64_t row_stride = rows_move ? llabs(m.mode[m.split - 1].stride) : INT64_MAX,
                  k_stride = k_moves ? llabs(m.mode[m.modes - 1].stride) : INT64_MAX;
    out->along_k = k_stride <= row_stride;
    out->map = m = fsim_map_simplify(m);
    const int inner = out->along_k ? m.modes - 1 : m.split - 1;
    if (k_moves || rows_move)
        for (int by = 16 / fsim_dtype_bytes(e->g->tensor[x->tensor].dtype); by > 1 && out->vector == 1; by /= 2)
            out->vector = beside(&m, inner, by) && (out->along_k || out->extent % by == 0) ? by : 1;
}

bool fsim_tile_product_of(const fsim_emitter *e, int member, fsim_tile_product *out)
{
    const fsim_node *n = &e->g->node[e->group->member[member].node];
    digits d = {0};
    bool padded = false;
    *out = (fsim_tile_product){.member = member, .node = n, .depth = n->gemm.k};
    if (fsim_ops[n->op].class != FSIM_CONTRACTION || n->args != 2)
        return false;
    if (n->gemm.convolution ? !convolution_digits(e, n, &d, &padded) : !product_digits(n, &d, &out->swapped))
        return false;
    out->swapped = out->swapped || n->gemm.convolution;
    const int first = out->swapped ? 1 : 0;
    side_of(e, &n->arg[first], &d, ROWS, first ? RIGHT : LEFT, padded && first == 0, &out->side[0]);
    side_of(e, &n->arg[1 - first], &d, COLUMNS, first ? LEFT : RIGHT, padded && first == 1, &out->side[1]);
    push_part(&d, BATCH, RESULT, &out->result);
    push_part(&d, ROWS, RESULT, &out->result);
    push_part(&d, COLUMNS, RESULT, &out->result);
    out->result.split = out->result.modes;
    out->result = fsim_map_simplify(out->result);
    out->batch = extent_of(&d, BATCH);
    out->rows = out->side[0].extent;
    out->columns = out->side[1].extent;
    for (int i = 0; i < 2; i++)
        if (out->side[i].map.modes > FSIM_MAX_MODES)
            return false;
    return out->batch * out->rows * out->columns == n->points && n->points > 0 && n->gemm.k > 0 &&
           out->rows <= MOST_EXTENT && out->columns <= MOST_EXTENT && out->depth <= MOST_EXTENT;
}

/* Sizes. */

static const char *kind_of(const fsim_emitter *e, const fsim_node *n, bool *tensor)
{
    static const char *const simple[FSIM_C_COUNT] = {"f", "d", "i", "l"};
    const fsim_ctype c = fsim_ctype_of(e->g->tensor[n->result[0]].dtype);
    const fsim_dtype a = n->gemm.arithmetic;
    *tensor = e->hw->arch->mma && c == FSIM_C_FLOAT && (a == FSIM_F16 || a == FSIM_BF16 || a == FSIM_TF32);
    return !*tensor ? simple[c] : a == FSIM_F16 ? "f16" : a == FSIM_BF16 ? "bf16" : "tf32";
}

/* Bytes of an element of the products' arithmetic, as it lies in shared memory. */
static int staged_elem(const fsim_tile_plan *p, fsim_dtype wanted)
{
    return p->tensor ? fsim_dtype_bytes(wanted) : *p->kind == 'd' || *p->kind == 'l' ? 8 : 4;
}

static fsim_tile_operand operand_of(const fsim_emitter *e, const fsim_tile_side *s, fsim_dtype wanted)
{
    const int tensor = s->access->tensor;
    return (fsim_tile_operand){.extent = s->extent,
                               .vector = s->vector,
                               .along_k = s->along_k,
                               .verbatim =
                                   !s->window && e->g->tensor[tensor].dtype == wanted && fsim_maker_in(e, tensor) < 0};
}

const fsim_tile_side *fsim_tile_side_of(const fsim_tile_plan *p, int operand)
{
    return operand == 0 ? &p->product[0].side[0] : &p->product[operand - 1].side[1];
}

bool fsim_tile_size(const fsim_emitter *e, fsim_tile_plan *p, int threads)
{
    const fsim_tile_product *a = &p->product[0];
    const fsim_kernel *k = e->kernel;
    const int planned_m = k->tile_m > 0 ? k->tile_m : UNPLANNED, planned_n = k->tile_n > 0 ? k->tile_n : UNPLANNED;
    p->kind = kind_of(e, a->node, &p->tensor);
    const fsim_dtype wanted = a->node->gemm.arithmetic == FSIM_TF32 ? FSIM_F32 : a->node->gemm.arithmetic;
    fsim_tile_shape shape = {.products = p->products,
                             .tensor = p->tensor,
                             .elem_bytes = staged_elem(p, wanted),
                             .m = a->swapped ? planned_n : planned_m,
                             .n = a->swapped ? planned_m : planned_n,
                             .live = e->group->live};
    for (int i = 0; i <= p->products; i++)
        shape.operand[i] = operand_of(e, fsim_tile_side_of(p, i), wanted);
    if (!fsim_tile_layout_of(&shape, threads, &p->l))
        return false;
    p->vector = p->tensor ? 2 : 4;
    while (p->vector > 1 && a->columns % p->vector != 0)
        p->vector /= 2;
    p->parts = 1;
    p->blocks = fsim_tile_blocks(&p->l, a->batch, a->rows, a->columns);
    return true;
}

/* Groups. */

/* A contraction that a result is made of, and where its element lies that a point of the result needs. */
typedef struct {
    int count, member[2];
    fsim_map at[2];
    bool broken; /* more of them, or not one to one */
    struct place {
        int tensor;
        fsim_map at;
    } * seen;
    int seens, seen_room;
} origin;

static bool seen_before(const origin *o, int tensor, const fsim_map *m)
{
    for (int i = 0; i < o->seens; i++)
        if (o->seen[i].tensor == tensor && fsim_map_equal(&o->seen[i].at, m))
            return true;
    return false;
}

/* Is some contraction of the group behind the tensor? Members are in topological order. */
static bool made_of_contraction(const fsim_emitter *e, int tensor)
{
    const int last = fsim_maker_in(e, tensor);
    bool *behind = fsim_new(e->a, bool, last + 2);
    for (int i = last; i >= 0; i--) {
        const fsim_node *n = &e->g->node[e->group->member[i].node];
        if (!behind[i] && i != last)
            continue;
        if (fsim_ops[n->op].class == FSIM_CONTRACTION)
            return true;
        for (int k = 0; k < n->args; k++) {
            const int from = fsim_maker_in(e, n->arg[k].tensor);
            if (from >= 0)
                behind[from] = true;
        }
    }
    return false;
}

/* Follows tensor, wanted at m over the kernel's points, to the contractions that it comes from. */
static void trace(const fsim_emitter *e, int tensor, const fsim_map *m, origin *o)
{
    const int member = fsim_maker_in(e, tensor);
    if (member < 0 || o->broken || seen_before(o, tensor, m))
        return;
    const fsim_node *n = &e->g->node[e->group->member[member].node];
    const fsim_class class = fsim_ops[n->op].class;
    *FSIM_PUSH(e->a, o->seen, o->seens, o->seen_room) = (struct place){tensor, *m};
    if (class == FSIM_CONTRACTION) {
        for (int i = 0; i < o->count; i++)
            if (o->member[i] == member) {
                o->broken = !fsim_map_equal(&o->at[i], m);
                return;
            }
        if (o->count == 2) {
            o->broken = true;
            return;
        }
        o->member[o->count] = member;
        o->at[o->count++] = *m;
        return;
    }
    for (int i = 0; i < n->args && !o->broken; i++) {
        fsim_map at = {0};
        const bool plain = n->arg[i].how == FSIM_READ_MAP && class != FSIM_REDUCE && class != FSIM_WINDOW &&
                           fsim_map_compose(m, &n->arg[i].map, &at);
        if (plain) {
            trace(e, n->arg[i].tensor, &at, o);
            continue;
        }
        o->broken = made_of_contraction(e, n->arg[i].tensor); /* may be anything else */
    }
}

typedef struct {
    fsim_tile_plan plan[MOST_TILES];
    int plans;
    int *of; /* per write: its plan; -1: stored in passing */
} tiling;

static int plan_of(const tiling *t, int member)
{
    for (int i = 0; i < t->plans; i++)
        for (int k = 0; k < t->plan[i].products; k++)
            if (t->plan[i].product[k].member == member)
                return i;
    return -1;
}

/* Both results of a tile lie at the same places, from the same rows. */
static bool meet(const fsim_tile_product *a, const fsim_tile_product *b)
{
    return a->batch == b->batch && a->rows == b->rows && a->columns == b->columns && a->depth == b->depth &&
           a->swapped == b->swapped && fsim_map_equal(&a->result, &b->result) &&
           fsim_map_equal(&a->points, &b->points) && a->side[0].access->tensor == b->side[0].access->tensor &&
           a->side[0].window == b->side[0].window && fsim_map_equal(&a->side[0].map, &b->side[0].map);
}

static bool add_product(const fsim_emitter *e, fsim_tile_plan *p, int member, const fsim_map *at)
{
    fsim_tile_product *a = &p->product[p->products];
    if (p->products == 2 || !fsim_tile_product_of(e, member, a) || fsim_map_points(at) != a->node->points ||
        !fsim_invert(at, &a->points))
        return false;
    p->products++;
    return p->products == 1 || meet(&p->product[0], a);
}

/* The plan of a result's contractions, made where there is none; -1. */
static int plan_for(const fsim_emitter *e, tiling *t, const origin *o)
{
    int found = -1;
    for (int i = 0; i < o->count; i++) {
        const int p = plan_of(t, o->member[i]);
        if (p >= 0 && found >= 0 && p != found)
            return -1;
        found = p >= 0 ? p : found;
    }
    if (found < 0 && t->plans < MOST_TILES)
        t->plan[found = t->plans++] = (fsim_tile_plan){0};
    for (int i = 0; i < o->count && found >= 0; i++) {
        fsim_map back;
        fsim_tile_plan *p = &t->plan[found];
        if (plan_of(t, o->member[i]) < 0) {
            if (!add_product(e, p, o->member[i], &o->at[i]))
                return -1;
            continue;
        }
        const int k = p->product[0].member == o->member[i] ? 0 : 1;
        if (!fsim_invert(&o->at[i], &back) || !fsim_map_equal(&back, &p->product[k].points))
            return -1;
    }
    return found;
}

/* Every result to a plan. */
static bool assign(fsim_emitter *e, tiling *t)
{
    const fsim_group *o = e->group;
    for (int i = 0; i < o->writes; i++) {
        const fsim_write *w = &o->write[i];
        const fsim_map at = w->map;
        origin from = {0};
        t->of[i] = -1;
        trace(e, w->tensor, &at, &from);
        if (from.broken || at.split != at.modes)
            return false;
        if (from.count > 0 && (t->of[i] = plan_for(e, t, &from)) < 0)
            return false;
    }
    for (int i = 0; i < o->writes;
         i++) { /* what comes from no contraction: an operand's producer, or beside one's results */
        const int member = fsim_maker_in(e, o->write[i].tensor);
        if (t->of[i] >= 0)
            continue;
        if (!o->member[member].prologue &&
            (o->contractions > 1 || t->plans != 1 || fsim_map_points(&o->write[i].map) != o->points))
            return false;
        if (!o->member[member].prologue)
            t->of[i] = 0;
        else if (t->plans == 0 || e->g->node[o->anchor].arg[0].how == FSIM_READ_WINDOW)
            return false;
    }
    for (int i = 0; i < o->members; i++)
        if (fsim_ops[e->g->node[o->member[i].node].op].class == FSIM_CONTRACTION && plan_of(t, i) < 0)
            return false;
    return t->plans > 0;
}

/* Parts of the depth, as the plan has them. */
static void split(fsim_emitter *e, fsim_tile_plan *p)
{
    const fsim_tile_product *a = &p->product[0];
    const int64_t steps = (a->depth + p->l.step - 1) / p->l.step,
                  wanted = e->kernel->split_k < steps ? e->kernel->split_k : steps;
    if (wanted < 2 || wanted * a->node->points > MOST_PARTIAL)
        return;
    const fsim_ctype t = fsim_ctype_of(e->g->tensor[a->node->result[0]].dtype);
    p->span = (steps + wanted - 1) / wanted * p->l.step;
    p->parts = (int)((a->depth + p->span - 1) / p->span);
    p->partial = fsim_scratch(e, fsim_ctype_names[t],
                              p->parts * a->node->points * (t == FSIM_C_DOUBLE || t == FSIM_C_LONG ? 8 : 4));
}

bool fsim_emit_tile(fsim_emitter *e)
{
    const fsim_group *o = e->group;
    tiling *t = fsim_new(e->a, tiling, 1);
    t->of = fsim_new(e->a, int, o->writes + 1);
    if (o->anchor < 0 || !assign(e, t))
        return false;
    int threads = 0, shared_bytes = 0, registers = 0;
    int64_t grid = 0;
    bool in_passing = false, *own = fsim_new(e->a, bool, o->writes + 1);
    for (int i = 0; i < t->plans; i++) {
        if (!fsim_tile_size(e, &t->plan[i], 0))
            return false;
        threads = t->plan[i].l.threads > threads ? t->plan[i].l.threads : threads;
    }
    for (int i = 0; i < t->plans; i++) {
        if (t->plan[i].l.threads != threads && !fsim_tile_size(e, &t->plan[i], threads))
            return false;
        shared_bytes = t->plan[i].l.shared_bytes > shared_bytes ? t->plan[i].l.shared_bytes : shared_bytes;
        registers = t->plan[i].l.registers > registers ? t->plan[i].l.registers : registers;
        grid += t->plan[i].blocks;
    }
    for (int i = 0; i < o->writes; i++) {
        e->stored[fsim_maker_in(e, o->write[i].tensor)] = t->of[i] >= 0;
        in_passing = in_passing || t->of[i] < 0;
    }
    fsim_tile_plan *first = &t->plan[0];
    if (t->plans == 1 && first->products == 1 && !in_passing)
        split(e, first);
    fsim_begin_held_entry(e, grid * first->parts, threads, shared_bytes, registers,
                          registers > FEW && (first->tensor || registers <= ROOMY));
    e->program->sm = first->tensor ? 80 : 0;
    fsim_schedule *s = &e->program->schedule;
    s->tile_m = first->product[0].swapped ? first->l.n : first->l.m;
    s->tile_n = first->product[0].swapped ? first->l.m : first->l.n;
    s->split_k = first->parts;
    grid = 0;
    for (int i = 0; i < t->plans; i++) {
        for (int k = 0; k < o->writes; k++)
            own[k] = t->of[k] == i;
        fsim_tile_text(e, &t->plan[i], grid, own);
        grid += t->plan[i].blocks;
    }
    fsim_end_entry(e);
    if (first->parts > 1) {
        fsim_begin_entry(e, fsim_tile_sum_blocks(first), threads, 0);
        fsim_tile_sum_text(e, first, own);
        fsim_end_entry(e);
    }
    return true;
}
