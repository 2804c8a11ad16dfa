/* SPDX-License-Identifier: Apache-2.0 */
#include "report/mdoc.h"

#include "base/memory.h"

#include <stdbool.h>
#include <string.h>

enum { LINE = 79, MOST_CELLS = 12 };

/* Text. */

typedef struct {
    FILE *out;
    int column;
    bool code, bold; /* within `...`, within **...** */
    bool new_line;   /* a sentence has ended */
} writer;

/* Is it the end of a sentence: "word.", "word.)"? */
static bool ends_sentence(const char *word, size_t length)
{
    while (length > 0 && strchr(")'\"", word[length - 1]))
        length--;
    return length > 0 && strchr(".?!", word[length - 1]);
}

/* "[text](address)" at `at`: its text's length, and in *all that of the whole. 0: there is none. */
static size_t link_at(const char *at, size_t *all)
{
    const char *end = *at == '[' ? strstr(at, "](") : NULL;
    const char *space = end ? strpbrk(at, "\n|`") : NULL, *close = end ? strchr(end, ')') : NULL;
    if (!close || (space && space < end))
        return 0;
    *all = (size_t)(close + 1 - at);
    return (size_t)(end - at - 1);
}

/* One word, escaped. Hyphens of options and of code are those that a shell takes. */
static const char *escaped(writer *w, fsim_arena *a, const char *word, size_t length)
{
    const char *bare = word + (*word == '\'' || *word == '(');
    const bool option = *bare == '-' && bare[1] && bare[1] != ' ';
    fsim_memory text;
    FILE *out = fsim_memory_begin(&text);
    for (size_t i = 0; i < length; i++) {
        if (word[i] == '`') {
            w->code = !w->code;
            fputs(w->code || w->bold ? "\\fB" : "\\fR", out);
        } else if (!w->code && i + 1 < length && word[i] == '*' && word[i + 1] == '*') {
            w->bold = !w->bold;
            fputs(w->bold ? "\\fB" : "\\fR", out);
            i++;
        } else if (word[i] == '\\') {
            fputs("\\e", out);
        } else if (word[i] == '-' && (w->code || option)) {
            fputs("\\-", out);
        } else {
            putc(word[i], out);
        }
    }
    return fsim_memory_end(&text, a, NULL);
}

static void put_word(writer *w, const char *word, size_t length)
{
    fsim_arena *a = fsim_arena_new();
    const char *text = escaped(w, a, word, length);
    if (w->column && (w->new_line || w->column + (int)strlen(text) + 1 > LINE)) {
        putc('\n', w->out);
        w->column = 0;
    }
    if (w->column)
        putc(' ', w->out);
    else if (*text == '.' || *text == '\'')
        fputs("\\&", w->out);
    fputs(text, w->out);
    w->column += (int)strlen(text) + 1;
    w->new_line = ends_sentence(word, length);
    fsim_arena_free(a);
}

static void put_words(writer *w, const char *text, size_t length)
{
    for (const char *end = text + length; text < end;) {
        text += strspn(text, " \n");
        size_t word = strcspn(text, " \n");
        word = text + word > end ? (size_t)(end > text ? end - text : 0) : word;
        if (word > 0)
            put_word(w, text, word);
        text += word;
    }
}

/* text with links replaced by their texts. */
static const char *without_links(fsim_arena *a, const char *text, size_t length)
{
    char *copy = fsim_strndup(a, text, length), *to = copy;
    for (const char *at = fsim_strndup(a, text, length); *at;) {
        size_t all = 0;
        const size_t linked = link_at(at, &all);
        memcpy(to, at + (linked > 0), linked ? linked : 1);
        to += linked ? linked : 1;
        at += linked ? all : 1;
    }
    *to = '\0';
    return copy;
}

static void put_text(FILE *out, const char *text, size_t length)
{
    fsim_arena *a = fsim_arena_new();
    writer w = {.out = out};
    const char *plain = without_links(a, text, length);
    put_words(&w, plain, strlen(plain));
    if (w.column)
        putc('\n', out);
    fsim_arena_free(a);
}

