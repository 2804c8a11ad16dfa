/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients, FLOPs and what eager PyTorch keeps for backward, against what PyTorch 2.15 says of real graphs:
 * training.jsonl among the shared data. Skipped where that is absent. depends: once cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "graph/graph.h"
#include "plan/rivals/min_cut.h"
#include "plan/rivals/saved.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *folder; /* the shared data's workloads */

typedef struct {
    int graphs, refused, gradients, flops, saved, cut;
} counts;

static double number(const cJSON *row, const char *name)
{
    const cJSON *x = cJSON_GetObjectItemCaseSensitive(row, name);
    return cJSON_IsNumber(x) ? x->valuedouble : NAN;
}

static const fsim_graph *load(fsim_arena *a, const char *id, fsim_derive_want want, bool ones)
{
    size_t bytes;
    const char *why = "", *path = fsim_printf(a, "%s/kernelbench/%s.yaml", folder, id);
    const char *text = fsim_read_file(a, path, &bytes, &why);
    fsim_derive *how = fsim_new(a, fsim_derive, 1);
    *how = (fsim_derive){.mode = FSIM_REVERSE, .want = want, .ones = ones};
    if (!text)
        fail_msg("%s: %s", path, why);
    return fsim_graph_parse(a, fsim_diag_new(a), path, text, bytes, &(fsim_bindings){NULL, 0, how});
}

/* FLOPs of contractions by phase. */
static double flops_of(const fsim_graph *g, fsim_phase phase)
{
    double sum = 0;
    for (int n = 0; n < g->nodes; n++) {
        const fsim_gemm *m = &g->node[n].gemm;
        if (g->node[n].phase == phase)
            sum += 2.0 * (double)m->batch * (double)m->m * (double)m->n * (double)m->k;
    }
    return sum;
}

static bool same_gradients(const fsim_graph *g, const cJSON *wanted)
{
    bool same = cJSON_GetArraySize(wanted) == g->gradients;
    for (int i = 0; i < g->gradients && same; i++) {
        const fsim_tensor *of = &g->tensor[g->gradient[i].of], *x = &g->tensor[g->gradient[i].tensor];
        const cJSON *shape = cJSON_GetObjectItemCaseSensitive(wanted, of->name);
        same = shape && cJSON_GetArraySize(shape) == x->shape.rank && x->dtype == of->dtype;
        for (int d = 0; d < x->shape.rank && same; d++)
            same = cJSON_GetArrayItem(shape, d)->valuedouble == (double)x->shape.dim[d];
    }
    return same;
}

/* Is what torch.compile keeps within 5 % of what it kept? */
static bool near_cut(fsim_arena *a, const char *id, double wanted)
{
    const fsim_kept cut = fsim_min_cut(load(a, id, FSIM_WANT_ALL, false), a);
    const bool near = fabs(cut.made_bytes - wanted) <= 0.05 * wanted;
    if (!near && getenv("FUSESIM_VERBOSE"))
        print_message("%s: torch.compile keeps %.0f B and %.0f of inputs; it kept %.0f\n", id, cut.made_bytes,
                      cut.given_bytes, wanted);
    return near;
}

static void compare(const cJSON *row, counts *c)
{
    fsim_arena *a = fsim_arena_new();
    const char *id = cJSON_GetObjectItemCaseSensitive(row, "id")->valuestring;
    const fsim_graph *g = load(a, id, FSIM_WANT_ALL, true);
    c->graphs++;
    if (!g) {
        c->refused++;
        print_message("%s: refused\n", id);
        fsim_arena_free(a);
        return;
    }
    const bool gradients = same_gradients(g, cJSON_GetObjectItemCaseSensitive(row, "grads"));
    const double weights = number(row, "backward_flops_weights");
    const fsim_graph *only = isnan(weights) ? NULL : load(a, id, FSIM_WANT_WEIGHTS, true);
    const bool flops = flops_of(g, FSIM_FORWARD) == number(row, "forward_flops") &&
                       flops_of(g, FSIM_BACKWARD) == number(row, "backward_flops") &&
                       (!only || flops_of(only, FSIM_BACKWARD) == weights);
    const fsim_autograd_saved saved = fsim_saved_by_eager(g, a);
    const double made = saved.made_bytes + 3 * saved.mask_bytes; /* on a CPU the noise of dropout is a float */
    if (!gradients)
        print_message("%s: other gradients\n", id);
    if (!flops)
        print_message("%s: %.0f FLOPs forward, %.0f backward, %.0f for weights; PyTorch has %.0f, %.0f, %.0f\n", id,
                      flops_of(g, FSIM_FORWARD), flops_of(g, FSIM_BACKWARD), only ? flops_of(only, FSIM_BACKWARD) : NAN,
                      number(row, "forward_flops"), number(row, "backward_flops"), weights);
    if (made != number(row, "saved_bytes_eager"))
        print_message("%s: eager keeps %.0f B; PyTorch kept %.0f\n", id, made, number(row, "saved_bytes_eager"));
    c->cut += near_cut(a, id, number(row, "saved_bytes_min_cut"));
    c->gradients += gradients;
    c->flops += flops;
    c->saved += made == number(row, "saved_bytes_eager");
    fsim_arena_free(a);
}

static void real_graphs(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    size_t bytes;
    const char *why = "", *path = fsim_printf(a, "%s/training.jsonl", folder);
    const char *text = fsim_read_file(a, path, &bytes, &why);
    counts c = {0};
    if (!text) {
        print_message("%s: %s\n", path, why);
        skip();
    }
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n');
        cJSON *row = cJSON_ParseWithLength(line, end ? (size_t)(end - line) : strlen(line));
        if (row)
            compare(row, &c);
        cJSON_Delete(row);
        line = end ? end + 1 : line + strlen(line);
    }
    print_message("%d graphs, %d refused; equal: gradients of %d, FLOPs of %d, bytes kept by eager of %d, by "
                  "torch.compile within 5 %% of %d\n",
                  c.graphs, c.refused, c.gradients, c.flops, c.saved, c.cut);
    assert_true(c.graphs > 0);
    assert_int_equal(c.gradients, c.graphs - c.refused);
    assert_int_equal(c.flops, c.graphs - c.refused);
    assert_true(c.saved >= 0.98 * (c.graphs - c.refused));
    assert_true(c.cut >= 0.8 * (c.graphs - c.refused));
    fsim_arena_free(a);
}

int main(void)
{
    const char *shared = getenv("FUSESIM_SHARED");
    const struct CMUnitTest tests[] = {cmocka_unit_test(real_graphs)};
    fsim_arena *a = fsim_arena_new();
    folder = fsim_printf(a, "%s/data/workloads", shared ? shared : FUSESIM_SOURCE_DIR "/../shared");
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fsim_arena_free(a);
    return failed;
}
