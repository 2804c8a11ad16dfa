/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/activity.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Records. */

enum { BUFFER_BYTES = 256 << 10, ALIGNMENT = 8, MOST_RECORDS = 16384 };

typedef struct fsim_activity {
    const fsim_cupti_entries *call;
    pthread_mutex_t lock; /* protects the fields below: CUPTI calls from its own thread */
    fsim_record *record;  /* MOST_RECORDS of them */
    int records;
    size_t dropped;
    int forced; /* consecutive fetches that had to be forced; used by the measuring thread */
} fsim_activity;

/* The one session, for the callbacks; NULL: records are discarded. */
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

/* Why times come from events. */
static void fall_back(fsim_gpu *g, const char *why)
{
    g->facts.timing = fsim_printf(g->a, "CUDA events, which overstate short kernels: %s", why);
}

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
    if (!g->lost) { /* if it is lost, CUPTI would wait for the kernel that hangs */
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

static bool flush_records(fsim_gpu *g, uint32_t how, fsim_fault *fault)
{
    const int result = g->cupti.cuptiActivityFlushAll(how);
    return result == 0 || fsim_fail(fault, g->a, FSIM_UNAVAILABLE, "CUPTI does not hand out its records: %s (%d)",
                                    result_text(g, result), result);
}

/* Fetches the records of finished work on the stream, `expected` of them if all goes well; they may arrive late.
 * According to CUPTI's header, records are complete once a stream was synchronised (a query is not enough), and
 * records that are forced out may be incomplete. So a flush is forced only as a last resort. */
static bool fetch(fsim_gpu *g, int expected, fsim_fault *fault)
{
    enum { OFTEN = 3 };
    static const double usual_patience_s = 0.05, least_patience_s = 0.001;
    fsim_activity *s = g->activity;
    const struct timespec nap = {.tv_nsec = 200000};
    const double deadline_s = fsim_now_s() + (s->forced < OFTEN ? usual_patience_s : least_patience_s);
    if (!fsim_gpu_ok(g, g->cu.cuStreamSynchronize(g->stream), "waiting for the stream", fault))
        return false;
    do {
        if (!flush_records(g, 0, fault))
            return false;
        if (count_records(s) >= expected) {
            s->forced = 0;
            return true;
        }
        nanosleep(&nap, NULL);
    } while (fsim_now_s() < deadline_s);
    s->forced++;
    return flush_records(g, FSIM_ACTIVITY_FLUSH_FORCED, fault); /* still too few: the sample is dropped */
}

void fsim_activity_forget(fsim_gpu *g)
{
    fsim_activity *s = g->activity;
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

static bool same_name(const fsim_record *r, const char *name)
{
    return strncmp(r->name, name, sizeof r->name - 1) == 0;
}

static const char timeless[] = "records without times";

const char *fsim_runs_of(fsim_record *record, int records, int runs, const fsim_launch *launch, int launches,
                         double *seconds)
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
            return timeless;
        seconds[i / part] += 1e-9 * (double)(record[i].end_ns - record[i].start_ns);
    }
    return NULL;
}

bool fsim_activity_runs(fsim_gpu *g, const fsim_expected_runs *expected, double *seconds, const char **why,
                        fsim_fault *fault)
{
    fsim_activity *s = g->activity;
    if (!fetch(g, expected->runs * expected->launches + expected->helpers, fault))
        return false;
    pthread_mutex_lock(&s->lock);
    *why = s->dropped > 0
               ? "records dropped by CUPTI"
               : fsim_runs_of(s->record, s->records, expected->runs, expected->launch, expected->launches, seconds);
    pthread_mutex_unlock(&s->lock);
    return !*why || *why == timeless ||
           fetch(g, MOST_RECORDS, fault); /* late records must not be taken for those of the next run */
}
