/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel reads, computes and keeps, worked by hand for small sets of operators. Each line says:
 *
 *     template points x length of a row, times that a row is walked plus one, registers for values; what it reads:
 * tensor, by how many views, in full (at every point of every row; else once a row), in which of the loops (bits; 1
 * where nothing is said), bytes;
 *     -> what it writes; what it computes: operator, how often, in which loops, on how many reductions of the row it
 * depends.
 *
 * depends: compiler memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fusion/fold.h"
#include "fusion/fuse.h"
#include "fusion/online.h"
#include "group_cases.h"
#include "plan/price/price.h"
#include "plan/search/cluster.h"
#include "predict.h"
#include <string.h>

static const char *described(const fsim_graph *g, const fsim_group *o, fsim_arena *a)
{
    const char *s =
        fsim_printf(a, "%s %lld x %lld, %d loops, %d live%s", fsim_template_names[o->template], (long long)o->points,
                    (long long)o->reduced, o->stages, o->live, o->recomputes ? ", recomputes" : "");
    if (o->kept_row_bytes)
        s = fsim_printf(a, "%s, keeps %lld", s, (long long)o->kept_row_bytes);
    if (o->whole_row)
        s = fsim_printf(a, "%s, whole rows of %lld", s, (long long)o->whole_row);
    if (o->across)
        s = fsim_printf(a, "%s, %d across, %d columns", s, o->across, o->columns);
    if (o->width)
        s = fsim_printf(a, "%s, chain %lld x %lld in %lld, causal %lld", s, (long long)o->rows, (long long)o->width,
                        (long long)o->batch, (long long)o->causal);
    for (int i = 0; i < o->reads; i++) {
        const fsim_read *r = &o->read[i];
        s = fsim_printf(a, "%s; %s", s, g->tensor[r->tensor].name);
        s = r->maps > 1 ? fsim_printf(a, "%s by %d", s, r->maps) : s;
        s = r->full ? fsim_printf(a, "%s full", s) : s;
        s = r->stages != 1 ? fsim_printf(a, "%s loops %x", s, r->stages) : s;
        s = fsim_printf(a, "%s %lld%s", s, (long long)r->bytes, r->whole ? "" : " part");
        s = r->operand >= 0 ? fsim_printf(a, "%s operand %d beside %d", s, r->operand, r->other_maps) : s;
        s = r->repeats > 0 ? fsim_printf(a, "%s repeats %g", s, r->repeats) : s;
        s = r->place ? fsim_printf(a, "%s placed", s) : s;
        s = r->branches != 1 ? fsim_printf(a, "%s branches %llx", s, (unsigned long long)r->branches) : s;
    }
    s = fsim_printf(a, "%s ->", s);
    for (int i = 0; i < o->writes; i++)
        s = fsim_printf(a, "%s%s %s%s", s, i ? ";" : "", g->tensor[o->write[i].tensor].name,
                        o->write[i].full ? " full" : "");
    for (int i = 0; i < o->members; i++) {
        const fsim_member *m = &o->member[i];
        s = fsim_printf(a, "%s; %s %lld%s", s, fsim_ops[g->node[m->node].op].name, (long long)m->evaluations,
                        m->full ? " full" : "");
        s = m->stages != 1 ? fsim_printf(a, "%s loops %x", s, m->stages) : s;
        s = m->level ? fsim_printf(a, "%s level %d", s, m->level) : s;
        s = m->prologue ? fsim_printf(a, "%s before %d", s, m->operand) : s;
        s = m->middle ? fsim_printf(a, "%s middle %d", s, m->kind) : s;
        s = m->across ? fsim_printf(a, "%s across", s) : s;
        s = m->past ? fsim_printf(a, "%s past", s) : s;
        s = m->form ? fsim_printf(a, "%s form %d", s, m->form) : s;
        s = m->divergence != 1 ? fsim_printf(a, "%s diverges %g", s, m->divergence) : s;
    }
    return s;
}

static void kernels_by_hand(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_options options = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 1000};
        const char *text =
            fsim_printf(a, "%s\noperators:\n%soutputs: %s\n", cases[i].tensors, cases[i].operators, cases[i].outputs);
        const fsim_graph *g = fsim_graph_parse(a, d, "groups.yaml", text, strlen(text), NULL);
        const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
        if (!g || !hw)
            fsim_diag_print(d, stderr, false);
        assert_true(g && hw);
        fsim_problem p = fsim_problem_of(g, hw, &options, a);
        int *node = fsim_new(a, int, g->nodes);
        for (int n = 0; n < g->nodes; n++)
            node[n] = n;
        const fsim_kernel *k = fsim_kernel_alone(&p, node, g->nodes, a);
        assert_non_null(k);
        assert_string_equal(described(g, k->group, a), cases[i].wanted);
        fsim_arena_free(a);
    }
}

