/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *fsim_reason(int error)
{
    static const struct {
        int error;
        const char *words;
    } known[] = {
        {ENOENT, "no such file"},         {EISDIR, "is a directory"},
        {EACCES, "permission denied"},    {ENOTDIR, "no such folder"},
        {EROFS, "read-only file system"}, {ENOSPC, "no space left on the disk"},
        {EDQUOT, "disk quota exceeded"},  {EFBIG, "the file would be too large"},
        {ENAMETOOLONG, "name too long"},  {EPIPE, "the reader has gone"},
        {EMFILE, "too many open files"},  {ELOOP, "symbolic links in a loop"},
        {EIO, "input/output error"},
    };
    if (error == ENOMEM)
        fsim_out_of_memory();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].error == error)
            return known[i].words;
    return "cannot be accessed";
}

DIR *fsim_open_folder(const char *path)
{
    DIR *in = opendir(path);
    if (!in && errno == ENOMEM)
        fsim_out_of_memory();
    return in;
}

/* Reads all of in into the arena. The buffer doubles, because pipes have no size. */
static char *read_all(fsim_arena *a, FILE *in, size_t expected, size_t *bytes, const char **why)
{
    fsim_arena *scratch = fsim_arena_new();
    size_t room = expected + 1 < 65536 ? 65536 : expected + 1, used = 0;
    char *text = fsim_alloc(scratch, room, 1), *copy = NULL;
    while ((used += fread(text + used, 1, room - used, in)) == room && used <= FSIM_MAX_FILE_BYTES) {
        room *= 2;
        text = memcpy(fsim_alloc(scratch, room, 1), text, used);
    }
    if (used > FSIM_MAX_FILE_BYTES) {
        *why = "larger than 64 MiB";
    } else if (ferror(in)) {
        *why = fsim_reason(errno);
    } else {
        copy = fsim_strndup(a, text, used);
        *bytes = used;
    }
    fsim_arena_free(scratch);
    return copy;
}

static void close_stream(void *stream) { fclose(stream); }

char *fsim_read_file(fsim_arena *a, const char *path, size_t *bytes, const char **why)
{
    if (strcmp(path, "-") == 0)
        return read_all(a, stdin, 0, bytes, why);
    FILE *in = fopen(path, "rb");
    struct stat st;
    if (!in || fstat(fileno(in), &st) != 0) {
        const int error = errno;
        if (in)
            fclose(in);
        *why = fsim_reason(error);
        return NULL;
    }
    char *text = NULL;
    fsim_resource open;
    fsim_guard(&open, close_stream, in);
    if (S_ISDIR(st.st_mode))
        *why = "is a directory";
    else if (S_ISREG(st.st_mode) && st.st_size > FSIM_MAX_FILE_BYTES)
        *why = "larger than 64 MiB";
    else
        text = read_all(a, in, S_ISREG(st.st_mode) ? (size_t)st.st_size : 0, bytes, why);
    fsim_release(&open);
    return text;
}

fsim_mapped *fsim_map_file(fsim_arena *a, const char *path, const char **why)
{
    fsim_mapped *m = fsim_new(a, fsim_mapped, 1);
    struct stat st;
    const int file = strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && fstat(file, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        m->bytes = (size_t)st.st_size;
        m->map = mmap(NULL, m->bytes, PROT_READ, MAP_PRIVATE, file, 0);
        m->text = m->map;
        if (m->map == MAP_FAILED) {
            *why = fsim_reason(errno);
            m = NULL;
        }
    } else if ((m->text = fsim_read_file(a, path, &m->bytes, why)) == NULL) {
        m = NULL;
    }
    if (file >= 0)
        close(file);
    return m;
}

void fsim_unmap(fsim_mapped *m)
{
    if (m && m->map)
        munmap(m->map, m->bytes);
    if (m)
        *m = (fsim_mapped){0};
}

