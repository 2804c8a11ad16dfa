/* SPDX-License-Identifier: Apache-2.0 */
/* depends: memory cost: 2
 * Operators of torch.export programs, one small program each, written as lines of text: what they become, the products
 * that they count, and that nothing is said of them. Arguments are named and ordered as PyTorch 2.15's schemas have
 * them; those that have their default are left out, as its exporter does. */
#include "torch_text.h"

typedef struct {
    const char *program, *becomes;
    double flops; /* of products */
} row;

static void check(int count, const row *rows)
{
    for (int i = 0; i < count; i++) {
        const outcome o = load_text(rows[i].program);
        if (!o.g || *o.said)
            fail_msg("%s\n%s", rows[i].program, o.said);
        if (strcmp(operators_of(&o), rows[i].becomes) != 0)
            fail_msg("%s\nbecomes %s\nnot %s", rows[i].program, operators_of(&o), rows[i].becomes);
        if (o.g->contraction_flops != rows[i].flops)
            fail_msg("%s\n%g FLOPs, not %g", rows[i].program, o.g->contraction_flops, rows[i].flops);
        fsim_arena_free(o.a);
    }
}
#define CHECK(rows) check((int)(sizeof(rows) / sizeof *(rows)), rows)

static void other_words(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"x f32 3 4\ny f32 3 4\nz f32 6 4 = aten.vstack.default(tensors: [x, y])", "concat", 0},
        {"x f32 4\ny f32 4\nz f32 2 4 = aten.vstack.default(tensors: [x, y])", "reshape reshape concat", 0},
        {"x f32 4\ny f32 4\nz f32 4 2 = aten.column_stack.default(tensors: [x, y])", "reshape reshape concat", 0},
        {"x f32 3 4\nz f32 3 2, y f32 3 2 = aten.hsplit.int(self: x, sections: 2)", "slice slice", 0},
        {"x f32 3 4\nz f32 3 4 = aten.fliplr.default(self: x)", "flip", 0},
        {"x f32 3 4\nz f32 3 4 = aten.absolute.default(self: x)", "abs", 0},
        {"x f32 2 3 4\ny f32 4 5\nz f32 2 3 5 = aten.tensordot.default(self: x, other: y, dims_self: [2], dims_other: "
         "[0])",
         "einsum", 2.0 * 2 * 3 * 4 * 5},
        {"x f32 3 4\ny f32 5 4\nz f32 3 5 = aten.inner.default(self: x, other: y)", "einsum", 2.0 * 3 * 4 * 5},
        {"x f32 5 6\na f32 2 5 8\nb f32 2 8 6\nz f32 5 6 = aten.addbmm.default(self: x, batch1: a, batch2: b)",
         "einsum add", 2.0 * 2 * 5 * 8 * 6},
        {"x f32 3 5\ny f32 3 6\nw: f32 7 5 6\nz f32 3 7 = aten.bilinear.default(input1: x, input2: y, weight: w)",
         "einsum", 2.0 * 3 * 5 * 6 + 2.0 * 3 * 7 * 5 * 6},
        {"a f32 4 8\nb f32 8 2\nc f32 2 6\nz f32 4 6 = aten.linalg_multi_dot.default(tensors: [a, b, c])",
         "matmul matmul", 2.0 * 4 * 8 * 2 + 2.0 * 4 * 2 * 6},
        {"x f32 2 30 8\ny f32 2 40 8\nz f32 2 30 40 = aten.cdist.default(x1: x, x2: y)",
         "pad pad transpose matmul relu sqrt", 2.0 * 2 * 30 * 40 * 10},
        {"x f32 2 30 8\ny f32 40 8\nz f32 2 30 40 = aten.cdist.default(x1: x, x2: y)",
         "reshape expand pad pad transpose matmul relu sqrt", 2.0 * 2 * 30 * 40 * 10},
        {"x f32 2 3 8\ny f32 2 4 8\nz f32 2 3 4 = aten.cdist.default(x1: x, x2: y)", "custom", 0},
        {"x f32 3 4 5\nz f32 3 4 = aten.diagonal.default(self: x, dim1: 1, dim2: 2)", "arange index", 0},
        {"x f32 3 4\nz f32 3 = aten.diagonal.default(self: x, offset: 1)", "arange arange index", 0},
        {"v: f32 8 6 3\ng: f32 8 1 1\nz f32 8 6 3 = aten._weight_norm.default(v: v, g: g)", "norm div mul", 0},
        {"x f32 2 6 4 4\nz f32 2 6 4 4 = aten.channel_shuffle.default(self: x, groups: 3)", "reshape transpose reshape",
         0},
        {"x f32 3 4\nz f32 3, i i64 3 = aten.median.dim(self: x, dim: 1)", "topk reshape reshape", 0},
        {"x i64 100\nz i64 8 = aten.bincount.default(self: x, minlength: 8)", "fill expand fill expand scatter_add", 0},
        {"x f32 2 54 64\nz f32 2 6 8 8 = aten.col2im.default(self: x, output_size: [8, 8], kernel_size: [3, 3], "
         "dilation: [1, 1], padding: [1, 1], stride: [1, 1])",
         "fold", 0},
        {"x f32 2 8 1 1\nz f32 2 8 1 1 = aten.relu.default(self: x)\ny f32 2 8 = aten.as_strided.default(self: z, "
         "size: "
         "[2, 8], stride: [8, 1])",
         "relu reshape", 0},
        {"x f32 4 8\nm bool 4 8\ns f32 7\nz f32 4 8 = aten.masked_scatter.default(self: x, mask: m, source: s)",
         "reshape cumsum index_select reshape where", 0},
        {"x f32 4 8\nm bool 4\nv f32 3 8\nz f32 4 8 = aten.index_put.default(self: x, indices: [m], values: v)",
         "reshape expand reshape cumsum reshape index_select reshape where", 0},
        {"x f32 7 4\nz f32 4 4 = aten.slice.Tensor(self: x, dim: 0, start: 0, end: 7, step: 2)", "unfold reshape", 0},
        {"x f32 9 4\nz f32 3 4 = aten.slice.Tensor(self: x, dim: 0, start: 1, end: 8, step: 3)", "slice unfold reshape",
         0},
        {"x bool 9 4\nz bool = aten._is_all_true.default(self: x)", "all", 0},
        {"x f32 4 8\nm bool 4 8\nv f32\nz f32 4 8 = aten.index_put.default(self: x, indices: [m], values: v)", "where",
         0},
    };
    CHECK(rows);
}

