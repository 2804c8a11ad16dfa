/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/evaluate.h"

#include "base/file.h"
#include "base/names.h"
#include "graph/find.h"
#include "search/price.h"
#include "search/timeline.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const fsim_work_class_names[FSIM_WORK_COUNT] = {"elementwise", "reduction", "softmax",     "norm",      "loss",  "pooling",
                                                             "movement",    "matmul",    "convolution", "attention", "chain", "network"};

/* Composites whose class their primitives do not tell. */
static const struct {
    fsim_op op;
    fsim_work_class class;
} composites[] = {
    {FSIM_OP_SOFTMAX, FSIM_WORK_SOFTMAX},          {FSIM_OP_LOG_SOFTMAX, FSIM_WORK_SOFTMAX},    {FSIM_OP_LOGSUMEXP, FSIM_WORK_REDUCTION},
    {FSIM_OP_LAYER_NORM, FSIM_WORK_NORM},          {FSIM_OP_RMS_NORM, FSIM_WORK_NORM},          {FSIM_OP_BATCH_NORM, FSIM_WORK_NORM},
    {FSIM_OP_GROUP_NORM, FSIM_WORK_NORM},          {FSIM_OP_INSTANCE_NORM, FSIM_WORK_NORM},     {FSIM_OP_NORMALIZE, FSIM_WORK_NORM},
    {FSIM_OP_CROSS_ENTROPY, FSIM_WORK_LOSS},       {FSIM_OP_KL_DIV, FSIM_WORK_LOSS},            {FSIM_OP_COSINE_SIMILARITY, FSIM_WORK_LOSS},
    {FSIM_OP_SMOOTH_L1_LOSS, FSIM_WORK_LOSS},      {FSIM_OP_MSE_LOSS, FSIM_WORK_LOSS},          {FSIM_OP_TRIPLET_MARGIN_LOSS, FSIM_WORK_LOSS},
    {FSIM_OP_ATTENTION, FSIM_WORK_ATTENTION}};

static fsim_work_class class_of_source(const fsim_graph *g, const fsim_source *s)
{
    fsim_work_class class = FSIM_WORK_ELEMENTWISE;
    for (size_t i = 0; i < sizeof composites / sizeof *composites; i++)
        if (composites[i].op == s->op)
            return composites[i].class;
    for (int n = s->first; n < s->first + s->nodes; n++) {
        const fsim_class c = fsim_ops[g->node[n].op].class;
        if (g->node[n].gemm.k)
            return g->node[n].gemm.convolution ? FSIM_WORK_CONVOLUTION : FSIM_WORK_MATMUL;
        class = c == FSIM_WINDOW                        ? FSIM_WORK_POOLING
                : c == FSIM_REDUCE || c == FSIM_SCAN    ? FSIM_WORK_REDUCTION
                : c == FSIM_ELEMENTWISE || c == FSIM_RANDOM ? class
                                                        : FSIM_WORK_MOVEMENT;
    }
    return class;
}

fsim_work_class fsim_work_class_of(const fsim_graph *g)
{
    enum { LONGEST_CHAIN = 12 };
    int sources = 0;
    fsim_work_class class = FSIM_WORK_MOVEMENT;
    for (int s = 0; s < g->sources; s++)
        if (g->source[s].nodes > 0) {
            sources++;
            class = class_of_source(g, &g->source[s]);
        }
    return sources <= 1 ? class : sources <= LONGEST_CHAIN ? FSIM_WORK_CHAIN : FSIM_WORK_NETWORK;
}

typedef struct {
    const char *path, *text;
    size_t bytes;
} workload;

struct fsim_bench {
    const fsim_measurements *rows;
    fsim_hw **hw;      /* per row */
    workload **of;     /* per row */
};

/* The workload's file: under each root, else where workloads are found by name. */
static const char *path_of(fsim_arena *a, const fsim_folders *where, const char *name)
{
    for (int i = 0; i < where->roots; i++) {
        const char *path = fsim_printf(a, "%s/%s.yaml", where->root[i], name);
        if (access(path, R_OK) == 0)
            return path;
    }
    return fsim_workload_find(a, name, where->workloads);
}

