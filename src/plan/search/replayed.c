/* SPDX-License-Identifier: Apache-2.0 */
/* replayed.c: kernels on a graph in which some run again. Primitives are in the kernel of those of the same name in the
 * plan; those that are computed again, and what is derived from them there, in the kernel of their event. A derivative
 * that takes another form than in the plan is in the kernel of the gradient that it goes on with. */
#include "plan/search/replayed.h"

#include "base/names.h"
#include "plan/price/phases.h"
#include <string.h>

typedef struct {
    const replay *w;
    const fsim_graph *to;
    fsim_names name;     /* of the plan's primitives */
    int *kernel, *event; /* per primitive of the graph: where it is; kernel -1: it is not known */
    int *part;           /* per kernel and event: the part; -1: none yet */
    fsim_partition *out;
    fsim_arena *a;
} placing;

/* A name without what says that it is computed again. */
static const char *plain_name(const fsim_graph *g, int producer, const char *name)
{
    const char *slash = producer >= 0 && g->node[producer].again ? strchr(name, '/') : NULL;
    return slash ? slash + 1 : name;
}

/* Are the workload's own tensors among the arguments the same? What was derived has other names behind another form. */
static bool same_tensors(const placing *w, int n, int same)
{
    const fsim_graph *g = w->w->g, *to = w->to;
    bool all = to->node[n].args == g->node[same].args;
    for (int k = 0; k < to->node[n].args && all; k++) {
        const int own = g->node[same].arg[k].tensor, t = to->node[n].arg[k].tensor,
                  from = to->tensor[to->tensor[t].storage].producer;
        all = g->tensor[own].storage >= g->own_tensors ||
              strcmp(plain_name(to, from, to->tensor[t].name), g->tensor[own].name) == 0;
    }
    return all;
}

/* The plan's primitive that does the same with the same, or -1. */
static int same_in_plan(const placing *w, int n)
{
    const int at = fsim_names_get(&w->name, plain_name(w->to, n, w->to->node[n].name));
    return at >= 0 && w->w->g->node[at].op == w->to->node[n].op && same_tensors(w, n, at) ? at : -1;
}

/* The event of what primitive n reads in its kernel. */
static int event_of(const placing *w, int n)
{
    int event = 0;
    for (int k = 0; k < w->to->node[n].args; k++) {
        const int from = w->to->tensor[w->to->node[n].arg[k].tensor].producer;
        if (from >= 0 && w->kernel[from] == w->kernel[n] && w->event[from] > event)
            event = w->event[from];
    }
    return event;
}

/* Does kernel k of the plan store the result of primitive n? */
static bool is_stored(const placing *w, int k, int n)
{
    const fsim_kernel *x = &w->w->base->kernel[k];
    for (int i = 0; i < x->outputs; i++)
        if (w->w->g->tensor[x->output[i].tensor].producer == n)
            return true;
    return false;
}

/* Is there a reader of primitive n in its kernel? */
static bool is_read_there(const placing *w, int n)
{
    for (int r = 0; r < w->to->node[n].results; r++) {
        const fsim_tensor *t = &w->to->tensor[w->to->node[n].result[r]];
        for (int i = 0; i < t->readers; i++)
            if (w->kernel[t->reader[i]] == w->kernel[n])
                return true;
    }
    return false;
}

static void place_known(placing *w)
{
    for (int n = 0; n < w->to->nodes; n++) {
        const int same = same_in_plan(w, n);
        w->kernel[n] = same < 0 ? -1 : w->w->home[same];
    }
    for (int n = w->to->nodes; n-- > 0;) { /* what the plan does not store is where it is read */
        const int same = same_in_plan(w, n);
        if (same >= 0 && w->w->g->node[same].phase != FSIM_FORWARD && w->w->maker_of[w->kernel[n]] >= 0 &&
            !is_stored(w, w->kernel[n], same) && !is_read_there(w, n))
            w->kernel[n] = -1;
    }
    for (int n = 0; n < w->to->nodes; n++)
        if (w->kernel[n] >= 0 && w->w->maker_of[w->kernel[n]] >= 0)
            w->event[n] = w->to->node[n].again ? w->to->node[n].again : event_of(w, n);
}

