/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/diff.h"

#include "base/names.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const fsim_part_kind_names[FSIM_PART_KINDS] = {"same",    "split", "merged", "moved",
                                                           "altered", "added", "removed"};
const char *const fsim_diff_cause_names[FSIM_DIFF_CAUSES] = {"fusion", "hardware", "calibration", "shapes",
                                                             "dtypes", "workload", "strategy",    "launch",
                                                             "l2",     "version",  "unrecorded"};

#define BIT(cause) (1u << FSIM_DUE_TO_##cause)

typedef struct {
    fsim_arena *a;
    fsim_plan_diff *x;
    fsim_diff_input *input;
    int count, room;
} inputs;

static void note(inputs *to, fsim_diff_cause cause, const char *what, const char *before, const char *after)
{
    *FSIM_PUSH(to->a, to->input, to->count, to->room) = (fsim_diff_input){cause, what, before, after};
    to->x->changed |= 1u << cause;
}

static void note_unless_same(inputs *to, fsim_diff_cause cause, const char *what, const char *before, const char *after)
{
    if (strcmp(before, after) != 0)
        note(to, cause, what, before, after);
}

static const fsim_filed_symbol *symbol_named(const fsim_filed_plan *p, const char *name)
{
    for (int i = 0; i < p->symbols; i++)
        if (strcmp(p->symbol[i].name, name) == 0)
            return &p->symbol[i];
    return NULL;
}

static void note_symbols(inputs *to)
{
    const fsim_filed_plan *before = to->x->before, *after = to->x->after;
    for (int i = 0; i < before->symbols; i++) {
        const fsim_filed_symbol *s = &before->symbol[i], *now = symbol_named(after, s->name);
        if (!now || strcmp(now->value, s->value) != 0)
            note(to, s->number ? FSIM_DUE_TO_SHAPES : FSIM_DUE_TO_DTYPES, s->name, s->value, now ? now->value : NULL);
    }
    for (int i = 0; i < after->symbols; i++)
        if (!symbol_named(before, after->symbol[i].name))
            note(to, after->symbol[i].number ? FSIM_DUE_TO_SHAPES : FSIM_DUE_TO_DTYPES, after->symbol[i].name, NULL,
                 after->symbol[i].value);
}

/* The names of all primitives that the plan computes. */
static void collect(const fsim_filed_plan *p, fsim_names *to, fsim_arena *a)
{
    for (int k = 0; k < p->kernels; k++)
        for (int i = 0; i < p->kernel[k].homes; i++)
            fsim_names_set(a, to, p->kernel[k].home[i], 1);
}

/* How many names of `one` the other lacks; *first: one of them. */
static int missing(const fsim_filed_plan *one, const fsim_names *other, const char **first)
{
    int count = 0;
    for (int k = 0; k < one->kernels; k++)
        for (int i = 0; i < one->kernel[k].homes; i++)
            if (fsim_names_get(other, one->kernel[k].home[i]) < 0 && count++ == 0)
                *first = one->kernel[k].home[i];
    return count;
}

/* "'g'", "'g' and 3 more primitives"; NULL for none. */
static const char *some(fsim_arena *a, const char *first, int count)
{
    return count > 1 ? fsim_printf(a, "%s and %d more", first, count - 1) : count ? first : NULL;
}

/* Other operators: the number of them, or, of the same strategy, their names. Plans of frameworks leave out operators
 * that only change strides. */
static void note_workload(inputs *to)
{
    const fsim_filed_plan *before = to->x->before, *after = to->x->after;
    fsim_names old = {0}, now = {0};
    const char *lost = "", *won = "";
    collect(before, &old, to->a);
    collect(after, &now, to->a);
    const int losses = missing(before, &now, &lost), wins = missing(after, &old, &won);
    note_unless_same(to, FSIM_DUE_TO_WORKLOAD, "name", before->workload, after->workload);
    note_unless_same(to, FSIM_DUE_TO_WORKLOAD, "operators", before->operators, after->operators);
    if (strcmp(before->primitives, after->primitives) != 0 || strcmp(before->strategy, after->strategy) == 0)
        if (losses + wins > 0)
            note(to, FSIM_DUE_TO_WORKLOAD, "primitives", some(to->a, lost, losses), some(to->a, won, wins));
}

