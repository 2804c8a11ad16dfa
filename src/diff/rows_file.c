/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/rows.h"

#include "base/names.h"
#include "diff/read.h"
#include "plan/price/plan.h"
#include <math.h>
#include <string.h>

const char *const fsim_rows_kind_names[FSIM_ROWS_KINDS] = {"sweep", "trials", "accuracy"};

bool fsim_is_filed_rows(const fsim_yaml *root, fsim_rows_kind *kind)
{
    static const struct {
        const char *list, *beside;
    } has[FSIM_ROWS_KINDS] = {{"points", "axes"}, {"workloads", "device"}, {"rows", "overall"}};
    for (int k = 0; k < FSIM_ROWS_KINDS; k++)
        if (fsim_yaml_get(root, has[k].list) && fsim_yaml_get(root, has[k].beside)) {
            *kind = (fsim_rows_kind)k;
            return true;
        }
    return false;
}

typedef struct {
    fsim_filed_reader r;
    fsim_names known; /* keys, to tell rows with one key apart */
    fsim_filed_row *row;
    int count, room;
} rows;

/* A new row with everything unknown. */
static fsim_filed_row *add(rows *to, const fsim_yaml *at, const char *key, const char *group)
{
    const int before = fsim_names_get(&to->known, key);
    fsim_names_set(to->r.a, &to->known, key, before < 0 ? 1 : before + 1);
    fsim_filed_row *row = FSIM_PUSH(to->r.a, to->row, to->count, to->room);
    *row = (fsim_filed_row){.at = at->at,
                            .key = before < 0 ? key : fsim_printf(to->r.a, "%s #%d", key, before + 1),
                            .group = group,
                            .time_fs = -1,
                            .low_s = NAN,
                            .high_s = NAN,
                            .noise = NAN,
                            .predicted_s = NAN,
                            .measured_s = NAN,
                            .dram_bytes = -1,
                            .peak_bytes = -1,
                            .kernels = "",
                            .chosen = true};
    return row;
}

static void set_time(fsim_filed_row *row, double seconds, const char *why)
{
    row->time_fs = isnan(seconds) ? -1 : fsim_ticks(seconds);
    row->why = isnan(seconds) ? (why ? why : "it has no time") : NULL;
}

static fsim_sum bytes_of(const rows *to, const fsim_yaml *o)
{
    const fsim_filed_reader *r = &to->r;
    return fsim_filed_word(o, "dram_read_bytes") && fsim_filed_word(o, "dram_write_bytes")
               ? fsim_filed_count(r, o, "dram_read_bytes") + fsim_filed_count(r, o, "dram_write_bytes")
               : -1;
}

static void read_point(rows *to, const fsim_yaml *o)
{
    const fsim_filed_reader *r = &to->r;
    const fsim_yaml *at = fsim_filed_get(r, o, "at", FSIM_YAML_MAPPING);
    const char *key = "", *gpu = fsim_filed_text(r, o, "hardware");
    for (int i = 0; at && i < at->count; i++)
        key = fsim_printf(r->a, "%s%s%s=%s", key, i ? ", " : "", at->key[i]->text,
                          at->item[i]->kind == FSIM_YAML_SCALAR ? at->item[i]->text : "?");
    fsim_filed_row *row = add(to, o, fsim_printf(r->a, "%s on %s", key, gpu), gpu);
    row->predicted_s = fsim_filed_maybe(r, o, "time_s");
    set_time(row, row->predicted_s, fsim_filed_word(o, "reason"));
    row->dram_bytes = bytes_of(to, o);
    row->peak_bytes = fsim_filed_word(o, "peak_memory_bytes") ? fsim_filed_count(r, o, "peak_memory_bytes") : -1;
    row->kernels = fsim_filed_word(o, "kernels");
}

/* The names of a plan's kernels as one text. */
static const char *kernel_names(const rows *to, const fsim_yaml *plan)
{
    const fsim_yaml *list = fsim_filed_get(&to->r, plan, "kernels", FSIM_YAML_SEQUENCE);
    const char *text = "";
    for (int i = 0; list && i < list->count; i++)
        text = fsim_printf(to->r.a, "%s%s ", text, fsim_filed_text(&to->r, list->item[i], "name"));
    return text;
}

