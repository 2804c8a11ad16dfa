/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/deployed.h"

#include "cost/collective.h"
#include "serving/constants.h"
#include <math.h>
#include <string.h>

/* Rounded to whole tiles: the width of a gated block with as many weights as one of two matrices. */
static int64_t gated_width(int64_t ffn)
{
    enum { TILE = 128 };
    return (2 * ffn / 3 + TILE - 1) / TILE * TILE;
}

int64_t fsim_priced_width(const fsim_model *m)
{
    return m->experts ? m->expert_ffn : m->gated ? m->ffn : gated_width(m->ffn);
}

const char *fsim_unserved(const fsim_model *m, fsim_arena *a)
{
    if (m->kind != FSIM_DECODER)
        return fsim_printf(a, "%s is no decoder: %s; decoders alone are priced when they serve", m->name,
                           fsim_model_kind_names[m->kind]);
    if (m->kv_lora && !m->experts)
        return "latent attention is priced with experts only";
    return NULL;
}

const char *fsim_unshared(const fsim_model *m, int64_t tp, int64_t ep, fsim_arena *a)
{
    if (m->kv_lora && tp > 1)
        return "latent attention is not split";
    if (m->heads % tp)
        return fsim_printf(a, "%lld heads can't be split over %lld GPUs", (long long)m->heads, (long long)tp);
    if (m->kv_heads % tp && tp % m->kv_heads)
        return fsim_printf(a, "%lld heads of keys can't be split over %lld GPUs", (long long)m->kv_heads,
                           (long long)tp);
    if (fsim_priced_width(m) % tp && ep == 1)
        return fsim_printf(a, "a width of %lld can't be split over %lld GPUs", (long long)fsim_priced_width(m),
                           (long long)tp);
    if (m->shared_ffn % tp)
        return fsim_printf(a, "a width of %lld of shared experts can't be split over %lld GPUs",
                           (long long)m->shared_ffn, (long long)tp);
    if (m->dense_layers && m->ffn % tp)
        return fsim_printf(a, "a width of %lld can't be split over %lld GPUs", (long long)m->ffn, (long long)tp);
    if (ep > 1 && (m->experts == 0 || m->experts % ep))
        return fsim_printf(a, "%lld experts can't be spread over %lld GPUs", (long long)m->experts, (long long)ep);
    return NULL;
}

int64_t fsim_stage_gpus(const fsim_deployed *s) { return s->tp > s->ep ? s->tp : s->ep; }

int64_t fsim_deployed_gpus(const fsim_deployed *s) { return s->pp * fsim_stage_gpus(s); }

int64_t fsim_deployed_groups(const fsim_deployed *s) { return s->ep > s->tp ? s->ep / s->tp : 1; }

double fsim_deployed_weight_bytes(const fsim_deployed *s)
{
    const bool published = strcmp(s->model->quantized, "mxfp4") == 0;
    return s->weights == FSIM_4_BITS && !published && fsim_hw_has(s->hw, FSIM_HW_TENSOR_F4)
               ? nvfp4_bytes
               : fsim_precision_bytes(s->weights);
}

double fsim_host_s(const fsim_deployed *s)
{
    return s->engine->host_s + s->engine->rank_s * (double)(fsim_stage_gpus(s) - 1);
}

static const char *cache_as(const fsim_deployed *s) { return s->cache == FSIM_16_BITS ? s->dtype : "f8e4m3"; }

/* Weights of 4 bits have products of their own where the GPU has units for them; others, and those of experts, are
 * priced as 8-bit ones, less the time of the bytes that experts save: see saved_s. */
static const char *weights_as(const fsim_deployed *s)
{
    const bool own = s->weights == FSIM_4_BITS && !s->model->experts && fsim_hw_has(s->hw, FSIM_HW_TENSOR_F4);
    return s->weights == FSIM_16_BITS ? s->dtype : own ? "f4e2m1" : "f8e4m3";
}

