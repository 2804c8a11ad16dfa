/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kernels, and each kernel in full. */
#include "report/html_parts.h"

#include "plan/price/phases.h"
#include <math.h>
#include <string.h>

/* Cells of fsim_text_kernels. */
enum { NUMBER, TIME, TIMES, SPREAD, SHARE, BAR, DRAM, BOUND, REGISTERS, OCCUPANCY, FROM, PHASE, KIND, LAYER, COMPUTES };

void fsim_html_kernel_link(const fsim_html_page *h, int k)
{
    fsim_html(h->out, "<button type=\"button\" class=\"to\" data-k=\"%d\">kernel %d</button>", k + 1, k + 1);
}

/* Of a numeric column: what it is sorted by. */
static double value_of(const fsim_html_page *h, int column, int k)
{
    const fsim_kernel *x = &h->plan->kernel[k];
    switch (column) {
    case TIME:
    case SHARE:
        return x->time_s;
    case SPREAD: {
        const fsim_interval i = fsim_kernel_interval(h->g, h->p->hw, fsim_maker_in(h->p, h->p->chosen), x);
        return x->time_s > 0 ? (i.high - i.low) / x->time_s : 0;
    }
    case DRAM:
        return (double)(x->dram_read_bytes + x->dram_write_bytes);
    case REGISTERS:
        return x->registers;
    case OCCUPANCY:
        return x->registers > 0 ? x->occupancy : 0;
    default:
        return k + 1;
    }
}

