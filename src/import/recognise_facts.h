/* SPDX-License-Identifier: Apache-2.0 */
/* recognise_facts.h: what an importer tells those who recognise operators in its tree. */
#ifndef FUSESIM_IMPORT_RECOGNISE_FACTS_H
#define FUSESIM_IMPORT_RECOGNISE_FACTS_H

#include "import/draft.h"

/* What the importer knows of the tensors of its tree. */
typedef struct {
    /* The shape of a tensor; NULL: not known. */
    const fsim_shape *(*shape)(const void *model, const char *tensor);
    /* Is it a weight that the exporter transposed, so that a product takes it as it is? */
    bool (*transposed)(const void *model, const char *tensor);
    /* Is every element of it this value? False where that is not known; NULL: it never is. */
    bool (*filled)(const void *model, const char *tensor, double value);
    /* Is it the mask of causal attention? NULL: it never is. */
    bool (*causal)(const void *model, const char *tensor);
    /* The exporter split the framework's operators. Otherwise small ones are what the framework itself launches, and
     * only what eager prices step by step becomes one. */
    bool decomposed;
    const void *model;
    fsim_draft *draft; /* is told of weights that change their layout */
} fsim_recognise_facts;

#endif
