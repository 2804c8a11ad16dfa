/* SPDX-License-Identifier: Apache-2.0 */
/* JSON is read as YAML, which includes it, so that errors have positions. */
#include "diff/filed.h"

#include "diff/read.h"
#include "plan/price/plan.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA = 2 };

static bool is_among(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void read_tensors(const fsim_filed_reader *r, const fsim_yaml *list, const char *moved, fsim_filed_tensor *out,
                         int *count)
{
    for (int i = 0; list && i < list->count; i++) {
        const fsim_yaml *t = list->item[i];
        out[(*count)++] = (fsim_filed_tensor){fsim_filed_text(r, t, "tensor"), fsim_filed_count(r, t, "bytes"),
                                              fsim_filed_count(r, t, moved)};
    }
}

/* Everything that says which work the kernel does and how it is launched, as a text. */
static const char *work_of(const fsim_filed_reader *r, const fsim_yaml *o, const fsim_filed_kernel *k)
{
    static const char *const key[] = {"template",
                                      "launches",
                                      "grid",
                                      "block",
                                      "registers_per_thread",
                                      "shared_bytes_per_block",
                                      "spilled_bytes",
                                      "split_k",
                                      "passes",
                                      "coalescing",
                                      "l2_bytes",
                                      "flops"};
    char digits[FSIM_SUM_DIGITS];
    const char *text = "";
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
        const fsim_yaml *value = fsim_yaml_get(o, key[i]);
        text = fsim_printf(r->a, "%s%s ", text, value && value->kind == FSIM_YAML_SCALAR ? value->text : "");
    }
    const fsim_yaml *tile = fsim_yaml_get(o, "tile");
    for (int i = 0; tile && tile->kind == FSIM_YAML_SEQUENCE && i < tile->count; i++)
        text = fsim_printf(r->a, "%sx%s", text, tile->item[i]->kind == FSIM_YAML_SCALAR ? tile->item[i]->text : "");
    for (int i = 0; i < k->tensors; i++)
        text = fsim_printf(r->a, "%s %s=%s", text, k->tensor[i].name, fsim_sum_digits(digits, k->tensor[i].bytes));
    return text;
}

static void read_kernel(const fsim_filed_reader *r, const fsim_yaml *o, fsim_filed_kernel *k)
{
    int all = 0;
    const char **name = fsim_filed_names(r, o, "operators", &all);
    *k = (fsim_filed_kernel){.at = o->at, .name = fsim_filed_text(r, o, "name"), .home = name};
    k->again = fsim_filed_names(r, o, "recomputed", &k->agains);
    k->source = fsim_filed_names(r, o, "source_operators", &k->sources);
    for (int i = 0; i < all; i++) /* what is left out stands behind what is read: in place */
        if (!is_among(name[i], k->again, k->agains))
            name[k->homes++] = name[i];
    k->time_fs = fsim_ticks(fsim_filed_number(r, o, "time_s"));
    k->dram_bytes = fsim_filed_count(r, o, "dram_read_bytes") + fsim_filed_count(r, o, "dram_write_bytes");
    const fsim_yaml *part = fsim_filed_get(r, o, "time", FSIM_YAML_MAPPING);
    for (int u = 0; u < FSIM_UNIT_COUNT && part; u++)
        k->unit_s[u] = fsim_filed_number(r, part, fsim_printf(r->a, "%s_s", fsim_unit_names[u]));
    const fsim_yaml *inputs = fsim_filed_get(r, o, "inputs", FSIM_YAML_SEQUENCE),
                    *outputs = fsim_filed_get(r, o, "outputs", FSIM_YAML_SEQUENCE);
    fsim_filed_tensor *tensor =
        fsim_new(r->a, fsim_filed_tensor, (inputs ? inputs->count : 0) + (outputs ? outputs->count : 0) + 1);
    read_tensors(r, inputs, "read_bytes", tensor, &k->tensors);
    read_tensors(r, outputs, "write_bytes", tensor, &k->tensors);
    k->tensor = tensor;
    k->work = work_of(r, o, k);
    k->library = strcmp(fsim_filed_text(r, o, "template"), fsim_template_names[FSIM_LIBRARY_CONTRACTION]) == 0;
}

static void read_symbols(const fsim_filed_reader *r, const fsim_yaml *workload, fsim_filed_plan *p)
{
    const fsim_yaml *map = fsim_filed_get(r, workload, "symbols", FSIM_YAML_MAPPING);
    fsim_filed_symbol *symbol = fsim_new(r->a, fsim_filed_symbol, (map ? map->count : 0) + 1);
    for (int i = 0; map && i < map->count; i++)
        if (map->item[i]->kind == FSIM_YAML_SCALAR)
            symbol[p->symbols++] = (fsim_filed_symbol){map->key[i]->text, map->item[i]->text, !map->item[i]->quoted};
        else
            fsim_error(r->d, map->item[i]->at, "the symbol '%s' is %s", map->key[i]->text,
                       fsim_yaml_kind_name(map->item[i]));
    p->symbol = symbol;
}

