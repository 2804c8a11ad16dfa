/* SPDX-License-Identifier: Apache-2.0 */
#include "report/trainings.h"

#include "base/unit.h"
#include "report/machines.h"
#include <math.h>
#include <string.h>

enum { ROOM = 48 };
static const double kwh_j = 3.6e6;

/* What times of whole trainings are said in. */
typedef struct {
    const char *name;
    double s;
} span_unit;

static span_unit span_of(double s)
{
    static const span_unit units[] = {{"days", 86400}, {"hours", 3600}, {"minutes", 60}, {"seconds", 1}};
    int i = 0;
    while (i < 3 && !(s >= 2 * units[i].s))
        i++;
    return units[i];
}

static const char *seconds(fsim_arena *a, double s) { return fsim_show_seconds(fsim_new(a, char, ROOM), ROOM, s); }

static const char *bytes(fsim_arena *a, double b) { return fsim_show_bytes(fsim_new(a, char, ROOM), ROOM, b); }

static const char *number_in(fsim_arena *a, span_unit unit, double s)
{
    const double x = s / unit.s;
    return fsim_printf(a, "%.*f", x < 10 ? 2 : 1, x);
}

/* "8.83 days", "27.4 hours" */
static const char *span(fsim_arena *a, double s)
{
    const span_unit unit = span_of(s);
    return fsim_printf(a, "%s %s", number_in(a, unit, s), unit.name);
}

/* "1.25 M" */
static const char *count_text(fsim_arena *a, double x)
{
    return isnan(x) ? "" : fsim_show_count(fsim_new(a, char, ROOM), ROOM, x);
}

static const fsim_machine *machine_of(const fsim_trainings *x, const fsim_trained_on *t)
{
    return &x->asked->on[t->on];
}

/* "tp 4, pp 2 x 4, dp 16": chunks of a stage behind the cross. */
static const char *sharing_text(const fsim_sharing *w, fsim_arena *a)
{
    const char *text = fsim_printf(a, "tp %lld", (long long)w->tp);
    if (w->pp > 1)
        text = fsim_printf(a, "%s, pp %lld", text, (long long)w->pp);
    if (w->chunks > 1)
        text = fsim_printf(a, "%s x %lld", text, (long long)w->chunks);
    return w->dp > 1 ? fsim_printf(a, "%s, dp %lld", text, (long long)w->dp) : text;
}

static const char *zero_text(const fsim_sharing *w) { return w->zero == 3 ? "all" : w->zero ? "state" : "nothing"; }

/* How many GPUs: of a system, which has several, or of a kind. */
static const char *gpus_text(const fsim_trainings *x, const fsim_trained_on *t, fsim_arena *a)
{
    const fsim_machine *m = machine_of(x, t);
    return m->node ? fsim_printf(a, "%lld GPU%s of %s", (long long)t->gpus, t->gpus == 1 ? "" : "s", m->name)
                   : fsim_printf(a, "%lld x %s", (long long)t->gpus, m->name);
}

static const char *choice_text(const fsim_trainings *x, int i, fsim_arena *a)
{
    const fsim_trained_on *t = &x->at[i];
    const char *usd = isnan(t->usd) ? "" : fsim_printf(a, ", %s USD", count_text(a, t->usd));
    const char *energy = isnan(t->joules) ? "" : fsim_printf(a, ", %s kWh", count_text(a, t->joules / kwh_j));
    const char *batch =
        t->way.batch == x->asked->batch ? "" : fsim_printf(a, " with %lld sequences a step", (long long)t->way.batch);
    return fsim_printf(a, "%lld x %s: %s, %.1f %% MFU, %s%s%s%s", (long long)t->gpus, machine_of(x, t)->hw->name,
                       span(a, t->train_s), 100 * t->mfu, sharing_text(&t->way, a), batch, usd, energy);
}

