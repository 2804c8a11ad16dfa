/* SPDX-License-Identifier: Apache-2.0 */
#include "command/command.h"
#include "import/load.h"
#include "plan/partition_file.h"
#include "report/describe.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Set by Ctrl-C; searches then end with their best plan so far. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    __atomic_store_n(&interrupted, 1, __ATOMIC_RELAXED);
}

const char *const fsim_precision_words[FSIM_PRECISIONS] = {"f16", "bf16", "tf32", "f32", "f8"};

const char *fsim_today(const fsim_context *c)
{
    const char *epoch = c->environment.source_date_epoch;
    const time_t now = epoch ? (time_t)strtoll(epoch, NULL, 10) : time(NULL);
    struct tm day;
    char text[16] = "";
    if (gmtime_r(&now, &day))
        strftime(text, sizeof text, "%Y-%m-%d", &day);
    return fsim_strdup(c->arena, text);
}

int fsim_interrupted_status(void) { return fsim_is_set(&interrupted) ? FSIM_EXIT_INTERRUPTED : FSIM_EXIT_OK; }

void fsim_catch_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

const char *fsim_read_text(fsim_context *c, const char *what, const char *path, size_t *bytes)
{
    const char *why = "", *text = fsim_read_file(c->arena, path, bytes, &why);
    if (!text)
        fsim_failure(c->diag, FSIM_NO_INPUT, fsim_command_line, "cannot read %s '%s': %s", what, path, why);
    return text;
}

static void check_bindings(fsim_context *c, const char *option, const fsim_words *words)
{
    for (int i = 0; i < words->count; i++) {
        const char *text = words->at[i], *equals = strchr(text, '=');
        if (!equals || equals == text || !equals[1])
            fsim_error(c->diag, fsim_command_line, "%s '%s': wanted NAME=VALUE, e.g. %s B=64", option, text, option);
    }
}

/* A dtype is said once, and rows of measurements have no place for it. */
static void check_precision(fsim_context *c)
{
    fsim_dtype t;
    if (c->set.precision < 0)
        return;
    for (int i = 0; i < c->set.set.count; i++) {
        const char *value = strchr(c->set.set.at[i], '=');
        if (value && fsim_dtype_parse(value + 1, &t) && fsim_dtype_floating(t))
            fsim_error(c->diag, fsim_command_line, "--precision %s and --set %s both say the dtype",
                       fsim_precision_words[c->set.precision], c->set.set.at[i]);
    }
    if (c->set.measured || c->set.measurements.count)
        fsim_error(c->diag, fsim_command_line, "--precision: rows of measurements do not say it; wanted --set dtype=");
}

/* --data-parallel and --zero. */
static void check_replicas(fsim_context *c)
{
    const fsim_settings *s = &c->set;
    const char *why =
        s->zero > 0 && s->data_parallel == 0 ? "--zero belongs to --data-parallel"
        : s->zero >= FSIM_ZERO_STAGES        ? "--zero: wanted 1, 2 or 3"
        : s->data_parallel > 0 && !s->train  ? "--data-parallel belongs to --train"
        : s->data_parallel > FSIM_MOST_GPUS
            ? fsim_printf(c->arena, "--data-parallel: at most %d GPUs, which are those of one node", FSIM_MOST_GPUS)
        : s->zero > 0 && s->update == FSIM_NO_UPDATE ? "--zero wants an --optimizer, whose state is shared out first"
                                                     : NULL;
    if (why)
        fsim_error(c->diag, fsim_command_line, "%s", why);
}

/* The share of --activation-memory-budget; -1: it is none. */
static double budget_of(const fsim_settings *s)
{
    char *end;
    const double share = s->activation_budget ? strtod(s->activation_budget, &end) : 1;
    return s->activation_budget && (end == s->activation_budget || *end || !(share >= 0 && share <= 1)) ? -1 : share;
}

static void check_budget(fsim_context *c)
{
    if (c->set.activation_budget && !c->set.train)
        fsim_error(c->diag, fsim_command_line, "--activation-memory-budget belongs to --train");
    else if (budget_of(&c->set) < 0)
        fsim_error(c->diag, fsim_command_line, "--activation-memory-budget '%s': wants a number from 0 to 1",
                   c->set.activation_budget);
}

