/* SPDX-License-Identifier: Apache-2.0 */
/* cublas.c: matrix products by cuBLAS and cuBLASLt: the time is that of gemm.h with the tile and split that the
 * library presumably chooses. */
#include "cost/product.h"
#include "vendor/kernels.h"
#include "vendor/library.h"

#include <math.h>

/* The library chooses its tile without knowing what L2 holds or what else its kernel does. If the model's choice
 * depended on L2, a kernel that finds more there could take longer. */
static fsim_gemm_tile tile_when_cold(const fsim_costing *c, const fsim_gemm_device *d, fsim_gemm_shape s)
{
    s.dram_bytes = 0;
    for (int i = 0; i < c->group->reads; i++)
        s.dram_bytes += (double)c->read[i].sector_bytes * c->read[i].reread;
    for (int i = 0; i < c->group->writes; i++)
        s.dram_bytes += (double)c->write[i].sector_bytes;
    return fsim_gemm_best(d, &s).tile;
}

/* The copy before a product that adds a matrix to what stands where its result will be. */
typedef struct {
    double bytes;      /* of the matrix; 0: there is no copy */
    double read_bytes; /* from DRAM, as far as the plan does not have it in L2 */
    double missed;     /* bytes that L2 does not keep for the product */
} copy_before;

/* addmm copies a matrix to the result and calls the library with beta 1; only a vector is an operand of its own
 * (aten/src/ATen/native/cuda/Blas.cpp, addmm_out_cuda_impl, PyTorch 2.1 to 2.8; Inductor's extern_kernels.addmm is the
 * same function). */
static copy_before copy_of(const fsim_costing *c, const fsim_kernel *k, int residual)
{
    copy_before x = {.bytes = residual >= 0 ? (double)c->g->tensor[residual].bytes : 0};
    x.missed = x.bytes * fsim_missed_again(c, x.bytes);
    for (int i = 0; i < k->inputs; i++) /* what is an operand as well is read for both */
        if (k->input[i].tensor == residual && c->group->read[i].operand < 0)
            x.read_bytes = (double)k->input[i].read_bytes;
    return x;
}

static void add_copy(const fsim_costing *c, const copy_before *x, fsim_kernel *k)
{
    const double dram = x->read_bytes + x->missed;
    k->dram_read_bytes += (int64_t)x->missed;
    k->dram_write_bytes += (int64_t)x->missed;
    k->l2_bytes += 2 * x->bytes;
    fsim_add_seconds(k, FSIM_DRAM, fsim_streamed_s(c, dram, fmax(0, 2 * x->bytes - dram)));
}

/* The vendor's kernel for a matrix product. framework: as called by PyTorch, which may split k even where the order
 * of sums is to be kept, and copies what is added. */
static fsim_kernel library(const fsim_costing *c, const fsim_gemm *g, const fsim_gemm_device *d, bool framework,
                           fsim_arena *a)
{
    fsim_gemm_shape s = fsim_product_shape(c, g);
    fsim_kernel k = fsim_blank_kernel(c, a);
    const fsim_epilogue e = fsim_epilogue_of(c->g, c->hw, c->group);
    const int residual = e.residual, added = residual >= 0 ? residual : e.aux;
    s.added_bytes = added >= 0 ? (double)c->g->tensor[added].bytes : 0;
    for (int i = 1; i < c->group->writes; i++) /* what a GELU reads, beside its result */
        s.result_bytes += (double)c->write[i].sector_bytes;
    k.template = FSIM_LIBRARY_CONTRACTION;
    k.vector = 4;
    k.penalised =
        k.penalised ||
        c->group->members > 1; /* its units may overlap less than those of the kernels that it could be split into */
    fsim_add_arithmetic(c, &k, NULL, true);
    fsim_add_memory(c, &k, NULL, NULL);
    s.whole = s.whole && !framework;
    k.launches += e.sums >= 0;
    const copy_before copy = framework ? copy_of(c, &k, residual) : (copy_before){0};
    k.launches += copy.bytes > 0;
    s.dram_bytes = (double)(k.dram_read_bytes + k.dram_write_bytes) - copy.read_bytes + copy.missed;
    const fsim_gemm_time t =
        framework || c->group->members == 1 ? fsim_gemm_best(d, &s) : fsim_gemm_with(d, &s, tile_when_cold(c, d, s));
    if (fsim_settle_product(c, &k, d, &s, &t) && copy.bytes > 0)
        add_copy(c, &copy, &k);
    return k;
}

/* As called by fusesim's plans. */
fsim_kernel fsim_cublas_kernel(const fsim_costing *c, fsim_arena *a)
{
    const fsim_gemm g = fsim_product_of(c);
    const fsim_gemm_device d = fsim_gemm_device_of(c->hw, g.arithmetic);
    return fsim_library_can(c->g, c->hw, c->group) ? library(c, &g, &d, false, a) : (fsim_kernel){0};
}

fsim_kernel fsim_framework_product(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    const fsim_gemm g = fsim_product_of(c);
    if (!fsim_library_can(c->g, c->hw, c->group) || c->group->writes > 1 ||
        fsim_epilogue_of(c->g, c->hw, c->group).aux >= 0) /* no framework asks for a slope */
        return *own;
    const fsim_gemm_device d = fsim_gemm_device_of(c->hw, g.arithmetic);
    const fsim_kernel k = library(c, &g, &d, true, a);
    return k.time_s > 0 ? k : *own;
}
