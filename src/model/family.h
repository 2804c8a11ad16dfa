/* SPDX-License-Identifier: Apache-2.0 */
/* family.h: the rows of family.def, and the count of parameters by them. */
#ifndef FUSESIM_MODEL_FAMILY_H
#define FUSESIM_MODEL_FAMILY_H

#include "model/model.h"

enum {
    GATED = 1,
    TIED = 2,
    LAYER_NORM = 4,
    QKV_BIAS = 8,
    OUT_BIAS = 16,
    MLP_BIAS = 32,
    HEAD_BIAS = 64,
    ROUTER_BIAS = 128,
    EXPERT_BIAS = 256,
    NO_KEY_BIAS = 512,
    ONE_NORM = 1024,
    FOUR_NORMS = 2048,
    QK_NORM = 4096,
    QK_NORM_WIDE = 8192,
    LEARNED = 16384,
    EMBED_NORM = 32768,
    SINKS = 65536,
    SHARED_GATE = 131072,
    BLOCK_SCALES = 262144
};

typedef struct {
    const char *type;
    fsim_model_kind kind;
    unsigned traits;
    int64_t window, period;
} fsim_family;

/* What the count needs beside the model's fields. */
typedef struct {
    unsigned traits;
    int64_t norms;           /* of a layer */
    int64_t inner;           /* width of the embedding where it is projected to the model's; 0: it is not */
    bool last_norm;          /* behind all layers */
    int64_t types, labels;   /* rows of token types; classes of a classifier */
    int64_t buckets;         /* of relative positions */
    int64_t patch, channels; /* pixels of a patch's side; channels of a picture, or features of a sound */
    int64_t sources;         /* positions of the encoder */
    int64_t encoder_ffn;     /* width of the encoder's feed-forward block */
} fsim_model_details;

/* Fills the parts and all counts of m from its other fields. False where a count has no place in 62 bits. */
bool fsim_count_parameters(fsim_model *m, const fsim_model_details *x);

#endif
