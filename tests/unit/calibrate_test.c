/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 5 */
/* Fits that find what made the rows, fits that are refused, the files that they write; what GPUs take from their
 * relatives; intervals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { THREADS = 2, T4_RUNS = 20 };
#else
enum { THREADS = 1, T4_RUNS = 30 };
#endif

#include <cmocka.h>

#include "base/file.h"
#include "cost/constants.h"
#include "evidence/calibrate.h"
#include "evidence/folds.h"
#include "evidence/optimiser.h"
#include "evidence/residual.h"
#include "hw/relatives.h"
#include "plan/price/interval.h"
#include "plan/price/price.h"
#include "plan/price/sdpa.h"
#include "plan/rivals/rivals.h"

#define HWMODELS FUSESIM_SOURCE_DIR "/hwmodels"

static fsim_hw *gpu(fsim_arena *a, const char *name)
{
    fsim_hw *hw = fsim_hw_read(a, fsim_diag_new(a), fsim_printf(a, HWMODELS "/%s.yaml", name));
    assert_non_null(hw);
    return hw;
}

static fsim_bench *bench_of(fsim_arena *a, fsim_hw *hw, const fsim_measurements *rows)
{
    fsim_hw **one = fsim_new(a, fsim_hw *, 1);
    one[0] = hw;
    fsim_folders *where = fsim_new(a, fsim_folders, 1);
    *where = (fsim_folders){
        .workloads = FUSESIM_SOURCE_DIR "/workloads", .others.folders.shipped = HWMODELS, .hw = one, .hws = 1};
    fsim_bench *b = fsim_bench_of(a, fsim_diag_new(a), where, rows);
    assert_non_null(b);
    return b;
}

/* Seconds that hw predicts for each row. */
static const fsim_evaluated *predicted(fsim_arena *a, fsim_hw *hw, const fsim_measurements *rows)
{
    fsim_evaluated *e = fsim_new(a, fsim_evaluated, rows->count);
    assert_true(fsim_evaluate(bench_of(a, hw, rows), 1, a, fsim_diag_new(a), e));
    return e;
}

/* Sums and ReLUs of many sizes on a T4, as `truth` runs them. */
static fsim_measurements runs_of(fsim_arena *a, fsim_hw *truth, int count)
{
    fsim_measurements rows = {fsim_new(a, fsim_measured, count), count};
    for (int i = 0; i < count; i++)
        rows.at[i] = (fsim_measured){.id = fsim_printf(a, "run/%d", i),
                                     .hw = "t4",
                                     .workload = i % 2 ? "ops/add" : "ops/relu",
                                     .set = fsim_printf(a, "B=%d;H=4096", 200 + 173 * i),
                                     .source = "",
                                     .strategy = FSIM_STRATEGY_EAGER,
                                     .l2 = FSIM_L2_COLD,
                                     .launch = FSIM_REGIME_STREAM,
                                     .time_s = 1,
                                     .at = {"runs.csv", i + 2, 1}};
    const fsim_evaluated *e = predicted(a, truth, &rows);
    for (int i = 0; i < count; i++)
        rows.at[i].time_s = e[i].predicted_s;
    return rows;
}

static void set(fsim_arena *a, fsim_hw *hw, const char *assignment)
{
    assert_true(fsim_hw_set(a, fsim_diag_new(a), hw, assignment));
}

/* The T4 as it might have been. */
static fsim_hw *other_t4(fsim_arena *a)
{
    fsim_hw *hw = gpu(a, "t4");
    hw->q[FSIM_HW_DRAM_BANDWIDTH].achieved = 200e9;
    set(a, hw, "dram_write_cost=1.3");
    set(a, hw, "call_overhead_stream=30 us");
    return hw;
}

static double square_of(const double *x, void *with)
{
    (void)with;
    return x[0] * x[0];
}

/* Is NLopt away? (Where it is there, it finds a minimum.) */
static bool no_optimiser(void)
{
    double x = 1, low = -1, high = 2, step = 0.1, least = 1;
    const char *why = "";
    const fsim_minimum of = {square_of, NULL, 1, &low, &high, &step, 200};
    const bool found = fsim_minimise(&of, &x, &least, &why);
    assert_true(found ? fabs(x) < 1e-2 && least < 1e-4 : strstr(why, "not installed") != NULL);
    return !found;
}

