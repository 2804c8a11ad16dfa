/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the options and the table of subcommands; no modelling. A command reads its inputs, opens the files it is to write, asks
 * predict.h, and hands the answer to report.h. Files are written first and stdout last, so that a run that fails leaves nothing. */
#include "base/file.h"
#include "graph/find.h"
#include "hw/kin.h"
#include "input/args.h"
#include "measure/evaluate.h"
#include "measure/import.h"
#include "predict.h"
#include "report/accuracy.h"
#include "report/calibration.h"
#include "report/import.h"
#include "report/report.h"
#include "report/terminal.h"
#include "search/given.h"
#include "search/price.h"

#include <errno.h>
#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

static const char hw_folder[] = FUSESIM_DATA_DIR "/hwmodels";
static const char workload_folder[] = FUSESIM_DATA_DIR "/workloads";

/* Set by Ctrl-C; the searches end at their best so far. */
static volatile sig_atomic_t interrupted;

/* What the options say. */

typedef struct {
    fsim_words hw, hw_set, set, dump, roots, match, measurements, by, gates, fit, classes;
    const char *json, *markdown, *trace, *dot, *junit, *chart, *plan, *output, *above;
    int strategy, objective, launch, l2, numerics, recompute, color; /* index into the option's choices */
    double time_limit_s;
    int64_t limit, jobs, top, memory_limit, compile_jobs, folds; /* 0: not given */
    bool compile_cost, no_exclude, unseen, fresh, quiet, verbose, help, version;
} settings;

typedef enum { JSON, MARKDOWN, TRACE, DOT, JUNIT, FILES, TEXT = FILES } form;

typedef struct context {
    fsim_arena *arena;
    fsim_diag *diag;
    settings set;
    const struct command *command;
    fsim_words args;              /* the command line without options and command */
    fsim_output *file[FILES];     /* being written; NULL: not asked for, or stdout */
    int width;                    /* of the terminal; 0: not known */
} context;

typedef struct command {
    const char *name, *args, *help;
    unsigned bit;
    bool needs_inputs; /* a workload and hardware */
    int most_words;    /* behind the command */
    int most_gpus;
    int (*run)(context *c);
} command;

enum { PLAN = 1, ENUMERATE = 2, EXPLAIN = 4, HW = 8, OPS = 16, VALIDATE = 32, CALIBRATE = 64, IMPORT = 128, ANY = 255 };

enum { COMMANDS = 8 };
static const command commands[COMMANDS]; /* at the end, behind what they run */

static const fsim_loc command_line = {NULL, 0, 0};
enum { NOT_GIVEN = -1 };

static const char *const l2_names[] = {"cold", "warm"};
static const char *const numerics_names[] = {"fast", "strict"};
static const char *const recompute_names[] = {"on", "off"};
static const char *const color_names[] = {"auto", "always", "never"};
enum { COLOR_AUTO, COLOR_ALWAYS };

static const fsim_choices strategies = {fsim_strategy_names, FSIM_STRATEGY_COUNT, NULL};
static const fsim_choices objectives = {fsim_objective_names, FSIM_OBJECTIVES, NULL};
static const fsim_choices launches = {fsim_regime_names, FSIM_REGIME_COUNT, NULL};
static const fsim_choices l2_states = {l2_names, COUNT_OF(l2_names), NULL};
static const fsim_choices numerics = {numerics_names, COUNT_OF(numerics_names), NULL};
static const fsim_choices recomputation = {recompute_names, COUNT_OF(recompute_names), NULL};
static const fsim_choices colors = {color_names, COUNT_OF(color_names), NULL};

#define AT(field) offsetof(settings, field)
static const fsim_arg options[] = {
    {"--hw", "HW[,HW...]", FSIM_ARG_ITEMS, AT(hw), NULL, ANY, "GPUs: names of 'fusesim hw list', or files"},
    {"--set", "NAME=VALUE", FSIM_ARG_ITEM, AT(set), NULL, ANY, "a symbol of the workload; dtype is one"},
    {"--hw-set", "KEY=VALUE", FSIM_ARG_ITEM, AT(hw_set), NULL, ANY, "what if: dram_bandwidth=2x, sms=64"},
    {"--strategy", NULL, FSIM_ARG_CHOICE, AT(strategy), &strategies, ANY, "the plan to show (optimal; import: eager)"},
    {"--plan", "FILE", FSIM_ARG_TEXT, AT(plan), NULL, PLAN, "show this partition: JSON of a plan"},
    {"--objective", NULL, FSIM_ARG_CHOICE, AT(objective), &objectives, ANY, "what optimal minimises (time)"},
    {"--memory-limit", "SIZE", FSIM_ARG_SIZE, AT(memory_limit), NULL, PLAN | EXPLAIN, "that a plan may need at its peak: 3 GiB"},
    {"--top", "K", FSIM_ARG_COUNT, AT(top), NULL, PLAN | VALIDATE, "list the K best plans, or worst rows"},
    {"--compile-cost", "", FSIM_ARG_FLAG, AT(compile_cost), NULL, PLAN, "seconds to compile, runs to break even"},
    {"--compile-jobs", "N", FSIM_ARG_COUNT, AT(compile_jobs), NULL, PLAN, "of --compile-cost: processes at once (1)"},
    {"--launch", NULL, FSIM_ARG_CHOICE, AT(launch), &launches, ANY, "how kernels start (stream)"},
    {"--l2", NULL, FSIM_ARG_CHOICE, AT(l2), &l2_states, ANY, "what L2 holds at the start (cold)"},
    {"--numerics", NULL, FSIM_ARG_CHOICE, AT(numerics), &numerics, ANY, "strict: sums keep their order (fast)"},
    {"--recompute", NULL, FSIM_ARG_CHOICE, AT(recompute), &recomputation, ANY, "may kernels compute a value twice (on)"},
    {"--time-limit", "SECONDS", FSIM_ARG_SECONDS, AT(time_limit_s), NULL, ANY, "for the search (1)"},
    {"--limit", "N", FSIM_ARG_COUNT, AT(limit), NULL, ENUMERATE, "of enumerate: stop after N partitions"},
    {"--measurements", "FILE", FSIM_ARG_ITEM, AT(measurements), NULL, VALIDATE | CALIBRATE | IMPORT, "measured runs; import: ncu --csv, PyTorch"},
    {"--workload-root", "DIR", FSIM_ARG_ITEM, AT(roots), NULL, VALIDATE | CALIBRATE, "a folder of the rows' workloads"},
    {"--match", "TEXT", FSIM_ARG_ITEM, AT(match), NULL, VALIDATE | CALIBRATE, "only rows whose id holds TEXT"},
    {"--class", "NAME[,...]", FSIM_ARG_ITEMS, AT(classes), NULL, VALIDATE, "only rows of these kinds of work: softmax"},
    {"--above", "TIME", FSIM_ARG_TEXT, AT(above), NULL, VALIDATE, "only rows measured to take longer: 100us"},
    {"--by", "KEY[,...]", FSIM_ARG_ITEMS, AT(by), NULL, VALIDATE, "group by hw, class, strategy, folder, ..."},
    {"--gate", "[GROUP:]METRIC=LIMIT", FSIM_ARG_ITEM, AT(gates), NULL, VALIDATE, "exit 1 beyond: mape=10%, t4/loss:p90=8%"},
    {"--no-exclude", "", FSIM_ARG_FLAG, AT(no_exclude), NULL, VALIDATE, "keep rows that say nothing of kernels"},
    {"--unseen", "", FSIM_ARG_FLAG, AT(unseen), NULL, VALIDATE, "as if nothing were measured on the GPUs"},
    {"--fit", "GROUP[,...]", FSIM_ARG_ITEMS, AT(fit), NULL, CALIBRATE, "scalars to fit (all that have rows)"},
    {"--fresh", "", FSIM_ARG_FLAG, AT(fresh), NULL, CALIBRATE, "start from similar GPUs, not from the file"},
    {"--folds", "K", FSIM_ARG_COUNT, AT(folds), NULL, CALIBRATE, "parts of the cross-validation (5)"},
    {"-o", "FILE", FSIM_ARG_TEXT, AT(output), NULL, CALIBRATE | IMPORT, "the file to write"},
    {"--jobs", "N", FSIM_ARG_COUNT, AT(jobs), NULL, ANY, "threads; results do not depend on it"},
    {"--dump", "STAGE[,...]", FSIM_ARG_ITEMS, AT(dump), NULL, PLAN, "graph, legal, parts, kernels, traffic, time"},
    {"--json", "FILE", FSIM_ARG_TEXT, AT(json), NULL, ANY, "results for programs; - is stdout"},
    {"--markdown", "FILE", FSIM_ARG_TEXT, AT(markdown), NULL, PLAN | VALIDATE, "tables for a CI summary; - is stdout"},
    {"--trace", "FILE", FSIM_ARG_TEXT, AT(trace), NULL, PLAN, "timeline for Perfetto; - is stdout"},
    {"--dot", "FILE", FSIM_ARG_TEXT, AT(dot), NULL, PLAN, "graph for Graphviz; - is stdout"},
    {"--junit", "FILE", FSIM_ARG_TEXT, AT(junit), NULL, VALIDATE, "gates and groups as test cases; - is stdout"},
    {"--chart", "FILE", FSIM_ARG_TEXT, AT(chart), NULL, PLAN | VALIDATE, "speedups, errors, ...: .svg, .png or .pdf"},
    {"--quiet", "", FSIM_ARG_FLAG, AT(quiet), NULL, ANY, "no warnings"},
    {"--verbose", "", FSIM_ARG_FLAG, AT(verbose), NULL, ANY, "everything that is known"},
    {"--color", NULL, FSIM_ARG_CHOICE, AT(color), &colors, ANY, "NO_COLOR is honoured"},
    {"--help", "", FSIM_ARG_FLAG, AT(help), NULL, ANY, "this text"},
    {"--version", "", FSIM_ARG_FLAG, AT(version), NULL, ANY, "the version"},
};

