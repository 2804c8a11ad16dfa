/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h: memory with two lifetimes. What is needed until the run ends lives in one arena; what one candidate needs is
 * bracketed by fsim_save and fsim_rewind. Nothing else is freed.
 *
 * When memory runs out. No allocation returns NULL, so no caller checks. Instead fsim_out_of_memory ends the
 * innermost fsim_attempt of this thread: it releases the resources that are in use (streams, parsers; fsim_guard),
 * frees the arenas created in the attempt, and fsim_attempt returns false. Every entry of libfusesim is such an
 * attempt; that is how the library returns FSIM_NO_MEMORY. The program has none: it names a function that ends the
 * process (fsim_on_exhaustion). Code between the two therefore owns nothing but arenas and registered resources
 * while it allocates. */
#ifndef FUSESIM_BASE_ARENA_H
#define FUSESIM_BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct fsim_arena fsim_arena;
typedef struct {
    void *block;
    size_t used_bytes;
} fsim_mark;

/* An empty arena. The thread that created it frees it. */
fsim_arena *fsim_arena_new(void);
/* An arena that is freed with its parent at the latest. A rewind of the parent does not touch it. */
fsim_arena *fsim_arena_child(fsim_arena *parent);
/* Frees a, its children, and all that was allocated in them. NULL is allowed. */
void fsim_arena_free(fsim_arena *a);

/* Calls work(what). False where memory ran out: arenas created in it are freed then, but not what it allocated in
 * older ones. Attempts nest; running out ends the innermost one of the thread. */
bool fsim_attempt(void (*work)(void *what), void *what);
/* Ends the innermost attempt. Outside of attempts it calls the function set by fsim_on_exhaustion, which must not
 * return. */
_Noreturn void fsim_out_of_memory(void);
/* For a program, before it starts threads: the function to call when memory runs out outside of attempts. */
void fsim_on_exhaustion(void (*end)(void));

/* A resource other than arena memory, to be released if memory runs out while it is in use. Declared in the function
 * that uses it; the release runs before that function's frame is left. */
typedef struct fsim_resource {
    void (*release)(void *what);
    void *what;
    struct fsim_resource *older;
} fsim_resource;
/* Registers r: from now until fsim_release(r), running out of memory calls release(what). */
void fsim_guard(fsim_resource *r, void (*release)(void *what), void *what);
/* Calls release(what) and unregisters r. */
void fsim_release(fsim_resource *r);

/* Bytes that this thread's arenas hold. */
size_t fsim_arena_held(void);
/* Counts so many bytes more as this thread's: of arenas that a thread which has ended filled and left. */
void fsim_arena_take_over(size_t bytes);

/* count x size zeroed bytes, aligned for any type; never NULL (see above). */
void *fsim_alloc(fsim_arena *a, size_t count, size_t size);
#define fsim_new(a, type, count) ((type *)fsim_alloc((a), (size_t)(count), sizeof(type)))
/* A copy of items[0, count), each of `size` bytes, and behind them a zeroed one. */
void *fsim_copy(fsim_arena *a, const void *items, int count, size_t size);

/* The same without the zeroed one. */
void *fsim_exact_copy(fsim_arena *a, const void *items, int count, size_t size);

/* A place in an arena. Everything allocated after a save is released by its rewind. Marks nest. */
fsim_mark fsim_save(const fsim_arena *a);
/* Back to that place. Arenas made as children stay. */
void fsim_rewind(fsim_arena *a, fsim_mark mark);

/* A copy of text, with its NUL. In a. */
char *fsim_strdup(fsim_arena *a, const char *text);
/* A copy of `bytes` bytes, followed by a NUL; they may contain any value. In a. */
char *fsim_strndup(fsim_arena *a, const char *text, size_t bytes);
/* Formatted text, as long as it is. In a. */
char *fsim_printf(fsim_arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same of a list of arguments. */
char *fsim_vprintf(fsim_arena *a, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* Grows an array in the arena: returns items with room for at least count + 1, copying when *room is too small. */
void *fsim_grow(fsim_arena *a, void *items, int count, int *room, size_t size);
#define FSIM_PUSH(a, items, count, room)                                                                               \
    ((items) = fsim_grow((a), (items), (count), &(room), sizeof *(items)), &(items)[(count)++])

#endif
