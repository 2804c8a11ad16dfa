/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/disaggregated.h"

#include "base/jobs.h"
#include "cost/collective.h"
#include "serving/constants.h"
#include <math.h>
#include <stdlib.h>

/* Parts of copies that have requests of their own. */
static double parts_of(const fsim_option *x, int64_t copies) { return (double)copies * fsim_option_parts(x); }

/* The move of a cache. */

/* GPUs of a copy that have a part of one request's cache: all, but of latent attention one of each stage. */
static double holders(const fsim_deployed *on) { return (double)(on->pp * (on->model->kv_lora ? 1 : on->tp)); }

/* Is there a way to place both kinds in nodes such that each cache stays in its node? Nodes that are alike have the
 * copies in the ratio of the whole. */
static bool is_near(const fsim_disaggregated *x)
{
    const int64_t node = x->prompt->machine->gpus;
    int64_t most = x->prompts, other = x->tokens;
    while (other) {
        const int64_t rest = most % other;
        most = other;
        other = rest;
    }
    return (x->prompts * fsim_deployed_gpus(&x->prompt->on) + x->tokens * fsim_deployed_gpus(&x->token->on)) / most <=
           node;
}

/* Seconds in which so many bytes cross, spread over so many GPUs. */
static double crossing_s(const fsim_disaggregated *x, double bytes, double gpus)
{
    return x->near ? fsim_collective_s(x->prompt->on.hw, FSIM_OP_SEND, bytes / gpus, 2, false)
                   : network_call_s + bytes / gpus / x->prompt->on.network;
}

/* As many GPUs send to each other as the copy with fewer of them has; the other's may have others' caches meanwhile. */
static double move_s(const fsim_disaggregated *x, double bytes)
{
    return crossing_s(x, bytes, fmin(holders(&x->prompt->on), holders(&x->token->on)));
}

static double send_s(const fsim_disaggregated *x, double bytes)
{
    return crossing_s(x, bytes, holders(&x->prompt->on));
}

static double receive_s(const fsim_disaggregated *x, double bytes)
{
    return crossing_s(x, bytes, holders(&x->token->on));
}

/* False where no network between its nodes is known, or no link. */
static bool place(fsim_disaggregated *x, const fsim_load *load)
{
    const fsim_deployed *on = &x->prompt->on;
    x->gpus = x->prompts * fsim_deployed_gpus(on) + x->tokens * fsim_deployed_gpus(&x->token->on);
    x->near = is_near(x);
    x->bytes = (double)(load->input * on->model->cached) * fsim_precision_bytes(on->cache);
    x->move_s = move_s(x, x->bytes);
    return isfinite(x->move_s);
}

/* The same, with more copies where these can't be placed: nodes that are alike, as few GPUs as have so many of each. */
static bool place_in_nodes(fsim_disaggregated *x, const fsim_load *load)
{
    const int64_t node = x->prompt->machine->gpus, p = fsim_deployed_gpus(&x->prompt->on),
                  d = fsim_deployed_gpus(&x->token->on), prompts = x->prompts, tokens = x->tokens;
    int64_t least = INT64_MAX;
    if (place(x, load))
        return true;
    for (int64_t m = 1; m * p + d <= node; m++)
        for (int64_t n = 1; m * p + n * d <= node; n++) {
            const int64_t by_prompts = (prompts + m - 1) / m, by_tokens = (tokens + n - 1) / n;
            const int64_t nodes = by_prompts > by_tokens ? by_prompts : by_tokens;
            if (nodes * (m * p + n * d) < least) {
                least = nodes * (m * p + n * d);
                x->prompts = nodes * m;
                x->tokens = nodes * n;
            }
        }
    return least < INT64_MAX && place(x, load);
}

/* What a part can do. */

/* Seconds that each prompt takes of a part that has nothing else to do. */
static double prompt_each_s(const fsim_option *x)
{
    const fsim_loop *l = &x->loop;
    const double steps = (double)l->input / (double)l->tokens;
    const double host_s = l->host_s * (steps > 1 ? ceil(steps) : 1 / floor(1 / steps));
    return l->stages > 1 ? fmax(host_s, l->alone_s * l->prompt_share) : host_s + l->alone_s;
}