/* Sets that are no kernel: the rule, which primitives break it (numbered in the file's order; -1: none), what they
 * need, and what a kernel has; and whether larger sets break it too. */
static const struct {
    const char *operators, *outputs;
    fsim_rule rule;
    int a, b;
    double needed, limit;
    bool final;
} refused[] = {
    /* the rows' sums need those of the columns: 64 blocks */
    {"  - {op: sum, in: [x], out: s, dims: [0]}\n  - {op: add, in: [x, s], out: q}\n  - {op: sum, in: [q], out: y, "
     "dims: [1]}\n",
     "[y]", FSIM_RULE_GRID_BARRIER, 1, -1, 64, 1, false},
    /* 32 x 256 points beside 64 x 256 */
    {"  - {op: relu, in: [x], out: y}\n  - {op: relu, in: [w], out: q}\n", "[y, q]", FSIM_RULE_SPACE, 1, 0, 8192, 16384,
     false},
    /* the first of two results of 256 points gave the kernel its points */
    {"  - {op: relu, in: [z], out: y}\n  - {op: exp, in: [z], out: e}\n  - {op: relu, in: [w], out: q}\n", "[y, e, q]",
     FSIM_RULE_SPACE, 2, 0, 8192, 256, false},
    /* four rows of 6 turned around, then taken in eights by three: a digit of 8 x 3 lies across two columns of 4 */
    {"  - {op: exp, in: [p], out: e}\n  - {op: transpose, in: [e], out: t, dims: [0, 1]}\n  - {op: reshape, in: [t], "
     "out: "
     "h, shape: [8, 3]}\n  - {op: transpose, in: [h], out: f, dims: [0, 1]}\n",
     "[f]", FSIM_RULE_INDEX_MAP, 0, 1, 0, 0, false},
    {"  - {op: transpose, in: [p], out: t, dims: [0, 1]}\n  - {op: reshape, in: [t], out: h, shape: [8, 3]}\n  - {op: "
     "transpose, in: [h], out: f, dims: [0, 1]}\n",
     "[f]", FSIM_RULE_INDEX_MAP, 0, -1, 0, 0, false},
    /* rows chosen of rows chosen */
    {"  - {op: exp, in: [x], out: e}\n  - {op: index_select, in: [e, i], out: h, dim: 0}\n  - {op: index_select, in: "
     "[h, j], "
     "out: y, dim: 0}\n",
     "[y]", FSIM_RULE_ASSEMBLY, 0, 1, 0, 0, false},
    /* rows of 257 that hold their own sum */
    {"  - {op: sum, in: [x], out: s, dims: [1], keepdim: true}\n  - {op: concat, in: [x, s], out: c, dim: 1}\n  - {op: "
     "relu, in: [c], out: y}\n",
     "[y]", FSIM_RULE_SPACE, 2, -1, 64 * 257, 64 * 256, false},
    {"  - {op: sort, in: [x], out: s, dim: 1}\n  - {op: relu, in: [s], out: y}\n", "[y]", FSIM_RULE_BOUNDARY, 0, 1, 0,
     0, true},
    {"  - {op: exp, in: [x], out: a}\n  - {op: sort, in: [a], out: s, dim: 1}\n  - {op: add, in: [a, s], out: y}\n",
     "[y]", FSIM_RULE_BOUNDARY, 1, 0, 0, 0, true},
    {"  - {op: cumsum, in: [x], out: c, dim: 1}\n  - {op: sum, in: [c], out: y, dims: [1]}\n", "[y]",
     FSIM_RULE_BOUNDARY, 0, 1, 0, 0, true},
    /* three products where a chain has two */
    {"  - {op: linear, in: [x, v], out: l}\n  - {op: linear, in: [l, v], out: m}\n  - {op: linear, in: [m, v], out: "
     "y}\n",
     "[y]", FSIM_RULE_CONTRACTIONS, 0, 2, 3, 2, true},
    /* the second product reads 32 of the 256 columns that the first one makes */
    {"  - {op: linear, in: [x, v], out: l}\n  - {op: slice, in: l, out: h, dim: 1, start: 0, size: 32}\n  - {op: "
     "linear, "
     "in: [h, u], out: y}\n",
     "[y]", FSIM_RULE_CONTRACTIONS, 0, 2, 64 * 32, 64 * 256, true},
    /* the maximum of a row of the operand, before the product, which is the fifth behind it */
    {"  - {op: softmax, in: [x], out: s, dim: 1}\n  - {op: linear, in: [s, v], out: y}\n", "[y]",
     FSIM_RULE_REDUCED_EPILOGUE, 0, 5, 256, 256, true},
    /* a column of results is in 64 rows */
    {"  - {op: linear, in: [x, v], out: l}\n  - {op: max, in: [l], out: y, dims: [0]}\n", "[y]",
     FSIM_RULE_REDUCED_EPILOGUE, 0, -1, 64, 1, false},
    /* r is wanted in memory too */
    {"  - {op: relu, in: [x], out: r}\n  - {op: linear, in: [r, v], out: y}\n", "[y, r]", FSIM_RULE_PROLOGUE, 0, 1, 0,
     0, false},
};

