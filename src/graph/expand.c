/* SPDX-License-Identifier: Apache-2.0 */
/* expand.c: composites as primitives, with the arithmetic that PyTorch documents for each. A primitive of composite y
 * is named y/step; the last is y. Nothing here knows about fusion: softmax and layer norm are found as legal groups
 * later. */
#include "graph/steps.h"

#include <math.h>
#include <string.h>

void fsim_step_start(fsim_step *step, const fsim_call *of, fsim_op op, const char *name)
{
    fsim_arena *a = of->build->arena;
    step->name = name ? fsim_printf(a, "%s/%s", of->out[0], name) : of->out[0];
    step->result = -1;
    step->of = of;
    step->call = (fsim_call){.build = of->build,
                             .part_of = of,
                             .op = op,
                             .at = of->at,
                             .source = of->source,
                             .out = &step->name,
                             .outs = 1,
                             .arg = step->arg,
                             .result = &step->result};
    step->call.attrs.dtype = step->call.attrs.compute = FSIM_DTYPE_NONE;
    fsim_default_attrs(&step->call);
}

int fsim_step_end(fsim_step *step, int args, const int *arg)
{
    enum { BITS = 32 }; /* of scalars: those behind are none */
    const int room = sizeof step->arg / sizeof *step->arg;
    int *to = args > room ? fsim_new(step->call.build->arena, int, args) : step->arg;
    step->call.arg = to;
    for (int i = 0; i < args; i++) {
        if (arg[i] < 0)
            return -1;
        to[i] = arg[i];
        for (int k = 0; k < step->of->args && k < BITS && i < BITS; k++)
            if (step->of->arg[k] == arg[i] && step->of->scalars >> k & 1)
                step->call.scalars |= 1u << i;
    }
    step->call.args = args;
    return fsim_ops[step->call.op].rule(&step->call) ? step->result : -1;
}

int fsim_emit(fsim_call *call, fsim_op op, const char *name, int args, const int *arg)
{
    fsim_step step;
    fsim_step_start(&step, call, op, name);
    return fsim_step_end(&step, args, arg);
}

/* The largest x, which only keeps the exponentials in range: its gradient cancels out. */
static int peak(fsim_call *c, int x, const fsim_list *dims)
{
    const int max = reduce(c, FSIM_OP_MAX, "max", x, dims, true);
    if (max >= 0)
        c->build->graph->tensor[max].detached = true;
    return max;
}

/* exp(x - max) and its sum: the part that all softmaxes share, safe against overflow. */
typedef struct {
    int max, shifted, exp, sum;
} soft;
static soft soft_start(fsim_call *c, int x, const fsim_list *dims)
{
    soft s;
    s.max = peak(c, x, dims);
    s.shifted = binary(c, FSIM_OP_SUB, "sub", x, s.max);
    s.exp = unary(c, FSIM_OP_EXP, "exp", s.shifted);
    s.sum = reduce(c, FSIM_OP_SUM, "sum", s.exp, dims, true);
    return s;
}

bool fsim_rule_softmax(fsim_call *c)
{
    const fsim_list dims = c->list[FSIM_ATTR_DIMS];
    const soft s = soft_start(c, c->arg[0], &dims);
    return finish(c, binary(c, FSIM_OP_DIV, NULL, s.exp, s.sum));
}

bool fsim_rule_log_softmax(fsim_call *c)
{
    const fsim_list dims = c->list[FSIM_ATTR_DIMS];
    const soft s = soft_start(c, c->arg[0], &dims);
    return finish(c, binary(c, FSIM_OP_SUB, NULL, s.shifted, unary(c, FSIM_OP_LOG, "log", s.sum)));
}

