/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: an ONNX model as a workload. */
#include "import/onnx/import.h"
#include "import/onnx/triangle.h"
#include "import/recognise.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_NODES = 1 << 20 }; /* that are translated, each as often as loops and functions repeat it */

/* Inputs that are weights. */

/* Operands that are weights in any model: of these operators, inputs first to last. */
typedef struct {
    const char *op;
    int first, last;
} weight_operand;
static const weight_operand weight_operands[] = {
    {"Conv", 1, 2},
    {"ConvTranspose", 1, 2},
    {"Gemm", 1, 2},
    {"MatMul", 1, 1},
    {"BatchNormalization", 1, 4},
    {"InstanceNormalization", 1, 2},
    {"LayerNormalization", 1, 2},
    {"RMSNormalization", 1, 1},
    {"GroupNormalization", 1, 2},
    {"Gather", 0, 0},
    {"LSTM", 1, 3},
    {"GRU", 1, 3},
    {"RNN", 1, 3},
    {"PRelu", 1, 1},
};

static bool is_weight_operand(const char *op, int at)
{
    for (size_t i = 0; i < sizeof weight_operands / sizeof *weight_operands; i++)
        if (strcmp(op, weight_operands[i].op) == 0)
            return at >= weight_operands[i].first && at <= weight_operands[i].last;
    return false;
}

/* Is it a tensor of floats, or of quantised values, with numbers for dimensions? */
static bool may_be_weight(const fsim_onnx_value *v)
{
    const fsim_onnx_type *t = v->type;
    if (!t || t->kind != FSIM_ONNX_TENSOR || !t->known || t->dims == 0)
        return false;
    const fsim_dtype dtype = fsim_onnx_element_dtype(t->element);
    if (!fsim_dtype_floating(dtype) && dtype != FSIM_I8 && dtype != FSIM_U8)
        return false;
    for (int i = 0; i < t->dims; i++)
        if (t->dim[i].kind != FSIM_ONNX_DIM_NUMBER)
            return false;
    return true;
}

/* Exporters that leave the weights out of a file list them as inputs, behind the real ones: from the first input on
 * that is read where only weights are, every input with numbers for dimensions is one. Never the first of all. */
static int first_weight(fsim_onnx_import *m, const fsim_onnx_graph *g)
{
    fsim_names at = {0};
    int first = g->ins;
    for (int i = 1; i < g->ins; i++)
        if (may_be_weight(&g->in[i]))
            fsim_names_set(m->a, &at, g->in[i].name, i);
    for (int i = 0; i < g->nodes; i++) {
        const fsim_onnx_node *n = &g->node[i];
        for (int k = 0; k < n->ins; k++) {
            const int which = is_weight_operand(n->op, k) ? fsim_names_get(&at, n->in[k]) : -1;
            const bool table = strcmp(n->op, "MatMul") != 0 && strcmp(n->op, "Gather") != 0;
            if (which >= 0 && which < first && (table || g->in[which].type->dims == 2))
                first = which;
        }
    }
    return first;
}

/* Inputs. */

static bool is_usable(fsim_onnx_import *m, const fsim_onnx_value *in)
{
    const fsim_onnx_type *t = in->type;
    if (!*in->name)
        fsim_error(m->d, fsim_draft_place(m->x), "an input has no name");
    else if (!t || t->kind != FSIM_ONNX_TENSOR)
        fsim_error(m->d, fsim_draft_place(m->x), "input '%s' is %s; wanted a tensor", in->name,
                   !t                              ? "of a type that the file does not say"
                   : t->kind == FSIM_ONNX_SEQUENCE ? "a sequence, whose length the file does not say"
                   : t->kind == FSIM_ONNX_OPTIONAL ? "optional, and may be absent"
                                                   : "a map or something else");
    else if (!t->known)
        fsim_error(m->d, fsim_draft_place(m->x), "the file has no shape for input '%s'", in->name);
    else if (t->dims > FSIM_MAX_RANK)
        fsim_error(m->d, fsim_draft_place(m->x), "input '%s' has %d dimensions; at most %d are supported", in->name,
                   t->dims, FSIM_MAX_RANK);
    else
        return true;
    return false;
}

static bool add_input(fsim_onnx_import *m, const fsim_onnx_value *in, const fsim_shape *shape, bool weight)
{
    if (!fsim_onnx_is_moderate(shape)) {
        fsim_error(m->d, fsim_draft_place(m->x), "input '%s' is too large: %s", in->name, fsim_shape_text(m->a, shape));
        return false;
    }
    const fsim_dtype dtype = fsim_onnx_stored_dtype(in->type->element);
    fsim_operand *v = fsim_onnx_operand_new(m, in->name, shape, dtype);
    v->constant = v->still = v->file = v->parameter = weight;
    v->input = !weight;
    if (weight)
        m->parameters += fsim_elems(shape);
    if (fsim_elems(shape) == 0)
        v->ints = fsim_new(m->a, int64_t, 1);
    return fsim_onnx_scope_set(m, m->main, in->name, v);
}

