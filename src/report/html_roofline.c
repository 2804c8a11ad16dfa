/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline: each kernel by what it computes for a byte of DRAM traffic, and how fast. */
#include "report/html_parts.h"

#include "report/ceilings.h"
#include <math.h>
#include <stdlib.h>

enum { HEIGHT = 400, LEFT = 64, RIGHT = 12, TOP = 12, BOTTOM = 46, LABELS = 40 };

typedef struct {
    double x, y, share; /* FLOP per byte, FLOP/s, part of the plan's time */
    int kernel, times;  /* kernel: -1: one of eager's */
    fsim_unit bound;
} point;

typedef struct {
    double left, top, right, bottom;
} area;

typedef struct {
    const fsim_html_page *h;
    point *at;
    int count, room;
    double x_low, x_high, y_low, y_high;
    area *taken;
    int takens, taken_room, width; /* width: of the picture */
} roofline;

static double place_x(const roofline *r, double x)
{
    return LEFT + (r->width - LEFT - RIGHT) * log(x / r->x_low) / log(r->x_high / r->x_low);
}

static double place_y(const roofline *r, double y)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * log(y / r->y_low) / log(r->y_high / r->y_low);
}

static double radius(const point *p) { return 4 + 12 * sqrt(p->share); }

/* Kernels of a plan that compute and move something; of equal ones the first. */
static void add_points(roofline *r, fsim_strategy s, bool eager)
{
    const fsim_plan *plan = &r->h->p->plan[s];
    const int *times = eager ? fsim_repeats_of(r->h->p, s, r->h->a).times : r->h->repeats.times;
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_kernel *x = &plan->kernel[k];
        const double bytes = (double)(x->dram_read_bytes + x->dram_write_bytes);
        if (times[k] == 0 || !(x->flops > 0) || !(bytes > 0) || !(x->time_s > 0))
            continue;
        *FSIM_PUSH(r->h->a, r->at, r->count, r->room) = (point){
            x->flops / bytes, x->flops / x->time_s, times[k] * x->time_s / plan->time_s, eager ? -1 : k, times[k],
            x->bound};
    }
}

/* Whole powers of ten around all points and the corners of the roofs. */
static void find_range(roofline *r, const fsim_ceiling *roof, int roofs, double bandwidth)
{
    double x_low = INFINITY, x_high = 0, y_low = INFINITY, y_high = 0;
    for (int i = 0; i < r->count; i++) {
        x_low = fmin(x_low, r->at[i].x);
        x_high = fmax(x_high, r->at[i].x);
        y_low = fmin(y_low, r->at[i].y);
    }
    for (int i = 0; i < roofs; i++) {
        x_high = fmax(x_high, roof[i].flops_per_s / bandwidth);
        y_high = fmax(y_high, roof[i].flops_per_s);
    }
    r->x_low = pow(10, floor(log10(x_low) - 0.1));
    r->x_high = pow(10, ceil(log10(x_high) + 0.3));
    r->y_low = pow(10, floor(log10(y_low) - 0.1));
    r->y_high = y_high * 4;
}

static void put_axes(const roofline *r)
{
    FILE *out = r->h->out;
    char text[32];
    for (double x = r->x_low; x <= r->x_high * 1.01; x *= 10)
        fsim_html(out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/><text class=\"%s\" x=\"%.1f\" y=\"%d\">%s</text>",
                  place_x(r, x), (int)TOP, HEIGHT - BOTTOM, x * 5 > r->x_high ? "end" : "mid", place_x(r, x),
                  HEIGHT - BOTTOM + 16, x < 1 ? fsim_printf(r->h->a, "%g", x) : fsim_show_count(text, sizeof text, x));
    for (double y = r->y_low; y <= r->y_high; y *= 10)
        fsim_html(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"end\" x=\"%d\" y=\"%.1f\">%s</text>",
                  (int)LEFT, place_y(r, y), r->width - RIGHT, LEFT - 6, place_y(r, y) + 4,
                  fsim_show_count(text, sizeof text, y));
    fsim_html(out,
              "<text class=\"mid\" x=\"%d\" y=\"%d\">FLOP per byte of DRAM traffic</text><text class=\"mid\" "
              "transform=\"translate(12 %d) rotate(-90)\">FLOP/s</text>",
              (LEFT + r->width - RIGHT) / 2, HEIGHT - 8, (HEIGHT - BOTTOM) / 2);
}