/* Known to the manual, but of other releases. */
static const char *const later_options[] = {
    "--device", "--dim", "--fail-on",   "--jvp",
    "--output", "--precision", "--report", "--target", "--train"};
static const char *const later_commands[] = {"sweep", "diff", "codegen"};

static const fsim_args known = {options, COUNT_OF(options), later_options, COUNT_OF(later_options)};

/* The command line. */

static const command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

/* The first word that is no option is the command, where it is one. */
static void read_command_line(context *c, int argc, char **argv)
{
    c->args = fsim_args_read(&known, c->arena, c->diag, argc, argv, &c->set);
    const char *first = c->args.count ? c->args.at[0] : "";
    c->command = find_command(first);
    if (c->command) {
        c->args.at++;
        c->args.count--;
    } else {
        c->command = find_command("plan");
        if (fsim_among(first, later_commands, COUNT_OF(later_commands)))
            fsim_error(c->diag, command_line, "command '%s' is not in this release", first);
    }
}

static bool is_stdout(const char *path) { return path && strcmp(path, "-") == 0; }

/* What is written besides the text report, or in its place where the name is -. */
static const struct {
    const char *option;
    size_t offset;
} files[FILES] = {[JSON] = {"--json", AT(json)}, [MARKDOWN] = {"--markdown", AT(markdown)}, [TRACE] = {"--trace", AT(trace)}, [DOT] = {"--dot", AT(dot)}, [JUNIT] = {"--junit", AT(junit)}};

static const char *file_name(const settings *s, int i) { return *(const char *const *)(const void *)((const char *)s + files[i].offset); }

/* The form that stdout gets. */
static form on_stdout(const settings *s)
{
    int i = 0;
    while (i < FILES && !is_stdout(file_name(s, i)))
        i++;
    return (form)i;
}

static void check_outputs(context *c)
{
    static const char *const stems[] = {".svg", ".png", ".pdf"};
    const settings *s = &c->set;
    for (int i = 0; i < FILES; i++)
        for (int k = i + 1; k < FILES; k++) {
            const char *one = file_name(s, i), *other = file_name(s, k);
            if (one && other && strcmp(one, other) == 0)
                fsim_error(c->diag, command_line, "%s and %s both write to %s", files[i].option, files[k].option, is_stdout(one) ? "stdout" : one);
        }
    if (s->dump.count && on_stdout(s) != TEXT)
        fsim_error(c->diag, command_line, "--dump and %s - both write to stdout", files[on_stdout(s)].option);
    if (s->dot && s->hw.count > 1)
        fsim_error(c->diag, command_line, "--dot draws the plan of one GPU, --hw names %d", s->hw.count);
    const char *dot = s->chart ? strrchr(s->chart, '.') : NULL;
    if (s->chart && !(dot && fsim_among(dot, stems, COUNT_OF(stems))))
        fsim_error(c->diag, command_line, "--chart: '%s' wants a name that ends in .svg, .png or .pdf", s->chart);
    int stages = 0;
    while (fsim_dump_stages[stages])
        stages++;
    for (int i = 0; i < s->dump.count; i++)
        if (!fsim_among(s->dump.at[i], fsim_dump_stages, stages))
            fsim_error(c->diag, command_line, "--dump: unknown stage '%s'%s", s->dump.at[i],
                       fsim_did_you_mean(c->arena, s->dump.at[i], fsim_dump_stages, stages));
}

/* Which plan is shown, and which are listed. */
static void check_plan_options(context *c)
{
    enum { MOST_TOP = 1000, MOST_COMPILE_JOBS = 1024 };
    const settings *s = &c->set;
    if (s->plan && s->strategy != FSIM_STRATEGY_OPTIMAL)
        fsim_error(c->diag, command_line, "--plan and --strategy %s both say which plan to show", fsim_strategy_names[s->strategy]);
    if (is_stdout(s->plan) && c->args.count && is_stdout(c->args.at[0]))
        fsim_error(c->diag, command_line, "the workload and --plan can't both be standard input");
    if (s->top > MOST_TOP)
        fsim_error(c->diag, command_line, "--top: at most %d plans are listed", MOST_TOP);
    if (s->compile_jobs > 0 && !s->compile_cost)
        fsim_error(c->diag, command_line, "--compile-jobs belongs to --compile-cost");
    if (s->compile_jobs > MOST_COMPILE_JOBS)
        fsim_error(c->diag, command_line, "--compile-jobs: at most %d processes compile at once", MOST_COMPILE_JOBS);
}

/* What can be said without looking at any file. */
static void check_command_line(context *c)
{
    for (int i = 0; i < COUNT_OF(options); i++)
        if (!(options[i].commands & c->command->bit) && fsim_arg_given(&options[i], &c->set))
            fsim_error(c->diag, command_line, "%s means nothing to '%s'", options[i].name, c->command->name);
    for (int i = 0; i < c->set.set.count; i++) {
        const char *text = c->set.set.at[i], *equals = strchr(text, '=');
        if (!equals || equals == text || !equals[1])
            fsim_error(c->diag, command_line, "--set '%s': wanted NAME=VALUE, e.g. --set B=64", text);
    }
    check_outputs(c);
    check_plan_options(c);
    if (!c->command->needs_inputs)
        return;
    if (c->args.count == 0)
        fsim_error(c->diag, command_line, "no workload: name a file, a shipped workload, or - for stdin");
    if (c->set.hw.count == 0)
        fsim_error(c->diag, command_line, "no GPU: say --hw NAME ('fusesim hw list' shows them)");
}

/* Words and GPUs that the command does not take; the first word may be a misspelt command. */
static void check_surplus(context *c)
{
    const command *to = c->command;
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    const bool surplus = c->args.count > to->most_words;
    const char *meant = surplus && to->bit == PLAN ? fsim_nearest(c->args.at[0], names, COMMANDS) : NULL;
    if (meant)
        fsim_error(c->diag, command_line, "unknown command '%s'; did you mean '%s'?", c->args.at[0], meant);
    else if (surplus)
        fsim_error(c->diag, command_line, "'%s' does not know what to do with '%s'", to->name, c->args.at[to->most_words]);
    if (to->bit == EXPLAIN && c->args.count < to->most_words)
        fsim_error(c->diag, command_line, "explain wants a workload and the names of two operators");
    if (c->set.hw.count > to->most_gpus)
        fsim_error(c->diag, command_line, "%s takes one GPU, --hw names %d", to->name, c->set.hw.count);
}

