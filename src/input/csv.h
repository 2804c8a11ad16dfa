/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h: comma-separated values, one record at a time (RFC 4180): fields may be quoted; quotes are doubled in quoted
 * fields, which may contain line breaks. */
#ifndef FUSESIM_INPUT_CSV_H
#define FUSESIM_INPUT_CSV_H

#include "base/diag.h"

enum { FSIM_CSV_MAX_FIELDS = 1 << 16 };

typedef struct {
    const char *text; /* without its quotes; valid until the next record */
    int line, col;    /* where the field starts */
    bool quoted;
} fsim_csv_field;

typedef struct {
    fsim_arena *arena;
    fsim_diag *diag;
    const char *path, *next, *end, *line_start;
    int line;              /* of the next record */
    fsim_csv_field *field; /* of the record that was read last */
    int fields, field_room;
    char *buffer; /* text of the fields */
    size_t buffer_bytes;
} fsim_csv;

/* text must outlive the reader; a byte-order mark is skipped. */
fsim_csv fsim_csv_open(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes);
/* Reads the next record; blank lines are skipped. False at the end, and after an error in d: a quote without its
 * end, text behind a closing quote, too many fields. */
bool fsim_csv_next(fsim_csv *c);
/* Skips one line, whatever it contains. False at the end. */
bool fsim_csv_skip_line(fsim_csv *c);
/* Where a field of the last record starts; for a field that it lacks, where the record starts. */
fsim_loc fsim_csv_place(const fsim_csv *c, int field);

/* Writes a field: one that holds a comma, a quote or a line's end in quotes; behind an apostrophe what a spreadsheet
 * would take for a formula ("=1+1"), from which fsim_csv_next takes it off again. */
void fsim_csv_put(FILE *out, const char *text);

#endif
