/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLAS: C = alpha op(A) op(B) + beta C, column by column, as a kernel of the mock device. */
#include "emulate.h"
#include "emulated.h"
#include "mockblas.h"
#include "mockgpu.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    void *stream;
} handle;

static int handles;

EXPORT int cublasCreate_v2(handle **out)
{
    if (!mock_initialized())
        return NOT_INITIALIZED;
    *out = calloc(1, sizeof **out);
    if (handles > 0)
        mock_say("a second handle of cuBLAS beside one that was not destroyed");
    handles += *out != NULL;
    return *out ? SUCCESS : ALLOC_FAILED;
}

EXPORT int cublasDestroy_v2(handle *h)
{
    free(h);
    handles -= h != NULL;
    return h ? SUCCESS : NOT_INITIALIZED;
}

EXPORT int cublasSetStream_v2(handle *h, void *stream)
{
    if (!h)
        return NOT_INITIALIZED;
    h->stream = stream;
    return SUCCESS;
}

EXPORT int cublasSetWorkspace_v2(const handle *h, const void *workspace, size_t bytes)
{
    if (!h)
        return NOT_INITIALIZED;
    if (mock_fails("noblas"))
        return INVALID_VALUE;
    return (uintptr_t)workspace % 256 != 0 || (!workspace && bytes > 0) ? INVALID_VALUE : SUCCESS;
}

const char *mock_status_text(int status)
{
    return status == SUCCESS           ? "CUBLAS_STATUS_SUCCESS"
           : status == NOT_INITIALIZED ? "CUBLAS_STATUS_NOT_INITIALIZED"
           : status == INVALID_VALUE   ? "CUBLAS_STATUS_INVALID_VALUE"
           : status == NOT_SUPPORTED   ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                       : "CUBLAS_STATUS_EXECUTION_FAILED";
}

EXPORT const char *cublasGetStatusString(int status) { return mock_status_text(status); }

size_t mock_bytes_of(int type) { return type == F64 ? 8 : type == F32 ? 4 : 2; }

bool mock_is_type(int type) { return type == F32 || type == F64 || type == F16 || type == BF16; }

/* Rounded to nearest, to even at half. */
static uint16_t to_f16(float value)
{
    const unsigned bits = fs_bits(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude >= 0x47800000)
        return (uint16_t)(sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00));
    if (magnitude < 0x38800000)
        return (uint16_t)(sign | (unsigned)lrintf(fs_float(magnitude) * 0x1p24f));
    return (uint16_t)(sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13);
}

