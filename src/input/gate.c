/* SPDX-License-Identifier: Apache-2.0 */
#include "input/gate.h"

#include "base/unit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The option that says the limits, for messages. */
static const char *option_of(const fsim_gate_table *t) { return t->option ? t->option : "--gate"; }

static const fsim_loc command_line = {NULL, 0, 0};

/* An example of a limit for each unit. */
static const char *const examples[] = {
    [FSIM_GATE_SHARE] = "10%",   [FSIM_GATE_PART] = "85%",    [FSIM_GATE_COUNT] = "40",
    [FSIM_GATE_ROWS] = "100%",   [FSIM_GATE_NUMBER] = "0.9",  [FSIM_GATE_FACTOR] = "1.2",
    [FSIM_GATE_SECONDS] = "5ms", [FSIM_GATE_BYTES] = "80GiB", [FSIM_GATE_YES] = ""};

const fsim_gate_metric *fsim_gate_metric_of(const fsim_gate *g) { return &g->table->metric[g->metric]; }

const char *fsim_gate_example(const fsim_gate_metric *m, fsim_arena *a)
{
    const char *limit = m->unit == FSIM_GATE_SHARE && m->at_least ? "90%" : examples[m->unit];
    return m->unit == FSIM_GATE_YES ? m->name : fsim_printf(a, "%s=%s", m->name, limit);
}

const char *fsim_gate_bound(const fsim_gate_metric *m)
{
    return m->unit == FSIM_GATE_YES ? "" : m->at_least ? "at least" : "at most";
}

/* Parses a limit. False with *why set to what was expected. */
static bool read_limit(const char *text, fsim_gate *g, const char **why, fsim_arena *a)
{
    const fsim_gate_metric *m = fsim_gate_metric_of(g);
    if (m->unit == FSIM_GATE_SECONDS || m->unit == FSIM_GATE_BYTES) {
        const fsim_dim dim = m->unit == FSIM_GATE_SECONDS ? FSIM_DIM_SECONDS : FSIM_DIM_BYTES;
        return fsim_parse_unit(text, dim, &g->limit, why) && g->limit >= 0;
    }
    char *end;
    const double x = strtod(text, &end);
    g->percent = *end == '%' && (m->unit == FSIM_GATE_SHARE || m->unit == FSIM_GATE_PART || m->unit == FSIM_GATE_ROWS);
    const bool factor = *end == 'x' && m->unit == FSIM_GATE_FACTOR;
    g->limit = g->percent ? x / 100 : x;
    *why = fsim_printf(a, "is no limit, wanted e.g. %s", examples[m->unit]);
    const bool share = m->unit == FSIM_GATE_SHARE || m->unit == FSIM_GATE_PART;
    if (end != text && !*end && share && x > 1) { /* 5 for 5% */
        *why = fsim_printf(a, "is a share above 1: write %s%%, or %.6g%% if that is meant", text, 100 * x);
        return false;
    }
    return end != text && !end[g->percent || factor] && isfinite(x) && x >= 0;
}

/* All metrics of a command: "mape=10%, rows=100%, ..." */
static const char *metrics_text(const fsim_gate_table *t, fsim_arena *a)
{
    const char *text = "";
    for (int m = 0; m < t->metrics; m++)
        text = fsim_printf(a, "%s%s%s", text, m ? ", " : "", fsim_gate_example(&t->metric[m], a));
    return text;
}

static bool unknown_metric(fsim_arena *a, fsim_diag *d, const fsim_gate *g, const char *name)
{
    const fsim_gate_table *t = g->table;
    const char **names = fsim_new(a, const char *, t->metrics + 1);
    for (int m = 0; m < t->metrics; m++)
        names[m] = t->metric[m].name;
    fsim_error(d, command_line, "%s '%s': unknown metric '%s'%s (%s has %s)", option_of(g->table), g->text, name,
               fsim_did_you_mean(a, name, names, t->metrics), t->command, metrics_text(t, a));
    return false;
}

