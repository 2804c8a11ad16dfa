/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/equal.h"
#include "plan/price/phases.h"
#include "report/layer.h"
#include "report/repeats.h"
#include "report/report.h"

/* "text", with what Graphviz would take for its own escaped; a line feed begins a line. */
static void put_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        if (*text == '\n')
            fputs("\\n", out);
        else
            fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
    fputc('"', out);
}

typedef struct {
    FILE *out;
    const fsim_graph *g;
    const fsim_plan *plan;
    fsim_arena *a;
    int *home;    /* per primitive: the kernel that stores what it makes */
    int *readers; /* per tensor that no kernel makes: operators that are drawn and read it */
    bool *drawn;  /* per such tensor and phase: it has its place */
    int *twin;    /* per kernel: the one that stands for it: itself, or that of the first of equal turns */
    int *times;   /* per kernel: how many it stands for; 0: it is not drawn */
    fsim_repeats repeats;
} drawing;

static const char *tensor_label(const drawing *d, const fsim_tensor *t)
{
    return fsim_printf(d->a, "%s %s", t->name, fsim_bytes_text(d->a, (double)t->bytes));
}

static fsim_phase phase_of(const drawing *d, int k) { return fsim_phase_of(d->g, &d->plan->partition.part[k]); }

/* The place of a primitive in a group; -1: it is not there. */
static int member_of(const fsim_group *group, int node)
{
    for (int m = 0; m < group->members; m++)
        if (group->member[m].node == node)
            return m;
    return -1;
}

/* The first member of the operator that the kernel has as a whole and member m is a part of; m where it is alone. */
static int head_of(const drawing *d, const fsim_group *group, int m)
{
    const int first = member_of(group, d->g->source[d->g->node[group->member[m].node].source].first);
    return first >= 0 && m < first + fsim_whole_source(d->g, group, first) ? first : m;
}

/* The name of what primitive n of kernel k is drawn as: in the first of equal turns. */
static const char *place_of(const drawing *d, int k, int n)
{
    const int m = member_of(d->plan->kernel[k].group, n);
    const fsim_group *group = d->plan->kernel[d->twin[k]].group;
    return fsim_printf(d->a, "k%d_n%d", d->twin[k] + 1,
                       group->member[head_of(d, group, m < group->members ? m : group->members - 1)].node);
}

/* Member m of kernel k: with its whole operator, or as a primitive. */
static void put_member(const drawing *d, int k, int m)
{
    const fsim_group *group = d->plan->kernel[k].group;
    const fsim_node *node = &d->g->node[group->member[m].node];
    if (head_of(d, group, m) != m)
        return;
    fprintf(d->out, "    k%d_n%d [label=", k + 1, group->member[m].node);
    put_quoted(d->out, fsim_whole_source(d->g, group, m) ? d->g->source[node->source].name : node->name);
    fputs(group->member[m].clone ? ", style=dashed, tooltip=\"recomputed\"];\n" : "];\n", d->out);
}

/* Does the operator of member m read its argument before that, too? Once is enough. */
static bool is_again(const drawing *d, int k, int m, int arg)
{
    const fsim_group *group = d->plan->kernel[k].group;
    const int tensor = d->g->node[group->member[m].node].arg[arg].tensor;
    for (int i = head_of(d, group, m); i <= m; i++) {
        const fsim_node *node = &d->g->node[group->member[i].node];
        for (int b = 0; b < (i < m ? node->args : arg); b++)
            if (node->arg[b].tensor == tensor)
                return true;
    }
    return false;
}

/* Where an operator finds what it reads: in its own kernel; in that of another of its phase; among the tensors that
 * a phase before it left in memory; among the workload's inputs and weights. */
typedef enum { OWN, KERNEL, KEPT, GIVEN, SOURCES } source;

