/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/replay.h"

#include "base/names.h"
#include "graph/gradient.h"
#include "plan/price/deadline.h"
#include "plan/price/memory.h"
#include "plan/price/phases.h"
#include "plan/search/pebbles.h"
#include "plan/search/replayed.h"

#include <string.h>

enum { MOST_WAYS = 24, MOST_ARGS = 3, MOST_MADE = 3 };

static bool is_forward(const replay *w, int k)
{
    return fsim_phase_of(w->g, &w->base->partition.part[k]) == FSIM_FORWARD;
}

static fsim_values bit(int v) { return (fsim_values)1 << v; }

/* May the primitive be computed again? What was derived is not: it is computed by one of those that run again. */
static bool may_repeat(const replay *w, int node)
{
    const fsim_node *n = &w->g->node[node];
    const fsim_class class = fsim_ops[n->op].class;
    const fsim_tensor *t = &w->g->tensor[n->result[0]];
    if (n->results != 1 || n->effect || t->over >= 0 || t->overwritten || n->again)
        return false;
    return n->result[0] >= w->g->own_tensors ||
           (n->args <= MOST_ARGS && (class == FSIM_ELEMENTWISE || class == FSIM_CONTRACTION || class == FSIM_REDUCE ||
                                     class == FSIM_PERMUTE || class == FSIM_ASSEMBLE || class == FSIM_GATHER));
}

/* May kernel k run at any time, and again? It stores nothing but values that are given back, from such values and from
 * what is always there. */
static bool is_maker(const replay *w, int k)
{
    const fsim_kernel *x = &w->base->kernel[k];
    const fsim_part *part = &w->base->partition.part[k];
    bool may = is_forward(w, k) && x->outputs > 0 && x->outputs <= MOST_MADE && x->inputs > 0;
    for (int i = 0; i < x->outputs && may; i++) {
        const fsim_tensor *t = &w->g->tensor[x->output[i].tensor];
        may = !t->lasting && !t->output && !t->stays && t->storage == x->output[i].tensor;
    }
    for (int i = 0; i < part->count && may; i++)
        may = may_repeat(w, part->node[i]);
    for (int i = 0; i < x->inputs && may; i++) {
        const int t = x->input[i].tensor;
        may = w->value_of[t] >= 0 || (w->g->tensor[t].producer < 0 && !w->g->tensor[t].after_outputs);
    }
    return may;
}

/* Finds what may run again, in the order of the plan's kernels, and the values that it makes. */
static bool find_makers(replay *w)
{
    const fsim_plan *base = w->base;
    for (int k = 0; k < base->kernels; k++) {
        w->maker_of[k] = -1;
        if (!is_maker(w, k))
            continue;
        fsim_pebble_maker m = {.cost = (int64_t)fsim_ticks(base->kernel[k].time_s)};
        for (int i = 0; i < base->kernel[k].inputs; i++) {
            const int v = w->value_of[base->kernel[k].input[i].tensor];
            m.reads |= v >= 0 ? bit(v) : 0;
        }
        for (int i = 0; i < base->kernel[k].outputs; i++) {
            if (w->game.values == FSIM_MOST_PEBBLES)
                return false;
            const int t = base->kernel[k].output[i].tensor, v = w->game.values++;
            w->value[v] = t;
            w->value_of[t] = v;
            w->game.bytes[v] = w->g->tensor[t].bytes;
            m.makes |= bit(v);
        }
        w->maker_of[k] = w->makers;
        w->maker_kernel[w->makers] = k;
        w->maker[w->makers++] = m;
    }
    return w->makers > 0;
}

/* The values that the term of a derivative reads; false where some of it is in memory at no time. */
static bool values_of_term(const replay *w, const fsim_node *n, const char *term, fsim_values *out)
{
    *out = 0;
    for (const char *at = strchr(term, '$'); at; at = strchr(at + 1, '$')) {
        const bool argument = at[1] >= '0' && at[1] - '0' < n->args && at[1] <= '9';
        if (!argument && at[1] != 'y')
            continue;
        const int t = w->g->tensor[argument ? n->arg[at[1] - '0'].tensor : n->result[0]].storage;
        if (t >= w->g->own_tensors || (w->value_of[t] < 0 && w->g->tensor[t].producer >= 0))
            return false;
        *out |= w->value_of[t] >= 0 ? bit(w->value_of[t]) : 0;
    }
    return true;
}

/* The operator whose derivative primitive n is a part of; -1. */
static int derivative_of(const replay *w, int n) { return w->g->source[w->g->node[n].source].gradient_of; }

