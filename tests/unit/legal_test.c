/* SPDX-License-Identifier: Apache-2.0 */
/* Which sets are kernels, of which template, and by which rule the others are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fusion/group.h"
#include <string.h>

static const char tensors[] =
    "tensors:\n  x: {shape: [64, 64], dtype: f32, role: input}\n  w: {shape: [64, 64], dtype: f32, role: weight}\n"
    "  v: {shape: [64], dtype: f32, role: input}\n  i: {shape: [64], dtype: i64, role: input}\n"
    "  m: {shape: [2, 4, 8, 8], dtype: f32, role: input}\n  k: {shape: [4, 4, 3, 3], dtype: f32, role: weight}\n"
    "  big: {shape: [4096, 4096], dtype: f32, role: input}\noperators:\n";

typedef struct {
    const char *idea, *operators, *set; /* set: primitives, separated by spaces */
    fsim_rule rule;                     /* FSIM_RULE_NONE: legal, of this template */
    fsim_template template;
    double needed;                      /* the refusal's number; 0: not looked at */
} legal_case;

static const legal_case cases[] = {
    {"elementwise chain", "  - {op: exp, in: x, out: a}\n  - {op: neg, in: a, out: b}\n", "a b", FSIM_RULE_NONE, FSIM_POINTWISE, 0},
    {"siblings share an input", "  - {op: exp, in: x, out: a}\n  - {op: neg, in: x, out: b}\n", "a b", FSIM_RULE_NONE, FSIM_POINTWISE, 0},
    {"nothing shared", "  - {op: exp, in: x, out: a}\n  - {op: neg, in: w, out: b}\n", "a b", FSIM_RULE_CONNECTED, 0, 0},
    {"a permute is an index map", "  - {op: transpose, in: x, out: a, dims: [0, 1]}\n  - {op: neg, in: a, out: b}\n", "a b", FSIM_RULE_NONE, FSIM_POINTWISE, 0},
    {"a permute alone is a copy", "  - {op: transpose, in: x, out: a, dims: [0, 1]}\n", "a", FSIM_RULE_NONE, FSIM_COPY, 0},
    {"a row reduction takes producers and consumers in", "  - {op: exp, in: x, out: a}\n  - {op: sum, in: a, out: s, dims: [1], keepdim: true}\n"
     "  - {op: div, in: [a, s], out: y}\n", "a s y", FSIM_RULE_NONE, FSIM_ROW_REDUCTION, 0},
    {"a column reduction", "  - {op: sum, in: x, out: s, dims: [0], keepdim: true}\n  - {op: div, in: [x, s], out: y}\n", "s y", FSIM_RULE_NONE, FSIM_COLUMN_REDUCTION, 0},
    /* s has no kept dimension: [64] broadcasts along the other axis, so y[r][c] wants row c's sum */
    {"another row's sum", "  - {op: sum, in: x, out: s, dims: [1]}\n  - {op: add, in: [x, s], out: y}\n", "s y", FSIM_RULE_GRID_BARRIER, 0, 64},
    {"the transposed of a normalised row", "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [x, s], out: d}\n"
     "  - {op: transpose, in: d, out: y, dims: [0, 1]}\n", "s d y", FSIM_RULE_GRID_BARRIER, 0, 0},
    {"a total separates", "  - {op: sum, in: big, out: s, keepdim: true, dims: [0, 1]}\n  - {op: div, in: [big, s], out: y}\n", "s y", FSIM_RULE_GRID_BARRIER, 0, 16777216},
    {"a total alone", "  - {op: exp, in: big, out: e}\n  - {op: sum, in: e, out: s}\n", "e s", FSIM_RULE_NONE, FSIM_FULL_REDUCTION, 0},
    {"rows and columns at once", "  - {op: sum, in: x, out: r, dims: [1]}\n  - {op: sum, in: x, out: c, dims: [0]}\n", "r c", FSIM_RULE_SPACE, 0, 64},
    {"results of two sizes", "  - {op: exp, in: v, out: a}\n  - {op: add, in: [x, v], out: b}\n", "a b", FSIM_RULE_SPACE, 0, 0},
    {"epilogue", "  - {op: matmul, in: [x, w], out: c}\n  - {op: add, in: [c, v], out: d}\n  - {op: relu, in: d, out: y}\n", "c d y", FSIM_RULE_NONE, FSIM_TILED_CONTRACTION, 0},
    {"transposed epilogue", "  - {op: matmul, in: [x, w], out: c}\n  - {op: transpose, in: c, out: y, dims: [0, 1]}\n", "c y", FSIM_RULE_NONE, FSIM_TILED_CONTRACTION, 0},
    {"prologue", "  - {op: relu, in: x, out: a}\n  - {op: matmul, in: [a, w], out: c}\n", "a c", FSIM_RULE_NONE, FSIM_TILED_CONTRACTION, 0},
    {"a prologue that must be stored", "  - {op: relu, in: x, out: a}\n  - {op: matmul, in: [a, w], out: c}\noutputs: [a, c]\n", "a c", FSIM_RULE_PROLOGUE, 0, 0},
    {"two contractions", "  - {op: matmul, in: [x, w], out: c}\n  - {op: matmul, in: [c, w], out: d}\n", "c d", FSIM_RULE_CONTRACTIONS, 0, 2},
    {"a reduction behind a contraction", "  - {op: matmul, in: [x, w], out: c}\n  - {op: sum, in: c, out: s, dims: [1]}\n", "c s", FSIM_RULE_REDUCED_EPILOGUE, 0, 64},
    {"a contraction broadcast by its reader", "  - {op: matmul, in: [x, v], out: c}\n  - {op: add, in: [x, c], out: y}\n", "c y", FSIM_RULE_SPACE, 0, 4096},
    {"a contraction wanted twice over", "  - {op: matmul, in: [x, w], out: c}\n  - {op: transpose, in: c, out: t, dims: [0, 1]}\n  - {op: add, in: [c, t], out: y}\n",
     "c t y", FSIM_RULE_INDEX_MAP, 0, 2},
    {"windows recompute", "  - {op: relu, in: m, out: a}\n  - {op: conv2d, in: [a, k], out: c}\n", "a c", FSIM_RULE_WINDOW, 0, 36},
    {"pooling takes its reader in", "  - {op: max_pool2d, in: m, out: p, kernel: 2}\n  - {op: relu, in: p, out: y}\n", "p y", FSIM_RULE_NONE, FSIM_POOLING, 0},
    {"concat takes its reader in", "  - {op: concat, in: [x, w], out: c, dim: 1}\n  - {op: relu, in: c, out: y}\n", "c y", FSIM_RULE_NONE, FSIM_POINTWISE, 0},
    {"concat takes its producer in", "  - {op: relu, in: x, out: a}\n  - {op: concat, in: [a, w], out: c, dim: 1}\n", "a c", FSIM_RULE_NONE, FSIM_POINTWISE, 0},
    {"concat without arithmetic is a copy", "  - {op: transpose, in: x, out: a, dims: [0, 1]}\n  - {op: concat, in: [a, w], out: c, dim: 0}\n", "a c", FSIM_RULE_NONE, FSIM_COPY, 0},
    {"concat stores a producer that others read too", "  - {op: relu, in: x, out: a}\n  - {op: concat, in: [a, w], out: c, dim: 1}\noutputs: [a, c]\n", "a c", FSIM_RULE_NONE, FSIM_POINTWISE, 0},
    {"a stored producer of which concat's reader wants a part", "  - {op: relu, in: x, out: a}\n  - {op: concat, in: [a, w], out: c, dim: 1}\n"
     "  - {op: slice, in: c, out: s, dim: 1, start: 0, size: 32}\n  - {op: neg, in: s, out: n}\noutputs: [a, n]\n", "a c s n", FSIM_RULE_SPACE, 0, 4096},
    {"a contraction feeds concat", "  - {op: matmul, in: [x, w], out: a}\n  - {op: concat, in: [a, w], out: c, dim: 1}\n", "a c", FSIM_RULE_SPACE, 0, 8192},
    {"a reduction's rows feed concat", "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [x, s], out: d}\n  - {op: concat, in: [d, w], out: c, dim: 1}\n",
     "s d c", FSIM_RULE_SPACE, 0, 8192},
    {"concat and row reductions over it", "  - {op: relu, in: x, out: a}\n  - {op: neg, in: w, out: b}\n  - {op: concat, in: [a, b], out: c, dim: 1}\n"
     "  - {op: sum, in: c, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [c, s], out: y}\n", "a b c s y", FSIM_RULE_NONE, FSIM_ROW_REDUCTION, 0},
    {"concat of pieces of its own normalised row", "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [x, s], out: d}\n"
     "  - {op: slice, in: d, out: l, dim: 1, start: 0, size: 16}\n  - {op: slice, in: d, out: r, dim: 1, start: 16, size: 48}\n"
     "  - {op: exp, in: l, out: e}\n  - {op: concat, in: [e, r], out: y, dim: 1}\n", "s d l r e y", FSIM_RULE_NONE, FSIM_ROW_REDUCTION, 0},
    {"rolled rows of its own normalised row", "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [x, s], out: d}\n"
     "  - {op: roll, in: d, out: y, dims: [1], roll: [3]}\n", "s d y", FSIM_RULE_NONE, FSIM_ROW_REDUCTION, 0},
    {"rows rolled past each other", "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [x, s], out: d}\n"
     "  - {op: roll, in: d, out: y, dims: [0], roll: [3]}\n", "s d y", FSIM_RULE_GRID_BARRIER, 0, 64},
    {"pad and roll take their producers in", "  - {op: exp, in: x, out: a}\n  - {op: roll, in: a, out: b, dims: [0, 1], roll: [5, -3]}\n  - {op: pad, in: b, out: c, padding: [1, 2, 3, 4]}\n",
     "a b c", FSIM_RULE_NONE, FSIM_POINTWISE, 0},
    {"a reduction behind pad", "  - {op: pad, in: x, out: a, padding: [1, 2]}\n  - {op: sum, in: a, out: s, dims: [1]}\n", "a s", FSIM_RULE_NONE, FSIM_ROW_REDUCTION, 0},
    {"embedding and what follows", "  - {op: embedding, in: [i, w], out: e}\n  - {op: relu, in: e, out: y}\n", "e y", FSIM_RULE_NONE, FSIM_POINTWISE, 0},
    {"a gathered table is made where it is read", "  - {op: relu, in: x, out: a}\n  - {op: add, in: [a, v], out: b}\n  - {op: embedding, in: [i, b], out: e}\n", "a b e", FSIM_RULE_NONE, FSIM_POINTWISE, 0},
    {"a gathered table's row sums", "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [x, s], out: d}\n  - {op: embedding, in: [i, d], out: e}\n", "s d e",
     FSIM_RULE_GRID_BARRIER, 0, 64},
    {"embedding, position, layer norm", "  - {op: embedding, in: [i, w], out: e}\n  - {op: add, in: [e, x], out: h}\n  - {op: sum, in: h, out: s, dims: [1], keepdim: true}\n"
     "  - {op: sub, in: [h, s], out: y}\n", "e h s y", FSIM_RULE_NONE, FSIM_ROW_REDUCTION, 0},
    {"a gather of a gather", "  - {op: embedding, in: [i, w], out: a}\n  - {op: embedding, in: [i, a], out: b}\n", "a b", FSIM_RULE_NONE, FSIM_COPY, 0},
    {"windows side by side take their producer in", "  - {op: relu, in: m, out: a}\n  - {op: max_pool2d, in: a, out: c, kernel: 2}\n", "a c", FSIM_RULE_NONE, FSIM_POOLING, 0},
    {"overlapping windows compute a cheap producer again", "  - {op: relu, in: m, out: a}\n  - {op: max_pool2d, in: a, out: c, kernel: 3, stride: 1, padding: 1}\n", "a c", FSIM_RULE_NONE, FSIM_POOLING, 0},
    {"one window over everything is a row reduction", "  - {op: relu, in: m, out: a}\n  - {op: adaptive_avg_pool2d, in: a, out: p, output_size: 1}\n  - {op: mul, in: [a, p], out: y}\n",
     "a p y", FSIM_RULE_NONE, FSIM_ROW_REDUCTION, 0},
    {"scatter takes what it scatters", "  - {op: relu, in: x, out: a}\n  - {op: exp, in: w, out: b}\n  - {op: scatter, in: [b, i, a], out: y, dim: 0}\n", "a b y", FSIM_RULE_NONE, FSIM_OPAQUE_KERNEL, 0},
    {"scatter of gathered rows", "  - {op: exp, in: x, out: a}\n  - {op: gather, in: [a, i], out: b}\n  - {op: scatter, in: [w, i, b], out: y, dim: 0}\n", "a b y", FSIM_RULE_NONE, FSIM_OPAQUE_KERNEL, 0},
    {"scatter's reader waits for all of it", "  - {op: scatter, in: [x, i, w], out: a, dim: 0}\n  - {op: relu, in: a, out: y}\n", "a y", FSIM_RULE_BOUNDARY, 0, 0},
    {"a sum beside a scatter", "  - {op: sum, in: x, out: s, dims: [1], keepdim: true}\n  - {op: sub, in: [x, s], out: a}\n  - {op: scatter, in: [w, i, a], out: y, dim: 0}\n", "s a y",
     FSIM_RULE_BOUNDARY, 0, 0},
    {"a window of windows", "  - {op: max_pool2d, in: m, out: a, kernel: 2}\n  - {op: avg_pool2d, in: a, out: c, kernel: 2}\n", "a c", FSIM_RULE_WINDOW, 0, 2},
    {"sort is a boundary", "  - {op: relu, in: x, out: a}\n  - {op: sort, in: a, out: s}\n", "a s", FSIM_RULE_BOUNDARY, 0, 0},
    {"random is fusible", "  - {op: relu, in: x, out: a}\n  - {op: dropout, in: a, out: d, p: 0.1}\n", "a d", FSIM_RULE_NONE, FSIM_POINTWISE, 0},
    {"a path leaves and comes back", "  - {op: exp, in: x, out: a}\n  - {op: sort, in: a, out: c}\n  - {op: add, in: [a, c], out: b}\n", "a b", FSIM_RULE_CONVEXITY, 0, 0},
};

