/* SPDX-License-Identifier: Apache-2.0 */
/* in_place.c: operators that work in place: what they wrote is what their first argument has from now on, and what that
 * is a view of. */
#include "import/torch/import.h"

#include <string.h>

bool fsim_aten_may_overwrite(const fsim_aten *c, const fsim_torch_value *v)
{
    if (v->base || v->reads > 0)
        return false;
    if (c->in_place || !v->state)
        return c->in_place;
    for (int i = 0; i < c->m->p->outputs; i++) { /* a functional program says so in its signature */
        const fsim_torch_output *o = &c->m->p->output[i];
        if (o->mutation && o->arg.kind == FSIM_TORCH_TENSOR && c->out[0]->name &&
            strcmp(o->arg.text, c->out[0]->name) == 0)
            return true;
    }
    return false;
}

/* A part as indices of its base: start, start + step, ... */
static fsim_torch_value *rows_of(fsim_aten *c, int64_t start, int64_t step, int64_t count)
{
    const fsim_shape rows = {.rank = 1, .dim = {count}};
    fsim_torch_value *index = fsim_aten_step(c, "arange", FSIM_AS("rows", &rows, FSIM_I64), 0, NULL);
    fsim_draft_int(c->x, "start", start);
    fsim_draft_int(c->x, "end", start + (count - 1) * step + 1);
    if (step != 1)
        fsim_draft_int(c->x, "step", step);
    return index;
}

/* Elements start to end of x along dim; NULL: there are none. */
static fsim_torch_value *piece(fsim_aten *c, fsim_torch_value *x, int dim, int64_t start, int64_t end)
{
    fsim_shape s = x->shape;
    if (start >= end)
        return NULL;
    s.dim[dim] = end - start;
    x = fsim_aten_step(c, "slice", FSIM_AS("kept", &s, x->dtype), 1, &x);
    fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){dim});
    fsim_draft_ints(c->x, "start", 1, &start);
    fsim_draft_ints(c->x, "end", 1, &end);
    return x;
}

fsim_torch_value *fsim_aten_with_part(fsim_aten *c, fsim_torch_value *x, const fsim_aten_part *at,
                                      fsim_torch_value *rows)
{
    fsim_torch_value *in[3], *written;
    rows = fsim_aten_cast(c, rows, x->dtype);
    const int64_t count = rows ? rows->shape.dim[at->dim] : 0;
    if (!rows || !x->tensor || count == 0)
        return NULL;
    if (at->in_place || at->step != 1) {
        in[0] = x;
        in[1] = rows_of(c, at->start, at->step, count);
        in[2] = rows;
        written = fsim_aten_step(c, "index_copy", FSIM_AS("written", &x->shape, x->dtype), 3, in);
        fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){at->dim});
        fsim_draft_flag(c->x, "inplace", at->in_place);
        return written;
    }
    int ins = 0;
    if ((in[ins] = piece(c, x, at->dim, 0, at->start)))
        ins++;
    in[ins++] = rows;
    if ((in[ins] = piece(c, x, at->dim, at->start + count, x->shape.dim[at->dim])))
        ins++;
    if (ins == 1)
        return rows;
    written = fsim_aten_step(c, "concat", FSIM_AS("written", &x->shape, x->dtype), ins, in);
    if (written)
        fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){at->dim});
    return written;
}

bool fsim_aten_is_same_view(const fsim_torch_value *x, const fsim_torch_value *y)
{
    if (x == y || (x->tensor && y->tensor && strcmp(x->tensor, y->tensor) == 0))
        return true;
    return x->base && y->base && x->dim == y->dim && x->dim >= -1 && x->start == y->start && x->step == y->step &&
           fsim_aten_same_shape(&x->shape, &y->shape) && fsim_aten_is_same_view(x->base, y->base);
}

