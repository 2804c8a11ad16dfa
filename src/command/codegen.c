/* SPDX-License-Identifier: Apache-2.0 */
/* codegen: the kernels of a plan as a folder: sources, a launcher, a Makefile, a manifest. */
#include "command/command.h"
#include "plan/price/price.h"
#include "report/project.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder. */

/* Where a file is written, and where it is moved to. */
typedef struct {
    const char *aside, *last;
} paths;

typedef struct {
    fsim_context *c;
    const fsim_project *p;
    const char *folder, *aside; /* files are written to `aside`, and moved when all are complete */
    paths *file;
    fsim_words stale;
} writer;

static const char *in_folder(const writer *w, const char *folder, const char *name)
{
    return fsim_printf(w->c->arena, "%s/%s", folder, name);
}

static bool fail(const writer *w, const char *name, int error)
{
    fsim_failure(w->c->diag, FSIM_FAILED, fsim_command_line, "-o: cannot write '%s': %s", in_folder(w, w->folder, name),
                 fsim_reason(error));
    return false;
}

/* k0_name.cu, k12_name.c, launcher.cu or launcher.c, and nothing else. */
static bool is_kernel_or_launcher(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const size_t digits = *name == 'k' ? strspn(name + 1, "0123456789") : 0;
    if (strcmp(name, "launcher.cu") == 0 || strcmp(name, "launcher.c") == 0)
        return true;
    if (digits == 0 || name[1 + digits] != '_')
        return false;
    const char *end = name + strspn(name, letters);
    return strcmp(end, ".cu") == 0 || strcmp(end, ".c") == 0;
}

