/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/helpers.h"

#include "validate/cuda/kernel.h"
#include <math.h>
#include <stdlib.h>

enum {
    SWEPT_BYTES = 64 << 20,
    CLOCK_SLOTS = 1024
}; /* CLOCK_SLOTS: how many SMs' clocks can be read, two numbers each */

/* These are not in the dialect because they use NVIDIA's instructions. When emulated, as in tests, a sweep only
 * reads its buffer, and one block reads the clock. */
const char fsim_helper_source[] =
    "#ifdef FS_EMULATED\n"
    "FS_IDLE_BUT(fsim_empty, 1, 1)\n"
    "void fsim_empty(void **params) { (void)params; }\n"
    "FS_IDLE_BUT(fsim_flush, 1, 1)\n"
    "void fsim_flush(void **params) { (void)*(const unsigned **)params[0]; }\n"
    "FS_IDLE_BUT(fsim_clock, 1, 1)\n"
    "void fsim_clock(void **params)\n"
    "{\n"
    "    unsigned long long *at = *(unsigned long long **)params[0];\n"
    "    at[0] = (unsigned long long)fs_globaltimer();\n"
    "    at[1] = (unsigned long long)fs_clock();\n"
    "}\n"
    "#else\n"
    "extern \"C\" __global__ void fsim_empty() {}\n"
    "__device__ __forceinline__ unsigned load(const uint4 *at) /* past L1 */\n"
    "{\n"
    "    uint4 v;\n"
    "    asm volatile(\"ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];\" : \"=r\"(v.x), \"=r\"(v.y), \"=r\"(v.z), "
    "\"=r\"(v.w) : \"l\"(at));\n"
    "    return v.x ^ v.y ^ v.z ^ v.w;\n"
    "}\n"
    "/* count: of 16 bytes, a multiple of 4. */\n"
    "extern \"C\" __global__ void __launch_bounds__(256) fsim_flush(const uint4 *at, unsigned long long count, "
    "unsigned *sink)\n"
    "{\n"
    "    unsigned sum = 0;\n"
    "    for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < count / 4; i += gridDim.x * 256ull)\n"
    "        sum ^= load(at + i) ^ load(at + i + count / 4) ^ load(at + i + count / 2) ^ load(at + i + count / 4 * "
    "3);\n"
    "    if (sum == 0x12345677u)\n"
    "        *sink = sum;\n"
    "}\n"
    "/* Nanoseconds and cycles of the SM that a block runs on. */\n"
    "extern \"C\" __global__ void fsim_clock(unsigned long long *at)\n"
    "{\n"
    "    unsigned sm;\n"
    "    unsigned long long ns;\n"
    "    asm volatile(\"mov.u32 %0, %%smid;\" : \"=r\"(sm));\n"
    "    asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(ns));\n"
    "    if (sm < 1024) {\n"
    "        at[2 * sm] = ns;\n"
    "        at[2 * sm + 1] = clock64();\n"
    "    }\n"
    "}\n"
    "#endif\n";

bool fsim_gpu_open_helpers(fsim_gpu *g, fsim_fault *fault)
{
    fsim_cubin c;
    if (!fsim_nvrtc_compile(g->nvrtc, &(fsim_nvrtc_source){"fusesim_helpers.cu", fsim_helper_source, g->facts.sm}, NULL,
                            g->a, &c)) {
        if (fault)
            *fault = c.fault;
        return false;
    }
    const int64_t swept = 2 * g->facts.l2_bytes > SWEPT_BYTES ? 2 * g->facts.l2_bytes : SWEPT_BYTES;
    if (!fsim_gpu_load_module(g, &c, "fusesim_helpers.cu", &g->helpers, fault) ||
        !fsim_gpu_function(g, g->helpers, "fsim_flush", "fsim_flush", &g->flush, fault) ||
        !fsim_gpu_function(g, g->helpers, "fsim_clock", "fsim_clock", &g->clock, fault) ||
        !fsim_gpu_function(g, g->helpers, "fsim_empty", "fsim_empty", &g->empty, fault) ||
        !fsim_gpu_allocate(g, "the L2 flush", swept / 64 * 64, &g->swept, fault))
        return false;
    for (int i = 0; i < 2; i++)
        if (!fsim_gpu_allocate(g, "clock readings", (int64_t)(2 * CLOCK_SLOTS * sizeof(uint64_t)), &g->clocks[i],
                               fault) ||
            !fsim_gpu_ok(g, g->cu.cuMemsetD32Async(g->clocks[i].at, 0, (size_t)g->clocks[i].bytes / 4, g->stream),
                         "clearing memory", fault))
            return false;
    if (g->cu.cuCtxResetPersistingL2Cache)
        (void)!g->cu.cuCtxResetPersistingL2Cache(); /* what another program left there; not available on all devices */
    return fsim_gpu_wait(g, "clearing memory", fault);
}

