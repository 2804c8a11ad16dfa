/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/batching.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    double arrived_s, first_token_s, ended_s;
    int64_t prompt, tokens; /* left of the prompt; of the output */
    int64_t ends;           /* number of the step that makes its last token */
} request;

typedef struct {
    const fsim_loop *loop;
    request *queue; /* in the order of arrival, queue[first, queued) */
    int64_t first, queued;
    request **running; /* a heap, soonest end first */
    int64_t runs, step;
    uint64_t seed, clock_seed;
    double now_s, next_s; /* next_s: when the next request comes; infinite: as others end, or none */
    double busy_s, prompts_s, running_s;
} loop_state;

/* A number from 0 to 1 (Knuth's MMIX generator, upper bits). */
static double draw(uint64_t *seed)
{
    enum { SHIFT = 11, BITS = 53 };
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return ldexp((double)(*seed >> SHIFT), -BITS);
}

static int64_t drawn(loop_state *s, int64_t length)
{
    const double least = s->loop->shortest, share = least + (s->loop->longest - least) * draw(&s->seed);
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
    return last_s + (l->arrivals == FSIM_ARRIVE_EVENLY ? 1 : -log1p(-draw(&s->clock_seed))) / l->rate;
}

static void arrive(loop_state *s, double at_s)
{
    const fsim_loop *l = s->loop;
    const int64_t prompt = drawn(s, l->input), tokens = drawn(s, l->output);
    if (s->queued >= l->requests)
        return;
    request *r = &s->queue[s->queued];
    *r = (request){.arrived_s = at_s, .prompt = prompt, .tokens = tokens};
    if (l->arrivals == FSIM_ARRIVE_TRACE) {
        r->prompt = l->trace[s->queued].input;
        r->tokens = l->trace[s->queued].output;
    }
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

static void push(loop_state *s, request *r)
{
    int64_t i = s->runs++;
    for (; i > 0 && s->running[(i - 1) / 2]->ends > r->ends; i = (i - 1) / 2)
        s->running[i] = s->running[(i - 1) / 2];
    s->running[i] = r;
}

static request *pop(loop_state *s)
{
    request *top = s->running[0], *last = s->running[--s->runs];
    int64_t i = 0;
    while (2 * i + 1 < s->runs) {
        int64_t child = 2 * i + 1;
        if (child + 1 < s->runs && s->running[child + 1]->ends < s->running[child]->ends)
            child++;
        if (s->running[child]->ends >= last->ends)
            break;
        s->running[i] = s->running[child];
        i = child;
    }
    s->running[i] = last;
    return top;
}

double fsim_loop_decode_s(const fsim_loop *l, double n)
{
    int i = 1;
    while (i + 1 < l->points && n > l->running[i])
        i++;
    const double width = l->running[i] - l->running[i - 1];
    const double share = width > 0 ? (n - l->running[i - 1]) / width : 1;
    return l->decode_s[i - 1] + share * (l->decode_s[i] - l->decode_s[i - 1]);
}

/* Steps of so many seconds in all, with so many requests in them. */
static void spend(loop_state *s, double time_s, double prompts_s, int64_t running)
{
    s->now_s += time_s;
    s->busy_s += time_s;
    s->prompts_s += prompts_s;
    s->running_s += time_s * (double)running;
}

/* A step that takes prompts. */
static void prefill(loop_state *s)
{
    const fsim_loop *l = s->loop;
    int64_t left = l->tokens, from = s->first, begun = 0; /* begun: of the prompts, one whose rest comes later */
    while (s->first < s->queued && left > 0 && s->runs + s->first - from < l->most) {
        request *r = &s->queue[s->first];
        const int64_t taken = r->prompt < left ? r->prompt : left;
        r->prompt -= taken;
        left -= taken;
        if (r->prompt > 0) {
            begun = 1;
            break;
        }
        s->first++;
    }
    const double prompts = (double)(l->tokens - left) / (double)l->input;
    const double prompts_s = prompts * (s->runs ? l->beside_s : l->alone_s);
    spend(s, l->host_s + (s->runs ? fsim_loop_decode_s(l, (double)s->runs) : 0) + prompts_s, prompts_s,
          s->runs + s->first - from + begun);
    s->step++;
    for (; from < s->first; from++) {
        request *r = &s->queue[from];
        r->first_token_s = s->now_s;
        r->ends = s->step + r->tokens - 1;
        push(s, r);
    }
}

/* Steps without prompts, until a request ends or one comes. */
static void decode(loop_state *s)
{
    const double step_s = s->loop->host_s + fsim_loop_decode_s(s->loop, (double)s->runs);
    int64_t steps = s->running[0]->ends - s->step;
    if (isfinite(s->next_s) && s->runs < s->loop->most)
        steps = (int64_t)fmin((double)steps, fmax(1, ceil((s->next_s - s->now_s) / step_s)));
    spend(s, (double)steps * step_s, 0, s->runs);
    s->step += steps;
}

static void serve_all(loop_state *s)
{
    const fsim_loop *l = s->loop;
    for (int64_t i = 0; i < l->slots && l->arrivals == FSIM_ARRIVE_CLOSED; i++)
        arrive(s, 0);
    s->next_s = next_arrival(s, 0);
    while (s->first < s->queued || s->runs > 0 || isfinite(s->next_s)) {
        if (s->first == s->queued && s->runs == 0)
            s->now_s = fmax(s->now_s, s->next_s);
        arrive_until_now(s);
        if (s->first < s->queued && s->runs < l->most)
            prefill(s);
        else if (s->runs > 0)
            decode(s);
        while (s->runs > 0 && s->running[0]->ends <= s->step) {
            pop(s)->ended_s = s->now_s;
            if (l->arrivals == FSIM_ARRIVE_CLOSED)
                arrive(s, s->now_s);
        }
    }
}

static int ascending(const void *x, const void *y)
{
    const double p = *(const double *)x, q = *(const double *)y;
    return (p > q) - (p < q);
}

/* Sorts. NaN where there are none. */
static fsim_percentiles percentiles_of(double *at, int64_t count)
{
    fsim_percentiles p = {NAN, NAN, NAN, NAN};
    double sum = 0;
    if (count == 0)
        return p;
    qsort(at, (size_t)count, sizeof *at, ascending);
    for (int64_t i = 0; i < count; i++)
        sum += at[i];
    p.mean = sum / (double)count;
    p.p50 = at[(int64_t)ceil(0.50 * (double)count) - 1];
    p.p90 = at[(int64_t)ceil(0.90 * (double)count) - 1];
    p.p99 = at[(int64_t)ceil(0.99 * (double)count) - 1];
    return p;
}

static double first_s(const loop_state *s, int64_t i)
{
    return s->queue[i].first_token_s - s->queue[i].arrived_s + s->loop->first_s;
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
        whole[i - from] = r->ended_s - r->arrived_s + s->loop->first_s;
        if (r->tokens > 1)
            token[tokens++] = (r->ended_s - r->first_token_s) / (double)(r->tokens - 1);
    }
    out->requests = s->queued - from;
    out->steady = is_steady(s, begin);
    out->first = percentiles_of(first, out->requests);
    out->token = percentiles_of(token, tokens);
    out->whole = percentiles_of(whole, out->requests);
}

fsim_loop_times fsim_continuous_batching(const fsim_loop *l, fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    loop_state s = {.loop = l, .seed = 1, .clock_seed = 2};
    fsim_loop_times out = {0};
    double token_sum_s = 0, first_sum_s = 0;
    int64_t ended = 0;
    s.queue = fsim_new(a, request, l->requests + 1);
    s.running = fsim_new(a, request *, l->requests + 1);
    serve_all(&s);
    for (int64_t i = 0; i < s.queued; i++) {
        const request *r = &s.queue[i];
        first_sum_s += first_s(&s, i);
        token_sum_s += r->tokens > 1 ? (r->ended_s - r->first_token_s) / (double)(r->tokens - 1) : 0;
        ended += r->tokens > 1;
    }
    out.first_s = first_sum_s / (double)s.queued;
    out.token_s = ended ? token_sum_s / (double)ended : 0;
    out.rate = (double)s.queued / s.now_s;
    out.running = s.running_s / s.busy_s;
    out.busy = s.busy_s / s.now_s;
    out.prompts = s.prompts_s / s.busy_s;
    measure(&s, &out, a);
    fsim_rewind(a, mark);
    return out;
}
