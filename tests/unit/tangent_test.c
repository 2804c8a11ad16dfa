/* SPDX-License-Identifier: Apache-2.0 */
/* Whole graphs in double precision: <u, J v> by --jvp is <grad, v> by --train. Shipped workloads, and graphs among the
 * shared data where they are, with shapes scaled down; `tangent_test all` takes every one of those, `tangent_test
 * FILE` one workload.
 * depends: compiler memory cost: 3 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "graph/gradient.h"
#include "graph/scale.h"
#include "validate/reference/reference.h"
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { EVERY = 3 };
#else
enum { EVERY = 1 };
#endif

static const char *shared; /* the shared data's workloads */
static bool all;
static double most_points = 3e5;
static const double most_bytes = 6e7;

typedef struct {
    int graphs, refused, large, wrong, infinite;
} counts;

static double work_of(const fsim_graph *g)
{
    double points = 0;
    for (int n = 0; n < g->nodes; n++)
        points += (double)g->node[n].points * (double)g->node[n].reduced;
    return points;
}

static const fsim_graph *read_as(fsim_arena *a, const fsim_yaml *y, const char *path, fsim_derive_mode mode)
{
    const fsim_derive how = {.mode = mode};
    return fsim_graph_of(a, fsim_diag_new(a), path, y, &(fsim_bindings){NULL, 0, &how});
}

/* The document with shapes so short that both graphs are soon interpreted; NULL: there are none. */
static const fsim_yaml *short_enough(fsim_arena *a, const fsim_yaml *y, const char *path, bool *read)
{
    for (int64_t factor = 1; factor <= 1 << 20; factor *= 4) {
        const fsim_yaml *shorter = factor == 1 ? y : fsim_scale_shapes(a, y, factor);
        const fsim_graph *g = read_as(a, shorter, path, FSIM_REVERSE);
        *read = *read || g;
        if (g && g->gradients > 0 && work_of(g) <= most_points && fsim_reference_bytes(g) <= most_bytes &&
            !fsim_reference_lacks(g))
            return shorter;
    }
    return NULL;
}

static int tensor_named(const fsim_graph *g, const char *name)
{
    for (int t = 0; t < g->tensors; t++)
        if (strcmp(g->tensor[t].name, name) == 0)
            return t;
    return -1;
}

static const double *values(const fsim_reference *r, const fsim_graph *g, int t)
{
    return r->of[g->tensor[t].storage].value + g->tensor[t].offset;
}

typedef struct {
    double sum, size;
} product;

static void add_products(product *p, const double *x, const double *y, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        const double term = x ? x[k] * y[k] : y[k];
        p->sum += term;
        p->size += fabs(term);
    }
}

/* Is some index arbitrary, of equal elements that are sorted? */
static bool has_ties(const fsim_reference *r, const fsim_graph *g)
{
    for (int t = 0; t < g->tensors; t++)
        for (int64_t i = 0; i < g->tensor[t].elems && g->tensor[t].dtype == FSIM_I64 && g->tensor[t].storage == t; i++)
            if (isinf(r->of[t].bound[i]))
                return true;
    return false;
}

/* How far <u, J v> and <grad, v> are apart, of the size of their terms; -1: they overflow, or depend on the order of
 * equal elements. */
static double off_of(fsim_arena *a, const fsim_graph *back, const fsim_graph *beside)
{
    fsim_reference *r = fsim_reference_of(back, 1), *s = fsim_reference_of(beside, 1);
    product left = {0, 0}, right = {0, 0};
    for (int i = 0; i < back->gradients; i++) {
        const int of = back->gradient[i].of,
                  dot = tensor_named(beside, fsim_printf(a, "dot/%s", back->tensor[of].name));
        if (dot >= 0) /* without: what no output depends on */
            add_products(&right, values(r, back, back->gradient[i].tensor), values(s, beside, dot),
                         back->tensor[of].elems);
    }
    for (int i = 0; i < beside->gradients; i++) {
        const int of = beside->gradient[i].of,
                  u = tensor_named(back, fsim_printf(a, "grad/%s", beside->tensor[of].name));
        add_products(&left, beside->tensor[of].elems > 1 && u >= 0 ? values(r, back, u) : NULL,
                     values(s, beside, beside->gradient[i].tensor), beside->tensor[of].elems);
    }
    const bool ties = has_ties(r, back);
    fsim_reference_free(r);
    fsim_reference_free(s);
    const double size = fmax(left.size, right.size);
    return ties || isinf(size) || isnan(size) ? -1 : fabs(left.sum - right.sum) / fmax(size, 1e-300);
}

