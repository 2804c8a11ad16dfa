/* SPDX-License-Identifier: Apache-2.0 */
/* canvas.h: what charts are drawn on. All positions are pixels from the upper left corner, so that code here can keep
 * labels apart, which gnuplot can't; gnuplot renders lines, boxes, symbols and letters. Later ones cover earlier ones;
 * letters are in front of all. Beside each picture a canvas has its data: rows of CSV, which need no gnuplot. */
#ifndef FUSESIM_REPORT_CANVAS_H
#define FUSESIM_REPORT_CANVAS_H

#include "base/fault.h"
#include "report/gnuplot.h"
#include "report/svg.h"
#include "report/theme.h"

/* What of a chart was asked for. */
typedef struct fsim_chart_style {
    fsim_theme theme;
    int width, height; /* pixels; 0: as wide as usual, as high as the content needs */
    unsigned kinds;    /* bits 1 << fsim_chart_kind; 0: those that suit the result */
} fsim_chart_style;

/* A figure of a chart: a row of --chart-data. NaN and NULL: an empty field. */
typedef struct {
    const char *chart; /* "roofline" */
    const char *gpu, *strategy, *name, *group;
    int times; /* how many equal ones it stands for; 0: it does not say */
    double x;
    const char *x_unit; /* "s" */
    double y;
    const char *y_unit;
    double low, high; /* where eight of ten measured values of y would be (pareto: of x) */
} fsim_chart_figure;

struct fsim_canvas;
typedef void fsim_drawing(struct fsim_canvas *c, const void *what);

typedef struct fsim_canvas {
    fsim_arena *a;
    const fsim_chart_style *style;
    double width, height;      /* the drawing may set the height before it draws */
    double least_height;       /* in which it can be read, set by the drawing */
    const char *title, *about; /* of the whole, for readers who do not see it; set by the drawing */
    FILE *blocks, *plots, *texts, *data;
    double letters, points; /* size of a font of one pixel, and of a symbol with a radius of one, in the terminal */
    bool cairo;             /* the terminal is one of cairo's */
    int block;              /* number of blocks */
    int kind;               /* of marks in the block that is open; 0: none */
    double key;             /* their width or symbol */
    fsim_tip *tip;          /* what a reader sees who points there */
    int tips, tip_room;
} fsim_canvas;

/* Draws to a file. False with *fault set. */
bool fsim_canvas_draw(fsim_arena *a, const fsim_chart_file *to, fsim_drawing *draw, const void *what,
                      fsim_fault *fault);
/* Writes the data instead, with a head. */
void fsim_canvas_data(FILE *out, fsim_arena *a, const fsim_chart_style *style, fsim_drawing *draw, const void *what);

/* A colour that covers what is below it, or lets a share of it through. */
typedef struct {
    fsim_ink ink;
    double through; /* 0: opaque, to 1 */
} fsim_paint;
#define FSIM_PAINT(color) ((fsim_paint){color, 0})

/* A filled rectangle; nothing where it has no area. */
void fsim_put_bar(fsim_canvas *c, fsim_area b, fsim_paint paint);
/* dash: gnuplot's dash type; 1: none. */
typedef struct {
    double width;
    int dash;
    fsim_paint paint;
} fsim_pen;
/* From the left upper corner to the right lower one. */
void fsim_put_line(fsim_canvas *c, fsim_area from_to, fsim_pen pen);
/* Through count points; x and y in turn. */
void fsim_put_path(fsim_canvas *c, const double *xy, int count, fsim_pen pen);
/* The area within count points. */
void fsim_put_shape(fsim_canvas *c, const double *xy, int count, fsim_paint paint);
/* A symbol of gnuplot's with a radius in pixels. */
void fsim_put_mark(fsim_canvas *c, double x, double y, double radius, int symbol, fsim_paint paint);

typedef enum { FSIM_WORDS_LEFT, FSIM_WORDS_CENTER, FSIM_WORDS_RIGHT } fsim_words_side;
typedef struct {
    double x, y; /* y: the middle of the line */
    fsim_words_side side;
    double size; /* of its letters, in pixels */
    fsim_ink ink;
    double turned; /* degrees, anticlockwise */
} fsim_words_at;
enum { FSIM_SMALL = 11, FSIM_NORMAL = 13, FSIM_HEAD = 15, FSIM_TITLE = 18 };
/* A line of text. */
void fsim_put_words(fsim_canvas *c, const fsim_words_at *at, const char *text);
/* How wide a text is, about. */
double fsim_words_px(const char *text, double size);
/* text, its middle left out where it is wider than that. In the canvas's arena. */
const char *fsim_words_within(const fsim_canvas *c, const char *text, double size, double px);

/* What a reader sees who points at a place. */
void fsim_put_tip(fsim_canvas *c, fsim_area at, const char *text);
/* A row of the data. */
void fsim_put_figure(fsim_canvas *c, const fsim_chart_figure *f);

#endif
