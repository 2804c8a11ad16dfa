/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/fuse.h"

#include "fusion/fold.h"
#include "fusion/grouping.h"
#include "fusion/sets.h"
#include <math.h>
#include <string.h>

enum { WARP = 32 }; /* threads that must take the same branch */

static bool must_store(const grouping *w, int i)
{
    const fsim_node *n = fsim_grouping_node(w, i);
    for (int k = 0; k < n->results; k++) {
        const fsim_tensor *t = &w->g->tensor[n->result[k]];
        if (t->output || t->materialize)
            return true;
        for (int r = 0; r < t->readers; r++)
            if (fsim_position(w->node, w->count, t->reader[r]) < 0)
                return true;
    }
    return false;
}

/* Where a write in place stores its points: rows of neighbouring elements, as far apart as in a tensor of `elems`. */
static fsim_map rows_of(const fsim_node *n, int64_t elems)
{
    const fsim_access *source = &n->arg[n->args - 1];
    fsim_map m = {0};
    fsim_map_push(&m, source->rows,
                  source->rows > 1 && elems / source->rows > source->run ? elems / source->rows : source->run);
    fsim_map_push(&m, source->run, 1);
    m.split = m.modes;
    return fsim_map_simplify(m);
}

static void list_writes(grouping *w)
{
    fsim_group *o = w->out;
    for (int i = 0; i < w->count; i++) {
        const fsim_node *n = fsim_grouping_node(w, i);
        const member_demand *x = &w->demand[i];
        for (int k = 0; k < n->results && x->stored; k++) {
            const fsim_tensor *t = &w->g->tensor[n->result[k]];
            if (t->readers > 0 || t->output || t->materialize || k == 0 || n->effect)
                o->write[o->writes++] =
                    (fsim_write){.tensor = n->result[k],
                                 .map = t->over >= 0 ? rows_of(n, t->elems) : x->view[x->root].map,
                                 .full = fsim_demanded_in_full(&x->view[x->root].map, &x->view[x->root].scope, o)};
        }
    }
}

static bool no_arithmetic(const grouping *w)
{
    for (int i = 0; i < w->count; i++)
        if (fsim_grouping_node(w, i)->flops > 0 ||
            (fsim_grouping_class(w, i) != FSIM_PERMUTE && fsim_grouping_class(w, i) != FSIM_ASSEMBLE &&
             fsim_grouping_class(w, i) != FSIM_GATHER && fsim_grouping_node(w, i)->instructions > 0))
            return false;
    return true;
}

static void list_members(grouping *w)
{
    fsim_group *o = w->out;
    for (int i = 0; i < w->count; i++) {
        const fsim_node *n = fsim_grouping_node(w, i);
        const member_demand *x = &w->demand[i];
        fsim_member m = {.node = w->node[i],
                         .prologue = x->prologue,
                         .middle = x->middle,
                         .kind = x->kind,
                         .level = x->level,
                         .operand = x->operand,
                         .clone = x->clone,
                         .inner = x->inner,
                         .across = x->across,
                         .past = x->past,
                         .divergence = 1};
        if (x->middle)
            m.operand = FSIM_CHAIN_OPERANDS;
        if (x->form == FSIM_FOLDED || (w->joint.online && x->middle && x->kind == FSIM_SCALED))
            m.form = x->form;
        if (w->node[i] == o->anchor || fsim_grouping_class(w, i) == FSIM_REDUCE ||
            fsim_grouping_class(w, i) == FSIM_CONTRACTION) {
            m.evaluations = n->points * n->reduced;
            m.full = true;
            m.stages = 1;
        } else {
            for (int k = 0; k < x->maps && x->form != FSIM_FOLDED; k++) {
                const fsim_scope *s = &x->view[k].scope;
                const bool full = s->any ? !s->once_a_row : fsim_demanded_in_full(&x->view[k].map, s, o);
                const bool stretch = o->stretch > 0 && fsim_map_equal(&x->view[k].map, &w->stretch);
                const int64_t rows = fsim_map_points(&x->view[k].map),
                              each = full ? fsim_map_reduced(&x->view[k].map) / (stretch ? FSIM_STRETCH_VECTOR : 1) : 1;
                bool exact;
                m.evaluations += x->prologue      ? fsim_map_distinct(&x->view[k].map, &exact)
                                 : s->repeats > 0 ? llrint((double)rows * s->repeats)
                                                  : rows * each;
                m.divergence =
                    fmax(m.divergence, s->place && !n->attrs.listed ? fsim_piece_divergence(s->place, WARP) : 1);
                m.full = m.full || full;
                m.stages |= x->view[k].stages;
            }
            o->recomputes = o->recomputes || m.evaluations > n->points;
        }
        o->member[o->members++] = m;
    }
}

