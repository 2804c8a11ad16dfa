/* SPDX-License-Identifier: Apache-2.0 */
/* depends: memory cost: 1
 * Operators of torch.export programs that are kernels of their own: what they become, how much they compute, worked by
 * hand from their definitions, and what is said where that depends on data. */
#include "torch_text.h"

#include <math.h>

typedef struct {
    const char *program, *becomes;
    double flops, instructions; /* of all operators `custom` */
    const char *said;           /* NULL: nothing */
} row;

static void check(int count, const row *rows)
{
    for (int i = 0; i < count; i++) {
        const row *r = &rows[i];
        const outcome o = load_text(r->program);
        double flops = 0, instructions = 0;
        if (!o.g)
            fail_msg("%s\n%s", r->program, o.said);
        if (r->said ? !strstr(o.said, r->said) : *o.said != 0)
            fail_msg("%s\nsays %s", r->program, o.said);
        if (strcmp(operators_of(&o), r->becomes) != 0)
            fail_msg("%s\nbecomes %s\nnot %s", r->program, operators_of(&o), r->becomes);
        for (int n = 0; n < o.g->nodes; n++)
            if (o.g->node[n].op == FSIM_OP_CUSTOM) {
                assert_true(o.g->node[n].attrs.has_work);
                flops += o.g->node[n].flops * (double)o.g->node[n].points;
                instructions += o.g->node[n].instructions * (double)o.g->node[n].points;
            }
        if (fabs(flops - r->flops) > 1e-9 * r->flops || fabs(instructions - r->instructions) > 1e-9 * r->instructions)
            fail_msg("%s\n%.17g FLOPs and %.17g instructions, not %g and %g", r->program, flops, instructions, r->flops,
                     r->instructions);
        fsim_arena_free(o.a);
    }
}
#define CHECK(rows) check((int)(sizeof(rows) / sizeof *(rows)), rows)

/* 100 boundaries leave 101 places, which 7 comparisons tell apart; 7 leave 8 places: 3. */
static void searches(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"x f32 3 4\nb f32 100\nz i64 3 4 = aten.bucketize.Tensor(self: x, boundaries: b)", "custom", 12 * 7, 12 * 70,
         NULL},
        {"b f32 2 7\nx f32 2 5\nz i64 2 5 = aten.searchsorted.Tensor(sorted_sequence: b, self: x)", "custom", 10 * 3,
         10 * 30, NULL},
        {"b f32 2 8\nx f32 2 5\nz i64 2 5 = aten.searchsorted.Tensor(sorted_sequence: b, self: x)", "custom", 10 * 4,
         10 * 40, NULL},
    };
    CHECK(rows);
}

/* 32 numbers, each a quarter of Philox' 10 rounds of 6 instructions, and what is made of it. */
static void random_numbers(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"x f32 2\nz f32 4 8 = aten.rand.default(size: [4, 8])", "custom", 32 * 2, 32 * 18, NULL},
        {"x f32 4 8\nz f32 4 8 = aten.rand_like.default(self: x)", "custom", 32 * 2, 32 * 18, NULL},
        {"x f32 4 8\nz f32 4 8 = aten.randn_like.default(self: x)", "custom", 32 * 5.5, 32 * 52.5, NULL},
        {"x f32 4 8\nz i64 4 8 = aten.randint_like.default(self: x, high: 9)", "custom", 32 * 2, 32 * 43, NULL},
        {"x f32 4 8\nz f32 4 8 = aten.bernoulli.default(self: x)", "custom", 32 * 3, 32 * 20, NULL},
        {"x f32 4 8\nz f32 4 8 = aten.bernoulli.p(self: x, p: 0.5)", "custom", 32 * 3, 32 * 20, NULL},
        {"x f32 2\nz i64 100 = aten.randperm.default(n: 100)", "custom sort", 100 * 2, 100 * 43, NULL},
        {"x f32 4 50\nz i64 4 1 = aten.multinomial.default(self: x, num_samples: 1)", "custom div argmax", 200 * 4,
         200 * 33, NULL},
        {"x f32 4 50\nz i64 4 3 = aten.multinomial.default(self: x, num_samples: 3)", "custom div topk", 200 * 4,
         200 * 33, NULL},
        /* 51 places: 6 steps, and a number, for each of 12 */
        {"x f32 4 50\nz i64 4 3 = aten.multinomial.default(self: x, num_samples: 3, replacement: true)",
         "cumsum custom", 12 * 8, 12 * (60 + 18), NULL},
    };
    CHECK(rows);
}

