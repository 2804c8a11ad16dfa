/* SPDX-License-Identifier: Apache-2.0 */
/* depends: compiler memory cost: 5 */
/* Stacks of equal layers against brute force, and deep ones against what must hold of any depth. As a program:
 * `layered_test GRAPHS [SEED]` compares so many more, on larger graphs, and `layered_test 1 SEED` that one again; with
 * STEPS of search behind that, deep ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hw/load.h"
#include "layered.h"
#include "plan/search/frontier.h"
#include "plan/search/space.h"
#include "predict.h"
#include "priced_check.h"
#include <stdio.h>
#include <stdlib.h>

#ifdef FSIM_SANITIZED
enum { USUAL = false, GRAPHS = 40, DEEP = 3, PRIMITIVES = 9, PARTITIONS = 500 };
#else
enum { USUAL = true, GRAPHS = 300, DEEP = 10, PRIMITIVES = 9, PARTITIONS = 500 };
#endif
enum { FIRST_SEED = 20261122, MORE_PRIMITIVES = 10, MORE_PARTITIONS = 20000 };

static const char *const gpus[] = {"a100-sxm4-40gb", "t4",      "h100-sxm5-80gb", "mi210", "rtx-3090",
                                   "v100-sxm2-32gb", "p4",      "b200",           "l4",    "mi300x",
                                   "host",           "m3-ultra"};
static const char *const launches[][3] = {{NULL},
                                          {"kernel_floor=2 ns", "launch_stream=2 ns", "launch_eager=2 ns"},
                                          {"kernel_floor=20 us", "launch_stream=20 us", "launch_graph=20 us"}};
/* L2 in full tensors of the stack. */
static const double l2_tensors[] = {0.1, 0.6, 1.05, 1.55, 2.05, 2.1, 2.6, 3.1, 3.6, 4.2, 6.1, 12};
static const char *const sms[] = {NULL, "sms=4"};
static const int64_t hastes[] = {30, 300, 3000, 30000}; /* steps of a search that ends early */

enum { STEPS = 60000000 };

/* The layered method switched off: each layer is searched by itself, and nothing is taken from an equal one. */
static fsim_problem each_layer_searched(fsim_problem p)
{
    p.each_layer = true;
    return p;
}

static void draw_circumstances(layered *g)
{
    g->gpu = (int)draw(sizeof gpus / sizeof *gpus);
    g->l2 = (int)draw(sizeof l2_tensors / sizeof *l2_tensors);
    g->launch = (int)draw(sizeof launches / sizeof *launches);
    g->sms = (int)draw(sizeof sms / sizeof *sms);
    g->haste = (int)draw(sizeof hastes / sizeof *hastes);
    g->regime = (int)draw(FSIM_REGIME_COUNT);
    g->objective = draw(4) ? FSIM_MINIMISE_TIME : FSIM_MINIMISE_BYTES;
    g->warm = draw(4) == 0;
    g->strict = draw(8) == 0;
    g->recompute = draw(8) != 0;
}

/* What --hw-set changes of the GPU. */
static int changes_of(const layered *g, const char **change, fsim_arena *a)
{
    const double tensor = 4.0 * g->rows * g->columns, l2 = l2_tensors[g->l2] * tensor;
    int n = 0;
    change[n++] = "l2_effective=1";
    change[n++] = fsim_printf(a, "l2_capacity=%.0f B", l2 < 1e4 ? 1e4 : l2);
    for (int i = 0; i < 3; i++)
        if (launches[g->launch][i])
            change[n++] = launches[g->launch][i];
    if (sms[g->sms])
        change[n++] = sms[g->sms];
    return n;
}

/* The workload and the call that plans it. */
static void print_stack(const layered *g, FILE *to, fsim_arena *a)
{
    const char *change[8];
    const int changes = changes_of(g, change, a);
    const char *text = layered_text(g, a);
    fprintf(to, "# fusesim - --hw %s", gpus[g->gpu]);
    for (int i = 0; i < changes; i++)
        fprintf(to, " --hw-set '%s'", change[i]);
    fprintf(to, " --launch %s%s%s%s%s\n%s", fsim_regime_names[g->regime],
            g->objective == FSIM_MINIMISE_BYTES ? " --objective bytes" : "", g->warm ? " --l2 warm" : "",
            g->strict ? " --numerics strict" : "", g->recompute ? "" : " --recompute off",
            text ? text : "(no workload)\n");
}

