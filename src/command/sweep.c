/* SPDX-License-Identifier: Apache-2.0 */
/* sweep: the plans of a workload for many values of its symbols, of a GPU's keys, and of ways to launch. */
#include "command/command.h"

#include "base/memory.h"
#include "base/names.h"
#include "command/sweep_kept.h"
#include "command/sweep_points.h"
#include "graph/find.h"
#include "import/load.h"
#include "plan/price/groups.h"
#include "report/versus.h"
#include <string.h>

/* A sweep's inputs. What no axis says is as the command line has it. */
typedef struct {
    fsim_context *c;
    fsim_inputs in;
    fsim_sweep out;
    fsim_workload_wanted how;
    const char *path, *text; /* text NULL: a model, which is read for each point */
    size_t bytes;
    const fsim_yaml *tree; /* of the text, where no option changes what it says; NULL */
    int variants;          /* combinations of the values of the axes of hardware */
    fsim_hw **hw;          /* [GPU * variants + combination] */
    const char **kernels;  /* the groups of each point's plan, as text; NULL: no plan */
    fsim_arena **worker;
    fsim_kept kept;
    fsim_tasks *progress;
    int each; /* points that one thread plans one after the other: of one workload, on each GPU */
} sweep;

enum { FEWEST_TASKS = 4 }; /* of each thread; where they were fewer, some thread would wait for others */

/* Has the direction an axis of hardware? */
static bool has_hw(const fsim_grid *g, int direction)
{
    bool has = false;
    for (int i = 0; i < g->axes; i++)
        has = has || (g->axis[i].kind == FSIM_OVER_HW && g->axis[i].along == direction);
    return has;
}

/* The combination of hardware values of a point. */
static int variant_of(const fsim_sweep *x, const fsim_sweep_point *p)
{
    int at = 0;
    for (int k = 0; k < x->grid.directions; k++)
        if (has_hw(&x->grid, k))
            at = at * x->grid.length[k] + fsim_grid_step(&x->grid, p->number / x->gpus, k);
    return at;
}

/* "3/8": the fourth of eight parts. */
static bool read_shard(fsim_context *c, fsim_shard *out)
{
    const char *text = c->set.shard;
    char left;
    *out = (fsim_shard){0, 1};
    if (!text)
        return true;
    if (sscanf(text, "%d/%d%c", &out->number, &out->of, &left) != 2 || out->of < 1 || out->of > FSIM_MOST_SHARDS ||
        out->number < 0 || out->number >= out->of)
        fsim_error(c->diag, fsim_command_line, "--shard '%s': wanted I/N: the part I of N, from 0/N to N-1/N", text);
    if (!c->set.output || fsim_is_stdout(c->set.output))
        fsim_error(c->diag, fsim_command_line, "--shard belongs to -o FILE, which 'fusesim merge' reads");
    if (c->set.find || c->set.under.count)
        fsim_error(c->diag, fsim_command_line, "--find looks at all points: say it to 'fusesim merge'");
    return fsim_errors(c->diag) == 0;
}

static bool read_axes(sweep *s)
{
    fsim_context *c = s->c;
    fsim_sweep *x = &s->out;
    *x = (fsim_sweep){.strategy = (fsim_strategy)c->set.strategy, .gpus = c->set.hw.count};
    if (c->set.over.count == 0)
        fsim_error(c->diag, fsim_command_line, "sweep wants --over NAME=VALUES: what varies, e.g. --over B=1:256:x2");
    if (c->set.resume && (!c->set.output || fsim_is_stdout(c->set.output)))
        fsim_error(c->diag, fsim_command_line, "--resume belongs to -o FILE, whose points are kept in FILE.part");
    const fsim_grid_texts texts = {c->set.over.at, c->set.zip.at, c->set.over.count, c->set.zip.count};
    if (!fsim_grid_read(c->arena, c->diag, &texts, &x->grid))
        return false;
    if ((int64_t)x->grid.combinations * x->gpus > FSIM_MOST_POINTS)
        fsim_error(c->diag, fsim_command_line, "--over: more than %d points", FSIM_MOST_POINTS);
    if (fsim_errors(c->diag) == 0)
        fsim_sweep_limits_read(c->arena, c->diag, c->set.find, c->set.under.at, c->set.under.count, x);
    return fsim_errors(c->diag) == 0 && read_shard(c, &s->kept.shard);
}

