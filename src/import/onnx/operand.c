/* SPDX-License-Identifier: Apache-2.0 */
/* operand.c: values of an ONNX model, and how they come into the workload: constants and inputs when an operator reads
 * them; what follows from shapes alone (positions, masks) as operators that are put off until then; the rest at once.
 */
#include "import/onnx/import.h"

#include <ctype.h>
#include <string.h>

enum { KNOWN_FLOATS = 1024, MAX_PUT_OFF = 256, MAX_OPERATORS = 1 << 18 };

/* An attribute of an operator that is put off. */
typedef struct {
    enum { PUT_INT, PUT_INTS, PUT_NUMBER, PUT_FLAG, PUT_WORD } kind;
    const char *key, *word;
    int64_t integer;
    double number;
    int count;
    const int64_t *list;
} put;

/* An operator that is put off until somebody reads its result. */
struct fsim_onnx_recipe {
    const char *op, *layer, *from, *wanted;
    int ins, puts, room;
    fsim_operand **in;
    put *put;
};

fsim_operand *fsim_onnx_operand_new(fsim_onnx_import *m, const char *name, const fsim_shape *shape, fsim_dtype dtype)
{
    fsim_operand *v = fsim_new(m->a, fsim_operand, 1);
    *v = (fsim_operand){.name = name, .tensor_as = name, .shape = *shape, .dtype = dtype, .items = -1};
    return v;
}

int64_t fsim_onnx_elems(const fsim_operand *v) { return fsim_elems(&v->shape); }

bool fsim_onnx_known(const fsim_operand *v) { return v && (v->ints || v->floats); }

/* Reads what a small constant holds. */
static void read_contents(fsim_onnx_import *m, fsim_operand *v, const fsim_onnx_tensor *t)
{
    const bool floating = fsim_dtype_floating(v->dtype);
    if (t->external || t->elems > (floating ? KNOWN_FLOATS : FSIM_ONNX_KNOWN_MAX))
        return;
    if (floating) {
        double *at = fsim_new(m->a, double, t->elems + 1);
        v->floats = fsim_onnx_numbers(t, t->elems, at) ? at : NULL;
    } else {
        int64_t *at = fsim_new(m->a, int64_t, t->elems + 1);
        v->ints = fsim_onnx_integers(t, t->elems, at) ? at : NULL;
    }
}

fsim_dtype fsim_onnx_stored_dtype(int element)
{
    switch (element) {
    case FSIM_ONNX_UINT16:
        return FSIM_I16;
    case FSIM_ONNX_UINT32:
        return FSIM_I32;
    case FSIM_ONNX_UINT64:
        return FSIM_I64;
    default:
        return fsim_onnx_element_dtype(element);
    }
}

bool fsim_onnx_is_moderate(const fsim_shape *s)
{
    double elems = 1;
    for (int i = 0; i < s->rank; i++)
        elems *= (double)(s->dim[i] > 0 ? s->dim[i] : 1);
    return elems <= (double)FSIM_MAX_ELEMS;
}

fsim_operand *fsim_onnx_operand_of(fsim_onnx_import *m, const fsim_onnx_tensor *t, const char *name, bool parameter)
{
    fsim_shape shape = {.rank = t->dims};
    if (t->dims > FSIM_MAX_RANK) {
        fsim_error(m->d, fsim_draft_place(m->x), "constant '%s' has %d dimensions; at most %d are supported", name,
                   t->dims, FSIM_MAX_RANK);
        return NULL;
    }
    if (t->dims)
        memcpy(shape.dim, t->dim, (size_t)t->dims * sizeof *t->dim);
    if (!fsim_onnx_is_moderate(&shape)) {
        fsim_error(m->d, fsim_draft_place(m->x), "constant '%s' is too large: %s", name, fsim_shape_text(m->a, &shape));
        return NULL;
    }
    fsim_operand *v = fsim_onnx_operand_new(m, name, &shape, fsim_onnx_stored_dtype(t->type));
    v->constant = v->still = v->file = true;
    v->parameter = parameter;
    v->pairs = t->type == FSIM_ONNX_FLOAT4E2M1                           ? FSIM_F4E2M1
               : t->type == FSIM_ONNX_INT4 || t->type == FSIM_ONNX_UINT4 ? FSIM_I4
                                                                         : FSIM_DTYPE_NONE;
    if (v->dtype != FSIM_DTYPE_NONE)
        read_contents(m, v, t);
    return v;
}