/* The search's problem. False where the description is no workload. */
static bool problem_of(const layered *g, int64_t steps, fsim_arena *a, fsim_problem *out)
{
    const char *change[8], *text = layered_text(g, a);
    fsim_diag *d = fsim_diag_new(a);
    const fsim_hw_wanted how = {.change = change, .changes = changes_of(g, change, a)};
    const fsim_hw *hw =
        fsim_hw_load(a, d, fsim_printf(a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, gpus[g->gpu]), &how);
    const fsim_graph *graph = text ? fsim_graph_parse(a, d, "layers.yaml", text, strlen(text), NULL) : NULL;
    const fsim_options o = {.strategy = FSIM_STRATEGY_OPTIMAL,
                            .regime = (fsim_regime)g->regime,
                            .objective = (fsim_objective)g->objective,
                            .warm = g->warm,
                            .strict = g->strict,
                            .no_recompute = !g->recompute,
                            .search_steps = steps};
    if (!hw || !graph)
        return false;
    *out = fsim_problem_of(graph, hw, &o, a);
    return true;
}

typedef struct {
    fsim_sum least;
    int64_t partitions;
    bool truncated;
} brute_force;

static bool take(void *to, const fsim_plan *plan)
{
    brute_force *b = to;
    b->partitions++;
    if (b->least < 0 || plan->objective < b->least)
        b->least = plan->objective;
    return true;
}

typedef struct {
    const char *wrong; /* what does not hold; NULL: all does */
    bool workload;     /* the description is one */
    brute_force all;
    bool proven, met; /* met: the search for large graphs found the least too, with a proof */
} verdict;

/* The bound in the objective's unit: what is below it can't be. */
static bool exceeds(const fsim_problem *p, const fsim_proof *proof, fsim_sum known)
{
    return proof->lower_bound > (double)known * (p->objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1);
}

/* Of all answers: bounds beside the least plan that is known, and steps. */
static share_tally of_bounds, of_relaxed, of_large, of_deep;
static int64_t all_steps;

/* What is wrong with a search's answer, where `least` is the objective of a plan, and of the best one if `all`. */
static const char *answer_wrong(fsim_problem p, fsim_sum least, bool all, bool *proven, fsim_arena *a)
{
    fsim_plan best;
    fsim_proof proof;
    p.store = fsim_store_new(a);
    fsim_optimal(&p, NULL, 0, a, &best, &proof);
    const double unit = p.objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1;
    *proven = proof.proven;
    add_share(&of_bounds, proof.lower_bound, (double)least * unit);
    all_steps += proof.steps;
    if (best.kernels == 0)
        return "no plan";
    if (all && best.objective < least)
        return "the plan is better than any";
    if (proof.proven ? proof.lower_bound != (double)best.objective * unit : exceeds(&p, &proof, best.objective))
        return "the bound is not that of the plan";
    if (exceeds(&p, &proof, least))
        return fsim_printf(a, "%s bound %.0f is above a plan of %lld", proof.proven ? "proven" : "the",
                           proof.lower_bound / unit, (long long)least);
    if (proof.proven && best.objective > least)
        return "proven, and there is a better plan";
    if (all && p.search_steps >= STEPS && best.objective != least)
        return fsim_printf(a, "the plan found takes %lld, the best %lld", (long long)best.objective, (long long)least);
    return NULL;
}

