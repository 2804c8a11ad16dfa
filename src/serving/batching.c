/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/batching.h"

#include <math.h>

typedef struct {
    double arrived_s, first_token_s, ended_s, waited_s;
    int64_t input, prompt, tokens; /* of the prompt, all and left; of the output */
    int64_t left;                  /* tokens that it makes once all of its prompt is taken */
    int64_t ends;                  /* number of the step that makes its last token */
    int64_t spot;                  /* in its batch's heap; -1: it waits, or has ended */
} request;

/* Requests that are in the same steps: all of them, or a batch of a pipeline. */
typedef struct {
    request **running; /* a heap, soonest end first */
    int64_t runs, step;
    double ready_s; /* of a pipeline: when its step before ended */
    int64_t same;   /* of a pipeline: steps since its requests were others */
    int64_t known;  /* of a pipeline: requests that the next two are of */
    double decode_s, stage_s;
} batch;

typedef struct {
    const fsim_loop *loop;
    request *queue; /* in the order of arrival, queue[first, queued) */
    int64_t first, queued;
    request **again;  /* in front of the queue, the last one first: they have lost their cache */
    request **taken;  /* whose prompt the step has the rest of */
    request **let_in; /* in that order; some have ended */
    int64_t agains, takens, let_ins, given_up;
    int64_t cache, used; /* tokens that the cache has place for, 0: not counted; that it needs in the next step */
    batch one;
    batch *batch;      /* of a pipeline, `stages` of them */
    double *free_s;    /* of a pipeline: when the host, then each stage, is done with the batch before */
    int64_t under_way; /* of a pipeline: requests in all batches */
    uint64_t seed, clock_seed;
    double now_s, next_s; /* next_s: when the next request comes; infinite: as others end, or none */
    double busy_s, prompts_s, running_s;
    double idle_s; /* of a pipeline: without a batch under way */
    bool alone;    /* prompts alone: a request ends with its prompt */
} loop_state;

/* A number from 0 to 1 (Knuth's MMIX generator, upper bits). */
double fsim_drawn(uint64_t *seed)
{
    enum { SHIFT = 11, BITS = 53 };
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return ldexp((double)(*seed >> SHIFT), -BITS);
}

static int64_t drawn(loop_state *s, int64_t length)
{
    const double least = s->loop->shortest, share = least + (s->loop->longest - least) * fsim_drawn(&s->seed);
    return (int64_t)fmax(1, floor(share * (double)length));
}

/* When the request behind queue[queued - 1] comes. */
static double next_arrival(loop_state *s, double last_s)
{
    const fsim_loop *l = s->loop;
    if (l->arrivals == FSIM_ARRIVE_CLOSED || s->queued >= l->requests)
        return INFINITY;
    if (l->arrivals == FSIM_ARRIVE_TRACE)
        return l->trace[s->queued].at_s;
    return last_s + (l->arrivals == FSIM_ARRIVE_EVENLY ? 1 : -log1p(-fsim_drawn(&s->clock_seed))) / l->rate;
}

static void arrive(loop_state *s, double at_s)
{
    const fsim_loop *l = s->loop;
    const int64_t prompt = drawn(s, l->input), tokens = drawn(s, l->output);
    if (s->queued >= l->requests)
        return;
    request *r = &s->queue[s->queued];
    *r = (request){.arrived_s = at_s, .prompt = prompt, .tokens = tokens, .spot = -1};
    if (l->arrivals == FSIM_ARRIVE_TRACE) {
        r->prompt = l->trace[s->queued].input;
        r->tokens = l->trace[s->queued].output;
        r->waited_s = l->trace[s->queued].waited_s;
    }
    r->input = r->prompt;
    r->tokens = r->left = s->alone ? 1 : r->tokens;
    if (s->cache && s->cache < r->input + r->tokens)
        s->cache = r->input + r->tokens; /* what does not fit alone is served alone */
    s->queued++;
}