/* The one to read first: without a deadline the fewest GPUs are no answer where prices are known. */
static int first_of(const fsim_trainings *x)
{
    return isnan(x->asked->deadline_s) && x->cheapest >= 0 ? x->cheapest : x->fewest;
}

const char *fsim_trainings_line(const fsim_trainings *x, fsim_arena *a)
{
    const char *answer = x->fewest < 0 ? "no way to train it was found" : choice_text(x, first_of(x), a);
    return fsim_printf(a, "%s: %s", x->asked->model->name, answer);
}

static void report_head(const fsim_page *page, const fsim_trainings *x, fsim_arena *a)
{
    const fsim_trainings_asked *q = x->asked;
    const char *limit = isnan(q->deadline_s) ? "" : fsim_printf(a, ", within %s", span(a, q->deadline_s));
    fsim_paragraph(page, FSIM_STRONG, 0, 0,
                   fsim_printf(a, "Training %s on %s tokens%s, in bf16 with Adam: %lld sequences of %lld tokens a step",
                               q->model->name, count_text(a, q->tokens), limit, (long long)q->batch,
                               (long long)q->length));
}

static void report_choices(const fsim_page *page, const fsim_trainings *x, fsim_arena *a)
{
    const struct {
        const char *title;
        int at;
    } choices[] = {{"Fewest GPUs", first_of(x) == x->fewest ? x->fewest : -1},
                   {"Cheapest", x->cheapest},
                   {"Least energy", x->coolest},
                   {"Fastest", x->fastest}};
    const double factor = fsim_training_spread();
    bool first = true;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const char *same = NULL;
        for (size_t k = 0; k < i; k++)
            if (choices[k].at == choices[i].at)
                same = same ? same : choices[k].title;
        if (choices[i].at < 0)
            continue;
        const double train_s = x->at[choices[i].at].train_s;
        const span_unit unit = span_of(train_s);
        fsim_paragraph(page, first ? FSIM_GOOD : FSIM_PLAIN, 0, 2,
                       same ? fsim_printf(a, "%s: as %s", choices[i].title, same)
                            : fsim_printf(a, "%s: %s (80 %% interval: %s to %s %s)", choices[i].title,
                                          choice_text(x, choices[i].at, a), number_in(a, unit, train_s / factor),
                                          number_in(a, unit, train_s * factor), unit.name));
        first = false;
    }
}

/* Where copies have to share out a batch that was asked for exactly, few numbers of them do. */
static void report_batch(const fsim_page *page, const fsim_trainings *x, fsim_arena *a)
{
    const fsim_trainings_asked *q = x->asked;
    int64_t copies = 1; /* the most, of powers of 2 */
    while (copies < q->batch && q->batch % (2 * copies) == 0)
        copies *= 2;
    int64_t near = 1;
    while (near < q->batch)
        near *= 2;
    if (!q->about && copies < x->at[x->fewest].gpus)
        fsim_paragraph(
            page, FSIM_PLAIN, 0, 2,
            fsim_printf(a,
                        "Copies have to share out %lld sequences a step (--batch) evenly: numbers of GPUs that "
                        "are powers of 2 have %lld copies at most; %lld sequences, or no --batch, leave more "
                        "ways.",
                        (long long)q->batch, (long long)copies, (long long)near));
}

/* Is the row of interest: about as many GPUs as the deadline needs, or without one, GPUs that work nearly as well as
 * any number does? Of those that are out for the same reason, the most. */
static bool is_shown(const fsim_trainings *x, int i)
{
    enum { FEWER = 4, MORE = 8 };
    static const double nearly = 0.7;
    const fsim_trained_on *t = &x->at[i];
    double best = 0;
    int64_t first = 0;
    for (int k = x->count - 1; k >= 0; k--)
        if (x->at[k].on == t->on && !x->at[k].reason) {
            best = fmax(best, x->at[k].mfu);
            first = x->at[k].in_time ? x->at[k].gpus : first;
        }
    if (t->reason)
        return i + 1 == x->count || x->at[i + 1].on != t->on || !x->at[i + 1].reason ||
               strcmp(t->reason, x->at[i + 1].reason) != 0;
    return isnan(x->asked->deadline_s) || first == 0 ? t->mfu >= nearly * best
                                                     : t->gpus * FEWER >= first && t->gpus <= first * MORE;
}

