/* SPDX-License-Identifier: Apache-2.0 */
/* How far a search may go, worked by hand: steps, seconds and bytes, shares of them, and what ends it. And how results
 * of programs are compared: the first parameter and the last, every result, memory behind its end. cost: 1 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs those above */

#include "plan/price/deadline.h"
#include "plan/search/budget.h"
#include "predict.h"
#include "validate/reference/check.h"

typedef struct {
    fsim_arena *a;
    fsim_problem p;
} fixture;

static fixture a_problem(const char *text, int64_t steps)
{
    fixture f = {.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(f.a);
    const fsim_hw *hw = fsim_hw_read(f.a, d, FUSESIM_SOURCE_DIR "/hwmodels/t4.yaml");
    const fsim_graph *g = fsim_graph_parse(f.a, d, "small.yaml", text, strlen(text), NULL);
    assert_true(g && hw);
    f.p = fsim_problem_of(g, hw, &(fsim_options){.regime = FSIM_REGIME_STREAM, .search_steps = steps}, f.a);
    return f;
}

static const char one_relu[] = "tensors: {x: {shape: [4], dtype: f32}}\noperators:\n  - {op: relu, in: x, out: y}\n";

/* 1,000 steps from 70 on; breaking off after ten times as many, but not before a million. */
static void steps_of_a_budget(void **unused)
{
    (void)unused;
    fixture f = a_problem(one_relu, 1000);
    fsim_spent spent, part;
    fsim_add_work(&f.p, 70 - fsim_work(&f.p));
    f.p.until_s = INFINITY;
    fsim_budget b = fsim_budget_of(&f.p, &spent);
    assert_true(b.first == 70 && b.steps == 1070 && b.most_steps == 1000070);
    assert_true(isinf(b.hasten_s) && isinf(b.until_s));
    assert_true(fabs(b.begun_s - fsim_clock_s()) < 10);
    assert_true(spent.end == FSIM_SEARCH_NOT_STOPPED && !spent.over && b.spent == &spent);
    assert_true(spent.checked == 70 - FSIM_CHECKED_EVERY); /* the clock is asked at once */
    fsim_add_work(&f.p, 200);
    const fsim_budget quarter = fsim_budget_share(&b, &f.p, 4, &part), rest = fsim_budget_but_share(&b, &f.p, 4, &part);
    assert_true(quarter.steps == 270 + 800 / 4 && quarter.spent == &part && quarter.most_steps == b.most_steps);
    assert_true(rest.steps == 1070 - 200);
    const fsim_budget left = fsim_budget_left(&b, &f.p, &part);
    assert_true(left.steps == 800 && left.most_steps == 1000070 - 270 && left.spent == &part && part.checked == 0);
    fsim_add_work(&f.p, 1000); /* all are used */
    assert_true(fsim_budget_share(&b, &f.p, 4, &part).steps == 1070);
    assert_true(fsim_budget_but_share(&b, &f.p, 4, &part).steps == 1070);
    f.p.search_steps = 200000;
    assert_true(fsim_budget_of(&f.p, &spent).most_steps == 2000000 + fsim_work(&f.p));
    f.p.search_steps = INT64_MAX;
    b = fsim_budget_of(&f.p, &spent);
    assert_true(b.steps == INT64_MAX && b.most_steps == INT64_MAX);
    assert_true(fsim_budget_left(&b, &f.p, &part).most_steps == INT64_MAX);
    assert_true(fsim_seconds_of(6000000) == 1 && fsim_seconds_of(1500000) == 0.25);
    fsim_arena_free(f.a);
}

/* Of 100 seconds 70 are for the search; shares have their part of them only where they are told to. */
static void seconds_of_a_budget(void **unused)
{
    (void)unused;
    fixture f = a_problem(one_relu, 1000);
    fsim_spent spent, part;
    f.p.until_s = fsim_clock_s() + 100;
    fsim_budget b = fsim_budget_of(&f.p, &spent);
    assert_true(b.until_s == f.p.until_s && fabs(b.hasten_s - fsim_clock_s() - 70) < 1);
    assert_true(fsim_budget_share(&b, &f.p, 7, &part).hasten_s == b.hasten_s);
    assert_true(fsim_budget_but_share(&b, &f.p, 7, &part).hasten_s == b.hasten_s);
    b.shares_time = true;
    assert_true(fabs(fsim_budget_share(&b, &f.p, 7, &part).hasten_s - fsim_clock_s() - 10) < 1);
    assert_true(fabs(fsim_budget_but_share(&b, &f.p, 7, &part).hasten_s - fsim_clock_s() - 60) < 1);
    b.hasten_s = fsim_clock_s() - 5;
    assert_true(fsim_budget_share(&b, &f.p, 7, &part).hasten_s == b.hasten_s);
    assert_true(fsim_budget_but_share(&b, &f.p, 7, &part).hasten_s == b.hasten_s);
    b.hasten_s = INFINITY;
    assert_true(isinf(fsim_budget_share(&b, &f.p, 7, &part).hasten_s) &&
                isinf(fsim_budget_but_share(&b, &f.p, 7, &part).hasten_s));
    fsim_arena_free(f.a);
}

/* Bytes, seconds and steps end a search, and later break it off. */
static void what_ends_a_search(void **unused)
{
    (void)unused;
    static const struct {
        size_t most_bytes, last_bytes;
        double hasten_s, until_s; /* from now */
        int64_t steps, most_steps;
        bool stopped;
        fsim_search_end end;
        bool over;
    } cases[] = {{SIZE_MAX, SIZE_MAX, 100, 200, 50, 500, false, FSIM_SEARCH_NOT_STOPPED, false},
                 {1, SIZE_MAX, 100, 200, 50, 500, false, FSIM_SEARCH_STOPPED_BY_MEMORY, false},
                 {1, 1, 100, 200, 50, 500, false, FSIM_SEARCH_STOPPED_BY_MEMORY, true},
                 {SIZE_MAX, SIZE_MAX, -1, 200, 50, 500, false, FSIM_SEARCH_STOPPED_BY_CLOCK, false},
                 {SIZE_MAX, SIZE_MAX, -2, -1, 50, 500, false, FSIM_SEARCH_STOPPED_BY_CLOCK, true},
                 {SIZE_MAX, SIZE_MAX, 100, 200, 39, 500, false, FSIM_SEARCH_STOPPED_BY_STEPS, false},
                 {SIZE_MAX, SIZE_MAX, 100, 200, 40, 40, false, FSIM_SEARCH_NOT_STOPPED, false},
                 {SIZE_MAX, SIZE_MAX, 100, 200, 39, 39, false, FSIM_SEARCH_STOPPED_BY_STEPS, true},
                 {SIZE_MAX, SIZE_MAX, 100, 200, 50, 500, true, FSIM_SEARCH_NOT_STOPPED, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = a_problem(one_relu, 1000);
        volatile int stop = cases[i].stopped;
        fsim_spent spent = {.checked = 0};
        f.p.interrupted = &stop;
        fsim_add_work(&f.p, 40 - fsim_work(&f.p));
        const double now_s = fsim_clock_s();
        const fsim_budget b = {.steps = cases[i].steps,
                               .most_steps = cases[i].most_steps,
                               .hasten_s = now_s + cases[i].hasten_s,
                               .until_s = now_s + cases[i].until_s,
                               .most_bytes = cases[i].most_bytes,
                               .last_bytes = cases[i].last_bytes,
                               .spent = &spent};
        fsim_check_budget(&b, &f.p);
        assert_true(spent.checked == 40);
        if (spent.end != cases[i].end || spent.over != cases[i].over)
            fail_msg("case %zu: ended by %d, over %d", i, (int)spent.end, spent.over);
        assert_int_equal(fsim_within(&b, &f.p), cases[i].end == FSIM_SEARCH_NOT_STOPPED && !cases[i].over);
        spent = (fsim_spent){.end = FSIM_SEARCH_STOPPED_BY_MEMORY, .over = true}; /* it stays so */
        fsim_check_budget(&b, &f.p);
        assert_true(spent.end == FSIM_SEARCH_STOPPED_BY_MEMORY && spent.over);
        fsim_arena_free(f.a);
    }
}

/* What is asked for, beyond what is held, and a quarter more for the end; otherwise no more than 2 GiB. */
static void bytes_of_a_budget(void **unused)
{
    (void)unused;
    fixture f = a_problem(one_relu, 1000);
    fsim_spent spent;
    f.p.search_memory = 1 << 20;
    fsim_budget b = fsim_budget_of(&f.p, &spent);
    assert_true(b.most_bytes == fsim_arena_held() + (1 << 20));
    assert_true(b.last_bytes == fsim_arena_held() + (5 << 18));
    f.p.search_memory = 0;
    b = fsim_budget_of(&f.p, &spent);
    const size_t usual = b.most_bytes - fsim_arena_held();
    assert_true(usual > 1 << 20 && usual <= (size_t)1 << 31);
    assert_true(fsim_searches_in_memory(INT64_C(1) << 60) == 1 && fsim_searches_in_memory(1) == 1000000);
    assert_true(fsim_searches_in_memory(INT64_C(1) << 31) >= 1); /* of at least 4 GiB half */
    assert_true(fsim_searches_in_memory(INT64_C(1) << 30) >= 2);
    fsim_arena_free(f.a);
}

static int tensor_named(const fsim_graph *g, const char *name)
{
    int t = 0;
    while (strcmp(g->tensor[t].name, name) != 0)
        t++;
    return t;
}

static const char two_results[] =
    "tensors: {x: {shape: [2, 3], dtype: f32}, w: {shape: [3], dtype: f32, role: weight}}\noperators:\n"
    "  - {op: mul, in: [x, w], out: y}\n  - {op: relu, in: x, out: z}\noutputs: [y, z]\n";

/* A program that writes y, as its first parameter, reads x and w, and writes z, as its last one. */
static void every_result_is_compared(void **unused)
{
    (void)unused;
    fixture f = a_problem(two_results, 1000);
    const fsim_graph *g = f.p.graph;
    const int x = tensor_named(g, "x"), w = tensor_named(g, "w"), y = tensor_named(g, "y"), z = tensor_named(g, "z");
    fsim_parameter parameter[] = {{y, 24, true, "t_y", "float"},
                                  {x, 24, false, "t_x", "float"},
                                  {w, 12, false, "t_w", "float"},
                                  {-1, 300, true, "scratch", "float"},
                                  {z, 24, true, "t_z", "float"}};
    const fsim_program p = {.name = "k0", .parameter = parameter, .parameters = 5};
    fsim_reference *r = fsim_reference_of(g, 1);
    fsim_host_memory *m = fsim_host_memory_new(r, &p, 1);
    assert_non_null(m);
    void **at = m->argument[0];
    float *out_y = at[0], *out_z = at[4], *in_x = at[1];
    assert_true(m->bytes == 24 + 24 + 12 + 300 + 24 && at[0] == m->tensor[y] && at[3] != NULL);
    for (int i = 0; i < 6; i++) {
        assert_true(in_x[i] == (float)r->of[x].value[i]);
        assert_true(isnan(out_y[i]) && isnan(out_z[i])); /* nothing is there yet */
    }
    fsim_check c = fsim_check_program(r, &p, fsim_host_fetch, at, f.a);
    assert_true(c.ran && c.tensor == y && c.elems == 6 && c.compared == 6 && strstr(c.message, "y[0, 0] is ") &&
                strstr(c.message, "nan"));
    assert_non_null(strstr(c.message, "6 of 6 elements are wrong"));
    fsim_host_stand_in(m, r, 0);
    c = fsim_check_program(r, &p, fsim_host_fetch, at, f.a);
    assert_true(!c.message && !c.untold && c.elems == 12 && c.compared == 12);
    out_y[5] += 1;
    c = fsim_check_program(r, &p, fsim_host_fetch, at, f.a);
    assert_true(c.tensor == y && c.found.at == 5 && c.found.wrong == 1 && strstr(c.message, "y[1, 2] is "));
    fsim_host_stand_in(m, r, 0);
    out_z[3] -= 1;
    c = fsim_check_program(r, &p, fsim_host_fetch, at, f.a);
    assert_true(c.tensor == z && c.found.at == 3 && strstr(c.message, "z[1, 0] is ") && c.elems == 12);
    fsim_host_stand_in(m, r, 0);
    /* of two right ones the one closest to its bounds is told: z is exact, y has a bound of half a unit or so */
    out_y[2] = nextafterf(out_y[2], 100);
    c = fsim_check_program(r, &p, fsim_host_fetch, at, f.a);
    assert_int_equal(c.tensor, y);
    fsim_host_stand_in(m, r, 0);
    /* and of two that are equally close the first: x and z are exact */
    for (int first = 0; first < 2; first++) {
        fsim_parameter exact[] = {parameter[first ? 1 : 4], parameter[first ? 4 : 1]};
        void *const there[] = {at[first ? 1 : 4], at[first ? 4 : 1]};
        exact[0].written = exact[1].written = true;
        const fsim_program both = {.name = "k1", .parameter = exact, .parameters = 2};
        c = fsim_check_program(r, &both, fsim_host_fetch, (void *)there, f.a);
        assert_true(!c.message && c.elems == 12 && c.found.worst == 0);
        assert_int_equal(c.tensor, first ? x : z);
    }
    assert_null(fsim_host_overrun(m, 0));
    static const struct {
        int parameter;
        size_t byte;
        const char *said;
    } behind[] = {{0, 24, "t_y"},      {4, 24, "t_z"}, {4, 511, "t_z"}, {3, 300, "scratch"},
                  {3, 767, "scratch"}, {1, 24, NULL},  {2, 12, NULL}};
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        unsigned char *byte = (unsigned char *)at[behind[i].parameter] + behind[i].byte;
        *byte = 7;
        const char *said = fsim_host_overrun(m, 0);
        assert_true(behind[i].said ? said && strcmp(said, behind[i].said) == 0 : !said);
        *byte = 0xff;
    }
    fsim_host_memory_free(m);
    fsim_host_memory_free(NULL);
    fsim_reference_free(r);
    fsim_arena_free(f.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_of_a_budget), cmocka_unit_test(seconds_of_a_budget),
                                       cmocka_unit_test(what_ends_a_search), cmocka_unit_test(bytes_of_a_budget),
                                       cmocka_unit_test(every_result_is_compared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