/* "bf16", "f8:h,*.act"; false: no such dtype, or a name is missing. */
static bool parse_save_dtype(const fsim_context *c, fsim_save_dtype *out)
{
    const char *text = c->set.save_dtype, *colon = strchr(text, ':');
    const char *word = colon ? fsim_strndup(c->arena, text, (size_t)(colon - text)) : text;
    *out = (fsim_save_dtype){.dtype = FSIM_F8E4M3};
    if (strcmp(word, "f8") != 0 && (!fsim_dtype_parse(word, &out->dtype) || !fsim_dtype_floating(out->dtype) ||
                                    fsim_dtype_bytes(out->dtype) > 2 || out->dtype == FSIM_F8E8M0))
        return false;
    const char **name = fsim_new(c->arena, const char *, strlen(text) + 1);
    for (const char *at = colon ? colon + 1 : NULL; at;) {
        const size_t length = strcspn(at, ",");
        if (length == 0)
            return false;
        name[out->names++] = fsim_strndup(c->arena, at, length);
        at = at[length] ? at + length + 1 : NULL;
    }
    out->name = name;
    return true;
}

static void check_save_dtype(fsim_context *c)
{
    fsim_save_dtype unused;
    if (c->set.save_dtype && !c->set.train)
        fsim_error(c->diag, fsim_command_line, "--save-dtype belongs to --train");
    else if (c->set.save_dtype && !parse_save_dtype(c, &unused))
        fsim_error(
            c->diag, fsim_command_line,
            "--save-dtype '%s': wanted f8, f8e5m2, bf16 or f16, and names of tensors behind a colon: bf16:h,*.act",
            c->set.save_dtype);
}

/* Options that only mean something together. */
static void check_derivatives(fsim_context *c)
{
    const fsim_settings *s = &c->set;
    if (s->train && s->jvp)
        fsim_error(c->diag, fsim_command_line,
                   "--train and --jvp: gradients or a derivative along a direction, not both");
    if (!s->train && !s->jvp && s->grad.count)
        fsim_error(c->diag, fsim_command_line, "--grad belongs to --train or --jvp");
    if (!s->train && s->seed != FSIM_SEED_INPUTS)
        fsim_error(c->diag, fsim_command_line, "--seed belongs to --train");
    if (!s->train && s->update != FSIM_NO_UPDATE)
        fsim_error(c->diag, fsim_command_line, "--optimizer belongs to --train");
    if (!s->train && s->micro_batches > 0)
        fsim_error(c->diag, fsim_command_line, "--micro-batches belongs to --train");
    if (!s->train && s->checkpoint)
        fsim_error(c->diag, fsim_command_line, "--checkpoint belongs to --train");
    check_replicas(c);
    check_budget(c);
    check_save_dtype(c);
    if (s->update == FSIM_NO_UPDATE && s->clip > 0)
        fsim_error(c->diag, fsim_command_line, "--clip belongs to --optimizer");
}

void fsim_check_bindings(fsim_context *c)
{
    check_bindings(c, "--set", &c->set.set);
    check_bindings(c, "--dim", &c->set.dim);
    for (int i = 0; i < c->set.dim.count; i++) /* the last of --set, for all who ask what is set */
        *FSIM_PUSH(c->arena, c->set.set.at, c->set.set.count, c->set.set.room) = c->set.dim.at[i];
    check_precision(c);
    check_derivatives(c);
}

fsim_binding *fsim_command_bindings(const fsim_context *c)
{
    const fsim_words *words = &c->set.set;
    fsim_binding *set = fsim_new(c->arena, fsim_binding, words->count + 1);
    for (int i = 0; i < words->count; i++) {
        const char *equals = strchr(words->at[i], '=');
        set[i] = (fsim_binding){fsim_strndup(c->arena, words->at[i], (size_t)(equals - words->at[i])), equals + 1};
    }
    return set;
}

/* What --train, --jvp and --autocast ask for; NULL: nothing. */
static const fsim_derive *wanted_derivatives(const fsim_context *c)
{
    const fsim_settings *s = &c->set;
    if (!s->train && !s->jvp && !s->autocast)
        return NULL;
    fsim_derive *d = fsim_new(c->arena, fsim_derive, 1);
    const bool one = s->grad.count == 1;
    d->mode = s->train ? FSIM_REVERSE : s->jvp ? FSIM_TANGENTS : FSIM_NOT_DERIVED;
    d->autocast = (int)s->autocast;
    d->want = s->grad.count == 0 || (one && strcmp(s->grad.at[0], "all") == 0) ? FSIM_WANT_ALL
              : one && strcmp(s->grad.at[0], "weights") == 0                   ? FSIM_WANT_WEIGHTS
                                                                               : FSIM_WANT_NAMED;
    d->name = s->grad.at;
    d->names = s->grad.count;
    d->ones = s->seed == FSIM_SEED_ONES;
    d->update = (fsim_update)s->update;
    d->clip = s->clip;
    d->micro_batches = s->micro_batches;
    d->checkpoint = s->checkpoint;
    fsim_save_dtype *save = s->save_dtype ? fsim_new(c->arena, fsim_save_dtype, 1) : NULL;
    if (save && parse_save_dtype(c, save))
        d->save = save;
    return d;
}

