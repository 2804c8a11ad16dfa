/* SPDX-License-Identifier: Apache-2.0 */
/* Each operator's example, and the same with one thing changed: a dimension, a dtype, an input, an attribute. What is
 * refused says why, once, and names the operator; of what is not, every read lies in its tensor and is as large as the
 * primitive says. depends: memory cost: 1 */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs those above */

#include "graph/example.h"
#include "graph/graph.h"
#include "small_example.h"
#include "validate/reference/reference.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGES = 17 };

/* The first `from` in text becomes `to`; NULL: there is none. */
static const char *with(fsim_arena *a, const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    return at ? fsim_printf(a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) : NULL;
}

/* The last of them. */
static const char *with_last(fsim_arena *a, const char *text, const char *from, const char *to)
{
    const char *at = NULL;
    for (const char *next = text; (next = strstr(next, from)); next++)
        at = next;
    return at ? fsim_printf(a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) : NULL;
}

/* The example with change i; NULL where it has nothing of the kind. */
static const char *changed(fsim_arena *a, const char *text, int i)
{
    switch (i) {
    case 0:
        return text;
    case 1:
        return made_small(a, text);
    case 2: /* one more in the last dimension of the first tensor */
        return with(a, text, "], dtype", "1], dtype");
    case 3: /* and of the last one */
        return with_last(a, text, "], dtype", "1], dtype");
    case 4:
        return with(a, text, "shape: [", "shape: [3, ");
    case 5:
        return with_last(a, text, "shape: [", "shape: [3, ");
    case 6:
        return with(a, text, "dtype: f16", "dtype: i64");
    case 7:
        return with_last(a, text, "dtype: f16", "dtype: bool");
    case 8:
        return with_last(a, text, "dtype: f16", "dtype: f32");
    case 9:
        return with(a, text, "dtype: i64", "dtype: f32");
    case 10: /* an input less; */
        return with(a, text, "in: [x, ", "in: [");
    case 11: /* one more */
        return with(a, text, "in: [x, ", "in: [x, x, ");
    case 12:
        return with_last(a, text, "dim: 1", "dim: 7");
    case 13:
        return with_last(a, text, "}\n", ", dim: -9}\n");
    case 14:
        return with_last(a, text, "}\n", ", nothing: 1}\n");
    case 15:
        return with(a, text, "shape: [", "shape: [0, ");
    default:
        return with_last(a, text, "out: ", "out: [q, p, o, k], was: ");
    }
}

/* Do the elements that an access reads by a map lie in its tensor's memory, are they as many as it says, and does it
 * have as many points as the primitive? */
static void check_read(const fsim_graph *g, const fsim_node *n, const fsim_access *x, const char *text)
{
    const fsim_tensor *t = &g->tensor[g->tensor[x->tensor].storage];
    int64_t low = x->map.offset, high = x->map.offset;
    bool exact;
    for (int i = 0; i < x->map.modes; i++) {
        const int64_t span = x->map.mode[i].stride * (x->map.mode[i].extent - 1);
        low += span < 0 ? span : 0;
        high += span > 0 ? span : 0;
    }
    const int64_t points = fsim_map_points(&x->map), all = points * fsim_map_reduced(&x->map);
    if (low < 0 || high >= t->elems || x->distinct < (g->tensor[n->result[0]].over >= 0 ? 0 : 1) ||
        x->distinct > t->elems)
        fail_msg("%s reads %lld to %lld of %lld elements:\n%s", n->name, (long long)low, (long long)high,
                 (long long)t->elems, text);
    if (x->how == FSIM_READ_MAP && (points != n->points || all > n->points * n->reduced ||
                                    (all < (1 << 18) && x->distinct != fsim_map_distinct(&x->map, &exact))))
        fail_msg("%s: %lld of %lld points, %lld elements:\n%s", n->name, (long long)points, (long long)n->points,
                 (long long)x->distinct, text);
}