static bool goes_on(const placing *w, int from)
{
    return from >= 0 && w->kernel[from] >= 0 && w->w->maker_of[w->kernel[from]] < 0 &&
           w->to->node[from].phase != FSIM_FORWARD;
}

/* What has another form: behind the gradient that it reads, or in front of what reads it. */
static bool place_others(placing *w)
{
    for (int n = 0; n < w->to->nodes; n++)
        for (int k = 0; k < w->to->node[n].args && w->kernel[n] < 0; k++) {
            const int from = w->to->tensor[w->to->node[n].arg[k].tensor].producer;
            w->kernel[n] = goes_on(w, from) ? w->kernel[from] : -1;
        }
    for (int n = w->to->nodes; n-- > 0;)
        for (int r = 0; r < w->to->node[n].results && w->kernel[n] < 0; r++) {
            const fsim_tensor *t = &w->to->tensor[w->to->node[n].result[r]];
            for (int i = 0; i < t->readers && w->kernel[n] < 0; i++)
                w->kernel[n] = w->kernel[t->reader[i]];
            if (w->kernel[n] < 0)
                return false;
        }
    return true;
}

static fsim_part *part_at(placing *w, int kernel, int event)
{
    int *at = &w->part[event * (w->w->base->kernels + 1) + kernel];
    if (*at < 0) {
        *at = w->out->parts;
        w->out->part[w->out->parts++] =
            (fsim_part){0, fsim_new(w->a, int, w->to->nodes + 1), fsim_new(w->a, bool, w->to->nodes + 1)};
    }
    return &w->out->part[*at];
}

static void put(fsim_part *part, int node, bool clone)
{
    part->node[part->count] = node;
    part->clone[part->count++] = clone;
}

static bool has_clone(const fsim_part *part, int node)
{
    for (int i = 0; i < part->count; i++)
        if (part->clone[i] && part->node[i] == node)
            return true;
    return false;
}

/* Primitives in ascending order: those at home, and the plan's clones. */
static void fill(placing *w)
{
    const fsim_partition *of = &w->w->base->partition;
    for (int n = 0; n < w->to->nodes; n++) {
        const int same = w->to->node[n].again ? -1 : same_in_plan(w, n);
        put(part_at(w, w->kernel[n], w->event[n]), n, false);
        for (int k = 0; k < of->parts && same >= 0; k++)
            if (k != w->kernel[n] && has_clone(&of->part[k], same))
                put(part_at(w, k, 0), n, true);
    }
}

/* Lists the parts in the order in which they run. */
static bool list_in_turn(const placing *w)
{
    const replay *r = w->w;
    fsim_part *part = fsim_new(w->a, fsim_part, w->out->parts + 1);
    int parts = 0;
    for (int i = 0; i < r->launches; i++) {
        const int at = w->part[r->launch[i].event * (r->base->kernels + 1) + r->launch[i].kernel];
        if (at >= 0 && parts < w->out->parts)
            part[parts++] = w->out->part[at];
    }
    w->out->part = part;
    return parts == w->out->parts;
}

bool fsim_replayed(const replay *r, const fsim_graph *to, fsim_partition *out)
{
    placing w = {.w = r, .to = to, .out = out, .a = r->a};
    const int places = (r->events + 1) * (r->base->kernels + 1);
    *out = (fsim_partition){0, fsim_new(r->a, fsim_part, places + 1)};
    w.kernel = fsim_new(r->a, int, to->nodes + 1);
    w.event = fsim_new(r->a, int, to->nodes + 1);
    w.part = fsim_new(r->a, int, places + 1);
    for (int i = 0; i < places; i++)
        w.part[i] = -1;
    for (int n = 0; n < r->g->nodes; n++)
        fsim_names_set(r->a, &w.name, r->g->node[n].name, n);
    place_known(&w);
    if (!place_others(&w))
        return false;
    fill(&w);
    return list_in_turn(&w);
}
