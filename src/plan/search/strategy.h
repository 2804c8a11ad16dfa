/* SPDX-License-Identifier: Apache-2.0 */
/* strategy.h: what is known of each strategy without a workload. Its rows are strategy.def. */
#ifndef FUSESIM_PLAN_SEARCH_STRATEGY_H
#define FUSESIM_PLAN_SEARCH_STRATEGY_H

#include "vendor/vendor.h"

#define FSIM_STRATEGY(id, name, kernels, planned, measured, partition, help) FSIM_STRATEGY_##id,
typedef enum {
#include "plan/search/strategy.def"
    FSIM_STRATEGY_COUNT,
    FSIM_STRATEGY_FILE = FSIM_STRATEGY_COUNT, /* a plan that the user gives: plan/partition_file.h */
    FSIM_PLAN_COUNT
} fsim_strategy;
#undef FSIM_STRATEGY

typedef struct {
    const char *help; /* one line for people */
    fsim_maker maker; /* whose kernels it launches */
    bool asked;       /* planned only where it is asked for; the others always are */
    bool measured;    /* run by validate --device where nothing else is asked for */
} fsim_strategy_row;

extern const fsim_strategy_row fsim_strategies[FSIM_STRATEGY_COUNT];
/* The names, and "file" for FSIM_STRATEGY_FILE. */
extern const char *const fsim_strategy_names[FSIM_PLAN_COUNT];

/* Whose kernels a strategy launches. strategy: not FSIM_STRATEGY_FILE, whose file says so. */
static inline fsim_maker fsim_maker_of(fsim_strategy strategy) { return fsim_strategies[strategy].maker; }

#endif
