/* SPDX-License-Identifier: Apache-2.0 */
/* A workload that was written as YAML is the same workload.
 * depends: compiler memory cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "graph/find.h"
#include "import/write.h"
#include <stdlib.h>
#include <string.h>

static void expect_same(const fsim_yaml *x, const fsim_yaml *y, const char *of)
{
    if (x->kind != y->kind || x->count != y->count)
        fail_msg("%s: %s of %d became %s of %d", of, fsim_yaml_kind_name(x), x->count, fsim_yaml_kind_name(y),
                 y->count);
    if (x->kind == FSIM_YAML_SCALAR && strcmp(x->text, y->text) != 0)
        fail_msg("%s: '%s' became '%s'", of, x->text, y->text);
    for (int i = 0; i < x->count; i++) {
        if (x->kind == FSIM_YAML_MAPPING)
            expect_same(x->key[i], y->key[i], of);
        expect_same(x->item[i], y->item[i], of);
    }
}

/* y as it was written, parsed. */
static const fsim_yaml *written(fsim_arena *a, const fsim_yaml *y, const char *comment, const char *of)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    fsim_write_workload(out, y, comment);
    fclose(out);
    fsim_diag *d = fsim_diag_new(a);
    const fsim_yaml *again = fsim_yaml_parse(a, d, of, fsim_strndup(a, text, bytes), bytes);
    if (!again)
        fsim_diag_print(d, stderr, false);
    free(text);
    assert_non_null(again);
    return again;
}

static void shipped_workloads_stay_the_same(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const char *folder = FUSESIM_SOURCE_DIR "/workloads";
    int count, seen = 0;
    const char *const *names = fsim_workload_names(a, folder, &count);
    for (int i = 0; i < count; i++) {
        size_t bytes;
        const char *why, *path = fsim_printf(a, "%s/%s.yaml", folder, names[i]),
                         *text = fsim_read_file(a, path, &bytes, &why);
        if (!text)
            continue; /* a model */
        const fsim_yaml *y = fsim_yaml_parse(a, fsim_diag_new(a), path, text, bytes);
        assert_non_null(y);
        expect_same(y, written(a, y, "written by a test\n\n\x01 of two lines", names[i]), names[i]);
        seen++;
    }
    assert_true(seen > 60);
    fsim_arena_free(a);
}

static fsim_yaml *scalar(fsim_arena *a, const char *text)
{
    fsim_yaml *y = fsim_new(a, fsim_yaml, 1);
    *y = (fsim_yaml){.kind = FSIM_YAML_SCALAR, .text = text};
    return y;
}

/* As a value on a line, as a key, and in flow style. */
static void any_text_can_be_written(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "a",
                                        " a",
                                        "a ",
                                        "a: b",
                                        "a, b",
                                        "- a",
                                        "-1",
                                        "-",
                                        "a #b",
                                        "#b",
                                        "'",
                                        "\"",
                                        "\\",
                                        "a\nb",
                                        "\t",
                                        "~",
                                        "null",
                                        "true",
                                        "[a]",
                                        "{a}",
                                        "a]",
                                        "&a",
                                        "*a",
                                        "!a",
                                        "%a",
                                        "@a",
                                        "`a",
                                        "|",
                                        ">",
                                        "?",
                                        "? a",
                                        ":",
                                        "a:b",
                                        "a:",
                                        "<_6 * i>",
                                        "bhqd,bhkd->bhqk",
                                        "com.foo:Bar",
                                        "1e-05",
                                        "...",
                                        "---",
                                        "\xc3\xa4",
                                        "\xe2\x82\xac",
                                        "x\ty",
                                        "\xf0\x9f\x98\x80"};
    fsim_arena *a = fsim_arena_new();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fsim_yaml *inner = fsim_new(a, fsim_yaml, 1), *root = fsim_new(a, fsim_yaml, 1);
        *inner = (fsim_yaml){.kind = FSIM_YAML_MAPPING,
                             .count = 1,
                             .key = fsim_new(a, fsim_yaml *, 1),
                             .item = fsim_new(a, fsim_yaml *, 1)};
        *root = (fsim_yaml){.kind = FSIM_YAML_MAPPING,
                            .count = 2,
                            .key = fsim_new(a, fsim_yaml *, 2),
                            .item = fsim_new(a, fsim_yaml *, 2)};
        inner->key[0] = inner->item[0] = scalar(a, texts[i]);
        root->key[0] = scalar(a, "name");
        root->item[0] = scalar(a, texts[i]);
        root->key[1] = scalar(a, "tensors");
        root->item[1] = inner;
        expect_same(root, written(a, root, NULL, texts[i]), texts[i]);
    }
    fsim_arena_free(a);
}

/* Bytes that are no UTF-8 become question marks, so that the file can be read. */
static void bytes_that_are_no_text_are_replaced(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_yaml *root = fsim_new(a, fsim_yaml, 1);
    *root = (fsim_yaml){
        .kind = FSIM_YAML_MAPPING, .count = 1, .key = fsim_new(a, fsim_yaml *, 1), .item = fsim_new(a, fsim_yaml *, 1)};
    root->key[0] = scalar(a, "name");
    root->item[0] = scalar(a, "x\xff\xc0\x80\xed\xa0\x80y\xe2\x82");
    const fsim_yaml *again = written(a, root, NULL, "bytes");
    assert_string_equal(again->item[0]->text, "x??????y??");
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_workloads_stay_the_same),
        cmocka_unit_test(any_text_can_be_written),
        cmocka_unit_test(bytes_that_are_no_text_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
