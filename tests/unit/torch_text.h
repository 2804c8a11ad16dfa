/* SPDX-License-Identifier: Apache-2.0 */
/* torch_text.h: torch.export programs of a few operators, written as lines of text, and the graphs that they become. */
#ifndef FUSESIM_TESTS_UNIT_TORCH_TEXT_H
#define FUSESIM_TESTS_UNIT_TORCH_TEXT_H

#include "torch_archive.h"

#include <ctype.h>
#include <stdio.h>

/* Programs as text: lines "x f32 2 3" of inputs, "w: f32 3 4" of weights, "y f32 2 4, z i64 2 = aten.op.default(self:
 * x, dim: -1)" of nodes, and of nodes that PyTorch made from another one, "... <- relu aten.relu.default": its name and
 * operator. The results of the last are the program's. */

typedef struct {
    FILE *tensors, *nodes, *inputs, *specs;
    char outputs[1024], results[1024];
} writer;

static inline int type_number(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } rows[] = {{"f32", 7}, {"f16", 6},   {"bf16", 13}, {"i64", 5}, {"i32", 4},
                {"i8", 2},  {"bool", 12}, {"c64", 10},  {"f8", 29}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].number;
    fail_msg("no dtype '%s'", name);
    return 0;
}

/* "x f32 2 3": describes the tensor and returns its name. */
static inline const char *describe(writer *w, char *text)
{
    char *rest = NULL, *name = strtok_r(text, " :", &rest), *type = strtok_r(NULL, " ", &rest);
    fprintf(w->tensors, "%s\"%s\": {\"dtype\": %d, \"layout\": 7, \"strides\": [], \"sizes\": [",
            ftell(w->tensors) ? ", " : "", name, type_number(type));
    for (char *dim = strtok_r(NULL, " ", &rest), *first = dim; dim; dim = strtok_r(NULL, " ", &rest))
        fprintf(w->tensors, "%s{\"as_int\": %s}", dim == first ? "" : ", ", dim);
    fprintf(w->tensors, "]}");
    return name;
}

static inline void write_list(FILE *out, char *text)
{
    const bool tensors = isalpha((unsigned char)text[1]) != 0, gaps = strstr(text, "none") != NULL;
    char *rest = NULL;
    text[strlen(text) - 1] = 0;
    fprintf(out, "{\"%s\": [", gaps ? "as_optional_tensors" : tensors ? "as_tensors" : "as_ints");
    for (char *one = strtok_r(text + 1, " ,", &rest), *first = one; one; one = strtok_r(NULL, " ,", &rest)) {
        fprintf(out, "%s", one == first ? "" : ", ");
        if (gaps && strcmp(one, "none") == 0)
            fprintf(out, "{\"as_none\": true}");
        else
            fprintf(out, gaps ? "{\"as_tensor\": {\"name\": \"%s\"}}" : tensors ? "{\"name\": \"%s\"}" : "%s", one);
    }
    fprintf(out, "]}");
}

static inline void write_value(FILE *out, char *text)
{
    if (*text == '[')
        write_list(out, text);
    else if (*text == '\'')
        fprintf(out, "{\"as_string\": \"%.*s\"}", (int)strlen(text) - 2, text + 1);
    else if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        fprintf(out, "{\"as_bool\": %s}", text);
    else if (strcmp(text, "none") == 0)
        fprintf(out, "{\"as_none\": true}");
    else if (isalpha((unsigned char)*text))
        fprintf(out, "{\"as_tensor\": {\"name\": \"%s\"}}", text);
    else
        fprintf(out, "{\"%s\": %s}", strchr(text, '.') ? "as_float" : "as_int", text);
}

/* The end of a value: a comma outside of brackets and quotes, or the end of the text. */
static inline char *value_end(char *text)
{
    bool listed = false, quoted = false;
    for (; *text && (listed || quoted || *text != ','); text++) {
        listed = *text == '[' || (listed && *text != ']');
        quoted = quoted != (*text == '\'');
    }
    return text;
}

