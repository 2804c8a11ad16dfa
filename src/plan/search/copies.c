/* SPDX-License-Identifier: Apache-2.0 */
/* copies.c: which primitives a kernel computes again: those that it needs and that were not stored, and, of what is in
 * memory, what may cost less to compute again than to read. */
#include "plan/search/states.h"

#include <math.h>

enum {
    MOST_CLONE_SETS = 400, /* choices of clones for one kernel that can pay by relaxed costs */
    MOST_OF_ALL = 2048     /* choices of clones when every one is considered */
};

/* Adds the producers of place that were not stored, and the producers that those need. False where they are too far
 * back. */
bool fsim_add_needed(expansion *x, int place, fsim_bits *copies)
{
    const fsim_places *l = &x->f->l;
    for (int k = l->pred_first[place]; k < l->pred_first[place + 1]; k++) {
        const int from = l->pred[k], bit = fsim_bit_of(x, from);
        if (!fsim_is_dropped(&x->at, from) || (bit >= 0 && fsim_bit(copies, bit)))
            continue;
        if (bit < 0)
            return false;
        fsim_bit_set(copies, bit);
        if (!fsim_add_needed(x, from, copies))
            return false;
    }
    return true;
}

void fsim_find_upstream(expansion *x, int place)
{
    const fsim_places *l = &x->f->l;
    for (int k = l->pred_first[place]; k < l->pred_first[place + 1]; k++) {
        const int from = l->pred[k], bit = fsim_bit_of(x, from);
        if (bit < 0 || fsim_bit(&x->upstream, bit) || !l->clonable[from] || fsim_bit(&x->set->own, bit))
            continue;
        fsim_bit_set(&x->upstream, bit);
        fsim_find_upstream(x, from);
    }
}

/* Bytes that a clone of place would read instead of the result of place. dram: without tensors that may be in L2. */
static double bytes_instead(const expansion *x, int place, bool dram, int depth)
{
    const fsim_places *l = &x->f->l;
    const fsim_graph *g = x->f->p->graph;
    const fsim_node *n = fsim_node_of(x->f, place);
    double sum = 0;
    for (int k = 0; k < n->args; k++) {
        const int t = n->arg[k].tensor, from = g->tensor[t].producer < 0 ? -1 : l->place[g->tensor[t].producer];
        bool shared = depth == 0;
        for (int r = 0; r < g->tensor[t].readers && !shared;
             r++) { /* the kernel reads it anyway, or another clone does */
            const int other = l->place[g->tensor[t].reader[r]], bit = other < 0 ? -1 : fsim_bit_of(x, other);
            shared = other != place && bit >= 0 && bit < FSIM_BITS &&
                     (fsim_bit(&x->set->own, bit) || fsim_bit(&x->upstream, bit));
        }
        if (shared)
            continue;
        double least =
            dram && fsim_may_reside(x->f->p, t) ? 0 : (double)n->arg[k].distinct * fsim_dtype_bytes(g->tensor[t].dtype);
        if (from >= 0 && fsim_bit_of(x, from) >= 0 && l->clonable[from] && least > 0)
            least = fmin(least, bytes_instead(x, from, dram, depth - 1));
        sum += least;
    }
    return sum;
}

/* Does the set read place both as an operand of its contraction or window, which is loaded in tiles, and in another
 * way? */
static bool read_two_ways(const expansion *x, int place)
{
    const fsim_places *l = &x->f->l;
    bool operand = false, besides = false;
    for (int k = l->succ_first[place]; k < l->succ_first[place + 1]; k++) {
        const int bit = fsim_bit_of(x, l->succ[k]);
        const fsim_class class = fsim_ops[fsim_node_of(x->f, l->succ[k])->op].class;
        if (bit < 0 || bit >= FSIM_BITS || !(fsim_bit(&x->set->own, bit) || fsim_bit(&x->upstream, bit)))
            continue;
        *(class == FSIM_CONTRACTION || class == FSIM_WINDOW ? &operand : &besides) = true;
    }
    return operand && besides;
}

/* Is the set with these clones a matrix product that the vendor's library computes in one call, slower than a kernel of
 * ours might? With one clone more it is a kernel of ours. */
static bool poor_call(const expansion *x, const fsim_bits *copies)
{
    bool multiplies = false;
    FSIM_EACH_BIT(i, x->set->own)
    multiplies = multiplies || fsim_is_product(fsim_node_of(x->f, x->root - FSIM_BACK + i));
    FSIM_EACH_BIT(i, *copies)
    multiplies = multiplies && fsim_ops[fsim_node_of(x->f, x->root - FSIM_BACK + i)->op].class == FSIM_PERMUTE;
    fsim_bits stored = {{0}};
    fsim_bit_set(&stored, fsim_bits_last(&x->set->own));
    fsim_variant *v = multiplies ? fsim_variant_of(&x->f->l, x->family, x->set, copies, &stored) : NULL;
    return v && fsim_is_poor_call(&x->f->l, v);
}

