/* SPDX-License-Identifier: Apache-2.0 */
/* regions: at which values of a workload's symbol does the best plan change? */
#include "command/command.h"

#include "report/region_table.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Parses "1:4096" or "1:4096:64": up to three whole numbers. Returns how many; 0 where the text is something else. */
static int read_numbers(const char *text, int64_t number[3])
{
    for (int count = 1; count <= 3; count++) {
        char *end;
        errno = 0;
        number[count - 1] = strtoll(text, &end, 10);
        if (end == text || errno || (*end && *end != ':'))
            return 0;
        if (!*end)
            return count;
        text = end + 1;
    }
    return 0;
}

/* Parses --over: the symbol and its values. False after an error. */
static bool read_range(fsim_context *c, const fsim_graph *g, const char **symbol, fsim_range *range)
{
    const char *over = c->set.over, *equals = over ? strchr(over, '=') : NULL;
    int64_t number[3] = {0, 0, 1};
    if (!over) {
        fsim_error(c->diag, fsim_command_line, "regions wants --over NAME=FIRST:LAST: a symbol and its values");
        return false;
    }
    if (!equals || equals == over || read_numbers(equals + 1, number) < 2 || number[0] < 1 || number[1] < number[0] ||
        number[2] < 1) {
        fsim_error(c->diag, fsim_command_line,
                   "--over '%s': wanted NAME=FIRST:LAST or NAME=FIRST:LAST:STEP, whole numbers from 1 on", over);
        return false;
    }
    *symbol = fsim_strndup(c->arena, over, (size_t)(equals - over));
    *range = (fsim_range){.first = number[0], .last = number[1], .step = number[2]};
    const char **name = fsim_new(c->arena, const char *, g->symbols + 1);
    int names = 0;
    for (int i = 0; i < g->symbols; i++)
        if (g->symbol[i].dtype == FSIM_DTYPE_NONE)
            name[names++] = g->symbol[i].name;
    for (int i = 0; i < names; i++)
        if (strcmp(name[i], *symbol) == 0)
            return true;
    fsim_error(c->diag, fsim_command_line, "--over: '%s' has no symbol '%s'%s", g->name, *symbol,
               fsim_did_you_mean(c->arena, *symbol, name, names));
    return false;
}

int fsim_run_regions(fsim_context *c)
{
    fsim_inputs in;
    fsim_shown_regions x = {0};
    fsim_range range;
    int status = fsim_read_inputs(c, &in);
    if (status)
        return status;
    x.graph = in.graph;
    x.hw = in.hw[0];
    if (fsim_is_stdout(c->args.at[0]))
        fsim_error(c->diag, fsim_command_line, "regions reads its workload for every value: wanted a file, not stdin");
    else
        read_range(c, in.graph, &x.symbol, &range);
    if ((status = fsim_conclude(c, FSIM_EXIT_OK)) || (status = fsim_open_outputs(c)))
        return status;
    fsim_catch_interrupt();
    fsim_parametric workload = {.path = in.graph->path,
                                .set = fsim_command_bindings(c),
                                .sets = c->set.set.count,
                                .scale = c->set.scale,
                                .symbol = x.symbol};
    if (!(workload.text = fsim_read_text(c, "workload", workload.path, &workload.bytes)))
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    x.found = fsim_regions_of(fsim_parsed_at, &workload, &range, in.hw[0], &in.how, c->arena);
    status = fsim_deliver(c, &x);
    return status ? status : fsim_interrupted_status();
}
