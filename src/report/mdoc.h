/* SPDX-License-Identifier: Apache-2.0 */
/* mdoc.h: text in mdoc, the language of manual pages. */
#ifndef FUSESIM_REPORT_MDOC_H
#define FUSESIM_REPORT_MDOC_H

#include <stdio.h>

/* text as text lines: each sentence begins a line, and none is longer than 80 bytes. What stands in `backquotes` or in
 * **stars** is bold. */
void fsim_mdoc_text(FILE *out, const char *text);
/* text as one argument of a macro, in quotes. */
void fsim_mdoc_argument(FILE *out, const char *text);
/* The item of a list: ".It Sy TAG", its text, and a full stop where that does not end with one. */
void fsim_mdoc_item(FILE *out, const char *tag, const char *text);
/* Lines to be shown as they are, between .Bd and .Ed. */
void fsim_mdoc_lines(FILE *out, const char *text);
/* A section of a page in Markdown: what follows the line "## heading" up to the next such line. Knows paragraphs, lists
 * of one depth, tables, code, and headings of the third level. A table becomes a list with its first column as tags. */
void fsim_mdoc_section(FILE *out, const char *markdown, const char *heading);

#endif