/* Is each value of an axis of words one of them? what: "way to launch". */
static void check_words(fsim_context *c, const fsim_over *axis, const char *what, const char *const *words, int count)
{
    const char *known = "";
    for (int i = 0; i < count; i++)
        known = fsim_printf(c->arena, "%s%s%s", known, i == 0 ? "" : i == count - 1 ? " or " : ", ", words[i]);
    for (int k = 0; k < axis->values; k++)
        if (!fsim_among(axis->value[k], words, count))
            fsim_error(c->diag, fsim_command_line, "--over: '%s' is no %s; it may be %s%s", axis->value[k], what, known,
                       fsim_did_you_mean(c->arena, axis->value[k], words, count));
}

/* Has the workload the symbol, and does nothing else set it? */
static void check_symbol(fsim_context *c, const fsim_graph *g, const char *symbol)
{
    const char **name = fsim_new(c->arena, const char *, g->symbols + 1);
    bool known = false;
    for (int i = 0; i < g->symbols; i++) {
        name[i] = g->symbol[i].name;
        known = known || strcmp(name[i], symbol) == 0;
    }
    if (!known)
        fsim_error(c->diag, fsim_command_line, "--over: '%s' has no symbol '%s'%s", g->name, symbol,
                   fsim_did_you_mean(c->arena, symbol, name, g->symbols));
    const fsim_binding *set = fsim_command_bindings(c);
    for (int i = 0; i < c->set.set.count; i++)
        if (strcmp(set[i].name, symbol) == 0)
            fsim_error(c->diag, fsim_command_line, "--over and %s both say %s",
                       c->set.dim.count ? "--dim or --set" : "--set", symbol);
}

/* The GPUs with each combination of the axes' values. */
static void read_variants(sweep *s)
{
    fsim_context *c = s->c;
    const fsim_grid *grid = &s->out.grid;
    s->variants = 1;
    for (int k = 0; k < grid->directions; k++)
        s->variants *= has_hw(grid, k) ? grid->length[k] : 1;
    s->hw = fsim_new(c->arena, fsim_hw *, s->out.gpus * s->variants + 1);
    for (int g = 0; g < s->out.gpus; g++)
        for (int v = 0; v < s->variants && fsim_errors(c->diag) == 0; v++) {
            fsim_hw_wanted how = fsim_wanted_hw(c);
            const char **change = fsim_new(c->arena, const char *, how.changes + grid->axes + 1);
            for (int i = 0; i < how.changes; i++)
                change[i] = how.change[i];
            for (int k = grid->directions - 1, rest = v; k >= 0; k--) {
                for (int i = 0; i < grid->axes; i++)
                    if (grid->axis[i].kind == FSIM_OVER_HW && grid->axis[i].along == k)
                        change[how.changes++] = fsim_printf(c->arena, "%s=%s", grid->axis[i].name + strlen("hw."),
                                                            grid->axis[i].value[rest % grid->length[k]]);
                rest /= has_hw(grid, k) ? grid->length[k] : 1;
            }
            how.change = change;
            s->hw[g * s->variants + v] = fsim_hw_load(c->arena, c->diag, c->set.hw.at[g], &how);
        }
}

/* The first error, without its place. */
static const char *reason_of(fsim_diag *d, fsim_arena *a)
{
    fsim_diagnostic *list = NULL;
    const int count = fsim_diag_list(d, a, &list);
    for (int i = 0; i < count; i++)
        if (list[i].severity == FSIM_ERROR)
            return list[i].message;
    return "it can't be planned";
}

