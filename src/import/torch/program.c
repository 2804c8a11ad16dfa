/* SPDX-License-Identifier: Apache-2.0 */
/* program.c: JSON by cJSON, whose nesting is limited by itself (1,000 levels); the number of values is counted before,
 * since each takes some 80 bytes. Unknown keys are skipped, absent ones are what PyTorch's reader takes them to be. */
#include "import/torch/program.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    fsim_loc at;
    const char *where; /* "node 17 'linear_3'" */
    bool bad;
    int depth; /* graphs within graphs */
} reader;

static void complain(reader *r, const char *what, const char *wanted)
{
    if (!r->bad)
        fsim_error(r->d, r->at, "%s%s%s: wants %s; this is no program that torch.export wrote",
                   r->where ? r->where : "", r->where ? ": " : "", what, wanted);
    r->bad = true;
}

static const cJSON *get(const cJSON *object, const char *key) { return cJSON_GetObjectItemCaseSensitive(object, key); }

static const cJSON *list(reader *r, const cJSON *object, const char *key)
{
    const cJSON *y = get(object, key);
    if (y && !cJSON_IsArray(y))
        complain(r, key, "a list");
    return cJSON_IsArray(y) ? y : NULL;
}

static const cJSON *object(reader *r, const cJSON *of, const char *key)
{
    const cJSON *y = get(of, key);
    if (!cJSON_IsObject(y)) {
        complain(r, key, "an object");
        return NULL;
    }
    return y;
}

static const char *text(reader *r, const cJSON *y, const char *what)
{
    if (cJSON_IsString(y))
        return fsim_strdup(r->a, y->valuestring);
    complain(r, what, "a text");
    return "";
}

/* Integers reach 2^63 - 1, which a double holds as 2^63. */
static int64_t whole(reader *r, const cJSON *y, const char *what)
{
    if (!cJSON_IsNumber(y) || y->valuedouble != floor(y->valuedouble)) {
        complain(r, what, "an integer");
        return 0;
    }
    if (y->valuedouble >= 9.2e18)
        return INT64_MAX;
    return y->valuedouble <= -9.2e18 ? -INT64_MAX : (int64_t)y->valuedouble;
}

/* Infinities are texts. */
static double number(reader *r, const cJSON *y, const char *what)
{
    static const struct {
        const char *text;
        double is;
    } named[] = {{"Infinity", INFINITY}, {"-Infinity", -INFINITY}, {"inf", INFINITY}, {"-inf", -INFINITY}};
    if (cJSON_IsNumber(y))
        return y->valuedouble;
    for (size_t i = 0; cJSON_IsString(y) && i < sizeof named / sizeof *named; i++)
        if (strcmp(y->valuestring, named[i].text) == 0)
            return named[i].is;
    if (!cJSON_IsString(y) || (strcmp(y->valuestring, "NaN") != 0 && strcmp(y->valuestring, "nan") != 0))
        complain(r, what, "a number");
    return 0; /* a NaN that is filled in costs what a zero costs */
}

/* Arguments: an object of one key. */

static void read_arg(reader *r, const cJSON *y, fsim_torch_arg *out);

/* The items of a list, each read by `one`. */
static void read_items(reader *r, const cJSON *y, fsim_torch_arg *out,
                       void (*one)(reader *r, const cJSON *y, fsim_torch_arg *out))
{
    if (!cJSON_IsArray(y)) {
        complain(r, "an argument", "a list");
        return;
    }
    out->kind = FSIM_TORCH_LIST;
    out->item = fsim_new(r->a, fsim_torch_arg, cJSON_GetArraySize(y) + 1);
    for (const cJSON *c = y->child; c; c = c->next) {
        fsim_torch_arg *item = &out->item[out->count++];
        item->name = "";
        one(r, c, item);
    }
}

static void as_none(reader *r, const cJSON *y, fsim_torch_arg *out)
{
    (void)r;
    (void)y;
    out->kind = FSIM_TORCH_NONE;
}

static void as_tensor(reader *r, const cJSON *y, fsim_torch_arg *out)
{
    out->kind = FSIM_TORCH_TENSOR;
    out->text = text(r, get(y, "name"), "a tensor");
}

