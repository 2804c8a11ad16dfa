/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 1 */
/* Sets of primitives that are alike share legality and prices. Whatever was asked for before, the answer for a set is,
 * to the last bit, that of a group and a kernel made for it alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "fusion/fuse.h"
#include "hw/load.h"
#include "plan/price/price.h"
#include "predict.h"
#include "random.h"
#include <string.h>

enum { MOST_MEMBERS = 9, SETS = 3000 };

/* Layers that differ in what is easily overlooked: which of two inputs comes first, one tensor read twice or two read
 * once, a weight that is an input, a result that is an output, another order of two operators. */
static const char layered[] =
    "name: layered\nsymbols: {dtype: f16}\ntensors:\n"
    "  x: {shape: [64, 256], dtype: dtype}\n  y: {shape: [64, 256], dtype: dtype}\n"
    "  r: {shape: [64, 1], dtype: dtype}\n  w: {shape: [256, 256], dtype: dtype, role: weight}\n"
    "  s: {shape: [256], dtype: dtype, role: weight}\n  i: {shape: [256], dtype: dtype}\n"
    "  t: {shape: [256, 256], dtype: dtype, role: weight}\noperators:\n"
    "  - {op: mul, in: [x, y], out: a0}\n  - {op: exp, in: a0, out: b0}\n  - {op: sub, in: [b0, x], out: c0}\n"
    "  - {op: mul, in: [y, x], out: a1}\n  - {op: exp, in: a1, out: b1}\n  - {op: sub, in: [b1, y], out: c1}\n"
    "  - {op: mul, in: [x, x], out: a2}\n  - {op: exp, in: a2, out: b2}\n  - {op: sub, in: [b2, x], out: c2}\n"
    "  - {op: softmax, in: c0, out: d0, dim: 1}\n  - {op: softmax, in: c1, out: d1, dim: 1}\n"
    "  - {op: softmax, in: c2, out: d2, dim: 0}\n"
    "  - {op: matmul, in: [d0, w], out: e0}\n  - {op: mul, in: [e0, s], out: f0}\n  - {op: add, in: [f0, s], out: g0}\n"
    "  - {op: matmul, in: [d1, w], out: e1}\n  - {op: mul, in: [e1, i], out: f1}\n  - {op: add, in: [f1, s], out: g1}\n"
    "  - {op: matmul, in: [d2, t], out: e2}\n  - {op: mul, in: [e2, s], out: f2}\n  - {op: add, in: [f2, i], out: g2}\n"
    "  - {op: concat, in: [g0, g1], out: h0, dim: 1}\n  - {op: relu, in: h0, out: k0}\n"
    "  - {op: concat, in: [g1, g0], out: h1, dim: 1}\n  - {op: relu, in: h1, out: k1}\n"
    "  - {op: concat, in: [g2, g2], out: h2, dim: 1}\n  - {op: relu, in: h2, out: k2}\n"
    "  - {op: sum, in: k0, out: l0, dim: 1, keepdim: true}\n  - {op: sub, in: [k0, l0], out: m0}\n"
    "  - {op: sum, in: k1, out: l1, dim: 1, keepdim: true}\n  - {op: sub, in: [k1, l1], out: m1}\n"
    "  - {op: sum, in: k2, out: l2, dim: 1, keepdim: true}\n  - {op: sub, in: [k2, l2], out: m2}\n"
    "  - {op: add, in: [m0, r], out: n0}\n  - {op: add, in: [m1, r], out: n1}\n  - {op: add, in: [m2, l1], out: n2}\n"
    "  - {op: exp, in: s, out: known}\n  - {op: exp, in: i, out: unknown}\n"
    "  - {op: matmul, in: [d0, t], out: o0}\n  - {op: mul, in: [o0, known], out: p0}\n"
    "  - {op: matmul, in: [d1, t], out: o1}\n  - {op: mul, in: [o1, unknown], out: p1}\n"
    "  - {op: matmul, in: [d2, t], out: o2}\n  - {op: mul, in: [o2, known], out: p2}\n"
    "outputs: [m0, n0, n1, n2, f1, p0, p1, p2]\n";

static const fsim_graph *parsed(fsim_arena *a, const char *name, const char *text, size_t bytes)
{
    const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), name, text, bytes, NULL);
    if (!g)
        fail_msg("%s", name);
    return g;
}

