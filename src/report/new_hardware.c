/* SPDX-License-Identifier: Apache-2.0 */
/* A hardware file to fill in: 'fusesim hw new'. */
#include "hw/adopt.h"
#include "report/report.h"

#include <string.h>

/* What a data sheet calls the figures that a new file asks for, and how it misleads. */
static const struct {
    fsim_hw_key key;
    const char *note;
} asked[] = {
    {FSIM_HW_SMS, "multiprocessors: CUDA cores / 128 from sm_86 on, / 64 on sm_70 to sm_80; AMD: compute units"},
    {FSIM_HW_SM_CLOCK, "boost clock"},
    {FSIM_HW_DRAM_BANDWIDTH, "memory bandwidth"},
    {FSIM_HW_DRAM_CAPACITY, "memory size; data sheets' GB are GiB"},
    {FSIM_HW_L2_CAPACITY, "L2 cache; AMD from MI300 on: the Infinity Cache"},
    {FSIM_HW_TENSOR_F16,
     "tensor cores, f16 with fp32 accumulate, DENSE: half of a rate 'with sparsity'; leave out if none"},
    {FSIM_HW_POWER_LIMIT, "board power"},
    {FSIM_HW_LINK_BANDWIDTH,
     "to other GPUs, ONE direction: half of NVLink's sum; PCIe 4.0 x16: 31.5 GB/s, 5.0: 63 GB/s"},
};
enum { ASKED = sizeof asked / sizeof *asked };

/* The figure as a line of the file: of a GPU to inherit from, or to fill in. */
static const char *line_of(fsim_arena *a, int i, const fsim_hw *like)
{
    const fsim_hw_row *row = &fsim_hw_rows[asked[i].key];
    const char *field = row->form == FSIM_HW_PEAK ? "peak" : "value";
    const double value = like ? fsim_hw_peak(like, asked[i].key) : NAN;
    char text[48];
    if (!like)
        return fsim_printf(a, "%-15s {%s: TODO, source: \"data sheet\"}", fsim_printf(a, "%s:", row->key), field);
    return isnan(value) ? fsim_printf(a, "# %s: %s has none", row->key, like->name)
                        : fsim_printf(a, "# %-15s {%s: %s, source: \"data sheet\"}", fsim_printf(a, "%s:", row->key),
                                      field, fsim_show(text, sizeof text, value, row->dim));
}

const char *fsim_new_hw_text(fsim_arena *a, const char *name, const fsim_hw *like)
{
    const char *text = fsim_printf(
        a, "# %s, for fusesim. 'fusesim hw check' says what is missing, 'fusesim hw keys' lists every key.\n", name);
    text = fsim_printf(a, "%sname: %s\ndescription: %s\n", text, name, name);
    text = like
               ? fsim_printf(a,
                             "%slike: %s   # every figure that this file does not give; scaled where that is known to "
                             "hold, and counted as assumed\n# architecture: %s   # only where it differs\n\n# Data "
                             "sheet: remove the '# ' of a line and put this GPU's figure; the others stay %s's.\n",
                             text, like->name, like->architecture, like->name)
               : fsim_printf(a,
                             "%sarchitecture: TODO   # NVIDIA: sm_86 for compute capability 8.6; AMD: gfx942; another "
                             "kind of accelerator: generic (docs/FORMATS.md)\n\n# Data sheet: replace each TODO. Units "
                             "are part of a figure.\n",
                             text);
    for (int i = 0; i < ASKED; i++)
        text = fsim_printf(a, "%s# %s%s\n%s\n", text, asked[i].note, like ? "" : fsim_hw_range(a, asked[i].key),
                           line_of(a, i, like));
    return fsim_printf(
        a,
        "%s\n# Optional. What kernels reach goes beside a peak:\n# dram_bandwidth: {peak: 936 GB/s, achieved: 850 "
        "GB/s, source: \"data sheet; achieved measured: a copy of 1 GB\"}\n# rent: {value: 1.09 USD/h, "
        "source: \"who asks it, on which day\"}\n",
        text);
}
