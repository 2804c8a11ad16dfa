/* SPDX-License-Identifier: Apache-2.0 */
/* space.c: the points that a kernel computes, and where among them its results are needed. */
#include "fusion/fuse.h"
#include "fusion/grouping.h"

#include "fusion/online.h"
#include "fusion/row_kind.h"
#include "fusion/sets.h"
#include "fusion/sums.h"

enum {
    FEW_ROWS = 256
}; /* rows longer than FSIM_LONGEST_ROW are split over blocks where there are fewer of them than this */

/* Is the reduction's argument as large as the kernel's space, its elements numbered by (row, place in the row) as
 * `frame` has them? */
static bool same_frame(const grouping *w, const fsim_node *n)
{
    fsim_map m = n->arg[0].map;
    m.offset = 0;
    return fsim_map_equal(&m, &w->frame);
}

/* Does reduction i run along with one that its elements depend on (online.h)? */
static bool along(const grouping *w, int i)
{
    return !w->limits->strict && fsim_position(w->node, w->count, fsim_online_with(w->g, w->node[i])) >= 0;
}

/* Members that only reductions which run along with another read: they are not needed after the first walk of the
 * row. */
static bool *only_along(const grouping *w)
{
    bool *passing = fsim_new(w->a, bool, w->count);
    for (int i = w->count; i-- > 0;) {
        passing[i] = fsim_grouping_class(w, i) != FSIM_REDUCE && !w->demand[i].stored && fsim_grouping_reads(w, i);
        for (int k = 0; k < fsim_grouping_node(w, i)->results && passing[i]; k++) {
            const fsim_tensor *t = &w->g->tensor[fsim_grouping_node(w, i)->result[k]];
            for (int r = 0; r < t->readers && passing[i]; r++) {
                const int at = fsim_position(w->node, w->count, t->reader[r]);
                passing[i] = at < 0 || passing[at] || (fsim_grouping_class(w, at) == FSIM_REDUCE && along(w, at));
            }
        }
    }
    return passing;
}

bool fsim_reduction_space(grouping *w, int first)
{
    first = fsim_stretched_rows(w, fsim_row_reduction_of(w, first));
    const fsim_node *n = fsim_grouping_node(w, first);
    fsim_group *o = w->out;
    o->points = n->points;
    o->reduced = n->reduced;
    w->frame = n->arg[0].map;
    w->frame.offset = 0;
    w->row = (fsim_map){0};
    fsim_map_push(&w->row, n->points, 1);
    w->row.split = w->row.modes;
    fsim_map_push(&w->row, n->reduced, 0);
    o->stages = 1;
    if (!fsim_mark_across(w, first))
        return false;
    fsim_mark_stretches(w, first);
    bool full_after = false, *passing = only_along(w);
    for (int i = 0; i < w->count; i++) {
        const fsim_node *m = fsim_grouping_node(w, i);
        const bool reduces = fsim_grouping_class(w, i) == FSIM_REDUCE && !w->demand[i].across && !w->demand[i].inner;
        if (reduces && !same_frame(w, m)) { /* no kernel reduces different rows, whatever else it holds, but for sums
                                               over all of its rows */
            const fsim_excess rows = {(double)m->points, (double)n->points, FSIM_IN_ROWS};
            const bool may = fsim_may_sum_across(w->g, w->node[first]) || fsim_may_sum_across(w->g, w->node[i]) ||
                             fsim_may_reduce_stretches(w->g, w->node[first], w->node[i]) ||
                             fsim_may_reduce_stretches(w->g, w->node[i], w->node[first]);
            return may ? fsim_refuse_set(w, FSIM_RULE_SPACE, w->node[first], w->node[i], rows)
                       : fsim_refuse_set_for_good(w, FSIM_RULE_SPACE, w->node[first], w->node[i], rows);
        }
        for (int k = 0; k < m->args; k++) {
            const int from = fsim_member_producing(w, m->arg[k].tensor);
            if (from >= 0 && w->demand[from].level > w->demand[i].level)
                w->demand[i].level = w->demand[from].level;
            w->demand[i].stretched = w->demand[i].stretched ||
                                     (from >= 0 && !reduces && (w->demand[from].inner || w->demand[from].stretched));
        }
        w->demand[i].level += reduces && (w->demand[i].level == 0 || !along(w, i));
        if (w->demand[i].level >= FSIM_MAX_STAGES)
            return fsim_refuse_set(w, FSIM_RULE_SPACE, w->node[first], w->node[i],
                                   (fsim_excess){FSIM_MAX_STAGES + 1, FSIM_MAX_STAGES, FSIM_IN_REDUCTIONS});
        if (w->demand[i].level + 1 > o->stages)
            o->stages = w->demand[i].level + 1;
        if (w->demand[i].across || w->demand[i].past)
            continue;
        full_after = full_after || (w->demand[i].level > (reduces && !along(w, i)) && !passing[i] &&
                                    (reduces ? !along(w, i) : m->points == n->points * n->reduced) &&
                                    m->reduced * m->points > n->points);
    }
    const bool few = n->points < FEW_ROWS && n->reduced > FSIM_LONGEST_ROW;
    if (n->points == 1 && few && full_after) {
        int after = first;
        for (int i = first + 1; i < w->count && after == first; i++)
            if (w->demand[i].level > 0 && i != first)
                after = i;
        return fsim_refuse_set(w, FSIM_RULE_GRID_BARRIER, w->node[first], w->node[after],
                               (fsim_excess){(double)n->reduced, FSIM_LONGEST_ROW, FSIM_IN_BLOCK_ELEMENTS});
    }
    if (few && w->facts.mixes) /* such rows are shared by blocks, which then have no values of whole rows */
        return fsim_refuse_set(w, FSIM_RULE_SPACE, w->node[first], -1,
                               (fsim_excess){(double)n->points, FEW_ROWS, FSIM_IN_ROWS});
    const bool innermost = w->frame.modes > w->frame.split && w->frame.mode[w->frame.modes - 1].stride == 1;
    w->facts.splits_rows = few && !full_after;
    w->facts.strided_rows = !innermost && w->frame.split > 0 && n->reduced > 1;
    o->template = fsim_template_for(&w->facts);
    return true;
}