/* A step of a cell: both products, of inputs and of the state. */
static void cells(void **unused)
{
    (void)unused;
#define CELL(gates)                                                                                                    \
    "x f32 3 4\nh f32 3 5\nk f32 3 5\nw: f32 " gates " 4\nu: f32 " gates " 5\nb: f32 " gates "\nd: f32 " gates "\n"
    static const char *const program[] = {
        CELL("20") "y f32 3 5, z f32 3 5 = aten.lstm_cell.default(input: x, hx: [h, k], w_ih: w, w_hh: u, b_ih: b, "
                   "b_hh: d)",
        CELL("15") "y f32 3 5 = aten.gru_cell.default(input: x, hx: h, w_ih: w, w_hh: u, b_ih: b, b_hh: d)",
        CELL("5") "y f32 3 5 = aten.rnn_tanh_cell.default(input: x, hx: h, w_ih: w, w_hh: u)"};
    static const int gates[] = {4, 3, 1};
    for (int i = 0; i < 3; i++) {
        const outcome o = load_text(program[i]);
        if (!o.g || *o.said)
            fail_msg("%s\n%s", program[i], o.said);
        assert_true(o.g->contraction_flops == 2.0 * 3 * 5 * gates[i] * (4 + 5));
        fsim_arena_free(o.a);
    }
}

/* An lstm of two steps whose state of 5 numbers is shown as 2: both products of each step, of 4 inputs and of the 2,
 * and the projection; the inputs' product is one for all steps. */
static void projected_states(void **unused)
{
    (void)unused;
    const outcome o = load_text(
        "x f32 2 3 4\nh f32 1 3 2\nk f32 1 3 5\nw: f32 20 4\nu: f32 20 2\nb: f32 20\nd: f32 20\np: f32 2 5\n"
        "y f32 2 3 2, m f32 1 3 2, n f32 1 3 5 = aten.lstm.input(input: x, hx: [h, k], params: [w, u, b, d, p], "
        "has_biases: true, num_layers: 1, dropout: 0.0, train: false, bidirectional: false, batch_first: false)");
    if (!o.g || *o.said)
        fail_msg("%s", o.said);
    assert_true(o.g->contraction_flops == 2.0 * 3 * 2 * (20 * 4 + 20 * 2 + 2 * 5));
    fsim_arena_free(o.a);
}

/* Rows in groups: all matrices where there are enough rows, else as many as there are rows. */
static void groups(void **unused)
{
    (void)unused;
#define GROUPS(rows, target)                                                                                           \
    "x bf16 " rows " 8\nw: bf16 4 8 6\no i32 4\nz bf16 " rows " 6 = " target "(input: x, weight: w, offs: o)"
    static const row rows[] = {
        {GROUPS("12", "transformers.grouped_mm_fallback.default"), "reshape bmm reshape", 2.0 * 12 * 8 * 6},
        {GROUPS("14", "transformers.grouped_mm_fallback.default"),
         "slice slice reshape bmm reshape slice slice reshape bmm reshape concat", 2.0 * 14 * 8 * 6},
        {GROUPS("2", "transformers.grouped_mm_fallback.default"), "slice reshape bmm reshape", 2.0 * 2 * 8 * 6},
        {"x bf16 14 8\nw: bf16 4 8 6\no i32 4\nz bf16 14 6 = aten._grouped_mm.default(self: x, mat2: w, offs: o)",
         "slice slice reshape bmm reshape slice slice reshape bmm reshape concat", 2.0 * 14 * 8 * 6},
    };
    CHECK(rows);
}

/* Codes and numbers of 8 bits. */
static void eight_bits(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"x f8 32 64\nw f8 64 48\ns f32\nt f32\nz bf16 32 48 = aten._scaled_mm.default(self: x, mat2: w, scale_a: s, "
         "scale_b: t)",
         "matmul", 2.0 * 32 * 64 * 48},
        {"x f8 32 64\nw f8 64 48\ns f32 32 1\nt f32 1 48\nz bf16 32 48 = aten._scaled_mm.default(self: x, mat2: w, "
         "scale_a: s, scale_b: t)",
         "matmul", 2.0 * 32 * 64 * 48},
        {"x i8 32 64\nw i8 64 48\nz i32 32 48 = aten._int_mm.default(self: x, mat2: w)", "matmul", 2.0 * 32 * 64 * 48},
        {"x bf16 32 64\nw: i8 48 64\ns: bf16 48\nz bf16 32 48 = aten._weight_int8pack_mm.default(self: x, mat2: w, "
         "scales: s)",
         "cast linear mul", 2.0 * 32 * 64 * 48},
    };
    CHECK(rows);
}

