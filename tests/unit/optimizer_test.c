/* SPDX-License-Identifier: Apache-2.0 */
/* depends: compiler memory cost: 1 */
/* --optimizer: updates in the double reference against torch.optim in doubles, tests/types/torch_optimizers.csv; bytes
 * of the fused update and of PyTorch's foreach calls; what is refused. `optimizer_test --print` writes the inputs that
 * tests/types/torch_optimizers.py reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "hw/hw.h"
#include "predict.h"
#include "validate/reference/reference.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char small[] = "tensors:\n"
                            "  x: {shape: [4, 3], dtype: f64}\n"
                            "  w: {shape: [2, 3], dtype: f64, role: weight}\n"
                            "  b: {shape: [2], dtype: f64, role: weight}\n"
                            "operators:\n"
                            "  - {op: linear, in: [x, w, b], out: y}\n"
                            "  - {op: mul, in: [y, y], out: square}\n"
                            "  - {op: sum, in: square, out: loss}\n";

/* Norms of the gradients: without a limit, one that holds, and one that does not. */
static const double clips[] = {0, 0.25, 1e5};
enum { CLIPS = sizeof clips / sizeof *clips };

static fsim_graph *derived(fsim_arena *a, const char *text, fsim_derive derive)
{
    derive.mode = FSIM_REVERSE;
    fsim_diag *d = fsim_diag_new(a);
    fsim_graph *g = fsim_graph_parse(a, d, "test.yaml", text, strlen(text), &(fsim_bindings){.derive = &derive});
    if (!g)
        fsim_diag_print(d, stderr, true);
    assert_non_null(g);
    return g;
}

static fsim_graph *updated(fsim_arena *a, const char *text, fsim_update how, double clip)
{
    return derived(a, text, (fsim_derive){.update = how, .clip = clip});
}

static int find(const fsim_graph *g, const char *name)
{
    for (int t = 0; t < g->tensors; t++)
        if (strcmp(g->tensor[t].name, name) == 0)
            return t;
    return -1;
}

static void print_tensor(const fsim_reference *r, const char *what, const char *name)
{
    const int t = find(r->graph, name);
    if (t < 0)
        return;
    printf("%s|%s|", what, name);
    for (int64_t i = 0; i < r->graph->tensor[t].elems; i++)
        printf("%s%.17g", i ? " " : "", r->of[t].value[i]);
    printf("\n");
}

static void print_inputs(void)
{
    static const char *const inputs[] = {"x", "w", "b", "state/momentum", "state/m", "state/v"};
    for (int u = FSIM_SGD; u < FSIM_UPDATES; u++)
        for (int c = 0; c < CLIPS; c++) {
            fsim_arena *a = fsim_arena_new();
            fsim_reference *r = fsim_reference_of(updated(a, small, (fsim_update)u, clips[c]), 1);
            char what[64];
            snprintf(what, sizeof what, "%s|%g", fsim_update_words[u], clips[c]);
            for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
                print_tensor(r, what, inputs[i]);
            fsim_reference_free(r);
            fsim_arena_free(a);
        }
}

static void compare(const fsim_reference *r, const char *name, const char *values)
{
    const int t = find(r->graph, name);
    if (t < 0)
        fail_msg("no tensor '%s'", name);
    for (int64_t i = 0; i < r->graph->tensor[t].elems; i++) {
        char *end;
        const double want = strtod(values, &end), got = r->of[t].value[i];
        assert_ptr_not_equal(end, values);
        if (!(fabs(got - want) <= 1e-12 * fmax(1, fabs(want))))
            fail_msg("%s[%d] is %.17g, PyTorch %s %.17g", name, (int)i, got,
                     strncmp(name, "next/", 5) == 0 ? "has" : "was given (write the table anew)", want);
        values = end;
    }
}

