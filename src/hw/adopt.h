/* SPDX-License-Identifier: Apache-2.0 */
/* adopt.h: what a hardware file leaves out and other places say: the table of architectures, the GPU of `like:`, and
 * the file's own other keys. What similar GPUs say is in hw/relatives.h. */
#ifndef FUSESIM_HW_ADOPT_H
#define FUSESIM_HW_ADOPT_H

#include "hw/hw.h"

/* The figure of an architecture for a key that it decides (FSIM_ABSENT_ARCHITECTURE); NaN: it decides none. */
double fsim_architecture_figure(const fsim_architecture *arch, fsim_hw_key key);

/* Limits and rates that hw lacks, from its architecture. A file with an fp32_rate of its own has a multiprocessor of
 * its own: the other rates are not adopted then. In a. */
void fsim_hw_adopt_architecture(fsim_arena *a, fsim_hw *hw);

/* Peaks that hw lacks and its other keys decide: vector units by SMs and clock, matrix units by one another. In a. */
void fsim_hw_derive_peaks(fsim_arena *a, fsim_hw *hw);

/* Keys other than peaks that hw lacks, from parent; sources begin with "from NAME: ". In a. */
void fsim_hw_inherit_figures(fsim_arena *a, fsim_hw *hw, const fsim_hw *parent);

/* Peaks and the shares of them that are reached, from parent: scaled by SMs and clock where hw has others, matrix
 * units by a rate that both have. In a. */
void fsim_hw_inherit_peaks(fsim_arena *a, fsim_hw *hw, const fsim_hw *parent);

/* What goes with SMs and clock (peaks of all units, L2 bandwidth; vector units with their rate too) after changes of
 * those, as for a file with `like:`. What is changed itself stays as it is. before: the GPU
 * without the changes. Sources in a. */
void fsim_hw_rescale_peaks(fsim_arena *a, fsim_hw *hw, const fsim_hw *before);

/* After changes: a block has at most the shared memory and the threads of a multiprocessor, also where a change made
 * these less. False after an error in d (FSIM_BAD_ARGUMENT) where a change gave a block more. Sources in a. */
bool fsim_hw_fit_blocks(fsim_arena *a, fsim_diag *d, fsim_hw *hw);

/* The figures of a data sheet that tell one product from another: SMs, clock, DRAM bandwidth and capacity, L2, rate of
 * the matrix units, power, link. */
enum { FSIM_SHEET_FIGURES = 8 };
/* Figure i as a key: of several keys (matrix units) the first one that hw has. */
fsim_hw_key fsim_hw_sheet_figure(const fsim_hw *hw, int i);

#endif
