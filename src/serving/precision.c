/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/precision.h"

#include "serving/constants.h"

const char *const fsim_precision_names[FSIM_STORED] = {"bf16", "f8", "f4"};

double fsim_precision_bytes(fsim_precision p) { return p == FSIM_16_BITS ? 2 : p == FSIM_8_BITS ? 1 : four_bit_bytes; }

double fsim_model_weight_bytes(const fsim_model *m, fsim_precision p)
{
    const double outer = (double)(m->embedding + m->head);
    return ((double)m->parameters - outer) * fsim_precision_bytes(p) + outer * 2;
}
