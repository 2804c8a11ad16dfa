/* SPDX-License-Identifier: Apache-2.0 */
#include "import/load.h"

#include "base/file.h"
#include "graph/find.h"
#include "graph/scale.h"
#include "import/format.h"
#include "import/precision.h"

static const fsim_loc nowhere = {NULL, 0, 0};

/* What was read of a file; text of a tree in YAML is in the arena, or the caller's. */
static bool read_text(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, const fsim_workload_wanted *how,
                      fsim_imported *out)
{
    if (!fsim_import_read(a, d, from, how, out))
        return false;
    if (how->precision)
        out->yaml = fsim_recast(a, out->yaml, how->precision, how->derive && how->derive->mode == FSIM_REVERSE);
    return true;
}

static void unmap(void *file) { fsim_unmap(file); }

bool fsim_is_model(fsim_arena *a, const char *path)
{
    const char *why = "";
    fsim_mapped *file = fsim_map_file(a, path, &why);
    const bool model = file && fsim_format_of(file->text, file->bytes) != FSIM_FORMAT_YAML;
    fsim_unmap(file);
    return model;
}

/* Finds and reads a file; *path is where it was found. */
static bool read_named(fsim_arena *a, fsim_diag *d, const char *name, const fsim_workload_wanted *how,
                       const char **path, fsim_imported *out)
{
    const char *why = "";
    *path = fsim_workload_find(a, name, how->shipped);
    fsim_mapped *file = fsim_map_file(a, *path, &why);
    if (file && file->map && fsim_format_of(file->text, file->bytes) == FSIM_FORMAT_YAML) {
        fsim_unmap(file); /* a tree refers to its text, and messages show lines of it */
        file->text = fsim_read_file(a, *path, &file->bytes, &why);
    }
    if (!file || !file->text) {
        fsim_failure(d, FSIM_NO_INPUT, nowhere, "cannot read workload '%s': %s%s", name, why,
                     fsim_workload_nearest(a, name, how->shipped));
        return false;
    }
    fsim_resource mapping;
    fsim_guard(&mapping, unmap, file);
    const bool good = read_text(a, d, &(fsim_import_source){*path, file->text, file->bytes}, how, out);
    fsim_release(&mapping);
    fsim_unmap(file);
    return good;
}

static fsim_tree tree_of(fsim_arena *a, const char *path, const fsim_imported *x, int64_t scale,
                         const fsim_workload_wanted *how)
{
    return (fsim_tree){path,
                       x->format,
                       scale > 1 ? fsim_scale_shapes(a, x->yaml, scale) : x->yaml,
                       x->draft != NULL,
                       {how->set, x->draft ? 0 : how->sets, how->derive}};
}

/* Why the graph with lengths divided by `scale` is none; NULL where it is one. */
static const char *why_no_graph(fsim_arena *a, const char *path, const fsim_imported *x, int64_t scale,
                                const fsim_workload_wanted *how)
{
    fsim_diag *quiet = fsim_diag_new(a);
    fsim_diagnostic *message;
    const fsim_tree tree = tree_of(a, path, x, scale, how);
    if (fsim_graph_of(a, quiet, path, tree.yaml, &tree.set))
        return NULL;
    const int messages = fsim_diag_list(quiet, a, &message);
    for (int i = 0; i < messages; i++)
        if (message[i].severity == FSIM_ERROR)
            return message[i].message;
    return "";
}

/* Can the workload be read as it is, but not with lengths divided by how->scale? Then an error says which factor can.
 */
static bool scales_too_far(fsim_arena *a, fsim_diag *d, const char *path, const fsim_imported *x,
                           const fsim_workload_wanted *how)
{
    const char *why = how->scale > 1 ? why_no_graph(a, path, x, how->scale, how) : NULL;
    int64_t fits = 1;
    if (!why || why_no_graph(a, path, x, 1, how))
        return false;
    while (fits * 2 < how->scale)
        fits *= 2;
    while (fits > 1 && why_no_graph(a, path, x, fits, how))
        fits /= 2;
    fsim_error(d, (fsim_loc){.file = path}, "--scale-shapes %lld: the divided lengths do not fit each other (%s); %s",
               (long long)how->scale, why,
               fits > 1 ? fsim_printf(a, "--scale-shapes %lld works", (long long)fits) : "no smaller factor works");
    return true;
}

/* The graph of what was read. */
static fsim_graph *graph_of(fsim_arena *a, fsim_diag *d, const char *path, const fsim_imported *x,
                            const fsim_workload_wanted *how)
{
    if (scales_too_far(a, d, path, x, how))
        return NULL;
    const fsim_tree tree = tree_of(a, path, x, how->scale, how);
    fsim_graph *g = fsim_graph_of(a, d, path, tree.yaml, &tree.set);
    if (g && x->draft && how->scale <= 1 && !how->precision)
        fsim_draft_check(x->draft, g);
    return g;
}

fsim_graph *fsim_graph_load_text(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes,
                                 const fsim_workload_wanted *how)
{
    fsim_imported x;
    return read_text(a, d, &(fsim_import_source){path, text, bytes}, how, &x) ? graph_of(a, d, path, &x, how) : NULL;
}

fsim_graph *fsim_graph_load(fsim_arena *a, fsim_diag *d, const char *name, const fsim_workload_wanted *how)
{
    fsim_imported x;
    const char *path;
    return read_named(a, d, name, how, &path, &x) ? graph_of(a, d, path, &x, how) : NULL;
}

fsim_tree fsim_tree_load_text(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes,
                              const fsim_workload_wanted *how)
{
    fsim_imported x = {0};
    const bool good = read_text(a, d, &(fsim_import_source){path, text, bytes}, how, &x);
    return good ? tree_of(a, path, &x, how->scale, how) : (fsim_tree){.path = path, .format = x.format};
}

fsim_tree fsim_tree_load(fsim_arena *a, fsim_diag *d, const char *name, const fsim_workload_wanted *how)
{
    fsim_imported x = {0};
    const char *path;
    const bool good = read_named(a, d, name, how, &path, &x);
    return good ? tree_of(a, path, &x, how->scale, how) : (fsim_tree){.path = path, .format = x.format};
}
