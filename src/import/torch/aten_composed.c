/* SPDX-License-Identifier: Apache-2.0 */
/* aten_composed.c: operators that PyTorch itself makes of others, as those others: joins and products under other
 * names, diagonals, functions without a primitive of their own. */
#include "import/torch/work.h"

#include <math.h>
#include <string.h>

static void put_dim(fsim_aten *c, int64_t dim) { fsim_draft_ints(c->x, "dim", 1, &dim); }

/* An operator of x alone, or of x and a number, in the result's dtype. NULL after an error. */
static fsim_torch_value *unary(fsim_aten *c, const char *op, fsim_torch_value *x)
{
    return x ? fsim_aten_step(c, op, FSIM_AS(op, &x->shape, c->out[0]->dtype), 1, &x) : NULL;
}

static fsim_torch_value *with_number(fsim_aten *c, const char *op, fsim_torch_value *x, double by)
{
    x = unary(c, op, x);
    if (x)
        fsim_aten_put(c, "scalar", by, by == floor(by));
    return x;
}

/* The result is op of x and y, which broadcast. */
static bool joined(fsim_aten *c, const char *op, fsim_torch_value *x, fsim_torch_value *y)
{
    return fsim_aten_make(c, 0, op, 2, (fsim_torch_value *[2]){x, y});
}

static fsim_torch_value *binary(fsim_aten *c, const char *op, fsim_torch_value *x, fsim_torch_value *y)
{
    return fsim_aten_step(c, op, FSIM_AS(op, &c->out[0]->shape, c->out[0]->dtype), 2, (fsim_torch_value *[2]){x, y});
}

/* x in the dtype of the result: an integer counts as the float that the function makes of it. */
static fsim_torch_value *argument(fsim_aten *c, const char *name)
{
    return fsim_aten_cast(c, fsim_aten_tensor(c, name), c->out[0]->dtype);
}

/* The dtype of self with a number, and the function's word: what is done with it. */
bool fsim_aten_op_scaled(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!fsim_aten_make(c, 0, "mul", 1, &x))
        return false;
    fsim_draft_number(c->x, "scalar", strcmp(word, "radians") == 0 ? M_PI / 180 : 180 / M_PI);
    return true;
}

/* Is it this number? */
bool fsim_aten_op_is_number(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!fsim_aten_make(c, 0, *word == '0' ? "lt" : "eq", 1, &x))
        return false;
    fsim_draft_number(c->x, "scalar", *word == '0' ? 0 : *word == '-' ? -INFINITY : INFINITY);
    return true;
}

/* 1 - erf(x) */
bool fsim_aten_op_erfc(fsim_aten *c, const char *word)
{
    (void)word;
    return joined(c, "sub", fsim_aten_constant(c, 1, true, c->out[0]->dtype), unary(c, "erf", argument(c, "self")));
}

/* x - trunc(x) */
bool fsim_aten_op_frac(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    return joined(c, "sub", x, unary(c, "trunc", x));
}

/* log(x / (1 - x)), of x within eps of the ends where that is given */
bool fsim_aten_op_logit(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = argument(c, "self");
    const double eps = fsim_aten_number(c, "eps", -1);
    if (eps >= 0 && (x = unary(c, "clamp", x))) {
        fsim_draft_number(c->x, "min", eps);
        fsim_draft_number(c->x, "max", 1 - eps);
    }
    fsim_torch_value *rest = x ? binary(c, "sub", fsim_aten_constant(c, 1, true, x->dtype), x) : NULL;
    x = rest ? binary(c, "div", x, rest) : NULL;
    return fsim_aten_make(c, 0, "log", 1, &x);
}

/* x log(y) */
bool fsim_aten_op_xlogy(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = argument(c, "self"), *y = argument(c, "other");
    double by;
    bool whole;
    if (x && !y && fsim_aten_scalar(c, fsim_aten_arg(c, "other"), &by, &whole) && by > 0) {
        if (!fsim_aten_make(c, 0, "mul", 1, &x))
            return false;
        fsim_draft_number(c->x, "scalar", log(by));
        return true;
    }
    return joined(c, "mul", x, unary(c, "log", y));
}

/* The root of x^2 + y^2 */
bool fsim_aten_op_hypot(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = unary(c, "square", argument(c, "self")), *y = unary(c, "square", argument(c, "other"));
    x = binary(c, "add", x, y);
    return fsim_aten_make(c, 0, "sqrt", 1, &x);
}

