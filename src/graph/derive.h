/* SPDX-License-Identifier: Apache-2.0 */
/* derive.h: what a caller asks of differentiation: which derivatives of a workload are to be computed beside it. */
#ifndef FUSESIM_GRAPH_DERIVE_H
#define FUSESIM_GRAPH_DERIVE_H

#include "graph/op.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    FSIM_NOT_DERIVED, /* the workload as it is written */
    FSIM_REVERSE,     /* --train: gradients of its outputs with respect to what is wanted */
    FSIM_TANGENTS     /* --jvp: how its outputs change along a direction */
} fsim_derive_mode;

/* In place of a derivative's forms: a step of the gradient that reads nothing else. What the graph then takes is no
 * more than with any form. */
enum { FSIM_FORM_FREE = -1 };

typedef enum {
    FSIM_WANT_ALL,     /* every floating input and weight */
    FSIM_WANT_WEIGHTS, /* every floating weight */
    FSIM_WANT_NAMED
} fsim_derive_want;

/* What torch.amp.GradScaler multiplies a loss by, so that gradients of 16 bits do not vanish: at its beginning. */
#define FSIM_LOSS_SCALE 65536.0

/* How gradients change the weights: --optimizer. */
typedef enum { FSIM_NO_UPDATE, FSIM_SGD, FSIM_MOMENTUM, FSIM_ADAM, FSIM_ADAMW, FSIM_UPDATES } fsim_update;
extern const char *const fsim_update_words[FSIM_UPDATES];

/* What happens to a tensor of the forward pass that gradients need. */
typedef enum {
    FSIM_HELD,    /* it stays in memory */
    FSIM_PASSED,  /* it stays nowhere: whoever needs it computes it from what it is made of */
    FSIM_DROPPED, /* it is given up after its last reader in the forward pass, and the backward pass computes it again,
                     with what it passes on the way, in kernels of its own */
    FSIM_DROPPED_AFTER, /* the same, but the derivative of the primitive that makes it is taken before, from itself */
    FSIM_UNREAD         /* it stays nowhere, and no gradient reads it */
} fsim_fate;

/* Where values are computed again more than once, each time is an event, numbered from 1 on; 0 is the forward pass.
 * Which event's copy of a value something reads. */
typedef struct {
    int event;  /* the reader is computed again by this event; 0: it is a derivative */
    int source; /* .. of this operator of the workload */
    int tensor; /* of the workload */
    int from;   /* the event whose copy it reads */
} fsim_copy_read;
enum { FSIM_MOST_EVENTS = 255 };

/* Values that gradients read in fewer bits than they have. */
typedef struct {
    fsim_dtype dtype;
    const char *const *name; /* the tensors, a * for any letters; none: those that pay (fsim_unreduced) */
    int names;
} fsim_save_dtype;

/* Why gradients read a tensor of the workload as it is, though values are to be saved in fewer bits. */
typedef enum {
    FSIM_MAY_REDUCE, /* they do not, where they read it as a number at all */
    FSIM_UNNAMED,
    FSIM_GIVEN,       /* an input or a weight, which is in memory anyway */
    FSIM_NO_FLOAT,    /* an integer, a mask */
    FSIM_NARROW,      /* it has no more bits */
    FSIM_MOVED,       /* written over in place */
    FSIM_OPERAND,     /* a product of the backward pass wants it in its own dtype, unless it is named */
    FSIM_STATISTIC,   /* a sum or a maximum, or made of such, unless it is named */
    FSIM_INNER,       /* a step of an operator: it is computed from what the operator reads, which may be reduced */
    FSIM_OF_BACKWARD, /* of no tensor of the workload */
    FSIM_UNREDUCED_COUNT
} fsim_unreduced;
extern const char *const fsim_unreduced_texts[FSIM_UNREDUCED_COUNT];

/* The options that differentiate a workload. All of it zero: none. */
typedef struct fsim_derive {
    fsim_derive_mode mode;
    fsim_derive_want want;
    const char *const *name; /* of FSIM_WANT_NAMED: the tensors, names of them */
    int names;
    bool ones; /* the gradient of an output is 1 everywhere, not an input `grad/NAME` that backward reads */
    enum { FSIM_NO_AUTOCAST, FSIM_AUTOCAST_BF16, FSIM_AUTOCAST_F16 } autocast; /* also where nothing is derived */
    fsim_update update;
    bool sums_all;           /* with micro_batches: gradients of inputs are added up, too */
    int64_t micro_batches;   /* whose gradients are added up for one update; 0: one */
    double clip;             /* the largest norm that all gradients together may have; 0: any */
    const signed char *form; /* where a derivative has several forms: which one is taken, by the order in which they
                                come up; beyond `forms` of them the first. FSIM_FORM_FREE: none of them */
    int forms;
    bool checkpoint; /* of each layer (a turn of an outermost repeat block, a numbered module of a model) forward keeps
                        what other layers read, and backward computes the rest again */
    const signed char *fate; /* by tensor of the workload: an fsim_fate; beyond `fates` of them FSIM_HELD */
    int fates;
    const fsim_copy_read *read; /* where there are any, these say what is computed again, and when. What an event reads
                                   that is not listed is its own copy, or the original where it is FSIM_HELD; other
                                   readers read the original */
    int reads;
    const fsim_save_dtype *save; /* gradients read what forward makes rounded to fewer bits; NULL: as it is */
} fsim_derive;

/* Are losses scaled? With f16 and an update, which takes the scale out again. */
static inline bool fsim_scales_loss(const fsim_derive *how)
{
    return how->autocast == FSIM_AUTOCAST_F16 && how->update != FSIM_NO_UPDATE;
}

#endif
