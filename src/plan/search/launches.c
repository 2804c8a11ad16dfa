/* SPDX-License-Identifier: Apache-2.0 */
/* launches.c: primitives of which no kernel has two, nor one and a contraction, so that each pays for a launch. */
#include "plan/search/places.h"
#include "plan/search/states.h"

static fsim_class class_of(const fsim_frontier *f, int place) { return fsim_ops[fsim_node_of(f, place)->op].class; }

/* Is it one that gives its kernel its shape, as a contraction does, and may its kernel have others and cost something?
 * No kernel has two of these, nor one and a contraction. */
static bool anchors(const fsim_frontier *f, int place)
{
    const fsim_class class = class_of(f, place);
    return (class == FSIM_WINDOW || class == FSIM_SCAN || class == FSIM_SCATTER) && f->floor_alone[place] == 0 &&
           !fsim_may_be_free(f, place);
}

/* May it pay for a launch: is it in no kernel with a contraction, nor with what anchors one? */
static bool may_pay(const fsim_frontier *f, int place)
{
    return class_of(f, place) == FSIM_REDUCE && f->l.aloof[place] && f->floor_alone[place] == 0 &&
           !fsim_may_be_free(f, place);
}

void fsim_find_launches(fsim_frontier *f, bool *pays)
{
    fsim_places *l = &f->l;
    int *most = fsim_new(f->a, int, l->count + 1), *before = fsim_new(f->a, int, l->count + 1), last = -1;
    bool path;
    for (int i = 0; i < l->count; i++) {
        before[i] = -1;
        if (!may_pay(f, i) || !l->missing[i])
            continue;
        most[i] = 1;
        FSIM_EACH_BIT(k, l->before[i])
        {
            const int q = i - FSIM_BITS + k;
            if (q >= 0 && most[q] >= most[i] && fsim_separated(l, q, i, &path)) {
                most[i] = most[q] + 1;
                before[i] = q;
            }
        }
        last = last < 0 || most[i] > most[last] ? i : last;
    }
    for (; last >= 0; last = before[last])
        pays[last] = true;
    for (int i = 0; i < l->count; i++)
        pays[i] = pays[i] || (anchors(f, i) && f->floor_start[i] == 0);
}
