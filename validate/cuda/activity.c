/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/activity.h"

#include "validate/cuda/counters.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Records. */

enum { BUFFER_BYTES = 256 << 10, ALIGNMENT = 8, MOST_RECORDS = 16384 };

typedef struct fsim_activity {
    const fsim_cupti_entries *call;
    pthread_mutex_t lock; /* of what follows: CUPTI calls from a thread of its own */
    fsim_record *record;  /* MOST_RECORDS of them */
    int records;
    size_t dropped;
} fsim_activity;

/* Of the one session, for the callbacks; NULL: records go nowhere. */
static _Atomic(fsim_activity *) session;

static void give_buffer(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
    *buffer = aligned_alloc(ALIGNMENT, BUFFER_BYTES);
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *max_records = 0; /* as many as fit */
}

static void keep(fsim_activity *s, const fsim_activity_kernel *k)
{
    if (s->records == MOST_RECORDS) {
        s->dropped++;
        return;
    }
    fsim_record *r = &s->record[s->records++];
    *r = (fsim_record){.start_ns = k->start_ns, .end_ns = k->end_ns, .correlation = k->correlation};
    if (k->name)
        snprintf(r->name, sizeof r->name, "%s", k->name);
}

static void take_buffer(fsim_cu_context context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    fsim_activity *s = session;
    void *record = NULL;
    size_t dropped = 0;
    (void)bytes;
    if (s) {
        pthread_mutex_lock(&s->lock);
        while (valid_bytes > 0 && s->call->cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == 0) {
            const fsim_activity_kernel *k = record;
            if (k->kind == FSIM_ACTIVITY_CONCURRENT_KERNEL || k->kind == FSIM_ACTIVITY_KERNEL)
                keep(s, k);
        }
        if (s->call->cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == 0)
            s->dropped += dropped;
        pthread_mutex_unlock(&s->lock);
    }
    free(buffer);
}

static const char *result_text(const fsim_gpu *g, int result)
{
    const char *text = NULL;
    (void)!g->cupti.cuptiGetResultString(result, &text);
    return text ? text : "unknown CUPTI error";
}

/* Why events it is. */
static void fall_back(fsim_gpu *g, const char *why) { g->facts.timing = fsim_printf(g->a, "CUDA events, which overstate short kernels: %s", why); }

void fsim_activity_open(fsim_gpu *g)
{
    fsim_library library;
    fsim_fault fault = {0};
    uint32_t version = 0;
    if (!fsim_open_cupti(g->a, g->facts.driver_version / 1000, &library, &g->cupti, &fault)) {
        fall_back(g, fault.message);
        return;
    }
    g->facts.cupti_path = library.path;
    (void)!g->cupti.cuptiGetVersion(&version);
    g->facts.cupti_version = (int)version;
    fsim_activity *s = fsim_new(g->a, fsim_activity, 1);
    *s = (fsim_activity){.call = &g->cupti, .record = fsim_new(g->a, fsim_record, MOST_RECORDS)};
    pthread_mutex_init(&s->lock, NULL);
    session = s;
    int result = g->cupti.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    if (result == 0)
        result = g->cupti.cuptiActivityEnable(FSIM_ACTIVITY_CONCURRENT_KERNEL);
    if (result == 0) {
        g->activity = s;
        g->facts.timing = "CUPTI activity records";
        return;
    }
    session = NULL;
    fall_back(g, result == FSIM_CUPTI_MULTIPLE_SUBSCRIBERS || result == FSIM_CUPTI_MAX_LIMIT_REACHED
                     ? "another profiler is attached to this program (nsys, ncu, compute-sanitizer): run it without"
                     : fsim_printf(g->a, "CUPTI refuses kernel records: %s (%d)", result_text(g, result), result));
}

void fsim_activity_pause(fsim_gpu *g)
{
    if (g->activity)
        (void)!g->cupti.cuptiActivityDisable(FSIM_ACTIVITY_CONCURRENT_KERNEL);
}

void fsim_activity_resume(fsim_gpu *g)
{
    const int result = g->activity ? g->cupti.cuptiActivityEnable(FSIM_ACTIVITY_CONCURRENT_KERNEL) : 0;
    if (result != 0) {
        fsim_activity_close(g);
        fall_back(g, fsim_printf(g->a, "CUPTI refuses kernel records: %s (%d)", result_text(g, result), result));
    }
}

void fsim_activity_close(fsim_gpu *g)
{
    if (!g->activity)
        return;
    if (!g->lost) { /* else CUPTI would wait for what hangs */
        fsim_activity_pause(g);
        (void)!g->cupti.cuptiActivityFlushAll(FSIM_ACTIVITY_FLUSH_FORCED);
    }
    session = NULL;
    g->activity = NULL;
}

static int count_records(fsim_activity *s)
{
    pthread_mutex_lock(&s->lock);
    const int records = s->records;
    pthread_mutex_unlock(&s->lock);
    return records;
}

