/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/predict.h"

#include "evidence/step.h"
#include "serving/closed_loop.h"
#include "serving/constants.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *dtype_of(const fsim_serving *s) { return strcmp(s->row->precision, "f16") == 0 ? "f16" : "bf16"; }

/* Weights of 4 bits are priced as 8-bit ones, less the time of the bytes that they save: see saved_s. */
static const char *stored_as(const fsim_serving *s, const char *precision)
{
    return *precision == '\0' || strcmp(precision, "f16") == 0 ? dtype_of(s) : "f8e4m3";
}

/* Seconds of all layers of the family's workload ("decode", "prefill", "mixed") with these symbols for its tokens. */
static double layers_s(const fsim_serving *s, const char *phase, const char *tokens)
{
    const fsim_served *m = s->model;
    const char *set = fsim_printf(
        s->arena, "%s;layers=%d;H=%ld;heads=%ld;kv_heads=%ld;D=%ld;F=%ld;tp=%ld;dtype=%s;weight_dtype=%s;kv_dtype=%s%s",
        tokens, PRICED_LAYERS, (long)m->hidden, (long)m->heads, (long)m->kv_heads, (long)m->head_dim, (long)m->ffn,
        (long)s->row->tp, dtype_of(s), stored_as(s, s->row->precision), stored_as(s, s->row->kv_precision),
        m->experts
            ? fsim_printf(s->arena, ";experts=%ld;topk=%ld;ep=%ld", (long)m->experts, (long)m->topk, (long)s->row->ep)
            : "");
    const char *workload = fsim_printf(s->arena, "llm/%s_%s", m->experts ? "moe" : "dense", phase);
    return fsim_step_s(s->steps, s->row->hw, workload, set) * (double)m->layers / PRICED_LAYERS;
}

/* Seconds of the product with the head's weights, for one row of each request. */
static double head_s(const fsim_serving *s, int64_t requests)
{
    const int64_t columns = (s->model->vocab + s->row->tp - 1) / s->row->tp;
    const char *set = fsim_printf(s->arena, "M=%ld;N=%ld;K=%ld;dtype=%s", (long)requests, (long)columns,
                                  (long)s->model->hidden, dtype_of(s));
    return fsim_step_s(s->steps, s->row->hw, "ops/matmul", set);
}

/* Seconds of the all-reduces of a step less what they take where pairs of GPUs on PCIe reach each other as two do: the
 * collectives of more than two were measured on a machine whose sockets have no peer access. */
static double links_s(const fsim_serving *s, int64_t tokens)
{
    if (s->row->tp <= 2 || s->row->ep > 1 || fsim_hw_get(s->hw, FSIM_HW_LINK_BANDWIDTH) > paired_links)
        return 0;
    double time_s[2];
    for (int i = 0; i < 2; i++)
        time_s[i] = fsim_step_s(s->steps, s->row->hw, "ops/all_reduce",
                                fsim_printf(s->arena, "elements=%ld;ranks=%ld;dtype=%s",
                                            (long)(tokens * s->model->hidden), i ? (long)s->row->tp : 2L, dtype_of(s)));
    const double pairs = 2 * (double)(s->row->tp - 1) / (double)s->row->tp; /* bytes, over those of two */
    return 2 * (double)s->model->layers * fmax(0, time_s[1] - pairs * time_s[0]);
}

/* Seconds of weights of experts that the priced step reads and the run does not: balanced routing gives every expert a
 * token sooner than chance does, and 4-bit weights are priced as 8-bit ones. */
static double saved_s(const fsim_serving *s, int64_t tokens)
{
    const fsim_served *m = s->model;
    if (m->experts == 0)
        return 0;
    const double experts = (double)m->experts, picks = (double)m->topk, t = (double)tokens;
    const double weights =
        3 * (double)(m->hidden * m->ffn) / (double)(s->row->tp > s->row->ep ? s->row->tp : s->row->ep);
    const double stream = expert_stream * fsim_hw_get(s->hw, FSIM_HW_DRAM_BANDWIDTH);
    const double each = fsim_weight_bytes_each(s->row), priced = each < 1 ? 1 : each;
    const double balanced_s = fmin(experts, t * picks) * weights * priced / stream;
    const double chance_s = experts * (1 - pow(1 - picks / experts, t)) * weights * each / stream;
    const double work_s = 2 * t * picks * weights / (expert_work * fsim_hw_get(s->hw, FSIM_HW_TENSOR_BF16));
    return (double)m->layers * fmax(0, balanced_s - fmax(chance_s, work_s));
}

static double whole_s(const fsim_serving *s, double layers, int64_t tokens, int64_t heads)
{
    return layers - links_s(s, tokens) - saved_s(s, tokens) + head_s(s, heads);
}

static double decode_s(const fsim_serving *s, int64_t requests, double cached)
{
    const char *tokens = fsim_printf(s->arena, "B=%ld;S=%ld", (long)requests, (long)cached);
    return whole_s(s, layers_s(s, "decode", tokens), requests, requests);
}

