/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h: the operations that a device needs so that trials can run on it. validate/trial/ uses only these and names
 * no driver; validate/device/backends.def lists the back ends.
 *
 * Operations that return bool or a pointer return false or NULL on a fault and set *fault. Buffers, kernels and
 * texts belong to the device that created them and are freed with it. A device is used by one thread. */
#ifndef FUSESIM_VALIDATE_DEVICE_BACKEND_H
#define FUSESIM_VALIDATE_DEVICE_BACKEND_H

#include "base/fault.h"
#include "cost/cost.h"
#include "validate/device/device.h"
#include "validate/device/probed.h"

/* Version of fsim_backend: a back end for another version is refused. */
enum { FSIM_BACKEND_VERSION = 2 };

typedef struct fsim_device_kernel
    fsim_device_kernel; /* a kernel that can be launched; each back end has its own struct */

/* How to open a device. */
typedef struct {
    int threads;      /* of a CPU; 0: one a CPU */
    int jobs;         /* compilers at once; 0: one a CPU */
    int samples;      /* of each kernel and plan; 0: as many as the budget allows */
    double timeout_s; /* limit for a kernel, or a plan, to finish; 0: the back end's default */
    bool no_counters; /* times only */
    bool for_probes;  /* it is opened to be probed: many figures, a short time for each */
} fsim_device_options;

typedef struct fsim_backend fsim_backend;

/* An open device. */
typedef struct {
    const fsim_backend *backend;
    const char *name; /* "AMD EPYC, 2 threads" */
    void *self;       /* the back end's own data */
    fsim_arena *a;    /* all memory of the device */
} fsim_device;

/* A product that a plan runs with the vendor's library: which kernel, and its tensors. */
typedef struct {
    const fsim_graph *graph;
    const fsim_hw *hw; /* the GPU of the plan */
    const fsim_kernel *kernel;
    const char *name;          /* of the kernel, for messages */
    const fsim_buffer *tensor; /* per tensor of the graph */
} fsim_library_job;

/* A plan to measure: its kernels in order. */
typedef struct {
    const char *name;
    fsim_device_kernel *const *kernel;
    int kernels;
} fsim_device_plan;

/* What to measure, and the results. */
typedef struct {
    const fsim_device_plan *plan;
    int plans;
    fsim_device_kernel *const *kernel; /* measured one by one, the most important first */
    int kernels;
    double budget_s; /* for all together; 0: the back end's default */
    double until_s;  /* by fsim_now_s: kernels and plans that are not reached by then are left out; 0: no limit */
    int samples;     /* 0: as many as the budget allows */
    bool warm;       /* plans run with what the run before left in L2 */
    /* Results: per plan (stream, graph and the reasons why not), per kernel. */
    fsim_measured_plan *of_plan;
    fsim_measured_kernel *of_kernel;
    double dram_bytes_per_s; /* memory bandwidth during the measurements, for which predictions are made; 0: not
                                measured */
    double disturbed;        /* share of samples during which other processes used the CPUs */
} fsim_device_work;

/* The hardware file that probes of a device are to make. */
typedef struct {
    const fsim_hw *hw; /* the file that is changed, and its text; NULL and "": a new one */
    const char *text;
    const char *name;           /* of a new file; NULL: the back end's own */
    const char *date, *command; /* for the file's head */
} fsim_probe_order;

/* How `calibrate --device` measures a device. */
typedef struct {
    const char *describes; /* what its hardware files are of: "CPU", "NVIDIA GPU" */
    bool takes_threads;    /* --threads means something */
    /* Is this the hardware file of such a device? */
    bool (*is_own)(const fsim_hw *hw);
    /* Which of hw[0, count) is this device's. NULL: none. The operation is NULL where no shipped file is any machine's.
     */
    const fsim_hw *(*like)(const fsim_device *d, fsim_hw *const *hw, int count);
    /* Why hw is a file of another device than this one, for a warning; NULL: it is not. The operation may be NULL. In
     * a. */
    const char *(*differs)(const fsim_device *d, const fsim_hw *hw, fsim_arena *a);
    /* Measures all. False with *fault set; with FSIM_INCONCLUSIVE for noise *out is filled in. In a. */
    bool (*probe)(fsim_device *d, const fsim_probe_order *order, fsim_arena *a, fsim_device_probed *out,
                  fsim_fault *fault);
} fsim_calibrator;

