/* SPDX-License-Identifier: Apache-2.0 */
/* sweep: the plans of a workload for many values of its symbols, of a GPU's keys, and of ways to launch. */
#include "command/command.h"

#include "base/memory.h"
#include "base/names.h"
#include "command/sweep_kept.h"
#include "graph/find.h"
#include "import/load.h"
#include "report/sweep.h"
#include "report/versus.h"
#include <string.h>

enum { MOST_POINTS = 1000000 };

/* A sweep's inputs. What no axis says is as the command line has it. */
typedef struct {
    fsim_context *c;
    fsim_inputs in;
    fsim_sweep out;
    fsim_workload_wanted how;
    const char *path, *text; /* text NULL: a model, which is read for each point */
    size_t bytes;
    int variants;         /* combinations of the values of the axes of hardware */
    fsim_hw **hw;         /* [GPU * variants + combination] */
    const char **kernels; /* the groups of each point's plan, as text; NULL: no plan */
    fsim_arena **worker;
    fsim_kept kept;
} sweep;

static int index_on(const fsim_sweep *x, int point, int axis)
{
    int rest = point / x->gpus;
    for (int i = x->axes - 1; i > axis; i--)
        rest /= x->axis[i].values;
    return rest % x->axis[axis].values;
}

/* The combination of hardware values of a point. */
static int variant_of(const fsim_sweep *x, int point)
{
    int at = 0;
    for (int i = 0; i < x->axes; i++)
        if (x->axis[i].kind == FSIM_OVER_HW)
            at = at * x->axis[i].values + index_on(x, point, i);
    return at;
}

static bool read_axes(fsim_context *c, fsim_sweep *x)
{
    fsim_over *axis = fsim_new(c->arena, fsim_over, FSIM_MOST_AXES);
    int64_t points = c->set.hw.count;
    if (c->set.over.count == 0)
        fsim_error(c->diag, fsim_command_line, "sweep wants --over NAME=VALUES: what varies, e.g. --over B=1:256:x2");
    if (c->set.resume && (!c->set.output || fsim_is_stdout(c->set.output)))
        fsim_error(c->diag, fsim_command_line, "--resume belongs to -o FILE, whose points are kept in FILE.part");
    if (c->set.over.count > FSIM_MOST_AXES)
        fsim_error(c->diag, fsim_command_line, "--over: at most %d of them", FSIM_MOST_AXES);
    for (int i = 0; i < c->set.over.count && i < FSIM_MOST_AXES; i++) {
        if (!fsim_over_read(c->arena, c->diag, c->set.over.at[i], &axis[i]))
            continue;
        for (int k = 0; k < i; k++)
            if (axis[k].name && strcmp(axis[k].name, axis[i].name) == 0)
                fsim_error(c->diag, fsim_command_line, "--over names '%s' twice", axis[i].name);
        points = points > MOST_POINTS ? points : points * axis[i].values;
    }
    if (points > MOST_POINTS)
        fsim_error(c->diag, fsim_command_line, "--over: more than %d points", MOST_POINTS);
    int find = -1;
    for (int i = 0; i < c->set.over.count && i < FSIM_MOST_AXES && c->set.find; i++)
        find = axis[i].name && strcmp(axis[i].name, c->set.find) == 0 ? i : find;
    if (c->set.find && find < 0 && fsim_errors(c->diag) == 0)
        fsim_error(c->diag, fsim_command_line, "--find: no --over varies '%s'", c->set.find);
    if (!c->set.find != (c->set.under.count == 0))
        fsim_error(c->diag, fsim_command_line, "--find NAME and --under METRIC=LIMIT belong together");
    fsim_gate *limit = fsim_new(c->arena, fsim_gate, c->set.under.count + 1);
    for (int i = 0; i < c->set.under.count; i++)
        (void)fsim_gate_read(c->arena, c->diag, c->set.under.at[i], &fsim_sweep_limits, &limit[i]);
    *x = (fsim_sweep){.find = find,
                      .limit = limit,
                      .limits = c->set.under.count,
                      .axis = axis,
                      .axes = c->set.over.count,
                      .strategy = (fsim_strategy)c->set.strategy,
                      .gpus = c->set.hw.count,
                      .points = (int)points};
    return fsim_errors(c->diag) == 0;
}

