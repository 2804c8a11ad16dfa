/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/find.h"

#include "base/file.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const fsim_loc command_line = {NULL, 0, 0};
static const char local_dir[] = "workloads";
/* Endings of workloads' files: the first is left out of names. */
static const char *const endings[] = {".yaml", ".onnx", ".pt2"};
enum {
    ENDINGS = sizeof endings / sizeof *endings,
    MOST_OFFERED = 6 /* names that contain what was typed */
};

typedef struct {
    const char **at;
    int count, room;
} names;

static bool ends_with(const char *text, const char *ending)
{
    const size_t length = strlen(text), end = strlen(ending);
    return length >= end && strcmp(text + length - end, ending) == 0;
}

static bool has_ending(const char *text)
{
    bool has = false;
    for (int i = 0; i < ENDINGS; i++)
        has = has || ends_with(text, endings[i]);
    return has;
}

const char *fsim_workload_stem(fsim_arena *a, const char *name)
{
    return ends_with(name, endings[0]) ? fsim_strndup(a, name, strlen(name) - strlen(endings[0])) : name;
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

const char *fsim_workload_in(fsim_arena *a, const char *folder, const char *name)
{
    const char *prefix = strcmp(folder, ".") == 0 ? "" : fsim_printf(a, "%s/", folder);
    for (int i = 0; i < ENDINGS; i++) {
        const char *path = fsim_printf(a, "%s%s%s", prefix, name, endings[i]);
        if (access(path, F_OK) == 0)
            return path;
    }
    const char *path = fsim_printf(a, "%s%s", prefix, name);
    return has_ending(name) && is_file(path) ? path : NULL;
}

const char *fsim_workload_find(fsim_arena *a, const char *name, const char *shipped_dir)
{
    if (strcmp(name, "-") == 0 || is_file(name))
        return name;
    const char *here = fsim_workload_in(a, local_dir, name), *shipped = NULL;
    if (!here && shipped_dir)
        shipped = fsim_workload_in(a, shipped_dir, name);
    return here ? here : shipped ? shipped : name;
}

static void close_folder(void *dir) { closedir(dir); }

/* Names of the workloads under folder: "mlp", "ops/add". */
static void list(fsim_arena *a, const char *folder, const char *prefix, names *to)
{
    DIR *dir = folder ? fsim_open_folder(folder) : NULL;
    fsim_resource open;
    if (!dir)
        return;
    fsim_guard(&open, close_folder, dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        const char *path = fsim_printf(a, "%s/%s", folder, e->d_name);
        const char *name = fsim_printf(a, "%s%s", prefix, e->d_name);
        if (has_ending(name) && is_file(path))
            *FSIM_PUSH(a, to->at, to->count, to->room) = fsim_workload_stem(a, name);
        else if (e->d_name[0] != '.' && !*prefix && !is_file(path))
            list(a, path, fsim_printf(a, "%s/", name), to);
    }
    fsim_release(&open);
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Those of the top folder first, then folder by folder. */
static int by_folder(const void *a, const void *b)
{
    const char *one = *(const char *const *)a, *other = *(const char *const *)b;
    const bool deep = strchr(one, '/'), deeper = strchr(other, '/');
    return deep != deeper ? deep - deeper : strcmp(one, other);
}

const char *const *fsim_workload_names(fsim_arena *a, const char *shipped_dir, int *count)
{
    names all = {0};
    list(a, local_dir, "", &all);
    list(a, shipped_dir, "", &all);
    if (all.count)
        qsort(all.at, (size_t)all.count, sizeof *all.at, by_folder);
    *count = 0;
    for (int i = 0; i < all.count; i++)
        if (i == 0 || strcmp(all.at[i], all.at[i - 1]) != 0)
            all.at[(*count)++] = all.at[i];
    return all.at;
}

const char *fsim_workload_nearest(fsim_arena *a, const char *name, const char *shipped_dir)
{
    names all = {0};
    list(a, local_dir, "", &all);
    list(a, shipped_dir, "", &all);
    if (all.count)
        qsort(all.at, (size_t)all.count, sizeof *all.at, by_text);
    const char *typed = fsim_workload_stem(a, name);
    const char *nearest = fsim_did_you_mean(a, typed, all.at, all.count), *like = "";
    int count = 0;
    for (int i = 0; i < all.count && *typed; i++) /* "bert": bert_layer, models/bert_large */
        if ((i == 0 || strcmp(all.at[i], all.at[i - 1]) != 0) && strcasestr(all.at[i], typed) && count++ < MOST_OFFERED)
            like = fsim_printf(a, "%s%s%s", like, *like ? ", " : "; there are: ", all.at[i]);
    return *like                                             ? like
           : *nearest || strchr(typed, '/') || typed != name ? nearest
                                                             : "; 'fusesim workloads' lists them";
}

/* What to name in place of a view: what it looks at, where that is computed. */
static const char *instead_of_view(fsim_arena *a, const fsim_graph *g, const char *name)
{
    for (int t = 0; t < g->tensors; t++) {
        const fsim_tensor *base = &g->tensor[g->tensor[t].storage];
        if (strcmp(g->tensor[t].name, name) == 0 && base->producer >= 0)
            return fsim_printf(a, "name '%s', which it looks at", base->name);
    }
    return "name an operator that is";
}

int fsim_node_named(fsim_arena *a, fsim_diag *d, const fsim_graph *g, const char *name)
{
    const int n = fsim_find_node(g, name);
    if (n >= 0)
        return n;
    const char **all = fsim_new(a, const char *, g->nodes + g->sources + 1);
    int count = 0;
    for (int i = 0; i < g->nodes; i++)
        all[count++] = g->node[i].name;
    for (int i = 0; i < g->sources; i++) {
        all[count++] = g->source[i].name;
        if (strcmp(g->source[i].name, name) == 0) {
            fsim_error(d, command_line, "'%s' is a view, it is never computed: %s", name, instead_of_view(a, g, name));
            return -1;
        }
    }
    for (int t = 0; t < g->tensors; t++)
        if (strcmp(g->tensor[t].name, name) == 0) {
            fsim_error(d, command_line, "'%s' is an input of '%s', no operator", name, g->name);
            return -1;
        }
    const bool gradient = g->derived != FSIM_REVERSE && strncmp(name, "grad/", 5) == 0;
    fsim_error(d, command_line, "'%s' has no operator '%s'%s", g->name, name,
               gradient ? ": gradients are there with --train" : fsim_did_you_mean(a, name, all, count));
    return -1;
}
