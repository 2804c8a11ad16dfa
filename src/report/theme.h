/* SPDX-License-Identifier: Apache-2.0 */
/* theme.h: the colours of charts. A GPU, a strategy and a class of kernels have the same colour in every chart. */
#ifndef FUSESIM_REPORT_THEME_H
#define FUSESIM_REPORT_THEME_H

#include "predict.h"

typedef enum { FSIM_THEME_LIGHT, FSIM_THEME_DARK, FSIM_THEME_PRINT, FSIM_THEMES } fsim_theme;
extern const char *const fsim_theme_names[FSIM_THEMES];

/* The ten from BLUE on are hues that the colour-blind can tell apart: Okabe and Ito's, with a violet, a brown and two
 * greys. */
typedef enum {
    FSIM_INK_BACK,
    FSIM_INK_TEXT,
    FSIM_INK_MUTED,
    FSIM_INK_GRID,
    FSIM_INK_AXIS,
    FSIM_INK_BLUE,
    FSIM_INK_RED,
    FSIM_INK_GREEN,
    FSIM_INK_PINK,
    FSIM_INK_ORANGE,
    FSIM_INK_SKY,
    FSIM_INK_VIOLET,
    FSIM_INK_BROWN,
    FSIM_INK_GREY,
    FSIM_INK_PALE,
    FSIM_INK_BAND, /* what lies behind marks */
    FSIM_INKS
} fsim_ink;
enum { FSIM_HUES = 8 }; /* from FSIM_INK_BLUE on, without the greys */

/* 0xRRGGBB */
unsigned fsim_ink_rgb(fsim_theme theme, fsim_ink ink);
/* The ink, text's or the page's, in which letters are read best over `below`, which lets a share of the page through.
 */
fsim_ink fsim_ink_over(fsim_theme theme, fsim_ink below, double through);

/* A colour and a symbol, gnuplot's point type: 48 of both together. */
typedef struct {
    fsim_ink ink;
    int symbol;
} fsim_look;
/* That of a GPU by name: marks.def has the shipped ones; another name's is computed from its letters. */
fsim_look fsim_look_of_gpu(const char *name);
/* The colour of a strategy. */
fsim_ink fsim_strategy_ink(fsim_strategy s);
/* Its symbol where strategies are points: those whose colours are like, as eager's and unfused's, differ in it. */
int fsim_strategy_symbol(fsim_strategy s);

/* What kernels are, in fewer classes than there are templates. */
typedef enum {
    FSIM_KERNELS_POINTWISE,
    FSIM_KERNELS_COPY,
    FSIM_KERNELS_REDUCTION,
    FSIM_KERNELS_CONTRACTION,
    FSIM_KERNELS_LIBRARY,
    FSIM_KERNELS_CHAINED,
    FSIM_KERNELS_SERVING,
    FSIM_KERNELS_COMMUNICATION,
    FSIM_KERNELS_COUNT
} fsim_kernel_class;
typedef struct {
    const char *name; /* "contraction" */
    fsim_ink ink;
} fsim_class_look;
extern const fsim_class_look fsim_kernels_look[FSIM_KERNELS_COUNT];
/* The class of a kernel, by its template. */
fsim_kernel_class fsim_class_of(const fsim_kernel *k);

#endif