static int by_tensor(const void *a, const void *b)
{
    return ((const fsim_read *)a)->tensor - ((const fsim_read *)b)->tensor;
}

static void sort_reads(fsim_group *o, fsim_arena *a)
{
    int *at = fsim_new(a, int, o->reads + 1);
    bool sorted = true;
    for (int i = 1; i < o->reads; i++) { /* insertion sort: mostly few, of positions, as a read is large */
        int k = i;
        for (; k > 0 && by_tensor(&o->read[at[k - 1]], &o->read[i]) > 0; k--)
            at[k] = at[k - 1];
        at[k] = i;
        sorted = sorted && k == i;
    }
    if (sorted)
        return;
    fsim_read *read = fsim_new(a, fsim_read, o->reads);
    for (int i = 0; i < o->reads; i++)
        read[i] = o->read[at[i]];
    o->read = read;
}

/* Members that can be folded into the weights are not computed, and what only they read is not loaded, except for
 * one vector of shifts. */
static void fold_members(grouping *w)
{
    fsim_group *o = w->out;
    bool *stored = fsim_new(w->a, bool, w->count);
    for (int i = 0; i < w->count; i++)
        stored[i] = w->demand[i].stored;
    const fsim_selection set = {.node = w->node, .count = w->count, .stored = stored};
    const fsim_folded f = fsim_fold(w->g, &set, fsim_position(w->node, w->count, o->anchor), w->a);
    o->folded = f.members;
    if (o->folded == 0)
        return;
    int kept = 0, vector = -1;
    for (int i = 0; i < o->reads; i++) {
        const fsim_tensor *t = &w->g->tensor[o->read[i].tensor];
        bool unread = true;
        for (int k = fsim_reader_from(t, w->node[0]); k < t->readers && unread && t->reader[k] <= w->node[w->count - 1];
             k++) {
            const int reader = fsim_position(w->node, w->count, t->reader[k]);
            unread = reader < 0 || f.member[reader];
        }
        if (unread && f.shifts && (vector < 0 || t->elems > w->g->tensor[o->read[vector].tensor].elems)) {
            if (vector < 0)
                vector = kept++;
            o->read[vector] = o->read[i];
        } else if (!unread) {
            o->read[kept++] = o->read[i];
        }
    }
    o->reads = kept;
    for (int i = 0; i < w->count; i++)
        w->demand[i].form = f.member[i] ? FSIM_FOLDED : w->demand[i].form;
}

static int reader_inside(const grouping *w, int i)
{
    const fsim_tensor *t = &w->g->tensor[fsim_grouping_node(w, i)->result[0]];
    int at = -1;
    for (int r = 0; r < t->readers && at < 0 && t->reader[r] <= w->node[w->count - 1]; r++)
        at = fsim_position(w->node, w->count, t->reader[r]);
    return at;
}

/* The update writes weights in place, which the kernels before it read. */
static bool check_phases(grouping *w)
{
    for (int i = 1; i < w->count; i++)
        if ((fsim_grouping_node(w, i)->phase == FSIM_OPTIMIZER) != (fsim_grouping_node(w, 0)->phase == FSIM_OPTIMIZER))
            return fsim_refuse_set_for_good(w, FSIM_RULE_IN_PLACE, w->node[i], w->node[i - 1], (fsim_excess){0});
    return true;
}

/* Chooses the template by the classes of the members, and the anchor: the one member that decides the kernel's
 * shape. */
