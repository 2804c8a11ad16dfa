/* SPDX-License-Identifier: Apache-2.0 */
/* The graph: kernels as boxes around their operators. */
#include "report/html_parts.h"

#include "report/arrange.h"
#include <math.h>
#include <string.h>

/* Sizes in pixels; texts in boxes are of a font whose characters are all as wide. */
enum { LETTER = 7, LINE = 20, PAD = 10, TITLE = 34, MOST_UNITS = 40, LONGEST = 26, MARGIN = 16 };

/* What is drawn in a kernel: its operators, those in part by their primitives. */
typedef struct {
    fsim_arrangement inside;
    const char **text, **whole; /* of each: short, and in full */
    bool *again;                /* another kernel computes it, too */
    int left;                   /* operators that are not drawn: there are too many */
    const char *title;
    const char **far; /* what it reads from boxes too far away for a line */
    int fars, far_room;
} picture;

/* A tensor that goes from one box to another. */
typedef struct {
    int line; /* of the arrangement */
    int tensor;
    double bytes;
    int others; /* tensors that go the same way */
} flow;

typedef struct {
    const fsim_html_page *h;
    fsim_arrangement all; /* boxes: inputs, kernels, outputs */
    int *input, inputs;   /* tensors */
    int *output, outputs;
    picture *of; /* per kernel */
    flow *flow;
    int line_room, flow_room;
} drawing;

static void set_unit(const fsim_html_page *h, picture *pic, int unit, const char *name, const char *op)
{
    const char *text = fsim_text_within(h->a, name, LONGEST);
    pic->whole[unit] = strcmp(name, op) == 0 ? name : fsim_printf(h->a, "%s: %s", name, op);
    pic->text[unit] = text;
    pic->inside.box[unit].width = LETTER * fsim_text_width(text) + 12;
    pic->inside.box[unit].height = LINE;
}

/* The units of a kernel: member m belongs to unit[m]. */
static void find_units(const fsim_html_page *h, picture *pic, const fsim_kernel *k, int *unit)
{
    const fsim_group *group = k->group;
    int units = 0;
    for (int m = 0; m < group->members; units++) {
        const int whole = fsim_whole_source(h->g, group, m), count = whole ? whole : 1;
        const fsim_node *n = &h->g->node[group->member[m].node];
        const fsim_source *source = &h->g->source[n->source];
        for (int i = 0; i < count; i++)
            unit[m + i] = units < MOST_UNITS ? units : -1;
        if (units < MOST_UNITS) {
            pic->again[units] = group->member[m].clone;
            set_unit(h, pic, units, whole ? source->name : n->name, fsim_ops[whole ? source->op : n->op].name);
        }
        m += count;
    }
    pic->left = units > MOST_UNITS ? units - MOST_UNITS : 0;
    pic->inside.boxes = units - pic->left;
}

/* Lines between units: a member reads what another makes. */
static void tie_units(const fsim_html_page *h, picture *pic, const fsim_kernel *k, const int *unit)
{
    const fsim_group *group = k->group;
    int room = 0;
    for (int m = 0; m < group->members; m++) {
        const fsim_node *n = &h->g->node[group->member[m].node];
        for (int i = 0; i < n->args; i++) {
            const int producer = h->g->tensor[n->arg[i].tensor].producer,
                      from = producer < 0 ? -1 : fsim_member_of(group, producer);
            bool seen = from < 0 || unit[from] < 0 || unit[m] < 0 || unit[from] >= unit[m];
            for (int l = 0; l < pic->inside.lines && !seen; l++)
                seen = pic->inside.line[l].from == unit[from] && pic->inside.line[l].to == unit[m];
            if (!seen)
                *FSIM_PUSH(h->a, pic->inside.line, pic->inside.lines, room) =
                    (fsim_line){.from = unit[from], .to = unit[m]};
        }
    }
}

static void draw_kernel(drawing *d, int k)
{
    const fsim_html_page *h = d->h;
    const fsim_kernel *x = &h->plan->kernel[k];
    const int room = x->group->members < MOST_UNITS ? x->group->members : MOST_UNITS;
    picture *pic = &d->of[k];
    fsim_box *box = &d->all.box[d->inputs + k];
    int *unit = fsim_new(h->a, int, x->group->members + 1);
    pic->text = fsim_new(h->a, const char *, room + 1);
    pic->whole = fsim_new(h->a, const char *, room + 1);
    pic->again = fsim_new(h->a, bool, room + 1);
    pic->inside = (fsim_arrangement){.box = fsim_new(h->a, fsim_box, room + 1),
                                     .gap_x = 8,
                                     .gap_y = 12,
                                     .most_in_row = 4,
                                     .most_passed = MOST_UNITS};
    find_units(h, pic, x, unit);
    tie_units(h, pic, x, unit);
    fsim_arrange(&pic->inside, h->a);
    pic->title = fsim_printf(h->a, "%d %s", k + 1, fsim_template_brief[x->template]);
    const double title = LETTER * (fsim_text_width(pic->title) + 12);
    box->width = fmax(pic->inside.width, title) + 2 * PAD;
    box->height = TITLE + pic->inside.height + (pic->left ? LINE : 0) + PAD;
}

