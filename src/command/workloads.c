/* SPDX-License-Identifier: Apache-2.0 */
/* workloads: lists the shipped workloads and those of ./workloads, or shows one in full. */
#include "command/command.h"
#include "graph/find.h"
#include "import/load.h"

#include <string.h>

/* Does name stand in the folder, "seeds" or "seeds/"? NULL: every name does. */
static bool is_in(const char *name, const char *folder)
{
    const size_t length = folder ? strlen(folder) : 0;
    return length == 0 || (strncmp(name, folder, length) == 0 && (name[length] == '/' || folder[length - 1] == '/'));
}

/* All of a folder, each by its default symbols. Those that do not load are rows of the list. */
static fsim_workload_list listed(fsim_context *c, const char *folder)
{
    const fsim_workload_wanted how = {.shipped = c->workload_folder, .likely = true};
    fsim_workload_list list = {0};
    int count;
    const char *const *names = fsim_workload_names(c->arena, c->workload_folder, &count);
    list.at = fsim_new(c->arena, fsim_named_workload, count + 1);
    for (int i = 0; i < count; i++)
        if (is_in(names[i], folder))
            list.at[list.count++] =
                (fsim_named_workload){names[i], fsim_graph_load(c->arena, fsim_diag_new(c->arena), names[i], &how)};
    return list;
}

int fsim_run_workloads(fsim_context *c)
{
    const char *name = c->args.count ? c->args.at[0] : NULL;
    fsim_workload_list list = {0};
    const char *path = name ? fsim_workload_find(c->arena, name, c->workload_folder) : NULL;
    if (!name || (path == name && strcmp(name, "-") != 0))
        list = listed(c, name);
    if (list.count > 0 && c->set.set.count) {
        fsim_error(c->diag, fsim_command_line, "--set is for one workload: fusesim workloads NAME --set %s",
                   c->set.set.at[0]);
        return fsim_usage_status(c);
    }
    if (list.count == 0) {
        const fsim_workload_wanted how = fsim_wanted_workload(c);
        list = (fsim_workload_list){.at = fsim_new(c->arena, fsim_named_workload, 1), .count = 1, .in_full = true};
        list.at[0] = (fsim_named_workload){name, fsim_graph_load(c->arena, c->diag, name, &how)};
        const int status = fsim_conclude(c, FSIM_EXIT_OK);
        if (status)
            return status;
    }
    list.summary = c->set.summary;
    list.deep = c->set.verbose;
    return fsim_answer(c, &list);
}
