/* SPDX-License-Identifier: Apache-2.0 */
/* contract.c: the rules of matrix products and einsum. */
#include "graph/build.h"

#include <string.h>

static const char *text_of(const fsim_call *call, const fsim_shape *s)
{
    return fsim_shape_text(call->build->arena, s);
}

/* Contractions. Labels are small numbers; extent[l] is a label's size; an operand whose dimension is 1 where the
 * label's is larger broadcasts. */

enum { MAX_LABELS = 52 };
typedef struct {
    int rank, label[FSIM_MAX_RANK];
} labels;

static int64_t label_stride(const fsim_shape *s, const labels *l, const int64_t *stride, int label)
{
    int64_t sum = 0;
    for (int d = 0; d < l->rank; d++)
        if (l->label[d] == label && s->dim[d] != 1)
            sum += stride[d];
    return sum;
}

static bool contract(fsim_call *call, labels a, labels b, labels out)
{
    const fsim_tensor *x[2] = {fsim_arg(call, 0), fsim_arg(call, 1)};
    const labels *side[2] = {&a, &b};
    int64_t extent[MAX_LABELS] = {0}, stride[2][FSIM_MAX_RANK];
    for (int i = 0; i < 2; i++) {
        fsim_row_major(&x[i]->shape, stride[i]);
        for (int d = 0; d < side[i]->rank; d++) {
            int64_t *e = &extent[side[i]->label[d]];
            const int64_t have = x[i]->shape.dim[d];
            if (*e > 1 && have > 1 && *e != have)
                return fsim_refuse(call, "shapes %s and %s do not match: %lld against %lld",
                                   text_of(call, &x[0]->shape), text_of(call, &x[1]->shape), (long long)*e,
                                   (long long)have);
            if (have > *e)
                *e = have;
        }
    }
    double steps = 1;
    for (int l = 0; l < MAX_LABELS; l++)
        steps *= extent[l] ? (double)extent[l] : 1;
    if (!fsim_check_steps(call, steps))
        return false;
    fsim_shape shape = {.rank = out.rank};
    fsim_map m[2] = {{.offset = x[0]->offset}, {.offset = x[1]->offset}};
    fsim_gemm gemm = {.batch = 1, .m = 1, .n = 1, .k = 1};
    bool kept[MAX_LABELS] = {false};
    for (int d = 0; d < out.rank; d++) {
        const int l = out.label[d];
        int64_t s[2];
        kept[l] = true;
        shape.dim[d] = extent[l];
        for (int i = 0; i < 2; i++) {
            s[i] = label_stride(&x[i]->shape, side[i], stride[i], l);
            fsim_map_push(&m[i], extent[l], s[i]);
        }
        *(s[0] && s[1] ? &gemm.batch : s[1] ? &gemm.n : &gemm.m) *= extent[l];
    }
    m[0].split = m[0].modes;
    m[1].split = m[1].modes;
    for (int l = 0; l < MAX_LABELS; l++)
        if (extent[l] && !kept[l]) {
            gemm.k *= extent[l];
            for (int i = 0; i < 2; i++)
                fsim_map_push(&m[i], extent[l], label_stride(&x[i]->shape, side[i], stride[i], l));
        }
    fsim_node *n = fsim_add_node(call, &shape, gemm.k);
    if (!n)
        return false;
    gemm.arithmetic = fsim_product_arithmetic(call);
    gemm.transposed_b = m[1].modes > m[1].split && m[1].mode[m[1].modes - 1].stride == 1;
    n->gemm = gemm;
    for (int i = 0; i < 2; i++)
        n->arg[i].map = fsim_map_simplify(m[i]);
    return true;
}

bool fsim_rule_matmul(fsim_call *call)
{
    const fsim_shape *x = &fsim_arg(call, 0)->shape, *y = &fsim_arg(call, 1)->shape;
    enum { M = 20, N, K };
    labels a = {0}, b = {0}, out = {0};
    if (x->rank < 1 || y->rank < 1)
        return fsim_refuse(call, "wants tensors with dimensions; found %s and %s", text_of(call, x), text_of(call, y));
    const int xb = x->rank > 2 ? x->rank - 2 : 0, yb = y->rank > 2 ? y->rank - 2 : 0, batch = xb > yb ? xb : yb;
    for (int d = 0; d < batch; d++) {
        out.label[out.rank++] = d;
        if (d >= batch - xb)
            a.label[a.rank++] = d;
        if (d >= batch - yb)
            b.label[b.rank++] = d;
    }
    if (x->rank > 1)
        a.label[a.rank++] = out.label[out.rank++] = M;
    a.label[a.rank++] = K;
    b.label[b.rank++] = K;
    if (y->rank > 1)
        b.label[b.rank++] = out.label[out.rank++] = N;
    if (x->dim[x->rank - 1] != y->dim[y->rank > 1 ? y->rank - 2 : 0])
        return fsim_refuse(call, "inner dimensions of %s and %s differ: %lld against %lld", text_of(call, x),
                           text_of(call, y), (long long)x->dim[x->rank - 1],
                           (long long)y->dim[y->rank > 1 ? y->rank - 2 : 0]);
    return contract(call, a, b, out);
}

