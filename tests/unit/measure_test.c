/* SPDX-License-Identifier: Apache-2.0 */
/* What validate says of rows, on numbers done by hand: rows in and out of CSV, errors by group, ranks, speedups,
 * verdicts, gates; and that predictions depend on neither threads nor neighbours. */
#include "evidence/gates.h"
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs those above */

static void assert_near(double x, double wanted)
{
    if (!(fabs(x - wanted) <= 1e-12 * fmax(1, fabs(wanted))))
        fail_msg("%.17g, wanted %.17g", x, wanted);
}

/* Rows. */

static fsim_measurements parse(fsim_arena *a, fsim_diag *d, const char *text)
{
    return fsim_rows_parse(a, d, "rows.csv", text, strlen(text));
}

static char *diagnostics(fsim_diag *d)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    fsim_diag_print(d, out, false);
    fclose(out);
    return text;
}

static void csv_reads_quotes_and_line_ends(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_measurements rows = parse(a, d,
                                         "source,id,hw,workload,strategy,launch,time_s,unknown column\r\n"
                                         "\"a, \"\"b\"\"\nc\",\"r,1\",t4,ops/relu,eager,stream,1e-3,x\r\n"
                                         "\r\n"
                                         ",r2,\"t4\",ops/relu,xla,kernel,2,\"\"");
    assert_int_equal(fsim_errors(d), 0);
    assert_int_equal(rows.count, 2);
    assert_string_equal(rows.at[0].source, "a, \"b\"\nc");
    assert_string_equal(rows.at[0].id, "r,1");
    assert_string_equal(rows.at[0].hw, "t4");
    assert_string_equal(rows.at[0].set, "");
    assert_int_equal(rows.at[0].l2, FSIM_L2_UNKNOWN);
    assert_near(rows.at[0].time_s, 1e-3);
    assert_true(isnan(rows.at[0].dram_read_bytes));
    assert_string_equal(rows.at[1].id, "r2");
    assert_int_equal(rows.at[1].strategy, FSIM_STRATEGY_XLA);
    assert_int_equal(rows.at[1].launch, FSIM_REGIME_KERNEL);
    fsim_arena_free(a);
}

static void csv_written_reads_back(void **state)
{
    (void)state;
    static const fsim_measured row[] = {{.id = "plain",
                                         .hw = "t4",
                                         .workload = "w",
                                         .set = "M=1;N=2",
                                         .source = "s",
                                         .strategy = FSIM_STRATEGY_EAGER,
                                         .l2 = FSIM_L2_COLD,
                                         .launch = FSIM_REGIME_GRAPH,
                                         .time_s = 1.25e-5,
                                         .dram_read_bytes = 123456789012,
                                         .dram_write_bytes = 0},
                                        {.id = "a,\"b\"\r\nc\n\nd",
                                         .hw = "",
                                         .workload = "\"",
                                         .set = "",
                                         .source = "\n",
                                         .strategy = FSIM_STRATEGY_INDUCTOR,
                                         .l2 = FSIM_L2_UNKNOWN,
                                         .launch = FSIM_REGIME_EAGER,
                                         .time_s = 3,
                                         .dram_read_bytes = NAN,
                                         .dram_write_bytes = NAN}};
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    fsim_rows_write(out, row, 2);
    fclose(out);
    const fsim_measurements back = fsim_rows_parse(a, d, "rows.csv", text, bytes);
    assert_int_equal(fsim_errors(d), 0);
    assert_int_equal(back.count, 2);
    for (int i = 0; i < 2; i++) {
        const fsim_measured *m = &back.at[i];
        assert_string_equal(m->id, row[i].id);
        assert_string_equal(m->hw, row[i].hw);
        assert_string_equal(m->workload, row[i].workload);
        assert_string_equal(m->set, row[i].set);
        assert_string_equal(m->source, row[i].source);
        assert_int_equal(m->strategy, row[i].strategy);
        assert_int_equal(m->l2, row[i].l2);
        assert_int_equal(m->launch, row[i].launch);
        assert_near(m->time_s, row[i].time_s);
        assert_true(isnan(m->dram_read_bytes) == isnan(row[i].dram_read_bytes) &&
                    (i || m->dram_read_bytes == row[i].dram_read_bytes));
    }
    free(text);
    fsim_arena_free(a);
}

