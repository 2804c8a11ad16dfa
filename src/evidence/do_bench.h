/* SPDX-License-Identifier: Apache-2.0 */
/* do_bench.h: rows of Liger's benchmarks, whose source is "Liger NAME PROVIDER". Triton's do_bench has the device
 * overwrite 256 MB before each run, takes the time between events in the stream, and waits for nothing between runs:
 * what the host takes longer for a run than the device for those bytes is measured as well. */
#ifndef FUSESIM_EVIDENCE_DO_BENCH_H
#define FUSESIM_EVIDENCE_DO_BENCH_H

#include "evidence/rows.h"
#include "plan/price/plan.h"

/* Did Liger's own kernels run, of a function that vendor/liger.def has? Then no plan of fusesim's did, whatever
 * strategy the row names. */
bool fsim_ran_liger(const fsim_measured *row);

/* What its program ran: some run both passes whatever the mode. */
fsim_measured_part fsim_bench_memory_mode(const fsim_measured *row);
/* The peak of its process where what is measured needs `bytes`; where Liger's kernels ran, what these need instead. */
double fsim_bench_memory(const fsim_measured *row, const fsim_graph *g, const fsim_hw *hw, double bytes);

/* Does such a benchmark measure the row's time? */
bool fsim_is_benched(const fsim_measured *row);
/* What is measured. */
typedef struct {
    double s, device_s, dram_s; /* of it while the device works; of that by DRAM's bandwidth */
    double read_bytes, write_bytes;
    int kernels;
} fsim_benched;
/* plan: the kernels of the row's part on g as the row's software launches them, or fusesim's where Liger's ran. */
fsim_benched fsim_bench_seconds(const fsim_measured *row, const fsim_graph *g, const fsim_hw *hw,
                                const fsim_plan *plan);

#endif
