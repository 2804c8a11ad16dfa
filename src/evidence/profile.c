/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c: recognises the format of a profile, and finds the step that repeats. */
#include "evidence/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int fsim_profile_name(fsim_arena *a, fsim_profile *p, fsim_names *seen, int *room, const char *name)
{
    const int known = fsim_names_get(seen, name);
    if (known >= 0)
        return known;
    const char *copy = fsim_strdup(a, name);
    fsim_names_set(a, seen, copy, p->names);
    *FSIM_PUSH(a, p->name, p->names, *room) = copy;
    return p->names - 1;
}

/* Files that must be converted first, by their first bytes, and how to convert them. */
static const struct {
    const char *begins;
    size_t bytes;
    const char *wrong;
} foreign[] = {
    {"\x1F\x8B", 2, "this is compressed by gzip: unpack it first (gunzip -k FILE)"},
    {"PK\3\4", 4, "this is a zip archive: unpack it first"},
    {"\xFF\xFE", 2, "this text is UTF-16: wanted UTF-8 (iconv -f UTF-16 -t UTF-8)"},
    {"\xFE\xFF", 2, "this text is UTF-16: wanted UTF-8 (iconv -f UTF-16 -t UTF-8)"},
    {"NVR", 3, "this is a report of Nsight Compute: export it first (ncu --import FILE --csv --page raw)"},
};

typedef bool reader(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes, fsim_profile *out);
static reader *const readers[] = {
#define FSIM_PROFILE(tool, id, what, begins, caches, source, read) fsim_##read##_read,
#include "evidence/profile.def"
#undef FSIM_PROFILE
};

enum { KEPT, EMPTY, FORMATS = sizeof readers / sizeof *readers };
static const fsim_profile_format formats[FORMATS] = {
#define FSIM_PROFILE(tool, id, what, begins, caches, source, read) {tool, id, what, source, begins, caches == EMPTY},
#include "evidence/profile.def"
#undef FSIM_PROFILE
};

const char *fsim_profile_kinds(fsim_arena *a)
{
    const char *text = "";
    for (int k = 0; k < FORMATS; k++)
        text = fsim_printf(a, "%s%sa %s", text, k == 0 ? "" : k + 1 < FORMATS ? ", " : " or ", formats[k].what);
    return text;
}

bool fsim_profile_read(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes, fsim_profile *out)
{
    const fsim_loc start = {path, 1, 1};
    *out = (fsim_profile){.path = path};
    for (size_t k = 0; k < sizeof foreign / sizeof *foreign; k++)
        if (bytes >= foreign[k].bytes && memcmp(text, foreign[k].begins, foreign[k].bytes) == 0) {
            fsim_error(d, start, "%s", foreign[k].wrong);
            return false;
        }
    size_t i = bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (i < bytes && text[i] && strchr(" \t\r\n", text[i]))
        i++;
    if (i == bytes) {
        fsim_error(d, start, "the file is empty");
        return false;
    }
    for (int k = 0; k < FORMATS; k++)
        if (!formats[k].begins || (text[i] && strchr(formats[k].begins, text[i]))) {
            const bool ok = readers[k](a, d, path, text, bytes, out);
            out->format = &formats[k];
            return ok;
        }
    fsim_error(d, start, "this is no profile: wanted %s", fsim_profile_kinds(a));
    return false;
}

/* Steps. */

/* The device whose kernels take the most time. */
static int busiest(const fsim_profile *p, fsim_arena *a)
{
    typedef struct {
        int device;
        double time_s;
    } load;
    load *all = NULL;
    int count = 0, room = 0, best = 0;
    for (int i = 0; i < p->launches; i++) {
        const fsim_profiled_launch *l = &p->launch[i];
        int k = 0;
        while (k < count && all[k].device != l->device)
            k++;
        if (k == count)
            *FSIM_PUSH(a, all, count, room) = (load){l->device, 0};
        all[k].time_s += l->ran == FSIM_RAN_KERNEL && isfinite(l->time_s) ? l->time_s : 0;
    }
    for (int k = 1; k < count; k++)
        if (all[k].time_s > all[best].time_s)
            best = k;
    return count ? all[best].device : 0;
}

/* Are both the same kernel with the same launch configuration? */
static bool alike(const fsim_profiled_launch *x, const fsim_profiled_launch *y)
{
    return x->name == y->name && memcmp(x->grid, y->grid, sizeof x->grid) == 0 &&
           memcmp(x->block, y->block, sizeof x->block) == 0;
}

/* Are the same kernels launched after both? first and second are indices into order. */
static bool same_run(const fsim_profile *p, const int *order, int first, int second, int count, bool by_name)
{
    for (int i = 0; i < count; i++) {
        const fsim_profiled_launch *x = &p->launch[order[first + i]], *y = &p->launch[order[second + i]];
        if (by_name ? x->name != y->name : !alike(x, y))
            return false;
    }
    return true;
}

/* Steps as ranges of order. */
typedef struct {
    int *first, *length; /* per step: index into order; number of launches */
    int steps;
} runs;

/* The steps that the profiler marked. In a. */
static runs runs_of(const fsim_profile *p, const int *order, int count, fsim_arena *a)
{
    runs r = {fsim_new(a, int, count + 1), fsim_new(a, int, count + 1), 0};
    for (int i = 0; i < count; i++) {
        const int step = p->launch[order[i]].step;
        const bool more = r.steps > 0 && i > 0 && p->launch[order[i - 1]].step == step;
        if (step >= 0 && !more) {
            r.first[r.steps] = i;
            r.length[r.steps++] = 0;
        }
        if (step >= 0)
            r.length[r.steps - 1]++;
    }
    return r;
}

