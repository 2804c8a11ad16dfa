/* SPDX-License-Identifier: Apache-2.0 */
/* A config.json as transformers writes it. */
#include "input/yaml.h"
#include "model/family.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const fsim_model_kind_names[FSIM_MODEL_KINDS] = {"decoder", "encoder", "encoder and decoder",
                                                             "vision encoder"};

static const fsim_family families[] = {
#define FSIM_FAMILY(type, kind, traits, window, period) {type, kind, traits, window, period},
#include "model/family.def"
#undef FSIM_FAMILY
};
enum { FAMILIES = sizeof families / sizeof *families };

/* Greatest values of fields: with them no product of two widths leaves 62 bits. */
enum { MOST_WIDTH = 1 << 20, MOST_HEADS = 1 << 16, MOST_ROWS = 1 << 24, NEEDED = -1 };

typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    const fsim_yaml *map;
    const fsim_family *family;
    bool incomplete; /* a field that is needed is absent */
} reader;

static bool is_null(const fsim_yaml *v)
{
    return v->kind == FSIM_YAML_SCALAR && !v->quoted &&
           (strcmp(v->text, "null") == 0 || strcmp(v->text, "~") == 0 || *v->text == '\0');
}

/* The first of the fields "a|b" that is there and not null. */
static const fsim_yaml *field(const reader *r, const char *names)
{
    while (*names) {
        const size_t length = strcspn(names, "|");
        const fsim_yaml *v = fsim_yaml_get(r->map, fsim_printf(r->a, "%.*s", (int)length, names));
        if (v && !is_null(v))
            return v;
        names += length + (names[length] == '|');
    }
    return NULL;
}

/* A whole number of 0 to most; `otherwise` where none of the fields is there: NEEDED is an error. */
static int64_t whole(reader *r, const char *names, int64_t most, int64_t otherwise)
{
    const fsim_yaml *v = field(r, names);
    char *end = NULL;
    if (!v && otherwise == NEEDED) {
        fsim_error(r->d, r->map->at, "a model of family %s needs %.*s", r->family->type, (int)strcspn(names, "|"),
                   names);
        r->incomplete = true;
        return 1;
    }
    if (!v)
        return otherwise;
    errno = 0;
    const long long x = v->kind == FSIM_YAML_SCALAR ? strtoll(v->text, &end, 10) : 0;
    const long long least = otherwise == NEEDED;
    if (end && end != v->text && !*end && !errno && x >= least && x <= most)
        return x;
    fsim_error(r->d, v->at, "%.*s is %s, wanted a whole number from %lld to %lld", (int)strcspn(names, "|"), names,
               v->kind == FSIM_YAML_SCALAR ? v->text : fsim_yaml_kind_name(v), least, (long long)most);
    return 1;
}

static bool yes(const reader *r, const char *names, bool otherwise)
{
    const fsim_yaml *v = field(r, names);
    if (!v)
        return otherwise;
    if (v->kind == FSIM_YAML_SCALAR && (strcmp(v->text, "true") == 0 || strcmp(v->text, "false") == 0))
        return *v->text == 't';
    fsim_error(r->d, v->at, "%.*s is %s, wanted true or false", (int)strcspn(names, "|"), names,
               v->kind == FSIM_YAML_SCALAR ? v->text : fsim_yaml_kind_name(v));
    return otherwise;
}

static const char *word(const reader *r, const char *names)
{
    const fsim_yaml *v = field(r, names);
    return v && v->kind == FSIM_YAML_SCALAR ? v->text : "";
}

static const char *dtype_of(const reader *r)
{
    static const char *const known[][2] = {{"bfloat16", "bf16"}, {"float16", "f16"}, {"float32", "f32"}};
    const char *said = word(r, "dtype|torch_dtype");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(said, known[i][0]) == 0)
            return known[i][1];
    return "";
}

/* quantization_config's method: "fp8". */
static const char *quantized(const reader *r)
{
    const fsim_yaml *q = field(r, "quantization_config");
    const fsim_yaml *method = q && q->kind == FSIM_YAML_MAPPING ? fsim_yaml_get(q, "quant_method") : NULL;
    return method && method->kind == FSIM_YAML_SCALAR ? method->text : "";
}

static int64_t kv_heads(reader *r, int64_t heads)
{
    if (strcmp(r->family->type, "falcon") == 0 && !yes(r, "new_decoder_architecture", false))
        return yes(r, "multi_query", true) ? 1 : heads;
    return whole(r, "num_key_value_heads|num_kv_heads", MOST_HEADS, heads);
}