/* Prints what was collected. Returns status, or `otherwise` when that is 0 and there were errors. */
static int settle(context *c, int status, int otherwise)
{
    const bool errors = fsim_errors(c->diag) > 0;
    fsim_diag_print(c->diag, stderr, c->set.quiet);
    return status ? status : errors ? otherwise : FSIM_EXIT_OK;
}

static int usage_status(context *c)
{
    const int status = settle(c, FSIM_EXIT_OK, FSIM_EXIT_USAGE);
    if (status)
        fputs("'fusesim --help' shows how it is used\n", stderr);
    return status;
}

/* Inputs. */

typedef struct {
    fsim_graph *graph;
    fsim_hw **hw; /* one for each --hw */
    fsim_options how;
} inputs;

/* NULL after an error, with *status set. */
static fsim_graph *read_workload(context *c, int *status)
{
    const char *name = c->args.at[0], *path = fsim_workload_find(c->arena, name, workload_folder), *dot = strrchr(name, '.'), *why = "";
    if (dot && strcmp(dot, ".onnx") == 0) {
        fsim_error(c->diag, command_line, "'%s': ONNX models are not in this release; wanted a workload in YAML", name);
        *status = FSIM_EXIT_USAGE;
        return NULL;
    }
    size_t bytes = 0;
    const char *text = fsim_read_file(c->arena, path, &bytes, &why);
    if (!text) {
        fsim_error(c->diag, command_line, "cannot read workload '%s': %s%s", name, why,
                   fsim_workload_nearest(c->arena, name, workload_folder));
        *status = FSIM_EXIT_NO_INPUT;
        return NULL;
    }
    fsim_binding *set = fsim_new(c->arena, fsim_binding, c->set.set.count + 1);
    for (int i = 0; i < c->set.set.count; i++) {
        const char *equals = strchr(c->set.set.at[i], '=');
        set[i] = (fsim_binding){fsim_strndup(c->arena, c->set.set.at[i], (size_t)(equals - c->set.set.at[i])), equals + 1};
    }
    fsim_diag_source(c->diag, path, text, bytes);
    fsim_graph *g = fsim_graph_parse(c->arena, c->diag, path, text, bytes, set, c->set.set.count);
    if (!g)
        *status = *status ? *status : FSIM_EXIT_BAD_INPUT;
    return g;
}

/* One hardware file with --hw-set applied. NULL after an error, with *status set: a missing input outweighs a bad one. */
static fsim_hw *read_hw(context *c, const char *name, int *status)
{
    const char *path = fsim_hw_find(c->arena, c->diag, name, hw_folder), *why = "", *text = NULL;
    size_t bytes = 0;
    if (path && !(text = fsim_read_file(c->arena, path, &bytes, &why)))
        fsim_error(c->diag, command_line, "cannot read hardware file '%s': %s", path, why);
    if (!text) {
        *status = FSIM_EXIT_NO_INPUT;
        return NULL;
    }
    fsim_hw *hw = fsim_hw_parse(c->arena, c->diag, path, text, bytes);
    if (!hw) {
        *status = *status ? *status : FSIM_EXIT_BAD_INPUT;
        return NULL;
    }
    for (int i = 0; i < c->set.hw_set.count; i++)
        if (!fsim_hw_set(c->arena, c->diag, hw, c->set.hw_set.at[i])) {
            *status = *status ? *status : FSIM_EXIT_USAGE;
            return NULL;
        }
    return hw;
}

/* The plan that the user gives, as a partition of in's graph that is one on every GPU. False after an error, with *status set. */
static bool read_plan(context *c, inputs *in, int *status)
{
    const char *why = "", *name = c->set.plan;
    size_t bytes = 0;
    fsim_given *given = fsim_new(c->arena, fsim_given, 1);
    const char *text = fsim_read_file(c->arena, name, &bytes, &why);
    if (!text) {
        fsim_error(c->diag, command_line, "cannot read plan '%s': %s", name, why);
        *status = FSIM_EXIT_NO_INPUT;
        return false;
    }
    fsim_diag_source(c->diag, name, text, bytes);
    bool good = fsim_given_read(in->graph, c->arena, c->diag, name, text, bytes, given);
    for (int i = 0; i < c->set.hw.count && good; i++) {
        const fsim_problem p = fsim_problem_of(in->graph, in->hw[i], &in->how, c->arena);
        fsim_plan plan;
        good = fsim_given_price(&p, given, c->diag, c->arena, &plan);
    }
    in->how.given = &given->partition;
    in->how.given_maker = given->maker;
    *status = good ? FSIM_EXIT_OK : FSIM_EXIT_BAD_INPUT;
    return good;
}

static fsim_options model_options(const context *c)
{
    const settings *s = &c->set;
    const bool pareto = s->objective == FSIM_OBJECTIVES - 1; /* the fastest plan, and the front */
    return (fsim_options){.strategy = (fsim_strategy)s->strategy,
                          .regime = (fsim_regime)s->launch,
                          .objective = pareto ? FSIM_MINIMISE_TIME : (fsim_objective)s->objective,
                          .pareto = pareto,
                          .memory_limit = s->memory_limit,
                          .top = (int)s->top,
                          .compile_jobs = !s->compile_cost ? 0 : s->compile_jobs > 0 ? (int)s->compile_jobs : 1,
                          .warm = s->l2 == 1,
                          .strict = s->numerics == 1,
                          .no_recompute = s->recompute == 1,
                          .time_limit_s = s->time_limit_s,
                          .interrupted = &interrupted};
}

/* The workload and all hardware, so that their errors come at once. What is in `in` is good when it returns 0. */
static int read_inputs(context *c, inputs *in)
{
    int status = FSIM_EXIT_OK;
    *in = (inputs){read_workload(c, &status), fsim_new(c->arena, fsim_hw *, c->set.hw.count + 1), model_options(c)};
    for (int i = 0; i < c->set.hw.count; i++)
        if ((in->hw[i] = read_hw(c, c->set.hw.at[i], &status)) && fsim_hw_lacks(in->hw[i]))
            fsim_hw_adopt_shipped(c->arena, in->hw[i], hw_folder);
    for (int i = 0; in->graph && i < c->set.hw.count; i++)
        if (in->hw[i] && !fsim_plannable(in->graph, in->hw[i], &in->how, c->diag, c->arena) && !status)
            status = FSIM_EXIT_BAD_INPUT;
    if (c->set.plan && status == FSIM_EXIT_OK && fsim_errors(c->diag) == 0)
        read_plan(c, in, &status);
    return settle(c, status, FSIM_EXIT_BAD_INPUT);
}

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* Ctrl-C ends the search; a second one ends the program. */
static void catch_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

/* Outputs. */

/* Shows what a command found. False: it could not, for another reason than the stream. */
typedef bool shower(FILE *out, form as, const context *c, const void *what);

static fsim_output *open_file(context *c, const char *name, const char *path)
{
    const char *why = "";
    fsim_output *o = path && !is_stdout(path) ? fsim_open_output(c->arena, path, &why) : NULL;
    if (path && !is_stdout(path) && !o)
        fsim_error(c->diag, command_line, "%s: cannot write '%s': %s", name, path, why);
    return o;
}

static void discard_outputs(context *c)
{
    for (int i = 0; i < FILES; i++)
        fsim_discard(c->file[i]);
}

/* Before any work, so that a file that cannot be written costs no waiting. */
static int open_outputs(context *c)
{
    for (int i = 0; i < FILES; i++)
        c->file[i] = open_file(c, files[i].option, file_name(&c->set, i));
    fsim_discard(open_file(c, "--chart", c->set.chart)); /* report.h opens it again when there is something to draw */
    const int status = settle(c, FSIM_EXIT_OK, FSIM_EXIT_USAGE);
    if (status)
        discard_outputs(c);
    return status;
}

