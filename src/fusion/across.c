/* SPDX-License-Identifier: Apache-2.0 */
/* across.c: sums over all rows beside reductions of each row, as norms need for the gradients of their scale and shift,
 * and losses for their mean. Blocks take rows in turn and add on chip; a second launch adds what the blocks have. */
#include "fusion/fuse.h"
#include "fusion/grouping.h"
#include "fusion/sums.h"

enum {
    LEAST_COLUMNS = 4096 /* a block with several narrow rows has as many sums for each */
};

static fsim_map plain(fsim_map m)
{
    m.offset = 0;
    return fsim_map_simplify(m);
}

static bool is_mode(const fsim_map *m, int i, int64_t extent, int64_t stride)
{
    return m->mode[i].extent == extent && m->mode[i].stride == stride;
}

/* Are the rows of reduction n one after the other in memory, each contiguous? */
static bool has_plain_rows(const fsim_node *n)
{
    const fsim_map m = plain(n->arg[0].map);
    return n->points > 1 && n->reduced > 1 && m.modes == 2 && m.split == 1 && is_mode(&m, 0, n->points, n->reduced) &&
           is_mode(&m, 1, n->reduced, 1);
}

/* Is reduction i, behind a contraction whose tiles hold rows, a sum over all their elements, or over a value of each of
 * these rows? */
static bool sums_tiles(const grouping *w, int i, int rows)
{
    const fsim_node *n = fsim_grouping_node(w, i);
    const bool values = n->points == 1 && n->reduced == fsim_grouping_node(w, rows)->points &&
                        fsim_may_sum_across(w->g, w->node[i]) && fsim_member_producing(w, n->arg[0].tensor) >= 0;
    return values || (n->points == 1 && fsim_may_sum_tiles(w->limits, w->node[i], w->joint.first));
}

/* Is reduction i a sum over all rows of reduction `rows`? */
static bool sums_across(const grouping *w, int i, int rows)
{
    const fsim_node *n = fsim_grouping_node(w, i), *row = fsim_grouping_node(w, rows);
    if (w->facts.contracts)
        return sums_tiles(w, i, rows);
    return fsim_may_sum_across(w->g, w->node[i]) && n->reduced == row->points &&
           (n->points == row->reduced || (n->points == 1 && fsim_member_producing(w, n->arg[0].tensor) >= 0));
}

static bool same_rows(const fsim_node *x, const fsim_node *y)
{
    const fsim_map a = plain(x->arg[0].map), b = plain(y->arg[0].map);
    return x->points == y->points && x->reduced == y->reduced && fsim_map_equal(&a, &b);
}

int fsim_row_reduction_of(const grouping *w, int first)
{
    bool several = false;
    for (int i = first; i < w->count && w->facts.contracts; i++)
        if (fsim_grouping_class(w, i) == FSIM_REDUCE && !fsim_may_sum_tiles(w->limits, w->node[i], w->joint.first))
            return i;
    for (int i = first + 1; i < w->count && !w->facts.contracts && !w->limits->strict; i++)
        several = several || (fsim_grouping_class(w, i) == FSIM_REDUCE &&
                              !same_rows(fsim_grouping_node(w, first), fsim_grouping_node(w, i)));
    for (int rows = first; rows < w->count && several; rows++) {
        if (fsim_grouping_class(w, rows) != FSIM_REDUCE || !has_plain_rows(fsim_grouping_node(w, rows)))
            continue;
        bool all = true;
        for (int i = first; i < w->count && all; i++)
            all = fsim_grouping_class(w, i) != FSIM_REDUCE ||
                  same_rows(fsim_grouping_node(w, rows), fsim_grouping_node(w, i)) || sums_across(w, i, rows);
        if (all)
            return rows;
    }
    return first;
}

/* Member i reads a sum over all rows: it is one more value of those sums, or else it would wait for all blocks. */
static bool joins_the_sums(grouping *w, int i, int64_t points)
{
    const fsim_node *n = fsim_grouping_node(w, i);
    bool all = n->points == points && fsim_ops[n->op].class == FSIM_ELEMENTWISE;
    for (int k = 0; k < n->args && all; k++) {
        const int from = fsim_member_producing(w, n->arg[k].tensor);
        all = n->arg[k].how == FSIM_READ_MAP && fsim_map_is_identity(&n->arg[k].map) &&
              (from < 0 || w->demand[from].across || w->demand[from].past);
    }
    w->demand[i].past = true;
    return all || fsim_refuse_set(w, FSIM_RULE_GRID_BARRIER, w->node[i], -1,
                                  (fsim_excess){(double)w->out->points, 1, FSIM_IN_BLOCKS});
}