struct fsim_output {
    FILE *stream;
    char *path;      /* the final path; NULL: stdout */
    char *temporary; /* where it is written until then; NULL: written in place (a device or a pipe) */
};

/* The paths of open temporary files, for signal handlers: what is full or longer is not deleted by them. */
enum { MOST_TEMPORARY = 32, LONGEST_TEMPORARY = 1024 };
typedef struct {
    atomic_int state; /* FREE, or the path is being written, or it is there */
    pid_t of;
    char path[LONGEST_TEMPORARY];
} open_temporary;
static open_temporary of_this[MOST_TEMPORARY], *temporary = of_this;
enum { FREE, CHANGING, THERE };

static void remember(const char *path)
{
    for (int i = 0; i < MOST_TEMPORARY && strlen(path) < LONGEST_TEMPORARY; i++) {
        int expected = FREE;
        if (!atomic_compare_exchange_strong(&temporary[i].state, &expected, CHANGING))
            continue;
        temporary[i].of = getpid();
        memcpy(temporary[i].path, path, strlen(path) + 1);
        temporary[i].state = THERE;
        return;
    }
}

static void forget(const char *path)
{
    for (int i = 0; i < MOST_TEMPORARY; i++)
        if (temporary[i].state == THERE && strcmp(temporary[i].path, path) == 0)
            temporary[i].state = FREE;
}

void fsim_discard_all(void)
{
    for (int i = 0; i < MOST_TEMPORARY; i++)
        if (temporary[i].state == THERE)
            unlink(temporary[i].path);
}

