/* SPDX-License-Identifier: Apache-2.0 */
/* relatives.h: figures that nobody measured on a GPU, taken from the shipped GPUs most like it.
 *
 * The shipped files' part in this is compiled in: the build writes it from hwmodels/ (relatives_table.c), so that a
 * start reads one hardware file, and so that no other file, readable or not, has a say in a prediction. */
#ifndef FUSESIM_HW_RELATIVES_H
#define FUSESIM_HW_RELATIVES_H

#include "hw/hw.h"

/* A GPU as others see it. */
typedef struct {
    const char *name;
    bool cpu;              /* a CPU's figures say nothing of a GPU, and the other way round */
    bool stacked_memory;   /* HBM, not GDDR */
    double distance_step;  /* of its architecture: hw/architecture.h */
    double watts_per_flop; /* power limit over the FP32 peak; NAN: not known */
    /* What was measured or fitted on it, so that it means something on another GPU: achieved rates as shares of the
     * peak, fitted scalars as they are. NAN: nothing was. */
    double figure[FSIM_HW_COUNT];
} fsim_relative;

/* The shipped GPUs, by name. The build makes this table. */
extern const fsim_relative fsim_shipped_relatives[];
extern const int fsim_shipped_relatives_count;

/* hw as others see it. The name is hw's. */
fsim_relative fsim_relative_of(const fsim_hw *hw);

/* Does hw lack figures that only measurements give? */
bool fsim_hw_lacks_measurements(const fsim_hw *hw);

/* Drops what was measured or fitted on hw, as if there were only its data sheet: to see what a prediction without any
 * measurement is worth. */
void fsim_hw_drop_measurements(fsim_hw *hw);

/* Fills in what hw lacks from relative[0, count): the mean of the logarithms, weighted by nearness in architecture,
 * kind of memory and power. The source of such a figure begins with "assumed: as on NAME". A relative of hw's own name
 * has no say, and CPUs and GPUs none in each other's. What is filled in lives in a. */
void fsim_hw_fill_from(fsim_arena *a, fsim_hw *hw, const fsim_relative *relative, int count);

#endif
