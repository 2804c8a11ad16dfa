/* SPDX-License-Identifier: Apache-2.0 */
/* flash.h: a chain of two contractions in tiles (kernel/chained.h) as text, as the files flash*.c share it.
 *
 * A block keeps some rows of one batch and walks the width of the intermediate. Of each tile it makes the first
 * product's scores, what lies between at (row, column), and adds the scores times the second's operand to its results.
 * What has none of the forms is left to fsim_emit_chain. */
#ifndef FUSESIM_EMIT_FLASH_H
#define FUSESIM_EMIT_FLASH_H

#include "emit/emit.h"
#include "kernel/chained.h"

/* An operand's tile. */
typedef struct {
    fsim_chain_operand which;
    bool along;  /* of the first product's tile: k is contiguous in it; of the second's: the place in the row is */
    bool copied; /* 16 bytes at a time */
    fsim_where at;
    int tensor;
} fsim_flash_tile;

/* A chain: what is decided of it, and what its text has declared. */
typedef struct {
    fsim_emitter *e;
    const fsim_chained *c;
    fsim_chained_layout layout;
    const char **state;  /* per reduction: its running value, an element a row */
    const char *dtype;   /* of the tiles' elements: f16 bf16 f32 f64 */
    const char *scratch; /* of pieces: results piece by piece, then each reduction's */
    const char *row_of;  /* function: number of a row, counted batch by batch, to its number in the intermediate */
    fsim_flash_tile rows, one, two; /* operands: the rows', the first's other, the second's other */
} fsim_flash;

/* The C type of the arithmetic, and how the dialect's functions for it end. */
static inline const char *fsim_flash_c_type(const fsim_flash *f) { return fsim_ctype_names[f->c->type]; }
static inline const char *fsim_flash_c_suffix(const fsim_flash *f) { return fsim_ctype_suffix[f->c->type]; }

/* flash_text.c */
/* Lines of text, moved in by `deeper` steps. */
void fsim_flash_put_lines(fsim_flash *f, int deeper, const char *lines);
/* The same of a formatted text. */
void fsim_flash_put(fsim_flash *f, int depth, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A stretch of text that sees nothing of what came before. */
void fsim_flash_begin_scope(fsim_emitter *e);
/* Another walk along the columns of the same rows. */
void fsim_flash_begin_pass(fsim_emitter *e);

/* flash_middle.c */
/* A reduction's name in the dialect: SUM MAX MIN PROD. */
const char *fsim_flash_combine_name(const fsim_flash *f, int member);
/* Two values of a reduction's as one. */
const char *fsim_flash_joined(fsim_flash *f, const fsim_node *n, const char *x, const char *y);
/* Running value of reduction i in a row. */
const char *fsim_flash_state(fsim_flash *f, int i);
/* Declares the running values of all reductions, and names them in f->state. */
void fsim_flash_declare_states(fsim_flash *f);
/* From a tile of the first product's scores to one of the intermediate. */
void fsim_flash_emit_middle(fsim_flash *f);

/* flash_results.c */
/* What a block has of its rows, for the launch that puts the pieces together. */
void fsim_flash_emit_piece(fsim_flash *f);
/* Final values of the reductions, row by row, then of the results. */
void fsim_flash_emit_results(fsim_flash *f);

/* flash_kernel.c */
/* The kernel, and the second launch where there are pieces, once all else of f is set. */
void fsim_flash_emit_kernel(fsim_flash *f);

#endif
