/* SPDX-License-Identifier: Apache-2.0 */
/* depends: memory cost: 1
 * ONNX's operator tests (the package libonnx-testdata) through the importer: none of them harms it; those that
 * tests/unit/onnx_imported.txt lists become graphs whose results have the shapes of the stored ones, at most those
 * marked `copied` with an operator that costs a copy.
 *
 *   onnx_corpus_test --list     prints that list, as it is now
 *   onnx_corpus_test --report   prints the table of operators (bench/onnx_operators.sh)
 *   onnx_corpus_test NAME...    prints what became of the models whose names contain NAME */
#include "base/file.h"
#include "base/names.h"
#include "import/load.h"
#include "import/onnx/proto.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, MOST_DIMS = 64, MOST_NAMES = 3 };
static const char corpus[] = "/usr/share/libonnx-testdata/data";
static const char list[] = FUSESIM_SOURCE_DIR "/tests/unit/onnx_imported.txt";

typedef enum {
    GOOD,    /* imported; all shapes are the stored ones */
    COPIED,  /* the same, with an operator that costs a copy as it is not known */
    DIFFERS, /* imported; a shape differs, or a result is missing */
    REFUSED,
    OUTCOMES
} outcome;
static const char *const outcome_names[] = {"imported", "copied", "other shape", "refused"};

typedef struct {
    const char *name; /* "node/test_abs" */
    const char *op;   /* that it tests: "Abs"; "several" */
    outcome what;
    const char *why; /* it is not GOOD */
} row;

static struct {
    fsim_arena *a; /* of rows */
    row *row;
    int rows, room;
} run;

/* What the file of tensor number `index` of the model's first data set says; NULL where it holds no tensor. */
static const fsim_onnx_tensor *stored(fsim_arena *a, const char *folder, const char *kind, int index)
{
    size_t bytes;
    const char *why, *path = fsim_printf(a, "%s/test_data_set_0/%s_%d.pb", folder, kind, index);
    const char *text = fsim_read_file(a, path, &bytes, &why);
    if (!text)
        return NULL;
    const fsim_onnx_tensor *t = fsim_onnx_read_tensor(a, fsim_diag_new(a), &(fsim_import_source){path, text, bytes});
    return t && t->type ? t : NULL;
}

/* The dimensions of inputs that are no numbers, from the stored inputs. */
static int dims_of(fsim_arena *a, const fsim_onnx_graph *g, const char *folder, fsim_binding *dim)
{
    int count = 0;
    for (int i = 0; i < g->ins; i++) {
        const fsim_onnx_type *type = g->in[i].type;
        const fsim_onnx_tensor *t = type && type->known ? stored(a, folder, "input", i) : NULL;
        for (int k = 0; t && k < t->dims && k < type->dims && count < MOST_DIMS; k++)
            if (type->dim[k].kind != FSIM_ONNX_DIM_NUMBER)
                dim[count++] =
                    (fsim_binding){fsim_printf(a, "%s:%d", g->in[i].name, k), fsim_printf(a, "%" PRId64, t->dim[k])};
    }
    return count;
}

/* The operator that a model tests: the only one that it has, constants aside. */
static const char *op_of(const fsim_onnx_graph *g)
{
    const char *op = NULL;
    for (int i = 0; i < g->nodes; i++)
        if (op && g->node[i].op != op && strcmp(g->node[i].op, "Constant") != 0)
            return "several";
        else if (g->nodes == 1 || strcmp(g->node[i].op, "Constant") != 0)
            op = g->node[i].op;
    return op ? op : "none";
}

static const char *first_message(fsim_arena *a, fsim_diag *d, fsim_severity kind)
{
    fsim_diagnostic *m;
    const int n = fsim_diag_list(d, a, &m);
    for (int i = 0; i < n; i++)
        if (m[i].severity == kind)
            return m[i].message;
    return NULL;
}

static const char *shape_text(fsim_arena *a, int dims, const int64_t *dim)
{
    const char *text = "[";
    for (int i = 0; i < dims; i++)
        text = fsim_printf(a, "%s%s%" PRId64, text, i ? ", " : "", dim[i]);
    return fsim_printf(a, "%s]", text);
}

/* Which of the workload's outputs is the model's output i: the one of its name, else the one in its place; -1: none. */
static int output_of(const fsim_yaml *outputs, int i, const char *name)
{
    for (int k = 0; outputs && k < outputs->count; k++)
        if (strcmp(outputs->item[k]->text, name) == 0)
            return k;
    return outputs && i < outputs->count ? i : -1;
}

