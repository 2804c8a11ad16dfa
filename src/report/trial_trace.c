/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_stream.h"
#include "report/trace.h"
#include "report/trial.h"

#include <math.h>
#include <string.h>

enum { PLAN = 1, KERNELS = 2 }; /* streams of each process */

static void begin(fsim_trace *trace, const fsim_trials *x, const fsim_trial *t, const fsim_trial_plan *p,
                  const char *which, fsim_arena *a)
{
    const char *where = strcmp(which, "measured") == 0 ? x->name : t->hw->name;
    fsim_trace_process(
        trace, fsim_printf(a, "%s %s: %s on %s", which, fsim_strategy_names[p->strategy], t->graph->name, where));
    fsim_trace_stream(trace, PLAN, "plan, from beginning to end");
    fsim_trace_stream(trace, KERNELS, "kernels, each alone with an empty L2");
}

/* What is known of kernel k, predicted and measured, beside it in both processes. */
static void put_figures(FILE *out, const fsim_trial_plan *p, int k)
{
    const fsim_measured_kernel *m = &p->measured.kernel[k];
    const double predicted_s = p->predicted[k].cold_s;
    fsim_json_number(out, ", ", "kernel", k + 1);
    fsim_json_text(out, ", ", "bound", fsim_unit_names[p->plan.kernel[k].bound]);
    fsim_json_number(out, ", ", "predicted_s", predicted_s);
    fsim_json_number(out, ", ", "predicted_dram_read_bytes", p->predicted[k].dram_read_bytes);
    fsim_json_number(out, ", ", "predicted_dram_write_bytes", p->predicted[k].dram_write_bytes);
    if (m->cold.samples <= 0)
        return;
    fsim_json_number(out, ", ", "measured_s", m->cold.median_s);
    fsim_json_number(out, ", ", "measured_low_s", m->cold.low_s);
    fsim_json_number(out, ", ", "measured_high_s", m->cold.high_s);
    fsim_json_number(out, ", ", "samples", m->cold.samples);
    fsim_json_number(out, ", ", "predicted_over_measured", predicted_s / m->cold.median_s);
    fsim_json_number(out, ", ", "counted_dram_read_bytes", m->dram_read_bytes);
    fsim_json_number(out, ", ", "counted_dram_write_bytes", m->dram_write_bytes);
    fsim_json_text(out, ", ", "library", p->ran[k].library);
}

static void put_plan(const fsim_trace *trace, const fsim_trial_plan *p, double s)
{
    fsim_trace_slice(trace, PLAN, fsim_strategy_names[p->strategy], "plan", 0, s);
    fsim_json_number(trace->out, ", ", "predicted_s", p->stream_s);
    fsim_json_number(trace->out, ", ", "measured_s",
                     p->measured.stream.samples > 0 ? p->measured.stream.median_s : (double)NAN);
    fsim_trace_close(trace);
}

static void put_predicted(const fsim_trace *trace, const fsim_trial_plan *p)
{
    double at_s = 0;
    put_plan(trace, p, p->stream_s);
    for (int k = 0; k < p->plan.kernels; k++) {
        const double end_s = at_s + p->predicted[k].cold_s;
        fsim_trace_slice(trace, KERNELS, p->program[k].name, fsim_template_names[p->plan.kernel[k].template], at_s,
                         end_s);
        put_figures(trace->out, p, k);
        fsim_trace_close(trace);
        at_s = end_s;
    }
}

/* A kernel that was not measured is a note with the reason, and takes no time. */
static void put_measured(const fsim_trace *trace, const fsim_trial_plan *p, fsim_arena *a)
{
    double at_s = 0;
    if (p->measured.stream.samples > 0)
        put_plan(trace, p, p->measured.stream.median_s);
    for (int k = 0; k < p->plan.kernels; k++) {
        const fsim_measured_kernel *m = &p->measured.kernel[k];
        const char *why = p->program[k].skipped ? p->program[k].skipped : m->failed ? m->failed : m->left_out;
        if (m->cold.samples <= 0) {
            fsim_trace_note(trace, KERNELS,
                            fsim_printf(a, "%s: not measured%s%s", p->program[k].name, why ? ": " : "", why ? why : ""),
                            at_s);
            continue;
        }
        const double end_s = at_s + m->cold.median_s;
        fsim_trace_slice(trace, KERNELS, p->program[k].name, fsim_template_names[p->plan.kernel[k].template], at_s,
                         end_s);
        put_figures(trace->out, p, k);
        fsim_trace_close(trace);
        at_s = end_s;
    }
}

void fsim_trace_trials(FILE *out, const fsim_trials *x)
{
    fsim_arena *a = fsim_arena_new();
    fsim_trace trace = fsim_trace_begin(out);
    for (int i = 0; i < x->count; i++)
        for (int p = 0; p < x->at[i].plans; p++) {
            const fsim_trial *t = &x->at[i];
            begin(&trace, x, t, &t->plan[p], "predicted", a);
            put_predicted(&trace, &t->plan[p]);
            if (!x->measured || t->failed || t->plan[p].failed)
                continue;
            begin(&trace, x, t, &t->plan[p], "measured", a);
            put_measured(&trace, &t->plan[p], a);
        }
    fsim_trace_end(&trace);
    fsim_arena_free(a);
}