/* Side of the matrices that a tensor holds; 0 where they are not square. */
static int64_t last_square(const fsim_shape *s)
{
    return s->rank > 1 && s->dim[s->rank - 1] == s->dim[s->rank - 2] ? s->dim[s->rank - 1] : 0;
}

/* Does no reduction read the intermediate before member i masks it? Then masked elements need not be computed. */
static bool masks_first(const grouping *w, int i)
{
    for (int k = 0; k < i; k++)
        if (fsim_grouping_class(w, k) == FSIM_REDUCE)
            return false;
    return true;
}

bool fsim_chain_space(grouping *w)
{
    fsim_group *o = w->out;
    const fsim_joint *j = &w->joint;
    w->frame = j->frame;
    w->row = (fsim_map){0};
    fsim_map_push(&w->row, j->rows, 1);
    w->row.split = w->row.modes;
    fsim_map_push(&w->row, j->width, 0);
    for (int i = 0; i < w->count; i++) {
        const fsim_node *n = fsim_grouping_node(w, i);
        member_demand *x = &w->demand[i];
        const bool reduces = fsim_grouping_class(w, i) == FSIM_REDUCE;
        fsim_row_kind *arg = fsim_new(w->a, fsim_row_kind, n->args + 1);
        if (reduces && !same_frame(w, n))
            return fsim_refuse_set(w, FSIM_RULE_SPACE, j->second, w->node[i],
                                   (fsim_excess){(double)j->rows, (double)n->points, FSIM_IN_ROWS});
        for (int k = 0; k < n->args; k++) {
            const int from = fsim_member_producing(w, n->arg[k].tensor);
            if (from < 0)
                continue;
            x->after |= w->demand[from].after | (w->node[from] == j->first ? 1 : w->node[from] == j->second ? 2 : 0);
            arg[k] = w->demand[from].kind;
            x->level = w->demand[from].level > x->level ? w->demand[from].level : x->level;
        }
        x->kind = fsim_grouping_class(w, i) == FSIM_CONTRACTION ? FSIM_FREE : fsim_row_kind_of(n, arg);
        for (int k = 0; k < n->args && x->kind == FSIM_SCALED; k++)
            x->form = arg[k] == FSIM_ROW ? FSIM_DEFERRED : arg[k] == FSIM_SHIFTED ? FSIM_BASE_TWO : x->form;
        x->level = fsim_grouping_class(w, i) == FSIM_CONTRACTION ? 0 : x->level + reduces;
        if (x->level >= FSIM_MAX_STAGES)
            return fsim_refuse_set(w, FSIM_RULE_SPACE, j->second, w->node[i],
                                   (fsim_excess){FSIM_MAX_STAGES + 1, FSIM_MAX_STAGES, FSIM_IN_REDUCTIONS});
        o->stages = x->level + 1 > o->stages && !j->online ? x->level + 1 : o->stages;
        if (n->op == FSIM_OP_CAUSAL_MASK && j->online && masks_first(w, i))
            o->causal = n->attrs.k == 0 ? last_square(&w->g->tensor[n->result[0]].shape) : 0;
        if (w->node[i] == j->first || w->node[i] == j->second)
            x->after |= w->node[i] == j->first ? 1 : 2;
    }
    return true;
}

