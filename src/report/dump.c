/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/fuse.h"
#include "graph/build.h"
#include "report/report.h"
#include <inttypes.h>
#include <string.h>

typedef struct {
    const fsim_page *page;
    fsim_arena *a;
    const fsim_prediction *p;
    const fsim_graph *g;
    const fsim_plan *plan;
} dump;

static const char *integer(fsim_arena *a, int64_t i) { return fsim_printf(a, "%" PRId64, i); }

static const char *joined(fsim_arena *a, const char *list, const char *item)
{
    return list ? fsim_printf(a, "%s, %s", list, item) : item;
}

#define TABLE(d, columns) fsim_table_new((d)->a, columns, (int)(sizeof columns / sizeof *columns))

static void finish(const dump *d, const char *title, const fsim_table *t)
{
    fprintf(d->page->out, "%s\n", title);
    if (t->rows)
        fsim_table_print(d->page, t, 2);
    fputc('\n', d->page->out);
}

/* "[8x1024, 512x1 | 64x0] + 16": extent x stride, points | reduced points, then the offset. */
static const char *map_text(fsim_arena *a, const fsim_map *m)
{
    const char *text = "[";
    for (int i = 0; i < m->modes; i++) {
        const char *between = i == m->split ? " | " : i > 0 ? ", " : "";
        text = fsim_printf(a, "%s%s%" PRId64 "x%" PRId64, text, i == 0 && m->split == 0 ? "| " : between,
                           m->mode[i].extent, m->mode[i].stride);
    }
    return m->offset ? fsim_printf(a, "%s] + %" PRId64, text, m->offset) : fsim_printf(a, "%s]", text);
}

static const char *access_text(const dump *d, const fsim_access *access)
{
    const char *name = d->g->tensor[access->tensor].name;
    switch (access->how) {
    case FSIM_READ_MAP:
        return fsim_printf(d->a, "%s %s", name, map_text(d->a, &access->map));
    case FSIM_READ_ONCE:
        return fsim_printf(d->a, "%s once", name);
    case FSIM_READ_PIECE:
        return fsim_printf(d->a, "%s in part", name);
    case FSIM_READ_INDIRECT:
        return fsim_printf(d->a, "%s %" PRId64 " rows of %" PRId64, name, access->rows, access->run);
    case FSIM_READ_WINDOW:
        break;
    }
    const char *text = fsim_printf(d->a, "%s windows %" PRId64, name, access->planes);
    for (int i = 0; i < access->axes; i++)
        text = fsim_printf(d->a, "%s x %" PRId64 ":%" PRId64, text, access->axis[i].extent, access->axis[i].taps);
    return text;
}

