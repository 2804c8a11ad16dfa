/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/pairs.h"

#include "base/names.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const fsim_verdict_names[FSIM_VERDICTS] = {"helps", "neither", "hurts"};

fsim_pair_verdict fsim_verdict_on(double speedup)
{
    return speedup > 1 + FSIM_VERDICT_MARGIN         ? FSIM_HELPS
           : speedup * (1 + FSIM_VERDICT_MARGIN) < 1 ? FSIM_HURTS
                                                     : FSIM_NEITHER;
}

/* Who wrote what was measured, as Liger's and Megatron's benchmarks have it: "Liger cross_entropy liger". */
static const char *const writers[] = {"huggingface",     "torch",          "torch_compile",
                                      "liger",           "liger_triton",   "liger_cutile",
                                      "liger_rms_norm",  "megatron-fused", "liger_fused_add_rms_norm",
                                      "megatron-unfused"};

/* Does the word name a strategy or who wrote the kernels: "inductor", "inductor_default", "eager:3", "liger,"? */
static bool names_strategy(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        const size_t name = strlen(writers[i]);
        if (strncmp(word, writers[i], name) == 0 && (length == name || (length == name + 1 && word[name] == ',')))
            return true;
    }
    for (int s = 0; s < FSIM_STRATEGY_COUNT; s++) {
        const size_t name = strlen(fsim_strategy_names[s]);
        if (length >= name && strncmp(word, fsim_strategy_names[s], name) == 0 &&
            (length == name || !isalnum((unsigned char)word[name])))
            return true;
    }
    return false;
}

/* The source with * in place of each word that names a strategy. */
static const char *source_pattern(const char *source, fsim_arena *a)
{
    char *out = fsim_new(a, char, strlen(source) + 1), *to = out;
    for (const char *p = source; *p;) {
        const size_t length = strcspn(p, " \t");
        if (length > 0 && names_strategy(p, length)) {
            *to++ = '*';
        } else {
            memcpy(to, p, length);
            to += length;
        }
        p += length;
        if (*p)
            *to++ = *p++;
    }
    return out;
}

/* Rows with one key: the list of eager ones, and how many of each other strategy have been seen. */
typedef struct {
    int *eager, eagers, room;
    int met[FSIM_STRATEGY_COUNT];
} bundle;

static const char *key_of(const fsim_measured *m, fsim_arena *a)
{
    return fsim_printf(a, "%s\n%s\n%s\n%d %d %d %d\n%s\n%s", m->hw, m->workload, m->set, (int)m->l2, (int)m->launch,
                       (int)m->mode, m->of_memory, source_pattern(m->source, a), m->kernel ? m->kernel : "");
}

int fsim_pairs_of(const fsim_evaluated *e, int count, fsim_arena *a, fsim_pair **out)
{
    fsim_names names = {0};
    bundle *all = fsim_new(a, bundle, count + 1);
    int *of = fsim_new(a, int, count + 1), pairs = 0, room = 0;
    for (int i = 0; i < count; i++) {
        const char *key = key_of(e[i].row, a);
        const int known = fsim_names_get(&names, key);
        of[i] = known < 0 ? names.count : known;
        if (known < 0)
            fsim_names_set(a, &names, key, of[i]);
        bundle *b = &all[of[i]];
        if (e[i].row->strategy == FSIM_STRATEGY_EAGER)
            *FSIM_PUSH(a, b->eager, b->eagers, b->room) = i;
    }
    *out = NULL;
    for (int i = 0; i < count; i++) {
        bundle *b = &all[of[i]];
        if (e[i].row->strategy == FSIM_STRATEGY_EAGER || b->eagers == 0 || e[i].row->of_memory)
            continue;
        const int k = b->met[e[i].row->strategy]++;
        const fsim_evaluated *eager = &e[b->eager[k < b->eagers ? k : b->eagers - 1]];
        const double measured = eager->row->time_s / e[i].row->time_s,
                     predicted = eager->predicted_s / e[i].predicted_s;
        const bool both = eager->errors.kernels > 0 && e[i].errors.kernels > 0;
        const fsim_interval none = {NAN, NAN};
        const double *common = e[i].common ? e[i].common : fsim_common_errors;
        *FSIM_PUSH(a, *out, pairs, room) =
            (fsim_pair){eager,
                        &e[i],
                        fsim_name_in(&e[i], FSIM_BY_FOLDER, a),
                        measured,
                        predicted,
                        predicted / measured - 1,
                        both ? fsim_ratio_interval_with(&eager->errors, &e[i].errors, common, predicted, a) : none,
                        eager->excluded || e[i].excluded};
    }
    return pairs;
}

