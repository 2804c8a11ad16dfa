/* SPDX-License-Identifier: Apache-2.0 */
/* chained.c: where the operands of a chain in tiles are in memory, which columns a causal mask hides, and how blocks
 * share the chain. */
#include "kernel/chained.h"

#include "kernel/registers.h"
#include "kernel/rows.h"
#include <stdlib.h>

enum { MOST_PARTIAL = 1000000000 }; /* most partial results, of all blocks that share rows together */

bool fsim_chain_maps_of(const fsim_node *second, const fsim_joint *j, fsim_chain_maps *out)
{
    const fsim_access *made = &second->arg[j->side], *other = &second->arg[1 - j->side];
    fsim_map x = made->map, y = other->map, mine, theirs, place;
    x.modes = x.split;
    y.modes = y.split;
    if (!fsim_map_align(&x, &y, &mine, &theirs))
        return false;
    place = fsim_place_of(&mine);
    *out = (fsim_chain_maps){.result = {0}, .other = {.offset = other->map.offset}, .columns = 1};
    bool taken[FSIM_MAX_MODES] = {false};
    for (bool more = true; more;) {
        int largest = -1;
        for (int i = 0; i < mine.modes; i++)
            if (!taken[i] && mine.mode[i].stride != 0 &&
                (largest < 0 || llabs(mine.mode[i].stride) > llabs(mine.mode[largest].stride)))
                largest = i;
        more = largest >= 0;
        if (!more)
            break;
        taken[largest] = true;
        fsim_map_push(&out->result, mine.mode[largest].extent, place.mode[largest].stride);
        fsim_map_push(&out->other, mine.mode[largest].extent, theirs.mode[largest].stride);
    }
    for (int i = 0; i < mine.modes; i++)
        if (!taken[i]) {
            fsim_map_push(&out->result, mine.mode[i].extent, place.mode[i].stride);
            fsim_map_push(&out->other, mine.mode[i].extent, theirs.mode[i].stride);
            out->columns *= mine.mode[i].extent;
        }
    out->result.split = out->result.modes;
    out->other.split = out->other.modes;
    for (int i = other->map.split; i < other->map.modes; i++)
        fsim_map_push(&out->other, other->map.mode[i].extent, other->map.mode[i].stride);
    return out->other.modes <= FSIM_MAX_MODES && out->result.modes <= FSIM_MAX_MODES;
}

static fsim_map points_of(fsim_map m)
{
    m.modes = m.split;
    return m;
}

static bool push_digits(fsim_map *to, const fsim_map *from, int first, int end)
{
    for (int i = first; i < end; i++)
        fsim_map_push(to, from->mode[i].extent, from->mode[i].stride);
    return to->modes <= FSIM_MAX_MODES;
}

/* Finds the tensor in memory that an operand is a view of: only permutations may lie between the two. */
static void resolve(const fsim_chained *f, fsim_chained_tile *t)
{
    for (int i; (i = fsim_chained_maker(f, t->tensor)) >= 0 && fsim_chained_class(f, i) == FSIM_PERMUTE &&
                fsim_chained_node(f, i)->op != FSIM_OP_ROTATE_HALF;) {
        const fsim_access *x = &fsim_chained_node(f, i)->arg[0];
        fsim_map at;
        if (x->how != FSIM_READ_MAP || x->map.split != x->map.modes || !fsim_map_compose(&t->at, &x->map, &at))
            return;
        t->at = at;
        t->tensor = x->tensor;
    }
}