void fsim_mdoc_text(FILE *out, const char *text) { put_text(out, text, strlen(text)); }

static void put_argument(FILE *out, const char *text, size_t length)
{
    putc('"', out);
    for (size_t i = 0; i < length; i++)
        if (text[i] == '"')
            fputs("\\(dq", out);
        else if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else if (text[i] != '`')
            putc(text[i], out);
    fputs(length > 0 && strchr(".,:;()?!", text[length - 1 - (length > 1 && text[length - 1] == '`')]) ? "\\&\"" : "\"",
          out);
}

void fsim_mdoc_argument(FILE *out, const char *text) { put_argument(out, text, strlen(text)); }

void fsim_mdoc_item(FILE *out, const char *tag, const char *text)
{
    const size_t length = strlen(text);
    fputs(".It Sy ", out);
    fsim_mdoc_argument(out, tag);
    putc('\n', out);
    fsim_arena *a = fsim_arena_new();
    if (length > 0)
        fsim_mdoc_text(out, fsim_printf(a, "%s%s", text, strchr(".:?", text[length - 1]) ? "" : "."));
    fsim_arena_free(a);
}

static void put_literal(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((i == 0 || text[i - 1] == '\n') && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", out);
        if (text[i] == '\\' || text[i] == '-')
            fputs(text[i] == '-' ? "\\-" : "\\e", out);
        else
            putc(text[i], out);
    }
}

void fsim_mdoc_lines(FILE *out, const char *text) { put_literal(out, text, strlen(text)); }

/* Markdown. */

typedef enum { NOTHING, HEADING, PARAGRAPH, BULLET, MORE, TABLE, CODE, COMMENT } line_kind;

typedef struct {
    const char *at;
    size_t length;
    line_kind kind;
} line;

typedef struct {
    const char *at;
    size_t length;
} cell;

typedef struct {
    FILE *out;
    const char *next, *end;
    line now;
    bool spaced; /* a paragraph needs no macro before it: it follows a heading */
} page;

static bool begins(const char *text, size_t length, const char *with)
{
    return length >= strlen(with) && strncmp(text, with, strlen(with)) == 0;
}

static line_kind kind_of(const char *text, size_t length)
{
    static const struct {
        const char *with;
        line_kind kind;
    } beginnings[] = {{"```", CODE},  {"#", HEADING}, {"| ", TABLE},    {"|--", TABLE},
                      {"- ", BULLET}, {"  ", MORE},   {"<!--", COMMENT}};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (begins(text, length, beginnings[i].with))
            return beginnings[i].kind;
    return length ? PARAGRAPH : NOTHING;
}

/* Goes to the next line. False at the end. */
static bool step(page *p)
{
    if (p->next >= p->end)
        return false;
    const char *stop = memchr(p->next, '\n', (size_t)(p->end - p->next));
    p->now.at = p->next;
    p->now.length = (size_t)((stop ? stop : p->end) - p->next);
    p->now.kind = kind_of(p->now.at, p->now.length);
    p->next = stop ? stop + 1 : p->end;
    return true;
}

/* The kind of the line after this one. */
static line_kind peek(const page *p)
{
    page copy = *p;
    return step(&copy) ? copy.now.kind : HEADING;
}

/* This line and those of a kind behind it, as text. */
static void put_joined(page *p, line_kind further)
{
    const char *from = p->now.at + (p->now.kind == BULLET ? 2 : 0);
    while (peek(p) == further)
        step(p);
    put_text(p->out, from, (size_t)(p->now.at + p->now.length - from));
}

static void put_bullets(page *p)
{
    fputs(".Bl -bullet\n", p->out);
    do {
        fputs(".It\n", p->out);
        put_joined(p, MORE);
    } while (peek(p) == BULLET && step(p));
    fputs(".El\n", p->out);
}

