/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_lines.h: ONNX models of a few lines of text, for tests of the importer. A line is one of
 *
 *   opset 17                                      (17 where there is no such line)
 *   input x f32 batch,3                           a dimension: a number, a name, an expression without blanks, or ? for
 * one that is not known output y [f32 batch,3] value y f32 batch,3                           value_info const c i64 2 =
 * 3,4                           an initializer; f32 takes whole numbers, too weight w f32 3,4 an initializer in another
 * file node Gemm x,w -> y name=/fc/Gemm axis=1 perm=[1,0] to=$type in=domain layer=namespace begin, end then_branch
 * lines between are a graph, an attribute of the next node function domain Name x,w -> y alpha beta=2    lines up to
 * `end` are its nodes; alpha must be given, beta has a default
 */
#ifndef FUSESIM_TESTS_ONNX_LINES_H
#define FUSESIM_TESTS_ONNX_LINES_H

#include "import/onnx/proto.h"
#include "protobuf.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>

enum { OT_DEPTH = 4, OT_WORDS = 24 };

typedef struct {
    fsim_arena *a;
    pb graph[OT_DEPTH], function, functions; /* functions: written, as fields of the model */
    pb pending[OT_DEPTH];                    /* attributes with graphs, for the next node of each */
    int depth;
    int64_t opset;
    bool in_function;
} onnx_lines;

/* Splits text at a character; *count pieces. */
static inline char **ot_split(fsim_arena *a, const char *text, char at, int *count)
{
    char **piece = fsim_new(a, char *, OT_WORDS), *copy = fsim_strdup(a, text);
    *count = 0;
    while (*copy && *count < OT_WORDS) {
        piece[(*count)++] = copy;
        while (*copy && *copy != at)
            copy++;
        while (*copy == at)
            *copy++ = 0;
    }
    return piece;
}

static inline int ot_type(const char *name)
{
    static const struct {
        const char *name;
        int type;
    } types[] = {{"f32", FSIM_ONNX_FLOAT}, {"f16", FSIM_ONNX_FLOAT16}, {"i64", FSIM_ONNX_INT64},
                 {"i32", FSIM_ONNX_INT32}, {"i8", FSIM_ONNX_INT8},     {"bool", FSIM_ONNX_BOOL}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].type;
    return 0;
}

/* A ';' in an expression stands for a comma. */
static inline const char *ot_commas(char *text)
{
    for (char *c = text; *c; c++)
        *c = *c == ';' ? ',' : *c;
    return text;
}

/* name type dims */
static inline pb ot_value(fsim_arena *a, char **word, int words)
{
    pb value = {.a = a}, type = {.a = a}, tensor = {.a = a}, shape = {.a = a};
    int dims = 0;
    char **dim = words > 2 ? ot_split(a, word[2], ',', &dims) : NULL;
    for (int i = 0; i < dims; i++) {
        pb d = {.a = a};
        if (isdigit((unsigned char)*dim[i]) || *dim[i] == '-')
            pb_int(&d, 1, atoll(dim[i]));
        else if (*dim[i] != '?')
            pb_text(&d, 2, ot_commas(dim[i]));
        pb_message(&shape, 1, &d);
    }
    pb_text(&value, 1, word[0]);
    if (words > 1) {
        pb_int(&tensor, 1, ot_type(word[1]));
        pb_message(&tensor, 2, &shape);
        pb_message(&type, 1, &tensor);
        pb_message(&value, 2, &type);
    }
    return value;
}

/* name type dims [= numbers] */
static inline pb ot_constant(fsim_arena *a, char **word, int words)
{
    pb t = {.a = a};
    int dims, count = 0, type = ot_type(word[1]);
    char **dim = ot_split(a, strcmp(word[2], "-") == 0 ? "" : word[2], ',', &dims);
    char **number = words > 4 ? ot_split(a, word[4], ',', &count) : NULL;
    for (int i = 0; i < dims; i++)
        pb_int(&t, 1, atoll(dim[i]));
    pb_int(&t, 2, type);
    pb_text(&t, 8, word[0]);
    for (int i = 0; i < count; i++)
        if (type == FSIM_ONNX_FLOAT)
            pb_float(&t, 4, (float)atof(number[i]));
        else
            pb_int(&t, type == FSIM_ONNX_INT64 ? 7 : 5, atoll(number[i]));
    if (words <= 4)
        pb_int(&t, 14, 1); /* external */
    return t;
}

/* key=value as an attribute */
static inline pb ot_attribute(fsim_arena *a, const char *key, const char *value)
{
    pb at = {.a = a};
    pb_text(&at, 1, key);
    if (*value == '[') {
        int count;
        char *list = fsim_strdup(a, value + 1);
        list[strlen(list) - 1] = 0;
        char **number = ot_split(a, list, ',', &count);
        for (int i = 0; i < count; i++)
            pb_int(&at, 8, atoll(number[i]));
        pb_int(&at, 20, FSIM_ONNX_ATTR_INTS);
    } else if (*value == '$') {
        pb_text(&at, 21, value + 1);
        pb_int(&at, 20, FSIM_ONNX_ATTR_INT);
    } else if (strchr(value, '.')) {
        pb_float(&at, 2, (float)atof(value));
        pb_int(&at, 20, FSIM_ONNX_ATTR_FLOAT);
    } else if (isalpha((unsigned char)*value)) {
        pb_text(&at, 4, value);
        pb_int(&at, 20, FSIM_ONNX_ATTR_STRING);
    } else {
        pb_int(&at, 3, atoll(value));
        pb_int(&at, 20, FSIM_ONNX_ATTR_INT);
    }
    return at;
}

