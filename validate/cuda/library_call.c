/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/library_call.h"

#include "fusion/chain.h"
#include "vendor/library.h"

/* Combines digits [from, to) of a map into one extent and stride; false where that is not possible. */
static bool one_digit(const fsim_map *m, int from, int to, fsim_mode *out)
{
    *out = (fsim_mode){1, 0};
    for (int i = to; i-- > from;) {
        const fsim_mode d = m->mode[i];
        if (d.extent == 1)
            continue;
        if (out->extent > 1 && d.stride != out->stride * out->extent)
            return false;
        *out = (fsim_mode){out->extent * d.extent, out->extent > 1 ? out->stride : d.stride};
    }
    return true;
}

/* Is it a matrix [rows, k] or [k, rows] without gaps? */
static bool dense(fsim_mode rows, fsim_mode k, bool *transposed)
{
    *transposed = rows.stride == 1 && k.stride == rows.extent && k.extent > 1;
    return *transposed || ((k.stride == 1 || k.extent == 1) && (rows.stride == k.extent || rows.extent == 1));
}

static bool is_member(const fsim_group *o, int node)
{
    bool found = false;
    for (int i = 0; i < o->members; i++)
        found = found || o->member[i].node == node;
    return found;
}

/* The tensor in memory that an operand of the group's contraction is read from, and its map, through permutes that are
 * part of the group. Adds their number to *taken. */
static bool operand_of(const fsim_graph *g, const fsim_group *o, int operand, fsim_map *map, int *tensor, int *taken)
{
    const fsim_access *x = &g->node[o->anchor].arg[operand];
    *map = x->map;
    for (*tensor = x->tensor;
         x->how == FSIM_READ_MAP && g->tensor[*tensor].producer >= 0 && is_member(o, g->tensor[*tensor].producer);
         ++*taken) {
        const fsim_node *from = &g->node[g->tensor[*tensor].producer];
        const int64_t points = fsim_map_points(map);
        fsim_map all = *map;
        int64_t before = 1;
        all.split = all.modes;
        x = &from->arg[0];
        if (fsim_ops[from->op].class != FSIM_PERMUTE || from->args != 1 || x->how != FSIM_READ_MAP ||
            !fsim_map_compose(&all, &x->map, map))
            return false;
        for (map->split = 0; map->split < map->modes && before < points; map->split++)
            before *= map->mode[map->split].extent;
        if (before != points)
            return false;
        *tensor = x->tensor;
    }
    return x->how == FSIM_READ_MAP;
}

/* Are the columns of contraction n's result those of its first operand, as of a weight's gradient? */
static bool gives_columns(const fsim_node *n)
{
    const fsim_map *x = &n->arg[0].map, *y = &n->arg[1].map;
    return n->gemm.n > 1 && n->arg[0].how == FSIM_READ_MAP && n->arg[1].how == FSIM_READ_MAP && x->split > 0 &&
           y->split > 0 && x->mode[x->split - 1].stride != 0 && y->mode[y->split - 1].stride == 0;
}

