/* SPDX-License-Identifier: Apache-2.0 */
/* torch.c: a torch.export archive as a workload: its inputs, then its nodes in order, by the rows of aten.def. What
 * works in place gives its first argument a new tensor, which all that read it later read. */
#include "import/recognise.h"
#include "import/torch/archive.h"
#include "import/torch/import.h"
#include "import/torch/whole.h"
#include "import/torch/work.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *op;
    fsim_aten_rule rule;
    const char *word;
} row;

static const row aten_rows[] = {
#define FSIM_ATEN(op, rule, says) {#op, fsim_aten_op_##rule, says},
#define FSIM_HIGHER(op, rule)
#include "import/torch/aten.def"
#undef FSIM_ATEN
#undef FSIM_HIGHER
};
static const row higher_rows[] = {
#define FSIM_ATEN(op, rule, says)
#define FSIM_HIGHER(op, rule) {#op, fsim_aten_op_##rule, ""},
#include "import/torch/aten.def"
#undef FSIM_ATEN
#undef FSIM_HIGHER
};

enum { MOST_NODES = 1 << 18 };

static fsim_loc here(const fsim_aten *c) { return fsim_draft_place(c->x); }

/* Values. */

/* A new value of tensor i of the graph; NULL after an error. */
static fsim_torch_value *new_value(fsim_torch_import *m, const fsim_torch_tensor *t)
{
    fsim_torch_value *v = fsim_new(m->a, fsim_torch_value, 1);
    *v = (fsim_torch_value){.name = t->name, .dim = -1};
    if (!fsim_torch_shape(&m->bound, t, &v->shape))
        return NULL;
    v->dtype = fsim_torch_dtype(t->type, &v->complex);
    if (v->complex && v->shape.rank < FSIM_MAX_RANK)
        v->shape.dim[v->shape.rank++] = 2;
    for (int k = 0; k < v->shape.rank; k++)
        v->empty = v->empty || v->shape.dim[k] == 0;
    if (v->dtype == FSIM_DTYPE_NONE)
        fsim_error(m->d, fsim_draft_place(m->x), "'%s' has a dtype that is not known: number %d", t->name, t->type);
    else if (t->layout != 7)
        fsim_error(m->d, fsim_draft_place(m->x), "'%s' is sparse; only dense tensors are read", t->name);
    else
        return v;
    return NULL;
}

/* The tensors among the node's arguments, each once. */
static int tensors_in(fsim_aten *c, const fsim_torch_arg *arg, int count, fsim_torch_value **in, int have)
{
    for (int i = 0; i < count && have < FSIM_ATEN_MAX_INS; i++) {
        fsim_torch_value *v = fsim_torch_tensor_in(c, &arg[i]);
        if (arg[i].kind == FSIM_TORCH_LIST)
            have = tensors_in(c, arg[i].item, arg[i].count, in, have);
        else if (v && v->tensor)
            in[have++] = v;
    }
    return have;
}

static int count_args(const fsim_torch_arg *arg, int count)
{
    int all = 0;
    for (int i = 0; i < count; i++)
        all += arg[i].kind == FSIM_TORCH_LIST ? count_args(arg[i].item, arg[i].count) : 1;
    return all;
}

/* The inputs of an operator of which nothing is known. */
static const char **all_inputs(fsim_aten *c, int *ins)
{
    const int most = count_args(c->node->in, c->node->ins);
    fsim_torch_value **in = fsim_new(c->a, fsim_torch_value *, most + 1);
    *ins = tensors_in(c, c->node->in, c->node->ins, in, 0);
    return fsim_torch_names(c, *ins, in);
}

int fsim_aten_first_read(const fsim_aten *c)
{
    for (int k = 0; k < c->outs; k++)
        if (c->out[k] && !c->out[k]->empty && c->read[k])
            return k;
    return 0;
}

bool fsim_aten_whole_kernel(fsim_aten *c, fsim_aten_work work)
{
    int ins;
    const char **in = all_inputs(c, &ins);
    const int first = fsim_aten_first_read(c);
    for (int k = first; k < c->outs; k++) {
        fsim_torch_value *v = c->out[k];
        if (!v || v->tensor || v->empty || (k > first && !c->read[k]))
            continue;
        v->tensor = fsim_draft_op(c->x, "custom", fsim_torch_wanted(c, v), k == first ? ins : 0, in);
        fsim_draft_ints(c->x, "shape", v->shape.rank, v->shape.dim);
        fsim_draft_word(c->x, "dtype", fsim_dtype_names[v->dtype]);
        fsim_aten_put_work(c, &v->shape, k == first ? work : (fsim_aten_work){0, 0});
    }
    return true;
}

