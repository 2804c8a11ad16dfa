/* SPDX-License-Identifier: Apache-2.0 */
/* index.c: several indices as one: torch's x[i, :, j], and the index that index_put writes at. */
#include "graph/build.h"

#include <string.h>

static int scaled(fsim_call *call, int x, int64_t by)
{
    fsim_step step;
    fsim_step_start(&step, call, FSIM_OP_MUL, "row");
    fsim_set_attr(&step.call, FSIM_ATTR_SCALAR, (double)by);
    return fsim_step_end(&step, 1, &x);
}

int fsim_join_indices(fsim_call *call, int indices, const int64_t *length)
{
    int at = call->arg[1];
    for (int i = 1; i < indices && at >= 0; i++)
        at = fsim_emit(call, FSIM_OP_ADD, i + 1 < indices ? "at" : "index", 2,
                       (int[2]){scaled(call, at, length[i]), call->arg[1 + i]});
    return at;
}

bool fsim_check_indices(const fsim_call *call, int indices)
{
    for (int i = 1; i <= indices; i++) {
        const fsim_tensor *at = fsim_arg(call, i);
        const bool mask = at->dtype == FSIM_BOOL || at->dtype == FSIM_U8;
        if (mask || fsim_dtype_floating(at->dtype))
            return fsim_refuse(call, "the index '%s' is %s%s; wants integers", at->name, fsim_dtype_names[at->dtype],
                               mask ? ", a mask: write 'where' or 'masked_fill'" : "");
    }
    return true;
}

/* Which dimensions of x the indices are for, in ascending order; batch: x has a dimension in front that numbers the
 * examples, and stays in front. */
typedef struct {
    fsim_shape x;
    int count, dim[FSIM_MAX_RANK], batch;
    bool neighbours;
} indexed;

static bool read_dims(const fsim_call *call, indexed *of)
{
    const fsim_list *l = &call->list[FSIM_ATTR_DIMS];
    of->x = fsim_arg(call, 0)->shape;
    of->count = call->args - 1;
    of->batch = call->examples > 0;
    of->neighbours = true;
    if (l->present && l->count != of->count)
        return fsim_refuse(call, "'dim' names %d dimensions for %d indices", l->count, of->count);
    if (of->count > of->x.rank - of->batch)
        return fsim_refuse(call, "has %d indices for %d dimensions", of->count, of->x.rank - of->batch);
    for (int i = 0; i < of->count; i++) {
        of->dim[i] = i;
        if (l->present && !fsim_wrap_dim(call, of->x.rank, l->at[i], &of->dim[i]))
            return false;
        if (i > 0 && of->dim[i] <= of->dim[i - 1])
            return fsim_refuse(call, "'dim' wants dimensions in ascending order, each once");
        of->neighbours = of->neighbours && (i == 0 || of->dim[i] == of->dim[i - 1] + 1);
    }
    return fsim_check_indices(call, of->count);
}

/* x with the dimensions that are indexed in front, behind the batch. Changes `of` to match. */
static int with_indexed_first(fsim_call *call, indexed *of)
{
    fsim_step step;
    fsim_list order = {.present = true};
    const fsim_shape old = of->x;
    bool taken[FSIM_MAX_RANK] = {[0] = of->batch > 0};
    if (of->batch)
        order.at[order.count++] = 0;
    for (int i = 0; i < of->count; i++) {
        taken[of->dim[i]] = true;
        order.at[order.count++] = of->dim[i];
        of->dim[i] = of->batch + i;
    }
    for (int d = 0; d < old.rank; d++)
        if (!taken[d])
            order.at[order.count++] = d;
    for (int d = 0; d < old.rank; d++)
        of->x.dim[d] = old.dim[order.at[d]];
    fsim_step_start(&step, call, FSIM_OP_PERMUTE, "turned");
    step.call.list[FSIM_ATTR_DIMS] = order;
    return fsim_step_end(&step, 1, call->arg);
}

/* x's shape with the indexed dimensions replaced by those of `at`. */
static bool in_place_of(const fsim_call *call, const indexed *of, const fsim_shape *at, fsim_shape *out)
{
    const int first = of->dim[0];
    *out = of->x;
    if (of->x.rank - of->count + at->rank > FSIM_MAX_RANK)
        return fsim_refuse(call, "the result has more than %d dimensions", FSIM_MAX_RANK);
    out->rank = first;
    for (int d = 0; d < at->rank; d++)
        out->dim[out->rank++] = at->dim[d];
    for (int d = first + of->count; d < of->x.rank; d++)
        out->dim[out->rank++] = of->x.dim[d];
    return true;
}

static int view(fsim_call *call, const char *step, int x, const fsim_shape *shape)
{
    const char *name = step ? fsim_printf(call->build->arena, "%s/%s", call->out[0], step) : call->out[0];
    return x < 0 ? -1 : fsim_add_view(call->build, call->at, name, shape, x, 0);
}

/* torch.index: the dimensions that are indexed become those of the indices; those that do not stand side by side go in
 * front. */
bool fsim_rule_index(fsim_call *call)
{
    indexed of;
    int64_t length[FSIM_MAX_RANK], joined = 1;
    fsim_shape wide, out;
    if (!read_dims(call, &of))
        return false;
    const int x = of.neighbours ? call->arg[0] : with_indexed_first(call, &of);
    for (int i = 0; i < of.count; i++)
        joined *= length[i] = of.x.dim[of.dim[i]];
    const int index = x < 0 ? -1 : fsim_join_indices(call, of.count, length);
    if (index < 0)
        return false;
    const fsim_shape at = call->build->graph->tensor[index].shape, line = {.rank = 1, .dim = {fsim_elems(&at)}};
    if (joined > FSIM_MAX_DIM || !in_place_of(call, &of, &(fsim_shape){.rank = 1, .dim = {joined}}, &wide) ||
        !in_place_of(call, &of, &at, &out))
        return joined <= FSIM_MAX_DIM
                   ? false
                   : fsim_refuse(call, "the indexed dimensions have %lld elements", (long long)joined);
    fsim_step step;
    fsim_step_start(&step, call, FSIM_OP_INDEX_SELECT, at.rank == 1 ? NULL : "rows");
    step.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {of.dim[0]}};
    const int rows = fsim_step_end(&step, 2,
                                   (int[2]){of.count == 1 ? x : view(call, "joined", x, &wide),
                                            at.rank == 1 ? index : view(call, "line", index, &line)});
    call->result[0] = at.rank == 1 ? rows : view(call, NULL, rows, &out);
    return call->result[0] >= 0;
}