const int64_t *fsim_onnx_ints_of(const fsim_operand *v, int *count)
{
    if (!v || !v->ints)
        return NULL;
    if (count)
        *count = (int)fsim_onnx_elems(v);
    return v->ints;
}

double fsim_onnx_element(const fsim_operand *v, int64_t i) { return v->ints ? (double)v->ints[i] : v->floats[i]; }

bool fsim_onnx_number_of(const fsim_operand *v, double *number)
{
    if (!fsim_onnx_known(v) || fsim_onnx_elems(v) != 1)
        return false;
    *number = fsim_onnx_element(v, 0);
    return true;
}

bool fsim_onnx_each_is(const fsim_operand *v, double *number)
{
    if (!v->each)
        return fsim_onnx_number_of(v, number);
    *number = *v->each;
    return true;
}

/* Into the workload. */

/* Does an exporter's name say nothing: "onnx::MatMul_1721", "val_109", "1721"? */
static bool is_anonymous(const char *name)
{
    if (strncmp(name, "onnx::", 6) == 0)
        return true;
    const char *digits = strncmp(name, "val_", 4) == 0 ? name + 4 : name;
    return *digits && strspn(digits, "0123456789") == strlen(digits);
}

/* A constant without a name of its own is called by the layer that reads it. */
static const char *constant_name(fsim_onnx_import *m, const fsim_operand *v)
{
    if (!v->tensor_as || !is_anonymous(v->tensor_as) || !m->layer_now || !*m->layer_now)
        return v->tensor_as ? v->tensor_as : "constant";
    return fsim_printf(m->a, "%s.%s", m->layer_now, v->shape.rank > 1 ? "weight" : "bias");
}

/* Are the known contents first, first + step, first + 2 step, ...? */
static bool is_progression(const fsim_operand *v, int64_t count, int64_t *step)
{
    *step = 0;
    if (!v->ints || count < 2 || __builtin_sub_overflow(v->ints[1], v->ints[0], step))
        return false;
    for (int64_t i = 2; i < count; i++) {
        int64_t next;
        if (__builtin_sub_overflow(v->ints[i], v->ints[i - 1], &next) || next != *step)
            return false;
    }
    return true;
}

static bool is_uniform(const fsim_operand *v, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if (fsim_onnx_element(v, i) != fsim_onnx_element(v, 0))
            return false;
    return count > 0;
}

/* Known numbers that do not stand in the file: a constant that is filled in, positions, or a small table. */
static const char *write_known(fsim_onnx_import *m, fsim_operand *v)
{
    const int64_t count = fsim_onnx_elems(v);
    const char *wanted = v->tensor_as ? v->tensor_as : "numbers";
    int64_t step;
    const char *name;
    if (v->each || is_uniform(v, count)) {
        name = fsim_draft_op(m->x, "fill", wanted, 0, NULL);
        fsim_draft_ints(m->x, "shape", v->shape.rank, v->shape.dim);
        fsim_draft_number(m->x, "value", v->each ? *v->each : fsim_onnx_element(v, 0));
    } else if (v->shape.rank == 1 && v->dtype != FSIM_BOOL && is_progression(v, count, &step)) {
        name = fsim_draft_op(m->x, "arange", wanted, 0, NULL);
        fsim_draft_int(m->x, "start", v->ints[0]);
        fsim_draft_int(m->x, "end", v->ints[0] + step * count);
        fsim_draft_int(m->x, "step", step);
    } else {
        v->input = true;
        return fsim_draft_tensor(m->x, wanted, &v->shape, v->dtype, FSIM_INPUT);
    }
    fsim_draft_word(m->x, "dtype", fsim_dtype_names[v->dtype]);
    return name;
}

