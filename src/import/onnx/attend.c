/* SPDX-License-Identifier: Apache-2.0 */
#include "import/onnx/attend.h"

#include <math.h>

fsim_operand *fsim_onnx_split_heads(fsim_onnx_call *c, const char *step, fsim_operand *x, int64_t heads)
{
    static const int64_t order[4] = {0, 2, 1, 3};
    if (!x)
        return NULL;
    const int64_t *dim = x->shape.dim;
    if (x->shape.rank != 3 || heads < 1 || dim[2] % heads != 0) {
        fsim_onnx_refuse(c, "%s does not divide into %lld heads", fsim_shape_text(c->a, &x->shape), (long long)heads);
        return NULL;
    }
    const fsim_shape apart = {.rank = 4, .dim = {dim[0], dim[1], heads, dim[2] / heads}},
                     turned = {.rank = 4, .dim = {dim[0], heads, dim[1], dim[2] / heads}};
    if (dim[1] == 1 || heads == 1)
        return fsim_onnx_view(c, FSIM_STEP(step), x, &turned);
    x = fsim_onnx_view(c, FSIM_STEP(fsim_printf(c->a, "%s_heads", step)), x, &apart);
    return fsim_onnx_reorder(c, FSIM_STEP(step), x, order);
}

fsim_operand *fsim_onnx_merge_heads(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x)
{
    static const int64_t order[4] = {0, 2, 1, 3};
    if (!x)
        return NULL;
    const int64_t *dim = x->shape.dim;
    const fsim_shape out = {.rank = 3, .dim = {dim[0], dim[2], dim[1] * dim[3]}};
    if (dim[1] != 1 && dim[2] != 1)
        x = fsim_onnx_reorder(c, FSIM_STEP("turned"), x, order);
    return fsim_onnx_view(c, at, x, &out);
}

fsim_operand *fsim_onnx_cached(fsim_onnx_call *c, int k, fsim_operand *past, fsim_operand *x)
{
    if (!x)
        return NULL;
    const bool wanted = k >= 0 && fsim_onnx_wants(c, k);
    if (past && past->shape.rank == x->shape.rank)
        return fsim_onnx_concat(c, wanted ? FSIM_OUT(k) : FSIM_STEP(k == 1 || k == -1 ? "keys" : "values"), 2, 2,
                                (fsim_operand *[]){past, x});
    if (wanted && !fsim_onnx_same(c, k, x))
        return NULL;
    return x;
}

static bool check(fsim_onnx_call *c, const fsim_onnx_attention *a)
{
    if (!a->q || !a->k || !a->v)
        return false;
    const fsim_shape *q = &a->q->shape, *k = &a->k->shape, *v = &a->v->shape;
    return (q->rank == 4 && k->rank == 4 && v->rank == 4 && q->dim[0] == k->dim[0] && k->dim[0] == v->dim[0] &&
            q->dim[3] == k->dim[3] && k->dim[1] == v->dim[1] && k->dim[2] == v->dim[2] && k->dim[1] > 0 &&
            q->dim[1] % k->dim[1] == 0) ||
           fsim_onnx_refuse(c, "queries %s, keys %s and values %s do not fit", fsim_shape_text(c->a, q),
                            fsim_shape_text(c->a, k), fsim_shape_text(c->a, v));
}

/* The mask of a causal attention whose queries are the last of the keys says nothing for one query. */
static bool is_causal(const fsim_onnx_attention *a) { return a->causal && a->q->shape.dim[2] > 1; }

static fsim_operand *whole(fsim_onnx_call *c, fsim_onnx_at at, const fsim_onnx_attention *a, const fsim_shape *out)
{
    fsim_operand *in[4] = {a->q, a->k, a->v, a->mask};
    fsim_operand *y = fsim_onnx_emit(c, at, "attention", out, a->q->dtype, FSIM_LIST(a->mask ? 4 : 3, in));
    if (y && is_causal(a) && a->past == 0)
        fsim_onnx_put_flag(c, "causal", true);
    if (y && a->scale != 0 && fabs(a->scale * sqrt((double)a->q->shape.dim[3]) - 1) > 1e-6)
        fsim_onnx_put_number(c, "scale", a->scale);
    return y;
}

static fsim_operand *masked(fsim_onnx_call *c, const fsim_onnx_attention *a, fsim_operand *scores)
{
    if (!a->mask || !scores)
        return scores;
    if (a->mask->dtype != FSIM_BOOL)
        return fsim_onnx_binary(c, FSIM_STEP("masked"), "add", scores, a->mask);
    fsim_operand *y =
        fsim_onnx_emit(c, FSIM_STEP("masked"), "where", &scores->shape, scores->dtype, FSIM_ARGS(a->mask, scores));
    if (y)
        fsim_onnx_put_number(c, "other", -INFINITY);
    return y;
}

