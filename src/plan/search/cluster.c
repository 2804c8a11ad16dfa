/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/cluster.h"

#include "fusion/fuse.h"
#include "fusion/sets.h"
#include "plan/price/price.h"
#include "plan/price/user_rules.h"
#include <string.h>

struct fsim_holders {
    int count, room, *part; /* part[0] is home */
};

static const fsim_tensor *result_of(const fsim_graph *g, int node, int r)
{
    return &g->tensor[g->node[node].result[r]];
}

int fsim_home(const fsim_clusters *c, int node) { return c->holders[node].count ? c->holders[node].part[0] : -1; }

/* Is the primitive in part x, at home or as a clone? */
static bool part_contains(const fsim_clusters *c, int x, int node)
{
    for (int i = 0; i < c->holders[node].count; i++)
        if (c->holders[node].part[i] == x)
            return true;
    return false;
}

static void drop_holder(fsim_clusters *c, int node, int x)
{
    struct fsim_holders *h = &c->holders[node];
    int kept = 0;
    for (int i = 0; i < h->count; i++)
        if (h->part[i] != x)
            h->part[kept++] = h->part[i];
    h->count = kept;
}

static void add_holder(fsim_clusters *c, int node, int x, bool home)
{
    struct fsim_holders *h = &c->holders[node];
    if (part_contains(c, x, node))
        return;
    *FSIM_PUSH(c->a, h->part, h->count, h->room) = x;
    if (home) {
        h->part[h->count - 1] = h->part[0];
        h->part[0] = x;
    }
}

fsim_partition fsim_singles(fsim_problem *p, fsim_arena *a)
{
    const int nodes = p->graph->nodes;
    fsim_partition out = {nodes, fsim_new(a, fsim_part, nodes + 1)};
    int *node = fsim_new(a, int, nodes + 1);
    bool *clone = fsim_new(a, bool, nodes + 1);
    for (int n = 0; n < nodes; n++) {
        node[n] = n;
        out.part[n] = (fsim_part){1, &node[n], &clone[n]};
    }
    return out;
}

bool fsim_as_asked(fsim_problem *p, fsim_arena *a, fsim_partition *out)
{
    const fsim_graph *g = p->graph;
    *out = (fsim_partition){0, fsim_new(a, fsim_part, g->nodes + g->fuses + 1)};
    int *part = fsim_new(a, int, g->nodes + 1),
        *node = fsim_new(a, int, g->nodes + 1); /* per primitive: 1 + the part that contains it */
    for (int s = 0; s < g->fuses; s++) {
        const int count = fsim_smallest_kernel(g, &g->fuse[s], node, a);
        for (int i = 0; i < count; i++) { /* overlapping sets become one */
            const int old = part[node[i]];
            for (int n = 0; old && old != s + 1 && n < g->nodes; n++)
                part[n] = part[n] == old ? s + 1 : part[n];
            part[node[i]] = s + 1;
        }
    }
    for (int s = 0; s < g->fuses; s++) {
        fsim_part x = {0, fsim_new(a, int, g->nodes), fsim_new(a, bool, g->nodes)};
        for (int n = 0; n < g->nodes; n++)
            if (part[n] == s + 1)
                x.node[x.count++] = n;
        fsim_group group;
        fsim_refusal why;
        if (x.count > 0 &&
            (!fsim_user_allows(p, x.node, x.count, &why) || !fsim_legal(&p->limits, x.node, x.count, a, &group, &why)))
            return false;
        if (x.count > 0)
            out->part[out->parts++] = x;
    }
    for (int n = 0; n < g->nodes; n++)
        if (part[n] == 0) {
            fsim_part *x = &out->part[out->parts++];
            *x = (fsim_part){1, fsim_new(a, int, 1), fsim_new(a, bool, 1)};
            x->node[0] = n;
        }
    return g->fuses > 0;
}

static bool reaches_memory(const fsim_graph *g, int node)
{
    bool must = g->node[node].effect;
    for (int r = 0; r < g->node[node].results; r++)
        must = must || result_of(g, node, r)->output || result_of(g, node, r)->materialize;
    return must;
}