static void check_graph(const fsim_graph *g, const char *text)
{
    int reads = 0, readers = 0;
    for (int i = 0; i < g->nodes; i++) {
        const fsim_node *n = &g->node[i];
        assert_true(n->points > 0 && n->reduced > 0 && n->results > 0);
        for (int k = 0; k < n->args; k++) {
            const fsim_tensor *t = &g->tensor[n->arg[k].tensor];
            assert_true(t->storage == n->arg[k].tensor && t->producer < i);
            bool listed = false, before = false;
            for (int r = 0; r < t->readers; r++)
                listed = listed || t->reader[r] == i;
            for (int q = 0; q < k; q++)
                before = before || n->arg[q].tensor == n->arg[k].tensor;
            assert_true(listed);
            reads += !before;
            check_read(g, n, &n->arg[k], text);
        }
        for (int r = 0; r < n->results; r++)
            assert_int_equal(g->tensor[n->result[r]].producer, i);
        const fsim_tensor *made = &g->tensor[n->result[0]];
        if (fsim_ops[n->op].class == FSIM_ELEMENTWISE || fsim_ops[n->op].class == FSIM_REDUCE)
            assert_int_equal(made->elems, n->points);
    }
    for (int t = 0; t < g->tensors; t++) {
        const fsim_tensor *x = &g->tensor[t];
        int64_t elems = 1;
        for (int i = 0; i < x->shape.rank; i++)
            elems *= x->shape.dim[i];
        assert_int_equal(x->elems, elems);
        for (int r = 0; r < x->readers; r++) {
            readers++;
            assert_true(r == 0 || x->reader[r] > x->reader[r - 1]);
        }
    }
    assert_int_equal(reads, readers);
}

typedef struct {
    int taken, refused, named, again, unknown;
} tally;

/* Is each number of the message one of the workload? */
static bool numbers_are_known(const char *message, const char *text)
{
    for (const char *at = message; *at;) {
        const size_t digits = strspn(at, "0123456789");
        if (digits > 1 && (at == message || !isalpha((unsigned char)at[-1]))) {
            bool known = false;
            for (const char *other = text; !known && *other;) {
                const size_t same = strspn(other, "0123456789");
                known = same == digits && strncmp(other, at, digits) == 0;
                other += same > 0 ? same : 1;
            }
            if (!known)
                return false;
        }
        at += digits > 0 ? digits : 1;
    }
    return true;
}

static bool judge(fsim_op op, const char *text, const fsim_derive *how, tally *sums, fsim_arena *a)
{
    fsim_diag *d = fsim_diag_new(a);
    const fsim_graph *g = fsim_graph_parse(a, d, "operators.yaml", text, strlen(text), &(fsim_bindings){.derive = how});
    fsim_diagnostic *list;
    const int messages = fsim_diag_list(d, a, &list);
    int errors = 0;
    bool named = false;
    for (int i = 0; i < messages; i++) {
        errors += list[i].severity == FSIM_ERROR;
        named = named || strncmp(list[i].message, fsim_ops[op].name, strlen(fsim_ops[op].name)) == 0;
        assert_true(strlen(list[i].message) > 5);
        if (list[i].severity == FSIM_ERROR && !numbers_are_known(list[i].message, text)) {
            sums->unknown++;
            if (getenv("OPERATORS_TEST_VERBOSE"))
                fprintf(stderr, "%s\n%s", list[i].message, text);
        }
    }
    if ((g != NULL) != (errors == 0))
        fail_msg("%s: %d errors\n%s", fsim_ops[op].name, errors, text);
    if (g)
        check_graph(g, text);
    sums->taken += g != NULL;
    sums->refused += g == NULL;
    sums->named += named;
    sums->again += errors > 1 ? errors - 1 : 0;
    for (int i = 0; i < messages && errors > 1 && getenv("OPERATORS_TEST_VERBOSE"); i++)
        fprintf(stderr, "%s\n", list[i].message);
    return g != NULL;
}

static void try_one(fsim_op op, int change, const fsim_derive *how, tally *sums)
{
    fsim_arena *a = fsim_arena_new();
    const char *text = changed(a, fsim_example(a, op), change);
    if (text)
        assert_true(judge(op, text, how, sums, a) || change > 0 || how);
    fsim_arena_free(a);
}