/* The workload at a point. NULL after an error in d. In a. */
static const fsim_graph *workload_at(const sweep *s, const fsim_sweep_point *p, fsim_diag *d, fsim_arena *a)
{
    const fsim_grid *grid = &s->out.grid;
    fsim_workload_wanted how = s->how;
    fsim_binding *set = fsim_new(a, fsim_binding, how.sets + grid->axes + 1);
    for (int k = 0; k < how.sets; k++)
        set[k] = how.set[k];
    for (int k = 0; k < grid->axes; k++)
        if (grid->axis[k].kind == FSIM_OVER_SYMBOL)
            set[how.sets++] = (fsim_binding){grid->axis[k].name, p->value[k]};
    how.set = set;
    if (s->tree)
        return fsim_graph_of(a, d, s->path, s->tree, &(fsim_bindings){how.set, how.sets, how.derive});
    return s->text ? fsim_graph_load_text(a, d, s->path, s->text, s->bytes, &how)
                   : fsim_graph_load(a, d, s->path, &how);
}

/* The plan's groups as a text, by which plans are told apart. */
static const char *groups_text(const fsim_plan *plan, fsim_arena *scratch, fsim_arena *a)
{
    fsim_memory text;
    char hex[65];
    size_t bytes;
    FILE *out = fsim_memory_begin(&text);
    for (int k = 0; k < plan->kernels; k++) {
        for (int i = 0; i < plan->partition.part[k].count; i++)
            fprintf(out, "%s\t", plan->graph->node[plan->partition.part[k].node[i]].name);
        putc('\n', out);
    }
    const char *whole = fsim_memory_end(&text, scratch, &bytes);
    fsim_sha256(whole, bytes, hex);
    return fsim_strdup(a, hex);
}

static void keep(sweep *s, int i, const fsim_prediction *p, fsim_arena *scratch, fsim_arena *a)
{
    const fsim_plan *plan = &p->plan[p->chosen];
    const fsim_verdict v = fsim_verdict_of(p);
    fsim_sweep_point *out = &s->out.point[i];
    if (plan->kernels == 0) {
        out->reason = "the strategy has no plan for it";
        return;
    }
    out->planned = true;
    out->time_s = plan->time_s;
    out->eager_s = p->plan[FSIM_STRATEGY_EAGER].time_s;
    out->likely = fsim_likely_time(p, fsim_plan_of(p, p->chosen), scratch);
    out->speedup = fsim_speedup(p, p->chosen);
    out->kernels = plan->kernels;
    out->read_bytes = plan->dram_read_bytes;
    out->write_bytes = plan->dram_write_bytes;
    out->peak_bytes = plan->peak_memory_bytes;
    out->fits = fsim_plan_fits(p, p->chosen);
    out->proven = v.proven;
    out->gap = v.gap;
    s->kernels[i] = groups_text(plan, scratch, a);
}

/* How a point is planned: as the command line says, but for the axes of words. */
static fsim_options options_at(const sweep *s, const fsim_sweep_point *p)
{
    const fsim_grid *grid = &s->out.grid;
    fsim_options how = s->in.how;
    how.brief = true;
    how.strategy = p->strategy;
    for (int k = 0; k < grid->axes; k++)
        for (int r = 0; r < FSIM_REGIME_COUNT && grid->axis[k].kind == FSIM_OVER_LAUNCH; r++)
            if (strcmp(p->value[k], fsim_regime_names[r]) == 0)
                how.regime = (fsim_regime)r;
    return how;
}

/* The workload with the values of some points, and the groups of its primitives, which all GPUs share. */
typedef struct {
    const fsim_graph *graph; /* NULL after an error in diag */
    fsim_diag *diag;
    fsim_groups *groups;
} common;

static bool is_done(const fsim_sweep_point *p) { return p->planned || p->reason; }

static void plan_point(sweep *s, int i, const common *of, fsim_arena *keeper)
{
    const fsim_sweep *x = &s->out;
    fsim_sweep_point *out = &s->out.point[i];
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = of->graph ? fsim_diag_new(a) : of->diag;
    fsim_options how = options_at(s, out);
    how.groups = of->groups;
    const fsim_hw *hw = s->hw[out->number % x->gpus * s->variants + variant_of(x, out)];
    if (of->graph && of->graph->nodes > 0 && fsim_plannable(of->graph, hw, &how, d, a)) {
        const fsim_prediction now = fsim_predict(of->graph, hw, &how, a);
        if (!now.interrupted)
            keep(s, i, &now, a, keeper);
    } else {
        out->reason = fsim_strdup(keeper, reason_of(d, a));
    }
    if (is_done(out))
        fsim_kept_add(&s->kept, out, s->kernels[i], a);
    fsim_arena_free(a);
    fsim_task_done(s->progress);
}

