/* SPDX-License-Identifier: Apache-2.0 */
/* op_attention.c: Attention and RotaryEmbedding of version 23. */
#include "import/onnx/attend.h"

/* An input as [B, heads, S, D]. */
static fsim_operand *by_head(fsim_onnx_call *c, int i, const char *step, const char *heads)
{
    fsim_operand *x = fsim_onnx_need(c, i);
    return x && x->shape.rank == 3 ? fsim_onnx_split_heads(c, step, x, fsim_onnx_int(c, heads, 0)) : x;
}

bool fsim_onnx_op_attention(fsim_onnx_call *c)
{
    fsim_operand *past = fsim_onnx_in(c, 4), *first = fsim_onnx_need(c, 0);
    if (!first)
        return false;
    const bool flat = first->shape.rank == 3;
    fsim_operand *q = by_head(c, 0, "q", "q_num_heads"), *k = by_head(c, 1, "k", "kv_num_heads"),
                 *v = by_head(c, 2, "v", "kv_num_heads");
    fsim_onnx_attention a = {.q = q,
                             .k = k,
                             .v = v,
                             .mask = fsim_onnx_in(c, 3),
                             .scale = fsim_onnx_float(c, "scale", 0),
                             .softcap = fsim_onnx_float(c, "softcap", 0),
                             .causal = fsim_onnx_int(c, "is_causal", 0) != 0,
                             .past = past && past->shape.rank == 4 ? past->shape.dim[2] : 0,
                             .scores = fsim_onnx_wants(c, 3) ? 3 : -1,
                             .stage = (int)fsim_onnx_int(c, "qk_matmul_output_mode", 0)};
    a.k = fsim_onnx_cached(c, 1, past, a.k);
    a.v = fsim_onnx_cached(c, 2, fsim_onnx_in(c, 5), a.v);
    fsim_operand *y = fsim_onnx_attend(c, flat ? FSIM_STEP("attention") : FSIM_OUT(0), &a);
    return flat ? fsim_onnx_merge_heads(c, FSIM_OUT(0), y) != NULL : y != NULL;
}

/* Rows of the table at the positions, or the table where it has one for each already; as [B, S, R]. */
static fsim_operand *angles(fsim_onnx_call *c, const char *step, fsim_operand *table, fsim_operand *positions)
{
    if (!table || !positions)
        return table;
    if (table->shape.rank != 2 || positions->shape.rank != 2) {
        fsim_onnx_refuse(c, "wants tables[rows, R] and positions[B, S]");
        return NULL;
    }
    const fsim_shape out = {.rank = 3, .dim = {positions->shape.dim[0], positions->shape.dim[1], table->shape.dim[1]}};
    return fsim_onnx_emit(c, FSIM_STEP(step), "embedding", &out, table->dtype, FSIM_ARGS(positions, table));
}

/* [B, S, R] beside x[B, heads, S, D] or x[B, S, heads, D]. */
static fsim_operand *broadcast_angles(fsim_onnx_call *c, const char *step, fsim_operand *x, bool heads_first)
{
    if (!x)
        return NULL;
    if (x->shape.rank != 3) {
        fsim_onnx_refuse(c, "wants angles[B, S, R]; found %s", fsim_shape_text(c->a, &x->shape));
        return NULL;
    }
    const int64_t *dim = x->shape.dim;
    const fsim_shape out = {.rank = 4, .dim = {dim[0], heads_first ? 1 : dim[1], heads_first ? dim[1] : 1, dim[2]}};
    return fsim_onnx_view(c, FSIM_STEP(step), x, &out);
}

bool fsim_onnx_op_rotary(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *positions = fsim_onnx_in(c, 3);
    fsim_operand *cos = angles(c, "cos_at", fsim_onnx_need(c, 1), positions),
                 *sin = angles(c, "sin_at", fsim_onnx_need(c, 2), positions);
    if (!x || !cos || !sin)
        return false;
    const bool flat = x->shape.rank == 3;
    const int64_t heads = flat ? fsim_onnx_int(c, "num_heads", 0) : 1;
    const fsim_shape whole = x->shape;
    if ((!flat && x->shape.rank != 4) || heads < 1 || whole.dim[2] % heads != 0)
        return fsim_onnx_refuse(c, "wants x[B, heads, S, D], or x[B, S, heads D] with 'num_heads'; found %s",
                                fsim_shape_text(c->a, &whole));
    const fsim_shape apart = {.rank = 4, .dim = {whole.dim[0], whole.dim[1], heads, whole.dim[2] / heads}};
    if (flat)
        x = fsim_onnx_view(c, FSIM_STEP("heads"), x, &apart);
    cos = broadcast_angles(c, "cos_of", cos, !flat);
    sin = broadcast_angles(c, "sin_of", sin, !flat);
    fsim_operand *y = fsim_onnx_rotate(c, flat ? FSIM_STEP("turned") : FSIM_OUT(0), x, cos, sin);
    return flat ? fsim_onnx_view(c, FSIM_OUT(0), y, &whole) != NULL : y != NULL;
}
