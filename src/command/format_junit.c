/* SPDX-License-Identifier: Apache-2.0 */
/* --junit: gates as test cases, as Jenkins and GitLab read them. */
#include "command/command.h"
#include "report/accuracy.h"
#include "report/compiled.h"
#include "report/diff.h"
#include "report/diff_rows.h"
#include "report/trial.h"

static bool show_plans(FILE *out, const fsim_context *c, const void *what)
{
    const fsim_shown_plans *p = what;
    (void)c;
    fsim_junit_plans(out, p->at, p->judged, p->count);
    return true;
}

static bool show_accuracy(FILE *out, const fsim_context *c, const void *what)
{
    (void)c;
    fsim_junit_accuracy(out, what);
    return true;
}

static bool show_trials(FILE *out, const fsim_context *c, const void *what)
{
    (void)c;
    fsim_junit_trials(out, what);
    return true;
}

static bool show_registers(FILE *out, const fsim_context *c, const void *what)
{
    (void)c;
    fsim_junit_registers(out, what);
    return true;
}

static bool show_diff(FILE *out, const fsim_context *c, const void *what)
{
    (void)c;
    fsim_junit_diff(out, what);
    return true;
}

static bool show_rows_diff(FILE *out, const fsim_context *c, const void *what)
{
    (void)c;
    fsim_junit_rows_diff(out, what);
    return true;
}

const fsim_renderer fsim_as_junit[FSIM_RESULT_KINDS] = {
    [FSIM_RESULT_PLANS] = {.show = show_plans},         [FSIM_RESULT_DIFF] = {.show = show_diff},
    [FSIM_RESULT_ROWS_DIFF] = {.show = show_rows_diff}, [FSIM_RESULT_ACCURACY] = {.show = show_accuracy},
    [FSIM_RESULT_TRIALS] = {.show = show_trials},       [FSIM_RESULT_REGISTERS] = {.show = show_registers},
};
