/* SPDX-License-Identifier: Apache-2.0 */
/* validate --systems: whole serving systems and trainings, predicted beside what was measured. */
#include "command/command.h"
#include "report/systems.h"
#include "serving/contradictions.h"

#include <string.h>

/* The GPUs that rows name, each looked up once. */
typedef struct {
    const char **name;
    fsim_hw **hw; /* NULL: there is none of this name */
    int count;
} gpus;

static int gpu_of(const gpus *all, const char *name)
{
    int i = 0;
    while (i < all->count && strcmp(all->name[i], name) != 0)
        i++;
    return i;
}

/* A GPU by its name; one that no file describes is a reason of its rows and not an error. */
static fsim_hw *find_gpu(fsim_context *c, const char *name)
{
    const fsim_hw_wanted how = fsim_wanted_hw(c);
    return fsim_hw_find(c->arena, fsim_diag_new(c->arena), name, &how.folders) ? fsim_read_hw(c, name) : NULL;
}

static gpus gpus_of(fsim_context *c, const fsim_systems *rows)
{
    gpus all = {fsim_new(c->arena, const char *, rows->count + 1), fsim_new(c->arena, fsim_hw *, rows->count + 1), 0};
    for (int i = 0; i < rows->count; i++) {
        const int k = gpu_of(&all, rows->at[i].hw);
        if (k < all.count)
            continue;
        all.name[all.count] = rows->at[i].hw;
        all.hw[all.count++] = find_gpu(c, rows->at[i].hw);
    }
    return all;
}

/* Rows that pass --match and --hw. */
static fsim_systems wanted(const fsim_context *c, const fsim_systems *all)
{
    fsim_systems kept = {fsim_new(c->arena, fsim_system, all->count + 1), 0};
    for (int i = 0; i < all->count; i++) {
        bool match = c->set.match.count == 0, of = c->set.hw.count == 0;
        for (int m = 0; m < c->set.match.count; m++)
            match = match || strstr(all->at[i].id, c->set.match.at[m]);
        for (int h = 0; h < c->set.hw.count; h++)
            of = of || strcmp(all->at[i].hw, c->set.hw.at[h]) == 0;
        if (match && of)
            kept.at[kept.count++] = all->at[i];
    }
    return kept;
}

static int read_systems(fsim_context *c, fsim_systems *rows)
{
    size_t bytes = 0;
    const char *path = c->set.systems, *text = fsim_read_text(c, "systems", path, &bytes);
    if (!text)
        return fsim_conclude(c, FSIM_EXIT_OK);
    fsim_diag_source(c->diag, path, text, bytes);
    const fsim_systems all = fsim_systems_parse(c->arena, c->diag, path, text, bytes);
    *rows = wanted(c, &all);
    if (rows->count == 0 && fsim_errors(c->diag) == 0)
        fsim_error(c->diag, (fsim_loc){.file = path},
                   all.count ? "no row is left by --match and --hw" : "no rows behind the header");
    return fsim_conclude(c, FSIM_EXIT_OK);
}

static bool check_systems(fsim_context *c)
{
    if (c->args.count || c->set.measurements.count || c->set.registers || c->set.device != FSIM_DEVICE_NONE)
        fsim_error(c->diag, fsim_command_line,
                   "validate: --systems takes rows of whole systems alone; wanted no workload, --measurements, "
                   "--registers or --device beside it");
    if (c->set.gates.count)
        fsim_error(c->diag, fsim_command_line,
                   "validate: --gate is of --measurements: --systems has no limits; its --json has what to compare");
    return fsim_errors(c->diag) == 0;
}

/* Each row twice: the first time notes its steps, the second composes their prices. */
static bool predict(fsim_context *c, const fsim_systems *rows, const gpus *all, fsim_shown_systems *out)
{
    fsim_priced_steps *steps = fsim_priced_steps_new(c->arena, NULL);
    fsim_judged_system *at = fsim_new(c->arena, fsim_judged_system, rows->count + 1);
    fsim_folders where = {.workloads = c->workload_folder, .others = fsim_wanted_hw(c)};
    fsim_hw **loaded = fsim_new(c->arena, fsim_hw *, all->count + 1);
    for (int i = 0; i < all->count; i++)
        if (all->hw[i])
            loaded[where.hws++] = all->hw[i];
    where.hw = loaded;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < rows->count; i++) {
            const fsim_hw *hw = all->hw[gpu_of(all, rows->at[i].hw)];
            at[i] = (fsim_judged_system){&rows->at[i], fsim_system_predict(&rows->at[i], hw, steps, c->arena), NULL};
        }
        if (!fsim_price_steps(steps, &where, fsim_jobs_of(c->set.jobs), c->diag))
            return false;
    }
    fsim_find_contradictions(at, rows->count, c->arena);
    *out = (fsim_shown_systems){c->set.systems, at, rows->count, fsim_priced_steps_count(steps), (int)c->set.top};
    return true;
}

int fsim_run_systems(fsim_context *c)
{
    enum { WORST = 10, MOST_WORST = 1000000 };
    fsim_systems rows = {0};
    fsim_shown_systems shown;
    c->kind = FSIM_RESULT_SYSTEMS;
    if (!check_systems(c))
        return fsim_usage_status(c);
    int status = read_systems(c, &rows);
    if (status)
        return status;
    const gpus all = gpus_of(c, &rows);
    if ((status = fsim_conclude(c, FSIM_EXIT_OK)) || (status = fsim_open_outputs(c)))
        return status;
    if (!predict(c, &rows, &all, &shown))
        return fsim_give_up_outputs(c, FSIM_EXIT_BAD_INPUT);
    shown.worst = c->set.top == 0 ? WORST : c->set.top > MOST_WORST ? MOST_WORST : (int)c->set.top;
    return fsim_deliver(c, &shown);
}
