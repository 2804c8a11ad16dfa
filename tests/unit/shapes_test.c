/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of results under the names that PyTorch has, against PyTorch's own answers, tests/types/torch_shapes.csv:
 * shapes, or an error. Each row also in a workload with a batch, whose results have the batch in front. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/diag.h"
#include "graph/graph.h"
#include "import/load.h"
#include <stdio.h>
#include <string.h>

enum { BATCH = 3 };

/* Rows that differ, and why. */
static const struct {
    const char *op, *arguments, *why; /* arguments: what they begin with */
} differs[] = {
    {"t", "[]", "a transpose of fewer than two dimensions changes nothing: it is an error here"},
    {"t", "[1]", "the same"},
    {"t", "[5]", "the same"},
    {"swapaxes", "[]", "the same, where there is a batch"},
};

static bool is_known(const char *op, const char *arguments)
{
    for (size_t i = 0; i < sizeof differs / sizeof *differs; i++)
        if (strcmp(differs[i].op, op) == 0 && strcmp(differs[i].arguments, arguments) == 0)
            return true;
    return false;
}

static int count_of(const char *text)
{
    int count = 0;
    for (; *text; text++)
        count += *text == '[';
    return count;
}

/* The workload of a row: "[2,8] [2,8]" as tensors a0, a1, and an operator of `results` results. */
static const char *workload_of(fsim_arena *a, char *const *cell, int results, int batch)
{
    const char *tensors = "", *in = "", *out = "";
    const int count = count_of(cell[1]);
    const char *at = cell[1];
    for (int i = 0; i < count; i++, at += strcspn(at, " ") + 1) {
        tensors = fsim_printf(a, "%s  a%d: {shape: %.*s, dtype: f32}\n", tensors, i, (int)strcspn(at, " "), at);
        in = fsim_printf(a, "%s%sa%d", in, i ? ", " : "", i);
    }
    for (int i = 0; i < results; i++)
        out = fsim_printf(a, "%s%sr%d", out, i ? ", " : "", i);
    return fsim_printf(a,
                       "%stensors:\n%s  other: {shape: [2], dtype: f32}\n"
                       "operators:\n  - {op: relu, in: other, out: z}\n  - {op: %s, in: [%s], out: [%s]%s%s}\n",
                       batch ? fsim_printf(a, "batch: %d\n", batch) : "", tensors, cell[0], in, out,
                       *cell[2] ? ", " : "", cell[2]);
}

/* "[2,8] [2,8]" without the batch, which must be in front; "error"; or what is wrong. */
static const char *found_in(fsim_arena *a, const fsim_graph *g, int results, int batch)
{
    const char *text = "";
    for (int i = 0; i < results; i++) {
        int t = 0;
        while (strcmp(g->tensor[t].name, fsim_printf(a, "r%d", i)) != 0)
            t++;
        const fsim_shape *s = &g->tensor[t].shape;
        if (batch && (s->rank == 0 || s->dim[0] != batch))
            return "no batch in front";
        text = fsim_printf(a, "%s%s[", text, i ? " " : "");
        for (int d = batch > 0; d < s->rank; d++)
            text = fsim_printf(a, "%s%s%lld", text, d > (batch > 0) ? "," : "", (long long)s->dim[d]);
        text = fsim_printf(a, "%s]", text);
    }
    return text;
}

static bool is_as_pytorch(char *const *cell, int batch)
{
    const bool refused = strcmp(cell[3], "error") == 0;
    const int results = refused ? 1 : count_of(cell[3]);
    fsim_arena *a = fsim_arena_new();
    const char *text = workload_of(a, cell, results, batch);
    const fsim_graph *g =
        fsim_graph_load_text(a, fsim_diag_new(a), "shapes", text, strlen(text), &(fsim_workload_wanted){0});
    const char *found = g ? found_in(a, g, results, batch) : "error";
    const bool same = strcmp(found, cell[3]) == 0;
    if (!same && !is_known(cell[0], cell[1]))
        print_error("%s of %s %s%s: %s, PyTorch has %s\n", cell[0], cell[1], cell[2], batch ? " with a batch" : "",
                    found, cell[3]);
    fsim_arena_free(a);
    return same || is_known(cell[0], cell[1]);
}

static void shapes_are_pytorchs(void **state)
{
    (void)state;
    FILE *f = fopen(FUSESIM_SOURCE_DIR "/tests/types/torch_shapes.csv", "r");
    char line[256];
    int rows = 0, wrong = 0;
    assert_non_null(f);
    for (int row = 0; fgets(line, sizeof line, f); row++) {
        line[strcspn(line, "\n")] = '\0';
        char *at = line, *cell[4];
        if (row < 2) /* the version, and the head */
            continue;
        for (int i = 0; i < 4; i++)
            cell[i] = strsep(&at, "|");
        wrong += !is_as_pytorch(cell, 0) + !is_as_pytorch(cell, BATCH);
        rows++;
    }
    fclose(f);
    print_message("%d rows, each with a batch too; %d differ\n", rows, wrong);
    assert_int_equal(wrong, 0);
    assert_true(rows > 700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes_are_pytorchs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
