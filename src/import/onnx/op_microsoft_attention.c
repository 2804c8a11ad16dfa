/* SPDX-License-Identifier: Apache-2.0 */
/* op_microsoft_attention.c: Attention, MultiHeadAttention, GroupQueryAttention and RotaryEmbedding of com.microsoft. */
#include "import/onnx/attend.h"
#include "import/onnx/quantised.h"

#include <math.h>

/* Masks. */

/* Which of `keys` places count, by the number that does in each example: lengths[B, 1, 1, 1] of integers. */
static fsim_operand *mask_of_lengths(fsim_onnx_call *c, fsim_operand *lengths, int64_t batch, int64_t keys)
{
    const fsim_shape places = {.rank = 1, .dim = {keys}}, apart = {.rank = 4, .dim = {batch, 1, 1, 1}},
                     out = {.rank = 4, .dim = {batch, 1, 1, keys}};
    fsim_operand *place = fsim_onnx_emit(c, FSIM_STEP("places"), "arange", &places, FSIM_I32, FSIM_NO_ARGS);
    if (place) {
        fsim_onnx_put_int(c, "end", keys);
        fsim_onnx_put_word(c, "dtype", "i32");
    }
    lengths = fsim_onnx_slice(c, FSIM_STEP("ends"), lengths, 0, 0, batch);
    return fsim_onnx_emit(c, FSIM_STEP("mask"), "lt", &out, FSIM_BOOL,
                          FSIM_ARGS(place, fsim_onnx_view(c, FSIM_STEP("lengths"), lengths, &apart)));
}

/* A mask of the forms that ONNX Runtime takes, as bool that broadcasts to [B, heads, S, T]: [B] or more lengths,
 * [B, T], [B, S, T], [B, 1, M, M]. */
static fsim_operand *read_mask(fsim_onnx_call *c, fsim_operand *mask, int64_t batch, int64_t queries, int64_t keys)
{
    if (!mask)
        return NULL;
    fsim_shape s = mask->shape;
    if (s.rank == 1)
        return mask_of_lengths(c, mask, batch, keys);
    if (s.rank == 4 && s.dim[2] >= keys && s.dim[3] >= keys) {
        mask = fsim_onnx_slice(c, FSIM_STEP("mask_rows"), mask, 2, keys - queries, queries);
        mask = fsim_onnx_slice(c, FSIM_STEP("mask_columns"), mask, 3, 0, keys);
        return fsim_onnx_as(c, FSIM_STEP("mask"), mask, FSIM_BOOL);
    }
    const fsim_shape wide = {.rank = 4, .dim = {s.dim[0], 1, s.rank == 3 ? s.dim[1] : 1, s.dim[s.rank - 1]}};
    return fsim_onnx_view(c, FSIM_STEP("mask"), fsim_onnx_as(c, FSIM_STEP("counts"), mask, FSIM_BOOL), &wide);
}

/* A mask and numbers that are added to the scores, as one. */
static fsim_operand *with_bias(fsim_onnx_call *c, fsim_operand *mask, fsim_operand *bias)
{
    fsim_shape out;
    if (!mask || !bias)
        return mask ? mask : bias;
    if (!fsim_onnx_broadcast(c, &mask->shape, &bias->shape, &out))
        return NULL;
    fsim_operand *y = fsim_onnx_emit(c, FSIM_STEP("masked_bias"), "where", &out, bias->dtype, FSIM_ARGS(mask, bias));
    if (y)
        fsim_onnx_put_number(c, "other", fsim_onnx_float(c, "mask_filter_value", -10000));
    return y;
}

/* Past keys and values. */

/* The rows of x written into the past's own memory, which is as long as it will ever be. */
static fsim_operand *written(fsim_onnx_call *c, int k, fsim_operand *past, fsim_operand *x)
{
    if (!past || !x)
        return NULL;
    const fsim_shape places = {.rank = 1, .dim = {x->shape.dim[2]}};
    fsim_operand *at = fsim_onnx_emit(c, FSIM_STEP("rows"), "arange", &places, FSIM_I64, FSIM_NO_ARGS);
    if (at)
        fsim_onnx_put_int(c, "end", places.dim[0]);
    fsim_operand *y = fsim_onnx_emit(c, fsim_onnx_wants(c, k) ? FSIM_OUT(k) : FSIM_STEP(k == 1 ? "keys" : "values"),
                                     "index_copy", &past->shape, past->dtype, FSIM_ARGS(past, at, x));
    if (y)
        fsim_onnx_put_int(c, "dim", 2);
    return y;
}

