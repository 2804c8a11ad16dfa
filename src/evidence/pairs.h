/* SPDX-License-Identifier: Apache-2.0 */
/* pairs.h: pairs of rows that differ only by strategy: measured and predicted speedup over eager. */
#ifndef FUSESIM_EVIDENCE_PAIRS_H
#define FUSESIM_EVIDENCE_PAIRS_H

#include "evidence/stats.h"

/* A speedup helps or hurts where one of the times is more than FSIM_VERDICT_MARGIN longer than the other. */
typedef enum { FSIM_HELPS, FSIM_NEITHER, FSIM_HURTS, FSIM_VERDICTS } fsim_pair_verdict;
extern const char *const fsim_verdict_names[FSIM_VERDICTS]; /* helps neither hurts */
#define FSIM_VERDICT_MARGIN 0.05
/* Helps or hurts by more than FSIM_VERDICT_MARGIN, or neither. */
fsim_pair_verdict fsim_verdict_on(double speedup);

/* An eager row and a row of another strategy with the same GPU, workload, bindings, L2 state and launch regime.
 * Their sources differ only by names of strategies or of who wrote the kernels ("X eager min of 100", "X
 * inductor_default min of 100"; "Liger rope huggingface", "Liger rope liger"). The k-th row of a strategy is paired
 * with the k-th eager row, or with the last one. */
typedef struct {
    const fsim_evaluated *eager, *other;
    const char *folder;         /* of the workload */
    double measured, predicted; /* eager's time over the other's */
    double error;               /* predicted / measured - 1 */
    fsim_interval likely;       /* the 80 % interval of the predicted speedup */
    bool excluded;              /* one of the rows is excluded */
} fsim_pair;
/* Does the interval of the predicted speedup leave out 1, so that a report says "helps" or "hurts"? */
static inline bool fsim_is_called(const fsim_pair *p) { return p->likely.low > 1 || p->likely.high < 1; }
/* All pairs, in the order of the rows that are not eager. Returns their number. In a. */
int fsim_pairs_of(const fsim_evaluated *e, int count, fsim_arena *a, fsim_pair **out);

typedef struct {
    const char *hw, *folder, *strategy; /* NULL: of any */
    int excluded;                       /* excluded pairs, which are not in error */
    fsim_stats error;
    double rank;                               /* Spearman's, measured against predicted */
    int verdict[FSIM_VERDICTS][FSIM_VERDICTS]; /* [measured][predicted] */
    double right, majority; /* share of right verdicts; share of the most frequent measured verdict, which a constant
                               answer would reach */
    double helps_right, helps_majority; /* the same for two verdicts only: helps or not */
    double faster_right;                /* the same for the direction alone: the other is the faster one, or eager */
    double coverage;                    /* share of measured speedups within the 80 % intervals of predicted ones */
    double called;                      /* share of pairs that are called: whose interval leaves out 1 */
    double called_right;                /* share of these where the measured speedup is on the same side of 1 */
} fsim_speedup_stats;
/* Statistics of the pairs that are not excluded, by GPU, folder and strategy, sorted by name. Returns how many. In
 * a. */
int fsim_speedups_of(const fsim_pair *pair, int count, fsim_arena *a, fsim_speedup_stats **out);
/* Of all pairs together. */
fsim_speedup_stats fsim_speedup_of(const fsim_pair *pair, int count, fsim_arena *a);

#endif