/* "a,,b" as fields; "-": none. An empty one is left out by the node. */
static inline void ot_names(pb *to, unsigned field, const char *list)
{
    if (strcmp(list, "-") == 0)
        return;
    for (const char *from = list;; from++) {
        const size_t length = strcspn(from, ",");
        pb_bytes(to, field, from, length);
        from += length;
        if (!*from)
            return;
    }
}

static inline void ot_word(fsim_arena *a, pb *node, char *word)
{
    char *value = strchr(word, '=');
    *value++ = 0;
    if (strcmp(word, "name") == 0) {
        pb_text(node, 3, value);
    } else if (strcmp(word, "in") == 0) {
        pb_text(node, 7, value);
    } else if (strcmp(word, "layer") == 0) {
        pb pair = {.a = a};
        for (char *c = value; *c; c++)
            *c = *c == '~' ? ' ' : *c;
        pb_text(&pair, 1, "namespace");
        pb_text(&pair, 2, value);
        pb_message(node, 9, &pair);
    } else {
        const pb at = ot_attribute(a, word, value);
        pb_message(node, 5, &at);
    }
}

static inline pb *ot_here(onnx_lines *x) { return x->in_function ? &x->function : &x->graph[x->depth]; }

/* Op in,in -> out,out key=value... */
static inline void ot_node(onnx_lines *x, char **word, int words)
{
    pb node = {.a = x->a};
    ot_names(&node, 1, word[1]);
    ot_names(&node, 2, word[3]);
    pb_text(&node, 4, word[0]);
    for (int i = 4; i < words; i++)
        ot_word(x->a, &node, word[i]);
    pb *pending = &x->pending[x->depth];
    pb_raw(&node, pending->at, pending->bytes);
    *pending = (pb){.a = x->a};
    pb_message(ot_here(x), x->in_function && x->depth == 0 ? 7 : 1, &node);
}

/* domain Name in,in -> out attribute attribute=default... */
static inline void ot_function(onnx_lines *x, char **word, int words)
{
    pb *f = &x->function, version = {.a = x->a};
    *f = (pb){.a = x->a};
    x->in_function = true;
    pb_text(f, 10, word[0]);
    pb_text(f, 1, word[1]);
    ot_names(f, 4, word[2]);
    ot_names(f, 5, word[4]);
    for (int i = 5; i < words; i++) {
        char *value = strchr(word[i], '=');
        if (!value) {
            pb_text(f, 6, word[i]);
            continue;
        }
        *value++ = 0;
        const pb at = ot_attribute(x->a, word[i], value);
        pb_message(f, 11, &at);
    }
    pb_int(&version, 2, x->opset);
    pb_message(f, 9, &version);
}

static inline void ot_end(onnx_lines *x, char **word, int words)
{
    if (x->in_function) {
        pb_message(&x->functions, 25, &x->function);
        x->in_function = false;
        return;
    }
    pb at = {.a = x->a};
    pb_text(&at, 1, words > 1 ? word[1] : "body");
    pb_message(&at, 6, &x->graph[x->depth]);
    pb_int(&at, 20, FSIM_ONNX_ATTR_GRAPH);
    x->graph[x->depth--] = (pb){.a = x->a};
    pb_message(&x->pending[x->depth], 5, &at);
}

static inline void ot_line(onnx_lines *x, const char *line)
{
    int words;
    char **word = ot_split(x->a, line, ' ', &words);
    const char *what = words ? word[0] : "";
    pb *here = &x->graph[x->depth], inner = {.a = x->a};
    if (strcmp(what, "opset") == 0) {
        x->opset = atoll(word[1]);
    } else if (strcmp(what, "node") == 0) {
        ot_node(x, word + 1, words - 1);
    } else if (strcmp(what, "begin") == 0) {
        x->graph[++x->depth] = (pb){.a = x->a};
    } else if (strcmp(what, "end") == 0) {
        ot_end(x, word, words);
    } else if (strcmp(what, "function") == 0) {
        ot_function(x, word + 1, words - 1);
    } else if (strcmp(what, "const") == 0 || strcmp(what, "weight") == 0) {
        inner = ot_constant(x->a, word + 1, words - 1);
        pb_message(here, 5, &inner);
    } else if (words > 1) {
        inner = ot_value(x->a, word + 1, words - 1);
        pb_message(here, *what == 'i' ? 11 : *what == 'o' ? 12 : 13, &inner);
    }
}

/* The model that `text` describes, as the bytes of its file. In a. */
static inline pb onnx_model(fsim_arena *a, const char *text)
{
    onnx_lines x = {.a = a, .opset = 17, .functions = {.a = a}};
    pb model = {.a = a}, version = {.a = a};
    for (int i = 0; i < OT_DEPTH; i++)
        x.graph[i] = x.pending[i] = (pb){.a = a};
    while (*text) {
        const size_t length = strcspn(text, "\n");
        const char *line = fsim_strndup(a, text, length);
        ot_line(&x, line + strspn(line, " "));
        text += length + (text[length] == '\n');
    }
    pb_int(&model, 1, 8);
    pb_int(&version, 2, x.opset);
    pb_message(&model, 8, &version);
    pb_message(&model, 7, &x.graph[0]);
    pb_raw(&model, x.functions.at, x.functions.bytes);
    return model;
}

#endif
