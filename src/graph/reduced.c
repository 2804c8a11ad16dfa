/* SPDX-License-Identifier: Apache-2.0 */
/* reduced.c: what the forward pass makes and gradients read, in fewer bits: it is cast to the narrow dtype (save/NAME),
 * and back (saved/NAME) where it is read. Both are ordinary primitives, so that the plan decides where they run: the
 * first in the kernel that makes the value, which then stores it narrow, or both in the one that reads it. What is read
 * of the steps inside an operator follows from what the operator reads, so that of a GELU its argument alone is saved.
 */
#include "graph/gradient.h"

#include <string.h>

enum { MOST_ARGS = 3 };

const char *const fsim_unreduced_texts[FSIM_UNREDUCED_COUNT] = {
    [FSIM_MAY_REDUCE] = "its gradient wants every bit",
    [FSIM_UNNAMED] = "it is not named",
    [FSIM_GIVEN] = "it is an input or a weight",
    [FSIM_NO_FLOAT] = "it is no float",
    [FSIM_NARROW] = "it has no more bits",
    [FSIM_MOVED] = "it is written over in place",
    [FSIM_OPERAND] = "a product of the backward pass reads it as it is",
    [FSIM_STATISTIC] = "it is a sum or a maximum, or made of such",
    [FSIM_INNER] = "it is a step of an operator",
    [FSIM_OF_BACKWARD] = "it is a step of a gradient"};

/* Is it what the pattern says, where a * stands for any letters? */
static bool matches(const char *pattern, const char *name)
{
    if (*pattern == '*')
        return matches(pattern + 1, name) || (*name && matches(pattern, name + 1));
    return *pattern == *name && (!*pattern || matches(pattern + 1, name + 1));
}

static bool is_named(const fsim_save_dtype *save, const char *name)
{
    for (int i = 0; i < save->names; i++)
        if (matches(save->name[i], name))
            return true;
    return false;
}

/* An error for each name that no tensor has. */
static bool check_names(const fsim_derivation *d)
{
    const fsim_save_dtype *save = d->how->save;
    const char **names = fsim_new(d->build->arena, const char *, d->tensors + 1);
    bool good = true;
    for (int t = 0; t < d->tensors; t++)
        names[t] = d->build->graph->tensor[t].name;
    for (int i = 0; i < save->names; i++) {
        bool found = false;
        for (int t = 0; t < d->tensors && !found; t++)
            found = matches(save->name[i], names[t]);
        if (!found)
            fsim_failure(d->build->diag, FSIM_BAD_INPUT, (fsim_loc){0}, "--save-dtype: no tensor '%s'%s", save->name[i],
                         fsim_did_you_mean(d->build->arena, save->name[i], names, d->tensors));
        good = good && found;
    }
    return good;
}

/* The result of a reduction, or what is made elementwise of nothing else. */
static void mark_statistics(const fsim_derivation *d, bool *is)
{
    const fsim_graph *g = d->build->graph;
    for (int t = 0; t < d->tensors; t++) {
        const fsim_tensor *x = &g->tensor[t];
        if (x->storage != t || x->producer < 0)
            continue;
        const fsim_node *n = &g->node[x->producer];
        bool all = n->args > 0;
        for (int i = 0; i < n->args; i++)
            all = all && (is[n->arg[i].tensor] || g->tensor[n->arg[i].tensor].elems == 1);
        is[t] = fsim_ops[n->op].class == FSIM_REDUCE || (fsim_ops[n->op].class == FSIM_ELEMENTWISE && all);
    }
}

/* A step of a composite that is not its result. */
static bool is_step(const fsim_graph *g, const fsim_tensor *x)
{
    const fsim_node *n = &g->node[x->producer];
    const fsim_source *s = &g->source[n->source];
    return n->results == 1 && !n->effect && n->args <= MOST_ARGS && fsim_ops[n->op].class == FSIM_ELEMENTWISE &&
           x->producer < s->first + s->nodes - 1;
}

/* Operands whose partner has a gradient: that is a product with them. */
static void mark_operands(const fsim_derivation *d, bool *is)
{
    const fsim_build *b = d->build;
    for (int i = 0; i < b->records; i++) {
        const fsim_record *r = &b->record[i];
        for (int k = 0; k < r->args && fsim_ops[r->op].class == FSIM_CONTRACTION; k++)
            for (int o = 0; o < r->args; o++)
                if (o != k && d->useful[r->arg[o]])
                    is[b->graph->tensor[r->arg[k]].storage] = true;
    }
}

bool fsim_start_reduced(fsim_derivation *d)
{
    const fsim_save_dtype *save = d->how->save;
    fsim_arena *a = d->build->arena;
    if (!save)
        return true;
    bool *statistic = fsim_new(a, bool, d->tensors + 1), *operand = fsim_new(a, bool, d->tensors + 1);
    d->unreduced = fsim_new(a, signed char, d->tensors + 1);
    d->build->graph->unreduced = d->unreduced;
    mark_statistics(d, statistic);
    mark_operands(d, operand);
    for (int t = 0; t < d->tensors; t++) {
        const fsim_tensor *x = &d->build->graph->tensor[d->build->graph->tensor[t].storage];
        const int s = x->storage;
        const bool named = is_named(save, x->name);
        d->unreduced[t] = x->producer < 0                                               ? FSIM_GIVEN
                          : !fsim_dtype_floating(x->dtype)                              ? FSIM_NO_FLOAT
                          : fsim_dtype_bytes(x->dtype) <= fsim_dtype_bytes(save->dtype) ? FSIM_NARROW
                          : x->over >= 0 || x->overwritten                              ? FSIM_MOVED
                          : named                                                       ? FSIM_MAY_REDUCE
                          : operand[s]                                                  ? FSIM_OPERAND
                          : statistic[s]                                                ? FSIM_STATISTIC
                          : is_step(d->build->graph, x)                                 ? FSIM_INNER
                          : save->names > 0                                             ? FSIM_UNNAMED
                                                                                        : FSIM_MAY_REDUCE;
    }
    return check_names(d);
}

