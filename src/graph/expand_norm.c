/* SPDX-License-Identifier: Apache-2.0 */
/* expand_norm.c: norms as primitives, with the arithmetic that PyTorch documents for each. */
#include "graph/steps.h"

#include <math.h>
#include <string.h>

/* Mean, x - mean and variance over dims. */
typedef struct {
    int mean, centred, var, rstd;
} moments;
static moments moments_of(fsim_call *c, int x, const fsim_list *dims)
{
    moments m = {.rstd = -1};
    m.mean = reduce(c, FSIM_OP_MEAN, "mean", x, dims, true);
    m.centred = binary(c, FSIM_OP_SUB, "centre", x, m.mean);
    m.var = reduce(c, FSIM_OP_MEAN, "var", binary(c, FSIM_OP_MUL, "square", m.centred, m.centred), dims, true);
    return m;
}

/* (x - mean) / sqrt(var + eps), then weight and bias (-1: absent), which already have shapes that broadcast. */
static int normalised_by(fsim_call *c, moments *m, int weight, int bias)
{
    m->rstd = unary(c, FSIM_OP_RSQRT, "rstd", scalar(c, FSIM_OP_ADD, "eps", m->var, c->attrs.eps));
    int y = binary(c, FSIM_OP_MUL, weight < 0 && bias < 0 ? NULL : "norm", m->centred, m->rstd);
    if (weight >= 0)
        y = like_x(c, FSIM_OP_MUL, bias < 0 ? NULL : "scale", y, weight);
    if (bias >= 0)
        y = like_x(c, FSIM_OP_ADD, NULL, y, bias);
    return y;
}

static int normalised(fsim_call *c, int x, const fsim_list *dims, int weight, int bias)
{
    moments m = moments_of(c, x, dims);
    return normalised_by(c, &m, weight, bias);
}

/* Weight and bias have the lengths of x's last n dimensions. */
static bool check_sides(const fsim_call *c, int n)
{
    const fsim_shape *x = &fsim_arg(c, 0)->shape;
    for (int i = 1; i < c->args; i++) {
        const fsim_tensor *t = fsim_arg(c, i);
        bool fits = t->shape.rank == n;
        for (int d = 0; d < n && fits; d++)
            fits = t->shape.dim[d] == x->dim[x->rank - n + d];
        fsim_shape wanted = {.rank = n};
        memcpy(wanted.dim, x->dim + x->rank - n, (size_t)n * sizeof *wanted.dim);
        if (!fits)
            return fsim_refuse(c, "'%s' has shape %s; wants %s, the lengths that are normalised", t->name,
                               fsim_shape_text(c->build->arena, &t->shape), fsim_shape_text(c->build->arena, &wanted));
    }
    return true;
}

/* The trailing dimensions that normalised_shape stands for. False after an error. */
static bool trailing(fsim_call *c, fsim_list *dims)
{
    const fsim_shape *s = &fsim_arg(c, 0)->shape;
    const fsim_list *l = &c->list[FSIM_ATTR_NORMALIZED_SHAPE];
    int n = l->present ? l->count : c->args > 1 ? fsim_arg(c, 1)->shape.rank : 1;
    if (n < 1 || n > s->rank)
        return fsim_refuse(c, "'normalized_shape' has %d dimensions, the tensor %d", n, s->rank);
    for (int i = 0; l->present && i < n; i++)
        if (l->at[i] != s->dim[s->rank - n + i])
            return fsim_refuse(c, "'normalized_shape' %lld is not the tensor's %lld", (long long)l->at[i],
                               (long long)s->dim[s->rank - n + i]);
    *dims = dims_of(s->rank - n, s->rank);
    return c->build->graph->batch || check_sides(c, n);
}

bool fsim_rule_layer_norm(fsim_call *c)
{
    fsim_list dims;
    return trailing(c, &dims) &&
           finish(c, normalised(c, c->arg[0], &dims, c->args > 1 ? c->arg[1] : -1, c->args > 2 ? c->arg[2] : -1));
}

bool fsim_rule_rms_norm(fsim_call *c)
{
    fsim_list dims;
    if (!trailing(c, &dims))
        return false;
    const int x = c->arg[0];
    const int mean = reduce(c, FSIM_OP_MEAN, "mean", binary(c, FSIM_OP_MUL, "square", x, x), &dims, true);
    const int rstd = unary(c, FSIM_OP_RSQRT, "rstd", scalar(c, FSIM_OP_ADD, "eps", mean, c->attrs.eps));
    const int y = binary(c, FSIM_OP_MUL, c->args > 1 ? "norm" : NULL, x, rstd);
    return finish(c, c->args > 1 ? like_x(c, FSIM_OP_MUL, NULL, y, c->arg[1]) : y);
}

