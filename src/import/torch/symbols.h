/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.h: the sizes of a program that the user sets: by the symbol's name (`--dim s77=8`), or by a place that it
 * stands at (`--dim x:0=8`), as the names that the exporter gave are not in the file. */
#ifndef FUSESIM_IMPORT_TORCH_SYMBOLS_H
#define FUSESIM_IMPORT_TORCH_SYMBOLS_H

#include "import/draft.h"
#include "import/torch/program.h"

/* The symbols of a program and the values that they have. */
typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    fsim_draft *x;
    const fsim_torch_program *p;
    fsim_dims *dims;
    fsim_names at; /* of value, by name */
    int64_t *value;
    int count, room;
    bool missing; /* one of them has no value: it is noted in the draft */
} fsim_torch_bound;

/* Binds the symbols of the program's inputs. False after an error; symbols without a value are none
 * (b->missing). */
bool fsim_torch_bind(fsim_torch_bound *b);
/* A size. False after an error at the draft's place; what names the tensor, for the message. */
bool fsim_torch_dim_of(fsim_torch_bound *b, const fsim_torch_dim *dim, const char *what, int64_t *value);
/* The dtype that stands for one of the serializer's. *complex: pairs of it. FSIM_DTYPE_NONE: not known. */
fsim_dtype fsim_torch_dtype(int type, bool *complex);
/* A tensor's shape, whose dimensions may be 0. False after an error. */
bool fsim_torch_shape(fsim_torch_bound *b, const fsim_torch_tensor *t, fsim_shape *shape);

#endif
