/* SPDX-License-Identifier: Apache-2.0 */
/* command.h: the subcommands, and what they share. A command reads its inputs, opens the files it is to write, asks
 * predict.h, evidence/ or validate/, and delivers what it found in every format that was asked for (format.h). Files
 * are written first and stdout last, so that a run that fails leaves nothing. Functions that return an int return an
 * exit status: 0, or what the program ends with, its diagnostics printed. */
#ifndef FUSESIM_COMMAND_COMMAND_H
#define FUSESIM_COMMAND_COMMAND_H

#include "base/file.h"
#include "command/exit.h"
#include "command/format.h"
#include "evidence/evaluate.h"
#include "hw/load.h"
#include "input/args.h"
#include "predict.h"
#include "report/gate.h"
#include "report/report.h"
#include "validate/device/kinds.h"

#define FSIM_COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

/* What the options say; main.c's table says which field is which option's. */
typedef struct {
    fsim_words hw, hw_set, set, dump, roots, match, measurements, by, gates, fit, classes, strategies, archs;
    const char *format[FSIM_FILE_FORMATS]; /* --json FILE and so on; NULL: not given */
    const char *plan, *output, *above, *measured, *over;
    int strategy, objective, launch, l2, numerics, recompute, target, color,
        device; /* index into the option's choices; device: an fsim_device_kind */
    double time_limit_s, budget_s;
    int64_t limit, jobs, top, memory_limit, compile_jobs, folds, threads, samples, scale; /* 0: not given */
    bool no_check, no_measure, no_counters, compile_cost, no_exclude, unseen, fresh, registers, quiet, verbose, help,
        version;
} fsim_settings;

enum { FSIM_COLOR_AUTO, FSIM_COLOR_ALWAYS, FSIM_COLOR_NEVER };

/* What the program reads of the environment, in main.c; NULL where a variable is not set. The folder of the user's own
 * hardware files is in fsim_context.hw_folders; validate/ looks for compilers, libraries and caches itself. */
typedef struct {
    const char *gnuplot;           /* $FUSESIM_GNUPLOT */
    const char *source_date_epoch; /* seconds since 1970 that stand for today, so that a build can be repeated */
    const char *columns, *no_color, *term;
} fsim_environment;

typedef struct fsim_context {
    fsim_arena *arena;
    fsim_diag *diag;
    fsim_result_kind kind; /* of what the command finds; each sets it before it opens outputs */
    fsim_settings set;
    fsim_words args;                      /* the command line without options and command */
    fsim_hw_folders hw_folders;           /* where GPUs are found by name */
    const char *workload_folder;          /* shipped workloads */
    fsim_output *file[FSIM_FILE_FORMATS]; /* being written; NULL: not asked for, or stdout */
    fsim_environment environment;
    int width; /* of the terminal, in columns; 0: not known */
} fsim_context;

/* The commands, a file each. */
int fsim_run_plan(fsim_context *c);
int fsim_run_enumerate(fsim_context *c);      /* every legal partition of a small workload */
int fsim_run_codegen(fsim_context *c);        /* the kernels of a plan as CUDA or host code */
int fsim_run_explain(fsim_context *c);        /* may two primitives share a kernel, and what does it cost */
int fsim_run_regions(fsim_context *c);        /* which plan is best where, along one symbol */
int fsim_run_validate(fsim_context *c);       /* predictions against measurements */
int fsim_run_trials(fsim_context *c);         /* validate --device */
int fsim_run_registers(fsim_context *c);      /* validate --registers */
int fsim_run_import(fsim_context *c);         /* measurements of other tools as rows */
int fsim_run_calibrate(fsim_context *c);      /* a hardware file fitted to measurements */
int fsim_run_calibrate_host(fsim_context *c); /* --device cpu */
int fsim_run_calibrate_gpu(fsim_context *c);  /* --device cuda */
int fsim_run_hw(fsim_context *c);
int fsim_run_ops(fsim_context *c); /* the operators that workloads may have */

/* inputs.c: what the command line names, read. */

/* "2025-12-31": today, or the day that $SOURCE_DATE_EPOCH names. In c->arena. */
const char *fsim_today(const fsim_context *c);

typedef struct {
    fsim_graph *graph;
    fsim_hw **hw; /* one for each --hw */
    fsim_options how;
} fsim_inputs;

/* A whole file as text with a NUL behind it. what: "plan", for the message. NULL after an error. */
const char *fsim_read_text(fsim_context *c, const char *what, const char *path, size_t *bytes);
/* What --set says, c->set.set.count of them. */
fsim_binding *fsim_command_bindings(const fsim_context *c);
/* "B=8;dtype=f16", as in measurement files. */
const char *fsim_set_text(const fsim_context *c);
/* --strategies, each once, to at[FSIM_STRATEGY_COUNT]; eager, unfused, greedy, maximal and optimal where it is not
 * given. */
