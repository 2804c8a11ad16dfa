/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc.h: compiles CUDA sources to cubins with NVRTC. Needs neither a GPU nor a driver. */
#ifndef FUSESIM_VALIDATE_CUDA_NVRTC_H
#define FUSESIM_VALIDATE_CUDA_NVRTC_H

#include "validate/cuda/library.h"
#include "validate/cuda/resources.h"

typedef struct {
    fsim_library library;
    fsim_nvrtc_entries call;
    int major, minor;             /* of its version: 13, 0 */
    int *sm, archs;               /* architectures that it compiles for: 75, 80, ..., ascending */
    const char *cache, *no_cache; /* folder of compiled kernels; or NULL, and why there is none */
} fsim_nvrtc;

typedef struct {
    const char *name;   /* in messages; "softmax.cu" */
    const char *source; /* may #include "fusesim_dialect.h" */
    int sm;             /* 80: sm_80 */
} fsim_nvrtc_source;

/* An entry that had another name when the text was compiled. */
typedef struct {
    const char *entry, *symbol; /* its name in the program; its name in the cubin */
} fsim_cubin_symbol;

typedef struct {
    const void *cubin; /* NULL: not compiled; fault says why */
    size_t bytes;
    const char *log; /* of the compiler */
    fsim_resources *entry;
    int entries;
    fsim_cubin_symbol *symbol; /* entries that have another name in the cubin */
    int symbols;
    bool checked;     /* the cubin could be read: entry[].disagrees is valid */
    bool cached;      /* came from disk */
    double compile_s; /* 0 where cached */
    fsim_fault fault;
} fsim_cubin;

/* major: preferred major version of CUDA, 0: the newest. Lives in a; NULL with *fault set where there is no NVRTC. */
fsim_nvrtc *fsim_nvrtc_open(fsim_arena *a, int major, fsim_fault *fault);

/* How several sources are compiled. */
typedef struct {
    const char *header; /* text of fusesim_dialect.h; NULL: sources do not include it */
    int jobs;           /* compilers at once, at least 1 */
} fsim_nvrtc_how;

/* Compiles sources to out[count], in a. True if all compiled; the fault of each says why it did not. */
bool fsim_nvrtc_compile_all(const fsim_nvrtc *n, const fsim_nvrtc_source *source, int count, const fsim_nvrtc_how *how,
                            fsim_arena *a, fsim_cubin *out);
/* Compiles one source, or takes it from the cache. header may be NULL. False: out->fault says why. In a. */
bool fsim_nvrtc_compile(const fsim_nvrtc *n, const fsim_nvrtc_source *source, const char *header, fsim_arena *a,
                        fsim_cubin *out);

/* The first line of a compiler's log with an error, else its first line; in a. */
const char *fsim_first_error(fsim_arena *a, const char *log);
/* How many lines of a compiler's log are warnings. */
int fsim_warnings(const char *log);

#endif
