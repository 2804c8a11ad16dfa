/* SPDX-License-Identifier: Apache-2.0 */
/* depends: once */
/* Continuous batching: loops of one and two requests, whose times are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serving/batching.h"
#include <math.h>

static const fsim_loop plain = {.slots = 1,
                                .requests = 2,
                                .input = 100,
                                .output = 5,
                                .tokens = 100,
                                .most = 10,
                                .shortest = 1,
                                .longest = 1,
                                .points = 3,
                                .running = {1, 2, 2},
                                .decode_s = {0.010, 0.020, 0.020},
                                .alone_s = 0.200,
                                .beside_s = 0.150,
                                .host_s = 0.001,
                                .first_s = 0.050};

static void check(const fsim_loop *l, double first_s, double token_s)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_loop_times t = fsim_continuous_batching(l, a);
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
    const fsim_loop l = {.points = 3, .running = {1, 4, 16}, .decode_s = {1, 4, 28}};
    assert_true(fabs(fsim_loop_decode_s(&l, 1) - 1) < 1e-12);
    assert_true(fabs(fsim_loop_decode_s(&l, 3) - 3) < 1e-12);
    assert_true(fabs(fsim_loop_decode_s(&l, 10) - 16) < 1e-12);
    assert_true(fabs(fsim_loop_decode_s(&l, 16) - 28) < 1e-12);
}

/* Two stages of 100 ms of a prompt and 5 ms of a token, and 1 ms of the host before them. */
static fsim_loop staged(void)
{
    fsim_loop l = plain;
    l.slots = 2;
    l.stages = 2;
    l.points = 2;
    l.decode_s[1] = l.decode_s[0];
    l.stage_s[0] = l.stage_s[1] = 0.005;
    l.prompt_share = 0.5;
    return l;
}

/* Each request is a batch. Prompts: 0.001 + 0.100 + 0.100 s; the second waits for the first at each stage, 0.301 s. The
 * first's second token waits at the last stage for the second's prompt: 0.306; the second's follows at 0.312. From then
 * on a token takes its way of 0.011 s, in which the stages work 0.010: 0.339 and 0.345 at the fifth. */
static void test_stages(void **state)
{
    (void)state;
    const fsim_loop l = staged();
    check(&l, (0.201 + 0.301) / 2 + 0.050, ((0.339 - 0.201) / 4 + (0.345 - 0.301) / 4) / 2);
}

/* The same for 1000 tokens more, whose rounds are alike: none is lost where they are not followed one by one. */
static void test_stages_repeat(void **state)
{
    (void)state;
    fsim_loop l = staged();
    l.output = 1005;
    check(&l, (0.201 + 0.301) / 2 + 0.050, ((11.339 - 0.201) / 1004 + (11.345 - 0.301) / 1004) / 2);
}

/* One request has one batch: a stage waits while the other works. */
static void test_one_batch(void **state)
{
    (void)state;
    fsim_loop l = staged();
    l.slots = l.requests = 1;
    check(&l, 0.251, 0.011);
    fsim_arena *a = fsim_arena_new();
    const fsim_loop_times t = fsim_continuous_batching(&l, a);
    fsim_arena_free(a);
    assert_true(fabs(t.busy - (0.200 + 4 * 0.010) / 2 / (0.201 + 4 * 0.011)) < 1e-9);
    assert_true(fabs(t.prompts - 0.200 / (0.200 + 4 * 0.010)) < 1e-9);
}

/* A place for one: the second's prompt begins once the first has ended. */
static void test_stages_no_place(void **state)
{
    (void)state;
    fsim_loop l = staged();
    l.most = 1;
    check(&l, (0.201 + 0.446) / 2 + 0.050, 0.011);
}

/* Of 10 ms a token, one stage takes 8: two batches have a token each 16 ms. */
static void test_slowest_stage(void **state)
{
    (void)state;
    fsim_loop l = staged();
    l.stage_s[0] = l.stage_s[1] = 0.008;
    l.output = 100001;
    fsim_arena *a = fsim_arena_new();
    const fsim_loop_times t = fsim_continuous_batching(&l, a);
    fsim_arena_free(a);
    assert_true(fabs(t.token_s - 0.016) < 1e-5);
    assert_true(fabs(t.busy - 0.010 / 0.016) < 1e-3);
    assert_true(fabs(t.running - 2) < 1e-3);
}

/* Eight requests: two batches of four. 1 + 4 ms of the way, or twice the 3 ms of the slowest stage and 0.6 x 0.5 s of
 * prompts in it. */
