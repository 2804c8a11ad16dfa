/* SPDX-License-Identifier: Apache-2.0 */
/* depends: memory cost: 3
 * Real models in torch.export archives (../shared/models): the shape and dtype of every tensor, parameters, and the
 * FLOPs of contractions, beside what was observed in a run of each. Skipped where the folder is not there. */
#include "base/file.h"
#include "import/load.h"
#include "import/torch/archive.h"
#include "import/torch/symbols.h"

#include <dirent.h>
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

/* One model and what is said of it. */
typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    const char *name, *path;
    const fsim_yaml *expect;
    fsim_binding binding[MOST_DIMS];
    int bindings, wrong;
} model;

#define WRONG(m, ...)                                                                                                  \
    do {                                                                                                               \
        if ((m)->wrong++ < SHOWN)                                                                                      \
            print_error("%s: %s\n", (m)->name, fsim_printf((m)->a, __VA_ARGS__));                                      \
    } while (0)

static void open_model(model *m, const char *name)
{
    const char *why;
    size_t bytes;
    *m = (model){.a = fsim_arena_new(), .name = name};
    m->d = fsim_diag_new(m->a);
    m->path = fsim_printf(m->a, "%s/%s.pt2", models_folder, name);
    const char *expect = fsim_printf(m->a, "%s.expect.json", m->path);
    const char *text = fsim_read_file(m->a, expect, &bytes, &why);
    m->expect = text ? fsim_yaml_parse_json(m->a, m->d, expect, text, bytes) : NULL;
    assert_non_null(m->expect);
}

