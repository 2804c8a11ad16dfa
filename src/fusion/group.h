/* SPDX-License-Identifier: Apache-2.0 */
/* group.h: a kernel as a set of primitives: its template, what it reads and writes and where, what each member is
 * computed for; and the reasons why a set can't be one. fuse.h makes it. */
#ifndef FUSESIM_FUSION_GROUP_H
#define FUSESIM_FUSION_GROUP_H

#include "graph/graph.h"

typedef enum {
#define FSIM_TEMPLATE(id, name, brief, has, schedule, price, emit, residual, compile, line) FSIM_##id,
#include "fusion/template.def"
#undef FSIM_TEMPLATE
    FSIM_TEMPLATE_COUNT
} fsim_template;
extern const char *const fsim_template_names[FSIM_TEMPLATE_COUNT]; /* as in JSON: "pointwise", ... */
extern const char *const fsim_template_brief[FSIM_TEMPLATE_COUNT]; /* for narrow tables */
extern const char *const fsim_template_lines[FSIM_TEMPLATE_COUNT]; /* descriptions for users */

/* The longest row that one block reduces alone. Longer rows are full reductions (two launches) where there are
 * fewer of them than SMs. */
enum { FSIM_LONGEST_ROW = 65536 };
enum { FSIM_ROW_STATIC = 2048 };  /* bytes of shared memory of a row kernel's own reductions, at most */
enum { FSIM_STRETCH_VECTOR = 4 }; /* neighbouring elements of a stretch of a row that a thread takes, at least */
enum { FSIM_MAX_VIEWS = 8, FSIM_MAX_PARAMETERS = 480, FSIM_MAX_STAGES = 16 };

typedef enum {
    FSIM_RULE_NONE,
    FSIM_RULE_BOUNDARY,         /* an operator that is a kernel of its own */
    FSIM_RULE_IN_PLACE,         /* a write in place beside what reads or makes the old value */
    FSIM_RULE_CONVEXITY,        /* would create a cycle through an operator outside */
    FSIM_RULE_CYCLE,            /* two groups wait for each other */
    FSIM_RULE_CONNECTED,        /* shares no tensor */
    FSIM_RULE_SPACE,            /* results of different iteration spaces */
    FSIM_RULE_INDEX_MAP,        /* index maps that do not compose, or too many of them */
    FSIM_RULE_GRID_BARRIER,     /* a block needs results of all other blocks before it can continue */
    FSIM_RULE_CONTRACTIONS,     /* two contractions in one kernel */
    FSIM_RULE_REDUCED_EPILOGUE, /* a reduction after, or before, a contraction */
    FSIM_RULE_PROLOGUE, /* the producer of an operand that can't be inlined, or whose result is needed elsewhere too */
    FSIM_RULE_WINDOW,   /* overlapping windows would compute a producer several times */
    FSIM_RULE_ASSEMBLY, /* a producer of concat, pad or gather that can't be inlined */
    FSIM_RULE_SHARED,   /* shared memory per block */
    FSIM_RULE_PARAMETERS, /* kernel parameters */
    FSIM_RULE_NUMERICS,   /* --numerics strict */
    FSIM_RULE_USER,       /* separate: or materialize: */
    FSIM_RULE_COST,       /* legal, but the plan is faster without it */
    FSIM_RULE_COUNT
} fsim_rule;
extern const char *const fsim_rule_names[FSIM_RULE_COUNT]; /* as in JSON: "boundary", "convexity", ... */

/* The unit of a refusal's two numbers. For two contractions: why they can't share a kernel. */
typedef enum {
#define FSIM_REFUSAL_UNIT(id, text) FSIM_IN_##id,
#include "fusion/refusal.def"
#undef FSIM_REFUSAL_UNIT
    FSIM_REFUSAL_UNITS
} fsim_refusal_unit;
extern const char *const fsim_refusal_units[FSIM_REFUSAL_UNITS]; /* in words; NULL: no unit */

