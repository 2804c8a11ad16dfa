/* SPDX-License-Identifier: Apache-2.0 */
/* derivation_file.h: how the workload of a plan in a file was differentiated, beyond what options say: which forms its
 * derivatives have, what of the forward pass is computed again, whether library calls were looked for. */
#ifndef FUSESIM_PLAN_DERIVATION_FILE_H
#define FUSESIM_PLAN_DERIVATION_FILE_H

#include "graph/graph.h"
#include "input/yaml.h"

/* Words of fates in files, by fsim_fate. */
extern const char *const fsim_fate_words[FSIM_UNREAD + 1];

/* Graph g differentiated in the way that `derivation` of a plan file says: {forms: [0, 1], again: {NAME: WORD},
 * copies: [{event: 0, operator: NAME, tensor: NAME, from: 1}], calls: true}. NULL after an error. In a. */
fsim_graph *fsim_derived_as(const fsim_graph *g, const fsim_yaml *derivation, fsim_arena *a, fsim_diag *d);

#endif
