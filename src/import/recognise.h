/* SPDX-License-Identifier: Apache-2.0 */
/* recognise.h: operators that an exporter wrote as many small ones, as the framework has them: layer, group
 * and RMS norm, GELU, SiLU, attention, linear layers. They expand into the same steps, so the search finds the same
 * fusions; the price of eager is that of the framework's own kernels, and reports show their names. */
#ifndef FUSESIM_IMPORT_RECOGNISE_H
#define FUSESIM_IMPORT_RECOGNISE_H

#include "import/recognise_facts.h"
#include "input/yaml.h"

/* The tree with what was recognised; tree itself is changed. In a. */
const fsim_yaml *fsim_recognise(fsim_arena *a, const fsim_yaml *tree, const fsim_recognise_facts *facts);

#endif
