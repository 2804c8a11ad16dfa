/* SPDX-License-Identifier: Apache-2.0 */
/* compile.c: compiles programs to libraries with the host's compiler, several processes at once, in a temporary
 * folder. Results are cached by a hash of everything that they depend on. */
#include "base/file.h"
#include "validate/cpu/guard.h"
#include "validate/cpu/toolchain.h"
#include "validate/device/texts.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_CACHED = 2048 };

typedef struct {
    fsim_arena *arena;
    const fsim_cpu_compiler *how;
    fsim_toolchain tools;
    const char *folder, *cache; /* temporary folder; NULL: no cache */
    char salt[65];              /* hash of everything that libraries depend on except their source */
} builder;

/* Files. */

static bool write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "wb");
    bool good = out && fputs(text, out) >= 0;
    if (out && fclose(out) != 0)
        good = false;
    return good;
}

static const char *text_of(fsim_arena *a, const char *path)
{
    size_t bytes = 0;
    const char *why = "", *text = fsim_read_file(a, path, &bytes, &why);
    return text ? text : "";
}

static const char *first_line(fsim_arena *a, const char *text) { return fsim_strndup(a, text, strcspn(text, "\n")); }

static void make_folders(fsim_arena *a, const char *path)
{
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/'))
        mkdir(fsim_strndup(a, path, (size_t)(slash - path)), 0700);
    mkdir(path, 0700);
}

/* A cache folder in which nobody else can put libraries; NULL where there is none. */
static const char *cache_folder(fsim_arena *a, const char *given)
{
    const char *own = getenv("FUSESIM_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *path = given;
    struct stat st;
    if (!path)
        path = own                    ? own
               : xdg && *xdg == '/'   ? fsim_printf(a, "%s/fusesim", xdg)
               : home && *home == '/' ? fsim_printf(a, "%s/.cache/fusesim", home)
                                      : "";
    if (!*path)
        return NULL;
    make_folders(a, path);
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH))
               ? path
               : NULL;
}

static const char *in(fsim_arena *a, const char *folder, const char *name, const char *end)
{
    return fsim_printf(a, "%s/%s%s", folder, name, end);
}

/* A text to compile: without names (validate/device/texts.h), or with its kernel's own names. */

typedef struct {
    const char *name, *source; /* name of its files; its source in C */
    const char **symbol;       /* names of its entries */
    int entries;
    bool nameless, joins;   /* joins: may be in one file with other texts */
    const char *cached;     /* path; NULL where there is no cache */
    fsim_cpu_entry **entry; /* NULL: not loaded yet */
    const char *failed;
    bool machine; /* it failed by this machine (disk, linker, a compiler that was killed), and not by its source */
    bool from_cache;
} job;

/* A running compiler, with one text or several in one file. */
typedef struct {
    pid_t pid;
    job **of;
    int jobs;
    const char *file, *library, *log; /* paths */
} process;

static bool is_identifier(const char *name)
{
    size_t length = name ? strlen(name) : 0;
    if (length == 0 || length > 200 || isdigit((unsigned char)*name))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_')
            return false;
    return true;
}

static const char *cached_path(const builder *b, const char *source)
{
    char hex[65];
    const char *all = fsim_printf(b->arena, "%s\n%s", b->salt, source);
    fsim_sha256(all, strlen(all), hex);
    return b->cache ? fsim_printf(b->arena, "%s/%s.so", b->cache, hex) : NULL;
}

/* Loads a library and looks up its entries. False, with the library closed, where one is missing. */
static bool load(fsim_arena *a, const char *path, job *j, fsim_cpu_module *m)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        j->failed = fsim_printf(a, "cannot load what was compiled: %s", dlerror());
        j->machine = true;
        return false;
    }
    fsim_cpu_entry **entry = fsim_new(a, fsim_cpu_entry *, j->entries + 1);
    for (int i = 0; i < j->entries; i++) {
        void *symbol = dlsym(library, j->symbol[i]);
        memcpy(&entry[i], &symbol, sizeof symbol); /* POSIX's conversion from an object pointer to a function pointer */
        if (!symbol) {
            j->failed = fsim_printf(a, "no function '%s' in its source", j->symbol[i]);
            dlclose(library);
            return false;
        }
    }
    j->entry = entry;
    j->failed = NULL;
    m->library[m->libraries++] = library;
    return true;
}