static inline void write_node(writer *w, char *line)
{
    char *call = strstr(line, " = ") + 3, *open = strchr(call, '('), *rest = NULL, *from = strstr(line, " <- ");
    char origin[64] = "", target[64] = "";
    if (from) {
        sscanf(from, " <- %63s %63s", origin, target);
        *from = 0;
    }
    call[-3] = *open = open[strlen(open) - 1] = 0;
    fprintf(w->nodes, "%s{\"target\": \"torch.ops.%s\", \"metadata\": {", ftell(w->nodes) ? ", " : "", call);
    if (from)
        fprintf(w->nodes,
                "\"from_node\": \"[{\\\"name\\\": \\\"%s\\\", \\\"target\\\": \\\"%s\\\", \\\"graph_id\\\": 1}]\"",
                origin, target);
    fprintf(w->nodes, "}, \"inputs\": [");
    for (char *arg = open + 1, *end; *arg; arg = *end ? end + 2 : end) {
        char *colon = strchr(arg, ':');
        end = value_end(colon);
        const char after = *end;
        *colon = *end = 0;
        fprintf(w->nodes, "%s{\"kind\": 1, \"name\": \"%s\", \"arg\": ", arg == open + 1 ? "" : ", ", arg);
        write_value(w->nodes, colon + 2);
        fprintf(w->nodes, "}");
        *end = after;
    }
    fprintf(w->nodes, "], \"outputs\": [");
    *w->outputs = *w->results = 0;
    for (char *out = strtok_r(line, ",", &rest); out; out = strtok_r(NULL, ",", &rest)) {
        const char *name = describe(w, out), *comma = *w->outputs ? ", " : "";
        size_t at = strlen(w->outputs);
        snprintf(w->outputs + at, sizeof w->outputs - at, "%s{\"as_tensor\": {\"name\": \"%s\"}}", comma, name);
        at = strlen(w->results);
        snprintf(w->results + at, sizeof w->results - at,
                 "%s{\"user_output\": {\"arg\": {\"as_tensor\": {\"name\": \"%s\"}}}}", comma, name);
    }
    fprintf(w->nodes, "%s]}", w->outputs);
}

static inline void write_input(writer *w, char *line)
{
    const char *end = strchr(line, ' ');
    const bool weight = end[-1] == ':';
    const char *name = describe(w, line), *comma = ftell(w->inputs) ? ", " : "";
    fprintf(w->inputs, "%s{\"as_tensor\": {\"name\": \"%s\"}}", comma, name);
    if (weight)
        fprintf(w->specs, "%s{\"parameter\": {\"arg\": {\"name\": \"%s\"}, \"parameter_name\": \"%s\"}}", comma, name,
                name);
    else
        fprintf(w->specs, "%s{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"%s\"}}}}", comma, name);
}

/* The graph of a program. */
static inline outcome load_text(const char *program)
{
    char *part[4], *text = strdup(program), *rest = NULL, *json = NULL;
    size_t length[4], all;
    writer w = {open_memstream(&part[0], &length[0]),
                open_memstream(&part[1], &length[1]),
                open_memstream(&part[2], &length[2]),
                open_memstream(&part[3], &length[3]),
                "",
                ""};
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        (strstr(line, " = ") ? write_node : write_input)(&w, line);
    fclose(w.tensors);
    fclose(w.nodes);
    fclose(w.inputs);
    fclose(w.specs);
    FILE *out = open_memstream(&json, &all);
    fprintf(out,
            "{\"graph_module\": {\"graph\": {\"tensor_values\": {%s}, \"nodes\": [%s], \"inputs\": [%s], \"outputs\": "
            "[%s], \"sym_int_values\": {}, \"sym_bool_values\": {}}, \"signature\": {\"input_specs\": [%s], "
            "\"output_specs\": [%s]}}, \"schema_version\": {\"major\": 8, \"minor\": 20}, \"range_constraints\": {}, "
            "\"torch_version\": \"2.15.0\"}",
            part[0], part[1], part[2], w.outputs, part[3], w.results);
    fclose(out);
    const outcome o = load_program(json, "");
    for (int i = 0; i < 4; i++)
        free(part[i]);
    free(text);
    free(json);
    return o;
}

/* What the graph's operators are, in their order. */
static inline const char *operators_of(const outcome *o)
{
    const char *all = "";
    for (int i = 0; i < o->g->sources; i++)
        all = fsim_printf(o->a, "%s%s%s", all, *all ? " " : "", fsim_ops[o->g->source[i].op].name);
    return all;
}

#endif
