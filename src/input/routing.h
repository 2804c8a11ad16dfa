/* SPDX-License-Identifier: Apache-2.0 */
/* routing.h: what a router gives the most loaded rank of a mixture of experts. Evenly, every expert has as many rows as
 * the others. Skewed, an expert's load is drawn from x^-alpha on [1, 0.8 tokens]; no expert gets a token twice. */
#ifndef FUSESIM_INPUT_ROUTING_H
#define FUSESIM_INPUT_ROUTING_H

#include <stdbool.h>

typedef struct {
    double tokens, experts, topk, ranks;
    double skew; /* 100 alpha; 0 and 100: even */
} fsim_routing;

enum { FSIM_MOST_EXPERTS = 4096 };

/* Is the routing a skewed one? */
bool fsim_is_skewed(const fsim_routing *r);
/* Skewed: the expected rows of each of the rank's experts into load[FSIM_MOST_EXPERTS]; the number of these. */
int fsim_routed_loads(const fsim_routing *r, double *load);
/* The rank's rows, all experts together: of an even routing a whole number. */
double fsim_routed_rows(const fsim_routing *r);
/* The rank's experts that have any row. */
double fsim_routed_experts(const fsim_routing *r);

#endif
