/* SPDX-License-Identifier: Apache-2.0 */
#include "import/onnx/contents.h"

#include <math.h>

bool fsim_contents_known(const fsim_contents *to) { return to->ints || to->floats; }

fsim_contents fsim_contents_room(fsim_onnx_call *c, const fsim_shape *shape, fsim_dtype dtype)
{
    fsim_contents to = {0};
    if (shape->rank > FSIM_MAX_RANK || !fsim_onnx_check_shape(c, shape) || fsim_elems(shape) > FSIM_ONNX_KNOWN_MAX)
        return to;
    if (fsim_dtype_floating(dtype))
        to.floats = fsim_new(c->a, double, fsim_elems(shape) + 1);
    else
        to.ints = fsim_new(c->a, int64_t, fsim_elems(shape) + 1);
    return to;
}

/* A number as an integer, as a cast has it; beyond 64 bits the nearest. */
static int64_t whole(double x)
{
    if (isnan(x))
        return 0;
    return x >= 0x1p63 ? INT64_MAX : x <= -0x1p63 ? INT64_MIN : (int64_t)x;
}

void fsim_contents_put(const fsim_contents *to, int64_t i, double number)
{
    if (to->ints)
        to->ints[i] = whole(number);
    else
        to->floats[i] = number;
}

void fsim_contents_take(const fsim_contents *to, int64_t i, const fsim_operand *from, int64_t at)
{
    if (to->ints && from->ints)
        to->ints[i] = from->ints[at];
    else
        fsim_contents_put(to, i, fsim_onnx_element(from, at));
}

void fsim_contents_strides(const fsim_shape *shape, int64_t *stride)
{
    int64_t step = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= shape->dim[i];
    }
}

fsim_contents fsim_contents_view(fsim_onnx_call *c, const fsim_operand *from, const fsim_shape *shape, int64_t start,
                                 const int64_t *stride)
{
    fsim_contents to = {0};
    if (!fsim_onnx_known(from))
        return to;
    to = fsim_contents_room(c, shape, from->dtype);
    if (!fsim_contents_known(&to))
        return to;
    int64_t at = start, index[FSIM_MAX_RANK] = {0};
    const int64_t count = fsim_elems(shape);
    for (int64_t i = 0; i < count; i++) {
        fsim_contents_take(&to, i, from, at);
        for (int k = shape->rank - 1; k >= 0; k--) {
            at += stride[k];
            if (++index[k] < shape->dim[k])
                break;
            at -= stride[k] * shape->dim[k];
            index[k] = 0;
        }
    }
    return to;
}

fsim_onnx_call *fsim_knowing(fsim_onnx_call *c, const fsim_contents *known)
{
    c->knows = NULL;
    if (known && fsim_contents_known(known)) {
        fsim_operand *knows = fsim_new(c->a, fsim_operand, 1);
        knows->ints = known->ints;
        knows->floats = known->floats;
        c->knows = knows;
    }
    return c;
}
