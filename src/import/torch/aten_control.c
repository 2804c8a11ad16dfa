/* SPDX-License-Identifier: Apache-2.0 */
/* aten_control.c: higher-order operators, whose bodies are graphs. Arguments have no names: they go by their order. */
#include "import/torch/aten.h"

#include <inttypes.h>

enum { MOST_TRIPS = 65536 };

/* The tensors of an argument that is one or a list. */
static int operands(fsim_aten *c, int which, fsim_torch_value ***list)
{
    fsim_aten one = *c;
    fsim_torch_node node = *c->node;
    *list = fsim_new(c->a, fsim_torch_value *, 1);
    if (which < 0 || which >= c->node->ins)
        return 0;
    fsim_torch_arg arg = c->node->in[which];
    arg.name = "it";
    node.in = &arg;
    node.ins = 1;
    one.node = &node;
    if (arg.kind == FSIM_TORCH_LIST)
        return fsim_aten_tensors(&one, "it", list);
    (*list)[0] = fsim_aten_tensor(&one, "it");
    return 1;
}

/* The nth graph among the arguments; NULL: none. */
static const fsim_torch_arg *body(const fsim_aten *c, int which)
{
    for (int i = 0; i < c->node->ins; i++)
        if (c->node->in[i].kind == FSIM_TORCH_GRAPH && which-- == 0)
            return &c->node->in[i];
    return NULL;
}

/* Runs a body; its operators come from "what/...". NULL after an error. */
static fsim_torch_value **run(fsim_aten *c, const fsim_torch_graph *g, int ins, fsim_torch_value *const *in)
{
    const char *former = fsim_torch_within(c->m, c->op);
    fsim_torch_value **out = NULL;
    if (!fsim_torch_run(c->m, g, ins, in, &out))
        out = NULL;
    fsim_draft_at(c->x, c->at);
    fsim_draft_source(c->x, c->node->layer, c->node->target);
    fsim_torch_within(c->m, NULL);
    fsim_torch_within(c->m, former);
    return out;
}

/* How many multiplications and elements a body has, roughly: which of two costs more. */
static double weight_of(const fsim_torch_graph *g) { return g->nodes; }

/* One branch is taken; which one, data say: the one with more operators. */
bool fsim_aten_op_cond(fsim_aten *c, const char *word)
{
    (void)word;
    const fsim_torch_arg *yes = body(c, 0), *no = body(c, 1);
    fsim_torch_value **in;
    const int ins = operands(c, c->node->ins - 1, &in);
    if (!yes || !no || ins < 0)
        return false;
    const bool first = weight_of(yes->graph) >= weight_of(no->graph);
    fsim_torch_value **out = run(c, first ? yes->graph : no->graph, ins, in);
    if (!out)
        return false;
    fsim_warning(c->d, fsim_draft_place(c->x), "which branch is taken, data say; the costs are those of '%s'",
                 first ? yes->text : no->text);
    for (int k = 0; k < c->outs; k++)
        fsim_aten_same(c, k, out[k]);
    return true;
}

/* Row t of x along its first dimension. */
static fsim_torch_value *row_of(fsim_aten *c, fsim_torch_value *x, int64_t t)
{
    fsim_shape s = {.rank = x->shape.rank - 1};
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = x->shape.dim[i + 1];
    x = fsim_aten_step(c, "select", FSIM_AS("row", &s, x->dtype), 1, &x);
    if (x) {
        fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){0});
        fsim_draft_int(c->x, "index", t);
    }
    return x;
}

/* Results of all trips, stacked along a new first dimension. */
static bool stacked(fsim_aten *c, int k, int count, fsim_torch_value **rows)
{
    if (count == 1)
        return fsim_aten_reshape(c, k, rows[0]);
    if (!fsim_aten_make(c, k, "stack", count, rows))
        return false;
    fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){0});
    return true;
}

typedef struct {
    const fsim_torch_graph *g;
    fsim_torch_value **carried, **over, **extra;
    int carries, overs, extras, ys;
    int64_t trips;
    fsim_torch_value ***y; /* of each result that is stacked, one a trip */
} loop;

/* All trips: carries and a row of each of `over` in, carries and ys out. */
static bool run_loop(fsim_aten *c, loop *l)
{
    const int ins = l->carries + l->overs + l->extras;
    fsim_torch_value **in = fsim_new(c->a, fsim_torch_value *, ins + 1);
    for (int64_t t = 0; t < l->trips; t++) {
        for (int i = 0; i < ins; i++) {
            const int row = i - l->carries, extra = row - l->overs;
            in[i] = row < 0 ? l->carried[i] : extra < 0 ? row_of(c, l->over[row], t) : l->extra[extra];
            if (!in[i])
                return false;
        }
        fsim_torch_value **out = run(c, l->g, ins, in);
        if (!out || l->g->outs < l->carries + l->ys)
            return false;
        for (int i = 0; i < l->carries; i++)
            l->carried[i] = out[i];
        for (int i = 0; i < l->ys; i++)
            l->y[i][t] = out[l->carries + i];
    }
    return true;
}

