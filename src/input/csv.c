/* SPDX-License-Identifier: Apache-2.0 */
#include "input/csv.h"

#include <stdlib.h>
#include <string.h>

fsim_csv fsim_csv_open(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes)
{
    static const char mark[] = "\xEF\xBB\xBF";
    const size_t skip = bytes >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    return (fsim_csv){.arena = a,
                      .diag = d,
                      .path = path,
                      .next = text + skip,
                      .end = text + bytes,
                      .line_start = text + skip,
                      .line = 1};
}

bool fsim_csv_skip_line(fsim_csv *c)
{
    if (c->next == c->end)
        return false;
    const char *end = memchr(c->next, '\n', (size_t)(c->end - c->next));
    c->next = end ? end + 1 : c->end;
    c->line++;
    c->line_start = c->next;
    return true;
}

static fsim_loc here(const fsim_csv *c, const char *p)
{
    return (fsim_loc){c->path, c->line, (int)(p - c->line_start) + 1};
}

/* Makes room for the texts of a record of `bytes` bytes: each is at most as long as its source and has a NUL. */
static void make_room(fsim_csv *c, size_t bytes)
{
    if (bytes <= c->buffer_bytes)
        return;
    c->buffer_bytes = bytes * 2;
    c->buffer = fsim_new(c->arena, char, c->buffer_bytes);
}

/* The end of the record that starts at p: the first line break outside of quotes. */
static const char *record_end(const fsim_csv *c, const char *p)
{
    for (bool inside = false; p < c->end; p++)
        if (*p == '"')
            inside = !inside;
        else if (*p == '\n' && !inside)
            return p;
    return p;
}

/* Reads a quoted field from behind its opening quote to *to. False after an error. */
static bool read_quoted(fsim_csv *c, const char **at, const char *end, char **to)
{
    const fsim_loc start = here(c, *at - 1);
    const char *p = *at;
    for (; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
        p += *p == '"';
        *(*to)++ = *p;
        if (*p == '\n') {
            c->line++;
            c->line_start = p + 1;
        }
    }
    if (p == end) {
        fsim_error(c->diag, start, "this quote never ends");
        return false;
    }
    *at = p + 1;
    if (*at < end && **at != ',' && **at != '\r') {
        fsim_error(c->diag, here(c, *at),
                   "text behind a closing quote: wanted a comma or the end of the line (quotes inside are doubled)");
        return false;
    }
    return true;
}

/* Would a spreadsheet take the text for a formula? Numbers with a sign are none. */
static bool is_formula(const char *text)
{
    char *end;
    if (*text == '\0' || !strchr("=+-@\t", *text))
        return false;
    strtod(text, &end);
    return end == text || *end != '\0';
}

/* A line's end may have two characters, of which one alone shows nothing. */
static void check_shows(fsim_csv *c, fsim_loc at, const char *text, size_t bytes)
{
    for (const char *end; (end = memmem(text, bytes, "\r\n", 2)) != NULL; text = end + 1) {
        fsim_check_shows(c->diag, at, text, (size_t)(end - text));
        bytes -= (size_t)(end + 1 - text);
    }
    fsim_check_shows(c->diag, at, text, bytes);
}

static bool read_record(fsim_csv *c, const char *end)
{
    char *to = c->buffer;
    const char *p = c->next;
    c->fields = 0;
    for (bool more = true; more;) {
        if (c->fields == FSIM_CSV_MAX_FIELDS) {
            fsim_error(c->diag, here(c, p), "more than %d fields in a line", FSIM_CSV_MAX_FIELDS);
            return false;
        }
        const fsim_loc start = here(c, p);
        const bool quoted = p < end && *p == '"';
        *FSIM_PUSH(c->arena, c->field, c->fields, c->field_room) = (fsim_csv_field){to, start.line, start.col, quoted};
        p += quoted;
        if (quoted && !read_quoted(c, &p, end, &to))
            return false;
        for (; p < end && *p != ','; p++)
            if (*p != '\r' || p + 1 < end)
                *to++ = *p;
        *to++ = '\0';
        const char *field = c->field[c->fields - 1].text;
        if (*field == '\'' && is_formula(field + 1)) /* as fsim_csv_put writes it */
            c->field[c->fields - 1].text = ++field;
        check_shows(c, start, field, (size_t)(to - 1 - field));
        more = p < end;
        p += more;
    }
    return true;
}

bool fsim_csv_next(fsim_csv *c)
{
    while (c->next < c->end && (*c->next == '\n' || *c->next == '\r'))
        fsim_csv_skip_line(c);
    if (c->next == c->end)
        return false;
    const char *end = record_end(c, c->next);
    make_room(c, (size_t)(end - c->next) + 2);
    const bool good = read_record(c, end);
    c->next = end < c->end ? end + 1 : end;
    c->line++;
    c->line_start = c->next;
    return good;
}

fsim_loc fsim_csv_place(const fsim_csv *c, int field)
{
    if (field < 0 || field >= c->fields)
        return (fsim_loc){c->path, c->fields > 0 ? c->field[0].line : c->line, 1};
    return (fsim_loc){c->path, c->field[field].line, c->field[field].col};
}

void fsim_csv_put(FILE *out, const char *text)
{
    const char *mark = is_formula(text) ? "'" : "";
    if (!strpbrk(text, ",\"\n\r")) {
        fprintf(out, "%s%s", mark, text);
        return;
    }
    fprintf(out, "\"%s", mark);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}