/* max(x, y) + log(1 + exp(-|x - y|)) */
bool fsim_aten_op_logaddexp(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *y = fsim_aten_tensor(c, "other");
    fsim_torch_value *gap = unary(c, "neg", unary(c, "abs", binary(c, "sub", x, y)));
    gap = unary(c, "log1p", unary(c, "exp", gap));
    return joined(c, "add", binary(c, "maximum", x, y), gap);
}

/* Is an element among the test's? Compared with all of them. */
bool fsim_aten_op_isin(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_tensor(c, "elements"), *test = fsim_aten_tensor(c, "test_elements");
    const bool invert = fsim_aten_flag(c, "invert", false);
    double value;
    bool whole;
    if (fsim_aten_scalar(c, fsim_aten_arg(c, "test_element"), &value, &whole)) {
        if (!fsim_aten_make(c, 0, invert ? "ne" : "eq", 1, &x))
            return false;
        fsim_aten_put(c, "scalar", value, whole);
        return true;
    }
    if (!x || !test || x->shape.rank == FSIM_MAX_RANK)
        return false;
    fsim_shape apart = x->shape, pairs = x->shape;
    const fsim_shape flat = {.rank = 1, .dim = {fsim_aten_elems(&test->shape)}};
    apart.dim[apart.rank++] = 1;
    pairs.dim[pairs.rank++] = flat.dim[0];
    x = fsim_aten_step(c, invert ? "ne" : "eq", FSIM_AS("pairs", &pairs, FSIM_BOOL), 2,
                       (fsim_torch_value *[2]){fsim_aten_reshaped(c, x, &apart), fsim_aten_reshaped(c, test, &flat)});
    if (!fsim_aten_make(c, 0, invert ? "all" : "any", 1, &x))
        return false;
    put_dim(c, -1);
    return true;
}

/* How many are not 0. */
bool fsim_aten_op_count_nonzero(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    int64_t dim[16];
    const int count = fsim_aten_ints(c, "dim", dim);
    x = x ? fsim_aten_step(c, "ne", FSIM_AS("some", &x->shape, FSIM_BOOL), 1, &x) : NULL;
    if (!x)
        return false;
    fsim_draft_int(c->x, "scalar", 0);
    x = fsim_aten_cast(c, x, c->out[0]->dtype);
    if (!fsim_aten_make(c, 0, "sum", 1, &x))
        return false;
    if (count > 0)
        fsim_draft_ints(c->x, "dim", count, dim);
    return true;
}

/* Joins under other names. */

/* Of tensors with at least so many dimensions: vstack, dstack, column_stack. */
bool fsim_aten_op_join(fsim_aten *c, const char *word)
{
    fsim_torch_value **in;
    const int count = fsim_aten_tensors(c, "tensors", &in), rank = c->out[0]->shape.rank, dim = *word - '0';
    if (count < 1 || dim >= rank)
        return false;
    for (int i = 0; i < count; i++) {
        fsim_shape s = c->out[0]->shape;
        if (!in[i])
            return false;
        if (in[i]->shape.rank < rank) {
            s.dim[dim] = 1;
            if (fsim_aten_elems(&in[i]->shape) != fsim_aten_elems(&s))
                return false;
            in[i] = fsim_aten_reshaped(c, in[i], &s);
        }
        in[i] = fsim_aten_cast(c, in[i], c->out[0]->dtype);
    }
    if (count == 1)
        return fsim_aten_same(c, 0, in[0]);
    if (!fsim_aten_make(c, 0, "concat", count, in))
        return false;
    put_dim(c, dim);
    return true;
}

/* Left to right, upside down. */
bool fsim_aten_op_mirror(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!fsim_aten_make(c, 0, "flip", 1, &x))
        return false;
    put_dim(c, *word - '0');
    return true;
}

/* Diagonals. */

/* Numbers start to start + count. */
static fsim_torch_value *numbers(fsim_aten *c, const char *name, int64_t start, int64_t count)
{
    const fsim_shape s = {.rank = 1, .dim = {count}};
    fsim_torch_value *v = fsim_aten_step(c, "arange", FSIM_AS(name, &s, FSIM_I64), 0, NULL);
    fsim_draft_int(c->x, "end", start + count);
    fsim_draft_int(c->x, "start", start);
    return v;
}

