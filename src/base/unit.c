/* SPDX-License-Identifier: Apache-2.0 */
#include "base/unit.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* dimension, its name, an example with its unit */
#define DIMENSIONS(X)                                                                                                  \
    X(FSIM_DIM_NONE, "a plain number", "132")                                                                          \
    X(FSIM_DIM_BYTES, "bytes", "163 KiB")                                                                              \
    X(FSIM_DIM_BYTES_PER_S, "bytes per second", "1555 GB/s")                                                           \
    X(FSIM_DIM_FLOPS, "operations per second", "19.5 TFLOP/s")                                                         \
    X(FSIM_DIM_HZ, "a frequency", "1410 MHz")                                                                          \
    X(FSIM_DIM_SECONDS, "a time", "2.4 us")                                                                            \
    X(FSIM_DIM_WATTS, "a power", "400 W")                                                                              \
    X(FSIM_DIM_BITS, "bits", "5120 bit")                                                                               \
    X(FSIM_DIM_BITS_PER_S, "bits per second", "3.2 Gbit/s")                                                            \
    X(FSIM_DIM_BYTES_PER_CLOCK, "bytes per clock", "128 B/clk")                                                        \
    X(FSIM_DIM_PER_CLOCK, "results per clock", "64 /clk")                                                              \
    X(FSIM_DIM_USD_PER_H, "dollars an hour", "2.99 USD/h")

/* "is bytes, wanted ..." for every dimension that may be wanted. Messages are constants, so that parsing allocates
 * nothing. */
#define CLASH(found)                                                                                                   \
    {found ", wanted a plain number, e.g. 132",                                                                        \
     found ", wanted bytes, e.g. 163 KiB",                                                                             \
     found ", wanted bytes per second, e.g. 1555 GB/s",                                                                \
     found ", wanted operations per second, e.g. 19.5 TFLOP/s",                                                        \
     found ", wanted a frequency, e.g. 1410 MHz",                                                                      \
     found ", wanted a time, e.g. 2.4 us",                                                                             \
     found ", wanted a power, e.g. 400 W",                                                                             \
     found ", wanted bits, e.g. 5120 bit",                                                                             \
     found ", wanted bits per second, e.g. 3.2 Gbit/s",                                                                \
     found ", wanted bytes per clock, e.g. 128 B/clk",                                                                 \
     found ", wanted results per clock, e.g. 64 /clk",                                                                 \
     found ", wanted dollars an hour, e.g. 2.99 USD/h"},
#define CLASH_ROW(dim, name, example) CLASH("is " name)

static const struct {
    const char *name, *example;
} dimensions[FSIM_DIM_COUNT] = {
#define ROW(dim, name, example) [dim] = {name, example},
    DIMENSIONS(ROW)
#undef ROW
};
static const char *const clash[FSIM_DIM_COUNT][FSIM_DIM_COUNT] = {DIMENSIONS(CLASH_ROW)}; /* [found][wanted] */
static const char *const no_unit[1][FSIM_DIM_COUNT] = {CLASH("has no unit")};
static const char *const no_such_unit[1][FSIM_DIM_COUNT] = {CLASH("has an unknown unit")};

