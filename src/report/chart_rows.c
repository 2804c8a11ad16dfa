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

void fsim_rows_names(fsim_canvas *c, const fsim_rows *r, const char *const *name, const fsim_ink *ink)
{
    for (int i = 0; i < r->rows; i++)
        fsim_put_words(c,
                       &(fsim_words_at){r->plot.left - 8, fsim_row_y(r, i), FSIM_WORDS_RIGHT, r->letters,
                                        ink ? ink[i] : FSIM_INK_TEXT, 0},
                       fsim_words_within(c, name[i], r->letters, r->names_px));
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
