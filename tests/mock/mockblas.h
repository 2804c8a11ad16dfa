/* SPDX-License-Identifier: Apache-2.0 */
/* mockblas.h: what the mock's cuBLAS and cuBLASLt have in common: their status codes and types, and the product. */
#ifndef FUSESIM_MOCK_MOCKBLAS_H
#define FUSESIM_MOCK_MOCKBLAS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SUCCESS = 0,
    NOT_INITIALIZED = 1,
    ALLOC_FAILED = 3,
    INVALID_VALUE = 7,
    EXECUTION_FAILED = 13,
    NOT_SUPPORTED = 15
};
enum { F32 = 0, F64 = 1, F16 = 2, BF16 = 14, COMPUTE_F32 = 68, COMPUTE_F64 = 70, COMPUTE_TF32 = 77 };

typedef enum { MOCK_NO_ACTIVATION, MOCK_RELU, MOCK_GELU, MOCK_RELU_SLOPE, MOCK_GELU_SLOPE } mock_activation;

/* C = activation(alpha op(A) op(B) + beta added + bias), column by column, bias[row]; with a slope, the sum times the
 * activation's slope at aux. */
typedef struct {
    const void *a, *b, *bias, *added; /* bias: NULL: none; added: as C; NULL: C */
    void *c;
    bool op_a, op_b; /* transposed */
    long long m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, stride_bias, batch;
    int type, c_type;
    double alpha, beta;
    mock_activation activation;
    void *aux; /* NULL: none; as C, but columns lie lda_aux apart: GELU writes what it reads, its slope reads that, ReLU
                  and its slope bits, a column's first in the lowest of a byte */
    long long lda_aux, stride_aux;
    void *sums; /* of a batch of one: what the rows of C add up to, m elements of its type; NULL: none */
} mock_product;

bool mock_is_type(int type);
size_t mock_bytes_of(int type);
const char *mock_status_text(int status);
/* As a kernel of the mock device, which has this name. A status. */
int mock_multiply(const mock_product *p, bool lt, void *stream);

#endif
