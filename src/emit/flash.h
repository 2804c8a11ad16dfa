/* SPDX-License-Identifier: Apache-2.0 */
/* flash.h: what the files flash*.c share. They write a chain of two contractions in tiles (layout: kernel/chained.h).
 *
 * A block keeps some rows of one batch and walks the width of the intermediate, a tile of columns at a time. For
 * each tile it computes the first product's scores, then the operators between the two products at each (row,
 * column), then adds the scores times the second product's operand to its results. fsim_emit_chain writes the chains
 * that have none of the forms in kernel/chained.h. */
#ifndef FUSESIM_EMIT_FLASH_H
#define FUSESIM_EMIT_FLASH_H

#include "emit/emit.h"
#include "kernel/chained.h"

/* An operand's tile. */
typedef struct {
    fsim_chain_operand which;
    bool along;           /* elements beside each other follow k (operands of the first product) or the columns of the
                             intermediate (operand of the second) */
    bool copied, widened; /* as in fsim_chained_tile */
    fsim_where at;
    int tensor;
} fsim_flash_tile;

/* A chain while its text is written: what was decided about it, and the names that the text has declared. */
typedef struct {
    fsim_emitter *e;
    const fsim_chained *c;
    fsim_chained_layout layout;
    const char *
        *state; /* per member: a reduction's running value, an array with an element for each of a thread's rows */
    const char *dtype;   /* type of the tiles' elements: f16 bf16 f32 f64 */
    const char *scratch; /* where several blocks share a row: the memory for their partial results, then for their
                            partial reductions */
    bool meeting;        /* parts to combine are those of warps that share columns, not of blocks that share rows */
    const char *row_of;  /* name of the function from a row's number, counted batch by batch, to its number in the
                            intermediate */
    fsim_flash_tile rows, one,
        two; /* the first product's operand with the rows; its other operand; the second product's other operand */
} fsim_flash;

/* The C type of the arithmetic, and the suffix of the dialect's functions for it. */
static inline const char *fsim_flash_c_type(const fsim_flash *f) { return fsim_ctype_names[f->c->type]; }
static inline const char *fsim_flash_c_suffix(const fsim_flash *f) { return fsim_ctype_suffix[f->c->type]; }

/* flash_text.c */
/* Appends lines, indented by `deeper` more steps. */
void fsim_flash_put_lines(fsim_flash *f, int deeper, const char *lines);
/* The same for formatted text. */
void fsim_flash_put(fsim_flash *f, int depth, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Starts a scope: no variable declared before is used in it. */
void fsim_flash_begin_scope(fsim_emitter *e);
/* Starts another loop over the columns of the same rows: variables declared outside of the loop stay known. */
void fsim_flash_begin_pass(fsim_emitter *e);

/* flash_middle.c */
/* A reduction's name in the dialect: SUM MAX MIN PROD. */
const char *fsim_flash_combine_name(const fsim_flash *f, int member);
/* An expression that combines two values of the reduction. */
const char *fsim_flash_joined(fsim_flash *f, const fsim_node *n, const char *x, const char *y);
/* The running value of reduction i in the row at hand, as an expression. */
const char *fsim_flash_state(fsim_flash *f, int i);
/* Declares the running values of all reductions, and names them in f->state. */
void fsim_flash_declare_states(fsim_flash *f);
/* Writes the operators between the products: they turn a tile of scores into a tile of the intermediate, in place. */
void fsim_flash_emit_middle(fsim_flash *f);

/* flash_results.c */
/* Where several blocks share a row: stores a block's partial results, which the second launch combines. */
void fsim_flash_emit_piece(fsim_flash *f);
/* Where warps share the columns of their rows: combines what they have, so that each has all of it. */
void fsim_flash_emit_meeting(fsim_flash *f);
/* Writes the final values of the reductions and then the results, row by row. */
void fsim_flash_emit_results(fsim_flash *f);

/* flash_kernel.c */
/* Writes the kernel, and the second launch where several blocks share a row. All other fields of f must be set. */
void fsim_flash_emit_kernel(fsim_flash *f);

#endif
