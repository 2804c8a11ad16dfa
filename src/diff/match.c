/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/diff.h"

#include "base/names.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kernels of both plans, the second's behind the first's, as a forest: those of a part have one root. */
typedef struct {
    const fsim_plan_diff *x;
    int *up;
    fsim_names before, after; /* the kernel that is home to a primitive */
} forest;

static int root_of(const forest *f, int k)
{
    while (f->up[k] != k)
        k = f->up[k] = f->up[f->up[k]];
    return k;
}

static void join(const forest *f, int one, int other)
{
    const int a = root_of(f, one), b = root_of(f, other);
    f->up[a > b ? a : b] = a < b ? a : b;
}

static const fsim_filed_kernel *kernel_at(const fsim_plan_diff *x, int k)
{
    return k < x->before->kernels ? &x->before->kernel[k] : &x->after->kernel[k - x->before->kernels];
}

static void plant(forest *f, fsim_arena *a)
{
    const fsim_plan_diff *x = f->x;
    const int all = x->before->kernels + x->after->kernels;
    f->up = fsim_new(a, int, all + 1);
    for (int k = 0; k < all; k++) {
        const fsim_filed_kernel *kernel = kernel_at(x, k);
        f->up[k] = k;
        for (int i = 0; i < kernel->homes; i++) {
            const int old = fsim_names_get(&f->before, kernel->home[i]);
            if (old >= 0)
                join(f, old, k);
            if (k < x->before->kernels)
                fsim_names_set(a, &f->before, kernel->home[i], k);
            else
                fsim_names_set(a, &f->after, kernel->home[i], k);
        }
    }
}

/* Have both kernels the same names, in any order? */
static bool same_names(const char *const *one, int ones, const char *const *other, int others)
{
    for (int i = 0; i < ones && ones == others; i++) {
        bool found = false;
        for (int k = 0; k < others && !found; k++)
            found = strcmp(one[i], other[k]) == 0;
        if (!found)
            return false;
    }
    return ones == others;
}

static fsim_part_kind kind_of(const fsim_plan_diff *x, const fsim_diff_part *part)
{
    const int befores = part->sum.before, afters = part->sum.after;
    if (befores == 0 || afters == 0)
        return befores == 0 ? FSIM_PART_ADDED : FSIM_PART_REMOVED;
    if (befores > 1 || afters > 1)
        return befores == 1 ? FSIM_PART_SPLIT : afters == 1 ? FSIM_PART_MERGED : FSIM_PART_MOVED;
    const fsim_filed_kernel *b = &x->before->kernel[part->before[0]], *a = &x->after->kernel[part->after[0]];
    return same_names(b->home, b->homes, a->home, a->homes) && same_names(b->again, b->agains, a->again, a->agains)
               ? FSIM_PART_SAME
               : FSIM_PART_ALTERED;
}

/* Adds a kernel to a part's sums. */
static void count_in(fsim_diff_part *part, const fsim_filed_kernel *k, bool after, double unit_s[FSIM_UNIT_COUNT])
{
    *(after ? &part->sum.after_fs : &part->sum.before_fs) += k->time_fs;
    *(after ? &part->sum.after_bytes : &part->sum.before_bytes) += k->dram_bytes;
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        unit_s[u] += after ? k->unit_s[u] : -k->unit_s[u];
}

static void fill(const forest *f, fsim_diff_part *part, int root, int *room)
{
    const fsim_plan_diff *x = f->x;
    const int befores = x->before->kernels, all = befores + x->after->kernels;
    double unit_s[FSIM_UNIT_COUNT] = {0};
    part->before = room;
    for (int k = root; k < all; k++) {
        if (root_of(f, k) != root)
            continue;
        if (k >= befores && part->sum.after == 0)
            part->after = room;
        *room++ = k < befores ? k : k - befores;
        (*(k < befores ? &part->sum.before : &part->sum.after))++;
        count_in(part, kernel_at(x, k), k >= befores, unit_s);
    }
    const fsim_sum change = part->sum.after_fs - part->sum.before_fs;
    const double way = change < 0 ? -1 : 1; /* a unit that took less is no reason for a part that takes more */
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        if (change ? way * unit_s[u] > way * unit_s[part->unit] : fabs(unit_s[u]) > fabs(unit_s[part->unit]))
            part->unit = u;
    part->unit_fs = unit_s[part->unit] * FSIM_FS_PER_S;
    part->kind = kind_of(x, part);
}

static fsim_sum size_of(const fsim_diff_part *part)
{
    const fsim_sum change = part->sum.after_fs - part->sum.before_fs;
    return change < 0 ? -change : change;
}

/* The largest change first; equal ones in the order of the plans, which their kernels in memory have. */
static int by_change(const void *one, const void *other)
{
    const fsim_diff_part *a = one, *b = other;
    const fsim_sum x = size_of(a), y = size_of(b);
    return x != y ? (x < y) - (x > y) : (a->before > b->before) - (a->before < b->before);
}

void fsim_diff_match(fsim_plan_diff *x, fsim_arena *a)
{
    forest f = {.x = x};
    const int all = x->before->kernels + x->after->kernels;
    fsim_diff_part *part = fsim_new(a, fsim_diff_part, all + 1);
    int *room = fsim_new(a, int, all + 1);
    plant(&f, a);
    for (int k = 0; k < all; k++) {
        if (root_of(&f, k) != k)
            continue;
        fsim_diff_part *p = &part[x->parts++];
        fill(&f, p, k, room);
        room += p->sum.before + p->sum.after;
        x->kinds[p->kind]++;
    }
    x->total = (fsim_diff_sum){0,
                               x->before->kernels,
                               x->after->kernels,
                               x->before->time_fs,
                               x->after->time_fs,
                               x->before->dram_bytes,
                               x->after->dram_bytes};
    qsort(part, (size_t)x->parts, sizeof *part, by_change);
    x->part = part;
}
