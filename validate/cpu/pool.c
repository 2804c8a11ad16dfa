/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c: threads that share the blocks of a launch. The calling thread publishes a launch by incrementing `ticket`,
 * runs its own part, and waits until `left` is 0. Threads that wait spin at first: between the launches of a plan
 * there is only the barrier, and going to sleep takes longer than most kernels. */
#include "base/file.h"
#include "base/unit.h"
#include "validate/cpu/cpu.h"
#include "validate/cpu/guard.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_BYTES = 16 << 20, /* kernels keep several rows of up to 256 KiB each on the stack */
    LINE_BYTES = 128, /* words of two threads on one cache line, or on neighbouring lines that are fetched together,
                         would cost more than the barrier */
    SPINS = 20000,    /* about 100 us */
    MOST_THREADS = 1024
};

typedef struct {
    _Alignas(LINE_BYTES) fsim_cpu_pool *pool;
    int index;
    double took_s; /* CPU time that its part of the launch took */
    pthread_t thread;
} worker;

struct fsim_cpu_pool {
    int threads;
    worker *worker;   /* `threads` of them; the first is the caller and has no thread */
    cpu_set_t caller; /* CPUs that the caller could use before */
    bool pinned, counts;
    double busiest_s;
    fsim_cpu_entry *entry; /* of the current launch; NULL: end the threads */
    int64_t grid;
    void *const *args;
    _Alignas(LINE_BYTES) atomic_uint ticket;
    _Alignas(LINE_BYTES) atomic_int left;
    _Alignas(LINE_BYTES)
        atomic_int sleepers; /* workers that sleep until `go`, or the caller that sleeps until `done` */
    pthread_mutex_t lock;
    pthread_cond_t go, done;
};

static void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The first block of thread t; the threads before it have the remainder. */
static int64_t first_of(int64_t grid, int threads, int t)
{
    const int64_t rest = grid % threads;
    return grid / threads * t + (t < rest ? t : rest);
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void work(const fsim_cpu_pool *p, worker *w)
{
    const int64_t first = first_of(p->grid, p->threads, w->index), end = first_of(p->grid, p->threads, w->index + 1);
    const double start_s = p->counts ? seconds_of(CLOCK_THREAD_CPUTIME_ID) : 0;
    if (first < end)
        p->entry(first, end, p->args);
    w->took_s = p->counts ? seconds_of(CLOCK_THREAD_CPUTIME_ID) - start_s : 0;
}

/* Waits until ticket is no longer `seen`. */
static void await_ticket(fsim_cpu_pool *p, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&p->ticket, memory_order_acquire) != seen)
            return;
        pause_a_little();
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while (atomic_load(&p->ticket) == seen)
        pthread_cond_wait(&p->go, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
}

/* The last thread to finish wakes the caller, which may sleep. */
static void finish(fsim_cpu_pool *p)
{
    if (atomic_fetch_sub(&p->left, 1) != 1 || atomic_load(&p->sleepers) == 0)
        return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_signal(&p->done);
    pthread_mutex_unlock(&p->lock);
}

static void await_rest(fsim_cpu_pool *p)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&p->left, memory_order_acquire) == 0)
            return;
        pause_a_little();
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while (atomic_load(&p->left) != 0)
        pthread_cond_wait(&p->done, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
}

static void *serve(void *argument)
{
    worker *w = argument;
    fsim_cpu_pool *p = w->pool;
    for (unsigned seen = 0;; seen++) {
        await_ticket(p, seen);
        if (!p->entry)
            return NULL;
        work(p, w);
        finish(p);
    }
}

static void publish(fsim_cpu_pool *p)
{
    atomic_store(&p->left, p->threads - 1);
    atomic_fetch_add(&p->ticket, 1);
    if (atomic_load(&p->sleepers) == 0)
        return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->go);
    pthread_mutex_unlock(&p->lock);
}