typedef struct {
    fsim_rule rule;
    int a, b;             /* primitives; b is -1 where one alone breaks the rule */
    int through;          /* convexity: the primitive outside the set; otherwise -1 */
    double needed, limit; /* what a kernel would need, and what it may have */
    fsim_refusal_unit unit;
    bool final; /* the same holds for every larger set, whatever it stores */
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
    const fsim_access *access; /* how its first reader reads it; of those without a map, the one that takes most */
    bool unmapped;             /* some reader has no map (window, gather, scatter): it takes what `access` says */
    fsim_map *map;             /* distinct maps over the kernel's space (FSIM_READ_MAP), at most FSIM_MAX_VIEWS */
    fsim_map *place; /* per map: where in the kernel's space its points lie; offset -1: it covers the space. NULL: all
                        maps do */
    int maps, room;
    uint64_t branches; /* bit b: range b of a concat reads it; bit 0: it is read outside of ranges. A thread is in one
                          range at a time */
    double repeats;    /* read by a producer under pooling windows: how many windows need each element; otherwise 0 */
    const fsim_access *window; /* and those windows */
    bool derived;              /* access is not the graph's: rows chosen by data of a producer's argument */
    unsigned stages;           /* bit s: read between reductions s - 1 and s of a row */
    bool full;                 /* read at every point of points x reduced; otherwise once for each row */
    bool whole;                /* every element of the tensor is read */
    int64_t bytes;             /* distinct ones, at most the tensor's */
    int operand; /* the operand of the contraction (0 or 1; in a chain an fsim_chain_operand) that is loaded from it in
                    tiles; -1: none */
    int other_maps; /* of an operand: map[0, other_maps) are reads that are not its tile loads */
} fsim_read;

typedef struct {
    int tensor;
    fsim_map map; /* element where point (p, r) is stored */
    bool full;    /* one value for each point of points x reduced; otherwise one for each row */
} fsim_write;

/* Operands of chained contractions: the one of the first that belongs to a block's rows, the other one of the
 * first, the other one of the second. */
typedef enum { FSIM_CHAIN_ROWS, FSIM_CHAIN_FIRST, FSIM_CHAIN_SECOND, FSIM_CHAIN_OPERANDS } fsim_chain_operand;

typedef enum {
    FSIM_AS_WRITTEN,
    FSIM_FOLDED,   /* into the contraction's weights, before the kernel runs: the kernel does not compute it */
    FSIM_DEFERRED, /* a factor of a whole row: applied to the results of the chain, not to the intermediate */
    FSIM_BASE_TWO  /* the exponential of an online softmax as ex2; its scale is part of the multiply-add that subtracts
                      the maximum */
} fsim_form;

/* How a value depends on a reduction of its row. In a chain the value of a reduction changes from tile to tile,
 * and this says whether earlier results can be corrected. */
typedef enum {
    FSIM_FREE,    /* independent of any reduction */
    FSIM_ROW,     /* the same for the whole row */
    FSIM_SHIFTED, /* an independent value minus a value of the row */
    FSIM_SCALED,  /* an independent value times a factor of the row: the factor can be applied later */
    FSIM_BOUND    /* needs the final value of the reduction */
} fsim_row_kind;

/* A primitive as the kernel computes it. */
typedef struct {
    int node;
    int64_t evaluations; /* points x reduced at which it is computed, recomputation included */
    unsigned stages;
    bool full, prologue;
    bool middle;        /* between chained contractions */
    fsim_row_kind kind; /* middle: what its values depend on */
    int level;          /* how many reductions of the row its value depends on, itself included */
    int operand;        /* prologue: the operand of the contraction (0 or 1) that it feeds */
    bool clone;         /* another kernel computes it too, and that one owns it */
    bool inner;         /* a reduction of a stretch of the row */
    bool across;        /* a sum over all rows: complete when all blocks are */
    bool past;          /* computed from such sums */
    fsim_form form;
    double divergence; /* warps that compute it, over the warps that its evaluations would fill. Above 1 where ranges
                          are shorter than a warp and leave lanes idle */
} fsim_member;

