/* SPDX-License-Identifier: Apache-2.0 */
/* workload.c: a YAML workload as a graph, in four steps: symbols; tensors and operators with repeat blocks unrolled;
 * operators in topological order; each operator's rule. */
#include "graph/build.h"

#include "base/names.h"
#include "input/expr.h"
#include "input/yaml.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPERATORS = 1 << 18, MAX_REPEAT_DEPTH = 8 };

/* An operator with its names resolved through the repeat blocks around it. */
typedef struct {
    const fsim_yaml *yaml;
    const char **in, **out;
    int ins, outs;
    const char **alias; /* alias[i]: another name of out[i], or NULL: what a repeat block carries out */
    int state;          /* of the topological walk: 0 new, 1 under way, 2 done */
    fsim_loc at;
} pending;

/* Names inside a repeat block: a name made there gets the turn's suffix; a carried one is last turn's. */
typedef struct frame {
    const struct frame *outer;
    const fsim_names *local; /* names that the block makes */
    const char *suffix, *before;
    const fsim_yaml *carry;
} frame;

typedef struct {
    fsim_build build;
    fsim_diag *diag;
    fsim_arena *arena;
    fsim_graph *graph;
    fsim_names tensor; /* name -> tensor */
    fsim_names broken; /* names of tensors whose declaration was refused: said once, not again by every reader */
    fsim_names maker;  /* name -> operator that makes it */
    fsim_names symbol;
    const char **symbol_names;
    bool *symbol_used;
    pending *op;
    int ops, op_room;
    const fsim_yaml *symbols;
} reader;

static bool is_mapping(reader *r, const fsim_yaml *y, const char *what)
{
    if (y->kind == FSIM_YAML_MAPPING)
        return true;
    fsim_error(r->diag, y->at, "%s is %s; wants a mapping", what, fsim_yaml_kind_name(y));
    return false;
}

static bool is_scalar(reader *r, const fsim_yaml *y, const char *what)
{
    if (y->kind == FSIM_YAML_SCALAR)
        return true;
    fsim_error(r->diag, y->at, "%s is %s; wants a single value", what, fsim_yaml_kind_name(y));
    return false;
}

/* Symbols. */

static bool symbol_value(const void *scope, const char *name, int64_t *value)
{
    const reader *r = scope;
    const int i = fsim_names_get(&r->symbol, name);
    if (i < 0 || i >= r->graph->symbols || r->graph->symbol[i].dtype != FSIM_DTYPE_NONE)
        return false;
    r->symbol_used[i] = true;
    *value = r->graph->symbol[i].value;
    return true;
}

static bool eval(reader *r, const fsim_yaml *y, const char *what, int64_t *value)
{
    const fsim_scope scope = {symbol_value, r, r->symbol_names, r->graph->symbols};
    return is_scalar(r, y, what) && fsim_eval(r->arena, r->diag, y->at, y->text, &scope, value);
}

static void read_symbol(reader *r, const fsim_yaml *key, const char *text, fsim_loc at)
{
    fsim_graph *g = r->graph;
    fsim_symbol s = {.name = key->text, .dtype = FSIM_DTYPE_NONE};
    if (!fsim_dtype_parse(text, &s.dtype)) {
        const fsim_scope scope = {symbol_value, r, r->symbol_names, g->symbols};
        s.dtype = FSIM_DTYPE_NONE;
        if (!fsim_eval(r->arena, r->diag, at, text, &scope, &s.value))
            s.value = 1;
    }
    r->symbol_names[g->symbols] = s.name;
    fsim_names_set(r->arena, &r->symbol, s.name, g->symbols);
    g->symbol[g->symbols++] = s;
}

static void read_symbols(reader *r, const fsim_yaml *y, const fsim_binding *set, int sets)
{
    fsim_graph *g = r->graph;
    const int count = y && y->kind == FSIM_YAML_MAPPING ? y->count : 0;
    g->symbol = fsim_new(r->arena, fsim_symbol, count + 1);
    r->symbol_names = fsim_new(r->arena, const char *, count + 1);
    r->symbol_used = fsim_new(r->arena, bool, count + 1);
    if (y && !is_mapping(r, y, "'symbols'"))
        return;
    for (int i = 0; i < count; i++) {
        const char *text = y->item[i]->text;
        fsim_loc at = y->item[i]->at;
        if (!is_scalar(r, y->item[i], "a symbol"))
            continue;
        for (int s = 0; s < sets; s++)
            if (strcmp(set[s].name, y->key[i]->text) == 0) {
                text = set[s].value;
                at = (fsim_loc){.file = NULL};
            }
        read_symbol(r, y->key[i], text, at);
    }
    for (int s = 0; s < sets; s++)
        if (fsim_names_get(&r->symbol, set[s].name) < 0)
            fsim_error(r->diag, (fsim_loc){0}, "--set %s=%s: the workload has no symbol '%s'%s", set[s].name,
                       set[s].value, set[s].name,
                       fsim_did_you_mean(r->arena, set[s].name, r->symbol_names, g->symbols));
}

