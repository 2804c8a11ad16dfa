/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h: comma-separated values, a record at a time (RFC 4180): fields may be quoted, quotes doubled inside, line
 * breaks inside quotes. */
#ifndef FUSESIM_INPUT_CSV_H
#define FUSESIM_INPUT_CSV_H

#include "base/diag.h"

enum { FSIM_CSV_MAX_FIELDS = 1 << 16 };

typedef struct {
    const char *text; /* without its quotes; lives until the next record */
    int line, col;    /* where it starts */
    bool quoted;
} fsim_csv_field;

typedef struct {
    fsim_arena *arena;
    fsim_diag *diag;
    const char *path, *next, *end, *line_start;
    int line;              /* of the next record */
    fsim_csv_field *field; /* of the record that was read last */
    int fields, field_room;
    char *buffer; /* their texts */
    size_t buffer_bytes;
} fsim_csv;

/* text must outlive it; a byte-order mark is skipped. */
fsim_csv fsim_csv_open(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes);
/* Reads the next record; blank lines are none. False at the end, and after an error in d: a quote that never ends, text
 * behind one, too many fields. */
bool fsim_csv_next(fsim_csv *c);
/* Moves over a line, whatever it holds. False at the end. */
bool fsim_csv_skip_line(fsim_csv *c);
/* Where a field of the record read last starts; the line where the record starts for a field that it does not have. */
fsim_loc fsim_csv_place(const fsim_csv *c, int field);

#endif
