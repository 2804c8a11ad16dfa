/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/example.h"

#include "graph/graph.h"
#include <string.h>

typedef struct {
    const char *inputs, *out, *attributes, *result; /* inputs, out, result: NULL the default */
} example;

static const example examples[FSIM_OP_COUNT] = {
#define FSIM_EXAMPLE(id, inputs, out, attributes, result) [FSIM_OP_##id] = {inputs, out, attributes, result},
#include "graph/example.def"
#undef FSIM_EXAMPLE
};

static bool is_pair(fsim_op op) { return fsim_ops[op].most_args == 2; }

/* The row of op with its defaults filled in. */
static example row_of(fsim_op op)
{
    example e = examples[op];
    const fsim_class class = fsim_ops[op].class;
    if (!e.inputs)
        e.inputs = is_pair(op) ? "x f16[1024, 4096], y f16[1024, 4096]" : "x f16[1024, 4096]";
    if (!e.out)
        e.out = strstr(e.inputs, ", y ") ? "z" : "y";
    if (!e.attributes)
        e.attributes = class == FSIM_REDUCE ? "dim: 1" : "";
    if (!e.result)
        e.result = class == FSIM_REDUCE         ? "the input's without `dim`; `keepdim` leaves it with length 1"
                   : fsim_ops[op].most_args > 1 ? "the inputs', broadcast"
                                                : "the input's";
    return e;
}

static bool is_weight(const char *name, size_t length)
{
    static const char *const weights[] = {"weight", "bias", "table", "mean", "variance"};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        if (strlen(weights[i]) == length && strncmp(weights[i], name, length) == 0)
            return true;
    return false;
}

/* "x f16[2, 3], weight f16[3]" as lines of `tensors:`; their names in *names, with commas between. */
static const char *tensors_of(fsim_arena *a, const char *inputs, const char **names, int *count)
{
    const char *text = "";
    *names = "";
    *count = 0;
    while (*inputs) {
        const int name = (int)strcspn(inputs, " "), dtype = (int)strcspn(inputs + name + 1, "[");
        const char *at = inputs, *shape = at + name + 1 + dtype;
        const int length = (int)strcspn(shape, "]") + 1;
        text = fsim_printf(a, "%s  %.*s: {shape: %.*s, dtype: %.*s%s}\n", text, name, at, length, shape, dtype,
                           at + name + 1, is_weight(at, (size_t)name) ? ", role: weight" : "");
        *names = fsim_printf(a, "%s%s%.*s", *names, (*count)++ ? ", " : "", name, at);
        inputs = shape + length + (shape[length] == ',' ? 2 : 0);
    }
    return text;
}

const char *fsim_example(fsim_arena *a, fsim_op op)
{
    const example e = row_of(op);
    const char *names;
    int count;
    const char *tensors = tensors_of(a, e.inputs, &names, &count);
    const char *in = count == 0   ? ""
                     : count == 1 ? fsim_printf(a, "in: %s, ", names)
                                  : fsim_printf(a, "in: [%s], ", names);
    const char *node = fsim_printf(a, "  - {op: %s, %sout: %s%s%s}\n", fsim_ops[op].name, in, e.out,
                                   *e.attributes ? ", " : "", e.attributes);
    if (fsim_ops[op].class == FSIM_VIEW) /* a workload computes something */
        node = fsim_printf(a, "%s  - {op: relu, in: %s, out: z}\n", node, e.out);
    return fsim_printf(a, "%s%soperators:\n%s", count ? "tensors:\n" : "", tensors, node);
}

/* Is name among those of "[y, index]" or "y"? */
static bool is_out(const char *out, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = out; (at = strstr(at, name)); at += length)
        if ((at == out || strchr("[ ", at[-1])) && strchr(",]", at[length]))
            return true;
    return false;
}

const char *fsim_example_results(fsim_arena *a, fsim_op op)
{
    const char *text = fsim_example(a, op), *out = row_of(op).out, *said = "";
    const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "example", text, strlen(text), NULL);
    for (int t = 0; g && t < g->tensors; t++)
        if (is_out(out, g->tensor[t].name))
            said = fsim_printf(a, "%s%s%s is %s%s", said, *said ? ", " : "", g->tensor[t].name,
                               fsim_dtype_names[g->tensor[t].dtype], fsim_tensor_shape_text(a, &g->tensor[t]));
    return said;
}

const char *fsim_result_text(fsim_op op) { return row_of(op).result; }