static void write_put(fsim_draft *x, const put *p)
{
    switch (p->kind) {
    case PUT_INT:
        fsim_draft_int(x, p->key, p->integer);
        break;
    case PUT_INTS:
        fsim_draft_ints(x, p->key, p->count, p->list);
        break;
    case PUT_NUMBER:
        fsim_draft_number(x, p->key, p->number);
        break;
    case PUT_FLAG:
        fsim_draft_flag(x, p->key, p->integer);
        break;
    case PUT_WORD:
        fsim_draft_word(x, p->key, p->word);
        break;
    }
}

static const char **written_names(fsim_onnx_import *m, int ins, fsim_operand *const *in)
{
    const char **name = fsim_new(m->a, const char *, ins + 1);
    for (int i = 0; i < ins; i++)
        name[i] = fsim_onnx_written(m, in[i]);
    return name;
}

static const char *write_recipe(fsim_onnx_import *m, const struct fsim_onnx_recipe *r)
{
    const char **in = written_names(m, r->ins, r->in);
    fsim_draft_source(m->x, r->layer, r->from);
    const char *name = fsim_draft_op(m->x, r->op, r->wanted, r->ins, in);
    for (int i = 0; i < r->puts; i++)
        write_put(m->x, &r->put[i]);
    fsim_draft_source(m->x, m->layer_now, m->from_now);
    return name;
}

/* What cannot stand in a workload: an error, once for each value. */
static bool is_writable(fsim_onnx_import *m, const fsim_operand *v)
{
    const char *name = v->name ? v->name : "a step";
    if (v->dtype == FSIM_DTYPE_NONE)
        fsim_error(m->d, fsim_draft_place(m->x), "'%s' holds strings or complex numbers, which are not supported",
                   name);
    else if (v->items >= 0)
        fsim_error(m->d, fsim_draft_place(m->x), "'%s' is a sequence of tensors; wanted a tensor", name);
    else if (fsim_onnx_elems(v) == 0)
        fsim_error(m->d, fsim_draft_place(m->x), "'%s' has no elements: its shape is %s", name,
                   fsim_shape_text(m->a, &v->shape));
    else
        return true;
    return false;
}

void fsim_onnx_called(fsim_onnx_import *m, fsim_operand *v, const char *tensor)
{
    v->tensor = tensor;
    fsim_names_set(m->a, &m->written, tensor, m->writers);
    *FSIM_PUSH(m->a, m->writer, m->writers, m->writer_room) = v;
}

const char *fsim_onnx_written(fsim_onnx_import *m, fsim_operand *v)
{
    if (v->tensor)
        return v->tensor;
    const char *tensor = "?";
    v->unnamed = v->constant && v->tensor_as && is_anonymous(v->tensor_as);
    if (!is_writable(m, v))
        ;
    else if (v->recipe)
        tensor = write_recipe(m, v->recipe);
    else if (v->each || (fsim_onnx_known(v) && !v->file))
        tensor = write_known(m, v);
    else
        tensor = fsim_draft_tensor(m->x, v->constant ? constant_name(m, v) : v->tensor_as, &v->shape, v->dtype,
                                   v->parameter ? FSIM_WEIGHT : FSIM_INPUT);
    fsim_onnx_called(m, v, tensor);
    return v->tensor;
}

const char *fsim_onnx_name(fsim_onnx_call *c, fsim_operand *v) { return fsim_onnx_written(c->m, v); }

/* Operators. */

/* How the operator of a result is written. */
typedef enum { WRITE_NOW, WRITE_LATER, WRITE_NEVER } writing;

/* Is it a part of a weight, a weight repeated, or another look at one that others read as it lies? All that a file
 * makes of weights alone is a weight of its own, but these: they take no memory beside the weight's. */
static bool is_view_of_weight(const fsim_onnx_call *c, const char *op, const fsim_onnx_args *in)
{
    const fsim_operand *x = in->count == 1 ? in->at[0] : NULL;
    if (!x || !x->file || !x->parameter || (c->knows && is_uniform(x, fsim_onnx_elems(x))))
        return false; /* one number is written as such */
    static const char *const moves[] = {"Expand", "Gather", "Slice",
                                        "Transpose"}; /* the file's own, no other's steps */
    bool moved = false;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        moved = moved || strcmp(c->op, moves[i]) == 0;
    return moved && (strcmp(op, "expand") == 0 || strcmp(op, "slice") == 0 ||
                     (strcmp(op, "permute") == 0 && x->name && fsim_names_get(&c->m->shared, x->name) >= 0));
}

