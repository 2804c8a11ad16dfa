/* SPDX-License-Identifier: Apache-2.0 */
/* workload.c: a YAML workload as a graph: symbols; tensors; operators with repeat blocks unrolled; each operator's rule
 * in topological order; readers and outputs. */
#include "graph/barrier.h"
#include "graph/gradient.h"
#include "graph/reader.h"

#include <string.h>

struct fsim_read_from {
    const char *path;
    const fsim_yaml *yaml;
    fsim_bindings set;
    fsim_derive derive;
};

bool fsim_claim_name(fsim_reader *r, const char *name, fsim_loc at, const char *what)
{
    const int t = fsim_names_get(&r->tensor, name), op = fsim_names_get(&r->maker, name);
    if (t < 0 && op < 0)
        return true;
    const fsim_loc first = t >= 0 ? r->graph->tensor[t].at : r->op[op].at;
    fsim_error(r->diag, at, "duplicate name '%s': %s at line %d has it already", name, what, first.line);
    return false;
}

static bool read_shape(fsim_reader *r, const fsim_yaml *y, const char *name, fsim_shape *s)
{
    if (y->kind != FSIM_YAML_SEQUENCE || y->count > FSIM_MAX_RANK) {
        fsim_error(r->diag, y->at, "the shape of '%s' wants a list of at most %d dimensions", name, FSIM_MAX_RANK);
        return false;
    }
    bool ok = true;
    for (int i = 0; i < y->count; i++) {
        ok = fsim_read_int(r, y->item[i], "a dimension", &s->dim[i]) && ok;
        if (ok && (s->dim[i] < 1 || s->dim[i] > FSIM_MAX_DIM)) {
            fsim_error(r->diag, y->item[i]->at, "dimension %d of '%s' is %lld; dimensions are 1 to %lld", i, name,
                       (long long)s->dim[i], (long long)FSIM_MAX_DIM);
            ok = false;
        }
    }
    s->rank = y->count;
    return ok;
}

static bool read_role(fsim_reader *r, const fsim_yaml *y, const char *name, fsim_role *role, bool *buffer)
{
    enum { WEIGHT = 1, BUFFER, OUTPUT, ROLES };
    static const char *const roles[ROLES] = {"input", "weight", "buffer", "output"};
    int which = 0;
    *role = FSIM_INPUT;
    *buffer = false;
    if (!y)
        return true;
    if (!fsim_want_scalar(r, y, "'role'"))
        return false;
    while (which < ROLES && strcmp(y->text, roles[which]) != 0)
        which++;
    if (which == ROLES)
        fsim_error(r->diag, y->at, "unknown role '%s'%s; roles are input, weight, buffer", y->text,
                   fsim_did_you_mean(r->arena, y->text, roles, OUTPUT));
    if (which == OUTPUT)
        fsim_error(r->diag, y->at, "tensor '%s' has role output: outputs are inferred; name it under 'outputs:'", name);
    *role = which == WEIGHT || which == BUFFER ? FSIM_WEIGHT : FSIM_INPUT;
    *buffer = which == BUFFER;
    return which < OUTPUT;
}

/* Does the tensor have a value of its own for each example of the batch? */
static bool read_mapped(fsim_reader *r, const fsim_yaml *y, const char *name, fsim_role role, bool *mapped)
{
    bool marked = false;
    if (y && !fsim_read_flag(r, y, "'batch'", &marked))
        return false;
    *mapped = r->graph->batch > 0 && role == FSIM_INPUT && (marked || !r->marked);
    if (marked && r->graph->batch == 0)
        fsim_error(r->diag, y->at, "tensor '%s' has 'batch', but the workload has none: write 'batch: B' at its top",
                   name);
    else if (marked && role == FSIM_WEIGHT)
        fsim_error(r->diag, y->at, "'%s' is a weight, which all examples share: an input may differ for each", name);
    else
        return true;
    return false;
}

