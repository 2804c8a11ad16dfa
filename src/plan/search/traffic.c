/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.c: lower bounds from what L2 can't hold. A kernel takes at least as long as DRAM does for what it reads and
 * writes there. */
#include "plan/search/floor.h"
#include "plan/search/states.h"

#include <math.h>

/* Nothing is said of what is computed from weights alone: it may be a part of a weight. */
void fsim_find_transfers(fsim_frontier *f, const fsim_floor *floor)
{
    const fsim_graph *g = f->p->graph;
    bool *fixed = fsim_new(f->a, bool, g->tensors + 1);
    f->read_s = fsim_new(f->a, double, g->tensors + 1);
    f->write_s = fsim_new(f->a, double, g->tensors + 1);
    for (int t = 0; t < g->tensors; t++)
        fixed[t] = g->tensor[t].producer < 0 && g->tensor[t].role == FSIM_WEIGHT;
    for (int n = 0; n < g->nodes; n++) {
        bool all = true;
        for (int k = 0; k < g->node[n].args; k++)
            all = all && fixed[g->node[n].arg[k].tensor];
        for (int r = 0; r < g->node[n].results; r++)
            fixed[g->node[n].result[r]] = all;
    }
    for (int t = 0; t < g->tensors; t++) {
        f->read_s[t] = fixed[t] ? 0 : fsim_floor_fetch(floor, &g->tensor[t]).s[FSIM_FLOOR_DRAM];
        f->write_s[t] = fixed[t] ? 0 : fsim_floor_write(floor, &g->tensor[t]).s[FSIM_FLOOR_DRAM];
    }
}

/* May a kernel find the tensor in L2, or leave it there? room: all that it moves fits. */
static bool may_stay(const fsim_frontier *f, int t, bool room) { return room && fsim_may_reside(f->p, t); }

static bool has_room(const fsim_frontier *f, double bytes) { return bytes <= fsim_l2_effective(f->p->hw); }

/* What the work that every plan has says of a part without a contraction. */
static double work_of_part(const fsim_frontier *f, const fsim_own_set *part, int root)
{
    const fsim_graph *g = f->p->graph;
    const fsim_bits whole = fsim_whole_members(f, root, part);
    double least = 0;
    FSIM_EACH_BIT(i, whole)
    {
        const int place = root - FSIM_BACK + i;
        least += f->floor_own[place];
        for (int k = 0; k < fsim_node_of(f, place)->args; k++) {
            const fsim_tensor *t = &g->tensor[fsim_node_of(f, place)->arg[k].tensor];
            least += t->readers == 1 ? f->floor_input[fsim_node_of(f, place)->arg[k].tensor] : 0;
        }
    }
    return least;
}

/* Does a member of the part, other than a clone, read the tensor? */
static bool is_read_by(const fsim_frontier *f, const fsim_own_set *part, int root, int tensor)
{
    FSIM_EACH_BIT(i, part->own)
    {
        const fsim_node *n = fsim_node_of(f, root - FSIM_BACK + i);
        for (int k = 0; k < n->args; k++)
            if (n->arg[k].tensor == tensor)
                return true;
    }
    return false;
}

/* Does nothing but this part read the graph input, which nothing has left in L2? */
static bool is_first_read(const fsim_frontier *f, int tensor)
{
    const fsim_tensor *t = &f->p->graph->tensor[tensor];
    return t->producer < 0 && t->readers == 1 && f->floor_input[tensor] > 0;
}

/* Seconds (or bytes) for which the part keeps DRAM busy with what is too large for L2. Parts that read the same tensor
 * share it. any: whatever clones it has. */
