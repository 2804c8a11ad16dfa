/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a GPU: weights, cache, activations, what NCCL and the framework take. */
#include "serving/constants.h"
#include "serving/predict.h"

#include <math.h>
#include <string.h>

static double bytes_of(const char *precision)
{
    if (strcmp(precision, "f8e4m3") == 0)
        return 1;
    return strcmp(precision, "nvfp4") == 0 ? four_bit_bytes : 2;
}

double fsim_weight_bytes_each(const fsim_system *row) { return bytes_of(row->precision); }

/* Bytes of an element of the cache; 2 where the row does not say. */
static double cache_bytes_each(const fsim_system *row) { return *row->kv_precision ? bytes_of(row->kv_precision) : 2; }

void fsim_serving_memory(const fsim_serving *s, fsim_system_answer *x)
{
    const fsim_served *m = s->model;
    const double ranks = (double)(s->row->tp > s->row->ep ? s->row->tp : s->row->ep);
    /* Embedding and head stay in 16 bits. */
    const double outer = (double)(m->vocab * m->hidden) * (m->tied ? 1 : 2);
    x->weight_bytes = ((s->row->parameters - outer) * fsim_weight_bytes_each(s->row) + outer * 2) / ranks;
    x->token_bytes = (double)(m->layers * 2 * m->head_dim) * ceil((double)m->kv_heads / (double)s->row->tp) *
                     cache_bytes_each(s->row);
    const double tokens = (double)(s->row->mode == FSIM_SYSTEM_PREFILL ? s->row->input : s->engine->tokens);
    x->left_bytes = fsim_hw_get(s->hw, FSIM_HW_DRAM_CAPACITY) - x->weight_bytes - framework_bytes -
                    activation_widths * tokens * (double)m->hidden * 2 - (ranks > 1 ? collective_bytes : 0);
    x->left_bytes *= s->engine->share;
    const double request = (double)(s->row->input + s->row->output) * x->token_bytes;
    x->judged = true;
    x->fits = x->left_bytes >= request;
}
