/* SPDX-License-Identifier: Apache-2.0 */
/* serving_cache.h: what a call of a serving stack reads of its cached keys and values: all of the tokens, or those of a
 * window; as many of each request, or the call's own lengths (graph/serving_option.def). */
#ifndef FUSESIM_VENDOR_SERVING_CACHE_H
#define FUSESIM_VENDOR_SERVING_CACHE_H

#include "graph/graph.h"

/* The call, its `s`, and the keys of a step. */
typedef struct {
    const fsim_serving_call *call;
    double s, keys;
} fsim_cache;

/* Tokens that a request reads, in the mean. Pages longer than those of the measured rows are read whole. */
double fsim_cache_tokens(const fsim_cache *c);
/* Bytes of a request's block table beyond those of the measured rows, in the mean; below 0 where pages are longer. */
double fsim_cache_table_bytes(const fsim_cache *c);
/* Steps of the longest request. */
double fsim_cache_most_steps(const fsim_cache *c);

/* Steps of one of so many parts: of a request in the mean, and of the longest one in a kernel's last round of blocks,
 * where requests come in any order; that of the longest request is a bound below for the whole kernel. */
typedef struct {
    double mean, last, most;
} fsim_cache_steps;
/* rounds: of blocks, 1 or more. */
fsim_cache_steps fsim_cache_steps_of(const fsim_cache *c, double parts, double rounds);

/* Steps from the first key that a row of queries up to `end` sees to the last, where the row begins at query `begin`.
 */
double fsim_window_steps(double window, double begin, double end, double keys);

#endif