fsim_operand *fsim_onnx_turned(const fsim_operand *v)
{
    const struct fsim_onnx_recipe *r = v ? v->recipe : NULL;
    return r && !v->tensor && strcmp(r->op, "permute") == 0 && r->in[0]->parameter && v->shape.rank == 2 ? r->in[0]
                                                                                                         : NULL;
}

static writing writing_of(const fsim_onnx_call *c, const char *op, const fsim_onnx_args *in, int *depth)
{
    bool constant = in->count > 0, still = true;
    *depth = 0;
    for (int i = 0; i < in->count; i++) {
        const fsim_operand *v = in->at[i];
        constant = constant && v->constant;
        still = still && v->still;
        if (v->depth > *depth)
            *depth = v->depth;
    }
    if (constant && !c->keep && !is_view_of_weight(c, op, in))
        return WRITE_NEVER;
    return still && !c->keep && ++*depth < MAX_PUT_OFF ? WRITE_LATER : WRITE_NOW;
}

static void put_off(fsim_onnx_call *c, fsim_operand *v, const char *op, const fsim_onnx_args *in)
{
    struct fsim_onnx_recipe *r = fsim_new(c->a, struct fsim_onnx_recipe, 1);
    *r = (struct fsim_onnx_recipe){.op = op,
                                   .layer = c->m->layer_now,
                                   .from = c->m->from_now,
                                   .wanted = v->tensor_as,
                                   .ins = in->count,
                                   .in = fsim_new(c->a, fsim_operand *, in->count + 1)};
    if (in->count)
        memcpy(r->in, in->at, (size_t)in->count * sizeof(fsim_operand *));
    v->recipe = c->recipe = r;
    v->still = true;
}

void fsim_onnx_set_empty(fsim_onnx_import *m, fsim_operand *v)
{
    v->ints = fsim_new(m->a, int64_t, 1);
    v->floats = fsim_new(m->a, double, 1);
    v->still = true;
}

static const char *wanted_name(const fsim_onnx_call *c, const char *name)
{
    const char *prefix = c->m->scope->prefix;
    return *prefix ? fsim_printf(c->a, "%s%s", prefix, name) : name;
}

static bool all_constant(const fsim_onnx_call *c)
{
    for (int i = 0; i < c->ins; i++)
        if (c->in[i] && !c->in[i]->constant)
            return false;
    return true;
}

static fsim_operand *known(fsim_onnx_call *c, const char *name, const fsim_shape *shape, fsim_dtype dtype)
{
    fsim_operand *v = fsim_onnx_operand_new(c->m, name, shape, dtype);
    v->constant = all_constant(c);
    v->still = true;
    v->tensor_as = wanted_name(c, name ? name : "numbers");
    return v;
}

bool fsim_onnx_zeros(fsim_onnx_call *c, int k, const fsim_shape *shape, fsim_dtype dtype)
{
    static const double zero = 0;
    if (!fsim_onnx_check_shape(c, shape))
        return false;
    c->out[k] = known(c, c->node->out[k], shape, dtype);
    c->out[k]->constant = true;
    c->out[k]->each = &zero;
    return true;
}

static bool any_parameter(const fsim_onnx_args *in)
{
    for (int i = 0; i < in->count; i++)
        if (in->at[i]->parameter)
            return true;
    return false;
}

/* Writes the operator of v, now or when it is read, if at all. */
static fsim_operand *write_made(fsim_onnx_call *c, fsim_operand *v, const char *op, const fsim_onnx_args *in)
{
    int depth;
    const writing how = writing_of(c, op, in, &depth);
    c->recipe = NULL;
    c->folded = how == WRITE_NEVER;
    if (fsim_onnx_elems(v) == 0) {
        fsim_onnx_set_empty(c->m, v);
        c->folded = true;
    } else if (how == WRITE_LATER) {
        put_off(c, v, op, in);
        v->depth = depth;
    } else if (how == WRITE_NEVER) {
        v->constant = v->still = true;
        v->parameter = v->file = any_parameter(in);
    } else {
        fsim_onnx_called(c->m, v,
                         fsim_draft_op(c->x, op, v->tensor_as, in->count, written_names(c->m, in->count, in->at)));
    }
    return v;
}

