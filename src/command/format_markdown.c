/* SPDX-License-Identifier: Apache-2.0 */
/* --markdown: tables for a CI summary. */
#include "command/command.h"
#include "report/accuracy.h"
#include "report/compiled.h"
#include "report/diff.h"
#include "report/diff_rows.h"
#include "report/systems.h"
#include "report/trial.h"

static bool show_plans(FILE *out, const fsim_context *c, const void *what)
{
    const fsim_shown_plans *p = what;
    fsim_report_markdown(out, p->at, p->count, c->set.verbose);
    for (int i = 0; i < p->count; i++)
        fsim_markdown_gates(out, fsim_shown_gpu(c, p, i), p->judged[i].at, p->judged[i].count);
    return true;
}

static bool show_accuracy(FILE *out, const fsim_context *c, const void *what)
{
    (void)c;
    fsim_markdown_accuracy(out, what);
    return true;
}

static bool show_trials(FILE *out, const fsim_context *c, const void *what)
{
    (void)c;
    fsim_markdown_trials(out, what);
    return true;
}

static bool show_registers(FILE *out, const fsim_context *c, const void *what)
{
    (void)c;
    fsim_markdown_registers(out, what);
    return true;
}

static bool show_workloads(FILE *out, const fsim_context *c, const void *what)
{
    (void)c;
    fsim_markdown_workloads(out, what);
    return true;
}

static bool show_ops(FILE *out, const fsim_context *c, const void *what)
{
    (void)c, (void)what;
    fsim_markdown_ops(out);
    return true;
}

static bool show_hw_keys(FILE *out, const fsim_context *c, const void *what)
{
    (void)c, (void)what;
    fsim_markdown_hw_keys(out);
    return true;
}

static bool show_systems(FILE *out, const fsim_context *c, const void *what)
{
    (void)c;
    fsim_markdown_systems(out, what);
    return true;
}

static bool show_diff(FILE *out, const fsim_context *c, const void *what)
{
    fsim_markdown_diff(out, what, c->set.verbose);
    return true;
}

static bool show_rows_diff(FILE *out, const fsim_context *c, const void *what)
{
    fsim_markdown_rows_diff(out, what, c->set.verbose);
    return true;
}

const fsim_renderer fsim_as_markdown[FSIM_RESULT_KINDS] = {
    [FSIM_RESULT_PLANS] = {.show = show_plans},         [FSIM_RESULT_DIFF] = {.show = show_diff},
    [FSIM_RESULT_ROWS_DIFF] = {.show = show_rows_diff}, [FSIM_RESULT_ACCURACY] = {.show = show_accuracy},
    [FSIM_RESULT_TRIALS] = {.show = show_trials},       [FSIM_RESULT_REGISTERS] = {.show = show_registers},
    [FSIM_RESULT_WORKLOADS] = {.show = show_workloads}, [FSIM_RESULT_OPS] = {.show = show_ops},
    [FSIM_RESULT_HW_KEYS] = {.show = show_hw_keys},     [FSIM_RESULT_SYSTEMS] = {.show = show_systems},
};
