/* SPDX-License-Identifier: Apache-2.0 */
#include "report/diff.h"

#include "report/json_stream.h"

static void put_sum(FILE *out, const char *before, const char *key, fsim_sum x)
{
    char digits[FSIM_SUM_DIGITS];
    fprintf(out, "%s\"%s\": %s", before, key, fsim_sum_digits(digits, x));
}

static void put_causes(FILE *out, unsigned causes)
{
    const char *before = "";
    fputs("\"causes\": [", out);
    for (int i = 0; i < FSIM_DIFF_CAUSES; i++)
        if (causes & 1u << i) {
            fputs(before, out);
            fsim_json_string(out, fsim_diff_cause_names[i]);
            before = ", ";
        }
    putc(']', out);
}

static void put_sums(FILE *out, const fsim_diff_sum *s)
{
    put_sum(out, ", ", "before_fs", s->before_fs);
    put_sum(out, ", ", "after_fs", s->after_fs);
    put_sum(out, ", ", "change_fs", s->after_fs - s->before_fs);
    put_sum(out, ", ", "before_dram_bytes", s->before_bytes);
    put_sum(out, ", ", "after_dram_bytes", s->after_bytes);
}

static void put_kernels(FILE *out, const char *key, const fsim_filed_kernel *all, const int *at, int count)
{
    fprintf(out, ", \"%s\": [", key);
    for (int i = 0; i < count; i++) {
        const fsim_filed_kernel *k = &all[at[i]];
        fsim_json_text(out, i ? ", {" : "{", "name", k->name);
        fprintf(out, ", \"id\": %d", at[i] + 1);
        put_sum(out, ", ", "time_fs", k->time_fs);
        fputs(", \"operators\": [", out);
        for (int n = 0; n < k->homes; n++) {
            fputs(n ? ", " : "", out);
            fsim_json_string(out, k->home[n]);
        }
        fputs("]}", out);
    }
    putc(']', out);
}

static void put_part(FILE *out, const fsim_plan_diff *x, const fsim_diff_part *p)
{
    fsim_json_text(out, "{", "kind", fsim_part_kind_names[p->kind]);
    fputs(", ", out);
    put_causes(out, p->sum.causes);
    put_sums(out, &p->sum);
    fsim_json_text(out, ", ", "unit", fsim_unit_names[p->unit]);
    fsim_json_number(out, ", ", "unit_change_s", p->unit_fs / FSIM_FS_PER_S);
    put_kernels(out, "before", x->before->kernel, p->before, p->sum.before);
    put_kernels(out, "after", x->after->kernel, p->after, p->sum.after);
    putc('}', out);
}

static void put_plan(FILE *out, const fsim_plan_diff *x)
{
    fsim_json_text(out, "{", "workload", x->after->workload);
    fsim_json_text(out, ", ", "hardware_before", x->before->hardware);
    fsim_json_text(out, ", ", "hardware_after", x->after->hardware);
    fputs(",\n   \"changed\": [", out);
    for (int i = 0; i < x->inputs; i++) {
        fsim_json_text(out, i ? ", {" : "{", "cause", fsim_diff_cause_names[x->input[i].cause]);
        fsim_json_text(out, ", ", "what", x->input[i].what);
        fsim_json_text(out, ", ", "before", x->input[i].before);
        fsim_json_text(out, ", ", "after", x->input[i].after);
        putc('}', out);
    }
    fputs("],\n   \"total\": {", out);
    fprintf(out, "\"kernels_before\": %d, \"kernels_after\": %d", x->total.before, x->total.after);
    put_sums(out, &x->total);
    fputs("},\n   \"causes\": [", out);
    for (int i = 0; i < x->sums; i++) {
        fputs(i ? ",\n    {" : "\n    {", out);
        put_causes(out, x->sum[i].causes);
        fprintf(out, ", \"kernels_before\": %d, \"kernels_after\": %d", x->sum[i].before, x->sum[i].after);
        put_sums(out, &x->sum[i]);
        putc('}', out);
    }
    fputs("],\n   \"parts\": [", out);
    for (int i = 0; i < x->parts; i++) {
        fputs(i ? ",\n    " : "\n    ", out);
        put_part(out, x, &x->part[i]);
    }
    fputs("]}", out);
}

static void put_file(FILE *out, const char *key, const fsim_filed *f, const fsim_filed_plan *const *only, int onlys)
{
    fprintf(out, "\"%s\": ", key);
    fsim_json_text(out, "{", "path", f->path);
    fsim_json_text(out, ", ", "fusesim", f->version);
    fputs(", \"only\": [", out);
    for (int i = 0; i < onlys; i++) {
        fputs(i ? ", " : "", out);
        fsim_json_string(out, only[i]->hardware);
    }
    fputs("]}", out);
}

static void put_gates(FILE *out, const fsim_shown_diff *s)
{
    const char *before = "\n  {";
    fputs(",\n \"gates\": [", out);
    for (int i = 0; i < s->count; i++)
        for (int k = 0; k < s->judged[i].gates.count; k++) {
            const fsim_gate *g = &s->judged[i].gates.at[k];
            fsim_json_text(out, before, "gate", g->text);
            fsim_json_text(out, ", ", "hardware", s->judged[i].gpu);
            fsim_json_text(out, ", ", "metric", fsim_gate_metric_of(g)->name);
            fsim_json_number(out, ", ", "value", g->value);
            fsim_json_number(out, ", ", "limit", g->limit);
            fsim_json_bool(out, ", ", "passed", g->passed);
            fsim_json_text(out, ", ", "message", g->says);
            putc('}', out);
            before = ",\n  {";
        }
    putc(']', out);
}

void fsim_json_diff(FILE *out, const fsim_shown_diff *s)
{
    const fsim_diff *x = s->x;
    putc('{', out);
    put_file(out, "before", x->before, x->only_before, x->onlys_before);
    fputs(",\n ", out);
    put_file(out, "after", x->after, x->only_after, x->onlys_after);
    fputs(",\n \"plans\": [", out);
    for (int i = 0; i < x->count; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        put_plan(out, &x->at[i]);
    }
    putc(']', out);
    put_gates(out, s);
    fputs("}\n", out);
}
