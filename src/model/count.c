/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a transformer, part by part. */
#include "model/family.h"

#include <assert.h>

typedef struct {
    fsim_model *m;
    const fsim_model_details *x;
    bool too_large;
} count;

/* Adds `times` of a part, of which a token meets `active`. */
static void add_some(count *c, const char *name, int64_t each, int64_t times, int64_t active)
{
    static const int64_t most = (int64_t)1 << 62;
    int64_t all, met;
    if (each == 0 || times == 0)
        return;
    assert(c->m->parts < FSIM_MOST_PARTS);
    c->m->part[c->m->parts++] = (fsim_model_part){name, each, times, active};
    if (__builtin_mul_overflow(each, times, &all) || __builtin_mul_overflow(each, active, &met) ||
        all > most - c->m->parameters) {
        c->too_large = true;
        return;
    }
    c->m->parameters += all;
    c->m->active += met;
}

static void add(count *c, const char *name, int64_t each, int64_t times) { add_some(c, name, each, times, times); }

static bool has(const count *c, unsigned trait) { return c->x->traits & trait; }

/* of a norm over so many features */
static int64_t norm(const count *c, int64_t width) { return has(c, LAYER_NORM) ? 2 * width : width; }

/* Multi-head latent attention: queries by way of q_lora features or straight, keys and values by way of kv_lora. */
static int64_t latent(const count *c)
{
    const fsim_model *m = c->m;
    const int64_t queries = m->heads * (m->nope_dim + m->rope_dim);
    const int64_t q = m->q_lora ? m->hidden * m->q_lora + m->q_lora + m->q_lora * queries : m->hidden * queries;
    const int64_t bias = has(c, QKV_BIAS) ? m->q_lora + m->kv_lora + m->rope_dim + m->hidden : 0;
    return q + m->hidden * (m->kv_lora + m->rope_dim) + m->kv_lora +
           m->kv_lora * m->heads * (m->nope_dim + m->value_dim) + m->heads * m->value_dim * m->hidden + bias;
}

static int64_t attention(const count *c)
{
    const fsim_model *m = c->m;
    const int64_t q = m->heads * m->head_dim, kv = m->kv_heads * m->head_dim;
    if (m->kv_lora)
        return latent(c);
    int64_t sum = m->hidden * (q + 2 * kv) + q * m->hidden;
    sum += has(c, QKV_BIAS) ? q + 2 * kv - (has(c, NO_KEY_BIAS) ? kv : 0) : 0;
    sum += has(c, OUT_BIAS) ? m->hidden : 0;
    sum += has(c, QK_NORM_WIDE) ? norm(c, q) + norm(c, kv) : has(c, QK_NORM) ? 2 * norm(c, m->head_dim) : 0;
    return sum + (has(c, SINKS) ? m->heads : 0);
}

/* A feed-forward block of this width. */
static int64_t block(const count *c, int64_t width, bool bias)
{
    const int64_t in = has(c, GATED) ? 2 * width : width, hidden = c->m->hidden;
    return hidden * in + width * hidden + (bias ? in + hidden : 0);
}

static void add_mixture(count *c)
{
    const fsim_model *m = c->m;
    const int64_t layers = m->layers - m->dense_layers;
    add(c, "router", m->hidden * m->experts + (has(c, ROUTER_BIAS) ? m->experts : 0), layers);
    add_some(c, "experts", block(c, m->expert_ffn, has(c, EXPERT_BIAS)), layers * m->experts, layers * m->topk);
    if (m->shared_ffn)
        add(c, "shared experts", block(c, m->shared_ffn, false) + (has(c, SHARED_GATE) ? m->hidden : 0), layers);
}

static void add_tokens(count *c)
{
    fsim_model *m = c->m;
    const int64_t width = c->x->inner ? c->x->inner : m->hidden;
    add(c, "token embedding", m->vocab * width, 1);
    m->embedding = m->vocab * width;
    if (has(c, LEARNED)) {
        add(c, "position embedding", m->positions * m->hidden, 1);
        m->embedding += m->positions * m->hidden;
    }
}

/* Behind all layers: the product that makes scores of tokens. */
static void add_head(count *c)
{
    fsim_model *m = c->m;
    const int64_t weights = m->vocab * (c->x->inner ? c->x->inner : m->hidden);
    m->head = m->tied ? 0 : weights;
    add(c, "head", m->head + (has(c, HEAD_BIAS) ? m->vocab : 0), 1);
    m->untied = m->parameters + (m->tied ? weights : 0);
}

