/* SPDX-License-Identifier: Apache-2.0 */
/* depends: memory cost: 3
 * Real models in ONNX (../shared/models): what the importer makes of every tensor, of numbers that follow from shapes,
 * and of parameters and FLOPs, beside what was observed in a run of each. Skipped where the folder is not there. */
#include "base/file.h"
#include "import/load.h"
#include "import/onnx/import.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs those above */

#include "printed.h"

enum { SKIPPED = 77, SHOWN = 8, MOST_MODELS = 64, MOST_DIMS = 8 };

static char models_folder[512];
static char *model_names[MOST_MODELS];
static int models;
static bool verbose;

/* One model and what is said of it. */
typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    const char *name;
    fsim_import_source source;
    const fsim_yaml *expect, *values; /* values: the file of values, where it is apart */
    fsim_binding binding[MOST_DIMS];
    int bindings, wrong;
} model;

static const char *path_to(const model *m, const char *ending)
{
    return fsim_printf(m->a, "%s/%s%s", models_folder, m->name, ending);
}

static const fsim_yaml *read_json(const model *m, const char *ending)
{
    const char *why, *path = path_to(m, ending);
    size_t bytes;
    const char *text = fsim_read_file(m->a, path, &bytes, &why);
    return text ? fsim_yaml_parse_json(m->a, m->d, path, text, bytes) : NULL;
}

static void open_model(model *m, const char *name)
{
    const char *why;
    *m = (model){.a = fsim_arena_new(), .name = name};
    m->d = fsim_diag_new(m->a);
    m->source.path = path_to(m, ".onnx");
    m->source.text = fsim_read_file(m->a, m->source.path, &m->source.bytes, &why);
    m->expect = read_json(m, ".expect.json");
    m->values = read_json(m, ".values.json");
    assert_non_null(m->source.text);
    assert_non_null(m->expect);
}

static void bind(model *m, const fsim_yaml *dims)
{
    m->bindings = 0;
    for (int i = 0; dims && dims->kind == FSIM_YAML_MAPPING && i < dims->count; i++)
        m->binding[m->bindings++] = (fsim_binding){dims->key[i]->text, dims->item[i]->text};
}

#define WRONG(m, ...)                                                                                                  \
    do {                                                                                                               \
        if ((m)->wrong++ < SHOWN || verbose)                                                                           \
            print_error("%s: %s\n", (m)->name, fsim_printf((m)->a, __VA_ARGS__));                                      \
    } while (0)

static fsim_onnx_import *translated(model *m, bool everything)
{
    fsim_dims *dims = fsim_new(m->a, fsim_dims, 1);
    *dims = (fsim_dims){m->binding, m->bindings, fsim_new(m->a, bool, m->bindings + 1), false};
    fsim_onnx_import *x = fsim_onnx_open(m->a, m->d, &m->source, dims, everything);
    if (!x)
        WRONG(m, "%s", printed(m->a, m->d));
    return x;
}

static bool is_shape(const fsim_yaml *list, const fsim_shape *s)
{
    if (list->count != s->rank)
        return false;
    for (int i = 0; i < s->rank; i++)
        if (atoll(list->item[i]->text) != s->dim[i])
            return false;
    return true;
}

static const char *list_text(const model *m, const fsim_yaml *list)
{
    const char *text = "";
    for (int i = 0; i < list->count; i++)
        text = fsim_printf(m->a, "%s%s%s", text, i ? ", " : "", list->item[i]->text);
    return fsim_printf(m->a, "[%s]", text);
}

static void check_tensors(model *m, const fsim_onnx_import *x)
{
    const fsim_yaml *t = fsim_yaml_get(m->expect, "tensors"),
                    *o = fsim_yaml_get(m->expect, "dtypes_other_than_float32");
    fsim_names other = {0};
    if (!o && m->values)
        o = fsim_yaml_get(m->values, "dtypes_other_than_float32");
    for (int i = 0; o && i < o->count; i++)
        fsim_names_set(m->a, &other, o->key[i]->text, fsim_dtype_elsewhere(o->item[i]->text));
    for (int i = 0; i < t->count; i++) {
        const char *name = t->key[i]->text;
        const fsim_operand *v = fsim_onnx_lookup(x, name);
        const int said = fsim_names_get(&other, name);
        if (!v)
            WRONG(m, "there is no '%s'", name);
        else if (!is_shape(t->item[i], &v->shape))
            WRONG(m, "'%s' is %s, found %s", name, list_text(m, t->item[i]), fsim_shape_text(m->a, &v->shape));
        else if (said >= 0 && v->dtype != (fsim_dtype)said && v->dtype != FSIM_DTYPE_NONE)
            WRONG(m, "'%s' is of %s, found %s", name, fsim_dtype_names[said], fsim_dtype_names[v->dtype]);
    }
    if (t->count < 10)
        WRONG(m, "only %d tensors are listed", t->count);
}

