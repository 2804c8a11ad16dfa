/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h: what a kind of device must be able to do so that trials can run on it. validate/trial/ runs them by these
 * operations alone and names no driver; validate/device/backends.def lists the back ends.
 *
 * Operations that return bool or a pointer return false or NULL on a fault and set *fault. Buffers, kernels and texts
 * belong to the device that made them and end with it. One device is used by one thread. */
#ifndef FUSESIM_VALIDATE_DEVICE_BACKEND_H
#define FUSESIM_VALIDATE_DEVICE_BACKEND_H

#include "base/fault.h"
#include "cost/cost.h"
#include "validate/device/device.h"

/* Counts changes of fsim_backend: a back end that was written for another one is refused. */
enum { FSIM_BACKEND_VERSION = 1 };

typedef struct fsim_device_kernel fsim_device_kernel; /* something that can be launched; each back end has its own */

/* How a device is to be opened. */
typedef struct {
    int threads;      /* of a CPU; 0: one a CPU */
    int jobs;         /* compilers at once; 0: one a CPU */
    int samples;      /* of each kernel and plan; 0: as many as the budget allows */
    double timeout_s; /* for a kernel, or a plan, to finish; 0: the back end's own */
    bool no_counters; /* times only */
} fsim_device_options;

typedef struct fsim_backend fsim_backend;

/* An open device. */
typedef struct {
    const fsim_backend *backend;
    const char *name; /* "AMD EPYC, 2 threads" */
    void *self;       /* the back end's */
    fsim_arena *a;    /* everything of it lives here */
} fsim_device;

/* A product that a plan leaves to the vendor's library: which kernel, and where its tensors lie. */
typedef struct {
    const fsim_graph *graph;
    const fsim_hw *hw; /* that the plan is for */
    const fsim_kernel *kernel;
    const char *name;          /* of the kernel, for messages */
    const fsim_buffer *tensor; /* per tensor of the graph */
} fsim_library_job;

/* A plan to be measured: its kernels, one after another. */
typedef struct {
    const char *name;
    fsim_device_kernel *const *kernel;
    int kernels;
} fsim_device_plan;

/* What is to be measured, and what came of it. */
typedef struct {
    const fsim_device_plan *plan;
    int plans;
    fsim_device_kernel *const *kernel; /* each by itself, the most important first */
    int kernels;
    double budget_s; /* for all of it; 0: the back end's own */
    double until_s;  /* by fsim_now_s: what is not reached by then is left out, the last first; 0: no limit */
    int samples;     /* 0: by budget */
    bool warm;       /* plans run as the run before left L2 */
    /* Results: per plan (stream, graph and the reasons why not), per kernel. */
    fsim_measured_plan *of_plan;
    fsim_measured_kernel *of_kernel;
    double dram_bytes_per_s; /* what memory gave meanwhile; predictions are for that. 0: not measured */
    double disturbed;        /* share of the samples during which other processes had the CPUs */
} fsim_device_work;

struct fsim_backend {
    const char *name;       /* as --device and the reports have it */
    int version;            /* FSIM_BACKEND_VERSION */
    const char *own_hw;     /* hardware file that is used without --hw; NULL: --hw must be given */
    bool measures_warm;     /* plans as the run before left L2, too */
    bool goes_on;           /* a fault costs one workload and not the run, unless the device is lost */
    const char *no_library; /* why nothing runs by a vendor's library; NULL where `library` is there */

    /* NULL with *fault set: no device, driver or compiler. In a. */
    fsim_device *(*open)(const fsim_device_options *options, fsim_arena *a, fsim_fault *fault);
    void (*close)(fsim_device *d);
    /* Why nothing more can be run on it; NULL: it is well. The program should then end by _exit. */
    const char *(*lost)(const fsim_device *d);
    /* What is known of it, one line for the report's head; "". In a. */
    const char *(*facts)(const fsim_device *d, fsim_arena *a);
    /* Why nothing was counted; NULL where something was. The whole operation is NULL where nothing ever is. */
    const char *(*no_counters)(const fsim_device *d);
    /* hw with what differs on this machine measured anew. NULL: predictions are for hw as it is. */
    const fsim_hw *(*recalibrated)(fsim_device *d, const fsim_hw *hw, fsim_fault *fault);

    /* Compiles programs. wrong[i]: why program i does not compile; NULL. A fault is that none can be. */
    bool (*compile)(fsim_device *d, const fsim_program *p, int count, const char **wrong, fsim_fault *fault);
    /* Runs program i of those compiled last on arguments in the host's memory, with what it writes brought back. */
    bool (*run_on_host_memory)(fsim_device *d, int i, void *const *argument, fsim_fault *fault);

    /* Bytes of its memory that are free; NULL: only allocating tells. */
    int64_t (*free_bytes)(const fsim_device *d);
    bool (*allocate)(fsim_device *d, const char *name, int64_t bytes, fsim_buffer *out, fsim_fault *fault);
    void (*release)(fsim_device *d, fsim_buffer *buffer);
    bool (*upload)(fsim_device *d, fsim_buffer to, const void *from, int64_t bytes, fsim_fault *fault);
    bool (*download)(fsim_device *d, void *to, fsim_buffer from, int64_t bytes, fsim_fault *fault);

    /* Program i of those compiled last, on these buffers, one a parameter. */
    fsim_device_kernel *(*load)(fsim_device *d, int i, const fsim_buffer *argument, fsim_fault *fault);
    /* The product by the vendor's library: *who is its name. NULL with *why set: the library has no such call. */
    fsim_device_kernel *(*library)(fsim_device *d, const fsim_library_job *job, const char **who, const char **why);
    void (*unload)(fsim_device *d, fsim_device_kernel *k);
    /* Launches once and waits. */
    bool (*run)(fsim_device *d, fsim_device_kernel *k, fsim_fault *fault);
    /* Measures plans and kernels. A fault with FSIM_INCONCLUSIVE is noise: all is measured. */
    bool (*measure)(fsim_device *d, fsim_device_work *work, fsim_fault *fault);
};

/* All zero samples, NaN and -1: a kernel of which nothing is known. */
fsim_measured_kernel fsim_not_measured(void);
/* Seconds on a monotonic clock. */
double fsim_now_s(void);

#endif
