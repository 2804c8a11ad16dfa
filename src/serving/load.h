/* SPDX-License-Identifier: Apache-2.0 */
/* load.h: the requests that a system is to serve, and how soon: --load and --goal. */
#ifndef FUSESIM_SERVING_LOAD_H
#define FUSESIM_SERVING_LOAD_H

#include "input/gate.h"
#include "serving/batching.h"

/* Neither rate, concurrency nor trace: all requests wait at once, and only what they cost is wanted. */
typedef struct {
    int64_t input, output; /* tokens of a request; of a trace, means */
    double rate;           /* requests a second; 0: not said */
    int64_t concurrency;   /* requests always under way; 0: not said */
    fsim_arrivals arrivals;
    const fsim_traced *trace; /* in the order of time */
    int64_t traced;
    const char *text; /* as typed */
} fsim_load;

/* Reads words such as "input=2048", "output=256", "rate=20/s" (or /min, /h), "concurrency=64", "arrivals=even",
 * "trace=FILE.csv" (columns time, input, output). False after errors in d. In a. */
bool fsim_load_read(fsim_arena *a, fsim_diag *d, const char *const *words, int count, fsim_load *out);

/* --goal METRIC=LIMIT: ttft=2s is of 99 of 100 requests. */
extern const fsim_gate_table fsim_goals;
/* What a goal's metric is of: the time to the first token, per token behind it, to the last one. */
typedef enum { FSIM_GOAL_FIRST, FSIM_GOAL_TOKEN, FSIM_GOAL_WHOLE } fsim_goal_kind;
/* The kind of a goal's metric. */
fsim_goal_kind fsim_goal_kind_of(const fsim_gate *g);
/* The value of a goal's metric. */
double fsim_goal_value(const fsim_gate *g, const fsim_loop_times *t);
/* Is it a limit of a tail of the times per token, of 99 of 100 requests or of 9 of 10? */
bool fsim_goal_is_token_tail(const fsim_gate *g);

#endif
