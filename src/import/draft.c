/* SPDX-License-Identifier: Apache-2.0 */
#include "import/draft.h"

#include "base/names.h"
#include "base/unit.h"
#include "import/fold.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OFFERED = 8 /* dimensions that a message names */ };

/* A list or a mapping that grows. */
typedef struct {
    fsim_yaml *yaml;
    int item_room, key_room;
} growing;

/* A dimension that has no value. */
typedef struct {
    const char *name, *place;
    int64_t least, most;
} missing_dim;

typedef struct {
    const char *name;
    int count;
} counted;

/* What is assumed of operators of this name. */
typedef struct {
    const char *name, *what;
    int count;
} assumption;

struct fsim_draft {
    fsim_arena *a;
    fsim_diag *d;
    fsim_dims *dims;
    int errors; /* before the draft began */
    fsim_loc file, at;
    const char *layer, *from, *ranges_by;
    fsim_names taken; /* names that tensors have */
    fsim_names turned;
    growing tensors, operators, outputs, symbols, newest;
    missing_dim *missing;
    fsim_draft_result *expect;
    fsim_names expected; /* name -> place in expect */
    counted *unknown;
    assumption *assumed;
    const char **input; /* of the model; axes: of each */
    int *axes, inputs, input_room, axes_room;
    int missings, missing_room, expects, expect_room, unknowns, unknown_room, assumptions, assumption_room;
};

/* The tree. */

static fsim_yaml *scalar(const fsim_draft *x, const char *text)
{
    fsim_yaml *y = fsim_new(x->a, fsim_yaml, 1);
    *y = (fsim_yaml){.kind = FSIM_YAML_SCALAR, .at = x->at, .text = text};
    fsim_check_shows(x->d, x->at, text, strlen(text));
    return y;
}

static growing begin(const fsim_draft *x, fsim_yaml_kind kind)
{
    growing g = {fsim_new(x->a, fsim_yaml, 1), 0, 0};
    *g.yaml = (fsim_yaml){.kind = kind, .at = x->at};
    return g;
}

static void append(const fsim_draft *x, growing *g, fsim_yaml *item)
{
    int count = g->yaml->count;
    *FSIM_PUSH(x->a, g->yaml->item, count, g->item_room) = item;
    g->yaml->count = count;
}

static void put(const fsim_draft *x, growing *g, const char *key, fsim_yaml *item)
{
    int count = g->yaml->count;
    *FSIM_PUSH(x->a, g->yaml->key, count, g->key_room) = scalar(x, key);
    append(x, g, item);
}

static fsim_yaml *integer(const fsim_draft *x, int64_t value)
{
    return scalar(x, fsim_printf(x->a, "%" PRId64, value));
}

static fsim_yaml *integers(const fsim_draft *x, int count, const int64_t *value)
{
    growing list = begin(x, FSIM_YAML_SEQUENCE);
    for (int i = 0; i < count; i++)
        append(x, &list, integer(x, value[i]));
    return list.yaml;
}

static fsim_yaml *words(const fsim_draft *x, int count, const char *const *text)
{
    growing list = begin(x, FSIM_YAML_SEQUENCE);
    for (int i = 0; i < count; i++)
        append(x, &list, scalar(x, text[i]));
    return list.yaml;
}

/* Names. */

/* Exporters write "/encoder/layer.0/MatMul_output_0" and "onnx::MatMul_17": the path with dots, without what says
 * nothing. */
static const char *readable(const fsim_draft *x, const char *wanted)
{
    while (*wanted == '/' || *wanted == '.')
        wanted++;
    if (strncmp(wanted, "onnx::", 6) == 0)
        wanted += 6;
    char *name = fsim_strdup(x->a, *wanted ? wanted : "tensor");
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_.-+", *c))
            *c = '.';
    static const char tail[] = "_output_0";
    const size_t length = strlen(name), extra = sizeof tail - 1;
    if (length > extra && strcmp(name + length - extra, tail) == 0)
        name[length - extra] = 0;
    return name;
}

static const char *claim(fsim_draft *x, const char *wanted)
{
    const char *base = readable(x, wanted), *name = base;
    int turn = fsim_names_get(&x->taken, base);
    while (fsim_names_get(&x->taken, name) >= 0)
        name = fsim_printf(x->a, "%s_%d", base, ++turn);
    if (turn > 0)
        fsim_names_set(x->a, &x->taken, base, turn);
    fsim_names_set(x->a, &x->taken, name, 0);
    return name;
}

