/* SPDX-License-Identifier: Apache-2.0 */
#include "report/trace.h"

#include "plan/price/memory.h"
#include "plan/price/phases.h"
#include "plan/price/timeline.h"
#include "report/json_stream.h"
#include "report/layer.h"
#include "report/report.h"

#include <math.h>

static const double ns_per_s = 1e9, ns_per_us = 1e3;

/* A quarter more than whole: a reader that cuts the product with 1000 to an integer finds the same nanosecond. */
static double start_us(double s) { return (floor(s * ns_per_s) + 0.25) / ns_per_us; }
static double length_us(double from_s, double to_s)
{
    return (floor(to_s * ns_per_s) - floor(from_s * ns_per_s)) / ns_per_us;
}

/* Streams of two processes have different numbers, and none that of its process, which would be its main thread. */
enum { STREAMS = 100 };
static int number_of(const fsim_trace *t, int stream) { return STREAMS * t->process + stream; }

fsim_trace fsim_trace_begin(FILE *out)
{
    fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", out);
    return (fsim_trace){out, 0};
}

void fsim_trace_end(const fsim_trace *t) { fputs("\n]}\n", t->out); }

/* An event's kind, place and name; its arguments follow. */
static void put_event(const fsim_trace *t, const char *between, const char *kind, int thread, const char *name)
{
    fprintf(t->out, "%s\n{\"ph\": \"%s\", \"pid\": %d, \"tid\": %d", between, kind, t->process, thread);
    fsim_json_text(t->out, ", ", "name", name);
}

void fsim_trace_process(fsim_trace *t, const char *name)
{
    t->process++;
    put_event(t, t->process > 1 ? "," : "", "M", number_of(t, 1), "process_name");
    fsim_json_text(t->out, ", \"args\": {", "name", name);
    fputs("}}", t->out);
    put_event(t, ",", "M", number_of(t, 1), "process_sort_index");
    fprintf(t->out, ", \"args\": {\"sort_index\": %d}}", t->process);
}

void fsim_trace_stream(const fsim_trace *t, int stream, const char *name)
{
    put_event(t, ",", "M", number_of(t, stream), "thread_name");
    fsim_json_text(t->out, ", \"args\": {", "name", name);
    fputs("}}", t->out);
    put_event(t, ",", "M", number_of(t, stream), "thread_sort_index");
    fprintf(t->out, ", \"args\": {\"sort_index\": %d}}", stream);
}

void fsim_trace_slice(const fsim_trace *t, int stream, const char *name, const char *kind, double start_s, double end_s)
{
    put_event(t, ",", "X", number_of(t, stream), name);
    fsim_json_number(t->out, ", ", "ts", start_us(start_s));
    fsim_json_number(t->out, ", ", "dur", length_us(start_s, end_s));
    fsim_json_text(t->out, ", ", "cat", kind);
    fsim_json_text(t->out, ", \"args\": {", "kind", kind);
}

void fsim_trace_close(const fsim_trace *t) { fputs("}}", t->out); }

void fsim_trace_note(const fsim_trace *t, int stream, const char *text, double at_s)
{
    put_event(t, ",", "i", number_of(t, stream), text);
    fsim_json_number(t->out, ", ", "ts", start_us(at_s));
    fputs(", \"s\": \"t\"}", t->out);
}

/* The value of a counter of the process from then on. */
static void add_counter(const fsim_trace *t, const char *name, const char *unit, double at_s, double value)
{
    put_event(t, ",", "C", number_of(t, 1), name);
    fsim_json_number(t->out, ", ", "ts", start_us(at_s));
    fsim_json_number(t->out, ", \"args\": {", unit, value);
    fputs("}}", t->out);
}

/* Kernel i of the plan shown. */
static void put_kernel(const fsim_trace *trace, const fsim_prediction *p, const fsim_span *when, int i, fsim_arena *a)
{
    FILE *out = trace->out;
    const fsim_kernel *k = &p->plan[p->chosen].kernel[i];
    fsim_trace_slice(trace, (int)when->lane + 1, fsim_kernel_label(p->graph, k, a), fsim_template_names[k->template],
                     when->start_s, when->end_s);
    fsim_json_number(out, ", ", "kernel", i + 1);
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
    fsim_trace_close(trace);
}

/* Memory in use from each kernel on. */
static void put_memory(const fsim_trace *trace, const fsim_prediction *p, const fsim_timeline *when, fsim_arena *a)
{
    const fsim_plan *plan = &p->plan[p->chosen];
    const fsim_memory_step *at = fsim_memory_steps(p->graph, plan, a);
    static const double mib = 1 << 20;
    for (int k = 0; k < plan->kernels; k++)
        add_counter(trace, "memory", "MiB", when->span[k].start_s, (double)at[k].live_bytes / mib);
}

void fsim_report_trace(FILE *out, const fsim_prediction *p, int count)
{
    fsim_arena *a = fsim_arena_new();
    fsim_trace trace = fsim_trace_begin(out);
    for (int i = 0; i < count; i++) {
        const fsim_plan *plan = &p[i].plan[p[i].chosen];
        const fsim_timeline when = fsim_timeline_of(plan->graph, plan, a);
        fsim_trace_process(&trace, fsim_printf(a, "predicted %s: %s on %s", fsim_strategy_names[p[i].chosen],
                                               p[i].graph->name, p[i].hw->name));
        for (int lane = 0; lane < FSIM_LANE_COUNT; lane++)
            if (when.busy_s[lane] > 0)
                fsim_trace_stream(&trace, lane + 1, fsim_lane_names[lane]);
        for (int k = 0; k < plan->kernels; k++)
            put_kernel(&trace, &p[i], &when.span[k], k, a);
        put_memory(&trace, &p[i], &when, a);
    }
    fsim_trace_end(&trace);
    fsim_arena_free(a);
}
