/* SPDX-License-Identifier: Apache-2.0 */
/* percentiles.c: sorts by the bytes of the numbers, the lowest first: a capacity search sorts some thousand times, and
 * a sort by comparisons takes five times as long. */
#include "serving/percentiles.h"

#include <math.h>
#include <string.h>

enum { BYTES = 8, VALUES = 256, BITS = 8 };

/* A number as an integer that is as large among others as the number. */
static uint64_t key_of(double x)
{
    static const uint64_t sign = (uint64_t)1 << 63;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}

static double number_of(uint64_t key)
{
    static const uint64_t sign = (uint64_t)1 << 63;
    double x;
    key = key & sign ? key & ~sign : ~key;
    memcpy(&x, &key, sizeof x);
    return x;
}

static unsigned byte_of(uint64_t key, int byte) { return (unsigned)(key >> BITS * byte) % VALUES; }

static void sort(double *at, int64_t count, fsim_arena *a)
{
    const fsim_mark mark = fsim_save(a);
    uint64_t *from = fsim_new(a, uint64_t, count + 1), *to = fsim_new(a, uint64_t, count + 1);
    int64_t place[BYTES][VALUES] = {{0}};
    for (int64_t i = 0; i < count; i++) {
        from[i] = key_of(at[i]);
        for (int b = 0; b < BYTES; b++)
            place[b][byte_of(from[i], b)]++;
    }
    for (int b = 0; b < BYTES; b++) {
        int64_t *of = place[b], next = 0;
        if (of[byte_of(from[0], b)] == count)
            continue; /* all have the same */
        for (int v = 0; v < VALUES; v++) {
            const int64_t here = of[v];
            of[v] = next;
            next += here;
        }
        for (int64_t i = 0; i < count; i++)
            to[of[byte_of(from[i], b)]++] = from[i];
        uint64_t *const sorted = to;
        to = from;
        from = sorted;
    }
    for (int64_t i = 0; i < count; i++)
        at[i] = number_of(from[i]);
    fsim_rewind(a, mark);
}

fsim_percentiles fsim_percentiles_of(double *at, int64_t count, fsim_arena *a)
{
    fsim_percentiles p = {NAN, NAN, NAN, NAN};
    double sum = 0;
    if (count == 0)
        return p;
    sort(at, count, a);
    for (int64_t i = 0; i < count; i++)
        sum += at[i];
    p.mean = sum / (double)count;
    p.p50 = at[(int64_t)ceil(0.50 * (double)count) - 1];
    p.p90 = at[(int64_t)ceil(0.90 * (double)count) - 1];
    p.p99 = at[(int64_t)ceil(0.99 * (double)count) - 1];
    return p;
}
