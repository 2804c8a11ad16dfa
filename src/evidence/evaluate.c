/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/evaluate.h"

#include "evidence/alone.h"
#include "evidence/do_bench.h"
#include "evidence/harness.h"
#include "evidence/step.h"
#include "evidence/training.h"
#include "plan/price/calls.h"
#include "plan/price/sdpa.h"

#include "base/file.h"
#include "base/jobs.h"
#include "base/names.h"
#include "cost/constants.h"
#include "graph/find.h"
#include "import/load.h"
#include "plan/price/interval.h"
#include "plan/price/price.h"
#include "plan/price/timeline.h"
#include "plan/rivals/rivals.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    const char *path;
    bool model;                /* it is read again for each set of dimensions */
    const fsim_yaml *document; /* of others; NULL: it is no valid YAML */
} workload;

/* Rows are predicted graph by graph: rows order[first[j], first[j + 1]) have the workload and bindings of graph j,
 * those with one plan one after the other. */
struct fsim_bench {
    const fsim_measurements *rows;
    fsim_hw **hw;         /* per row */
    workload **of;        /* per row */
    const char **missing; /* per row: why it cannot be predicted; NULL */
    int *same; /* per row: the first row that has the same prediction, because it is the same in all that a prediction
                  uses */
    int *plan; /* per row: the first row that has the same plan; they differ in the kernels of it that they measure */
    int *order, *first, graphs;
};

/* A GPU or a workload that rows refer to. */
typedef struct {
    const char *kind, *name, *absent; /* absent: why it can't be found; NULL: it was found */
    fsim_loc at;                      /* of the first row */
    int rows;
} named;

static const char outside[] = "a row names files in this folder, the shipped one and those of --workload-root, and no "
                              "others",
                  irregular[] = "it is no regular file";

/* Loads the workload of `row`. Where there is no such file, *absent is set. */
static workload *read_workload(fsim_arena *a, fsim_diag *d, const fsim_folders *where, const fsim_measured *row,
                               const char **absent)
{
    workload *w = fsim_new(a, workload, 1);
    const char *name = fsim_row_model(row, NULL);
    struct stat st;
    w->path = fsim_row_path(a, where, name);
    if (!fsim_row_may_name(where, name))
        *absent = outside;
    else if (stat(w->path, &st) != 0)
        *absent = fsim_printf(a, "no such file%s", where->roots ? "" : "; --workload-root DIR names their folder");
    else if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) /* a folder cannot be read, which is an error */
        *absent = irregular;
    if (*absent)
        return w;
    size_t bytes = 0;
    const char *why = "", *text = NULL;
    w->model = fsim_is_model(a, w->path);
    if (!w->model)
        text = fsim_read_file(a, w->path, &bytes, &why);
    if (text)
        w->document = fsim_tree_load_text(a, d, w->path, text, bytes, &(fsim_workload_wanted){0}).yaml;
    else if (!w->model)
        fsim_failure(d, FSIM_NO_INPUT, row->at, "cannot read workload '%s': %s", row->workload, why);
    return w;
}

/* Loads the GPU of `row`. NULL where there is no such file (*absent is set), and after errors in d. */
static fsim_hw *read_hw(fsim_arena *a, fsim_diag *d, const fsim_folders *where, const fsim_measured *row,
                        const char **absent)
{
    for (int i = 0; i < where->hws; i++)
        if (strcmp(where->hw[i]->name, row->hw) == 0)
            return where->hw[i];
    fsim_diag *aside = fsim_diag_new(a);
    fsim_diagnostic *message;
    struct stat st;
    if (!fsim_row_may_name(where, row->hw)) {
        *absent = outside;
        return NULL;
    }
    const char *path = fsim_hw_find(a, aside, row->hw, &where->others.folders);
    if (!path) {
        fsim_diag_list(aside, a, &message);
        *absent = message[0].message;
        return NULL;
    }
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
        *absent = irregular;
        return NULL;
    }
    fsim_hw *hw = fsim_hw_load(a, d, path, &where->others);
    if (!hw)
        fsim_note(d, "in row '%s', %s:%d", row->id, row->at.file, row->at.line);
    return hw;
}

static void warn_of_absent(fsim_diag *d, const named *all, int count)
{
    for (int i = 0; i < count; i++)
        if (all[i].absent)
            fsim_warning(d, all[i].at, "%d row%s of %s '%s' left out: %s", all[i].rows, all[i].rows == 1 ? "" : "s",
                         all[i].kind, all[i].name, all[i].absent);
}