static fsim_fit fitted(fsim_arena *a, fsim_hw *hw, const fsim_measurements *rows, const char *group, int jobs)
{
    const fsim_fit_options how = {5, jobs, &group, 1, NULL};
    fsim_fit *fit = NULL;
    assert_int_equal(fsim_calibrate(bench_of(a, hw, rows), hw, &how, a, fsim_diag_new(a), &fit), 1);
    return fit[0];
}

static void scalars_that_made_the_rows_are_found(void **state)
{
    (void)state;
    if (no_optimiser())
        skip();
    fsim_arena *a = fsim_arena_new();
    fsim_hw *truth = other_t4(a), *hw = gpu(a, "t4"), *again = gpu(a, "t4");
    const fsim_measurements rows = runs_of(a, truth, T4_RUNS);
    const fsim_fit f = fitted(a, hw, &rows, "streaming", THREADS),
                   g = THREADS == 2 ? f : fitted(a, again, &rows, "streaming", 2);
    assert_null(f.refused);
    assert_int_equal(f.rows, T4_RUNS);
    assert_true(f.before.mape > 0.1 && f.after.mape < 0.005 && f.fitted.mape < 0.005);
    for (int k = 0; k < f.fitted_keys; k++) {
        const double wanted = fsim_hw_get(truth, f.key[k].key);
        assert_true(fabs(f.key[k].after / wanted - 1) < 0.02);
        assert_true(fsim_hw_get(hw, f.key[k].key) == f.key[k].after);
        assert_true(f.key[k].spread < 0.05);
        assert_true(g.key[k].after == f.key[k].after && g.key[k].spread == f.key[k].spread); /* however many threads */
    }
    fsim_arena_free(a);
}

static void fits_that_help_nobody_are_refused(void **state)
{
    (void)state;
    if (no_optimiser())
        skip();
    fsim_arena *a = fsim_arena_new();
    fsim_hw *truth = other_t4(a), *hw = gpu(a, "t4");
    const double bandwidth = fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH);
    const fsim_measurements few = runs_of(a, truth, 10);
    assert_non_null(strstr(fitted(a, hw, &few, "streaming", 1).refused, "too few"));
    assert_true(fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH) == bandwidth); /* keeps what it had */
#ifndef FSIM_SANITIZED                                                 /* fits as those above and below */
    const fsim_measurements known = runs_of(a, hw, 24);
    assert_non_null(fitted(a, hw, &known, "streaming", 1).refused); /* what the file has is as good */
    assert_true(fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH) == bandwidth);
    fsim_measurements noise = runs_of(a, hw, 24);
    for (int i = 0; i < noise.count; i++) /* no two alike */
        noise.at[i].time_s = 1e-5 * exp(0.3 * (i * 7919 % 24));
    const fsim_fit f = fitted(a, hw, &noise, "streaming", 1);
    assert_true(f.refused || f.after.mape > 0.3);
#endif
    fsim_arena_free(a);
}

static int lines_with(const char *text, const char *what)
{
    int count = 0;
    for (const char *p = text; (p = strstr(p, what)); p++)
        count++;
    return count;
}

