/* SPDX-License-Identifier: Apache-2.0 */
/* autocast.c: --autocast: casts in front of operators, by PyTorch's lists. A tensor is cast once, however many
 * operators read it: torch.autocast keeps the casts of weights so, and makes those of other tensors again. */
#include "graph/reader.h"

typedef enum { AS_GIVEN, LOW, FULL, INSIDE, WIDEST } treatment;

static const treatment treatments[FSIM_OP_COUNT] = {
#define FSIM_AUTOCAST(id, what) [FSIM_OP_##id] = what,
#include "graph/autocast.def"
#undef FSIM_AUTOCAST
};

/* The dtype that the call wants tensor t in. */
static fsim_dtype wanted(const fsim_call *c, treatment how, fsim_dtype low, const fsim_tensor *t)
{
    fsim_dtype widest = t->dtype;
    if (!fsim_dtype_floating(t->dtype) || t->dtype == FSIM_F64 || fsim_dtype_bytes(t->dtype) < 2)
        return t->dtype;
    for (int i = 0; how == WIDEST && i < c->args; i++)
        if (fsim_dtype_floating(fsim_arg(c, i)->dtype))
            widest = fsim_dtype_promote(widest, fsim_arg(c, i)->dtype);
    return how == LOW ? low : how == WIDEST ? widest : FSIM_F32;
}

/* A cast that belongs to source `source`. Returns the tensor; -1 after an error. */
static int cast(fsim_reader *r, const fsim_call *c, int t, fsim_dtype dtype, const char *name, int source)
{
    const char *out[] = {name};
    fsim_call of = {.build = c->build, .op = FSIM_OP_CAST, .at = c->at, .source = source, .out = out, .outs = 1};
    fsim_step step;
    fsim_step_start(&step, &of, FSIM_OP_CAST, NULL);
    step.call.attrs.dtype = dtype;
    const int result = fsim_step_end(&step, 1, &t);
    if (result < 0)
        return -1;
    r->graph->tensor[result].mapped = r->graph->tensor[t].mapped;
    return result;
}

/* An operator of its own, made for the first that wants it. */
static int cast_before(fsim_reader *r, const fsim_call *c, int t, fsim_dtype dtype)
{
    fsim_graph *g = r->graph;
    const char *name = fsim_printf(r->arena, "%s/%s", fsim_dtype_names[dtype], g->tensor[t].name);
    const int known = fsim_names_get(&r->casts, name), first = g->nodes;
    if (known >= 0)
        return known;
    if (!fsim_claim_name(r, name, c->at, "what --autocast makes"))
        return -1;
    const int result = cast(r, c, t, dtype, name, g->sources);
    if (result < 0)
        return -1;
    fsim_names_set(r->arena, &r->casts, name, result);
    *FSIM_PUSH(r->arena, g->source, g->sources, r->build.source_room) = (fsim_source){
        .op = FSIM_OP_CAST, .name = name, .first = first, .nodes = g->nodes - first, .at = c->at, .gradient_of = -1};
    if (r->build.recording) {
        int *arg = fsim_new(r->arena, int, 2);
        arg[0] = t;
        arg[1] = result;
        *FSIM_PUSH(r->arena, g->operation, g->operations, r->build.operation_room) =
            (fsim_operation){FSIM_OP_CAST, 1, &arg[0], 1, &arg[1], {.dtype = dtype}};
    }
    return result;
}

bool fsim_autocast(fsim_reader *r, fsim_call *c, bool inside)
{
    const treatment how = treatments[c->op];
    const fsim_dtype low = r->build.autocast;
    if (low == FSIM_DTYPE_NONE || how == AS_GIVEN || (how == INSIDE) != inside)
        return true;
    for (int i = 0; i < c->args; i++) {
        const fsim_tensor *t = fsim_arg(c, i);
        const fsim_dtype dtype = wanted(c, how, low, t);
        if (dtype == t->dtype)
            continue;
        c->arg[i] = inside ? cast(r, c, c->arg[i], dtype, fsim_printf(r->arena, "%s/in/%d", c->out[0], i), c->source)
                           : cast_before(r, c, c->arg[i], dtype);
        if (c->arg[i] < 0)
            return false;
    }
    c->source = r->graph->sources;
    return true;
}
