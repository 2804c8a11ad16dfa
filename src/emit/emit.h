/* SPDX-License-Identifier: Apache-2.0 */
/* emit.h: what the files of emit/ share: the text of a kernel under construction, and the values in it.
 *
 * A value is asked for at a place: a tensor's element as an index map over the variables that the text has at that
 * point. It comes from memory, from a variable that holds it already, or from the primitive that makes it, whose
 * arguments are then asked for through that primitive's own index maps. So the text reads what the traffic model
 * counts, from the same maps. */
#ifndef FUSESIM_EMIT_EMIT_H
#define FUSESIM_EMIT_EMIT_H

#include "emit/program.h"
#include "fusion/chain.h"
#include "kernel/chained.h"
#include "kernel/ctype.h"

/* Growing text. */
typedef struct {
    char *at;
    size_t used, room;
} fsim_text;

extern const char *const fsim_ctype_names[FSIM_C_COUNT];  /* float double int fs_i64 */
extern const char *const fsim_ctype_suffix[FSIM_C_COUNT]; /* f d i l: ends the names of the dialect's functions */
extern const char
    *const fsim_storage_names[FSIM_DTYPE_COUNT]; /* of a dtype's elements in memory: double float fs_f16 ... */

enum { FSIM_MOST_DEPTHS = 12 };

/* Variables that number points: points = outer x inner_extent + inner, and the reduced points beside them. NULL: there
 * is none, its extent is 1. */
typedef struct {
    const char *outer, *inner, *reduced;
    int64_t inner_extent;
    int outer_depth, inner_depth, reduced_depth; /* block in which each is declared: 0 is outside of the lanes */
} fsim_base;

/* An element of a tensor: map over a base's points and reduced points. */
typedef struct {
    int base;
    fsim_map map;
} fsim_where;

typedef struct {
    int tensor, depth;
    fsim_where where;
    const char *name;
} fsim_known;

/* A variable, and the block that it is declared in. */
typedef struct {
    const char *name;
    int depth;
} fsim_variable;

/* A value that some loop has computed: a reduction's, or a tile's. */
typedef struct {
    const char *name;   /* NULL: none */
    const char *second; /* a reduction's index */
    int depth;          /* block that it is declared in */
} fsim_computed;

typedef struct {
    int tensor;
    fsim_where where;
    const char *name;
} fsim_kept;

typedef struct {
    const fsim_graph *g;
    const fsim_hw *hw;
    const fsim_kernel *kernel;
    const fsim_group *group;
    fsim_arena *a;
    fsim_text head, before, body,
        after;     /* outside of the lanes: once; in front of them and behind them at each step; of a lane */
    fsim_text out; /* what is finished */
    fsim_base *base;
    int bases, base_room;
    fsim_known *known;
    int knowns, known_room;
    const char **hoisted; /* pairs of an expression and its variable in the head */
    int hoists, hoist_room;
    fsim_computed *computed; /* per member */
    bool *stored;            /* per member: by a loop of the kernel, if at all; else where its value is computed */
    const int *passes; /* per member: argument whose value stands for its own, a row's factor being applied later; -1:
                          none. NULL: of no member */
    int depth;         /* block that statements go to: 1 in the lanes */
    int next;          /* number of the next variable */
    int vector;        /* elements that a thread loads at once; 1: none */
    bool walk;         /* lanes run along the reduced points, else along the inner ones */
    int array;         /* member whose values for a row lie in an array, or -1; fusion/chain.h: rows, chained */
    bool array_wanted, arrayed; /* some text reads it; it has been filled */
    fsim_where array_at;        /* the place that its first reader asked for */
    const char *array_name;
    bool tiled;         /* lanes run along c, and what is contiguous along the base's reduced points, y, is staged */
    int staged;         /* tiles so far */
    int declared_bytes; /* shared memory that they take: the text declares it */
    bool stages_writes;
    fsim_keep keep;
    bool band;                         /* lanes are rows: what is kept lies a row a lane */
    int64_t width, rows_per_block;     /* of a kept row; rows that a block keeps */
    int64_t shared_bytes, shared_most; /* that kept rows take so far, and may */
    fsim_kept *kept;
    int kepts, kept_room;
    fsim_text keeps; /* declarations of what is kept */
    fsim_program *program;
} fsim_emitter;

