/* SPDX-License-Identifier: Apache-2.0 */
/* hw.h: a GPU, or a CPU in its place, as numbers with units and sources. The keys are rows of hw.def. */
#ifndef FUSESIM_HW_HW_H
#define FUSESIM_HW_HW_H

#include "base/unit.h"
#include "hw/architecture.h"
#include "input/yaml.h"
#include <math.h>

typedef enum {
#define FSIM_HW(id, ...) FSIM_HW_##id,
#include "hw/hw.def"
#undef FSIM_HW
    FSIM_HW_COUNT
} fsim_hw_key;

/* How a key may be written: {value}, {peak, achieved}, or dram_bus's {width, rate}. */
typedef enum { FSIM_HW_VALUE, FSIM_HW_PEAK, FSIM_HW_BUS } fsim_hw_form;
/* The unit of a kernel's time that a key feeds. */
typedef enum {
    FSIM_FEEDS_NO_UNIT,
    FSIM_FEEDS_LAUNCH,
    FSIM_FEEDS_DRAM,
    FSIM_FEEDS_L2,
    FSIM_FEEDS_SHARED,
    FSIM_FEEDS_COMPUTE,
    FSIM_FEEDS_SPECIAL,
    FSIM_FEEDS_ISSUE,
    FSIM_FEEDS_LATENCY
} fsim_hw_feeds;
typedef struct {
    const char *key;
    fsim_dim dim;
    fsim_hw_form form;
    bool required;    /* a missing row is an error; 'unknown' is allowed for the others */
    double low, high; /* sanity range in SI units */
    double otherwise; /* of a fitted scalar, where a file has none; else NaN */
    fsim_hw_feeds feeds;
    const char *meaning; /* in a few words, for people */
} fsim_hw_row;
extern const fsim_hw_row fsim_hw_rows[FSIM_HW_COUNT];

/* NaN where not given. value and peak share a field: a key has one or the other. */
typedef struct {
    double value, achieved;
    double bus_rate_bits_per_s; /* FSIM_HW_BUS: value is the width in bits */
    double spread;              /* of a fitted scalar; relative; NaN */
    const char *source;
    bool present, unknown;
    bool exact;   /* written as {value}: what to plan with, not a peak that something falls short of */
    bool typical; /* a fitted scalar that the file lacks: value is fsim_hw_row.otherwise */
    fsim_loc at, value_at, achieved_at;
} fsim_quantity;

/* Which keys were read, and how: bits of fsim_hw_how. */
typedef enum { FSIM_HW_READ_RATE = 1, FSIM_HW_READ_PEAK = 2 } fsim_hw_how;
typedef struct {
    unsigned char how[FSIM_HW_COUNT];
} fsim_hw_keys;

typedef struct {
    const char *name, *description, *architecture; /* sm_80, gfx942, host */
    const char *path;
    char hash[65];                 /* SHA-256 of the file's bytes and of every --hw-set */
    int sm;                        /* 80 for sm_80; 0 elsewhere */
    const fsim_architecture *arch; /* what the architecture decides; never NULL */
    bool host; /* a CPU: an "SM" is a thread's core, a block runs on one core alone, L2 is the last-level cache */
    fsim_quantity q[FSIM_HW_COUNT];
    fsim_hw_keys *read; /* gets every key that fsim_hw_get and its like are asked for; NULL: nobody wants to know */
} fsim_hw;

/* Reads and checks one file. NULL after errors (in d). In a. */
fsim_hw *fsim_hw_read(fsim_arena *a, fsim_diag *d, const char *path);
/* As fsim_hw_read on text that is already here. */
fsim_hw *fsim_hw_parse(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes);
/* "dram_bandwidth=2x", "dram_bandwidth=2 TB/s", "sms=64". A factor scales peak and achieved. Changes hw and its hash.
 * False after an error. */
bool fsim_hw_set(fsim_arena *a, fsim_diag *d, fsim_hw *hw, const char *assignment);

/* How prices read a key. Each notes it in hw->read, so that a report can say what a price rests on: whoever prices
 * something again on a copy of hw with a set of its own there learns its keys (plan/price/basis.h). Pricing reads
 * hw->q[] in no other way. */
static inline const fsim_quantity *fsim_hw_read_key(const fsim_hw *hw, fsim_hw_key key, fsim_hw_how how)
{
    if (hw->read)
        hw->read->how[key] |= (unsigned char)how;
    return &hw->q[key];
}

/* The rate to plan with: achieved where given, else value (peak); NaN when unknown. SI units. */
static inline double fsim_hw_get(const fsim_hw *hw, fsim_hw_key key)
{
    const fsim_quantity *q = fsim_hw_read_key(hw, key, FSIM_HW_READ_RATE);
    return isnan(q->achieved) ? q->value : q->achieved;
}

/* The data sheet's figure (peak, or value). */
static inline double fsim_hw_peak(const fsim_hw *hw, fsim_hw_key key)
{
    const fsim_quantity *q = fsim_hw_read_key(hw, key, FSIM_HW_READ_PEAK);
    return isnan(q->value) ? q->achieved : q->value;
}

/* What was achieved of a peak; NaN: not known. */
static inline double fsim_hw_achieved(const fsim_hw *hw, fsim_hw_key key)
{
    return fsim_hw_read_key(hw, key, FSIM_HW_READ_RATE)->achieved;
}

/* Is there a figure? Asking does not count as reading it. */
static inline bool fsim_hw_has(const fsim_hw *hw, fsim_hw_key key)
{
    return !isnan(hw->q[key].value) || !isnan(hw->q[key].achieved);
}

/* Where the figure of fsim_hw_get is from, as its source says: "measured: ...", "fitted: ...", "assumed: ..."; a data
 * sheet else. */
typedef enum { FSIM_FROM_MEASURED, FSIM_FROM_FITTED, FSIM_FROM_DATASHEET, FSIM_FROM_ASSUMED, FSIM_ORIGINS } fsim_origin;
extern const char *const fsim_origin_names[FSIM_ORIGINS]; /* measured fitted datasheet assumed */
fsim_origin fsim_hw_origin(const fsim_hw *hw, fsim_hw_key key);
/* The same for fsim_hw_peak. */
fsim_origin fsim_hw_peak_origin(const fsim_hw *hw, fsim_hw_key key);
/* Was the key read, and has hw a figure for it? *from then says where what was read is from: the weaker of the two, in
 * the order of fsim_origin, where both the peak and the rate to plan with were read. */
bool fsim_hw_was_read(const fsim_hw *hw, const fsim_hw_keys *read, fsim_hw_key key, fsim_origin *from);

/* Cross-checks between keys (dense against sparse, bus x rate, SMs x units x clock, GB against GiB, achieved above
 * peak): an error in d for each, naming both figures. Returns the number found. fsim_hw_parse runs them too. */
int fsim_hw_lint(fsim_arena *a, fsim_diag *d, const fsim_hw *hw);

#endif
