/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cpu/toolchain.h"

#include "base/file.h"
#include "validate/cpu/guard.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Flags that every compiler takes. */
static const char *const base_flags[] = {"-std=gnu11", "-O3", "-shared", "-fPIC", "-w"};
/* Flags that some compilers do not accept. Not -ffast-math: it simplifies (k + 12582912) - 12582912, which exp uses
 * to round. */
static const char *const speed_flags[] = {"-march=native", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd",
                                          "-mprefer-vector-width=512"};
enum { BASE_FLAGS = sizeof base_flags / sizeof *base_flags, SPEED_FLAGS = sizeof speed_flags / sizeof *speed_flags };

static char **english(fsim_arena *a)
{
    int count = 0, kept = 0;
    while (environ[count])
        count++;
    char **e = fsim_new(a, char *, count + 2);
    for (int i = 0; i < count; i++)
        if (strncmp(environ[i], "LC_ALL=", 7) != 0)
            e[kept++] = environ[i];
    e[kept] = fsim_strdup(a, "LC_ALL=C");
    return e;
}

pid_t fsim_toolchain_start(const fsim_toolchain *t, const char *const *argv, const char *log)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid = 0;
    if (posix_spawn_file_actions_init(&files) != 0)
        return 0;
    posix_spawnattr_init(&attributes);
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    if (posix_spawnp(&pid, argv[0], &files, &attributes, (char *const *)(const void *)argv, t->environment) != 0)
        pid = 0;
    if (pid > 0)
        fsim_guard_compiler(pid);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return pid;
}

bool fsim_toolchain_finish(pid_t pid)
{
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    fsim_guard_compiled(pid);
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

const char **fsim_toolchain_command(const fsim_toolchain *t, const char *const *more, int count, fsim_arena *a)
{
    const char **argv = fsim_new(a, const char *, t->words + count + 1);
    memcpy(argv, t->word, (size_t)t->words * sizeof *argv);
    memcpy(argv + t->words, more, (size_t)count * sizeof *argv);
    return argv;
}

static bool runs(const fsim_toolchain *t, const char *const *more, int count, const char *log, fsim_arena *a)
{
    return fsim_toolchain_finish(fsim_toolchain_start(t, fsim_toolchain_command(t, more, count, a), log));
}

static const char *text_of(fsim_arena *a, const char *path)
{
    size_t bytes = 0;
    const char *why = "", *text = fsim_read_file(a, path, &bytes, &why);
    return text ? text : "";
}

static const char *first_line(fsim_arena *a, const char *text) { return fsim_strndup(a, text, strcspn(text, "\n")); }

/* Splits the user's command into words; at most half of the words, so that ours have room. */
static bool split_command(const fsim_cpu_compiler *how, fsim_arena *a, fsim_toolchain *t)
{
    const char *own = how->compiler ? how->compiler : getenv("CC"), *p = own && *own ? own : "cc";
    *t = (fsim_toolchain){.environment = english(a), .flags = "", .version = ""};
    while (*(p += strspn(p, " \t"))) {
        const size_t length = strcspn(p, " \t");
        if (t->words == FSIM_TOOLCHAIN_WORDS / 2)
            return false;
        t->word[t->words++] = fsim_strndup(a, p, length);
        p += length;
    }
    return t->words > 0;
}

bool fsim_toolchain_find(const fsim_cpu_compiler *how, const char *folder, fsim_arena *a, fsim_toolchain *t)
{
    const char *log = fsim_printf(a, "%s/version.log", folder), *ask = "--version";
    if (!split_command(how, a, t) || !runs(t, &ask, 1, log, a))
        return false;
    t->version = first_line(a, text_of(a, log));
    return true;
}

static void add_flag(fsim_toolchain *t, const char *flag, fsim_arena *a)
{
    t->word[t->words++] = flag;
    t->flags = fsim_printf(a, "%s%s%s", t->flags, *t->flags ? " " : "", flag);
}

bool fsim_toolchain_choose_flags(fsim_toolchain *t, const char *folder, fsim_arena *a)
{
    const fsim_toolchain own = *t;
    const char *source = fsim_printf(a, "%s/flags.c", folder), *log = fsim_printf(a, "%s/flags.log", folder),
               *tail[SPEED_FLAGS + 4] = {"-Werror", "-fsyntax-only", source};
    FILE *out = fopen(source, "wb");
    const bool written = out && fputs("void f(void);\nvoid f(void) {}\n", out) >= 0;
    if ((out && fclose(out) != 0) || !written)
        return false;
    for (int i = 0; i < SPEED_FLAGS; i++)
        tail[3 + i] = speed_flags[i];
    const bool all = runs(&own, tail, 3 + SPEED_FLAGS, log, a); /* all flags at once; if that fails, each alone */
    t->words = 1;
    for (int i = 0; i < BASE_FLAGS; i++)
        add_flag(t, base_flags[i], a);
    for (int i = 0; i < SPEED_FLAGS; i++) {
        tail[3] = speed_flags[i];
        if (all || runs(&own, tail, 4, log, a))
            add_flag(t, speed_flags[i], a);
    }
    for (int i = 1; i < own.words; i++)
        add_flag(t, own.word[i], a);
    return true;
}

/* The CPU's features, which -march=native depends on. */
static const char *cpu_features(const char *info, fsim_arena *a)
{
    const char *flags = strstr(info, "\nflags"), *features = strstr(info, "\nFeatures");
    return flags ? first_line(a, flags + 1) : features ? first_line(a, features + 1) : "";
}

bool fsim_toolchain_salt(const fsim_toolchain *t, const char *header, fsim_arena *a, char hex[65], const char **why)
{
    const char *info = fsim_cpu_info(a, why);
    if (!info)
        return false;
    const char *all =
        fsim_printf(a, "%s\n%s\n%s\n%s", t->version, fsim_cpu_name(info, a), cpu_features(info, a), header);
    for (int i = 0; i < t->words; i++)
        all = fsim_printf(a, "%s\n%s", all, t->word[i]);
    fsim_sha256(all, strlen(all), hex);
    return true;
}