static void as_int(reader *r, const cJSON *y, fsim_torch_arg *out)
{
    out->kind = FSIM_TORCH_INT;
    out->integer = whole(r, y, "an argument");
}

static void as_float(reader *r, const cJSON *y, fsim_torch_arg *out)
{
    out->kind = FSIM_TORCH_FLOAT;
    out->number = number(r, y, "an argument");
}

static void as_bool(reader *r, const cJSON *y, fsim_torch_arg *out)
{
    (void)r;
    out->kind = FSIM_TORCH_BOOL;
    out->integer = cJSON_IsTrue(y);
}

static void as_text(reader *r, const cJSON *y, fsim_torch_arg *out)
{
    out->kind = FSIM_TORCH_TEXT;
    out->text = text(r, y, "an argument");
}

static void as_type(reader *r, const cJSON *y, fsim_torch_arg *out)
{
    out->kind = FSIM_TORCH_TYPE;
    out->integer = whole(r, y, "a dtype");
}

/* {as_name: NAME} or {as_int: 3}, as_bool, as_float. */
static void symbolic(reader *r, const cJSON *y, fsim_torch_arg *out, const char *key,
                     void (*plain)(reader *r, const cJSON *y, fsim_torch_arg *out))
{
    const cJSON *name = get(y, "as_name"), *value = get(y, key);
    if (!cJSON_IsString(name) && !value)
        complain(r, "a symbolic number", "as_name");
    else if (value)
        plain(r, value, out);
    else
        out->text = text(r, name, "a symbolic number");
}

static void as_sym_int(reader *r, const cJSON *y, fsim_torch_arg *out)
{
    out->kind = FSIM_TORCH_INT;
    symbolic(r, y, out, "as_int", as_int);
}

static void as_sym_float(reader *r, const cJSON *y, fsim_torch_arg *out)
{
    out->kind = FSIM_TORCH_FLOAT;
    symbolic(r, y, out, "as_float", as_float);
}

static void as_sym_bool(reader *r, const cJSON *y, fsim_torch_arg *out)
{
    out->kind = FSIM_TORCH_BOOL;
    symbolic(r, y, out, "as_bool", as_bool);
}

static void as_int_list(reader *r, const cJSON *y, fsim_torch_arg *out) { read_items(r, y, out, as_int); }
static void as_float_list(reader *r, const cJSON *y, fsim_torch_arg *out) { read_items(r, y, out, as_float); }

static void read_graph(reader *r, const cJSON *y, fsim_torch_graph *g);

static void as_graph(reader *r, const cJSON *y, fsim_torch_arg *out)
{
    const char *where = r->where;
    fsim_torch_graph *g = fsim_new(r->a, fsim_torch_graph, 1);
    out->kind = FSIM_TORCH_GRAPH;
    out->text = text(r, get(y, "name"), "a graph");
    out->graph = g;
    if (++r->depth > FSIM_TORCH_MAX_NESTING)
        complain(r, "a graph", "at most 16 graphs within each other");
    else if (object(r, y, "graph"))
        read_graph(r, get(y, "graph"), g);
    r->depth--;
    r->where = where;
}

static const struct {
    const char *key;
    void (*read)(reader *r, const cJSON *y, fsim_torch_arg *out);
    bool items; /* it is a list of these */
} args[] = {
    {"as_tensor", as_tensor, false},
    {"as_tensors", as_tensor, true},
    {"as_optional_tensor", read_arg, false},
    {"as_optional_tensors", read_arg, true},
    {"as_none", as_none, false},
    {"as_int", as_int, false},
    {"as_ints", as_int, true},
    {"as_int_lists", as_int_list, true},
    {"as_float", as_float, false},
    {"as_floats", as_float, true},
    {"as_float_lists", as_float_list, true},
    {"as_bool", as_bool, false},
    {"as_bools", as_bool, true},
    {"as_string", as_text, false},
    {"as_strings", as_text, true},
    {"as_operator", as_text, false},
    {"as_sym_int", as_sym_int, false},
    {"as_sym_ints", as_sym_int, true},
    {"as_sym_float", as_sym_float, false},
    {"as_sym_floats", as_sym_float, true},
    {"as_sym_bool", as_sym_bool, false},
    {"as_sym_bools", as_sym_bool, true},
    {"as_scalar_type", as_type, false},
    {"as_graph", as_graph, false},
};