static void sets_that_are_no_kernel(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_options options = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 1000};
        const char *text = fsim_printf(
            a,
            "tensors: {p: {shape: [4, 6], dtype: f32}, i: {shape: [16], dtype: i64}, j: {shape: [8], dtype: "
            "i64}, %s\noperators:\n%soutputs: %s\n",
            &MATRICES[strlen("tensors: {")], refused[i].operators, refused[i].outputs);
        const fsim_graph *g = fsim_graph_parse(a, d, "refused.yaml", text, strlen(text), NULL);
        const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
        assert_true(g && hw);
        const fsim_problem p = fsim_problem_of(g, hw, &options, a);
        int *node = fsim_new(a, int, g->nodes);
        for (int n = 0; n < g->nodes; n++)
            node[n] = n;
        fsim_group out;
        fsim_refusal why;
        assert_false(fsim_legal(&p.limits, node, g->nodes, a, &out, &why));
        if (why.rule != refused[i].rule || why.a != refused[i].a || why.b != refused[i].b)
            print_message("%s: %d of %d and %d\n", refused[i].operators, why.rule, why.a, why.b);
        assert_int_equal(why.rule, refused[i].rule);
        assert_int_equal(why.a, refused[i].a);
        assert_int_equal(why.b, refused[i].b);
        assert_int_equal(why.through, -1);
        assert_true(why.needed == refused[i].needed && why.limit == refused[i].limit);
        assert_int_equal(why.final, refused[i].final);
        fsim_arena_free(a);
    }
}

/* What a reader is told of a refusal, whatever set it came from. Primitives: 0 e, exp; 1 s, a sum; 2 c, a product of 64
 * steps; 3 o, a sort; 4 k, a running sum. */
