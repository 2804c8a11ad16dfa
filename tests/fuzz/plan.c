/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a plan of a small workload: read, and where it is one, priced. */
#include "plan/partition_file.h"
#include "predict.h"
#include <stdlib.h>
#include <string.h>

static const char workload[] = "tensors: {x: {shape: [64, 64], dtype: f32}, w: {shape: [64, 64], dtype: f32}}\n"
                               "operators: [{op: exp, in: x, out: a}, {op: linear, in: [a, w], out: h}, {op: permute, "
                               "in: h, out: t, dims: [1, 0]},\n"
                               "  {op: softmax, in: t, out: p, dim: 1}, {op: add, in: [p, a], out: b}, {op: sort, in: "
                               "b, out: s, dim: 0}, {op: mul, in: [s, a], out: y}]\n"
                               "outputs: [y]\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const fsim_options how = {
        .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 3000};
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
    char *text = fsim_strndup(a, (const char *)data, size);
    fsim_user_plan given;
    fsim_plan plan;
    if (!g || !hw)
        abort();
    const int errors = fsim_errors(d);
    const bool read = fsim_user_plan_read(g, a, d, &(fsim_user_plan_file){"fuzz.json", text, size, "t4"}, &given);
    fsim_problem p = fsim_problem_of(g, hw, &how, a);
    if (read != (fsim_errors(d) == errors) ||
        (read && fsim_user_plan_price(&p, &given, d, a, &plan) != (fsim_errors(d) == errors)))
        abort();
    fsim_arena_free(a);
    return 0;
}