/* The number of `text` in names, which is added where it is new. */
static int number_of(fsim_arena *a, fsim_names *names, const char *text)
{
    const int known = fsim_names_get(names, text), fresh = names->count;
    if (known < 0)
        fsim_names_set(a, names, text, fresh);
    return known < 0 ? fresh : known;
}

/* The rows with each text. */
typedef struct {
    fsim_names names;
    int *first; /* by the text's number */
} firsts;

/* The first row that has this text, which may be row i. */
static int first_with(fsim_arena *a, firsts *f, const char *text, int i)
{
    const int before = f->names.count, k = number_of(a, &f->names, text);
    if (k == before)
        f->first[k] = i;
    return f->first[k];
}

/* Finds which rows share a graph, which of those a plan, and which of those everything that a prediction uses. */
static void sort_by_graph(fsim_bench *b, const int *hw, fsim_arena *a)
{
    const int count = b->rows->count;
    fsim_names graphs = {0};
    firsts plans = {.first = fsim_new(a, int, count + 1)}, all = {.first = fsim_new(a, int, count + 1)};
    int *graph = fsim_new(a, int, count + 1), *to = fsim_new(a, int, count + 1), *alike = fsim_new(a, int, count + 1),
        *next = fsim_new(a, int, count + 1);
    b->same = fsim_new(a, int, count + 1);
    b->plan = fsim_new(a, int, count + 1);
    b->order = fsim_new(a, int, count + 1);
    for (int i = 0; i < count; i++) {
        const fsim_measured *row = &b->rows->at[i];
        const char *set, *name = fsim_row_model(row, &set);
        graph[i] = number_of(a, &graphs, fsim_printf(a, "%d %s\n%s;%s", fsim_row_graph(row), name, set, row->set));
        b->plan[i] = first_with(a, &plans,
                                fsim_printf(a, "%d %d %d %d %d %d %s", graph[i], hw[i], (int)row->strategy,
                                            row->flash_2, (int)row->launch, (int)row->l2, row->source),
                                i);
        b->same[i] = first_with(
            a, &all,
            fsim_printf(a, "%d %d %d %s", b->plan[i], (int)row->mode, row->of_memory, row->kernel ? row->kernel : ""),
            i);
    }
    b->graphs = graphs.count;
    b->first = fsim_new(a, int, b->graphs + 2);
    for (int i = 0; i < count; i++)
        b->first[graph[i] + 1]++;
    for (int j = 0; j < b->graphs; j++) {
        b->first[j + 1] += b->first[j];
        to[j] = b->first[j];
    }
    for (int i = 0; i < count; i++)
        alike[b->plan[i]]++;
    for (int i = 0; i < count; i++) /* one plan after the other, in the order of their first rows */
        if (b->plan[i] == i) {
            next[i] = to[graph[i]];
            to[graph[i]] += alike[i];
        }
    for (int i = 0; i < count; i++)
        b->order[next[b->plan[i]]++] = i;
}

/* The workloads and GPUs of the rows, each once. */
typedef struct {
    named *gpu, *workload;
    int gpus, workloads;
    int *gpu_of; /* per row */
} row_names;

static bool is_beyond(const fsim_measured *row, fsim_arena *a)
{
    return row->mode == FSIM_MODE_STEP && fsim_step_of(row, a).beyond;
}

static row_names read_names(fsim_bench *b, fsim_arena *a, fsim_diag *d, const fsim_folders *where)
{
    const int count = b->rows->count;
    row_names n = {.gpu = fsim_new(a, named, count + 1),
                   .workload = fsim_new(a, named, count + 1),
                   .gpu_of = fsim_new(a, int, count + 1)};
    fsim_names gpu_names = {0}, workload_names = {0};
    fsim_hw **hw = fsim_new(a, fsim_hw *, count + 1);
    workload **of = fsim_new(a, workload *, count + 1);
    for (int i = 0; i < count; i++) {
        const fsim_measured *row = &b->rows->at[i];
        const char *name = fsim_row_model(row, NULL);
        const int h = number_of(a, &gpu_names, row->hw), w = number_of(a, &workload_names, name);
        if (h == n.gpus) {
            n.gpu[n.gpus++] = (named){.kind = "GPU", .name = row->hw, .at = row->at};
            hw[h] = read_hw(a, d, where, row, &n.gpu[h].absent);
        }
        if (w == n.workloads) {
            n.workload[n.workloads++] = (named){.kind = "workload", .name = name, .at = row->at};
            of[w] = read_workload(a, d, where, row, &n.workload[w].absent);
        }
        n.gpu[h].rows++;
        n.workload[w].rows++;
        n.gpu_of[i] = h;
        b->hw[i] = hw[h];
        b->of[i] = of[w];
        b->missing[i] = n.gpu[h].absent        ? fsim_exclusions[FSIM_EXCLUDED_GPU]
                        : n.workload[w].absent ? fsim_exclusions[FSIM_EXCLUDED_WORKLOAD]
                        : is_beyond(row, a)    ? fsim_exclusions[FSIM_EXCLUDED_TRAINING]
                                               : NULL;
    }
    return n;
}