static void refusals_in_words(void **unused)
{
    (void)unused;
    static const char text[] =
        "tensors: {x: {shape: [64, 64], dtype: f32}}\noperators:\n  - {op: exp, in: x, out: e}\n"
        "  - {op: sum, in: e, out: s, dims: [1], keepdim: true}\n  - {op: matmul, in: [x, e], out: c}\n"
        "  - {op: sort, in: x, out: o, dim: 1}\n  - {op: cumsum, in: x, out: k, dim: 1}\n"
        "outputs: [s, c, o, k]\n";
    static const struct {
        fsim_refusal why;
        const char *words;
    } said[] = {
        {{FSIM_RULE_BOUNDARY, 3, 0, -1, 0, 0, FSIM_IN_NONE, true},
         "sort 'o' is a kernel of its own: its kernel is a program of its own, which no other operator joins"},
        {{FSIM_RULE_BOUNDARY, 4, 1, -1, 0, 0, FSIM_IN_NONE, true}, "cumsum 'k' stays apart: "},
        {{FSIM_RULE_IN_PLACE, 0, -1, -1, 0, 0, FSIM_IN_NONE, false},
         "'e' reads what is overwritten in place, so it is computed once"},
        {{FSIM_RULE_IN_PLACE, 0, 1, -1, 0, 0, FSIM_IN_NONE, false},
         "'e' writes in place, so what 's' makes or reads must be in memory before"},
        {{FSIM_RULE_CONVEXITY, 0, 2, 1, 0, 0, FSIM_IN_NONE, false}, "would create a cycle through s"},
        {{FSIM_RULE_CONVEXITY, 1, 2, 0, 0, 0, FSIM_IN_NONE, false}, "would create a cycle through e"},
        {{FSIM_RULE_CYCLE, 0, 2, -1, 0, 0, FSIM_IN_NONE, false}, "would create a cycle through another kernel"},
        {{FSIM_RULE_SPACE, 0, 1, -1, 1, 64, FSIM_IN_ROWS, false}, "different iteration spaces: 1 row against 64"},
        {{FSIM_RULE_SPACE, 0, 1, -1, 2, 64, FSIM_IN_NONE, false}, "different iteration spaces: 2 points against 64"},
        {{FSIM_RULE_SPACE, 0, 1, -1, 2.5e20, 64, FSIM_IN_NONE, false},
         "different iteration spaces: 2.5e+20 points against 64"},
        {{FSIM_RULE_INDEX_MAP, 0, -1, -1, 64, 64, FSIM_IN_POINTS, false},
         "exp 'e' computes each of its 64 points once, but its readers in this kernel do not read each once: data or "
         "pieces choose"},
        {{FSIM_RULE_INDEX_MAP, 0, -1, -1, 128, 64, FSIM_IN_POINTS, false},
         "exp 'e' has 64 points, but this kernel would have to compute 128 of them: it computes each once"},
        {{FSIM_RULE_INDEX_MAP, 0, -1, -1, 2, 1, FSIM_IN_CHAIN_STAGES, false},
         "'e' is needed in 2 places of the chain (in front of, between or behind its contractions), and a kernel "
         "computes it in 1"},
        {{FSIM_RULE_INDEX_MAP, 0, -1, -1, 2, 1, FSIM_IN_TILE_MAPS, false},
         "its readers do not read 'e' tile by tile, each of its rows once"},
        {{FSIM_RULE_INDEX_MAP, 0, 1, -1, 0, 0, FSIM_IN_NONE, false},
         "'s' reads 'e' across rows, in an order that no index map expresses"},
        {{FSIM_RULE_INDEX_MAP, 0, -1, -1, 0, 0, FSIM_IN_NONE, false},
         "'its readers' reads 'e' across rows, in an order that no index map expresses"},
        {{FSIM_RULE_INDEX_MAP, 0, 1, -1, 9, 8, FSIM_IN_INDEX_MAPS, false},
         "the readers of 'e' in this kernel need it through 9 index maps, and a kernel can serve 8"},
        {{FSIM_RULE_REDUCED_EPILOGUE, 1, 2, -1, 64, 256, FSIM_IN_TILE_ROW, false},
         "'s' reduces what contraction 'c' reads; a kernel with a contraction reduces only the contraction's results"},
        {{FSIM_RULE_REDUCED_EPILOGUE, 2, 1, -1, 64, 64, FSIM_IN_TILE_ROW, false},
         "'s' does not reduce whole rows of the results of contraction 'c', and a tile holds nothing else"},
        {{FSIM_RULE_REDUCED_EPILOGUE, 2, -1, -1, 64, 64, FSIM_IN_TILE_ROW, false},
         "'c' does not reduce whole rows of the results of contraction 'c', and a tile holds nothing else"},
        {{FSIM_RULE_REDUCED_EPILOGUE, 2, 1, -1, 257, 256, FSIM_IN_TILE_ROW, true},
         "'s' reduces what contraction 'c' reads; a kernel with a contraction reduces only the contraction's results"},
        {{FSIM_RULE_REDUCED_EPILOGUE, 1, 2, -1, 257, 256, FSIM_IN_TILE_ROW, false},
         "'s' reduces what contraction 'c' reads; a kernel with a contraction reduces only the contraction's results, "
         "or what one contraction makes and another reads"},
        {{FSIM_RULE_REDUCED_EPILOGUE, 2, -1, -1, 257, 256, FSIM_IN_TILE_ROW, true},
         "a reduction fused with a contraction needs 257 elements of a row in one tile, and there can be at most 256"},
        {{FSIM_RULE_REDUCED_EPILOGUE, 2, -1, -1, 257, 256, FSIM_IN_TILE_ROW, false},
         "a reduction fused with a contraction needs 257 elements of a row in one tile, and there can be at most 256; "
         "with the "
         "contraction at their other end the three could be one kernel"},
        {{FSIM_RULE_REDUCED_EPILOGUE, 2, 1, -1, 64, 1, FSIM_IN_OUTSIDE_CHAIN, false},
         "a reduction fused with a contraction needs 64 elements of a row outside the chain of two contractions, and "
         "there can be none"},
        {{FSIM_RULE_PROLOGUE, 0, 2, -1, 0, 0, FSIM_IN_NONE, false},
         "'e' would have to be computed while the contraction loads its operand, but other kernels read its value from "
         "memory"},
        {{FSIM_RULE_PROLOGUE, 0, 2, -1, 0, 0, FSIM_IN_OPERAND_LOADS, false},
         "'e' would have to be computed while the contraction loads its operand, but a kernel can't compute it there"},
        {{FSIM_RULE_PROLOGUE, 1, 2, -1, 0, 0, FSIM_IN_NONE, false},
         "'s' would have to be computed while the contraction loads its operand, but a kernel can't compute it there"},
        {{FSIM_RULE_PROLOGUE, 0, -1, -1, 0, 0, FSIM_IN_NONE, false},
         "'e' would have to be computed while the contraction loads its operand, but a kernel can't compute it there"},
        {{FSIM_RULE_WINDOW, 0, 1, -1, 2.25, 1, FSIM_IN_EVALUATIONS, false},
         "'s' reads overlapping windows, so 'e' would be computed up to 2.25 times an element"},
        {{FSIM_RULE_ASSEMBLY, 0, 1, -1, 0, 0, FSIM_IN_NONE, false},
         "'s' picks its elements by ranges or by data, so its producer 'e' must be stored first"},
        {{FSIM_RULE_SHARED, 0, 1, -1, 65536, 49152, FSIM_IN_SHARED_BYTES, false},
         "needs 64 KiB of shared memory per block, the GPU allows 48 KiB"},
        {{FSIM_RULE_SHARED, 0, -1, -1, 0, 0, FSIM_IN_NONE, false},
         "no configuration of 'e' and what is fused with it fits the GPU"},
        {{FSIM_RULE_PARAMETERS, 0, 1, -1, 481, 480, FSIM_IN_PARAMETERS, false},
         "needs 481 pointer parameters, the limit is 480"},
        {{FSIM_RULE_NUMERICS, 1, -1, -1, 64, 1, FSIM_IN_ORDERS, false},
         "strict numerics: one block sums all 64 elements in order; splitting them, or a running maximum or mean, is "
         "refused"},
        {{FSIM_RULE_NUMERICS, 1, 0, -1, 4, 1, FSIM_IN_ORDERS, false},
         "strict numerics: 4 orders of summation, one block keeps the order of 1"},
        {{FSIM_RULE_USER, 0, 1, -1, 0, 0, FSIM_IN_LIBRARY_CALL, false}, "a library's call has 'e' inside, and not 's'"},
        {{FSIM_RULE_USER, 0, 1, -1, 0, 0, FSIM_IN_NONE, false},
         "the workload's fuse:, separate: or materialize: keeps 'e' and 's' apart"},
        {{FSIM_RULE_COST, 0, 1, -1, 0, 0, FSIM_IN_NONE, false}, "legal, but one kernel takes longer"},
        {{FSIM_RULE_NONE, 0, 1, -1, 0, 0, FSIM_IN_NONE, false}, ""}};
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "words.yaml", text, strlen(text), NULL);
    assert_true(g && g->nodes == 5);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const char *words = fsim_refusal_text(g, &said[i].why, a);
        const bool begins = said[i].why.rule == FSIM_RULE_BOUNDARY; /* the class says why */
        if (begins ? strncmp(words, said[i].words, strlen(said[i].words)) != 0 : strcmp(words, said[i].words) != 0)
            fail_msg("'%s', wanted '%s'", words, said[i].words);
    }
    fsim_arena_free(a);
}

