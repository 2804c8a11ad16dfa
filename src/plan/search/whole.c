/* SPDX-License-Identifier: Apache-2.0 */
/* whole.c: which primitives are computed at all their points in every plan. Lower bounds count those. */
#include "plan/search/states.h"

#include "fusion/chain.h"
#include <stdlib.h>

/* What an access reads of a tensor, taken row by row: elements [from, from + length) of each row of `row` elements. */
typedef struct {
    int64_t row, from, length;
} columns;

static int by_stride(const void *x, const void *y)
{
    const int64_t a = ((const fsim_mode *)x)->stride, b = ((const fsim_mode *)y)->stride;
    return (a > b) - (a < b);
}

/* False where it is no such thing. */
static bool columns_of(const fsim_access *x, int64_t elems, columns *c)
{
    fsim_mode mode[FSIM_MAX_MODES];
    int modes = 0, i = 0;
    for (int k = 0; k < x->map.modes; k++)
        if (x->map.mode[k].extent > 1 && x->map.mode[k].stride != 0)
            mode[modes++] = x->map.mode[k];
    if (x->how != FSIM_READ_MAP || x->map.offset < 0)
        return false;
    qsort(mode, (size_t)modes, sizeof *mode, by_stride);
    *c = (columns){elems, x->map.offset, 1};
    for (; i < modes && mode[i].stride == c->length; i++)
        c->length *= mode[i].extent;
    if (i < modes) /* the rows: all there are, one after the other */
        c->row = mode[i].stride;
    int64_t span = c->row;
    for (; i < modes && mode[i].stride == span; i++)
        span *= mode[i].extent;
    return i == modes && span == elems && c->from + c->length <= c->row;
}

/* Do the places that are computed whole, together, read every element of the tensor? Either one of them does, or each
 * reads its own columns. */
static bool read_whole(const fsim_frontier *f, const bool *whole, int tensor)
{
    const fsim_tensor *t = &f->p->graph->tensor[tensor];
    columns part = {0};
    int64_t upto = 0;
    for (bool more = true; more && upto < t->elems;) { /* from column to column */
        more = false;
        for (int r = 0; r < t->readers && !more; r++) {
            const int place = f->l.place[t->reader[r]];
            for (int k = 0; place >= 0 && whole[place] && k < fsim_node_of(f, place)->args && !more; k++) {
                const fsim_access *x = &fsim_node_of(f, place)->arg[k];
                if (x->tensor != tensor || x->how == FSIM_READ_INDIRECT)
                    continue;
                if (x->distinct == t->elems)
                    return true;
                columns c;
                more = columns_of(x, t->elems, &c) && c.from == upto && (upto == 0 || c.row == part.row);
                part = more ? c : part;
            }
        }
        upto += more ? part.length : 0;
        if (more && upto == part.row)
            return true;
    }
    return false;
}

/* A kernel has the points of its contraction, or of the last one of a chain: who reads a part of that has all of it
 * computed. */
static bool fills_its_kernel(const fsim_frontier *f, int place)
{
    const fsim_gemm *m = &fsim_node_of(f, place)->gemm;
    const fsim_limits limits = fsim_limits_of(f->p);
    return m->k > 0 && !m->convolution && !fsim_may_lead_chain(&limits, f->l.node[place]);
}

bool *fsim_computed_whole(const fsim_frontier *f)
{
    const fsim_graph *g = f->p->graph;
    bool *whole = fsim_new(f->a, bool, f->l.count + 1);
    for (int i = f->l.count; i-- > 0;) {
        const fsim_node *n = fsim_node_of(f, i);
        if (fsim_is_lent(f, i) || (fsim_may_be_free(f, i) && f->side->within_call))
            continue;
        whole[i] = f->l.must[i] || fills_its_kernel(f, i);
        for (int r = 0; r < n->results && !whole[i]; r++)
            whole[i] = g->tensor[n->result[r]].elems > 0 && read_whole(f, whole, n->result[r]);
    }
    return whole;
}
