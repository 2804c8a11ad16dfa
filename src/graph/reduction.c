/* SPDX-License-Identifier: Apache-2.0 */
/* reduction.c: the rules of reductions, scans and sorts, of communication and custom calls. */
#include "graph/build.h"

/* An index counts along one dimension, or over all elements in order. */
static bool check_indexed(const fsim_call *call)
{
    const fsim_list *dims = &call->list[FSIM_ATTR_DIMS];
    const bool arg = call->op == FSIM_OP_ARGMAX || call->op == FSIM_OP_ARGMIN;
    if (call->build->graph->batch) /* all of an example are dimensions behind that of the batch */
        return true;
    if (call->outs == 2 && (!dims->present || dims->count != 1))
        return fsim_refuse(call, "with indices as its second result wants one 'dim'");
    return !arg || !dims->present || dims->count == 1 || fsim_refuse(call, "wants one 'dim', or none for all elements");
}

bool fsim_rule_reduce(fsim_call *call)
{
    const fsim_tensor *t = fsim_arg(call, 0);
    const fsim_shape in = t->shape;
    const fsim_list *dims = &call->list[FSIM_ATTR_DIMS];
    int64_t stride[FSIM_MAX_RANK], reduced = 1;
    unsigned along = 0;
    fsim_shape out = {0};
    fsim_map m = {.offset = t->offset};
    fsim_row_major(&in, stride);
    if (!check_indexed(call))
        return false;
    for (int i = 0; i < dims->count; i++) {
        int d;
        if (!fsim_wrap_dim(call, in.rank, dims->at[i], &d))
            return false;
        if (along & 1u << d)
            return fsim_refuse(call, "dimension %d is reduced twice", d);
        along |= 1u << d;
    }
    if (!dims->present || dims->count == 0)
        along = (1u << in.rank) - 1;
    for (int d = 0; d < in.rank; d++) {
        if (along & 1u << d)
            reduced *= in.dim[d];
        else
            fsim_map_push(&m, in.dim[d], stride[d]);
        if (!(along & 1u << d) || call->attrs.keepdim)
            out.dim[out.rank++] = along & 1u << d ? 1 : in.dim[d];
    }
    m.split = m.modes;
    for (int d = 0; d < in.rank; d++)
        if (along & 1u << d)
            fsim_map_push(&m, in.dim[d], stride[d]);
    fsim_node *n = fsim_add_node(call, &out, reduced);
    if (!n)
        return false;
    n->arg[0].map = fsim_map_simplify(m);
    n->dtype = fsim_arg(call, 0)->dtype;
    return fsim_add_result(call, n, &out, FSIM_I64);
}

bool fsim_rule_scan(fsim_call *call)
{
    const fsim_shape out = fsim_arg(call, 0)->shape;
    int dim;
    return fsim_keep_dim(call, &dim) && fsim_add_whole(call, &out);
}

/* Boundaries. */

bool fsim_rule_sort(fsim_call *call)
{
    const fsim_shape out = fsim_arg(call, 0)->shape;
    int dim;
    return fsim_keep_dim(call, &dim) && fsim_add_whole(call, &out) &&
           fsim_add_result(call, &call->build->graph->node[call->build->graph->nodes - 1], &out, FSIM_I64);
}

bool fsim_rule_topk(fsim_call *call)
{
    fsim_shape out = fsim_arg(call, 0)->shape;
    int dim;
    if (!fsim_keep_dim(call, &dim))
        return false;
    if (call->attrs.k < 1 || call->attrs.k > (out.rank ? out.dim[dim] : 1))
        return fsim_refuse(call, "k is %lld; dimension %d has %lld", (long long)call->attrs.k, dim,
                           (long long)(out.rank ? out.dim[dim] : 1));
    if (out.rank)
        out.dim[dim] = call->attrs.k;
    return fsim_add_whole(call, &out) &&
           fsim_add_result(call, &call->build->graph->node[call->build->graph->nodes - 1], &out, FSIM_I64);
}

bool fsim_rule_communicate(fsim_call *call)
{
    fsim_shape out = {0};
    if (call->args)
        out = fsim_arg(call, 0)->shape;
    if (call->list[FSIM_ATTR_SHAPE].present && !fsim_shape_from(call, FSIM_ATTR_SHAPE, &out))
        return false;
    const int64_t devices = call->list[FSIM_ATTR_SIZE].count ? call->list[FSIM_ATTR_SIZE].at[0] : 1;
    const int first = call->examples > 0; /* the dimension that all-gather and reduce-scatter change */
    if (out.rank > first && !call->list[FSIM_ATTR_SHAPE].present && devices > 1) {
        int64_t *rows = &out.dim[first];
        if (call->op == FSIM_OP_ALL_GATHER)
            *rows *= devices <= FSIM_MAX_DIM / *rows ? devices : FSIM_MAX_DIM;
        if (call->op == FSIM_OP_REDUCE_SCATTER) {
            if (*rows % devices != 0)
                return fsim_refuse(call, "%lld rows do not divide over %lld devices", (long long)*rows,
                                   (long long)devices);
            *rows /= devices;
        }
    }
    if (!call->args && !call->list[FSIM_ATTR_SHAPE].present)
        return fsim_refuse(call, "wants 'shape' where it has no input");
    call->effect = true;
    return fsim_add_whole(call, &out);
}

bool fsim_rule_custom(fsim_call *call)
{
    fsim_shape out = {0};
    if (call->args)
        out = fsim_arg(call, 0)->shape;
    if (call->list[FSIM_ATTR_SHAPE].present && !fsim_shape_from(call, FSIM_ATTR_SHAPE, &out))
        return false;
    if (!call->args && !call->list[FSIM_ATTR_SHAPE].present)
        return fsim_refuse(call, "wants 'shape' where it has no input");
    if (!fsim_add_whole(call, &out))
        return false;
    fsim_node *n = &call->build->graph->node[call->build->graph->nodes - 1];
    n->flops = call->attrs.flops;
    n->instructions = call->attrs.instructions;
    return true;
}
