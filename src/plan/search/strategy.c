/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/search/strategy.h"

enum { ALWAYS = false, ASKED = true };

const fsim_strategy_row fsim_strategies[FSIM_STRATEGY_COUNT] = {
#define FSIM_STRATEGY(id, name, kernels, planned, measured, partition, help) {help, kernels, planned, measured},
#include "plan/search/strategy.def"
#undef FSIM_STRATEGY
};

const char *const fsim_strategy_names[FSIM_PLAN_COUNT] = {
#define FSIM_STRATEGY(id, name, kernels, planned, measured, partition, help) name,
#include "plan/search/strategy.def"
#undef FSIM_STRATEGY
    "file"};