fsim_bench *fsim_bench_of(fsim_arena *a, fsim_diag *d, const fsim_folders *where, const fsim_measurements *rows)
{
    fsim_bench *b = fsim_new(a, fsim_bench, 1);
    b->rows = rows;
    b->hw = fsim_new(a, fsim_hw *, rows->count + 1);
    b->of = fsim_new(a, workload *, rows->count + 1);
    b->missing = fsim_new(a, const char *, rows->count + 1);
    const row_names names = read_names(b, a, d, where);
    int left = 0;
    for (int i = 0; i < rows->count; i++)
        left += b->missing[i] == NULL;
    warn_of_absent(d, names.gpu, names.gpus);
    warn_of_absent(d, names.workload, names.workloads);
    if (left == 0 && rows->count > 0 && fsim_errors(d) == 0)
        fsim_failure(d, FSIM_NO_INPUT, rows->at[0].at,
                     "no row is left: none has both a GPU and a workload that were found");
    if (fsim_errors(d))
        return NULL;
    sort_by_graph(b, names.gpu_of, a);
    return b;
}

const char *fsim_bench_missing(const fsim_bench *b, int i) { return b->missing[i]; }

fsim_maker fsim_row_maker(const fsim_measured *row, const fsim_graph *g)
{
    const fsim_maker maker = fsim_maker_of(row->strategy),
                     ran = fsim_maker_named(row->source, g->servings > 0 ? FSIM_BY_ATEN : maker);
    return ran >= FSIM_BY_VLLM ? ran : fsim_maker_named(row->source, maker);
}

int fsim_bench_rows(const fsim_bench *b) { return b->rows->count; }

const fsim_measured *fsim_bench_row(const fsim_bench *b, int i) { return &b->rows->at[i]; }
const fsim_hw *fsim_bench_hw(const fsim_bench *b, int i) { return b->hw[i]; }

static const fsim_graph *parse_row(const fsim_bench *b, int i, fsim_diag *d, fsim_arena *a)
{
    const workload *w = b->of[i];
    const fsim_measured *row = &b->rows->at[i];
    fsim_binding *own = NULL;
    fsim_bindings how = {own, 0, fsim_row_derive(row)};
    fsim_step_run run;
    if (row->mode == FSIM_MODE_STEP) {
        run = fsim_step_of(row, a);
        how = (fsim_bindings){run.set, run.sets, &run.derive};
    } else {
        const char *set;
        fsim_row_model(row, &set);
        how.count = fsim_set_bindings(a, fsim_printf(a, "%s;%s", set, row->set), &own);
        how.at = own;
    }
    const fsim_workload_wanted wanted = {.set = how.at, .sets = how.count, .derive = how.derive};
    const fsim_graph *g =
        w->model ? fsim_graph_load(a, d, w->path, &wanted) : fsim_graph_of(a, d, w->path, w->document, &how);
    return g && g->nodes > 0 ? g : NULL;
}

const fsim_graph *fsim_bench_graph(const fsim_bench *b, int i, fsim_arena *a)
{
    return parse_row(b, i, fsim_diag_new(a), a);
}

void fsim_bench_refuse(const fsim_bench *b, int i, fsim_arena *a, fsim_diag *d)
{
    const fsim_measured *row = &b->rows->at[i];
    const int errors = fsim_errors(d);
    parse_row(b, i, d, a); /* again, for its diagnostics */
    if (fsim_errors(d) > errors)
        fsim_note(d, "in row '%s', %s:%d", row->id, row->at.file, row->at.line);
    else
        fsim_error(d, row->at, "row '%s' computes nothing: its operators are views", row->id);
}

/* Did a serving stack run it that has a call for it? Whatever strategy the row names, its kernels were the stack's. */
static bool by_stack(const fsim_measured *row, const fsim_graph *g)
{
    return g->servings > 0 && fsim_row_maker(row, g) >= FSIM_BY_VLLM;
}