static void add_flow(drawing *d, int from, int to, int tensor, double bytes)
{
    for (int i = d->all.lines - 1; i >= 0 && d->all.line[i].to == to; i--)
        if (d->all.line[i].from == from) {
            d->flow[i].bytes += bytes;
            d->flow[i].others++;
            return;
        }
    int flows = d->all.lines;
    *FSIM_PUSH(d->h->a, d->flow, flows, d->flow_room) = (flow){d->all.lines, tensor, bytes, 0};
    *FSIM_PUSH(d->h->a, d->all.line, d->all.lines, d->line_room) = (fsim_line){.from = from, .to = to};
}

/* Inputs and outputs of the workload have boxes of their own; weights have none. */
static void find_ends(drawing *d)
{
    const fsim_html_page *h = d->h;
    const fsim_graph *g = h->g;
    d->input = fsim_new(h->a, int, g->tensors + 1);
    d->output = fsim_new(h->a, int, g->tensors + 1);
    for (int t = 0; t < g->tensors; t++) {
        if (g->tensor[t].storage != t)
            continue;
        if (g->tensor[t].role == FSIM_INPUT && g->tensor[t].readers > 0)
            d->input[d->inputs++] = t;
        if (g->tensor[t].output && g->tensor[t].producer >= 0 && h->home[g->tensor[t].producer] >= 0)
            d->output[d->outputs++] = t;
    }
}

static void set_end(drawing *d, int box, int tensor)
{
    const char *text = fsim_text_within(d->h->a, d->h->g->tensor[tensor].name, LONGEST);
    d->all.box[box].width = LETTER * fsim_text_width(text) + 2 * PAD + 8;
    d->all.box[box].height = LINE + 4;
}

static void find_flows(drawing *d)
{
    const fsim_html_page *h = d->h;
    int *box = fsim_new(h->a, int, h->g->tensors + 1); /* of an input, plus one */
    for (int i = 0; i < d->inputs; i++)
        box[d->input[i]] = i + 1;
    for (int k = 0; k < h->plan->kernels; k++) {
        const fsim_kernel *x = &h->plan->kernel[k];
        for (int i = 0; i < x->inputs; i++) {
            const int t = x->input[i].tensor, producer = h->g->tensor[t].producer,
                      from = producer >= 0 ? h->home[producer] : -1;
            if (from >= 0 && from < k)
                add_flow(d, d->inputs + from, d->inputs + k, t, (double)x->input[i].bytes);
            else if (box[t] > 0)
                add_flow(d, box[t] - 1, d->inputs + k, t, (double)x->input[i].bytes);
        }
    }
    for (int i = 0; i < d->outputs; i++) {
        const fsim_tensor *t = &h->g->tensor[d->output[i]];
        add_flow(d, d->inputs + h->home[t->producer], d->inputs + h->plan->kernels + i, d->output[i], (double)t->bytes);
    }
}

/* The kernel whose box this is; -1: an input's or an output's. */
static int kernel_of(const drawing *d, int box)
{
    const int k = box - d->inputs;
    return k >= 0 && k < d->h->plan->kernels ? k : -1;
}

/* Why the two kernels are not one, where the plan's refusals say. */
static const char *why_apart(const drawing *d, int from, int to)
{
    const fsim_html_page *h = d->h;
    for (int i = 0; i < h->p->refusals && from >= 0 && to >= 0; i++) {
        const fsim_told_refusal one = {&h->p->refusal[i], 0, true};
        const int a = h->home[one.of->a], b = one.of->b >= 0 ? h->home[one.of->b] : -1;
        if ((a == from && b == to) || (a == to && b == from))
            return fsim_printf(h->a, "; not fused (rule %s): %s", fsim_rule_names[one.of->why.rule],
                               fsim_text_saving(h->text, &one));
    }
    return "";
}

