/* SPDX-License-Identifier: Apache-2.0 */
/* pebbles_test.c: when values are computed again, against fronts that two other programs found by searching every
 * schedule of eight dense layers, and against small games that can be played by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/search/pebbles.h"

enum { LAYERS = 8, MOST_STEPS = 2 * LAYERS };
static const int64_t activation = 16384LL * 2048 * 4, gradients = (2048LL * 2048 + 2048) * 4, mask = 16384LL * 2048 / 8,
                     loss = 4;

typedef struct {
    int64_t peak;
    int again; /* dense layers that are computed again */
} point;

static bool always(const void *with) { return with == NULL; }

/* h_1 to h_7 are values 0 to 6, the signs of a_1 to a_7 as bits 7 to 13. The last layer gives its loss and its bits.
 * Inputs and weights are there from the beginning, gradients from the kernel that makes them; wgrad of a layer reads
 * the layer's input, dgrad the sign of what is below. */
static void make_stack(fsim_pebble_game *g, fsim_pebble_maker *maker, fsim_pebble_step *step, bool bits)
{
    const int64_t base = activation + LAYERS * gradients;
    *g = (fsim_pebble_game){.values = bits ? 2 * (LAYERS - 1) : LAYERS - 1,
                            .maker = maker,
                            .makers = LAYERS - 1,
                            .step = step,
                            .before = base};
    for (int v = 0; v < g->values; v++)
        g->bytes[v] = v < LAYERS - 1 ? activation : mask;
    for (int k = 0; k < LAYERS - 1; k++)
        maker[k] = (fsim_pebble_maker){
            .cost = 1, .reads = k > 0 ? 1u << (k - 1) : 0, .makes = bits ? 1u << k | 1u << (k + LAYERS - 1) : 1u << k};
    step[g->steps++] =
        (fsim_pebble_step){.reads = 1u << (LAYERS - 2), .during = base + mask + loss, .after = base + mask + loss};
    for (int i = LAYERS; i > 0; i--) {
        const int64_t made = base + loss + (LAYERS - i + 1) * gradients, own = i == LAYERS ? mask : activation;
        const fsim_values below = i > 1 ? 1u << (i - 2) : 0;
        step[g->steps++] = (fsim_pebble_step){.reads = below, .during = made + own, .after = made + own};
        if (i == 1)
            continue;
        fsim_pebble_step d = {.during = made + own + activation, .after = made + activation};
        if (bits) {
            d.eithers = 1;
            d.either[0].one = below << (LAYERS - 1);
            d.either[0].other = below;
        } else {
            d.reads = below;
        }
        step[g->steps++] = d;
    }
}

static void check_front(bool bits, const point *front, int points)
{
    fsim_arena *a = fsim_arena_new();
    fsim_pebble_maker maker[LAYERS];
    fsim_pebble_step step[MOST_STEPS];
    fsim_pebble_game g;
    fsim_pebbling played;
    fsim_sum limit = FSIM_SUM_MOST;
    make_stack(&g, maker, step, bits);
    assert_true(fsim_may_pebble(&g));
    for (int i = 0; i < points; i++) {
        assert_true(fsim_pebble(&g, limit, always, NULL, a, &played));
        assert_int_equal(played.cost - (LAYERS - 1), front[i].again);
        assert_int_equal((int64_t)played.peak, front[i].peak);
        limit = played.peak - 1;
    }
    assert_false(fsim_pebble(&g, limit, always, NULL, a, &played));
    fsim_arena_free(a);
}

static void signs_from_results(void **unused)
{
    (void)unused;
    static const point front[] = {{1375813636, 0}, {1241595908, 1}, {1107378180, 2}, {973160452, 3}, {889298948, 5},
                                  {872513540, 6},  {855728132, 7},  {838942724, 10}, {788652036, 15}};
    check_front(false, front, sizeof front / sizeof *front);
}

static void signs_from_bits(void **unused)
{
    (void)unused;
    static const point front[] = {{1249984516, 0}, {1115766788, 1}, {981549060, 2}, {847331332, 3},
                                  {843137028, 4},  {763469828, 5},  {759275524, 7}, {755081220, 9}};
    check_front(true, front, sizeof front / sizeof *front);
}

/* One value of 10 bytes, which two steps read; the step between them needs 5 bytes, and all takes 12 at most where the
 * value is given up meanwhile. */
static void given_up_between(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_pebble_maker maker = {.cost = 3, .makes = 1};
    const fsim_pebble_step step[] = {{.reads = 1}, {.during = 5}, {.reads = 1}};
    const fsim_pebble_game g = {.values = 1, .bytes = {10}, .maker = &maker, .makers = 1, .step = step, .steps = 3};
    static const int expected[] = {0, -1, -2, -1, 0, -1}; /* makes, reads, gives up, .. */
    fsim_pebbling played;
    assert_true(fsim_pebble(&g, 15, always, NULL, a, &played));
    assert_int_equal(played.cost, 3);
    assert_int_equal((int64_t)played.peak, 15);
    assert_true(fsim_pebble(&g, 14, always, NULL, a, &played));
    assert_int_equal(played.cost, 6);
    assert_int_equal((int64_t)played.peak, 10);
    assert_int_equal(played.count, 6);
    for (int i = 0; i < played.count; i++)
        assert_int_equal(played.move[i].maker, expected[i]);
    assert_false(fsim_pebble(&g, 9, always, NULL, a, &played));
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_from_results),
        cmocka_unit_test(signs_from_bits),
        cmocka_unit_test(given_up_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
