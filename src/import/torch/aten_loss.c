/* SPDX-License-Identifier: Apache-2.0 */
/* aten_loss.c: losses: means over all, sums, or one number for each element or row. */
#include "import/torch/aten.h"

#include <string.h>

typedef enum { NONE, MEAN, SUM } reduction; /* PyTorch's numbers */

static reduction reduction_of(fsim_aten *c)
{
    const int64_t which = fsim_aten_int(c, "reduction", MEAN);
    return which == 0 ? NONE : which == 2 ? SUM : MEAN;
}

/* The result is what `each` says of all elements, reduced. */
static bool reduced(fsim_aten *c, fsim_torch_value *each)
{
    const reduction how = reduction_of(c);
    return how == NONE ? fsim_aten_reshape(c, 0, each) : fsim_aten_make(c, 0, how == SUM ? "sum" : "mean", 1, &each);
}

static fsim_torch_value *unary(fsim_aten *c, const char *op, fsim_torch_value *x)
{
    return x ? fsim_aten_step(c, op, FSIM_AS(op, &x->shape, x->dtype), 1, &x) : NULL;
}

/* The logarithms x[N, C, ...] of the targets [N, ...], negated: times the weight of each target where there are
 * weights. */
static bool picked(fsim_aten *c, fsim_torch_value *x)
{
    fsim_torch_value *target = fsim_aten_tensor(c, "target"), *weight = fsim_aten_tensor(c, "weight");
    if (!x || !target || x->shape.rank < 1 || target->shape.rank + 1 != x->shape.rank)
        return false;
    const int dim = x->shape.rank > 1;
    fsim_shape at = x->shape;
    at.dim[dim] = 1;
    fsim_torch_value *index = fsim_aten_reshaped(c, target, &at);
    fsim_torch_value *y =
        fsim_aten_step(c, "gather", FSIM_AS("picked", &at, x->dtype), 2, (fsim_torch_value *[2]){x, index});
    fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){dim});
    if (weight) {
        const fsim_shape flat = {.rank = 1, .dim = {fsim_aten_elems(&at)}};
        fsim_torch_value *in[2] = {weight, fsim_aten_reshaped(c, target, &flat)};
        weight = fsim_aten_step(c, "index_select", FSIM_AS("weights", &flat, weight->dtype), 2, in);
        fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){0});
        weight = fsim_aten_reshaped(c, weight, &at);
        y = fsim_aten_step(c, "mul", FSIM_AS("weighted", &at, x->dtype), 2, (fsim_torch_value *[2]){y, weight});
    }
    return reduced(c, unary(c, "neg", y));
}

/* With the weights' sum as a second result, which only gradients read. */
bool fsim_aten_op_nll(fsim_aten *c, const char *word)
{
    (void)word;
    return !(c->outs > 1 && c->out[1] && c->read[1]) && picked(c, fsim_aten_self(c));
}

/* Cross-entropy that is no plain mean. */
static bool cross_entropy(fsim_aten *c)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (fsim_aten_number(c, "label_smoothing", 0) != 0)
        return false;
    x = unary(c, "log_softmax", x);
    if (x)
        fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){x->shape.rank > 1});
    return picked(c, x);
}

/* Differences, squared or without their signs. */
static bool differences(fsim_aten *c, const char *op)
{
    fsim_torch_value *in[2] = {fsim_aten_self(c), fsim_aten_cast(c, fsim_aten_tensor(c, "target"), c->out[0]->dtype)};
    if (!in[0] || !in[1] || !fsim_aten_same_shape(&in[0]->shape, &in[1]->shape))
        return false;
    fsim_torch_value *gap = fsim_aten_step(c, "sub", FSIM_AS("gap", &in[0]->shape, c->out[0]->dtype), 2, in);
    return reduced(c, unary(c, op, gap));
}

bool fsim_aten_op_loss(fsim_aten *c, const char *word)
{
    fsim_torch_value *in[2] = {fsim_aten_self(c), fsim_aten_tensor(c, "target")};
    const bool entropy = strcmp(word, "cross_entropy") == 0, weighted = fsim_aten_tensor(c, "weight") != NULL;
    if (!in[0] || !in[1])
        return false;
    if (entropy && (reduction_of(c) != MEAN || weighted || fsim_aten_number(c, "label_smoothing", 0) != 0))
        return cross_entropy(c);
    if (reduction_of(c) != MEAN && strcmp(word, "mse_loss") == 0)
        return differences(c, "square");
    if (reduction_of(c) != MEAN && strcmp(word, "l1_loss") == 0)
        return differences(c, "abs");
    if (reduction_of(c) != MEAN || weighted || fsim_aten_tensor(c, "pos_weight"))
        return false;
    in[1] = entropy ? in[1] : fsim_aten_cast(c, in[1], c->out[0]->dtype);
    return fsim_aten_make(c, 0, word, 2, in);
}

/* target * (log target - x), or of a target that is a logarithm exp target * (target - x). */
bool fsim_aten_op_divergence(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *target = fsim_aten_tensor(c, "target");
    if (!x || !target || !fsim_aten_same_shape(&x->shape, &target->shape))
        return false;
    const bool log_given = fsim_aten_flag(c, "log_target", false);
    fsim_torch_value *log = log_given ? target : unary(c, "log", target);
    fsim_torch_value *gap =
        fsim_aten_step(c, "sub", FSIM_AS("gap", &x->shape, c->out[0]->dtype), 2, (fsim_torch_value *[2]){log, x});
    target = log_given ? unary(c, "exp", target) : target;
    return reduced(c, fsim_aten_step(c, "mul", FSIM_AS("weighted", &x->shape, c->out[0]->dtype), 2,
                                     (fsim_torch_value *[2]){target, gap}));
}