/* A node that no row translates. */
static void unknown(fsim_aten *c)
{
    fsim_draft_result *result = fsim_new(c->a, fsim_draft_result, c->outs + 1);
    fsim_torch_value **of = fsim_new(c->a, fsim_torch_value *, c->outs + 1);
    int outs = 0, ins;
    const char **in = all_inputs(c, &ins);
    for (int k = 0; k < c->outs; k++)
        if (c->out[k] && !c->out[k]->tensor && !c->out[k]->empty && (k == 0 || c->read[k])) {
            of[outs] = c->out[k];
            result[outs++] = (fsim_draft_result){fsim_torch_wanted(c, c->out[k]), c->out[k]->shape, c->out[k]->dtype};
        }
    if (outs == 0)
        return;
    fsim_draft_unknown(c->x, c->node->target, ins, in, outs, result);
    for (int k = 0; k < outs; k++)
        of[k]->tensor = result[k].name;
}

/* Nodes. */

/* Results are tensors, or lists of them; numbers are in the file. */
static int results_in(const fsim_torch_arg *arg, int count, const char **name, int have)
{
    for (int i = 0; i < count; i++) {
        if (arg[i].kind == FSIM_TORCH_LIST)
            have = results_in(arg[i].item, arg[i].count, name, have);
        else if (arg[i].kind == FSIM_TORCH_TENSOR)
            name[have++] = arg[i].text;
        else
            name[have++] = NULL;
    }
    return have;
}

/* Makes values for the node's results. False after an error. */
static bool begin_results(fsim_aten *c, const char **name)
{
    fsim_torch_import *m = c->m;
    bool *read = fsim_new(c->a, bool, c->outs + 1);
    c->out = fsim_new(c->a, fsim_torch_value *, c->outs + 1);
    for (int k = 0; k < c->outs; k++) {
        const int i = name[k] && name[k][0] ? fsim_torch_index(m, name[k]) : -1;
        if (i < 0 && name[k] && name[k][0])
            return false;
        if (i < 0)
            continue;
        if (m->s->value[i]) {
            fsim_error(c->d, here(c), "makes '%s' a second time", name[k]);
            return false;
        }
        c->out[k] = new_value(m, &m->s->g->tensor[i]);
        read[k] = m->s->read[i];
        if (!c->out[k])
            return false;
    }
    c->read = read;
    return true;
}

/* Is it of a library whose operators aten.def has? */
static bool has_rows(const char *target)
{
    static const char *const of[] = {"aten.", "quantized_decomposed.", "torchvision.", "transformers.", "prims."};
    bool has = false;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        has = has || strncmp(target, of[i], strlen(of[i])) == 0;
    return has;
}

/* "aten.add_.Tensor": the row of add, in place. NULL: none. */
static const row *find_row(fsim_aten *c)
{
    const char *target = c->node->target;
    char *op = fsim_strdup(c->a, strchr(target, '.') ? strchr(target, '.') + 1 : target);
    char *dot = strchr(op, '.');
    c->overload = dot ? dot + 1 : "";
    if (dot)
        *dot = 0;
    c->op = op;
    if (strncmp(target, "higher_order.", 13) == 0) {
        const int i = fsim_names_get(&c->m->higher, op);
        return i < 0 ? NULL : &higher_rows[i];
    }
    if (!has_rows(target))
        return NULL;
    const size_t length = strlen(op);
    int i = fsim_names_get(&c->m->aten, op);
    if (i < 0 && length > 1 && op[length - 1] == '_' && op[length - 2] != '_') {
        op[length - 1] = 0;
        c->in_place = true;
        i = fsim_names_get(&c->m->aten, op);
    }
    return i < 0 ? NULL : &aten_rows[i];
}

/* Is any tensor of the node of complex numbers? */
static bool has_complex(fsim_aten *c)
{
    bool complex = false;
    for (int k = 0; k < c->outs; k++)
        complex = complex || (c->out[k] && c->out[k]->complex);
    for (int i = 0; i < c->node->ins; i++) {
        const fsim_torch_value *v = fsim_torch_tensor_in(c, &c->node->in[i]);
        complex = complex || (v && v->complex);
    }
    return complex;
}

/* Has the node results with elements, and an argument without any? */
static bool reads_nothing(fsim_aten *c)
{
    bool some = false, none = false;
    for (int k = 0; k < c->outs; k++)
        some = some || (c->out[k] && !c->out[k]->empty);
    for (int i = 0; i < c->node->ins; i++) {
        const fsim_torch_value *v = fsim_torch_tensor_in(c, &c->node->in[i]);
        none = none || (v && v->empty);
    }
    return some && none;
}

