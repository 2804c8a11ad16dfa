/* SPDX-License-Identifier: Apache-2.0 */
/* aten_vision.c: places in images that data say, PyTorch's and torchvision's. */
#include "import/torch/aten.h"

/* Between neighbours; the nearest element, or between four along an axis, are no operators of ours. */
bool fsim_aten_op_grid_sampler(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *grid = fsim_aten_tensor(c, "grid");
    if (!x || !grid || fsim_aten_int(c, "interpolation_mode", 0) != 0 || x->shape.rank != c->out[0]->shape.rank)
        return fsim_aten_opaque(c);
    return fsim_aten_make(c, 0, "grid_sample", 2, (fsim_torch_value *[2]){x, grid});
}

/* Taps at places that data say, as columns, and their product with the weights, as torchvision computes it: deformable
 * convolution. The mask is ones where use_mask is false. */
bool fsim_aten_op_deform_conv(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_tensor(c, "input"), *weight = fsim_aten_tensor(c, "weight"),
                     *bias = fsim_aten_tensor(c, "bias"),
                     *taps[3] = {x, fsim_aten_tensor(c, "offset"), fsim_aten_tensor(c, "mask")};
    const bool masked = fsim_aten_flag(c, "use_mask", false) && taps[2];
    const fsim_shape *s = &c->out[0]->shape;
    if (!x || !weight || !taps[1] || weight->shape.rank != 4 || s->rank != 4 ||
        fsim_aten_int(c, "n_weight_grps", 1) != 1)
        return false;
    const int64_t depth = fsim_aten_elems(&weight->shape) / weight->shape.dim[0], places = s->dim[2] * s->dim[3];
    const fsim_shape columns = {.rank = 3, .dim = {s->dim[0], depth, places}},
                     rows = {.rank = 2, .dim = {s->dim[1], depth}},
                     made = {.rank = 3, .dim = {s->dim[0], s->dim[1], places}},
                     side = {.rank = 3, .dim = {1, s->dim[1], 1}};
    x = fsim_aten_step(c, "custom", FSIM_AS("columns", &columns, x->dtype), masked ? 3 : 2, taps);
    if (!x)
        return false;
    fsim_draft_ints(c->x, "shape", columns.rank, columns.dim);
    fsim_draft_word(c->x, "dtype", fsim_dtype_names[x->dtype]);
    x = fsim_aten_step(c, "matmul", FSIM_AS("product", &made, x->dtype), 2,
                       (fsim_torch_value *[2]){fsim_aten_reshaped(c, weight, &rows), x});
    if (bias)
        x = fsim_aten_step(c, "add", FSIM_AS("biased", &made, c->out[0]->dtype), 2,
                           (fsim_torch_value *[2]){x, fsim_aten_reshaped(c, bias, &side)});
    return fsim_aten_reshape(c, 0, x);
}