static bool read_dtype(reader *r, const fsim_yaml *y, fsim_dtype *t)
{
    if (!is_scalar(r, y, "a dtype"))
        return false;
    const int s = fsim_names_get(&r->symbol, y->text);
    if (s >= 0 && r->graph->symbol[s].dtype != FSIM_DTYPE_NONE) {
        r->symbol_used[s] = true;
        *t = r->graph->symbol[s].dtype;
        return true;
    }
    if (fsim_dtype_parse(y->text, t))
        return true;
    fsim_error(r->diag, y->at, "unknown dtype '%s'%s", y->text,
               fsim_did_you_mean(r->arena, y->text, fsim_dtype_names, FSIM_DTYPE_COUNT));
    return false;
}

static bool read_number(reader *r, const fsim_yaml *y, const char *what, double *value)
{
    char *end;
    if (!is_scalar(r, y, what))
        return false;
    const double v = strtod(y->text, &end);
    if (end != y->text && *end == '\0') {
        *value = v;
        if (isfinite(v) || (isinf(v) && strpbrk(y->text, "iI")))
            return true;
        fsim_error(r->diag, y->at, "%s is %s; wants a finite number", what, y->text);
        return false;
    }
    int64_t whole;
    if (!eval(r, y, what, &whole))
        return false;
    *value = (double)whole;
    return true;
}

static bool read_bool(reader *r, const fsim_yaml *y, const char *what, bool *value)
{
    int64_t n;
    if (!is_scalar(r, y, what))
        return false;
    if (strcmp(y->text, "true") == 0 || strcmp(y->text, "false") == 0) {
        *value = y->text[0] == 't';
        return true;
    }
    if (!eval(r, y, what, &n))
        return false;
    *value = n != 0;
    return true;
}

/* Tensors. */

static bool claim(reader *r, const char *name, fsim_loc at, const char *what)
{
    const int t = fsim_names_get(&r->tensor, name), op = fsim_names_get(&r->maker, name);
    if (t < 0 && op < 0)
        return true;
    const fsim_loc first = t >= 0 ? r->graph->tensor[t].at : r->op[op].at;
    fsim_error(r->diag, at, "duplicate name '%s': %s at line %d has it already", name, what, first.line);
    return false;
}

/* The tensor's number, or -1 after an error. */
static int read_tensor(reader *r, const fsim_yaml *key, const fsim_yaml *y, const char *name)
{
    static const char *const keys[] = {"shape", "dtype", "role"};
    static const char *const roles[] = {"input", "weight", "output"};
    if (!is_mapping(r, y, "a tensor"))
        return -1;
    fsim_yaml_check_keys(r->arena, r->diag, y, "a tensor", keys, 3);
    const fsim_yaml *shape = fsim_yaml_get(y, "shape"), *dtype = fsim_yaml_get(y, "dtype"),
                    *role = fsim_yaml_get(y, "role");
    fsim_shape s = {0};
    fsim_dtype t = FSIM_F32;
    bool ok = true;
    if (!shape || !dtype) {
        fsim_error(r->diag, y->at, "tensor '%s' has no '%s'", key->text, shape ? "dtype" : "shape");
        return -1;
    }
    if (shape->kind != FSIM_YAML_SEQUENCE || shape->count > FSIM_MAX_RANK) {
        fsim_error(r->diag, shape->at, "the shape of '%s' wants a list of at most %d dimensions", key->text,
                   FSIM_MAX_RANK);
        return -1;
    }
    for (int i = 0; i < shape->count; i++) {
        ok = eval(r, shape->item[i], "a dimension", &s.dim[i]) && ok;
        if (ok && (s.dim[i] < 1 || s.dim[i] > FSIM_MAX_DIM)) {
            fsim_error(r->diag, shape->item[i]->at, "dimension %d of '%s' is %lld; dimensions are 1 to %lld", i,
                       key->text, (long long)s.dim[i], (long long)FSIM_MAX_DIM);
            ok = false;
        }
    }
    s.rank = shape->count;
    ok = read_dtype(r, dtype, &t) && ok;
    int which = 0;
    if (role) {
        ok = is_scalar(r, role, "'role'") && ok;
        while (ok && which < 3 && strcmp(role->text, roles[which]) != 0)
            which++;
        if (ok && which == 3) {
            fsim_error(r->diag, role->at, "unknown role '%s'%s; roles are input, weight, output", role->text,
                       fsim_did_you_mean(r->arena, role->text, roles, 3));
            ok = false;
        }
    }
    if (!ok || which == 2 || !claim(r, name, key->at, "the tensor")) {
        if (ok && which == 2)
            fsim_error(r->diag, key->at, "tensor '%s' has role output: outputs are inferred; name it under 'outputs:'",
                       key->text);
        return -1;
    }
    return fsim_add_tensor(&r->build, key->at, name, &s, t, which == 1 ? FSIM_WEIGHT : FSIM_INPUT);
}