static bool choose_template(grouping *w, int *first_reduction)
{
    fsim_group *o = w->out;
    int reduction = -1, anchor = -1;
    for (int i = 0; i < w->count; i++) {
        const fsim_class class = fsim_grouping_class(w, i);
        if (fsim_classes[class].boundary) {
            if (w->count > 1)
                return fsim_refuse_set_for_good(w, FSIM_RULE_BOUNDARY, w->node[i], w->node[i ? 0 : 1],
                                                (fsim_excess){0});
            w->facts.alone = class;
            anchor = i;
        }
        if (class == FSIM_REDUCE && reduction < 0)
            reduction = i;
        if (class == FSIM_SCAN) {
            if (anchor >= 0)
                return fsim_refuse_set_for_good(w, FSIM_RULE_BOUNDARY, w->node[i], w->node[anchor], (fsim_excess){0});
            w->facts.alone = class;
            anchor = i;
        }
        if (class == FSIM_SCATTER) {
            const int reader = w->count > 1 ? reader_inside(w, i) : -1;
            if (reader >= 0 || anchor >= 0)
                return fsim_refuse_set_for_good(w, FSIM_RULE_BOUNDARY, w->node[i],
                                                w->node[reader >= 0 ? reader : anchor], (fsim_excess){0});
            w->facts.alone = class;
            anchor = i;
        }
        if (class != FSIM_CONTRACTION && class != FSIM_WINDOW)
            continue;
        if (anchor >= 0 && w->facts.alone != FSIM_CLASS_COUNT)
            return fsim_refuse_set_for_good(w, FSIM_RULE_BOUNDARY, w->node[anchor], w->node[i], (fsim_excess){0});
        o->contractions += class == FSIM_CONTRACTION;
        if (anchor >= 0 && class == FSIM_CONTRACTION && fsim_grouping_class(w, anchor) == FSIM_CONTRACTION)
            continue;
        if (anchor >= 0)
            return fsim_refuse_set_for_good(w, FSIM_RULE_WINDOW, w->node[anchor], w->node[i],
                                            (fsim_excess){2, 1, FSIM_IN_WINDOWS});
        anchor = i;
        w->facts.contracts = class == FSIM_CONTRACTION;
        w->facts.pools = class == FSIM_WINDOW;
    }
    for (int i = 0; i < w->count && w->facts.alone == FSIM_SCATTER; i++)
        if (i != anchor && reader_inside(w, i) < 0) /* it walks its own arguments, and nothing beside them */
            return fsim_refuse_set(w, FSIM_RULE_BOUNDARY, w->node[anchor], w->node[i], (fsim_excess){0});
    if (anchor >= 0 && reduction >= 0 && w->facts.alone != FSIM_CLASS_COUNT)
        return fsim_refuse_set_for_good(w, FSIM_RULE_BOUNDARY, w->node[anchor], w->node[reduction], (fsim_excess){0});
    w->facts.reduces = reduction >= 0;
    if (anchor >= 0 && reduction >= 0 && !w->facts.contracts)
        return fsim_refuse_set_for_good(
            w, FSIM_RULE_REDUCED_EPILOGUE, w->node[anchor < reduction ? anchor : reduction],
            w->node[anchor < reduction ? reduction : anchor],
            (fsim_excess){(double)fsim_grouping_node(w, reduction)->reduced, 1, FSIM_IN_TILE_ROW});
    if (w->facts.contracts && (o->contractions > 1 || reduction >= 0) &&
        !fsim_joint_of(w->limits, w->node, w->count, &w->joint, w->why))
        return false;
    if (w->joint.kind == FSIM_CHAINED) {
        w->facts.chains = true;
        o->first = w->joint.first;
        o->rows = w->joint.rows;
        o->width = w->joint.width;
        o->batch = w->joint.batch;
        o->online = w->joint.online;
        anchor = fsim_position(w->node, w->count, w->joint.second);
    }
    o->template = fsim_template_for(&w->facts);
    o->anchor = anchor < 0 ? -1 : w->node[anchor];
    if (anchor >= 0)
        o->points = fsim_grouping_node(w, anchor)->points;
    *first_reduction = reduction;
    return true;
}