/* The largest of each row, and where they are: what others read, or the workload asks for, is stored, and the first
 * result in any case. */
static void results_that_nobody_reads(void **unused)
{
    (void)unused;
    static const struct {
        const char *more, *outputs;
        int writes;
    } sorts[] = {{"", "[t]", 1},
                 {"", "[t, i]", 2},
                 {"", "[i]", 2},
                 {"  - {op: cast, in: i, out: f, dtype: f32}\n", "[t, f]", 2},
                 {"  - {op: neg, in: t, out: f}\n", "[f]", 1}};
    for (size_t c = 0; c < sizeof sorts / sizeof *sorts; c++) {
        fsim_arena *a = fsim_arena_new();
        fsim_group made;
        fsim_refusal why;
        const char *text =
            fsim_printf(a, MATRICES "\noperators:\n  - {op: topk, in: x, out: [t, i], k: 4}\n%soutputs: %s\n",
                        sorts[c].more, sorts[c].outputs);
        const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "unread.yaml", text, strlen(text), NULL);
        assert_true(g && g->node[0].op == FSIM_OP_TOPK);
        const fsim_limits limits = {.graph = g, .shared_per_block = 49152};
        assert_true(fsim_legal(&limits, (const int[]){0}, 1, a, &made, &why));
        assert_int_equal(made.writes, sorts[c].writes);
        fsim_arena_free(a);
    }
}

/* A sum of exp(x - its row's maximum), or of the square of x less its row's mean, can be corrected while the row is
 * walked: with which primitive each primitive runs along (-1: none). */
