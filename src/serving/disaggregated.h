/* SPDX-License-Identifier: Apache-2.0 */
/* disaggregated.h: prompts on GPUs of their own. Copies of the model that only take prompts hand each request's cache
 * on to copies that only make new tokens. */
#ifndef FUSESIM_SERVING_DISAGGREGATED_H
#define FUSESIM_SERVING_DISAGGREGATED_H

#include "serving/options.h"

typedef struct {
    const fsim_option *prompt, *token; /* how a copy of each kind shares the model: same GPU, same precisions */
    int64_t prompts, tokens;           /* copies of each kind */
    int64_t gpus;                      /* all */
    double bytes;                      /* of the cache of a prompt */
    double move_s;                     /* seconds in which it moves, where no other does */
    bool near;                         /* by the links of a node; otherwise by the network */
    fsim_loop_times times;             /* as a request sees them; busy, running: of a copy for new tokens */
    double waited_s;                   /* mean until the cache has moved, of the time to the first token */
    double prompts_busy;               /* share of the time in which a copy for prompts works */
    double rate;                       /* requests a second */
    double tokens_s, usd_h, usd_million, watts, joules; /* as in fsim_option */
} fsim_disaggregated;

/* The fewest GPUs, at most so many, that serve what is asked, of pairs of the options, whose steps have been priced:
 * NULL where none does. Where all requests wait, the most tokens a GPU. In a. */
const fsim_disaggregated *fsim_disaggregate(const fsim_capacity_asked *q, const fsim_option *option, int options,
                                            int64_t most_gpus, int jobs, fsim_arena *a);

/* The same kinds of copies with all times of steps longer by a factor, on as many GPUs as they need then; NULL: on none
 * that may be used. What moves between the copies takes as long. In a. */
const fsim_disaggregated *fsim_disaggregated_with(const fsim_capacity_asked *q, const fsim_disaggregated *x,
                                                  double longer, fsim_arena *a);

#endif