static bool show_in_files(context *c, shower *show, const void *what)
{
    for (int i = 0; i < FILES; i++)
        if (c->file[i] && (!show(fsim_stream(c->file[i]), (form)i, c, what) || ferror(fsim_stream(c->file[i])))) {
            fsim_error(c->diag, command_line, "cannot write all of '%s'", file_name(&c->set, i));
            return false;
        }
    return true;
}

static bool commit_files(context *c)
{
    const char *why = "";
    for (int i = 0; i < FILES; i++) {
        fsim_output *o = c->file[i];
        c->file[i] = NULL; /* committed or gone */
        if (o && !fsim_commit(o, &why)) {
            fsim_error(c->diag, command_line, "cannot write '%s': %s", file_name(&c->set, i), why);
            return false;
        }
    }
    return true;
}

/* Whatever is in stdout's buffer reaches it, or the exit status says so. */
static int finish_stdout(context *c, int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fsim_error(c->diag, command_line, "cannot write the results: %s", errno ? strerror(errno) : "the stream failed");
    return settle(c, status, FSIM_EXIT_INTERNAL);
}

static int give_up_outputs(context *c, int status)
{
    discard_outputs(c);
    return settle(c, status, FSIM_EXIT_INTERNAL);
}

/* All files, all of them whole, then stdout. */
static int deliver(context *c, shower *show, const void *what)
{
    if (!show_in_files(c, show, what) || !commit_files(c))
        return give_up_outputs(c, FSIM_EXIT_OK);
    if (!show(stdout, on_stdout(&c->set), c, what) && !ferror(stdout)) /* a stream that failed is finish_stdout's */
        fsim_error(c->diag, command_line, "the results could not be written");
    return settle(c, FSIM_EXIT_OK, FSIM_EXIT_INTERNAL);
}

static bool use_color(const context *c) { return c->set.color == COLOR_AUTO ? fsim_terminal_color() : c->set.color == COLOR_ALWAYS; }

/* For tables whose long cells matter to whoever reads them from a pipe: as wide as they are, but on a terminal. */
static fsim_page table_page(FILE *out, const context *c)
{
    return (fsim_page){out, c->set.verbose ? 0 : c->width, use_color(c), fsim_utf8_locale()};
}

/* plan */

typedef struct {
    fsim_prediction *at;
    int count;
} predictions;

/* As text: what was asked for with --dump, then a table of the GPUs or the one GPU's plan. */
static void plan_text(FILE *out, const context *c, const predictions *p)
{
    const fsim_text_style style = {.color = use_color(c), .verbose = c->set.verbose, .width = c->width};
    for (int i = 0; i < p->count; i++)
        fsim_report_dump(out, &p->at[i], c->set.dump.at, c->set.dump.count);
    if (p->count > 1)
        fsim_report_compare(out, p->at, p->count, &style);
    for (int i = 0; i < p->count && p->count > 1 && !style.verbose; i++)
        fsim_report_compile(out, &p->at[i], &style);
    for (int i = 0; i < p->count && (p->count == 1 || style.verbose); i++) {
        if (p->count > 1)
            putc('\n', out);
        fsim_report_text(out, &p->at[i], &style);
    }
}

static bool show_plan(FILE *out, form as, const context *c, const void *what)
{
    const predictions *p = what;
    switch (as) {
    case JSON: return fsim_report_json(out, p->at, p->count);
    case MARKDOWN: fsim_report_markdown(out, p->at, p->count); break;
    case TRACE: fsim_report_trace(out, p->at, p->count); break;
    case DOT: fsim_report_dot(out, p->at); break;
    case JUNIT: break;
    case TEXT: plan_text(out, c, p); break;
    }
    return true;
}

static bool draw_chart(context *c, const predictions *p)
{
    const char *why = "";
    if (!c->set.chart || fsim_report_chart(c->arena, p->at, p->count, c->set.chart, &why))
        return true;
    fsim_error(c->diag, command_line, "--chart: cannot draw '%s': %s", c->set.chart, why);
    return false;
}

static int run_plan(context *c)
{
    inputs in;
    int status = read_inputs(c, &in);
    if (status || (status = open_outputs(c)))
        return status;
    catch_interrupt();
    const predictions p = {fsim_new(c->arena, fsim_prediction, c->set.hw.count), c->set.hw.count};
    for (int i = 0; i < p.count; i++)
        p.at[i] = fsim_predict(in.graph, in.hw[i], &in.how, c->arena);
    if (!draw_chart(c, &p))
        return give_up_outputs(c, FSIM_EXIT_UNAVAILABLE);
    for (int i = 0; i < p.count; i++)
        status = fsim_over_limit(&p.at[i]) || p.at[i].least_memory_bytes > 0 ? FSIM_EXIT_GATE : status;
    const int delivered = deliver(c, show_plan, &p);
    return delivered ? delivered : status;
}

/* enumerate */

typedef struct {
    FILE *out;
    const fsim_graph *graph;
} partition_stream;

static bool put_partition(void *to, const fsim_plan *plan)
{
    const partition_stream *s = to;
    fsim_json_partition(s->out, s->graph, &plan->partition, plan->time_s, plan->dram_read_bytes, plan->dram_write_bytes);
    return !ferror(s->out) && !interrupted;
}

static int run_enumerate(context *c)
{
    inputs in;
    int status = read_inputs(c, &in);
    if (status || (status = open_outputs(c)))
        return status;
    catch_interrupt();
    const fsim_problem p = fsim_problem_of(in.graph, in.hw[0], &in.how, c->arena);
    partition_stream s = {c->file[JSON] ? fsim_stream(c->file[JSON]) : stdout, in.graph};
    bool truncated = false;
    const int64_t partitions = fsim_enumerate(&p, c->set.limit, put_partition, &s, &truncated);
    if (partitions < 0) {
        fsim_error(c->diag, command_line, "'%s' has %d primitives; enumerate goes up to 64: there are too many partitions to list",
                   in.graph->name, in.graph->nodes);
        return give_up_outputs(c, FSIM_EXIT_BAD_INPUT);
    }
    fsim_json_partitions_end(s.out, partitions, truncated || interrupted);
    if (!commit_files(c))
        return give_up_outputs(c, FSIM_EXIT_OK);
    return FSIM_EXIT_OK;
}

/* explain */

typedef struct {
    const fsim_graph *graph;
    const fsim_hw *hw;
    fsim_explanation e;
} explained;

static bool show_explanation(FILE *out, form as, const context *c, const void *what)
{
    enum { DEFAULT_COLUMNS = 80 };
    const explained *x = what;
    const fsim_page page = {out, c->width ? c->width : DEFAULT_COLUMNS, use_color(c), fsim_utf8_locale()};
    as == JSON ? fsim_json_explanation(out, x->graph, x->hw, &x->e) : fsim_report_explanation(&page, x->graph, x->hw, &x->e);
    return true;
}

static int run_explain(context *c)
{
    inputs in;
    int status = read_inputs(c, &in);
    if (status)
        return status;
    const int a = fsim_node_named(c->arena, c->diag, in.graph, c->args.at[1]),
              b = fsim_node_named(c->arena, c->diag, in.graph, c->args.at[2]);
    if (a >= 0 && a == b)
        fsim_error(c->diag, command_line, "'%s' and '%s' are the same primitive", c->args.at[1], c->args.at[2]);
    if ((status = settle(c, FSIM_EXIT_OK, FSIM_EXIT_USAGE)) || (status = open_outputs(c)))
        return status;
    catch_interrupt();
    const explained x = {in.graph, in.hw[0], fsim_explain(in.graph, in.hw[0], &in.how, a, b, c->arena)};
    return deliver(c, show_explanation, &x);
}

/* hw */

typedef struct {
    fsim_named_hw *at;
    int count;
} hw_list;