static source source_of(const drawing *d, int k, int tensor)
{
    const int producer = d->g->tensor[tensor].producer;
    return producer < 0                                         ? GIVEN
           : member_of(d->plan->kernel[k].group, producer) >= 0 ? OWN
           : phase_of(d, d->home[producer]) != phase_of(d, k)   ? KEPT
                                                                : KERNEL;
}

static void put_edge(const drawing *d, const char *from, const char *to, const char *label, const char *style)
{
    fprintf(d->out, "  %s -> %s [%slabel=", from, to, style);
    put_quoted(d->out, label);
    fputs("];\n", d->out);
}

/* A workload's tensor that several operators read: once in each phase, lest lines cross the picture. */
static void put_shared(const drawing *d, int k, int tensor, const char *to)
{
    const int phase = phase_of(d, k), at = tensor * FSIM_PHASES + phase;
    const char *name = fsim_printf(d->a, phase ? "t%d_%d" : "t%d", tensor, phase);
    if (!d->drawn[at]) {
        d->drawn[at] = true;
        fprintf(d->out, "  %s [shape=%s, label=", name, d->g->tensor[tensor].role == FSIM_WEIGHT ? "box" : "ellipse");
        put_quoted(d->out, tensor_label(d, &d->g->tensor[tensor]));
        fputs("];\n", d->out);
    }
    put_edge(d, name, to, "", "");
}

/* What argument b of member m of kernel k is from the second of equal turns on, where a kernel of the turn before makes
 * it; NULL. */
static const char *turn_label(const drawing *d, int k, int m, int b)
{
    for (int i = 0; i < d->repeats.count; i++) {
        const fsim_repeat *r = &d->repeats.at[i];
        if (k < r->first || k >= r->first + r->kernels)
            continue;
        const fsim_node *node = &d->g->node[d->plan->kernel[k + r->kernels].group->member[m].node];
        const fsim_tensor *t = &d->g->tensor[node->arg[b].tensor];
        const int from = t->producer < 0 ? -1 : d->home[t->producer];
        return from >= r->first && from < r->first + r->kernels
                   ? fsim_printf(d->a, "from turn 2 on: %s of %d", tensor_label(d, t), from + 1)
                   : NULL;
    }
    return NULL;
}

/* text with a line more. */
static const char *with_line(const drawing *d, const char *text, const char *line)
{
    return text ? fsim_printf(d->a, "%s\n%s", text, line) : line;
}

/* What the operator whose first member is m reads from memory and no other reads, or what a phase or an equal turn
 * before it left there: one box for all of it. */
static void put_own(const drawing *d, int k, int m)
{
    const fsim_group *group = d->plan->kernel[k].group;
    const char *line[SOURCES] = {0}, *to = place_of(d, k, group->member[m].node);
    for (int i = m; i < group->members && head_of(d, group, i) == m; i++)
        for (int b = 0; b < d->g->node[group->member[i].node].args; b++) {
            const int tensor = d->g->node[group->member[i].node].arg[b].tensor;
            const source from = source_of(d, k, tensor);
            if (is_again(d, k, i, b))
                continue;
            const char *label = tensor_label(d, &d->g->tensor[tensor]), *turn = turn_label(d, k, i, b);
            if (from == KEPT)
                line[KEPT] = with_line(
                    d, line[KEPT],
                    fsim_printf(d->a, "%s of %d", label, d->twin[d->home[d->g->tensor[tensor].producer]] + 1));
            if (from == GIVEN && d->readers[tensor] == 1)
                line[GIVEN] = with_line(d, line[GIVEN], label);
            if (turn)
                line[KEPT] = with_line(d, line[KEPT], turn);
        }
    for (int from = KEPT; from <= GIVEN; from++) {
        if (!line[from])
            continue;
        const char *box = fsim_printf(d->a, "%s_%s", to, from == KEPT ? "kept" : "own");
        fprintf(d->out, "  %s [%slabel=", box, from == KEPT ? "shape=note, style=dashed, fontsize=11, " : "");
        put_quoted(d->out, line[from]);
        fputs("];\n", d->out);
        put_edge(d, box, to, "", from == KEPT ? "style=dashed, " : "");
    }
}

