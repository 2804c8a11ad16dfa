/* SPDX-License-Identifier: Apache-2.0 */
#include "report/axis.h"

#include <math.h>
#include <string.h>

void fsim_scale_reach(fsim_scale *s, double value)
{
    if (!isfinite(value) || (s->log && !(value > 0)))
        return;
    s->low = fmin(s->low, value);
    s->high = fmax(s->high, value);
}

void fsim_scale_widen(fsim_scale *s, double share)
{
    if (!(s->low <= s->high)) {
        s->low = s->log ? 1 : 0;
        s->high = s->log ? 10 : 1;
    }
    if (s->log) {
        const double by = fmax(pow(s->high / s->low, share), 1.15);
        s->low /= by;
        s->high *= by;
        return;
    }
    const double span = s->high > s->low ? s->high - s->low : s->high > 0 ? s->high : 1;
    s->low = s->low == 0 ? 0 : fmax(0, s->low - share * span);
    s->high += s->high > s->low ? share * span : span;
}

double fsim_scale_px(const fsim_scale *s, double value)
{
    const double part = s->log ? log(fmax(value, s->low * 1e-9) / s->low) / log(s->high / s->low)
                               : (value - s->low) / (s->high - s->low);
    return s->from + part * (s->to - s->from);
}

/* The prefixes of a unit, the smallest first, and how many times as large each next one is. */
typedef struct {
    double least, step;
    int count;
    const char *name[9];
} prefixes;

static const prefixes *prefixes_of(fsim_unit_of_scale unit)
{
    static const prefixes of[] = {[FSIM_SCALE_PLAIN] = {1, 1, 1, {""}},
                                  [FSIM_SCALE_SECONDS] = {1e-9, 1000, 4, {" ns", " us", " ms", " s"}},
                                  [FSIM_SCALE_BYTES] = {1, 1024, 6, {" B", " KiB", " MiB", " GiB", " TiB", " PiB"}},
                                  [FSIM_SCALE_COUNT] = {1, 1000, 7, {"", " k", " M", " G", " T", " P", " E"}},
                                  [FSIM_SCALE_TIMES] = {1, 1, 1, {"x"}}};
    return &of[unit];
}

/* The size of the prefix that suits a value; *name: its name. */
static double prefix_for(fsim_unit_of_scale unit, double value, const char **name)
{
    const prefixes *p = prefixes_of(unit);
    double size = p->least;
    int i = 0;
    for (; i + 1 < p->count && value >= size * p->step * 0.9999; i++)
        size *= p->step;
    *name = p->name[i];
    return size;
}

/* "20 us", "1.5x": a value as a tick of the scale. In a. */
static const char *tick_text(const fsim_scale *s, double value, fsim_arena *a)
{
    const char *name;
    const double size = prefix_for(s->unit, s->log ? value : s->high, &name);
    return value == 0 ? "0" : fsim_printf(a, "%.4g%s", value / size, name);
}

enum { MOST_TICKS = 60 };

/* Round values on the scale, about `wanted` of them. Returns how many. */
static int ticks_of(const fsim_scale *s, double wanted, double out[MOST_TICKS])
{
    const char *name;
    int count = 0;
    const double size = prefix_for(s->unit, s->high, &name), raw = (s->high - s->low) / size / fmax(wanted, 1);
    const double unit = pow(10, floor(log10(raw))), m = raw / unit,
                 step = unit *
                        (m < 1.5   ? 1
                         : m < 3.5 ? 2
                         : m < 7.5 ? 5
                                   : 10) *
                        size;
    for (double v = ceil(s->low / step - 1e-9) * step; v <= s->high * (1 + 1e-9) && count < MOST_TICKS; v += step)
        out[count++] = fabs(v) < step * 1e-6 ? 0 : v;
    return count;
}

/* The same of a logarithmic scale: powers of ten, every so many of them, or 1, 2, 5 of each where there are few. */
static int log_ticks_of(const fsim_scale *s, double wanted, double out[MOST_TICKS])
{
    static const double fine[] = {1, 2, 5}, finest[] = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8};
    const double decades = log10(s->high / s->low);
    const int every = (int)fmax(1, ceil(decades / fmax(wanted, 1)));
    const bool some = every == 1 && decades * 3 <= wanted + 1, all = decades < 0.8;
    const int steps = all ? 10 : some ? 3 : 1;
    int count = 0;
    for (int e = (int)floor(log10(s->low)); e <= (int)ceil(log10(s->high)); e++)
        for (int i = 0; i < steps; i++) {
            const double v = (all ? finest[i] : fine[i]) * pow(10, e);
            if (v >= s->low * 0.9999 && v <= s->high * 1.0001 && e % every == 0 && count < MOST_TICKS)
                out[count++] = v;
        }
    return count;
}

/* Powers of two, every so many of them. */
static int byte_ticks_of(const fsim_scale *s, double wanted, double out[MOST_TICKS])
{
    const int every = (int)fmax(1, ceil(log2(s->high / s->low) / fmax(wanted, 1)));
    int count = 0;
    for (int e = (int)ceil(log2(s->low)); e <= (int)floor(log2(s->high)) && count < MOST_TICKS; e++)
        if (e % every == 0)
            out[count++] = ldexp(1, e);
    return count;
}

