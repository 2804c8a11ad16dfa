/* SPDX-License-Identifier: Apache-2.0 */
/* flash.h: a chain of two contractions in tiles, as the files flash*.c share it.
 *
 * A block keeps some rows of one batch and walks the width of the intermediate. Of each tile it makes the first
 * product's scores, what lies between at (row, column), and adds the scores times the second's operand to its results.
 * Three forms:
 *
 *   free     nothing between is reduced
 *   online   reductions run along: what has been summed of exp(x - maximum) is multiplied by exp(old maximum - new)
 *            whenever the maximum grows; factors of a row come at the end
 *   levels   a tile holds whole rows: any reductions, one after the other
 *
 * What is neither is left to fsim_emit_chain. */
#ifndef FUSESIM_EMIT_FLASH_H
#define FUSESIM_EMIT_FLASH_H

#include "emit/emit.h"
#include "kernel/chain.h"

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
    const fsim_joint *joint;
    fsim_chain_maps maps;
    const fsim_node *first, *second;
    int intermediate; /* tensor */
    fsim_ctype type;
    int levels;   /* reductions before the intermediate exists */
    int *passes;  /* fsim_emitter.passes, while tiles are walked */
    bool *linear; /* holds exp(x - maximum) once as a factor */
    bool *scaled; /* ... and a row's factor that comes later */
    bool online;  /* else levels */
    int peak;     /* member: the maximum that is subtracted; -1 */
    int power;    /* member: exp(x - maximum), where x is what the maximum is of; -1. In base two */
    int kept; /* member that the first pass leaves in the scores, so that the second needs no more than it; -1: none */
    const char **state; /* per reduction: its running value, an element a row */
    bool causal;
    bool tensor;       /* tensor cores */
    const char *dtype; /* of the tiles' elements: f16 bf16 f32 f64 */
    int elem_bytes;
    fsim_chain_layout l;
    int64_t pieces, piece; /* blocks that share a row's width, and the columns of each: flash-decoding; a second launch
                              puts their results together */
    const char *scratch;   /* ... from here: results piece by piece, then each reduction's */
    int64_t batch_rows, batches;
    const char *row_of; /* function: number of a row, counted batch by batch, to its number in the intermediate */
    fsim_map order;
    fsim_flash_tile rows, one, two; /* operands: the rows', the first's other, the second's other */
} fsim_flash;

/* Of a member of the group: its primitive and class, whether it lies between the products, how it depends on the row,
 * reductions before it. */
static inline const fsim_node *fsim_flash_node(const fsim_flash *f, int member)
{
    return fsim_member_node(f->e, member);
}
static inline fsim_class fsim_flash_class(const fsim_flash *f, int member) { return fsim_member_class(f->e, member); }
static inline bool fsim_flash_between(const fsim_flash *f, int member)
{
    return member >= 0 && f->e->group->member[member].middle;
}
static inline fsim_row_kind fsim_flash_kind(const fsim_flash *f, int member)
{
    return f->e->group->member[member].kind;
}
static inline int fsim_flash_level(const fsim_flash *f, int member) { return f->e->group->member[member].level; }
/* The C type of the arithmetic, and how the dialect's functions for it end. */
static inline const char *fsim_flash_c_type(const fsim_flash *f) { return fsim_ctype_names[f->type]; }
static inline const char *fsim_flash_c_suffix(const fsim_flash *f) { return fsim_ctype_suffix[f->type]; }

/* flash_text.c */
/* Lines of text, moved in by `deeper` steps. */
void fsim_flash_put_lines(fsim_flash *f, int deeper, const char *lines);
/* The same of a formatted text. */
void fsim_flash_put(fsim_flash *f, int depth, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A stretch of text that sees nothing of what came before. */
void fsim_flash_begin_scope(fsim_emitter *e);
/* Another walk along the columns of the same rows. */
void fsim_flash_begin_pass(fsim_emitter *e);

/* flash_form.c */
/* Sets online or levels, and of the online form what it keeps. False where the chain has none of the forms. */
bool fsim_flash_choose_form(fsim_flash *f);
/* Does reduction i take in exp(x - maximum), so that it follows the maximum's? */
bool fsim_flash_is_late(const fsim_flash *f, int i);
/* Has member i one value a row? */
bool fsim_flash_is_row(const fsim_flash *f, int i);
/* Are elements between the products stored? */
bool fsim_flash_writes_elements(const fsim_flash *f);

/* flash_operands.c */
/* The operands' elements: rows by (p, k), the first's other by (p0, c; k), the second's other by (p0, j; c). Sets rows,
 * one, two, and the batches. False where one is not an index map. */
bool fsim_flash_place_operands(fsim_flash *f);
/* Is the digit that steps by one among those that are summed up? */
bool fsim_flash_reduced_contiguous(const fsim_map *m);
/* Eight neighbours along the last of these digits, which step by one, on a multiple of eight in memory? */
bool fsim_flash_in_eights(const fsim_flash *f, const fsim_flash_tile *t, bool reduced);
/* May columns that a mask hides from all of a block's rows be left out? Only where they add nothing: exp(-infinity). */
bool fsim_flash_leaves_out(const fsim_flash *f);

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