/* Sizes that no symbol says: a tensor of a kernel with the same primitives has other bytes. */
static void note_sizes(inputs *to)
{
    const fsim_plan_diff *x = to->x;
    for (int i = 0; i < x->parts && !(x->changed & (BIT(SHAPES) | BIT(DTYPES))); i++) {
        if (x->part[i].kind != FSIM_PART_SAME)
            continue;
        const fsim_filed_kernel *b = &x->before->kernel[x->part[i].before[0]],
                                *a = &x->after->kernel[x->part[i].after[0]];
        for (int t = 0; t < b->tensors; t++)
            for (int s = 0; s < a->tensors; s++)
                if (strcmp(b->tensor[t].name, a->tensor[s].name) == 0 && b->tensor[t].bytes != a->tensor[s].bytes) {
                    char one[FSIM_SUM_DIGITS], other[FSIM_SUM_DIGITS];
                    note(to, FSIM_DUE_TO_SHAPES, fsim_printf(to->a, "bytes of %s", b->tensor[t].name),
                         fsim_strdup(to->a, fsim_sum_digits(one, b->tensor[t].bytes)),
                         fsim_strdup(to->a, fsim_sum_digits(other, a->tensor[s].bytes)));
                    return;
                }
    }
}

static bool same_figure(double x, double y) { return x == y || (isnan(x) && isnan(y)); }

static const char *figure_text(fsim_arena *a, double x, fsim_dim dim)
{
    char buffer[48];
    return isnan(x) ? NULL : fsim_strdup(a, fsim_show(buffer, sizeof buffer, x, dim));
}

/* Another GPU, or other figures of the same. Those that calibrate fits or measures are a cause of their own: scalars of
 * the model, figures that a file may leave to similar GPUs, and what is reached of a peak. */
static void note_hardware(inputs *to)
{
    const fsim_filed_plan *before = to->x->before, *after = to->x->after;
    note_unless_same(to, FSIM_DUE_TO_HARDWARE, "GPU", before->hardware, after->hardware);
    note_unless_same(to, FSIM_DUE_TO_HARDWARE, "architecture", before->architecture, after->architecture);
    for (int i = 0; i < FSIM_HW_COUNT && strcmp(before->hardware, after->hardware) == 0; i++) {
        const fsim_hw_row *row = &fsim_hw_rows[i];
        const double old_peak = isnan(before->peak[i]) ? before->key[i] : before->peak[i],
                     new_peak = isnan(after->peak[i]) ? after->key[i] : after->peak[i];
        const bool rate = !same_figure(before->key[i], after->key[i]), peak = !same_figure(old_peak, new_peak),
                   reached = !isnan(before->peak[i]) || !isnan(after->peak[i]),
                   fitted = row->absent == FSIM_ABSENT_SIMILAR || !isnan(row->otherwise) || (reached && !peak);
        if (i == FSIM_HW_RENT || (!rate && !peak))
            continue;
        note(to, fitted ? FSIM_DUE_TO_CALIBRATION : FSIM_DUE_TO_HARDWARE, row->key,
             figure_text(to->a, rate ? before->key[i] : old_peak, row->dim),
             figure_text(to->a, rate ? after->key[i] : new_peak, row->dim));
    }
}

static void note_all(inputs *to, const fsim_diff *of)
{
    const fsim_filed_plan *before = to->x->before, *after = to->x->after;
    note_unless_same(to, FSIM_DUE_TO_VERSION, "fusesim", of->before->version, of->after->version);
    note_hardware(to);
    note_workload(to);
    note_symbols(to);
    note_unless_same(to, FSIM_DUE_TO_DTYPES, "computes in", before->dtypes, after->dtypes);
    note_sizes(to);
    note_unless_same(to, FSIM_DUE_TO_STRATEGY, "strategy", before->strategy, after->strategy);
    note_unless_same(to, FSIM_DUE_TO_STRATEGY, "kernels of", before->maker, after->maker);
    note_unless_same(to, FSIM_DUE_TO_STRATEGY, "objective", before->objective, after->objective);
    note_unless_same(to, FSIM_DUE_TO_STRATEGY, "numerics", before->numerics, after->numerics);
    note_unless_same(to, FSIM_DUE_TO_STRATEGY, "recompute", before->recompute, after->recompute);
    note_unless_same(to, FSIM_DUE_TO_LAUNCH, "launch", before->launch, after->launch);
    note_unless_same(to, FSIM_DUE_TO_L2, "l2", before->l2, after->l2);
    to->x->input = to->input;
    to->x->inputs = to->count;
}

/* Does L2 serve the same share of each tensor of both kernels? */
static bool same_hits(const fsim_filed_kernel *one, const fsim_filed_kernel *other)
{
    for (int t = 0; t < one->tensors && one->tensors == other->tensors; t++) {
        const fsim_filed_tensor *a = &one->tensor[t], *b = &other->tensor[t];
        if (strcmp(a->name, b->name) != 0 || a->bytes * b->dram_bytes != b->bytes * a->dram_bytes)
            return false;
    }
    return one->tensors == other->tensors;
}

