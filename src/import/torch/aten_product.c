/* SPDX-License-Identifier: Apache-2.0 */
/* aten_product.c: products, convolutions, attention, windows. */
#include "import/torch/work.h"

#include <string.h>

/* A vector as a matrix, so that the product is of matrices. */
static fsim_torch_value *as_matrix(fsim_aten *c, fsim_torch_value *v, bool column)
{
    if (!v || v->shape.rank != 1)
        return v;
    const fsim_shape s = {.rank = 2, .dim = {column ? v->shape.dim[0] : 1, column ? 1 : v->shape.dim[0]}};
    return fsim_aten_reshaped(c, v, &s);
}

bool fsim_aten_op_linear(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *bias = fsim_aten_tensor(c, "bias"), *x = fsim_aten_self(c),
                     *weight = fsim_aten_tensor(c, "weight");
    if (!x || !weight || weight->shape.rank != 2)
        return false;
    const bool vector = x->shape.rank == 1;
    fsim_torch_value *in[3] = {as_matrix(c, x, false), weight, bias};
    if (!vector) {
        return fsim_aten_make(c, 0, "linear", 2 + (bias != NULL), in);
    }
    const fsim_shape row = {.rank = 2, .dim = {1, weight->shape.dim[0]}};
    x = fsim_aten_step(c, "linear", FSIM_AS("row", &row, c->out[0]->dtype), 2 + (bias != NULL), in);
    return fsim_aten_reshape(c, 0, x);
}

/* v widened to the result's leading dimensions, which become one. */
static fsim_torch_value *as_one_batch(fsim_aten *c, fsim_torch_value *v)
{
    const fsim_shape *to = &c->out[0]->shape;
    fsim_shape wide = *to, one = {.rank = 3, .dim = {1}};
    for (int i = 1; i <= 2; i++)
        one.dim[3 - i] = wide.dim[to->rank - i] = v->shape.dim[v->shape.rank - i];
    for (int i = 0; i < to->rank - 2; i++)
        one.dim[0] *= to->dim[i];
    return fsim_aten_reshaped(c, fsim_aten_expanded(c, v, &wide), &one);
}

/* Products of more than one leading dimension, which PyTorch makes one of: torch.bmm. */
static bool batched(fsim_aten *c, fsim_torch_value *a, fsim_torch_value *b)
{
    a = as_one_batch(c, a);
    b = as_one_batch(c, b);
    if (!a || !b)
        return false;
    const fsim_shape s = {.rank = 3, .dim = {a->shape.dim[0], a->shape.dim[1], b->shape.dim[2]}};
    return fsim_aten_reshape(
        c, 0, fsim_aten_step(c, "bmm", FSIM_AS("product", &s, c->out[0]->dtype), 2, (fsim_torch_value *[2]){a, b}));
}

bool fsim_aten_op_matmul(fsim_aten *c, const char *word)
{
    fsim_torch_value *a = fsim_aten_self(c), *b = fsim_aten_tensor(c, "other|mat2|vec|tensor");
    if (!a || !b)
        return false;
    if (a->shape.rank == 3 && b->shape.rank == 3 && fsim_aten_decomposed_attention(c))
        return true;
    if (a->shape.rank > 2 && b->shared && !b->shared->mutated) {
        b = b->shared; /* core ATen widens the weight of a layer whose input is no matrix */
        word = "matmul";
    }
    if (a->shape.rank > 1 && b->shape.rank == 2 && b->base && b->dim == -2) /* of a layer without a bias */
        return fsim_aten_make(c, 0, "linear", 2, (fsim_torch_value *[2]){a, b->base});
    if (a->shape.rank > 2 && b->shape.rank > 2 && c->out[0]->shape.rank > 3)
        return batched(c, a, b);
    if (a->shape.rank > 1 && b->shape.rank > 1)
        return fsim_aten_make(c, 0, word, 2, (fsim_torch_value *[2]){a, b});
    a = as_matrix(c, a, false);
    b = as_matrix(c, b, true);
    fsim_shape s = a && b && a->shape.rank >= b->shape.rank ? a->shape : b ? b->shape : (fsim_shape){0};
    if (!a || !b || s.rank < 2)
        return false;
    s.dim[s.rank - 2] = a->shape.dim[a->shape.rank - 2];
    s.dim[s.rank - 1] = b->shape.dim[b->shape.rank - 1];
    a = fsim_aten_step(c, "matmul", FSIM_AS("product", &s, c->out[0]->dtype), 2, (fsim_torch_value *[2]){a, b});
    return fsim_aten_reshape(c, 0, a);
}

