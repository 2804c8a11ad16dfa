/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/capacity.h"

#include "base/jobs.h"
#include "base/unit.h"
#include "serving/constants.h"
#include "serving/options.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

fsim_evidence_kind fsim_first_evidence(const fsim_model *m)
{
    return m->experts ? FSIM_EVIDENCE_FIRST_EXPERTS : FSIM_EVIDENCE_FIRST;
}

fsim_evidence_kind fsim_token_evidence(const fsim_model *m)
{
    return m->experts ? FSIM_EVIDENCE_TOKEN_EXPERTS : FSIM_EVIDENCE_TOKEN;
}

fsim_evidence_kind fsim_rate_evidence(const fsim_model *m)
{
    return m->experts ? FSIM_EVIDENCE_MAXIMUM_EXPERTS : FSIM_EVIDENCE_MAXIMUM;
}

typedef struct {
    const fsim_capacity_asked *q;
    fsim_arena *arena;
    fsim_arena **worker;
    fsim_option *option;
    int options;
    fsim_option *settling; /* whose copies are being found */
    fsim_priced_steps *steps;
} search;

/* Steps. */

/* What the simulation needs of an option, from priced steps. Called twice: see steps.h. */
static void fill_loop(fsim_option *x)
{
    enum { BETWEEN = 4, BESIDE = 64 };
    const fsim_deployed *on = &x->on;
    const int64_t batch = (x->places + on->pp - 1) / on->pp; /* requests in a step at most */
    const double cached = (double)on->input + (double)on->output / 2;
    const fsim_let_in let_in = fsim_let_in_of(on, &x->memory);
    fsim_loop *l = &x->loop;
    *l = (fsim_loop){.input = on->input,
                     .output = on->output,
                     .tokens = on->budget,
                     .most = let_in.requests,
                     .cache_tokens = let_in.tokens,
                     .shortest = 1 - length_spread,
                     .longest = 1 + length_spread,
                     .alone_s = fsim_prompt_alone_s(on),
                     .beside_s = fsim_prompt_beside_s(on, batch < BESIDE ? batch : BESIDE, cached),
                     .host_s = fsim_host_s(on),
                     .first_s = on->engine->first_s,
                     .stages = on->pp,
                     .prompt_share = (double)fsim_stage_layers(on) / (double)on->model->layers};
    for (int64_t n = 1; n < batch && l->points < FSIM_LOOP_POINTS - 1; n *= BETWEEN)
        l->running[l->points++] = (double)n;
    l->running[l->points++] = (double)batch;
    for (int i = 0; i < l->points; i++) {
        l->decode_s[i] = fsim_decode_s(on, (int64_t)l->running[i], cached);
        l->stage_s[i] = on->pp > 1 ? fsim_decode_stage_s(on, (int64_t)l->running[i], cached) : 0;
    }
    if (l->points == 1) { /* a place for one alone */
        l->running[1] = l->running[0];
        l->decode_s[1] = l->decode_s[0];
        l->stage_s[1] = l->stage_s[0];
        l->points = 2;
    }
}

/* The load. */

/* Parts of a replica that have requests of their own. */
static int64_t ranks_of(const fsim_option *x) { return fsim_deployed_groups(&x->on); }

/* Requests under way in the fullest of so many parts, where there are always so many in all. */
static int64_t slots_of(int64_t concurrency, int64_t parts) { return (concurrency + parts - 1) / parts; }

/* What such a part has of the load, with all times longer by a factor. In a. */
static fsim_loop_times times_with(const fsim_option *x, const fsim_load *load, int64_t replicas, double longer,
                                  fsim_arena *a)
{
    enum { REQUESTS = 2000, EACH_PLACE = 8, LEAST = 400 };
    const int64_t parts = replicas * ranks_of(x);
    fsim_loop l = fsim_loop_longer(&x->loop, longer);
    l.arrivals = load->arrivals;
    l.rate = load->rate / (double)parts;
    l.requests = REQUESTS;
    if (load->trace) {
        fsim_traced *own = fsim_new(a, fsim_traced, load->traced + 1);
        l.requests = 0;
        for (int64_t i = 0; i < load->traced; i += parts)
            own[l.requests++] = load->trace[i];
        l.trace = own;
    } else if (load->arrivals == FSIM_ARRIVE_CLOSED) {
        l.slots = load->concurrency ? slots_of(load->concurrency, parts) : x->places;
        l.requests = l.slots * EACH_PLACE > LEAST ? l.slots * EACH_PLACE : LEAST;
    }
    return fsim_continuous_batching(&l, a);
}

