/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the options, the table of subcommands, and checks of the command line that need no file. No modelling. */
#include "api/handles.h"
#include "command/command.h"
#include "report/terminal.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    const char *name, *args, *help;
    unsigned bit;
    unsigned kinds;    /* kinds of results, 1 << each, which decide the formats that can show them */
    bool needs_inputs; /* needs a workload and hardware */
    int most_words;    /* most words after the command */
    int most_gpus;
    int (*run)(fsim_context *c);
} command;

enum {
    PLAN = 1,
    ENUMERATE = 2,
    EXPLAIN = 4,
    HW = 8,
    OPS = 16,
    VALIDATE = 32,
    CALIBRATE = 64,
    IMPORT = 128,
    CODEGEN = 256,
    REGIONS = 512,
    ANY = 1023
};

#define OF(kind) (1u << FSIM_RESULT_##kind)
static const command commands[] = {
    {"plan", "WORKLOAD --hw HW[,HW...]", "the best plan (the default command)", PLAN, OF(PLANS), true, 1, INT_MAX,
     fsim_run_plan},
    {"enumerate", "WORKLOAD --hw HW [--limit N]", "every legal partition, a line each", ENUMERATE, OF(PARTITIONS), true,
     1, 1, fsim_run_enumerate},
    {"explain", "WORKLOAD --hw HW OP OP", "may two share a kernel; the cost", EXPLAIN, OF(EXPLANATION), true, 3, 1,
     fsim_run_explain},
    {"regions", "WORKLOAD --hw HW --over S=1:4096", "where the best plan changes", REGIONS, OF(REGIONS), true, 1, 1,
     fsim_run_regions},
    {"validate", "--device D | --measurements F", "predicted beside measured", VALIDATE,
     OF(ACCURACY) | OF(TRIALS) | OF(REGISTERS), false, INT_MAX, INT_MAX, fsim_run_validate},
    {"import", "--measurements FILE [WORKLOAD]",
     "profiles of "
#define FSIM_PROFILE(tool, ...) tool ", "
#include "evidence/profile.def"
#undef FSIM_PROFILE
     "as rows",
     IMPORT, OF(IMPORT), false, 1, 1, fsim_run_import},
    {"calibrate", "--hw HW --measurements FILE.csv", "fit a GPU; measure this CPU", CALIBRATE,
     OF(CALIBRATION) | OF(PROBES), false, INT_MAX, INT_MAX, fsim_run_calibrate},
    {"codegen", "WORKLOAD --hw HW -o DIR", "the plan's kernels as source", CODEGEN, OF(PROJECT), true, 1, 1,
     fsim_run_codegen},
    {"hw", "list | show NAME | check FILE... | keys", "the GPUs", HW, OF(HW_LIST) | OF(HW) | OF(HW_CHECK) | OF(HW_KEYS),
     false, INT_MAX, INT_MAX, fsim_run_hw},
    {"ops", "[OP]", "operators and their attributes", OPS, OF(OPS), false, 1, INT_MAX, fsim_run_ops},
};
enum { COMMANDS = FSIM_COUNT_OF(commands) };

enum { NOT_GIVEN = -1 };

static const char *const color_names[] = {"auto", "always", "never"};

static const fsim_choices strategies = {fsim_strategy_names, FSIM_STRATEGY_COUNT, NULL};
static const fsim_choices objectives = {fsim_objective_names, FSIM_OBJECTIVES, NULL};
static const fsim_choices launches = {fsim_regime_names, FSIM_REGIME_COUNT, NULL};
static const fsim_choices l2_states = {fsim_l2_words, FSIM_COUNT_OF(fsim_l2_words), NULL};
static const fsim_choices numerics = {fsim_numerics_words, FSIM_COUNT_OF(fsim_numerics_words), NULL};
static const fsim_choices recomputation = {fsim_recompute_words, FSIM_COUNT_OF(fsim_recompute_words), NULL};
static const fsim_choices targets = {fsim_target_words, FSIM_COUNT_OF(fsim_target_words), NULL};
static const fsim_choices devices = {fsim_device_names, FSIM_DEVICE_COUNT, NULL};
static const fsim_choices colors = {color_names, FSIM_COUNT_OF(color_names), NULL};