/* Is there a file of bytes? A pipe that has the name of one would be waited for. */
static bool is_regular(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The file names in the manifest of an earlier run; NULL where there is none. In a. */
static const fsim_words *listed_in(fsim_arena *a, const char *folder)
{
    size_t bytes = 0;
    const char *why = "", *path = fsim_printf(a, "%s/manifest.json", folder),
               *text = is_regular(path) ? fsim_read_file(a, path, &bytes, &why) : NULL;
    const fsim_yaml *y = text ? fsim_yaml_parse(a, fsim_diag_new(a), path, text, bytes) : NULL;
    const fsim_yaml *files =
        y && y->kind == FSIM_YAML_MAPPING && fsim_yaml_get(y, "fusesim") ? fsim_yaml_get(y, "files") : NULL;
    if (!files || files->kind != FSIM_YAML_SEQUENCE)
        return NULL;
    fsim_words *listed = fsim_new(a, fsim_words, 1);
    for (int i = 0; i < files->count; i++)
        if (files->item[i]->kind == FSIM_YAML_SCALAR)
            *FSIM_PUSH(a, listed->at, listed->count, listed->room) = files->item[i]->text;
    return listed;
}

/* Was the file written by fusesim? Its first lines say so. False for a folder. */
static bool is_marked(fsim_arena *a, const char *path)
{
    enum { HEAD_BYTES = 65536 };
    static const char *const marks[] = {"ritten by fusesim ", "/* fusesim_dialect.h: ", "\"fusesim\": "};
    char *head = fsim_new(a, char, HEAD_BYTES + 1);
    FILE *in = is_regular(path) ? fopen(path, "rb") : NULL;
    const size_t bytes = in ? fread(head, 1, HEAD_BYTES, in) : 0;
    bool marked = false;
    for (int i = 0; i < FSIM_COUNT_OF(marks); i++)
        marked = marked || memmem(head, bytes, marks[i], strlen(marks[i]));
    if (in)
        fclose(in);
    return marked;
}

/* An error that names the first few. */
static void refuse(fsim_context *c, const char *folder, const fsim_words *foreign)
{
    enum { NAMED = 5 };
    const char *names = "";
    for (int i = 0; i < foreign->count && i < NAMED; i++)
        names = fsim_printf(c->arena, "%s%s'%s'", names, i ? ", " : "", foreign->at[i]);
    if (foreign->count > NAMED)
        names = fsim_printf(c->arena, "%s and %d more", names, foreign->count - NAMED);
    fsim_error(c->diag, fsim_command_line,
               "-o: '%s' holds files that fusesim did not write: %s; name an empty folder, or one that codegen wrote",
               folder, names);
}

static int by_name(const void *x, const void *y) { return strcmp(*(const char *const *)x, *(const char *const *)y); }

/* A folder without a manifest may contain only files that fusesim wrote, and hidden files. */
static void check_contents(fsim_context *c, const char *folder)
{
    fsim_words foreign = {0};
    DIR *dir = listed_in(c->arena, folder) ? NULL : fsim_open_folder(folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        if (e->d_name[0] != '.' && !is_marked(c->arena, fsim_printf(c->arena, "%s/%s", folder, e->d_name)))
            *FSIM_PUSH(c->arena, foreign.at, foreign.count, foreign.room) = fsim_strdup(c->arena, e->d_name);
    if (dir)
        closedir(dir);
    if (foreign.count > 1)
        qsort(foreign.at, (size_t)foreign.count, sizeof *foreign.at, by_name);
    if (foreign.count > 0)
        refuse(c, folder, &foreign);
}

/* Checks, before anything is written, that no file of somebody else has the name of a file to be written. False
 * after an error. */
static bool check_names(const writer *w)
{
    fsim_arena *a = w->c->arena;
    const fsim_words *listed = listed_in(a, w->folder);
    fsim_words foreign = {0};
    for (int i = 0; i < w->p->files; i++) {
        const char *name = w->p->file[i].name, *path = in_folder(w, w->folder, name);
        struct stat st;
        if (lstat(path, &st) == 0 && !(listed && fsim_among(name, listed->at, listed->count)) && !is_marked(a, path))
            *FSIM_PUSH(a, foreign.at, foreign.count, foreign.room) = name;
    }
    if (foreign.count > 0)
        refuse(w->c, w->folder, &foreign);
    return foreign.count == 0;
}

/* Checks, before any work, that the folder can exist. */
static bool check_folder(fsim_context *c)
{
    const char *folder = c->set.output;
    size_t length = strlen(folder);
    struct stat st;
    if (fsim_is_stdout(folder) || length == 0) {
        fsim_error(c->diag, fsim_command_line, "-o: codegen writes a folder, not %s",
                   length ? "stdout" : "a nameless one");
        return false;
    }
    if (stat(folder, &st) == 0) {
        if (!S_ISDIR(st.st_mode))
            fsim_error(c->diag, fsim_command_line, "-o: '%s' is a file; codegen writes a folder", folder);
        else if (access(folder, W_OK | X_OK) != 0)
            fsim_error(c->diag, fsim_command_line, "-o: cannot write into '%s': %s", folder, fsim_reason(errno));
        else
            check_contents(c, folder);
        return fsim_errors(c->diag) == 0;
    }
    const int error = errno;
    while (length > 1 && folder[length - 1] == '/')
        length--;
    while (length > 0 && folder[length - 1] != '/')
        length--;
    const char *parent = length ? fsim_strndup(c->arena, folder, length) : ".";
    if (error != ENOENT || stat(parent, &st) != 0 || !S_ISDIR(st.st_mode))
        fsim_error(c->diag, fsim_command_line, "-o: cannot make folder '%s': %s", folder,
                   error == ENOENT ? "no such folder" : fsim_reason(error));
    else if (access(parent, W_OK | X_OK) != 0)
        fsim_error(c->diag, fsim_command_line, "-o: cannot make folder '%s': %s", folder, fsim_reason(errno));
    return fsim_errors(c->diag) == 0;
}

/* Finds the files of an earlier run's manifest that this run does not write. */
static void find_stale(writer *w)
{
    const fsim_words *listed = listed_in(w->c->arena, w->folder);
    const int count = listed ? listed->count : 0;
    w->stale.at = fsim_new(w->c->arena, const char *, count + 1);
    for (int i = 0; i < count; i++) {
        bool stale = is_kernel_or_launcher(listed->at[i]);
        for (int k = 0; k < w->p->files && stale; k++)
            stale = strcmp(listed->at[i], w->p->file[k].name) != 0;
        if (stale)
            w->stale.at[w->stale.count++] = listed->at[i];
    }
}

/* Sets the paths of all files, so that no memory is asked for while the folder aside exists. */
static void name_files(writer *w)
{
    w->aside = in_folder(w, w->folder, fsim_printf(w->c->arena, ".codegen.%ld.tmp", (long)getpid()));
    w->file = fsim_new(w->c->arena, paths, w->p->files);
    for (int i = 0; i < w->p->files; i++)
        w->file[i] = (paths){in_folder(w, w->aside, w->p->file[i].name), in_folder(w, w->folder, w->p->file[i].name)};
}

static bool write_aside(const writer *w)
{
    for (int i = 0; i < w->p->files; i++) {
        const fsim_project_file *f = &w->p->file[i];
        struct stat st;
        errno = 0;
        FILE *out = fopen(w->file[i].aside, "wb");
        bool good = out && fputs(f->text, out) >= 0;
        int error = errno;
        if (out && fclose(out) != 0 && good) {
            good = false;
            error = errno;
        }
        if (good && stat(w->file[i].last, &st) == 0 && S_ISDIR(st.st_mode)) {
            good = false;
            error = EISDIR;
        }
        if (!good)
            return fail(w, f->name, error);
    }
    return true;
}

/* The manifest is moved last: every file that it lists exists then. */
static bool move_all(writer *w)
{
    int removed = 0;
    for (int i = 0; i < w->p->files; i++) {
        const char *name = w->p->file[i].name;
        for (int k = 0; k < w->stale.count && i + 1 == w->p->files; k++)
            if (unlink(in_folder(w, w->folder, w->stale.at[k])) == 0)
                w->stale.at[removed++] = w->stale.at[k];
        if (rename(w->file[i].aside, w->file[i].last) != 0)
            return fail(w, name, errno);
    }
    w->stale.count = removed;
    return true;
}

/* Deletes what runs that were killed left in the folder, which is locked: .codegen.PID.tmp. */
static void sweep(const writer *w)
{
    DIR *in = fsim_open_folder(w->folder);
    for (const struct dirent *e; in && (e = readdir(in));) {
        int end = 0;
        if (sscanf(e->d_name, ".codegen.%*d.tmp%n", &end) != 0 || end == 0 || e->d_name[end])
            continue;
        struct stat st;
        const char *left = in_folder(w, w->folder, e->d_name);
        if (lstat(left, &st) != 0 || !S_ISDIR(st.st_mode)) /* what a link leads to is not ours */
            continue;
        for (int i = 0; i < w->p->files; i++)
            unlink(in_folder(w, left, w->p->file[i].name));
        rmdir(left);
    }
    if (in)
        closedir(in);
}

/* Waits until no other run writes into the folder. The folder's descriptor, which holds the lock; -1 after an error. */
static int locked(const writer *w)
{
    const int folder = open(w->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (folder >= 0 && flock(folder, LOCK_EX) != 0 && errno == EINTR)
        ;
    if (folder < 0)
        fsim_failure(w->c->diag, FSIM_FAILED, fsim_command_line, "-o: cannot write into '%s': %s", w->folder,
                     fsim_reason(errno));
    else
        sweep(w);
    return folder;
}

static bool write_folder(writer *w)
{
    const bool created = mkdir(w->folder, 0777) == 0;
    if (!created && errno != EEXIST) {
        fsim_failure(w->c->diag, FSIM_FAILED, fsim_command_line, "-o: cannot make folder '%s': %s", w->folder,
                     fsim_reason(errno));
        return false;
    }
    const int lock = locked(w);
    if (lock < 0)
        return false;
    name_files(w);
    find_stale(w);
    bool good = mkdir(w->aside, 0777) == 0;
    if (!good)
        fsim_failure(w->c->diag, FSIM_FAILED, fsim_command_line, "-o: cannot write into '%s': %s", w->folder,
                     fsim_reason(errno));
    good = good && write_aside(w) && move_all(w);
    for (int i = 0; i < w->p->files && !good; i++)
        unlink(w->file[i].aside);
    rmdir(w->aside);
    close(lock);
    if (created && !good)
        rmdir(w->folder);
    return good;
}

/* The plan. */

/* The chosen partition with fusesim's own kernels and their own times. */
static fsim_project project_of(const fsim_context *c, const fsim_inputs *in)
{
    const fsim_prediction found = fsim_predict(in->graph, in->hw[0], &in->how, c->arena);
    const fsim_plan *chosen = &found.plan[found.chosen];
    fsim_options how = in->how;
    fsim_refusal why;
    fsim_plan whole;
    fsim_project p = {.graph = found.graph,
                      .hw = in->hw[0],
                      .strategy = fsim_strategy_names[found.chosen],
                      .borrowed = fsim_maker_in(&found, found.chosen) != FSIM_BY_FUSESIM,
                      .host = c->set.target == 1,
                      .warm = how.warm,
                      .strict = how.strict,
                      .scale = c->set.scale > 1 ? c->set.scale : 1,
                      .regime = how.regime,
                      .jobs = fsim_jobs_of(c->set.jobs),
                      .plan = *chosen,
                      .time_s = chosen->time_s};
    fsim_problem as_asked = fsim_problem_of(found.graph, in->hw[0], &how, c->arena);
    if (fsim_price(&as_asked, fsim_priced_partition(chosen), c->arena, &whole, &why))
        p.time_s = whole.time_s;
    how.regime = FSIM_REGIME_KERNEL;
    fsim_problem alone = fsim_problem_of(found.graph, in->hw[0], &how, c->arena);
    fsim_price(&alone, fsim_priced_partition(chosen), c->arena, &p.plan, &why);
    return p;
}

int fsim_run_codegen(fsim_context *c)
{
    fsim_inputs in;
    if (!c->set.output)
        fsim_error(c->diag, fsim_command_line, "codegen wants -o DIR, the folder to write");
    if (!c->set.output || !check_folder(c))
        return fsim_usage_status(c);
    int status = fsim_begin(c, &in);
    if (status)
        return status;
    fsim_project p = project_of(c, &in);
    fsim_project_finish(&p, c->arena);
    if (!p.host && p.hw->arch->plain) {
        fsim_error(c->diag, fsim_command_line,
                   "codegen can't write for %s: it is no GPU (architecture: generic), and there is no CUDA for it; "
                   "--target c writes C for this machine",
                   p.hw->name);
        return fsim_usage_status(c);
    }
    if (!p.host && p.hw->sm == 0)
        fsim_warning(c->diag, fsim_command_line,
                     "%s is %s, which does not run CUDA: for another GPU say 'make ARCH=sm_NN'%s", p.hw->name,
                     p.hw->architecture, p.hw->host ? ", or --target c for this machine" : "");
    writer w = {.c = c, .p = &p, .folder = c->set.output};
    const fsim_shown_project what = {&p, w.folder, &w.stale};
    if (!check_names(&w))
        return fsim_give_up_outputs(c, FSIM_EXIT_USAGE);
    if (!fsim_show_in_files(c, &what) || !write_folder(&w) || !fsim_commit_files(c))
        return fsim_give_up_outputs(c, FSIM_EXIT_OK);
    (void)fsim_show_on(c, stdout, fsim_on_stdout(&c->set), &what);
    return fsim_conclude(c, FSIM_EXIT_OK);
}