static bool is_free(const roofline *r, const area *b)
{
    bool free = b->left >= LEFT && b->right <= r->width - RIGHT && b->top >= TOP && b->bottom <= HEIGHT - BOTTOM;
    for (int i = 0; i < r->takens && free; i++) {
        const area *t = &r->taken[i];
        free = b->right <= t->left || b->left >= t->right || b->bottom <= t->top || b->top >= t->bottom;
    }
    return free;
}

static void take(roofline *r, area b) { *FSIM_PUSH(r->h->a, r->taken, r->takens, r->taken_room) = b; }

/* The name of a roof above or below its line, as far right as there is room from x on; false where there is none. */
static bool put_roof_name(roofline *r, const char *name, double from, double y)
{
    static const double above[] = {16, -3, 30};
    const double width = 6.6 * fsim_text_width(name);
    for (double right = r->width - RIGHT - 4; right - width > from; right -= 20)
        for (size_t i = 0; i < sizeof above / sizeof *above; i++) {
            const double top = y - above[i];
            const area b = {right - width, top, right, top + 13};
            if (!is_free(r, &b))
                continue;
            take(r, b);
            fsim_html(r->h->out, "<text class=\"end\" x=\"%.1f\" y=\"%.1f\">%s</text>", right, top + 11, name);
            return true;
        }
    return false;
}

/* The roof of DRAM from its lower end to the highest roof, with its name along it. */
static void put_slope(roofline *r, double top, double bandwidth)
{
    FILE *out = r->h->out;
    char rate[32];
    const double from = fmax(r->x_low, r->y_low / bandwidth), x = place_x(r, from), y = place_y(r, from * bandwidth),
                 dx = place_x(r, top / bandwidth) - x, dy = place_y(r, top) - y;
    const int steps = (int)(dx / 4);
    fsim_html(out, "<path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1f\"/>", x, y, x + dx, y + dy);
    for (int i = 0; i < steps; i++)
        take(r, (area){x + dx * i / steps, y + dy * (i + 1) / steps, x + dx * (i + 1) / steps, y + dy * i / steps});
    fsim_html(out, "<text transform=\"translate(%.1f %.1f) rotate(%.1f)\" dx=\"8\" dy=\"-5\">DRAM %s</text>", x, y,
              atan2(dy, dx) * 180 / acos(-1), fsim_show_rate(rate, sizeof rate, bandwidth, "B/s"));
}

static void put_roofs(roofline *r, const fsim_ceiling *roof, int roofs, double bandwidth)
{
    char rate[32];
    double top = 0;
    for (int i = 0; i < roofs; i++)
        top = fmax(top, roof[i].flops_per_s);
    put_slope(r, top, bandwidth);
    for (int i = 0; i < roofs; i++) {
        const double x = place_x(r, roof[i].flops_per_s / bandwidth), y = place_y(r, roof[i].flops_per_s);
        fsim_html(r->h->out, "<path class=\"roof\" d=\"M%.1f %.1fH%d\"/>", x, y, r->width - RIGHT);
        take(r, (area){x, y - 1, r->width - RIGHT, y + 1});
    }
    for (int i = 0; i < roofs; i++) {
        const double y = place_y(r, roof[i].flops_per_s);
        const char *name = fsim_printf(r->h->a, "%s %s", roof[i].name,
                                       fsim_show_rate(rate, sizeof rate, roof[i].flops_per_s, "FLOP/s"));
        /* Left of the highest roof there is nothing. */
        if (!put_roof_name(r, name, place_x(r, roof[i].flops_per_s / bandwidth), y) && roof[i].flops_per_s >= top)
            put_roof_name(r, name, LEFT, y);
    }
}

