/* SPDX-License-Identifier: Apache-2.0 */
#include "report/diff.h"

#include "hw/choose.h"
#include "report/describe.h"
#include "report/gate.h"
#include "report/junit.h"
#include <math.h>
#include <string.h>

enum { TIME, BYTES, MEMORY, KERNELS, METRICS };

static const fsim_gate_metric metrics[METRICS] = {
    [TIME] = {"time", FSIM_GATE_SHARE, false, "growth of the plan's time"},
    [BYTES] = {"bytes", FSIM_GATE_SHARE, false, "growth of the DRAM bytes"},
    [MEMORY] = {"memory", FSIM_GATE_SHARE, false, "growth of the memory at its peak"},
    [KERNELS] = {"kernels", FSIM_GATE_SHARE, false, "growth of the number of kernels"}};
const fsim_gate_table fsim_diff_gates = {"diff", metrics, METRICS, "a GPU", NULL};

static const fsim_loc command_line = {NULL, 0, 0};

/* Does the gate mean a plan of OLD? */
static bool means(const fsim_gate *g, const fsim_filed_plan *p)
{
    return !*g->group || strcmp(g->group, p->hardware) == 0 || fsim_hw_means(g->group, p->hardware);
}

bool fsim_diff_groups_check(const fsim_gate *gate, int gates, const fsim_diff *x, fsim_arena *a, fsim_diag *d)
{
    bool good = true;
    for (int i = 0; i < gates; i++) {
        const fsim_filed *old = x->before;
        const char **name = fsim_new(a, const char *, old->plans + 1);
        bool known = false;
        for (int k = 0; k < old->plans; k++) {
            name[k] = old->plan[k].hardware;
            known = known || means(&gate[i], &old->plan[k]);
        }
        good = good && known;
        if (!known)
            fsim_error(d, command_line, "--gate '%s': '%s' has no plan for '%s'%s", gate[i].text, old->path,
                       gate[i].group, fsim_did_you_mean(a, gate[i].group, name, old->plans));
    }
    return good;
}

/* How much more the second is, as a share of the first; NaN where one of them is not known. */
static double growth(fsim_sum before, fsim_sum after)
{
    return before < 0 || after < 0 ? (double)NAN
           : after == before       ? 0
           : before == 0           ? (double)INFINITY
                                   : (double)(after - before) / (double)before;
}

static double value_of(int metric, const fsim_plan_diff *x)
{
    switch (metric) {
    case TIME:
        return growth(x->total.before_fs, x->total.after_fs);
    case BYTES:
        return growth(x->total.before_bytes, x->total.after_bytes);
    case MEMORY:
        return growth(x->before->peak_bytes, x->after->peak_bytes);
    default:
        return growth(x->total.before, x->total.after);
    }
}

static const char *base_text(int metric, const fsim_plan_diff *x, fsim_arena *a)
{
    switch (metric) {
    case TIME:
        return fsim_seconds_text(a, (double)x->total.before_fs / FSIM_FS_PER_S);
    case BYTES:
        return fsim_bytes_text(a, (double)x->total.before_bytes);
    case MEMORY:
        return fsim_bytes_text(a, (double)x->before->peak_bytes);
    default:
        return fsim_printf(a, "%d kernels", x->total.before);
    }
}

static fsim_judged judged_for(const fsim_gate *gate, int gates, const fsim_filed_plan *before, const fsim_plan_diff *x,
                              fsim_arena *a)
{
    fsim_judged out = {fsim_new(a, fsim_gate, gates + 1), 0};
    for (int i = 0; i < gates; i++) {
        if (!means(&gate[i], before))
            continue;
        fsim_gate *g = &out.at[out.count++];
        *g = gate[i];
        fsim_gate_judge(g, x ? value_of(g->metric, x) : (double)NAN,
                        x ? fsim_printf(a, " against %s", base_text(g->metric, x, a)) : "",
                        x ? "a file does not say it" : "only the first file has a plan for this GPU", a);
    }
    return out;
}

fsim_shown_diff fsim_diff_gates_try(const fsim_diff *x, const fsim_gate *gate, int gates, fsim_arena *a)
{
    fsim_shown_diff s = {.x = x};
    s.judged = fsim_new(a, fsim_judged_gpu, x->count + x->onlys_before + 1);
    for (int i = 0; i < x->count; i++)
        s.judged[s.count++] =
            (fsim_judged_gpu){x->at[i].before->hardware, judged_for(gate, gates, x->at[i].before, &x->at[i], a)};
    for (int i = 0; i < x->onlys_before; i++)
        s.judged[s.count++] =
            (fsim_judged_gpu){x->only_before[i]->hardware, judged_for(gate, gates, x->only_before[i], NULL, a)};
    return s;
}

const char *fsim_shown_diff_gpu(const fsim_shown_diff *s, int i, fsim_arena *a)
{
    return s->count > 1 ? fsim_printf(a, "%s: ", s->judged[i].gpu) : "";
}

void fsim_junit_diff(FILE *out, const fsim_shown_diff *s)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_diff *x = s->x;
    int cases = x->count + x->onlys_before + x->onlys_after, failures = 0;
    for (int i = 0; i < s->count; i++) {
        cases += s->judged[i].gates.count;
        failures += fsim_gates_failed(s->judged[i].gates.at, s->judged[i].gates.count);
    }
    fsim_junit_begin(out, cases, failures, x->onlys_before + x->onlys_after);
    for (int i = 0; i < s->count; i++)
        fsim_junit_gates(out, fsim_shown_diff_gpu(s, i, a), s->judged[i].gates.at, s->judged[i].gates.count);
    for (int i = 0; i < x->count; i++)
        fsim_junit_case(out, "fusesim.diff",
                        fsim_printf(a, "%s/%s", x->at[i].after->workload, x->at[i].after->hardware), NULL,
                        fsim_diff_line(&x->at[i], a));
    for (int i = 0; i < x->onlys_before + x->onlys_after; i++) {
        const bool first = i < x->onlys_before;
        const fsim_filed_plan *p = first ? x->only_before[i] : x->only_after[i - x->onlys_before];
        fsim_junit_skipped(out, "fusesim.diff", fsim_printf(a, "%s/%s", p->workload, p->hardware),
                           fsim_printf(a, "only %s has a plan for it", first ? x->before->path : x->after->path));
    }
    fsim_junit_end(out);
    fsim_arena_free(a);
}