/* What other GPUs send is in no reference. */
static bool gathers(const fsim_graph *g)
{
    for (int n = 0; n < g->nodes; n++)
        if (g->node[n].op == FSIM_OP_ALL_GATHER || g->node[n].op == FSIM_OP_REDUCE_SCATTER)
            return true;
    return false;
}

static void try_graph(const char *path, counts *c)
{
    fsim_arena *a = fsim_arena_new();
    size_t bytes;
    const char *why = "", *text = fsim_read_file(a, path, &bytes, &why);
    const fsim_yaml *y = text ? fsim_yaml_parse(a, fsim_diag_new(a), path, text, bytes) : NULL;
    bool read = false;
    const fsim_yaml *shorter = y ? short_enough(a, y, path, &read) : NULL;
    const fsim_graph *back = shorter ? read_as(a, shorter, path, FSIM_REVERSE) : NULL,
                     *beside = shorter ? read_as(a, shorter, path, FSIM_TANGENTS) : NULL;
    c->refused += !read;
    c->large += read && !shorter;
    if (back && !beside) {
        print_error("%s: gradients, but no tangents\n", path);
        c->wrong++;
    }
    if (back && beside && !gathers(back)) {
        const double off = off_of(a, back, beside);
        c->graphs += off >= 0;
        c->infinite += off < 0;
        c->wrong += !(off <= 1e-10);
        if (!(off <= 1e-10))
            print_error("%s: off by %g\n", path, off);
    }
    if (!shorter && getenv("VERBOSE"))
        print_message("%s: %s\n", path, read ? "too large" : "refused");
    fsim_arena_free(a);
}

/* Every `step`-th workload of a folder. */
static void try_folder(const char *folder, int step, counts *c)
{
    struct dirent **entry;
    const int n = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0, k = 0; i < n; i++) {
        char path[4096];
        const size_t length = strlen(entry[i]->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        if (length > 5 && strcmp(entry[i]->d_name + length - 5, ".yaml") == 0 && k++ % step == 0)
            try_graph(path, c);
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
}

static void report(const counts *c)
{
    print_message("%d graphs, %d wrong; %d are not differentiated, %d too large, %d overflow or have ties\n", c->graphs,
                  c->wrong, c->refused, c->large, c->infinite);
    assert_int_equal(c->wrong, 0);
}

static void shipped(void **unused)
{
    (void)unused;
    static const char *const folders[] = {"", "golden", "liger", "ops", "seeds"};
    counts c = {0};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[4096];
        snprintf(path, sizeof path, FUSESIM_SOURCE_DIR "/workloads/%s", folders[i]);
        try_folder(path, EVERY, &c);
    }
    report(&c);
    assert_true(c.graphs > 40 / EVERY);
}

static void real_ones(void **unused)
{
    (void)unused;
    static const char *const folders[] = {"kernelbench/v0/l1",  "kernelbench/v0/l2",  "kernelbench/v0/l3",
                                          "kernelbench/v01/l1", "kernelbench/v01/l2", "kernelbench/v01/l3"};
    counts c = {0};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", shared, folders[i]);
        try_folder(path, all ? 1 : 9, &c);
    }
    if (c.graphs == 0) {
        print_message("no graphs in %s\n", shared);
        skip();
    }
    report(&c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shipped), cmocka_unit_test(real_ones)};
    const char *data = getenv("FUSESIM_SHARED");
    fsim_arena *a = fsim_arena_new();
    all = argc > 1 && strcmp(argv[1], "all") == 0;
    most_points *= argc > 1 ? 100 : 1;
    if (argc > 1 && !all) {
        counts one = {0};
        try_graph(argv[1], &one);
        fsim_arena_free(a);
        return one.graphs == 1 && one.wrong == 0 ? 0 : 1;
    }
    shared = fsim_printf(a, "%s/data/workloads", data ? data : FUSESIM_SOURCE_DIR "/../shared");
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fsim_arena_free(a);
    return failed;
}
