/* SPDX-License-Identifier: Apache-2.0 */
/* Where along a symbol the best plan changes. */
#include "report/region_table.h"

#include "report/describe.h"
#include "report/json_stream.h"
#include <inttypes.h>
#include <math.h>

/* "h + g | y": the operators' primitives by kernel. */
static const char *groups_text(const fsim_named_plan *plan, fsim_arena *a)
{
    const char *text = "";
    for (int k = 0; k < plan->groups; k++)
        for (int i = 0; i < plan->group[k].count; i++)
            text = fsim_printf(a, "%s%s%s", text, i ? " + " : k ? " | " : "", plan->group[k].at[i]);
    return text;
}

static const char *plan_text(int plan, fsim_arena *a) { return plan < 0 ? "none" : fsim_printf(a, "%d", plan + 1); }

static fsim_table table_of(const fsim_regions *r, fsim_arena *a)
{
    static const fsim_column column[] = {{.title = "from"},
                                         {.title = "to"},
                                         {.title = "best plan"},
                                         {.title = "kernels"},
                                         {.title = "proven", .left = true}};
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < r->regions; i++) {
        const fsim_region *x = &r->region[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = fsim_printf(a, "%" PRId64, x->first);
        cell[1] = fsim_printf(a, "%" PRId64, x->last);
        cell[2] = plan_text(x->plan, a);
        cell[3] = x->plan < 0 ? "-" : fsim_printf(a, "%d", r->plan[x->plan].groups);
        cell[4] = x->plan < 0 ? "-" : x->proven ? "yes" : "no";
    }
    return t;
}

static const char *time_text(fsim_arena *a, double seconds)
{
    return isnan(seconds) ? "not possible" : fsim_seconds_text(a, seconds);
}

static bool contains_one(fsim_interval x) { return x.low < 1 && x.high > 1; }

/* What the plans of two neighbouring regions take where the best one changes. */
static const char *break_text(const fsim_regions *r, int i, const char *symbol, fsim_arena *a)
{
    const fsim_break *b = &r->at[i];
    const int from = r->region[i].plan, to = r->region[i + 1].plan;
    if (from < 0 || to < 0)
        return fsim_printf(a, "%s = %" PRId64 ": there is %s workload or plan.", symbol, to < 0 ? b->after : b->before,
                           "no");
    return fsim_printf(a, "Plan %d takes %s at %s = %" PRId64 " and %s at %" PRId64 "; plan %d %s and %s%s.%s",
                       from + 1, time_text(a, b->before_s[0]), symbol, b->before, time_text(a, b->after_s[0]), b->after,
                       to + 1, time_text(a, b->before_s[1]), time_text(a, b->after_s[1]),
                       contains_one(b->before_likely) || contains_one(b->after_likely)
                           ? ": which of the two is faster here is too close to call"
                           : "",
                       b->confirmed ? "" : " Another plan that was found is better at one of the two.");
}

/* How sure it is that there are no other regions. */
static const char *searched_text(const fsim_regions *r, fsim_arena *a)
{
    if (r->widest_gap == 0 && !r->truncated)
        return fsim_printf(a, "Every value was searched: %d.", r->evaluations);
    return fsim_printf(a,
                       "%d values were searched. Up to %" PRId64
                       " values between two with the same best plan were not: a plan that is the best only there is "
                       "not seen.%s",
                       r->evaluations, r->widest_gap,
                       r->truncated ? " The search ended before every change was found to the value." : "");
}

void fsim_report_regions(const fsim_page *page, const fsim_shown_regions *x)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_regions *r = &x->found;
    fsim_paragraph(page, FSIM_STRONG, 0, 2,
                   fsim_printf(a, "%s on %s: the best plan along %s", x->graph->name, x->hw->name, x->symbol));
    putc('\n', page->out);
    const fsim_table t = table_of(r, a);
    fsim_table_print(page, &t, 2);
    putc('\n', page->out);
    for (int i = 0; i + 1 < r->regions; i++)
        fsim_paragraph(page, FSIM_PLAIN, 0, 2, break_text(r, i, x->symbol, a));
    for (int i = 0; i < r->plans; i++)
        fsim_paragraph(page, FSIM_PLAIN, 0, 2, fsim_printf(a, "plan %d: %s", i + 1, groups_text(&r->plan[i], a)));
    fsim_paragraph(page, FSIM_FAINT, 0, 2, searched_text(r, a));
    fsim_arena_free(a);
}

static void json_pair(FILE *out, const char *key, const double seconds[2])
{
    char buffer[2][40];
    fprintf(out, ", \"%s\": [%s, %s]", key, fsim_json_digits(buffer[0], seconds[0]),
            fsim_json_digits(buffer[1], seconds[1]));
}

static void json_plans(FILE *out, const fsim_regions *r)
{
    fputs(", \"plans\": [", out);
    for (int p = 0; p < r->plans; p++) {
        fputs(p ? ", {\"groups\": [" : "{\"groups\": [", out);
        for (int k = 0; k < r->plan[p].groups; k++) {
            fputs(k ? ", [" : "[", out);
            for (int i = 0; i < r->plan[p].group[k].count; i++) {
                fputs(i ? ", " : "", out);
                fsim_json_string(out, r->plan[p].group[k].at[i]);
            }
            fputs("]", out);
        }
        fputs("]}", out);
    }
    fputs("]", out);
}

void fsim_json_regions(FILE *out, const fsim_shown_regions *x)
{
    const fsim_regions *r = &x->found;
    fsim_json_text(out, "{", "workload", x->graph->name);
    fsim_json_text(out, ", ", "hardware", x->hw->name);
    fsim_json_text(out, ", ", "symbol", x->symbol);
    fputs(", \"regions\": [", out);
    for (int i = 0; i < r->regions; i++) {
        const fsim_region *at = &r->region[i];
        fprintf(out, "%s{\"first\": %" PRId64 ", \"last\": %" PRId64, i ? ", " : "", at->first, at->last);
        fsim_json_number(out, ", ", "plan", at->plan < 0 ? (double)NAN : at->plan);
        fsim_json_bool(out, ", ", "proven", at->proven);
        fputs("}", out);
    }
    fputs("], \"breaks\": [", out);
    for (int i = 0; i + 1 < r->regions; i++) {
        const fsim_break *b = &r->at[i];
        fprintf(out, "%s{\"before\": %" PRId64 ", \"after\": %" PRId64, i ? ", " : "", b->before, b->after);
        json_pair(out, "before_s", b->before_s);
        json_pair(out, "after_s", b->after_s);
        json_pair(out, "before_ratio", (const double[2]){b->before_likely.low, b->before_likely.high});
        json_pair(out, "after_ratio", (const double[2]){b->after_likely.low, b->after_likely.high});
        fsim_json_bool(out, ", ", "confirmed", b->confirmed);
        fputs("}", out);
    }
    fputs("]", out);
    json_plans(out, r);
    fprintf(out, ", \"evaluations\": %d, \"widest_gap\": %" PRId64, r->evaluations, r->widest_gap);
    fsim_json_bool(out, ", ", "truncated", r->truncated);
    fputs("}\n", out);
}
