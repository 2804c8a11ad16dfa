/* SPDX-License-Identifier: Apache-2.0 */
/* demand.c: pushes demands up the graph. A member of the set that is needed at some map gets that map, and hands
 * demands to its arguments; an argument that no member computes becomes a read of the kernel. */
#include "fusion/grouping.h"

#include <math.h>
#include <string.h>

static uint64_t branch_bit(const grouping *w) { return (uint64_t)1 << (w->scope.branch < 63 ? w->scope.branch : 63); }

bool fsim_demand_value(grouping *w, int i, const fsim_map *m, unsigned stages, int by)
{
    member_demand *x = &w->demand[i];
    x->branches |= branch_bit(w);
    for (int k = 0; k < x->maps; k++)
        if (fsim_map_equal(&x->view[k].map, m) && fsim_scope_equal(&x->view[k].scope, &w->scope)) {
            x->view[k].stages |= stages;
            return true;
        }
    if (x->maps == FSIM_MAX_VIEWS)
        return fsim_refuse_set(w, FSIM_RULE_INDEX_MAP, w->node[i], by,
                               (fsim_excess){FSIM_MAX_VIEWS + 1, FSIM_MAX_VIEWS, FSIM_IN_INDEX_MAPS});
    if (!x->view) { /* most members have one */
        x->view = fsim_new(w->a, member_view, 1);
        x->room = 1;
    }
    *FSIM_PUSH(w->a, x->view, x->maps, x->room) = (member_view){fsim_map_simplify(*m), w->scope, stages};
    return true;
}

bool fsim_demanded_in_full(const fsim_map *m, const fsim_scope *scope, const fsim_group *o)
{
    if ((scope->place ? o->reduced : fsim_map_reduced(m)) == 1)
        return true;
    for (int i = m->split; i < m->modes; i++)
        if (m->mode[i].stride != 0)
            return true;
    return false;
}

/* Records where in the kernel's space the view lies. r->place is allocated with the first view that does not cover
 * it all. */
static void place_view(grouping *w, fsim_read *r, int view, int room)
{
    if (w->scope.place && !r->place) {
        r->place = fsim_new(w->a, fsim_map, r->room);
        for (int i = 0; i < view; i++)
            r->place[i].offset = -1;
    } else if (r->place && room != r->room) {
        fsim_map *grown = fsim_new(w->a, fsim_map, r->room);
        memcpy(grown, r->place, (size_t)view * sizeof *grown);
        r->place = grown;
    }
    if (r->place)
        r->place[view] = w->scope.place ? fsim_map_simplify(*w->scope.place) : (fsim_map){.offset = -1};
}

static bool same_view(const grouping *w, const fsim_read *r, int view, const fsim_map *m)
{
    const bool placed = r->place && r->place[view].offset >= 0;
    return fsim_map_equal(&r->map[view], m) && placed == (w->scope.place != NULL) &&
           (!placed || fsim_map_equal(&r->place[view], w->scope.place));
}

static bool external(grouping *w, const fsim_access *x, const fsim_map *m, unsigned stages, int by, int operand)
{
    fsim_group *o = w->out;
    fsim_read *r = NULL;
    for (int i = 0; i < o->reads && !r; i++)
        if (o->read[i].tensor == x->tensor)
            r = &o->read[i];
    if (!r) {
        r = FSIM_PUSH(w->a, o->read, o->reads, w->read_room);
        *r =
            (fsim_read){.tensor = x->tensor, .access = x, .operand = -1, .map = fsim_new(w->a, fsim_map, 1), .room = 1};
    }
    r->branches |= branch_bit(w);
    r->repeats = fmax(r->repeats, w->scope.repeats);
    r->window = w->scope.window ? w->scope.window : r->window;
    if (operand >= 0) { /* x x^T loads one tensor for both operands: its bytes count once */
        r->other_maps = r->operand < 0 ? r->maps : r->other_maps;
        r->operand = operand;
    }
    r->stages |= stages;
    if (!m) {
        if (!r->unmapped || x->distinct > r->access->distinct) {
            r->access = x;
            r->derived = false;
        }
        r->unmapped = r->full = true;
        return true;
    }
    r->full = r->full || w->scope.repeats > 0 || fsim_demanded_in_full(m, &w->scope, o);
    const fsim_map s = fsim_map_simplify(*m);
    for (int i = 0; i < r->maps; i++)
        if (same_view(w, r, i, &s))
            return true;
    if (r->maps >= FSIM_MAX_VIEWS &&
        !w->scope.place) /* pieces exclude each other, so a thread needs one of their views */
        return fsim_refuse_set(w, FSIM_RULE_INDEX_MAP, by, -1,
                               (fsim_excess){FSIM_MAX_VIEWS + 1, FSIM_MAX_VIEWS, FSIM_IN_INDEX_MAPS});
    const int view = r->maps, room = r->room;
    *FSIM_PUSH(w->a, r->map, r->maps, r->room) = s;
    place_view(w, r, view, room);
    return true;
}

