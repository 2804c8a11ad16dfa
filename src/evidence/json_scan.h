/* SPDX-License-Identifier: Apache-2.0 */
/* json_scan.h: a trace's JSON walked value by value, without a tree of it: that would take many times the file's size.
 * Of a value only the end is looked for. Functions that return a bool return false after an error, which is in d; take
 * only says what it found. */
#ifndef FUSESIM_EVIDENCE_JSON_SCAN_H
#define FUSESIM_EVIDENCE_JSON_SCAN_H

#include "base/diag.h"

typedef struct {
    fsim_diag *d;
    const char *path, *text, *at, *end; /* at: as far as it was read; *end need not be there */
} fsim_scan;

/* An error at a place of the text. Always false. */
bool fsim_scan_fail(const fsim_scan *s, const char *at, const char *what);
/* The same where the text ends too early. */
bool fsim_scan_cut_short(const fsim_scan *s);
/* Over white space. */
void fsim_scan_space(fsim_scan *s);
/* From a quote to behind the one that ends it. */
bool fsim_scan_string(fsim_scan *s);
/* Over a value of any kind. */
bool fsim_scan_value(fsim_scan *s);
/* Over c, with space around it. False where something else stands there. */
bool fsim_scan_take(fsim_scan *s, char c);
/* NaN and infinities are no JSON, but C's printf writes them and profilers use it: a copy with zeros instead, in
 * malloc's memory. NULL where there is none. */
char *fsim_json_without_nan(const char *text, size_t bytes);

#endif
