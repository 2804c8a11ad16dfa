/* SPDX-License-Identifier: Apache-2.0 */
/* relaxed.c: what a kernel costs in a search: with the best contents of L2 that a plan could have, and at least,
 * whatever clones it has. */
#include "fusion/fuse.h"
#include "plan/search/floor.h"
#include "plan/search/places.h"
#include "plan/search/states.h"

#include <math.h>

/* May a kernel with the reader have been launched before the set's? Where parts of larger kernels are launched apart,
 * those wait for less here than in a plan: so for less does whatever needs them. Another reader may come first in the
 * plan then, unless it needs a member. */
static bool may_come_first(const expansion *x, int reader)
{
    const fsim_places *l = &x->f->l;
    bool first = l->parted && l->any_joinable && !x->as_launched;
    FSIM_EACH_BIT(i, x->set->own)
    {
        const int at = x->root - FSIM_BACK + i;
        first = first && at != reader && !(at < reader && fsim_leads_to(l, at, reader));
    }
    return first;
}

/* May something have read the tensor before the set's kernel does? */
static bool was_read(const expansion *x, int tensor)
{
    const fsim_tensor *t = &x->f->p->graph->tensor[tensor];
    bool before = x->anywhere ? x->f->read_outside[tensor] : fsim_read_before(x->f, &x->at, tensor);
    for (int r = 0; r < t->readers && !before; r++) {
        const int place = x->f->l.place[t->reader[r]], bit = place < 0 ? -1 : fsim_bit_of(x, place);
        const bool own = bit >= 0 && bit < FSIM_BITS && fsim_bit(&x->set->own, bit);
        before = x->anywhere ? !own : place >= 0 && !own && may_come_first(x, place);
    }
    return before;
}

fsim_sum fsim_relaxed_cost(const expansion *x, fsim_variant *v)
{
    const fsim_frontier *f = x->f;
    const fsim_graph *g = f->p->graph;
    const bool room = fsim_bytes_in_flight(f->p->graph, v->kernel->group) <= fsim_l2_effective(f->p->hw),
               finds = room || f->l.parted; /* parts of a kernel may read together what each would read for itself */
    uint64_t hit = 0, absorbed = 0;
    for (int i = 0; i < v->reads && i < 64 && finds; i++) {
        const int t = fsim_touched(&f->l, x->root, &v->read[i], false);
        const bool before = g->tensor[t].producer >= 0 || f->p->warm || was_read(x, t);
        if (before && fsim_may_reside(f->p, t))
            hit |= (uint64_t)1 << i;
    }
    for (int i = 0; i < v->writes && i < 64 && room; i++)
        if (v->write[i].intermediate)
            absorbed |= (uint64_t)1 << i;
    return fsim_cost_of(&x->f->l, v, hit, absorbed);
}

/* Has the chain `o` of the set a member that no call for an attention has, whatever clones there are? */
static bool is_more_than_attention(const expansion *x, const fsim_group *o)
{
    FSIM_EACH_BIT(i, x->set->own)
    {
        const int node = x->f->l.node[x->root - FSIM_BACK + i], m = fsim_member_of(o, node);
        if (m >= 0 && !fsim_is_of_attention(x->f->p->graph, &o->member[m]))
            return true;
    }
    return false;
}

/* Adds what the set takes of other units than DRAM where its kernel has no contraction, though the list has some: then
 * each whole member is computed as it is written, and what is accessed passes through L2. */
static void add_plain(const expansion *x, const fsim_least_traffic *traffic, const fsim_bits *whole,
                      fsim_unit_seconds *all)
{
    const fsim_frontier *f = x->f;
    if (!f->products || f->p->objective == FSIM_MINIMISE_BYTES)
        return;
    FSIM_EACH_BIT(i, x->set->own)
    if (!fsim_floor_is_plain(fsim_node_of(f, x->root - FSIM_BACK + i)))
        return;
    const fsim_floor floor = fsim_floor_of_plain(f->p);
    fsim_unit_seconds own = {{0}};
    FSIM_EACH_BIT(i, *whole)
    fsim_floor_add(&own, fsim_floor_arithmetic(&floor, fsim_node_of(f, x->root - FSIM_BACK + i)));
    for (int u = 0; u < FSIM_FLOOR_UNITS; u++)
        all->s[u] = fmax(all->s[u], own.s[u]);
    fsim_floor_add(all, fsim_floor_accesses(&floor, traffic->accessed_bytes, traffic->accessed_elems));
}

/* How many launches the set's kernel has at least. Where it has no contraction, but reductions over different numbers
 * of values, neither over stretches of the other's rows, some of them are sums over all rows, which a second launch
 * adds up. */
static int least_launches(const expansion *x)
{
    const fsim_graph *g = x->f->p->graph;
    int first = -1, launches = 1;
    FSIM_EACH_BIT(i, x->set->own)
    {
        const int at = x->f->l.node[x->root - FSIM_BACK + i];
        if (g->node[at].gemm.k)
            return 1;
        if (fsim_ops[g->node[at].op].class != FSIM_REDUCE)
            continue;
        first = first < 0 ? at : first;
        if (g->node[at].reduced != g->node[first].reduced && !fsim_may_reduce_stretches(g, at, first) &&
            !fsim_may_reduce_stretches(g, first, at))
            launches = 2;
    }
    return launches;
}

