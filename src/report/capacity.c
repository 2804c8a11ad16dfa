/* SPDX-License-Identifier: Apache-2.0 */
#include "report/capacity.h"

#include "base/unit.h"
#include "report/machines.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 48 };

static const char *seconds(fsim_arena *a, double s)
{
    return isnan(s) ? "" : fsim_show_seconds(fsim_new(a, char, ROOM), ROOM, s);
}

static const char *bytes(fsim_arena *a, double b) { return fsim_show_bytes(fsim_new(a, char, ROOM), ROOM, b); }

/* Three significant digits, and all of a whole number; "" for NaN. */
static const char *digits(fsim_arena *a, double x)
{
    enum { DIGITS = 3, MOST = 9 };
    if (isnan(x))
        return "";
    const char *rounded = fsim_printf(a, "%.*e", DIGITS - 1, x); /* "9.99e-02" */
    const int decimals = DIGITS - 1 - atoi(strchr(rounded, 'e') + 1);
    return fsim_printf(a, "%.*f", decimals < 0 ? 0 : decimals > MOST ? MOST : decimals, x);
}

static bool is_open(const fsim_load *l) { return l->rate > 0 || l->concurrency || l->trace; }

/* "tp 4", "ep 8", "tp 8 pp 2": how the GPUs of an option share the model; "chunk 512": steps that take
 * fewer tokens of prompts than the engine's do. */
static const char *sharing_text(const fsim_option *x, fsim_arena *a)
{
    const char *parts =
        x->on.budget < x->on.engine->tokens ? fsim_printf(a, " chunk %lld", (long long)x->on.budget) : "";
    const char *stages = x->on.pp > 1 ? fsim_printf(a, " pp %lld%s", (long long)x->on.pp, parts) : parts;
    if (x->on.model->kv_lora)
        return fsim_printf(a, "ep %lld%s", (long long)x->on.ep, stages);
    return x->on.ep > 1 ? fsim_printf(a, "tp %lld ep %lld%s", (long long)x->on.tp, (long long)x->on.ep, stages)
                        : fsim_printf(a, "tp %lld%s", (long long)x->on.tp, stages);
}

/* "GPU", "2 GPUs": what has requests of its own in a copy. */
static const char *part_text(const fsim_option *x, fsim_arena *a)
{
    return x->on.tp > 1 ? fsim_printf(a, "%lld GPUs", (long long)x->on.tp) : "GPU";
}

/* "f16" where that is what the GPU computes in. */
static const char *stored_as(const fsim_option *x, fsim_precision p)
{
    return p == FSIM_16_BITS ? x->on.dtype : fsim_precision_names[p];
}

static const char *stored_text(const fsim_option *x, fsim_arena *a)
{
    return fsim_printf(a, "%s/%s", stored_as(x, x->on.weights), stored_as(x, x->on.cache));
}

/* "tp 2, f8 weights, bf16 cache" */
const char *fsim_option_text(const fsim_option *x, fsim_arena *a)
{
    return fsim_printf(a, "%s, %s weights, %s cache", sharing_text(x, a), stored_as(x, x->on.weights),
                       stored_as(x, x->on.cache));
}

static const char *load_text(const fsim_capacity_asked *q, fsim_arena *a)
{
    const fsim_load *l = q->load;
    const char *lengths = fsim_printf(a, "%lld tokens in and %lld out", (long long)l->input, (long long)l->output);
    if (l->trace)
        return fsim_printf(a, "a trace of %lld requests, on average %s, %.3g a second", (long long)l->traced, lengths,
                           l->rate);
    if (l->concurrency)
        return fsim_printf(a, "%lld request%s of %s", (long long)l->concurrency,
                           l->concurrency == 1 ? " under way," : "s under way, each", lengths);
    return l->rate > 0 ? fsim_printf(a, "%.4g request%s a second of %s, %s", l->rate, l->rate == 1 ? "" : "s", lengths,
                                     l->arrivals == FSIM_ARRIVE_EVENLY ? "evenly apart" : "Poisson arrivals")
                       : fsim_printf(a, "requests that all wait, of %s", lengths);
}

