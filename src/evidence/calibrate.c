/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/calibrate.h"

#include "evidence/optimiser.h"
#include "evidence/refit.h"
#include "evidence/residual.h"

#include "base/jobs.h"
#include "base/names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool eager(const fsim_prepared *p) { return p->row->strategy == FSIM_STRATEGY_EAGER; }
static bool is_streaming(const fsim_prepared *p)
{
    return eager(p) && p->class == FSIM_WORK_ELEMENTWISE && p->row->launch != FSIM_REGIME_EAGER;
}
static bool is_attention(const fsim_prepared *p) { return eager(p) && p->class == FSIM_WORK_ATTENTION && p->tensor; }

static bool is_softmax(const fsim_prepared *p)
{
    return eager(p) && p->class == FSIM_WORK_SOFTMAX && p->row->launch != FSIM_REGIME_EAGER;
}
static bool is_layer_norm(const fsim_prepared *p)
{
    return eager(p) && p->class == FSIM_WORK_NORM && p->row->launch != FSIM_REGIME_EAGER &&
           p->graph->source[0].op == FSIM_OP_LAYER_NORM;
}

/* Is it one convolution, long enough that the launch does not matter? Networks are excluded: their many short
 * convolutions add up to a time that says little of each. */
static bool is_convolution(const fsim_prepared *p)
{
    bool has = false;
    for (int n = 0; n < p->graph->nodes; n++)
        has = has || p->graph->node[n].gemm.convolution;
    return has && eager(p) && p->tensor && p->class != FSIM_WORK_NETWORK && p->row->time_s > 0.3e-3;
}

/* Is it one product, by the unit that it runs on? */
static bool is_product(const fsim_prepared *p)
{
    return eager(p) && p->class == FSIM_WORK_MATMUL && p->row->launch != FSIM_REGIME_EAGER;
}
static bool is_vector_product(const fsim_prepared *p) { return is_product(p) && !p->tensor; }
static bool is_tensor_product(const fsim_prepared *p) { return is_product(p) && p->tensor; }

/* Is it one FP32 product, possibly with elementwise operators, in calls of its own? */
static bool is_rested_product(const fsim_prepared *p)
{
    int products = 0;
    for (int n = 0; n < p->graph->nodes; n++)
        products += p->graph->node[n].gemm.convolution ? 2 : p->graph->node[n].gemm.k > 0;
    return eager(p) && p->row->launch == FSIM_REGIME_EAGER && products == 1 && !p->tensor && p->row->time_s > 1e-3;
}

/* Is it so short, or has it so many kernels for its time, that most of the time is the host's? */
static bool is_short(const fsim_prepared *p)
{
    enum { LAUNCHES_LEAST = 8 };
    static const double call_most_s = 0.1e-3, launch_most_s = 25e-6;
    const bool many = p->kernels >= LAUNCHES_LEAST && p->row->time_s < p->kernels * launch_most_s;
    return p->row->launch == FSIM_REGIME_EAGER &&
           ((p->class != FSIM_WORK_NETWORK && p->row->time_s < call_most_s) || many);
}
static bool is_eager_call(const fsim_prepared *p) { return eager(p) && is_short(p); }
static bool is_compiled_call(const fsim_prepared *p)
{
    return p->row->strategy == FSIM_STRATEGY_INDUCTOR && is_short(p);
}

/* Is the row one call of a serving stack, of a kind from `first` to `last`? */
static bool is_call(const fsim_prepared *p, fsim_serving_kind first, fsim_serving_kind last)
{
    return p->kernels == 1 && p->group[0].template == FSIM_SERVING_KERNEL && p->group[0].call->kind >= first &&
           p->group[0].call->kind <= last;
}

#define CALL_GROUP(name, first, last)                                                                                  \
    static bool is_##name(const fsim_prepared *p) { return is_call(p, FSIM_SERVING_##first, FSIM_SERVING_##last); }
