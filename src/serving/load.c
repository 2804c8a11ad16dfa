/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/load.h"

#include "base/file.h"
#include "input/csv.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 1 << 24, MOST_REQUESTS = 1 << 20 };

static const fsim_loc command_line = {NULL, 0, 0};

/* Three quantities (fsim_goal_kind), each in four ways. */
enum { QUANTITIES = FSIM_GOAL_WHOLE + 1 };
enum { P99, P90, P50, MEAN, WAYS };
static const fsim_gate_metric metrics[QUANTITIES * WAYS] = {
    {"ttft", FSIM_GATE_SECONDS, false, "time to the first token of 99 of 100 requests"},
    {"ttft_p90", FSIM_GATE_SECONDS, false, "of 9 of 10"},
    {"ttft_p50", FSIM_GATE_SECONDS, false, "of half of them"},
    {"ttft_mean", FSIM_GATE_SECONDS, false, "the mean"},
    {"tpot", FSIM_GATE_SECONDS, false, "time per token behind the first, of 99 of 100 requests"},
    {"tpot_p90", FSIM_GATE_SECONDS, false, "of 9 of 10"},
    {"tpot_p50", FSIM_GATE_SECONDS, false, "of half of them"},
    {"tpot_mean", FSIM_GATE_SECONDS, false, "the mean"},
    {"latency", FSIM_GATE_SECONDS, false, "time to the last token of 99 of 100 requests"},
    {"latency_p90", FSIM_GATE_SECONDS, false, "of 9 of 10"},
    {"latency_p50", FSIM_GATE_SECONDS, false, "of half of them"},
    {"latency_mean", FSIM_GATE_SECONDS, false, "the mean"}};
const fsim_gate_table fsim_goals = {"capacity", metrics, QUANTITIES *WAYS, NULL, "--goal"};

fsim_goal_kind fsim_goal_kind_of(const fsim_gate *g) { return (fsim_goal_kind)(g->metric / WAYS); }

double fsim_goal_value(const fsim_gate *g, const fsim_loop_times *t)
{
    const fsim_percentiles *p[QUANTITIES] = {&t->first, &t->token, &t->whole};
    const fsim_percentiles *of = p[g->metric / WAYS];
    const double value[WAYS] = {of->p99, of->p90, of->p50, of->mean};
    return value[g->metric % WAYS];
}

bool fsim_goal_is_token_tail(const fsim_gate *g)
{
    return fsim_goal_kind_of(g) == FSIM_GOAL_TOKEN && (g->metric % WAYS == P99 || g->metric % WAYS == P90);
}

static bool read_whole(fsim_diag *d, const char *key, const char *text, int64_t most, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (end == text || *end || errno || *out < 1 || *out > most) {
        fsim_error(d, command_line, "--load: %s=%s is no whole number from 1 to %lld", key, text, (long long)most);
        return false;
    }
    return true;
}

/* "20", "20/s", "600/min", "1000/h". */
static bool read_rate(fsim_diag *d, const char *text, double *out)
{
    static const struct {
        const char *unit;
        double per_s;
    } units[] = {{"", 1}, {"/s", 1}, {"/min", 1.0 / 60}, {"/h", 1.0 / 3600}};
    char *end;
    const double x = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units && end != text; i++)
        if (strcmp(end, units[i].unit) == 0 && x > 0 && x <= 1e6) {
            *out = x * units[i].per_s;
            return true;
        }
    fsim_error(d, command_line, "--load: rate=%s is no rate of requests, wanted e.g. 20/s, 600/min or 1000/h", text);
    return false;
}

static bool read_arrivals(fsim_arena *a, fsim_diag *d, const char *text, fsim_arrivals *out)
{
    static const char *const words[] = {"poisson", "even"};
    *out = strcmp(text, words[1]) == 0 ? FSIM_ARRIVE_EVENLY : FSIM_ARRIVE_POISSON;
    if (strcmp(text, words[0]) == 0 || strcmp(text, words[1]) == 0)
        return true;
    fsim_error(d, command_line, "--load: arrivals=%s, wanted poisson or even%s", text,
               fsim_did_you_mean(a, text, words, 2));
    return false;
}

static int by_time(const void *x, const void *y)
{
    const fsim_traced *p = x, *q = y;
    return (p->at_s > q->at_s) - (p->at_s < q->at_s);
}

/* The columns' places in the header. False after an error. */
static bool read_header(fsim_diag *d, fsim_csv *csv, int at[3])
{
    static const char *const names[] = {"time", "input", "output"};
    const bool there = fsim_csv_next(csv);
    for (int k = 0; k < 3 && there; k++) {
        at[k] = -1;
        for (int f = 0; f < csv->fields; f++)
            at[k] = strcmp(csv->field[f].text, names[k]) == 0 ? f : at[k];
        if (at[k] < 0)
            fsim_error(d, fsim_csv_place(csv, 0),
                       "a trace of requests has the columns time (s), input and output; "
                       "there is no column '%s'",
                       names[k]);
    }
    if (!there && fsim_errors(d) == 0)
        fsim_error(d, (fsim_loc){.file = csv->path}, "the trace is empty");
    return fsim_errors(d) == 0;
}

