/* SPDX-License-Identifier: Apache-2.0 */
#include "import/torch/symbols.h"

#include "import/torch/sizes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const fsim_loc command_line = {NULL, 0, 0};

/* The range that the exporter noted for a symbol. */
static fsim_torch_range range_of(const fsim_torch_bound *b, const char *symbol)
{
    for (int i = 0; i < b->p->ranges; i++)
        if (strcmp(b->p->range[i].symbol, symbol) == 0)
            return b->p->range[i];
    return (fsim_torch_range){symbol, 0, INT64_MAX};
}

static void set(fsim_torch_bound *b, const char *symbol, int64_t value)
{
    fsim_names_set(b->a, &b->at, symbol, b->count);
    *FSIM_PUSH(b->a, b->value, b->count, b->room) = value;
}

/* Asks the draft for a symbol. place: what to match beside its name, or where it stands, for the list of what lacks. */
static void ask(fsim_torch_bound *b, const char *symbol, const char *place)
{
    const fsim_torch_range range = range_of(b, symbol);
    int64_t value;
    if (fsim_draft_dim(b->x, symbol, place, range.least, range.most, &value))
        fsim_draft_symbol(b->x, symbol, value);
    else
        b->missing = true;
    set(b, symbol, value);
}

static bool symbol_value(void *what, const char *name, int length, int64_t *value)
{
    fsim_torch_bound *b = what;
    const char *symbol = fsim_strndup(b->a, name, (size_t)length);
    if (fsim_names_get(&b->at, symbol) < 0)
        ask(b, symbol, NULL); /* depends on data: no input has it */
    *value = b->value[fsim_names_get(&b->at, symbol)];
    return true;
}

bool fsim_torch_dim_of(fsim_torch_bound *b, const fsim_torch_dim *dim, const char *what, int64_t *value)
{
    const char *why;
    *value = dim->value;
    if (!dim->expression || fsim_torch_size(dim->expression, &(fsim_torch_symbols){symbol_value, b}, value, &why))
        return true;
    fsim_error(b->d, fsim_draft_place(b->x), "'%s' has a size that cannot be worked out: %s in '%.80s'", what, why,
               dim->expression);
    return false;
}

/* Places. */

/* The tensor of the user's input i; NULL: it is none. */
static const fsim_torch_tensor *input_tensor(const fsim_torch_program *p, int i)
{
    const fsim_torch_arg *arg = &p->input[i].arg;
    const int at = p->input[i].role == FSIM_TORCH_USER && arg->kind == FSIM_TORCH_TENSOR
                       ? fsim_names_get(&p->graph.tensor_at, arg->text)
                       : -1;
    return at < 0 ? NULL : &p->graph.tensor[at];
}

/* The symbol that an expression begins with, from *at on, which moves behind it; NULL: no more. */
static const char *next_symbol(const fsim_torch_bound *b, const char **at)
{
    const char *name = *at ? strstr(*at, "Symbol('") : NULL, *end = name ? strchr(name + 8, '\'') : NULL;
    if (!end)
        return NULL;
    *at = end;
    return fsim_strndup(b->a, name + 8, (size_t)(end - name - 8));
}

/* Is the expression this symbol alone? */
static bool is_alone(const char *expression, const char *symbol)
{
    const size_t n = strlen(symbol);
    return strncmp(expression, "Symbol('", 8) == 0 && strncmp(expression + 8, symbol, n) == 0 &&
           expression[8 + n] == '\'' && strchr(expression, ')') && !strchr(expression, ')')[1];
}

/* The last entry of --dim for a place or a name; -1: none. */
static int given_at(const fsim_torch_bound *b, const char *place)
{
    for (int i = b->dims->count; i-- > 0;)
        if (strcmp(b->dims->at[i].name, place) == 0)
            return i;
    return -1;
}

static bool whole_number(const char *text, int64_t *value)
{
    char *end;
    *value = strtoll(text, &end, 10);
    return *text && *end == 0;
}

/* One symbol at a guess, for the search below. */
typedef struct {
    const char *symbol;
    int64_t value;
} guess;
static bool guessed(void *what, const char *name, int length, int64_t *value)
{
    const guess *g = what;
    *value = g->value;
    return strlen(g->symbol) == (size_t)length && memcmp(name, g->symbol, (size_t)length) == 0;
}

/* The value of the symbol at which an expression of it alone, which rises with it, is `wanted`. */
static bool solve(const char *expression, fsim_torch_range range, int64_t wanted, int64_t *value)
{
    int64_t low = range.least > 0 ? range.least : 0, high = range.most < FSIM_MAX_DIM ? range.most : FSIM_MAX_DIM, y;
    const char *why;
    while (low < high) {
        guess g = {range.symbol, low + (high - low) / 2};
        const bool good = fsim_torch_size(expression, &(fsim_torch_symbols){guessed, &g}, &y, &why);
        if (good && y < wanted)
            low = g.value + 1;
        else
            high = g.value; /* too large, or beyond 64 bits */
    }
    guess g = {range.symbol, low};
    *value = low;
    return fsim_torch_size(expression, &(fsim_torch_symbols){guessed, &g}, &y, &why) && y == wanted;
}

/* A symbol from a place whose size follows from it: "2*s - 1". False where no --dim says so. */
static bool from_derived(fsim_torch_bound *b, const char *symbol)
{
    const fsim_torch_range range = range_of(b, symbol);
    for (int i = 0; i < b->p->inputs; i++) {
        const fsim_torch_tensor *t = input_tensor(b->p, i);
        for (int k = 0; t && k < t->rank; k++) {
            const char *text = t->dim[k].expression;
            const int which = text ? given_at(b, fsim_printf(b->a, "%s:%d", t->name, k)) : -1;
            int64_t wanted, value;
            if (which < 0 || !whole_number(b->dims->at[which].value, &wanted) || !solve(text, range, wanted, &value))
                continue;
            fsim_draft_symbol(b->x, symbol, value);
            set(b, symbol, value);
            return true;
        }
    }
    return false;
}

