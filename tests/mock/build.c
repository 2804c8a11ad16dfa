/* SPDX-License-Identifier: Apache-2.0 */
#include "build.h"

#include "base/file.h"
#include "emit/program.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *cc = "cc -std=gnu11 -fPIC -shared -Wl,-Bsymbolic -ffp-contract=off -DFS_EMULATED";

static bool write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    const bool good = f && fputs(text, f) >= 0;
    return f && fclose(f) == 0 && good;
}

static const char *hash_of(fsim_arena *a, const char *text, const char *flags)
{
    size_t bytes = 0;
    const char *why = "", *emulated = fsim_read_file(a, MOCK_EMULATED_H, &bytes, &why);
    char *hex = fsim_new(a, char, 65);
    const char *all =
        fsim_printf(a, "%s %s\n%s\n%s\n%s", cc, flags, emulated ? emulated : why, fsim_dialect_text, text);
    fsim_sha256(all, strlen(all), hex);
    return hex;
}

/* Where libraries go: the cache, or a folder of our own. */
static const char *library_folder(fsim_arena *a)
{
    const char *cache = getenv("FUSESIM_CACHE");
    char *own = fsim_printf(a, "/tmp/fusesim-emulated-XXXXXX");
    if (!cache || !*cache)
        return mkdtemp(own);
    const char *folder = fsim_printf(a, "%s/emulated", cache);
    mkdir(cache, 0700);
    mkdir(folder, 0700);
    return access(folder, W_OK) == 0 ? folder : mkdtemp(own);
}

const char **mock_build(const char *const *text, int count, const char *flags, fsim_arena *a)
{
    const char **library = fsim_new(a, const char *, count + 1), *to = library_folder(a);
    char *folder = fsim_printf(a, "/tmp/fusesim-build-XXXXXX");
    if (!to || !mkdtemp(folder))
        return library;
    const int most = (int)sysconf(_SC_NPROCESSORS_ONLN);
    const char *command = fsim_printf(a, "cd %s || exit 1\n", folder);
    int running = 0;
    write_text(fsim_printf(a, "%s/fusesim_dialect.h", folder), fsim_dialect_text);
    for (int i = 0; i < count; i++) {
        if (!text[i])
            continue;
        const char *name = hash_of(a, text[i], flags);
        library[i] = fsim_printf(a, "%s/%s.so", to, name);
        const char *source = fsim_printf(a, "%s/%s.c", folder, name);
        if (access(library[i], R_OK) == 0 || access(source, R_OK) == 0)
            continue;
        write_text(source, text[i]);
        command =
            fsim_printf(a, "%s{ %s %s -include %s -I. -o %s.so %s.c -lm && mv %s.so %s; } &\n%s", command, cc, flags,
                        MOCK_EMULATED_H, name, name, name, library[i], ++running % most == 0 ? "wait\n" : "");
    }
    if (system(fsim_printf(a, "%swait\nrm -r %s", command, folder)) != 0)
        return library;
    for (int i = 0; i < count; i++)
        library[i] = library[i] && access(library[i], R_OK) == 0 ? library[i] : NULL;
    return library;
}

void mock_build_end(const char *const *library, int count)
{
    const char *folder = NULL;
    for (int i = 0; i < count; i++)
        if (library[i] && strncmp(library[i], "/tmp/fusesim-emulated-", 22) == 0) {
            unlink(library[i]);
            folder = library[i];
        }
    char *own = folder ? strdup(folder) : NULL;
    if (own) {
        *strrchr(own, '/') = 0;
        rmdir(own);
    }
    free(own);
}