/* Does a queue grow? Of a trace, which ends, the goals tell. */
static bool overloaded(const fsim_load *load, const fsim_loop_times *t)
{
    return !load->trace && load->arrivals != FSIM_ARRIVE_CLOSED && !t->steady;
}

/* What fails, in words; NULL: nothing. In a. */
static const char *failed_goal(const fsim_capacity_asked *q, const fsim_loop_times *t, fsim_arena *a)
{
    enum { ROOM = 40 };
    char is[ROOM], limit[ROOM];
    const fsim_gate *goal = fsim_goal_failing(q, t);
    if (goal)
        return fsim_printf(a, "%s is %s, not %s", fsim_gate_metric_of(goal)->name,
                           fsim_show_seconds(is, sizeof is, fsim_goal_value(goal, t)),
                           fsim_show_seconds(limit, sizeof limit, goal->limit));
    return overloaded(q->load, t) ? "the queue grows without end" : NULL;
}

/* What fails with so many replicas, whose times are *t; NULL: nothing. In a. */
static const char *fault_of(const search *s, const fsim_option *x, int64_t replicas, double longer, fsim_loop_times *t,
                            fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    *t = times_with(x, s->q->load, replicas, longer, a);
    fsim_rewind(a, mark);
    return failed_goal(s->q, t, a);
}

static const char *fault_with(const search *s, const fsim_option *x, int64_t replicas, double longer, fsim_arena *a)
{
    fsim_loop_times t;
    return fault_of(s, x, replicas, longer, &t, a);
}

/* Sets the fewest replicas that hold all goals, with their times. False where none do, at most as many as may be:
 * *fault says why. */
static bool find_replicas(const search *s, fsim_option *x, double longer, const char **fault, fsim_arena *a)
{
    const int64_t gpus = fsim_deployed_gpus(&x->on);
    int64_t most = s->q->most_gpus / gpus, bad = 0, good = 1;
    fsim_loop_times t;
    if (s->q->load->arrivals == FSIM_ARRIVE_CLOSED && most > s->q->load->concurrency)
        most = s->q->load->concurrency ? s->q->load->concurrency : 1;
    x->replicas = 0;
    while ((*fault = fault_of(s, x, good, longer, &x->times, a)) != NULL) {
        if (good == most)
            return false;
        bad = good;
        good = 2 * good < most ? 2 * good : most;
    }
    while (good - bad > 1) {
        const int64_t middle = bad + (good - bad) / 2;
        if (fault_of(s, x, middle, longer, &t, a)) {
            bad = middle;
        } else {
            good = middle;
            x->times = t;
        }
    }
    x->replicas = good;
    return true;
}

/* Costs. */

/* FLOPs of attention's two products for a token with so many keys to look at, all layers: those of a prompt (whole), or
 * of the cache, whose latent form attention reads as it is. Layers with a window are priced as those without. */
static double attention_flops(const fsim_model *m, double keys, bool whole)
{
    const double latent = (double)(whole ? m->nope_dim + m->rope_dim + m->value_dim : 2 * m->kv_lora + m->rope_dim);
    return 2 * (double)(m->layers * m->heads) * (m->kv_lora ? latent : 2 * (double)m->head_dim) * keys;
}

/* What a phase's step has on GPUs with requests of their own: requests, new tokens, and keys and values in the cache of
 * each request. */
typedef struct {
    double requests, tokens, cached;
} phase;

/* The rate of a key by its figure on the data sheet, or as it was measured. */
static double rate_of(const fsim_hw *hw, fsim_hw_key key, bool peak)
{
    return peak ? fsim_hw_peak(hw, key) : fsim_hw_get(hw, key);
}

