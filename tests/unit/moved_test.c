/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that move elements and compute nothing, a few behind each other, drawn by chance: each element of each
 * result is found by loops over indices. Compared: shapes, the reference's values, and what one kernel of all of them
 * reads. depends: compiler memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/price/price.h"
#include "predict.h"
#include "random.h"
#include "validate/reference/reference.h"
#include <stdio.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { DRAWS = 300 };
#else
enum { DRAWS = 2000 };
#endif
enum { RANK = 5, MOST_ELEMENTS = 4096, STEPS = 4 };

/* A tensor: its shape, and where in x each element comes from; -1: a zero. */
typedef struct {
    int rank, dim[RANK + 1], from[MOST_ELEMENTS];
} tensor;

static int elements_of(const tensor *t)
{
    int n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

static void index_of(const tensor *t, int element, int *index)
{
    for (int i = t->rank; i-- > 0; element /= t->dim[i])
        index[i] = element % t->dim[i];
}

/* The element at the index; -1 outside. */
static int at(const tensor *t, const int *index)
{
    int element = 0;
    for (int i = 0; i < t->rank; i++) {
        if (index[i] < 0 || index[i] >= t->dim[i])
            return -1;
        element = element * t->dim[i] + index[i];
    }
    return t->from[element];
}

typedef enum {
    PERMUTE,
    TRANSPOSE,
    SLICE,
    EXPAND,
    UNFOLD,
    FLIP,
    ROLL,
    PAD,
    RESHAPE,
    UNSQUEEZE,
    SQUEEZE,
    FLATTEN,
    SELECT,
    CONCAT,
    STACK,
    SPLIT,
    REPEATS,
    INTERLEAVE,
    TRIL,
    MOVES
} move;

/* What a move was drawn to do along dimension d (and e): numbers p and q. */
typedef struct {
    move what;
    int d, e, p, q;
} how;

/* The index in x of an element of y. */
static void back(const how *h, const tensor *x, const int *y, int *out)
{
    memcpy(out, y, sizeof *out * (RANK + 1));
    const int d = h->d;
    switch (h->what) {
    case PERMUTE: /* dimensions turned around: y's i is x's i + p */
        for (int i = 0; i < x->rank; i++)
            out[(i + h->p) % x->rank] = y[i];
        break;
    case TRANSPOSE:
        out[d] = y[h->e];
        out[h->e] = y[d];
        break;
    case SLICE:
    case SPLIT:
        out[d] = y[d] + h->p;
        break;
    case EXPAND:
        out[d] = 0;
        break;
    case UNFOLD:
        out[d] = y[d] * h->q + y[x->rank];
        break;
    case FLIP:
        out[d] = x->dim[d] - 1 - y[d];
        break;
    case ROLL:
        out[d] = ((y[d] - h->p) % x->dim[d] + x->dim[d]) % x->dim[d];
        break;
    case PAD:
        out[d] = y[d] - h->p;
        break;
    case SELECT:
        for (int i = x->rank; i-- > d + 1;)
            out[i] = y[i - 1];
        out[d] = h->p;
        break;
    case CONCAT:
    case REPEATS:
        out[d] = y[d] % x->dim[d];
        break;
    case STACK:
        for (int i = d; i < x->rank; i++)
            out[i] = y[i + 1];
        break;
    case INTERLEAVE:
        out[d] = y[d] / h->p;
        break;
    default:
        break;
    }
}

/* The operator's line, and the shape that y has by the definition; NULL: x has no place for it. */
static const char *draw_move(fsim_arena *a, how *h, const tensor *x, tensor *y)
{
    const int last = x->rank - 1, d = h->d, length = x->dim[d];
    *y = (tensor){.rank = x->rank};
    memcpy(y->dim, x->dim, sizeof y->dim);
    const char *text = "";
    switch (h->what) {
    case PERMUTE:
        h->p = (int)draw((uint32_t)x->rank);
        for (int i = 0; i < x->rank; i++) {
            y->dim[i] = x->dim[(i + h->p) % x->rank];
            text = fsim_printf(a, "%s%s%d", text, i ? ", " : "", (i + h->p) % x->rank);
        }
        return fsim_printf(a, "permute, dim: [%s]", text);
    case TRANSPOSE:
        y->dim[d] = x->dim[h->e];
        y->dim[h->e] = length;
        return fsim_printf(a, "transpose, dim: [%d, %d]", d, h->e - x->rank);
    case SLICE:
        h->p = (int)draw((uint32_t)length);
        y->dim[d] = 1 + (int)draw((uint32_t)(length - h->p));
        return draw(2) ? fsim_printf(a, "slice, dim: %d, start: %d, end: %d", d, h->p, h->p + y->dim[d])
                       : fsim_printf(a, "slice, dim: %d, start: %d, size: %d", d - x->rank, h->p - length, y->dim[d]);
    case EXPAND:
        if (length != 1)
            return NULL;
        y->dim[d] = 2 + (int)draw(2);
        for (int i = 0; i < x->rank; i++)
            text = fsim_printf(a, "%s%s%d", text, i ? ", " : "", i == d ? y->dim[d] : -1);
        return fsim_printf(a, "expand, shape: [%s]", text);
    case UNFOLD:
        h->p = 1 + (int)draw((uint32_t)length);
        h->q = 1 + (int)draw(3);
        y->dim[d] = (length - h->p) / h->q + 1;
        y->dim[y->rank++] = h->p;
        return fsim_printf(a, "unfold, dim: %d, size: %d, step: %d", d, h->p, h->q);
    case FLIP:
        return fsim_printf(a, "flip, dim: [%d]", d);
    case ROLL:
        h->p = (int)draw(7) - 3;
        return fsim_printf(a, "roll, roll: [%d], dim: [%d]", h->p, d);
    case PAD: /* of the last dimension first */
        h->p = (int)draw(3) - (length > 1);
        h->q = (int)draw(3);
        y->dim[d] = length + h->p + h->q;
        for (int i = last; i > d; i--)
            text = fsim_printf(a, "%s0, 0, ", text);
        return fsim_printf(a, "pad, padding: [%s%d, %d]", text, h->p, h->q);
    case RESHAPE: /* two neighbours as one, and that again as a pair */
        if (d == last)
            return NULL;
        y->dim[d] = x->dim[d + 1];
        y->dim[d + 1] = length;
        for (int i = 0; i < x->rank; i++)
            text = fsim_printf(a, "%s%s%d", text, i ? ", " : "", i == h->e ? -1 : y->dim[i]);
        return fsim_printf(a, "reshape, shape: [%s]", text);
    case UNSQUEEZE:
    case STACK:
        for (int i = y->rank++; i > d; i--)
            y->dim[i] = y->dim[i - 1];
        y->dim[d] = h->what == STACK ? 2 : 1;
        return fsim_printf(a, "%s, dim: %d", h->what == STACK ? "stack" : "unsqueeze", d);
    case SQUEEZE:
    case SELECT:
        if (x->rank == 1 || (h->what == SQUEEZE && length != 1))
            return NULL;
        for (int i = d; i < last; i++)
            y->dim[i] = x->dim[i + 1];
        y->rank--;
        h->p = h->what == SELECT ? (int)draw((uint32_t)length) : 0;
        return h->what == SELECT ? fsim_printf(a, "select, dim: %d, index: %d", d, draw(2) ? h->p : h->p - length)
                                 : fsim_printf(a, "squeeze, dim: %d", d);
    case FLATTEN: { /* from d to e */
        const int first = d < h->e ? d : h->e, end = d < h->e ? h->e : d;
        for (int i = first + 1; i <= end; i++)
            y->dim[first] *= x->dim[i];
        for (int i = end + 1; i < x->rank; i++)
            y->dim[first + i - end] = x->dim[i];
        y->rank -= end - first;
        return fsim_printf(a, "flatten, start_dim: %d, end_dim: %d", first, end - x->rank);
    }
    case CONCAT:
        y->dim[d] = 2 * length;
        return fsim_printf(a, "concat, dim: %d", d);
    case SPLIT: /* pieces of p; the second one */
        h->p = 1 + (int)draw(2);
        if (length <= h->p || length > 2 * h->p)
            return NULL;
        y->dim[d] = length - h->p;
        return fsim_printf(a, "split, dim: %d, size: [%d, %d]", d, h->p, y->dim[d]);
    case REPEATS:
        y->dim[d] = 2 * length;
        for (int i = 0; i < x->rank; i++)
            text = fsim_printf(a, "%s%s%d", text, i ? ", " : "", i == d ? 2 : 1);
        return fsim_printf(a, "expand, repeats: [%s]", text);
    case INTERLEAVE:
        h->p = 1 + (int)draw(3);
        y->dim[d] = length * h->p;
        return fsim_printf(a, "repeat_interleave, dim: %d, repeats: %d", d, h->p);
    case TRIL:
        if (x->rank < 2)
            return NULL;
        h->p = (int)draw(5) - 2;
        return fsim_printf(a, "tril, diagonal: %d", h->p);
    case MOVES:
        break;
    }
    return NULL;
}

/* Fills in where the elements of y come from. */
static void follow(const how *h, const tensor *x, tensor *y)
{
    const bool view =
        h->what == RESHAPE || h->what == UNSQUEEZE || h->what == SQUEEZE || h->what == FLATTEN || h->what == TRIL;
    for (int i = 0; i < elements_of(y); i++) {
        int to[RANK + 1] = {0}, from[RANK + 1];
        index_of(y, i, to);
        back(h, x, to, from);
        y->from[i] = view ? x->from[i] : at(x, from);
        if (h->what == TRIL && to[y->rank - 1] > to[y->rank - 2] + h->p)
            y->from[i] = -1;
    }
}

static int named(const fsim_graph *g, const char *name)
{
    for (int t = 0; t < g->tensors; t++)
        if (strcmp(g->tensor[t].name, name) == 0)
            return t;
    fail_msg("no tensor %s", name);
    return -1;
}

static void check_tensor(const fsim_graph *g, const fsim_reference *r, const char *name, const tensor *t,
                         const char *text)
{
    const fsim_tensor *got = &g->tensor[named(g, name)];
    const double *x = r->of[named(g, "x")].value, *v = r->of[got->storage].value;
    assert_int_equal(got->shape.rank, t->rank);
    for (int i = 0; i < t->rank; i++)
        assert_int_equal(got->shape.dim[i], t->dim[i]);
    for (int i = 0; i < elements_of(t) && got->storage == named(g, name); i++)
        if (v[i] != (t->from[i] < 0 ? 0 : x[t->from[i]]))
            fail_msg("element %d of %s is %g, by loops %g:\n%s", i, name, v[i], t->from[i] < 0 ? 0 : x[t->from[i]],
                     text);
}

typedef struct {
    int programs, kernels, maps;
} tally;

/* All primitives as one kernel: where a single map says what it reads of x, it is where each element comes from. */
static void check_kernel(const fsim_graph *g, const fsim_hw *hw, const tensor *t, const char *text, fsim_arena *a,
                         tally *sums)
{
    const fsim_options options = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM};
    fsim_problem p = fsim_problem_of(g, hw, &options, a);
    int *node = fsim_new(a, int, g->nodes + 1);
    for (int n = 0; n < g->nodes; n++)
        node[n] = n;
    const fsim_kernel *k = g->nodes > 0 ? fsim_kernel_alone(&p, node, g->nodes, a) : NULL;
    if (!k)
        return;
    sums->kernels++;
    const fsim_group *o = k->group;
    bool met[MOST_ELEMENTS] = {false}, wanted[MOST_ELEMENTS] = {false};
    int64_t distinct = 0, needed = 0;
    for (int i = 0; i < elements_of(t); i++)
        if (t->from[i] >= 0 && !wanted[t->from[i]]) {
            wanted[t->from[i]] = true;
            needed++;
        }
    if (o->reads != 1 || o->writes != 1 || o->read[0].unmapped || o->reduced != 1 || o->points != elements_of(t))
        return;
    const fsim_read *r = &o->read[0];
    for (int m = 0; m < r->maps; m++)
        for (int64_t q = 0; q < o->points && !r->place; q++) {
            const int64_t from = fsim_map_at(&r->map[m], q, 0), to = fsim_map_at(&o->write[0].map, q, 0);
            if (r->maps == 1 && t->from[to] >= 0 && from != t->from[to])
                fail_msg("point %lld of the kernel reads element %lld, by loops %d:\n%s", (long long)q, (long long)from,
                         t->from[to], text);
            distinct += from >= 0 && from < MOST_ELEMENTS && !met[from];
            met[from] = true;
        }
    sums->maps += r->maps == 1 && !r->place;
    if (!r->place && distinct == needed && r->bytes != 4 * needed)
        fail_msg("%lld bytes are read, by loops %lld:\n%s", (long long)r->bytes, (long long)(4 * needed), text);
}

