/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h: kernels whose threads share rows, as rows.c, rows_reduction.c and chain.c share them. */
#ifndef FUSESIM_EMIT_ROWS_H
#define FUSESIM_EMIT_ROWS_H

#include "emit/emit.h"

/* A kernel under construction. */
typedef struct {
    fsim_emitter *e;
    int64_t rows, width;
    int *level; /* per member: reductions before its value exists */
    int levels;
    int *along;   /* per member: the reduction that runs along with this one, in one pass (fusion/online.h); -1 */
    bool *second; /* per member: it runs along with one */
    int row_threads, rows_per_block;
    int64_t pieces, piece;   /* blocks that share a row, and the elements of each */
    bool band;               /* neighbouring rows are contiguous: lanes run over rows */
    const fsim_joint *joint; /* chained */
    int product;             /* chained: the second contraction's member; -1 */
    const char *scratch;     /* pieces: partial results */
} fsim_rows_work;

/* One reduction of a walk. */
typedef struct {
    int member;
    fsim_ctype type;
    const char *acc, *index; /* index: of the extreme element; NULL */
    int along;               /* member that runs along; -1 */
    const char *sum, *count; /* its sum; elements so far, NULL but for moments */
} fsim_row_reduction;

/* Where a write is in the kernel's space. */
typedef enum { FSIM_AT_ROW, FSIM_AT_ELEMENT, FSIM_AT_RESULT, FSIM_IN_PASSING } fsim_write_place;

/* rows.c */
/* Sets level, levels, along, second. online: reductions run along with others where they can. Returns whether any
 * does. */
bool fsim_rows_find_levels(fsim_rows_work *w, bool online);
/* How the block's threads share its rows. */
void fsim_rows_share_threads(fsim_rows_work *w);
/* Writes that no walk stores are stored where their value is computed. */
void fsim_rows_mark_stored(fsim_rows_work *w);
/* Forgets all that the text before has declared. */
void fsim_rows_begin_kernel(fsim_rows_work *w);
/* Empties the buffers, and forgets what was declared in a walk. */
void fsim_rows_begin_walk(fsim_emitter *e);
/* What is in the buffers as one walk of the row. clause: the host's reductions. */
void fsim_rows_end_walk(fsim_rows_work *w, const char *clause);
/* Walk `level`: its reductions, and what is stored of the row on the way. partial: the results go to scratch memory
 * instead. */
void fsim_rows_walk(fsim_rows_work *w, int level, bool partial);
/* The product whose values a row's array holds, in a walk of its own. */
void fsim_rows_fill_array(fsim_rows_work *w);
/* Where write x is in the kernel's space. */
fsim_write_place fsim_rows_place_of(const fsim_rows_work *w, const fsim_write *x);
/* The full writes that can be stored in the walk of `level`, which is the last where `last`. Returns whether there were
 * any. dry: without storing them. */
bool fsim_rows_store_elements(fsim_rows_work *w, int level, bool last, bool dry);
/* Values of whole rows: by the row's first thread. */
void fsim_rows_store_values(fsim_rows_work *w);

/* rows_reduction.c */
/* Declares the variables of member i's reduction. */
fsim_row_reduction fsim_reduction_start(fsim_rows_work *w, int i);
/* Takes in the element that the walk is at. */
void fsim_reduction_take(fsim_rows_work *w, const fsim_row_reduction *r);
/* The host's clause for the reductions of a walk; one that keeps an index goes in order. */
const char *fsim_reduction_clause(fsim_rows_work *w, const fsim_row_reduction *r, int count);
/* The values of all threads of a row together. */
void fsim_reduction_combine(fsim_rows_work *w, const fsim_row_reduction *r, int count);
/* The value of the whole row, in a variable outside of the walks. */
void fsim_reduction_finish(fsim_rows_work *w, const fsim_row_reduction *r);
/* The names of its variables, three at most: as many partial results has a piece of a row. Returns how many. */
int fsim_reduction_variables(const fsim_row_reduction *r, const char **name);
/* Partial results of a piece of a row, to scratch memory. */
void fsim_reduction_store_partial(fsim_rows_work *w, const fsim_row_reduction *r, int count);
/* One partial result more, from `slot` of scratch memory on: r numbers the pieces of a row. */
void fsim_reduction_merge_partial(fsim_rows_work *w, const fsim_row_reduction *r, int slot);

#endif