static void read_tensors(reader *r, const fsim_yaml *y, const char *suffix)
{
    if (!y || !is_mapping(r, y, "'tensors'"))
        return;
    for (int i = 0; i < y->count; i++) {
        const char *name = *suffix ? fsim_printf(r->arena, "%s%s", y->key[i]->text, suffix) : y->key[i]->text;
        const int id = read_tensor(r, y->key[i], y->item[i], name);
        fsim_names_set(r->arena, id >= 0 ? &r->tensor : &r->broken, name, id >= 0 ? id : 0);
    }
}

/* Operators, unrolled. */

static const char *resolve(reader *r, const frame *f, const char *name)
{
    for (; f; f = f->outer) {
        const fsim_yaml *carried = f->carry ? fsim_yaml_get(f->carry, name) : NULL;
        if (carried && f->before)
            return fsim_printf(r->arena, "%s%s", carried->text, f->before);
        if (!carried && fsim_names_get(f->local, name) >= 0)
            return fsim_printf(r->arena, "%s%s", name, f->suffix);
    }
    return name;
}

/* One name or a list of them. */
static int read_names(reader *r, const fsim_yaml *y, const char *what, const char ***names)
{
    if (y->kind == FSIM_YAML_MAPPING) {
        fsim_error(r->diag, y->at, "%s is a mapping; wants a name or a list of names", what);
        return -1;
    }
    const int count = y->kind == FSIM_YAML_SEQUENCE ? y->count : 1;
    *names = fsim_new(r->arena, const char *, count + 1);
    for (int i = 0; i < count; i++) {
        const fsim_yaml *one = y->kind == FSIM_YAML_SEQUENCE ? y->item[i] : y;
        if (!is_scalar(r, one, what))
            return -1;
        (*names)[i] = one->text;
    }
    return count;
}

static void read_operators(reader *r, const fsim_yaml *list, const frame *f, const char *suffix, int depth);

static void collect_local(reader *r, const fsim_yaml *block, fsim_names *local)
{
    const fsim_yaml *tensors = fsim_yaml_get(block, "tensors"), *ops = fsim_yaml_get(block, "operators");
    for (int i = 0; tensors && tensors->kind == FSIM_YAML_MAPPING && i < tensors->count; i++)
        fsim_names_set(r->arena, local, tensors->key[i]->text, 1);
    for (int i = 0; ops && ops->kind == FSIM_YAML_SEQUENCE && i < ops->count; i++) {
        const fsim_yaml *out = ops->item[i]->kind == FSIM_YAML_MAPPING ? fsim_yaml_get(ops->item[i], "out") : NULL;
        if (out && out->kind == FSIM_YAML_SCALAR)
            fsim_names_set(r->arena, local, out->text, 1);
        for (int o = 0; out && out->kind == FSIM_YAML_SEQUENCE && o < out->count; o++)
            if (out->item[o]->kind == FSIM_YAML_SCALAR)
                fsim_names_set(r->arena, local, out->item[o]->text, 1);
        if (ops->item[i]->kind == FSIM_YAML_MAPPING && fsim_yaml_get(ops->item[i], "repeat")) {
            const fsim_yaml *carry = fsim_yaml_get(ops->item[i], "carry");
            for (int c = 0; carry && carry->kind == FSIM_YAML_MAPPING && c < carry->count; c++)
                if (carry->item[c]->kind == FSIM_YAML_SCALAR)
                    fsim_names_set(r->arena, local, carry->item[c]->text, 1);
        }
    }
}

/* After the block a carried name means its last turn's: an alias. */
static void add_alias(reader *r, const char *name, const char *of, fsim_loc at)
{
    const int op = fsim_names_get(&r->maker, of);
    if (op < 0 || !claim(r, name, at, "another"))
        return;
    fsim_names_set(r->arena, &r->maker, name, op);
    pending *p = &r->op[op];
    if (!p->alias)
        p->alias = fsim_new(r->arena, const char *, p->outs);
    for (int i = 0; i < p->outs; i++)
        if (strcmp(p->out[i], of) == 0)
            p->alias[i] = name;
}