/* The symbols of the file for names that it does not have. */
static void bind(model *m, const fsim_yaml *dims)
{
    const fsim_yaml *symbols = fsim_yaml_get(m->expect, "symbols");
    m->bindings = 0;
    for (int i = 0; i < symbols->count; i++) {
        const char *name = fsim_yaml_get(symbols->item[i], "dim")->text;
        m->binding[m->bindings++] = (fsim_binding){symbols->key[i]->text, fsim_yaml_get(dims, name)->text};
    }
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

/* What the file says of every tensor, with its sizes worked out, is what a run made. */
static void check_tensors(model *m)
{
    const char *why;
    fsim_import_source from = {m->path, NULL, 0};
    fsim_dims dims = {.at = m->binding, .count = m->bindings, .used = fsim_new(m->a, bool, m->bindings + 1)};
    from.text = fsim_read_file(m->a, m->path, &from.bytes, &why);
    size_t bytes;
    const char *json = fsim_torch_archive(m->a, m->d, &from, &bytes);
    const fsim_torch_program *p = json ? fsim_torch_parse(m->a, m->d, m->path, json, bytes) : NULL;
    fsim_torch_bound b = {.a = m->a, .d = m->d, .x = fsim_draft_new(m->a, m->d, m->path, &dims), .p = p, .dims = &dims};
    const fsim_yaml *t = fsim_yaml_get(m->expect, "tensors"),
                    *other = fsim_yaml_get(m->expect, "dtypes_other_than_float32");
    if (!p || !fsim_torch_bind(&b)) {
        WRONG(m, "%s", printed(m->a, m->d));
        return;
    }
    for (int i = 0; i < t->count; i++) {
        const int at = fsim_names_get(&p->graph.tensor_at, t->key[i]->text);
        const fsim_yaml *said = fsim_yaml_get(other, t->key[i]->text);
        fsim_shape s;
        bool complex;
        if (at < 0 || !fsim_torch_shape(&b, &p->graph.tensor[at], &s) || !is_shape(t->item[i], &s))
            WRONG(m, "'%s' is another shape", t->key[i]->text);
        else if (fsim_torch_dtype(p->graph.tensor[at].type, &complex) !=
                 (said ? fsim_dtype_elsewhere(said->text) : FSIM_F32))
            WRONG(m, "'%s' is of another dtype", t->key[i]->text);
    }
    if (t->count < 10 || p->graph.nodes != atoi(fsim_yaml_get(m->expect, "nodes")->text))
        WRONG(m, "%d tensors, %d nodes", t->count, p->graph.nodes);
}

/* FLOPs of contractions but for those of bodies, which the expectation leaves out. */
static double flops_outside(const fsim_graph *g)
{
    double flops = 0;
    for (int i = 0; i < g->nodes; i++) {
        const fsim_node *n = &g->node[i];
        const char *from = g->source[n->source].from;
        if (fsim_ops[n->op].class == FSIM_CONTRACTION && !(from && strchr(from, '/')))
            flops += 2.0 * (double)n->gemm.batch * (double)n->gemm.m * (double)n->gemm.n * (double)n->gemm.k;
    }
    return flops;
}

/* The whole way, for one binding: what our operators make of each tensor is what the file says. */
static void check_graph(model *m, const fsim_yaml *of)
{
    const fsim_workload_wanted how = {.set = m->binding, .sets = m->bindings};
    const fsim_graph *g = fsim_graph_load(m->a, m->d, m->path, &how);
    const char *said = printed(m->a, m->d);
    if (!g || strstr(said, "in the file") || strstr(said, "is not known") || strstr(said, "is not read"))
        WRONG(m, "%s", said);
    if (!g)
        return;
    const double flops = atof(fsim_yaml_get(of, "contraction_flops")->text);
    /* As many as the module had: the file names tied ones twice, of which operators read one. Nobody reads a linear
     * layer of 64 in the branch that is not taken. */
    const int64_t untaken = strstr(m->path, "tiny_control_flow") ? 64 * 64 + 64 : 0;
    const int64_t parameters =
        atoll(fsim_yaml_get(fsim_yaml_get(m->expect, "parameters"), "elems_tied_once")->text) - untaken;
    if (flops_outside(g) != flops)
        WRONG(m, "%.0f FLOPs of contractions, found %.0f", flops, flops_outside(g));
    if (g->parameters != parameters)
        WRONG(m, "%lld parameters, found %lld", (long long)parameters, (long long)g->parameters);
}

static int check_model(const char *name)
{
    model m;
    open_model(&m, name);
    const fsim_yaml *second = fsim_yaml_get(m.expect, "second_binding");
    bind(&m, fsim_yaml_get(m.expect, "dims"));
    check_tensors(&m);
    check_graph(&m, m.expect);
    if (second && second->kind == FSIM_YAML_MAPPING) {
        bind(&m, fsim_yaml_get(second, "dims"));
        check_graph(&m, second);
    }
    const int wrong = m.wrong;
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

/* What core ATen makes of attention, 25 operators, costs what attention costs. */
static void decomposed_attention_is_one(void **unused)
{
    (void)unused;
    model m;
    int masks = 0;
    for (int i = 0; i < models; i++) {
        if (strcmp(model_names[i], "bert_base_core_aten") != 0)
            continue;
        open_model(&m, model_names[i]);
        bind(&m, fsim_yaml_get(m.expect, "dims"));
        const fsim_workload_wanted how = {.set = m.binding, .sets = m.bindings};
        const fsim_graph *g = fsim_graph_load(m.a, m.d, m.path, &how);
        assert_non_null(g);
        for (int n = 0; n < g->nodes; n++)
            masks += g->node[n].op == FSIM_OP_MASK_OUT; /* nothing but attention makes it */
        fsim_arena_free(m.a);
        assert_int_equal(masks, 2);
    }
}

static void find_models(const char *only)
{
    DIR *folder = opendir(models_folder);
    for (struct dirent *e; folder && models < MOST_MODELS && (e = readdir(folder));) {
        char *dot = strstr(e->d_name, ".pt2");
        if (!dot || dot[4] || (only && !strstr(e->d_name, only)))
            continue;
        model_names[models] = strdup(e->d_name);
        model_names[models++][dot - e->d_name] = 0;
    }
    if (folder)
        closedir(folder);
}

int main(int argc, char **argv)
{
    const char *shared = getenv("FUSESIM_SHARED");
    snprintf(models_folder, sizeof models_folder, "%s/models", shared ? shared : FUSESIM_SOURCE_DIR "/../shared");
    find_models(argc > 1 ? argv[1] : NULL);
    if (models == 0) {
        puts("skipped: ../shared/models is not here");
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_model_is_as_it_runs),
                                       cmocka_unit_test(decomposed_attention_is_one)};
    const int failed = cmocka_run_group_tests_name("torch_models", tests, NULL, NULL);
    for (int i = 0; i < models; i++)
        free(model_names[i]);
    return failed;
}
