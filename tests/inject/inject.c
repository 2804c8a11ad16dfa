/* SPDX-License-Identifier: Apache-2.0 */
/* inject.c: a library to preload. It fails the INJECT_AT-th call of kind INJECT_KIND (one of the rows below), counted
 * from 1 over all threads, once; of the kind clock, the clock is a day later from that call on; where INJECT_AT is 0 it
 * only counts. Where INJECT_COUNT names a file, the number of calls is written into it at the end. Programs that the
 * program starts are left alone: the library takes itself out of the environment. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

enum { NONE, ALLOC, OPEN, READ, WRITE, SYNC, RENAME, MAP, START, LOAD, THREAD, MEMSTREAM, CLOCK, KINDS };
static const char *const kind_name[KINDS] = {"none", "alloc", "open", "read",   "write",     "sync", "rename",
                                             "map",  "start", "load", "thread", "memstream", "clock"};

static int kind;
static long at;
static atomic_long calls;

static bool fails(int of) { return kind == of && atomic_fetch_add(&calls, 1) + 1 == at; }

__attribute__((constructor)) static void begin(void)
{
    const char *name = getenv("INJECT_KIND"), *place = getenv("INJECT_AT");
    at = place ? atol(place) : 0;
    unsetenv("LD_PRELOAD");
    for (int k = 0; name && k < KINDS; k++)
        if (strcmp(name, kind_name[k]) == 0)
            kind = k;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("INJECT_COUNT");
    const int was = kind;
    kind = NONE;
    int file = path ? open(path, O_RDWR | O_CREAT, 0666) : -1;
    char text[32] = "";
    const ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0 && (got <= 0 || atol(text) < atomic_load(&calls)) && ftruncate(file, 0) == 0) {
        lseek(file, 0, SEEK_SET); /* a process and its child: the one with more calls counts */
        dprintf(file, "%ld\n", atomic_load(&calls));
    }
    if (file >= 0)
        close(file);
    kind = was;
}

void *malloc(size_t bytes)
{
    if (fails(ALLOC)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    if (fails(ALLOC)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    if (bytes > 0 && fails(ALLOC)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(old, bytes);
}

/* Fails, or calls the function that this library stands before. */
#define INJECTED(of, error, result, name, ...)                                                                         \
    do {                                                                                                               \
        if (fails(of)) {                                                                                               \
            errno = error;                                                                                             \
            return result;                                                                                             \
        }                                                                                                              \
        return ((__typeof__(&name))dlsym(RTLD_NEXT, #name))(__VA_ARGS__);                                              \
    } while (0)

FILE *fopen(const char *path, const char *mode) { INJECTED(OPEN, EMFILE, NULL, fopen, path, mode); }

FILE *fdopen(int file, const char *mode) { INJECTED(OPEN, EMFILE, NULL, fdopen, file, mode); }

FILE *tmpfile(void) { INJECTED(OPEN, EMFILE, NULL, tmpfile); }

DIR *opendir(const char *path) { INJECTED(OPEN, EMFILE, NULL, opendir, path); }

FILE *open_memstream(char **text, size_t *bytes) { INJECTED(MEMSTREAM, ENOMEM, NULL, open_memstream, text, bytes); }

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    INJECTED(OPEN, EMFILE, -1, open, path, flags, mode);
}

/* A stream's own calls of read and write can't be replaced: its calls by the program are, and a limit of a file's size
 * does the rest. A stream has its error set, as a real failure leaves it. */
size_t fread(void *to, size_t bytes, size_t count, FILE *in)
{
    if (fails(READ)) {
        in->_flags |= 0x20; /* glibc's _IO_ERR_SEEN */
        errno = EIO;
        return 0;
    }
    return ((__typeof__(&fread))dlsym(RTLD_NEXT, "fread"))(to, bytes, count, in);
}

ssize_t read(int file, void *to, size_t bytes) { INJECTED(READ, EIO, -1, read, file, to, bytes); }

ssize_t pread(int file, void *to, size_t bytes, off_t from) { INJECTED(READ, EIO, -1, pread, file, to, bytes, from); }

ssize_t write(int file, const void *from, size_t bytes) { INJECTED(WRITE, ENOSPC, -1, write, file, from, bytes); }

int fflush(FILE *out) { INJECTED(WRITE, ENOSPC, EOF, fflush, out); }

int fclose(FILE *stream)
{
    const bool fail = fails(WRITE);
    const int rc = ((__typeof__(&fclose))dlsym(RTLD_NEXT, "fclose"))(stream);
    if (fail)
        errno = ENOSPC;
    return fail ? EOF : rc;
}

int fsync(int file) { INJECTED(SYNC, EIO, -1, fsync, file); }

int rename(const char *from, const char *to) { INJECTED(RENAME, EACCES, -1, rename, from, to); }

void *mmap(void *where, size_t bytes, int protection, int flags, int file, off_t offset)
{
    INJECTED(MAP, ENOMEM, MAP_FAILED, mmap, where, bytes, protection, flags, file, offset);
}

pid_t fork(void) { INJECTED(START, EAGAIN, -1, fork); }

int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *files, const posix_spawnattr_t *how,
                char *const arguments[], char *const environment[])
{
    INJECTED(START, EAGAIN, EAGAIN, posix_spawn, child, path, files, how, arguments, environment);
}

int posix_spawnp(pid_t *child, const char *path, const posix_spawn_file_actions_t *files, const posix_spawnattr_t *how,
                 char *const arguments[], char *const environment[])
{
    INJECTED(START, EAGAIN, EAGAIN, posix_spawnp, child, path, files, how, arguments, environment);
}

void *dlopen(const char *path, int flags) { INJECTED(LOAD, ENOENT, NULL, dlopen, path, flags); }

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*work)(void *), void *what)
{
    INJECTED(THREAD, EAGAIN, EAGAIN, pthread_create, thread, how, work, what);
}

int clock_gettime(clockid_t of, struct timespec *t)
{
    const bool late = kind == CLOCK && atomic_fetch_add(&calls, 1) + 1 >= at && at > 0;
    const int rc = ((__typeof__(&clock_gettime))dlsym(RTLD_NEXT, "clock_gettime"))(of, t);
    t->tv_sec += late ? 86400 : 0;
    return rc;
}