/* A loop over the first dimension of `over`. */
static bool repeated(fsim_aten *c, loop *l)
{
    l->ys = c->outs - l->carries;
    if (l->overs < 1 || !l->over[0] || l->over[0]->shape.rank < 1 || l->ys < 0)
        return false;
    l->trips = l->over[0]->shape.dim[0];
    if (l->trips < 1 || l->trips > MOST_TRIPS)
        return false;
    l->y = fsim_new(c->a, fsim_torch_value **, l->ys + 1);
    for (int i = 0; i < l->ys; i++)
        l->y[i] = fsim_new(c->a, fsim_torch_value *, l->trips);
    if (!run_loop(c, l))
        return false;
    for (int i = 0; i < l->carries; i++)
        fsim_aten_same(c, i, l->carried[i]);
    for (int i = 0; i < l->ys; i++)
        if (c->read[l->carries + i] && !stacked(c, l->carries + i, (int)l->trips, l->y[i]))
            return false;
    return true;
}

/* scan(body, carried, over, extra) */
bool fsim_aten_op_scan_body(fsim_aten *c, const char *word)
{
    (void)word;
    const fsim_torch_arg *b = body(c, 0);
    loop l = {.g = b ? b->graph : NULL};
    l.carries = operands(c, 1, &l.carried);
    l.overs = operands(c, 2, &l.over);
    l.extras = operands(c, 3, &l.extra);
    return b && l.carries >= 0 && l.overs >= 0 && l.extras >= 0 && repeated(c, &l);
}

/* map_impl(body, over, extra) */
bool fsim_aten_op_map_body(fsim_aten *c, const char *word)
{
    (void)word;
    const fsim_torch_arg *b = body(c, 0);
    loop l = {.g = b ? b->graph : NULL};
    l.overs = operands(c, 1, &l.over);
    l.extras = operands(c, 2, &l.extra);
    return b && l.overs >= 0 && l.extras >= 0 && repeated(c, &l);
}

/* while_loop(condition, body, carried, extra): how often it runs, data say; --dim while_loop=N may. */
bool fsim_aten_op_while_loop(fsim_aten *c, const char *word)
{
    (void)word;
    const fsim_torch_arg *b = body(c, 1);
    loop l = {.g = b ? b->graph : NULL};
    l.carries = operands(c, 2, &l.carried);
    l.extras = operands(c, 3, &l.extra);
    if (!b || l.carries < 0 || l.extras < 0)
        return false;
    l.trips = fsim_torch_given(c->m, "while_loop");
    if (l.trips < 0) {
        l.trips = 1;
        fsim_warning(c->d, fsim_draft_place(c->x),
                     "how often '%s' runs, data say; it is costed once: --dim while_loop=N says how often", b->text);
    }
    if (l.trips > MOST_TRIPS || !run_loop(c, &l))
        return false;
    for (int k = 0; k < c->outs && k < l.carries; k++)
        fsim_aten_same(c, k, l.carried[k]);
    return true;
}

/* A body under another setting (gradients, autocast): the operands follow it. */
bool fsim_aten_op_wrap(fsim_aten *c, const char *word)
{
    (void)word;
    const fsim_torch_arg *b = body(c, 0);
    fsim_torch_value **in = fsim_new(c->a, fsim_torch_value *, c->node->ins + 1), **some;
    int ins = 0;
    for (int i = 0; b && i < c->node->ins; i++) {
        const fsim_torch_kind kind = c->node->in[i].kind;
        if (&c->node->in[i] <= b || (kind != FSIM_TORCH_TENSOR && kind != FSIM_TORCH_LIST))
            continue;
        const int count = operands(c, i, &some);
        if (kind == FSIM_TORCH_TENSOR) {
            in[ins++] = some[0];
        } else if (ins == 0 && count >= 0) { /* hints_wrapper gives them as one list */
            in = some;
            ins = count;
        }
    }
    fsim_torch_value **out = b ? run(c, b->graph, ins, in) : NULL;
    if (!out)
        return false;
    for (int k = 0; k < c->outs && k < b->graph->outs; k++)
        fsim_aten_same(c, k, out[k]);
    return true;
}
