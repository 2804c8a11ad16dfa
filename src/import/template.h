/* SPDX-License-Identifier: Apache-2.0 */
/* template.h: one name for the names that a thing has in the turns of a repeat block (graph/turn.h reads it). */
#ifndef FUSESIM_IMPORT_TEMPLATE_H
#define FUSESIM_IMPORT_TEMPLATE_H

#include "base/arena.h"

/* "layer.<i>.q" for layer.0.q, layer.1.q and so on; "q<_6 * i>" for q, q_6, q_12; where numbers follow no rule, one for
 * each turn: "q_<17|23|31>". The name itself where all are equal. NULL where it would be too long, or a name has one of
 * the characters < > |. In a. */
const char *fsim_name_template(fsim_arena *a, const char *const *name, int turns);

#endif
