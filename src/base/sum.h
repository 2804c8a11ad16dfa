/* SPDX-License-Identifier: Apache-2.0 */
/* sum.h: whole numbers that don't overflow when the costs of all kernels of a plan are added up. In 64 bits they would:
 * a kernel time is counted in femtoseconds, and 2^63 of them are 9,223 seconds. */
#ifndef FUSESIM_BASE_SUM_H
#define FUSESIM_BASE_SUM_H

#include <stdint.h>

/* Femtoseconds or bytes of many kernels or tensors together. A term is at most FSIM_TERM_MOST; a workload has at most
 * 2^20 primitives, hence as many kernels, so that sums stay below FSIM_SUM_MOST, and the sum of two sums fits too. */
__extension__ typedef __int128 fsim_sum;
#define FSIM_TERM_MOST ((fsim_sum)1 << 100) /* 40 million years */
#define FSIM_SUM_MOST  ((fsim_sum)1 << 122)

static inline fsim_sum fsim_sum_least(fsim_sum x, fsim_sum y) { return x < y ? x : y; }
static inline fsim_sum fsim_sum_most(fsim_sum x, fsim_sum y) { return x > y ? x : y; }

/* The nearest whole number; FSIM_TERM_MOST where x is larger. x: not below 0, no NaN. */
static inline fsim_sum fsim_sum_term(double x)
{
    return x < 9e18 ? (fsim_sum)__builtin_llrint(x) : x < (double)FSIM_TERM_MOST ? (fsim_sum)x : FSIM_TERM_MOST;
}

/* x in 64 bits; INT64_MAX where it is larger. */
static inline int64_t fsim_sum_int64(fsim_sum x) { return x < INT64_MAX ? (int64_t)x : INT64_MAX; }

enum { FSIM_SUM_DIGITS = 48 };
/* x in decimal digits, in buffer. */
const char *fsim_sum_digits(char buffer[FSIM_SUM_DIGITS], fsim_sum x);

#endif
