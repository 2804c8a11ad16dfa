/* SPDX-License-Identifier: Apache-2.0 */
/* depends: memory cost: 1
 * ONNX's operators that compute, each as a small model of tests/unit/onnx_ops.txt: which operators of the workload it
 * becomes, with their attributes, the shapes of its results and the FLOPs of its products. What stands there was worked
 * out by hand from the definitions of both.
 *
 *   onnx_ops_test --print        prints the file as the importer has it now
 *   onnx_ops_test --write DIR    writes the models as files, where fuzzing may start
 */
#include "import/load.h"
#include "onnx_text.h"

#include "base/file.h"

#include <inttypes.h>

static const char path[] = FUSESIM_SOURCE_DIR "/tests/unit/onnx_ops.txt";

/* What the importer makes of a model, as lines of the file that begin with '>'. */
typedef struct {
    fsim_arena *a;
    const char *text;
} report;

static void say(report *r, const char *line) { r->text = fsim_printf(r->a, "%s> %s\n", r->text, line); }

static const char *value_text(fsim_arena *a, const fsim_yaml *y)
{
    if (y->kind == FSIM_YAML_SCALAR)
        return y->text;
    const char *text = "[";
    for (int i = 0; i < y->count; i++)
        text = fsim_printf(a, "%s%s%s", text, i ? ", " : "", value_text(a, y->item[i]));
    return fsim_printf(a, "%s]", text);
}

/* "conv2d{stride: 2, groups: 4}" */
static const char *operator_text(fsim_arena *a, const fsim_yaml *op)
{
    const char *text = "";
    for (int i = 0; i < op->count; i++) {
        const char *key = op->key[i]->text;
        if (strcmp(key, "op") && strcmp(key, "in") && strcmp(key, "out") && strcmp(key, "layer") && strcmp(key, "from"))
            text = fsim_printf(a, "%s%s%s: %s", text, *text ? ", " : "", key, value_text(a, op->item[i]));
    }
    const char *name = fsim_yaml_get(op, "op")->text;
    return *text ? fsim_printf(a, "%s{%s}", name, text) : name;
}

/* Operators in order; where one repeats, how often. */
static void say_operators(report *r, const fsim_yaml *tree)
{
    const fsim_yaml *ops = fsim_yaml_get(tree, "operators");
    const char *line = "", *last = "";
    int times = 0;
    for (int i = 0; ops && i <= ops->count; i++) {
        const char *text = i < ops->count ? operator_text(r->a, ops->item[i]) : "";
        if (strcmp(text, last) == 0) {
            times++;
            continue;
        }
        if (*last)
            line = fsim_printf(r->a, "%s%s%s%s", line, *line ? " " : "", last,
                               times > 1 ? fsim_printf(r->a, " x %d", times) : "");
        last = text;
        times = 1;
    }
    say(r, line);
}

static void say_results(report *r, const fsim_yaml *tree, const fsim_graph *g)
{
    const fsim_yaml *out = fsim_yaml_get(tree, "outputs");
    const char *line = "";
    for (int i = 0; out && i < out->count; i++)
        for (int t = 0; t < g->tensors; t++)
            if (strcmp(g->tensor[t].name, out->item[i]->text) == 0)
                line = fsim_printf(r->a, "%s%s%s %s %s", line, *line ? "; " : "", g->tensor[t].name,
                                   fsim_dtype_names[g->tensor[t].dtype], fsim_shape_text(r->a, &g->tensor[t].shape));
    if (g->contraction_flops > 0)
        line = fsim_printf(r->a, "%s; %.0f flops", line, g->contraction_flops);
    say(r, line);
}