static void csv_says_where_it_is_wrong(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {{"", "rows.csv:1:1: error: the file is empty"},
                 {"id,hw,workload,strategy,launch,time\n", "no column 'time_s'; is it 'time'?"},
                 {"id,hw,workload,strategy,launch,time_s\nr,t4,w,eagre,stream,1\n",
                  "rows.csv:2:8: error: strategy: unknown 'eagre'; did you mean 'eager'?"},
                 {"id,hw,workload,strategy,launch,time_s\n\"r\n\",t4,w,eager,stream,inf\n", "rows.csv:3:"},
                 {"id,hw,workload,strategy,launch,time_s\nr,t4,w,eager,stream\n", "5 fields, the header has 6"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        assert_int_equal(parse(a, d, cases[i].text).count, 0);
        assert_int_equal(fsim_errors(d), 1);
        char *said = diagnostics(d);
        if (!strstr(said, cases[i].says))
            fail_msg("no '%s' in: %s", cases[i].says, said);
        free(said);
        fsim_arena_free(a);
    }
}

/* Statistics. */

/* hw, workload, strategy, class, measured, predicted. */
typedef struct {
    const char *hw, *workload;
    fsim_strategy strategy;
    fsim_work_class class;
    double measured_s, predicted_s;
    const char *source;
    bool excluded;
} sample;

static fsim_evaluated *evaluated(fsim_arena *a, const sample *s, int count)
{
    fsim_evaluated *e = fsim_new(a, fsim_evaluated, count);
    fsim_measured *m = fsim_new(a, fsim_measured, count);
    for (int i = 0; i < count; i++) {
        m[i] = (fsim_measured){.id = fsim_printf(a, "r%d", i),
                               .hw = s[i].hw,
                               .workload = s[i].workload,
                               .set = "",
                               .source = s[i].source ? s[i].source : "",
                               .strategy = s[i].strategy,
                               .time_s = s[i].measured_s,
                               .at = {"rows.csv", i + 2, 1}};
        e[i] = (fsim_evaluated){.row = &m[i],
                                .predicted_s = s[i].predicted_s,
                                .low_s = s[i].predicted_s * 0.8,
                                .high_s = s[i].predicted_s * 1.25,
                                .class = s[i].class,
                                .excluded = s[i].excluded ? fsim_exclusions[0] : NULL};
    }
    return e;
}

static void quantiles_interpolate(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 4, 8, 16};
    assert_near(fsim_quantile(x, 5, 0), 1);
    assert_near(fsim_quantile(x, 5, 0.5), 4);
    assert_near(fsim_quantile(x, 5, 0.9), 8 + 0.6 * 8);
    assert_near(fsim_quantile(x, 5, 1), 16);
    assert_near(fsim_quantile(x, 4, 0.5), 3);
    assert_near(fsim_quantile(x, 1, 0.9), 1);
    assert_true(isnan(fsim_quantile(x, 0, 0.5)));
}

static const sample four[] = {{"t4", "ops/relu", FSIM_STRATEGY_EAGER, FSIM_WORK_ELEMENTWISE, 1, 1.1, NULL, false},
                              {"t4", "ops/softmax", FSIM_STRATEGY_EAGER, FSIM_WORK_SOFTMAX, 2, 1.0, NULL, false},
                              {"l4", "ops/relu", FSIM_STRATEGY_EAGER, FSIM_WORK_ELEMENTWISE, 4, 5.0, NULL, false},
                              {"t4", "ops/relu", FSIM_STRATEGY_INDUCTOR, FSIM_WORK_ELEMENTWISE, 1, 9.0, NULL, true}};

static void errors_by_hand(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_evaluated *e = evaluated(a, four, 4);
    const fsim_stats s = fsim_stats_of(e, 4, a);
    assert_int_equal(s.rows, 3);
    assert_near(s.mape, (0.1 + 0.5 + 0.25) / 3);
    assert_near(s.median, 0.25);
    assert_near(s.p90, 0.25 + 0.8 * 0.25);
    assert_near(s.bias, (0.1 - 0.5 + 0.25) / 3);
    assert_near(s.coverage, 2 / 3.0); /* 1 in 0.88 to 1.375 and 4 in 4 to 6.25; not 2 in 0.8 to 1.25 */
    assert_int_equal(fsim_stats_of(e, 0, a).rows, 0);
    assert_true(isnan(fsim_stats_of(&e[3], 1, a).mape));
    fsim_arena_free(a);
}