fsim_draft *fsim_draft_new(fsim_arena *a, fsim_diag *d, const char *path, fsim_dims *dims)
{
    fsim_draft *x = fsim_new(a, fsim_draft, 1);
    *x = (fsim_draft){.a = a, .d = d, .dims = dims, .errors = fsim_errors(d), .file = {path, 0, 0}, .at = {path, 0, 0}};
    x->tensors = begin(x, FSIM_YAML_MAPPING);
    x->symbols = begin(x, FSIM_YAML_MAPPING);
    x->operators = begin(x, FSIM_YAML_SEQUENCE);
    x->outputs = begin(x, FSIM_YAML_SEQUENCE);
    return x;
}

void fsim_draft_at(fsim_draft *x, const char *what)
{
    x->at = x->file;
    if (what)
        x->at.file = fsim_printf(x->a, "%s: %s", x->file.file, what);
}

fsim_loc fsim_draft_place(const fsim_draft *x) { return x->at; }

void fsim_draft_source(fsim_draft *x, const char *layer, const char *from)
{
    x->layer = layer;
    x->from = from;
}

const char *fsim_draft_tensor(fsim_draft *x, const char *wanted, const fsim_shape *shape, fsim_dtype dtype,
                              fsim_role role)
{
    const char *name = claim(x, wanted);
    growing tensor = begin(x, FSIM_YAML_MAPPING);
    put(x, &tensor, "shape", integers(x, shape->rank, shape->dim));
    put(x, &tensor, "dtype", scalar(x, fsim_dtype_names[dtype]));
    if (role == FSIM_WEIGHT)
        put(x, &tensor, "role", scalar(x, "weight"));
    put(x, &x->tensors, name, tensor.yaml);
    return name;
}

void fsim_draft_buffer(fsim_draft *x, const char *name)
{
    fsim_yaml *y = (fsim_yaml *)(uintptr_t)fsim_yaml_get(x->tensors.yaml, name);
    growing tensor = {y, y->count, y->count};
    put(x, &tensor, "role", scalar(x, "buffer"));
}

void fsim_draft_op_outs(fsim_draft *x, const char *op, int ins, const char *const *in, int outs, const char **out)
{
    for (int i = 0; i < outs; i++)
        out[i] = claim(x, out[i] ? out[i] : op);
    x->newest = begin(x, FSIM_YAML_MAPPING);
    put(x, &x->newest, "op", scalar(x, op));
    if (ins > 0)
        put(x, &x->newest, "in", words(x, ins, in));
    put(x, &x->newest, "out", outs == 1 ? scalar(x, out[0]) : words(x, outs, out));
    if (x->layer)
        put(x, &x->newest, "layer", scalar(x, x->layer));
    if (x->from)
        put(x, &x->newest, "from", scalar(x, x->from));
    append(x, &x->operators, x->newest.yaml);
}

const char *fsim_draft_op(fsim_draft *x, const char *op, const char *wanted, int ins, const char *const *in)
{
    fsim_draft_op_outs(x, op, ins, in, 1, &wanted);
    return wanted;
}

void fsim_draft_int(fsim_draft *x, const char *key, int64_t value) { put(x, &x->newest, key, integer(x, value)); }

void fsim_draft_ints(fsim_draft *x, const char *key, int count, const int64_t *value)
{
    put(x, &x->newest, key, integers(x, count, value));
}

/* The shortest digits that read back as the same number; always as a fraction, so that 2.0 stays one. */
void fsim_draft_number(fsim_draft *x, const char *key, double value)
{
    const char *text = fsim_printf(x->a, "%.15g", value);
    if (strtod(text, NULL) != value)
        text = fsim_printf(x->a, "%.17g", value);
    if (!strpbrk(text, ".eEni"))
        text = fsim_printf(x->a, "%s.0", text);
    put(x, &x->newest, key, scalar(x, text));
}

void fsim_draft_flag(fsim_draft *x, const char *key, bool value)
{
    put(x, &x->newest, key, scalar(x, value ? "true" : "false"));
}

void fsim_draft_word(fsim_draft *x, const char *key, const char *value) { put(x, &x->newest, key, scalar(x, value)); }

