/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints.h: which values of a chain are kept for the way back where memory is short. */
#ifndef FUSESIM_PLAN_SEARCH_CHECKPOINTS_H
#define FUSESIM_PLAN_SEARCH_CHECKPOINTS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* A step of the chain: what its values take in memory while they are kept, and what it costs to compute them again. */
typedef struct {
    int64_t bytes;
    double cost;
} fsim_site;

typedef struct {
    const fsim_site *site;
    int sites;
    int64_t total; /* bytes of all of them */
    fsim_arena *a;
} fsim_chain;

/* The chain of these steps, in the order in which they run. site must outlive it; a is for scratch. */
fsim_chain fsim_chain_of(const fsim_site *site, int sites, fsim_arena *a);

/* Of all ways to give values up so that at most `limit` bytes of the chain are in memory at any time, the one that
 * costs least: dropped[i] of each step. Steps that are given up one after the other are computed again together, when
 * the way back needs the last of them; those behind them are in memory no more then. False where nothing fits. */
bool fsim_chain_choose(const fsim_chain *chain, int64_t limit, bool *dropped);

#endif
