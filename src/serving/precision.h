/* SPDX-License-Identifier: Apache-2.0 */
/* precision.h: the precisions that weights and caches are stored in. */
#ifndef FUSESIM_SERVING_PRECISION_H
#define FUSESIM_SERVING_PRECISION_H

#include "model/model.h"

typedef enum { FSIM_16_BITS, FSIM_8_BITS, FSIM_4_BITS, FSIM_STORED } fsim_precision;
/* The words of the program: "bf16", "f8", "f4". */
extern const char *const fsim_precision_names[FSIM_STORED];

/* Bytes of an element with its share of a scale. */
double fsim_precision_bytes(fsim_precision p);
/* Bytes of all weights; embedding and head stay in 16 bits. */
double fsim_model_weight_bytes(const fsim_model *m, fsim_precision p);

#endif