bool fsim_rule_logsumexp(fsim_call *c)
{
    const fsim_list dims = c->list[FSIM_ATTR_DIMS];
    const int x = c->arg[0];
    const int max = peak(c, x, &dims);
    const int e = unary(c, FSIM_OP_EXP, "exp", binary(c, FSIM_OP_SUB, "sub", x, max));
    const int log = unary(c, FSIM_OP_LOG, "log", reduce(c, FSIM_OP_SUM, "sum", e, &dims, c->attrs.keepdim));
    if (c->attrs.keepdim || log < 0)
        return finish(c, binary(c, FSIM_OP_ADD, NULL, log, max));
    return finish(c, binary(c, FSIM_OP_ADD, NULL, log, view(c, "peak", max, &c->build->graph->tensor[log].shape)));
}

/* Whether any or all elements along the dimensions are other than 0. */
static bool some(fsim_call *c, fsim_op op)
{
    const fsim_list dims = c->list[FSIM_ATTR_DIMS];
    const bool flags = fsim_arg(c, 0)->dtype == FSIM_BOOL;
    return finish(c, reduce(c, op, NULL, flags ? c->arg[0] : scalar(c, FSIM_OP_NE, "set", c->arg[0], 0), &dims,
                            c->attrs.keepdim));
}
bool fsim_rule_any(fsim_call *c) { return some(c, FSIM_OP_MAX); }
bool fsim_rule_all(fsim_call *c) { return some(c, FSIM_OP_MIN); }

/* The mean square of x - mean, times n / (n - correction). */
static int variance(fsim_call *c, const char *name)
{
    const fsim_list dims = c->list[FSIM_ATTR_DIMS];
    const int mean = reduce(c, FSIM_OP_MEAN, "mean", c->arg[0], &dims, true);
    const int d = binary(c, FSIM_OP_SUB, "centre", c->arg[0], mean), square = binary(c, FSIM_OP_MUL, "square", d, d);
    if (square < 0)
        return -1;
    const double n = (double)(fsim_arg(c, 0)->elems / c->build->graph->tensor[mean].elems), less = c->attrs.correction;
    const int v = reduce(c, FSIM_OP_MEAN, less > 0 ? "biased" : name, square, &dims, c->attrs.keepdim);
    return less > 0 ? scalar(c, FSIM_OP_MUL, name, v, n > less ? n / (n - less) : INFINITY) : v;
}
bool fsim_rule_var(fsim_call *c) { return finish(c, variance(c, NULL)); }
bool fsim_rule_std(fsim_call *c) { return finish(c, unary(c, FSIM_OP_SQRT, NULL, variance(c, "var"))); }

/* x / 2 (1 + t). Two calls that write a step each are never arguments of one: C leaves open which comes first. */
static bool gelu_result(fsim_call *c, int t)
{
    const int one = scalar(c, FSIM_OP_ADD, "one", t, 1);
    const int half = scalar(c, FSIM_OP_MUL, "half", c->arg[0], 0.5);
    return finish(c, binary(c, FSIM_OP_MUL, NULL, half, one));
}

bool fsim_rule_gelu(fsim_call *c)
{
    const int x = c->arg[0];
    if (c->attrs.approximate == FSIM_GELU_TANH) {
        const int cube = scalar(c, FSIM_OP_POW, "cube", x, 3);
        const int sum = binary(c, FSIM_OP_ADD, "sum", x, scalar(c, FSIM_OP_MUL, "part", cube, 0.044715));
        const int t = unary(c, FSIM_OP_TANH, "tanh", scalar(c, FSIM_OP_MUL, "arg", sum, 0.7978845608028654));
        return gelu_result(c, t);
    }
    const int e = unary(c, FSIM_OP_ERF, "erf", scalar(c, FSIM_OP_MUL, "arg", x, 0.7071067811865476));
    return gelu_result(c, e);
}

bool fsim_rule_silu(fsim_call *c)
{
    return finish(c, binary(c, FSIM_OP_MUL, NULL, c->arg[0], unary(c, FSIM_OP_SIGMOID, "sigmoid", c->arg[0])));
}

bool fsim_rule_mish(fsim_call *c)
{
    const int t = unary(c, FSIM_OP_TANH, "tanh", unary(c, FSIM_OP_SOFTPLUS, "softplus", c->arg[0]));
    return finish(c, binary(c, FSIM_OP_MUL, NULL, c->arg[0], t));
}