/* What member m of kernel k reads: from its kernel, from another through memory, or from the graph's inputs. */
static void put_reads(const drawing *d, int k, int m)
{
    const fsim_group *group = d->plan->kernel[k].group;
    const fsim_node *node = &d->g->node[group->member[m].node];
    const char *to = place_of(d, k, group->member[m].node);
    for (int i = 0; i < node->args; i++) {
        const int tensor = node->arg[i].tensor;
        const fsim_tensor *t = &d->g->tensor[tensor];
        if (is_again(d, k, m, i))
            continue;
        const source from = source_of(d, k, tensor);
        if (from == GIVEN && d->readers[tensor] > 1)
            put_shared(d, k, tensor, to);
        else if (from == OWN && head_of(d, group, member_of(group, t->producer)) != head_of(d, group, m))
            put_edge(d, place_of(d, k, t->producer), to, "", "style=dotted, "); /* never leaves the chip */
        else if (from == KERNEL)
            put_edge(d, place_of(d, d->home[t->producer], t->producer), to, tensor_label(d, t), "");
    }
    if (head_of(d, group, m) == m)
        put_own(d, k, m);
}

/* Boxes of kernels by phase; what has no gradients is forward. */
static const struct {
    const char *line, *fill;
} colors[FSIM_PHASES] = {{"#9cc3de", "#eef5fa"}, {"#e0b48a", "#fbf3ea"}, {"#a9cfa0", "#f0f7ee"}};

/* A kernel: what is said of it stands in a box of its own, so that no line runs through the words. */
static void put_cluster(const drawing *d, int k)
{
    const fsim_kernel *x = &d->plan->kernel[k];
    const fsim_phase in = phase_of(d, k);
    const char *layer = fsim_kernel_layer(d->g, x, d->a),
               *phase = fsim_phase_name_of(d->g, &d->plan->partition.part[k]);
    fprintf(d->out,
            "  subgraph cluster_%d {\n    style=\"rounded,filled\"; color=\"%s\"; fillcolor=\"%s\"; label=\"\";\n"
            "    k%d [shape=plain, style=\"\", fontsize=11, label=",
            k + 1, colors[in].line, colors[in].fill, k + 1);
    put_quoted(d->out,
               fsim_printf(d->a, "%d: %s%s%s\n%s (%s)%s%s%s", k + 1, phase ? phase : "", phase ? ", " : "",
                           fsim_template_names[x->template], fsim_seconds_text(d->a, x->time_s),
                           fsim_unit_names[x->bound], d->times[k] > 1 ? fsim_printf(d->a, " x %d", d->times[k]) : "",
                           layer ? "\nin " : "", layer ? layer : ""));
    fputs("];\n", d->out);
    for (int m = 0; m < x->group->members; m++)
        put_member(d, k, m);
    fputs("  }\n", d->out);
}

/* The outputs of the workload that member m of kernel k, its operator's first, makes, a line each; NULL. */
static const char *results_of(const drawing *d, int k, int m)
{
    const fsim_kernel *x = &d->plan->kernel[k];
    const char *text = NULL;
    for (int i = 0; i < x->outputs; i++) {
        const fsim_tensor *t = &d->g->tensor[x->output[i].tensor];
        if (t->output && head_of(d, x->group, member_of(x->group, t->producer)) == m)
            text = with_line(d, text, tensor_label(d, t));
    }
    return text;
}