/* The least limit of the goals on such a time; infinite where there is none. */
static double limit_of(const fsim_capacity_asked *q, fsim_goal_kind kind)
{
    double limit = INFINITY;
    for (int i = 0; i < q->goals; i++)
        if (fsim_goal_kind_of(&q->goal[i]) == kind)
            limit = fmin(limit, q->goal[i].limit);
    return limit;
}

/* Requests that a part may make new tokens for together, within the goal; 0: not one. */
static int64_t together(const fsim_option *x, double limit_s)
{
    int64_t good = 0, bad = x->places + 1;
    while (bad - good > 1) {
        const int64_t middle = good + (bad - good) / 2;
        *(fsim_loop_round_s(&x->loop, (double)middle, 0) <= limit_s ? &good : &bad) = middle;
    }
    return good;
}

/* The requests. */

enum { REQUESTS = 2000, MOST_REQUESTS = 32000 };

static int by_time(const void *x, const void *y)
{
    const fsim_traced *p = x, *q = y;
    return (p->at_s > q->at_s) - (p->at_s < q->at_s);
}

/* The prompts of one part, as its requests come to the parts for new tokens: a share of them is of the part that is
 * followed. Adds to handed. Returns how many. */
static int64_t hand_on(const fsim_disaggregated *x, const fsim_loop *l, double share, fsim_traced *handed,
                       fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    fsim_prefilled *done = fsim_new(a, fsim_prefilled, l->requests + 1);
    const int64_t count = fsim_prompts_alone(l, done, a);
    uint64_t seed = l->stream + 1;
    double free_s = 0;
    int64_t taken = 0;
    for (int64_t i = 0; i < count; i++) {
        const fsim_prefilled *r = &done[i];
        const double bytes = x->bytes * (double)r->input / (double)l->input, from_s = fmax(free_s, r->done_s);
        const double at_s = from_s + move_s(x, bytes);
        free_s = from_s + send_s(x, bytes);
        const double length = l->shortest + (l->longest - l->shortest) * fsim_drawn(&seed);
        const int64_t output =
            l->trace ? l->trace[i].output : (int64_t)fmax(1, floor(length * (double)x->token->loop.output));
        if (fsim_drawn(&seed) < share)
            handed[taken++] = (fsim_traced){at_s, r->input, output, at_s - r->arrived_s + l->first_s};
    }
    fsim_rewind(a, mark);
    return taken;
}

/* One part for new tokens, and as many for prompts as it has requests of, are followed at a rate of all. */
static void follow_requests(fsim_disaggregated *x, const fsim_load *load, fsim_arrivals arrivals, fsim_arena *a)
{
    enum { ENGINES = 8 };
    const fsim_mark mark = fsim_save(a);
    const double from = parts_of(x->prompt, x->prompts), to = parts_of(x->token, x->tokens);
    const double engines = load->trace ? from : fmin(from, fmax(1, ceil(ENGINES * from / to)));
    const double share = from / (engines * to);
    const int64_t each = load->trace ? load->traced : (int64_t)fmin(MOST_REQUESTS, ceil(REQUESTS / share / engines));
    const int64_t most = load->trace ? load->traced : each * (int64_t)engines;
    fsim_traced *handed = fsim_new(a, fsim_traced, most + 1), *own = fsim_new(a, fsim_traced, load->traced + 1);
    int64_t count = 0;
    for (int64_t e = 0; e < (int64_t)engines; e++) {
        fsim_loop l = x->prompt->loop;
        l.output = 1;
        l.arrivals = arrivals;
        l.rate = x->rate / from;
        l.requests = each;
        l.stream = (uint64_t)e + 1;
        if (load->trace) {
            l.requests = 0;
            for (int64_t i = e; i < load->traced; i += (int64_t)from)
                own[l.requests++] = load->trace[i];
            l.trace = own;
        }
        count += hand_on(x, &l, share, handed + count, a);
    }
    qsort(handed, (size_t)count, sizeof *handed, by_time);
    double free_s = 0, waited_s = 0;
    for (int64_t i = 0; i < count; i++) { /* the part that is followed takes one cache after the other */
        const double at_s =
            fmax(handed[i].at_s, free_s + receive_s(x, x->bytes * (double)handed[i].input / (double)load->input));
        handed[i].waited_s += at_s - handed[i].at_s;
        handed[i].at_s = free_s = at_s;
        waited_s += handed[i].waited_s;
    }
    fsim_loop l = x->token->loop;
    l.arrivals = FSIM_ARRIVE_TRACE;
    l.trace = handed;
    l.requests = count;
    l.filled = true;
    x->times = (fsim_loop_times){.steady = true};
    if (count > 0)
        x->times = fsim_continuous_batching(&l, a);
    x->waited_s = waited_s / (double)count;
    x->prompts_busy = fmin(1, x->rate / from * prompt_each_s(x->prompt));
    fsim_rewind(a, mark);
}