bool fsim_gate_read(fsim_arena *a, fsim_diag *d, const char *text, const fsim_gate_table *table, fsim_gate *out)
{
    const char *equals = strrchr(text, '='), *end = equals ? equals : text + strlen(text);
    const char *colon = memrchr(text, ':', (size_t)(end - text)), *start = colon ? colon + 1 : text, *why = "";
    *out = (fsim_gate){.text = text,
                       .group = colon ? fsim_strndup(a, text, (size_t)(colon - text)) : "",
                       .table = table,
                       .count = -1,
                       .value = NAN,
                       .says = ""};
    if (end == start || colon == text || (equals && !equals[1])) {
        fsim_error(d, command_line, "%s '%s': wanted %sMETRIC=LIMIT; %s has %s", option_of(table), text,
                   table->groups ? "[GROUP:]" : "", table->command, metrics_text(table, a));
        return false;
    }
    const char *name = fsim_strndup(a, start, (size_t)(end - start));
    while (out->metric < table->metrics && strcmp(name, table->metric[out->metric].name) != 0)
        out->metric++;
    if (out->metric == table->metrics)
        return unknown_metric(a, d, out, name);
    const fsim_gate_metric *m = fsim_gate_metric_of(out);
    if (colon && !table->groups)
        fsim_error(d, command_line, "%s '%s': limits of %s have no group; wanted e.g. %s", option_of(table), text,
                   table->command, fsim_gate_example(m, a));
    else if (!equals != (m->unit == FSIM_GATE_YES))
        fsim_error(d, command_line, equals ? "%s '%s': %s has no limit: wanted %s" : "%s '%s': %s wants a limit: %s",
                   option_of(table), text, name, fsim_gate_example(m, a));
    else if (equals && !read_limit(equals + 1, out, &why, a))
        fsim_error(d, command_line, "%s '%s': '%s' %s", option_of(table), text, equals + 1, *why ? why : "is negative");
    else
        return true;
    return false;
}

static const char *shown(const fsim_gate *g, double x, fsim_arena *a)
{
    char buffer[32];
    switch (fsim_gate_metric_of(g)->unit) {
    case FSIM_GATE_SECONDS:
        return fsim_strdup(a, fsim_show_seconds(buffer, sizeof buffer, x));
    case FSIM_GATE_BYTES:
        return fsim_strdup(a, fsim_show_bytes(buffer, sizeof buffer, x));
    case FSIM_GATE_FACTOR:
        return fsim_printf(a, "%.4gx", x);
    case FSIM_GATE_SHARE:
    case FSIM_GATE_PART:
        return fsim_printf(a, "%.4g %%", 100 * x);
    case FSIM_GATE_ROWS:
        return g->percent ? fsim_printf(a, "%.4g %%", 100 * x) : fsim_printf(a, "%.0f", x);
    default:
        return fsim_printf(a, "%.4g", x);
    }
}

void fsim_gate_judge(fsim_gate *g, double value, const char *of, const char *why, fsim_arena *a)
{
    const fsim_gate_metric *m = fsim_gate_metric_of(g);
    g->value = value;
    if (m->unit == FSIM_GATE_YES) {
        g->passed = value > 0;
        g->says = isnan(value) ? why : g->passed ? "yes" : fsim_printf(a, "no%s", of);
        return;
    }
    g->passed = m->at_least ? value >= g->limit : value <= g->limit; /* false for NaN */
    g->says = isnan(value) ? why
                           : fsim_printf(a, "%s%s, wanted at %s %s", shown(g, value, a), of,
                                         m->at_least ? "least" : "most", shown(g, g->limit, a));
}

int fsim_gates_failed(const fsim_gate *gate, int gates)
{
    int failed = 0;
    for (int i = 0; i < gates; i++)
        failed += !gate[i].passed;
    return failed;
}

void fsim_gate_usage(FILE *out, const fsim_gate_table *table)
{
    enum { EXAMPLE_COLUMNS = 21 };
    fsim_arena *a = fsim_arena_new();
    fprintf(out, "  %s%s%s\n", table->command, table->groups ? "; GROUP: " : "", table->groups ? table->groups : "");
    for (int i = 0; i < table->metrics; i++) {
        const fsim_gate_metric *m = &table->metric[i];
        fprintf(out, "    %-*s %-8s %s\n", EXAMPLE_COLUMNS, fsim_gate_example(m, a), fsim_gate_bound(m), m->help);
    }
    fsim_arena_free(a);
}
