/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/steps.h"

#include "base/jobs.h"
#include "base/names.h"
#include "import/load.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fsim_priced_steps {
    fsim_arena *arena;
    const fsim_options *planned; /* NULL: by a serving program */
    fsim_names known;            /* lines of rows, by number */
    double *time_s;              /* of each that is priced */
    const char **why;            /* it can't be; NULL: it can, or that is not known */
    const char *fault;           /* of the last step asked for that has one */
    int priced;
};

fsim_priced_steps *fsim_priced_steps_new(fsim_arena *a, const fsim_options *planned)
{
    fsim_priced_steps *s = fsim_new(a, fsim_priced_steps, 1);
    s->arena = a;
    s->planned = planned;
    return s;
}

int fsim_priced_steps_count(const fsim_priced_steps *s) { return s->known.count; }

/* The seconds of the row whose line this is, behind its id. */
static double ask(fsim_priced_steps *s, const char *line)
{
    static const double placeholder_s = 1;
    int number = fsim_names_get(&s->known, line);
    if (number < 0) {
        number = s->known.count;
        fsim_names_set(s->arena, &s->known, fsim_strdup(s->arena, line), number);
    }
    if (number < s->priced && s->why[number])
        s->fault = s->why[number];
    return number < s->priced ? s->time_s[number] : placeholder_s;
}

const char *fsim_steps_fault(fsim_priced_steps *s)
{
    const char *fault = s->fault;
    s->fault = NULL;
    return fault;
}

double fsim_step_s(fsim_priced_steps *s, const char *hw, const char *workload, const char *set)
{
    return ask(s, fsim_printf(s->arena, "%s,%s,%s,,serving,cold,graph,1", hw, workload, set));
}

double fsim_eager_step_s(fsim_priced_steps *s, const char *hw, const char *workload, const char *set)
{
    return ask(s, fsim_printf(s->arena, "%s,%s,%s,,eager+flash,unknown,stream,1", hw, workload, set));
}

double fsim_training_step_s(fsim_priced_steps *s, const char *hw, const char *workload, const char *set)
{
    return ask(s, fsim_printf(s->arena, "%s,%s,%s,step,eager+flash,unknown,stream,1", hw, workload, set));
}

/* The rows that are not priced yet, as the text of a file of measurements. */
static const char *text_of(const fsim_priced_steps *s, fsim_arena *a, size_t *bytes)
{
    static const char header[] = "id,hw,workload,set,mode,strategy,l2,launch,time_s,source\n", source[] = ",steps\n";
    enum { ID = 16 };
    size_t room = sizeof header;
    const char **line = fsim_new(a, const char *, s->known.count + 1);
    for (int i = 0; i < s->known.slots; i++)
        if (s->known.name[i] && s->known.value[i] >= s->priced)
            line[s->known.value[i]] = s->known.name[i];
    for (int i = s->priced; i < s->known.count; i++)
        room += strlen(line[i]) + ID + sizeof source;
    char *text = fsim_new(a, char, room), *end = text + sprintf(text, "%s", header);
    for (int i = s->priced; i < s->known.count; i++)
        end += sprintf(end, "%d,%s%s", i, line[i], source);
    *bytes = (size_t)(end - text);
    return text;
}

/* Steps that are planned, one after another or side by side. */
typedef struct {
    const fsim_folders *where;
    const fsim_options *how;
    const char **line;
    double *time_s;
} plans;

static const fsim_hw *loaded(const fsim_folders *where, const char *name)
{
    for (int i = 0; i < where->hws; i++)
        if (strcmp(where->hw[i]->name, name) == 0)
            return where->hw[i];
    return NULL;
}

/* The values behind "hw,workload," of a line, "B=8;S=1024". */
static fsim_workload_wanted wanted_of(const fsim_folders *where, char *set, fsim_arena *a)
{
    fsim_workload_wanted how = {.shipped = where->workloads};
    fsim_binding *at = NULL;
    int room = 0;
    for (char *rest = NULL, *word = strtok_r(set, ";", &rest); word; word = strtok_r(NULL, ";", &rest)) {
        char *equals = strchr(word, '=');
        *equals = '\0';
        *FSIM_PUSH(a, at, how.sets, room) = (fsim_binding){word, equals + 1};
    }
    how.set = at;
    return how;
}