/* Half i of [2, B, heads, P, D]. */
static fsim_operand *half(fsim_onnx_call *c, const char *step, fsim_operand *past, int i)
{
    if (!past || past->shape.rank != 5)
        return NULL;
    const fsim_shape four = fsim_onnx_shape(4, past->shape.dim + 1);
    return fsim_onnx_view(c, FSIM_STEP(step),
                          fsim_onnx_slice(c, FSIM_STEP(fsim_printf(c->a, "%s_half", step)), past, 0, i, 1), &four);
}

/* Keys and values as one, output k. */
static bool present(fsim_onnx_call *c, int k, fsim_operand *keys, fsim_operand *values)
{
    if (!fsim_onnx_wants(c, k))
        return true;
    if (!keys || !values)
        return false;
    fsim_shape out = {.rank = 5, .dim = {2}};
    for (int d = 0; d < 4; d++)
        out.dim[1 + d] = keys->shape.dim[d];
    fsim_operand *y = fsim_onnx_emit(c, FSIM_OUT(k), "stack", &out, keys->dtype, FSIM_ARGS(keys, values));
    if (y)
        fsim_onnx_put_int(c, "dim", 0);
    return y != NULL;
}

/* Attention: one product for queries, keys and values. */

/* Where each of them begins in the last dimension, and all of them end. */
static bool read_thirds(fsim_onnx_call *c, int64_t whole, int64_t at[4])
{
    int count;
    const int64_t *sizes = fsim_onnx_ints(c, "qkv_hidden_sizes", &count);
    if (sizes && count != 3)
        return fsim_onnx_refuse(c, "'qkv_hidden_sizes' has %d numbers", count);
    at[0] = 0;
    for (int i = 0; i < 3; i++) {
        if (sizes && (sizes[i] < 1 || sizes[i] > whole))
            return fsim_onnx_refuse(c, "'qkv_hidden_sizes' has %lld, where the weight has %lld", (long long)sizes[i],
                                    (long long)whole);
        at[i + 1] = at[i] + (sizes ? sizes[i] : whole / 3);
    }
    return at[3] == whole || fsim_onnx_refuse(c, "queries, keys and values of %lld, where the weight has %lld",
                                              (long long)at[3], (long long)whole);
}

/* Inputs that come behind the projection, by their numbers; -1: none. */
typedef struct {
    int mask, past, bias;
} behind;

/* The attention of all[B, S, queries, keys and values]. */
static bool attend_packed(fsim_onnx_call *c, fsim_operand *all, behind at)
{
    static const char *const name[3] = {"q", "k", "v"};
    fsim_operand *past = fsim_onnx_in(c, at.past), *part[3];
    int64_t from[4];
    if (!all)
        return false;
    if (all->shape.rank != 3)
        return fsim_onnx_refuse(c, "wants x[B, S, C]; found %s", fsim_shape_text(c->a, &all->shape));
    if (!read_thirds(c, all->shape.dim[2], from))
        return false;
    for (int i = 0; i < 3; i++) {
        fsim_operand *third = fsim_onnx_slice(c, FSIM_STEP(fsim_printf(c->a, "%s_part", name[i])), all, 2, from[i],
                                              from[i + 1] - from[i]);
        part[i] = fsim_onnx_split_heads(c, name[i], third, fsim_onnx_int(c, "num_heads", 0));
    }
    fsim_operand *keys = fsim_onnx_cached(c, -1, half(c, "past_keys", past, 0), part[1]),
                 *values = fsim_onnx_cached(c, -2, half(c, "past_values", past, 1), part[2]);
    fsim_onnx_attention a = {.q = part[0],
                             .k = keys,
                             .v = values,
                             .scale = fsim_onnx_float(c, "scale", 0),
                             .causal = fsim_onnx_int(c, "unidirectional", 0) != 0,
                             .past = past && past->shape.rank == 5 ? past->shape.dim[3] : 0,
                             .scores = -1};
    if (!a.q || !a.k || !present(c, 1, a.k, a.v))
        return false;
    const int64_t *dim = all->shape.dim;
    a.mask = with_bias(c, read_mask(c, fsim_onnx_in(c, at.mask), dim[0], dim[1], a.k->shape.dim[2]),
                       at.bias < 0 ? NULL : fsim_onnx_in(c, at.bias));
    return fsim_onnx_merge_heads(c, FSIM_OUT(0), fsim_onnx_attend(c, FSIM_STEP("attention"), &a)) != NULL;
}