static void groups_are_sorted_and_complete(void **state)
{
    (void)state;
    static const fsim_grouping by[] = {FSIM_BY_HW, FSIM_BY_CLASS}, folder[] = {FSIM_BY_FOLDER}, all[] = {FSIM_BY_ALL};
    fsim_arena *a = fsim_arena_new();
    const fsim_evaluated *e = evaluated(a, four, 4);
    fsim_stat_group *g;
    assert_int_equal(fsim_stat_groups(e, 4, by, 2, a, &g), 3);
    assert_string_equal(g[0].hw, "l4");
    assert_string_equal(g[1].class, "elementwise");
    assert_int_equal(g[1].stats.rows, 1);
    assert_int_equal(g[1].excluded, 1);
    assert_null(g[1].workload);
    assert_string_equal(fsim_group_name(&g[2], FSIM_BY_CLASS), "softmax");
    assert_int_equal(fsim_stat_groups(e, 4, folder, 1, a, &g), 1);
    assert_string_equal(g[0].folder, "ops");
    assert_int_equal(fsim_stat_groups(e, 4, all, 1, a, &g), 1);
    assert_int_equal(g[0].stats.rows, 3);
    assert_int_equal(fsim_stat_groups(e, 0, by, 2, a, &g), 0);
    fsim_arena_free(a);
}

static void worst_is_by_ratio(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_evaluated *e = evaluated(a, four, 4);
    int *worst;
    assert_int_equal(fsim_worst(e, 4, 2, a, &worst), 2);
    assert_int_equal(worst[0], 1); /* half is further off than a quarter more */
    assert_int_equal(worst[1], 2);
    assert_int_equal(fsim_worst(e, 4, 9, a, &worst), 3);
    fsim_arena_free(a);
}

static void ranks_share_ties(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 2, 5}, y[] = {10, 30, 20, 40}, flat[] = {3, 3, 3, 3}, down[] = {4, 3, 2, 1};
    fsim_arena *a = fsim_arena_new();
    assert_near(fsim_rank_correlation(x, y, 4, a), 4.5 / sqrt(4.5 * 5)); /* ranks 0 1.5 1.5 3 against 0 2 1 3 */
    assert_near(fsim_rank_correlation(y, down, 4, a), -0.8);             /* 1 - 6 * 18 / (4 * 15) */
    assert_near(fsim_rank_correlation(y, y, 4, a), 1);
    assert_true(isnan(fsim_rank_correlation(x, flat, 4, a)));
    assert_true(isnan(fsim_rank_correlation(x, y, 1, a)));
    fsim_arena_free(a);
}

/* Pairs. */

#define E FSIM_STRATEGY_EAGER
#define I FSIM_STRATEGY_INDUCTOR
static const sample paired[] = {
    {"t4", "k/l2/1", E, FSIM_WORK_CHAIN, 2, 3, "K eager min", false},
    {"t4", "k/l2/1", I, FSIM_WORK_CHAIN, 1, 1, "K inductor_default min", false}, /* 2 and 3 */
    {"t4", "k/l2/2", E, FSIM_WORK_CHAIN, 1, 2, "K eager min", false},
    {"t4", "k/l2/2", I, FSIM_WORK_CHAIN, 1.02, 1, "K inductor min", false}, /* 0.98 and 2 */
    {"t4", "k/l2/3", I, FSIM_WORK_CHAIN, 2, 2, "K inductor min", false},
    {"t4", "k/l2/3", E, FSIM_WORK_CHAIN, 1, 2, "K eager min", false}, /* 0.5 and 1 */
    {"l4", "k/l2/1", I, FSIM_WORK_CHAIN, 2, 2, "K inductor min", false},
    {"t4", "k/l2/4", I, FSIM_WORK_CHAIN, 1, 1, "other inductor", false}, /* no eager */
    {"t4", "k/l2/4", E, FSIM_WORK_CHAIN, 1, 1, "K eager", false},
    {"t4", "k/l2/5", E, FSIM_WORK_CHAIN, 1, 1, "K eager", true},
    {"t4", "k/l2/5", I, FSIM_WORK_CHAIN, 1, 1, "K inductor", false}}; /* excluded */