static void read_widths(reader *r, fsim_model *m)
{
    m->hidden = whole(r, "hidden_size|n_embd|d_model|n_embed", MOST_WIDTH, NEEDED);
    m->layers = whole(r,
                      m->kind == FSIM_ENCODER_DECODER ? "num_decoder_layers|decoder_layers|num_layers"
                                                      : "num_hidden_layers|n_layer|num_layers",
                      MOST_HEADS, NEEDED);
    m->heads = whole(r, "num_attention_heads|n_head|num_heads|decoder_attention_heads", MOST_HEADS, NEEDED);
    m->kv_heads = kv_heads(r, m->heads);
    m->head_dim = whole(r, "head_dim|d_kv", MOST_HEADS, m->heads ? m->hidden / m->heads : 1);
    m->ffn = whole(r, "intermediate_size|n_inner|ffn_dim|d_ff|decoder_ffn_dim|ffn_hidden_size", MOST_WIDTH,
                   r->family->traits & GATED ? NEEDED : 4 * m->hidden);
    m->vocab = whole(r, "vocab_size", MOST_ROWS, m->kind == FSIM_VISION ? 0 : NEEDED);
    m->positions = whole(r, "max_position_embeddings|n_positions|max_target_positions", MOST_ROWS, 0);
    if (m->kv_heads > 0 && m->heads % m->kv_heads != 0)
        fsim_error(r->d, r->map->at, "%lld heads can't share %lld heads of keys evenly", (long long)m->heads,
                   (long long)m->kv_heads);
}

static void read_latent(reader *r, fsim_model *m)
{
    m->kv_lora = whole(r, "kv_lora_rank", MOST_HEADS, 0);
    if (m->kv_lora == 0)
        return;
    m->q_lora = whole(r, "q_lora_rank", MOST_HEADS, 0);
    m->nope_dim = whole(r, "qk_nope_head_dim", MOST_HEADS, NEEDED);
    m->rope_dim = whole(r, "qk_rope_head_dim", MOST_HEADS, NEEDED);
    m->value_dim = whole(r, "v_head_dim", MOST_HEADS, NEEDED);
    m->head_dim = m->nope_dim + m->rope_dim;
    m->kv_heads = m->heads;
}

static bool is_llama_4(const reader *r) { return strcmp(r->family->type, "llama4_text") == 0; }

/* Layers without experts: the first ones, those of mlp_only_layers, those that decoder_sparse_step or
 * interleave_moe_layer_step leaves out, or all but moe_layers. */
static int64_t dense_layers(reader *r, const fsim_model *m)
{
    const int64_t step = whole(r, "decoder_sparse_step|interleave_moe_layer_step", MOST_HEADS, 1);
    const fsim_yaml *only = field(r, "mlp_only_layers"), *with = field(r, "moe_layers");
    if (is_llama_4(r) && with && with->kind == FSIM_YAML_SEQUENCE && with->count > 0 && with->count <= m->layers)
        return m->layers - with->count;
    int64_t dense = whole(r, "first_k_dense_replace", MOST_HEADS, 0);
    dense = dense < m->layers ? dense : m->layers;
    for (int64_t i = dense; i < m->layers; i++) {
        bool named = step > 1 && (i + 1) % step != 0;
        for (int k = 0; only && only->kind == FSIM_YAML_SEQUENCE && k < only->count && !named; k++)
            named = only->item[k]->kind == FSIM_YAML_SCALAR && atoll(only->item[k]->text) == i;
        dense += named;
    }
    return dense;
}

static void read_mixture(reader *r, fsim_model *m)
{
    m->experts = whole(r, "num_local_experts|num_experts|n_routed_experts", MOST_HEADS, 0);
    if (m->experts == 0)
        return;
    m->topk = whole(r, "num_experts_per_tok|experts_per_token", MOST_HEADS, NEEDED);
    m->expert_ffn = whole(r, "moe_intermediate_size", MOST_WIDTH, m->ffn);
    m->shared_ffn = whole(r, "shared_expert_intermediate_size", MOST_WIDTH,
                          whole(r, "n_shared_experts", MOST_HEADS, is_llama_4(r)) * m->expert_ffn);
    if (is_llama_4(r)) /* intermediate_size is an expert's */
        m->ffn = whole(r, "intermediate_size_mlp", MOST_WIDTH, m->ffn);
    m->dense_layers = dense_layers(r, m);
    if (m->topk > m->experts)
        fsim_error(r->d, r->map->at, "a token meets %lld experts of %lld", (long long)m->topk, (long long)m->experts);
}