static double transfers_of_part(fsim_frontier *f, fsim_own_set *part, int root, const fsim_variant *v, bool any)
{
    const fsim_graph *g = f->p->graph;
    const bool room = any ? has_room(f, fsim_least_traffic_of(f, part, root).bytes)
                          : has_room(f, fsim_bytes_in_flight(g, v->kernel->group));
    double least = 0;
    for (int i = 0; i < v->reads; i++) {
        const int t = fsim_touched(&f->l, root, &v->read[i], false);
        const int from = g->tensor[t].producer < 0 ? -1 : f->l.place[g->tensor[t].producer];
        if ((!may_stay(f, t, room) || is_first_read(f, t)) && v->read[i].whole &&
            !(any && from >= 0 && f->l.clonable[from]) && (!any || is_read_by(f, part, root, t)))
            least += f->read_s[t] / fsim_most_sharers(&f->l, root, part, t);
    }
    for (int i = 0; i < v->writes; i++) {
        const int t = fsim_touched(&f->l, root, &v->write[i], true);
        least += v->write[i].intermediate && may_stay(f, t, room) ? 0 : f->write_s[t];
    }
    return least;
}

/* Can no kernel have the part and, in another one, a contraction? */
static bool is_aloof(fsim_frontier *f, fsim_own_set *part, int root)
{
    bool aloof = !f->products;
    if (!aloof && !f->run)
        return !fsim_may_meet_contraction(&f->l, root, part);
    FSIM_EACH_BIT(i, part->own)
    aloof = aloof || f->l.aloof[root - FSIM_BACK + i];
    return aloof;
}

/* Has the part a heavy place? */
static bool is_heavy(const fsim_frontier *f, const fsim_own_set *part, int root)
{
    FSIM_EACH_BIT(i, part->own)
    if (f->l.heavy[root - FSIM_BACK + i])
        return true;
    return false;
}

fsim_sum fsim_least_joined(fsim_frontier *f, fsim_own_set *part, int root, fsim_variant *v, bool any)
{
    bool free = true; /* the rest may be a call that costs nothing */
    double launches = 0;
    FSIM_EACH_BIT(i, part->own)
    {
        free = free && fsim_may_be_free(f, root - FSIM_BACK + i);
        launches += fsim_bit(&part->must, i) ? f->floor_write : 0;
    }
    if (free || !is_aloof(f, part, root))
        return 0;
    if (!f->run) {
        const fsim_company beside = fsim_company_of(&f->l, root, part);
        const bool heavy = is_heavy(f, part, root);
        if (!beside.any)
            return FSIM_NEVER;
        if (f->l.linked && beside.missed) /* which has no such price */
            return 0;
        if (heavy && !beside.heavy && !beside.copies)
            launches = f->floor_launch;
        else if (beside.heavy && !heavy)
            launches = 0;
    }
    const int asks = 2 * fsim_asked_for(&f->l, root) + any;
    if (v->joined_for != asks) { /* what equal layers take from each other may say nothing of what is around them */
        const double unit = f->p->objective == FSIM_MINIMISE_BYTES ? 1 : 1 / FSIM_TICK_S,
                     least = f->products && !f->run ? transfers_of_part(f, part, root, v, any) * unit
                                                    : work_of_part(f, part, root);
        v->joined = (fsim_sum)((launches + least) * (1 - 1e-9));
        v->joined_for = asks;
    }
    return v->joined;
}

enum { MOST_HELD = 4 * FSIM_BITS }; /* results of a set and what it reads for sure */

/* Seconds, or bytes, of DRAM; and bytes. */
typedef struct {
    double s, bytes;
} amount;

static amount most_of(amount x, amount y) { return (amount){fmax(x.s, y.s), fmax(x.bytes, y.bytes)}; }

/* What is known of a set while its traffic is found. */
typedef struct {
    const fsim_frontier *f;
    int root;
    int tensor[MOST_HELD], count;         /* tensors that the kernel has anyhow */
    amount known[FSIM_BACK + FSIM_BITS];  /* per place from root - FSIM_BACK on: the least of having its result as a
                                             copy; seconds less than 0: not known */
    double loaded[FSIM_BACK + FSIM_BITS]; /* the same for the elements that are loaded, in bytes */
    fsim_least_traffic out;
} traffic;