static int ticks_on(const fsim_scale *s, double apart, double out[MOST_TICKS])
{
    const double wanted = fabs(s->to - s->from) / apart;
    return !s->log                                               ? ticks_of(s, wanted, out)
           : s->unit == FSIM_SCALE_BYTES && s->high > 4 * s->low ? byte_ticks_of(s, wanted, out)
                                                                 : log_ticks_of(s, wanted, out);
}

fsim_area fsim_panel_head(fsim_canvas *c, fsim_area b, const char *head, const char *below)
{
    const double wide = b.right - b.left;
    fsim_put_words(c, &(fsim_words_at){b.left, b.top + 12, FSIM_WORDS_LEFT, FSIM_HEAD, FSIM_INK_TEXT, 0},
                   fsim_words_within(c, head, FSIM_HEAD, wide));
    b.top += 26;
    if (!*below)
        return b;
    fsim_put_words(c, &(fsim_words_at){b.left, b.top + 7, FSIM_WORDS_LEFT, FSIM_SMALL, FSIM_INK_MUTED, 0},
                   fsim_words_within(c, below, FSIM_SMALL, wide));
    b.top += 22;
    return b;
}

void fsim_axis_below(fsim_canvas *c, fsim_area plot, const fsim_scale *x)
{
    double tick[MOST_TICKS], last = -INFINITY;
    const int ticks = ticks_on(x, 95, tick);
    for (int i = 0; i < ticks; i++) {
        const double at = fsim_scale_px(x, tick[i]);
        const char *text = tick_text(x, tick[i], c->a);
        const double half = fsim_words_px(text, FSIM_SMALL + 1) / 2;
        fsim_put_line(c, (fsim_area){at, plot.top, at, plot.bottom}, (fsim_pen){1, 1, FSIM_PAINT(FSIM_INK_GRID)});
        if (at - half < last + 6 || at + half > c->width)
            continue;
        last = at + half;
        fsim_put_words(c, &(fsim_words_at){at, plot.bottom + 13, FSIM_WORDS_CENTER, FSIM_SMALL + 1, FSIM_INK_MUTED, 0},
                       text);
    }
    fsim_put_line(c, (fsim_area){plot.left, plot.bottom, plot.right, plot.bottom},
                  (fsim_pen){1, 1, FSIM_PAINT(FSIM_INK_AXIS)});
    fsim_put_words(c,
                   &(fsim_words_at){(plot.left + plot.right) / 2, plot.bottom + 33, FSIM_WORDS_CENTER, FSIM_NORMAL,
                                    FSIM_INK_TEXT, 0},
                   fsim_words_within(c, x->name, FSIM_NORMAL, plot.right - plot.left + 60));
}

void fsim_axis_left(fsim_canvas *c, fsim_area plot, const fsim_scale *y)
{
    double tick[MOST_TICKS], widest = 0;
    const int ticks = ticks_on(y, 55, tick);
    for (int i = 0; i < ticks; i++) {
        const double at = fsim_scale_px(y, tick[i]);
        const char *text = tick_text(y, tick[i], c->a);
        fsim_put_line(c, (fsim_area){plot.left, at, plot.right, at}, (fsim_pen){1, 1, FSIM_PAINT(FSIM_INK_GRID)});
        widest = fmax(widest, fsim_words_px(text, FSIM_SMALL + 1));
        fsim_put_words(c, &(fsim_words_at){plot.left - 7, at, FSIM_WORDS_RIGHT, FSIM_SMALL + 1, FSIM_INK_MUTED, 0},
                       text);
    }
    fsim_put_line(c, (fsim_area){plot.left, plot.top, plot.left, plot.bottom},
                  (fsim_pen){1, 1, FSIM_PAINT(FSIM_INK_AXIS)});
    fsim_put_words(c,
                   &(fsim_words_at){plot.left - widest - 20, (plot.top + plot.bottom) / 2, FSIM_WORDS_CENTER,
                                    FSIM_NORMAL, FSIM_INK_TEXT, 90},
                   fsim_words_within(c, y->name, FSIM_NORMAL, plot.bottom - plot.top + 20));
}

double fsim_put_keys(fsim_canvas *c, fsim_area b, const fsim_key *key, int keys)
{
    enum { LINE = 19, SYMBOL = 16, APART = 18 };
    double x = b.left, y = b.top + LINE / 2.0;
    for (int i = 0; i < keys; i++) {
        const double wide = fsim_words_px(key[i].text, FSIM_SMALL + 1) + SYMBOL + APART;
        if (x > b.left && x + wide - APART > b.right) {
            x = b.left;
            y += LINE;
        }
        if (c) {
            if (key[i].look.symbol)
                fsim_put_mark(c, x + 6, y, 4.5, key[i].look.symbol, FSIM_PAINT(key[i].look.ink));
            else
                fsim_put_bar(c, (fsim_area){x + 1, y - 5, x + 11, y + 5}, FSIM_PAINT(key[i].look.ink));
            fsim_put_words(c, &(fsim_words_at){x + SYMBOL, y, FSIM_WORDS_LEFT, FSIM_SMALL + 1, FSIM_INK_TEXT, 0},
                           fsim_words_within(c, key[i].text, FSIM_SMALL + 1, b.right - x - SYMBOL));
        }
        x += wide;
    }
    return keys > 0 ? y + LINE / 2.0 - b.top : 0;
}
