/* SPDX-License-Identifier: Apache-2.0 */
/* depends: once */
/* Continuous batching: loops of one and two requests, whose times are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serving/closed_loop.h"
#include <math.h>

static const fsim_loop plain = {.slots = 1,
                                .requests = 2,
                                .input = 100,
                                .output = 5,
                                .tokens = 100,
                                .most = 10,
                                .shortest = 1,
                                .running = {1, 2, 2},
                                .decode_s = {0.010, 0.020, 0.020},
                                .alone_s = 0.200,
                                .beside_s = 0.150,
                                .host_s = 0.001,
                                .first_s = 0.050};

static void check(const fsim_loop *l, double first_s, double token_s)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_loop_times t = fsim_closed_loop(l, a);
    fsim_arena_free(a);
    assert_true(fabs(t.first_s - first_s) < 1e-9);
    assert_true(fabs(t.token_s - token_s) < 1e-9);
}

/* Each request: its prompt and the host, then four tokens of 10 ms and the host. */
static void test_one_after_the_other(void **state)
{
    (void)state;
    check(&plain, 0.251, 0.011);
}

/* A step takes one prompt: the second request's first token comes 0.150 + 0.010 + 0.001 s after the first one's, which
 * waits as long for its second token. Three steps have both, a last one the second request alone. */
static void test_two_together(void **state)
{
    (void)state;
    fsim_loop l = plain;
    l.slots = 2;
    check(&l, (0.201 + 0.362) / 2 + 0.050, ((0.425 - 0.201) / 4 + (0.436 - 0.362) / 4) / 2);
}

/* There is no place in the cache for the second: it waits for the end of the first. */
static void test_no_place(void **state)
{
    (void)state;
    fsim_loop l = plain;
    l.slots = 2;
    l.most = 1;
    check(&l, (0.201 + 0.446) / 2 + 0.050, 0.011);
}

/* A prompt of two and a half steps' tokens is taken in three parts. */
static void test_long_prompt(void **state)
{
    (void)state;
    fsim_loop l = plain;
    l.requests = 1;
    l.tokens = 40;
    check(&l, 0.200 + 3 * 0.001 + 0.050, 0.011);
}

/* Between the points on straight lines. */
static void test_points(void **state)
{
    (void)state;
    const fsim_loop l = {.running = {1, 4, 16}, .decode_s = {1, 4, 28}};
    assert_true(fabs(fsim_loop_decode_s(&l, 1) - 1) < 1e-12);
    assert_true(fabs(fsim_loop_decode_s(&l, 3) - 3) < 1e-12);
    assert_true(fabs(fsim_loop_decode_s(&l, 10) - 16) < 1e-12);
    assert_true(fabs(fsim_loop_decode_s(&l, 16) - 28) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_after_the_other), cmocka_unit_test(test_two_together),
                                       cmocka_unit_test(test_no_place), cmocka_unit_test(test_long_prompt),
                                       cmocka_unit_test(test_points)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
