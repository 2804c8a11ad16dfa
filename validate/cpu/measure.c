/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c: times works in rounds, each after a copy that is timed too and that leaves other data in the caches. */
#include "validate/cpu/cpu.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { COPY_BLOCK = 256, ROUNDS = 15, LEAST_ROUNDS = 3, FLOOR_SAMPLES = 200, ELEM_BYTES = 4, TRIES = 3 };
static const double most_idle = 0.1;

/* Plain stores, as compilers generate them, not stores that bypass the caches. "+ c" keeps compilers from using
 * memcpy, which may do that. sweep only reads, so that no cache line is dirty after it. */
static const char copy_text[] = "void fsim_copy(long long first, long long end, void *const *args)\n"
                                "{\n"
                                "    const float *restrict x = args[0], c = *(const float *)args[2];\n"
                                "    float *restrict y = args[1];\n"
                                "    for (long long b = first; b < end; b++)\n"
                                "        for (int i = 0; i < 256; i++)\n"
                                "            y[b * 256 + i] = x[b * 256 + i] + c;\n"
                                "}\n"
                                "void fsim_sweep(long long first, long long end, void *const *args)\n"
                                "{\n"
                                "    const float *restrict x = args[0];\n"
                                "    float s[64] = {0};\n"
                                "    for (long long b = first; b < end; b++)\n"
                                "        for (int k = 0; k < 256; k += 64)\n"
                                "            for (int i = 0; i < 64; i++)\n"
                                "                s[i] += x[b * 256 + k + i];\n"
                                "    for (int i = 0; i < 64; i++)\n"
                                "        if (s[i] == 12345.0f)\n"
                                "            *(float *)args[1] = s[i];\n"
                                "}\n"
                                "void fsim_empty(long long first, long long end, void *const *args)\n"
                                "{\n"
                                "    (void)first, (void)end, (void)args;\n"
                                "}\n";

enum { COPY, SWEEP, EMPTY, OWN_KERNELS };

/* What every sample needs. */
typedef struct {
    fsim_cpu_pool *pool;
    fsim_cpu_module *module;
    fsim_cpu_entry *entry[OWN_KERNELS];
    int64_t bytes, grid; /* of one side of the copy: its bytes, and its grid */
    void *x, *y;
    float zero;
} bench;

/* Twice the last-level cache for each side, but at most a sixteenth of the memory. */
static int64_t copy_bytes(void)
{
    const int64_t least = 16 << 20, most = (int64_t)sysconf(_SC_PHYS_PAGES) / 16 * sysconf(_SC_PAGESIZE),
                  twice = 2 * fsim_cpu_cache_bytes();
    const int64_t wanted = twice < 4 * least ? 4 * least : twice;
    return (most > least && wanted > most ? most : wanted) / (COPY_BLOCK * ELEM_BYTES) * (COPY_BLOCK * ELEM_BYTES);
}

static bool open_bench(bench *b, fsim_cpu_pool *p, const fsim_cpu_compiler *compiler, fsim_arena *a, const char **why)
{
    static fsim_launch launch[] = {
        {"fsim_copy", 1, COPY_BLOCK, 0}, {"fsim_sweep", 1, COPY_BLOCK, 0}, {"fsim_empty", 1, COPY_BLOCK, 0}};
    fsim_program *own = fsim_new(a, fsim_program, 1);
    *own = (fsim_program){.name = "fsim_copy", .source = copy_text, .launch = launch, .launches = OWN_KERNELS};
    *b = (bench){.pool = p, .bytes = copy_bytes()};
    b->module = fsim_cpu_compile(own, 1, compiler, a, why);
    if (!b->module || b->module->failures) {
        *why = b->module ? b->module->kernel[0].failed : *why;
        return false;
    }
    for (int i = 0; i < OWN_KERNELS; i++)
        b->entry[i] = b->module->kernel[0].entry[i];
    b->grid = b->bytes / (COPY_BLOCK * ELEM_BYTES);
    b->x = fsim_cpu_memory(p, b->bytes);
    b->y = fsim_cpu_memory(p, b->bytes);
    *why = b->x && b->y ? NULL : "not enough memory for the copy";
    return b->x && b->y;
}

static void close_bench(bench *b)
{
    fsim_cpu_memory_free(b->x, b->bytes);
    fsim_cpu_memory_free(b->y, b->bytes);
    fsim_cpu_unload(b->module);
}

static double begin(bench *b, bool busiest)
{
    fsim_cpu_count_busiest(b->pool, busiest);
    return fsim_now_s();
}

static double end(bench *b, bool busiest, double start_s)
{
    const double elapsed_s = fsim_now_s() - start_s, took_s = busiest ? fsim_cpu_busiest_s(b->pool) : elapsed_s;
    fsim_cpu_count_busiest(b->pool, false);
    return took_s;
}

/* Times a copy, in seconds. Afterwards the caches hold its tensors, not dirty. */
static double copy_and_flush(bench *b, bool busiest)
{
    void *const args[] = {b->x, b->y, &b->zero};
    const double start_s = begin(b, busiest);
    fsim_cpu_launch(b->pool, b->entry[COPY], b->grid, args);
    const double took_s = end(b, busiest, start_s);
    fsim_cpu_launch(b->pool, b->entry[SWEEP], b->grid, args);
    return took_s;
}

static double time_work(bench *b, const fsim_cpu_work *w, bool busiest)
{
    const double start_s = begin(b, busiest);
    for (int i = 0; i < w->calls; i++)
        fsim_cpu_run(b->pool, w->call[i].kernel, w->call[i].args);
    return end(b, busiest, start_s);
}

