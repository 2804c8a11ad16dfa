/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 2 */
/* Index maps and traffic against an oracle that walks every point of small shapes and counts what it touches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cost/traffic.h"
#include "fusion/fuse.h"
#include "predict.h"
#include <stdlib.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { MAPS = 500 };
#else
enum { MAPS = 4000 };
#endif

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

/* Requests of whole rows, where neighbouring points read neighbours, also from row to row: known without a walk. */
static void rows_request_each_sector_once(void **unused)
{
    (void)unused;
    static const int64_t rows[] = {1, 3, 8, 32, 100}, cols[] = {4, 7, 32, 64};
    static const int bytes[] = {1, 2, 4, 8};
    for (size_t i = 0; i < 5 * 4 * 4 * 3; i++) {
        const int64_t r = rows[i % 5], c = cols[i / 5 % 4], offset = (int64_t)(i / 80) * 16;
        const int elem = bytes[i / 20 % 4];
        fsim_map m = {.offset = offset};
        int64_t requested = 0;
        fsim_map_push(&m, r, c);
        m.split = m.modes;
        fsim_map_push(&m, c, 1);
        for (int64_t from = 0; from < r * c; from += 32) {
            const int64_t to = from + 32 < r * c ? from + 32 : r * c;
            requested += (offset + to - 1) * elem / 32 - (offset + from) * elem / 32 + 1;
        }
        assert_true(fsim_map_requests(&m, elem, 32, 32) == (double)requested);
    }
}

static void counts_equal_the_walk(void **unused)
{
    (void)unused;
    static const int bytes[] = {1, 2, 4, 8};
    state = 1;
    for (int turn = 0; turn < MAPS; turn++) {
        const fsim_map m = random_map();
        const int64_t P = fsim_map_points(&m), R = fsim_map_reduced(&m);
        const int elem = bytes[draw(4)];
        int64_t *element = malloc((size_t)(P * R) * sizeof *element),
                *sector = malloc((size_t)(P * R) * sizeof *sector), requested = 0, warp[32];
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
        int64_t bytes,
            sectors; /* distinct elements and 32-byte sectors, counted by hand or by the walk named beside it */
    } want[3];
} traffic_case;

static const char tensors[] =
    "tensors:\n  x: {shape: [6, 10], dtype: f32, role: input}\n  r: {shape: [10], dtype: f32, role: input}\n"
    "  c: {shape: [6, 1], dtype: f16, role: input}\n  i: {shape: [1, 2, 9, 9], dtype: f32, role: input}\noperators:\n";
