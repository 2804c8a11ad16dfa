/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/plan.h"

#include "validate/cuda/activity.h"
#include "validate/cuda/helpers.h"
#include "validate/cuda/kernel.h"
#include <math.h>

enum { STREAM, GRAPH, WALL, KINDS };
enum { WARM_UPS = 5, HURRIED = 9, FEWEST = 3 }; /* samples where time is short, and where it is up */

typedef struct {
    const fsim_gpu_plan *plan;
    fsim_cu_graph_exec graph; /* NULL: could not be captured */
    double *seconds[KINDS];
    int samples, attempts;
    double spent_s, budget_s;
    bool done;
    const char *failed, *no_graph;
} job;

static bool launch_all(fsim_gpu *g, const fsim_gpu_plan *p, fsim_fault *fault)
{
    for (int i = 0; i < p->kernels; i++)
        if (!fsim_gpu_launch(g, p->kernel[i], fault))
            return false;
    return true;
}

/* Captures the launches; the stream runs nothing. */
static bool capture_graph(fsim_gpu *g, const fsim_gpu_plan *plan, fsim_cu_graph_exec *out, fsim_fault *fault)
{
    static const char doing[] = "capturing a plan into a CUDA graph";
    fsim_cu_graph graph = NULL;
    *out = NULL;
    if (!fsim_gpu_ok(g, g->cu.cuStreamBeginCapture_v2(g->stream, FSIM_CU_CAPTURE_THREAD_LOCAL), doing, fault))
        return false;
    const bool launched = launch_all(g, plan, fault);
    const int ended =
        g->cu.cuStreamEndCapture(g->stream, &graph); /* in any case: otherwise the stream stays in capture mode */
    const bool done = launched && fsim_gpu_ok(g, ended, doing, fault) &&
                      fsim_gpu_ok(g, g->cu.cuGraphInstantiateWithFlags(out, graph, 0), doing, fault);
    if (graph)
        (void)!g->cu.cuGraphDestroy(graph);
    return done;
}

static bool start(fsim_gpu *g, const job *j, int kind, fsim_fault *fault)
{
    return kind == GRAPH ? fsim_gpu_ok(g, g->cu.cuGraphLaunch(j->graph, g->stream), "launching a CUDA graph", fault)
                         : launch_all(g, j->plan, fault);
}

/* The time of one run: by events on the device, and by the processor's clock. */
typedef struct {
    double event_s, wall_s;
} run_times;

/* Runs the plan on an idle device and, unless it is to run warm, with a flushed L2. */
static bool run_once(fsim_gpu *g, const job *j, int kind, const fsim_cu_event mark[2], run_times *out,
                     fsim_fault *fault)
{
    float ms = 0;
    if (!j->plan->warm && !(fsim_gpu_flush(g, fault) && fsim_gpu_wait(g, "the L2 flush", fault)))
        return false;
    const double start_s = fsim_now_s();
    if (!fsim_gpu_ok(g, g->cu.cuEventRecord(mark[0], g->stream), "recording an event", fault) ||
        !start(g, j, kind, fault) ||
        !fsim_gpu_ok(g, g->cu.cuEventRecord(mark[1], g->stream), "recording an event", fault) ||
        !fsim_gpu_wait(g, j->plan->name, fault))
        return false;
    out->wall_s = fsim_now_s() - start_s;
    if (!fsim_gpu_ok(g, g->cu.cuEventElapsedTime(&ms, mark[0], mark[1]), "reading an event", fault))
        return false;
    out->event_s = 1e-3 * (double)ms;
    return true;
}

/* After a failure of the graph, the plan is still run as single launches. False where the device is lost. */
static bool lose_graph(fsim_gpu *g, job *j, const fsim_fault *why, fsim_fault *fault)
{
    if (g->lost || !fsim_gpu_wait(g, j->plan->name, NULL)) {
        *fault = *why;
        return false;
    }
    (void)!g->cu.cuGraphExecDestroy(j->graph);
    j->graph = NULL;
    j->no_graph = why->message;
    return true;
}

/* Reads the sensors while the plan runs repeatedly. Failures are ignored. */
static void sense(fsim_gpu *g, const job *j)
{
    enum { MOST_RUNS = 100 };
    static const double load_s = 0.02;
    if (!g->nvml_opened)
        g->nvml = fsim_nvml_open(g->a, g->facts.uuid);
    g->nvml_opened = true;
    if (!g->nvml.device || j->samples == 0)
        return;
    const double once_s = j->seconds[STREAM][j->samples - 1], wanted = load_s / fmax(once_s, 1e-6);
    const int runs = wanted < 2 ? 2 : wanted > MOST_RUNS ? MOST_RUNS : (int)wanted;
    bool good = true;
    for (int i = 0; i < runs && good; i++)
        good = launch_all(g, j->plan, NULL);
    const fsim_sensors now = fsim_nvml_read(&g->nvml, g->a);
    g->sensors = fsim_sensors_worse(&g->sensors, &now, g->a);
    (void)!fsim_gpu_wait(g, j->plan->name, NULL);
}

