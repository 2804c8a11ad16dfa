/* SPDX-License-Identifier: Apache-2.0 */
#include "report/models.h"

#include "base/unit.h"
#include "report/json_stream.h"
#include "serving/precision.h"
#include <string.h>

enum { ROOM = 40 };

/* "8.03 B": parameters, as model names count them. */
static const char *billions(fsim_arena *a, int64_t n)
{
    const double x = (double)n;
    return x >= 999.5e6 ? fsim_printf(a, "%.*f B", x < 1e10 ? 2 : 1, x / 1e9) : fsim_printf(a, "%.0f M", x / 1e6);
}

static const char *bytes_text(fsim_arena *a, double bytes)
{
    return fsim_show_bytes(fsim_new(a, char, ROOM), ROOM, bytes);
}

static const char *experts_text(fsim_arena *a, const fsim_model *m)
{
    return m->experts ? fsim_printf(a, "%lld of %lld", (long long)m->topk, (long long)m->experts) : "";
}

static void report_all(const fsim_page *page, const fsim_shown_models *x, fsim_arena *a)
{
    static const fsim_column column[] = {
        {.title = "model", .left = true},
        {.title = "family", .left = true, .drop = 2},
        {.title = "parameters"},
        {.title = "active", .legend = "parameters that a token meets, where there are experts"},
        {.title = "layers", .drop = 1},
        {.title = "hidden", .drop = 3},
        {.title = "attention", .left = true, .drop = 1},
        {.title = "experts", .drop = 2},
        {.title = "cache/token", .legend = "of keys and values in 16 bits, all layers"}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < x->count; i++) {
        const fsim_model *m = x->at[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = m->name;
        cell[1] = m->family;
        cell[2] = billions(a, m->parameters);
        cell[3] = m->active < m->parameters ? billions(a, m->active) : "";
        cell[4] = fsim_printf(a, "%lld", (long long)m->layers);
        cell[5] = fsim_printf(a, "%lld", (long long)m->hidden);
        cell[6] = fsim_model_attention(m);
        cell[7] = experts_text(a, m);
        cell[8] = m->cached ? bytes_text(a, 2 * (double)m->cached) : "";
    }
    fsim_table_print(page, &t, 0);
    fsim_table_legend(page, &t, 0);
    putc('\n', page->out);
    fsim_paragraph(page, FSIM_PLAIN, 0, 0,
                   "\"fusesim models NAME\" shows one in full; a config.json of a transformer may stand for a name.");
}

static void report_sizes(const fsim_page *page, const fsim_model *m, fsim_arena *a)
{
    static const fsim_column column[] = {
        {.title = "precision", .left = true}, {.title = "weights"}, {.title = "cache/token"}, {.title = "1000 tokens"}};
    fsim_table t = fsim_table_new(a, column, m->cached ? 4 : 2);
    for (fsim_precision p = 0; p < FSIM_STORED; p++) {
        const double each = fsim_precision_bytes(p);
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = fsim_precision_names[p];
        cell[1] = bytes_text(a, fsim_model_weight_bytes(m, p));
        if (!m->cached)
            continue;
        cell[2] = bytes_text(a, each * (double)m->cached);
        cell[3] = bytes_text(a, each * (double)m->cached * 1000);
    }
    fsim_table_print(page, &t, 0);
}

static void report_parts(const fsim_page *page, const fsim_model *m, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "part", .left = true},
                                         {.title = "each"},
                                         {.title = "times"},
                                         {.title = "parameters"},
                                         {.title = "share"}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < m->parts; i++) {
        const fsim_model_part *p = &m->part[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = p->name;
        cell[1] = fsim_printf(a, "%lld", (long long)p->each);
        cell[2] = fsim_printf(a, "%lld", (long long)p->times);
        cell[3] = fsim_printf(a, "%lld", (long long)(p->each * p->times));
        cell[4] = fsim_printf(a, "%.2f%%", 100 * (double)p->each * (double)p->times / (double)m->parameters);
    }
    const char **cell = fsim_table_row(&t, FSIM_STRONG);
    cell[0] = "all";
    cell[3] = fsim_printf(a, "%lld", (long long)m->parameters);
    fsim_table_print(page, &t, 0);
}

static const char *shape_text(const fsim_model *m, fsim_arena *a)
{
    const char *text = fsim_printf(a, "%lld layers", (long long)m->layers);
    if (m->encoder_layers)
        text = fsim_printf(a, "%s and %lld of the encoder", text, (long long)m->encoder_layers);
    text = fsim_printf(a, "%s, hidden %lld, %lld heads of %lld", text, (long long)m->hidden, (long long)m->heads,
                       (long long)m->head_dim);
    if (m->kv_heads != m->heads)
        text = fsim_printf(a, "%s, %lld of keys and values", text, (long long)m->kv_heads);
    text = fsim_printf(a, "%s (%s), feed-forward %lld%s", text, fsim_model_attention(m), (long long)m->ffn,
                       m->gated ? ", gated" : "");
    if (m->vocab)
        text = fsim_printf(a, "%s, %lld tokens%s", text, (long long)m->vocab,
                           m->tied ? ", embedding and head are one table" : "");
    return text;
}