static bool add_inputs(fsim_onnx_import *m, const fsim_onnx_graph *g)
{
    const int weights = first_weight(m, g);
    const fsim_onnx_value **in = fsim_new(m->a, const fsim_onnx_value *, g->ins + 1);
    fsim_shape *shape = fsim_new(m->a, fsim_shape, g->ins + 1);
    int ins = 0;
    for (int i = 0; i < g->ins; i++) {
        if (fsim_names_get(&m->main->initial, g->in[i].name) >= 0)
            continue; /* a weight that is listed as an input, too */
        if (!is_usable(m, &g->in[i]))
            return false;
        in[ins++] = &g->in[i];
    }
    if (!fsim_onnx_bind(m, in, ins, shape))
        return false;
    for (int i = 0; i < ins; i++)
        if (!add_input(m, in[i], &shape[i], in[i] - g->in >= weights && may_be_weight(in[i])))
            return false;
    return true;
}

static void note_shared(fsim_onnx_import *m, const fsim_onnx_graph *g)
{
    for (int i = 0; i < g->nodes; i++)
        for (int k = 0; k < g->node[i].ins; k++)
            if (*g->node[i].in[k] && fsim_names_set(m->a, &m->read, g->node[i].in[k], 1) >= 0)
                fsim_names_set(m->a, &m->shared, g->node[i].in[k], 1);
}

/* Parameters: initializers that are floats, or quantised weights. */
static void count_parameters(fsim_onnx_import *m, const fsim_onnx_graph *g)
{
    for (int i = 0; i < g->nodes; i++)
        if (strcmp(g->node[i].op, "DequantizeLinear") == 0 && g->node[i].ins > 0)
            fsim_names_set(m->a, &m->quantised, g->node[i].in[0], 1);
    for (int i = 0; i < g->initializers; i++)
        if (g->initializer[i].elems <= FSIM_MAX_ELEMS && /* more are refused where they are read */
            (fsim_dtype_floating(fsim_onnx_element_dtype(g->initializer[i].type)) ||
             fsim_names_get(&m->quantised, g->initializer[i].name) >= 0))
            m->parameters += g->initializer[i].elems;
}

/* Outputs, and what the file states. */

/* v as a result of the workload, where something runs for it. */
static void add_output(fsim_onnx_import *m, fsim_operand *v, fsim_names *there)
{
    for (int i = 0; i < v->items; i++)
        add_output(m, v->item[i], there);
    if (v->items >= 0 || v->constant || v->input || fsim_onnx_elems(v) == 0)
        return;
    const char *name = fsim_onnx_written(m, v);
    if (!v->input && fsim_names_set(m->a, there, name, 1) < 0)
        fsim_draft_output(m->x, name);
}

/* A model that computes nothing copies what its outputs are. */
static void add_copies(fsim_onnx_import *m, const fsim_onnx_graph *g)
{
    int copies = 0;
    for (int i = 0; i < g->outs; i++) {
        fsim_operand *v = fsim_onnx_scope_get(m, m->main, g->out[i].name);
        if (!v || v->items >= 0 || fsim_onnx_elems(v) == 0)
            continue;
        const char *name = fsim_onnx_written(m, v);
        fsim_draft_output(m->x, fsim_draft_op(m->x, "copy", g->out[i].name, 1, &name));
        copies++;
    }
    if (copies == 0)
        fsim_error(m->d, fsim_draft_place(m->x), "the model has no result with elements: nothing runs");
}

static void add_outputs(fsim_onnx_import *m, const fsim_onnx_graph *g)
{
    fsim_names there = {0};
    for (int i = 0; i < g->outs; i++) {
        fsim_operand *v = fsim_onnx_scope_get(m, m->main, g->out[i].name);
        if (v)
            add_output(m, v, &there);
        else
            fsim_error(m->d, fsim_draft_place(m->x), "nothing makes the output '%s'", g->out[i].name);
    }
    if (there.count == 0)
        add_copies(m, g);
}

static const fsim_onnx_value *stated_value(const fsim_onnx_graph *g, int i)
{
    return i < g->values ? &g->value[i] : &g->out[i - g->values];
}

static void note_stated(fsim_onnx_import *m, const fsim_onnx_graph *g)
{
    for (int i = 0; i < g->values + g->outs; i++)
        fsim_names_set(m->a, &m->stated, stated_value(g, i)->name, i);
}

static void expect_stated(fsim_onnx_import *m, const fsim_onnx_graph *g)
{
    for (int i = 0; i < g->values + g->outs; i++) {
        const fsim_onnx_value *said = stated_value(g, i);
        const int at = fsim_names_get(&m->main->at, said->name);
        const fsim_operand *v = at < 0 ? NULL : m->main->operand[at];
        fsim_shape shape;
        if (v && v->tensor && fsim_onnx_stated(m, said->type, &shape))
            fsim_draft_expect(m->x, v->tensor, &shape, fsim_onnx_stored_dtype(said->type->element));
    }
}

/* The model. */

