/* SPDX-License-Identifier: Apache-2.0 */
/* scope.c: names of a graph and of the graphs around it; the order in which its nodes can be translated. */
#include "import/onnx/import.h"

#include <stdlib.h>
#include <string.h>

fsim_onnx_scope *fsim_onnx_scope_new(fsim_onnx_import *m, fsim_onnx_scope *outer)
{
    fsim_onnx_scope *s = fsim_new(m->a, fsim_onnx_scope, 1);
    *s = (fsim_onnx_scope){.outer = outer, .prefix = ""};
    if (outer) {
        s->bound = outer->bound;
        s->bounds = outer->bounds;
        s->opset = outer->opset;
        s->opsets = outer->opsets;
        s->prefix = outer->prefix;
        s->layer = outer->layer;
        s->depth = outer->depth + 1;
    }
    return s;
}

bool fsim_onnx_scope_graph(fsim_onnx_import *m, fsim_onnx_scope *s, const fsim_onnx_graph *g)
{
    s->graph = g;
    for (int i = 0; i < g->initializers + g->sparses; i++) {
        const fsim_onnx_sparse *sparse = i < g->initializers ? NULL : &g->sparse[i - g->initializers];
        const char *name = !sparse ? g->initializer[i].name : sparse->values ? sparse->values->name : "";
        if (!*name || fsim_names_set(m->a, &s->initial, name, i) < 0)
            continue;
        fsim_error(m->d, fsim_draft_place(m->x), "two initializers are called '%s'", name);
        return false;
    }
    return true;
}

/* A sparse constant, as dense as operators take it. */
static fsim_operand *sparse_operand(fsim_onnx_import *m, const fsim_onnx_sparse *sparse)
{
    fsim_onnx_tensor dense = *sparse->values;
    dense.dim = sparse->dim;
    dense.dims = sparse->dims;
    dense.external = true; /* its contents are not followed */
    return fsim_onnx_operand_of(m, &dense, dense.name, true);
}

/* The initializer of this name, which nobody has looked up yet; NULL: none. */
static fsim_operand *initial(fsim_onnx_import *m, fsim_onnx_scope *s, const char *name)
{
    const int i = s->graph ? fsim_names_get(&s->initial, name) : -1;
    if (i < 0)
        return NULL;
    const fsim_onnx_graph *g = s->graph;
    if (i >= g->initializers)
        return sparse_operand(m, &g->sparse[i - g->initializers]);
    const bool parameter = fsim_dtype_floating(fsim_onnx_element_dtype(g->initializer[i].type)) ||
                           fsim_names_get(&m->quantised, name) >= 0;
    return fsim_onnx_operand_of(m, &g->initializer[i], name, parameter);
}

fsim_operand *fsim_onnx_scope_get(fsim_onnx_import *m, fsim_onnx_scope *s, const char *name)
{
    for (; s; s = s->outer) {
        const int at = fsim_names_get(&s->at, name);
        if (at >= 0)
            return s->operand[at];
        fsim_operand *v = initial(m, s, name);
        if (v) {
            fsim_onnx_scope_set(m, s, name, v);
            return v;
        }
    }
    return NULL;
}

bool fsim_onnx_scope_set(fsim_onnx_import *m, fsim_onnx_scope *s, const char *name, fsim_operand *v)
{
    const int at = s->operands;
    *FSIM_PUSH(m->a, s->operand, s->operands, s->room) = v;
    if (fsim_names_set(m->a, &s->at, name, at) < 0)
        return true;
    fsim_error(m->d, fsim_draft_place(m->x), "'%s' is made twice", name);
    return false;
}

/* Order. */

/* Names that a node reads: its inputs, and what the graphs in it read of the graphs around. */
typedef struct {
    const char **name;
    int count, room;
} reads;

static void add_reads(fsim_arena *a, reads *r, const fsim_onnx_node *n)
{
    for (int i = 0; i < n->ins; i++)
        if (*n->in[i])
            *FSIM_PUSH(a, r->name, r->count, r->room) = n->in[i];
    for (int i = 0; i < n->attributes; i++) {
        const fsim_onnx_graph *g = n->attribute[i].g;
        for (int k = 0; g && k < g->outs; k++)
            *FSIM_PUSH(a, r->name, r->count, r->room) = g->out[k].name;
        for (int k = 0; g && k < g->nodes; k++)
            add_reads(a, r, &g->node[k]); /* graphs nest at most 64 deep */
    }
}

