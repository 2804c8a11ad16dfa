/* SPDX-License-Identifier: Apache-2.0 */
/* No kernel takes less than what bounds say of its convolution, its chain, or its products side by side: random sizes,
 * on GPUs of many designs, with all in L2 that might be there. depends: compiler memory cost: 3 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/costing.h"
#include "plan/price/price.h"
#include "predict.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 60 };

static const char *const gpus[] = {"h100-sxm5-80gb", "a100-sxm4-40gb", "l4",  "t4",
                                   "v100-sxm2-32gb", "rtx-5090",       "b200"};
enum { GPUS = sizeof gpus / sizeof *gpus };

static uint64_t state = 20261130;

static int draw(int below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)below);
}

static int pick(const int *of, int count) { return of[draw(count)]; }
#define PICK(...) pick((const int[]){__VA_ARGS__}, sizeof((int[]){__VA_ARGS__}) / sizeof(int))

static int rounds(void)
{
    const char *asked = getenv("FUSESIM_RANDOM_GRAPHS");
    return asked ? atoi(asked) : ROUNDS;
}

typedef struct {
    fsim_arena *a;
    const fsim_graph *g;
    fsim_problem p;
} subject;

static subject load(const char *text, const char *gpu)
{
    static const fsim_options o = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_GRAPH};
    subject s = {.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(s.a);
    s.g = fsim_graph_parse(s.a, d, "least.yaml", text, strlen(text), NULL);
    const fsim_hw *hw = fsim_hw_read(s.a, d, fsim_printf(s.a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, gpu));
    if (!s.g || !hw)
        fsim_diag_print(d, stderr, false);
    assert_true(s.g && hw);
    s.p = fsim_problem_of(s.g, hw, &o, s.a);
    return s;
}

/* Seconds of the kernel of these primitives, which stores what `stored` says, beyond its launch, with all in L2; 0
 * where there is none. *group: its group. */
static double busy_of(subject *s, const int *node, int count, const bool *stored, const fsim_group **group)
{
    fsim_candidate *c = fsim_candidate_of(&s->p, node, count, stored);
    if (!c->legal)
        return 0;
    bool *hit = fsim_new(s->a, bool, c->group->reads + 1), *absorbed = fsim_new(s->a, bool, c->group->writes + 1);
    memset(hit, true, (size_t)c->group->reads * sizeof *hit);
    memset(absorbed, true, (size_t)c->group->writes * sizeof *absorbed);
    const fsim_kernel *k = fsim_kernel_for(&s->p, c, hit, absorbed);
    *group = c->group;
    return k ? k->time_s - fsim_least_launch_s(s->p.hw, s->p.regime) : 0;
}

/* Of all primitives but the last `but`, where the last of these is stored. */
static double busy_s(subject *s, int but, const fsim_group **group)
{
    const int count = s->g->nodes - but;
    int *node = fsim_new(s->a, int, count + 1);
    bool *stored = fsim_new(s->a, bool, count + 1);
    for (int n = 0; n < count; n++)
        node[n] = n;
    stored[count - 1] = true;
    return busy_of(s, node, count, stored, group);
}

/* Is what the kernel takes no less, but for ticks? *close: it is no more than twice as much. */
static bool is_no_less(double busy, double least, int *close)
{
    *close += busy <= 2 * least;
    return busy >= least * (1 - 1e-9) - 2 * FSIM_TICK_S;
}