static void read_repeat(reader *r, const fsim_yaml *y, const frame *outer, const char *suffix, int depth)
{
    static const char *const keys[] = {"repeat", "carry", "tensors", "operators"};
    const fsim_yaml *carry = fsim_yaml_get(y, "carry"), *ops = fsim_yaml_get(y, "operators");
    int64_t turns;
    fsim_yaml_check_keys(r->arena, r->diag, y, "a repeat block", keys, 4);
    if (!eval(r, fsim_yaml_get(y, "repeat"), "'repeat'", &turns))
        return;
    if (turns < 1 || turns > MAX_OPERATORS || depth == MAX_REPEAT_DEPTH) {
        fsim_error(r->diag, y->at,
                   turns < 1 ? "'repeat' is %lld; wants at least 1" : "'repeat' %lld: too many turns or too deep",
                   (long long)turns);
        return;
    }
    if (!ops || ops->kind != FSIM_YAML_SEQUENCE) {
        fsim_error(r->diag, y->at, "a repeat block wants 'operators', a list");
        return;
    }
    fsim_names local = {0};
    collect_local(r, y, &local);
    if (carry && !is_mapping(r, carry, "'carry'"))
        return;
    for (int c = 0; carry && c < carry->count; c++) {
        if (!is_scalar(r, carry->item[c], "a carried name"))
            return;
        if (fsim_names_get(&local, carry->item[c]->text) < 0) {
            fsim_error(r->diag, carry->item[c]->at, "'%s' is carried, but no operator of the block makes it",
                       carry->item[c]->text);
            return;
        }
    }
    const char *before = NULL;
    for (int64_t turn = 0; turn < turns; turn++) {
        const char *now = fsim_printf(r->arena, "%s.%lld", suffix, (long long)turn);
        const frame f = {outer, &local, now, before, carry};
        const int errors = fsim_errors(r->diag);
        read_tensors(r, fsim_yaml_get(y, "tensors"), now);
        read_operators(r, ops, &f, now, depth + 1);
        if (fsim_errors(r->diag) > errors || r->ops >= MAX_OPERATORS)
            return; /* the other turns would say the same */
        before = now;
    }
    for (int c = 0; carry && c < carry->count; c++)
        add_alias(r, fsim_printf(r->arena, "%s%s", carry->item[c]->text, suffix),
                  fsim_printf(r->arena, "%s%s", carry->item[c]->text, before), carry->item[c]->at);
}

static void read_operator(reader *r, const fsim_yaml *y, const frame *f, const char *suffix)
{
    const fsim_yaml *in = fsim_yaml_get(y, "in"), *out = fsim_yaml_get(y, "out");
    pending p = {.yaml = y, .at = y->at};
    if (!fsim_yaml_get(y, "op") || !out) {
        fsim_error(r->diag, y->at, "an operator has no '%s'", out ? "op" : "out");
        return;
    }
    p.ins = in ? read_names(r, in, "'in'", &p.in) : 0;
    p.outs = read_names(r, out, "'out'", &p.out);
    if (p.ins < 0 || p.outs < 1) {
        if (p.outs == 0)
            fsim_error(r->diag, out->at, "'out' names nothing");
        return;
    }
    if (r->ops == MAX_OPERATORS) {
        fsim_error(r->diag, y->at, "more than %d operators", MAX_OPERATORS);
        return;
    }
    for (int i = 0; i < p.ins; i++)
        p.in[i] = resolve(r, f, p.in[i]);
    for (int i = 0; i < p.outs; i++) {
        if (*suffix)
            p.out[i] = fsim_printf(r->arena, "%s%s", p.out[i], suffix);
        if (!claim(r, p.out[i], out->kind == FSIM_YAML_SEQUENCE ? out->item[i]->at : out->at, "another"))
            return;
        fsim_names_set(r->arena, &r->maker, p.out[i], r->ops);
    }
    *FSIM_PUSH(r->arena, r->op, r->ops, r->op_room) = p;
}

static void read_operators(reader *r, const fsim_yaml *list, const frame *f, const char *suffix, int depth)
{
    for (int i = 0; i < list->count; i++) {
        const fsim_yaml *y = list->item[i];
        if (!is_mapping(r, y, "an operator"))
            continue;
        if (fsim_yaml_get(y, "repeat"))
            read_repeat(r, y, f, suffix, depth);
        else
            read_operator(r, y, f, suffix);
        if (fsim_errors(r->diag) > 20 || r->ops >= MAX_OPERATORS)
            return;
    }
}

/* Attributes. */