/* Pairs of numbers: a product is a rotation, a view nothing, a move a move. */
static void complex_numbers(void **unused)
{
    (void)unused;
    static const char rope[] =
        "x f32 2 5 4 8 2\nf c64 5 1 8\nc c64 2 5 4 8 = aten.view_as_complex.default(self: x)\n"
        "p c64 2 5 4 8 = aten.mul.Tensor(self: c, other: f)\nz f32 2 5 4 8 2 = aten.view_as_real.default(self: p)";
    static const row rows[] = {
        {rope, "slice slice rotary_embedding", 0},
        {"x c64 2 4\ny f32 2 4\nz c64 2 4 = aten.mul.Tensor(self: x, other: y)", "reshape mul", 0},
        {"x c64 2 4\nz f32 2 4 = aten.abs.default(self: x)", "norm", 0},
        {"x c64 2 4 3\nz c64 2 3 4 = aten.transpose.int(self: x, dim0: -2, dim1: -1)", "permute", 0},
        {"x c64 2 4\ny c64 2 4\nz c64 2 8 = aten.cat.default(tensors: [x, y], dim: -1)", "concat", 0},
        {"x c64 2 4 3\nz c64 2 3 = aten.select.int(self: x, dim: 1, index: -1)", "select", 0},
        {"x f32 3 4\ny f32 3 4\nz c64 3 4 = aten.polar.default(abs: x, angle: y)",
         "cos mul sin mul reshape reshape concat", 0},
        {"x f32 2 64\nz c64 2 33 = aten.fft_rfft.default(self: x)", "custom", 0},
        {"x f32 8 64\nz c64 8 33 = aten.fft_rfft2.default(self: x)", "custom custom", 0},
    };
    CHECK(rows);
    const outcome o = load_text(rope);
    const fsim_tensor *f = tensor_of(&o, "f");
    assert_int_equal(f->shape.rank, 4);
    assert_int_equal(f->bytes, 5 * 8 * 8);
    fsim_arena_free(o.a);
}

/* What is written into a part of a tensor reaches it: the product that was written there is not lost. */
static void writes_reach_the_whole(void **unused)
{
    (void)unused;
#define WRITES(view)                                                                                                   \
    "a f32 4 8\nb: f32 8 6\ny f32 4 6 = aten.mm.default(self: a, mat2: b)\n"                                           \
    "w f32 4 2 6 = aten.zeros.default(size: [4, 2, 6])\n" view                                                         \
    "u f32 4 6 = aten.copy_.default(self: v, src: y)\nz f32 4 2 6 = aten.relu.default(self: w)"
    static const char *const views[] = {
        WRITES("v f32 4 6 = aten.select.int(self: w, dim: 1, index: 1)\n"),
        WRITES("s f32 4 1 6 = aten.slice.Tensor(self: w, dim: 1, start: 0, end: 9223372036854775807, step: 2)\n"
               "v f32 4 6 = aten.squeeze.dim(self: s, dim: 1)\n"),
        WRITES("s f32 4 1 6, t f32 4 1 6 = aten.split.Tensor(self: w, split_size: 1, dim: 1)\n"
               "v f32 4 6 = aten.squeeze.dim(self: t, dim: 1)\n"),
        WRITES("t f32 2 6 4 = aten.permute.default(self: w, dims: [1, 2, 0])\n"
               "s f32 6 4 = aten.select.int(self: t, dim: 0, index: 0)\n"
               "v f32 4 6 = aten.transpose.int(self: s, dim0: 0, dim1: 1)\n"),
    };
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        const outcome o = load_text(views[i]);
        if (!o.g || *o.said)
            fail_msg("%s\n%s", views[i], o.said);
        if (o.g->contraction_flops != 2.0 * 4 * 8 * 6)
            fail_msg("%s\n%g FLOPs: %s", views[i], o.g->contraction_flops, operators_of(&o));
        fsim_arena_free(o.a);
    }
}

/* Sizes that differ where windows are rounded up, or are even, at no copy more than PyTorch makes. */
static void windows(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"x f32 2 6 16 16\nz f32 2 6 8 8 = aten.max_pool2d.default(self: x, kernel_size: [3, 3], stride: [2, 2], "
         "ceil_mode: true)",
         "max_pool2d", 0},
        {"x f32 2 6 9 9\nz f32 2 6 5 5 = aten.max_pool2d.default(self: x, kernel_size: [2, 2], stride: [2, 2], "
         "ceil_mode: true)",
         "max_pool2d", 0},
        {"x f32 2 6 20\nw: f32 5 6 4\nz f32 2 5 20 = aten.conv1d.padding(input: x, weight: w, padding: 'same')",
         "pad conv1d", 2.0 * 2 * 5 * 20 * 6 * 4},
        {"x f32 2 6 20\nw: f32 5 6 3\nz f32 2 5 20 = aten.conv1d.padding(input: x, weight: w, padding: 'same')",
         "conv1d", 2.0 * 2 * 5 * 20 * 6 * 3},
    };
    CHECK(rows);
}

