/* SPDX-License-Identifier: Apache-2.0 */
/* forms.h: which form of a derivative is taken, where there are several. */
#ifndef FUSESIM_GRAPH_FORMS_H
#define FUSESIM_GRAPH_FORMS_H

#include "graph/gradient.h"

/* A form of a derivative: a term of derivative.def; packed: what it chooses by is kept as a bit an element. */
typedef struct {
    const char *term; /* NULL: no gradient flows */
    bool packed;
} fsim_form;

/* The form of r's derivative with respect to an argument that fsim_derive asks for; where there are several, the graph
 * has a choice more. */
fsim_form fsim_form_of(fsim_derivation *d, const fsim_record *r, int argument);
/* Flags that were packed to bits and unpacked again: what is in between is an eighth of a byte each. Flags of a shape
 * that does not fill bytes stay as they are. */
fsim_value fsim_through_bits(fsim_derivation *d, fsim_value flags);

#endif
