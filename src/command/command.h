/* SPDX-License-Identifier: Apache-2.0 */
/* command.h: the subcommands, and what they share. A command reads its inputs, opens the files that it will write,
 * calls predict.h, evidence/ or validate/, and delivers the results in every requested format (format.h). Files are
 * written first and stdout last, so that a run that fails leaves nothing. A function that returns an int returns an
 * exit status: 0, or the status to end with after its diagnostics were printed. */
#ifndef FUSESIM_COMMAND_COMMAND_H
#define FUSESIM_COMMAND_COMMAND_H

#include "base/file.h"
#include "base/jobs.h"
#include "command/exit.h"
#include "command/format.h"
#include "evidence/evaluate.h"
#include "hw/load.h"
#include "import/wanted.h"
#include "input/args.h"
#include "predict.h"
#include "report/gate.h"
#include "report/report.h"
#include "validate/device/backend.h"
#include "validate/device/kinds.h"

#define FSIM_COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

/* The values of the options; the table in main.c connects each option with a field. */
typedef struct {
    fsim_words hw, hw_set, dump, roots, match, measurements, by, gates, fit, classes, strategies, archs;
    fsim_words under, zip; /* of sweep: the limits of --find; axes that vary together */
    fsim_words load, goals, weights, caches, prices, systems_named; /* of capacity */
    const char *tokens, *deadline;                                  /* of capacity --train */
    int64_t length, batch;                                          /* of capacity --train; 0: not said */
    int engine;                                                     /* index into fsim_engine_words */
    int64_t node, gpus, stages;                                     /* of capacity; 0: not said */
    fsim_words over;                                                /* of sweep, each an axis; of regions, one */
    fsim_words set;                                                 /* --set, then --dim, which means the same */
    fsim_words dim;                                                 /* of these, as typed */
    const char *format[FSIM_FILE_FORMATS];                          /* --json FILE and so on; NULL: not used */
    fsim_words chart_kinds;
    const char *chart_size; /* "1200x800" */
    int theme;
    const char *plan, *output, *like, *above, *measured, *systems, *find, *shard, *host;
    int strategy, objective, launch, l2, numerics, recompute, target, color, precision, annotate,
        device; /* index into the option's choices; precision: -1 for none; device: an fsim_device_kind */
    double time_limit_s, budget_s;
    int64_t limit, jobs, top, memory_limit, search_memory, search_steps, compile_jobs, folds, threads, samples,
        scale;       /* 0: not used */
    fsim_words grad; /* tensors whose gradients are wanted; none: all */
    int seed;        /* FSIM_SEED_ONES: the gradient of an output is 1 */
    bool train, jvp, checkpoint;
    int autocast;                               /* as in fsim_derive */
    int update;                                 /* an fsim_update */
    int64_t micro_batches;                      /* 0: not used */
    int64_t data_parallel, zero;                /* GPUs and what they share out; 0: not used */
    double clip;                                /* 0: not used */
    const char *activation_budget, *save_dtype; /* NULL: not used */
    bool fused;                                 /* of capacity */
    bool resume, check, summary, no_check, no_measure, no_counters, compile_cost, no_exclude, unseen, fresh, refit,
        registers, quiet, verbose, help, version;
} fsim_settings;

/* The words of --precision. */
enum { FSIM_PRECISIONS = 5 };
extern const char *const fsim_precision_words[FSIM_PRECISIONS];

/* The words of --seed. */
enum { FSIM_SEED_INPUTS, FSIM_SEED_ONES };

/* The serving programs of --engine, as sources of rows name them. */
enum { FSIM_ENGINES = 2 };
extern const char *const fsim_engine_words[FSIM_ENGINES];

enum { FSIM_COLOR_AUTO, FSIM_COLOR_ALWAYS, FSIM_COLOR_NEVER };

/* The environment variables that the program reads, in main.c; NULL where one is not set. The folder of the user's
 * hardware files is in fsim_context.hw_folders; validate/ looks for compilers, libraries and caches itself. */