/* work_s: what its contraction takes besides, at least. */
static fsim_sum least_with(const expansion *x, const fsim_variant *v, double work_s)
{
    const fsim_frontier *f = x->f;
    fsim_unit_seconds all = {{0}};
    int seen[FSIM_BITS], count = 0;
    const fsim_bits whole = fsim_whole_members(f, x->root, x->set);
    FSIM_EACH_BIT(i, whole)
    {
        const fsim_node *n = fsim_node_of(f, x->root - FSIM_BACK + i);
        fsim_floor_add(&all, f->units[x->root - FSIM_BACK + i]);
        for (int k = 0; k < n->args; k++) {
            const int t = n->arg[k].tensor;
            bool again = f->p->graph->tensor[t].producer >= 0 || /* part of the traffic below */
                         !fsim_reads_whole_input(f, x->root - FSIM_BACK + i, k) || count == FSIM_BITS || was_read(x, t);
            for (int q = 0; q < count && !again; q++)
                again = seen[q] == t;
            if (again)
                continue;
            seen[count++] = t;
            fsim_floor_add(&all, f->input[t]);
        }
    }
    const fsim_least_traffic traffic = fsim_least_traffic_of(x->f, x->set, x->root);
    all.s[FSIM_FLOOR_DRAM] += traffic.bytes > fsim_l2_effective(f->p->hw) ? traffic.without_room : traffic.with_room;
    add_plain(x, &traffic, &whole, &all);
    const double unit = f->p->objective == FSIM_MINIMISE_BYTES ? 1 : 1 / FSIM_TICK_S;
    all.s[FSIM_FLOOR_WORK] = fmax(all.s[FSIM_FLOOR_WORK], fmax(work_s, fsim_least_contractions_s(x, &whole)));
    const fsim_group *o = v ? v->kernel->group : NULL;
    if (o && o->template == FSIM_CHAINED_CONTRACTION && f->p->objective != FSIM_MINIMISE_BYTES) {
        const fsim_chain_pair pair = {o->first,         o->anchor,     (double)o->rows,
                                      (double)o->width, o->causal > 0, is_more_than_attention(x, o)};
        all.s[FSIM_FLOOR_WORK] =
            fmax(all.s[FSIM_FLOOR_WORK], fsim_least_chain_call_s(f->p->graph, f->p->hw, pair, fsim_floor_launch(f->p)));
    }
    return (fsim_sum)((least_launches(x) * f->floor_launch + fsim_floor_norm(&all) * unit) * (1 - 1e-9));
}

fsim_sum fsim_least_with(const expansion *x, const fsim_variant *v) { return least_with(x, v, 0); }

bool fsim_is_joinable_here(const expansion *x)
{
    fsim_own_set *s = x->set;
    if (x->f->run || !(s->joinable || s->joinable_product))
        return s->joinable || s->joinable_product;
    if (s->asked != fsim_asked_for(&x->f->l, x->root)) {
        s->has_company = fsim_may_be_beside(&x->f->l, x->root, s);
        s->asked = fsim_asked_for(&x->f->l, x->root);
    }
    return s->has_company;
}

/* What a kernel with the set costs at least where it stores something, in this part or another one, that has no place
 * in a tile of its contraction; FSIM_NEVER where it has none, or several. */
static fsim_sum least_untiled(const expansion *x)
{
    const fsim_problem *p = x->f->p;
    int contraction = -1, count = 0;
    FSIM_EACH_BIT(i, x->set->own)
    if (fsim_node_of(x->f, x->root - FSIM_BACK + i)->gemm.k) {
        contraction = x->f->l.node[x->root - FSIM_BACK + i];
        count++;
    }
    if (count != 1 || p->objective == FSIM_MINIMISE_BYTES)
        return FSIM_NEVER;
    return least_with(x, NULL, fsim_contraction_untiled_s(p->graph, p->hw, contraction) * (1 - 1e-9));
}

/* The least of `known` and what the kernel costs with one result more that may be stored: a library's call writes two
 * at most, and where v lacks one of these, it is no call. */
static fsim_sum least_storing_one_more(expansion *x, const fsim_variant *v, fsim_sum known)
{
    bool multiplies = false;
    FSIM_EACH_BIT(i, x->set->own)
    multiplies = multiplies || fsim_is_product(fsim_node_of(x->f, x->root - FSIM_BACK + i));
    if (!multiplies || fsim_bits_count(&v->stored) != 1)
        return known;
    FSIM_EACH_BIT(i, x->set->may)
    {
        fsim_bits stored = v->stored;
        fsim_bit_set(&stored, i);
        fsim_variant *more = fsim_variant_of(&x->f->l, x->family, x->set, &v->clones, &stored);
        const fsim_sum cost = more ? fsim_relaxed_cost(x, more) : -1;
        known = cost >= 0 && cost < known ? cost : known;
    }
    return known;
}

fsim_sum fsim_cost_alone(expansion *x, fsim_variant *v, bool many)
{
    const fsim_sum cost = fsim_relaxed_cost(x, v);
    if (!many || cost < 0)
        return cost;
    const fsim_sum least = least_storing_one_more(x, v, fsim_least_without_call(&x->f->l, v, cost));
    return fsim_bits_empty(&x->set->may) ? least : fsim_sum_least(least, least_untiled(x));
}

fsim_sum fsim_least_as_part(const expansion *x, fsim_variant *v, fsim_sum alone)
{
    if (fsim_is_borrowed(x))
        return 0;
    if (!fsim_is_joinable_here(x))
        return alone;
    const fsim_sum least = x->set->joinable ? fsim_least_joined(x->f, x->set, x->root, v, x->clipped)
                                            : fsim_sum_least(fsim_least_beside(&x->f->l, v, alone), least_untiled(x));
    return least < alone ? least : alone;
}
