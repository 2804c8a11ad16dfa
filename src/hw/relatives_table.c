/* SPDX-License-Identifier: Apache-2.0 */
/* A program of the build: relatives_table FILE... prints the C source of fsim_shipped_relatives for these hardware
 * files. Numbers are hexadecimal floats, exact to the last bit. */
#include "hw/relatives.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

int main(int argc, char **argv)
{
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    fsim_relative *r = fsim_new(a, fsim_relative, argc);
    int count = 0;
    for (int i = 1; i < argc; i++) {
        const fsim_hw *hw = fsim_hw_read(a, d, argv[i]);
        if (hw)
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
    fsim_arena_free(a);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