static bool place_operands(fsim_chained *f)
{
    fsim_map operand[2];
    const fsim_map at = f->joint->at;
    const int rows_from = f->joint->rows_from;
    for (int k = 0; k < 2; k++) {
        const fsim_map points = points_of(f->first->arg[k].map);
        if (!fsim_map_compose(&at, &points, &operand[k]))
            return false;
    }
    const fsim_access *a = &f->first->arg[rows_from], *b = &f->first->arg[1 - rows_from];
    fsim_map mine = {.offset = operand[rows_from].offset}, other = {.offset = operand[1 - rows_from].offset};
    if (!push_digits(&mine, &operand[rows_from], 0, operand[rows_from].split))
        return false;
    mine.split = mine.modes;
    if (!push_digits(&mine, &a->map, a->map.split, a->map.modes) ||
        !push_digits(&other, &operand[1 - rows_from], 0, operand[1 - rows_from].modes))
        return false;
    other.split = other.modes;
    if (!push_digits(&other, &b->map, b->map.split, b->map.modes))
        return false;
    fsim_chained_tile *t = f->operand;
    t[FSIM_CHAIN_ROWS] = (fsim_chained_tile){.at = mine, .tensor = a->tensor};
    t[FSIM_CHAIN_FIRST] = (fsim_chained_tile){.at = other, .tensor = b->tensor};
    t[FSIM_CHAIN_SECOND] =
        (fsim_chained_tile){.at = f->maps.other, .tensor = f->second->arg[1 - f->joint->side].tensor};
    for (int i = 0; i < FSIM_CHAIN_OPERANDS; i++)
        resolve(f, &t[i]);
    /* row digits that the other operand depends on number the batches; the others number the rows of a batch */
    const fsim_map columns = points_of(operand[1 - rows_from]);
    fsim_map x, y;
    if (!fsim_map_align(&columns, &f->joint->other, &x, &y))
        return false;
    const fsim_map place = fsim_place_of(&x);
    f->batches = 1;
    f->order = (fsim_map){0};
    for (int inside = 0; inside < 2; inside++)
        for (int i = 0; i < x.modes; i++)
            if ((x.mode[i].stride == 0 && y.mode[i].stride == 0) == inside) {
                f->batches *= inside ? 1 : x.mode[i].extent;
                fsim_map_push(&f->order, x.mode[i].extent, place.mode[i].stride);
            }
    f->order.split = f->order.modes;
    f->order = fsim_map_simplify(f->order);
    f->batch_rows = f->group->rows / f->batches;
    return true;
}

bool fsim_chained_reduced_contiguous(const fsim_map *m)
{
    for (int i = m->split; i < m->modes; i++)
        if (m->mode[i].stride == 1)
            return true;
    return false;
}

static bool in_eights(const fsim_chained *f, const fsim_chained_tile *t, bool reduced)
{
    const fsim_map *m = &t->at;
    const int last = (reduced ? m->modes : m->split) - 1;
    if (!f->tensor || fsim_chained_maker(f, t->tensor) >= 0 || m->offset % 8 != 0 || last < (reduced ? m->split : 0) ||
        m->mode[last].stride != 1)
        return false;
    for (int i = 0; i < m->modes; i++)
        if (i == last ? m->mode[i].extent % 8 != 0 : m->mode[i].stride % 8 != 0)
            return false;
    return true;
}

/* Is the causal mask applied in place, with (row, column) as its own indices? */
static bool masked_in_place(const fsim_chained *f, int tensor, const fsim_map *at)
{
    const int i = fsim_chained_maker(f, tensor);
    if (!fsim_chained_between(f, i) || fsim_chained_class(f, i) == FSIM_REDUCE ||
        fsim_chained_class(f, i) == FSIM_CONTRACTION)
        return false;
    const fsim_node *n = fsim_chained_node(f, i);
    if (n->op == FSIM_OP_CAUSAL_MASK) {
        fsim_map own = {0};
        fsim_map_push(&own, f->group->rows, f->group->width);
        own.split = own.modes;
        fsim_map_push(&own, f->group->width, 1);
        const fsim_map simple = fsim_map_simplify(*at);
        own = fsim_map_simplify(own);
        return fsim_map_equal(&simple, &own);
    }
    for (int k = 0; k < n->args; k++) {
        fsim_map there;
        if (n->arg[k].how == FSIM_READ_MAP && fsim_map_compose(at, &n->arg[k].map, &there) &&
            masked_in_place(f, n->arg[k].tensor, &there))
            return true;
    }
    return false;
}

static bool leaves_out(const fsim_chained *f)
{
    const fsim_group *o = f->group;
    bool nothing = o->causal > 0 && o->width == o->causal && f->batch_rows % o->causal == 0 && f->peak >= 0 &&
                   f->linear[fsim_chained_maker(f, f->intermediate)] && fsim_map_is_identity(&f->order) &&
                   !fsim_chained_writes_elements(f);
    for (int i = 0; i < o->members && nothing; i++)
        if (fsim_chained_between(f, i) && fsim_chained_class(f, i) == FSIM_REDUCE)
            nothing = i == f->peak || (fsim_chained_is_late(f, i) &&
                                       f->linear[fsim_chained_maker(f, fsim_chained_node(f, i)->arg[0].tensor)]);
    return nothing && masked_in_place(f, f->intermediate, &f->joint->frame);
}

