/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h: a partition that changes by joining kernels and can be launched at every step. Greedy strategies are
 * policies over it. A primitive that several parts hold is at home in one of them; the others compute it again. */
#ifndef FUSESIM_PLAN_SEARCH_CLUSTER_H
#define FUSESIM_PLAN_SEARCH_CLUSTER_H

#include "plan/price/price.h"

enum { FSIM_MOST_READERS = 64 }; /* what more read joins nothing and is copied nowhere */

typedef struct {
    fsim_problem *p;
    fsim_arena *a;
    int parts;
    fsim_part *part;              /* count 0: gone */
    const char **rule;            /* per part: what made it; NULL */
    struct fsim_holders *holders; /* per primitive */
    int *place, *order;           /* launch order: part order[i] is at place i */
    int *mark, stamp;
} fsim_clusters;

/* start is in launch order, each primitive's home the first part that lists it. In a. */
fsim_clusters *fsim_clusters_of(fsim_problem *p, const fsim_partition *start, fsim_arena *a);
/* One primitive each. */
fsim_partition fsim_singles(fsim_problem *p, fsim_arena *a);

/* The parts that read what part x makes, each once. Returns how many; *list lives in c->a. */
int fsim_users(fsim_clusters *c, int x, int **list);
/* The same of the parts whose results x reads. */
int fsim_makers(fsim_clusters *c, int x, int **list);
/* The same of the parts that share a tensor with x. */
int fsim_sharers(fsim_clusters *c, int x, int **list);
/* The part that the primitive is at home in; -1: none. */
int fsim_home(const fsim_clusters *c, int node);
/* Is the primitive in part x, at home or as a copy? */
bool fsim_holds(const fsim_clusters *c, int x, int node);
/* Something of x must reach memory whoever reads it. */
bool fsim_must_store(const fsim_clusters *c, int x);

/* The kernel that part[id] for all ids would be, nothing resident; what `gone` makes is stored by nobody (-1: none).
 * NULL when it can't be one. */
const fsim_kernel *fsim_joined_kernel(fsim_clusters *c, const int *id, int count, int dropped);
/* Does another part wait for some of them and some of them for it? */
bool fsim_interlocked(fsim_clusters *c, const int *id, int count);
/* Makes them one, id[0]. Needs: not interlocked. */
void fsim_join(fsim_clusters *c, const int *id, int count);
/* Copies x into each of its users; x is gone. Needs: fsim_must_store says no. */
void fsim_spread(fsim_clusters *c, int x);

/* A swap of the last two dimensions, which a library's matrix product takes as the layout of an operand. */
bool fsim_swaps_matrix(const fsim_node *n);

/* What is left, in launch order; rule[i], if asked for, belongs to part i. In a. */
fsim_partition fsim_partition_of(const fsim_clusters *c, fsim_arena *a, const char ***rule);

#endif