static void convolutions_take_what_is_said_at_least(void **unused)
{
    (void)unused;
    int kernels = 0, close = 0, wrong = 0;
    for (int i = 0; i < rounds() * GPUS; i++) {
        char text[900];
        const int groups = PICK(1, 1, 1, 2, 32), channels = groups * PICK(1, 3, 16, 64, 96),
                  filters = groups * PICK(1, 8, 40, 64, 256), taps = PICK(1, 3, 3, 5, 7),
                  pixels = PICK(7, 14, 33, 56, 128), batch = PICK(1, 2, 16), stride = PICK(1, 1, 2),
                  transposed = draw(5) == 0;
        snprintf(text, sizeof text,
                 "tensors: {x: {shape: [%d, %d, %d, %d], dtype: %s}, w: {shape: [%d, %d, %d, %d], dtype: %s}}\n"
                 "operators:\n  - {op: %s, in: [x, w], out: c, stride: %d, padding: %d, groups: %d}\n"
                 "  - {op: relu, in: c, out: y}\noutputs: [y]\n",
                 batch, channels, pixels, pixels, i % 3 ? "f32" : "f16", transposed ? channels : filters,
                 (transposed ? filters : channels) / groups, taps, taps, i % 3 ? "f32" : "f16",
                 transposed ? "conv_transpose2d" : "conv2d", stride, taps / 2, groups);
        subject s = load(text, gpus[i % GPUS]);
        for (int but = 0; but < 2; but++) {
            const fsim_group *group = NULL;
            const double busy = busy_s(&s, but, &group), least = fsim_contraction_alone_for(&s.p, 0);
            if (busy <= 0)
                continue;
            kernels++;
            if (!is_no_less(busy, least, &close)) {
                wrong++;
                printf("%s takes %g us, no less than %g us with %d fewer:\n%s", gpus[i % GPUS], busy * 1e6, least * 1e6,
                       but, text);
            }
        }
        fsim_arena_free(s.a);
    }
    printf("%d convolutions, %d close\n", kernels, close);
    assert_int_equal(wrong, 0);
    assert_true(close * 2 > kernels);
}

/* Attention alone, which a library may compute, and with an operator behind it, which is fusesim's. */
static void chains_take_what_is_said_at_least(void **unused)
{
    (void)unused;
    int kernels = 0, close = 0, wrong = 0;
    for (int i = 0; i < rounds() * GPUS; i++) {
        char text[900];
        const int heads = PICK(1, 4, 32), rows = PICK(1, 16, 77, 512, 2048), causal = draw(2),
                  width = causal ? rows : PICK(16, 77, 512, 2048, 4096), features = PICK(16, 40, 64, 128, 256),
                  batch = PICK(1, 8);
        snprintf(text, sizeof text,
                 "tensors: {q: {shape: [%d, %d, %d, %d], dtype: %s}, k: {shape: [%d, %d, %d, %d], dtype: %s}, v: "
                 "{shape: [%d, %d, %d, %d], dtype: %s}}\n"
                 "operators:\n  - {op: attention, in: [q, k, v], out: h, causal: %s}\n"
                 "  - {op: relu, in: h, out: y}\noutputs: [y]\n",
                 batch, heads, rows, features, i % 4 ? "bf16" : "f32", batch, heads, width, features,
                 i % 4 ? "bf16" : "f32", batch, heads, width, features, i % 4 ? "bf16" : "f32",
                 causal ? "true" : "false");
        subject s = load(text, gpus[i % GPUS]);
        for (int but = 0; but < 2; but++) {
            const fsim_group *o = NULL;
            const double busy = busy_s(&s, but, &o);
            if (busy <= 0 || o->template != FSIM_CHAINED_CONTRACTION)
                continue;
            const fsim_chain_pair pair = {o->first, o->anchor, (double)o->rows, (double)o->width, causal, but == 0};
            const double least = fsim_least_chain_call_s(s.g, s.p.hw, pair, fsim_least_launch_s(s.p.hw, s.p.regime));
            kernels++;
            if (!is_no_less(busy, least, &close)) {
                wrong++;
                printf("%s takes %g us, no less than %g us with %d fewer:\n%s", gpus[i % GPUS], busy * 1e6, least * 1e6,
                       but, text);
            }
        }
        fsim_arena_free(s.a);
    }
    printf("%d chains, %d close\n", kernels, close);
    assert_int_equal(wrong, 0);
    assert_true(close * 10 > kernels * 4);
}