bool fsim_onnx_op_ms_attention(fsim_onnx_call *c)
{
    fsim_operand *bias = fsim_onnx_in(c, 2);
    fsim_operand *all = fsim_onnx_product(c, FSIM_STEP("projection"), fsim_onnx_need(c, 0), fsim_onnx_need(c, 1));
    if (bias)
        all = fsim_onnx_binary(c, FSIM_STEP("qkv"), "add", all, bias);
    return attend_packed(c, all, (behind){.mask = 3, .past = 4, .bias = 5});
}

/* The same with a projection of codes: x, weight, bias, the scales of both, mask, the zeros of both, past. */
bool fsim_onnx_op_qattention(fsim_onnx_call *c)
{
    fsim_operand *sums = fsim_onnx_code_product(c, FSIM_STEP("sums"), fsim_onnx_need(c, 0), fsim_onnx_need(c, 1));
    fsim_operand *all = fsim_onnx_rescale(c, FSIM_STEP("projection"), sums, fsim_onnx_need(c, 3), fsim_onnx_need(c, 4),
                                          sums ? sums->shape.rank - 1 : 0);
    all = fsim_onnx_binary(c, FSIM_STEP("qkv"), "add", all, fsim_onnx_need(c, 2));
    return attend_packed(c, all, (behind){.mask = 5, .past = 8, .bias = -1});
}

/* MultiHeadAttention: queries, keys and values, or two or three of them packed into one. */

/* Part i of `parts` of x[B, S, heads, parts, D], as [B, heads, S, D]. */
static fsim_operand *unpack(fsim_onnx_call *c, const char *step, fsim_operand *x, int i)
{
    static const int64_t order[4] = {0, 2, 1, 3};
    const int64_t *dim = x->shape.dim;
    const fsim_shape four = {.rank = 4, .dim = {dim[0], dim[1], dim[2], dim[4]}};
    fsim_operand *part = fsim_onnx_slice(c, FSIM_STEP(fsim_printf(c->a, "%s_part", step)), x, 3, i, 1);
    part = fsim_onnx_view(c, FSIM_STEP(fsim_printf(c->a, "%s_heads", step)), part, &four);
    return fsim_onnx_reorder(c, FSIM_STEP(step), part, order);
}

/* Input x[B, S, C] with its part of the bias, by heads; *from: where its part begins. */
static fsim_operand *biased_heads(fsim_onnx_call *c, const char *step, fsim_operand *x, fsim_operand *bias,
                                  int64_t *from)
{
    if (!x || x->shape.rank != 3)
        return x;
    const int64_t width = x->shape.dim[2];
    if (bias && (bias->shape.rank != 1 || *from + width > bias->shape.dim[0])) {
        fsim_onnx_refuse(c, "the bias has shape %s", fsim_shape_text(c->a, &bias->shape));
        return NULL;
    }
    if (bias)
        x = fsim_onnx_binary(c, FSIM_STEP(fsim_printf(c->a, "%s_sum", step)), "add", x,
                             fsim_onnx_slice(c, FSIM_STEP(fsim_printf(c->a, "%s_bias", step)), bias, 0, *from, width));
    *from += width;
    return fsim_onnx_split_heads(c, step, x, fsim_onnx_int(c, "num_heads", 0));
}

static bool read_qkv(fsim_onnx_call *c, fsim_operand *bias, fsim_onnx_attention *a)
{
    fsim_operand *q = fsim_onnx_need(c, 0), *k = fsim_onnx_in(c, 1), *v = fsim_onnx_in(c, 2);
    int64_t from = 0;
    if (!q)
        return false;
    if (q->shape.rank == 5 && q->shape.dim[3] == 3) {
        a->q = unpack(c, "q", q, 0);
        a->k = unpack(c, "k", q, 1);
        a->v = unpack(c, "v", q, 2);
        return a->q && a->k && a->v;
    }
    a->q = biased_heads(c, "q", q, bias, &from);
    if (k && k->shape.rank == 5 && k->shape.dim[3] == 2) {
        a->k = unpack(c, "k", k, 0);
        a->v = unpack(c, "v", k, 1);
        return a->q && a->k && a->v;
    }
    a->k = biased_heads(c, "k", k, bias, &from);
    a->v = biased_heads(c, "v", v, bias, &from);
    if (!k || !v)
        return fsim_onnx_refuse(c, "wants keys and values, or all three packed as [B, S, heads, 3, D]");
    return a->q && a->k && a->v;
}

