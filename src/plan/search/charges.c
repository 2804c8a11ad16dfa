/* SPDX-License-Identifier: Apache-2.0 */
/* charges.c: work that no plan can avoid, with weights that differ from kernel to kernel.
 *
 * A kernel takes at least its launch and the norm of what it keeps DRAM (D) and its contractions' units (W) busy. A
 * norm is at least w . (D, W) for any weights w whose dual norm is one. So a sum over primitives, each with weights of
 * its own, bounds every plan if the weights of what one kernel may hold are at most those of one such w:
 * - contractions that may share a kernel, directly or through others, are a group with one w, that of the group's sums.
 *   Chains are apart from that: contractions without siblings are charged as if they were alone in their kernels
 *   (single), each with its own w, but so little that no chain takes less than both are charged together;
 * - what no kernel has beside a contraction (solo) is charged for DRAM only, at weight 1;
 * - what else there is, is charged for DRAM only, at the least weight of all groups: whichever contractions its kernel
 *   has, theirs is at least as much. It is at most most_beside: that leaves work's weight beside it, work_beside, to
 * the chains of single ones. One w for all, as for lists of few kernels, would let DRAM's part of an update ride on the
 * contractions' work.
 *
 * What is charged beside graph inputs and outputs is too large for L2, or for L2 beside all else that the kernel moves:
 * - a contraction: what its kernel must read to have the operands, each read or made of what is read (had_by); and what
 *   it must write, the result or something that depends on it (put_by). A kernel with several contractions, of which
 *   none can have more than `company`, moves as much as any of them asks, and so at least the sum of each one's part;
 * - a solo primitive: the same for its arguments. Several of one kernel may ask for the same: a tensor on the way from
 *   where the arguments come is charged to one of those that may share a kernel.
 * Graph inputs and outputs have charges of their own, and count nothing here. */
#include "plan/search/charges.h"

#include "fusion/chain.h"
#include "plan/search/places.h"
#include <math.h>
#include <string.h>

enum {
    MOST_VISITED = 512, /* tensors looked at for one primitive */
    SIDES = 3
};

/* What a kernel with the primitive at place `of` moves. */
typedef struct {
    fsim_frontier *f;
    int of, company;
    bool through_l2;                /* asked for are bytes that pass through L2, not seconds of DRAM; */
    bool room;                      /* seconds: L2 may hold what the kernel finds or leaves there */
    const fsim_unit_seconds *input; /* per graph input: what it is charged elsewhere */
    int *seen;                      /* per tensor: the number of the walk that saw it last */
    double *known;                  /* and what that walk found */
    int walk, began;                /* walks from `began` on are this primitive's */
    int visited;
    bool meets; /* the walk has met a tensor of another walk of this primitive */
} mover;

static bool is_contraction(const fsim_frontier *f, int place) { return fsim_node_of(f, place)->gemm.k > 0; }

/* Can no kernel own both the place and the mover's primitive? */
static bool is_apart(mover *w, int place)
{
    fsim_places *l = &w->f->l;
    const bool product = is_contraction(w->f, w->of), other = is_contraction(w->f, place);
    if ((product && other && w->company < 2) || (product && fsim_is_solo(w->f, place)) ||
        (other && fsim_is_solo(w->f, w->of)))
        return true;
    return fsim_never_together(l, place, w->of);
}

/* What moving all of the tensor takes. */
static double moved_for(const mover *w, int t, bool write)
{
    const fsim_tensor *x = &w->f->p->graph->tensor[t];
    if (w->through_l2)
        return write ? (double)x->written_bytes : (double)x->bytes;
    if (w->room && fsim_may_reside(w->f->p, t))
        return 0;
    if (is_contraction(w->f, w->of)) /* what is computed from weights alone may be a part of one */
        return write ? w->f->write_s[t] : w->f->read_s[t];
    return fsim_least_dram_seconds(w->f->p->hw, write ? 0 : (double)x->bytes, write ? (double)x->written_bytes : 0,
                                   true);
}