static const fsim_graph *shipped(fsim_arena *a, const char *name)
{
    size_t bytes = 0;
    const char *why = "", *path = fsim_printf(a, "%s/workloads/%s.yaml", FUSESIM_SOURCE_DIR, name);
    const char *text = fsim_read_file(a, path, &bytes, &why);
    if (!text)
        fail_msg("%s: %s", name, why);
    return parsed(a, path, text, bytes);
}

/* A few primitives that are not far apart, one of 40 patterns; and which of them are stored: what is read outside, now
 * and then others. */
static int random_set(const fsim_graph *g, int *node, bool *stored)
{
    const int from = (int)draw((uint32_t)g->nodes);
    const uint32_t seed = draw(40) * 2654435761u, pattern = seed < 1u << 30 ? 0x1ffu : seed >> 16 | 1;
    const int most = 1 + (int)(seed >> 4) % MOST_MEMBERS;
    int count = 0;
    for (int n = from; n < g->nodes && n < from + 16 && count < most; n++)
        if (pattern >> (n - from) & 1)
            node[count++] = n;
    for (int i = 0; i < count; i++) {
        const fsim_tensor *t = &g->tensor[g->node[node[i]].result[0]];
        int inside = 0;
        for (int r = 0; r < t->readers; r++)
            for (int k = 0; k < count; k++)
                inside += node[k] == t->reader[r];
        stored[i] = inside < t->readers || t->output || inside == 0 || draw(20) == 0;
    }
    return count;
}

static void same_maps(const fsim_map *x, const fsim_map *y, int count)
{
    for (int i = 0; i < count; i++)
        assert_true(x[i].offset == y[i].offset && x[i].split == y[i].split && fsim_map_equal(&x[i], &y[i]));
}

static void same_read(const fsim_read *x, const fsim_read *y)
{
    assert_int_equal(x->tensor, y->tensor);
    assert_int_equal(x->maps, y->maps);
    assert_true(x->derived == y->derived && x->access->tensor == y->access->tensor &&
                (x->derived || x->access == y->access) && x->window == y->window);
    same_maps(x->map, y->map, x->maps);
    assert_true((x->place == NULL) == (y->place == NULL) && x->branches == y->branches && x->stages == y->stages &&
                x->full == y->full && x->whole == y->whole && x->bytes == y->bytes && x->operand == y->operand &&
                x->other_maps == y->other_maps && x->repeats == y->repeats);
}

static void same_group(const fsim_group *x, const fsim_group *y)
{
    assert_int_equal(x->template, y->template);
    assert_true(x->members == y->members && x->reads == y->reads && x->writes == y->writes);
    assert_true(x->points == y->points && x->reduced == y->reduced && x->stages == y->stages && x->live == y->live &&
                x->kept_row_bytes == y->kept_row_bytes && x->recomputes == y->recomputes && x->folded == y->folded);
    assert_int_equal(x->anchor, y->anchor);
    for (int i = 0; i < x->members; i++) {
        const fsim_member *m = &x->member[i], *n = &y->member[i];
        assert_true(m->node == n->node && m->evaluations == n->evaluations && m->stages == n->stages &&
                    m->full == n->full && m->prologue == n->prologue && m->level == n->level &&
                    m->operand == n->operand && m->form == n->form && m->divergence == n->divergence);
    }
    for (int i = 0; i < x->reads; i++)
        same_read(&x->read[i], &y->read[i]);
    for (int i = 0; i < x->writes; i++) {
        assert_int_equal(x->write[i].tensor, y->write[i].tensor);
        assert_true(x->write[i].full == y->write[i].full);
        same_maps(&x->write[i].map, &y->write[i].map, 1);
    }
}

static void same_kernel(const fsim_kernel *x, const fsim_kernel *y)
{
    assert_true(x->time_s == y->time_s && x->dram_read_bytes == y->dram_read_bytes &&
                x->dram_write_bytes == y->dram_write_bytes && x->l2_bytes == y->l2_bytes && x->flops == y->flops &&
                x->registers == y->registers && x->grid == y->grid && x->block == y->block &&
                x->penalised == y->penalised && x->template == y->template && x->bound == y->bound);
    assert_memory_equal(x->unit, y->unit, sizeof x->unit);
    assert_memory_equal(x->time, y->time, sizeof x->time);
    assert_true(x->inputs == y->inputs && x->outputs == y->outputs);
    for (int i = 0; i < x->inputs; i++)
        assert_true(x->input[i].tensor == y->input[i].tensor && x->input[i].read_bytes == y->input[i].read_bytes &&
                    x->input[i].l2_bytes == y->input[i].l2_bytes);
    for (int i = 0; i < x->outputs; i++)
        assert_true(x->output[i].tensor == y->output[i].tensor && x->output[i].write_bytes == y->output[i].write_bytes);
}

