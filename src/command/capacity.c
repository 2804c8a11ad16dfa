/* SPDX-License-Identifier: Apache-2.0 */
/* capacity: the GPUs that serve a load of requests to a model within goals, or that train it in time. */
#include "report/capacity.h"
#include "command/command.h"
#include "report/machines.h"
#include "report/trainings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const fsim_engine_words[FSIM_ENGINES] = {"vllm", "trtllm"};

/* The precisions of --weights or --cache; which ones are tried where the option is not given, `otherwise` says. */
static void read_precisions(fsim_context *c, const char *option, const fsim_words *words, const bool *otherwise,
                            int count, bool *out)
{
    for (int p = 0; p < FSIM_STORED; p++)
        out[p] = words->count == 0 && otherwise[p];
    for (int i = 0; i < words->count; i++) {
        int p = 0;
        while (p < count && strcmp(words->at[i], fsim_precision_names[p]) != 0)
            p++;
        if (p < count)
            out[p] = true;
        else
            fsim_error(c->diag, fsim_command_line, "%s: '%s' is not stored; it may be %s%s", option, words->at[i],
                       count == 2 ? "bf16 or f8" : "bf16, f8 or f4",
                       fsim_did_you_mean(c->arena, words->at[i], fsim_precision_names, count));
    }
}

/* "h100" names h100-sxm5-80gb. */
static bool is_named(const char *name, const char *text, size_t length)
{
    return strncmp(name, text, length) == 0 && (name[length] == '\0' || name[length] == '-');
}

/* The price of an hour of each GPU: --price NAME=USD, otherwise that of its system, otherwise the key rent of its
 * file. */
static void read_prices(fsim_context *c, fsim_machine *m, int count)
{
    for (int i = 0; i < count; i++) {
        const fsim_hw *hw = m[i].hw;
        m[i].price = m[i].node && !isnan(m[i].node->rent.value) ? m[i].node->rent : (fsim_stated){NAN, NULL};
        if (isnan(m[i].price.value) && fsim_hw_has(hw, FSIM_HW_RENT))
            m[i].price = (fsim_stated){fsim_hw_get(hw, FSIM_HW_RENT), hw->q[FSIM_HW_RENT].source};
    }
    for (int i = 0; i < c->set.prices.count; i++) {
        const char *text = c->set.prices.at[i], *equals = strrchr(text, '=');
        char *end = NULL;
        const double usd = equals ? strtod(equals + 1, &end) : 0;
        bool named = false;
        if (!equals || end == equals + 1 || *end || !(usd > 0) || usd > 1e6) {
            fsim_error(c->diag, fsim_command_line, "--price: '%s' is no price, wanted e.g. %s=2.5 (USD an hour)", text,
                       m[0].name);
            continue;
        }
        const size_t length = (size_t)(equals - text);
        for (int k = 0; k < count; k++)
            if (is_named(m[k].name, text, length) || is_named(m[k].hw->name, text, length)) {
                m[k].price = (fsim_stated){usd, "--price"};
                named = true;
            }
        if (!named)
            fsim_error(c->diag, fsim_command_line, "--price: no GPU of --hw or --system is '%.*s'", (int)length, text);
    }
}

/* The GPUs of --hw, then those of --system. In c->arena; errors are in c->diag. */
static fsim_machine *read_machines(fsim_context *c)
{
    enum { NODE = 8 };
    const int hws = c->set.hw.count, count = hws + c->set.systems_named.count;
    fsim_machine *m = fsim_new(c->arena, fsim_machine, count + 1);
    for (int i = 0; i < count; i++) {
        const fsim_cluster *node = NULL;
        if (i >= hws &&
            !(node = fsim_cluster_load(c->arena, c->diag, c->set.systems_named.at[i - hws], c->system_folder)))
            continue;
        m[i].hw = fsim_read_hw(c, node ? node->gpu : c->set.hw.at[i]);
        m[i].node = node;
        m[i].name = node ? node->name : m[i].hw ? m[i].hw->name : "";
        m[i].gpus = node ? node->gpus : c->set.node ? c->set.node : NODE;
        m[i].shared = c->set.node ? c->set.node : m[i].gpus;
    }
    if (fsim_errors(c->diag) == 0)
        read_prices(c, m, count);
    return m;
}

int fsim_run_hw_systems(fsim_context *c)
{
    const char **names;
    fsim_shown_clusters all = {.count = fsim_cluster_names(c->arena, c->system_folder, &names)};
    fsim_machine *m = fsim_new(c->arena, fsim_machine, all.count + 1);
    fsim_diag *kept = c->diag; /* a file that is not valid is a row of the list */
    c->diag = fsim_diag_new(c->arena);
    for (int i = 0; i < all.count; i++) {
        const fsim_cluster *node = fsim_cluster_load(c->arena, c->diag, names[i], c->system_folder);
        m[i] = (fsim_machine){.name = names[i], .node = node, .hw = node ? fsim_read_hw(c, node->gpu) : NULL};
        m[i].gpus = node ? node->gpus : 0;
        if (m[i].hw)
            read_prices(c, &m[i], 1);
    }
    c->diag = kept;
    all.at = m;
    return fsim_answer(c, &all);
}

