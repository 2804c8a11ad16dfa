/* SPDX-License-Identifier: Apache-2.0 */
/* over.h: what `sweep --over` says: one thing that varies, and its values. */
#ifndef FUSESIM_INPUT_OVER_H
#define FUSESIM_INPUT_OVER_H

#include "base/diag.h"

enum { FSIM_MOST_AXES = 8, FSIM_MOST_VALUES = 100000 };

typedef enum {
    FSIM_OVER_SYMBOL, /* "S": a symbol of the workload */
    FSIM_OVER_HW,     /* "hw.dram_bandwidth": a key of the hardware file, as --hw-set changes it */
    FSIM_OVER_LAUNCH  /* "launch": whose time, as --launch says */
} fsim_over_kind;

typedef struct {
    fsim_over_kind kind;
    const char *name; /* as typed: "hw.dram_bandwidth" */
    const char **value;
    int values; /* 1 at least */
} fsim_over;

/* Reads "NAME=VALUES": values between commas, each a word or a range of whole numbers: "1:64" is each of them, "1:64:8"
 * 1, 9, 17, ..., "1:64:x2" 1, 2, 4, ... The last is not passed. A value that comes again is an error. False after an
 * error in d (the command line). In a. */
bool fsim_over_read(fsim_arena *a, fsim_diag *d, const char *text, fsim_over *out);

#endif
