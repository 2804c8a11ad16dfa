/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h: a YAML workload on its way to a graph; between the files that read it:
 *   workload.c  the whole document, tensors          symbol.c    symbols and single values
 *   unroll.c    operators, repeat blocks unrolled    argument.c  an operator's attributes
 *   order.c     operators in topological order, each through its rule
 *   link.c      readers, outputs, fuse and separate  serving.c  calls
 * Errors go to the diagnostics; reading goes on to find more. */
#ifndef FUSESIM_GRAPH_READER_H
#define FUSESIM_GRAPH_READER_H

#include "base/names.h"
#include "graph/build.h"
#include "graph/turn.h"
#include "input/yaml.h"

/* An operator with its names resolved through the repeat blocks around it. */
typedef struct {
    const fsim_yaml *yaml;
    const char **in, **out;
    int ins, outs;
    const char **alias;       /* other names of out[i], or NULL: what a repeat block hands to the operators behind it */
    const char *layer, *from; /* as in fsim_source */
    int layer_number;         /* as in fsim_source */
    int state;                /* of the topological walk: 0 new, 1 under way, 2 done */
    bool absent;              /* its `when` is 0: its result is its first input */
    fsim_loc at;
} fsim_pending;

/* An entry of `calls` in one turn of a repeat block. */
typedef struct {
    const fsim_yaml *yaml;
    fsim_iteration block_turn; /* of the repeat block that it stands in */
} fsim_pending_call;

typedef struct {
    fsim_build build;
    fsim_diag *diag;
    fsim_arena *arena;
    fsim_graph *graph;
    fsim_names tensor; /* name -> tensor */
    fsim_names broken; /* names of tensors whose declaration was refused: the error is reported once, not again by every
                          reader */
    fsim_names casts;  /* of --autocast: name -> tensor */
    fsim_names maker;  /* name -> operator that makes it */
    fsim_names symbol;
    const char **symbol_names;
    bool *symbol_used;
    fsim_pending *op;
    int ops, op_room, layers; /* layers: turns of outermost repeat blocks, so far */
    fsim_pending_call *call;  /* entries of `calls` inside repeat blocks */
    int calls, call_room;
    fsim_names absent; /* names of operators whose `when` is 0 */
    const fsim_yaml *symbols;
    bool marked; /* some input says `batch: true`, so those that do not are shared */
} fsim_reader;

/* Is y a mapping? If not, reports an error that calls it `what`. */
bool fsim_want_mapping(fsim_reader *r, const fsim_yaml *y, const char *what);
/* Is y a single value? If not, reports an error that calls it `what`. */
bool fsim_want_scalar(fsim_reader *r, const fsim_yaml *y, const char *what);
/* An integer expression of symbols. False after an error that calls it `what`. */
bool fsim_read_int(fsim_reader *r, const fsim_yaml *y, const char *what, int64_t *value);
/* What an entry of `calls:` may say beside its kernel's numbers, serving_option.def: the names of those that the kernel
 * takes into name[], which has room for all; their number. */
int fsim_serving_option_names(const char *kernel, const char **name);
/* And their values. length: of each request's cache, where all have the same. */
bool fsim_read_serving_options(fsim_reader *r, const fsim_yaml *y, double requests, double length,
                               fsim_serving_call *call);
/* A finite number, infinity spelt out, or an integer expression. False after an error. */
bool fsim_read_number(fsim_reader *r, const fsim_yaml *y, const char *what, double *value);
/* true, false, or an integer expression, of which 0 is false. False after an error. */
bool fsim_read_flag(fsim_reader *r, const fsim_yaml *y, const char *what, bool *value);
/* A dtype's name, or a symbol that stands for one (which is then used). False after an error. */
bool fsim_read_dtype(fsim_reader *r, const fsim_yaml *y, fsim_dtype *t);
/* The symbols of y (NULL: none); the values of set (NULL: none) replace those of the file. */
void fsim_read_symbols(fsim_reader *r, const fsim_yaml *y, const fsim_bindings *set);
/* Does each entry of `requires` (NULL: none) hold? Said before the symbols are read, whose expressions may fail where
 * it does not. */
bool fsim_check_requirements(fsim_reader *r, const fsim_yaml *y, const fsim_bindings *set);

/* Is the name free? If not, reports an error that says what has it; `what` is what it was to name. */
bool fsim_claim_name(fsim_reader *r, const char *name, fsim_loc at, const char *what);
/* The tensors of y (NULL: none); turn: of the repeat block that they stand in, or NULL. */
void fsim_read_tensors(fsim_reader *r, const fsim_yaml *y, const fsim_iteration *turn);
/* All operators of the list into r->op, repeat blocks unrolled. */
void fsim_read_operators(fsim_reader *r, const fsim_yaml *list);
/* The attributes that stand in y into c, whose operator is known, and what those that are absent have. */
bool fsim_read_attrs(fsim_reader *r, fsim_call *c, const fsim_yaml *y);

/* --autocast: replaces the call's arguments by casts, those that are operators of their own (inside: false), or those
 * that belong to it. False after an error. */
bool fsim_autocast(fsim_reader *r, fsim_call *c, bool inside);

/* Operators in an order in which each finds its inputs, as written wherever that works. */
void fsim_build_all(fsim_reader *r);

typedef enum { FSIM_MARK_OUTPUT, FSIM_MARK_MATERIALIZE } fsim_mark_kind;
/* Marks the tensors that the list y (NULL: none) names. */
void fsim_read_marks(fsim_reader *r, const fsim_yaml *y, fsim_mark_kind kind);
/* The sets of primitives under `what`, their number in *count. */
fsim_node_set *fsim_read_sets(fsim_reader *r, const fsim_yaml *y, const char *what, int *count);
/* Puts the entries of y (NULL: none), `calls` of a repeat block, aside. turn: of that block. */
void fsim_add_calls(fsim_reader *r, const fsim_yaml *y, const fsim_iteration *turn);
/* What serving stacks run as calls: the entries of y (NULL: none), and those of repeat blocks, into the graph. */
void fsim_read_calls(fsim_reader *r, const fsim_yaml *y);
/* The primitive of that name, for an entry of `what`; -1 after an error. */
int fsim_read_primitive(fsim_reader *r, const fsim_yaml *y, const char *what);
/* Warns of inputs, weights and symbols that nothing uses. */
void fsim_check_unused(fsim_reader *r);
/* Makes outputs of what nobody reads; a warning where the workload declares its outputs. */
void fsim_mark_results(fsim_reader *r, bool declared);
/* An error for each reader of a tensor that a write in place may have overwritten by then; and for outputs that are
 * overwritten. A reader is safe where the write needs it. Sets `lasting` of all tensors. */
void fsim_check_overwritten(fsim_reader *r);
/* Parameters and FLOPs of the whole. */
void fsim_count_totals(fsim_graph *g);

#endif
