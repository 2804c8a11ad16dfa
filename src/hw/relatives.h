/* SPDX-License-Identifier: Apache-2.0 */
/* relatives.h: estimates for what nobody has measured on a GPU, from the shipped GPUs most like it.
 *
 * The figures of the shipped files are compiled in: the build makes a table from hwmodels/ (relatives_table.c). So
 * the program reads one hardware file at its start, and no other file can change a prediction. */
#ifndef FUSESIM_HW_RELATIVES_H
#define FUSESIM_HW_RELATIVES_H

#include "hw/hw.h"

/* What the estimates use of a GPU. */
typedef struct {
    const char *name;
    bool cpu;              /* CPUs are not used for GPUs, nor GPUs for CPUs */
    bool stacked_memory;   /* HBM, not GDDR */
    double distance_step;  /* of its architecture: hw/architecture.h */
    double watts_per_flop; /* power limit over the FP32 peak; NAN: unknown */
    /* Measured and fitted figures in a form that can be carried over to another GPU: achieved rates as shares of the
     * peak, L2's bandwidth by SMs and clock, others as they are. NAN: not measured; of keys that are taken from similar
     * GPUs where a file has none (FSIM_ABSENT_SIMILAR): not in the file. */
    double figure[FSIM_HW_COUNT];
} fsim_relative;

/* The shipped GPUs, by name. The build makes this table. */
extern const fsim_relative fsim_shipped_relatives[];
extern const int fsim_shipped_relatives_count;

/* What the shipped GPUs have for a key, for messages: the least, the most, and one in the middle. NaN: none has it. */
typedef struct {
    double low, middle, high;
} fsim_hw_figures;
extern const fsim_hw_figures fsim_shipped_ranges[FSIM_HW_COUNT];

/* What the estimates use of hw, under hw's name. */
fsim_relative fsim_relative_of(const fsim_hw *hw);

/* Does hw lack figures that only measurements give? */
bool fsim_hw_lacks_measurements(const fsim_hw *hw);

/* Removes what was measured or fitted on hw, as if there were only its data sheet: this shows what a prediction is
 * worth without measurements. */
void fsim_hw_drop_measurements(fsim_hw *hw);

/* Estimates what hw lacks from relative[0, count): the mean of the logarithms, weighted by nearness in architecture,
 * kind of memory and power. The source of an estimate begins with "assumed: as on NAME". A relative of hw's own name
 * is not used. In a. */
void fsim_hw_fill_from(fsim_arena *a, fsim_hw *hw, const fsim_relative *relative, int count);

#endif