const char *fsim_draft_convolves_in(fsim_dtype dtype) { return dtype == FSIM_F32 ? "tf32" : NULL; }

void fsim_draft_output(fsim_draft *x, const char *name) { append(x, &x->outputs, scalar(x, name)); }

void fsim_draft_symbol(fsim_draft *x, const char *name, int64_t value)
{
    if (!fsim_yaml_get(x->symbols.yaml, name))
        put(x, &x->symbols, name, integer(x, value));
}

void fsim_draft_expect(fsim_draft *x, const char *name, const fsim_shape *shape, fsim_dtype dtype)
{
    fsim_names_set(x->a, &x->expected, name, x->expects);
    *FSIM_PUSH(x->a, x->expect, x->expects, x->expect_room) = (fsim_draft_result){name, *shape, dtype};
}

void fsim_draft_turn(fsim_draft *x, const char *name) { fsim_names_set(x->a, &x->turned, name, 1); }

/* The shape that a tensor has in the workload, if it is as the file says. */
static fsim_shape expected_shape(const fsim_draft *x, const fsim_draft_result *e)
{
    fsim_shape s = e->shape;
    if (s.rank > 1 && fsim_names_get(&x->turned, e->name) >= 0) {
        s.dim[s.rank - 1] = e->shape.dim[s.rank - 2];
        s.dim[s.rank - 2] = e->shape.dim[s.rank - 1];
    }
    return s;
}

bool fsim_draft_says(const fsim_draft *x, const char *name, fsim_draft_result *said)
{
    const int i = fsim_names_get(&x->expected, name);
    if (i < 0)
        return false;
    *said = x->expect[i];
    said->shape = expected_shape(x, said);
    return true;
}

/* What is not known. */

static void count_unknown(fsim_draft *x, const char *what)
{
    for (int i = 0; i < x->unknowns; i++)
        if (strcmp(x->unknown[i].name, what) == 0) {
            x->unknown[i].count++;
            return;
        }
    *FSIM_PUSH(x->a, x->unknown, x->unknowns, x->unknown_room) = (counted){what, 1};
}

void fsim_draft_assume(fsim_draft *x, const char *what, const char *assumed)
{
    for (int i = 0; i < x->assumptions; i++)
        if (strcmp(x->assumed[i].name, what) == 0 && strcmp(x->assumed[i].what, assumed) == 0) {
            x->assumed[i].count++;
            return;
        }
    *FSIM_PUSH(x->a, x->assumed, x->assumptions, x->assumption_room) = (assumption){what, assumed, 1};
}

void fsim_draft_unknown(fsim_draft *x, const char *what, int ins, const char *const *in, int outs,
                        fsim_draft_result *out)
{
    const char *from = x->from;
    x->from = what;
    for (int i = 0; i < outs; i++) { /* the first reads the inputs */
        out[i].name = fsim_draft_op(x, "custom", out[i].name, i == 0 ? ins : 0, in);
        fsim_draft_ints(x, "shape", out[i].shape.rank, out[i].shape.dim);
        fsim_draft_word(x, "dtype", fsim_dtype_names[out[i].dtype]);
    }
    x->from = from;
    count_unknown(x, what);
}

fsim_yaml *fsim_draft_copied(const fsim_draft *x, const fsim_yaml *like, int ins, const char *const *in,
                             const fsim_draft_result *out)
{
    const fsim_yaml *layer = fsim_yaml_get(like, "layer"), *from = fsim_yaml_get(like, "from");
    fsim_draft at = *x; /* nodes of the tree have like's place */
    at.at = like->at;
    x = &at;
    growing copy = begin(x, FSIM_YAML_MAPPING);
    put(x, &copy, "op", scalar(x, "custom"));
    if (ins > 0)
        put(x, &copy, "in", words(x, ins, in));
    put(x, &copy, "out", scalar(x, out->name));
    if (layer)
        put(x, &copy, "layer", scalar(x, layer->text));
    if (from)
        put(x, &copy, "from", scalar(x, from->text));
    put(x, &copy, "shape", integers(x, out->shape.rank, out->shape.dim));
    put(x, &copy, "dtype", scalar(x, fsim_dtype_names[out->dtype]));
    return copy.yaml;
}