/* What lies on a diagonal of two dimensions, which become the last one: only that is read. NULL: there is none. */
static fsim_torch_value *on_diagonal(fsim_aten *c, fsim_torch_value *x, int64_t offset, int dim1, int dim2)
{
    if (dim1 < 0 || dim2 < 0 || dim1 == dim2)
        return NULL;
    if (dim1 > dim2) {
        const int other = dim1;
        dim1 = dim2;
        dim2 = other;
        offset = -offset;
    }
    const int64_t from[2] = {offset < 0 ? -offset : 0, offset > 0 ? offset : 0};
    const int64_t rows = x->shape.dim[dim1] - from[0], columns = x->shape.dim[dim2] - from[1];
    const int64_t count = rows < columns ? rows : columns;
    if (count < 1)
        return NULL;
    fsim_torch_value *first = numbers(c, "rows", from[0], count),
                     *second = from[0] == from[1] ? first : numbers(c, "columns", from[1], count);
    const bool beside = dim2 == dim1 + 1; /* then the index stands where they stood, else in front */
    fsim_shape at = {.rank = 0}, last = {.rank = 0};
    int64_t order[FSIM_MAX_RANK];
    const int place = beside ? dim1 : 0;
    for (int i = 0; i < x->shape.rank; i++)
        if (i != dim1 && i != dim2)
            last.dim[last.rank++] = x->shape.dim[i];
    for (int i = 0; i <= last.rank; i++)
        at.dim[at.rank++] = i == place ? count : last.dim[i - (i > place)];
    for (int i = 0; i < last.rank; i++)
        order[i] = i + (i >= place);
    order[last.rank] = place;
    x = fsim_aten_step(c, "index", FSIM_AS("picked", &at, x->dtype), 3, (fsim_torch_value *[3]){x, first, second});
    fsim_draft_ints(c->x, "dim", 2, (int64_t[2]){dim1, dim2});
    if (!x || place == last.rank)
        return x;
    last.dim[last.rank++] = count;
    x = fsim_aten_step(c, "permute", FSIM_AS("diagonal", &last, x->dtype), 1, &x);
    fsim_draft_ints(c->x, "dim", last.rank, order);
    return x;
}

bool fsim_aten_op_diagonal(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    if (!x || x->shape.rank < 2)
        return false;
    x = on_diagonal(c, x, fsim_aten_int(c, "offset", 0), fsim_aten_axis(fsim_aten_int(c, "dim1", 0), x->shape.rank),
                    fsim_aten_axis(fsim_aten_int(c, "dim2", 1), x->shape.rank));
    return fsim_aten_reshape(c, 0, x);
}

bool fsim_aten_op_trace(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    x = x && x->shape.rank == 2 ? on_diagonal(c, x, 0, 0, 1) : NULL;
    return fsim_aten_make(c, 0, "sum", 1, &x);
}

/* A vector on the diagonal of a matrix of zeros. */
static bool spread_out(fsim_aten *c, fsim_torch_value *x)
{
    const fsim_shape *s = &c->out[0]->shape;
    fsim_shape column = x->shape;
    if (s->rank != column.rank + 1 || s->dim[s->rank - 1] != s->dim[s->rank - 2])
        return false;
    column.dim[column.rank++] = 1;
    x = fsim_aten_expanded(c, fsim_aten_reshaped(c, x, &column), s);
    x = x ? fsim_aten_step(c, "triu", FSIM_AS("upper", s, x->dtype), 1, &x) : NULL;
    return fsim_aten_make(c, 0, "tril", 1, &x);
}

/* diag_embed, and diag: a vector's matrix, a matrix' diagonal. */
bool fsim_aten_op_diag(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    const int64_t offset = fsim_aten_int(c, "offset|diagonal", 0), dim1 = fsim_aten_int(c, "dim1", -2),
                  dim2 = fsim_aten_int(c, "dim2", -1);
    if (x && strcmp(word, "either") == 0 && x->shape.rank == 2)
        return fsim_aten_reshape(c, 0, on_diagonal(c, x, offset, 0, 1));
    return x && offset == 0 && dim1 == -2 && dim2 == -1 && spread_out(c, x);
}

