/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the options and the table of subcommands; no modelling. A command reads its inputs, opens the files it is to write, asks
 * predict.h, and hands the answer to report.h. Files are written first and stdout last, so that a run that fails leaves nothing. */
#include "base/file.h"
#include "graph/op.h"
#include "predict.h"
#include "report/report.h"
#include "report/table.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

enum { DEFAULT_COLUMNS = 80, FEWEST_COLUMNS = 40, MOST_COLUMNS = 10000 };

static const char hw_folder[] = FUSESIM_DATA_DIR "/hwmodels";
static const char workload_folder[] = FUSESIM_DATA_DIR "/workloads";

/* Set by Ctrl-C; the searches end at their best so far. */
static volatile sig_atomic_t interrupted;

/* What the options say. */

typedef struct {
    const char **at;
    int count, room;
} list;

typedef struct {
    list hw, hw_set, set, dump;
    const char *json, *markdown, *chart;
    int strategy, objective, launch, l2, numerics, recompute, color; /* index into the option's choices */
    double time_limit_s;
    int64_t limit, jobs; /* limit 0: none */
    bool quiet, verbose, help, version;
} settings;

typedef struct context {
    fsim_arena *arena;
    fsim_diag *diag;
    settings set;
    const struct command *command;
    list args;                    /* the command line without options and command */
    fsim_output *json, *markdown; /* being written; NULL: not asked for, or stdout */
    int width;                    /* of the terminal; 0: not known */
} context;

typedef struct command {
    const char *name, *args, *help;
    unsigned bit;
    bool needs_inputs; /* a workload and hardware */
    int (*run)(context *c);
} command;

enum { PLAN = 1, ENUMERATE = 2, EXPLAIN = 4, HW = 8, OPS = 16, ANY = 31 };

enum { COMMANDS = 5 };
static const command commands[COMMANDS]; /* at the end, behind what they run */

static const fsim_loc command_line = {NULL, 0, 0};

typedef struct {
    const char *const *names;
    int count;
    const char *later; /* values of other releases, comma separated; NULL */
} choices;

static const char *const objective_names[] = {"time", "bytes"};
static const char *const l2_names[] = {"cold", "warm"};
static const char *const numerics_names[] = {"fast", "strict"};
static const char *const recompute_names[] = {"on", "off"};
static const char *const color_names[] = {"auto", "always", "never"};
enum { COLOR_AUTO, COLOR_ALWAYS };

static const choices strategies = {fsim_strategy_names, FSIM_STRATEGY_COUNT, "xla"};
static const choices objectives = {objective_names, COUNT_OF(objective_names), "memory,pareto"};
static const choices launches = {fsim_regime_names, FSIM_REGIME_COUNT, NULL};
static const choices l2_states = {l2_names, COUNT_OF(l2_names), NULL};
static const choices numerics = {numerics_names, COUNT_OF(numerics_names), NULL};
static const choices recomputation = {recompute_names, COUNT_OF(recompute_names), NULL};
static const choices colors = {color_names, COUNT_OF(color_names), NULL};

typedef enum { FLAG, TEXT, ITEM, ITEMS, CHOICE, COUNT, SECONDS } kind; /* ITEMS: comma separated; both kinds add up when repeated */

typedef struct {
    const char *name, *argument; /* argument NULL: the choices are shown */
    kind kind;
    size_t offset; /* in settings */
    const choices *choices;
    unsigned commands; /* that it means something to */
    const char *help;
} option;

#define AT(field) offsetof(settings, field)
static const option options[] = {
    {"--hw", "HW[,HW...]", ITEMS, AT(hw), NULL, ANY, "GPUs: names of 'fusesim hw list', or files"},
    {"--set", "NAME=VALUE", ITEM, AT(set), NULL, ANY, "a symbol of the workload; dtype is one"},
    {"--hw-set", "KEY=VALUE", ITEM, AT(hw_set), NULL, ANY, "what if: dram_bandwidth=2x, sms=64"},
    {"--strategy", NULL, CHOICE, AT(strategy), &strategies, ANY, "the plan to show (default optimal)"},
    {"--objective", NULL, CHOICE, AT(objective), &objectives, ANY, "what optimal minimises (time)"},
    {"--launch", NULL, CHOICE, AT(launch), &launches, ANY, "how kernels start (stream)"},
    {"--l2", NULL, CHOICE, AT(l2), &l2_states, ANY, "what L2 holds at the start (cold)"},
    {"--numerics", NULL, CHOICE, AT(numerics), &numerics, ANY, "strict: sums keep their order (fast)"},
    {"--recompute", NULL, CHOICE, AT(recompute), &recomputation, ANY, "may kernels compute a value twice (on)"},
    {"--time-limit", "SECONDS", SECONDS, AT(time_limit_s), NULL, ANY, "for the search (1)"},
    {"--limit", "N", COUNT, AT(limit), NULL, ENUMERATE, "of enumerate: stop after N partitions"},
    {"--jobs", "N", COUNT, AT(jobs), NULL, ANY, "threads; results do not depend on it"},
    {"--dump", "STAGE[,...]", ITEMS, AT(dump), NULL, PLAN, "graph, legal, parts, kernels, traffic, time"},
    {"--json", "FILE", TEXT, AT(json), NULL, ANY, "results for programs; - is stdout"},
    {"--markdown", "FILE", TEXT, AT(markdown), NULL, PLAN, "tables for a CI summary; - is stdout"},
    {"--chart", "FILE", TEXT, AT(chart), NULL, PLAN, "speedups and roofline: .svg, .png or .pdf"},
    {"--quiet", "", FLAG, AT(quiet), NULL, ANY, "no warnings"},
    {"--verbose", "", FLAG, AT(verbose), NULL, ANY, "everything that is known"},
    {"--color", NULL, CHOICE, AT(color), &colors, ANY, "NO_COLOR is honoured"},
    {"--help", "", FLAG, AT(help), NULL, ANY, "this text"},
    {"--version", "", FLAG, AT(version), NULL, ANY, "the version"},
};

