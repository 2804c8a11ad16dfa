/* SPDX-License-Identifier: Apache-2.0 */
/* optimiser.h: minimisation without derivatives: NLopt's Subplex (T. Rowan, 1990, as reimplemented by S. G. Johnson),
 * which takes objectives with kinks and steps. The library is loaded when it is first needed, so that the program
 * starts without it. */
#ifndef FUSESIM_EVIDENCE_OPTIMISER_H
#define FUSESIM_EVIDENCE_OPTIMISER_H

#include <stdbool.h>

typedef double fsim_target(const double *x, void *with);

/* Moves x[0, n) within low[i] <= x[i] <= high[i] to where f is small; step[i]: the first steps. Ends after
 * `evaluations` calls or when steps no longer change f by 1e-5 of itself. The same calls give the same result. False
 * with *why set when NLopt (Debian: libnlopt0) can't be loaded. */
bool fsim_minimise(int n, const double *low, const double *high, const double *step, int evaluations, fsim_target *f,
                   void *with, double *x, double *least, const char **why);

#endif
