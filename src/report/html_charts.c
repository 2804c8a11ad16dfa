/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as inline SVG. Bars are tables whose rows have a picture each, so that texts keep their size on a small
 * screen. */
#include "report/html_parts.h"

#include "plan/price/memory.h"
#include <math.h>

enum { BARS = 12, HEIGHT = 240, LEFT = 64, RIGHT = 12, TOP = 14, BOTTOM = 34 };

static void begin_bars(const fsim_html_page *h, const char *title)
{
    fsim_html(h->out, "<figure><figcaption>%s</figcaption><table class=\"bars\"><tbody>\n", title);
}

static void end_bars(const fsim_html_page *h, const char *note)
{
    fsim_html(h->out, "</tbody></table><p class=\"note\">%s</p></figure>\n", note);
}

/* Seconds that the whole width stands for: the longest, but at most three times the longer of eager's and the plan's,
 * so that one strategy which takes far longer leaves room to compare the others. */
static double strategies_width_s(const fsim_html_page *h)
{
    const fsim_prediction *p = h->p;
    double most_s = 0, shown_s = 0;
    for (int s = 0; s < FSIM_PLAN_COUNT; s++)
        if (fsim_planned(p, (fsim_strategy)s)) {
            const double high_s = fsim_likely_time(p, fsim_plan_of(p, (fsim_strategy)s), h->a).high;
            most_s = fmax(most_s, high_s);
            if (s == FSIM_STRATEGY_EAGER || s == (int)p->chosen)
                shown_s = fmax(shown_s, high_s);
        }
    return shown_s > 0 ? fmin(most_s, 3 * shown_s) : most_s;
}

void fsim_html_strategy_bars(const fsim_html_page *h)
{
    const fsim_prediction *p = h->p;
    const double most_s = strategies_width_s(h);
    bool cut = false;
    begin_bars(h, "Time of each strategy");
    for (int s = 0; s < FSIM_PLAN_COUNT; s++) {
        if (!fsim_planned(p, (fsim_strategy)s))
            continue;
        const double time_s = p->plan[s].time_s;
        const fsim_interval x = fsim_likely_time(p, fsim_plan_of(p, (fsim_strategy)s), h->a);
        fsim_html(h->out, "<tr><th scope=\"row\">%s</th><td>", fsim_strategy_names[s]);
        fsim_html(h->out,
                  "<svg aria-hidden=\"true\" viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\"><rect class=\"%s\" "
                  "width=\"%.1f\" height=\"20\"/>",
                  s == (int)p->chosen ? "chosen" : "other", fmin(1000, 1000 * time_s / most_s));
        if (x.low < most_s)
            fsim_html(h->out, "<path class=\"likely\" d=\"M%.1f 10H%.1fM%.1f 5V15M%.1f 5V15\"/>", 1000 * x.low / most_s,
                      fmin(1000, 1000 * x.high / most_s), 1000 * x.low / most_s, 1000 * x.high / most_s);
        if (time_s > most_s)
            fsim_html(h->out, "<path class=\"cut\" d=\"M955 20L965 0M970 20L980 0\"/>");
        cut = cut || time_s > most_s;
        fsim_html(h->out, "</svg></td>");
        fsim_html(h->out, "<td class=\"n\">%s <small>(%s to %s)</small></td></tr>\n", fsim_seconds_text(h->a, time_s),
                  fsim_seconds_text(h->a, x.low), fsim_seconds_text(h->a, x.high));
    }
    end_bars(h, cut ? "Lines, and times in brackets: eight of ten measured times would lie there. A bar that is cut is "
                      "longer than there is room for."
                    : "Lines, and times in brackets: eight of ten measured times would lie there.");
}

/* A kernel, and how many equal ones it stands for. */
typedef struct {
    int kernel, times;
    double time_s;
} entry;

/* The kernels that take longest, at most BARS; returns how many. */
static int longest(const fsim_html_page *h, entry out[BARS])
{
    int count = 0;
    for (int k = 0; k < h->plan->kernels; k++) {
        const int times = h->repeats.times[k];
        const entry one = {k, times, times * h->plan->kernel[k].time_s};
        int at = count;
        if (times == 0)
            continue;
        while (at > 0 && out[at - 1].time_s < one.time_s)
            at--;
        if (at >= BARS)
            continue;
        count = count < BARS ? count + 1 : BARS;
        for (int i = count - 1; i > at; i--)
            out[i] = out[i - 1];
        out[at] = one;
    }
    return count;
}

static void put_units(const fsim_html_page *h, const double time[FSIM_UNIT_COUNT], double times, double most_s)
{
    double x = 0;
    fsim_html(h->out, "<td><svg aria-hidden=\"true\" viewBox=\"0 0 1000 20\" preserveAspectRatio=\"none\">");
    for (int u = 0; u < FSIM_UNIT_COUNT; u++) {
        const double width = most_s > 0 ? 1000 * times * time[u] / most_s : 0;
        if (width > 0)
            fsim_html(h->out, "<rect class=\"u-%s\" x=\"%.1f\" width=\"%.1f\" height=\"20\"/>", fsim_unit_names[u], x,
                      width);
        x += width;
    }
    fsim_html(h->out, "</svg></td>");
}

/* "dram 61%, launch 30%": the units of a kernel that account for a tenth of its time or more. */
static const char *units_text(const fsim_html_page *h, const double time[FSIM_UNIT_COUNT], double time_s)
{
    static const double little = 0.1;
    const char *text = "";
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        if (time[u] >= little * time_s)
            text =
                fsim_printf(h->a, "%s%s%s %.0f%%", text, *text ? ", " : "", fsim_unit_names[u], 100 * time[u] / time_s);
    return text;
}