static bool is_at_hand(const traffic *x, int t)
{
    for (int i = 0; i < x->count; i++)
        if (x->tensor[i] == t)
            return true;
    return false;
}

static void take_along(traffic *x, int t)
{
    if (x->count < MOST_HELD)
        x->tensor[x->count++] = t;
}

/* The least of having tensor t: it is read, or computed again from what is. Each of the two by itself. */
static amount least_had(traffic *x, int t)
{
    const fsim_frontier *f = x->f;
    const fsim_graph *g = f->p->graph;
    const int from = g->tensor[t].producer < 0 ? -1 : f->l.place[g->tensor[t].producer];
    const amount none = {0, 0}, read = {f->read_s[t], f->read_s[t] > 0 ? (double)g->tensor[t].bytes : 0};
    if (is_at_hand(x, t) || x->count == MOST_HELD || g->tensor[t].producer < 0)
        return none; /* inputs are counted elsewhere */
    if (from < 0 || !f->l.clonable[from])
        return read;
    if (from < x->root - FSIM_BACK || from >= x->root + FSIM_BITS)
        return none; /* a kernel that begins further down may have a copy */
    amount *known = &x->known[from - x->root + FSIM_BACK];
    if (known->s < 0) {
        *known = none;
        for (int k = 0; k < fsim_node_of(f, from)->args; k++) {
            const fsim_access *y = &fsim_node_of(f, from)->arg[k];
            if (y->how == FSIM_READ_MAP && y->distinct == g->tensor[y->tensor].elems)
                *known = most_of(*known, least_had(x, y->tensor));
        }
    }
    return (amount){fmin(known->s, read.s), fmin(known->bytes, read.bytes)};
}

/* The least bytes that are loaded to have so many elements of tensor t: of these, or of what they are computed from. */
static double least_loaded(traffic *x, int t, int64_t elems)
{
    const fsim_frontier *f = x->f;
    const fsim_tensor *of = &f->p->graph->tensor[t];
    const int from = of->producer < 0 ? -1 : f->l.place[of->producer];
    const double bytes = of->elems > 0 ? (double)of->bytes / (double)of->elems * (double)elems : 0;
    if (is_at_hand(x, t) || x->count == MOST_HELD || of->known)
        return 0;
    if (from < 0 || !f->l.clonable[from])
        return bytes;
    if (from < x->root - FSIM_BACK || from >= x->root + FSIM_BITS || elems != of->elems)
        return 0;
    double *known = &x->loaded[from - x->root + FSIM_BACK];
    if (*known < 0) {
        *known = 0;
        for (int k = 0; k < fsim_node_of(f, from)->args; k++) {
            const fsim_access *y = &fsim_node_of(f, from)->arg[k];
            if (y->how == FSIM_READ_MAP)
                *known = fmax(*known, least_loaded(x, y->tensor, y->distinct));
        }
    }
    return fmin(*known, bytes);
}

/* Adds what is moved for tensor t of the graph. */
static void add_transfer(traffic *x, int t, double seconds, double bytes)
{
    x->out.bytes += bytes;
    x->out.without_room += seconds;
    x->out.with_room += may_stay(x->f, t, true) ? 0 : seconds;
}

/* Adds what of tensor t the kernel itself reads or writes. */
static void add_accesses(traffic *x, int t, double bytes)
{
    const fsim_tensor *of = &x->f->p->graph->tensor[t];
    x->out.accessed_bytes += of->known ? 0 : bytes;
    x->out.accessed_elems += of->known || of->bytes == 0 ? 0 : bytes / (double)of->bytes * (double)of->elems;
}

/* The most that an argument of the member at place makes the kernel load which may be computed again. */
static double most_loaded(traffic *x, int place)
{
    const fsim_node *n = fsim_node_of(x->f, place);
    double most = 0;
    for (int k = 0; k < n->args; k++)
        if (n->arg[k].how == FSIM_READ_MAP)
            most = fmax(most, least_loaded(x, n->arg[k].tensor, n->arg[k].distinct));
    return most;
}