static bool show_hw_list(FILE *out, form as, const context *c, const void *what)
{
    const hw_list *all = what;
    const fsim_page page = table_page(out, c);
    as == JSON ? fsim_json_hw_list(out, all->at, all->count) : fsim_report_hw_list(&page, all->at, all->count);
    return true;
}

static int run_hw_list(context *c)
{
    hw_list all = {0};
    int ignored = FSIM_EXIT_OK;
    const char **names = fsim_hw_list(c->arena, hw_folder, &all.count);
    fsim_diag *aside = fsim_diag_new(c->arena), *kept = c->diag; /* a file that is not valid is a row, 'hw check' says why */
    all.at = fsim_new(c->arena, fsim_named_hw, all.count + 1);
    c->diag = aside;
    for (int i = 0; i < all.count; i++)
        all.at[i] = (fsim_named_hw){names[i], read_hw(c, names[i], &ignored), 0};
    c->diag = kept;
    const int status = open_outputs(c);
    return status ? status : deliver(c, show_hw_list, &all);
}

static bool show_hw(FILE *out, form as, const context *c, const void *what)
{
    const fsim_page page = table_page(out, c);
    as == JSON ? fsim_json_hw(out, what) : fsim_report_hw(&page, what);
    return true;
}

static int run_hw_show(context *c)
{
    int status = FSIM_EXIT_OK;
    const fsim_hw *hw = read_hw(c, c->args.at[1], &status);
    if ((status = settle(c, status, FSIM_EXIT_BAD_INPUT)) || (status = open_outputs(c)))
        return status;
    return deliver(c, show_hw, hw);
}

static bool show_hw_check(FILE *out, form as, const context *c, const void *what)
{
    const hw_list *all = what;
    (void)c;
    as == JSON ? fsim_json_hw_check(out, all->at, all->count) : fsim_report_hw_check(out, all->at, all->count);
    return true;
}

static int run_hw_check(context *c)
{
    const hw_list all = {fsim_new(c->arena, fsim_named_hw, c->args.count), c->args.count - 1};
    int status = FSIM_EXIT_OK;
    for (int i = 0; i < all.count; i++) {
        const char *name = c->args.at[1 + i];
        const int before = fsim_errors(c->diag);
        fsim_hw *hw = read_hw(c, name, &status);
        all.at[i] = (fsim_named_hw){name, hw, fsim_errors(c->diag) - before};
    }
    status = settle(c, status, FSIM_EXIT_BAD_INPUT);
    const int written = open_outputs(c);
    const int delivered = written ? written : deliver(c, show_hw_check, &all);
    return status ? status : delivered;
}

static const struct {
    const char *name;
    int least, most; /* words behind it */
    const char *args;
    int (*run)(context *c);
} hw_commands[] = {{"list", 0, 0, "nothing more", run_hw_list},
                   {"show", 1, 1, "one name or file", run_hw_show},
                   {"check", 1, INT_MAX, "names or files", run_hw_check}};

static int run_hw(context *c)
{
    const char *names[COUNT_OF(hw_commands)], *word = c->args.count ? c->args.at[0] : NULL;
    int which = COUNT_OF(hw_commands);
    for (int i = 0; i < COUNT_OF(hw_commands); i++) {
        names[i] = hw_commands[i].name;
        if (word && strcmp(word, names[i]) == 0)
            which = i;
    }
    const int words = c->args.count - 1;
    if (!word)
        fsim_error(c->diag, command_line, "hw wants list, show NAME or check FILE...");
    else if (which == COUNT_OF(hw_commands))
        fsim_error(c->diag, command_line, "hw does not know '%s'%s; wanted list, show NAME or check FILE...", word,
                   fsim_did_you_mean(c->arena, word, names, COUNT_OF(names)));
    else if (words < hw_commands[which].least || words > hw_commands[which].most)
        fsim_error(c->diag, command_line, "hw %s wants %s", word, hw_commands[which].args);
    const int status = usage_status(c);
    return status ? status : hw_commands[which].run(c);
}

/* ops */

static bool show_ops(FILE *out, form as, const context *c, const void *what)
{
    const fsim_page page = table_page(out, c);
    (void)what;
    as == JSON ? fsim_json_ops(out) : fsim_report_ops(&page);
    return true;
}

static int run_ops(context *c)
{
    const int status = open_outputs(c);
    return status ? status : deliver(c, show_ops, NULL);
}

/* validate */

static bool show_accuracy(FILE *out, form as, const context *c, const void *what)
{
    const fsim_page page = table_page(out, c);
    switch (as) {
    case JSON: fsim_json_accuracy(out, what); break;
    case MARKDOWN: fsim_markdown_accuracy(out, what); break;
    case JUNIT: fsim_junit_accuracy(out, what); break;
    default: fsim_report_accuracy(&page, what); break;
    }
    return true;
}

/* The GPUs of --hw, read; the others are read as rows name them. */
typedef struct {
    fsim_hw **at;
    int count;
} gpus;

static bool is_wanted(const context *c, const gpus *only, const fsim_measured *row)
{
    bool matches = c->set.match.count == 0, of = only->count == 0;
    for (int m = 0; m < c->set.match.count; m++)
        matches = matches || strstr(row->id, c->set.match.at[m]);
    for (int h = 0; h < only->count; h++)
        of = of || strcmp(row->hw, only->at[h]->name) == 0;
    return matches && of;
}

/* The rows of all --measurements that are wanted. count is 0 after an error, with *status set. */
static fsim_measurements read_measurements(context *c, const gpus *only, int *status)
{
    fsim_measurements all = {0};
    int room = 0, read = 0;
    for (int f = 0; f < c->set.measurements.count; f++) {
        const char *why = "", *path = c->set.measurements.at[f];
        size_t bytes = 0;
        const char *text = fsim_read_file(c->arena, path, &bytes, &why);
        if (!text) {
            fsim_error(c->diag, command_line, "cannot read measurements '%s': %s", path, why);
            *status = FSIM_EXIT_NO_INPUT;
            continue;
        }
        fsim_diag_source(c->diag, path, text, bytes);
        const fsim_measurements rows = fsim_rows_parse(c->arena, c->diag, path, text, bytes);
        read += rows.count;
        for (int i = 0; i < rows.count; i++)
            if (is_wanted(c, only, &rows.at[i]))
                *FSIM_PUSH(c->arena, all.at, all.count, room) = rows.at[i];
    }
    if (all.count == 0 && fsim_errors(c->diag) == 0) {
        const char *why = !read ? "no rows behind the header" : only->count && c->set.match.count ? "no row is of the GPUs of --hw with an id that holds what --match says"
                          : only->count ? "no row is of the GPUs of --hw" : "no row's id holds what --match says";
        fsim_error(c->diag, (fsim_loc){.file = c->set.measurements.at[0]}, "%s", why);
    }
    if (fsim_errors(c->diag))
        *status = *status ? *status : FSIM_EXIT_BAD_INPUT;
    return all;
}

/* What can be said of validate's options without the rows. */
typedef struct {
    fsim_grouping *by;
    int keys;
    fsim_gate *gate;
    bool class[FSIM_WORK_COUNT]; /* that --class names; all where it is not given */
    double above_s;
} accuracy_options;

/* --class and --above. */
static void check_rows_wanted(context *c, accuracy_options *o)
{
    for (int k = 0; k < FSIM_WORK_COUNT; k++)
        o->class[k] = c->set.classes.count == 0;
    for (int i = 0; i < c->set.classes.count; i++) {
        const char *name = c->set.classes.at[i];
        int k = 0;
        while (k < FSIM_WORK_COUNT && strcmp(name, fsim_work_class_names[k]) != 0)
            k++;
        if (k == FSIM_WORK_COUNT)
            fsim_error(c->diag, command_line, "--class: no kind of work '%s'%s", name, fsim_did_you_mean(c->arena, name, fsim_work_class_names, FSIM_WORK_COUNT));
        else
            o->class[k] = true;
    }
    const char *why = "";
    o->above_s = 0;
    if (c->set.above && !fsim_parse_unit(c->set.above, FSIM_DIM_SECONDS, &o->above_s, &why))
        fsim_error(c->diag, command_line, "--above: '%s' %s", c->set.above, why);
}

