/* SPDX-License-Identifier: Apache-2.0 */
/* refit.c: the fit. Numbers are fitted as logarithms, by Levenberg's and Marquardt's method with weights that make the
 * sum of squares one of sizes: a row's loss is sqrt(r^2 + NEAR^2), r = ln(predicted / measured), so that a few rows
 * that the equations cannot reach do not decide. Of experts under TensorRT-LLM, where a third of the rows ran untuned
 * kernels that take several times as long, r = predicted / measured - 1, which hardly changes in such a row. From
 * several starts, of which the best counts. */
#include "evidence/refit.h"

#include "base/jobs.h"
#include "cost/collective.h"
#include "evidence/prepared.h"
#include "evidence/residual.h"
#include "hw/refit.h"
#include "plan/price/interval.h"
#include "vendor/serving.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATIC, ROW, PRODUCT, FLASH, DECODE, MLA_CONTEXT, MLA_DECODE, EXPERTS, COLLECTIVE, TABLES };
enum { MOST = 16, ROWS_A_NUMBER = 3 };

/* settled: see refit.def */
#define NONE NAN
#define FEW  INFINITY
typedef struct {
    int table;
    const char *name;
    double start, most, settled;
} number_row;
static const number_row numbers[] = {
#define FSIM_REFIT(table, name, start, most, settled) {table, name, start, most, settled},
#include "evidence/refit.def"
#undef FSIM_REFIT
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static fsim_refit_table table_of(int i)
{
    static fsim_refit_table (*const of[TABLES])(void) = {
        [STATIC] = fsim_static_table,         [ROW] = fsim_row_table,         [PRODUCT] = fsim_product_table,
        [FLASH] = fsim_flash_table,           [DECODE] = fsim_decode_table,   [MLA_CONTEXT] = fsim_mla_context_table,
        [MLA_DECODE] = fsim_mla_decode_table, [EXPERTS] = fsim_experts_table, [COLLECTIVE] = fsim_collective_table};
    return of[i]();
}

/* What is one family, by how the workload's name begins: its bindings of these names. */
static const struct {
    const char *begins, *names[4];
} families[] = {{"matmul", {"N", "K"}},
                {"quantize", {"K"}},
                {"context_mla", {"heads", "B"}},
                {"decode_mla", {"heads", "B"}},
                {"moe", {"H", "experts", "topk"}},
                {"attention", {"heads", "kv_heads", "D"}},
                {"context_attention", {"heads", "kv_heads", "D"}},
                {"decode_attention", {"heads", "kv_heads", "D"}},
                {"all_", {"elements"}},
                {"reduce_scatter", {"elements"}},
                {"send_recv", {"elements"}}};
enum { FAMILIES = sizeof families / sizeof *families };

/* "4096" of "M=1;N=4096", for "N"; "" */
static const char *binding(const char *set, const char *name, size_t *length)
{
    const size_t n = strlen(name);
    for (const char *at = set; at && *at; at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL)
        if (strncmp(at, name, n) == 0 && at[n] == '=') {
            *length = strcspn(at + n + 1, ";");
            return at + n + 1;
        }
    *length = 0;
    return "";
}

static unsigned hashed(unsigned h, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u; /* FNV-1a */
    return h;
}

int fsim_family_fold(const fsim_measured *row, int folds)
{
    const char *slash = strrchr(row->workload, '/'), *name = slash ? slash + 1 : row->workload;
    unsigned h = 2166136261u;
    size_t f = 0, length;
    while (f < FAMILIES && strncmp(name, families[f].begins, strlen(families[f].begins)) != 0)
        f++;
    if (f == FAMILIES)
        h = hashed(h, row->id, strlen(row->id));
    for (size_t i = 0; f < FAMILIES && i < sizeof families[f].names / sizeof *families[f].names && families[f].names[i];
         i++) {
        const char *value = binding(row->set, families[f].names[i], &length);
        h = hashed(hashed(h, value, length), " ", 1);
    }
    return (int)((h ^ h >> 15) % (unsigned)folds);
}

/* A row of measurements, as the fit sees it. */
typedef struct {
    fsim_prepared price;
    const fsim_hw *hw;
    fsim_evaluated *e;
    const void *takes; /* the first row of a table that its price takes; NULL: none */
    bool untuned;      /* it may have run a kernel that the library would not have chosen */
    int fold;
} sample;

/* A row of a table, and the samples that take it. */
typedef struct {
    fsim_refit_table table;
    const void *row;
    int place, count, numbers, free;
    sample **of;
    int at[MOST];                              /* of the numbers that are fitted, their place in the row */
    double start[MOST], low[MOST], high[MOST]; /* logarithms */
} wanted;

/* One fit: the samples of `of` outside of fold `without` (-1: all), with copies of their GPUs. */
typedef struct {
    const wanted *of;
    int without, hws;
    const fsim_hw **known;
    fsim_hw *own;
    char *instead; /* the row that is tried */
    struct fsim_refit refit;
    fsim_arena *scratch;
    int *hw_of;             /* per sample */
    double x[MOST], *error; /* error: of each sample, as at the head of this file; */
    double *slope;          /* its slopes, MOST a sample */
} fit;

static double *number_in(const wanted *w, char *row, int i) { return (double *)(void *)(row + w->table.first) + i; }

static void put(fit *f, const double *x)
{
    for (int i = 0; i < f->of->free; i++)
        *number_in(f->of, f->instead, f->of->at[i]) = exp(x[i]);
}

static double seconds_of(fit *f, int i)
{
    const sample *s = f->of->of[i];
    return fsim_price_again(&s->price, &f->own[f->hw_of[i]], f->scratch);
}

static bool is_in(const fit *f, int i) { return f->of->of[i]->fold != f->without; }

/* The loss at x, with f->error. */
static double loss_at(fit *f, const double *x)
{
    static const double near = 0.03;
    double sum = 0;
    put(f, x);
    for (int i = 0; i < f->of->count; i++)
        if (is_in(f, i)) {
            const double ratio = seconds_of(f, i) / f->of->of[i]->e->row->time_s;
            f->error[i] = f->of->of[i]->untuned ? ratio - 1 : log(ratio);
            sum += sqrt(f->error[i] * f->error[i] + near * near);
        }
    return sum;
}

/* Solves m x = v of n numbers by elimination; m and v are lost. */
static void solve(double m[MOST][MOST], double *v, int n)
{
    for (int i = 0; i < n; i++) {
        int best = i;
        for (int k = i + 1; k < n; k++)
            best = fabs(m[k][i]) > fabs(m[best][i]) ? k : best;
        for (int j = 0; j < n; j++) {
            const double keep = m[i][j];
            m[i][j] = m[best][j];
            m[best][j] = keep;
        }
        const double keep = v[i];
        v[i] = v[best];
        v[best] = keep;
        for (int k = i + 1; k < n && m[i][i] != 0; k++) {
            const double by = m[k][i] / m[i][i];
            for (int j = i; j < n; j++)
                m[k][j] -= by * m[i][j];
            v[k] -= by * v[i];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++)
            v[i] -= m[i][j] * v[j];
        v[i] = m[i][i] != 0 ? v[i] / m[i][i] : 0;
    }
}

/* f->slope at x, where the errors are base[]. */
static void set_slopes(fit *f, const double *x, double *base)
{
    static const double by = 0.02;
    const wanted *w = f->of;
    double at[MOST];
    memcpy(base, f->error, sizeof *base * (size_t)w->count);
    for (int k = 0; k < w->free; k++) {
        memcpy(at, x, sizeof at);
        const double step = x[k] + by < w->high[k] ? by : -by;
        at[k] += step;
        (void)loss_at(f, at);
        for (int i = 0; i < w->count; i++)
            f->slope[i * MOST + k] = is_in(f, i) ? (f->error[i] - base[i]) / step : 0;
    }
}

/* The step from x where the errors are base[]; damped: Marquardt's factor. */
static void step_of(const fit *f, const double *base, double damped, double *step)
{
    static const double near = 0.03;
    const int n = f->of->free;
    double m[MOST][MOST] = {{0}};
    memset(step, 0, sizeof *step * MOST);
    for (int i = 0; i < f->of->count; i++) {
        if (!is_in(f, i))
            continue;
        const double weight = 1 / sqrt(base[i] * base[i] + near * near), *s = &f->slope[i * MOST];
        for (int k = 0; k < n; k++) {
            step[k] -= weight * s[k] * base[i];
            for (int j = 0; j < n; j++)
                m[k][j] += weight * s[k] * s[j];
        }
    }
    for (int k = 0; k < n; k++)
        m[k][k] += damped * (m[k][k] + 1e-3 * f->of->count);
    solve(m, step, n);
}

/* From f->x to the least loss near it, which is returned. */
static double descend(fit *f, double *base)
{
    enum { ROUNDS = 40, TRIES = 6 };
    static const double longest = 1.5, helps = 2e-4;
    const wanted *w = f->of;
    double damped = 0.1, best = loss_at(f, f->x), step[MOST], at[MOST];
    int idle = 0;
    bool moved = true; /* then f->error is of f->x; else base and the slopes still are */
    for (int round = 0; round < ROUNDS && idle < 2; round++) {
        const double before = best;
        if (moved)
            set_slopes(f, f->x, base);
        moved = false;
        for (int t = 0; t < TRIES; t++) {
            step_of(f, base, damped, step);
            for (int k = 0; k < w->free; k++)
                at[k] = fmin(w->high[k], fmax(w->low[k], f->x[k] + fmax(-longest, fmin(longest, step[k]))));
            const double loss = loss_at(f, at);
            damped *= loss < best ? 0.3 : 5;
            if (loss < best) {
                best = loss;
                moved = true;
                memcpy(f->x, at, sizeof at);
                break;
            }
        }
        idle = best < before * (1 - helps) ? 0 : idle + 1;
    }
    return best;
}

/* Of start number `start`, is number k twice as large as refit.def says, and not half as large? */
static bool is_larger(int start, int k) { return ((unsigned)(k + 1) * (unsigned)start * 2654435761u >> 16) % 2 == 0; }

/* The best of several starts: as refit.def says, and with numbers twice and half as large; of more where rows are few,
 * which leave more places for a search to end in. */
static void fit_all(fit *f)
{
    enum { FEW_ROWS = 300, MANY_STARTS = 10, STARTS = 3 };
    const wanted *w = f->of;
    const double twice = log(2);
    const int starts = w->count < FEW_ROWS ? MANY_STARTS : STARTS;
    double best = INFINITY, kept[MOST] = {0}, *base = fsim_new(f->scratch, double, w->count + 1);
    for (int start = 0; start < starts; start++) {
        for (int k = 0; k < w->free; k++)
            f->x[k] = fmin(w->high[k], w->start[k] + (start == 0 ? 0 : is_larger(start, k) ? twice : -twice));
        const double loss = descend(f, base);
        if (loss < best) {
            best = loss;
            memcpy(kept, f->x, sizeof kept);
        }
    }
    memcpy(f->x, kept, sizeof kept);
    put(f, f->x);
}

static double mean_error(fit *f)
{
    double sum = 0;
    for (int i = 0; i < f->of->count; i++)
        sum += fabs(seconds_of(f, i) / f->of->of[i]->e->row->time_s - 1);
    return sum / f->of->count;
}

/* Copies the GPUs of the samples, with a factor of their own of 1. */
static void copy_gpus(fit *f)
{
    static const fsim_hw_key factor[] = {FSIM_HW_SERVING_GEMM_F8,    FSIM_HW_SERVING_GEMM_I8,  FSIM_HW_SERVING_GEMM_W,
                                         FSIM_HW_SERVING_GEMM_NVFP4, FSIM_HW_SERVING_QUANTIZE, FSIM_HW_SERVING_CONTEXT,
                                         FSIM_HW_SERVING_CAUSAL,     FSIM_HW_SERVING_DECODE,   FSIM_HW_SERVING_MLA,
                                         FSIM_HW_SERVING_MOE};
    for (int i = 0; i < f->of->count; i++) {
        int k = 0;
        while (k < f->hws && f->known[k] != f->of->of[i]->hw)
            k++;
        f->hw_of[i] = k;
        if (k < f->hws)
            continue;
        f->known[f->hws] = f->of->of[i]->hw;
        f->own[f->hws] = *f->of->of[i]->hw;
        f->own[f->hws].read = NULL;
        f->own[f->hws].refit = &f->refit;
        for (size_t j = 0; j < sizeof factor / sizeof *factor; j++)
            f->own[f->hws].q[factor[j]].value = 1;
        f->hws++;
    }
}

enum { MOST_GPUS = 64 };

static fit fit_of(const wanted *w, int without, fsim_arena *a)
{
    fit f = {.of = w, .without = without, .scratch = a};
    f.known = fsim_new(a, const fsim_hw *, MOST_GPUS);
    f.own = fsim_new(a, fsim_hw, MOST_GPUS);
    f.hw_of = fsim_new(a, int, w->count + 1);
    f.error = fsim_new(a, double, w->count + 1);
    f.slope = fsim_new(a, double, (size_t)(w->count + 1) * MOST);
    f.instead = fsim_alloc(a, w->table.size, 1);
    memcpy(f.instead, w->row, w->table.size);
    return f;
}

/* A fit to do: of a row of a table, without fold number `fold`, which it then predicts; -1: of all rows, into `out`. */
typedef struct {
    const wanted *of;
    int fold;
    fsim_refitted_row *out;
} task;
typedef struct {
    const task *task;
    fsim_arena **arena;
} tasks;

static void do_task(void *to, int i, int worker)
{
    tasks *all = to;
    const task *t = &all->task[i];
    fsim_arena *a = all->arena[worker];
    const fsim_mark mark = fsim_save(a);
    fit f = fit_of(t->of, t->fold, a);
    f.refit = (struct fsim_refit){.of = t->of->row, .instead = f.instead};
    copy_gpus(&f);
    if (t->out)
        t->out->before = mean_error(&f);
    fit_all(&f);
    for (int k = 0; k < t->of->count && !t->out; k++)
        if (!is_in(&f, k))
            t->of->of[k]->e->predicted_s = seconds_of(&f, k);
    if (t->out) {
        t->out->after = mean_error(&f);
        memcpy(t->out->number, number_in(t->of, f.instead, 0), sizeof *t->out->number * (size_t)t->of->numbers);
    }
    fsim_rewind(a, mark);
}

/* Which numbers of the row are fitted, and from where. */
static void set_numbers(wanted *w, int table)
{
    double few = NAN;
    int i = 0;
    for (int n = 0; n < NUMBERS; n++) {
        if (numbers[n].table != table)
            continue;
        const double is = *number_in(w, (char *)(uintptr_t)w->row, i);
        const bool of_few = numbers[n].settled == FEW;
        few = of_few && isnan(few) ? is : few;
        if (of_few ? few > 0 : is != numbers[n].settled) {
            w->at[w->free] = i;
            w->start[w->free] = log(numbers[n].start);
            w->low[w->free] = log(numbers[n].start * 1e-3);
            w->high[w->free++] = log(numbers[n].most);
        }
        i++;
    }
    w->numbers = i;
}

/* The rows of all tables, with the samples that take them. */
static int find_wanted(sample *s, int count, wanted *out, fsim_arena *a)
{
    int found = 0;
    for (int t = 0; t < TABLES; t++) {
        const fsim_refit_table table = table_of(t);
        for (int r = 0; r < table.count; r++) {
            wanted w = {.table = table, .row = (const char *)table.rows + (size_t)r * table.size, .place = r};
            w.of = fsim_new(a, sample *, count + 1);
            for (int i = 0; i < count; i++)
                if (s[i].takes == w.row)
                    w.of[w.count++] = &s[i];
            set_numbers(&w, t);
            if (w.count >= ROWS_A_NUMBER * w.free)
                out[found++] = w;
        }
    }
    return found;
}

static int samples_of(const fsim_bench *b, fsim_evaluated *e, int count, sample *s, fsim_arena *a)
{
    const fsim_measured *first = fsim_bench_row(b, 0);
    fsim_arena *scratch = fsim_arena_child(a);
    int n = 0;
    for (int i = 0; i < count; i++) {
        if (e[i].excluded)
            continue;
        const int row = (int)(e[i].row - first);
        struct fsim_refit seen = {0};
        fsim_hw hw = *fsim_bench_hw(b, row);
        hw.refit = &seen;
        s[n] = (sample){.price = fsim_prepare(b, row, a), .hw = fsim_bench_hw(b, row), .e = &e[i]};
        s[n].untuned = strstr(e[i].row->workload, "/moe") && strstr(e[i].row->source, "trtllm");
        if (s[n].price.graph)
            (void)fsim_price_again(&s[n].price, &hw, scratch);
        s[n++].takes = seen.first;
    }
    return n;
}

/* The widths that the rows tell of each GPU. */
static void set_widths(const sample *s, int count, fsim_refits *out, fsim_arena *a)
{
    fsim_residual *r = fsim_new(a, fsim_residual, count + 1);
    const fsim_hw **gpu = fsim_new(a, const fsim_hw *, count + 1);
    int rows = 0, gpus = 0;
    for (int i = 0; i < count; i++) {
        int g = 0;
        while (g < gpus && gpu[g] != s[i].hw)
            g++;
        gpu[g] = s[i].hw;
        gpus = g == gpus ? gpus + 1 : gpus;
        if (!s[i].e->excluded)
            r[rows++] = fsim_residual_of(s[i].e, s[i].e->predicted_s, g);
    }
    out->width = fsim_new(a, fsim_refit_width, gpus * FSIM_ERROR_CLASSES + 1);
    for (int g = 0; g < gpus; g++) {
        const double none[FSIM_ERROR_CLASSES] = {0};
        const fsim_widths w = fsim_widths_of(r, rows, g, none, a);
        for (int c = 0; c < FSIM_ERROR_CLASSES; c++)
            if (w.rows[c] && !w.others[c])
                out->width[out->widths++] =
                    (fsim_refit_width){gpu[g]->name, fsim_error_classes[c], w.width[c], w.rows[c]};
    }
}

fsim_refits fsim_refit_folds(const fsim_bench *b, fsim_evaluated *e, int count, int folds, int jobs, fsim_arena *a)
{
    fsim_refits out = {0};
    int rows = 0, todo = 0;
    for (int t = 0; t < TABLES; t++)
        rows += table_of(t).count;
    sample *s = fsim_new(a, sample, count + 1);
    const int n = samples_of(b, e, count, s, a);
    wanted *w = fsim_new(a, wanted, rows + 1);
    for (int i = 0; i < n; i++)
        s[i].fold = fsim_family_fold(s[i].e->row, folds);
    out.count = find_wanted(s, n, w, a);
    out.at = fsim_new(a, fsim_refitted_row, out.count + 1);
    task *t = fsim_new(a, task, out.count * (folds + 1) + 1);
    for (int i = 0; i < n; i++)
        s[i].e->excluded = fsim_exclusions[FSIM_EXCLUDED_REFIT];
    for (int i = 0; i < out.count; i++) {
        out.at[i] = (fsim_refitted_row){.table = w[i].table.name,
                                        .place = w[i].place,
                                        .rows = w[i].count,
                                        .numbers = w[i].numbers,
                                        .number = fsim_new(a, double, w[i].numbers)};
        for (int f = 0; f < folds; f++)
            t[todo++] = (task){&w[i], f, NULL};
        t[todo++] = (task){&w[i], -1, &out.at[i]};
        for (int k = 0; k < w[i].count; k++)
            w[i].of[k]->e->excluded = NULL;
    }
    tasks all = {t, fsim_arena_children(a, jobs)};
    fsim_in_parallel(jobs, todo, do_task, &all);
    for (int i = 0; i < n; i++) {
        const fsim_interval x = fsim_time_interval(&s[i].e->errors, s[i].e->predicted_s);
        s[i].e->low_s = x.low;
        s[i].e->high_s = x.high;
    }
    set_widths(s, n, &out, a);
    return out;
}
