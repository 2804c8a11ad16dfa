/* SPDX-License-Identifier: Apache-2.0 */
/* call.c: what a row of onnx.def asks of its node: inputs, attributes, shapes; and how it refuses. */
#include "import/onnx/import.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Errors. */

bool fsim_onnx_refuse(fsim_onnx_call *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = fsim_vprintf(c->a, format, args);
    va_end(args);
    c->refused = c->refused ? c->refused : text;
    fsim_error(c->d, fsim_draft_place(c->x), "%s: %s", c->op, text);
    return false;
}

bool fsim_onnx_unsupported(fsim_onnx_call *c, const char *why)
{
    c->unsupported = why;
    return false;
}

bool fsim_onnx_depends(fsim_onnx_call *c, int i)
{
    c->data = true;
    return fsim_onnx_unsupported(c, fsim_printf(c->a, "its input '%s'", i < c->ins ? c->node->in[i] : "?"));
}

/* Inputs. */

fsim_operand *fsim_onnx_in(const fsim_onnx_call *c, int i) { return i < c->ins ? c->in[i] : NULL; }

fsim_operand *fsim_onnx_need(fsim_onnx_call *c, int i)
{
    fsim_operand *v = fsim_onnx_in(c, i);
    if (!v)
        fsim_onnx_refuse(c, "input %d is missing", i);
    return v;
}

bool fsim_onnx_wants(const fsim_onnx_call *c, int k) { return k < c->outs && *c->node->out[k] && !c->out[k]; }

/* Attributes. */

/* The attribute as it is in force: where it refers to one of the function that the node is in, that one. */
static const fsim_onnx_attribute *attribute(const fsim_onnx_call *c, const char *name)
{
    const fsim_onnx_attribute *at = fsim_onnx_find(c->node, name);
    if (!at || !*at->ref)
        return at;
    const fsim_onnx_scope *s = c->m->scope;
    for (int i = 0; i < s->bounds; i++)
        if (strcmp(s->bound[i].name, at->ref) == 0)
            return &s->bound[i];
    return NULL;
}

static const fsim_onnx_attribute *typed(fsim_onnx_call *c, const char *name, fsim_onnx_attribute_type type,
                                        const char *wanted)
{
    const fsim_onnx_attribute *at = attribute(c, name);
    if (at && at->type != (int)type) {
        fsim_onnx_refuse(c, "attribute '%s' is of type %d; wanted %s", name, at->type, wanted);
        return NULL;
    }
    return at;
}

bool fsim_onnx_has(const fsim_onnx_call *c, const char *name) { return attribute(c, name) != NULL; }

int64_t fsim_onnx_int(fsim_onnx_call *c, const char *name, int64_t absent)
{
    const fsim_onnx_attribute *at = typed(c, name, FSIM_ONNX_ATTR_INT, "an integer");
    return at ? at->i : absent;
}

double fsim_onnx_float(fsim_onnx_call *c, const char *name, double absent)
{
    const fsim_onnx_attribute *at = typed(c, name, FSIM_ONNX_ATTR_FLOAT, "a number");
    if (!at)
        return absent;
    char text[32]; /* the decimal that was meant: 1e-5, not the float next to it */
    snprintf(text, sizeof text, "%.7g", (double)at->f);
    const double rounded = strtod(text, NULL);
    return (float)rounded == at->f ? rounded : (double)at->f;
}

const char *fsim_onnx_string(fsim_onnx_call *c, const char *name, const char *absent)
{
    const fsim_onnx_attribute *at = typed(c, name, FSIM_ONNX_ATTR_STRING, "a string");
    return at ? at->s : absent;
}

const int64_t *fsim_onnx_ints(fsim_onnx_call *c, const char *name, int *count)
{
    static const int64_t none = 0;
    const fsim_onnx_attribute *at = typed(c, name, FSIM_ONNX_ATTR_INTS, "a list of integers");
    *count = at ? at->int_count : 0;
    return !at ? NULL : at->ints ? at->ints : &none;
}

const double *fsim_onnx_floats(fsim_onnx_call *c, const char *name, int *count)
{
    const fsim_onnx_attribute *at = typed(c, name, FSIM_ONNX_ATTR_FLOATS, "a list of numbers");
    *count = at ? at->float_count : 0;
    if (!at)
        return NULL;
    double *list = fsim_new(c->a, double, *count + 1);
    for (int i = 0; i < *count; i++)
        list[i] = (double)at->floats[i];
    return list;
}

const char *const *fsim_onnx_strings(fsim_onnx_call *c, const char *name, int *count)
{
    const fsim_onnx_attribute *at = typed(c, name, FSIM_ONNX_ATTR_STRINGS, "a list of strings");
    *count = at ? at->string_count : 0;
    return at ? at->strings : NULL;
}

fsim_operand *fsim_onnx_tensor_of(fsim_onnx_call *c, const char *name)
{
    const fsim_onnx_attribute *at = typed(c, name, FSIM_ONNX_ATTR_TENSOR, "a tensor");
    if (!at || !at->t)
        return NULL;
    return fsim_onnx_operand_of(c->m, at->t, c->outs ? c->node->out[0] : name, false);
}