void fsim_cpu_launch(fsim_cpu_pool *p, fsim_cpu_entry *entry, int64_t grid, void *const *args)
{
    p->entry = entry;
    p->grid = grid;
    p->args = args;
    if (p->threads > 1)
        publish(p);
    work(p, &p->worker[0]);
    if (p->threads > 1)
        await_rest(p);
    double most_s = 0;
    for (int i = 0; i < p->threads && p->counts; i++)
        most_s = p->worker[i].took_s > most_s ? p->worker[i].took_s : most_s;
    p->busiest_s += most_s;
}

void fsim_cpu_run(fsim_cpu_pool *p, const fsim_cpu_kernel *k, void *const *args)
{
    fsim_guard_kernel(k->program->name);
    for (int i = 0; i < k->program->launches; i++)
        fsim_cpu_launch(p, k->entry[i], k->program->launch[i].grid, args);
    fsim_guard_kernel(NULL);
}

int fsim_cpu_count(void)
{
    cpu_set_t set;
    const int count =
        sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? count : 1;
}

/* Pins the thread to the index-th CPU of the set. */
static void pin(pthread_t thread, const cpu_set_t *all, int index)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, all) && index-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            pthread_setaffinity_np(thread, sizeof one, &one);
            return;
        }
}

/* Starts the workers, with signals blocked so that the caller handles them. Returns the number of threads, including
 * the caller. */
