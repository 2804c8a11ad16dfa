/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/diff.h"

#include <string.h>

/* The plan for a GPU that is not taken yet, or -1. */
static int plan_for(const fsim_filed *f, const char *hardware, const bool *taken)
{
    for (int i = 0; i < f->plans; i++)
        if (!taken[i] && strcmp(f->plan[i].hardware, hardware) == 0)
            return i;
    return -1;
}

/* "t4, l4". In a. */
static const char *gpus_of(const fsim_filed *f, fsim_arena *a)
{
    const char *text = "";
    for (int i = 0; i < f->plans; i++)
        text = fsim_printf(a, "%s%s%s", text, i ? ", " : "", f->plan[i].hardware);
    return text;
}

bool fsim_diff_of(const fsim_filed *before, const fsim_filed *after, fsim_arena *a, fsim_diag *d, fsim_diff *out)
{
    const bool one = before->plans == 1 && after->plans == 1;
    bool *taken = fsim_new(a, bool, after->plans + 1);
    fsim_plan_diff *at = fsim_new(a, fsim_plan_diff, before->plans + 1);
    *out = (fsim_diff){.before = before,
                       .after = after,
                       .only_before = fsim_new(a, const fsim_filed_plan *, before->plans + 1),
                       .only_after = fsim_new(a, const fsim_filed_plan *, after->plans + 1)};
    for (int i = 0; i < before->plans; i++) {
        const int k = one ? 0 : plan_for(after, before->plan[i].hardware, taken);
        if (k < 0) {
            out->only_before[out->onlys_before++] = &before->plan[i];
            continue;
        }
        taken[k] = true;
        fsim_plan_diff *x = &at[out->count++];
        *x = (fsim_plan_diff){.before = &before->plan[i], .after = &after->plan[k]};
        fsim_diff_match(x, a);
        fsim_diff_attribute(x, out, a);
    }
    for (int k = 0; k < after->plans; k++)
        if (!taken[k])
            out->only_after[out->onlys_after++] = &after->plan[k];
    out->at = at;
    if (out->count == 0)
        fsim_error(d, (fsim_loc){after->path, 0, 0}, "no GPU is in both files: '%s' has plans for %s, this one for %s",
                   before->path, gpus_of(before, a), gpus_of(after, a));
    return out->count > 0;
}
