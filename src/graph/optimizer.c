/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c: the update of the weights, as PyTorch's optimizers compute it. All weights of one dtype are one list,
 * and each step goes through a list as one row of elements: state is a tensor for each list, and weights and gradients
 * are read where they lie. A source is what PyTorch launches as one call of torch._foreach; a plan may fuse any of
 * them. */
#include "graph/gradient.h"

#include <math.h>

const char *const fsim_update_words[FSIM_UPDATES] = {"none", "sgd", "momentum", "adam", "adamw"};

/* What torch.optim takes where nothing is said (2.15); momentum, which is 0 there, is that of its examples. Bias is
 * corrected as in step STEP: the arithmetic is the same in each. */
enum { STEP = 1000 };
static const double learning_rate = 1e-3, momentum = 0.9, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 1e-2;
/* torch.nn.utils.clip_grad_norm_ */
static const double clip_eps = 1e-6;
/* Elements of a list, so that the number of one fits 32 bits. */
#define LIST_MOST ((int64_t)1 << 31)

/* Weights whose updates are computed together. */
typedef struct {
    int count, room, *weight, *gradient;
    fsim_dtype dtype; /* of weights and gradients */
    int64_t elems;
    const char *suffix; /* of the names of its state: "" of the first list */
    int master;         /* the weights in f32, where they are kept beside those of 16 bits; -1 */
    int flat;           /* its gradients as one tensor, where a step has changed them; -1 */
} list;

typedef struct {
    fsim_build *b;
    const fsim_names *names;
    const fsim_derive *how;
    list *list;
    int lists, room;
    int finite; /* a bool: are all gradients numbers, so that the step is taken? -1: it is in any case */
    int keeps;  /* the same as 1 or 0; -1: nobody asked yet */
    int listed; /* tensors in the list that steps go through; 0: they are steps of single numbers */
    bool good;
} update;

/* Steps. */

/* What follows is one call that goes through a list; NULL: that computes single numbers. */
static void begin(update *u, const list *l, const char *call)
{
    const char *name = fsim_printf(u->b->arena, "%s%s", call, l ? l->suffix : "");
    u->listed = l ? l->count : 0;
    fsim_graph *g = u->b->graph;
    *FSIM_PUSH(u->b->arena, g->source, g->sources, u->b->source_room) =
        (fsim_source){.op = FSIM_OP_ADD, .name = name, .first = g->nodes, .phase = FSIM_OPTIMIZER, .gradient_of = -1};
}

static void start(update *u, fsim_call *c, fsim_op op, const char *const *name, int *result)
{
    *c = (fsim_call){.build = u->b, .op = op, .source = u->b->graph->sources - 1, .outs = 1, .result = result};
    c->out = (const char **)name;
    c->attrs.dtype = c->attrs.compute = FSIM_DTYPE_NONE;
    c->attrs.listed = u->listed;
    fsim_default_attrs(c);
}

/* Runs the call's rule. -1 after an error. */
static int end(update *u, fsim_call *c, int args, int *arg)
{
    fsim_graph *g = u->b->graph;
    fsim_source *s = &g->source[c->source];
    for (int i = 0; i < args; i++)
        u->good = u->good && arg[i] >= 0;
    c->args = args;
    c->arg = arg;
    if (!u->good || !fsim_ops[c->op].rule(c)) {
        u->good = false;
        return -1;
    }
    s->nodes = g->nodes - s->first;
    s->op = c->op;
    return c->result[0];
}

/* An error where a tensor of the workload has the name. */
static const char *claim(update *u, const char *name)
{
    const int t = fsim_names_get(u->names, name);
    if (t >= 0) {
        fsim_error(u->b->diag, u->b->graph->tensor[t].at, "'%s' is a name of the optimizer's: it wants another", name);
        u->good = false;
    }
    return name;
}

static const char *step_name(update *u)
{
    const fsim_graph *g = u->b->graph;
    const fsim_source *s = &g->source[g->sources - 1];
    return claim(u, fsim_printf(u->b->arena, "%s/%d", s->name, g->nodes - s->first + 1));
}

static int of_one(update *u, fsim_op op, int x)
{
    const char *name = step_name(u);
    fsim_call c;
    int result;
    start(u, &c, op, &name, &result);
    return end(u, &c, 1, &x);
}