static void arrive_until_now(loop_state *s)
{
    while (s->next_s <= s->now_s) {
        const double at_s = s->next_s;
        arrive(s, at_s);
        s->next_s = next_arrival(s, at_s);
    }
}

static void put(batch *b, request *r, int64_t i)
{
    b->running[i] = r;
    r->spot = i;
}

/* Puts r into the heap, whose place i is free. */
static void sift(batch *b, request *r, int64_t i)
{
    for (; i > 0 && b->running[(i - 1) / 2]->ends > r->ends; i = (i - 1) / 2)
        put(b, b->running[(i - 1) / 2], i);
    while (2 * i + 1 < b->runs) {
        int64_t child = 2 * i + 1;
        if (child + 1 < b->runs && b->running[child + 1]->ends < b->running[child]->ends)
            child++;
        if (b->running[child]->ends >= r->ends)
            break;
        put(b, b->running[child], i);
        i = child;
    }
    put(b, r, i);
}

static void push(batch *b, request *r)
{
    b->runs++;
    sift(b, r, b->runs - 1);
}

static void take_out(batch *b, request *r)
{
    const int64_t i = r->spot;
    request *last = b->running[--b->runs];
    if (last != r)
        sift(b, last, i);
    r->spot = -1;
}

/* The value at n of what is known at the points of `running`: between them on straight lines. */
static double between(const fsim_loop *l, const double *value, double n)
{
    int i = 1;
    while (i + 1 < l->points && n > l->running[i])
        i++;
    const double width = l->running[i] - l->running[i - 1];
    const double share = width > 0 ? (n - l->running[i - 1]) / width : 1;
    return value[i - 1] + share * (value[i] - value[i - 1]);
}

double fsim_loop_decode_s(const fsim_loop *l, double n) { return between(l, l->decode_s, n); }

fsim_loop fsim_loop_longer(const fsim_loop *l, double factor)
{
    fsim_loop x = *l;
    for (int i = 0; i < x.points; i++) {
        x.decode_s[i] *= factor;
        x.stage_s[i] *= factor;
    }
    x.alone_s *= factor;
    x.beside_s *= factor;
    x.host_s *= factor;
    return x;
}

double fsim_loop_batch(const fsim_loop *l, double n)
{
    return l->stages > 1 ? fmax(fmin(n, 1), n / (double)l->stages) : n;
}

double fsim_loop_round_s(const fsim_loop *l, double n, double prompts)
{
    const double in = fsim_loop_batch(l, n), batches = n / in, prompts_s = prompts * l->beside_s;
    const double whole_s = l->host_s + fsim_loop_decode_s(l, in) + prompts_s / batches;
    return l->stages > 1 ? fmax(whole_s, batches * between(l, l->stage_s, in) + prompts_s * l->prompt_share) : whole_s;
}

/* Steps of so many seconds in all, with so many requests in them. */
static void spend(loop_state *s, double time_s, double prompts_s, int64_t running)
{
    s->now_s += time_s;
    s->busy_s += time_s;
    s->prompts_s += prompts_s;
    s->running_s += time_s * (double)running;
}

/* The request that is next to have its prompt taken; NULL: none waits. */
static request *head(const loop_state *s)
{
    return s->agains > 0 ? s->again[s->agains - 1] : s->first < s->queued ? &s->queue[s->first] : NULL;
}

static void leave_queue(loop_state *s) { *(s->agains > 0 ? &s->agains : &s->first) += s->agains > 0 ? -1 : 1; }

/* Tokens of r's prompt, with what it had made when it lost its cache. */
static int64_t whole_prompt(const request *r) { return r->input + r->tokens - r->left; }

/* Has the cache place for what is left of the head's prompt? */
static bool fits(const loop_state *s) { return s->cache == 0 || s->used + head(s)->prompt <= s->cache; }

/* Takes prompts of the queue into a batch's step: as many tokens as a step has, of requests that have place. Returns
 * the prompts' seconds; *whole: requests that are in the step with all or the rest of their prompt, in s->taken;
 * *begun: 1 where one's rest comes later. */
