/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h: kernels in which threads share rows; shared by rows.c, rows_reduction.c and chain.c. */
#ifndef FUSESIM_EMIT_ROWS_H
#define FUSESIM_EMIT_ROWS_H

#include "emit/emit.h"

/* A kernel being written. */
typedef struct {
    fsim_emitter *e;
    int64_t rows, width;
    int *level; /* per member: how many reductions its value depends on */
    int levels;
    int *along;   /* per member: the reduction that runs along with this one in the same pass (fusion/online.h); -1 */
    bool *second; /* per member: it runs along with another one */
    int row_threads, rows_per_block;
    int64_t pieces, piece;   /* blocks that share a row, and elements for each */
    fsim_text phases;        /* a walk's loops over lanes that reduce stretches of the row */
    bool band;               /* neighbouring rows are contiguous: lanes are rows */
    const fsim_joint *joint; /* chained */
    int product;             /* chained: the second contraction's member; -1 */
    const char *scratch;     /* pieces: partial results */
    struct fsim_row_sum {
        const char *name, *parts; /* a block's part of the sum, and those of all blocks in scratch memory */
        fsim_ctype type;
    } * sum; /* per member: a sum over all rows */
} fsim_rows_work;

/* One reduction of a walk. */
typedef struct {
    int member;
    fsim_ctype type;
    const char *acc, *index; /* index: of the extreme element; NULL */
    int along;               /* member that runs along; -1 */
    const char *sum, *count; /* its sum; the number of elements so far (moments only, otherwise NULL) */
} fsim_row_reduction;

/* Where a write is in the kernel's space. */
typedef enum {
    FSIM_AT_ROW,
    FSIM_AT_STRETCH,
    FSIM_AT_ELEMENT,
    FSIM_AT_RESULT,
    FSIM_IN_PASSING,
    FSIM_AFTERWARDS
} fsim_write_place;

/* rows.c */
/* Sets level, levels, along, second. online: reductions may run along with others. Returns whether one does. */
bool fsim_rows_find_levels(fsim_rows_work *w, bool online);
/* How the block's threads share its rows. */
void fsim_rows_share_threads(fsim_rows_work *w);
/* Marks writes that no walk stores: they are stored where their value is computed. */
void fsim_rows_mark_stored(fsim_rows_work *w);
/* Forgets everything that the text before has declared. */
void fsim_rows_begin_kernel(fsim_rows_work *w);
/* Empties the buffers, and forgets what was declared in a walk. */
void fsim_rows_begin_walk(fsim_emitter *e);
/* Writes the contents of the buffers as one walk over the row. clause: the host's reductions. */
void fsim_rows_end_walk(fsim_rows_work *w, const char *clause);
/* Writes walk `level`: its reductions, and results that are stored on the way. partial: results go to scratch memory
 * instead. */
void fsim_rows_walk(fsim_rows_work *w, int level, bool partial);
/* The text of all walks, where the values of member `array` of a row are in the array `name`, which is filled before.
 */
fsim_text fsim_rows_of_array(fsim_rows_work *w, int array, const char *name);
/* Writes the product whose results are in a row's array, in a walk of its own. */
void fsim_rows_fill_array(fsim_rows_work *w);
/* Where write x is in the kernel's space. */
fsim_write_place fsim_rows_place_of(const fsim_rows_work *w, const fsim_write *x);
/* Stores the results with a value for each point that can be stored in the walk of `level`; last: it is the last
 * walk. Returns whether there were any. dry: without storing them. */
bool fsim_rows_store_elements(fsim_rows_work *w, int level, bool last, bool dry);
/* Stores values of whole rows, by the first thread of each row. */
void fsim_rows_store_values(fsim_rows_work *w);

/* rows_stretch.c: reductions of stretches of a row. */
/* Writes the loops over lanes that reduce the stretches which the walk of `level` needs; last: it is the last walk. */
void fsim_stretches_reduce(fsim_rows_work *w, int level, bool last);
/* Forgets their values: the walk is over. */
void fsim_stretches_end(fsim_rows_work *w);

/* rows_turns.c: sums over all rows, beside what is computed for each. */
/* Gives each such member its variable and its scratch memory, for `blocks` blocks. */
void fsim_turns_start(fsim_rows_work *w, int64_t blocks);
/* Adds what the walk of `level` computes to the sums of columns; dry: without writing it. Returns whether any is
 * there. */
bool fsim_turns_take_columns(fsim_rows_work *w, int level, bool dry);
/* Adds a row's values to totals. Returns whether there are any. */
bool fsim_turns_take_totals(fsim_rows_work *w);
/* The host's clause for the walk of `level`, which has `clause` without the sums. */
const char *fsim_turns_clause(const fsim_rows_work *w, int level, const char *clause);
/* A part of the second launch, from block `first` on: the sums with `width` results, of which there are so many parts,
 * and what is computed from them. */
void fsim_turns_parts(fsim_rows_work *w, int64_t width, int64_t first, int64_t parts);
/* Writes both entry points around the text that a row takes. */
void fsim_turns_finish(fsim_rows_work *w, const fsim_text *body, int64_t blocks);

/* totals.c: sums over all tiles of a contraction, or over those of each column. Members that are such sums get their
 * variables and their scratch memory, for `blocks` blocks and so many tiles of a column. */
void fsim_totals_start(fsim_rows_work *w, int64_t blocks, int64_t down);
/* Declares the variables of a thread of a tile of this kind. */
void fsim_totals_declare(fsim_rows_work *w, const char *kind);
/* Adds what the sums have at a place of the kernel's points. */
void fsim_totals_take(fsim_rows_work *w, const fsim_where *point, const char *kind);
/* The host's clause for lanes that do. */
const char *fsim_totals_clause(const fsim_rows_work *w);
/* Leaves a block's parts of the sums in scratch memory. */
void fsim_totals_leave(fsim_rows_work *w, const char *kind);
/* Writes the launch that adds up the parts of all blocks. */
void fsim_totals_finish(fsim_rows_work *w, int64_t blocks, int64_t down);

/* rows_reduction.c */
/* Declares the variables of member i's reduction. */
fsim_row_reduction fsim_reduction_start(fsim_rows_work *w, int i);
/* Adds the walk's current element. */
void fsim_reduction_take(fsim_rows_work *w, const fsim_row_reduction *r);
/* The host's clause for the reductions of a walk; a reduction with an index runs in order. */
const char *fsim_reduction_clause(fsim_rows_work *w, const fsim_row_reduction *r, int count);
/* Combines the values of all threads of a row. */
void fsim_reduction_combine(fsim_rows_work *w, const fsim_row_reduction *r, int count);
/* The value of the whole row, in a variable outside of the walks. */
void fsim_reduction_finish(fsim_rows_work *w, const fsim_row_reduction *r);
/* The names of its variables, at most three; a piece of a row has as many partial results. Returns how many. */
int fsim_reduction_variables(const fsim_row_reduction *r, const char **name);
/* Stores the partial results of a piece of a row in scratch memory. */
void fsim_reduction_store_partial(fsim_rows_work *w, const fsim_row_reduction *r, int count);
/* Adds one partial result, from `slot` of scratch memory on: r numbers the pieces of a row. */
void fsim_reduction_merge_partial(fsim_rows_work *w, const fsim_row_reduction *r, int slot);

#endif