/* Groups of channels: [N, g, C / g, ...] with the two in each other's place. */
bool fsim_aten_op_channel_shuffle(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const int64_t groups = fsim_aten_int(c, "groups", 1);
    if (!x || x->shape.rank < 3 || groups < 1 || x->shape.dim[1] % groups != 0)
        return false;
    const fsim_shape *s = &x->shape;
    const int64_t each = s->dim[1] / groups, rest = fsim_aten_elems(s) / (s->dim[0] * s->dim[1]);
    const fsim_shape four = {.rank = 4, .dim = {s->dim[0], groups, each, rest}},
                     turned = {.rank = 4, .dim = {s->dim[0], each, groups, rest}};
    x = fsim_aten_reshaped(c, x, &four);
    x = x ? fsim_aten_step(c, "transpose", FSIM_AS("channels", &turned, x->dtype), 1, &x) : NULL;
    if (x)
        fsim_draft_ints(c->x, "dim", 2, (int64_t[2]){1, 2});
    return fsim_aten_reshape(c, 0, x);
}

/* Weights as a direction and a length: v g / |v|, the norm over all dimensions but one. */

/* The norm of v over all dimensions but `dim`, which stay. */
static fsim_torch_value *norm_but(fsim_aten *c, fsim_torch_value *v, int64_t dim)
{
    int64_t dims[FSIM_MAX_RANK];
    int count = 0;
    if (!v)
        return NULL;
    fsim_shape s = v->shape;
    dim = dim < 0 ? -1 : dim; /* -1: of all */
    for (int i = 0; i < s.rank; i++)
        if (i != dim) {
            dims[count++] = i;
            s.dim[i] = 1;
        }
    v = fsim_aten_step(c, "norm", FSIM_AS("length", &s, v->dtype), 1, &v);
    if (v) {
        fsim_draft_ints(c->x, "dim", count, dims);
        fsim_draft_flag(c->x, "keepdim", true);
    }
    return v;
}

bool fsim_aten_op_weight_norm(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *v = fsim_aten_tensor(c, "v"), *g = fsim_aten_tensor(c, "g");
    fsim_torch_value *length = norm_but(c, v, fsim_aten_int(c, "dim", 0));
    if (!length || !g || !c->out[0])
        return false;
    fsim_torch_value *by =
        fsim_aten_step(c, "div", FSIM_AS("by", &length->shape, length->dtype), 2, (fsim_torch_value *[2]){g, length});
    return joined(c, "mul", v, by) && (c->outs < 2 || !c->read[1] || fsim_aten_reshape(c, 1, length));
}

bool fsim_aten_op_norm_but(fsim_aten *c, const char *word)
{
    (void)word;
    return fsim_aten_reshape(c, 0, norm_but(c, fsim_aten_tensor(c, "v"), fsim_aten_int(c, "dim", 0)));
}

/* Distances between rows. */

/* |x - y + eps| along the last dimension. */
bool fsim_aten_op_distance(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_tensor(c, "x1"), *y = fsim_aten_tensor(c, "x2");
    if (!x || !y || !fsim_aten_same_shape(&x->shape, &y->shape))
        return false;
    x = fsim_aten_step(c, "sub", FSIM_AS("gap", &x->shape, c->out[0]->dtype), 2, (fsim_torch_value *[2]){x, y});
    x = with_number(c, "add", x, fsim_aten_number(c, "eps", 1e-6));
    if (!fsim_aten_make(c, 0, "norm", 1, &x))
        return false;
    put_dim(c, -1);
    if (fsim_aten_number(c, "p", 2) != 2)
        fsim_draft_number(c->x, "p", fsim_aten_number(c, "p", 2));
    if (fsim_aten_flag(c, "keepdim", false))
        fsim_draft_flag(c->x, "keepdim", true);
    return true;
}

/* The one of two operands that has fewer dimensions, for each of the other's batches, which the result has. */
static bool as_batches(fsim_aten *c, fsim_torch_value **x, fsim_torch_value **y)
{
    fsim_torch_value **less = (*x)->shape.rank < (*y)->shape.rank ? x : y;
    const fsim_shape *own = &(*less)->shape;
    fsim_shape one = c->out[0]->shape, all = one;
    const int more = one.rank - own->rank;
    if (own->rank < 2 || more < 1 || one.rank != (less == x ? *y : *x)->shape.rank)
        return false;
    for (int i = 0; i < one.rank; i++) {
        one.dim[i] = i < more ? 1 : own->dim[i - more];
        all.dim[i] = i < one.rank - 2 ? all.dim[i] : own->dim[i - more];
    }
    *less = fsim_aten_expanded(c, fsim_aten_reshaped(c, *less, &one), &all);
    return *less != NULL;
}