CALL_GROUP(gemm_f8, GEMM_F8_TOKEN, GEMM_F8_BLOCK)
CALL_GROUP(gemm_i8, GEMM_I8, GEMM_I8)
CALL_GROUP(gemm_w, GEMM_W8, GEMM_W4)
CALL_GROUP(gemm_w8, GEMM_W8, GEMM_W8)
CALL_GROUP(gemm_w4, GEMM_W4, GEMM_W4)
CALL_GROUP(gemm_nvfp4, GEMM_NVFP4, GEMM_NVFP4)
CALL_GROUP(quantize, QUANTIZE_STATIC, QUANTIZE_TOKEN)
CALL_GROUP(attention_context, CONTEXT_ATTENTION, CONTEXT_ATTENTION)
CALL_GROUP(attention_causal, CAUSAL_ATTENTION, CAUSAL_ATTENTION)
CALL_GROUP(attention_decode, DECODE_ATTENTION, DECODE_ATTENTION)
CALL_GROUP(mla, CONTEXT_MLA, DECODE_MLA)
CALL_GROUP(moe, MOE, MOE_NVFP4)
#undef CALL_GROUP

static bool is_collective(const fsim_prepared *p)
{
    return p->kernels == 1 && p->group[0].template == FSIM_COMMUNICATION_KERNEL;
}

const fsim_fit_group fsim_fit_groups[] = {
    {"streaming",
     "achievable bandwidth, what a write costs, and launch cost, from elementwise operators",
     is_streaming,
     {FSIM_HW_DRAM_BANDWIDTH, FSIM_HW_CALL_STREAM, FSIM_HW_DRAM_WRITE_COST},
     3},
    {"softmax",
     "rows of ATen's softmax",
     is_softmax,
     {FSIM_HW_SOFTMAX_CALLS, FSIM_HW_SOFTMAX_BLOCK, FSIM_HW_SOFTMAX_L2, FSIM_HW_SOFTMAX_L2_WIDTH,
      FSIM_HW_ROW_UNALIGNED},
     5},
    {"layer_norm",
     "rows of ATen's layer norm",
     is_layer_norm,
     {FSIM_HW_LAYER_NORM_CALLS, FSIM_HW_LAYER_NORM_STEP, FSIM_HW_LAYER_NORM_L2},
     3},
    {"attention",
     "share of the libraries' rates, floor of their kernels and loss of clock, from fused attention",
     is_attention,
     {FSIM_HW_ATTENTION_SHARE, FSIM_HW_ATTENTION_FLOOR, FSIM_HW_ATTENTION_SLOWDOWN},
     3},
    {"gemm_fp32",
     "matrix products on FP32 units, from the vendor's library",
     is_vector_product,
     {FSIM_HW_GEMM_FP32, FSIM_HW_GEMM_FP32_TRANSPOSED, FSIM_HW_GEMM_FP32_NARROW, FSIM_HW_GEMM_FP32_STARTUP,
      FSIM_HW_GEMM_FP32_L2, FSIM_HW_GEMM_FP32_SPLIT, FSIM_HW_GEMM_PAGE_SPAN, FSIM_HW_GEMM_PAGE_SLOPE,
      FSIM_HW_GEMM_PAGE_MOST, FSIM_HW_GEMM_DRIFT, FSIM_HW_GEMM_CALL, FSIM_HW_GEMM_BIAS_CALL},
     12},
    {"gemm_rested",
     "what products save on a device that rested, where little power holds it back",
     is_rested_product,
     {FSIM_HW_GEMM_BURST, FSIM_HW_GEMM_BURST_SPAN},
     2},
    {"gemm_tensor",
     "matrix products on tensor units, from the vendor's library",
     is_tensor_product,
     {FSIM_HW_GEMM_TENSOR, FSIM_HW_GEMM_TENSOR_NARROW, FSIM_HW_GEMM_TENSOR_STARTUP, FSIM_HW_GEMM_TENSOR_STEP,
      FSIM_HW_GEMM_TENSOR_L2, FSIM_HW_GEMM_TENSOR_POWER, FSIM_HW_GEMM_TENSOR_SPLIT, FSIM_HW_GEMM_TENSOR_DRAM,
      FSIM_HW_GEMM_BLOCK_DRAM, FSIM_HW_GEMM_RESIDENT, FSIM_HW_GEMM_FLOOR},
     11},
    {"convolutions",
     "efficiencies of convolutions on tensor units, from eager rows above 0.3 ms",
     is_convolution,
     {FSIM_HW_CONVOLUTION, FSIM_HW_CONVOLUTION_TRANSPOSED, FSIM_HW_CONVOLUTION_3D, FSIM_HW_CONVOLUTION_TRANSPOSED_3D},
     4},
    {"calls",
     "the host's time of an eager call and of each launch, from rows below 0.1 ms or 25 us a kernel",
     is_eager_call,
     {FSIM_HW_CALL_EAGER, FSIM_HW_LAUNCH_EAGER},
     2},
    {"compiled_calls",
     "the same of compiled calls",
     is_compiled_call,
     {FSIM_HW_COMPILED_CALL, FSIM_HW_COMPILED_LAUNCH},
     2},
    {"gemm_f8", "products of 8-bit floats, as serving stacks run them", is_gemm_f8, {FSIM_HW_SERVING_GEMM_F8}, 1},
    {"gemm_i8", "products of 8-bit integers, as serving stacks run them", is_gemm_i8, {FSIM_HW_SERVING_GEMM_I8}, 1},
    {"gemm_w",
     "products with weights of 4 or 8 bits, as serving stacks run them",
     is_gemm_w,
     {FSIM_HW_SERVING_GEMM_W},
     1},
    {"gemm_w4", "the same, from those of 4 bits alone", is_gemm_w4, {FSIM_HW_SERVING_GEMM_W}, 1},
    {"gemm_w8", "the same, from those of 8 bits alone", is_gemm_w8, {FSIM_HW_SERVING_GEMM_W}, 1},
    {"gemm_nvfp4",
     "products of 4-bit floats, as serving stacks run them",
     is_gemm_nvfp4,
     {FSIM_HW_SERVING_GEMM_NVFP4},
     1},
    {"quantize", "quantising kernels of serving stacks", is_quantize, {FSIM_HW_SERVING_QUANTIZE}, 1},
    {"attention_context",
     "attention with rotary embedding and cache write of serving stacks",
     is_attention_context,
     {FSIM_HW_SERVING_CONTEXT},
     1},
    {"attention_causal", "causal attention of serving stacks", is_attention_causal, {FSIM_HW_SERVING_CAUSAL}, 1},
    {"attention_decode", "decode attention of serving stacks", is_attention_decode, {FSIM_HW_SERVING_DECODE}, 1},
    {"mla", "multi-head latent attention of serving stacks", is_mla, {FSIM_HW_SERVING_MLA}, 1},
    {"moe", "mixtures of experts of serving stacks", is_moe, {FSIM_HW_SERVING_MOE}, 1},
    {"collectives", "collectives between GPUs, of any kind and number", is_collective, {FSIM_HW_COLLECTIVES}, 1},
    {"residuals",
     "intervals, from how far off rows are that were not fitted",
     NULL,
     {0},
     0}, /* last: it uses the results of all others */
};
const int fsim_fit_group_count = (int)(sizeof fsim_fit_groups / sizeof *fsim_fit_groups);

