/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/blaslt.h"

#include "validate/cuda/blas.h"

/* PyTorch's default on every NVIDIA GPU (aten/src/ATen/cuda/CublasHandlePool.cpp, parseCUDABlasLtWorkspaceSize: 1024
 * KiB; issue 73328): with more, the library would choose kernels that frameworks do not get. */
enum { WORKSPACE_BYTES = 1 << 20 };

enum { A, B, C, MATRICES }; /* as the library sees them: column by column */

struct fsim_lt_call {
    fsim_lt_product product;
    fsim_lt_layout layout[MATRICES];
    fsim_lt_algorithm algorithm;
};

static bool ok(fsim_gpu *g, int status, const char *doing, fsim_fault *fault)
{
    const char *text = status != 0 && g->lt.cublasLtGetStatusString ? g->lt.cublasLtGetStatusString(status) : NULL;
    return status == 0 || fsim_fail(fault, g->a, FSIM_UNAVAILABLE, "%s failed: %s (%d)", doing,
                                    text ? text : "cuBLASLt gives no reason", status);
}

static void *as_pointer(fsim_cu_pointer p) { return (void *)(uintptr_t)p; }

/* Opens it once: after a failure it fails again without another search. */
static bool open_lt(fsim_gpu *g, fsim_fault *fault)
{
    fsim_library library;
    if (!g->lt_handle && !g->lt_fault.status)
        if (!(fsim_open_cublaslt(g->a, g->facts.driver_version / 1000, &library, &g->lt, &g->lt_fault) &&
              ok(g, g->lt.cublasLtCreate(&g->lt_handle), "starting cuBLASLt", &g->lt_fault) &&
              fsim_gpu_allocate(g, "cuBLASLt's workspace", WORKSPACE_BYTES, &g->lt_workspace, &g->lt_fault)))
            fsim_blaslt_close(g);
    if (g->lt_fault.status && fault)
        *fault = g->lt_fault;
    return !g->lt_fault.status;
}

void fsim_blaslt_close(fsim_gpu *g)
{
    if (g->lt_handle)
        (void)!g->lt.cublasLtDestroy(g->lt_handle);
    g->lt_handle = NULL;
    fsim_gpu_free(g, &g->lt_workspace);
}

void fsim_blaslt_release(fsim_gpu *g, fsim_gpu_kernel *k)
{
    if (!k->lt)
        return;
    for (int i = 0; i < MATRICES; i++)
        if (k->lt->layout[i])
            (void)!g->lt.cublasLtMatrixLayoutDestroy(k->lt->layout[i]);
    if (k->lt->product)
        (void)!g->lt.cublasLtMatmulDescDestroy(k->lt->product);
    k->lt = NULL;
}

/* Matrices of equal size in the library's column-major order; all numbers in elements. */
typedef struct {
    int type;                       /* cudaDataType */
    int64_t rows, columns, leading; /* leading: from the start of a column to that of the next */
    int32_t batch;
    int64_t stride; /* from one matrix to the next */
} matrices;

static bool lay_out(fsim_gpu *g, fsim_lt_layout *out, matrices m, fsim_fault *fault)
{
    static const char doing[] = "describing a matrix to cuBLASLt";
    return ok(g, g->lt.cublasLtMatrixLayoutCreate(out, m.type, (uint64_t)m.rows, (uint64_t)m.columns, m.leading), doing,
              fault) &&
           (m.batch == 1 ||
            (ok(g, g->lt.cublasLtMatrixLayoutSetAttribute(*out, FSIM_LT_LAYOUT_BATCH, &m.batch, sizeof m.batch), doing,
                fault) &&
             ok(g, g->lt.cublasLtMatrixLayoutSetAttribute(*out, FSIM_LT_LAYOUT_STRIDE, &m.stride, sizeof m.stride),
                doing, fault)));
}

/* The library sees the transpose of a row-major matrix: C' = B' A', with n rows and m columns. Its first operand is
 * our B. */
