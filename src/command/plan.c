/* SPDX-License-Identifier: Apache-2.0 */
/* plan: the best plan on each GPU, in every form. */
#include "command/command.h"

typedef struct {
    fsim_prediction *at;
    int count;
} predictions;

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
}

static bool show_plan(FILE *out, fsim_format as, const fsim_context *c, const void *what)
{
    const predictions *p = what;
    switch (as) {
    case FSIM_AS_JSON:
        return fsim_report_json(out, p->at, p->count);
    case FSIM_AS_MARKDOWN:
        fsim_report_markdown(out, p->at, p->count);
        break;
    case FSIM_AS_TRACE:
        fsim_report_trace(out, p->at, p->count);
        break;
    case FSIM_AS_DOT:
        fsim_report_dot(out, p->at);
        break;
    case FSIM_AS_JUNIT:
        break;
    case FSIM_AS_TEXT:
        plan_text(out, c, p);
        break;
    }
    return true;
}

int fsim_run_plan(fsim_context *c)
{
    fsim_inputs in;
    int status = fsim_begin(c, &in);
    if (status)
        return status;
    const predictions p = {fsim_new(c->arena, fsim_prediction, c->set.hw.count), c->set.hw.count};
    for (int i = 0; i < p.count; i++)
        p.at[i] = fsim_predict(in.graph, in.hw[i], &in.how, c->arena);
    const char *why = "";
    if (c->set.chart && !fsim_report_chart(c->arena, p.at, p.count, c->set.chart, &why))
        return fsim_give_up_chart(c, why);
    for (int i = 0; i < p.count; i++)
        status = fsim_over_limit(&p.at[i]) || p.at[i].least_memory_bytes > 0 ? FSIM_EXIT_GATE : status;
    const int delivered = fsim_deliver(c, show_plan, &p);
    return delivered ? delivered : status;
}