bool fsim_chained_on_tensor_cores(const fsim_graph *g, const fsim_hw *hw, const fsim_node *first,
                                  const fsim_node *second)
{
    const fsim_dtype t = first->gemm.arithmetic;
    bool same = hw->arch->mma && (t == FSIM_F16 || t == FSIM_BF16) && second->gemm.arithmetic == t &&
                fsim_ctype_of(g->tensor[first->result[0]].dtype) == FSIM_C_FLOAT;
    for (int k = 0; k < 2 && same; k++)
        same = g->tensor[first->arg[k].tensor].dtype == t && g->tensor[second->arg[k].tensor].dtype == t;
    return same;
}

static bool analyse(fsim_chained *f)
{
    const fsim_graph *g = f->g;
    if (!fsim_chain_maps_of(f->second, f->joint, &f->maps))
        return false;
    f->intermediate = f->second->arg[f->joint->side].tensor;
    f->type = fsim_ctype_of(g->tensor[f->first->result[0]].dtype);
    return f->type <= FSIM_C_DOUBLE && fsim_ctype_of(g->tensor[f->second->result[0]].dtype) == f->type &&
           fsim_ctype_of(g->tensor[f->intermediate].dtype) == f->type && fsim_chained_choose_form(f) &&
           place_operands(f);
}

/* An operand that is a cast of 8-bit floats in memory, and nothing else, is read from there: the cast is exact. */
static void read_narrow(const fsim_chained *f, fsim_chained_tile *t, bool even)
{
    const int i = fsim_chained_maker(f, t->tensor);
    if (i < 0 || fsim_chained_node(f, i)->op != FSIM_OP_CAST)
        return;
    const fsim_access *x = &fsim_chained_node(f, i)->arg[0];
    const fsim_dtype stored = f->g->tensor[x->tensor].dtype;
    fsim_chained_tile from = *t;
    if ((stored != FSIM_F8E4M3 && stored != FSIM_F8E5M2) || x->how != FSIM_READ_MAP || x->map.split != x->map.modes ||
        !fsim_map_compose(&t->at, &x->map, &from.at))
        return;
    from.tensor = x->tensor;
    resolve(f, &from);
    from.along = fsim_chained_reduced_contiguous(&from.at);
    from.widened = from.along == t->along && even && in_eights(f, &from, from.along);
    if (from.widened)
        *t = from;
}

/* Tensor cores can read an operand in the order of memory. The text for other units has one fixed order. */
static void settle_operands(fsim_chained *f)
{
    fsim_chained_tile *rows = &f->operand[FSIM_CHAIN_ROWS], *one = &f->operand[FSIM_CHAIN_FIRST],
                      *two = &f->operand[FSIM_CHAIN_SECOND];
    if (!f->tensor)
        return;
    one->along = fsim_chained_reduced_contiguous(&one->at);
    two->along = fsim_chained_reduced_contiguous(&two->at);
    rows->copied = in_eights(f, rows, true);
    const bool one_even = one->along || f->group->width % 8 == 0,
               two_even = (two->along ? f->group->width : f->maps.columns) % 8 == 0;
    one->copied = in_eights(f, one, one->along) && one_even;
    two->copied = in_eights(f, two, two->along) && two_even;
    read_narrow(f, one, one_even);
    read_narrow(f, two, two_even);
}

fsim_chained *fsim_chained_of(const fsim_graph *g, const fsim_hw *hw, const fsim_group *group, fsim_arena *a)
{
    fsim_chained *f = fsim_new(a, fsim_chained, 1);
    *f = (fsim_chained){.g = g,
                        .group = group,
                        .joint = group->joint,
                        .first = &g->node[group->first],
                        .second = &g->node[group->anchor],
                        .peak = -1,
                        .power = -1,
                        .kept = -1};
    f->passes = fsim_new(a, int, group->members + 1);
    f->linear = fsim_new(a, bool, group->members + 1);
    f->scaled = fsim_new(a, bool, group->members + 1);
    for (int i = 0; i < group->members; i++)
        f->passes[i] = -1;
    if (!analyse(f))
        return NULL;
    f->tensor = fsim_chained_on_tensor_cores(g, hw, f->first, f->second);
    f->elem_bytes = f->tensor ? 2 : f->type == FSIM_C_DOUBLE ? 8 : 4;
    settle_operands(f);
    f->causal = leaves_out(f);
    return f;
}