/* The tensor's number, or -1 after an error. */
static int read_tensor(fsim_reader *r, const fsim_yaml *key, const fsim_yaml *y, const char *name)
{
    static const char *const keys[] = {"shape", "dtype", "role", "batch", "grad"};
    if (!fsim_want_mapping(r, y, "a tensor"))
        return -1;
    fsim_yaml_check_keys(r->arena, r->diag, y, "a tensor", keys, sizeof keys / sizeof *keys);
    const fsim_yaml *shape = fsim_yaml_get(y, "shape"), *dtype = fsim_yaml_get(y, "dtype");
    fsim_shape s = {0};
    fsim_dtype t = FSIM_F32;
    fsim_role role;
    bool mapped = false, buffer;
    if (!shape || !dtype) {
        fsim_error(r->diag, y->at, "tensor '%s' has no '%s'", key->text, shape ? "dtype" : "shape");
        return -1;
    }
    bool ok = read_shape(r, shape, key->text, &s);
    ok = fsim_read_dtype(r, dtype, &t) && ok;
    ok = read_role(r, fsim_yaml_get(y, "role"), key->text, &role, &buffer) && ok;
    ok = ok && read_mapped(r, fsim_yaml_get(y, "batch"), key->text, role, &mapped);
    const fsim_yaml *grad = fsim_yaml_get(y, "grad");
    bool wanted = true;
    ok = (!grad || fsim_read_flag(r, grad, "'grad'", &wanted)) && ok;
    if (!ok || !fsim_claim_name(r, name, key->at, "the tensor"))
        return -1;
    if (mapped && s.rank == FSIM_MAX_RANK) {
        fsim_error(r->diag, key->at, "tensor '%s' has %d dimensions; with that of the batch %d, at most %d", key->text,
                   s.rank, s.rank + 1, FSIM_MAX_RANK);
        return -1;
    }
    if (mapped) {
        memmove(s.dim + 1, s.dim, (size_t)s.rank++ * sizeof *s.dim);
        s.dim[0] = r->graph->batch;
    }
    if (fsim_dtype_paired(t) && (s.rank == 0 || s.dim[s.rank - 1] % 2 != 0)) {
        fsim_error(r->diag, key->at, "tensor '%s' is %s of shape %s: two share a byte, so its last length is even",
                   key->text, fsim_dtype_names[t], fsim_shape_text(r->arena, &s));
        return -1;
    }
    if (fsim_dtype_paired(t))
        s.dim[s.rank - 1] /= 2;
    const int id = fsim_add_tensor(&r->build, key->at, name, &s, t, role);
    if (id >= 0) {
        r->graph->tensor[id].mapped = mapped;
        r->graph->tensor[id].buffer = buffer;
        r->graph->tensor[id].detached = !wanted || buffer;
    }
    return id;
}

void fsim_read_tensors(fsim_reader *r, const fsim_yaml *y, const fsim_iteration *turn)
{
    if (!y || !fsim_want_mapping(r, y, "'tensors'"))
        return;
    for (int i = 0; i < y->count; i++) {
        const fsim_yaml *key = y->key[i];
        const char *name = turn ? fsim_turn_name(r->arena, r->diag, key->at, key->text, turn) : key->text;
        const int id = read_tensor(r, y->key[i], y->item[i], name);
        fsim_names_set(r->arena, id >= 0 ? &r->tensor : &r->broken, name, id >= 0 ? id : 0);
    }
}

/* Does some tensor of the block, or of a repeat block in it, say `batch`? A value that is no flag is said when the
 * tensor is read. */
static bool has_marks(const fsim_reader *r, const fsim_yaml *block)
{
    fsim_reader quiet = *r;
    quiet.diag = fsim_diag_new(r->arena);
    const fsim_yaml *tensors = fsim_yaml_get(block, "tensors"), *ops = fsim_yaml_get(block, "operators");
    for (int i = 0; tensors && tensors->kind == FSIM_YAML_MAPPING && i < tensors->count; i++) {
        const fsim_yaml *mark = fsim_yaml_get(tensors->item[i], "batch");
        bool marked = false;
        if (mark && fsim_read_flag(&quiet, mark, "'batch'", &marked) && marked)
            return true;
    }
    for (int i = 0; ops && ops->kind == FSIM_YAML_SEQUENCE && i < ops->count; i++)
        if (fsim_yaml_get(ops->item[i], "repeat") && has_marks(r, ops->item[i]))
            return true;
    return false;
}

