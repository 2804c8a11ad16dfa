/* SPDX-License-Identifier: Apache-2.0 */
/* library.h: what the vendors' libraries compute in one call: a contraction with its epilogue,
 *
 *     D = to_f32(activation(scale (A B) + C + bias))
 * and what its gradient needs as a second result: what a tanh GELU reads, or where a ReLU's argument is above 0; or
 *     D = scale (A B) * slope(aux)
 * the gradient of an activation's argument, where A B is that of its result, and the sums of D's columns, the gradient
 * of a bias. Every part is optional. C, a residual, is as large as D and lies elsewhere (beta is 1). The rows of
 * library.def say which parts a library has. */
#ifndef FUSESIM_VENDOR_LIBRARY_H
#define FUSESIM_VENDOR_LIBRARY_H

#include "cost/cost.h"

typedef enum {
    FSIM_EPILOGUE_SCALE,
    FSIM_EPILOGUE_BIAS,
    FSIM_EPILOGUE_RESIDUAL, /* a tensor as large as the result */
    FSIM_EPILOGUE_TO_F32,
    FSIM_EPILOGUE_GELU_AUX, /* what the tanh GELU reads, as a second result */
    FSIM_EPILOGUE_RELU_AUX, /* where ReLU's argument is above 0, a bit an element, as a second result */
    FSIM_EPILOGUE_BGRAD,    /* behind a slope: the sums of the result's columns, as a second result */
    FSIM_EPILOGUE_RELU,     /* this and the following are activations and their gradients */
    FSIM_EPILOGUE_LEAKY_RELU,
    FSIM_EPILOGUE_CLAMP, /* also relu6 and hardtanh */
    FSIM_EPILOGUE_ELU,
    FSIM_EPILOGUE_SIGMOID,
    FSIM_EPILOGUE_TANH,
    FSIM_EPILOGUE_SOFTPLUS,
    FSIM_EPILOGUE_SILU,
    FSIM_EPILOGUE_GELU_TANH,
    FSIM_EPILOGUE_GELU_ERF,
    FSIM_EPILOGUE_DRELU, /* the product where a bit of a mask is set: the gradient of what ReLU reads */
    FSIM_EPILOGUE_DGELU, /* the product times the slope of the tanh GELU at a matrix as large as it */
    FSIM_EPILOGUE_COUNT  /* none */
} fsim_epilogue_kind;

typedef enum {
    FSIM_LIBRARY_CUBLASLT,
    FSIM_LIBRARY_HIPBLASLT,
    FSIM_LIBRARY_CUDNN,
    FSIM_LIBRARY_MIOPEN,
    FSIM_LIBRARY_ONEDNN,
    FSIM_LIBRARIES
} fsim_vendor_library;

/* Does the device's library have this part of an epilogue, in this arithmetic? */
bool fsim_library_has(const fsim_hw *hw, const fsim_gemm *contraction, fsim_epilogue_kind kind);
/* The activation that an elementwise operator is; FSIM_EPILOGUE_COUNT: it is none. */
fsim_epilogue_kind fsim_activation_of(fsim_op op);

/* Is the source a GELU by the tanh form, the one whose slope libraries know? */
bool fsim_is_tanh_gelu(const fsim_graph *g, int source);

/* The part of a group that is one call: a contraction with its epilogue. */
typedef struct {
    double scale;        /* 1: none */
    int bias;            /* tensor; -1: none */
    int64_t bias_offset; /* elements into it */
    int64_t bias_stride; /* elements from the vector of one matrix to that of the next; 0: all have the same */
    int residual;        /* tensor: C; -1: none */
    int aux; /* tensor: what the slope of a gradient follows from, DGELU: the activation's argument; DRELU: a
                bit an element; -1: none */
    fsim_epilogue_kind activation; /* FSIM_EPILOGUE_COUNT: none */
    bool to_f32;
    int mask;    /* tensor: of bits that a ReLU stores; -1: none */
    int sums;    /* tensor: of the sums of the result's columns; -1: none */
    int before;  /* the tensor that the activation reads; -1: there is no activation */
    int result;  /* the tensor that the call writes */
    int members; /* members of the group that the call computes, including the contraction and what is folded into its
                    weights */
} fsim_epilogue;

/* The epilogue of group o as far as the device's library has it; out->members does not count members that the call
 * does not compute. The anchor of o must be a contraction. */
fsim_epilogue fsim_epilogue_of(const fsim_graph *g, const fsim_hw *hw, const fsim_group *o);

/* Can one call of the device's library compute the whole group? Primitives of the group may transpose operands. */
bool fsim_library_can(const fsim_graph *g, const fsim_hw *hw, const fsim_group *o);

#endif
