/* SPDX-License-Identifier: Apache-2.0 */
/* cublas.c: matrix products as cuBLAS and cuBLASLt run them: gemm.h's time with the tile and split that the library is
 * taken to choose. */
#include "cost/contraction.h"
#include "vendor/constants.h"
#include "vendor/kernels.h"
#include "vendor/library.h"

#include <math.h>

/* A benchmark that rotates copies of its weights, so many that L2 can't hold them, finds its activations there unless
 * they fill it. */
static void rotate(const fsim_costing *c, fsim_kernel *k)
{
    const double l2 = fsim_hw_get(c->hw, FSIM_HW_L2_CAPACITY), from = fsim_hw_get(c->hw, FSIM_HW_GEMM_RESIDENT);
    double rest = 0;
    for (int i = 0; i < k->inputs; i++)
        rest += c->g->tensor[k->input[i].tensor].role == FSIM_WEIGHT ? 0 : (double)k->input[i].bytes;
    for (int i = 0; i < k->outputs; i++)
        rest += (double)k->output[i].bytes;
    const double missed = fmin(1, fmax(0, (rest / l2 - from) / rotated_rest_ramp));
    k->dram_read_bytes = k->dram_write_bytes = 0;
    for (int i = 0; i < k->inputs; i++) {
        const double bytes = fmax(1, (double)k->input[i].bytes),
                     held = fmin(ROTATED_COPIES, ceil(l2 / bytes)) * bytes / l2;
        const bool weight = c->g->tensor[k->input[i].tensor].role == FSIM_WEIGHT;
        k->input[i].read_bytes =
            (int64_t)(bytes * (weight ? fmin(1, fmax(0, (held - from) / rotated_weight_ramp)) : missed));
        k->dram_read_bytes += k->input[i].read_bytes;
    }
    for (int i = 0; i < k->outputs; i++) {
        k->output[i].write_bytes = (int64_t)((double)k->output[i].bytes * missed);
        k->dram_write_bytes += k->output[i].write_bytes;
    }
}

/* The library knows neither what L2 holds nor what its kernel does besides: with a tile that went by the former, the
 * latter could take longer the more is found there. */
static fsim_gemm_tile tile_when_cold(const fsim_costing *c, const fsim_gemm_device *d, fsim_gemm_shape s)
{
    s.dram_bytes = 0;
    for (int i = 0; i < c->group->reads; i++)
        s.dram_bytes += (double)c->read[i].sector_bytes * c->read[i].reread;
    for (int i = 0; i < c->group->writes; i++)
        s.dram_bytes += (double)c->write[i].sector_bytes;
    return fsim_gemm_best(d, &s).tile;
}

/* The clock of a device that is held to little power falls within milliseconds of hard work: what starts on one that
 * rested is through sooner. Only where the product is the one contraction of its workload: after another the device has
 * not rested. Not taken from kin: whether a file's efficiency is that of rested devices depends on the runs that it was
 * fitted to. */
static double saved_by_rest(const fsim_costing *c, double seconds)
{
    const double span = fsim_hw_get(c->hw, FSIM_HW_GEMM_BURST_SPAN);
    int contractions = 0;
    for (int n = 0; n < c->g->nodes; n++)
        contractions += c->g->node[n].gemm.k > 0;
    const bool applies = contractions == 1 && fsim_hw_origin(c->hw, FSIM_HW_GEMM_BURST) == FSIM_FROM_FITTED;
    return applies ? seconds * fsim_hw_get(c->hw, FSIM_HW_GEMM_BURST) * span / (seconds + span) : 0;
}

/* The vendor's kernel for a matrix product. framework: as PyTorch calls it, which may split k whatever the order of
 * additions. */
static fsim_kernel library(const fsim_costing *c, const fsim_gemm *g, const fsim_gemm_device *d, bool framework,
                           fsim_arena *a)
{
    fsim_gemm_shape s = fsim_product_shape(c, g);
    fsim_kernel k = fsim_blank_kernel(c, a);
    k.template = FSIM_LIBRARY_CONTRACTION;
    k.vector = 4;
    k.penalised = k.penalised ||
                  c->group->members > 1; /* its units overlap less than those of kernels that it might be split into */
    fsim_add_arithmetic(c, &k, NULL, true);
    fsim_add_memory(c, &k, NULL, NULL);
    if (framework && c->l2 && c->l2->harness == FSIM_HARNESS_ROTATES)
        rotate(c, &k);
    s.whole = s.whole && !framework;
    s.dram_bytes = (double)(k.dram_read_bytes + k.dram_write_bytes);
    const fsim_gemm_time t =
        framework || c->group->members == 1 ? fsim_gemm_best(d, &s) : fsim_gemm_with(d, &s, tile_when_cold(c, d, s));
    const fsim_harness harness = framework && c->l2 ? c->l2->harness : FSIM_HARNESS_NONE;
    const bool runs = fsim_settle_product(c, &k, d, &s, &t);
    if (runs && harness == FSIM_HARNESS_CALLS)
        fsim_add_seconds(&k, FSIM_LATENCY, d->call_s + (c->group->members > 1 ? d->bias_call_s : 0));
    if (runs && harness == FSIM_HARNESS_RESTS && !d->tensor)
        fsim_add_seconds(&k, FSIM_COMPUTE,
                         -fmin(k.time[FSIM_COMPUTE], saved_by_rest(c, k.time_s - k.time[FSIM_LAUNCH])));
    return k;
}

/* As fusesim's plans call it. */
fsim_kernel fsim_cublas_kernel(const fsim_costing *c, fsim_arena *a)
{
    const fsim_gemm g = fsim_product_of(c);
    const fsim_gemm_device d = fsim_gemm_device_of(c->hw, g.arithmetic);
    return fsim_library_can(c->g, c->hw, c->group) ? library(c, &g, &d, false, a) : (fsim_kernel){0};
}

fsim_kernel fsim_framework_product(const fsim_costing *c, const fsim_kernel *own, fsim_arena *a)
{
    const fsim_gemm g = fsim_product_of(c);
    if (!fsim_library_can(c->g, c->hw, c->group))
        return *own;
    const fsim_gemm_device d = fsim_gemm_device_of(c->hw, g.arithmetic);
    const fsim_kernel k = library(c, &g, &d, true, a);
    return k.time_s > 0 ? k : *own;
}