static void fitted_files_keep_the_rest(void **state)
{
    static const char text[] = "# A comment.\nname: x\nsms: {value: 4, source: counted}\ndram_bandwidth: {peak: 320 "
                               "GB/s, achieved: 242 GB/s,\n  source: \"data sheet; achieved measured: somebody\"}\n"
                               "# another comment\npower_limit: {value: 70 W, source: data sheet}";
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_hw *hw = gpu(a, "t4");
    fsim_fit f = {.group = &fsim_fit_groups[0], .rows = 9, .fitted_keys = 2, .files = "runs.csv"};
    f.key[0] = (fsim_fitted_key){.key = FSIM_HW_DRAM_BANDWIDTH, .after = 200.04e9, .spread = 0.012, .rows = 9};
    f.key[1] = (fsim_fitted_key){.key = FSIM_HW_CALL_STREAM, .after = 12.34e-6, .spread = 0.5, .rows = 9};
    const char *once = fsim_calibrated_text(
        a, text, hw, &f, 1, &(fsim_calibration_note){"2026-01-02", "fusesim calibrate --hw x (2026-01-02)"});
    assert_non_null(strstr(once, "# A comment.\n# Fitted by: fusesim calibrate --hw x (2026-01-02)\nname: x\nsms: "
                                 "{value: 4, source: counted}\ndram_bandwidth:"));
    assert_non_null(strstr(once, "achieved: 200 GB/s, spread: 0.012, source: \""));
    assert_non_null(strstr(once, "achieved fitted: runs.csv, 9 rows of streaming, 2026-01-02\"}\n# another "
                                 "comment\npower_limit: {value: 70 W, source: data sheet}\ncall_overhead_stream:"));
    assert_null(strstr(once, "somebody"));
    const char *twice = fsim_calibrated_text(
        a, once, hw, &f, 1, &(fsim_calibration_note){"2026-03-04", "fusesim calibrate --hw x (2026-03-04)"});
    assert_int_equal(lines_with(twice, "# Fitted by"), 1); /* the same command, another day */
    assert_int_equal(lines_with(twice, "dram_bandwidth:"), 1);
    assert_int_equal(lines_with(twice, "call_overhead_stream:"), 1);
    assert_int_equal(lines_with(fsim_calibrated_text(
                                    a, twice, hw, &f, 1,
                                    &(fsim_calibration_note){"2026-03-04", "fusesim calibrate --hw y (2026-03-04)"}),
                                "# Fitted by"),
                     2);
    f.refused = "it is";
    assert_null(
        strstr(fsim_calibrated_text(a, text, hw, &f, 1, &(fsim_calibration_note){"2026-01-02", "z"}), "200 GB/s"));
    fsim_arena_free(a);
}

static void relatives_tell_what_a_data_sheet_does_not(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_hw *hw = gpu(a, "a100-pcie-40gb"), *twin = gpu(a, "a100-pcie-80gb");
    const double peak = hw->q[FSIM_HW_DRAM_BANDWIDTH].value, was = fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH);
    fsim_relative relative[] = {fsim_relative_of(hw), fsim_relative_of(twin)};
    fsim_hw_drop_measurements(hw);
    assert_true(fsim_hw_lacks_measurements(hw));
    assert_true(fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH) == peak);
    assert_int_equal(fsim_hw_origin(hw, FSIM_HW_GEMM_FP32), FSIM_FROM_ASSUMED);
    fsim_hw_fill_from(a, hw, relative, 1); /* nobody is its own relative, whatever its file says */
    assert_true(fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH) == peak);
    fsim_hw_fill_from(a, hw, relative, 2);
    const double share = fsim_hw_get(twin, FSIM_HW_DRAM_BANDWIDTH) / twin->q[FSIM_HW_DRAM_BANDWIDTH].value;
    assert_true(fabs(fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH) / (peak * share) - 1) < 1e-12);
    assert_true(fabs(fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH) / was - 1) < 0.05);
    assert_true(fabs(fsim_hw_get(hw, FSIM_HW_GEMM_FP32) / fsim_hw_get(twin, FSIM_HW_GEMM_FP32) - 1) < 1e-12);
    assert_int_equal(fsim_hw_origin(hw, FSIM_HW_GEMM_FP32), FSIM_FROM_ASSUMED);
    assert_non_null(strstr(hw->q[FSIM_HW_GEMM_FP32].source, "as on a100-pcie-80gb"));
    fsim_arena_free(a);
}