static int start_workers(fsim_cpu_pool *p, int threads)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int count = 1;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; count < threads; count++) {
        p->worker[count] = (worker){.pool = p, .index = count};
        if (pthread_create(&p->worker[count].thread, &attributes, serve, &p->worker[count]) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return count;
}

fsim_cpu_pool *fsim_cpu_pool_new(int threads)
{
    const int cpus = fsim_cpu_count(), wanted = threads <= 0 ? cpus : threads < MOST_THREADS ? threads : MOST_THREADS;
    fsim_cpu_pool *p = aligned_alloc(LINE_BYTES, (sizeof *p + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES);
    worker *w = aligned_alloc(LINE_BYTES, sizeof *w * (size_t)wanted);
    if (!p || !w) {
        free(p);
        free(w);
        return NULL;
    }
    memset(p, 0, sizeof *p);
    p->worker = w;
    w[0] = (worker){.pool = p};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->go, NULL);
    pthread_cond_init(&p->done, NULL);
    p->threads = start_workers(p, wanted);
    p->pinned = p->threads > 1 && p->threads <= cpus && sched_getaffinity(0, sizeof p->caller, &p->caller) == 0;
    for (int i = 0; i < p->threads && p->pinned; i++)
        pin(i ? p->worker[i].thread : pthread_self(), &p->caller, i);
    return p;
}

void fsim_cpu_pool_free(fsim_cpu_pool *p)
{
    if (!p)
        return;
    p->entry = NULL;
    if (p->threads > 1)
        publish(p);
    for (int i = 1; i < p->threads; i++)
        pthread_join(p->worker[i].thread, NULL);
    if (p->pinned)
        pthread_setaffinity_np(pthread_self(), sizeof p->caller, &p->caller);
    pthread_cond_destroy(&p->go);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    free(p->worker);
    free(p);
}

int fsim_cpu_threads(const fsim_cpu_pool *p) { return p->threads; }

/* Memory. */

enum { TOUCH_BYTES = 4096 };

static void touch(long long first, long long end, void *const *args)
{
    memset((char *)args[0] + first * TOUCH_BYTES, 0, (size_t)(end - first) * TOUCH_BYTES);
}

static size_t whole_pages(int64_t bytes) { return (size_t)(bytes + TOUCH_BYTES) / TOUCH_BYTES * TOUCH_BYTES; }

void *fsim_cpu_memory(fsim_cpu_pool *p, int64_t bytes)
{
    const size_t size = whole_pages(bytes);
    void *at = bytes >= 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (at == MAP_FAILED)
        return NULL;
#ifdef MADV_HUGEPAGE
    madvise(at, size, MADV_HUGEPAGE);
#endif
    fsim_cpu_launch(p, touch, (int64_t)(size / TOUCH_BYTES), &at);
    return at;
}

void fsim_cpu_memory_free(void *at, int64_t bytes)
{
    if (at)
        munmap(at, whole_pages(bytes));
}

/* Properties of the machine. */

const char *fsim_cpu_info(fsim_arena *a, const char **why)
{
    static const char path[] = "/proc/cpuinfo";
    const char *reason = "";
    size_t bytes = 0;
    const char *info = fsim_read_file(a, path, &bytes, &reason);
    if (!info && access(path, F_OK) != 0)
        return "";
    if (!info)
        *why = fsim_printf(a, "cannot read %s: %s", path, reason);
    return info;
}

const char *fsim_cpu_name(const char *info, fsim_arena *a)
{
    const char *name = strstr(info, "model name");
    name = name ? strchr(name, ':') : NULL;
    if (!name)
        return "unknown CPU";
    name += 1 + strspn(name + 1, " \t");
    return fsim_strndup(a, name, strcspn(name, "\n\""));
}

/* The number in a one-line file of the kernel, and the text after it; 0 where there is none. */
static long long number_in(const char *folder, int index, const char *name, char *suffix)
{
    char path[128];
    long long number = 0;
    snprintf(path, sizeof path, "%s/index%d/%s", folder, index, name);
    FILE *in = fopen(path, "r");
    if (in && fscanf(in, "%lld%c", &number, suffix) < 1)
        number = 0;
    if (in)
        fclose(in);
    return number;
}

/* What FUSESIM_CPU_CACHE may say. */
static const double least_cache = 1 << 18, most_cache = 1LL << 40;

/* Size of the first CPU's data cache of this level. sysconf asks the processor instead, which under a hypervisor may
 * not describe this machine. */
static int64_t cache_of_level(int level)
{
    static const char folder[] = "/sys/devices/system/cpu/cpu0/cache";
    char ignored = 0, unit = 0;
    for (int i = 0; i < 10; i++)
        if (level > 1 && number_in(folder, i, "level", &ignored) == level) {
            const long long size = number_in(folder, i, "size", &unit);
            return size * (unit == 'K' ? 1 << 10 : unit == 'M' ? 1 << 20 : 1);
        }
    return 0;
}

/* Bytes that FUSESIM_CPU_CACHE says; 0: not in its limits; less: it is not there. */
static int64_t own_cache(void)
{
    const char *own = getenv("FUSESIM_CPU_CACHE"), *why;
    double bytes;
    if (!own)
        return -1;
    return fsim_parse_unit(own, FSIM_DIM_BYTES, &bytes, &why) && bytes >= least_cache && bytes <= most_cache
               ? (int64_t)bytes
               : 0;
}

bool fsim_cpu_cache_is_stated_well(void) { return own_cache() != 0; }

int64_t fsim_cpu_cache_bytes(void)
{
    if (own_cache() > 0)
        return own_cache();
    for (int level = 4; level > 1; level--)
        if (cache_of_level(level) > 0)
            return cache_of_level(level);
#ifdef _SC_LEVEL3_CACHE_SIZE
    if (sysconf(_SC_LEVEL3_CACHE_SIZE) > 0)
        return sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return (int64_t)32 << 20;
}

int64_t fsim_cpu_core_cache_bytes(void) { return cache_of_level(2) > 0 ? cache_of_level(2) : 1 << 20; }

/* Clocks. */

double fsim_cpu_busy_s(void) { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

void fsim_cpu_count_busiest(fsim_cpu_pool *p, bool on)
{
    p->counts = on;
    p->busiest_s = 0;
}

double fsim_cpu_busiest_s(const fsim_cpu_pool *p) { return p->busiest_s; }
