/* SPDX-License-Identifier: Apache-2.0 */
/* control.c: If takes the branch that its condition names; Loop and Scan are unrolled, as often as they run. */
#include "import/onnx/import.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_TRIPS = 4096 };

static bool run_graph(fsim_onnx_call *c, fsim_onnx_scope *s, const fsim_onnx_graph *g)
{
    const char **out = fsim_new(c->a, const char *, g->outs + 1);
    for (int i = 0; i < g->outs; i++)
        out[i] = g->out[i].name;
    return fsim_onnx_run(c->m, s, g->node, g->nodes, g->outs, out);
}

/* Result k of a graph that ran. */
static fsim_operand *result_of(fsim_onnx_call *c, fsim_onnx_scope *s, const fsim_onnx_graph *g, int k)
{
    fsim_operand *v = fsim_onnx_scope_get(c->m, s, g->out[k].name);
    if (!v)
        fsim_onnx_refuse(c, "nothing makes the result '%s' of its graph", g->out[k].name);
    return v;
}

static fsim_onnx_scope *inner_scope(fsim_onnx_call *c, const fsim_onnx_graph *g)
{
    fsim_onnx_scope *s = fsim_onnx_scope_new(c->m, c->m->scope);
    return fsim_onnx_scope_graph(c->m, s, g) ? s : NULL;
}

bool fsim_onnx_op_if(fsim_onnx_call *c)
{
    const fsim_operand *condition = fsim_onnx_need(c, 0);
    const fsim_onnx_graph *holds = fsim_onnx_graph_of(c, "then_branch"), *fails = fsim_onnx_graph_of(c, "else_branch");
    double is;
    if (!condition)
        return false;
    if (!fsim_onnx_number_of(condition, &is)) {
        is = !fails || (holds && holds->nodes >= fails->nodes);
        fsim_warning(c->d, fsim_draft_place(c->x),
                     "the condition of an If is data: counted is the branch of more nodes, which is taken where it %s",
                     is != 0 ? "holds" : "does not hold");
    }
    const fsim_onnx_graph *g = is != 0 ? holds : fails;
    fsim_onnx_scope *s = g ? inner_scope(c, g) : NULL;
    if (!g || g->outs < c->outs)
        return fsim_onnx_refuse(c, g ? "its branch has too few results" : "a branch is missing");
    if (!s || !run_graph(c, s, g))
        return false;
    for (int k = 0; k < c->outs; k++)
        if (fsim_onnx_wants(c, k) && !(c->out[k] = result_of(c, s, g, k)))
            return false;
    return true;
}

/* Loops. */

/* What the passes have collected of one result, each pass one. */
typedef struct {
    fsim_operand **at;
    int count, room;
} passes;

/* A number as a value. */
static fsim_operand *number(fsim_onnx_call *c, int64_t n, fsim_dtype dtype)
{
    int64_t *at = fsim_new(c->a, int64_t, 1);
    *at = n;
    return fsim_onnx_new_ints(c, &(fsim_shape){0}, dtype, at);
}

/* Known results of all passes: known as a whole. */
static bool stack_known(fsim_onnx_call *c, const passes *p, const fsim_shape *shape, const int64_t **ints)
{
    const int64_t each = fsim_onnx_elems(p->at[0]);
    *ints = NULL;
    for (int i = 0; i < p->count; i++)
        if (!p->at[i]->ints)
            return false;
    if (fsim_elems(shape) > FSIM_ONNX_KNOWN_MAX)
        return false;
    int64_t *all = fsim_new(c->a, int64_t, fsim_elems(shape) + 1);
    for (int i = 0; i < p->count; i++)
        memcpy(all + i * each, p->at[i]->ints, (size_t)each * sizeof *all);
    *ints = all;
    return true;
}