/* A line through its places: straight within a row, curved from row to row. */
static void put_path(FILE *out, const fsim_line *l, double x, double y)
{
    fsim_html(out, "M%.1f %.1f", l->at[0].x + x, l->at[0].y + y);
    for (int i = 1; i + 1 < l->places; i += 2) {
        const fsim_place *p = &l->at[i], *q = &l->at[i + 1];
        const double middle = (p->y + q->y) / 2 + y;
        fsim_html(out, "V%.1fC%.1f %.1f %.1f %.1f %.1f %.1f", p->y + y, p->x + x, middle, q->x + x, middle, q->x + x,
                  q->y + y);
    }
}

static void put_flows(drawing *d)
{
    const fsim_html_page *h = d->h;
    int *ends = fsim_new(h->a, int, d->all.boxes + 1); /* lines that end at a box */
    for (int i = 0; i < d->all.lines; i++)
        ends[d->all.line[i].to] += !d->all.line[i].far;
    for (int i = 0; i < d->all.lines; i++) {
        const fsim_line *l = &d->all.line[i];
        const flow *f = &d->flow[i];
        const int from = kernel_of(d, l->from), to = kernel_of(d, l->to);
        const char *name = fsim_text_within(h->a, h->g->tensor[f->tensor].name, LONGEST),
                   *bytes = fsim_bytes_text(h->a, f->bytes);
        if (l->far) {
            if (to >= 0)
                *FSIM_PUSH(h->a, d->of[to].far, d->of[to].fars, d->of[to].far_room) =
                    from >= 0 ? fsim_printf(h->a, "%s of kernel %d", name, from + 1) : name;
            continue;
        }
        const double width = fmin(5, fmax(1, 1 + log2(fmax(1, f->bytes) / 65536) / 4));
        fsim_html(h->out, "<path class=\"flow\" stroke-width=\"%.1f\" data-from=\"%d\" data-to=\"%d\" d=\"", width,
                  from + 1, to + 1);
        put_path(h->out, l, MARGIN, MARGIN);
        fsim_html(h->out, "\"><title>%s%s, %s%s</title></path>\n", h->g->tensor[f->tensor].name,
                  f->others ? fsim_printf(h->a, " and %d more", f->others) : "", bytes, why_apart(d, from, to));
        const fsim_place *end = &l->at[l->places - 1];
        fsim_html(h->out, "<path class=\"tip\" d=\"M%.1f %.1fl-4 -7h8z\"/>", end->x + MARGIN, end->y + MARGIN);
        const fsim_box *to_box = &d->all.box[l->to];
        const bool leftmost =
            end->x<to_box->x + 1.5 * to_box->width / (ends[l->to] + 1), rightmost = end->x> to_box->x + to_box->width -
            1.5 * to_box->width / (ends[l->to] + 1);
        if (leftmost || rightmost) /* the others have no room for a number */
            fsim_html(h->out, "<text class=\"bytes%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", rightmost ? "" : " end",
                      end->x + MARGIN + (rightmost ? 6 : -6), end->y + MARGIN - 5, bytes);
    }
}

static void put_kernel(drawing *d, int k, double most_s)
{
    const fsim_html_page *h = d->h;
    const fsim_kernel *x = &h->plan->kernel[k];
    const fsim_box *b = &d->all.box[d->inputs + k];
    const picture *pic = &d->of[k];
    const double left = b->x + MARGIN, top = b->y + MARGIN, from_x = left + (b->width - pic->inside.width) / 2,
                 from_y = top + TITLE;
    const char *time = fsim_seconds_text(h->a, x->time_s);
    fsim_html(h->out,
              "<g class=\"k u-%s\" data-k=\"%d\" role=\"button\" tabindex=\"-1\" aria-label=\"kernel %d, %s, %s, bound "
              "by %s: %s\">",
              fsim_unit_names[x->bound], k + 1, k + 1, fsim_template_names[x->template], time,
              fsim_unit_words[x->bound], fsim_text_within(h->a, fsim_kernel_label(h->g, x, h->a), 120));
    fsim_html(h->out, "<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\"/>", left, top,
              b->width, b->height);
    fsim_html(h->out, "<rect class=\"heat\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"4\"/>", left + PAD, top + 24,
              most_s > 0 ? (b->width - 2 * PAD) * x->time_s / most_s : 0);
    fsim_html(
        h->out,
        "<text class=\"title\" x=\"%.1f\" y=\"%.1f\">%s</text><text class=\"time\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
        left + PAD, top + 17, pic->title, left + b->width - PAD, top + 17, time);
    for (int i = 0; i < pic->inside.lines; i++)
        if (!pic->inside.line[i].far) {
            fsim_html(h->out, "<path class=\"in\" d=\"");
            put_path(h->out, &pic->inside.line[i], from_x, from_y);
            fsim_html(h->out, "\"/>");
        }
    for (int i = 0; i < pic->inside.boxes; i++) {
        const fsim_box *u = &pic->inside.box[i];
        fsim_html(h->out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\"/>",
                  pic->again[i] ? "op again" : "op", from_x + u->x, from_y + u->y, u->width, u->height);
        fsim_html(h->out, "<text class=\"op\" x=\"%.1f\" y=\"%.1f\">%s<title>%s</title></text>\n",
                  from_x + u->x + u->width / 2, from_y + u->y + 14, pic->text[i], pic->whole[i]);
    }
    if (pic->left)
        fsim_html(h->out, "<text class=\"op\" x=\"%.1f\" y=\"%.1f\">and %d more</text>", left + b->width / 2,
                  top + b->height - PAD - 4, pic->left);
    if (pic->fars)
        fsim_html(h->out, "<text class=\"far\" x=\"%.1f\" y=\"%.1f\">+ %s%s</text>", left + b->width + 4, top + 12,
                  pic->far[0], pic->fars > 1 ? fsim_printf(h->a, " and %d more", pic->fars - 1) : "");
    fsim_html(h->out, "</g>\n");
}

