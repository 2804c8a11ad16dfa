/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h: what the expansions of composites are written with: expand.c, and expand_norm.c for norms. */
#ifndef FUSESIM_GRAPH_STEPS_H
#define FUSESIM_GRAPH_STEPS_H

#include "graph/build.h"

/* The steps that composites are made of: an operator of one or two arguments, named OUT/step, or OUT where step is
 * NULL. */
static inline int unary(fsim_call *c, fsim_op op, const char *step, int x) { return fsim_emit(c, op, step, 1, &x); }

static inline int binary(fsim_call *c, fsim_op op, const char *step, int x, int y)
{
    return fsim_emit(c, op, step, 2, (int[2]){x, y});
}

/* The same with a result of x's dtype: a norm's parameters, tables of sines and masks do not change what they work on.
 */
static inline int like_x(fsim_call *c, fsim_op op, const char *name, int x, int y)
{
    fsim_step step;
    if (x < 0)
        return -1;
    fsim_step_start(&step, c, op, name);
    step.call.typed = true;
    step.call.type = c->build->graph->tensor[x].dtype;
    return fsim_step_end(&step, 2, (int[2]){x, y});
}

static inline int scalar(fsim_call *c, fsim_op op, const char *name, int x, double value)
{
    fsim_step step;
    fsim_step_start(&step, c, op, name);
    fsim_set_attr(&step.call, FSIM_ATTR_SCALAR, value);
    return fsim_step_end(&step, 1, &x);
}

/* dims NULL: all dimensions. */
static inline int reduce(fsim_call *c, fsim_op op, const char *name, int x, const fsim_list *dims, bool keepdim)
{
    fsim_step step;
    fsim_step_start(&step, c, op, name);
    if (dims)
        step.call.list[FSIM_ATTR_DIMS] = *dims;
    step.call.attrs.keepdim = keepdim;
    return fsim_step_end(&step, 1, &x);
}

static inline bool finish(fsim_call *c, int result)
{
    c->result[0] = result;
    return result >= 0;
}

static inline int view(fsim_call *c, const char *step, int x, const fsim_shape *shape)
{
    if (x < 0)
        return -1;
    return fsim_add_view(c->build, c->at, step ? fsim_printf(c->build->arena, "%s/%s", c->out[0], step) : c->out[0],
                         shape, x, 0);
}

static inline fsim_list dims_of(int from, int to)
{
    fsim_list l = {.present = true};
    for (int d = from; d < to; d++)
        l.at[l.count++] = d;
    return l;
}

#endif
