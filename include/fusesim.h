/* SPDX-License-Identifier: Apache-2.0 */
/* fusesim.h: libfusesim, the model of fusesim as a library: a workload and a GPU in, priced plans out.
 *
 *     fsim_session *s;
 *     fsim_workload *w;
 *     fsim_hardware *h;
 *     fsim_plans *p;
 *     if (fsim_session_open(NULL, &s) == FSIM_OK && fsim_workload_load(s, "mlp", NULL, 0, &w) == FSIM_OK &&
 *         fsim_hardware_load(s, "a100-sxm4-40gb", NULL, 0, &h) == FSIM_OK &&
 *         fsim_plan_workload(s, w, h, NULL, &p) == FSIM_OK)
 *         ... fsim_plans_strategy(p, fsim_plans_chosen(p), &summary) ...
 *     fsim_session_close(s);
 *
 * Where there is nothing to read, as after a failed call (NULL), reading functions give 0, NULL, -1 or NaN.
 *
 * Errors: every function that can fail returns an fsim_status. Where it is not FSIM_OK, the results are NULL or
 * unchanged and the session holds the diagnostics (fsim_diagnostic_count). The library never ends the process, writes
 * to no stream, reads no environment variable and changes no signal, locale or working directory.
 *
 * Memory: a workload, a GPU and plans belong to the session that made them. fsim_session_close frees all of them; the
 * _free functions free one earlier. Texts live as long as the object that they were read from. When memory runs out, a
 * function returns FSIM_NO_MEMORY, frees what it had allocated, and leaves the session usable.
 *
 * Threads: a session and all that it made belong to one thread at a time. Different sessions share nothing that
 * changes, so two threads may each use their own at once.
 *
 * Units: seconds (_s), bytes (_bytes). Indices start at 0, lines and columns at 1.
 *
 * ABI: structs that cross the border begin with `size`, which the caller sets to sizeof the struct; later versions add
 * fields at the end only and leave alone what lies beyond `size`. A zeroed field means the default. */
#ifndef FUSESIM_H
#define FUSESIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FSIM_VERSION_MAJOR 0
#define FSIM_VERSION_MINOR 1
#define FSIM_VERSION_PATCH 0
#define FSIM_VERSION       "0.1.0"

#if defined(__GNUC__)
#define FSIM_API __attribute__((visibility("default")))
#else
#define FSIM_API
#endif

/* The outcome of a call. Where several things went wrong, it is the one that comes last in this list. */
typedef enum fsim_status {
    FSIM_OK,
    FSIM_INCONCLUSIVE, /* measurements are too noisy for a verdict; no function of this header measures */
    FSIM_BAD_ARGUMENT, /* the caller's fault: a NULL, an index out of range, an unknown strategy, a change that is not
                          possible */
    FSIM_BAD_INPUT,    /* a file or a text has an error; the diagnostics name the line */
    FSIM_NO_INPUT,     /* a file does not exist or can't be read; nothing has the name */
    FSIM_UNAVAILABLE,  /* this machine lacks something that the call needs */
    FSIM_FAILED,       /* another failure, which the diagnostics explain */
    FSIM_NO_MEMORY     /* memory ran out; there are no diagnostics */
} fsim_status;

/* The version of the library that is running; FSIM_VERSION is that of the header. */
FSIM_API const char *fsim_version(void);
/* A status in words: "bad input". Never NULL. */
FSIM_API const char *fsim_status_text(fsim_status status);

/* Sessions. */

typedef struct fsim_session fsim_session;

typedef struct fsim_session_options {
    size_t size;
    const char *data_folder; /* contains hwmodels/ and workloads/. NULL: share/fusesim of the prefix that the library is
                                installed in */
    const char *hardware_folder; /* the caller's own hardware files, searched before the shipped ones; NULL: none */
} fsim_session_options;

/* options NULL: the defaults. FSIM_BAD_ARGUMENT or FSIM_NO_MEMORY on failure. A data folder that does not exist is
 * reported later, by the first call that looks up a name in it. */
FSIM_API fsim_status fsim_session_open(const fsim_session_options *options, fsim_session **session);
/* Frees the session and everything created in it. NULL is allowed. */
FSIM_API void fsim_session_close(fsim_session *session);

/* The diagnostics of the last call that takes a session and can fail: errors and warnings, sorted by place. */

typedef enum fsim_severity { FSIM_WARNING, FSIM_ERROR } fsim_severity;

