/* SPDX-License-Identifier: Apache-2.0 */
/* file.h: whole files in, whole files out. */
#ifndef FUSESIM_BASE_FILE_H
#define FUSESIM_BASE_FILE_H

#include "base/diag.h"
#include <dirent.h>
#include <sys/types.h>

enum { FSIM_MAX_FILE_BYTES = 64 << 20 };

/* The file's bytes followed by a NUL; "-" is standard input. NULL with *why set ("no such file", "is a directory",
 * "permission denied", "larger than 64 MiB") where it can't be read. */
char *fsim_read_file(fsim_arena *a, const char *path, size_t *bytes, const char **why);

/* The text of a file of any size, valid until fsim_unmap. */
typedef struct {
    const char *text; /* not followed by a NUL */
    size_t bytes;
    void *map; /* NULL: the text is in the arena */
} fsim_mapped;
/* Maps path; a pipe or standard input ("-") is read as by fsim_read_file. NULL with *why set. The file must not
 * shrink meanwhile. */
fsim_mapped *fsim_map_file(fsim_arena *a, const char *path, const char **why);
/* Ends the mapping. NULL is allowed. */
void fsim_unmap(fsim_mapped *m);

/* A folder to list; NULL where it can't be opened. */
DIR *fsim_open_folder(const char *path);

/* errno in the user's words: "permission denied". ENOMEM: memory has run out (fsim_out_of_memory). */
const char *fsim_reason(int error);

/* A file that appears complete or not at all: it is written to a temporary file beside its final path, which
 * fsim_commit renames. */
typedef struct fsim_output fsim_output;
/* Opens path, "-" being stdout; a device or a pipe is written in place. NULL with *why set. In a. */
fsim_output *fsim_open_output(fsim_arena *a, const char *path, const char **why);
/* Deletes temporary files that other processes left beside it, for who knows that none of them writes it any more. */
void fsim_discard_left(fsim_arena *a, const fsim_output *o);
/* The stream to write to. Write errors are reported by fsim_commit. */
FILE *fsim_stream(fsim_output *o);
/* Closes and renames the file. False with *why set where data did not reach the disk; the file does not exist then. */
bool fsim_commit(fsim_output *o, const char **why);
/* Closes and deletes what was written. NULL is allowed. */
void fsim_discard(fsim_output *o);

/* Deletes the temporary files of all outputs that are open. A signal handler may call it. */
void fsim_discard_all(void);
/* Processes that are started from now on note their open outputs where this one sees them. False: no memory. */
bool fsim_share_outputs(void);
/* Deletes the temporary files of the outputs that a process had open when it ended, however that was. */
void fsim_discard_outputs_of(pid_t gone);

/* Hex SHA-256 of bytes (FIPS 180-4); hex holds 65 characters. */
void fsim_sha256(const void *bytes, size_t count, char hex[65]);

#endif