/* Shares of a step's seconds that streams and products take at the GPU's peaks, or at the rates that were measured. */
static fsim_step_shares shares_at(const fsim_option *x, double step_s, phase of, bool peaks)
{
    const double tokens = of.tokens;
    const fsim_hw *hw = x->on.hw;
    const fsim_model *m = x->on.model;
    const double gpus = (double)fsim_stage_gpus(&x->on), tp = (double)x->on.tp;
    const double token = x->memory.token * (double)m->layers / (double)x->memory.layers; /* of all stages */
    const double bandwidth = rate_of(hw, FSIM_HW_DRAM_BANDWIDTH, peaks);
    const bool f8 = x->on.weights != FSIM_16_BITS && fsim_hw_has(hw, FSIM_HW_TENSOR_F8);
    const double peak_16 = rate_of(hw, *x->on.dtype == 'f' ? FSIM_HW_TENSOR_F16 : FSIM_HW_TENSOR_BF16, peaks),
                 peak = f8 ? rate_of(hw, FSIM_HW_TENSOR_F8, peaks) : peak_16;
    const bool prompt = of.cached == 0;
    const double attention = tokens * attention_flops(m, prompt ? tokens / 2 : of.cached, prompt);
    double read = (double)(m->parameters - m->embedding) / tp;
    if (m->experts) { /* a token of many meets other experts; those of a GPU serve the tokens of all that share them */
        const double picked = (double)m->topk / (double)m->experts;
        const double met = 1 - pow(1 - picked, tokens * (double)fsim_deployed_groups(&x->on));
        const double experts = (double)(m->parameters - m->active) / (1 - picked);
        read = ((double)(m->active - m->embedding) - experts * picked) / tp + experts * met / gpus;
    }
    fsim_step_shares p = {.weights = read * fsim_deployed_weight_bytes(&x->on) / bandwidth / step_s,
                          .cache = of.requests * of.cached * token / bandwidth / step_s,
                          .products = (2 * tokens * (double)(m->active - m->embedding) / peak + attention / peak_16) /
                                      tp / step_s,
                          .host = fsim_host_s(&x->on) / step_s};
    p.other = fmax(0, 1 - p.host - fmax(p.weights + p.cache, p.products));
    return p;
}

/* The shares by the data sheet, and what takes most by the rates that were measured. */
static fsim_step_shares shares_of(const fsim_option *x, double step_s, phase of)
{
    static const char *const words[] = {"reading weights", "reading the cache", "products", "the host",
                                        "links and overheads"};
    static const double mostly = 0.6; /* what small kernels take beyond these rates is no cause of its own */
    fsim_step_shares p = shares_at(x, step_s, of, true);
    const fsim_step_shares q = shares_at(x, step_s, of, false);
    const double share[] = {q.weights, q.cache, q.products, q.host, q.other > mostly ? q.other : 0};
    int most = 0;
    for (int i = 1; i < 5; i++)
        most = share[i] > share[most] ? i : most;
    p.by = words[most];
    return p;
}

static void fill_costs(const search *s, fsim_option *x)
{
    const fsim_load *load = s->q->load;
    const fsim_loop_times *t = &x->times;
    const double cached = (double)load->input + (double)load->output / 2;
    const double million = 1e6, hour_s = 3600;
    const int64_t parts = x->replicas * ranks_of(x), slots = slots_of(load->concurrency, parts);
    x->filled = load->concurrency ? (double)load->concurrency / (double)(slots * parts) : 1;
    x->gpus = x->replicas * fsim_deployed_gpus(&x->on);
    /* what comes is served, or the queue would grow; the run that times are from ends while some still run */
    x->tokens_s =
        load->rate > 0 ? load->rate * (double)load->output : t->rate * (double)load->output * (double)parts * x->filled;
    x->user_s = 1 / t->token.mean;
    x->usd_h = x->machine->price.value * (double)x->gpus;
    x->usd_million = x->usd_h / hour_s / x->tokens_s * million;
    x->watts = fsim_watts_of(x->machine, t) * (double)x->gpus;
    x->joules = x->watts / x->tokens_s;
    const double batch = fsim_option_batch(x), decode_s = fsim_loop_decode_s(&x->loop, batch) + x->loop.host_s;
    x->decode = shares_of(x, decode_s, (phase){batch, batch, cached});
    x->prefill = shares_of(x, x->loop.alone_s + x->loop.host_s, (phase){1, (double)load->input, 0});
}