static bool check_versions(fsim_onnx_import *m)
{
    const fsim_onnx_model *p = m->proto;
    for (int i = 0; i < p->opsets; i++) {
        const char *domain = p->opset[i].domain;
        if (*domain && strcmp(domain, "ai.onnx") != 0)
            continue;
        const int64_t version = p->opset[i].version;
        if (version >= FSIM_ONNX_LEAST_OPSET && version <= FSIM_ONNX_MOST_OPSET)
            return true;
        fsim_error(m->d, fsim_draft_place(m->x), "operators of opset %" PRId64 "; supported are opsets %d to %d",
                   version, FSIM_ONNX_LEAST_OPSET, FSIM_ONNX_MOST_OPSET);
        return false;
    }
    return true;
}

static bool translate_graph(fsim_onnx_import *m)
{
    const fsim_onnx_graph *g = m->proto->graph;
    const char **out = fsim_new(m->a, const char *, g->outs + 1);
    for (int i = 0; i < g->outs; i++)
        out[i] = g->out[i].name;
    if (!check_versions(m) || !fsim_onnx_tables(m) || !fsim_onnx_scope_graph(m, m->main, g))
        return false;
    m->says_layers = fsim_onnx_says_layers(g);
    note_stated(m, g);
    count_parameters(m, g);
    note_shared(m, g);
    if (!add_inputs(m, g))
        return false;
    if (m->dims_missing)
        return true; /* fsim_draft_finish says which */
    if (!fsim_onnx_run(m, m->main, g->node, g->nodes, g->outs, out))
        return false;
    fsim_draft_at(m->x, NULL);
    add_outputs(m, g);
    expect_stated(m, g);
    return true;
}

fsim_onnx_import *fsim_onnx_open(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, fsim_dims *dims,
                                 bool everything)
{
    fsim_onnx_import *m = fsim_new(a, fsim_onnx_import, 1);
    const int errors = fsim_errors(d);
    *m = (fsim_onnx_import){.a = a, .d = d, .path = from->path, .budget = MAX_NODES, .everything = everything};
    m->x = fsim_draft_new(a, d, from->path, dims);
    m->proto = fsim_onnx_read(a, d, from);
    if (!m->proto)
        return NULL;
    m->main = m->scope = fsim_onnx_scope_new(m, NULL);
    m->main->opset = m->proto->opset;
    m->main->opsets = m->proto->opsets;
    return translate_graph(m) && fsim_errors(d) == errors ? m : NULL;
}

const fsim_operand *fsim_onnx_lookup(const fsim_onnx_import *m, const char *name)
{
    const int at = fsim_names_get(&m->main->at, name);
    return at < 0 ? NULL : m->main->operand[at];
}

/* "bert_base" of "models/bert_base.onnx". */
static const char *name_of(fsim_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path, *dot = strrchr(from, '.');
    const size_t length = dot && dot > from ? (size_t)(dot - from) : strlen(from);
    return length ? fsim_strndup(a, from, length) : "model";
}

static const fsim_operand *called(const void *model, const char *tensor)
{
    const fsim_onnx_import *m = model;
    const int at = fsim_names_get(&m->written, tensor);
    return at < 0 ? NULL : m->writer[at];
}

static const fsim_shape *shape_called(const void *model, const char *tensor)
{
    const fsim_operand *v = called(model, tensor);
    return v ? &v->shape : NULL;
}

/* Exporters store the weight of a linear layer transposed, without its name. */
static bool is_transposed(const void *model, const char *tensor)
{
    const fsim_operand *v = called(model, tensor);
    return v && v->unnamed && v->parameter && v->shape.rank == 2;
}

/* Is every element of a constant this value? */
static bool is_filled(const void *model, const char *tensor, double value)
{
    const fsim_operand *v = called(model, tensor);
    bool all = v && v->constant && fsim_onnx_known(v);
    for (int64_t i = 0; all && i < fsim_onnx_elems(v); i++)
        all = fsim_onnx_element(v, i) == value;
    return all;
}

static bool is_causal(const void *model, const char *tensor)
{
    const fsim_operand *v = called(model, tensor);
    return v && fsim_onnx_is_causal(v);
}

bool fsim_read_onnx(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, const fsim_workload_wanted *how,
                    fsim_imported *out)
{
    fsim_dims *dims = fsim_new(a, fsim_dims, 1);
    *dims = (fsim_dims){how->set, how->sets, fsim_new(a, bool, how->sets + 1), how->likely};
    const fsim_onnx_import *m = fsim_onnx_open(a, d, from, dims, false);
    if (!m)
        return false;
    out->draft = m->x;
    out->yaml = fsim_draft_finish(m->x, name_of(a, from->path));
    if (out->yaml)
        fsim_recognise(a, out->yaml,
                       &(fsim_recognise_facts){.shape = shape_called,
                                               .transposed = is_transposed,
                                               .filled = is_filled,
                                               .causal = is_causal,
                                               .decomposed = true,
                                               .model = m,
                                               .draft = m->x});
    return out->yaml != NULL;
}
