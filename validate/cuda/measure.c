/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/measure.h"

#include "validate/cuda/activity.h"
#include "validate/cuda/counters.h"
#include "validate/cuda/helpers.h"
#include "validate/cuda/kernel.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
    double seconds[2]; /* cold, warm */
    double clock_hz;
} sample;

typedef struct {
    fsim_gpu_kernel *kernel;
    sample *sample;
    int samples, attempts, bad;
    const char *why_bad;
    double spent_s, budget_s;
    bool done;
    const char *failed; /* why it could not be run */
} job;

enum { WARM_UPS = 5, RUNS = 2 }; /* WARM_UPS samples of RUNS launches each are discarded */
enum {
    TURN = 16,
    HURRIED = 9,
    FEWEST = 3
}; /* kernels that rotate; samples of each where time is short, and where it is up */

/* For devices without records. */
typedef struct {
    fsim_cu_event at[RUNS + 1];
} marks;

static bool record_mark(fsim_gpu *g, marks *m, int i, fsim_fault *fault)
{
    return g->activity || fsim_gpu_ok(g, g->cu.cuEventRecord(m->at[i], g->stream), "recording an event", fault);
}

/* Runs the kernel cold, and again at once, warm, with nothing in between. */
static bool run_twice(fsim_gpu *g, const fsim_gpu_kernel *k, marks *m, fsim_fault *fault)
{
    if (!fsim_gpu_stamp_clocks(g, 0, fault) || !fsim_gpu_flush(g, fault) || !record_mark(g, m, 0, fault))
        return false;
    for (int i = 0; i < RUNS; i++)
        if (!fsim_gpu_launch(g, k, fault) || !record_mark(g, m, i + 1, fault))
            return false;
    return fsim_gpu_stamp_clocks(g, 1, fault) && fsim_gpu_wait(g, k->name, fault);
}

static bool read_events(fsim_gpu *g, const marks *m, sample *s, fsim_fault *fault)
{
    for (int i = 0; i < RUNS; i++) {
        float ms = 0;
        if (!fsim_gpu_ok(g, g->cu.cuEventElapsedTime(&ms, m->at[i], m->at[i + 1]), "reading an event", fault))
            return false;
        s->seconds[i] = 1e-3 * (double)ms;
    }
    return true;
}

/* Takes one sample. *why: it can't be used; NULL: it can. */
static bool take_sample(fsim_gpu *g, const fsim_gpu_kernel *k, marks *m, sample *s, const char **why, fsim_fault *fault)
{
    enum { HELPERS = 3 }; /* two clock stamps and a flush */
    *why = NULL;
    if (g->activity)
        fsim_activity_forget(g);
    if (!run_twice(g, k, m, fault))
        return false;
    s->clock_hz = fsim_gpu_clock_hz(g);
    if (!g->activity)
        return read_events(g, m, s, fault);
    const fsim_expected_runs expected = {
        .runs = RUNS, .launch = k->launch, .launches = k->program ? k->program->launches : 1, .helpers = HELPERS};
    return fsim_activity_runs(g, &expected, s->seconds, why, fault);
}