static bool advance(fsim_gpu *g, job *j, const fsim_cu_event mark[2], fsim_fault *fault)
{
    const fsim_gpu_options *o = &g->option;
    const double start_s = fsim_now_s();
    double s[KINDS] = {NAN, NAN, NAN};
    run_times stream = {NAN, NAN}, graph = {NAN, NAN};
    fsim_fault why = {0};
    if (!run_once(g, j, STREAM, mark, &stream, fault))
        return false;
    if (j->graph && !run_once(g, j, GRAPH, mark, &graph, &why) && !lose_graph(g, j, &why, fault))
        return false;
    s[STREAM] = stream.event_s;
    s[WALL] = stream.wall_s;
    s[GRAPH] = graph.event_s;
    if (++j->attempts <= WARM_UPS &&
        (j->attempts == 1 || fsim_now_s() - start_s < j->budget_s / WARM_UPS)) /* a long plan is warm at once */
        return true;
    j->attempts = j->attempts > WARM_UPS ? j->attempts : WARM_UPS;
    for (int kind = 0; kind < KINDS; kind++)
        j->seconds[kind][j->samples] = s[kind];
    j->samples++;
    j->spent_s += fsim_now_s() - start_s;
    const int least = j->budget_s < o->budget_s && o->least > HURRIED ? HURRIED : o->least;
    j->done = j->samples >= o->most || (j->samples >= least && j->spent_s >= j->budget_s) ||
              (j->samples >= 5 && j->spent_s >= 20 * j->budget_s);
    return true;
}

/* Measures all jobs. False where the device is lost. A plan that fails alone is skipped from then on. With a time
 * limit, plans have half of the time, kernels the rest. */
static bool measure_jobs(fsim_gpu *g, job *j, int jobs, const fsim_cu_event mark[2], double until_s, fsim_fault *fault)
{
    for (bool more = true; more && !fsim_gpu_is_late(g, until_s);) {
        more = false;
        for (int i = 0; i < jobs && !fsim_gpu_is_late(g, until_s); i++) {
            fsim_fault own = {0};
            if (!j[i].done && !advance(g, &j[i], mark, &own)) {
                j[i].failed = own.message;
                j[i].done = true;
                if (g->lost || !fsim_gpu_wait(g, j[i].plan->name, NULL)) {
                    *fault = own;
                    return false;
                }
            }
            more = more || !j[i].done;
        }
    }
    for (int i = 0; i < jobs && !fsim_gpu_is_late(g, until_s) && !g->lost; i++)
        sense(g, &j[i]);
    return !g->lost || fsim_gpu_usable(g, fault);
}

static void open_job(fsim_gpu *g, job *j, const fsim_gpu_plan *plan)
{
    fsim_fault why = {0};
    *j = (job){.plan = plan, .done = plan->kernels == 0};
    for (int kind = 0; kind < KINDS; kind++)
        j->seconds[kind] = fsim_new(g->a, double, g->option.most);
    if (plan->kernels > 0 && !capture_graph(g, plan, &j->graph, &why))
        j->no_graph = why.message; /* the stream is measured anyway */
}

static void close_job(fsim_gpu *g, job *j, fsim_measured_plan *out, fsim_times *wall)
{
    if (j->graph && !g->lost)
        (void)!g->cu.cuGraphExecDestroy(j->graph);
    const bool cut = !j->done && !j->failed && j->samples < FEWEST;
    const int samples = cut ? 0 : j->samples;
    out->stream = fsim_times_of(j->seconds[STREAM], samples);
    out->graph = fsim_times_of(j->seconds[GRAPH], j->graph ? samples : 0);
    out->failed = j->failed ? j->failed : cut ? g->lost : NULL;
    out->left_out = cut && !g->lost ? fsim_not_reached : NULL;
    out->no_graph = j->no_graph;
    if (wall)
        *wall = fsim_times_of(j->seconds[WALL], samples);
}

bool fsim_gpu_measure_plans(fsim_gpu *g, const fsim_gpu_plan *plan, int count, fsim_measured_plan *out,
                            fsim_times *wall, fsim_fault *fault)
{
    fsim_cu_event mark[2] = {NULL, NULL};
    fsim_fault local = {0};
    job *j = fsim_new(g->a, job, count);
    bool done = fsim_gpu_usable(g, &local);
    for (int i = 0; i < count; i++)
        out[i].failed = g->lost;
    if (!done) {
        if (fault)
            *fault = local;
        return false;
    }
    fsim_activity_pause(g);
    for (int i = 0; i < 2 && done; i++)
        done = fsim_gpu_ok(g, g->cu.cuEventCreate(&mark[i], FSIM_CU_EVENT_DEFAULT), "making an event", &local);
    const double now_s = fsim_now_s(), until_s = now_s + (g->until_s - now_s) / 2;
    for (int i = 0; i < count; i++) {
        open_job(g, &j[i], &plan[i]);
        j[i].budget_s =
            g->until_s > 0 ? fmin(g->option.budget_s, fmax(0, (until_s - now_s) / count)) : g->option.budget_s;
    }
    if (done)
        (void)measure_jobs(g, j, count, mark, until_s, &local); /* what fails is in `local` and in the jobs */
    for (int i = 0; i < count; i++)
        close_job(g, &j[i], &out[i], wall ? &wall[i] : NULL);
    for (int i = 0; i < count && local.status == 0; i++) {
        const char *stream = fsim_gpu_noise(g, plan[i].name, &out[i].stream),
                   *graph = fsim_gpu_noise(g, plan[i].name, &out[i].graph);
        if (stream || graph)
            fsim_fail(&local, g->a, FSIM_INCONCLUSIVE, "%s", stream ? stream : graph);
    }
    for (int i = 0; i < 2 && !g->lost; i++)
        if (mark[i])
            (void)!g->cu.cuEventDestroy_v2(mark[i]);
    if (!g->lost)
        fsim_activity_resume(g);
    if (local.status != 0 && fault)
        *fault = local;
    return local.status == 0;
}