/* The row's plan with fusesim's own kernels, or with the calls of the serving stack that ran it, for p's graph and GPU;
 * p becomes the problem that it solves. In a. */
static void plan_row(const fsim_measured *row, fsim_problem *p, fsim_arena *a, fsim_plan *out)
{
    enum { TRAINING_STEPS = 100000 }; /* of the search: joint graphs are large, and rows many */
    const fsim_options options = {.strategy = row->strategy,
                                  .regime = row->launch,
                                  .warm = fsim_row_is_warm(row),
                                  .search_steps = fsim_row_derive(row) ? TRAINING_STEPS : 0};
    fsim_proof proof;
    *p = fsim_problem_with(p->graph, p->hw, &options, p->store);
    if (by_stack(row, p->graph)) {
        fsim_baseline(p, row->strategy == FSIM_STRATEGY_SERVING ? FSIM_STRATEGY_SERVING : FSIM_STRATEGY_EAGER, a, out);
        fsim_calls_join(p, fsim_row_maker(row, p->graph), out, a);
    } else if (row->strategy == FSIM_STRATEGY_OPTIMAL)
        fsim_optimal(p, NULL, 0, a, out, &proof);
    else
        fsim_baseline(p, row->strategy, a, out);
    if (options.warm && out->kernels == 1) /* nothing comes between two runs */
        out->l2[0].replays = true;
}

void fsim_bench_plan(const fsim_bench *b, int i, const fsim_graph *g, fsim_arena *a, fsim_problem *p, fsim_plan *out)
{
    *p = (fsim_problem){.graph = g, .hw = b->hw[i], .store = fsim_store_new(a)};
    plan_row(&b->rows->at[i], p, a, out);
}

bool fsim_bench_kernels(const fsim_bench *b, int i, const fsim_graph *g, const fsim_plan *plan, int *from, int *to)
{
    const char *kernel = b->rows->at[i].kernel;
    *from = 0;
    *to = plan->kernels;
    if (!kernel || !*kernel)
        return true;
    fsim_arena *a = fsim_arena_new();
    const int n = fsim_find_node(g, fsim_strndup(a, kernel, strcspn(kernel, "+")));
    fsim_arena_free(a);
    for (int k = 0; k < plan->kernels; k++)
        for (int m = 0; m < plan->partition.part[k].count; m++)
            if (plan->partition.part[k].node[m] == n && !plan->partition.part[k].clone[m]) {
                *from = k;
                *to = k + 1;
                return true;
            }
    *to = 0;
    return false;
}

/* Kernels from..to of a plan, with what predictions use of a plan. */
static fsim_plan part_of_plan(const fsim_plan *plan, int from, int to)
{
    fsim_plan part = {.kernels = to - from, .kernel = plan->kernel + from};
    for (int k = from; k < to; k++) {
        part.time_s += plan->kernel[k].time_s;
        part.dram_read_bytes += plan->kernel[k].dram_read_bytes;
        part.dram_write_bytes += plan->kernel[k].dram_write_bytes;
    }
    return part;
}

/* What a thread has of its own, made once for all of its rows. */
typedef struct {
    fsim_arena *kept;            /* for what outlives its graph */
    fsim_arena *graph;           /* of the rows that are predicted now */
    fsim_arena *plan;            /* of the plan of some of these */
    fsim_arena *row;             /* of one prediction */
    struct fsim_store *store[2]; /* of rows whose kernels a strategy names, and of those that are searched for */
} workspace;

static workspace new_workspace(fsim_arena *a)
{
    return (workspace){fsim_arena_child(a),
                       fsim_arena_child(a),
                       fsim_arena_child(a),
                       fsim_arena_child(a),
                       {fsim_store_of_few(a), fsim_store_new(a)}};
}

/* The peak of memory, exact for the plan: it has no interval. */
static void predict_memory(const fsim_problem *p, const fsim_plan *plan, const fsim_measured *row, fsim_arena *a,
                           fsim_evaluated *out)
{
    out->predicted_s = fsim_bench_memory(row, p->graph, p->hw, fsim_row_peak(p->graph, plan, row, a));
    out->low_s = out->high_s = out->predicted_s;
    out->dram_read_bytes = out->dram_write_bytes = NAN;
    out->kernels = plan->kernels;
}