typedef struct {
    const char *gnuplot;           /* $FUSESIM_GNUPLOT */
    const char *source_date_epoch; /* seconds since 1970 to use instead of the current time, for reproducible output */
    const char *columns, *no_color, *term;
} fsim_environment;

struct fsim_commands;
typedef struct fsim_context {
    fsim_arena *arena;
    fsim_diag *diag;
    const struct fsim_commands *commands; /* help.h */
    const char *command;                  /* the command that was named; NULL: none, it is plan */
    fsim_result_kind kind;                /* the kind of result; each command sets it before it opens outputs */
    fsim_settings set;
    fsim_words args;                      /* the command line without options and command */
    fsim_hw_folders hw_folders;           /* folders of hardware files */
    const char *workload_folder;          /* shipped workloads */
    const char *system_folder;            /* shipped systems */
    fsim_output *file[FSIM_FILE_FORMATS]; /* open files; NULL: format not requested, or on stdout */
    fsim_chart_style chart;               /* of --chart and --chart-data */
    fsim_output *own;                     /* an open file that only this command writes: -o, --measured; or NULL */
    fsim_environment environment;
    double began_s;   /* when the program began, by fsim_clock_s */
    int width;        /* of reports, in columns; 0: no limit, as in a pipe */
    int stdout_errno; /* why the results could not be written to stdout; 0: they could, or it is not known */
} fsim_context;

/* The commands, a file each. */
int fsim_run_plan(fsim_context *c);
int fsim_run_enumerate(fsim_context *c);        /* every legal partition of a small workload */
int fsim_run_codegen(fsim_context *c);          /* the kernels of a plan as CUDA or host code */
int fsim_run_explain(fsim_context *c);          /* can two primitives share a kernel, and at what cost */
int fsim_run_regions(fsim_context *c);          /* which plan is best for which values of one symbol */
int fsim_run_sweep(fsim_context *c);            /* the plans for many values */
int fsim_run_merge(fsim_context *c);            /* the shards of a sweep as one */
int fsim_run_diff(fsim_context *c);             /* two results of --json: what changed */
int fsim_run_validate(fsim_context *c);         /* predictions against measurements */
int fsim_run_trials(fsim_context *c);           /* validate --device */
int fsim_run_registers(fsim_context *c);        /* validate --registers */
int fsim_run_systems(fsim_context *c);          /* validate --systems */
int fsim_run_import(fsim_context *c);           /* measurements of other tools as rows */
int fsim_run_import_model(fsim_context *c);     /* import MODEL */
int fsim_run_calibrate(fsim_context *c);        /* a hardware file fitted to measurements */
int fsim_run_calibrate_device(fsim_context *c); /* calibrate --device */
int fsim_run_hw(fsim_context *c);
int fsim_run_hw_systems(fsim_context *c); /* of 'hw systems' */
int fsim_run_manual(fsim_context *c);     /* manual pages */
int fsim_run_completion(fsim_context *c); /* what shells complete */
int fsim_run_capacity(fsim_context *c);   /* GPUs that serve a load */
int fsim_run_models(fsim_context *c);     /* transformers by name or config.json */
int fsim_run_ops(fsim_context *c);        /* the operators that workloads may have */
int fsim_run_workloads(fsim_context *c);  /* the shipped workloads */

/* format_chart.c: reads --chart-kind, --chart-size and --theme into c->chart; errors are in c->diag. */
void fsim_read_chart_style(fsim_context *c);

/* inputs.c: reads what the command line names. */

/* "2025-12-31": the current day, or that of $SOURCE_DATE_EPOCH. In c->arena. */
const char *fsim_today(const fsim_context *c);

typedef struct {
    fsim_graph *graph;
    fsim_hw **hw; /* one for each --hw */
    fsim_options how;
} fsim_inputs;