static bool check_words(fsim_context *c)
{
    enum { MOST_NODE = 64 };
    if (c->args.count == 0)
        fsim_error(c->diag, fsim_command_line, "no model: name one of 'fusesim models', or a config.json");
    if (c->set.hw.count + c->set.systems_named.count == 0)
        fsim_error(c->diag, fsim_command_line,
                   "no GPU: say --hw NAME ('fusesim hw list' shows them) or --system NAME (systems/)");
    if (c->set.load.count == 0 && !c->set.train)
        fsim_error(c->diag, fsim_command_line, "no load: say --load input=TOKENS,output=TOKENS,rate=N/s");
    if (c->set.node > MOST_NODE)
        fsim_error(c->diag, fsim_command_line, "--node: at most %d GPUs share a layer", MOST_NODE);
    if (!c->set.train && (c->set.tokens || c->set.deadline || c->set.checkpoint || c->set.length || c->set.batch))
        fsim_error(c->diag, fsim_command_line,
                   "--tokens, --deadline, --length, --batch and --checkpoint are of --train");
    if (c->set.gpus > 1 << 20)
        fsim_error(c->diag, fsim_command_line, "--gpus: at most %d", 1 << 20);
    return fsim_errors(c->diag) == 0;
}

/* What the command line asks, in full. */
static int read_asked(fsim_context *c, fsim_capacity_asked *q)
{
    enum { GPUS = 1024, MOST_STAGES = 64 };
    static const bool both[FSIM_STORED] = {true, true, false};
    fsim_options *how = fsim_new(c->arena, fsim_options, 1);
    how->search_steps = c->set.search_steps;
    fsim_load *load = fsim_new(c->arena, fsim_load, 1);
    fsim_gate *goal = fsim_new(c->arena, fsim_gate, c->set.goals.count + 1);
    *q = (fsim_capacity_asked){.engine = fsim_engine_in(fsim_engine_words[c->set.engine]),
                               .load = load,
                               .goal = goal,
                               .goals = c->set.goals.count,
                               .fused = c->set.fused ? how : NULL,
                               .stages = c->set.stages,
                               .most_gpus = c->set.gpus ? c->set.gpus : GPUS};
    (void)fsim_load_read(c->arena, c->diag, c->set.load.at, c->set.load.count, load);
    for (int i = 0; i < q->goals; i++)
        (void)fsim_gate_read(c->arena, c->diag, c->set.goals.at[i], &fsim_goals, &goal[i]);
    q->model = fsim_model_load(c->arena, c->diag, c->args.at[0]);
    q->on = read_machines(c);
    q->ons = c->set.hw.count + c->set.systems_named.count;
    if (fsim_errors(c->diag))
        return fsim_conclude(c, FSIM_EXIT_OK);
    const char *published = q->model->quantized;
    const bool only_f8 = strcmp(published, "fp8") == 0, only_f4 = strcmp(published, "mxfp4") == 0;
    const bool weights[FSIM_STORED] = {!only_f8 && !only_f4, !only_f4, only_f4};
    read_precisions(c, "--weights", &c->set.weights, weights, FSIM_STORED, q->weights);
    read_precisions(c, "--cache", &c->set.caches, both, FSIM_STORED - 1, q->caches);
    const char *why = fsim_unserved(q->model, c->arena);
    if (why)
        fsim_error(c->diag, fsim_command_line, "%s", why);
    if (q->stages > q->model->layers || q->stages > MOST_STAGES)
        fsim_error(c->diag, fsim_command_line, "--pp: at most %d stages, and no more than %s's %lld layers",
                   MOST_STAGES, q->model->name, (long long)q->model->layers);
    if (q->model->positions > 0 && load->input + load->output > q->model->positions)
        fsim_warning(
            c->diag, fsim_command_line,
            "--load: a request has %lld tokens, in and out; %s was made for %lld. Times hold, its answers may not",
            (long long)(load->input + load->output), q->model->name, (long long)q->model->positions);
    return fsim_errors(c->diag) ? fsim_usage_status(c) : FSIM_EXIT_OK;
}

/* Where the steps' workloads and GPUs are. */
static fsim_folders folders_of(const fsim_context *c, const fsim_machine *m, int count)
{
    fsim_hw **hw = fsim_new(c->arena, fsim_hw *, count + 1);
    for (int i = 0; i < count; i++)
        hw[i] = (fsim_hw *)m[i].hw;
    return (fsim_folders){.workloads = c->workload_folder, .others = fsim_wanted_hw(c), .hw = hw, .hws = count};
}

