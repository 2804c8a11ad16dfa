/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLASLt: products with a bias, a residual, an activation or its slope, described attribute by attribute. What does
 * not fit together is refused with a status, as the library does, and said. */
#include "mockblas.h"
#include "mockgpu.h"
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LAYOUT_TYPE = 0, LAYOUT_ROWS = 2, LAYOUT_COLS = 3, LAYOUT_LD = 4, LAYOUT_BATCH = 5, LAYOUT_STRIDE = 6 };
enum { OP_A = 3, OP_B = 4, EPILOGUE = 7, BIAS = 8, BIAS_STRIDE = 10, BIAS_TYPE = 26 };
enum { AUX = 11, AUX_LEADING = 12, AUX_STRIDE = 13 };
enum { WORKSPACE_MOST = 1, ALIGNMENT = 5 };
enum { NONE = 1, RELU = 2, WITH_BIAS = 4, RELU_SLOPE = 8, SUMS = 16, GELU = 32, GELU_SLOPE = 64, WITH_AUX = 128 };
enum { AUX_ROWS = 8, MASK_ROWS = 128 }; /* what must divide the leading dimension of an auxiliary matrix, of a mask */
enum { MATRICES = 4, NEEDED_BYTES = 512 << 10, MAGIC = 0x4c74 };

typedef struct {
    int type;
    uint64_t rows, columns;
    int64_t leading, stride;
    int32_t batch;
} layout;

typedef struct {
    int compute, scale_type;
    int32_t op_a, op_b, bias_type;
    uint32_t epilogue;
    const void *bias;
    int64_t bias_stride;
    void *aux;
    int64_t aux_leading, aux_stride;
} product;

typedef struct {
    uint64_t workspace_bytes;
    uint32_t alignment[MATRICES];
} preference;

/* Of an algorithm: what it was chosen for. */
typedef struct {
    uint64_t magic, workspace_bytes, problem;
    uint32_t alignment[MATRICES];
    uint64_t unused[3];
} algorithm;

typedef struct {
    algorithm best;
    size_t workspace_bytes;
    int status;
    float waves;
    int reserved[4];
} heuristic;

static int refused(const char *why, int status)
{
    mock_say("cuBLASLt: %s", why);
    return status;
}

#define MAKE(out, type)                                                                                                \
    if (!(out) || !(*(out) = calloc(1, sizeof(type))))                                                                 \
    return (out) ? ALLOC_FAILED : INVALID_VALUE
#define END(thing)                                                                                                     \
    if (!(thing))                                                                                                      \
        return INVALID_VALUE;                                                                                          \
    free(thing);                                                                                                       \
    return SUCCESS

EXPORT int cublasLtCreate(int **out)
{
    if (!mock_initialized() || mock_fails("nolt"))
        return NOT_INITIALIZED;
    MAKE(out, **out);
    return SUCCESS;
}

EXPORT int cublasLtDestroy(int *handle) { END(handle); }
EXPORT const char *cublasLtGetStatusString(int status) { return mock_status_text(status); }

EXPORT int cublasLtMatrixLayoutCreate(layout **out, int type, uint64_t rows, uint64_t columns, int64_t leading)
{
    MAKE(out, layout);
    **out = (layout){.type = type, .rows = rows, .columns = columns, .leading = leading, .batch = 1};
    return SUCCESS;
}

EXPORT int cublasLtMatrixLayoutDestroy(layout *l) { END(l); }

/* An attribute's place and size. */
typedef struct {
    int attribute;
    size_t offset, bytes;
} place;

static int store(void *to, const place *places, size_t count, int attribute, const void *value, size_t bytes)
{
    for (size_t i = 0; i < count; i++)
        if (places[i].attribute == attribute) {
            if (!to || !value || places[i].bytes != bytes)
                return refused("an attribute of another size", INVALID_VALUE);
            memcpy((char *)to + places[i].offset, value, bytes);
            return SUCCESS;
        }
    return refused("an attribute that the mock does not know", INVALID_VALUE);
}

#define PLACE(attribute, type, member)                                                                                 \
    {                                                                                                                  \
        attribute, offsetof(type, member), sizeof((type *)NULL)->member                                                \
    }
#define STORE(places, to) store(to, places, sizeof(places) / sizeof *(places), attribute, value, bytes)

