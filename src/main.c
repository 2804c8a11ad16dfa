/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the options, the table of subcommands, and checks of the command line that need no file. No modelling. */
#include "api/handles.h"
#include "command/help.h"
#include "command/process.h"
#include "plan/price/deadline.h"
#include "report/terminal.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    WORKLOADS = 1024,
    SWEEP = 2048,
    MODELS = 4096,
    DIFF = 8192,
    COMPLETION = 16384,
    MANUAL = 32768,
    CAPACITY = 65536,
    MERGE = 131072,
    PLANS = PLAN | ENUMERATE | EXPLAIN | REGIONS | SWEEP | CODEGEN | VALIDATE, /* those that plan a workload */
    MODEL = PLANS | IMPORT,                                                    /* those that read one */
    CHARTED = PLAN | SWEEP | MERGE | VALIDATE,                                 /* those that draw charts */
    ANY = 262143
};

#define OF(kind) (1u << FSIM_RESULT_##kind)
static const fsim_command commands[] = {
#define IN_SOURCES " The files of the examples are in fusesim's source folder."
#include "command/commands.def"
#undef IN_SOURCES
};
enum { COMMANDS = FSIM_COUNT_OF(commands) };

enum { NOT_GIVEN = -1 };

static const char *const annotate_words[] = {"off", "github"};
static const char *const color_names[] = {"auto", "always", "never"};

static const fsim_choices strategies = {fsim_strategy_names, FSIM_STRATEGY_COUNT, NULL};
static const fsim_choices objectives = {fsim_objective_names, FSIM_OBJECTIVES, NULL};
static const fsim_choices launches = {fsim_regime_names, FSIM_REGIME_COUNT, NULL};
static const fsim_choices l2_states = {fsim_l2_words, FSIM_COUNT_OF(fsim_l2_words), NULL};
static const fsim_choices precisions = {fsim_precision_words, FSIM_PRECISIONS, NULL};
static const fsim_choices numerics = {fsim_numerics_words, FSIM_COUNT_OF(fsim_numerics_words), NULL};
static const char *const seed_words[] = {"inputs", "ones"};
static const fsim_choices seeds = {seed_words, FSIM_COUNT_OF(seed_words), NULL};
static const char *const autocast_words[] = {"off", "bf16", "f16"};
static const fsim_choices autocasts = {autocast_words, FSIM_COUNT_OF(autocast_words), NULL};
static const fsim_choices updates = {fsim_update_words, FSIM_UPDATES, NULL};
static const fsim_choices recomputation = {fsim_recompute_words, FSIM_COUNT_OF(fsim_recompute_words), NULL};
static const fsim_choices targets = {fsim_target_words, FSIM_COUNT_OF(fsim_target_words), NULL};
static const fsim_choices engines = {fsim_engine_words, FSIM_COUNT_OF(fsim_engine_words), NULL};
static const fsim_choices devices = {fsim_device_names, FSIM_DEVICE_COUNT, NULL};
static const fsim_choices themes = {fsim_theme_names, FSIM_THEMES, NULL};
static const fsim_choices annotations = {annotate_words, FSIM_COUNT_OF(annotate_words), NULL};
static const fsim_choices colors = {color_names, FSIM_COUNT_OF(color_names), NULL};

