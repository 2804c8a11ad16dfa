/* SPDX-License-Identifier: Apache-2.0 */
#include "base/diag.h"

#include "base/names.h"
#include "base/text.h"
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PRINTED = 20, MOST_COLLECTED = 10000, LONGEST_NAME = 63, LINE_CHARS = 110 };

typedef struct {
    fsim_loc at;
    fsim_status status; /* FSIM_OK: a warning */
    int order;          /* of arrival */
    const char *text;
    const char **note;
    int notes, note_room;
    int times; /* printed: the messages that it stands for; 0: another stands for it */
} message;
typedef struct {
    const char *file, *text;
    size_t bytes;
} source;

struct fsim_diag {
    fsim_arena *arena;
    message *message;
    int messages, message_room;
    source *sources;
    int source_count, source_room;
    int errors, warnings;
    fsim_status worst;
    bool last_is_listed; /* whether a note for it is printed */
};

fsim_diag *fsim_diag_new(fsim_arena *a)
{
    fsim_diag *d = fsim_new(a, fsim_diag, 1);
    d->arena = a;
    return d;
}

void fsim_diag_source(fsim_diag *d, const char *file, const char *text, size_t bytes)
{
    for (int i = 0; i < d->source_count; i++)
        if (strcmp(d->sources[i].file, file) == 0) {
            d->sources[i] = (source){file, text, bytes};
            return;
        }
    *FSIM_PUSH(d->arena, d->sources, d->source_count, d->source_room) = (source){file, text, bytes};
}

/* A message that quotes a very long text from a file, without its middle. In a. */
static const char *shortened(fsim_arena *a, const char *text)
{
    enum { MOST_BYTES = 4096, HEAD_BYTES = 600, TAIL_BYTES = 300 };
    const size_t bytes = strlen(text);
    size_t head = HEAD_BYTES, tail = bytes - TAIL_BYTES;
    if (bytes <= MOST_BYTES)
        return text;
    while (((unsigned char)text[head] & 0xC0) == 0x80)
        head++;
    while (((unsigned char)text[tail] & 0xC0) == 0x80)
        tail++;
    return fsim_printf(a, "%.*s ... (%zu bytes left out) ... %s", (int)head, text, tail - head, text + tail);
}

static void collect(fsim_diag *d, fsim_loc at, fsim_status status, const char *format, va_list args)
{
    int *count = status ? &d->errors : &d->warnings;
    if (*count < INT_MAX)
        (*count)++;
    d->worst = status > d->worst ? status : d->worst;
    d->last_is_listed = d->messages < MOST_COLLECTED;
    if (d->last_is_listed) {
        const message m = {.at = at,
                           .status = status,
                           .order = d->messages,
                           .text = shortened(d->arena, fsim_vprintf(d->arena, format, args))};
        *FSIM_PUSH(d->arena, d->message, d->messages, d->message_room) = m;
    }
}

void fsim_error(fsim_diag *d, fsim_loc at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    collect(d, at, at.file ? FSIM_BAD_INPUT : FSIM_BAD_ARGUMENT, format, args);
    va_end(args);
}

void fsim_check_shows(fsim_diag *d, fsim_loc at, const char *text, size_t bytes)
{
    uint32_t code;
    size_t length;
    const size_t found = fsim_unshowable(text, bytes, &code, &length);
    if (found < bytes && length == 1 && code >= 0x80)
        fsim_error(d, at, "'%.*s' is no UTF-8: byte 0x%02X", (int)bytes, text, (unsigned)code);
    else if (found < bytes)
        fsim_error(d, at, "'%.*s' has the character U+%04X, which terminals and readers of files do not show as text",
                   (int)bytes, text, (unsigned)code);
}

void fsim_failure(fsim_diag *d, fsim_status status, fsim_loc at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    collect(d, at, status, format, args);
    va_end(args);
}

void fsim_warning(fsim_diag *d, fsim_loc at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    collect(d, at, FSIM_OK, format, args);
    va_end(args);
}

void fsim_note(fsim_diag *d, const char *format, ...)
{
    if (!d->last_is_listed)
        return;
    va_list args;
    va_start(args, format);
    message *m = &d->message[d->messages - 1];
    *FSIM_PUSH(d->arena, m->note, m->notes, m->note_room) = shortened(d->arena, fsim_vprintf(d->arena, format, args));
    va_end(args);
}

int fsim_errors(const fsim_diag *d) { return d->errors; }

fsim_status fsim_diag_status(const fsim_diag *d) { return d->worst; }

fsim_diag_mark fsim_diag_save(const fsim_diag *d)
{
    return (fsim_diag_mark){d->messages, d->errors, d->warnings, d->worst};
}

