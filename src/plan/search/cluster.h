/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h: a partition that changes by merging kernels and can be launched after every step. Greedy strategies are
 * policies on top of it. A primitive that is in several parts has its home in one of them; the others compute it
 * again. */
#ifndef FUSESIM_PLAN_SEARCH_CLUSTER_H
#define FUSESIM_PLAN_SEARCH_CLUSTER_H

#include "plan/price/price.h"

enum { FSIM_MOST_READERS = 64 }; /* a tensor with more readers is not merged or copied into them */

typedef struct {
    fsim_problem *p;
    fsim_arena *a;
    int parts;
    fsim_part *part;              /* an entry with count 0 is empty */
    const char **rule;            /* per part: the rule that created it; NULL */
    struct fsim_holders *holders; /* per primitive */
    int *place, *order;           /* launch order: part order[i] is at place i */
    int *mark, stamp, *stack;
    bool *reaches_memory; /* per primitive: a result is stored, whoever reads it */
} fsim_clusters;

/* start is in launch order; a primitive's home is the first part that lists it. In a. */
fsim_clusters *fsim_clusters_of(fsim_problem *p, const fsim_partition *start, fsim_arena *a);
/* One part for each primitive. */
fsim_partition fsim_singles(fsim_problem *p, fsim_arena *a);
/* The groups of fuse:, and every other primitive alone: legal even where all other plans break fuse:. In a. False
 * where there is no fuse:, or a group of it is no kernel. */
bool fsim_as_asked(fsim_problem *p, fsim_arena *a, fsim_partition *out);

/* The parts that read a result of part x, each once. Returns how many; *list lives in c->a. */
int fsim_users(fsim_clusters *c, int x, int **list);
/* The same for the parts whose results x reads. */
int fsim_makers(fsim_clusters *c, int x, int **list);
/* The same for the parts that have a tensor in common with x. */
int fsim_sharers(fsim_clusters *c, int x, int **list);
/* The part where the primitive has its home; -1: none. */
int fsim_home(const fsim_clusters *c, int node);
/* Must some result of x be stored, whoever reads it? */
bool fsim_must_store(const fsim_clusters *c, int x);

/* The kernel that the parts id[0, count) would be together, with nothing resident in L2. Results of part `dropped`
 * are stored by nobody (-1: no such part). NULL where it can't be one kernel. */
const fsim_kernel *fsim_joined_kernel(fsim_clusters *c, const int *id, int count, int dropped);
/* The same for who wants times, sizes and operators alone: the primitives and tensors of its group may be those of a
 * set that is alike (plan/price/alike.h). */
const fsim_kernel *fsim_joined_like(fsim_clusters *c, const int *id, int count, int dropped);
/* Is there another part that depends on one of them and that another of them depends on? */
bool fsim_interlocked(fsim_clusters *c, const int *id, int count);
/* Merges them into id[0]. They must not be interlocked. */
void fsim_join(fsim_clusters *c, const int *id, int count);
/* Copies x into each of its readers and removes it. fsim_must_store(c, x) must be false. */
void fsim_spread(fsim_clusters *c, int x);

/* Does it swap the last two dimensions? The library's matrix product reads an operand with such a layout directly. */
bool fsim_swaps_matrix(const fsim_node *n);

/* The resulting partition in launch order; rule[i] belongs to part i (rule may be NULL). In a. */
fsim_partition fsim_partition_of(const fsim_clusters *c, fsim_arena *a, const char ***rule);

#endif
