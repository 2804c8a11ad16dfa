/* SPDX-License-Identifier: Apache-2.0 */
/* variants.c: sets with clones and a choice of stored results, as kernels with costs. */
#include "plan/search/places.h"

#include "plan/price/user_rules.h"

static void find_touches(const fsim_places *l, const fsim_family *f, fsim_bits all, fsim_variant *v)
{
    const fsim_graph *g = l->p->graph;
    const fsim_group *o = v->kernel->group;
    const int base = f->root - FSIM_BACK;
    v->read = fsim_new(l->a, fsim_touch, o->reads + 1);
    v->read_at = fsim_new(l->a, int, o->reads + 1);
    v->write = fsim_new(l->a, fsim_touch, o->writes + 1);
    v->write_at = fsim_new(l->a, int, o->writes + 1);
    FSIM_EACH_BIT(i, all)
    {
        const fsim_node *n = fsim_place_node(l, base + i);
        for (int k = 0; k < n->args; k++)
            for (int r = 0; r < o->reads; r++) {
                bool known = o->read[r].tensor != n->arg[k].tensor;
                for (int j = 0; j < v->reads && !known; j++)
                    known = v->read_at[j] == r;
                if (known)
                    continue;
                v->read_at[v->reads] = r;
                v->read[v->reads++] = (fsim_touch){i - FSIM_BACK, k, o->read[r].bytes, o->read[r].whole, false};
            }
        for (int k = 0; k < n->results; k++)
            for (int w = 0; w < o->writes; w++)
                if (o->write[w].tensor == n->result[k]) {
                    const fsim_tensor *t = &g->tensor[n->result[k]];
                    v->write_at[v->writes] = w;
                    v->write[v->writes++] =
                        (fsim_touch){i - FSIM_BACK, k, t->written_bytes, t->over < 0,
                                     !t->output && !t->materialize && t->readers > 0 && fsim_is_passing(t)};
                }
    }
}

static uint64_t hash_of(const fsim_bits *clones, const fsim_bits *stored)
{
    uint64_t h = 1;
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        h = fsim_mix(fsim_mix(h, clones->w[i]), stored->w[i]);
    return h;
}

/* Makes room for one variant more. */
static void make_room(const fsim_places *l, fsim_own_set *s)
{
    enum { FIRST = 8 };
    if (s->variants++ < s->slots)
        return;
    fsim_variant **old = s->slot;
    const int slots = s->slots;
    s->slots = slots ? 4 * slots : FIRST;
    s->slot = fsim_new(l->a, fsim_variant *, s->slots);
    for (int i = 0; i < slots; i++)
        for (fsim_variant *v = old[i], *next; v; v = next) {
            fsim_variant **to = &s->slot[hash_of(&v->clones, &v->stored) & (uint64_t)(s->slots - 1)];
            next = v->next;
            v->next = *to;
            *to = v;
        }
}

fsim_variant *fsim_variant_of(fsim_places *l, const fsim_family *f, fsim_own_set *s, const fsim_bits *clones,
                              const fsim_bits *stored)
{
    const uint64_t hash = hash_of(clones, stored);
    for (fsim_variant *v = s->slots ? s->slot[hash & (uint64_t)(s->slots - 1)] : NULL; v; v = v->next)
        if (fsim_bits_equal(&v->clones, clones) && fsim_bits_equal(&v->stored, stored))
            return v->kernel ? v : NULL;
    fsim_variant *v = fsim_new(l->a, fsim_variant, 1);
    int node[FSIM_BITS];
    bool flag[FSIM_BITS];
    fsim_refusal why;
    const int base = f->root - FSIM_BACK;
    const fsim_bits all = fsim_bits_or(s->own, *clones);
    const int count = fsim_set_primitives(l, base, all, node);
    int k = 0;
    make_room(l, s);
    fsim_variant **slot = &s->slot[hash & (uint64_t)(s->slots - 1)];
    *v = (fsim_variant){.next = *slot, .clones = *clones, .stored = *stored};
    *slot = v;
    FSIM_EACH_BIT(i, all)
    flag[k++] = fsim_bit(stored, i);
    if ((!s->connected && !fsim_set_connected(l, base, all)) || !fsim_user_allows(l->p, node, count, &why))
        return NULL;
    fsim_candidate *c = fsim_candidate_of(l->p, node, count, flag);
    if (!c->legal)
        return NULL;
    v->kernel = c;
    find_touches(l, f, all, v);
    return v;
}

fsim_sum fsim_cost_of(fsim_places *l, fsim_variant *v, uint64_t hit, uint64_t absorbed)
{
    for (const fsim_cost *c = v->costs; c; c = c->next)
        if (c->hit == hit && c->absorbed == absorbed)
            return c->cost;
    fsim_cost *c = fsim_new(l->a, fsim_cost, 1);
    const fsim_mark mark = fsim_save(l->a);
    bool *hits = fsim_new(l->a, bool, v->reads + 1), *absorbs = fsim_new(l->a, bool, v->writes + 1);
    for (int i = 0; i < v->reads; i++) /* reads beyond the first 64 hit L2 */
        hits[v->read_at[i]] =
            i < 64 ? hit >> i & 1 : fsim_may_reside(l->p, v->kernel->group->read[v->read_at[i]].tensor);
    for (int i = 0; i < v->writes; i++)
        absorbs[v->write_at[i]] =
            i < 64 ? absorbed >> i & 1
                   : v->write[i].intermediate && (double)v->write[i].bytes <= fsim_l2_effective(l->p->hw);
    const fsim_kernel *k = fsim_kernel_for(l->p, v->kernel, hits, absorbs);
    *c = (fsim_cost){v->costs, hit, absorbed, k ? fsim_objective_of(l->p, k) : -1};
    fsim_rewind(l->a, mark);
    v->costs = c;
    return c->cost;
}

bool fsim_is_poor_call(fsim_places *l, fsim_variant *v) { return fsim_loses_as_call(l, v->kernel); }

bool fsim_loses_as_call(fsim_places *l, fsim_candidate *kernel)
{
    const fsim_call_lead *lead = kernel->legal ? fsim_call_lead_for(l->p, kernel) : &(fsim_call_lead){0};
    return lead->call &&
           (l->p->objective == FSIM_MINIMISE_BYTES ? lead->beyond_bytes > 0 : lead->ours_s < lead->call_s);
}

fsim_sum fsim_least_without_call(fsim_places *l, fsim_variant *v, fsim_sum call)
{
    const fsim_call_lead *lead = fsim_call_lead_for(l->p, v->kernel);
    if (!fsim_is_poor_call(l, v) || !fsim_call_loses_for(l->p, v->kernel))
        return call;
    const fsim_sum ours =
        l->p->objective == FSIM_MINIMISE_BYTES ? call - (fsim_sum)lead->beyond_bytes : fsim_ticks(lead->ours_s);
    return ours < 0 ? 0 : ours < call ? ours : call;
}

fsim_sum fsim_least_beside(fsim_places *l, fsim_variant *v, fsim_sum call)
{
    const fsim_call_lead *lead = fsim_call_lead_for(l->p, v->kernel);
    const fsim_sum ours = fsim_least_without_call(l, v, call);
    if (l->p->objective == FSIM_MINIMISE_BYTES || !lead->call || !(lead->by_rows_s < lead->call_s))
        return ours;
    return fsim_sum_least(ours, fsim_ticks(lead->by_rows_s));
}

int fsim_touched(const fsim_places *l, int root, const fsim_touch *x, bool write)
{
    const fsim_node *n = fsim_place_node(l, root + x->offset);
    return write ? n->result[x->index] : n->arg[x->index].tensor;
}
