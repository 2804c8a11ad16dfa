/* SPDX-License-Identifier: Apache-2.0 */
/* stretch.c: reductions of stretches of a row, each for itself, beside reductions of whole rows: the largest magnitudes
 * of the blocks of what a norm makes. A stretch is held by threads of one warp, which combine their values in the walk
 * that computes them. */
#include "fusion/fuse.h"
#include "fusion/grouping.h"

enum { LEAST = 16, MOST = FSIM_STRETCH_VECTOR * 32 }; /* so that a stretch has four threads of a warp, or all of them */

/* Are the rows of reduction n one after the other in memory, each contiguous? */
static bool has_plain_rows(const fsim_node *n)
{
    fsim_map m = n->arg[0].map;
    m.offset = 0;
    m = fsim_map_simplify(m);
    const int last = m.modes - 1;
    if (n->arg[0].how != FSIM_READ_MAP || n->reduced < 2 || m.split != (n->points > 1) || last != m.split)
        return false;
    return m.mode[last].extent == n->reduced && m.mode[last].stride == 1 &&
           (n->points == 1 || (m.mode[0].extent == n->points && m.mode[0].stride == n->reduced));
}

static bool is_plain_reduction(const fsim_node *n)
{
    return fsim_ops[n->op].class == FSIM_REDUCE && n->results == 1 &&
           (n->op == FSIM_OP_SUM || n->op == FSIM_OP_MEAN || n->op == FSIM_OP_MAX || n->op == FSIM_OP_MIN);
}

bool fsim_may_reduce_stretches(const fsim_graph *g, int n, int rows)
{
    const fsim_node *x = &g->node[n], *row = &g->node[rows];
    const int64_t width = x->reduced;
    return fsim_ops[row->op].class == FSIM_REDUCE && is_plain_reduction(x) && width >= LEAST && width <= MOST &&
           (width & (width - 1)) == 0 && row->reduced > width && row->reduced % width == 0 &&
           row->reduced <= FSIM_LONGEST_ROW && x->points == row->points * (row->reduced / width) && has_plain_rows(x) &&
           has_plain_rows(row);
}

int fsim_stretched_rows(const grouping *w, int first)
{
    int64_t stretch = 0;
    int rows = first;
    if (w->facts.contracts || w->limits->strict)
        return first;
    for (int i = first; i < w->count; i++)
        if (fsim_grouping_class(w, i) == FSIM_REDUCE &&
            fsim_grouping_node(w, i)->reduced > fsim_grouping_node(w, rows)->reduced)
            rows = i;
    for (int i = first; i < w->count; i++) {
        const fsim_node *n = fsim_grouping_node(w, i);
        if (fsim_grouping_class(w, i) != FSIM_REDUCE || n->reduced == fsim_grouping_node(w, rows)->reduced)
            continue;
        if (!fsim_may_reduce_stretches(w->g, w->node[i], w->node[rows]) || (stretch > 0 && stretch != n->reduced))
            return first;
        stretch = n->reduced;
    }
    return rows;
}

void fsim_mark_stretches(grouping *w, int rows)
{
    const fsim_node *row = fsim_grouping_node(w, rows);
    if (w->facts.contracts || w->limits->strict || w->out->across > 0)
        return;
    for (int i = 0; i < w->count; i++) {
        if (fsim_grouping_class(w, i) != FSIM_REDUCE || fsim_grouping_node(w, i)->reduced == row->reduced ||
            !fsim_may_reduce_stretches(w->g, w->node[i], w->node[rows]))
            continue;
        const int64_t width = fsim_grouping_node(w, i)->reduced;
        if (w->out->stretch != 0 && w->out->stretch != width)
            continue;
        w->demand[i].inner = true;
        w->out->stretch = width;
    }
    if (w->out->stretch == 0)
        return;
    w->stretch = (fsim_map){0};
    fsim_map_push(&w->stretch, row->points, row->reduced / w->out->stretch);
    w->stretch.split = w->stretch.modes;
    fsim_map_push(&w->stretch, row->reduced / w->out->stretch, 1);
    fsim_map_push(&w->stretch, w->out->stretch, 0);
}

bool fsim_of_stretch(const grouping *w, int i)
{
    const fsim_node *n = fsim_grouping_node(w, i);
    const fsim_group *o = w->out;
    return o->stretch > 0 && n->points == o->points * (o->reduced / o->stretch) &&
           (w->demand[i].inner || w->demand[i].stretched);
}