bool fsim_rows_in_tile(grouping *w, int reduction)
{
    fsim_group *o = w->out;
    const fsim_node *n = &w->g->node[w->joint.first];
    o->whole_row = o->reduced;
    return o->points * o->reduced == n->points ||
           fsim_refuse_set(w, FSIM_RULE_SPACE, w->joint.first, w->node[reduction],
                           (fsim_excess){(double)(o->points * o->reduced), (double)n->points, FSIM_IN_POINTS});
}

bool fsim_sibling_space(grouping *w)
{
    int branch = 0;
    w->out->points = 0;
    for (int i = 0; i < w->count; i++) {
        const fsim_node *n = fsim_grouping_node(w, i);
        member_demand *x = &w->demand[i];
        for (int k = 0; k < n->args; k++) {
            const int from = fsim_member_producing(w, n->arg[k].tensor);
            x->after |= from >= 0 ? w->demand[from].after : 0;
        }
        if (fsim_grouping_class(w, i) != FSIM_CONTRACTION)
            continue;
        if (x->after)
            return fsim_refuse_set(w, FSIM_RULE_CONTRACTIONS, w->joint.first, w->node[i],
                                   (fsim_excess){2, 1, FSIM_IN_NEEDS_OTHER});
        x->after = 1 << branch++;
        w->out->points += n->points;
    }
    return true;
}

bool fsim_side_by_side(grouping *w)
{
    for (int i = 0; i < w->count; i++)
        for (int j = 0; j < i; j++) {
            const member_demand *x = &w->demand[i], *y = &w->demand[j];
            bool meet = false;
            if (fsim_grouping_class(w, i) != FSIM_CONTRACTION || fsim_grouping_class(w, j) != FSIM_CONTRACTION)
                continue;
            for (int k = 0; k < w->count && !meet; k++)
                meet = (w->demand[k].after & x->after) && (w->demand[k].after & y->after);
            if (meet && !fsim_map_equal(&x->view[0].map, &y->view[0].map))
                return fsim_refuse_set(w, FSIM_RULE_INDEX_MAP, w->node[j], w->node[i],
                                       (fsim_excess){2, 1, FSIM_IN_INDEX_MAPS});
        }
    return true;
}

/* Sets *m to where root i of a chain is needed. */
static bool chain_root(grouping *w, int i, fsim_map *m)
{
    const fsim_node *n = fsim_grouping_node(w, i);
    member_demand *x = &w->demand[i];
    x->middle = (x->after & 3) == 1;
    x->outer = !x->middle;
    if (x->outer)
        return n->points == w->out->points ||
               fsim_refuse_set(w, FSIM_RULE_SPACE, w->node[i], w->out->anchor,
                               (fsim_excess){(double)n->points, (double)w->out->points, FSIM_IN_POINTS});
    const bool row = n->points == w->joint.rows && (x->kind == FSIM_ROW || w->joint.width > 1);
    *m = row ? w->row : w->frame;
    if (!row)
        w->out->causal = 0; /* all of it is stored: no tile can be skipped */
    if (!row && n->points != w->joint.rows * w->joint.width)
        return fsim_refuse_set(
            w, FSIM_RULE_SPACE, w->node[i], w->out->anchor,
            (fsim_excess){(double)n->points, (double)(w->joint.rows * w->joint.width), FSIM_IN_POINTS});
    if (!row && w->joint.online && x->kind != FSIM_FREE)
        return fsim_refuse_set(w, FSIM_RULE_REDUCED_EPILOGUE, w->joint.first, w->node[i],
                               (fsim_excess){(double)w->joint.width, FSIM_TILE_ROW, FSIM_IN_TILE_ROW});
    return true;
}