static void intervals_hold_what_they_are_around(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    size_t bytes;
    const char *why, *path = FUSESIM_SOURCE_DIR "/workloads/bert_layer.yaml",
                     *text = fsim_read_file(a, path, &bytes, &why);
    const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), path, text, bytes, NULL);
    fsim_hw *hw = gpu(a, "h100-sxm5-80gb");
    const fsim_options options = {.search_steps = 300000};
    fsim_problem p = fsim_problem_of(g, hw, &options, a);
    fsim_plan own, eager, inductor;
    fsim_baseline(&p, FSIM_STRATEGY_EAGER, a, &own);
    eager = fsim_plan_launched_by(&p, FSIM_BY_ATEN, &own, a);
    fsim_baseline(&p, FSIM_STRATEGY_INDUCTOR, a, &own);
    inductor = fsim_plan_launched_by(&p, FSIM_BY_INDUCTOR, &own, a);
    const fsim_software aten = {g, hw, FSIM_REGIME_STREAM, FSIM_BY_ATEN},
                        triton = {g, hw, FSIM_REGIME_STREAM, FSIM_BY_INDUCTOR};
    const fsim_plan_errors of_eager = fsim_errors_of(&aten, &eager, a),
                           compiled = fsim_errors_of(&triton, &inductor, a);
    const fsim_interval t = fsim_time_interval(&of_eager, eager.time_s),
                        same = fsim_ratio_interval(&of_eager, &of_eager, 1, a),
                        other = fsim_ratio_interval(&of_eager, &compiled, eager.time_s / inductor.time_s, a);
    const double alone = sqrt(fsim_own_variance(&of_eager)), up = log(t.high / eager.time_s);
    double largest = 0;
    for (int c = 0; c < FSIM_ERROR_CLASSES; c++)
        largest = fmax(largest, fsim_common_errors[c]);
    assert_true(t.low < eager.time_s && alone < up && up < hypot(alone, largest)); /* classes' errors cancel in part */
    assert_true(same.low == 1 && same.high == 1);                                  /* the same kernels err alike */
    assert_true(other.low < eager.time_s / inductor.time_s && eager.time_s / inductor.time_s < other.high);
    const double wide = t.high;
    set(a, hw, "residual_contraction_tensor=2x");
    assert_true(fsim_plan_interval(&aten, &eager, a).high > wide);
    fsim_arena_free(a);
}

static const char three_streams[] =
    "name: three\nsymbols: {N: 33554432, dtype: f32}\ntensors:\n  x: {shape: [N], dtype: dtype, role: "
    "input}\noperators:\n"
    "  - {op: relu, in: x, out: a}\n  - {op: relu, in: a, out: b}\n  - {op: neg, in: b, out: c}\noutputs: [a, c]\n";

/* Three streaming kernels, as ATen runs them on an H100. */
static fsim_plan three_kernels(const fsim_software *s, fsim_arena *a)
{
    const fsim_options options = {.search_steps = 3000000};
    fsim_problem p = fsim_problem_of(s->graph, s->hw, &options, a);
    fsim_plan own;
    fsim_baseline(&p, FSIM_STRATEGY_EAGER, a, &own);
    const fsim_plan three = fsim_plan_launched_by(&p, FSIM_BY_ATEN, &own, a);
    assert_int_equal(three.kernels, 3);
    return three;
}

/* The equations of docs/MODEL.md, "Intervals". */
static void kernels_of_a_class_err_together(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g =
        fsim_graph_parse(a, fsim_diag_new(a), "three.yaml", three_streams, strlen(three_streams), NULL);
    assert_non_null(g);
    const fsim_software s = {g, gpu(a, "h100-sxm5-80gb"), FSIM_REGIME_STREAM, FSIM_BY_ATEN};
    const fsim_plan three = three_kernels(&s, a);
    const double r = log(fsim_kernel_interval(g, s.hw, s.maker, &three.kernel[0]).high / three.kernel[0].time_s),
                 tau = fsim_common_errors[fsim_error_class(FSIM_HW_RESIDUAL_STREAMING)];
    double squares = 0;
    for (int k = 0; k < 3; k++)
        squares += pow(three.kernel[k].time_s / three.time_s, 2);
    const double company = pow(1 - squares, 2), common = company * tau;
    const fsim_plan_errors e = fsim_errors_of(&s, &three, a), alone = fsim_errors_of_kernels(&s, three.kernel, 1, a);
    assert_true(fabs(log(fsim_time_interval(&e, 1).high) / sqrt(squares * r * r + common * common) - 1) < 1e-9);
    assert_true(fabs(log(fsim_time_interval(&alone, 1).high) / r - 1) < 1e-9); /* one kernel has no company */
    fsim_arena_free(a);
}

/* Between plans of one program, errors of kernels that both launch cancel; of another program's kernels of the same
 * work, only in part. */
