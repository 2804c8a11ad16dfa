/* SPDX-License-Identifier: Apache-2.0 */
#include "report/canvas.h"

#include "base/memory.h"
#include "input/csv.h"
#include "report/table.h"
#include <math.h>
#include <string.h>

enum { USUAL_WIDTH = 1200, USUAL_HEIGHT = 600 };
enum { BOXES = 1, LINES, PATHS, MARKS }; /* kinds of what a block holds */

static unsigned color_of(const fsim_canvas *c, fsim_paint p)
{
    return (unsigned)(p.through * 255) << 24 | fsim_ink_rgb(c->style->theme, p.ink);
}

static void end_block(fsim_canvas *c)
{
    if (c->kind)
        fputs("EOD\n", c->blocks);
    c->kind = 0;
}

/* The block for marks of a kind: the one that is open where it has the same kind and key. */
static void begin_block(fsim_canvas *c, int kind, double key, const char *with)
{
    if (c->kind == kind && c->key == key)
        return;
    end_block(c);
    fprintf(c->blocks, "$b%d << EOD\n", c->block);
    fprintf(c->plots, "%s$b%d %s notitle", c->block ? ", \\\n " : "plot ", c->block, with);
    c->kind = kind;
    c->key = key;
    c->block++;
}

void fsim_put_bar(fsim_canvas *c, fsim_area b, fsim_paint paint)
{
    if (!(b.right > b.left && b.bottom > b.top))
        return;
    begin_block(c, BOXES, 0, "using 1:2:3:4:5:6:7 with boxxyerror fs solid noborder lc rgb variable");
    fprintf(c->blocks, "%.2f %.2f %.2f %.2f %.2f %.2f %u\n", (b.left + b.right) / 2, (b.top + b.bottom) / 2, b.left,
            b.right, b.top, b.bottom, color_of(c, paint));
}

/* A key that tells pens apart. */
static double pen_key(const fsim_pen *p) { return p->width * 16 + p->dash; }

void fsim_put_line(fsim_canvas *c, fsim_area l, fsim_pen pen)
{
    begin_block(
        c, LINES, pen_key(&pen),
        fsim_printf(c->a, "using 1:2:3:4:5 with vectors nohead lw %.3g dt %d lc rgb variable", pen.width, pen.dash));
    fprintf(c->blocks, "%.2f %.2f %.2f %.2f %u\n", l.left, l.top, l.right - l.left, l.bottom - l.top,
            color_of(c, pen.paint));
}

void fsim_put_path(fsim_canvas *c, const double *xy, int count, fsim_pen pen)
{
    begin_block(c, PATHS, pen_key(&pen),
                fsim_printf(c->a, "using 1:2:3 with lines lw %.3g dt %d lc rgb variable", pen.width, pen.dash));
    for (int i = 0; i < count; i++)
        fprintf(c->blocks, "%.2f %.2f %u\n", xy[2 * i], xy[2 * i + 1], color_of(c, pen.paint));
    fputc('\n', c->blocks);
}

void fsim_put_shape(fsim_canvas *c, const double *xy, int count, fsim_paint paint)
{
    if (count < 3)
        return;
    end_block(c);
    begin_block(
        c, BOXES, -1,
        fsim_printf(c->a, "using 1:2 with filledcurves closed fs solid noborder fc rgb '#%08X'", color_of(c, paint)));
    for (int i = 0; i < count; i++)
        fprintf(c->blocks, "%.2f %.2f\n", xy[2 * i], xy[2 * i + 1]);
    end_block(c);
}

/* How much larger a terminal of cairo has to draw a symbol for the size that it has in an SVG, beside a disc. */
static double cairo_scale(int symbol)
{
    enum { TRIANGLE = 8, DIAMOND = 12, PENTAGON = 14 }; /* the first of their kind: hollow */
    return symbol >= PENTAGON ? 1.25 : symbol >= DIAMOND ? 1.35 : symbol >= TRIANGLE ? 1.3 : 1;
}