#define AT(field) offsetof(fsim_settings, field)
static const fsim_arg options[] = {
    {"--hw", "HW[,HW...]", FSIM_ARG_ITEMS, AT(hw), NULL, ANY, "GPUs: names of 'fusesim hw list', or files"},
    {"--set", "NAME=VALUE", FSIM_ARG_ITEM, AT(set), NULL, ANY, "a symbol of the workload; dtype is one"},
    {"--hw-set", "KEY=VALUE", FSIM_ARG_ITEM, AT(hw_set), NULL, ANY, "what if: dram_bandwidth=2x, sms=64"},
    {"--strategy", NULL, FSIM_ARG_CHOICE, AT(strategy), &strategies, ANY, "the plan to show (optimal; import: eager)"},
    {"--plan", "FILE", FSIM_ARG_TEXT, AT(plan), NULL, PLAN | CODEGEN, "show this partition: JSON of a plan"},
    {"--objective", NULL, FSIM_ARG_CHOICE, AT(objective), &objectives, ANY, "what optimal minimises (time)"},
    {"--memory-limit", "SIZE", FSIM_ARG_SIZE, AT(memory_limit), NULL, PLAN | EXPLAIN,
     "that a plan may need at its peak: 3 GiB"},
    {"--top", "K", FSIM_ARG_COUNT, AT(top), NULL, PLAN | VALIDATE, "list the K best plans, or worst rows"},
    {"--compile-cost", "", FSIM_ARG_FLAG, AT(compile_cost), NULL, PLAN, "seconds to compile, runs to break even"},
    {"--compile-jobs", "N", FSIM_ARG_COUNT, AT(compile_jobs), NULL, PLAN, "of --compile-cost: processes at once (1)"},
    {"--launch", NULL, FSIM_ARG_CHOICE, AT(launch), &launches, ANY, "how kernels start (stream)"},
    {"--l2", NULL, FSIM_ARG_CHOICE, AT(l2), &l2_states, ANY, "what L2 holds at the start (cold)"},
    {"--numerics", NULL, FSIM_ARG_CHOICE, AT(numerics), &numerics, ANY, "strict: sums keep their order (fast)"},
    {"--recompute", NULL, FSIM_ARG_CHOICE, AT(recompute), &recomputation, ANY,
     "may any plan compute a value twice (on)"},
    {"--time-limit", "SECONDS", FSIM_ARG_SECONDS, AT(time_limit_s), NULL, ANY, "for the search (1)"},
    {"--scale-shapes", "N", FSIM_ARG_COUNT, AT(scale), NULL, ANY, "divide lengths by powers of 2 up to N"},
    {"--over", "NAME=FIRST:LAST[:STEP]", FSIM_ARG_TEXT, AT(over), NULL, REGIONS, "of regions: a symbol's values"},
    {"--limit", "N", FSIM_ARG_COUNT, AT(limit), NULL, ENUMERATE, "of enumerate: stop after N partitions"},
    {"--measurements", "FILE", FSIM_ARG_ITEM, AT(measurements), NULL, VALIDATE | CALIBRATE | IMPORT,
     "measured runs; import: a profile"},
    {"--workload-root", "DIR", FSIM_ARG_ITEM, AT(roots), NULL, VALIDATE | CALIBRATE, "a folder of the rows' workloads"},
    {"--match", "TEXT", FSIM_ARG_ITEM, AT(match), NULL, VALIDATE | CALIBRATE, "only rows whose id holds TEXT"},
    {"--class", "NAME[,...]", FSIM_ARG_ITEMS, AT(classes), NULL, VALIDATE, "only rows of these kinds of work: softmax"},
    {"--above", "TIME", FSIM_ARG_TEXT, AT(above), NULL, VALIDATE, "only rows measured to take longer: 100us"},
    {"--by", "KEY[,...]", FSIM_ARG_ITEMS, AT(by), NULL, VALIDATE, "group by hw, class, strategy, folder, ..."},
    {"--gate", "[GROUP:]METRIC=LIMIT", FSIM_ARG_ITEM, AT(gates), NULL, PLAN | VALIDATE,
     "exit 1 where it does not hold: see below"},
    {"--no-exclude", "", FSIM_ARG_FLAG, AT(no_exclude), NULL, VALIDATE, "keep rows that do not measure kernels"},
    {"--unseen", "", FSIM_ARG_FLAG, AT(unseen), NULL, VALIDATE, "as if nothing were measured on the GPUs"},
    {"--fit", "GROUP[,...]", FSIM_ARG_ITEMS, AT(fit), NULL, CALIBRATE, "scalars to fit (all that have rows)"},
    {"--fresh", "", FSIM_ARG_FLAG, AT(fresh), NULL, CALIBRATE, "start from similar GPUs, not from the file"},
    {"--folds", "K", FSIM_ARG_COUNT, AT(folds), NULL, CALIBRATE, "parts of the cross-validation (5)"},
    {"--device", NULL, FSIM_ARG_CHOICE, AT(device), &devices, VALIDATE | CALIBRATE, "measure on this machine"},
    {"--registers", "", FSIM_ARG_FLAG, AT(registers), NULL, VALIDATE, "compile kernels, compare registers"},
    {"--arch", "NN[,...]", FSIM_ARG_ITEMS, AT(archs), NULL, VALIDATE, "of --registers: 80,90,100 or all (as --hw)"},
    {"--strategies", "NAME[,...]", FSIM_ARG_ITEMS, AT(strategies), NULL, VALIDATE,
     "plans that run (eager ... optimal)"},
    {"--measured", "FILE", FSIM_ARG_TEXT, AT(measured), NULL, VALIDATE, "of --device: rows for --measurements"},
    {"--samples", "N", FSIM_ARG_COUNT, AT(samples), NULL, VALIDATE, "of --device: runs of each kernel"},
    {"--budget", "SECONDS", FSIM_ARG_SECONDS, AT(budget_s), NULL, VALIDATE, "of --device: to measure each workload in"},
    {"--no-measure", "", FSIM_ARG_FLAG, AT(no_measure), NULL, VALIDATE, "of --device: compare only, time nothing"},
    {"--no-check", "", FSIM_ARG_FLAG, AT(no_check), NULL, VALIDATE, "of --device: do not compare with reference"},
    {"--no-counters", "", FSIM_ARG_FLAG, AT(no_counters), NULL, VALIDATE, "of --device cuda: times only"},
    {"--threads", "N", FSIM_ARG_COUNT, AT(threads), NULL, VALIDATE | CALIBRATE, "of --device cpu (one a CPU)"},
    {"--target", NULL, FSIM_ARG_CHOICE, AT(target), &targets, CODEGEN, "language of the kernels (cuda)"},
    {"-o", "FILE", FSIM_ARG_TEXT, AT(output), NULL, CALIBRATE | IMPORT | CODEGEN,
     "the file to write; codegen: the folder"},
    {"--jobs", "N", FSIM_ARG_COUNT, AT(jobs), NULL, ANY, "threads; results do not depend on it"},
    {"--dump", "STAGE[,...]", FSIM_ARG_ITEMS, AT(dump), NULL, PLAN, "graph, legal, parts, kernels, traffic, time"},
#define FSIM_FORMAT(id, name, help) {"--" #name, "FILE", FSIM_ARG_TEXT, AT(format[FSIM_AS_##id]), NULL, ANY, help},
#include "command/formats.def"
#undef FSIM_FORMAT
    {"--quiet", "", FSIM_ARG_FLAG, AT(quiet), NULL, ANY, "no warnings"},
    {"--verbose", "", FSIM_ARG_FLAG, AT(verbose), NULL, ANY, "everything that is known"},
    {"--color", NULL, FSIM_ARG_CHOICE, AT(color), &colors, ANY, "NO_COLOR is honoured"},
    {"--help", "", FSIM_ARG_FLAG, AT(help), NULL, ANY, "this text"},
    {"--version", "", FSIM_ARG_FLAG, AT(version), NULL, ANY, "the version"},
};