fsim_clusters *fsim_clusters_of(fsim_problem *p, const fsim_partition *start, fsim_arena *a)
{
    fsim_clusters *c = fsim_new(a, fsim_clusters, 1);
    *c = (fsim_clusters){.p = p, .a = a, .parts = start->parts};
    c->part = fsim_new(a, fsim_part, c->parts + 1);
    c->rule = fsim_new(a, const char *, c->parts + 1);
    c->place = fsim_new(a, int, c->parts + 1);
    c->order = fsim_new(a, int, c->parts + 1);
    c->mark = fsim_new(a, int, c->parts + 1);
    c->reaches_memory = fsim_new(a, bool, p->graph->nodes + 1);
    for (int n = 0; n < p->graph->nodes; n++)
        c->reaches_memory[n] = reaches_memory(p->graph, n);
    c->stack = fsim_new(a, int, c->parts + 1);
    c->holders = fsim_new(a, struct fsim_holders, p->graph->nodes + 1);
    for (int i = 0; i < c->parts; i++) {
        c->part[i] = start->part[i];
        c->place[i] = c->order[i] = i;
        for (int k = 0; k < c->part[i].count; k++)
            add_holder(c, c->part[i].node[k], i, false);
    }
    return c;
}

/* Neighbours. */

typedef struct {
    fsim_clusters *c;
    int *at, count, room;
} listing;

static listing list_without(fsim_clusters *c, int x)
{
    c->mark[x] = ++c->stamp;
    return (listing){.c = c};
}

static void list(listing *l, int x)
{
    if (l->c->mark[x] == l->c->stamp)
        return;
    l->c->mark[x] = l->c->stamp;
    *FSIM_PUSH(l->c->a, l->at, l->count, l->room) = x;
}

static void list_readers(listing *l, const fsim_tensor *t, int made_by)
{
    for (int k = 0; k < t->readers; k++)
        for (int h = 0; h < l->c->holders[t->reader[k]].count; h++) {
            const int y = l->c->holders[t->reader[k]].part[h];
            if (made_by < 0 || !part_contains(l->c, y, made_by))
                list(l, y);
        }
}

int fsim_users(fsim_clusters *c, int x, int **out)
{
    const fsim_graph *g = c->p->graph;
    const fsim_part *part = &c->part[x];
    listing l = list_without(c, x);
    for (int i = 0; i < part->count; i++)
        for (int r = 0; fsim_home(c, part->node[i]) == x && r < g->node[part->node[i]].results; r++)
            list_readers(&l, result_of(g, part->node[i], r), part->node[i]);
    *out = l.at;
    return l.count;
}

int fsim_makers(fsim_clusters *c, int x, int **out)
{
    const fsim_graph *g = c->p->graph;
    const fsim_part *part = &c->part[x];
    listing l = list_without(c, x);
    for (int i = 0; i < part->count; i++)
        for (int k = 0; k < g->node[part->node[i]].args; k++) {
            const int from = g->tensor[g->node[part->node[i]].arg[k].tensor].producer;
            if (from >= 0 && !part_contains(c, x, from))
                list(&l, fsim_home(c, from));
        }
    *out = l.at;
    return l.count;
}

int fsim_sharers(fsim_clusters *c, int x, int **out)
{
    const fsim_graph *g = c->p->graph;
    const fsim_part *part = &c->part[x];
    listing l = list_without(c, x);
    for (int i = 0; i < part->count; i++) {
        const fsim_node *n = &g->node[part->node[i]];
        for (int k = 0; k < n->args + n->results; k++) {
            const fsim_tensor *t = &g->tensor[k < n->args ? n->arg[k].tensor : n->result[k - n->args]];
            if (t->readers > FSIM_MOST_READERS && k < n->args)
                continue;
            if (t->producer >= 0)
                list(&l, fsim_home(c, t->producer));
            list_readers(&l, t, -1);
        }
    }
    *out = l.at;
    return l.count;
}

bool fsim_must_store(const fsim_clusters *c, int x)
{
    for (int i = 0; i < c->part[x].count; i++)
        if (fsim_home(c, c->part[x].node[i]) == x && c->reaches_memory[c->part[x].node[i]])
            return true;
    return false;
}

/* Joining. */

static fsim_part united(fsim_arena *a, const fsim_part *x, const fsim_part *y)
{
    fsim_part out = {0, fsim_new(a, int, x->count + y->count), fsim_new(a, bool, x->count + y->count)};
    for (int i = 0, j = 0; i < x->count || j < y->count;) {
        const int n = j == y->count || (i < x->count && x->node[i] < y->node[j]) ? x->node[i] : y->node[j];
        i += i < x->count && x->node[i] == n;
        j += j < y->count && y->node[j] == n;
        out.node[out.count++] = n;
    }
    return out;
}