/* x / (|x| + 1) and x - tanh(x), which torch.nn.functional computes step by step. */
bool fsim_rule_softsign(fsim_call *c)
{
    const int size = scalar(c, FSIM_OP_ADD, "one", unary(c, FSIM_OP_ABS, "abs", c->arg[0]), 1);
    return finish(c, binary(c, FSIM_OP_DIV, NULL, c->arg[0], size));
}

bool fsim_rule_tanhshrink(fsim_call *c)
{
    return finish(c, binary(c, FSIM_OP_SUB, NULL, c->arg[0], unary(c, FSIM_OP_TANH, "tanh", c->arg[0])));
}

/* Half of x along dimension dim: elements [i half, (i + 1) half). */
static int half_of(fsim_call *c, const char *name, int dim, int64_t half, int i)
{
    fsim_step part;
    fsim_step_start(&part, c, FSIM_OP_SLICE, name);
    part.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {dim}};
    part.call.list[FSIM_ATTR_SIZE] = (fsim_list){.present = true, .count = 1, .at = {half}};
    part.call.list[FSIM_ATTR_START] = (fsim_list){.present = true, .count = 1, .at = {i * half}};
    return fsim_step_end(&part, 1, c->arg);
}

/* The first half, times the sigmoid of the second. */
bool fsim_rule_glu(fsim_call *c)
{
    const fsim_shape s = fsim_arg(c, 0)->shape;
    int dim;
    if (!fsim_one_dim(c, s.rank, &dim))
        return false;
    if (s.rank < 1 || s.dim[dim] % 2 != 0)
        return fsim_refuse(c, "wants an even dimension %d; found %s", dim, fsim_shape_text(c->build->arena, &s));
    const int value = half_of(c, "value", dim, s.dim[dim] / 2, 0), gate = half_of(c, "gate", dim, s.dim[dim] / 2, 1);
    return finish(c, binary(c, FSIM_OP_MUL, NULL, value, unary(c, FSIM_OP_SIGMOID, "sigmoid", gate)));
}

/* silu(gate) * up; one argument holds both halves of its last dimension. */
bool fsim_rule_swiglu(fsim_call *c)
{
    int gate = c->arg[0], up = c->arg[c->args - 1];
    if (c->args == 1) {
        const fsim_shape s = fsim_arg(c, 0)->shape;
        if (s.rank < 1 || s.dim[s.rank - 1] % 2 != 0)
            return fsim_refuse(c, "wants gate and up, or one tensor with an even last dimension");
        gate = half_of(c, "gate", -1, s.dim[s.rank - 1] / 2, 0);
        up = half_of(c, "up", -1, s.dim[s.rank - 1] / 2, 1);
    }
    const int silu = binary(c, FSIM_OP_MUL, "silu", gate, unary(c, FSIM_OP_SIGMOID, "sigmoid", gate));
    return finish(c, binary(c, FSIM_OP_MUL, NULL, silu, up));
}

/* x cos + rotate_half(x) sin: Su et al., RoFormer, 2021, in the half-split form of GPT-NeoX and Llama. */
bool fsim_rule_rotary_embedding(fsim_call *c)
{
    const int x = c->arg[0];
    const int turned = unary(c, FSIM_OP_ROTATE_HALF, "rotate", x);
    const int sin = like_x(c, FSIM_OP_MUL, "sin", turned, c->arg[2]);
    return sin >= 0 && finish(c, binary(c, FSIM_OP_ADD, NULL, like_x(c, FSIM_OP_MUL, "cos", x, c->arg[1]), sin));
}

/* The last `window` of x's Sk keys. */
static int last_keys(fsim_call *c, const char *name, int x, int64_t window)
{
    const int64_t keys = c->build->graph->tensor[x].shape.dim[2];
    fsim_step part;
    fsim_step_start(&part, c, FSIM_OP_SLICE, name);
    part.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {2}};
    part.call.list[FSIM_ATTR_SIZE] = (fsim_list){.present = true, .count = 1, .at = {window}};
    part.call.list[FSIM_ATTR_START] = (fsim_list){.present = true, .count = 1, .at = {keys - window}};
    return fsim_step_end(&part, 1, &x);
}