static int rounded_before(const fsim_derivation *d, int t)
{
    for (int i = 0; i < d->roundeds; i++)
        if (d->rounded[i].tensor == t)
            return d->rounded[i].rounded;
    return -1;
}

static int cast(fsim_derivation *d, int t, fsim_dtype dtype, const char *name)
{
    fsim_step step;
    fsim_derive_start(d, &step, FSIM_OP_CAST);
    d->steps[d->towards]--; /* it is named otherwise */
    step.name = name;
    step.call.attrs.dtype = dtype;
    const fsim_value v = fsim_derive_end(d, &step, 1, &t);
    return v.is == FSIM_TENSOR ? v.tensor : -1;
}

/* "save/h", and of the second copy that the backward pass makes "save.2/h". */
static const char *numbered(const fsim_derivation *d, const char *prefix, int count, const char *name)
{
    return count > 1 ? fsim_printf(d->build->arena, "%s.%d/%s", prefix, count, name)
                     : fsim_printf(d->build->arena, "%s/%s", prefix, name);
}

/* How many tensors there will be that stand for this one. */
static int copies_of(const fsim_derivation *d, int own)
{
    int count = 1;
    for (int i = 0; i < d->roundeds; i++)
        count +=
            d->rounded[i].own == own && d->build->graph->tensor[d->rounded[i].tensor].storage == d->rounded[i].tensor;
    return count;
}

/* Storage s, which is `own` in the workload, to fewer bits and back. */
static int round_whole(fsim_derivation *d, int own, int s)
{
    fsim_graph *g = d->build->graph;
    const char *name = g->tensor[own].name;
    const fsim_dtype dtype = g->tensor[own].dtype;
    const int count = copies_of(d, own);
    const int narrow = cast(d, s, d->how->save->dtype, numbered(d, "save", count, name));
    if (narrow < 0)
        return -1;
    g->node[g->tensor[narrow].producer].rounds = true;
    if (s == own)
        g->tensor[narrow].reduces = own;
    return cast(d, narrow, dtype, numbered(d, "saved", count, name));
}

static fsim_value as_saved(fsim_derivation *d, int own, int t);

/* A step inside an operator from what is saved of its arguments; t itself where all of these are as they are. */
static int step_again(fsim_derivation *d, int own, int t)
{
    const fsim_record *r = d->own->result == own ? d->own : &d->build->record[d->build->graph->tensor[own].producer];
    int arg[MOST_ARGS];
    bool same = true;
    for (int i = 0; i < r->args; i++) {
        const int now = fsim_read_again(d, r->arg[i]);
        const fsim_value v = as_saved(d, r->arg[i], now);
        if (v.is != FSIM_TENSOR)
            return -1;
        arg[i] = v.tensor;
        same = same && v.tensor == now;
    }
    return same ? t
                : fsim_repeat(d, r, own, arg,
                              numbered(d, "saved", copies_of(d, own), d->build->graph->tensor[own].name));
}

/* t, which is `own` in the workload. */
static fsim_value as_saved(fsim_derivation *d, int own, int t)
{
    const fsim_graph *g = d->build->graph;
    const bool step = d->unreduced[own] == FSIM_INNER;
    if (t < 0 || (d->unreduced[own] != FSIM_MAY_REDUCE && !step))
        return fsim_value_of(t);
    const int before = rounded_before(d, t), s = g->tensor[t].storage;
    if (before >= 0)
        return fsim_value_of(before);
    int made;
    if (s == t) {
        made = step ? step_again(d, g->tensor[own].storage, t) : round_whole(d, g->tensor[own].storage, t);
    } else {
        const fsim_tensor x = g->tensor[t];
        const fsim_value whole = as_saved(d, g->tensor[own].storage, s);
        made = whole.is != FSIM_TENSOR ? -1
               : whole.tensor == s     ? t
                                       : fsim_add_view(d->build, x.at, fsim_printf(d->build->arena, "saved/%s", x.name),
                                                       &x.shape, whole.tensor, x.offset);
    }
    if (made >= 0)
        *FSIM_PUSH(d->build->arena, d->rounded, d->roundeds, d->rounded_room) =
            (fsim_rounded){t, g->tensor[own].storage, made};
    return fsim_value_of(made);
}

fsim_value fsim_as_saved(fsim_derivation *d, const fsim_record *r, int i)
{
    const int t = i < 0 ? r->result : r->arg[i];
    return d->unreduced ? as_saved(d, i < 0 ? d->own->result : d->own->arg[i], t) : fsim_value_of(t);
}