/* The set from the store and made for it alone. True where the store had one that is alike. */
static bool compare(fsim_problem *p, const int *node, int count, const bool *stored, fsim_arena *a)
{
    fsim_group group;
    fsim_refusal why = {0};
    const bool legal =
        fsim_group_of(&p->limits, &(fsim_selection){.node = node, .count = count, .stored = stored}, a, &group, &why);
    fsim_candidate *like = fsim_candidate_like(p, node, count, stored), *c = fsim_candidate_of(p, node, count, stored);
    assert_true(c->legal == legal && like->legal == legal);
    if (!legal) {
        assert_true(c->why.rule == why.rule && c->why.a == why.a && c->why.b == why.b && c->why.final == why.final &&
                    c->why.needed == why.needed && c->why.limit == why.limit && c->why.through == why.through);
        return c->like != NULL;
    }
    same_group(c->group, &group);
    for (int times = 0; times < 2; times++) {
        bool *hit = fsim_new(a, bool, group.reads + 1), *absorbed = fsim_new(a, bool, group.writes + 1);
        for (int i = 0; i < group.reads; i++)
            hit[i] = times > 0 && draw(2);
        for (int i = 0; i < group.writes; i++)
            absorbed[i] = times > 0 && draw(2);
        const fsim_residency l2 = {.hit = hit, .absorbed = absorbed};
        const fsim_kernel alone = fsim_kernel_of(p->graph, p->hw, p->regime, &group, &l2, a);
        const fsim_kernel *priced = fsim_kernel_for(p, like, hit, absorbed),
                          *own = fsim_kernel_for(p, c, hit, absorbed);
        assert_true((own != NULL) == (alone.time_s > 0) && (priced != NULL) == (alone.time_s > 0));
        if (own) {
            same_kernel(own, &alone);
            assert_true(own->group == c->group && priced->time_s == alone.time_s);
        }
    }
    return c->like != NULL;
}

static void sets_are_as_if_alone(fsim_arena *a, const fsim_graph *g, const char *gpu, int least)
{
    const fsim_hw_wanted how = {.folders.shipped = FUSESIM_SOURCE_DIR "/hwmodels"};
    const fsim_hw *hw = fsim_hw_load(a, fsim_diag_new(a), gpu, &how);
    const fsim_options options = {
        .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 3000000};
    fsim_problem p = fsim_problem_of(g, hw, &options, a);
    fsim_arena *scratch = fsim_arena_new();
    int shared = 0;
    for (int i = 0; i < SETS; i++) {
        int node[MOST_MEMBERS];
        bool stored[MOST_MEMBERS];
        const fsim_mark mark = fsim_save(scratch);
        const int count = random_set(g, node, stored);
        shared += count > 0 && compare(&p, node, count, stored, scratch);
        fsim_rewind(scratch, mark);
    }
    fsim_arena_free(scratch);
    if (shared < least)
        fail_msg("%s: only %d of %d sets were like another", g->name, shared, SETS);
}

static void layers_that_differ_a_little(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    sets_are_as_if_alone(a, parsed(a, "layered", layered, sizeof layered - 1), "a100-sxm4-40gb", 100);
    fsim_arena_free(a);
}

static void networks(void **unused)
{
    (void)unused;
    static const struct {
        const char *workload, *gpu;
        int least;
    } all[] = {{"bert_12_layers", "h100-sxm5-80gb", 500},
               {"llama_block", "t4", 20},
               {"resnet50_block", "rtx-4090", 20},
               {"gpt2_layer", "mi300x", 20}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        fsim_arena *a = fsim_arena_new();
        sets_are_as_if_alone(a, shipped(a, all[i].workload), all[i].gpu, all[i].least);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layers_that_differ_a_little), cmocka_unit_test(networks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
