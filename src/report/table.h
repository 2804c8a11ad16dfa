/* SPDX-License-Identifier: Apache-2.0 */
/* table.h: text in columns and paragraphs that keep to a width. */
#ifndef FUSESIM_REPORT_TABLE_H
#define FUSESIM_REPORT_TABLE_H

#include "base/arena.h"
#include <stdbool.h>
#include <stdio.h>

typedef struct {
    FILE *out;
    int width; /* columns; 0: no limit */
    bool color, utf8;
} fsim_page;

typedef enum { FSIM_PLAIN, FSIM_STRONG, FSIM_FAINT, FSIM_GOOD, FSIM_BAD } fsim_emphasis;

typedef struct {
    const char *title;
    bool left;    /* text; numbers stand right */
    bool shrinks; /* gives way, with an ellipsis, when the table is too wide */
    int drop;     /* 0: always there; of the others the highest goes first when shrinking is not enough */
} fsim_column;

typedef struct {
    fsim_arena *arena;
    const fsim_column *column;
    int columns, rows, room;
    struct fsim_table_row {
        const char **cell;
        fsim_emphasis emphasis;
    } * row;
} fsim_table;

/* A table without rows. In a; the columns stay referenced. */
fsim_table fsim_table_new(fsim_arena *a, const fsim_column *column, int columns);
/* A new row's cells, one a column, for the caller to set; NULL cells are blank. The pointer lives as long as the arena.
 */
const char **fsim_table_row(fsim_table *t, fsim_emphasis emphasis);
/* As text that fits the page: columns that drop go first, then those that shrink are cut. */
void fsim_table_print(const fsim_page *page, const fsim_table *t, int indent);
/* Columns that it takes where nothing limits it. */
int fsim_table_width(const fsim_table *t);
/* As Markdown, every column in full. */
void fsim_table_markdown(FILE *out, const fsim_table *t);
/* Text with the characters that mean something to Markdown escaped. */
void fsim_markdown_text(FILE *out, const char *text);

/* Words of text, wrapped: the first line starts at `indent`, the others at `hanging`. Ends the line. */
void fsim_paragraph(const fsim_page *page, fsim_emphasis emphasis, int indent, int hanging, const char *text);
/* Columns that text takes: characters, not bytes. */
int fsim_text_width(const char *text);
/* Whether the environment's character set is UTF-8. */
bool fsim_utf8_locale(void);

#endif
