/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 14 */
/* Contractions in tiles: shapes, layouts, dtypes and what is fused with them, each text run on the host and, as the
 * GPU's threads would run it, in the emulator, in two orders; both against the reference in double precision. */
#include "emit/generate.h"
#include "predict.h"
#include "validate/cpu/cpu.h"
#include "validate/reference/check.h"

#include "../mock/build.h"
#include "../mock/emulate.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h> /* needs those above */

typedef struct {
    const char *name;
    const char *tensors, *operators, *outputs; /* of the workload; tensors: NAME: [SHAPE], w.. are weights */
    const char *dtype;
    const char *has[3]; /* what the text has */
    int m, n;           /* the tile that the plan is told to have; 0: the one it has */
    const char *hw;
} tile_case;

static const char a100[] = "a100-sxm4-80gb", hopper[] = "h100-sxm5-80gb", ada[] = "l40s";
static const tile_case cases[] = {
    {"bias_gelu",
     "x: [70, 36], w: [52, 36], b: [52]",
     "linear in: [x, w, b], out: h; gelu in: h, out: y",
     "y",
     "f32",
     {"FS_TILE(f, 64, 64,"},
     64,
     64,
     a100},
    {"odd",
     "x: [37, 19], w: [45, 19], b: [45]",
     "linear in: [x, w, b], out: y",
     "y",
     "f32",
     {"FS_TILE(f,", "b, 1)"},
     0,
     0,
     a100},
    {"one_row",
     "x: [1, 200], w: [96, 200]",
     "linear in: [x, w], out: y",
     "y",
     "f32",
     {"FS_TILE(f, 16, 64,"},
     0,
     0,
     a100},
    {"few_rows", /* half of the tile is empty */
     "x: [13, 200], w: [96, 200]",
     "linear in: [x, w], out: h; relu in: h, out: y",
     "y",
     "f32",
     {"FS_TILE(f, 32, 32,"},
     32,
     32,
     a100},
    {"few_rows_by_warps",
     "x: [16, 144], w: [96, 144], r: [16, 96]",
     "linear in: [x, w], out: h; silu in: h, out: a; mul in: [a, r], out: y",
     "y",
     "f16",
     {"FS_TILE(f16, 32, 64,"},
     32,
     64,
     a100},
    {"one_row_by_warps",
     "x: [1, 144], w: [96, 144]",
     "linear in: [x, w], out: h; silu in: h, out: y",
     "y",
     "bf16",
     {"FS_TILE(bf16, 32, 32,"},
     32,
     32,
     hopper},
    {"batched",
     "x: [3, 33, 24], y: [3, 24, 40]",
     "bmm in: [x, y], out: z; relu in: z, out: o",
     "o",
     "f32",
     {"FS_TILE_PLACE(b, 0, 3, 33, 40"},
     0,
     0,
     a100},
    {"large",
     "x: [129, 20], y: [20, 134]",
     "matmul in: [x, y], out: z",
     "z",
     "f32",
     {"FS_TILE(f, 128, 128"},
     128,
     128,
     a100},
    {"broadcast",
     "x: [3, 33, 24], y: [24, 40]",
     "matmul in: [x, y], out: z",
     "z",
     "f32",
     {"FS_TILE_PLACE(b, 0, 1, 99, 40"},
     128,
     64,
     a100},
    {"result_transposed",
     "x: [33, 24], y: [24, 40]",
     "einsum equation: 'mk,kn->nm', in: [x, y], out: z",
     "z",
     "f32",
     {"FS_TILE_PLACE(b, 0, 1, 40, 33"},
     0,
     0,
     a100},
    {"first_transposed",
     "x: [24, 36], y: [24, 40]",
     "einsum equation: 'km,kn->mn', in: [x, y], out: z",
     "z",
     "f32",
     {"FS_TILE_LOAD_C(left", "FS_TILE_LOAD_C(right"},
     0,
     0,
     a100},
    {"heads",
     "x: [2, 18, 3, 16], y: [2, 20, 3, 16]",
     "einsum equation: 'bihd,bjhd->bhij', in: [x, y], out: z",
     "z",
     "f32",
     {"FS_TILE_PLACE(b, 0, 6, 18, 20"},
     16,
     64,
     a100},
    {"two_depths",
     "x: [18, 6, 10], y: [6, 10, 36]",
     "einsum equation: 'iab,abj->ij', in: [x, y], out: z",
     "z",
     "bf16",
     {"FS_TILE(bf16,"},
     0,
     0,
     a100},
    {"doubles",
     "x: [70, 36], w: [52, 36]",
     "linear in: [x, w], out: h; tanh in: h, out: y",
     "y",
     "f64",
     {"FS_TILE(d, 64, 64,"},
     64,
     64,
     a100},
    {"half",
     "x: [136, 96], w: [72, 96], b: [72]",
     "linear in: [x, w, b], out: h; relu in: h, out: y",
     "y",
     "f16",
     {"FS_TILE(f16, ", "FS_TILE_COPY_K(left", "FS_TILE_COPY_K(right"},
     128,
     64,
     a100},
    {"half_odd",
     "x: [41, 37], w: [67, 37]",
     "linear in: [x, w], out: y",
     "y",
     "f16",
     {"FS_TILE(f16, ", "FS_TILE_LOAD_K(left", "FS_TILE_LOAD_K(right"},
     64,
     64,
     a100},
    {"brain",
     "x: [72, 80], y: [80, 136]",
     "matmul in: [x, y], out: z; gelu in: z, out: o",
     "z, o",
     "bf16",
     {"FS_TILE(bf16, ", "FS_TILE_COPY_K(left", "FS_TILE_COPY_C(right"},
     64,
     128,
     a100},
    {"brain_transposed",
     "x: [80, 72], y: [136, 80]",
     "einsum equation: 'km,nk->mn', in: [x, y], out: z",
     "z",
     "bf16",
     {"FS_TILE(bf16, ", "FS_TILE_COPY_C(left", "FS_TILE_COPY_K(right"},
     128,
     128,
     a100},
    {"brain_scaled",
     "x: [72, 80], s: [80], y: [80, 64]",
     "mul in: [x, s], out: t; matmul in: [t, y], out: z",
     "z",
     "bf16",
     {"FS_TILE_LOAD_K(left", "FS_TILE_COPY_C(right"},
     64,
     32,
     a100},
    {"tf32",
     "x: [72, 40], y: [40, 136]",
     "matmul in: [x, y], out: z, compute: tf32; relu in: z, out: o",
     "o",
     "f32",
     {"FS_TILE(tf32, ", "FS_TILE_COPY_K(left", "FS_TILE_COPY_C(right"},
     128,
     128,
     a100},
    {"tf32_transposed",
     "x: [40, 72], y: [136, 40]",
     "einsum equation: 'km,nk->mn', in: [x, y], out: z, compute: tf32",
     "z",
     "f32",
     {"FS_TILE(tf32, ", "FS_TILE_COPY_C(left", "FS_TILE_COPY_K(right"},
     64,
     128,
     a100},
    {"transposed_after",
     "x: [36, 24], y: [24, 40]",
     "matmul in: [x, y], out: z; transpose in: z, out: t, dims: [0, 1]; relu in: t, out: o",
     "o",
     "f32",
     {"FS_TILE(f,"},
     0,
     0,
     a100},
    {"swiglu",
     "x: [40, 64], w1: [72, 64], w2: [72, 64]",
     "linear in: [x, w1], out: g; silu in: g, out: s; linear in: [x, w2], out: u; mul in: [s, u], out: h",
     "h",
     "bf16",
     {"FS_TILE_MULTIPLY(bf16, sum2, left, right2)"},
     128,
     128,
     a100},
    {"projections",
     "x: [40, 64], w1: [72, 64], w2: [40, 64], w3: [40, 64]",
     "linear in: [x, w1], out: q; linear in: [x, w2], out: k; linear in: [x, w3], out: v",
     "q, k, v",
     "bf16",
     {"FS_TILE("},
     0,
     0,
     a100},
    {"conv",
     "x: [2, 5, 11, 9], w: [12, 5, 3, 3], b: [12]",
     "conv2d in: [x, w, b], out: c, padding: [1, 1]; relu in: c, out: y",
     "y",
     "f32",
     {"FS_TILE(f,", ">= 0 &&"},
     128,
     128,
     a100},
    {"conv_strided",
     "x: [2, 8, 12, 16], w: [24, 8, 3, 3]",
     "conv2d in: [x, w], out: y, stride: [2, 2], padding: [1, 1]",
     "y",
     "f16",
     {"FS_TILE(f16,", ">= 0 &&"},
     64,
     128,
     a100},
    {"conv_pointwise",
     "x: [2, 24, 8, 8], w: [40, 24, 1, 1]",
     "conv2d in: [x, w], out: y",
     "y",
     "bf16",
     {"FS_TILE(bf16,", "FS_TILE_COPY_C(right"},
     0,
     0,
     a100},
    {"conv_groups",
     "x: [2, 16, 9, 9], w: [32, 8, 3, 3]",
     "conv2d in: [x, w], out: y, groups: 2, padding: [1, 1], dilation: [2, 2]",
     "y",
     "f32",
     {"FS_TILE(f,"},
     0,
     0,
     a100},
    {"conv_1d",
     "x: [3, 7, 50], w: [20, 7, 5]",
     "relu in: x, out: r; conv1d in: [r, w], out: y, stride: [3]",
     "y",
     "f32",
     {"FS_TILE(f,"},
     0,
     0,
     a100},
    {"conv_3d",
     "x: [1, 4, 5, 6, 7], w: [9, 4, 3, 3, 3]",
     "conv3d in: [x, w], out: y, padding: [1, 0, 2]",
     "y",
     "f32",
     {"FS_TILE(f,"},
     0,
     0,
     a100},
    {"conv_relu_before",
     "x: [2, 6, 10, 10], w: [16, 6, 3, 3]",
     "relu in: x, out: r; conv2d in: [r, w], out: y, padding: [1, 1]",
     "y",
     "bf16",
     {"FS_TILE(bf16,", "fs_maxf"},
     0,
     0,
     a100},
    {"depthwise",
     "x: [2, 6, 10, 10], w: [6, 1, 3, 3]",
     "conv2d in: [x, w], out: y, padding: [1, 1], groups: 6",
     "y",
     "f32",
     {"FS_POINTS("},
     0,
     0,
     a100},
    {"transposed_conv",
     "x: [2, 6, 5, 5], w: [6, 9, 3, 3]",
     "conv_transpose2d in: [x, w], out: y, stride: [2, 2]",
     "y",
     "f32",
     {"FS_POINTS("},
     0,
     0,
     a100},
    {"integers", "x: [37, 20], y: [20, 45]", "matmul in: [x, y], out: z", "z", "i32", {"FS_TILE(i,"}, 0, 0, a100},
    {"long_integers", "x: [37, 20], y: [20, 45]", "matmul in: [x, y], out: z", "z", "i64", {"FS_TILE(l,"}, 0, 0, a100},
    {"operand_stored",
     "x: [40, 64], y: [64, 72]",
     "relu in: x, out: r; matmul in: [r, y], out: z",
     "r, z",
     "f16",
     {"FS_TILE(f16,"},
     0,
     0,
     a100},
    {"sliced",
     "x: [40, 96], y: [80, 72]",
     "slice in: x, out: s, dim: 1, start: 16, size: 64; slice in: y, out: t, dim: 0, start: 8, size: 64; matmul in: "
     "[s, t], out: z",
     "z",
     "bf16",
     {"FS_TILE(bf16,", "16 + i * 96 + r", "576 + c + k * 72"},
     64,
     64,
     a100},
    {"sliced_odd",
     "x: [30, 45], y: [40, 50]",
     "slice in: x, out: s, dim: 0, start: 3, size: 21; slice in: y, out: t, dim: 1, start: 5, size: 45; linear in: [s, "
     "t], out: z",
     "z",
     "f32",
     {"FS_TILE(f,"},
     0,
     0,
     a100},
    {"residual",
     "x: [40, 64], w: [72, 64], r: [40, 72]",
     "linear in: [x, w], out: h; add in: [h, r], out: y; sigmoid in: y, out: s",
     "h, y, s",
     "bf16",
     {"FS_TILE(bf16,"},
     0,
     0,
     a100},
    {"split",
     "x: [64, 4096], w: [64, 4096], b: [64]",
     "linear in: [x, w, b], out: h; relu in: h, out: y",
     "y",
     "bf16",
     {"FS_TILE(bf16,", "FS_TILE_STEPS_OF(part, "},
     0,
     0,
     a100},
    {"split_odd",
     "x: [21, 2011], w: [45, 2011]",
     "linear in: [x, w], out: h; relu in: h, out: y",
     "h, y",
     "f32",
     {"FS_TILE(f,", "FS_TILE_STEPS_OF(part, "},
     0,
     0,
     a100},
    {"groups",
     "x: [136, 192], w: [272, 192]",
     "linear in: [x, w], out: h; relu in: h, out: y",
     "y",
     "f16",
     {"FS_TILE(gf16, 128, 256, 64,"},
     128,
     256,
     hopper},
    {"groups_transposed",
     "x: [128, 72], y: [128, 136]",
     "einsum equation: 'km,kn->mn', in: [x, y], out: z",
     "z",
     "bf16",
     {"FS_TILE(gbf16, 64, 128, 64,", "FS_TILE_COPY_C(left", "FS_TILE_COPY_C(right"},
     64,
     128,
     hopper},
    {"bytes",
     "x: [136, 320], w: [144, 320]",
     "linear in: [x, w], out: y, dtype: bf16",
     "y",
     "f8e4m3",
     {"FS_TILE(f8e4m3, 128, 128, 64,", "FS_TILE_COPY_K(left", "FS_TILE_COPY_K(right"},
     128,
     128,
     ada},
    {"bytes_odd",
     "x: [37, 45], y: [45, 67]",
     "matmul in: [x, y], out: z, dtype: f32",
     "z",
     "f8e5m2",
     {"FS_TILE(f8e5m2, 64, 64, 64,", "FS_TILE_LOAD_K(left", "FS_TILE_LOAD_C(right"},
     64,
     64,
     ada},
    {"bytes_across",
     "x: [96, 80], y: [96, 144]",
     "einsum equation: 'km,kn->mn', in: [x, y], out: z, dtype: f32; gelu in: z, out: o",
     "o",
     "f8e4m3",
     {"FS_TILE(f8e4m3,", "FS_TILE_LOAD_C(left", "FS_TILE_LOAD_C(right"},
     64,
     128,
     ada},
    {"bytes_groups",
     "x: [200, 384], w: [160, 384]",
     "linear in: [x, w], out: y, dtype: f32",
     "y",
     "f8e4m3",
     {"FS_TILE(gf8e4m3, 128, 128, 128,"},
     128,
     128,
     hopper},
    {"bytes_gated",
     "x: [72, 256], wa: [80, 256], wb: [80, 256]",
     "linear in: [x, wa], out: p, dtype: f32; linear in: [x, wb], out: q, dtype: f32; silu in: p, out: r; mul in: [r, "
     "q], out: y",
     "y",
     "f8e5m2",
     {"FS_TILE(gf8e5m2, 64, 64, 128,", "FS_TILE_MULTIPLY(gf8e5m2, sum2, left, right2)"},
     64,
     64,
     hopper},
    {"integers",
     "x: [136, 320], w: [144, 320]",
     "linear in: [x, w], out: y, dtype: i32",
     "y",
     "i8",
     {"FS_TILE(i8, 128, 128, 64,", "FS_TILE_COPY_K(left", "FS_TILE_COPY_K(right"},
     128,
     128,
     ada},
    {"integers_odd",
     "x: [37, 45], y: [45, 67]",
     "matmul in: [x, y], out: z, dtype: f32; gelu in: z, out: o",
     "o",
     "u8",
     {"FS_TILE(u8, 64, 64, 64,", "FS_TILE_LOAD_K(left", "FS_TILE_LOAD_C(right"},
     64,
     64,
     ada},
    {"integers_gated",
     "x: [72, 256], wa: [80, 256], wb: [80, 256]",
     "linear in: [x, wa], out: p, dtype: f32; linear in: [x, wb], out: q, dtype: f32; relu in: p, out: r; mul in: [r, "
     "q], out: y",
     "y",
     "i8",
     {"FS_TILE(i8, 64, 64, 64,", "FS_TILE_MULTIPLY(i8, sum2, left, right2)"},
     64,
     64,
     hopper},
    {"integer_windows",
     "x: [2, 24, 9, 9], w: [40, 24, 3, 3]",
     "conv2d in: [x, w], out: y, padding: 1, dtype: i32; cast in: y, out: o, dtype: f32",
     "o",
     "i8",
     {"FS_TILE(i8,"},
     64,
     64,
     ada},
};
enum { CASES = sizeof cases / sizeof *cases, TEXT = 8192 };

