/* SPDX-License-Identifier: Apache-2.0 */
/* --json: reports/schema describes what it writes. */
#include "command/command.h"
#include "evidence/profile_rows.h"
#include "report/accuracy.h"
#include "report/calibration.h"
#include "report/capacity.h"
#include "report/compiled.h"
#include "report/diff.h"
#include "report/diff_rows.h"
#include "report/model.h"
#include "report/models.h"
#include "report/probes.h"
#include "report/profile.h"
#include "report/region_table.h"
#include "report/sweep.h"
#include "report/systems.h"
#include "report/trainings.h"
#include "report/trial.h"

static bool show_plans(FILE *out, const fsim_context *c, const void *what)
{
    const fsim_shown_plans *p = what;
    (void)c;
    return fsim_report_json(out, p->at, p->judged, p->count);
}

static bool show_partitions(FILE *out, const fsim_context *c, const void *what)
{
    (void)out, (void)c, (void)what;
    return true;
}

/* A renderer that calls one function of report/. x: the result, of the type that format.h names. */
#define SHOWS(name, type, call)                                                                                        \
    static bool name(FILE *out, const fsim_context *c, const void *what)                                               \
    {                                                                                                                  \
        const type *x = what;                                                                                          \
        (void)c;                                                                                                       \
        call;                                                                                                          \
        return true;                                                                                                   \
    }
SHOWS(show_explanation, fsim_shown_explanation, fsim_json_explanation(out, x->graph, x->hw, &x->e))
SHOWS(show_regions, fsim_shown_regions, fsim_json_regions(out, x))
SHOWS(show_accuracy, fsim_accuracy, fsim_json_accuracy(out, x))
SHOWS(show_trials, fsim_trials, fsim_json_trials(out, x))
SHOWS(show_registers, fsim_register_report, fsim_json_registers(out, x))
SHOWS(show_sweep, fsim_sweep, fsim_json_sweep(out, x))
SHOWS(show_diff, fsim_shown_diff, fsim_json_diff(out, x))
SHOWS(show_rows_diff, fsim_shown_rows_diff, fsim_json_rows_diff(out, x))
SHOWS(show_systems, fsim_shown_systems, fsim_json_systems(out, x))
SHOWS(show_model, fsim_shown_model, fsim_json_model(out, x))
SHOWS(show_import, fsim_import, fsim_json_import(out, x))
SHOWS(show_calibration, fsim_calibration, fsim_json_calibration(out, x))
SHOWS(show_probes, fsim_probe_report, fsim_json_probes(out, x))
SHOWS(show_project, fsim_shown_project, fsim_json_manifest(out, x->project))
SHOWS(show_hw_list, fsim_shown_hw, fsim_json_hw_list(out, x->at, x->count))
SHOWS(show_hw, fsim_hw, fsim_json_hw(out, x))
SHOWS(show_hw_check, fsim_shown_hw, fsim_json_hw_check(out, x->at, x->count))

SHOWS(show_workloads, fsim_workload_list, fsim_json_workloads(out, x))
SHOWS(show_capacity, fsim_capacity, fsim_json_capacity(out, x))
SHOWS(show_trainings, fsim_trainings, fsim_json_trainings(out, x))
SHOWS(show_models, fsim_shown_models, fsim_json_models(out, x))
SHOWS(show_ops, fsim_op, fsim_json_ops(out, *x))

#define show_hw_keys  NULL
#define show_clusters NULL
#define show_written  NULL
const fsim_renderer fsim_as_json[FSIM_RESULT_KINDS] = {
#define FSIM_RESULT(id, show_as, schema, words) [FSIM_RESULT_##id] = {.show = show_##show_as},
#include "command/results.def"
#undef FSIM_RESULT
};
