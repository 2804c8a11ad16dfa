/* SPDX-License-Identifier: Apache-2.0 */
/* wanted.c: which tensors want a derivative, and what is said where one can have none. */
#include "graph/gradient.h"

#include <string.h>

static const char *const words[] = {"all", "weights"};
enum { WORDS = sizeof words / sizeof *words };

bool fsim_may_want(const fsim_tensor *t) { return fsim_dtype_floating(t->dtype) && !t->detached; }

static const char *nearest(fsim_derivation *d, const char *name)
{
    int count = 0;
    const char **names = fsim_new(d->build->arena, const char *, d->names->slots + WORDS);
    for (int w = 0; w < WORDS; w++)
        names[count++] = words[w];
    for (int s = 0; s < d->names->slots; s++)
        if (d->names->name[s])
            names[count++] = d->names->name[s];
    return fsim_did_you_mean(d->build->arena, name, names, count);
}

/* What is wrong with a name of --grad; NULL: nothing. */
static const char *wrong_with(fsim_derivation *d, const char *name)
{
    fsim_arena *a = d->build->arena;
    const int t = fsim_names_get(d->names, name);
    const bool prefixed = strncmp(name, "grad/", 5) == 0 || strncmp(name, "dot/", 4) == 0;
    for (int w = 0; w < WORDS; w++)
        if (t < 0 && strcmp(name, words[w]) == 0)
            return fsim_printf(a, "'%s' stands alone, not in a list with names", name);
    if (t < 0 && prefixed && fsim_names_get(d->names, strchr(name, '/') + 1) >= 0)
        return fsim_printf(a, "name the tensor itself, '%s', not its gradient", strchr(name, '/') + 1);
    if (t < 0 && name[0] == '\0')
        return "a name is empty: a comma too many?";
    if (t < 0)
        return fsim_printf(a, "no tensor '%s'%s", name, nearest(d, name));
    const fsim_tensor *x = &d->build->graph->tensor[t];
    if (!fsim_may_want(x))
        return fsim_printf(a, "'%s' is %s, which has no gradient", name,
                           x->detached ? "a statistic, or has 'grad: false'" : fsim_dtype_names[x->dtype]);
    return NULL;
}

static bool want_named(fsim_derivation *d)
{
    bool good = true;
    for (int i = 0; i < d->how->names; i++) {
        const char *wrong = wrong_with(d, d->how->name[i]);
        if (wrong)
            fsim_failure(d->build->diag, FSIM_BAD_INPUT, (fsim_loc){0}, "--grad: %s", wrong);
        else {
            const int t = fsim_names_get(d->names, d->how->name[i]);
            d->wanted[d->build->graph->tensor[t].storage] = true;
        }
        good = good && !wrong;
    }
    return good;
}

bool fsim_mark_wanted(fsim_derivation *d)
{
    if (d->how->want == FSIM_WANT_NAMED)
        return want_named(d);
    for (int t = 0; t < d->tensors; t++) {
        const fsim_tensor *x = &d->build->graph->tensor[t];
        d->wanted[t] = x->producer < 0 && x->storage == t && x->role != FSIM_MADE && fsim_may_want(x) && x->used &&
                       (x->role == FSIM_WEIGHT || d->how->want == FSIM_WANT_ALL);
    }
    return true;
}

/* Of an output: a derivative reaches it. */
static bool reached(const fsim_derivation *d, int t)
{
    const fsim_tensor *x = &d->build->graph->tensor[t];
    return x->output && x->storage == t && d->useful[t];
}

/* The first primitive behind which nothing depends on what is wanted any more; -1: none. */
static int last_useful(const fsim_derivation *d)
{
    const fsim_graph *g = d->build->graph;
    for (int n = 0; n < g->nodes; n++) {
        const fsim_node *x = &g->node[n];
        bool useful = false;
        for (int k = 0; k < x->args; k++)
            useful = useful || d->useful[g->tensor[x->arg[k].tensor].storage];
        if (useful && !d->useful[g->tensor[x->result[0]].storage])
            return n;
    }
    return -1;
}

