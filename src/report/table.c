/* SPDX-License-Identifier: Apache-2.0 */
#include "report/table.h"
#include <ctype.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <string.h>

/* Between columns; a narrow table gives one away. A shrinking column keeps LEAST columns before others are dropped. */
enum { WIDE_GAP = 2, NARROW_GAP = 1, LEAST = 14 };

const char *fsim_text_within(fsim_arena *a, const char *text, int most)
{
    const int width = fsim_text_width(text), head = most / 2, tail = most - head - 1;
    if (width <= most)
        return text;
    size_t from = 0, to = 0;
    for (int seen = 0; text[to]; to++) {
        const bool starts = (text[to] & 0xc0) != 0x80;
        if (starts && seen == head)
            from = to;
        if (starts && seen == width - tail)
            break;
        seen += starts;
    }
    return fsim_printf(a, "%.*s\u2026%s", (int)from, text, text + to);
}

bool fsim_utf8_locale(void)
{
    const locale_t l = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (l == (locale_t)0)
        return false;
    const bool utf8 = strcmp(nl_langinfo_l(CODESET, l), "UTF-8") == 0;
    freelocale(l);
    return utf8;
}

static bool starts_character(char c) { return ((unsigned char)c & 0xC0) != 0x80; }

int fsim_text_width(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += starts_character(*text);
    return width;
}

static void put_char(FILE *out, char c) { fputc((unsigned char)c < ' ' || c == 127 ? '?' : c, out); }

/* The first `most` characters of text; names come from files, so that control characters are not passed on. */
static const char *put_text(FILE *out, const char *text, int most)
{
    for (int width = 0; *text; text++) {
        width += starts_character(*text);
        if (width > most)
            break;
        put_char(out, *text);
    }
    return text;
}

static void put_spaces(FILE *out, int count)
{
    for (int i = 0; i < count; i++)
        fputc(' ', out);
}

static void begin(const fsim_page *page, fsim_emphasis emphasis)
{
    static const char *const code[] = {
        [FSIM_STRONG] = "1", [FSIM_FAINT] = "2", [FSIM_GOOD] = "1;32", [FSIM_BAD] = "1;31"};
    if (page->color && emphasis != FSIM_PLAIN)
        fprintf(page->out, "\033[%sm", code[emphasis]);
}

static void end(const fsim_page *page, fsim_emphasis emphasis)
{
    if (page->color && emphasis != FSIM_PLAIN)
        fputs("\033[0m", page->out);
    fputc('\n', page->out);
}

fsim_table fsim_table_new(fsim_arena *a, const fsim_column *column, int columns)
{
    return (fsim_table){.arena = a, .column = column, .columns = columns};
}

const char **fsim_table_row(fsim_table *t, fsim_emphasis emphasis)
{
    struct fsim_table_row *row = FSIM_PUSH(t->arena, t->row, t->rows, t->room);
    *row = (struct fsim_table_row){fsim_new(t->arena, const char *, t->columns), emphasis};
    return row->cell;
}

static int total_width(const int *width, int columns, int gap, int indent)
{
    int total = indent - gap;
    for (int i = 0; i < columns; i++)
        total += width[i] ? width[i] + gap : 0;
    return total;
}

/* Widths that fit the page, 0 for a column that is left out. Returns the gap between columns. */
static int fit(const fsim_page *page, const fsim_table *t, int indent, int *width)
{
    int gap = WIDE_GAP, flexible = -1;
    for (int i = 0; i < t->columns; i++) {
        int widest = 0;
        for (int r = 0; r < t->rows; r++) {
            const int w = t->row[r].cell[i] ? fsim_text_width(t->row[r].cell[i]) : 0;
            widest = w > widest ? w : widest;
        }
        const int title = fsim_text_width(t->column[i].title);
        width[i] = widest == 0 ? 0 : widest > title ? widest : title;
        if (t->column[i].shrinks)
            flexible = i;
    }
    if (page->width <= 0)
        return gap;
    for (;;) {
        const int excess = total_width(width, t->columns, gap, indent) - page->width;
        const int wanted = flexible < 0 ? 0 : t->column[flexible].least ? t->column[flexible].least : LEAST;
        const int least = flexible < 0 || width[flexible] < wanted ? 0 : wanted;
        int drop = -1;
        for (int i = 0; i < t->columns; i++)
            if (width[i] && t->column[i].drop && (drop < 0 || t->column[i].drop > t->column[drop].drop))
                drop = i;
        const bool soon = drop >= 0 && t->column[drop].drop >= FSIM_DROP_SOONEST;
        if (excess <= 0)
            return gap;
        if (!soon && least && width[flexible] - excess >= least) {
            width[flexible] -= excess;
            return gap;
        }
        if (gap > NARROW_GAP && !soon)
            gap = NARROW_GAP;
        else if (drop >= 0)
            width[drop] = 0;
        else
            break;
    }
    if (flexible >= 0) {
        const int excess = total_width(width, t->columns, gap, indent) - page->width;
        width[flexible] = width[flexible] - excess > 4 ? width[flexible] - excess : 4;
    }
    return gap;
}