static const struct {
    const char *name;
    fsim_dim dim;
    double factor;
} units[] = {
    {"B", FSIM_DIM_BYTES, 1},
    {"KiB", FSIM_DIM_BYTES, 1024.0},
    {"MiB", FSIM_DIM_BYTES, 1024.0 * 1024},
    {"GiB", FSIM_DIM_BYTES, 1024.0 * 1024 * 1024},
    {"TiB", FSIM_DIM_BYTES, 1024.0 * 1024 * 1024 * 1024},
    {"kB", FSIM_DIM_BYTES, 1e3},
    {"KB", FSIM_DIM_BYTES, 1e3},
    {"MB", FSIM_DIM_BYTES, 1e6},
    {"GB", FSIM_DIM_BYTES, 1e9},
    {"TB", FSIM_DIM_BYTES, 1e12},
    {"B/s", FSIM_DIM_BYTES_PER_S, 1},
    {"kB/s", FSIM_DIM_BYTES_PER_S, 1e3},
    {"MB/s", FSIM_DIM_BYTES_PER_S, 1e6},
    {"GB/s", FSIM_DIM_BYTES_PER_S, 1e9},
    {"TB/s", FSIM_DIM_BYTES_PER_S, 1e12},
    {"PB/s", FSIM_DIM_BYTES_PER_S, 1e15},
    {"MiB/s", FSIM_DIM_BYTES_PER_S, 1024.0 * 1024},
    {"GiB/s", FSIM_DIM_BYTES_PER_S, 1024.0 * 1024 * 1024},
    {"TiB/s", FSIM_DIM_BYTES_PER_S, 1024.0 * 1024 * 1024 * 1024},
    {"FLOP/s", FSIM_DIM_FLOPS, 1},
    {"MFLOP/s", FSIM_DIM_FLOPS, 1e6},
    {"GFLOP/s", FSIM_DIM_FLOPS, 1e9},
    {"TFLOP/s", FSIM_DIM_FLOPS, 1e12},
    {"PFLOP/s", FSIM_DIM_FLOPS, 1e15},
    {"OP/s", FSIM_DIM_FLOPS, 1},
    {"GOP/s", FSIM_DIM_FLOPS, 1e9},
    {"TOP/s", FSIM_DIM_FLOPS, 1e12},
    {"POP/s", FSIM_DIM_FLOPS, 1e15},
    {"Hz", FSIM_DIM_HZ, 1},
    {"kHz", FSIM_DIM_HZ, 1e3},
    {"MHz", FSIM_DIM_HZ, 1e6},
    {"GHz", FSIM_DIM_HZ, 1e9},
    {"ns", FSIM_DIM_SECONDS, 1e-9},
    {"us", FSIM_DIM_SECONDS, 1e-6},
    {"\xC2\xB5s", FSIM_DIM_SECONDS, 1e-6}, /* the micro sign */
    {"\xCE\xBCs", FSIM_DIM_SECONDS, 1e-6}, /* Greek mu */
    {"ms", FSIM_DIM_SECONDS, 1e-3},
    {"s", FSIM_DIM_SECONDS, 1},
    {"mW", FSIM_DIM_WATTS, 1e-3},
    {"W", FSIM_DIM_WATTS, 1},
    {"kW", FSIM_DIM_WATTS, 1e3},
    {"bit", FSIM_DIM_BITS, 1},
    {"bit/s", FSIM_DIM_BITS_PER_S, 1},
    {"Mbit/s", FSIM_DIM_BITS_PER_S, 1e6},
    {"Gbit/s", FSIM_DIM_BITS_PER_S, 1e9},
    {"Tbit/s", FSIM_DIM_BITS_PER_S, 1e12},
    {"B/clk", FSIM_DIM_BYTES_PER_CLOCK, 1},
    {"/clk", FSIM_DIM_PER_CLOCK, 1},
    {"USD/h", FSIM_DIM_USD_PER_H, 1},
};

/* Units of Nsight Compute. Prefixes are decimal there, for bytes too. */
static const struct {
    const char *name;
    fsim_dim dim;
    double factor;
} profiler_units[] = {
    {"ns", FSIM_DIM_SECONDS, 1e-9},
    {"nsecond", FSIM_DIM_SECONDS, 1e-9},
    {"us", FSIM_DIM_SECONDS, 1e-6},
    {"usecond", FSIM_DIM_SECONDS, 1e-6},
    {"ms", FSIM_DIM_SECONDS, 1e-3},
    {"msecond", FSIM_DIM_SECONDS, 1e-3},
    {"s", FSIM_DIM_SECONDS, 1},
    {"second", FSIM_DIM_SECONDS, 1},
    {"\xC2\xB5s", FSIM_DIM_SECONDS, 1e-6},
    {"\xCE\xBCs", FSIM_DIM_SECONDS, 1e-6},
    {"byte", FSIM_DIM_BYTES, 1},
    {"Kbyte", FSIM_DIM_BYTES, 1e3},
    {"Mbyte", FSIM_DIM_BYTES, 1e6},
    {"Gbyte", FSIM_DIM_BYTES, 1e9},
    {"Tbyte", FSIM_DIM_BYTES, 1e12},
    {"", FSIM_DIM_BYTES, 1},
    {"sector", FSIM_DIM_BYTES, 32},
    {"Ksector", FSIM_DIM_BYTES, 32e3},
    {"Msector", FSIM_DIM_BYTES, 32e6},
    {"Gsector", FSIM_DIM_BYTES, 32e9},
};

bool fsim_profiler_unit(const char *unit, fsim_dim want, double *factor)
{
    for (size_t i = 0; i < sizeof profiler_units / sizeof *profiler_units; i++)
        if (profiler_units[i].dim == want && strcmp(profiler_units[i].name, unit) == 0) {
            *factor = profiler_units[i].factor;
            return true;
        }
    return false;
}

/* The end of [+-]digits[.digits][e[+-]digits] at text, or text where there is no number. strtod alone would accept
 * hexadecimal, inf and nan. */
static const char *number_end(const char *text)
{
    const char *p = text;
    if (*p == '+' || *p == '-')
        p++;
    const char *digits = p;
    int seen = 0;
    for (; isdigit((unsigned char)*p) || (*p == '.' && !memchr(digits, '.', (size_t)(p - digits))); p++)
        seen += *p != '.';
    if (!seen)
        return text;
    if (*p == 'e' || *p == 'E') {
        const char *q = p + 1 + (p[1] == '+' || p[1] == '-');
        if (isdigit((unsigned char)*q)) {
            for (p = q; isdigit((unsigned char)*p); p++)
                ;
        }
    }
    return p;
}

