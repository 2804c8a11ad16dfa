/* SPDX-License-Identifier: Apache-2.0 */
/* dims.c: dimensions of an ONNX model that are not numbers: names ("batch"), expressions of names ("seq*batch"), and
 * those about which the file says nothing. */
#include "import/onnx/import.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_NESTING = 32 };

/* An expression that is read. `ask`: names without a value are asked for, at `place`; NULL: which is none. */
typedef struct {
    fsim_onnx_import *m;
    const char *p, *place;
    bool ask;
    int nesting;
    bool solves;         /* what --dim says of names is known, */
    const char *unknown; /* and of the first other name without a value */
    int64_t guess;       /* the value is this, */
    bool guesses;        /* where there is one */
} reader;

static bool read_sum(reader *r, int64_t *value);

static char peek(reader *r)
{
    while (isspace((unsigned char)*r->p))
        r->p++;
    return *r->p;
}

static bool accept(reader *r, const char *text)
{
    peek(r);
    const size_t length = strlen(text);
    if (strncmp(r->p, text, length) != 0)
        return false;
    r->p += length;
    return true;
}

/* The value of a name; where it has none and may be asked for, that of --dim. */
static bool named(reader *r, const char *name, int64_t *value)
{
    fsim_onnx_import *m = r->m;
    const int at = fsim_names_get(&m->dims, name);
    if (at >= 0) {
        *value = m->dim_value[at];
        return true;
    }
    if (r->solves && fsim_draft_given(m->x, name, value))
        return true;
    if (!r->ask) {
        r->unknown = r->unknown ? r->unknown : name;
        *value = r->guess;
        return r->guesses && strcmp(r->unknown, name) == 0;
    }
    if (fsim_draft_dim(m->x, name, r->place, 1, FSIM_MAX_DIM, value))
        fsim_draft_symbol(m->x, name, *value);
    else
        m->dims_missing = true;
    fsim_names_set(m->a, &m->dims, name, m->dim_count);
    *FSIM_PUSH(m->a, m->dim_value, m->dim_count, m->dim_room) = *value;
    return true;
}

/* max(a, b), min(a, b), floor(a), ceil(a), as exporters write them with large and small letters. */
static bool read_call(reader *r, const char *name, int64_t *value)
{
    const bool most = strcasecmp(name, "max") == 0, least = strcasecmp(name, "min") == 0;
    if (!most && !least && strcasecmp(name, "floor") != 0)
        return false;
    if (!read_sum(r, value))
        return false;
    while ((most || least) && accept(r, ",")) {
        int64_t other;
        if (!read_sum(r, &other))
            return false;
        if (most ? other > *value : other < *value)
            *value = other;
    }
    return accept(r, ")");
}

static bool read_word(reader *r, int64_t *value)
{
    const char *from = r->p;
    while (isalnum((unsigned char)*r->p) || (*r->p && strchr("_.:", *r->p)))
        r->p++;
    const char *name = fsim_strndup(r->m->a, from, (size_t)(r->p - from));
    return accept(r, "(") ? read_call(r, name, value) : named(r, name, value);
}

static bool read_factor(reader *r, int64_t *value)
{
    const char c = peek(r);
    if (r->nesting >= MAX_NESTING)
        return false;
    if (accept(r, "(")) {
        r->nesting++;
        const bool good = read_sum(r, value) && accept(r, ")");
        r->nesting--;
        return good;
    }
    if (isalpha((unsigned char)c) || c == '_')
        return read_word(r, value);
    if (!isdigit((unsigned char)c))
        return false;
    for (*value = 0; isdigit((unsigned char)*r->p); r->p++)
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *r->p - '0', value))
            return false;
    return true;
}

/* Rounds down, as Python does. */
static bool divide(int64_t by, int64_t *value)
{
    if (by <= 0)
        return false;
    *value = *value / by - (*value % by < 0);
    return true;
}

static bool read_product(reader *r, int64_t *value)
{
    if (!read_factor(r, value))
        return false;
    for (;;) {
        int64_t with;
        if (accept(r, "//") || accept(r, "/")) {
            if (!read_factor(r, &with) || !divide(with, value))
                return false;
        } else if (accept(r, "%")) {
            if (!read_factor(r, &with) || with <= 0)
                return false;
            *value = (*value % with + with) % with;
        } else if (accept(r, "*")) {
            if (!read_factor(r, &with) || __builtin_mul_overflow(*value, with, value))
                return false;
        } else {
            return true;
        }
    }
}

