/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/blas.h"

/* NVIDIA recommends 32 MiB for Hopper, 4 MiB for older GPUs. Allocated by us, so that a call can be captured into a
 * graph. */
enum { WORKSPACE_BYTES = 32 << 20 };

static bool ok(fsim_gpu *g, int status, const char *doing, fsim_fault *fault)
{
    const char *text = status != 0 && g->blas.cublasGetStatusString ? g->blas.cublasGetStatusString(status) : NULL;
    return status == 0 || fsim_fail(fault, g->a, FSIM_UNAVAILABLE, "%s failed: %s (%d)", doing,
                                    text ? text : "cuBLAS gives no reason", status);
}

static void *as_pointer(fsim_cu_pointer p) { return (void *)(uintptr_t)p; }

bool fsim_blas_open(fsim_gpu *g, fsim_fault *fault)
{
    fsim_library library;
    fsim_fault *why = &g->blas_fault;
    if (!g->blas_handle && !why->status &&
        !(fsim_open_cublas(g->a, g->facts.driver_version / 1000, &library, &g->blas, why) &&
          ok(g, g->blas.cublasCreate_v2(&g->blas_handle), "starting cuBLAS", why) &&
          ok(g, g->blas.cublasSetStream_v2(g->blas_handle, g->stream), "giving cuBLAS a stream", why) &&
          fsim_gpu_allocate(g, "cuBLAS's workspace", WORKSPACE_BYTES, &g->blas_workspace, why) &&
          ok(g, g->blas.cublasSetWorkspace_v2(g->blas_handle, as_pointer(g->blas_workspace.at), WORKSPACE_BYTES),
             "giving cuBLAS a workspace", why)))
        fsim_blas_close(g);
    if (why->status && fault)
        *fault = *why;
    return !why->status;
}

void fsim_blas_close(fsim_gpu *g)
{
    if (g->blas_handle)
        (void)!g->blas.cublasDestroy_v2(g->blas_handle);
    g->blas_handle = NULL;
    fsim_gpu_free(g, &g->blas_workspace);
}

int fsim_blas_type(fsim_dtype t)
{
    return t == FSIM_F32    ? FSIM_CUDA_R_32F
           : t == FSIM_F16  ? FSIM_CUDA_R_16F
           : t == FSIM_BF16 ? FSIM_CUDA_R_16BF
           : t == FSIM_F64  ? FSIM_CUDA_R_64F
                            : -1;
}

int fsim_blas_compute(const fsim_gpu_gemm_call *c)
{
    return c->type == FSIM_F64              ? FSIM_CUBLAS_64F
           : c->tf32 && c->type == FSIM_F32 ? FSIM_CUBLAS_32F_FAST_TF32
                                            : FSIM_CUBLAS_32F;
}

void fsim_blas_scales(const fsim_gpu_gemm_call *c, const void **alpha, const void **beta)
{
    static const float one = 1, zero = 0;
    static const double one64 = 1, zero64 = 0;
    *alpha = c->type == FSIM_F64 ? (const void *)&one64 : &one;
    const bool adds = c->residual.at != 0;
    *beta = c->type == FSIM_F64 ? (const void *)(adds ? &one64 : &zero64) : adds ? &one : &zero;
}

/* cuBLAS is column-major and sees the transpose of a row-major matrix, so we request C' = B' A', with n rows and m
 * columns. */
bool fsim_blas_launch(fsim_gpu *g, const fsim_gpu_kernel *kernel, fsim_fault *fault)
{
    const fsim_gpu_gemm_call *c = &kernel->gemm;
    const int m = (int)c->m, n = (int)c->n, k = (int)c->k, type = fsim_blas_type(c->type),
              compute = fsim_blas_compute(c);
    const int op_a = c->a_transposed ? FSIM_CUBLAS_OP_T : FSIM_CUBLAS_OP_N,
              op_b = c->b_transposed ? FSIM_CUBLAS_OP_T : FSIM_CUBLAS_OP_N;
    const int lda = c->a_transposed ? m : k, ldb = c->b_transposed ? k : n;
    const void *alpha, *beta;
    fsim_blas_scales(c, &alpha, &beta);
    const void *a = as_pointer(kernel->pointer[0]), *b = as_pointer(kernel->pointer[1]);
    void *out = as_pointer(kernel->pointer[2]);
    const int status =
        c->batch == 1
            ? g->blas.cublasGemmEx(g->blas_handle, op_b, op_a, n, m, k, alpha, b, type, ldb, a, type, lda, beta, out,
                                   type, n, compute, FSIM_CUBLAS_GEMM_DEFAULT)
            : g->blas.cublasGemmStridedBatchedEx(g->blas_handle, op_b, op_a, n, m, k, alpha, b, type, ldb, c->b_stride,
                                                 a, type, lda, c->a_stride, beta, out, type, n, c->c_stride,
                                                 (int)c->batch, compute, FSIM_CUBLAS_GEMM_DEFAULT);
    return status == 0 || ok(g, status, fsim_printf(g->a, "cuBLAS's contraction '%s'", kernel->name), fault);
}