/* Arithmetic on shapes: known numbers, which are written as such where somebody reads them. */
static bool is_arithmetic(const fsim_onnx_call *c, const fsim_shape *shape, const fsim_onnx_args *in)
{
    return c->knows && shape->rank <= 1 && !any_parameter(in);
}

/* May there be a result of this type, and one more? Strings and complex numbers have no type of ours. */
static bool is_possible(fsim_onnx_call *c, const fsim_shape *shape, fsim_dtype dtype)
{
    if (dtype == FSIM_DTYPE_NONE)
        return fsim_onnx_unsupported(c, "strings or complex numbers");
    if (c->m->operators++ == MAX_OPERATORS)
        fsim_onnx_refuse(c, "the model has more than %d operators once loops and functions are unrolled",
                         MAX_OPERATORS);
    return c->m->operators <= MAX_OPERATORS && fsim_onnx_check_shape(c, shape);
}

fsim_operand *fsim_onnx_make(fsim_onnx_call *c, int k, const char *op, const fsim_shape *shape, fsim_dtype dtype,
                             const fsim_onnx_args *in)
{
    const fsim_operand *knows = c->knows;
    if (!is_possible(c, shape, dtype))
        return NULL;
    if (is_arithmetic(c, shape, in)) {
        c->out[k] = known(c, c->node->out[k], shape, dtype);
        c->folded = true;
        c->recipe = NULL;
    } else {
        c->out[k] = fsim_onnx_operand_new(c->m, c->node->out[k], shape, dtype);
        c->out[k]->tensor_as = wanted_name(c, c->node->out[k]);
        write_made(c, c->out[k], op, in);
    }
    if (knows) {
        c->out[k]->ints = knows->ints;
        c->out[k]->floats = knows->floats;
    }
    c->knows = NULL;
    return c->out[k];
}

/* The name that the steps of a node begin with: its result's, without what says nothing. */
static const char *step_base(const fsim_onnx_call *c)
{
    static const char tail[] = "_output_0";
    const char *name = c->outs && *c->node->out[0] ? c->node->out[0] : c->op;
    const size_t length = strlen(name), extra = sizeof tail - 1;
    if (length > extra && strcmp(name + length - extra, tail) == 0)
        name = fsim_strndup(c->a, name, length - extra);
    return wanted_name(c, name);
}

fsim_operand *fsim_onnx_step(fsim_onnx_call *c, const char *what, const char *op, const fsim_shape *shape,
                             fsim_dtype dtype, const fsim_onnx_args *in)
{
    if (!is_possible(c, shape, dtype))
        return NULL;
    fsim_operand *v = fsim_onnx_operand_new(c->m, NULL, shape, dtype);
    v->tensor_as = fsim_printf(c->a, "%s.%s", step_base(c), what);
    return write_made(c, v, op, in);
}

/* Results of a split of constants are constants. */
static void fold_all(fsim_onnx_call *c, int outs, const fsim_draft_result *type, bool parameter)
{
    for (int k = 0; k < outs && k < c->outs; k++) {
        if (!fsim_onnx_wants(c, k))
            continue;
        fsim_operand *v = fsim_onnx_operand_new(c->m, c->node->out[k], &type[k].shape, type[k].dtype);
        v->constant = v->still = true;
        v->parameter = parameter;
        v->tensor_as = wanted_name(c, v->name);
        c->out[k] = v;
    }
}

