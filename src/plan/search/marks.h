/* SPDX-License-Identifier: Apache-2.0 */
/* marks.h: the primitives of a kernel as marks, to change some of them. in[n]: primitive n is in the kernel. */
#ifndef FUSESIM_PLAN_SEARCH_MARKS_H
#define FUSESIM_PLAN_SEARCH_MARKS_H

#include "plan/price/plan.h"

/* Marks just what the part has. */
void fsim_mark_part(const fsim_graph *g, const fsim_part *part, bool *in);
/* The part that has what is marked, without its copies told apart, which fsim_price does. In a. */
fsim_part fsim_marked_part(const fsim_graph *g, const bool *in, fsim_arena *a);
/* Does a primitive that is marked read what primitive n makes? */
bool fsim_is_read_inside(const fsim_graph *g, const bool *in, int n);
/* Marks primitive n with everything before it whose results are not in memory. stored: by tensor. */
void fsim_mark_copy(const fsim_graph *g, const bool *stored, int n, bool *in);
/* Takes primitive n's mark away, and that of the part's copies that nothing else in it reads then. */
void fsim_unmark(const fsim_graph *g, const fsim_part *part, int n, bool *in);

#endif