static int of_two(update *u, fsim_op op, int x, int y)
{
    const char *name = step_name(u);
    fsim_call c;
    int result;
    start(u, &c, op, &name, &result);
    return end(u, &c, 2, (int[2]){x, y});
}

static int with_number(update *u, fsim_op op, int x, double number)
{
    const char *name = step_name(u);
    fsim_call c;
    int result;
    start(u, &c, op, &name, &result);
    fsim_set_attr(&c, FSIM_ATTR_SCALAR, number);
    return end(u, &c, 1, &x);
}

static int as_dtype(update *u, int x, fsim_dtype dtype)
{
    const char *name = step_name(u);
    fsim_call c;
    int result;
    if (x < 0 || u->b->graph->tensor[x].dtype == dtype)
        return x;
    start(u, &c, FSIM_OP_CAST, &name, &result);
    c.attrs.dtype = dtype;
    return end(u, &c, 1, &x);
}

/* The sum of all elements, or another reduction, as a tensor of one. */
static int reduced(update *u, fsim_op op, int x)
{
    const char *name = step_name(u);
    fsim_call c;
    int result;
    start(u, &c, op, &name, &result);
    c.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1};
    c.attrs.keepdim = true;
    return end(u, &c, 1, &x);
}

/* t takes the memory of what it was made of. */
static int renewed(update *u, int t)
{
    if (t >= 0)
        u->b->graph->tensor[t].renews = true;
    return t;
}

/* now, or where the step is not taken, old; old -1: 0. */
static int taken(update *u, int now, int old)
{
    const char *name = step_name(u);
    fsim_call c;
    int result;
    if (u->finite < 0)
        return now;
    start(u, &c, FSIM_OP_WHERE, &name, &result);
    c.list[FSIM_ATTR_OTHER].present = old < 0;
    return end(u, &c, old < 0 ? 2 : 3, (int[3]){u->finite, now, old});
}

/* x times a number, in place; where the step is not taken, x. */
static int shrunk(update *u, int x, double factor)
{
    if (u->finite < 0)
        return renewed(u, with_number(u, FSIM_OP_MUL, x, factor));
    const int listed = u->listed;
    u->listed = 0;
    if (u->keeps < 0)
        u->keeps = as_dtype(u, u->finite, FSIM_F32);
    const int by = with_number(u, FSIM_OP_ADD, with_number(u, FSIM_OP_MUL, u->keeps, factor - 1), 1);
    u->listed = listed;
    return renewed(u, of_two(u, FSIM_OP_MUL, x, by));
}

/* Tensors as one row of elements. */
static int as_row(update *u, const list *l, const int *tensor)
{
    const char *name = step_name(u);
    int *view = fsim_new(u->b->arena, int, l->count), result;
    fsim_call c;
    for (int i = 0; i < l->count; i++) {
        const fsim_tensor *t = &u->b->graph->tensor[tensor[i]];
        const fsim_shape row = {.rank = 1, .dim = {t->elems}};
        view[i] = fsim_add_view(u->b, t->at, fsim_printf(u->b->arena, "%s/%d", name, i), &row, tensor[i], 0);
    }
    start(u, &c, FSIM_OP_CONCAT, &name, &result);
    return end(u, &c, l->count, view);
}

/* Names. */

static const char *name_of(update *u, const char *folder, const char *what, const list *l)
{
    return claim(u, fsim_printf(u->b->arena, "%s/%s%s", folder, what, l->suffix));
}

/* State of the optimizer, which an element of the list has one of, in f32. */
static int state(update *u, const char *what, const list *l)
{
    const fsim_shape row = {.rank = 1, .dim = {l->elems}};
    const int t = fsim_add_tensor(u->b, (fsim_loc){0}, name_of(u, "state", what, l), &row,
                                  l->dtype == FSIM_F64 ? FSIM_F64 : FSIM_F32, FSIM_INPUT);
    if (t >= 0)
        u->b->graph->tensor[t].used = true;
    u->good = u->good && t >= 0;
    return t;
}