static void test_round(void **state)
{
    (void)state;
    const fsim_loop l = {.points = 2,
                         .running = {1, 4},
                         .decode_s = {0.002, 0.004},
                         .stage_s = {0.001, 0.003},
                         .beside_s = 0.5,
                         .host_s = 0.001,
                         .stages = 2,
                         .prompt_share = 0.6};
    assert_true(fabs(fsim_loop_round_s(&l, 8, 0) - 0.006) < 1e-12);
    assert_true(fabs(fsim_loop_round_s(&l, 8, 1) - (0.006 + 0.3)) < 1e-12);
    assert_true(fabs(fsim_loop_round_s(&l, 1, 0) - 0.003) < 1e-12);
    assert_true(fsim_loop_batch(&l, 8) == 4 && fsim_loop_batch(&l, 1.5) == 1 && fsim_loop_batch(&plain, 8) == 8);
}

/* Poisson arrivals at one server with a fixed time of service (M/D/1): the mean wait is load / (2 (1 - load)) services
 * (Pollaczek and Khinchine). */
static void test_poisson(void **state)
{
    (void)state;
    enum { REQUESTS = 400000 };
    static const double load = 0.7, service_s = 0.2;
    fsim_loop l = plain;
    l.arrivals = FSIM_ARRIVE_POISSON;
    l.rate = load / service_s;
    l.requests = REQUESTS;
    l.output = 1;
    l.most = 1;
    l.host_s = l.first_s = 0;
    fsim_arena *a = fsim_arena_new();
    const fsim_loop_times t = fsim_continuous_batching(&l, a);
    fsim_arena_free(a);
    const double mean_s = service_s * (1 + load / (2 * (1 - load)));
    assert_true(fabs(t.first.mean / mean_s - 1) < 0.03);
    assert_true(t.steady);
    assert_true(fabs(t.busy / load - 1) < 0.02);
    assert_true(t.prompts == 1);
    assert_true(t.first.p50 < t.first.p90 && t.first.p90 < t.first.p99);
}

/* More work comes than is done: the queue grows. */
static void test_overload(void **state)
{
    (void)state;
    fsim_loop l = plain;
    l.arrivals = FSIM_ARRIVE_EVENLY;
    l.rate = 6;
    l.requests = 1000;
    l.output = 1;
    fsim_arena *a = fsim_arena_new();
    assert_false(fsim_continuous_batching(&l, a).steady);
    l.rate = 4;
    const fsim_loop_times t = fsim_continuous_batching(&l, a);
    fsim_arena_free(a);
    assert_true(t.steady);
    assert_true(fabs(t.first.p99 - 0.251) < 1e-9); /* the step, and the way in: nobody waits */
}

/* A cache of 220 tokens. Both prompts of 100 are in the first step, 0.401 s. Steps of both need 202, 204, ... 218 and
 * 220 tokens of it: ten more of 0.021 s, in which each has made 11. The next needs 222: the second gives up its cache,
 * and has 111 tokens to read again, for which 220 - 111 is no place while the first runs. That makes its last 9 alone,
 * at 0.011: 0.710 s. Then the second's 111 tokens take 0.222 + 0.001 s and make its 12th; 8 follow: 1.021 s. */
static void test_given_up(void **state)
{
    (void)state;
    fsim_loop l = plain;
    l.slots = 2;
    l.tokens = 200;
    l.output = 20;
    l.cache_tokens = 220;
    check(&l, 0.401 + 0.050, ((0.710 - 0.401) / 19 + (1.021 - 0.401) / 19) / 2);
    fsim_arena *a = fsim_arena_new();
    assert_true(fsim_continuous_batching(&l, a).given_up == 0.5);
    l.cache_tokens = 238; /* the last step needs 200 + 2 x 19 */
    assert_true(fsim_continuous_batching(&l, a).given_up == 0);
    l.cache_tokens = 1; /* one after the other: the second comes in at 0.201 + 19 x 0.011 */
    assert_true(fsim_continuous_batching(&l, a).given_up == 0);
    fsim_arena_free(a);
    check(&l, (0.201 + 0.410 + 0.201) / 2 + 0.050, 0.011);
}

/* The first has its third token at 0.101 + 0.011 + 0.101 = 0.213 s, in the step that takes 60 of the second's 80
 * tokens, for which there was place. Then 113 of 132 tokens are in use and the other 20 have none: after 20 more steps
 * of the first the second, which came in last, gives up its part. Seven steps later the first ends, at 0.510 s; the
 * second's prompt takes 0.121 + 0.041 s. */
