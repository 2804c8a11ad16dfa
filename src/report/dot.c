/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/phases.h"
#include "report/layer.h"
#include "report/repeats.h"
#include "report/report.h"

/* "text", with what Graphviz would take for its own escaped. */
static void put_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
    }
    fputc('"', out);
}

static void put_edge(FILE *out, const char *from, const char *to, const char *label, bool through_memory)
{
    fprintf(out, "  %s -> %s [label=", from, to);
    put_quoted(out, label);
    fputs(through_memory ? "];\n" : ", style=dotted];\n", out); /* dotted: never leaves the chip */
}

typedef struct {
    FILE *out;
    const fsim_graph *g;
    const fsim_plan *plan;
    fsim_arena *a;
    int *home;   /* per primitive: the kernel that stores what it makes */
    bool *drawn; /* per tensor: an input that has its place */
    int *twin;   /* per kernel: the one that stands for it: itself, or that of the first of equal turns */
    const int *times;
} drawing;

static const char *tensor_label(const drawing *d, const fsim_tensor *t)
{
    return fsim_printf(d->a, "%s %s", t->name, fsim_bytes_text(d->a, (double)t->bytes));
}

static void put_tensor(drawing *d, int t, const char *shape)
{
    if (d->drawn[t])
        return;
    d->drawn[t] = true;
    fprintf(d->out, "  t%d [shape=%s, label=", t, shape);
    put_quoted(d->out, tensor_label(d, &d->g->tensor[t]));
    fputs("];\n", d->out);
}

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

/* Does the operator of member m read its argument before that, too? One edge is enough. */
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

/* What member m of kernel k reads: from its kernel, from another through memory, or from the graph's inputs. */
static void put_reads(drawing *d, int k, int m)
{
    const fsim_group *group = d->plan->kernel[k].group;
    const fsim_node *node = &d->g->node[group->member[m].node];
    const char *to = place_of(d, k, group->member[m].node);
    for (int i = 0; i < node->args; i++) {
        const int tensor = node->arg[i].tensor;
        const fsim_tensor *t = &d->g->tensor[tensor];
        if (is_again(d, k, m, i))
            continue;
        const int here = t->producer < 0 ? -1 : member_of(group, t->producer);
        if (t->producer < 0) {
            put_tensor(d, tensor, t->role == FSIM_WEIGHT ? "box" : "ellipse");
            put_edge(d->out, fsim_printf(d->a, "t%d", tensor), to, "", true);
        } else if (here >= 0 && head_of(d, group, here) != head_of(d, group, m)) {
            put_edge(d->out, place_of(d, k, t->producer), to, "", false);
        } else if (here < 0) {
            put_edge(d->out, place_of(d, d->home[t->producer], t->producer), to, tensor_label(d, t), true);
        }
    }
}

/* What member m of kernel k in the second of equal turns reads of the first: an edge back. */
static void put_turn(const drawing *d, int k, int m, const fsim_repeat *r)
{
    const fsim_node *node = &d->g->node[d->plan->kernel[k].group->member[m].node];
    for (int i = 0; i < node->args; i++) {
        const fsim_tensor *t = &d->g->tensor[node->arg[i].tensor];
        const int from = t->producer < 0 ? -1 : d->home[t->producer];
        if (from < r->first || from >= r->first + r->kernels || is_again(d, k, m, i))
            continue;
        fprintf(d->out, "  %s -> %s [style=dashed, constraint=false, label=", place_of(d, from, t->producer),
                place_of(d, k, d->plan->kernel[k].group->member[m].node));
        put_quoted(d->out, fsim_printf(d->a, "%s, next of %d", fsim_bytes_text(d->a, (double)t->bytes), r->times));
        fputs("];\n", d->out);
    }
}

static void put_turns(const drawing *d, const fsim_repeats *repeats)
{
    for (int i = 0; i < repeats->count; i++)
        for (int k = 0; k < repeats->at[i].kernels; k++) {
            const int second = repeats->at[i].first + repeats->at[i].kernels + k;
            for (int m = 0; m < d->plan->kernel[second].group->members; m++)
                put_turn(d, second, m, &repeats->at[i]);
        }
}

/* Boxes of kernels by phase; what has no gradients is forward. */
static const struct {
    const char *line, *fill;
} colors[FSIM_PHASES] = {{"#9cc3de", "#eef5fa"}, {"#e0b48a", "#fbf3ea"}, {"#a9cfa0", "#f0f7ee"}};

static void put_cluster(drawing *d, int k)
{
    const fsim_kernel *x = &d->plan->kernel[k];
    const fsim_phase in = fsim_phase_of(d->g, &d->plan->partition.part[k]);
    const char *layer = fsim_kernel_layer(d->g, x, d->a),
               *phase = fsim_phase_name_of(d->g, &d->plan->partition.part[k]);
    fprintf(d->out,
            "  subgraph cluster_%d {\n    style=\"rounded,filled\"; color=\"%s\"; fillcolor=\"%s\"; label=", k + 1,
            colors[in].line, colors[in].fill);
    put_quoted(d->out,
               fsim_printf(d->a, "%d: %s%s%s, %s (%s)%s%s%s", k + 1, phase ? phase : "", phase ? ", " : "",
                           fsim_template_names[x->template], fsim_seconds_text(d->a, x->time_s),
                           fsim_unit_names[x->bound], d->times[k] > 1 ? fsim_printf(d->a, " x %d", d->times[k]) : "",
                           layer ? " in " : "", layer ? layer : ""));
    fputs(";\n", d->out);
    for (int m = 0; m < x->group->members; m++)
        put_member(d, k, m);
    fputs("  }\n", d->out);
}

/* Notes where each primitive is at home, and which kernels stand for others. */
static void find_places(drawing *d, const fsim_repeats *repeats)
{
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
                 fsim_new(a, bool, g->tensors + 1),
                 fsim_new(a, int, plan->kernels + 1),
                 repeats.times};
    find_places(&d, &repeats);
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
    put_turns(&d, &repeats);
    for (int k = 0; k < plan->kernels; k++)
        for (int i = 0; i < plan->kernel[k].outputs; i++) {
            const int t = plan->kernel[k].output[i].tensor;
            if (!g->tensor[t].output)
                continue;
            put_tensor(&d, t, "ellipse");
            put_edge(out, place_of(&d, k, g->tensor[t].producer), fsim_printf(a, "t%d", t), "", true);
        }
    fputs("}\n", out);
    fsim_arena_free(a);
}
