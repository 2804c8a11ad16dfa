/* SPDX-License-Identifier: Apache-2.0 */
#include "hw/like.h"

#include "base/file.h"
#include "hw/adopt.h"
#include "hw/choose.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The files that inherit from each other, from the one that is being read up to the first. */
typedef struct chain {
    const char *path;
    const struct chain *below;
} chain;

static bool same_file(const char *x, const char *y)
{
    struct stat a, b;
    return stat(x, &a) == 0 && stat(y, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static const char *folder_of(fsim_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == path ? "/" : slash ? fsim_strndup(a, path, (size_t)(slash - path)) : ".";
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

/* The path of the file that `like` names for the file at `path`. NULL: there is none. */
static const char *path_of(fsim_arena *a, fsim_diag *d, const fsim_hw *hw, const fsim_hw_folders *where)
{
    const char *folder = folder_of(a, hw->path), *like = hw->like;
    if (like[0] == '/')
        return access(like, R_OK) == 0 ? like : NULL;
    const bool is_path = strchr(like, '/') || ends_with(like, ".yaml") || ends_with(like, ".yml");
    const char *beside = fsim_printf(a, is_path ? "%s/%s" : "%s/%s.yaml", folder, like);
    /* a file may be named as the GPU that it changes: it does not mean itself */
    if (access(beside, R_OK) == 0 && (is_path || !same_file(beside, hw->path)))
        return beside;
    const fsim_hw_folders own = {NULL, where->own}, shipped = {NULL, where->shipped};
    const fsim_hw_folders *const step[] = {&own, &shipped};
    for (int i = 0; i < 2 && !strchr(like, '/'); i++) {
        const char *in = step[i]->shipped ? fsim_printf(a, "%s/%s.yaml", step[i]->shipped, like) : NULL;
        if (in && access(in, R_OK) == 0 && !same_file(in, hw->path))
            return in;
    }
    fsim_diag *aside = fsim_diag_new(a);
    if (strchr(like, '/') || !fsim_hw_choose(a, aside, like, where))
        return NULL;
    return fsim_hw_choose(a, d, like, where); /* once more, for what it says of the variant */
}

/* Says which figures of the data sheet are another product's. */
static void warn_of_inherited(fsim_arena *a, fsim_diag *d, const fsim_hw *hw)
{
    const char *names = "";
    for (int i = 0; i < FSIM_SHEET_FIGURES; i++) {
        const fsim_hw_key key = fsim_hw_sheet_figure(hw, i);
        if (hw->q[key].from == FSIM_HW_FROM_LIKE)
            names = fsim_printf(a, "%s%s%s", names, *names ? ", " : "", fsim_hw_rows[key].key);
    }
    if (*names)
        fsim_warning(d, hw->like_at, "these figures are those of %s, as the file gives none: %s", hw->like, names);
}

static fsim_hw *parse_chain(fsim_arena *a, fsim_diag *d, const fsim_hw_text *text, const fsim_hw_folders *where,
                            const chain *below);

/* The GPU that hw inherits from, read from its file. */
static fsim_hw *parent_of(fsim_arena *a, fsim_diag *d, const fsim_hw *hw, const fsim_hw_folders *where,
                          const chain *self)
{
    const char *path = path_of(a, d, hw, where), *why = "";
    size_t bytes = 0;
    if (!path) {
        fsim_error(d, hw->like_at, "like: there is no GPU '%s'%s ('fusesim hw list' shows all)", hw->like,
                   fsim_hw_nearest(a, hw->like, where));
        return NULL;
    }
    for (const chain *c = self; c; c = c->below)
        if (same_file(path, c->path)) {
            fsim_error(d, hw->like_at,
                       "like: '%s' is %s, which inherits from this file: a GPU can't inherit from itself", hw->like,
                       path);
            return NULL;
        }
    const char *text = fsim_read_file(a, path, &bytes, &why);
    if (!text) {
        fsim_error(d, hw->like_at, "like: cannot read %s: %s", path, why);
        return NULL;
    }
    return parse_chain(a, d, &(fsim_hw_text){path, text, bytes}, where, self);
}

static fsim_hw *parse_chain(fsim_arena *a, fsim_diag *d, const fsim_hw_text *text, const fsim_hw_folders *where,
                            const chain *below)
{
    fsim_hw *hw = fsim_hw_draft(a, d, text->path, text->text, text->bytes), *parent = NULL;
    if (!hw)
        return NULL;
    if (hw->like && !(parent = parent_of(a, d, hw, where, &(chain){text->path, below})))
        return NULL;
    if (!fsim_hw_finish(a, d, hw, parent))
        return NULL;
    if (!parent)
        return hw;
    const char *both = fsim_printf(a, "%s\n%s", hw->hash, parent->hash);
    fsim_sha256(both, strlen(both), hw->hash);
    if (!below)
        warn_of_inherited(a, d, hw);
    return hw;
}

fsim_hw *fsim_hw_parse_in(fsim_arena *a, fsim_diag *d, const fsim_hw_text *text, const fsim_hw_folders *where)
{
    return parse_chain(a, d, text, where, NULL);
}
