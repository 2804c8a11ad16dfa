/* SPDX-License-Identifier: Apache-2.0 */
#include "command/sweep_kept.h"

#include "base/memory.h"
#include "input/csv.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The first line is this and the digest; the others are points. Numbers are hexadecimal: they are read back as they
 * were. */
static const char head[] = "fusesim sweep 1 ";
enum { FIELDS = 15 };

static bool sum_of(const char *text, fsim_sum *out)
{
    *out = 0;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9' || p - text > 37)
            return false;
        *out = *out * 10 + (*p - '0');
    }
    return *text != '\0';
}

static bool number_of(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end;
}

static bool whole_of(const char *text, int least, int most, int *out)
{
    char *end;
    errno = 0;
    const long x = strtol(text, &end, 10);
    *out = (int)x;
    return end != text && !*end && !errno && x >= least && x <= most;
}

/* A line as a point. False where it is none. */
static bool read_point(const fsim_csv *line, fsim_sweep *x, const char **kernels, fsim_arena *a)
{
    const char *f[FIELDS];
    int i, fits, proven;
    if (line->fields != FIELDS)
        return false;
    for (int k = 0; k < FIELDS; k++)
        f[k] = line->field[k].text;
    if (!whole_of(f[0], 0, x->points - 1, &i))
        return false;
    fsim_sweep_point p = x->point[i];
    if (*f[1]) {
        x->point[i].reason = fsim_strdup(a, f[1]);
        return true;
    }
    if (!number_of(f[2], &p.time_s) || !number_of(f[3], &p.likely.low) || !number_of(f[4], &p.likely.high) ||
        !number_of(f[5], &p.eager_s) || !number_of(f[6], &p.speedup) || !whole_of(f[7], 1, INT32_MAX, &p.kernels) ||
        !sum_of(f[8], &p.read_bytes) || !sum_of(f[9], &p.write_bytes) || !sum_of(f[10], &p.peak_bytes) ||
        !whole_of(f[11], 0, 1, &fits) || !whole_of(f[12], 0, 1, &proven) || !number_of(f[13], &p.gap) || !*f[14])
        return false;
    p.planned = true;
    p.fits = fits;
    p.proven = proven;
    x->point[i] = p;
    kernels[i] = fsim_strdup(a, f[14]);
    return true;
}

/* Reads what is whole of the file: text ends behind a line. False after an error. */
static bool read_points(fsim_context *c, const char *path, const char *text, size_t bytes, fsim_sweep *x,
                        const char **kernels)
{
    fsim_csv line = fsim_csv_open(c->arena, c->diag, path, text, bytes);
    fsim_csv_skip_line(&line);
    while (fsim_csv_next(&line))
        if (!read_point(&line, x, kernels, c->arena)) {
            fsim_error(c->diag, fsim_csv_place(&line, 0), "no point of this sweep; without --resume it begins anew");
            return false;
        }
    return fsim_errors(c->diag) == 0;
}

/* Opens the file, which no other sweep may write. False after an error. */
static bool open_alone(fsim_kept *k, fsim_context *c)
{
    k->file = open(k->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    const bool taken = k->file >= 0 && flock(k->file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (k->file < 0 || taken)
        fsim_failure(c->diag, FSIM_FAILED, fsim_command_line, "cannot write '%s': %s", k->path,
                     taken ? "another sweep is writing it" : fsim_reason(errno));
    return k->file >= 0 && !taken;
}

/* Leaves what is kept of the file, `bytes` of it, and begins it with its first line where that is nothing. False after
 * an error. */
static bool cut(const fsim_kept *k, fsim_context *c, const char *first, size_t bytes)
{
    if (ftruncate(k->file, (off_t)bytes) == 0 &&
        (bytes > 0 || write(k->file, first, strlen(first)) == (ssize_t)strlen(first)))
        return true;
    fsim_failure(c->diag, FSIM_FAILED, fsim_command_line, "cannot write '%s': %s", k->path, fsim_reason(errno));
    return false;
}

bool fsim_kept_open(fsim_kept *k, fsim_context *c, const char *digest, fsim_sweep *x, const char **kernels)
{
    *k = (fsim_kept){.file = -1};
    if (!c->own)
        return true;
    k->path = fsim_printf(c->arena, "%s.part", c->set.output);
    const char *first = fsim_printf(c->arena, "%s%s\n", head, digest), *why = "";
    const bool left = access(k->path, F_OK) == 0;
    if (left && !c->set.resume)
        fsim_warning(c->diag, fsim_command_line,
                     "'%s' is of a sweep that was ended: this one begins anew, as --resume is not given", k->path);
    if (!open_alone(k, c))
        return false;
    size_t bytes = 0;
    const char *text = left && c->set.resume ? fsim_read_file(c->arena, k->path, &bytes, &why) : NULL;
    const char *last = text ? memrchr(text, '\n', bytes) : NULL;
    bytes = last ? (size_t)(last - text) + 1 : 0; /* a line that was not written to its end is done again */
    if (bytes > 0) {
        fsim_diag_source(c->diag, k->path, text, bytes);
        if (strncmp(text, first, strlen(first)) != 0) {
            fsim_error(c->diag, (fsim_loc){k->path, 1, 1},
                       "of another sweep: other inputs, options or program; without --resume this one begins anew");
            return false;
        }
        if (!read_points(c, k->path, text, bytes, x, kernels))
            return false;
    }
    return cut(k, c, first, bytes);
}

void fsim_kept_add(fsim_kept *k, int i, const fsim_sweep_point *p, const char *kernels, fsim_arena *scratch)
{
    char sum[3][FSIM_SUM_DIGITS];
    fsim_memory text;
    size_t bytes;
    if (!k->path)
        return;
    FILE *out = fsim_memory_begin(&text);
    fprintf(out, "%d,", i);
    fsim_csv_put(out, p->reason ? p->reason : "");
    if (p->planned)
        fprintf(out, ",%a,%a,%a,%a,%a,%d,%s,%s,%s,%d,%d,%a,%s\n", p->time_s, p->likely.low, p->likely.high, p->eager_s,
                p->speedup, p->kernels, fsim_sum_digits(sum[0], p->read_bytes), fsim_sum_digits(sum[1], p->write_bytes),
                fsim_sum_digits(sum[2], p->peak_bytes), p->fits, p->proven, p->gap, kernels);
    else
        fputs(",,,,,,,,,,,,,\n", out);
    const char *line = fsim_memory_end(&text, scratch, &bytes);
    if (write(k->file, line, bytes) != (ssize_t)bytes) /* one call, so that lines of threads don't mix */
        __atomic_store_n(&k->failed, 1, __ATOMIC_RELAXED);
}

bool fsim_kept_end(fsim_kept *k, fsim_context *c, bool done)
{
    if (k->file >= 0)
        close(k->file);
    if (k->path && done)
        unlink(k->path);
    if (!k->failed || done)
        return true;
    fsim_failure(c->diag, FSIM_FAILED, fsim_command_line, "cannot write '%s': --resume would not find all points",
                 k->path);
    return false;
}