static void errors_cancel_between_plans(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g =
        fsim_graph_parse(a, fsim_diag_new(a), "three.yaml", three_streams, strlen(three_streams), NULL);
    const fsim_software s = {g, gpu(a, "h100-sxm5-80gb"), FSIM_REGIME_STREAM, FSIM_BY_ATEN},
                        compiled = {g, s.hw, FSIM_REGIME_STREAM, FSIM_BY_INDUCTOR};
    const fsim_plan three = three_kernels(&s, a);
    const fsim_plan_errors all = fsim_errors_of(&s, &three, a), two = fsim_errors_of_kernels(&s, three.kernel, 2, a),
                           triton = fsim_errors_of(&compiled, &three, a);
    const double r = all.kernel[0].own.kind, tau = fsim_common_errors[fsim_error_class(FSIM_HW_RESIDUAL_STREAMING)];
    double own = pow(all.kernel[2].share, 2);
    for (int k = 0; k < 2; k++)
        own += pow(two.kernel[k].share - all.kernel[k].share, 2);
    const double spread = sqrt(own * r * r + pow((all.company - two.company) * tau, 2));
    assert_true(fabs(log(fsim_ratio_interval(&all, &two, 1, a).high) / spread - 1) < 1e-9);
    assert_true(fsim_ratio_interval(&all, &all, 1, a).high == 1);
    const double apart = log(fsim_ratio_interval(&all, &triton, 1, a).high);
    assert_true(apart > 0 && apart < 2 * log(fsim_time_interval(&all, 1).high)); /* less than without any link */
    fsim_arena_free(a);
}

/* A host that is slower makes eager calls longer, and hardly shorter where it was ahead of the GPU. */
static void hosts_err_to_one_side(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g =
        fsim_graph_parse(a, fsim_diag_new(a), "three.yaml", three_streams, strlen(three_streams), NULL);
    fsim_software s = {g, gpu(a, "h100-sxm5-80gb"), FSIM_REGIME_STREAM, FSIM_BY_ATEN};
    fsim_plan three = three_kernels(&s, a);
    for (int k = 0; k < 3; k++)
        three.kernel[k].time[FSIM_LAUNCH] = three.kernel[k].time_s / 2; /* half of the time is the host's */
    const fsim_interval gpu_only = fsim_plan_interval(&s, &three, a);
    s.regime = FSIM_REGIME_EAGER;
    const fsim_interval with_host = fsim_plan_interval(&s, &three, a);
    assert_true(with_host.high > gpu_only.high && with_host.low < gpu_only.low);
    assert_true(log(with_host.high / three.time_s) > log(three.time_s / with_host.low));
    fsim_arena_free(a);
}

/* A kernel of a backward pass has an error more than the same one of a forward pass. */
static void backward_kernels_are_less_certain(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g =
        fsim_graph_parse(a, fsim_diag_new(a), "three.yaml", three_streams, strlen(three_streams), NULL);
    fsim_software s = {g, gpu(a, "h100-sxm5-80gb"), FSIM_REGIME_STREAM, FSIM_BY_ATEN};
    const fsim_plan three = three_kernels(&s, a);
    const fsim_kernel *k = &three.kernel[0];
    const double forward = fsim_kernel_spread(g, s.hw, s.maker, k);
    g->node[k->group->member[0].node].phase = FSIM_BACKWARD;
    assert_true(fabs(fsim_kernel_spread(g, s.hw, s.maker, k) - hypot(forward, spread_backward)) < 1e-12);
    assert_true(spread_backward > 0);
    fsim_arena_free(a);
}

/* count networks of ten equal convolutions, each network off by error x a number from -1 to 1, its kernels hardly more.
 */
static fsim_evaluated *networks(int count, double error, fsim_arena *a)
{
    enum { KERNELS = 10 };
    fsim_evaluated *e = fsim_new(a, fsim_evaluated, count);
    fsim_measured *row = fsim_new(a, fsim_measured, count);
    for (int i = 0; i < count; i++) {
        const double off = 2.0 * (i + 0.5) / count - 1; /* evenly spread: eight of ten lie within 0.8 x error */
        row[i] =
            (fsim_measured){.hw = "gpu", .workload = fsim_printf(a, "w/%d", i), .set = "", .time_s = exp(error * off)};
        e[i] = (fsim_evaluated){.row = &row[i], .predicted_s = 1, .class = FSIM_WORK_NETWORK};
        e[i].errors = (fsim_plan_errors){.kernels = KERNELS, .company = 1, .busy_s = 1};
        e[i].errors.kernel = fsim_new(a, fsim_kernel_error, KERNELS);
        for (int k = 0; k < KERNELS; k++)
            e[i].errors.kernel[k] = (fsim_kernel_error){
                .key = FSIM_HW_RESIDUAL_CONVOLUTION, .vendor = true, .share = 1.0 / KERNELS, .own.kind = 0.01};
    }
    return e;
}