static void read_trial(rows *to, const fsim_yaml *o)
{
    const fsim_filed_reader *r = &to->r;
    const char *name = fsim_filed_text(r, o, "name"), *set = fsim_filed_word(o, "set"),
               *chosen = fsim_filed_word(o, "chosen"), *l2 = fsim_filed_word(o, "l2");
    const bool warm = l2 && strcmp(l2, "warm") == 0;
    const fsim_yaml *plans = fsim_filed_get(r, o, "plans", FSIM_YAML_SEQUENCE);
    for (int i = 0; plans && i < plans->count; i++) {
        const fsim_yaml *p = plans->item[i], *measured = fsim_yaml_get(p, "measured");
        const char *strategy = fsim_filed_text(r, p, "strategy"), *failed = fsim_filed_word(p, "failed"),
                   *left = fsim_filed_word(p, "left_out"), *wrong = fsim_filed_word(p, "first_wrong");
        fsim_filed_row *row = add(to, p,
                                  fsim_printf(r->a, "%s%s%s%s: %s", name, set && *set ? " " : "", set ? set : "",
                                              warm ? " (L2 warm)" : "", strategy),
                                  name);
        row->predicted_s = fsim_filed_maybe(r, p, "predicted_s");
        row->noise = fsim_filed_maybe(r, o, "noise");
        row->chosen = chosen ? strcmp(chosen, strategy) == 0 : strcmp(strategy, "optimal") == 0;
        row->kernels = kernel_names(to, p);
        if (measured && measured->kind == FSIM_YAML_MAPPING) {
            row->measured_s = fsim_filed_number(r, measured, "median_s");
            row->low_s = fsim_filed_number(r, measured, "low_s");
            row->high_s = fsim_filed_number(r, measured, "high_s");
        }
        set_time(row, row->measured_s, failed ? failed : wrong ? wrong : left ? left : "it was not measured");
    }
}

static void read_pair(rows *to, const fsim_yaml *o)
{
    const fsim_filed_reader *r = &to->r;
    const char *set = fsim_filed_word(o, "set"), *excluded = fsim_filed_word(o, "excluded");
    fsim_filed_row *row =
        add(to, o, fsim_printf(r->a, "%s%s%s", fsim_filed_text(r, o, "id"), set && *set ? " " : "", set ? set : ""),
            fsim_filed_text(r, o, "hw"));
    row->predicted_s = fsim_filed_maybe(r, o, "predicted_s");
    row->measured_s = fsim_filed_maybe(r, o, "measured_s");
    row->dram_bytes = bytes_of(to, o);
    row->kernels = fsim_filed_word(o, "kernels");
    set_time(row, row->predicted_s, excluded);
}

const fsim_filed_rows *fsim_filed_rows_read(fsim_arena *a, fsim_diag *d, const char *path, const fsim_yaml *root,
                                            fsim_rows_kind kind)
{
    static void (*const read[FSIM_ROWS_KINDS])(rows *, const fsim_yaml *) = {read_point, read_trial, read_pair};
    static const char *const list_name[FSIM_ROWS_KINDS] = {"points", "workloads", "rows"},
                             *const writer[FSIM_ROWS_KINDS] = {"'fusesim sweep --json'",
                                                               "'fusesim validate --device --json'",
                                                               "'fusesim validate --measurements --json'"};
    const int errors = fsim_errors(d);
    rows to = {.r = {a, d, writer[kind]}};
    const fsim_yaml *list = fsim_filed_get(&to.r, root, list_name[kind], FSIM_YAML_SEQUENCE),
                    *device = fsim_yaml_get(root, "device");
    for (int i = 0; list && i < list->count; i++)
        read[kind](&to, list->item[i]);
    const char *version = fsim_filed_word(root, "fusesim"),
               *name = device && device->kind == FSIM_YAML_MAPPING ? fsim_filed_word(device, "name") : NULL;
    fsim_filed_rows *out = fsim_new(a, fsim_filed_rows, 1);
    *out = (fsim_filed_rows){kind, path, version ? version : "", name ? name : "", to.row, to.count};
    for (int i = 0; i < to.count; i++)
        to.row[i].kernels = to.row[i].kernels ? to.row[i].kernels : "";
    return fsim_errors(d) == errors ? out : NULL;
}