typedef struct {
    int cell;
    const char *title;
    bool number;
} shown_column;
static const shown_column columns[] = {
    {NUMBER, "#", true},        {COMPUTES, "computes", false}, {KIND, "kind", false},     {PHASE, "phase", false},
    {TIME, "time", true},       {SPREAD, "+-", true},          {SHARE, "share", true},    {DRAM, "DRAM", true},
    {BOUND, "bound by", false}, {REGISTERS, "regs", true},     {OCCUPANCY, "occ.", true}, {FROM, "from", false}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static bool is_shown(const fsim_html_page *h, const shown_column *c)
{
    return c->cell != PHASE || h->g->derived == FSIM_REVERSE;
}

static int shown_columns(const fsim_html_page *h)
{
    int count = 0;
    for (int i = 0; i < COLUMNS; i++)
        count += is_shown(h, &columns[i]);
    return count;
}

static void put_kernel_row(const fsim_html_page *h, const fsim_table *t, int k, double most_s)
{
    const char *const *cell = t->row[k].cell;
    const fsim_kernel *x = &h->plan->kernel[k];
    fsim_html(h->out, "<tr data-k=\"%d\" data-t=\"%g\" data-bound=\"%s\" data-kind=\"%s\"", k + 1, x->time_s,
              fsim_unit_names[x->bound], cell[KIND]);
    if (h->layer)
        fsim_html(h->out, " data-layer=\"%s\"", h->layer[k]);
    if (h->g->derived == FSIM_REVERSE)
        fsim_html(h->out, " data-phase=\"%s\"", cell[PHASE] ? cell[PHASE] : "");
    fsim_html(h->out, ">");
    for (int i = 0; i < COLUMNS; i++) {
        const shown_column *c = &columns[i];
        const char *text = cell[c->cell] ? cell[c->cell] : "";
        if (!is_shown(h, c))
            continue;
        if (c->cell == COMPUTES)
            fsim_html(
                h->out,
                "<th scope=\"row\"><button type=\"button\" class=\"to\" data-k=\"%d\" title=\"%s\">%s</button></th>",
                k + 1, text, fsim_text_within(h->a, text, 60));
        else if (c->number)
            fsim_html(h->out, "<td class=\"n\" data-v=\"%g\">%s", value_of(h, c->cell, k), text);
        else if (c->cell == BOUND)
            fsim_html(h->out, "<td><i class=\"dot u-%s\"></i>%s", fsim_unit_names[x->bound], text);
        else
            fsim_html(h->out, "<td>%s", text);
        if (c->cell == SHARE)
            fsim_html(h->out,
                      "<svg class=\"bar\" aria-hidden=\"true\" viewBox=\"0 0 100 6\" "
                      "preserveAspectRatio=\"none\"><rect width=\"%.1f\" "
                      "height=\"6\" class=\"u-%s\"/></svg>",
                      most_s > 0 ? 100 * x->time_s / most_s : 0, fsim_unit_names[x->bound]);
        fsim_html(h->out, c->cell == COMPUTES ? "" : "</td>");
    }
    fsim_html(h->out, "</tr>\n");
}

/* The row above the kernels of a layer. */
static void put_layer(const fsim_html_page *h, int from)
{
    double time_s = 0, bytes = 0;
    int kernels = 0;
    for (int k = 0; k < h->plan->kernels; k++)
        if (strcmp(h->layer[k], h->layer[from]) == 0) {
            time_s += h->plan->kernel[k].time_s;
            bytes += (double)(h->plan->kernel[k].dram_read_bytes + h->plan->kernel[k].dram_write_bytes);
            kernels++;
        }
    fsim_html(
        h->out,
        "<tr class=\"group\"><th colspan=\"%d\" scope=\"rowgroup\">%s <span>%s, %s, %s, DRAM %s</span></th></tr>\n",
        shown_columns(h), *h->layer[from] ? h->layer[from] : "no layer", fsim_text_count(h->a, kernels, "kernel"),
        fsim_seconds_text(h->a, time_s), fsim_percent_text(h->a, time_s / h->plan->time_s),
        fsim_bytes_text(h->a, bytes));
}

/* The words of a column, each once. */
static void put_choices(const fsim_html_page *h)
{
    fsim_html(h->out, "<label>bound by <select class=\"bound\"><option value=\"\">anything</option>");
    for (int u = 0; u < FSIM_UNIT_COUNT; u++) {
        bool any = false;
        for (int k = 0; k < h->plan->kernels; k++)
            any = any || h->plan->kernel[k].bound == (fsim_unit)u;
        if (any)
            fsim_html(h->out, "<option>%s</option>", fsim_unit_names[u]);
    }
    fsim_html(h->out, "</select></label>\n<label>grouped by <select class=\"groups\">");
    if (h->layer)
        fsim_html(h->out, "<option value=\"layer\">layer</option>");
    if (h->g->derived == FSIM_REVERSE)
        fsim_html(h->out, "<option value=\"phase\">phase</option>");
    fsim_html(h->out, "<option value=\"\">nothing</option><option value=\"bound\">bound</option><option "
                      "value=\"kind\">kind</option></select></label>\n");
}

void fsim_html_kernels(const fsim_html_page *h)
{
    fsim_table t = fsim_text_kernels(h->text, FSIM_MARKDOWN_TABLE);
    double most_s = 0;
    for (int k = 0; k < h->plan->kernels; k++)
        most_s = fmax(most_s, h->plan->kernel[k].time_s);
    fsim_html(h->out, "<div class=\"tools\" hidden><label>find <input type=\"search\" class=\"find\" "
                      "placeholder=\"operator, kind, layer\"></label>\n");
    put_choices(h);
    fsim_html(h->out, "<output class=\"found\" aria-live=\"polite\"></output></div>\n<div class=\"scroll\" "
                      "tabindex=\"0\" role=\"region\" "
                      "aria-label=\"kernels\"><table class=\"kernels\"><thead><tr>");
    for (int i = 0; i < COLUMNS; i++)
        if (is_shown(h, &columns[i]))
            fsim_html(h->out,
                      columns[i].number ? "<th scope=\"col\" class=\"n sorts\">%s</th>"
                                        : "<th scope=\"col\" class=\"sorts\">%s</th>",
                      columns[i].title);
    fsim_html(h->out, "</tr></thead>\n<tbody>\n");
    for (int k = 0; k < h->plan->kernels; k++) {
        if (h->layer && (k == 0 || strcmp(h->layer[k], h->layer[k - 1]) != 0))
            put_layer(h, k);
        put_kernel_row(h, &t, k, most_s);
    }
    fsim_html(h->out, "</tbody></table></div>\n");
    const char *legends = fsim_table_legends(&t, h->a);
    fsim_html(h->out, "<p class=\"note\">%s</p>\n", legends);
    for (int i = 0; i < h->repeats.count; i++)
        fsim_html(h->out, "<p class=\"note\">%s</p>\n", fsim_text_repeat(h->text, &h->repeats.at[i]));
    fsim_html_paragraphs(h->out, h->text, fsim_text_recomputed, "note");
    fsim_html_paragraphs(h->out, h->text, fsim_text_folded, "note");
}

/* Operators of a kernel, whole ones as the workload has them. */
static void put_operators(const fsim_html_page *h, const fsim_kernel *k)
{
    static const fsim_column column[] = {
        {.title = "operator", .left = true}, {.title = "is", .left = true}, {.title = "layer", .left = true},
        {.title = "result", .left = true},   {.title = "primitives"},       {.title = "remark", .left = true}};
    fsim_table t = fsim_table_new(h->a, column, sizeof column / sizeof *column);
    const fsim_member *member = k->group->member;
    for (int m = 0; m < k->group->members;) {
        const int whole = fsim_whole_source(h->g, k->group, m), count = whole ? whole : 1;
        const fsim_node *n = &h->g->node[member[m].node], *last = &h->g->node[member[m + count - 1].node];
        const fsim_source *source = &h->g->source[n->source];
        const fsim_tensor *result = &h->g->tensor[last->result[0]];
        const char **cell = fsim_table_row(&t, FSIM_PLAIN);
        cell[0] = whole ? source->name : n->name;
        cell[1] = fsim_ops[whole ? source->op : n->op].name;
        cell[2] = source->layer;
        cell[3] = fsim_printf(h->a, "%s %s", fsim_dtype_names[result->dtype], fsim_tensor_shape_text(h->a, result));
        cell[4] = count > 1 ? fsim_printf(h->a, "%d", count) : NULL;
        cell[5] = member[m].clone ? "computed again" : member[m].form == FSIM_FOLDED ? "folded into the weights" : NULL;
        m += count;
    }
    fsim_html_table(h->out, &t, "operators");
}

/* The kernels that it reads from, and those that read what it writes. */
static void put_neighbours(const fsim_html_page *h, int k)
{
    const fsim_kernel *x = &h->plan->kernel[k];
    int shown = 0;
    fsim_html(h->out, "<ul class=\"plain\">\n");
    for (int i = 0; i < x->inputs; i++) {
        const int producer = h->g->tensor[x->input[i].tensor].producer;
        if (producer < 0 || h->home[producer] < 0 || h->home[producer] == k)
            continue;
        fsim_html(h->out, "<li>reads %s from ", h->g->tensor[x->input[i].tensor].name);
        fsim_html_kernel_link(h, h->home[producer]);
        fsim_html(h->out, "</li>\n");
    }
    for (int i = 0; i < x->outputs; i++)
        for (int other = k + 1; other < h->plan->kernels; other++)
            for (int n = 0; n < h->plan->kernel[other].inputs && shown < 20; n++)
                if (h->plan->kernel[other].input[n].tensor == x->output[i].tensor) {
                    fsim_html(h->out, "<li>writes %s for ", h->g->tensor[x->output[i].tensor].name);
                    fsim_html_kernel_link(h, other);
                    fsim_html(h->out, "</li>\n");
                    shown++;
                }
    fsim_html(h->out, "</ul>\n");
}

/* How the first kernel of the page's plan is launched. */
static void configuration(const fsim_text_page *r) { fsim_text_configuration(r, r->plan->kernel); }

static void put_configuration(const fsim_text_page *r, const fsim_kernel *k, FILE *out)
{
    fsim_plan one = {.kernels = 1, .kernel = (fsim_kernel *)k};
    fsim_text_page page = *r;
    page.plan = &one;
    fsim_html_paragraphs(out, &page, configuration, "c");
}

/* Figures that its time reads and nobody has measured. */
static const char *assumed_text(const fsim_html_page *h, int k)
{
    const char *list = "";
    for (int i = 0; i < FSIM_HW_COUNT; i++) {
        fsim_origin from;
        if (fsim_hw_was_read(h->p->hw, &h->p->basis.kernel[k], (fsim_hw_key)i, &from) && from == FSIM_FROM_ASSUMED)
            list = fsim_printf(h->a, "%s%s%s", list, *list ? ", " : "", fsim_hw_rows[i].key);
    }
    return list;
}

static void put_kernel(const fsim_html_page *h, int k)
{
    const fsim_kernel *x = &h->plan->kernel[k];
    const fsim_maker maker = fsim_maker_in(h->p, h->p->chosen);
    const fsim_interval likely = fsim_kernel_interval(h->g, h->p->hw, maker, x);
    const char *assumed = assumed_text(h, k);
    fsim_html(h->out, "<script type=\"text/html\" id=\"g%d-t%d\"><h2>%d: %s</h2>\n<p class=\"name\">%s</p>\n", h->gpu,
              k + 1, k + 1, fsim_template_names[x->template], fsim_kernel_label(h->g, x, h->a));
    fsim_html(h->out, "<p><b>%s</b> (%s to %s in 8 of 10 cases), %s of the plan. Bound by %s.%s%s</p>\n",
              fsim_seconds_text(h->a, x->time_s), fsim_seconds_text(h->a, likely.low),
              fsim_seconds_text(h->a, likely.high), fsim_percent_text(h->a, x->time_s / h->plan->time_s),
              fsim_unit_words[x->bound], h->layer && *h->layer[k] ? " In " : "", h->layer ? h->layer[k] : "");
    fsim_html(h->out, "<h3>Operators</h3>\n");
    put_operators(h, x);
    fsim_html(h->out, "<h3>Traffic</h3>\n");
    const fsim_table tensors = fsim_text_tensors(h->text, x), units = fsim_text_units(h->text, x);
    fsim_html_table(h->out, &tensors, "traffic");
    put_neighbours(h, k);
    fsim_html(h->out, "<h3>Limits</h3>\n");
    fsim_html_table(h->out, &units, "limits");
    put_configuration(h->text, x, h->out);
    fsim_html(h->out, "<p>Figures: %s.%s%s%s</p>\n",
              fsim_origin_names[fsim_kernel_origin(h->g, h->p->hw, maker, x, &h->p->basis.kernel[k])],
              *assumed ? " Assumed, not measured: " : "", assumed, *assumed ? "." : "");
    fsim_html_refusals_of(h, k);
    fsim_html(h->out, "</script>\n");
}

void fsim_html_details(const fsim_html_page *h)
{
    for (int k = 0; k < h->plan->kernels; k++) {
        const fsim_mark scratch = fsim_save(h->a);
        put_kernel(h, k);
        fsim_rewind(h->a, scratch);
    }
}
