/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <assert.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 << 10 };

/* Debug builds have room for one more item behind what an arena gives, and odd bytes in it: an index or a pointer that
 * is read there ends the program, and so does what was written there, once the memory is given back. AddressSanitizer
 * reports each access to it, and to what a rewind released. */
enum { LEAST_GUARD_BYTES = 16, MOST_GUARD_BYTES = 1 << 10, ODD = 0xa5 };

/* The end of what an arena gave: how long all of it is, and how many odd bytes are in front of this. */
typedef struct {
    size_t step, odd;
} ending;

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
enum { GUARDED = true, CHECKED = false };
static void permit(void *at, size_t bytes) { __asan_unpoison_memory_region(at, bytes); }
static void forbid(void *at, size_t bytes) { __asan_poison_memory_region(at, bytes); }
#else
#if defined NDEBUG || defined FSIM_UNGUARDED
enum { GUARDED = false, CHECKED = false };
#else
enum { GUARDED = true, CHECKED = true };
#endif
static void permit(void *at, size_t bytes) { (void)at, (void)bytes; }
static void forbid(void *at, size_t bytes) { memset(at, ODD, bytes); }
#endif

typedef struct block {
    struct block *older;
    size_t room_bytes, used_bytes;
    max_align_t data[];
} block;

struct fsim_arena {
    block *newest;
    block *spare; /* a block kept for the next allocation: a rewind in a loop would free and allocate it in every
                     iteration */
    struct fsim_arena *child; /* the first of the arenas that are freed with this one */
    struct fsim_arena **list; /* the head of the list that it is in: its parent's children, or the arenas created in an
                                 attempt; NULL: none */
    struct fsim_arena *next, *previous; /* neighbours in that list */
};

typedef struct attempt {
    jmp_buf jump;
    struct attempt *outer;
    fsim_arena *arenas; /* arenas without a parent */
    fsim_resource *resources;
} attempt;

/* The attempts that this thread is in; the innermost is first. */
static _Thread_local attempt *innermost;
static _Thread_local size_t held_bytes;
static void (*end_of_program)(void);

static void enlist(fsim_arena *a, fsim_arena **list)
{
    a->list = list;
    a->previous = NULL;
    a->next = list ? *list : NULL;
    if (a->next)
        a->next->previous = a;
    if (list)
        *list = a;
}

static void unlist(fsim_arena *a)
{
    if (a->next)
        a->next->previous = a->previous;
    if (a->previous)
        a->previous->next = a->next;
    else if (a->list)
        *a->list = a->next;
}

/* Arenas that still exist now belong to the enclosing attempt, if there is one. */
static void hand_over(attempt *t)
{
    for (fsim_arena *a = t->arenas, *next; a; a = next) {
        next = a->next;
        enlist(a, t->outer ? &t->outer->arenas : NULL);
    }
}

bool fsim_attempt(void (*work)(void *what), void *what)
{
    attempt here = {.outer = innermost};
    if (setjmp(here.jump) == 0) {
        innermost = &here;
        work(what);
        hand_over(&here);
        innermost = here.outer;
        return true;
    }
    return false;
}

_Noreturn void fsim_out_of_memory(void)
{
    attempt *t = innermost;
    if (!t) {
        if (end_of_program)
            end_of_program();
        __builtin_trap(); /* a fault of ours: code outside an attempt relies on fsim_on_exhaustion */
    }
    innermost = t->outer;
    while (t->resources) {
        fsim_resource *r = t->resources;
        t->resources = r->older;
        r->release(r->what);
    }
    while (t->arenas)
        fsim_arena_free(t->arenas);
    longjmp(t->jump, 1);
}

void fsim_on_exhaustion(void (*end)(void)) { end_of_program = end; }

void fsim_guard(fsim_resource *r, void (*release)(void *what), void *what)
{
    *r = (fsim_resource){release, what, innermost ? innermost->resources : NULL};
    if (innermost)
        innermost->resources = r;
}

void fsim_release(fsim_resource *r)
{
    for (fsim_resource **at = innermost ? &innermost->resources : NULL; at && *at; at = &(*at)->older)
        if (*at == r) {
            *at = r->older;
            break;
        }
    r->release(r->what);
}

static fsim_arena *new_arena(fsim_arena **list)
{
    fsim_arena *a = calloc(1, sizeof *a);
    if (!a)
        fsim_out_of_memory();
    enlist(a, list);
    return a;
}

fsim_arena *fsim_arena_new(void) { return new_arena(innermost ? &innermost->arenas : NULL); }

fsim_arena *fsim_arena_child(fsim_arena *parent) { return new_arena(&parent->child); }

size_t fsim_arena_held(void) { return held_bytes; }

void fsim_arena_take_over(size_t bytes) { held_bytes += bytes; }

static void free_block(block *b)
{
    held_bytes -= b ? b->room_bytes : 0;
    free(b);
}

/* Is each of these bytes ODD? The first is, and each of the others is like the one in front of it. */
static bool is_odd(const unsigned char *at, size_t bytes)
{
    return bytes == 0 || (at[0] == ODD && memcmp(at, at + 1, bytes - 1) == 0);
}