static fsim_speedup_stats stats_of(const fsim_pair *const *pair, int count, fsim_arena *a)
{
    fsim_speedup_stats s = {.excluded = 0};
    double *error = fsim_new(a, double, count + 1), *x = fsim_new(a, double, count + 1),
           *y = fsim_new(a, double, count + 1);
    int kept = 0, right = 0, helps_right = 0, most = 0, helps = 0, covered = 0, called = 0, called_right = 0, known = 0,
        faster_right = 0;
    for (int i = 0; i < count; i++) {
        const fsim_pair *p = pair[i];
        if (p->excluded) {
            s.excluded++;
            continue;
        }
        const fsim_pair_verdict m = fsim_verdict_on(p->measured), q = fsim_verdict_on(p->predicted);
        x[kept] = p->measured;
        y[kept] = p->predicted;
        error[kept++] = p->error;
        s.verdict[m][q]++;
        right += m == q;
        helps_right += (m == FSIM_HELPS) == (q == FSIM_HELPS);
        helps += m == FSIM_HELPS;
        faster_right += (p->measured > 1) == (p->predicted > 1);
        covered += p->measured >= p->likely.low && p->measured <= p->likely.high;
        known += !isnan(p->likely.low);
        called += fsim_is_called(p);
        called_right += fsim_is_called(p) && (p->likely.low > 1 ? p->measured > 1 : p->measured < 1);
    }
    for (int m = 0; m < FSIM_VERDICTS; m++) {
        int sum = 0;
        for (int q = 0; q < FSIM_VERDICTS; q++)
            sum += s.verdict[m][q];
        most = sum > most ? sum : most;
    }
    s.error = fsim_stats_of_errors(error, kept, a);
    s.rank = fsim_rank_correlation(x, y, kept, a);
    s.right = kept ? (double)right / kept : NAN;
    s.majority = kept ? (double)most / kept : NAN;
    s.helps_right = kept ? (double)helps_right / kept : NAN;
    s.faster_right = kept ? (double)faster_right / kept : NAN;
    s.coverage = known ? (double)covered / known : NAN;
    s.called = kept ? (double)called / kept : NAN;
    s.called_right = called ? (double)called_right / called : NAN;
    s.helps_majority = kept ? (double)(2 * helps > kept ? helps : kept - helps) / kept : NAN;
    return s;
}

fsim_speedup_stats fsim_speedup_of(const fsim_pair *pair, int count, fsim_arena *a)
{
    const fsim_pair **p = fsim_new(a, const fsim_pair *, count + 1);
    for (int i = 0; i < count; i++)
        p[i] = &pair[i];
    return stats_of(p, count, a);
}

static int by_place(const fsim_pair *x, const fsim_pair *y)
{
    int order = strcmp(x->folder, y->folder);
    order = order ? order : strcmp(x->other->row->hw, y->other->row->hw);
    return order ? order : (int)x->other->row->strategy - (int)y->other->row->strategy;
}

static int by_place_then_row(const void *x, const void *y)
{
    const fsim_pair *const *a = x, *const *b = y;
    const int order = by_place(*a, *b);
    return order ? order : (*a > *b) - (*a < *b);
}

int fsim_speedups_of(const fsim_pair *pair, int count, fsim_arena *a, fsim_speedup_stats **out)
{
    const fsim_pair **p = fsim_new(a, const fsim_pair *, count + 1);
    int groups = 0, room = 0;
    for (int i = 0; i < count; i++)
        p[i] = &pair[i];
    if (count > 0)
        qsort(p, (size_t)count, sizeof *p, by_place_then_row);
    *out = NULL;
    for (int from = 0, to; from < count; from = to) {
        for (to = from; to < count && by_place(p[from], p[to]) == 0; to++)
            ;
        fsim_speedup_stats s = stats_of(p + from, to - from, a);
        s.hw = p[from]->other->row->hw;
        s.folder = p[from]->folder;
        s.strategy = fsim_strategy_names[p[from]->other->row->strategy];
        *FSIM_PUSH(a, *out, groups, room) = s;
    }
    return groups;
}