static bool lay_out_all(fsim_gpu *g, struct fsim_lt_call *x, const fsim_gpu_gemm_call *c, fsim_fault *fault)
{
    const int type = fsim_blas_type(c->type);
    const int32_t batch = (int32_t)c->batch;
    return (c->b_transposed
                ? lay_out(g, &x->layout[A], (matrices){type, c->k, c->n, c->k, batch, c->b_stride}, fault)
                : lay_out(g, &x->layout[A], (matrices){type, c->n, c->k, c->n, batch, c->b_stride}, fault)) &&
           (c->a_transposed
                ? lay_out(g, &x->layout[B], (matrices){type, c->m, c->k, c->m, batch, c->a_stride}, fault)
                : lay_out(g, &x->layout[B], (matrices){type, c->k, c->m, c->k, batch, c->a_stride}, fault)) &&
           lay_out(g, &x->layout[C], (matrices){type, c->n, c->m, c->n, batch, c->c_stride}, fault);
}

static bool set(fsim_gpu *g, const struct fsim_lt_call *x, int attribute, const void *value, size_t bytes,
                fsim_fault *fault)
{
    return ok(g, g->lt.cublasLtMatmulDescSetAttribute(x->product, attribute, value, bytes),
              "describing a product to cuBLASLt", fault);
}

/* The library's bias has an element for each of its rows, which are our columns. */
static bool describe(fsim_gpu *g, struct fsim_lt_call *x, const fsim_gpu_gemm_call *c, fsim_fault *fault)
{
    const int32_t op_a = c->b_transposed ? FSIM_CUBLAS_OP_T : FSIM_CUBLAS_OP_N,
                  op_b = c->a_transposed ? FSIM_CUBLAS_OP_T : FSIM_CUBLAS_OP_N, type = fsim_blas_type(c->type);
    static const uint32_t activations[] = {[FSIM_WITH_RELU] = FSIM_LT_EPILOGUE_RELU,
                                           [FSIM_WITH_TANH_GELU] = FSIM_LT_EPILOGUE_GELU,
                                           [FSIM_WITH_RELU_SLOPE] = FSIM_LT_EPILOGUE_RELU_SLOPE,
                                           [FSIM_WITH_TANH_GELU_SLOPE] = FSIM_LT_EPILOGUE_GELU_SLOPE};
    const uint32_t parts = activations[c->activation] | (c->bias.at ? FSIM_LT_EPILOGUE_BIAS : 0) |
                           (c->sums.at ? FSIM_LT_EPILOGUE_SUMS : 0) | (c->aux.at ? FSIM_LT_EPILOGUE_AUX : 0);
    const uint32_t epilogue = parts ? parts : FSIM_LT_EPILOGUE_NONE;
    const void *bias = as_pointer(c->sums.at ? c->sums.at : c->bias.at), *aux = as_pointer(c->aux.at);
    return ok(g,
              g->lt.cublasLtMatmulDescCreate(&x->product, fsim_blas_compute(c),
                                             c->type == FSIM_F64 ? FSIM_CUDA_R_64F : FSIM_CUDA_R_32F),
              "describing a product to cuBLASLt", fault) &&
           set(g, x, FSIM_LT_OP_A, &op_a, sizeof op_a, fault) && set(g, x, FSIM_LT_OP_B, &op_b, sizeof op_b, fault) &&
           set(g, x, FSIM_LT_EPILOGUE, &epilogue, sizeof epilogue, fault) &&
           (!bias ||
            (set(g, x, FSIM_LT_BIAS, &bias, sizeof bias, fault) &&
             set(g, x, FSIM_LT_BIAS_TYPE, &type, sizeof type, fault) &&
             (c->batch == 1 || set(g, x, FSIM_LT_BIAS_STRIDE, &c->bias_stride, sizeof c->bias_stride, fault)))) &&
           (!aux || (set(g, x, FSIM_LT_AUX, &aux, sizeof aux, fault) &&
                     set(g, x, FSIM_LT_AUX_LEADING, &c->n, sizeof c->n, fault) &&
                     (c->batch == 1 || set(g, x, FSIM_LT_AUX_STRIDE, &c->c_stride, sizeof c->c_stride, fault))));
}

