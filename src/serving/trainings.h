/* SPDX-License-Identifier: Apache-2.0 */
/* trainings.h: the GPUs that train a model on so many tokens, in time, and how they share it. */
#ifndef FUSESIM_SERVING_TRAININGS_H
#define FUSESIM_SERVING_TRAININGS_H

#include "serving/trained.h"

/* What is asked. */
typedef struct {
    const fsim_model *model;
    const fsim_machine *on;
    int ons;
    int64_t most_gpus;
    int64_t length, batch; /* tokens of a sequence; sequences of a step */
    bool about;            /* a few sequences more or less will do */
    bool again;            /* only ways that compute each layer again */
    double tokens;         /* of the whole training */
    double deadline_s;     /* NaN: none */
} fsim_trainings_asked;

/* The fastest way of so many GPUs of a kind. */
typedef struct {
    int on; /* of asked->on */
    int64_t gpus;
    fsim_sharing way;
    fsim_trained_time time;
    fsim_trained_memory memory;
    const char *reason; /* why there is no way; NULL: there is. memory is then of the way that needs least */
    double tokens_s;    /* all GPUs */
    double mfu;         /* the model's FLOPs over those of the data sheet */
    double train_s;     /* the whole training */
    double usd, joules; /* of it; NaN: price, or power limit, not known */
    bool in_time;
} fsim_trained_on;

typedef struct {
    const fsim_trainings_asked *asked;
    fsim_trained_on *at;
    int count;
    int fewest, cheapest, coolest, fastest; /* of those in time; -1: none */
    int steps, ways;                        /* different ones that were priced */
} fsim_trainings;

/* Prices what ways need, and finds for each number of GPUs, a power of 2, the fastest that fits. False after errors in
 * d. In a. */
bool fsim_trainings_find(const fsim_trainings_asked *q, const fsim_folders *where, int jobs, fsim_arena *a,
                         fsim_diag *d, fsim_trainings *out);
/* Half width of 80 % intervals of times, as a factor. */
double fsim_training_spread(void);

#endif