/* The predicted rows that --class and --above want, moved to the front. Returns how many. */
static int keep_wanted(const accuracy_options *o, fsim_evaluated *e, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (o->class[e[i].class] && e[i].row->time_s > o->above_s)
            e[kept++] = e[i];
    return kept;
}

static bool check_validate(context *c, accuracy_options *o)
{
    enum { MOST_WORST = 1000000 };
    static const fsim_grouping compact[] = {FSIM_BY_HW, FSIM_BY_CLASS, FSIM_BY_STRATEGY};
    const settings *s = &c->set;
    o->keys = s->by.count ? s->by.count : COUNT_OF(compact);
    o->by = fsim_new(c->arena, fsim_grouping, o->keys);
    o->gate = fsim_new(c->arena, fsim_gate, s->gates.count + 1);
    if (c->args.count)
        fsim_error(c->diag, command_line, "validate: running the kernels of a workload is not in this release; wanted --measurements FILE.csv, and no workload");
    else if (s->measurements.count == 0)
        fsim_error(c->diag, command_line, "validate wants --measurements FILE.csv");
    if (o->keys > FSIM_BY_COUNT)
        fsim_error(c->diag, command_line, "--by: at most %d keys", FSIM_BY_COUNT);
    for (int k = 0; k < o->keys && k < FSIM_BY_COUNT; k++) {
        int g = 0;
        if (s->by.count == 0) {
            o->by[k] = compact[k];
            continue;
        }
        while (g < FSIM_BY_COUNT && strcmp(s->by.at[k], fsim_grouping_names[g]) != 0)
            g++;
        if (g == FSIM_BY_COUNT)
            fsim_error(c->diag, command_line, "--by: unknown key '%s'%s", s->by.at[k], fsim_did_you_mean(c->arena, s->by.at[k], fsim_grouping_names, FSIM_BY_COUNT));
        o->by[k] = (fsim_grouping)g;
    }
    check_rows_wanted(c, o);
    for (int i = 0; i < s->gates.count; i++)
        fsim_gate_read(c->arena, c->diag, s->gates.at[i], &o->gate[i]);
    for (int f = 0; f < s->measurements.count; f++)
        for (int g = f + 1; g < s->measurements.count; g++)
            if (strcmp(s->measurements.at[f], s->measurements.at[g]) == 0)
                fsim_error(c->diag, command_line, "--measurements names '%s' twice", s->measurements.at[f]);
    if (s->top > MOST_WORST)
        fsim_error(c->diag, command_line, "--top: at most %d rows are listed", MOST_WORST);
    return fsim_errors(c->diag) == 0;
}

/* The groups that gates name are found among the rows and the shipped GPUs. */
static void resolve_gates(context *c, const fsim_measurements *rows, accuracy_options *o)
{
    int hws = 0;
    const char **hw = c->set.gates.count ? fsim_hw_list(c->arena, hw_folder, &hws) : NULL;
    for (int i = 0; i < c->set.gates.count; i++)
        fsim_gate_resolve(c->arena, c->diag, rows, hw, hws, &o->gate[i]);
}

/* Tries the gates. FSIM_EXIT_GATE where one fails, with a line for each in the diagnostics. */
static int try_gates(context *c, const fsim_accuracy *x, fsim_gate *gate)
{
    int status = FSIM_EXIT_OK;
    for (int i = 0; i < x->gates; i++) {
        fsim_gate_try(x->at, x->count, x->pair, x->pairs, c->arena, &gate[i]);
        status = gate[i].passed ? status : FSIM_EXIT_GATE;
    }
    return status;
}

static void say_gates(context *c, const fsim_accuracy *x)
{
    for (int i = 0; i < x->gates; i++)
        if (!x->gate[i].passed)
            fsim_error(c->diag, command_line, "gate %s failed: %s", x->gate[i].text, fsim_gate_says(&x->gate[i], c->arena));
    settle(c, FSIM_EXIT_GATE, FSIM_EXIT_GATE);
}

/* Of all threads: what a rate a core is counted by, however busy the machine. */
static double processor_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Rows by the ten thousand each allocate some blocks and free them again: keep those, rather than give them back to the system and get them again zeroed. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    enum { KEPT_BYTES = 64 << 20, MAPPED_BYTES = 4 << 20 };
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
#endif
}

static int run_validate(context *c)
{
    enum { WORST = 10 };
    int status = FSIM_EXIT_OK;
    accuracy_options o;
    if (!check_validate(c, &o))
        return usage_status(c);
    gpus only = {fsim_new(c->arena, fsim_hw *, c->set.hw.count + 1), 0};
    for (int i = 0; i < c->set.hw.count; i++)
        if ((only.at[only.count] = read_hw(c, c->set.hw.at[i], &status))) {
            if (c->set.unseen)
                fsim_hw_forget(only.at[only.count]);
            if (fsim_hw_lacks(only.at[only.count]))
                fsim_hw_adopt_shipped(c->arena, only.at[only.count], hw_folder);
            only.count++;
        }
    if ((status = settle(c, status, FSIM_EXIT_BAD_INPUT)))
        return status;
    const fsim_measurements rows = read_measurements(c, &only, &status);
    if ((status = settle(c, status, FSIM_EXIT_BAD_INPUT)))
        return status;
    resolve_gates(c, &rows, &o);
    if (fsim_errors(c->diag))
        return usage_status(c);
    const fsim_folders where = {c->set.roots.at, c->set.roots.count, workload_folder, hw_folder, only.at, only.count, c->set.hw_set.at, c->set.hw_set.count, c->set.unseen};
    const fsim_bench *bench = fsim_bench_of(c->arena, c->diag, &where, &rows, &status);
    if ((status = settle(c, status, FSIM_EXIT_BAD_INPUT)) || (status = open_outputs(c)))
        return status;
    fsim_evaluated *e = fsim_new(c->arena, fsim_evaluated, rows.count);
    keep_freed_memory();
    const double start_s = processor_s();
    if (!fsim_evaluate(bench, (int)c->set.jobs, c->arena, c->diag, e))
        return give_up_outputs(c, FSIM_EXIT_BAD_INPUT);
    const double took_s = processor_s() - start_s;
    const int count = keep_wanted(&o, e, rows.count);
    if (count == 0) {
        fsim_error(c->diag, command_line, "no row is left by --class and --above");
        return give_up_outputs(c, FSIM_EXIT_BAD_INPUT);
    }
    for (int i = 0; i < count && c->set.no_exclude; i++)
        if (e[i].excluded != fsim_exclusions[FSIM_EXCLUDED_KERNEL]) /* of which there is no prediction */
            e[i].excluded = NULL;
    fsim_pair *pair;
    const int pairs = fsim_pairs_of(e, count, c->arena, &pair);
    const fsim_accuracy x = {c->set.measurements.at, c->set.measurements.count, e, count, pair, pairs, o.gate, c->set.gates.count, o.by, o.keys,
                             c->set.top ? (int)c->set.top : WORST, c->set.verbose};
    const int gates = try_gates(c, &x, o.gate);
    const char *why = "";
    if (c->set.chart && !fsim_chart_accuracy(c->arena, &x, c->set.chart, &why)) {
        fsim_error(c->diag, command_line, "--chart: cannot draw '%s': %s", c->set.chart, why);
        return give_up_outputs(c, FSIM_EXIT_UNAVAILABLE);
    }
    status = deliver(c, show_accuracy, &x);
    if (c->set.verbose)
        fprintf(stderr, "%d rows predicted in %.4f s of processor time: %.0f rows a second and core\n", rows.count, took_s, rows.count / took_s);
    if (!status && gates)
        say_gates(c, &x);
    return status ? status : gates;
}

/* import */

/* Where `import` stands with its files. */
typedef struct {
    inputs in;
    fsim_import_as as;
    fsim_import found;
} imported;