/* What is drawn by numbers alone reads nothing; what tensors say is read. */
static void random_reads(void **unused)
{
    (void)unused;
    static const struct {
        const char *program;
        int reads;
    } rows[] = {{"x f32 4 8\nz f32 4 8 = aten.rand_like.default(self: x)", 0},
                {"x f32 4 8\nz f32 4 8 = aten.bernoulli.p(self: x, p: 0.5)", 0},
                {"x f32 4 8\nz f32 4 8 = aten.bernoulli.default(self: x)", 1},
                {"m f32 4 8\ns f32 4 8\nz f32 4 8 = aten.normal.Tensor_Tensor(mean: m, std: s)", 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const outcome o = load_text(rows[i].program);
        assert_non_null(o.g);
        assert_int_equal(o.g->node[o.g->nodes - 1].args, rows[i].reads);
        fsim_arena_free(o.a);
    }
}

static void rows_of_elements(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"x f32 5 3\ny f32 5 3\nz f32 5 3 = aten.linalg_cross.default(self: x, other: y)", "custom", 15 * 3, 15 * 3,
         NULL},
        {"x f32 3 4\nz f32 3 4, i i64 3 4 = aten.cummax.default(self: x, dim: 1)", "custom custom", 12, 12 * 6, NULL},
        {"x f32 3 4\nz f32 3 4 = aten.logcumsumexp.default(self: x, dim: 1)", "custom", 12 * 6, 12 * 31, NULL},
        {"x f32 3 4\nz f32 3, i i64 3 = aten.mode.default(self: x)", "sort custom custom", 12 * 2, 12 * 5, NULL},
        {"x f32 2 3 8\ny f32 2 4 8\nz f32 2 3 4 = aten.cdist.default(x1: x, x2: y)", "custom", 24 * 8 * 3, 24 * 8 * 3,
         NULL},
        {"x f32 2 3 8\ny f32 2 4 8\nz f32 2 3 4 = aten.cdist.default(x1: x, x2: y, p: 3.0)", "custom", 24 * 8 * 3,
         24 * 8 * 32, NULL},
        {"x f32 5 4\ni i64 3\ns f32 3 4\nz f32 5 4 = aten.index_reduce.default(self: x, dim: 0, index: i, source: s, "
         "reduce: 'amax')",
         "custom", 12, 12 * 8, NULL},
    };
    CHECK(rows);
}

/* FFTW's count: 5 N log2 N for N complex numbers, half of it for real ones. */
static void transforms(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"x c64 2 64\nz c64 2 64 = aten.fft_fft.default(self: x)", "custom", 2 * 5 * 64 * 6, 3840, NULL},
        {"x f32 2 64\nz c64 2 33 = aten.fft_rfft.default(self: x)", "custom", 2 * 2.5 * 64 * 6, 1920, NULL},
        {"x c64 2 33\nz f32 2 64 = aten.fft_irfft.default(self: x)", "custom", 2 * 2.5 * 64 * 6, 1920, NULL},
        {"x f32 2 8\nz c64 2 8 = aten.fft_fft.default(self: x)", "reshape pad custom", 2 * 5 * 8 * 3, 240, NULL},
        /* 8 of 64 real numbers, then 33 of 8 complex ones */
        {"x f32 8 64\nz c64 8 33 = aten.fft_rfft2.default(self: x)", "custom custom", 8 * 960 + 33 * 120, 11640, NULL},
        {"x c64 8 33\nz f32 8 64 = aten.fft_irfft2.default(self: x)", "custom custom", 8 * 960 + 33 * 120, 11640, NULL},
        /* 20 frames of 64, the sums of 1,280 numbers, and those of 640 of the window's squares */
        {"x c64 2 33 10\nw f32 64\nz f32 2 144 = aten.istft.default(self: x, n_fft: 64, hop_length: 16, window: w)",
         "custom mul square custom custom div", 20 * 960 + 1280 + 640, 20 * 960 + 8 * (1280 + 640), NULL},
        {"x c64 2 33 10\nz f32 2 144 = aten.istft.default(self: x, n_fft: 64, hop_length: 16)",
         "custom fill square custom custom div", 20 * 960 + 1280 + 640, 20 * 960 + 8 * (1280 + 640), NULL},
        {"x c64 2 33 10\nz f32 2 144 = aten.istft.default(self: x, n_fft: 64, hop_length: 16, window: none)",
         "custom fill square custom custom div", 20 * 960 + 1280 + 640, 20 * 960 + 8 * (1280 + 640), NULL},
    };
    CHECK(rows);
}