static void sums_that_run_along(void **unused)
{
    (void)unused;
    static const struct {
        const char *operators;
        int with[6];
    } sums[] = {
        {"max x m, sub x m d, exp d e, sum e s", {-1, -1, -1, 0}},
        {"max x m, sub x m d, exp d e, mean e s", {-1, -1, -1, 0}},
        {"max x m, sub x m d, exp d e, max e s", {-1, -1, -1, -1}},
        {"mean x m, sub x m d, mul d d q, mean q s", {-1, -1, -1, 0}},
        {"mean x m, sub x m d, mul d d q, sum q s", {-1, -1, -1, 0}},
        {"mean x m, sub x m d, mul d x q, sum q s", {-1, -1, -1, -1}},
        {"mean x m, sub x m d, pow2 d q, sum q s", {-1, -1, -1, 0}},
        {"mean x m, sub x m d, pow3 d q, sum q s", {-1, -1, -1, -1}},
        {"sum x m, sub x m d, exp d e, sum e s", {-1, -1, -1, -1}}, /* no maximum */
        {"mean x m, sub x m d, exp d e, sum e s", {-1, -1, -1, -1}},
        {"max x m, sub x m d, mul d d q, sum q s", {-1, -1, -1, -1}},
        {"max z m, sub x m d, exp d e, sum e s", {-1, -1, -1, -1}}, /* of another tensor */
        {"max x m, sub m x d, exp d e, sum e s", {-1, -1, -1, -1}},
        {"max x m, add x m d, exp d e, sum e s", {-1, -1, -1, -1}},
        {"max x m, sub x m d, neg d e, sum e s", {-1, -1, -1, -1}},
        {"max x m, sub x m d, exp d e, total e s", {-1, -1, -1, -1}}, /* of all rows together */
        {"column x m, sub x m d, exp d e, sum e s", {-1, -1, -1, -1}},
        {"exp x e, sum e s", {-1, -1}},
    };
    for (size_t c = 0; c < sizeof sums / sizeof *sums; c++) {
        fsim_arena *a = fsim_arena_new();
        const char *text =
            "tensors: {x: {shape: [64, 64], dtype: f32}, z: {shape: [64, 64], dtype: f32}}\noperators:\n";
        char *rest = fsim_strdup(a, sums[c].operators), *op;
        while ((op = strsep(&rest, ","))) {
            char *word[4] = {NULL};
            int words = 0;
            for (char *one = strtok(op, " "); one; one = strtok(NULL, " "))
                word[words++] = one;
            const bool column = strcmp(word[0], "column") == 0, total = strcmp(word[0], "total") == 0,
                       power = strncmp(word[0], "pow", 3) == 0,
                       reduces = column || total || strstr("sum max mean", word[0]) != NULL;
            text = fsim_printf(a, "%s  - {op: %s, in: [%s%s%s], out: %s%s}\n", text,
                               column  ? "max"
                               : total ? "sum"
                               : power ? "pow"
                                       : word[0],
                               word[1], words > 3 ? ", " : "", words > 3 ? word[2] : "", word[words - 1],
                               total     ? ", dims: [0, 1]"
                               : column  ? ", dims: [0], keepdim: true"
                               : reduces ? ", dims: [1], keepdim: true"
                               : power   ? fsim_printf(a, ", scalar: %c", word[0][3])
                                         : "");
        }
        const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "along.yaml", text, strlen(text), NULL);
        assert_non_null(g);
        for (int n = 0; n < g->nodes; n++)
            if (fsim_online_with(g, n) != sums[c].with[n])
                fail_msg("%s: %d runs along with %d", sums[c].operators, n, fsim_online_with(g, n));
        fsim_arena_free(a);
    }
}

/* Stretches of a row are powers of 2 from 16 to 128, are shorter than the row, and make it up. */
static void stretches_of_rows(void **unused)
{
    (void)unused;
    static const struct {
        const char *op, *shape, *rows; /* of what is reduced along its last dimension; of the rows */
        bool may;
    } pairs[] = {{"max", "64, 16, 16", "64, 256", true},   {"sum", "64, 2, 128", "64, 256", true},
                 {"min", "64, 8, 32", "64, 256", true},    {"mean", "64, 8, 32", "64, 256", true},
                 {"prod", "64, 8, 32", "64, 256", false},  {"max", "64, 32, 8", "64, 256", false},
                 {"max", "64, 1, 256", "64, 256", false},  {"max", "64, 2, 256", "64, 512", false},
                 {"max", "64, 1, 128", "64, 128", false},  {"max", "64, 4, 48", "64, 192", false},
                 {"max", "32, 16, 32", "64, 256", true},   {"max", "64, 6, 32", "48, 256", true},
                 {"max", "64, 8, 32", "64, 8, 32", false}, {"max", "1, 2048, 32", "1, 65536", true},
                 {"max", "1, 2049, 32", "1, 65568", false}};
    for (size_t c = 0; c < sizeof pairs / sizeof *pairs; c++) {
        fsim_arena *a = fsim_arena_new();
        const char *text = fsim_printf(
            a,
            "tensors: {x: {shape: [%s], dtype: f32}}\noperators:\n  - {op: reshape, in: x, out: b, shape: [%s]}\n"
            "  - {op: sum, in: x, out: r, dims: [-1]}\n  - {op: %s, in: b, out: s, dims: [-1]}\noutputs: [r, s]\n",
            pairs[c].rows, pairs[c].shape, pairs[c].op);
        const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "stretch.yaml", text, strlen(text), NULL);
        assert_true(g && g->nodes == 2);
        if (fsim_may_reduce_stretches(g, 1, 0) != pairs[c].may)
            fail_msg("%s of [%s] beside rows of [%s]: %d", pairs[c].op, pairs[c].shape, pairs[c].rows, !pairs[c].may);
        fsim_arena_free(a);
    }
}