/* Every input is the one that PyTorch was given, and every result is PyTorch's. */
static void as_pytorch(void **unused)
{
    (void)unused;
    FILE *f = fopen(FUSESIM_SOURCE_DIR "/tests/types/torch_optimizers.csv", "r");
    char line[4096];
    int results = 0;
    fsim_arena *a = fsim_arena_new();
    fsim_reference *r = NULL;
    const char *have = "";
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *update = strtok(line, "|"), *clip = strtok(NULL, "|"), *name = strtok(NULL, "|"),
             *values = strtok(NULL, "|\n");
        assert_non_null(values);
        const char *key = fsim_printf(a, "%s %s", update, clip);
        if (strcmp(key, have) != 0) {
            int u = 0;
            while (strcmp(fsim_update_words[u], update) != 0)
                u++;
            fsim_reference_free(r);
            r = fsim_reference_of(updated(a, small, (fsim_update)u, strtod(clip, NULL)), 1);
            have = key;
        }
        results += strncmp(name, "next/", 5) == 0;
        compare(r, name, values);
    }
    fsim_reference_free(r);
    fsim_arena_free(a);
    fclose(f);
    assert_int_equal(results, CLIPS * (1 + 2 + 3 + 3));
}

static const char overflowing[] = "tensors:\n"
                                  "  x: {shape: [4, 3], dtype: f32}\n"
                                  "  w: {shape: [2, 3], dtype: f32, role: weight}\n"
                                  "operators:\n"
                                  "  - {op: linear, in: [x, w], out: y}\n"
                                  "  - {op: mul, in: y, out: large, scalar: %s}\n"
                                  "  - {op: sum, in: large, out: loss}\n";

static void same(const fsim_reference *x, const char *of_x, const fsim_reference *y, const char *of_y)
{
    const int a = find(x->graph, of_x), b = find(y->graph, of_y);
    assert_true(a >= 0 && b >= 0);
    for (int64_t i = 0; i < x->graph->tensor[a].elems; i++) {
        const double u = x->of[a].value[i], v = y->of[b].value[i];
        if (!(fabs(u - v) <= 1e-12 * fmax(1, fabs(v))))
            fail_msg("%s is %g, %s %g", of_x, u, of_y, v);
    }
}

/* --autocast f16: the loss is scaled, and the update does not show it; where a gradient is no number, nothing changes.
 */
static void scales_the_loss(void **unused)
{
    static const char *const state[] = {"weights", "momentum", "m", "v"};
    (void)unused;
    for (int u = FSIM_SGD; u < FSIM_UPDATES; u++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_derive plain = {.update = (fsim_update)u, .clip = 0.5},
                          f16 = {.update = (fsim_update)u, .clip = 0.5, .autocast = FSIM_AUTOCAST_F16};
        const char *usual = fsim_printf(a, overflowing, "2"), *huge = fsim_printf(a, overflowing, "1e305");
        fsim_reference *x = fsim_reference_of(derived(a, usual, plain), 1),
                       *y = fsim_reference_of(derived(a, usual, f16), 1),
                       *inf = fsim_reference_of(derived(a, huge, f16), 1);
        const int g = find(x->graph, "grad/w"), scaled = find(y->graph, "grad/w");
        assert_true(y->of[scaled].value[0] == x->of[g].value[0] * FSIM_LOSS_SCALE);
        for (int k = 0; k < 4; k++) {
            const char *next = fsim_printf(a, "next/%s", state[k]), *old = fsim_printf(a, "state/%s", state[k]);
            if (find(x->graph, next) < 0)
                continue;
            same(y, next, x, next);
            same(inf, next, inf, k ? old : "w");
        }
        fsim_reference_free(x);
        fsim_reference_free(y);
        fsim_reference_free(inf);
        fsim_arena_free(a);
    }
}

