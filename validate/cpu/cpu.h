/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h: compiles kernels as C with the host's cc, runs them on a pool of threads, and measures them relative to a
 * copy.
 *
 * A kernel is a function fsim_cpu_entry that runs the blocks [first, end) of its grid in the calling thread. Times
 * on a shared machine drift by tens of percent within minutes; times divided by that of a copy just before hardly
 * do. So every sample includes a copy. */
#ifndef FUSESIM_VALIDATE_CPU_CPU_H
#define FUSESIM_VALIDATE_CPU_CPU_H

#include "validate/device/backend.h"

/* Compiling. */

typedef void fsim_cpu_entry(long long first, long long end, void *const *args);

typedef struct {
    const char *header;   /* text of fusesim_dialect.h; NULL: sources do not include it */
    const char *compiler; /* may have options of its own, split at blanks without a shell; NULL: $CC, else cc */
    const char *cache; /* folder; NULL: $FUSESIM_CACHE, else $XDG_CACHE_HOME/fusesim, else ~/.cache/fusesim; "": none */
    int jobs;          /* compilers at once; 0: one a CPU */
} fsim_cpu_compiler;

typedef struct {
    const fsim_program *program;
    fsim_cpu_entry **entry; /* per launch; NULL where `failed` */
    const char *failed;     /* why it can't run, e.g. the compiler's first error with its source line; NULL: it can */
    bool cached;            /* found in the cache */
} fsim_cpu_kernel;

typedef struct {
    fsim_cpu_kernel *kernel; /* per program */
    int kernels, failures, cached;
    int texts, compiled,
        compilers;      /* distinct texts, names aside; those that were not in the cache; compilers that were started */
    const char *broken; /* the first failure that is this machine's, and not a source's; NULL: none */
    const char *compiler; /* first line of its --version, and the flags that it accepts */
    double compile_s;
    void **library; /* the loaded libraries */
    int libraries;
} fsim_cpu_module;

/* Can this machine compile? Else *why says what is missing, in a. */
bool fsim_cpu_has_compiler(const fsim_cpu_compiler *how, fsim_arena *a, const char **why);
/* Compiles every program that is not skipped; programs that differ only in names are compiled once. Results in a;
 * libraries stay loaded until fsim_cpu_unload. NULL with *why set where the machine cannot compile: no compiler or one
 * that is killed, no temporary folder, no room, a linker that fails, a library that may not be loaded. */
fsim_cpu_module *fsim_cpu_compile(const fsim_program *program, int count, const fsim_cpu_compiler *how, fsim_arena *a,
                                  const char **why);
/* Closes the libraries; entries must not be called afterwards. m may be NULL. */
void fsim_cpu_unload(fsim_cpu_module *m);

/* What the system says of its CPUs, the text of /proc/cpuinfo, in a; "" where it says nothing. NULL with *why set where
 * it does but can't be read. */
const char *fsim_cpu_info(fsim_arena *a, const char **why);
/* The CPU's name, "AMD EPYC 9R14", of that text, in a; "unknown CPU" where it has none. */
const char *fsim_cpu_name(const char *info, fsim_arena *a);
/* Bytes of the last-level cache: what FUSESIM_CPU_CACHE says, as in "32 MiB", else the system; 32 MiB where it does not
 * report it. */
int64_t fsim_cpu_cache_bytes(void);
/* False where FUSESIM_CPU_CACHE is there and says no size from 256 KiB to 1 TiB; fsim_cpu_cache_bytes ignores it then.
 */
bool fsim_cpu_cache_is_stated_well(void);
/* Bytes of a core's second-level cache; 1 MiB where the system does not report it. */
int64_t fsim_cpu_core_cache_bytes(void);
/* Number of CPUs that this process may use. */
int fsim_cpu_count(void);

/* Running. */

/* The calling thread is the first of the pool, and stays on its CPU while the pool exists. */
typedef struct fsim_cpu_pool fsim_cpu_pool;
/* threads 0: one for each CPU. There are fewer where the system refuses more. Each is pinned to a CPU of its own,
 * where there are enough CPUs. */
