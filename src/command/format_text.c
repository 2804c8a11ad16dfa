/* SPDX-License-Identifier: Apache-2.0 */
/* The text report, for people at a terminal. */
#include "command/command.h"
#include "evidence/profile_rows.h"
#include "report/accuracy.h"
#include "report/calibration.h"
#include "report/capacity.h"
#include "report/compiled.h"
#include "report/diff.h"
#include "report/diff_rows.h"
#include "report/machines.h"
#include "report/model.h"
#include "report/models.h"
#include "report/probes.h"
#include "report/profile.h"
#include "report/region_table.h"
#include "report/sweep.h"
#include "report/systems.h"
#include "report/terminal.h"
#include "report/trainings.h"
#include "report/trial.h"

/* A page that is no wider than the terminal, also with --verbose. */
static fsim_page narrow_page(FILE *out, const fsim_context *c)
{
    return (fsim_page){out, c->width, fsim_use_color(c), fsim_utf8_locale()};
}

/* The dumps of --dump, then a table of the GPUs or the plan of the one GPU, then the gates. */
static bool show_plans(FILE *out, const fsim_context *c, const void *what)
{
    const fsim_shown_plans *p = what;
    const fsim_text_style style = {.color = fsim_use_color(c), .verbose = c->set.verbose, .width = c->width};
    for (int i = 0; i < p->count; i++)
        fsim_report_dump(out, &p->at[i], c->set.dump.at, c->set.dump.count);
    if (p->count > 1)
        fsim_report_compare(out, p->at, p->count, &style);
    for (int i = 0; i < p->count && p->count > 1 && !style.verbose; i++)
        fsim_report_compile(out, &p->at[i], &style);
    for (int i = 0; i < p->count && (p->count == 1 || style.verbose); i++) {
        if (p->count > 1)
            putc('\n', out);
        fsim_report_text(out, &p->at[i], &style);
    }
    const fsim_page page = narrow_page(out, c);
    if (c->set.gates.count)
        putc('\n', out);
    for (int i = 0; i < p->count; i++)
        fsim_report_gates(&page, fsim_shown_gpu(c, p, i), p->judged[i].at, p->judged[i].count);
    return true;
}

static bool show_explanation(FILE *out, const fsim_context *c, const void *what)
{
    const fsim_shown_explanation *x = what;
    const fsim_page page = narrow_page(out, c);
    fsim_report_explanation(&page, x->graph, x->hw, &x->e);
    return true;
}

static bool show_regions(FILE *out, const fsim_context *c, const void *what)
{
    const fsim_page page = narrow_page(out, c);
    fsim_report_regions(&page, what);
    return true;
}

static bool show_project(FILE *out, const fsim_context *c, const void *what)
{
    const fsim_shown_project *x = what;
    const fsim_page page = fsim_table_page(out, c);
    fsim_report_project(&page, x->project, x->folder, x->removed);
    return true;
}

static bool show_import(FILE *out, const fsim_context *c, const void *what)
{
    const fsim_page page = fsim_table_page(out, c);
    fsim_report_import(&page, what, c->set.verbose);
    return true;
}

/* A report with tables as wide as the terminal, or as they need. */
#define SHOWS(name, type, call)                                                                                        \
    static bool name(FILE *out, const fsim_context *c, const void *what)                                               \
    {                                                                                                                  \
        const fsim_page page = fsim_table_page(out, c);                                                                \
        const type *x = what;                                                                                          \
        call;                                                                                                          \
        return true;                                                                                                   \
    }
SHOWS(show_model, fsim_shown_model, fsim_report_model(&page, x))
SHOWS(show_accuracy, fsim_accuracy, fsim_report_accuracy(&page, x))
SHOWS(show_trials, fsim_trials, fsim_report_trials(&page, x))
SHOWS(show_sweep, fsim_sweep, fsim_report_sweep(&page, x, c->set.verbose))
SHOWS(show_diff, fsim_shown_diff, fsim_report_diff(&page, x, c->set.verbose))
SHOWS(show_rows_diff, fsim_shown_rows_diff, fsim_report_rows_diff(&page, x, c->set.verbose))
SHOWS(show_systems, fsim_shown_systems, fsim_report_systems(&page, x))
SHOWS(show_registers, fsim_register_report, fsim_report_registers(&page, x))
SHOWS(show_calibration, fsim_calibration, fsim_report_calibration(&page, x))
SHOWS(show_probes, fsim_probe_report, fsim_report_probes(&page, x))
SHOWS(show_hw_list, fsim_shown_hw, fsim_report_hw_list(&page, x->at, x->count))
SHOWS(show_hw, fsim_hw, fsim_report_hw(&page, x))
SHOWS(show_hw_check, fsim_shown_hw, fsim_report_hw_check(&page, x->at, x->count))
SHOWS(show_clusters, fsim_shown_clusters, fsim_report_clusters(&page, x))
SHOWS(show_workloads, fsim_workload_list, fsim_report_workloads(&page, x))
SHOWS(show_capacity, fsim_capacity, fsim_report_capacity(&page, x, c->set.verbose))
SHOWS(show_trainings, fsim_trainings, fsim_report_trainings(&page, x, c->set.verbose))
SHOWS(show_models, fsim_shown_models, fsim_report_models(&page, x))
SHOWS(show_ops, fsim_op, fsim_report_ops(&page, *x))
SHOWS(show_hw_keys, void, ((void)x, fsim_report_hw_keys(&page)))

SHOWS(show_written, char, fputs(x, page.out))

#define show_partitions NULL
const fsim_renderer fsim_as_text[FSIM_RESULT_KINDS] = {
#define FSIM_RESULT(id, show_as, schema, words) [FSIM_RESULT_##id] = {.show = show_##show_as},
#include "command/results.def"
#undef FSIM_RESULT
};
