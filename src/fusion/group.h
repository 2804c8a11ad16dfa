/* SPDX-License-Identifier: Apache-2.0 */
/* group.h: a set of primitives as one kernel, or the reason why it can't be one.
 *
 * Everything is derived by pushing demands up the graph: the kernel's results are wanted at every point of its
 * iteration space; what a primitive is wanted at, its arguments are wanted at through its index maps. Primitives that
 * inline are computed where they are wanted (twice where wanted through two different maps); reductions and
 * contractions are computed once, for their own row or tile, and what wants another row's is refused. */
#ifndef FUSESIM_FUSION_GROUP_H
#define FUSESIM_FUSION_GROUP_H

#include "graph/graph.h"

typedef enum {
#define FSIM_TEMPLATE(id, name, price, emit, residual, compile, line) FSIM_##id,
#include "fusion/template.def"
#undef FSIM_TEMPLATE
    FSIM_TEMPLATE_COUNT
} fsim_template;
extern const char *const fsim_template_names[FSIM_TEMPLATE_COUNT]; /* as in JSON: "pointwise", ... */
extern const char *const fsim_template_lines[FSIM_TEMPLATE_COUNT]; /* one line for people */

/* Longest row that one block reduces by itself; a longer one with fewer rows than a GPU has SMs is a full reduction
 * (two launches). */
enum { FSIM_LONGEST_ROW = 65536 };
enum { FSIM_MAX_VIEWS = 8, FSIM_MAX_PARAMETERS = 480, FSIM_MAX_STAGES = 16 };

typedef enum {
    FSIM_RULE_NONE,
    FSIM_RULE_BOUNDARY,         /* an operator that is a kernel of its own */
    FSIM_RULE_CONVEXITY,        /* would create a cycle through an operator outside */
    FSIM_RULE_CYCLE,            /* two groups that would wait for each other */
    FSIM_RULE_CONNECTED,        /* shares no tensor */
    FSIM_RULE_SPACE,            /* results of different iteration spaces */
    FSIM_RULE_INDEX_MAP,        /* index maps that do not compose, or too many of them */
    FSIM_RULE_GRID_BARRIER,     /* needs every block's result before the first can go on */
    FSIM_RULE_CONTRACTIONS,     /* two contractions in one kernel */
    FSIM_RULE_REDUCED_EPILOGUE, /* a reduction after, or before, a contraction */
    FSIM_RULE_PROLOGUE,         /* an operand's producer that can't be inlined or whose value is needed elsewhere */
    FSIM_RULE_WINDOW,           /* a producer that overlapping windows would recompute */
    FSIM_RULE_ASSEMBLY,         /* a producer of concat, pad or gather */
    FSIM_RULE_SHARED,           /* shared memory per block */
    FSIM_RULE_PARAMETERS,       /* kernel parameters */
    FSIM_RULE_NUMERICS,         /* --numerics strict */
    FSIM_RULE_USER,             /* separate: or materialize: */
    FSIM_RULE_COST,             /* legal, and dearer */
    FSIM_RULE_COUNT
} fsim_rule;
extern const char *const fsim_rule_names[FSIM_RULE_COUNT]; /* as in JSON: "boundary", "convexity", ... */

/* What a refusal's numbers count; of two contractions, why they are not one kernel. */
typedef enum {
#define FSIM_REFUSAL_UNIT(id, text) FSIM_IN_##id,
#include "fusion/refusal.def"
#undef FSIM_REFUSAL_UNIT
    FSIM_REFUSAL_UNITS
} fsim_refusal_unit;
extern const char *const fsim_refusal_units[FSIM_REFUSAL_UNITS]; /* in words; NULL: there is none */

typedef struct {
    fsim_rule rule;
    int a, b;             /* primitives; b is -1 where one alone breaks the rule */
    int through;          /* convexity: the primitive outside; -1 */
    double needed, limit; /* the number and what is allowed, in `unit` */
    fsim_refusal_unit unit;
    bool final; /* no larger set of primitives that holds this one can be one kernel either, whatever it stores */
} fsim_refusal;

/* How much of something a kernel would need and how much it may have, both in `unit`. */
typedef struct {
    double needed, limit;
    fsim_refusal_unit unit;
} fsim_excess;

/* Sets *why: primitives a and b (-1: a alone) break the rule. Always false. */
bool fsim_refuse_pair(fsim_refusal *why, fsim_rule rule, int a, int b, fsim_excess excess);

/* One tensor read from memory. */
typedef struct {
    int tensor;
    const fsim_access *access; /* how its first reader reads it */
    fsim_map *map;             /* distinct maps over the kernel's space (FSIM_READ_MAP), at most FSIM_MAX_VIEWS */
    fsim_map *place; /* of each map: where in the kernel's space its points lie, offset -1: everywhere; NULL: all of
                        them are */
    int maps, room;
    uint64_t branches; /* of a concat's ranges, those that it is for: bit b of each, bit 0: outside of them. A thread is
                          in one of them at a time */
    double repeats;    /* for a producer under pooling windows: times that these want each element; else 0 */
    const fsim_access *window; /* ... and the windows */
    bool derived;              /* access is not the graph's: rows of a producer's argument at places that are data */
    unsigned stages;           /* bit s: wanted between reduction s - 1 and s */
    bool full;                 /* wanted at every point of points x reduced; else once a row */
    bool whole;                /* every element of the tensor is read */
    int64_t bytes;             /* distinct, at most the tensor's */
    int operand; /* of the contraction, 0 or 1, that it is loaded for, in tiles (chained: see fsim_chain_operand); -1 */
    int beside;  /* of an operand: so many maps, the first, are of other reads than its loads */
} fsim_read;