static fsim_torch_value *times(fsim_aten *c, fsim_torch_value *v, double by)
{
    if (!v || by == 1)
        return v;
    v = fsim_aten_step(c, "mul", FSIM_AS("scaled", &v->shape, v->dtype), 1, &v);
    if (v)
        fsim_draft_number(c->x, "scalar", by);
    return v;
}

/* The transpose of a matrix, as linear wants its weight: what it was before it was turned, or turned now. */
static fsim_torch_value *turned(fsim_aten *c, fsim_torch_value *v)
{
    if (!v || (v->base && v->dim == -2))
        return v ? v->base : NULL;
    const fsim_shape s = {.rank = 2, .dim = {v->shape.dim[1], v->shape.dim[0]}};
    v = fsim_aten_step(c, "transpose", FSIM_AS("weight", &s, v->dtype), 1, &v);
    if (v)
        fsim_draft_ints(c->x, "dim", 2, (int64_t[2]){0, 1});
    return v;
}

/* A product whose bias is a vector, as a layer's is. */
static bool as_layer(fsim_aten *c, fsim_torch_value *bias, fsim_torch_value *a, fsim_torch_value *b)
{
    return fsim_aten_make(c, 0, "linear", 3, (fsim_torch_value *[3]){a, turned(c, b), bias});
}

/* beta * self + alpha * mat1 @ mat2. A vector that is added is the product's bias. */
bool fsim_aten_op_addmm(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *bias = fsim_aten_self(c), *a = fsim_aten_tensor(c, "mat1|mat|batch1"),
                     *b = fsim_aten_tensor(c, "mat2|vec|batch2");
    const double alpha = fsim_aten_number(c, "alpha", 1), beta = fsim_aten_number(c, "beta", 1);
    if (!a || !b || !bias || a->shape.rank < 2)
        return false;
    if (alpha == 1 && beta == 1 && bias->shape.rank == 1 && a->shape.rank == 2 && b->shape.rank == 2 &&
        bias->shape.dim[0] == b->shape.dim[1])
        return as_layer(c, bias, a, b);
    fsim_shape s = a->shape;
    b = as_matrix(c, b, true);
    s.dim[s.rank - 1] = b ? b->shape.dim[b->shape.rank - 1] : 1;
    fsim_torch_value *y = fsim_aten_step(c, s.rank == 3 ? "bmm" : "matmul", FSIM_AS("product", &s, c->out[0]->dtype), 2,
                                         (fsim_torch_value *[2]){a, b});
    if (b && fsim_aten_tensor(c, "vec")) {
        s.rank--; /* the column as a vector */
        y = fsim_aten_reshaped(c, y, &s);
    }
    y = times(c, y, alpha);
    if (beta == 0)
        return fsim_aten_same(c, 0, y);
    return fsim_aten_make(c, 0, "add", 2, (fsim_torch_value *[2]){y, times(c, bias, beta)});
}

bool fsim_aten_op_cosine(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *in[2] = {fsim_aten_tensor(c, "x1"), fsim_aten_tensor(c, "x2")};
    if (!fsim_aten_make(c, 0, "cosine_similarity", 2, in))
        return false;
    fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){fsim_aten_int(c, "dim", 1)});
    return true;
}

bool fsim_aten_op_outer(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *a = as_matrix(c, fsim_aten_self(c), true), *b = as_matrix(c, fsim_aten_tensor(c, "vec2"), false);
    return fsim_aten_make(c, 0, "mul", 2, (fsim_torch_value *[2]){a, b});
}