bool fsim_rule_bmm(fsim_call *call)
{
    const fsim_shape *x = &fsim_arg(call, 0)->shape, *y = &fsim_arg(call, 1)->shape;
    if (x->rank != 3 || y->rank != 3 || x->dim[0] != y->dim[0])
        return fsim_refuse(call, "wants two batches of matrices of equal length; found %s and %s", text_of(call, x),
                           text_of(call, y));
    return fsim_rule_matmul(call);
}

/* A bias does not widen the product that it is added to. */
static bool check_bias(const fsim_call *call, int product)
{
    const fsim_tensor *t = call->build->graph->tensor;
    const fsim_shape *own = &t[product].shape, *sum = &t[call->result[0]].shape;
    return (own->rank == sum->rank && t[product].elems == t[call->result[0]].elems) ||
           fsim_refuse(call, "the bias has shape %s; wants [%lld]", text_of(call, &fsim_arg(call, 2)->shape),
                       (long long)own->dim[own->rank - 1]);
}

bool fsim_rule_linear(fsim_call *call)
{
    const fsim_shape *x = &fsim_arg(call, 0)->shape, *w = &fsim_arg(call, 1)->shape;
    labels a = {.rank = x->rank}, b = {.rank = 2, .label = {20, 21}}, out = {.rank = x->rank};
    if (x->rank < 1 || w->rank != 2 || x->dim[x->rank - 1] != w->dim[1])
        return fsim_refuse(call, "wants x[..., K] and weight[N, K]; found %s and %s", text_of(call, x),
                           text_of(call, w));
    if (call->args == 3) {
        fsim_step product;
        fsim_step_start(&product, call, FSIM_OP_LINEAR, "matmul");
        product.call.attrs.compute = call->attrs.compute;
        product.call.attrs.dtype = call->attrs.dtype;
        const int sum[2] = {fsim_step_end(&product, 2, call->arg), call->arg[2]};
        call->result[0] = fsim_emit(call, FSIM_OP_ADD, NULL, 2, sum);
        return call->result[0] >= 0 && (call->build->graph->batch || check_bias(call, sum[0]));
    }
    for (int d = 0; d < x->rank; d++)
        a.label[d] = out.label[d] = d;
    a.label[x->rank - 1] = 21;
    out.label[x->rank - 1] = 20;
    return contract(call, a, b, out);
}

static const char *einsum_term(const char *p, labels *l)
{
    for (*l = (labels){0}; *p && *p != ',' && *p != '-'; p++) {
        const int label = *p >= 'a' && *p <= 'z' ? *p - 'a' : *p >= 'A' && *p <= 'Z' ? *p - 'A' + 26 : -1;
        if (*p == ' ')
            continue;
        if (label < 0 || l->rank == FSIM_MAX_RANK)
            return NULL;
        for (int i = 0; i < l->rank; i++)
            if (l->label[i] == label)
                return NULL;
        l->label[l->rank++] = label;
    }
    return p;
}

bool fsim_rule_einsum(fsim_call *call)
{
    labels a, b, out;
    const char *p = call->equation;
    if (!p)
        return fsim_refuse(call, "wants 'equation', such as \"bij,bjk->bik\"");
    if (call->args != 2 || !strstr(p, "->"))
        return fsim_einsum_in_steps(call);
    p = einsum_term(p, &a);
    p = p && *p == ',' ? einsum_term(p + 1, &b) : NULL;
    p = p && p[0] == '-' && p[1] == '>' ? einsum_term(p + 2, &out) : NULL;
    if (!p || *p)
        return fsim_refuse(call, "equation \"%s\": wants two terms of distinct letters and '->' with the result",
                           call->equation);
    if (a.rank != fsim_arg(call, 0)->shape.rank || b.rank != fsim_arg(call, 1)->shape.rank)
        return fsim_refuse(call, "equation \"%s\" has %d and %d letters for tensors of rank %d and %d", call->equation,
                           a.rank, b.rank, fsim_arg(call, 0)->shape.rank, fsim_arg(call, 1)->shape.rank);
    for (int i = 0; i < out.rank; i++) {
        bool known = false;
        for (int d = 0; d < FSIM_MAX_RANK; d++)
            known = known || (d < a.rank && a.label[d] == out.label[i]) || (d < b.rank && b.label[d] == out.label[i]);
        if (!known)
            return fsim_refuse(call, "equation \"%s\": the result names a letter that no operand has", call->equation);
    }
    return contract(call, a, b, out);
}