static void operators_are_taken_or_refused(void **unused)
{
    (void)unused;
    tally sums = {0};
    for (int op = 0; op < FSIM_OP_COUNT; op++) {
        fsim_op named;
        for (int change = 0; change < CHANGES && fsim_op_parse(fsim_ops[op].name, &named); change++)
            try_one((fsim_op)op, change, NULL, &sums);
    }
    printf("%d taken, %d refused, %d by the operator's name, %d said twice\n", sums.taken, sums.refused, sums.named,
           sums.again);
    /* more operators have more of each; where fewer are taken, or refused, something changed */
    assert_true(sums.taken >= 1421 && sums.refused >= 1284 && sums.named >= 472 && sums.again <= 3);
}

/* The text with another list of lengths for one of its tensors: length i one more, 1, left out, or a further one in
 * front; NULL: it has none so far. *tensor, *i: counted on to the next change. */
static const char *reshaped(fsim_arena *a, const char *text, int tensor, int i, int how)
{
    const char *at = text;
    for (int t = 0; (at = strstr(at, "shape: [")) && t < tensor; t++)
        at++;
    if (!at || at > strstr(text, "operators:"))
        return NULL;
    at += strlen("shape: [");
    const char *length = at;
    for (int k = 0; k < i; k++) {
        length += strcspn(length, ",]");
        if (*length != ',')
            return NULL;
        length += 2;
    }
    const char *end = length + strspn(length, "0123456789");
    const bool alone = length == at && *end == ']';
    switch (how) {
    case 0:
        return fsim_printf(a, "%.*s%lld%s", (int)(length - text), text, strtoll(length, NULL, 10) + 1, end);
    case 1:
        return fsim_printf(a, "%.*s1%s", (int)(length - text), text, end);
    case 2:
        return fsim_printf(a, "%.*s%s", (int)((length == at ? length : length - 2) - text), text,
                           alone || length != at ? end : end + 2);
    default:
        return fsim_printf(a, "%.*s2%s%s", (int)(length - text), text, end == length ? "" : ", ", length);
    }
}

/* Each length of each tensor changed by itself. */
static void other_shapes_are_taken_or_refused(void **unused)
{
    (void)unused;
    tally sums = {0};
    for (int op = 0; op < FSIM_OP_COUNT; op++) {
        fsim_op named;
        for (int change = 0; change < 6 * 5 * 4 && fsim_op_parse(fsim_ops[op].name, &named); change++) {
            fsim_arena *a = fsim_arena_new();
            const char *text =
                reshaped(a, made_small(a, fsim_example(a, (fsim_op)op)), change / 20, change / 4 % 5, change % 4);
            if (text)
                judge((fsim_op)op, text, NULL, &sums, a);
            fsim_arena_free(a);
        }
    }
    printf("%d other shapes taken, %d refused, %d by the operator's name, %d said twice, %d with other numbers\n",
           sums.taken, sums.refused, sums.named, sums.again, sums.unknown);
    /* numbers that the workload does not have are counts that a message works out: elements, rows, lines */
    assert_true(sums.taken >= 1630 && sums.refused >= 1098 && sums.named >= 1096 && sums.again <= 5 &&
                sums.unknown <= 29);
}

/* Written for one example and mapped over three: of all inputs, of the first one, of the last. */
static void operators_are_mapped(void **unused)
{
    (void)unused;
    tally sums = {0};
    for (int op = 0; op < FSIM_OP_COUNT; op++) {
        fsim_op named;
        for (int i = 0; i < 6 && fsim_op_parse(fsim_ops[op].name, &named); i++) {
            fsim_arena *a = fsim_arena_new();
            const char *text = changed(a, fsim_example(a, (fsim_op)op), i % 2);
            text = i / 2 == 0   ? text
                   : i / 2 == 1 ? with(a, text, "}\n", ", batch: true}\n")
                                : with(a, text, "}\noperators", ", batch: true}\noperators");
            if (text)
                judge((fsim_op)op, fsim_printf(a, "batch: 3\n%s", text), NULL, &sums, a);
            fsim_arena_free(a);
        }
    }
    printf("%d mapped, %d refused, %d said twice\n", sums.taken, sums.refused, sums.again);
    assert_true(sums.taken >= 1061 && sums.refused >= 157 && sums.again == 0);
}