/* A part of x along its first dimension: elements start to start + size. */
static fsim_torch_value *rows_from(fsim_aten *c, const char *what, fsim_torch_value *x, int64_t start, int64_t size)
{
    if (!x || x->shape.dim[0] == size)
        return x;
    fsim_shape s = x->shape;
    s.dim[0] = size;
    x = fsim_aten_step(c, "slice", FSIM_AS(what, &s, x->dtype), 1, &x);
    if (x) {
        fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){0});
        fsim_draft_ints(c->x, "start", 1, &start);
        fsim_draft_ints(c->x, "end", 1, (int64_t[1]){start + size});
    }
    return x;
}

/* So many groups of `each` rows, from row `start` of a on, each times a matrix of b from number `first` on. */
static fsim_torch_value *equal_groups(fsim_aten *c, fsim_torch_value *const in[2], int64_t first, int64_t count,
                                      int64_t each)
{
    const int64_t start = first * (each + 1), rows = count * each, K = in[0]->shape.dim[1], N = in[1]->shape.dim[2];
    const char *of = first ? "few" : "many";
    const fsim_shape apart = {.rank = 3, .dim = {count, each, K}}, made = {.rank = 3, .dim = {count, each, N}},
                     flat = {.rank = 2, .dim = {rows, N}};
    fsim_torch_value *a = rows_from(c, fsim_printf(c->a, "%s_rows", of), in[0], start, rows);
    fsim_torch_value *b = rows_from(c, fsim_printf(c->a, "%s_matrices", of), in[1], first, count);
    a = fsim_aten_reshaped(c, a, &apart);
    a = fsim_aten_step(c, "bmm", FSIM_AS(of, &made, c->out[0]->dtype), 2, (fsim_torch_value *[2]){a, b});
    return fsim_aten_reshaped(c, a, &flat);
}

/* Rows of a times one of the matrices in b, which offsets say: each row once, all matrices read that have one. As many
 * rows each as there are on the average; where that is none for some, those are not read. */
bool fsim_aten_op_grouped_mm(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *in[2] = {fsim_aten_self(c), fsim_aten_tensor(c, "mat2|weight|mat_b")};
    if (!in[0] || !in[1] || in[1]->shape.rank != 3)
        return false;
    if (in[0]->shape.rank == 3)
        return fsim_aten_make(c, 0, "bmm", 2, in);
    if (in[0]->shape.rank != 2)
        return false;
    const int64_t experts = in[1]->shape.dim[0], rows = in[0]->shape.dim[0], each = rows / experts,
                  longer = rows % experts;
    fsim_torch_value *part[2] = {longer ? equal_groups(c, in, 0, longer, each + 1) : NULL,
                                 each ? equal_groups(c, in, longer, experts - longer, each) : NULL};
    if (!longer || !each)
        return fsim_aten_same(c, 0, part[longer == 0]);
    if (!fsim_aten_make(c, 0, "concat", 2, part))
        return false;
    fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){0});
    return true;
}

/* Convolutions. */

typedef struct {
    fsim_torch_value *in[3];
    int ins, axes;
    int64_t stride[16], padding[16], dilation[16], output_padding[16], groups;
    bool transposed;
} convolution;

/* A list with an entry for each axis: one stands for all, none is `absent`. */
static bool spread(fsim_aten *c, const char *name, int axes, int64_t absent, int64_t list[16])
{
    const int count = fsim_aten_ints(c, name, list);
    for (int i = count <= 0 ? 0 : count == 1 ? 1 : axes; i < axes; i++)
        list[i] = count == 1 ? list[0] : absent;
    return count <= 0 || count == 1 || count == axes;
}

/* padding "same" of a stride of 1; "valid" is none. Where a window is even, one more element behind: PyTorch puts it
 * there before it convolves. */
