/* SPDX-License-Identifier: Apache-2.0 */
#include "import/onnx/triangle.h"

#include "import/onnx/rows.h"

#include <math.h>
#include <string.h>

static fsim_triangle triangle_of(const fsim_operand *v)
{
    double number;
    if (!v || v->triangle.known || !fsim_onnx_number_of(v, &number))
        return v ? v->triangle : (fsim_triangle){0};
    return (fsim_triangle){true, number, number};
}

static bool is_even(const fsim_triangle *t) { return t->known && t->below == t->above; }

static bool is_square(const fsim_shape *s) { return s->rank >= 2 && s->dim[s->rank - 1] == s->dim[s->rank - 2]; }

/* The lower triangle with the diagonal, or the upper one without it, of equal numbers. */
static fsim_triangle half_of(fsim_onnx_call *c, const fsim_triangle *x)
{
    const bool upper = fsim_onnx_int(c, "upper", 1) != 0;
    const int64_t *diagonal = fsim_onnx_ints_of(fsim_onnx_in(c, 1), NULL);
    if (!is_even(x) || (diagonal ? diagonal[0] : 0) != (upper ? 1 : 0))
        return (fsim_triangle){0};
    return (fsim_triangle){true, upper ? 0 : x->below, upper ? x->above : 0};
}

void fsim_onnx_follow_triangle(fsim_onnx_call *c)
{
    fsim_operand *out = c->outs > 0 && !*c->domain ? c->out[0] : NULL;
    if (!out || out->items >= 0 || c->ins < 1 || out->triangle.known)
        return;
    const fsim_triangle x = triangle_of(c->in[0]), y = triangle_of(c->ins > 1 ? c->in[1] : NULL),
                        z = triangle_of(c->ins > 2 ? c->in[2] : NULL);
    fsim_triangle to = {0};
    double number = 0;
    if (strcmp(c->op, "ConstantOfShape") == 0) {
        const fsim_operand *value = fsim_onnx_tensor_of(c, "value");
        to = (fsim_triangle){!value || fsim_onnx_number_of(value, &number), number, number};
    } else if (strcmp(c->op, "Expand") == 0) {
        to = is_even(&x) ? x : to;
    } else if (strcmp(c->op, "Trilu") == 0) {
        to = half_of(c, &x);
    } else if (strcmp(c->op, "Cast") == 0 || strcmp(c->op, "Unsqueeze") == 0) {
        to = x;
    } else if (strcmp(c->op, "Not") == 0) {
        to = (fsim_triangle){x.known, x.below == 0, x.above == 0};
    } else if (strcmp(c->op, "Equal") == 0) {
        to =
            (fsim_triangle){x.known && y.known && (is_even(&x) || is_even(&y)), x.below == y.below, x.above == y.above};
    } else if (strcmp(c->op, "Where") == 0) {
        to = (fsim_triangle){x.known && is_even(&y) && is_even(&z), x.below != 0 ? y.below : z.below,
                             x.above != 0 ? y.above : z.above};
    }
    if (is_even(&to) || is_square(&out->shape))
        out->triangle = to;
}

bool fsim_onnx_is_causal(const fsim_operand *v)
{
    const fsim_triangle t = v->triangle;
    return t.known && is_square(&v->shape) &&
           (v->dtype == FSIM_BOOL ? t.below == 1 && t.above == 0 : t.below == 0 && t.above == -INFINITY);
}
