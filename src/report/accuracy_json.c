/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/do_bench.h"
#include "report/accuracy.h"

#include "report/json_stream.h"
#include <math.h>
#include <string.h>

static void put_stats(FILE *out, const fsim_stats *s)
{
    fprintf(out, ", \"rows\": %d", s->rows);
    fsim_json_number(out, ", ", "mape", s->mape);
    fsim_json_number(out, ", ", "median", s->median);
    fsim_json_number(out, ", ", "p90", s->p90);
    fsim_json_number(out, ", ", "bias", s->bias);
    fsim_json_number(out, ", ", "coverage", s->coverage);
}

static void put_bytes(FILE *out, const char *key, double bytes)
{
    if (isnan(bytes))
        fprintf(out, ", \"%s\": null", key);
    else
        fprintf(out, ", \"%s\": %.0f", key, bytes);
}

static void put_row(FILE *out, const char *before, const fsim_evaluated *e)
{
    const fsim_measured *m = e->row;
    fsim_json_text(out, before, "id", m->id);
    fsim_json_text(out, ", ", "hw", m->hw);
    fsim_json_text(out, ", ", "workload", m->workload);
    fsim_json_text(out, ", ", "set", m->set);
    fsim_json_text(out, ", ", "strategy", fsim_strategy_names[m->strategy]);
    fsim_json_text(out, ", ", "l2", fsim_l2_names[m->l2]);
    fsim_json_text(out, ", ", "launch", fsim_regime_names[m->launch]);
    fsim_json_text(out, ", ", "file", m->at.file);
    fprintf(out, ", \"line\": %d", m->at.line);
    fsim_json_text(out, ", ", "class", fsim_work_class_names[e->class]);
    if (m->mode != FSIM_MODE_NONE)
        fsim_json_text(out, ", ", "mode", fsim_mode_names[m->mode]);
    if (fsim_ran_liger(m))
        fsim_json_text(out, ", ", "software", "liger");
    if (m->of_memory) {
        put_bytes(out, "measured_bytes", m->time_s);
        put_bytes(out, "predicted_bytes", e->predicted_s);
    }
    fsim_json_number(out, ", ", "measured_s", m->of_memory ? NAN : m->time_s);
    fsim_json_number(out, ", ", "predicted_s", m->of_memory ? NAN : e->predicted_s);
    fsim_json_number(out, ", ", "time_low_s", m->of_memory ? NAN : e->low_s);
    fsim_json_number(out, ", ", "time_high_s", m->of_memory ? NAN : e->high_s);
    fsim_json_number(out, ", ", "error", fsim_error_of(e));
    fsim_json_text(out, ", ", "bound", fsim_unit_names[e->bound]);
    fputs(", \"time\": {", out);
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        if (e->unit_s[u] > 0 || u == FSIM_LAUNCH)
            fsim_json_number(out, u == FSIM_LAUNCH ? "" : ", ", fsim_unit_names[u], e->unit_s[u]);
    fprintf(out, "}, \"kernels\": %d", e->kernels);
    put_bytes(out, "dram_read_bytes", e->dram_read_bytes);
    put_bytes(out, "dram_write_bytes", e->dram_write_bytes);
    put_bytes(out, "compulsory_bytes", e->compulsory_bytes);
    if (m->kernel && *m->kernel)
        fsim_json_text(out, ", ", "kernel", m->kernel);
    if (e->excluded)
        fsim_json_text(out, ", ", "excluded", e->excluded);
    putc('}', out);
}

static void put_groups(FILE *out, const char *name, const fsim_accuracy *x, const fsim_grouping *by, int keys,
                       fsim_arena *a)
{
    fsim_stat_group *group;
    const int groups = fsim_stat_groups(x->at, x->count, by, keys, a, &group);
    fprintf(out, ",\n \"%s\": [", name);
    for (int i = 0; i < groups; i++) {
        fputs(i ? ",\n  {" : "\n  {", out);
        const char *before = "";
        for (int k = 0; k < keys; k++, before = ", ")
            fsim_json_text(out, before, fsim_grouping_names[by[k]],
                           by[k] == FSIM_BY_ALL ? "all" : fsim_group_name(&group[i], by[k]));
        put_stats(out, &group[i].stats);
        fprintf(out, ", \"excluded\": %d}", group[i].excluded);
    }
    putc(']', out);
}

static void put_pair(FILE *out, const char *before, const fsim_pair *p)
{
    fsim_json_text(out, before, "eager", p->eager->row->id);
    fsim_json_text(out, ", ", "other", p->other->row->id);
    fsim_json_text(out, ", ", "hw", p->other->row->hw);
    fsim_json_text(out, ", ", "workload", p->other->row->workload);
    fsim_json_text(out, ", ", "set", p->other->row->set);
    fsim_json_text(out, ", ", "strategy", fsim_strategy_names[p->other->row->strategy]);
    fsim_json_number(out, ", ", "measured", p->measured);
    fsim_json_number(out, ", ", "predicted", p->predicted);
    fsim_json_number(out, ", ", "error", p->error);
    fsim_json_number(out, ", ", "predicted_low", p->likely.low);
    fsim_json_number(out, ", ", "predicted_high", p->likely.high);
    fsim_json_bool(out, ", ", "called", fsim_is_called(p));
    fsim_json_text(out, ", ", "measured_verdict", fsim_verdict_names[fsim_verdict_on(p->measured)]);
    fsim_json_text(out, ", ", "predicted_verdict", fsim_verdict_names[fsim_verdict_on(p->predicted)]);
    fsim_json_bool(out, ", ", "excluded", p->excluded);
    putc('}', out);
}