static const char *import(fsim_arena *a, const char *model)
{
    report r = {a, ""};
    fsim_diag *d = fsim_diag_new(a);
    const pb file = onnx_text_model(a, model);
    const fsim_workload_wanted how = {0};
    const fsim_tree tree = fsim_tree_load_text(a, d, "model.onnx", file.at, file.bytes, &how);
    const fsim_graph *g = tree.yaml ? fsim_graph_of(a, d, "model.onnx", tree.yaml, NULL) : NULL;
    if (g) {
        say_operators(&r, tree.yaml);
        say_results(&r, tree.yaml, g);
    }
    fsim_diagnostic *m;
    const int count = fsim_diag_list(d, a, &m);
    for (int i = 0; i < count; i++)
        say(&r, fsim_printf(a, "%s: %s", m[i].severity == FSIM_ERROR ? "error" : "warning", m[i].message));
    return r.text;
}

/* The next block: comments, the model, what is expected. */
typedef struct {
    const char *comment, *model, *expected;
} block;

static bool next_block(fsim_arena *a, const char **p, block *b)
{
    *b = (block){"", "", ""};
    *p += strspn(*p, "\n");
    while (**p && **p != '\n') {
        const size_t length = strcspn(*p, "\n");
        const char *line = fsim_strndup(a, *p, length);
        const char **to = *line == '#' ? &b->comment : *line == '>' ? &b->expected : &b->model;
        *to = fsim_printf(a, "%s%s\n", *to, line);
        *p += length + ((*p)[length] == '\n');
    }
    return *b->comment || *b->model;
}

/* Does a number begin at p, in a model's text? */
static bool is_number(const char *text, const char *p)
{
    return isdigit((unsigned char)*p) && p > text && strchr(" =,[-", p[-1]);
}

/* The model with each of its numbers in turn replaced by one that is out of place: imported, or refused with a message.
 * Returns how many are neither. */
static int harm(const char *text, int *tried)
{
    static const char *const instead[] = {"0", "9223372036854775807"};
    int silent = 0;
    for (const char *p = text; *p; p++)
        for (size_t k = 0; is_number(text, p) && k < sizeof instead / sizeof *instead; k++) {
            fsim_arena *a = fsim_arena_new();
            fsim_diag *d = fsim_diag_new(a);
            const char *changed =
                fsim_printf(a, "%.*s%s%s", (int)(p - text), text, instead[k], p + strspn(p, "0123456789"));
            const pb file = onnx_text_model(a, changed);
            const fsim_workload_wanted how = {0};
            const fsim_graph *g = fsim_graph_load_text(a, d, "model.onnx", file.at, file.bytes, &how);
            if (!g && fsim_errors(d) == 0 && ++silent)
                printf("neither imported nor refused:\n%s", changed);
            ++*tried;
            fsim_arena_free(a);
        }
    return silent;
}

static void write_model(fsim_arena *a, const char *folder, int number, const char *text)
{
    const pb file = onnx_text_model(a, text);
    FILE *out = fopen(fsim_printf(a, "%s/%d.onnx", folder, number), "wb");
    if (!out || fwrite(file.at, 1, file.bytes, out) != file.bytes || fclose(out) != 0)
        abort();
}

int main(int argc, char **argv)
{
    const char *folder = argc == 3 && strcmp(argv[1], "--write") == 0 ? argv[2] : NULL;
    const bool print = argc == 2 && strcmp(argv[1], "--print") == 0;
    fsim_arena *all = fsim_arena_new();
    size_t bytes;
    const char *why, *text = fsim_read_file(all, path, &bytes, &why);
    int faults = 0, models = 0, harmed = 0;
    block b;
    for (const char *p = text ? text : ""; next_block(all, &p, &b);) {
        fsim_arena *a = fsim_arena_new();
        const char *found = *b.model ? import(a, b.model) : "";
        models += *b.model != 0;
        if (folder && *b.model)
            write_model(a, folder, models, b.model);
        if (print)
            printf("%s%s%s\n", b.comment, b.model, found);
        else if (strcmp(found, b.expected) != 0 && ++faults)
            printf("%s%swanted\n%sfound\n%s\n", b.comment, b.model, b.expected, found);
        if (!print && !folder)
            faults += harm(b.model, &harmed);
        fsim_arena_free(a);
    }
    if (!print)
        printf("%d models, %d of them not as expected; %d more with numbers out of place\n", models, faults, harmed);
    fsim_arena_free(all);
    return faults || models == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