typedef struct fsim_diagnostic {
    size_t size;
    fsim_severity severity;
    fsim_status status;       /* the kind of error; FSIM_OK for a warning */
    const char *file;         /* NULL: it is about an argument of the call */
    int line, column;         /* 0: the file as a whole */
    const char *message;      /* one line, without severity and place */
    const char *const *notes; /* more lines, note_count of them */
    int note_count;
} fsim_diagnostic;

/* Their number; 0 where session is NULL. They are valid until the next call that takes the session. */
FSIM_API int fsim_diagnostic_count(const fsim_session *session);
/* Fills *diagnostic, whose `size` is set. FSIM_BAD_ARGUMENT where the index is out of range. */
FSIM_API fsim_status fsim_diagnostic_get(const fsim_session *session, int index, fsim_diagnostic *diagnostic);

/* A file's text in memory; name is its file name in diagnostics. The text is copied. */
typedef struct fsim_document {
    const char *name, *text;
    size_t bytes;
} fsim_document;

/* Workloads. */

typedef struct fsim_workload fsim_workload;

/* A value for a symbol of the workload: {"B", "16"}, {"dtype", "f16"}. */
typedef struct fsim_setting {
    const char *name, *value;
} fsim_setting;

/* Loads a workload. name: a path, "-" for standard input, or a name such as "mlp" for workloads/mlp.yaml of the
 * working directory or of the shipped data. settings: setting_count of them; NULL: none. */
FSIM_API fsim_status fsim_workload_load(fsim_session *session, const char *name, const fsim_setting *settings,
                                        int setting_count, fsim_workload **workload);
/* Loads a workload from text in memory. */
FSIM_API fsim_status fsim_workload_parse(fsim_session *session, const fsim_document *text, const fsim_setting *settings,
                                         int setting_count, fsim_workload **workload);
/* Frees the workload before its session is closed. All plans of it must have been freed. NULL is allowed. */
FSIM_API void fsim_workload_free(fsim_workload *workload);
/* The name in the workload's file. */
FSIM_API const char *fsim_workload_name(const fsim_workload *workload);
/* Number of operators, with repeat blocks written out. */
FSIM_API int fsim_workload_operators(const fsim_workload *workload);
/* Number of primitives that the operators were expanded into. Kernels are sets of primitives. */
FSIM_API int fsim_workload_primitives(const fsim_workload *workload);

/* Hardware. */

typedef struct fsim_hardware fsim_hardware;

/* Loads a hardware file. name: a path, "-" for standard input, or a name such as "t4" for t4.yaml of the working
 * directory, of the session's hardware_folder, or of the shipped data. changes: "sms=64", "dram_bandwidth=2x",
 * change_count of them, applied in this order; NULL: none. Measured figures that the file lacks are estimated from
 * shipped GPUs like it. */
FSIM_API fsim_status fsim_hardware_load(fsim_session *session, const char *name, const char *const *changes,
                                        int change_count, fsim_hardware **hardware);
/* Loads a GPU from text in memory; the text's name is the GPU's name. */
FSIM_API fsim_status fsim_hardware_parse(fsim_session *session, const fsim_document *text, const char *const *changes,
                                         int change_count, fsim_hardware **hardware);
/* Frees the GPU before its session is closed. All plans on it must have been freed. NULL is allowed. */
FSIM_API void fsim_hardware_free(fsim_hardware *hardware);
/* The GPU's name: its file name without the ending. */
FSIM_API const char *fsim_hardware_name(const fsim_hardware *hardware);
/* The rate or count used for planning, in SI units (bytes/s, FLOP/s, Hz, s); NaN where it is unknown or there is no
 * such key. key: a key of hardware files, such as "dram_bandwidth". */
FSIM_API double fsim_hardware_value(const fsim_hardware *hardware, const char *key);

/* Plans. */

typedef struct fsim_plans fsim_plans;

/* Values are those of the program's options of the same name; NULL stands for the default, in parentheses. */
typedef struct fsim_plan_options {
    size_t size;
    const char *strategy;  /* the strategy whose plan is the chosen one (optimal) */
    const char *objective; /* what optimal minimises: time, bytes, memory (time) */
    const char *launch;    /* how kernels start: stream, graph, eager (stream) */
    const char *l2;        /* contents of L2 at the start: cold, warm (cold) */
    const char *numerics;  /* strict: sums keep their order (fast) */
    const char *recompute; /* off: no kernel computes a value that another one computes too (on) */
    double time_limit_s; /* by the clock, for all plans of a call; 0: none, and search_steps ends the search. If it ends
                            first, the plan is the best found so far, and `gap` is its distance from the lower bound */
    int64_t memory_limit_bytes; /* most memory that a plan may need; 0: no limit */
    const volatile int
        *stop; /* set to non-zero by another thread or a signal handler, it ends the search early; NULL */
    int64_t search_memory_bytes; /* that the search may take; 0: 2 GiB, and at most a quarter of the machine */
    int64_t search_steps; /* that the search may take, counted in a way that is the same on every machine; 0: 3,000,000,
                             about a second, and at most 30 s, or any number where time_limit_s is given */
} fsim_plan_options;