/* Several texts as one, with distinct entries: macros rename what nameless texts call theirs. */
static const char *joined(fsim_arena *a, job *const *of, int jobs)
{
    const char *all = "";
    for (int i = 0; i < jobs; i++) {
        for (int k = 0; k < of[i]->entries; k++)
            all = fsim_printf(a, "%s#undef %s\n#define %s %s\n", all, fsim_nameless_entry(k, a),
                              fsim_nameless_entry(k, a), of[i]->symbol[k]);
        all = fsim_printf(a, "%s%s\n", all, of[i]->source);
    }
    return all;
}

static void begin(const builder *b, process *p)
{
    fsim_arena *a = b->arena;
    const char *name = p->of[0]->name;
    p->file = in(a, b->folder, name, ".c");
    p->library = in(a, b->folder, name, ".so");
    p->log = in(a, b->folder, name, ".log");
    const char *tail[] = {"-o", p->library, p->file, "-lm"};
    if (write_text(p->file, p->of[0]->nameless ? joined(a, p->of, p->jobs) : p->of[0]->source))
        p->pid = fsim_toolchain_start(&b->tools, fsim_toolchain_command(&b->tools, tail, sizeof tail / sizeof *tail, a),
                                      p->log);
    if (p->pid)
        return;
    for (int i = 0; i < p->jobs; i++) {
        p->of[i]->failed = "cannot write its source, or start the compiler";
        p->of[i]->machine = true;
    }
    unlink(p->file);
    unlink(p->log);
}

/* The first error of the compiler, without the path, and the source line that it refers to. Where it refers to none,
 * the machine is to blame, and not the source. */
static const char *first_error(const builder *b, job *j, const char *log)
{
    const char *error = strstr(log, "error:"), *line = error, *own = fsim_printf(b->arena, "%s.c:", j->name),
               *source = j->source;
    while (line && line > log && line[-1] != '\n')
        line--;
    const char *text = first_line(b->arena, line ? line : log), *at = strstr(text, own);
    int number = at ? atoi(at + strlen(own)) : 0;
    j->machine = number == 0 || strstr(log, "No space left on device");
    for (int i = 1; i < number && *source; i++) {
        source += strcspn(source, "\n");
        source += *source == '\n';
    }
    return fsim_printf(b->arena, "%s%s%s", *text ? at ? at : text : "the compiler failed without a word",
                       number > 0 ? "\n    " : "", number > 0 ? first_line(b->arena, source) : "");
}

/* Copies a library to the cache, complete or not at all. If the cache can't be written, nothing is cached. */
static void keep(const builder *b, const char *library, const char *cached)
{
    size_t bytes = 0;
    const char *why = "", *data = fsim_read_file(b->arena, library, &bytes, &why);
    fsim_output *o = data ? fsim_open_output(b->arena, cached, &why) : NULL;
    if (o) {
        fwrite(data, 1, bytes, fsim_stream(o));
        fsim_commit(o, &why);
    }
}

static void end(const builder *b, process *p, fsim_cpu_module *m)
{
    const bool good = fsim_toolchain_finish(p->pid);
    const char *kept = NULL;
    for (int i = 0; i < p->jobs; i++) {
        job *j = p->of[i];
        if (!good)
            j->failed = p->jobs > 1 ? "not compiled among others" : first_error(b, j, text_of(b->arena, p->log));
        else if (load(b->arena, p->library, j, m) && j->cached) {
            const fsim_mark inner = fsim_save(b->arena);
            if (kept)
                unlink(j->cached); /* a cached file that could not be loaded */
            if (!kept || link(kept, j->cached) != 0)
                keep(b, p->library, j->cached);
            kept = j->cached;
            fsim_rewind(b->arena, inner);
        }
    }
    unlink(p->file);
    unlink(p->library);
    unlink(p->log);
}

