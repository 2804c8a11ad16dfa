/* SPDX-License-Identifier: Apache-2.0 */
/* capacity.h: how many GPUs serve a load within its goals, and which. */
#ifndef FUSESIM_SERVING_CAPACITY_H
#define FUSESIM_SERVING_CAPACITY_H

#include "serving/deployed.h"
#include "serving/evidence.h"
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
    fsim_loop_times times;     /* of such a part */
    double tokens_s;           /* of output, all GPUs */
    double user_s;             /* of output a second that a request sees */
    double usd_h, usd_million; /* all GPUs; per million tokens of output; NaN: no price */
    double watts, joules;      /* all GPUs; per token of output; NaN: no power limit is known */
    fsim_step_shares decode, prefill;
} fsim_option;

/* A choice with all times at the ends of their 80 % interval; NULL: no number of GPUs meets the goals then. */
typedef struct {
    const fsim_option *quick, *slow;
} fsim_option_ends;

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
    const struct fsim_disaggregated *apart; /* prompts on GPUs of their own (serving/disaggregated.h); NULL: no way was
                                               found with at most twice the GPUs */
    const fsim_option *fused;               /* the fewest again, with the kernels of the best plans; NULL */
    fsim_front_point *front;                /* of all GPUs of a kind, one kind after another, batch ascending */
    int fronts;
    int steps; /* different ones that were priced */
} fsim_capacity;

/* Prices what the options need and finds the best. False after errors in d. In a. */
bool fsim_capacity_find(const fsim_capacity_asked *q, const fsim_folders *where, int jobs, fsim_arena *a, fsim_diag *d,
                        fsim_capacity *out);

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

/* What times to the first token of such a model stand on. */
fsim_evidence_kind fsim_first_evidence(const fsim_model *m);
/* What its times per token stand on. */
fsim_evidence_kind fsim_token_evidence(const fsim_model *m);
/* What its tokens a second stand on. */
fsim_evidence_kind fsim_rate_evidence(const fsim_model *m);

#endif