/* The step that most others equal, and of several such the longest; *same: how many equal it. */
static int commonest(const fsim_profile *p, const int *order, const runs *r, bool by_name, int *same)
{
    enum { MOST_TRIED = 64 }; /* a step that repeats is among the first ones */
    int best = 0;
    *same = 0;
    for (int s = 0; s < r->steps && s < MOST_TRIED; s++) {
        int n = 0;
        for (int t = 0; t < r->steps; t++)
            n += r->length[t] == r->length[s] && same_run(p, order, r->first[s], r->first[t], r->length[s], by_name);
        if (n > *same || (n == *same && r->length[s] > r->length[best])) {
            *same = n;
            best = s;
        }
    }
    return best;
}

/* Steps by the profiler's marks: the sequence of launches that most steps have. The first and last steps are often
 * incomplete, or warm-up. Where sizes depend on data, kernels are compared by name. */
static bool marked_steps(const fsim_profile *p, int *order, int count, fsim_arena *a, fsim_steps *out)
{
    int *kept = fsim_new(a, int, count + 1);
    const runs r = runs_of(p, order, count, a);
    if (r.steps == 0)
        return false;
    int same = 0, total = 0, best = commonest(p, order, &r, false, &same);
    const bool by_name = same == 1 && r.steps > 1;
    if (by_name)
        best = commonest(p, order, &r, true, &same);
    for (int t = 0; t < r.steps; t++)
        if (r.length[t] == r.length[best] && same_run(p, order, r.first[best], r.first[t], r.length[best], by_name)) {
            out->before = total == 0 ? r.first[t] : out->before;
            for (int i = 0; i < r.length[best]; i++)
                kept[total++] = order[r.first[t] + i];
        }
    memcpy(order, kept, (size_t)total * sizeof *order);
    out->repeats = same;
    out->launches = r.length[best];
    out->behind = count - total - out->before; /* includes launches between steps */
    out->marked = true;
    return true;
}

/* The longest periodic run of launches that ends before `end`, by the failure function of Knuth, Morris and Pratt,
 * applied backwards. Returns its length; *period. */
static int periodic_run(const fsim_profile *p, const int *order, int end, int *fail, int *period)
{
    int run = 0;
    fail[0] = 0;
    for (int i = 1, k = 0; i < end; i++) {
        while (k > 0 && !alike(&p->launch[order[end - 1 - i]], &p->launch[order[end - 1 - k]]))
            k = fail[k - 1];
        k += alike(&p->launch[order[end - 1 - i]], &p->launch[order[end - 1 - k]]);
        fail[i] = k;
        if ((i + 1 - k) * 2 <= i + 1) {
            run = i + 1;
            *period = i + 1 - k;
        }
    }
    return run;
}

/* A step may be several periods. How many: the divisor of `periods` with which a step has about `wanted` of the
 * launches that count, of which a period has `counted`. */
static int periods_per_step(int periods, int counted, int wanted)
{
    int best = 1;
    for (int n = 2; n <= periods && wanted > 0 && counted > 0; n++)
        if (periods % n == 0 && abs(n * counted - wanted) < abs(best * counted - wanted))
            best = n;
    return best;
}

/* Launches of a profile in the order in which they ran. */
typedef struct {
    const fsim_profile *profile;
    const int *order;
    int count;
} launch_sequence;

/* Steps of a profile without marks: the longest run of launches that repeats. Any number of other launches may come
 * before it, and up to TAILS after it. */
static void found_steps(const launch_sequence *q, int wanted, const bool *counted, fsim_arena *a, fsim_steps *out)
{
    enum { TAILS = 64 };
    const fsim_profile *p = q->profile;
    const int *order = q->order, count = q->count;
    int *fail = fsim_new(a, int, count + 1), run = 0, period = count, tail = 0, in_period = 0;
    for (int t = 0; t <= TAILS && t < count && run < count - t; t++) {
        int found = 0;
        const int length = periodic_run(p, order, count - t, fail, &found);
        if (length > run) {
            run = length;
            period = found;
            tail = t;
        }
    }
    if (run < 2 * period || run * 2 < count) { /* a few equal layers among other launches are not steps */
        run = count;
        period = count;
        tail = 0;
    }
    for (int i = 0; i < period; i++)
        in_period += counted && counted[p->launch[order[count - tail - 1 - i]].name];
    out->launches = period * periods_per_step(run / period, in_period, wanted);
    out->repeats = run / out->launches;
    const int used = out->launches * out->repeats;
    /* The run may hold part of a step too: at its end where it starts with the profile, else at its beginning. */
    out->first = run == count - tail ? 0 : count - tail - used;
    out->before = out->first;
    out->behind = count - out->first - used;
}

fsim_steps fsim_steps_of(const fsim_profile *p, int wanted, const bool *counted, fsim_arena *a)
{
    fsim_steps s = {.device = busiest(p, a)};
    int *order = fsim_new(a, int, p->launches + 1), count = 0;
    for (int i = 0; i < p->launches; i++)
        if (p->launch[i].ran == FSIM_RAN_KERNEL) {
            s.away += p->launch[i].device != s.device;
            if (p->launch[i].device == s.device)
                order[count++] = i;
        }
    s.order = order;
    if (count == 0)
        return s;
    if (!marked_steps(p, order, count, a, &s)) {
        found_steps(&(launch_sequence){p, order, count}, wanted, counted, a, &s);
    } else if (s.repeats == 1 && wanted > 0) { /* one mark around several steps */
        fsim_steps within = {.order = order, .device = s.device, .away = s.away, .marked = false};
        found_steps(&(launch_sequence){p, order, s.launches}, wanted, counted, a, &within);
        within.before += s.before;
        within.behind += s.behind;
        s = within.repeats > 1 ? within : s;
    }
    return s;
}