static void report_head(const fsim_page *page, const fsim_capacity *x, fsim_arena *a)
{
    const fsim_capacity_asked *q = x->asked;
    const char *goals = "";
    for (int i = 0; i < q->goals; i++)
        goals = fsim_printf(a, "%s%s%s", goals, i ? ", " : "; goals: ", q->goal[i].text);
    fsim_paragraph(page, FSIM_STRONG, 0, 0,
                   fsim_printf(a, "%s under %s: %s%s", q->model->name, q->engine->words, load_text(q, a), goals));
}

/* "8 x h100-sxm5-80gb: 4 copies on tp 2, ..." */
static const char *choice_text(const fsim_option *x, fsim_arena *a)
{
    const char *cost = isnan(x->usd_h) ? ""
                                       : fsim_printf(a, ", %s USD/h, %s USD per million tokens out",
                                                     digits(a, x->usd_h), digits(a, x->usd_million));
    const char *energy = isnan(x->joules) ? "" : fsim_printf(a, ", %s J/token", digits(a, x->joules));
    return fsim_printf(a, "%lld x %s: %lld cop%s, each on %s%s%s", (long long)x->gpus, x->machine->name,
                       (long long)x->replicas, x->replicas == 1 ? "y" : "ies", fsim_option_text(x, a), cost, energy);
}

/* A change in percent; without a sign where it is none at this many digits. */
static const char *change(fsim_arena *a, double x)
{
    return fabs(100 * x) < 0.05 ? "0 %" : fsim_printf(a, "%+.1f %%", 100 * x);
}

/* What the best plans' kernels would save. */
static void report_fused(const fsim_page *page, const fsim_option *now, const fsim_option *fused, fsim_arena *a)
{
    const double n = fsim_option_batch(now);
    const double step = fsim_loop_decode_s(&fused->loop, n) / fsim_loop_decode_s(&now->loop, n) - 1;
    const double prompt = fused->loop.alone_s / now->loop.alone_s - 1;
    const char *money = isnan(now->usd_h) ? "" : fsim_printf(a, ", %s USD/h", digits(a, fused->usd_h));
    fsim_paragraph(
        page, FSIM_PLAIN, 0, 2,
        fsim_printf(a,
                    "With the best fusion: %lld GPU%s%s, tpot %s and not %s on average; a step of new tokens "
                    "%s, a prompt %s",
                    (long long)fused->gpus, fused->gpus == 1 ? "" : "s", money, seconds(a, fused->times.token.mean),
                    seconds(a, now->times.token.mean), change(a, step), change(a, prompt)));
}

/* "2 copies on tp 4" */
static const char *copies_text(const fsim_option *x, int64_t copies, fsim_arena *a)
{
    return fsim_printf(a, "%lld cop%s on %s", (long long)copies, copies == 1 ? "y" : "ies", sharing_text(x, a));
}

/* "2 GPUs fewer than the above"; of loads where all requests wait, what a GPU does. */
static const char *beside_text(const fsim_capacity *x, fsim_arena *a)
{
    if (x->fewest < 0)
        return "where together no number of GPUs serves";
    const fsim_option *o = &x->option[x->fewest];
    const int64_t more = x->disaggregated->gpus - o->gpus, size = more < 0 ? -more : more;
    if (!is_open(x->asked->load))
        return fsim_printf(
            a, "%s tokens a GPU beside the above",
            change(a,
                   x->disaggregated->tokens_s / (double)x->disaggregated->gpus / (o->tokens_s / (double)o->gpus) - 1));
    return more == 0 ? "as many GPUs as the above"
                     : fsim_printf(a, "%lld GPU%s %s than the above", (long long)size, size == 1 ? "" : "s",
                                   more < 0 ? "fewer" : "more");
}