/* The common error of convolutions is found, and the intervals of rows come from other rows. */
static void common_errors_are_fitted(void **state)
{
    enum { ROWS = 200, FOLDS = 4 };
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const int convolution = fsim_error_class(FSIM_HW_RESIDUAL_CONVOLUTION);
    fsim_evaluated *e = networks(ROWS, 0.6, a);
    const fsim_common_fit wide = fsim_fit_common(e, ROWS, a), narrow = fsim_fit_common(networks(ROWS, 0.1, a), ROWS, a),
                          none = fsim_fit_common(e, 3, a);
    assert_int_equal(wide.rows, ROWS);
    assert_true(wide.spread[convolution] == 0.48); /* 0.8 x 0.6 */
    assert_true(narrow.spread[convolution] == 0.08);
    assert_true(none.spread[convolution] == fsim_common_errors[convolution]); /* three rows say nothing */
    /* A quarter of the rows 50 times too fast: of a workload whose graph is not what ran they say nothing either. */
    fsim_evaluated *other = networks(ROWS, 0.1, a);
    fsim_measured *slow = fsim_new(a, fsim_measured, ROWS / 4);
    for (int i = 0; i < ROWS / 4; i++) {
        slow[i] = *other[4 * i].row;
        slow[i].time_s = 50;
        slow[i].workload = "kernelbench/v01/l3/032";
        other[4 * i].row = &slow[i];
    }
    assert_true(fsim_fit_common(other, ROWS, a).spread[convolution] == 0.85);
    for (int i = 0; i < ROWS / 4; i++)
        slow[i].workload = "kernelbench/v01/l3/031";
    const fsim_common_fit without = fsim_fit_common(other, ROWS, a);
    assert_true(without.rows == ROWS - ROWS / 4 && without.spread[convolution] == 0.08);
    const fsim_folded *f = fsim_fold_intervals(e, ROWS, FOLDS, a);
    const fsim_stats s = fsim_stats_of(e, ROWS, a);
    assert_true(f->folds == FOLDS && f->all.spread[convolution] == 0.48);
    assert_true(s.coverage > 0.75 && s.coverage < 0.85);
    for (int i = 0; i < ROWS; i++)
        assert_true(fabs(log(e[i].high_s)) > 0.3 && e[i].common == f->of[f->fold[i]].spread);
    fsim_arena_free(a);
}

/* Widths from rows of several GPUs: a GPU's own where there are enough, else the others' in equal parts beside them. */
static void few_rows_are_joined_by_others(void **state)
{
    (void)state;
    enum { MANY = 40, FEW = 5 };
    fsim_arena *a = fsim_arena_new();
    fsim_residual r[MANY + FEW];
    const double none[FSIM_ERROR_CLASSES] = {0};
    for (int i = 0; i < MANY + FEW; i++) /* GPU 0: errors from 0.01 to 0.40; GPU 1: 0.5 */
        r[i] = (fsim_residual){
            .gpu = i >= MANY, .log_error = i < MANY ? 0.01 * (i + 1) : 0.5, .key = FSIM_HW_RESIDUAL_ROWS, .main = true};
    const int rows = fsim_error_class(FSIM_HW_RESIDUAL_ROWS);
    const fsim_widths many = fsim_widths_of(r, MANY + FEW, 0, none, a), few = fsim_widths_of(r, MANY + FEW, 1, none, a),
                      alone = fsim_widths_of(r + MANY, FEW, 1, none, a), absent = fsim_widths_of(r, MANY, 1, none, a);
    assert_true(many.rows[rows] == MANY && many.others[rows] == 0 && fabs(many.width[rows] - 0.33) < 1e-9);
    /* 5 rows of 1 and 40 rows of 1/4: 0.8 of 15 and one more is 12.8, of which the others make 10 */
    assert_true(few.rows[rows] == FEW && few.others[rows] == 1 && few.width[rows] == 0.5);
    assert_true(alone.rows[rows] == 0 && absent.rows[rows] == 0); /* too few, and none of its own */
    fsim_arena_free(a);
}

