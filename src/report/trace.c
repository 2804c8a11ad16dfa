/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/memory.h"
#include "plan/price/phases.h"
#include "plan/price/timeline.h"
#include "report/json_stream.h"
#include "report/layer.h"
#include "report/report.h"

/* Names a process or a thread of the trace. */
static void put_name(FILE *out, const char *between, const char *what, int process, int thread, const char *name)
{
    fprintf(out, "%s\n{\"ph\": \"M\", \"pid\": %d, \"tid\": %d", between, process, thread);
    fsim_json_text(out, ", ", "name", what);
    fsim_json_text(out, ", \"args\": {", "name", name);
    fputs("}}", out);
}

/* Kernel i of the plan shown. */
static void put_kernel(FILE *out, const fsim_prediction *p, const fsim_span *when, int process, int i, fsim_arena *a)
{
    const fsim_kernel *k = &p->plan[p->chosen].kernel[i];
    static const double us = 1e-6;
    fprintf(out, ",\n{\"ph\": \"X\", \"pid\": %d, \"tid\": %d", process, (int)when->lane + 1);
    fsim_json_number(out, ", ", "ts", when->start_s / us);
    fsim_json_number(out, ", ", "dur", (when->end_s - when->start_s) / us);
    fsim_json_text(out, ", ", "name", fsim_kernel_label(p->graph, k, a));
    fsim_json_text(out, ", ", "cat", fsim_template_names[k->template]);
    fprintf(out, ", \"args\": {\"kernel\": %d", i + 1);
    const char *layer = fsim_kernel_layer(p->graph, k, a);
    if (layer)
        fsim_json_text(out, ", ", "layer", layer);
    const char *phase = fsim_phase_name_of(p->graph, &p->plan[p->chosen].partition.part[i]);
    if (phase)
        fsim_json_text(out, ", ", "phase", phase);
    fsim_json_text(out, ", ", "bound", fsim_unit_names[k->bound]);
    fsim_json_number(out, ", ", "dram_read_bytes", (double)k->dram_read_bytes);
    fsim_json_number(out, ", ", "dram_write_bytes", (double)k->dram_write_bytes);
    fsim_json_number(out, ", ", "flops", k->flops);
    fsim_json_number(out, ", ", "occupancy", k->occupancy);
    fputs("}}", out);
}

/* Memory in use from each kernel of a plan with gradients on, as a graph beside the kernels. */
static void put_memory(FILE *out, const fsim_prediction *p, const fsim_timeline *when, int process, fsim_arena *a)
{
    const fsim_plan *plan = &p->plan[p->chosen];
    const fsim_memory_step *at = fsim_memory_steps(p->graph, plan, a);
    static const double us = 1e-6, mib = 1 << 20;
    for (int k = 0; k < plan->kernels && p->graph->derived == FSIM_REVERSE; k++) {
        fprintf(out, ",\n{\"ph\": \"C\", \"pid\": %d", process);
        fsim_json_number(out, ", ", "ts", when->span[k].start_s / us);
        fsim_json_text(out, ", ", "name", "memory");
        fsim_json_number(out, ", \"args\": {", "MiB", (double)at[k].live_bytes / mib);
        fputs("}}", out);
    }
}

void fsim_report_trace(FILE *out, const fsim_prediction *p, int count)
{
    fsim_arena *a = fsim_arena_new();
    fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", out);
    for (int i = 0; i < count; i++) {
        const fsim_plan *plan = &p[i].plan[p[i].chosen];
        const fsim_timeline when = fsim_timeline_of(plan->graph, plan, a);
        put_name(out, i ? "," : "", "process_name", i + 1, 0,
                 fsim_printf(a, "%s on %s, %s (predicted)", p[i].graph->name, p[i].hw->name,
                             fsim_strategy_names[p[i].chosen]));
        for (int lane = 0; lane < FSIM_LANE_COUNT; lane++)
            if (when.busy_s[lane] > 0)
                put_name(out, ",", "thread_name", i + 1, lane + 1, fsim_lane_names[lane]);
        for (int k = 0; k < plan->kernels; k++)
            put_kernel(out, &p[i], &when.span[k], i + 1, k, a);
        put_memory(out, &p[i], &when, i + 1, a);
    }
    fputs("\n]}\n", out);
    fsim_arena_free(a);
}
