/* SPDX-License-Identifier: Apache-2.0 */
/* shadow.h: what each primitive costs at least, whatever kernels a plan has: shadow prices. */
#ifndef FUSESIM_PLAN_SEARCH_SHADOW_H
#define FUSESIM_PLAN_SEARCH_SHADOW_H

#include "plan/search/frontier.h"

/* Finds prices for a list that was prepared and not yet searched. False where not all sets of some root are known, or
 * where the budget ends first. In f's arena. */
bool fsim_find_shadow(fsim_frontier *f, fsim_shadow *out);

/* exclusive.c: the same for a list of a few hundred places where that fails, by primitives of which no kernel has two.
 * All others are worth nothing, or less. */
void fsim_price_exclusive(fsim_frontier *f, fsim_shadow *out);

/* Work that no plan of a list that was prepared can avoid: a lower bound of each, in the objective's unit. */
fsim_sum fsim_frontier_floor(const fsim_frontier *f);

/* Before it is searched: the search looks only for plans that cost less than `most`, by what primitives are worth. What
 * else there is enters the bound as `most` at least. */
void fsim_frontier_limit(fsim_frontier *f, const fsim_shadow *shadow, fsim_sum most, const fsim_budget *budget);

#endif