/* The search that large graphs get, on a small one: its bounds hold. *met: it ends at the least. */
static const char *large_wrong(fsim_problem p, const brute_force *all, bool *met, fsim_arena *a)
{
    fsim_spent spent;
    fsim_sum bound = 0;
    p.store = fsim_store_new(a);
    const int nodes = p.graph->nodes;
    const fsim_budget budget = fsim_budget_of(&p, &spent);
    int *node = fsim_new(a, int, nodes + 1);
    for (int n = 0; n < nodes; n++)
        node[n] = n;
    fsim_frontier *f = fsim_frontier_of(&p, node, nodes, FSIM_BEST_ONLY, &budget, a);
    fsim_partition part = {0, fsim_new(a, fsim_part, nodes + 1)};
    if (fsim_frontier_bound(f) > all->least)
        return fsim_printf(a, "as if large: the relaxed bound %lld is above a plan of %lld",
                           (long long)fsim_frontier_bound(f), (long long)all->least);
    add_share(&of_relaxed, (double)fsim_frontier_bound(f), (double)all->least);
    const fsim_frontier *parted = fsim_frontier_of(&p, node, nodes, FSIM_PARTED, &budget, a);
    if (fsim_frontier_bound(parted) > all->least)
        return fsim_printf(a, "in parts: the bound %lld is above a plan of %lld",
                           (long long)fsim_frontier_bound(parted), (long long)all->least);
    const bool found = fsim_frontier_with_l2(f, all->least + 1, &budget, &part, &bound, a);
    if (bound > all->least)
        return fsim_printf(a, "as if large: the bound %lld is above a plan of %lld", (long long)bound,
                           (long long)all->least);
    add_share(&of_large, (double)bound, (double)all->least);
    fsim_plan plan;
    fsim_refusal why;
    *met = found && bound == all->least && fsim_price(&p, &part, a, &plan, &why) && plan.objective == all->least;
    return NULL;
}

/* Compares the searches with the least of all partitions; of the first `most`, where there are more. */
static verdict judge(const layered *g, int64_t most, fsim_arena *a)
{
    verdict v = {.all = {.least = -1}};
    fsim_problem p;
    bool hasty;
    v.workload = problem_of(g, STEPS, a, &p) && p.graph->nodes <= FSIM_SPACE_NODES;
    if (!v.workload)
        return v;
    fsim_enumerate(&p, most, take, &v.all, &v.all.truncated);
    if (v.all.least < 0)
        return v;
    const bool all = !v.all.truncated;
    v.wrong = answer_wrong(p, v.all.least, all, &v.proven, a);
    if (!v.wrong)
        v.wrong = answer_wrong(each_layer_searched(p), v.all.least, all, &hasty, a);
    if (!v.wrong) {
        fsim_problem soon = p;
        soon.search_steps = hastes[g->haste];
        v.wrong = answer_wrong(soon, v.all.least, all, &hasty, a);
        if (v.wrong)
            v.wrong = fsim_printf(a, "within %lld steps: %s", (long long)hastes[g->haste], v.wrong);
    }
    if (!v.wrong && !g->warm && !p.hw->host) /* a host's kernel may take longer with more in its cache */
        v.wrong = large_wrong(p, &v.all, &v.met, a);
    return v;
}

static layered stack_of_seed(uint64_t seed, int primitives)
{
    layered g;
    state = seed * 0x9e3779b97f4a7c15u;
    g = draw_layered(primitives);
    draw_circumstances(&g);
    return g;
}

static fsim_sum searched(fsim_problem p, fsim_proof *proof, fsim_arena *a)
{
    fsim_plan best;
    p.store = fsim_store_new(a);
    fsim_optimal(&p, NULL, 0, a, &best, proof);
    return best.kernels > 0 ? best.objective : FSIM_SUM_MOST;
}

/* What is wrong with the answers for a stack that is too deep for brute force: with the layered method, without it,
 * early, and as two stacks one behind the other, which together are a plan of the whole where L2 begins cold. */