/* "x: [2, 3], w: [3]" and "op in: x, out: y; ..." as a workload. */
static void write_workload(const tile_case *c, char *text)
{
    int at = snprintf(text, TEXT, "name: %s\ntensors:\n", c->name);
    for (const char *p = c->tensors; *p;) {
        const char *end = strchr(p, ']') + 1, *colon = strchr(p, ':');
        at += snprintf(text + at, TEXT - (size_t)at, "  %.*s: {shape:%.*s, dtype: %s, role: %s}\n", (int)(colon - p), p,
                       (int)(end - colon - 1), colon + 1, c->dtype, *p == 'w' || *p == 'b' ? "weight" : "input");
        p = end + strspn(end, ", ");
    }
    at += snprintf(text + at, TEXT - (size_t)at, "operators:\n");
    for (const char *p = c->operators; *p;) {
        const size_t bytes = strcspn(p, ";"), name = strcspn(p, " ");
        at += snprintf(text + at, TEXT - (size_t)at, "  - {op: %.*s, %.*s}\n", (int)name, p, (int)(bytes - name),
                       p + name);
        p += bytes + strspn(p + bytes, "; ");
    }
    snprintf(text + at, TEXT - (size_t)at, "outputs: [%s]\n", c->outputs);
}

typedef struct {
    fsim_program *program;
    int programs;
    fsim_graph *g;
    fsim_reference *r;
} subject;

