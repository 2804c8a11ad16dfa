/* SPDX-License-Identifier: Apache-2.0 */
/* strategy.h: properties of the strategies that do not depend on a workload. The rows are in strategy.def. */
#ifndef FUSESIM_PLAN_SEARCH_STRATEGY_H
#define FUSESIM_PLAN_SEARCH_STRATEGY_H

#include "vendor/vendor.h"

#define FSIM_STRATEGY(id, name, kernels, planned, measured, partition, help) FSIM_STRATEGY_##id,
typedef enum {
#include "plan/search/strategy.def"
    FSIM_STRATEGY_COUNT,
    FSIM_STRATEGY_FILE = FSIM_STRATEGY_COUNT, /* the user's own plan: plan/partition_file.h */
    FSIM_PLAN_COUNT
} fsim_strategy;
#undef FSIM_STRATEGY

typedef struct {
    const char *help; /* description for users, one line */
    fsim_maker maker; /* whose kernels it launches */
    bool asked;       /* planned only on request; others always */
    bool measured;    /* run by validate --device unless others are requested */
} fsim_strategy_row;

extern const fsim_strategy_row fsim_strategies[FSIM_STRATEGY_COUNT];
/* The names, and "file" for FSIM_STRATEGY_FILE. */
extern const char *const fsim_strategy_names[FSIM_PLAN_COUNT];

/* Whose kernels a strategy launches. Not for FSIM_STRATEGY_FILE: its file says so. */
static inline fsim_maker fsim_maker_of(fsim_strategy strategy) { return fsim_strategies[strategy].maker; }

#endif