/* Features that queries go through: those that they are compressed to, or, where they are not, as many as make two
 * products with as many weights as the one. */
static int64_t query_rank(const fsim_model *m)
{
    enum { TILE = 64 };
    const int64_t queries = m->heads * (m->nope_dim + m->rope_dim);
    if (m->q_lora)
        return m->q_lora;
    const int64_t rank = m->hidden * queries / (m->hidden + queries);
    return rank < TILE ? TILE : (rank + TILE / 2) / TILE * TILE;
}

/* The symbols of a layer's widths in the family's workloads; dense: of a mixture's layer without experts. */
static const char *widths(const fsim_deployed *s, bool dense)
{
    const fsim_model *m = s->model;
    const int64_t width = dense ? m->ffn : fsim_priced_width(m);
    const char *mixture = m->experts && !dense ? fsim_printf(s->arena, ";experts=%ld;topk=%ld;ep=%ld", (long)m->experts,
                                                             (long)m->topk, (long)s->ep)
                                               : "";
    if (m->kv_lora)
        return fsim_printf(s->arena, "H=%ld;heads=%ld;D=%ld;rotary=%ld;latent=%ld;q_rank=%ld;F=%ld%s", (long)m->hidden,
                           (long)m->heads, (long)m->nope_dim, (long)m->rope_dim, (long)m->kv_lora, (long)query_rank(m),
                           (long)m->expert_ffn, mixture);
    return fsim_printf(s->arena, "H=%ld;heads=%ld;kv_heads=%ld;D=%ld;F=%ld;tp=%ld%s", (long)m->hidden, (long)m->heads,
                       (long)m->kv_heads, (long)m->head_dim, (long)width, (long)s->tp, mixture);
}

/* Are weights of 8 bits in blocks of 128 x 128 with a scale each? Not where a rank's part of the width cuts blocks. */
static bool has_blocks(const fsim_deployed *s)
{
    enum { BLOCK = 128 };
    const int64_t width = fsim_priced_width(s->model) * (s->ep < s->tp ? s->ep : s->tp) / s->tp;
    return s->model->block_scales && s->weights == FSIM_8_BITS && width % BLOCK == 0;
}

/* The symbols for the kernels of engine and checkpoint; "": those that the step has without. */
static const char *kernels_of(const fsim_deployed *s, const char *phase, bool dense)
{
    const fsim_model *m = s->model;
    const bool decodes = strcmp(phase, "prefill") != 0, prompts = strcmp(phase, "decode") != 0;
    const bool masked = decodes && s->engine->masked && m->heads / m->kv_heads != s->engine->masked;
    if (m->kv_lora)
        return "";
    return fsim_printf(s->arena, "%s%s%s%s", prompts && s->engine->bytes ? ";byte_products=1" : "",
                       masked                      ? ";masked=1"
                       : decodes && s->engine->xqa ? ";xqa=1"
                                                   : "",
                       m->experts && !dense && s->engine->cutlass ? ";cutlass=1" : "",
                       has_blocks(s) ? ";blocks=1" : "");
}

/* Layers with experts that are priced: of latent attention all, since the few first ones without are priced as those.
 */
static int64_t mixtures(const fsim_model *m) { return m->kv_lora ? m->layers : m->layers - m->dense_layers; }

/* Seconds of so many layers of a family's workload ("decode", "prefill", "mixed") with these symbols for its tokens.
 * Layers with a window are priced as those without: the measured engines gain nothing by it (docs/MODEL.md). */
static double family_s(const fsim_deployed *s, const char *family, const char *phase, const char *tokens,
                       int64_t layers)
{
    const bool dense = strcmp(family, "dense") == 0;
    const char *set =
        fsim_printf(s->arena, "%s;layers=%d;%s%s;dtype=%s;weight_dtype=%s;kv_dtype=%s", tokens, PRICED_LAYERS,
                    widths(s, dense), kernels_of(s, phase, dense), s->dtype, weights_as(s), cache_as(s));
    return fsim_step_s(s->steps, s->hw_name, fsim_printf(s->arena, "llm/%s_%s", family, phase), set) * (double)layers /
           PRICED_LAYERS;
}

