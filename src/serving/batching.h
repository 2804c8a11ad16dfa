/* SPDX-License-Identifier: Apache-2.0 */
/* batching.h: continuous batching, followed event by event: each step has a token of every running request, and tokens
 * of prompts that wait. With stages, batches of requests go through them one behind the other. Deterministic: what is
 * drawn comes from fixed seeds. */
#ifndef FUSESIM_SERVING_BATCHING_H
#define FUSESIM_SERVING_BATCHING_H

#include "serving/percentiles.h"
#include <stdbool.h>

enum { FSIM_LOOP_POINTS = 16 };

/* When requests come. */
typedef enum {
    FSIM_ARRIVE_CLOSED,  /* as others end; the first `slots` come together */
    FSIM_ARRIVE_POISSON, /* `rate` a second, independent of each other */
    FSIM_ARRIVE_EVENLY,  /* `rate` a second, as far apart as they can be */
    FSIM_ARRIVE_TRACE    /* as in a trace */
} fsim_arrivals;

/* A request of a trace. */
typedef struct {
    double at_s;
    int64_t input, output;
    double waited_s; /* before at_s, elsewhere; counts as part of its time to the first token */
} fsim_traced;

/* Lengths are drawn evenly from shortest to longest times input and output, always the same ones. A step takes prompts
 * in the order of arrival, up to `tokens` tokens of them, beside one token of each running request. */
typedef struct {
    fsim_arrivals arrivals;
    double rate;
    const fsim_traced *trace; /* of `requests` rows, in the order of time */
    int64_t slots, requests, input, output, tokens;
    int64_t most; /* requests that may be in a step: others wait until one ends; at least 1 */
    /* Tokens that the cache has place for; 0, of a pipeline and of filled requests: not counted, `most` alone holds. A
     * request is let in where all of its prompt has place, and needs a token more for each that it makes. Where there
     * is no place for one of each, the request that was let in last gives up its cache; it is the first of those that
     * wait, its prompt is then what it has read and made, and nobody is let in in that step (vLLM's scheduler V1,
     * without what its prefix cache may keep). */
    int64_t cache_tokens;
    double shortest, longest;
    int points;
    double running[FSIM_LOOP_POINTS],
        decode_s[FSIM_LOOP_POINTS]; /* seconds of a step with so many decodes, ascending; 2 points at least */
    double alone_s, beside_s; /* seconds of a prompt of `input` tokens, alone and more where decodes are in the step */
    double host_s, first_s;   /* seconds of the host a step, and once a request before its first token */
    /* Stages of a pipeline: each has some of the layers, and as many batches of requests are under way as there are
     * stages. 0 and 1: none, and what follows is not read. */
    int64_t stages;
    double stage_s[FSIM_LOOP_POINTS]; /* seconds of the slowest stage at the points of decode_s, which are of a batch
                                         and of all stages with what is sent between them */
    double prompt_share;              /* of a prompt's seconds that are the slowest stage's */
    bool filled;     /* keys and values of prompts come with the requests: a step has new tokens alone */
    uint64_t stream; /* of random numbers: others give other lengths and Poisson arrivals */
} fsim_loop;

typedef struct {
    double first_s, token_s; /* means of all requests: arrival to first token; per token behind it */
    bool steady; /* no queue grows: requests of the second half do not wait much longer than those of the first */
    /* Of the part behind the begin, which ends where the standard error of the mean time to the first token is least
     * (MSER-5, White 1997), at the half at most: */
    int64_t requests;
    fsim_percentiles first, token, whole; /* to the first token; per token behind it; to the last token */
    /* Of all of the run: */
    double rate;     /* requests that end a second */
    double running;  /* mean of the requests in a step; of a pipeline, in all of its batches */
    double busy;     /* share of the time in steps; of a pipeline, of its stages' time */
    double prompts;  /* share of the time in steps that is prompts' */
    double given_up; /* how often a request lost its cache, in the mean */
} fsim_loop_times;

/* Scratch in a. */
fsim_loop_times fsim_continuous_batching(const fsim_loop *l, fsim_arena *a);

/* A request whose prompt is done, in steps of prompts alone. */
typedef struct {
    double arrived_s, done_s;
    int64_t input;
} fsim_prefilled;
/* Prompts alone, in the order in which they come, which is that in which they are done; out has a place for each of
 * l->requests. Returns how many there are. Scratch in a. */
int64_t fsim_prompts_alone(const fsim_loop *l, fsim_prefilled *out, fsim_arena *a);
/* The next number of a stream, from 0 to 1. */
double fsim_drawn(uint64_t *seed);

/* The same with all times of steps longer by a factor. */
fsim_loop fsim_loop_longer(const fsim_loop *l, double factor);
/* Seconds of a step with n decodes: between the points on straight lines. Of a pipeline n is a batch. */
double fsim_loop_decode_s(const fsim_loop *l, double n);
/* How many of n requests are in a batch, where as many batches are under way as there are stages: n without stages. */
double fsim_loop_batch(const fsim_loop *l, double n);
/* Seconds in which each of n requests has a new token, beside so many prompts in all: a step; of a pipeline, what one
 * batch takes from its first stage to its last, or what the slowest stage takes for all batches, if that is more. */
double fsim_loop_round_s(const fsim_loop *l, double n, double prompts);

#endif