/* " (80 % interval: 10 to 16)" */
static const char *apart_interval(const fsim_capacity *x, fsim_arena *a)
{
    const fsim_disaggregated *q = x->disaggregated_ends.quick, *w = x->disaggregated_ends.slow;
    if (!is_open(x->asked->load) || !q)
        return "";
    return w ? fsim_printf(a, " (80 %% interval: %lld to %lld)", (long long)q->gpus, (long long)w->gpus)
             : fsim_printf(a, " (80 %% interval: from %lld to more than may be used)", (long long)q->gpus);
}

/* What prompts on GPUs of their own would bring. */
static const char *apart_text(const fsim_capacity *x, fsim_arena *a)
{
    const fsim_disaggregated *p = x->disaggregated;
    const char *cost = isnan(p->usd_h) ? ""
                                       : fsim_printf(a, ", %s USD/h, %s USD per million tokens out",
                                                     digits(a, p->usd_h), digits(a, p->usd_million));
    const char *energy = isnan(p->joules) ? "" : fsim_printf(a, ", %s J/token", digits(a, p->joules));
    const double first = fsim_evidence_factor(fsim_first_evidence(x->asked->model)),
                 token = fsim_evidence_factor(fsim_token_evidence(x->asked->model));
    const char *times = fsim_printf(
        a, "ttft %s and %s (%s to %s), tpot %s and %s (%s to %s; half of the requests, 99 of 100 with 80 %% intervals)",
        seconds(a, p->times.first.p50), seconds(a, p->times.first.p99), seconds(a, p->times.first.p99 / first),
        seconds(a, p->times.first.p99 * first), seconds(a, p->times.token.p50), seconds(a, p->times.token.p99),
        seconds(a, p->times.token.p99 / token), seconds(a, p->times.token.p99 * token));
    return fsim_printf(a,
                       "Prompts apart (disaggregated): %lld x %s%s, %s: %s for prompts, %s for new tokens, %s weights, "
                       "%s cache%s%s; %s. A prompt's cache of %s moves in %s over the %s; none of the measured systems "
                       "is of this kind: intervals are those of systems that have both on the same GPUs",
                       (long long)p->gpus, p->prompt->machine->name, apart_interval(x, a), beside_text(x, a),
                       copies_text(p->prompt, p->prompts, a), copies_text(p->token, p->tokens, a),
                       stored_as(p->prompt, p->prompt->on.weights), stored_as(p->prompt, p->prompt->on.cache), cost,
                       energy, times, bytes(a, p->bytes), seconds(a, p->move_s),
                       p->near ? "links of a node" : "network");
}

static void report_apart(const fsim_page *page, const fsim_capacity *x, fsim_arena *a)
{
    if (x->disaggregated)
        fsim_paragraph(page, x->fewest < 0 ? FSIM_GOOD : FSIM_PLAIN, 0, 2, apart_text(x, a));
}

/* What a copy fewer would break, and where shorter answers are dearer. */
static void report_fewer(const fsim_page *page, const fsim_capacity *x, fsim_arena *a)
{
    const char *needed =
        isnan(x->needed) ? "" : fsim_printf(a, "; enough if all steps took %.0f %% less", 100 * (1 - x->needed));
    const char *tail =
        isnan(x->half_s)
            ? ""
            : fsim_printf(
                  a,
                  ". Half of the requests take %s a token: over about %lld tokens an answer, steps that also take "
                  "others' prompts do not average out; longer answers may need fewer GPUs",
                  seconds(a, x->half_s), (long long)x->asked->load->output);
    fsim_paragraph(page, FSIM_PLAIN, 0, 2, fsim_printf(a, "One copy fewer: %s%s%s", x->fewer, needed, tail));
}