typedef struct {
    time_t used;
    char name[72];
} cache_entry;

static int by_use(const void *a, const void *b)
{
    const time_t x = ((const cache_entry *)a)->used, y = ((const cache_entry *)b)->used;
    return (x > y) - (x < y);
}

/* Deletes the libraries that were not used for longest, where there are many; each has about 20 KB. */
static void trim_cache(const builder *b)
{
    cache_entry *e = NULL;
    int count = 0, room = 0;
    DIR *d = b->cache ? opendir(b->cache) : NULL;
    for (const struct dirent *f = d ? readdir(d) : NULL; f; f = readdir(d)) {
        struct stat st;
        if (strlen(f->d_name) == 64 + strlen(".so") && fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            cache_entry *last = FSIM_PUSH(b->arena, e, count, room);
            last->used = st.st_mtime;
            memcpy(last->name, f->d_name, strlen(f->d_name) + 1);
        }
    }
    if (count > MOST_CACHED)
        qsort(e, (size_t)count, sizeof *e, by_use);
    for (int i = 0; count > MOST_CACHED && i < count - MOST_CACHED / 2; i++)
        unlinkat(dirfd(d), e[i].name, 0);
    if (d)
        closedir(d);
}

/* Runs the compilers, `jobs` at a time. */
static void run_all(const builder *b, process *p, int count, fsim_cpu_module *m)
{
    const int most = b->how->jobs > 0 ? b->how->jobs : fsim_cpu_count();
    int oldest = 0, running = 0;
    for (int i = 0; i < count; i++) {
        for (; running >= most; oldest++)
            if (p[oldest].pid) {
                end(b, &p[oldest], m);
                running--;
            }
        begin(b, &p[i]);
        running += p[i].pid > 0;
        m->compilers += p[i].pid > 0;
    }
    for (; oldest < count; oldest++)
        if (p[oldest].pid)
            end(b, &p[oldest], m);
}

static bool is_wide(const job *j) { return strstr(j->source, "#define FS_WIDE\n") != NULL; }

/* Compiles the texts that are not loaded, each alone or up to `together` in a file. A file includes the header once,
 * so all texts in it must include it alike. */
static void compile_rest(const builder *b, job *j, int count, int together, fsim_cpu_module *m)
{
    process *p = fsim_new(b->arena, process, count + 1);
    int processes = 0, open[2] = {-1, -1};
    for (int i = 0; i < count; i++) {
        if (j[i].entry)
            continue;
        const int kind = is_wide(&j[i]);
        int at = j[i].joins && open[kind] >= 0 && p[open[kind]].jobs < together ? open[kind] : -1;
        if (at < 0) {
            at = processes++;
            p[at].of = fsim_new(b->arena, job *, together);
            open[kind] = j[i].joins ? at : open[kind];
        }
        p[at].of[p[at].jobs++] = &j[i];
    }
    run_all(b, p, processes, m);
}

/* Loads texts from the cache, and compiles the others. Starting a compiler, and its reading of the header, takes as
 * long as compiling a short text; so texts are joined. */
static void compile_all(const builder *b, job *j, int count, fsim_cpu_module *m)
{
    enum { TOGETHER = 16 };
    const int most = b->how->jobs > 0 ? b->how->jobs : fsim_cpu_count();
    int rest = 0;
    for (int i = 0; i < count; i++) {
        j[i].cached = cached_path(b, j[i].source);
        j[i].from_cache =
            j[i].cached && access(j[i].cached, R_OK) == 0 &&
            load(b->arena, j[i].cached, &j[i], m); /* fails if the cached file is damaged; then it is compiled */
        if (j[i].from_cache)
            utimensat(AT_FDCWD, j[i].cached, NULL, 0);
        rest += !j[i].from_cache;
    }
    m->compiled += rest;
    const int share = (rest + most - 1) / most, together = share > TOGETHER ? TOGETHER : share;
    compile_rest(b, j, count, together > 1 ? together : 1, m);
    if (together > 1)
        compile_rest(b, j, count, 1, m); /* an error in one text is reported for all in its file: compile each alone */
}

