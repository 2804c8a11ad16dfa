/* SPDX-License-Identifier: Apache-2.0 */
/* unit.h: "3.35 TB/s" to a number in SI base units. The only place with a 1e9 or a 1024. */
#ifndef FUSESIM_BASE_UNIT_H
#define FUSESIM_BASE_UNIT_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    FSIM_DIM_NONE,            /* a count or a ratio: no unit */
    FSIM_DIM_BYTES,           /* KiB MiB GiB B; kB MB GB where decimal is allowed */
    FSIM_DIM_BYTES_PER_S,     /* GB/s TB/s (decimal) GiB/s */
    FSIM_DIM_FLOPS,           /* FLOP/s GFLOP/s TFLOP/s PFLOP/s, TOP/s for integers */
    FSIM_DIM_HZ,              /* MHz GHz */
    FSIM_DIM_SECONDS,         /* ns us ms s */
    FSIM_DIM_WATTS,           /* W */
    FSIM_DIM_BITS,            /* bit */
    FSIM_DIM_BITS_PER_S,      /* Gbit/s, Mbit/s: a memory pin's rate */
    FSIM_DIM_BYTES_PER_CLOCK, /* B/clk */
    FSIM_DIM_PER_CLOCK,       /* /clk: results per clock and SM */
    FSIM_DIM_USD_PER_H,       /* USD/h: a price */
    FSIM_DIM_COUNT
} fsim_dim;

/* Parses "NUMBER UNIT" ("1555 GB/s", "163 KiB", "132"). False with *why set in the user's words ("is bytes, wanted
 * bytes per second", "has no unit, wanted e.g. GB/s", "is not a number"). NaN and infinities are errors. */
bool fsim_parse_unit(const char *text, fsim_dim want, double *value, const char **why);
/* The factor of a unit in the spelling of GPU profilers: "ns" "nsecond" "us" "usecond" ..., "byte" "Kbyte" "Mbyte"
 * "Gbyte" (decimal), "sector" (32 bytes), "" (1). False for any other. */
bool fsim_profiler_unit(const char *unit, fsim_dim want, double *factor);
const char *fsim_dim_name(fsim_dim dim);    /* "bytes per second" */
const char *fsim_dim_example(fsim_dim dim); /* "1555 GB/s" */

/* Text for people, written to buffer, which is returned: "12.6 MiB". NaN and infinities are "unknown". */
char *fsim_show_bytes(char *buffer, size_t size, double bytes);
/* "34.2 us" */
char *fsim_show_seconds(char *buffer, size_t size, double seconds);
/* "1.55 TB/s", "19.5 TFLOP/s", with `unit` behind the prefix */
char *fsim_show_rate(char *buffer, size_t size, double per_s, const char *unit);
/* "12.3 G" */
char *fsim_show_count(char *buffer, size_t size, double count);
/* Any value by its dimension, in the unit that a hardware file would use. */
char *fsim_show(char *buffer, size_t size, double value, fsim_dim dim);

#endif