static void dump_graph(const dump *d)
{
    static const fsim_column tensors[] = {{.title = "tensor", .left = true},
                                          {.title = "shape", .left = true},
                                          {.title = "dtype", .left = true},
                                          {.title = "role", .left = true},
                                          {.title = "bytes"},
                                          {.title = "made by", .left = true},
                                          {.title = "readers"},
                                          {.title = "stored", .left = true}};
    static const fsim_column primitives[] = {{.title = "primitive", .left = true},
                                             {.title = "op", .left = true},
                                             {.title = "class", .left = true},
                                             {.title = "of", .left = true},
                                             {.title = "points"},
                                             {.title = "reduced"},
                                             {.title = "contraction", .left = true},
                                             {.title = "reads", .left = true}};
    static const char *const role[] = {[FSIM_INPUT] = "input", [FSIM_WEIGHT] = "weight", [FSIM_MADE] = "made"};
    const fsim_graph *g = d->g;
    fsim_table t = TABLE(d, tensors);
    for (int i = 0; i < g->tensors; i++) {
        const fsim_tensor *x = &g->tensor[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = x->name;
        cell[1] = fsim_tensor_shape_text(d->a, x);
        cell[2] = fsim_dtype_names[x->dtype];
        cell[3] = role[x->role];
        cell[4] = integer(d->a, x->bytes);
        cell[5] = x->storage != i    ? fsim_printf(d->a, "view of %s", g->tensor[x->storage].name)
                  : x->producer >= 0 ? g->node[x->producer].name
                                     : NULL;
        cell[6] = integer(d->a, x->readers);
        cell[7] = x->output ? "output" : x->materialize ? "materialize" : NULL;
        if (x->over >= 0)
            cell[7] = joined(d->a, cell[7], fsim_printf(d->a, "in place of %s", g->tensor[x->over].name));
    }
    finish(d, "tensors", &t);
    t = TABLE(d, primitives);
    for (int i = 0; i < g->nodes; i++) {
        const fsim_node *n = &g->node[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = n->name;
        cell[1] = fsim_ops[n->op].name;
        cell[2] = fsim_classes[fsim_ops[n->op].class].name;
        cell[3] = g->source[n->source].name;
        cell[4] = integer(d->a, n->points);
        cell[5] = integer(d->a, n->reduced);
        if (n->gemm.k)
            cell[6] = fsim_printf(d->a, "%" PRId64 " x (%" PRId64 " x %" PRId64 " x %" PRId64 ") %s", n->gemm.batch,
                                  n->gemm.m, n->gemm.n, n->gemm.k, fsim_dtype_names[n->gemm.arithmetic]);
        for (int k = 0; k < n->args; k++)
            cell[7] = joined(d->a, cell[7], access_text(d, &n->arg[k]));
    }
    finish(d, "primitives (maps: extent x stride of each digit, points | reduced)", &t);
}

/* Every pair of a producer and a reader, as one kernel on its own. */
static void dump_legal(const dump *d)
{
    static const fsim_column column[] = {{.title = "producer", .left = true},
                                         {.title = "reader", .left = true},
                                         {.title = "verdict", .left = true},
                                         {.title = "rule", .left = true},
                                         {.title = "why", .left = true}};
    const fsim_limits limits = {.graph = d->g,
                                .shared_per_block = (int64_t)fsim_hw_get(d->p->hw, FSIM_HW_SHARED_PER_BLOCK),
                                .strict = d->p->options.strict};
    fsim_table t = TABLE(d, column);
    for (int from = 0; from < d->g->nodes; from++)
        for (int r = 0; r < d->g->node[from].results; r++) {
            const fsim_tensor *made = &d->g->tensor[d->g->node[from].result[r]];
            for (int i = 0; i < made->readers; i++) {
                const int pair[] = {from, made->reader[i]};
                fsim_group group = {0};
                fsim_refusal why = {0};
                const bool legal =
                    fsim_group_of(&limits, &(fsim_selection){.node = pair, .count = 2}, d->a, &group, &why);
                const char **cell = fsim_table_row(&t, FSIM_PLAIN);
                cell[0] = d->g->node[from].name;
                cell[1] = d->g->node[pair[1]].name;
                cell[2] = legal ? "legal" : "refused";
                cell[3] = legal ? fsim_template_names[group.template] : fsim_rule_names[why.rule];
                cell[4] = legal ? NULL : fsim_refusal_text(d->g, &why, d->a);
            }
        }
    finish(d, "edges, each as a kernel of its own (legal: the template; refused: the rule)", &t);
}

static void dump_parts(const dump *d)
{
    static const fsim_column column[] = {{.title = "#"},
                                         {.title = "template", .left = true},
                                         {.title = "points"},
                                         {.title = "reduced"},
                                         {.title = "stages"},
                                         {.title = "live"},
                                         {.title = "kept bytes"},
                                         {.title = "rule", .left = true},
                                         {.title = "primitives", .left = true}};
    fsim_table t = TABLE(d, column);
    for (int i = 0; i < d->plan->kernels; i++) {
        const fsim_group *group = d->plan->kernel[i].group;
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = integer(d->a, i + 1);
        cell[1] = fsim_template_names[group->template];
        cell[2] = integer(d->a, group->points);
        cell[3] = integer(d->a, group->reduced);
        cell[4] = integer(d->a, group->stages);
        cell[5] = integer(d->a, group->live);
        cell[6] = integer(d->a, group->kept_row_bytes);
        cell[7] = d->plan->rule ? d->plan->rule[i] : NULL;
        for (int m = 0; m < group->members; m++)
            cell[8] = joined(d->a, cell[8],
                             fsim_printf(d->a, "%s%s%s", d->g->node[group->member[m].node].name,
                                         group->member[m].clone ? " (recomputed)" : "",
                                         group->member[m].prologue ? " (prologue)" : ""));
    }
    finish(d, "parts", &t);
}

static void dump_kernels(const dump *d)
{
    static const fsim_column column[] = {{.title = "#"},         {.title = "name", .left = true},
                                         {.title = "launches"},  {.title = "grid"},
                                         {.title = "block"},     {.title = "regs"},
                                         {.title = "shared"},    {.title = "spilled"},
                                         {.title = "occupancy"}, {.title = "waves"},
                                         {.title = "tile"},      {.title = "split-K"},
                                         {.title = "vector"},    {.title = "passes"},
                                         {.title = "coalescing"}};
    fsim_table t = TABLE(d, column);
    for (int i = 0; i < d->plan->kernels; i++) {
        const fsim_kernel *k = &d->plan->kernel[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = integer(d->a, i + 1);
        cell[1] = fsim_kernel_name(d->g, k, d->a);
        cell[2] = integer(d->a, k->launches);
        cell[3] = integer(d->a, k->grid);
        cell[4] = integer(d->a, k->block);
        cell[5] = integer(d->a, k->registers);
        cell[6] = integer(d->a, k->shared_bytes);
        cell[7] = integer(d->a, k->spilled_bytes);
        cell[8] = fsim_percent_text(d->a, k->occupancy);
        cell[9] = fsim_printf(d->a, "%.3f", k->waves);
        cell[10] = k->tile_m > 0 ? fsim_printf(d->a, "%d x %d", k->tile_m, k->tile_n) : NULL;
        cell[11] = integer(d->a, k->split_k);
        cell[12] = integer(d->a, k->vector);
        cell[13] = integer(d->a, k->passes);
        cell[14] = fsim_percent_text(d->a, k->coalescing);
    }
    finish(d, "kernels (shared, spilled: bytes)", &t);
}

static void dump_traffic(const dump *d)
{
    static const fsim_column column[] = {{.title = "#"},          {.title = "tensor", .left = true},
                                         {.title = "compulsory"}, {.title = "DRAM read"},
                                         {.title = "DRAM write"}, {.title = "L2"},
                                         {.title = "shared"},     {.title = "FLOP"}};
    fsim_table t = TABLE(d, column);
    for (int i = 0; i < d->plan->kernels; i++) {
        const fsim_kernel *k = &d->plan->kernel[i];
        int64_t compulsory = 0;
        for (int n = 0; n < k->inputs; n++) {
            const char **cell = fsim_table_row(&t, FSIM_PLAIN);
            cell[0] = integer(d->a, i + 1);
            cell[1] = d->g->tensor[k->input[n].tensor].name;
            cell[2] = integer(d->a, k->input[n].bytes);
            cell[3] = integer(d->a, k->input[n].read_bytes);
            cell[5] = fsim_printf(d->a, "%.0f", k->input[n].l2_bytes);
            compulsory += k->input[n].bytes;
        }
        for (int n = 0; n < k->outputs; n++) {
            const char **cell = fsim_table_row(&t, FSIM_PLAIN);
            cell[0] = integer(d->a, i + 1);
            cell[1] = d->g->tensor[k->output[n].tensor].name;
            cell[2] = integer(d->a, k->output[n].bytes);
            cell[4] = integer(d->a, k->output[n].write_bytes);
            compulsory += k->output[n].bytes;
        }
        const char **cell = fsim_table_row(&t, FSIM_STRONG);
        cell[0] = integer(d->a, i + 1);
        cell[1] = "(all)";
        cell[2] = integer(d->a, compulsory);
        cell[3] = integer(d->a, k->dram_read_bytes);
        cell[4] = integer(d->a, k->dram_write_bytes);
        cell[5] = fsim_printf(d->a, "%.0f", k->l2_bytes);
        cell[6] = fsim_printf(d->a, "%.0f", k->shared_bytes_moved);
        cell[7] = fsim_printf(d->a, "%.0f", k->flops);
    }
    finish(d, "traffic (bytes)", &t);
}

static void times(const dump *d, const char *title, bool shares)
{
    fsim_column column[2 + FSIM_UNIT_COUNT + 1] = {{.title = "#"}, {.title = "time"}};
    for (int u = 0; u < FSIM_UNIT_COUNT; u++)
        column[2 + u].title = fsim_unit_names[u];
    column[2 + FSIM_UNIT_COUNT] = (fsim_column){.title = "bound", .left = true};
    fsim_table t = TABLE(d, column);
    for (int i = 0; i < d->plan->kernels; i++) {
        const fsim_kernel *k = &d->plan->kernel[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = integer(d->a, i + 1);
        cell[1] = fsim_seconds_text(d->a, k->time_s);
        for (int u = 0; u < FSIM_UNIT_COUNT; u++)
            cell[2 + u] = fsim_seconds_text(d->a, shares ? k->time[u] : k->unit[u]);
        cell[2 + FSIM_UNIT_COUNT] = fsim_unit_names[k->bound];
    }
    finish(d, title, &t);
}

static void dump_time(const dump *d)
{
    times(d, "time: shares, which sum to it", true);
    times(d, "time: what each unit would take alone", false);
}

/* The stages in the order of the pipeline; names in fsim_dump_stages. */
static void (*const stage[])(const dump *d) = {dump_graph,   dump_legal,   dump_parts,
                                               dump_kernels, dump_traffic, dump_time};
const char *const fsim_dump_stages[] = {"graph", "legal", "parts", "kernels", "traffic", "time", NULL};

void fsim_report_dump(FILE *out, const fsim_prediction *p, const char *const *names, int count)
{
    const fsim_page page = {.out = out};
    for (int n = 0; n < count; n++)
        for (int i = 0; fsim_dump_stages[i]; i++) {
            if (strcmp(fsim_dump_stages[i], names[n]) != 0)
                continue;
            fsim_arena *a = fsim_arena_new();
            stage[i](&(dump){&page, a, p, p->graph, &p->plan[p->chosen]});
            fsim_arena_free(a);
        }
}