static bool show_import(FILE *out, form as, const context *c, const void *what)
{
    const imported *x = what;
    const fsim_page page = table_page(out, c);
    as == JSON ? fsim_json_import(out, &x->found) : fsim_report_import(&page, &x->found, c->set.verbose);
    return true;
}

/* The workload as rows name it: without .yaml; one from standard input by its name. */
static const char *row_workload(const context *c, const fsim_graph *g)
{
    const char *name = !c->args.count ? "" : is_stdout(c->args.at[0]) ? g->name : c->args.at[0], *dot = strrchr(name, '.');
    return fsim_strndup(c->arena, name, dot && strcmp(dot, ".yaml") == 0 ? (size_t)(dot - name) : strlen(name));
}

static const char *row_set(const context *c)
{
    const char *text = "";
    for (int i = 0; i < c->set.set.count; i++)
        text = fsim_printf(c->arena, "%s%s%s", text, i ? ";" : "", c->set.set.at[i]);
    return text;
}

/* Workload and GPU, where they are given; a GPU alone is the name in the rows. */
static int read_import_inputs(context *c, imported *x)
{
    int status = FSIM_EXIT_OK;
    if (c->args.count)
        status = read_inputs(c, &x->in);
    else if (c->set.hw.count) {
        x->in.hw = fsim_new(c->arena, fsim_hw *, 1);
        x->in.hw[0] = read_hw(c, c->set.hw.at[0], &status);
        status = settle(c, status, FSIM_EXIT_BAD_INPUT);
    }
    if (!status)
        x->as = (fsim_import_as){c->set.hw.count ? x->in.hw[0]->name : "", row_workload(c, x->in.graph), row_set(c), (fsim_strategy)c->set.strategy};
    return status;
}

/* Nsight Compute empties the caches before each kernel; a profiler of the whole program does not. */
static fsim_plan *plan_to_match(context *c, imported *x, bool warm)
{
    if (!x->in.graph)
        return NULL;
    x->in.how.regime = FSIM_REGIME_KERNEL;
    x->in.how.warm = warm;
    const fsim_problem p = fsim_problem_of(x->in.graph, x->in.hw[0], &x->in.how, c->arena);
    fsim_plan *plan = fsim_new(c->arena, fsim_plan, 1), own;
    fsim_proof proof;
    if (x->as.strategy == FSIM_STRATEGY_OPTIMAL)
        fsim_optimal(&p, NULL, 0, c->arena, &own, &proof);
    else
        fsim_baseline(&p, x->as.strategy, c->arena, &own);
    *plan = fsim_plan_made_by(&p, fsim_maker_of(x->as.strategy), &own, c->arena);
    return plan;
}

/* A trace that names another GPU than --hw. */
static void check_device(context *c, const imported *x, const char *device)
{
    const char *name = x->as.hw;
    const size_t first = strcspn(name, "-");
    const size_t second = name[first] ? first + 1 + strcspn(name + first + 1, "-") : first;
    const char *model = fsim_strndup(c->arena, name, first), *next = first < second ? fsim_strndup(c->arena, name + first + 1, second - first - 1) : "";
    const char *number = strpbrk(model, "0123456789") ? model : strpbrk(next, "0123456789") ? next : NULL;
    if (device && number && !strcasestr(device, number))
        fsim_warning(c->diag, command_line, "the trace is of '%s', --hw is '%s'", device, name);
}

/* Rows into -o, the report to stdout, or to stderr where the rows go to stdout. */
static int deliver_import(context *c, const imported *x, fsim_output *rows)
{
    const char *why = "";
    if (is_stdout(c->set.output)) {
        const int status = show_in_files(c, show_import, x) && commit_files(c) ? FSIM_EXIT_OK : give_up_outputs(c, FSIM_EXIT_OK);
        if (status)
            return status;
        fsim_rows_write(stdout, x->found.row, x->found.rows);
        show_import(stderr, TEXT, c, x);
        return settle(c, FSIM_EXIT_OK, FSIM_EXIT_INTERNAL);
    }
    if (rows)
        fsim_rows_write(fsim_stream(rows), x->found.row, x->found.rows);
    if (rows && !fsim_commit(rows, &why)) {
        fsim_error(c->diag, command_line, "cannot write '%s': %s", c->set.output, why);
        return give_up_outputs(c, FSIM_EXIT_OK);
    }
    return deliver(c, show_import, x);
}

static int run_profile(context *c, imported *x, const fsim_mapped *file)
{
    fsim_profile profile;
    if (!fsim_profile_read(c->arena, c->diag, c->set.measurements.at[0], file->text, file->bytes, &profile))
        return settle(c, FSIM_EXIT_BAD_INPUT, FSIM_EXIT_BAD_INPUT);
    fsim_output *rows = open_file(c, "-o", c->set.output);
    int status = open_outputs(c);
    if (status) {
        fsim_discard(rows);
        return status;
    }
    check_device(c, x, profile.device_name);
    const fsim_plan *plan = plan_to_match(c, x, profile.timeline);
    x->found = fsim_import_of(&profile, plan ? x->in.graph : NULL, plan, &x->as, c->arena);
    if (plan && x->found.rows == 0)
        fsim_warning(c->diag, command_line, "no kernel of '%s' was matched to one of '%s': no rows", c->set.measurements.at[0], x->as.workload);
    status = deliver_import(c, x, rows);
    if (status)
        fsim_discard(rows);
    return status;
}

static int run_import(context *c)
{
    imported x = {0};
    const char *why = "", *path = c->set.measurements.count ? c->set.measurements.at[0] : NULL;
    if (c->set.measurements.count == 0)
        fsim_error(c->diag, command_line, "import: models (MODEL.onnx) are not in this release; wanted --measurements FILE, of `ncu --csv` or PyTorch's profiler");
    else if (c->set.measurements.count > 1)
        fsim_error(c->diag, command_line, "import reads one profile at a time, --measurements names %d", c->set.measurements.count);
    else if (c->args.count && c->set.hw.count == 0)
        fsim_error(c->diag, command_line, "no GPU: say --hw NAME, the one that was measured ('fusesim hw list' shows them)");
    else if (is_stdout(path) && c->args.count && is_stdout(c->args.at[0]))
        fsim_error(c->diag, command_line, "the workload and --measurements can't both be standard input");
    else if (is_stdout(c->set.output) && on_stdout(&c->set) != TEXT)
        fsim_error(c->diag, command_line, "-o and %s - both write to stdout", files[on_stdout(&c->set)].option);
    if (fsim_errors(c->diag))
        return usage_status(c);
    int status = read_import_inputs(c, &x);
    if (status)
        return status;
    fsim_mapped *file = fsim_map_file(c->arena, path, &why);
    if (!file) {
        fsim_error(c->diag, command_line, "cannot read measurements '%s': %s", path, why);
        return settle(c, FSIM_EXIT_NO_INPUT, FSIM_EXIT_NO_INPUT);
    }
    fsim_diag_source(c->diag, path, file->text, file->bytes);
    status = run_profile(c, &x, file);
    fsim_unmap(file);
    return status;
}

/* calibrate */

static bool show_calibration(FILE *out, form as, const context *c, const void *what)
{
    const fsim_page page = table_page(out, c);
    as == JSON ? fsim_json_calibration(out, what) : fsim_report_calibration(&page, what);
    return true;
}

static void check_calibration(context *c)
{
    const char **names = fsim_new(c->arena, const char *, fsim_fit_group_count);
    for (int i = 0; i < fsim_fit_group_count; i++)
        names[i] = fsim_fit_groups[i].name;
    if (c->set.measurements.count == 0)
        fsim_error(c->diag, command_line, "calibrate wants --measurements FILE.csv");
    if (c->set.hw.count != 1)
        fsim_error(c->diag, command_line, "calibrate wants the one GPU to fit: --hw NAME");
    if (c->set.folds == 1 || c->set.folds > FSIM_MOST_FOLDS)
        fsim_error(c->diag, command_line, "--folds: wanted 2 to %d", FSIM_MOST_FOLDS);
    for (int i = 0; i < c->set.fit.count; i++)
        if (!fsim_among(c->set.fit.at[i], names, fsim_fit_group_count))
            fsim_error(c->diag, command_line, "--fit: no group '%s'%s", c->set.fit.at[i], fsim_did_you_mean(c->arena, c->set.fit.at[i], names, fsim_fit_group_count));
}