/* The same of what is asked. Requests that are always under way come evenly, at the rate at which so many are (Little);
 * where all wait, at nearly the most that either kind can do. */
static void follow_load(fsim_disaggregated *x, const fsim_load *load, double most_rate, fsim_arena *a)
{
    enum { HALVINGS = 8 };
    static const double nearly = 0.95;
    const bool closed = load->arrivals == FSIM_ARRIVE_CLOSED;
    double low = 0, high = nearly * most_rate;
    x->rate = closed ? high : load->rate;
    follow_requests(x, load, closed ? FSIM_ARRIVE_EVENLY : load->arrivals, a);
    if (load->concurrency == 0 || x->times.whole.mean * x->rate <= (double)load->concurrency)
        return;
    for (int i = 0; i < HALVINGS; i++) {
        x->rate = (low + high) / 2;
        follow_requests(x, load, FSIM_ARRIVE_EVENLY, a);
        *(x->times.whole.mean * x->rate > (double)load->concurrency ? &high : &low) = x->rate;
    }
}

/* The search. */

typedef struct {
    const fsim_capacity_asked *q;
    int64_t most_gpus;
    fsim_disaggregated *pair;
    bool *serves;
    fsim_arena **worker;
} search;

/* Does the load say how much there is to do? */
static bool is_open(const fsim_load *l) { return l->rate > 0 || l->concurrency > 0 || l->trace; }

/* Requests a second that both kinds can take, if each has room. */
static double most_rate_of(const fsim_capacity_asked *q, const fsim_disaggregated *x)
{
    const double n = (double)together(x->token, limit_of(q, FSIM_GOAL_TOKEN));
    const double token_s = fsim_loop_round_s(&x->token->loop, n, 0) * (double)x->token->on.output;
    return fmin(parts_of(x->prompt, x->prompts) / prompt_each_s(x->prompt),
                parts_of(x->token, x->tokens) * n / token_s);
}

/* As many copies as their links need, beside what their GPUs need. */
static int64_t at_least(int64_t copies, double busy) { return busy > (double)copies ? (int64_t)ceil(busy) : copies; }