/* Plans the workload on the hardware by every strategy. options NULL: the defaults. All objects must be of this
 * session; workload and hardware must outlive the plans. */
FSIM_API fsim_status fsim_plan_workload(fsim_session *session, const fsim_workload *workload,
                                        const fsim_hardware *hardware, const fsim_plan_options *options,
                                        fsim_plans **plans);
/* Frees the plans before their session is closed. NULL is allowed. */
FSIM_API void fsim_plans_free(fsim_plans *plans);

/* The plan of one strategy. */
typedef struct fsim_plan_summary {
    size_t size;
    const char *strategy;
    int kernels;
    double time_s;
    double time_low_s, time_high_s; /* in eight of ten cases the measured time is between these */
    int64_t dram_read_bytes, dram_write_bytes, peak_memory_bytes; /* INT64_MAX: as many or more */
    double objective;   /* what was minimised, for this plan, in seconds or bytes */
    double lower_bound; /* no legal plan has a lower objective; the same for all strategies */
    double gap;         /* (objective - lower_bound) / objective; 0 where proven */
    int proven;         /* 1: no legal plan is better */
    int interrupted;    /* 1: `stop` ended the search */
    int64_t weight_bytes, activation_bytes, workspace_bytes; /* of its memory at the peak: activations are inputs,
                                                                outputs and intermediates; INT64_MAX: as many or more */
    double speedup;                                          /* eager's seconds over this plan's */
    double speedup_low, speedup_high; /* in eight of ten cases the measured speedup is between these */
    int fits; /* 1: the GPU's memory holds the three together, or the hardware file does not say how much it has */
} fsim_plan_summary;

/* Number of strategies that have a plan. */
FSIM_API int fsim_plans_count(const fsim_plans *plans);
/* Index of the strategy that was asked for. */
FSIM_API int fsim_plans_chosen(const fsim_plans *plans);
/* Fills *summary, whose `size` is set. */
FSIM_API fsim_status fsim_plans_strategy(const fsim_plans *plans, int index, fsim_plan_summary *summary);

/* One kernel of a plan, in the order in which they are launched. */
typedef struct fsim_kernel_summary {
    size_t size;
    const char *name;          /* a C identifier, unique in the plan */
    const char *operators;     /* what it computes, in the workload's names: "h + g" */
    const char *template_name; /* pointwise, row, matmul, ... */
    const char *bound_by;      /* the unit with the largest share of its time */
    double time_s;
    int64_t dram_read_bytes, dram_write_bytes;
    int members; /* number of its primitives */
} fsim_kernel_summary;

/* Fills *summary, whose `size` is set, with kernel `kernel` of strategy `index`. */
FSIM_API fsim_status fsim_plans_kernel(fsim_plans *plans, int index, int kernel, fsim_kernel_summary *summary);
/* The name of a primitive of that kernel; NULL where an index is out of range. */
FSIM_API const char *fsim_plans_member(const fsim_plans *plans, int index, int kernel, int member);

/* Two primitives that exchange a tensor and are in different kernels of the chosen plan, and why these kernels, with
 * all that is in them, are not one. */
typedef struct fsim_refusal_summary {
    size_t size;
    const char *first, *second; /* names of primitives; second is NULL where the rule is broken by one alone */
    const char *rule;           /* the name of the rule, as in JSON */
    const char *text;           /* the rule and the numbers that broke it, in words */
    double saving_s; /* time that one kernel would save; an upper bound where it is illegal; negative where it would
                        cost time */
    int64_t saving_bytes;
} fsim_refusal_summary;

/* Number of refusals, sorted by saving, the largest first. */
FSIM_API int fsim_plans_refusal_count(const fsim_plans *plans);
/* Fills *summary, whose `size` is set. */
FSIM_API fsim_status fsim_plans_refusal(fsim_plans *plans, int index, fsim_refusal_summary *summary);

/* All results as JSON, as `fusesim --json` prints it (reports/schema). *text ends with a NUL, which *bytes does not
 * count; bytes may be NULL. */
FSIM_API fsim_status fsim_plans_json(fsim_plans *plans, const char **text, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