static double prefill_s(const fsim_serving *s, int64_t prompts, int64_t length)
{
    const char *tokens = fsim_printf(s->arena, "B=%ld;S=%ld", (long)prompts, (long)length);
    return whole_s(s, layers_s(s, "prefill", tokens), prompts * length, prompts);
}

static double mixed_s(const fsim_serving *s, int64_t prompt, int64_t requests, double cached)
{
    const char *tokens = fsim_printf(s->arena, "P=%ld;B=%ld;S=%ld", (long)prompt, (long)requests, (long)cached);
    return whole_s(s, layers_s(s, "mixed", tokens), prompt + requests, requests);
}

/* Prompts that a step takes together. */
static int64_t prompts_a_step(const fsim_serving *s, int64_t most)
{
    const int64_t together = s->engine->tokens / s->row->input;
    return together < 1 ? 1 : together < most ? together : most;
}

/* Seconds that a prompt adds to a step of so many decodes. */
static double prompt_beside_s(const fsim_serving *s, int64_t requests, double cached)
{
    const int64_t input = s->row->input, part = input < s->engine->tokens ? input : s->engine->tokens;
    const int64_t together = prompts_a_step(s, requests);
    const double beside =
        (mixed_s(s, part, requests, cached) - decode_s(s, requests, cached)) * (double)input / (double)part;
    return together > 1 ? fmin(beside, prefill_s(s, together, input) / (double)together) : beside;
}

/* Tokens a second and GPU: a prefill of the batch, in as many steps as its tokens need, then decodes. */
static double static_batch(const fsim_serving *s)
{
    const fsim_system *r = s->row;
    const int64_t together = prompts_a_step(s, r->batch);
    const double first = prefill_s(s, together, r->input) * (double)r->batch / (double)together;
    double step = s->engine->host_s;
    for (int i = 1; i <= 3; i += 2) /* at a quarter and three quarters of the output: the time is linear in it */
        step += decode_s(s, r->batch, (double)r->input + i * (double)r->output / 4) / 2;
    return (double)(r->batch * r->output) / (first + (double)r->output * step) / (double)r->gpus;
}

static double first_token(const fsim_serving *s)
{
    return prefill_s(s, 1, s->row->input) + s->engine->host_s + s->engine->first_s;
}

/* Requests in a step that the engine and the memory allow. */
static double places(const fsim_serving *s, const fsim_system_answer *x)
{
    const double tokens = (double)s->row->input + s->engine->reserved * (double)s->row->output;
    return floor(fmin((double)s->engine->most, x->left_bytes / x->token_bytes / tokens));
}

/* Tokens a second with as many requests as the memory has place for, in a steady state: every step has a token of each,
 * and the share of a prompt that its request pays for with each token. */
static double maximum_load(const fsim_serving *s, fsim_system_answer *x)
{
    const fsim_system *r = s->row;
    const double cached = (double)r->input + (double)r->output / 2;
    const double ranks = (double)(r->gpus / r->tp > 1 ? r->gpus / r->tp : 1); /* attention data parallel */
    x->requests = fmax(1, places(s, x));
    int64_t below = 1; /* priced at powers of 2, and between them on a straight line */
    while (2 * below <= (int64_t)x->requests)
        below *= 2;
    const double share = x->requests / (double)below - 1;
    const double low = decode_s(s, below, cached), high = decode_s(s, 2 * below, cached);
    const double step = low + share * (high - low) + s->engine->host_s +
                        x->requests / (double)r->output * prompt_beside_s(s, below, cached);
    const double rate = ranks * x->requests / step;
    return strstr(r->metric, "per GPU") ? rate / (double)r->gpus : rate;
}

static double fixed_concurrency(const fsim_serving *s, fsim_system_answer *x)
{
    const fsim_system *r = s->row;
    const double cached = (double)r->input + (double)r->output / 2;
    const int64_t at[FSIM_LOOP_POINTS] = {1, r->batch > 4 ? r->batch / 4 : 1, r->batch};
    fsim_loop l = {.slots = r->batch,
                   .requests = r->batch * REQUESTS_A_SLOT,
                   .input = r->input,
                   .output = r->output,
                   .tokens = s->engine->tokens,
                   .most = (int64_t)fmax(1, places(s, x)),
                   .shortest = shortest_request,
                   .alone_s = prefill_s(s, 1, r->input),
                   .beside_s = prompt_beside_s(s, r->batch, cached),
                   .host_s = s->engine->host_s,
                   .first_s = s->engine->first_s};
    for (int i = 0; i < FSIM_LOOP_POINTS; i++) {
        l.running[i] = (double)at[i];
        l.decode_s[i] = decode_s(s, at[i], cached);
    }
    x->requests = (double)r->batch;
    const fsim_loop_times t = fsim_closed_loop(&l, s->arena);
    return strstr(r->metric, "first token") ? t.first_s : t.token_s;
}