/* Adds what the graph inputs take that the member reads whole. */
static void add_inputs(traffic *x, int place)
{
    const fsim_node *n = fsim_node_of(x->f, place);
    for (int k = 0; k < n->args; k++) {
        const fsim_tensor *t = &x->f->p->graph->tensor[n->arg[k].tensor];
        if (n->arg[k].how != FSIM_READ_MAP || n->arg[k].distinct != t->elems || t->producer >= 0 ||
            is_at_hand(x, n->arg[k].tensor) || x->count == MOST_HELD)
            continue;
        take_along(x, n->arg[k].tensor);
        add_accesses(x, n->arg[k].tensor, (double)t->bytes);
    }
}

/* Adds what the member at place, computed at all its points, reads of others' results that can't be computed again,
 * which are at hand from now on; others: returns instead the most that one of the other results takes. */
static amount add_reads(traffic *x, int place, bool others)
{
    const fsim_frontier *f = x->f;
    const fsim_graph *g = f->p->graph;
    amount most = {0, 0};
    for (int k = 0; k < fsim_node_of(f, place)->args; k++) {
        const fsim_access *y = &fsim_node_of(f, place)->arg[k];
        const fsim_tensor *t = &g->tensor[y->tensor];
        const int from = t->producer < 0 ? -1 : f->l.place[t->producer];
        if (y->how != FSIM_READ_MAP || y->distinct != t->elems || t->producer < 0 || is_at_hand(x, y->tensor))
            continue;
        if (others) {
            most = most_of(most, least_had(x, y->tensor));
        } else if ((from < 0 || !f->l.clonable[from]) && x->count < MOST_HELD) {
            take_along(x, y->tensor);
            add_accesses(x, y->tensor, (double)t->bytes);
            add_transfer(x, y->tensor, f->read_s[y->tensor], (double)t->bytes);
        }
    }
    return most;
}

fsim_least_traffic fsim_least_traffic_of(fsim_frontier *f, fsim_own_set *s, int root)
{
    if (s->traffic_for == root + 1)
        return s->traffic;
    const fsim_graph *g = f->p->graph;
    traffic x = {.f = f, .root = root};
    amount most = {0, 0};
    double loaded = 0;
    for (int i = 0; i < FSIM_BACK + FSIM_BITS; i++)
        x.known[i].s = x.loaded[i] = -1;
    FSIM_EACH_BIT(i, s->own)
    {
        const fsim_node *n = fsim_node_of(f, root - FSIM_BACK + i);
        const fsim_tensor *t = &g->tensor[n->result[0]];
        for (int r = 0; r < n->results; r++)
            take_along(&x, n->result[r]);
        if (fsim_bit(&s->must, i) && n->results == 1)
            add_accesses(&x, n->result[0], (double)t->written_bytes);
        if (fsim_bit(&s->must, i) && n->results == 1 && !t->output)
            add_transfer(&x, n->result[0], f->write_s[n->result[0]], (double)t->written_bytes);
    }
    const fsim_bits whole = fsim_whole_members(f, root, s);
    FSIM_EACH_BIT(i, whole)
    add_reads(&x, root - FSIM_BACK + i, false);
    FSIM_EACH_BIT(i, whole)
    most = most_of(most, add_reads(&x, root - FSIM_BACK + i, true));
    x.out.without_room += most.s;
    x.out.bytes += most.bytes;
    FSIM_EACH_BIT(i, whole)
    add_inputs(&x, root - FSIM_BACK + i);
    FSIM_EACH_BIT(i, whole)
    loaded = fmax(loaded, most_loaded(&x, root - FSIM_BACK + i));
    x.out.accessed_bytes += loaded;
    s->traffic_for = root + 1;
    return s->traffic = x.out;
}
