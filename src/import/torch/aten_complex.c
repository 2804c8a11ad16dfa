/* SPDX-License-Identifier: Apache-2.0 */
/* aten_complex.c: complex numbers as pairs of real ones, along a last dimension of 2 that a complex tensor has here
 * beside those of the file. What only moves elements moves pairs; a product is a rotation. Fourier transforms are
 * opaque. */
#include "import/torch/work.h"

#include <string.h>

/* A part of each pair, 0 or 1, with a last dimension of 1. */
static fsim_torch_value *half_of(fsim_aten *c, fsim_torch_value *x, int which)
{
    static const char *const name[2] = {"real", "imaginary"};
    if (!x || x->shape.rank < 1)
        return NULL;
    fsim_shape s = x->shape;
    const int64_t last = s.rank - 1, start = which, end = which + 1;
    s.dim[last] = 1;
    x = fsim_aten_step(c, "slice", FSIM_AS(name[which], &s, x->dtype), 1, &x);
    if (x) {
        fsim_draft_ints(c->x, "dim", 1, &last);
        fsim_draft_ints(c->x, "start", 1, &start);
        fsim_draft_ints(c->x, "end", 1, &end);
    }
    return x;
}

/* Real numbers with a last dimension of 1. */
static fsim_torch_value *as_half(fsim_aten *c, fsim_torch_value *x)
{
    if (!x || x->shape.rank == FSIM_MAX_RANK)
        return NULL;
    fsim_shape s = x->shape;
    s.dim[s.rank++] = 1;
    return fsim_aten_reshaped(c, x, &s);
}

static bool make_pairs(fsim_aten *c, fsim_torch_value *first, fsim_torch_value *second)
{
    fsim_torch_value *in[2] = {as_half(c, first), as_half(c, second)};
    if (!fsim_aten_make(c, 0, "concat", 2, in))
        return false;
    fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){-1});
    return true;
}

/* view_as_real and view_as_complex: the same numbers, as a view whose shape the file counts in another way. */
bool fsim_aten_op_pairs(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    if (!x || !x->tensor || !fsim_aten_same_shape(&x->shape, &c->out[0]->shape))
        return false;
    c->out[0]->tensor = x->tensor;
    c->out[0]->reads = ++x->reads;
    fsim_aten_view(c, 0, x, -1, 0);
    return true;
}

/* real and imag: views. word: which half */
bool fsim_aten_op_half(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    return x && (x->complex ? fsim_aten_reshape(c, 0, half_of(c, x, *word - '0')) : fsim_aten_same(c, 0, x));
}

bool fsim_aten_op_make_complex(fsim_aten *c, const char *word)
{
    (void)word;
    return make_pairs(c, fsim_aten_tensor(c, "real"), fsim_aten_tensor(c, "imag"));
}

/* A length and an angle. */
bool fsim_aten_op_polar(fsim_aten *c, const char *word)
{
    static const char *const op[2] = {"cos", "sin"};
    fsim_torch_value *length = fsim_aten_tensor(c, "abs"), *angle = fsim_aten_tensor(c, "angle"), *part[2];
    (void)word;
    if (!length || !angle || !fsim_aten_same_shape(&length->shape, &angle->shape))
        return false;
    for (int i = 0; i < 2; i++) {
        part[i] = fsim_aten_step(c, op[i], FSIM_AS(op[i], &angle->shape, angle->dtype), 1, &angle);
        part[i] = fsim_aten_step(c, "mul", FSIM_AS(i ? "imaginary" : "real", &angle->shape, angle->dtype), 2,
                                 (fsim_torch_value *[2]){length, part[i]});
    }
    return make_pairs(c, part[0], part[1]);
}

/* The sign of the second half: whoever reads it turns it, as PyTorch does, which only notes it. */
bool fsim_aten_op_conj(fsim_aten *c, const char *word)
{
    (void)word;
    return fsim_aten_same(c, 0, fsim_aten_self(c));
}

bool fsim_aten_op_angle(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    if (!x || !x->complex)
        return false;
    fsim_shape s = x->shape;
    s.dim[s.rank - 1] = 1;
    return fsim_aten_reshape(c, 0,
                             fsim_aten_step(c, "atan2", FSIM_AS("angle", &s, x->dtype), 2,
                                            (fsim_torch_value *[2]){half_of(c, x, 1), half_of(c, x, 0)}));
}

/* Transforms: a pass over the data for each dimension that is transformed. word: how many an operator transforms that
 * names none, 0: all. What comes of real numbers is of half the length from the first pass on, what becomes real ones
 * until the last. */