static void print_row(const fsim_page *page, const fsim_table *t, const struct fsim_table_row *row, const int *width,
                      int gap, int indent)
{
    begin(page, row->emphasis);
    int owed = indent; /* spaces are printed with the next text, so that none end a line */
    for (int i = 0; i < t->columns; i++) {
        if (!width[i])
            continue;
        const char *cell = row->cell[i] ? row->cell[i] : "";
        const int w = fsim_text_width(cell);
        const int blank = w < width[i] ? width[i] - w : 0;
        if (w) {
            put_spaces(page->out, owed + (t->column[i].left ? 0 : blank));
            owed = 0;
        }
        if (w > width[i]) {
            const char *ellipsis = page->utf8 ? "\u2026" : "..";
            put_text(page->out, cell, width[i] - fsim_text_width(ellipsis));
            fputs(ellipsis, page->out);
        } else {
            put_text(page->out, cell, INT_MAX);
        }
        owed += gap + (w && !t->column[i].left ? 0 : blank);
    }
    end(page, row->emphasis);
}

int fsim_table_width(const fsim_table *t)
{
    const fsim_mark scratch = fsim_save(t->arena);
    int *width = fsim_new(t->arena, int, t->columns);
    const int gap = fit(&(fsim_page){.width = 0}, t, 0, width), total = total_width(width, t->columns, gap, 0);
    fsim_rewind(t->arena, scratch);
    return total;
}

void fsim_table_print(const fsim_page *page, const fsim_table *t, int indent)
{
    const fsim_mark scratch = fsim_save(t->arena);
    int *width = fsim_new(t->arena, int, t->columns);
    const int gap = fit(page, t, indent, width);
    struct fsim_table_row title = {fsim_new(t->arena, const char *, t->columns), FSIM_FAINT};
    for (int i = 0; i < t->columns; i++)
        title.cell[i] = t->column[i].title;
    print_row(page, t, &title, width, gap, indent);
    for (int r = 0; r < t->rows; r++)
        print_row(page, t, &t->row[r], width, gap, indent);
    fsim_rewind(t->arena, scratch);
}

/* The legends of columns of a width. */
static const char *legends(const fsim_table *t, const int *width, fsim_arena *a)
{
    const char *text = "";
    for (int i = 0; i < t->columns; i++)
        if (width[i] && t->column[i].legend)
            text = fsim_printf(a, "%s%s%s: %s", text, *text ? "; " : "", t->column[i].title, t->column[i].legend);
    return *text ? fsim_printf(a, "%s.", text) : text;
}

const char *fsim_table_legends(const fsim_table *t, fsim_arena *a)
{
    int *width = fsim_new(a, int, t->columns);
    fit(&(fsim_page){.width = 0}, t, 0, width);
    return legends(t, width, a);
}

void fsim_table_legend(const fsim_page *page, const fsim_table *t, int indent)
{
    const fsim_mark scratch = fsim_save(t->arena);
    int *width = fsim_new(t->arena, int, t->columns);
    fit(page, t, indent, width);
    const char *text = legends(t, width, t->arena);
    if (*text)
        fsim_paragraph(page, FSIM_FAINT, indent > 2 ? indent : 2, indent > 2 ? indent + 2 : 4, text);
    fsim_rewind(t->arena, scratch);
}