static void read_arg(reader *r, const cJSON *y, fsim_torch_arg *out)
{
    out->kind = FSIM_TORCH_OTHER;
    out->name = out->name ? out->name : "";
    if (!cJSON_IsObject(y)) {
        complain(r, "an argument", "an object of one key, such as as_tensor");
        return;
    }
    const cJSON *value = y->child;
    while (value && value->next && cJSON_IsNull(value))
        value = value->next; /* other writers may list all keys */
    for (size_t i = 0; value && i < sizeof args / sizeof *args; i++)
        if (strcmp(value->string, args[i].key) == 0) {
            if (args[i].items)
                read_items(r, value, out, args[i].read);
            else
                args[i].read(r, value, out);
            return;
        }
}

/* A list of arguments under a key. */
static fsim_torch_arg *read_args(reader *r, const cJSON *of, const char *key, int *count)
{
    const cJSON *y = list(r, of, key);
    fsim_torch_arg *arg = fsim_new(r->a, fsim_torch_arg, (y ? cJSON_GetArraySize(y) : 0) + 1);
    *count = 0;
    for (const cJSON *c = y ? y->child : NULL; c && !r->bad; c = c->next)
        read_arg(r, c, &arg[(*count)++]);
    return arg;
}

/* Nodes. */

/* Inputs are {name, arg, kind}. */
static void read_inputs(reader *r, const cJSON *y, fsim_torch_node *n)
{
    const cJSON *ins = list(r, y, "inputs");
    n->in = fsim_new(r->a, fsim_torch_arg, (ins ? cJSON_GetArraySize(ins) : 0) + 1);
    for (const cJSON *c = ins ? ins->child : NULL; c && !r->bad; c = c->next) {
        fsim_torch_arg *arg = &n->in[n->ins++];
        const cJSON *name = get(c, "name");
        arg->name = cJSON_IsString(name) ? fsim_strdup(r->a, name->valuestring) : "";
        read_arg(r, get(c, "arg"), arg);
    }
}

/* "KEY,PATH,CLASS;KEY,PATH,CLASS": the last path. A key may hold commas in brackets, a class too, so it is counted from
 * the first; NULL where there is none. */
static const char *innermost(reader *r, const cJSON *y)
{
    const cJSON *stack = get(get(y, "metadata"), "nn_module_stack");
    if (!cJSON_IsString(stack))
        return NULL;
    const char *last = strrchr(stack->valuestring, ';');
    last = last ? last + 1 : stack->valuestring;
    const char *path = strchr(last, ','), *end = path ? strchr(path + 1, ',') : NULL;
    if (!end || end == path + 1)
        return NULL;
    return fsim_strndup(r->a, path + 1, (size_t)(end - path - 1));
}

/* A text of JSON behind "KEY": at *p, which is moved behind it. NULL: it is not there. In the arena. */
static const char *noted(reader *r, const char **p, const char *key)
{
    const char *from = *p + strspn(*p, " ,[{");
    const size_t length = strlen(key);
    if (*from++ != '"' || strncmp(from, key, length) != 0 || from[length] != '"')
        return NULL;
    from += length + 1;
    from += strspn(from, ": ");
    const size_t bytes = *from == '"' ? strcspn(from + 1, "\"\\") : 0;
    if (*from != '"' || from[1 + bytes] != '"')
        return NULL;
    *p = from + bytes + 2;
    return fsim_strndup(r->a, from + 1, bytes);
}

/* metadata.from_node is JSON as a text: [{"name": NAME, "target": TARGET, ...}], the nearest node that it is from. */
static void read_origin(reader *r, const cJSON *y, fsim_torch_node *n)
{
    const cJSON *from = get(get(y, "metadata"), "from_node");
    if (!cJSON_IsString(from))
        return;
    const char *p = from->valuestring, *name = noted(r, &p, "name");
    n->origin_target = name ? noted(r, &p, "target") : NULL;
    n->origin = n->origin_target ? name : NULL;
}

