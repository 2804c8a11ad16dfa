/* SPDX-License-Identifier: Apache-2.0 */
/* capacity: the GPUs that serve a load of requests to a model within goals. */
#include "report/capacity.h"
#include "command/command.h"

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

/* The price of an hour of each GPU: --price NAME=USD, otherwise the key rent of its file. */
static double *read_prices(fsim_context *c, fsim_hw *const *hw)
{
    double *price = fsim_new(c->arena, double, c->set.hw.count + 1);
    for (int h = 0; h < c->set.hw.count; h++)
        price[h] = fsim_hw_has(hw[h], FSIM_HW_RENT) ? fsim_hw_get(hw[h], FSIM_HW_RENT) : NAN;
    for (int i = 0; i < c->set.prices.count; i++) {
        const char *text = c->set.prices.at[i], *equals = strrchr(text, '=');
        char *end = NULL;
        const double usd = equals ? strtod(equals + 1, &end) : 0;
        bool named = false;
        if (!equals || end == equals + 1 || *end || !(usd > 0) || usd > 1e6) {
            fsim_error(c->diag, fsim_command_line, "--price: '%s' is no price, wanted e.g. %s=2.5 (USD an hour)", text,
                       hw[0]->name);
            continue;
        }
        for (int h = 0; h < c->set.hw.count; h++)
            if (strncmp(hw[h]->name, text, (size_t)(equals - text)) == 0 &&
                (hw[h]->name[equals - text] == '\0' || hw[h]->name[equals - text] == '-')) {
                price[h] = usd;
                named = true;
            }
        if (!named)
            fsim_error(c->diag, fsim_command_line, "--price: no GPU of --hw is '%.*s'", (int)(equals - text), text);
    }
    return price;
}

static bool check_words(fsim_context *c)
{
    enum { MOST_NODE = 64 };
    if (c->args.count == 0)
        fsim_error(c->diag, fsim_command_line, "no model: name one of 'fusesim models', or a config.json");
    if (c->set.hw.count == 0)
        fsim_error(c->diag, fsim_command_line, "no GPU: say --hw NAME ('fusesim hw list' shows them)");
    if (c->set.load.count == 0)
        fsim_error(c->diag, fsim_command_line, "no load: say --load input=TOKENS,output=TOKENS,rate=N/s");
    if (c->set.node > MOST_NODE)
        fsim_error(c->diag, fsim_command_line, "--node: at most %d GPUs share a layer", MOST_NODE);
    if (c->set.gpus > 1 << 20)
        fsim_error(c->diag, fsim_command_line, "--gpus: at most %d", 1 << 20);
    return fsim_errors(c->diag) == 0;
}

/* What the command line asks, in full. */
static int read_asked(fsim_context *c, fsim_capacity_asked *q)
{
    enum { NODE = 8, GPUS = 1024 };
    static const bool both[FSIM_STORED] = {true, true, false};
    fsim_options *how = fsim_new(c->arena, fsim_options, 1);
    how->search_steps = c->set.search_steps;
    fsim_load *load = fsim_new(c->arena, fsim_load, 1);
    fsim_gate *goal = fsim_new(c->arena, fsim_gate, c->set.goals.count + 1);
    fsim_hw **hw = fsim_new(c->arena, fsim_hw *, c->set.hw.count + 1);
    if (!check_words(c))
        return fsim_usage_status(c);
    *q = (fsim_capacity_asked){.engine = fsim_engine_in(fsim_engine_words[c->set.engine]),
                               .load = load,
                               .goal = goal,
                               .goals = c->set.goals.count,
                               .fused = c->set.fused ? how : NULL,
                               .hw = hw,
                               .hws = c->set.hw.count,
                               .node = c->set.node ? c->set.node : NODE,
                               .most_gpus = c->set.gpus ? c->set.gpus : GPUS};
    (void)fsim_load_read(c->arena, c->diag, c->set.load.at, c->set.load.count, load);
    for (int i = 0; i < q->goals; i++)
        (void)fsim_gate_read(c->arena, c->diag, c->set.goals.at[i], &fsim_goals, &goal[i]);
    q->model = fsim_model_load(c->arena, c->diag, c->args.at[0]);
    for (int h = 0; h < q->hws; h++)
        hw[h] = fsim_read_hw(c, c->set.hw.at[h]);
    if (fsim_errors(c->diag))
        return fsim_conclude(c, FSIM_EXIT_OK);
    const char *published = q->model->quantized;
    const bool only_f8 = strcmp(published, "fp8") == 0, only_f4 = strcmp(published, "mxfp4") == 0;
    const bool weights[FSIM_STORED] = {!only_f8 && !only_f4, !only_f4, only_f4};
    read_precisions(c, "--weights", &c->set.weights, weights, FSIM_STORED, q->weights);
    read_precisions(c, "--cache", &c->set.caches, both, FSIM_STORED - 1, q->caches);
    q->price = read_prices(c, hw);
    const char *why = fsim_unserved(q->model, c->arena);
    if (why)
        fsim_error(c->diag, fsim_command_line, "%s", why);
    return fsim_errors(c->diag) ? fsim_usage_status(c) : FSIM_EXIT_OK;
}

int fsim_run_capacity(fsim_context *c)
{
    fsim_capacity_asked q;
    fsim_capacity out;
    int status = read_asked(c, &q);
    if (status || (status = fsim_open_outputs(c)))
        return status;
    const fsim_folders where = {.workloads = c->workload_folder, .others = fsim_wanted_hw(c), .hw = q.hw, .hws = q.hws};
    if (!fsim_capacity_find(&q, &where, fsim_jobs_of(c->set.jobs), c->arena, c->diag, &out))
        return fsim_give_up_outputs(c, FSIM_EXIT_BAD_INPUT);
    status = fsim_deliver(c, &out);
    return status ? status : out.fewest < 0 ? FSIM_EXIT_GATE : FSIM_EXIT_OK;
}