/* t is the new state or the new weights. */
static int kept(update *u, int t, const char *what, const list *l)
{
    fsim_graph *g = u->b->graph;
    if (t < 0)
        return t;
    fsim_tensor *x = &g->tensor[renewed(u, t)];
    x->name = g->node[x->producer].name = name_of(u, "next", what, l);
    x->used = x->output = true;
    return t;
}

/* Lists. */

static void add_to_list(update *u, const fsim_gradient *x)
{
    const fsim_graph *g = u->b->graph;
    const fsim_tensor *w = &g->tensor[x->of];
    int k = 0;
    while (k < u->lists && (u->list[k].dtype != w->dtype || u->list[k].elems + w->elems > LIST_MOST))
        k++;
    if (k == u->lists)
        *FSIM_PUSH(u->b->arena, u->list, u->lists, u->room) = (list){
            .dtype = w->dtype, .suffix = k ? fsim_printf(u->b->arena, "/%d", k + 1) : "", .master = -1, .flat = -1};
    list *l = &u->list[k];
    int count = l->count, room = l->room;
    *FSIM_PUSH(u->b->arena, l->weight, count, room) = x->of;
    *FSIM_PUSH(u->b->arena, l->gradient, l->count, l->room) = x->tensor;
    l->elems += w->elems;
}

static int gradients_of(update *u, const list *l)
{
    const int row = l->flat >= 0 ? l->flat : as_row(u, l, l->gradient);
    return as_dtype(u, row, l->dtype == FSIM_F64 ? FSIM_F64 : FSIM_F32);
}

static int weights_of(update *u, const list *l) { return l->master >= 0 ? l->master : as_row(u, l, l->weight); }

/* torch.amp.GradScaler: takes the scale of the loss out of all gradients, and looks whether they are numbers. */
static void unscale(update *u)
{
    int all = -1;
    for (int k = 0; k < u->lists && u->good; k++) {
        list *l = &u->list[k];
        begin(u, l, "amp/unscale");
        const int g = gradients_of(u, l);
        const int good = reduced(u, FSIM_OP_MIN, of_one(u, FSIM_OP_ISFINITE, g));
        l->flat = renewed(u, with_number(u, FSIM_OP_MUL, g, 1 / FSIM_LOSS_SCALE));
        u->listed = 0;
        all = all < 0 ? good : of_two(u, FSIM_OP_LOGICAL_AND, all, good);
    }
    u->finite = all;
}

/* torch.nn.utils.clip_grad_norm_: all gradients, times what brings their norm down to the limit. */
static void clip(update *u)
{
    int all = -1;
    for (int k = 0; k < u->lists; k++) {
        begin(u, &u->list[k], "clip/norm");
        const int g = gradients_of(u, &u->list[k]), part = reduced(u, FSIM_OP_SUM, of_two(u, FSIM_OP_MUL, g, g));
        u->listed = 0;
        all = all < 0 ? part : of_two(u, FSIM_OP_ADD, all, part);
    }
    begin(u, NULL, "clip/factor");
    const int norm = with_number(u, FSIM_OP_ADD, of_one(u, FSIM_OP_SQRT, all), clip_eps);
    const int ratio = with_number(u, FSIM_OP_MUL, of_one(u, FSIM_OP_RECIPROCAL, norm), u->how->clip),
              factor = with_number(u, FSIM_OP_MINIMUM, ratio, 1);
    for (int k = 0; k < u->lists && u->good; k++) {
        list *l = &u->list[k];
        begin(u, l, "clip/scale");
        l->flat = renewed(u, of_two(u, FSIM_OP_MUL, gradients_of(u, l), factor));
    }
}

/* Updates, for one list each. Each returns the new weights. */

/* x + factor * y. */
static int added(update *u, int x, int y, double factor)
{
    return of_two(u, FSIM_OP_ADD, x, with_number(u, FSIM_OP_MUL, y, factor));
}

static int sgd(update *u, const list *l)
{
    begin(u, l, "sgd/add");
    const int w = weights_of(u, l);
    return taken(u, added(u, w, gradients_of(u, l), -learning_rate), w);
}