/* The largest power of two that divides the address, at most 256, which the library assumes by default. */
static uint32_t alignment_of(fsim_cu_pointer p)
{
    uint32_t bytes = 256;
    while (p % bytes)
        bytes /= 2;
    return bytes;
}

static bool prefer(fsim_gpu *g, fsim_lt_preference p, const fsim_gpu_kernel *k, fsim_fault *fault)
{
    static const char doing[] = "telling cuBLASLt what there is";
    const uint64_t workspace_bytes = WORKSPACE_BYTES;
    const fsim_cu_pointer at[] = {k->pointer[1], k->pointer[0], k->pointer[3], k->pointer[2]};
    bool good = ok(
        g,
        g->lt.cublasLtMatmulPreferenceSetAttribute(p, FSIM_LT_WORKSPACE_MOST, &workspace_bytes, sizeof workspace_bytes),
        doing, fault);
    for (int i = 0; i < 4 && good; i++) {
        const uint32_t bytes = alignment_of(at[i]);
        good = ok(g, g->lt.cublasLtMatmulPreferenceSetAttribute(p, FSIM_LT_ALIGNMENT_A + i, &bytes, sizeof bytes),
                  doing, fault);
    }
    return good;
}

/* The first algorithm of its heuristic, as in frameworks that do not tune. */
static bool choose(fsim_gpu *g, fsim_gpu_kernel *k, fsim_fault *fault)
{
    struct fsim_lt_call *x = k->lt;
    fsim_lt_preference p = NULL;
    fsim_lt_heuristic best = {.status = -1};
    int count = 0;
    static const char doing[] =
        "asking cuBLASLt for an algorithm"; /* without the kernel's name, because reports count kernels by reason */
    if (!ok(g, g->lt.cublasLtMatmulPreferenceCreate(&p), "telling cuBLASLt what there is", fault))
        return false;
    bool good = prefer(g, p, k, fault) &&
                ok(g,
                   g->lt.cublasLtMatmulAlgoGetHeuristic(g->lt_handle, x->product, x->layout[A], x->layout[B],
                                                        x->layout[C], x->layout[C], p, 1, &best, &count),
                   doing, fault);
    (void)!g->lt.cublasLtMatmulPreferenceDestroy(p);
    if (good && count < 1)
        good = fsim_fail(fault, g->a, FSIM_UNAVAILABLE, "cuBLASLt has no algorithm for it");
    good = good && ok(g, best.status, doing, fault);
    x->algorithm = best.algorithm;
    return good;
}

bool fsim_blaslt_prepare(fsim_gpu *g, fsim_gpu_kernel *k, fsim_fault *fault)
{
    if (!open_lt(g, fault))
        return false;
    k->lt = fsim_new(g->a, struct fsim_lt_call, 1);
    if (lay_out_all(g, k->lt, &k->gemm, fault) && describe(g, k->lt, &k->gemm, fault) && choose(g, k, fault))
        return true;
    fsim_blaslt_release(g, k);
    return false;
}

bool fsim_blaslt_launch(fsim_gpu *g, const fsim_gpu_kernel *k, fsim_fault *fault)
{
    const struct fsim_lt_call *x = k->lt;
    const void *alpha, *beta;
    fsim_blas_scales(&k->gemm, &alpha, &beta);
    void *out = as_pointer(k->pointer[2]);
    const int status = g->lt.cublasLtMatmul(g->lt_handle, x->product, alpha, as_pointer(k->pointer[1]), x->layout[A],
                                            as_pointer(k->pointer[0]), x->layout[B], beta, as_pointer(k->pointer[3]),
                                            x->layout[C], out, x->layout[C], &x->algorithm,
                                            as_pointer(g->lt_workspace.at), WORKSPACE_BYTES, g->stream);
    return status == 0 || ok(g, status, fsim_printf(g->a, "cuBLASLt's contraction '%s'", k->name), fault);
}