/* Up to four products that read the same: of each kernel of some of them, their shares are no more than it takes. */
static void products_side_by_side_have_shares(void **unused)
{
    enum { MOST = 4 };
    (void)unused;
    int kernels = 0, close = 0, wrong = 0;
    for (int i = 0; i < rounds() * GPUS; i++) {
        char text[900];
        const char *type = i % 3 ? "bf16" : "f32";
        const int products = 2 + draw(MOST - 1), rows = PICK(1, 16, 100, 1024, 4096), depth = PICK(64, 256, 1024, 4096);
        int at = snprintf(text, sizeof text, "tensors:\n  x: {shape: [%d, %d], dtype: %s}\n", rows, depth, type);
        for (int k = 0; k < products; k++)
            at += snprintf(text + at, sizeof text - (size_t)at, "  w%d: {shape: [%d, %d], dtype: %s, role: weight}\n",
                           k, PICK(16, 80, 256, 1024, 4000), depth, type);
        at += snprintf(text + at, sizeof text - (size_t)at, "operators:\n");
        for (int k = 0; k < products; k++)
            at += snprintf(text + at, sizeof text - (size_t)at, "  - {op: linear, in: [x, w%d], out: y%d}\n", k, k);
        subject s = load(text, gpus[i % GPUS]);
        for (int set = 1; set < 1 << products; set++) {
            const fsim_group *o = NULL;
            int node[MOST], count = 0;
            double shares = 0;
            for (int k = 0; k < products; k++)
                if (set >> k & 1) {
                    shares += fsim_contraction_beside_for(&s.p, k);
                    node[count++] = k;
                }
            const double busy = busy_of(&s, node, count, (const bool[MOST]){true, true, true, true}, &o);
            if (busy <= 0)
                continue;
            kernels++;
            if (!is_no_less(busy, shares, &close)) {
                wrong++;
                printf("%s takes %g us, no less than %g us for set %d:\n%s", gpus[i % GPUS], busy * 1e6, shares * 1e6,
                       set, text);
            }
        }
        fsim_arena_free(s.a);
    }
    printf("%d products side by side, %d close\n", kernels, close);
    assert_int_equal(wrong, 0);
    assert_true(close * 10 > kernels * 4);
}

/* The rows of a measurements file share a store, which is cleared before each plan: nothing of the one before is left.
 */
static void a_cleared_store_knows_nothing(void **unused)
{
    (void)unused;
    static const char *const text[] = {
        "tensors:\n  x: {shape: [4096, 1024], dtype: bf16}\n"
        "  w: {shape: [4096, 1024], dtype: bf16}\n  v: {shape: [64, 1024], dtype: bf16}\n"
        "operators:\n  - {op: linear, in: [x, w], out: y}\n"
        "  - {op: linear, in: [x, v], out: z}\n",
        "tensors:\n  x: {shape: [16, 64], dtype: bf16}\n"
        "  w: {shape: [64, 64], dtype: bf16}\n  v: {shape: [64, 64], dtype: bf16}\n"
        "operators:\n  - {op: linear, in: [x, w], out: y}\n"
        "  - {op: linear, in: [x, v], out: z}\n"};
    subject large = load(text[0], gpus[0]), small = load(text[1], gpus[0]), shared = load(text[1], gpus[0]);
    const double before = fsim_contraction_beside_for(&large.p, 0), wanted = fsim_contraction_beside_for(&small.p, 0);
    assert_true(before > 10 * wanted && wanted > 0);
    shared.p.store = large.p.store;
    fsim_store_clear(shared.p.store);
    assert_true(fsim_contraction_beside_for(&shared.p, 0) == wanted);
    fsim_arena_free(shared.a);
    fsim_arena_free(small.a);
    fsim_arena_free(large.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_take_what_is_said_at_least), cmocka_unit_test(chains_take_what_is_said_at_least),
        cmocka_unit_test(products_side_by_side_have_shares), cmocka_unit_test(a_cleared_store_knows_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
