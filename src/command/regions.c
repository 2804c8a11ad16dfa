/* SPDX-License-Identifier: Apache-2.0 */
/* regions: at which values of a workload's symbol does the best plan change? */
#include "command/command.h"

#include "graph/find.h"
#include "import/load.h"
#include "report/region_table.h"
#include <errno.h>
#include <inttypes.h>
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

/* The last --over; NULL: none. */
static const char *only_over(const fsim_context *c)
{
    return c->set.over.count ? c->set.over.at[c->set.over.count - 1] : NULL;
}

/* Parses --over: the symbol and its values. NULL where it is something else. */
static const char *parse_range(fsim_context *c, fsim_range *range)
{
    const char *over = only_over(c), *equals = over ? strchr(over, '=') : NULL;
    int64_t number[3] = {0, 0, 1};
    if (!equals || equals == over || read_numbers(equals + 1, number) < 2 || number[0] < 1 || number[1] < number[0] ||
        number[2] < 1)
        return NULL;
    *range = (fsim_range){.first = number[0], .last = number[1], .step = number[2]};
    return fsim_strndup(c->arena, over, (size_t)(equals - over));
}

/* Checks --over. False after an error. */
static bool check_range(fsim_context *c, const fsim_graph *g, const char *symbol)
{
    const char *over = only_over(c);
    if (c->set.over.count > 1)
        fsim_error(c->diag, fsim_command_line, "regions takes one --over; 'fusesim sweep' takes several");
    if (!over || !symbol) {
        if (over)
            fsim_error(c->diag, fsim_command_line,
                       "--over '%s': wanted NAME=FIRST:LAST or NAME=FIRST:LAST:STEP, whole numbers from 1 on", over);
        else
            fsim_error(c->diag, fsim_command_line, "regions wants --over NAME=FIRST:LAST: a symbol and its values");
        return false;
    }
    const char **name = fsim_new(c->arena, const char *, g->symbols + 1);
    int names = 0;
    for (int i = 0; i < g->symbols; i++)
        if (g->symbol[i].dtype == FSIM_DTYPE_NONE)
            name[names++] = g->symbol[i].name;
    for (int i = 0; i < names; i++)
        if (strcmp(name[i], symbol) == 0)
            return true;
    fsim_error(c->diag, fsim_command_line, "--over: '%s' has no symbol '%s'%s", g->name, symbol,
               fsim_did_you_mean(c->arena, symbol, name, names));
    return false;
}

/* Is the workload a model? Then it has its dimensions from --dim, and the one that varies from the first value of
 * --over. */
static bool bind_model(fsim_context *c, const char *symbol, const fsim_range *range)
{
    const char *path = fsim_workload_find(c->arena, c->args.at[0], c->workload_folder);
    if (fsim_is_stdout(path) || !fsim_is_model(c->arena, path))
        return false;
    const char *word = symbol ? fsim_printf(c->arena, "%s=%" PRId64, symbol, range->first) : NULL;
    if (word)
        *FSIM_PUSH(c->arena, c->set.set.at, c->set.set.count, c->set.set.room) = word;
    return true;
}

int fsim_run_regions(fsim_context *c)
{
    fsim_inputs in;
    fsim_shown_regions x = {0};
    fsim_range range;
    x.symbol = parse_range(c, &range);
    const bool model = bind_model(c, x.symbol, &range);
    int status = fsim_read_inputs(c, &in);
    if (status)
        return status;
    x.graph = in.graph;
    x.hw = in.hw[0];
    if (fsim_is_stdout(c->args.at[0]))
        fsim_error(c->diag, fsim_command_line, "regions reads its workload for every value: wanted a file, not stdin");
    else
        check_range(c, in.graph, x.symbol);
    if ((status = fsim_conclude(c, FSIM_EXIT_OK)) || (status = fsim_open_outputs(c)))
        return status;
    fsim_catch_interrupt();
    fsim_parametric workload = {.path = in.graph->path, .how = fsim_wanted_workload(c), .symbol = x.symbol};
    if (!model && !(workload.text = fsim_read_text(c, "workload", workload.path, &workload.bytes)))
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    x.found = fsim_regions_of(fsim_parsed_at, &workload, &range, in.hw[0], &in.how, c->arena);
    status = fsim_deliver(c, &x);
    return status ? status : fsim_interrupted_status();
}