enum { PAIRED = sizeof paired / sizeof *paired };

static void pairs_are_found(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_evaluated *e = evaluated(a, paired, PAIRED);
    fsim_pair *p;
    assert_int_equal(fsim_pairs_of(e, PAIRED, a, &p), 4);
    assert_ptr_equal(p[0].eager, &e[0]);
    assert_ptr_equal(p[0].other, &e[1]);
    assert_string_equal(p[0].folder, "k/l2");
    assert_near(p[0].measured, 2);
    assert_near(p[0].predicted, 3);
    assert_near(p[0].error, 0.5);
    assert_ptr_equal(p[2].eager, &e[5]);
    assert_true(p[3].excluded);
    fsim_arena_free(a);
}

static void repeated_runs_pair_in_turn(void **state)
{
    (void)state;
    static const sample s[] = {{"t4", "w", E, FSIM_WORK_CHAIN, 2, 2, "a", false},
                               {"t4", "w", I, FSIM_WORK_CHAIN, 1, 1, "a", false},
                               {"t4", "w", E, FSIM_WORK_CHAIN, 3, 2, "a", false},
                               {"t4", "w", I, FSIM_WORK_CHAIN, 1, 1, "a", false},
                               {"t4", "w", I, FSIM_WORK_CHAIN, 1, 1, "a", false}};
    fsim_arena *a = fsim_arena_new();
    const fsim_evaluated *e = evaluated(a, s, 5);
    fsim_pair *p;
    assert_int_equal(fsim_pairs_of(e, 5, a, &p), 3);
    assert_near(p[0].measured, 2);
    assert_near(p[1].measured, 3);
    assert_near(p[2].measured, 3);
    fsim_arena_free(a);
}

/* Who wrote the kernels stands where others name the strategy. */
static void writers_are_paired(void **state)
{
    (void)state;
    static const sample s[] = {{"t4", "w", E, FSIM_WORK_CHAIN, 3, 2, "Liger rope huggingface", false},
                               {"t4", "w", FSIM_STRATEGY_OPTIMAL, FSIM_WORK_CHAIN, 1, 1, "Liger rope liger", false},
                               {"t4", "w", FSIM_STRATEGY_OPTIMAL, FSIM_WORK_CHAIN, 1, 1, "Liger norm liger", false},
                               {"t4", "w", FSIM_STRATEGY_OPTIMAL, FSIM_WORK_CHAIN, 1, 1, "Liger rope ligers", false}};
    fsim_arena *a = fsim_arena_new();
    fsim_pair *p;
    assert_int_equal(fsim_pairs_of(evaluated(a, s, 4), 4, a, &p), 1);
    assert_near(p[0].measured, 3);
    assert_near(p[0].predicted, 2);
    fsim_arena_free(a);
}

static void speedups_by_hand(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_evaluated *e = evaluated(a, paired, PAIRED);
    fsim_pair *p;
    const int pairs = fsim_pairs_of(e, PAIRED, a, &p);
    const fsim_speedup_stats s = fsim_speedup_of(p, pairs, a);
    assert_int_equal(s.error.rows, 3);
    assert_int_equal(s.excluded, 1);
    assert_near(s.error.mape, (0.5 + 1.04 + 1) / 3);
    assert_near(s.error.median, 1);
    assert_near(s.rank, 1);
    assert_int_equal(s.verdict[FSIM_HELPS][FSIM_HELPS], 1);
    assert_int_equal(s.verdict[FSIM_NEITHER][FSIM_HELPS], 1);
    assert_int_equal(s.verdict[FSIM_HURTS][FSIM_NEITHER], 1);
    assert_near(s.right, 1 / 3.0);
    assert_near(s.majority, 1 / 3.0);
    assert_near(s.helps_right, 2 / 3.0);
    assert_near(s.helps_majority, 2 / 3.0);
    assert_near(s.faster_right, 2 / 3.0); /* 0.98 is predicted as 2 */
    fsim_speedup_stats *g;
    assert_int_equal(fsim_speedups_of(p, pairs, a, &g), 1);
    assert_string_equal(g[0].hw, "t4");
    assert_string_equal(g[0].strategy, "inductor");
    assert_true(isnan(fsim_speedup_of(p, 0, a).right));
    fsim_arena_free(a);
}