/* Contraction n as a call of the library: C[batch, m, n], both operands dense. */
static bool product_of(const fsim_graph *g, const fsim_group *o, fsim_vendor_call *out, int *taken)
{
    const fsim_node *n = &g->node[o->anchor];
    fsim_map first, second, x, y, a, b;
    fsim_mode k[2], rows, columns, batch[2];
    const int left = gives_columns(n) ? 1 : 0;
    if (n->gemm.convolution || !operand_of(g, o, left, &first, &out->a, taken) ||
        !operand_of(g, o, 1 - left, &second, &out->b, taken))
        return false;
    x = first;
    y = second;
    x.modes = x.split;
    y.modes = y.split;
    if (x.offset || y.offset || !fsim_map_align(&x, &y, &a, &b) ||
        !one_digit(&first, first.split, first.modes, &k[0]) || !one_digit(&second, second.split, second.modes, &k[1]))
        return false;
    int from_n = a.modes, from_m;
    while (from_n > 0 && a.mode[from_n - 1].stride == 0)
        from_n--;
    for (from_m = from_n; from_m > 0 && b.mode[from_m - 1].stride == 0; from_m--) {
    }
    if (!one_digit(&b, from_n, b.modes, &columns) || !one_digit(&a, from_m, from_n, &rows) ||
        !one_digit(&a, 0, from_m, &batch[0]) || !one_digit(&b, 0, from_m, &batch[1]))
        return false;
    bool a_transposed, b_transposed;
    if (!dense(rows, k[0], &a_transposed) || !dense(columns, k[1], &b_transposed))
        return false;
    const fsim_dtype t = g->tensor[n->result[0]].dtype;
    const bool known = (t == FSIM_F32 || t == FSIM_F64 || t == FSIM_F16 || t == FSIM_BF16) &&
                       g->tensor[out->a].dtype == t && g->tensor[out->b].dtype == t;
    out->call = (fsim_gpu_gemm_call){.m = rows.extent,
                                     .n = columns.extent,
                                     .k = k[0].extent,
                                     .batch = batch[0].extent > batch[1].extent ? batch[0].extent : batch[1].extent,
                                     .a_stride = batch[0].stride,
                                     .b_stride = batch[1].stride,
                                     .c_stride = rows.extent * columns.extent,
                                     .a_transposed = a_transposed,
                                     .b_transposed = !b_transposed,
                                     .type = t,
                                     .tf32 = n->gemm.arithmetic == FSIM_TF32};
    return known && out->call.m * out->call.n * out->call.batch == n->points;
}

bool fsim_vendor_call_of(const fsim_graph *g, const fsim_hw *hw, const fsim_kernel *k, const char *name,
                         fsim_vendor_call *out, const char **why)
{
    const fsim_group *o = k->group;
    int transposes = 0;
    *out = (fsim_vendor_call){.bias = -1, .residual = -1, .sums = -1, .aux = -1};
    if (o->template == FSIM_CHAINED_CONTRACTION) {
        *why = "attention is not run by the library here";
        return false;
    }
    if (o->anchor < 0 || o->contractions > 1 || o->folded > 0) {
        *why = "it is more than one product, or has other weights than the graph";
        return false;
    }
    if (g->node[o->anchor].gemm.convolution) {
        *why = "convolutions are not run by the library here";
        return false;
    }
    if (!product_of(g, o, out, &transposes)) {
        *why = "its operands are not two dense matrices of one type";
        return false;
    }
    static const fsim_gpu_activation activations[FSIM_EPILOGUE_COUNT] = {
        [FSIM_EPILOGUE_RELU] = FSIM_WITH_RELU,
        [FSIM_EPILOGUE_GELU_TANH] = FSIM_WITH_TANH_GELU,
        [FSIM_EPILOGUE_DRELU] = FSIM_WITH_RELU_SLOPE,
        [FSIM_EPILOGUE_DGELU] = FSIM_WITH_TANH_GELU_SLOPE};
    const fsim_epilogue e = fsim_epilogue_of(g, hw, o);
    out->call.name = name;
    out->c = e.result;
    out->bias = e.bias;
    out->residual = e.residual;
    out->sums = e.sums;
    out->bias_offset = e.bias_offset;
    out->call.bias_stride = e.bias_stride;
    out->aux = o->writes > 1 && e.activation == FSIM_EPILOGUE_GELU_TANH ? e.before : e.mask >= 0 ? e.mask : e.aux;
    if (e.activation != FSIM_EPILOGUE_COUNT)
        out->call.activation = activations[e.activation];
    const bool called = e.scale == 1 && !e.to_f32 &&
                        (e.activation == FSIM_EPILOGUE_COUNT || out->call.activation != FSIM_NO_ACTIVATION);
    if (!called || e.members + transposes != o->members || !fsim_library_can(g, hw, o) ||
        g->tensor[e.result].storage != e.result || (out->aux >= 0 && g->tensor[out->aux].storage != out->aux) ||
        (out->sums >= 0 && g->tensor[out->sums].storage != out->sums)) {
        *why = "it does more than add a bias along the columns, a tensor, ReLU or tanh GELU, or multiply by a slope of "
               "these";
        return false;
    }
    return true;
}