/* Where the value is a mask of bits: another form of the derivative, which does without. */
static bool find_other_form(const replay *w, int v, either *out, fsim_values *reads)
{
    const fsim_graph *g = w->g;
    const int source = w->value[v] < g->own_tensors ? -1 : derivative_of(w, g->tensor[w->value[v]].producer);
    int found = 0;
    for (int c = 0; c < g->choices && source >= 0; c++) {
        const fsim_choice *x = &g->choice[c];
        if (g->node[x->node].source != source)
            continue;
        found++;
        for (int f = 0; f < x->forms && x->packed >> x->form & 1; f++) {
            const bool may = !(x->packed >> f & 1) && (x->exact >> f & 1);
            const char *term = may ? fsim_derivative(g->node[x->node].op, x->argument, f) : NULL;
            if (!term || !values_of_term(w, &g->node[x->node], term, reads))
                continue;
            *out = (either){c, f};
            return found == 1;
        }
    }
    return false;
}

/* Kernel k as a step: what it reads of the values. */
static fsim_pebble_step step_of(replay *w, int k)
{
    fsim_pebble_step s = {.reads = 0};
    for (int i = 0; i < w->base->kernel[k].inputs; i++) {
        const int v = w->value_of[w->base->kernel[k].input[i].tensor];
        fsim_values other;
        either e;
        if (v < 0)
            continue;
        if (!is_forward(w, k) && s.eithers < FSIM_MOST_EITHER && find_other_form(w, v, &e, &other)) {
            w->either[w->game.steps][s.eithers] = e;
            s.either[s.eithers].one = bit(v);
            s.either[s.eithers++].other = other;
        } else {
            s.reads |= bit(v);
        }
    }
    return s;
}

static bool is_besides(const replay *w, int t)
{
    return w->value_of[t] < 0 && w->g->tensor[t].producer >= 0 && !w->g->tensor[t].lasting;
}

/* The steps, and what is in memory besides the values. */
static void find_steps(replay *w)
{
    const fsim_plan *base = w->base;
    int *last = fsim_new(w->a, int, w->g->tensors + 1);
    fsim_sum live = fsim_lasting_bytes(w->g);
    w->game.before = live;
    for (int k = 0; k < base->kernels; k++)
        for (int i = 0; i < base->kernel[k].inputs; i++)
            last[base->kernel[k].input[i].tensor] = k;
    for (int k = 0; k < base->kernels; k++) {
        if (w->maker_of[k] >= 0)
            continue;
        fsim_pebble_step s = step_of(w, k);
        for (int i = 0; i < base->kernel[k].outputs; i++)
            live += fsim_taken_bytes(&w->g->tensor[base->kernel[k].output[i].tensor]);
        s.during = live;
        for (int i = 0; i < base->kernel[k].inputs; i++) {
            const int t = base->kernel[k].input[i].tensor;
            live -= is_besides(w, t) && last[t] == k ? fsim_freed_bytes(&w->g->tensor[t]) : 0;
        }
        s.after = live;
        w->step_kernel[w->game.steps] = k;
        w->step[w->game.steps++] = s;
    }
}

/* What was played, as reads of copies. False where the graph can't be told so. */

static bool add_read(replay *w, fsim_copy_read x)
{
    for (int i = 0; i < w->how.reads; i++) {
        const fsim_copy_read *y = &w->read[i];
        if (y->event == x.event && (x.event > 0 || y->source == x.source) && y->tensor == x.tensor)
            return y->from == x.from;
    }
    *FSIM_PUSH(w->a, w->read, w->how.reads, w->read_room) = x;
    w->how.read = w->read;
    return true;
}

/* The derivative of the operator finds value v where event `from` has made it, a mask by what it is made of. */
static bool read_copy(replay *w, int source, int v)
{
    const int from = w->now[v], t = w->value[v];
    const fsim_graph *g = w->g;
    if (source < 0)
        return from == 0;
    if (t < g->own_tensors)
        return add_read(w, (fsim_copy_read){0, source, t, from});
    const int made = derivative_of(w, g->tensor[t].producer), kernel = w->home[g->tensor[t].producer];
    bool may = made >= 0;
    for (int n = 0; n < g->nodes && may; n++) {
        if (g->node[n].source != made)
            continue;
        for (int k = 0; k <= g->node[n].args && may; k++) {
            const int u = g->tensor[k < g->node[n].args ? g->node[n].arg[k].tensor : g->node[n].result[0]].storage;
            if (u < g->own_tensors && g->tensor[u].producer >= 0 && w->home[g->tensor[u].producer] == kernel)
                may = add_read(w, (fsim_copy_read){0, made, u, from});
        }
    }
    return may;
}

static void add_launch(replay *w, int kernel, int event)
{
    w->launch[w->launches].kernel = kernel;
    w->launch[w->launches++].event = event;
}

static bool play_maker(replay *w, const fsim_pebble_move *m)
{
    const fsim_pebble_maker *x = &w->maker[m->maker];
    const int event = w->runs[m->maker]++ > 0 ? ++w->events : 0;
    bool may = w->events < MOST_EVENTS;
    for (int v = 0; v < w->game.values && may; v++)
        if (x->reads >> v & 1)
            may = event == 0 ? w->now[v] == 0 : add_read(w, (fsim_copy_read){event, -1, w->value[v], w->now[v]});
    for (int v = 0; v < w->game.values; v++)
        w->now[v] = m->set >> v & 1 ? event : w->now[v];
    add_launch(w, w->maker_kernel[m->maker], event);
    return may;
}