/* Points that differ in nothing but the GPU. */
static void plan_points(void *to, int task, int worker)
{
    sweep *s = to;
    const int first = task * s->each, end = first + s->each;
    common of = {0};
    fsim_arena *a = NULL;
    for (int i = first; i < end; i++) {
        if (fsim_is_set(s->in.how.interrupted) || is_done(&s->out.point[i]))
            continue;
        if (!a) {
            a = fsim_arena_new();
            of.diag = fsim_diag_new(a);
            of.graph = workload_at(s, &s->out.point[i], of.diag, a);
            of.groups = of.graph && s->each > 1 ? fsim_groups_new(of.graph, a) : NULL;
        }
        plan_point(s, i, &of, s->worker[worker]);
    }
    fsim_arena_free(a);
}

/* A digest of all that the points depend on. */
static const char *digest_of(const sweep *s, char hex[65])
{
    fsim_context *c = s->c;
    const fsim_settings *o = &c->set;
    const char *why = "", *path = s->path;
    fsim_memory text;
    size_t bytes;
    FILE *out = fsim_memory_begin(&text);
    fprintf(out, FUSESIM_VERSION " %d %d %d %d %a %lld %lld %lld %d\n", o->strategy, o->objective, o->launch,
            o->numerics, o->time_limit_s, (long long)o->search_steps, (long long)o->search_memory, (long long)o->scale,
            o->l2);
    fprintf(out, "%s\n%s\n", s->in.how.typed.options, fsim_set_text(c));
    for (int i = 0; i < o->over.count; i++)
        fprintf(out, "%s\n", o->over.at[i]);
    for (int i = 0; i < o->zip.count; i++)
        fprintf(out, "zip %s\n", o->zip.at[i]);
    for (int i = 0; i < s->out.gpus * s->variants; i++)
        fsim_json_hw(out, s->hw[i]);
    fsim_mapped *file = s->text ? NULL : fsim_map_file(c->arena, path, &why);
    fwrite(file ? file->text : s->text ? s->text : "", 1, file ? file->bytes : s->bytes, out);
    fsim_unmap(file);
    const char *whole = fsim_memory_end(&text, c->arena, &bytes);
    fsim_sha256(whole, bytes, hex);
    return hex;
}

/* What does a swept symbol have to do with the command line? */
static void check_axis(sweep *s, const fsim_over *axis)
{
    fsim_context *c = s->c;
    if (axis->kind == FSIM_OVER_SYMBOL)
        check_symbol(c, s->in.graph, axis->name);
    if (axis->kind == FSIM_OVER_LAUNCH)
        check_words(c, axis, "way to launch", fsim_regime_names, FSIM_REGIME_COUNT);
    if (axis->kind == FSIM_OVER_STRATEGY)
        check_words(c, axis, "strategy", fsim_strategy_names, FSIM_STRATEGY_COUNT);
}

/* A model has no default of a dimension: it is read at the first point. */
static void bind_first(sweep *s)
{
    fsim_context *c = s->c;
    const fsim_grid *grid = &s->out.grid;
    const char *value[FSIM_MOST_AXES];
    if (!fsim_grid_values(c->arena, c->diag, grid, 0, value))
        return;
    for (int i = 0; i < grid->axes; i++)
        if (grid->axis[i].kind == FSIM_OVER_SYMBOL)
            *FSIM_PUSH(c->arena, c->set.set.at, c->set.set.count, c->set.set.room) =
                fsim_printf(c->arena, "%s=%s", grid->axis[i].name, value[i]);
}