/* Notes that the walk sees the tensor. False where it has; *known: what it found. */
static bool enter(mover *w, int t, double *known)
{
    *known = w->seen[t] == w->walk ? w->known[t] : 0;
    if (w->seen[t] == w->walk)
        return false;
    w->meets = w->meets || w->seen[t] >= w->began;
    w->seen[t] = w->walk;
    w->known[t] = 0;
    return ++w->visited <= MOST_VISITED;
}

/* The least that a kernel with the primitive moves to have all of tensor t: it reads t, or something that t is made
 * of. */
static double had_by(mover *w, int t)
{
    const fsim_frontier *f = w->f;
    const fsim_tensor *x = &f->p->graph->tensor[t];
    const int from = x->producer < 0 ? -1 : f->l.place[x->producer];
    double made = 0;
    if (!enter(w, t, &made))
        return made;
    if (x->producer < 0) { /* graph inputs may be charged elsewhere */
        const bool counts =
            w->through_l2 ? f->read_s[t] > 0 : !is_contraction(f, w->of) && w->input[t].s[FSIM_FLOOR_DRAM] == 0;
        return w->known[t] = counts ? moved_for(w, t, false) : 0;
    }
    if (from < 0 || (!w->through_l2 && w->input[t].s[FSIM_FLOOR_DRAM] > 0)) /* written in place: charged elsewhere */
        return 0;
    const double read = moved_for(w, t, false);
    if (read == 0 || (!f->l.clonable[from] && is_apart(w, from)))
        return w->known[t] = read;
    for (int k = 0; k < fsim_node_of(f, from)->args; k++) {
        const fsim_access *y = &fsim_node_of(f, from)->arg[k];
        if (y->how == FSIM_READ_MAP && y->distinct == f->p->graph->tensor[y->tensor].elems)
            made = fmax(made, had_by(w, y->tensor));
    }
    return w->known[t] = fmin(made, read);
}

/* The least that a kernel with the primitive writes because it has tensor t, which can't be computed again: t, or,
 * where it has all that reads t, what it has for one of these. */
static double put_by(mover *w, int t)
{
    const fsim_frontier *f = w->f;
    const fsim_tensor *x = &f->p->graph->tensor[t];
    double least = 0;
    if (!enter(w, t, &least) || x->over >= 0 || x->overwritten)
        return least;
    if (x->output && !w->through_l2) /* charged elsewhere */
        return 0;
    const double written = moved_for(w, t, true);
    if (written == 0 || f->l.must[f->l.place[x->producer]])
        return w->known[t] = written;
    for (int r = 0; r < x->readers; r++) {
        const int to = f->l.place[x->reader[r]];
        double after = 0;
        if (to < 0)
            continue; /* a reader outside of the list may be left out */
        if (is_apart(w, to))
            return w->known[t] = written;
        for (int i = 0; i < fsim_node_of(f, to)->results; i++)
            after = fmax(after, put_by(w, fsim_node_of(f, to)->result[i]));
        least = fmax(least, after);
    }
    return w->known[t] = fmin(least, written);
}

/* The least that is read for all arguments. Where what they are made of may be the same, one of them counts. */
static double reads_of(mover *w)
{
    const fsim_frontier *f = w->f;
    const fsim_node *n = fsim_node_of(f, w->of);
    double sum = 0;
    w->began = w->walk + 1;
    w->visited = 0;
    for (int k = 0; k < n->args; k++) {
        const fsim_access *x = &n->arg[k];
        if (x->how == FSIM_READ_INDIRECT || x->distinct != f->p->graph->tensor[x->tensor].elems)
            continue;
        w->walk++;
        w->meets = false;
        const double had = had_by(w, x->tensor);
        sum = w->meets ? fmax(sum, had) : sum + had;
    }
    return sum;
}

static double writes_of(mover *w)
{
    const fsim_node *n = fsim_node_of(w->f, w->of);
    w->began = ++w->walk;
    w->visited = 0;
    return w->f->l.clonable[w->of] || n->results != 1 ? 0 : put_by(w, n->result[0]);
}