static void moves_by_loops(void **unused)
{
    (void)unused;
    static tensor t[STEPS + 1];
    fsim_arena *all = fsim_arena_new();
    const fsim_hw *hw = fsim_hw_read(all, fsim_diag_new(all), FUSESIM_SOURCE_DIR "/tests/hw/toy.yaml");
    tally sums = {0};
    for (int seed = 1; seed <= DRAWS; seed++) {
        fsim_arena *a = fsim_arena_new();
        state = (uint64_t)seed;
        t[0].rank = 1 + (int)draw(4);
        for (int i = 0; i < t[0].rank; i++)
            t[0].dim[i] = 1 + (int)draw(4);
        for (int i = 0; i < elements_of(&t[0]); i++)
            t[0].from[i] = i;
        const char *shape = "", *lines = "", *name[STEPS + 1] = {"x"};
        for (int i = 0; i < t[0].rank; i++)
            shape = fsim_printf(a, "%s%s%d", shape, i ? ", " : "", t[0].dim[i]);
        int steps = 0;
        for (int tries = 0; tries < 12 && steps < 1 + seed % STEPS; tries++) {
            const tensor *x = &t[steps];
            how h = {(move)draw(MOVES), (int)draw((uint32_t)x->rank), (int)draw((uint32_t)x->rank), 0, 0};
            const char *line = draw_move(a, &h, x, &t[steps + 1]);
            if (!line || t[steps + 1].rank > RANK || elements_of(&t[steps + 1]) > MOST_ELEMENTS / 8)
                continue;
            follow(&h, x, &t[steps + 1]);
            const char *in = name[steps++];
            name[steps] = fsim_printf(a, "t%d", steps);
            lines = fsim_printf(a, "%s  - {op: %s, in: %s, out: %s}\n", lines, line,
                                h.what == CONCAT || h.what == STACK ? fsim_printf(a, "[%s, %s]", in, in) : in,
                                h.what == SPLIT ? fsim_printf(a, "[u%d, %s]", steps, name[steps]) : name[steps]);
        }
        const char *text = fsim_printf(a, "tensors:\n  x: {shape: [%s], dtype: f32}\noperators:\n%soutputs: [%s]\n",
                                       shape, lines, name[steps]);
        fsim_diag *d = fsim_diag_new(a);
        const fsim_graph *g = steps > 0 ? fsim_graph_parse(a, d, "moved.yaml", text, strlen(text), NULL) : NULL;
        if (steps > 0 && !g) {
            fsim_diag_print(d, stderr, false);
            fail_msg("%s", text);
        }
        if (g) {
            fsim_reference *r = fsim_reference_of(g, 1);
            for (int i = 1; i <= steps; i++)
                check_tensor(g, r, name[i], &t[i], text);
            check_kernel(g, hw, &t[steps], text, a, &sums);
            sums.programs++;
            fsim_reference_free(r);
        }
        fsim_arena_free(a);
    }
    printf("%d programs, %d of them one kernel, %d with one map\n", sums.programs, sums.kernels, sums.maps);
    assert_true(sums.programs >= DRAWS * 9 / 10 && sums.maps >= DRAWS / 4);
    fsim_arena_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(moves_by_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