static uint16_t to_bf16(float value)
{
    const unsigned bits = fs_bits(value);
    return (uint16_t)(value != value ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double load(int type, const char *from, long long at)
{
    double f64;
    float f32;
    uint16_t bits;
    from += (size_t)at * mock_bytes_of(type);
    if (type == F64) {
        memcpy(&f64, from, sizeof f64);
        return f64;
    }
    if (type == F32) {
        memcpy(&f32, from, sizeof f32);
        return (double)f32;
    }
    memcpy(&bits, from, sizeof bits);
    return (double)(type == F16 ? mock_of_f16(bits) : fs_float((unsigned)bits << 16));
}

static void store(int type, char *to, long long at, double from)
{
    const float f32 = (float)from;
    const uint16_t bits = type == F16 ? to_f16(f32) : to_bf16(f32);
    memcpy(to + (size_t)at * mock_bytes_of(type),
           type == F64   ? (const void *)&from
           : type == F32 ? (const void *)&f32
                         : &bits,
           mock_bytes_of(type));
}

/* Its parameters, 8 bytes each. */
enum {
    A,
    B,
    BIAS,
    ADDED,
    AUX,
    SUMS,
    C,
    OP_A,
    OP_B,
    M,
    N,
    K,
    A_TYPE,
    C_TYPE,
    LDA,
    LDB,
    LDC,
    STRIDE_A,
    STRIDE_B,
    STRIDE_C,
    STRIDE_BIAS,
    LDA_AUX,
    STRIDE_AUX,
    BATCH,
    ALPHA,
    BETA,
    ACTIVATION,
    PARAMS
};

static double activated(mock_activation how, double x)
{
    switch (how) {
    case MOCK_RELU:
        return x > 0 ? x : 0;
    case MOCK_GELU:
        return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    default:
        return x;
    }
}

/* Of tanh GELU. */
static double slope(double x)
{
    const double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

static bool bit(const char *from, long long at) { return (unsigned char)from[at / 8] >> at % 8 & 1; }

/* The element of C at a row and a column of matrix i; written unless it is but one of the sums of another thread. */
static double element(const long long *p, long long row, long long column, long long i, bool writes)
{
    double alpha, beta;
    memcpy(&alpha, &p[ALPHA], sizeof alpha);
    memcpy(&beta, &p[BETA], sizeof beta);
    const int type = (int)p[A_TYPE], c_type = (int)p[C_TYPE];
    const char *const a = (const char *)(uintptr_t)p[A], *const b = (const char *)(uintptr_t)p[B];
    const char *const bias = (const char *)(uintptr_t)p[BIAS];
    char *const c = (char *)(uintptr_t)p[C];
    const char *const added = p[ADDED] ? (const char *)(uintptr_t)p[ADDED] : c;
    double sum = 0;
    for (long long k = 0; k < p[K]; k++)
        sum += load(type, a, i * p[STRIDE_A] + (p[OP_A] ? k + row * p[LDA] : row + k * p[LDA])) *
               load(type, b, i * p[STRIDE_B] + (p[OP_B] ? column + k * p[LDB] : k + column * p[LDB]));
    const long long at = i * p[STRIDE_C] + row + column * p[LDC];
    sum = alpha * sum + (beta != 0 ? beta * load(c_type, added, at) : 0);
    sum += bias ? load(c_type, bias, i * p[STRIDE_BIAS] + row) : 0;
    const mock_activation how = (mock_activation)p[ACTIVATION];
    char *const aux = (char *)(uintptr_t)p[AUX];
    const long long beside = i * p[STRIDE_AUX] + row + column * p[LDA_AUX];
    if (how == MOCK_RELU && aux && writes && row % 8 == 0) { /* for its byte */
        unsigned char bits = 0;
        for (int k = 0; k < 8; k++)
            bits |= (unsigned char)((element(p, row + k, column, i, false) > 0) << k);
        aux[beside / 8] = (char)bits;
    }
    if (how == MOCK_GELU && aux && writes)
        store(c_type, aux, beside, sum);
    sum *= how == MOCK_GELU_SLOPE ? slope(load(c_type, aux, beside)) : 1;
    sum *= how == MOCK_RELU_SLOPE ? bit(aux, beside) : 1;
    if (writes)
        store(c_type, c, at, activated(how, sum));
    return activated(how, sum);
}

static void gemm(void **params)
{
    long long p[PARAMS];
    for (int i = 0; i < PARAMS; i++)
        memcpy(&p[i], params[i], sizeof p[i]);
    const long long point = fs_block() * 256 + fs_thread();
    if (point >= p[M] * p[N] * p[BATCH])
        return;
    const long long row = point % p[M], column = point / p[M] % p[N], i = point / p[M] / p[N];
    double sum = element(p, row, column, i, true);
    if (!p[SUMS] || column > 0)
        return;
    for (long long k = 1; k < p[N]; k++)
        sum += element(p, row, k, i, false);
    store((int)p[C_TYPE], (char *)(uintptr_t)p[SUMS], row, sum);
}

int mock_multiply(const mock_product *p, bool lt, void *stream)
{
    static struct function *made[2];
    uint64_t param[PARAMS] = {[A] = (uintptr_t)p->a,
                              [B] = (uintptr_t)p->b,
                              [BIAS] = (uintptr_t)p->bias,
                              [ADDED] = (uintptr_t)p->added,
                              [AUX] = (uintptr_t)p->aux,
                              [SUMS] = (uintptr_t)p->sums,
                              [C] = (uintptr_t)p->c,
                              [OP_A] = p->op_a,
                              [OP_B] = p->op_b,
                              [M] = (uint64_t)p->m,
                              [N] = (uint64_t)p->n,
                              [K] = (uint64_t)p->k,
                              [A_TYPE] = (uint64_t)p->type,
                              [C_TYPE] = (uint64_t)p->c_type,
                              [LDA] = (uint64_t)p->lda,
                              [LDB] = (uint64_t)p->ldb,
                              [LDC] = (uint64_t)p->ldc,
                              [STRIDE_A] = (uint64_t)p->stride_a,
                              [STRIDE_B] = (uint64_t)p->stride_b,
                              [STRIDE_C] = (uint64_t)p->stride_c,
                              [STRIDE_BIAS] = (uint64_t)p->stride_bias,
                              [LDA_AUX] = (uint64_t)p->lda_aux,
                              [STRIDE_AUX] = (uint64_t)p->stride_aux,
                              [BATCH] = (uint64_t)p->batch,
                              [ACTIVATION] = (uint64_t)p->activation};
    const long long points = p->m * p->n * p->batch;
    memcpy(&param[ALPHA], &p->alpha, sizeof p->alpha);
    memcpy(&param[BETA], &p->beta, sizeof p->beta);
    if (points == 0)
        return SUCCESS;
    fs_emulator = mock_calls();
    return mock_launch_own(&made[lt], lt ? "mock_gemm_epilogue" : "mock_gemm", gemm, PARAMS, C, param,
                           (unsigned)((points + 255) / 256), stream) == 0
               ? SUCCESS
               : EXECUTION_FAILED;
}

static double scale(bool f64, const void *at)
{
    double value;
    float f32;
    memcpy(f64 ? (void *)&value : (void *)&f32, at, f64 ? sizeof value : sizeof f32);
    return f64 ? value : (double)f32;
}

EXPORT int cublasGemmStridedBatchedEx(const handle *h, int op_a, int op_b, int m, int n, int k, const void *alpha,
                                      const void *a, int a_type, int lda, long long stride_a, const void *b, int b_type,
                                      int ldb, long long stride_b, const void *beta, void *c, int c_type, int ldc,
                                      long long stride_c, int batch, int compute, int algorithm)
{
    (void)algorithm;
    if (!h)
        return NOT_INITIALIZED;
    if (m < 0 || n < 0 || k < 0 || batch < 0 || op_a < 0 || op_a > 1 || op_b < 0 || op_b > 1 || !alpha || !beta)
        return INVALID_VALUE;
    if (lda < (op_a ? k : m) || ldb < (op_b ? n : k) || ldc < m)
        return INVALID_VALUE;
    if (!mock_is_type(a_type) || a_type != b_type || !mock_is_type(c_type) || (c_type != a_type && c_type != F32))
        return NOT_SUPPORTED;
    const bool f64 = compute == COMPUTE_F64;
    if (f64 != (a_type == F64) || (compute == COMPUTE_TF32 && a_type != F32))
        return NOT_SUPPORTED;
    const mock_product p = {.a = a,
                            .b = b,
                            .c = c,
                            .op_a = op_a,
                            .op_b = op_b,
                            .m = m,
                            .n = n,
                            .k = k,
                            .lda = lda,
                            .ldb = ldb,
                            .ldc = ldc,
                            .stride_a = stride_a,
                            .stride_b = stride_b,
                            .stride_c = stride_c,
                            .batch = batch,
                            .type = a_type,
                            .c_type = c_type,
                            .alpha = scale(f64, alpha),
                            .beta = scale(f64, beta)};
    return mock_multiply(&p, false, h->stream);
}

EXPORT int cublasGemmEx(const handle *h, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,
                        int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c, int c_type,
                        int ldc, int compute, int algorithm)
{
    return cublasGemmStridedBatchedEx(h, op_a, op_b, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb, 0, beta, c,
                                      c_type, ldc, 0, 1, compute, algorithm);
}
