/* SPDX-License-Identifier: Apache-2.0 */
/* products.c: matrix products by cuBLAS. */
#include "validate/cuda/probe/stages.h"

#include "validate/cuda/device.h"
#include <string.h>

static const struct {
    fsim_gpu_probe probe;
    fsim_dtype type;
    bool tf32;
    int part, elem_bytes; /* part: of the rows of others */
    fsim_probe_bits bits; /* elements of 0.5 to 1 in magnitude */
} products[] = {{FSIM_GPU_GEMM_F16, FSIM_F16, false, 1, 2, {0x83ff83ffu, 0x38003800u}},
                {FSIM_GPU_GEMM_BF16, FSIM_BF16, false, 1, 2, {0x807f807fu, 0x3f003f00u}},
                {FSIM_GPU_GEMM_TF32, FSIM_F32, true, 1, 4, {0x807fffffu, 0x3f000000u}},
                {FSIM_GPU_GEMM_F32, FSIM_F32, false, 2, 4, {0x807fffffu, 0x3f000000u}}};
enum { PRODUCTS = sizeof products / sizeof *products };

static void measure_product(fsim_probe_bench *b, int i)
{
    const int64_t n = b->option.gemm / products[i].part, bytes = n * n * products[i].elem_bytes;
    fsim_gpu_buffer at[3] = {{0}, {0}, {0}};
    const fsim_gpu_gemm_call call = {.name = fsim_gpu_probe_names[products[i].probe],
                                     .m = n,
                                     .n = n,
                                     .k = n,
                                     .batch = 1,
                                     .type = products[i].type,
                                     .tf32 = products[i].tf32};
    const char *why = NULL;
    fsim_fault fault = {0};
    fsim_measured_kernel m;
    bool ready = true;
    for (int k = 0; k < 3 && ready; k++)
        ready = fsim_probe_allocate(b, "a matrix product", bytes, &at[k], &why) &&
                fsim_probe_fill(b, at[k], products[i].bits, &why);
    fsim_gpu_kernel *kernel = ready ? fsim_gpu_gemm(b->g, &call, at[0], at[1], at[2], &fault) : NULL;
    if (kernel && (fsim_gpu_measure(b->g, &kernel, 1, &m, &fault) || fault.status == FSIM_INCONCLUSIVE))
        m.failed ? (void)(why = m.failed)
                 : fsim_probe_set(b, products[i].probe, m.warm, 0, 2.0 * (double)n * (double)n * (double)n);
    else if (ready)
        fsim_probe_survives(b, &fault, &why);
    fsim_gpu_unload(b->g, kernel);
    for (int k = 0; k < 3; k++)
        fsim_gpu_free(b->g, &at[k]);
    const char *above = i > 0 ? b->out->of[products[i - 1].probe].why : NULL;
    fsim_probe_leave_out(b, products[i].probe, why && above && strcmp(why, above) == 0 ? "the same" : why);
}

bool fsim_probe_products(fsim_probe_bench *b)
{
    for (int i = 0; i < PRODUCTS && b->fault.status == 0; i++)
        if (b->option.gemm < 0)
            fsim_probe_leave_out(b, products[i].probe, "not asked for");
        else if ((products[i].tf32 || products[i].type == FSIM_BF16) &&
                 !fsim_architecture_of_sm(b->out->facts->sm)->mma)
            fsim_probe_leave_out(b, products[i].probe,
                                 fsim_printf(b->a, "sm_%d and newer have it", fsim_least_mma_sm(FSIM_MATRIX_F16)));
        else
            measure_product(b, i);
    return b->fault.status == 0;
}