static void settle(void *to, int i, int worker)
{
    const search *s = to;
    fsim_option *x = &s->settling[i];
    fsim_arena *a = s->worker[worker];
    if (x->reason)
        return;
    if (!fsim_loop_is_priced(&x->loop)) {
        x->reason =
            x->unpriced ? fsim_printf(a, "a step can't be priced: %s", x->unpriced) : "a step of it can't be priced";
        return;
    }
    if (find_replicas(s, x, 1, &x->fault, a))
        fill_costs(s, x);
    else
        x->reason = x->fault;
}

/* The answer. */

/* Is x better than y by these measures, the first that differs? NaN is worst. */
static bool better(const double *x, const double *y, int count)
{
    for (int i = 0; i < count; i++) {
        if (isnan(x[i]) != isnan(y[i]))
            return isnan(y[i]);
        if (!isnan(x[i]) && x[i] != y[i])
            return x[i] < y[i];
    }
    return false;
}

/* The best option by one measure, then the others; -1 where none has it. Without a load, GPUs are no measure of their
 * own: a GPU that does more is worth more. What an hour costs is one where requests come at a rate; where some are
 * always under way, what is faster does more of them. Of equals the one with the fewest seconds a token. */
static int best_by(const fsim_capacity *c, int measure)
{
    enum { MEASURES = 5 };
    int best = -1;
    double least[MEASURES] = {0};
    for (int i = 0; i < c->options; i++) {
        const fsim_option *x = &c->option[i];
        const fsim_load *load = c->asked->load;
        const bool open = load->rate > 0 || load->concurrency > 0 || load->trace;
        const bool timed = load->rate > 0 || load->trace;
        const double gpus = open ? (double)x->gpus : (double)x->gpus / x->tokens_s;
        const double of[3] = {gpus, timed ? x->usd_h : x->usd_million, x->joules};
        const double by[MEASURES] = {of[measure], of[0], of[1], -x->user_s, of[2]};
        if (x->reason || isnan(by[0]) || (best >= 0 && !better(by, least, MEASURES)))
            continue;
        best = i;
        memcpy(least, by, sizeof least);
    }
    return best;
}

static int by_batch(const void *x, const void *y)
{
    const fsim_front_point *p = x, *q = y;
    return (p->user_s < q->user_s) - (p->user_s > q->user_s);
}

/* The front of one kind of GPU: what no other point beats in both measures. */
static void add_front(fsim_capacity *c, const fsim_hw *hw, fsim_arena *a)
{
    enum { MOST = 16 };
    fsim_front_point *all = fsim_new(a, fsim_front_point, c->options * MOST + 1);
    int count = 0;
    for (int i = 0; i < c->options; i++) {
        const fsim_option *x = &c->option[i];
        if (x->on.hw != hw || !x->fits || !fsim_loop_is_priced(&x->loop))
            continue;
        const double ranks = (double)ranks_of(x), gpus = (double)fsim_deployed_gpus(&x->on);
        for (int64_t n = 1; n <= x->places; n = 2 * n > x->places && n < x->places ? x->places : 2 * n) {
            const double step_s = fsim_loop_round_s(&x->loop, (double)n, (double)n / (double)x->on.output);
            all[count++] = (fsim_front_point){i, n * ranks_of(x), ranks * (double)n / step_s / gpus, 1 / step_s};
        }
    }
    qsort(all, (size_t)count, sizeof *all, by_batch);
    double best = 0;
    for (int i = 0; i < count; i++)
        if (all[i].gpu_s > best) {
            best = all[i].gpu_s;
            c->front[c->fronts++] = all[i];
        }
}

