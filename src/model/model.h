/* SPDX-License-Identifier: Apache-2.0 */
/* model.h: transformers by their architecture: a Hugging Face config.json, or a name of the shipped table. What it
 * counts is exact: parameters, and elements of the cache of keys and values. */
#ifndef FUSESIM_MODEL_MODEL_H
#define FUSESIM_MODEL_MODEL_H

#include "base/diag.h"
#include <stdint.h>

typedef enum { FSIM_DECODER, FSIM_ENCODER, FSIM_ENCODER_DECODER, FSIM_VISION, FSIM_MODEL_KINDS } fsim_model_kind;
extern const char *const fsim_model_kind_names[FSIM_MODEL_KINDS];

/* Parameters of one kind, `times` of them. active: those of each that a token meets; the others are experts that it is
 * not sent to. */
typedef struct {
    const char *name;
    int64_t each, times, active;
} fsim_model_part;
enum { FSIM_MOST_PARTS = 24 };

/* Lengths are elements; 0 where the model has no such thing. */
typedef struct {
    const char *name, *family, *source;
    const char *dtype;     /* of the weights as the file says: "bf16", "f16", "f32"; "" where it does not */
    const char *quantized; /* quantization_config: "fp8", "mxfp4"; "" */
    fsim_model_kind kind;
    int64_t layers, encoder_layers, hidden, heads, kv_heads, head_dim, ffn, vocab, positions;
    bool gated, tied, block_scales; /* block_scales: in 8 bits, weights have a scale for each 128 x 128 */
    int64_t experts, topk, expert_ffn, shared_ffn; /* of each expert; of the experts that every token meets, together */
    int64_t dense_layers;                          /* of a mixture: layers without experts */
    int64_t q_lora, kv_lora, nope_dim, rope_dim, value_dim; /* multi-head latent attention */
    int64_t window, windowed; /* keys that a query sees in a windowed layer; such layers */
    fsim_model_part part[FSIM_MOST_PARTS];
    int parts;
    int64_t parameters, active; /* all; those that a token meets */
    int64_t untied;             /* parameters if embedding and head were apart */
    int64_t embedding, head;    /* tokens' and positions' tables; the head's, 0 where it is tied */
    int64_t cached;             /* elements of the cache of a token, all layers, whole lengths */
    int64_t cached_source;      /* of a source token, for cross attention */
} fsim_model;

/* The model of this name in the shipped table (any case, spaces as hyphens), or of the config.json at this path. NULL
 * after errors in d: FSIM_NO_INPUT where there is neither. In a. */
const fsim_model *fsim_model_load(fsim_arena *a, fsim_diag *d, const char *name);
/* The same from the text of a config.json, which must outlive d; path for messages. */
const fsim_model *fsim_model_parse(fsim_arena *a, fsim_diag *d, const char *name, const char *path, const char *text,
                                   size_t bytes);
/* A name as the table has it: "Llama 3 8B" as "llama-3-8b". In a. */
const char *fsim_model_key(fsim_arena *a, const char *name);
/* All names of the table. Returns how many. */
int fsim_model_names(const char *const **out);

/* "MHA", "GQA", "MQA", "MLA". */
const char *fsim_model_attention(const fsim_model *m);

#endif