/* Shared memory of the smallest block of a chain, of 16 x 16 tiles of e bytes an element: 16 rows of the first operand
 * (as long as k, up to 256; else two steps of 64 bytes each), a tile between the products, two steps of 16 columns of
 * both other operands (256 results at most), and sums of 4 bytes where 16 rows have more than 32768 results. */
static void bytes_of_chains(void **unused)
{
    (void)unused;
    static const struct {
        const char *dtype;
        int k, results;
        int64_t bytes;
    } chains[] = {{"f32", 64, 64, 4096 + 1024 + 32 * 128 * 4},
                  {"f16", 64, 64, 2048 + 512 + 32 * 128 * 2},
                  {"f32", 256, 64, 16384 + 1024 + 32 * 320 * 4},
                  {"f32", 512, 64, 2 * 1024 + 1024 + 32 * 80 * 4},
                  {"f16", 512, 64, 2 * 1024 + 512 + 32 * 96 * 2},
                  {"f32", 64, 2048, 4096 + 1024 + 32 * 320 * 4},
                  {"f32", 64, 2064, 4096 + 1024 + 32 * 320 * 4 + 16 * 2064 * 4},
                  {"f32", 64, 256, 4096 + 1024 + 32 * 320 * 4}};
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        fsim_arena *a = fsim_arena_new();
        const char *
            t = chains[c].dtype,
           *text = fsim_printf(
               a,
               "tensors: {x: {shape: [64, %d], dtype: %s}, w: {shape: [64, %d], dtype: %s}, u: {shape: [%d, 64], "
               "dtype: %s}}\n"
               "operators:\n  - {op: linear, in: [x, w], out: l}\n  - {op: linear, in: [l, u], out: y}\noutputs: [y]\n",
               chains[c].k, t, chains[c].k, t, chains[c].results, t);
        const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "chain.yaml", text, strlen(text), NULL);
        assert_true(g && g->nodes == 2);
        for (int less = 0; less < 2; less++) {
            const fsim_limits limits = {.graph = g, .shared_per_block = chains[c].bytes - less};
            fsim_group made;
            fsim_refusal why = {.rule = FSIM_RULE_NONE};
            const bool legal = fsim_legal(&limits, (const int[]){0, 1}, 2, a, &made, &why);
            if (legal != (less == 0) ||
                (less && (why.rule != FSIM_RULE_SHARED || why.needed != (double)chains[c].bytes)))
                fail_msg("%s of %d and %d: %lld bytes, it needs %g", t, chains[c].k, chains[c].results,
                         (long long)limits.shared_per_block, why.needed);
        }
        fsim_arena_free(a);
    }
}

/* A matrix that is turned around, alone or each of a batch: what a product could read as its other layout. */
static void matrices_that_are_turned(void **unused)
{
    (void)unused;
    static const struct {
        const char *shape, *dims;
        bool swaps;
    } permuted[] = {{"64, 256", "1, 0", true},
                    {"4, 64, 256", "0, 2, 1", true},
                    {"4, 64, 256", "1, 0, 2", false},
                    {"4, 64, 256", "2, 1, 0", false},
                    {"4, 8, 64, 256", "0, 1, 3, 2", true},
                    {"4, 8, 64, 256", "0, 2, 1, 3", false}};
    for (size_t i = 0; i < sizeof permuted / sizeof *permuted; i++) {
        fsim_arena *a = fsim_arena_new();
        const char *text = fsim_printf(a,
                                       "tensors: {x: {shape: [%s], dtype: f32}}\noperators: [{op: permute, in: x, out: "
                                       "y, dims: [%s]}]\noutputs: [y]\n",
                                       permuted[i].shape, permuted[i].dims);
        const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "turned.yaml", text, strlen(text), NULL);
        assert_true(g && g->nodes == 1);
        assert_int_equal(fsim_swaps_matrix(&g->node[0]), permuted[i].swaps);
        fsim_arena_free(a);
    }
}

/* y = relu(x) w^T and its gradients: what leads to y runs before the gradient of y is there, what needs that runs
 * after; where x is above 0 is asked for the gradient alone, and needs none. Without gradients there is no barrier. */