static bool read_traced(fsim_diag *d, const fsim_csv *csv, const int at[3], fsim_traced *out)
{
    double value[3];
    for (int k = 0; k < 3; k++) {
        char *end = NULL;
        const char *text = at[k] < csv->fields ? csv->field[at[k]].text : "";
        value[k] = strtod(text, &end);
        const bool whole = value[k] == floor(value[k]) && value[k] >= 1 && value[k] <= MOST_TOKENS;
        if (end == text || *end || !(k ? whole : value[k] >= 0 && value[k] <= 1e9)) {
            fsim_error(d, fsim_csv_place(csv, at[k]), "'%s' is no %s", text,
                       k ? "whole number of tokens above 0" : "time in seconds");
            return false;
        }
    }
    *out = (fsim_traced){.at_s = value[0], .input = (int64_t)value[1], .output = (int64_t)value[2]};
    return true;
}

static bool read_trace(fsim_arena *a, fsim_diag *d, const char *path, fsim_load *out)
{
    size_t bytes;
    const char *why;
    char *text = fsim_read_file(a, path, &bytes, &why);
    int at[3], count = 0, room = 0;
    fsim_traced *row = NULL;
    if (!text) {
        fsim_failure(d, FSIM_NO_INPUT, (fsim_loc){.file = path}, "%s", why);
        return false;
    }
    fsim_diag_source(d, path, text, bytes);
    fsim_csv csv = fsim_csv_open(a, d, path, text, bytes);
    if (!read_header(d, &csv, at))
        return false;
    double input = 0, output = 0;
    while (fsim_csv_next(&csv)) {
        fsim_traced one;
        if (!read_traced(d, &csv, at, &one))
            return false;
        *FSIM_PUSH(a, row, count, room) = one;
        input += (double)one.input;
        output += (double)one.output;
    }
    if (fsim_errors(d) || count == 0 || count > MOST_REQUESTS) {
        if (fsim_errors(d) == 0)
            fsim_error(d, (fsim_loc){.file = path}, "a trace has 1 to %d requests, this has %d", MOST_REQUESTS, count);
        return false;
    }
    qsort(row, (size_t)count, sizeof *row, by_time);
    for (int i = count - 1; i >= 0; i--)
        row[i].at_s -= row[0].at_s;
    out->trace = row;
    out->traced = count;
    out->input = (int64_t)fmax(1, round(input / count));
    out->output = (int64_t)fmax(1, round(output / count));
    out->arrivals = FSIM_ARRIVE_TRACE;
    out->rate = row[count - 1].at_s > 0 ? (double)count / row[count - 1].at_s : 0;
    return true;
}

static bool read_word(fsim_arena *a, fsim_diag *d, const char *word, fsim_load *out)
{
    static const char *const keys[] = {"input", "output", "rate", "concurrency", "arrivals", "trace"};
    const char *equals = strchr(word, '=');
    const char *key = fsim_printf(a, "%.*s", equals ? (int)(equals - word) : (int)strlen(word), word);
    const char *value = equals ? equals + 1 : "";
    if (strcmp(key, "input") == 0)
        return read_whole(d, key, value, MOST_TOKENS, &out->input);
    if (strcmp(key, "output") == 0)
        return read_whole(d, key, value, MOST_TOKENS, &out->output);
    if (strcmp(key, "rate") == 0)
        return read_rate(d, value, &out->rate);
    if (strcmp(key, "concurrency") == 0)
        return read_whole(d, key, value, MOST_REQUESTS, &out->concurrency);
    if (strcmp(key, "arrivals") == 0)
        return read_arrivals(a, d, value, &out->arrivals);
    if (strcmp(key, "trace") == 0)
        return read_trace(a, d, value, out);
    fsim_error(d, command_line,
               "--load: there is no '%s'%s; it may say input, output, rate, concurrency, arrivals, "
               "trace",
               key, fsim_did_you_mean(a, key, keys, 6));
    return false;
}

bool fsim_load_read(fsim_arena *a, fsim_diag *d, const char *const *words, int count, fsim_load *out)
{
    *out = (fsim_load){.arrivals = FSIM_ARRIVE_POISSON, .text = ""};
    bool lengths = false, rates = false;
    for (int i = 0; i < count; i++) {
        if (!read_word(a, d, words[i], out))
            return false;
        lengths = lengths || strncmp(words[i], "input=", 6) == 0 || strncmp(words[i], "output=", 7) == 0;
        rates = rates || strncmp(words[i], "rate=", 5) == 0 || strncmp(words[i], "arrivals=", 9) == 0;
        out->text = fsim_printf(a, "%s%s%s", out->text, i ? "," : "", words[i]);
    }
    if (out->trace && (lengths || rates || out->concurrency))
        fsim_error(d, command_line, "--load: a trace says lengths and times; wanted nothing beside it");
    else if (out->input == 0 || out->output == 0)
        fsim_error(d, command_line, "wanted --load input=TOKENS,output=TOKENS, and rate=N/s or concurrency=N");
    else if (out->rate > 0 && out->concurrency && !out->trace)
        fsim_error(d, command_line, "--load: rate and concurrency both say how many requests there are");
    if (out->concurrency || (out->rate == 0 && !out->trace))
        out->arrivals = FSIM_ARRIVE_CLOSED;
    return fsim_errors(d) == 0;
}
