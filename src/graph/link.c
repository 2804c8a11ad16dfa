/* SPDX-License-Identifier: Apache-2.0 */
/* link.c: what reads what, what must reach memory, and what the workload asks of the fusion. */
#include "graph/reader.h"

#include <stdlib.h>
#include <string.h>

void fsim_link_readers(fsim_graph *g, fsim_arena *a)
{
    int *seen = fsim_new(a, int, g->tensors + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (int t = 0; t < g->tensors; t++) {
            if (pass == 1)
                g->tensor[t].reader = fsim_new(a, int, g->tensor[t].readers + 1);
            g->tensor[t].readers = 0;
            seen[t] = -1;
        }
        for (int n = 0; n < g->nodes; n++)
            for (int i = 0; i < g->node[n].args; i++) {
                fsim_tensor *t = &g->tensor[g->node[n].arg[i].tensor];
                if (seen[t - g->tensor] == n)
                    continue;
                seen[t - g->tensor] = n;
                if (pass == 1)
                    t->reader[t->readers] = n;
                t->readers++;
            }
    }
}

void fsim_recount_sources(fsim_graph *g, fsim_arena *a)
{
    const fsim_source *all = g->source;
    g->source = fsim_new(a, fsim_source, g->sources + 1);
    for (int i = 0; i < g->sources; i++) {
        g->source[i] = all[i];
        g->source[i].first = g->source[i].nodes = 0;
    }
    for (int n = 0; n < g->nodes; n++) {
        fsim_source *s = &g->source[g->node[n].source];
        s->first = s->nodes > 0 ? s->first : n;
        s->nodes++;
    }
}

void fsim_read_marks(fsim_reader *r, const fsim_yaml *y, fsim_mark_kind kind)
{
    const bool output = kind == FSIM_MARK_OUTPUT;
    const char *what = output ? "'outputs'" : "'materialize'";
    if (!y)
        return;
    if (y->kind != FSIM_YAML_SEQUENCE) {
        fsim_error(r->diag, y->at, "%s is %s; wants a list of tensor names", what, fsim_yaml_kind_name(y));
        return;
    }
    for (int i = 0; i < y->count; i++) {
        if (!fsim_want_scalar(r, y->item[i], what))
            continue;
        const char *name = y->item[i]->text;
        int id = fsim_names_get(&r->tensor, name);
        const int maker = fsim_names_get(&r->maker, name);
        if (id < 0 && (maker >= 0 || fsim_names_get(&r->broken, name) >= 0))
            continue; /* the operator that computes it failed: an error was reported */
        if (id < 0) {
            int count = 0;
            const char **names = fsim_new(r->arena, const char *, r->tensor.slots + 1);
            for (int s = 0; s < r->tensor.slots; s++)
                if (r->tensor.name[s])
                    names[count++] = r->tensor.name[s];
            fsim_error(r->diag, y->item[i]->at, "%s: no tensor '%s'%s", what, name,
                       fsim_did_you_mean(r->arena, name, names, count));
            continue;
        }
        r->graph->tensor[id].used = true;
        if (output && r->graph->batch > 0 && !r->graph->tensor[id].mapped)
            fsim_warning(r->diag, y->item[i]->at,
                         "'%s' does not depend on what differs between the examples: it is computed once, without the "
                         "dimension of the batch",
                         name);
        id = r->graph->tensor[id].storage;
        r->graph->tensor[id].used = true;
        *(output ? &r->graph->tensor[id].output : &r->graph->tensor[id].materialize) = true;
    }
}

int fsim_read_primitive(fsim_reader *r, const fsim_yaml *y, const char *what)
{
    const char *text = y->kind == FSIM_YAML_SCALAR ? y->text : "";
    const int n = fsim_find_node(r->graph, text);
    if (n >= 0)
        return n;
    const char **names = fsim_new(r->arena, const char *, r->graph->nodes + 1);
    for (int j = 0; j < r->graph->nodes; j++)
        names[j] = r->graph->node[j].name;
    fsim_error(r->diag, y->at, "'%s': no primitive '%s'%s", what, text,
               fsim_did_you_mean(r->arena, text, names, r->graph->nodes));
    return -1;
}

fsim_node_set *fsim_read_sets(fsim_reader *r, const fsim_yaml *y, const char *what, int *count)
{
    *count = 0;
    if (!y)
        return NULL;
    if (y->kind != FSIM_YAML_SEQUENCE) {
        fsim_error(r->diag, y->at, "'%s' is %s; wants a list of lists of primitive names", what,
                   fsim_yaml_kind_name(y));
        return NULL;
    }
    fsim_node_set *sets = fsim_new(r->arena, fsim_node_set, y->count + 1);
    for (int i = 0; i < y->count; i++) {
        const fsim_yaml *one = y->item[i];
        if (one->kind != FSIM_YAML_SEQUENCE || one->count < 2) {
            fsim_error(r->diag, one->at, "an entry of '%s' wants a list of at least two primitive names", what);
            continue;
        }
        fsim_node_set s = {.at = one->at, .node = fsim_new(r->arena, int, one->count)};
        for (int k = 0; k < one->count; k++) {
            const int n = fsim_read_primitive(r, one->item[k], what);
            if (n >= 0)
                s.node[s.count++] = n;
        }
        sets[(*count)++] = s;
    }
    return sets;
}