/* Why result number i of the graph is not what was stored; NULL: it is. */
static const char *compare(fsim_arena *a, const fsim_graph *g, const fsim_yaml *outputs, int i,
                           const fsim_onnx_tensor *t, const char *name)
{
    fsim_names at = {0};
    for (int k = 0; k < g->tensors; k++)
        fsim_names_set(a, &at, g->tensor[k].name, k);
    const int output = output_of(outputs, i, name),
              k = output < 0 ? -1 : fsim_names_get(&at, outputs->item[output]->text);
    if (k < 0)
        return fsim_printf(a, "'%s' is not among the results", name);
    const fsim_shape *s = &g->tensor[k].shape;
    if (s->rank == t->dims && (t->dims == 0 || memcmp(s->dim, t->dim, (size_t)t->dims * sizeof *t->dim) == 0))
        return NULL;
    return fsim_printf(a, "'%s' is %s, stored is %s", name, shape_text(a, s->rank, s->dim),
                       shape_text(a, t->dims, t->dim));
}

static outcome import(fsim_arena *a, const fsim_import_source *from, const fsim_onnx_graph *m, const char *folder,
                      const char **why)
{
    fsim_diag *d = fsim_diag_new(a);
    fsim_binding dim[MOST_DIMS];
    const fsim_workload_wanted how = {.set = dim, .sets = dims_of(a, m, folder, dim)};
    const fsim_yaml *tree = fsim_tree_load_text(a, d, from->path, from->text, from->bytes, &how).yaml;
    const fsim_graph *g = tree ? fsim_graph_of(a, d, from->path, tree, NULL) : NULL;
    if (!g) {
        *why = first_message(a, d, FSIM_ERROR);
        return REFUSED;
    }
    for (int i = 0; i < m->outs; i++) {
        const fsim_onnx_tensor *t = stored(a, folder, "output", i);
        *why = t ? compare(a, g, fsim_yaml_get(tree, "outputs"), i, t, m->out[i].name) : NULL;
        if (*why)
            return DIFFERS;
    }
    *why = first_message(a, d, FSIM_WARNING);
    return *why && strstr(*why, "is not known") ? COPIED : GOOD;
}

static int read_model(const char *path, const struct stat *s, int kind, struct FTW *walk)
{
    (void)s;
    (void)walk;
    const char *file = strstr(path, "/model.onnx");
    if (kind != FTW_F || !file)
        return 0;
    fsim_arena *a = fsim_arena_new();
    const char *why = "", *folder = fsim_strndup(a, path, (size_t)(file - path));
    fprintf(stderr, "%s\n", path); /* the last one, if it harms */
    size_t bytes = 0;
    const char *text = fsim_read_file(a, path, &bytes, &why);
    const fsim_import_source from = {path, text, bytes};
    const fsim_onnx_model *m = text ? fsim_onnx_read(a, fsim_diag_new(a), &from) : NULL;
    row r = {.name = fsim_strdup(run.a, folder + sizeof corpus), .op = "none", .what = REFUSED};
    if (m) {
        r.op = fsim_strdup(run.a, op_of(m->graph));
        r.what = import(a, &from, m->graph, folder, &why);
    }
    r.why = fsim_strdup(run.a, why ? why : "");
    *FSIM_PUSH(run.a, run.row, run.rows, run.room) = r;
    fsim_arena_free(a);
    return 0;
}

static int by_name(const void *x, const void *y) { return strcmp(((const row *)x)->name, ((const row *)y)->name); }

static int by_op(const void *x, const void *y)
{
    const int order = strcmp(((const row *)x)->op, ((const row *)y)->op);
    return order ? order : by_name(x, y);
}

static int by_why(const void *x, const void *y)
{
    const int order = strcmp(((const row *)x)->why, ((const row *)y)->why);
    return order ? order : by_name(x, y);
}

/* A line of the list: a model's name, and "copied" behind it where it was. */
static outcome listed_as(const char *line, const char **name)
{
    const size_t bytes = strcspn(line, " \n");
    *name = fsim_strndup(run.a, line, bytes);
    return line[bytes] == ' ' ? COPIED : GOOD;
}

/* How many models of the list are worse than it says; prints them. */
static int broken(int *listed)
{
    size_t bytes;
    const char *why, *text = fsim_read_file(run.a, list, &bytes, &why);
    fsim_names names = {0};
    int count = 0;
    for (int i = 0; i < run.rows; i++)
        fsim_names_set(run.a, &names, run.row[i].name, i);
    for (*listed = 0; text && *text; text += strcspn(text, "\n") + 1) {
        const char *name;
        const outcome was = listed_as(text, &name);
        const int i = fsim_names_get(&names, name);
        *listed += i >= 0;
        if (i >= 0 && run.row[i].what > was) {
            printf("%s was %s, and is now %s: %s\n", name, outcome_names[was], outcome_names[run.row[i].what],
                   run.row[i].why);
            count++;
        }
    }
    return count;
}