static void put_speedup(FILE *out, const char *before, const fsim_speedup_stats *s)
{
    fsim_json_text(out, before, "hw", s->hw);
    fsim_json_text(out, ", ", "folder", s->folder);
    fsim_json_text(out, ", ", "strategy", s->strategy);
    fprintf(out, ", \"pairs\": %d, \"excluded\": %d", s->error.rows, s->excluded);
    fsim_json_number(out, ", ", "mape", s->error.mape);
    fsim_json_number(out, ", ", "median", s->error.median);
    fsim_json_number(out, ", ", "p90", s->error.p90);
    fsim_json_number(out, ", ", "bias", s->error.bias);
    fsim_json_number(out, ", ", "rank", s->rank);
    fsim_json_number(out, ", ", "right", s->right);
    fsim_json_number(out, ", ", "majority", s->majority);
    fsim_json_number(out, ", ", "helps_right", s->helps_right);
    fsim_json_number(out, ", ", "helps_majority", s->helps_majority);
    fsim_json_number(out, ", ", "faster_right", s->faster_right);
    fsim_json_number(out, ", ", "coverage", s->coverage);
    fsim_json_number(out, ", ", "called", s->called);
    fsim_json_number(out, ", ", "called_right", s->called_right);
    fputs(", \"verdicts\": {", out); /* of each measured one, how many were predicted as each */
    for (int m = 0; m < FSIM_VERDICTS; m++) {
        fprintf(out, "%s\"%s\": {", m ? ", " : "", fsim_verdict_names[m]);
        for (int q = 0; q < FSIM_VERDICTS; q++)
            fprintf(out, "%s\"%s\": %d", q ? ", " : "", fsim_verdict_names[q], s->verdict[m][q]);
        putc('}', out);
    }
    fputs("}}", out);
}

static void put_speedups(FILE *out, const fsim_accuracy *x, fsim_arena *a)
{
    fsim_speedup_stats *group;
    const int groups = fsim_speedups_of(x->pair, x->pairs, a, &group);
    fputs(",\n \"pairs\": [", out);
    for (int i = 0; i < x->pairs; i++)
        put_pair(out, i ? ",\n  {" : "\n  {", &x->pair[i]);
    fputs("],\n \"speedup\": [", out);
    for (int i = 0; i < groups; i++)
        put_speedup(out, i ? ",\n  {" : "\n  {", &group[i]);
    if (x->pairs > 0) {
        const fsim_speedup_stats all = fsim_speedup_of(x->pair, x->pairs, a);
        put_speedup(out, "],\n \"speedup_overall\": {", &all);
    } else {
        putc(']', out);
    }
}

/* --folds: what the intervals of each fold come from. */
static void put_folds(FILE *out, const fsim_folded *f)
{
    fprintf(out, ",\n \"folds\": {\"count\": %d, \"rows\": %d, \"common_errors\": {", f->folds, f->all.rows);
    for (int c = 0; c < FSIM_ERROR_CLASSES; c++)
        fsim_json_number(out, c ? ", " : "", fsim_hw_rows[fsim_error_classes[c]].key, f->all.spread[c]);
    fputs("}}", out);
}

static void put_refits(FILE *out, const fsim_refits *r)
{
    fputs(",\n \"refits\": [", out);
    for (int i = 0; i < r->count; i++) {
        fsim_json_text(out, i ? ",\n  {" : "\n  {", "table", r->at[i].table);
        fprintf(out, ", \"place\": %d, \"rows\": %d", r->at[i].place, r->at[i].rows);
        fsim_json_number(out, ", ", "before", r->at[i].before);
        fsim_json_number(out, ", ", "after", r->at[i].after);
        fputs(", \"numbers\": [", out);
        for (int k = 0; k < r->at[i].numbers; k++)
            fprintf(out, "%s%.4g", k ? ", " : "", r->at[i].number[k]);
        fputs("]}", out);
    }
    fputs("],\n \"refit_widths\": [", out);
    for (int i = 0; i < r->widths; i++) {
        fsim_json_text(out, i ? ",\n  {" : "\n  {", "hw", r->width[i].hw);
        fsim_json_text(out, ", ", "key", fsim_hw_rows[r->width[i].key].key);
        fsim_json_number(out, ", ", "width", r->width[i].width);
        fprintf(out, ", \"rows\": %d}", r->width[i].rows);
    }
    putc(']', out);
}

void fsim_json_accuracy(FILE *out, const fsim_accuracy *x)
{
    static const fsim_grouping workloads[] = {FSIM_BY_HW, FSIM_BY_WORKLOAD},
                               classes[] = {FSIM_BY_HW, FSIM_BY_CLASS, FSIM_BY_STRATEGY},
                               folders[] = {FSIM_BY_HW, FSIM_BY_FOLDER, FSIM_BY_STRATEGY}, files[] = {FSIM_BY_FILE},
                               all[] = {FSIM_BY_ALL};
    fsim_arena *a = fsim_arena_new();
    fputs("{\"schema\": 1,\n \"rows\": [", out);
    for (int i = 0; i < x->count; i++)
        put_row(out, i ? ",\n  {" : "\n  {", &x->at[i]);
    putc(']', out);
    put_groups(out, "groups", x, workloads, 2, a);
    put_groups(out, "classes", x, classes, 3, a);
    put_groups(out, "folders", x, folders, 3, a);
    put_groups(out, "files", x, files, 1, a);
    put_groups(out, "overall", x, all, 1, a);
    put_groups(out, "by", x, x->by, x->keys, a);
    put_speedups(out, x, a);
    if (x->folded)
        put_folds(out, x->folded);
    if (x->refits->count)
        put_refits(out, x->refits);
    fsim_json_gates(out, x->gate, x->gates);
    fputs("}\n", out);
    fsim_arena_free(a);
}
