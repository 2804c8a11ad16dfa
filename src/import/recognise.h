/* SPDX-License-Identifier: Apache-2.0 */
/* recognise.h: operators that an exporter wrote as many small ones, as the framework has them: layer, group
 * and RMS norm, GELU, SiLU, attention, linear layers. They expand into the same steps, so the search finds the same
 * fusions; the price of eager is that of the framework's own kernels, and reports show their names. */
#ifndef FUSESIM_IMPORT_RECOGNISE_H
#define FUSESIM_IMPORT_RECOGNISE_H

#include "import/draft.h"
#include "input/yaml.h"

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

/* The tree with what was recognised; tree itself is changed. In a. */
const fsim_yaml *fsim_recognise(fsim_arena *a, const fsim_yaml *tree, const fsim_recognise_facts *facts);

#endif
