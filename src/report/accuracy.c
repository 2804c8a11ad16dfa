/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy.c: the tables of `validate --measurements`, built once and shown as text or as Markdown. */
#include "report/accuracy.h"

#include "base/unit.h"
#include <math.h>
#include <string.h>

enum { BRIEF_EXCLUDED = 10 }; /* excluded rows that text lists */

/* Where tables go. page NULL: Markdown. */
typedef struct {
    const fsim_page *page;
    FILE *out;
    const fsim_accuracy *x;
    fsim_arena *a;
} sink;

static void put_title(const sink *s, const char *title, const char *note)
{
    if (!s->page) {
        fprintf(s->out, "\n### %s\n\n", title);
        if (*note) {
            fsim_markdown_text(s->out, note);
            fputs("\n\n", s->out);
        }
        return;
    }
    putc('\n', s->out);
    fsim_paragraph(s->page, FSIM_STRONG, 0, 0, title);
    if (*note)
        fsim_paragraph(s->page, FSIM_FAINT, 0, 0, note);
}

static void put_table(const sink *s, const fsim_table *t)
{
    if (s->page) {
        fsim_table_print(s->page, t, 0);
        fsim_table_legend(s->page, t, 0);
    } else
        fsim_table_markdown(s->out, t);
}

static const char *percent(fsim_arena *a, double share)
{
    return isnan(share) ? "" : fsim_printf(a, "%.1f", share * 100);
}
static const char *signed_percent(fsim_arena *a, double share)
{
    return isnan(share) ? "" : fsim_printf(a, "%+.1f", share * 100);
}
static const char *whole_percent(fsim_arena *a, double share)
{
    return isnan(share) ? "" : fsim_printf(a, "%.0f", share * 100);
}

static const char *seconds(fsim_arena *a, double s)
{
    char buffer[32];
    return isnan(s) ? "" : fsim_strdup(a, fsim_show_seconds(buffer, sizeof buffer, s));
}