/* The option with all times longer by a factor, on as many replicas as it needs then. NULL: none suffice. */
static const fsim_option *option_with(const search *s, const fsim_option *x, double longer)
{
    const char *fault;
    fsim_option *y = fsim_new(s->arena, fsim_option, 1);
    *y = *x;
    if (!find_replicas(s, y, longer, &fault, s->arena))
        return NULL;
    fill_costs(s, y);
    return y;
}

/* Seconds per token of half of the requests, where the goal that fails is of those that wait long for others' prompts;
 * otherwise NaN. */
static double half_of(const search *s, const fsim_option *x, int64_t replicas, fsim_arena *a)
{
    static const double long_tail = 1.5;
    const fsim_mark mark = fsim_save(a);
    const fsim_loop_times t = times_with(x, s->q->load, replicas, 1, a);
    fsim_rewind(a, mark);
    const fsim_gate *goal = fsim_goal_failing(s->q, &t);
    const bool tail = goal && fsim_goal_is_token_tail(goal) && t.token.p50 <= goal->limit &&
                      fsim_goal_value(goal, &t) > long_tail * t.token.p50;
    return tail ? t.token.p50 : NAN;
}

/* What a replica fewer breaks, and how much shorter all times would have to be. */
static void find_fewer(const search *s, fsim_capacity *c, fsim_arena *a)
{
    enum { HALVINGS = 10 };
    static const double least = 0.1;
    const fsim_option *x = &c->option[c->fewest];
    double bad = 1, good = least;
    const int64_t gpus = x->gpus - fsim_deployed_gpus(&x->on);
    c->needed = c->half_s = NAN;
    if (x->replicas == 1)
        return;
    c->fewer = fsim_printf(a, "with %lld GPU%s %s", (long long)gpus, gpus == 1 ? "" : "s",
                           fault_with(s, x, x->replicas - 1, 1, a));
    c->half_s = half_of(s, x, x->replicas - 1, a);
    if (fault_with(s, x, x->replicas - 1, least, a))
        return;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = (bad + good) / 2;
        *(fault_with(s, x, x->replicas - 1, middle, a) ? &bad : &good) = middle;
    }
    c->needed = good;
}

/* What the choices are with all times at the ends of their interval, and what fewer replicas would need. */
static void look_around(const search *s, fsim_capacity *c, fsim_arena *a)
{
    const double factor = fsim_evidence_factor(fsim_rate_evidence(s->q->model));
    const int choice[FSIM_CHOICES] = {c->fewest, c->cheapest, c->coolest};
    for (int i = 0; i < FSIM_CHOICES; i++)
        if (choice[i] >= 0)
            c->ends[i] = (fsim_option_ends){option_with(s, &c->option[choice[i]], 1 / factor),
                                            option_with(s, &c->option[choice[i]], factor)};
    if (c->disaggregated)
        c->disaggregated_ends =
            (fsim_disaggregated_ends){fsim_disaggregated_with(s->q, c->disaggregated, 1 / factor, a),
                                      fsim_disaggregated_with(s->q, c->disaggregated, factor, a)};
    if (c->fewest >= 0)
        find_fewer(s, c, a);
}

/* The fewest GPUs again, with the kernels of the best plans. False after errors in d. */
static bool fuse_best(const search *s, const fsim_folders *where, int jobs, fsim_capacity *c, fsim_diag *d)
{
    const char *fault;
    fsim_option *x = fsim_new(s->arena, fsim_option, 1);
    *x = c->option[c->fewest];
    x->on.steps = fsim_priced_steps_new(s->arena, s->q->fused);
    for (int pass = 0; pass < 2; pass++) {
        fill_loop(x);
        if (!fsim_price_steps(x->on.steps, where, jobs, d))
            return false;
    }
    c->steps += fsim_priced_steps_count(x->on.steps);
    if (!fsim_loop_is_priced(&x->loop) || !find_replicas(s, x, 1, &fault, s->arena))
        return true;
    fill_costs(s, x);
    c->fused = x;
    return true;
}

