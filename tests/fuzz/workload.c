/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a workload: parsed, and where it is one of a few primitives, planned. */
#include "predict.h"
#include <string.h>

static const char hw_text[] =
    "name: tiny\ndescription: a GPU for tests\narchitecture: sm_80\n"
    "sms: {value: 8, source: test}\nsm_clock: {peak: 1000 MHz, source: test}\ndram_bandwidth: {peak: 100 GB/s, source: "
    "test}\n"
    "dram_capacity: {value: 1 GiB, source: test}\nl2_capacity: {value: 1 MiB, source: test}\n"
    "shared_memory_per_sm: {value: 164 KiB, source: test}\nshared_memory_per_block: {value: 163 KiB, source: test}\n"
    "shared_memory_bandwidth: {value: 128 B/clk, source: test}\nregisters_per_sm: {value: 65536, source: test}\n"
    "registers_per_thread: {value: 255, source: test}\nregister_allocation_unit: {value: 256, source: test}\n"
    "threads_per_sm: {value: 2048, source: test}\nthreads_per_block: {value: 1024, source: test}\n"
    "blocks_per_sm: {value: 32, source: test}\nwarp_size: {value: 32, source: test}\nfp32_rate: {value: 64 /clk, "
    "source: test}\n"
    "special_rate: {value: 16 /clk, source: test}\nfp32_peak: {peak: 1.024 TFLOP/s, source: test}\n"
    "launch_eager: {value: 6 us, source: test}\nlaunch_stream: {value: 2 us, source: test}\n"
    "launch_graph: {value: 1 us, source: test}\nkernel_floor: {value: 1 us, source: test}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fsim_arena *whole; /* what all inputs share */
    static const fsim_hw *hw;
    if (!whole) {
        whole = fsim_arena_new();
        hw = fsim_hw_parse(whole, fsim_diag_new(whole), "tiny.yaml", hw_text, strlen(hw_text));
    }
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    char *text = fsim_strndup(a, (const char *)data, size);
    const fsim_graph *g = fsim_graph_parse(a, d, "fuzz.yaml", text, size, NULL);
    const fsim_options o = {.strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 3000};
    if (g && hw && g->nodes > 0 && g->nodes < 200)
        fsim_predict(g, hw, &o, a);
    fsim_arena_free(a);
    return 0;
}
