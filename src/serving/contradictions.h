/* SPDX-License-Identifier: Apache-2.0 */
/* contradictions.h: measured rows that can't both be what they say.
 *
 * Of C requests that are always under way, C (o - 1) t / (f + (o - 1) t) make tokens, by Little's law: f is the mean
 * time to the first token, t that of each of the o - 1 others. The others wait, or are in their prompt. Each step of t
 * seconds then has C i t / (f + (o - 1) t) tokens of prompts of i tokens. An engine lets a request in as soon as there
 * is a place for it, and fills a step with what waits. So where less than half of those that have a place make tokens,
 * while a step has not half of the prompts' tokens that it may have, nobody held the others back: one of both times is
 * not what its row says. */
#ifndef FUSESIM_SERVING_CONTRADICTIONS_H
#define FUSESIM_SERVING_CONTRADICTIONS_H

#include "serving/verdicts.h"

/* Sets s[i].contradiction of both rows of such a system. Rows of one system are equal but for id, metric, value and
 * unit; a row goes with the last one before it that has no partner yet. Texts in a. */
void fsim_find_contradictions(fsim_judged_system *s, int count, fsim_arena *a);

#endif
