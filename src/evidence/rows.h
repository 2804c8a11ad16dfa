/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h: measurements files: CSV with a header, a measured run a row.
 *
 *     id,hw,workload,set,strategy,l2,launch,time_s,dram_read_bytes,dram_write_bytes,source
 * source names the software that ran: of a serving stack it decides whose attention it was (fsim_maker_named).
 * Columns may come in any order; more are allowed and kept aside. `kernel` may name primitives ("h+g"): the row then
 * times the kernel of the plan that holds the first of them, not the whole. A row with an empty workload is of
 * something that is not known here: it is left out. Fields may be quoted, quotes doubled inside (RFC 4180). */
#ifndef FUSESIM_EVIDENCE_ROWS_H
#define FUSESIM_EVIDENCE_ROWS_H

#include "cost/cost.h"
#include "plan/search/search.h"

typedef enum { FSIM_L2_COLD, FSIM_L2_WARM, FSIM_L2_UNKNOWN } fsim_l2_state;
extern const char *const fsim_l2_names[]; /* cold warm unknown */

typedef struct {
    const char *id, *hw, *workload, *set, *source;
    const char *kernel; /* "": the whole; NULL is the same */
    fsim_strategy strategy;
    fsim_l2_state l2;
    fsim_regime launch;
    double time_s;                            /* measured */
    double dram_read_bytes, dram_write_bytes; /* measured; NaN where they were not */
    fsim_loc at;
} fsim_measured;

typedef struct {
    fsim_measured *at;
    int count;
} fsim_measurements;

/* The rows of a file's text. Errors (a missing column, an unknown strategy, a time that is none) are in d; rows with
 * errors are left out. In a. */
fsim_measurements fsim_rows_parse(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes);

/* Writes header and rows in the format that fsim_rows_parse reads. */
void fsim_rows_write(FILE *out, const fsim_measured *row, int count);

#endif