typedef struct {
    int tensor;
    fsim_map map; /* where point (p, r) is stored */
    bool full;    /* one value a point x reduced; else one a row */
} fsim_write;

/* Operands of chained contractions: the first's that belongs to a block's rows, the first's other one, the second's
 * other one. */
typedef enum { FSIM_CHAIN_ROWS, FSIM_CHAIN_FIRST, FSIM_CHAIN_SECOND, FSIM_CHAIN_OPERANDS } fsim_chain_operand;

typedef enum {
    FSIM_AS_WRITTEN,
    FSIM_FOLDED,   /* into the contraction's weights, before the kernel runs: no arithmetic left */
    FSIM_DEFERRED, /* a factor of a whole row: applied to the chain's results instead of the intermediate */
    FSIM_BASE_TWO  /* the exponential of an online softmax: its scale in one multiply-add with the subtraction, then ex2
                    */
} fsim_form;

/* What depends on a reduction of the row, and how. Between chained contractions it decides what may be put right when
 * the reduction's value changes from one tile to the next. */
typedef enum {
    FSIM_FREE,    /* does not depend on a reduction */
    FSIM_ROW,     /* one value a row */
    FSIM_SHIFTED, /* a free value less a row's value */
    FSIM_SCALED,  /* a free value times a row's factor, which may come later */
    FSIM_BOUND    /* needs the reduction's final value */
} fsim_row_kind;

/* A primitive as the kernel computes it. */
typedef struct {
    int node;
    int64_t evaluations; /* points x reduced at which it is computed, re-computation included */
    unsigned stages;
    bool full, prologue;
    bool middle;        /* between chained contractions */
    fsim_row_kind kind; /* .. what its values are */
    int level;          /* reductions of the row before its value exists, the member itself included */
    int operand;        /* prologue: of the contraction, 0 or 1, that it feeds */
    bool clone;         /* another kernel makes it too and is the one that owns it */
    fsim_form form;
    double divergence; /* warps that compute it over the warps that its evaluations fill: ranges shorter than a warp
                          leave lanes idle */
} fsim_member;

typedef struct {
    fsim_template template;
    int members;
    fsim_member *member; /* ascending by primitive */
    int reads, writes;
    fsim_read *read; /* ascending by tensor */
    fsim_write *write;
    int64_t points, reduced; /* the kernel's iteration space */
    int stages;          /* walks of the row that dependent reductions need, plus one; those that run along with another
                            (online.h) need none */
    int anchor;          /* the contraction, pooling or boundary primitive; -1 */
    fsim_map anchor_map; /* contraction: where its point lies in the results' space (strided epilogue) */
    int64_t kept_row_bytes;         /* what must stay on chip for a row to be read once */
    int live;                       /* values live at once at the worst place, those of 8 bytes twice */
    bool recomputes;                /* some primitive is computed more often than it has points */
    bool strict;                    /* --numerics strict: each row is summed by one block, in order */
    int contractions;               /* more than one: chained, or side by side (all read the same first operand) */
    int first;                      /* chained: the first contraction, the anchor being the second; else -1 */
    const struct fsim_joint *joint; /* what makes one kernel of several contractions, or of one with reductions
                                       (fusion/chain.h); NULL where there is no such thing. Lives with member */
    int64_t rows, width;            /* chained: of the intermediate */
    int64_t batch;                  /* chained: rows of one batch share the operands that are not FSIM_CHAIN_ROWS */
    int64_t causal; /* chained: rows and columns of a mask that leaves the tiles above its diagonal out; 0 */
    bool online;    /* chained: row reductions running along, put right tile by tile */
    int64_t
        whole_row; /* contraction: width of the row that its output tile must hold for the reductions behind it; 0 */
    int folded;    /* primitives folded into the contraction's weights */
} fsim_group;

typedef struct {
    const fsim_graph *graph;
    int64_t shared_per_block; /* bytes */
    bool strict;              /* --numerics strict */
} fsim_limits;

/* Primitives that are to be one kernel. */
typedef struct {
    const int *node; /* ascending, each once */
    int count;
    const bool *stored; /* per node: the kernel writes its results to memory. NULL: those that a primitive outside reads
                           and those that the workload asks for */
    const bool *clone;  /* per node: another kernel computes it too, and owns it. NULL: none */
} fsim_selection;

/* The set as one kernel, or false with *why set. Whether it is connected and convex is not asked here (fsim_connected,
 * fsim_convex); whether the kernels of a plan wait for each other in a circle is a property of the whole partition
 * (plan/price/plan.h). Result in a. */
bool fsim_group_of(const fsim_limits *limits, const fsim_selection *set, fsim_arena *a, fsim_group *out,
                   fsim_refusal *why);

/* Where n stands in node[0, count), which ascends; -1. */
int fsim_position(const int *node, int count, int n);
/* Are they connected over tensors that one makes and another reads, or that two read? why names two that are not. */
bool fsim_connected(const fsim_graph *g, const int *node, int count, fsim_arena *a, fsim_refusal *why);
/* No path leaves the set and comes back. why names the ends and the primitive outside. */
bool fsim_convex(const fsim_graph *g, const int *node, int count, fsim_arena *a, fsim_refusal *why);
/* The members of set and all that lies on a path between two of them, ascending, into node. Returns how many. */
int fsim_hull(const fsim_graph *g, const fsim_node_set *set, int *node, fsim_arena *a);
/* Connected, convex, and one kernel. */
bool fsim_legal(const fsim_limits *limits, const int *node, int count, fsim_arena *a, fsim_group *out,
                fsim_refusal *why);

/* A refusal in the user's words. In a. */
const char *fsim_refusal_text(const fsim_graph *g, const fsim_refusal *r, fsim_arena *a);

#endif