/* The primitives of kernel k that read the value find it where it is. */
static bool play_reads(replay *w, int k, int v)
{
    const fsim_part *part = &w->base->partition.part[k];
    bool may = true;
    for (int i = 0; i < part->count && may; i++) {
        const fsim_node *n = &w->g->node[part->node[i]];
        bool reads = false;
        for (int q = 0; q < n->args; q++)
            reads = reads || w->g->tensor[n->arg[q].tensor].storage == w->value[v];
        if (reads)
            may = read_copy(w, n->result[0] < w->g->own_tensors ? -1 : derivative_of(w, part->node[i]), v);
    }
    return may;
}

static bool play_step(replay *w, int s, fsim_values held)
{
    const fsim_pebble_step *x = &w->step[s];
    bool may = true;
    add_launch(w, w->step_kernel[s], 0);
    for (int v = 0; v < w->game.values && may; v++)
        if (x->reads >> v & 1)
            may = play_reads(w, w->step_kernel[s], v);
    for (int i = 0; i < x->eithers && may; i++) {
        const either *e = &w->either[s][i];
        const int source = w->g->node[w->g->choice[e->choice].node].source;
        const bool one = (x->either[i].one & ~held) == 0;
        if (!one)
            w->form[e->choice] = (signed char)e->form;
        for (int v = 0; v < w->game.values && may; v++)
            if ((one ? x->either[i].one : x->either[i].other) >> v & 1)
                may = read_copy(w, source, v);
    }
    return may;
}

/* The graph in which values are computed as they were played. NULL where there is none. */
static fsim_graph *graph_of(replay *w, const fsim_pebbling *played)
{
    const fsim_graph *g = w->g;
    signed char *fate = fsim_new(w->a, signed char, g->own_tensors + 1);
    bool may = true;
    memcpy(fate, w->fate, (size_t)g->own_tensors);
    for (int v = 0; v < w->game.values; v++) {
        w->now[v] = 0;
        if (w->value[v] < g->own_tensors)
            fate[w->value[v]] = FSIM_HELD;
    }
    memset(w->runs, 0, sizeof w->runs);
    w->events = w->launches = 0;
    w->read = NULL;
    w->read_room = 0;
    w->form = fsim_new(w->a, signed char, g->choices + 1);
    for (int c = 0; c < g->choices; c++)
        w->form[c] = (signed char)g->choice[c].form;
    w->how = (fsim_derive){.form = w->form, .forms = g->choices, .fate = fate, .fates = g->own_tensors};
    for (int i = 0, s = 0; i < played->count && may; i++)
        if (played->move[i].maker >= 0)
            may = play_maker(w, &played->move[i]);
        else if (played->move[i].maker == -1)
            may = play_step(w, s++, played->move[i].set);
    return may ? fsim_graph_with_copies(g, &w->how, w->a) : NULL;
}

static bool in_time(const void *p) { return !fsim_late(p); }

int fsim_replay(const fsim_problem *p, const fsim_plan *base, const signed char *fate, fsim_arena *a,
                fsim_take_replay *take, void *with)
{
    const fsim_graph *g = base->graph;
    replay *w = fsim_new(a, replay, 1);
    *w = (replay){.p = p, .base = base, .g = g, .fate = fate, .a = a};
    const fsim_derive *how = fsim_derivation_of(g);
    int ways = 0;
    if (!how || how->reads > 0 || how->fates > 0 || how->checkpoint || base->priced || g->calls ||
        base->kernels > MOST_KERNELS)
        return 0;
    w->value_of = fsim_new(a, int, g->tensors + 1);
    for (int t = 0; t < g->tensors; t++)
        w->value_of[t] = -1;
    w->maker_of = fsim_new(a, int, base->kernels + 1);
    w->home = fsim_new(a, int, g->nodes + 1);
    for (int k = 0; k < base->kernels; k++)
        for (int i = 0; i < base->partition.part[k].count; i++)
            if (!base->partition.part[k].clone[i])
                w->home[base->partition.part[k].node[i]] = k;
    if (!find_makers(w))
        return 0;
    find_steps(w);
    w->game.maker = w->maker;
    w->game.makers = w->makers;
    w->game.step = w->step;
    fsim_sum limit = FSIM_SUM_MOST;
    fsim_pebbling played;
    while (fsim_may_pebble(&w->game) && ways < MOST_WAYS && fsim_pebble(&w->game, limit, in_time, p, a, &played)) {
        fsim_graph *to = graph_of(w, &played);
        fsim_partition part;
        if (to && fsim_replayed(w, to, &part))
            take(with, to, &part);
        limit = played.peak - 1;
        ways++;
    }
    return ways;
}