static void read_node(reader *r, const cJSON *y, fsim_torch_node *n, int number)
{
    const cJSON *name = get(y, "name"), *target = get(y, "target");
    r->where = fsim_printf(r->a, "node %d", number);
    if (cJSON_IsString(name))
        r->where = fsim_printf(r->a, "node %d '%s'", number, name->valuestring);
    n->target = text(r, target, "target");
    if (strncmp(n->target, "torch.ops.", 10) == 0)
        n->target += 10;
    n->layer = innermost(r, y);
    read_origin(r, y, n);
    read_inputs(r, y, n);
    n->out = read_args(r, y, "outputs", &n->outs);
}

/* {as_int: 3}, {as_expr: {expr_str: TEXT, hint}}, {as_bool: true}. */
static fsim_torch_dim read_dim(reader *r, const cJSON *y)
{
    const cJSON *expression = get(y, "as_expr"), *value = get(y, "as_int"), *flag = get(y, "as_bool");
    if (expression)
        return (fsim_torch_dim){text(r, get(expression, "expr_str"), "a size"), 0};
    if (flag || cJSON_IsNumber(get(y, "as_float")))
        return (fsim_torch_dim){NULL, flag ? cJSON_IsTrue(flag) : (int64_t)fmin(get(y, "as_float")->valuedouble, 1e15)};
    return (fsim_torch_dim){NULL, whole(r, value, "a size")};
}

static void read_tensor(reader *r, const cJSON *y, fsim_torch_tensor *t)
{
    const cJSON *sizes = list(r, y, "sizes"), *layout = get(y, "layout");
    t->name = fsim_strdup(r->a, y->string ? y->string : "");
    r->where = t->name;
    t->type = (int)whole(r, get(y, "dtype"), "dtype");
    t->layout = layout ? (int)whole(r, layout, "layout") : 7;
    t->dim = fsim_new(r->a, fsim_torch_dim, (sizes ? cJSON_GetArraySize(sizes) : 0) + 1);
    for (const cJSON *c = sizes ? sizes->child : NULL; c && !r->bad; c = c->next)
        t->dim[t->rank++] = read_dim(r, c);
}

static int children(const cJSON *y) { return cJSON_IsObject(y) ? cJSON_GetArraySize(y) : 0; }

static void read_tensors(reader *r, const cJSON *y, fsim_torch_graph *g)
{
    const cJSON *values = object(r, y, "tensor_values");
    g->tensor = fsim_new(r->a, fsim_torch_tensor, children(values) + 1);
    for (const cJSON *c = values ? values->child : NULL; c && !r->bad; c = c->next) {
        fsim_torch_tensor *t = &g->tensor[g->tensors];
        read_tensor(r, c, t);
        if (fsim_names_set(r->a, &g->tensor_at, t->name, g->tensors++) >= 0)
            complain(r, "tensor_values", "names that differ");
    }
}

static void read_numbers(reader *r, const cJSON *y, fsim_torch_graph *g)
{
    static const char *const tables[] = {"sym_int_values", "sym_bool_values", "sym_float_values"};
    int count = 0;
    for (int i = 0; i < 3; i++)
        count += children(get(y, tables[i]));
    g->number = fsim_new(r->a, fsim_torch_number, count + 1);
    for (int i = 0; i < 3; i++)
        for (const cJSON *c = count ? get(y, tables[i]) : NULL, *v = c ? c->child : NULL; v && !r->bad; v = v->next) {
            fsim_torch_number *n = &g->number[g->numbers];
            n->name = fsim_strdup(r->a, v->string ? v->string : "");
            r->where = n->name;
            n->is = read_dim(r, v);
            fsim_names_set(r->a, &g->number_at, n->name, g->numbers++);
        }
}