/* The scores without those of keys that `diagonal` and what is below it hide, or above it. */
static int masked(fsim_call *c, fsim_op op, const char *name, int x, int64_t diagonal)
{
    fsim_step step;
    fsim_step_start(&step, c, op, name);
    step.call.attrs.k = diagonal;
    return fsim_step_end(&step, 1, &x);
}

/* Are inputs and attributes of attention those that fit one another, but for shapes? */
static bool check_masks(fsim_call *c, bool biased)
{
    const fsim_shape q = fsim_arg(c, 0)->shape;
    const fsim_tensor *last = fsim_arg(c, c->args - 1);
    if (c->attrs.sinks &&
        (c->args < 4 || last->shape.rank != 1 || last->shape.dim[0] != q.dim[1] || !fsim_dtype_floating(last->dtype)))
        return fsim_refuse(c, "with 'sinks' the last input is a number for each of %lld heads; '%s' is %s%s",
                           (long long)q.dim[1], last->name, fsim_dtype_names[last->dtype],
                           fsim_shape_text(c->build->arena, &last->shape));
    if (!c->attrs.sinks && c->args == 5)
        return fsim_refuse(c, "has five inputs: the fifth, '%s', wants 'sinks: true'", last->name);
    if (biased && fsim_arg(c, 3)->dtype != FSIM_BOOL && !fsim_dtype_floating(fsim_arg(c, 3)->dtype))
        return fsim_refuse(c, "the mask '%s' is %s: a bool says which scores count, a float is added; 'cast' it first",
                           fsim_arg(c, 3)->name, fsim_dtype_names[fsim_arg(c, 3)->dtype]);
    if (c->attrs.window > 0 && !c->attrs.causal && q.dim[2] > 1)
        return fsim_refuse(c,
                           "a 'window' of %lld keys wants 'causal: true', or one query, the last of the keys (%lld "
                           "queries)",
                           (long long)c->attrs.window, (long long)q.dim[2]);
    return true;
}

/* What scores are before the softmax: scaled, masked, with the bias. */
static int masked_scores(fsim_call *c, int s, int64_t queries, int64_t keys, bool biased)
{
    const int64_t behind = c->attrs.causal ? 0 : keys - queries, window = c->attrs.window; /* queries are the last */
    if (c->attrs.causal)
        s = unary(c, FSIM_OP_CAUSAL_MASK, "mask", s);
    if (window > 0 && window < queries + behind)
        s = masked(c, FSIM_OP_WINDOW_MASK, "window", s, behind + 1 - window);
    if (biased)
        s = fsim_arg(c, 3)->dtype == FSIM_BOOL ? binary(c, FSIM_OP_MASK_OUT, "masked", s, c->arg[3])
                                               : like_x(c, FSIM_OP_ADD, "bias", s, c->arg[3]);
    return s;
}

/* The probabilities; with sinks, theirs is the rest to 1. */
static int probabilities(fsim_call *c, int s, int64_t heads)
{
    const fsim_list last = {.present = true, .count = 1, .at = {-1}};
    soft e = soft_start(c, s, &last);
    if (c->attrs.sinks) {
        const fsim_shape rows = {.rank = 4, .dim = {1, heads, 1, 1}};
        const int sink = view(c, "sinks", c->arg[c->args - 1], &rows);
        const int above = unary(c, FSIM_OP_NEG, "above", like_x(c, FSIM_OP_SUB, "below", e.max, sink));
        e.sum = like_x(c, FSIM_OP_ADD, "all", e.sum, unary(c, FSIM_OP_EXP, "sink", above));
    }
    return binary(c, FSIM_OP_DIV, "probabilities", e.exp, e.sum);
}

/* softmax(q k^T / sqrt(D) [+ bias]) v, where a bias of bool says which scores count, with q[B, heads, Sq, D], k and
 * v[B, kv_heads, Sk, D]; query heads share key heads in groups. */