/* Did a part change which primitives share a kernel? What a changed workload adds or takes away does not count. */
static bool is_decision(const fsim_plan_diff *x, const fsim_diff_part *part)
{
    const bool by_workload =
        part->kind == FSIM_PART_ADDED || part->kind == FSIM_PART_REMOVED || part->kind == FSIM_PART_ALTERED;
    return part->kind != FSIM_PART_SAME && !(by_workload && x->changed & BIT(WORKLOAD));
}

/* What may have changed the time of one kernel of the same primitives. Other kernels around it change only what it
 * finds in L2; and where it does the same work, launched in the same way, neither shapes nor dtypes had a part, nor,
 * where a library does it, who calls the library. */
static unsigned causes_of_same(const fsim_plan_diff *x, const fsim_diff_part *part)
{
    const fsim_filed_kernel *b = &x->before->kernel[part->before[0]], *a = &x->after->kernel[part->after[0]];
    const unsigned all =
        x->changed & ~(BIT(WORKLOAD) | (strcmp(x->before->maker, x->after->maker) != 0 ? 0 : BIT(STRATEGY)));
    unsigned causes = same_hits(b, a) ? all & ~BIT(FUSION) : all;
    if (strcmp(b->work, a->work) == 0)
        causes &= ~(BIT(SHAPES) | BIT(DTYPES) | (b->library ? BIT(STRATEGY) : 0));
    if (causes)
        return causes;
    return all ? all : x->changed & BIT(WORKLOAD) ? BIT(WORKLOAD) : BIT(UNRECORDED);
}

static unsigned causes_of(const fsim_plan_diff *x, const fsim_diff_part *part)
{
    const unsigned others = x->changed & ~(BIT(FUSION) | BIT(WORKLOAD) | BIT(STRATEGY));
    const bool of_workload = x->changed & BIT(WORKLOAD);
    switch (part->kind) {
    case FSIM_PART_SAME:
        return part->sum.before_fs == part->sum.after_fs ? 0 : causes_of_same(x, part);
    case FSIM_PART_ADDED:
    case FSIM_PART_REMOVED:
        return of_workload ? BIT(WORKLOAD) : BIT(FUSION) | others;
    case FSIM_PART_ALTERED:
        return (of_workload ? BIT(WORKLOAD) : BIT(FUSION)) | others;
    default:
        return BIT(FUSION) | (of_workload ? x->changed & ~BIT(STRATEGY) : others);
    }
}

static int bits_of(unsigned x) { return x ? 1 + bits_of(x & (x - 1)) : 0; }

/* One cause, then two, ...; what did not change comes last. */
static int by_causes(const void *one, const void *other)
{
    const fsim_diff_sum *a = one, *b = other;
    const int x = a->causes ? bits_of(a->causes) : FSIM_DIFF_CAUSES + 1,
              y = b->causes ? bits_of(b->causes) : FSIM_DIFF_CAUSES + 1;
    return x != y ? x - y : (a->causes > b->causes) - (a->causes < b->causes);
}

static void add_up(fsim_plan_diff *x, fsim_arena *a)
{
    fsim_diff_sum *sum = fsim_new(a, fsim_diff_sum, x->parts + 1);
    for (int i = 0; i < x->parts; i++) {
        const fsim_diff_sum *s = &x->part[i].sum;
        int at = 0;
        while (at < x->sums && sum[at].causes != s->causes)
            at++;
        x->sums += at == x->sums;
        sum[at].causes = s->causes;
        sum[at].before += s->before;
        sum[at].after += s->after;
        sum[at].before_fs += s->before_fs;
        sum[at].after_fs += s->after_fs;
        sum[at].before_bytes += s->before_bytes;
        sum[at].after_bytes += s->after_bytes;
    }
    qsort(sum, (size_t)x->sums, sizeof *sum, by_causes);
    x->sum = sum;
}

void fsim_diff_attribute(fsim_plan_diff *x, const fsim_diff *of, fsim_arena *a)
{
    inputs to = {.a = a, .x = x};
    fsim_diff_part *part = fsim_new(a, fsim_diff_part, x->parts + 1);
    note_all(&to, of);
    for (int i = 0; i < x->parts; i++) {
        part[i] = x->part[i];
        x->changed |= is_decision(x, &part[i]) ? BIT(FUSION) : 0;
    }
    for (int i = 0; i < x->parts; i++)
        part[i].sum.causes = causes_of(x, &part[i]);
    x->part = part;
    add_up(x, a);
}

const char *fsim_diff_causes_text(unsigned causes, fsim_arena *a)
{
    const char *text = "";
    for (int i = 0; i < FSIM_DIFF_CAUSES; i++)
        if (causes & 1u << i)
            text = fsim_printf(a, "%s%s%s", text, *text ? " + " : "", fsim_diff_cause_names[i]);
    return text;
}
