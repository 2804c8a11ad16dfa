/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cpu/guard.h"

#include "base/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { MOST_COMPILERS = 256, NAME_BYTES = 128, LEFT_FOR_S = 3600, TO_END_S = 5 };

static const double usual_limit_s = 600; /* of one compiler, and of one run of a kernel */
static const rlim_t compiler_bytes = (rlim_t)8 << 30;

/* What the two processes share. */
typedef struct {
    atomic_int compiler[MOST_COMPILERS]; /* process groups; 0: none */
    atomic_uint run;                     /* grows by one where a kernel begins, and where it ends: odd, it runs */
    char kernel[NAME_BYTES];
} shared;

static shared *own; /* NULL: nobody guards this process */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double limit_s(void)
{
    const char *text = getenv("FUSESIM_CPU_LIMIT");
    const double asked = text ? strtod(text, NULL) : 0;
    return asked > 0 ? asked : usual_limit_s;
}

/* The child's side. */

void fsim_guard_kernel(const char *name)
{
    if (!own)
        return;
    if (name)
        snprintf(own->kernel, sizeof own->kernel, "%s", name);
    atomic_fetch_add(&own->run, 1);
}

void fsim_guard_compiler(pid_t pid)
{
#ifdef __linux__
    const struct rlimit most = {compiler_bytes, compiler_bytes};
    prlimit(pid, RLIMIT_AS, &most, NULL);
#endif
    for (int i = 0; own && i < MOST_COMPILERS; i++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&own->compiler[i], &none, (int)pid))
            return;
    }
}

void fsim_guard_compiled(pid_t pid)
{
    for (int i = 0; own && i < MOST_COMPILERS; i++) {
        int it = (int)pid;
        if (atomic_compare_exchange_strong(&own->compiler[i], &it, 0))
            return;
    }
}

const char *fsim_guard_prefix(fsim_arena *a) { return fsim_printf(a, "fusesim-%ld-", (long)getpid()); }

