/* SPDX-License-Identifier: Apache-2.0 */
/* forms.c: which form of a derivative is taken, where there are several: from an argument, from the result
 * (derivative.def), or from a mask that was packed to a bit an element. */
#include "graph/forms.h"

#include <string.h>

enum { BITS_OF_BYTE = 8, MOST_FORMS = 16 };

/* Does the term only compare the result? A number that was rounded is on the same side of a bound. */
static bool only_compares(const char *term)
{
    for (const char *y = strstr(term, "$y"); y; y = strstr(y + 2, "$y"))
        if (strncmp(y + 2, " > ", 3) != 0 && strncmp(y + 2, " < ", 3) != 0)
            return false;
    return true;
}

/* Does it choose by a comparison, whose result may be kept as a bit an element? */
static bool has_mask(const fsim_record *r, const char *term)
{
    return strncmp(term, "where(", 6) == 0 && r->shape.rank > 0 && r->shape.dim[r->shape.rank - 1] % BITS_OF_BYTE == 0;
}

fsim_form fsim_form_of(fsim_derivation *d, const fsim_record *r, int argument)
{
    fsim_graph *g = d->build->graph;
    fsim_choice c = {.node = g->tensor[r->result].producer, .argument = argument, .exact = 1};
    fsim_form form[MOST_FORMS];
    const char *first = fsim_derivative(r->op, argument, 0), *term;
    if (!first)
        return (fsim_form){NULL, false};
    for (; c.forms + 1 < MOST_FORMS && (term = fsim_derivative(r->op, argument, c.forms)); c.forms++) {
        c.exact |= only_compares(term) && only_compares(first) ? 1u << c.forms : 0;
        form[c.forms] = (fsim_form){term, false};
    }
    if (has_mask(r, first)) {
        c.exact |= 1u << c.forms;
        c.packed |= 1u << c.forms;
        form[c.forms++] = (fsim_form){first, true};
    }
    if (c.forms > 1) {
        const int taken = g->choices < d->how->forms ? d->how->form[g->choices] : 0;
        c.form = taken < c.forms && taken >= 0 ? taken : 0;
        *FSIM_PUSH(d->build->arena, g->choice, g->choices, d->build->choice_room) = c;
        if (taken == FSIM_FORM_FREE)
            return (fsim_form){"-$g", false};
    }
    return form[c.form];
}

static fsim_value viewed(fsim_derivation *d, fsim_value v, fsim_shape s, int64_t last, bool split)
{
    s.dim[s.rank - 1] = last;
    if (split)
        s.dim[s.rank++] = BITS_OF_BYTE;
    return fsim_derive_view(d, v, &s);
}

/* Eight flags as a byte: the first in its lowest bit. */
static fsim_value packed(fsim_derivation *d, fsim_value flags)
{
    const fsim_shape s = fsim_value_tensor(d, flags)->shape;
    const int64_t bytes = s.dim[s.rank - 1] / BITS_OF_BYTE;
    const fsim_list last = {.present = true, .count = 1, .at = {s.rank}};
    const fsim_value places = viewed(d, fsim_derive_unary(d, FSIM_OP_BIT_PLACE, flags), s, bytes, true);
    const fsim_value sum = fsim_derive_cast(d, fsim_derive_sum(d, places, &last), FSIM_U8);
    return viewed(d, sum, s, bytes, false);
}

static fsim_value unpacked(fsim_derivation *d, fsim_value bytes)
{
    fsim_step step;
    if (bytes.is != FSIM_TENSOR)
        return bytes;
    fsim_derive_start(d, &step, FSIM_OP_UNPACK);
    fsim_set_attr(&step.call, FSIM_ATTR_BITS, 1);
    const fsim_value v = fsim_derive_end(d, &step, 1, &bytes.tensor);
    return fsim_derive_binary(d, FSIM_OP_NE, v, FSIM_ZERO);
}

fsim_value fsim_through_bits(fsim_derivation *d, fsim_value flags)
{
    if (flags.is != FSIM_TENSOR)
        return flags;
    const fsim_tensor *t = fsim_value_tensor(d, flags);
    if (t->dtype != FSIM_BOOL || t->shape.rank == 0 || t->shape.rank == FSIM_MAX_RANK || t->producer < 0 ||
        t->shape.dim[t->shape.rank - 1] % BITS_OF_BYTE != 0)
        return flags;
    for (int i = 0; i < d->memos; i++)
        if (d->memo[i].op == FSIM_OP_UNPACK && d->memo[i].arg[0] == flags.tensor)
            return fsim_value_of(d->memo[i].result);
    fsim_memo m = {.op = FSIM_OP_UNPACK, .args = 1, .arg = {flags.tensor}};
    const fsim_value v = unpacked(d, packed(d, flags));
    m.result = v.tensor;
    if (v.is == FSIM_TENSOR)
        *FSIM_PUSH(d->build->arena, d->memo, d->memos, d->memo_room) = m;
    return v;
}