static bool named_padding(fsim_aten *c, convolution *v)
{
    const char *word = fsim_aten_text(c, "padding", NULL);
    int64_t pads[2 * FSIM_MAX_RANK] = {0};
    fsim_shape s = v->in[0]->shape;
    bool uneven = false;
    for (int i = 0; word && strcmp(word, "same") == 0 && i < v->axes; i++) {
        const int64_t around = v->dilation[i] * (v->in[1]->shape.dim[2 + i] - 1);
        v->padding[i] = around / 2;
        pads[2 * (v->axes - 1 - i) + 1] = around % 2;
        s.dim[s.rank - v->axes + i] += around % 2;
        uneven = uneven || around % 2 != 0;
    }
    if (!uneven)
        return true;
    v->in[0] = fsim_aten_step(c, "pad", FSIM_AS("padded", &s, v->in[0]->dtype), 1, v->in);
    if (v->in[0])
        fsim_draft_ints(c->x, "padding", 2 * v->axes, pads);
    return v->in[0] != NULL;
}

static bool read_convolution(fsim_aten *c, convolution *v)
{
    v->in[0] = fsim_aten_self(c);
    v->in[1] = fsim_aten_tensor(c, "weight");
    v->in[2] = fsim_aten_tensor(c, "bias");
    if (!v->in[0] || !v->in[1] || v->in[1]->shape.rank < 3 || v->in[1]->shape.rank > 5)
        return false;
    v->ins = 2 + (v->in[2] != NULL);
    v->axes = v->in[1]->shape.rank - 2;
    v->groups = fsim_aten_int(c, "groups", 1);
    return spread(c, "stride", v->axes, 1, v->stride) && spread(c, "padding", v->axes, 0, v->padding) &&
           spread(c, "dilation", v->axes, 1, v->dilation) &&
           spread(c, "output_padding", v->axes, 0, v->output_padding) && named_padding(c, v);
}

static void put_list(fsim_aten *c, const char *key, int count, const int64_t *list, int64_t absent)
{
    bool differs = false, equal = true;
    for (int i = 0; i < count; i++) {
        differs = differs || list[i] != absent;
        equal = equal && list[i] == list[0];
    }
    if (differs && equal)
        fsim_draft_int(c->x, key, list[0]);
    else if (differs)
        fsim_draft_ints(c->x, key, count, list);
}

/* An image without a batch is a batch of one. */
static fsim_torch_value *as_batch(fsim_aten *c, fsim_torch_value *x, int rank)
{
    fsim_shape s = {.rank = rank, .dim = {1}};
    if (!x || x->shape.rank != rank - 1)
        return x;
    memcpy(s.dim + 1, x->shape.dim, (size_t)x->shape.rank * sizeof *s.dim);
    return fsim_aten_reshaped(c, x, &s);
}

/* The result of an operator on a batch of one, without that. */
static bool make_batch(fsim_aten *c, const char *op, int rank, int ins, fsim_torch_value **in)
{
    if (!in[0] || (in[0]->shape.rank != rank && in[0]->shape.rank != rank - 1))
        return false;
    if (in[0]->shape.rank == rank)
        return fsim_aten_make(c, 0, op, ins, in);
    fsim_shape s = {.rank = rank, .dim = {1}};
    memcpy(s.dim + 1, c->out[0]->shape.dim, (size_t)(rank - 1) * sizeof *s.dim);
    in[0] = as_batch(c, in[0], rank);
    fsim_torch_value *y = fsim_aten_step(c, op, FSIM_AS("batch", &s, c->out[0]->dtype), ins, in);
    if (!y)
        return false;
    c->out[0]->base = y; /* reshaped by unbatched() when the attributes are written */
    return true;
}

static bool unbatched(fsim_aten *c)
{
    fsim_torch_value *y = c->out[0]->base;
    c->out[0]->base = NULL;
    return !y || c->out[0]->tensor || fsim_aten_reshape(c, 0, y);
}

