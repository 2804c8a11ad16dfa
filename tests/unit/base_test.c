/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "base/unit.h"
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h> /* needs those above */

static void arena_is_zeroed_aligned_and_rewinds(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    char *kept = fsim_strdup(a, "kept");
    for (int turn = 0; turn < 3; turn++) {
        const fsim_mark mark = fsim_save(a);
        for (size_t bytes = 1; bytes < 300000; bytes = bytes * 3 + 1) {
            unsigned char *p = fsim_new(a, unsigned char, bytes);
            assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
            for (size_t i = 0; i < bytes; i++)
                assert_int_equal(p[i], 0);
            memset(p, 0xA5, bytes);
        }
        fsim_rewind(a, mark);
    }
    assert_string_equal(kept, "kept");
    assert_string_equal(fsim_printf(a, "%d %s", 7, "x"), "7 x");
    assert_string_equal(fsim_strndup(a, "abcdef", 3), "abc");
    assert_non_null(fsim_new(a, int, 0));
    fsim_arena_free(a);
}

static void arrays_grow(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    int *items = NULL, count = 0, room = 0;
    for (int i = 0; i < 10000; i++)
        *FSIM_PUSH(a, items, count, room) = i;
    assert_int_equal(count, 10000);
    for (int i = 0; i < count; i++)
        assert_int_equal(items[i], i);
    fsim_arena_free(a);
}

/* What fsim_diag_print writes; free with free(). */
static char *printed(fsim_diag *d, bool quiet)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    fsim_diag_print(d, out, quiet);
    fclose(out);
    return text;
}

static void diagnostics_are_sorted_and_show_the_line(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    static const char text[] = "name: x\n\top: gelo\r\nlast";
    fsim_diag_source(d, "w.yaml", text, sizeof text - 1);
    fsim_error(d, (fsim_loc){"w.yaml", 3, 1}, "third");
    fsim_error(d, (fsim_loc){"w.yaml", 2, 6}, "unknown op '%s'", "gelo");
    fsim_note(d, "operators are listed by 'fusesim ops'");
    fsim_warning(d, (fsim_loc){"w.yaml", 1, 1}, "first");
    fsim_error(d, (fsim_loc){NULL, 0, 0}, "command line \033[31m");
    assert_int_equal(fsim_errors(d), 3);
    char *out = printed(d, false);
    assert_string_equal(out, "fusesim: error: command line ?[31m\n"
                             "w.yaml:1:1: warning: first\n     1 | name: x\n       | ^\n"
                             "w.yaml:2:6: error: unknown op 'gelo'\n     2 |  op: gelo\n       |      ^\n"
                             "    operators are listed by 'fusesim ops'\n"
                             "w.yaml:3:1: error: third\n     3 | last\n       | ^\n");
    free(out);
    assert_int_equal(fsim_errors(d), 0);
    fsim_arena_free(a);
}

static void at_most_twenty_are_printed(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    for (int i = 0; i < 15; i++)
        fsim_warning(d, (fsim_loc){"f", 1 + i, 1}, "w%d", i);
    for (int i = 0; i < 100000; i++)
        fsim_error(d, (fsim_loc){"f", 200000 - i, 1}, "e%d", i);
    assert_int_equal(fsim_errors(d), 100000);
    char *out = printed(d, true);
    int lines = 0;
    for (const char *p = out; (p = strchr(p, '\n')); p++)
        lines++;
    assert_int_equal(lines, 21);
    assert_null(strstr(out, "warning"));
    assert_non_null(strstr(out, "99980 more messages not shown"));
    free(out);
    fsim_error(d, (fsim_loc){"f", 1, 1}, "again");
    fsim_error(d, (fsim_loc){"f", 1, 1}, "again");
    out = printed(d, false);
    assert_string_equal(out, "f:1:1: error: again\n");
    free(out);
    fsim_arena_free(a);
}

static void a_long_line_is_cut_around_the_caret(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    char *text = fsim_new(a, char, 100001);
    memset(text, '[', 100000);
    fsim_diag_source(d, "f", text, 100000);
    fsim_error(d, (fsim_loc){"f", 1, 65}, "deep");
    fsim_error(d, (fsim_loc){"f", 1, 90000}, "deeper");
    fsim_error(d, (fsim_loc){"f", 9, 9}, "outside");
    char *out = printed(d, false);
    assert_true(strlen(out) < 600);
    free(out);
    fsim_arena_free(a);
}