/* Options of planned releases. */
static const char *const later_options[] = {"--dim",       "--fail-on", "--jvp",  "--output",
                                            "--precision", "--report",  "--train"};
static const char *const later_commands[] = {"sweep", "diff"};

static const fsim_args known = {options, FSIM_COUNT_OF(options), later_options, FSIM_COUNT_OF(later_options)};

/* The command line. */

static const command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

/* The first word that is no option is the command, if it is the name of one. */
static const command *read_command_line(fsim_context *c, int argc, char **argv)
{
    c->args = fsim_args_read(&known, c->arena, c->diag, argc, argv, &c->set);
    const char *first = c->args.count ? c->args.at[0] : "";
    const command *named = find_command(first);
    if (named) {
        c->args.at++;
        c->args.count--;
        return named;
    }
    if (fsim_among(first, later_commands, FSIM_COUNT_OF(later_commands)))
        fsim_error(c->diag, fsim_command_line, "command '%s' is not in this release", first);
    return find_command("plan");
}

static void check_dump(fsim_context *c)
{
    const fsim_words *asked = &c->set.dump;
    int stages = 0;
    while (fsim_dump_stages[stages])
        stages++;
    for (int i = 0; i < asked->count; i++)
        if (!fsim_among(asked->at[i], fsim_dump_stages, stages))
            fsim_error(c->diag, fsim_command_line, "--dump: unknown stage '%s'%s", asked->at[i],
                       fsim_did_you_mean(c->arena, asked->at[i], fsim_dump_stages, stages));
}