static workload *read_workload(fsim_arena *a, fsim_diag *d, const fsim_folders *where, const fsim_measured *row, int *status)
{
    workload *w = fsim_new(a, workload, 1);
    const char *why = "";
    w->path = path_of(a, where, row->workload);
    w->text = fsim_read_file(a, w->path, &w->bytes, &why);
    if (!w->text) {
        fsim_error(d, row->at, "cannot read workload '%s': %s%s", row->workload, why, where->roots ? "" : "; --workload-root DIR says where workloads lie");
        *status = FSIM_EXIT_NO_INPUT;
    }
    return w;
}

static fsim_hw *read_hw(fsim_arena *a, fsim_diag *d, const fsim_folders *where, const fsim_measured *row, int *status)
{
    const char *path = fsim_hw_find(a, d, row->hw, where->hwmodels);
    fsim_hw *hw = path ? fsim_hw_read(a, d, path) : NULL;
    if (!path)
        *status = FSIM_EXIT_NO_INPUT;
    else if (!hw && !*status)
        *status = FSIM_EXIT_BAD_INPUT;
    return hw;
}

fsim_bench *fsim_bench_of(fsim_arena *a, fsim_diag *d, const fsim_folders *where, const fsim_measurements *rows, fsim_hw *given, int *status)
{
    fsim_bench *b = fsim_new(a, fsim_bench, 1);
    fsim_names hw_names = {0}, workload_names = {0};
    fsim_hw **hw = fsim_new(a, fsim_hw *, rows->count + 1);
    workload **of = fsim_new(a, workload *, rows->count + 1);
    b->rows = rows;
    b->hw = fsim_new(a, fsim_hw *, rows->count + 1);
    b->of = fsim_new(a, workload *, rows->count + 1);
    for (int i = 0; i < rows->count; i++) {
        const fsim_measured *row = &rows->at[i];
        int h = fsim_names_get(&hw_names, row->hw), w = fsim_names_get(&workload_names, row->workload);
        if (h < 0) {
            h = hw_names.count;
            fsim_names_set(a, &hw_names, row->hw, h);
            hw[h] = given && strcmp(given->name, row->hw) == 0 ? given : read_hw(a, d, where, row, status);
        }
        if (w < 0) {
            w = workload_names.count;
            fsim_names_set(a, &workload_names, row->workload, w);
            of[w] = read_workload(a, d, where, row, status);
        }
        b->hw[i] = hw[h];
        b->of[i] = of[w];
    }
    return fsim_errors(d) ? NULL : b;
}

/* "M=1024;N=64" as bindings. */
static int bindings(fsim_arena *a, const char *set, fsim_binding **out)
{
    int count = 0, room = 0;
    for (const char *p = set; *p;) {
        const size_t length = strcspn(p, ";"), name = strcspn(p, "=");
        if (name < length)
            *FSIM_PUSH(a, *out, count, room) = (fsim_binding){fsim_strndup(a, p, name), fsim_strndup(a, p + name + 1, length - name - 1)};
        p += length + (p[length] == ';');
    }
    return count;
}

/* Public GEMM benchmarks that say nothing of L2: in CUDA graphs they keep their weights out of it; else they put events around one call. */
static fsim_harness harness_of(const fsim_measured *row)
{
    if (row->l2 != FSIM_L2_UNKNOWN)
        return FSIM_HARNESS_NONE;
    return row->launch == FSIM_REGIME_GRAPH ? FSIM_HARNESS_ROTATES : row->launch == FSIM_REGIME_STREAM ? FSIM_HARNESS_CALLS : FSIM_HARNESS_NONE;
}