/* Is each value of an axis of launch modes one? */
static void check_launches(fsim_context *c, const fsim_over *axis)
{
    for (int k = 0; k < axis->values; k++)
        if (!fsim_among(axis->value[k], fsim_regime_names, FSIM_REGIME_COUNT))
            fsim_error(c->diag, fsim_command_line, "--over: '%s' is no way to launch; it may be %s, %s, %s or %s%s",
                       axis->value[k], fsim_regime_names[0], fsim_regime_names[1], fsim_regime_names[2],
                       fsim_regime_names[3],
                       fsim_did_you_mean(c->arena, axis->value[k], fsim_regime_names, FSIM_REGIME_COUNT));
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
    fsim_sweep *x = &s->out;
    s->variants = 1;
    for (int i = 0; i < x->axes; i++)
        s->variants *= x->axis[i].kind == FSIM_OVER_HW ? x->axis[i].values : 1;
    s->hw = fsim_new(c->arena, fsim_hw *, x->gpus * s->variants + 1);
    for (int g = 0; g < x->gpus; g++)
        for (int v = 0; v < s->variants && fsim_errors(c->diag) == 0; v++) {
            fsim_hw_wanted how = fsim_wanted_hw(c);
            const char **change = fsim_new(c->arena, const char *, how.changes + x->axes + 1);
            for (int i = 0; i < how.changes; i++)
                change[i] = how.change[i];
            for (int i = x->axes - 1, rest = v; i >= 0; i--) {
                const fsim_over *axis = &x->axis[i];
                if (axis->kind != FSIM_OVER_HW)
                    continue;
                change[how.changes++] =
                    fsim_printf(c->arena, "%s=%s", axis->name + strlen("hw."), axis->value[rest % axis->values]);
                rest /= axis->values;
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
static const fsim_graph *workload_at(const sweep *s, int i, fsim_diag *d, fsim_arena *a)
{
    const fsim_sweep *x = &s->out;
    fsim_workload_wanted how = s->how;
    fsim_binding *set = fsim_new(a, fsim_binding, how.sets + x->axes + 1);
    for (int k = 0; k < how.sets; k++)
        set[k] = how.set[k];
    for (int k = 0; k < x->axes; k++)
        if (x->axis[k].kind == FSIM_OVER_SYMBOL)
            set[how.sets++] = (fsim_binding){x->axis[k].name, x->point[i].value[k]};
    how.set = set;
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

static void plan_point(void *to, int i, int worker)
{
    sweep *s = to;
    const fsim_sweep *x = &s->out;
    fsim_sweep_point *out = &s->out.point[i];
    if (fsim_is_set(s->in.how.interrupted) || out->planned || out->reason)
        return;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    fsim_options how = s->in.how;
    how.brief = true;
    for (int k = 0; k < x->axes; k++)
        for (int r = 0; r < FSIM_REGIME_COUNT && x->axis[k].kind == FSIM_OVER_LAUNCH; r++)
            if (strcmp(out->value[k], fsim_regime_names[r]) == 0)
                how.regime = (fsim_regime)r;
    const fsim_hw *hw = s->hw[i % x->gpus * s->variants + variant_of(x, i)];
    const fsim_graph *g = workload_at(s, i, d, a);
    if (g && g->nodes > 0 && fsim_plannable(g, hw, &how, d, a)) {
        const fsim_prediction now = fsim_predict(g, hw, &how, a);
        if (!now.interrupted)
            keep(s, i, &now, a, s->worker[worker]);
    } else {
        out->reason = fsim_strdup(s->worker[worker], reason_of(d, a));
    }
    if (out->planned || out->reason)
        fsim_kept_add(&s->kept, i, out, s->kernels[i], a);
    fsim_arena_free(a);
}

/* The points with their values, and numbers for their plans in the order in which they come. */
static void lay_out(sweep *s)
{
    fsim_arena *a = s->c->arena;
    fsim_sweep *x = &s->out;
    x->point = fsim_new(a, fsim_sweep_point, x->points + 1);
    s->kernels = fsim_new(a, const char *, x->points + 1);
    for (int i = 0; i < x->points; i++) {
        const char **value = fsim_new(a, const char *, x->axes + 1);
        for (int k = 0; k < x->axes; k++)
            value[k] = x->axis[k].value[index_on(x, i, k)];
        x->point[i].value = value;
        x->point[i].hw = s->hw[i % x->gpus * s->variants]->name;
    }
}

static void number_plans(sweep *s)
{
    fsim_names known = {0};
    for (int i = 0; i < s->out.points; i++) {
        if (!s->kernels[i])
            continue;
        int at = fsim_names_get(&known, s->kernels[i]);
        if (at < 0)
            fsim_names_set(s->c->arena, &known, s->kernels[i], at = ++s->out.plans);
        s->out.point[i].plan = at;
    }
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
    for (int i = 0; i < s->out.gpus * s->variants; i++)
        fsim_json_hw(out, s->hw[i]);
    fsim_mapped *file = s->text ? NULL : fsim_map_file(c->arena, path, &why);
    fwrite(file ? file->text : s->text ? s->text : "", 1, file ? file->bytes : s->bytes, out);
    fsim_unmap(file);
    const char *whole = fsim_memory_end(&text, c->arena, &bytes);
    fsim_sha256(whole, bytes, hex);
    return hex;
}

/* Everything that can be wrong, before any work. Returns an exit status. */
static int begin(sweep *s)
{
    fsim_context *c = s->c;
    if (!read_axes(c, &s->out))
        return fsim_usage_status(c);
    s->path = fsim_workload_find(c->arena, c->args.at[0], c->workload_folder);
    if (fsim_is_stdout(s->path)) {
        fsim_error(c->diag, fsim_command_line, "sweep reads its workload for every point: wanted a file, not stdin");
        return fsim_usage_status(c);
    }
    const bool model = fsim_is_model(c->arena, s->path);
    const int typed = c->set.set.count;
    for (int i = 0; i < s->out.axes && model; i++) /* a model has no default of a dimension */
        if (s->out.axis[i].kind == FSIM_OVER_SYMBOL)
            *FSIM_PUSH(c->arena, c->set.set.at, c->set.set.count, c->set.set.room) =
                fsim_printf(c->arena, "%s=%s", s->out.axis[i].name, s->out.axis[i].value[0]);
    const int status = fsim_read_inputs(c, &s->in);
    if (status)
        return status;
    c->set.set.count = typed;
    s->how = fsim_wanted_workload(c);
    s->out.workload = s->in.graph->name;
    for (int i = 0; i < s->out.axes; i++) {
        if (s->out.axis[i].kind == FSIM_OVER_SYMBOL)
            check_symbol(c, s->in.graph, s->out.axis[i].name);
        if (s->out.axis[i].kind == FSIM_OVER_LAUNCH)
            check_launches(c, &s->out.axis[i]);
    }
    read_variants(s);
    if (!model && fsim_errors(c->diag) == 0)
        s->text = fsim_read_text(c, "workload", s->path, &s->bytes);
    return fsim_conclude(c, FSIM_EXIT_OK);
}

int fsim_run_sweep(fsim_context *c)
{
    sweep s = {.c = c};
    int status = begin(&s);
    if (status || (status = fsim_open_outputs_and(c, "-o", c->set.output)))
        return status;
    char hex[65];
    lay_out(&s);
    if (!fsim_kept_open(&s.kept, c, digest_of(&s, hex), &s.out, s.kernels))
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    fsim_catch_interrupt();
    const int jobs = fsim_searches_at_once(c);
    s.worker = fsim_arena_children(c->arena, jobs);
    fsim_in_parallel(jobs, s.out.points, plan_point, &s);
    number_plans(&s);
    fsim_sweep_find(&s.out, c->arena);
    s.out.interrupted = fsim_interrupted_status() != FSIM_EXIT_OK;
    if (c->own)
        fsim_csv_sweep(fsim_stream(c->own), &s.out);
    const bool written = fsim_commit_own(c, c->set.output);
    if (!fsim_kept_end(&s.kept, c, written && !s.out.interrupted) || !written)
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    status = fsim_deliver(c, &s.out);
    return status ? status : fsim_interrupted_status();
}