bool fsim_parse_unit(const char *text, fsim_dim want, double *value, const char **why)
{
    while (isspace((unsigned char)*text))
        text++;
    const char *unit = number_end(text);
    if (unit == text) {
        *why = "is not a number";
        return false;
    }
    const double number = strtod(text, NULL);
    while (isspace((unsigned char)*unit))
        unit++;
    size_t length = strlen(unit);
    while (length && isspace((unsigned char)unit[length - 1]))
        length--;
    double factor = 1;
    if (length == 0 && want != FSIM_DIM_NONE) {
        *why = no_unit[0][want];
        return false;
    }
    if (length) {
        size_t i = 0;
        while (i < sizeof units / sizeof *units &&
               (strlen(units[i].name) != length || memcmp(units[i].name, unit, length) != 0))
            i++;
        if (i == sizeof units / sizeof *units) {
            *why = no_such_unit[0][want];
            return false;
        }
        if (units[i].dim != want) {
            *why = clash[units[i].dim][want];
            return false;
        }
        factor = units[i].factor;
    }
    if (!isfinite(number * factor)) {
        *why = "is too large";
        return false;
    }
    *value = number * factor;
    return true;
}

const char *fsim_dim_name(fsim_dim dim) { return dimensions[dim].name; }

const char *fsim_dim_example(fsim_dim dim) { return dimensions[dim].example; }

/* Three significant digits; integers are shown in full. */
static void show_scaled(char *buffer, size_t size, double x, const char *prefix, const char *unit)
{
    const double v = fabs(x);
    const int decimals = v == floor(v) || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
    snprintf(buffer, size, "%.*f%s%s%s", decimals, x, *prefix || *unit ? " " : "", prefix, unit);
}

/* A prefix for each power of step. */
typedef struct {
    double step;
    int count;
    const char *name[7];
} prefixes;

static char *show(char *buffer, size_t size, double x, const prefixes *p, const char *unit)
{
    if (!isfinite(x)) {
        snprintf(buffer, size, "unknown");
        return buffer;
    }
    int i = 0;
    while (i + 1 < p->count && fabs(x) >= p->step - 0.5) {
        x /= p->step;
        i++;
    }
    if (fabs(x) >= 1e15) /* beyond the last prefix by far: %f would print hundreds of digits */
        snprintf(buffer, size, "%.3g %s%s", x, p->name[i], unit);
    else
        show_scaled(buffer, size, x, p->name[i], unit);
    return buffer;
}

char *fsim_show_bytes(char *buffer, size_t size, double bytes)
{
    static const prefixes binary = {1024, 6, {"", "Ki", "Mi", "Gi", "Ti", "Pi"}};
    return show(buffer, size, bytes, &binary, "B");
}

char *fsim_show_seconds(char *buffer, size_t size, double seconds)
{
    static const prefixes small = {1000, 4, {"n", "u", "m", ""}}, none = {1000, 1, {""}};
    if (isfinite(seconds) && fabs(seconds) < 1e9)
        return show(buffer, size, seconds * 1e9, &small, "s");
    return show(buffer, size, seconds, &none, "s");
}

static const prefixes decimal = {1000, 7, {"", "k", "M", "G", "T", "P", "E"}};

char *fsim_show_rate(char *buffer, size_t size, double per_s, const char *unit)
{
    return show(buffer, size, per_s, &decimal, unit);
}

char *fsim_show_count(char *buffer, size_t size, double count) { return show(buffer, size, count, &decimal, ""); }

char *fsim_show(char *buffer, size_t size, double value, fsim_dim dim)
{
    static const struct {
        double factor;
        const char *unit;
    } as[FSIM_DIM_COUNT] = {
        [FSIM_DIM_NONE] = {1, ""},
        [FSIM_DIM_BYTES_PER_S] = {1e9, " GB/s"},
        [FSIM_DIM_FLOPS] = {1e12, " TFLOP/s"},
        [FSIM_DIM_HZ] = {1e6, " MHz"},
        [FSIM_DIM_WATTS] = {1, " W"},
        [FSIM_DIM_BITS] = {1, " bit"},
        [FSIM_DIM_BITS_PER_S] = {1e9, " Gbit/s"},
        [FSIM_DIM_BYTES_PER_CLOCK] = {1, " B/clk"},
        [FSIM_DIM_PER_CLOCK] = {1, " /clk"},
        [FSIM_DIM_USD_PER_H] = {1, " USD/h"},
    };
    if (dim == FSIM_DIM_BYTES)
        return fsim_show_bytes(buffer, size, value);
    if (dim == FSIM_DIM_SECONDS)
        return fsim_show_seconds(buffer, size, value);
    if (isfinite(value))
        snprintf(buffer, size, "%.7g%s", value / as[dim].factor, as[dim].unit);
    else
        snprintf(buffer, size, "unknown");
    return buffer;
}
