/* SPDX-License-Identifier: Apache-2.0 */
/* generated.h: lines of generated kernels, which tests work by hand. */
#ifndef FUSESIM_TESTS_GENERATED_H
#define FUSESIM_TESTS_GENERATED_H

#include "emit/generate.h"
#include "predict.h"
#include <cmocka.h>
#include <string.h>

enum { LINES = 16, LAUNCHES = 2 };

typedef struct {
    const char *text, *gpu;
    fsim_strategy strategy;
    int kernels, kernel; /* of the plan; the one that is looked at */
    struct {
        int64_t grid;
        int block, shared_bytes;
    } launch[LAUNCHES];
    int64_t scratch_bytes;
    const char *line[LINES], *none; /* in this order, one behind another; none: not in the text, or NULL */
} row;

#define A100 "a100-sxm4-40gb", FSIM_STRATEGY_OPTIMAL

/* Finds the lines one behind another. */
static void check_lines(const row *c, const char *source)
{
    const char *at = source;
    for (int k = 0; k < LINES && c->line[k]; k++) {
        const char *found = strstr(at, c->line[k]);
        if (!found)
            fail_msg("'%s' is not in the text, or not behind '%s':\n%s", c->line[k], k ? c->line[k - 1] : "", source);
        at = found + strlen(c->line[k]);
    }
    assert_true(!c->none || !strstr(source, c->none));
}

/* Launches, scratch memory and lines of each. */
static void check_rows(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const row *c = &rows[i];
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_options options = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 100000};
        const fsim_graph *g = fsim_graph_parse(a, d, "addresses.yaml", c->text, strlen(c->text), NULL);
        const fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, FUSESIM_SOURCE_DIR "/hwmodels/%s.yaml", c->gpu));
        if (!g)
            fsim_diag_print(d, stderr, false);
        assert_true(g && hw);
        const fsim_prediction p = fsim_predict(g, hw, &options, a);
        const fsim_plan *plan = &p.plan[c->strategy];
        assert_int_equal(plan->kernels, c->kernels);
        const fsim_program *w = &fsim_programs_of(p.graph, hw, plan, 1, a)[c->kernel];
        int64_t scratch = 0;
        for (int k = 0; k < w->parameters; k++)
            scratch += w->parameter[k].tensor < 0 ? w->parameter[k].bytes : 0;
        assert_int_equal(scratch, c->scratch_bytes);
        assert_int_equal(w->launches, c->launch[1].grid ? 2 : 1);
        for (int k = 0; k < w->launches; k++) {
            assert_int_equal(w->launch[k].grid, c->launch[k].grid);
            assert_int_equal(w->launch[k].block, c->launch[k].block);
            assert_int_equal(w->launch[k].shared_bytes, c->launch[k].shared_bytes);
        }
        check_lines(c, w->source);
        fsim_arena_free(a);
    }
}

#endif
