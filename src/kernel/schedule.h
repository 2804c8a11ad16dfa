/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.h: how a kernel is laid out on the GPU: its launch, and how its threads share the work.
 *
 * layout.h makes a schedule by the function that the template's row names. cost/ chooses one for a group and prices it;
 * the schedule is part of fsim_kernel. emit/ writes the same schedule as text, and the launches in program.h follow
 * from it. tests/unit/schedule_test.c compares the two, and lists where and why they may differ. */
#ifndef FUSESIM_KERNEL_SCHEDULE_H
#define FUSESIM_KERNEL_SCHEDULE_H

#include "fusion/group.h"

/* Where a row is kept between loops over it. On a host the caches keep it. */
typedef enum { FSIM_KEEP_NOTHING, FSIM_KEEP_IN_REGISTERS, FSIM_KEEP_IN_SHARED } fsim_keep;

/* The fields of a schedule; fsim_kernel has them too. */
#define FSIM_SCHEDULE_MEMBERS                                                                                          \
    struct {                                                                                                           \
        fsim_template template;                                                                                        \
        int launches;         /* one after the other; the figures below are the first one's */                         \
        int64_t grid;         /* blocks */                                                                             \
        int block, registers; /* threads of a block; registers a thread */                                             \
        int blocks_per_sm;    /* that an SM holds at once (kernel/occupancy.h) */                                      \
        int shared_bytes;     /* of a block, transposing tiles, which the text declares, included */                   \
        int tile_m, tile_n;   /* contractions: rows and columns of a block's tile */                                   \
        int stages;           /* contractions: steps of k that lie in shared memory at once */                         \
        int split_k;          /* contractions: blocks that share the sums of one result; 1: none do */                 \
        int vector;           /* elements that a thread takes at once */                                               \
        int passes;           /* times that a row is read: 1 where it stays on chip */                                 \
        fsim_keep keep;       /* rows: where it stays */                                                               \
        int row_threads;      /* rows: threads that share one */                                                       \
        int rows_per_block;   /* rows: that a block takes side by side */                                              \
        int pieces;           /* rows: blocks that share one */                                                        \
        int turns;            /* rows: how often a block takes rows, one after the other; 0 and 1: once */             \
        bool band;            /* rows: a block has FSIM_BAND_ROWS neighbouring ones; where rows are columns, or */     \
                              /* blocks share them, a lane has one, otherwise lanes go along it */                     \
        bool alone;           /* rows: a block asks for more shared memory than it uses, so that the SM has no */      \
                              /* other and L2 holds the rows under way */                                              \
    }
typedef FSIM_SCHEDULE_MEMBERS fsim_schedule;

#endif