static bool all_empty(const fsim_aten *c)
{
    bool empty = c->outs > 0;
    for (int k = 0; k < c->outs; k++)
        empty = empty && (!c->out[k] || c->out[k]->empty);
    return empty;
}

static bool translate(fsim_aten *c, bool *stands)
{
    const int errors = fsim_errors(c->d);
    const row *r = find_row(c);
    const bool named = c->out[0] || strncmp(c->node->target, "aten.", 5) != 0; /* rows look at the first result */
    bool known = r && named && fsim_errors(c->d) == errors;
    if (c->outs > 0 && all_empty(c))
        return fsim_errors(c->d) == errors;
    if (known && reads_nothing(c))
        known = fsim_aten_op_fill(c, "0");
    else if (known && has_complex(c))
        known = fsim_aten_on_pairs(c, r->rule, r->word);
    else
        known = known && r->rule(c, r->word);
    if (fsim_errors(c->d) > errors)
        return false;
    *stands = known || !c->m->trial;
    if (!*stands)
        return true;
    if (!known)
        unknown(c);
    if (c->in_place)
        fsim_torch_replace_first(c);
    return fsim_errors(c->d) == errors;
}

/* Numbers need no kernel: their values follow from the file's expressions. */
static bool only_numbers(const fsim_torch_node *n)
{
    bool numbers = true;
    for (int k = 0; k < n->outs; k++)
        numbers = numbers && (n->out[k].kind == FSIM_TORCH_INT || n->out[k].kind == FSIM_TORCH_FLOAT ||
                              n->out[k].kind == FSIM_TORCH_BOOL || n->out[k].kind == FSIM_TORCH_NONE);
    return numbers;
}

/* *stands: it was translated; not where that is only tried, and no row does. */
static bool run_node(fsim_torch_import *m, const fsim_torch_node *n, int number, bool *stands)
{
    const bool in_place_only = n->outs == 0 && strncmp(n->target, "higher_order.", 13) != 0;
    const int most = count_args(n->out, n->outs);
    const char **name = fsim_new(m->a, const char *, most + 1);
    if (in_place_only || only_numbers(n))
        return true;
    if (++m->nodes > MOST_NODES) {
        fsim_error(m->d, fsim_draft_place(m->x), "more than %d nodes, those of bodies counted each time", MOST_NODES);
        return false;
    }
    fsim_aten c = {.a = m->a, .d = m->d, .x = m->x, .m = m, .node = n};
    c.outs = results_in(n->out, n->outs, name, 0);
    c.at = fsim_printf(m->a, "node %d '%s'", number, most && name[0] ? name[0] : n->target);
    fsim_draft_at(m->x, c.at);
    fsim_draft_source(m->x, n->layer, m->within ? fsim_printf(m->a, "%s/%s", m->within, n->target) : n->target);
    if (!begin_results(&c, name) || !translate(&c, stands))
        return false;
    for (int k = 0; k < c.outs && *stands; k++)
        if (name[k] && name[k][0])
            m->s->value[fsim_torch_index(m, name[k])] = c.out[k];
    return true;
}

/* Graphs. */

static void mark_read(fsim_torch_scope *s, const fsim_torch_arg *arg, int count, int reader)
{
    for (int i = 0; i < count; i++) {
        const int t = arg[i].kind == FSIM_TORCH_TENSOR ? fsim_names_get(&s->g->tensor_at, arg[i].text) : -1;
        if (t >= 0) {
            s->read[t] = true;
            s->last_reader[t] = reader;
        }
        if (arg[i].kind == FSIM_TORCH_LIST)
            mark_read(s, arg[i].item, arg[i].count, reader);
    }
}

static void mark_made(fsim_torch_scope *s, const fsim_torch_arg *arg, int count, int node)
{
    for (int i = 0; i < count; i++) {
        const int t = arg[i].kind == FSIM_TORCH_TENSOR ? fsim_names_get(&s->g->tensor_at, arg[i].text) : -1;
        if (t >= 0)
            s->maker[t] = node;
        if (arg[i].kind == FSIM_TORCH_LIST)
            mark_made(s, arg[i].item, arg[i].count, node);
    }
}

const fsim_torch_node *fsim_torch_maker(const fsim_torch_import *m, const fsim_torch_arg *arg)
{
    const int t = arg->kind == FSIM_TORCH_TENSOR ? fsim_names_get(&m->s->g->tensor_at, arg->text) : -1;
    return t < 0 || m->s->maker[t] < 0 ? NULL : &m->s->g->node[m->s->maker[t]];
}

