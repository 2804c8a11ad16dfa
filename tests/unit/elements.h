/* SPDX-License-Identifier: Apache-2.0 */
/* elements.h: what a kernel's maps name, element by element, at all of its points. */
#ifndef FUSESIM_TESTS_ELEMENTS_H
#define FUSESIM_TESTS_ELEMENTS_H

#include "fusion/group.h"
#include <cmocka.h>
#include <string.h>

typedef struct {
    int written, read; /* tensors that were looked at, element by element */
} element_tally;

/* The elements that a map names at the points of the kernel, in met; returns how many are new. */
static inline int64_t meet_elements(const fsim_group *o, const fsim_map *m, bool full, bool *met, int64_t elems)
{
    int64_t fresh = 0;
    for (int64_t p = 0; p < o->points; p++)
        for (int64_t r = 0; r < (full ? o->reduced : 1); r++) {
            const int64_t e = fsim_map_at(m, p, r);
            assert_true(e >= 0 && e < elems);
            fresh += !met[e];
            met[e] = true;
        }
    return fresh;
}

/* Each tensor that a kernel writes has all of its elements written; what it reads of one is as much as its maps name.
 * Only of kernels with few points: not of chains, sums over all rows and what data place, nor, of what is read, of
 * products, windows, places that data choose and ranges of points. */
static inline void check_elements(const fsim_graph *g, const fsim_group *o, element_tally *sums)
{
    static bool met[1 << 14];
    if (o->joint || o->across > 0 || o->template == FSIM_OPAQUE_KERNEL || o->points * o->reduced > (int64_t)sizeof met)
        return;
    for (int i = 0; i < o->writes; i++) {
        const fsim_tensor *t = &g->tensor[o->write[i].tensor];
        if (t->elems > (int64_t)sizeof met)
            continue;
        memset(met, 0, sizeof met);
        const int64_t made = meet_elements(o, &o->write[i].map, o->write[i].full, met, t->elems);
        if (made != t->elems)
            fail_msg("%lld of %lld elements of %s are written: %s of %s", (long long)made, (long long)t->elems, t->name,
                     fsim_template_names[o->template], g->node[o->member[0].node].name);
        sums->written++;
    }
    for (int i = 0; i < o->reads; i++) {
        const fsim_read *r = &o->read[i];
        const fsim_tensor *t = &g->tensor[r->tensor];
        int64_t distinct = 0;
        if (o->contractions > 0 || r->unmapped || r->repeats > 0 || r->place || r->maps == 0 ||
            t->elems > (int64_t)sizeof met)
            continue;
        memset(met, 0, sizeof met);
        for (int k = 0; k < r->maps; k++)
            distinct += meet_elements(o, &r->map[k], r->full, met, t->elems);
        const int64_t bytes = distinct * fsim_dtype_bytes(t->dtype);
        const bool all = distinct == t->elems;
        if (r->maps == 1 ? bytes != r->bytes || r->whole != all
                         : bytes > r->bytes || (r->whole && !all)) /* views may overlap */
            fail_msg("%lld of %lld elements of %s are read, %lld bytes, whole %d, by %s", (long long)distinct,
                     (long long)t->elems, t->name, (long long)r->bytes, r->whole, g->node[o->member[0].node].name);
        sums->read++;
    }
}

#endif