/* `batch: B`: how many examples the program is mapped over. */
static void read_batch(fsim_reader *r, const fsim_yaml *y)
{
    const fsim_yaml *batch = fsim_yaml_get(y, "batch");
    int64_t examples = 0;
    if (!batch || !fsim_read_int(r, batch, "'batch'", &examples))
        return;
    if (examples < 1 || examples > FSIM_MAX_DIM) {
        fsim_error(r->diag, batch->at, "'batch' is %lld; wants 1 to %lld examples", (long long)examples,
                   (long long)FSIM_MAX_DIM);
        return;
    }
    r->graph->batch = examples;
    r->marked = has_marks(r, y);
}

/* Adds the derivatives that are asked for. False after an error. */
static bool differentiate(fsim_reader *r, const fsim_bindings *set)
{
    if (!r->build.recording)
        return true;
    fsim_note_outputs(r->graph);
    if (!fsim_differentiate(&r->build, &r->tensor, set->derive))
        return false;
    fsim_link_readers(r->graph, r->arena);
    fsim_find_barrier(r->graph);
    return true;
}

static void read_workload(fsim_reader *r, const fsim_yaml *y, const fsim_bindings *set)
{
    static const char *const keys[] = {"name",    "description", "symbols", "batch",    "tensors", "operators",
                                       "outputs", "materialize", "fuse",    "separate", "calls",   "requires"};
    const fsim_yaml *name, *description, *ops;
    if (!fsim_want_mapping(r, y, "the workload"))
        return;
    fsim_yaml_check_keys(r->arena, r->diag, y, "a workload", keys, (int)(sizeof keys / sizeof keys[0]));
    name = fsim_yaml_get(y, "name");
    description = fsim_yaml_get(y, "description");
    ops = fsim_yaml_get(y, "operators");
    if (name && fsim_want_scalar(r, name, "'name'"))
        r->graph->name = name->text;
    if (description && fsim_want_scalar(r, description, "'description'"))
        r->graph->description = description->text;
    r->symbols = fsim_yaml_get(y, "symbols");
    if (!fsim_check_requirements(r, fsim_yaml_get(y, "requires"), set))
        return;
    fsim_read_symbols(r, r->symbols, set);
    read_batch(r, y);
    fsim_read_tensors(r, fsim_yaml_get(y, "tensors"), NULL);
    if (!ops || ops->kind != FSIM_YAML_SEQUENCE || ops->count == 0) {
        fsim_error(r->diag, ops ? ops->at : y->at, "a workload wants 'operators', a list of at least one");
        return;
    }
    fsim_read_operators(r, ops);
    if (fsim_errors(r->diag) <= 20 && r->ops > 0)
        fsim_build_all(r);
    const fsim_yaml *outputs = fsim_yaml_get(y, "outputs");
    fsim_link_readers(r->graph, r->arena);
    fsim_read_marks(r, outputs, FSIM_MARK_OUTPUT);
    fsim_read_marks(r, fsim_yaml_get(y, "materialize"), FSIM_MARK_MATERIALIZE);
    if (fsim_errors(r->diag) == 0) {
        if (!outputs) /* those that a workload names are differentiated, and else what nobody reads */
            fsim_mark_results(r, false);
        if (!differentiate(r, set))
            return;
        fsim_mark_results(r, outputs != NULL);
        fsim_check_overwritten(r);
        r->graph->fuse = fsim_read_sets(r, fsim_yaml_get(y, "fuse"), "fuse", &r->graph->fuses);
        r->graph->separate = fsim_read_sets(r, fsim_yaml_get(y, "separate"), "separate", &r->graph->separates);
        fsim_read_calls(r, fsim_yaml_get(y, "calls"));
    }
    if (fsim_errors(r->diag) == 0)
        fsim_check_unused(r);
    fsim_count_totals(r->graph);
}

fsim_graph *fsim_graph_parse(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes,
                             const fsim_bindings *set)
{
    const fsim_yaml *y = fsim_yaml_parse(a, d, path, text, bytes);
    return y ? fsim_graph_of(a, d, path, y, set) : NULL;
}