static bool read_sum(reader *r, int64_t *value)
{
    int64_t with;
    *value = 0;
    if (accept(r, "-")) {
        if (!read_product(r, &with))
            return false;
        *value = -with;
    } else if (!read_product(r, value)) {
        return false;
    }
    for (;;) {
        const bool plus = accept(r, "+"), minus = !plus && accept(r, "-");
        if (!plus && !minus)
            return true;
        if (!read_product(r, &with))
            return false;
        if (plus ? __builtin_add_overflow(*value, with, value) : __builtin_sub_overflow(*value, with, value))
            return false;
    }
}

/* Is a dimension's name more than a name? A '-' may be part of one. */
static bool is_expression(const char *text) { return strpbrk(text, "+*/%()") || strstr(text, " - "); }

static bool evaluate(reader *r, const char *text, int64_t *value)
{
    if (!is_expression(text))
        return named(r, text, value);
    r->p = text;
    return read_sum(r, value) && peek(r) == 0;
}

/* The value of a dimension that is an expression of names ("seq*batch", "past + 1"). False where a name has no value,
 * or the text is none; no message. */
static bool dim_value(fsim_onnx_import *m, const char *text, int64_t *value)
{
    return evaluate(&(reader){.m = m}, text, value);
}

static void set_name(fsim_onnx_import *m, const char *name, int64_t value)
{
    fsim_draft_symbol(m->x, name, value);
    fsim_names_set(m->a, &m->dims, name, m->dim_count);
    *FSIM_PUSH(m->a, m->dim_value, m->dim_count, m->dim_room) = value;
}

/* Sets the name without a value at which an expression, which rises with it, is what --dim says of its place: the least
 * such value. Of several names without one none is set. */
static void solve(fsim_onnx_import *m, const char *text, const char *place, int64_t wanted)
{
    reader r = {.m = m, .solves = true};
    int64_t low = 0, high = FSIM_MAX_DIM, value;
    if (evaluate(&r, text, &value) || !r.unknown)
        return;
    reader found = {.m = m, .solves = true, .unknown = r.unknown, .guess = high, .guesses = true};
    while (low < high) {
        found.guess = low + (high - low) / 2;
        if (evaluate(&found, text, &value) && value < wanted)
            low = found.guess + 1;
        else
            high = found.guess; /* too large, or beyond 64 bits */
    }
    found.guess = low;
    const bool alone = evaluate(&found, text, &value);
    if (alone && value == wanted)
        set_name(m, r.unknown, low);
    else if (alone)
        fsim_error(m->d, fsim_draft_place(m->x), "--dim %s=%" PRId64 ": no '%s' makes '%s' so long", place, wanted,
                   r.unknown, text);
}

/* Binds names by what --dim says of places: of those that a name has, and of those whose size follows from one. */
static void bind_by_places(fsim_onnx_import *m, const fsim_onnx_value *const *in, int ins)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < ins; i++)
            for (int k = 0; k < in[i]->type->dims; k++) {
                const fsim_onnx_dim *d = &in[i]->type->dim[k];
                const char *place = fsim_printf(m->a, "%s:%d", in[i]->name, k);
                int64_t given, known;
                if (d->kind != FSIM_ONNX_DIM_NAME || !*d->name || is_expression(d->name) != (pass == 1) ||
                    !fsim_draft_given(m->x, place, &given))
                    continue;
                if (pass == 1)
                    solve(m, d->name, place, given);
                else if (!fsim_draft_given(m->x, d->name, &known) && fsim_names_get(&m->dims, d->name) < 0)
                    set_name(m, d->name, given);
            }
}

/* Reports where what --dim says of a place is not so. */
static bool check_places(fsim_onnx_import *m, const fsim_onnx_value *const *in, int ins, const fsim_shape *shape)
{
    bool good = true;
    for (int i = 0; i < ins; i++)
        for (int k = 0; k < in[i]->type->dims; k++) {
            const fsim_onnx_dim *d = &in[i]->type->dim[k];
            if (d->kind == FSIM_ONNX_DIM_NAME && *d->name)
                good = fsim_draft_agrees(m->x, fsim_printf(m->a, "%s:%d", in[i]->name, k), shape[i].dim[k],
                                         fsim_printf(m->a, ", by what else is given for '%s'", d->name)) &&
                       good;
        }
    return good;
}