static void nearest_names(void **state)
{
    (void)state;
    static const char *const names[] = {"add", "gelu", "layer_norm", "matmul", "softmax", "sub"};
    static const struct {
        const char *word, *nearest;
    } cases[] = {{"gelo", "gelu"},       {"GELU", "gelu"},      {"mtamul", "matmul"}, {"layernorm", "layer_norm"},
                 {"sfotmxa", "softmax"}, {"convolution", NULL}, {"geoo", NULL},       {"", NULL},
                 {"adn", "add"},         {"ssub", "sub"}};
    fsim_arena *a = fsim_arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = fsim_nearest(cases[i].word, names, 6);
        if (cases[i].nearest)
            assert_string_equal(got, cases[i].nearest);
        else
            assert_null(got);
    }
    assert_string_equal(fsim_did_you_mean(a, "gelo", names, 6), "; did you mean 'gelu'?");
    assert_string_equal(fsim_did_you_mean(a, "zzzzzz", names, 6), "");
    char longer[200] = {0};
    memset(longer, 'x', sizeof longer - 1);
    assert_int_equal(fsim_edits(longer, "x"), INT_MAX);
    fsim_arena_free(a);
}

static void files_are_read_whole_or_refused_with_a_reason(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    char folder[] = "/tmp/fusesim-base-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *path = fsim_printf(a, "%s/out", folder), *why = NULL;
    size_t bytes = 99;
    assert_null(fsim_read_file(a, path, &bytes, &why));
    assert_string_equal(why, "no such file");
    assert_null(fsim_read_file(a, folder, &bytes, &why));
    assert_string_equal(why, "is a directory");

    fsim_output *o = fsim_open_output(a, path, &why);
    assert_non_null(o);
    fputs("one", fsim_stream(o));
    assert_int_not_equal(access(path, F_OK), 0); /* nothing before the commit */
    assert_true(fsim_commit(o, &why));
    assert_string_equal(fsim_read_file(a, path, &bytes, &why), "one");
    assert_int_equal(bytes, 3);

    assert_int_equal(chmod(path, 0640), 0);
    o = fsim_open_output(a, path, &why);
    fputs("two", fsim_stream(o));
    fsim_discard(o);
    assert_string_equal(fsim_read_file(a, path, &bytes, &why), "one");
    o = fsim_open_output(a, path, &why);
    fputs("three", fsim_stream(o));
    assert_true(fsim_commit(o, &why));
    assert_string_equal(fsim_read_file(a, path, &bytes, &why), "three");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);

    assert_null(fsim_open_output(a, folder, &why));
    assert_string_equal(why, "is a directory");
    assert_null(fsim_open_output(a, fsim_printf(a, "%s/no/such", folder), &why));
    assert_string_equal(why, "no such folder");
    o = fsim_open_output(a, "/dev/null", &why);
    assert_non_null(o);
    fputs("gone", fsim_stream(o));
    assert_true(fsim_commit(o, &why));
    if (access("/dev/full", W_OK) == 0) {
        o = fsim_open_output(a, "/dev/full", &why);
        assert_non_null(o);
        fputs("lost", fsim_stream(o));
        assert_false(fsim_commit(o, &why));
        assert_string_equal(why, "no space left on the disk");
    }
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* no temporary file is left */
    fsim_arena_free(a);
}