/* Figures of a GPU, by key; NaN where there is none. Keys of other releases have no row here. */
static void read_figures(const fsim_filed_reader *r, const fsim_yaml *hardware, const char *list,
                         double out[FSIM_HW_COUNT])
{
    const fsim_yaml *map = fsim_filed_get(r, hardware, list, FSIM_YAML_MAPPING);
    for (int key = 0; key < FSIM_HW_COUNT; key++)
        out[key] =
            map && fsim_yaml_get(map, fsim_hw_rows[key].key) ? fsim_filed_number(r, map, fsim_hw_rows[key].key) : NAN;
}

/* The dtypes that primitives compute in: "f16, f32". */
static const char *dtypes_of(const fsim_filed_reader *r, const fsim_yaml *plan)
{
    const fsim_yaml *arithmetic = fsim_filed_get(r, plan, "arithmetic", FSIM_YAML_MAPPING),
                    *count = arithmetic ? fsim_filed_get(r, arithmetic, "primitives", FSIM_YAML_MAPPING) : NULL;
    const char *text = "";
    for (int i = 0; count && i < count->count; i++)
        text = fsim_printf(r->a, "%s%s%s", text, i ? ", " : "", count->key[i]->text);
    return text;
}

/* The most memory that the plan of a strategy needs; -1 where its list does not have it. */
static fsim_sum peak_of(const fsim_filed_reader *r, const fsim_yaml *o, const char *strategy)
{
    const fsim_yaml *list = fsim_filed_get(r, o, "strategies", FSIM_YAML_SEQUENCE);
    for (int i = 0; list && i < list->count; i++)
        if (strcmp(fsim_filed_text(r, list->item[i], "name"), strategy) == 0)
            return fsim_filed_count(r, list->item[i], "peak_memory_bytes");
    return -1;
}

static void read_plan(const fsim_filed_reader *r, const fsim_yaml *o, fsim_filed_plan *p)
{
    const fsim_yaml *workload = fsim_filed_get(r, o, "workload", FSIM_YAML_MAPPING),
                    *hardware = fsim_filed_get(r, o, "hardware", FSIM_YAML_MAPPING),
                    *plan = fsim_filed_get(r, o, "plan", FSIM_YAML_MAPPING);
    if (!workload || !hardware || !plan)
        return;
    *p = (fsim_filed_plan){.at = o->at,
                           .workload = fsim_filed_text(r, workload, "name"),
                           .operators = fsim_filed_text(r, workload, "operators"),
                           .primitives = fsim_filed_text(r, workload, "primitives"),
                           .hardware = fsim_filed_text(r, hardware, "name"),
                           .architecture = fsim_filed_text(r, hardware, "architecture"),
                           .strategy = fsim_filed_text(r, plan, "strategy"),
                           .maker = fsim_filed_text(r, plan, "maker"),
                           .objective = fsim_filed_text(r, o, "objective"),
                           .launch = fsim_filed_text(r, o, "launch"),
                           .l2 = fsim_filed_text(r, o, "l2"),
                           .numerics = fsim_filed_text(r, o, "numerics"),
                           .recompute = fsim_filed_text(r, o, "recompute"),
                           .dtypes = dtypes_of(r, plan)};
    read_symbols(r, workload, p);
    read_figures(r, hardware, "keys", p->key);
    read_figures(r, hardware, "peaks", p->peak);
    p->peak_bytes = peak_of(r, o, p->strategy);
    const fsim_yaml *list = fsim_filed_get(r, plan, "kernels", FSIM_YAML_SEQUENCE);
    fsim_filed_kernel *kernel = fsim_new(r->a, fsim_filed_kernel, (list ? list->count : 0) + 1);
    for (int i = 0; list && i < list->count; i++) {
        read_kernel(r, list->item[i], &kernel[p->kernels++]);
        p->time_fs += kernel[i].time_fs;
        p->dram_bytes += kernel[i].dram_bytes;
    }
    p->kernel = kernel;
}

bool fsim_is_filed_plan(const fsim_yaml *root) { return fsim_yaml_get(root, "schema") && fsim_yaml_get(root, "plans"); }

const fsim_filed *fsim_filed_read(fsim_arena *a, fsim_diag *d, const char *path, const fsim_yaml *root)
{
    const fsim_filed_reader r = {a, d, "'fusesim plan --json'"};
    const int errors = fsim_errors(d);
    const char *schema = fsim_filed_text(&r, root, "schema");
    const fsim_yaml *list = fsim_filed_get(&r, root, "plans", FSIM_YAML_SEQUENCE);
    if (!list || strtol(schema, NULL, 10) != SCHEMA || list->count == 0) {
        if (list && list->count == 0)
            fsim_error(d, list->at, "'plans' is empty");
        else if (list)
            fsim_error(d, root->at, "this file has schema %s; this release compares schema %d", schema, SCHEMA);
        return NULL;
    }
    fsim_filed *f = fsim_new(a, fsim_filed, 1);
    fsim_filed_plan *plan = fsim_new(a, fsim_filed_plan, list->count);
    *f = (fsim_filed){path, fsim_filed_text(&r, root, "fusesim"), plan, list->count};
    for (int i = 0; i < list->count; i++)
        read_plan(&r, list->item[i], &plan[i]);
    return fsim_errors(d) == errors ? f : NULL;
}
