/* SPDX-License-Identifier: Apache-2.0 */
/* aten_call.c: what rows read and write: arguments by their names, results as operators of the workload. */
#include "import/torch/import.h"

#include <string.h>

int fsim_torch_index(fsim_torch_import *m, const char *name)
{
    const int i = fsim_names_get(&m->s->g->tensor_at, name);
    if (i < 0)
        fsim_error(m->d, fsim_draft_place(m->x), "names a tensor '%s' that the file does not describe", name);
    return i;
}

/* The value of a tensor that is read. NULL after an error. */
fsim_torch_value *fsim_torch_value_of(fsim_torch_import *m, const char *name)
{
    const int i = fsim_torch_index(m, name);
    if (i >= 0 && !m->s->value[i])
        fsim_error(m->d, fsim_draft_place(m->x), "reads '%s', which nothing before it makes", name);
    return i < 0 ? NULL : m->s->value[i];
}

/* Arguments. */

const fsim_torch_arg *fsim_aten_arg(const fsim_aten *c, const char *name)
{
    for (const char *end; *name; name = *end ? end + 1 : end) {
        end = name + strcspn(name, "|");
        for (int i = 0; i < c->node->ins; i++) {
            const fsim_torch_arg *arg = &c->node->in[i];
            if (strncmp(arg->name, name, (size_t)(end - name)) == 0 && !arg->name[end - name])
                return arg->kind == FSIM_TORCH_NONE ? NULL : arg;
        }
    }
    return NULL;
}

fsim_torch_value *fsim_torch_tensor_in(fsim_aten *c, const fsim_torch_arg *arg)
{
    fsim_torch_value *v = arg && arg->kind == FSIM_TORCH_TENSOR ? fsim_torch_value_of(c->m, arg->text) : NULL;
    if (v)
        fsim_torch_refresh(c, v);
    return v;
}

fsim_torch_value *fsim_aten_tensor(fsim_aten *c, const char *name)
{
    return fsim_torch_tensor_in(c, fsim_aten_arg(c, name));
}
fsim_torch_value *fsim_aten_self(fsim_aten *c)
{
    return c->node->ins ? fsim_torch_tensor_in(c, &c->node->in[0]) : NULL;
}

/* The value of a symbolic number. */
static int64_t number_named(fsim_torch_import *m, const char *name)
{
    const int i = fsim_names_get(&m->s->g->number_at, name);
    int64_t value = 1;
    if (i < 0)
        fsim_error(m->d, fsim_draft_place(m->x), "names a number '%s' that the file does not describe", name);
    else
        fsim_torch_dim_of(&m->bound, &m->s->g->number[i].is, name, &value);
    return value;
}

static bool is_number(const fsim_torch_arg *arg)
{
    return arg && (arg->kind == FSIM_TORCH_INT || arg->kind == FSIM_TORCH_FLOAT || arg->kind == FSIM_TORCH_BOOL);
}

bool fsim_aten_scalar(fsim_aten *c, const fsim_torch_arg *arg, double *value, bool *whole)
{
    if (!is_number(arg))
        return false;
    *whole = arg->kind != FSIM_TORCH_FLOAT;
    if (arg->text)
        *value = (double)number_named(c->m, arg->text);
    else
        *value = *whole ? (double)arg->integer : arg->number;
    return true;
}

int64_t fsim_aten_int(fsim_aten *c, const char *name, int64_t absent)
{
    const fsim_torch_arg *arg = fsim_aten_arg(c, name);
    if (!is_number(arg))
        return absent;
    if (arg->text)
        return number_named(c->m, arg->text);
    if (arg->kind != FSIM_TORCH_FLOAT)
        return arg->integer;
    return arg->number > -9e18 && arg->number < 9e18 ? (int64_t)arg->number : absent;
}

double fsim_aten_number(fsim_aten *c, const char *name, double absent)
{
    double value;
    bool whole;
    return fsim_aten_scalar(c, fsim_aten_arg(c, name), &value, &whole) ? value : absent;
}

bool fsim_aten_flag(fsim_aten *c, const char *name, bool absent) { return fsim_aten_int(c, name, absent) != 0; }

const char *fsim_aten_text(fsim_aten *c, const char *name, const char *absent)
{
    const fsim_torch_arg *arg = fsim_aten_arg(c, name);
    return arg && arg->kind == FSIM_TORCH_TEXT ? arg->text : absent;
}