/* Does the kernel touch every element of the tensor? Then the tensor is in L2 afterwards, if it fits. */
static void measure_read(const fsim_graph *g, fsim_read *r)
{
    const fsim_tensor *t = &g->tensor[r->tensor];
    int64_t touched = r->unmapped ? r->access->distinct : 0;
    bool exact;
    r->whole = r->unmapped && r->access->how != FSIM_READ_INDIRECT && r->access->distinct == t->elems;
    for (int i = 0; i < r->maps; i++) {
        const int64_t distinct = fsim_map_distinct(&r->map[i], &exact);
        r->whole = r->whole || distinct == t->elems;
        touched += distinct;
    }
    r->whole = r->whole || (r->access->how == FSIM_READ_PIECE && r->access->distinct == t->elems &&
                            touched == t->elems); /* pieces do not overlap */
    r->bytes = touched < t->elems ? touched * fsim_dtype_bytes(t->dtype) : t->bytes;
}

static void kept_on_chip(grouping *w)
{
    fsim_group *o = w->out;
    for (int i = 0; i < o->reads; i++) {
        const fsim_read *r = &o->read[i];
        int64_t elems = r->place ? 0 : o->reduced;
        for (int k = 0; k < r->maps && r->place; k++)
            elems += fsim_map_reduced(&r->map[k]);
        if (r->full && (r->stages & (r->stages - 1)))
            o->kept_row_bytes +=
                (elems < o->reduced ? elems : o->reduced) * fsim_dtype_bytes(w->g->tensor[r->tensor].dtype);
    }
}

/* Does member i read a tensor that is overwritten in place? Another kernel may compute it after that. */
static bool reads_overwritten(const grouping *w, int i)
{
    const fsim_node *n = fsim_grouping_node(w, i);
    for (int k = 0; k < n->args; k++)
        if (w->g->tensor[n->arg[k].tensor].overwritten)
            return true;
    return false;
}

/* Is the tensor's read one of a list? A table in memory has its address: it takes no parameter. */
static bool is_listed(const grouping *w, const fsim_read *r)
{
    for (int i = 0; i < w->count; i++) {
        const fsim_node *n = fsim_grouping_node(w, i);
        if (n->attrs.listed && n->op == FSIM_OP_CONCAT && r->access >= n->arg && r->access < n->arg + n->args)
            return true;
    }
    return false;
}

/* Does an earlier member begin the same list? */
static bool repeats_list(const grouping *w, int i)
{
    for (int k = 0; k < i; k++)
        if (fsim_grouping_node(w, k)->op == FSIM_OP_CONCAT &&
            fsim_grouping_node(w, k)->arg[0].tensor == fsim_grouping_node(w, i)->arg[0].tensor)
            return true;
    return false;
}

/* Counts the lists, and the parameters beside them. */
static int count_lists(grouping *w)
{
    fsim_group *o = w->out;
    int parameters = o->reads + o->writes;
    for (int i = 0; i < w->count; i++) {
        const fsim_node *n = fsim_grouping_node(w, i);
        o->listed = (int)n->attrs.listed > o->listed ? (int)n->attrs.listed : o->listed;
        o->lists += n->attrs.listed && n->op == FSIM_OP_CONCAT && !repeats_list(w, i);
    }
    if (o->listed == 0)
        return parameters;
    const int64_t length = o->points * o->reduced;
    for (int i = 0; i < o->reads; i++)
        if (is_listed(w, &o->read[i]))
            parameters--;
        else
            o->lists += w->g->tensor[o->read[i].tensor].elems == length;
    for (int i = 0; i < o->writes; i++)
        o->lists += w->g->tensor[o->write[i].tensor].elems == length && !w->g->tensor[o->write[i].tensor].renews;
    return parameters;
}