/* All rows of x[..., P, D] with all of y[..., R, D]: by the product of both where p is 2 and there are more than 25
 * rows, as PyTorch does it (compute_mode), else each pair in one kernel. */
bool fsim_aten_op_cdist(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_tensor(c, "x1"), *y = fsim_aten_tensor(c, "x2");
    const double p = fsim_aten_number(c, "p", 2);
    const fsim_shape *s = &c->out[0]->shape;
    if (!x || !y || (x->shape.rank != y->shape.rank && !as_batches(c, &x, &y)) || x->shape.rank < 2)
        return false;
    const int rank = x->shape.rank;
    const int64_t mode = fsim_aten_int(c, "compute_mode", 0), P = s->dim[rank - 2], R = s->dim[rank - 1];
    if (p == 2 && mode != 2 && (mode == 1 || P > 25 || R > 25)) { /* the norms' columns go into the product */
        fsim_shape b = y->shape;
        const int64_t deep = b.dim[rank - 1] + 2;
        b.dim[rank - 2] = deep;
        b.dim[rank - 1] = R;
        fsim_torch_value *in[2] = {x, y}, *wide[2];
        for (int i = 0; i < 2; i++) {
            fsim_shape t = i ? y->shape : x->shape;
            t.dim[rank - 1] = deep;
            wide[i] = fsim_aten_step(c, "pad", FSIM_AS(i ? "right" : "left", &t, in[i]->dtype), 1, &in[i]);
            fsim_draft_ints(c->x, "padding", 2, (int64_t[2]){0, 2});
        }
        wide[1] = wide[1] ? fsim_aten_step(c, "transpose", FSIM_AS("turned", &b, y->dtype), 1, &wide[1]) : NULL;
        fsim_draft_ints(c->x, "dim", 2, (int64_t[2]){rank - 2, rank - 1});
        x = fsim_aten_step(c, "matmul", FSIM_AS("squares", s, c->out[0]->dtype), 2, wide);
        x = unary(c, "relu", x);
        return fsim_aten_make(c, 0, "sqrt", 1, &x);
    }
    const bool power = p != 0 && p != 1 && p != 2 && !isinf(p);
    const double coordinates = (double)fsim_aten_elems(s) * (double)x->shape.dim[rank - 1];
    return fsim_aten_own_kernel(c, 0, 2, (fsim_torch_value *[2]){x, y},
                                fsim_aten_work_of(power ? FSIM_ATEN_GAP_POWER : FSIM_ATEN_GAP, coordinates));
}

/* Products under other names, as sums of products of letters. */

static bool summed(fsim_aten *c, const char *equation, int ins, fsim_torch_value *const *in)
{
    if (!fsim_aten_make(c, 0, "einsum", ins, in))
        return false;
    fsim_draft_word(c->x, "equation", equation);
    return true;
}

/* Sums over pairs of dimensions: tensordot, and inner: the last of both. */
bool fsim_aten_op_tensordot(fsim_aten *c, const char *word)
{
    fsim_torch_value *in[2] = {fsim_aten_self(c), fsim_aten_tensor(c, "other")};
    int64_t dims[2][16] = {{-1}, {-1}};
    char letter[2][FSIM_MAX_RANK + 1] = {"", ""}, *equation = fsim_new(c->a, char, 4 * FSIM_MAX_RANK + 8), next = 'a';
    int pairs = 1;
    size_t at = 0;
    if (!in[0] || !in[1])
        return false;
    if (strcmp(word, "last") != 0) {
        pairs = fsim_aten_ints(c, "dims_self", dims[0]);
        if (pairs < 0 || fsim_aten_ints(c, "dims_other", dims[1]) != pairs)
            return false;
    }
    for (int i = 0; i < pairs; i++, next++)
        for (int k = 0; k < 2; k++) {
            const int axis = fsim_aten_axis(dims[k][i], in[k]->shape.rank);
            if (axis < 0 || letter[k][axis])
                return false;
            letter[k][axis] = next;
        }
    for (int k = 0; k < 2; k++) {
        if (k)
            equation[at++] = ',';
        for (int i = 0; i < in[k]->shape.rank; i++) {
            letter[k][i] = letter[k][i] ? letter[k][i] : next++;
            equation[at++] = letter[k][i];
        }
    }
    memcpy(equation + at, "->", 2);
    at += 2;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < in[k]->shape.rank; i++)
            if (letter[k][i] >= 'a' + pairs)
                equation[at++] = letter[k][i];
    return summed(c, equation, 2, in);
}