typedef enum { LIST, NUMBER, FLAG, TEXT, TYPE } attr_kind;
typedef struct {
    const char *name;
    attr_kind kind;
    int which; /* LIST: fsim_list_id; NUMBER, FLAG: offset in fsim_attrs */
    int has;   /* offset of a bool that says it was given; -1 */
} attr_row;
#define AT(field) (int)offsetof(fsim_attrs, field)
static const attr_row attr_rows[] = {
    {"dim", LIST, FSIM_LIST_DIMS, -1},
    {"dims", LIST, FSIM_LIST_DIMS, -1},
    {"stride", LIST, FSIM_LIST_STRIDE, -1},
    {"padding", LIST, FSIM_LIST_PADDING, -1},
    {"dilation", LIST, FSIM_LIST_DILATION, -1},
    {"output_padding", LIST, FSIM_LIST_OUTPUT_PADDING, -1},
    {"kernel", LIST, FSIM_LIST_KERNEL, -1},
    {"groups", LIST, FSIM_LIST_GROUPS, -1},
    {"normalized_shape", LIST, FSIM_LIST_NORMALIZED_SHAPE, -1},
    {"shape", LIST, FSIM_LIST_SHAPE, -1},
    {"start", LIST, FSIM_LIST_START, -1},
    {"size", LIST, FSIM_LIST_SIZE, -1},
    {"output_size", LIST, FSIM_LIST_OUTPUT_SIZE, -1},
    {"repeats", LIST, FSIM_LIST_REPEATS, -1},
    {"k", LIST, FSIM_LIST_K, -1},
    {"diagonal", LIST, FSIM_LIST_DIAGONAL, -1},
    {"scalar", NUMBER, AT(scalar), AT(has_scalar)},
    {"min", NUMBER, AT(min), AT(has_min)},
    {"max", NUMBER, AT(max), AT(has_max)},
    {"min_val", NUMBER, AT(min), AT(has_min)},
    {"max_val", NUMBER, AT(max), AT(has_max)},
    {"alpha", NUMBER, AT(alpha), -1},
    {"negative_slope", NUMBER, AT(alpha), -1},
    {"p", NUMBER, AT(p), -1},
    {"value", NUMBER, AT(value), -1},
    {"eps", NUMBER, AT(value), -1},
    {"keepdim", FLAG, AT(keepdim), -1},
    {"causal", FLAG, AT(causal), -1},
    {"training", FLAG, AT(training), -1},
    {"roll", TEXT, 0, -1},
    {"equation", TEXT, 0, -1},
    {"approximate", TEXT, 0, -1},
    {"to", TEXT, 0, -1},
    {"effectful", TEXT, 0, -1},
    {"dtype", TYPE, 0, -1},
    {"compute", TYPE, 0, -1},
};
enum { ATTRS = sizeof attr_rows / sizeof attr_rows[0] };

static bool read_list(reader *r, const fsim_yaml *y, const char *what, fsim_list *l)
{
    l->given = true;
    l->whole = y->kind == FSIM_YAML_SCALAR;
    l->count = 0;
    if (y->kind == FSIM_YAML_MAPPING || (!l->whole && y->count > (int)(sizeof l->at / sizeof l->at[0]))) {
        fsim_error(r->diag, y->at, "'%s' wants a number or a list of at most %d", what,
                   (int)(sizeof l->at / sizeof l->at[0]));
        return false;
    }
    if (l->whole && strcmp(y->text, "true") == 0) { /* roll: true */
        l->at[l->count++] = 1;
        return true;
    }
    for (int i = 0; i < (l->whole ? 1 : y->count); i++)
        if (!eval(r, l->whole ? y : y->item[i], what, &l->at[l->count++]))
            return false;
    return true;
}

static bool read_text(reader *r, fsim_call *c, const char *name, const fsim_yaml *y)
{
    if (strcmp(name, "roll") == 0) {
        fsim_list *l = &c->list[FSIM_LIST_ROLL];
        if (y->kind == FSIM_YAML_SCALAR && strcmp(y->text, "false") == 0)
            return true;
        return read_list(r, y, name, l);
    }
    if (!is_scalar(r, y, name))
        return false;
    if (strcmp(name, "equation") == 0)
        c->equation = y->text;
    if (strcmp(name, "effectful") == 0)
        return read_bool(r, y, name, &c->effect);
    if (strcmp(name, "approximate") == 0) {
        c->attrs.tanh_gelu = strcmp(y->text, "tanh") == 0;
        if (!c->attrs.tanh_gelu && strcmp(y->text, "none") != 0) {
            fsim_error(r->diag, y->at, "'approximate' is none or tanh; found '%s'", y->text);
            return false;
        }
    }
    return true;
}

