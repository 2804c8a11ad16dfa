/* SPDX-License-Identifier: Apache-2.0 */
/* over.h: what `sweep --over` and `--zip` say: what varies, its values, and what varies together. */
#ifndef FUSESIM_INPUT_OVER_H
#define FUSESIM_INPUT_OVER_H

#include "base/diag.h"

enum { FSIM_MOST_AXES = 8, FSIM_MOST_VALUES = 100000, FSIM_MOST_POINTS = 1000000 };

typedef enum {
    FSIM_OVER_SYMBOL,  /* "S": a symbol of the workload */
    FSIM_OVER_HW,      /* "hw.dram_bandwidth": a key of the hardware file, as --hw-set changes it */
    FSIM_OVER_LAUNCH,  /* "launch": whose time, as --launch says */
    FSIM_OVER_STRATEGY /* "strategy": whose plan, as --strategy says */
} fsim_over_kind;

typedef struct {
    fsim_over_kind kind;
    const char *name; /* as typed: "hw.dram_bandwidth" */
    const char **value;
    int values;    /* 1 at least */
    int along;     /* of the grid's directions: axes with the same one vary together */
    bool computed; /* a value is an expression in axes before this one: "4096/B" */
} fsim_over;

/* Axes, and directions: the values of one go with each of another's. */
typedef struct {
    fsim_over *axis;
    int axes;
    int directions, length[FSIM_MOST_AXES]; /* steps of each; the last direction's go fastest */
    int combinations;
} fsim_grid;

/* The texts of all of --over, and of --zip, which name axes that vary together: "B,S". One of --over is "NAME=VALUES":
 * values between commas, each a word, an expression in axes before it, or a range of whole numbers: "1:64" is each of
 * them, "1:64:8" 1, 9, 17, ..., "1:64:x2" 1, 2, 4, ... The last is not passed. A value that comes again is an error. */
typedef struct {
    const char *const *over, *const *zip;
    int overs, zips;
} fsim_grid_texts;
/* Reads them. False after errors in d: values that can't be zipped, too many combinations. In a. */
bool fsim_grid_read(fsim_arena *a, fsim_diag *d, const fsim_grid_texts *texts, fsim_grid *out);
/* Which of its steps a direction, or which of its values an axis has in a combination. */
int fsim_grid_step(const fsim_grid *g, int combination, int direction);
static inline int fsim_grid_index(const fsim_grid *g, int combination, int axis)
{
    return fsim_grid_step(g, combination, g->axis[axis].along);
}
/* Combinations from one step of a direction to the next. */
int fsim_grid_stride(const fsim_grid *g, int direction);
/* The value of each axis in a combination, computed ones as numbers, into value[axes]. False after an error in d: an
 * expression with no value. Computed ones are in a. */
bool fsim_grid_values(fsim_arena *a, fsim_diag *d, const fsim_grid *g, int combination, const char **value);
/* The axis of that name; -1: none. */
int fsim_grid_axis(const fsim_grid *g, const char *name);

#endif
