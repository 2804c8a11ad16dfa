/* SPDX-License-Identifier: Apache-2.0 */
/* --verbose: each kernel in full. */
#include "report/text_parts.h"

#include <string.h>

/* A table of kernel k; what its heads mean is said at the first kernel. */
static void put_table(const fsim_text_page *r, const fsim_table *t, const fsim_kernel *k)
{
    fsim_table_print(&r->page, t, 4);
    if (k == r->plan->kernel)
        fsim_table_legend(&r->page, t, 4);
}

fsim_table fsim_text_units(const fsim_text_page *r, const fsim_kernel *k)
{
    static const fsim_column column[] = {
        {.title = "unit", .left = true},
        {.title = "accounts for", .legend = "its part of the kernel's time: units overlap"},
        {.title = "of time"},
        {.title = "alone takes", .legend = "its time if no other unit took any"},
        {.title = "busy", .legend = "that over the kernel's time"}};
    fsim_table t = fsim_table_new(r->a, column, sizeof column / sizeof *column);
    for (int u = 0; u < FSIM_UNIT_COUNT; u++) {
        if (k->time[u] <= 0 && k->unit[u] <= 0)
            continue;
        const char **cell = fsim_table_row(&t, u == (int)k->bound ? FSIM_STRONG : FSIM_PLAIN);
        cell[0] = fsim_unit_names[u];
        cell[1] = fsim_seconds_text(r->a, k->time[u]);
        cell[2] = fsim_percent_text(r->a, k->time_s > 0 ? k->time[u] / k->time_s : 0);
        cell[3] = fsim_seconds_text(r->a, k->unit[u]);
        cell[4] = fsim_percent_text(r->a, k->time_s > 0 ? k->unit[u] / k->time_s : 0);
    }
    return t;
}

/* The last row is the kernel's: what tiles of operands fetch from L2 is known of the kernel as a whole. */
fsim_table fsim_text_tensors(const fsim_text_page *r, const fsim_kernel *k)
{
    static const fsim_column column[] = {{.title = "", .left = true},
                                         {.title = "tensor", .left = true},
                                         {.title = "compulsory", .legend = "each element once"},
                                         {.title = "DRAM", .legend = "read or written there"},
                                         {.title = "L2", .legend = "requested of it"}};
    fsim_table t = fsim_table_new(r->a, column, sizeof column / sizeof *column);
    int64_t compulsory = 0;
    for (int i = 0; i < k->inputs; i++) {
        const fsim_input *in = &k->input[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = "reads";
        cell[1] = r->g->tensor[in->tensor].name;
        cell[2] = fsim_bytes_text(r->a, (double)in->bytes);
        cell[3] = fsim_bytes_text(r->a, (double)in->read_bytes);
        cell[4] = in->l2_bytes > 0 ? fsim_bytes_text(r->a, in->l2_bytes) : "-";
        compulsory += in->bytes;
    }
    for (int i = 0; i < k->outputs; i++) {
        const fsim_result *out = &k->output[i];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = "writes";
        cell[1] = r->g->tensor[out->tensor].name;
        cell[2] = fsim_bytes_text(r->a, (double)out->bytes);
        cell[3] = fsim_bytes_text(r->a, (double)out->write_bytes);
        cell[4] = "-";
        compulsory += out->bytes;
    }
    const char **cell = fsim_table_row(&t, FSIM_STRONG);
    cell[0] = "all";
    cell[2] = fsim_bytes_text(r->a, (double)compulsory);
    cell[3] = fsim_bytes_text(r->a, (double)(k->dram_read_bytes + k->dram_write_bytes));
    cell[4] = fsim_bytes_text(r->a, k->l2_bytes);
    return t;
}

void fsim_text_configuration(const fsim_text_page *r, const fsim_kernel *k)
{
    fsim_arena *a = r->a;
    const bool reduces = k->template == FSIM_ROW_REDUCTION || k->template == FSIM_COLUMN_REDUCTION ||
                         k->template == FSIM_FULL_REDUCTION || k->template == FSIM_MIXED_REDUCTION;
    const char *tile = k->tile_m > 0 ? fsim_printf(a, ", tile %d x %d", k->tile_m, k->tile_n) : "";
    const char *split = k->split_k > 1 ? fsim_printf(a, ", split-K %d", k->split_k) : "";
    const char *passes =
        reduces || k->passes > 1
            ? fsim_printf(a, "%s over the rows, ", k->passes == 1 ? "1 pass" : fsim_printf(a, "%d passes", k->passes))
            : "";
    char flops[32];
    fsim_paragraph(
        &r->page, FSIM_PLAIN, 4, 6,
        fsim_printf(a, "%lld block%s of %d threads%s%s, %s, %s", (long long)k->grid, k->grid == 1 ? "" : "s", k->block,
                    tile, split, k->launches == 1 ? "1 launch" : fsim_printf(a, "%d launches", k->launches),
                    k->registers > 0
                        ? fsim_printf(a, "%d registers a thread, %s of shared memory a block, %s spilled", k->registers,
                                      fsim_bytes_text(a, k->shared_bytes), fsim_bytes_text(a, (double)k->spilled_bytes))
                        : "registers and shared memory unknown"));
    fsim_paragraph(&r->page, FSIM_PLAIN, 4, 6,
                   fsim_printf(a, "%s%.2f waves, %s%s, coalescing %.0f%%, %s",
                               k->registers > 0 ? fsim_printf(a, "occupancy %.0f%%, ", 100 * k->occupancy) : "",
                               k->waves, passes,
                               k->vector > 1 ? fsim_printf(a, "vectors of %d elements", k->vector) : "no vectors",
                               100 * k->coalescing, fsim_show_rate(flops, sizeof flops, k->flops, "FLOP")));
    if (k->partial_bytes > 0)
        fsim_paragraph(&r->page, FSIM_PLAIN, 4, 6,
                       fsim_printf(a, "blocks leave partial results for the second launch: %s through L2",
                                   fsim_bytes_text(a, (double)k->partial_bytes)));
    if (k == r->plan->kernel)
        fsim_paragraph(
            &r->page, FSIM_FAINT, 4, 6,
            "occupancy: the share of an SM's threads in use; waves: rounds in which the SMs take the blocks; "
            "coalescing: the share of the bytes fetched that threads use, of the access that wastes most.");
}

void fsim_text_details(const fsim_text_page *r)
{
    for (int i = 0; i < r->plan->kernels; i++) {
        const fsim_mark scratch = fsim_save(r->a);
        const fsim_kernel *k = &r->plan->kernel[i];
        fsim_text_title(r, fsim_printf(r->a, "kernel %d: %s", i + 1, fsim_kernel_name(r->g, k, r->a)));
        const char *list = NULL;
        for (int m = 0; m < k->group->members; m++)
            list = fsim_printf(r->a, "%s%s%s%s", list ? list : "", list ? ", " : "",
                               r->g->node[k->group->member[m].node].name,
                               k->group->member[m].clone ? " (recomputed)" : "");
        fsim_paragraph(&r->page, FSIM_PLAIN, 4, 6, list ? list : "");
        if (r->plan->rule && r->plan->rule[i])
            fsim_paragraph(
                &r->page, FSIM_PLAIN, 4, 6,
                fsim_printf(r->a, "made by the rule%s %s", strchr(r->plan->rule[i], '+') ? "s" : "", r->plan->rule[i]));
        fsim_text_configuration(r, k);
        const fsim_table units = fsim_text_units(r, k), tensors = fsim_text_tensors(r, k);
        put_table(r, &units, k);
        put_table(r, &tensors, k);
        fsim_rewind(r->a, scratch);
    }
}
