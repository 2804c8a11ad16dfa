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

/* The vendor's kernel for a matrix product. framework: as called by PyTorch, which may split k even where the order
 * of sums is to be kept. */
static fsim_kernel library(const fsim_costing *c, const fsim_gemm *g, const fsim_gemm_device *d, bool framework,
                           fsim_arena *a)
{
    fsim_gemm_shape s = fsim_product_shape(c, g);
    fsim_kernel k = fsim_blank_kernel(c, a);
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
    s.dram_bytes = (double)(k.dram_read_bytes + k.dram_write_bytes);
    const fsim_gemm_time t =
        framework || c->group->members == 1 ? fsim_gemm_best(d, &s) : fsim_gemm_with(d, &s, tile_when_cold(c, d, s));
    fsim_settle_product(c, &k, d, &s, &t);
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
    if (!fsim_library_can(c->g, c->hw, c->group) || c->group->writes > 1)
        return *own;
    const fsim_gemm_device d = fsim_gemm_device_of(c->hw, g.arithmetic);
    const fsim_kernel k = library(c, &g, &d, true, a);
    return k.time_s > 0 ? k : *own;
}
