/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h: memory with two lifetimes. What a run needs to its end lives in one arena; what one candidate needs is
 * bracketed by fsim_save and fsim_rewind. Nothing else is freed. */
#ifndef FUSESIM_BASE_ARENA_H
#define FUSESIM_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

typedef struct fsim_arena fsim_arena;
typedef struct {
    void *block;
    size_t used_bytes;
} fsim_mark;

fsim_arena *fsim_arena_new(void);
/* An arena of its own that ends with its parent at the latest; a rewind of the parent leaves it alone. */
fsim_arena *fsim_arena_child(fsim_arena *parent);
void fsim_arena_free(fsim_arena *a);

/* count x size zeroed bytes, aligned for any type; never NULL: ends the program with status 70 on exhaustion or
 * overflow. */
void *fsim_alloc(fsim_arena *a, size_t count, size_t size);
#define fsim_new(a, type, count) ((type *)fsim_alloc((a), (size_t)(count), sizeof(type)))

/* Everything allocated after a save is released by its rewind. Marks nest. */
fsim_mark fsim_save(const fsim_arena *a);
void fsim_rewind(fsim_arena *a, fsim_mark mark);

char *fsim_strdup(fsim_arena *a, const char *text);
char *fsim_strndup(fsim_arena *a, const char *text, size_t bytes);
char *fsim_printf(fsim_arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *fsim_vprintf(fsim_arena *a, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* Grows an array in the arena: returns items with room for at least count + 1, copying when *room is too small. */
void *fsim_grow(fsim_arena *a, void *items, int count, int *room, size_t size);
#define FSIM_PUSH(a, items, count, room)                                                                               \
    ((items) = fsim_grow((a), (items), (count), &(room), sizeof *(items)), &(items)[(count)++])

#endif