/* The plan of the rows like row `of`. */
typedef struct {
    int of; /* -1: there is none yet */
    const fsim_graph *graph;
    fsim_problem problem;
    fsim_plan own, plan; /* with our kernels, and with those of the rows' software */
} planned;

/* Plans row i anew. In mine->plan and a store of mine, until the next row is planned. */
static planned planned_row(const fsim_bench *b, int i, const fsim_graph *g, const workspace *mine)
{
    const fsim_measured *row = &b->rows->at[i];
    const fsim_hw *hw = b->hw[i];
    fsim_arena *a = mine->plan;
    fsim_rewind(a, (fsim_mark){NULL, 0});
    if (row->strategy == FSIM_STRATEGY_EAGER || row->strategy == FSIM_STRATEGY_INDUCTOR)
        g = fsim_sdpa_graph(g, hw, fsim_row_maker(row, g), a);
    fsim_problem p = {.graph = g, .hw = hw, .store = mine->store[row->strategy == FSIM_STRATEGY_OPTIMAL]};
    fsim_plan own;
    fsim_store_clear(p.store);
    plan_row(row, &p, a, &own);
    const fsim_plan theirs = fsim_plan_of_row(row, fsim_row_maker(row, g), &p, &own, a);
    return (planned){b->plan[i], g, p, own, theirs};
}

/* What Liger's benchmark measures of it, in a prediction of the device's time. */
static void take_benched(const fsim_benched *b, fsim_evaluated *out)
{
    const bool known = out->predicted_s > 0;
    out->low_s = known ? out->low_s * (b->s / out->predicted_s) : b->s;
    out->high_s = known ? out->high_s * (b->s / out->predicted_s) : b->s;
    out->predicted_s = b->s;
    out->dram_read_bytes = b->read_bytes;
    out->dram_write_bytes = b->write_bytes;
    out->kernels = b->kernels;
    memset(out->unit_s, 0, sizeof out->unit_s);
    out->unit_s[FSIM_DRAM] = fmin(b->dram_s, b->device_s);
    out->unit_s[FSIM_LATENCY] = b->device_s - out->unit_s[FSIM_DRAM];
    out->unit_s[FSIM_LAUNCH] = b->s - b->device_s;
}

static void predict_row(const fsim_bench *b, int i, planned *by, const workspace *mine, fsim_evaluated *out)
{
    const fsim_measured *row = &b->rows->at[i];
    const fsim_hw *hw = b->hw[i];
    const fsim_graph *g = by->graph;
    fsim_arena *a = mine->row;
    fsim_plan plan = by->plan;
    int from = 0, to = plan.kernels;
    out->predicted_s = out->low_s = out->high_s = out->dram_read_bytes = out->dram_write_bytes = NAN;
    out->class = fsim_work_class_of(g);
    out->mixed = !row->of_memory && !fsim_ran_liger(row) && fsim_mode_mixed(g, &plan, row->mode);
    if (out->mixed || !fsim_bench_kernels(b, i, g, &plan, &from, &to))
        return;
    if (row->of_memory) {
        predict_memory(&by->problem, &plan, row, a, out);
        return;
    }
    const fsim_software software = {g, hw, row->launch, fsim_row_maker(row, g)};
    fsim_kernel alone;
    plan = part_of_plan(&plan, from, to);
    if (fsim_row_is_alone(row)) {
        alone = fsim_time_alone(row, &software, &by->problem, &by->own, from, a);
        if (alone.time_s <= 0)
            return;
        plan = part_of_plan(&(fsim_plan){.kernels = 1, .kernel = &alone}, 0, 1);
    }
    if (row->mode != FSIM_MODE_NONE) {
        plan = fsim_mode_kernels(g, &plan, row->mode, a);
        plan = part_of_plan(&plan, 0, plan.kernels);
    }
    out->predicted_s = row->mode == FSIM_MODE_STEP
                           ? fsim_step_row_seconds(g, &plan, row, hw, a)
                           : fsim_row_seconds(row, plan.kernel, plan.kernels, fsim_row_maker(row, g), hw);
    out->errors = fsim_errors_of(&software, &plan, mine->kept);
    fsim_host_errors(&plan, &software, out->predicted_s, &out->errors);
    const fsim_interval sure = fsim_time_interval(&out->errors, out->predicted_s);
    out->low_s = sure.low;
    out->high_s = sure.high;
    out->dram_read_bytes = (double)plan.dram_read_bytes;
    out->dram_write_bytes = (double)plan.dram_write_bytes;
    out->kernels = plan.kernels;
    double units = 0;
    const double passes = row->mode == FSIM_MODE_STEP ? out->predicted_s / fmax(plan.time_s, FSIM_TICK_S) : 1;
    for (int k = 0; k < plan.kernels; k++)
        for (int u = FSIM_DRAM; u < FSIM_UNIT_COUNT; u++) {
            out->unit_s[u] += passes * plan.kernel[k].time[u];
            units += passes * plan.kernel[k].time[u];
        }
    out->unit_s[FSIM_LAUNCH] = out->predicted_s - units;
    if (fsim_is_benched(row)) {
        const fsim_benched measured = fsim_bench_seconds(row, g, hw, &plan);
        take_benched(&measured, out);
    }
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        out->bound = out->unit_s[u] > out->unit_s[out->bound] ? (fsim_unit)u : out->bound;
}