static double take(loop_state *s, bool beside, int64_t place, int64_t *whole, int64_t *begun)
{
    const fsim_loop *l = s->loop;
    int64_t left = l->tokens;
    request *r;
    *begun = s->takens = 0;
    while ((r = head(s)) && left > 0 && s->takens < place && fits(s)) {
        const int64_t taken = l->filled ? 0 : r->prompt < left ? r->prompt : left;
        r->prompt -= taken;
        left -= taken;
        s->used += taken;
        if (r->prompt > 0 && !l->filled) {
            *begun = 1;
            break;
        }
        leave_queue(s);
        s->taken[s->takens++] = r;
    }
    *whole = s->takens;
    return (double)(l->tokens - left) / (double)l->input * (beside ? l->beside_s : l->alone_s);
}

/* Tokens of the requests whose prompts were taken: the first, or the next one where a cache was lost. */
static void begin(loop_state *s, batch *b, double now_s)
{
    for (int64_t i = 0; i < s->takens; i++) {
        request *r = s->taken[i];
        r->first_token_s = r->left == r->tokens ? now_s : r->first_token_s;
        r->ends = b->step + r->left - 1;
        push(b, r);
        s->let_in[s->let_ins++] = r;
    }
    s->used += s->takens;
}

/* A step that takes prompts. */
static void prefill(loop_state *s)
{
    const fsim_loop *l = s->loop;
    batch *b = &s->one;
    int64_t whole, begun;
    const double prompts_s = take(s, b->runs > 0, l->most - b->runs, &whole, &begun);
    const int64_t decodes = b->runs + (l->filled ? whole : 0);
    spend(s, l->host_s + (decodes ? fsim_loop_decode_s(l, (double)decodes) : 0) + prompts_s, prompts_s,
          b->runs + whole + begun);
    s->used += b->runs;
    b->step++;
    begin(s, b, s->now_s);
}

/* Steps without prompts, until a request ends or one comes, or the cache is full. */
static void decode(loop_state *s)
{
    batch *b = &s->one;
    const double step_s = s->loop->host_s + fsim_loop_decode_s(s->loop, (double)b->runs);
    int64_t steps = b->running[0]->ends - b->step;
    if (isfinite(s->next_s) && b->runs < s->loop->most)
        steps = (int64_t)fmin((double)steps, fmax(1, ceil((s->next_s - s->now_s) / step_s)));
    if (s->cache && steps > (s->cache - s->used) / b->runs + 1)
        steps = (s->cache - s->used) / b->runs + 1;
    spend(s, (double)steps * step_s, 0, b->runs);
    s->used += steps * b->runs;
    b->step += steps;
}

/* Requests of a batch whose last token is made. */
static void end(loop_state *s, batch *b, double now_s)
{
    while (b->runs > 0 && b->running[0]->ends <= b->step) {
        request *r = b->running[0];
        take_out(b, r);
        r->ended_s = now_s;
        s->used -= r->input + r->tokens;
        b->same = 0;
        s->under_way--;
        if (s->loop->arrivals == FSIM_ARRIVE_CLOSED)
            arrive(s, now_s);
    }
}

/* The request that was let in last and has not ended, out of its batch. */
static request *last_in(loop_state *s)
{
    while (s->let_in[s->let_ins - 1]->spot < 0)
        s->let_ins--;
    return s->let_in[--s->let_ins];
}

/* While the cache has not a place for a token of each: the request that came in last loses what it has there. One whose
 * prompt is taken in parts is behind all others. True where one did. */
static bool give_up(loop_state *s)
{
    bool any = false;
    for (; s->cache && s->used > s->cache; s->given_up++, any = true) {
        request *r = head(s);
        if (r && r->prompt < whole_prompt(r)) {
            s->used -= whole_prompt(r) - r->prompt;
        } else {
            r = last_in(s);
            r->left = r->ends - s->one.step;
            s->used -= whole_prompt(r);
            take_out(&s->one, r);
            s->again[s->agains++] = r;
        }
        r->prompt = whole_prompt(r);
    }
    return any;
}