static void report_one(const fsim_page *page, const fsim_model *m, fsim_arena *a)
{
    fsim_paragraph(page, FSIM_STRONG, 0, 0,
                   fsim_printf(a, "%s: %s of family %s, %lld parameters", m->name, fsim_model_kind_names[m->kind],
                               m->family, (long long)m->parameters));
    fsim_paragraph(page, FSIM_PLAIN, 2, 4, shape_text(m, a));
    if (m->experts)
        fsim_paragraph(page, FSIM_PLAIN, 2, 4,
                       fsim_printf(a,
                                   "a token meets %lld of %lld experts of width %lld in %lld of the layers: %lld "
                                   "parameters (%s)",
                                   (long long)m->topk, (long long)m->experts, (long long)m->expert_ffn,
                                   (long long)(m->layers - m->dense_layers), (long long)m->active,
                                   billions(a, m->active)));
    if (m->windowed)
        fsim_paragraph(page, FSIM_PLAIN, 2, 4,
                       fsim_printf(a, "%lld of the layers see the last %lld tokens only", (long long)m->windowed,
                                   (long long)m->window));
    if (*m->quantized)
        fsim_paragraph(page, FSIM_PLAIN, 2, 4, fsim_printf(a, "published with %s weights", m->quantized));
    if (m->cached_source)
        fsim_paragraph(page, FSIM_PLAIN, 2, 4,
                       fsim_printf(a, "for each source token %s more in 16 bits, for cross attention",
                                   bytes_text(a, 2 * (double)m->cached_source)));
    fsim_paragraph(page, FSIM_PLAIN, 2, 4, fsim_printf(a, "source: %s", m->source));
    putc('\n', page->out);
    report_sizes(page, m, a);
    putc('\n', page->out);
    report_parts(page, m, a);
    fsim_paragraph(page, FSIM_PLAIN, 0, 0,
                   "Weights of 8 and 4 bits: those of embedding and head stay in 16. 4-bit elements share a scale of 8 "
                   "bits for each 32.");
}

void fsim_report_models(const fsim_page *page, const fsim_shown_models *x)
{
    fsim_arena *a = fsim_arena_new();
    x->in_full ? report_one(page, x->at[0], a) : report_all(page, x, a);
    fsim_arena_free(a);
}

static void count_field(FILE *out, const char *key, int64_t n) { fprintf(out, ", \"%s\": %lld", key, (long long)n); }

static void json_model(FILE *out, const fsim_model *m)
{
    fsim_json_text(out, "{", "name", m->name);
    fsim_json_text(out, ", ", "family", m->family);
    fsim_json_text(out, ", ", "kind", fsim_model_kind_names[m->kind]);
    fsim_json_text(out, ", ", "source", m->source);
    fsim_json_text(out, ", ", "dtype", *m->dtype ? m->dtype : NULL);
    fsim_json_text(out, ", ", "quantized", *m->quantized ? m->quantized : NULL);
    count_field(out, "parameters", m->parameters);
    count_field(out, "active_parameters", m->active);
    count_field(out, "parameters_if_untied", m->untied);
    count_field(out, "embedding_parameters", m->embedding);
    count_field(out, "head_parameters", m->head);
    fsim_json_bool(out, ", ", "tied", m->tied);
    fsim_json_bool(out, ", ", "gated", m->gated);
    fsim_json_text(out, ", ", "attention", fsim_model_attention(m));
    count_field(out, "layers", m->layers);
    count_field(out, "encoder_layers", m->encoder_layers);
    count_field(out, "hidden", m->hidden);
    count_field(out, "heads", m->heads);
    count_field(out, "kv_heads", m->kv_heads);
    count_field(out, "head_dim", m->head_dim);
    count_field(out, "ffn", m->ffn);
    count_field(out, "vocab", m->vocab);
    count_field(out, "experts", m->experts);
    count_field(out, "experts_per_token", m->topk);
    count_field(out, "expert_ffn", m->expert_ffn);
    count_field(out, "shared_ffn", m->shared_ffn);
    count_field(out, "dense_layers", m->dense_layers);
    count_field(out, "window", m->window);
    count_field(out, "windowed_layers", m->windowed);
    fprintf(out, ", \"weight_bytes\": {");
    for (fsim_precision p = 0; p < FSIM_STORED; p++)
        fprintf(out, "%s\"%s\": %.0f", p ? ", " : "", fsim_precision_names[p], fsim_model_weight_bytes(m, p));
    fprintf(out, "}, \"cache_bytes_per_token\": {");
    for (fsim_precision p = 0; p < FSIM_STORED; p++)
        fprintf(out, "%s\"%s\": %.0f", p ? ", " : "", fsim_precision_names[p],
                fsim_precision_bytes(p) * (double)m->cached);
    fprintf(out, "}, \"cross_cache_bytes_per_source_token\": {\"bf16\": %.0f}, \"parts\": [",
            fsim_precision_bytes(FSIM_16_BITS) * (double)m->cached_source);
    for (int i = 0; i < m->parts; i++) {
        fsim_json_text(out, i ? ", {" : "{", "name", m->part[i].name);
        count_field(out, "each", m->part[i].each);
        count_field(out, "times", m->part[i].times);
        count_field(out, "active", m->part[i].active);
        putc('}', out);
    }
    fputs("]}", out);
}

void fsim_json_models(FILE *out, const fsim_shown_models *x)
{
    fprintf(out, "{\"schema\": 1, ");
    fsim_json_text(out, "", "fusesim", fsim_version());
    fprintf(out, ", \"models\": [");
    for (int i = 0; i < x->count; i++) {
        fputs(i ? ",\n" : "\n", out);
        json_model(out, x->at[i]);
    }
    fputs("\n]}\n", out);
}
