/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: the ways to serve that are searched: GPUs, precisions, how a copy's GPUs share the model. */
#ifndef FUSESIM_SERVING_OPTIONS_H
#define FUSESIM_SERVING_OPTIONS_H

#include "serving/deployed.h"
#include "serving/load.h"
#include "serving/machine.h"

/* What is asked. */
typedef struct {
    const fsim_model *model;
    const fsim_engine *engine;
    const fsim_load *load;
    const fsim_gate *goal;
    int goals;
    const fsim_machine *on; /* GPUs to choose from; on one node layers may be shared */
    int ons;
    const fsim_options *fused; /* also with the kernels of the best plans; NULL: not */
    int64_t most_gpus;
    int64_t stages;                                 /* of each copy; 0: whatever is best */
    bool weights[FSIM_STORED], caches[FSIM_STORED]; /* precisions that may be used */
} fsim_capacity_asked;

/* What a step takes besides what the host does: the shares of its time that its weights, the cache, and the products,
 * attention's among them, would take at the data sheet's rates. */
typedef struct {
    double weights, cache, products, host;
    double other;   /* what is left: links, small kernels, rates below the data sheet's */
    const char *by; /* the largest: "reading weights" */
} fsim_step_shares;

/* A way to serve: copies (replicas) of the model, each on GPUs that share it. */
typedef struct {
    fsim_deployed on;
    const fsim_machine *machine;
    fsim_deployed_memory memory;
    int64_t places;       /* requests at once in a part of a replica with requests of its own (fsim_deployed_groups) */
    const char *reason;   /* why it can't serve the load within the goals; NULL: it can */
    const char *fault;    /* the goal that fails: in reason */
    const char *unpriced; /* why a step of it has no price, where that is known */
    bool fits;
    fsim_loop loop; /* of such a part; without its load */
    int64_t replicas, gpus;
    fsim_loop_times times; /* of such a part: of the fullest, where so many requests under way can't be shared evenly */
    double filled;         /* what all parts have of the requests that as full ones would have */
    double tokens_s;       /* of output, all GPUs */
    double user_s;         /* of output a second that a request sees */
    double usd_h, usd_million; /* all GPUs; per million tokens of output; NaN: no price */
    double watts, joules;      /* all GPUs; per token of output; NaN: no power limit is known */
    fsim_step_shares decode, prefill;
} fsim_option;

/* Requests in a step of a replica, of all its parts, on average. */
double fsim_option_running(const fsim_option *x);
/* Requests in a step of such a part, on average: of stages, in a batch. */
double fsim_option_batch(const fsim_option *x);
/* Parts of a replica that have requests of their own, as a factor of what one has. */
double fsim_option_parts(const fsim_option *x);

/* Does it fit, and have its steps prices, whatever the goals? */
bool fsim_option_is_priced(const fsim_option *x);
/* The first goal that these times fail; NULL: they hold all. */
const fsim_gate *fsim_goal_failing(const fsim_capacity_asked *q, const fsim_loop_times *t);
/* Watts of a GPU that is so busy, with its share of what is around it in its node; NaN: no power limit is known. */
double fsim_watts_of(const fsim_machine *machine, const fsim_loop_times *t);

/* Has each step that the simulation needs a price? */
bool fsim_loop_is_priced(const fsim_loop *l);

/* All ways to do what is asked, with memory and, where it can't be, the reason; the list has room for two more of each.
 * Returns how many. In a. */
int fsim_options_of(const fsim_capacity_asked *q, fsim_arena *a, fsim_option **out);
/* The same way with steps that take fewer tokens of prompts. */
fsim_option fsim_option_in_chunks(const fsim_option *x, int64_t budget);

#endif
