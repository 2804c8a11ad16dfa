/* SPDX-License-Identifier: Apache-2.0 */
/* system.h: whole systems that were measured: a model on so many GPUs under a serving program, or in training. */
#ifndef FUSESIM_SERVING_SYSTEM_H
#define FUSESIM_SERVING_SYSTEM_H

#include "base/diag.h"
#include <stdint.h>

/* What was measured; the words are those of the column `mode`. */
typedef enum {
    FSIM_SYSTEM_STATIC,   /* "static batch": equal requests from prefill to the last token together */
    FSIM_SYSTEM_PREFILL,  /* "prefill": one prompt and the first token */
    FSIM_SYSTEM_MAXIMUM,  /* "maximum load": all requests queued */
    FSIM_SYSTEM_FIXED,    /* "fixed concurrency": so many requests always under way */
    FSIM_SYSTEM_TRAINING, /* "training step" */
    FSIM_SYSTEM_MODES
} fsim_system_mode;
extern const char *const fsim_system_mode_names[FSIM_SYSTEM_MODES];

/* A row. Counts that it leaves blank are 0, texts "". */
typedef struct {
    const char *id, *source, *model, *precision, *kv_precision, *hw, *metric, *unit, *notes;
    fsim_system_mode mode;
    int64_t gpus, tp, pp, dp, ep, batch, input, output;
    double value;
    const char *fault; /* a count that no system has: why the row can't be predicted; NULL: none */
    fsim_loc at;
} fsim_system;

typedef struct {
    fsim_system *at;
    int count;
} fsim_systems;

/* Parses a CSV file with a header of these columns, in any order, and possibly others. Errors (a missing column, an
 * unknown mode, what is no number, a value not above 0) are in d; rows with errors are left out. In a. */
fsim_systems fsim_systems_parse(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes);

/* A serving program (engines.def). */
typedef struct {
    const char *words, *since;
    double host_s, rank_s, first_s;
    int64_t most, tokens;
    double share;
    bool whole;
    double reserved;
    const char *cache;
    int64_t masked;
    bool xqa, bytes, cutlass;
} fsim_engine;
/* The engine whose words are in source; NULL: none. */
const fsim_engine *fsim_engine_in(const char *source);

#endif