/* Adds to *out what can be cloned for the set where `but` is not. */
static void find_besides(const expansion *x, int place, int but, fsim_bits *out)
{
    const fsim_places *l = &x->f->l;
    for (int k = l->pred_first[place]; k < l->pred_first[place + 1]; k++) {
        const int from = l->pred[k], bit = fsim_bit_of(x, from);
        if (from == but || bit < 0 || fsim_bit(out, bit) || !fsim_bit(&x->upstream, bit))
            continue;
        fsim_bit_set(out, bit);
        find_besides(x, from, but, out);
    }
}

/* The same, where only what is read by none of `besides` counts, but of several arguments only the one of most bytes:
 * clones for two of them may read the same. */
static double most_instead(const expansion *x, int place, bool dram, const fsim_bits *besides, int depth)
{
    const fsim_places *l = &x->f->l;
    const fsim_graph *g = x->f->p->graph;
    const fsim_node *n = fsim_node_of(x->f, place);
    double most = 0;
    for (int k = 0; k < n->args && depth > 0; k++) {
        const int t = n->arg[k].tensor, from = g->tensor[t].producer < 0 ? -1 : l->place[g->tensor[t].producer];
        double least = (double)n->arg[k].distinct * fsim_dtype_bytes(g->tensor[t].dtype);
        bool free = least <= most || (dram && fsim_may_reside(x->f->p, t));
        for (int r = 0; r < g->tensor[t].readers && !free; r++) {
            const int other = l->place[g->tensor[t].reader[r]], bit = other < 0 ? -1 : fsim_bit_of(x, other);
            free = bit >= 0 && bit < FSIM_BITS && fsim_bit(besides, bit);
        }
        if (free)
            continue;
        if (from >= 0 && fsim_bit_of(x, from) >= 0 && l->clonable[from])
            least = fmin(least, most_instead(x, from, dram, besides, depth - 1));
        most = fmax(most, least);
    }
    return most;
}

/* May a kernel read less with a clone of place than it reads of its result? */
static bool may_read_less(const expansion *x, int place, bool dram)
{
    enum { DEEP = 12, DEEPER = 24 };
    const fsim_tensor *t = &x->f->p->graph->tensor[fsim_node_of(x->f, place)->result[0]];
    if (dram && fsim_may_reside(x->f->p, fsim_node_of(x->f, place)->result[0]))
        return false;
    if (bytes_instead(x, place, dram, DEEP) >= (double)t->bytes)
        return false;
    fsim_bits besides = x->set->own;
    FSIM_EACH_BIT(i, x->set->own)
    find_besides(x, x->root - FSIM_BACK + i, place, &besides);
    return most_instead(x, place, dram, &besides, DEEPER) < (double)t->bytes;
}

/* Does whatever the set, or a clone for it, computes from place's result read that in order, and so on to the end? It
 * is then read as it lies. */
static bool read_in_order(const expansion *x, int place)
{
    const fsim_places *l = &x->f->l;
    const fsim_node *n = fsim_node_of(x->f, place);
    for (int k = l->succ_first[place]; k < l->succ_first[place + 1]; k++) {
        const int bit = fsim_bit_of(x, l->succ[k]);
        const fsim_node *reader = fsim_node_of(x->f, l->succ[k]);
        if (bit < 0 || bit >= FSIM_BITS || !(fsim_bit(&x->set->own, bit) || fsim_bit(&x->upstream, bit)))
            continue;
        for (int q = 0; q < reader->args; q++)
            for (int r = 0; r < n->results; r++)
                if (reader->arg[q].tensor == n->result[r] &&
                    !fsim_reads_in_order(&reader->arg[q], &x->f->p->graph->tensor[n->result[r]]))
                    return false;
        if (!read_in_order(x, l->succ[k]))
            return false;
    }
    return true;
}

/* Are the set's points in the order in which its results lie? Not where it reduces along other dimensions than the
 * last ones. */
static bool is_in_order(const expansion *x)
{
    FSIM_EACH_BIT(i, x->set->own)
    {
        const fsim_node *n = fsim_node_of(x->f, x->root - FSIM_BACK + i);
        const fsim_class class = fsim_ops[n->op].class;
        if (!fsim_classes[class].inlines &&
            !(class == FSIM_REDUCE && fsim_reads_in_order(&n->arg[0], &x->f->p->graph->tensor[n->arg[0].tensor])))
            return false;
    }
    return true;
}

/* Does a clone of place read, itself or through others that are copied with it, what is owed? */
static bool reads_owed(const expansion *x, int place)
{
    const fsim_places *l = &x->f->l;
    for (int k = l->pred_first[place]; k < l->pred_first[place + 1]; k++) {
        const int from = l->pred[k], bit = fsim_bit_of(x, from);
        if (fsim_is_owed(&x->at, from) || (bit >= 0 && fsim_bit(&x->upstream, bit) && reads_owed(x, from)))
            return true;
    }
    return false;
}

/* Can a clone of place pay although its result is in memory? Where the result is read as it lies, nothing is read
 * better, and the kernel has the same layout with the clone or a worse one. */
