/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h: compiled kernels on disk, in $FUSESIM_CACHE, $XDG_CACHE_HOME/fusesim or ~/.cache/fusesim. Each is a file
 * named by the SHA-256 of everything that it was compiled from. The file has a log and a cubin with a hash of their
 * own, so that a damaged file is ignored. */
#ifndef FUSESIM_VALIDATE_CUDA_CACHE_H
#define FUSESIM_VALIDATE_CUDA_CACHE_H

#include "base/arena.h"
#include <stdbool.h>

/* The folder's path, whether or not it exists; NULL with *why set where no variable names it. */
const char *fsim_cache_folder(fsim_arena *a, const char **why);

typedef struct {
    const char *log;
    const void *cubin;
    size_t cubin_bytes;
} fsim_cached;

/* key: 64 hexadecimal digits. False: not there, or damaged. The result lives in a. */
bool fsim_cache_get(fsim_arena *a, const char *folder, const char *key, fsim_cached *out);
/* Creates the folder if necessary. False with *why set: nothing was written. */
bool fsim_cache_put(fsim_arena *a, const char *folder, const char *key, const fsim_cached *item, const char **why);

#endif
