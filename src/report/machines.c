/* SPDX-License-Identifier: Apache-2.0 */
#include "report/machines.h"

#include "base/unit.h"
#include "report/json_stream.h"
#include <math.h>

enum { ROOM = 48 };

static const char *rate(fsim_arena *a, double x)
{
    return isnan(x) ? "" : fsim_show_rate(fsim_new(a, char, ROOM), ROOM, x, "B/s");
}

static const char *watts(fsim_arena *a, double x) { return isnan(x) ? "" : fsim_printf(a, "%.0f W", x); }

void fsim_report_machines(const fsim_page *page, const fsim_machine *m, int count, fsim_arena *a)
{
    static const fsim_column column[] = {
        {.title = "", .left = true},
        {.title = "a node", .legend = "its GPUs, with links to each other"},
        {.title = "links", .legend = "to another GPU of the node, in one direction", .drop = 2},
        {.title = "network", .legend = "between nodes, for each GPU, in one direction", .drop = 1},
        {.title = "limit",
         .legend = "of the power of a GPU; it draws 12 % of it while it waits, 55 % in steps of new "
                   "tokens, 95 % in prompts and training",
         .drop = 3},
        {.title = "beside", .legend = "the node's power beside its GPUs, for each", .drop = 4},
        {.title = "USD/h"}};
    const char *prices = "";
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < count; i++) {
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        const double beside = fsim_machine_rest_w(&m[i]);
        cell[0] = m[i].name;
        cell[1] = fsim_printf(a, "%lld", (long long)m[i].gpus);
        cell[2] = rate(a, fsim_hw_peak(m[i].hw, FSIM_HW_LINK_BANDWIDTH));
        cell[3] = rate(a, m[i].node ? m[i].node->network.value : NAN);
        cell[4] = watts(a, fsim_hw_get(m[i].hw, FSIM_HW_POWER_LIMIT));
        cell[5] = watts(a, beside > 0 ? beside : NAN);
        cell[6] = isnan(m[i].price.value) ? "" : fsim_printf(a, "%.2f", m[i].price.value);
        prices = fsim_printf(a, "%s%s%s: %s", prices, i ? "; " : "", m[i].name,
                             isnan(m[i].price.value) ? "none is known (--price)" : m[i].price.source);
    }
    putc('\n', page->out);
    fsim_table_print(page, &t, 0);
    fsim_table_legend(page, &t, 0);
    fsim_paragraph(page, FSIM_PLAIN, 0, 2, fsim_printf(a, "Prices from %s.", prices));
}

void fsim_report_clusters(const fsim_page *page, const fsim_shown_clusters *x)
{
    static const fsim_column column[] = {{.title = "name", .left = true},
                                         {.title = "GPU", .left = true, .drop = 1},
                                         {.title = "a node"},
                                         {.title = "links", .drop = 2},
                                         {.title = "network", .drop = 2},
                                         {.title = "node's power", .drop = 3},
                                         {.title = "USD/h", .drop = 4}};
    fsim_arena *a = fsim_arena_new();
    fsim_table t = fsim_table_new(a, column, sizeof column / sizeof *column);
    for (int i = 0; i < x->count; i++) {
        const fsim_machine *m = &x->at[i];
        const char **cell = fsim_table_row(&t, m->hw ? FSIM_PLAIN : FSIM_BAD);
        cell[0] = m->name;
        cell[1] = m->hw ? m->hw->name : "not valid";
        if (!m->hw)
            continue;
        cell[2] = fsim_printf(a, "%lld", (long long)m->gpus);
        cell[3] = rate(a, fsim_hw_peak(m->hw, FSIM_HW_LINK_BANDWIDTH));
        cell[4] = rate(a, m->node->network.value);
        cell[5] = watts(a, m->node->power.value);
        cell[6] = isnan(m->price.value) ? "" : fsim_printf(a, "%.2f", m->price.value);
    }
    fsim_table_print(page, &t, 0);
    fsim_arena_free(a);
}

static void put_figure(FILE *out, const char *key, const fsim_stated *f)
{
    fprintf(out, ", \"%s\": ", key);
    fsim_json_number(out, "{", "value", f->value);
    fsim_json_text(out, ", ", "source", f->source);
    putc('}', out);
}

void fsim_json_machines(FILE *out, const fsim_machine *m, int count)
{
    static const fsim_stated unknown = {NAN, NULL};
    fputs("\"machines\": [", out);
    for (int i = 0; i < count; i++) {
        const fsim_cluster *n = m[i].node;
        fsim_json_text(out, i ? ",\n  {" : "\n  {", "name", m[i].name);
        fsim_json_text(out, ", ", "hardware", m[i].hw->name);
        fprintf(out, ", \"node_gpus\": %lld", (long long)m[i].shared);
        put_figure(out, "network_bytes_per_s", n ? &n->network : &unknown);
        put_figure(out, "node_watts", n ? &n->power : &unknown);
        put_figure(out, "usd_per_h", &m[i].price);
        putc('}', out);
    }
    fputs("]", out);
}