/* Today, or the day that SOURCE_DATE_EPOCH names, so that a build can be repeated. */
static const char *date_of_today(fsim_arena *a)
{
    const char *given = getenv("SOURCE_DATE_EPOCH");
    const time_t now = given ? (time_t)strtoll(given, NULL, 10) : time(NULL);
    struct tm day;
    char text[16] = "";
    if (gmtime_r(&now, &day))
        strftime(text, sizeof text, "%Y-%m-%d", &day);
    return fsim_strdup(a, text);
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The command as anyone may repeat it: names instead of paths. */
static const char *calibration_command(const context *c, const char *date)
{
    const char *line = fsim_printf(c->arena, "fusesim calibrate --hw %s", base_of(c->set.hw.at[0]));
    for (int i = 0; i < c->set.measurements.count; i++)
        line = fsim_printf(c->arena, "%s --measurements %s", line, base_of(c->set.measurements.at[i]));
    line = c->set.fresh ? fsim_printf(c->arena, "%s --fresh", line) : line;
    for (int i = 0; i < c->set.fit.count; i++)
        line = fsim_printf(c->arena, "%s%s%s", line, i ? "," : " --fit ", c->set.fit.at[i]);
    return fsim_printf(c->arena, "%s (%s)", line, date);
}

static bool write_calibrated(context *c, const fsim_hw *hw, const fsim_fit *fit, int fits)
{
    const char *why = "", *date = date_of_today(c->arena);
    size_t bytes = 0;
    fsim_output *o = open_file(c, "-o", c->set.output);
    const char *text = o ? fsim_read_file(c->arena, hw->path, &bytes, &why) : NULL;
    if (o && text) {
        fputs(fsim_calibrated_text(c->arena, text, hw, fit, fits, date, calibration_command(c, date)), fsim_stream(o));
        if (fsim_commit(o, &why))
            return true;
    } else {
        fsim_discard(o);
    }
    if (o)
        fsim_error(c->diag, command_line, "cannot write '%s': %s", c->set.output, why);
    return false;
}

static int run_calibrate(context *c)
{
    int status = FSIM_EXIT_OK;
    const char *why = "";
    if (c->args.count)
        fsim_error(c->diag, command_line, "calibrate: running kernels is not in this release; wanted --measurements FILE.csv, and no workload");
    check_calibration(c);
    if (fsim_errors(c->diag))
        return usage_status(c);
    fsim_hw *hw = read_hw(c, c->set.hw.at[0], &status);
    if ((status = settle(c, status, FSIM_EXIT_BAD_INPUT)))
        return status;
    fsim_calibration x = {.hw = hw, .folds = c->set.folds ? (int)c->set.folds : 5, .file = c->set.output};
    fsim_hw unmeasured = *hw;
    fsim_hw_forget(&unmeasured);
    fsim_hw_adopt_shipped(c->arena, &unmeasured, hw_folder);
    const fsim_fit_options how = {x.folds, (int)c->set.jobs, c->set.fit.at, c->set.fit.count, c->set.fresh ? &unmeasured : NULL};
    if (fsim_hw_lacks(hw))
        fsim_hw_adopt_shipped(c->arena, hw, hw_folder);
    const gpus only = {&hw, 1};
    const fsim_measurements rows = read_measurements(c, &only, &status);
    if ((status = settle(c, status, FSIM_EXIT_BAD_INPUT)))
        return status;
    const fsim_folders where = {.root = c->set.roots.at, .roots = c->set.roots.count, .workloads = workload_folder, .hwmodels = hw_folder, .hw = only.at, .hws = only.count};
    const fsim_bench *bench = fsim_bench_of(c->arena, c->diag, &where, &rows, &status);
    if ((status = settle(c, status, FSIM_EXIT_BAD_INPUT)) || (status = open_outputs(c)))
        return status;
    fsim_fit *fit = NULL;
    x.fits = fsim_calibrate(bench, rows.count, hw, &how, c->arena, &fit, &why);
    x.fit = fit;
    if (x.fits < 0) {
        fsim_error(c->diag, command_line, "calibrate: %s", why);
        return give_up_outputs(c, FSIM_EXIT_UNAVAILABLE);
    }
    if (c->set.output && !write_calibrated(c, hw, fit, x.fits))
        return give_up_outputs(c, FSIM_EXIT_OK);
    return deliver(c, show_calibration, &x);
}

/* The commands. */

static const command commands[COMMANDS] = {
    {"plan", "WORKLOAD --hw HW[,HW...]", "the best plan (the default command)", PLAN, true, 1, INT_MAX, run_plan},
    {"enumerate", "WORKLOAD --hw HW [--limit N]", "every legal partition, a line each", ENUMERATE, true, 1, 1, run_enumerate},
    {"explain", "WORKLOAD --hw HW OP OP", "may two share a kernel; the cost", EXPLAIN, true, 3, 1, run_explain},
    {"validate", "--measurements FILE.csv", "predicted beside measured", VALIDATE, false, INT_MAX, INT_MAX, run_validate},
    {"import", "--measurements FILE [WORKLOAD]", "others' profiles: ncu, PyTorch", IMPORT, false, 1, 1, run_import},
    {"calibrate", "--hw HW --measurements FILE.csv", "fit a GPU to measurements", CALIBRATE, false, INT_MAX, INT_MAX, run_calibrate},
    {"hw", "list | show NAME | check FILE...", "the GPUs", HW, false, INT_MAX, INT_MAX, run_hw},
    {"ops", "", "operators and flops per point", OPS, false, 0, INT_MAX, run_ops},
};

static void print_usage(FILE *out, fsim_arena *a)
{
    enum { COMMAND_COLUMN = 32 };
    fputs("usage: fusesim [command] [options] WORKLOAD     (no command: plan)\n\n", out);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s%-*s %s\n", commands[i].name, COMMAND_COLUMN, commands[i].args, commands[i].help);
    fputs("\nWORKLOAD: a YAML file, the name of a shipped one ('mlp'), or - for stdin\n"
          "import -o FILE: with WORKLOAD --hw HW a row for each kernel of the plan, and one\n"
          "for all; without, a list of the profile's kernels, which validate leaves out\n\n",
          out);
    fsim_args_usage(out, &known, a);
    fputs("\nResults go to stdout, all else to stderr. Exit status: 0 ok, 1 limit not met,\n"
          "2 usage, 65 bad input, 66 no input, 69 unavailable, 70 failed.\n",
          out);
}

static int run(context *c, int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr, c->arena);
        return FSIM_EXIT_USAGE;
    }
    read_command_line(c, argc, argv);
    if (c->set.strategy == NOT_GIVEN) /* what others measure is eager, mostly */
        c->set.strategy = c->command->bit == IMPORT ? FSIM_STRATEGY_EAGER : FSIM_STRATEGY_OPTIMAL;
    const bool asked = c->set.help || c->set.version;
    if (asked) {
        const int status = usage_status(c);
        if (!status && c->set.help)
            print_usage(stdout, c->arena);
        else if (!status)
            puts("fusesim " FUSESIM_VERSION);
        return status;
    }
    if (fsim_errors(c->diag) == 0)
        check_command_line(c);
    if (fsim_errors(c->diag) == 0)
        check_surplus(c);
    return fsim_errors(c->diag) ? usage_status(c) : c->command->run(c);
}

int main(int argc, char **argv)
{
    fsim_arena *arena = fsim_arena_new();
    context c = {.arena = arena,
                 .diag = fsim_diag_new(arena),
                 .set = {.strategy = NOT_GIVEN, .launch = FSIM_REGIME_STREAM, .time_limit_s = 1},
                 .width = fsim_terminal_columns()};
    const int status = finish_stdout(&c, run(&c, argc, argv));
    fsim_arena_free(arena);
    return status;
}