/* A whole file as text, followed by a NUL. what: "plan", for the message. NULL after an error. */
const char *fsim_read_text(fsim_context *c, const char *what, const char *path, size_t *bytes);
/* Checks --set, --dim and --precision, and adds what --dim says to what --set does. */
void fsim_check_bindings(fsim_context *c);
/* The values of --set and --dim, c->set.set.count of them. */
fsim_binding *fsim_command_bindings(const fsim_context *c);
/* How the command line wants its workload to be read. */
fsim_workload_wanted fsim_wanted_workload(const fsim_context *c);
/* "B=8;dtype=f16", as in measurement files. */
const char *fsim_set_text(const fsim_context *c);
/* The strategies of --strategies, each once, in at[FSIM_STRATEGY_COUNT]. Without the option: eager, unfused, greedy,
 * maximal and optimal. */
void fsim_read_strategies(fsim_context *c, fsim_strategy *at, int *count);
/* The options that apply to all GPUs, for hw/load.h. */
fsim_hw_wanted fsim_wanted_hw(const fsim_context *c);
/* Loads a GPU by hw/load.h. NULL after an error. */
fsim_hw *fsim_read_hw(fsim_context *c, const char *name);
/* Loads the workload and all GPUs; errors of all are reported together. `in` is complete where the result is 0. */
int fsim_read_inputs(fsim_context *c, fsim_inputs *in);
/* The same for a command that writes files: also opens them, and calls fsim_catch_interrupt. */
int fsim_begin(fsim_context *c, fsim_inputs *in);
/* smaller.c: where p's plan does not fit the GPU, the largest batch, halved and halved again, with which it does.
 * p->smaller stays empty where there is none, or where the workload can't be read again. */
void fsim_find_smaller(const fsim_context *c, fsim_prediction *p);
/* plan.c: searches at once: each may take its own memory, and all of them together at most half of the machine's. */
int fsim_searches_at_once(const fsim_context *c);
/* From now on Ctrl-C ends the search with its best plan so far (*in->how.interrupted), and a second Ctrl-C ends the
 * program. */
void fsim_catch_interrupt(void);
/* progress.c: the line that tells how far a search is, on a terminal. NULL where stderr is none. In a. */
struct fsim_progress *fsim_new_progress(const fsim_context *c, fsim_arena *a);
/* The same for many tasks: how many are done, at which rate, and how long the others take. of: with the `done` ones.
 * What is NULL counts nothing. In c->arena. */
typedef struct fsim_tasks fsim_tasks;
/* of: with the `done` ones. NULL, where stderr is no terminal, counts nothing. In c->arena. */
fsim_tasks *fsim_new_tasks(const fsim_context *c, const char *what, int64_t done, int64_t of);
/* A task is done, in any thread. */
void fsim_task_done(fsim_tasks *n);
/* Takes the line away. */
void fsim_tasks_end(fsim_tasks *n);
/* The exit status of a command whose results are complete but for Ctrl-C. */
int fsim_interrupted_status(void);

/* validate_rows.c: the rows of --measurements and what they refer to. */

/* The GPUs of --hw, loaded; others are loaded when a row names them. */
typedef struct {
    fsim_hw **at;
    int count;
    bool and_others; /* rows of other GPUs are kept beside theirs */
} fsim_gpus;

/* Reads the rows of all --measurements that pass --match and `only`. */
int fsim_read_measurements(fsim_context *c, const fsim_gpus *only, fsim_measurements *rows);
/* Loads the workloads and GPUs of the rows, then opens the outputs. */
int fsim_read_bench(fsim_context *c, const fsim_gpus *only, const fsim_measurements *rows, fsim_bench **bench);

/* validate_device.c: goes on in a child process where the device wants one. False with *status set: this is the parent,
 * and the child has ended. */
bool fsim_goes_on(fsim_context *c, const fsim_backend *b, int *status);
/* validate_device.c: closes the device of a command and returns status. A lost one is left alone: the driver's clean-up
 * at the program's end would wait for what hangs, so the program ends here. d may be NULL. */
int fsim_finish_device(fsim_context *c, fsim_device *d, int status);

/* outputs.c: diagnostics, files and stdout. */