void fsim_gpu_close_helpers(fsim_gpu *g)
{
    fsim_gpu_free(g, &g->swept);
    fsim_gpu_free(g, &g->clocks[0]);
    fsim_gpu_free(g, &g->clocks[1]);
    if (g->helpers)
        (void)!g->cu.cuModuleUnload(g->helpers);
}

typedef struct {
    fsim_cu_function function;
    int grid, block; /* blocks; threads of one */
    void **argument;
    const char *doing; /* for a fault's message */
} helper;

static bool launch_helper(fsim_gpu *g, helper h, fsim_fault *fault)
{
    return fsim_gpu_ok(g,
                       g->cu.cuLaunchKernel(h.function, (unsigned)h.grid, 1, 1, (unsigned)h.block, 1, 1, 0, g->stream,
                                            h.argument, NULL),
                       h.doing, fault);
}

bool fsim_gpu_sweep(fsim_gpu *g, fsim_fault *fault)
{
    unsigned long long count = (unsigned long long)g->swept.bytes / 16;
    void *argument[] = {&g->swept.at, &count, &g->clocks[0].at}; /* the sink is never written */
    return launch_helper(g, (helper){g->flush, 2 * g->facts.sms, 256, argument, "flushing L2"}, fault);
}

bool fsim_gpu_flush(fsim_gpu *g, fsim_fault *fault)
{
    return fsim_gpu_ok(g, g->cu.cuMemsetD32Async(g->swept.at, 0, (size_t)g->swept.bytes / 4, g->stream), "flushing L2",
                       fault) &&
           fsim_gpu_sweep(g, fault);
}

/* Four blocks for each SM, so that every SM gets one. */
bool fsim_gpu_stamp_clocks(fsim_gpu *g, int which, fsim_fault *fault)
{
    void *argument[] = {&g->clocks[which].at};
    return launch_helper(g, (helper){g->clock, 4 * g->facts.sms, 1, argument, "reading the SM clock"}, fault);
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

double fsim_gpu_clock_hz(fsim_gpu *g)
{
    static const double least_ns = 10e3; /* the nanosecond timer has steps of up to 1 us */
    uint64_t stamp[2][2 * CLOCK_SLOTS];
    double rate[CLOCK_SLOTS];
    int rates = 0;
    for (int i = 0; i < 2; i++)
        if (!fsim_gpu_download(g, stamp[i], g->clocks[i], sizeof stamp[i], NULL))
            return NAN;
    for (int s = 0; s < CLOCK_SLOTS; s++) {
        const double ns = (double)(int64_t)(stamp[1][2 * s] - stamp[0][2 * s]),
                     cycles = (double)(int64_t)(stamp[1][2 * s + 1] - stamp[0][2 * s + 1]);
        if (stamp[0][2 * s] != 0 && ns >= least_ns && cycles > 0)
            rate[rates++] = 1e9 * cycles / ns;
    }
    qsort(rate, (size_t)rates, sizeof *rate, ascending);
    return rates > 0 ? rate[rates / 2] : NAN;
}

fsim_gpu_kernel *fsim_gpu_empty_kernel(fsim_gpu *g)
{
    static const fsim_launch launch = {.entry = "fsim_empty", .grid = 1, .block = 32};
    fsim_program *p = fsim_new(g->a, fsim_program, 1);
    fsim_gpu_kernel *k = fsim_new(g->a, fsim_gpu_kernel, 1);
    *p = (fsim_program){.name = "fsim_empty", .launch = fsim_new(g->a, fsim_launch, 1), .launches = 1};
    p->launch[0] = launch;
    *k = (fsim_gpu_kernel){.name = p->name,
                           .program = p,
                           .launch = p->launch,
                           .function = &g->empty,
                           .registers = -1,
                           .static_shared_bytes = -1,
                           .local_bytes_per_thread = -1,
                           .occupancy = NAN};
    return k;
}