static const char *deep_wrong(layered g, int64_t steps, bool *proven, fsim_arena *a)
{
    fsim_problem p, part;
    fsim_proof proof[5];
    if (!problem_of(&g, steps, a, &p))
        return NULL;
    fsim_problem soon = p;
    soon.search_steps = hastes[g.haste];
    fsim_sum cost[5] = {searched(p, &proof[0], a), searched(each_layer_searched(p), &proof[1], a),
                        searched(soon, &proof[2], a)};
    const int layers = g.layers;
    const bool equal = g.odd_at < 0 && g.kept < 0 && g.split_a < 0 && g.head.ops + g.tail.ops == 0;
    fsim_sum least = cost[0] < cost[1] ? cost[0] : cost[1];
    for (int half = 0; half < 2 && equal && !g.warm; half++) {
        g.layers = half ? layers - layers / 3 : layers / 3;
        if (!problem_of(&g, steps, a, &part))
            return NULL;
        cost[3 + half] = searched(part, &proof[3 + half], a);
    }
    if (equal && !g.warm && cost[3] + cost[4] < least)
        least = cost[3] + cost[4];
    *proven = proof[0].proven;
    for (int i = 0; i < 3; i++) {
        add_share(&of_deep, proof[i].lower_bound / (p.objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1),
                  (double)least);
        all_steps += proof[i].steps;
    }
    for (int i = 0; i < 3; i++)
        if (exceeds(&p, &proof[i], least))
            return fsim_printf(a, "%s: bound %.0f, a plan takes %lld",
                               i == 0   ? "layered"
                               : i == 1 ? "each"
                                        : "early",
                               proof[i].lower_bound / (p.objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1),
                               (long long)least);
    return proof[0].proven && cost[0] > least ? "proven, and there is a better plan" : NULL;
}

static layered deep_of_seed(uint64_t seed)
{
    layered g = stack_of_seed(seed, 12);
    g.layers = 6 + (int)draw(24);
    if (g.odd_at >= 0)
        g.odd_at = (int)draw((uint32_t)g.layers);
    return g;
}

static int try_deep(uint64_t seed, int count, int64_t steps)
{
    int wrong = 0, proven = 0;
    for (int i = 0; i < count; i++) {
        fsim_arena *a = fsim_arena_new();
        const layered g = deep_of_seed(seed + (uint64_t)i);
        bool is_proven = false;
        const char *why = deep_wrong(g, steps, &is_proven, a);
        proven += is_proven;
        if (why) {
            fprintf(stderr, "# seed %llu, %d layers: %s\n", (unsigned long long)seed + (unsigned)i, g.layers, why);
            print_stack(&g, stderr, a);
            wrong++;
        }
        fsim_arena_free(a);
    }
    printf("%d deep stacks: %d proven, %d wrong\n", count, proven, wrong);
    return wrong;
}

static bool still_wrong(const layered *g, int64_t most)
{
    fsim_arena *a = fsim_arena_new();
    const bool wrong = judge(g, most, a).wrong != NULL;
    fsim_arena_free(a);
    return wrong;
}

/* The block without operator i: its first operand stands for it. */
static void leave_out(layer_block *b, int i)
{
    const int instead = b->op[i].x;
    b->ops--;
    for (int k = i; k < b->ops; k++)
        b->op[k] = b->op[k + 1];
    int *value[2 * OPS_MOST + BORDERS_MOST], n = 0;
    for (int k = 0; k < b->ops; k++) {
        value[n++] = &b->op[k].x;
        value[n++] = &b->op[k].y;
    }
    for (int k = 0; k < BORDERS_MOST; k++)
        value[n++] = &b->next[k];
    for (int k = 0; k < n; k++)
        *value[k] = *value[k] == RESULT + i ? instead : *value[k] - (*value[k] > RESULT + i);
}

/* The i-th way to make a stack simpler. False where there are no more. */
static bool simplify(layered *g, int i)
{
    layer_block *const blocks[] = {&g->head, &g->tail, &g->odd, &g->layer};
    int *const zero[] = {&g->launch, &g->sms, &g->gpu, &g->regime, &g->objective}, *const none[] = {
                                                                                       &g->odd_at, &g->kept,
                                                                                       &g->split_a, &g->kept_at};
    bool *const off[] = {&g->warm, &g->strict, &g->repeated};
    if (i < 4 * OPS_MOST) {
        layer_block *b = blocks[i / OPS_MOST];
        if (i % OPS_MOST < b->ops)
            leave_out(b, i % OPS_MOST);
        return true;
    }
    i -= 4 * OPS_MOST;
    if (i < 5)
        *zero[i] = 0;
    else if (i < 9)
        *none[i - 5] = -1;
    else if (i < 12)
        *off[i - 9] = false;
    else if (i == 12)
        g->layers -= g->layers > 1;
    else if (i == 13)
        g->borders -= g->borders > 1;
    else if (i < 14 + 4 * OPS_MOST) {
        layer_block *b = blocks[(i - 14) / OPS_MOST];
        if ((i - 14) % OPS_MOST < b->ops)
            b->op[(i - 14) % OPS_MOST] = (layer_op){UNARY, b->op[(i - 14) % OPS_MOST].x, 0, 1};
    } else
        return false;
    return true;
}

