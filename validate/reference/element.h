/* SPDX-License-Identifier: Apache-2.0 */
/* element.h: elements of every dtype as they lie in memory, and which of them dropout keeps. */
#ifndef FUSESIM_VALIDATE_REFERENCE_ELEMENT_H
#define FUSESIM_VALIDATE_REFERENCE_ELEMENT_H

#include "graph/graph.h"

/* A value of dtype at index i of bytes, and how one is put there: rounded to nearest even; beyond the largest number
 * infinity, f8e4m3 (OCP's FN, at most 448) NaN: nothing saturates. Integers: towards zero, modulo 2^bits; what is no
 * number is 0. bool is 0 or 1. */
double fsim_element(fsim_dtype t, const void *bytes, int64_t i);
/* Puts value at index i of bytes, rounded as above. */
void fsim_set_element(fsim_dtype t, void *bytes, int64_t i, double value);

/* The counter-based generator of dropout: is element i kept with probability 1 - p? The same rule stands in the kernel
 * dialect. Philox would cost registers that no prediction counts; this is a 64-bit mix of the index (Steele, Lea,
 * Flood, OOPSLA 2014: SplitMix64). With unsigned 64-bit arithmetic, modulo 2^64: z = (i + 1) * 0x9e3779b97f4a7c15 z =
 * (z ^ z >> 30) * 0xbf58476d1ce4e5b9 z = (z ^ z >> 27) * 0x94d049bb133111eb z = z ^ z >> 31 kept: (float)(z >> 40) *
 * 0x1p-24f >= (float)p i is the linear index in the result. What is kept is divided by (1 - p). */
bool fsim_dropout_keeps(int64_t i, double p);

#endif