void fsim_diag_rewind(fsim_diag *d, fsim_diag_mark mark)
{
    d->messages = mark.messages;
    d->errors = mark.errors;
    d->warnings = mark.warnings;
    d->worst = mark.worst;
    d->last_is_listed = false;
}

/* The command line first, then by file, position and arrival. */
static int by_place(const void *left, const void *right)
{
    const message *a = left, *b = right;
    const int file = strcmp(a->at.file ? a->at.file : "", b->at.file ? b->at.file : "");
    if (file)
        return file;
    if (a->at.line != b->at.line)
        return a->at.line < b->at.line ? -1 : 1;
    if (a->at.col != b->at.col)
        return a->at.col < b->at.col ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static bool same(const message *a, const message *b)
{
    for (int i = 0; i < a->notes && a->notes == b->notes; i++)
        if (strcmp(a->note[i], b->note[i]) != 0)
            return false;
    return a->notes == b->notes && a->at.line == b->at.line && a->at.col == b->at.col &&
           strcmp(a->text, b->text) == 0 && strcmp(a->at.file ? a->at.file : "", b->at.file ? b->at.file : "") == 0;
}

/* Are two texts the same but for numbers in the names that they quote? */
static bool alike_text(const char *x, const char *y)
{
    bool quoted = false;
    for (;; x++, y++) {
        x = quoted ? fsim_behind_numbers(x) : x;
        y = quoted ? fsim_behind_numbers(y) : y;
        if (*x != *y || !*x)
            return *x == *y;
        quoted = quoted != (*x == '\'');
    }
}

/* The same of two turns of a repeat block? Both are at one place. */
static bool alike(const message *a, const message *b)
{
    bool yes = a->status == b->status && a->notes == b->notes && alike_text(a->text, b->text);
    for (int i = 0; i < a->notes && yes; i++)
        yes = alike_text(a->note[i], b->note[i]);
    return yes;
}

/* Which messages stand for others, of those in order of their places. */
static void count_alike(fsim_diag *d)
{
    for (int i = 0; i < d->messages; i++)
        d->message[i].times = 1;
    for (int i = 0; i < d->messages; i++) {
        message *m = &d->message[i];
        const char *file = m->at.file ? m->at.file : "";
        for (int k = i + 1; k < d->messages && m->times && m->at.line > 0; k++) {
            message *other = &d->message[k];
            if (other->at.line != m->at.line || other->at.col != m->at.col ||
                strcmp(file, other->at.file ? other->at.file : "") != 0)
                break;
            if (other->times && !same(m, other) && alike(m, other)) {
                other->times = 0;
                m->times += !same(other, other - 1);
            }
        }
    }
}

/* Text from a file may hold terminal escapes, which are replaced. Newlines are ours, between notes. */
static void print_clean(FILE *out, const char *text, size_t bytes, bool lines)
{
    size_t length = 0;
    for (size_t i = 0; i < bytes; i += length) {
        uint32_t code;
        const size_t good = fsim_unshowable(text + i, bytes - i, &code, &length);
        for (size_t k = i; k < i + good; k++)
            putc(text[k] == '\t' ? ' ' : text[k] == '\n' && !lines ? '?' : text[k], out);
        i += good;
        if (i < bytes)
            putc('?', out);
    }
}

/* The beginning of the character after the one at p; UTF-8 continuation bytes are part of the character before them. */
static const char *next_char(const char *p, const char *end)
{
    p++;
    while (p < end && ((unsigned char)*p & 0xC0) == 0x80)
        p++;
    return p;
}

/* The source line with a caret under the column; a part of the line where it is long. */
static void print_line(FILE *out, const fsim_diag *d, fsim_loc at)
{
    const source *s = NULL;
    for (int i = 0; i < d->source_count; i++)
        if (at.file && strcmp(d->sources[i].file, at.file) == 0)
            s = &d->sources[i];
    if (!s || at.line < 1)
        return;
    const char *line = s->text, *const all_end = s->text + s->bytes;
    for (int n = 1; n < at.line; n++) {
        line = line < all_end ? memchr(line, '\n', (size_t)(all_end - line)) : NULL;
        if (!line)
            return;
        line++;
    }
    const char *end = line < all_end ? memchr(line, '\n', (size_t)(all_end - line)) : NULL;
    if (!end)
        end = all_end;
    if (end > line && end[-1] == '\r')
        end--;
    int caret = at.col > 0 ? at.col - 1 : 0;
    for (; caret > LINE_CHARS - 30 && line < end; caret--)
        line = next_char(line, end);
    const char *stop = line;
    for (int n = 0; n < LINE_CHARS && stop < end; n++)
        stop = next_char(stop, end);
    fprintf(out, "%6d | ", at.line);
    print_clean(out, line, (size_t)(stop - line), false);
    fprintf(out, "\n       | %*s^\n", caret, "");
}

static void print_message(FILE *out, const fsim_diag *d, const message *m)
{
    if (!m->at.file)
        fputs("fusesim: ", out);
    else if (m->at.line < 1)
        fprintf(out, "%s: ", m->at.file);
    else
        fprintf(out, "%s:%d:%d: ", m->at.file, m->at.line, m->at.col);
    fputs(m->status ? "error: " : "warning: ", out);
    print_clean(out, m->text, strlen(m->text), false);
    if (m->times > 1)
        fprintf(out, " (x %d)", m->times);
    putc('\n', out);
    print_line(out, d, m->at);
    for (int i = 0; i < m->notes; i++) {
        fputs("    ", out);
        print_clean(out, m->note[i], strlen(m->note[i]), true);
        putc('\n', out);
    }
}

static void sort_by_place(fsim_diag *d)
{
    if (d->messages)
        qsort(d->message, (size_t)d->messages, sizeof *d->message, by_place);
}

int fsim_diag_list(fsim_diag *d, fsim_arena *a, fsim_diagnostic **out)
{
    sort_by_place(d);
    d->last_is_listed = false; /* so that notes that follow are dropped */
    fsim_diagnostic *list = fsim_new(a, fsim_diagnostic, d->messages + 1);
    int count = 0;
    for (int i = 0; i < d->messages; i++) {
        const message *m = &d->message[i];
        if (i == 0 || !same(m, &d->message[i - 1]))
            list[count++] = (fsim_diagnostic){.size = sizeof *list,
                                              .severity = m->status ? FSIM_ERROR : FSIM_WARNING,
                                              .status = m->status,
                                              .file = m->at.file,
                                              .line = m->at.line,
                                              .column = m->at.line > 0 ? m->at.col : 0,
                                              .message = m->text,
                                              .notes = m->note,
                                              .note_count = m->notes};
    }
    *out = list;
    return count;
}

void fsim_diag_print(fsim_diag *d, FILE *out, bool quiet)
{
    sort_by_place(d);
    count_alike(d);
    int printed = 0, repeated = 0;
    /* where not all messages fit, errors go first */
    const bool crowded = d->errors + d->warnings > MOST_PRINTED;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < d->messages; i++) {
            const message *m = &d->message[i];
            if ((pass == 1 && !crowded) || (crowded && (m->status != FSIM_OK) != (pass == 0)) || (quiet && !m->status))
                continue;
            if (m->times == 0 || (i && same(m, &d->message[i - 1]))) {
                repeated++;
                continue;
            }
            if (printed < MOST_PRINTED) {
                print_message(out, d, m);
                printed++;
            }
        }
    const int more = d->errors + (quiet ? 0 : d->warnings) - printed - repeated;
    if (more > 0)
        fprintf(out, "fusesim: %d more message%s not shown\n", more, more == 1 ? "" : "s");
    d->messages = d->errors = d->warnings = 0;
    d->worst = FSIM_OK;
    d->last_is_listed = false;
}

