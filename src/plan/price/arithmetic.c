/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/arithmetic.h"

#include "cost/costing.h"
#include <math.h>
#include <string.h>

enum { WORTH_SAYING = 2 }; /* a faster dtype is named from this ratio on */

static bool is_contraction(const fsim_node *n) { return fsim_ops[n->op].class == FSIM_CONTRACTION; }

static fsim_dtype dtype_of(const fsim_node *n) { return is_contraction(n) ? n->gemm.arithmetic : n->dtype; }

/* Is it a float that users choose for speed? Those who compute in f32 or f64 need its precision. */
static bool is_narrow(fsim_dtype t) { return t < FSIM_TF32 && fsim_dtype_floating(t) && fsim_dtype_bytes(t) <= 2; }

/* The dtype to use instead of t: one with as many bytes, otherwise a wider one. */
static fsim_dtype instead_of(const fsim_hw *hw, fsim_dtype t)
{
    static const fsim_dtype wide[] = {FSIM_F16, FSIM_BF16};
    if (fsim_dtype_bytes(t) == 1)
        return fsim_dense_peak(hw, FSIM_BF16) >= fsim_dense_peak(hw, FSIM_F16) ? FSIM_BF16 : FSIM_F16;
    return wide[t == FSIM_F16];
}

static fsim_dtype replaced(fsim_dtype t, fsim_dtype from, fsim_dtype to) { return t == from ? to : t; }

/* A copy of g with dtype `to` wherever g has `from`. */
static const fsim_graph *with_dtype(const fsim_graph *g, fsim_dtype from, fsim_dtype to, fsim_arena *a)
{
    fsim_graph *copy = fsim_new(a, fsim_graph, 1);
    *copy = *g;
    copy->tensor = fsim_new(a, fsim_tensor, g->tensors + 1);
    copy->node = fsim_new(a, fsim_node, g->nodes + 1);
    memcpy(copy->tensor, g->tensor, (size_t)g->tensors * sizeof *g->tensor);
    memcpy(copy->node, g->node, (size_t)g->nodes * sizeof *g->node);
    for (int i = 0; i < g->tensors; i++) {
        fsim_tensor *t = &copy->tensor[i];
        t->dtype = replaced(t->dtype, from, to);
        t->bytes = t->elems * fsim_dtype_bytes(t->dtype);
    }
    for (int i = 0; i < g->nodes; i++) {
        fsim_node *n = &copy->node[i];
        n->dtype = replaced(n->dtype, from, to);
        n->gemm.arithmetic = replaced(n->gemm.arithmetic, from, to);
        n->attrs.dtype = replaced(n->attrs.dtype, from, to);
    }
    return copy;
}

/* Elements from a row of operand k to the next one, where these are no multiple of what a library's fast kernels copy
 * at once; 0. */
static int64_t unaligned_row(const fsim_graph *g, const fsim_node *n, int k)
{
    enum { COPIED_BYTES = 16 };
    const fsim_map *m = &n->arg[k].map;
    for (int i = 0; i < m->modes && n->arg[k].how == FSIM_READ_MAP; i++)
        if (m->mode[i].stride > 1 &&
            m->mode[i].stride * fsim_dtype_bytes(g->tensor[n->arg[k].tensor].dtype) % COPIED_BYTES != 0)
            return m->mode[i].stride;
    return 0;
}

/* Products with few rows or columns wait for memory, however they load. */
static void count_unaligned(const fsim_graph *g, const fsim_hw *hw, fsim_arithmetic *out)
{
    enum { LEAST_SIDE = 64 };
    double most = 0;
    for (int i = 0; i < g->nodes; i++) {
        const fsim_node *n = &g->node[i];
        const double flops = (double)n->gemm.batch * (double)n->gemm.m * (double)n->gemm.n * (double)n->gemm.k;
        int64_t row = 0;
        if (!is_contraction(n) || n->gemm.convolution || n->gemm.m < LEAST_SIDE || n->gemm.n < LEAST_SIDE ||
            n->gemm.k < LEAST_SIDE || hw->host || hw->arch->plain ||
            fsim_tensor_key(hw, n->gemm.arithmetic) == FSIM_HW_COUNT)
            continue;
        for (int k = 0; k < n->args && row == 0; k++)
            row = unaligned_row(g, n, k);
        out->unaligned += row > 0;
        if (row > 0 && flops > most) {
            most = flops;
            out->unaligned_node = i;
            out->unaligned_row = row;
        }
    }
}

fsim_arithmetic fsim_arithmetic_of(const fsim_graph *g, const fsim_hw *hw, fsim_arena *a)
{
    fsim_arithmetic out = {.unaligned_node = -1,
                           .slow = FSIM_DTYPE_NONE,
                           .faster = FSIM_DTYPE_NONE,
                           .eager_s = NAN,
                           .instead_eager_s = NAN,
                           .instead_s = NAN};
    double flops[FSIM_TF32 + 1] = {0};
    for (int i = 0; i < g->nodes; i++) {
        const fsim_node *n = &g->node[i];
        const fsim_dtype t = dtype_of(n);
        if (t != FSIM_TF32 && !fsim_dtype_floating(t))
            continue;
        out.primitives[t]++;
        out.tf32_on_fp32 += t == FSIM_TF32 && fsim_tensor_key(hw, t) == FSIM_HW_COUNT;
        if (is_contraction(n))
            flops[t] += n->flops * (double)n->points * (double)n->reduced;
    }
    count_unaligned(g, hw, &out);
    double most = 0;
    for (fsim_dtype t = 0; t < FSIM_TF32; t++) {
        if (!is_narrow(t) || flops[t] <= most)
            continue;
        const fsim_dtype other = instead_of(hw, t);
        if (fsim_dense_peak(hw, other) < WORTH_SAYING * fsim_dense_peak(hw, t))
            continue;
        most = flops[t];
        out.slow = t;
        out.faster = other;
    }
    if (out.slow == FSIM_DTYPE_NONE)
        return out;
    out.slow_flops = fsim_dense_peak(hw, out.slow);
    out.faster_flops = fsim_dense_peak(hw, out.faster);
    out.instead = with_dtype(g, out.slow, out.faster, a);
    return out;
}