fsim_graph *fsim_graph_of(fsim_arena *a, fsim_diag *d, const char *path, const fsim_yaml *y, const fsim_bindings *set)
{
    const int errors = fsim_errors(d);
    fsim_graph *g = fsim_new(a, fsim_graph, 1);
    const bool derived = set && set->derive && set->derive->mode != FSIM_NOT_DERIVED;
    fsim_reader r = {.arena = a, .diag = d, .graph = g, .build = {.arena = a, .diag = d, .graph = g}};
    r.build.recording = derived;
    r.build.autocast = !set || !set->derive || set->derive->autocast == FSIM_NO_AUTOCAST ? FSIM_DTYPE_NONE
                       : set->derive->autocast == FSIM_AUTOCAST_F16                      ? FSIM_F16
                                                                                         : FSIM_BF16;
    g->path = path;
    g->name = "workload";
    g->description = "";
    if (derived) {
        fsim_read_from *origin = fsim_new(a, fsim_read_from, 1);
        *origin = (fsim_read_from){path, y, *set, *set->derive};
        g->origin = origin;
    }
    read_workload(&r, y, set);
    return fsim_errors(d) > errors ? NULL : g;
}

static fsim_graph *derived_otherwise(const fsim_graph *g, fsim_derive how, fsim_arena *a)
{
    const fsim_bindings set = {g->origin->set.at, g->origin->set.count, &how};
    return fsim_graph_of(a, fsim_diag_new(a), g->origin->path, g->origin->yaml, &set);
}

const fsim_graph *fsim_graph_unreduced(const fsim_graph *g, fsim_arena *a)
{
    if (!g->origin || !g->origin->derive.save)
        return g;
    fsim_derive how = g->origin->derive;
    how.save = NULL;
    const fsim_graph *out = derived_otherwise(g, how, a);
    return out ? out : g;
}

const fsim_derive *fsim_derivation_of(const fsim_graph *g) { return g->origin ? &g->origin->derive : NULL; }

fsim_graph *fsim_graph_with_forms(const fsim_graph *g, const signed char *form, int forms, fsim_arena *a)
{
    if (!g->origin)
        return NULL;
    fsim_derive how = g->origin->derive;
    how.form = form;
    how.forms = forms;
    return derived_otherwise(g, how, a);
}

fsim_graph *fsim_graph_with_fates(const fsim_graph *g, const signed char *fate, int fates, fsim_arena *a)
{
    if (!g->origin)
        return NULL;
    fsim_derive how = g->origin->derive;
    signed char *form = fsim_new(a, signed char, g->choices + 1);
    for (int i = 0; i < g->choices; i++)
        form[i] = (signed char)g->choice[i].form;
    how.form = form;
    how.forms = g->choices;
    how.fate = fate;
    how.fates = fates;
    return derived_otherwise(g, how, a);
}

fsim_graph *fsim_graph_with_copies(const fsim_graph *g, const fsim_derive *like, fsim_arena *a)
{
    if (!g->origin)
        return NULL;
    fsim_derive how = g->origin->derive;
    how.form = like->form;
    how.forms = like->forms;
    how.fate = like->fate;
    how.fates = like->fates;
    how.read = like->read;
    how.reads = like->reads;
    return derived_otherwise(g, how, a);
}

fsim_graph *fsim_graph_checkpointed(const fsim_graph *g, fsim_arena *a)
{
    const fsim_derive *now = fsim_derivation_of(g);
    if (!now || now->checkpoint || now->fates > 0)
        return NULL;
    fsim_derive how = *now;
    how.checkpoint = true;
    const fsim_graph *layered = derived_otherwise(g, how, a);
    if (!layered || !layered->dropped)
        return NULL;
    signed char *fate = fsim_new(a, signed char, g->own_tensors + 1);
    for (int t = 0; t < g->own_tensors; t++)
        fate[t] = layered->dropped[t] ? FSIM_DROPPED : FSIM_HELD;
    return fsim_graph_with_fates(g, fate, g->own_tensors, a);
}

int fsim_find_node(const fsim_graph *g, const char *name)
{
    for (int n = 0; n < g->nodes; n++)
        for (int k = 0; k < g->node[n].results; k++)
            if (strcmp(g->node[n].name, name) == 0 || strcmp(g->tensor[g->node[n].result[k]].name, name) == 0)
                return n;
    for (int s = 0; s < g->sources; s++)
        if (strcmp(g->source[s].name, name) == 0 && g->source[s].nodes > 0)
            return g->source[s].first + g->source[s].nodes - 1;
    return -1;
}