/* Seconds of all layers, those of a mixture that have no experts among them. */
static double layers_s(const fsim_deployed *s, const char *phase, const char *tokens)
{
    const fsim_model *m = s->model;
    if (m->kv_lora)
        return family_s(s, "mla", phase, tokens, m->layers);
    if (m->experts == 0)
        return family_s(s, "dense", phase, tokens, m->layers);
    return family_s(s, "moe", phase, tokens, mixtures(m)) +
           (m->dense_layers ? family_s(s, "dense", phase, tokens, m->dense_layers) : 0);
}

/* Seconds of a product of a shared expert in all of its layers. */
static double shared_product_s(const fsim_deployed *s, int64_t rows, int64_t columns, int64_t depth)
{
    const char *const name = s->weights == FSIM_16_BITS ? "ops/matmul"
                             : has_blocks(s)            ? "ops/matmul_f8_block"
                                                        : "ops/matmul_f8_static";
    return fsim_step_s(
        s->steps, s->hw_name, name,
        fsim_printf(s->arena, "M=%ld;N=%ld;K=%ld;dtype=%s", (long)rows, (long)columns, (long)depth, s->dtype));
}

/* Seconds of a gated block of shared experts of this width, of all GPUs, and of adding up what it makes. */
static double shared_block_s(const fsim_deployed *s, int64_t tokens, int64_t width)
{
    const int64_t own = width / s->tp, hidden = s->model->hidden;

    return shared_product_s(s, tokens, 2 * own, hidden) + shared_product_s(s, tokens, hidden, own) +
           fsim_step_s(s->steps, s->hw_name, "ops/mul",
                       fsim_printf(s->arena, "B=%ld;H=%ld;dtype=%s", (long)tokens, (long)own, s->dtype)) +
           fsim_step_s(s->steps, s->hw_name, "ops/add",
                       fsim_printf(s->arena, "B=%ld;H=%ld;dtype=%s", (long)tokens, (long)hidden, s->dtype));
}

/* Seconds of shared experts that the priced layers lack: of latent attention they have one of an expert's width. */
static double shared_s(const fsim_deployed *s, int64_t tokens)
{
    const fsim_model *m = s->model;
    const double layers = (double)mixtures(m);
    if (m->shared_ffn == 0 || (m->kv_lora && m->shared_ffn <= m->expert_ffn))
        return 0;
    const double there = m->kv_lora ? shared_block_s(s, tokens, m->expert_ffn) : 0;
    return layers * fmax(0, shared_block_s(s, tokens, m->shared_ffn) - there);
}

/* Seconds of the product with the head's weights, for one row of each request. */
static double head_s(const fsim_deployed *s, int64_t requests)
{
    const int64_t columns = (s->model->vocab + s->tp - 1) / s->tp;
    const char *set = fsim_printf(s->arena, "M=%ld;N=%ld;K=%ld;dtype=%s", (long)requests, (long)columns,
                                  (long)s->model->hidden, s->dtype);
    return fsim_step_s(s->steps, s->hw_name, "ops/matmul", set);
}

/* Seconds of the all-reduces of a step less what they take where pairs of GPUs on PCIe reach each other as two do: the
 * collectives of more than two were measured on a machine whose sockets have no peer access. */
