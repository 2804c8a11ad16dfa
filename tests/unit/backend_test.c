/* SPDX-License-Identifier: Apache-2.0 */
/* depends: once */
/* The table of back ends: each is of the version that the program calls, one of another version is refused before it is
 * called, and what an operation needs of the others is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "validate/device/backends.h"
#include <string.h>

static int opened;

static fsim_device *open_device(const fsim_device_options *options, fsim_arena *a, fsim_fault *fault)
{
    (void)options, (void)fault;
    opened++;
    return fsim_new(a, fsim_device, 1);
}

static void another_version_is_refused(void **state)
{
    static const int apart[] = {-1, 1};
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_device_options options = {0};
    for (int i = 0; i < 2; i++) {
        const fsim_backend other = {.name = "made up", .version = FSIM_BACKEND_VERSION + apart[i], .open = open_device};
        fsim_fault fault = {0};
        assert_null(fsim_backend_open(&other, &options, a, &fault));
        assert_int_equal(fault.status, FSIM_FAILED);
        assert_non_null(strstr(fault.message, "the back end 'made up' is of version"));
        assert_int_equal(opened, 0);
    }
    const fsim_backend same = {.name = "made up", .version = FSIM_BACKEND_VERSION, .open = open_device};
    fsim_fault fault = {0};
    assert_non_null(fsim_backend_open(&same, &options, a, &fault));
    assert_int_equal(opened, 1);
    assert_int_equal(fault.status, FSIM_OK);
    fsim_arena_free(a);
}

static void all_of_the_table_are_whole(void **state)
{
    (void)state;
    for (fsim_device_kind kind = 0; kind < FSIM_DEVICE_COUNT; kind++) {
        const fsim_backend *b = fsim_backend_of(kind);
        assert_string_equal(b->name, fsim_device_names[kind]);
        assert_int_equal(b->version, FSIM_BACKEND_VERSION);
        assert_true(b->open && b->close && b->lost && b->facts);
        assert_true(b->compile && b->run_on_host_memory && b->load && b->unload && b->run && b->measure);
        assert_true(b->allocate && b->release && b->upload && b->download);
        assert_true((b->library == NULL) == (b->no_library != NULL));
        if (b->calibrator)
            assert_true(b->calibrator->describes && b->calibrator->is_own && b->calibrator->probe);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(another_version_is_refused),
                                       cmocka_unit_test(all_of_the_table_are_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
