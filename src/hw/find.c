/* SPDX-License-Identifier: Apache-2.0 */
/* Finds hardware files by name, and the nearest names for one that does not exist. */
#include "hw/find.h"

#include "base/file.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folders searched, in order; returns how many. */
static int search_folders(const fsim_hw_folders *where, const char *folder[3])
{
    int count = 0;
    folder[count++] = ".";
    if (where->own && *where->own)
        folder[count++] = where->own;
    if (where->shipped && *where->shipped)
        folder[count++] = where->shipped;
    return count;
}

static const char *in_folder(fsim_arena *a, const char *folder, const char *file)
{
    return strcmp(folder, ".") == 0 ? file : fsim_printf(a, "%s/%s", folder, file);
}

static const char not_there[] = "no such file";

/* NULL where path is a file that can be read, else the reason why not. */
static const char *unreadable(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno == EACCES ? "permission denied" : not_there;
    if (S_ISDIR(st.st_mode))
        return "is a directory";
    return access(path, R_OK) == 0 ? NULL : "permission denied";
}

/* Does a YAML file look like hardware? A line near its beginning must start with "architecture:". A file that can't
 * be opened counts as hardware in a folder of hardware files, so that it is listed as invalid and not skipped. */
static bool is_hardware(const char *path, bool in_hardware_folder)
{
    static const char mark[] = "\narchitecture:";
    char head[16385] = "\n";
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    FILE *in = fopen(path, "rb");
    if (!in && errno == ENOMEM)
        fsim_out_of_memory();
    const size_t bytes = in ? 1 + fread(head + 1, 1, sizeof head - 1, in) : 0;
    const bool failed = !in || ferror(in);
    if (in)
        fclose(in);
    if (failed) /* whoever reads it says why it can't be read */
        return in_hardware_folder;
    return memmem(head, bytes, mark, sizeof mark - 1) != NULL;
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

const char **fsim_hw_list(fsim_arena *a, const fsim_hw_folders *where, int *count, const char **why)
{
    static const char end[] = ".yaml";
    const char *folder[3], **names = NULL;
    int found = 0, room = 0;
    const int folders = search_folders(where, folder);
    if (why)
        *why = NULL;
    for (int i = 0; i < folders; i++) {
        DIR *dir = fsim_open_folder(folder[i]);
        if (!dir && why && errno != ENOENT && errno != ENOTDIR)
            *why = fsim_printf(a, "cannot list '%s': %s", folder[i], fsim_reason(errno));
        for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
            const size_t length = strlen(e->d_name);
            if (length < sizeof end || strcmp(e->d_name + length - (sizeof end - 1), end) != 0 ||
                !is_hardware(in_folder(a, folder[i], e->d_name), i > 0))
                continue;
            *FSIM_PUSH(a, names, found, room) = fsim_strndup(a, e->d_name, length - (sizeof end - 1));
        }
        if (dir)
            closedir(dir);
    }
    if (found)
        qsort(names, (size_t)found, sizeof *names, by_text);
    int kept = 0;
    for (int i = 0; i < found; i++)
        if (i == 0 || strcmp(names[i], names[kept - 1]) != 0)
            names[kept++] = names[i];
    *count = kept;
    return names;
}

/* How unlike a known name is to what was typed: names that start with it, contain it, or contain its letters in
 * order come first, then edit distance. Lower is nearer. */
static int farness(const char *typed, const char *name)
{
    const int edits = fsim_edits(typed, name) / 2, step = INT_MAX / 8;
    if (strncasecmp(typed, name, strlen(typed)) == 0)
        return edits;
    if (strcasestr(name, typed))
        return step + edits;
    const char *p = typed;
    for (const char *n = name; *n && *p; n++)
        p += tolower((unsigned char)*n) == tolower((unsigned char)*p);
    return *p ? 3 * step + edits : 2 * step + edits;
}

/* The part of a path that is compared with known names: a100 of gpus/a100.yaml. */
static const char *bare_name(fsim_arena *a, const char *name)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = strrchr(base, '.');
    const bool yaml = dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
    return yaml ? fsim_strndup(a, base, (size_t)(dot - base)) : base;
}

/* The three nearest names, and all that begin with what was typed. */
const char *fsim_hw_nearest(fsim_arena *a, const char *name, const fsim_hw_folders *where)
{
    enum { LEAST_OFFERED = 3, MOST_OFFERED = 6 };
    int count = 0;
    const char **known = fsim_hw_list(a, where, &count, NULL), *offer = "", *typed = bare_name(a, name);
    for (int n = 0; n < MOST_OFFERED && n < count; n++) {
        int best = n;
        for (int i = n + 1; i < count; i++)
            if (farness(typed, known[i]) < farness(typed, known[best]))
                best = i;
        const char *chosen = known[best];
        if (n >= LEAST_OFFERED && strncasecmp(typed, chosen, strlen(typed)) != 0)
            break;
        memmove(known + n + 1, known + n, (size_t)(best - n) * sizeof *known); /* keep the rest sorted */
        known[n] = chosen;
        offer = fsim_printf(a, "%s%s%s", offer, n ? ", " : "; nearest: ", chosen);
    }
    return offer;
}

/* Is it a path, and not the name of a file in one of the folders? "-" (standard input) counts as a path. */
static bool is_path(const char *name)
{
    const size_t length = strlen(name);
    return strcmp(name, "-") == 0 || strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".yaml") == 0) ||
           (length > 4 && strcmp(name + length - 4, ".yml") == 0);
}

/* The path of the file of this name in the first folder that has one. NULL: there is none; *why is set where a file
 * exists but can't be read. */
static const char *path_of_name(fsim_arena *a, const char *name, const fsim_hw_folders *where, const char **why)
{
    const char *folder[3], *file = fsim_printf(a, "%s.yaml", name);
    const int folders = search_folders(where, folder);
    for (int i = 0; *name && i < folders; i++) {
        const char *at = in_folder(a, folder[i], file), *reason = unreadable(at);
        if (!reason)
            return at;
        if (!*why && strcmp(reason, not_there) != 0)
            *why = fsim_printf(a, "%s (%s)", reason, at);
    }
    return NULL;
}

const char *fsim_hw_find(fsim_arena *a, fsim_diag *d, const char *name, const fsim_hw_folders *where)
{
    const fsim_loc nowhere = {NULL, 0, 0};
    const char *why = NULL, *path = NULL;
    if (!is_path(name))
        path = path_of_name(a, name, where, &why);
    else if (strcmp(name, "-") == 0 || !(why = unreadable(name)))
        path = fsim_strdup(a, name);
    if (path)
        return path;
    if (why && strcmp(why, not_there) != 0)
        fsim_failure(d, FSIM_NO_INPUT, nowhere, "cannot read hardware file '%s': %s", name, why);
    else
        fsim_failure(d, FSIM_NO_INPUT, nowhere, "%s '%s'%s ('fusesim hw list' shows all)",
                     is_path(name) ? "no hardware file" : "unknown hardware", name, fsim_hw_nearest(a, name, where));
    return NULL;
}
