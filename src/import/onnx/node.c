/* SPDX-License-Identifier: Apache-2.0 */
/* node.c: a node is translated by its row of onnx.def, as a call of a local function, or as an unknown operator. */
#include "import/onnx/import.h"
#include "import/onnx/quantised.h"
#include "import/onnx/triangle.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_INLINED = 64 };

typedef struct {
    const char *domain, *name;
    int64_t since;
    fsim_onnx_rule rule;
} row;
static const row rows[] = {
#define FSIM_ONNX(domain, name, since, rule) {domain, name, since, fsim_onnx_op_##rule},
#include "import/onnx/onnx.def"
#undef FSIM_ONNX
};
enum { ROWS = sizeof rows / sizeof *rows };

/* The key of an operator in tables. */
static const char *key_of(fsim_arena *a, const char *domain, const char *name)
{
    return *domain ? fsim_printf(a, "%s:%s", domain, name) : name;
}

static const char *plain_domain(const char *domain) { return strcmp(domain, "ai.onnx") == 0 ? "" : domain; }

bool fsim_onnx_tables(fsim_onnx_import *m)
{
    const fsim_onnx_model *p = m->proto;
    for (int i = 0; i < ROWS; i++)
        fsim_names_set(m->a, &m->rows, key_of(m->a, rows[i].domain, rows[i].name), i);
    for (int i = 0; i < p->functions; i++) {
        const char *key = fsim_printf(m->a, "%s:%s:%s", plain_domain(p->function[i].domain), p->function[i].name,
                                      p->function[i].overload);
        if (fsim_names_set(m->a, &m->functions, key, i) < 0)
            continue;
        fsim_error(m->d, fsim_draft_place(m->x), "two functions are called '%s:%s'", p->function[i].domain,
                   p->function[i].name);
        return false;
    }
    return true;
}

/* The row of an operator in this version: of rows with its name, which stand together, the last one that is not newer;
 * NULL: none. */
static const row *row_of(const fsim_onnx_import *m, const fsim_onnx_call *c)
{
    int i = fsim_names_get(&m->rows, key_of(m->a, c->domain, c->op));
    for (; i >= 0; i--) {
        if (strcmp(rows[i].name, c->op) != 0 || strcmp(rows[i].domain, c->domain) != 0)
            return NULL;
        if (rows[i].since <= c->opset)
            return &rows[i];
    }
    return NULL;
}

static int64_t opset_of(const fsim_onnx_scope *s, const char *domain)
{
    for (int i = 0; i < s->opsets; i++)
        if (strcmp(plain_domain(s->opset[i].domain), domain) == 0)
            return s->opset[i].version;
    return 1;
}

/* Layers. */

/* The path of modules in the name of a node, "/encoder/layer.0/attention/MatMul", is "encoder.layer.0.attention"; a
 * part that repeats the one before it ("/blocks/blocks.0") stands for both. */
static const char *path_of(fsim_arena *a, const char *name, size_t length)
{
    char *path = fsim_new(a, char, length + 2);
    size_t used = 0, last = 0; /* last: where the newest part begins */
    for (size_t from = 0; from < length;) {
        size_t to = from;
        while (to < length && name[to] != '/')
            to++;
        const size_t part = to - from, before = used - last;
        if (part && before && part > before && memcmp(path + last, name + from, before) == 0 &&
            name[from + before] == '.')
            used = last;
        else if (part && used)
            path[used++] = '.';
        if (part) {
            last = used;
            memcpy(path + used, name + from, part);
            used += part;
        }
        from = to + 1;
    }
    return used ? path : NULL;
}

/* What the dynamo exporter notes: ": Model/stages.0: Stage/stages.0.mlp: Mlp/gelu: aten.gelu.default". */
static const char *path_in_namespace(fsim_arena *a, const char *text)
{
    const char *end = strrchr(text, '/'), *from = end;
    while (from && from > text && from[-1] != '/')
        from--;
    const char *colon = from ? strstr(from, ": ") : NULL;
    return colon && colon > from && colon < end ? fsim_strndup(a, from, (size_t)(colon - from)) : NULL;
}

/* The layer of nodes whose names begin so, made once. */
static const char *layer_named(fsim_onnx_import *m, const char *text, size_t length, bool namespace)
{
    const char *key = fsim_strndup(m->a, text, length);
    const int known = fsim_names_get(&m->layers, key);
    if (known >= 0)
        return m->layer[known];
    const char *layer = namespace ? path_in_namespace(m->a, key) : path_of(m->a, key, length);
    fsim_names_set(m->a, &m->layers, key, m->layer_count);
    *FSIM_PUSH(m->a, m->layer, m->layer_count, m->layer_room) = layer;
    return layer;
}