/* What --autocast makes of operators: the dtypes of results, and how often a weight is cast. */
static void casts_by_the_lists(void **unused)
{
    static const char net[] = "tensors:\n"
                              "  x: {shape: [8, 16], dtype: f32}\n"
                              "  w: {shape: [16, 16], dtype: f32, role: weight}\n"
                              "  g: {shape: [16], dtype: f32, role: weight}\n"
                              "  i: {shape: [8], dtype: i64}\n"
                              "operators:\n"
                              "  - {op: linear, in: [x, w], out: h}\n"
                              "  - {op: relu, in: h, out: r}\n"
                              "  - {op: linear, in: [r, w], out: k}\n"
                              "  - {op: softmax, in: k, out: s, dim: -1}\n"
                              "  - {op: layer_norm, in: [k, g], out: n, normalized_shape: [16]}\n"
                              "  - {op: add, in: [h, n], out: a}\n"
                              "  - {op: concat, in: [k, a], out: c, dim: 0}\n"
                              "  - {op: exp, in: r, out: e}\n"
                              "  - {op: sum, in: r, out: t}\n"
                              "  - {op: mean, in: r, out: u, dim: 0}\n"
                              "  - {op: cross_entropy, in: [k, i], out: l}\n";
    static const struct {
        const char *name;
        fsim_dtype dtype;
    } want[] = {{"h", FSIM_BF16}, {"r", FSIM_BF16},     {"k", FSIM_BF16},    {"s", FSIM_F32}, {"n", FSIM_F32},
                {"a", FSIM_F32},  {"c", FSIM_F32},      {"e", FSIM_F32},     {"t", FSIM_F32}, {"u", FSIM_BF16},
                {"l", FSIM_F32},  {"grad/w", FSIM_F32}, {"grad/g", FSIM_F32}};
    (void)unused;
    for (int train = 0; train < 2; train++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_derive derive = {.mode = train ? FSIM_REVERSE : FSIM_NOT_DERIVED, .autocast = FSIM_AUTOCAST_BF16};
        const fsim_graph *g =
            fsim_graph_parse(a, d, "test.yaml", net, strlen(net), &(fsim_bindings){.derive = &derive});
        assert_non_null(g);
        for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
            const int t = find(g, want[i].name);
            assert_int_equal(t < 0, !train && strncmp(want[i].name, "grad/", 5) == 0);
            if (t >= 0 && g->tensor[t].dtype != want[i].dtype)
                fail_msg("'%s' is %s", want[i].name, fsim_dtype_names[g->tensor[t].dtype]);
        }
        int casts = 0, inside = 0;
        for (int n = 0; n < g->nodes; n++)
            if (g->node[n].op == FSIM_OP_CAST && g->node[n].phase == FSIM_FORWARD) {
                casts += g->source[g->node[n].source].op == FSIM_OP_CAST;
                inside += g->source[g->node[n].source].op != FSIM_OP_CAST;
            }
        assert_int_equal(casts, 4);  /* x, w; k for the norm, r for exp */
        assert_int_equal(inside, 3); /* softmax, sum, cross entropy */
        fsim_arena_free(a);
    }
}

/* Four weights, far beyond L2. */
static const char large[] = "tensors:\n"
                            "  x: {shape: [64, 8192], dtype: f32}\n"
                            "  w1: {shape: [8192, 8192], dtype: f32, role: weight}\n"
                            "  b1: {shape: [8192], dtype: f32, role: weight}\n"
                            "  w2: {shape: [8192, 8192], dtype: f32, role: weight}\n"
                            "  b2: {shape: [8192], dtype: f32, role: weight}\n"
                            "operators:\n"
                            "  - {op: linear, in: [x, w1, b1], out: h}\n"
                            "  - {op: linear, in: [h, w2, b2], out: y}\n"
                            "  - {op: sum, in: y, out: loss}\n";

/* Bytes that the update's kernels move for each parameter, and how many there are. */
static double bytes_of_update(const fsim_plan *plan, const fsim_graph *g, int *kernels)
{
    double bytes = 0;
    *kernels = 0;
    for (int k = 0; k < plan->kernels; k++) {
        if (g->node[plan->kernel[k].group->member[0].node].phase != FSIM_OPTIMIZER)
            continue;
        bytes += (double)(plan->kernel[k].dram_read_bytes + plan->kernel[k].dram_write_bytes);
        ++*kernels;
    }
    return bytes / (double)g->parameters;
}

/* 12, 20, 28 B a parameter in one kernel; PyTorch's foreach in one pass a call. L2 holds a little of the gradients. */
static void takes_bytes(void **unused)
{
    static const struct {
        fsim_update how;
        double fused, foreach;
        int calls;
    } want[] = {{FSIM_SGD, 12, 12, 1}, {FSIM_MOMENTUM, 20, 32, 3}, {FSIM_ADAM, 28, 72, 7}, {FSIM_ADAMW, 28, 80, 8}};
    (void)unused;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
        assert_non_null(hw);
        const fsim_graph *g = updated(a, large, want[i].how, 0);
        const fsim_options how = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 500000};
        const fsim_prediction p = fsim_predict(g, hw, &how, a);
        int kernels;
        const double fused = bytes_of_update(&p.plan[FSIM_STRATEGY_OPTIMAL], g, &kernels);
        assert_int_equal(kernels, 1);
        assert_true(fused <= want[i].fused * 1.001 && fused >= want[i].fused * 0.95);
        const double eager = bytes_of_update(&p.plan[FSIM_STRATEGY_EAGER], g, &kernels);
        assert_int_equal(kernels, want[i].calls);
        assert_true(eager <= want[i].foreach * 1.001 && eager >= want[i].foreach * 0.95);
        fsim_arena_free(a);
    }
}