bool fsim_aten_op_fourier(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c), *y = c->out[0];
    int64_t dims[16];
    int passes = fsim_aten_ints(c, "dim", dims);
    if (!x || !y)
        return false;
    const int rank = x->shape.rank - x->complex;
    const fsim_shape from = x->shape, to = y->shape, *complex = y->complex ? &to : &from,
                     *real = y->complex ? &from : &to;
    const bool widened = !x->complex && y->complex && fsim_aten_elems(&to) == 2 * fsim_aten_elems(&from);
    const int halved = x->complex == y->complex || widened ? -1 : y->complex ? 0 : 1; /* the first pass, or the last */
    if (passes < 1) {
        passes = *word == '0' ? rank : *word - '0';
        for (int i = 0; i < passes; i++)
            dims[i] = i - passes;
    }
    if (widened) { /* as complex numbers at first: zeros beside them */
        fsim_shape one = to;
        one.dim[one.rank - 1] = 1;
        x = fsim_aten_reshaped(c, x, &one);
        x = x ? fsim_aten_step(c, "pad", FSIM_AS("pairs", &to, x->dtype), 1, &x) : NULL;
        fsim_draft_ints(c->x, "padding", 2, (int64_t[2]){0, 1});
    }
    for (int pass = 0; pass < passes; pass++) { /* the last dimension is the one of real numbers */
        const int axis = fsim_aten_axis(dims[y->complex ? passes - 1 - pass : pass], rank);
        const bool half = halved == 0 ? pass == 0 : halved == 1 && pass == passes - 1;
        if (axis < 0 || !x)
            return false;
        const double length = (double)(half ? real : complex)->dim[axis],
                     points = (double)fsim_aten_elems(half ? real : complex) / (half ? 1 : 2),
                     flops = length > 0 ? fsim_aten_fourier_flops(length, points / length, half) : 0;
        const fsim_aten_work work = {flops, flops};
        if (pass == passes - 1)
            return fsim_aten_own_kernel(c, 0, 1, &x, work);
        x = fsim_aten_own_step(c, FSIM_AS("pass", complex, x->dtype), 1, &x, work);
    }
    return false;
}

/* Frames of a signal, each times the window, transformed: [B, T] as [B, F, frames]. */
bool fsim_aten_op_stft(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *window = fsim_aten_tensor(c, "window"), *y = c->out[0];
    const int64_t size = fsim_aten_int(c, "n_fft", 0), hop = fsim_aten_int(c, "hop_length", size / 4);
    if (!x || x->shape.rank < 1 || x->shape.rank > 2 || size < 1 || hop < 1 || y->shape.rank != x->shape.rank + 2 ||
        fsim_aten_flag(c, "center", false) || (window && fsim_aten_elems(&window->shape) != size))
        return false;
    const int rank = x->shape.rank;
    const int64_t last = rank - 1;
    fsim_shape frames = x->shape, spectra = y->shape;
    frames.dim[last] = (x->shape.dim[last] - size) / hop + 1;
    frames.dim[frames.rank++] = size;
    spectra.dim[rank - 1] = y->shape.dim[rank];
    spectra.dim[rank] = y->shape.dim[rank - 1];
    x = fsim_aten_step(c, "unfold", FSIM_AS("frames", &frames, x->dtype), 1, &x);
    fsim_draft_ints(c->x, "dim", 1, &last);
    fsim_draft_int(c->x, "size", size);
    fsim_draft_int(c->x, "step", hop);
    if (window)
        x = fsim_aten_step(c, "mul", FSIM_AS("windowed", &frames, y->dtype), 2, (fsim_torch_value *[2]){x, window});
    const double flops =
        fsim_aten_fourier_flops((double)size, (double)fsim_aten_elems(&frames) / (double)size, !x->complex);
    x = fsim_aten_own_step(c, FSIM_AS("spectra", &spectra, y->dtype), 1, &x, (fsim_aten_work){flops, flops});
    if (!fsim_aten_make(c, 0, "transpose", 1, &x))
        return false;
    fsim_draft_ints(c->x, "dim", 2, (int64_t[2]){last, rank});
    return true;
}

/* Spectra [B, F, frames] as a signal: each transformed back, times the window, the sums of those that overlap, and the
 * same of the window's squares, by which they are divided. */