static double *place_of(fsim_hw *hw, fsim_hw_key key)
{
    return fsim_hw_rows[key].form == FSIM_HW_PEAK ? &hw->q[key].achieved : &hw->q[key].value;
}

/* Predicts many rows in threads. Sums are taken in order afterwards, so they do not depend on the number of
 * threads. */
typedef struct {
    const fsim_prepared *const *row;
    const fsim_hw *hw;
    int rows, jobs;
    double *seconds;
    fsim_arena **scratch; /* one a thread */
} batch;

enum { ROWS_AT_ONCE = 32 };

static void price_some(void *to, int i, int worker)
{
    const batch *b = to;
    for (int k = i * ROWS_AT_ONCE; k < b->rows && k < (i + 1) * ROWS_AT_ONCE; k++)
        b->seconds[k] = fsim_price_again(b->row[k], b->hw, b->scratch[worker]);
}

static void price_all(const batch *all)
{
    batch b = *all;
    fsim_in_parallel(b.jobs, (b.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, price_some, &b);
}

/* One fit. Keys are fitted as logarithms: they are positive and of any magnitude. */
typedef struct {
    batch b;
    fsim_hw *hw;
    const fsim_fit_group *group;
} fitting;

static void put_keys(const fitting *f, const double *x)
{
    for (int k = 0; k < f->group->keys; k++)
        *place_of(f->hw, f->group->key[k]) = exp(x[k]);
}

static double mean_error(const double *x, void *with)
{
    const fitting *f = with;
    double sum = 0;
    put_keys(f, x);
    price_all(&f->b);
    for (int i = 0; i < f->b.rows; i++)
        sum += fmin(1, fabs(f->b.seconds[i] / f->b.row[i]->row->time_s - 1));
    return sum / f->b.rows;
}

/* The smallest positive value, for the logarithm of scalars that may be 0. */
static double least_of(const fsim_hw_row *row) { return row->low > 0 ? row->low : row->high * 1e-6; }

/* Fits the group to f's rows, starting at x, and repeats from the result with other step sizes while that helps.
 * *least: the mean error at the result. */
static bool fit_from(fitting *f, double *x, double *least, const char **why)
{
    enum { EVALUATIONS_A_KEY = 60, ROUNDS = 4 };
    static const double reach = 30;    /* bounds: so many times the start value, up or down */
    static const double helps = 0.005; /* relative improvement that counts */
    double low[FSIM_MOST_FIT_KEYS], high[FSIM_MOST_FIT_KEYS], step[FSIM_MOST_FIT_KEYS];
    *least = INFINITY;
    for (int k = 0; k < f->group->keys; k++) {
        const fsim_hw_row *row = &fsim_hw_rows[f->group->key[k]];
        const double peak =
            row->form == FSIM_HW_PEAK ? f->hw->q[f->group->key[k]].value : INFINITY; /* no rate exceeds the peak */
        low[k] = log(fmax(least_of(row), exp(x[k]) / reach));
        high[k] = log(fmin(isnan(peak) ? row->high : fmin(row->high, peak), exp(x[k]) * reach));
        x[k] = fmin(fmax(x[k], low[k]), high[k]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        const double before = *least;
        for (int k = 0; k < f->group->keys; k++) {
            const double length = round % 2 ? 0.3 : 0.1;
            step[k] = x[k] + length < high[k] ? length : -length;
        }
        const fsim_minimum of = {mean_error, f, f->group->keys, low, high, step, EVALUATIONS_A_KEY * f->group->keys};
        if (!fsim_minimise(&of, x, least, why))
            return false;
        if (*least > before * (1 - helps))
            break;
    }
    return true;
}

/* The best of several fits: from x and, where evaluations are fast, from 1.5 x, from 2/3 x, and from typical values. */
static bool fit(fitting *f, double *x, const char **why)
{
    enum { FEW_KEYS = 5, FEW_ROWS = 500, STARTS = 4 };
    double best = INFINITY, from[FSIM_MOST_FIT_KEYS], at[FSIM_MOST_FIT_KEYS], least;
    const size_t bytes = sizeof *x * (size_t)f->group->keys;
    memcpy(from, x, bytes);
    for (int start = 0; start < (f->group->keys > FEW_KEYS || f->b.rows > FEW_ROWS ? 1 : STARTS); start++) {
        for (int k = 0; k < f->group->keys; k++) {
            const double typical = fsim_hw_rows[f->group->key[k]].otherwise;
            at[k] = start == 0                      ? from[k]
                    : start == 3 && !isnan(typical) ? log(fmax(typical, least_of(&fsim_hw_rows[f->group->key[k]])))
                    : start == 3                    ? from[k]
                                                    : from[k] + log(start == 1 ? 1.5 : 0.67);
        }
        if (!fit_from(f, at, &least, why))
            return false;
        if (least < best) {
            best = least;
            memcpy(x, at, bytes);
        }
    }
    return true;
}

static int fold_of(const fsim_prepared *p, int folds) { return fsim_family_fold(p->row, folds); }

/* Predicts row[0, count) with hw as it is, into the rows' places of `out`. */
static void errors_into(fitting *f, const fsim_prepared *const *row, int count, fsim_evaluated *out)
{
    batch b = f->b;
    b.row = row;
    b.rows = count;
    price_all(&b);
    for (int i = 0; i < count; i++)
        out[i] = (fsim_evaluated){.row = row[i]->row, .predicted_s = b.seconds[i], .class = row[i]->class};
}

/* Why the fit is refused; NULL where it is accepted. was: the GPU before the fit. */
static const char *verdict(const fsim_fit *r, const fsim_hw *was, fsim_arena *a)
{
    enum { ROWS_A_KEY = 5 };
    static const double optimism = 2; /* the error of held-out rows may be so many times that of the fitted rows */
    if (r->rows < ROWS_A_KEY * r->group->keys)
        return fsim_printf(a, "%d rows are too few for %d scalars", r->rows, r->group->keys);
    bool fitted_before = true;
    for (int k = 0; k < r->group->keys; k++)
        fitted_before = fitted_before && fsim_hw_origin(was, r->group->key[k]) == FSIM_FROM_FITTED;
    if (fitted_before && r->fitted.mape < r->before.mape && r->after.mape < optimism * r->fitted.mape + 0.005)
        return NULL;
    if (fitted_before && r->fitted.mape >= r->before.mape)
        return fsim_printf(a, "the scalars that the file has, fitted before, are as good: %.1f %%",
                           r->before.mape * 100);
    if (!(r->after.mape < r->before.mape))
        return fsim_printf(a, "rows not fitted are predicted no better: %.1f %% against %.1f %% before",
                           r->after.mape * 100, r->before.mape * 100);
    if (r->after.mape > optimism * r->fitted.mape + 0.005)
        return fsim_printf(a, "it does not generalise: %.1f %% on rows not fitted against %.1f %% on those fitted",
                           r->after.mape * 100, r->fitted.mape * 100);
    return NULL;
}

typedef struct {
    const fsim_prepared *all;
    int rows, folds;
    fsim_hw *hw;
    fitting f;
    fsim_arena *a;
    const fsim_hw *start;
    double *held_out; /* per row: predicted by scalars that were fitted to other rows; NaN: never held out */
} calibration;

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The files of row[0, count), as they come; of many, how many there are besides the first. */
static const char *files_of(const fsim_prepared *const *row, int count, fsim_arena *a)
{
    enum { MOST_NAMED = 2 };
    const char *files = "", *last = "", *first = "";
    int found = 0;
    for (int i = 0; i < count; i++) {
        const char *file = base_of(row[i]->row->at.file);
        if (strcmp(file, last) != 0 && !strstr(files, file)) {
            files = fsim_printf(a, "%s%s%s", files, found ? " and " : "", file);
            first = found++ == 0 ? file : first;
        }
        last = file;
    }
    return found > MOST_NAMED ? fsim_printf(a, "%s and %d other files", first, found - 1) : files;
}

/* The fit of one group. Scalars are logarithms, in the group's order. */
typedef struct {
    const fsim_prepared **row;                               /* the rows of the group */
    double start[FSIM_MOST_FIT_KEYS], x[FSIM_MOST_FIT_KEYS]; /* before the fit; fitted to all rows */
    double fold_x[FSIM_MOST_FOLDS][FSIM_MOST_FIT_KEYS];      /* fitted without that fold */
    fsim_evaluated *error;                                   /* per row, in the folds' order */
    double *held_out; /* per row of calibration.all: predicted by scalars that were not fitted to it */
} group_fit;

/* Cross-validation: predicts each fold with scalars fitted to the other folds, into w->error and w->held_out. Then
 * fits all rows, into w->x. */
static bool cross_validate(calibration *c, group_fit *w, fsim_fit *r, const char **why)
{
    const fsim_prepared *const *row = w->row;
    const fsim_prepared **part = fsim_new(c->a, const fsim_prepared *, r->rows + 1);
    const size_t keys = sizeof *w->x * (size_t)r->group->keys;
    int tested = 0;
    for (int fold = 0; fold < c->folds; fold++) {
        int in = 0, out = 0;
        for (int i = 0; i < r->rows; i++)
            if (fold_of(row[i], c->folds) != fold)
                part[in++] = row[i];
        for (int i = 0; i < r->rows; i++)
            if (fold_of(row[i], c->folds) == fold)
                part[in + out++] = row[i];
        c->f.b.row = part;
        c->f.b.rows = in;
        memcpy(w->fold_x[fold], w->start, keys);
        if (in > 0 && !fit(&c->f, w->fold_x[fold], why))
            return false;
        put_keys(&c->f, w->fold_x[fold]);
        errors_into(&c->f, part + in, out, w->error + tested);
        for (int i = 0; i < out; i++)
            w->held_out[part[in + i] - c->all] = w->error[tested + i].predicted_s;
        tested += out;
    }
    r->after = fsim_stats_of(w->error, tested, c->a);
    c->f.b.row = row;
    c->f.b.rows = r->rows;
    memcpy(w->x, w->start, keys);
    return fit(&c->f, w->x, why);
}

/* Compares the values found without each fold with the value found from all rows. */
static void judge_keys(const calibration *c, const group_fit *w, fsim_fit *r)
{
    for (int k = 0; k < r->group->keys; k++) {
        double squares = 0;
        for (int fold = 0; fold < c->folds; fold++)
            squares += pow(exp(w->fold_x[fold][k] - w->x[k]) - 1, 2);
        r->key[k].after = exp(w->x[k]);
        r->key[k].spread = sqrt(squares / c->folds);
    }
}

static bool fit_group(calibration *c, const fsim_fit_group *group, fsim_fit *r, const char **why)
{
    const fsim_prepared **row = fsim_new(c->a, const fsim_prepared *, c->rows + 1);
    group_fit w = {.row = row, .held_out = fsim_new(c->a, double, c->rows + 1)};
    const fsim_hw was = *c->hw;
    *r = (fsim_fit){.group = group, .fitted_keys = group->keys};
    for (int i = 0; i < c->rows; i++)
        if (group->takes(&c->all[i]))
            row[r->rows++] = &c->all[i];
    if (r->rows == 0) {
        r->fitted_keys = 0;
        return true;
    }
    for (int k = 0; k < group->keys;
         k++) { /* prices treat assumed figures more cautiously: from here on these are fitted */
        fsim_quantity *q = &c->hw->q[group->key[k]];
        *q = c->start ? c->start->q[group->key[k]] : *q;
        const char *sheet = fsim_hw_rows[group->key[k]].form == FSIM_HW_PEAK && q->source
                                ? fsim_strndup(c->a, q->source, strcspn(q->source, ";"))
                                : NULL;
        q->source = sheet ? fsim_printf(c->a, "%s; achieved fitted", sheet) : "fitted";
        q->typical = false;
        q->from = FSIM_HW_GIVEN;
    }
    fsim_evaluated *e = fsim_new(c->a, fsim_evaluated, r->rows + 1);
    r->files = files_of(row, r->rows, c->a);
    c->f.group = group;
    for (int k = 0; k < group->keys; k++) {
        r->key[k] =
            (fsim_fitted_key){.key = group->key[k], .before = fsim_hw_get(c->hw, group->key[k]), .rows = r->rows};
        w.start[k] = log(fmax(r->key[k].before, least_of(&fsim_hw_rows[group->key[k]])));
    }
    errors_into(&c->f, row, r->rows, e);
    r->before = fsim_stats_of(e, r->rows, c->a);
    w.error = e;
    if (!cross_validate(c, &w, r, why))
        return false;
    judge_keys(c, &w, r);
    put_keys(&c->f, w.x);
    errors_into(&c->f, row, r->rows, e);
    r->fitted = fsim_stats_of(e, r->rows, c->a);
    if ((r->refused = verdict(r, &was, c->a)))
        *c->hw = was;
    for (int i = 0; i < r->rows && !r->refused; i++)
        c->held_out[row[i] - c->all] = w.held_out[row[i] - c->all];
    return true;
}

/* A number for each GPU of the rows; 0: hw. */
static int gpu_number(fsim_arena *a, fsim_names *gpus, const fsim_hw *hw, const char *name)
{
    if (strcmp(name, hw->name) == 0)
        return 0;
    const int known = fsim_names_get(gpus, name), fresh = gpus->count + 1;
    if (known < 0)
        fsim_names_set(a, gpus, name, fresh);
    return known < 0 ? fresh : known;
}

/* Fits the widths of intervals to rows that the scalars were not fitted to. b also has rows of other GPUs. */
static fsim_fit fit_residuals(calibration *c, const fsim_bench *b, const fsim_fit_group *group, fsim_diag *d)
{
    fsim_fit r = {.group = group, .rows = c->rows, .before = {.mape = NAN, .median = NAN, .p90 = NAN}};
    const int rows = fsim_bench_rows(b);
    const fsim_prepared **row = fsim_new(c->a, const fsim_prepared *, c->rows + 1);
    fsim_residual *found = fsim_new(c->a, fsim_residual, rows + 1);
    fsim_evaluated *e = fsim_new(c->a, fsim_evaluated, rows + 1);
    double unknown[FSIM_ERROR_CLASSES];
    fsim_names gpus = {0};
    int own = 0, count = 0;
    r.after = r.fitted = r.before;
    if (c->rows == 0 || !fsim_evaluate(b, c->f.b.jobs, c->a, d, e))
        return r;
    for (int i = 0; i < rows; i++) {
        const int gpu = gpu_number(c->a, &gpus, c->hw, e[i].row->hw);
        const bool mine = own < c->rows && c->all[own].row == e[i].row;
        const double held_out = mine ? c->held_out[own] : NAN;
        if (mine)
            row[own] = &c->all[own];
        own += mine;
        if (e[i].errors.kernels > 0 && (mine || !e[i].excluded))
            found[count++] = fsim_residual_of(&e[i], isnan(held_out) ? e[i].predicted_s : held_out, gpu);
    }
    for (int k = 0; k < FSIM_ERROR_CLASSES; k++)
        unknown[k] = fsim_hw_get(c->hw, fsim_error_classes[k]);
    r.files = files_of(row, own, c->a);
    const fsim_widths widths = fsim_widths_of(found, count, 0, unknown, c->a);
    r.fitted_keys = fsim_set_residuals(&widths, c->hw, r.key);
    return r;
}

static bool wanted(const fsim_fit_options *how, const fsim_fit_group *group)
{
    for (int i = 0; i < how->groups; i++)
        if (strcmp(how->group[i], group->name) == 0)
            return true;
    for (const fsim_fit_group *before = fsim_fit_groups; before < group; before++) /* a part of one that has its key */
        if (before->takes && group->takes && before->key[0] == group->key[0])
            return false;
    return how->groups == 0;
}

int fsim_calibrate(const fsim_bench *b, fsim_hw *hw, const fsim_fit_options *how, fsim_arena *a, fsim_diag *d,
                   fsim_fit **out)
{
    const char *why = "";
    const int rows = fsim_bench_rows(b);
    fsim_prepared *all = fsim_new(a, fsim_prepared, rows + 1);
    int fits = 0, room = 0, count = 0;
    const int jobs = how->jobs;
    for (int i = 0; i < rows; i++)
        if (!fsim_bench_missing(b, i) && strcmp(fsim_bench_row(b, i)->hw, hw->name) == 0) {
            all[count] = fsim_prepare(b, i, a);
            if (!all[count].graph) {
                fsim_bench_refuse(b, i, a, d);
                return -1;
            }
            count += all[count].kernels > 0; /* 0: the row names a kernel that the plan does not have */
        }
    calibration c = {all, count, how->folds, hw, {.hw = hw}, a, how->start, fsim_new(a, double, count + 1)};
    for (int i = 0; i < count; i++)
        c.held_out[i] = NAN;
    c.f.b = (batch){
        .hw = hw, .jobs = jobs, .seconds = fsim_new(a, double, count + 1), .scratch = fsim_arena_children(a, jobs)};
    *out = NULL;
    for (int g = 0; g < fsim_fit_group_count; g++) {
        fsim_fit r;
        if (!wanted(how, &fsim_fit_groups[g]))
            continue;
        if (!fsim_fit_groups[g].takes)
            r = fit_residuals(&c, b, &fsim_fit_groups[g], d);
        else if (!fit_group(&c, &fsim_fit_groups[g], &r, &why)) {
            fsim_failure(d, FSIM_UNAVAILABLE, (fsim_loc){NULL, 0, 0}, "calibrate: %s", why);
            return -1;
        }
        if (r.rows > 0 || how->groups > 0)
            *FSIM_PUSH(a, *out, fits, room) = r;
    }
    return fits;
}