static bool worth_a_copy(const expansion *x, int place)
{
    const fsim_frontier *f = x->f;
    return f->every_clone || !x->set->connected ||
           !(f->in_place[place] || f->read_anyhow[place] || (is_in_order(x) && read_in_order(x, place))) ||
           read_two_ways(x, place) || (f->with_l2 && !f->stale[place]) || may_read_less(x, place, false) ||
           may_read_less(x, place, true) || (!fsim_bits_empty(&x->at.owed) && reads_owed(x, place));
}

static int most_choices(const expansion *x)
{
    const fsim_one_side *side = x->patient ? NULL : x->f->side;
    return x->f->every_clone ? MOST_OF_ALL : side && side->clone_sets ? side->clone_sets : MOST_CLONE_SETS;
}

void fsim_choose_copies(expansion *x, fsim_bits copies, fsim_bits barred)
{
    const fsim_places *l = &x->f->l;
    const int base = x->root - FSIM_BACK;
    const fsim_bits all = fsim_bits_or(x->set->own, copies);
    FSIM_EACH_BIT(i, copies)
    if (!fsim_add_needed(x, base + i, &copies))
        return;
    if (fsim_bits_meet(&copies, &barred))
        return;
    if (x->choices == most_choices(x)) {
        x->clipped = true;
        return;
    }
    *FSIM_PUSH(x->f->a, x->choice, x->choices, x->room) = copies;
    if (!fsim_proceed(x->f, &x->f->budget, 2 + fsim_bits_count(&all)) && x->f->forward) {
        x->cut = true; /* the budget is used up: no clones beyond those that are needed */
        return;
    }
    fsim_bits open = {{0}};
    FSIM_EACH_BIT(i, all)
    for (int k = l->pred_first[base + i]; k < l->pred_first[base + i + 1]; k++) {
        const int from = l->pred[k], bit = fsim_bit_of(x, from);
        if (bit >= 0 && l->clonable[from] && !fsim_bit(&all, bit) && !fsim_bit(&barred, bit) &&
            !fsim_is_dropped(&x->at, from))
            fsim_bit_set(&open, bit);
    }
    const bool any = !x->f->every_clone && !fsim_bits_empty(&open) && poor_call(x, &copies);
    FSIM_EACH_BIT(u, open)
    {
        if (any || worth_a_copy(x, base + u)) {
            fsim_bits more = copies;
            fsim_bit_set(&more, u);
            fsim_choose_copies(x, more, barred);
        }
        fsim_bit_set(&barred, u);
    }
}

/* Is the primitive at r the one at u, or does u depend on it? */
static bool leads_to(const fsim_places *l, int r, int u)
{
    return r == u || (r < u && u - r <= FSIM_BITS && fsim_bit(&l->before[u], FSIM_BITS - (u - r)));
}

/* Does nothing that runs after place u read this argument of it, neither itself nor through copies? */
static bool read_for_the_last_time(const fsim_frontier *f, int tensor, int u)
{
    const fsim_places *l = &f->l;
    const fsim_tensor *t = &f->p->graph->tensor[tensor];
    for (int i = 0; i < t->readers; i++) {
        const int r = l->place[t->reader[i]];
        if (r < 0 || !leads_to(l, r, u))
            return false;
        for (int k = l->succ_first[r]; r != u && l->clonable[r] && k < l->succ_first[r + 1]; k++)
            if (!leads_to(l, l->succ[k], u))
                return false;
    }
    return true;
}

/* Need the place's result not be written to memory where a reader has a copy of it instead? L2 then holds it until the
 * others have read it. */
static bool may_stay_unwritten(const fsim_frontier *f, const fsim_tensor *t)
{
    return t->readers > 1 && !t->output && !t->materialize && fsim_may_reside(f->p, (int)(t - f->p->graph->tensor));
}

/* Can no copy of a place pay because of what L2 holds? One argument is at least as large, is read by nothing that
 * runs later, and can't be had in another way. The kernel that computes the place uses the result after that argument,
 * so whatever reads the argument from L2 could have read the result from there. Not so where one kernel stores both: of
 * two results L2 keeps the first one longer. */
void fsim_find_stale(fsim_frontier *f)
{
    const fsim_places *l = &f->l;
    f->stale = fsim_new(f->a, bool, l->count + 1);
    for (int u = 0; u < l->count; u++) {
        const fsim_node *n = fsim_node_of(f, u);
        const fsim_tensor *t = &f->p->graph->tensor[n->result[0]];
        const bool written = n->results == 1 && t->over < 0 && !may_stay_unwritten(f, t);
        for (int k = 0; written && !f->stale[u] && k < n->args; k++) {
            const fsim_access *x = &n->arg[k];
            const fsim_tensor *y = &f->p->graph->tensor[x->tensor];
            const int from = y->producer < 0 ? -1 : l->place[y->producer];
            f->stale[u] = x->how == FSIM_READ_MAP && fsim_map_is_identity(&x->map) && x->distinct == y->elems &&
                          y->bytes >= t->bytes &&
                          (from < 0 || (!l->must[from] && (!l->clonable[from] || f->stale[from]))) &&
                          read_for_the_last_time(f, x->tensor, u);
        }
    }
}
