/* SPDX-License-Identifier: Apache-2.0 */
/* predict.h: what a whole system reaches, composed of priced steps and of the memory that they leave. */
#ifndef FUSESIM_SERVING_PREDICT_H
#define FUSESIM_SERVING_PREDICT_H

#include "serving/deployed.h"

/* A system that is predicted. */
typedef struct {
    const fsim_system *row;
    fsim_deployed on;
    fsim_deployed_memory memory;
} fsim_serving;

typedef struct {
    double predicted, low, high; /* in the row's unit; NaN where there is a reason */
    const char *reason;          /* why there is no prediction; NULL */
    bool experts;                /* of a mixture */
    bool fits, judged;           /* do weights and one request fit the GPUs; judged: that can be said */
    double weight_bytes, token_bytes, left_bytes; /* a GPU's: weights; the cache of a token; what the cache may have */
    double requests;                              /* in a step */
    double places, prompt_tokens; /* fixed concurrency: requests that may run at once, tokens of prompts that a step may
                                     have, on all GPUs; else 0 */
} fsim_system_answer;

/* hw is NULL where no file has the row's GPU. steps: see steps.h, called twice. Texts in a. */
fsim_system_answer fsim_system_predict(const fsim_system *row, const fsim_hw *hw, fsim_priced_steps *steps,
                                       fsim_arena *a);

#endif