void fsim_html_time_bars(const fsim_html_page *h)
{
    entry bar[BARS];
    double rest_s = h->plan->time_s, all[FSIM_UNIT_COUNT] = {0};
    const int bars = longest(h, bar);
    for (int k = 0; k < h->plan->kernels; k++)
        for (int u = 0; u < FSIM_UNIT_COUNT; u++)
            all[u] += h->plan->kernel[k].time[u];
    begin_bars(h, fsim_printf(h->a, "Where the time of %s goes", fsim_strategy_names[h->p->chosen]));
    for (int i = 0; i < bars; i++) {
        const fsim_kernel *k = &h->plan->kernel[bar[i].kernel];
        const char *label = fsim_kernel_label(h->g, k, h->a);
        rest_s -= bar[i].time_s;
        fsim_html(h->out,
                  "<tr><th scope=\"row\"><button type=\"button\" class=\"to\" data-k=\"%d\" title=\"%s\">%d "
                  "%s</button>%s</th>",
                  bar[i].kernel + 1, label, bar[i].kernel + 1, fsim_text_within(h->a, label, 34),
                  bar[i].times > 1 ? fsim_printf(h->a, " \u00d7 %d", bar[i].times) : "");
        put_units(h, k->time, bar[i].times, bar[0].time_s);
        fsim_html(h->out, "<td class=\"n\">%s, %s <small>%s</small></td></tr>\n",
                  fsim_seconds_text(h->a, bar[i].time_s), fsim_percent_text(h->a, bar[i].time_s / h->plan->time_s),
                  units_text(h, k->time, k->time_s));
    }
    end_bars(h, rest_s > 1e-4 * h->plan->time_s
                    ? fsim_printf(h->a, "All other kernels: %s, %s.", fsim_seconds_text(h->a, rest_s),
                                  fsim_percent_text(h->a, rest_s / h->plan->time_s))
                    : "These are all kernels.");
    fsim_html(h->out, "<p class=\"key\">");
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        if (all[u] > 0)
            fsim_html(h->out, "<span><i class=\"dot u-%s\"></i>%s %s</span> ", fsim_unit_names[u], fsim_unit_words[u],
                      fsim_percent_text(h->a, all[u] / h->plan->time_s));
    fsim_html(h->out, "of the plan's time</p>\n");
}

static double live_bytes(const fsim_memory_step *s) { return (double)(s->live_bytes + s->workspace_bytes); }

/* peak: the kernel that runs when most is in use. */
static void put_curve(const fsim_html_page *h, const fsim_memory_step *step, int peak, const char *class, int width)
{
    const double plot_x = width - LEFT - RIGHT, plot_y = HEIGHT - TOP - BOTTOM, most = live_bytes(&step[peak]);
    const int parts = width < FSIM_HTML_WIDE ? 2 : 4;
    double at_s = 0;
    fsim_html(h->out,
              "<svg class=\"chart %s\" role=\"img\" viewBox=\"0 0 %d %d\" aria-label=\"Memory over time: at most %s, "
              "while kernel %d runs\"><path class=\"area\" d=\"M%d %d",
              class, width, (int)HEIGHT, fsim_bytes_text(h->a, most), peak + 1, (int)LEFT, (int)(HEIGHT - BOTTOM));
    for (int k = 0; k < h->plan->kernels; k++) {
        at_s += h->plan->kernel[k].time_s;
        fsim_html(h->out, "V%.1fH%.1f", TOP + plot_y * (1 - live_bytes(&step[k]) / most),
                  LEFT + plot_x * fmin(1, at_s / h->plan->time_s));
    }
    fsim_html(h->out, "V%dZ\"/>", (int)(HEIGHT - BOTTOM));
    for (int i = 0; i <= 2; i++)
        fsim_html(h->out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"end\" x=\"%d\" y=\"%.1f\">%s</text>",
                  (int)LEFT, TOP + plot_y * (1 - i / 2.0), width - RIGHT, (int)LEFT - 6,
                  TOP + plot_y * (1 - i / 2.0) + 4, i ? fsim_bytes_text(h->a, most * i / 2) : "0");
    for (int i = 0; i <= parts; i++)
        fsim_html(h->out, "<text class=\"%s\" x=\"%.1f\" y=\"%d\">%s</text>", i == parts ? "end" : "mid",
                  LEFT + plot_x * i / parts, (int)(HEIGHT - BOTTOM + 18),
                  i ? fsim_seconds_text(h->a, h->plan->time_s * i / parts) : "0");
    fsim_html(h->out, "</svg>");
}

void fsim_html_memory_curve(const fsim_html_page *h)
{
    const fsim_memory_step *step = fsim_memory_steps(h->g, h->plan, h->a);
    int peak = 0;
    for (int k = 1; k < h->plan->kernels; k++)
        peak = live_bytes(&step[k]) > live_bytes(&step[peak]) ? k : peak;
    if (h->plan->kernels == 0 || !(live_bytes(&step[peak]) > 0) || !(h->plan->time_s > 0))
        return;
    fsim_html(h->out, "<figure><figcaption>Memory in use while %s runs</figcaption>",
              fsim_strategy_names[h->p->chosen]);
    put_curve(h, step, peak, "wide", FSIM_HTML_WIDE);
    put_curve(h, step, peak, "narrow", FSIM_HTML_NARROW);
    fsim_html(h->out, "<p class=\"note\">Inputs, weights, intermediates and partial sums. Most, %s, is in use while ",
              fsim_bytes_text(h->a, live_bytes(&step[peak])));
    fsim_html_kernel_link(h, peak);
    fsim_html(h->out, " runs.</p></figure>\n");
}