EXPORT int cublasLtMatrixLayoutSetAttribute(layout *l, int attribute, const void *value, size_t bytes)
{
    static const place places[] = {PLACE(LAYOUT_TYPE, layout, type),    PLACE(LAYOUT_ROWS, layout, rows),
                                   PLACE(LAYOUT_COLS, layout, columns), PLACE(LAYOUT_LD, layout, leading),
                                   PLACE(LAYOUT_BATCH, layout, batch),  PLACE(LAYOUT_STRIDE, layout, stride)};
    return STORE(places, l);
}

EXPORT int cublasLtMatmulDescCreate(product **out, int compute, int scale_type)
{
    MAKE(out, product);
    **out = (product){.compute = compute, .scale_type = scale_type, .epilogue = NONE, .bias_type = -1};
    return SUCCESS;
}

EXPORT int cublasLtMatmulDescDestroy(product *p) { END(p); }

EXPORT int cublasLtMatmulDescSetAttribute(product *p, int attribute, const void *value, size_t bytes)
{
    static const place places[] = {PLACE(OP_A, product, op_a),
                                   PLACE(OP_B, product, op_b),
                                   PLACE(EPILOGUE, product, epilogue),
                                   PLACE(BIAS, product, bias),
                                   PLACE(BIAS_STRIDE, product, bias_stride),
                                   PLACE(AUX, product, aux),
                                   PLACE(AUX_LEADING, product, aux_leading),
                                   PLACE(AUX_STRIDE, product, aux_stride),
                                   PLACE(BIAS_TYPE, product, bias_type)};
    return STORE(places, p);
}

EXPORT int cublasLtMatmulPreferenceCreate(preference **out)
{
    MAKE(out, preference);
    for (int i = 0; i < MATRICES; i++)
        (*out)->alignment[i] = 256;
    return SUCCESS;
}

EXPORT int cublasLtMatmulPreferenceDestroy(preference *p) { END(p); }

EXPORT int cublasLtMatmulPreferenceSetAttribute(preference *p, int attribute, const void *value, size_t bytes)
{
    static const place places[] = {
        PLACE(WORKSPACE_MOST, preference, workspace_bytes), PLACE(ALIGNMENT, preference, alignment[0]),
        PLACE(ALIGNMENT + 1, preference, alignment[1]), PLACE(ALIGNMENT + 2, preference, alignment[2]),
        PLACE(ALIGNMENT + 3, preference, alignment[3])};
    return STORE(places, p);
}

static bool same(const layout *x, const layout *y)
{
    return x->type == y->type && x->rows == y->rows && x->columns == y->columns && x->leading == y->leading &&
           x->batch == y->batch && x->stride == y->stride;
}

/* Why matrices are none, or NULL. */
static const char *unfit(const layout *l)
{
    const bool batched = l->batch > 1;
    if (!mock_is_type(l->type))
        return "a type that is none";
    if (l->rows < 1 || l->columns < 1 || l->rows > INT32_MAX || l->columns > INT32_MAX || l->batch < 1)
        return "an extent that is none";
    if (l->leading < (int64_t)l->rows)
        return "a leading dimension that is less than the rows";
    if (batched && l->stride != 0 && l->stride < l->leading * (int64_t)(l->columns - 1) + (int64_t)l->rows)
        return "matrices of a batch that overlap";
    return NULL;
}