/* The argument of an inlined primitive under a gather: its rows are read at places that are known at run time
 * only. */
static bool external_rows(grouping *w, const fsim_access *x, const fsim_map *m, unsigned stages, int by)
{
    fsim_access *own = fsim_new(w->a, fsim_access, 1);
    *own = fsim_indirect_access(w->g, x->tensor, m, &w->scope);
    const int reads = w->out->reads;
    if (!external(w, own, NULL, stages, by, -1))
        return false;
    for (int i = 0; i < w->out->reads; i++)
        w->out->read[i].derived = w->out->read[i].derived || w->out->read[i].access == own;
    if (w->out->reads > reads)
        w->out->read[reads].full = !w->scope.once_a_row;
    return true;
}

/* Hands the demand for what x reads, at map `through` over the kernel's space, to the member that computes it; or
 * else records it as a read. */
static bool demand_through(grouping *w, int i, const fsim_access *x, const fsim_map *through, unsigned stages)
{
    const int from = fsim_member_producing(w, x->tensor);
    if (from >= 0)
        return fsim_demand_value(w, from, through, stages, w->node[i]);
    if (w->scope.any)
        return external_rows(w, x, through, stages, w->node[i]);
    return external(w, x, through, stages, w->node[i], w->demand[i].prologue ? w->demand[i].operand : -1);
}

/* Member i is needed at (m, scope): hands the demand for its argument x on. */
static bool demand_argument(grouping *w, int i, const fsim_access *x, const fsim_map *m, const fsim_scope *scope,
                            unsigned stages)
{
    const int from = fsim_member_producing(w, x->tensor);
    if (x->how == FSIM_READ_MAP && !scope->any && fsim_map_is_identity(&x->map) && fsim_map_points(&x->map) > 0) {
        w->scope = *scope;
        const bool same = demand_through(w, i, x, m, stages); /* needed where the result is */
        w->scope = (fsim_scope){0};
        return same;
    }
    const fsim_demand result = {*m, *scope};
    fsim_demand through;
    if (from < 0 && x->how != FSIM_READ_MAP && x->how != FSIM_READ_PIECE)
        return external(w, x, NULL, stages, w->node[i], -1);
    const fsim_piece_answer answer = fsim_demand_through(x, &result, w->out->reduced, w->a, &through);
    w->scope = through.scope;
    if (x->how == FSIM_READ_PIECE && w->scope.branch == 0)
        w->scope.branch = ++w->branches;
    bool good = true;
    if (answer == FSIM_PIECE_SOME)
        good = demand_through(w, i, x, &through.map, stages);
    else if (answer == FSIM_PIECE_UNKNOWN && from < 0 && x->how == FSIM_READ_PIECE)
        good = external(w, x, NULL, stages, w->node[i], -1); /* all of it, in an unknown order */
    else if (answer == FSIM_PIECE_UNKNOWN)
        good = fsim_refuse_set(
            w, x->how == FSIM_READ_MAP || x->how == FSIM_READ_PIECE ? FSIM_RULE_INDEX_MAP : FSIM_RULE_ASSEMBLY,
            from >= 0 ? w->node[from] : w->node[i], from >= 0 ? w->node[i] : -1, (fsim_excess){0});
    w->scope = (fsim_scope){0};
    return good;
}

