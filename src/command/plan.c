/* SPDX-License-Identifier: Apache-2.0 */
/* plan: the best plan on each GPU, in every form. */
#include "command/command.h"
#include "report/terminal.h"

#include <string.h>

typedef struct {
    fsim_prediction *at;
    fsim_judged *judged; /* gates, for each GPU */
    int count;
} predictions;

/* What stands in front of a gate where there are several GPUs. */
static const char *where(const fsim_context *c, const predictions *p, int i)
{
    return p->count > 1 ? fsim_printf(c->arena, "%s: ", p->at[i].hw->name) : "";
}

/* As text: what was asked for with --dump, then a table of the GPUs or the one GPU's plan. */
static void plan_text(FILE *out, const fsim_context *c, const predictions *p)
{
    const fsim_text_style style = {.color = fsim_use_color(c), .verbose = c->set.verbose, .width = c->width};
    for (int i = 0; i < p->count; i++)
        fsim_report_dump(out, &p->at[i], c->set.dump.at, c->set.dump.count);
    if (p->count > 1)
        fsim_report_compare(out, p->at, p->count, &style);
    for (int i = 0; i < p->count && p->count > 1 && !style.verbose; i++)
        fsim_report_compile(out, &p->at[i], &style);
    for (int i = 0; i < p->count && (p->count == 1 || style.verbose); i++) {
        if (p->count > 1)
            putc('\n', out);
        fsim_report_text(out, &p->at[i], &style);
    }
    const fsim_page page = {out, c->width > 0 ? c->width : 80, style.color, fsim_utf8_locale()};
    if (c->set.gates.count)
        putc('\n', out);
    for (int i = 0; i < p->count; i++)
        fsim_report_gates(&page, where(c, p, i), p->judged[i].at, p->judged[i].count);
}

static bool show_plan(FILE *out, fsim_format as, const fsim_context *c, const void *what)
{
    const predictions *p = what;
    switch (as) {
    case FSIM_AS_JSON:
        return fsim_report_json(out, p->at, p->judged, p->count);
    case FSIM_AS_MARKDOWN:
        fsim_report_markdown(out, p->at, p->count);
        for (int i = 0; i < p->count; i++)
            fsim_markdown_gates(out, where(c, p, i), p->judged[i].at, p->judged[i].count);
        break;
    case FSIM_AS_TRACE:
        fsim_report_trace(out, p->at, p->count);
        break;
    case FSIM_AS_DOT:
        fsim_report_dot(out, p->at);
        break;
    case FSIM_AS_JUNIT:
        fsim_junit_plans(out, p->at, p->judged, p->count);
        break;
    case FSIM_AS_TEXT:
        plan_text(out, c, p);
        break;
    }
    return true;
}

/* "t4" of "my/t4.yaml": what gates call a GPU. */
static const char *stem(fsim_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end = strstr(name, ".yaml");
    return end && !end[5] ? fsim_strndup(a, name, (size_t)(end - name)) : name;
}

/* --gate, its groups found among the strategies and GPUs. False after an error. */
static bool read_gates(fsim_context *c, fsim_gate **gate, fsim_plan_group **group)
{
    *gate = fsim_read_gates(c, &fsim_plan_gates);
    *group = fsim_new(c->arena, fsim_plan_group, c->set.gates.count + 1);
    const char **gpu = fsim_new(c->arena, const char *, c->set.hw.count + 1);
    for (int i = 0; i < c->set.hw.count; i++)
        gpu[i] = stem(c->arena, c->set.hw.at[i]);
    for (int i = 0; i < c->set.gates.count; i++)
        (void)fsim_plan_group_of(c->arena, c->diag, &(*gate)[i], gpu, c->set.hw.count, &(*group)[i]);
    return fsim_errors(c->diag) == 0;
}

int fsim_run_plan(fsim_context *c)
{
    fsim_inputs in;
    fsim_gate *gate;
    fsim_plan_group *group;
    if (!read_gates(c, &gate, &group))
        return fsim_usage_status(c);
    int status = fsim_begin(c, &in);
    if (status)
        return status;
    const int count = c->set.hw.count;
    const predictions p = {fsim_new(c->arena, fsim_prediction, count), fsim_new(c->arena, fsim_judged, count), count};
    for (int i = 0; i < count; i++) {
        p.at[i] = fsim_predict(in.graph, in.hw[i], &in.how, c->arena);
        p.judged[i] = fsim_plan_gates_try(gate, group, c->set.gates.count, i, &p.at[i], c->arena);
        if (fsim_over_limit(&p.at[i]) || p.at[i].least_memory_bytes > 0 ||
            fsim_gates_failed(p.judged[i].at, p.judged[i].count))
            status = FSIM_EXIT_GATE;
    }
    const char *why = "";
    if (c->set.chart && !fsim_report_chart(c->arena, p.at, count, c->set.chart, &why))
        return fsim_give_up_chart(c, why);
    const int delivered = fsim_deliver(c, show_plan, &p);
    if (delivered)
        return delivered;
    for (int i = 0; i < count; i++)
        fsim_say_failed_gates(c, where(c, &p, i), p.judged[i].at, p.judged[i].count);
    return fsim_conclude(c, status, status);
}
