/* SPDX-License-Identifier: Apache-2.0 */
/* emit.h: what the files of emit/ share: the text of a kernel under construction, and the values in it.
 *
 * fsim_value returns a variable with a tensor's element at a place: an index map over the loop variables that the
 * text has at that point. The element comes from a variable that has it already, from memory, or from the primitive
 * that computes it. The primitive's arguments are then found in the same way, through its own index maps. So a
 * kernel loads what the traffic model counts: both follow the same maps. */
#ifndef FUSESIM_EMIT_EMIT_H
#define FUSESIM_EMIT_EMIT_H

#include "emit/program.h"
#include "fusion/chain.h"
#include "kernel/chained.h"
#include "kernel/ctype.h"

/* A text that grows. */
typedef struct {
    char *at;
    size_t used, room;
} fsim_text;

extern const char *const fsim_ctype_names[FSIM_C_COUNT];  /* float double int fs_i64 */
extern const char *const fsim_ctype_suffix[FSIM_C_COUNT]; /* f d i l: suffix of the dialect's functions */
extern const char
    *const fsim_storage_names[FSIM_DTYPE_COUNT]; /* type of a dtype's elements in memory: double float fs_f16 ... */

enum { FSIM_MOST_DEPTHS = 12 };

/* The loop variables that number a kernel's points: point = outer x inner_extent + inner, and beside them the
 * reduced points (what a sum runs over). NULL: there is no such variable, and its extent is 1. */
typedef struct {
    const char *outer, *inner, *reduced;
    int64_t inner_extent;
    int outer_depth, inner_depth,
        reduced_depth; /* nesting of the block that declares each; 0: outside of the loop over lanes */
} fsim_base;

/* An element of a tensor: an index map over a base's points and reduced points. */
typedef struct {
    int base;
    fsim_map map;
} fsim_where;

typedef struct {
    int tensor, depth;
    fsim_where where;
    const char *name;
} fsim_known;

/* A variable, and the nesting of the block that declares it. */
typedef struct {
    const char *name;
    int depth;
} fsim_variable;

/* A value that an earlier loop computed: a reduction, or a tile's sum. */
typedef struct {
    const char *name;   /* NULL: there is none */
    const char *second; /* arg max and arg min: the variable with the index */
    int depth;          /* nesting of the block that declares it */
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
    fsim_text head, before, body, after; /* of the loop being written. head: once, in front of the loop; before, after:
                                            in each step, in front of and behind the lanes; body: in each lane */
    fsim_text out;                       /* finished text */
    fsim_base *base;
    int bases, base_room;
    fsim_known *known;
    int knowns, known_room;
    const char **hoisted; /* pairs: an expression, and the variable in the head that has its value */
    int hoists, hoist_room;
    fsim_computed *computed; /* per member */
    bool *stored;      /* per member: a loop of the kernel stores it; otherwise it is stored where it is computed */
    const int *passes; /* per member: the argument that is used in place of its value, since a factor that is the same
                          for the whole row is applied later; -1: none. NULL: for no member */
    int depth;         /* nesting of the block that statements go to; 1: in the lanes */
    int next;          /* number of the next variable */
    int vector;        /* elements that a thread loads at once; 1: one by one */
    bool walk;         /* lanes run along the reduced points, otherwise along the inner points */
    int array; /* member whose values of one row are in an array, or -1; row kernels and chains (fusion/chain.h) */
    bool array_wanted, arrayed; /* some text reads the array; a loop has filled it */
    fsim_where array_at;        /* where its first reader wants the element */
    const char *array_name;
    bool tiled; /* lanes run along c; tensors that are contiguous along y, the base's reduced points, go through tiles
                   in shared memory */
    int staged; /* such tiles so far */
    int declared_bytes; /* shared memory of these tiles, which the text declares */
    bool stages_writes;
    fsim_keep keep;
    bool band;                         /* lanes are rows: each lane keeps its own row */
    int64_t width, rows_per_block;     /* elements of a kept row; rows that a block keeps */
    int64_t shared_bytes, shared_most; /* shared memory of the kept rows so far, and the most that they may take */
    fsim_kept *kept;
    int kepts, kept_room;
    fsim_text keeps; /* declarations of the arrays for kept rows */
    fsim_program *program;
} fsim_emitter;

