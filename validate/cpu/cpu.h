/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h: kernels as C, compiled by the host's cc, run by a pool of threads, measured beside a copy.
 *
 * A kernel is a function fsim_cpu_entry that runs the blocks [first, end) of its grid in the calling thread. Absolute
 * times of a shared machine drift by tens of percent within minutes; times divided by a copy's, taken just before,
 * hardly do. So every sample comes with the copy's. */
#ifndef FUSESIM_VALIDATE_CPU_CPU_H
#define FUSESIM_VALIDATE_CPU_CPU_H

#include "validate/device/backend.h"

/* Compiling. */

typedef void fsim_cpu_entry(long long first, long long end, void *const *args);

typedef struct {
    const char *header;   /* text of fusesim_dialect.h; NULL: sources include none */
    const char *compiler; /* with its own options, split at blanks, no shell; NULL: $CC, else cc */
    const char *cache; /* folder; NULL: $FUSESIM_CACHE, else $XDG_CACHE_HOME/fusesim, else ~/.cache/fusesim; "": none */
    int jobs;          /* compilers at once; 0: one a CPU */
} fsim_cpu_compiler;

typedef struct {
    const fsim_program *program;
    fsim_cpu_entry **entry; /* per launch; NULL where `failed` */
    const char *failed;     /* why it can't run, the compiler's first error with its line among it; NULL: it can */
    bool cached;            /* found in the cache */
} fsim_cpu_kernel;

typedef struct {
    fsim_cpu_kernel *kernel; /* per program */
    int kernels, failures, cached;
    int texts, compiled, compilers; /* distinct ones, names aside; those that did not come from the cache; compilers
                                       that were started for them */
    const char *compiler;           /* first line of its --version, and the flags that it took */
    double compile_s;
    void **library; /* those that are loaded */
    int libraries;
} fsim_cpu_module;

/* Is there a compiler? Its name in *tried, in a. */
bool fsim_cpu_has_compiler(const fsim_cpu_compiler *how, fsim_arena *a, const char **tried);
/* Compiles every program that is not skipped; those that differ in names alone once. Results in a; the libraries stay
 * loaded until fsim_cpu_unload. NULL with *why set where nothing can be compiled at all: no compiler, no temporary
 * folder. */
fsim_cpu_module *fsim_cpu_compile(const fsim_program *program, int count, const fsim_cpu_compiler *how, fsim_arena *a,
                                  const char **why);
/* Closes the libraries: entries are NULL from here on. m may be NULL. */
void fsim_cpu_unload(fsim_cpu_module *m);

/* "AMD EPYC 9R14" as the system names it, in a; "unknown CPU" where it does not. */
const char *fsim_cpu_name(fsim_arena *a);
/* Bytes of the last-level cache as the system reports it; 32 MiB where it does not. */
int64_t fsim_cpu_cache_bytes(void);
/* Of a core's own second-level cache; 1 MiB where the system does not say. */
int64_t fsim_cpu_core_cache_bytes(void);
/* CPUs that this process may use. */
int fsim_cpu_count(void);

/* Running. */

/* The calling thread is the pool's first; while there is a pool it stays on its CPU. */
typedef struct fsim_cpu_pool fsim_cpu_pool;
/* threads 0: as many as CPUs. Fewer where the system gives no more. Pinned, one to each CPU, where there are no more
 * threads than CPUs. */
fsim_cpu_pool *fsim_cpu_pool_new(int threads);
/* Ends the threads and gives the calling thread its CPUs back. p may be NULL. */
void fsim_cpu_pool_free(fsim_cpu_pool *p);
/* Threads of the pool, the calling one among them. */
int fsim_cpu_threads(const fsim_cpu_pool *p);
/* All launches, one after the other, each thread a contiguous part of the grid. args[i]: parameter i. */
void fsim_cpu_run(fsim_cpu_pool *p, const fsim_cpu_kernel *k, void *const *args);
/* One launch of a function that is no kernel of a module. */
void fsim_cpu_launch(fsim_cpu_pool *p, fsim_cpu_entry *entry, int64_t grid, void *const *args);
/* Zeroed, in large pages where there are any, first touched by the threads that will work on it. NULL: not enough
 * memory. fsim_cpu_memory_free takes the same number of bytes. */
void *fsim_cpu_memory(fsim_cpu_pool *p, int64_t bytes);
/* Takes the bytes that fsim_cpu_memory was asked for. at may be NULL. */
void fsim_cpu_memory_free(void *at, int64_t bytes);

/* Measuring. */

typedef struct {
    const fsim_cpu_kernel *kernel;
    void *const *args;
} fsim_cpu_call;

/* What is timed as one: a kernel, or a plan's kernels one after the other. */
typedef struct {
    const fsim_cpu_call *call;
    int calls;
} fsim_cpu_work;

typedef struct {
    const fsim_cpu_compiler *compiler; /* for the copy that measured times are compared with */
    int rounds;    /* 0: 15; each runs every work once cold and once warm, and starts with another work */
    double most_s; /* no round begins after so many seconds, but at least 3 do; 0: no limit */
    bool warm_only, cold_only;
} fsim_cpu_how;

/* Medians and quartiles. */
typedef struct {
    double median, low, high;
    int samples;
} fsim_spread_of;

typedef struct {
    fsim_times cold, warm;                   /* caches hold other data; right after the cold run */
    fsim_spread_of cold_copies, warm_copies; /* times over that of the copy just before: dimensionless */
} fsim_cpu_result;

typedef struct {
    fsim_cpu_result *work; /* per work */
    fsim_times copy;       /* of a copy of copy_bytes read and as many written, plain stores, all threads */
    double copy_bytes;     /* of one side; at least twice the last-level cache */
    fsim_times dispatch;   /* an empty kernel: the noise floor */
    int rounds;
    double disturbed; /* share of the samples in which other processes had the CPUs for more than a tenth of the time,
                         however often tried; those are CPU times of the busiest thread. Where they are many, caches and
                         memory were shared too, and times say little */
} fsim_cpu_measurement;

/* Times work[0, works), each of which runs once before that. NULL with *why set: not enough memory, or no compiler for
 * the copy. In a. */
const fsim_cpu_measurement *fsim_cpu_measure(fsim_cpu_pool *p, const fsim_cpu_work *work, int works,
                                             const fsim_cpu_how *how, fsim_arena *a, const char **why);
/* Seconds that the process's threads have had CPUs. Threads of a pool never rest for long, so that over a launch less
 * than threads x seconds means that others ran in their place. */
double fsim_cpu_busy_s(void);
/* From here on each launch adds the CPU time of the thread that took most of it: how long launches would have taken had
 * nobody else run on these CPUs, all but the barrier. Costs two system calls a thread and launch. */
void fsim_cpu_count_busiest(fsim_cpu_pool *p, bool on);
/* Seconds summed up since fsim_cpu_count_busiest was called last. */
double fsim_cpu_busiest_s(const fsim_cpu_pool *p);
/* Median and quartiles of x[0, n), which is sorted. All zeros where n is 0. */
fsim_spread_of fsim_spread_of_samples(double *x, int n);

#endif