/* Prompts on GPUs of their own, with twice as many GPUs at most as where they are not. */
static const fsim_disaggregated *find_disaggregated(const search *s, const fsim_capacity *c, int jobs, fsim_arena *a)
{
    const fsim_load *load = s->q->load;
    const bool open = load->rate > 0 || load->concurrency > 0 || load->trace;
    const int64_t twice = c->fewest < 0 || !open ? s->q->most_gpus : 2 * c->option[c->fewest].gpus;
    return fsim_disaggregate(s->q, c->option, c->options, twice < s->q->most_gpus ? twice : s->q->most_gpus, jobs, a);
}

/* Prices what options need, and finds the copies that they need. False after errors in d. */
static bool price_and_settle(search *s, fsim_option *option, int options, const fsim_folders *where, int jobs,
                             fsim_diag *d)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < options; i++) {
            option[i].on.steps = s->steps;
            if (option[i].fits) {
                fill_loop(&option[i]);
                option[i].unpriced = fsim_steps_fault(s->steps);
            }
        }
        if (!fsim_price_steps(s->steps, where, jobs, d))
            return false;
    }
    s->settling = option;
    fsim_in_parallel(jobs, options, settle, s);
    return true;
}

/* Prompts in smaller parts (chunked prefill), where a goal is on the time per token and the engine's steps need more
 * than one copy, or none suffice: kept where they need fewer GPUs. False after errors in d. */
static bool add_chunks(search *s, const fsim_folders *where, int jobs, fsim_diag *d)
{
    static const int64_t budgets[] = {2048, 512};
    enum { BUDGETS = sizeof budgets / sizeof *budgets };
    const int options = s->options;
    fsim_option *chunk = fsim_new(s->arena, fsim_option, BUDGETS * options + 1);
    int *of = fsim_new(s->arena, int, BUDGETS *options + 1), count = 0;
    bool wanted = false;
    for (int i = 0; i < s->q->goals; i++)
        wanted = wanted || fsim_goal_kind_of(&s->q->goal[i]) == FSIM_GOAL_TOKEN;
    for (int i = 0; i < options && wanted; i++)
        for (int k = 0; k < BUDGETS; k++)
            if (fsim_option_is_priced(&s->option[i]) && s->option[i].replicas != 1 && s->option[i].on.pp == 1 &&
                budgets[k] < s->q->engine->tokens) {
                of[count] = i;
                chunk[count++] = fsim_option_in_chunks(&s->option[i], budgets[k]);
            }
    if (!price_and_settle(s, chunk, count, where, jobs, d))
        return false;
    for (int k = 0; k < count; k++)
        if (!chunk[k].reason && (s->option[of[k]].reason || chunk[k].gpus < s->option[of[k]].gpus))
            s->option[s->options++] = chunk[k];
    return true;
}

bool fsim_capacity_find(const fsim_capacity_asked *q, const fsim_folders *where, int jobs, fsim_arena *a, fsim_diag *d,
                        fsim_capacity *out)
{
    search s = {.q = q, .arena = a};
    s.steps = fsim_priced_steps_new(a, NULL);
    s.options = fsim_options_of(q, a, &s.option);
    s.worker = fsim_arena_children(a, jobs);
    if (!price_and_settle(&s, s.option, s.options, where, jobs, d) || !add_chunks(&s, where, jobs, d))
        return false;
    *out = (fsim_capacity){
        .asked = q, .option = s.option, .options = s.options, .steps = fsim_priced_steps_count(s.steps)};
    enum { MOST = 16 };
    out->front = fsim_new(a, fsim_front_point, s.options * MOST + 1);
    for (int h = 0; h < q->ons; h++)
        add_front(out, q->on[h].hw, a);
    out->fewest = best_by(out, 0);
    out->cheapest = best_by(out, 1);
    out->coolest = best_by(out, 2);
    out->disaggregated = find_disaggregated(&s, out, jobs, a);
    look_around(&s, out, a);
    return out->fewest < 0 || !q->fused || fuse_best(&s, where, jobs, out, d);
}
