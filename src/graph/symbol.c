/* SPDX-License-Identifier: Apache-2.0 */
/* symbol.c: symbols, and single values of a workload: integers as expressions, numbers, flags, dtypes. */
#include "graph/reader.h"

#include "input/expr.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool fsim_want_mapping(fsim_reader *r, const fsim_yaml *y, const char *what)
{
    if (y->kind == FSIM_YAML_MAPPING)
        return true;
    fsim_error(r->diag, y->at, "%s is %s; wants a mapping", what, fsim_yaml_kind_name(y));
    return false;
}

bool fsim_want_scalar(fsim_reader *r, const fsim_yaml *y, const char *what)
{
    if (y->kind == FSIM_YAML_SCALAR)
        return true;
    fsim_error(r->diag, y->at, "%s is %s; wants a single value", what, fsim_yaml_kind_name(y));
    return false;
}

static bool symbol_value(const void *scope, const char *name, int64_t *value)
{
    const fsim_reader *r = scope;
    const int i = fsim_names_get(&r->symbol, name);
    if (i < 0 || i >= r->graph->symbols || r->graph->symbol[i].dtype != FSIM_DTYPE_NONE)
        return false;
    r->symbol_used[i] = true;
    *value = r->graph->symbol[i].value;
    return true;
}

/* The dtype that a name is, or that the symbol of that name stands for; -1: none. */
static int symbol_dtype(const void *scope, const char *name)
{
    const fsim_reader *r = scope;
    const int i = fsim_names_get(&r->symbol, name);
    fsim_dtype t;
    if (i < 0)
        return fsim_dtype_parse(name, &t) ? (int)t : -1;
    if (i >= r->graph->symbols || r->graph->symbol[i].dtype == FSIM_DTYPE_NONE)
        return -1;
    r->symbol_used[i] = true;
    return (int)r->graph->symbol[i].dtype;
}

static fsim_scope scope_of(const fsim_reader *r)
{
    return (fsim_scope){symbol_value, r, r->symbol_names, r->graph->symbols, symbol_dtype};
}

bool fsim_read_int(fsim_reader *r, const fsim_yaml *y, const char *what, int64_t *value)
{
    const fsim_scope scope = scope_of(r);
    return fsim_want_scalar(r, y, what) && fsim_eval(r->arena, r->diag, y->at, y->text, &scope, value);
}

/* The dtype that the symbol was to have: the file's, where --set or --dim replaces a dtype by something else, or what
 * other programs call so. FSIM_DTYPE_NONE: it is a number. */
static fsim_dtype dtype_meant(const fsim_reader *r, const char *in_file, const char *text)
{
    fsim_dtype t;
    if (in_file != text && fsim_dtype_parse(in_file, &t))
        return t;
    return fsim_names_get(&r->symbol, text) < 0 ? fsim_dtype_elsewhere(text) : FSIM_DTYPE_NONE;
}

/* in_file: its text there; text: that, or what --set or --dim says. */
static void read_symbol(fsim_reader *r, const fsim_yaml *key, const char *in_file, const char *text, fsim_loc at)
{
    fsim_graph *g = r->graph;
    fsim_symbol s = {.name = key->text, .dtype = FSIM_DTYPE_NONE};
    const bool is_dtype = fsim_dtype_parse(text, &s.dtype);
    if (!is_dtype && (s.dtype = dtype_meant(r, in_file, text)) != FSIM_DTYPE_NONE) {
        fsim_error(r->diag, at, "%s%s", in_file == text ? "" : fsim_printf(r->arena, "%s=%s: ", s.name, text),
                   fsim_unknown_dtype(r->arena, text));
    } else if (!is_dtype) {
        const fsim_scope scope = scope_of(r);
        s.dtype = FSIM_DTYPE_NONE;
        if (!fsim_eval(r->arena, r->diag, at, text, &scope, &s.value)) {
            s.value = 1;
            if (in_file != text)
                fsim_note(r->diag, "in %s=%s", s.name, text);
        }
    }
    r->symbol_names[g->symbols] = s.name;
    fsim_names_set(r->arena, &r->symbol, s.name, g->symbols);
    g->symbol[g->symbols++] = s;
}

/* "; did you mean 'B'?", or "; it has B, S, H". */
static const char *known_symbols(const fsim_reader *r, const char *name)
{
    enum { MOST_OFFERED = 8 };
    const int count = r->graph->symbols;
    const char *nearest = fsim_did_you_mean(r->arena, name, r->symbol_names, count), *all = "";
    if (*nearest)
        return nearest;
    for (int i = 0; i < count && i < MOST_OFFERED; i++)
        all = fsim_printf(r->arena, "%s%s%s", all, i ? ", " : "; it has ", r->symbol_names[i]);
    return count > MOST_OFFERED ? fsim_printf(r->arena, "%s ...", all) : all;
}