/* With derivatives, in narrower types, with an update of weights: what has none says so, once. */
static void operators_are_derived(void **unused)
{
    (void)unused;
    static const fsim_derive ways[] = {
        {.mode = FSIM_REVERSE, .want = FSIM_WANT_ALL},
        {.mode = FSIM_TANGENTS, .want = FSIM_WANT_ALL},
        {.mode = FSIM_REVERSE, .want = FSIM_WANT_ALL, .autocast = FSIM_AUTOCAST_BF16, .ones = true},
        {.mode = FSIM_REVERSE, .want = FSIM_WANT_WEIGHTS, .autocast = FSIM_AUTOCAST_F16, .update = FSIM_ADAMW},
        {.mode = FSIM_REVERSE, .want = FSIM_WANT_WEIGHTS, .update = FSIM_MOMENTUM, .micro_batches = 4, .clip = 1},
        {.autocast = FSIM_AUTOCAST_BF16}};
    tally sums = {0};
    for (int op = 0; op < FSIM_OP_COUNT; op++) {
        fsim_op named;
        for (size_t i = 0; i < sizeof ways / sizeof *ways && fsim_op_parse(fsim_ops[op].name, &named); i++)
            for (int change = 0; change < 2; change++)
                try_one((fsim_op)op, change, &ways[i], &sums);
    }
    printf("%d derived, %d refused, %d said twice\n", sums.taken, sums.refused, sums.again);
    assert_true(sums.taken >= 1421 && sums.refused >= 1027 && sums.again == 0);
}

/* What the reference says of each operator, in f32 on a small example: bounds beside the unit of f32 and the usual size
 * of the result. On average, of operators, they get no wider, and no element's is lost. */
static void bounds_stay_narrow(void **unused)
{
    (void)unused;
    double logs = 0;
    int measured = 0, exact = 0;
    int64_t lost = 0;
    for (int op = 0; op < FSIM_OP_COUNT; op++) {
        fsim_op named;
        if (!fsim_op_parse(fsim_ops[op].name, &named))
            continue;
        fsim_arena *a = fsim_arena_new();
        const char *text = made_small(a, fsim_example(a, (fsim_op)op));
        for (const char *next; (next = with(a, text, "f16", "f32"));)
            text = next;
        const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "bounds.yaml", text, strlen(text), NULL);
        if (g && !fsim_reference_lacks(g) && fsim_reference_bytes(g) < 4e6) {
            fsim_reference *r = fsim_reference_of(g, 1);
            double size = 0, bounds = 0;
            int64_t finite = 0;
            for (int t = 0; t < g->tensors; t++) {
                const fsim_tensor *x = &g->tensor[t];
                if (x->producer < 0 || x->readers > 0 || x->storage != t || !fsim_dtype_floating(x->dtype))
                    continue;
                for (int64_t e = 0; e < x->elems; e++) {
                    const double v = r->of[t].value[e], b = r->of[t].bound[e];
                    lost += !isfinite(b);
                    finite += isfinite(b) && isfinite(v);
                    size += isfinite(v) ? v * v : 0;
                    bounds += isfinite(b) && isfinite(v) ? b : 0;
                }
            }
            const double units =
                finite > 0 && size > 0 ? bounds / (double)finite / sqrt(size / (double)finite) * 0x1p24 : 0;
            exact += finite > 0 && units == 0;
            measured += units > 0;
            logs += units > 0 ? log(units) : 0;
            if (getenv("OPERATORS_TEST_VERBOSE"))
                fprintf(stderr, "%s: %.2f units\n", fsim_ops[op].name, units);
            fsim_reference_free(r);
        }
        fsim_arena_free(a);
    }
    printf("bounds of %d operators are %.4f units on average, %d are exact, %lld elements have none\n", measured,
           exp(logs / measured), exact, (long long)lost);
    assert_true(measured >= 84 && exp(logs / measured) <= 11.44 && exact >= 52 && lost == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(operators_are_taken_or_refused),
                                       cmocka_unit_test(other_shapes_are_taken_or_refused),
                                       cmocka_unit_test(operators_are_mapped), cmocka_unit_test(operators_are_derived),
                                       cmocka_unit_test(bounds_stay_narrow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
