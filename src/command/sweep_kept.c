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

/* The first line is this and the digest. Then come lines with a word before the comma, of which `points` is the last,
 * then points, and in the file of a shard `end` and their number. Numbers of points are hexadecimal: they are read back
 * as they were. */
static const char first_words[] = "fusesim sweep 2 ", last_word[] = "end";
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

/* A line as a point of x, which is complete or one shard. False where it is none, or one that is known. */
static bool read_point(const fsim_csv *line, const fsim_shard *shard, fsim_sweep *x, const char **kernels,
                       fsim_arena *a)
{
    const char *f[FIELDS];
    int number, fits, proven;
    if (line->fields != FIELDS)
        return false;
    for (int k = 0; k < FIELDS; k++)
        f[k] = line->field[k].text;
    if (!whole_of(f[0], 0, x->grid.combinations * x->gpus - 1, &number) ||
        number / x->gpus % shard->of != shard->number)
        return false;
    const bool whole = x->points == x->grid.combinations * x->gpus;
    const int i = whole ? number : number / x->gpus / shard->of * x->gpus + number % x->gpus;
    fsim_sweep_point p = x->point[i];
    if (p.planned || p.reason)
        return false;
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

/* What is whole of a file: up to the end of a line. */
typedef struct {
    const char *text;
    size_t head, bytes;
} kept_text;

/* Reads the points of x, which is of the shard k->shard. False after an error. */
static bool read_points(fsim_kept *k, fsim_context *c, const kept_text *t, fsim_sweep *x, const char **kernels)
{
    fsim_csv line = fsim_csv_open(c->arena, c->diag, k->path, t->text, t->bytes);
    while (line.next < t->text + t->head)
        fsim_csv_skip_line(&line);
    for (; fsim_csv_next(&line) && strcmp(line.field[0].text, last_word) != 0; k->known++)
        if (!read_point(&line, &k->shard, x, kernels, c->arena)) {
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

/* Leaves what is kept of the file, `bytes` of it, and begins it with its head where that is nothing. False after an
 * error. */
static bool cut(const fsim_kept *k, fsim_context *c, const char *head, size_t bytes)
{
    if (ftruncate(k->file, (off_t)bytes) == 0 &&
        (bytes > 0 || write(k->file, head, strlen(head)) == (ssize_t)strlen(head)))
        return true;
    fsim_failure(c->diag, FSIM_FAILED, fsim_command_line, "cannot write '%s': %s", k->path, fsim_reason(errno));
    return false;
}

const char *fsim_kept_head(fsim_context *c, const fsim_shard *shard, const char *digest, const fsim_sweep *x)
{
    fsim_memory text;
    FILE *out = fsim_memory_begin(&text);
    fprintf(out, "%s%s\nshard,%d,%d\nworkload,", first_words, digest, shard->number, shard->of);
    fsim_csv_put(out, x->workload);
    fprintf(out, "\nstrategy,%s\n", fsim_strategy_names[x->strategy]);
    for (int g = 0; g < x->gpus; g++) {
        fputs("gpu,", out);
        fsim_csv_put(out, x->gpu[g]);
        putc('\n', out);
    }
    for (int i = 0; i < c->set.over.count; i++) {
        fputs("over,", out);
        fsim_csv_put(out, c->set.over.at[i]);
        putc('\n', out);
    }
    for (int i = 0; i < c->set.zip.count; i++) {
        fputs("zip,", out);
        fsim_csv_put(out, c->set.zip.at[i]);
        putc('\n', out);
    }
    fputs("points,\n", out);
    return fsim_memory_end(&text, c->arena, NULL);
}

/* The lines of a file that were written to their end, with its head; bytes is 0 where there is none. */
static kept_text read_kept(fsim_context *c, const char *path, const char *head)
{
    const char *why = "";
    kept_text t = {NULL, strlen(head), 0};
    size_t bytes = 0;
    t.text = fsim_read_file(c->arena, path, &bytes, &why);
    const char *last = t.text ? memrchr(t.text, '\n', bytes) : NULL;
    t.bytes = last ? (size_t)(last - t.text) + 1 : 0;
    if (t.bytes < t.head && strncmp(t.text ? t.text : "", head, t.bytes) == 0)
        t.bytes = 0; /* it was ended within the head */
    if (t.bytes > 0)
        fsim_diag_source(c->diag, path, t.text, t.bytes);
    return t;
}

bool fsim_kept_open(fsim_kept *k, fsim_context *c, const char *head, fsim_sweep *x, const char **kernels)
{
    kept_text t = {0};
    *k = (fsim_kept){.file = -1, .shard = k->shard};
    if (!c->own)
        return true;
    k->path = fsim_printf(c->arena, "%s.part", c->set.output);
    const bool left = access(k->path, F_OK) == 0;
    if (left && !c->set.resume)
        fsim_warning(c->diag, fsim_command_line,
                     "'%s' is of a sweep that was ended: this one begins anew, as --resume is not given", k->path);
    if (!open_alone(k, c))
        return false;
    fsim_discard_left(c->arena, c->own);
    if (left && c->set.resume) {
        t = read_kept(c, k->path, head);
        if (t.bytes > 0 && strncmp(t.text, head, t.head) != 0) {
            fsim_error(c->diag, (fsim_loc){k->path, 1, 1},
                       "of another sweep: other inputs, options or program; without --resume this one begins anew");
            return false;
        }
    } else if (c->set.resume && c->set.shard) { /* a shard that was done before has all points */
        t = read_kept(c, c->set.output, head);
        if (t.bytes > 0 && strncmp(t.text, head, t.head) == 0)
            return read_points(k, c, &t, x, kernels) && cut(k, c, head, 0);
        t.bytes = 0;
    }
    return (t.bytes == 0 || read_points(k, c, &t, x, kernels)) && cut(k, c, head, t.bytes);
}

static void put_point(FILE *out, const fsim_sweep_point *p, const char *kernels)
{
    char sum[3][FSIM_SUM_DIGITS];
    fprintf(out, "%d,", p->number);
    fsim_csv_put(out, p->reason ? p->reason : "");
    if (p->planned)
        fprintf(out, ",%a,%a,%a,%a,%a,%d,%s,%s,%s,%d,%d,%a,%s\n", p->time_s, p->likely.low, p->likely.high, p->eager_s,
                p->speedup, p->kernels, fsim_sum_digits(sum[0], p->read_bytes), fsim_sum_digits(sum[1], p->write_bytes),
                fsim_sum_digits(sum[2], p->peak_bytes), p->fits, p->proven, p->gap, kernels);
    else
        fputs(",,,,,,,,,,,,,\n", out);
}

void fsim_kept_add(fsim_kept *k, const fsim_sweep_point *p, const char *kernels, fsim_arena *scratch)
{
    fsim_memory text;
    size_t bytes;
    if (!k->path)
        return;
    put_point(fsim_memory_begin(&text), p, kernels);
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

/* Shards. */

void fsim_shard_write(FILE *out, const char *head, const fsim_sweep *x, const char *const *kernels)
{
    fputs(head, out);
    for (int i = 0; i < x->points; i++)
        put_point(out, &x->point[i], kernels[i]);
    fprintf(out, "%s,%d\n", last_word, x->points);
}

/* The head of a shard's file. */
typedef struct {
    const char *path, *digest, *workload, *strategy;
    fsim_shard shard;
    fsim_words gpu, over, zip;
    fsim_csv line; /* behind it */
} shard_file;

static bool refuse(fsim_context *c, const shard_file *f, const char *why)
{
    fsim_error(c->diag, f->line.fields ? fsim_csv_place(&f->line, 0) : (fsim_loc){f->path, 1, 1}, "%s", why);
    return false;
}

/* Reads up to the points. False after an error. */
static bool read_head(fsim_context *c, const char *path, shard_file *f)
{
    static const char none[] = "not written by 'fusesim sweep --shard'";
    size_t bytes = 0;
    const char *text = fsim_read_text(c, "shard", path, &bytes);
    *f = (shard_file){.path = path};
    if (!text)
        return false;
    fsim_diag_source(c->diag, path, text, bytes);
    if (strncmp(text, first_words, strlen(first_words)) != 0)
        return refuse(c, f, none);
    f->digest = fsim_strndup(c->arena, text, strcspn(text, "\n"));
    f->line = fsim_csv_open(c->arena, c->diag, path, text, bytes);
    fsim_csv_skip_line(&f->line);
    while (fsim_csv_next(&f->line)) {
        const char *word = f->line.field[0].text;
        const char *value = f->line.fields > 1 ? fsim_strdup(c->arena, f->line.field[1].text) : "";
        if (strcmp(word, "points") == 0)
            return f->workload && f->strategy && f->shard.of > 0 ? true : refuse(c, f, none);
        if (strcmp(word, "shard") == 0 && f->line.fields == 3) {
            if (!whole_of(value, 0, INT32_MAX, &f->shard.number) ||
                !whole_of(f->line.field[2].text, f->shard.number + 1, FSIM_MOST_SHARDS, &f->shard.of))
                return refuse(c, f, none);
        } else if (strcmp(word, "workload") == 0) {
            f->workload = value;
        } else if (strcmp(word, "strategy") == 0) {
            f->strategy = value;
        } else {
            fsim_words *list = strcmp(word, "gpu") == 0    ? &f->gpu
                               : strcmp(word, "over") == 0 ? &f->over
                               : strcmp(word, "zip") == 0  ? &f->zip
                                                           : NULL;
            if (!list)
                return refuse(c, f, none);
            *FSIM_PUSH(c->arena, list->at, list->count, list->room) = value;
        }
    }
    return fsim_errors(c->diag) ? false : refuse(c, f, none);
}

/* x of the head, with its points, none planned. False after an error. */
static bool begin_sweep(fsim_context *c, const shard_file *f, fsim_sweep *x)
{
    static const fsim_shard whole = {0, 1};
    *x = (fsim_sweep){.workload = f->workload, .gpus = f->gpu.count, .gpu = f->gpu.at, .find = -1};
    int strategy = 0;
    while (strategy < FSIM_STRATEGY_COUNT && strcmp(f->strategy, fsim_strategy_names[strategy]) != 0)
        strategy++;
    if (strategy == FSIM_STRATEGY_COUNT)
        return refuse(c, f, "there is no such strategy");
    x->strategy = (fsim_strategy)strategy;
    const fsim_grid_texts texts = {f->over.at, f->zip.at, f->over.count, f->zip.count};
    return fsim_grid_read(c->arena, c->diag, &texts, &x->grid) &&
           (x->gpus > 0 && (int64_t)x->grid.combinations * x->gpus <= FSIM_MOST_POINTS
                ? fsim_sweep_lay_out(c, &whole, x)
                : refuse(c, f, "too many points"));
}

/* The points of a shard, and its end. False after an error. */
static bool read_shard(fsim_context *c, shard_file *f, fsim_sweep *x, const char **kernels)
{
    const int parts = (x->grid.combinations - f->shard.number + f->shard.of - 1) / f->shard.of;
    int points = 0, end = -1;
    while (fsim_csv_next(&f->line)) {
        if (end >= 0)
            return refuse(c, f, "lines behind the end");
        if (strcmp(f->line.field[0].text, last_word) == 0) {
            if (f->line.fields != 2 || !whole_of(f->line.field[1].text, points, points, &end))
                return refuse(c, f, "not as many points as it says");
        } else if (!read_point(&f->line, &f->shard, x, kernels, c->arena)) {
            return refuse(c, f, "no point of this shard, or one that comes twice");
        }
        points += end < 0;
    }
    if (fsim_errors(c->diag))
        return false;
    if (end < 0)
        return refuse(c, f, "the shard is not whole: it is under way, or was ended; --resume finishes it");
    return points == parts * x->gpus || refuse(c, f, "points are missing");
}

static bool are_same(const fsim_words *x, const fsim_words *y)
{
    bool same = x->count == y->count;
    for (int i = 0; i < x->count && same; i++)
        same = strcmp(x->at[i], y->at[i]) == 0;
    return same;
}

/* Do their heads say the same? */
static bool is_of(const shard_file *f, const shard_file *first)
{
    return strcmp(f->digest, first->digest) == 0 && f->shard.of == first->shard.of &&
           strcmp(f->workload, first->workload) == 0 && strcmp(f->strategy, first->strategy) == 0 &&
           are_same(&f->gpu, &first->gpu) && are_same(&f->over, &first->over) && are_same(&f->zip, &first->zip);
}

bool fsim_shards_read(fsim_context *c, const fsim_words *paths, fsim_sweep *x, const char ***kernels)
{
    shard_file first = {0};
    const char **of = NULL, *missing = "";
    for (int i = 0; i < paths->count; i++) {
        shard_file f;
        if (!read_head(c, paths->at[i], &f))
            return false;
        if (i == 0) {
            first = f;
            if (!begin_sweep(c, &f, x))
                return false;
            *kernels = fsim_new(c->arena, const char *, x->points + 1);
            of = fsim_new(c->arena, const char *, f.shard.of);
        }
        if (!is_of(&f, &first)) {
            fsim_error(c->diag, (fsim_loc){f.path, 1, 1}, "of another sweep than '%s', or of another number of shards",
                       first.path);
            return false;
        }
        if (of[f.shard.number]) {
            fsim_error(c->diag, (fsim_loc){f.path, 1, 1}, "shard %d of %d again, as '%s'", f.shard.number, f.shard.of,
                       of[f.shard.number]);
            return false;
        }
        of[f.shard.number] = f.path;
        if (!read_shard(c, &f, x, *kernels))
            return false;
    }
    for (int i = 0; i < first.shard.of; i++)
        if (!of[i])
            missing = fsim_printf(c->arena, "%s%s%d", missing, *missing ? ", " : "", i);
    if (*missing)
        fsim_error(c->diag, (fsim_loc){first.path, 1, 1}, "of %d shards these are missing: %s", first.shard.of,
                   missing);
    return fsim_errors(c->diag) == 0;
}