static void take(fsim_cpu_kernel *k, const job *j)
{
    k->entry = j->entry;
    k->cached = j->from_cache;
}

/* Is the text as the generator writes it, with no file-level names but its entries? Only such texts can be joined. */
static bool joins(const char *source)
{
    const char *wide = strstr(source, "#define FS_WIDE\n"), *define = strstr(source, "#define");
    return strstr(source, "\nFS_ENTRY(") && define == wide && (!wide || !strstr(wide + 1, "#define")) &&
           !strstr(source, "static") && !strstr(source, "typedef") && !strstr(source, "#undef");
}

/* Entries are named by a hash of the text, because a library may contain several texts. */
static job nameless_job(const builder *b, const fsim_nameless *t, int number)
{
    fsim_arena *a = b->arena;
    job j = {.name = fsim_printf(a, "text_%d", number),
             .source = t->source,
             .symbol = fsim_new(a, const char *, t->program->launches + 1),
             .entries = t->program->launches,
             .nameless = true,
             .joins = b->how->header && joins(t->source)};
    char hex[65];
    fsim_sha256(t->source, strlen(t->source), hex);
    for (int i = 0; i < j.entries; i++)
        j.symbol[i] = fsim_printf(a, "fs_%.32s_%d", hex, i);
    return j;
}

static job own_job(const fsim_program *p, fsim_arena *a)
{
    job j = {.name = p->name,
             .source = p->source,
             .symbol = fsim_new(a, const char *, p->launches + 1),
             .entries = p->launches};
    for (int i = 0; i < j.entries; i++)
        j.symbol[i] = p->launch[i].entry;
    return j;
}

/* Compiles each distinct text once. A text that fails is compiled again with each kernel's own names, so that
 * messages use them. */
static void compile_kernels(const builder *b, fsim_cpu_module *m)
{
    fsim_arena *a = b->arena;
    fsim_texts texts = {.a = a};
    int *text = fsim_new(a, int, m->kernels + 1);
    for (int i = 0; i < m->kernels; i++) {
        fsim_cpu_kernel *k = &m->kernel[i];
        const fsim_program *p = k->program;
        if (!p->source || !is_identifier(p->name))
            k->failed = !p->source && p->skipped ? p->skipped : "no source, or a name that is no identifier";
        else
            text[i] = fsim_texts_add(&texts, p, 0);
    }
    job *j = fsim_new(a, job, texts.count + 1);
    for (int i = 0; i < texts.count; i++)
        j[i] = nameless_job(b, &texts.at[i], i);
    compile_all(b, j, texts.count, m);
    m->texts = texts.count;
    for (int i = 0; i < m->kernels; i++) {
        fsim_cpu_kernel *k = &m->kernel[i];
        if (k->failed)
            continue;
        if (!j[text[i]].entry) {
            job own = own_job(k->program, a);
            compile_all(b, &own, 1, m);
            k->failed = own.failed ? fsim_printf(a, "%s: %s", own.name, own.failed) : NULL;
            m->broken = own.failed && own.machine && !m->broken ? k->failed : m->broken;
            take(k, &own);
            continue;
        }
        take(k, &j[text[i]]);
    }
}

static const char *temporary_folder(fsim_arena *a)
{
    const char *parent = getenv("TMPDIR");
    char *path = fsim_printf(a, "%s/%sXXXXXX", parent && *parent ? parent : "/tmp", fsim_guard_prefix(a));
    return mkdtemp(path);
}