/* The place of messages about the command line. */
extern const fsim_loc fsim_command_line;

/* Is path "-"? */
bool fsim_is_stdout(const char *path);
/* The file name given for format f; NULL: none. */
const char *fsim_file_asked(const fsim_settings *s, fsim_format f);
/* The format that goes to stdout. */
fsim_format fsim_on_stdout(const fsim_settings *s);

/* Prints the diagnostics. Returns status, or where that is 0 the exit status of the worst error. */
int fsim_conclude(fsim_context *c, int status);
/* The metrics of --gate, by command; ends with NULL. */
extern const fsim_gate_table *const fsim_gate_tables[];
/* Reads all of --gate by a command's table, c->set.gates.count of them. Errors are in c->diag. */
fsim_gate *fsim_read_gates(fsim_context *c, const fsim_gate_table *table);
/* Prefix of a gate of plan i where there are several GPUs: "t4: ", or "". In c->arena. */
const char *fsim_shown_gpu(const fsim_context *c, const fsim_shown_plans *p, int i);
/* Adds a diagnostic for each gate that failed. where: its prefix ("on t4: ", or ""). */
void fsim_say_failed_gates(fsim_context *c, const char *where, const fsim_gate *gate, int gates);
/* fsim_conclude for errors of the command line: also says how to get help. */
int fsim_usage_status(fsim_context *c);

/* Opens the outputs before any work, so that a file that can't be written, or a format that can't show c->kind, is
 * reported at once. */
int fsim_open_outputs(fsim_context *c);
/* The same, with the command's own file: c->own. option: the one that names it; path: NULL where it is not given. */
int fsim_open_outputs_and(fsim_context *c, const char *option, const char *path);
/* Gives c->own, if there is one, its name. False after an error, which is in c->diag. */
bool fsim_commit_own(fsim_context *c, const char *path);
/* annotate.c: with --annotate, the diagnostics so far as commands for CI on stderr. */
void fsim_annotate_messages(const fsim_context *c);
/* The same of the result of c->kind in a line, where there is a line. */
void fsim_annotate_result(const fsim_context *c, const void *what);
/* format_quiet.c: is there a line that says a result of c->kind? */
bool fsim_has_line(const fsim_context *c);
/* Writes a result of c->kind as text for --quiet, a line where there is one. False where that failed
 * for another reason than the stream. */
bool fsim_show_quietly(FILE *out, const fsim_context *c, const void *what);
/* Writes a result of c->kind to a stream. False where that failed for another reason than the stream. */
bool fsim_show_on(const fsim_context *c, FILE *out, fsim_format f, const void *what);
/* Writes the result to the open files. False after an error. */
bool fsim_show_in_files(fsim_context *c, const void *what);
/* Renames the open files to their final names. False after an error in c->diag. */
bool fsim_commit_files(fsim_context *c);
/* Deletes the open files. Returns status. */
int fsim_give_up_outputs(fsim_context *c, int status);
/* Delivers the result, of c->kind, in every requested format: drawings, then files, all of them complete, then
 * stdout. */
int fsim_deliver(fsim_context *c, const void *what);
/* Writes a hardware file to -o, if that was used, then the result: to stderr where the file goes to stdout. */
int fsim_deliver_hw(fsim_context *c, const char *text, const void *what);
/* Is path in the folder of shipped hardware files? */
bool fsim_is_shipped_hw(const fsim_context *c, const char *path);
/* For commands that only have a result: opens the outputs, then delivers. */
int fsim_answer(fsim_context *c, const void *what);
/* Flushes stdout. Returns status, or an error's where that fails. */
int fsim_finish_stdout(fsim_context *c, int status);

/* Do text reports have colours, according to --color, $NO_COLOR and $TERM? */
bool fsim_use_color(const fsim_context *c);
/* A page for tables with long cells: as wide as the terminal, or as wide as needed where the output is no terminal. */
fsim_page fsim_table_page(FILE *out, const fsim_context *c);

#endif