static void report_choices(const fsim_page *page, const fsim_capacity *x, fsim_arena *a)
{
    const bool open = is_open(x->asked->load);
    const struct {
        const char *title;
        int option;
    } choices[] = {{open ? "Fewest GPUs" : "Most tokens a GPU", x->fewest},
                   {"Cheapest", x->cheapest >= 0 && !isnan(x->option[x->cheapest].usd_h) ? x->cheapest : -1},
                   {"Least energy", x->coolest >= 0 && !isnan(x->option[x->coolest].joules) ? x->coolest : -1}};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (choices[i].option < 0)
            continue;
        const char *same = NULL;
        for (size_t k = 0; k < i; k++)
            if (choices[k].option == choices[i].option)
                same = same ? same : choices[k].title;
        const char *between = "";
        const fsim_option_ends *ends = &x->ends[i];
        if (i == 0 && open && ends->quick && ends->slow)
            between = fsim_printf(a, " (80 %% interval: %lld to %lld GPUs)", (long long)ends->quick->gpus,
                                  (long long)ends->slow->gpus);
        else if (i == 0 && open)
            between = " (with times at the upper end of their 80 % interval no number of GPUs meets the goals)";
        fsim_paragraph(page, i ? FSIM_PLAIN : FSIM_GOOD, 0, 2,
                       same ? fsim_printf(a, "%s: as %s", choices[i].title, same)
                            : fsim_printf(a, "%s: %s%s", choices[i].title,
                                          choice_text(&x->option[choices[i].option], a), between));
    }
    if (x->fused)
        report_fused(page, &x->option[x->fewest], x->fused, a);
    if (x->fewer)
        report_fewer(page, x, a);
    report_apart(page, x, a);
}

static const char *figure(fsim_arena *a, double x) { return x == floor(x) ? fsim_printf(a, "%.0f", x) : digits(a, x); }

/* "12 to 28" of a measure, whichever end is less; "" where an end is not known. */
static const char *between_text(const fsim_option_ends *ends, double (*measure)(const fsim_option *x), fsim_arena *a)
{
    if (!ends->quick || !ends->slow)
        return "";
    const double x = measure(ends->quick), y = measure(ends->slow);
    return isnan(x) || isnan(y) ? "" : fsim_printf(a, "%s to %s", figure(a, fmin(x, y)), figure(a, fmax(x, y)));
}

static double gpus_of(const fsim_option *x) { return (double)x->gpus; }
static double rate_of(const fsim_option *x) { return x->tokens_s; }
static double million_of(const fsim_option *x) { return x->usd_million; }
static double joules_of(const fsim_option *x) { return x->joules; }

static void add_evidence(fsim_table *t, const char *const text[3], fsim_evidence_kind kind, fsim_arena *a)
{
    const fsim_evidence *e = &fsim_evidences[kind];
    const char **cell = fsim_table_row(t, FSIM_PLAIN);
    for (int i = 0; i < 3; i++)
        cell[i] = text[i];
    cell[3] = fsim_printf(a, "%d", e->rows);
    cell[4] = fsim_printf(a, "%.0f%%", 100 * e->median);
    cell[5] = e->title;
}

static void add_time(fsim_table *t, const char *title, double s, fsim_evidence_kind kind, fsim_arena *a)
{
    const double factor = fsim_evidence_factor(kind);
    const char *between = fsim_printf(a, "%s to %s", seconds(a, s / factor), seconds(a, s * factor));
    if (!isnan(s))
        add_evidence(t, (const char *const[]){title, seconds(a, s), between}, kind, a);
}