/* Numbers of kernels beside their points where there is room: those that take longest first. */
static void put_labels(roofline *r)
{
    int labels = 0;
    for (int i = 0; i < r->count && labels < LABELS; i++) {
        const point *p = &r->at[i];
        if (p->kernel < 0)
            continue;
        const char *text = fsim_printf(r->h->a, p->times > 1 ? "%d \u00d7%d" : "%d", p->kernel + 1, p->times);
        const double width = 6.8 * fsim_text_width(text), away = radius(p) + 2;
        for (int turn = 0; turn < 4; turn++) {
            const double x = place_x(r, p->x) + (turn == 0   ? away
                                                 : turn == 1 ? -away - width
                                                             : -width / 2),
                         y = place_y(r, p->y) + (turn == 2   ? -away - 12
                                                 : turn == 3 ? away
                                                             : -6);
            const area b = {x, y, x + width, y + 12};
            if (!is_free(r, &b))
                continue;
            take(r, b);
            labels++;
            fsim_html(r->h->out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>", x, y + 10, text);
            break;
        }
    }
}

static int by_share(const void *a, const void *b)
{
    const point *x = a, *y = b;
    return x->share != y->share ? (x->share < y->share) - (x->share > y->share) : x->kernel - y->kernel;
}

static void put_points(const roofline *r)
{
    FILE *out = r->h->out;
    char rate[32];
    for (int i = 0; i < r->count; i++) {
        const point *p = &r->at[i];
        if (p->kernel < 0) {
            fsim_html(out, "<circle class=\"eager\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", place_x(r, p->x),
                      place_y(r, p->y), radius(p));
            continue;
        }
        const char *label =
            fsim_text_within(r->h->a, fsim_kernel_label(r->h->g, &r->h->plan->kernel[p->kernel], r->h->a), 80);
        fsim_html(out,
                  "<circle class=\"point u-%s\" data-k=\"%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>%d: %s, %s, %s "
                  "of the time</title></circle>",
                  fsim_unit_names[p->bound], p->kernel + 1, place_x(r, p->x), place_y(r, p->y), radius(p),
                  p->kernel + 1, label, fsim_show_rate(rate, sizeof rate, p->y, "FLOP/s"),
                  fsim_percent_text(r->h->a, p->share));
    }
}

static void put_picture(roofline *r, const char *class, int width)
{
    fsim_ceiling roof[FSIM_MOST_CEILINGS];
    const int roofs = fsim_ceilings_of(r->h->p, roof);
    const double bandwidth = fsim_hw_get(r->h->p->hw, FSIM_HW_DRAM_BANDWIDTH);
    r->width = width;
    r->takens = 0;
    find_range(r, roof, roofs, bandwidth);
    fsim_html(r->h->out,
              "<svg class=\"chart %s\" role=\"img\" viewBox=\"0 0 %d %d\" aria-label=\"Roofline of the kernels; the "
              "table of kernels has their figures\">",
              class, width, (int)HEIGHT);
    put_axes(r);
    for (int i = 0; i < r->count; i++) {
        const double x = place_x(r, r->at[i].x), y = place_y(r, r->at[i].y), half = 0.8 * radius(&r->at[i]);
        take(r, (area){x - half, y - half, x + half, y + half});
    }
    put_roofs(r, roof, roofs, bandwidth);
    put_points(r);
    put_labels(r);
    fsim_html(r->h->out, "</svg>");
}

void fsim_html_roofline(const fsim_html_page *h)
{
    roofline r = {.h = h};
    add_points(&r, h->p->chosen, false);
    if (h->p->chosen != FSIM_STRATEGY_EAGER)
        add_points(&r, FSIM_STRATEGY_EAGER, true);
    if (r.count == 0 || !(fsim_hw_get(h->p->hw, FSIM_HW_DRAM_BANDWIDTH) > 0))
        return;
    qsort(r.at, (size_t)r.count, sizeof *r.at, by_share);
    fsim_html(h->out, "<figure><figcaption>Roofline</figcaption>");
    put_picture(&r, "wide", FSIM_HTML_WIDE);
    put_picture(&r, "narrow", FSIM_HTML_NARROW);
    fsim_html(h->out,
              "<p class=\"note\">Kernels of %s by number, \u00d7 equal ones; hollow: eager. The larger, "
              "the more of the plan's time. "
              "Kernels without arithmetic or without DRAM traffic are not here.</p></figure>\n",
              fsim_strategy_names[h->p->chosen]);
}