static void verdicts_have_a_margin(void **state)
{
    (void)state;
    assert_int_equal(fsim_verdict_on(1.051), FSIM_HELPS);
    assert_int_equal(fsim_verdict_on(1.05), FSIM_NEITHER);
    assert_int_equal(fsim_verdict_on(0.953), FSIM_NEITHER);
    assert_int_equal(fsim_verdict_on(0.952), FSIM_HURTS);
}

/* Gates. */

static void gates_hold_or_fail(void **state)
{
    static const struct {
        const char *text;
        bool passes;
        int rows;
        double value;
    } cases[] = {{"mape=29%", true, 3, (0.1 + 0.5 + 0.25) / 3},
                 {"mape=28%", false, 3, (0.1 + 0.5 + 0.25) / 3},
                 {"median=0.25", true, 3, 0.25},
                 {"softmax:bias=50%", true, 1, 0.5},
                 {"softmax:bias=49%", false, 1, 0.5},
                 {"elementwise/t4:p90=0.2", true, 1, 0.1},
                 {"t4/ops/softmax/eager:mape=40%", false, 1, 0.5},
                 {"ops:rows=3", true, 3, 3},
                 {"ops:rows=4", false, 3, 3},
                 {"ops:rows=75%", true, 4, 0.75},
                 {"ops:rows=76%", false, 4, 0.75},
                 {"inductor:mape=100%", false, 0, NAN},
                 {"norm:mape=100%", false, 0, NAN},
                 {"v100:mape=100%", false, 0, NAN},
                 {"rank=0.1", false, 0, NAN}};
    static const char *hw[] = {"t4", "v100"};
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_evaluated *e = evaluated(a, four, 4);
    const fsim_measurements rows = {(fsim_measured *)(void *)e[0].row, 4};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_gate g;
        fsim_row_group group;
        assert_true(fsim_gate_read(a, d, cases[i].text, &fsim_row_gates, &g));
        assert_true(fsim_row_group_of(a, d, &rows, &(fsim_words){hw, 2, 2}, &g, &group));
        fsim_row_gate_try(&(fsim_evaluated_rows){e, 4, NULL, 0}, &group, a, &g);
        if (g.passed != cases[i].passes || g.count != cases[i].rows)
            fail_msg("%s: %s", cases[i].text, g.says);
        if (isnan(cases[i].value))
            assert_true(isnan(g.value));
        else
            assert_near(g.value, cases[i].value);
    }
    fsim_arena_free(a);
}

static void gates_of_speedups(void **state)
{
    static const struct {
        const char *text;
        bool passes;
    } cases[] = {{"speedup=85%", true}, {"speedup=84%", false},     {"inductor/t4:speedup_median=100%", true},
                 {"rank=1", true},      {"k/l2:verdict=33%", true}, {"verdict=34%", false},
                 {"helps=66%", true},   {"eager:rank=0", false},    {"l4:verdict=0", false}};
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_evaluated *e = evaluated(a, paired, PAIRED);
    const fsim_measurements rows = {(fsim_measured *)(void *)e[0].row, PAIRED};
    fsim_pair *p;
    const int pairs = fsim_pairs_of(e, PAIRED, a, &p);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_gate g;
        fsim_row_group group;
        assert_true(fsim_gate_read(a, d, cases[i].text, &fsim_row_gates, &g) &&
                    fsim_row_group_of(a, d, &rows, &(fsim_words){0}, &g, &group));
        fsim_row_gate_try(&(fsim_evaluated_rows){e, PAIRED, p, pairs}, &group, a, &g);
        if (g.passed != cases[i].passes)
            fail_msg("%s: %s", cases[i].text, g.says);
    }
    fsim_arena_free(a);
}