/* What a legal kernel needs: registers' worth of values live at once, walks of the row plus one. */
static void lives_and_walks(void **unused)
{
    (void)unused;
    static const struct {
        const char *idea, *operators;
        bool strict;
        int live, stages;
    } row[] = {
        {"ranges of a concat exclude each other", "  - {op: exp, in: x, out: a}\n  - {op: add, in: [w, a], out: b}\n  - {op: neg, in: x, out: c}\n  - {op: mul, in: [w, c], out: d}\n"
         "  - {op: concat, in: [b, d, b, d], out: y, dim: 1}\n", false, 5, 1},
        {"one range", "  - {op: concat, in: [x, w, x, w], out: y, dim: 1}\n", false, 2, 1},
        {"doubles take two registers", "  - {op: cast, in: x, out: a, dtype: f64}\n  - {op: exp, in: a, out: y}\n", false, 4, 1},
        {"a running maximum", "  - {op: max, in: x, out: top, dims: [1], keepdim: true}\n  - {op: sub, in: [x, top], out: d}\n  - {op: exp, in: d, out: e}\n"
         "  - {op: sum, in: e, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [e, s], out: y}\n", false, 0, 2},
        {"no running maximum in strict order", "  - {op: max, in: x, out: top, dims: [1], keepdim: true}\n  - {op: sub, in: [x, top], out: d}\n  - {op: exp, in: d, out: e}\n"
         "  - {op: sum, in: e, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [e, s], out: y}\n", true, 0, 3},
        {"another tensor's maximum", "  - {op: max, in: w, out: top, dims: [1], keepdim: true}\n  - {op: sub, in: [x, top], out: d}\n  - {op: exp, in: d, out: e}\n"
         "  - {op: sum, in: e, out: s, dims: [1], keepdim: true}\n  - {op: div, in: [e, s], out: y}\n", false, 0, 3},
        {"a running mean", "  - {op: mean, in: x, out: top, dims: [1], keepdim: true}\n  - {op: sub, in: [x, top], out: d}\n  - {op: pow, in: d, out: q, scalar: 2}\n"
         "  - {op: mean, in: q, out: s, dims: [1], keepdim: true}\n  - {op: mul, in: [d, s], out: y}\n", false, 0, 2},
        {"fourth powers want the mean first", "  - {op: mean, in: x, out: top, dims: [1], keepdim: true}\n  - {op: sub, in: [x, top], out: d}\n  - {op: pow, in: d, out: q, scalar: 4}\n"
         "  - {op: mean, in: q, out: s, dims: [1], keepdim: true}\n  - {op: mul, in: [d, s], out: y}\n", false, 0, 3},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        fsim_arena *a = fsim_arena_new();
        const char *text = fsim_printf(a, "%s%s", tensors, row[i].operators);
        fsim_diag *d = fsim_diag_new(a);
        const fsim_graph *g = fsim_graph_parse(a, d, "case.yaml", text, strlen(text), NULL, 0);
        if (!g)
            fsim_diag_print(d, stderr, true);
        assert_non_null(g);
        int node[8];
        for (int n = 0; n < g->nodes; n++)
            node[n] = n;
        const fsim_limits limits = {g, 163 << 10, row[i].strict};
        fsim_group made;
        fsim_refusal why;
        assert_true(fsim_legal(&limits, node, g->nodes, a, &made, &why));
        if (made.stages != row[i].stages || (row[i].live && made.live != row[i].live))
            print_message("%s: %d live, %d stages\n", row[i].idea, made.live, made.stages);
        assert_int_equal(made.stages, row[i].stages);
        assert_true(row[i].live == 0 || made.live == row[i].live);
        fsim_arena_free(a);
    }
}

