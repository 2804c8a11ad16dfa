/* SPDX-License-Identifier: Apache-2.0 */
#include "command/command.h"

#include <string.h>

static bool matches(const fsim_context *c, const fsim_measured *row)
{
    bool any = c->set.match.count == 0;
    for (int m = 0; m < c->set.match.count; m++)
        any = any || strstr(row->id, c->set.match.at[m]);
    return any;
}

static bool is_of(const fsim_gpus *only, const fsim_measured *row)
{
    bool of = only->count == 0;
    for (int h = 0; h < only->count; h++)
        of = of || strcmp(row->hw, only->at[h]->name) == 0;
    return of;
}

/* Adds the GPU of a row that is left out, once. */
static void note_gpu(fsim_context *c, fsim_words *gpus, const char *name)
{
    for (int i = 0; i < gpus->count; i++)
        if (strcmp(gpus->at[i], name) == 0)
            return;
    *FSIM_PUSH(c->arena, gpus->at, gpus->count, gpus->room) = name;
}

/* "; they are of l4, t4" */
static const char *gpus_of(const fsim_context *c, const fsim_words *gpus)
{
    enum { MOST_OFFERED = 6 };
    const char *text = "";
    for (int i = 0; i < gpus->count && i < MOST_OFFERED; i++)
        text = fsim_printf(c->arena, "%s%s%s", text, i ? ", " : "; they are of ", gpus->at[i]);
    return gpus->count > MOST_OFFERED ? fsim_printf(c->arena, "%s, ...", text) : text;
}

/* The reason why none of the rows is left; gpus: whose rows were read. */
static const char *why_none(const fsim_context *c, const fsim_gpus *only, const fsim_words *gpus)
{
    if (!gpus->count)
        return "no rows behind the header";
    if (only->count && c->set.match.count)
        return "no row is of the GPUs of --hw with an id that holds what --match says";
    return only->count ? fsim_printf(c->arena, "no row is of the GPUs of --hw%s", gpus_of(c, gpus))
                       : "no row's id holds what --match says";
}

int fsim_read_measurements(fsim_context *c, const fsim_gpus *only, fsim_measurements *rows)
{
    fsim_measurements all = {0};
    fsim_words others = {0};
    int room = 0, wanted = 0;
    for (int f = 0; f < c->set.measurements.count; f++) {
        size_t bytes = 0;
        const char *path = c->set.measurements.at[f], *text = fsim_read_text(c, "measurements", path, &bytes);
        if (!text)
            continue;
        fsim_diag_source(c->diag, path, text, bytes);
        const fsim_measurements found = fsim_rows_parse(c->arena, c->diag, path, text, bytes);
        for (int i = 0; i < found.count; i++) {
            const bool of = is_of(only, &found.at[i]), meant = matches(c, &found.at[i]);
            wanted += meant && of;
            if (meant && (of || only->and_others))
                *FSIM_PUSH(c->arena, all.at, all.count, room) = found.at[i];
            if (!meant || !of)
                note_gpu(c, &others, found.at[i].hw);
        }
    }
    if (wanted == 0 && fsim_errors(c->diag) == 0)
        fsim_error(c->diag, (fsim_loc){.file = c->set.measurements.at[0]}, "%s", why_none(c, only, &others));
    *rows = all;
    return fsim_conclude(c, FSIM_EXIT_OK);
}

int fsim_read_bench(fsim_context *c, const fsim_gpus *only, const fsim_measurements *rows, fsim_bench **bench)
{
    const fsim_folders where = {.root = c->set.roots.at,
                                .roots = c->set.roots.count,
                                .workloads = c->workload_folder,
                                .hw = only->at,
                                .hws = only->count,
                                .others = fsim_wanted_hw(c)};
    *bench = fsim_bench_of(c->arena, c->diag, &where, rows);
    const int status = fsim_conclude(c, FSIM_EXIT_OK);
    return status ? status : fsim_open_outputs_and(c, "-o", c->set.output);
}