/* Appends formatted text. */
void fsim_text_put(fsim_arena *a, fsim_text *t, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same with a list of arguments. */
void fsim_text_put_v(fsim_arena *a, fsim_text *t, const char *format, va_list args);
/* Empties the text; its memory is used again. */
void fsim_text_clear(fsim_text *t);
/* Starts the text of a loop: nothing stands in it, in front of it or behind it, and no value is known. */
void fsim_begin_loop(fsim_emitter *e);
/* The text as a string. */
const char *fsim_text_of(const fsim_text *t);
/* A line in the block of `depth`: 0 is the head. Indented. */
void fsim_say(fsim_emitter *e, int depth, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Writes a line that ends with {, and opens a block. */
void fsim_open(fsim_emitter *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Closes the block, and forgets the values whose variables were declared in it. */
void fsim_close(fsim_emitter *e);
/* A name for a variable: letter and number. */
const char *fsim_fresh(fsim_emitter *e, const char *letter);

/* Adds variables that number points; returns the number of the base, for fsim_where. */
int fsim_add_base(fsim_emitter *e, fsim_base b);
/* The whole of a tensor whose element is in variable `name`, declared at the present depth. */
fsim_where fsim_where_var(fsim_emitter *e, const char *name, int64_t elems);
/* The element's number as an expression of the variables that number points; what does not depend on the lanes is put
 * into the head. */
fsim_variable fsim_number(fsim_emitter *e, const fsim_where *w);
/* outer after inner: element map `f` of the value whose points are numbered by w. */
fsim_where fsim_through(fsim_emitter *e, const fsim_where *w, const fsim_map *f);

/* The primitive of member i, and its class. */
static inline const fsim_node *fsim_member_node(const fsim_emitter *e, int i)
{
    return &e->g->node[e->group->member[i].node];
}
static inline fsim_class fsim_member_class(const fsim_emitter *e, int i)
{
    return fsim_ops[fsim_member_node(e, i)->op].class;
}
/* The member that makes the tensor, or -1. */
int fsim_maker_in(const fsim_emitter *e, int tensor);
/* The parameter of the tensor. */
const char *fsim_pointer(fsim_emitter *e, int tensor);

/* The tensor's element at w. */
fsim_variable fsim_value(fsim_emitter *e, int tensor, const fsim_where *w);
/* Stores variable x as the tensor's element at w. */
void fsim_store_value(fsim_emitter *e, int tensor, const fsim_where *w, const char *x, bool grouped);
/* A literal of the C type. */
const char *fsim_literal(fsim_emitter *e, double x, fsim_ctype t);

/* Sums and other reductions in a loop: the start value of the accumulator, as an expression. */
const char *fsim_accumulator_start(fsim_emitter *e, const fsim_node *n, fsim_ctype t);
/* The accumulator with x added, as an expression. */
const char *fsim_accumulate(fsim_emitter *e, const fsim_node *n, const char *acc, const char *x, fsim_ctype t);
/* The result, as an expression: divides a mean, takes the root of a norm. */
const char *fsim_accumulator_end(fsim_emitter *e, const fsim_node *n, const char *acc, fsim_ctype t);

/* The value of a contraction or window at w by a loop over all that it sums up. */
fsim_variable fsim_direct_sum(fsim_emitter *e, const fsim_node *n, const fsim_where *w);

/* A file each: the text of one template into e->out, its launches into e->program. */
void fsim_emit_pointwise(fsim_emitter *e);
/* Reductions of rows and columns. */
void fsim_emit_rows(fsim_emitter *e);
/* Running sums and products. */
void fsim_emit_scan(fsim_emitter *e);
/* Scatters. */
void fsim_emit_scatter(fsim_emitter *e);
/* Two chained contractions, row by row; fsim_emit_flash is the faster form, where it applies. */
void fsim_emit_chain(fsim_emitter *e);
/* Contractions in tiles. False, and nothing is emitted, where fsim_emit_pointwise is the better one or the only one
 * that can: tile.h says when. */
bool fsim_emit_tile(fsim_emitter *e);

/* A chain tile by tile: products without reductions between them, online softmax, rows that one tile holds. False, with
 * nothing emitted, where it is none of these. */
bool fsim_emit_flash(fsim_emitter *e);

/* The head of an entry point: name, parameters. */
void fsim_begin_entry(fsim_emitter *e, int64_t grid, int block, int shared_bytes);
/* The same of a kernel that is predicted to take so many registers. stated: the text says how many blocks an SM then
 * holds, so that the compiler does not spill to make room for another. */
void fsim_begin_held_entry(fsim_emitter *e, int64_t grid, int block, int shared_bytes, int registers, bool stated);
/* The end of the entry point. */
void fsim_end_entry(fsim_emitter *e);
/* Scratch memory of so many bytes, of elements `type`: the parameter's name. */
const char *fsim_scratch(fsim_emitter *e, const char *type, int64_t bytes);

#endif