static const traffic_case cases[] = {
    {"every element once", "  - {op: exp, in: x, out: y}\n", {{"x", 240, 8}}},
    {"a row broadcast over rows is read once", "  - {op: add, in: [x, r], out: y}\n", {{"x", 240, 8}, {"r", 40, 2}}},
    {"a column broadcast over columns", "  - {op: add, in: [x, c], out: y}\n", {{"x", 240, 8}, {"c", 12, 1}}},
    /* columns 2 to 4 of 10-wide rows: bytes 8-19, 48-59, 88-99, ... lie in sectors 0, 1, 2+3, 4, 5, 6 */
    {"a slice reads the sectors it touches",
     "  - {op: slice, in: x, out: s, dim: 1, start: 2, size: 3}\n  - {op: exp, in: s, out: y}\n",
     {{"x", 72, 7}}},
    {"a transpose reads everything once",
     "  - {op: transpose, in: x, out: s, dims: [0, 1]}\n  - {op: exp, in: s, out: y}\n",
     {{"x", 240, 8}}},
    {"a row reduction", "  - {op: sum, in: x, out: y, dims: [1]}\n", {{"x", 240, 8}}},
    /* 1 x 1 windows with stride 3 touch rows and columns 0, 3, 6: 3 x 3 of 9 x 9 in two planes */
    {"strided windows leave elements out",
     "  - {op: max_pool2d, in: i, out: y, kernel: 1, stride: 3}\n",
     {{"i", 72, 0}}},
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
        fsim_graph *g = fsim_graph_parse(a, d, "case.yaml", text, strlen(text), NULL);
        assert_non_null(g);
        int node[8];
        fsim_group group;
        fsim_refusal why;
        for (int n = 0; n < g->nodes; n++)
            node[n] = n;
        const fsim_limits limits = {.graph = g, .shared_per_block = 99 << 10, .strict = false};
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

/* Producers under windows: computed for every tap that falls on an element. */
static void windows_compute_their_taps(void **unused)
{
    (void)unused;
    state = 4;
    for (int turn = 0; turn < 400; turn++) {
        const int rows = 3 + draw(12), columns = 3 + draw(12), taps = 1 + draw(3), stride = 1 + draw(4),
                  pad = draw(taps / 2 + 1);
        int64_t computed = 0, elements = 0;
        char text[1024], seen[16][16] = {{0}};
        snprintf(
            text, sizeof text,
            "tensors:\n  x: {shape: [3, %d, %d], dtype: f32, role: input}\noperators:\n  - {op: exp, in: x, out: e}\n"
            "  - {op: max_pool2d, in: e, out: y, kernel: %d, stride: %d, padding: %d}\n",
            rows, columns, taps, stride, pad);
        for (int r = -pad; r + taps <= rows + pad; r += stride)
            for (int c = -pad; c + taps <= columns + pad; c += stride)
                for (int k = 0; k < taps * taps; k++) {
                    const int at_r = r + k / taps, at_c = c + k % taps;
                    if (at_r < 0 || at_r >= rows || at_c < 0 || at_c >= columns)
                        continue;
                    computed += 3;
                    elements += seen[at_r][at_c] ? 0 : 3;
                    seen[at_r][at_c] = 1;
                }
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_graph *g = fsim_graph_parse(a, d, "pool.yaml", text, strlen(text), NULL);
        assert_non_null(g);
        const fsim_limits limits = {.graph = g, .shared_per_block = 99 << 10, .strict = false};
        const int node[2] = {0, 1};
        fsim_group made;
        fsim_refusal why;
        if (g->node[1].arg[0].how == FSIM_READ_WINDOW) { /* one window over everything is a reduction */
            assert_true(fsim_group_of(&limits, &(fsim_selection){.node = node, .count = 2}, a, &made, &why));
            assert_int_equal(made.member[0].evaluations, computed);
            if (pad == 0 || stride <= taps) /* windows that leave gaps and need padding count the gaps */
                assert_int_equal(fsim_read_traffic(g, &made.read[0], 32, 0, 1e9).compulsory_bytes, 4 * elements);
        }
        fsim_arena_free(a);
    }
}

/* Producers of a gathered table: computed for every element that is taken. */
static void gathers_compute_what_they_take(void **unused)
{
    (void)unused;
    static const struct {
        const char *operators;
        int64_t evaluations, table_bytes, bias_bytes;
    } row[] = {
        {"  - {op: exp, in: table, out: e}\n  - {op: add, in: [e, bias], out: f}\n  - {op: gather, in: [f, index], "
         "out: y}\n",
         5 * 12, 5 * 12 * 4, 12 * 4},
        {"  - {op: transpose, in: turned, out: e}\n  - {op: add, in: [e, bias], out: f}\n  - {op: gather, in: [f, "
         "index], out: y}\n",
         5 * 12, 5 * 12 * 4, 12 * 4},
        {"  - {op: add, in: [table, bias], out: f}\n  - {op: gather, in: [f, index], out: t}\n  - {op: transpose, in: "
         "t, out: s}\n  - {op: exp, in: s, out: y}\n",
         5 * 12, 5 * 12 * 4, 12 * 4},
        {"  - {op: add, in: [table, bias], out: f}\n  - {op: gather, in: [f, index], out: t}\n  - {op: sum, in: t, "
         "out: y, dims: [1]}\n",
         5 * 12, 5 * 12 * 4, 12 * 4},
        {"  - {op: add, in: [table, bias], out: f}\n  - {op: gather, in: [f, index], out: t}\n  - {op: sum, in: t, "
         "out: y, dims: [0]}\n",
         5 * 12, 5 * 12 * 4, 12 * 4},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const char *text = fsim_printf(a,
                                       "tensors:\n  table: {shape: [100, 12], dtype: f32, role: input}\n  turned: "
                                       "{shape: [12, 100], dtype: f32, role: input}\n"
                                       "  bias: {shape: [12], dtype: f32, role: input}\n  index: {shape: [5], dtype: "
                                       "i64, role: input}\noperators:\n%s",
                                       row[i].operators);
        const fsim_graph *g = fsim_graph_parse(a, d, "gather.yaml", text, strlen(text), NULL);
        assert_non_null(g);
        int node[8];
        for (int n = 0; n < g->nodes; n++)
            node[n] = n;
        const fsim_limits limits = {.graph = g, .shared_per_block = 99 << 10, .strict = false};
        fsim_group made;
        fsim_refusal why;
        assert_true(fsim_group_of(&limits, &(fsim_selection){.node = node, .count = g->nodes}, a, &made, &why));
        assert_int_equal(made.member[0].evaluations, row[i].evaluations);
        for (int r = 0; r < made.reads; r++) {
            const char *name = g->tensor[made.read[r].tensor].name;
            const int64_t bytes = fsim_read_traffic(g, &made.read[r], 32, 0, 1e9).compulsory_bytes;
            assert_int_equal(bytes, name[0] == 't' ? row[i].table_bytes : name[0] == 'b' ? row[i].bias_bytes : 5 * 8);
        }
        fsim_arena_free(a);
    }
}

/* Trees of concat, pad, roll, slice, flip and transpose over matrices: how often each value is computed, and which
 * input elements are read, against a walk of every output element down the tree. */
enum { TREE_NODES = 32 }; /* depth 4, two arguments */
typedef enum { LEAF, NEGATE, TURN, FLIP, SLICE, PAD, ROLL, JOIN, TREE_KINDS } tree_kind;

typedef struct {
    tree_kind kind;
    int rows, columns, arg[2], by[2]; /* by: start of a slice, padding before, shift, dimension of a join or flip */
    int64_t wanted;
    char *touched;                /* leaf */
    int64_t requests;             /* leaf: sectors that warps of 32 results ask for */
    int last, asked[32], askings; /* ... the warp before, and what it asked for */
} tree_node;

typedef struct {
    tree_node node[TREE_NODES];
    int count;
    char text[4096];
} tree;

static int grow_tree(tree *t, int depth, int rows, int columns)
{
    const tree_kind kind = depth == 0 ? LEAF : (tree_kind)draw(TREE_KINDS);
    tree_node n = {.kind = kind, .rows = rows, .columns = columns, .arg = {-1, -1}};
    char line[256] = "";
    if (kind == NEGATE || kind == FLIP || kind == ROLL) {
        n.arg[0] = grow_tree(t, depth - 1, rows, columns);
        n.by[0] = kind == ROLL ? draw(2 * rows) - rows : draw(2);
        n.by[1] = draw(2 * columns) - columns;
        if (kind == NEGATE)
            snprintf(line, sizeof line, "{op: neg, in: t%d", n.arg[0]);
        else if (kind == FLIP)
            snprintf(line, sizeof line, "{op: flip, in: t%d, dims: [%d]", n.arg[0], n.by[0]);
        else
            snprintf(line, sizeof line, "{op: roll, in: t%d, dims: [0, 1], roll: [%d, %d]", n.arg[0], n.by[0], n.by[1]);
    } else if (kind == TURN) {
        n.arg[0] = grow_tree(t, depth - 1, columns, rows);
        snprintf(line, sizeof line, "{op: transpose, in: t%d", n.arg[0]);
    } else if (kind == SLICE) {
        const int more = draw(3), wide = draw(5);
        n.arg[0] = grow_tree(t, depth - 1, rows + more, columns + wide);
        n.by[0] = draw(more + 1);
        n.by[1] = draw(wide + 1);
        snprintf(line, sizeof line, "{op: slice, in: t%d, start: [%d, %d], size: [%d, %d]", n.arg[0], n.by[0], n.by[1],
                 rows, columns);
    } else if (kind == PAD) {
        const int have_rows = 1 + draw(rows), have_columns = 1 + draw(columns);
        n.by[0] = draw(rows - have_rows + 1);
        n.by[1] = draw(columns - have_columns + 1);
        n.arg[0] = grow_tree(t, depth - 1, have_rows, have_columns);
        snprintf(line, sizeof line, "{op: pad, in: t%d, padding: [%d, %d, %d, %d]", n.arg[0], n.by[1],
                 columns - have_columns - n.by[1], n.by[0], rows - have_rows - n.by[0]);
    } else if (kind == JOIN) {
        const int dim = draw(2), all = dim ? columns : rows, first = all > 1 ? 1 + draw(all - 1) : 1;
        if (all == 1)
            return grow_tree(t, depth - 1, rows, columns);
        n.by[0] = dim;
        n.arg[0] = grow_tree(t, depth - 1, dim ? rows : first, dim ? first : columns);
        n.arg[1] = grow_tree(t, depth - 1, dim ? rows : all - first, dim ? all - first : columns);
        snprintf(line, sizeof line, "{op: concat, in: [t%d, t%d], dim: %d", n.arg[0], n.arg[1], dim);
    } else {
        n.kind = LEAF;
        n.touched = calloc((size_t)(rows * columns), 1);
    }
    const size_t used = strlen(t->text);
    if (n.kind != LEAF)
        snprintf(t->text + used, sizeof t->text - used, "  - %s, out: t%d}\n", line, t->count);
    t->node[t->count] = n;
    return t->count++;
}

static void ask(tree_node *n, int point, int sector)
{
    if (n->last != point / 32 + 1)
        n->askings = 0;
    n->last = point / 32 + 1;
    for (int i = 0; i < n->askings; i++)
        if (n->asked[i] == sector)
            return;
    n->asked[n->askings++] = sector;
    n->requests++;
}

/* Value i is wanted at (r, c), for result `point`: so are its arguments, somewhere. */
static void want_value(tree *t, int point, int i, int r, int c)
{
    tree_node *n = &t->node[i];
    const tree_node *x = n->arg[0] >= 0 ? &t->node[n->arg[0]] : n;
    n->wanted++;
    switch (n->kind) {
    case NEGATE:
        want_value(t, point, n->arg[0], r, c);
        break;
    case TURN:
        want_value(t, point, n->arg[0], c, r);
        break;
    case FLIP:
        want_value(t, point, n->arg[0], n->by[0] ? r : n->rows - 1 - r, n->by[0] ? n->columns - 1 - c : c);
        break;
    case SLICE:
        want_value(t, point, n->arg[0], r + n->by[0], c + n->by[1]);
        break;
    case ROLL:
        want_value(t, point, n->arg[0], ((r - n->by[0]) % n->rows + n->rows) % n->rows,
                   ((c - n->by[1]) % n->columns + n->columns) % n->columns);
        break;
    case PAD:
        if (r >= n->by[0] && r < n->by[0] + x->rows && c >= n->by[1] && c < n->by[1] + x->columns)
            want_value(t, point, n->arg[0], r - n->by[0], c - n->by[1]);
        break;
    case JOIN:
        if ((n->by[0] ? c : r) < (n->by[0] ? x->columns : x->rows))
            want_value(t, point, n->arg[0], r, c);
        else
            want_value(t, point, n->arg[1], n->by[0] ? r : r - x->rows, n->by[0] ? c - x->columns : c);
        break;
    case LEAF:
    case TREE_KINDS:
        n->touched[r * n->columns + c] = 1;
        ask(n, point, (r * n->columns + c) / 8);
        break;
    }
}

static int64_t touched(const tree_node *n)
{
    int64_t count = 0;
    for (int i = 0; i < n->rows * n->columns; i++)
        count += n->touched[i];
    return count;
}

static void pieces_equal_the_walk(void **unused)
{
    (void)unused;
    int legal = 0, refused = 0, asked = 0;
    state = 3;
    for (int turn = 0; turn < 3000; turn++) {
        static tree t;
        t = (tree){0};
        const int root = grow_tree(&t, 4, 1 + draw(12), 1 + draw(40));
        if (t.node[root].kind == LEAF ||
            t.node[root].kind == SLICE) { /* a slice of rows is a view: all of what it views is made */
            for (int i = 0; i < t.count; i++)
                free(t.node[i].touched);
            continue;
        }
        for (int p = 0; p < t.node[root].rows * t.node[root].columns; p++)
            want_value(&t, p, root, p / t.node[root].columns, p % t.node[root].columns);
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const char *text = "tensors:\n";
        for (int i = 0; i < t.count; i++)
            if (t.node[i].kind == LEAF)
                text = fsim_printf(a, "%s  t%d: {shape: [%d, %d], dtype: f32, role: input}\n", text, i, t.node[i].rows,
                                   t.node[i].columns);
        text = fsim_printf(a, "%soperators:\n%s", text, t.text);
        const fsim_graph *g = fsim_graph_parse(a, d, "tree.yaml", text, strlen(text), NULL);
        if (!g)
            fsim_diag_print(d, stderr, false);
        assert_non_null(g);
        int *node = fsim_new(a, int, g->nodes + 1);
        for (int n = 0; n < g->nodes; n++)
            node[n] = n;
        fsim_group made;
        fsim_refusal why;
        const fsim_limits limits = {.graph = g, .shared_per_block = 99 << 10, .strict = false};
        const bool ok =
            g->nodes > 0 && fsim_group_of(&limits, &(fsim_selection){.node = node, .count = g->nodes}, a, &made, &why);
        legal += ok;
        refused += !ok;
        for (int i = 0; ok && i < made.members; i++) {
            int at;
            assert_int_equal(sscanf(g->node[made.member[i].node].name, "t%d", &at), 1);
            if (made.member[i].evaluations != t.node[at].wanted)
                print_message("%st%d is computed %lld times, wanted %lld\n", text, at,
                              (long long)made.member[i].evaluations, (long long)t.node[at].wanted);
            assert_int_equal(made.member[i].evaluations, t.node[at].wanted);
        }
        for (int i = 0; ok && i < made.reads; i++) {
            int at;
            assert_int_equal(sscanf(g->tensor[made.read[i].tensor].name, "t%d", &at), 1);
            const fsim_traffic read = fsim_read_traffic(g, &made.read[i], 32, 0, 1e9);
            if (made.read[i].maps > 0 && read.compulsory_bytes != 4 * touched(&t.node[at]))
                print_message("%st%d: %lld bytes, wanted %lld\n", text, at, (long long)read.compulsory_bytes,
                              (long long)(4 * touched(&t.node[at])));
            assert_true(made.read[i].maps == 0 || read.compulsory_bytes == 4 * touched(&t.node[at]));
            const fsim_map *place = made.read[i].maps == 1 && made.read[i].place ? &made.read[i].place[0] : NULL;
            const bool long_runs = place && place->modes && place->mode[place->modes - 1].stride == 1 &&
                                   place->mode[place->modes - 1].extent >= 32;
            asked += place && !long_runs;
            assert_true(!place || long_runs || read.direct_bytes == 32 * (double)t.node[at].requests);
        }
        for (int i = 0; i < t.count; i++)
            free(t.node[i].touched);
        fsim_arena_free(a);
    }
    assert_true(legal > 2000 && refused < legal / 10 && asked > 1000);
}

/* Lanes that ranges leave idle. */
static void short_ranges_diverge(void **unused)
{
    (void)unused;
    static const struct {
        int64_t start, rows, period, run;
        double divergence;
    } row[] = {
        {0, 100, 256, 128, 1},                          /* whole warps */
        {128, 100, 256, 128, 1},    {0, 100, 32, 4, 8}, /* every warp has four lanes of it */
        {1, 1000, 3, 1, 3},                             /* one lane in three */
        {0, 1, 0, 1000, 1.024},                         /* the last warp alone is not full */
        {100, 50, 1000, 100, 1.31},                     /* begins and ends within a warp */
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        fsim_map place = {.offset = row[i].start};
        fsim_map_push(&place, row[i].rows, row[i].period);
        fsim_map_push(&place, row[i].run, 1);
        place.split = place.modes;
        const double got = fsim_piece_divergence(&place, 32);
        if (got < row[i].divergence - 1e-9 || got > row[i].divergence + 1e-9)
            print_message("row %d: %g, wanted %g\n", (int)i, got, row[i].divergence);
        assert_true(got > row[i].divergence - 1e-9 && got < row[i].divergence + 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_request_each_sector_once),
        cmocka_unit_test(counts_equal_the_walk),
        cmocka_unit_test(overlaps_are_walked),
        cmocka_unit_test(composition_is_pointwise),
        cmocka_unit_test(kernels_read_what_they_touch),
        cmocka_unit_test(windows_compute_their_taps),
        cmocka_unit_test(gathers_compute_what_they_take),
        cmocka_unit_test(pieces_equal_the_walk),
        cmocka_unit_test(short_ranges_diverge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