/* Each figure of the fewest GPUs, its interval, and the measured systems by which that is known. */
static void report_evidence(const fsim_page *page, const fsim_capacity *x, fsim_arena *a)
{
    static const fsim_column column[] = {
        {.title = "figure", .left = true},
        {.title = "value"},
        {.title = "8 of 10 between", .legend = "with so many GPUs for times; else with as many as the load then needs"},
        {.title = "rows", .legend = "measured systems of that kind (reports/systems.md)"},
        {.title = "error", .legend = "the median of theirs"},
        {.title = "kind", .left = true, .shrinks = true}};
    const fsim_option *o = &x->option[x->fewest];
    const fsim_model *m = x->asked->model;
    const bool open = is_open(x->asked->load);
    const struct {
        const char *title;
        double (*of)(const fsim_option *x);
    } figures[] = {{"GPUs", gpus_of}, {"tokens/s", rate_of}, {"USD/M", million_of}, {"J/token", joules_of}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    add_time(&t, "ttft, 99%", o->times.first.p99, fsim_first_evidence(m), a);
    add_time(&t, "tpot, 99%", o->times.token.p99, fsim_token_evidence(m), a);
    for (size_t i = open ? 0 : 1; i < sizeof figures / sizeof *figures; i += open && i == 0 ? 2 : 1) {
        const char *between = between_text(&x->ends[FSIM_FEWEST], figures[i].of, a);
        const double value = figures[i].of(o);
        if (*between && !isnan(value))
            add_evidence(&t, (const char *const[]){figures[i].title, figure(a, value), between}, fsim_rate_evidence(m),
                         a);
    }
    putc('\n', page->out);
    fsim_table_print(page, &t, 0);
    fsim_table_legend(page, &t, 0);
}

const char *fsim_capacity_line(const fsim_capacity *x, fsim_arena *a)
{
    const char *answer = x->fewest >= 0     ? choice_text(&x->option[x->fewest], a)
                         : x->disaggregated ? apart_text(x, a)
                                            : "no way to serve it was found";
    return fsim_printf(a, "%s: %s", x->asked->model->name, answer);
}

/* Does it do more tokens of output a GPU than the other, or as many sooner? */
static bool does_more(const fsim_option *x, const fsim_option *y)
{
    const double one = x->tokens_s / (double)x->gpus, other = y->tokens_s / (double)y->gpus;
    return one != other ? one > other : x->user_s >= y->user_s;
}

/* The options that serve, by GPUs, then cost, then tokens, then their place. */
static int sorted(const fsim_capacity *x, int *at)
{
    int count = 0;
    for (int i = 0; i < x->options; i++) {
        if (x->option[i].reason)
            continue;
        int k = count++;
        for (; k > 0; k--) {
            const fsim_option *p = &x->option[at[k - 1]], *o = &x->option[i];
            const double u = isnan(p->usd_h) ? 0 : p->usd_h, v = isnan(o->usd_h) ? 0 : o->usd_h;
            if (p->gpus < o->gpus || (p->gpus == o->gpus && (u < v || (u == v && does_more(p, o)))))
                break;
            at[k] = at[k - 1];
        }
        at[k] = i;
    }
    return count;
}

static bool is_named(const fsim_capacity *x, int option)
{
    return option == x->fewest || option == x->cheapest || option == x->coolest;
}

/* Keeps so many of the sorted options: those that the head names, then the first. Returns how many are left out, whose
 * GPUs are from least to most. */
static int leave_out(const fsim_capacity *x, int *at, int count, int keep, int64_t least_most[2])
{
    int named = 0, kept = 0, left = 0;
    for (int i = 0; i < count; i++)
        named += is_named(x, at[i]);
    for (int i = 0; i < count; i++) {
        const int64_t gpus = x->option[at[i]].gpus;
        named -= is_named(x, at[i]);
        if (is_named(x, at[i]) || kept + named < keep) {
            at[kept++] = at[i];
            continue;
        }
        least_most[0] = left == 0 || gpus < least_most[0] ? gpus : least_most[0];
        least_most[1] = left == 0 || gpus > least_most[1] ? gpus : least_most[1];
        left++;
    }
    return left;
}

/* "82 more ways serve the load, with 1 to 24 GPUs (--verbose)" */
static const char *left_text(int left, const int64_t gpus[2], fsim_arena *a)
{
    const char *to = gpus[1] > gpus[0] ? fsim_printf(a, " to %lld", (long long)gpus[1]) : "";
    return fsim_printf(a, "%d more way%s the load, with %lld%s GPU%s (--verbose)", left,
                       left == 1 ? " serves" : "s serve", (long long)gpus[0], to, gpus[1] == 1 ? "" : "s");
}

static void report_options(const fsim_page *page, const fsim_capacity *x, bool verbose, fsim_arena *a)
{
    enum { SHOWN = 10, TTFT = 6, TPOT = 8 };
    fsim_column column[] = {{.title = "GPU", .left = true, .shrinks = true},
                            {.title = "GPUs"},
                            {.title = "copies", .drop = 3},
                            {.title = "each on", .left = true},
                            {.title = "stored", .left = true, .legend = "weights/cache"},
                            {.title = "running", .legend = "requests in a step of a copy, on average", .drop = 4},
                            {.title = "ttft", .legend = "time to the first token, half of the requests", .drop = 2},
                            {.title = "99%", .legend = "the figure before, of 99 of 100"},
                            {.title = "tpot", .legend = "time per token behind it", .drop = 2},
                            {.title = "99%"},
                            {.title = "tokens/s", .legend = "of output, all GPUs", .drop = 5},
                            {.title = "USD/h", .drop = 6},
                            {.title = "USD/M", .legend = "USD per million tokens of output", .drop = 1},
                            {.title = "J/token", .drop = 6}};
    int *at = fsim_new(a, int, x->options + 1);
    const int count = sorted(x, at);
    int64_t gpus[2] = {0, 0};
    const int left = leave_out(x, at, count, verbose ? count : SHOWN, gpus), shown = count - left;
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < shown; i++) {
        const fsim_option *o = &x->option[at[i]];
        const char **cell = fsim_table_row(&t, is_named(x, at[i]) ? FSIM_STRONG : FSIM_PLAIN);
        cell[0] = o->machine->name;
        cell[1] = fsim_printf(a, "%lld", (long long)o->gpus);
        cell[2] = fsim_printf(a, "%lld", (long long)o->replicas);
        cell[3] = sharing_text(o, a);
        cell[4] = stored_text(o, a);
        cell[5] = digits(a, fsim_option_running(o));
        cell[6] = seconds(a, o->times.first.p50);
        cell[7] = seconds(a, o->times.first.p99);
        cell[8] = seconds(a, o->times.token.p50);
        cell[9] = seconds(a, o->times.token.p99);
        cell[10] = fsim_printf(a, "%.0f", o->tokens_s);
        cell[11] = digits(a, o->usd_h);
        cell[12] = digits(a, o->usd_million);
        cell[13] = digits(a, o->joules);
    }
    if (shown == 0)
        return;
    for (int i = TTFT; i <= TPOT; i += TPOT - TTFT) /* on a narrow page the tail stands alone, under its whole name */
        if (!fsim_table_shows(page, &t, 0, i)) {
            column[i + 1].title = fsim_printf(a, "%s 99%%", column[i].title);
            column[i + 1].legend = fsim_printf(a, "%s, of 99 of 100 requests",
                                               i == TTFT ? "time to the first token" : "time per token behind it");
        }
    putc('\n', page->out);
    fsim_table_print(page, &t, 0);
    fsim_table_legend(page, &t, 0);
    if (left > 0)
        fsim_paragraph(page, FSIM_FAINT, 0, 0, left_text(left, gpus, a));
}