static fsim_torch_scope *new_scope(fsim_torch_import *m, const fsim_torch_graph *g)
{
    fsim_torch_scope *s = fsim_new(m->a, fsim_torch_scope, 1);
    *s = (fsim_torch_scope){g, fsim_new(m->a, fsim_torch_value *, g->tensors + 1), fsim_new(m->a, int, g->tensors + 1),
                            fsim_new(m->a, bool, g->tensors + 1), fsim_new(m->a, int, g->tensors + 1)};
    memset(s->maker, -1, (size_t)g->tensors * sizeof *s->maker);
    memset(s->last_reader, -1, (size_t)g->tensors * sizeof *s->last_reader);
    for (int n = 0; n < g->nodes; n++) {
        mark_read(s, g->node[n].in, g->node[n].ins, n);
        mark_made(s, g->node[n].out, g->node[n].outs, n);
    }
    mark_read(s, g->out, g->outs, INT_MAX);
    return s;
}

static bool run_nodes(fsim_torch_import *m)
{
    const fsim_torch_graph *g = m->s->g;
    fsim_torch_node whole;
    for (int n = 0; n < g->nodes;) {
        const int parts = fsim_torch_whole(m, n, &whole);
        bool stands = true;
        m->trial = parts > 0;
        if (parts > 0 && !run_node(m, &whole, n, &stands))
            return false;
        m->trial = false;
        if (parts > 0 && stands) {
            n += parts;
            continue;
        }
        if (!run_node(m, &g->node[n], n, &stands))
            return false;
        n++;
    }
    return true;
}

/* The values of a graph's outputs; NULL after an error. */
static fsim_torch_value **results_of(fsim_torch_import *m)
{
    const fsim_torch_graph *g = m->s->g;
    fsim_torch_value **out = fsim_new(m->a, fsim_torch_value *, g->outs + 1);
    for (int k = 0; k < g->outs; k++)
        if (g->out[k].kind == FSIM_TORCH_TENSOR && !(out[k] = fsim_torch_value_of(m, g->out[k].text)))
            return NULL;
    return out;
}

bool fsim_torch_run(fsim_torch_import *m, const fsim_torch_graph *g, int ins, fsim_torch_value *const *in,
                    fsim_torch_value ***out)
{
    fsim_torch_scope *outer = m->s;
    m->s = new_scope(m, g);
    bool good = true;
    for (int i = 0; i < g->ins && i < ins && good; i++) {
        const int t = g->in[i].kind == FSIM_TORCH_TENSOR ? fsim_torch_index(m, g->in[i].text) : -1;
        good = t >= 0 || g->in[i].kind != FSIM_TORCH_TENSOR;
        if (t >= 0)
            m->s->value[t] = in[i];
    }
    good = good && run_nodes(m);
    *out = good ? results_of(m) : NULL;
    m->s = outer;
    return *out != NULL;
}

int64_t fsim_torch_given(fsim_torch_import *m, const char *name)
{
    for (int i = 0; i < m->dims->count; i++)
        if (strcmp(m->dims->at[i].name, name) == 0) {
            int64_t value = -1;
            fsim_draft_dim(m->x, name, NULL, 1, 1 << 20, &value);
            return value;
        }
    return -1;
}

const char *fsim_torch_within(fsim_torch_import *m, const char *what)
{
    const char *former = m->within;
    m->within = what && former ? fsim_printf(m->a, "%s/%s", former, what) : what;
    return former;
}

/* The program. */

/* An input of the program: a weight, a buffer, or the user's. */
static bool begin_input(fsim_torch_import *m, const fsim_torch_input *in)
{
    if (in->arg.kind != FSIM_TORCH_TENSOR)
        return true;
    const int t = fsim_torch_index(m, in->arg.text);
    fsim_torch_value *v = t < 0 ? NULL : new_value(m, &m->s->g->tensor[t]);
    if (!v)
        return false;
    m->s->value[t] = v;
    v->state = true;
    if (!v->empty && (m->s->read[t] || in->role == FSIM_TORCH_USER || in->role == FSIM_TORCH_PARAMETER))
        v->tensor = fsim_draft_tensor(m->x, in->name && *in->name ? in->name : v->name, &v->shape, v->dtype,
                                      in->role == FSIM_TORCH_PARAMETER ? FSIM_WEIGHT : FSIM_INPUT);
    return true;
}

static bool run_program(fsim_torch_import *m)
{
    m->s = new_scope(m, &m->p->graph);
    for (int i = 0; i < m->p->inputs; i++)
        if (!begin_input(m, &m->p->input[i]))
            return false;
    if (!run_nodes(m) || !results_of(m))
        return false;
    fsim_torch_finish(m);
    return true;
}

