/* SPDX-License-Identifier: Apache-2.0 */
/* roots.c: which files the workloads of measured rows are. */
#include "evidence/evaluate.h"

#include "graph/find.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Does the path lead out of the folder that it starts from? */
static bool leaves(const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]))
            return true;
    }
    return false;
}

bool fsim_row_may_name(const fsim_folders *where, const char *name)
{
    if (leaves(name) || strcmp(name, "-") == 0)
        return false;
    bool below = *name != '/';
    char *here = getcwd(NULL, 0);
    for (int i = -2; i < where->roots && !below; i++) {
        const char *folder = i == -2 ? here : i == -1 ? where->workloads : where->root[i];
        const size_t length = folder ? strlen(folder) : 0;
        below = length > 0 && strncmp(name, folder, length) == 0 && (name[length] == '/' || folder[length - 1] == '/');
    }
    free(here);
    return below;
}

const char *fsim_row_path(fsim_arena *a, const fsim_folders *where, const char *name)
{
    const char *path = NULL;
    for (int i = 0; i < where->roots && !path; i++)
        path = fsim_workload_in(a, where->root[i], name);
    if (!path)
        path = fsim_workload_in(a, ".", name); /* as `import` may have received it */
    return path ? path : fsim_workload_find(a, name, where->workloads);
}
