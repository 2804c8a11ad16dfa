/* SPDX-License-Identifier: Apache-2.0 */
/* aten_attention.c: attention, as it was written and as core ATen decomposes it. */
#include "import/torch/import.h"

#include <string.h>

/* x[..., S, D] as [B, H, S, D]: leading dimensions joined, or added. */
static fsim_torch_value *as_heads(fsim_aten *c, fsim_torch_value *x)
{
    fsim_shape s = {.rank = 4, .dim = {1, 1, 1, 1}};
    if (!x || x->shape.rank < 2 || x->shape.rank == 4)
        return x && x->shape.rank == 4 ? x : NULL;
    for (int i = 0; i < x->shape.rank; i++) {
        const int behind = x->shape.rank - 1 - i;
        s.dim[behind < 3 ? 3 - behind : 0] *= x->shape.dim[i];
    }
    return fsim_aten_reshaped(c, x, &s);
}

/* A mask that broadcasts over the scores [B, H, Sq, Sk]. */
static fsim_torch_value *as_mask(fsim_aten *c, fsim_torch_value *mask, fsim_dtype dtype)
{
    if (mask && mask->dtype != FSIM_BOOL && !fsim_dtype_floating(mask->dtype))
        mask = fsim_aten_cast(c, mask, dtype);
    return mask && mask->shape.rank > 4 ? as_heads(c, mask) : mask;
}

typedef struct {
    fsim_torch_value *in[4]; /* q, k, v, and a mask or NULL */
    bool causal;
    double scale; /* 0: 1 over the root of D */
} attention;

/* Do the heads of the query share those of the keys, one batch, and one length? */
static bool fit(const attention *t)
{
    const fsim_torch_value *q = t->in[0], *k = t->in[1], *v = t->in[2];
    return q && k && v && q->shape.dim[0] == k->shape.dim[0] && q->shape.dim[0] == v->shape.dim[0] &&
           q->shape.dim[1] % k->shape.dim[1] == 0 && k->shape.dim[1] == v->shape.dim[1] &&
           k->shape.dim[2] == v->shape.dim[2] && q->shape.dim[3] == k->shape.dim[3];
}

/* Keys and values of one batch for all of the query's. */
static void share_batch(fsim_aten *c, attention *t)
{
    for (int i = 1; i < 3 && t->in[0]; i++)
        if (t->in[i] && t->in[i]->shape.dim[0] == 1) {
            fsim_shape s = t->in[i]->shape;
            s.dim[0] = t->in[0]->shape.dim[0];
            t->in[i] = fsim_aten_expanded(c, t->in[i], &s);
        }
}

/* Is the mask as wide as the scores, or 1, in each dimension? */
static bool spreads(const attention *t)
{
    const fsim_shape *m = &t->in[3]->shape, *q = &t->in[0]->shape;
    const int64_t scores[4] = {q->dim[0], q->dim[1], q->dim[2], t->in[1]->shape.dim[2]};
    bool fits = m->rank <= 4;
    for (int i = 1; i <= m->rank && fits; i++)
        fits = m->dim[m->rank - i] == 1 || m->dim[m->rank - i] == scores[4 - i];
    return fits;
}

static bool attend(fsim_aten *c, const attention *t)
{
    const int ins = 3 + (t->in[3] != NULL);
    const fsim_shape *q = &t->in[0]->shape;
    const fsim_shape s = {.rank = 4, .dim = {q->dim[0], q->dim[1], q->dim[2], t->in[2]->shape.dim[3]}};
    const bool direct = fsim_aten_same_shape(&s, &c->out[0]->shape) && c->out[0]->dtype == t->in[0]->dtype;
    fsim_torch_value *y = NULL;
    if (direct ? !fsim_aten_make(c, 0, "attention", ins, t->in)
               : !(y = fsim_aten_step(c, "attention", FSIM_AS("heads", &s, t->in[0]->dtype), ins, t->in)))
        return false;
    if (t->causal)
        fsim_draft_flag(c->x, "causal", true);
    if (t->scale != 0)
        fsim_draft_number(c->x, "scale", t->scale);
    return direct || fsim_aten_reshape(c, 0, fsim_aten_cast(c, y, c->out[0]->dtype));
}

/* What core ATen's kernels give beside the result, the logarithm of the sums and a state of random numbers, is for
 * training. Their dropout is part of the kernel and not counted. */
bool fsim_aten_op_attention(fsim_aten *c, const char *word)
{
    (void)word;
    attention t = {{as_heads(c, fsim_aten_tensor(c, "query")), as_heads(c, fsim_aten_tensor(c, "key")),
                    as_heads(c, fsim_aten_tensor(c, "value")), fsim_aten_tensor(c, "attn_mask|attn_bias")},
                   fsim_aten_flag(c, "is_causal", false),
                   fsim_aten_number(c, "scale", 0)};
    for (int k = 1; k < c->outs; k++)
        if (c->out[k] && c->read[k])
            return false;
    share_batch(c, &t);
    if (!fit(&t))
        return false;
    t.in[3] = as_mask(c, t.in[3], t.in[0]->dtype);
    return attend(c, &t);
}