bool fsim_rule_attention(fsim_call *c)
{
    const fsim_shape q = fsim_arg(c, 0)->shape, k = fsim_arg(c, 1)->shape, v = fsim_arg(c, 2)->shape;
    fsim_arena *a = c->build->arena;
    if (q.rank != 4 || k.rank != 4 || v.rank != 4 || q.dim[0] != k.dim[0] || q.dim[3] != k.dim[3] ||
        k.dim[1] != v.dim[1] || k.dim[2] != v.dim[2] || k.dim[0] != v.dim[0])
        return fsim_refuse(c, "wants q[B, heads, Sq, D] and k, v[B, kv_heads, Sk, D]; found %s, %s and %s",
                           fsim_shape_text(a, &q), fsim_shape_text(a, &k), fsim_shape_text(a, &v));
    if (q.dim[1] % k.dim[1] != 0)
        return fsim_refuse(c, "%lld query heads do not divide over %lld key heads", (long long)q.dim[1],
                           (long long)k.dim[1]);
    if (!c->attrs.gqa && q.dim[1] != k.dim[1])
        return fsim_refuse(c, "%lld query heads for %lld key heads want 'enable_gqa: true'", (long long)q.dim[1],
                           (long long)k.dim[1]);
    const bool biased = c->args - c->attrs.sinks == 4;
    if (!check_masks(c, biased))
        return false;
    if (c->attrs.causal && q.dim[2] != k.dim[2])
        fsim_warning(
            c->build->diag, c->at,
            "attention '%s': causal lets query i see keys 0 to i, as in PyTorch (queries: %lld, keys: %lld); where "
            "the queries are the last of the keys, leave it out for one query, or give a mask",
            c->out[0], (long long)q.dim[2], (long long)k.dim[2]);
    const double factor = c->list[FSIM_ATTR_SCALE].present ? c->attrs.scale : 1 / sqrt((double)q.dim[3]);
    const bool cut = c->attrs.window > 0 && c->attrs.window < k.dim[2] && q.dim[2] == 1 && !c->attrs.causal && !biased;
    const int keys = cut ? last_keys(c, "keys", c->arg[1], c->attrs.window) : c->arg[1],
              values = cut ? last_keys(c, "values", c->arg[2], c->attrs.window) : c->arg[2];
    const int64_t B = q.dim[0], kv = k.dim[1], group = q.dim[1] / kv, Sq = q.dim[2], D = v.dim[3],
                  Sk = cut ? c->attrs.window : k.dim[2];
    const fsim_shape grouped_q = {.rank = 4, .dim = {B, kv, group * Sq, q.dim[3]}},
                     wide = {.rank = 4, .dim = {B, q.dim[1], Sq, Sk}};
    const fsim_shape rows = {.rank = 4, .dim = {B, kv, group * Sq, Sk}}, out = {.rank = 4, .dim = {B, q.dim[1], Sq, D}};
    fsim_step product;
    fsim_step_start(&product, c, FSIM_OP_EINSUM, "qk");
    product.call.attrs.compute = c->attrs.compute;
    product.call.equation = "bhsd,bhtd->bhst";
    const int qk = fsim_step_end(&product, 2, (int[2]){view(c, "q", c->arg[0], &grouped_q), keys});
    if (qk < 0)
        return false;
    const int s = scalar(c, FSIM_OP_MUL, "scale", view(c, "scores", qk, &wide), factor),
              p = probabilities(c, masked_scores(c, s, Sq, Sk, biased), q.dim[1]);
    fsim_step_start(&product, c, FSIM_OP_MATMUL, NULL);
    product.call.attrs.compute = c->attrs.compute;
    const int result = fsim_step_end(&product, 2, (int[2]){view(c, "p", p, &rows), values});
    if (result < 0)
        return false;
    c->build->graph->tensor[result].shape = out;
    return finish(c, result);
}