/* A block knows the reduction's value for its own row only. */
static bool check_reduction(grouping *w, int i)
{
    const member_demand *x = &w->demand[i];
    for (int k = 0; k < x->maps; k++) {
        const fsim_scope *s = &x->view[k].scope;
        const bool own = s->place   ? fsim_piece_in_row(&x->view[k].map, s->place, w->out->reduced)
                         : x->inner ? fsim_map_equal(&x->view[k].map, &w->stretch)
                                    : fsim_map_equal(&x->view[k].map, &w->row);
        if (!own || s->any)
            return fsim_refuse_set(w, FSIM_RULE_GRID_BARRIER, w->node[i], -1,
                                   (fsim_excess){(double)fsim_grouping_node(w, i)->points, 1, FSIM_IN_BLOCKS});
    }
    return true;
}

/* Does the demand cover all of the kernel's points? */
static bool everywhere(const fsim_scope *s) { return !s->place && !s->any && s->repeats == 0; }

/* Contractions and pooling compute each point once, so their result must be needed at one map that is one to one. */
static bool check_anchor(grouping *w, int i)
{
    const member_demand *x = &w->demand[i];
    const bool plain = x->maps == 1 && everywhere(&x->view[0].scope);
    fsim_map m = plain ? x->view[0].map : fsim_identity(1);
    if (!plain || fsim_map_points(&m) != fsim_grouping_node(w, i)->points || !fsim_map_injective(&m))
        return fsim_refuse_set(w, FSIM_RULE_INDEX_MAP, w->node[i], -1,
                               (fsim_excess){x->maps == 1 ? (double)w->out->points : x->maps,
                                             x->maps == 1 ? (double)fsim_grouping_node(w, i)->points : 1,
                                             x->maps == 1 ? FSIM_IN_POINTS : FSIM_IN_INDEX_MAPS});
    w->out->anchor_map = m;
    return true;
}

/* rows_from: for the first contraction of a chain, the operand that belongs to the rows of a block. */
static bool demand_operands(grouping *w, int i, int rows_from)
{
    const fsim_node *n = fsim_grouping_node(w, i);
    const bool chained = w->joint.kind == FSIM_CHAINED, second = chained && w->node[i] == w->joint.second;
    for (int k = 0; k < n->args; k++) {
        const fsim_access *x = &n->arg[k];
        const int from = fsim_member_producing(w, x->tensor);
        const int operand = !chained         ? k
                            : second         ? FSIM_CHAIN_SECOND
                            : k == rows_from ? FSIM_CHAIN_ROWS
                                             : FSIM_CHAIN_FIRST;
        if (second && k == w->joint.side) {
            if (from < 0 || !(w->demand[from].after & 1))
                return fsim_refuse_set(w, FSIM_RULE_CONTRACTIONS, w->joint.first, w->joint.second,
                                       (fsim_excess){2, 1, FSIM_IN_GAP});
            w->demand[from].middle = true;
            if (!fsim_demand_value(w, from, &w->joint.frame, 1u << w->demand[from].level, w->node[i]))
                return false;
            continue;
        }
        if (from < 0) {
            if (!external(w, x, x->how == FSIM_READ_MAP ? &x->map : NULL, 1, w->node[i],
                          fsim_grouping_class(w, i) == FSIM_CONTRACTION ? operand : -1))
                return false;
            continue;
        }
        if (fsim_grouping_class(w, i) == FSIM_WINDOW && x->how == FSIM_READ_WINDOW) {
            fsim_map m;
            fsim_scope_of_window(x, &m, &w->scope);
            const bool good = fsim_demand_value(w, from, &m, 1, w->node[i]);
            w->scope = (fsim_scope){0};
            if (!good)
                return false;
            continue;
        }
        if (w->joint.kind != FSIM_ALONE && (w->demand[from].after || fsim_grouping_class(w, from) == FSIM_REDUCE ||
                                            fsim_grouping_class(w, from) == FSIM_CONTRACTION))
            return fsim_refuse_set(w, FSIM_RULE_PROLOGUE, w->node[from], w->node[i],
                                   (fsim_excess){0, 0, FSIM_IN_OPERAND_LOADS});
        const bool window =
            x->how == FSIM_READ_WINDOW &&
            fsim_grouping_class(w, i) ==
                FSIM_CONTRACTION; /* computed again for every tap that loads it: legal, and the price decides */
        if (fsim_grouping_class(w, i) == FSIM_WINDOW || (x->how != FSIM_READ_MAP && !window))
            return fsim_refuse_set(w, FSIM_RULE_WINDOW, w->node[from], w->node[i],
                                   (fsim_excess){(double)n->reduced, 1, FSIM_IN_EVALUATIONS});
        if (fsim_grouping_class(w, from) == FSIM_ASSEMBLE || fsim_grouping_class(w, from) == FSIM_GATHER)
            return fsim_refuse_set(w, FSIM_RULE_PROLOGUE, w->node[from], w->node[i], (fsim_excess){0});
        w->demand[from].prologue = true;
        w->demand[from].operand = operand;
        const fsim_map loaded = window ? fsim_identity(w->g->tensor[x->tensor].elems)
                                : w->joint.kind == FSIM_SIBLINGS
                                    ? fsim_map_without_broadcasts(&x->map)
                                    : x->map; /* one map for all siblings: they read it alike */
        if (!fsim_demand_value(w, from, &loaded, 1, w->node[i]))
            return false;
    }
    return true;
}