typedef struct {
    fsim_template template;
    int members;
    fsim_member *member; /* ascending by primitive */
    int reads, writes;
    fsim_read *read; /* ascending by tensor */
    fsim_write *write;
    int64_t points, reduced; /* the kernel's iteration space */
    int stages; /* times that a row is walked, plus one: reductions that depend on each other need a walk each, except
                   those that run along with another (online.h) */
    int anchor; /* the contraction, pooling or boundary primitive; -1 */
    fsim_map anchor_map;    /* contraction: its point to the point of the results (an epilogue may be strided) */
    int64_t kept_row_bytes; /* bytes of a row that must stay on chip so that it is read from memory once */
    int live; /* registers for values, at the point of the kernel where most are in use; values of 8 bytes count twice
               */
    bool recomputes;                /* some primitive is computed more often than it has points */
    bool strict;                    /* --numerics strict: one block sums each row, in order */
    int contractions;               /* more than one: a chain, or siblings that read the same first operand */
    int first;                      /* chain: the first contraction (the anchor is the second); otherwise -1 */
    const struct fsim_joint *joint; /* how several contractions, or one with reductions, share the kernel
                                       (fusion/chain.h); NULL: not such a kernel. Same lifetime as member */
    int64_t rows, width;            /* chain: shape of the intermediate */
    int64_t batch;  /* chain: number of groups of rows; rows of a group share the operands other than FSIM_CHAIN_ROWS */
    int64_t causal; /* chain: side of the causal mask, whose upper tiles are skipped; 0: no mask */
    bool online;    /* chain: row reductions run along with the tiles, and results are corrected after each */
    int64_t stretch;   /* rows: length of the stretches of a row that some reductions take, each for itself; 0: none */
    int64_t whole_row; /* contraction: length of the rows that its output tile must hold for the reductions that follow;
                          0: none */
    int across;        /* sums over all rows beside the reductions of each row; contraction: over all of its tiles */
    int columns;       /* of them, those with a sum for each place in a row; the others add a value of each row */
    int folded;        /* primitives folded into the contraction's weights */
    const fsim_serving_call *call; /* library call of a serving stack: which; NULL */
    int listed,
        lists; /* its points are those of `listed` tensors (fsim_attrs), and it walks so many lists of them; 0 */
} fsim_group;

/* What an answer about a set rests on, beside the graph and the numerics: it is the same on every GPU whose blocks have
 * so many bytes of shared memory, and, once refused for want of them, on those with exactly as many. */
typedef struct {
    int64_t shared_bytes;
    bool refused;
} fsim_rests_on;

typedef struct fsim_walks fsim_walks; /* fusion/walks.h */

typedef struct {
    const fsim_graph *graph;
    int64_t shared_per_block; /* bytes */
    bool strict;              /* --numerics strict */
    fsim_rests_on *rests_on;  /* is added to; NULL: nobody asks */
    fsim_walks *walks;        /* remembers what is between contractions of the graph; NULL: each is looked at anew */
} fsim_limits;

/* Notes whether a block has room for so many bytes, and returns it. */
static inline bool fsim_note_room(const fsim_limits *l, bool has_room, int64_t bytes)
{
    if (l->rests_on && has_room && bytes > l->rests_on->shared_bytes)
        l->rests_on->shared_bytes = bytes;
    if (l->rests_on && !has_room)
        l->rests_on->refused = true;
    return has_room;
}

/* Primitives that are to be one kernel. */
typedef struct {
    const int *node; /* ascending, each once */
    int count;
    const bool *stored; /* per node: the kernel writes its results to memory. NULL: those that a primitive outside reads
                           and those that the workload asks for */
    const bool *clone;  /* per node: another kernel computes it too, and owns it. NULL: none */
} fsim_selection;

/* Position of primitive n among the group's members, or -1. */
int fsim_member_of(const fsim_group *o, int n);
/* The member that makes the tensor, or -1. */
int fsim_member_that_makes(const fsim_graph *g, const fsim_group *o, int tensor);

/* A refusal in the user's words. In a. */
const char *fsim_refusal_text(const fsim_graph *g, const fsim_refusal *r, fsim_arena *a);

#endif