/* Why these do not make a product, or NULL. m, n and k of the result as the library has it. */
static const char *clash(const product *p, const layout *a, const layout *b, const layout *c, const layout *d,
                         long long *k)
{
    const layout *const all[MATRICES] = {a, b, c, d};
    const char *why = NULL;
    for (int i = 0; i < MATRICES; i++)
        why = why ? why : unfit(all[i]);
    if (why)
        return why;
    if (p->op_a < 0 || p->op_a > 1 || p->op_b < 0 || p->op_b > 1)
        return "an operation that is none";
    const uint64_t m = p->op_a ? a->columns : a->rows, inner = p->op_a ? a->rows : a->columns;
    const uint64_t other = p->op_b ? b->columns : b->rows, n = p->op_b ? b->rows : b->columns;
    *k = (long long)inner;
    if (inner != other)
        return "operands whose k differ";
    if (d->rows != m || d->columns != n)
        return "a result of another shape";
    if (!same(c, d))
        return "C that is not as D";
    if (a->batch != b->batch || a->batch != d->batch || (d->batch > 1 && d->stride == 0))
        return "batches that differ, or results on top of each other";
    const bool f64 = p->compute == COMPUTE_F64;
    if (p->compute != COMPUTE_F32 && !f64 && p->compute != COMPUTE_TF32)
        return "a compute type that is none";
    if (p->scale_type != (f64 ? F64 : F32) || f64 != (a->type == F64) || (p->compute == COMPUTE_TF32 && a->type != F32))
        return "a compute type that is not for these types";
    if (a->type != b->type || a->type != d->type)
        return "types that differ";
    const bool sums = p->epilogue != NONE && (p->epilogue & SUMS);
    const uint32_t activation = p->epilogue & ~(uint32_t)(WITH_BIAS | SUMS);
    const bool slope = activation == (RELU_SLOPE | WITH_AUX) || activation == (GELU_SLOPE | WITH_AUX);
    if (p->epilogue != NONE && p->epilogue != WITH_BIAS && activation != RELU && activation != GELU &&
        activation != (GELU | WITH_AUX) && activation != (RELU | WITH_AUX) &&
        !(slope && activation == (p->epilogue & ~(uint32_t)SUMS)))
        return "an epilogue that is none";
    const bool aux = p->epilogue != NONE && (p->epilogue & WITH_AUX);
    const int divisor = activation & (RELU | RELU_SLOPE) ? MASK_ROWS : AUX_ROWS;
    if (aux != (p->aux != NULL))
        return aux ? "no auxiliary matrix for an epilogue with one" : "an auxiliary matrix for an epilogue without one";
    if (aux &&
        (p->aux_leading < (int64_t)d->rows || p->aux_leading % divisor != 0 ||
         (d->batch > 1 && (p->aux_stride < p->aux_leading * (int64_t)d->columns || p->aux_stride % divisor != 0))))
        return "an auxiliary matrix whose columns or matrices lie where they can't";
    const bool bias = p->epilogue != NONE && (p->epilogue & WITH_BIAS);
    if (sums && (!slope || d->batch > 1))
        return "sums without a slope, or of several matrices";
    if ((bias || sums) != (p->bias != NULL))
        return bias ? "no bias for an epilogue with one" : "a bias for an epilogue without one";
    if (bias && p->bias_type != -1 && p->bias_type != d->type)
        return "a bias of another type";
    if (bias && (uintptr_t)p->bias % mock_bytes_of(d->type) != 0)
        return "a bias between elements";
    if (bias && p->bias_stride != 0 && (d->batch == 1 || p->bias_stride < (int64_t)d->rows))
        return "biases of a batch that overlap, or without a batch";
    return NULL;
}

static uint64_t mixed(uint64_t hash, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const unsigned char *)from)[i]) * 0x100000001b3u;
    return hash;
}

/* An algorithm is for one problem. */
static uint64_t problem_of(const product *p, const layout *a, const layout *b, const layout *d)
{
    const layout *const all[] = {a, b, d};
    uint64_t hash = 0xcbf29ce484222325u;
    const int64_t numbers[] = {p->compute, p->op_a, p->op_b, p->epilogue};
    hash = mixed(hash, numbers, sizeof numbers);
    for (int i = 0; i < 3; i++) {
        const int64_t of[] = {all[i]->type,    (int64_t)all[i]->rows, (int64_t)all[i]->columns,
                              all[i]->leading, all[i]->stride,        all[i]->batch};
        hash = mixed(hash, of, sizeof of);
    }
    return hash;
}

