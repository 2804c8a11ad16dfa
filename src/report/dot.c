/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/phases.h"
#include "report/layer.h"
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

/* Primitive n as kernel k computes it. */
static void put_member(FILE *out, const fsim_graph *g, int k, const fsim_member *m)
{
    fprintf(out, "    k%d_n%d [label=", k + 1, m->node);
    put_quoted(out, g->node[m->node].name);
    fputs(m->clone ? ", style=dashed, tooltip=\"recomputed\"];\n" : "];\n", out);
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

static bool in_group(const fsim_group *group, int node)
{
    for (int m = 0; m < group->members; m++)
        if (group->member[m].node == node)
            return true;
    return false;
}

/* What primitive n of kernel k reads: from its kernel, from another through memory, or from the graph's inputs. */
static void put_reads(drawing *d, int k, int n)
{
    const fsim_node *node = &d->g->node[n];
    const char *to = fsim_printf(d->a, "k%d_n%d", k + 1, n);
    for (int i = 0; i < node->args; i++) {
        const int tensor = node->arg[i].tensor;
        const fsim_tensor *t = &d->g->tensor[tensor];
        bool again = false;
        for (int before = 0; before < i; before++)
            again = again || node->arg[before].tensor == tensor;
        if (again)
            continue;
        if (t->producer < 0) {
            put_tensor(d, tensor, t->role == FSIM_WEIGHT ? "box" : "ellipse");
            put_edge(d->out, fsim_printf(d->a, "t%d", tensor), to, "", true);
        } else if (in_group(d->plan->kernel[k].group, t->producer)) {
            put_edge(d->out, fsim_printf(d->a, "k%d_n%d", k + 1, t->producer), to, "", false);
        } else {
            put_edge(d->out, fsim_printf(d->a, "k%d_n%d", d->home[t->producer] + 1, t->producer), to,
                     tensor_label(d, t), true);
        }
    }
}

/* Boxes of kernels by phase; what has no gradients is forward. */
static const struct {
    const char *line, *fill;
} colors[FSIM_PHASES] = {{"#9cc3de", "#eef5fa"}, {"#e0b48a", "#fbf3ea"}, {"#a9cfa0", "#f0f7ee"}};

void fsim_report_dot(FILE *out, const fsim_prediction *p)
{
    fsim_arena *a = fsim_arena_new();
    const fsim_graph *g = p->graph;
    const fsim_plan *plan = &p->plan[p->chosen];
    drawing d = {out, g, plan, a, fsim_new(a, int, g->nodes + 1), fsim_new(a, bool, g->tensors + 1)};
    fputs("digraph plan {\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge "
          "[fontname=\"sans-serif\", fontsize=10];\n"
          "  graph [fontname=\"sans-serif\", labelloc=t, label=",
          out);
    put_quoted(out, fsim_printf(a, "%s on %s: %s, %s", g->name, p->hw->name, fsim_strategy_names[p->chosen],
                                fsim_seconds_text(a, plan->time_s)));
    fputs("];\n", out);
    for (int k = 0; k < plan->kernels; k++) {
        const fsim_kernel *x = &plan->kernel[k];
        const fsim_phase in = fsim_phase_of(g, &plan->partition.part[k]);
        fprintf(out,
                "  subgraph cluster_%d {\n    style=\"rounded,filled\"; color=\"%s\"; fillcolor=\"%s\"; label=", k + 1,
                colors[in].line, colors[in].fill);
        const char *layer = fsim_kernel_layer(g, x, a), *phase = fsim_phase_name_of(g, &plan->partition.part[k]);
        put_quoted(out, fsim_printf(a, "%d: %s%s%s, %s (%s)%s%s", k + 1, phase ? phase : "", phase ? ", " : "",
                                    fsim_template_names[x->template], fsim_seconds_text(a, x->time_s),
                                    fsim_unit_names[x->bound], layer ? " in " : "", layer ? layer : ""));
        fputs(";\n", out);
        for (int m = 0; m < x->group->members; m++) {
            put_member(out, g, k, &x->group->member[m]);
            if (!x->group->member[m].clone)
                d.home[x->group->member[m].node] = k;
        }
        fputs("  }\n", out);
    }
    for (int k = 0; k < plan->kernels; k++)
        for (int m = 0; m < plan->kernel[k].group->members; m++)
            put_reads(&d, k, plan->kernel[k].group->member[m].node);
    for (int k = 0; k < plan->kernels; k++)
        for (int i = 0; i < plan->kernel[k].outputs; i++) {
            const int t = plan->kernel[k].output[i].tensor;
            if (!g->tensor[t].output)
                continue;
            put_tensor(&d, t, "ellipse");
            put_edge(out, fsim_printf(a, "k%d_n%d", k + 1, g->tensor[t].producer), fsim_printf(a, "t%d", t), "", true);
        }
    fputs("}\n", out);
    fsim_arena_free(a);
}