static void predict_row(const fsim_graph *g, const fsim_hw *hw, const fsim_measured *row, fsim_arena *a, fsim_evaluated *out)
{
    const fsim_options options = {.strategy = row->strategy, .regime = row->launch, .warm = row->l2 != FSIM_L2_COLD, .time_limit_s = 1};
    fsim_problem p = fsim_problem_of(g, hw, &options, a);
    p.harness = harness_of(row);
    fsim_plan own, plan;
    fsim_proof proof;
    if (row->strategy == FSIM_STRATEGY_OPTIMAL)
        fsim_optimal(&p, NULL, 0, a, &own, &proof);
    else
        fsim_baseline(&p, row->strategy, a, &own);
    plan = fsim_plan_made_by(&p, fsim_maker_of(row->strategy), &own, a);
    out->predicted_s = row->launch == FSIM_REGIME_EAGER ? fsim_call_seconds(plan.kernel, plan.kernels, hw) : plan.time_s;
    out->dram_read_bytes = (double)plan.dram_read_bytes;
    out->dram_write_bytes = (double)plan.dram_write_bytes;
    out->kernels = plan.kernels;
    double units = 0;
    for (int k = 0; k < plan.kernels; k++)
        for (int u = FSIM_DRAM; u < FSIM_UNIT_COUNT; u++) {
            out->unit_s[u] += plan.kernel[k].time[u];
            units += plan.kernel[k].time[u];
        }
    out->unit_s[FSIM_LAUNCH] = out->predicted_s - units;
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        out->bound = out->unit_s[u] > out->unit_s[out->bound] ? (fsim_unit)u : out->bound;
    out->class = fsim_work_class_of(g);
}

typedef struct {
    const fsim_bench *b;
    fsim_evaluated *out;
    atomic_int next;
    atomic_int bad; /* the lowest row that is no valid workload, + 1; 0 */
} work;

static void *work_through(void *to)
{
    enum { BATCH = 16 };
    work *w = to;
    const int count = w->b->rows->count;
    for (int from; (from = atomic_fetch_add(&w->next, BATCH)) < count;)
        for (int i = from; i < count && i < from + BATCH; i++) {
            fsim_arena *a = fsim_arena_new();
            fsim_diag *d = fsim_diag_new(a);
            fsim_binding *set = NULL;
            const fsim_measured *row = &w->b->rows->at[i];
            const int sets = bindings(a, row->set, &set);
            const fsim_graph *g = fsim_graph_parse(a, d, w->b->of[i]->path, w->b->of[i]->text, w->b->of[i]->bytes, set, sets);
            w->out[i] = (fsim_evaluated){.row = row, .predicted_s = NAN};
            if (g && g->nodes > 0)
                predict_row(g, w->b->hw[i], row, a, &w->out[i]);
            else
                for (int bad = atomic_load(&w->bad); (bad == 0 || bad > i + 1) && !atomic_compare_exchange_weak(&w->bad, &bad, i + 1);)
                    ;
            fsim_arena_free(a);
        }
    return NULL;
}

bool fsim_evaluate(const fsim_bench *b, int jobs, fsim_arena *a, fsim_diag *d, fsim_evaluated *out)
{
    enum { MOST_JOBS = 256 };
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = jobs > 0 ? jobs : processors > 0 ? (int)processors : 1, started = 0;
    pthread_t thread[MOST_JOBS];
    work w = {.b = b, .out = out};
    threads = threads > MOST_JOBS ? MOST_JOBS : threads;
    while (started < threads - 1 && pthread_create(&thread[started], NULL, work_through, &w) == 0)
        started++;
    work_through(&w);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    const int bad = atomic_load(&w.bad) - 1;
    if (bad < 0)
        return true;
    const fsim_measured *row = &b->rows->at[bad];
    fsim_binding *set = NULL;
    const int sets = bindings(a, row->set, &set), errors = fsim_errors(d);
    fsim_diag_source(d, b->of[bad]->path, b->of[bad]->text, b->of[bad]->bytes);
    fsim_graph_parse(a, d, b->of[bad]->path, b->of[bad]->text, b->of[bad]->bytes, set, sets); /* again, for what it says */
    if (fsim_errors(d) > errors)
        fsim_note(d, "in row '%s', %s:%d", row->id, row->at.file, row->at.line);
    else
        fsim_error(d, row->at, "row '%s' computes nothing: its operators are views", row->id);
    return false;
}