fsim_workload_wanted fsim_wanted_workload(const fsim_context *c)
{
    return (fsim_workload_wanted){.shipped = c->workload_folder,
                                  .derive = wanted_derivatives(c),
                                  .set = fsim_command_bindings(c),
                                  .sets = c->set.set.count,
                                  .scale = c->set.scale,
                                  .precision = c->set.precision < 0 ? NULL : fsim_precision_words[c->set.precision]};
}

/* NULL after an error. */
static fsim_graph *read_workload(fsim_context *c)
{
    const fsim_workload_wanted how = fsim_wanted_workload(c);
    return fsim_graph_load(c->arena, c->diag, c->args.at[0], &how);
}

fsim_hw_wanted fsim_wanted_hw(const fsim_context *c)
{
    return (fsim_hw_wanted){
        .folders = c->hw_folders, .change = c->set.hw_set.at, .changes = c->set.hw_set.count, .unseen = c->set.unseen};
}

fsim_hw *fsim_read_hw(fsim_context *c, const char *name)
{
    const fsim_hw_wanted how = fsim_wanted_hw(c);
    return fsim_hw_load(c->arena, c->diag, name, &how);
}

/* Reads the user's plan as a partition of in's graph that must be legal on every GPU. False after an error. */
static bool read_plan(fsim_context *c, fsim_inputs *in)
{
    size_t bytes = 0;
    const char *name = c->set.plan, *text = fsim_read_text(c, "plan", name, &bytes);
    if (!text)
        return false;
    fsim_user_plan *own = fsim_new(c->arena, fsim_user_plan, 1);
    fsim_diag_source(c->diag, name, text, bytes);
    const fsim_user_plan_file file = {name, text, bytes, c->set.hw.count == 1 ? in->hw[0]->name : NULL};
    bool good = fsim_user_plan_read(in->graph, c->arena, c->diag, &file, own);
    in->graph = good && own->graph ? own->graph : in->graph;
    for (int i = 0; i < c->set.hw.count && good; i++) {
        fsim_problem p = fsim_problem_of(in->graph, in->hw[i], &in->how, c->arena);
        fsim_plan plan;
        good = fsim_user_plan_price(&p, own, c->diag, c->arena, &plan);
    }
    in->how.user_plan = &own->partition;
    in->how.user_plan_maker = own->maker;
    in->how.user_plan_calls = own->calls;
    return good;
}

/* " --train --optimizer adam": the options that add derivatives, as they are typed. */
static const char *typed_derivatives(const fsim_context *c)
{
    const fsim_settings *s = &c->set;
    const char *text = s->train ? " --train" : s->jvp ? " --jvp" : "";
    for (int i = 0; i < s->grad.count; i++)
        text = fsim_printf(c->arena, "%s%s%s", text, i ? "," : " --grad ", fsim_shell_word(c->arena, s->grad.at[i]));
    if (s->seed == FSIM_SEED_ONES)
        text = fsim_printf(c->arena, "%s --seed ones", text);
    if (s->update != FSIM_NO_UPDATE)
        text = fsim_printf(c->arena, "%s --optimizer %s", text, fsim_update_words[s->update]);
    if (s->autocast)
        text = fsim_printf(c->arena, "%s --autocast %s", text, s->autocast == FSIM_AUTOCAST_F16 ? "f16" : "bf16");
    if (s->checkpoint)
        text = fsim_printf(c->arena, "%s --checkpoint", text);
    if (s->save_dtype)
        text = fsim_printf(c->arena, "%s --save-dtype %s", text, fsim_shell_word(c->arena, s->save_dtype));
    if (s->micro_batches > 0)
        text = fsim_printf(c->arena, "%s --micro-batches %lld", text, (long long)s->micro_batches);
    if (s->activation_budget)
        text = fsim_printf(c->arena, "%s --activation-memory-budget %s", text,
                           fsim_shell_word(c->arena, s->activation_budget));
    if (s->data_parallel > 0)
        text = fsim_printf(c->arena, "%s --data-parallel %lld", text, (long long)s->data_parallel);
    if (s->zero > 0)
        text = fsim_printf(c->arena, "%s --zero %lld", text, (long long)s->zero);
    return s->clip > 0 ? fsim_printf(c->arena, "%s --clip %.15g", text, s->clip) : text;
}