void fsim_read_strategies(fsim_context *c, fsim_strategy *at, int *count);
/* What the command line says of all GPUs, for hw/load.h. */
fsim_hw_wanted fsim_wanted_hw(const fsim_context *c);
/* One GPU, ready for predictions: hw/load.h. NULL after an error. */
fsim_hw *fsim_read_hw(fsim_context *c, const char *name);
/* The workload and all hardware, so that their errors come at once. What is in `in` is good when it returns 0. */
int fsim_read_inputs(fsim_context *c, fsim_inputs *in);
/* The same for a command that writes files: those are open too, and from here on Ctrl-C ends the search at its best so
 * far (*in->how.interrupted); a second one ends the program. */
int fsim_begin(fsim_context *c, fsim_inputs *in);
/* From here on Ctrl-C ends the search at its best so far. */
void fsim_catch_interrupt(void);

/* validate_rows.c: rows of --measurements and what they refer to. */

/* The GPUs of --hw, read; the others are read as rows name them. */
typedef struct {
    fsim_hw **at;
    int count;
} fsim_gpus;

/* The rows of all --measurements that --match and `only` leave. */
int fsim_read_measurements(fsim_context *c, const fsim_gpus *only, fsim_measurements *rows);
/* Their workloads and GPUs; then the outputs are opened. */
int fsim_read_bench(fsim_context *c, const fsim_gpus *only, const fsim_measurements *rows, fsim_bench **bench);

/* outputs.c: diagnostics, files and stdout. */

/* Where messages about the command line stand. */
extern const fsim_loc fsim_command_line;

/* Is path "-"? */
bool fsim_is_stdout(const char *path);
/* The file that f was given; NULL where it was not. */
const char *fsim_file_asked(const fsim_settings *s, fsim_format f);
/* What stdout gets. */
fsim_format fsim_on_stdout(const fsim_settings *s);

/* Prints what was collected. Returns status, or where that is 0 the exit status of the worst error. */
int fsim_conclude(fsim_context *c, int status);
/* The metrics of --gate: those of each command, then NULL. */
extern const fsim_gate_table *const fsim_gate_tables[];
/* All of --gate by a command's table, c->set.gates.count of them. Errors are in c->diag. */
fsim_gate *fsim_read_gates(fsim_context *c, const fsim_gate_table *table);
/* What stands in front of a gate of plan i where there are several GPUs: "t4: ", or "". In c->arena. */
const char *fsim_shown_gpu(const fsim_context *c, const fsim_shown_plans *p, int i);
/* A line in the diagnostics for each that failed. where: in front of it ("on t4: ", or ""). */
void fsim_say_failed_gates(fsim_context *c, const char *where, const fsim_gate *gate, int gates);
/* The same for the command line: where it is wrong, says where help is. */
int fsim_usage_status(fsim_context *c);

/* NULL where path is NULL or stdout, or after an error. option: the one that names it. */
fsim_output *fsim_open_file(fsim_context *c, const char *option, const char *path);
/* Before any work, so that a file that cannot be written, or a format that can't show c->kind, costs no waiting. */
int fsim_open_outputs(fsim_context *c);
/* Shows what is of c->kind on a stream. False: it could not, for another reason than the stream. */
bool fsim_show_on(const fsim_context *c, FILE *out, fsim_format f, const void *what);
/* Shows it in the files that are open. False after an error. */
bool fsim_show_in_files(fsim_context *c, const void *what);
/* Gives the open files their names. False after an error, which is in c->diag. */
bool fsim_commit_files(fsim_context *c);
/* Discards the files that are open. */
int fsim_give_up_outputs(fsim_context *c, int status);
/* Shows what the command found, which is of c->kind, in every format that was asked for: drawings, then files, all of
 * them whole, then stdout. */
int fsim_deliver(fsim_context *c, const void *what);
/* A hardware file's text into -o, where that is given, then the answer: on stderr where the file goes to stdout. */
int fsim_deliver_hw(fsim_context *c, const char *text, const void *what);
/* Does path lie in the folder of shipped hardware files? */
bool fsim_is_shipped_hw(const fsim_context *c, const char *path);
/* For a command that has nothing but an answer: opens the outputs, then delivers. */
int fsim_answer(fsim_context *c, const void *what);
/* Whatever is in stdout's buffer reaches it, or the exit status says so. */
int fsim_finish_stdout(fsim_context *c, int status);

/* Does text for people have colours, as --color, $NO_COLOR and $TERM say? */
bool fsim_use_color(const fsim_context *c);
/* For tables whose long cells matter to whoever reads them from a pipe: as wide as they are, but on a terminal. */
fsim_page fsim_table_page(FILE *out, const fsim_context *c);

#endif