fsim_dtype fsim_aten_dtype(fsim_aten *c, const char *name, fsim_dtype absent)
{
    const fsim_torch_arg *arg = fsim_aten_arg(c, name);
    bool complex;
    return arg && arg->kind == FSIM_TORCH_TYPE ? fsim_torch_dtype((int)arg->integer, &complex) : absent;
}

int fsim_aten_ints(fsim_aten *c, const char *name, int64_t list[16])
{
    const fsim_torch_arg *arg = fsim_aten_arg(c, name);
    if (is_number(arg)) {
        list[0] = fsim_aten_int(c, name, 0);
        return 1;
    }
    if (!arg || arg->kind != FSIM_TORCH_LIST || arg->count > 16)
        return -1;
    for (int i = 0; i < arg->count; i++) {
        const fsim_torch_arg *item = &arg->item[i];
        if (!is_number(item))
            return -1;
        list[i] = item->text ? number_named(c->m, item->text) : item->integer;
    }
    return arg->count;
}

int fsim_aten_tensors(fsim_aten *c, const char *name, fsim_torch_value ***list)
{
    const fsim_torch_arg *arg = fsim_aten_arg(c, name);
    if (!arg || arg->kind != FSIM_TORCH_LIST)
        return -1;
    *list = fsim_new(c->a, fsim_torch_value *, arg->count + 1);
    for (int i = 0; i < arg->count; i++)
        (*list)[i] = fsim_torch_tensor_in(c, &arg->item[i]);
    return arg->count;
}

int fsim_aten_axis(int64_t dim, int rank)
{
    const int64_t front = dim < 0 ? dim + rank : dim;
    return front >= 0 && front < rank ? (int)front : -1;
}

int64_t fsim_aten_elems(const fsim_shape *s)
{
    int64_t elems = 1;
    for (int i = 0; i < s->rank; i++)
        elems *= s->dim[i];
    return elems;
}

bool fsim_aten_same_shape(const fsim_shape *x, const fsim_shape *y)
{
    return x->rank == y->rank && memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim) == 0;
}

void fsim_aten_assume(fsim_aten *c, const char *what) { fsim_draft_assume(c->x, c->node->target, what); }

/* Results. */

/* The names of inputs in the workload; NULL where one has none. */
const char **fsim_torch_names(fsim_aten *c, int ins, fsim_torch_value *const *in)
{
    const char **name = fsim_new(c->a, const char *, ins + 1);
    for (int i = 0; i < ins; i++) {
        if (!in[i] || !in[i]->tensor)
            return NULL;
        name[i] = in[i]->tensor;
    }
    for (int i = 0; i < ins; i++)
        in[i]->reads++;
    return name;
}

const char *fsim_torch_wanted(const fsim_aten *c, const fsim_torch_value *v) { return v->name ? v->name : c->op; }

bool fsim_aten_make(fsim_aten *c, int k, const char *op, int ins, fsim_torch_value *const *in)
{
    const char **name = fsim_torch_names(c, ins, in);
    if (!name || k >= c->outs || !c->out[k])
        return false;
    fsim_torch_value *v = c->out[k];
    v->tensor = fsim_draft_op(c->x, op, fsim_torch_wanted(c, v), ins, name);
    fsim_draft_expect(c->x, v->tensor, &v->shape, v->dtype);
    return true;
}

fsim_torch_value *fsim_aten_step(fsim_aten *c, const char *op, const fsim_draft_result *as, int ins,
                                 fsim_torch_value *const *in)
{
    const char **name = fsim_torch_names(c, ins, in);
    fsim_torch_value *v = fsim_new(c->a, fsim_torch_value, 1);
    if (!name)
        return NULL;
    *v = (fsim_torch_value){.shape = as->shape, .dtype = as->dtype, .dim = -1};
    const char *of = c->outs && c->out[0] ? fsim_torch_wanted(c, c->out[0]) : c->op;
    v->tensor = fsim_draft_op(c->x, op, fsim_printf(c->a, "%s.%s", of, as->name), ins, name);
    fsim_draft_expect(c->x, v->tensor, &as->shape, as->dtype);
    return v;
}

