/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as another tool's profile: read, and where it is one, matched to the plan of a small workload. */
#include "evidence/profile_rows.h"
#include "plan/price/price.h"
#include "plan/rivals/rivals.h"
#include "predict.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char workload[] =
    "tensors: {x: {shape: [64, 64], dtype: f32}, w: {shape: [64, 64], dtype: f32}}\n"
    "operators: [{op: linear, in: [x, w], out: h}, {op: gelu, in: h, out: g}, {op: softmax, in: g, out: y, dim: 1}]\n"
    "outputs: [y]\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const fsim_options how = {
        .strategy = FSIM_STRATEGY_EAGER, .regime = FSIM_REGIME_KERNEL, .search_steps = 3000};
    static const fsim_import_as as = {"t4", "fuzz", "", FSIM_STRATEGY_EAGER};
    static fsim_arena *whole; /* what all inputs share */
    static const fsim_graph *g;
    static const fsim_hw *hw;
    if (!whole) {
        whole = fsim_arena_new();
        g = fsim_graph_parse(whole, fsim_diag_new(whole), "fuzz.yaml", workload, strlen(workload), NULL);
        hw = fsim_hw_read(whole, fsim_diag_new(whole), FUSESIM_SOURCE_DIR "/hwmodels/t4.yaml");
    }
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    char *text = malloc(size ? size : 1); /* of this size: a file in memory has no NUL behind it */
    if (size)
        memcpy(text, data, size);
    fsim_profile profile;
    if (!g || !hw)
        abort();
    const int errors = fsim_errors(d);
    if (fsim_profile_read(a, d, "fuzz", text, size, &profile) != (fsim_errors(d) == errors))
        abort();
    if (fsim_errors(d) == errors) {
        fsim_problem p = fsim_problem_of(g, hw, &how, a);
        fsim_plan plan;
        fsim_baseline(&p, FSIM_STRATEGY_EAGER, a, &plan);
        const fsim_import all = fsim_import_of(&profile, NULL, NULL, &as, a),
                          x = fsim_import_of(&profile, g, &plan, &as, a);
        for (int i = 0; i < x.rows; i++)
            if (!(x.row[i].time_s > 0) || !isfinite(x.row[i].time_s))
                abort();
        if (all.lefts > 0)
            abort();
    }
    free(text);
    fsim_arena_free(a);
    return 0;
}