const fsim_onnx_graph *fsim_onnx_graph_of(fsim_onnx_call *c, const char *name)
{
    const fsim_onnx_attribute *at = typed(c, name, FSIM_ONNX_ATTR_GRAPH, "a graph");
    return at ? at->g : NULL;
}

fsim_dtype fsim_onnx_dtype(fsim_onnx_call *c, const char *name, fsim_dtype absent)
{
    if (!fsim_onnx_has(c, name))
        return absent;
    const int64_t type = fsim_onnx_int(c, name, 0);
    return type >= 0 && type <= INT32_MAX ? fsim_onnx_stored_dtype((int)type) : FSIM_DTYPE_NONE;
}

bool fsim_onnx_list(fsim_onnx_call *c, int i, const char *name, const int64_t **list, int *count)
{
    const fsim_operand *v = fsim_onnx_in(c, i);
    *list = NULL;
    *count = 0;
    if (!v) {
        *list = fsim_onnx_ints(c, name, count);
        return true;
    }
    *list = fsim_onnx_ints_of(v, count);
    if (*list)
        return true;
    return fsim_onnx_depends(c, i);
}

/* Shapes. */

bool fsim_onnx_axis(fsim_onnx_call *c, int64_t axis, int rank, int *out)
{
    *out = 0;
    if (axis < -rank || axis >= rank)
        return fsim_onnx_refuse(c, "axis %" PRId64 " is out of range for %d dimensions", axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

fsim_shape fsim_onnx_shape(int rank, const int64_t *dim)
{
    fsim_shape s = {.rank = rank};
    if (rank)
        memcpy(s.dim, dim, (size_t)rank * sizeof *dim);
    return s;
}

bool fsim_onnx_check_shape(fsim_onnx_call *c, const fsim_shape *s)
{
    int64_t elems = 1;
    if (s->rank < 0 || s->rank > FSIM_MAX_RANK)
        return fsim_onnx_refuse(c, "its result has %d dimensions; at most %d are supported", s->rank, FSIM_MAX_RANK);
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 0)
            return fsim_onnx_refuse(c, "dimension %d of its result is %" PRId64, i, s->dim[i]);
        if (s->dim[i] > FSIM_MAX_DIM || __builtin_mul_overflow(elems, s->dim[i], &elems) || elems > FSIM_MAX_ELEMS)
            return fsim_onnx_refuse(c, "its result is too large: %s", fsim_shape_text(c->a, s));
    }
    return true;
}

bool fsim_onnx_broadcast(fsim_onnx_call *c, const fsim_shape *x, const fsim_shape *y, fsim_shape *out)
{
    const fsim_shape *more = x->rank >= y->rank ? x : y, *less = x->rank >= y->rank ? y : x;
    const int behind = more->rank - less->rank;
    fsim_shape s = *more;
    for (int i = 0; i < less->rank; i++) {
        const int64_t a = more->dim[behind + i], b = less->dim[i];
        if (a != b && a != 1 && b != 1)
            return fsim_onnx_refuse(c, "shapes %s and %s do not broadcast", fsim_shape_text(c->a, x),
                                    fsim_shape_text(c->a, y));
        s.dim[behind + i] = a == 1 ? b : a;
    }
    *out = s;
    return true;
}

/* Small steps that many rows take. */

fsim_operand *fsim_onnx_reshaped(fsim_onnx_call *c, fsim_operand *v, const fsim_shape *shape)
{
    fsim_operand *made = fsim_onnx_step(c, "view", "reshape", shape, v->dtype, FSIM_ARGS(v));
    if (!made)
        return NULL;
    fsim_onnx_put_ints(c, "shape", shape->rank, shape->dim);
    if (fsim_onnx_known(v)) {
        made->ints = v->ints;
        made->floats = v->floats;
    }
    return made;
}

fsim_operand *fsim_onnx_permuted(fsim_onnx_call *c, fsim_operand *v, const int64_t *order)
{
    fsim_shape s = {.rank = v->shape.rank};
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = v->shape.dim[order[i]];
    fsim_operand *made = fsim_onnx_step(c, "permuted", "permute", &s, v->dtype, FSIM_ARGS(v));
    if (made)
        fsim_onnx_put_ints(c, "dim", s.rank, order);
    return made;
}

fsim_operand *fsim_onnx_cast(fsim_onnx_call *c, fsim_operand *v, fsim_dtype to)
{
    if (v->dtype == to)
        return v;
    if (to == FSIM_DTYPE_NONE) {
        fsim_onnx_refuse(c, "casts to a type that is not supported (strings, complex numbers)");
        return NULL;
    }
    fsim_operand *made = fsim_onnx_step(c, fsim_dtype_names[to], "cast", &v->shape, to, FSIM_ARGS(v));
    if (made)
        fsim_onnx_put_word(c, "dtype", fsim_dtype_names[to]);
    return made;
}