static void read_graph(reader *r, const cJSON *y, fsim_torch_graph *g)
{
    r->where = NULL;
    g->in = read_args(r, y, "inputs", &g->ins);
    g->out = read_args(r, y, "outputs", &g->outs);
    read_tensors(r, y, g);
    read_numbers(r, y, g);
    const cJSON *nodes = list(r, y, "nodes");
    g->node = fsim_new(r->a, fsim_torch_node, (nodes ? cJSON_GetArraySize(nodes) : 0) + 1);
    for (const cJSON *c = nodes ? nodes->child : NULL; c && !r->bad; c = c->next) {
        read_node(r, c, &g->node[g->nodes], g->nodes);
        g->nodes++;
    }
    r->where = NULL;
}

/* The signature: what the graph's inputs and outputs are. */

static const struct {
    const char *key, *name;
    fsim_torch_role role;
} in_specs[] = {
    {"parameter", "parameter_name", FSIM_TORCH_PARAMETER},
    {"buffer", "buffer_name", FSIM_TORCH_BUFFER},
    {"tensor_constant", "tensor_constant_name", FSIM_TORCH_CONSTANT},
    {"user_input", NULL, FSIM_TORCH_USER},
    {"constant_input", "name", FSIM_TORCH_USER},
    {"custom_obj", "custom_obj_name", FSIM_TORCH_USER},
    {"token", NULL, FSIM_TORCH_USER},
};

static void read_in_spec(reader *r, const cJSON *y, fsim_torch_input *in)
{
    const cJSON *spec = cJSON_IsObject(y) ? y->child : NULL;
    while (spec && spec->next && cJSON_IsNull(spec))
        spec = spec->next;
    in->role = FSIM_TORCH_USER;
    in->arg = (fsim_torch_arg){.kind = FSIM_TORCH_OTHER, .name = ""};
    for (size_t i = 0; spec && i < sizeof in_specs / sizeof *in_specs; i++) {
        if (strcmp(spec->string, in_specs[i].key) != 0)
            continue;
        const cJSON *arg = get(spec, "arg");
        in->role = in_specs[i].role;
        if (in->role == FSIM_TORCH_USER && arg && i == 3) {
            read_arg(r, arg, &in->arg);
        } else if (in->role != FSIM_TORCH_USER) {
            as_tensor(r, arg, &in->arg);
            in->name = text(r, get(spec, in_specs[i].name), in_specs[i].name);
        }
    }
}

/* A result {arg: {as_tensor: {name}}}, or a mutation {arg: {name}, buffer_name}. */
static void read_out_spec(reader *r, const cJSON *y, fsim_torch_output *out)
{
    const cJSON *spec = cJSON_IsObject(y) ? y->child : NULL;
    while (spec && spec->next && cJSON_IsNull(spec))
        spec = spec->next;
    const cJSON *arg = get(spec, "arg"), *buffer = get(spec, "buffer_name"), *input = get(spec, "user_input_name");
    out->arg = (fsim_torch_arg){.kind = FSIM_TORCH_OTHER, .name = ""};
    if (!arg)
        return; /* a token */
    if (cJSON_IsString(get(arg, "name")))
        as_tensor(r, arg, &out->arg);
    else
        read_arg(r, arg, &out->arg);
    out->mutation = buffer || input;
    if (out->mutation)
        out->name = text(r, buffer ? buffer : input, "a mutation");
}

static void read_signature(reader *r, const cJSON *y, fsim_torch_program *p)
{
    r->where = "signature";
    const cJSON *in = list(r, y, "input_specs"), *out = list(r, y, "output_specs");
    p->input = fsim_new(r->a, fsim_torch_input, (in ? cJSON_GetArraySize(in) : 0) + 1);
    p->output = fsim_new(r->a, fsim_torch_output, (out ? cJSON_GetArraySize(out) : 0) + 1);
    for (const cJSON *c = in ? in->child : NULL; c && !r->bad; c = c->next)
        read_in_spec(r, c, &p->input[p->inputs++]);
    for (const cJSON *c = out ? out->child : NULL; c && !r->bad; c = c->next)
        read_out_spec(r, c, &p->output[p->outputs++]);
    r->where = NULL;
}

