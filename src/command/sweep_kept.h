/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_kept.h: the points of a sweep in a file of their own, a line each: beside the output of a sweep under way, from
 * which one that was killed goes on, and as the output of a shard, which `merge` reads. */
#ifndef FUSESIM_COMMAND_SWEEP_KEPT_H
#define FUSESIM_COMMAND_SWEEP_KEPT_H

#include "command/sweep_points.h"

typedef struct {
    fsim_shard shard;    /* set by the caller: whose points these are */
    const char *path;    /* NULL: nothing is kept */
    int file, known;     /* points that were read from it */
    volatile int failed; /* a line could not be written */
} fsim_kept;

/* How both files begin. digest: of all that the points depend on. In c->arena. */
const char *fsim_kept_head(fsim_context *c, const fsim_shard *shard, const char *digest, const fsim_sweep *x);
/* Opens OUTPUT.part. resume: points behind the same head are read into x and kernels; otherwise, and where there is no
 * file, it begins empty. False after an error: another head, damage. */
bool fsim_kept_open(fsim_kept *k, fsim_context *c, const char *head, fsim_sweep *x, const char **kernels);
/* Adds a point, from any thread. kernels: as in sweep_points.h. scratch is for a moment. */
void fsim_kept_add(fsim_kept *k, const fsim_sweep_point *p, const char *kernels, fsim_arena *scratch);
/* Closes the file, and deletes it where all is done. False after an error: a line was lost. */
bool fsim_kept_end(fsim_kept *k, fsim_context *c, bool done);

/* All of a shard, with an end that says that it is whole. */
void fsim_shard_write(FILE *out, const char *head, const fsim_sweep *x, const char *const *kernels);
/* Reads the shards of a sweep, which must be all of it and each once, into x and *kernels; --find is not set. False
 * after errors in c->diag, at their files. */
bool fsim_shards_read(fsim_context *c, const fsim_words *paths, fsim_sweep *x, const char ***kernels);

#endif