static int check(void)
{
    int count[OUTCOMES] = {0}, listed;
    for (int i = 0; i < run.rows; i++)
        count[run.row[i].what]++;
    const int faults = broken(&listed), good = count[GOOD] + count[COPIED];
    printf("%d models: %d imported, %d copied, %d with another shape, %d refused; %d are listed\n", run.rows,
           count[GOOD], count[COPIED], count[DIFFERS], count[REFUSED], listed);
    if (good > listed)
        printf("%d more could be listed: bench/onnx_operators.sh\n", good - listed);
    return faults || listed == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void print_operators(void)
{
    qsort(run.row, (size_t)run.rows, sizeof *run.row, by_op);
    puts("| operator | models | imported | copied | other shape | refused |\n| :-- | --: | --: | --: | --: | --: |");
    for (int i = 0; i < run.rows;) {
        const char *op = run.row[i].op;
        int count[OUTCOMES] = {0}, models = 0;
        for (; i < run.rows && strcmp(run.row[i].op, op) == 0; i++, models++)
            count[run.row[i].what]++;
        printf("| %s | %d |", op, models);
        for (int k = 0; k < OUTCOMES; k++)
            printf(count[k] ? " %d |" : " |", count[k]);
        puts("");
    }
}

/* The models of an outcome, those with the same reason together. */
static void print_reasons(const char *heading, outcome what, int models)
{
    if (models == 0)
        return;
    printf("\n## %s\n\n", heading);
    qsort(run.row, (size_t)run.rows, sizeof *run.row, by_why);
    puts("| reason | models | |\n| :-- | --: | :-- |");
    for (int i = 0, next; i < run.rows; i = next) {
        const char *why = run.row[i].why, *names = "";
        int count = 0;
        for (next = i; next < run.rows && strcmp(run.row[next].why, why) == 0; next++)
            if (run.row[next].what == what && count++ < MOST_NAMES)
                names = fsim_printf(run.a, "%s%s%s", names, count > 1 ? ", " : "", run.row[next].name);
        if (count)
            printf("| %s | %d | %s%s |\n", why, count, names, count > MOST_NAMES ? ", ..." : "");
    }
}

static int report(void)
{
    int count[OUTCOMES] = {0};
    for (int i = 0; i < run.rows; i++)
        count[run.row[i].what]++;
    puts("# ONNX operators that are imported\n\nMade by `bench/onnx_operators.sh`; do not edit. The models are ONNX's "
         "operator tests, as the package libonnx-testdata 1.12 has them.\n");
    printf(
        "Of %d models, %d are imported, and all their results have the shapes of the stored ones; %d more cost a copy "
        "where an operator is not known; %d have a result of another shape, or lack one; %d are refused.\n\n",
        run.rows, count[GOOD], count[COPIED], count[DIFFERS], count[REFUSED]);
    puts("*several*: models with more than one operator, among them functions written out.\n");
    print_operators();
    print_reasons("Refused", REFUSED, count[REFUSED]);
    print_reasons("With results of another shape, or without them", DIFFERS, count[DIFFERS]);
    print_reasons("With operators that cost a copy", COPIED, count[COPIED]);
    return EXIT_SUCCESS;
}

static int print_list(void)
{
    for (int i = 0; i < run.rows; i++)
        if (run.row[i].what <= COPIED)
            printf("%s%s\n", run.row[i].name, run.row[i].what == COPIED ? " copied" : "");
    return EXIT_SUCCESS;
}

static int show(int count, char **name)
{
    for (int i = 0; i < run.rows; i++)
        for (int k = 0; k < count; k++)
            if (strstr(run.row[i].name, name[k])) {
                printf("%s (%s): %s: %s\n", run.row[i].name, run.row[i].op, outcome_names[run.row[i].what],
                       run.row[i].why);
                break;
            }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    run.a = fsim_arena_new();
    nftw(corpus, read_model, 16, FTW_PHYS);
    qsort(run.row, (size_t)run.rows, run.rows ? sizeof *run.row : 1, by_name);
    int status = SKIPPED;
    if (run.rows == 0)
        puts("skipped: needs the package libonnx-testdata");
    else if (argc == 2 && strcmp(argv[1], "--list") == 0)
        status = print_list();
    else if (argc == 2 && strcmp(argv[1], "--report") == 0)
        status = report();
    else
        status = argc > 1 ? show(argc - 1, argv + 1) : check();
    fsim_arena_free(run.a);
    return status;
}
