/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_kept.h: the points of a sweep that are done, in a file beside its output, a line each, from which a sweep that
 * was killed goes on. */
#ifndef FUSESIM_COMMAND_SWEEP_KEPT_H
#define FUSESIM_COMMAND_SWEEP_KEPT_H

#include "command/command.h"
#include "report/sweep.h"

typedef struct {
    const char *path; /* NULL: nothing is kept */
    int file;
    volatile int failed; /* a line could not be written */
} fsim_kept;

/* Opens OUTPUT.part. digest: of all that the points depend on. resume: points of the same digest are read into x and
 * kernels; otherwise, and where there is no file, it begins empty. False after an error: another digest, damage. */
bool fsim_kept_open(fsim_kept *k, fsim_context *c, const char *digest, fsim_sweep *x, const char **kernels);
/* Adds a point, from any thread. scratch is for a moment. */
void fsim_kept_add(fsim_kept *k, int i, const fsim_sweep_point *p, const char *kernels, fsim_arena *scratch);
/* Closes the file, and deletes it where all is done. False after an error: a line was lost. */
bool fsim_kept_end(fsim_kept *k, fsim_context *c, bool done);

#endif