static void rules_and_templates(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const legal_case *c = &cases[i];
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const char *text = fsim_printf(a, "%s%s", tensors, c->operators);
        const fsim_graph *g = fsim_graph_parse(a, d, "case.yaml", text, strlen(text), NULL, 0);
        if (!g)
            fsim_diag_print(d, stderr, true);
        assert_non_null(g);
        int node[8], count = 0;
        char *names = fsim_strdup(a, c->set);
        for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
            node[count] = fsim_find_node(g, name);
            assert_true(node[count++] >= 0);
        }
        const fsim_limits limits = {g, 163 << 10, false};
        fsim_group made;
        fsim_refusal why = {.rule = FSIM_RULE_NONE};
        const bool legal = fsim_legal(&limits, node, count, a, &made, &why);
        if (legal != (c->rule == FSIM_RULE_NONE) || (!legal && why.rule != c->rule) || (legal && made.template != c->template))
            print_message("%s: %s\n", c->idea, legal ? fsim_template_names[made.template] : fsim_rule_names[why.rule]);
        assert_int_equal(legal, c->rule == FSIM_RULE_NONE);
        if (legal) {
            assert_int_equal(made.template, c->template);
        } else {
            assert_int_equal(why.rule, c->rule);
            if (c->needed > 0)
                assert_true(why.needed == c->needed);
            assert_true(strlen(fsim_refusal_text(g, &why, a)) > 10);
        }
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules_and_templates), cmocka_unit_test(lives_and_walks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
