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
/* What a file without the key has. */
typedef enum {
    FSIM_ABSENT_NEEDED,       /* nothing: its absence is an error */
    FSIM_ABSENT_UNKNOWN,      /* no figure; a fitted scalar: its typical value, or that of similar GPUs */
    FSIM_ABSENT_ARCHITECTURE, /* what hw/architecture.def says */
    FSIM_ABSENT_DERIVED,      /* what other keys make */
    FSIM_ABSENT_SIMILAR       /* the figure of similar shipped GPUs: hw/relatives.h */
} fsim_hw_absent;
/* The largest `spread` that a hardware file may state. */
enum { FSIM_HW_MOST_SPREAD = 10 };
/* Which part of a kernel's time a key contributes to. */
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
    bool required; /* no prediction can do without it: it can't be 'unknown' */
    fsim_hw_absent absent;
    double low, high; /* values outside are errors; SI units */
    double otherwise; /* fitted scalar: the value where a file has none; otherwise NaN */
    fsim_hw_feeds feeds;
    const char *meaning; /* in a few words, for people */
} fsim_hw_row;
extern const fsim_hw_row fsim_hw_rows[FSIM_HW_COUNT];

/* Who says a figure. */
typedef enum {
    FSIM_HW_GIVEN,             /* the file, or --hw-set */
    FSIM_HW_FROM_ARCHITECTURE, /* hw/architecture.def */
    FSIM_HW_FROM_KEYS,         /* derived from other keys of the GPU */
    FSIM_HW_FROM_LIKE,         /* the GPU of the file's `like:`; it counts as assumed, whatever it was there */
    FSIM_HW_FROM_SIMILAR,      /* similar shipped GPUs, or the typical value of a fitted scalar */
    FSIM_HW_FROMS
} fsim_hw_from;
extern const char *const fsim_hw_from_names[FSIM_HW_FROMS]; /* given architecture derived inherited assumed */

/* The figures of a key; NaN where there is none. value and peak share a field: a key has one of them. */
typedef struct {
    double value, achieved;
    double bus_rate_bits_per_s; /* FSIM_HW_BUS: value is the width in bits */
    double spread;              /* relative error of a fitted scalar; NaN */
    const char *source;
    bool present, unknown;
    fsim_hw_from from;
    bool changed; /* by --hw-set */
    bool exact;   /* written as {value}: plan with it as it is, not with a share of it */
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
    const char *like; /* the GPU that keys are inherited from, as the file names it; NULL: none */
    fsim_loc like_at;
    char hash[65]; /* SHA-256 of the file's bytes, of the files it inherits from and of every --hw-set */
    int sm;        /* 80 for sm_80; 0 elsewhere */
    const fsim_architecture *arch; /* what the architecture decides; never NULL */
    bool host; /* a CPU: an "SM" is the core of a thread, which runs one block at a time; L2 is the last-level cache */
    fsim_quantity q[FSIM_HW_COUNT];
    fsim_hw_keys *read; /* records which keys are read through fsim_hw_get and its like; NULL: they are not recorded */
    struct fsim_refit *refit; /* numbers of the code that are fitted anew (hw/refit.h); NULL: none */
} fsim_hw;

/* Reads and checks one file that inherits from no other (hw/load.h reads those too). NULL after errors (in d). In a. */
fsim_hw *fsim_hw_read(fsim_arena *a, fsim_diag *d, const char *path);
/* fsim_hw_read for text in memory. */
fsim_hw *fsim_hw_parse(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes);
/* The first half of fsim_hw_parse: the keys that the text gives, and nothing adopted. NULL after errors (in d). */
fsim_hw *fsim_hw_draft(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes);
/* The second half: what the draft lacks comes from `parent`, which is finished (NULL: it inherits from none), from the
 * architecture and from its other keys; then everything is checked. False after errors (in d). */
bool fsim_hw_finish(fsim_arena *a, fsim_diag *d, fsim_hw *hw, const fsim_hw *parent);
/* How the key may be written, with a figure that a shipped GPU has: "{value: 6 MiB, source: ...}". In a. */
const char *fsim_hw_example(fsim_arena *a, fsim_hw_key key);
/* "; shipped GPUs have 2 MiB to 256 MiB", or "" where none has the key. In a. */
const char *fsim_hw_range(fsim_arena *a, fsim_hw_key key);
/* "dram_bandwidth=2x", "dram_bandwidth=2 TB/s", "sms=64". A factor scales peak and achieved. Changes hw and its hash.
 * False after an error. */
bool fsim_hw_set(fsim_arena *a, fsim_diag *d, fsim_hw *hw, const char *assignment);

/* How prices read a key: only through these functions. Each records the key in hw->read, so that a report can say
 * what a price rests on: price again on a copy of hw that has its own set there, and the set has its keys
 * (plan/price/basis.h). */
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

/* The figure of the data sheet (peak, or value). */
static inline double fsim_hw_peak(const fsim_hw *hw, fsim_hw_key key)
{
    const fsim_quantity *q = fsim_hw_read_key(hw, key, FSIM_HW_READ_PEAK);
    return isnan(q->value) ? q->achieved : q->value;
}

/* The measured rate of a peak; NaN: unknown. */
static inline double fsim_hw_achieved(const fsim_hw *hw, fsim_hw_key key)
{
    return fsim_hw_read_key(hw, key, FSIM_HW_READ_RATE)->achieved;
}

/* Is there a figure? Asking is not recorded as reading. */
static inline bool fsim_hw_has(const fsim_hw *hw, fsim_hw_key key)
{
    return !isnan(hw->q[key].value) || !isnan(hw->q[key].achieved);
}

/* Where the figure of fsim_hw_get comes from, as the beginning of its source says: "measured: ...", "fitted: ...",
 * "assumed: ...", or else a data sheet. */
typedef enum { FSIM_FROM_MEASURED, FSIM_FROM_FITTED, FSIM_FROM_DATASHEET, FSIM_FROM_ASSUMED, FSIM_ORIGINS } fsim_origin;
extern const char *const fsim_origin_names[FSIM_ORIGINS]; /* measured fitted datasheet assumed */
fsim_origin fsim_hw_origin(const fsim_hw *hw, fsim_hw_key key);
/* Was the key read, and does hw have a figure for it? *from: where that figure comes from. If both the peak and the
 * rate to plan with were read, the less reliable of their origins, in the order of fsim_origin. */
bool fsim_hw_was_read(const fsim_hw *hw, const fsim_hw_keys *read, fsim_hw_key key, fsim_origin *from);

/* Cross-checks between keys (dense against sparse, bus x rate, SMs x units x clock, GB against GiB, achieved above
 * peak). Each failure is an error in d that names both figures. Returns their number. fsim_hw_parse calls it. */
int fsim_hw_lint(fsim_arena *a, fsim_diag *d, const fsim_hw *hw);

#endif
