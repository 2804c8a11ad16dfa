/* SPDX-License-Identifier: Apache-2.0 */
/* Of two plans the better parts of each. depends: memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/price/price.h"
#include "plan/search/cross.h"
#include "predict.h"
#include <stdio.h>
#include <string.h>

/* Two chains of three that have nothing in common: primitives 0 to 2 and 3 to 5. */
static const char chains[] =
    "name: chains\ntensors:\n  x: {shape: [1024, 1024], dtype: f32}\n"
    "  y: {shape: [1024, 1024], dtype: f32}\noperators:\n"
    "  - {op: exp, in: x, out: a}\n  - {op: neg, in: a, out: b}\n  - {op: relu, in: b, out: c}\n"
    "  - {op: exp, in: y, out: d}\n  - {op: neg, in: d, out: e}\n  - {op: relu, in: e, out: f}\n";

typedef struct {
    fsim_arena *a;
    fsim_problem p;
} bench;

static bench open_bench(void)
{
    static const fsim_options how = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_GRAPH};
    bench b = {.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(b.a);
    const fsim_hw *hw = fsim_hw_read(b.a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
    const fsim_graph *g = fsim_graph_parse(b.a, d, "chains.yaml", chains, strlen(chains), &(fsim_bindings){0});
    assert_true(hw && g && g->nodes == 6);
    b.p = fsim_problem_of(g, hw, &how, b.a);
    return b;
}

/* The plan whose kernels end behind the primitives that are marked by '|': "012|345" has two. */
static fsim_plan plan_of(bench *b, const char *text)
{
    fsim_partition partition = {0, fsim_new(b->a, fsim_part, 6)};
    fsim_part *part = NULL;
    fsim_plan plan;
    fsim_refusal why;
    for (const char *c = text; *c; c++) {
        if (c == text || *c == '|') {
            part = &partition.part[partition.parts++];
            *part = (fsim_part){0, fsim_new(b->a, int, 6), fsim_new(b->a, bool, 6)};
        }
        if (*c != '|')
            part->node[part->count++] = *c - '0';
    }
    assert_true(fsim_price(&b->p, &partition, b->a, &plan, &why));
    return plan;
}

static void each_plan_gives_its_better_chain(void **unused)
{
    (void)unused;
    bench b = open_bench();
    const fsim_plan left = plan_of(&b, "012|3|4|5"), right = plan_of(&b, "0|1|2|345"), both = plan_of(&b, "012|345");
    fsim_partition crossed;
    assert_true(fsim_cross(&b.p, &left, &right, b.a, &crossed) && crossed.parts == 2);
    fsim_plan best = left;
    assert_true(fsim_improve(&b.p, &crossed, b.a, &best));
    assert_true(best.objective == both.objective && both.objective < left.objective);
    fsim_arena_free(b.a);
}

/* In "01|2|345" and "0|12|3|45" the first chain is one stretch, since either kernel reaches into the other's: it comes
 * as a whole from the plan that has exp alone, whose kernel is the one that arithmetic bounds. */
static void a_stretch_comes_from_one_plan(void **unused)
{
    (void)unused;
    bench b = open_bench();
    const fsim_plan one = plan_of(&b, "01|2|345"), other = plan_of(&b, "0|12|3|45"), best = plan_of(&b, "0|12|345");
    fsim_partition crossed;
    assert_true(plan_of(&b, "01|2|3|4|5").objective > plan_of(&b, "0|12|3|4|5").objective);
    assert_true(fsim_cross(&b.p, &one, &other, b.a, &crossed) && crossed.parts == 3);
    assert_true(crossed.part[0].count == 3 && crossed.part[0].node[0] == 3); /* of the first plan's */
    assert_true(crossed.part[1].count == 1 && crossed.part[2].count == 2 && crossed.part[2].node[0] == 1);
    assert_false(fsim_cross(&b.p, &one, &one, b.a, &crossed));
    assert_false(fsim_cross(&b.p, &best, &one, b.a, &crossed));
    fsim_arena_free(b.a);
}

/* Each of the known plans has one good chain: together they make the best plan. Nothing is done at the bound. */
static void known_plans_are_crossed_one_after_the_other(void **unused)
{
    (void)unused;
    bench b = open_bench();
    const fsim_plan known[] = {plan_of(&b, "0|1|2|345"), {.kernels = 0}, plan_of(&b, "012|3|4|5")},
                    apart = plan_of(&b, "0|1|2|3|4|5"), both = plan_of(&b, "012|345");
    fsim_plan best = apart;
    fsim_cross_all(&b.p, apart.objective, known, 3, b.a, &best);
    assert_true(best.objective == apart.objective);
    fsim_cross_all(&b.p, 0, known, 3, b.a, &best);
    assert_true(best.objective == both.objective && best.kernels == 2);
    fsim_arena_free(b.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_plan_gives_its_better_chain),
        cmocka_unit_test(a_stretch_comes_from_one_plan),
        cmocka_unit_test(known_plans_are_crossed_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
