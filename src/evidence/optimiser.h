/* SPDX-License-Identifier: Apache-2.0 */
/* optimiser.h: minimisation without derivatives: NLopt's Subplex (T. Rowan, 1990, as reimplemented by S. G. Johnson),
 * which takes objectives with kinks and steps. The library is loaded when it is first needed, so that the program
 * starts without it. */
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
    const double *step; /* the first steps */
    int evaluations;    /* calls of f at most */
} fsim_minimum;

/* Moves x[0, n) to where f is small, *least. Ends after `evaluations` calls or when steps no longer change f by 1e-5 of
 * itself. The same calls give the same result. False with *why set when NLopt (Debian: libnlopt0) can't be loaded. */
bool fsim_minimise(const fsim_minimum *of, double *x, double *least, const char **why);

#endif
