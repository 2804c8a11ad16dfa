/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c: a library's contraction as a kernel: by cuBLAS, or by cuBLASLt with a bias, a residual, an activation or its
 * slope.
 */
#include "validate/cuda/blas.h"
#include "validate/cuda/blaslt.h"

#include <limits.h>
#include <math.h>

static int64_t element_bytes(fsim_dtype t) { return t == FSIM_F64 ? 8 : t == FSIM_F32 ? 4 : 2; }

/* From the first element of the first matrix to the last one's end. */
static int64_t span_bytes(const fsim_gpu_gemm_call *c, int64_t rows, int64_t columns, int64_t stride)
{
    return (rows * columns + stride * (c->batch - 1)) * element_bytes(c->type);
}

static bool check(fsim_gpu *g, const fsim_gpu_gemm_call *c, fsim_gpu_buffer at, fsim_gpu_buffer bt, fsim_gpu_buffer ct,
                  fsim_fault *fault)
{
    if (fsim_blas_type(c->type) < 0)
        return fsim_fail(fault, g->a, FSIM_UNAVAILABLE,
                         "'%s': cuBLAS is not called for this type here, only for f32, f16, bf16 and f64", c->name);
    const int64_t extent[] = {c->m, c->n, c->k, c->batch};
    for (int i = 0; i < 4; i++)
        if (extent[i] < 1 || extent[i] > INT_MAX)
            return fsim_fail(fault, g->a, FSIM_FAILED, "'%s': cuBLAS takes extents of 1 to 2^31 - 1, not %lld", c->name,
                             (long long)extent[i]);
    if (span_bytes(c, c->m, c->k, c->a_stride) > at.bytes || span_bytes(c, c->k, c->n, c->b_stride) > bt.bytes ||
        span_bytes(c, c->m, c->n, c->c_stride) > ct.bytes)
        return fsim_fail(fault, g->a, FSIM_FAILED, "'%s': a matrix is larger than its buffer", c->name);
    if (c->residual.at && span_bytes(c, c->m, c->n, c->c_stride) > c->residual.bytes)
        return fsim_fail(fault, g->a, FSIM_FAILED, "'%s': the residual is larger than its buffer", c->name);
    const bool bits = c->activation == FSIM_WITH_RELU || c->activation == FSIM_WITH_RELU_SLOPE;
    const int64_t aux_bytes =
        bits ? (c->m * c->n + c->c_stride * (c->batch - 1)) / 8 : span_bytes(c, c->m, c->n, c->c_stride);
    if (c->aux.at && aux_bytes > c->aux.bytes)
        return fsim_fail(fault, g->a, FSIM_FAILED, "'%s': the auxiliary matrix is larger than its buffer", c->name);
    if (c->sums.at && c->n * element_bytes(c->type) > c->sums.bytes)
        return fsim_fail(fault, g->a, FSIM_FAILED, "'%s': the sums are larger than their buffer", c->name);
    if (c->bias.at && (c->n + c->bias_stride * (c->batch - 1)) * element_bytes(c->type) > c->bias.bytes)
        return fsim_fail(fault, g->a, FSIM_FAILED, "'%s': the bias is larger than its buffer", c->name);
    return true;
}

fsim_gpu_kernel *fsim_gpu_gemm(fsim_gpu *g, const fsim_gpu_gemm_call *call, fsim_gpu_buffer at, fsim_gpu_buffer bt,
                               fsim_gpu_buffer ct, fsim_fault *fault)
{
    const bool epilogue = call->bias.at || call->residual.at || call->activation != FSIM_NO_ACTIVATION;
    if (!fsim_gpu_usable(g, fault) || !check(g, call, at, bt, ct, fault) || (!epilogue && !fsim_blas_open(g, fault)))
        return NULL;
    fsim_gpu_kernel *k = fsim_new(g->a, fsim_gpu_kernel, 1);
    *k = (fsim_gpu_kernel){.name = call->name,
                           .gemm = *call,
                           .registers = -1,
                           .static_shared_bytes = -1,
                           .local_bytes_per_thread = -1,
                           .occupancy = NAN};
    k->pointer = fsim_new(g->a, fsim_cu_pointer, 4);
    k->pointer[0] = at.at;
    k->pointer[1] = bt.at;
    k->pointer[2] = ct.at;
    k->pointer[3] = call->residual.at ? call->residual.at : ct.at; /* what the library calls C */
    return !epilogue || fsim_blaslt_prepare(g, k, fault) ? k : NULL;
}

const char *fsim_gpu_library_of(const fsim_gpu_kernel *k) { return k->program ? NULL : k->lt ? "cuBLASLt" : "cuBLAS"; }