bool fsim_aten_op_istft(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *window = fsim_aten_tensor(c, "window"), *y = c->out[0];
    const int64_t size = fsim_aten_int(c, "n_fft", 0), hop = fsim_aten_int(c, "hop_length", size / 4);
    if (!x || !x->complex || y->complex || x->shape.rank < 3 || x->shape.rank > 4 || size < 1 || hop < 1 ||
        y->shape.rank < 1 || (window && fsim_aten_elems(&window->shape) != size))
        return false;
    const int rank = x->shape.rank; /* with the pairs */
    const int64_t rows = rank == 4 ? x->shape.dim[0] : 1, count = x->shape.dim[rank - 2];
    const fsim_shape frames = {.rank = 3, .dim = {rows, count, size}}, one = {.rank = 1, .dim = {size}},
                     length = {.rank = 1, .dim = {y->shape.dim[y->shape.rank - 1]}};
    const double flops = fsim_aten_fourier_flops((double)size, (double)(rows * count), true);
    fsim_torch_value *back =
        fsim_aten_own_step(c, FSIM_AS("frames", &frames, y->dtype), 1, &x, (fsim_aten_work){flops, flops});
    if (window)
        back =
            fsim_aten_step(c, "mul", FSIM_AS("windowed", &frames, y->dtype), 2, (fsim_torch_value *[2]){back, window});
    const fsim_aten_work sums = fsim_aten_work_of(FSIM_ATEN_ADDED, (double)fsim_aten_elems(&frames)),
                         own = fsim_aten_work_of(FSIM_ATEN_ADDED, (double)(count * size));
    if (!window) {
        window = fsim_aten_step(c, "fill", FSIM_AS("window", &one, y->dtype), 0, NULL);
        fsim_draft_ints(c->x, "shape", one.rank, one.dim);
        fsim_draft_int(c->x, "value", 1);
        fsim_draft_word(c->x, "dtype", fsim_dtype_names[y->dtype]);
    }
    fsim_torch_value *squares = fsim_aten_step(c, "square", FSIM_AS("squares", &one, y->dtype), 1, &window);
    fsim_torch_value *in[2] = {fsim_aten_own_step(c, FSIM_AS("sums", &y->shape, y->dtype), 1, &back, sums),
                               fsim_aten_own_step(c, FSIM_AS("envelope", &length, y->dtype), 1, &squares, own)};
    return fsim_aten_make(c, 0, "div", 2, in);
}

/* Operators that others have for real numbers, on pairs. */

/* A product: of two complex tensors a rotation of the one by the halves of the other, scaled. */
static bool product(fsim_aten *c)
{
    fsim_torch_value *x = fsim_aten_self(c), *y = fsim_aten_tensor(c, "other");
    if (!x || !y)
        return fsim_aten_op_binary(c, "mul");
    if (!x->complex || !y->complex)
        return fsim_aten_make(c, 0, "mul", 2,
                              (fsim_torch_value *[2]){x->complex ? x : as_half(c, x), y->complex ? y : as_half(c, y)});
    if (!fsim_aten_same_shape(&x->shape, &c->out[0]->shape)) {
        fsim_torch_value *other = x;
        x = fsim_aten_expanded(c, y, &c->out[0]->shape);
        y = other;
    }
    return fsim_aten_make(c, 0, "rotary_embedding", 3, (fsim_torch_value *[3]){x, half_of(c, y, 0), half_of(c, y, 1)});
}

/* By a real number or tensor. */
static bool quotient(fsim_aten *c)
{
    fsim_torch_value *x = fsim_aten_self(c), *y = fsim_aten_tensor(c, "other");
    if (!y)
        return x && fsim_aten_op_div(c, "div");
    return x && x->complex && !y->complex && fsim_aten_make(c, 0, "div", 2, (fsim_torch_value *[2]){x, as_half(c, y)});
}

static bool length(fsim_aten *c)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!fsim_aten_make(c, 0, "norm", 1, &x))
        return false;
    fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){-1});
    return true;
}

/* Real numbers as complex ones, with zeros; complex ones as real ones, without their second half. */
static bool converted(fsim_aten *c)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!x)
        return false;
    if (x->complex && !c->out[0]->complex)
        return fsim_aten_reshape(c, 0, fsim_aten_cast(c, half_of(c, x, 0), c->out[0]->dtype));
    if (x->complex)
        return fsim_aten_op_to(c, "");
    x = as_half(c, fsim_aten_cast(c, x, c->out[0]->dtype));
    if (!fsim_aten_make(c, 0, "pad", 1, &x))
        return false;
    fsim_draft_ints(c->x, "padding", 2, (int64_t[2]){0, 1});
    return true;
}

typedef enum {
    OWN,     /* the row is for complex numbers */
    MOVES,   /* the row does the same with pairs */
    ALONG,   /* so it does, with dimensions that are counted from the front */
    PRODUCT, /* and so on: the functions above */
    QUOTIENT,
    LENGTH,
    CONVERTED
} way;

