/* SPDX-License-Identifier: Apache-2.0 */
/* A step of training by phase: what each takes, what forward leaves in memory for backward, and the most memory. */
#include "report/text_parts.h"

#include "plan/price/memory.h"
#include "plan/price/phases.h"
#include <string.h>

enum { VALUES_NAMED = 3 };

static const fsim_plan *eager_of(const fsim_text_page *r)
{
    const fsim_plan *eager = &r->p->plan[FSIM_STRATEGY_EAGER];
    return r->p->chosen == FSIM_STRATEGY_EAGER || eager->kernels == 0 ? NULL : eager;
}

fsim_table fsim_text_phases(const fsim_text_page *r)
{
    static const fsim_column column[] = {{.title = "phase", .left = true},
                                         {.title = "kernels"},
                                         {.title = "time"},
                                         {.title = "share", .legend = "of the plan's time"},
                                         {.title = "DRAM read", .drop = 1},
                                         {.title = "DRAM write", .drop = 2},
                                         {.title = "eager", .legend = "its time for the same phase"}};
    const fsim_plan *eager = eager_of(r);
    fsim_table t = fsim_table_new(r->a, column, sizeof column / sizeof *column);
    for (int i = 0; i < FSIM_PHASES; i++) {
        const fsim_phase_use use = fsim_phase_use_of(r->g, r->plan, (fsim_phase)i);
        if (use.kernels == 0 && !(eager && eager->phase_s[i] > 0))
            continue;
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = fsim_phase_names[i];
        cell[1] = fsim_printf(r->a, "%d", use.kernels);
        cell[2] = fsim_seconds_text(r->a, use.time_s);
        cell[3] = fsim_percent_text(r->a, use.time_s / r->plan->time_s);
        cell[4] = fsim_bytes_text(r->a, (double)use.read_bytes);
        cell[5] = fsim_bytes_text(r->a, (double)use.write_bytes);
        cell[6] = eager ? fsim_seconds_text(r->a, eager->phase_s[i]) : NULL;
    }
    return t;
}

/* "h.0 128 MiB, h.1 128 MiB and 6 more", of saved[from, to). */
static const char *values_text(const fsim_text_page *r, const fsim_saved *saved, int from, int to)
{
    const char *list = "";
    for (int i = from; i < to && i < from + VALUES_NAMED; i++) {
        const char *size =
            saved[i].bytes > 0 ? fsim_printf(r->a, " %s", fsim_bytes_text(r->a, (double)saved[i].bytes)) : "";
        list = fsim_printf(r->a, "%s%s%s%s", list, i > from ? ", " : "", r->g->tensor[saved[i].tensor].name, size);
    }
    return to - from > VALUES_NAMED ? fsim_printf(r->a, "%s and %d more", list, to - from - VALUES_NAMED) : list;
}

/* Where saved[i, count) begins to have another way, or from `held` on nothing that is held. */
static int end_of(const fsim_saved *saved, int i, int count, fsim_way way, bool held)
{
    while (i < count && saved[i].way == way && (!held || saved[i].bytes > 0))
        i++;
    return i;
}

const char *fsim_text_saved(const fsim_text_page *r)
{
    fsim_saved *saved;
    const fsim_plan *eager = eager_of(r);
    const int count = fsim_saved_of(r->g, r->plan, r->a, &saved), held = end_of(saved, 0, count, FSIM_KEEP, true),
              kept = end_of(saved, held, count, FSIM_KEEP, false),
              reduced = end_of(saved, kept, count, FSIM_REDUCED, false);
    const char *other =
        eager ? fsim_printf(r->a, " (eager: %s)", fsim_bytes_text(r->a, (double)eager->saved_bytes)) : "";
    fsim_sum rest = r->plan->saved_bytes;
    for (int i = 0; i < reduced; i++)
        rest -= saved[i].bytes;
    const char *others = rest > 0 && held > 0 ? fsim_printf(r->a, ", and %s of statistics, masks and indices",
                                                            fsim_bytes_text(r->a, (double)rest))
                                              : "";
    const char *narrow = reduced > kept ? fsim_printf(r->a, "%s in %s: %s", held > 0 ? "; and" : "",
                                                      fsim_dtype_names[fsim_derivation_of(r->g)->save->dtype],
                                                      values_text(r, saved, kept, reduced))
                                        : "";
    const char *text = held + reduced == kept
                           ? fsim_printf(r->a, "Forward keeps nothing for backward but inputs and weights%s.", other)
                           : fsim_printf(r->a, "Forward keeps %s for backward in %s%s%s%s%s%s.",
                                         fsim_bytes_text(r->a, (double)r->plan->saved_bytes),
                                         fsim_text_count(r->a, held + reduced - kept, "value"), other,
                                         held > 0 ? ": " : ",", values_text(r, saved, 0, held), narrow, others);
    if (kept > held)
        text = fsim_printf(r->a, "%s It reads %s, which %s there as output%s.", text, values_text(r, saved, held, kept),
                           kept > held + 1 ? "are" : "is", kept > held + 1 ? "s" : "");
    if (count > reduced)
        text = fsim_printf(r->a, "%s Backward computes again: %s.", text, values_text(r, saved, reduced, count));
    return r->plan->saved_input_bytes > 0 ? fsim_printf(r->a, "%s Of inputs and weights backward reads %s.", text,
                                                        fsim_bytes_text(r->a, (double)r->plan->saved_input_bytes))
                                          : text;
}