/* Everything that can be wrong, before any work. Returns an exit status. */
static int begin(sweep *s)
{
    fsim_context *c = s->c;
    if (!read_axes(s))
        return fsim_usage_status(c);
    s->path = fsim_workload_find(c->arena, c->args.at[0], c->workload_folder);
    if (fsim_is_stdout(s->path)) {
        fsim_error(c->diag, fsim_command_line, "sweep reads its workload for every point: wanted a file, not stdin");
        return fsim_usage_status(c);
    }
    const bool model = fsim_is_model(c->arena, s->path);
    const int typed = c->set.set.count;
    if (model)
        bind_first(s);
    const int status = fsim_read_inputs(c, &s->in);
    if (status)
        return status;
    c->set.set.count = typed;
    s->how = fsim_wanted_workload(c);
    s->out.workload = s->in.graph->name;
    for (int i = 0; i < s->out.grid.axes; i++)
        check_axis(s, &s->out.grid.axis[i]);
    read_variants(s);
    if (!model && fsim_errors(c->diag) == 0)
        s->text = fsim_read_text(c, "workload", s->path, &s->bytes);
    if (s->text && s->how.scale <= 1 && !s->how.precision)
        s->tree = fsim_tree_load_text(c->arena, c->diag, s->path, s->text, s->bytes, &(fsim_workload_wanted){0}).yaml;
    if (fsim_errors(c->diag) == 0) {
        const char **gpu = fsim_new(c->arena, const char *, s->out.gpus + 1);
        for (int g = 0; g < s->out.gpus; g++)
            gpu[g] = s->hw[g * s->variants]->name;
        s->out.gpu = gpu;
        fsim_sweep_lay_out(c, &s->kept.shard, &s->out);
        s->kernels = fsim_new(c->arena, const char *, s->out.points + 1);
    }
    return fsim_conclude(c, FSIM_EXIT_OK);
}

/* Is there a reason at each point why it has no plan? */
static bool has_no_plan(const fsim_sweep *x)
{
    bool none = x->points > 0;
    for (int i = 0; i < x->points; i++)
        none = none && x->point[i].reason;
    return none;
}

int fsim_run_sweep(fsim_context *c)
{
    sweep s = {.c = c};
    int status = begin(&s);
    if (status || (status = fsim_open_outputs_and(c, "-o", c->set.output)))
        return status;
    char hex[65];
    const char *head = fsim_kept_head(c, &s.kept.shard, digest_of(&s, hex), &s.out);
    if (!fsim_kept_open(&s.kept, c, head, &s.out, s.kernels))
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    fsim_catch_interrupt();
    const int jobs = fsim_searches_at_once(c);
    s.worker = fsim_arena_children(c->arena, jobs);
    s.progress = fsim_new_tasks(c, "points", s.kept.known, s.out.points);
    s.each = s.out.points >= FEWEST_TASKS * jobs * s.out.gpus || jobs == 1 ? s.out.gpus : 1;
    fsim_in_parallel(jobs, s.out.points / s.each, plan_points, &s);
    fsim_tasks_end(s.progress);
    s.out.interrupted = fsim_interrupted_status() != FSIM_EXIT_OK;
    fsim_sweep_conclude(&s.out, s.kernels, c->arena);
    if (c->own && c->set.shard)
        fsim_shard_write(fsim_stream(c->own), head, &s.out, s.kernels);
    else if (c->own)
        fsim_sweep_write(fsim_stream(c->own), c->set.output, &s.out);
    const bool done = !c->set.shard || !s.out.interrupted, written = done && fsim_commit_own(c, c->set.output);
    if (!fsim_kept_end(&s.kept, c, written && !s.out.interrupted) || (done && !written))
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    if (!done)
        return fsim_give_up_outputs(c, fsim_interrupted_status());
    s.out.written = c->set.output && !fsim_is_stdout(c->set.output) ? c->set.output : NULL;
    status = fsim_deliver(c, &s.out);
    if (!status && !s.out.interrupted && has_no_plan(&s.out))
        status = FSIM_EXIT_BAD_INPUT;
    return status ? status : fsim_interrupted_status();
}