static void serve_all(loop_state *s)
{
    const fsim_loop *l = s->loop;
    batch *b = &s->one;
    while (head(s) || b->runs > 0 || isfinite(s->next_s)) {
        if (!head(s) && b->runs == 0)
            s->now_s = fmax(s->now_s, s->next_s);
        arrive_until_now(s);
        if (!give_up(s) && head(s) && b->runs < l->most && fits(s))
            prefill(s);
        else if (b->runs > 0)
            decode(s);
        end(s, b, s->now_s);
    }
}

/* A pipeline: batches take turns. */

/* Seconds of a batch's step at the host, at each stage but the slowest, and at the slowest. */
typedef struct {
    double host, other, slowest;
} stage_times;

static stage_times stage_times_of(const loop_state *s, batch *b, double prompts_s)
{
    const fsim_loop *l = s->loop;
    if (b->known != b->runs) {
        b->known = b->runs;
        b->decode_s = b->runs ? between(l, l->decode_s, (double)b->runs) : 0;
        b->stage_s = b->runs ? between(l, l->stage_s, (double)b->runs) : 0;
    }
    const double slowest = b->stage_s + prompts_s * l->prompt_share, other = b->decode_s + prompts_s - slowest;
    return (stage_times){l->host_s, (other > 0 ? other : 0) / (double)(l->stages - 1), slowest};
}

static double whole_s(const fsim_loop *l, stage_times t) { return (double)(l->stages - 1) * t.other + t.slowest; }

/* When the batch's next step may begin: once its last one has ended, and something is there to do. */
static double begins_s(const loop_state *s, const batch *b)
{
    if (b->runs > 0)
        return b->ready_s;
    if (s->under_way >= s->loop->most)
        return INFINITY; /* no place: a batch with requests ends one first */
    const double from_s = s->first < s->queued ? s->now_s : s->next_s;
    return from_s > b->ready_s ? from_s : b->ready_s;
}

/* The batch goes through host and stages, each of which is done with the batch before first. */
static void pass(loop_state *s, batch *b, stage_times t, double prompts_s)
{
    const fsim_loop *l = s->loop;
    double at_s = s->now_s;
    for (int64_t k = 0; k <= l->stages; k++) {
        at_s = (at_s > s->free_s[k] ? at_s : s->free_s[k]) + (k == 0 ? t.host : k < l->stages ? t.other : t.slowest);
        s->free_s[k] = at_s;
    }
    b->ready_s = at_s;
    b->step++;
    b->same++;
    s->busy_s += whole_s(l, t) / (double)l->stages;
    s->prompts_s += prompts_s / (double)l->stages;
}

/* Rounds of steps without prompts that are all alike, until before a request ends or comes: each takes as long as the
 * longest way of a batch, or the fullest stage. */
static void repeat(loop_state *s)
{
    enum { SETTLED = 3 };
    const fsim_loop *l = s->loop;
    double longest = 0, host = 0, other = 0, slowest = 0, work = 0;
    int64_t rounds = INT64_MAX;
    for (int64_t i = 0; i < l->stages; i++)
        if (s->batch[i].runs > 0 && s->batch[i].same < SETTLED)
            return;
    for (int64_t i = 0; i < l->stages; i++) {
        batch *b = &s->batch[i];
        if (b->runs == 0)
            continue;
        const stage_times t = stage_times_of(s, b, 0);
        longest = fmax(longest, t.host + whole_s(l, t));
        host += t.host;
        other += t.other;
        slowest += t.slowest;
        work += whole_s(l, t);
        rounds = b->running[0]->ends - b->step - 1 < rounds ? b->running[0]->ends - b->step - 1 : rounds;
    }
    const double round_s = fmax(fmax(longest, host), fmax(other, slowest));
    if (isfinite(s->next_s) && s->under_way < l->most)
        rounds = (int64_t)fmin((double)rounds, floor((s->next_s - s->now_s) / round_s) - 1);
    if (rounds < 2)
        return;
    const double time_s = (double)rounds * round_s;
    for (int64_t i = 0; i < l->stages; i++)
        if (s->batch[i].runs > 0) {
            s->batch[i].step += rounds;
            s->batch[i].ready_s += time_s;
        }
    for (int64_t k = 0; k <= l->stages; k++)
        s->free_s[k] += time_s;
    s->now_s += time_s;
    s->busy_s += (double)rounds * work / (double)l->stages;
    s->running_s += time_s * (double)s->under_way;
}