/* Behind what: ": it ends at quantize 'a' (round)". */
static const char *where_it_ends(const fsim_derivation *d)
{
    const fsim_graph *g = d->build->graph;
    const int n = last_useful(d);
    if (n < 0)
        return "";
    const fsim_source *s = &g->source[g->node[n].source];
    return fsim_printf(d->build->arena, ": it ends at %s '%s'%s", fsim_ops[s->op].name, s->name,
                       s->nodes > 1 ? fsim_printf(d->build->arena, " (%s)", fsim_ops[g->node[n].op].name) : "");
}

/* Why nothing has a derivative. */
static const char *why_none(const fsim_derivation *d)
{
    const fsim_graph *g = d->build->graph;
    bool wanted = false;
    for (int t = 0; t < d->tensors; t++)
        wanted = wanted || d->wanted[t];
    if (!wanted && d->how->want == FSIM_WANT_WEIGHTS)
        return "no tensor that is read is a float with 'role: weight'";
    if (!wanted)
        return "no input or weight that is read is a float";
    for (int t = 0; t < d->tensors; t++)
        if (g->tensor[t].output && fsim_dtype_floating(g->tensor[t].dtype))
            return fsim_printf(d->build->arena, "no output depends on what is wanted in a way that has a derivative%s",
                               where_it_ends(d));
    return "no output is a float";
}

/* Sums of gradients, and steps along them, have more bits than 8: a weight of 8 bits has neither. */
static bool has_narrow_weight(fsim_derivation *d)
{
    const bool updates = d->how->update != FSIM_NO_UPDATE, sums = d->how->micro_batches > 1;
    bool found = false;
    for (int t = 0; t < d->tensors && (updates || sums); t++) {
        const fsim_tensor *x = &d->build->graph->tensor[t];
        if (!d->wanted[t] || x->role != FSIM_WEIGHT || !fsim_is_float8(x->dtype))
            continue;
        fsim_error(d->build->diag, x->at,
                   "%s: weight '%s' is %s, too few bits for it: a weight of bf16 or f32 that is cast in front of its "
                   "products is trained in 8 bits, as --precision f8 has it",
                   updates ? "--optimizer" : "--micro-batches", x->name, fsim_dtype_names[x->dtype]);
        found = true;
    }
    return found;
}

bool fsim_is_derivable(fsim_derivation *d)
{
    fsim_diag *diag = d->build->diag;
    if (has_narrow_weight(d))
        return false;
    const char *option = d->how->mode == FSIM_TANGENTS ? "--jvp" : "--train";
    for (int t = 0; t < d->tensors; t++)
        if (reached(d, t))
            return true;
    fsim_failure(diag, FSIM_BAD_INPUT, (fsim_loc){0}, "%s: nothing has a derivative: %s",
                 d->how->want == FSIM_WANT_WEIGHTS ? "--grad weights" : option, why_none(d));
    return false;
}

/* Has `t` a reader through which an output depends on it? One that is given its gradient has not. */
static bool has_gradient(const fsim_derivation *d, int t)
{
    const fsim_graph *g = d->build->graph;
    for (int i = 0; i < g->gradients; i++)
        if (g->gradient[i].of == t)
            return !g->tensor[g->gradient[i].tensor].after_outputs;
    return false;
}

/* What is said of a tensor that --grad names and that has no gradient. */
static const char *without(const fsim_derivation *d, const char *name)
{
    const int t = fsim_names_get(d->names, name), s = d->build->graph->tensor[t].storage;
    if (has_gradient(d, s))
        return NULL;
    return fsim_printf(d->build->arena,
                       d->build->graph->tensor[s].output
                           ? "--grad: '%s' is an output that nothing else is computed from: its gradient is given"
                           : "--grad: no output depends on '%s' in a way that has a derivative",
                       name);
}

bool fsim_have_gradients(fsim_derivation *d)
{
    const int names = d->how->want == FSIM_WANT_NAMED ? d->how->names : 0;
    bool any = names == 0;
    for (int i = 0; i < names; i++)
        any = any || !without(d, d->how->name[i]);
    for (int i = 0; i < names; i++) {
        const char *say = without(d, d->how->name[i]);
        if (say && any)
            fsim_warning(d->build->diag, (fsim_loc){0}, "%s", say);
        else if (say)
            fsim_failure(d->build->diag, FSIM_BAD_INPUT, (fsim_loc){0}, "%s", say);
    }
    return any;
}