/* Known to the manual, but of other releases. */
static const char *const later_options[] = {
    "--compile-cost", "--device", "--dim",    "--dot",      "--fail-on", "--gate", "--junit",  "--jvp",  "--measurements", "--memory-limit",
    "--plan",         "-o",       "--output", "--precision", "--report",  "--target", "--top", "--trace", "--train",        "--workload-root"};
static const char *const later_commands[] = {"validate", "calibrate", "sweep", "import", "diff", "codegen"};


/* The command line. */

static void add(context *c, list *to, const char *text) { *FSIM_PUSH(c->arena, to->at, to->count, to->room) = text; }

static bool among(const char *word, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, names[i]) == 0)
            return true;
    return false;
}

/* Adds the comma-separated parts of text. */
static void add_parts(context *c, list *to, const char *text)
{
    for (const char *end; (end = strchr(text, ',')); text = end + 1)
        add(c, to, fsim_strndup(c->arena, text, (size_t)(end - text)));
    add(c, to, text);
}

static void read_choice(context *c, const option *o, const char *text, int *value)
{
    const choices *all = o->choices;
    list later = {0};
    const char *wanted = "";
    for (int i = 0; i < all->count; i++) {
        if (strcmp(text, all->names[i]) == 0) {
            *value = i;
            return;
        }
        wanted = fsim_printf(c->arena, "%s%s%s", wanted, i ? ", " : "", all->names[i]);
    }
    if (all->later)
        add_parts(c, &later, all->later);
    if (among(text, later.at, later.count))
        fsim_error(c->diag, command_line, "%s %s is not in this release; wanted %s", o->name, text, wanted);
    else
        fsim_error(c->diag, command_line, "%s: unknown value '%s'%s; wanted %s", o->name, text,
                   fsim_did_you_mean(c->arena, text, all->names, all->count), wanted);
}

static void read_count(context *c, const option *o, const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (end == text || *end || errno || number < 1)
        fsim_error(c->diag, command_line, "%s: '%s' is not a whole number of at least 1", o->name, text);
    else
        *value = number;
}

static void read_seconds(context *c, const option *o, const char *text, double *value)
{
    static const double most = 1e6;
    char *end;
    const double number = strtod(text, &end);
    if (end == text || *end || !(number > 0 && number <= most))
        fsim_error(c->diag, command_line, "%s: '%s' is not a number of seconds from above 0 to %g", o->name, text, most);
    else
        *value = number;
}

/* value: NULL for flags. */
static void take_option(context *c, const option *o, const char *value)
{
    void *at = (char *)&c->set + o->offset;
    switch (o->kind) {
    case FLAG: *(bool *)at = true; break;
    case TEXT: *(const char **)at = value; break;
    case ITEM: add(c, at, value); break;
    case ITEMS: add_parts(c, at, value); break;
    case CHOICE: read_choice(c, o, value, at); break;
    case COUNT: read_count(c, o, value, at); break;
    case SECONDS: read_seconds(c, o, value, at); break;
    }
    if (o->kind != FLAG && !*value)
        fsim_error(c->diag, command_line, "%s has an empty value", o->name);
}

static const option *find_option(context *c, const char *name)
{
    const char *names[COUNT_OF(options)];
    for (int i = 0; i < COUNT_OF(options); i++) {
        names[i] = options[i].name;
        if (strcmp(name, names[i]) == 0)
            return &options[i];
    }
    if (among(name, later_options, COUNT_OF(later_options)))
        fsim_error(c->diag, command_line, "option %s is not in this release", name);
    else
        fsim_error(c->diag, command_line, "unknown option '%s'%s", name, fsim_did_you_mean(c->arena, name, names, COUNT_OF(options)));
    return NULL;
}

/* Reads the option at argv[i]; returns the index of the last word that it took. */
static int read_option(context *c, int argc, char **argv, int i)
{
    const char *word = argv[i], *equals = strchr(word, '=');
    const char *name = equals ? fsim_strndup(c->arena, word, (size_t)(equals - word)) : strcmp(word, "-h") == 0 ? "--help" : word;
    const option *o = find_option(c, name);
    if (!o)
        return i;
    if (o->kind == FLAG) {
        if (equals)
            fsim_error(c->diag, command_line, "%s takes no value", name);
        take_option(c, o, NULL);
    } else if (equals) {
        take_option(c, o, equals + 1);
    } else if (i + 1 == argc || strncmp(argv[i + 1], "--", 2) == 0) {
        fsim_error(c->diag, command_line, "%s needs a value%s%s", name, o->argument ? ": " : "", o->argument ? o->argument : "");
    } else {
        take_option(c, o, argv[++i]);
    }
    return i;
}

static const command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

/* Options may stand anywhere; the first other word is the command, where it is one; behind "--" nothing is an option. */
static void read_command_line(context *c, int argc, char **argv)
{
    bool all_words = false;
    for (int i = 1; i < argc; i++) {
        if (all_words || argv[i][0] != '-' || strcmp(argv[i], "-") == 0)
            add(c, &c->args, argv[i]);
        else if (strcmp(argv[i], "--") == 0)
            all_words = true;
        else
            i = read_option(c, argc, argv, i);
    }
    const char *first = c->args.count ? c->args.at[0] : "";
    c->command = find_command(first);
    if (c->command) {
        c->args.at++;
        c->args.count--;
    } else {
        c->command = find_command("plan");
        if (among(first, later_commands, COUNT_OF(later_commands)))
            fsim_error(c->diag, command_line, "command '%s' is not in this release", first);
    }
}

