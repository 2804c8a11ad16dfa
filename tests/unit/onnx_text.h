/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_text.h: small ONNX models from text, for tests:
 *
 *   opset 17                          of the standard domain; com.microsoft is 1
 *   input x f32 2 3 8 8               an input: name, dtype, dimensions
 *   stated y f32 2 4                  the same of a value that a node makes
 *   weight w f32 4 3 3 3              an initializer whose values are in a file that does not exist
 *   ints axes 2 = 0 1                 one of int64: its dimensions and values
 *   floats scale = 0.5                the same of float
 *   codes zero u8 = 128               the same of another integer
 *   y, z = Conv(x, w, , b) strides=2,2 alpha=0.5 mode="linear" kernel=[3]
 *                                     a node: results; operator, with its domain in front ("com.microsoft:Gelu");
 * inputs, those left out are empty; attributes: a number with a point is a float, one with commas or brackets a list
 *
 * All results of the last node are the model's. Tests know what they write: a fault in the text ends the program.
 */
#ifndef FUSESIM_TESTS_ONNX_TEXT_H
#define FUSESIM_TESTS_ONNX_TEXT_H

#include "protobuf.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { ONNX_INT64 = 7 };

static inline int onnx_text_dtype(const char *word)
{
    static const struct {
        const char *name;
        int number;
    } table[] = {{"f32", 1},  {"u8", 2},   {"i8", 3},    {"i32", 6}, {"i64", 7}, {"bool", 9},
                 {"f16", 10}, {"f64", 11}, {"bf16", 16}, {"u4", 21}, {"i4", 22}, {"f4", 23}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, word) == 0)
            return table[i].number;
    fprintf(stderr, "no dtype '%s'\n", word);
    abort();
}

/* The next word of *p, up to a blank or one of `ends`. */
static inline const char *onnx_text_word(fsim_arena *a, const char **p, const char *ends)
{
    *p += strspn(*p, " ");
    const char *from = *p;
    *p += strcspn(*p, ends);
    const char *to = *p;
    while (to > from && to[-1] == ' ')
        to--;
    return fsim_strndup(a, from, (size_t)(to - from));
}

static inline bool onnx_text_number(const char **p, long long *value)
{
    char *end;
    *p += strspn(*p, " ");
    *value = strtoll(*p, &end, 10);
    const bool any = end > *p;
    *p = end;
    return any;
}

static inline pb onnx_text_input(fsim_arena *a, const char *p)
{
    pb value = {.a = a}, type = {.a = a}, tensor = {.a = a}, shape = {.a = a};
    long long dim;
    pb_text(&value, 1, onnx_text_word(a, &p, " "));
    pb_int(&tensor, 1, onnx_text_dtype(onnx_text_word(a, &p, " ")));
    while (onnx_text_number(&p, &dim)) {
        pb one = {.a = a};
        pb_int(&one, 1, dim);
        pb_message(&shape, 1, &one);
    }
    pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_message(&value, 2, &type);
    return value;
}

static inline pb onnx_text_weight(fsim_arena *a, const char *p)
{
    pb t = {.a = a}, place = {.a = a};
    long long dim;
    const char *name = onnx_text_word(a, &p, " ");
    pb_int(&t, 2, onnx_text_dtype(onnx_text_word(a, &p, " ")));
    while (onnx_text_number(&p, &dim))
        pb_int(&t, 1, dim);
    pb_text(&t, 8, name);
    pb_text(&place, 1, "location");
    pb_text(&place, 2, "nowhere");
    pb_message(&t, 13, &place);
    pb_int(&t, 14, 1);
    return t;
}

/* NAME [DTYPE] DIMS = VALUES, of this dtype where none is named. */
static inline pb onnx_text_known(fsim_arena *a, const char *p, int dtype, bool named)
{
    pb t = {.a = a};
    long long dim;
    const char *name = onnx_text_word(a, &p, " ");
    if (named)
        dtype = onnx_text_dtype(onnx_text_word(a, &p, " "));
    while (onnx_text_number(&p, &dim))
        pb_int(&t, 1, dim);
    p += strspn(p, " =");
    pb_int(&t, 2, dtype);
    for (; *p; p += strspn(p, " ")) {
        char *end;
        if (dtype == 1)
            pb_float(&t, 4, strtof(p, &end));
        else
            pb_int(&t, dtype == ONNX_INT64 ? 7 : 5, strtoll(p, &end, 10));
        p = end;
    }
    pb_text(&t, 8, name);
    return t;
}

/* =VALUE: up to a blank, or a text in quotes. */
static inline const char *onnx_text_value(fsim_arena *a, const char **p)
{
    const char *from = ++*p;
    if (*from == '"')
        *p = strchr(from + 1, '"') + 1;
    else
        *p += strcspn(from, " ");
    return fsim_strndup(a, from, (size_t)(*p - from));
}