/* The library torchvision. */
static void vision(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"x f32 1 6 16 16\no f32 1 18 16 16\nm f32 1 9 16 16\nw: f32 4 6 3 3\nb: f32 4\n"
         "z f32 1 4 16 16 = torchvision.deform_conv2d.default(input: x, weight: w, offset: o, mask: m, bias: b, "
         "stride_h: 1, stride_w: 1, pad_h: 1, pad_w: 1, dil_h: 1, dil_w: 1, n_weight_grps: 1, n_offset_grps: 1, "
         "use_mask: true)",
         "custom reshape matmul reshape add reshape", 2.0 * 4 * 6 * 9 * 16 * 16},
    };
    CHECK(rows);
}

/* Products as PyTorch runs them, and what core ATen makes of one. */
static void products(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"a f32 2 3 4\nb f32 2 3 5\nz f32 2 3 4 5 = aten.einsum.default(equation: 'blq,blk->blqk', tensors: [a, b])",
         "reshape reshape mul", 0},
        {"a f32 3 2\nb f32 5\nz f32 2 5 3 = aten.einsum.default(equation: 'ab,c->bca', tensors: [a, b])",
         "permute reshape reshape mul", 0},
        {"a f32 2 3 4\nb f32 2 5 4\nz f32 2 3 5 = aten.einsum.default(equation: 'bij,bkj->bik', tensors: [a, b])",
         "permute bmm", 2.0 * 2 * 3 * 4 * 5},
        {"x f32 9 2 8\nw: f32 6 8\nt f32 8 6 = aten.permute.default(self: w, dims: [1, 0])\n"
         "e f32 9 8 6 = aten.expand.default(self: t, size: [9, 8, 6])\nv f32 9 8 6 = aten.view.default(self: e, size: "
         "[9, 8, 6])\nz f32 9 2 6 = aten.bmm.default(self: x, mat2: v)",
         "linear", 2.0 * 9 * 2 * 8 * 6},
        {"q f32 2 4 6 8\nk f32 1 4 9 8\nz f32 2 4 6 8 = aten.scaled_dot_product_attention.default(query: q, key: k, "
         "value: k, dropout_p: 0.1)",
         "expand expand attention", 4.0 * 2 * 4 * 6 * 9 * 8},
        {"x f32 4 8\ny f32 4 8 = aten.add.Tensor(self: x, other: 3)\nc f32 4 8 = aten.clamp.default(self: y, min: 0)\n"
         "d f32 4 8 = aten.clamp.default(self: c, max: 6)\nm f32 4 8 = aten.mul.Tensor(self: x, other: d)\n"
         "z f32 4 8 = aten.div.Tensor(self: m, other: 6)",
         "hardswish", 0},
        {"x f32 4 8\ny f32 4 8 = aten.add.Tensor(self: x, other: 3)\nd f32 4 8 = aten.clamp.default(self: y, min: 0, "
         "max: 6)\nz f32 4 8 = aten.div.Tensor(self: d, other: 6)",
         "hardsigmoid", 0},
        {"x f32 4 6 2 8\ni i64 5\nv f32 4 6 5 8\nz f32 4 6 2 8 = aten.index_put.default(self: x, indices: [none, none, "
         "i], values: v, accumulate: true)",
         "index_add", 0},
        {"x f32 4 6 9 8\ni i64 5 1\nj i64 7\nv f32 4 6 5 7\nz f32 4 6 9 8 = aten.index_put.default(self: x, indices: "
         "[none, none, i, j], values: v, accumulate: true)",
         "permute permute expand expand index_put permute", 0},
    };
    CHECK(rows);
}

static void losses(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"x f32 6 5\nt i64 6\nz f32 = aten.nll_loss_nd.default(self: x, target: t)", "reshape gather neg mean", 0},
        {"x f32 6 5\nt i64 6\nz f32 6 = aten.cross_entropy_loss.default(self: x, target: t, reduction: 0)",
         "log_softmax reshape gather neg reshape", 0},
        {"x f32 6 5\nt f32 6 5\nz f32 6 5 = aten.mse_loss.default(self: x, target: t, reduction: 0)", "sub square", 0},
        {"x f32 6 5\nt f32 6 5\nz f32 = aten.l1_loss.default(self: x, target: t, reduction: 2)", "sub abs sum", 0},
        {"x f32 6 5\nt f32 6 5\nz f32 = aten.huber_loss.default(self: x, target: t)", "smooth_l1_loss", 0},
        {"x f32 6 5\nt f32 6 5\nz f32 = aten.kl_div.default(self: x, target: t, reduction: 2)", "log sub mul sum", 0},
        {"x f32 6 5\nt f32 6 5\nz f32 = aten.kl_div.default(self: x, target: t, log_target: true)", "sub exp mul mean",
         0},
        {"x f32 6 5 4\nz f32 6 = aten.linalg_matrix_norm.str_ord(self: x)", "norm", 0},
    };
    CHECK(rows);
}