/* Output k: the passes' results along a new dimension. */
static bool stack(fsim_onnx_call *c, int k, const passes *p, int axis)
{
    const int64_t *ints;
    if (!fsim_onnx_wants(c, k))
        return true;
    if (p->count == 0)
        return fsim_onnx_refuse(c, "it does not run even once");
    fsim_operand *first = p->at[0];
    fsim_shape to = {.rank = first->shape.rank + 1};
    if (to.rank > FSIM_MAX_RANK || axis >= to.rank)
        return fsim_onnx_refuse(c, "its result has too many dimensions");
    for (int i = 0; i < to.rank; i++)
        to.dim[i] = i == axis ? p->count : first->shape.dim[i - (i > axis)];
    for (int i = 1; i < p->count; i++)
        if (memcmp(&p->at[i]->shape, &first->shape, sizeof first->shape) != 0)
            return fsim_onnx_refuse(c, "its passes make results of different shapes");
    if (axis == 0 && stack_known(c, p, &to, &ints))
        return fsim_onnx_set_ints(c, k, &to, first->dtype, ints);
    if (!fsim_onnx_make(c, k, "stack", &to, first->dtype, FSIM_LIST(p->count, p->at)))
        return false;
    fsim_onnx_put_int(c, "dim", axis);
    return true;
}

typedef struct {
    const fsim_onnx_graph *body;
    fsim_operand **carried; /* values that a pass hands to the next */
    passes *collected;      /* results that are collected */
    int carries, collects;
    int64_t trips;        /* -1: until the condition fails */
    int64_t wanted_trips; /* by --dim, for where data decides; -1: none */
} loop;

static bool loop_pass(fsim_onnx_call *c, loop *l, int64_t pass, fsim_operand **condition)
{
    fsim_onnx_scope *s = inner_scope(c, l->body);
    const fsim_onnx_graph *g = l->body;
    if (!s || !fsim_onnx_scope_set(c->m, s, g->in[0].name, number(c, pass, FSIM_I64)) ||
        !fsim_onnx_scope_set(c->m, s, g->in[1].name, *condition))
        return false;
    for (int i = 0; i < l->carries; i++)
        if (!fsim_onnx_scope_set(c->m, s, g->in[2 + i].name, l->carried[i]))
            return false;
    if (!run_graph(c, s, g) || !(*condition = result_of(c, s, g, 0)))
        return false;
    for (int i = 0; i < l->carries; i++)
        if (!(l->carried[i] = result_of(c, s, g, 1 + i)))
            return false;
    for (int i = 0; i < l->collects; i++) {
        fsim_operand *v = result_of(c, s, g, 1 + l->carries + i);
        if (!v)
            return false;
        *FSIM_PUSH(c->a, l->collected[i].at, l->collected[i].count, l->collected[i].room) = v;
    }
    return true;
}

/* Does the loop go on? Where the condition is data it is taken to hold as often as --dim says, else as long as a trip
 * count says so, else once. */
static bool goes_on(const loop *l, int64_t pass, const fsim_operand *condition)
{
    double holds = 1;
    const bool known = fsim_onnx_number_of(condition, &holds), counts = l->trips >= 0;
    if ((known && holds == 0) || (counts && pass >= l->trips))
        return false;
    if (!known && l->wanted_trips >= 0)
        return pass < l->wanted_trips;
    return counts || known || pass == 0;
}

/* How often the loop runs by the shape that the file states for what it collects; -1: it does not say. */
static int64_t stated_trips(const fsim_onnx_call *c, const loop *l)
{
    fsim_shape shape;
    for (int k = l->carries; k < c->outs; k++)
        if (fsim_onnx_stated(c->m, fsim_onnx_stated_type(c, k), &shape) && shape.rank > 0)
            return shape.dim[0];
    return -1;
}

/* The name under which --dim says how often the loop runs: its first result and "passes". */
static const char *passes_of(const fsim_onnx_call *c)
{
    int k = 0;
    while (k + 1 < c->outs && !*c->node->out[k])
        k++;
    return fsim_printf(c->a, "%s:passes", c->outs > 0 ? c->node->out[k] : "");
}

/* Where the trip count is data: by --dim, by what the file states, once. */
static int64_t assumed_trips(fsim_onnx_call *c, const loop *l)
{
    const int64_t n = l->wanted_trips >= 0 ? l->wanted_trips : stated_trips(c, l);
    if (n >= 0)
        return n;
    fsim_warning(c->d, fsim_draft_place(c->x),
                 "how often a Loop runs is data: counted is one pass; --dim %s=N says how often", passes_of(c));
    return 1;
}

