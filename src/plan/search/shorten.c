/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/shorten.h"

#include <string.h>

typedef struct {
    const fsim_places *l;
    const fsim_run *run;
    int cut, removed, layers;   /* primitives [cut, cut + removed) go */
    int **of_orbit, *of_orbits; /* per tensor that begins an orbit: its tensors by layer, and how many there are */
    int *tensor;                /* per tensor of the long graph: its number in the short one; -1: it goes */
} surgery;

static bool is_removed(const surgery *s, int node) { return node >= s->cut && node < s->cut + s->removed; }
static int renumbered(const surgery *s, int node) { return node < s->cut ? node : node - s->removed; }

static void list_orbits(surgery *s, fsim_arena *a)
{
    const int tensors = s->l->p->graph->tensors;
    s->of_orbit = fsim_new(a, int *, tensors + 1);
    s->of_orbits = fsim_new(a, int, tensors + 1);
    for (int t = 0; t < tensors; t++)
        if (s->run->layer[t] >= s->of_orbits[s->run->orbit[t]])
            s->of_orbits[s->run->orbit[t]] = s->run->layer[t] + 1;
    for (int t = 0; t < tensors; t++)
        s->of_orbit[t] = fsim_new(a, int, s->of_orbits[t] + 1);
    for (int t = 0; t < tensors; t++)
        if (s->run->layer[t] >= 0)
            s->of_orbit[s->run->orbit[t]][s->run->layer[t]] = t;
}

/* What a primitive behind the cut reads in place of a tensor: that tensor, or, where its producer goes, the one that
 * the layers before the cut have in its place. -1: there is none. */
static int in_place_of(const surgery *s, int t)
{
    const int from = s->l->p->graph->tensor[t].producer;
    if (from < 0 || !is_removed(s, from))
        return t;
    const int layer = s->run->layer[t] - s->layers;
    return s->run->layer[t] < 0 || layer < 0 ? -1 : s->of_orbit[s->run->orbit[t]][layer];
}

/* Numbers the tensors that stay, in their old order. Returns how many there are. */
static int number_tensors(surgery *s, fsim_arena *a)
{
    const fsim_graph *g = s->l->p->graph;
    int count = 0;
    s->tensor = fsim_new(a, int, g->tensors + 1);
    for (int t = 0; t < g->tensors; t++) {
        const fsim_tensor *x = &g->tensor[t];
        bool stays = x->storage == t && (x->producer < 0 ? x->readers == 0 : !is_removed(s, x->producer));
        for (int r = 0; r < x->readers && !stays && x->producer < 0; r++)
            stays = !is_removed(s, x->reader[r]);
        s->tensor[t] = stays ? count++ : -1;
    }
    return count;
}

/* Copies a primitive. Where its operator begins before the cut's end, those before the cut belong to the operator that
 * has its place there. */
static bool copy_node(const surgery *s, fsim_graph *out, int from, fsim_arena *a)
{
    const fsim_graph *g = s->l->p->graph;
    const fsim_node *n = &g->node[from];
    fsim_node *copy = &out->node[renumbered(s, from)];
    *copy = *n;
    if (from >= s->cut && is_removed(s, g->source[n->source].first))
        copy->source = g->node[renumbered(s, from)].source;
    copy->arg = fsim_new(a, fsim_access, n->args + 1);
    for (int k = 0; k < n->args; k++) {
        const int t = from < s->cut ? n->arg[k].tensor : in_place_of(s, n->arg[k].tensor);
        copy->arg[k] = n->arg[k];
        if (t < 0 || s->tensor[t] < 0)
            return false;
        copy->arg[k].tensor = s->tensor[t];
    }
    for (int r = 0; r < n->results; r++)
        copy->result[r] = s->tensor[n->result[r]];
    return true;
}

static bool copy_tensor(const surgery *s, fsim_graph *out, int t)
{
    const fsim_tensor *x = &s->l->p->graph->tensor[t];
    fsim_tensor *copy = &out->tensor[s->tensor[t]];
    *copy = *x;
    copy->storage = s->tensor[t];
    copy->producer = x->producer < 0 ? -1 : renumbered(s, x->producer);
    copy->readers = 0;
    copy->reader = NULL;
    if (x->over >= 0) {
        const int over = x->producer >= 0 && x->producer < s->cut ? x->over : in_place_of(s, x->over);
        copy->over = over < 0 ? -1 : s->tensor[over];
        return copy->over >= 0;
    }
    return true;
}

/* The primitives of user rules, which are never among equal layers. */
static fsim_node_set *copy_rules(const surgery *s, const fsim_node_set *set, int sets, fsim_arena *a)
{
    fsim_node_set *copy = fsim_new(a, fsim_node_set, sets + 1);
    for (int i = 0; i < sets; i++) {
        copy[i] = set[i];
        copy[i].node = fsim_new(a, int, set[i].count + 1);
        for (int k = 0; k < set[i].count; k++)
            copy[i].node[k] = renumbered(s, set[i].node[k]);
    }
    return copy;
}

fsim_graph *fsim_shortened(const fsim_places *l, const fsim_run *run, int layers, fsim_arena *a)
{
    const fsim_graph *g = l->p->graph;
    const int kept = (run->end - run->first) / run->period - layers;
    surgery s = {.l = l,
                 .run = run,
                 .cut = run->first + kept / 2 * run->period,
                 .removed = layers * run->period,
                 .layers = layers};
    fsim_graph *out = fsim_new(a, fsim_graph, 1);
    list_orbits(&s, a);
    *out = *g;
    out->tensors = number_tensors(&s, a);
    out->nodes = g->nodes - s.removed;
    out->tensor = fsim_new(a, fsim_tensor, out->tensors + 1);
    out->node = fsim_new(a, fsim_node, out->nodes + 1);
    bool fits = true;
    for (int n = 0; n < g->nodes && fits; n++)
        fits = is_removed(&s, n) || copy_node(&s, out, n, a);
    for (int t = 0; t < g->tensors && fits; t++)
        fits = s.tensor[t] < 0 || copy_tensor(&s, out, t);
    if (!fits)
        return NULL;
    fsim_link_readers(out, a);
    fsim_recount_sources(out, a);
    out->fuse = copy_rules(&s, g->fuse, g->fuses, a);
    out->separate = copy_rules(&s, g->separate, g->separates, a);
    return out;
}