/* What kernel k writes for the user: one box for each operator. Of equal kernels the first one's, if it has any. */
static void put_results(const drawing *d, int k)
{
    const fsim_group *group = d->plan->kernel[k].group;
    for (int m = 0; m < group->members; m++) {
        const char *text = results_of(d, k, m);
        if (!text || (d->twin[k] != k && results_of(d, d->twin[k], m)))
            continue;
        fprintf(d->out, "  r%d_n%d [shape=ellipse, label=", k + 1, group->member[m].node);
        put_quoted(d->out, d->times[k] > 1 ? fsim_printf(d->a, "%s x %d", text, d->times[k]) : text);
        fputs("];\n", d->out);
        put_edge(d, place_of(d, k, group->member[m].node), fsim_printf(d->a, "r%d_n%d", k + 1, group->member[m].node),
                 "", "");
    }
}

/* A last turn that ends early is drawn as the first, as far as its kernels are equal. */
static void fold_rest(drawing *d, const fsim_repeat *r, const int *class)
{
    const int rest = r->first + r->kernels * r->times;
    for (int k = 0; k < r->kernels && rest + k < d->plan->kernels; k++) {
        if (d->times[rest + k] != 1 || class[rest + k] != class[r->first + k])
            return;
        d->twin[rest + k] = r->first + k;
        d->times[rest + k] = 0;
        d->times[r->first + k]++;
    }
}

/* Notes where each primitive is at home, which kernels stand for others, and how many operators read each tensor. */
static void find_places(drawing *d, const int *class)
{
    const fsim_repeats *repeats = &d->repeats;
    for (int k = 0; k < d->plan->kernels; k++) {
        const fsim_group *group = d->plan->kernel[k].group;
        d->twin[k] = k;
        for (int m = 0; m < group->members; m++)
            if (!group->member[m].clone)
                d->home[group->member[m].node] = k;
    }
    for (int i = 0; i < repeats->count; i++)
        for (int k = 0; k < repeats->at[i].kernels * repeats->at[i].times; k++)
            d->twin[repeats->at[i].first + k] = repeats->at[i].first + k % repeats->at[i].kernels;
    for (int i = 0; i < repeats->count; i++)
        fold_rest(d, &repeats->at[i], class);
    for (int k = 0; k < d->plan->kernels; k++)
        for (int m = 0; m < d->plan->kernel[k].group->members && d->times[k] > 0; m++) {
            const fsim_node *node = &d->g->node[d->plan->kernel[k].group->member[m].node];
            for (int i = 0; i < node->args; i++)
                d->readers[node->arg[i].tensor] += !is_again(d, k, m, i);
        }
}

void fsim_report_dot(FILE *out, const fsim_prediction *p)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = p->graph;
    const fsim_plan *plan = &p->plan[p->chosen];
    const fsim_repeats repeats = fsim_repeats_of(p, p->chosen, a);
    drawing d = {out,
                 g,
                 plan,
                 a,
                 fsim_new(a, int, g->nodes + 1),
                 fsim_new(a, int, g->tensors + 1),
                 fsim_new(a, bool, g->tensors *FSIM_PHASES + 1),
                 fsim_new(a, int, plan->kernels + 1),
                 repeats.times,
                 repeats};
    find_places(&d, fsim_kernel_classes(g, plan, p->basis.kernel, a));
    fputs("digraph plan {\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge "
          "[fontname=\"sans-serif\", fontsize=10];\n"
          "  graph [fontname=\"sans-serif\", labelloc=t, labeljust=l, label=",
          out);
    put_quoted(out, fsim_printf(a, "%s on %s: %s, %s", g->name, p->hw->name, fsim_strategy_names[p->chosen],
                                fsim_seconds_text(a, plan->time_s)));
    fputs("];\n", out);
    for (int k = 0; k < plan->kernels; k++)
        if (d.times[k] > 0)
            put_cluster(&d, k);
    for (int k = 0; k < plan->kernels; k++)
        for (int m = 0; m < plan->kernel[k].group->members && d.times[k] > 0; m++)
            put_reads(&d, k, m);
    for (int k = 0; k < plan->kernels; k++)
        put_results(&d, k);
    fputs("}\n", out);
    fsim_arena_free(a);
}