/* A contraction whose result is not at the kernel's points (first of a chain; followed by reductions of its rows):
 * its result must be needed tile by tile. */
static bool check_tile(grouping *w, int i, int *rows_from)
{
    const member_demand *x = &w->demand[i];
    const bool tile = x->maps == 1 && everywhere(&x->view[0].scope) && !x->prologue &&
                      fsim_tile_rows(w->g, w->node[i], &x->view[0].map, &w->joint, rows_from);
    if (w->joint.kind == FSIM_ROWS && (!tile || *rows_from != 0))
        return fsim_refuse_set(w, FSIM_RULE_REDUCED_EPILOGUE, w->node[i], -1,
                               (fsim_excess){(double)w->out->whole_row, 1, FSIM_IN_OTHER_TILES});
    if (tile) {
        w->joint.at = x->view[0].map;
        w->joint.rows_from = *rows_from;
        return true;
    }
    return fsim_refuse_set(w, FSIM_RULE_INDEX_MAP, w->node[i], -1, (fsim_excess){x->maps, 1, FSIM_IN_TILE_MAPS});
}

static bool demand_contraction(grouping *w, int i)
{
    int rows_from = 0;
    const bool tile = w->joint.kind == FSIM_ROWS || (w->joint.kind == FSIM_CHAINED && w->node[i] == w->joint.first);
    return (tile ? check_tile(w, i, &rows_from) : check_anchor(w, i)) && demand_operands(w, i, rows_from);
}

/* In a chain a member is computed before, between or behind the contractions, in one of these places only; and so
 * is what feeds it. */
static bool enter_region(grouping *w, int i)
{
    const fsim_node *n = fsim_grouping_node(w, i);
    member_demand *x = &w->demand[i];
    if (x->middle + x->outer + x->prologue > 1)
        return fsim_refuse_set(w, FSIM_RULE_INDEX_MAP, w->node[i], -1, (fsim_excess){2, 1, FSIM_IN_CHAIN_STAGES});
    if (fsim_grouping_class(w, i) == FSIM_REDUCE && !x->middle)
        return fsim_refuse_set(w, FSIM_RULE_REDUCED_EPILOGUE, w->node[i], w->joint.second,
                               (fsim_excess){(double)n->reduced, 1, FSIM_IN_OUTSIDE_CHAIN});
    for (int k = 0; k < n->args && fsim_grouping_class(w, i) != FSIM_CONTRACTION; k++) {
        const int from = fsim_member_producing(w, n->arg[k].tensor);
        if (from >= 0) {
            w->demand[from].middle = w->demand[from].middle || x->middle;
            w->demand[from].outer = w->demand[from].outer || x->outer;
        }
    }
    return true;
}

/* Overlapping windows compute a producer again for every window, so it must be cheap. */
static bool recomputes_cheaply(grouping *w, int i)
{
    const fsim_class class = fsim_grouping_class(w, i);
    for (int k = 0; k < w->demand[i].maps; k++)
        if (w->demand[i].view[k].scope.repeats > 1 && !fsim_classes[class].clones && class != FSIM_ASSEMBLE)
            return fsim_refuse_set(w, FSIM_RULE_WINDOW, w->node[i], w->out->anchor,
                                   (fsim_excess){w->demand[i].view[k].scope.repeats, 1, FSIM_IN_EVALUATIONS});
    return true;
}