/* Nodes that core ATen made of one are that one again, where the file says so: at one kernel's cost. */
static void parts_of_one(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"x f32 4 6\ne f32 4 6 = aten.exp.default(self: x) <- softplus aten.softplus.default\n"
         "l f32 4 6 = aten.log1p.default(self: e) <- softplus aten.softplus.default\n"
         "g bool 4 6 = aten.gt.Scalar(self: x, other: 20) <- softplus aten.softplus.default\n"
         "z f32 4 6 = aten.where.self(condition: g, self: x, other: l) <- softplus aten.softplus.default",
         "softplus", 0},
        {"x f32 4 6\ns f32 4 6 = aten.sigmoid.default(self: x) <- silu_ aten.silu_.default\n"
         "z f32 4 6 = aten.mul.Tensor(self: x, other: s) <- silu_ aten.silu_.default",
         "silu", 0},
        /* a part is read elsewhere: they stay apart */
        {"x f32 4 6\ns f32 4 6 = aten.sigmoid.default(self: x) <- silu aten.silu.default\n"
         "y f32 4 6 = aten.mul.Tensor(self: x, other: s) <- silu aten.silu.default\n"
         "z f32 4 6 = aten.add.Tensor(self: y, other: s)",
         "sigmoid mul add", 0},
        /* two of one kind, one behind the other */
        {"x f32 4 6\ns f32 4 6 = aten.sigmoid.default(self: x) <- silu aten.silu.default\n"
         "y f32 4 6 = aten.mul.Tensor(self: x, other: s) <- silu aten.silu.default\n"
         "t f32 4 6 = aten.sigmoid.default(self: y) <- silu_1 aten.silu.default\n"
         "z f32 4 6 = aten.mul.Tensor(self: y, other: t) <- silu_1 aten.silu.default",
         "silu silu", 0},
        {"x f32 2 8 8 3\na i64 8 = aten.arange.start_step(start: 0, end: 8) <- roll aten.roll.default\n"
         "b i64 8 = aten.add.Tensor(self: a, other: 2) <- roll aten.roll.default\n"
         "f i64 8 = aten.fmod.Scalar(self: b, other: 8) <- roll aten.roll.default\n"
         "z f32 2 8 8 3 = aten.index_select.default(self: x, dim: 1, index: f) <- roll aten.roll.default",
         "roll", 0},
        {"x f32 4 6\np f32 4 6 = aten.pow.Tensor_Scalar(self: x, exponent: 2) <- n aten.linalg_vector_norm.default\n"
         "s f32 4 1 = aten.sum.dim_IntList(self: p, dim: [1], keepdim: true) <- n aten.linalg_vector_norm.default\n"
         "z f32 4 1 = aten.pow.Tensor_Scalar(self: s, exponent: 0.5) <- n aten.linalg_vector_norm.default",
         "norm", 0},
        {"x f32 4 5 6\nw: f32 3 6\nb: f32 3\ne f32 4 5 6 = aten.expand.default(self: x, size: [4, 5, 6]) <- l "
         "aten.linear.default\nt f32 6 3 = aten.permute.default(self: w, dims: [1, 0]) <- l aten.linear.default\n"
         "u f32 4 6 3 = aten.expand.default(self: t, size: [4, 6, 3]) <- l aten.linear.default\n"
         "p f32 4 5 3 = aten.bmm.default(self: e, mat2: u) <- l aten.linear.default\n"
         "z f32 4 5 3 = aten.add.Tensor(self: p, other: b) <- l aten.linear.default",
         "linear", 2.0 * 4 * 5 * 6 * 3},
        /* its input is widened first */
        {"x f32 1 5 6\nw: f32 3 6\nt f32 6 3 = aten.permute.default(self: w, dims: [1, 0]) <- l aten.linear.default\n"
         "e f32 4 5 6 = aten.expand.default(self: x, size: [4, 5, 6]) <- l aten.linear.default\n"
         "u f32 4 6 3 = aten.expand.default(self: t, size: [4, 6, 3]) <- l aten.linear.default\n"
         "p f32 4 5 3 = aten.bmm.default(self: e, mat2: u) <- l aten.linear.default\n"
         "z f32 4 5 3 = aten.view.default(self: p, size: [4, 5, 3]) <- l aten.linear.default",
         "expand linear", 2.0 * 4 * 5 * 6 * 3},
        {"x f32 4 6\nm bool 4 6\ns f32 = aten.scalar_tensor.default(s: -1) <- m_ aten.masked_fill.Scalar\n"
         "z f32 4 6 = aten.where.self(condition: m, self: s, other: x) <- m_ aten.masked_fill.Scalar",
         "masked_fill", 0},
        {"x f32 4 6\ny f32 4 6\na f32 4 6 = aten.sub.Tensor(self: x, other: y) <- l aten.mse_loss.default\n"
         "b f32 4 6 = aten.pow.Tensor_Scalar(self: a, exponent: 2) <- l aten.mse_loss.default\n"
         "z f32 = aten.mean.default(self: b) <- l aten.mse_loss.default",
         "mse_loss", 0},
        /* what torch.compile's own table takes further apart */
        {"x f32 4 6\nw: f32 6\nb: f32 6\n"
         "v f32 4 1, m f32 4 1 = aten.var_mean.correction(self: x, dim: [1], correction: 0, keepdim: true) <- n "
         "aten.layer_norm.default\na f32 4 1 = aten.add.Tensor(self: v, other: 0.00001) <- n aten.layer_norm.default\n"
         "r f32 4 1 = aten.rsqrt.default(self: a) <- n aten.layer_norm.default\n"
         "s f32 4 6 = aten.sub.Tensor(self: x, other: m) <- n aten.layer_norm.default\n"
         "t f32 4 6 = aten.mul.Tensor(self: s, other: r) <- n aten.layer_norm.default\n"
         "u f32 4 6 = aten.mul.Tensor(self: t, other: w) <- n aten.layer_norm.default\n"
         "z f32 4 6 = aten.add.Tensor(self: u, other: b) <- n aten.layer_norm.default",
         "layer_norm", 0},
        {"x f32 4 6\na f32 4 6 = aten.mul.Tensor(self: x, other: 0.5) <- g aten.gelu.default\n"
         "b f32 4 6 = aten.mul.Tensor(self: x, other: 0.7071) <- g aten.gelu.default\n"
         "e f32 4 6 = aten.erf.default(self: b) <- g aten.gelu.default\n"
         "o f32 4 6 = aten.add.Tensor(self: e, other: 1) <- g aten.gelu.default\n"
         "z f32 4 6 = aten.mul.Tensor(self: a, other: o) <- g aten.gelu.default",
         "gelu", 0},
        {"x f16 4 6\nz f32 4 6 = prims.convert_element_type.default(a: x)", "cast", 0},
        /* bhqd,bkhd->bhqk */
        {"x f32 2 3 4 5\ny f32 2 6 3 5\na f32 2 3 4 5 1 = aten.unsqueeze.default(self: x, dim: 4) <- e "
         "aten.einsum.default\n"
         "b f32 2 3 4 1 5 = aten.permute.default(self: a, dims: [0, 1, 2, 4, 3]) <- e aten.einsum.default\n"
         "c f32 2 6 3 5 1 = aten.unsqueeze.default(self: y, dim: 4) <- e aten.einsum.default\n"
         "d f32 2 3 1 6 5 = aten.permute.default(self: c, dims: [0, 2, 4, 1, 3]) <- e aten.einsum.default\n"
         "f f32 2 3 4 5 1 = aten.permute.default(self: b, dims: [0, 1, 2, 4, 3]) <- e aten.einsum.default\n"
         "g f32 6 4 5 = aten.view.default(self: f, size: [6, 4, 5]) <- e aten.einsum.default\n"
         "h f32 2 3 5 6 1 = aten.permute.default(self: d, dims: [0, 1, 4, 3, 2]) <- e aten.einsum.default\n"
         "i f32 6 5 6 = aten.view.default(self: h, size: [6, 5, 6]) <- e aten.einsum.default\n"
         "j f32 6 4 6 = aten.bmm.default(self: g, mat2: i) <- e aten.einsum.default\n"
         "k f32 2 3 4 1 6 = aten.view.default(self: j, size: [2, 3, 4, 1, 6]) <- e aten.einsum.default\n"
         "l f32 2 3 4 6 1 = aten.permute.default(self: k, dims: [0, 1, 2, 4, 3]) <- e aten.einsum.default\n"
         "z f32 2 3 4 6 = aten.view.default(self: l, size: [2, 3, 4, 6]) <- e aten.einsum.default",
         "reshape permute reshape bmm reshape", 2.0 * 2 * 3 * 4 * 6 * 5},
        {"x f32 2 3 5 6\na i64 4 = aten.arange.start_step(start: -1, end: 3) <- p aten.pad.default\n"
         "z f32 2 3 5 8 = aten.index.Tensor(self: x, indices: [none, none, none, a]) <- p aten.pad.default",
         "pad", 0},
        {"x f32 4 6\ne f32 4 6 = aten.empty_like.default(self: x) <- d aten.dropout.default\n"
         "b f32 4 6 = aten.bernoulli.p(self: e, p: 0.8) <- d aten.dropout.default\n"
         "s f32 4 6 = aten.div.Scalar(self: b, other: 0.8) <- d aten.dropout.default\n"
         "z f32 4 6 = aten.mul.Tensor(self: x, other: s) <- d aten.dropout.default",
         "dropout", 0},
        {"q f32 2 3 5 8\nk f32 2 3 7 8\nv f32 2 3 7 8\na f32 2 3 5 8 = aten.mul.Scalar(self: q, other: 0.5) <- s "
         "aten.scaled_dot_product_attention.default\nt f32 2 3 8 7 = aten.permute.default(self: k, dims: [0, 1, 3, 2]) "
         "<- s aten.scaled_dot_product_attention.default\nb f32 2 3 8 7 = aten.mul.Scalar(self: t, other: 0.5) <- s "
         "aten.scaled_dot_product_attention.default\nc f32 6 5 8 = aten.view.default(self: a, size: [6, 5, 8]) <- s "
         "aten.scaled_dot_product_attention.default\nd f32 6 8 7 = aten.view.default(self: b, size: [6, 8, 7]) <- s "
         "aten.scaled_dot_product_attention.default\ne f32 6 5 7 = aten.bmm.default(self: c, mat2: d) <- s "
         "aten.scaled_dot_product_attention.default\nf f32 6 5 7 = aten._softmax.default(self: e, dim: -1) <- s "
         "aten.scaled_dot_product_attention.default\ng f32 6 7 8 = aten.view.default(self: v, size: [6, 7, 8]) <- s "
         "aten.scaled_dot_product_attention.default\nh f32 6 5 8 = aten.bmm.default(self: f, mat2: g) <- s "
         "aten.scaled_dot_product_attention.default\nz f32 2 3 5 8 = aten.view.default(self: h, size: [2, 3, 5, 8]) <- "
         "s aten.scaled_dot_product_attention.default",
         "attention", 4.0 * 2 * 3 * 5 * 7 * 8},
        {"x f32 2 3 8\na f32 16 = aten.arange.start_step(start: 0, end: 16) <- u aten.upsample_linear1d.vec\n"
         "b f32 16 = aten.mul.Tensor(self: a, other: 0.5) <- u aten.upsample_linear1d.vec\n"
         "i i64 16 = aten._to_copy.default(self: b) <- u aten.upsample_linear1d.vec\n"
         "j i64 16 = aten.add.Tensor(self: i, other: 1) <- u aten.upsample_linear1d.vec\n"
         "c f32 2 3 16 = aten.index.Tensor(self: x, indices: [none, none, i]) <- u aten.upsample_linear1d.vec\n"
         "d f32 2 3 16 = aten.index.Tensor(self: x, indices: [none, none, j]) <- u aten.upsample_linear1d.vec\n"
         "e f32 2 3 16 = aten.sub.Tensor(self: d, other: c) <- u aten.upsample_linear1d.vec\n"
         "f f32 2 3 16 = aten.mul.Tensor(self: e, other: b) <- u aten.upsample_linear1d.vec\n"
         "z f32 2 3 16 = aten.add.Tensor(self: c, other: f) <- u aten.upsample_linear1d.vec",
         "interpolate", 0},
    };
    CHECK(rows);
}