static void plan_step(void *to, int i, int worker)
{
    const plans *p = to;
    (void)worker;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    char *rest = NULL, *line = fsim_strdup(a, p->line[i]);
    const fsim_hw *hw = loaded(p->where, strtok_r(line, ",", &rest));
    const char *workload = strtok_r(NULL, ",", &rest);
    const fsim_workload_wanted how = wanted_of(p->where, strtok_r(NULL, ",", &rest), a);
    fsim_options options = *p->how;
    options.strategy = FSIM_STRATEGY_OPTIMAL;
    options.regime = FSIM_REGIME_GRAPH;
    options.brief = true;
    const fsim_graph *g = hw ? fsim_graph_load(a, d, workload, &how) : NULL;
    p->time_s[i] = NAN;
    if (g && fsim_plannable(g, hw, &options, d, a))
        p->time_s[i] = fsim_predict(g, hw, &options, a).plan[FSIM_STRATEGY_OPTIMAL].time_s;
    fsim_arena_free(a);
}

/* Makes room for what is noted; the first `priced` keep their prices. */
static void make_room(fsim_priced_steps *s)
{
    double *time_s = fsim_new(s->arena, double, s->known.count + 1);
    const char **why = fsim_new(s->arena, const char *, s->known.count + 1);
    if (s->priced) {
        memcpy(time_s, s->time_s, (size_t)s->priced * sizeof *time_s);
        memcpy(why, s->why, (size_t)s->priced * sizeof *why);
    }
    s->time_s = time_s;
    s->why = why;
}

/* Plans the steps that are noted. */
static void plan_steps(fsim_priced_steps *s, const fsim_folders *where, int jobs)
{
    const int count = s->known.count - s->priced;
    plans p = {where, s->planned, fsim_new(s->arena, const char *, count + 1), s->time_s + s->priced};
    for (int i = 0; i < s->known.slots; i++)
        if (s->known.name[i] && s->known.value[i] >= s->priced)
            p.line[s->known.value[i] - s->priced] = s->known.name[i];
    fsim_in_parallel(jobs, count, plan_step, &p);
}

/* Why row i has no graph; NULL: it has one. In a. */
static const char *refusal_of(const fsim_bench *bench, int i, fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    const bool has = fsim_bench_graph(bench, i, a) != NULL;
    fsim_rewind(a, mark);
    if (has)
        return NULL;
    fsim_diag *d = fsim_diag_new(a);
    fsim_diagnostic *message;
    fsim_bench_refuse(bench, i, a, d);
    return fsim_diag_list(d, a, &message) > 0 ? message[0].message : NULL;
}

/* Prices the steps that are noted by a serving program. */
static bool serve_steps(fsim_priced_steps *s, const fsim_folders *where, int jobs, fsim_diag *d)
{
    size_t bytes;
    const char *text = text_of(s, s->arena, &bytes);
    const fsim_measurements rows = fsim_rows_parse(s->arena, d, "steps", text, bytes);
    const fsim_bench *bench = fsim_errors(d) ? NULL : fsim_bench_of(s->arena, d, where, &rows);
    fsim_evaluated *e = fsim_new(s->arena, fsim_evaluated, rows.count + 1);
    if (!bench)
        return false;
    (void)fsim_evaluate(bench, jobs, s->arena, fsim_diag_new(s->arena), e); /* each row's own fault is told below */
    for (int i = 0; i < rows.count; i++) {
        const int number = atoi(e[i].row->id);
        s->time_s[number] = e[i].predicted_s;
        s->why[number] = isnan(e[i].predicted_s) ? refusal_of(bench, i, s->arena) : NULL;
    }
    return true;
}

bool fsim_price_steps(fsim_priced_steps *s, const fsim_folders *where, int jobs, fsim_diag *d)
{
    bool ok = true;
    if (s->priced == s->known.count)
        return true;
    make_room(s);
    if (s->planned)
        plan_steps(s, where, jobs);
    else
        ok = serve_steps(s, where, jobs, d);
    s->priced = s->known.count;
    return ok;
}