static void put_end(const drawing *d, int box, int tensor, const char *class_name)
{
    const fsim_box *b = &d->all.box[box];
    const fsim_tensor *t = &d->h->g->tensor[tensor];
    fsim_html(d->h->out, "<g class=\"%s\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"12\"/>",
              class_name, b->x + MARGIN, b->y + MARGIN, b->width, b->height);
    fsim_html(d->h->out, "<text class=\"op\" x=\"%.1f\" y=\"%.1f\">%s<title>%s %s %s</title></text></g>\n",
              b->x + b->width / 2 + MARGIN, b->y + 16 + MARGIN, fsim_text_within(d->h->a, t->name, LONGEST), t->name,
              fsim_dtype_names[t->dtype], fsim_tensor_shape_text(d->h->a, t));
}

void fsim_html_graph(const fsim_html_page *h)
{
    drawing d = {.h = h, .all = {.gap_x = 40, .gap_y = 42, .most_in_row = 8, .most_passed = 8}};
    double most_s = 0;
    find_ends(&d);
    d.all.boxes = d.inputs + h->plan->kernels + d.outputs;
    d.all.box = fsim_new(h->a, fsim_box, d.all.boxes + 1);
    d.of = fsim_new(h->a, picture, h->plan->kernels + 1);
    for (int i = 0; i < d.inputs; i++)
        set_end(&d, i, d.input[i]);
    for (int i = 0; i < d.outputs; i++)
        set_end(&d, d.inputs + h->plan->kernels + i, d.output[i]);
    for (int k = 0; k < h->plan->kernels; k++) {
        draw_kernel(&d, k);
        most_s = fmax(most_s, h->plan->kernel[k].time_s);
    }
    find_flows(&d);
    fsim_arrange(&d.all, h->a);
    const int width = (int)d.all.width + 2 * MARGIN + 40, height = (int)d.all.height + 2 * MARGIN;
    fsim_html(h->out,
              "<div class=\"tools\" hidden><button type=\"button\" class=\"zoom\" data-zoom=\"in\" aria-label=\"zoom "
              "in\">+</button>"
              "<button type=\"button\" class=\"zoom\" data-zoom=\"out\" aria-label=\"zoom out\">\u2212</button><button "
              "type=\"button\" class=\"zoom\" "
              "data-zoom=\"one\">100%%</button><button type=\"button\" class=\"zoom\" "
              "data-zoom=\"fit\">fit</button><output class=\"scale\"></output></div>\n"
              "<div class=\"graph\" tabindex=\"0\" role=\"region\" aria-label=\"graph of kernels; arrow keys go from "
              "kernel to kernel\"><svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" data-w=\"%d\">\n",
              width, height, width, height, width);
    put_flows(&d);
    for (int i = 0; i < d.inputs; i++)
        put_end(&d, i, d.input[i], "input");
    for (int i = 0; i < d.outputs; i++)
        put_end(&d, d.inputs + h->plan->kernels + i, d.output[i], "output");
    for (int k = 0; k < h->plan->kernels; k++)
        put_kernel(&d, k, most_s);
    fsim_html(h->out, "</svg></div>\n");
}