/* Writes into a part as others may compute them: the pieces that stay, and what is written, one behind the other. Core
 * ATen says the same in two ways. Memory that outlasts the program is written where it is. */
static void written_parts(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"a f32 4 8\nw f32 4 8 = aten.relu.default(self: a)\ny f32 4 3\n"
         "v f32 4 3 = aten.slice.Tensor(self: w, dim: 1, start: 2, end: 5)\n"
         "u f32 4 3 = aten.copy_.default(self: v, src: y)\nz f32 4 8 = aten.neg.default(self: w)",
         "relu slice slice concat neg", 0},
        {"a f32 4 8\nw f32 4 8 = aten.relu.default(self: a)\ny f32 4 3\n"
         "z f32 4 8 = aten.slice_scatter.default(self: w, src: y, dim: 1, start: 2, end: 5)",
         "relu slice slice concat", 0},
        {"a f32 4 8\nw f32 4 8 = aten.relu.default(self: a)\ny f32 4\n"
         "z f32 4 8 = aten.select_scatter.default(self: w, src: y, dim: 1, index: 0)",
         "relu reshape slice concat", 0},
        {"a f32 4 8\nw f32 4 8 = aten.relu.default(self: a)\ny f32 4\n"
         "p i64 8 = aten.arange.start_step(start: 0, end: 8)\nq i64 1 8 = aten.view.default(self: p, size: [1, -1])\n"
         "e bool 1 8 = aten.eq.Scalar(self: q, other: 0)\nr f32 4 1 = aten.unsqueeze.default(self: y, dim: 1)\n"
         "s f32 4 8 = aten.expand.default(self: r, size: [4, 8])\n"
         "z f32 4 8 = aten.where.self(condition: e, self: s, other: w)",
         "relu reshape slice concat", 0},
        /* x[:, 2:5] += y: the second write is of what is there */
        {"a f32 4 8\nw f32 4 8 = aten.relu.default(self: a)\ny f32 4 3\n"
         "v f32 4 3 = aten.slice.Tensor(self: w, dim: 1, start: 2, end: 5)\n"
         "u f32 4 3 = aten.add_.Tensor(self: v, other: y)\n"
         "s f32 4 3 = aten.slice.Tensor(self: w, dim: 1, start: 2, end: 5)\n"
         "t f32 4 3 = aten.copy_.default(self: s, src: u)\nz f32 4 8 = aten.neg.default(self: w)",
         "relu slice add slice slice concat neg", 0},
        {"a f32 4 8\nw f32 4 8 = aten.relu.default(self: a)\n"
         "v f32 4 3 = aten.slice.Tensor(self: w, dim: 1, start: 2, end: 5)\n"
         "z f32 4 8 = aten.slice_scatter.default(self: w, src: v, dim: 1, start: 2, end: 5)",
         "relu", 0},
        {"w f32 4 8\ny f32 4 3\nv f32 4 3 = aten.slice.Tensor(self: w, dim: 1, start: 2, end: 5)\n"
         "u f32 4 3 = aten.copy_.default(self: v, src: y)\nz f32 4 8 = aten.neg.default(self: w)",
         "arange index_copy neg", 0},
    };
    CHECK(rows);
}

