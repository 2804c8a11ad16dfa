/* SPDX-License-Identifier: Apache-2.0 */
/* aten_vision.c: places in images that data say, PyTorch's and torchvision's. */
#include "import/torch/work.h"

bool fsim_aten_op_grid_sampler(fsim_aten *c, const char *word)
{
    static const char *const modes[] = {"bilinear", "nearest", "bicubic"}; /* GridSamplerInterpolation */
    fsim_torch_value *x = fsim_aten_self(c), *grid = fsim_aten_tensor(c, "grid");
    const int64_t mode = fsim_aten_int(c, "interpolation_mode", 0);
    (void)word;
    if (!x || !grid || mode < 0 || mode > 2 || x->shape.rank != c->out[0]->shape.rank ||
        !fsim_aten_make(c, 0, "grid_sample", 2, (fsim_torch_value *[2]){x, grid}))
        return false;
    if (mode != 0)
        fsim_draft_word(c->x, "mode", modes[mode]);
    return true;
}

/* Boxes that overlap better ones: the order of the scores, a bit for each pair of boxes of which the one is behind the
 * other, and the bits' rows one after the other. */
bool fsim_aten_op_nms(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *boxes = fsim_aten_tensor(c, "dets|boxes"), *scores = fsim_aten_tensor(c, "scores");
    if (!c->out[0] || !boxes || !scores || !scores->tensor || boxes->shape.rank != 2 || scores->shape.rank != 1)
        return false;
    const int64_t n = boxes->shape.dim[0], words = (n + 63) / 64; /* a bit for each box */
    const fsim_shape bits = {.rank = 2, .dim = {n, words}}, kept = c->out[0]->shape;
    fsim_aten_assume(c, fsim_printf(c->a, "how many boxes it keeps depends on data; assumed: %lld of %lld",
                                    kept.rank > 0 ? (long long)kept.dim[0] : 1, (long long)n));
    const char *out[2] = {fsim_printf(c->a, "%s.scores", c->out[0]->name),
                          fsim_printf(c->a, "%s.order", c->out[0]->name)};
    fsim_draft_op_outs(c->x, "sort", 1, &scores->tensor, 2, out);
    scores->reads++;
    fsim_torch_value *order = fsim_new(c->a, fsim_torch_value, 1);
    *order = (fsim_torch_value){.shape = scores->shape, .dtype = FSIM_I64, .dim = -1, .tensor = out[1]};
    boxes = fsim_aten_step(c, "index_select", FSIM_AS("sorted", &boxes->shape, boxes->dtype), 2,
                           (fsim_torch_value *[2]){boxes, order});
    fsim_draft_int(c->x, "dim", 0);
    fsim_torch_value *in[2] = {fsim_aten_own_step(c, FSIM_AS("bits", &bits, FSIM_I64), 1, &boxes,
                                                  fsim_aten_work_of(FSIM_ATEN_OVERLAP, (double)n * (double)n / 2)),
                               order};
    return fsim_aten_own_kernel(c, 0, 2, in, (fsim_aten_work){0, 0});
}

/* Means of places within the bins of boxes: as many a bin as sampling_ratio says, along both axes. Without it a box has
 * one for each element of the image. word: "max": of roi_pool, all elements of a bin. */
bool fsim_aten_op_regions(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    double places = (double)fsim_aten_int(c, "sampling_ratio", 0);
    if (!x || !c->out[0])
        return false;
    const double results = (double)fsim_aten_elems(&c->out[0]->shape);
    if (places <= 0) { /* 2: the ratio of torchvision's detection models (MultiScaleRoIAlign) */
        places = 2;
        fsim_aten_assume(c, fsim_printf(c->a, "how many elements a bin has depends on data; assumed: %s",
                                        *word == 'm' ? "2 by 2" : "2 by 2 places"));
    }
    return fsim_aten_whole_kernel(
        c, fsim_aten_work_of(*word == 'm' ? FSIM_ATEN_LARGEST : FSIM_ATEN_TAP, places * places * results));
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
    if (!c->out[0])
        return false;
    const fsim_shape *s = &c->out[0]->shape;
    if (!x || !weight || !taps[1] || weight->shape.rank != 4 || s->rank != 4 ||
        fsim_aten_int(c, "n_weight_grps", 1) != 1)
        return false;
    const int64_t depth = fsim_aten_elems(&weight->shape) / weight->shape.dim[0], places = s->dim[2] * s->dim[3];
    const fsim_shape columns = {.rank = 3, .dim = {s->dim[0], depth, places}},
                     rows = {.rank = 2, .dim = {s->dim[1], depth}},
                     made = {.rank = 3, .dim = {s->dim[0], s->dim[1], places}},
                     side = {.rank = 3, .dim = {1, s->dim[1], 1}};
    x = fsim_aten_own_step(c, FSIM_AS("columns", &columns, x->dtype), masked ? 3 : 2, taps,
                           fsim_aten_work_of(FSIM_ATEN_MOVED_TAP, (double)fsim_aten_elems(&columns)));
    if (!x)
        return false;
    x = fsim_aten_step(c, "matmul", FSIM_AS("product", &made, x->dtype), 2,
                       (fsim_torch_value *[2]){fsim_aten_reshaped(c, weight, &rows), x});
    if (bias)
        x = fsim_aten_step(c, "add", FSIM_AS("biased", &made, c->out[0]->dtype), 2,
                           (fsim_torch_value *[2]){x, fsim_aten_reshaped(c, bias, &side)});
    return fsim_aten_reshape(c, 0, x);
}