static void gates_that_are_none(void **state)
{
    static const char *const bad[][2] = {{"mape", "mape wants a limit: mape=10%"},
                                         {"=1", "wanted [GROUP:]METRIC=LIMIT"},
                                         {"mape=", "wanted [GROUP:]METRIC=LIMIT"},
                                         {":mape=1", "wanted [GROUP:]METRIC=LIMIT"},
                                         {"mepe=1", "did you mean 'mape'"},
                                         {"mape=x", "is no limit"},
                                         {"mape=1%%", "is no limit"},
                                         {"mape=-1%", "is no limit"},
                                         {"mape=nan", "is no limit"},
                                         {"rank=5%", "is no limit"},
                                         {"rank=inf", "is no limit"},
                                         {"sofmax:mape=1", "did you mean 'softmax'"},
                                         {"t4/opps/relu:mape=1", "'opps' is no"},
                                         {"t4//l4:mape=1", "'' is no GPU"}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_evaluated *e = evaluated(a, four, 4);
        const fsim_measurements rows = {(fsim_measured *)(void *)e[0].row, 4};
        fsim_gate g;
        fsim_row_group group;
        assert_false(fsim_gate_read(a, d, bad[i][0], &fsim_row_gates, &g) &&
                     fsim_row_group_of(a, d, &rows, &(fsim_words){0}, &g, &group));
        char *said = diagnostics(d);
        if (!strstr(said, bad[i][1]))
            fail_msg("%s: no '%s' in: %s", bad[i][0], bad[i][1], said);
        free(said);
        fsim_arena_free(a);
    }
}

/* Predictions. */

static fsim_evaluated *predicted(fsim_arena *a, const fsim_measurements *rows, int jobs)
{
    static const char *const root[] = {FUSESIM_SOURCE_DIR "/tests/measured/workloads"};
    const fsim_folders where = {.root = root,
                                .roots = 1,
                                .workloads = FUSESIM_SOURCE_DIR "/workloads",
                                .others.folders.shipped = FUSESIM_SOURCE_DIR "/hwmodels"};
    fsim_diag *d = fsim_diag_new(a);
    const fsim_bench *b = fsim_bench_of(a, d, &where, rows);
    fsim_evaluated *e = fsim_new(a, fsim_evaluated, rows->count);
    assert_non_null(b);
    assert_true(fsim_evaluate(b, jobs, a, d, e));
    return e;
}

/* All at once, in any number of threads, as each by itself. */
static void predictions_do_not_depend_on_company(void **state)
{
    static const char *const workloads[] = {"ops/relu", "ops/softmax", "ops/layer_norm", "ops/add", "mlp"};
    static const char *hw[] = {"t4", "a100-sxm4-40gb"};
    static const fsim_strategy strategies[] = {FSIM_STRATEGY_EAGER, FSIM_STRATEGY_INDUCTOR};
    enum { COUNT = 5 * 2 * 2 * 3 };
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_measurements rows = {fsim_new(a, fsim_measured, COUNT), COUNT};
    for (int i = 0; i < COUNT; i++)
        rows.at[i] = (fsim_measured){.id = "r",
                                     .hw = hw[i / 5 % 2],
                                     .workload = workloads[i % 5],
                                     .set = i % 5 == 4 ? ""
                                            : i % 3    ? "B=512;H=768"
                                                       : "B=100;H=99",
                                     .source = "",
                                     .strategy = strategies[i / 10 % 2],
                                     .l2 = (fsim_l2_state)(i / 20),
                                     .launch = i % 7 ? FSIM_REGIME_STREAM : FSIM_REGIME_EAGER,
                                     .time_s = 1};
    const fsim_evaluated *one = predicted(a, &rows, 1), *three = predicted(a, &rows, 3);
    for (int i = 0; i < COUNT; i++) {
        const fsim_measurements alone = {&rows.at[i], 1};
        const fsim_evaluated *e = predicted(a, &alone, 1);
        assert_true(0 < e->low_s && e->low_s < e->predicted_s);
        const double above = log(e->high_s / e->predicted_s), below = log(e->predicted_s / e->low_s);
        assert_true(alone.at->launch == FSIM_REGIME_EAGER ? above >= below /* the host may be much slower */
                                                          : fabs(above - below) < 1e-12);
        assert_true(one[i].predicted_s == e->predicted_s && three[i].predicted_s == e->predicted_s); /* to the bit */
        assert_true(one[i].row == &rows.at[i] && one[i].class == e->class && one[i].bound == e->bound &&
                    one[i].kernels == e->kernels);
        for (int u = 0; u < FSIM_UNIT_COUNT; u++)
            assert_true(one[i].unit_s[u] == e->unit_s[u] && three[i].unit_s[u] == e->unit_s[u]);
    }
    fsim_arena_free(a);
}