void fsim_put_mark(fsim_canvas *c, double x, double y, double radius, int symbol, fsim_paint paint)
{
    begin_block(c, MARKS, symbol,
                fsim_printf(c->a, "using 1:2:3:4 with points pt %d lw 1.2 ps variable lc rgb variable", symbol));
    fprintf(c->blocks, "%.2f %.2f %.3f %u\n", x, y, radius * c->points * (c->cairo ? cairo_scale(symbol) : 1),
            color_of(c, paint));
}

void fsim_put_words(fsim_canvas *c, const fsim_words_at *at, const char *text)
{
    static const char *const side[] = {"left", "center", "right"};
    if (!*text)
        return;
    fputs("set label ", c->texts);
    fsim_gnuplot_text(c->texts, text);
    fprintf(c->texts, " at first %.2f,%.2f %s font ',%.4g' tc rgb '#%06x' rotate by %.1f front\n", at->x, at->y,
            side[at->side], at->size * c->letters, fsim_ink_rgb(c->style->theme, at->ink), at->turned);
}

/* Widths of DejaVu Sans, in thousandths of its size, from the blank on. */
static const short widths[] = {318,  401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
                               636,  636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
                               1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
                               603,  787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
                               500,  613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
                               635,  635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838};

double fsim_words_px(const char *text, double size)
{
    enum { OTHER = 680, WIDE = 1000 /* characters of three bytes and more: Chinese, arrows */ };
    double sum = 0;
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c >= ' ' && c < ' ' + sizeof widths / sizeof *widths)
            sum += widths[c - ' '];
        else if (c >= 0xc0)
            sum += c >= 0xe0 ? WIDE : OTHER;
    }
    return sum * size / 1000;
}

const char *fsim_words_within(const fsim_canvas *c, const char *text, double size, double px)
{
    const double all = fsim_words_px(text, size);
    const char *cut = text;
    for (int most = (int)(fsim_text_width(text) * px / fmax(all, 1)); all > px && most > 0; most--) {
        cut = fsim_text_within(c->a, text, most);
        if (fsim_words_px(cut, size) <= px)
            break;
    }
    return cut;
}

void fsim_put_tip(fsim_canvas *c, fsim_area at, const char *text)
{
    *FSIM_PUSH(c->a, c->tip, c->tips, c->tip_room) = (fsim_tip){at, text};
}

static void put_field(FILE *out, const char *text)
{
    fsim_csv_put(out, text ? text : "");
    fputc(',', out);
}

static void put_number(FILE *out, double x, char end)
{
    if (isfinite(x))
        fprintf(out, "%.9g", x);
    fputc(end, out);
}

void fsim_put_figure(fsim_canvas *c, const fsim_chart_figure *f)
{
    put_field(c->data, f->chart);
    put_field(c->data, f->gpu);
    put_field(c->data, f->strategy);
    put_field(c->data, f->name);
    put_field(c->data, f->group);
    put_number(c->data, f->times > 0 ? (double)f->times : (double)NAN, ',');
    put_number(c->data, f->x, ',');
    put_field(c->data, f->x_unit);
    put_number(c->data, f->y, ',');
    put_field(c->data, f->y_unit);
    put_number(c->data, f->low, ',');
    put_number(c->data, f->high, '\n');
}

/* How the file's terminal is set up. NULL: its name has another ending. */
static const char *terminal_of(fsim_canvas *c, const char *path)
{
    enum { FINE = 2 }; /* pixels of a PNG for one of the canvas */
    const unsigned back = fsim_ink_rgb(c->style->theme, FSIM_INK_BACK);
    const int kind = fsim_chart_ending(path);
    const int width = (int)c->width, height = (int)c->height;
    switch (kind) {
    case FSIM_CHART_SVG:
        return fsim_printf(c->a, "svg size %d,%d noenhanced background rgb '#%06x' font 'DejaVu Sans,10'", width,
                           height, back);
    case FSIM_CHART_PNG:
        return fsim_printf(c->a, "pngcairo size %d,%d noenhanced background '#%06x' font 'DejaVu Sans,10' linewidth %d",
                           width * FINE, height * FINE, back, FINE);
    case FSIM_CHART_PDF:
        return fsim_printf(c->a,
                           "pdfcairo size %.4gin,%.4gin noenhanced background '#%06x' font 'DejaVu Sans,10' "
                           "linewidth 1.5", /* of 1/144 inch: one of 96 pixels */
                           width / 96.0, height / 96.0, back);
    default:
        return NULL;
    }
}