EXPORT int cublasLtMatmulAlgoGetHeuristic(const int *handle, const product *p, const layout *a, const layout *b,
                                          const layout *c, const layout *d, const preference *want, int room,
                                          heuristic *found, int *count)
{
    long long k;
    if (!handle)
        return NOT_INITIALIZED;
    if (!p || !a || !b || !c || !d || !want || room < 1 || !found || !count)
        return refused("no descriptor, or no room for an answer", INVALID_VALUE);
    const char *const why = clash(p, a, b, c, d, &k);
    if (why)
        return refused(why, INVALID_VALUE);
    *count = 0;
    if (mock_fails("noalgo"))
        return NOT_SUPPORTED;
    *found = (heuristic){.waves = 1};
    found->workspace_bytes = want->workspace_bytes < NEEDED_BYTES ? 0 : NEEDED_BYTES;
    found->best =
        (algorithm){.magic = MAGIC, .workspace_bytes = found->workspace_bytes, .problem = problem_of(p, a, b, d)};
    memcpy(found->best.alignment, want->alignment, sizeof want->alignment);
    *count = 1;
    return SUCCESS;
}

EXPORT int cublasLtMatmul(const int *handle, const product *p, const void *alpha, const void *a, const layout *al,
                          const void *b, const layout *bl, const void *beta, const void *c, const layout *cl, void *d,
                          const layout *dl, const algorithm *how, void *workspace, size_t workspace_bytes, void *stream)
{
    long long k;
    if (!handle)
        return NOT_INITIALIZED;
    if (!p || !alpha || !beta || !a || !al || !b || !bl || !c || !cl || !d || !dl)
        return refused("an argument that is NULL", INVALID_VALUE);
    const char *const why = clash(p, al, bl, cl, dl, &k);
    if (why)
        return refused(why, INVALID_VALUE);
    if (!workspace && workspace_bytes > 0)
        return refused("a workspace of bytes that are nowhere", INVALID_VALUE);
    if ((uintptr_t)workspace % 256 != 0)
        return refused("a workspace that is not aligned", INVALID_VALUE);
    if (!how || how->magic != MAGIC || how->problem != problem_of(p, al, bl, dl))
        return refused("an algorithm for something else", INVALID_VALUE);
    if (workspace_bytes < how->workspace_bytes)
        return refused("a workspace smaller than the algorithm's", INVALID_VALUE);
    const void *const at[MATRICES] = {a, b, c, d};
    for (int i = 0; i < MATRICES; i++)
        if (how->alignment[i] == 0 || (uintptr_t)at[i] % how->alignment[i] != 0)
            return refused("a matrix aligned less than was said", INVALID_VALUE);
    double scale[2];
    float f32[2];
    memcpy(p->scale_type == F64 ? (void *)&scale[0] : (void *)&f32[0], alpha, p->scale_type == F64 ? 8 : 4);
    memcpy(p->scale_type == F64 ? (void *)&scale[1] : (void *)&f32[1], beta, p->scale_type == F64 ? 8 : 4);
    for (int i = 0; i < 2 && p->scale_type != F64; i++)
        scale[i] = (double)f32[i];
    const bool any = p->epilogue != NONE;
    const mock_product x = {.a = a,
                            .b = b,
                            .added = scale[1] != 0 && c != d ? c : NULL,
                            .c = d,
                            .bias = any && (p->epilogue & WITH_BIAS) ? p->bias : NULL,
                            .op_a = p->op_a,
                            .op_b = p->op_b,
                            .m = (long long)dl->rows,
                            .n = (long long)dl->columns,
                            .k = k,
                            .lda = al->leading,
                            .ldb = bl->leading,
                            .ldc = dl->leading,
                            .stride_a = al->stride,
                            .stride_b = bl->stride,
                            .stride_c = dl->stride,
                            .stride_bias = p->bias_stride,
                            .batch = dl->batch,
                            .type = al->type,
                            .c_type = dl->type,
                            .alpha = scale[0],
                            .beta = scale[1],
                            .activation = !any                         ? MOCK_NO_ACTIVATION
                                          : (p->epilogue & RELU)       ? MOCK_RELU
                                          : (p->epilogue & GELU)       ? MOCK_GELU
                                          : (p->epilogue & RELU_SLOPE) ? MOCK_RELU_SLOPE
                                          : (p->epilogue & GELU_SLOPE) ? MOCK_GELU_SLOPE
                                                                       : MOCK_NO_ACTIVATION,
                            .sums = any && (p->epilogue & SUMS) ? (void *)(uintptr_t)p->bias : NULL,
                            .aux = any && (p->epilogue & WITH_AUX) ? p->aux : NULL,
                            .lda_aux = p->aux_leading,
                            .stride_aux = p->aux_stride};
    return mock_multiply(&x, true, stream);
}