static void test_given_up_part(void **state)
{
    (void)state;
    static const fsim_traced rows[] = {{0, 50, 30, 0}, {0.102, 80, 1, 0}};
    fsim_loop l = plain;
    l.arrivals = FSIM_ARRIVE_TRACE;
    l.trace = rows;
    l.tokens = 60;
    l.cache_tokens = 132;
    check(&l, (0.101 + 0.672 - 0.102) / 2 + 0.050, (0.510 - 0.101) / 29);
    fsim_arena *arena = fsim_arena_new();
    assert_true(fsim_continuous_batching(&l, arena).given_up == 0.5);
    fsim_arena_free(arena);
}

/* Caches of prompts come with the requests, which have waited elsewhere. Steps of one, of both twice, of one: 0.011,
 * 0.032, 0.053, 0.064 s. */
static void test_filled(void **state)
{
    (void)state;
    static const fsim_traced rows[] = {{0, 100, 3, 0.300}, {0.0105, 50, 3, 0.100}};
    fsim_loop l = plain;
    l.arrivals = FSIM_ARRIVE_TRACE;
    l.trace = rows;
    l.filled = true;
    check(&l, (0.011 + 0.300 + 0.032 - 0.0105 + 0.100) / 2 + 0.050, (0.021 + 0.016) / 2);
    fsim_loop in_stages = staged(); /* a batch each. The first's second token waits for the host and the first stage
                                     * until 0.0165: 0.0265 s; its third comes at 0.0375; the second's at 0.0435 */
    in_stages.arrivals = FSIM_ARRIVE_TRACE;
    in_stages.trace = rows;
    in_stages.filled = true;
    check(&in_stages, (0.011 + 0.300 + 0.011 + 0.100) / 2 + 0.050, ((0.0375 - 0.011) / 2 + (0.0435 - 0.0215) / 2) / 2);
}

/* Prompts alone, one behind the other; the second has half of the tokens. No new tokens follow. */
static void test_prompts_alone(void **state)
{
    (void)state;
    static const fsim_traced rows[] = {{0, 100, 500, 0}, {0.1, 50, 300, 0}};
    fsim_prefilled done[3];
    fsim_loop l = plain;
    l.arrivals = FSIM_ARRIVE_TRACE;
    l.trace = rows;
    fsim_arena *a = fsim_arena_new();
    assert_int_equal(fsim_prompts_alone(&l, done, a), 2);
    fsim_arena_free(a);
    assert_true(fabs(done[0].done_s - 0.201) < 1e-9 && fabs(done[1].done_s - 0.302) < 1e-9);
    assert_true(done[0].arrived_s == 0 && done[1].arrived_s == 0.1 && done[0].input == 100 && done[1].input == 50);
}

/* A trace with a gap: each request alone. */
static void test_trace(void **state)
{
    (void)state;
    static const fsim_traced rows[] = {{0, 100, 5, 0}, {10, 50, 3, 0}};
    fsim_loop l = plain;
    l.arrivals = FSIM_ARRIVE_TRACE;
    l.trace = rows;
    fsim_arena *a = fsim_arena_new();
    const fsim_loop_times t = fsim_continuous_batching(&l, a);
    fsim_arena_free(a);
    assert_true(fabs(t.first_s - (0.251 + 0.151) / 2) < 1e-9);
    assert_true(fabs(t.token_s - 0.011) < 1e-9);
    assert_true(fabs(t.rate - 2 / (10 + 0.101 + 2 * 0.011)) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_after_the_other),
                                       cmocka_unit_test(test_two_together),
                                       cmocka_unit_test(test_no_place),
                                       cmocka_unit_test(test_long_prompt),
                                       cmocka_unit_test(test_points),
                                       cmocka_unit_test(test_filled),
                                       cmocka_unit_test(test_given_up),
                                       cmocka_unit_test(test_given_up_part),
                                       cmocka_unit_test(test_prompts_alone),
                                       cmocka_unit_test(test_stages),
                                       cmocka_unit_test(test_stages_repeat),
                                       cmocka_unit_test(test_one_batch),
                                       cmocka_unit_test(test_stages_no_place),
                                       cmocka_unit_test(test_slowest_stage),
                                       cmocka_unit_test(test_round),
                                       cmocka_unit_test(test_poisson),
                                       cmocka_unit_test(test_overload),
                                       cmocka_unit_test(test_trace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