typedef struct {
    fsim_canvas canvas; /* without its streams */
    const char *script, *data;
} drawn;

/* Draws on a new canvas. path NULL: for the data alone. */
static drawn draw_on(fsim_arena *a, const fsim_chart_style *style, const char *path, fsim_drawing *draw,
                     const void *what)
{
    static const struct {
        double letters, points; /* measured in pictures: letters 13 pixels high, symbols of equal size in each */
        bool cairo;
    } terminal[] = {[FSIM_CHART_SVG] = {1, 0.267, false},
                    [FSIM_CHART_PNG] = {1.5, 0.723, true},
                    [FSIM_CHART_PDF] = {1.08, 0.275, true}};
    const int kind = path ? fsim_chart_ending(path) : FSIM_CHART_SVG;
    fsim_canvas c = {.a = a,
                     .style = style,
                     .width = style->width ? style->width : USUAL_WIDTH,
                     .height = style->height ? style->height : USUAL_HEIGHT,
                     .title = "",
                     .about = "",
                     .letters = terminal[kind].letters,
                     .points = terminal[kind].points,
                     .cairo = terminal[kind].cairo};
    fsim_memory blocks, plots, texts, rows, all;
    c.blocks = fsim_memory_begin(&blocks);
    c.plots = fsim_memory_begin(&plots);
    c.texts = fsim_memory_begin(&texts);
    c.data = fsim_memory_begin(&rows);
    draw(&c, what);
    end_block(&c);
    const char *data = fsim_memory_end(&rows, a, NULL), *words = fsim_memory_end(&texts, a, NULL),
               *plot = fsim_memory_end(&plots, a, NULL), *marks = fsim_memory_end(&blocks, a, NULL);
    FILE *out = fsim_memory_begin(&all);
    fprintf(out,
            "set encoding utf8\nset terminal %s\nset termoption noenhanced\nset lmargin at screen 0\nset rmargin at "
            "screen 1\nset tmargin at screen 1\nset bmargin at screen 0\nunset border\nunset tics\nunset key\n"
            "set xrange [0:%.0f]\nset yrange [%.0f:0]\n%s%s%s\n",
            path ? terminal_of(&c, path) : "svg", c.width, c.height, marks, words, plot);
    return (drawn){c, fsim_memory_end(&all, a, NULL), data};
}

bool fsim_canvas_draw(fsim_arena *a, const fsim_chart_file *to, fsim_drawing *draw, const void *what, fsim_fault *fault)
{
    if (fsim_chart_ending(to->path) < 0)
        return fsim_fail(fault, a, FSIM_FAILED, FSIM_CHART_ENDINGS);
    const drawn x = draw_on(a, to->style, to->path, draw, what);
    const fsim_canvas c = x.canvas;
    if (c.height < c.least_height)
        return fsim_fail(fault, a, FSIM_FAILED,
                         "%dx%d is too low for these charts: they need %dx%d, or choose fewer by --chart-kind",
                         (int)c.width, (int)c.height, (int)c.width, (int)c.least_height);
    const fsim_svg_words words = {c.title, c.about, c.tip, c.tips};
    return fsim_gnuplot_draw(a, x.script, to, &words, fault);
}

void fsim_canvas_data(FILE *out, fsim_arena *a, const fsim_chart_style *style, fsim_drawing *draw, const void *what)
{
    fprintf(out, "chart,gpu,strategy,name,group,times,x,x_unit,y,y_unit,low,high\n%s",
            draw_on(a, style, NULL, draw, what).data);
}