fsim_cpu_pool *fsim_cpu_pool_new(int threads);
/* Ends the threads; the calling thread may use all its CPUs again. p may be NULL. */
void fsim_cpu_pool_free(fsim_cpu_pool *p);
/* Number of threads, including the caller. */
int fsim_cpu_threads(const fsim_cpu_pool *p);
/* Runs all launches of a kernel, one after the other; each thread runs a contiguous part of the grid. args[i]:
 * parameter i. */
void fsim_cpu_run(fsim_cpu_pool *p, const fsim_cpu_kernel *k, void *const *args);
/* Runs one launch of any function with the signature of an entry. */
void fsim_cpu_launch(fsim_cpu_pool *p, fsim_cpu_entry *entry, int64_t grid, void *const *args);
/* Zeroed memory, in large pages where the system has them, first touched by the threads that will use it. NULL: not
 * enough memory. To be freed by fsim_cpu_memory_free with the same number of bytes. */
void *fsim_cpu_memory(fsim_cpu_pool *p, int64_t bytes);
/* Frees memory of fsim_cpu_memory; bytes as allocated. at may be NULL. */
void fsim_cpu_memory_free(void *at, int64_t bytes);

/* Measuring. */

typedef struct {
    const fsim_cpu_kernel *kernel;
    void *const *args;
} fsim_cpu_call;

/* A work: what is timed as one, a kernel or a plan's kernels one after the other. */
typedef struct {
    const fsim_cpu_call *call;
    int calls;
} fsim_cpu_work;

typedef struct {
    const fsim_cpu_compiler *compiler; /* for the copy that measured times are compared with */
    int rounds;    /* 0: 15; each runs every work once cold and once warm, and starts with another work */
    double most_s; /* after so many seconds no round begins, but at least 3 do, and no disturbed sample is
                    * repeated; 0: no limit */
    bool warm_only, cold_only;
} fsim_cpu_how;

/* Median and quartiles. */
typedef struct {
    double median, low, high;
    int samples;
} fsim_spread_of;

typedef struct {
    fsim_times cold, warm;                   /* with other data in the caches; right after the cold run */
    fsim_spread_of cold_copies, warm_copies; /* the same times, each divided by that of the copy just before */
} fsim_cpu_result;

typedef struct {
    fsim_cpu_result *work; /* per work */
    fsim_times copy;       /* copy that reads copy_bytes and writes as many, with plain stores, in all threads */
    double copy_bytes;     /* of one side; at least twice the last-level cache */
    fsim_times dispatch;   /* an empty kernel: the smallest time that can be measured */
    int rounds;
    double disturbed; /* share of samples during which other processes used the CPUs for more than a tenth of the time,
                         in spite of repetitions. For these samples the CPU time of the busiest thread is used. Where
                         there are many, caches and memory were shared too, and times are not reliable */
} fsim_cpu_measurement;

/* Times work[0, works), each of which runs once before that. NULL with *why set: not enough memory, or no compiler for
 * the copy. In a. */
const fsim_cpu_measurement *fsim_cpu_measure(fsim_cpu_pool *p, const fsim_cpu_work *work, int works,
                                             const fsim_cpu_how *how, fsim_arena *a, const char **why);
/* CPU seconds that the process's threads have used. Threads of a pool spin, so less than threads x elapsed time
 * means that other processes used the CPUs. */
double fsim_cpu_busy_s(void);
/* From now on each launch adds the CPU time of its busiest thread: the time that it would have taken on idle CPUs,
 * without the barrier. Costs two system calls for each thread and launch. */
void fsim_cpu_count_busiest(fsim_cpu_pool *p, bool on);
/* The sum since the last call of fsim_cpu_count_busiest, in seconds. */
double fsim_cpu_busiest_s(const fsim_cpu_pool *p);
/* Median and quartiles of x[0, n), which must be sorted. All 0 where n is 0. */
fsim_spread_of fsim_spread_of_samples(double *x, int n);

#endif