static void report_rows(const fsim_page *page, const fsim_trainings *x, bool verbose, fsim_arena *a)
{
    double longest = 0;
    for (int i = 0; i < x->count; i++)
        if (!x->at[i].reason && (verbose || is_shown(x, i)))
            longest = fmax(longest, x->at[i].train_s);
    const span_unit unit = span_of(longest);
    const fsim_column column[] = {
        {.title = "", .left = true},
        {.title = "GPUs"},
        {.title = "shared by",
         .left = true,
         .shrinks = true,
         .legend = "tp: a layer; pp: stages, x pieces of each; dp: copies"},
        {.title = "micro", .legend = "sequences of a micro-batch", .drop = 3},
        {.title = "sharded",
         .left = true,
         .legend = "what copies share out: Adam's state (ZeRO 1), or all (FSDP)",
         .drop = 4},
        {.title = "again", .left = true, .legend = "does backward compute each layer again", .drop = 5},
        {.title = "a step"},
        {.title = "MFU", .legend = "the model's FLOPs, attention to all tokens, over the data sheet's in bf16"},
        {.title = "memory", .legend = "of the fullest GPU", .drop = 2},
        {.title = unit.name},
        {.title = "USD", .drop = 1},
        {.title = "kWh", .drop = 6}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < x->count; i++) {
        const fsim_trained_on *o = &x->at[i];
        if (!verbose && !is_shown(x, i))
            continue;
        const char **cell = fsim_table_row(&t, o->reason || !o->in_time ? FSIM_FAINT
                                               : i == first_of(x)       ? FSIM_STRONG
                                                                        : FSIM_PLAIN);
        cell[0] = machine_of(x, o)->name;
        cell[1] = fsim_printf(a, "%lld", (long long)o->gpus);
        cell[2] = o->reason ? o->reason : sharing_text(&o->way, a);
        cell[8] = o->way.tp ? bytes(a, o->memory.all) : "";
        if (o->reason)
            continue;
        cell[3] = fsim_printf(a, "%lld", (long long)o->way.micro);
        cell[4] = zero_text(&o->way);
        cell[5] = o->way.again ? "yes" : "no";
        cell[6] = seconds(a, o->time.step);
        cell[7] = fsim_printf(a, "%.1f%%", 100 * o->mfu);
        cell[9] = number_in(a, unit, o->train_s);
        cell[10] = count_text(a, o->usd);
        cell[11] = isnan(o->joules) ? "" : count_text(a, o->joules / kwh_j);
    }
    putc('\n', page->out);
    fsim_table_print(page, &t, 0);
    fsim_table_legend(page, &t, 0);
}

static void report_parts(const fsim_page *page, const fsim_trainings *x, const fsim_trained_on *o, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "a step of it", .left = true},    {.title = "time"},  {.title = ""},
                                         {.title = "memory of a GPU", .left = true}, {.title = "bytes"}, {.title = ""}};
    const fsim_trained_time *s = &o->time;
    const fsim_trained_memory *m = &o->memory;
    const struct {
        const char *what;
        double seconds;
        const char *held;
        double bytes;
    } row[] = {{"layers", s->layers, "weights", m->weights},
               {"layers computed again", s->again, "gradients", m->gradients},
               {"head and loss", s->head, "Adam's state", m->state},
               {"links within layers", s->links, "activations", m->activations},
               {"waiting of stages", s->bubble, "logits", m->logits},
               {"sends between stages", s->sends, "framework, collectives", m->framework},
               {"copies' exchange, not hidden", s->gradients, "all", m->all},
               {"update", s->update, "of the GPU", m->capacity}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = row[i].what;
        cell[1] = row[i].seconds > 0 ? seconds(a, row[i].seconds) : "-";
        cell[2] = row[i].seconds > 0 ? fsim_printf(a, "%.0f%%", 100 * row[i].seconds / s->step) : "";
        cell[3] = row[i].held;
        cell[4] = bytes(a, row[i].bytes);
        cell[5] = fsim_printf(a, "%.0f%%", 100 * row[i].bytes / m->capacity);
    }
    putc('\n', page->out);
    fsim_paragraph(page, FSIM_PLAIN, 0, 2, fsim_printf(a, "%s, %s:", gpus_text(x, o, a), sharing_text(&o->way, a)));
    fsim_table_print(page, &t, 0);
}