static const char *phase_text(const fsim_step_shares *p, fsim_arena *a)
{
    return fsim_printf(
        a,
        "most of it is %s; at the data sheet's rates reading weights takes %.0f %%, reading the cache %.0f "
        "%%, products %.0f %%; the host takes %.0f %%",
        p->by, 100 * p->weights, 100 * p->cache, 100 * p->products, 100 * p->host);
}

/* "31.0 requests", "248 requests, 31.0 on each GPU", "9.00 requests, at most 2.00 on each GPU". */
static const char *running_text(const fsim_option *o, fsim_arena *a)
{
    const char *most = o->filled < 1 ? "at most " : "", *own = digits(a, o->times.running);
    const char *each = fsim_option_parts(o) > 1 ? fsim_printf(a, ", %s%s on each %s", most, own, part_text(o, a)) : "";
    const char *batches = o->on.pp > 1 ? fsim_printf(a, ", %s in a batch", digits(a, fsim_option_batch(o))) : "";
    return fsim_printf(a, "%s requests%s%s", digits(a, fsim_option_running(o)), each, batches);
}

/* Of an engine that lets in more than it may keep: how often it takes the cache from a request. */
static const char *preempted_text(const fsim_option *o, fsim_arena *a)
{
    static const double worth_a_word = 0.005;
    return o->times.given_up < worth_a_word
               ? ""
               : fsim_printf(
                     a,
                     " It fills up: of 100 requests %.*f lose theirs to older ones, on average, and read prompt "
                     "and answer again.",
                     o->times.given_up < 0.1, 100 * o->times.given_up);
}