/* A time of the row's, or bytes where its memory was measured. */
static const char *amount(fsim_arena *a, const fsim_evaluated *e, double x)
{
    char buffer[32];
    if (!e->row->of_memory || isnan(x))
        return seconds(a, x);
    return fsim_strdup(a, fsim_show_bytes(buffer, sizeof buffer, x));
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* An id where the page is narrow: its end tells rows apart. */
static const char *short_id(const sink *s, const char *id)
{
    enum { OTHER_COLUMNS = 51, LEAST = 16 };
    const int room = s->page && s->page->width > 0 ? s->page->width - OTHER_COLUMNS : 0,
              most = room > LEAST ? room : LEAST;
    int surplus = s->page && s->page->width > 0 ? fsim_text_width(id) - most : 0;
    if (surplus <= 0)
        return id;
    for (surplus += 2; surplus > 0; surplus--)
        for (id++; ((unsigned char)*id & 0xC0) == 0x80; id++)
            ;
    return fsim_printf(s->a, "..%s", id);
}

/* The summary. */

/* --folds: which rows the intervals come from, and the common errors that all rows tell. */
static const char *folds_text(const sink *s)
{
    const fsim_folded *f = s->x->folded;
    const char *text = fsim_printf(s->a,
                                   "The intervals of each row come from rows of other workloads and shapes, %d folds. "
                                   "Common errors from all %d rows of several kernels:",
                                   f->folds, f->all.rows);
    for (int c = 0; c < FSIM_ERROR_CLASSES; c++)
        text = fsim_printf(s->a, "%s%s %s %.2f (in use: %.2f)", text, c ? "," : "",
                           fsim_hw_rows[fsim_error_classes[c]].key + strlen("residual_"), f->all.spread[c],
                           fsim_common_errors[c]);
    return fsim_printf(s->a, "%s.", text);
}

static void put_summary(const sink *s)
{
    const fsim_accuracy *x = s->x;
    const fsim_stats all = fsim_stats_of(x->at, x->count, s->a);
    const int excluded = x->count - all.rows;
    const char *where = x->files == 1 ? x->file[0] : fsim_printf(s->a, "%d files", x->files);
    const char *text = fsim_printf(s->a, "%s: %d row%s%s", where, all.rows, all.rows == 1 ? "" : "s",
                                   excluded ? fsim_printf(s->a, " (and %d excluded)", excluded) : "");
    if (all.rows > 0)
        text = fsim_printf(s->a, "%s, mean error %s %%, median %s %%, p90 %s %%, bias %s %%", text,
                           percent(s->a, all.mape), percent(s->a, all.median), percent(s->a, all.p90),
                           signed_percent(s->a, all.bias));
    if (all.rows > 0 && !isnan(all.coverage)) /* bytes have no intervals */
        text = fsim_printf(s->a, "%s; %s %% lie within the 80 %% intervals", text, whole_percent(s->a, all.coverage));
    if (s->page) {
        fsim_paragraph(s->page, FSIM_STRONG, 0, 2, text);
        if (x->folded)
            fsim_paragraph(s->page, FSIM_FAINT, 0, 2, folds_text(s));
        putc('\n', s->out);
        return;
    }
    fputs("## Predicted against measured\n\n", s->out);
    fsim_markdown_text(s->out, text);
    fputs("\n\n", s->out);
    if (x->folded) {
        fsim_markdown_text(s->out, folds_text(s));
        fputs("\n\n", s->out);
    }
}

/* Errors by group. */

static const char *group_cell(const fsim_stat_group *g, fsim_grouping by)
{
    const char *name = fsim_group_name(g, by);
    return name && by == FSIM_BY_FILE ? base_name(name) : name;
}

static void put_groups(const sink *s)
{
    enum { NUMBERS = 7 };
    static const fsim_column number[NUMBERS] = {
        {.title = "rows"},
        {.title = "mean %", .legend = "of the errors |predicted / measured - 1|"},
        {.title = "median"},
        {.title = "p90", .legend = "nine of ten are smaller"},
        {.title = "bias", .legend = "mean with signs, + is predicted too long"},
        {.title = "in 80 %", .drop = 2, .legend = "how many of the rows are inside their 80 % intervals"},
        {.title = "excluded", .drop = 1, .legend = "rows that measure no kernels"}};
    const fsim_accuracy *x = s->x;
    fsim_column column[FSIM_BY_COUNT + NUMBERS];
    fsim_stat_group *group;
    const int groups = fsim_stat_groups(x->at, x->count, x->by, x->keys, s->a, &group);
    for (int k = 0; k < x->keys; k++)
        column[k] = (fsim_column){.title = fsim_grouping_names[x->by[k]],
                                  .left = true,
                                  .shrinks = x->by[k] == FSIM_BY_WORKLOAD || x->by[k] == FSIM_BY_FILE};
    memcpy(&column[x->keys], number, sizeof number);
    fsim_table t = fsim_table_new(s->a, column, x->keys + NUMBERS);
    for (int i = 0; i < groups; i++) {
        const fsim_stats *stats = &group[i].stats;
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        for (int k = 0; k < x->keys; k++)
            cell[k] = x->by[k] == FSIM_BY_ALL ? "all" : group_cell(&group[i], x->by[k]);
        cell += x->keys;
        *cell++ = fsim_printf(s->a, "%d", stats->rows);
        *cell++ = percent(s->a, stats->mape);
        *cell++ = percent(s->a, stats->median);
        *cell++ = percent(s->a, stats->p90);
        *cell++ = signed_percent(s->a, stats->bias);
        *cell++ = whole_percent(s->a, stats->coverage);
        *cell++ = group[i].excluded ? fsim_printf(s->a, "%d", group[i].excluded) : NULL;
    }
    put_table(s, &t);
}

/* The rows that are furthest off. */

static const char *dominant(fsim_arena *a, const fsim_evaluated *e)
{
    if (e->row->of_memory)
        return "";
    return fsim_printf(a, "%s %.0f %%", fsim_unit_names[e->bound], 100 * e->unit_s[e->bound] / e->predicted_s);
}

static void put_worst(const sink *s)
{
    static const fsim_column column[] = {{.title = "row", .left = true},
                                         {.title = "set", .left = true, .shrinks = true, .drop = 2},
                                         {.title = "class", .left = true, .drop = 1},
                                         {.title = "measured"},
                                         {.title = "predicted"},
                                         {.title = "error %"},
                                         {.title = "most of it", .left = true}};
    int *worst;
    const int count = fsim_worst(s->x->at, s->x->count, s->x->worst, s->a, &worst);
    if (count == 0)
        return;
    put_title(s, "Furthest off",
              "By the ratio of the two times; most of it: the term that dominates the prediction, and its share.");
    fsim_table t = fsim_table_new(s->a, column, (int)(sizeof column / sizeof *column));
    for (int i = 0; i < count; i++) {
        const fsim_evaluated *e = &s->x->at[worst[i]];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        *cell++ = short_id(s, e->row->id);
        *cell++ = e->row->set;
        *cell++ = fsim_work_class_names[e->class];
        *cell++ = amount(s->a, e, e->row->time_s);
        *cell++ = amount(s->a, e, e->predicted_s);
        *cell++ = signed_percent(s->a, fsim_error_of(e));
        *cell++ = dominant(s->a, e);
    }
    put_table(s, &t);
}

/* Speedups. */

static void put_speedup_row(const sink *s, fsim_table *t, const fsim_speedup_stats *p, fsim_emphasis emphasis)
{
    const char **cell = fsim_table_row(t, emphasis);
    *cell++ = p->hw ? p->hw : "all";
    *cell++ = p->folder;
    *cell++ = p->strategy;
    *cell++ = fsim_printf(s->a, "%d", p->error.rows);
    *cell++ = percent(s->a, p->error.mape);
    *cell++ = percent(s->a, p->error.median);
    *cell++ = percent(s->a, p->error.p90);
    *cell++ = isnan(p->rank) ? "" : fsim_printf(s->a, "%.2f", p->rank);
    *cell++ = whole_percent(s->a, p->right);
    *cell++ = whole_percent(s->a, p->majority);
    *cell++ = whole_percent(s->a, p->helps_right);
    *cell++ = whole_percent(s->a, p->helps_majority);
    *cell++ = whole_percent(s->a, p->faster_right);
    *cell++ = whole_percent(s->a, p->coverage);
    *cell++ = whole_percent(s->a, p->called);
    *cell++ = whole_percent(s->a, p->called_right);
}

static void put_verdicts(const sink *s, const fsim_speedup_stats *p, const char *title)
{
    static const fsim_column column[] = {
        {.title = "measured", .left = true}, {.title = "predicted: helps"}, {.title = "neither"}, {.title = "hurts"}};
    fsim_table t = fsim_table_new(s->a, column, (int)(sizeof column / sizeof *column));
    put_title(s, title, "");
    for (int m = 0; m < FSIM_VERDICTS; m++) {
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        *cell++ = fsim_verdict_names[m];
        for (int q = 0; q < FSIM_VERDICTS; q++)
            *cell++ = fsim_printf(s->a, "%d", p->verdict[m][q]);
    }
    put_table(s, &t);
}

/* The legends of columns, for Markdown, which has all columns: "rank: Spearman's correlation; ...". */
static const char *legend_of(fsim_arena *a, const fsim_column *column, int count)
{
    const char *text = "";
    for (int i = 0; i < count; i++)
        if (column[i].legend)
            text = fsim_printf(a, "%s%s%s: %s", text, *text ? "; " : "", column[i].title, column[i].legend);
    return fsim_printf(a, "%s.", text);
}

static void put_speedups(const sink *s)
{
    static const fsim_column column[] = {
        {.title = "hw", .left = true},
        {.title = "folder", .left = true, .shrinks = true},
        {.title = "strategy", .left = true, .drop = 2},
        {.title = "pairs"},
        {.title = "mean %", .legend = "of the errors of predicted speedups"},
        {.title = "median"},
        {.title = "p90", .legend = "nine of ten are smaller", .drop = 1},
        {.title = "rank", .legend = "Spearman's correlation"},
        {.title = "right", .legend = "verdicts right, % (helps or hurts by more than 5 %, or neither)"},
        {.title = "(most)", .legend = "what the more frequent answer alone would get right", .drop = 3},
        {.title = "helps", .legend = "right about whether it helps, %", .drop = 2},
        {.title = "(most)", .drop = 3},
        {.title = "faster", .legend = "right about which of the two is faster, %", .drop = 3},
        {.title = "in 80 %", .legend = "measured speedups within the interval of the predicted one", .drop = 4},
        {.title = "called",
         .legend =
             "intervals that leave out 1, where a report says \"helps\" or \"hurts\" rather than \"no difference\""},
        {.title = "of them right", .legend = "the measured speedup is on the same side of 1"}};
    const fsim_accuracy *x = s->x;
    fsim_speedup_stats *group;
    const int groups = fsim_speedups_of(x->pair, x->pairs, s->a, &group);
    if (x->pairs == 0)
        return;
    const fsim_speedup_stats all = fsim_speedup_of(x->pair, x->pairs, s->a);
    enum { COLUMNS = sizeof column / sizeof *column };
    put_title(s, "Speedups over eager", s->page ? "" : legend_of(s->a, column, COLUMNS));
    fsim_table t = fsim_table_new(s->a, column, COLUMNS);
    for (int i = 0; i < groups; i++)
        put_speedup_row(s, &t, &group[i], FSIM_PLAIN);
    if (groups > 1)
        put_speedup_row(s, &t, &all, FSIM_STRONG);
    put_table(s, &t);
    if (all.error.rows > 0)
        put_verdicts(s, &all, "Verdicts");
    for (int i = 0; i < groups && x->verbose && groups > 1; i++)
        put_verdicts(s, &group[i],
                     fsim_printf(s->a, "Verdicts: %s on %s, %s", group[i].strategy, group[i].hw, group[i].folder));
}

/* What was left out. */

static void put_excluded_rows(const sink *s, int excluded)
{
    static const fsim_column column[] = {{.title = "row", .left = true, .shrinks = true},
                                         {.title = "measured"},
                                         {.title = "predicted", .drop = 1},
                                         {.title = "bus", .drop = 2},
                                         {.title = "reason", .left = true}};
    fsim_table t = fsim_table_new(s->a, column, (int)(sizeof column / sizeof *column));
    const bool all = s->x->verbose || !s->page;
    int listed = 0;
    for (int i = 0; i < s->x->count && (all || listed < BRIEF_EXCLUDED); i++) {
        const fsim_evaluated *e = &s->x->at[i];
        if (!e->excluded)
            continue;
        listed++;
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        *cell++ = short_id(s, e->row->id);
        *cell++ = amount(s->a, e, e->row->time_s);
        *cell++ = amount(s->a, e, e->predicted_s);
        *cell++ = seconds(s->a, e->bus_s);
        *cell++ = e->excluded;
    }
    put_table(s, &t);
    if (listed < excluded)
        fsim_paragraph(s->page, FSIM_FAINT, 0, 0,
                       fsim_printf(s->a, "... and %d more: --verbose and --markdown list them, --json marks them.",
                                   excluded - listed));
}

static void put_excluded(const sink *s)
{
    static const fsim_column column[] = {{.title = "file", .left = true, .shrinks = true},
                                         {.title = "rows"},
                                         {.title = "excluded"},
                                         {.title = "%"},
                                         {.title = "by the bus"},
                                         {.title = "host-bound"},
                                         {.title = "no kernel"},
                                         {.title = "no GPU", .drop = 2},
                                         {.title = "no workload", .drop = 1},
                                         {.title = "no gradient", .drop = 3},
                                         {.title = "mixed", .drop = 3},
                                         {.title = "trained", .drop = 4},
                                         {.title = "not fitted", .drop = 4}};
    enum { BEFORE = 4 };
    _Static_assert(sizeof column / sizeof *column == BEFORE + FSIM_EXCLUSIONS, "a column for each reason");
    const fsim_accuracy *x = s->x;
    fsim_table t = fsim_table_new(s->a, column, (int)(sizeof column / sizeof *column));
    int excluded = 0;
    for (int f = 0; f < x->files; f++) {
        int rows = 0, out[FSIM_EXCLUSIONS] = {0}, sum = 0;
        for (int i = 0; i < x->count; i++)
            if (strcmp(x->at[i].row->at.file, x->file[f]) == 0) {
                rows++;
                for (int r = 0; r < FSIM_EXCLUSIONS; r++)
                    out[r] += x->at[i].excluded == fsim_exclusions[r];
                sum += x->at[i].excluded != NULL;
            }
        excluded += sum;
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        *cell++ = base_name(x->file[f]);
        *cell++ = fsim_printf(s->a, "%d", rows);
        *cell++ = fsim_printf(s->a, "%d", sum);
        *cell++ = percent(s->a, rows ? (double)sum / rows : 0);
        for (int r = 0; r < FSIM_EXCLUSIONS; r++)
            *cell++ = fsim_printf(s->a, "%d", out[r]);
    }
    if (excluded == 0)
        return;
    put_title(s, "Excluded from the figures above",
              "By what the rows and the data sheets say, never by the error; --no-exclude keeps them.");
    put_table(s, &t);
    putc('\n', s->out);
    put_excluded_rows(s, excluded);
}

/* Gates. */

static void put_gates(const sink *s)
{
    static const fsim_column column[] = {{.title = "gate", .left = true},
                                         {.title = "", .left = true},
                                         {.title = "measured", .left = true, .shrinks = true}};
    if (s->x->gates == 0)
        return;
    put_title(s, "Gates", "");
    fsim_table t = fsim_table_new(s->a, column, (int)(sizeof column / sizeof *column));
    for (int i = 0; i < s->x->gates; i++) {
        const fsim_gate *g = &s->x->gate[i];
        const char **cell = fsim_table_row(&t, g->passed ? FSIM_GOOD : FSIM_BAD);
        *cell++ = g->text;
        *cell++ = g->passed ? "passed" : "FAILED";
        *cell++ = g->says;
    }
    put_table(s, &t);
}

static void put_all(const sink *s)
{
    put_summary(s);
    put_groups(s);
    put_speedups(s);
    put_worst(s);
    put_excluded(s);
    put_gates(s);
}

void fsim_report_accuracy(const fsim_page *page, const fsim_accuracy *x)
{
    const sink s = {page, page->out, x, fsim_arena_new()};
    put_all(&s);
    fsim_arena_free(s.a);
}

void fsim_markdown_accuracy(FILE *out, const fsim_accuracy *x)
{
    const sink s = {NULL, out, x, fsim_arena_new()};
    put_all(&s);
    fsim_arena_free(s.a);
}
