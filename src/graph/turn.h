/* SPDX-License-Identifier: Apache-2.0 */
/* turn.h: names inside a repeat block, for one of its turns. Either the turn's number follows the name ("q" is "q.3"),
 * or the name says where numbers stand: "layer.<i>.q" is "layer.3.q", "q<_6 * i>" is "q_18" and in turn 0 "q",
 * "q.<a|b|c>" is one of these for each turn. Imported models keep their names so. */
#ifndef FUSESIM_GRAPH_TURN_H
#define FUSESIM_GRAPH_TURN_H

#include "base/diag.h"
#include <stdint.h>

typedef struct {
    int64_t number, count; /* from 0 on, and how many there are */
    const char *suffix;    /* of names without <...>: ".3" */
    const char *outer;     /* of names with it: the suffix of the block around this one, or "" */
} fsim_iteration;

/* Does the name say itself where the turn's number stands? */
bool fsim_has_turn(const char *name);
/* The name in this turn. An error at `at`, and the name itself, where what is in <...> has no value. In a. */
const char *fsim_turn_name(fsim_arena *a, fsim_diag *d, fsim_loc at, const char *name, const fsim_iteration *t);
/* The same for a text that is no name, which gets no suffix. */
const char *fsim_turn_text(fsim_arena *a, fsim_diag *d, fsim_loc at, const char *text, const fsim_iteration *t);

#endif