static bool prepare_loop(fsim_onnx_call *c, loop *l)
{
    const fsim_operand *trips = fsim_onnx_in(c, 0);
    double n = -1; /* until the condition fails, as exporters say by a count that no loop reaches */
    l->body = fsim_onnx_graph_of(c, "body");
    l->carries = c->ins > 2 ? c->ins - 2 : 0;
    if (!l->body)
        return fsim_onnx_refuse(c, "its body is missing");
    l->collects = l->body->outs - 1 - l->carries;
    if (l->body->ins != 2 + l->carries || l->collects < 0 || c->outs > l->body->outs - 1)
        return fsim_onnx_refuse(c, "its body has %d inputs and %d results for %d values that are carried", l->body->ins,
                                l->body->outs, l->carries);
    if (!fsim_draft_given(c->m->x, passes_of(c), &l->wanted_trips))
        l->wanted_trips = -1;
    if (trips && !fsim_onnx_number_of(trips, &n))
        l->trips = assumed_trips(c, l);
    else
        l->trips = n < 0 || n >= INT32_MAX ? -1 : (int64_t)n;
    if (l->trips > MAX_TRIPS)
        return fsim_onnx_refuse(c, "it runs %" PRId64 " times; at most %d passes are unrolled", l->trips, MAX_TRIPS);
    l->carried = fsim_new(c->a, fsim_operand *, l->carries + 1);
    l->collected = fsim_new(c->a, passes, l->collects + 1);
    for (int i = 0; i < l->carries; i++)
        if (!(l->carried[i] = fsim_onnx_need(c, 2 + i)))
            return false;
    return true;
}

bool fsim_onnx_op_loop(fsim_onnx_call *c)
{
    loop l = {0};
    const int64_t outer = c->m->trips;
    const fsim_loc at = fsim_draft_place(c->x); /* passes move it */
    if (!prepare_loop(c, &l))
        return false;
    fsim_operand *condition = fsim_onnx_in(c, 1) ? fsim_onnx_in(c, 1) : number(c, 1, FSIM_BOOL);
    bool good = true, data = false;
    int run = 0; /* passes */
    c->m->trips = l.trips < 0 ? l.wanted_trips : l.trips;
    for (int64_t pass = 0; good && goes_on(&l, pass, condition); pass++) {
        if (pass >= MAX_TRIPS)
            good = fsim_onnx_refuse(c, "it runs on after %d passes, which are all that are unrolled", MAX_TRIPS);
        else
            good = loop_pass(c, &l, pass, &condition);
        run++;
        data = data || !fsim_onnx_known(condition);
    }
    c->m->trips = outer;
    if (good && data && l.wanted_trips < 0)
        fsim_warning(c->d, at, "the condition of a Loop is data: counted %s %d pass%s; --dim %s=N says how many",
                     run == 1 ? "is" : "are", run, run == 1 ? "" : "es", passes_of(c));
    for (int i = 0; good && i < l.carries; i++)
        if (fsim_onnx_wants(c, i))
            c->out[i] = l.carried[i];
    for (int i = 0; good && i < l.collects; i++)
        good = stack(c, l.carries + i, &l.collected[i], 0);
    return good;
}

/* Scan. */

typedef struct {
    const fsim_onnx_graph *body;
    fsim_operand **state, **from; /* from: what is scanned */
    int states, scanned, collected;
    int64_t length;
    int *axis;
    bool *backwards;
} scan;

/* An entry of an optional list of axes or directions. */
static int64_t entry(const int64_t *list, int count, int i) { return list && i < count ? list[i] : 0; }