/* A value that is likely, for the example: a small batch, a longer sequence, a larger image. */
static int64_t example_of(const missing_dim *m)
{
    static const char *const long_ones[] = {"seq", "len", "token", "past", "total", "time", "frame"};
    const char *colon = m->place ? strchr(m->place, ':') : NULL;
    const int axis = colon ? atoi(colon + 1) : 0;
    int64_t value = axis > 1 ? 224 : axis == 1 ? 128 : 8;
    for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; i++)
        value = strcasestr(m->name, long_ones[i]) ? 128 : value;
    return value < m->least ? m->least : value > m->most ? m->most : value;
}

static bool read_dim(fsim_draft *x, int which, int64_t least, int64_t most, int64_t *value)
{
    const fsim_binding *b = &x->dims->at[which];
    char *end;
    errno = 0;
    const long long number = strtoll(b->value, &end, 10);
    if (*b->value && *end == 0 && errno == 0 && number >= least && number <= most) {
        *value = number;
        return true;
    }
    *value = least;
    if (!*b->value || *end)
        fsim_failure(x->d, FSIM_BAD_INPUT, (fsim_loc){0}, "--dim %s=%s: wants a whole number", b->name, b->value);
    else
        fsim_failure(x->d, FSIM_BAD_INPUT, (fsim_loc){0}, "--dim %s=%s: the model takes %" PRId64 " %s%s", b->name,
                     b->value, number < least ? least : most, number < least ? "and more" : "at most",
                     x->ranges_by ? x->ranges_by : "");
    return true; /* the error is reported */
}

void fsim_draft_ranges_by(fsim_draft *x, const char *words) { x->ranges_by = words; }

void fsim_draft_input(fsim_draft *x, const char *name, int axes)
{
    int count = x->inputs;
    *FSIM_PUSH(x->a, x->input, count, x->input_room) = name;
    *FSIM_PUSH(x->a, x->axes, x->inputs, x->axes_room) = axes;
}

bool fsim_draft_dim(fsim_draft *x, const char *name, const char *place, int64_t least, int64_t most, int64_t *value)
{
    int last = -1; /* of several values the last one counts */
    for (int i = 0; i < x->dims->count; i++)
        if (strcmp(x->dims->at[i].name, name) == 0 || (place && strcmp(x->dims->at[i].name, place) == 0)) {
            x->dims->used[i] = true;
            last = i;
        }
    if (last >= 0)
        return read_dim(x, last, least, most, value);
    const missing_dim missing = {name, place, least, most};
    *value = x->dims->likely ? example_of(&missing) : least > 1 ? least : 1;
    if (x->dims->likely)
        return true;
    for (int i = 0; i < x->missings; i++)
        if (strcmp(x->missing[i].name, name) == 0)
            return false;
    *FSIM_PUSH(x->a, x->missing, x->missings, x->missing_room) = missing;
    return false;
}

bool fsim_draft_given(fsim_draft *x, const char *name, int64_t *value)
{
    int last = -1;
    for (int i = 0; i < x->dims->count; i++)
        if (strcmp(x->dims->at[i].name, name) == 0) {
            x->dims->used[i] = true;
            last = i;
        }
    return last >= 0 && read_dim(x, last, 0, FSIM_MAX_DIM, value);
}

bool fsim_draft_agrees(fsim_draft *x, const char *place, int64_t has, const char *why)
{
    int64_t given;
    if (!fsim_draft_given(x, place, &given) || given == has)
        return true;
    fsim_failure(x->d, FSIM_BAD_INPUT, (fsim_loc){0}, "--dim %s=%" PRId64 ": it is %" PRId64 "%s", place, given, has,
                 why);
    return false;
}

/* The finished tree. */

/* "x:0, mask:0" as a reader says it: "axis 0 of 'x' and 1 more". */
static const char *place_text(const fsim_draft *x, const char *place)
{
    if (!place)
        return "";
    int more = 0;
    for (const char *c = place; (c = strstr(c, ", ")); c += 2)
        more++;
    const char *first = fsim_strndup(x->a, place, strcspn(place, ",")), *colon = strrchr(first, ':');
    const char *text = colon ? fsim_printf(x->a, "axis %s of '%.*s'", colon + 1, (int)(colon - first), first) : first;
    return more ? fsim_printf(x->a, "%s and %d more", text, more) : text;
}

