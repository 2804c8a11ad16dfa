/* SPDX-License-Identifier: Apache-2.0 */
/* trained.h: a step of training of a dense decoder on many GPUs: its time and a GPU's memory, part by part. */
#ifndef FUSESIM_SERVING_TRAINED_H
#define FUSESIM_SERVING_TRAINED_H

#include "hw/hw.h"
#include "model/model.h"
#include "serving/machine.h"
#include "serving/steps.h"

/* A way to train: tp GPUs share each layer, pp stages of layers follow each other, and dp copies of all that have their
 * own sequences. tp x pp x dp GPUs. */
typedef struct {
    int64_t tp, pp, dp;
    int64_t chunks; /* pieces of its layers that a stage goes through in turn (interleaved 1F1B); 1: all at once */
    int64_t micro;  /* sequences of a micro-batch */
    int64_t batch;  /* sequences of a step: near those asked for, so that copies and micro-batches share them out */
    int zero;       /* what the dp copies share out: 0 nothing, 1 the optimizer's state, 3 all (FSDP) */
    bool again;     /* backward computes each layer again */
} fsim_sharing;

/* Seconds of a layer and of the head for a micro-batch. */
typedef struct {
    double both_s;  /* forward and backward */
    double again_s; /* what computing it again adds */
    double head_s;  /* product and loss, forward and backward */
} fsim_layer_price;

typedef struct {
    double layers, again, head; /* products, attention and what is between them; again: what backward computes again */
    double links;               /* what GPUs that share layers send each other */
    double bubble, sends;       /* of stages: waiting; what they send each other */
    double gradients;           /* of copies: what of their exchange nothing hides */
    double update;
    double step;
} fsim_trained_time;

/* Bytes of the fullest GPU. */
typedef struct {
    double weights, gradients, state, activations, logits, framework, all, capacity;
    bool fits;
} fsim_trained_memory;

/* What is trained. */
typedef struct {
    const fsim_model *model;
    int64_t length, batch; /* tokens of a sequence; sequences of a step */
    fsim_priced_steps *steps;
    fsim_arena *arena;
} fsim_training;

/* Why its training can't be priced; NULL: it can. In a. */
const char *fsim_untrained(const fsim_model *m, fsim_arena *a);
/* May the model be shared so? */
bool fsim_is_way(const fsim_training *t, const fsim_sharing *w);
/* Prices of a micro-batch; called twice: see steps.h. */
fsim_layer_price fsim_layer_priced(const fsim_training *t, const fsim_hw *hw, int64_t tp, int64_t micro);
/* A step by part; the price is of w's tp and micro-batch. */
fsim_trained_time fsim_trained_time_of(const fsim_training *t, const fsim_machine *on, const fsim_sharing *w,
                                       const fsim_layer_price *price);
/* The memory of its fullest GPU by part. */
fsim_trained_memory fsim_trained_memory_of(const fsim_training *t, const fsim_machine *on, const fsim_sharing *w);
/* FLOPs of a token that count as the model's work: 6 a parameter that it meets but for the embedding, and attention to
 * all tokens. */
double fsim_model_flops(const fsim_training *t);

#endif
