/* SPDX-License-Identifier: Apache-2.0 */
/* bits.h: sets of primitives, at most 256, with neighbouring numbers. */
#ifndef FUSESIM_PLAN_SEARCH_BITS_H
#define FUSESIM_PLAN_SEARCH_BITS_H

#include <stdbool.h>
#include <stdint.h>

enum { FSIM_BITS_WORDS = 4, FSIM_BITS = FSIM_BITS_WORDS * 64 };
typedef struct {
    uint64_t w[FSIM_BITS_WORDS];
} fsim_bits;

static inline bool fsim_bit(const fsim_bits *x, int i) { return x->w[i >> 6] >> (i & 63) & 1; }
static inline void fsim_bit_set(fsim_bits *x, int i) { x->w[i >> 6] |= (uint64_t)1 << (i & 63); }
static inline void fsim_bit_clear(fsim_bits *x, int i) { x->w[i >> 6] &= ~((uint64_t)1 << (i & 63)); }

static inline fsim_bits fsim_bits_or(fsim_bits x, fsim_bits y)
{
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        x.w[i] |= y.w[i];
    return x;
}
static inline fsim_bits fsim_bits_and(fsim_bits x, fsim_bits y)
{
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        x.w[i] &= y.w[i];
    return x;
}
static inline fsim_bits fsim_bits_without(fsim_bits x, fsim_bits y)
{
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        x.w[i] &= ~y.w[i];
    return x;
}
static inline bool fsim_bits_meet(const fsim_bits *x, const fsim_bits *y)
{
    uint64_t any = 0;
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        any |= x->w[i] & y->w[i];
    return any != 0;
}
static inline bool fsim_bits_empty(const fsim_bits *x)
{
    uint64_t any = 0;
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        any |= x->w[i];
    return any == 0;
}
static inline bool fsim_bits_equal(const fsim_bits *x, const fsim_bits *y)
{
    uint64_t differ = 0;
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        differ |= x->w[i] ^ y->w[i];
    return differ == 0;
}
static inline int fsim_bits_count(const fsim_bits *x)
{
    int n = 0;
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        n += __builtin_popcountll(x->w[i]);
    return n;
}
/* The lowest member that is at least `from`; FSIM_BITS where there is none. */
static inline int fsim_bits_next(const fsim_bits *x, int from)
{
    for (int i = from >> 6; i < FSIM_BITS_WORDS; i++) {
        const uint64_t w = i == from >> 6 ? x->w[i] >> (from & 63) << (from & 63) : x->w[i];
        if (w)
            return i * 64 + __builtin_ctzll(w);
    }
    return FSIM_BITS;
}
/* The highest member; -1 for the empty set. */
static inline int fsim_bits_last(const fsim_bits *x)
{
    for (int i = FSIM_BITS_WORDS; i-- > 0;)
        if (x->w[i])
            return i * 64 + 63 - __builtin_clzll(x->w[i]);
    return -1;
}
/* Adds the members [0, count). */
static inline void fsim_bits_set_first(fsim_bits *x, int count)
{
    int i = 0;
    for (; count >= 64 && i < FSIM_BITS_WORDS; count -= 64)
        x->w[i++] = ~(uint64_t)0;
    if (count > 0 && i < FSIM_BITS_WORDS)
        x->w[i] |= ~(uint64_t)0 >> (64 - count);
}
/* Adds `by` to every member; those that leave [0, FSIM_BITS) are dropped. */
static inline fsim_bits fsim_bits_shifted(fsim_bits x, int by)
{
    uint64_t room[3 * FSIM_BITS_WORDS + 1] = {0}; /* x with room for what comes from below and above it */
    fsim_bits out = {{0}};
    if (by <= -FSIM_BITS || by >= FSIM_BITS)
        return out;
    const int words = (by + FSIM_BITS) / 64 - FSIM_BITS_WORDS, bits = (by + FSIM_BITS) % 64;
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        room[FSIM_BITS_WORDS + 1 + i] = x.w[i];
    const uint64_t *from = room + FSIM_BITS_WORDS + 1 - words;
    for (int i = 0; i < FSIM_BITS_WORDS; i++)
        out.w[i] = from[i] << bits | from[i - 1] >> 1 >> (63 - bits);
    return out;
}
#define FSIM_EACH_BIT(i, set)                                                                                          \
    for (int i = fsim_bits_next(&(set), 0); i < FSIM_BITS;                                                             \
         i = i + 1 < FSIM_BITS ? fsim_bits_next(&(set), i + 1) : FSIM_BITS)

#endif