/* "1 and more", "2 to 512". */
static const char *range_text(const fsim_draft *x, const missing_dim *m)
{
    const int64_t least = m->least > 1 ? m->least : 1;
    return m->most == INT64_MAX ? fsim_printf(x->a, "%" PRId64 " and more", least)
                                : fsim_printf(x->a, "%" PRId64 " to %" PRId64, least, m->most);
}

/* A table of the dimensions without a value, and options that give each one. */
static void say_missing(fsim_draft *x)
{
    const char *example = "";
    size_t names = 0, places = 0;
    for (int i = 0; i < x->missings; i++) {
        const missing_dim *m = &x->missing[i];
        const size_t name = strlen(m->name), place = strlen(place_text(x, m->place));
        example = fsim_printf(x->a, "%s --dim %s=%" PRId64, example, m->name, example_of(m));
        names = name > names ? name : names;
        places = place > places ? place : places;
    }
    if (x->missings == 0)
        return;
    fsim_error(x->d, x->file, "%d dimension%s without a value: add%s", x->missings, x->missings > 1 ? "s are" : " is",
               example);
    for (int i = 0; i < x->missings; i++)
        fsim_note(x->d, "%-*s  %-*s%s%s", (int)names, x->missing[i].name, (int)places,
                  place_text(x, x->missing[i].place), places ? "  " : "", range_text(x, &x->missing[i]));
}

/* Why no dimension is at `place`, "x:0"; NULL where it is none. */
static const char *no_place(const fsim_draft *x, const char *place)
{
    const char *colon = strrchr(place, ':'), *known = "";
    if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")] || x->inputs == 0)
        return NULL;
    const char *name = fsim_strndup(x->a, place, (size_t)(colon - place));
    const unsigned long axis = strtoul(colon + 1, NULL, 10);
    for (int i = 0; i < x->inputs; i++) {
        if (strcmp(x->input[i], name) == 0 && axis < (unsigned long)x->axes[i])
            return fsim_printf(x->a, "the model fixes axis %lu of '%s'", axis, name);
        if (strcmp(x->input[i], name) == 0)
            return fsim_printf(x->a, "'%s' has %d axes, from 0 on", name, x->axes[i]);
        if (i < MOST_OFFERED)
            known = fsim_printf(x->a, "%s%s%s", known, i ? ", " : "; it has ", x->input[i]);
    }
    const char *nearest = fsim_did_you_mean(x->a, name, x->input, x->inputs);
    return fsim_printf(x->a, "the model has no input '%s'%s", name, *nearest ? nearest : known);
}

static void say_unused_dims(fsim_draft *x)
{
    const fsim_yaml *s = x->symbols.yaml;
    const char **names = fsim_new(x->a, const char *, s->count + x->missings + 1), *known = "";
    int count = 0;
    for (int i = 0; i < s->count; i++)
        names[count++] = s->key[i]->text;
    for (int i = 0; i < x->missings; i++)
        names[count++] = x->missing[i].name;
    for (int i = 0; i < count && i < MOST_OFFERED; i++)
        known = fsim_printf(x->a, "%s%s%s", known, i ? ", " : "; it has ", names[i]);
    for (int i = 0; i < x->dims->count; i++) {
        const fsim_binding *b = &x->dims->at[i];
        const char *nearest = fsim_did_you_mean(x->a, b->name, names, count);
        if (x->dims->used[i])
            continue;
        const char *why = no_place(x, b->name);
        if (why)
            fsim_failure(x->d, FSIM_BAD_INPUT, (fsim_loc){0}, "--dim %s=%s: %s", b->name, b->value, why);
        else
            fsim_failure(x->d, FSIM_BAD_INPUT, (fsim_loc){0}, "--dim %s=%s: the model has no dimension '%s'%s", b->name,
                         b->value, b->name,
                         *nearest    ? nearest
                         : count > 0 ? known
                                     : ": all its shapes are numbers");
    }
}

static void say_unknown(fsim_draft *x)
{
    for (int i = 0; i < x->unknowns; i++)
        fsim_warning(x->d, x->file, "operator '%s' is not known%s: it costs a copy of its inputs", x->unknown[i].name,
                     x->unknown[i].count > 1 ? fsim_printf(x->a, " (%d times)", x->unknown[i].count) : "");
}