static void check_outputs(context *c)
{
    static const char *const stems[] = {".svg", ".png", ".pdf"};
    const settings *s = &c->set;
    const bool json = s->json && strcmp(s->json, "-") == 0, markdown = s->markdown && strcmp(s->markdown, "-") == 0;
    if (s->json && s->markdown && strcmp(s->json, s->markdown) == 0)
        fsim_error(c->diag, command_line, "--json and --markdown both write to %s", json ? "stdout" : s->json);
    if (s->dump.count && (json || markdown))
        fsim_error(c->diag, command_line, "--dump and %s - both write to stdout", json ? "--json" : "--markdown");
    const char *dot = s->chart ? strrchr(s->chart, '.') : NULL;
    if (s->chart && !(dot && among(dot, stems, COUNT_OF(stems))))
        fsim_error(c->diag, command_line, "--chart: '%s' wants a name that ends in .svg, .png or .pdf", s->chart);
    int stages = 0;
    while (fsim_dump_stages[stages])
        stages++;
    for (int i = 0; i < s->dump.count; i++)
        if (!among(s->dump.at[i], fsim_dump_stages, stages))
            fsim_error(c->diag, command_line, "--dump: unknown stage '%s'%s", s->dump.at[i],
                       fsim_did_you_mean(c->arena, s->dump.at[i], fsim_dump_stages, stages));
}

/* What can be said without looking at any file. */
static void check_command_line(context *c)
{
    settings was = c->set;
    for (int i = 0; i < COUNT_OF(options); i++) {
        const option *o = &options[i];
        const char *at = (const char *)&was + o->offset;
        const bool given = o->kind == TEXT    ? *(const char *const *)at != NULL
                           : o->kind == COUNT ? *(const int64_t *)at != 0
                           : o->kind == ITEMS ? ((const list *)at)->count > 0
                                              : false;
        if (given && !(o->commands & c->command->bit))
            fsim_error(c->diag, command_line, "%s means nothing to '%s'", o->name, c->command->name);
    }
    for (int i = 0; i < c->set.set.count; i++) {
        const char *text = c->set.set.at[i], *equals = strchr(text, '=');
        if (!equals || equals == text || !equals[1])
            fsim_error(c->diag, command_line, "--set '%s': wanted NAME=VALUE, e.g. --set B=64", text);
    }
    check_outputs(c);
    if (!c->command->needs_inputs)
        return;
    if (c->args.count == 0)
        fsim_error(c->diag, command_line, "no workload: name a file, a shipped workload, or - for stdin");
    if (c->set.hw.count == 0)
        fsim_error(c->diag, command_line, "no GPU: say --hw NAME ('fusesim hw list' shows them)");
}

