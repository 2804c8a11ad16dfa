/* SPDX-License-Identifier: Apache-2.0 */
/* capacity.h: how many GPUs serve a load within its goals, and which. */
#ifndef FUSESIM_SERVING_CAPACITY_H
#define FUSESIM_SERVING_CAPACITY_H

#include "serving/disaggregated.h"
#include "serving/evidence.h"

/* A choice with all times at the ends of their 80 % interval; NULL: no number of GPUs meets the goals then. */
typedef struct {
    const fsim_option *quick, *slow;
} fsim_option_ends;

/* The same of prompts apart. */
typedef struct {
    const fsim_disaggregated *quick, *slow;
} fsim_disaggregated_ends;

enum { FSIM_FEWEST, FSIM_CHEAPEST, FSIM_COOLEST, FSIM_CHOICES };

/* Tokens a second of a GPU beside those that each request sees, with so many requests in a step. */
typedef struct {
    int option;
    int64_t batch; /* of a replica */
    double gpu_s, user_s;
} fsim_front_point;

typedef struct {
    const fsim_capacity_asked *asked;
    fsim_option *option;
    int options;
    int fewest, cheapest, coolest;       /* options; -1: there is none */
    fsim_option_ends ends[FSIM_CHOICES]; /* of the fewest, the cheapest, the coolest */
    const char *fewer;                   /* what breaks with a replica fewer; NULL */
    double needed; /* it would do if all times were so much of what they are; NaN: if they were a tenth neither */
    double half_s; /* seconds per token of half of the requests, where with a replica fewer the first goal that fails is
                      of the tail of them, which is long; otherwise NaN */
    const fsim_disaggregated *disaggregated; /* prompts on GPUs of their own; NULL: no way was found with at most twice
                                                the GPUs */
    fsim_disaggregated_ends disaggregated_ends;
    const fsim_option *fused; /* the fewest again, with the kernels of the best plans; NULL */
    fsim_front_point *front;  /* of all GPUs of a kind, one kind after another, batch ascending */
    int fronts;
    int steps; /* different ones that were priced */
} fsim_capacity;

/* Prices what the options need and finds the best. False after errors in d. In a. */
bool fsim_capacity_find(const fsim_capacity_asked *q, const fsim_folders *where, int jobs, fsim_arena *a, fsim_diag *d,
                        fsim_capacity *out);

/* What times to the first token of such a model stand on. */
fsim_evidence_kind fsim_first_evidence(const fsim_model *m);
/* What its times per token stand on. */
fsim_evidence_kind fsim_token_evidence(const fsim_model *m);
/* What its tokens a second stand on. */
fsim_evidence_kind fsim_rate_evidence(const fsim_model *m);

#endif
