/* SPDX-License-Identifier: Apache-2.0 */
/* models.h: transformers by their architecture: parameters, bytes of weights, bytes of the cache. */
#ifndef FUSESIM_REPORT_MODELS_H
#define FUSESIM_REPORT_MODELS_H

#include "model/model.h"
#include "report/table.h"

typedef struct {
    const fsim_model **at;
    int count;
    bool in_full; /* one, with its parts */
} fsim_shown_models;

/* A line for each, or one in full. */
void fsim_report_models(const fsim_page *page, const fsim_shown_models *x);
/* Each in full; reports/schema/models.schema.json describes it. */
void fsim_json_models(FILE *out, const fsim_shown_models *x);

#endif
