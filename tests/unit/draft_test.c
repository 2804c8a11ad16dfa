/* SPDX-License-Identifier: Apache-2.0 */
/* What importers write: names, dimensions that --dim gives, operators that are not known, and the tree that comes of
 * it. depends: compiler memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "import/draft.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    fsim_draft *draft;
} subject;

static subject begin(const fsim_binding *set, int sets)
{
    subject s = {.a = fsim_arena_new()};
    s.d = fsim_diag_new(s.a);
    fsim_dims *dims = fsim_new(s.a, fsim_dims, 1);
    *dims = (fsim_dims){set, sets, fsim_new(s.a, bool, sets + 1), false};
    s.draft = fsim_draft_new(s.a, s.d, "model.onnx", dims);
    return s;
}

static void end(subject *s) { fsim_arena_free(s->a); }

/* All messages and their notes as they are printed. */
static const char *printed(subject *s)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    fsim_diag_print(s->d, out, false);
    fclose(out);
    const char *copy = fsim_strdup(s->a, text);
    free(text);
    return copy;
}

static void expect_text(subject *s, const char *wanted)
{
    const char *text = printed(s);
    if (!strstr(text, wanted))
        fail_msg("no '%s' in:\n%s", wanted, text);
}

/* A linear layer of 'rows' rows. */
static void small_model(fsim_draft *x, int64_t rows)
{
    const fsim_shape in = {2, {rows, 16}}, weight = {2, {32, 16}};
    const char *of[2] = {fsim_draft_tensor(x, "/x", &in, FSIM_F32, FSIM_INPUT),
                         fsim_draft_tensor(x, "onnx::MatMul_17", &weight, FSIM_F32, FSIM_WEIGHT)};
    fsim_draft_source(x, "encoder.layer.0", "Gemm");
    const char *y = fsim_draft_op(x, "linear", "/encoder/Gemm_output_0", 2, of);
    fsim_draft_output(x, y);
}

static void names_are_readable_and_unique(void **state)
{
    (void)state;
    subject s = begin(NULL, 0);
    const fsim_shape shape = {1, {4}};
    static const char *const wanted[][2] = {{"/encoder/layer.0/MatMul_output_0", "encoder.layer.0.MatMul"},
                                            {"onnx::MatMul_17", "MatMul_17"},
                                            {"a b", "a.b"},
                                            {"a.b", "a.b_1"},
                                            {"a/b", "a.b_2"},
                                            {"a.b_1", "a.b_1_1"},
                                            {"", "tensor"}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_string_equal(fsim_draft_tensor(s.draft, wanted[i][0], &shape, FSIM_F32, FSIM_INPUT), wanted[i][1]);
    end(&s);
}

static void a_finished_tree_is_a_workload(void **state)
{
    (void)state;
    subject s = begin(NULL, 0);
    small_model(s.draft, 8);
    const fsim_yaml *y = fsim_draft_finish(s.draft, "small");
    assert_non_null(y);
    const fsim_graph *g = fsim_graph_of(s.a, s.d, "model.onnx", y, NULL);
    assert_non_null(g);
    assert_string_equal(g->name, "small");
    assert_int_equal(g->sources, 1);
    assert_string_equal(g->source[0].layer, "encoder.layer.0");
    assert_string_equal(g->source[0].from, "Gemm");
    assert_string_equal(g->source[0].name, "encoder.Gemm");
    assert_int_equal(g->parameters, 32 * 16);
    assert_string_equal(printed(&s), "");
    end(&s);
}

/* A value of --dim counts by the dimension's name and by its place; of several the last one. */
static void dimensions_have_the_values_of_the_command_line(void **state)
{
    (void)state;
    const fsim_binding set[] = {{"batch", "4"}, {"ids:1", "64"}, {"batch", "6"}};
    subject s = begin(set, 3);
    int64_t value = 0;
    assert_true(fsim_draft_dim(s.draft, "batch", "ids:0", 1, INT64_MAX, &value));
    assert_int_equal(value, 6);
    assert_true(fsim_draft_dim(s.draft, "s77", "ids:1", 2, 512, &value));
    assert_int_equal(value, 64);
    fsim_draft_symbol(s.draft, "batch", 6);
    fsim_draft_symbol(s.draft, "batch", 6); /* the importer meets it on each tensor */
    small_model(s.draft, 6);
    const fsim_yaml *y = fsim_draft_finish(s.draft, "small");
    assert_non_null(y);
    assert_int_equal(fsim_yaml_get(y, "symbols")->count, 1);
    end(&s);
}

static void missing_dimensions_are_a_table_with_an_example(void **state)
{
    (void)state;
    subject s = begin(NULL, 0);
    int64_t value = 0;
    assert_false(fsim_draft_dim(s.draft, "batch", "ids:0", 1, INT64_MAX, &value));
    assert_int_equal(value, 1);
    assert_false(fsim_draft_dim(s.draft, "seq_len", "ids:1", 2, 512, &value));
    assert_int_equal(value, 2);
    assert_false(fsim_draft_dim(s.draft, "batch", "mask:0", 1, INT64_MAX, &value));
    small_model(s.draft, 8);
    assert_null(fsim_draft_finish(s.draft, "small"));
    assert_int_equal(fsim_diag_status(s.d), FSIM_BAD_INPUT);
    const char *text = printed(&s);
    static const char *const wanted[] = {"2 dimensions are without a value: add --dim batch=8 --dim seq_len=128",
                                         "batch    axis 0 of 'ids'  1 and more", "seq_len  axis 1 of 'ids'  2 to 512"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(text, wanted[i]))
            fail_msg("no '%s' in:\n%s", wanted[i], text);
    end(&s);
}

static void wrong_values_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *message;
    } cases[] = {{"batch", "x", "--dim batch=x: wants a whole number"},
                 {"batch", "9999999999999999999999", "--dim batch=9999999999999999999999: the model takes 64 at most"},
                 {"batch", "0", "--dim batch=0: the model takes 1 and more"},
                 {"batch", "65", "--dim batch=65: the model takes 64 at most"},
                 {"bach", "2", "the model has no dimension 'bach'; did you mean 'batch'?"},
                 {"width", "2", "the model has no dimension 'width'; it has batch"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fsim_binding set[] = {{cases[i].name, cases[i].value}};
        subject s = begin(set, 1);
        int64_t value = 0;
        fsim_draft_dim(s.draft, "batch", "ids:0", 1, 64, &value);
        small_model(s.draft, 8);
        assert_null(fsim_draft_finish(s.draft, "small"));
        assert_int_equal(fsim_diag_status(s.d), FSIM_BAD_INPUT);
        expect_text(&s, cases[i].message);
        end(&s);
    }
}

