/* SPDX-License-Identifier: Apache-2.0 */
/* exclude.c: which rows of measurements say nothing about predictions. */
#include "evidence/evaluate.h"

#include <math.h>

const char *const fsim_exclusions[FSIM_EXCLUSIONS] = {"faster than the memory bus allows",
                                                      "host-bound",
                                                      "no kernel of the plan computes its primitive",
                                                      "its GPU is not known",
                                                      "its workload is not here",
                                                      "an operator of its has no gradient",
                                                      "its part shares a kernel with another",
                                                      "it was trained in a way that is not priced",
                                                      "not of numbers that were fitted anew"};

/* A row with HOST_BOUND_KERNELS kernels or more measures the host where this share of its predicted time is waiting for
 * the host. With few kernels the host costs a constant, which the model has; with many, the framework's own code
 * counts. */
static const double host_bound = 0.5;
enum { HOST_BOUND_KERNELS = 16 };

void fsim_judge_row(const fsim_hw *hw, const fsim_measured *row, double read, double written, fsim_evaluated *out)
{
    if (row->kernel && *row->kernel &&
        out->kernels > 0) { /* what one kernel moves depends on the others, so its own prediction is used */
        read = out->dram_read_bytes;
        written = out->dram_write_bytes;
    }
    const double l2 = fsim_hw_peak(hw, FSIM_HW_L2_CAPACITY);
    const double crossing = fsim_row_is_warm(row) ? fmax(0, read + written - l2) : read + fmax(0, written - l2);
    out->compulsory_bytes = read + written;
    out->bus_s = crossing / fsim_hw_peak(hw, FSIM_HW_DRAM_BANDWIDTH);
    if (row->of_memory)
        return;
    if (isnan(out->predicted_s))
        out->excluded = fsim_exclusions[out->mixed ? FSIM_EXCLUDED_MIXED : FSIM_EXCLUDED_KERNEL];
    else if (!(row->kernel && *row->kernel) && row->time_s * (1 + FSIM_BUS_SLACK) < out->bus_s)
        out->excluded = fsim_exclusions[FSIM_EXCLUDED_BUS];
    else if (row->launch == FSIM_REGIME_EAGER && out->kernels >= HOST_BOUND_KERNELS &&
             out->unit_s[FSIM_LAUNCH] > host_bound * out->predicted_s)
        out->excluded = fsim_exclusions[FSIM_EXCLUDED_HOST];
}
