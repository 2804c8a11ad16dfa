/* SPDX-License-Identifier: Apache-2.0 */
/* deployed.h: a model on the GPUs that share its layers, under a serving program: seconds of its steps, composed of
 * priced ones, and the memory that it leaves. */
#ifndef FUSESIM_SERVING_DEPLOYED_H
#define FUSESIM_SERVING_DEPLOYED_H

#include "hw/hw.h"
#include "serving/precision.h"
#include "serving/steps.h"
#include "serving/system.h"

/* tp GPUs share each layer; with ep above 1 the experts are spread over as many. Of a model with latent attention (MLA)
 * each of ep GPUs has whole attention and requests of its own, and tp is 1. With pp above 1 the layers are divided into
 * so many stages, each on such GPUs. */
typedef struct {
    const fsim_model *model;
    const fsim_engine *engine;
    const fsim_hw *hw;
    const char *hw_name; /* for the steps */
    const char *dtype;   /* of activations: "bf16" or "f16" */
    fsim_precision weights, cache;
    int64_t tp, ep, pp;
    int64_t budget;        /* tokens of prompts that a step takes: a longer prompt goes in parts */
    int64_t near;          /* GPUs of a node; 0: all of them are in one */
    double network;        /* bytes a second between nodes, for each GPU and direction */
    int64_t input, output; /* tokens of a request */
    fsim_priced_steps *steps;
    fsim_arena *arena;
} fsim_deployed;

/* Why steps of the model can't be priced; NULL: they can. In a. */
const char *fsim_unserved(const fsim_model *m, fsim_arena *a);
/* The width of a gated block with as many weights as the model's, of an expert where it has experts. */
int64_t fsim_priced_width(const fsim_model *m);
/* How the GPUs may share it: why not; NULL: they may. In a. */
const char *fsim_unshared(const fsim_model *m, int64_t tp, int64_t ep, fsim_arena *a);
/* GPUs that share each layer: those of a stage. */
int64_t fsim_stage_gpus(const fsim_deployed *s);
/* GPUs that it takes. */
int64_t fsim_deployed_gpus(const fsim_deployed *s);
/* Groups of tp of them that have requests of their own: attention is data parallel where the experts are spread over
 * more GPUs than attention is split over. */
int64_t fsim_deployed_groups(const fsim_deployed *s);

/* Nodes that they take. */
int64_t fsim_deployed_nodes(const fsim_deployed *s);
/* Seconds of a step with so many tokens on a GPU, or on those that share attention, in which data crosses the network.
 */
double fsim_network_s(const fsim_deployed *s, int64_t tokens);
/* Seconds of a step with so many tokens in which stages send activations on: hidden state and residual, by the network
 * where the next stage is in another node, and by links otherwise. */
double fsim_sends_s(const fsim_deployed *s, int64_t tokens);
/* Layers of the fullest stage. */
int64_t fsim_stage_layers(const fsim_deployed *s);
/* Bytes of a weight, its share of a scale among them: 4-bit ones are MXFP4 where the model is published so, NVFP4 on
 * GPUs with units for 4-bit floats. */
double fsim_deployed_weight_bytes(const fsim_deployed *s);
/* Seconds of the host that a step waits for. */
double fsim_host_s(const fsim_deployed *s);
/* Seconds of a step on the GPUs, without the host's part: a new token of each request with so many cached tokens. */
double fsim_decode_s(const fsim_deployed *s, int64_t requests, double cached);
/* What the slowest stage takes of it, without sends. */
double fsim_decode_stage_s(const fsim_deployed *s, int64_t requests, double cached);
/* The same of whole prompts. */
double fsim_prefill_s(const fsim_deployed *s, int64_t prompts, int64_t length);
/* Seconds of a prompt of its input's length, in as many steps as its tokens need. */
double fsim_prompt_alone_s(const fsim_deployed *s);
/* Prompts of its input's length that a step takes together, at most so many. */
int64_t fsim_prompts_a_step(const fsim_deployed *s, int64_t most);
/* Seconds that a prompt adds to steps of so many decodes. */
double fsim_prompt_beside_s(const fsim_deployed *s, int64_t requests, double cached);

/* Bytes of one of its GPUs, which has a part of each layer of its stage. */
typedef struct {
    double capacity, weights, framework, collectives, activations;
    double cache;   /* what the engine leaves to keys and values; negative: the others do not fit */
    double token;   /* of the cache of a token; layers with a window keep all tokens too, as the measured engines do */
    int64_t layers; /* that the GPU has a share of */
} fsim_deployed_memory;
/* Of a GPU of the stage that has place for the fewest tokens. tokens: that a step has at most. */
fsim_deployed_memory fsim_deployed_memory_of(const fsim_deployed *s, int64_t tokens);
/* Requests at once that memory and engine allow; 0: not one. */
int64_t fsim_places(const fsim_deployed *s, const fsim_deployed_memory *m);

/* Who is let in: requests that may be in a step, and tokens that the cache has place for where the engine counts these.
 */
typedef struct {
    int64_t requests, tokens; /* tokens: 0 where the engine keeps a place for the whole answer, and of a pipeline, which
                                 has as many requests as fit on average */
} fsim_let_in;
/* What memory and engine allow. */
fsim_let_in fsim_let_in_of(const fsim_deployed *s, const fsim_deployed_memory *m);

#endif