/* x1 W x2 for each of W's matrices, and a bias. */
bool fsim_aten_op_bilinear(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *in[3] = {fsim_aten_tensor(c, "input1"), fsim_aten_tensor(c, "weight"),
                               fsim_aten_tensor(c, "input2")},
                     *bias = fsim_aten_tensor(c, "bias");
    const fsim_shape *s = &c->out[0]->shape;
    if (!in[0] || in[0]->shape.rank != 2)
        return false;
    if (!bias)
        return summed(c, "ni,oij,nj->no", 3, in);
    fsim_torch_value *y = fsim_aten_step(c, "einsum", FSIM_AS("product", s, c->out[0]->dtype), 3, in);
    if (y)
        fsim_draft_word(c->x, "equation", "ni,oij,nj->no");
    return joined(c, "add", y, bias);
}

/* beta self + alpha times the sum of all products of a batch */
bool fsim_aten_op_addbmm(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *in[2] = {fsim_aten_tensor(c, "batch1"), fsim_aten_tensor(c, "batch2")};
    const double alpha = fsim_aten_number(c, "alpha", 1), beta = fsim_aten_number(c, "beta", 1);
    fsim_torch_value *y = fsim_aten_step(c, "einsum", FSIM_AS("product", &c->out[0]->shape, c->out[0]->dtype), 2, in);
    if (y)
        fsim_draft_word(c->x, "equation", "bij,bjk->ik");
    y = alpha == 1 ? y : with_number(c, "mul", y, alpha);
    if (beta == 0)
        return fsim_aten_same(c, 0, y);
    fsim_torch_value *x = fsim_aten_self(c);
    return joined(c, "add", beta == 1 ? x : with_number(c, "mul", x, beta), y);
}

/* Each element of one times all of the other. */
bool fsim_aten_op_kron(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *in[2] = {fsim_aten_self(c), fsim_aten_tensor(c, "other")};
    fsim_shape apart[2] = {{.rank = 0}, {.rank = 0}}, all = {.rank = 0};
    const int rank = c->out[0]->shape.rank;
    if (!in[0] || !in[1] || 2 * rank > FSIM_MAX_RANK)
        return false;
    for (int i = 0; i < 2 * rank; i++)
        for (int k = 0; k < 2; k++) {
            const int own = i / 2 - (rank - in[k]->shape.rank);
            apart[k].dim[i] = i % 2 == k && own >= 0 ? in[k]->shape.dim[own] : 1;
            apart[k].rank = all.rank = 2 * rank;
            all.dim[i] = (k ? all.dim[i] : 1) * apart[k].dim[i];
        }
    for (int k = 0; k < 2; k++)
        in[k] = fsim_aten_reshaped(c, in[k], &apart[k]);
    return fsim_aten_reshape(c, 0, fsim_aten_step(c, "mul", FSIM_AS("products", &all, c->out[0]->dtype), 2, in));
}

/* The sum of products along a dimension. */
bool fsim_aten_op_vecdot(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_tensor(c, "x"), *y = fsim_aten_tensor(c, "y");
    if (!x || !y || !fsim_aten_same_shape(&x->shape, &y->shape))
        return false;
    x = fsim_aten_step(c, "mul", FSIM_AS("products", &x->shape, x->dtype), 2, (fsim_torch_value *[2]){x, y});
    if (!fsim_aten_make(c, 0, "sum", 1, &x))
        return false;
    put_dim(c, fsim_aten_int(c, "dim", -1));
    return true;
}

/* Matrices in a row, from left to right. */
bool fsim_aten_op_chain(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value **in;
    const int count = fsim_aten_tensors(c, "matrices|tensors", &in);
    for (int i = 0; i < count; i++)
        if (!in[i] || in[i]->shape.rank != 2)
            return false;
    fsim_torch_value *y = count > 1 ? in[0] : NULL;
    for (int i = 1; i + 1 < count && y; i++) {
        const fsim_shape s = {.rank = 2, .dim = {y->shape.dim[0], in[i]->shape.dim[1]}};
        y = fsim_aten_step(c, "matmul", FSIM_AS(fsim_printf(c->a, "product%d", i), &s, y->dtype), 2,
                           (fsim_torch_value *[2]){y, in[i]});
    }
    return y && joined(c, "matmul", y, in[count - 1]);
}