/* A vector of channels viewed as [C, 1, ..., 1], so that it broadcasts over x[N, C, ...], which has `behind`
 * dimensions after the channels. */
static int channelwise(fsim_call *c, const char *step, int vector, int behind, int64_t channels)
{
    fsim_shape s = {.rank = 1 + behind, .dim = {channels, 1, 1, 1, 1, 1, 1, 1}};
    const fsim_tensor *t = &c->build->graph->tensor[vector];
    if (t->elems != channels) {
        fsim_refuse(c, "'%s' has %lld elements for %lld channels", t->name, (long long)t->elems, (long long)channels);
        return -1;
    }
    return behind == 0 ? vector : view(c, step, vector, &s);
}

/* The names of the results of a batch norm: y, the running mean and variance, and the batch's own mean and 1 / standard
 * deviation. */
enum { BN_Y, BN_MEAN, BN_VAR, BN_OWN_MEAN, BN_OWN_RSTD };

/* running (1 - momentum) + statistic momentum, as result `which`; a view of the statistic has the step's name. */
static bool moved_on(fsim_call *c, int which, const char *name, int running, int statistic, double momentum)
{
    fsim_arena *a = c->build->arena;
    const fsim_shape s = c->build->graph->tensor[running].shape;
    const int own = scalar(c, FSIM_OP_MUL, fsim_printf(a, "%s_part", name), view(c, name, statistic, &s), momentum);
    const int old = scalar(c, FSIM_OP_MUL, fsim_printf(a, "%s_old", name), running, 1 - c->attrs.momentum);
    fsim_step sum;
    fsim_step_start(&sum, c, FSIM_OP_ADD, NULL);
    sum.name = c->out[which];
    sum.call.typed = true;
    sum.call.type = c->build->graph->tensor[running].dtype;
    return (c->result[which] = fsim_step_end(&sum, 2, (int[2]){old, own})) >= 0;
}

/* The running statistics of a batch norm in training; the variance that runs is that of the population. */
static bool run_statistics(fsim_call *c, const moments *m, int64_t channels)
{
    const double n = (double)fsim_arg(c, 0)->elems / (double)channels, by = c->attrs.momentum;
    if (c->examples > 0)
        return fsim_refuse(c, "can't be mapped over the batch: running statistics are of all examples");
    if (c->args < 5 || c->outs == BN_VAR)
        return fsim_refuse(c,
                           "wants x, weight, bias, mean and variance, and under 'out' y and both running statistics");
    return moved_on(c, BN_MEAN, "batch_mean", c->arg[3], m->mean, by) &&
           moved_on(c, BN_VAR, "batch_var", c->arg[4], m->var, n > 1 ? by * n / (n - 1) : INFINITY);
}

/* Batch norm with the batch's own statistics. */
static bool trained(fsim_call *c, const fsim_list *dims, const int *side, int64_t channels)
{
    const fsim_shape vector = {.rank = 1, .dim = {channels}};
    moments m = moments_of(c, c->arg[0], dims);
    if (m.var < 0 || (c->outs > 1 && !run_statistics(c, &m, channels)) ||
        !finish(c, normalised_by(c, &m, side[1], side[2])))
        return false;
    for (int i = BN_OWN_MEAN; i < c->outs; i++)
        if ((c->result[i] = fsim_add_view(c->build, c->at, c->out[i], &vector, i == BN_OWN_MEAN ? m.mean : m.rstd, 0)) <
            0)
            return false;
    return true;
}

/* 1 / sqrt(var + eps), viewed as `like`. Of a buffer, which nothing changes while the model runs, it is a buffer too:
 * computed once, when the model is loaded. -1 after an error. */
static int deviation_of(fsim_call *c, int var, int like)
{
    fsim_graph *g = c->build->graph;
    const fsim_tensor *t = &g->tensor[g->tensor[var].storage];
    if (!t->buffer || !fsim_dtype_floating(t->dtype))
        return unary(c, FSIM_OP_RSQRT, "rstd", scalar(c, FSIM_OP_ADD, "eps", like, c->attrs.eps));
    const fsim_shape shape = g->tensor[like].shape;
    const int rstd =
        fsim_add_tensor(c->build, c->at, fsim_printf(c->build->arena, "%s/rstd", c->out[0]), &shape, t->dtype, t->role);
    if (rstd >= 0)
        g->tensor[rstd].buffer = g->tensor[rstd].detached = g->tensor[rstd].used = true;
    return rstd;
}

