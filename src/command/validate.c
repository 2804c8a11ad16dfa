/* SPDX-License-Identifier: Apache-2.0 */
/* validate: predictions compared with measurements. */
#include "command/command.h"
#include "hw/relatives.h"
#include "report/accuracy.h"

#ifdef __GLIBC__
#endif
#include <math.h>
#include <string.h>
#include <time.h>

/* Options that can be read before the rows are. */
typedef struct {
    fsim_grouping *by;
    int keys;
    fsim_gate *gate;
    fsim_row_group *group;       /* of each gate */
    bool class[FSIM_WORK_COUNT]; /* the classes of --class; all without the option */
    double above_s;
} accuracy_options;

static bool known_key(const char *word, fsim_grouping *key)
{
    for (int g = 0; g < FSIM_BY_COUNT; g++)
        if (strcmp(word, fsim_grouping_names[g]) == 0) {
            *key = (fsim_grouping)g;
            return true;
        }
    return false;
}

/* Reads --by; without the option, chooses a default. */
static void read_keys(fsim_context *c, accuracy_options *o)
{
    static const fsim_grouping compact[] = {FSIM_BY_HW, FSIM_BY_CLASS, FSIM_BY_STRATEGY};
    const fsim_words *by = &c->set.by;
    o->keys = by->count ? by->count : FSIM_COUNT_OF(compact);
    o->by = fsim_new(c->arena, fsim_grouping, o->keys);
    if (o->keys > FSIM_BY_COUNT)
        fsim_error(c->diag, fsim_command_line, "--by: at most %d keys", FSIM_BY_COUNT);
    for (int k = 0; k < o->keys && k < FSIM_BY_COUNT; k++)
        if (by->count == 0)
            o->by[k] = compact[k];
        else if (!known_key(by->at[k], &o->by[k]))
            fsim_error(c->diag, fsim_command_line, "--by: unknown key '%s'%s", by->at[k],
                       fsim_did_you_mean(c->arena, by->at[k], fsim_grouping_names, FSIM_BY_COUNT));
}

/* Reads --class and --above. */
static void check_rows_wanted(fsim_context *c, accuracy_options *o)
{
    for (int k = 0; k < FSIM_WORK_COUNT; k++)
        o->class[k] = c->set.classes.count == 0;
    for (int i = 0; i < c->set.classes.count; i++) {
        const char *name = c->set.classes.at[i];
        int k = 0;
        while (k < FSIM_WORK_COUNT && strcmp(name, fsim_work_class_names[k]) != 0)
            k++;
        if (k == FSIM_WORK_COUNT)
            fsim_error(c->diag, fsim_command_line, "--class: no kind of work '%s'%s", name,
                       fsim_did_you_mean(c->arena, name, fsim_work_class_names, FSIM_WORK_COUNT));
        else
            o->class[k] = true;
    }
    const char *why = "";
    o->above_s = 0;
    if (c->set.above && !fsim_parse_unit(c->set.above, FSIM_DIM_SECONDS, &o->above_s, &why))
        fsim_error(c->diag, fsim_command_line, "--above: '%s' %s", c->set.above, why);
}

/* Moves the predicted rows that pass --class and --above to the front. Returns how many there are. */
static int keep_wanted(const accuracy_options *o, fsim_evaluated *e, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (o->class[e[i].class] && e[i].row->time_s > o->above_s)
            e[kept++] = e[i];
    return kept;
}

static void check_files(fsim_context *c)
{
    const fsim_words *files = &c->set.measurements;
    for (int f = 0; f < files->count; f++)
        for (int g = f + 1; g < files->count; g++)
            if (strcmp(files->at[f], files->at[g]) == 0)
                fsim_error(c->diag, fsim_command_line, "--measurements names '%s' twice", files->at[f]);
}

static bool check_validate(fsim_context *c, accuracy_options *o)
{
    enum { MOST_WORST = 1000000 };
    const fsim_settings *s = &c->set;
    if (c->args.count)
        fsim_error(c->diag, fsim_command_line,
                   "validate: wanted --device %s to run a workload's kernels, --registers to compile them, or "
                   "--measurements FILE.csv or --systems FILE.csv and no workload",
                   fsim_device_kinds(c->arena));
    else if (s->measurements.count == 0)
        fsim_error(c->diag, fsim_command_line, "validate wants --measurements FILE.csv or --systems FILE.csv");
    read_keys(c, o);
    check_rows_wanted(c, o);
    o->gate = fsim_read_gates(c, &fsim_row_gates);
    check_files(c);
    if (s->folds == 1 || s->folds > FSIM_MOST_INTERVAL_FOLDS)
        fsim_error(c->diag, fsim_command_line, "--folds: wanted 2 to %d", FSIM_MOST_INTERVAL_FOLDS);
    if (s->top > MOST_WORST)
        fsim_error(c->diag, fsim_command_line, "--top: at most %d rows are listed", MOST_WORST);
    return fsim_errors(c->diag) == 0;
}