/* Fetches the records of what the stream has run, `expected` of them if all is well; they may come late. */
static bool fetch(fsim_gpu *g, int expected, fsim_fault *fault)
{
    static const double patience_s = 0.05;
    const struct timespec nap = {.tv_nsec = 200000};
    const double deadline_s = fsim_now_s() + patience_s;
    do {
        const int result = g->cupti.cuptiActivityFlushAll(FSIM_ACTIVITY_FLUSH_FORCED);
        if (result != 0)
            return fsim_fail(fault, g->a, FSIM_EXIT_UNAVAILABLE, "CUPTI does not hand out its records: %s (%d)", result_text(g, result), result);
        if (count_records(g->activity) >= expected)
            return true;
        nanosleep(&nap, NULL);
    } while (fsim_now_s() < deadline_s);
    return true; /* too few: the sample is dropped */
}

static void forget(fsim_activity *s)
{
    pthread_mutex_lock(&s->lock);
    s->records = 0;
    s->dropped = 0;
    pthread_mutex_unlock(&s->lock);
}

static int by_launch(const void *x, const void *y)
{
    const fsim_record *a = x, *b = y;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static bool same_name(const fsim_record *r, const char *name) { return strncmp(r->name, name, sizeof r->name - 1) == 0; }

const char *fsim_runs_of(fsim_record *record, int records, int runs, const fsim_launch *launch, int launches, double *seconds)
{
    int kept = 0;
    for (int i = 0; i < records; i++)
        if (!same_name(&record[i], "fsim_flush") && !same_name(&record[i], "fsim_clock"))
            record[kept++] = record[i];
    if (kept > 0)
        qsort(record, (size_t)kept, sizeof *record, by_launch);
    const int part = kept / runs;
    if (kept == 0 || kept % runs != 0 || (launch && part != launches))
        return "not as many records as launches";
    for (int i = 0; i < runs; i++)
        seconds[i] = 0;
    for (int i = 0; i < kept; i++) {
        const char *name = launch ? launch[i % part].entry : record[i % part].name;
        if (!same_name(&record[i], name))
            return "records of other kernels than were launched";
        if (record[i].start_ns == 0 || record[i].end_ns <= record[i].start_ns)
            return "records without times";
        seconds[i / part] += 1e-9 * (double)(record[i].end_ns - record[i].start_ns);
    }
    return NULL;
}

/* Samples. */

typedef struct {
    double seconds[2]; /* cold, warm */
    double clock_hz;
} sample;

typedef struct {
    fsim_gpu_kernel *kernel;
    sample *sample;
    int samples, attempts, bad;
    const char *why_bad;
    double spent_s;
    bool done;
    const char *failed; /* why it could not be run */
} job;

enum { WARM_UPS = 5, RUNS = 2 }; /* WARM_UPS samples of RUNS launches each */

/* Where there are no records. */
typedef struct {
    fsim_cu_event at[RUNS + 1];
} marks;

static bool record_mark(fsim_gpu *g, marks *m, int i, fsim_fault *fault)
{
    return g->activity || fsim_gpu_ok(g, g->cu.cuEventRecord(m->at[i], g->stream), "recording an event", fault);
}

/* Cold, and at once again, warm; nothing else in between. */
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

/* *why: the sample is no good; NULL: it is. */
static bool take_sample(fsim_gpu *g, const fsim_gpu_kernel *k, marks *m, sample *s, const char **why, fsim_fault *fault)
{
    fsim_activity *const activity = g->activity;
    const int launches = k->program ? k->program->launches : 1;
    *why = NULL;
    if (activity)
        forget(activity);
    if (!run_twice(g, k, m, fault))
        return false;
    s->clock_hz = fsim_gpu_clock_hz(g);
    if (!activity)
        return read_events(g, m, s, fault);
    if (!fetch(g, RUNS * launches + 3, fault)) /* two clock stamps and a flush */
        return false;
    pthread_mutex_lock(&activity->lock);
    *why = activity->dropped > 0 ? "records dropped by CUPTI" : fsim_runs_of(activity->record, activity->records, RUNS, k->program ? k->program->launch : NULL, launches, s->seconds);
    pthread_mutex_unlock(&activity->lock);
    return !*why || fetch(g, MOST_RECORDS, fault); /* what is late should not be taken for the next sample's */
}

/* One more sample of a job; the first few are for nothing. */
static bool advance(fsim_gpu *g, job *j, marks *m, fsim_fault *fault)
{
    const double start_s = fsim_now_s();
    const char *why;
    sample s;
    if (!take_sample(g, j->kernel, m, &s, &why, fault))
        return false;
    if (++j->attempts <= WARM_UPS)
        return true;
    j->spent_s += fsim_now_s() - start_s;
    if (why) {
        j->bad++;
        j->why_bad = why;
        g->facts.bad_records++;
    } else {
        j->sample[j->samples++] = s;
    }
    const fsim_gpu_options *o = &g->option;
    j->done = j->samples >= o->most || (j->samples >= o->least && j->spent_s >= o->budget_s) || (j->samples >= 5 && j->spent_s >= 20 * o->budget_s) ||
              j->bad >= 2 * o->least;
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

/* Times of the samples at the usual clock. NULL, or why they are too noisy. */
static const char *summarise(fsim_gpu *g, const job *j, fsim_measured_kernel *out)
{
    double *clock_hz = fsim_new(g->a, double, j->samples), *s[RUNS] = {fsim_new(g->a, double, j->samples), fsim_new(g->a, double, j->samples)};
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
        return fsim_printf(g->a, "the SM clock fell by more than 10 %% in %d of %d runs of '%s': let the GPU rest, or lock its clocks (nvidia-smi -lgc)", j->samples - kept, j->samples,
                           j->kernel->name);
    const char *noise = fsim_gpu_noise(g, j->kernel->name, &out->cold);
    return noise ? noise : fsim_gpu_noise(g, j->kernel->name, &out->warm);
}

static bool measure_jobs(fsim_gpu *g, job *j, int jobs, marks *m, fsim_fault *fault)
{
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < jobs; i++) {
            fsim_fault own = {0};
            if (!j[i].done && !advance(g, &j[i], m, &own)) {
                j[i].failed = own.message;
                j[i].done = true;
                if (g->lost || !fsim_gpu_wait(g, j[i].kernel->name, NULL)) {
                    *fault = own;
                    return false;
                }
            }
            more = more || !j[i].done;
        }
    }
    return true;
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
    return (fsim_measured_kernel){.dram_read_bytes = NAN, .dram_write_bytes = NAN, .l2_bytes = NAN, .shared_bytes = NAN, .local_bytes = NAN,
                                  .registers = k->registers, .static_shared_bytes = k->static_shared_bytes, .local_bytes_per_thread = k->local_bytes_per_thread,
                                  .occupancy = k->occupancy, .achieved_occupancy = NAN, .sm_clock_hz = NAN};
}