bool fsim_onnx_says_layers(const fsim_onnx_graph *g)
{
    for (int i = 0; i < g->nodes; i++) {
        if (strchr(g->node[i].name, '/'))
            return true;
        for (int k = 0; k < g->node[i].metadatas; k++)
            if (strcmp(g->node[i].metadata[k].key, "namespace") == 0)
                return true;
    }
    return false;
}

static const char *layer_of(fsim_onnx_import *m, const fsim_onnx_node *n)
{
    const char *outer = m->scope->layer, *inner = NULL, *slash = strrchr(n->name, '/');
    for (int i = 0; i < n->metadatas; i++)
        if (strcmp(n->metadata[i].key, "namespace") == 0)
            inner = layer_named(m, n->metadata[i].value, strlen(n->metadata[i].value), true);
    if (!inner && slash && slash > n->name)
        inner = layer_named(m, n->name, (size_t)(slash - n->name), false);
    return !outer ? inner : !inner ? outer : fsim_printf(m->a, "%s.%s", outer, inner);
}

/* "model.layers.0.norm" of a weight called "model.layers.0.norm.weight"; NULL: its name has no path. */
static const char *module_of(fsim_onnx_import *m, const fsim_operand *v)
{
    const char *dot = v->file && v->parameter && v->name ? strrchr(v->name, '.') : NULL;
    return dot && dot > v->name && strncmp(v->name, "onnx::", 6) != 0
               ? layer_named(m, v->name, (size_t)(dot - v->name), false)
               : NULL;
}

/* The path up to its last number, "model.layers.0"; NULL: it has none. */
static const char *block_of(fsim_arena *a, const char *path)
{
    size_t end = 0;
    for (size_t i = 0; path[i];) {
        const size_t length = strcspn(path + i, ".");
        if (length && strspn(path + i, "0123456789") >= length)
            end = i + length;
        i += length + (path[i + length] == '.');
    }
    return end ? fsim_strndup(a, path, end) : NULL;
}

/* In a file that says nothing of modules, a node with a weight is in the weight's module, and those between such nodes
 * are in the block, the numbered module, of the last one. */
static void guess_layer(fsim_onnx_call *c)
{
    fsim_onnx_import *m = c->m;
    const char *module = NULL;
    if (m->layer_now || m->says_layers || m->scope != m->main)
        return;
    for (int i = 0; i < c->ins && !module; i++)
        module = c->in[i] ? module_of(m, c->in[i]) : NULL;
    if (module)
        m->block = block_of(c->a, module);
    m->layer_now = module ? module : m->block;
    fsim_draft_source(m->x, m->layer_now, m->from_now);
}

/* Local functions. */

/* The attributes of a call with those that the function has by default; references to attributes of a function around
 * the call are resolved. */
static void give(fsim_onnx_call *c, const fsim_onnx_function *f, fsim_onnx_scope *s)
{
    const fsim_onnx_scope *outer = c->m->scope;
    fsim_onnx_attribute *given = fsim_new(c->a, fsim_onnx_attribute, c->node->attributes + f->withs + 1);
    int count = 0;
    for (int i = 0; i < c->node->attributes; i++) {
        const fsim_onnx_attribute *at = &c->node->attribute[i];
        const char *name = at->name;
        for (int k = 0; *at->ref && k < outer->bounds; k++)
            if (strcmp(outer->bound[k].name, at->ref) == 0) {
                at = &outer->bound[k];
                break;
            }
        if (*at->ref)
            continue; /* the function around has no such attribute: neither has the call */
        given[count] = *at;
        given[count++].name = name;
    }
    const int own = count;
    for (int i = 0; i < f->withs; i++) {
        bool there = false;
        for (int k = 0; k < own; k++)
            there = there || strcmp(given[k].name, f->with[i].name) == 0;
        if (!there)
            given[count++] = f->with[i];
    }
    s->bound = given;
    s->bounds = count;
}

static bool inline_function(fsim_onnx_call *c, const fsim_onnx_function *f)
{
    fsim_onnx_import *m = c->m;
    fsim_onnx_scope *outer = m->scope, *s = fsim_onnx_scope_new(m, NULL);
    if (outer->depth >= MAX_INLINED)
        return fsim_onnx_refuse(c, "calls of local functions nest deeper than %d", MAX_INLINED);
    if (c->ins > f->ins || c->outs > f->outs)
        return fsim_onnx_refuse(c, "the call has %d inputs and %d outputs; the function has %d and %d", c->ins, c->outs,
                                f->ins, f->outs);
    s->depth = outer->depth + 1;
    s->opset = f->opsets ? f->opset : outer->opset;
    s->opsets = f->opsets ? f->opsets : outer->opsets;
    s->layer = m->layer_now;
    s->prefix = fsim_printf(c->a, "%s%s.", outer->prefix, *c->node->name ? c->node->name : f->name);
    give(c, f, s);
    for (int i = 0; i < f->ins; i++) {
        fsim_operand *v = fsim_onnx_in(c, i);
        if (!v)
            fsim_names_set(c->a, &s->absent, f->in[i], 1);
        else if (!fsim_onnx_scope_set(m, s, f->in[i], v))
            return false;
    }
    if (!fsim_onnx_run(m, s, f->node, f->nodes, f->outs, f->out))
        return false;
    for (int k = 0; k < c->outs; k++)
        if (*c->node->out[k] && !(c->out[k] = fsim_onnx_scope_get(m, s, f->out[k])))
            return fsim_onnx_refuse(c, "the function does not make its output '%s'", f->out[k]);
    return true;
}