/* Do both names lead to one file? */
static bool same_file(const char *one, const char *other)
{
    struct stat a, b;
    return !fsim_is_stdout(one) && !fsim_is_stdout(other) && stat(one, &a) == 0 && stat(other, &b) == 0 &&
           S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* An input must not be an output too: a mistake would cost the measurements. calibrate may write to the hardware
 * file that it fits. */
static void check_overwriting(fsim_context *c, const char *option, const char *path)
{
    const fsim_settings *s = &c->set;
    bool input = c->args.count > 0 && same_file(path, c->args.at[0]);
    for (int i = 0; i < s->measurements.count; i++)
        input = input || same_file(path, s->measurements.at[i]);
    if (input || (s->plan && same_file(path, s->plan)))
        fsim_error(c->diag, fsim_command_line, "%s '%s' would overwrite what is read from there", option, path);
}

static void check_outputs(fsim_context *c)
{
    static const char *const stems[] = {".svg", ".png", ".pdf"};
    const fsim_settings *s = &c->set;
    for (fsim_format f = 0; f < FSIM_FILE_FORMATS; f++)
        for (fsim_format g = f + 1; g < FSIM_FILE_FORMATS; g++) {
            const char *one = fsim_file_asked(s, f), *other = fsim_file_asked(s, g);
            if (one && other && strcmp(one, other) == 0)
                fsim_error(c->diag, fsim_command_line, "%s and %s both write to %s", fsim_format_option(f),
                           fsim_format_option(g), fsim_is_stdout(one) ? "stdout" : one);
        }
    for (fsim_format f = 0; f < FSIM_FILE_FORMATS; f++)
        if (fsim_file_asked(s, f))
            check_overwriting(c, fsim_format_option(f), fsim_file_asked(s, f));
    if (s->output)
        check_overwriting(c, "-o", s->output);
    if (fsim_is_stdout(s->output) && fsim_on_stdout(s) != FSIM_AS_TEXT)
        fsim_error(c->diag, fsim_command_line, "-o and %s - both write to stdout",
                   fsim_format_option(fsim_on_stdout(s)));
    if (s->dump.count && fsim_on_stdout(s) != FSIM_AS_TEXT)
        fsim_error(c->diag, fsim_command_line, "--dump and %s - both write to stdout",
                   fsim_format_option(fsim_on_stdout(s)));
    const char *chart = fsim_file_asked(s, FSIM_AS_CHART);
    if (fsim_file_asked(s, FSIM_AS_DOT) && s->hw.count > 1)
        fsim_error(c->diag, fsim_command_line, "--dot draws the plan of one GPU, --hw names %d", s->hw.count);
    const char *dot = chart ? strrchr(chart, '.') : NULL;
    if (chart && !(dot && fsim_among(dot, stems, FSIM_COUNT_OF(stems))))
        fsim_error(c->diag, fsim_command_line, "--chart: '%s' wants a name that ends in .svg, .png or .pdf", chart);
    check_dump(c);
}

/* Checks the options that choose the plan to show and the plans to list. */
static void check_plan_options(fsim_context *c)
{
    enum { MOST_TOP = 1000, MOST_COMPILE_JOBS = 1024 };
    const fsim_settings *s = &c->set;
    if (s->plan && s->strategy != FSIM_STRATEGY_OPTIMAL)
        fsim_error(c->diag, fsim_command_line, "--plan and --strategy %s both say which plan to show",
                   fsim_strategy_names[s->strategy]);
    if (fsim_is_stdout(s->plan) && c->args.count && fsim_is_stdout(c->args.at[0]))
        fsim_error(c->diag, fsim_command_line, "the workload and --plan can't both be standard input");
    if (s->top > MOST_TOP)
        fsim_error(c->diag, fsim_command_line, "--top: at most %d plans are listed", MOST_TOP);
    if (s->compile_jobs > 0 && !s->compile_cost)
        fsim_error(c->diag, fsim_command_line, "--compile-jobs belongs to --compile-cost");
    if (s->compile_jobs > MOST_COMPILE_JOBS)
        fsim_error(c->diag, fsim_command_line, "--compile-jobs: at most %d processes compile at once",
                   MOST_COMPILE_JOBS);
}

/* Checks of the command line that need no file. */
static void check_command_line(fsim_context *c, const command *to)
{
    for (int i = 0; i < FSIM_COUNT_OF(options); i++)
        if (!(options[i].commands & to->bit) && fsim_arg_present(&options[i], &c->set))
            fsim_error(c->diag, fsim_command_line, "%s means nothing to '%s'", options[i].name, to->name);
    for (fsim_format f = 0; f < FSIM_FILE_FORMATS; f++)
        if (fsim_file_asked(&c->set, f) && !fsim_format_shows(f, to->kinds))
            fsim_error(c->diag, fsim_command_line, "%s means nothing to '%s': it shows %s", fsim_format_option(f),
                       to->name, fsim_format_kinds(f, c->arena));
    for (int i = 0; i < c->set.set.count; i++) {
        const char *text = c->set.set.at[i], *equals = strchr(text, '=');
        if (!equals || equals == text || !equals[1])
            fsim_error(c->diag, fsim_command_line, "--set '%s': wanted NAME=VALUE, e.g. --set B=64", text);
    }
    check_outputs(c);
    check_plan_options(c);
    if (!to->needs_inputs)
        return;
    if (c->args.count == 0)
        fsim_error(c->diag, fsim_command_line, "no workload: name a file, a shipped workload, or - for stdin");
    if (c->set.hw.count == 0)
        fsim_error(c->diag, fsim_command_line, "no GPU: say --hw NAME ('fusesim hw list' shows them)");
}

/* Reports words and GPUs that the command does not use; the first word may be a misspelt command. */
static void check_surplus(fsim_context *c, const command *to)
{
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    const bool surplus = c->args.count > to->most_words;
    const char *meant = surplus && to->bit == PLAN ? fsim_nearest(c->args.at[0], names, COMMANDS) : NULL;
    if (meant)
        fsim_error(c->diag, fsim_command_line, "unknown command '%s'; did you mean '%s'?", c->args.at[0], meant);
    else if (surplus)
        fsim_error(c->diag, fsim_command_line, "'%s' does not know what to do with '%s'", to->name,
                   c->args.at[to->most_words]);
    if (to->bit == EXPLAIN && c->args.count < to->most_words)
        fsim_error(c->diag, fsim_command_line, "explain wants a workload and the names of two operators");
    if (c->set.hw.count > to->most_gpus)
        fsim_error(c->diag, fsim_command_line, "%s takes one GPU, --hw names %d", to->name, c->set.hw.count);
}

static void print_usage(FILE *out, fsim_arena *a)
{
    enum { COMMAND_COLUMN = 32, USAGE_COLUMNS = 80 };
    fputs("usage: fusesim [command] [options] WORKLOAD     (no command: plan)\n\n", out);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s%-*s %s\n", commands[i].name, COMMAND_COLUMN, commands[i].args, commands[i].help);
    fputs("\nWORKLOAD: a YAML file, the name of a shipped one ('mlp'), or - for stdin\n"
          "import -o FILE: with WORKLOAD --hw HW a row for each kernel of the plan, and one\n"
          "for all; without, a list of the profile's kernels, which validate leaves out\n\n",
          out);
    fsim_args_usage(out, &known, a);
    fputs("\nstrategies\n", out);
    for (int i = 0; i < FSIM_STRATEGY_COUNT; i++)
        fprintf(out, "  %-10s%s%s\n", fsim_strategy_names[i], fsim_strategies[i].help,
                fsim_strategies[i].asked ? "; only when asked for" : "");
    fputs("\n--gate [GROUP:]METRIC=LIMIT: what must hold, by command\n", out);
    for (int i = 0; fsim_gate_tables[i]; i++)
        fsim_gate_usage(out, fsim_gate_tables[i]);
    putc('\n', out);
    fsim_paragraph(&(fsim_page){.out = out, .width = USAGE_COLUMNS}, FSIM_PLAIN, 0, 0,
                   fsim_printf(a, "Results go to stdout, all else to stderr. Exit status: %s.", fsim_exit_words()));
}

static int run(fsim_context *c, int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr, c->arena);
        return FSIM_EXIT_USAGE;
    }
    const command *to = read_command_line(c, argc, argv);
    if (c->set.strategy == NOT_GIVEN) /* measurements are mostly of eager plans */
        c->set.strategy = to->bit == IMPORT ? FSIM_STRATEGY_EAGER : FSIM_STRATEGY_OPTIMAL;
    if (c->set.help || c->set.version) {
        const int status = fsim_usage_status(c);
        if (!status && c->set.help)
            print_usage(stdout, c->arena);
        else if (!status)
            printf("fusesim %s\n", fsim_version());
        return status;
    }
    if (fsim_errors(c->diag) == 0)
        check_command_line(c, to);
    if (fsim_errors(c->diag) == 0)
        check_surplus(c, to);
    if (fsim_errors(c->diag))
        return fsim_usage_status(c);
    while (!(to->kinds & 1u << c->kind)) /* the first kind; a command with several kinds sets it itself */
        c->kind++;
    return to->run(c);
}