typedef struct {
    const fsim_bench *b;
    fsim_evaluated *out;
    workspace *of;  /* one a thread */
    atomic_int bad; /* 1 + the lowest row whose workload is not valid; 0: none */
} work;

static void note_bad(work *w, int row)
{
    for (int bad = atomic_load(&w->bad);
         (bad == 0 || bad > row + 1) && !atomic_compare_exchange_weak(&w->bad, &bad, row + 1);)
        ;
}

/* A row without a prediction. */
static fsim_evaluated not_predicted(const fsim_measured *row, const char *why)
{
    return (fsim_evaluated){.row = row,
                            .predicted_s = NAN,
                            .low_s = NAN,
                            .high_s = NAN,
                            .dram_read_bytes = NAN,
                            .dram_write_bytes = NAN,
                            .compulsory_bytes = NAN,
                            .bus_s = NAN,
                            .class = FSIM_WORK_UNKNOWN,
                            .excluded = why};
}

/* Predicts the rows of graph j. */
static void evaluate_graph(work *w, int j, const workspace *mine)
{
    const fsim_bench *b = w->b;
    const int *row = &b->order[b->first[j]], rows = b->first[j + 1] - b->first[j];
    const fsim_mark empty = fsim_save(mine->graph);
    const bool here = b->missing[row[0]] != fsim_exclusions[FSIM_EXCLUDED_WORKLOAD] &&
                      (b->of[row[0]]->model || b->of[row[0]]->document);
    const fsim_graph *g = here ? fsim_bench_graph(b, row[0], mine->graph) : NULL;
    const char *why = NULL;
    planned plan = {.of = -1};
    double read = 0, written = 0;
    if (g && b->rows->at[row[0]].mode == FSIM_MODE_NONE) /* of a part of a graph, it is not known */
        fsim_compulsory(g, &read, &written);
    else if (!g && here && fsim_row_derive(&b->rows->at[row[0]]))
        why = fsim_exclusions[FSIM_EXCLUDED_GRADIENT];
    else if (!g && here)
        note_bad(w, row[0]);
    for (int k = 0; k < rows; k++) {
        const int i = row[k];
        fsim_evaluated *out = &w->out[i];
        if (!g || b->missing[i]) {
            *out = not_predicted(&b->rows->at[i], why ? why : b->missing[i]);
            continue;
        }
        if (b->same[i] == i) {
            const fsim_mark scratch = fsim_save(mine->row);
            *out = (fsim_evaluated){.predicted_s = NAN};
            if (plan.of != b->plan[i])
                plan = planned_row(b, i, g, mine);
            predict_row(b, i, &plan, mine, out);
            fsim_rewind(mine->row, scratch);
        } else {
            *out = w->out[b->same[i]];
            out->excluded = NULL;
        }
        out->row = &b->rows->at[i];
        fsim_judge_row(b->hw[i], out->row, read, written, out);
    }
    fsim_rewind(mine->graph, empty);
}

static void evaluate_item(void *to, int j, int worker)
{
    work *w = to;
    evaluate_graph(w, j, &w->of[worker]);
}

bool fsim_evaluate(const fsim_bench *b, int jobs, fsim_arena *a, fsim_diag *d, fsim_evaluated *out)
{
    work w = {.b = b, .out = out, .of = fsim_new(a, workspace, jobs)};
    for (int i = 0; i < jobs; i++)
        w.of[i] = new_workspace(a);
    fsim_in_parallel(jobs, b->graphs, evaluate_item, &w);
    const int bad = atomic_load(&w.bad) - 1;
    if (bad >= 0)
        fsim_bench_refuse(b, bad, a, d);
    return bad < 0;
}