/* Deletes the folder, which is empty: each kernel's files were deleted before. */
static void remove_folder(const builder *b)
{
    static const char *const own[] = {"fusesim_dialect.h", "flags.c", "flags.log", "version.log"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        unlink(in(b->arena, b->folder, own[i], ""));
    rmdir(b->folder);
}

/* Why there is no temporary folder. In a. */
static const char *no_folder(fsim_arena *a)
{
    const char *parent = getenv("TMPDIR"), *reason = strerror(errno);
    return fsim_printf(a, "no temporary folder in '%s': %s; TMPDIR names another place",
                       parent && *parent ? parent : "/tmp", reason);
}

bool fsim_cpu_has_compiler(const fsim_cpu_compiler *how, fsim_arena *a, const char **why)
{
    builder b = {.arena = a, .how = how, .folder = temporary_folder(a)};
    *why = b.folder ? NULL : no_folder(a);
    if (!b.folder)
        return false;
    if (!fsim_toolchain_find(how, b.folder, a, &b.tools))
        *why =
            fsim_printf(a, "no C compiler: tried '%s'; set CC, or install gcc", b.tools.words ? b.tools.word[0] : "cc");
    remove_folder(&b);
    return !*why;
}

/* The flags, the header and the name in the cache of all that is compiled. False with *why set. */
static bool prepare(builder *b, const char **why)
{
    fsim_arena *a = b->arena;
    const char *header = b->how->header ? b->how->header : "";
    const bool written = fsim_toolchain_choose_flags(&b->tools, b->folder, a) &&
                         (!b->how->header || write_text(in(a, b->folder, "fusesim_dialect", ".h"),
                                                        fsim_printf(a, "%s\n#pragma once\n", header)));
    if (!written)
        *why = fsim_printf(a, "cannot write to '%s'", b->folder);
    return written && fsim_toolchain_salt(&b->tools, header, a, b->salt, why);
}

fsim_cpu_module *fsim_cpu_compile(const fsim_program *program, int count, const fsim_cpu_compiler *how, fsim_arena *a,
                                  const char **why)
{
    const double start_s = fsim_now_s();
    builder b = {.arena = a, .how = how, .folder = temporary_folder(a)};
    fsim_cpu_module *m = fsim_new(a, fsim_cpu_module, 1);
    *why = NULL;
    if (!b.folder) {
        *why = no_folder(a);
        return NULL;
    }
    if (!fsim_toolchain_find(how, b.folder, a, &b.tools)) {
        *why = fsim_printf(a, "no C compiler: '%s' does not start; set CC", b.tools.words ? b.tools.word[0] : "cc");
        remove_folder(&b);
        return NULL;
    }
    b.cache = cache_folder(a, how->cache);
    if (!prepare(&b, why)) {
        remove_folder(&b);
        return NULL;
    }
    *m = (fsim_cpu_module){.kernel = fsim_new(a, fsim_cpu_kernel, count + 1),
                           .kernels = count,
                           .library = fsim_new(a, void *, 2 * count + 1)};
    m->compiler = fsim_printf(a, "%s, %s", b.tools.version, b.tools.flags);
    for (int i = 0; i < count; i++)
        m->kernel[i].program = &program[i];
    compile_kernels(&b, m);
    trim_cache(&b);
    remove_folder(&b);
    if (m->broken) {
        *why = fsim_printf(a, "the kernels could not be compiled on this machine: %s", m->broken);
        fsim_cpu_unload(m);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        m->failures += m->kernel[i].failed != NULL && !program[i].skipped;
        m->cached += m->kernel[i].cached;
    }
    m->compile_s = fsim_now_s() - start_s;
    return m;
}

void fsim_cpu_unload(fsim_cpu_module *m)
{
    for (int i = 0; m && i < m->libraries; i++)
        dlclose(m->library[i]);
    for (int i = 0; m && i < m->kernels; i++)
        m->kernel[i].entry = NULL;
    if (m)
        m->libraries = 0;
}