static bool read_attr(reader *r, fsim_call *c, const attr_row *row, const fsim_yaml *y)
{
    char *base = (char *)&c->attrs;
    if (row->has >= 0)
        *(bool *)(base + row->has) = true;
    switch (row->kind) {
    case LIST:
        if (!read_list(r, y, row->name, &c->list[row->which]))
            return false;
        if (row->which == FSIM_LIST_K && c->list[FSIM_LIST_K].count)
            c->attrs.k = c->list[FSIM_LIST_K].at[0];
        if (row->which == FSIM_LIST_DIAGONAL && c->list[FSIM_LIST_DIAGONAL].count)
            c->attrs.k = c->list[FSIM_LIST_DIAGONAL].at[0];
        return true;
    case NUMBER:
        return read_number(r, y, row->name, (double *)(base + row->which));
    case FLAG:
        return read_bool(r, y, row->name, (bool *)(base + row->which));
    case TEXT:
        return read_text(r, c, row->name, y);
    case TYPE:
        if (strcmp(row->name, "compute") == 0 && y->kind == FSIM_YAML_SCALAR && strcmp(y->text, "tf32") == 0) {
            c->attrs.compute = FSIM_TF32;
            return true;
        }
        return read_dtype(r, y, strcmp(row->name, "compute") == 0 ? &c->attrs.compute : &c->attrs.dtype);
    }
    return false;
}

static bool read_attrs(reader *r, fsim_call *c, const fsim_yaml *y)
{
    int count = 0;
    bool ok = true;
    const char *all[ATTRS + 3];
    for (int i = 0; i < ATTRS; i++)
        all[count++] = attr_rows[i].name;
    all[count++] = "op";
    all[count++] = "in";
    all[count++] = "out";
    for (int i = 0; i < y->count; i++) {
        const char *key = y->key[i]->text;
        int row = 0;
        while (row < ATTRS && strcmp(attr_rows[row].name, key) != 0)
            row++;
        if (row < ATTRS) {
            ok = read_attr(r, c, &attr_rows[row], y->item[i]) && ok;
        } else if (strcmp(key, "op") != 0 && strcmp(key, "in") != 0 && strcmp(key, "out") != 0) {
            fsim_error(r->diag, y->key[i]->at, "unknown attribute '%s'%s", key,
                       fsim_did_you_mean(r->arena, key, all, count));
            ok = false;
        }
    }
    return ok;
}

/* Topological order and building. */

static void unknown_tensor(reader *r, const pending *p, int i)
{
    const fsim_yaml *in = fsim_yaml_get(p->yaml, "in");
    const fsim_loc at = in->kind == FSIM_YAML_SEQUENCE ? in->item[i]->at : in->at;
    int count = 0;
    const char **names = fsim_new(r->arena, const char *, r->tensor.slots + r->maker.slots + 1);
    for (int s = 0; s < r->tensor.slots; s++)
        if (r->tensor.name[s])
            names[count++] = r->tensor.name[s];
    for (int s = 0; s < r->maker.slots; s++)
        if (r->maker.name[s])
            names[count++] = r->maker.name[s];
    fsim_error(r->diag, at, "no tensor '%s'%s", p->in[i], fsim_did_you_mean(r->arena, p->in[i], names, count));
}

static bool build(reader *r, pending *p)
{
    const fsim_yaml *op = fsim_yaml_get(p->yaml, "op");
    fsim_call c = {
        .build = &r->build, .at = p->at, .out = p->out, .outs = p->outs, .args = p->ins, .source = r->graph->sources};
    c.attrs = (fsim_attrs){.dtype = FSIM_DTYPE_NONE, .compute = FSIM_DTYPE_NONE, .p = 2, .alpha = 0.01};
    if (!is_scalar(r, op, "'op'"))
        return false;
    if (strcmp(op->text, "dropout") == 0) /* PyTorch's defaults where they are others */
        c.attrs.p = 0.5;
    if (strcmp(op->text, "elu") == 0)
        c.attrs.alpha = 1;
    if (!fsim_op_parse(op->text, &c.op)) {
        int count;
        const char *const *names = fsim_op_names(&count);
        fsim_error(r->diag, op->at, "unknown operator '%s'%s", op->text,
                   fsim_did_you_mean(r->arena, op->text, names, count));
        return false;
    }
    const fsim_op_row *row = &fsim_ops[c.op];
    if (!read_attrs(r, &c, p->yaml))
        return false;
    if (p->ins < row->least_args || (row->most_args >= 0 && p->ins > row->most_args))
        return fsim_refuse(&c, "has %d input%s; wants %s%d", p->ins, p->ins == 1 ? "" : "s",
                           row->most_args < 0                  ? "at least "
                           : row->least_args == row->most_args ? ""
                           : p->ins < row->least_args          ? "at least "
                                                               : "at most ",
                           p->ins < row->least_args || row->most_args < 0 ? row->least_args : row->most_args);
    if (row->most_outs >= 0 && p->outs > row->most_outs)
        return fsim_refuse(&c, "has %d outputs; makes at most %d", p->outs, row->most_outs);
    c.arg = fsim_new(r->arena, int, p->ins + 1);
    c.result = fsim_new(r->arena, int, p->outs + 1);
    for (int i = 0; i < p->ins; i++)
        if ((c.arg[i] = fsim_names_get(&r->tensor, p->in[i])) < 0)
            return false; /* its maker failed, or it is unknown: said already */
    const int first = r->graph->nodes;
    for (int i = 0; i < p->ins; i++)
        r->graph->tensor[c.arg[i]].used = true;
    if (!row->rule(&c))
        return false;
    for (int i = 0; i < p->outs; i++) {
        fsim_names_set(r->arena, &r->tensor, p->out[i], c.result[i]);
        if (p->alias && p->alias[i])
            fsim_names_set(r->arena, &r->tensor, p->alias[i], c.result[i]);
    }
    *FSIM_PUSH(r->arena, r->graph->source, r->graph->sources, r->build.source_room) =
        (fsim_source){.op = c.op, .name = p->out[0], .first = first, .nodes = r->graph->nodes - first, .at = p->at};
    return true;
}