/* Unknown operators. */

bool fsim_onnx_opaque(fsim_onnx_call *c, int outs, const fsim_draft_result *type)
{
    const char **in = fsim_new(c->a, const char *, c->ins + 1), *what = key_of(c->a, c->domain, c->op);
    int ins = 0;
    outs = outs < c->outs ? outs : c->outs; /* a node need not name all */
    for (int i = 0; i < c->ins; i++)
        if (c->in[i] && fsim_onnx_elems(c->in[i]) > 0 && c->in[i]->items < 0 && c->in[i]->dtype != FSIM_DTYPE_NONE)
            in[ins++] = fsim_onnx_name(c, c->in[i]);
    if (c->unsupported)
        what = fsim_printf(c->a, "%s (%s)", what, c->unsupported);
    fsim_draft_result *made = fsim_new(c->a, fsim_draft_result, outs + 1);
    int results = 0;
    for (int k = 0; k < outs; k++) {
        if (!fsim_onnx_check_shape(c, &type[k].shape))
            return false;
        if (fsim_elems(&type[k].shape) == 0)
            continue;
        made[results] = type[k];
        if (type[k].dtype == FSIM_DTYPE_NONE) /* strings, complex numbers */
            made[results].dtype = FSIM_F32;
        made[results++].name = *c->node->out[k] ? c->node->out[k] : NULL;
    }
    fsim_draft_unknown(c->x, what, ins, in, results, made);
    for (int k = 0, at = 0; k < outs; k++) {
        c->out[k] = fsim_onnx_operand_new(c->m, c->node->out[k], &type[k].shape, type[k].dtype);
        if (fsim_elems(&type[k].shape) == 0)
            fsim_onnx_set_empty(c->m, c->out[k]);
        else {
            c->out[k]->dtype = made[at].dtype;
            fsim_onnx_called(c->m, c->out[k], made[at++].name);
        }
    }
    return true;
}

/* The type that the file states for output k, else that of the first input. */
static bool guess(fsim_onnx_call *c, int k, fsim_draft_result *type)
{
    const fsim_onnx_type *stated = fsim_onnx_stated_type(c, k);
    const fsim_operand *first = fsim_onnx_in(c, 0);
    const fsim_dtype t = stated ? fsim_onnx_stored_dtype(stated->element) : FSIM_DTYPE_NONE;
    type->dtype = t != FSIM_DTYPE_NONE ? t : first && first->dtype != FSIM_DTYPE_NONE ? first->dtype : FSIM_F32;
    if (fsim_onnx_stated(c->m, stated, &type->shape))
        return true;
    if (c->data)
        return fsim_onnx_refuse(c, "%s is not known before the model runs, and the file has no shape for '%s'",
                                c->unsupported, c->node->out[k]);
    if (!first)
        return fsim_onnx_refuse(c, "the operator is not known, and the file has no shape for its result '%s'",
                                c->node->out[k]);
    type->shape = first->shape;
    fsim_warning(c->d, fsim_draft_place(c->x), "the file has no shape for '%s': taken as that of its first input, %s",
                 c->node->out[k], fsim_shape_text(c->a, &first->shape));
    return true;
}

static bool translate_unknown(fsim_onnx_call *c)
{
    fsim_draft_result *type = fsim_new(c->a, fsim_draft_result, c->outs + 1);
    for (int k = 0; k < c->outs; k++)
        if (!guess(c, k, &type[k]))
            return false;
    return fsim_onnx_opaque(c, c->outs, type);
}

/* A node. */

static bool find_inputs(fsim_onnx_call *c)
{
    const fsim_onnx_node *n = c->node;
    for (int i = 0; i < n->ins; i++) {
        if (!*n->in[i])
            continue;
        c->in[i] = fsim_onnx_scope_get(c->m, c->m->scope, n->in[i]);
        if (!c->in[i] && fsim_names_get(&c->m->scope->absent, n->in[i]) >= 0)
            continue;
        if (!c->in[i])
            return fsim_onnx_refuse(c, "it reads '%s', which is no input and nothing makes", n->in[i]);
    }
    return true;
}