/* Its scores are changed by a function of the user: they cost what a mask costs. */
bool fsim_aten_op_flex_attention(fsim_aten *c, const char *word)
{
    (void)word;
    attention t = {.scale = fsim_aten_number(c, "scale", 0)};
    int ins = 0;
    for (int i = 0; i < c->node->ins && ins < 3; i++)
        if (c->node->in[i].kind == FSIM_TORCH_TENSOR) {
            fsim_aten one = *c;
            fsim_torch_node node = *c->node;
            node.in = &c->node->in[i];
            node.ins = 1;
            one.node = &node;
            t.in[ins++] = as_heads(c, fsim_aten_self(&one));
        }
    return ins == 3 && fit(&t) && attend(c, &t);
}

/* What core ATen makes of it: q and the turned k each times the root of the scale, their product, a mask that is added,
 * a softmax, zeros for rows without a key, and the product with v. It is found from that last product back, so that a
 * decomposed program costs what it cost before. */

static bool is_op(const fsim_torch_node *n, const char *op)
{
    const size_t length = strlen(op);
    return n && strncmp(n->target, "aten.", 5) == 0 && strncmp(n->target + 5, op, length) == 0 &&
           n->target[5 + length] == '.';
}

static bool is_one_of(const fsim_torch_node *n, int count, const char *const *op)
{
    for (int i = 0; i < count; i++)
        if (is_op(n, op[i]))
            return true;
    return false;
}

/* The first argument's maker of a node; NULL where either is none. */
static const fsim_torch_node *before(const fsim_aten *c, const fsim_torch_node *n, int i)
{
    return n && i < n->ins ? fsim_torch_maker(c->m, &n->in[i]) : NULL;
}

/* The value of an argument, not changed since it was made; NULL where there is none, or it is a part of what was made
 * as a whole (whole.h). */
static fsim_torch_value *steady(fsim_aten *c, const fsim_torch_arg *arg)
{
    const int t = arg && arg->kind == FSIM_TORCH_TENSOR ? fsim_torch_index(c->m, arg->text) : -1;
    fsim_torch_value *v = t < 0 ? NULL : c->m->s->value[t];
    return v && v->tensor && !v->mutated ? v : NULL;
}

/* Back over what changes neither the order nor the number of elements: the tensor [..., H, ., .] that arg is a view of.
 */
static const fsim_torch_arg *unviewed(fsim_aten *c, const fsim_torch_arg *arg)
{
    static const char *const views[] = {"view", "_unsafe_view", "reshape", "expand", "clone"};
    fsim_torch_value *v = steady(c, arg), *x;
    for (const fsim_torch_node *n; v && (n = fsim_torch_maker(c->m, arg)) && is_one_of(n, 5, views); v = x) {
        x = steady(c, &n->in[0]);
        if (!x || fsim_aten_elems(&x->shape) != fsim_aten_elems(&v->shape) ||
            (v->shape.rank >= 4 && x->shape.rank != v->shape.rank))
            break;
        arg = &n->in[0];
    }
    return v && v->shape.rank >= 4 ? arg : NULL;
}

/* Back over a cast to f32 of fewer bits. */
static const fsim_torch_arg *uncast(fsim_aten *c, const fsim_torch_arg *arg)
{
    const fsim_torch_node *n = arg ? fsim_torch_maker(c->m, arg) : NULL;
    return is_op(n, "_to_copy") && steady(c, &n->in[0]) ? &n->in[0] : arg;
}

/* Back over the copies of shared heads: [B, kv, 1, S, D] widened, where a cast lies before that. */
static const fsim_torch_arg *unshared(fsim_aten *c, const fsim_torch_arg *arg)
{
    const fsim_torch_node *n = arg ? fsim_torch_maker(c->m, arg) : NULL;
    n = is_op(n, "view") ? before(c, n, 0) : NULL;
    n = is_op(n, "clone") ? before(c, n, 0) : n;
    n = is_op(n, "expand") ? before(c, n, 0) : NULL;
    if (!is_op(n, "unsqueeze"))
        return uncast(c, arg);
    const fsim_torch_arg *shared = uncast(c, &n->in[0]);
    const fsim_torch_value *v = steady(c, shared);
    return shared != &n->in[0] && v && v->shape.rank == 4 ? shared : arg;
}