#define AT(field) offsetof(fsim_settings, field)
static const fsim_arg options[] = {
    {"--hw", "HW[,HW...]", FSIM_ARG_ITEMS, AT(hw), NULL, MODEL | CALIBRATE,
     "GPUs: names of 'fusesim hw list', or files"},
    {"--hw", "HW[,HW...]", FSIM_ARG_ITEMS, AT(hw), NULL, CAPACITY, "GPUs to choose from"},
    {"--system", "NAME[,...]", FSIM_ARG_ITEMS, AT(systems_named), NULL, CAPACITY, "clusters: dgx-h100, systems/*.yaml"},
    {"--load", "WHAT=N[,...]", FSIM_ARG_ITEMS, AT(load), NULL, CAPACITY, "input=2048,output=256,rate=20/s"},
    {"--goal", "METRIC=TIME", FSIM_ARG_ITEM, AT(goals), NULL, CAPACITY, "ttft=2s, tpot=40ms, latency=20s"},
    {"--engine", NULL, FSIM_ARG_CHOICE, AT(engine), &engines, CAPACITY, "serving program (vllm)"},
    {"--weights", "NAME[,...]", FSIM_ARG_ITEMS, AT(weights), NULL, CAPACITY, "bf16, f8, f4 (what the GPU has)"},
    {"--cache", "NAME[,...]", FSIM_ARG_ITEMS, AT(caches), NULL, CAPACITY, "of keys and values: bf16, f8 (both)"},
    {"--price", "HW=USD[,...]", FSIM_ARG_ITEMS, AT(prices), NULL, CAPACITY, "an hour of a GPU (its key rent)"},
    {"--fused", "", FSIM_ARG_FLAG, AT(fused), NULL, CAPACITY, "what the best fusion would save (seconds)"},
    {"--train", "", FSIM_ARG_FLAG, AT(train), NULL, CAPACITY, "train the model instead of serving it"},
    {"--checkpoint", "", FSIM_ARG_FLAG, AT(checkpoint), NULL, CAPACITY, "only ways that compute each layer again"},
    {"--tokens", "N", FSIM_ARG_TEXT, AT(tokens), NULL, CAPACITY, "of the whole training: 1e12"},
    {"--deadline", "TIME", FSIM_ARG_TEXT, AT(deadline), NULL, CAPACITY, "of the training: 30d or 12h"},
    {"--length", "N", FSIM_ARG_COUNT, AT(length), NULL, CAPACITY, "tokens of a sequence in training (4096)"},
    {"--batch", "N", FSIM_ARG_COUNT, AT(batch), NULL, CAPACITY, "sequences of a step (4194304 tokens)"},
    {"--node", "N", FSIM_ARG_COUNT, AT(node), NULL, CAPACITY, "GPUs that may share a layer (a node)"},
    {"--pp", "N", FSIM_ARG_COUNT, AT(stages), NULL, CAPACITY, "stages of each copy that serves (the best)"},
    {"--gpus", "N", FSIM_ARG_COUNT, AT(gpus), NULL, CAPACITY, "at most so many: 1024, with --train 16384"},
    {"--set", "NAME=VALUE", FSIM_ARG_ITEM, AT(set), NULL, MODEL | WORKLOADS,
     "a symbol of the workload: B=8, dtype=bf16"},
    {"--dim", "NAME=VALUE", FSIM_ARG_ITEM, AT(dim), NULL, MODEL | WORKLOADS, "a dimension of a model: batch=8, x:0=8"},
    {"--precision", NULL, FSIM_ARG_CHOICE, AT(precision), &precisions, MODEL | WORKLOADS, "the dtype of all floats"},
    {"--hw-set", "KEY=VALUE", FSIM_ARG_ITEM, AT(hw_set), NULL, MODEL | CALIBRATE | HW | CAPACITY,
     "what if: dram_bandwidth=2x, sms=64"},
    {"--strategy", NULL, FSIM_ARG_CHOICE, AT(strategy), &strategies, PLAN | SWEEP | CODEGEN,
     "the plan to show (optimal)"},
    {"--strategy", NULL, FSIM_ARG_CHOICE, AT(strategy), &strategies, IMPORT, "the plan that was run (eager)"},
    {"--plan", "FILE", FSIM_ARG_TEXT, AT(plan), NULL, PLAN | CODEGEN, "show this partition: JSON of a plan"},
    {"--plan", "FILE", FSIM_ARG_TEXT, AT(plan), NULL, VALIDATE, "of --device: run this plan, of these shapes"},
    {"--objective", NULL, FSIM_ARG_CHOICE, AT(objective), &objectives, PLANS, "what optimal minimises (time)"},
    {"--memory-limit", "SIZE", FSIM_ARG_SIZE, AT(memory_limit), NULL, PLAN | EXPLAIN,
     "that a plan may need at its peak: 3 GiB"},
    {"--top", "K", FSIM_ARG_COUNT, AT(top), NULL, PLAN, "list the K best plans"},
    {"--top", "K", FSIM_ARG_COUNT, AT(top), NULL, VALIDATE, "list the K worst rows (10)"},
    {"--compile-cost", "", FSIM_ARG_FLAG, AT(compile_cost), NULL, PLAN, "seconds to compile, runs to break even"},
    {"--compile-jobs", "N", FSIM_ARG_COUNT, AT(compile_jobs), NULL, PLAN, "of --compile-cost: processes at once (1)"},
    {"--launch", NULL, FSIM_ARG_CHOICE, AT(launch), &launches, PLANS, "whose time: the GPU's (stream)"},
    {"--l2", NULL, FSIM_ARG_CHOICE, AT(l2), &l2_states, PLANS, "what L2 holds at the start (cold)"},
    {"--numerics", NULL, FSIM_ARG_CHOICE, AT(numerics), &numerics, MODEL, "strict: sums keep their order (fast)"},
    {"--recompute", NULL, FSIM_ARG_CHOICE, AT(recompute), &recomputation, MODEL,
     "may any plan compute a value twice (on)"},
    {"--time-limit", "SECONDS", FSIM_ARG_SECONDS, AT(time_limit_s), NULL, MODEL,
     "by the clock, for the plan on each GPU"},
    {"--search-steps", "N", FSIM_ARG_COUNT, AT(search_steps), NULL, (MODEL & ~ENUMERATE) | CAPACITY,
     "the same limit on every machine (6000000)"},
    {"--search-memory", "SIZE", FSIM_ARG_SIZE, AT(search_memory), NULL, MODEL, "that the search may take (2 GiB)"},
    {"--train", "", FSIM_ARG_FLAG, AT(train), NULL, PLANS, "with the gradients of its outputs"},
    {"--jvp", "", FSIM_ARG_FLAG, AT(jvp), NULL, PLANS, "with its slope along a direction"},
    {"--grad", "NAME[,...]", FSIM_ARG_ITEMS, AT(grad), NULL, PLANS, "all, weights, or these tensors (all)"},
    {"--seed", NULL, FSIM_ARG_CHOICE, AT(seed), &seeds, PLANS, "the gradients of outputs are (inputs)"},
    {"--optimizer", NULL, FSIM_ARG_CHOICE, AT(update), &updates, PLANS, "how gradients change the weights (none)"},
    {"--clip", "NORM", FSIM_ARG_NUMBER, AT(clip), NULL, PLANS, "most that all gradients' norm may be: 1"},
    {"--micro-batches", "N", FSIM_ARG_COUNT, AT(micro_batches), NULL, PLANS, "whose gradients one update sums up"},
    {"--checkpoint", "", FSIM_ARG_FLAG, AT(checkpoint), NULL, PLANS, "backward computes each layer again"},
    {"--save-dtype", "DTYPE[:NAME,...]", FSIM_ARG_TEXT, AT(save_dtype), NULL, PLANS,
     "keep values for backward in f8, bf16, f16"},
    {"--activation-memory-budget", "SHARE", FSIM_ARG_TEXT, AT(activation_budget), NULL, PLAN,
     "torch.compile's, from 0 to 1 (1)"},
    {"--data-parallel", "N", FSIM_ARG_COUNT, AT(data_parallel), NULL, PLAN, "GPUs of one node, a batch each"},
    {"--zero", "STAGE", FSIM_ARG_COUNT, AT(zero), NULL, PLAN, "shared out: 1 state, 2 gradients, 3 weights"},
    {"--autocast", NULL, FSIM_ARG_CHOICE, AT(autocast), &autocasts, PLANS, "as torch.autocast: products in 16 bits"},
    {"--scale-shapes", "N", FSIM_ARG_COUNT, AT(scale), NULL, MODEL, "divide lengths by powers of 2 up to N"},
    {"--over", "NAME=FIRST:LAST[:STEP]", FSIM_ARG_ITEM, AT(over), NULL, REGIONS, "a symbol's values: S=1:4096"},
    {"--over", "NAME=VALUES", FSIM_ARG_ITEM, AT(over), NULL, SWEEP, "what varies: B=1:256:x2, dtype=f16,f32"},
    {"--limit", "N", FSIM_ARG_COUNT, AT(limit), NULL, ENUMERATE, "stop after N partitions"},
    {"--measurements", "FILE", FSIM_ARG_ITEM, AT(measurements), NULL, VALIDATE | CALIBRATE, "rows of measured runs"},
    {"--measurements", "FILE", FSIM_ARG_ITEM, AT(measurements), NULL, IMPORT, "the profile to read"},
    {"--systems", "FILE", FSIM_ARG_TEXT, AT(systems), NULL, VALIDATE, "rows of whole serving systems and trainings"},
    {"--workload-root", "DIR", FSIM_ARG_ITEM, AT(roots), NULL, VALIDATE | CALIBRATE, "a folder of the rows' workloads"},
    {"--match", "TEXT", FSIM_ARG_ITEM, AT(match), NULL, VALIDATE | CALIBRATE, "only rows whose id holds TEXT"},
    {"--class", "NAME[,...]", FSIM_ARG_ITEMS, AT(classes), NULL, VALIDATE, "only rows of these kinds of work: softmax"},
    {"--above", "TIME", FSIM_ARG_TEXT, AT(above), NULL, VALIDATE, "only rows measured to take longer: 100us"},
    {"--by", "KEY[,...]", FSIM_ARG_ITEMS, AT(by), NULL, VALIDATE, "group by hw, class, strategy, folder, ..."},
    {"--gate", "[GROUP:]METRIC=LIMIT", FSIM_ARG_ITEM, AT(gates), NULL, PLAN | VALIDATE,
     "exit 1 where it does not hold: time=5ms"},
    {"--gate", "[GROUP:]METRIC=LIMIT", FSIM_ARG_ITEM, AT(gates), NULL, DIFF, "exit 1 where it grows more: time=3%"},
    {"--no-exclude", "", FSIM_ARG_FLAG, AT(no_exclude), NULL, VALIDATE, "keep rows that do not measure kernels"},
    {"--unseen", "", FSIM_ARG_FLAG, AT(unseen), NULL, VALIDATE, "as if nothing were measured on the GPUs"},
    {"--fit", "GROUP[,...]", FSIM_ARG_ITEMS, AT(fit), NULL, CALIBRATE, "scalars to fit (all that have rows)"},
    {"--host", "FILE", FSIM_ARG_TEXT, AT(host), NULL, CALIBRATE, "the host, as tools/host.py measured it"},
    {"--fresh", "", FSIM_ARG_FLAG, AT(fresh), NULL, CALIBRATE, "start from similar GPUs, not from the file"},
    {"--folds", "K", FSIM_ARG_COUNT, AT(folds), NULL, VALIDATE | CALIBRATE, "fit on other parts than judged (5)"},
    {"--refit", "", FSIM_ARG_FLAG, AT(refit), NULL, VALIDATE, "of --folds: the code's own numbers"},
    {"--device", NULL, FSIM_ARG_CHOICE, AT(device), &devices, VALIDATE | CALIBRATE, "measure on this machine"},
    {"--registers", "", FSIM_ARG_FLAG, AT(registers), NULL, VALIDATE, "compile kernels, compare registers"},
    {"--arch", "NN[,...]", FSIM_ARG_ITEMS, AT(archs), NULL, VALIDATE, "of --registers: 80,90,100 or all (as --hw)"},
    {"--strategies", "NAME[,...]", FSIM_ARG_ITEMS, AT(strategies), &strategies, VALIDATE,
     "plans that run (eager ... optimal)"},
    {"--measured", "FILE", FSIM_ARG_TEXT, AT(measured), NULL, VALIDATE, "of --device: rows for --measurements"},
    {"--samples", "N", FSIM_ARG_COUNT, AT(samples), NULL, VALIDATE, "of --device: runs of each kernel"},
    {"--budget", "SECONDS", FSIM_ARG_SECONDS, AT(budget_s), NULL, VALIDATE, "of --device: to measure each workload in"},
    {"--no-measure", "", FSIM_ARG_FLAG, AT(no_measure), NULL, VALIDATE, "of --device: compare only, time nothing"},
    {"--no-check", "", FSIM_ARG_FLAG, AT(no_check), NULL, VALIDATE, "of --device: do not compare with reference"},
    {"--no-counters", "", FSIM_ARG_FLAG, AT(no_counters), NULL, VALIDATE, "of --device cuda: times only"},
    {"--threads", "N", FSIM_ARG_COUNT, AT(threads), NULL, VALIDATE | CALIBRATE, "of --device cpu (one a CPU)"},
    {"--target", NULL, FSIM_ARG_CHOICE, AT(target), &targets, CODEGEN, "language of the kernels (cuda)"},
    {"-o", "DIR", FSIM_ARG_TEXT, AT(output), NULL, CODEGEN, "the folder to write"},
    {"--zip", "NAME,NAME...", FSIM_ARG_ITEM, AT(zip), NULL, SWEEP, "axes of --over that vary together: B,S"},
    {"-o", "FILE", FSIM_ARG_TEXT, AT(output), NULL, SWEEP | MERGE, "the points as CSV, or .jsonl"},
    {"--find", "NAME", FSIM_ARG_TEXT, AT(find), NULL, SWEEP | MERGE, "its values with which --under holds"},
    {"--under", "METRIC=LIMIT", FSIM_ARG_ITEM, AT(under), NULL, SWEEP | MERGE, "time=50ms, memory=80GiB, speedup=1.2"},
    {"--shard", "I/N", FSIM_ARG_TEXT, AT(shard), NULL, SWEEP, "one of N parts, 0/N to N-1/N, for merge"},
    {"--resume", "", FSIM_ARG_FLAG, AT(resume), NULL, SWEEP, "go on where the same -o was ended"},
    {"-o", "FILE", FSIM_ARG_TEXT, AT(output), NULL, CALIBRATE, "the hardware file to write; - is stdout"},
    {"-o", "FILE", FSIM_ARG_TEXT, AT(output), NULL, HW, "of new: the file to write (NAME.yaml)"},
    {"--like", "GPU", FSIM_ARG_TEXT, AT(like), NULL, HW, "of new: the GPU to inherit from"},
    {"-o", "FILE", FSIM_ARG_TEXT, AT(output), NULL, IMPORT, "the workload or rows to write; - is stdout"},
    {"--check", "", FSIM_ARG_FLAG, AT(check), NULL, IMPORT, "list a model's operators: known or not"},
    {"--summary", "", FSIM_ARG_FLAG, AT(summary), NULL, WORKLOADS, "FLOPs, bytes and parameters, by layer"},
    {"--jobs", "N", FSIM_ARG_COUNT, AT(jobs), NULL, MODEL | CALIBRATE | CAPACITY,
     "threads (one a CPU); the same results"},
    {"--dump", "STAGE[,...]", FSIM_ARG_ITEMS, AT(dump), NULL, PLAN, "graph, legal, parts, kernels, traffic, time"},
#define FSIM_FORMAT(id, name, option, help) {option, "FILE", FSIM_ARG_TEXT, AT(format[FSIM_AS_##id]), NULL, ANY, help},
#include "command/formats.def"
#undef FSIM_FORMAT
    {"--chart-kind", "NAME[,...]", FSIM_ARG_ITEMS, AT(chart_kinds), NULL, PLAN,
     "speedup, roofline, kernels, layers, ..."},
    {"--chart-size", "WxH", FSIM_ARG_TEXT, AT(chart_size), NULL, CHARTED, "pixels: 1200x800, or the width alone"},
    {"--theme", NULL, FSIM_ARG_CHOICE, AT(theme), &themes, CHARTED, "of charts (light)"},
    {"--quiet", "", FSIM_ARG_FLAG, AT(quiet), NULL, ANY, "one line, and no warnings"},
    {"--verbose", "", FSIM_ARG_FLAG, AT(verbose), NULL, ANY, "everything that is known"},
    {"--annotate", NULL, FSIM_ARG_CHOICE, AT(annotate), &annotations, ANY, "errors, gates, results as its commands"},
    {"--color", NULL, FSIM_ARG_CHOICE, AT(color), &colors, ANY, "NO_COLOR is honoured"},
    {"--help", "", FSIM_ARG_FLAG, AT(help), NULL, ANY, "this text"},
    {"--version", "", FSIM_ARG_FLAG, AT(version), NULL, ANY, "the version"},
};