static double time_empty(bench *b)
{
    void *const args[] = {NULL};
    const double start_s = fsim_now_s();
    fsim_cpu_launch(b->pool, b->entry[EMPTY], fsim_cpu_threads(b->pool), args);
    return fsim_now_s() - start_s;
}

fsim_spread_of fsim_spread_of_samples(double *x, int n)
{
    const fsim_times t = fsim_times_of(x, n);
    return (fsim_spread_of){t.median_s, t.low_s, t.high_s, t.samples};
}

/* Samples: a row for each work, a column for each round. */
typedef struct {
    double *cold_s, *warm_s, *copy_s;
    int rounds, room, disturbed;
} samples;

/* A copy, then the work twice. idle: share of the time in which the threads had no CPU. */
typedef struct {
    double copy_s, cold_s, warm_s, idle;
} trial;

/* busiest: measure CPU time instead of elapsed time. */
static trial try_work(bench *b, const fsim_cpu_work *work, const fsim_cpu_how *how, bool busiest)
{
    trial t = {0};
    const double start_s = fsim_now_s(), busy_s = fsim_cpu_busy_s();
    t.copy_s = copy_and_flush(b, busiest);
    t.cold_s = time_work(b, work, busiest);
    t.warm_s = how->cold_only ? 0 : time_work(b, work, busiest);
    t.idle = 1 - (fsim_cpu_busy_s() - busy_s) / (fsim_cpu_threads(b->pool) * (fsim_now_s() - start_s));
    return t;
}

/* Repeats a sample that other processes disturbed; the last repetition, and the only one in a hurry, measures CPU
 * time. */
static trial best_trial(bench *b, const fsim_cpu_work *work, const fsim_cpu_how *how, bool hurry)
{
    trial t = try_work(b, work, how, hurry);
    for (int i = 1; i < TRIES && t.idle > most_idle && !hurry; i++)
        t = try_work(b, work, how, i == TRIES - 1);
    return t;
}

static bool is_late(const fsim_cpu_how *how, double start_s)
{
    return how->most_s > 0 && fsim_now_s() - start_s >= how->most_s;
}

static void one_round(bench *b, const fsim_cpu_work *work, int works, const fsim_cpu_how *how, double start_s,
                      samples *s)
{
    for (int i = 0; i < works; i++) {
        const int w = (i + s->rounds) % works,
                  at = w * s->room + s->rounds; /* rotate the order, so that no work always follows the same one */
        const trial t = best_trial(b, &work[w], how, is_late(how, start_s));
        s->copy_s[at] = t.copy_s;
        s->cold_s[at] = t.cold_s;
        s->warm_s[at] = t.warm_s;
        s->disturbed += t.idle > most_idle;
    }
    s->rounds++;
}

static fsim_spread_of over(const double *t, const double *copy, int n, double *scratch)
{
    for (int i = 0; i < n; i++)
        scratch[i] = t[i] / copy[i];
    return fsim_spread_of_samples(scratch, n);
}

static fsim_cpu_result summary(const samples *s, int work, const fsim_cpu_how *how, double *scratch)
{
    const int at = work * s->room, cold = how->warm_only ? 0 : s->rounds, warm = how->cold_only ? 0 : s->rounds;
    fsim_cpu_result r;
    r.cold_copies = over(s->cold_s + at, s->copy_s + at, cold, scratch);
    r.warm_copies = over(s->warm_s + at, s->copy_s + at, warm, scratch);
    r.cold = fsim_times_of(s->cold_s + at, cold);
    r.warm = fsim_times_of(s->warm_s + at, warm);
    return r;
}

/* Over all rounds; every work has equally many copies. */
static fsim_times copies(const samples *s, int works, double *scratch)
{
    int n = 0;
    for (int w = 0; w < works; w++)
        for (int r = 0; r < s->rounds; r++)
            scratch[n++] = s->copy_s[w * s->room + r];
    return fsim_times_of(scratch, n);
}

const fsim_cpu_measurement *fsim_cpu_measure(fsim_cpu_pool *p, const fsim_cpu_work *work, int works,
                                             const fsim_cpu_how *how, fsim_arena *a, const char **why)
{
    fsim_cpu_measurement *out = fsim_new(a, fsim_cpu_measurement, 1);
    bench b;
    const int rounds = how->rounds > 0 ? how->rounds : ROUNDS, room = rounds < LEAST_ROUNDS ? LEAST_ROUNDS : rounds;
    samples s = {fsim_new(a, double, works *room + 1),
                 fsim_new(a, double, works *room + 1),
                 fsim_new(a, double, works *room + 1),
                 0,
                 room,
                 0};
    double *scratch = fsim_new(a, double, works *room + FLOOR_SAMPLES);
    const bool good = open_bench(&b, p, how->compiler, a, why);
    const double start_s = fsim_now_s();
    if (good)
        copy_and_flush(&b, false);
    for (int i = 0; i < works && good; i++)
        time_work(&b, &work[i], false);
    while (good && s.rounds < rounds && (s.rounds < LEAST_ROUNDS || !is_late(how, start_s)))
        one_round(&b, work, works, how, start_s, &s);
    if (good) {
        *out = (fsim_cpu_measurement){
            .work = fsim_new(a, fsim_cpu_result, works + 1), .copy_bytes = (double)b.bytes, .rounds = s.rounds};
        out->copy = copies(&s, works, scratch);
        for (int i = 0; i < works; i++)
            out->work[i] = summary(&s, i, how, scratch);
        for (int i = 0; i < FLOOR_SAMPLES; i++)
            scratch[i] = time_empty(&b);
        out->dispatch = fsim_times_of(scratch, FLOOR_SAMPLES);
        out->disturbed = works && s.rounds ? (double)s.disturbed / (works * s.rounds) : 0;
    }
    close_bench(&b);
    return good ? out : NULL;
}