/* Words that the command does not take; the first may be a misspelt command. */
static void check_surplus(context *c, int most)
{
    const char *names[COMMANDS];
    if (c->args.count <= most)
        return;
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    const char *meant = c->command->bit == PLAN ? fsim_nearest(c->args.at[0], names, COMMANDS) : NULL;
    if (meant)
        fsim_error(c->diag, command_line, "unknown command '%s'; did you mean '%s'?", c->args.at[0], meant);
    else
        fsim_error(c->diag, command_line, "'%s' does not know what to do with '%s'", c->command->name, c->args.at[most]);
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

static bool has_end(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* The workload's path: as given, else a name in the current folder's workloads/, else a shipped one. */
static const char *workload_path(context *c, const char *name)
{
    if (strcmp(name, "-") == 0 || is_file(name))
        return name;
    const char *here = fsim_printf(c->arena, "workloads/%s.yaml", name);
    if (is_file(here))
        return here;
    const char *shipped = fsim_printf(c->arena, "%s/%s.yaml", workload_folder, name);
    return is_file(shipped) ? shipped : name;
}

/* Names of the workloads under folder: "mlp", "ops/add". */
static void list_workloads(context *c, const char *folder, const char *prefix, list *names)
{
    static const char end[] = ".yaml";
    DIR *dir = opendir(folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        const char *path = fsim_printf(c->arena, "%s/%s", folder, e->d_name);
        const char *name = fsim_printf(c->arena, "%s%s", prefix, e->d_name);
        if (has_end(name, end) && is_file(path))
            add(c, names, fsim_strndup(c->arena, name, strlen(name) - strlen(end)));
        else if (e->d_name[0] != '.' && !*prefix && !is_file(path))
            list_workloads(c, path, fsim_printf(c->arena, "%s/", name), names);
    }
    if (dir)
        closedir(dir);
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static const char *nearest_workload(context *c, const char *name)
{
    list names = {0};
    list_workloads(c, "workloads", "", &names);
    list_workloads(c, workload_folder, "", &names);
    if (names.count)
        qsort(names.at, (size_t)names.count, sizeof *names.at, by_text);
    return fsim_did_you_mean(c->arena, has_end(name, ".yaml") ? fsim_strndup(c->arena, name, strlen(name) - 5) : name, names.at, names.count);
}

/* NULL after an error, with *status set. */
static fsim_graph *read_workload(context *c, int *status)
{
    const char *name = c->args.at[0], *path = workload_path(c, name), *why = "";
    if (has_end(name, ".onnx")) {
        fsim_error(c->diag, command_line, "'%s': ONNX models are not in this release; wanted a workload in YAML", name);
        *status = FSIM_EXIT_USAGE;
        return NULL;
    }
    size_t bytes = 0;
    const char *text = fsim_read_file(c->arena, path, &bytes, &why);
    if (!text) {
        fsim_error(c->diag, command_line, "cannot read workload '%s': %s%s", name, why, nearest_workload(c, name));
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

/* The workload and all hardware, so that their errors come at once. *g and *hw are good when it returns 0. */
static int read_inputs(context *c, fsim_graph **g, fsim_hw ***hw)
{
    int status = FSIM_EXIT_OK;
    *g = read_workload(c, &status);
    *hw = fsim_new(c->arena, fsim_hw *, c->set.hw.count + 1);
    for (int i = 0; i < c->set.hw.count; i++)
        (*hw)[i] = read_hw(c, c->set.hw.at[i], &status);
    return settle(c, status, FSIM_EXIT_BAD_INPUT);
}

static fsim_options model_options(const context *c)
{
    const settings *s = &c->set;
    return (fsim_options){.strategy = (fsim_strategy)s->strategy,
                          .regime = (fsim_regime)s->launch,
                          .objective = (fsim_objective)s->objective,
                          .warm = s->l2 == 1,
                          .strict = s->numerics == 1,
                          .no_recompute = s->recompute == 1,
                          .time_limit_s = s->time_limit_s,
                          .interrupted = &interrupted};
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

/* How a command shows what it found, as text and as JSON. False: the stream failed. */
typedef bool shower(FILE *out, const context *c, const void *what);
typedef struct {
    shower *text, *json, *markdown;
} forms;

static bool is_stdout(const char *path) { return path && strcmp(path, "-") == 0; }

static fsim_output *open_file(context *c, const char *name, const char *path)
{
    const char *why = "";
    fsim_output *o = path && !is_stdout(path) ? fsim_open_output(c->arena, path, &why) : NULL;
    if (path && !is_stdout(path) && !o)
        fsim_error(c->diag, command_line, "%s: cannot write '%s': %s", name, path, why);
    return o;
}

/* Before any work, so that a file that cannot be written costs no waiting. */
static int open_outputs(context *c)
{
    c->json = open_file(c, "--json", c->set.json);
    c->markdown = open_file(c, "--markdown", c->set.markdown);
    fsim_discard(open_file(c, "--chart", c->set.chart)); /* report.h opens it again when there is something to draw */
    const int status = settle(c, FSIM_EXIT_OK, FSIM_EXIT_USAGE);
    if (status) {
        fsim_discard(c->json);
        fsim_discard(c->markdown);
    }
    return status;
}

static bool show_in_file(context *c, fsim_output *o, const char *path, shower *show, const void *what)
{
    if (!o || (show(fsim_stream(o), c, what) && !ferror(fsim_stream(o))))
        return true;
    fsim_error(c->diag, command_line, "cannot write all of '%s'", path);
    return false;
}

static bool commit(context *c, fsim_output *o, const char *path)
{
    const char *why = "";
    if (!o || fsim_commit(o, &why))
        return true;
    fsim_error(c->diag, command_line, "cannot write '%s': %s", path, why);
    return false;
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
    fsim_discard(c->json);
    fsim_discard(c->markdown);
    return settle(c, status, FSIM_EXIT_INTERNAL);
}

/* All files, all of them whole, then stdout. */
static int deliver(context *c, const forms *f, const void *what)
{
    if (!show_in_file(c, c->json, c->set.json, f->json, what) || !show_in_file(c, c->markdown, c->set.markdown, f->markdown, what) ||
        !commit(c, c->json, c->set.json) || !commit(c, c->markdown, c->set.markdown))
        return give_up_outputs(c, FSIM_EXIT_OK);
    shower *show = is_stdout(c->set.json) ? f->json : is_stdout(c->set.markdown) ? f->markdown : f->text;
    if (!show(stdout, c, what) && !ferror(stdout)) /* a stream that failed is finish_stdout's */
        fsim_error(c->diag, command_line, "the results could not be written");
    return settle(c, FSIM_EXIT_OK, FSIM_EXIT_INTERNAL);
}

static bool use_color(const context *c)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (c->set.color != COLOR_AUTO)
        return c->set.color == COLOR_ALWAYS;
    return isatty(STDOUT_FILENO) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

/* $COLUMNS, else the terminal's; 0 where there is neither. */
static int columns(void)
{
    const char *text = getenv("COLUMNS");
    struct winsize size;
    long width = text ? strtol(text, NULL, 10) : 0;
    if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    return width <= 0 ? 0 : width < FEWEST_COLUMNS ? FEWEST_COLUMNS : width > MOST_COLUMNS ? MOST_COLUMNS : (int)width;
}

static fsim_text_style text_style(const context *c)
{
    return (fsim_text_style){.color = use_color(c), .verbose = c->set.verbose, .width = c->width ? c->width : DEFAULT_COLUMNS};
}

/* For tables whose long cells matter to whoever reads them from a pipe: as wide as they are, but on a terminal. */
static fsim_page table_page(FILE *out, const context *c)
{
    return (fsim_page){out, c->set.verbose ? 0 : c->width, use_color(c), fsim_utf8_locale()};
}

/* A string of JSON. */
static void put_string(FILE *out, const char *text)
{
    putc('"', out);
    for (const char *p = text; *p; p++) {
        const unsigned char byte = (unsigned char)*p;
        if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (byte < ' ' || byte == 0x7F)
            fprintf(out, "\\u%04x", byte);
        else
            putc(byte, out);
    }
    putc('"', out);
}

/* "key": text, or null; `comma` first where it is not the first. */
static void put_text(FILE *out, const char *comma, const char *key, const char *text)
{
    fprintf(out, "%s\"%s\": ", comma, key);
    if (text)
        put_string(out, text);
    else
        fputs("null", out);
}

static void put_number(FILE *out, const char *comma, const char *key, double number)
{
    if (isfinite(number))
        fprintf(out, "%s\"%s\": %.17g", comma, key, number);
    else
        fprintf(out, "%s\"%s\": null", comma, key);
}

static void put_bool(FILE *out, const char *comma, const char *key, bool value)
{
    fprintf(out, "%s\"%s\": %s", comma, key, value ? "true" : "false");
}

/* plan */

typedef struct {
    fsim_prediction *at;
    int count;
} predictions;

static bool plan_text(FILE *out, const context *c, const void *what)
{
    const predictions *p = what;
    const fsim_text_style style = text_style(c);
    const char *stages = "";
    for (int i = 0; i < c->set.dump.count; i++)
        stages = fsim_printf(c->arena, "%s%s%s", stages, i ? "," : "", c->set.dump.at[i]);
    for (int i = 0; *stages && i < p->count; i++)
        fsim_report_dump(out, &p->at[i], stages);
    if (p->count > 1)
        fsim_report_compare(out, p->at, p->count, &style);
    for (int i = 0; i < p->count && (p->count == 1 || style.verbose); i++) {
        if (p->count > 1)
            putc('\n', out);
        fsim_report_text(out, &p->at[i], &style);
    }
    return !ferror(out);
}

static bool plan_json(FILE *out, const context *c, const void *what)
{
    const predictions *p = what;
    (void)c;
    return fsim_report_json(out, p->at, p->count);
}

static bool plan_markdown(FILE *out, const context *c, const void *what)
{
    const predictions *p = what;
    (void)c;
    fsim_report_markdown(out, p->at, p->count);
    return !ferror(out);
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
    static const forms as = {plan_text, plan_json, plan_markdown};
    const fsim_options how = model_options(c);
    fsim_graph *g;
    fsim_hw **hw;
    check_surplus(c, 1);
    int status = usage_status(c);
    if (status || (status = read_inputs(c, &g, &hw)) || (status = open_outputs(c)))
        return status;
    catch_interrupt();
    const predictions p = {fsim_new(c->arena, fsim_prediction, c->set.hw.count), c->set.hw.count};
    for (int i = 0; i < p.count; i++)
        p.at[i] = fsim_predict(g, hw[i], &how, c->arena);
    if (!draw_chart(c, &p))
        return give_up_outputs(c, FSIM_EXIT_UNAVAILABLE);
    return deliver(c, &as, &p);
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
    const fsim_options how = model_options(c);
    fsim_graph *g;
    fsim_hw **hw;
    check_surplus(c, 1);
    if (c->set.hw.count > 1)
        fsim_error(c->diag, command_line, "enumerate takes one GPU, --hw names %d", c->set.hw.count);
    int status = usage_status(c);
    if (status || (status = read_inputs(c, &g, &hw)) || (status = open_outputs(c)))
        return status;
    catch_interrupt();
    const fsim_problem p = fsim_problem_of(g, hw[0], &how, c->arena);
    partition_stream s = {c->json ? fsim_stream(c->json) : stdout, g};
    bool truncated = false;
    const int64_t partitions = fsim_enumerate(&p, c->set.limit, put_partition, &s, &truncated);
    if (partitions < 0) {
        fsim_error(c->diag, command_line, "'%s' has %d primitives; enumerate goes up to 64: there are too many partitions to list", g->name,
                   g->nodes);
        return give_up_outputs(c, FSIM_EXIT_BAD_INPUT);
    }
    fsim_json_partitions_end(s.out, partitions, truncated || interrupted);
    if (!commit(c, c->json, c->set.json))
        return give_up_outputs(c, FSIM_EXIT_OK);
    return FSIM_EXIT_OK;
}

/* explain */

typedef struct {
    const fsim_graph *graph;
    const fsim_hw *hw;
    fsim_explanation e;
} explained;

/* The primitive that a word of the command line names, or -1 after an error. */
static int primitive_named(context *c, const fsim_graph *g, const char *name)
{
    const int n = fsim_find_node(g, name);
    if (n >= 0)
        return n;
    const char **names = fsim_new(c->arena, const char *, g->nodes + g->sources + 1);
    int count = 0;
    for (int i = 0; i < g->nodes; i++)
        names[count++] = g->node[i].name;
    for (int i = 0; i < g->sources; i++) {
        names[count++] = g->source[i].name;
        if (strcmp(g->source[i].name, name) == 0) {
            fsim_error(c->diag, command_line, "'%s' is a view, it is never computed: name an operator that is", name);
            return -1;
        }
    }
    for (int t = 0; t < g->tensors; t++)
        if (strcmp(g->tensor[t].name, name) == 0) {
            fsim_error(c->diag, command_line, "'%s' is an input of '%s', no operator", name, g->name);
            return -1;
        }
    fsim_error(c->diag, command_line, "'%s' has no operator '%s'%s", g->name, name, fsim_did_you_mean(c->arena, name, names, count));
    return -1;
}

/* "1.5 us more and 12.6 MiB less DRAM traffic" */
static const char *difference(fsim_arena *a, double seconds, double bytes)
{
    char time[40], traffic[40];
    fsim_show_seconds(time, sizeof time, fabs(seconds));
    fsim_show_bytes(traffic, sizeof traffic, fabs(bytes));
    if (seconds == 0 && bytes == 0)
        return "the same time";
    if (isnan(bytes) || bytes == 0)
        return fsim_printf(a, "%s %s", time, seconds < 0 ? "less" : "more");
    return fsim_printf(a, "%s %s and %s %s of DRAM traffic", time, seconds < 0 ? "less" : "more", traffic, bytes < 0 ? "less" : "more");
}

static bool explain_text(FILE *out, const context *c, const void *what)
{
    const explained *x = what;
    const fsim_explanation *e = &x->e;
    fsim_arena *a = c->arena;
    const fsim_page page = {out, text_style(c).width, use_color(c), fsim_utf8_locale()};
    const char *first = x->graph->node[e->a].name, *second = x->graph->node[e->b].name;
    char time[40], traffic[40];
    const char *with = e->between > 0 ? fsim_printf(a, ", with the %d primitive%s that must join them", e->between, e->between == 1 ? "" : "s") : "";
    if (e->legal)
        fsim_paragraph(&page, FSIM_GOOD, 0, 2, fsim_printf(a, "'%s' and '%s' may share a kernel%s.", first, second, with));
    else
        fsim_paragraph(&page, FSIM_BAD, 0, 2,
                       fsim_printf(a, "'%s' and '%s' may not share a kernel%s: %s (rule %s).", first, second, with,
                                   fsim_refusal_text(x->graph, &e->why, a), fsim_rule_names[e->why.rule]));
    fsim_paragraph(&page, FSIM_PLAIN, 0, 2,
                   fsim_printf(a, "On %s the best plan has them %s; it takes %s and moves %s to and from DRAM.", x->hw->name,
                               e->together ? "together" : "apart", fsim_show_seconds(time, sizeof time, e->best_s),
                               fsim_show_bytes(traffic, sizeof traffic, (double)e->best_bytes)));
    if (!e->together)
        fsim_paragraph(&page, FSIM_PLAIN, 0, 2,
                       e->forced_found
                           ? fsim_printf(a, "Forcing them together (fuse: [[%s, %s]]) takes %s.", first, second,
                                         difference(a, e->forced_s - e->best_s, (double)(e->forced_bytes - e->best_bytes)))
                           : "No plan was found that has them together.");
    else
        fsim_paragraph(&page, FSIM_PLAIN, 0, 2,
                       isnan(e->apart_s) ? "No plan was found that keeps them apart."
                                         : fsim_printf(a, "Keeping them apart (separate: [[%s, %s]]) takes %s.", first, second,
                                                       difference(a, e->apart_s - e->best_s, NAN)));
    return !ferror(out);
}

static bool explain_json(FILE *out, const context *c, const void *what)
{
    const explained *x = what;
    const fsim_explanation *e = &x->e;
    put_text(out, "{", "a", x->graph->node[e->a].name);
    put_text(out, ", ", "b", x->graph->node[e->b].name);
    put_text(out, ", ", "hardware", x->hw->name);
    put_bool(out, ", ", "legal", e->legal);
    put_text(out, ", ", "rule", e->legal ? NULL : fsim_rule_names[e->why.rule]);
    put_text(out, ", ", "message", e->legal ? NULL : fsim_refusal_text(x->graph, &e->why, c->arena));
    put_number(out, ", ", "needed", e->legal ? NAN : e->why.needed);
    put_number(out, ", ", "limit", e->legal ? NAN : e->why.limit);
    put_number(out, ", ", "between", e->between);
    put_bool(out, ", ", "together", e->together);
    put_number(out, ", ", "best_s", e->best_s);
    put_number(out, ", ", "best_bytes", (double)e->best_bytes);
    put_number(out, ", ", "forced_s", e->forced_found ? e->forced_s : NAN);
    put_number(out, ", ", "forced_bytes", e->forced_found ? (double)e->forced_bytes : NAN);
    put_number(out, ", ", "apart_s", e->apart_s);
    fputs("}\n", out);
    return !ferror(out);
}

static int run_explain(context *c)
{
    static const forms as = {explain_text, explain_json, NULL};
    const fsim_options how = model_options(c);
    fsim_graph *g;
    fsim_hw **hw;
    check_surplus(c, 3);
    if (c->args.count > 0 && c->args.count < 3)
        fsim_error(c->diag, command_line, "explain wants a workload and the names of two operators");
    if (c->set.hw.count > 1)
        fsim_error(c->diag, command_line, "explain takes one GPU, --hw names %d", c->set.hw.count);
    int status = usage_status(c);
    if (status || (status = read_inputs(c, &g, &hw)))
        return status;
    const int a = primitive_named(c, g, c->args.at[1]), b = primitive_named(c, g, c->args.at[2]);
    if (a >= 0 && a == b)
        fsim_error(c->diag, command_line, "'%s' and '%s' are the same primitive", c->args.at[1], c->args.at[2]);
    if ((status = settle(c, FSIM_EXIT_OK, FSIM_EXIT_USAGE)) || (status = open_outputs(c)))
        return status;
    catch_interrupt();
    const explained x = {g, hw[0], fsim_explain(g, hw[0], &how, a, b, c->arena)};
    return deliver(c, &as, &x);
}

/* hw */

typedef struct {
    const char *name; /* as the user or the folder has it */
    fsim_hw *hw;      /* NULL: not valid */
    int errors;
} named_hw;

typedef struct {
    named_hw *at;
    int count;
} hw_list;

static const char *shown(fsim_arena *a, double value, fsim_dim dim)
{
    char text[48];
    return isnan(value) ? "-" : fsim_strdup(a, fsim_show(text, sizeof text, value, dim));
}

static const struct {
    const char *title, *json;
    fsim_hw_key key;
} listed[] = {{"SMs", "sms", FSIM_HW_SMS},
              {"DRAM", "dram_bandwidth", FSIM_HW_DRAM_BANDWIDTH},
              {"FP32", "fp32_peak", FSIM_HW_FP32_PEAK},
              {"tensor f16", "tensor_f16", FSIM_HW_TENSOR_F16}};

static bool hw_list_text(FILE *out, const context *c, const void *what)
{
    const hw_list *all = what;
    fsim_column column[2 + COUNT_OF(listed)] = {{.title = "name", .left = true}, {.title = "architecture", .left = true}};
    for (int k = 0; k < COUNT_OF(listed); k++)
        column[2 + k] = (fsim_column){.title = listed[k].title};
    fsim_table t = fsim_table_new(c->arena, column, COUNT_OF(column));
    for (int i = 0; i < all->count; i++) {
        const fsim_hw *hw = all->at[i].hw;
        const char **cell = fsim_table_row(&t, hw ? FSIM_PLAIN : FSIM_BAD);
        cell[0] = all->at[i].name;
        cell[1] = hw ? hw->architecture : "not valid";
        for (int k = 0; hw && k < COUNT_OF(listed); k++)
            cell[2 + k] = shown(c->arena, fsim_hw_peak(hw, listed[k].key), fsim_hw_rows[listed[k].key].dim);
    }
    const fsim_page page = table_page(out, c);
    fsim_table_print(&page, &t, 0);
    return !ferror(out);
}

static bool hw_list_json(FILE *out, const context *c, const void *what)
{
    const hw_list *all = what;
    (void)c;
    for (int i = 0; i < all->count; i++) {
        const fsim_hw *hw = all->at[i].hw;
        put_text(out, i ? ",\n {" : "[{", "name", all->at[i].name);
        put_text(out, ", ", "architecture", hw ? hw->architecture : NULL);
        for (int k = 0; k < COUNT_OF(listed); k++)
            put_number(out, ", ", listed[k].json, hw ? fsim_hw_peak(hw, listed[k].key) : NAN);
        putc('}', out);
    }
    fputs(all->count ? "]\n" : "[]\n", out);
    return !ferror(out);
}

static int run_hw_list(context *c)
{
    static const forms as = {hw_list_text, hw_list_json, NULL};
    hw_list all = {0};
    int ignored = FSIM_EXIT_OK;
    const char **names = fsim_hw_list(c->arena, hw_folder, &all.count);
    fsim_diag *aside = fsim_diag_new(c->arena), *kept = c->diag; /* a file that is not valid is a row, 'hw check' says why */
    all.at = fsim_new(c->arena, named_hw, all.count + 1);
    c->diag = aside;
    for (int i = 0; i < all.count; i++)
        all.at[i] = (named_hw){names[i], read_hw(c, names[i], &ignored), 0};
    c->diag = kept;
    const int status = open_outputs(c);
    return status ? status : deliver(c, &as, &all);
}

static const char *peak_text(fsim_arena *a, const fsim_quantity *q, const fsim_hw_row *row)
{
    if (q->unknown && isnan(q->value) && isnan(q->achieved))
        return "unknown";
    const char *value = shown(a, q->value, row->dim);
    return row->form == FSIM_HW_BUS ? fsim_printf(a, "%s x %s", value, shown(a, q->bus_rate_bits_per_s, FSIM_DIM_BITS_PER_S)) : value;
}

static bool hw_show_text(FILE *out, const context *c, const void *what)
{
    static const fsim_column column[] = {{.title = "key", .left = true},
                                         {.title = "value"},
                                         {.title = "achieved"},
                                         {.title = "source", .left = true, .shrinks = true}};
    const fsim_hw *hw = what;
    fsim_table t = fsim_table_new(c->arena, column, COUNT_OF(column));
    for (int i = 0; i < FSIM_HW_COUNT; i++) {
        const fsim_quantity *q = &hw->q[i];
        if (!q->present)
            continue;
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = fsim_hw_rows[i].key;
        cell[1] = peak_text(c->arena, q, &fsim_hw_rows[i]);
        cell[2] = isnan(q->achieved) ? "" : shown(c->arena, q->achieved, fsim_hw_rows[i].dim);
        cell[3] = q->source;
    }
    fprintf(out, "%s: %s, %s\n", hw->name, hw->description, hw->architecture);
    const fsim_page page = table_page(out, c);
    fsim_table_print(&page, &t, 0);
    return !ferror(out);
}

static bool hw_show_json(FILE *out, const context *c, const void *what)
{
    const fsim_hw *hw = what;
    const char *comma = "\n ";
    (void)c;
    put_text(out, "{", "name", hw->name);
    put_text(out, ", ", "description", hw->description);
    put_text(out, ", ", "architecture", hw->architecture);
    put_text(out, ", ", "path", hw->path);
    put_text(out, ", ", "hash", hw->hash);
    fputs(", \"keys\": {", out);
    for (int i = 0; i < FSIM_HW_COUNT; i++) {
        const fsim_quantity *q = &hw->q[i];
        if (!q->present)
            continue;
        fprintf(out, "%s\"%s\": ", comma, fsim_hw_rows[i].key);
        put_number(out, "{", "value", q->value);
        put_number(out, ", ", "achieved", q->achieved);
        if (fsim_hw_rows[i].form == FSIM_HW_BUS)
            put_number(out, ", ", "rate", q->bus_rate_bits_per_s);
        put_text(out, ", ", "source", q->source);
        putc('}', out);
        comma = ",\n ";
    }
    fputs("}}\n", out);
    return !ferror(out);
}

static int run_hw_show(context *c)
{
    static const forms as = {hw_show_text, hw_show_json, NULL};
    int status = FSIM_EXIT_OK;
    const fsim_hw *hw = read_hw(c, c->args.at[1], &status);
    if ((status = settle(c, status, FSIM_EXIT_BAD_INPUT)) || (status = open_outputs(c)))
        return status;
    return deliver(c, &as, hw);
}

static bool hw_check_text(FILE *out, const context *c, const void *what)
{
    const hw_list *all = what;
    (void)c;
    for (int i = 0; i < all->count; i++)
        if (all->at[i].hw)
            fprintf(out, "%s: ok\n", all->at[i].name);
    return !ferror(out);
}

static bool hw_check_json(FILE *out, const context *c, const void *what)
{
    const hw_list *all = what;
    (void)c;
    for (int i = 0; i < all->count; i++) {
        put_text(out, i ? ",\n {" : "[{", "file", all->at[i].name);
        put_bool(out, ", ", "ok", all->at[i].hw != NULL);
        fprintf(out, ", \"errors\": %d}", all->at[i].errors);
    }
    fputs("]\n", out);
    return !ferror(out);
}

static int run_hw_check(context *c)
{
    static const forms as = {hw_check_text, hw_check_json, NULL};
    const hw_list all = {fsim_new(c->arena, named_hw, c->args.count), c->args.count - 1};
    int status = FSIM_EXIT_OK;
    for (int i = 0; i < all.count; i++) {
        const char *name = c->args.at[1 + i];
        const int before = fsim_errors(c->diag);
        fsim_hw *hw = read_hw(c, name, &status);
        all.at[i] = (named_hw){name, hw, fsim_errors(c->diag) - before};
    }
    status = settle(c, status, FSIM_EXIT_BAD_INPUT);
    const int written = open_outputs(c);
    const int delivered = written ? written : deliver(c, &as, &all);
    return status ? status : delivered;
}

static const struct {
    const char *name;
    int least, most; /* words behind it */
    const char *args;
    int (*run)(context *c);
} hw_commands[] = {{"list", 0, 0, "nothing more", run_hw_list},
                   {"show", 1, 1, "one name or file", run_hw_show},
                   {"check", 1, INT32_MAX, "names or files", run_hw_check}};

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

static const char *arity(fsim_arena *a, int least, int most)
{
    return most < 0 ? fsim_printf(a, "%d+", least) : least == most ? fsim_printf(a, "%d", least) : fsim_printf(a, "%d-%d", least, most);
}

/* Rows that only expansions make are no names that a workload may use. */
static bool is_public(int op)
{
    fsim_op parsed;
    return fsim_op_parse(fsim_ops[op].name, &parsed);
}

static bool ops_text(FILE *out, const context *c, const void *what)
{
    static const fsim_column column[] = {{.title = "operator", .left = true},
                                         {.title = "class", .left = true},
                                         {.title = "arguments"},
                                         {.title = "flops"},
                                         {.title = "expression", .left = true, .shrinks = true}};
    fsim_table t = fsim_table_new(c->arena, column, COUNT_OF(column));
    (void)what;
    for (int i = 0; i < FSIM_OP_COUNT; i++) {
        const fsim_op_row *op = &fsim_ops[i];
        if (!is_public(i))
            continue;
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = op->name;
        cell[1] = fsim_classes[op->class].name;
        cell[2] = arity(c->arena, op->least_args, op->most_args);
        cell[3] = op->class == FSIM_COMPOSITE ? "" : fsim_printf(c->arena, "%g", op->flops);
        cell[4] = op->expr;
    }
    const fsim_page page = table_page(out, c);
    fsim_table_print(&page, &t, 0);
    return !ferror(out);
}

static bool ops_json(FILE *out, const context *c, const void *what)
{
    const char *comma = "[{";
    (void)c;
    (void)what;
    for (int i = 0; i < FSIM_OP_COUNT; i++) {
        const fsim_op_row *op = &fsim_ops[i];
        if (!is_public(i))
            continue;
        const bool composite = op->class == FSIM_COMPOSITE;
        put_text(out, comma, "name", op->name);
        put_text(out, ", ", "class", fsim_classes[op->class].name);
        put_number(out, ", ", "least_arguments", op->least_args);
        put_number(out, ", ", "most_arguments", op->most_args < 0 ? NAN : (double)op->most_args);
        put_number(out, ", ", "flops", composite ? NAN : op->flops);
        put_number(out, ", ", "instructions", composite ? NAN : op->instructions);
        put_number(out, ", ", "specials", composite ? NAN : op->specials);
        put_text(out, ", ", "expression", op->expr);
        putc('}', out);
        comma = ",\n {";
    }
    fputs("]\n", out);
    return !ferror(out);
}

static int run_ops(context *c)
{
    static const forms as = {ops_text, ops_json, NULL};
    check_surplus(c, 0);
    int status = usage_status(c);
    if (status || (status = open_outputs(c)))
        return status;
    return deliver(c, &as, NULL);
}

/* The commands. */

static const command commands[COMMANDS] = {
    {"plan", "WORKLOAD --hw HW[,HW...]", "the best plan (the default command)", PLAN, true, run_plan},
    {"enumerate", "WORKLOAD --hw HW [--limit N]", "every legal partition, a line each", ENUMERATE, true, run_enumerate},
    {"explain", "WORKLOAD --hw HW OP OP", "may two share a kernel; the cost", EXPLAIN, true, run_explain},
    {"hw", "list | show NAME | check FILE...", "the GPUs", HW, false, run_hw},
    {"ops", "", "operators and flops per point", OPS, false, run_ops},
};

/* What stands behind an option: "FILE", "cold|warm". */
static const char *argument_text(fsim_arena *a, const option *o)
{
    const char *text = o->argument;
    for (int i = 0; o->kind == CHOICE && i < o->choices->count; i++)
        text = i ? fsim_printf(a, "%s|%s", text, o->choices->names[i]) : o->choices->names[i];
    return text;
}

static void print_usage(FILE *out, fsim_arena *a)
{
    enum { COMMAND_COLUMN = 32, OPTION_COLUMN = 34 };
    fputs("usage: fusesim [command] [options] WORKLOAD     (no command: plan)\n\n", out);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s%-*s %s\n", commands[i].name, COMMAND_COLUMN, commands[i].args, commands[i].help);
    fputs("\nWORKLOAD: a YAML file, the name of a shipped one ('mlp'), or - for stdin\n\n", out);
    for (int i = 0; i < COUNT_OF(options); i++) {
        const char *left = fsim_printf(a, "%s %s", options[i].name, argument_text(a, &options[i]));
        if (strlen(left) > OPTION_COLUMN)
            fprintf(out, "  %s\n  %*s %s\n", left, OPTION_COLUMN, "", options[i].help);
        else
            fprintf(out, "  %-*s %s\n", OPTION_COLUMN, left, options[i].help);
    }
    fputs("\nResults go to stdout, all else to stderr. Exit status: 0 ok, 2 usage,\n"
          "65 bad input, 66 no input, 69 unavailable, 70 failed.\n",
          out);
}

static int run(context *c, int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr, c->arena);
        return FSIM_EXIT_USAGE;
    }
    read_command_line(c, argc, argv);
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
    return fsim_errors(c->diag) ? usage_status(c) : c->command->run(c);
}

int main(int argc, char **argv)
{
    fsim_arena *arena = fsim_arena_new();
    context c = {.arena = arena,
                 .diag = fsim_diag_new(arena),
                 .set = {.strategy = FSIM_STRATEGY_OPTIMAL, .launch = FSIM_REGIME_STREAM, .time_limit_s = 1},
                 .width = columns()};
    const int status = finish_stdout(&c, run(&c, argc, argv));
    fsim_arena_free(arena);
    return status;
}