static void images(void **unused)
{
    (void)unused;
    static const row rows[] = {
        /* 2 times smaller: 4 elements of a row, in 4 rows, and their column, for each of 48 */
        {"x f32 1 3 8 8\nz f32 1 3 4 4 = aten._upsample_bilinear2d_aa.default(self: x, output_size: [4, 4], "
         "align_corners: false)",
         "custom", 48 * 20 * 2, 48 * 20 * 4, NULL},
        {"x f32 1 3 8 8\nz f32 1 3 16 16 = aten._upsample_bilinear2d_aa.default(self: x, output_size: [16, 16], "
         "align_corners: false)",
         "interpolate", 0, 0, NULL},
        {"x f32 1 8 16 16\nr f32 3 5\nz f32 3 8 7 7 = torchvision.roi_align.default(input: x, rois: r, spatial_scale: "
         "1.0, pooled_height: 7, pooled_width: 7, sampling_ratio: 3, aligned: false)",
         "custom", 1176 * 9 * 20, 1176 * 9 * 46, NULL},
        {"x f32 1 8 16 16\nr f32 3 5\nz f32 3 8 7 7 = torchvision.roi_align.default(input: x, rois: r, spatial_scale: "
         "1.0, pooled_height: 7, pooled_width: 7, sampling_ratio: -1, aligned: false)",
         "custom", 1176 * 4 * 20, 1176 * 4 * 46,
         "operator 'torchvision.roi_align.default': how many elements a bin has depends on data; assumed: 2 by 2 "
         "places"},
        /* all pairs of 128 boxes, of which one is better: 8,192 */
        {"b f32 128 4\ns f32 128\nz i64 10 = torchvision.nms.default(dets: b, scores: s, iou_threshold: 0.5)",
         "sort index_select custom custom", 8192 * 19, 8192 * 29,
         "operator 'torchvision.nms.default': how many boxes it keeps depends on data; assumed: 10 of 128"},
        {"x f32 1 2 2 2\ni i64 1 2 2 2\nz f32 1 2 4 4 = aten.max_unpool2d.default(self: x, indices: i, output_size: "
         "[4, "
         "4])",
         "fill reshape reshape scatter reshape", 0, 0, NULL},
        {"t f32 2 2 3\nz f32 2 4 5 2 = aten.affine_grid_generator.default(theta: t, size: [2, 3, 4, 5], align_corners: "
         "false)",
         "fill transpose bmm reshape", 0, 0, NULL},
    };
    CHECK(rows);
}

