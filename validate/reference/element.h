/* SPDX-License-Identifier: Apache-2.0 */
/* element.h: reads and writes elements of every dtype, and decides which ones dropout keeps. */
#ifndef FUSESIM_VALIDATE_REFERENCE_ELEMENT_H
#define FUSESIM_VALIDATE_REFERENCE_ELEMENT_H

#include "graph/graph.h"

/* The value of element i. fsim_set_element rounds to nearest even. Beyond the largest number it stores infinity, and
 * NaN for f8e4m3 (OCP's FN, at most 448): nothing saturates. Integers are truncated modulo 2^bits, NaN and
 * infinities become 0; bool is 0 or 1. */
double fsim_element(fsim_dtype t, const void *bytes, int64_t i);
/* Stores value as element i, rounded as above. */
void fsim_set_element(fsim_dtype t, void *bytes, int64_t i, double value);

/* The counter-based generator of dropout: is element i kept, with probability 1 - p? The kernel dialect has the same
 * rule. Philox would take registers that no prediction counts; this mixes the bits of the index (Steele, Lea, Flood,
 * OOPSLA 2014: SplitMix64). In unsigned 64-bit arithmetic, modulo 2^64:
 *   z = (i + 1) * 0x9e3779b97f4a7c15
 *   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9
 *   z = (z ^ z >> 27) * 0x94d049bb133111eb
 *   z = z ^ z >> 31
 *   kept: (float)(z >> 40) * 0x1p-24f >= (float)p
 * i is the linear index in the result. Kept elements are divided by (1 - p). */
bool fsim_dropout_keeps(int64_t i, double p);

#endif