/* The batch's next step, which takes prompts up to an even share of the requests. */
static void next_step(loop_state *s, batch *b)
{
    const fsim_loop *l = s->loop;
    const int64_t all = s->under_way + s->queued - s->first, even = (all + l->stages - 1) / l->stages;
    const int64_t room = l->most - s->under_way, place = even - b->runs < room ? even - b->runs : room;
    int64_t whole = 0, begun = 0;
    s->takens = 0;
    const double prompts_s = place > 0 && s->first < s->queued ? take(s, b->runs > 0, place, &whole, &begun) : 0;
    if (s->first == s->queued && whole == 0 && begun == 0)
        repeat(s);
    b->runs += l->filled ? whole : 0; /* they have new tokens in this step */
    const stage_times times = stage_times_of(s, b, prompts_s);
    b->runs -= l->filled ? whole : 0;
    pass(s, b, times, prompts_s);
    if (whole + begun > 0)
        b->same = 0;
    begin(s, b, b->ready_s);
    s->under_way += whole;
}

static void serve_in_stages(loop_state *s, fsim_arena *a)
{
    const fsim_loop *l = s->loop;
    s->batch = fsim_new(a, batch, l->stages);
    s->free_s = fsim_new(a, double, l->stages + 1);
    for (int64_t i = 0; i < l->stages; i++)
        s->batch[i].running = fsim_new(a, request *, l->requests + 1);
    for (;;) {
        batch *b = &s->batch[0];
        double at_s = begins_s(s, b);
        for (int64_t i = 1; i < l->stages; i++) {
            const double other_s = begins_s(s, &s->batch[i]);
            if (other_s < at_s) {
                b = &s->batch[i];
                at_s = other_s;
            }
        }
        if (isinf(at_s))
            break;
        if (at_s > s->now_s) {
            *(s->under_way ? &s->running_s : &s->idle_s) +=
                (at_s - s->now_s) * (double)(s->under_way ? s->under_way : 1);
            s->now_s = at_s;
        }
        arrive_until_now(s);
        end(s, b, s->now_s);
        if (b->runs > 0 || (s->first < s->queued && s->under_way < l->most))
            next_step(s, b);
    }
}

static double first_s(const loop_state *s, int64_t i)
{
    return s->queue[i].first_token_s - s->queue[i].arrived_s + s->queue[i].waited_s + s->loop->first_s;
}

/* MSER-5: batches of 5 are left out from the begin as long as that makes the standard error of the rest's mean less.
 * Returns where the steady part begins. */
static int64_t steady_from(const loop_state *s)
{
    enum { BATCH = 5 };
    const int64_t batches = s->queued / BATCH;
    double sum = 0, squares = 0, least = INFINITY;
    int64_t best = 0;
    for (int64_t b = batches; b-- > 0;) {
        double mean = 0;
        for (int64_t i = b * BATCH; i < (b + 1) * BATCH; i++)
            mean += first_s(s, i) / BATCH;
        const double n = (double)(batches - b);
        sum += mean;
        squares += mean * mean;
        const double error = fmax(0, squares - sum * sum / n) / (n * n);
        if (n >= BATCH && error <= least) {
            least = error;
            best = b;
        }
    }
    return best * BATCH;
}

/* Does the second half wait longer for its first tokens than the first, so that a queue grows? Where it grows evenly
 * from nothing, three times as long. */
static bool is_steady(const loop_state *s, int64_t from)
{
    static const double clearly = 2, together = 1.25; /* together: with a begin that has no end */
    double half[2] = {0, 0};
    const int64_t n = s->queued / 2;
    for (int64_t i = 0; i < 2 * n; i++)
        half[i / n] += first_s(s, i) / (double)n;
    return half[1] <= together * half[0] || (half[1] <= clearly * half[0] && 2 * from <= s->queued);
}