static void count_decoder(count *c)
{
    const fsim_model_details *x = c->x;
    fsim_model *m = c->m;
    add_tokens(c);
    add(c, "embedding projections", x->inner * m->hidden, 2);
    add(c, "embedding norm", has(c, EMBED_NORM) ? norm(c, m->hidden) : 0, 1);
    add(c, "attention", attention(c), m->layers);
    add(c, "feed-forward", block(c, m->ffn, has(c, MLP_BIAS)), m->experts ? m->dense_layers : m->layers);
    if (m->experts)
        add_mixture(c);
    add(c, "norms", x->norms * norm(c, m->hidden), m->layers);
    add(c, "last norm", x->last_norm ? norm(c, m->hidden) : 0, 1);
    add_head(c);
    m->cached = m->layers * (m->kv_lora ? m->kv_lora + m->rope_dim : 2 * m->kv_heads * m->head_dim);
}

/* BERT with its head for masked tokens, whose table is the embedding's. */
static void count_encoder(count *c)
{
    fsim_model *m = c->m;
    add_tokens(c);
    add(c, "token types", c->x->types * m->hidden, 1);
    m->embedding += c->x->types * m->hidden;
    add(c, "embedding norm", norm(c, m->hidden), 1);
    add(c, "attention", attention(c), m->layers);
    add(c, "feed-forward", block(c, m->ffn, true), m->layers);
    add(c, "norms", 2 * norm(c, m->hidden), m->layers);
    add(c, "head's transform", m->hidden * m->hidden + m->hidden + norm(c, m->hidden), 1);
    add(c, "head's bias", m->vocab, 1);
    add_head(c);
    m->untied += m->tied ? m->vocab : 0;
}

static void count_vision(count *c)
{
    fsim_model *m = c->m;
    const fsim_model_details *x = c->x;
    add(c, "class token and positions", (m->positions + 1) * m->hidden, 1); /* the token is a row too */
    m->embedding = (m->positions + 1) * m->hidden;
    add(c, "patches", x->channels * x->patch * x->patch * m->hidden + m->hidden, 1);
    add(c, "attention", attention(c), m->layers);
    add(c, "feed-forward", block(c, m->ffn, true), m->layers);
    add(c, "norms", 2 * norm(c, m->hidden), m->layers);
    add(c, "last norm", norm(c, m->hidden), 1);
    add(c, "classifier", x->labels * (m->hidden + 1), 1);
    m->untied = m->parameters;
}

/* T5 and Whisper: layers that read, and layers that write and attend to what was read. */
static void count_both(count *c)
{
    fsim_model *m = c->m;
    const fsim_model_details *x = c->x;
    const bool bias = has(c, MLP_BIAS);
    const int64_t read = m->encoder_layers, write = m->layers;
    add_tokens(c);
    add(c, "relative positions", x->buckets * m->heads, 2);
    m->embedding += 2 * x->buckets * m->heads;
    if (x->channels) { /* two convolutions of three steps */
        add(c, "first convolution", 3 * x->channels * m->hidden + m->hidden, 1);
        add(c, "second convolution", 3 * m->hidden * m->hidden + m->hidden, 1);
    }
    add(c, "source positions", x->sources * m->hidden, 1);
    m->embedding += x->sources * m->hidden;
    add(c, "encoder attention", attention(c), read);
    add(c, "encoder feed-forward", block(c, x->encoder_ffn, bias), read);
    add(c, "decoder attention", attention(c), write);
    add(c, "cross attention", attention(c), write);
    add(c, "decoder feed-forward", block(c, m->ffn, bias), write);
    add(c, "norms", norm(c, m->hidden), 2 * read + 3 * write);
    add(c, "last norms", norm(c, m->hidden), 2);
    add_head(c);
    if (m->tied && !x->channels) /* T5's two embeddings are one table with its head */
        m->untied += 2 * m->vocab * m->hidden;
    m->cached = m->cached_source = write * 2 * m->kv_heads * m->head_dim;
}

bool fsim_count_parameters(fsim_model *m, const fsim_model_details *x)
{
    static void (*const by_kind[FSIM_MODEL_KINDS])(count *) = {[FSIM_DECODER] = count_decoder,
                                                               [FSIM_ENCODER] = count_encoder,
                                                               [FSIM_VISION] = count_vision,
                                                               [FSIM_ENCODER_DECODER] = count_both};
    count c = {m, x, false};
    by_kind[m->kind](&c);
    return !c.too_large;
}