/* Options of planned releases. */
static const char *const later_options[] = {"--fail-on", "--output"};

/* The options that the short help lists. */
static const char *const often[] = {"--hw",  "--set",  "--strategy", "--launch",  "--l2",
                                    "--top", "--gate", "--json",     "--verbose", "--help"};

enum { OPTIONS = FSIM_COUNT_OF(options) };

/* The command line. */

static const fsim_command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

/* The nearest name of a command, or NULL. */
static const char *nearest_command(const char *name)
{
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    return fsim_nearest(name, names, COMMANDS);
}

static void drop_word(fsim_context *c)
{
    c->args.at++;
    c->args.count--;
}

/* "help" in front of the command's name is --help behind it. */
static void read_help(fsim_context *c)
{
    if (c->args.count == 0 || strcmp(c->args.at[0], "help") != 0)
        return;
    c->set.help = true;
    drop_word(c);
    if (c->args.count == 0 || find_command(c->args.at[0]))
        return;
    const char *meant = nearest_command(c->args.at[0]);
    fsim_error(c->diag, fsim_command_line, "help: unknown command '%s'%s", c->args.at[0],
               meant ? fsim_printf(c->arena, "; did you mean '%s'?", meant) : "");
}

/* The first word that is no option is the command, if it is the name of one. */
static const fsim_command *read_command_line(fsim_context *c, const fsim_args *known, int argc, char **argv)
{
    c->args = fsim_args_read(known, c->arena, c->diag, argc, argv, &c->set);
    read_help(c);
    const char *first = c->args.count ? c->args.at[0] : "";
    const fsim_command *named = find_command(first);
    if (named) {
        c->command = named->name;
        drop_word(c);
        return named;
    }
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
    if (input || (s->plan && same_file(path, s->plan)) || (s->host && same_file(path, s->host)))
        fsim_error(c->diag, fsim_command_line, "%s '%s' would overwrite what is read from there", option, path);
}