/* A member other than i that reads the tensor, or -1. */
static int other_reader(const grouping *w, int tensor, int i)
{
    for (int m = 0; m < w->count; m++)
        for (int k = 0; k < fsim_grouping_node(w, m)->args && m != i; k++)
            if (fsim_grouping_node(w, m)->arg[k].tensor == tensor)
                return m;
    return -1;
}

/* A scatter walks each argument in its own order: producers are computed there, once for each element. */
static bool demand_once(grouping *w, int i)
{
    const fsim_node *n = fsim_grouping_node(w, i);
    const bool in_place = w->g->tensor[n->result[0]].over >= 0;
    for (int k = 0; k < n->args; k++) {
        const fsim_access *x = &n->arg[k];
        const int from = fsim_member_producing(w, x->tensor);
        if (in_place && k == 0) { /* must be in memory, and no other member may read it while it is overwritten */
            const int other = from >= 0 ? from : other_reader(w, x->tensor, i);
            if (other >= 0)
                return fsim_refuse_set_for_good(w, FSIM_RULE_IN_PLACE, w->node[i], w->node[other], (fsim_excess){0});
        }
        fsim_map m = fsim_identity(x->distinct);
        m.offset = x->map.offset;
        w->scope = (fsim_scope){.repeats = from >= 0};
        const bool good =
            from >= 0 ? fsim_demand_value(w, from, &m, 1, w->node[i]) : external(w, x, NULL, 1, w->node[i], -1);
        w->scope = (fsim_scope){0};
        if (!good)
            return false;
    }
    return true;
}

/* A scan has its running value at its own points alone. Its argument is computed, or read, as the rows are walked. */
static bool demand_scanned(grouping *w, int i)
{
    const fsim_access *x = &fsim_grouping_node(w, i)->arg[0];
    const int from = fsim_member_producing(w, x->tensor);
    if (!check_anchor(w, i))
        return false;
    if (!fsim_map_is_identity(&w->out->anchor_map))
        return fsim_refuse_set(w, FSIM_RULE_BOUNDARY, w->node[i], -1, (fsim_excess){0});
    fsim_map m = fsim_identity(x->distinct);
    m.offset = x->map.offset;
    return from < 0 ? external(w, x, &m, 1, w->node[i], -1) : fsim_demand_value(w, from, &m, 1, w->node[i]);
}

bool fsim_demand_arguments(grouping *w, int i)
{
    const fsim_node *n = fsim_grouping_node(w, i);
    const member_demand *x = &w->demand[i];
    if (w->joint.kind == FSIM_CHAINED && !enter_region(w, i))
        return false;
    switch (fsim_ops[n->op].class) {
    case FSIM_REDUCE:
        if (x->across) {
            const fsim_map m = fsim_needed_across(w, i);
            return demand_through(w, i, &n->arg[0], &m, 1u << x->level);
        }
        if (x->inner) {
            fsim_map m = w->frame;
            m.offset = n->arg[0].map.offset;
            return check_reduction(w, i) && demand_through(w, i, &n->arg[0], &m, 1u << x->level);
        }
        return check_reduction(w, i) && demand_through(w, i, &n->arg[0], &n->arg[0].map, 1u << (x->level - 1));
    case FSIM_CONTRACTION:
        return demand_contraction(w, i);
    case FSIM_WINDOW:
        return check_anchor(w, i) && demand_operands(w, i, 0);
    case FSIM_SCATTER:
        return demand_once(w, i);
    case FSIM_SCAN:
        return demand_scanned(w, i);
    default:
        for (int k = 0; k < x->maps; k++)
            for (int arg = 0; arg < n->args; arg++) {
                if (x->prologue) {
                    const int from = fsim_member_producing(w, n->arg[arg].tensor);
                    if (from >= 0) {
                        w->demand[from].prologue = true;
                        w->demand[from].operand = x->operand;
                    }
                }
                if (!demand_argument(w, i, &n->arg[arg], &x->view[k].map, &x->view[k].scope, x->view[k].stages))
                    return false;
            }
        return recomputes_cheaply(w, i);
    }
}
