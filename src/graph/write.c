/* SPDX-License-Identifier: Apache-2.0 */
/* write.c: the rules of writes into a part of a tensor: index_copy, index_add, index_put. By default they write in
 * place: the result is the tensor's own memory, only the rows that the index names are moved, and nobody may read the
 * old value afterwards (fsim_check_overwritten). */
#include "graph/build.h"

#include <string.h>

static const char *text_of(const fsim_call *call, const fsim_shape *s)
{
    return fsim_shape_text(call->build->arena, s);
}

static bool check_write(const fsim_call *call, int dim)
{
    const fsim_tensor *x = fsim_arg(call, 0), *index = fsim_arg(call, 1), *source = fsim_arg(call, 2);
    fsim_shape rows = x->shape;
    if (rows.rank > 0)
        rows.dim[dim] = index->elems;
    if (rows.rank < 1 || index->shape.rank > 1 || rows.rank != source->shape.rank ||
        memcmp(rows.dim, source->shape.dim, (size_t)rows.rank * sizeof *rows.dim) != 0)
        return fsim_refuse(call, "wants x, index[n], and a source of x's shape with n along 'dim'; found %s, %s and %s",
                           text_of(call, &x->shape), text_of(call, &index->shape), text_of(call, &source->shape));
    if (index->dtype == FSIM_BOOL || fsim_dtype_floating(index->dtype))
        return fsim_refuse(call, "the index '%s' is %s; wants integers", index->name, fsim_dtype_names[index->dtype]);
    return true;
}

/* The rows of x that a source of `elems` elements touches: `rows` of `run` neighbouring elements. */
static void touch_rows(fsim_access *x, int64_t elems, int64_t run, int64_t most)
{
    x->rows = elems / run;
    x->run = run;
    x->distinct = elems < most ? elems : most;
}

/* Turns the newest node, which reads every argument once, into a write in place: it computes as many points as the
 * source has elements, and reads of x nothing, or what it adds to. */
static bool in_place(fsim_call *call, int64_t run)
{
    fsim_graph *g = call->build->graph;
    fsim_node *n = &g->node[g->nodes - 1];
    const fsim_tensor *x = fsim_arg(call, 0), *source = fsim_arg(call, 2);
    fsim_tensor *result = &g->tensor[n->result[0]];
    if (x->elems != g->tensor[x->storage].elems)
        return fsim_refuse(call, "'%s' is a part of '%s': write into that one, or 'inplace: false'", x->name,
                           g->tensor[x->storage].name);
    n->points = source->elems;
    touch_rows(&n->arg[2], source->elems, run, source->elems);
    touch_rows(&n->arg[0], source->elems, run, x->elems);
    n->arg[0].any = (fsim_mode){x->elems / run, run};
    if (call->op == FSIM_OP_INDEX_ADD)
        n->arg[0].how = FSIM_READ_INDIRECT;
    else
        n->arg[0].distinct = 0;
    result->over = x->storage;
    result->written_bytes = n->arg[2].distinct * fsim_dtype_bytes(result->dtype);
    g->tensor[x->storage].overwritten = true;
    return true;
}

static bool written(fsim_call *call)
{
    const fsim_shape out = fsim_arg(call, 0)->shape;
    int dim;
    int64_t run = 1;
    if (!fsim_keep_dim(call, &dim) || !check_write(call, dim))
        return false;
    if (!call->attrs.inplace && call->op == FSIM_OP_INDEX_COPY)
        call->op = FSIM_OP_SCATTER;
    for (int d = dim + 1; d < out.rank; d++)
        run *= out.dim[d];
    return fsim_add_whole(call, &out) && (!call->attrs.inplace || in_place(call, run));
}

bool fsim_rule_index_copy(fsim_call *call) { return written(call); }
bool fsim_rule_index_add(fsim_call *call) { return written(call); }

/* A view of tensor t as [elems / rest, rest...]: its first `lead` dimensions in one. */
static int flattened(fsim_call *call, const char *step, int t, int lead)
{
    const fsim_tensor *x = &call->build->graph->tensor[t];
    fsim_shape s = {.rank = 1, .dim = {1}};
    for (int d = 0; d < x->shape.rank; d++)
        if (d < lead)
            s.dim[0] *= x->shape.dim[d];
        else
            s.dim[s.rank++] = x->shape.dim[d];
    return fsim_add_view(call->build, call->at, fsim_printf(call->build->arena, "%s/%s", call->out[0], step), &s, t, 0);
}

/* torch.index_put: x[i, j, ...] = values, or += with `accumulate`. */
bool fsim_rule_index_put(fsim_call *call)
{
    const int indices = call->args - 2, values = call->arg[call->args - 1], x = call->arg[0];
    const fsim_shape shape = fsim_arg(call, 0)->shape;
    if (indices > shape.rank)
        return fsim_refuse(call, "has %d indices for %d dimensions", indices, shape.rank);
    const int index = fsim_check_indices(call, indices) ? fsim_join_indices(call, indices, shape.dim) : -1;
    if (index < 0)
        return false;
    const fsim_shape at = call->build->graph->tensor[index].shape, from = call->build->graph->tensor[values].shape;
    bool fits = from.rank == at.rank + shape.rank - indices;
    for (int d = 0; d < from.rank && fits; d++)
        fits = from.dim[d] == (d < at.rank ? at.dim[d] : shape.dim[indices + d - at.rank]);
    if (!fits)
        return fsim_refuse(call, "wants values%s for index %s into x%s; found %s",
                           indices > 1 ? "" : "[index..., rest]", text_of(call, &at), text_of(call, &shape),
                           text_of(call, &from));
    fsim_step step;
    fsim_step_start(&step, call, call->attrs.accumulate ? FSIM_OP_INDEX_ADD : FSIM_OP_INDEX_COPY,
                    indices > 1 ? "rows" : NULL);
    step.call.attrs.inplace = call->attrs.inplace;
    step.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .whole = true, .count = 1, .at = {0}};
    const int result = fsim_step_end(&step, 3,
                                     (int[3]){flattened(call, "x", x, indices), flattened(call, "at", index, at.rank),
                                              flattened(call, "values", values, at.rank)});
    call->result[0] =
        result < 0 || indices == 1 ? result : fsim_add_view(call->build, call->at, call->out[0], &shape, result, 0);
    return call->result[0] >= 0;
}