static subject subject_of(const tile_case *c, fsim_arena *a)
{
    fsim_diag *d = fsim_diag_new(a);
    char *text = fsim_new(a, char, TEXT);
    write_workload(c, text);
    subject s = {.g = fsim_graph_parse(a, d, c->name, text, strlen(text), NULL)};
    if (!s.g)
        fsim_diag_print(d, stdout, false);
    assert_non_null(s.g);
    fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, FUSESIM_SOURCE_DIR "/hwmodels/%s.yaml", c->hw));
    const fsim_options options = {
        .strategy = FSIM_STRATEGY_MAXIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 3000000};
    fsim_prediction p = fsim_predict(s.g, hw, &options, a);
    fsim_plan *plan = &p.plan[FSIM_STRATEGY_MAXIMAL];
    for (int k = 0; k < plan->kernels && c->m; k++) {
        plan->kernel[k].tile_m = c->m;
        plan->kernel[k].tile_n = c->n;
    }
    s.programs = plan->kernels;
    s.program = fsim_programs_of(s.g, hw, plan, 1, a);
    s.r = fsim_reference_of(s.g, 1);
    assert_non_null(s.r);
    return s;
}

/* The case's tiles are what it is about. */
static void check_text(const tile_case *c, const subject *s)
{
    for (int i = 0; i < 3 && c->has[i]; i++) {
        bool found = false;
        for (int k = 0; k < s->programs; k++)
            found = found || (s->program[k].source && strstr(s->program[k].source, c->has[i]));
        if (!found)
            fail_msg("%s: no text has %s:\n%s", c->name, c->has[i],
                     s->program[0].source ? s->program[0].source : s->program[0].skipped);
    }
}