/* What is computed from sums over all rows must be more such values. */
static bool check_past(grouping *w)
{
    for (int i = 0; i < w->count && w->out->across > 0; i++)
        for (int k = 0; k < fsim_grouping_node(w, i)->args; k++) {
            const int from = fsim_member_producing(w, fsim_grouping_node(w, i)->arg[k].tensor);
            if (from >= 0 && (w->demand[from].across || w->demand[from].past) &&
                !joins_the_sums(w, i, fsim_grouping_node(w, from)->points))
                return false;
        }
    return true;
}

bool fsim_totals_in_tiles(grouping *w)
{
    fsim_group *o = w->out;
    o->points = fsim_grouping_node(w, fsim_position(w->node, w->count, w->joint.first))->points;
    w->frame = w->row = fsim_identity(o->points);
    for (int i = 0; i < w->count; i++)
        if (fsim_grouping_class(w, i) == FSIM_REDUCE) {
            w->demand[i].across = true;
            o->across++;
            o->columns += fsim_grouping_node(w, i)->points > 1;
        }
    return check_past(w);
}

/* Are the columns of the product's results those of the kernel's points, so that what stands below one another in a
 * tile is added up to one sum? A copy that turns the results around has other points. */
static bool keeps_columns(const fsim_map *m, int64_t columns)
{
    bool keeps = m->offset % columns == 0 && m->modes > 0 && m->mode[m->modes - 1].stride == 1 &&
                 m->mode[m->modes - 1].extent % columns == 0;
    for (int i = 0; i + 1 < m->modes; i++)
        keeps = keeps && m->mode[i].stride % columns == 0;
    return keeps;
}

bool fsim_columns_of_tiles(grouping *w)
{
    const fsim_map m = fsim_map_simplify(w->out->anchor_map);
    if (w->joint.kind != FSIM_TOTALS || w->out->columns == 0 || keeps_columns(&m, w->g->node[w->joint.first].gemm.n))
        return true;
    int i = 0;
    while (!w->demand[i].across || fsim_grouping_node(w, i)->points == 1)
        i++;
    return fsim_refuse_set(w, FSIM_RULE_REDUCED_EPILOGUE, w->joint.first, w->node[i],
                           (fsim_excess){(double)fsim_grouping_node(w, i)->reduced, 1, FSIM_IN_OTHER_TILES});
}

bool fsim_mark_across(grouping *w, int rows)
{
    const fsim_node *row = fsim_grouping_node(w, rows);
    fsim_group *o = w->out;
    for (int i = 0; i < w->count; i++) {
        const fsim_node *n = fsim_grouping_node(w, i);
        if (fsim_grouping_class(w, i) == FSIM_REDUCE && !same_rows(row, n) && has_plain_rows(row) &&
            !w->limits->strict && sums_across(w, i, rows)) {
            w->demand[i].across = true;
            o->across++;
            o->columns += n->points > 1;
        }
    }
    if (!check_past(w))
        return false;
    const int64_t width = row->reduced > LEAST_COLUMNS ? row->reduced : LEAST_COLUMNS,
                  room = w->limits->shared_per_block - FSIM_ROW_STATIC;
    w->facts.mixes = o->across > 0;
    return o->columns == 0 ||
           fsim_note_room(w->limits, width <= room / (4 * o->columns), 4 * o->columns * width + FSIM_ROW_STATIC) ||
           fsim_refuse_set_for_good(
               w, FSIM_RULE_SHARED, w->node[rows], -1,
               (fsim_excess){4.0 * o->columns * (double)width, (double)room, FSIM_IN_SHARED_BYTES});
}

fsim_map fsim_needed_across(const grouping *w, int i)
{
    const fsim_node *n = fsim_grouping_node(w, i);
    const bool each = n->points > 1 || n->reduced == w->out->points * w->out->reduced;
    fsim_map m = each ? w->frame : w->row;
    m.offset = n->arg[0].map.offset;
    return m;
}