/* It costs a copy: an operator `custom`, with a warning that says how often. What nobody reads is left out. */
static void unknown_operators_are_copies(void **state)
{
    (void)state;
    subject s = begin(NULL, 0);
    const fsim_shape shape = {1, {64}};
    const char *x = fsim_draft_tensor(s.draft, "x", &shape, FSIM_F16, FSIM_INPUT);
    fsim_draft_result out = {"y", shape, FSIM_F16};
    fsim_draft_unknown(s.draft, "com.foo:Bar", 1, &x, 1, &out);
    const char *y = out.name;
    out.name = "z";
    fsim_draft_unknown(s.draft, "com.foo:Bar", 1, &y, 1, &out);
    fsim_draft_output(s.draft, out.name);
    (void)fsim_draft_op(s.draft, "relu", "dead", 1, &x);
    const fsim_yaml *tree = fsim_draft_finish(s.draft, "small");
    const fsim_graph *g = tree ? fsim_graph_of(s.a, s.d, "model.onnx", tree, NULL) : NULL;
    assert_non_null(g);
    assert_int_equal(g->sources, 2);
    assert_int_equal(g->source[0].op, FSIM_OP_CUSTOM);
    assert_string_equal(g->source[0].from, "com.foo:Bar");
    expect_text(&s, "operator 'com.foo:Bar' is not known (2 times)");
    end(&s);
}

/* A tensor that no operator reads, or one alone whose result nobody reads, is none of the workload's: neither is
 * declared, counted or warned of. One that is a result itself stays. */
static void unread_tensors_are_left_out(void **state)
{
    (void)state;
    subject s = begin(NULL, 0);
    const fsim_shape zeros = {1, {32}};
    (void)fsim_draft_tensor(s.draft, "weight_zero_point", &zeros, FSIM_I8, FSIM_WEIGHT);
    const char *scale = fsim_draft_tensor(s.draft, "weight_scale", &zeros, FSIM_F32, FSIM_WEIGHT);
    (void)fsim_draft_op(s.draft, "relu", "dead", 1, &scale);
    fsim_draft_output(s.draft, fsim_draft_tensor(s.draft, "passed", &zeros, FSIM_F32, FSIM_INPUT));
    small_model(s.draft, 8);
    const fsim_yaml *y = fsim_draft_finish(s.draft, "small");
    assert_non_null(y);
    const fsim_yaml *tensors = fsim_yaml_get(y, "tensors");
    assert_int_equal(tensors->count, 3);
    assert_string_equal(tensors->key[0]->text, "passed");
    assert_string_equal(tensors->key[1]->text, "x");
    assert_string_equal(tensors->key[2]->text, "MatMul_17");
    const fsim_graph *g = fsim_graph_of(s.a, s.d, "model.onnx", y, NULL);
    assert_non_null(g);
    assert_int_equal(g->parameters, 32 * 16);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_readable_and_unique),
        cmocka_unit_test(a_finished_tree_is_a_workload),
        cmocka_unit_test(dimensions_have_the_values_of_the_command_line),
        cmocka_unit_test(missing_dimensions_are_a_table_with_an_example),
        cmocka_unit_test(wrong_values_are_errors),
        cmocka_unit_test(unknown_operators_are_copies),
        cmocka_unit_test(unread_tensors_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
