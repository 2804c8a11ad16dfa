/* SPDX-License-Identifier: Apache-2.0 */
/* Index maps and traffic against an oracle that walks every point of small shapes and counts what it touches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/traffic.h"
#include "predict.h"
#include <stdlib.h>
#include <string.h>

static uint64_t state;
static int draw(int below)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (int)((z ^ z >> 31) % (uint64_t)below);
}

/* A map over a small tensor: a permuted, broadcast, sliced or reversed walk of it. */
static fsim_map random_map(void)
{
    static const int extents[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 33};
    fsim_map m = {0};
    int64_t stride[4], size = 1 + draw(3), extent[4];
    const int dims = 1 + draw(4);
    for (int d = dims; d-- > 0;) {
        extent[d] = extents[draw(10)];
        stride[d] = size;
        size *= extent[d] + draw(3); /* a slice leaves some out */
    }
    int order[4] = {0, 1, 2, 3};
    for (int d = dims - 1; d > 0; d--) {
        const int other = draw(d + 1), swap = order[d];
        order[d] = order[other];
        order[other] = swap;
    }
    const int split = draw(dims + 1);
    for (int i = 0; i < dims; i++) {
        if (i == split)
            m.split = m.modes;
        const int d = order[i];
        if (draw(6) == 0) {
            fsim_map_push(&m, extent[d], 0);
        } else if (draw(6) == 0) {
            fsim_map_push(&m, extent[d], -stride[d]);
            m.offset += stride[d] * (extent[d] - 1);
        } else {
            fsim_map_push(&m, extent[d], stride[d]);
        }
    }
    if (split == dims)
        m.split = m.modes;
    m.offset += draw(9);
    return m;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t distinct(int64_t *at, int64_t n)
{
    int64_t count = 0;
    qsort(at, (size_t)n, sizeof *at, by_value);
    for (int64_t i = 0; i < n; i++)
        count += i == 0 || at[i] != at[i - 1];
    return count;
}

static void counts_equal_the_walk(void **unused)
{
    (void)unused;
    static const int bytes[] = {1, 2, 4, 8};
    state = 1;
    for (int turn = 0; turn < 4000; turn++) {
        const fsim_map m = random_map();
        const int64_t P = fsim_map_points(&m), R = fsim_map_reduced(&m);
        const int elem = bytes[draw(4)];
        int64_t *element = malloc((size_t)(P * R) * sizeof *element), *sector = malloc((size_t)(P * R) * sizeof *sector), requested = 0, warp[32];
        for (int64_t i = 0; i < P * R; i++) {
            element[i] = fsim_map_at(&m, i / R, i % R);
            sector[i] = element[i] * elem / 32;
            assert_true(element[i] >= 0);
        }
        for (int64_t i = 0; i < P * R; i += 32) {
            const int64_t n = P * R - i < 32 ? P * R - i : 32;
            memcpy(warp, sector + i, (size_t)n * sizeof *warp);
            requested += distinct(warp, n);
        }
        bool exact;
        if (P * R <= 8192)
            assert_true(fsim_map_requests(&m, elem, 32, 32) == (double)requested);
        assert_int_equal(fsim_map_sectors(&m, elem, 32, &exact), distinct(sector, P * R));
        assert_true(exact);
        const int64_t elements = distinct(element, P * R);
        assert_int_equal(fsim_map_distinct(&m, &exact), elements);
        assert_true(exact);
        assert_int_equal(fsim_map_injective(&m), elements == P * R);
        const fsim_map s = fsim_map_simplify(m);
        for (int64_t i = 0; i < P * R; i += 1 + P * R / 64)
            assert_int_equal(fsim_map_at(&s, i / R, i % R), fsim_map_at(&m, i / R, i % R));
        free(element);
        free(sector);
    }
}

/* Overlapping digits, as a window has them. */
static void overlaps_are_walked(void **unused)
{
    (void)unused;
    fsim_map m = {0};
    fsim_map_push(&m, 10, 2);
    fsim_map_push(&m, 5, 1);
    m.split = 1;
    bool exact;
    assert_int_equal(fsim_map_distinct(&m, &exact), 23); /* 0 .. 2 * 9 + 4 */
    assert_int_equal(fsim_map_sectors(&m, 4, 32, &exact), 3);
    assert_true(exact);
    assert_false(fsim_map_injective(&m));
}

/* compose, where it answers, is the map of the map. */
static void composition_is_pointwise(void **unused)
{
    (void)unused;
    state = 2;
    int composed = 0;
    for (int turn = 0; turn < 6000; turn++) {
        fsim_map g = random_map(), f = random_map(), through;
        g.split = g.modes;
        const int64_t size = fsim_map_points(&g), P = fsim_map_points(&f), R = fsim_map_reduced(&f);
        if (turn % 2) { /* a permutation of g's digits always fits */
            f = (fsim_map){0};
            int64_t place = size;
            fsim_mode d[FSIM_MAX_MODES];
            for (int i = 0; i < g.modes; i++) {
                place /= g.mode[i].extent;
                d[i] = (fsim_mode){g.mode[i].extent, place};
            }
            for (int i = g.modes; i-- > 0;)
                fsim_map_push(&f, d[i].extent, d[i].stride);
            f.split = f.modes;
        }
        const int64_t points = turn % 2 ? size : P, reduced = turn % 2 ? 1 : R;
        bool inside = true;
        for (int64_t i = 0; i < points * reduced && inside; i++)
            inside = fsim_map_at(&f, i / reduced, i % reduced) < size;
        const bool ok = fsim_map_compose(&f, &g, &through);
        assert_true(ok || turn % 2 == 0);
        if (!ok || !inside)
            continue;
        composed++;
        for (int64_t i = 0; i < points * reduced; i++) {
            const int64_t want = fsim_map_at(&g, fsim_map_at(&f, i / reduced, i % reduced), 0);
            assert_int_equal(fsim_map_at(&through, i / reduced, i % reduced), want);
        }
    }
    assert_true(composed > 3000);
}

/* The kernels of small workloads: bytes of every tensor against a walk of what the operator's definition reads. */
typedef struct {
    const char *name, *text;
    struct {
        const char *tensor;
        int64_t bytes, sectors; /* distinct elements and 32-byte sectors, counted by hand or by the walk named beside it */
    } want[3];
} traffic_case;

static const char tensors[] = "tensors:\n  x: {shape: [6, 10], dtype: f32, role: input}\n  r: {shape: [10], dtype: f32, role: input}\n"
                              "  c: {shape: [6, 1], dtype: f16, role: input}\n  i: {shape: [1, 2, 9, 9], dtype: f32, role: input}\noperators:\n";
static const traffic_case cases[] = {
    {"every element once", "  - {op: exp, in: x, out: y}\n", {{"x", 240, 8}}},
    {"a row broadcast over rows is read once", "  - {op: add, in: [x, r], out: y}\n", {{"x", 240, 8}, {"r", 40, 2}}},
    {"a column broadcast over columns", "  - {op: add, in: [x, c], out: y}\n", {{"x", 240, 8}, {"c", 12, 1}}},
    /* columns 2 to 4 of 10-wide rows: bytes 8-19, 48-59, 88-99, ... lie in sectors 0, 1, 2+3, 4, 5, 6 */
    {"a slice reads the sectors it touches", "  - {op: slice, in: x, out: s, dim: 1, start: 2, size: 3}\n  - {op: exp, in: s, out: y}\n", {{"x", 72, 7}}},
    {"a transpose reads everything once", "  - {op: transpose, in: x, out: s, dims: [0, 1]}\n  - {op: exp, in: s, out: y}\n", {{"x", 240, 8}}},
    {"a row reduction", "  - {op: sum, in: x, out: y, dims: [1]}\n", {{"x", 240, 8}}},
    /* 1 x 1 windows with stride 3 touch rows and columns 0, 3, 6: 3 x 3 of 9 x 9 in two planes */
    {"strided windows leave elements out", "  - {op: max_pool2d, in: i, out: y, kernel: 1, stride: 3}\n", {{"i", 72, 0}}},
    {"overlapping windows read once", "  - {op: max_pool2d, in: i, out: y, kernel: 3, stride: 1}\n", {{"i", 648, 0}}},
};

static void kernels_read_what_they_touch(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        char text[2048];
        snprintf(text, sizeof text, "%s%s", tensors, cases[k].text);
        fsim_graph *g = fsim_graph_parse(a, d, "case.yaml", text, strlen(text), NULL, 0);
        assert_non_null(g);
        int node[8];
        fsim_group group;
        fsim_refusal why;
        for (int n = 0; n < g->nodes; n++)
            node[n] = n;
        const fsim_limits limits = {g, 99 << 10, false};
        assert_true(fsim_legal(&limits, node, g->nodes, a, &group, &why));
        for (int w = 0; w < 3 && cases[k].want[w].tensor; w++) {
            bool found = false;
            for (int r = 0; r < group.reads; r++) {
                if (strcmp(g->tensor[group.read[r].tensor].name, cases[k].want[w].tensor) != 0)
                    continue;
                const fsim_traffic t = fsim_read_traffic(g, &group.read[r], 32, 0, 1e9);
                found = true;
                if (t.compulsory_bytes != cases[k].want[w].bytes)
                    print_message("case '%s'\n", cases[k].name);
                assert_int_equal(t.compulsory_bytes, cases[k].want[w].bytes);
                if (cases[k].want[w].sectors)
                    assert_int_equal(t.sector_bytes, cases[k].want[w].sectors * 32);
            }
            assert_true(found);
        }
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_equal_the_walk),
        cmocka_unit_test(overlaps_are_walked),
        cmocka_unit_test(composition_is_pointwise),
        cmocka_unit_test(kernels_read_what_they_touch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