static double links_s(const fsim_deployed *s, int64_t tokens)
{
    if (s->tp <= 2 || s->ep > 1 || fsim_hw_get(s->hw, FSIM_HW_LINK_BANDWIDTH) > paired_links)
        return 0;
    double time_s[2];
    for (int i = 0; i < 2; i++)
        time_s[i] = fsim_step_s(s->steps, s->hw_name, "ops/all_reduce",
                                fsim_printf(s->arena, "elements=%ld;ranks=%ld;dtype=%s",
                                            (long)(tokens * s->model->hidden), i ? (long)s->tp : 2L, s->dtype));
    const double pairs = 2 * (double)(s->tp - 1) / (double)s->tp; /* bytes, over those of two */
    return 2 * (double)s->model->layers * fmax(0, time_s[1] - pairs * time_s[0]);
}

/* Seconds of weights of experts that the priced step reads and the run does not: balanced routing gives every expert a
 * token sooner than chance does, and 4-bit weights are priced as 8-bit ones. */
static double saved_s(const fsim_deployed *s, int64_t tokens)
{
    const fsim_model *m = s->model;
    if (m->experts == 0)
        return 0;
    const double experts = (double)m->experts, picks = (double)m->topk;
    const double t = (double)tokens * (double)fsim_deployed_groups(s); /* of all that share the experts */
    const double weights = 3 * (double)(m->hidden * m->expert_ffn) / (double)fsim_stage_gpus(s);
    const double stream = expert_stream * fsim_hw_get(s->hw, FSIM_HW_DRAM_BANDWIDTH);
    const double each = fsim_deployed_weight_bytes(s), priced = each < 1 ? 1 : each;
    const double balanced_s = fmin(experts, t * picks) * weights * priced / stream;
    const double chance_s = experts * (1 - pow(1 - picks / experts, t)) * weights * each / stream;
    const double work_s = 2 * t * picks * weights / (expert_work * fsim_hw_get(s->hw, FSIM_HW_TENSOR_BF16));
    return (double)mixtures(m) * fmax(0, balanced_s - fmax(chance_s, work_s));
}

static int64_t nodes_of(const fsim_deployed *s, int64_t gpus)
{
    return s->near > 0 ? (gpus + s->near - 1) / s->near : 1;
}

int64_t fsim_deployed_nodes(const fsim_deployed *s) { return nodes_of(s, fsim_deployed_gpus(s)); }

/* Seconds in which the GPUs of `nodes` nodes add up a buffer, of which each GPU of a node has its part: the parts go in
 * log2(nodes) exchanges of all of it, or in twice as many with less and less (reduce-scatter, all-gather). */
static double reduced_s(const fsim_deployed *s, double bytes, double nodes)
{
    const double part = bytes / (double)s->near / s->network, hops = ceil(log2(nodes));
    return fmin(hops * (network_call_s + part), 2 * (hops * network_call_s + (nodes - 1) / nodes * part));
}

double fsim_network_s(const fsim_deployed *s, int64_t tokens)
{
    const fsim_model *m = s->model;
    const double nodes = (double)nodes_of(s, fsim_stage_gpus(s)), wide = (double)(tokens * m->hidden);
    if (nodes == 1)
        return 0;
    if (!m->kv_lora)
        return 2 * (double)m->layers * reduced_s(s, 2 * wide, nodes);
    /* A token goes to each other node once, and from there to its experts on that node; what they make comes back as
     * one sum of 16 bits. */
    const double others = (nodes - 1) * (1 - pow(1 - 1 / nodes, (double)m->topk));
    const double bytes = wide * others * (fmin(1, fsim_deployed_weight_bytes(s)) + 2);
    return (double)m->layers * (2 * network_call_s + bytes / s->network);
}

/* Layers of a stage: as many as of the others; those that are left over go to stages before the last one, which has the
 * head (vLLM: get_pp_indices). */
static int64_t layers_of_stage(const fsim_deployed *s, int64_t stage)
{
    const int64_t over = s->model->layers % s->pp;
    return s->model->layers / s->pp + (stage < s->pp - 1 && stage >= s->pp - 1 - over);
}

int64_t fsim_stage_layers(const fsim_deployed *s) { return s->model->layers / s->pp + (s->model->layers % s->pp > 0); }

