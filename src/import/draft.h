/* SPDX-License-Identifier: Apache-2.0 */
/* draft.h: a workload that an importer writes, operator by operator. What an importer makes is the same tree that a
 * workload in YAML is parsed into: fsim_graph_of turns it into a graph, and `import -o` prints it. So there is one
 * meaning for all formats, and a model plans the same before and after it was written as YAML.
 *
 * Names: a workload's names are unique; fsim_draft_* return the name that a tensor got, for use as an input later.
 */
#ifndef FUSESIM_IMPORT_DRAFT_H
#define FUSESIM_IMPORT_DRAFT_H

#include "graph/graph.h"
#include "input/yaml.h"

/* The model's dimensions that are not numbers, and the values that the user gives them with --dim. */
typedef struct {
    const fsim_binding *at; /* NAME=VALUE, or INPUT:AXIS=VALUE */
    int count;
    bool *used;  /* of each */
    bool likely; /* dimensions without a value get a likely one: 8 for a batch */
} fsim_dims;

typedef struct fsim_draft fsim_draft;

/* path: the model's file, for messages. dims lives as long as the draft. In a. */
fsim_draft *fsim_draft_new(fsim_arena *a, fsim_diag *d, const char *path, fsim_dims *dims);

/* Where the importer is: "node 17 '/layer.0/MatMul'". It stands in messages about the operators that follow. NULL: the
 * file as a whole. `what` must outlive the draft. */
void fsim_draft_at(fsim_draft *x, const char *what);
/* That place. */
fsim_loc fsim_draft_place(const fsim_draft *x);
/* The path of the module, and the operator of the file, that the operators which follow come from: "encoder.layer.3",
 * "com.microsoft:Attention". They become the keys `layer` and `from`. NULL: not known. Both must outlive the draft.
 */
void fsim_draft_source(fsim_draft *x, const char *layer, const char *from);

/* A tensor that the model reads: an input or a weight. Returns its name in the workload: `wanted`, made readable and
 * unique. */
const char *fsim_draft_tensor(fsim_draft *x, const char *wanted, const fsim_shape *shape, fsim_dtype dtype,
                              fsim_role role);
/* That tensor is a buffer: nothing changes it, and it is no parameter. */
void fsim_draft_buffer(fsim_draft *x, const char *name);
/* An operator with one result. Returns the result's name in the workload; wanted NULL: one is made from the operator's.
 * Its attributes follow, by the functions below. */
const char *fsim_draft_op(fsim_draft *x, const char *op, const char *wanted, int ins, const char *const *in);
/* The same for an operator with several results: out[i] is wanted, and becomes the name that it got. */
void fsim_draft_op_outs(fsim_draft *x, const char *op, int ins, const char *const *in, int outs, const char **out);
/* Attributes of the newest operator, by their names in graph/attribute.def. */
void fsim_draft_int(fsim_draft *x, const char *key, int64_t value);
/* A list. */
void fsim_draft_ints(fsim_draft *x, const char *key, int count, const int64_t *value);
/* A number with a fraction, as 2.0 is. */
void fsim_draft_number(fsim_draft *x, const char *key, double value);
/* true or false. */
void fsim_draft_flag(fsim_draft *x, const char *key, bool value);
/* A word, a dtype or an equation. */
void fsim_draft_word(fsim_draft *x, const char *key, const char *value);

/* The arithmetic that frameworks give a convolution of this dtype: TF32 for f32, by default in PyTorch
 * (torch.backends.cudnn.allow_tf32) and in ONNX Runtime (use_tf32 of its CUDA provider). NULL: that of the dtype. */
const char *fsim_draft_convolves_in(fsim_dtype dtype);

/* A result of the workload. */
void fsim_draft_output(fsim_draft *x, const char *name);
/* The operators read this tensor with its last two dimensions the other way round than the file has it. */
void fsim_draft_turn(fsim_draft *x, const char *name);
/* What the file says of a tensor in the workload; FSIM_DTYPE_NONE: its dtype is none of ours. fsim_draft_check
 * compares.
 */
void fsim_draft_expect(fsim_draft *x, const char *name, const fsim_shape *shape, fsim_dtype dtype);
/* A named dimension of the model and the value that it has: the symbol of the workload. Again: nothing. */
void fsim_draft_symbol(fsim_draft *x, const char *name, int64_t value);
/* A result: its name (wanted; then the one that it got), and its type. */
typedef struct {
    const char *name;
    fsim_shape shape;
    fsim_dtype dtype;
} fsim_draft_result;
/* An operator that the importer does not know: it costs a copy of its inputs to its results. Warned of by name and
 * count when the draft is finished. */
void fsim_draft_unknown(fsim_draft *x, const char *what, int ins, const char *const *in, int outs,
                        fsim_draft_result *out);

/* What is assumed of an operator `what` of the file, whose cost depends on what the file does not say. Warned of by
 * name and count when the draft is finished. */
void fsim_draft_assume(fsim_draft *x, const char *what, const char *assumed);

/* An operator of a tree as a copy of its inputs to one result, which keeps its name: for an operator that does not fit.
 * Its place, its layer and where it is from are `like`'s. */
fsim_yaml *fsim_draft_copied(const fsim_draft *x, const fsim_yaml *like, int ins, const char *const *in,
                             const fsim_draft_result *out);
/* What the file says of a tensor of the workload (fsim_draft_expect, as operators read it). False: nothing. */
bool fsim_draft_says(const fsim_draft *x, const char *name, fsim_draft_result *said);

/* What says which lengths a dimension may have, and what to do for others: behind messages about --dim. Without it: the
 * model. It must outlive the draft. */
void fsim_draft_ranges_by(fsim_draft *x, const char *words);
/* An input of the model, for messages about --dim: its name in the file, which must outlive the draft, and its axes. */
void fsim_draft_input(fsim_draft *x, const char *name, int axes);
/* The value that --dim gives the dimension of this name, or the one at this place ("x:0"; NULL: it has none). False
 * where it gives none: then the dimension is noted as missing, with the range that the model allows (least 1 and most
 * INT64_MAX: any), and *value is 1, so that the importer can go on and find the others. */
bool fsim_draft_dim(fsim_draft *x, const char *name, const char *place, int64_t least, int64_t most, int64_t *value);
/* The value that --dim gives this place or name itself; false: none. */
bool fsim_draft_given(fsim_draft *x, const char *name, int64_t *value);
/* Reports that --dim gives this place another value than it `has`: false where that is so. `why`, behind the value,
 * says what decides it. */
bool fsim_draft_agrees(fsim_draft *x, const char *place, int64_t has, const char *why);

/* The finished tree; NULL after errors, among them dimensions without a value and values of --dim that no dimension
 * has. `name` is the workload's. */
const fsim_yaml *fsim_draft_finish(fsim_draft *x, const char *name);
/* Compares the graph's shapes and dtypes with what the file said; warns of the first that differ. Returns how many
 * do. */
int fsim_draft_check(const fsim_draft *x, const fsim_graph *g);

#endif