/* The simplest stack on the way down from this one that is still judged wrong. */
static layered shrunk(layered g, int64_t most)
{
    bool smaller = true;
    while (smaller) {
        smaller = false;
        layered next = g;
        for (int i = 0; simplify(&next, i); i++, next = g)
            if (memcmp(&next, &g, sizeof g) != 0 && still_wrong(&next, most)) {
                g = next;
                smaller = true;
            }
    }
    return g;
}

typedef struct {
    int graphs, compared, truncated, proven, met, cold, wrong;
    int64_t partitions, largest;
} tally;

/* Judges the stack of a seed; prints it, made as small as can be, where something is wrong. */
static void try_seed(uint64_t seed, int primitives, int64_t most, tally *t)
{
    fsim_arena *a = fsim_arena_new();
    layered g = stack_of_seed(seed, primitives);
    verdict v = judge(&g, most, a);
    if (!v.workload && g.split_a >= 0) { /* what the split names may be no primitives, but views */
        g.split_a = -1;
        v = judge(&g, most, a);
    }
    t->graphs++;
    t->compared += !v.all.truncated && v.all.least >= 0;
    t->truncated += v.all.truncated;
    t->proven += v.proven;
    t->met += v.met && !v.all.truncated;
    t->cold += !g.warm && !v.all.truncated && strcmp(gpus[g.gpu], "host") != 0;
    t->partitions += v.all.partitions;
    t->largest = v.all.partitions > t->largest ? v.all.partitions : t->largest;
    if (v.wrong || !v.workload) {
        const layered least = shrunk(g, most);
        const verdict of_least = judge(&least, most, a);
        fprintf(stderr, "# seed %llu: %s\n", (unsigned long long)seed, v.wrong ? v.wrong : "not a workload");
        fprintf(stderr, "# made smaller: %s; least of %lld partitions\n", of_least.wrong ? of_least.wrong : "-",
                (long long)of_least.all.partitions);
        print_stack(v.wrong ? &least : &g, stderr, a);
        t->wrong++;
    }
    fsim_arena_free(a);
}

static void print_tally(const tally *t)
{
    printf("%d stacks of layers: %d compared with all of their partitions (%lld, at most %lld of one), %d with the "
           "first of them; %d proven; as if large, %d of %d cold ones met; %d wrong\n",
           t->graphs, t->compared, (long long)t->partitions, (long long)t->largest, t->truncated, t->proven, t->met,
           t->cold, t->wrong);
}

static void stacks_have_the_least_of_all(void **unused)
{
    (void)unused;
    tally t = {0};
    for (uint64_t i = 0; t.compared < GRAPHS; i++)
        try_seed(FIRST_SEED + i, PRIMITIVES, PARTITIONS, &t);
    print_tally(&t);
    assert_int_equal(t.wrong, 0);
    assert_true(t.proven * 100 >= t.graphs * 98);
    check_share("bounds", of_bounds, 0.89857, USUAL);
    check_share("relaxed", of_relaxed, 0.93165, USUAL);
    check_share("with L2 followed", of_large, 0.93974, USUAL);
    assert_true(!USUAL || (all_steps <= 2643894 && t.proven == t.graphs && t.met >= 196));
}

static void deep_stacks_keep_to_their_bounds(void **unused)
{
    (void)unused;
    all_steps = 0;
    assert_int_equal(try_deep(FIRST_SEED, DEEP, 50000), 0);
    check_share("deep", of_deep, 0.94952, USUAL);
    assert_true(!USUAL || all_steps <= 2320777);
}