/* Optimal string alignment distance; the table is kept three rows at a time. */
int fsim_edits(const char *a, const char *b)
{
    const size_t rows = strlen(a), cols = strlen(b);
    if (rows > LONGEST_NAME || cols > LONGEST_NAME)
        return INT_MAX;
    int table[3][LONGEST_NAME + 1];
    for (size_t j = 0; j <= cols; j++)
        table[0][j] = (int)j;
    for (size_t i = 1; i <= rows; i++) {
        int *now = table[i % 3], *before = table[(i + 2) % 3], *earlier = table[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= cols; j++) {
            const int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            int best = before[j - 1] + (x != y);
            if (before[j] + 1 < best)
                best = before[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) && y == tolower((unsigned char)a[i - 2]) &&
                earlier[j - 2] + 1 < best)
                best = earlier[j - 2] + 1;
            now[j] = best;
        }
    }
    return table[rows % 3][cols];
}

const char *fsim_nearest(const char *word, const char *const *names, int count)
{
    const char *nearest = NULL;
    int fewest = strlen(word) < 2 ? 0 : strlen(word) <= 4 ? 2 : 3; /* every name is close to one letter: offer none */
    for (int i = 0; i < count; i++) {
        const int edits = fsim_edits(word, names[i]);
        if (edits < fewest) {
            fewest = edits;
            nearest = names[i];
        }
    }
    return nearest;
}

const char *fsim_did_you_mean(fsim_arena *a, const char *word, const char *const *names, int count)
{
    const char *nearest = fsim_nearest(word, names, count);
    return nearest ? fsim_printf(a, "; did you mean '%s'?", nearest) : "";
}