/* What stages do, and what they send. */
static void report_stages(const fsim_page *page, const fsim_option *o, int64_t batch, fsim_arena *a)
{
    const long long most = (long long)fsim_stage_layers(&o->on);
    fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                   fsim_printf(a,
                               "%lld stages have up to %lld layers each, and as many batches are under way: each token "
                               "goes through all of them. Of these times, %s and %s are sends of hidden state and "
                               "residual between stages, worked out; none of the measured systems has stages.",
                               (long long)o->on.pp, most, seconds(a, fsim_sends_s(&o->on, batch)),
                               seconds(a, fsim_sends_s(&o->on, o->on.input))));
}

static void report_limits(const fsim_page *page, const fsim_option *o, fsim_arena *a)
{
    const double in = fsim_option_batch(o), step_s = fsim_loop_decode_s(&o->loop, in) + o->loop.host_s;
    const int64_t nodes = fsim_deployed_nodes(&o->on), batch = (int64_t)fmax(1, round(in));
    putc('\n', page->out);
    fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                   fsim_printf(a, "A step of new tokens: %s with %s, %s.", seconds(a, step_s), running_text(o, a),
                               phase_text(&o->decode, a)));
    fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                   fsim_printf(a, "A prompt: %s alone, %s.", seconds(a, o->loop.alone_s + o->loop.host_s),
                               phase_text(&o->prefill, a)));
    if (o->on.pp > 1)
        report_stages(page, o, batch, a);
    if (nodes > 1 && fsim_network_s(&o->on, batch) > 0)
        fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                       fsim_printf(a,
                                   "A copy spans %lld nodes: of these times, %s and %s are what crosses the network at "
                                   "%.1f GB/s for each GPU, worked out and not measured.",
                                   (long long)nodes, seconds(a, fsim_network_s(&o->on, batch)),
                                   seconds(a, fsim_network_s(&o->on, o->on.input)), o->on.network / 1e9));
    fsim_paragraph(page, FSIM_PLAIN, 0, 2,
                   fsim_printf(a, "A copy is at work %.0f %% of the time, %.0f %% of that on prompts.",
                               100 * o->times.busy, 100 * o->times.prompts));
}

