/* SPDX-License-Identifier: Apache-2.0 */
/* optimiser.h: minimisation without derivatives by NLopt's Subplex (T. Rowan, 1990, as reimplemented by S. G.
 * Johnson), which works with kinks and steps in the objective. The library is loaded on first use, so that the
 * program starts without it. */
#ifndef FUSESIM_EVIDENCE_OPTIMISER_H
#define FUSESIM_EVIDENCE_OPTIMISER_H

#include <stdbool.h>

typedef double fsim_target(const double *x, void *with);

/* What to minimise: f(x, with) over low[i] <= x[i] <= high[i], i < n. */
typedef struct {
    fsim_target *f;
    void *with;
    int n;
    const double *low, *high;
    const double *step; /* initial step sizes */
    int evaluations;    /* most calls of f */
} fsim_minimum;

/* Moves x[0, n) to a minimum of f, whose value is *least. Ends after `evaluations` calls, or when steps change f by
 * less than 1e-5 of its value. Equal calls give equal results. False with *why set where NLopt (Debian: libnlopt0)
 * can't be loaded. */
bool fsim_minimise(const fsim_minimum *of, double *x, double *least, const char **why);

#endif