/* What data decide is said, with what is assumed. */
static void sizes_of_data(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"x f32 5\nz i64 2 1 = aten.nonzero.default(self: x)", "custom", 0, 0,
         "operator 'aten.nonzero.default': how many it finds depends on data; assumed: 2 of 5"},
        {"x f32 5\nz i64 2 1 = aten.nonzero_static.default(self: x, size: 2)", "custom", 0, 0, NULL},
        {"x i64 100\nz i64 7, i i64 100, n i64 7 = aten._unique2.default(self: x)", "sort custom custom custom",
         100 * 2, 100 * 5,
         "operator 'aten._unique2.default': how many elements differ depends on data; assumed: 7 of 100"},
        {"x f32 6 8\nm bool 6\nz f32 4 8 = aten.index.Tensor(self: x, indices: [m])", "custom index_select", 0, 0,
         "operator 'aten.index.Tensor': where its mask holds depends on data; assumed: in 4 of 6 places"},
        {"x f32 6 8\nm bool 6 8\nz f32 10 = aten.index.Tensor(self: x, indices: [m])", "custom reshape index_select", 0,
         0, "in 10 of 48 places"},
        {"x f32 2 6 8\nm bool 6\nz f32 2 4 8 = aten.index.Tensor(self: x, indices: [none, m])", "custom index_select",
         0, 0, "in 4 of 6 places"},
        {"x f32 6 8\nm bool 8\nz f32 10 = aten.masked_select.default(self: x, mask: m)",
         "expand custom reshape index_select", 0, 0, "in 10 of 48 places"},
        {"x f32 5\nr i64 5\nz f32 9 = aten.repeat_interleave.self_Tensor(self: x, repeats: r, output_size: 9)",
         "custom", 0, 0, "how long its result is depends on data; assumed: 9 elements of 5"},
    };
    CHECK(rows);
}

/* LAPACK's counts, by hand: n 4: 2 n^3 = 128; 2/3 n^3 + 2 n^2 k = 128/3 + 64; 6 by 3: 4 (54 - 9), 14 54 + 8 27. */
static void factorisations(void **unused)
{
    (void)unused;
    static const char said[] = "its steps depend on each other; assumed: ";
    static const row rows[] = {
        {"x f32 3 4 4\nz f32 3 4 4 = aten.linalg_inv.default(A: x)", "custom", 384, 192,
         "operator 'aten.linalg_inv.default': its steps depend on each other; assumed: 2 n^3 floating-point "
         "operations, at the full rate"},
        {"x f32 3 4 4\nb f32 3 4 2\nz f32 3 4 2 = aten.linalg_solve.default(A: x, B: b)", "custom", 320, 160, said},
        {"x f32 6 6\nz f32 6 6 = aten.linalg_cholesky.default(self: x)", "custom", 72, 36, said},
        {"b f32 6 2\nx f32 6 6\nz f32 6 2 = aten.cholesky_solve.default(self: b, input2: x)", "custom", 144, 72, said},
        {"x f32 3 3\nz f32 = aten.linalg_det.default(A: x)", "custom", 18, 9, said},
        {"x f32 6 3\nq f32 6 3, r f32 3 3 = aten.linalg_qr.default(A: x)", "custom custom", 180, 90, said},
        {"x f32 6 3\nq f32 0, r f32 3 3 = aten.linalg_qr.default(A: x, mode: 'r')", "custom", 90, 45, said},
        {"x f32 6 3\nu f32 6 3, s f32 3, v f32 3 3 = aten.linalg_svd.default(A: x, full_matrices: false)",
         "custom custom custom", 972, 486, said},
        /* with all of U: 4 108 + 8 54 + 9 27 */
        {"x f32 6 3\nu f32 6 6, s f32 3, v f32 3 3 = aten.linalg_svd.default(A: x)", "custom custom custom", 1107,
         553.5, said},
        {"x f32 6 3\nu f32 6 3, s f32 3, v f32 3 3 = aten._linalg_svd.default(A: x)", "custom custom custom", 972, 486,
         said},
        /* with all of Q: 4 108 - 2 54 + 18; of a wide matrix: 2 54 + 18 */
        {"x f32 6 3\nq f32 6 6, r f32 6 3 = aten.linalg_qr.default(A: x, mode: 'complete')", "custom custom", 342, 171,
         said},
        {"x f32 3 6\nq f32 3 3, r f32 3 6 = aten.linalg_qr.default(A: x)", "custom custom", 126, 63, said},
        {"x f32 3 3\nl f32 3, v f32 3 3 = aten.linalg_eigh.default(self: x)", "custom custom", 243, 121.5, said},
        {"x f32 6 6\nb f32 6 2\nz f32 6 2 = aten.linalg_solve_triangular.default(self: x, B: b, upper: false)",
         "custom", 72, 36, said},
    };
    CHECK(rows);
}