/* A T4's clock falls within milliseconds: what runs alone, by itself, is through sooner, the shorter the more. */
static void rested_devices_are_faster_at_first(void **state)
{
    static const char *const sets[] = {"M=1024;N=1024;K=4096", "M=4096;N=4096;K=4096", "M=16384;N=16384;K=16384"};
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_hw *plain = gpu(a, "t4"), *rested = gpu(a, "t4");
    fsim_measurements rows = {fsim_new(a, fsim_measured, 3), 3};
    double before = 0;
    for (int i = 0; i < 3; i++)
        rows.at[i] = (fsim_measured){.id = sets[i],
                                     .hw = "t4",
                                     .workload = "ops/linear",
                                     .set = sets[i],
                                     .source = "",
                                     .strategy = FSIM_STRATEGY_EAGER,
                                     .l2 = FSIM_L2_COLD,
                                     .launch = FSIM_REGIME_EAGER,
                                     .time_s = 1};
    rested->q[FSIM_HW_GEMM_BURST] =
        (fsim_quantity){.value = 0.5, .achieved = NAN, .source = "fitted: here", .present = true};
    const fsim_evaluated *x = predicted(a, plain, &rows), *y = predicted(a, rested, &rows);
    for (int i = 0; i < 3; i++) {
        const double share = y[i].predicted_s / x[i].predicted_s;
        assert_true(share > before && share > 0.5 && share < 1);
        before = share;
    }
    assert_true(before > 0.95);
    for (int i = 0; i < 3; i++) { /* after another product it has not rested */
        rows.at[i].workload = "mlp";
        rows.at[i].set = fsim_printf(a, "M=%d;dtype=f32", 256 << i);
    }
    x = predicted(a, plain, &rows);
    y = predicted(a, rested, &rows);
    for (int i = 0; i < 3; i++)
        assert_true(y[i].predicted_s == x[i].predicted_s);
    fsim_arena_free(a);
}

/* Which groups of scalars a row can tell about. */
static void rows_tell_about_the_units_that_they_use(void **state)
{
    static const char *const sets[] = {"M=1024;N=1024;K=1024;dtype=f32", "M=1024;N=1024;K=1024;dtype=f16",
                                       "M=1024;N=1024;K=1024;dtype=bf16"};
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_measurements rows = {fsim_new(a, fsim_measured, 3), 3};
    for (int i = 0; i < 3; i++)
        rows.at[i] = (fsim_measured){.id = sets[i],
                                     .hw = "l4",
                                     .workload = "ops/linear",
                                     .set = sets[i],
                                     .source = "",
                                     .strategy = FSIM_STRATEGY_EAGER,
                                     .l2 = FSIM_L2_COLD,
                                     .launch = FSIM_REGIME_STREAM,
                                     .time_s = 1};
    fsim_bench *b = bench_of(a, gpu(a, "l4"), &rows);
    for (int i = 0; i < 3; i++) {
        const fsim_prepared p = fsim_prepare(b, i, a);
        int told = 0;
        for (int g = 0; g < fsim_fit_group_count; g++) {
            const char *name = fsim_fit_groups[g].name;
            const bool vector = strcmp(name, "gemm_fp32") == 0, tensor = strcmp(name, "gemm_tensor") == 0;
            if (!vector && !tensor)
                continue;
            assert_true(fsim_fit_groups[g].takes(&p) == (i == 0 ? vector : tensor));
            told++;
        }
        assert_int_equal(told, 2);
    }
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(scalars_that_made_the_rows_are_found),
                                       cmocka_unit_test(fits_that_help_nobody_are_refused),
                                       cmocka_unit_test(fitted_files_keep_the_rest),
                                       cmocka_unit_test(relatives_tell_what_a_data_sheet_does_not),
                                       cmocka_unit_test(intervals_hold_what_they_are_around),
                                       cmocka_unit_test(kernels_of_a_class_err_together),
                                       cmocka_unit_test(errors_cancel_between_plans),
                                       cmocka_unit_test(hosts_err_to_one_side),
                                       cmocka_unit_test(few_rows_are_joined_by_others),
                                       cmocka_unit_test(common_errors_are_fitted),
                                       cmocka_unit_test(backward_kernels_are_less_certain),
                                       cmocka_unit_test(rested_devices_are_faster_at_first),
                                       cmocka_unit_test(rows_tell_about_the_units_that_they_use)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