/* Looks up the groups of gates among the rows and the shipped GPUs. */
static void resolve_gates(fsim_context *c, const fsim_measurements *rows, accuracy_options *o)
{
    fsim_words gpus = {0};
    if (c->set.gates.count)
        gpus.at = fsim_hw_list(c->arena, &c->hw_folders, &gpus.count, NULL);
    o->group = fsim_new(c->arena, fsim_row_group, c->set.gates.count + 1);
    for (int i = 0; i < c->set.gates.count; i++)
        (void)fsim_row_group_of(c->arena, c->diag, rows, &gpus, &o->gate[i], &o->group[i]);
}

/* CPU time of all threads: rates per core do not depend on how busy the machine is. */
static double processor_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Loads the GPUs of --hw; with --unseen without what was measured on them. */
static int read_gpus(fsim_context *c, fsim_gpus *only)
{
    *only = (fsim_gpus){.at = fsim_new(c->arena, fsim_hw *, c->set.hw.count + 1)};
    for (int i = 0; i < c->set.hw.count; i++) {
        fsim_hw *hw = fsim_read_hw(c, c->set.hw.at[i]);
        if (hw)
            only->at[only->count++] = hw;
    }
    return fsim_conclude(c, FSIM_EXIT_OK);
}

/* Everything up to the predictions. */
static int prepare_validate(fsim_context *c, accuracy_options *o, fsim_measurements *rows, fsim_bench **bench)
{
    fsim_gpus only;
    if (!check_validate(c, o))
        return fsim_usage_status(c);
    int status = read_gpus(c, &only);
    if (status || (status = fsim_read_measurements(c, &only, rows)))
        return status;
    resolve_gates(c, rows, o);
    if (fsim_errors(c->diag))
        return fsim_usage_status(c);
    return fsim_read_bench(c, &only, rows, bench);
}

/* --no-exclude: excludes only rows that have no prediction. */
static void include_all(fsim_evaluated *e, int rows)
{
    for (int i = 0; i < rows; i++)
        if (!isnan(e[i].predicted_s))
            e[i].excluded = NULL;
}

/* Draws charts, evaluates the gates, and delivers. */
static int conclude_validate(fsim_context *c, const accuracy_options *o, const fsim_accuracy *x, int predicted,
                             double took_s)
{
    const fsim_evaluated_rows all = {x->at, x->count, x->pair, x->pairs};
    for (int i = 0; i < x->gates; i++)
        fsim_row_gate_try(&all, &o->group[i], c->arena, &o->gate[i]);
    const int status = fsim_deliver(c, x);
    if (c->set.verbose)
        fprintf(stderr, "%d rows predicted in %.4f s of processor time: %.0f rows a second and core\n", predicted,
                took_s, predicted / took_s);
    if (status || fsim_gates_failed(x->gate, x->gates) == 0)
        return status;
    fsim_say_failed_gates(c, "", x->gate, x->gates);
    return fsim_conclude(c, FSIM_EXIT_GATE);
}

/* --refit: the rows as the code's numbers predict them that were fitted to other rows. */
static fsim_refits refitted(const fsim_context *c, const fsim_bench *bench, fsim_evaluated *e, int count)
{
    enum { FOLDS = 5 };
    return c->set.refit ? fsim_refit_folds(bench, e, count, c->set.folds ? (int)c->set.folds : FOLDS,
                                           fsim_jobs_of(c->set.jobs), c->arena)
                        : (fsim_refits){0};
}

int fsim_run_validate(fsim_context *c)
{
    enum { WORST = 10 };
    accuracy_options o;
    fsim_measurements rows;
    fsim_bench *bench;
    if (c->set.plan && c->set.device == FSIM_DEVICE_NONE) {
        fsim_error(c->diag, fsim_command_line, "validate: --plan belongs to --device");
        return fsim_usage_status(c);
    }
    if (c->set.systems)
        return fsim_run_systems(c);
    if (c->set.registers)
        return fsim_run_registers(c);
    if (c->set.device != FSIM_DEVICE_NONE)
        return fsim_run_trials(c);
    const int status = prepare_validate(c, &o, &rows, &bench);
    if (status)
        return status;
    fsim_evaluated *e = fsim_new(c->arena, fsim_evaluated, rows.count);
    const double start_s = processor_s();
    if (!fsim_evaluate(bench, fsim_jobs_of(c->set.jobs), c->arena, c->diag, e))
        return fsim_give_up_outputs(c, FSIM_EXIT_BAD_INPUT);
    const double took_s = processor_s() - start_s;
    const int count = keep_wanted(&o, e, rows.count);
    if (count == 0) {
        fsim_failure(c->diag, FSIM_BAD_INPUT, fsim_command_line, "no row is left by --class and --above");
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    }
    if (c->set.no_exclude)
        include_all(e, count);
    const fsim_folded *folded =
        c->set.folds && !c->set.refit ? fsim_fold_intervals(e, count, (int)c->set.folds, c->arena) : NULL;
    const fsim_refits refits = refitted(c, bench, e, count);
    fsim_pair *pair;
    const int pairs = fsim_pairs_of(e, count, c->arena, &pair);
    const fsim_accuracy x = {c->set.measurements.at,
                             c->set.measurements.count,
                             e,
                             count,
                             pair,
                             pairs,
                             o.gate,
                             c->set.gates.count,
                             o.by,
                             o.keys,
                             c->set.top ? (int)c->set.top : WORST,
                             folded,
                             &refits,
                             c->set.verbose};
    return conclude_validate(c, &o, &x, rows.count, took_s);
}
