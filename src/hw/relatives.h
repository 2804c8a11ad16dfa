/* SPDX-License-Identifier: Apache-2.0 */
/* relatives.h: scalars that nobody measured on a GPU, from those of GPUs like it. */
#ifndef FUSESIM_HW_RELATIVES_H
#define FUSESIM_HW_RELATIVES_H

#include "hw/hw.h"

/* Does hw lack figures that only measurements give? */
bool fsim_hw_lacks(const fsim_hw *hw);

/* Forgets what was measured or fitted on hw, as if there were only its data sheet: for the error of doing without. */
void fsim_hw_forget(fsim_hw *hw);

/* What hw lacks, from kin[0, count): achieved rates as the same share of the peak, times and efficiencies as they are;
 * a mean of logarithms weighted by nearness in architecture and kind of memory, over those where it was measured or
 * fitted. Its source then says "assumed: as on NAME, ...". hw itself, by name, is no kin, and a CPU is nobody's. In a.
 */
void fsim_hw_adopt(fsim_arena *a, fsim_hw *hw, const fsim_hw *const *kin, int count);

/* The same from the shipped files; those that can't be read are left out. */
void fsim_hw_adopt_shipped(fsim_arena *a, fsim_hw *hw, const char *shipped_dir);

#endif