static void put_code(page *p)
{
    const char *from = p->next, *to = from;
    while (step(p) && p->now.kind != CODE)
        to = p->next;
    fputs(".Bd -literal -offset 2n\n", p->out);
    put_literal(p->out, from, (size_t)(to - from));
    fputs(".Ed\n", p->out);
}

/* The cells of a row, "| a | b |", without what stands around them; their number. */
static int cells_of(const line *row, cell *at)
{
    int count = 0;
    const char *from = row->at + 1, *end = row->at + row->length;
    for (const char *c = from; c < end && count < MOST_CELLS; c++) {
        if (*c != '|' || c[-1] == '\\')
            continue;
        const char *to = c;
        for (; from < to && *from == ' '; from++)
            ;
        for (; to > from && to[-1] == ' '; to--)
            ;
        at[count++] = (cell){from, (size_t)(to - from)};
        from = c + 1;
    }
    return count;
}

static const char *cell_text(fsim_arena *a, cell c)
{
    char *text = fsim_strndup(a, c.at, c.length), *to = text;
    for (const char *at = text; *at; at++)
        if (*at != '\\' || at[1] != '|')
            *to++ = *at;
    *to = '\0';
    return text;
}

/* A row as an item: what it means, then the other cells behind the heads of their columns. */
static void put_row(FILE *out, const cell *head, const cell *of, int columns)
{
    fsim_arena *a = fsim_arena_new();
    const char *meaning = "", *rest = "";
    for (int i = 1; i < columns; i++) {
        const char *title = cell_text(a, head[i]), *text = cell_text(a, of[i]);
        if (*text && (columns == 2 || strcmp(title, "meaning") == 0))
            meaning = text;
        else if (*text)
            rest = fsim_printf(a, "%s%s%s: %s", rest, *rest ? "; " : "", title, text);
    }
    const char *tag = cell_text(a, of[0]);
    fsim_mdoc_item(out, without_links(a, tag, strlen(tag)),
                   fsim_printf(a, "%s%s%s", meaning, *meaning && *rest ? ". " : "", rest));
    fsim_arena_free(a);
}

static void put_table(page *p)
{
    cell head[MOST_CELLS], of[MOST_CELLS];
    const int columns = cells_of(&p->now, head);
    if (peek(p) == TABLE) /* |---|---| */
        step(p);
    fputs(".Bl -tag -width Ds\n", p->out);
    while (peek(p) == TABLE && step(p))
        if (cells_of(&p->now, of) == columns)
            put_row(p->out, head, of, columns);
    fputs(".El\n", p->out);
}

static void put_block(page *p)
{
    const bool spaced = p->spaced;
    p->spaced = false;
    switch (p->now.kind) {
    case HEADING:
        fputs(".Ss ", p->out);
        put_argument(p->out, p->now.at + strspn(p->now.at, "# "), p->now.length - strspn(p->now.at, "# "));
        putc('\n', p->out);
        p->spaced = true;
        break;
    case PARAGRAPH:
    case MORE:
        fputs(spaced ? "" : ".Pp\n", p->out);
        put_joined(p, PARAGRAPH);
        break;
    case BULLET:
        put_bullets(p);
        break;
    case TABLE:
        put_table(p);
        break;
    case CODE:
        put_code(p);
        break;
    case NOTHING:
    case COMMENT:
        p->spaced = spaced;
    }
}

void fsim_mdoc_section(FILE *out, const char *markdown, const char *heading)
{
    fsim_arena *a = fsim_arena_new();
    const char *begin = fsim_printf(a, "\n## %s\n", heading), *at = strstr(markdown, begin);
    const char *from = at ? at + strlen(begin) : "", *end = strstr(from, "\n## ");
    page p = {.out = out, .next = from, .end = end ? end + 1 : from + strlen(from), .spaced = true};
    while (step(&p))
        put_block(&p);
    fsim_arena_free(a);
}
