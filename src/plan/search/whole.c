/* SPDX-License-Identifier: Apache-2.0 */
/* whole.c: which primitives are computed at all their points, in every plan or in a kernel that owns them. Lower bounds
 * count those. The two differ where a kernel needs a part of what another one computes again: the slice of a sum. */
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

/* Places that are computed whole: some of the list, or members of a set of a root. */
typedef struct {
    const bool *place; /* NULL: */
    fsim_bits member;
    int root;
} wholes;

static bool is_whole(const wholes *x, int place)
{
    const int bit = place - x->root + FSIM_BACK;
    if (place < 0 || x->place)
        return place >= 0 && x->place[place];
    return bit >= 0 && bit < FSIM_BITS && fsim_bit(&x->member, bit);
}

/* Do the places that are computed whole, together, read every element of the tensor? Either one of them does, or each
 * reads its own columns. */
static bool read_whole(const fsim_frontier *f, const wholes *whole, int tensor)
{
    const fsim_tensor *t = &f->p->graph->tensor[tensor];
    columns part = {0};
    int64_t upto = 0;
    for (bool more = true; more && upto < t->elems;) { /* from column to column */
        more = false;
        for (int r = 0; r < t->readers && !more; r++) {
            const int place = f->l.place[t->reader[r]];
            for (int k = 0; is_whole(whole, place) && k < fsim_node_of(f, place)->args && !more; k++) {
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
    const wholes all = {.place = whole};
    for (int i = f->l.count; i-- > 0;) {
        const fsim_node *n = fsim_node_of(f, i);
        if (fsim_is_lent(f, i) || (fsim_may_be_free(f, i) && f->side->within_call))
            continue;
        whole[i] = f->l.must[i] || fills_its_kernel(f, i);
        for (int r = 0; r < n->results && !whole[i]; r++)
            whole[i] = g->tensor[n->result[r]].elems > 0 && read_whole(f, &all, n->result[r]);
    }
    return whole;
}

/* Does each reader of a result of place i read all of it, and compute all of its own points where it is owned? */
static bool all_read_whole(const fsim_frontier *f, const bool *owned, int i)
{
    const fsim_node *n = fsim_node_of(f, i);
    for (int r = 0; r < n->results; r++) {
        const fsim_tensor *t = &f->p->graph->tensor[n->result[r]];
        for (int k = 0; k < t->readers; k++) {
            const int place = f->l.place[t->reader[k]];
            bool reads = place >= 0 && owned[place];
            for (int q = 0; reads && q < fsim_node_of(f, place)->args; q++) {
                const fsim_access *x = &fsim_node_of(f, place)->arg[q];
                reads = x->tensor != n->result[r] || (x->how != FSIM_READ_INDIRECT && x->distinct == t->elems);
            }
            if (!reads)
                return false;
        }
    }
    return true;
}

/* What can't be computed again is computed where it is owned alone, and so is all that needs it and is not stored. */
bool *fsim_owned_whole(const fsim_frontier *f)
{
    bool *owned = fsim_new(f->a, bool, f->l.count + 1);
    for (int i = f->l.count; i-- > 0;)
        owned[i] =
            f->whole[i] && (f->l.must[i] || !f->l.clonable[i] || fills_its_kernel(f, i) || all_read_whole(f, owned, i));
    return owned;
}

fsim_bits fsim_whole_members(const fsim_frontier *f, int root, const fsim_own_set *s)
{
    int at[FSIM_BITS], count = 0;
    bool sure = true;
    wholes x = {.member = s->own, .root = root};
    FSIM_EACH_BIT(i, s->own)
    {
        at[count++] = root - FSIM_BACK + i;
        sure = sure && f->owned_whole[root - FSIM_BACK + i];
    }
    if (sure)
        return s->own;
    x.member = (fsim_bits){{0}};
    while (count-- > 0) {
        const fsim_node *n = fsim_node_of(f, at[count]);
        const int bit = at[count] - root + FSIM_BACK;
        bool whole = f->owned_whole[at[count]] || (f->whole[at[count]] && fsim_bit(&s->must, bit));
        for (int r = 0; r < n->results && f->whole[at[count]] && !whole; r++)
            whole = f->p->graph->tensor[n->result[r]].elems > 0 && read_whole(f, &x, n->result[r]);
        if (whole)
            fsim_bit_set(&x.member, bit);
    }
    return x.member;
}