static void read_ranges(reader *r, const cJSON *y, fsim_torch_program *p)
{
    p->range = fsim_new(r->a, fsim_torch_range, children(y) + 1);
    for (const cJSON *c = y ? y->child : NULL; c && cJSON_IsObject(y); c = c->next) {
        const cJSON *least = get(c, "min_val"), *most = get(c, "max_val");
        p->range[p->ranges++] = (fsim_torch_range){fsim_strdup(r->a, c->string ? c->string : ""),
                                                   cJSON_IsNumber(least) ? whole(r, least, "min_val") : 0,
                                                   cJSON_IsNumber(most) ? whole(r, most, "max_val") : INT64_MAX};
    }
}

static bool check_version(reader *r, const cJSON *root)
{
    const cJSON *schema = get(root, "schema_version"), *major = get(schema, "major"), *minor = get(schema, "minor");
    if (!cJSON_IsNumber(major)) {       /* the oldest files lack it in part */
        if (get(root, "torch_version")) /* which only newer ones have */
            fsim_warning(r->d, r->at, "the program does not say its schema; read as one of schema %d",
                         FSIM_TORCH_NEWEST_SCHEMA);
        return true;
    }
    if (major->valuedouble >= FSIM_TORCH_OLDEST_SCHEMA && major->valuedouble <= FSIM_TORCH_NEWEST_SCHEMA)
        return true;
    const cJSON *torch = get(root, "torch_version");
    fsim_error(r->d, r->at, "the program is of schema %.0f.%.0f, written by PyTorch %s; schemas %d to %d are known",
               major->valuedouble, cJSON_IsNumber(minor) ? minor->valuedouble : 0,
               cJSON_IsString(torch) ? torch->valuestring : "of another version", FSIM_TORCH_OLDEST_SCHEMA,
               FSIM_TORCH_NEWEST_SCHEMA);
    return false;
}

static const fsim_torch_program *read_program(reader *r, const cJSON *root)
{
    fsim_torch_program *p = fsim_new(r->a, fsim_torch_program, 1);
    if (!check_version(r, root))
        return NULL;
    const cJSON *module = object(r, root, "graph_module"), *torch = get(root, "torch_version");
    const cJSON *graph = module ? object(r, module, "graph") : NULL;
    const cJSON *signature = graph ? object(r, module, "signature") : NULL;
    if (!signature)
        return NULL;
    p->version = cJSON_IsString(torch) ? fsim_strdup(r->a, torch->valuestring) : NULL;
    read_graph(r, graph, &p->graph);
    read_signature(r, signature, p);
    read_ranges(r, get(root, "range_constraints"), p);
    return r->bad ? NULL : p;
}

static bool few_values(const char *json, size_t bytes)
{
    size_t values = 1;
    for (size_t i = 0; i < bytes; i++)
        values += json[i] == ',' || json[i] == '[' || json[i] == '{';
    return values <= FSIM_TORCH_MAX_VALUES;
}

static void discard(void *tree) { cJSON_Delete(tree); }

const fsim_torch_program *fsim_torch_parse(fsim_arena *a, fsim_diag *d, const char *path, const char *json,
                                           size_t bytes)
{
    reader r = {.a = a, .d = d, .at = {path, 0, 0}};
    if (!few_values(json, bytes)) {
        fsim_error(d, r.at, "the program's JSON has more than %d values", FSIM_TORCH_MAX_VALUES);
        return NULL;
    }
    const char *stop = json;
    cJSON *tree = cJSON_ParseWithLengthOpts(json, bytes, &stop, false);
    if (!cJSON_IsObject(tree)) {
        const size_t offset = stop >= json && stop <= json + bytes ? (size_t)(stop - json) : 0;
        if (bytes == 0)
            fsim_error(d, r.at, "the program in the archive is empty");
        else if (tree)
            fsim_error(d, r.at,
                       "the program in the archive is JSON, but no object; this is none that torch.export wrote");
        else
            fsim_error(d, r.at, "the program in the archive is no JSON at byte %zu of %zu: cut short or damaged",
                       offset, bytes);
        cJSON_Delete(tree);
        return NULL;
    }
    fsim_resource guard;
    fsim_guard(&guard, discard, tree);
    const fsim_torch_program *p = read_program(&r, tree);
    fsim_release(&guard);
    return p;
}