static void end_without_memory(void)
{
    fputs("fusesim: out of memory\n", stderr);
    exit(FSIM_EXIT_INTERNAL);
}

int main(int argc, char **argv)
{
    fsim_on_exhaustion(end_without_memory);
    fsim_arena *arena = fsim_arena_new();
#ifdef FUSESIM_TREE
    const char *data = FUSESIM_TREE;
#else
    const char *data = fsim_data_folder(arena);
#endif
    const fsim_environment environment = {.gnuplot = getenv("FUSESIM_GNUPLOT"),
                                          .source_date_epoch = getenv("SOURCE_DATE_EPOCH"),
                                          .columns = getenv("COLUMNS"),
                                          .no_color = getenv("NO_COLOR"),
                                          .term = getenv("TERM")};
    fsim_context c = {
        .arena = arena,
        .diag = fsim_diag_new(arena),
        .set = {.strategy = NOT_GIVEN, .device = FSIM_DEVICE_NONE, .launch = FSIM_REGIME_STREAM, .time_limit_s = 1},
        .hw_folders = {.own = getenv("FUSESIM_HWMODELS"), .shipped = fsim_printf(arena, "%s/hwmodels", data)},
        .workload_folder = fsim_printf(arena, "%s/workloads", data),
        .environment = environment,
        .width = fsim_terminal_columns(environment.columns)};
    const int status = fsim_finish_stdout(&c, run(&c, argc, argv));
    fsim_arena_free(arena);
    return status;
}