/* Windows that overlap are no copy: of rows as they lie, or of windows that did not overlap. */
static void overlapping_windows(void **unused)
{
    (void)unused;
#define WINDOWS(x) x "z f32 2 3 6 4 = aten.as_strided.default(self: x, size: [2, 3, 6, 4], stride: [48, 12, 4, 1])"
    static const row rows[] = {
        {WINDOWS("x f32 2 12 4\n"), "unfold permute", 0, 0, NULL},
        {WINDOWS("x f32 2 2 6 4\n"), "reshape unfold permute", 0, 0, NULL},
        {"x f32 2 12\nz f32 2 3 6 = aten.as_strided.default(self: x, size: [2, 3, 6], stride: [12, 3, 1])", "unfold", 0,
         0, NULL},
    };
    CHECK(rows);
}

/* "ij,jk,kl->il" of 2, 3, 4, 5: from the left 2 3 4 + 2 4 5 products and sums, from the right 3 4 5 + 2 3 5. */
static void sums_in_pairs(void **unused)
{
    (void)unused;
    static const struct {
        const char *more;
        double flops;
    } rows[] = {
        {"", 2.0 * (24 + 40)}, {", path: [0, 1, 0, 1]", 2.0 * (24 + 40)}, {", path: [1, 2, 0, 1]", 2.0 * (60 + 30)}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char program[256];
        snprintf(program, sizeof program,
                 "a f32 2 3\nb f32 3 4\nc f32 4 5\nz f32 2 5 = aten.einsum.default(equation: 'ij,jk,kl->il', tensors: "
                 "[a, b, c]%s)",
                 rows[i].more);
        const outcome o = load_text(program);
        if (!o.g || *o.said)
            fail_msg("%s\n%s", program, o.said);
        assert_string_equal(operators_of(&o), "einsum einsum");
        assert_true(o.g->contraction_flops == rows[i].flops);
        fsim_arena_free(o.a);
    }
}

/* Gathers of an image's elements: one, four, sixteen; each but the nearest times a weight. */
static void sampled_images(void **unused)
{
    (void)unused;
    static const struct {
        int mode, gathers;
    } rows[] = {{0, 4}, {1, 1}, {2, 16}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char program[256];
        snprintf(program, sizeof program,
                 "x f32 2 3 8 8\ng f32 2 5 6 2\nz f32 2 3 5 6 = aten.grid_sampler_2d.default(input: x, grid: g, "
                 "interpolation_mode: %d, padding_mode: 0, align_corners: false)",
                 rows[i].mode);
        const outcome o = load_text(program);
        int gathers = 0, weights = 0;
        if (!o.g || *o.said)
            fail_msg("%s\n%s", program, o.said);
        for (int n = 0; n < o.g->nodes; n++) {
            gathers += o.g->node[n].op == FSIM_OP_GATHER && o.g->node[n].points == 2 * 3 * 30;
            weights += o.g->node[n].op == FSIM_OP_MUL && o.g->node[n].points == 2 * 3 * 30;
        }
        assert_int_equal(gathers, rows[i].gathers);
        assert_int_equal(weights, rows[i].gathers > 1 ? rows[i].gathers : 0);
        fsim_arena_free(o.a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searches),         cmocka_unit_test(random_numbers), cmocka_unit_test(random_reads),
        cmocka_unit_test(rows_of_elements), cmocka_unit_test(transforms),     cmocka_unit_test(images),
        cmocka_unit_test(sizes_of_data),    cmocka_unit_test(factorisations), cmocka_unit_test(overlapping_windows),
        cmocka_unit_test(sums_in_pairs),    cmocka_unit_test(sampled_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