bool fsim_table_cuts(const fsim_page *page, const fsim_table *t, int indent)
{
    const fsim_mark scratch = fsim_save(t->arena);
    int *width = fsim_new(t->arena, int, t->columns);
    bool cuts = false;
    fit(page, t, indent, width);
    for (int r = 0; r < t->rows; r++)
        for (int i = 0; i < t->columns; i++)
            cuts = cuts || (width[i] && t->row[r].cell[i] && fsim_text_width(t->row[r].cell[i]) > width[i]);
    fsim_rewind(t->arena, scratch);
    return cuts;
}

bool fsim_table_shows(const fsim_page *page, const fsim_table *t, int indent, int column)
{
    const fsim_mark scratch = fsim_save(t->arena);
    int *width = fsim_new(t->arena, int, t->columns);
    fit(page, t, indent, width);
    const bool shown = width[column] > 0;
    fsim_rewind(t->arena, scratch);
    return shown;
}

void fsim_markdown_text(FILE *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        const bool inner = c > text && isalnum((unsigned char)c[-1]) && isalnum((unsigned char)c[1]);
        if (strchr("\\`*[]<>|~#&", *c) || (*c == '_' && !inner))
            fputc('\\', out);
        put_char(out, *c);
    }
}

void fsim_table_markdown(FILE *out, const fsim_table *t)
{
    const fsim_mark scratch = fsim_save(t->arena);
    int *width = fsim_new(t->arena, int, t->columns); /* 0 for a column without a cell */
    fit(&(fsim_page){.out = out}, t, 0, width);
    for (int i = 0; i < t->columns; i++)
        if (width[i])
            fprintf(out, "| %s ", t->column[i].title);
    fputs("|\n", out);
    for (int i = 0; i < t->columns; i++)
        if (width[i])
            fputs(t->column[i].left ? "| :-- " : "| --: ", out);
    fputs("|\n", out);
    for (int r = 0; r < t->rows; r++) {
        const char *mark = t->row[r].emphasis == FSIM_STRONG ? "**" : "";
        for (int i = 0; i < t->columns; i++) {
            const char *cell = t->row[r].cell[i] ? t->row[r].cell[i] : "";
            const char *around = *cell ? mark : "";
            if (!width[i])
                continue;
            fprintf(out, "| %s", around);
            fsim_markdown_text(out, cell);
            fprintf(out, "%s ", around);
        }
        fputs("|\n", out);
    }
    fsim_rewind(t->arena, scratch);
}

/* Is text the "x" of a count, as in "x 12" or "(x 12)"? */
static bool is_times(const char *text) { return text[0] == 'x' && text[1] == ' ' && isdigit((unsigned char)text[2]); }

/* Bytes of the next piece of text that stays together: a word, an x and its count, or as much as fits `most` columns.
 */
static size_t piece(const char *text, int most)
{
    const char *times = is_times(text + (*text == '(')) ? strchr(text, ' ') : NULL;
    size_t bytes = 0;
    for (int width = 0; text[bytes] && (text[bytes] != ' ' || text + bytes == times); bytes++) {
        width += starts_character(text[bytes]);
        if (width > most)
            break;
    }
    return bytes;
}

void fsim_paragraph(const fsim_page *page, fsim_emphasis emphasis, int indent, int hanging, const char *text)
{
    enum { NARROWEST = 20 };
    const int limit = page->width <= 0                    ? INT_MAX
                      : page->width < hanging + NARROWEST ? hanging + NARROWEST
                                                          : page->width;
    begin(page, emphasis);
    put_spaces(page->out, indent);
    int at = indent;
    int spaces = 0; /* before the next word, unless it starts a line */
    while (*text) {
        const size_t bytes = piece(text, limit - hanging);
        int width = 0;
        for (size_t i = 0; i < bytes; i++)
            width += starts_character(text[i]);
        if (at > hanging && at + spaces + width > limit) {
            fputc('\n', page->out);
            put_spaces(page->out, hanging);
            at = hanging;
            spaces = 0;
        }
        put_spaces(page->out, spaces);
        put_text(page->out, text, width);
        at += spaces + width;
        text += bytes;
        spaces = (int)strspn(text, " ");
        text += spaces;
    }
    end(page, emphasis);
}