static void report_memory(const fsim_page *page, const fsim_option *o, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "memory of a GPU", .left = true}, {.title = "bytes"}, {.title = ""}};
    const fsim_deployed_memory *m = &o->memory;
    enum { PARTS = 6 };
    const double others = m->collectives + m->framework,
                 parts[PARTS] = {m->weights,
                                 m->cache,
                                 m->activations,
                                 others,
                                 m->capacity - m->weights - m->cache - m->activations - others,
                                 m->capacity};
    const char *const names[PARTS] = {
        "weights",   "keys and values", "activations of a step", "framework, collectives", "left free by the engine",
        "of the GPU"};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < PARTS; i++) {
        const char **cell = fsim_table_row(&t, i == PARTS - 1 ? FSIM_STRONG : FSIM_PLAIN);
        cell[0] = names[i];
        cell[1] = bytes(a, parts[i]);
        cell[2] = fsim_printf(a, "%.0f%%", 100 * parts[i] / m->capacity);
    }
    putc('\n', page->out);
    fsim_table_print(page, &t, 0);
    const double each = fsim_option_parts(o);
    const char *all =
        each > 1 ? fsim_printf(a, " on each %s, %.0f in a copy", part_text(o, a), each * (double)o->places) : "";
    fsim_paragraph(page, FSIM_PLAIN, 0, 0,
                   fsim_printf(a, "That is %.0f tokens of cache; %s %lld such requests at once%s.%s",
                               floor(m->cache / m->token),
                               o->loop.cache_tokens ? "on average it has place for" : "at most", (long long)o->places,
                               all, preempted_text(o, a)));
}

/* The points of a kind of GPU, thinned to a few. */
static void report_front(const fsim_page *page, const fsim_capacity *x, bool verbose, fsim_arena *a)
{
    enum { SHOWN = 6 };
    static const fsim_column column[] = {
        {.title = "GPU", .left = true, .shrinks = true},
        {.title = "each on", .left = true},
        {.title = "stored", .left = true},
        {.title = "requests", .legend = "in a step of a copy"},
        {.title = "tokens/s/user", .legend = "of output, that a request sees"},
        {.title = "tokens/s/GPU", .legend = "of output, with a prompt for each answer; no other way has more of both"}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int first = 0, end; first < x->fronts; first = end) {
        const fsim_hw *hw = x->option[x->front[first].option].on.hw;
        for (end = first; end < x->fronts && x->option[x->front[end].option].on.hw == hw;)
            end++;
        const int count = end - first, shown = verbose || count < SHOWN ? count : SHOWN;
        for (int i = 0; i < shown; i++) {
            const fsim_front_point *p = &x->front[first + (shown > 1 ? i * (count - 1) / (shown - 1) : 0)];
            const fsim_option *o = &x->option[p->option];
            const char **cell = fsim_table_row(&t, FSIM_PLAIN);
            cell[0] = o->machine->name;
            cell[1] = sharing_text(o, a);
            cell[2] = stored_text(o, a);
            cell[3] = fsim_printf(a, "%lld", (long long)p->batch);
            cell[4] = digits(a, p->user_s);
            cell[5] = fsim_printf(a, "%.0f", p->gpu_s);
        }
    }
    if (t.rows == 0)
        return;
    putc('\n', page->out);
    fsim_table_print(page, &t, 0);
    fsim_table_legend(page, &t, 0);
}

void fsim_report_capacity(const fsim_page *page, const fsim_capacity *x, bool verbose)
{
    fsim_arena *a = fsim_arena_new();
    report_head(page, x, a);
    if (x->fewest >= 0) {
        const fsim_option *o = &x->option[x->fewest];
        report_choices(page, x, a);
        report_options(page, x, verbose, a);
        report_evidence(page, x, a);
        report_limits(page, o, a);
        report_memory(page, o, a);
    } else {
        fsim_report_unserved(page, x, a);
        report_apart(page, x, a);
    }
    report_front(page, x, verbose, a);
    fsim_report_machines(page, x->asked->on, x->asked->ons, a);
    fsim_report_refused(page, x, verbose, a);
    putc('\n', page->out);
    fsim_paragraph(
        page, FSIM_FAINT, 0, 0,
        fsim_printf(
            a,
            "Composed of %d priced steps of serving kernels, with the scalars of %s, which were chosen on the same "
            "measured systems. Lengths are spread evenly by 20 %% around those of the load; no prefix is shared.",
            x->steps, x->asked->engine->words));
    fsim_arena_free(a);
}