bool fsim_aten_make_all(fsim_aten *c, const char *op, int ins, fsim_torch_value *const *in)
{
    const char **name = fsim_torch_names(c, ins, in), **out = fsim_new(c->a, const char *, c->outs + 1);
    for (int k = 0; k < c->outs; k++) {
        if (!c->out[k])
            return false;
        out[k] = fsim_torch_wanted(c, c->out[k]);
    }
    if (!name)
        return false;
    fsim_draft_op_outs(c->x, op, ins, name, c->outs, out);
    for (int k = 0; k < c->outs; k++) {
        c->out[k]->tensor = out[k];
        fsim_draft_expect(c->x, out[k], &c->out[k]->shape, c->out[k]->dtype);
    }
    return true;
}

bool fsim_aten_same(fsim_aten *c, int k, fsim_torch_value *v)
{
    if (!v || k >= c->outs)
        return false;
    c->out[k] = v;
    return true;
}

void fsim_aten_view(fsim_aten *c, int k, fsim_torch_value *v, int dim, int64_t start)
{
    if (k >= c->outs || !c->out[k] || c->out[k] == v)
        return;
    c->out[k]->base = v;
    c->out[k]->seen = v->tensor;
    c->out[k]->dim = dim;
    c->out[k]->start = start;
    c->out[k]->step = 1;
}

bool fsim_aten_reshape(fsim_aten *c, int k, fsim_torch_value *v)
{
    if (!v || k >= c->outs || !c->out[k])
        return false;
    if (fsim_aten_same_shape(&v->shape, &c->out[k]->shape))
        return fsim_aten_same(c, k, v);
    if (fsim_aten_elems(&v->shape) != fsim_aten_elems(&c->out[k]->shape) || !fsim_aten_make(c, k, "reshape", 1, &v))
        return false;
    fsim_draft_ints(c->x, "shape", c->out[k]->shape.rank, c->out[k]->shape.dim);
    fsim_aten_view(c, k, v, -1, 0);
    const fsim_shape *s = &c->out[k]->shape;
    if (v->shared && s->rank > 2 && s->dim[s->rank - 2] == v->shared->shape.dim[0] &&
        s->dim[s->rank - 1] == v->shared->shape.dim[1])
        c->out[k]->shared = v->shared;
    return true;
}

fsim_torch_value *fsim_aten_reshaped(fsim_aten *c, fsim_torch_value *v, const fsim_shape *shape)
{
    if (!v || fsim_aten_same_shape(&v->shape, shape))
        return v;
    v = fsim_aten_step(c, "reshape", FSIM_AS("view", shape, v->dtype), 1, &v);
    if (v)
        fsim_draft_ints(c->x, "shape", shape->rank, shape->dim);
    return v;
}

fsim_torch_value *fsim_aten_cast(fsim_aten *c, fsim_torch_value *v, fsim_dtype dtype)
{
    if (!v || v->dtype == dtype)
        return v;
    fsim_torch_value *y = fsim_aten_step(c, "cast", FSIM_AS("cast", &v->shape, dtype), 1, &v);
    if (y) {
        fsim_draft_word(c->x, "dtype", fsim_dtype_names[dtype]);
        y->cast_of = v;
    }
    return y;
}

fsim_torch_value *fsim_aten_expanded(fsim_aten *c, fsim_torch_value *v, const fsim_shape *shape)
{
    if (!v || fsim_aten_same_shape(&v->shape, shape))
        return v;
    v = fsim_aten_step(c, "expand", FSIM_AS("expand", shape, v->dtype), 1, &v);
    if (v)
        fsim_draft_ints(c->x, "shape", shape->rank, shape->dim);
    return v;
}

void fsim_aten_put(fsim_aten *c, const char *key, double value, bool whole)
{
    if (whole && value > -9e15 && value < 9e15)
        fsim_draft_int(c->x, key, (int64_t)value);
    else
        fsim_draft_number(c->x, key, value);
}

fsim_torch_value *fsim_aten_constant(fsim_aten *c, double value, bool whole, fsim_dtype dtype)
{
    const fsim_shape scalar = {0};
    fsim_torch_value *v = fsim_aten_step(c, "fill", FSIM_AS("constant", &scalar, dtype), 0, NULL);
    if (v) {
        fsim_draft_ints(c->x, "shape", 0, NULL);
        fsim_aten_put(c, "value", value, whole);
        fsim_draft_word(c->x, "dtype", fsim_dtype_names[dtype]);
    }
    return v;
}
