/* SPDX-License-Identifier: Apache-2.0 */
/* strings.h: memory with a limit, and strings that are kept once however often a file has them. */
#ifndef FUSESIM_IMPORT_ONNX_STRINGS_H
#define FUSESIM_IMPORT_ONNX_STRINGS_H

#include "base/arena.h"

#include <stdint.h>

/* Memory of an arena, up to a limit. */
typedef struct {
    fsim_arena *a;
    size_t left; /* bytes */
    bool spent;  /* more was wanted */
} fsim_onnx_memory;

/* count x size zeroed bytes; NULL where that is more than is left. count is not below 0. */
void *fsim_onnx_take(fsim_onnx_memory *m, int64_t count, size_t size);

/* Bytes of a file, from at to before end. */
typedef struct {
    const uint8_t *at, *end;
} fsim_onnx_span;

/* A string that is kept. */
typedef struct {
    uint64_t hash;
    const char *text;
    size_t bytes;
} fsim_onnx_string;

/* Strings by their bytes: a hash table with open addressing. The hash depends on seed, so that no file can be made to
 * have all of them in one place. */
typedef struct {
    fsim_onnx_memory *memory;
    uint64_t seed;
    fsim_onnx_string *at;
    size_t count, slots;
} fsim_onnx_strings;

/* The one string with these bytes, with a NUL behind. NULL where memory is spent, or they are no UTF-8 or hold a NUL.
 */
const char *fsim_onnx_intern(fsim_onnx_strings *t, fsim_onnx_span s);
/* A copy of the bytes, with a NUL behind. NULL where memory is spent. */
const char *fsim_onnx_copy(fsim_onnx_memory *m, fsim_onnx_span s);

#endif