void fsim_read_symbols(fsim_reader *r, const fsim_yaml *y, const fsim_bindings *set)
{
    fsim_graph *g = r->graph;
    const int count = y && y->kind == FSIM_YAML_MAPPING ? y->count : 0, sets = set ? set->count : 0;
    g->symbol = fsim_new(r->arena, fsim_symbol, count + 1);
    r->symbol_names = fsim_new(r->arena, const char *, count + 1);
    r->symbol_used = fsim_new(r->arena, bool, count + 1);
    if (y && !fsim_want_mapping(r, y, "'symbols'"))
        return;
    for (int i = 0; i < count; i++) {
        const char *text = y->item[i]->text;
        fsim_loc at = y->item[i]->at;
        if (!fsim_want_scalar(r, y->item[i], "a symbol"))
            continue;
        for (int s = 0; s < sets; s++)
            if (strcmp(set->at[s].name, y->key[i]->text) == 0) {
                text = set->at[s].value;
                at = (fsim_loc){.file = NULL};
            }
        read_symbol(r, y->key[i], y->item[i]->text, text, at);
    }
    for (int s = 0; s < sets; s++)
        if (fsim_names_get(&r->symbol, set->at[s].name) < 0)
            fsim_failure(r->diag, FSIM_BAD_INPUT, (fsim_loc){0}, "%s=%s: the workload has no symbol '%s'%s",
                         set->at[s].name, set->at[s].value, set->at[s].name, known_symbols(r, set->at[s].name));
}

/* "experts is 128, ep is 7": the numbers of the symbols that the expression names. */
static const char *values_named(fsim_reader *r, const char *text)
{
    const char *all = "";
    bool *told = fsim_new(r->arena, bool, r->graph->symbols + 1);
    while (*text) {
        size_t length = 0;
        while (isalnum((unsigned char)text[length]) || text[length] == '_')
            length++;
        const int i = length ? fsim_names_get(&r->symbol, fsim_strndup(r->arena, text, length)) : -1;
        if (i >= 0 && !told[i] && r->graph->symbol[i].dtype == FSIM_DTYPE_NONE)
            all = fsim_printf(r->arena, "%s%s%s is %lld", all, *all ? ", " : "", r->graph->symbol[i].name,
                              (long long)r->graph->symbol[i].value);
        told[i < 0 ? r->graph->symbols : i] = true;
        text += length ? length : 1;
    }
    return *all ? all : "it does not hold";
}

/* Does an entry of `requires` hold? An error says why not. */
static bool requirement_holds(fsim_reader *r, const fsim_yaml *y)
{
    static const char *const keys[] = {"that", "because"};
    const int errors = fsim_errors(r->diag);
    bool met = true;
    if (!fsim_want_mapping(r, y, "an entry of 'requires'"))
        return false;
    fsim_yaml_check_keys(r->arena, r->diag, y, "an entry of 'requires'", keys, sizeof keys / sizeof *keys);
    const fsim_yaml *that = fsim_yaml_get(y, "that"), *because = fsim_yaml_get(y, "because");
    if (!that || !because) {
        fsim_error(r->diag, y->at, "an entry of 'requires' has no '%s'", that ? "because" : "that");
        return false;
    }
    if (!fsim_want_scalar(r, because, "'because'") || !fsim_read_flag(r, that, "'that'", &met))
        return false;
    if (!met)
        fsim_error(r->diag, that->at, "wants %s, and %s: %s", that->text, values_named(r, that->text), because->text);
    return met && fsim_errors(r->diag) == errors;
}

bool fsim_check_requirements(fsim_reader *r, const fsim_yaml *y, const fsim_bindings *set)
{
    fsim_graph apart = *r->graph;
    fsim_reader quiet = *r;
    if (!y)
        return true;
    if (y->kind != FSIM_YAML_SEQUENCE) {
        fsim_error(r->diag, y->at, "'requires' is %s; wants a list of {that, because}", fsim_yaml_kind_name(y));
        return false;
    }
    quiet.graph = &apart;
    quiet.diag = fsim_diag_new(r->arena);
    fsim_read_symbols(&quiet, r->symbols, set);
    quiet.diag = r->diag;
    for (int i = 0; i < y->count; i++)
        if (!requirement_holds(&quiet, y->item[i]))
            return false;
    return true;
}

bool fsim_read_dtype(fsim_reader *r, const fsim_yaml *y, fsim_dtype *t)
{
    if (!fsim_want_scalar(r, y, "a dtype"))
        return false;
    const int s = fsim_names_get(&r->symbol, y->text);
    if (s >= 0 && r->graph->symbol[s].dtype != FSIM_DTYPE_NONE) {
        r->symbol_used[s] = true;
        *t = r->graph->symbol[s].dtype;
        return true;
    }
    if (fsim_dtype_parse(y->text, t))
        return true;
    fsim_error(r->diag, y->at, "%s", fsim_unknown_dtype(r->arena, y->text));
    return false;
}

bool fsim_read_number(fsim_reader *r, const fsim_yaml *y, const char *what, double *value)
{
    char *end;
    if (!fsim_want_scalar(r, y, what))
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
    if (!fsim_read_int(r, y, what, &whole))
        return false;
    *value = (double)whole;
    return true;
}

bool fsim_read_flag(fsim_reader *r, const fsim_yaml *y, const char *what, bool *value)
{
    int64_t n;
    if (!fsim_want_scalar(r, y, what))
        return false;
    if (strcmp(y->text, "true") == 0 || strcmp(y->text, "false") == 0) {
        *value = y->text[0] == 't';
        return true;
    }
    if (!fsim_read_int(r, y, what, &n))
        return false;
    *value = n != 0;
    return true;
}