static bool convolve(fsim_aten *c, convolution *v)
{
    const char *op = fsim_printf(c->a, "conv%s%dd", v->transposed ? "_transpose" : "", v->axes);
    if (!make_batch(c, op, v->axes + 2, v->ins, v->in))
        return false;
    put_list(c, "stride", v->axes, v->stride, 1);
    put_list(c, "padding", v->axes, v->padding, 0);
    put_list(c, "dilation", v->axes, v->dilation, 1);
    if (v->transposed)
        put_list(c, "output_padding", v->axes, v->output_padding, 0);
    if (v->groups != 1)
        fsim_draft_int(c->x, "groups", v->groups);
    const char *word = fsim_draft_convolves_in(v->in[0]->dtype);
    if (word)
        fsim_draft_word(c->x, "compute", word);
    return unbatched(c);
}

bool fsim_aten_op_conv(fsim_aten *c, const char *word)
{
    (void)word;
    convolution v = {.transposed = false};
    return read_convolution(c, &v) && convolve(c, &v);
}

bool fsim_aten_op_conv_transpose(fsim_aten *c, const char *word)
{
    (void)word;
    convolution v = {.transposed = true};
    return read_convolution(c, &v) && convolve(c, &v);
}

bool fsim_aten_op_convolution(fsim_aten *c, const char *word)
{
    (void)word;
    convolution v = {.transposed = fsim_aten_flag(c, "transposed", false)};
    return read_convolution(c, &v) && convolve(c, &v);
}

/* Windows. */

typedef struct {
    int axes;
    int64_t kernel[16], stride[16], padding[16], dilation[16];
} window;

static bool read_window(fsim_aten *c, window *w)
{
    const char *digit = strpbrk(c->op, "123");
    w->axes = digit ? *digit - '0' : 2;
    if (!spread(c, "kernel_size", w->axes, 1, w->kernel) || !spread(c, "stride", w->axes, 0, w->stride) ||
        !spread(c, "padding", w->axes, 0, w->padding) || !spread(c, "dilation", w->axes, 1, w->dilation))
        return false;
    for (int i = 0; i < w->axes; i++)
        w->stride[i] = w->stride[i] > 0 ? w->stride[i] : w->kernel[i];
    return true;
}

/* A pool whose windows are rounded up has one more of them; ours counts downwards. As much more padding on both sides
 * gives as many, at the same cost, where it is at most half a window. */
static void widen(const fsim_aten *c, const fsim_torch_value *x, window *w)
{
    for (int i = 0; i < w->axes; i++) {
        const int64_t reach = w->dilation[i] * (w->kernel[i] - 1) + 1, n = x->shape.dim[x->shape.rank - w->axes + i],
                      wanted = c->out[0]->shape.dim[c->out[0]->shape.rank - w->axes + i],
                      missing = (wanted - 1) * w->stride[i] + reach - n - 2 * w->padding[i],
                      padding = w->padding[i] + (missing + 1) / 2;
        if (missing > 0 && 2 * padding <= w->kernel[i] && (n + 2 * padding - reach) / w->stride[i] + 1 == wanted)
            w->padding[i] = padding;
    }
}

/* Elements behind x that a window which is rounded up reaches. */
static fsim_torch_value *reached(fsim_aten *c, fsim_torch_value *x, const window *w)
{
    fsim_shape s = x->shape;
    const fsim_shape *out = &c->out[0]->shape;
    int64_t pads[16] = {0};
    bool any = false;
    for (int i = 0; i < w->axes; i++) {
        const int64_t want = (out->dim[out->rank - w->axes + i] - 1) * w->stride[i] +
                             w->dilation[i] * (w->kernel[i] - 1) + 1 - 2 * w->padding[i];
        const int64_t more = want - s.dim[s.rank - w->axes + i];
        if (more <= 0)
            continue;
        pads[2 * (w->axes - 1 - i) + 1] = more;
        s.dim[s.rank - w->axes + i] = want;
        any = true;
    }
    if (!any)
        return x;
    x = fsim_aten_step(c, "pad", FSIM_AS("rounded", &s, x->dtype), 1, &x);
    if (x)
        fsim_draft_ints(c->x, "padding", 2 * w->axes, pads);
    return x;
}