/* What the kernel of a contraction moves, beside graph inputs and outputs. */
static double moved_with(mover *w)
{
    w->through_l2 = true;
    w->room = reads_of(w) + writes_of(w) <= fsim_l2_effective(w->f->p->hw);
    w->through_l2 = false;
    return reads_of(w) + writes_of(w);
}

/* Does every kernel with the primitive store its result, which is no output? */
static bool is_always_stored(mover *w)
{
    const fsim_frontier *f = w->f;
    const fsim_node *n = fsim_node_of(f, w->of);
    const fsim_tensor *t = &f->p->graph->tensor[n->result[0]];
    bool stored = f->l.must[w->of];
    for (int r = 0; r < t->readers && !stored; r++) {
        const int to = f->l.place[t->reader[r]];
        stored = to >= 0 && !f->l.clonable[w->of] && is_apart(w, to);
    }
    return stored && n->results == 1 && !t->output && t->over < 0 && !t->overwritten;
}

/* Charges a solo primitive for its result, where that is stored, and for the arguments on whose ways no tensor was
 * charged to another one that may share its kernel. taken: per tensor, 1 + the primitive to which one on its way is
 * charged; -1 for several. */
static void charge_solo(mover *w, int *taken, fsim_unit_seconds *own)
{
    const fsim_frontier *f = w->f;
    const fsim_graph *g = f->p->graph;
    w->through_l2 = false;
    w->room = true;
    for (int k = 0; k < fsim_node_of(f, w->of)->args; k++) {
        const fsim_access *x = &fsim_node_of(f, w->of)->arg[k];
        if ((x->how != FSIM_READ_MAP && x->how != FSIM_READ_PIECE) || x->distinct != g->tensor[x->tensor].elems)
            continue;
        w->began = ++w->walk;
        w->visited = 0;
        const double had = had_by(w, x->tensor);
        bool free = had > 0;
        for (int t = 0; t < g->tensors && free; t++)
            free = w->seen[t] != w->walk || taken[t] == 0 || (taken[t] > 0 && is_apart(w, taken[t] - 1));
        for (int t = 0; t < g->tensors && free; t++)
            if (w->seen[t] == w->walk)
                taken[t] = taken[t] == 0 ? w->of + 1 : -1;
        own->s[FSIM_FLOOR_DRAM] += free ? had : 0;
    }
    own->s[FSIM_FLOOR_DRAM] += is_always_stored(w) ? moved_for(w, fsim_node_of(f, w->of)->result[0], true) : 0;
}