/* What is multiplied by a number; NULL where nothing is. */
static const fsim_torch_arg *unscaled(fsim_aten *c, const fsim_torch_arg *arg, double *by)
{
    const fsim_torch_node *n = arg ? fsim_torch_maker(c->m, arg) : NULL;
    bool whole;
    return is_op(n, "mul") && n->ins == 2 && fsim_aten_scalar(c, &n->in[1], by, &whole) ? &n->in[0] : NULL;
}

/* What has its last two dimensions in each other's place; NULL where it has not. */
static const fsim_torch_arg *unturned(const fsim_aten *c, const fsim_torch_arg *arg)
{
    const fsim_torch_node *n = arg ? fsim_torch_maker(c->m, arg) : NULL;
    const fsim_torch_arg *dims = is_op(n, "permute") && n->ins == 2 ? &n->in[1] : NULL;
    for (int i = 0; dims && i < dims->count; i++)
        if (dims->count < 4 || dims->item[i].integer != (i < dims->count - 2 ? i : 2 * dims->count - 3 - i))
            return NULL;
    return dims ? &n->in[0] : NULL;
}

/* Is a condition that a query comes not before a key: arange - arange <= 0? */
static bool is_causal(const fsim_aten *c, const fsim_torch_node *n)
{
    n = is_op(n, "logical_and") ? before(c, n, 0) : NULL;
    n = is_op(n, "le") ? before(c, n, 0) : NULL;
    return is_op(n, "sub") && is_op(before(c, before(c, n, 0), 0), "arange") &&
           is_op(before(c, before(c, n, 1), 0), "arange");
}

/* What is added to the scores: a tensor, or a condition as zeros and infinities. */
static bool read_mask(fsim_aten *c, attention *t, const fsim_torch_arg *mask)
{
    const fsim_torch_node *n = fsim_torch_maker(c->m, mask);
    const bool condition =
        is_op(n, "where") && is_op(before(c, n, 1), "scalar_tensor") && is_op(before(c, n, 2), "scalar_tensor");
    t->causal = condition && is_causal(c, before(c, n, 0));
    if (!t->causal)
        t->in[3] = steady(c, condition ? &n->in[0] : mask);
    return t->causal || t->in[3];
}

/* The softmax of the scores from the probabilities back. */
static const fsim_torch_node *softmax_of(fsim_aten *c, const fsim_torch_arg *probabilities)
{
    const fsim_torch_arg *p = unviewed(c, probabilities);
    const fsim_torch_node *n = p ? fsim_torch_maker(c->m, uncast(c, p)) : NULL;
    if (is_op(n, "where") && is_op(before(c, n, 0), "logical_not") && n->ins == 3)
        n = before(c, n, 2); /* rows without a key are zeros */
    return is_op(n, "_softmax") ? n : NULL;
}

bool fsim_aten_decomposed_attention(fsim_aten *c)
{
    attention t = {.causal = false};
    const fsim_torch_node *n = c->node->ins == 2 ? softmax_of(c, &c->node->in[0]) : NULL;
    const fsim_torch_arg *scores = n ? &n->in[0] : NULL;
    const fsim_torch_node *sum = scores ? fsim_torch_maker(c->m, scores) : NULL;
    if (is_op(sum, "add") && sum->ins == 2 && sum->in[1].kind == FSIM_TORCH_TENSOR) {
        if (!read_mask(c, &t, &sum->in[1]))
            return false;
        scores = &sum->in[0];
    }
    n = scores ? fsim_torch_maker(c->m, scores) : NULL;
    n = is_op(n, "view") ? before(c, n, 0) : NULL;
    double q_by = 0, k_by = 0;
    const fsim_torch_arg *q = is_op(n, "bmm") ? unscaled(c, unviewed(c, &n->in[0]), &q_by) : NULL;
    const fsim_torch_arg *k = q ? unturned(c, unscaled(c, unviewed(c, &n->in[1]), &k_by)) : NULL;
    if (!k || q_by != k_by)
        return false;
    t.in[0] = steady(c, uncast(c, q));
    t.in[1] = steady(c, unshared(c, k));
    t.in[2] = steady(c, unshared(c, unviewed(c, &c->node->in[1])));
    t.scale = q_by * k_by;
    for (int i = 0; i < 3; i++)
        if (!t.in[i] || t.in[i]->shape.rank < 4 || t.in[i]->dtype != t.in[0]->dtype)
            return false;
    if (t.in[3] && t.in[3]->shape.rank > 4 && t.in[3]->shape.rank != t.in[0]->shape.rank)
        return false;
    for (int i = 0; i < 3; i++)
        t.in[i] = as_heads(c, t.in[i]);
    t.in[3] = as_mask(c, t.in[3], t.in[0]->dtype);
    return fit(&t) && (!t.in[3] || spreads(&t)) && attend(c, &t);
}
