/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/implicit_gemm.h"

#include "cost/constants.h"

#include <math.h>

static const fsim_implicit_gemm families[] = {
#define FSIM_CUDNN_FAMILY(sm, kind, moves_in, moves_out, last_in, channels, filters, strided, last_gain, source)       \
    {sm, FSIM_##kind, moves_in, moves_out, last_in, channels, filters, strided, last_gain},
#define FSIM_CUDNN_LAST(sm, gain, start_up, exponent, source)
#define FSIM_CUDNN_WIDE(sm, kind, filters, gain, source)
#include "cost/cudnn.def"
#undef FSIM_CUDNN_FAMILY
#undef FSIM_CUDNN_LAST
#undef FSIM_CUDNN_WIDE
};
static const fsim_last_kernel last_kernels[] = {
#define FSIM_CUDNN_FAMILY(sm, kind, moves_in, moves_out, last_in, channels, filters, strided, last_gain, source)
#define FSIM_CUDNN_LAST(sm, gain, start_up, exponent, source) {sm, gain, start_up, exponent},
#define FSIM_CUDNN_WIDE(sm, kind, filters, gain, source)
#include "cost/cudnn.def"
#undef FSIM_CUDNN_FAMILY
#undef FSIM_CUDNN_LAST
#undef FSIM_CUDNN_WIDE
};
typedef struct {
    int sm;
    fsim_convolution_kind kind;
    double filters, gain;
} wide_kernel;
static const wide_kernel wide_kernels[] = {
#define FSIM_CUDNN_FAMILY(sm, kind, moves_in, moves_out, last_in, channels, filters, strided, last_gain, source)
#define FSIM_CUDNN_LAST(sm, gain, start_up, exponent, source)
#define FSIM_CUDNN_WIDE(sm, kind, filters, gain, source) {sm, FSIM_##kind, filters, gain},
#include "cost/cudnn.def"
#undef FSIM_CUDNN_FAMILY
#undef FSIM_CUDNN_LAST
#undef FSIM_CUDNN_WIDE
};

fsim_implicit_gemm fsim_implicit_gemm_of(const fsim_hw *hw, const fsim_convolution_shape *s)
{
    enum { FP32_UNITS = 0 };
    fsim_implicit_gemm g = {0};
    bool found = false;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const bool tensor = families[i].sm != FP32_UNITS;
        if (families[i].kind == s->kind && tensor == s->tensor && (!found || hw->sm >= families[i].sm)) {
            g = families[i];
            found = true;
        }
    }
    if (s->tensor && s->groups > 1) {
        g.channels = fmax(g.channels, cudnn_grouped_channels);
        g.filters = fmax(g.filters, cudnn_grouped_filters);
    }
    return g;
}

bool fsim_stored_last(const fsim_convolution_shape *s) { return s->axes == 2 && (s->groups == 1 || s->channels == 1); }

const fsim_last_kernel *fsim_last_kernel_of(const fsim_hw *hw, const fsim_convolution_shape *s)
{
    const fsim_last_kernel *found = NULL;
    for (size_t i = 0; s->kind == FSIM_PLANES && s->tensor && s->groups == 1 && !s->alone &&
                       i < sizeof last_kernels / sizeof last_kernels[0];
         i++)
        if (hw->sm >= last_kernels[i].sm)
            found = &last_kernels[i];
    return found;
}

static double filled(double x, double multiple) { return ceil(x / multiple) * multiple; }

/* Filters filled up, as many as would take the time at the family's efficiency. A weight's gradient has its channels
 * here, of which tensor units also load whole vectors. */
static double filled_filters(const fsim_implicit_gemm *g, const fsim_convolution_shape *s)
{
    const double filters =
        s->tensor && s->sums_pixels ? s->filters * filled(s->inputs, g->channels) / s->inputs : s->filters;
    double least = filled(filters, g->filters);
    for (size_t i = 0; i < sizeof wide_kernels / sizeof *wide_kernels; i++)
        if (g->sm == wide_kernels[i].sm && g->kind == wide_kernels[i].kind)
            least = fmin(least, filled(filters, wide_kernels[i].filters) / wide_kernels[i].gain);
    return least;
}

double fsim_implicit_gemm_s(const fsim_hw *hw, const fsim_convolution_shape *s, bool last)
{
    const fsim_implicit_gemm g = fsim_implicit_gemm_of(hw, s);
    const fsim_last_kernel *own_way = last ? fsim_last_kernel_of(hw, s) : NULL;
    const double gain = own_way ? own_way->gain
                        : last  ? g.last_gain
                                : 1,
                 terms = s->taps * filled(s->channels, g.channels),
                 start_up = own_way ? 1 + own_way->start_up / terms : 1,
                 flops = 2 * s->groups * s->pixels * terms * filled_filters(&g, s) * pow(s->strides, g.strided);
    const double splits = fmax(1, floor(s->taps * s->channels / conv_least_terms)),
                 blocks = s->groups * ceil(s->pixels / cudnn_smallest_tile) * ceil(s->filters / cudnn_smallest_tile) *
                          splits; /* in units of the smallest tile; with fewer, SMs are idle */
    return flops * start_up / (s->peak_flops * fmin(cudnn_most_efficiency, fsim_convolution_efficiency(hw, s) * gain)) *
           (s->sums_pixels ? 1 : fmax(1, fsim_hw_get(hw, FSIM_HW_SMS) / blocks));
}

double fsim_implicit_gemm_least_s(const fsim_hw *hw, const fsim_convolution_shape *s)
{
    const double first = fsim_implicit_gemm_s(hw, s, false);
    return fsim_stored_last(s) ? fmin(first, fsim_implicit_gemm_s(hw, s, true)) : first;
}