static int64_t number_of(const char *text)
{
    return strcmp(text, "true") == 0 ? 1 : strcmp(text, "false") == 0 ? 0 : atoll(text);
}

/* Flattens a list of lists, or one number, and compares. */
static bool same_numbers(const fsim_yaml *said, const int64_t *ints, int64_t *at)
{
    if (said->kind == FSIM_YAML_SCALAR)
        return number_of(said->text) == ints[(*at)++];
    for (int i = 0; i < said->count; i++)
        if (!same_numbers(said->item[i], ints, at))
            return false;
    return true;
}

static void check_values(model *m, const fsim_onnx_import *x)
{
    const fsim_yaml *said = fsim_yaml_get(m->values ? m->values : m->expect, "shape_values");
    for (int i = 0; said && i < said->count; i++) {
        const char *name = said->key[i]->text;
        const fsim_operand *v = fsim_onnx_lookup(x, name);
        int64_t at = 0;
        if (!v || !v->ints)
            WRONG(m, "the numbers of '%s' are not known", name);
        else if (!same_numbers(said->item[i], v->ints, &at))
            WRONG(m, "the numbers of '%s' differ: found %lld first", name, (long long)v->ints[0]);
    }
}

/* What the graph makes of each tensor is what the importer took it for. */
static void check_graph_tensors(model *m, const fsim_onnx_import *x, const fsim_graph *g)
{
    fsim_names at = {0};
    for (int i = 0; i < g->tensors; i++)
        fsim_names_set(m->a, &at, g->tensor[i].name, i);
    for (int i = 0; i < x->main->operands; i++) {
        const fsim_operand *v = x->main->operand[i];
        const int t = v->tensor ? fsim_names_get(&at, v->tensor) : -1;
        if (t < 0)
            continue;
        const fsim_tensor *found = &g->tensor[t];
        if (memcmp(&found->shape, &v->shape, sizeof(int) + sizeof(int64_t) * (size_t)v->shape.rank) != 0 &&
            strcmp(fsim_shape_text(m->a, &found->shape), fsim_shape_text(m->a, &v->shape)) != 0)
            WRONG(m, "'%s' is %s in the graph, and %s for the importer", v->tensor,
                  fsim_shape_text(m->a, &found->shape), fsim_shape_text(m->a, &v->shape));
        else if (found->dtype != v->dtype)
            WRONG(m, "'%s' is of %s in the graph, and of %s for the importer", v->tensor,
                  fsim_dtype_names[found->dtype], fsim_dtype_names[v->dtype]);
    }
}

static void check_flops(model *m, const fsim_yaml *of, const fsim_graph *g)
{
    const fsim_yaml *flops = fsim_yaml_get(of, "contraction_flops");
    if (flops && atof(flops->text) != g->contraction_flops)
        WRONG(m, "%s FLOPs of contractions, found %.0f", flops->text, g->contraction_flops);
}

static void check_outputs(model *m, const fsim_yaml *of, const fsim_onnx_import *x)
{
    const fsim_yaml *outputs = fsim_yaml_get(of, "outputs");
    for (int i = 0; outputs && i < outputs->count; i++) {
        const fsim_yaml *shape = outputs->item[i];
        const fsim_operand *v = fsim_onnx_lookup(x, outputs->key[i]->text);
        if (shape->kind == FSIM_YAML_MAPPING)
            shape = fsim_yaml_get(shape, "shape");
        if (!v || !is_shape(shape, &v->shape))
            WRONG(m, "output '%s' is %s, found %s", outputs->key[i]->text, list_text(m, shape),
                  v ? fsim_shape_text(m->a, &v->shape) : "none");
    }
}