static bool has_graph(const fsim_onnx_node *n)
{
    for (int i = 0; i < n->attributes; i++)
        if (n->attribute[i].g)
            return true;
    return false;
}

static reads reads_of(fsim_arena *a, const fsim_onnx_node *n)
{
    reads r = {0};
    if (has_graph(n))
        add_reads(a, &r, n);
    else
        r = (reads){n->in, n->ins, 0};
    return r;
}

typedef struct {
    fsim_onnx_import *m;
    const fsim_onnx_node *node;
    fsim_names maker; /* name -> the node that makes it */
    reads *read;      /* of each node, once it was visited */
    enum { NOT_SEEN, ON_THE_WAY, DONE } * state;
    int *stack, *next; /* nodes on the way, and which of their reads comes next */
    int *order, count; /* the nodes, inputs before readers */
} sorting;

static bool find_makers(sorting *s, int nodes)
{
    for (int i = 0; i < nodes; i++)
        for (int k = 0; k < s->node[i].outs; k++) {
            const char *name = s->node[i].out[k];
            if (!*name || fsim_names_set(s->m->a, &s->maker, name, i) < 0)
                continue;
            fsim_error(s->m->d, fsim_draft_place(s->m->x), "two nodes make '%s'", name);
            return false;
        }
    return true;
}

/* Visits a node and all that it needs. False where it needs itself. */
static bool visit(sorting *s, int root)
{
    int depth = 0;
    if (s->state[root] != NOT_SEEN)
        return true;
    s->stack[depth] = root;
    s->next[depth++] = 0;
    while (depth > 0) {
        const int at = s->stack[depth - 1];
        if (s->state[at] == NOT_SEEN)
            s->read[at] = reads_of(s->m->a, &s->node[at]);
        s->state[at] = ON_THE_WAY;
        if (s->next[depth - 1] == s->read[at].count) {
            s->state[at] = DONE;
            s->order[s->count++] = at;
            depth--;
            continue;
        }
        const int from = fsim_names_get(&s->maker, s->read[at].name[s->next[depth - 1]++]);
        if (from < 0 || s->state[from] == DONE)
            continue;
        if (s->state[from] == ON_THE_WAY) {
            fsim_error(s->m->d, fsim_draft_place(s->m->x), "node %d '%s' needs its own result: the graph has a cycle",
                       from, *s->node[from].name ? s->node[from].name : s->node[from].op);
            return false;
        }
        s->stack[depth] = from;
        s->next[depth++] = 0;
    }
    return true;
}

/* Does each node stand in the file behind those whose results it reads? */
static bool in_order(const sorting *s)
{
    for (int i = 0; i < s->count; i++) {
        const int at = s->order[i];
        for (int k = 0; k < s->read[at].count; k++)
            if (fsim_names_get(&s->maker, s->read[at].name[k]) >= at)
                return false;
    }
    return true;
}

static int by_place(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

int fsim_onnx_order(fsim_onnx_import *m, const fsim_onnx_node *node, int nodes, int outs, const char *const *out,
                    int **order)
{
    sorting s = {.m = m,
                 .node = node,
                 .read = fsim_new(m->a, reads, nodes + 1),
                 .state = fsim_alloc(m->a, (size_t)nodes + 1, sizeof *s.state),
                 .stack = fsim_new(m->a, int, nodes + 1),
                 .next = fsim_new(m->a, int, nodes + 1),
                 .order = fsim_new(m->a, int, nodes + 1)};
    if (!find_makers(&s, nodes))
        return -1;
    for (int i = 0; i < (m->everything ? nodes : outs); i++) {
        const int root = m->everything ? i : fsim_names_get(&s.maker, out[i]);
        if (root >= 0 && !visit(&s, root))
            return -1;
    }
    if (in_order(&s))
        qsort(s.order, (size_t)s.count, sizeof *s.order, by_place);
    *order = s.order;
    return s.count;
}
