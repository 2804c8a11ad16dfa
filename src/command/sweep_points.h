/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_points.h: the points of a sweep, as `sweep` plans them and `merge` reads them. */
#ifndef FUSESIM_COMMAND_SWEEP_POINTS_H
#define FUSESIM_COMMAND_SWEEP_POINTS_H

#include "command/command.h"
#include "report/sweep.h"

enum { FSIM_MOST_SHARDS = 100000 };
/* A part of a sweep's points: every `of`th combination of values, on all GPUs. 0 of 1 is all. */
typedef struct {
    int number, of;
} fsim_shard;

/* Sets the points of the shard, none planned, from x's grid, strategy and GPUs. False after an error in c->diag: a
 * computed value that is none. */
bool fsim_sweep_lay_out(fsim_context *c, const fsim_shard *shard, fsim_sweep *x);
/* Numbers the plans in the order in which they come, and answers --find. kernels: for each point, what tells its plan
 * from another; NULL: it has none. */
void fsim_sweep_conclude(fsim_sweep *x, const char *const *kernels, fsim_arena *a);
/* The file of -o: JSON lines where its name ends in .jsonl, otherwise CSV. */
void fsim_sweep_write(FILE *out, const char *path, const fsim_sweep *x);

#endif