/* Images at places that data say: for each of four neighbours a gather, by the gather's rule of bytes: as many elements
 * as are taken, 2 x 3 x 5 x 7 = 210, and at most the image's 2 x 3 x 8 x 8 = 384, of 2 x 3 x 10 x 10 = 600. */
static void places_in_images(void **unused)
{
    (void)unused;
#define PLACES(h, w)                                                                                                   \
    "x f32 2 3 8 8\ng f32 2 " h " " w " 2\nz f32 2 3 " h " " w " = aten.grid_sampler_2d.default(input: x, grid: g, "   \
    "interpolation_mode: 0, padding_mode: 0, align_corners: false)"
    static const struct {
        const char *program;
        int64_t distinct;
    } rows[] = {{PLACES("5", "7"), 210}, {PLACES("10", "10"), 384}};
    for (size_t i = 0; i < 2; i++) {
        const outcome o = load_text(rows[i].program);
        int gathers = 0;
        if (!o.g || *o.said)
            fail_msg("%s\n%s", rows[i].program, o.said);
        assert_string_equal(operators_of(&o), "grid_sample");
        for (int n = 0; n < o.g->nodes; n++)
            if (o.g->node[n].op == FSIM_OP_GATHER) {
                assert_int_equal(o.g->node[n].arg[0].distinct, rows[i].distinct);
                gathers++;
            }
        assert_int_equal(gathers, 4);
        fsim_arena_free(o.a);
    }
}