/* The places of the largest of each window, where they are read. */
static bool pool_places(fsim_aten *c, fsim_torch_value *x, double window_elems)
{
    if (c->outs < 2 || !c->out[1] || !c->read[1])
        return true;
    const double compared = (double)fsim_aten_elems(&c->out[1]->shape) * window_elems;
    return fsim_aten_own_kernel(c, 1, 1, &x, fsim_aten_work_of(FSIM_ATEN_LARGEST, compared));
}

bool fsim_aten_op_pool(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    window w;
    if (!x || !read_window(c, &w) || x->shape.rank < w.axes || c->out[0]->shape.rank < w.axes)
        return false;
    if (fsim_aten_flag(c, "ceil_mode", false)) {
        widen(c, x, &w);
        x = reached(c, x, &w);
    }
    fsim_torch_value *in[1] = {x};
    if (!make_batch(c, fsim_printf(c->a, "%s%dd", word, w.axes), w.axes + 2, 1, in))
        return false;
    fsim_draft_ints(c->x, "kernel", w.axes, w.kernel);
    fsim_draft_ints(c->x, "stride", w.axes, w.stride);
    put_list(c, "padding", w.axes, w.padding, 0);
    put_list(c, "dilation", w.axes, w.dilation, 1);
    double elems = 1;
    for (int i = 0; i < w.axes; i++)
        elems *= (double)w.kernel[i];
    return unbatched(c) && pool_places(c, x, elems);
}

/* Windows as long as the result needs. */
bool fsim_aten_op_adaptive_pool(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *in[1] = {fsim_aten_self(c)};
    const char *digit = strpbrk(c->op, "123");
    const int axes = digit ? *digit - '0' : 2, rank = c->out[0]->shape.rank;
    const char *how = strstr(c->op, "max") ? "max" : "avg";
    if (rank < axes || !make_batch(c, fsim_printf(c->a, "adaptive_%s_pool%dd", how, axes), axes + 2, 1, in))
        return false;
    fsim_draft_ints(c->x, "output_size", axes, c->out[0]->shape.dim + rank - axes);
    const double results = (double)fsim_aten_elems(&c->out[0]->shape);
    return unbatched(c) && pool_places(c, in[0], results > 0 ? (double)fsim_aten_elems(&in[0]->shape) / results : 1);
}

/* Smaller images without aliases: a window as wide as what becomes one element, with as many neighbours on either side
 * as the filter has, in rows and then in columns. */
static bool smoothed(fsim_aten *c, fsim_torch_value *x)
{
    const double side = strstr(c->op, "lanczos") ? 3 : strstr(c->op, "bicubic") ? 2 : 1; /* ATen UpSample.cuh */
    double taps[2];
    for (int i = 0; i < 2; i++) {
        const double scale = (double)x->shape.dim[2 + i] / (double)c->out[0]->shape.dim[2 + i];
        taps[i] = 2 * side * (scale > 1 ? scale : 1);
    }
    const double weighted = taps[0] * (taps[1] + 1) * (double)fsim_aten_elems(&c->out[0]->shape);
    return fsim_aten_own_kernel(c, 0, 1, &x, fsim_aten_work_of(FSIM_ATEN_WEIGHTED, weighted));
}

bool fsim_aten_op_interpolate(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    const int rank = c->out[0]->shape.rank;
    const fsim_shape *s = &c->out[0]->shape;
    if (x && rank == 4 && strstr(c->op, "_aa") && fsim_aten_elems(s) > 0 &&
        (strstr(c->op, "lanczos") || x->shape.dim[2] > s->dim[2] || x->shape.dim[3] > s->dim[3]))
        return smoothed(c, x);
    if (rank < 3 || rank > 5 || !fsim_aten_make(c, 0, "interpolate", 1, &x))
        return false;
    fsim_draft_ints(c->x, "size", rank - 2, c->out[0]->shape.dim + 2);
    if (strcmp(word, "nearest") != 0)
        fsim_draft_word(c->x, "mode", word);
    if (fsim_aten_flag(c, "align_corners", false))
        fsim_draft_flag(c->x, "align_corners", true);
    return true;
}
