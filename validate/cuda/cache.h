/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h: compiled kernels on disk, in $FUSESIM_CACHE, $XDG_CACHE_HOME/fusesim or ~/.cache/fusesim: one file a kernel,
 * called by the SHA-256 of all that it was made from. A file holds log and cubin with their own hash, so that one that
 * is damaged is as good as none. */
#ifndef FUSESIM_VALIDATE_CUDA_CACHE_H
#define FUSESIM_VALIDATE_CUDA_CACHE_H

#include "base/arena.h"
#include <stdbool.h>

/* The folder's path, whether it is there or not; NULL with *why set where no variable says it. */
const char *fsim_cache_folder(fsim_arena *a, const char **why);

typedef struct {
    const char *log;
    const void *cubin;
    size_t cubin_bytes;
} fsim_cached;

/* key: 64 hexadecimal digits. False: not there, or damaged. The result lives in a. */
bool fsim_cache_get(fsim_arena *a, const char *folder, const char *key, fsim_cached *out);
/* Makes the folder where it is missing. False with *why set: nothing was written. */
bool fsim_cache_put(fsim_arena *a, const char *folder, const char *key, const fsim_cached *item, const char **why);

#endif