/* name=value */
static inline pb onnx_text_attribute(fsim_arena *a, const char *name, const char *value)
{
    pb at = {.a = a};
    const bool list = *value == '[' || strchr(value, ','), real = strchr(value, '.') != NULL;
    pb_text(&at, 1, name);
    if (*value == '"') {
        pb_text(&at, 4, fsim_strndup(a, value + 1, strlen(value) - 2));
        pb_int(&at, 20, 3);
        return at;
    }
    const char *p = value + (*value == '[');
    for (char *end; *p && *p != ']'; p = *end == ',' ? end + 1 : end) {
        if (real)
            pb_float(&at, list ? 7 : 2, strtof(p, &end));
        else
            pb_int(&at, list ? 8 : 3, strtoll(p, &end, 10));
        if (end == p)
            abort();
    }
    pb_int(&at, 20, real ? (list ? 6 : 1) : (list ? 7 : 2));
    return at;
}

static inline pb onnx_text_strings(fsim_arena *a, const char *name, const char *p)
{
    pb at = {.a = a};
    pb_text(&at, 1, name);
    for (p += 1; *p == '"'; p += *p == ',') {
        const char *from = ++p;
        p += strcspn(p, "\"");
        pb_bytes(&at, 9, from, (size_t)(p - from));
        p++;
    }
    pb_int(&at, 20, 8);
    return at;
}

/* RESULTS = [DOMAIN:]OP(INPUTS) ATTRIBUTES; *out: the results' names, with commas between. */
static inline pb onnx_text_node(fsim_arena *a, const char *p, const char **out)
{
    pb node = {.a = a};
    *out = onnx_text_word(a, &p, "=");
    for (const char *name = *out; *name; name += *name == ',')
        pb_text(&node, 2, onnx_text_word(a, &name, ","));
    p++;
    const char *op = onnx_text_word(a, &p, "("), *colon = strchr(op, ':');
    pb_text(&node, 4, colon ? colon + 1 : op);
    if (colon)
        pb_text(&node, 7, fsim_strndup(a, op, (size_t)(colon - op)));
    p++;
    while (*p && *p != ')') {
        pb_text(&node, 1, onnx_text_word(a, &p, ",)"));
        p += *p == ',';
    }
    p += *p == ')';
    while (*(p += strspn(p, " "))) {
        const char *name = onnx_text_word(a, &p, "=");
        const char *value = onnx_text_value(a, &p);
        const pb at = value[0] == '[' && value[1] == '"' ? onnx_text_strings(a, name, value)
                                                         : onnx_text_attribute(a, name, value);
        pb_message(&node, 5, &at);
    }
    return node;
}

static inline void onnx_text_line(fsim_arena *a, const char *line, pb *graph, const char **out, int *opset)
{
    const char *p = line, *word = onnx_text_word(a, &p, " ");
    pb part;
    if (strcmp(word, "opset") == 0) {
        *opset = atoi(p);
        return;
    }
    if (strcmp(word, "input") == 0 || strcmp(word, "stated") == 0) {
        part = onnx_text_input(a, p);
        pb_message(graph, *word == 'i' ? 11 : 13, &part);
    } else if (strcmp(word, "weight") == 0 || strcmp(word, "ints") == 0 || strcmp(word, "floats") == 0 ||
               strcmp(word, "codes") == 0) {
        part = *word == 'w'   ? onnx_text_weight(a, p)
               : *word == 'c' ? onnx_text_known(a, p, 0, true)
                              : onnx_text_known(a, p, *word == 'i' ? ONNX_INT64 : 1, false);
        pb_message(graph, 5, &part);
    } else {
        part = onnx_text_node(a, line, out);
        pb_message(graph, 1, &part);
    }
}

/* The model that lines of text say, as a file. In a. */
static inline pb onnx_text_model(fsim_arena *a, const char *text)
{
    pb model = {.a = a}, graph = {.a = a}, version[2] = {{.a = a}, {.a = a}};
    const char *out = "";
    int opset = 17;
    for (const char *p = text; *p; p += *p == '\n') {
        const char *line = fsim_strndup(a, p, strcspn(p, "\n"));
        p += strlen(line);
        if (*line)
            onnx_text_line(a, line, &graph, &out, &opset);
    }
    pb_text(&graph, 2, "g");
    while (*out) {
        pb value = {.a = a};
        const char *name = onnx_text_word(a, &out, ",");
        pb_text(&value, 1, name);
        if (*name)
            pb_message(&graph, 12, &value);
        out += *out == ',';
    }
    pb_int(&model, 1, 8);
    pb_message(&model, 7, &graph);
    pb_text(&version[0], 1, "");
    pb_int(&version[0], 2, opset);
    pb_text(&version[1], 1, "com.microsoft");
    pb_int(&version[1], 2, 1);
    pb_message(&model, 8, &version[0]);
    pb_message(&model, 8, &version[1]);
    return model;
}

#endif
