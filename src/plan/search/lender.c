/* SPDX-License-Identifier: Apache-2.0 */
/* lender.c: parts of kernels that are no kernels alone.
 *
 * In a parted list the parts of a kernel, which have only inputs in common, have prices as kernels of their own. A part
 * may have no space alone, but that of a reduction of another part: it stores values of rows beside values of all
 * elements, and reduces no rows itself. Its members are free then, each alone, which bounds what the kernel costs. */
#include "plan/search/places.h"

/* Is the place in the set, or does it need a member, or a member it? */
static bool is_of_set(const fsim_places *l, int base, const fsim_bits *own, int place)
{
    const int bit = place - base;
    const fsim_bits after = fsim_bits_shifted(l->after[place], bit + 1),
                    before = fsim_bits_shifted(l->before[place], bit - FSIM_BITS);
    return fsim_bit(own, bit) || fsim_bits_meet(own, &after) || fsim_bits_meet(own, &before);
}

/* May a kernel have both the set and a reduction that it is apart from? */
static bool may_lend(fsim_places *l, int base, const fsim_own_set *s, int reduction)
{
    int node[FSIM_BITS], count = 0;
    bool stored[FSIM_BITS];
    fsim_bits both = s->own;
    FSIM_EACH_BIT(i, s->own)
    if (fsim_never_together(l, base + i, reduction))
        return false;
    fsim_bit_set(&both, reduction - base);
    FSIM_EACH_BIT(i, both)
    stored[count++] = base + i == reduction || fsim_bit(&s->must, i);
    fsim_set_primitives(l, base, both, node);
    return fsim_candidate_of(l->p, node, count, stored)->legal;
}

bool fsim_find_lender(fsim_places *l, fsim_family *f, const fsim_own_set *s)
{
    const int base = f->root - FSIM_BACK;
    bool found = false;
    for (int place = base < 0 ? 0 : base; place < base + FSIM_BITS && place < l->count && !found; place++) {
        if (fsim_ops[fsim_place_node(l, place)->op].class != FSIM_REDUCE || is_of_set(l, base, &s->own, place))
            continue;
        f->reach = place - f->root > f->reach ? place - f->root : f->reach;
        f->back = f->root - place > f->back ? f->root - place : f->back;
        found = may_lend(l, base, s, place);
    }
    return found;
}