static void measure(const loop_state *s, fsim_loop_times *out, fsim_arena *a)
{
    const int64_t begin = steady_from(s), from = begin < s->queued / 2 ? begin : s->queued / 2;
    double *first = fsim_new(a, double, s->queued + 1), *token = fsim_new(a, double, s->queued + 1);
    double *whole = fsim_new(a, double, s->queued + 1);
    int64_t tokens = 0;
    for (int64_t i = from; i < s->queued; i++) {
        const request *r = &s->queue[i];
        first[i - from] = first_s(s, i);
        whole[i - from] = r->ended_s - r->arrived_s + r->waited_s + s->loop->first_s;
        if (r->tokens > 1)
            token[tokens++] = (r->ended_s - r->first_token_s) / (double)(r->tokens - 1);
    }
    out->requests = s->queued - from;
    out->steady = is_steady(s, begin);
    out->first = fsim_percentiles_of(first, out->requests, a);
    out->token = fsim_percentiles_of(token, tokens, a);
    out->whole = fsim_percentiles_of(whole, out->requests, a);
}

static loop_state state_of(const fsim_loop *l)
{
    static const uint64_t apart = 0x9E3779B97F4A7C15u; /* streams begin at other places */
    return (loop_state){.loop = l,
                        .seed = 1 + l->stream * apart,
                        .clock_seed = 2 + l->stream * apart,
                        .cache = l->stages > 1 || l->filled ? 0 : l->cache_tokens};
}

static void serve(loop_state *s, fsim_arena *a)
{
    const fsim_loop *l = s->loop;
    s->queue = fsim_new(a, request, l->requests + 1);
    s->again = fsim_new(a, request *, l->requests + 1);
    s->taken = fsim_new(a, request *, l->requests + 1);
    s->let_in = fsim_new(a, request *, l->requests + 1);
    for (int64_t i = 0; i < l->slots && l->arrivals == FSIM_ARRIVE_CLOSED; i++)
        arrive(s, 0);
    s->next_s = next_arrival(s, 0);
    if (l->stages > 1) {
        serve_in_stages(s, a);
    } else {
        s->one.running = fsim_new(a, request *, l->requests + 1);
        serve_all(s);
    }
}

int64_t fsim_prompts_alone(const fsim_loop *l, fsim_prefilled *out, fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    loop_state s = state_of(l);
    s.alone = true;
    serve(&s, a);
    for (int64_t i = 0; i < s.queued; i++)
        out[i] = (fsim_prefilled){s.queue[i].arrived_s, s.queue[i].first_token_s, s.queue[i].input};
    const int64_t count = s.queued;
    fsim_rewind(a, mark);
    return count;
}

fsim_loop_times fsim_continuous_batching(const fsim_loop *l, fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    loop_state s = state_of(l);
    fsim_loop_times out = {0};
    double token_sum_s = 0, first_sum_s = 0;
    int64_t ended = 0;
    serve(&s, a);
    for (int64_t i = 0; i < s.queued; i++) {
        const request *r = &s.queue[i];
        first_sum_s += first_s(&s, i);
        token_sum_s += r->tokens > 1 ? (r->ended_s - r->first_token_s) / (double)(r->tokens - 1) : 0;
        ended += r->tokens > 1;
    }
    out.first_s = first_sum_s / (double)s.queued;
    out.token_s = ended ? token_sum_s / (double)ended : 0;
    out.rate = (double)s.queued / s.now_s;
    out.running = s.running_s / (l->stages > 1 ? s.now_s - s.idle_s : s.busy_s);
    out.busy = s.busy_s / s.now_s;
    out.prompts = s.prompts_s / s.busy_s;
    out.given_up = (double)s.given_up / (double)s.queued;
    measure(&s, &out, a);
    fsim_rewind(a, mark);
    return out;
}