/* "keep 1 GiB +14 %, recompute +28 %" */
static const char *other_ways_text(const fsim_text_page *r, const fsim_saved_value *v)
{
    const char *list = "";
    for (int i = 0; i < v->others; i++) {
        const fsim_other_way *x = &v->other[i];
        const char *size = x->bytes > 0 ? fsim_printf(r->a, " %s", fsim_bytes_text(r->a, (double)x->bytes)) : "";
        list = fsim_printf(r->a, "%s%s%s%s %+.1f%%", list, i ? ", " : "", fsim_way_names[x->way], size,
                           100 * (x->time_s / r->plan->time_s - 1));
    }
    const char *why = fsim_why_not_reduced(r->g, &v->now);
    return why ? fsim_printf(r->a, "%s%snot reduced: %s", list, *list ? "; " : "", why) : *list ? list : "-";
}

fsim_table fsim_text_saved_ways(const fsim_text_page *r)
{
    static const fsim_column column[] = {
        {.title = "value", .left = true, .shrinks = true},
        {.title = "way", .left = true, .legend = "how backward comes by it"},
        {.title = "bytes", .legend = "held for backward"},
        {.title = "instead", .left = true, .legend = "other ways, and how much longer the plan takes with them"}};
    fsim_table t = fsim_table_new(r->a, column, sizeof column / sizeof *column);
    fsim_saved_value *value;
    const int count = fsim_saved_with_ways(r->p, r->a, &value);
    for (int i = 0; i < count; i++) {
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = r->g->tensor[value[i].now.tensor].name;
        cell[1] = fsim_way_names[value[i].now.way];
        cell[2] = fsim_bytes_text(r->a, (double)value[i].now.bytes);
        cell[3] = other_ways_text(r, &value[i]);
    }
    return t;
}

const char *fsim_text_peak(const fsim_text_page *r, fsim_emphasis *emphasis)
{
    const fsim_plan *eager = eager_of(r);
    const fsim_memory_use use = fsim_memory_of(r->g, r->plan, r->a);
    const char *own = fsim_bytes_text(r->a, (double)r->plan->peak_memory_bytes);
    const char *others = eager ? fsim_bytes_text(r->a, (double)eager->peak_memory_bytes) : "";
    const bool same = strcmp(own, others) == 0; /* at so many digits */
    const bool more = eager && !same && r->plan->peak_memory_bytes > eager->peak_memory_bytes;
    const char *list = "";
    fsim_largest largest;
    if (use.kernel >= 0)
        fsim_largest_in_memory(r->g, r->plan, use.kernel, &largest, r->a);
    for (int i = 0; use.kernel >= 0 && i < largest.count; i++) {
        const fsim_tensor *t = &r->g->tensor[largest.tensor[i]];
        list = fsim_printf(r->a, "%s%s%s %s", list, i ? ", " : "", t->name, fsim_bytes_text(r->a, (double)t->bytes));
    }
    *emphasis = more ? FSIM_BAD : FSIM_PLAIN;
    return fsim_printf(r->a, "Memory is at its peak while kernel %d runs: %s%s%s. Largest then: %s.", use.kernel + 1,
                       own,
                       same    ? ", as much as eager's"
                       : more  ? ", more than eager's "
                       : eager ? ", eager's is "
                               : "",
                       same ? "" : others, list);
}

const char *fsim_text_step(const fsim_text_page *r)
{
    const fsim_plan *eager = eager_of(r);
    const double pass_s = r->plan->phase_s[FSIM_FORWARD] + r->plan->phase_s[FSIM_BACKWARD];
    if (r->g->micro_batches <= 1)
        return NULL;
    const char *other =
        eager ? fsim_printf(r->a, "; eager's %s", fsim_seconds_text(r->a, fsim_step_seconds(r->g, eager))) : "";
    return fsim_printf(r->a,
                       "A step of %lld micro-batches takes %s: %lld times forward and backward, %s, and the update%s.",
                       (long long)r->g->micro_batches, fsim_seconds_text(r->a, fsim_step_seconds(r->g, r->plan)),
                       (long long)r->g->micro_batches, fsim_seconds_text(r->a, pass_s), other);
}
