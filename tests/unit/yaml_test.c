/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/scale.h"
#include "input/yaml.h"
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs those above */

#include "printed.h"

/* Parses and returns what was printed; *root is the tree or NULL. */
static const char *parse(fsim_arena *a, const char *text, size_t bytes, const fsim_yaml **root)
{
    fsim_diag *d = fsim_diag_new(a);
    *root = fsim_yaml_parse(a, d, "t.yaml", text, bytes);
    return printed(a, d);
}

static void the_tree_has_values_and_places(void **state)
{
    (void)state;
    static const char text[] =
        "# comment\nname: mlp\nshape: [B, '4', 2 * H]\nnested:\n  deep: {x: 1, \"y\": two}\nempty:\n";
    fsim_arena *a = fsim_arena_new();
    const fsim_yaml *root;
    assert_string_equal(parse(a, text, sizeof text - 1, &root), "");
    assert_non_null(root);
    assert_int_equal(root->kind, FSIM_YAML_MAPPING);
    assert_int_equal(root->count, 4);
    assert_string_equal(fsim_yaml_get(root, "name")->text, "mlp");
    const fsim_yaml *shape = fsim_yaml_get(root, "shape");
    assert_int_equal(shape->kind, FSIM_YAML_SEQUENCE);
    assert_int_equal(shape->count, 3);
    assert_string_equal(shape->item[2]->text, "2 * H");
    assert_true(shape->item[1]->quoted);
    assert_false(shape->item[0]->quoted);
    assert_int_equal(shape->item[1]->at.line, 3);
    assert_int_equal(shape->item[1]->at.col, 12);
    const fsim_yaml *deep = fsim_yaml_get(fsim_yaml_get(root, "nested"), "deep");
    assert_string_equal(deep->key[1]->text, "y");
    assert_string_equal(fsim_yaml_get(deep, "y")->text, "two");
    assert_string_equal(fsim_yaml_get(root, "empty")->text, "");
    assert_null(fsim_yaml_get(root, "none"));
    assert_null(fsim_yaml_get(shape, "none"));
    assert_string_equal(fsim_yaml_kind_name(shape), "a list");
    static const char marked[] = "\xEF\xBB\xBFname: mlp\nempty:\n"; /* a mark of byte order */
    assert_string_equal(parse(a, marked, sizeof marked - 1, &root), "");
    assert_true(root && root->count == 2 && root->key[0]->at.col == 1);
    assert_string_equal(fsim_yaml_get(root, "name")->text, "mlp");
    fsim_arena_free(a);
}

static void every_refusal_names_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *out;
    } cases[] = {
        {"", "t.yaml:1:1: error: the file is empty\n"},
        {"# only a comment\n", "t.yaml:1:1: error: the file is empty\n"},
        {"---\n", "t.yaml:1:1: error: the file is empty\n"},
        {"a: 1\n---\nb: 2\n", "t.yaml:2:1: error: a second document starts here; a file holds one\n"},
        {"a: &x 1\n", "t.yaml:1:4: error: YAML anchor '&x' is not supported; write the value at each place\n"},
        {"a: 1\nb: *x\n", "t.yaml:2:4: error: YAML alias '*x' is not supported; write the value out\n"},
        {"a: !!int 1\n", "t.yaml:1:4: error: YAML tag '!!int' is not supported; write the plain value\n"},
        {"a: !mine {b: 1}\n", "t.yaml:1:4: error: YAML tag '!mine' is not supported; write the plain value\n"},
        {"a:\n  <<: {b: 1}\n", "t.yaml:2:3: error: YAML merge key '<<' is not supported; write the keys out\n"},
        {"a: 1\nb: 2\na: 3\n", "t.yaml:3:1: error: duplicate key 'a', first given at line 1, column 1\n"},
        {"[a, b]: 1\n", "t.yaml:1:1: error: a key must be a plain name, not a list\n"},
        {"a: \"x\\0y\"\n", "t.yaml:1:4: error: a NUL character inside a value\n"},
        {"a: [1, 2\n",
         "t.yaml:2:1: error: YAML syntax: did not find expected ',' or ']' while parsing a flow sequence\n"},
        {"a: 1\n  b: 2\n", "t.yaml:2:4: error: YAML syntax: mapping values are not allowed in this context\n"},
        {"a:\n\tb: 1\n", "t.yaml:2:1: error: YAML syntax: a tab; YAML is indented by spaces alone\n"},
        {"\xC3\xA4: 1\nb:\n  \xC3\xA4:\t\t*x\n",
         "t.yaml:3:7: error: YAML alias '*x' is not supported; write the value out\n"},
        {"\xEF\xBB\xBF"
         "a: 1\nb: 2\na: 3\n",
         "t.yaml:3:1: error: duplicate key 'a', first given at line 1, column 1\n"},
        {"a: \xFF\xFE\n", "t.yaml:1:4: error: this is no UTF-8 text: invalid leading UTF-8 octet\n"},
    };
    fsim_arena *a = fsim_arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fsim_yaml *root;
        assert_string_equal(parse(a, cases[i].text, strlen(cases[i].text), &root), cases[i].out);
        assert_null(root);
    }
    const fsim_yaml *root;
    assert_string_equal(parse(a, "a: 1\nb\0c", 8, &root), "t.yaml:2:2: error: a NUL byte: this is no UTF-8 text\n");
    assert_null(root);
    fsim_arena_free(a);
}