/* "dir/resnet50.pt2": "resnet50". */
static const char *workload_name(fsim_arena *a, const char *path)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    const size_t length = strlen(base), tail = length > 4 && strcmp(base + length - 4, ".pt2") == 0 ? 4 : 0;
    return length > tail ? fsim_strndup(a, base, length - tail) : "model";
}

static fsim_torch_import *begin(fsim_arena *a, fsim_diag *d, const char *path, const fsim_torch_program *p,
                                const fsim_workload_wanted *how)
{
    fsim_torch_import *m = fsim_new(a, fsim_torch_import, 1);
    fsim_dims *dims = fsim_new(a, fsim_dims, 1);
    *dims = (fsim_dims){how->set, how->sets, fsim_new(a, bool, how->sets + 1), how->likely};
    fsim_draft *x = fsim_draft_new(a, d, path, dims);
    fsim_draft_ranges_by(x, ", as torch.export wrote into the file (range_constraints); for another length export the "
                            "model again: with an example of that length, or with min and max of its Dim");
    *m = (fsim_torch_import){.a = a, .d = d, .x = x, .dims = dims, .p = p};
    m->bound = (fsim_torch_bound){.a = a, .d = d, .x = x, .p = p, .dims = dims};
    for (size_t i = 0; i < sizeof aten_rows / sizeof *aten_rows; i++)
        fsim_names_set(a, &m->aten, aten_rows[i].op, (int)i);
    for (size_t i = 0; i < sizeof higher_rows / sizeof *higher_rows; i++)
        fsim_names_set(a, &m->higher, higher_rows[i].op, (int)i);
    return m;
}

/* The values of the program, by their names in the workload. */
typedef struct {
    const fsim_torch_import *m;
    fsim_names value;
} named_values;

static const fsim_shape *shape_called(const void *model, const char *tensor)
{
    const named_values *v = model;
    const int at = fsim_names_get(&v->value, tensor);
    return at < 0 ? NULL : &v->m->s->value[at]->shape;
}

/* The weights of a torch program are as their modules have them. */
static bool is_transposed(const void *model, const char *tensor)
{
    (void)model;
    (void)tensor;
    return false;
}

/* Was the program decomposed to core ATen? Then operators are gone that every model has otherwise. Where it says what
 * was decomposed, nothing is left to guess: what looks like it is the model's own (whole.h). */
static bool is_decomposed(fsim_arena *a, const fsim_torch_program *p)
{
    static const char *const whole[] = {"aten.linear.default", "aten.conv2d.default",     "aten.layer_norm.default",
                                        "aten.silu.default",   "aten.matmul.default",     "aten.reshape.default",
                                        "aten.transpose.int",  "aten.contiguous.default", "aten.to.dtype"};
    fsim_names names = {0};
    bool none = true;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        fsim_names_set(a, &names, whole[i], 1);
    for (int n = 0; n < p->graph.nodes && none; n++)
        none = fsim_names_get(&names, p->graph.node[n].target) < 0 && !p->graph.node[n].origin;
    return none;
}

static void recognise(fsim_torch_import *m, const fsim_yaml *tree)
{
    named_values v = {.m = m};
    for (int t = 0; t < m->s->g->tensors; t++)
        if (m->s->value[t] && m->s->value[t]->tensor && fsim_names_get(&v.value, m->s->value[t]->tensor) < 0)
            fsim_names_set(m->a, &v.value, m->s->value[t]->tensor, t);
    fsim_recognise(m->a, tree,
                   &(fsim_recognise_facts){.shape = shape_called,
                                           .transposed = is_transposed,
                                           .decomposed = is_decomposed(m->a, m->p),
                                           .model = &v,
                                           .draft = m->x});
}

bool fsim_read_torch(fsim_arena *a, fsim_diag *d, const fsim_import_source *from, const fsim_workload_wanted *how,
                     fsim_imported *out)
{
    size_t bytes = 0;
    const char *json = fsim_torch_archive(a, d, from, &bytes);
    const fsim_torch_program *p = json ? fsim_torch_parse(a, d, from->path, json, bytes) : NULL;
    if (!p)
        return false;
    fsim_torch_import *m = begin(a, d, from->path, p, how);
    if (!fsim_torch_bind(&m->bound))
        return false;
    if (!m->bound.missing && !run_program(m))
        return false;
    out->draft = m->x;
    out->states_shapes = true;
    out->yaml = fsim_draft_finish(m->x, workload_name(a, from->path));
    if (out->yaml)
        recognise(m, out->yaml);
    return out->yaml != NULL;
}