static double spread_of(const fsim_system *row)
{
    static const double *const spread[FSIM_SYSTEM_MODES] = {[FSIM_SYSTEM_STATIC] = &spread_static,
                                                            [FSIM_SYSTEM_PREFILL] = &spread_prefill,
                                                            [FSIM_SYSTEM_MAXIMUM] = &spread_static,
                                                            [FSIM_SYSTEM_FIXED] = &spread_token,
                                                            [FSIM_SYSTEM_TRAINING] = &spread_training};
    return row->mode == FSIM_SYSTEM_FIXED && strstr(row->metric, "first token") ? spread_first : *spread[row->mode];
}

/* The number behind `word` in notes; `otherwise` where it is not there. */
static long number_behind(const char *notes, const char *word, long otherwise)
{
    const char *at = strstr(notes, word);
    return at ? strtol(at + strlen(word), NULL, 10) : otherwise;
}

/* Tokens a second and GPU of a training that evidence/step.h can price. */
static double training(const fsim_system *r, fsim_priced_steps *steps, fsim_arena *a, const char **reason)
{
    char *workload = fsim_printf(a, "models/%s", r->model);
    for (char *c = workload; *c; c++)
        *c = *c == ' ' ? '-' : (char)tolower((unsigned char)*c);
    const char *size;
    fsim_sized_model(workload, &size);
    if (*size == '\0')
        *reason = "no workload of its size trains this architecture";
    else if (r->tp > 1 || r->pp > 1)
        *reason = "tensor and pipeline parallel training are not priced";
    else if (strcmp(r->precision, "bf16") != 0 && strcmp(r->precision, "f16") != 0)
        *reason = "training in 8 bits is not priced";
    if (*reason)
        return NAN;
    const long micro = number_behind(r->notes, "micro batch ", 1), sums = number_behind(r->notes, "accumulation ", 1);
    const char *set =
        fsim_printf(a, "S=%ld;gpus=%ld;microbatch=%ld;accumulate=%ld;dtype=amp_%s;sharding=%s;checkpoint=%s",
                    (long)r->input, (long)r->gpus, micro, sums, r->precision[0] == 'b' ? "bf16" : "fp16",
                    strstr(r->notes, "NO_SHARD") ? "NO_SHARD" : "FULL_SHARD",
                    strstr(r->notes, "checkpointing True") ? "True" : "False");
    const double step = fsim_training_step_s(steps, r->hw, workload, set);
    return (double)(micro * sums * r->input) / step;
}

/* Why a served row can't be predicted; NULL: it can. */
static const char *refusal(const fsim_serving *s, fsim_arena *a)
{
    const fsim_system *r = s->row;
    const char *const *names;
    if (!s->model) {
        const int count = fsim_served_names(&names);
        return fsim_printf(a, "no architecture '%s' is known%s", r->model,
                           fsim_did_you_mean(a, r->model, names, count));
    }
    if (!s->engine)
        return "the source names no serving program that is known: TensorRT-LLM, trtllm or vllm";
    if (r->pp > 1)
        return "pipeline parallel serving is not priced";
    if (r->input == 0 || r->output == 0)
        return "the lengths of input and output are not stated";
    if (r->parameters == 0)
        return "the parameters are not stated";
    return r->batch == 0 && r->mode != FSIM_SYSTEM_MAXIMUM ? "the batch is not stated" : NULL;
}

static double served(const fsim_serving *s, fsim_system_answer *x)
{
    fsim_serving_memory(s, x);
    x->requests = (double)s->row->batch;
    switch (s->row->mode) {
    case FSIM_SYSTEM_STATIC:
        return static_batch(s);
    case FSIM_SYSTEM_PREFILL:
        return first_token(s);
    case FSIM_SYSTEM_MAXIMUM:
        return maximum_load(s, x);
    default:
        return fixed_concurrency(s, x);
    }
}

fsim_system_answer fsim_system_predict(const fsim_system *row, const fsim_hw *hw, fsim_priced_steps *steps,
                                       fsim_arena *a)
{
    fsim_system own = *row;
    fsim_system_answer x = {.predicted = NAN, .low = NAN, .high = NAN};
    own.tp = row->tp ? row->tp : 1;
    own.ep = row->ep ? row->ep : 1;
    const fsim_engine *engine = fsim_engine_in(row->source);
    if (engine && *row->kv_precision == '\0' && strcmp(row->precision, "f8e4m3") == 0)
        own.kv_precision = engine->cache;
    const fsim_serving s = {&own, fsim_served_named(row->model), engine, hw, steps, a};
    if (!hw)
        x.reason = fsim_printf(a, "no hardware file is named '%s'", row->hw);
    else if (row->mode == FSIM_SYSTEM_TRAINING)
        x.predicted = training(&own, steps, a, &x.reason);
    else if (!(x.reason = refusal(&s, a)))
        x.predicted = served(&s, &x);
    if (!x.reason && !(x.predicted > 0 && isfinite(x.predicted)))
        x.reason = "a step of it can't be priced";
    if (x.reason)
        x.predicted = NAN;
    x.low = x.predicted * exp(-spread_of(row));
    x.high = x.predicted * exp(spread_of(row));
    return x;
}