/* Graphs that were proven to have a plan that is not the best. With a cheap operator in it, a product is a kernel of
 * ours, and faster than the vendor's library alone, though the operator's result is stored: by a copy of it, or
 * stored where only the copy reads it. */
static void once_wrong(void **unused)
{
    (void)unused;
    static const struct {
        const char *change[2], *text;
    } graph[] = {{{"l2_effective=1", "l2_capacity=3198157 B"},
                  "tensors:\n  x: {shape: [16, 8192], dtype: f32}\n  w: {shape: [8192, 8192], dtype: f32}\noperators:\n"
                  "  - {op: linear, in: [x, w], out: t}\n  - {op: div, in: [t, x], out: u}\n"
                  "  - {op: linear, in: [u, w], out: v}\n  - {op: div, in: [v, u], out: y}\n"},
                 {{"l2_effective=1", "l2_capacity=7320000 B"},
                  "tensors:\n  c: {shape: [3, 1], dtype: f32}\n  v: {shape: [1, 100000], dtype: f32}\n"
                  "  w: {shape: [100000, 100000], dtype: f32}\noperators:\n"
                  "  - {op: sub, in: [c, v], out: t}\n  - {op: relu, in: t, out: u}\n"
                  "  - {op: max, in: u, dims: [1], keepdim: true, out: m}\n  - {op: linear, in: [u, w], out: y}\n"},
                 /* a product whose call is slower than a kernel that reduces rows beside it */
                 {{"l2_effective=1", "l2_capacity=1101005 B"},
                  "tensors:\n  x: {shape: [256, 256], dtype: f32}\n  r: {shape: [256, 256], dtype: f32}\n"
                  "  u: {shape: [256, 256], dtype: f32}\n  v: {shape: [256, 256], dtype: f32}\n"
                  "  w: {shape: [256, 256], dtype: f32}\noperators:\n"
                  "  - {op: linear, in: [x, u], out: a}\n  - {op: linear, in: [a, v], out: b}\n"
                  "  - {op: linear, in: [b, w], out: y}\n  - {op: sub, in: [r, b], out: d}\n"
                  "  - {op: max, in: d, dims: [1], keepdim: true, out: m}\n"}};
    for (size_t i = 0; i < sizeof graph / sizeof *graph; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_hw_wanted how = {.change = graph[i].change, .changes = 2};
        const fsim_options o = {.regime = FSIM_REGIME_EAGER, .search_steps = STEPS};
        const fsim_hw *hw = fsim_hw_load(a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml", &how);
        const fsim_graph *g = fsim_graph_parse(a, d, "wrong.yaml", graph[i].text, strlen(graph[i].text), NULL);
        brute_force all = {.least = -1};
        bool met = false;
        assert_true(hw && g);
        const fsim_problem p = fsim_problem_of(g, hw, &o, a);
        fsim_problem every = p;
        fsim_enumerate(&every, 0, take, &all, &all.truncated);
        const char *wrong = large_wrong(p, &all, &met, a);
        if (wrong)
            fprintf(stderr, "graph %zu: %s\n", i, wrong);
        assert_true(!wrong && met);
        fsim_arena_free(a);
    }
}

/* More graphs, larger, for as long as one likes. */
static int more(int graphs, uint64_t seed)
{
    tally t = {0};
    for (int i = 0; i < graphs; i++) {
        try_seed(seed + (uint64_t)i, MORE_PRIMITIVES, MORE_PARTITIONS, &t);
        if (i % 250 == 249 || i == graphs - 1)
            print_tally(&t);
        fflush(stdout);
    }
    return t.wrong > 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stacks_have_the_least_of_all),
                                       cmocka_unit_test(deep_stacks_keep_to_their_bounds),
                                       cmocka_unit_test(once_wrong)};
    if (argc > 3)
        return try_deep(strtoull(argv[2], NULL, 10), atoi(argv[1]), atoll(argv[3]));
    if (argc > 1)
        return more(atoi(argv[1]), argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