void fsim_check_unused(fsim_reader *r)
{
    fsim_graph *g = r->graph;
    for (int t = 0; t < g->tensors; t++)
        if (!g->tensor[t].used && g->tensor[t].storage == t && g->tensor[t].producer < 0 && g->tensor[t].at.line > 0)
            fsim_warning(r->diag, g->tensor[t].at, "tensor '%s' is not used", g->tensor[t].name);
    for (int s = 0; s < g->symbols; s++)
        if (!r->symbol_used[s] && r->symbols->key[s]->at.line > 0) {
            bool used = false;
            for (int k = 0; r->symbols && k < r->symbols->count; k++)
                used =
                    used || strcmp(r->symbols->item[k]->text ? r->symbols->item[k]->text : "", g->symbol[s].name) == 0;
            if (!used)
                fsim_warning(r->diag, r->symbols->key[s]->at, "symbol '%s' is not used", g->symbol[s].name);
        }
}

/* A tensor that nobody reads and that is not declared an output is made an output: its operator would be dead code
 * otherwise. */
void fsim_mark_results(fsim_reader *r, bool declared)
{
    fsim_graph *g = r->graph;
    for (int n = 0; n < g->nodes; n++) {
        bool read = g->node[n].effect;
        for (int k = 0; k < g->node[n].results; k++) {
            const fsim_tensor *t = &g->tensor[g->node[n].result[k]];
            read = read || t->readers > 0 || t->output || t->materialize;
        }
        if (read)
            continue;
        g->tensor[g->node[n].result[0]].output = true;
        if (declared)
            fsim_warning(r->diag, g->node[n].at, "'%s' is not read and is not an output; it is computed all the same",
                         g->node[n].name);
    }
}

/* Marks what node n needs, at first or second hand: mark[k] for each node k below n. */
static void mark_needed(const fsim_graph *g, int n, bool *mark)
{
    memset(mark, 0, (size_t)g->nodes * sizeof *mark);
    mark[n] = true;
    for (int k = n; k >= 0; k--)
        for (int i = 0; i < g->node[k].args && mark[k]; i++) {
            const int from = g->tensor[g->node[k].arg[i].tensor].producer;
            if (from >= 0)
                mark[from] = true;
        }
}

/* The memory of a tensor that is written in place is there for as long as that of any tensor that shares it. */
static void mark_lasting(fsim_graph *g)
{
    for (int t = 0; t < g->tensors; t++) {
        const int over = g->tensor[t].over;
        g->tensor[t].stays = g->tensor[t].output && g->tensor[t].producer >= 0 && g->derived == FSIM_REVERSE;
        g->tensor[t].lasting = g->tensor[t].producer < 0 || (g->tensor[t].output && !g->tensor[t].stays) ||
                               (over >= 0 && g->tensor[over].lasting);
    }
    for (int t = g->tensors; t-- > 0;)
        if (g->tensor[t].over >= 0) {
            fsim_tensor *over = &g->tensor[g->tensor[t].over];
            over->lasting = over->lasting || g->tensor[t].lasting;
            over->stays = over->stays || g->tensor[t].stays;
        }
    for (int t = 0; t < g->tensors; t++)
        if (g->tensor[t].over >= 0 && g->tensor[g->tensor[t].over].lasting)
            g->tensor[t].lasting = true;
}

void fsim_check_overwritten(fsim_reader *r)
{
    fsim_graph *g = r->graph;
    bool *needed = NULL;
    for (int n = 0; n < g->nodes; n++) {
        const fsim_tensor *now = &g->tensor[g->node[n].result[0]], *old = now->over < 0 ? NULL : &g->tensor[now->over];
        if (!old)
            continue;
        needed = needed ? needed : fsim_new(r->arena, bool, g->nodes);
        mark_needed(g, n, needed);
        for (int i = 0; i < old->readers; i++)
            if (!needed[old->reader[i]])
                fsim_error(
                    r->diag, g->node[old->reader[i]].at,
                    "'%s' reads '%s', which '%s' overwrites in place: read '%s', or write 'inplace: false' there",
                    g->node[old->reader[i]].name, old->name, now->name, now->name);
        if (old->output || old->materialize)
            fsim_error(
                r->diag, g->node[n].at,
                "'%s' is to stay in memory, and '%s' overwrites it in place: name '%s', or write 'inplace: false'",
                old->name, now->name, now->name);
    }
    mark_lasting(g);
}

void fsim_count_totals(fsim_graph *g)
{
    for (int t = 0; t < g->tensors; t++)
        if (g->tensor[t].role == FSIM_WEIGHT && g->tensor[t].storage == t && !g->tensor[t].buffer)
            g->parameters += fsim_tensor_numbers(&g->tensor[t]);
    for (int n = 0; n < g->nodes; n++) {
        const fsim_gemm *m = &g->node[n].gemm;
        const double flops = 2.0 * (double)m->batch * (double)m->m * (double)m->n * (double)m->k;
        g->contraction_flops += flops;
        g->phase_flops[g->node[n].phase] += g->node[n].again ? 0 : flops;
    }
}
