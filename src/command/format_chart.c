/* SPDX-License-Identifier: Apache-2.0 */
/* --chart: drawn by gnuplot into a file of its own. */
#include "command/command.h"
#include "report/accuracy.h"
#include "report/chart.h"
#include "report/sweep_chart.h"

#include <stdlib.h>
#include <string.h>

/* "1200x800" or "1200". False: it is neither, or not within limits. */
static bool read_size(const char *text, fsim_chart_style *out)
{
    enum { LEAST = 300, LEAST_HIGH = 200, MOST = 8000 };
    char *end = NULL;
    const long width = strtol(text, &end, 10);
    const long height = *end == 'x' && end != text ? strtol(end + 1, &end, 10) : 0;
    const bool two = strchr(text, 'x') != NULL;
    if (*text < '0' || *text > '9' || *end || width < LEAST || width > MOST ||
        (two && (height < LEAST_HIGH || height > MOST)))
        return false;
    out->width = (int)width;
    out->height = (int)height;
    return true;
}

void fsim_read_chart_style(fsim_context *c)
{
    const fsim_settings *s = &c->set;
    const bool charted = fsim_file_asked(s, FSIM_AS_CHART) || fsim_file_asked(s, FSIM_AS_CHART_DATA);
    c->chart.theme = (fsim_theme)s->theme;
    if (s->chart_size && !read_size(s->chart_size, &c->chart))
        fsim_error(c->diag, fsim_command_line,
                   "--chart-size: '%s' is no size in pixels, such as 1200x800: 300x200 to 8000x8000, or a width alone",
                   s->chart_size);
    for (int i = 0; i < s->chart_kinds.count; i++)
        for (int k = 0; k <= FSIM_CHARTS; k++)
            if (k == FSIM_CHARTS)
                fsim_error(c->diag, fsim_command_line, "--chart-kind: unknown chart '%s'%s", s->chart_kinds.at[i],
                           fsim_did_you_mean(c->arena, s->chart_kinds.at[i], fsim_chart_names, FSIM_CHARTS));
            else if (strcmp(s->chart_kinds.at[i], fsim_chart_names[k]) == 0) {
                c->chart.kinds |= 1u << k;
                break;
            }
    if (!charted && (s->chart_size || s->chart_kinds.count || s->theme))
        fsim_error(c->diag, fsim_command_line, "%s belongs to --chart or --chart-data",
                   s->chart_size          ? "--chart-size"
                   : s->chart_kinds.count ? "--chart-kind"
                                          : "--theme");
}

static bool draw_plans(const fsim_context *c, const char *path, const void *what, fsim_fault *fault)
{
    const fsim_shown_plans *p = what;
    const fsim_chart_file to = {path, c->environment.gnuplot, &c->chart};
    return fsim_report_chart(c->arena, p->at, p->count, &to, fault);
}

static bool draw_accuracy(const fsim_context *c, const char *path, const void *what, fsim_fault *fault)
{
    const fsim_chart_file to = {path, c->environment.gnuplot, &c->chart};
    return fsim_chart_accuracy(c->arena, what, &to, fault);
}

static bool draw_sweep(const fsim_context *c, const char *path, const void *what, fsim_fault *fault)
{
    const fsim_chart_file to = {path, c->environment.gnuplot, &c->chart};
    return fsim_chart_sweep(c->arena, what, &to, fault);
}

const fsim_renderer fsim_as_chart[FSIM_RESULT_KINDS] = {
    [FSIM_RESULT_PLANS] = {.draw = draw_plans},
    [FSIM_RESULT_ACCURACY] = {.draw = draw_accuracy},
    [FSIM_RESULT_SWEEP] = {.draw = draw_sweep},
};