/* What the command line says of the inputs, for commands that a report proposes. */
static fsim_typed typed_inputs(const fsim_context *c)
{
    const fsim_settings *s = &c->set;
    const char *text = "", **set = fsim_new(c->arena, const char *, s->set.count + 1);
    for (int i = 0; i < s->set.count; i++)
        set[i] = fsim_shell_word(c->arena, s->set.at[i]);
    for (int i = 0; i < s->hw_set.count; i++)
        text = fsim_printf(c->arena, "%s --hw-set %s", text, fsim_shell_word(c->arena, s->hw_set.at[i]));
    if (s->scale > 0)
        text = fsim_printf(c->arena, "%s --scale-shapes %lld", text, (long long)s->scale);
    if (s->precision >= 0)
        text = fsim_printf(c->arena, "%s --precision %s", text, fsim_precision_words[s->precision]);
    if (s->memory_limit > 0)
        text = fsim_printf(c->arena, "%s --memory-limit %lldB", text, (long long)s->memory_limit);
    return (fsim_typed){.workload = c->args.count ? fsim_shell_word(c->arena, c->args.at[0]) : NULL,
                        .hw = s->hw.count ? fsim_shell_word(c->arena, s->hw.at[0]) : NULL,
                        .set = set,
                        .sets = s->set.count,
                        .set_option = s->dim.count > 0 ? "--dim" : "--set",
                        .options =
                            fsim_printf(c->arena, "%s%s%s%s", text, typed_derivatives(c),
                                        s->l2 == 1 ? " --l2 warm" : "", s->recompute == 1 ? " --recompute off" : "")};
}

static fsim_options model_options(const fsim_context *c)
{
    const fsim_settings *s = &c->set;
    const bool pareto = s->objective == FSIM_OBJECTIVES - 1; /* report the fastest plan, and the front */
    return (fsim_options){.strategy = (fsim_strategy)s->strategy,
                          .regime = (fsim_regime)s->launch,
                          .objective = pareto ? FSIM_MINIMISE_TIME : (fsim_objective)s->objective,
                          .pareto = pareto,
                          .memory_limit = s->memory_limit,
                          .budget_cut = 1 - budget_of(s),
                          .search_memory = s->search_memory,
                          .replicas = {(int)s->data_parallel, (int)s->zero},
                          .top = (int)s->top,
                          .compile_jobs = !s->compile_cost      ? 0
                                          : s->compile_jobs > 0 ? (int)s->compile_jobs
                                                                : 1,
                          .warm = s->l2 == 1,
                          .strict = s->numerics == 1,
                          .no_recompute = s->recompute == 1,
                          .search_steps = s->search_steps,
                          .time_limit_s = s->time_limit_s,
                          .interrupted = &interrupted,
                          .typed = typed_inputs(c)};
}

/* Warns of GPUs that --hw names more than once: in results they can't be told apart. */
static void check_hw_names(fsim_context *c, fsim_hw *const *hw)
{
    for (int i = 0; i < c->set.hw.count; i++)
        for (int k = 0; k < i; k++)
            if (hw[i] && hw[k] && strcmp(hw[i]->name, hw[k]->name) == 0)
                fsim_warning(c->diag, fsim_command_line, "--hw names %s twice, as '%s' and '%s'", hw[i]->name,
                             c->set.hw.at[k], c->set.hw.at[i]);
}

/* Can the GPUs exchange gradients, and are there any? */
static void check_links(fsim_context *c, const fsim_inputs *in)
{
    if (in->how.replicas.gpus > 0 && in->graph && !fsim_has_weight_gradients(in->graph))
        fsim_error(c->diag, (fsim_loc){.file = in->graph->path},
                   "--data-parallel: no weight has a gradient: a tensor with 'role: weight' is one");
    for (int i = 0; i < c->set.hw.count && in->how.replicas.gpus > 1; i++)
        if (in->hw[i] && isnan(fsim_hw_get(in->hw[i], FSIM_HW_LINK_BANDWIDTH)))
            fsim_error(c->diag, (fsim_loc){.file = in->hw[i]->path},
                       "--data-parallel: the file lacks link_bandwidth, to other GPUs in one direction");
}

int fsim_read_inputs(fsim_context *c, fsim_inputs *in)
{
    *in = (fsim_inputs){read_workload(c), fsim_new(c->arena, fsim_hw *, c->set.hw.count + 1), model_options(c)};
    for (int i = 0; i < c->set.hw.count; i++)
        in->hw[i] = fsim_read_hw(c, c->set.hw.at[i]);
    check_hw_names(c, in->hw);
    for (int i = 0; in->graph && i < c->set.hw.count; i++)
        if (in->hw[i])
            fsim_plannable(in->graph, in->hw[i], &in->how, c->diag, c->arena);
    check_links(c, in);
    if (c->set.plan && fsim_errors(c->diag) == 0)
        read_plan(c, in);
    return fsim_conclude(c, FSIM_EXIT_OK);
}

int fsim_begin(fsim_context *c, fsim_inputs *in)
{
    int status = fsim_read_inputs(c, in);
    if (status || (status = fsim_open_outputs(c)))
        return status;
    fsim_catch_interrupt();
    in->how.progress = fsim_new_progress(c, c->arena);
    return FSIM_EXIT_OK;
}
