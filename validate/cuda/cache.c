/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/cache.h"

#include "base/file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool make_folders(fsim_arena *a, const char *path, const char **why)
{
    char *part = fsim_strdup(a, path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)!mkdir(part, 0777); /* the last call reports what is missing */
        *slash = '/';
    }
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        *why = fsim_printf(a, "no folder %s: %s", path, strerror(errno));
        return false;
    }
    return true;
}

const char *fsim_cache_folder(fsim_arena *a, const char **why)
{
    const char *own = getenv("FUSESIM_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *path = NULL;
    if (own && own[0])
        path = own;
    else if (xdg && xdg[0] == '/')
        path = fsim_printf(a, "%s/fusesim", xdg);
    else if (home && home[0])
        path = fsim_printf(a, "%s/.cache/fusesim", home);
    else
        *why = "none of $FUSESIM_CACHE, $XDG_CACHE_HOME and $HOME is set";
    return path;
}

static const char magic[] = "fusesim-cubin 1";

static char *path_of(fsim_arena *a, const char *folder, const char *key)
{
    return fsim_printf(a, "%s/%s.cubin", folder, key);
}

/* First line: magic, hash of the rest, bytes of the log. Then the log, then the cubin. */
bool fsim_cache_get(fsim_arena *a, const char *folder, const char *key, fsim_cached *out)
{
    const char *why;
    size_t bytes = 0;
    char hash[65], actual[65];
    unsigned long long log_bytes = 0;
    char *text = fsim_read_file(a, path_of(a, folder, key), &bytes, &why);
    char *line_end = text ? memchr(text, '\n', bytes) : NULL;
    if (!line_end || strncmp(text, magic, sizeof magic - 1) != 0)
        return false;
    *line_end = 0;
    if (sscanf(text + sizeof magic - 1, " %64s %llu", hash, &log_bytes) != 2)
        return false;
    const char *rest = line_end + 1;
    const size_t rest_bytes = bytes - (size_t)(rest - text);
    fsim_sha256(rest, rest_bytes, actual);
    if (log_bytes > rest_bytes || strcmp(hash, actual) != 0)
        return false;
    char *cubin = fsim_new(a, char, rest_bytes - log_bytes + 1); /* aligned, as the driver reads it in place */
    memcpy(cubin, rest + log_bytes, rest_bytes - log_bytes);
    *out = (fsim_cached){
        .log = fsim_strndup(a, rest, (size_t)log_bytes), .cubin = cubin, .cubin_bytes = rest_bytes - (size_t)log_bytes};
    return true;
}

bool fsim_cache_put(fsim_arena *a, const char *folder, const char *key, const fsim_cached *item, const char **why)
{
    const size_t log_bytes = strlen(item->log), rest_bytes = log_bytes + item->cubin_bytes;
    char hash[65], *rest = fsim_new(a, char, rest_bytes + 1);
    memcpy(rest, item->log, log_bytes);
    memcpy(rest + log_bytes, item->cubin, item->cubin_bytes);
    fsim_sha256(rest, rest_bytes, hash);
    fsim_output *o = make_folders(a, folder, why) ? fsim_open_output(a, path_of(a, folder, key), why) : NULL;
    if (!o)
        return false;
    fprintf(fsim_stream(o), "%s %s %zu\n", magic, hash, log_bytes);
    fwrite(rest, 1, rest_bytes, fsim_stream(o));
    return fsim_commit(o, why);
}