/* Takes one more sample of a job; the first few are discarded. */
static bool advance(fsim_gpu *g, job *j, marks *m, fsim_fault *fault)
{
    const double start_s = fsim_now_s();
    const char *why;
    sample s;
    if (!take_sample(g, j->kernel, m, &s, &why, fault))
        return false;
    if (++j->attempts <= WARM_UPS &&
        (j->attempts == 1 || fsim_now_s() - start_s < j->budget_s / WARM_UPS)) /* a long kernel is warm at once */
        return true;
    j->attempts = j->attempts > WARM_UPS ? j->attempts : WARM_UPS + 1;
    j->spent_s += fsim_now_s() - start_s;
    if (why) {
        j->bad++;
        j->why_bad = why;
        g->facts.bad_records++;
    } else {
        j->sample[j->samples++] = s;
    }
    const fsim_gpu_options *o = &g->option;
    const int least = j->budget_s < o->budget_s && o->least > HURRIED ? HURRIED : o->least;
    j->done = j->samples >= o->most || (j->samples >= least && j->spent_s >= j->budget_s) ||
              (j->samples >= 5 && j->spent_s >= 20 * j->budget_s) || j->bad >= 2 * o->least;
    return true;
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

int fsim_usual_clock(const double *clock_hz, int n, double *scratch, bool *usual, double *median_hz)
{
    static const double least = 0.9;
    int known = 0, kept = 0;
    for (int i = 0; i < n; i++)
        if (!isnan(clock_hz[i]))
            scratch[known++] = clock_hz[i];
    if (known > 0)
        qsort(scratch, (size_t)known, sizeof *scratch, ascending);
    *median_hz = known > 0 ? scratch[known / 2] : NAN;
    for (int i = 0; i < n; i++) {
        usual[i] = !(clock_hz[i] < least * *median_hz); /* true where either is NaN */
        kept += usual[i];
    }
    return kept;
}

/* Times of the samples at the usual clock. Returns NULL, or why they are too noisy. */
static const char *summarise(fsim_gpu *g, const job *j, fsim_measured_kernel *out)
{
    double *clock_hz = fsim_new(g->a, double, j->samples),
           *s[RUNS] = {fsim_new(g->a, double, j->samples), fsim_new(g->a, double, j->samples)};
    bool *usual = fsim_new(g->a, bool, j->samples);
    for (int i = 0; i < j->samples; i++)
        clock_hz[i] = j->sample[i].clock_hz;
    const int kept = fsim_usual_clock(clock_hz, j->samples, s[0], usual, &out->sm_clock_hz);
    for (int i = 0, n = 0; i < j->samples; i++)
        if (usual[i]) {
            for (int r = 0; r < RUNS; r++)
                s[r][n] = j->sample[i].seconds[r];
            n++;
        }
    g->facts.low_clock += j->samples - kept;
    out->cold = fsim_times_of(s[0], kept);
    out->warm = fsim_times_of(s[1], kept);
    if (kept < j->samples * 3 / 4)
        return fsim_printf(g->a,
                           "the SM clock fell by more than 10 %% in %d of %d runs of '%s': let the GPU rest, or lock "
                           "its clocks (nvidia-smi -lgc)",
                           j->samples - kept, j->samples, j->kernel->name);
    const char *noise = fsim_gpu_noise(g, j->kernel->name, &out->cold);
    return noise ? noise : fsim_gpu_noise(g, j->kernel->name, &out->warm);
}

/* Rotates until all are done or time is up. False where the device is lost. */
static bool measure_jobs(fsim_gpu *g, job *const *j, int jobs, marks *m, double until_s, fsim_fault *fault)
{
    for (bool more = true; more && !fsim_gpu_is_late(g, until_s);) {
        more = false;
        for (int i = 0; i < jobs && !fsim_gpu_is_late(g, until_s); i++) {
            fsim_fault own = {0};
            if (!j[i]->done && !advance(g, j[i], m, &own)) {
                j[i]->failed = own.message;
                j[i]->done = true;
                if (g->lost || !fsim_gpu_wait(g, j[i]->kernel->name, NULL)) {
                    *fault = own;
                    return false;
                }
            }
            more = more || !j[i]->done;
        }
    }
    return true;
}

/* Measures the first few kernels together with the empty one, then the next few; each batch has its share of the
 * remaining time. */
static bool measure_in_turns(fsim_gpu *g, job *all, int count, marks *m, double until_s, fsim_fault *fault)
{
    bool good = true;
    for (int from = 0; (from == 0 || from < count) && good; from += TURN) {
        job *turn[TURN + 1];
        int jobs = 0;
        const double left_s = until_s - fsim_now_s(), share_s = g->until_s > 0 ? left_s / (count - from + 1) : INFINITY;
        for (int i = from; i < count && i < from + TURN; i++)
            turn[jobs++] = &all[i];
        if (from == 0)
            turn[jobs++] = &all[count];
        for (int i = 0; i < jobs; i++)
            turn[i]->budget_s = fmin(g->option.budget_s, fmax(share_s, 0));
        good = measure_jobs(g, turn, jobs, m, until_s, fault);
    }
    return good;
}

static bool make_marks(fsim_gpu *g, marks *m, fsim_fault *fault)
{
    for (int i = 0; i < RUNS + 1 && !g->activity; i++)
        if (!fsim_gpu_ok(g, g->cu.cuEventCreate(&m->at[i], FSIM_CU_EVENT_DEFAULT), "making an event", fault))
            return false;
    return true;
}

static void drop_marks(fsim_gpu *g, marks *m)
{
    for (int i = 0; i < RUNS + 1; i++)
        if (m->at[i] && !g->lost)
            (void)!g->cu.cuEventDestroy_v2(m->at[i]);
}

static fsim_measured_kernel unmeasured(const fsim_gpu_kernel *k)
{
    fsim_measured_kernel m = fsim_not_measured();
    m.registers = k->registers;
    m.static_shared_bytes = k->static_shared_bytes;
    m.local_bytes_per_thread = k->local_bytes_per_thread;
    m.occupancy = k->occupancy;
    return m;
}

/* The last job is the empty kernel, for the smallest measurable time. */
static void report_jobs(fsim_gpu *g, const job *j, int count, fsim_measured_kernel *out, fsim_fault *fault)
{
    const char *noise = NULL;
    fsim_measured_kernel floor = unmeasured(j[count].kernel);
    for (int i = 0; i <= count; i++) {
        fsim_measured_kernel *o = i < count ? &out[i] : &floor;
        const bool cut = !j[i].failed && !j[i].done;
        if (cut && j[i].samples < FEWEST) {
            o->left_out = g->lost ? NULL : fsim_not_reached;
            continue;
        }
        if (j[i].failed || j[i].samples == 0 || j[i].bad > j[i].samples) {
            o->failed = j[i].failed ? j[i].failed
                                    : fsim_printf(g->a, "CUPTI's records of '%s' are no good in %d of %d runs: %s",
                                                  j[i].kernel->name, j[i].bad, j[i].attempts - WARM_UPS, j[i].why_bad);
            continue;
        }
        const char *why = summarise(g, &j[i], o);
        noise = noise ? noise : i < count ? why : NULL;
    }
    g->facts.floor = floor.cold;
    if (noise && (!fault || fault->status == 0))
        fsim_fail(fault, g->a, FSIM_INCONCLUSIVE, "%s", noise);
}

static bool measure_times(fsim_gpu *g, fsim_gpu_kernel *const *kernel, int count, double until_s,
                          fsim_measured_kernel *out, fsim_fault *fault)
{
    job *j = fsim_new(g->a, job, count + 1);
    marks m = {0};
    for (int i = 0; i <= count; i++) { /* the last is the empty kernel */
        j[i] = (job){.kernel = i < count ? kernel[i] : fsim_gpu_empty_kernel(g),
                     .sample = fsim_new(g->a, sample, g->option.most)};
        j[i].done = !j[i].kernel;
    }
    const bool done = make_marks(g, &m, fault) && measure_in_turns(g, j, count, &m, until_s, fault);
    drop_marks(g, &m);
    report_jobs(g, j, count, out, done ? fault : NULL); /* for a lost device: what was measured before */
    return done;
}

bool fsim_gpu_measure(fsim_gpu *g, fsim_gpu_kernel *const *kernel, int count, fsim_measured_kernel *out,
                      fsim_fault *fault)
{
    static const double times_share = 0.6; /* share of the remaining time; counters have the rest */
    fsim_fault local = {0};
    for (int i = 0; i < count; i++)
        out[i] = unmeasured(kernel[i]);
    const double now_s = fsim_now_s(),
                 until_s = g->facts.no_counters ? g->until_s : now_s + times_share * (g->until_s - now_s);
    if (fsim_gpu_usable(g, &local) && measure_times(g, kernel, count, until_s, out, &local))
        fsim_counters_measure(g, kernel, count, out, &local);
    for (int i = 0; i < count && g->lost; i++)
        if (out[i].cold.samples == 0 && !out[i].failed)
            out[i].failed = g->lost;
    if (fault && local.status != 0)
        *fault = local;
    return local.status == 0;
}