/* Reductions between the products. */
static int reductions_of(const fsim_chained *f)
{
    int reductions = 0;
    for (int i = 0; i < f->group->members; i++)
        reductions += fsim_chained_between(f, i) && fsim_chained_class(f, i) == FSIM_REDUCE;
    return reductions;
}

/* Where rows are few, several blocks share each row's width. Their partial results must be combinable. */
static void choose_pieces(const fsim_chained *f, int split, fsim_chained_layout *out)
{
    const fsim_group *o = f->group;
    bool between_written = false;
    out->pieces = 1;
    out->piece = o->width;
    for (int i = 0; i < o->writes; i++)
        between_written = between_written || o->member[fsim_chained_maker(f, o->write[i].tensor)].middle;
    if (!f->online || o->strict || f->causal || between_written)
        return;
    int64_t piece;
    const int64_t pieces = fsim_chain_pieces(o->width, out->l.n, split, &piece);
    if ((double)pieces * (double)o->rows * (double)(f->maps.columns + reductions_of(f)) < MOST_PARTIAL) {
        out->pieces = pieces;
        out->piece = piece;
    }
}

bool fsim_chained_lay_out(const fsim_chained *f, const fsim_hw *hw, fsim_tile_wish wish, fsim_chained_layout *out,
                          fsim_schedule *s)
{
    const fsim_chain_request request = {.batch_rows = f->batch_rows,
                                        .width = f->group->width,
                                        .depth = f->first->reduced,
                                        .columns = f->maps.columns,
                                        .tensor = f->tensor,
                                        .groups = hw->arch->wgmma && f->operand[FSIM_CHAIN_FIRST].copied &&
                                                  f->operand[FSIM_CHAIN_SECOND].copied,
                                        .elem_bytes = f->elem_bytes,
                                        .whole = fsim_chained_whole(f),
                                        .first_along_k = f->operand[FSIM_CHAIN_FIRST].along,
                                        .second_along_width = f->operand[FSIM_CHAIN_SECOND].along,
                                        .shares = f->online,
                                        .reductions = reductions_of(f),
                                        .shared_most = (int64_t)fsim_hw_get(hw, FSIM_HW_SHARED_PER_BLOCK),
                                        .m = wish.m,
                                        .n = wish.n};
    fsim_chain_layout *l = &out->l;
    if (!fsim_chain_layout_of(&request, l))
        return false;
    choose_pieces(f, wish.split_k, out);
    s->tile_m = l->m;
    s->tile_n = l->n;
    s->split_k = (int)out->pieces;
    s->launches = out->pieces > 1 ? 2 : 1;
    s->grid = f->batches * ((f->batch_rows + l->m - 1) / l->m) * l->chunks * out->pieces;
    s->block = l->threads;
    s->registers = l->registers;
    s->shared_bytes = (int)l->shared_bytes;
    s->stages = l->stages;
    s->vector = 4;
    return true;
}

void fsim_lay_out_chain_rows(const fsim_graph *g, const fsim_group *o, fsim_schedule *s)
{
    const fsim_node *first = &g->node[o->first], *second = &g->node[o->anchor];
    const int64_t values = fsim_ctype_bytes(fsim_ctype_of(g->tensor[first->result[0]].dtype)),
                  places = fsim_ctype_bytes(fsim_ctype_of(g->tensor[second->arg[o->joint->side].tensor].dtype));
    s->launches = s->split_k = s->vector = 1;
    s->tile_m = s->tile_n = s->stages = 0;
    fsim_lay_out_rows(o->rows, o->width, false, s);
    s->row_threads = s->block;
    s->rows_per_block = 1;
    s->grid = o->rows;
    s->registers = fsim_direct_registers(o->live);
    const int64_t bytes = o->width * (values + places) + 16;
    s->shared_bytes = bytes < INT32_MAX ? (int)bytes : INT32_MAX;
}