static const struct {
    const char *op;
    way by;
} ways[] = {
    {"view_as_real", OWN},
    {"view_as_complex", OWN},
    {"real", OWN},
    {"imag", OWN},
    {"complex", OWN},
    {"polar", OWN},
    {"conj", OWN},
    {"_conj", OWN},
    {"conj_physical", OWN},
    {"angle", OWN},
    {"stft", OWN},
    {"istft", OWN},
    {"view", MOVES},
    {"_unsafe_view", MOVES},
    {"reshape", MOVES},
    {"reshape_as", MOVES},
    {"view_as", MOVES},
    {"flatten", MOVES},
    {"unflatten", MOVES},
    {"unsqueeze", MOVES},
    {"squeeze", MOVES},
    {"expand", MOVES},
    {"expand_as", MOVES},
    {"repeat", MOVES},
    {"clone", MOVES},
    {"contiguous", MOVES},
    {"alias", MOVES},
    {"detach", MOVES},
    {"lift_fresh_copy", MOVES},
    {"resolve_conj", MOVES},
    {"copy", MOVES},
    {"index", MOVES},
    {"zeros", MOVES},
    {"ones", MOVES},
    {"full", MOVES},
    {"ones_like", MOVES},
    {"full_like", MOVES},
    {"zeros_like", MOVES},
    {"empty", MOVES},
    {"empty_like", MOVES},
    {"new_zeros", MOVES},
    {"neg", MOVES},
    {"add", MOVES},
    {"sub", MOVES},
    {"transpose", ALONG},
    {"permute", ALONG},
    {"slice", ALONG},
    {"select", ALONG},
    {"narrow", ALONG},
    {"split", ALONG},
    {"chunk", ALONG},
    {"unbind", ALONG},
    {"cat", ALONG},
    {"split_with_sizes", ALONG},
    {"stack", ALONG},
    {"index_select", ALONG},
    {"flip", ALONG},
    {"movedim", ALONG},
    {"mul", PRODUCT},
    {"multiply", PRODUCT},
    {"div", QUOTIENT},
    {"abs", LENGTH},
    {"to", CONVERTED},
    {"_to_copy", CONVERTED},
};

/* A dimension counted from the front: the file's are one fewer than ours. */
static void from_front(fsim_torch_arg *arg, int rank)
{
    if (arg->kind == FSIM_TORCH_INT && !arg->text && arg->integer < 0)
        arg->integer += rank;
}

/* The row on a node whose dimensions are counted from the front, and whose orders leave pairs where they are. */
static bool along(fsim_aten *c, fsim_aten_rule rule, const char *word)
{
    static const char *const names[] = {"dim", "dim0", "dim1", "dims", "source", "destination"};
    fsim_torch_node node = *c->node;
    fsim_torch_value **list, *x = fsim_aten_self(c);
    if (!x && fsim_aten_tensors(c, "tensors", &list) > 0)
        x = list[0];
    if (!x || !x->complex)
        return false;
    const int rank = x->shape.rank - 1 + (strcmp(c->op, "stack") == 0);
    node.in = fsim_new(c->a, fsim_torch_arg, node.ins + 1);
    for (int i = 0; i < node.ins; i++) {
        fsim_torch_arg *arg = &node.in[i];
        bool named = false;
        *arg = c->node->in[i];
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            named = named || strcmp(arg->name, names[k]) == 0;
        if (!named)
            continue;
        from_front(arg, rank);
        if (arg->kind != FSIM_TORCH_LIST)
            continue;
        arg->item = fsim_new(c->a, fsim_torch_arg, arg->count + 1);
        memcpy(arg->item, c->node->in[i].item, (size_t)arg->count * sizeof *arg->item);
        for (int k = 0; k < arg->count; k++)
            from_front(&arg->item[k], rank);
        if (strcmp(c->op, "permute") == 0)
            arg->item[arg->count++] = (fsim_torch_arg){.kind = FSIM_TORCH_INT, .name = "", .integer = rank};
    }
    fsim_aten one = *c;
    one.node = &node;
    return rule(&one, word);
}

bool fsim_aten_on_pairs(fsim_aten *c, fsim_aten_rule rule, const char *word)
{
    size_t i = 0;
    while (i < sizeof ways / sizeof *ways && strcmp(ways[i].op, c->op) != 0)
        i++;
    if (i == sizeof ways / sizeof *ways)
        return (strncmp(c->op, "fft_", 4) == 0 || strncmp(c->op, "_fft_", 5) == 0) && rule(c, word);
    switch (ways[i].by) {
    case OWN:
    case MOVES:
        return rule(c, word);
    case ALONG:
        return along(c, rule, word);
    case PRODUCT:
        return product(c);
    case QUOTIENT:
        return quotient(c);
    case LENGTH:
        return length(c);
    case CONVERTED:
        return converted(c);
    }
    return false;
}
