/* SPDX-License-Identifier: Apache-2.0 */
#include "report/theme.h"

#include <math.h>
#include <string.h>

const char *const fsim_theme_names[FSIM_THEMES] = {"light", "dark", "print"};

static const unsigned inks[FSIM_THEMES][FSIM_INKS] = {
    {0xffffff, 0x1a1a1a, 0x5f6368, 0xe6e6e6, 0x8a8a8a, 0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9,
     0x6a3d9a, 0xb15928, 0x5e5e5e, 0xa9a9a9, 0x8c8c8c},
    {0x15181d, 0xe8eaed, 0xa4adb7, 0x2c323a, 0x707a86, 0x4fa3e0, 0xff7f3f, 0x2cc295, 0xe39cc6, 0xf2b53a, 0x9fdcff,
     0xa98be0, 0xcf8a5b, 0xc4c4c4, 0x747c86, 0x9a9a9a},
    {0xffffff, 0x000000, 0x404040, 0xd4d4d4, 0x202020, 0x005a8e, 0xb84a00, 0x007a58, 0xa85588, 0xc98500, 0x3c94c8,
     0x4e2a7f, 0x8a4319, 0x4a4a4a, 0x9c9c9c, 0x6e6e6e}};

unsigned fsim_ink_rgb(fsim_theme theme, fsim_ink ink) { return inks[theme][ink]; }

/* WCAG 2's relative luminance of a colour that lets a share of the page through. */
static double luminance(fsim_theme theme, fsim_ink ink, double through)
{
    static const double weight[] = {0.0722, 0.7152, 0.2126}; /* blue, green, red */
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        const double own = inks[theme][ink] >> 8 * i & 0xff, page = inks[theme][FSIM_INK_BACK] >> 8 * i & 0xff,
                     part = (own + through * (page - own)) / 255;
        sum += weight[i] * (part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static double contrast(double one, double other) { return (fmax(one, other) + 0.05) / (fmin(one, other) + 0.05); }

fsim_ink fsim_ink_over(fsim_theme theme, fsim_ink below, double through)
{
    const double under = luminance(theme, below, through);
    return contrast(luminance(theme, FSIM_INK_TEXT, 0), under) >= contrast(luminance(theme, FSIM_INK_BACK, 0), under)
               ? FSIM_INK_TEXT
               : FSIM_INK_BACK;
}

static const struct {
    const char *name;
    fsim_look look;
} marks[] = {
#define FSIM_MARK(name, ink, symbol) {name, {FSIM_INK_##ink, symbol}},
#include "report/marks.def"
#undef FSIM_MARK
};

fsim_look fsim_look_of_gpu(const char *name)
{
    static const int symbol[] = {7, 5, 9, 13, 11, 15};
    unsigned hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strcmp(marks[i].name, name) == 0)
            return marks[i].look;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return (fsim_look){FSIM_INK_BLUE + hash % FSIM_HUES, symbol[hash / FSIM_HUES % 6]};
}

fsim_ink fsim_strategy_ink(fsim_strategy s)
{
    static const fsim_ink ink[FSIM_PLAN_COUNT] = {
        [FSIM_STRATEGY_EAGER] = FSIM_INK_GREY,   [FSIM_STRATEGY_UNFUSED] = FSIM_INK_PALE,
        [FSIM_STRATEGY_OPTIMAL] = FSIM_INK_BLUE, [FSIM_STRATEGY_GREEDY] = FSIM_INK_SKY,
        [FSIM_STRATEGY_INDUCTOR] = FSIM_INK_RED, [FSIM_STRATEGY_PATTERN] = FSIM_INK_GREEN,
        [FSIM_STRATEGY_MAXIMAL] = FSIM_INK_PINK, [FSIM_STRATEGY_SERVING] = FSIM_INK_VIOLET,
        [FSIM_STRATEGY_XLA] = FSIM_INK_BROWN,    [FSIM_STRATEGY_FILE] = FSIM_INK_ORANGE};
    return ink[s];
}

int fsim_strategy_symbol(fsim_strategy s)
{
    static const int symbol[FSIM_PLAN_COUNT] = {
        [FSIM_STRATEGY_EAGER] = 7,    [FSIM_STRATEGY_UNFUSED] = 4,  [FSIM_STRATEGY_OPTIMAL] = 7,
        [FSIM_STRATEGY_GREEDY] = 9,   [FSIM_STRATEGY_INDUCTOR] = 5, [FSIM_STRATEGY_PATTERN] = 13,
        [FSIM_STRATEGY_MAXIMAL] = 11, [FSIM_STRATEGY_SERVING] = 15, [FSIM_STRATEGY_XLA] = 8,
        [FSIM_STRATEGY_FILE] = 12};
    return symbol[s];
}

const fsim_class_look fsim_kernels_look[FSIM_KERNELS_COUNT] = {
    [FSIM_KERNELS_POINTWISE] = {"pointwise", FSIM_INK_ORANGE},
    [FSIM_KERNELS_COPY] = {"copy", FSIM_INK_GREY},
    [FSIM_KERNELS_REDUCTION] = {"reduction", FSIM_INK_GREEN},
    [FSIM_KERNELS_CONTRACTION] = {"contraction", FSIM_INK_BLUE},
    [FSIM_KERNELS_LIBRARY] = {"library call", FSIM_INK_SKY},
    [FSIM_KERNELS_CHAINED] = {"chained contraction", FSIM_INK_VIOLET},
    [FSIM_KERNELS_SERVING] = {"serving kernel", FSIM_INK_PINK},
    [FSIM_KERNELS_COMMUNICATION] = {"communication", FSIM_INK_RED}};

fsim_kernel_class fsim_class_of(const fsim_kernel *k)
{
    static const fsim_kernel_class of[] = {[FSIM_POINTWISE] = FSIM_KERNELS_POINTWISE,
                                           [FSIM_COPY] = FSIM_KERNELS_COPY,
                                           [FSIM_ROW_REDUCTION] = FSIM_KERNELS_REDUCTION,
                                           [FSIM_COLUMN_REDUCTION] = FSIM_KERNELS_REDUCTION,
                                           [FSIM_FULL_REDUCTION] = FSIM_KERNELS_REDUCTION,
                                           [FSIM_MIXED_REDUCTION] = FSIM_KERNELS_REDUCTION,
                                           [FSIM_POOLING] = FSIM_KERNELS_REDUCTION,
                                           [FSIM_TILED_CONTRACTION] = FSIM_KERNELS_CONTRACTION,
                                           [FSIM_LIBRARY_CONTRACTION] = FSIM_KERNELS_LIBRARY,
                                           [FSIM_CHAINED_CONTRACTION] = FSIM_KERNELS_CHAINED,
                                           [FSIM_SCAN_KERNEL] = FSIM_KERNELS_REDUCTION,
                                           [FSIM_OPAQUE_KERNEL] = FSIM_KERNELS_COPY,
                                           [FSIM_SERVING_KERNEL] = FSIM_KERNELS_SERVING,
                                           [FSIM_COMMUNICATION_KERNEL] = FSIM_KERNELS_COMMUNICATION,
                                           [FSIM_TRANSFER_KERNEL] = FSIM_KERNELS_COMMUNICATION};
    return of[k->group->template];
}