static void say_assumed(fsim_draft *x)
{
    for (int i = 0; i < x->assumptions; i++)
        fsim_warning(x->d, x->file, "operator '%s'%s: %s", x->assumed[i].name,
                     x->assumed[i].count > 1 ? fsim_printf(x->a, " (%d times)", x->assumed[i].count) : "",
                     x->assumed[i].what);
}

/* Takes out operators whose results nobody reads, and then tensors that no operator reads: zero points that are zero,
 * scales that products do not need, and the second name of a tied weight. */
static void drop_dead(fsim_draft *x)
{
    fsim_names read = {0};
    fsim_yaml *ops = x->operators.yaml, *outputs = x->outputs.yaml;
    int kept = ops->count;
    for (int i = 0; i < outputs->count; i++)
        fsim_names_set(x->a, &read, outputs->item[i]->text, 1);
    for (int i = ops->count - 1; i >= 0; i--) {
        const fsim_yaml *out = fsim_yaml_get(ops->item[i], "out"), *in = fsim_yaml_get(ops->item[i], "in");
        bool live = outputs->count == 0 || fsim_yaml_get(ops->item[i], "effectful");
        live = live || (out->kind == FSIM_YAML_SCALAR && fsim_names_get(&read, out->text) > 0);
        for (int k = 0; k < out->count; k++)
            live = live || fsim_names_get(&read, out->item[k]->text) > 0;
        for (int k = 0; live && in && k < in->count; k++)
            fsim_names_set(x->a, &read, in->item[k]->text, 1);
        if (live)
            ops->item[--kept] = ops->item[i];
    }
    ops->item = kept ? ops->item + kept : ops->item; /* which is NULL where there are none */
    ops->count -= kept;
    fsim_yaml *tensors = x->tensors.yaml;
    int left = 0;
    for (int i = 0; i < tensors->count; i++)
        if (fsim_names_get(&read, tensors->key[i]->text) > 0) {
            tensors->key[left] = tensors->key[i];
            tensors->item[left++] = tensors->item[i];
        }
    tensors->count = left;
}

const fsim_yaml *fsim_draft_finish(fsim_draft *x, const char *name)
{
    fsim_draft_at(x, NULL);
    say_missing(x);
    say_unused_dims(x);
    if (fsim_errors(x->d) > x->errors)
        return NULL;
    say_unknown(x);
    say_assumed(x);
    drop_dead(x);
    growing root = begin(x, FSIM_YAML_MAPPING);
    put(x, &root, "name", scalar(x, name));
    if (x->symbols.yaml->count)
        put(x, &root, "symbols", x->symbols.yaml);
    put(x, &root, "tensors", x->tensors.yaml);
    put(x, &root, "operators", x->operators.yaml);
    if (x->outputs.yaml->count)
        put(x, &root, "outputs", x->outputs.yaml);
    return fsim_fold_layers(x->a, root.yaml).flat;
}

int fsim_draft_check(const fsim_draft *x, const fsim_graph *g)
{
    fsim_names at = {0};
    int differ = 0;
    for (int t = 0; t < g->tensors; t++)
        fsim_names_set(x->a, &at, g->tensor[t].name, t);
    for (int i = 0; i < x->expects; i++) {
        const fsim_draft_result *e = &x->expect[i];
        const int t = fsim_names_get(&at, e->name);
        if (t < 0)
            continue;
        const fsim_tensor *found = &g->tensor[t];
        const fsim_shape shape = expected_shape(x, e);
        const fsim_dtype dtype = e->dtype == FSIM_DTYPE_NONE ? found->dtype : e->dtype;
        const bool same = found->dtype == dtype && found->shape.rank == shape.rank &&
                          memcmp(found->shape.dim, shape.dim, (size_t)shape.rank * sizeof *shape.dim) == 0;
        if (!same && differ++ == 0)
            fsim_warning(x->d, x->file, "'%s' is %s %s in the file, and %s %s by its operator", e->name,
                         fsim_dtype_names[dtype], fsim_shape_text(x->a, &shape), fsim_dtype_names[found->dtype],
                         fsim_shape_text(x->a, &found->shape));
    }
    if (differ > 1)
        fsim_note(x->d, "so it is with %d tensors", differ);
    return differ;
}