bool fsim_onnx_stated(fsim_onnx_import *m, const fsim_onnx_type *type, fsim_shape *shape)
{
    if (!type || type->kind != FSIM_ONNX_TENSOR || !type->known || type->dims > FSIM_MAX_RANK)
        return false;
    shape->rank = type->dims;
    for (int i = 0; i < type->dims; i++) {
        const fsim_onnx_dim *d = &type->dim[i];
        shape->dim[i] = d->number;
        if (d->kind == FSIM_ONNX_DIM_UNKNOWN ||
            (d->kind == FSIM_ONNX_DIM_NAME && !dim_value(m, d->name, &shape->dim[i])) || shape->dim[i] < 0)
            return false;
    }
    return true;
}

static bool bind_dim(fsim_onnx_import *m, const fsim_onnx_value *in, int axis, bool expressions, int64_t *value)
{
    const fsim_onnx_dim *d = &in->type->dim[axis];
    const char *place = fsim_printf(m->a, "%s:%d", in->name, axis);
    if (d->kind == FSIM_ONNX_DIM_NUMBER) {
        *value = d->number;
    } else if (d->kind == FSIM_ONNX_DIM_UNKNOWN || !*d->name) {
        if (!expressions && !fsim_draft_dim(m->x, place, place, 1, FSIM_MAX_DIM, value))
            m->dims_missing = true;
    } else if (is_expression(d->name) == expressions &&
               !evaluate(&(reader){.m = m, .ask = true, .place = expressions ? NULL : place}, d->name, value)) {
        fsim_error(m->d, fsim_draft_place(m->x), "dimension '%s' of input '%s' is no expression of names", d->name,
                   in->name);
        return false;
    }
    if ((d->kind == FSIM_ONNX_DIM_NUMBER || expressions) && (*value < 0 || *value > FSIM_MAX_DIM)) {
        fsim_error(m->d, fsim_draft_place(m->x), "dimension %d of input '%s' is %" PRId64, axis, in->name, *value);
        return false;
    }
    return true;
}

/* Names come first, so that expressions find them. */
bool fsim_onnx_bind(fsim_onnx_import *m, const fsim_onnx_value *const *in, int ins, fsim_shape *shape)
{
    for (int i = 0; i < ins; i++)
        fsim_draft_input(m->x, in[i]->name, in[i]->type->dims);
    const int errors = fsim_errors(m->d);
    bind_by_places(m, in, ins);
    if (fsim_errors(m->d) > errors)
        return false;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < ins; i++) {
            shape[i].rank = in[i]->type->dims;
            for (int k = 0; k < in[i]->type->dims; k++)
                if (!bind_dim(m, in[i], k, pass == 1, &shape[i].dim[k]))
                    return false;
        }
    return m->dims_missing || check_places(m, in, ins, shape);
}

const fsim_onnx_type *fsim_onnx_stated_type(const fsim_onnx_call *c, int k)
{
    const fsim_onnx_import *m = c->m;
    const fsim_onnx_graph *g = m->proto->graph;
    const int at = m->scope == m->main && k < c->outs ? fsim_names_get(&m->stated, c->node->out[k]) : -1;
    return at < 0 ? NULL : at < g->values ? g->value[at].type : g->out[at - g->values].type;
}

int64_t fsim_onnx_ask(fsim_onnx_call *c, int k, int axis, int64_t most)
{
    fsim_onnx_import *m = c->m;
    const char *place = fsim_printf(c->a, "%s:%d", c->node->out[k], axis), *name = place;
    const fsim_onnx_type *type = fsim_onnx_stated_type(c, k);
    int64_t number;
    if (type && type->known && axis < type->dims && type->dim[axis].kind == FSIM_ONNX_DIM_NUMBER)
        return type->dim[axis].number;
    if (type && type->known && axis < type->dims && type->dim[axis].kind == FSIM_ONNX_DIM_NAME)
        name = type->dim[axis].name;
    if (dim_value(m, name, &number))
        return number;
    return named(&(reader){.m = m, .ask = true, .place = place}, name, &number) && number <= most ? number : most;
}