/* How a child process ended: with `status`, or without one (-1) by a fault. */
typedef struct {
    int status;
    fsim_fault fault;
} fsim_guarded;

struct fsim_backend {
    const char *name;                  /* name for --device and in reports */
    int version;                       /* FSIM_BACKEND_VERSION */
    const char *own_hw;                /* hardware file to use without --hw; NULL: --hw is required */
    bool measures_warm;                /* also measures plans with what the run before left in L2 */
    bool goes_on;                      /* a fault ends one workload and not the whole run, unless the device is lost */
    const char *no_library;            /* why no vendor's library can run; NULL where `library` is set */
    const fsim_calibrator *calibrator; /* NULL: no hardware file can be made of the device */

    /* Goes on in a child process, where it returns true; false in the parent, when the child has ended, or could not be
     * started. A signal that ended both ends the parent here. NULL: this process may open the device itself. Text in
     * a. */
    bool (*guard)(fsim_arena *a, fsim_guarded *out);
    /* NULL with *fault set: no device, driver or compiler. In a. */
    fsim_device *(*open)(const fsim_device_options *options, fsim_arena *a, fsim_fault *fault);
    void (*close)(fsim_device *d);
    /* Why the device can't run anything any more; NULL: it can. The program should then end with _exit. */
    const char *(*lost)(const fsim_device *d);
    /* One line about the device for the report's head; "". */
    const char *(*facts)(const fsim_device *d, fsim_arena *a);
    /* Why there are no counters; NULL: there are. The operation itself is NULL for devices without counters. */
    const char *(*no_counters)(const fsim_device *d);
    /* A copy of hw with new measurements of what differs on this machine. NULL: predict for hw as it is. */
    const fsim_hw *(*recalibrated)(fsim_device *d, const fsim_hw *hw, fsim_fault *fault);

    /* Compiles programs. wrong[i]: why program i does not compile, or NULL. A fault: nothing can be compiled. */
    bool (*compile)(fsim_device *d, const fsim_program *p, int count, const char **wrong, fsim_fault *fault);
    /* Runs program i of the last compilation on arguments in host memory, and copies back what it writes. */
    bool (*run_on_host_memory)(fsim_device *d, int i, void *const *argument, fsim_fault *fault);

    /* Free bytes of the device's memory; NULL: the device can't tell. */
    int64_t (*free_bytes)(const fsim_device *d);
    bool (*allocate)(fsim_device *d, const char *name, int64_t bytes, fsim_buffer *out, fsim_fault *fault);
    void (*release)(fsim_device *d, fsim_buffer *buffer);
    bool (*upload)(fsim_device *d, fsim_buffer to, const void *from, int64_t bytes, fsim_fault *fault);
    bool (*download)(fsim_device *d, void *to, fsim_buffer from, int64_t bytes, fsim_fault *fault);

    /* Prepares program i of the last compilation with these buffers, one for each parameter. */
    fsim_device_kernel *(*load)(fsim_device *d, int i, const fsim_buffer *argument, fsim_fault *fault);
    /* Prepares the product with the vendor's library, whose name is *who. NULL with *why set: the library has no
     * such call. */
    fsim_device_kernel *(*library)(fsim_device *d, const fsim_library_job *job, const char **who, const char **why);
    void (*unload)(fsim_device *d, fsim_device_kernel *k);
    /* Launches once and waits. */
    bool (*run)(fsim_device *d, fsim_device_kernel *k, fsim_fault *fault);
    /* Measures plans and kernels. A fault with FSIM_INCONCLUSIVE: all were measured, but with too much noise. */
    bool (*measure)(fsim_device *d, fsim_device_work *work, fsim_fault *fault);
};

/* The result of a kernel that was not measured: 0 samples, NaN and -1. */
fsim_measured_kernel fsim_not_measured(void);
/* Seconds on a monotonic clock. */
double fsim_now_s(void);

#endif