/* The whole way, for one binding. */
static void check_graph(model *m, const fsim_yaml *of)
{
    const fsim_onnx_import *x = translated(m, false);
    const fsim_yaml *tree = x ? fsim_draft_finish(x->x, m->name) : NULL;
    const fsim_bindings none = {NULL, 0, NULL};
    const fsim_graph *g = tree ? fsim_graph_of(m->a, m->d, m->source.path, tree, &none) : NULL;
    if (!g || fsim_draft_check(x->x, g) > 0)
        WRONG(m, "%s", printed(m->a, m->d));
    if (!g)
        return;
    const char *said = printed(m->a, m->d);
    if (strstr(said, "is not known"))
        WRONG(m, "%s", said);
    check_graph_tensors(m, x, g);
    check_flops(m, of, g);
    check_outputs(m, of, x);
}

/* As a user loads it: what is recognised computes the same, and nothing differs from what the file says. */
static void check_recognised(model *m, const fsim_yaml *of)
{
    const fsim_workload_wanted how = {.set = m->binding, .sets = m->bindings};
    const fsim_graph *g = fsim_graph_load(m->a, m->d, m->source.path, &how);
    const char *said = printed(m->a, m->d);
    if (!g || strstr(said, "in the file"))
        WRONG(m, "%s", said);
    if (g)
        check_flops(m, of, g);
}

static void check_parameters(model *m, const fsim_onnx_import *x)
{
    const int64_t said = atoll(fsim_yaml_get(m->expect, "params")->text);
    if (said != x->parameters)
        WRONG(m, "%lld parameters, found %lld", (long long)said, (long long)x->parameters);
}

static int check_model(const char *name)
{
    model m;
    open_model(&m, name);
    bind(&m, fsim_yaml_get(m.expect, "dims"));
    const fsim_onnx_import *x = translated(&m, true);
    if (x) {
        check_tensors(&m, x);
        check_values(&m, x);
        check_parameters(&m, x);
        printed(m.a, m.d);
        check_graph(&m, m.expect);
        check_recognised(&m, m.expect);
    }
    const fsim_yaml *second = fsim_yaml_get(m.expect, "second_binding");
    if (x && second && second->kind == FSIM_YAML_MAPPING) {
        bind(&m, fsim_yaml_get(second, "dims"));
        check_graph(&m, second);
    }
    const int wrong = m.wrong;
    if (wrong > SHOWN && !verbose)
        print_error("%s: and %d more\n", name, wrong - SHOWN);
    fsim_arena_free(m.a);
    return wrong;
}

static void every_model_is_as_it_runs(void **unused)
{
    (void)unused;
    int wrong = 0;
    for (int i = 0; i < models; i++)
        wrong += check_model(model_names[i]) > 0;
    if (wrong > 0)
        fail_msg("%d of %d models differ", wrong, models);
}

static int by_name(const void *x, const void *y) { return strcmp(*(char *const *)x, *(char *const *)y); }

static void find_models(const char *only)
{
    DIR *folder = opendir(models_folder);
    for (struct dirent *e; folder && models < MOST_MODELS && (e = readdir(folder));) {
        char *dot = strstr(e->d_name, ".onnx");
        if (!dot || dot[5] || (only && !strstr(e->d_name, only)))
            continue;
        model_names[models] = strdup(e->d_name);
        model_names[models++][dot - e->d_name] = 0;
    }
    if (folder)
        closedir(folder);
    qsort(model_names, (size_t)models, sizeof *model_names, by_name);
}

int main(int argc, char **argv)
{
    const char *shared = getenv("FUSESIM_SHARED");
    verbose = argc > 2;
    snprintf(models_folder, sizeof models_folder, "%s/models", shared ? shared : FUSESIM_SOURCE_DIR "/../shared");
    find_models(argc > 1 ? argv[1] : NULL);
    if (models == 0) {
        puts("skipped: ../shared/models is not here");
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_model_is_as_it_runs)};
    const int failed = cmocka_run_group_tests_name("onnx_models", tests, NULL, NULL);
    for (int i = 0; i < models; i++)
        free(model_names[i]);
    return failed;
}