/* Does what this stage makes go to another node? GPUs are in the order of stages. */
static bool leaves_node(const fsim_deployed *s, int64_t stage)
{
    const int64_t gpus = fsim_stage_gpus(s);
    return s->near > 0 && stage * gpus / s->near != (stage + 1) * gpus / s->near;
}

double fsim_sends_s(const fsim_deployed *s, int64_t tokens)
{
    const double bytes = SENT_TENSORS * 2 * (double)(tokens * s->model->hidden), part = bytes / (double)s->tp;
    double time_s = 0;
    for (int64_t i = 0; i + 1 < s->pp; i++) { /* each of tp GPUs sends a part, and gathers the others' behind */
        time_s += leaves_node(s, i) ? network_call_s + part / s->network
                                    : fsim_collective_s(s->hw, FSIM_OP_SEND, part, 2, false);
        time_s += s->tp > 1 ? fsim_collective_s(s->hw, FSIM_OP_ALL_GATHER, bytes, (double)s->tp, false) : 0;
    }
    return time_s;
}

/* Seconds of a step in all layers. */
static double inner_s(const fsim_deployed *s, double layers, int64_t tokens)
{
    return layers + shared_s(s, tokens) - links_s(s, tokens) - saved_s(s, tokens) + fsim_network_s(s, tokens);
}

static double whole_s(const fsim_deployed *s, double layers, int64_t tokens, int64_t heads)
{
    return inner_s(s, layers, tokens) + head_s(s, heads) + fsim_sends_s(s, tokens);
}

static double decode_layers_s(const fsim_deployed *s, int64_t requests, double cached)
{
    return layers_s(s, "decode", fsim_printf(s->arena, "B=%ld;S=%ld", (long)requests, (long)cached));
}

double fsim_decode_s(const fsim_deployed *s, int64_t requests, double cached)
{
    return whole_s(s, decode_layers_s(s, requests, cached), requests, requests);
}

double fsim_decode_stage_s(const fsim_deployed *s, int64_t requests, double cached)
{
    const double layer_s = inner_s(s, decode_layers_s(s, requests, cached), requests) / (double)s->model->layers;
    return fmax((double)fsim_stage_layers(s) * layer_s,
                (double)layers_of_stage(s, s->pp - 1) * layer_s + head_s(s, requests));
}

double fsim_prefill_s(const fsim_deployed *s, int64_t prompts, int64_t length)
{
    const char *tokens = fsim_printf(s->arena, "B=%ld;S=%ld", (long)prompts, (long)length);
    return whole_s(s, layers_s(s, "prefill", tokens), prompts * length, prompts);
}

static double mixed_s(const fsim_deployed *s, int64_t prompt, int64_t requests, double cached)
{
    const char *tokens = fsim_printf(s->arena, "P=%ld;B=%ld;S=%ld", (long)prompt, (long)requests, (long)cached);
    return whole_s(s, layers_s(s, "mixed", tokens), prompt + requests, requests);
}

int64_t fsim_prompts_a_step(const fsim_deployed *s, int64_t most)
{
    const int64_t together = s->budget / s->input;
    return together < 1 ? 1 : together < most ? together : most;
}

/* Seconds that a prompt of several steps takes beyond its parts by themselves: later ones look at the keys of those
 * before. */
static double looking_back_s(const fsim_deployed *s, int64_t part)
{
    if (s->input <= part)
        return 0;
    return fmax(0, fsim_prefill_s(s, 1, s->input) - (double)s->input / (double)part * fsim_prefill_s(s, 1, part));
}

double fsim_prompt_alone_s(const fsim_deployed *s)
{
    const double whole = fsim_prefill_s(s, 1, s->input);
    if (s->input <= s->budget || isnan(whole)) /* without a price */
        return whole;
    return fmax(whole, (double)s->input / (double)s->budget * fsim_prefill_s(s, 1, s->budget));
}