/* Operators in an order in which each finds its inputs, as written wherever that works. Depth first with a stack of its
 * own: a chain may be long. */
static void build_all(reader *r)
{
    int *stack = fsim_new(r->arena, int, r->ops + 1);
    for (int start = 0; start < r->ops; start++) {
        int depth = 0;
        if (r->op[start].state == 0)
            stack[depth++] = start;
        while (depth > 0) {
            pending *p = &r->op[stack[depth - 1]];
            int next = -1;
            p->state = 1;
            for (int i = 0; i < p->ins && next < 0 && depth > 0; i++) {
                const int maker = fsim_names_get(&r->maker, p->in[i]);
                if (maker < 0) {
                    if (fsim_names_get(&r->tensor, p->in[i]) < 0 && fsim_names_get(&r->broken, p->in[i]) < 0)
                        unknown_tensor(r, p, i);
                } else if (r->op[maker].state == 0) {
                    next = maker;
                } else if (r->op[maker].state == 1) {
                    const char *path = p->out[0];
                    int k = depth - 1;
                    for (; k >= 0 && stack[k] != maker && depth - k < 8; k--)
                        if (k < depth - 1)
                            path = fsim_printf(r->arena, "%s needs %s", r->op[stack[k]].out[0], path);
                    fsim_error(r->diag, p->at, "the operators form a cycle: %s needs %s needs %s", r->op[maker].out[0],
                               path, p->in[i]);
                    for (k = 0; k < depth; k++) /* said once: go on with the others */
                        r->op[stack[k]].state = 2;
                    depth = 0;
                }
            }
            if (depth == 0)
                break;
            if (next >= 0) {
                stack[depth++] = next;
                continue;
            }
            if (!build(r, p) && fsim_errors(r->diag) > 20)
                return;
            p->state = 2;
            depth--;
        }
    }
}

/* What reads what, and what must reach memory. */

static int by_int(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static void link_readers(reader *r)
{
    fsim_graph *g = r->graph;
    int *seen = fsim_new(r->arena, int, g->tensors + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (int t = 0; t < g->tensors; t++) {
            if (pass == 1)
                g->tensor[t].reader = fsim_new(r->arena, int, g->tensor[t].readers + 1);
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
        if (pass == 0)
            continue;
        for (int t = 0; t < g->tensors; t++)
            qsort(g->tensor[t].reader, (size_t)g->tensor[t].readers, sizeof(int), by_int);
    }
}

static void read_marks(reader *r, const fsim_yaml *y, const char *what, bool output)
{
    if (!y)
        return;
    if (y->kind != FSIM_YAML_SEQUENCE) {
        fsim_error(r->diag, y->at, "%s is %s; wants a list of tensor names", what, fsim_yaml_kind_name(y));
        return;
    }
    for (int i = 0; i < y->count; i++) {
        if (!is_scalar(r, y->item[i], what))
            continue;
        const char *name = y->item[i]->text;
        int id = fsim_names_get(&r->tensor, name);
        const int maker = fsim_names_get(&r->maker, name);
        if (id < 0 && (maker >= 0 || fsim_names_get(&r->broken, name) >= 0))
            continue; /* what makes it failed: said already */
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
        id = r->graph->tensor[id].storage;
        r->graph->tensor[id].used = true;
        *(output ? &r->graph->tensor[id].output : &r->graph->tensor[id].materialize) = true;
    }
}

static fsim_node_set *read_sets(reader *r, const fsim_yaml *y, const char *what, int *count)
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
            const int n = one->item[k]->kind == FSIM_YAML_SCALAR ? fsim_find_node(r->graph, one->item[k]->text) : -1;
            if (n >= 0) {
                s.node[s.count++] = n;
                continue;
            }
            const char **names = fsim_new(r->arena, const char *, r->graph->nodes + 1);
            for (int j = 0; j < r->graph->nodes; j++)
                names[j] = r->graph->node[j].name;
            const char *text = one->item[k]->kind == FSIM_YAML_SCALAR ? one->item[k]->text : "";
            fsim_error(r->diag, one->item[k]->at, "'%s': no primitive '%s'%s", what, text,
                       fsim_did_you_mean(r->arena, text, names, r->graph->nodes));
        }
        sets[(*count)++] = s;
    }
    return sets;
}