/* FIPS 180-4 examples, and a million 'a'. */
static void sha256_of_known_messages(void **state)
{
    (void)state;
    char hex[65];
    fsim_sha256("", 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    fsim_sha256("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    fsim_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hex);
    assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = malloc(1000000);
    assert_non_null(million);
    memset(million, 'a', 1000000);
    fsim_sha256(million, 1000000, hex);
    free(million);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void units_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        fsim_dim dim;
        double value;
    } cases[] = {
        {"132", FSIM_DIM_NONE, 132},
        {" 0.8 ", FSIM_DIM_NONE, 0.8},
        {"163 KiB", FSIM_DIM_BYTES, 163 * 1024},
        {"80GiB", FSIM_DIM_BYTES, 80.0 * 1024 * 1024 * 1024},
        {"1.5 GB", FSIM_DIM_BYTES, 1.5e9},
        {"3.35 TB/s", FSIM_DIM_BYTES_PER_S, 3.35e12},
        {"989 TFLOP/s", FSIM_DIM_FLOPS, 989e12},
        {"624 TOP/s", FSIM_DIM_FLOPS, 624e12},
        {"1410 MHz", FSIM_DIM_HZ, 1410e6},
        {"2.4 us", FSIM_DIM_SECONDS, 2.4e-6},
        {"2.4 \xC2\xB5s", FSIM_DIM_SECONDS, 2.4e-6},
        {"4e2 W", FSIM_DIM_WATTS, 400},
        {"5120 bit", FSIM_DIM_BITS, 5120},
        {"3.2 Gbit/s", FSIM_DIM_BITS_PER_S, 3.2e9},
        {"128 B/clk", FSIM_DIM_BYTES_PER_CLOCK, 128},
        {"64 /clk", FSIM_DIM_PER_CLOCK, 64},
        {"-5 GB/s", FSIM_DIM_BYTES_PER_S, -5e9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = NAN;
        const char *why = "";
        assert_true(fsim_parse_unit(cases[i].text, cases[i].dim, &value, &why));
        assert_true(fabs(value - cases[i].value) <= 1e-12 * fabs(cases[i].value));
    }
}

static void what_is_no_quantity_is_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        fsim_dim dim;
        const char *why;
    } cases[] = {
        {"3.35 TB", FSIM_DIM_BYTES_PER_S, "is bytes, wanted bytes per second, e.g. 1555 GB/s"},
        {"1555", FSIM_DIM_BYTES_PER_S, "has no unit, wanted bytes per second, e.g. 1555 GB/s"},
        {"19.5 TFLOPS", FSIM_DIM_FLOPS, "has an unknown unit, wanted operations per second, e.g. 19.5 TFLOP/s"},
        {"132 GB/s", FSIM_DIM_NONE, "is bytes per second, wanted a plain number, e.g. 132"},
        {"nan", FSIM_DIM_NONE, "is not a number"},
        {"inf", FSIM_DIM_NONE, "is not a number"},
        {".nan", FSIM_DIM_NONE, "is not a number"},
        {"0x10", FSIM_DIM_NONE, "has an unknown unit, wanted a plain number, e.g. 132"},
        {"", FSIM_DIM_NONE, "is not a number"},
        {"GB/s", FSIM_DIM_BYTES_PER_S, "is not a number"},
        {"1.2.3", FSIM_DIM_NONE, "has an unknown unit, wanted a plain number, e.g. 132"},
        {"1e999", FSIM_DIM_NONE, "is too large"},
        {"1e305 PB/s", FSIM_DIM_BYTES_PER_S, "is too large"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = -1;
        const char *why = "";
        assert_false(fsim_parse_unit(cases[i].text, cases[i].dim, &value, &why));
        assert_string_equal(why, cases[i].why);
        assert_true(value < 0);
    }
}

static void every_example_parses_as_its_dimension(void **state)
{
    (void)state;
    for (int dim = 0; dim < FSIM_DIM_COUNT; dim++) {
        double value;
        const char *why = "";
        assert_non_null(fsim_dim_name((fsim_dim)dim));
        assert_true(fsim_parse_unit(fsim_dim_example((fsim_dim)dim), (fsim_dim)dim, &value, &why));
        char shown[48];
        double again;
        fsim_show(shown, sizeof shown, value, (fsim_dim)dim);
        assert_true(fsim_parse_unit(shown, (fsim_dim)dim, &again, &why));
        assert_true(fabs(again / value - 1) < 1e-6);
    }
}

static void human_forms(void **state)
{
    (void)state;
    char b[48];
    assert_string_equal(fsim_show_bytes(b, sizeof b, 512), "512 B");
    assert_string_equal(fsim_show_bytes(b, sizeof b, 163 * 1024), "163 KiB");
    assert_string_equal(fsim_show_bytes(b, sizeof b, 12.6 * 1024 * 1024), "12.6 MiB");
    assert_string_equal(fsim_show_bytes(b, sizeof b, 1024 * 1024 - 1), "1.00 MiB");
    assert_string_equal(fsim_show_seconds(b, sizeof b, 34.2e-6), "34.2 us");
    assert_string_equal(fsim_show_seconds(b, sizeof b, 0), "0 ns");
    assert_string_equal(fsim_show_seconds(b, sizeof b, 2.5), "2.50 s");
    assert_string_equal(fsim_show_rate(b, sizeof b, 1.55e12, "B/s"), "1.55 TB/s");
    assert_string_equal(fsim_show_rate(b, sizeof b, 19.5e12, "FLOP/s"), "19.5 TFLOP/s");
    assert_string_equal(fsim_show_count(b, sizeof b, 12.3e9), "12.3 G");
    assert_string_equal(fsim_show_count(b, sizeof b, 999.7), "1.00 k");
    assert_string_equal(fsim_show_count(b, sizeof b, 7), "7");
    assert_string_equal(fsim_show_bytes(b, sizeof b, NAN), "unknown");
    fsim_show_seconds(b, sizeof b, 1e300);
    fsim_show_bytes(b, sizeof b, -1e300);
}

/* What an attempt allocates and holds, before its memory runs out. */
typedef struct {
    fsim_arena *older, *made; /* made: in the inner attempt, which is left well */
    int released[4], releases;
    bool inner_done;
} attempted;

static void release_first(void *what) { ((attempted *)what)->released[((attempted *)what)->releases++] = 1; }

static void release_second(void *what) { ((attempted *)what)->released[((attempted *)what)->releases++] = 2; }

static void make_an_arena(void *what)
{
    attempted *t = what;
    t->made = fsim_arena_new();
    fsim_resource passing;
    fsim_guard(&passing, release_first, t);
    fsim_release(&passing);
}

static void run_out(void *what)
{
    attempted *t = what;
    fsim_resource first, second;
    t->inner_done = fsim_attempt(make_an_arena, t);
    fsim_guard(&first, release_first, t);
    fsim_guard(&second, release_second, t);
    fsim_strdup(fsim_arena_child(fsim_arena_new()), "lost with the attempt");
    fsim_strdup(t->older, "stays");
    fsim_alloc(t->older, SIZE_MAX / 2, 4);
}

static void an_attempt_ends_where_memory_runs_out(void **state)
{
    (void)state;
    attempted t = {.older = fsim_arena_new()};
    assert_false(fsim_attempt(run_out, &t));
    assert_true(t.inner_done);
    assert_int_equal(t.releases, 3); /* once by itself, then the newest first */
    assert_int_equal(t.released[0], 1);
    assert_int_equal(t.released[1], 2);
    assert_int_equal(t.released[2], 1);
    assert_string_equal(fsim_strdup(t.older, "still good"), "still good");
    assert_true(fsim_attempt(make_an_arena, &t));
    fsim_arena_free(t.made); /* outlives the attempt that made it */
    fsim_arena_free(t.older);
}

static void children_end_with_their_parent_or_before(void **state)
{
    (void)state;
    fsim_arena *parent = fsim_arena_new(), *child[3];
    for (int i = 0; i < 3; i++) {
        child[i] = fsim_arena_child(parent);
        fsim_strdup(child[i], "text");
    }
    fsim_arena_free(child[1]);
    fsim_arena_free(child[2]);
    fsim_arena_free(parent);
}

static void a_diagnostic_says_what_kind_it_is(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    fsim_diagnostic *list;
    fsim_warning(d, (fsim_loc){"w.yaml", 3, 4}, "odd");
    assert_int_equal(fsim_diag_status(d), FSIM_OK);
    fsim_error(d, (fsim_loc){NULL, 0, 0}, "no such option");
    assert_int_equal(fsim_diag_status(d), FSIM_BAD_ARGUMENT);
    fsim_failure(d, FSIM_NO_INPUT, (fsim_loc){NULL, 0, 0}, "no such file");
    fsim_error(d, (fsim_loc){"w.yaml", 2, 1}, "no such key");
    fsim_note(d, "there are a, b");
    fsim_note(d, "and c");
    fsim_error(d, (fsim_loc){"w.yaml", 2, 1}, "no such key");
    fsim_note(d, "there are a, b");
    fsim_note(d, "and c");
    assert_int_equal(fsim_diag_status(d), FSIM_NO_INPUT);
    assert_int_equal(fsim_diag_list(d, a, &list), 4); /* the same message twice is one */
    assert_null(list[0].file);
    assert_int_equal(list[2].status, FSIM_BAD_INPUT);
    assert_int_equal(list[2].line, 2);
    assert_int_equal(list[2].note_count, 2);
    assert_string_equal(list[2].notes[1], "and c");
    assert_int_equal(list[3].severity, FSIM_WARNING);
    assert_int_equal(list[3].column, 4);
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_is_zeroed_aligned_and_rewinds),

        cmocka_unit_test(arrays_grow),
        cmocka_unit_test(an_attempt_ends_where_memory_runs_out),
        cmocka_unit_test(children_end_with_their_parent_or_before),
        cmocka_unit_test(a_diagnostic_says_what_kind_it_is),
        cmocka_unit_test(diagnostics_are_sorted_and_show_the_line),
        cmocka_unit_test(at_most_twenty_are_printed),
        cmocka_unit_test(a_long_line_is_cut_around_the_caret),
        cmocka_unit_test(nearest_names),
        cmocka_unit_test(files_are_read_whole_or_refused_with_a_reason),
        cmocka_unit_test(sha256_of_known_messages),
        cmocka_unit_test(units_are_parsed),
        cmocka_unit_test(what_is_no_quantity_is_refused_with_a_reason),
        cmocka_unit_test(every_example_parses_as_its_dimension),
        cmocka_unit_test(human_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