static void check_results(const tile_case *c, const subject *s, int k, const fsim_host_memory *h, const char *where,
                          fsim_arena *a)
{
    const fsim_check found = fsim_check_program(s->r, &s->program[k], fsim_host_fetch, h->argument[k], a);
    if (found.message)
        fail_msg("%s, %s: %s\n%s", c->name, where, found.message, s->program[k].source);
}

static void tiles_on_the_host_compute_the_reference(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    fsim_cpu_pool *pool = fsim_cpu_pool_new(1);
    subject s[CASES];
    fsim_program *all;
    int programs = 0;
    for (int i = 0; i < CASES; i++) {
        s[i] = subject_of(&cases[i], a);
        check_text(&cases[i], &s[i]);
        programs += s[i].programs;
    }
    all = fsim_new(a, fsim_program, programs);
    programs = 0;
    for (int i = 0; i < CASES; i++)
        for (int k = 0; k < s[i].programs; k++) {
            all[programs] = s[i].program[k];
            all[programs++].name = fsim_printf(a, "case%d_%s", i, s[i].program[k].name);
        }
    const fsim_cpu_compiler how = {.header = fsim_dialect_text, .compiler = "cc -O1"};
    const char *why = "";
    fsim_cpu_module *m = fsim_cpu_compile(all, programs, &how, a, &why);
    if (!m) {
        print_message("%s\n", why);
        skip();
    }
    programs = 0;
    for (int i = 0; i < CASES; i++) {
        fsim_host_memory *h = fsim_host_memory_new(s[i].r, s[i].program, s[i].programs);
        for (int k = 0; k < s[i].programs; k++) {
            const fsim_cpu_kernel *kernel = &m->kernel[programs++];
            if (kernel->failed)
                fail_msg("%s: %s", cases[i].name, kernel->failed);
            fsim_cpu_run(pool, kernel, h->argument[k]);
            check_results(&cases[i], &s[i], k, h, "host", a);
        }
        fsim_host_memory_free(h);
        fsim_reference_free(s[i].r);
    }
    fsim_cpu_unload(m);
    fsim_cpu_pool_free(pool);
    fsim_arena_free(a);
}

