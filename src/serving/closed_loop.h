/* SPDX-License-Identifier: Apache-2.0 */
/* closed_loop.h: continuous batching with a constant number of requests under way, followed event by event. */
#ifndef FUSESIM_SERVING_CLOSED_LOOP_H
#define FUSESIM_SERVING_CLOSED_LOOP_H

#include "base/arena.h"
#include <stdint.h>

enum { FSIM_LOOP_POINTS = 3 };

/* Requests come as others end, `requests` of them in all; the first `slots` come together. Lengths are drawn evenly
 * from shortest to 1 of input and output, always the same ones (a fixed seed). A step takes prompts in the order of
 * arrival, up to `tokens` tokens of them, beside one token of each running request. */
typedef struct {
    int64_t slots, requests, input, output, tokens;
    int64_t most; /* requests that the cache has place for: others wait until one ends; at least 1 */
    double shortest;
    double running[FSIM_LOOP_POINTS],
        decode_s[FSIM_LOOP_POINTS]; /* seconds of a step with so many decodes, ascending */
    double alone_s, beside_s; /* seconds of a prompt of `input` tokens, alone and more where decodes are in the step */
    double host_s, first_s;   /* seconds of the host a step, and once a request before its first token */
} fsim_loop;

typedef struct {
    double first_s, token_s; /* means: arrival to first token; per token behind it */
} fsim_loop_times;

/* Scratch in a. */
fsim_loop_times fsim_closed_loop(const fsim_loop *l, fsim_arena *a);

/* Seconds of a step with n decodes: between the points on straight lines. */
double fsim_loop_decode_s(const fsim_loop *l, double n);

#endif
