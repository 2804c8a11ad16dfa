/* SPDX-License-Identifier: Apache-2.0 */
/* pebbles.h: when values of the forward pass are computed, given up and computed again, as often as it pays: a pebble
 * game over what is in memory. */
#ifndef FUSESIM_PLAN_SEARCH_PEBBLES_H
#define FUSESIM_PLAN_SEARCH_PEBBLES_H

#include "base/arena.h"
#include "base/sum.h"

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t fsim_values; /* bit v: value v */
enum { FSIM_MOST_PEBBLES = 16, FSIM_MOST_EITHER = 4 };

/* A kernel that may run at any time, and again: it reads values and makes others, all of them or some. */
typedef struct {
    int64_t cost; /* ticks */
    fsim_values reads, makes;
} fsim_pebble_maker;

/* A kernel that runs once, in its turn. */
typedef struct {
    fsim_values reads;
    int eithers;
    struct {
        fsim_values one, other; /* it reads all of the one, or all of the other */
    } either[FSIM_MOST_EITHER];
    fsim_sum during, after; /* bytes besides the values: while it runs, and between it and the next */
} fsim_pebble_step;

typedef struct {
    int values;
    fsim_sum bytes[FSIM_MOST_PEBBLES];
    const fsim_pebble_maker *maker;
    int makers;
    const fsim_pebble_step *step;
    int steps;
    fsim_sum before; /* bytes besides the values before the first step */
} fsim_pebble_game;

/* What happens next: maker `maker` makes `set`; or (-1) the next step runs, with `set` in memory; or (-2) `set` is
 * given up. */
typedef struct {
    int maker;
    fsim_values set;
} fsim_pebble_move;

typedef struct {
    int64_t cost;  /* of all runs of makers */
    fsim_sum peak; /* bytes */
    fsim_pebble_move *move;
    int count;
} fsim_pebbling;

/* Is the game small enough to be searched? */
bool fsim_may_pebble(const fsim_pebble_game *game);

/* Of all ways to play the game with at most `limit` bytes in memory at any time, one of least cost, and of those one of
 * least peak. False where there is none, or where go_on (asked now and then) returns false. In a. */
bool fsim_pebble(const fsim_pebble_game *game, fsim_sum limit, bool (*go_on)(const void *), const void *with,
                 fsim_arena *a, fsim_pebbling *out);

#endif
