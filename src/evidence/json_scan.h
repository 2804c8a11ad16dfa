/* SPDX-License-Identifier: Apache-2.0 */
/* json_scan.h: scans a trace's JSON value by value. A tree of it would take many times the file's size. The scanner
 * only finds where a value ends. Functions that return bool return false after an error, which is in d;
 * fsim_scan_take's result only says whether it found the character. */
#ifndef FUSESIM_EVIDENCE_JSON_SCAN_H
#define FUSESIM_EVIDENCE_JSON_SCAN_H

#include "base/diag.h"

typedef struct {
    fsim_diag *d;
    const char *path, *text, *at,
        *end; /* at: the next character to scan; end: behind the last one; *end need not be readable */
} fsim_scan;

/* Reports an error at a place of the text. Always false. */
bool fsim_scan_fail(const fsim_scan *s, const char *at, const char *what);
/* Reports that the text ends too early. Always false. */
bool fsim_scan_cut_short(const fsim_scan *s);
/* Skips white space. */
void fsim_scan_space(fsim_scan *s);
/* Skips a string, from its opening quote to behind the closing one. */
bool fsim_scan_string(fsim_scan *s);
/* Skips a value of any kind. */
bool fsim_scan_value(fsim_scan *s);
/* Skips the character c and white space around it. False where another character stands there. */
bool fsim_scan_take(fsim_scan *s, char c);
/* A copy of the text with 0 in place of NaN and infinities, which are no JSON but are written by profilers that use
 * C's printf. The caller frees it. NULL where the text has none. */
char *fsim_json_without_nan(const char *text, size_t bytes);

#endif
