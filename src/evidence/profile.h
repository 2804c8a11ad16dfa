/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h: what a GPU ran, as a profiler saw it. The formats that are read: profile.def. */
#ifndef FUSESIM_EVIDENCE_PROFILE_H
#define FUSESIM_EVIDENCE_PROFILE_H

#include "base/names.h"
#include "graph/graph.h"

typedef enum {
    FSIM_RAN_KERNEL,
    FSIM_RAN_COPY,
    FSIM_RAN_FILL
} fsim_ran; /* a memory copy or fill of the driver's is no kernel */

/* One call of an operator, by the host. */
typedef struct {
    const char *name; /* "aten::addmm" */
    int tensors;      /* of its arguments, those whose shapes the trace has; scalars and missing ones have rank 0 */
    const fsim_shape *tensor;
} fsim_call_seen;

typedef struct {
    int name; /* index into the profile's names */
    fsim_ran ran;
    int device, stream;
    double start_s, time_s; /* start: since the first event; NaN where the profiler does not say */
    double dram_read_bytes, dram_write_bytes, l2_bytes; /* NaN where not measured */
    int64_t grid[3], block[3];                          /* 0: not said */
    int registers;                                      /* a thread; 0: not said */
    int call;                                           /* the operator's call that launched it; -1: not known */
    int step;   /* the profiler's step that it was launched in; -1: outside of them, or there are none */
    bool graph; /* launched by a CUDA graph */
} fsim_profiled_launch;

/* A row of profile.def. */
typedef struct {
    const char *tool, *id, *what, *source;
    const char *begins;  /* NULL: any text */
    bool empties_caches; /* before each kernel */
} fsim_profile_format;

typedef struct {
    const fsim_profile_format *format;
    const char *path, *device_name; /* device_name: as the driver calls it; NULL: not said */
    bool timeline;                  /* launches have starts */
    fsim_profiled_launch *launch;   /* as the host launched them, else as the file lists them */
    int launches;
    const char **name;
    int names;
    fsim_call_seen *call;
    int calls;
} fsim_profile;

/* Reads a profile of any format of profile.def, told by how the file begins. False after errors in d: another kind of
 * file, or one that its reader can't make sense of. In a; text stays referenced only while it reads. */
bool fsim_profile_read(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes,
                       fsim_profile *out);
/* The readers, one for each row of profile.def (ncu.c, kineto.c), with the parameters of fsim_profile_read. */
#define FSIM_PROFILE(tool, id, what, begins, caches, source, read)                                                     \
    bool fsim_##read##_read(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes,             \
                            fsim_profile *out);
#include "evidence/profile.def"
#undef FSIM_PROFILE

/* "a trace of PyTorch's profiler or a table of `ncu --csv`": what fsim_profile_read reads, for messages. In a. */
const char *fsim_profile_kinds(fsim_arena *a);

/* The index of name among the profile's, added where it is new; seen starts zeroed. Room for names is *room. */
int fsim_profile_name(fsim_arena *a, fsim_profile *p, fsim_names *seen, int *room, const char *name);

/* Repetitions of one step. */
typedef struct {
    int first, launches; /* of each: order[first], order[first + 1], ... */
    int repeats;
    const int *order;         /* launches of the kernels on the device that was busy longest */
    int before, behind, away; /* kernels in front of the first, elsewhere outside of them, and on other devices */
    int device;
    bool marked; /* by the profiler's steps; else found by what repeats */
} fsim_steps;

/* Finds the step that repeats. A step may repeat within itself (a stack of equal layers): counted flags the names of
 * launches of which a step has about `wanted`; 0: not known. In a. */
fsim_steps fsim_steps_of(const fsim_profile *p, int wanted, const bool *counted, fsim_arena *a);

#endif