static fsim_operand *capped(fsim_onnx_call *c, const fsim_onnx_attention *a, fsim_operand *scores)
{
    if (a->softcap == 0)
        return scores;
    fsim_operand *share = fsim_onnx_scalar(c, FSIM_STEP("share"), "div", scores, a->softcap);
    return fsim_onnx_scalar(c, FSIM_STEP("capped"), "mul", fsim_onnx_unary(c, FSIM_STEP("tanh"), "tanh", share),
                            a->softcap);
}

static void keep(fsim_onnx_call *c, const fsim_onnx_attention *a, int stage, fsim_operand *scores)
{
    if (a->scores >= 0 && a->stage == stage && scores)
        fsim_onnx_same(c, a->scores, scores);
}

/* Step by step, where the scores are asked for or are capped. Query heads that share keys are one matrix. */
static fsim_operand *in_steps(fsim_onnx_call *c, fsim_onnx_at at, const fsim_onnx_attention *a, const fsim_shape *out)
{
    static const int64_t turn[4] = {0, 1, 3, 2};
    const int64_t *q = a->q->shape.dim, *k = a->k->shape.dim, group = q[1] / k[1];
    const fsim_shape grouped = {.rank = 4, .dim = {q[0], k[1], group * q[2], q[3]}},
                     apart = {.rank = 4, .dim = {q[0], q[1], q[2], k[2]}},
                     rows = {.rank = 4, .dim = {q[0], k[1], group * q[2], k[2]}};
    const double scale = a->scale != 0 ? a->scale : 1 / sqrt((double)q[3]);
    fsim_operand *keys = fsim_onnx_reorder(c, FSIM_STEP("keys_turned"), a->k, turn);
    fsim_operand *s =
        fsim_onnx_product(c, FSIM_STEP("products"), fsim_onnx_view(c, FSIM_STEP("queries"), a->q, &grouped), keys);
    s = fsim_onnx_scalar(c, FSIM_STEP("scores"), "mul", fsim_onnx_view(c, FSIM_STEP("by_head"), s, &apart), scale);
    keep(c, a, 0, s);
    s = masked(c, a, s);
    keep(c, a, 1, s);
    s = capped(c, a, s);
    keep(c, a, 2, s);
    s = fsim_onnx_unary(c, FSIM_STEP("softmax"), "softmax", s);
    if (s)
        fsim_onnx_put_int(c, "dim", -1);
    keep(c, a, 3, s);
    s = fsim_onnx_product(c, group == 1 ? at : FSIM_STEP("sums"), fsim_onnx_view(c, FSIM_STEP("rows"), s, &rows), a->v);
    return group == 1 ? s : fsim_onnx_view(c, at, s, out);
}

fsim_operand *fsim_onnx_attend(fsim_onnx_call *c, fsim_onnx_at at, const fsim_onnx_attention *a)
{
    if (!check(c, a))
        return NULL;
    fsim_shape out = a->q->shape;
    out.dim[3] = a->v->shape.dim[3];
    return a->softcap != 0 || a->scores >= 0 ? in_steps(c, at, a, &out) : whole(c, at, a, &out);
}

fsim_operand *fsim_onnx_rotate(fsim_onnx_call *c, fsim_onnx_at at, fsim_operand *x, fsim_operand *cos,
                               fsim_operand *sin)
{
    if (!x || !cos || !sin)
        return NULL;
    const int last = x->shape.rank - 1;
    const int64_t turned = 2 * cos->shape.dim[cos->shape.rank - 1], rest = x->shape.dim[last] - turned;
    if (rest < 0 || sin->shape.dim[sin->shape.rank - 1] * 2 != turned) {
        fsim_onnx_refuse(c, "%lld angles for %s", (long long)(turned / 2), fsim_shape_text(c->a, &x->shape));
        return NULL;
    }
    fsim_operand *part = fsim_onnx_slice(c, FSIM_STEP("part"), x, last, 0, turned);
    cos = fsim_onnx_concat(c, FSIM_STEP("cos"), cos->shape.rank - 1, 2, (fsim_operand *[]){cos, cos});
    sin = fsim_onnx_concat(c, FSIM_STEP("sin"), sin->shape.rank - 1, 2, (fsim_operand *[]){sin, sin});
    fsim_operand *y = part ? fsim_onnx_emit(c, rest ? FSIM_STEP("rotated") : at, "rotary_embedding", &part->shape,
                                            x->dtype, FSIM_ARGS(part, cos, sin))
                           : NULL;
    if (rest == 0)
        return y;
    return fsim_onnx_concat(c, at, last, 2,
                            (fsim_operand *[]){y, fsim_onnx_slice(c, FSIM_STEP("rest"), x, last, turned, rest)});
}