/* Inputs of the past: i keys, i + 1 values; shared: the past's memory is as long as it will ever be. */
static bool attend_with_past(fsim_onnx_call *c, fsim_onnx_attention *a, int i, bool shared)
{
    fsim_operand *keys = fsim_onnx_in(c, i), *values = fsim_onnx_in(c, i + 1);
    a->past = keys && keys->shape.rank == 4 ? keys->shape.dim[2] : 0;
    a->k = shared && keys ? written(c, 1, keys, a->k) : fsim_onnx_cached(c, 1, keys, a->k);
    a->v = shared && values ? written(c, 2, values, a->v) : fsim_onnx_cached(c, 2, values, a->v);
    return a->k && a->v;
}

bool fsim_onnx_op_multi_head_attention(fsim_onnx_call *c)
{
    fsim_onnx_attention a = {
        .scale = fsim_onnx_float(c, "scale", 0), .causal = fsim_onnx_int(c, "unidirectional", 0) != 0, .scores = -1};
    if (!read_qkv(c, fsim_onnx_in(c, 3), &a) || !attend_with_past(c, &a, 6, false))
        return false;
    fsim_operand *mask = read_mask(c, fsim_onnx_in(c, 4), a.q->shape.dim[0], a.q->shape.dim[2], a.k->shape.dim[2]);
    a.mask = with_bias(c, mask, fsim_onnx_in(c, 5));
    return fsim_onnx_merge_heads(c, FSIM_OUT(0), fsim_onnx_attend(c, FSIM_STEP("attention"), &a)) != NULL;
}

/* One step of decoding. */
bool fsim_onnx_op_decoder_attention(fsim_onnx_call *c)
{
    fsim_onnx_attention a = {.scale = fsim_onnx_float(c, "scale", 0), .scores = -1};
    if (!read_qkv(c, fsim_onnx_in(c, 10), &a) ||
        !attend_with_past(c, &a, 5, fsim_onnx_int(c, "past_present_share_buffer", 0) != 0))
        return false;
    fsim_operand *mask = read_mask(c, fsim_onnx_in(c, 3), a.q->shape.dim[0], a.q->shape.dim[2], a.k->shape.dim[2]);
    a.mask = with_bias(c, mask, fsim_onnx_in(c, 4));
    return fsim_onnx_merge_heads(c, FSIM_OUT(0), fsim_onnx_attend(c, FSIM_STEP("attention"), &a)) != NULL;
}

/* GroupQueryAttention. */

/* The first rows of a table of angles: as many as there are positions. */
static fsim_operand *angles(fsim_onnx_call *c, const char *step, int i, int64_t positions)
{
    fsim_operand *table = fsim_onnx_need(c, i);
    if (table && (table->shape.rank != 2 || table->shape.dim[0] < positions)) {
        fsim_onnx_refuse(c, "has angles %s for %lld positions", fsim_shape_text(c->a, &table->shape),
                         (long long)positions);
        return NULL;
    }
    return fsim_onnx_slice(c, FSIM_STEP(step), table, 0, 0, positions);
}

static fsim_operand *turned(fsim_onnx_call *c, const char *step, fsim_operand *x)
{
    if (!x || !fsim_onnx_int(c, "do_rotary", 0))
        return x;
    const int64_t positions = x->shape.dim[2];
    fsim_operand *cos = angles(c, "cos_rows", 7, positions), *sin = angles(c, "sin_rows", 8, positions);
    return fsim_onnx_rotate(c, FSIM_STEP(step), x, cos, sin);
}

/* Queries, and keys and values where they are packed behind them. */
static bool read_groups(fsim_onnx_call *c, fsim_onnx_attention *a)
{
    static const char *const name[3] = {"q", "k", "v"};
    const int64_t heads = fsim_onnx_int(c, "num_heads", 0), kv = fsim_onnx_int(c, "kv_num_heads", heads);
    const int64_t count[3] = {heads, kv, kv};
    fsim_operand *x = fsim_onnx_need(c, 0), *part[3] = {x, fsim_onnx_in(c, 1), fsim_onnx_in(c, 2)};
    if (!x)
        return false;
    if (heads < 1 || kv < 1 || heads > FSIM_MAX_DIM || kv > FSIM_MAX_DIM || x->shape.rank != 3 ||
        (!part[1] && x->shape.dim[2] % (heads + 2 * kv) != 0))
        return fsim_onnx_refuse(c, "wants queries[B, S, heads D]; found %s for %lld and %lld heads",
                                fsim_shape_text(c->a, &x->shape), (long long)heads, (long long)kv);
    const int64_t width = part[1] ? 0 : x->shape.dim[2] / (heads + 2 * kv);
    for (int i = 0, from = 0; i < 3; i++) {
        if (width)
            part[i] = fsim_onnx_slice(c, FSIM_STEP(fsim_printf(c->a, "%s_part", name[i])), x, 2, from * width,
                                      count[i] * width);
        from += (int)count[i];
        part[i] = fsim_onnx_split_heads(c, name[i], part[i], count[i]);
    }
    a->q = turned(c, "q_turned", part[0]);
    a->k = turned(c, "k_turned", part[1]);
    a->v = part[2];
    return a->q && a->k && a->v;
}

