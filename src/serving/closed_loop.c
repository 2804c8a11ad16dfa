/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/closed_loop.h"

#include <math.h>
#include <stdbool.h>

typedef struct {
    double arrived_s, first_token_s;
    int64_t prompt, tokens; /* left of the prompt; of the output */
    int64_t ends;           /* number of the step that makes its last token */
} request;

typedef struct {
    const fsim_loop *loop;
    request *queue; /* in the order of arrival, queue[first, queued) */
    int64_t first, queued;
    request **running; /* a heap, soonest end first */
    int64_t runs, step;
    uint64_t seed;
    double now_s, first_sum_s, token_sum_s;
    int64_t ended;
} loop_state;

/* A number from 0 to 1 (Knuth's MMIX generator, upper bits). */
static double draw(loop_state *s)
{
    enum { SHIFT = 11, BITS = 53 };
    s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
    return ldexp((double)(s->seed >> SHIFT), -BITS);
}

static int64_t drawn(loop_state *s, int64_t length)
{
    const double least = s->loop->shortest, share = least + (1 - least) * draw(s);
    return (int64_t)fmax(1, floor(share * (double)length));
}

static void arrive(loop_state *s)
{
    const int64_t prompt = drawn(s, s->loop->input), tokens = drawn(s, s->loop->output);
    if (s->queued < s->loop->requests)
        s->queue[s->queued++] = (request){.arrived_s = s->now_s, .prompt = prompt, .tokens = tokens};
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
    while (i + 1 < FSIM_LOOP_POINTS && n > l->running[i])
        i++;
    const double width = l->running[i] - l->running[i - 1];
    const double share = width > 0 ? (n - l->running[i - 1]) / width : 1;
    return l->decode_s[i - 1] + share * (l->decode_s[i] - l->decode_s[i - 1]);
}

/* A step that takes prompts. */
static void prefill(loop_state *s)
{
    const fsim_loop *l = s->loop;
    int64_t left = l->tokens, from = s->first;
    while (s->first < s->queued && left > 0 && s->runs + s->first - from < l->most) {
        request *r = &s->queue[s->first];
        const int64_t taken = r->prompt < left ? r->prompt : left;
        r->prompt -= taken;
        left -= taken;
        if (r->prompt > 0)
            break;
        s->first++;
    }
    const double prompts = (double)(l->tokens - left) / (double)l->input;
    s->now_s +=
        l->host_s + (s->runs ? fsim_loop_decode_s(l, (double)s->runs) + prompts * l->beside_s : prompts * l->alone_s);
    s->step++;
    for (; from < s->first; from++) {
        request *r = &s->queue[from];
        r->first_token_s = s->now_s;
        r->ends = s->step + r->tokens - 1;
        s->first_sum_s += s->now_s - r->arrived_s + l->first_s;
        push(s, r);
    }
}

/* Steps without prompts, until a request ends. */
static void decode(loop_state *s)
{
    const int64_t steps = s->running[0]->ends - s->step;
    s->now_s += (double)steps * (s->loop->host_s + fsim_loop_decode_s(s->loop, (double)s->runs));
    s->step += steps;
}

fsim_loop_times fsim_closed_loop(const fsim_loop *l, fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    loop_state s = {.loop = l, .seed = 1};
    s.queue = fsim_new(a, request, l->requests + 1);
    s.running = fsim_new(a, request *, l->requests + 1);
    for (int64_t i = 0; i < l->slots; i++)
        arrive(&s);
    while (s.first < s.queued || s.runs > 0) {
        if (s.first < s.queued && s.runs < l->most)
            prefill(&s);
        else
            decode(&s);
        while (s.runs > 0 && s.running[0]->ends <= s.step) {
            const request *r = pop(&s);
            if (r->tokens > 1) {
                s.token_sum_s += (s.now_s - r->first_token_s) / (double)(r->tokens - 1);
                s.ended++;
            }
            arrive(&s);
        }
    }
    const fsim_loop_times out = {s.first_sum_s / (double)s.queued, s.ended ? s.token_sum_s / (double)s.ended : 0};
    fsim_rewind(a, mark);
    return out;
}
