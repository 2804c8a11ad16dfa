/* SPDX-License-Identifier: Apache-2.0 */
/* html_write.h: the only functions that write HTML. What a user wrote (names of operators, of files) goes through "%s"
 * of fsim_html alone, which escapes it, so no name becomes markup or script. */
#ifndef FUSESIM_REPORT_HTML_WRITE_H
#define FUSESIM_REPORT_HTML_WRITE_H

#include "report/text_parts.h"
#include <stdio.h>

/* Writes markup. In it "%s" is a text, escaped for elements and for attributes in quotes; "%d" an int; "%.1f" and "%g"
 * a double; "%%" a percent sign. Nothing else of printf. */
void fsim_html(FILE *out, const char *markup, ...) __attribute__((format(printf, 2, 3)));
/* Writes a text of ours as it is: style and script. */
void fsim_html_raw(FILE *out, const char *text);
/* What a Content-Security-Policy calls a style or script with this text: "sha256-..." in base 64. In a. */
const char *fsim_html_hash(fsim_arena *a, const char *text);

/* A table of the text report, in a box that scrolls where it is too wide, with what its heads mean below. name: for
 * screen readers. */
void fsim_html_table(FILE *out, const fsim_table *t, const char *name);
/* A part of the text report that prints itself, each of its paragraphs as a <p> of a class. */
void fsim_html_paragraphs(FILE *out, const fsim_text_page *r, void (*part)(const fsim_text_page *r),
                          const char *class_name);

#endif