bool fsim_rule_batch_norm(fsim_call *c)
{
    const fsim_shape s = fsim_arg(c, 0)->shape;
    const int x = c->arg[0], first = c->examples > 0, channel = first + 1; /* x[N, C, ...], or x[examples, N, C, ...] */
    int side[5] = {x, -1, -1, -1, -1};
    static const char *const step[5] = {"", "weight", "bias", "mean_of", "var_of"};
    if (s.rank <= channel)
        return fsim_refuse(c, "wants x[N, C, ...]; found %s", fsim_shape_text(c->build->arena, &s));
    if (!c->attrs.training && c->args < 5) /* PyTorch refuses it too */
        return fsim_refuse(c, "has %d inputs; without 'training: true' wants x, weight, bias, mean and variance",
                           c->args);
    if (!c->attrs.training && c->outs > 1)
        return fsim_refuse(c, "has %d results; statistics are results with 'training: true'", c->outs);
    for (int i = 1; i < c->args; i++)
        if ((side[i] = channelwise(c, step[i], c->arg[i], s.rank - channel - 1, s.dim[channel])) < 0)
            return false;
    if (c->attrs.training) {
        fsim_list dims = dims_of(channel + 1, s.rank);
        dims.at[dims.count++] = first;
        return trained(c, &dims, side, s.dim[channel]);
    }
    const int centred = like_x(c, FSIM_OP_SUB, "centre", x, side[3]);
    const int rstd = deviation_of(c, c->arg[4], side[4]);
    const int scaled = like_x(c, FSIM_OP_MUL, "scale", like_x(c, FSIM_OP_MUL, "norm", centred, rstd), side[1]);
    return finish(c, like_x(c, FSIM_OP_ADD, NULL, scaled, side[2]));
}

/* Group norm: x[N, C, ...] viewed as [N, groups, C / groups, rest]; statistics over the last two. */
static bool grouped(fsim_call *c, int64_t groups)
{
    const fsim_shape s = fsim_arg(c, 0)->shape;
    if (s.rank < 2 || groups < 1 || s.dim[1] % groups != 0)
        return fsim_refuse(c, "%s does not divide into %lld groups of channels", fsim_shape_text(c->build->arena, &s),
                           (long long)groups);
    const int64_t per = s.dim[1] / groups, rest = fsim_elems(&s) / (s.dim[0] * s.dim[1]);
    const fsim_shape four = {.rank = 4, .dim = {s.dim[0], groups, per, rest}},
                     affine = {.rank = 3, .dim = {groups, per, 1}};
    const fsim_list dims = dims_of(2, 4);
    int side[3] = {-1, -1, -1};
    for (int i = 1; i < c->args; i++) {
        if (fsim_arg(c, i)->elems != s.dim[1])
            return fsim_refuse(c, "'%s' has %lld elements for %lld channels", fsim_arg(c, i)->name,
                               (long long)fsim_arg(c, i)->elems, (long long)s.dim[1]);
        side[i] = view(c, i == 1 ? "weight" : "bias", c->arg[i], &affine);
    }
    const char *name = c->out[0];
    const int x = view(c, "groups", c->arg[0], &four);
    const char *inner = fsim_printf(c->build->arena, "%s", name);
    fsim_call whole = *c;
    whole.out = &inner;
    const int y = x < 0 ? -1 : normalised(&whole, x, &dims, side[1], side[2]);
    if (y < 0)
        return false;
    /* same name, and the shape that the workload has for it */
    c->build->graph->tensor[y].shape = s;
    return finish(c, y);
}

bool fsim_rule_group_norm(fsim_call *c) { return grouped(c, c->attrs.groups); }

bool fsim_rule_instance_norm(fsim_call *c)
{
    const fsim_shape s = fsim_arg(c, 0)->shape;
    return s.rank < 2 ? fsim_refuse(c, "wants x[N, C, ...]; found %s", fsim_shape_text(c->build->arena, &s))
                      : grouped(c, s.dim[1]);
}

bool fsim_rule_normalize(fsim_call *c)
{
    const fsim_list dims = c->list[FSIM_ATTR_DIMS];
    const int norm = reduce(c, FSIM_OP_NORM, "norm", c->arg[0], &dims, true);
    const int safe = scalar(c, FSIM_OP_MAXIMUM, "safe", norm, c->attrs.eps);
    return finish(c, binary(c, FSIM_OP_DIV, NULL, c->arg[0], safe));
}