static bool keep_outputs(fsim_onnx_call *c)
{
    for (int k = 0; k < c->outs; k++) {
        if (!*c->node->out[k])
            continue;
        if (!c->out[k])
            return fsim_onnx_refuse(c, "its output %d is not supported", k);
        if (!fsim_onnx_scope_set(c->m, c->m->scope, c->node->out[k], c->out[k]))
            return false;
    }
    return true;
}

/* Does it read strings or complex numbers, which no row takes, other than for their shape? */
static bool reads_no_dtype(fsim_onnx_call *c)
{
    bool found = false;
    for (int i = 0; i < c->ins; i++)
        found = found || (c->in[i] && c->in[i]->items < 0 && c->in[i]->dtype == FSIM_DTYPE_NONE &&
                          !fsim_onnx_reads_pairs(c, c->in[i]));
    if (found)
        c->unsupported = "strings or complex numbers";
    return found && strcmp(c->op, "Shape") != 0 && strcmp(c->op, "Size") != 0;
}

/* The node was refused. Does the file say what all its results are, so that it can be a copy? Then the errors since
 * `before` are none. What is wrong in a graph that the node has within it stays an error, and so does a node without
 * its inputs. */
static bool stands_as_stated(fsim_onnx_call *c, fsim_diag_mark before)
{
    fsim_shape shape;
    bool stated = c->refused && c->ins > 0;
    for (int i = 0; i < c->node->attributes; i++)
        stated = stated && !c->node->attribute[i].g;
    for (int k = 0; k < c->outs; k++) {
        const fsim_onnx_type *type = *c->node->out[k] ? fsim_onnx_stated_type(c, k) : NULL;
        stated = stated && (!*c->node->out[k] || fsim_onnx_stated(c->m, type, &shape));
        c->out[k] = NULL;
    }
    if (stated) {
        fsim_diag_rewind(c->d, before);
        c->unsupported = c->refused;
    }
    return stated;
}

static bool translate(fsim_onnx_call *c)
{
    const fsim_onnx_model *p = c->m->proto;
    if (p->functions) {
        const char *key = fsim_printf(c->a, "%s:%s:%s", c->domain, c->op, c->node->overload);
        const int f = fsim_names_get(&c->m->functions, key);
        if (f >= 0)
            return inline_function(c, &p->function[f]);
    }
    const row *r = row_of(c->m, c);
    const fsim_diag_mark before = fsim_diag_save(c->d);
    if (r && !reads_no_dtype(c) && r->rule(c))
        return fsim_errors(c->d) == before.errors;
    if (fsim_errors(c->d) > before.errors && !stands_as_stated(c, before))
        return false;
    return translate_unknown(c);
}

static void enter(fsim_onnx_import *m, const fsim_onnx_node *n, const char *op, int at)
{
    m->layer_now = layer_of(m, n);
    m->from_now = op;
    fsim_draft_at(m->x, fsim_printf(m->a, "node %d '%s'", at, *n->name ? n->name : n->op));
    fsim_draft_source(m->x, m->layer_now, m->from_now);
}

static bool run_node(fsim_onnx_import *m, const fsim_onnx_node *n, int at)
{
    const char *domain = plain_domain(n->domain);
    fsim_onnx_call c = {.a = m->a,
                        .d = m->d,
                        .x = m->x,
                        .m = m,
                        .node = n,
                        .op = n->op,
                        .domain = domain,
                        .opset = opset_of(m->scope, domain),
                        .ins = n->ins,
                        .outs = n->outs,
                        .in = fsim_new(m->a, fsim_operand *, n->ins + 1),
                        .out = fsim_new(m->a, fsim_operand *, n->outs + 1)};
    enter(m, n, key_of(m->a, domain, n->op), at);
    if (m->budget-- <= 0)
        return fsim_onnx_refuse(&c, "the model has too many nodes once loops and functions are unrolled");
    if (!find_inputs(&c))
        return false;
    guess_layer(&c);
    if (!translate(&c))
        return false;
    fsim_onnx_follow_triangle(&c);
    return keep_outputs(&c);
}

bool fsim_onnx_run(fsim_onnx_import *m, fsim_onnx_scope *s, const fsim_onnx_node *node, int nodes, int outs,
                   const char *const *out)
{
    fsim_onnx_scope *outer = m->scope;
    const char *layer = m->layer_now, *from = m->from_now;
    int *order;
    m->scope = s;
    const int count = fsim_onnx_order(m, node, nodes, outs, out, &order);
    bool good = count >= 0;
    for (int i = 0; good && i < count; i++)
        good = run_node(m, &node[order[i]], order[i]);
    m->scope = outer;
    m->layer_now = layer;
    m->from_now = from;
    fsim_draft_source(m->x, layer, from);
    return good;
}
