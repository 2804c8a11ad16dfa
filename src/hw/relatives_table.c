/* SPDX-License-Identifier: Apache-2.0 */
/* A program of the build: relatives_table FILE... prints the C source of fsim_shipped_relatives for these hardware
 * files. Numbers are hexadecimal floats, exact to the last bit. */
#include "hw/relatives.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* This program makes the figures: its own messages have none. */
const fsim_hw_figures fsim_shipped_ranges[FSIM_HW_COUNT];

static int by_value(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static int by_name(const void *x, const void *y)
{
    return strcmp(((const fsim_relative *)x)->name, ((const fsim_relative *)y)->name);
}

static void put_number(double x)
{
    if (isnan(x))
        fputs("NAN", stdout);
    else
        printf("%a", x);
}

static void put_relative(const fsim_relative *r)
{
    printf("    {.name = \"%s\", .cpu = %d, .stacked_memory = %d, .distance_step = ", r->name, r->cpu,
           r->stacked_memory);
    put_number(r->distance_step);
    fputs(", .watts_per_flop = ", stdout);
    put_number(r->watts_per_flop);
    fputs(", .figure = {", stdout);
    for (int k = 0; k < FSIM_HW_COUNT; k++) {
        fputs(k % 10 ? ", " : k ? ",\n        " : "\n        ", stdout);
        put_number(r->figure[k]);
    }
    puts("}},");
}

/* The row of fsim_shipped_ranges for this key. */
static void put_figures(fsim_arena *a, const fsim_hw *const *hw, int count, int key)
{
    double *all = fsim_new(a, double, count + 1);
    int found = 0;
    for (int i = 0; i < count; i++)
        if (!hw[i]->host && hw[i]->sm + (hw[i]->arch->design == FSIM_CDNA) > 0 && !hw[i]->q[key].typical &&
            !isnan(fsim_hw_peak(hw[i], (fsim_hw_key)key)))
            all[found++] = fsim_hw_peak(hw[i], (fsim_hw_key)key);
    qsort(all, (size_t)found, sizeof *all, by_value);
    fputs("    {", stdout);
    put_number(found ? all[0] : (double)NAN);
    fputs(", ", stdout);
    put_number(found ? all[found / 2] : (double)NAN);
    fputs(", ", stdout);
    put_number(found ? all[found - 1] : (double)NAN);
    puts("},");
}

int main(int argc, char **argv)
{
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    fsim_relative *r = fsim_new(a, fsim_relative, argc);
    const fsim_hw **all = fsim_new(a, const fsim_hw *, argc);
    int count = 0;
    for (int i = 1; i < argc; i++) {
        const fsim_hw *hw = fsim_hw_read(a, d, argv[i]);
        if (!hw)
            continue;
        all[count] = hw;
        r[count++] = fsim_relative_of(hw);
    }
    fsim_diag_print(d, stderr, false);
    if (count < argc - 1)
        return EXIT_FAILURE;
    qsort(r, (size_t)count, sizeof *r, by_name);
    puts("/* Made by the build from hwmodels/: src/hw/relatives_table.c. */\n#include \"hw/relatives.h\"\n#include "
         "<math.h>\n\nconst fsim_relative fsim_shipped_relatives[] = {");
    for (int i = 0; i < count; i++)
        put_relative(&r[i]);
    printf("};\nconst int fsim_shipped_relatives_count = %d;\n", count);
    puts("const fsim_hw_figures fsim_shipped_ranges[FSIM_HW_COUNT] = {");
    for (int k = 0; k < FSIM_HW_COUNT; k++)
        put_figures(a, all, count, k);
    puts("};");
    fsim_arena_free(a);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