static void run_emulated(const tile_case *c, const subject *s, int k, const fsim_host_memory *h, void *library,
                         const char *order, fsim_arena *a)
{
    const fsim_program *p = &s->program[k];
    void **params = fsim_new(a, void *, p->parameters);
    char why[400] = "";
    for (int i = 0; i < p->parameters; i++)
        params[i] = &h->argument[k][i];
    setenv("MOCK_ORDER", order, 1);
    for (int l = 0; l < p->launches; l++) {
        const mock_grid grid = {.name = p->name,
                                .entry = (void (*)(void **))(uintptr_t)dlsym(library, p->launch[l].entry),
                                .params = params,
                                .grid = p->launch[l].grid,
                                .block = p->launch[l].block,
                                .shared_bytes = p->launch[l].shared_bytes,
                                .shared_limit_bytes = (c->hw == hopper ? 227 : 99) << 10};
        if (mock_run(&grid, why, sizeof why) != MOCK_RAN || *why)
            fail_msg("%s, %s: %s\n%s", c->name, order, why, p->source);
    }
    unsetenv("MOCK_ORDER");
    check_results(c, s, k, h, order, a);
}

static void run_case(const tile_case *c, const subject *s, const char *const *library, fsim_arena *a)
{
    fsim_host_memory *h = fsim_host_memory_new(s->r, s->program, s->programs);
    for (int k = 0; k < s->programs; k++) {
        if (!strstr(s->program[k].source, "FS_TILE(")) {
            fsim_host_stand_in(h, s->r, k);
            continue;
        }
        void *open = library[k] ? dlopen(library[k], RTLD_NOW | RTLD_LOCAL) : NULL;
        if (!open)
            fail_msg("%s does not compile:\n%s", c->name, s->program[k].source);
        *(const void **)dlsym(open, "fs_emulator") = mock_calls();
        run_emulated(c, s, k, h, open, "ascending", a);
        run_emulated(c, s, k, h, open, "reverse", a);
        dlclose(open);
    }
    fsim_host_memory_free(h);
}

static void tiles_in_threads_compute_the_reference(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    subject s[CASES];
    int first[CASES + 1] = {0};
    for (int i = 0; i < CASES; i++) {
        s[i] = subject_of(&cases[i], a);
        first[i + 1] = first[i] + s[i].programs;
    }
    const char **text = fsim_new(a, const char *, first[CASES] + 1);
    for (int i = 0; i < CASES; i++)
        for (int k = 0; k < s[i].programs; k++)
            text[first[i] + k] = strstr(s[i].program[k].source, "FS_TILE(") ? s[i].program[k].source : NULL;
    const char **library = mock_build(text, first[CASES], "-O1 -Wall -Wno-psabi -Werror", a);
    for (int i = 0; i < CASES; i++) {
        run_case(&cases[i], &s[i], library + first[i], a);
        fsim_reference_free(s[i].r);
    }
    mock_build_end(library, first[CASES]);
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_on_the_host_compute_the_reference),
        cmocka_unit_test(tiles_in_threads_compute_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