static int root_of(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static const double most_beside = 0.1, work_beside = 0.978; /* 0.1^1.5 + 0.978^1.5 < 1 */

/* Two contractions that a kernel may chain, and a lower bound of what it takes then, beside most_beside of what else it
 * moves. */
typedef struct {
    int first, second;
    double least_s;
} pair;

/* What is known of contractions while they are grouped. */
typedef struct {
    fsim_frontier *f;
    const bool *masked;
    int *parent;
    bool *single;
    double *moves_s, *charged_s; /* per place: DRAM beside graph inputs and outputs; at most what it is charged */
    pair *pair;
    int pairs, room;
} grouping;

static double least_of_pair(const grouping *w, int first, int second, const fsim_joint *chain)
{
    const fsim_frontier *f = w->f;
    const fsim_chain_pair both = {f->l.node[first],
                                  chain->second,
                                  (double)chain->rows,
                                  (double)chain->width,
                                  w->masked[first] || w->masked[second],
                                  false};
    const double work = fsim_least_chain_call_s(f->p->graph, f->p->hw, both, fsim_floor_launch(f->p)),
                 dram = fmax(w->moves_s[first], w->moves_s[second]),
                 norm = cbrt(work * work * work + dram * dram * dram);
    const bool beside = dram * dram >= most_beside * norm * norm;
    return fsim_floor_launch(f->p) + fmax(work_beside * work + most_beside * dram, beside ? norm : 0);
}

static void join(grouping *w, int x, int y)
{
    w->single[x] = w->single[y] = false;
    w->parent[root_of(w->parent, x)] = root_of(w->parent, y);
}

/* May a kernel have the contraction beside others that read the same? A chain has two. */
static bool has_siblings(const fsim_frontier *f, int place)
{
    const fsim_limits limits = fsim_limits_of(f->p);
    return fsim_contraction_siblings(&limits, f->l.node[place]) > 0;
}

static void join_siblings(grouping *w, int i)
{
    const fsim_places *l = &w->f->l;
    const fsim_tensor *t = &l->p->graph->tensor[fsim_place_node(l, i)->arg[0].tensor];
    w->single[i] = w->single[i] && !has_siblings(w->f, i);
    for (int r = 0; r < t->readers; r++) {
        const int other = l->place[t->reader[r]];
        if (other >= 0 && other != i && fsim_may_be_siblings(l, i, other) && has_siblings(w->f, i) &&
            has_siblings(w->f, other))
            join(w, i, other);
    }
}

/* Groups contractions that may share a kernel but for chains, of which it lists those that a kernel may have. */
static void find_groups(grouping *w)
{
    enum { MOST_CHAINS = 16 };
    fsim_places *l = &w->f->l;
    fsim_joint *chain = fsim_new(l->a, fsim_joint, MOST_CHAINS);
    const fsim_limits limits = fsim_limits_of(l->p);
    int many = -1; /* one that may be in more chains than are known */
    for (int i = 0; i < l->count; i++) {
        w->parent[i] = i;
        w->single[i] = is_contraction(w->f, i);
    }
    for (int i = 0; i < l->count; i++) {
        if (!is_contraction(w->f, i))
            continue;
        join_siblings(w, i);
        const int chains = fsim_chains_from(&limits, l->node[i], chain, MOST_CHAINS);
        for (int k = 0; k < chains; k++) {
            const int second = l->place[chain[k].second];
            if (second >= 0 && !fsim_across_barrier(l, i, second))
                *FSIM_PUSH(l->a, w->pair, w->pairs, w->room) =
                    (pair){i, second, least_of_pair(w, i, second, &chain[k])};
        }
        many = chains < 0 ? i : many;
    }
    for (int i = 0; i < l->count && many >= 0; i++)
        if (is_contraction(w->f, i) && fsim_contraction_company(&limits, l->node[i]) > 1)
            join(w, i, many);
    for (int i = 0; i < l->count; i++)
        w->parent[i] = root_of(w->parent, i);
}

/* By how much a pair is charged more than its chain takes. */
static double excess_of(const grouping *w, const pair *x)
{
    return fmax(0, w->charged_s[x->first] + w->charged_s[x->second] - x->least_s);
}

/* Charges as much as no pair's chain forbids, at most most_s[place]. */
static void raise(grouping *w, const double *most_s)
{
    for (int i = 0; i < w->f->l.count; i++) {
        double least = most_s[i];
        for (int k = 0; k < w->pairs && w->charged_s[i] < least; k++) {
            const pair *x = &w->pair[k];
            if (x->first == i || x->second == i)
                least = fmin(least, (x->least_s - w->charged_s[x->first == i ? x->second : x->first]) * (1 - 1e-12));
        }
        w->charged_s[i] = fmax(w->charged_s[i], least);
    }
}

/* Charges less until no pair is charged more than its chain takes: again and again the contraction of the most such
 * pairs. */
static void settle_pairs(grouping *w, fsim_arena *a)
{
    int *pairs = fsim_new(a, int, w->f->l.count + 1);
    for (bool more = true; more;) {
        int most = -1;
        memset(pairs, 0, (size_t)w->f->l.count * sizeof *pairs);
        for (int k = 0; k < w->pairs; k++)
            if (excess_of(w, &w->pair[k]) > 0) {
                const int end[2] = {w->pair[k].first, w->pair[k].second};
                for (int e = 0; e < 2; e++) {
                    pairs[end[e]] += w->charged_s[end[e]] > 0;
                    most = most < 0 || pairs[end[e]] > pairs[most] ? end[e] : most;
                }
            }
        double excess = 0;
        for (int k = 0; k < w->pairs; k++)
            if (w->pair[k].first == most || w->pair[k].second == most)
                excess = fmax(excess, excess_of(w, &w->pair[k]));
        more = most >= 0;
        if (more)
            w->charged_s[most] = excess >= w->charged_s[most] ? 0 : (w->charged_s[most] - excess) * (1 - 1e-12);
    }
}

/* The group of all of a tensor's readers; -1 where they have none, or several. */
static int group_of_readers(const fsim_frontier *f, const int *group, int tensor)
{
    const fsim_tensor *t = &f->p->graph->tensor[tensor];
    int of = -1;
    for (int r = 0; r < t->readers; r++) {
        const int place = f->l.place[t->reader[r]];
        if (place < 0 || !is_contraction(f, place) || (of >= 0 && of != group[place]))
            return -1;
        of = group[place];
    }
    return of;
}

/* Weights whose dual norm is one, for which w . (dram, work) is most. Convolutions of a library combine both by a norm
 * of 4, all else by one of 3. */
static void weigh(double dram, double work, bool convolution, double *w_dram, double *w_work)
{
    const double p = convolution ? 4 : 3, norm = pow(pow(dram, p) + pow(work, p), 1 / p);
    *w_dram = norm > 0 ? pow(dram / norm, p - 1) : 1; /* nothing is charged: whatever its kernel has besides counts */
    *w_work = norm > 0 ? pow(work / norm, p - 1) : 0;
}

/* Finds the weights of groups, and in least[side] the least of DRAM's that a kernel with something of that side may
 * have. */
static void weigh_groups(fsim_frontier *f, const fsim_unit_seconds *own, const fsim_unit_seconds *input,
                         const int *group, double *least, fsim_charges *out)
{
    const int count = f->l.count;
    double *dram = fsim_new(f->a, double, count + 1), *work = fsim_new(f->a, double, count + 1);
    bool *convolution = fsim_new(f->a, bool, count + 1);
    for (int i = 0; i < count; i++)
        if (is_contraction(f, i)) {
            dram[group[i]] += own[i].s[FSIM_FLOOR_DRAM];
            work[group[i]] += own[i].s[FSIM_FLOOR_WORK];
            convolution[group[i]] = convolution[group[i]] || fsim_node_of(f, i)->gemm.convolution;
        }
    for (int t = 0; t < f->p->graph->tensors; t++) {
        const int of = input[t].s[FSIM_FLOOR_DRAM] > 0 ? group_of_readers(f, group, t) : -1;
        if (of >= 0)
            dram[of] += input[t].s[FSIM_FLOOR_DRAM];
    }
    for (int i = 0; i < count; i++)
        if (is_contraction(f, i)) {
            weigh(dram[group[i]], work[group[i]], convolution[group[i]], &out->dram[i], &out->work[i]);
            for (int s = 0; s < SIDES; s++) {
                const fsim_side of = fsim_node_of(f, i)->side;
                if (of == (fsim_side)s || of == FSIM_EITHER_SIDE || s == FSIM_EITHER_SIDE)
                    least[s] = fmin(least[s], out->dram[i]);
            }
        }
}

bool fsim_is_solo(const fsim_frontier *f, int place) { return f->l.aloof[place] || f->l.solo[place]; }

/* Is the primitive one of a kernel that costs something, and nothing known already? */
static bool is_charged(const fsim_frontier *f, int place)
{
    return !fsim_may_be_free(f, place) && f->floor_alone[place] == 0 && f->whole[place];
}

static double norm_of(double dram, double work) { return cbrt(dram * dram * dram + work * work * work); }

/* Charges contractions for what their kernels move and compute. start[place]: the launch that is charged. Sets
 * part[place] to the part of its charge that counts. */
static void charge_contractions(mover *w, grouping *by, fsim_unit_seconds *own, double *start, double *part)
{
    fsim_frontier *f = w->f;
    const fsim_limits limits = fsim_limits_of(f->p);
    for (int i = 0; i < f->l.count; i++)
        if (is_contraction(f, i) && is_charged(f, i)) {
            w->of = i;
            w->company = fsim_contraction_company(&limits, f->l.node[i]);
            by->moves_s[i] = moved_with(w);
        }
    find_groups(by);
    for (int i = 0; i < f->l.count; i++) {
        if (!is_contraction(f, i) || !is_charged(f, i))
            continue;
        const int company = by->single[i] ? 1 : fsim_contraction_company(&limits, f->l.node[i]);
        start[i] = fsim_floor_launch(f->p) / company;
        own[i].s[FSIM_FLOOR_DRAM] += by->moves_s[i] / company;
        if (by->single[i])
            own[i].s[FSIM_FLOOR_WORK] = fsim_contraction_alone_for(f->p, f->l.node[i]);
        double dram = own[i].s[FSIM_FLOOR_DRAM];
        for (int k = 0; k < fsim_node_of(f, i)->args; k++)
            dram += w->input[fsim_node_of(f, i)->arg[k].tensor].s[FSIM_FLOOR_DRAM];
        part[i] = by->charged_s[i] = start[i] + norm_of(dram, own[i].s[FSIM_FLOOR_WORK]);
    }
    settle_pairs(by, f->a);
    raise(by, part);
    for (int i = 0; i < f->l.count; i++)
        part[i] = part[i] > 0 ? by->charged_s[i] / part[i] : 1;
}

bool fsim_find_charges(fsim_frontier *f, const bool *masked, fsim_unit_seconds *own, const fsim_unit_seconds *input,
                       fsim_charges *out)
{
    const fsim_graph *g = f->p->graph;
    const int count = f->l.count;
    if (!f->products || f->arithmetic || f->p->objective == FSIM_MINIMISE_BYTES || (f->side && f->side->within_call))
        return false;
    *out = (fsim_charges){fsim_new(f->a, double, count + 1), fsim_new(f->a, double, count + 1),
                          fsim_new(f->a, double, g->tensors + 1), fsim_new(f->a, double, count + 1)};
    mover w = {.f = f,
               .input = input,
               .seen = fsim_new(f->a, int, g->tensors + 1),
               .known = fsim_new(f->a, double, g->tensors + 1)};
    grouping by = {.f = f,
                   .masked = masked,
                   .parent = fsim_new(f->a, int, count + 1),
                   .single = fsim_new(f->a, bool, count + 1),
                   .moves_s = fsim_new(f->a, double, count + 1),
                   .charged_s = fsim_new(f->a, double, count + 1)};
    double *part = fsim_new(f->a, double, count + 1);
    int *taken = fsim_new(f->a, int, g->tensors + 1);
    double least[SIDES] = {most_beside, most_beside, most_beside};
    charge_contractions(&w, &by, own, out->start, part);
    for (int i = 0; i < count; i++) {
        w.of = i;
        w.company = 1;
        if (is_charged(f, i) && fsim_is_solo(f, i))
            charge_solo(&w, taken, &own[i]);
    }
    weigh_groups(f, own, input, by.parent, least, out);
    for (int i = 0; i < count; i++)
        if (!is_contraction(f, i))
            out->dram[i] = fsim_is_solo(f, i) ? 1 : least[fsim_node_of(f, i)->side];
    for (int i = 0; i < count; i++)
        if (is_contraction(f, i)) {
            out->dram[i] *= part[i];
            out->work[i] *= part[i];
            out->start[i] *= part[i];
        }
    for (int t = 0; t < g->tensors; t++) {
        out->input[t] = 1;
        for (int r = 0; r < g->tensor[t].readers; r++) {
            const int place = f->l.place[g->tensor[t].reader[r]];
            out->input[t] = fmin(out->input[t], place < 0 ? least[FSIM_EITHER_SIDE] : out->dram[place]);
        }
    }
    return true;
}