/* A crash deletes what was being written. Sanitizers have handlers of their own. */
static void on_crash(int number)
{
    fsim_discard_all();
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_crashes(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        struct sigaction now;
        if (sigaction(crashes[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            signal(crashes[i], on_crash);
    }
}

/* The parent's side. */

/* Deletes the folder name in the folder at, with the files in it. */
static void delete_folder(int at, const char *name)
{
    const int folder = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *in = folder < 0 ? NULL : fdopendir(folder);
    if (!in && folder >= 0)
        close(folder);
    for (const struct dirent *e; in && (e = readdir(in));)
        unlinkat(folder, e->d_name, 0);
    if (in)
        closedir(in);
    unlinkat(at, name, AT_REMOVEDIR);
}

/* Was it left long ago by a process that is gone? */
static bool is_stale(int at, const char *name, long pid)
{
    struct stat st;
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode) && st.st_uid == geteuid() && time(NULL) - st.st_mtime > LEFT_FOR_S;
}

/* Deletes temporary folders: the child's, and stale ones of others. */
static void delete_left(pid_t child)
{
    const char *parent = getenv("TMPDIR");
    DIR *in = opendir(parent && *parent ? parent : "/tmp");
    for (const struct dirent *e; in && (e = readdir(in));) {
        long pid = 0;
        int end = 0;
        if (sscanf(e->d_name, "fusesim-%ld-%n", &pid, &end) == 1 && end > 0 && strlen(e->d_name + end) == 6 &&
            (pid == (long)child || (pid > 0 && is_stale(dirfd(in), e->d_name, pid))))
            delete_folder(dirfd(in), e->d_name);
    }
    if (in)
        closedir(in);
}

typedef struct {
    pid_t child;
    shared *of;
    double since_s[MOST_COMPILERS + 1]; /* when the compiler was first seen; the last: when the kernel was */
    int seen[MOST_COMPILERS + 1];
    sigset_t ends;
    int ended_by;         /* the signal that ended this process; 0: none */
    double kill_s;        /* when the child is to be killed, as it did not end when asked to; INFINITY */
    const char *too_long; /* what took too long; NULL: nothing */
    bool compiler;        /* and it was a compiler */
} watch;

/* Has the same thing been there for longer than the limit? */
static bool lasts(watch *w, int i, int now)
{
    if (now == 0 || now != w->seen[i])
        w->since_s[i] = now_s();
    w->seen[i] = now;
    return now != 0 && now_s() - w->since_s[i] > limit_s();
}

static void kill_compilers(const shared *s)
{
    for (int i = 0; i < MOST_COMPILERS; i++) {
        const int group = atomic_load(&s->compiler[i]);
        if (group > 1)
            kill(-group, SIGKILL);
    }
}

static void end_child(watch *w, int number)
{
    kill(w->child, number);
    w->kill_s = now_s() + TO_END_S;
}

static void look(watch *w)
{
    for (int i = 0; i < MOST_COMPILERS && !w->too_long; i++)
        if (lasts(w, i, atomic_load(&w->of->compiler[i]))) {
            w->too_long = "a compiler";
            w->compiler = true;
        }
    const int run = (int)(atomic_load(&w->of->run) & INT32_MAX);
    if (lasts(w, MOST_COMPILERS, run & 1 ? run : 0) && !w->too_long)
        w->too_long = w->of->kernel;
    if (w->too_long && w->kill_s == 0)
        end_child(w, SIGTERM);
    if (w->kill_s > 0 && now_s() > w->kill_s)
        kill(w->child, SIGKILL);
}

/* Waits for the child. Its status, as of waitpid. */
static int supervise(watch *w)
{
    const struct timespec nap = {0, 50000000};
    siginfo_t about;
    int status = 0;
    for (pid_t got; (got = waitpid(w->child, &status, WNOHANG)) != w->child;) {
        if (got < 0 && errno != EINTR)
            return -1;
        const int number = sigtimedwait(&w->ends, &about, &nap);
        if (number > 0 && number != SIGCHLD) {
            w->ended_by = number;
            if (number != SIGINT || about.si_code == SI_USER) /* the terminal sends its own to both */
                kill(w->child, number);
            if (number != SIGINT)
                w->kill_s = now_s() + TO_END_S;
        }
        look(w);
    }
    return status;
}

static void conclude(watch *w, int status, fsim_arena *a, fsim_guarded *out)
{
    kill_compilers(w->of);
    delete_left(w->child);
    fsim_discard_outputs_of(w->child);
    if (WIFEXITED(status)) {
        out->status = WEXITSTATUS(status);
    } else if (w->too_long) {
        fsim_fail(&out->fault, a, w->compiler ? FSIM_UNAVAILABLE : FSIM_FAILED,
                  "%s%s does not end in %g s: FUSESIM_CPU_LIMIT sets the limit", w->compiler ? "" : "kernel ",
                  w->too_long, limit_s());
    } else if (w->ended_by) {
        sigprocmask(SIG_UNBLOCK, &w->ends, NULL);
        signal(w->ended_by, SIG_DFL);
        raise(w->ended_by);
    } else {
        const bool runs = atomic_load(&w->of->run) & 1;
        fsim_fail(&out->fault, a, FSIM_FAILED, "%s%s crashed: %s", runs ? "kernel " : "what runs the kernels",
                  runs ? w->of->kernel : "", strsignal(WTERMSIG(status)));
    }
}

/* The signals that end a process and are not ignored, with the one that says that a child has ended. */
static sigset_t ending_signals(void)
{
    static const int ends[] = {SIGTERM, SIGHUP, SIGINT};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct sigaction now;
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&set, ends[i]);
    }
    return set;
}

bool fsim_guard_begin(fsim_arena *a, fsim_guarded *out)
{
    watch w = {.ends = ending_signals()};
    sigset_t before;
    *out = (fsim_guarded){.status = -1};
    w.of = mmap(NULL, sizeof *w.of, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w.of == MAP_FAILED || !fsim_share_outputs())
        return fsim_fail(&out->fault, a, FSIM_FAILED, "no memory to share with a process: %s", strerror(errno));
    sigprocmask(SIG_BLOCK, &w.ends, &before);
    w.child = fork();
    if (w.child != 0) {
        if (w.child > 0)
            conclude(&w, supervise(&w), a, out);
        else
            fsim_fail(&out->fault, a, FSIM_UNAVAILABLE, "cannot start a process: %s", strerror(errno));
        sigprocmask(SIG_SETMASK, &before, NULL);
        munmap(w.of, sizeof *w.of);
        return false;
    }
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    sigprocmask(SIG_SETMASK, &before, NULL);
    own = w.of;
    catch_crashes();
    return true;
}