/* The norm of argument i as it broadcasts to shape `all`: over the dimensions of that, each as long as it is there. */
static int norm_within(fsim_call *c, int i, const fsim_shape *all)
{
    const fsim_list *dims = &c->list[FSIM_ATTR_DIMS];
    const fsim_shape own = fsim_arg(c, i)->shape;
    fsim_shape wide = {.rank = all->rank}, s;
    int x = c->arg[i];
    for (int d = 0; d < all->rank; d++)
        wide.dim[d] = d < all->rank - own.rank ? 1 : own.dim[d - (all->rank - own.rank)];
    s = wide;
    for (int k = 0, d; k < dims->count; k++) {
        if (!fsim_wrap_dim(c, all->rank, dims->at[k], &d))
            return -1;
        s.dim[d] = all->dim[d];
    }
    if (own.rank < all->rank)
        x = view(c, i ? "wide_y" : "wide_x", x, &wide);
    if (fsim_elems(&s) != fsim_elems(&wide)) {
        fsim_step step;
        fsim_step_start(&step, c, FSIM_OP_EXPAND, i ? "whole_y" : "whole_x");
        step.call.list[FSIM_ATTR_SHAPE] = (fsim_list){.present = true, .count = s.rank};
        memcpy(step.call.list[FSIM_ATTR_SHAPE].at, s.dim, (size_t)s.rank * sizeof *s.dim);
        x = fsim_step_end(&step, 1, &x);
    }
    return x < 0 ? -1 : reduce(c, FSIM_OP_NORM, i ? "norm_y" : "norm_x", x, dims, false);
}

bool fsim_rule_cosine_similarity(fsim_call *c)
{
    const fsim_list dims = c->list[FSIM_ATTR_DIMS];
    const int product = binary(c, FSIM_OP_MUL, "product", c->arg[0], c->arg[1]);
    if (product < 0)
        return false;
    const fsim_shape all = c->build->graph->tensor[product].shape;
    const int dot = reduce(c, FSIM_OP_SUM, "dot", product, &dims, false);
    const int norm_y = norm_within(c, 1, &all), norm_x = norm_within(c, 0, &all);
    const int norms = binary(c, FSIM_OP_MUL, "norms", norm_x, norm_y);
    return finish(c, binary(c, FSIM_OP_DIV, NULL, dot, scalar(c, FSIM_OP_MAXIMUM, "safe", norms, c->attrs.eps)));
}

/* The mean over all elements; with a batch of examples, over those of each. */
static bool mean_of_all(fsim_call *c, int x)
{
    if (x < 0 || c->examples == 0)
        return finish(c, reduce(c, FSIM_OP_MEAN, NULL, x, NULL, false));
    const fsim_list rest = dims_of(1, 2);
    const fsim_shape s = {.rank = 2, .dim = {c->examples, c->build->graph->tensor[x].elems / c->examples}};
    return finish(c, reduce(c, FSIM_OP_MEAN, NULL, view(c, "examples", x, &s), &rest, false));
}

/* mean of log(sum exp x) - x[target] over all rows: probabilities are never stored. Classes are dimension 1, or the
 * only dimension. */
bool fsim_rule_cross_entropy(fsim_call *c)
{
    const fsim_shape x = fsim_arg(c, 0)->shape, t = fsim_arg(c, 1)->shape;
    const int dim = x.rank > 1 ? 1 : 0;
    fsim_shape rows = {0};
    for (int d = 0; d < x.rank; d++)
        if (d != dim)
            rows.dim[rows.rank++] = x.dim[d];
    if (x.rank < 1 || fsim_elems(&rows) != fsim_elems(&t))
        return fsim_refuse(c, "wants logits[N, C, ...] and targets[N, ...]; found %s and %s",
                           fsim_shape_text(c->build->arena, &x), fsim_shape_text(c->build->arena, &t));
    const fsim_tensor *classes = fsim_arg(c, 1);
    if (classes->dtype == FSIM_BOOL || fsim_dtype_floating(classes->dtype))
        return fsim_refuse(c, "the target '%s' is %s; wants integers, the number of each row's class", classes->name,
                           fsim_dtype_names[classes->dtype]);
    const fsim_list dims = dims_of(dim, dim + 1);
    const int max = peak(c, c->arg[0], &dims);
    const int e = unary(c, FSIM_OP_EXP, "exp", binary(c, FSIM_OP_SUB, "sub", c->arg[0], max));
    const int log = unary(c, FSIM_OP_LOG, "log", reduce(c, FSIM_OP_SUM, "sum", e, &dims, false));
    const int lse = binary(c, FSIM_OP_ADD, "lse", log, view(c, "peak", max, &rows));
    const int target = view(c, "target", c->arg[1], &rows);
    const int picked = target < 0 ? -1 : binary(c, FSIM_OP_PICK, "pick", c->arg[0], target);
    return mean_of_all(c, binary(c, FSIM_OP_SUB, "nll", lse, picked));
}

