/* SPDX-License-Identifier: Apache-2.0 */
/* kept_maps.h: lists of index maps that groups have, each kept once: many sets read a tensor in the same way. */
#ifndef FUSESIM_PLAN_PRICE_KEPT_MAPS_H
#define FUSESIM_PLAN_PRICE_KEPT_MAPS_H

#include "base/arena.h"
#include "graph/map.h"

typedef struct fsim_kept_maps fsim_kept_maps;

/* An empty table. It and its lists live in a. */
fsim_kept_maps *fsim_kept_maps_new(fsim_arena *a);
/* A list of the same maps, which nobody may change. */
fsim_map *fsim_keep_maps(fsim_kept_maps *t, const fsim_map *map, int count);

#endif