static void sides_of_the_barrier(void **unused)
{
    (void)unused;
    static const char text[] =
        "tensors: {x: {shape: [64, 256], dtype: f32}, w: {shape: [32, 256], dtype: f32, role: weight}}\n"
        "operators: [{op: relu, in: [x], out: r}, {op: linear, in: [r, w], out: y}]\noutputs: [y]\n";
    static const struct {
        fsim_op op;
        fsim_side side;
    } wanted[] = {{FSIM_OP_RELU, FSIM_BEFORE_BARRIER},  {FSIM_OP_LINEAR, FSIM_BEFORE_BARRIER},
                  {FSIM_OP_EINSUM, FSIM_AFTER_BARRIER}, {FSIM_OP_EINSUM, FSIM_AFTER_BARRIER},
                  {FSIM_OP_GT, FSIM_EITHER_SIDE},       {FSIM_OP_WHERE_OTHER, FSIM_AFTER_BARRIER}};
    fsim_arena *a = fsim_arena_new();
    const fsim_derive how = {.mode = FSIM_REVERSE, .update = FSIM_NO_UPDATE, .want = FSIM_WANT_ALL};
    const fsim_graph *g =
        fsim_graph_parse(a, fsim_diag_new(a), "sides.yaml", text, strlen(text), &(fsim_bindings){.derive = &how});
    assert_true(g && g->barrier);
    assert_int_equal(g->nodes, 6);
    for (int n = 0; n < 6; n++) {
        assert_int_equal(g->node[n].op, wanted[n].op);
        assert_int_equal(g->node[n].side, wanted[n].side);
    }
    const fsim_graph *forward = fsim_graph_parse(a, fsim_diag_new(a), "sides.yaml", text, strlen(text), NULL);
    assert_true(forward && !forward->barrier && forward->node[0].side == FSIM_EITHER_SIDE);
    fsim_arena_free(a);
}

/* e is needed at nine places, 3 apart, by the sum of slices of it; a kernel computes it at eight at most. */
static void nine_views_are_too_many(void **unused)
{
    (void)unused;
    for (int views = 8; views <= 9; views++) {
        fsim_arena *a = fsim_arena_new();
        const char *text = MATRICES
            "\noperators:\n  - {op: exp, in: z, out: e}\n  - {op: slice, in: e, out: a0, dim: 0, start: 0, size: 8}\n";
        for (int i = 1; i < views; i++)
            text = fsim_printf(a,
                               "%s  - {op: slice, in: e, out: s%d, dim: 0, start: %d, size: 8}\n  - {op: add, in: "
                               "[a%d, s%d], out: a%d}\n",
                               text, i, 3 * i, i - 1, i, i);
        text = fsim_printf(a, "%soutputs: [a%d]\n", text, views - 1);
        fsim_diag *d = fsim_diag_new(a);
        const fsim_options options = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 1000};
        const fsim_graph *g = fsim_graph_parse(a, d, "views.yaml", text, strlen(text), NULL);
        const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
        assert_true(g && hw && g->nodes == views);
        const fsim_problem p = fsim_problem_of(g, hw, &options, a);
        int *node = fsim_new(a, int, g->nodes);
        for (int n = 0; n < g->nodes; n++)
            node[n] = n;
        fsim_group out;
        fsim_refusal why;
        assert_int_equal(fsim_legal(&p.limits, node, g->nodes, a, &out, &why), views == 8);
        if (views == 8)
            assert_int_equal(out.member[0].evaluations, 8 * 8);
        else
            assert_true(why.rule == FSIM_RULE_INDEX_MAP && why.a == 0 && why.b == 1 && why.needed == 9 &&
                        why.limit == 8);
        fsim_arena_free(a);
    }
}

/* What a product's weights could take in before the run: what computes each element from elements of its arguments, and
 * is the same in each run. */
static void what_weights_take_in(void **unused)
{
    (void)unused;
    static const struct {
        const char *op;
        bool folds;
    } operators[] = {{"relu, in: x", true},
                     {"mul, in: [x, x]", true},
                     {"permute, in: x, dims: [1, 0]", true},
                     {"sum, in: x, dims: [1]", false},
                     {"linear, in: [x, x]", false},
                     {"dropout, in: x, p: 0.5", false},
                     {"fill, shape: [4, 6], value: 1, dtype: f32", false},
                     {"sort, in: x, dim: 1", false}};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const char *text =
            fsim_printf(a, "tensors: {x: {shape: [4, 6], dtype: f32}}\noperators: [{op: %s, out: y}]\noutputs: [y]\n",
                        operators[i].op);
        const fsim_graph *g = fsim_graph_parse(a, d, "folds.yaml", text, strlen(text), NULL);
        if (!g)
            fsim_diag_print(d, stderr, false);
        assert_true(g && g->nodes == 1);
        if (fsim_folds(&g->node[0]) != operators[i].folds)
            fail_msg("%s", operators[i].op);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_by_hand),           cmocka_unit_test(sets_that_are_no_kernel),
        cmocka_unit_test(refusals_in_words),         cmocka_unit_test(bytes_of_chains),
        cmocka_unit_test(sums_that_run_along),       cmocka_unit_test(stretches_of_rows),
        cmocka_unit_test(results_that_nobody_reads), cmocka_unit_test(matrices_that_are_turned),
        cmocka_unit_test(sides_of_the_barrier),      cmocka_unit_test(nine_views_are_too_many),
        cmocka_unit_test(what_weights_take_in)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