bool fsim_rule_kl_div(
    fsim_call *c) /* input is a log-probability, target a probability: mean of target (log target - input) */
{
    const int product = binary(c, FSIM_OP_MUL, "cross", c->arg[1], c->arg[0]);
    return mean_of_all(c, binary(c, FSIM_OP_SUB, "point", unary(c, FSIM_OP_XLOGX, "entropy", c->arg[1]), product));
}

bool fsim_rule_smooth_l1_loss(fsim_call *c)
{
    return mean_of_all(c, unary(c, FSIM_OP_SMOOTH_L1, "point", binary(c, FSIM_OP_SUB, "sub", c->arg[0], c->arg[1])));
}

bool fsim_rule_mse_loss(fsim_call *c)
{
    const int d = binary(c, FSIM_OP_SUB, "sub", c->arg[0], c->arg[1]);
    return mean_of_all(c, binary(c, FSIM_OP_MUL, "square", d, d));
}

bool fsim_rule_l1_loss(fsim_call *c)
{
    return mean_of_all(c, unary(c, FSIM_OP_ABS, "point", binary(c, FSIM_OP_SUB, "sub", c->arg[0], c->arg[1])));
}

/* The mean of -t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)), which is (1 - t) x - log(sigmoid(x)). */
bool fsim_rule_bce_with_logits(fsim_call *c)
{
    const fsim_shape *x = &fsim_arg(c, 0)->shape, *t = &fsim_arg(c, 1)->shape;
    if (!c->build->graph->batch &&
        (x->rank != t->rank || memcmp(x->dim, t->dim, (size_t)x->rank * sizeof *x->dim) != 0))
        return fsim_refuse(c, "wants logits and targets of one shape; found %s and %s",
                           fsim_shape_text(c->build->arena, x), fsim_shape_text(c->build->arena, t));
    const int log = unary(c, FSIM_OP_LOGSIGMOID, "logsigmoid", c->arg[0]);
    const int other = scalar(c, FSIM_OP_ADD, "other", unary(c, FSIM_OP_NEG, "minus", c->arg[1]), 1);
    return mean_of_all(c, binary(c, FSIM_OP_SUB, "point", binary(c, FSIM_OP_MUL, "product", other, c->arg[0]), log));
}

bool fsim_rule_triplet_margin_loss(fsim_call *c)
{
    const fsim_list last = {.present = true, .count = 1, .at = {-1}};
    int distance[2];
    for (int i = 0; i < 2; i++) {
        const int d = binary(c, FSIM_OP_SUB, i ? "sub_n" : "sub_p", c->arg[0], c->arg[1 + i]);
        distance[i] = reduce(c, FSIM_OP_NORM, i ? "dist_n" : "dist_p",
                             scalar(c, FSIM_OP_ADD, i ? "eps_n" : "eps_p", d, c->attrs.eps), &last, false);
    }
    const int margin =
        scalar(c, FSIM_OP_ADD, "margin", binary(c, FSIM_OP_SUB, "gap", distance[0], distance[1]), c->attrs.margin);
    return mean_of_all(c, unary(c, FSIM_OP_RELU, "hinge", margin));
}