bool fsim_share_outputs(void)
{
    if (temporary != of_this)
        return true;
    void *at = mmap(NULL, sizeof of_this, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return false;
    memcpy(at, of_this, sizeof of_this);
    temporary = at;
    return true;
}

void fsim_discard_outputs_of(pid_t gone)
{
    for (int i = 0; i < MOST_TEMPORARY; i++)
        if (temporary[i].state == THERE && temporary[i].of == gone) {
            unlink(temporary[i].path);
            temporary[i].state = FREE;
        }
}

/* Deletes what a process that was killed left beside `path`: PATH.PID.N.tmp of others, where `alone` says that none of
 * them can write it; otherwise where no process has that number any more and nothing was written for an hour, as the
 * folder may be another machine's too. */
static void sweep(fsim_arena *a, const char *path, bool alone)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *folder = !slash ? "." : slash == path ? "/" : fsim_strndup(a, path, (size_t)(slash - path));
    DIR *in = fsim_open_folder(folder);
    for (const struct dirent *e; in && (e = readdir(in));) {
        long pid = 0;
        int n, end = 0;
        struct stat st;
        if (strncmp(e->d_name, name, strlen(name)) != 0 || strlen(e->d_name) > strlen(name) + 32 ||
            sscanf(e->d_name + strlen(name), ".%ld.%d.tmp%n", &pid, &n, &end) != 2 || pid <= 0 || end == 0 ||
            e->d_name[strlen(name) + (size_t)end])
            continue;
        const char *left = fsim_printf(a, "%s/%s", folder, e->d_name);
        if (pid == (long)getpid() || lstat(left, &st) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (alone || (kill((pid_t)pid, 0) != 0 && errno == ESRCH && time(NULL) - st.st_mtime > 3600))
            unlink(left);
    }
    if (in)
        closedir(in);
}

void fsim_discard_left(fsim_arena *a, const fsim_output *o)
{
    if (o->temporary)
        sweep(a, o->path, true);
}

static fsim_output *refuse(const char **why, const char *words)
{
    *why = words;
    return NULL;
}

static void delete (fsim_output *o)
{
    if (!o->temporary)
        return;
    unlink(o->temporary);
    forget(o->temporary);
}

fsim_output *fsim_open_output(fsim_arena *a, const char *path, const char **why)
{
    fsim_output *o = fsim_new(a, fsim_output, 1);
    if (strcmp(path, "-") == 0) {
        o->stream = stdout;
        return o;
    }
    struct stat st;
    const bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return refuse(why, "is a directory");
    if (exists && access(path, W_OK) != 0)
        return refuse(why, fsim_reason(errno));
    o->path = fsim_strdup(a, path);
    if (exists && !S_ISREG(st.st_mode)) {
        o->stream = fopen(path, "wb");
        return o->stream ? o : refuse(why, fsim_reason(errno));
    }
    char *real = exists ? realpath(path, NULL) : NULL; /* a link stays: the file that it points to is replaced */
    if (real)
        o->path = fsim_strdup(a, real);
    free(real);
    sweep(a, o->path, false);
    int file = -1;
    for (int n = 0; n < 100 && file < 0; n++) {
        o->temporary = fsim_printf(a, "%s.%ld.%d.tmp", o->path, (long)getpid(), n);
        file = open(o->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno != EEXIST)
            return refuse(why, errno == ENOENT ? "no such folder" : fsim_reason(errno));
    }
    if (file < 0)
        return refuse(why, "no free name for a temporary file beside it");
    remember(o->temporary);
    if (exists)
        (void)!fchmod(file, st.st_mode & 07777); /* keep the mode where possible */
    o->stream = fdopen(file, "wb");
    if (!o->stream) {
        const int error = errno;
        close(file);
        delete (o);
        return refuse(why, fsim_reason(error));
    }
    return o;
}

FILE *fsim_stream(fsim_output *o) { return o->stream; }

bool fsim_commit(fsim_output *o, const char **why)
{
    errno = 0;
    bool ok = fflush(o->stream) == 0 && !ferror(o->stream);
    if (ok && o->temporary)
        ok = fsync(fileno(o->stream)) == 0;
    int error = errno;
    if (o->path && fclose(o->stream) != 0 && ok) {
        ok = false;
        error = errno;
    }
    if (ok && o->temporary && rename(o->temporary, o->path) != 0) {
        ok = false;
        error = errno;
    }
    if (!ok) {
        *why = error ? fsim_reason(error) : "could not be written";
        delete (o);
    } else if (o->temporary) {
        forget(o->temporary);
    }
    o->stream = NULL;
    return ok;
}

void fsim_discard(fsim_output *o)
{
    if (!o || !o->stream || !o->path)
        return;
    fclose(o->stream);
    o->stream = NULL;
    delete (o);
}

/* SHA-256, FIPS 180-4 section 6.2. */
static uint32_t rotate(uint32_t x, int by) { return x >> by | x << (32 - by); }

static void sha_block(uint32_t state[8], const unsigned char *in)
{
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
    };
    uint32_t w[64];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)in[4 * i] << 24 | (uint32_t)in[4 * i + 1] << 16 | (uint32_t)in[4 * i + 2] << 8 | in[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        const uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        const uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        const uint32_t sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25), choice = (e & f) ^ (~e & g);
        const uint32_t t1 = h + sum1 + choice + k[i] + w[i];
        const uint32_t sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22), majority = (a & b) ^ (a & c) ^ (b & c);
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + sum0 + majority;
    }
    const uint32_t end[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++)
        state[i] += end[i];
}

void fsim_sha256(const void *bytes, size_t count, char hex[65])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *in = bytes;
    size_t left = count;
    for (; left >= 64; left -= 64, in += 64)
        sha_block(state, in);
    unsigned char tail[128] = {0};
    if (left)
        memcpy(tail, in, left);
    tail[left] = 0x80;
    const size_t size = left < 56 ? 64 : 128;
    for (size_t i = 0; i < 8; i++)
        tail[size - 1 - i] = (unsigned char)((uint64_t)count * 8 >> 8 * i);
    sha_block(state, tail);
    if (size == 128)
        sha_block(state, tail + 64);
    for (int i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", (unsigned)state[i]);
}