/* "30d", "12h": seconds; NaN where it is not given, and after an error. */
static double read_deadline(fsim_context *c)
{
    const double hour_s = 3600, day_s = 24 * hour_s;
    char *end = NULL;
    if (!c->set.deadline)
        return NAN;
    const double value = strtod(c->set.deadline, &end);
    const double unit = strcmp(end, "d") == 0 ? day_s : strcmp(end, "h") == 0 ? hour_s : 0;
    if (value > 0 && value < 1e6 && unit > 0)
        return value * unit;
    fsim_error(c->diag, fsim_command_line, "--deadline '%s': wanted days or hours, e.g. 30d or 12h", c->set.deadline);
    return NAN;
}

/* What --train asks, in full. */
static int read_training(fsim_context *c, fsim_trainings_asked *q)
{
    enum { GPUS = 16384, LENGTH = 4096, BATCH_TOKENS = 4 << 20 };
    if (c->set.load.count || c->set.goals.count || c->set.fused || c->set.weights.count || c->set.caches.count ||
        c->set.stages)
        fsim_error(c->diag, fsim_command_line,
                   "--load, --goal, --weights, --cache, --pp and --fused are of serving, not of --train");
    char *end = NULL;
    const double tokens = c->set.tokens ? strtod(c->set.tokens, &end) : 0;
    if (!(tokens >= 1 && tokens < 1e18) || *end)
        fsim_error(c->diag, fsim_command_line, "--train wants --tokens N: of the whole training, e.g. 1e12%s%s",
                   c->set.tokens ? ", and not " : "", c->set.tokens ? c->set.tokens : "");
    *q = (fsim_trainings_asked){.most_gpus = c->set.gpus ? c->set.gpus : GPUS,
                                .tokens = tokens,
                                .again = c->set.checkpoint,
                                .deadline_s = read_deadline(c)};
    if (fsim_errors(c->diag))
        return fsim_usage_status(c);
    q->model = fsim_model_load(c->arena, c->diag, c->args.at[0]);
    q->on = read_machines(c);
    q->ons = c->set.hw.count + c->set.systems_named.count;
    if (fsim_errors(c->diag))
        return fsim_conclude(c, FSIM_EXIT_OK);
    const int64_t most = q->model->positions > 0 && q->model->positions < LENGTH ? q->model->positions : LENGTH;
    q->length = c->set.length ? c->set.length : most;
    q->batch = c->set.batch ? c->set.batch : BATCH_TOKENS / q->length > 1 ? BATCH_TOKENS / q->length : 1;
    q->about = c->set.batch == 0;
    const char *why = fsim_untrained(q->model, c->arena);
    if (why)
        fsim_error(c->diag, fsim_command_line, "%s", why);
    if (q->length > 1 << 20 || q->batch > 1 << 24)
        fsim_error(c->diag, fsim_command_line, "--length is at most %d, --batch at most %d", 1 << 20, 1 << 24);
    for (int i = 0; i < q->ons; i++)
        if (!fsim_hw_has(q->on[i].hw, FSIM_HW_TENSOR_BF16) ||
            (q->on[i].gpus > 1 && !fsim_hw_has(q->on[i].hw, FSIM_HW_LINK_BANDWIDTH)))
            fsim_error(c->diag, fsim_command_line,
                       "%s: its hardware file lacks tensor_bf16 or link_bandwidth, which --train needs", q->on[i].name);
    return fsim_errors(c->diag) ? fsim_usage_status(c) : FSIM_EXIT_OK;
}

static int run_training(fsim_context *c)
{
    fsim_trainings_asked q;
    fsim_trainings out;
    c->kind = FSIM_RESULT_TRAININGS;
    int status = read_training(c, &q);
    if (status || (status = fsim_open_outputs(c)))
        return status;
    const fsim_folders where = folders_of(c, q.on, q.ons);
    if (!fsim_trainings_find(&q, &where, fsim_jobs_of(c->set.jobs), c->arena, c->diag, &out))
        return fsim_give_up_outputs(c, FSIM_EXIT_BAD_INPUT);
    status = fsim_deliver(c, &out);
    return status ? status : out.fewest < 0 ? FSIM_EXIT_GATE : FSIM_EXIT_OK;
}

int fsim_run_capacity(fsim_context *c)
{
    fsim_capacity_asked q;
    fsim_capacity out;
    if (!check_words(c))
        return fsim_usage_status(c);
    if (c->set.train)
        return run_training(c);
    int status = read_asked(c, &q);
    if (status || (status = fsim_open_outputs(c)))
        return status;
    const fsim_folders where = folders_of(c, q.on, q.ons);
    if (!fsim_capacity_find(&q, &where, fsim_jobs_of(c->set.jobs), c->arena, c->diag, &out))
        return fsim_give_up_outputs(c, FSIM_EXIT_BAD_INPUT);
    status = fsim_deliver(c, &out);
    return status ? status : out.fewest < 0 && !out.disaggregated ? FSIM_EXIT_GATE : FSIM_EXIT_OK;
}