/* The last job is the empty kernel: the noise floor. */
static void report_jobs(fsim_gpu *g, const job *j, int count, fsim_measured_kernel *out, fsim_fault *fault)
{
    const char *noise = NULL;
    fsim_measured_kernel floor = unmeasured(j[count].kernel);
    for (int i = 0; i <= count; i++) {
        fsim_measured_kernel *o = i < count ? &out[i] : &floor;
        if (j[i].failed || j[i].samples == 0 || j[i].bad > j[i].samples) {
            o->failed = j[i].failed ? j[i].failed : fsim_printf(g->a, "CUPTI's records of '%s' are no good in %d of %d runs: %s", j[i].kernel->name, j[i].bad, j[i].attempts - WARM_UPS, j[i].why_bad);
            continue;
        }
        const char *why = summarise(g, &j[i], o);
        noise = noise ? noise : i < count ? why : NULL;
    }
    g->facts.floor = floor.cold;
    for (int i = 0; i < count && (!fault || fault->exit_status == 0); i++)
        if (out[i].failed)
            fsim_fail(fault, g->a, FSIM_EXIT_UNAVAILABLE, "%s", out[i].failed);
    if (noise && (!fault || fault->exit_status == 0))
        fsim_fail(fault, g->a, FSIM_EXIT_INCONCLUSIVE, "%s", noise);
}

static bool measure_times(fsim_gpu *g, fsim_gpu_kernel *const *kernel, int count, fsim_measured_kernel *out, fsim_fault *fault)
{
    job *j = fsim_new(g->a, job, count + 1);
    marks m = {0};
    for (int i = 0; i <= count; i++) {
        j[i] = (job){.kernel = i < count ? kernel[i] : fsim_gpu_empty_kernel(g), .sample = fsim_new(g->a, sample, g->option.most)};
        j[i].done = !j[i].kernel;
    }
    const bool done = make_marks(g, &m, fault) && measure_jobs(g, j, count + 1, &m, fault);
    drop_marks(g, &m);
    if (done)
        report_jobs(g, j, count, out, fault);
    return done;
}

bool fsim_gpu_measure(fsim_gpu *g, fsim_gpu_kernel *const *kernel, int count, fsim_measured_kernel *out, fsim_fault *fault)
{
    fsim_fault local = {0};
    for (int i = 0; i < count; i++)
        out[i] = unmeasured(kernel[i]);
    if (fsim_gpu_usable(g, &local) && measure_times(g, kernel, count, out, &local))
        fsim_counters_measure(g, kernel, count, out, &local);
    for (int i = 0; i < count && g->lost; i++)
        if (out[i].cold.samples == 0 && !out[i].failed)
            out[i].failed = g->lost;
    if (fault && local.exit_status != 0)
        *fault = local;
    return local.exit_status == 0;
}