double fsim_prompt_beside_s(const fsim_deployed *s, int64_t requests, double cached)
{
    const int64_t input = s->input, part = input < s->budget ? input : s->budget;
    const int64_t together = fsim_prompts_a_step(s, requests);
    const double beside =
        (mixed_s(s, part, requests, cached) - fsim_decode_s(s, requests, cached)) * (double)input / (double)part +
        looking_back_s(s, part);
    return together > 1 ? fmin(beside, fsim_prefill_s(s, together, input) / (double)together) : beside;
}

/* Weights of a GPU of a stage: experts shared by all of its GPUs, the others by those that share attention. The first
 * stage has the embedding, the last the head: a table of its own where both are one. */
static double weights_of(const fsim_deployed *s, int64_t stage)
{
    const fsim_model *m = s->model;
    const double each = fsim_deployed_weight_bytes(s), ranks = (double)fsim_stage_gpus(s), tp = (double)s->tp;
    const double inner = (double)m->parameters - (double)(m->embedding + m->head);
    const double share = (double)layers_of_stage(s, stage) / (double)m->layers;
    double spread = 0, outer = 0;
    for (int i = 0; i < m->parts; i++)
        if (m->part[i].active < m->part[i].times)
            spread += (double)m->part[i].each * (double)m->part[i].times * each;
    if (stage == 0)
        outer += (double)m->embedding;
    if (stage == s->pp - 1)
        outer += (double)(m->head ? m->head : s->pp > 1 ? m->vocab * m->hidden : 0);
    return (share * (inner * each - spread) + outer * 2) / tp + share * spread / ranks;
}

static fsim_deployed_memory memory_of_stage(const fsim_deployed *s, int64_t tokens, int64_t stage)
{
    const fsim_model *m = s->model;
    const int64_t layers = layers_of_stage(s, stage);
    fsim_deployed_memory x = {.capacity = fsim_hw_get(s->hw, FSIM_HW_DRAM_CAPACITY),
                              .weights = weights_of(s, stage),
                              .framework = framework_bytes,
                              .collectives = fsim_deployed_gpus(s) > 1 ? collective_bytes : 0,
                              .activations = activation_widths * (double)tokens * (double)m->hidden * 2,
                              .layers = layers};
    x.token = m->kv_lora ? (double)m->cached * (double)layers / (double)m->layers
                         : (double)(layers * 2 * m->head_dim) * ceil((double)m->kv_heads / (double)s->tp);
    x.token *= fsim_precision_bytes(s->cache);
    const double others = x.weights + x.framework + x.activations + x.collectives, share = s->engine->share;
    x.cache = s->engine->whole ? share * x.capacity - others : share * (x.capacity - others);
    return x;
}

fsim_deployed_memory fsim_deployed_memory_of(const fsim_deployed *s, int64_t tokens)
{
    fsim_deployed_memory least = memory_of_stage(s, tokens, 0);
    for (int64_t i = 1; i < s->pp; i++) {
        const fsim_deployed_memory x = memory_of_stage(s, tokens, i);
        if (x.cache / x.token < least.cache / least.token)
            least = x;
    }
    return least;
}

int64_t fsim_places(const fsim_deployed *s, const fsim_deployed_memory *m)
{
    const double tokens = (double)s->input + s->engine->reserved * (double)s->output;
    const double places = floor(fmin((double)s->engine->most, m->cache / (m->token * tokens)));
    return places > 0 ? (int64_t)places : 0;
}

fsim_let_in fsim_let_in_of(const fsim_deployed *s, const fsim_deployed_memory *m)
{
    const int64_t places = fsim_places(s, m);
    const bool grows = s->engine->reserved < 1 && s->pp <= 1 && places > 0;
    return (fsim_let_in){grows ? s->engine->most : places, grows ? (int64_t)floor(m->cache / m->token) : 0};
}