bool fsim_onnx_make_all(fsim_onnx_call *c, const char *op, int outs, const fsim_draft_result *type,
                        const fsim_onnx_args *in)
{
    int depth;
    for (int k = 0; k < outs; k++)
        if (!is_possible(c, &type[k].shape, type[k].dtype))
            return false;
    c->recipe = NULL;
    c->folded = writing_of(c, op, in, &depth) == WRITE_NEVER;
    if (c->folded) {
        fold_all(c, outs, type, any_parameter(in));
        return true;
    }
    const char **name = fsim_new(c->a, const char *, outs);
    for (int k = 0; k < outs; k++)
        name[k] = k < c->outs && *c->node->out[k] ? wanted_name(c, c->node->out[k]) : NULL;
    const char **from = written_names(c->m, in->count, in->at);
    fsim_draft_op_outs(c->x, op, in->count, from, outs, name);
    for (int k = 0; k < outs && k < c->outs; k++) {
        c->out[k] = fsim_onnx_operand_new(c->m, c->node->out[k], &type[k].shape, type[k].dtype);
        fsim_onnx_called(c->m, c->out[k], name[k]);
    }
    return true;
}

bool fsim_onnx_steps(fsim_onnx_call *c, const char *op, int outs, const fsim_draft_result *type,
                     const fsim_onnx_args *in, fsim_operand **made)
{
    const char **name = fsim_new(c->a, const char *, outs);
    for (int i = 0; i < in->count; i++)
        if (!in->at[i])
            return false;
    for (int k = 0; k < outs; k++) {
        if (!is_possible(c, &type[k].shape, type[k].dtype))
            return false;
        name[k] = fsim_printf(c->a, "%s.%s", step_base(c), type[k].name);
    }
    c->recipe = NULL;
    c->folded = false;
    fsim_draft_op_outs(c->x, op, in->count, written_names(c->m, in->count, in->at), outs, name);
    for (int k = 0; k < outs; k++) {
        made[k] = fsim_onnx_operand_new(c->m, NULL, &type[k].shape, type[k].dtype);
        fsim_onnx_called(c->m, made[k], name[k]);
    }
    return true;
}

/* Attributes of the newest operator. */

static bool put_now(fsim_onnx_call *c, const put *p)
{
    if (c->recipe)
        *FSIM_PUSH(c->a, c->recipe->put, c->recipe->puts, c->recipe->room) = *p;
    else if (!c->folded)
        write_put(c->x, p);
    return true;
}

void fsim_onnx_put_int(fsim_onnx_call *c, const char *key, int64_t value)
{
    put_now(c, &(put){.kind = PUT_INT, .key = key, .integer = value});
}

void fsim_onnx_put_ints(fsim_onnx_call *c, const char *key, int count, const int64_t *value)
{
    int64_t *list = fsim_new(c->a, int64_t, count + 1);
    if (count)
        memcpy(list, value, (size_t)count * sizeof *list);
    put_now(c, &(put){.kind = PUT_INTS, .key = key, .count = count, .list = list});
}

void fsim_onnx_put_number(fsim_onnx_call *c, const char *key, double value)
{
    put_now(c, &(put){.kind = PUT_NUMBER, .key = key, .number = value});
}

void fsim_onnx_put_flag(fsim_onnx_call *c, const char *key, bool value)
{
    put_now(c, &(put){.kind = PUT_FLAG, .key = key, .integer = value});
}

void fsim_onnx_put_word(fsim_onnx_call *c, const char *key, const char *value)
{
    put_now(c, &(put){.kind = PUT_WORD, .key = key, .word = value});
}

/* Results without an operator. */

bool fsim_onnx_same(fsim_onnx_call *c, int k, fsim_operand *v)
{
    c->out[k] = v;
    return v != NULL;
}

bool fsim_onnx_set_ints(fsim_onnx_call *c, int k, const fsim_shape *shape, fsim_dtype dtype, const int64_t *value)
{
    c->out[k] = known(c, c->node->out[k], shape, dtype);
    c->out[k]->ints = value;
    return true;
}

bool fsim_onnx_set_floats(fsim_onnx_call *c, int k, const fsim_shape *shape, fsim_dtype dtype, const double *value)
{
    c->out[k] = known(c, c->node->out[k], shape, dtype);
    c->out[k]->floats = value;
    return true;
}

fsim_operand *fsim_onnx_new_ints(fsim_onnx_call *c, const fsim_shape *shape, fsim_dtype dtype, const int64_t *value)
{
    fsim_operand *v = known(c, NULL, shape, dtype);
    v->ints = value;
    return v;
}
