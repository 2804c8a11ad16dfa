/* SPDX-License-Identifier: Apache-2.0 */
/* probes.h: what this machine's threads, caches and memory achieve, measured with small kernels that are compiled
 * and run like generated ones. */
#ifndef FUSESIM_VALIDATE_CPU_PROBES_H
#define FUSESIM_VALIDATE_CPU_PROBES_H

#include "validate/cpu/cpu.h"

/* All threads work, except for LATENCY. Bytes are those that a program reads and writes, without what caches fetch
 * in addition. */
typedef enum {
    FSIM_PROBE_COPY,
    FSIM_PROBE_READ,
    FSIM_PROBE_WRITE,
    FSIM_PROBE_TRIAD, /* B/s; tensors at least twice the last-level cache */
    FSIM_PROBE_CACHE_COPY,
    FSIM_PROBE_CACHE_READ, /* B/s; footprint of a quarter of the last-level cache */
    FSIM_PROBE_CORE_COPY,  /* B/s; each thread has tensors of 16 KiB */
    FSIM_PROBE_FP32,
    FSIM_PROBE_FP64,    /* FLOP/s of independent multiply-adds in vectors */
    FSIM_PROBE_INT32,   /* additions and exclusive ors a second, in vectors */
    FSIM_PROBE_PRODUCT, /* FLOP/s of a matrix product, 64 x 64 tiles, 256 steps of k */
    FSIM_PROBE_CLOCK,   /* Hz: dependent integer operations a second and thread */
    FSIM_PROBE_DISPATCH,
    FSIM_PROBE_WAKE,    /* s: an empty launch right after another one; one that must wake sleeping threads */
    FSIM_PROBE_LATENCY, /* s: a dependent load beyond the last-level cache */
    FSIM_PROBE_EXP,
    FSIM_PROBE_TANH,
    FSIM_PROBE_SIGMOID,
    FSIM_PROBE_ERF,
    FSIM_PROBE_SQRT,
    FSIM_PROBE_RSQRT,
    FSIM_PROBE_DIV,
    FSIM_PROBE_LOG, /* results/s, FP32 */
    FSIM_PROBES
} fsim_probe;
extern const char *const fsim_probe_names[FSIM_PROBES];
extern const char *const fsim_probe_units[FSIM_PROBES]; /* "B/s", "FLOP/s", "results/s", "Hz", "s" */

#define FSIM_PROBE_BIT(p) (1u << (p))
/* Probes of what differs between machines and changes over time; they take about a second. */
enum { FSIM_PROBES_ALL = (1 << FSIM_PROBES) - 1, FSIM_MOST_SIZES = 24 };
extern const unsigned fsim_probes_quick;

typedef struct {
    int64_t bytes; /* of both tensors of a copy */
    fsim_spread_of bytes_per_s;
} fsim_probe_size;

typedef struct {
    int threads, rounds;
    const char *cpu, *compiler;
    int64_t cache_bytes, core_cache_bytes,
        memory_bytes;        /* last-level cache; a core's own cache; main memory: reported by the system */
    int64_t effective_bytes; /* footprint at which the bandwidth of a copy is half way, in logarithms, from the cache's
                                to memory's; 0: not measured */
    fsim_spread_of of[FSIM_PROBES];        /* 0 samples: not requested, or its kernel does not compile */
    fsim_probe_size size[FSIM_MOST_SIZES]; /* copies of growing size; only where all probes run */
    int sizes;
    double took_s;
} fsim_host_probes;

/* Runs the probes whose bits are set in `rounds` rounds (0: 9), so that drift affects all of them alike. NULL with
 * *why set: no compiler, not enough memory. In a. compiler->header: the dialect, whose functions EXP to LOG measure;
 * without it, similar ones. */
fsim_host_probes *fsim_host_probe(fsim_cpu_pool *p, const fsim_cpu_compiler *compiler, unsigned probes, int rounds,
                                  fsim_arena *a, const char **why);
/* Half the distance between the quartiles, over the median. */
double fsim_relative_spread(fsim_spread_of x);

#endif
