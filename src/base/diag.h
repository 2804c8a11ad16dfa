/* SPDX-License-Identifier: Apache-2.0 */
/* diag.h: diagnostics, collected and printed together: sorted by position, at most 20, with the source line and a
 * caret.
 *
 * The error convention of all layers (CONTRIBUTING.md has the reasons): a function that can fail on user input takes
 * an fsim_diag, reports there what is wrong, and returns false or NULL. The kind of failure (an fsim_status) is part
 * of the diagnostic, not of the return value. fsim_diag_status is the worst so far; the library returns it and the
 * program maps it to an exit status, each in one place. */
#ifndef FUSESIM_BASE_DIAG_H
#define FUSESIM_BASE_DIAG_H

#include "base/arena.h"
#include "fusesim.h"
#include <stdbool.h>
#include <stdio.h>

/* line and col start at 1; line 0 means the file as a whole, file NULL the command line. */
typedef struct {
    const char *file;
    int line, col;
} fsim_loc;

typedef struct fsim_diag fsim_diag;

/* An empty collection. It and all its messages live in a. */
fsim_diag *fsim_diag_new(fsim_arena *a);
/* Remembers a file's text so that messages can show its lines. text must outlive d. */
void fsim_diag_source(fsim_diag *d, const char *file, const char *text, size_t bytes);
/* An error in the contents of a user's file: FSIM_BAD_INPUT; or, where `at` has no file, in the command line or the
 * call of the library: FSIM_BAD_ARGUMENT. */
void fsim_error(fsim_diag *d, fsim_loc at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* An error where text[0, bytes), a name or a value that outputs will show, has a character that they can't hold
 * (fsim_unshowable). */
void fsim_check_shows(fsim_diag *d, fsim_loc at, const char *text, size_t bytes);
/* An error of another kind: FSIM_NO_INPUT for a file that can't be read, FSIM_UNAVAILABLE for a GPU that isn't there.
 */
void fsim_failure(fsim_diag *d, fsim_status status, fsim_loc at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A message that does not make the command fail. */
void fsim_warning(fsim_diag *d, fsim_loc at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* An indented line under the last message. */
void fsim_note(fsim_diag *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* How many errors came since the start or the last fsim_diag_print. */
int fsim_errors(const fsim_diag *d);
/* The worst of those errors, in the order of fsim_status; FSIM_OK where there are none. */
fsim_status fsim_diag_status(const fsim_diag *d);
/* What was collected until some moment. */
typedef struct {
    int messages, errors, warnings;
    fsim_status worst;
} fsim_diag_mark;
/* What was collected until now. */
fsim_diag_mark fsim_diag_save(const fsim_diag *d);
/* Back to it: later messages are forgotten. Nothing may have been printed since. */
void fsim_diag_rewind(fsim_diag *d, fsim_diag_mark mark);
/* The messages as data, sorted by place. *out lives as long as d or until the next message. Returns their number. */
int fsim_diag_list(fsim_diag *d, fsim_arena *a, fsim_diagnostic **out);
/* Prints what was collected and forgets it; quiet drops the warnings. */
void fsim_diag_print(fsim_diag *d, FILE *out, bool quiet);

/* The candidate nearest to word: within two edits (one for words of up to four letters; a swap of neighbours is one
 * edit), else NULL. */
const char *fsim_nearest(const char *word, const char *const *names, int count);
/* Insertions, deletions, substitutions and swaps of neighbours that turn a into b, letter case aside; names beyond 63
 * characters are infinitely far (INT_MAX). */
int fsim_edits(const char *a, const char *b);
/* "; did you mean 'gelu'?" for the nearest name, or "". In a. */
const char *fsim_did_you_mean(fsim_arena *a, const char *word, const char *const *names, int count);

#endif