static void check_unused(reader *r)
{
    fsim_graph *g = r->graph;
    for (int t = 0; t < g->tensors; t++)
        if (!g->tensor[t].used && g->tensor[t].storage == t && g->tensor[t].producer < 0 && g->tensor[t].at.line > 0)
            fsim_warning(r->diag, g->tensor[t].at, "tensor '%s' is not used", g->tensor[t].name);
    for (int s = 0; s < g->symbols; s++)
        if (!r->symbol_used[s]) {
            bool used = false;
            for (int k = 0; r->symbols && k < r->symbols->count; k++)
                used =
                    used || strcmp(r->symbols->item[k]->text ? r->symbols->item[k]->text : "", g->symbol[s].name) == 0;
            if (!used)
                fsim_warning(r->diag, r->symbols->key[s]->at, "symbol '%s' is not used", g->symbol[s].name);
        }
}

/* A tensor that nobody reads and nobody asked for is a result, or its operator would be dead code. */
static void mark_results(reader *r, bool declared)
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

static void count_totals(fsim_graph *g)
{
    for (int t = 0; t < g->tensors; t++)
        if (g->tensor[t].role == FSIM_WEIGHT && g->tensor[t].storage == t)
            g->parameters += g->tensor[t].elems;
    for (int n = 0; n < g->nodes; n++) {
        const fsim_gemm *m = &g->node[n].gemm;
        g->contraction_flops += 2.0 * (double)m->batch * (double)m->m * (double)m->n * (double)m->k;
    }
}

static void read_workload(reader *r, const fsim_yaml *y, const fsim_binding *set, int sets)
{
    static const char *const keys[] = {"name",    "description", "symbols", "tensors",  "operators",
                                       "outputs", "materialize", "fuse",    "separate", "batch"};
    const fsim_yaml *name, *description, *ops;
    if (!is_mapping(r, y, "the workload"))
        return;
    fsim_yaml_check_keys(r->arena, r->diag, y, "a workload", keys, (int)(sizeof keys / sizeof keys[0]));
    name = fsim_yaml_get(y, "name");
    description = fsim_yaml_get(y, "description");
    ops = fsim_yaml_get(y, "operators");
    if (name && is_scalar(r, name, "'name'"))
        r->graph->name = name->text;
    if (description && is_scalar(r, description, "'description'"))
        r->graph->description = description->text;
    r->symbols = fsim_yaml_get(y, "symbols");
    read_symbols(r, r->symbols, set, sets);
    read_tensors(r, fsim_yaml_get(y, "tensors"), "");
    if (!ops || ops->kind != FSIM_YAML_SEQUENCE || ops->count == 0) {
        fsim_error(r->diag, ops ? ops->at : y->at, "a workload wants 'operators', a list of at least one");
        return;
    }
    read_operators(r, ops, NULL, "", 0);
    if (fsim_errors(r->diag) <= 20 && r->ops > 0)
        build_all(r);
    const fsim_yaml *outputs = fsim_yaml_get(y, "outputs");
    link_readers(r);
    read_marks(r, outputs, "'outputs'", true);
    read_marks(r, fsim_yaml_get(y, "materialize"), "'materialize'", false);
    if (fsim_errors(r->diag) == 0) {
        mark_results(r, outputs != NULL);
        r->graph->fuse = read_sets(r, fsim_yaml_get(y, "fuse"), "fuse", &r->graph->fuses);
        r->graph->separate = read_sets(r, fsim_yaml_get(y, "separate"), "separate", &r->graph->separates);
    }
    if (fsim_errors(r->diag) == 0)
        check_unused(r);
    count_totals(r->graph);
}

fsim_graph *fsim_graph_parse(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes,
                             const fsim_binding *set, int sets)
{
    const fsim_yaml *y = fsim_yaml_parse(a, d, path, text, bytes);
    return y ? fsim_graph_of(a, d, path, y, set, sets) : NULL;
}

fsim_graph *fsim_graph_of(fsim_arena *a, fsim_diag *d, const char *path, const fsim_yaml *y, const fsim_binding *set,
                          int sets)
{
    const int errors = fsim_errors(d);
    fsim_graph *g = fsim_new(a, fsim_graph, 1);
    reader r = {.arena = a, .diag = d, .graph = g, .build = {.arena = a, .diag = d, .graph = g}};
    g->path = path;
    g->name = "workload";
    g->description = "";
    read_workload(&r, y, set, sets);
    return fsim_errors(d) > errors ? NULL : g;
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
