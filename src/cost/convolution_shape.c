/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/convolution_shape.h"

#include "cost/constants.h"

#include <math.h>

static const fsim_hw_key efficiency_key[FSIM_CONVOLUTION_KINDS] = {
    FSIM_HW_CONVOLUTION, FSIM_HW_CONVOLUTION_TRANSPOSED, FSIM_HW_CONVOLUTION_3D, FSIM_HW_CONVOLUTION_TRANSPOSED_3D};
/* The efficiency of transposed convolutions of three axes grows with the taps to this power; 0: not fitted. */
static double long_sums_of(const fsim_hw *hw, const fsim_convolution_shape *s)
{
    const double power[FSIM_DESIGNS] = {[FSIM_AMPERE_GRAPHICS] = long_sums_ada,
                                        [FSIM_ADA] = long_sums_ada,
                                        [FSIM_HOPPER] = long_sums_hopper,
                                        [FSIM_BLACKWELL] = long_sums_hopper,
                                        [FSIM_BLACKWELL_GRAPHICS] = long_sums_ada};
    return s->tensor && s->kind == FSIM_TRANSPOSED_VOLUMES && !s->windows_apart ? power[hw->arch->design] : 0;
}

static bool is_three(const fsim_axis *a) { return a->taps == 3 && a->stride == 1 && a->dilation <= 1; }
static bool are_three(const fsim_access *x) { return x->axes == 2 && is_three(&x->axis[0]) && is_three(&x->axis[1]); }

/* A convolution gathers its input by windows; */
static void add_windows(fsim_convolution_shape *s, const fsim_node *n)
{
    s->alone = true;
    for (int i = 0; i < n->arg[0].axes; i++) {
        s->taps *= (double)n->arg[0].axis[i].taps;
        s->alone = s->alone && n->arg[0].axis[i].taps == 1 && n->arg[0].axis[i].stride == 1;
    }
    s->channels = (double)n->gemm.k / s->taps;
}

/* Along an axis without dilation, every stride-th tap meets an element. */
static double visited_along(const fsim_axis *a)
{
    const double taps = (double)a->taps, stride = (double)a->stride;
    return a->dilation > 1 ? stride : ceil(taps / stride) * stride / taps;
}

/* in a transposed one every input pixel meets every tap of every filter once. */
static void add_scattered(fsim_convolution_shape *s, const fsim_node *n)
{
    s->channels = (double)n->arg[0].distinct / (s->pixels * s->groups);
    s->taps = (double)n->gemm.k / s->channels;
    s->strides = fmax(1, rint((double)n->points / (s->pixels * s->filters * s->groups)));
    s->alone = s->taps == 1 && s->strides == 1;
    s->windows_apart = s->strides > 1;
    for (int i = 0; i < n->arg[0].axes; i++) {
        const fsim_axis *a = &n->arg[0].axis[i];
        s->visited *= visited_along(a);
        s->dilated = s->dilated || (a->dilation > 1 && a->taps > 1);
        s->strided = s->strided || (a->stride > 1 && a->taps != a->stride);
        s->windows_apart = s->windows_apart && a->taps <= a->stride && (a->taps == 1 || a->dilation == 1);
    }
    if (s->windows_apart) {
        s->filters *= s->taps;
        s->taps = s->strides = 1;
    }
}

/* Of the gradient of a weight each result, a tap of a filter, is a sum over images and pixels. */
static void add_pixels(fsim_convolution_shape *s, const fsim_node *n)
{
    s->channels = (double)n->gemm.k;
    s->sums_pixels = true;
    s->inputs = s->filters;
    for (int i = 0; i < n->arg[0].axes; i++)
        s->inputs /= (double)n->arg[0].axis[i].taps;
}

/* MIOpen's convolutions do not round f32. */
static fsim_dtype arithmetic_of(const fsim_hw *hw, const fsim_gemm *m)
{
    return hw->arch->design == FSIM_CDNA && m->arithmetic == FSIM_TF32 ? FSIM_F32 : m->arithmetic;
}

fsim_convolution_shape fsim_convolution_shape_of(const fsim_hw *hw, const fsim_node *n)
{
    const fsim_gemm *m = &n->gemm;
    const bool weight = fsim_is_weight_gradient(n->op), transposed = !weight && n->op >= FSIM_OP_CONV_TRANSPOSE1D;
    fsim_convolution_shape s = {.axes = n->arg[0].axes,
                                .groups = (double)m->batch,
                                .filters = (double)m->n,
                                .taps = 1,
                                .strides = 1,
                                .visited = 1};
    s.kind = s.axes == 3  ? transposed ? FSIM_TRANSPOSED_VOLUMES : FSIM_VOLUMES
             : transposed ? FSIM_TRANSPOSED_PLANES
                          : FSIM_PLANES;
    s.pixels = (double)m->m;
    const fsim_dtype arithmetic = arithmetic_of(hw, m);
    s.tensor = fsim_tensor_key(hw, arithmetic) != FSIM_HW_COUNT;
    s.peak_flops = fsim_dense_peak(hw, arithmetic);
    s.most = fsim_dense_rate(hw, arithmetic) / s.peak_flops;
    s.winograd = are_three(&n->arg[0]);
    (weight ? add_pixels : transposed ? add_scattered : add_windows)(&s, n);
    return s;
}

/* Those of planes for which cuDNN has no kernel that is as fast as the forward convolution's. */
static bool is_scattered(const fsim_convolution_shape *s)
{
    return s->dilated || (s->strided && !s->windows_apart) || s->channels < FP32_CHANNELS;
}

/* The efficiency on FP32 units, where no other unit computes convolutions, over that of matrix products. Gradients of
 * convolutions of planes reach what the convolutions do: the data gradient without strides and dilation, the weight's
 * with Winograd's kernels. */
static double fp32_efficiency(const fsim_convolution_shape *s)
{
    const double planes = s->winograd ? conv_fp32_planes : fmin(1, conv_fp32_planes);
    switch (s->kind) {
    case FSIM_PLANES:
        return planes * (s->sums_pixels && !s->winograd ? conv_fp32_weight : 1);
    case FSIM_TRANSPOSED_PLANES:
        return is_scattered(s) ? conv_fp32_scattered : planes * (s->windows_apart && s->strided ? conv_fp32_apart : 1);
    case FSIM_VOLUMES:
        return conv_fp32_volumes;
    default:
        return conv_fp32_transposed_volumes;
    }
}

double fsim_convolution_efficiency(const fsim_hw *hw, const fsim_convolution_shape *s)
{
    if (!s->tensor)
        return fp32_efficiency(s) * s->most;
    return fsim_hw_get(hw, efficiency_key[s->kind]) * pow(s->taps / TYPICAL_TAPS, long_sums_of(hw, s));
}