/* Appends formatted text. */
void fsim_text_put(fsim_arena *a, fsim_text *t, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same with a list of arguments. */
void fsim_text_put_v(fsim_arena *a, fsim_text *t, const char *format, va_list args);
/* Empties the text; its memory is used again. */
void fsim_text_clear(fsim_text *t);
/* Starts the text of a loop: head, before, body and after are empty, and no value is known. */
void fsim_begin_loop(fsim_emitter *e);
/* The text as a string. */
const char *fsim_text_of(const fsim_text *t);
/* Appends an indented line to the block of this nesting; 0 is the head. */
void fsim_say(fsim_emitter *e, int depth, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Writes a line that ends with {, and opens a block. */
void fsim_open(fsim_emitter *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Closes the block, and forgets the values whose variables were declared in it. */
void fsim_close(fsim_emitter *e);
/* A name for a variable: letter and number. */
const char *fsim_fresh(fsim_emitter *e, const char *letter);

/* Adds a base; returns its number, for fsim_where. */
int fsim_add_base(fsim_emitter *e, fsim_base b);
/* All elements of a tensor, numbered by the variable `name`, which is declared in the present block. */
fsim_where fsim_where_var(fsim_emitter *e, const char *name, int64_t elems);
/* The element's number, as an expression of the loop variables. Terms that are the same for all lanes go into the
 * head. */
fsim_variable fsim_number(fsim_emitter *e, const fsim_where *w);
/* The place of an argument's element: map `f` applied to the place w of the value that needs it. */
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
/* The name of the kernel's parameter with the tensor; NULL: it has none. */
const char *fsim_pointer(fsim_emitter *e, int tensor);

/* A variable with the tensor's element at w. */
fsim_variable fsim_value(fsim_emitter *e, int tensor, const fsim_where *w);
/* Stores variable x as the tensor's element at w. once: alone, never as part of a vector or through a transposing
 * tile. */
void fsim_store_value(fsim_emitter *e, int tensor, const fsim_where *w, const char *x, bool once);
/* Adds variable x to the tensor's element with the number `at`, as an atomic. */
void fsim_add_value(fsim_emitter *e, int tensor, const char *at, const char *x);
/* A literal of the C type. */
const char *fsim_literal(fsim_emitter *e, double x, fsim_ctype t);

/* Sums and other reductions in a loop: the start value of the accumulator, as an expression. */
const char *fsim_accumulator_start(fsim_emitter *e, const fsim_node *n, fsim_ctype t);
/* The accumulator with x added, as an expression. */
const char *fsim_accumulate(fsim_emitter *e, const fsim_node *n, const char *acc, const char *x, fsim_ctype t);
/* The result, as an expression: divides a mean, takes the root of a norm. */
const char *fsim_accumulator_end(fsim_emitter *e, const fsim_node *n, const char *acc, fsim_ctype t);

/* A contraction's or window's result at w, by a loop in one thread over all terms of its sum. */
fsim_variable fsim_direct_sum(fsim_emitter *e, const fsim_node *n, const fsim_where *w);
/* What pooling's gradients are made of, in variable acc (direct_back.c): the element's windows, or the place of a
 * window's maximum. */
void fsim_direct_back(fsim_emitter *e, const fsim_node *n, const fsim_where *w, const char *acc, fsim_ctype t);
/* Shared by direct.c and direct_back.c: the index of the result's element, in a variable. */
const char *fsim_direct_number(fsim_emitter *e, const fsim_where *w);
/* The coordinates of the result along its axes, outermost first, as variables. Returns the index of the rest. */
const char *fsim_direct_coordinates(fsim_emitter *e, const char *element, const int64_t *extent, int axes,
                                    const char **at);
/* The element of the tensor under the windows with these coordinates. */
fsim_where fsim_direct_inside(fsim_emitter *e, const fsim_access *x, const char *plane, const char *const *inside,
                              const int64_t *extent);
/* The argument's element, as a number of type t. */
const char *fsim_direct_factor(fsim_emitter *e, const fsim_access *x, const fsim_where *at, fsim_ctype t);

/* Each writes one template: its text into e->out, its launches into e->program. This one: streaming kernels. */
void fsim_emit_pointwise(fsim_emitter *e);
/* Reductions of rows and columns. */
void fsim_emit_rows(fsim_emitter *e);
/* Running sums and products. */
void fsim_emit_scan(fsim_emitter *e);
/* Scatters. */
void fsim_emit_scatter(fsim_emitter *e);
/* Two chained contractions, row by row; fsim_emit_flash is the faster form, where it applies. */
void fsim_emit_chain(fsim_emitter *e);
/* Contractions in tiles. False, with nothing written, where they have no tiles (kernel/tiling.h says when);
 * fsim_emit_pointwise then writes them. */
bool fsim_emit_tile(fsim_emitter *e);

/* A contraction in tiles, with reductions of its rows, or of blocks of them. False, with nothing written, where the
 * price has no tiles for it. */
bool fsim_emit_tile_rows(fsim_emitter *e);

/* A chain of contractions in tiles. False, with nothing written, where it has none of the forms of kernel/chained.h. */
bool fsim_emit_flash(fsim_emitter *e);

/* Begins an entry point: its name and parameters. */
void fsim_begin_entry(fsim_emitter *e, int64_t grid, int block, int shared_bytes);
/* The same for a kernel that is predicted to use so many registers. stated: the text tells the compiler how many
 * blocks then fit on an SM, so that it does not spill registers to make room for one more. */
void fsim_begin_held_entry(fsim_emitter *e, int64_t grid, int block, int shared_bytes, int registers, bool stated);
/* The end of the entry point. */
void fsim_end_entry(fsim_emitter *e);
/* Reserves scratch memory of so many bytes for elements of `type`; returns the parameter's name. */
const char *fsim_scratch(fsim_emitter *e, const char *type, int64_t bytes);

#endif