bool fsim_group_of(const fsim_limits *limits, const fsim_selection *set, fsim_arena *a, fsim_group *out,
                   fsim_refusal *why)
{
    const int *node = set->node, count = set->count;
    int first_reduction = -1;
    *out = (fsim_group){.reduced = 1, .stages = 1, .anchor = -1, .first = -1, .strict = limits->strict};
    grouping w = {.limits = limits,
                  .g = limits->graph,
                  .node = node,
                  .count = count,
                  .demand = fsim_new(a, member_demand, count),
                  .out = out,
                  .why = why,
                  .facts = {.alone = FSIM_CLASS_COUNT, .computes = true},
                  .a = a};
    if (!check_phases(&w) || !choose_template(&w, &first_reduction))
        return false;
    int results = 0;
    for (int i = 0; i < count; i++) {
        w.demand[i].clone = set->clone && set->clone[i];
        if (w.demand[i].clone && reads_overwritten(&w, i))
            return fsim_refuse_set(&w, FSIM_RULE_IN_PLACE, node[i], -1, (fsim_excess){0});
        w.demand[i].stored = set->stored ? set->stored[i] : must_store(&w, i);
        results += w.demand[i].stored ? fsim_grouping_node(&w, i)->results : 0;
    }
    if (w.joint.kind == FSIM_CHAINED  ? !fsim_chain_space(&w)
        : w.joint.kind == FSIM_TOTALS ? !fsim_totals_in_tiles(&w)
                                      : first_reduction >= 0 && !fsim_reduction_space(&w, first_reduction))
        return false;
    if (w.joint.kind == FSIM_SIBLINGS && !fsim_sibling_space(&w))
        return false;
    if (w.joint.kind == FSIM_ROWS && !fsim_rows_in_tile(&w, first_reduction))
        return false;
    out->write = fsim_new(a, fsim_write, results + 1);
    out->member = fsim_new(a, fsim_member, count);
    if (!fsim_demand_roots(&w))
        return false;
    for (int i = count; i-- > 0;) {
        if (w.demand[i].prologue && w.demand[i].stored)
            return fsim_refuse_set(&w, FSIM_RULE_PROLOGUE, node[i], out->anchor, (fsim_excess){0});
        if (w.demand[i].late && w.facts.alone == FSIM_SCAN) /* a scan stores all points of its rows, in their order */
            return fsim_refuse_set(&w, FSIM_RULE_BOUNDARY, out->anchor, node[i], (fsim_excess){0});
        if ((w.demand[i].late && !fsim_store_late(&w, i)) || !fsim_demand_arguments(&w, i))
            return false;
    }
    if (!fsim_columns_of_tiles(&w) || (w.joint.kind == FSIM_SIBLINGS && !fsim_side_by_side(&w)))
        return false;
    if (out->template == FSIM_TILED_CONTRACTION && w.joint.kind == FSIM_ALONE && !limits->strict)
        fold_members(&w);
    list_writes(&w);
    for (int i = 0; i < out->reads; i++)
        measure_read(w.g, &out->read[i]);
    const int parameters = count_lists(&w);
    if (count > 1 && parameters > FSIM_MAX_PARAMETERS) /* a single operator gets a table of pointers instead */
        return fsim_refuse_set(&w, FSIM_RULE_PARAMETERS, node[0], count > 1 ? node[count - 1] : -1,
                               (fsim_excess){parameters, FSIM_MAX_PARAMETERS, FSIM_IN_PARAMETERS});
    sort_reads(out, a);
    if (w.joint.kind != FSIM_ALONE) {
        fsim_joint *joint = fsim_new(a, fsim_joint, 1);
        *joint = w.joint;
        out->joint = joint;
    }
    list_members(&w);
    kept_on_chip(&w);
    out->live = fsim_live_registers(&w);
    w.facts.computes = out->template != FSIM_POINTWISE || !no_arithmetic(&w);
    out->template = fsim_template_for(&w.facts);
    return true;
}

bool fsim_legal(const fsim_limits *limits, const int *node, int count, fsim_arena *a, fsim_group *out,
                fsim_refusal *why)
{
    return fsim_on_one_side(limits->graph, node, count, why) &&
           fsim_group_of(limits, &(fsim_selection){.node = node, .count = count}, a, out, why) &&
           fsim_connected(limits->graph, node, count, a, why) && fsim_convex(limits->graph, node, count, a, why);
}
