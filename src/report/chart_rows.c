/* SPDX-License-Identifier: Apache-2.0 */
#include "report/chart.h"

#include "report/describe.h"
#include <math.h>

fsim_rows fsim_rows_begin(fsim_area b, const char *const *name, int rows, fsim_area margins)
{
    fsim_rows r = {b, 0, FSIM_NORMAL, 0, rows};
    double widest = 0;
    r.plot.top += margins.top;
    r.plot.bottom -= margins.bottom;
    r.plot.right -= margins.right;
    r.row_px = (r.plot.bottom - r.plot.top) / (rows > 0 ? rows : 1);
    r.letters = fmax(6, fmin(FSIM_NORMAL, r.row_px * 0.75));
    for (int i = 0; i < rows; i++)
        widest = fmax(widest, fsim_words_px(name[i], r.letters));
    r.names_px = fmin(widest, (b.right - b.left) * 0.4);
    r.plot.left += r.names_px + 10;
    return r;
}

double fsim_row_y(const fsim_rows *r, int i) { return r->plot.top + (i + 0.5) * r->row_px; }

/* The bytes of text that fit a line: up to a blank where the line is half full there, whole characters at least. */
static size_t fitting(fsim_canvas *c, const char *text, double letters, double px)
{
    size_t fit = 0, blank = 0;
    for (size_t n = 1; text[n - 1]; n++) {
        if ((text[n] & 0xc0) == 0x80)
            continue; /* within a character of UTF-8 */
        if (fsim_words_px(fsim_printf(c->a, "%.*s", (int)n, text), letters) > px)
            break;
        fit = n;
        if (text[n] == ' ' || !text[n])
            blank = n;
    }
    return 2 * blank > fit ? blank : fit;
}

/* A name on as many lines as its row is high, and shortened where that is not enough. */
static void put_name(fsim_canvas *c, const fsim_rows *r, const char *name, double y, fsim_ink ink)
{
    enum { MOST = 3 };
    const double high = r->letters * 1.25;
    const int room = (int)fmin(MOST, r->row_px / high);
    const char *line[MOST];
    int lines = 0;
    while (lines + 1 < room && fsim_words_px(name, r->letters) > r->names_px) {
        const size_t n = fitting(c, name, r->letters, r->names_px);
        if (n == 0)
            break;
        line[lines++] = fsim_printf(c->a, "%.*s", (int)n, name);
        name += n + (name[n] == ' ');
    }
    line[lines++] = fsim_words_within(c, name, r->letters, r->names_px);
    for (int i = 0; i < lines; i++)
        fsim_put_words(c,
                       &(fsim_words_at){r->plot.left - 8, y + (i - (lines - 1) / 2.0) * high, FSIM_WORDS_RIGHT,
                                        r->letters, ink, 0},
                       line[i]);
}

void fsim_rows_names(fsim_canvas *c, const fsim_rows *r, const char *const *name, const fsim_ink *ink)
{
    for (int i = 0; i < r->rows; i++)
        put_name(c, r, name[i], fsim_row_y(r, i), ink ? ink[i] : FSIM_INK_TEXT);
}

void fsim_put_whisker(fsim_canvas *c, double from, double to, double y, double half)
{
    const fsim_pen pen = {1.3, 1, FSIM_PAINT(FSIM_INK_TEXT)};
    if (!(to > from))
        return;
    fsim_put_line(c, (fsim_area){from, y, to, y}, pen);
    fsim_put_line(c, (fsim_area){from, y - half, from, y + half}, pen);
    fsim_put_line(c, (fsim_area){to, y - half, to, y + half}, pen);
}

const char *fsim_kernel_words(const fsim_charted *s, const fsim_prediction *p, const fsim_kernel *k, int number)
{
    return fsim_printf(s->c->a, "%d %s", number, fsim_kernel_label(p->graph, k, s->c->a));
}