/* Copies by what a part can do, without a queue; false where a goal fails in an empty system. */
static bool estimate(const fsim_capacity_asked *q, fsim_disaggregated *x)
{
    enum { RATIO = 8 };
    const fsim_load *load = q->load;
    const double limit_s = limit_of(q, FSIM_GOAL_TOKEN), n = (double)together(x->token, limit_s);
    if (n < 1 || x->prompt->loop.alone_s > limit_of(q, FSIM_GOAL_FIRST))
        return false;
    const double prompts = fsim_option_parts(x->prompt) / prompt_each_s(x->prompt); /* a second and copy */
    const double round_s = fsim_loop_round_s(&x->token->loop, n, 0), answer_s = round_s * (double)load->output;
    const double answers = fsim_option_parts(x->token) * n / answer_s;
    double rate = load->rate;
    if (load->concurrency > 0)
        rate = (double)load->concurrency / (answer_s + x->prompt->loop.alone_s);
    if (rate > 0) {
        x->prompts = (int64_t)ceil(rate / prompts);
        x->tokens = (int64_t)ceil(rate / answers);
        if (!place_in_nodes(x, load))
            return false;
        x->prompts = at_least(x->prompts, rate * send_s(x, x->bytes) / fsim_option_parts(x->prompt));
        x->tokens = at_least(x->tokens, rate * receive_s(x, x->bytes) / fsim_option_parts(x->token));
        return place_in_nodes(x, load);
    }
    fsim_disaggregated best = *x;
    double most = 0;
    for (x->prompts = 1; x->prompts <= RATIO; x->prompts++)
        for (x->tokens = 1; x->tokens <= RATIO; x->tokens++) {
            const double all = fmin((double)x->prompts * prompts, (double)x->tokens * answers);
            if (place(x, load) && x->gpus <= q->most_gpus && all / (double)x->gpus > most) {
                most = all / (double)x->gpus;
                best = *x;
            }
        }
    *x = best;
    return most > 0;
}

/* Does it serve with these copies? Where not, *more: which of the two kinds is short. */
static bool serves(const search *s, fsim_disaggregated *x, int64_t **more, fsim_arena *a)
{
    const fsim_capacity_asked *q = s->q;
    if (!place(x, q->load))
        return *more = NULL, false;
    follow_load(x, q->load, most_rate_of(q, x), a);
    if (x->times.requests == 0) /* of a short trace, none came to the part that is followed */
        return *more = NULL, false;
    const fsim_gate *goal = fsim_goal_failing(q, &x->times);
    const bool grows = !q->load->trace && !x->times.steady && q->load->rate > 0;
    const fsim_goal_kind kind = goal ? fsim_goal_kind_of(goal) : FSIM_GOAL_FIRST;
    const double own_s = kind == FSIM_GOAL_WHOLE ? x->times.whole.mean : x->times.first.mean;
    *more = kind == FSIM_GOAL_TOKEN || x->waited_s < own_s / 2 ? &x->tokens : &x->prompts;
    return !goal && !grows;
}

/* More copies of the kind that is short until all goals hold, then as few as hold them. */
static void settle(void *to, int i, int worker)
{
    enum { TRIES = 48, STEP = 16 };
    const search *s = to;
    fsim_disaggregated *x = &s->pair[i], less;
    int64_t *more;
    fsim_arena *a = s->worker[worker];
    for (int k = 0; k < TRIES && !(s->serves[i] = serves(s, x, &more, a)); k++) {
        if (!more || !is_open(s->q->load))
            return;
        *more += 1 + *more / STEP;
        if (!place_in_nodes(x, s->q->load) || x->gpus > s->most_gpus)
            return;
    }
    for (int kind = 0; kind < 2 && s->serves[i] && is_open(s->q->load); kind++)
        for (;;) {
            less = *x;
            *(kind ? &less.tokens : &less.prompts) -= 1;
            if (less.prompts == 0 || less.tokens == 0 || !serves(s, &less, &more, a))
                break;
            *x = less;
        }
}

static void fill_costs(fsim_disaggregated *x)
{
    const double hour_s = 3600, million = 1e6;
    const fsim_machine *on = x->prompt->machine;
    fsim_loop_times prompts = {.busy = x->prompts_busy, .prompts = 1}, tokens = x->times;
    tokens.prompts = 0;
    x->tokens_s = x->rate * (double)x->token->on.output;
    x->usd_h = on->price.value * (double)x->gpus;
    x->usd_million = x->usd_h / hour_s / x->tokens_s * million;
    x->watts = fsim_watts_of(on, &prompts) * (double)(x->prompts * fsim_deployed_gpus(&x->prompt->on)) +
               fsim_watts_of(on, &tokens) * (double)(x->tokens * fsim_deployed_gpus(&x->token->on));
    x->joules = x->watts / x->tokens_s;
}

/* Fewer GPUs; where all requests wait, fewer for a token. */
static double merit(const fsim_capacity_asked *q, const fsim_disaggregated *x)
{
    return is_open(q->load) ? (double)x->gpus : (double)x->gpus / x->rate;
}