static void several_errors_are_all_found(void **state)
{
    (void)state;
    static const char text[] = "a: &x 1\nb: *x\na: !!str 2\n";
    fsim_arena *a = fsim_arena_new();
    const fsim_yaml *root;
    const char *out = parse(a, text, sizeof text - 1, &root);
    assert_null(root);
    assert_non_null(strstr(out, "t.yaml:1:4: error: YAML anchor"));
    assert_non_null(strstr(out, "t.yaml:2:4: error: YAML alias"));
    assert_non_null(strstr(out, "t.yaml:3:1: error: duplicate key"));
    assert_non_null(strstr(out, "t.yaml:3:4: error: YAML tag"));
    fsim_arena_free(a);
}

static void depth_is_bounded(void **state)
{
    (void)state;
    enum { BRACKETS = 100000 };
    fsim_arena *a = fsim_arena_new();
    char *text = fsim_new(a, char, BRACKETS + 1);
    memset(text, '[', BRACKETS);
    const fsim_yaml *root;
    assert_string_equal(parse(a, text, BRACKETS, &root), "t.yaml:1:65: error: nested deeper than 64 levels\n");
    assert_null(root);
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    assert_string_equal(parse(a, text, 128, &root), "");
    assert_non_null(root);
    fsim_arena_free(a);
}

static void a_huge_mapping_is_quick(void **state)
{
    (void)state;
    enum { KEYS = 200000 };
    fsim_arena *a = fsim_arena_new();
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    for (int i = 0; i < KEYS; i++)
        fprintf(out, "key%d: 1\n", i);
    fputs("key7: 2\n", out);
    fclose(out);
    const fsim_yaml *root;
    assert_string_equal(parse(a, text, bytes, &root),
                        "t.yaml:200001:1: error: duplicate key 'key7', first given at line 8, column 1\n");
    free(text);
    fsim_arena_free(a);
}

static void unknown_keys_offer_the_nearest(void **state)
{
    (void)state;
    static const char *const names[] = {"shape", "dtype", "role"};
    static const char text[] = "{shap: 1, dtype: f32, colour: red}";
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_yaml *root = fsim_yaml_parse(a, d, "t.yaml", text, sizeof text - 1);
    assert_non_null(root);
    fsim_yaml_check_keys(a, d, root, "a tensor", names, 3);
    assert_int_equal(fsim_errors(d), 2);
    char *out = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&out, &length);
    fsim_diag_print(d, stream, false);
    fclose(stream);
    assert_string_equal(
        out,
        "t.yaml:1:2: error: unknown key 'shap' in a tensor; did you mean 'shape'? its keys are shape, dtype, role\n"
        "t.yaml:1:23: error: unknown key 'colour' in a tensor; its keys are shape, dtype, role\n");
    free(out);
    fsim_arena_free(a);
}

static const char *length_of(const fsim_yaml *y, int i) { return fsim_yaml_get(y, "shape")->item[i]->text; }

/* All lengths, all but one, or one alone; nothing that is no length. */
static void lengths_are_shortened(void **unused)
{
    (void)unused;
    static const char text[] = "{shape: [10, 64, 224, 7], scalar: 64}";
    static const struct {
        int64_t length;
        bool only;
        const char *is[4];
    } way[] = {{0, false, {"10", "16", "56", "7"}},
               {224, false, {"10", "16", "224", "7"}},
               {224, true, {"10", "64", "56", "7"}},
               {10, true, {"5", "64", "224", "7"}}};
    fsim_arena *a = fsim_arena_new();
    const fsim_yaml *root = fsim_yaml_parse(a, fsim_diag_new(a), "t.yaml", text, sizeof text - 1);
    for (size_t w = 0; w < sizeof way / sizeof *way; w++) {
        const fsim_yaml *y =
            way[w].length ? fsim_scale_around(a, root, 4, way[w].length, way[w].only) : fsim_scale_shapes(a, root, 4);
        for (int i = 0; i < 4; i++)
            assert_string_equal(length_of(y, i), way[w].is[i]);
        assert_string_equal(fsim_yaml_get(y, "scalar")->text, "64");
    }
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tree_has_values_and_places),
        cmocka_unit_test(every_refusal_names_its_place),
        cmocka_unit_test(lengths_are_shortened),
        cmocka_unit_test(several_errors_are_all_found),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(a_huge_mapping_is_quick),
        cmocka_unit_test(unknown_keys_offer_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
