/* SPDX-License-Identifier: Apache-2.0 */
/* free.c: kernels that cost nothing, in searches for a bound.
 *
 * - What a kernel owns that is of either side of the barrier, and nothing else (sides.c).
 * - What is in a call of a library: the call pays for all of it, with the views that its kernels read through. No
 * kernel has primitives of a call and others, but for such views.
 * - Within a call, what has nothing but views. */
#include "plan/search/states.h"

/* How many of the set's places a call may have, of each kind. */
typedef struct {
    int of[FSIM_IN_CALL + 1], all;
    bool lent; /* all are of either side */
} kinds;

static kinds kinds_of(const expansion *x)
{
    kinds k = {.lent = true};
    FSIM_EACH_BIT(i, x->set->own)
    {
        k.of[fsim_call_place_of(x->f, x->root - FSIM_BACK + i)]++;
        k.lent = k.lent && fsim_is_lent(x->f, x->root - FSIM_BACK + i);
        k.all++;
    }
    return k;
}

bool fsim_is_free(const expansion *x)
{
    if (!fsim_has_free(x->f))
        return false;
    const kinds k = kinds_of(x);
    const int views = k.of[FSIM_CALL_VIEW] + k.of[FSIM_CALL_OWN_VIEW];
    if (k.lent || (x->f->side->within_call && views == k.all))
        return true;
    return x->f->side->calls && !x->f->side->within_call && k.of[FSIM_NO_CALL] == 0 &&
           (k.of[FSIM_IN_CALL] > 0 || (k.of[FSIM_CALL_OWN_VIEW] > 0 && views == k.all));
}

/* Is any of them in no call, and no view that one reads through? */
static bool has_others(const expansion *x, fsim_bits copies)
{
    bool others = false;
    FSIM_EACH_BIT(i, copies)
    others = others || fsim_call_place_of(x->f, x->root - FSIM_BACK + i) == FSIM_NO_CALL;
    return others;
}

/* One for each place does no worse than one for several, unless a call takes a view in that is otherwise not free. */
fsim_variant *fsim_free_kernel(expansion *x)
{
    const kinds k = kinds_of(x);
    fsim_bits copies = {{0}};
    if (k.all > 1 && (k.lent || k.of[FSIM_CALL_VIEW] == 0 || x->f->side->within_call))
        return NULL;
    FSIM_EACH_BIT(i, x->set->own)
    if (!fsim_add_needed(x, x->root - FSIM_BACK + i, &copies))
        return NULL;
    if (!k.lent && has_others(x, copies))
        return NULL;
    fsim_variant *v = fsim_variant_of(&x->f->l, x->family, x->set, &copies, &x->set->own);
    if (v || !x->f->side->calls)
        return v;
    v = fsim_new(x->f->a, fsim_variant, 1); /* a call may be what no kernel of ours is */
    v->clones = copies;
    v->stored = x->set->own;
    return v;
}