/* Has it prices, and is it of the same GPUs, precisions and steps? */
static bool is_alike(const fsim_option *x, const fsim_option *y)
{
    return fsim_option_is_priced(x) && fsim_option_is_priced(y) && x->machine == y->machine &&
           x->on.weights == y->on.weights && x->on.cache == y->on.cache && x->on.budget == y->on.budget;
}

enum { KEPT = 4 };

/* The pairs of a machine and precisions that need the fewest GPUs by estimate, each with another way to make new
 * tokens. Returns how many. */
static int add_pairs(const search *s, const fsim_option *option, int options, int first, fsim_disaggregated *out)
{
    int count = 0;
    for (int d = first; d < options; d++) {
        fsim_disaggregated best = {.prompt = NULL};
        for (int p = first; p < options && is_alike(&option[first], &option[d]); p++) {
            fsim_disaggregated one = {.prompt = &option[p], .token = &option[d]};
            if (!is_alike(&option[first], &option[p]) || !estimate(s->q, &one) || one.gpus > s->most_gpus)
                continue;
            one.rate = is_open(s->q->load) ? s->q->load->rate : most_rate_of(s->q, &one);
            if (!best.prompt || merit(s->q, &one) < merit(s->q, &best))
                best = one;
        }
        if (!best.prompt)
            continue;
        int k = count < KEPT ? count++ : KEPT;
        for (; k > 0 && merit(s->q, &best) < merit(s->q, &out[k - 1]); k--)
            if (k < KEPT)
                out[k] = out[k - 1];
        if (k < KEPT)
            out[k] = best;
    }
    return count;
}

const fsim_disaggregated *fsim_disaggregate(const fsim_capacity_asked *q, const fsim_option *option, int options,
                                            int64_t most_gpus, int jobs, fsim_arena *a)
{
    search s = {.q = q, .most_gpus = most_gpus};
    int pairs = 0;
    s.pair = fsim_new(a, fsim_disaggregated, KEPT * options + 1);
    for (int i = 0; i < options; i++) {
        bool known = !fsim_option_is_priced(&option[i]) || option[i].on.budget < q->engine->tokens;
        for (int k = 0; k < i && !known; k++)
            known = is_alike(&option[k], &option[i]);
        if (!known)
            pairs += add_pairs(&s, option, options, i, s.pair + pairs);
    }
    s.serves = fsim_new(a, bool, pairs + 1);
    s.worker = fsim_arena_children(a, jobs);
    fsim_in_parallel(jobs, pairs, settle, &s);
    fsim_disaggregated *best = NULL;
    for (int i = 0; i < pairs; i++) {
        if (!s.serves[i] || s.pair[i].gpus > most_gpus)
            continue;
        fill_costs(&s.pair[i]);
        const double by = best ? merit(q, &s.pair[i]) - merit(q, best) : -1;
        if (by < 0 || (by == 0 && s.pair[i].times.whole.mean < best->times.whole.mean))
            best = &s.pair[i];
    }
    return best;
}

const fsim_disaggregated *fsim_disaggregated_with(const fsim_capacity_asked *q, const fsim_disaggregated *x,
                                                  double longer, fsim_arena *a)
{
    fsim_option *kind = fsim_new(a, fsim_option, 2);
    fsim_disaggregated *y = fsim_new(a, fsim_disaggregated, 1);
    fsim_arena *worker = fsim_arena_child(a);
    bool good = false;
    kind[0] = *x->prompt;
    kind[1] = *x->token;
    for (int i = 0; i < 2; i++)
        kind[i].loop = fsim_loop_longer(&kind[i].loop, longer);
    *y = (fsim_disaggregated){.prompt = &kind[0], .token = &kind[1]};
    search s = {.q = q, .most_gpus = q->most_gpus, .pair = y, .serves = &good, .worker = &worker};
    if (estimate(q, y))
        settle(&s, 0, 0);
    if (!good || y->gpus > q->most_gpus)
        return NULL;
    fill_costs(y);
    return y;
}