static int with_momentum(update *u, const list *l)
{
    const int old = state(u, "momentum", l);
    begin(u, l, "sgd/mul");
    const int less = shrunk(u, old, momentum);
    begin(u, l, "sgd/momentum");
    const int now = kept(u, of_two(u, FSIM_OP_ADD, less, taken(u, gradients_of(u, l), -1)), "momentum", l);
    begin(u, l, "sgd/add");
    const int w = weights_of(u, l);
    return taken(u, added(u, w, now, -learning_rate), w);
}

/* The mean of gradients: m + (1 - beta1) * (g - m). */
static int first_moment(update *u, const list *l)
{
    const int m = state(u, "m", l);
    begin(u, l, "adam/lerp");
    const int now = added(u, m, of_two(u, FSIM_OP_SUB, gradients_of(u, l), m), 1 - beta1);
    return kept(u, taken(u, now, m), "m", l);
}

/* The mean of their squares. */
static int second_moment(update *u, const list *l)
{
    const int v = state(u, "v", l);
    begin(u, l, "adam/mul");
    const int less = shrunk(u, v, beta2);
    begin(u, l, "adam/addcmul");
    const int g = taken(u, gradients_of(u, l), -1);
    return kept(u, added(u, less, of_two(u, FSIM_OP_MUL, g, g), 1 - beta2), "v", l);
}

static int adam_of(update *u, const list *l, double less)
{
    int w = -1;
    if (less > 0) {
        begin(u, l, "adam/decay");
        w = shrunk(u, weights_of(u, l), 1 - learning_rate * less);
    }
    const int m = first_moment(u, l), v = second_moment(u, l);
    begin(u, l, "adam/sqrt");
    const int root = of_one(u, FSIM_OP_SQRT, v);
    begin(u, l, "adam/div");
    const int corrected = with_number(u, FSIM_OP_DIV, root, sqrt(1 - pow(beta2, STEP)));
    begin(u, l, "adam/add");
    const int divisor = with_number(u, FSIM_OP_ADD, corrected, eps);
    begin(u, l, "adam/addcdiv");
    const int old = w < 0 ? weights_of(u, l) : w;
    const int now = added(u, old, of_two(u, FSIM_OP_DIV, m, divisor), -learning_rate / (1 - pow(beta1, STEP)));
    return taken(u, now, old);
}

static int adam(update *u, const list *l) { return adam_of(u, l, 0); }
static int adamw(update *u, const list *l) { return adam_of(u, l, decay); }

static int (*const updates[FSIM_UPDATES])(update *u, const list *l) = {
    [FSIM_SGD] = sgd, [FSIM_MOMENTUM] = with_momentum, [FSIM_ADAM] = adam, [FSIM_ADAMW] = adamw};

/* New weights of a list; those of 16 bits are rounded from weights in f32. */
static void update_list(update *u, list *l)
{
    const bool rounds = l->dtype != FSIM_F32 && l->dtype != FSIM_F64;
    l->master = rounds ? state(u, "master", l) : -1;
    const int now = updates[u->how->update](u, l);
    if (!rounds) {
        kept(u, now, "weights", l);
        return;
    }
    kept(u, now, "master", l);
    begin(u, l, "master/copy");
    kept(u, as_dtype(u, now, l->dtype), "weights", l);
}

bool fsim_update_weights(fsim_build *b, const fsim_names *names, const fsim_derive *how)
{
    update u = {.b = b, .names = names, .how = how, .finite = -1, .keeps = -1, .good = true};
    if (how->update == FSIM_NO_UPDATE)
        return true;
    b->phase = FSIM_OPTIMIZER;
    for (int i = 0; i < b->graph->gradients; i++)
        if (b->graph->tensor[b->graph->gradient[i].of].role == FSIM_WEIGHT)
            add_to_list(&u, &b->graph->gradient[i]);
    if (u.lists == 0) {
        fsim_failure(b->diag, FSIM_BAD_INPUT, (fsim_loc){0}, "--optimizer %s: no weight has a gradient%s",
                     fsim_update_words[how->update],
                     how->want == FSIM_WANT_NAMED ? ": --grad names none"
                                                  : ": a weight is a tensor with 'role: weight'");
        return false;
    }
    if (fsim_scales_loss(how))
        unscale(&u);
    if (how->clip > 0)
        clip(&u);
    for (int k = 0; k < u.lists && u.good; k++)
        update_list(&u, &u.list[k]);
    return u.good;
}