/* Micro-batches: each gradient is that of this one, added to the sum of those before it, in its memory, and right after
 * it is made. */
static void sums_up(void **unused)
{
    static const char *const weights[] = {"w", "b"};
    fsim_arena *a = fsim_arena_new();
    fsim_reference *one = fsim_reference_of(derived(a, small, (fsim_derive){.micro_batches = 1}), 1),
                   *four = fsim_reference_of(derived(a, small, (fsim_derive){.micro_batches = 4}), 1);
    const fsim_graph *g = four->graph;
    (void)unused;
    assert_int_equal(find(one->graph, "sum/w"), -1);
    for (int k = 0; k < 2; k++) {
        const int x = find(one->graph, fsim_printf(a, "grad/%s", weights[k])),
                  sum = find(g, fsim_printf(a, "sum/%s", weights[k])),
                  y = find(g, fsim_printf(a, "grad/%s", weights[k]));
        assert_true(x >= 0 && sum >= 0 && y >= 0 && g->tensor[y].renews && g->tensor[y].output);
        for (int64_t i = 0; i < g->tensor[y].elems; i++)
            assert_true(four->of[y].value[i] == one->of[x].value[i] + four->of[sum].value[i]);
        const int raw = g->node[g->tensor[y].producer].arg[1].tensor;
        assert_int_equal(g->tensor[raw].producer + 1, g->tensor[y].producer);
    }
    assert_int_equal(find(g, "sum/x"), -1);
    fsim_reference_free(one);
    fsim_reference_free(four);
    fsim_arena_free(a);
}

/* What an update makes takes the memory of what it was made of: new weights, and each state of the optimizer. SGD has
 * none, momentum one, Adam two. */
static void takes_the_memory_of_the_old(void **unused)
{
    (void)unused;
    static const struct {
        fsim_update update;
        int kept;
    } cases[] = {{FSIM_SGD, 1}, {FSIM_MOMENTUM, 2}, {FSIM_ADAM, 3}, {FSIM_ADAMW, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_graph *g = derived(a, small, (fsim_derive){.update = cases[i].update, .micro_batches = 1});
        int kept = 0;
        for (int t = 0; t < g->tensors; t++) {
            const fsim_tensor *x = &g->tensor[t];
            const bool next = strncmp(x->name, "next/", 5) == 0;
            kept += next;
            if (next)
                assert_true(x->renews && x->output && x->producer >= 0 && fsim_taken_bytes(x) == 0 &&
                            fsim_freed_bytes(x) == 0);
        }
        if (kept != cases[i].kept)
            fail_msg("case %zu: %d", i, kept);
        fsim_arena_free(a);
    }
}

static void refused(const char *text, const char *why)
{
    const fsim_derive derive = {.mode = FSIM_REVERSE, .update = FSIM_ADAM};
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    assert_null(fsim_graph_parse(a, d, "test.yaml", text, strlen(text), &(fsim_bindings){.derive = &derive}));
    char *said = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&said, &bytes);
    fsim_diag_print(d, f, true);
    fclose(f);
    if (!strstr(said, why))
        fail_msg("no '%s' in: %s", why, said);
    free(said);
    fsim_arena_free(a);
}

static void refuses(void **unused)
{
    (void)unused;
    refused("tensors:\n  x: {shape: [4], dtype: f32}\noperators:\n  - {op: exp, in: x, out: y}\n",
            "--optimizer adam: no weight has a gradient");
    refused("tensors:\n  w: {shape: [4], dtype: f32, role: weight}\noperators:\n  - {op: exp, in: w, out: next/m}\n",
            "'next/m' is a name of the optimizer's");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_pytorch),
                                       cmocka_unit_test(takes_bytes),
                                       cmocka_unit_test(sums_up),
                                       cmocka_unit_test(scales_the_loss),
                                       cmocka_unit_test(casts_by_the_lists),
                                       cmocka_unit_test(refuses),
                                       cmocka_unit_test(takes_the_memory_of_the_old)};
    if (argc == 2 && strcmp(argv[1], "--print") == 0) {
        print_inputs();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
