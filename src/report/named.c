/* SPDX-License-Identifier: Apache-2.0 */
#include "report/named.h"

#include "base/names.h"
#include <stdlib.h>
#include <string.h>

static int by_count(const void *x, const void *y)
{
    const fsim_counted *a = x, *b = y;
    return a->count != b->count ? b->count - a->count : strcmp(a->name, b->name);
}

fsim_counted *fsim_named_fusions(const fsim_prediction *p, fsim_arena *a, int *count)
{
    const fsim_plan *plan = &p->plan[FSIM_STRATEGY_PATTERN];
    fsim_counted *out = fsim_new(a, fsim_counted, plan->kernels + 1);
    fsim_names at = {0};
    *count = 0;
    for (int k = 0; k < plan->kernels && plan->rule; k++) {
        const char *rule = plan->rule[k];
        int n = rule ? fsim_names_get(&at, rule) : -1;
        if (rule && n < 0) {
            n = (*count)++;
            out[n] = (fsim_counted){rule, 0};
            fsim_names_set(a, &at, rule, n);
        }
        if (rule)
            out[n].count++;
    }
    if (*count > 1)
        qsort(out, (size_t)*count, sizeof *out, by_count);
    return out;
}

const char *fsim_named_text(const fsim_prediction *p, fsim_arena *a)
{
    int count;
    const fsim_counted *of = fsim_named_fusions(p, a, &count);
    const char *text = "";
    for (int i = 0; i < count; i++)
        text = fsim_printf(a, "%s%s%s%s", text, i ? ", " : "", of[i].name,
                           of[i].count > 1 ? fsim_printf(a, " x %d", of[i].count) : "");
    return count ? fsim_printf(a, "Fusions with a name, as pattern finds them: %s.", text) : "";
}