/* How many keys there are in all: where it is known and the past's memory has room, they are written there. */
bool fsim_onnx_op_group_query_attention(fsim_onnx_call *c)
{
    fsim_onnx_attention a = {.scale = fsim_onnx_float(c, "scale", 0),
                             .softcap = fsim_onnx_float(c, "softcap", 0),
                             .causal = true,
                             .mask = fsim_onnx_in(c, 10),
                             .scores = -1};
    fsim_operand *past = fsim_onnx_in(c, 3);
    double total = 0;
    if (!read_groups(c, &a))
        return false;
    const bool known = fsim_onnx_number_of(fsim_onnx_in(c, 6), &total) && total >= 1;
    const bool shared = known && past && past->shape.rank == 4 && (double)past->shape.dim[2] >= total;
    if (!attend_with_past(c, &a, 3, shared))
        return false;
    if (shared) {
        a.k = fsim_onnx_slice(c, FSIM_STEP("keys_so_far"), a.k, 2, 0, (int64_t)total);
        a.v = fsim_onnx_slice(c, FSIM_STEP("values_so_far"), a.v, 2, 0, (int64_t)total);
    }
    return fsim_onnx_merge_heads(c, FSIM_OUT(0), fsim_onnx_attend(c, FSIM_STEP("attention"), &a)) != NULL;
}

/* RotaryEmbedding: x[B, S, heads D] or [B, heads, S, D], positions[B, S] or the first one, tables of angles. */
bool fsim_onnx_op_ms_rotary(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *positions = fsim_onnx_need(c, 1), *table[2];
    static const char *const step[2] = {"cos_rows", "sin_rows"};
    if (!x || !positions)
        return false;
    const bool flat = x->shape.rank == 3;
    const fsim_shape whole = x->shape;
    if (!flat && whole.rank != 4)
        return fsim_onnx_refuse(c, "wants x[B, S, C] or x[B, heads, S, D]; found %s", fsim_shape_text(c->a, &whole));
    const int64_t rows = flat ? whole.dim[1] : whole.dim[2];
    for (int i = 0; i < 2; i++) {
        if (positions->shape.rank < 2) {
            table[i] = angles(c, step[i], 2 + i, rows);
        } else if ((table[i] = fsim_onnx_need(c, 2 + i))) {
            const fsim_shape out = {
                .rank = 3, .dim = {positions->shape.dim[0], rows, table[i]->shape.dim[table[i]->shape.rank > 1]}};
            table[i] = fsim_onnx_emit(c, FSIM_STEP(step[i]), "embedding", &out, table[i]->dtype,
                                      FSIM_ARGS(positions, table[i]));
        }
        if (!table[i])
            return false;
        const fsim_shape *t = &table[i]->shape;
        const int64_t batch = t->rank == 3 ? t->dim[0] : 1, width = t->dim[t->rank - 1];
        const fsim_shape beside = {.rank = 4, .dim = {batch, flat ? rows : 1, flat ? 1 : rows, width}};
        table[i] = fsim_onnx_view(c, FSIM_STEP(i ? "sin_of" : "cos_of"), table[i], &beside);
    }
    int64_t heads = fsim_onnx_int(c, "num_heads", 0);
    if (flat && heads == 0 && table[0])
        heads = whole.dim[2] / (2 * table[0]->shape.dim[3]);
    if (flat && (heads < 1 || whole.dim[2] % heads != 0))
        return fsim_onnx_refuse(c, "%s does not divide into %lld heads", fsim_shape_text(c->a, &whole),
                                (long long)heads);
    const fsim_shape apart = {.rank = 4, .dim = {whole.dim[0], whole.dim[1], heads, flat ? whole.dim[2] / heads : 1}};
    if (flat)
        x = fsim_onnx_view(c, FSIM_STEP("heads"), x, &apart);
    fsim_operand *y = fsim_onnx_rotate(c, flat ? FSIM_STEP("turned") : FSIM_OUT(0), x, table[0], table[1]);
    return flat ? fsim_onnx_view(c, FSIM_OUT(0), y, &whole) != NULL : y != NULL;
}
