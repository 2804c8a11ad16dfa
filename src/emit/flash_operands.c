/* SPDX-License-Identifier: Apache-2.0 */
/* flash_operands.c: where the operands of a chain in tiles lie: their index maps, which neighbours are contiguous, what
 * a causal mask hides. */
#include "emit/flash.h"

#include <string.h>

/* Where the first product is wanted, over (row, column). */
static bool place_of_first(fsim_flash *f, fsim_map *out)
{
    fsim_emitter *e = f->e;
    const int next = e->next, first = fsim_member_of(e->group, e->group->first);
    for (int i = 0; i < e->group->members; i++)
        if (fsim_flash_between(f, i) && fsim_flash_class(f, i) == FSIM_REDUCE)
            e->held[i].name = "";
    fsim_flash_begin_scope(e);
    e->array = first;
    e->array_name = "";
    e->array_wanted = false;
    fsim_value(e, f->intermediate, &(fsim_where){0, f->joint->frame});
    const bool found = e->array_wanted && e->array_at.base == 0;
    *out = e->array_at.map;
    e->array = -1;
    e->array_wanted = false;
    e->next = next;
    memset(e->held, 0, (size_t)e->group->members * sizeof *e->held);
    fsim_flash_begin_scope(e);
    return found;
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

/* The tensor in memory that an operand is, where all that lies between is an order of elements. */
static void resolve(fsim_flash *f, fsim_flash_tile *t)
{
    for (int i; (i = fsim_maker_in(f->e, t->tensor)) >= 0 && fsim_flash_class(f, i) == FSIM_PERMUTE &&
                fsim_flash_node(f, i)->op != FSIM_OP_ROTATE_HALF;) {
        const fsim_access *x = &fsim_flash_node(f, i)->arg[0];
        fsim_map at;
        if (x->how != FSIM_READ_MAP || x->map.split != x->map.modes || !fsim_map_compose(&t->at.map, &x->map, &at))
            return;
        t->at.map = at;
        t->tensor = x->tensor;
    }
}

bool fsim_flash_place_operands(fsim_flash *f)
{
    fsim_emitter *e = f->e;
    fsim_map at, operand[2];
    int rows_from;
    if (!place_of_first(f, &at) || !fsim_tile_rows(e->g, e->group->first, &at, f->joint, &rows_from))
        return false;
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
    const fsim_base row = {.outer = "p", .inner_extent = 1, .reduced = "k", .outer_depth = 1, .reduced_depth = 1};
    const fsim_base column = {.outer = "p0",
                              .inner = "c",
                              .inner_extent = e->group->width,
                              .reduced = "k",
                              .inner_depth = 1,
                              .reduced_depth = 1};
    const fsim_base result = {.outer = "p0",
                              .inner = "j",
                              .inner_extent = f->maps.columns,
                              .reduced = "c",
                              .inner_depth = 1,
                              .reduced_depth = 1};
    f->rows.at = (fsim_where){fsim_add_base(e, row), mine};
    f->rows.tensor = a->tensor;
    f->one.at = (fsim_where){fsim_add_base(e, column), other};
    f->one.tensor = b->tensor;
    f->two.at = (fsim_where){fsim_add_base(e, result), f->maps.other};
    f->two.tensor = f->second->arg[1 - f->joint->side].tensor;
    resolve(f, &f->rows);
    resolve(f, &f->one);
    resolve(f, &f->two);
    /* digits of the row that move another operand number the batches; the others a batch's rows */
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
    f->batch_rows = e->group->rows / f->batches;
    return true;
}

bool fsim_flash_reduced_contiguous(const fsim_map *m)
{
    for (int i = m->split; i < m->modes; i++)
        if (m->mode[i].stride == 1)
            return true;
    return false;
}

bool fsim_flash_in_eights(const fsim_flash *f, const fsim_flash_tile *t, bool reduced)
{
    const fsim_map *m = &t->at.map;
    const int last = (reduced ? m->modes : m->split) - 1;
    if (!f->tensor || fsim_maker_in(f->e, t->tensor) >= 0 || m->offset % 8 != 0 || last < (reduced ? m->split : 0) ||
        m->mode[last].stride != 1)
        return false;
    for (int i = 0; i < m->modes; i++)
        if (i == last ? m->mode[i].extent % 8 != 0 : m->mode[i].stride % 8 != 0)
            return false;
    return true;
}

/* Does the causal mask lie where (row, column) is the element's own number? */
static bool masked_in_place(const fsim_flash *f, int tensor, const fsim_map *at)
{
    const int i = fsim_maker_in(f->e, tensor);
    if (!fsim_flash_between(f, i) || fsim_flash_class(f, i) == FSIM_REDUCE ||
        fsim_flash_class(f, i) == FSIM_CONTRACTION)
        return false;
    const fsim_node *n = fsim_flash_node(f, i);
    if (n->op == FSIM_OP_CAUSAL_MASK) {
        fsim_map own = {0};
        fsim_map_push(&own, f->e->group->rows, f->e->group->width);
        own.split = own.modes;
        fsim_map_push(&own, f->e->group->width, 1);
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

bool fsim_flash_leaves_out(const fsim_flash *f)
{
    const fsim_group *o = f->e->group;
    bool nothing = o->causal > 0 && o->width == o->causal && f->batch_rows % o->causal == 0 && f->peak >= 0 &&
                   f->linear[fsim_maker_in(f->e, f->intermediate)] && fsim_map_is_identity(&f->order) &&
                   !fsim_flash_writes_elements(f);
    for (int i = 0; i < o->members && nothing; i++)
        if (fsim_flash_between(f, i) && fsim_flash_class(f, i) == FSIM_REDUCE)
            nothing = i == f->peak || (fsim_flash_is_late(f, i) &&
                                       f->linear[fsim_maker_in(f->e, fsim_flash_node(f, i)->arg[0].tensor)]);
    return nothing && masked_in_place(f, f->intermediate, &f->joint->frame);
}
