/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h: what a GPU ran, according to a profiler. Formats: profile.def. */
#ifndef FUSESIM_EVIDENCE_PROFILE_H
#define FUSESIM_EVIDENCE_PROFILE_H

#include "base/names.h"
#include "graph/graph.h"

typedef enum {
    FSIM_RAN_KERNEL,
    FSIM_RAN_COPY,
    FSIM_RAN_FILL
} fsim_ran; /* the driver's memory copies and fills are no kernels */

/* A call of an operator by the host. */
typedef struct {
    const char *name; /* "aten::addmm" */
    int tensors;      /* arguments whose shapes the trace has; scalars and missing arguments have rank 0 */
    const fsim_shape *tensor;
} fsim_call_seen;

typedef struct {
    int name; /* index into the profile's names */
    fsim_ran ran;
    int device, stream;
    double start_s, time_s; /* start: relative to the first event; NaN where it is unknown */
    double dram_read_bytes, dram_write_bytes, l2_bytes; /* NaN where not measured */
    int64_t grid[3], block[3];                          /* 0: unknown */
    int registers;                                      /* for each thread; 0: unknown */
    int call;                                           /* the call of an operator that launched it; -1: unknown */
    int step;                                           /* the profiler's step in which it was launched; -1: none */
    bool graph;                                         /* launched by a CUDA graph */
} fsim_profiled_launch;

/* A row of profile.def. */
typedef struct {
    const char *tool, *id, *what, *source;
    const char *begins;  /* NULL: any text */
    bool empties_caches; /* the profiler empties caches before each kernel */
} fsim_profile_format;

typedef struct {
    const fsim_profile_format *format;
    const char *path, *device_name; /* device_name: in the driver's words; NULL: unknown */
    bool timeline;                  /* launches have start times */
    fsim_profiled_launch *launch;   /* in the order in which the host launched them, or else that of the file */
    int launches;
    const char **name;
    int names;
    fsim_call_seen *call;
    int calls;
} fsim_profile;

/* Reads a profile in any format of profile.def, recognised by its beginning. False after errors in d: an unknown
 * format, or contents that can't be read. In a; text is not referenced afterwards. */
bool fsim_profile_read(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes,
                       fsim_profile *out);
/* The readers, one for each row of profile.def (ncu.c, kineto.c), with the parameters of fsim_profile_read. */
#define FSIM_PROFILE(tool, id, what, begins, caches, source, read)                                                     \
    bool fsim_##read##_read(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes,             \
                            fsim_profile *out);
#include "evidence/profile.def"
#undef FSIM_PROFILE

/* "a trace of PyTorch's profiler or a table of `ncu --csv`": all formats, for messages. In a. */
const char *fsim_profile_kinds(fsim_arena *a);

/* Index of name in the profile's names, added where it is new; `seen` starts zeroed. *room: allocated names. */
int fsim_profile_name(fsim_arena *a, fsim_profile *p, fsim_names *seen, int *room, const char *name);

/* The repetitions of one step. */
typedef struct {
    int first, launches; /* of each repetition: order[first], order[first + 1], ... */
    int repeats;
    const int *order;         /* launches of kernels on the device that was busy longest */
    int before, behind, away; /* launches before the first repetition; after or between repetitions; on other devices */
    int device;
    bool marked; /* found by the profiler's marks; otherwise by repetition */
} fsim_steps;

/* Finds the step that repeats. A step may contain repetitions itself (a stack of equal layers); `counted` flags
 * names of kernels that a step launches about `wanted` times. 0: unknown. In a. */
fsim_steps fsim_steps_of(const fsim_profile *p, int wanted, const bool *counted, fsim_arena *a);

#endif