/* Does a concat, or another operator that reads ranges, read member i inside this kernel? */
static bool read_in_part(const grouping *w, int i)
{
    const fsim_tensor *t = &w->g->tensor[fsim_grouping_node(w, i)->result[0]];
    for (int r = 0; r < t->readers && t->reader[r] <= w->node[w->count - 1]; r++) {
        const int at = fsim_position(w->node, w->count, t->reader[r]);
        if (at >= 0 && fsim_grouping_class(w, at) == FSIM_ASSEMBLE)
            return true;
    }
    return false;
}

/* Demand for root i at the kernel's points. *first: the root that gave the kernel its points; -1: none yet. */
static bool demand_root(grouping *w, int i, bool inside, int *first)
{
    fsim_group *o = w->out;
    member_demand *x = &w->demand[i];
    const fsim_node *n = fsim_grouping_node(w, i);
    fsim_map m = fsim_identity(n->points);
    bool fits = true;
    if (w->joint.kind == FSIM_CHAINED) {
        if (!chain_root(w, i, &m))
            return false;
    } else if (w->joint.kind == FSIM_SIBLINGS) {
        if (!x->after)
            return fsim_refuse_set(
                w, FSIM_RULE_SPACE, w->node[i], o->anchor,
                (fsim_excess){(double)n->points, (double)w->g->node[o->anchor].points, FSIM_IN_POINTS});
    } else if (w->facts.reduces) {
        const bool row = !x->across && !x->past && n->points == o->points &&
                         (fsim_grouping_class(w, i) == FSIM_REDUCE || n->points != o->points * o->reduced);
        const bool stretch = !row && fsim_of_stretch(w, i);
        fits = row || stretch || n->points == o->points * o->reduced || x->across || x->past;
        m = stretch ? w->stretch : row ? w->row : x->across || x->past ? m : w->frame;
    } else if (*first < 0 && o->points == 0) {
        o->points = n->points;
    } else {
        fits = n->points == o->points;
    }
    x->late = !fits && inside && read_in_part(w, i);
    if (x->late)
        return true;
    if (!fits)
        return fsim_refuse_set(w, FSIM_RULE_SPACE, w->node[i], *first >= 0 ? *first : o->anchor,
                               (fsim_excess){(double)n->points, (double)(o->points * o->reduced), FSIM_IN_POINTS});
    if (*first < 0)
        *first = w->node[i];
    return fsim_demand_value(w, i, &m, 1u << x->level, -1);
}

bool fsim_demand_roots(grouping *w)
{
    int first = -1;
    for (int inside = 0; inside < 2; inside++)
        for (int i = 0; i < w->count; i++)
            if (fsim_grouping_reads(w, i) == inside && (w->demand[i].stored || !inside) &&
                !demand_root(w, i, inside, &first))
                return false;
    return true;
}

bool fsim_store_late(grouping *w, int i)
{
    member_demand *x = &w->demand[i];
    for (int k = 0; k < x->maps; k++)
        if (x->view[k].scope.place && !x->view[k].scope.any &&
            fsim_map_points(&x->view[k].map) * fsim_map_reduced(&x->view[k].map) == fsim_grouping_node(w, i)->points &&
            fsim_map_injective(&x->view[k].map)) {
            x->root = k;
            return true;
        }
    return fsim_refuse_set(w, FSIM_RULE_SPACE, w->node[i], w->out->anchor,
                           (fsim_excess){(double)fsim_grouping_node(w, i)->points,
                                         (double)(w->out->points * w->out->reduced), FSIM_IN_POINTS});
}