static void rows_are_excluded_by_what_they_say(void **state)
{
    /* 8 MB over 320 GB/s is 25 us; all but the 4 MiB of L2 12 us */
    static const fsim_measured row[] = {{.id = "cold, slow enough",
                                         .hw = "t4",
                                         .workload = "ops/relu",
                                         .set = "B=1000;H=1000",
                                         .source = "",
                                         .l2 = FSIM_L2_COLD,
                                         .launch = FSIM_REGIME_STREAM,
                                         .time_s = 25e-6},
                                        {.id = "cold, too fast",
                                         .hw = "t4",
                                         .workload = "ops/relu",
                                         .set = "B=1000;H=1000",
                                         .source = "",
                                         .l2 = FSIM_L2_COLD,
                                         .launch = FSIM_REGIME_STREAM,
                                         .time_s = 12e-6},
                                        {.id = "warm, slow enough",
                                         .hw = "t4",
                                         .workload = "ops/relu",
                                         .set = "B=1000;H=1000",
                                         .source = "",
                                         .l2 = FSIM_L2_WARM,
                                         .launch = FSIM_REGIME_STREAM,
                                         .time_s = 12e-6},
                                        {.id = "warm, too fast",
                                         .hw = "t4",
                                         .workload = "ops/relu",
                                         .set = "B=1000;H=1000",
                                         .source = "",
                                         .l2 = FSIM_L2_UNKNOWN,
                                         .launch = FSIM_REGIME_STREAM,
                                         .time_s = 11e-6},
                                        {.id = "the host's",
                                         .hw = "t4",
                                         .workload = "many",
                                         .set = "",
                                         .source = "",
                                         .l2 = FSIM_L2_WARM,
                                         .launch = FSIM_REGIME_EAGER,
                                         .time_s = 1},
                                        {.id = "no host",
                                         .hw = "t4",
                                         .workload = "many",
                                         .set = "",
                                         .source = "",
                                         .l2 = FSIM_L2_WARM,
                                         .launch = FSIM_REGIME_STREAM,
                                         .time_s = 1}};
    static const char *const wanted[] = {
        NULL, "faster than the memory bus allows", NULL, "faster than the memory bus allows", "host-bound", NULL};
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_measured *copy = fsim_new(a, fsim_measured, 6);
    memcpy(copy, row, sizeof row);
    const fsim_measurements rows = {copy, 6};
    const fsim_evaluated *e = predicted(a, &rows, 2);
    for (int i = 0; i < 6; i++)
        if (e[i].excluded != wanted[i] && (!e[i].excluded || !wanted[i] || strcmp(e[i].excluded, wanted[i]) != 0))
            fail_msg("%s: %s (bus %g)", row[i].id, e[i].excluded ? e[i].excluded : "kept", e[i].bus_s);
    assert_near(e[0].compulsory_bytes, 8e6);
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(csv_reads_quotes_and_line_ends),
                                       cmocka_unit_test(csv_written_reads_back),
                                       cmocka_unit_test(csv_says_where_it_is_wrong),
                                       cmocka_unit_test(quantiles_interpolate),
                                       cmocka_unit_test(errors_by_hand),
                                       cmocka_unit_test(groups_are_sorted_and_complete),
                                       cmocka_unit_test(worst_is_by_ratio),
                                       cmocka_unit_test(ranks_share_ties),
                                       cmocka_unit_test(pairs_are_found),
                                       cmocka_unit_test(repeated_runs_pair_in_turn),
                                       cmocka_unit_test(writers_are_paired),
                                       cmocka_unit_test(speedups_by_hand),
                                       cmocka_unit_test(verdicts_have_a_margin),
                                       cmocka_unit_test(gates_hold_or_fail),
                                       cmocka_unit_test(gates_of_speedups),
                                       cmocka_unit_test(gates_that_are_none),
                                       cmocka_unit_test(predictions_do_not_depend_on_company),
                                       cmocka_unit_test(rows_are_excluded_by_what_they_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