static bool prepare_scan(fsim_onnx_call *c, scan *s)
{
    int axes, directions;
    const int64_t *axis = fsim_onnx_ints(c, "scan_input_axes", &axes),
                  *direction = fsim_onnx_ints(c, "scan_input_directions", &directions);
    const int64_t scanned = fsim_onnx_int(c, "num_scan_inputs", 0);
    s->body = fsim_onnx_graph_of(c, "body");
    if (!s->body || scanned < 1 || scanned > c->ins || s->body->ins != c->ins || s->body->outs < c->outs)
        return fsim_onnx_refuse(c, "its body does not fit its inputs and outputs");
    s->scanned = (int)scanned;
    s->states = c->ins - s->scanned;
    s->collected = s->body->outs - s->states;
    s->state = fsim_new(c->a, fsim_operand *, s->states + 1);
    s->from = fsim_new(c->a, fsim_operand *, s->scanned);
    s->axis = fsim_new(c->a, int, s->scanned);
    s->backwards = fsim_new(c->a, bool, s->scanned);
    for (int i = 0; i < c->ins; i++)
        if (!fsim_onnx_need(c, i))
            return false;
    for (int i = 0; i < s->states; i++)
        s->state[i] = c->in[i];
    for (int i = 0; i < s->scanned; i++) {
        s->from[i] = c->in[s->states + i];
        s->backwards[i] = entry(direction, directions, i) != 0;
        if (!fsim_onnx_axis(c, entry(axis, axes, i), s->from[i]->shape.rank, &s->axis[i]))
            return false;
        const int64_t length = s->from[i]->shape.dim[s->axis[i]];
        if (i > 0 && length != s->length)
            return fsim_onnx_refuse(c, "it scans %" PRId64 " and %" PRId64 " elements", s->length, length);
        s->length = length;
    }
    if (s->collected < 0 || s->length > MAX_TRIPS || s->length < 1)
        return fsim_onnx_refuse(c, "it runs %" PRId64 " times; 1 to %d passes are unrolled", s->length, MAX_TRIPS);
    return true;
}

/* Element `at` of what is scanned. */
static fsim_operand *scanned_at(fsim_onnx_call *c, const scan *s, int i, int64_t at)
{
    fsim_operand *x = s->from[i];
    fsim_shape to = {.rank = x->shape.rank - 1};
    for (int k = 0; k < to.rank; k++)
        to.dim[k] = x->shape.dim[k + (k >= s->axis[i])];
    fsim_operand *v = fsim_onnx_step(c, "element", "select", &to, x->dtype, FSIM_ARGS(x));
    if (!v)
        return NULL;
    fsim_onnx_put_int(c, "dim", s->axis[i]);
    fsim_onnx_put_int(c, "index", s->backwards[i] ? s->length - 1 - at : at);
    return v;
}

static bool scan_pass(fsim_onnx_call *c, scan *s, int64_t at, passes *collected)
{
    fsim_onnx_scope *inner = inner_scope(c, s->body);
    for (int i = 0; inner && i < c->ins; i++) {
        fsim_operand *v = i < s->states ? s->state[i] : scanned_at(c, s, i - s->states, at);
        if (!v || !fsim_onnx_scope_set(c->m, inner, s->body->in[i].name, v))
            return false;
    }
    if (!inner || !run_graph(c, inner, s->body))
        return false;
    for (int i = 0; i < s->body->outs; i++) {
        fsim_operand *v = result_of(c, inner, s->body, i);
        if (!v)
            return false;
        if (i < s->states)
            s->state[i] = v;
        else
            *FSIM_PUSH(c->a, collected[i - s->states].at, collected[i - s->states].count,
                       collected[i - s->states].room) = v;
    }
    return true;
}

bool fsim_onnx_op_scan(fsim_onnx_call *c)
{
    scan s = {0};
    int axes, directions;
    const int64_t *axis = fsim_onnx_ints(c, "scan_output_axes", &axes),
                  *direction = fsim_onnx_ints(c, "scan_output_directions", &directions);
    if (!prepare_scan(c, &s))
        return false;
    passes *collected = fsim_new(c->a, passes, s.collected + 1);
    for (int64_t at = 0; at < s.length; at++)
        if (!scan_pass(c, &s, at, collected))
            return false;
    for (int i = 0; i < s.states; i++)
        if (fsim_onnx_wants(c, i))
            c->out[i] = s.state[i];
    for (int i = 0; i < s.collected; i++) {
        int to;
        for (int k = 0; entry(direction, directions, i) && k < collected[i].count / 2; k++) {
            fsim_operand *other = collected[i].at[k];
            collected[i].at[k] = collected[i].at[collected[i].count - 1 - k];
            collected[i].at[collected[i].count - 1 - k] = other;
        }
        if (!fsim_onnx_axis(c, entry(axis, axes, i), collected[i].at[0]->shape.rank + 1, &to) ||
            !stack(c, s.states + i, &collected[i], to))
            return false;
    }
    return true;
}