/* How many layers see a window only, and how many keys of it. */
static void read_window(reader *r, fsim_model *m)
{
    const fsim_yaml *said = fsim_yaml_get(r->map, "sliding_window"), *types = field(r, "layer_types");
    const int64_t window = said && is_null(said) ? 0 : whole(r, "sliding_window", MOST_ROWS, r->family->window);
    const int64_t period = whole(r, "sliding_window_pattern", MOST_HEADS, r->family->period);
    if (window == 0 || !yes(r, "use_sliding_window", true))
        return;
    if (types && types->kind == FSIM_YAML_SEQUENCE) {
        for (int i = 0; i < types->count; i++)
            m->windowed +=
                types->item[i]->kind == FSIM_YAML_SCALAR && strcmp(types->item[i]->text, "sliding_attention") == 0;
    } else if (field(r, "use_sliding_window") && field(r, "max_window_layers")) {
        const int64_t whole_layers = whole(r, "max_window_layers", MOST_HEADS, 0);
        m->windowed = whole_layers < m->layers ? m->layers - whole_layers : 0;
    } else {
        m->windowed = period ? m->layers - m->layers / period : m->layers;
    }
    m->window = m->windowed ? window : 0;
}

static unsigned traits_of(const reader *r)
{
    unsigned t = r->family->traits;
    if (yes(r, "attention_bias", false))
        t |= QKV_BIAS | OUT_BIAS;
    if (yes(r, "mlp_bias", false))
        t |= MLP_BIAS;
    if (strcmp(r->family->type, "falcon") == 0 && yes(r, "bias", false))
        t |= QKV_BIAS | OUT_BIAS | MLP_BIAS;
    if (strcmp(r->family->type, "starcoder2") == 0 && !yes(r, "use_bias", true))
        t &= ~(unsigned)(QKV_BIAS | OUT_BIAS | MLP_BIAS);
    if (strcmp(r->family->type, "vit") == 0 && !yes(r, "qkv_bias", true))
        t &= ~(unsigned)QKV_BIAS;
    if (strstr(word(r, "feed_forward_proj"), "gated"))
        t |= GATED;
    if (yes(r, "use_qk_norm", false) && !is_llama_4(r)) /* Llama 4's has no weights */
        t |= QK_NORM_WIDE;
    return t;
}

static int64_t norms_of(const reader *r, unsigned traits)
{
    if (strcmp(r->family->type, "falcon") == 0)
        return yes(r, "new_decoder_architecture", false) || !yes(r, "parallel_attn", true) ? 2 : 1;
    return traits & FOUR_NORMS ? 4 : traits & ONE_NORM ? 1 : 2;
}

static fsim_model_details read_details(reader *r, fsim_model *m)
{
    const unsigned traits = traits_of(r);
    fsim_model_details x = {.traits = traits, .norms = norms_of(r, traits), .last_norm = true};
    const fsim_yaml *labels = field(r, "id2label");
    const char *type = r->family->type;
    if (strcmp(type, "opt") == 0) { /* the table has two rows more than positions */
        const int64_t inner = whole(r, "word_embed_proj_dim", MOST_WIDTH, m->hidden);
        x.inner = inner != m->hidden ? inner : 0;
        x.last_norm = yes(r, "do_layer_norm_before", true);
        m->positions += 2;
    }
    if (m->kind == FSIM_ENCODER)
        x.types = whole(r, "type_vocab_size", MOST_ROWS, 2);
    if (m->kind == FSIM_VISION) {
        x.patch = whole(r, "patch_size", MOST_HEADS, NEEDED);
        x.channels = whole(r, "num_channels", MOST_HEADS, 3);
        x.labels = whole(r, "num_labels", MOST_ROWS, labels && labels->kind == FSIM_YAML_MAPPING ? labels->count : 2);
        const int64_t side = whole(r, "image_size", MOST_HEADS, NEEDED) / (x.patch ? x.patch : 1);
        m->positions = side * side + 1; /* patches and the class token */
    }
    if (m->kind == FSIM_ENCODER_DECODER) {
        m->encoder_layers = whole(r, "encoder_layers|num_layers", MOST_HEADS, NEEDED);
        x.encoder_ffn = whole(r, "encoder_ffn_dim", MOST_WIDTH, m->ffn);
        x.buckets = whole(r, "relative_attention_num_buckets", MOST_HEADS, strcmp(type, "t5") == 0 ? 32 : 0);
        x.channels = whole(r, "num_mel_bins", MOST_HEADS, 0);
        x.sources = whole(r, "max_source_positions", MOST_ROWS, 0);
    }
    return x;
}