/* What would help where nothing trains it in time. */
static void report_nothing(const fsim_page *page, const fsim_trainings *x, fsim_arena *a)
{
    static const char one_node[] = "More than one node needs --system, which says the network.";
    const fsim_trained_on *quickest = NULL, *least = NULL;
    for (int i = 0; i < x->count; i++) {
        const fsim_trained_on *t = &x->at[i];
        if (!t->reason && (!quickest || t->train_s < quickest->train_s))
            quickest = t;
        if (t->reason && t->way.tp && (!least || t->memory.all < least->memory.all))
            least = t;
    }
    fsim_paragraph(page, FSIM_BAD, 0, 0, "No way to train it in time was found.");
    if (quickest)
        fsim_paragraph(page, FSIM_PLAIN, 0, 0,
                       fsim_printf(a, "The fastest: %s. %s", choice_text(x, (int)(quickest - x->at), a),
                                   machine_of(x, quickest)->node
                                       ? "More GPUs (--gpus), a larger batch (--batch) or more time would."
                                       : one_node));
    else if (least)
        fsim_paragraph(page, FSIM_PLAIN, 0, 0,
                       fsim_printf(a, "It does not fit: on %s, %s, a GPU needs %s of %s. %s", gpus_text(x, least, a),
                                   sharing_text(&least->way, a), bytes(a, least->memory.all),
                                   bytes(a, least->memory.capacity),
                                   !machine_of(x, least)->node ? one_node
                                   : x->at[x->count - 1].way.tp
                                       ? "More GPUs (--gpus) would."
                                       : fsim_printf(a,
                                                     "More GPUs have no way to share layers, heads and %lld sequences "
                                                     "a step: shorter sequences (--length) or more of them (--batch) "
                                                     "would.",
                                                     (long long)x->asked->batch)));
}

void fsim_report_trainings(const fsim_page *page, const fsim_trainings *x, bool verbose)
{
    fsim_arena *a = fsim_arena_new();
    report_head(page, x, a);
    if (x->fewest < 0)
        report_nothing(page, x, a);
    else
        report_choices(page, x, a);
    if (x->fewest >= 0)
        report_batch(page, x, a);
    report_rows(page, x, verbose, a);
    if (x->fewest >= 0)
        report_parts(page, x, &x->at[first_of(x)], a);
    for (int i = 0; i < x->count && verbose; i++)
        if (!x->at[i].reason && i != first_of(x))
            report_parts(page, x, &x->at[i], a);
    fsim_report_machines(page, x->asked->on, x->asked->ons, a);
    putc('\n', page->out);
    fsim_paragraph(
        page, FSIM_FAINT, 0, 0,
        fsim_printf(
            a,
            "The fastest of %d ways, composed of %d priced steps of PyTorch's kernels with FlashAttention. 80 %% "
            "of measured trainings on copies alone lie within a factor of %.2f (reports/systems.md); of "
            "trainings in stages and with shared layers few are published.",
            x->ways, x->steps, fsim_training_spread()));
    fsim_arena_free(a);
}