static void check_outputs(fsim_context *c)
{
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
    if (chart && fsim_chart_ending(chart) < 0)
        fsim_error(c->diag, fsim_command_line, "--chart: '%s' wants a name that ends in .svg, .png or .pdf", chart);
    fsim_read_chart_style(c);
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

/* "; did you mean '--strategies'?", or "; it belongs to plan, import": of an option that the command does not take. */
static const char *belongs_to(fsim_context *c, const fsim_command *to, const char *name)
{
    enum { STEM = 6 }; /* a name of its own that begins alike is what was meant */
    const size_t stem = strlen(name) - 1;
    const char *text = "";
    for (int i = 0; i < OPTIONS && stem > STEM; i++)
        if (fsim_command_takes(to, &options[i]) && strncmp(options[i].name, name, stem) == 0)
            return fsim_printf(c->arena, "; did you mean '%s'?", options[i].name);
    for (int k = 0; k < COMMANDS; k++)
        for (int i = 0; i < OPTIONS; i++)
            if (strcmp(options[i].name, name) == 0 && fsim_command_takes(&commands[k], &options[i]))
                text = fsim_printf(c->arena, "%s%s%s", text, *text ? ", " : "; it belongs to ", commands[k].name);
    return text;
}

/* Reports options that the command does not take. */
static void check_options(fsim_context *c, const fsim_command *to, const bool *used)
{
    for (fsim_format f = 0; f < FSIM_FILE_FORMATS; f++)
        if (fsim_file_asked(&c->set, f) && !fsim_format_shows(f, to->kinds))
            fsim_error(c->diag, fsim_command_line, "%s means nothing to '%s': it shows %s", fsim_format_option(f),
                       to->name, fsim_format_kinds(f, c->arena));
    for (int i = 0; i < OPTIONS; i++) {
        bool known = false;
        for (int k = i; k < OPTIONS; k++)
            known = known || (strcmp(options[k].name, options[i].name) == 0 && options[k].commands & to->bit);
        if (used[i] && !known)
            fsim_error(c->diag, fsim_command_line, "%s means nothing to '%s'%s", options[i].name, to->name,
                       belongs_to(c, to, options[i].name));
    }
}

/* Checks of the command line that need no file. */
static void check_command_line(fsim_context *c, const fsim_command *to)
{
    fsim_check_bindings(c);
    check_outputs(c);
    check_plan_options(c);
    if (!to->needs_inputs)
        return;
    if (c->args.count == 0)
        fsim_error(c->diag, fsim_command_line, "no workload: name a file, a shipped workload, or - for stdin");
    const char *meant = !c->command && c->args.count == 1 ? nearest_command(c->args.at[0]) : NULL;
    if (c->set.hw.count == 0)
        fsim_error(c->diag, fsim_command_line, "no GPU: say --hw NAME ('fusesim hw list' shows them)%s",
                   meant ? fsim_printf(c->arena, ", or is '%s' the command '%s'?", c->args.at[0], meant) : "");
}

/* Reports words and GPUs that the command does not use; the first word may be a misspelt command. */
static void check_surplus(fsim_context *c, const fsim_command *to)
{
    const bool surplus = c->args.count > to->most_words;
    const char *meant = surplus && to->bit == PLAN ? nearest_command(c->args.at[0]) : NULL;
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

/* What --help asked for: all commands, or the one that was named or has a workload. */
static int show_help(fsim_context *c, const fsim_commands *all, const fsim_command *to)
{
    const int status = fsim_usage_status(c);
    if (status)
        return status;
    if (c->command || c->args.count)
        fsim_help_of(stdout, all, to, c->arena);
    else
        fsim_help(stdout, all, c->arena);
    return FSIM_EXIT_OK;
}

static int run(fsim_context *c, int argc, char **argv)
{
    bool used[OPTIONS] = {false};
    const fsim_args known = {options, OPTIONS, later_options, FSIM_COUNT_OF(later_options), used};
    const fsim_commands all = {commands, COMMANDS, &known, often, FSIM_COUNT_OF(often)};
    if (argc < 2) {
        fsim_help(stderr, &all, c->arena);
        return FSIM_EXIT_USAGE;
    }
    c->commands = &all;
    const fsim_command *to = read_command_line(c, &known, argc, argv);
    if (c->set.strategy == NOT_GIVEN) /* measurements are mostly of eager plans */
        c->set.strategy = to->bit == IMPORT ? FSIM_STRATEGY_EAGER : FSIM_STRATEGY_OPTIMAL;
    if (c->set.help)
        return show_help(c, &all, to);
    if (c->set.version) {
        const int status = fsim_usage_status(c);
        if (!status)
            printf("fusesim %s\n", fsim_version());
        return status;
    }
    if (fsim_errors(c->diag) == 0)
        check_options(c, to, used);
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
    fsim_discard_all();
    fputs("fusesim: error: out of memory\n", stderr);
    exit(FSIM_EXIT_INTERNAL);
}

int main(int argc, char **argv)
{
    fsim_begin_process();
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
        .set = {.strategy = NOT_GIVEN,
                .precision = NOT_GIVEN,
                .device = FSIM_DEVICE_NONE,
                .launch = FSIM_REGIME_STREAM},
        .hw_folders = {.own = getenv("FUSESIM_HWMODELS"), .shipped = fsim_printf(arena, "%s/hwmodels", data)},
        .workload_folder = fsim_printf(arena, "%s/workloads", data),
        .system_folder = fsim_printf(arena, "%s/systems", data),
        .environment = environment,
        .began_s = fsim_clock_s(),
        .width = fsim_terminal_columns(environment.columns)};
    const int status = fsim_finish_stdout(&c, run(&c, argc, argv));
    fsim_arena_free(arena);
    return status;
}
