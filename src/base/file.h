/* SPDX-License-Identifier: Apache-2.0 */
/* file.h: whole files in, whole files out. */
#ifndef FUSESIM_BASE_FILE_H
#define FUSESIM_BASE_FILE_H

#include "base/diag.h"

enum { FSIM_MAX_FILE_BYTES = 64 << 20 };

/* The file's bytes with a NUL behind them, "-" being standard input. NULL with *why set ("no such file", "is a
 * directory", "permission denied", "larger than 64 MiB") when it can't be read. */
char *fsim_read_file(fsim_arena *a, const char *path, size_t *bytes, const char **why);

/* A file of any size, in memory as long as it is open. */
typedef struct {
    const char *text; /* no NUL is behind it */
    size_t bytes;
    void *map; /* NULL: the text is the arena's */
} fsim_mapped;
/* Maps path; a pipe, or standard input ("-"), is read as by fsim_read_file. NULL with *why set. The file must not
 * shrink while it is mapped. */
fsim_mapped *fsim_map_file(fsim_arena *a, const char *path, const char **why);
/* Ends the mapping. NULL is allowed. */
void fsim_unmap(fsim_mapped *m);

/* errno in the user's words: "permission denied". */
const char *fsim_reason(int error);

/* A file that appears whole or not at all: written beside its place as a temporary file, which fsim_commit renames. */
typedef struct fsim_output fsim_output;
/* Opens path, "-" being stdout; a device or a pipe is written in place. NULL with *why set. In a. */
fsim_output *fsim_open_output(fsim_arena *a, const char *path, const char **why);
/* Where to write; its errors are found by fsim_commit. */
FILE *fsim_stream(fsim_output *o);
/* Closes and renames. False with *why set where the data did not reach the disk; nothing is left of the file then. */
bool fsim_commit(fsim_output *o, const char **why);
/* Closes and removes what was written. NULL is allowed. */
void fsim_discard(fsim_output *o);

/* Hex SHA-256 of bytes (FIPS 180-4); hex holds 65 characters. */
void fsim_sha256(const void *bytes, size_t count, char hex[65]);

#endif