static fsim_part united_all(fsim_clusters *c, const int *id, int count)
{
    fsim_part all = c->part[id[0]];
    for (int i = 1; i < count; i++)
        all = united(c->a, &all, &c->part[id[i]]);
    return all;
}

static bool among(const int *id, int count, int x)
{
    for (int i = 0; i < count; i++)
        if (id[i] == x)
            return true;
    return false;
}

/* Does a part other than id[] read node n without computing it itself? */
static bool read_outside(const fsim_clusters *c, const int *id, int count, int n)
{
    const fsim_graph *g = c->p->graph;
    for (int r = 0; r < g->node[n].results; r++) {
        const fsim_tensor *t = result_of(g, n, r);
        for (int k = 0; k < t->readers; k++)
            for (int h = 0; h < c->holders[t->reader[k]].count; h++) {
                const int y = c->holders[t->reader[k]].part[h];
                if (!among(id, count, y) && !part_contains(c, y, n))
                    return true;
            }
    }
    return false;
}

typedef fsim_candidate *candidate_from(fsim_problem *p, const int *node, int count, const bool *stored);

/* Would the parts as one hold, at home there, something of the forward pass and something of the backward pass, where a
 * barrier is between the two? What leads to no output and waits for no gradient might be on either side of it; here it
 * stays in its own pass, so that no two parts wait for each other. */
static bool joins_passes(const fsim_clusters *c, const int *id, int count, const fsim_part *all)
{
    const fsim_graph *g = c->p->graph;
    bool forward = false, later = false;
    for (int i = 0; i < all->count && g->barrier; i++)
        if (among(id, count, fsim_home(c, all->node[i])))
            *(g->node[all->node[i]].phase == FSIM_FORWARD ? &forward : &later) = true;
    return forward && later;
}

static const fsim_kernel *joined(fsim_clusters *c, const int *id, int count, int dropped, candidate_from *candidate)
{
    fsim_refusal why;
    const fsim_kernel *kernel = NULL;
    const fsim_mark mark = fsim_save(c->a);
    const fsim_part all = united_all(c, id, count);
    bool *stored = fsim_new(c->a, bool, all.count + 1);
    for (int i = 0; i < all.count; i++) {
        const int n = all.node[i], home = fsim_home(c, n);
        stored[i] =
            home != dropped && among(id, count, home) && (c->reaches_memory[n] || read_outside(c, id, count, n));
    }
    if (count == 1 || (fsim_user_allows(c->p, all.node, all.count, &why) && !joins_passes(c, id, count, &all))) {
        fsim_candidate *k = candidate(c->p, all.node, all.count, stored);
        if (k->legal)
            kernel = fsim_kernel_for(c->p, k, fsim_new(c->a, bool, k->group->reads + 1),
                                     fsim_new(c->a, bool, k->group->writes + 1));
    }
    fsim_rewind(c->a, mark);
    return kernel;
}

const fsim_kernel *fsim_joined_kernel(fsim_clusters *c, const int *id, int count, int dropped)
{
    return joined(c, id, count, dropped, fsim_candidate_of);
}

const fsim_kernel *fsim_joined_like(fsim_clusters *c, const int *id, int count, int dropped)
{
    return joined(c, id, count, dropped, fsim_candidate_like);
}

/* Marks the parts other than id[] that depend on some of id[], up to the last one's place. True where id[] also
 * depends on a marked part. */
static bool mark_waiting(fsim_clusters *c, const int *id, int count)
{
    const fsim_graph *g = c->p->graph;
    int *stack = c->stack, depth = 0, last = 0;
    const int stamp = ++c->stamp;
    for (int i = 0; i < count; i++) {
        last = c->place[id[i]] > last ? c->place[id[i]] : last;
        stack[depth++] = id[i];
    }
    while (depth > 0) {
        const int x = stack[--depth];
        const bool inside = among(id, count, x);
        for (int i = 0; i < c->part[x].count; i++) {
            const int n = c->part[x].node[i];
            for (int r = 0; fsim_home(c, n) == x && r < g->node[n].results; r++) {
                const fsim_tensor *t = result_of(g, n, r);
                for (int k = 0; k < t->readers; k++)
                    for (int h = 0; h < c->holders[t->reader[k]].count; h++) {
                        const int y = c->holders[t->reader[k]].part[h];
                        if (c->place[y] > last || c->mark[y] == stamp || part_contains(c, y, n))
                            continue;
                        if (!among(id, count, y)) {
                            c->mark[y] = stamp;
                            stack[depth++] = y;
                        } else if (!inside) {
                            return true;
                        }
                    }
            }
        }
    }
    return false;
}