/* The base of v with what was written into v, a part of it. */
static fsim_torch_value *with_part(fsim_aten *c, fsim_torch_value *v)
{
    fsim_torch_value *base = v->base;
    fsim_shape rows = v->shape;
    if (rows.rank < base->shape.rank) { /* one element along dim */
        rows = base->shape;
        rows.dim[v->dim] = 1;
    }
    const bool over = base->state && base->reads <= 1 && !base->base; /* the view itself reads it */
    return fsim_aten_with_part(c, base, &(fsim_aten_part){v->dim, v->start, v->step, over},
                               fsim_aten_reshaped(c, v, &rows));
}

/* v in the order that its base has. */
static fsim_torch_value *turned_back(fsim_aten *c, fsim_torch_value *v)
{
    int64_t back[FSIM_MAX_RANK];
    for (int i = 0; i < v->shape.rank; i++)
        back[v->order[i]] = i;
    const int rank = v->shape.rank;
    v = fsim_aten_step(c, "permute", FSIM_AS("turned", &v->base->shape, v->dtype), 1, &v);
    if (v)
        fsim_draft_ints(c->x, "dim", rank, back);
    return v;
}

/* A matrix with its dimensions in each other's place. */
static fsim_torch_value *turned(fsim_aten *c, fsim_torch_value *v, const fsim_shape *shape)
{
    v = fsim_aten_step(c, "transpose", FSIM_AS("turned", shape, v->dtype), 1, &v);
    if (v)
        fsim_draft_ints(c->x, "dim", 2, (int64_t[2]){0, 1});
    return v;
}

/* The view v of its base as that is now; NULL: it is one that is not followed. */
static fsim_torch_value *seen_again(fsim_aten *c, fsim_torch_value *v)
{
    fsim_torch_value *base = v->base, *x = base;
    if (v->dim == -1)
        return fsim_aten_reshaped(c, base, &v->shape);
    if (v->dim == -2)
        return turned(c, base, &v->shape);
    if (v->dim == -3) {
        x = fsim_aten_step(c, "permute", FSIM_AS("again", &v->shape, v->dtype), 1, &base);
        if (x)
            fsim_draft_ints(c->x, "dim", v->shape.rank, v->order);
        return x;
    }
    const int64_t count = v->shape.rank < base->shape.rank ? 1 : v->shape.dim[v->dim];
    if (v->step != 1)
        return NULL;
    return fsim_aten_reshaped(c, piece(c, base, v->dim, v->start, v->start + count), &v->shape);
}

void fsim_torch_refresh(fsim_aten *c, fsim_torch_value *v)
{
    if (!v->base || !v->tensor || !v->seen || v->empty)
        return;
    fsim_torch_refresh(c, v->base);
    if (!v->base->tensor || strcmp(v->seen, v->base->tensor) == 0)
        return;
    const fsim_torch_value *now = seen_again(c, v);
    v->seen = v->base->tensor;
    if (!now || !now->tensor)
        return;
    v->tensor = now->tensor;
    v->reads = 0;
    v->mutated = true;
}

/* v has a new tensor: what it is a view of has one, too. */
static void write_through(fsim_aten *c, fsim_torch_value *v)
{
    fsim_torch_value *base = v->base, *written;
    if (!base || !base->tensor || fsim_aten_elems(&base->shape) == 0)
        return;
    if (v->dim == -2)
        written = turned(c, v, &base->shape);
    else if (v->dim == -3)
        written = turned_back(c, v);
    else if (v->dim < 0) {
        written = fsim_aten_reshaped(c, v, &base->shape);
        v->reads--;
    } else
        written = with_part(c, v);
    if (!written || !written->tensor)
        return;
    base->tensor = written->tensor;
    base->reads = 0;
    base->mutated = true;
    v->seen = base->tensor;
    write_through(c, base);
}

void fsim_torch_replace_first(fsim_aten *c)
{
    fsim_torch_value *self = fsim_aten_self(c), *result = c->outs ? c->out[0] : NULL;
    if (!self || !result || self == result || !result->tensor || !fsim_aten_same_shape(&self->shape, &result->shape))
        return;
    self->tensor = result->tensor;
    self->reads = 0;
    self->mutated = true;
    c->out[0] = self;
    write_through(c, self);
}