/* The values of the fields that a model of any family might have, for the message about an unknown one. */
static const char *understood(const reader *r)
{
    static const char *const names[] = {"hidden_size|n_embd|d_model",
                                        "num_hidden_layers|n_layer|num_layers",
                                        "num_attention_heads|n_head|num_heads",
                                        "num_key_value_heads",
                                        "head_dim",
                                        "intermediate_size|n_inner|ffn_dim|d_ff",
                                        "vocab_size",
                                        "num_local_experts|num_experts|n_routed_experts",
                                        "kv_lora_rank",
                                        "sliding_window"};
    const char *text = "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *said = word(r, names[i]);
        if (*said)
            text = fsim_printf(r->a, "%s%s%.*s %.40s", text, *text ? ", " : "", (int)strcspn(names[i], "|"), names[i],
                               said);
    }
    return *text ? text : "none";
}

static const fsim_family *family_of(const reader *r)
{
    const fsim_yaml *type = field(r, "model_type");
    const char *names[FAMILIES], *all = "";
    for (int i = 0; i < FAMILIES; i++) {
        if (type && type->kind == FSIM_YAML_SCALAR && strcmp(type->text, families[i].type) == 0)
            return &families[i];
        names[i] = families[i].type;
        all = fsim_printf(r->a, "%s%s%s", all, i ? ", " : "", names[i]);
    }
    if (!type || type->kind != FSIM_YAML_SCALAR)
        fsim_error(r->d, type ? type->at : r->map->at, "no model_type: is this the config.json of a model?");
    else
        fsim_error(r->d, type->at, "the model family '%.60s' is not known%s", type->text,
                   fsim_did_you_mean(r->a, type->text, names, FAMILIES));
    fsim_note(r->d, "fields that were understood: %s", understood(r));
    fsim_note(r->d, "known families: %s", all);
    return NULL;
}

/* The mapping with the model's fields: a model for several kinds of input keeps the language model's in text_config. */
static const fsim_yaml *inner_map(const fsim_yaml *map)
{
    const fsim_yaml *text = fsim_yaml_get(map, "text_config");
    return text && text->kind == FSIM_YAML_MAPPING && !fsim_yaml_get(map, "hidden_size") ? text : map;
}

const fsim_model *fsim_model_parse(fsim_arena *a, fsim_diag *d, const char *name, const char *path, const char *text,
                                   size_t bytes)
{
    fsim_diag_source(d, path, text, bytes);
    const int before = fsim_errors(d);
    const fsim_yaml *map = fsim_yaml_parse_json(a, d, path, text, bytes);
    if (!map)
        return NULL;
    if (map->kind != FSIM_YAML_MAPPING) {
        fsim_error(d, map->at, "wanted the config.json of a model, found %s", fsim_yaml_kind_name(map));
        return NULL;
    }
    reader r = {.a = a, .d = d, .map = inner_map(map)};
    if (!(r.family = family_of(&r)))
        return NULL;
    fsim_model *m = fsim_new(a, fsim_model, 1);
    *m = (fsim_model){.name = name, .family = r.family->type, .source = path, .kind = r.family->kind};
    read_widths(&r, m);
    read_latent(&r, m);
    read_mixture(&r, m);
    read_window(&r, m);
    m->dtype = dtype_of(&r);
    m->quantized = quantized(&r);
    if (!*m->quantized && r.map != map)
        m->quantized = quantized(&(reader){.a = a, .d = d, .map = map});
    m->tied = yes(&r, "tie_word_embeddings", r.family->traits & TIED);
    const fsim_model_details x = read_details(&r, m);
    m->gated = x.traits & GATED;
    m->block_scales = x.traits & BLOCK_SCALES;
    if (m->experts == 0)
        m->dense_layers = 0;
    if (fsim_errors(d) == before && !fsim_count_parameters(m, &x))
        fsim_error(d, r.map->at, "the model has more parameters than can be counted");
    return fsim_errors(d) == before ? m : NULL;
}