bool fsim_interlocked(fsim_clusters *c, const int *id, int count)
{
    const fsim_mark mark = fsim_save(c->a);
    const bool blocked = mark_waiting(c, id, count);
    fsim_rewind(c->a, mark);
    return blocked;
}

/* Moves the merged part behind all parts between its members that do not depend on it; those that do go behind it. */
static void reorder(fsim_clusters *c, const int *id, int count)
{
    const fsim_mark mark = fsim_save(c->a);
    int low = c->place[id[0]], high = low, waiting = 0, to;
    for (int i = 1; i < count; i++) {
        low = c->place[id[i]] < low ? c->place[id[i]] : low;
        high = c->place[id[i]] > high ? c->place[id[i]] : high;
    }
    int *late = fsim_new(c->a, int, high - low + 1);
    mark_waiting(c, id, count);
    to = low;
    for (int i = low; i <= high; i++) {
        const int x = c->order[i];
        if (among(id, count, x))
            continue;
        if (c->mark[x] == c->stamp)
            late[waiting++] = x;
        else
            c->order[to++] = x;
    }
    for (int i = 1; i < count; i++) /* merged parts stay in the order, empty */
        c->order[to++] = id[i];
    c->order[to++] = id[0];
    memcpy(&c->order[to], late, (size_t)waiting * sizeof *late);
    for (int i = low; i <= high; i++)
        c->place[c->order[i]] = i;
    fsim_rewind(c->a, mark);
}

void fsim_join(fsim_clusters *c, const int *id, int count)
{
    reorder(c, id, count);
    const fsim_part all = united_all(c, id, count);
    for (int i = 0; i < all.count; i++) {
        const bool home = among(id, count, fsim_home(c, all.node[i]));
        for (int k = 0; k < count; k++)
            drop_holder(c, all.node[i], id[k]);
        add_holder(c, all.node[i], id[0], home);
    }
    for (int i = 1; i < count; i++)
        c->part[id[i]].count = 0;
    c->part[id[0]] = all;
}

void fsim_spread(fsim_clusters *c, int x)
{
    int *user, users = fsim_users(c, x, &user);
    const fsim_part part = c->part[x];
    for (int k = 0; k < part.count; k++) {
        const bool home = fsim_home(c, part.node[k]) == x;
        drop_holder(c, part.node[k], x);
        for (int u = 0; u < users; u++)
            add_holder(c, part.node[k], user[u], home && u == 0);
    }
    for (int u = 0; u < users; u++)
        c->part[user[u]] = united(c->a, &part, &c->part[user[u]]);
    c->part[x].count = 0;
}

bool fsim_swaps_matrix(const fsim_node *n)
{
    if (fsim_ops[n->op].class != FSIM_PERMUTE || n->flops > 0 || n->arg[0].how != FSIM_READ_MAP)
        return false;
    const fsim_map m = fsim_map_simplify(n->arg[0].map);
    if (m.modes < 2 || m.modes > 3 || m.offset != 0)
        return false;
    const fsim_mode *row = &m.mode[m.modes - 2], *column = &m.mode[m.modes - 1];
    return row->stride == 1 && column->stride == row->extent &&
           (m.modes == 2 || m.mode[0].stride == row->extent * column->extent);
}

fsim_partition fsim_partition_of(const fsim_clusters *c, fsim_arena *a, const char ***rule)
{
    fsim_partition out = {0, fsim_new(a, fsim_part, c->parts + 1)};
    if (rule)
        *rule = fsim_new(a, const char *, c->parts + 1);
    for (int i = 0; i < c->parts; i++) {
        const int x = c->order[i];
        if (c->part[x].count == 0)
            continue;
        if (rule)
            (*rule)[out.parts] = c->rule[x];
        out.part[out.parts++] = c->part[x];
    }
    return out;
}