/* Binds a symbol by its name, by a place that has its length, or by one whose length follows from it. */
static void bind_symbol(fsim_torch_bound *b, const char *symbol)
{
    const char *first = NULL, *match = NULL;
    if (fsim_names_get(&b->at, symbol) >= 0)
        return;
    for (int i = 0; i < b->p->inputs; i++) {
        const fsim_torch_tensor *t = input_tensor(b->p, i);
        for (int k = 0; t && k < t->rank; k++) {
            if (!t->dim[k].expression || !is_alone(t->dim[k].expression, symbol))
                continue;
            const char *place = fsim_printf(b->a, "%s:%d", t->name, k);
            first = first ? first : place;
            match = !match && given_at(b, place) >= 0 ? place : match;
        }
    }
    if (match || given_at(b, symbol) >= 0 || !from_derived(b, symbol))
        ask(b, symbol, match ? match : first);
}

/* Is what --dim says of a place or a symbol what it has? */
static bool check_said(fsim_torch_bound *b, int which, int64_t has, const char *why)
{
    const fsim_binding *said = &b->dims->at[which];
    int64_t wanted;
    b->dims->used[which] = true;
    if (!whole_number(said->value, &wanted) || wanted == has)
        return true;
    fsim_failure(b->d, FSIM_BAD_INPUT, command_line, "--dim %s=%s: it is %" PRId64 "%s", said->name, said->value, has,
                 why);
    return false;
}

/* What --dim says of places and of symbols agrees. */
static bool check_places(fsim_torch_bound *b)
{
    static const char other[] = " by what else is given",
                      fixed[] = " in the model; export it with dynamic_shapes to choose it";
    bool good = true;
    for (int i = 0; i < b->p->inputs; i++) {
        const fsim_torch_tensor *t = input_tensor(b->p, i);
        for (int k = 0; t && k < t->rank; k++) {
            const int which = given_at(b, fsim_printf(b->a, "%s:%d", t->name, k));
            int64_t has;
            if (which >= 0 && fsim_torch_dim_of(b, &t->dim[k], t->name, &has))
                good = check_said(b, which, has, t->dim[k].expression ? other : fixed) && good;
        }
    }
    for (int i = 0; i < b->dims->count; i++) {
        const int symbol = fsim_names_get(&b->at, b->dims->at[i].name);
        if (symbol >= 0 && given_at(b, b->dims->at[i].name) == i)
            good = check_said(b, i, b->value[symbol], other) && good;
    }
    return good;
}

bool fsim_torch_bind(fsim_torch_bound *b)
{
    const int errors = fsim_errors(b->d);
    for (int i = 0; i < b->p->inputs; i++) {
        const fsim_torch_tensor *t = input_tensor(b->p, i);
        if (t)
            fsim_draft_input(b->x, t->name, t->rank);
        for (int k = 0; t && k < t->rank; k++) {
            const char *at = t->dim[k].expression, *symbol;
            while ((symbol = next_symbol(b, &at)))
                bind_symbol(b, symbol);
        }
    }
    return (b->missing || fsim_errors(b->d) > errors || check_places(b)) && fsim_errors(b->d) == errors;
}

/* Types. */

fsim_dtype fsim_torch_dtype(int type, bool *complex)
{
    static const struct {
        int type;
        fsim_dtype is;
        bool complex;
    } rows[] = {
        {1, FSIM_U8, false},      {2, FSIM_I8, false},      {3, FSIM_I16, false},     {4, FSIM_I32, false},
        {5, FSIM_I64, false},     {6, FSIM_F16, false},     {7, FSIM_F32, false},     {8, FSIM_F64, false},
        {9, FSIM_F16, true},      {10, FSIM_F32, true},     {11, FSIM_F64, true},     {12, FSIM_BOOL, false},
        {13, FSIM_BF16, false},   {28, FSIM_I16, false},    {29, FSIM_F8E4M3, false}, {30, FSIM_F8E5M2, false},
        {31, FSIM_F8E4M3, false}, {32, FSIM_F8E5M2, false}, {33, FSIM_U8, false},     {34, FSIM_I32, false},
        {35, FSIM_I64, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type) {
            *complex = rows[i].complex;
            return rows[i].is;
        }
    *complex = false;
    return FSIM_DTYPE_NONE;
}

bool fsim_torch_shape(fsim_torch_bound *b, const fsim_torch_tensor *t, fsim_shape *shape)
{
    int64_t elems = 1;
    *shape = (fsim_shape){0};
    if (t->rank > FSIM_MAX_RANK) {
        fsim_error(b->d, fsim_draft_place(b->x), "'%s' has %d dimensions; at most %d", t->name, t->rank, FSIM_MAX_RANK);
        return false;
    }
    for (shape->rank = 0; shape->rank < t->rank; shape->rank++) {
        int64_t *dim = &shape->dim[shape->rank];
        if (!fsim_torch_dim_of(b, &t->dim[shape->rank], t->name, dim))
            return false;
        if (*dim >= 0 && *dim <= FSIM_MAX_DIM && !__builtin_mul_overflow(elems, *dim > 0 ? *dim : 1, &elems) &&
            elems <= FSIM_MAX_ELEMS)
            continue;
        fsim_error(b->d, fsim_draft_place(b->x),
                   *dim < 0 ? "'%s' has a dimension of %" PRId64 " elements"
                            : "'%s' is too large: a dimension of %" PRId64 " elements",
                   t->name, *dim);
        return false;
    }
    return true;
}