/* A view that was made before its base was written shows what was written: the product is there. */
static void views_show_what_was_written(void **unused)
{
    (void)unused;
#define AFTER_VIEW(view)                                                                                               \
    "a f32 4 8\nb: f32 8 6\ny f32 4 6 = aten.mm.default(self: a, mat2: b)\nw f32 4 6 = aten.zeros.default(size: [4, "  \
    "6])\n" view "u f32 4 6 = aten.copy_.default(self: w, src: y)\n"
    static const char *const programs[] = {
        AFTER_VIEW("v f32 4 3 = aten.slice.Tensor(self: w, dim: 1, start: 2, end: 5)\n") "z f32 4 3 = "
                                                                                         "aten.relu.default(self: v)",
        AFTER_VIEW("v f32 6 = aten.select.int(self: w, dim: 0, index: 1)\n") "z f32 6 = aten.relu.default(self: v)",
        AFTER_VIEW("v f32 24 = aten.view.default(self: w, size: [24])\n") "z f32 24 = aten.relu.default(self: v)",
        AFTER_VIEW("s f32 4 3 = aten.slice.Tensor(self: w, dim: 1, start: 2, end: 5)\n"
                   "v f32 3 4 = aten.t.default(self: s)\n") "z f32 3 4 = aten.relu.default(self: v)",
        AFTER_VIEW(
            "v f32 6 4 = aten.permute.default(self: w, dims: [1, 0])\n") "z f32 6 4 = aten.relu.default(self: v)",
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const outcome o = load_text(programs[i]);
        if (!o.g || *o.said)
            fail_msg("%s\n%s", programs[i], o.said);
        if (o.g->contraction_flops != 2.0 * 4 * 8 * 6)
            fail_msg("%s\n%g FLOPs: %s", programs[i], o.g->contraction_flops, operators_of(&o));
        fsim_arena_free(o.a);
    }
}

/* A node that our operator refuses, or whose result it would make of another shape than the file says, is a copy, and
 * what follows is as ever: the product is there. Said once for each operator of the file, with its number. */
static void what_does_not_fit_is_a_copy(void **unused)
{
    (void)unused;
#define AFTER "w: f32 6 3\nv f32 4 3 = aten.mm.default(self: z, mat2: w)"
    static const struct {
        const char *program, *becomes, *said;
    } rows[] = {
        {"x f32 2 4\ny f32 3 5\nz f32 4 6 = aten.cat.default(tensors: [x, y], dim: 0)\n" AFTER, "custom matmul",
         "operator 'aten.cat.default' does not fit: it costs a copy of its inputs"},
        {"x f32 4 6\nz f32 4 6 = aten.fft_fake.default(self: x)\n" AFTER, "custom matmul",
         "operator 'aten.fft_fake.default' is not known: it costs a copy of its inputs"},
        {"x f32 9 6\nz f32 4 6, y f32 4 6 = aten.split_with_sizes.default(self: x, split_sizes: [4, 4])\n" AFTER,
         "custom matmul",
         "its results are 8 long together and its input 9: dimensions that depend on data do not agree"},
        {"x f32 2 6\ny f32 2 6\nz f32 4 6 = aten.add.Tensor(self: x, other: y)\n" AFTER, "custom matmul",
         "operator 'aten.add.Tensor' does not fit: it costs a copy of its inputs"},
        {"x f32 2 6\ny f32 2 6\nu f32 4 6 = aten.add.Tensor(self: x, other: y)\n"
         "z f32 4 6 = aten.add.Tensor(self: u, other: x)\n" AFTER,
         "custom custom matmul", "operator 'aten.add.Tensor' does not fit (2 times): it costs a copy of its inputs"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const outcome o = load_text(rows[i].program);
        if (!o.g || !strstr(o.said, rows[i].said) || strstr(o.said, "error"))
            fail_msg("%s\n%s", rows[i].program, o.said);
        if (strcmp(operators_of(&o), rows[i].becomes) != 0)
            fail_msg("%s\nbecomes %s", rows[i].program, operators_of(&o));
        assert_true(o.g->contraction_flops == 2.0 * 4 * 6 * 3);
        fsim_arena_free(o.a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_words),
        cmocka_unit_test(cells),
        cmocka_unit_test(projected_states),
        cmocka_unit_test(groups),
        cmocka_unit_test(eight_bits),
        cmocka_unit_test(complex_numbers),
        cmocka_unit_test(writes_reach_the_whole),
        cmocka_unit_test(vision),
        cmocka_unit_test(windows),
        cmocka_unit_test(products),
        cmocka_unit_test(losses),
        cmocka_unit_test(what_does_not_fit_is_a_copy),
        cmocka_unit_test(parts_of_one),
        cmocka_unit_test(places_in_images),
        cmocka_unit_test(views_show_what_was_written),
        cmocka_unit_test(written_parts),
    };
    return cmocka_run_group_tests_name("torch_ops", tests, NULL, NULL);
}