/* Gives back what the block has from `kept` bytes on. */
static void give_back(block *b, size_t kept)
{
    for (size_t end = b->used_bytes; CHECKED && end > kept;) {
        const unsigned char *at = (const unsigned char *)b->data + end - sizeof(ending);
        ending last;
        memcpy(&last, at, sizeof last);
        const bool sound =
            last.step <= end - kept && last.odd + sizeof last <= last.step && is_odd(at - last.odd, last.odd);
        assert(sound); /* or something was written behind memory of the arena */
        (void)sound;
        end -= last.step;
    }
    if (GUARDED)
        forbid((char *)b->data + kept, b->used_bytes - kept);
    b->used_bytes = kept;
}

static void release(fsim_arena *a, block *b)
{
    give_back(b, 0);
    if (!a->spare && b->room_bytes == BLOCK_BYTES)
        a->spare = b;
    else
        free_block(b);
}

void fsim_arena_free(fsim_arena *a)
{
    if (!a)
        return;
    unlist(a);
    while (a->child)
        fsim_arena_free(a->child);
    fsim_rewind(a, (fsim_mark){NULL, 0});
    free_block(a->spare);
    free(a);
}

static void add_block(fsim_arena *a, size_t need_bytes)
{
    block *b = a->spare;
    if (b && need_bytes <= BLOCK_BYTES) {
        a->spare = NULL;
    } else {
        const size_t room = need_bytes > BLOCK_BYTES ? need_bytes : BLOCK_BYTES;
        b = room > SIZE_MAX - sizeof *b ? NULL : malloc(sizeof *b + room);
        if (!b)
            fsim_out_of_memory();
        b->room_bytes = room;
        held_bytes += room;
    }
    b->used_bytes = 0;
    b->older = a->newest;
    a->newest = b;
}

/* Room for so many items, whatever was there before. */
static void *take(fsim_arena *a, size_t count, size_t size)
{
    const size_t unit = _Alignof(max_align_t), item = size < MOST_GUARD_BYTES ? size : MOST_GUARD_BYTES,
                 guard = !GUARDED                   ? 0
                         : item > LEAST_GUARD_BYTES ? item
                                                    : LEAST_GUARD_BYTES,
                 told = CHECKED ? sizeof(ending) : 0;
    if (size && count > (SIZE_MAX - unit - guard - told) / size)
        fsim_out_of_memory();
    const size_t bytes = count * size, step = (bytes + guard + told + unit - 1) / unit * unit;
    if (!a->newest || a->newest->room_bytes - a->newest->used_bytes < step)
        add_block(a, step);
    block *b = a->newest;
    void *at = (char *)b->data + b->used_bytes;
    b->used_bytes += step;
    if (GUARDED) {
        permit(at, bytes);
        forbid((char *)at + bytes, step - bytes);
    }
    if (CHECKED)
        memcpy((char *)at + step - told, &(ending){step, step - bytes - told}, told);
    return at;
}

void *fsim_alloc(fsim_arena *a, size_t count, size_t size) { return memset(take(a, count, size), 0, count * size); }

void *fsim_copy(fsim_arena *a, const void *items, int count, size_t size)
{
    char *copy = take(a, (size_t)count + 1, size);
    if (count)
        memcpy(copy, items, (size_t)count * size);
    memset(copy + (size_t)count * size, 0, size);
    return copy;
}

void *fsim_exact_copy(fsim_arena *a, const void *items, int count, size_t size)
{
    void *copy = take(a, (size_t)count, size);
    if (count)
        memcpy(copy, items, (size_t)count * size);
    return copy;
}

fsim_mark fsim_save(const fsim_arena *a) { return (fsim_mark){a->newest, a->newest ? a->newest->used_bytes : 0}; }

void fsim_rewind(fsim_arena *a, fsim_mark mark)
{
    while (a->newest && a->newest != mark.block) {
        block *b = a->newest;
        a->newest = b->older;
        release(a, b);
    }
    if (!a->newest)
        return;
    give_back(a->newest, mark.used_bytes);
}

char *fsim_strdup(fsim_arena *a, const char *text) { return fsim_strndup(a, text, strlen(text)); }

char *fsim_strndup(fsim_arena *a, const char *text, size_t bytes)
{
    if (bytes == SIZE_MAX)
        fsim_out_of_memory();
    char *copy = fsim_alloc(a, bytes + 1, 1);
    if (bytes)
        memcpy(copy, text, bytes);
    return copy;
}

char *fsim_printf(fsim_arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = fsim_vprintf(a, format, args);
    va_end(args);
    return text;
}

char *fsim_vprintf(fsim_arena *a, const char *format, va_list args)
{
    char room[256]; /* most texts fit: they are written once */
    va_list again;
    va_copy(again, args);
    const int length = vsnprintf(room, sizeof room, format, args);
    char *text = fsim_alloc(a, length < 0 ? 1 : (size_t)length + 1, 1);
    if (length > 0 && (size_t)length < sizeof room)
        memcpy(text, room, (size_t)length);
    else if (length > 0)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void *fsim_grow(fsim_arena *a, void *items, int count, int *room, size_t size)
{
    if (count < *room)
        return items;
    if (count > INT32_MAX / 2 - 8)
        fsim_out_of_memory();
    const int larger = count ? 2 * count : 8;
    char *copy = take(a, (size_t)larger, size);
    if (count)
        memcpy(copy, items, (size_t)count * size);
    memset(copy + (size_t)count * size, 0, (size_t)(larger - count) * size);
    *room = larger;
    return copy;
}
