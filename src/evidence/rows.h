/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h: measurements files: CSV with a header, one measured run in each row.
 *
 *     id,hw,workload,set,strategy,l2,launch,time_s,dram_read_bytes,dram_write_bytes,source
 * Rows of a training have a column `mode`, and may lack l2 and launch: of Liger's benchmarks, cold and kernel, else
 * unknown and stream. peak_bytes is the peak of memory, with or without a time: a row of its own. source names the
 * software that ran; for a serving stack it decides whose attention kernels it had (fsim_maker_named). Columns may be
 * in any order, and there may be others. `kernel` may name primitives ("h+g"): the row is then the time of the plan's
 * kernel that contains the first of them, not of the whole plan. A row with an empty workload is skipped. Fields may be
 * quoted, with quotes doubled inside (RFC 4180). */
#ifndef FUSESIM_EVIDENCE_ROWS_H
#define FUSESIM_EVIDENCE_ROWS_H

#include "cost/cost.h"
#include "plan/search/search.h"

typedef enum { FSIM_L2_COLD, FSIM_L2_WARM, FSIM_L2_UNKNOWN } fsim_l2_state;
extern const char *const fsim_l2_names[]; /* cold warm unknown */

/* What was measured of a training: `mode`. Without one: the workload as it stands. */
typedef enum {
    FSIM_MODE_NONE,
    FSIM_MODE_FORWARD,
    FSIM_MODE_BACKWARD,
    FSIM_MODE_FULL,       /* both */
    FSIM_MODE_ACCUMULATE, /* the gradients of weights added to those of micro-batches before, and nothing else */
    FSIM_MODE_STEP,       /* forward, backward, and the update by AdamW */
    FSIM_MODES
} fsim_measured_part;
extern const char *const fsim_mode_names[FSIM_MODES];

typedef struct {
    const char *id, *hw, *workload, *set, *source;
    const char *kernel; /* "" or NULL: the whole plan */
    fsim_strategy strategy;
    fsim_l2_state l2;
    fsim_regime launch;
    fsim_measured_part mode;
    bool flash_2;   /* strategy eager+flash: attention is FlashAttention-2's */
    bool of_memory; /* the peak of memory was measured: time_s, here and in predictions, is bytes */
    double time_s;  /* measured */
    double dram_read_bytes, dram_write_bytes; /* measured; NaN where they were not */
    fsim_loc at;
} fsim_measured;

typedef struct {
    fsim_measured *at;
    int count;
} fsim_measurements;

/* Parses the rows. Errors (a missing column, an unknown strategy, a time that is no number) are in d; rows with
 * errors are left out. In a. */
fsim_measurements fsim_rows_parse(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes);

/* Writes header and rows in the format that fsim_rows_parse reads; with a column `mode` where a row has one. */
void fsim_rows_write(FILE *out, const fsim_measured *row, int count);

#endif
