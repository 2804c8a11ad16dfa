/* SPDX-License-Identifier: Apache-2.0 */
/* table.h: tables and paragraphs that fit a width. */
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

enum { FSIM_DROP_SOONEST = 9 };

typedef struct {
    const char *title;
    bool left;    /* text, aligned left; numbers are aligned right */
    bool shrinks; /* is truncated, with an ellipsis, where the table is too wide */
    int least;    /* a column that shrinks: keeps this many characters before others are dropped; 0: 14 */
    int drop;     /* 0: always shown; otherwise columns with higher numbers are dropped first, where shrinking is not
                     enough; from FSIM_DROP_SOONEST on before anything shrinks */
    const char *legend; /* what the head means, where the word alone does not say it; NULL */
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
/* Adds a row; the caller sets its cells, one for each column; NULL is blank. Valid as long as the arena. */
const char **fsim_table_row(fsim_table *t, fsim_emphasis emphasis);
/* Prints text that fits the page: first columns are dropped, then others truncated. */
void fsim_table_print(const fsim_page *page, const fsim_table *t, int indent);
/* Prints what the heads mean of the columns that fsim_table_print shows with this indent, as a paragraph; nothing where
 * no column has a legend. */
void fsim_table_legend(const fsim_page *page, const fsim_table *t, int indent);
/* Does fsim_table_print cut a cell on this page? */
bool fsim_table_cuts(const fsim_page *page, const fsim_table *t, int indent);
/* Does it show the column on this page? */
bool fsim_table_shows(const fsim_page *page, const fsim_table *t, int indent, int column);
/* The legends of all columns that have a cell: "regs: registers of a thread; ..."; "" where there are none. In a. */
const char *fsim_table_legends(const fsim_table *t, fsim_arena *a);
/* The width that it would have without a limit. */
int fsim_table_width(const fsim_table *t);
/* Prints Markdown, all columns in full. */
void fsim_table_markdown(FILE *out, const fsim_table *t);
/* The text with Markdown's special characters escaped. */
void fsim_markdown_text(FILE *out, const char *text);

/* Prints wrapped text: the first line begins at `indent`, others at `hanging`. Ends the line. */
void fsim_paragraph(const fsim_page *page, fsim_emphasis emphasis, int indent, int hanging, const char *text);
/* The width of text: characters, not bytes. */
int fsim_text_width(const char *text);
/* text in at most `most` characters, its middle left out where it is longer: "encoder...query". In a. */
const char *fsim_text_within(fsim_arena *a, const char *text, int most);
/* Whether the environment's character set is UTF-8. */
bool fsim_utf8_locale(void);

#endif
