/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h: independent work in threads. Whoever has a list of things to do that do not depend on each other calls
 * fsim_in_parallel, and finds the results in the order of the list, whatever the number of threads. */
#ifndef FUSESIM_BASE_JOBS_H
#define FUSESIM_BASE_JOBS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum { FSIM_MOST_JOBS = 256 };

/* How many threads `--jobs N` means: so many; where N is 0, not given, one for each processor that this process may
 * use. At most FSIM_MOST_JOBS. */
int fsim_jobs_of(int64_t asked);

/* Item i of a list. worker, in [0, jobs): the thread that calls, for what each thread has of its own. */
typedef void fsim_job(void *to, int i, int worker);

/* Calls job(to, i, worker) once for each i in [0, count), in at most `jobs` threads, of which the caller's is one;
 * returns when all are done. Items begin in their order, a thread takes the next when it has finished one; each has
 * the locale of the thread that calls. Where a thread can't be started, there are fewer.
 *
 * An item writes only to what is its own or its worker's: entry i of an array, an arena that the caller made for it
 * (fsim_arena_child) and that it may free. Arenas that an item makes, it frees. Where memory runs out in an item, no
 * further one begins, and when all threads have ended, the caller runs out of memory (base/arena.h). */
void fsim_in_parallel(int jobs, int count, fsim_job *job, void *to);
/* Is the flag set, by a signal handler or by another thread? False for NULL. */
static inline bool fsim_is_set(const volatile int *flag) { return flag && __atomic_load_n(flag, __ATOMIC_RELAXED); }
/* `count` children of a, for the workers, or for the items. The list is in a. */
fsim_arena **fsim_arena_children(fsim_arena *a, int count);

#endif
