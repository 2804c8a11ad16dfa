/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 4 */
/* The compiler: its log, its cubins and their cache; NVRTC itself only where it is installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "validate/cuda/cache.h"
#include "validate/cuda/nvrtc.h"
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void log_lines_are_read_by_words(void **unused)
{
    (void)unused;
    static const char log[] =
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function 'spill' for 'sm_90'\n"
        "ptxas info    : Function properties for spill\n"
        "ptxas         .     416 bytes stack frame, 708 bytes spill stores, 856 bytes spill loads\n"
        "ptxas info    : Used 32 registers, used 0 barriers, 416 bytes cumulative stack size\n"
        "ptxas info    : Compile time = 5.123 ms\n"
        "ptxas info    : Compiling entry function 'row' for 'sm_80'\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 28 registers, used 1 barriers, 132 bytes smem, 376 bytes cmem[0]";
    fsim_arena *a = fsim_arena_new();
    fsim_resources *r;
    assert_int_equal(fsim_resources_of_log(log, a, &r), 2);
    assert_string_equal(r[0].entry, "spill");
    assert_int_equal(r[0].registers, 32);
    assert_int_equal(r[0].stack_bytes, 416);
    assert_int_equal(r[0].spill_store_bytes, 708);
    assert_int_equal(r[0].spill_load_bytes, 856);
    assert_int_equal(r[0].static_shared_bytes, 0);
    assert_string_equal(r[1].entry, "row");
    assert_int_equal(r[1].registers, 28);
    assert_int_equal(r[1].barriers, 1);
    assert_int_equal(r[1].static_shared_bytes, 132);
    assert_ptr_equal(fsim_resources_find(r, 2, "row"), &r[1]);
    assert_null(fsim_resources_find(r, 2, "column"));
    fsim_arena_free(a);
}

static void odd_logs_are_no_trouble(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    fsim_resources *r;
    assert_int_equal(fsim_resources_of_log("", a, &r), 0);
    assert_int_equal(fsim_resources_of_log("Used 32 registers\n bytes stack frame\n", a, &r), 0);
    assert_int_equal(fsim_resources_of_log("Compiling entry function 'half", a, &r), 1);
    assert_string_equal(r[0].entry, "half");
    assert_int_equal(r[0].registers, -1);
    assert_int_equal(
        fsim_resources_of_log("Compiling entry function 'k' for\nUsed 99999999999999999999 registers\n registers Used ",
                              a, &r),
        1);
    fsim_arena_free(a);
}

static void what_is_no_cubin_is_refused(void **unused)
{
    (void)unused;
    fsim_resources r = {.entry = "k", .registers = 8};
    unsigned char bytes[256] = {0x7f, 'E', 'L', 'F'};
    assert_false(fsim_resources_check("", 0, &r, 1));
    assert_false(fsim_resources_check(bytes, 3, &r, 1));
    assert_false(fsim_resources_check(bytes, sizeof bytes, &r, 1));
    bytes[18] = 190; /* e_machine */
    bytes[58] = 64;  /* e_shentsize */
    bytes[60] = 200; /* e_shnum: more than there are */
    assert_false(fsim_resources_check(bytes, sizeof bytes, &r, 1));
}

static void first_error_line_is_found(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    assert_string_equal(fsim_first_error(a, "\nk.cu(1): warning: x\nk.cu(2): error: y\nmore errors\n"),
                        "k.cu(2): error: y");
    assert_string_equal(fsim_first_error(a, "no such word\nsecond"), "no such word");
    assert_string_equal(fsim_first_error(a, ""), "");
    fsim_arena_free(a);
}

static void warnings_are_counted(void **unused)
{
    (void)unused;
    assert_int_equal(fsim_warnings(""), 0);
    assert_int_equal(fsim_warnings("ptxas info    : 0 bytes gmem\nptxas info    : Used 8 registers\n"), 0);
    assert_int_equal(fsim_warnings("k.cu(2): warning #177-D: variable\n      int z;\n\nptxas warning : x"), 2);
}

/* A cache folder of its own, for this program. */
static char folder[] = "/tmp/fusesim_cache_XXXXXX";
static int open_folder(void **unused)
{
    (void)unused;
    return mkdtemp(folder) && setenv("FUSESIM_CACHE", folder, 1) == 0 ? 0 : -1;
}
static int clear_folder(void **unused)
{
    (void)unused;
    char pattern[sizeof folder + 16];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.cubin", folder);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            unlink(found.gl_pathv[i]);
    globfree(&found);
    return rmdir(folder);
}

static const char key[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void cache_gives_back_what_it_got(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const char *why = NULL;
    fsim_cached got;
    assert_string_equal(fsim_cache_folder(a, &why), folder);
    assert_false(fsim_cache_get(a, folder, key, &got));
    const fsim_cached put = {.log = "a log\nof two lines", .cubin = "\0\1\2\n\3", .cubin_bytes = 5};
    assert_true(fsim_cache_put(a, folder, key, &put, &why));
    assert_true(fsim_cache_get(a, folder, key, &got));
    assert_string_equal(got.log, put.log);
    assert_int_equal(got.cubin_bytes, 5);
    assert_memory_equal(got.cubin, put.cubin, 5);
    assert_false(fsim_cache_put(a, "/dev/null/folder", key, &put, &why));
    fsim_arena_free(a);
}

/* Every damage is noticed: a byte changed anywhere behind the first line, or missing. */
static void damaged_entries_are_as_good_as_none(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const char *why;
    size_t bytes;
    fsim_cached got;
    const char *path = fsim_printf(a, "%s/%s.cubin", folder, key);
    assert_true(fsim_cache_put(a, folder, key, &(fsim_cached){.log = "log", .cubin = "cubin", .cubin_bytes = 5}, &why));
    char *text = fsim_read_file(a, path, &bytes, &why);
    assert_non_null(text);
    for (size_t i = 0; i <= bytes; i++) {
        FILE *f = fopen(path, "wb");
        const size_t part = i < bytes ? i : bytes - 1; /* broken off, or the last byte changed */
        fwrite(text, 1, part, f);
        if (i == bytes)
            fputc('?', f);
        fclose(f);
        assert_false(fsim_cache_get(a, folder, key, &got));
    }
    fsim_arena_free(a);
}

typedef struct {
    fsim_arena *a;
    fsim_nvrtc *n;
} bench;

/* Skips the test where there is no NVRTC, or none that compiles for sm. */
static bench open_nvrtc(int sm)
{
    fsim_fault fault = {0};
    bench b = {.a = fsim_arena_new()};
    b.n = fsim_nvrtc_open(b.a, 0, &fault);
    bool has = false;
    for (int i = 0; b.n && i < b.n->archs; i++)
        has = has || b.n->sm[i] == sm;
    if (!has) {
        print_message("%s\n", fault.message ? fault.message : "this NVRTC is too old or too new");
        fsim_arena_free(b.a);
        skip();
    }
    return b;
}

static const char header[] = "typedef long long fs_i64;\n";
static const char scale[] = "#include \"fusesim_dialect.h\"\n"
                            "extern \"C\" __global__ void __launch_bounds__(256) scale(const float *x, float *y)\n"
                            "{ const fs_i64 i = (fs_i64)blockIdx.x * 256 + threadIdx.x; __shared__ float s[256];\n"
                            "  s[threadIdx.x] = x[i]; __syncthreads(); y[i] = 2.0f * s[255 - threadIdx.x]; }\n";
/* 1024 threads and two blocks leave 32 registers. */
static const char spill[] =
    "extern \"C\" __global__ void __launch_bounds__(1024, 2) spill(const float *x, float *y)\n"
    "{ float v[64]; for (int i = 0; i < 64; i++) v[i] = x[i * 1024 + threadIdx.x];\n"
    "#pragma unroll\n  for (int i = 0; i < 64; i++)\n#pragma unroll\n    for (int j = 0; j < 64; j++) v[i] = v[i] * "
    "v[j] + 1.0f;\n"
    "  float s = 0; for (int i = 0; i < 64; i++) s += v[i] * v[63 - i]; y[threadIdx.x] = s; }\n";

static void kernels_compile_for_each_architecture(void **unused)
{
    (void)unused;
    static const int sm[] = {80, 90, 100};
    for (int i = 0; i < 3; i++) {
        bench b = open_nvrtc(sm[i]);
        const fsim_nvrtc_source source[] = {
            {"scale.cu", scale, sm[i]}, {"spill.cu", spill, sm[i]}, {"scale.cu", scale, sm[i]}};
        fsim_cubin c[3];
        assert_true(fsim_nvrtc_compile_all(b.n, source, 3, &(fsim_nvrtc_how){header, 2}, b.a, c));
        for (int k = 0; k < 2; k++) {
            assert_int_equal(c[k].entries, 1);
            assert_true(c[k].checked);
            assert_false(c[k].entry[0].disagrees);
            assert_true(c[k].entry[0].registers > 0 && c[k].entry[0].registers == c[k].entry[0].elf_registers);
        }
        assert_string_equal(c[0].entry[0].entry, "scale");
        assert_int_equal(c[0].entry[0].static_shared_bytes, 1024);
        assert_int_equal(c[0].entry[0].spill_store_bytes, 0);
        assert_true(c[1].entry[0].spill_store_bytes > 0 && c[1].entry[0].stack_bytes > 0 &&
                    c[1].entry[0].registers <= 32);
        fsim_arena_free(b.a);
    }
}

static void cache_spares_a_compilation(void **unused)
{
    (void)unused;
    bench b = open_nvrtc(80);
    fsim_cubin first, second, other;
    const fsim_nvrtc_source source = {"once.cu", fsim_printf(b.a, "%s/* once */\n", scale), 80};
    assert_true(fsim_nvrtc_compile(b.n, &source, header, b.a, &first));
    assert_false(first.cached);
    assert_true(fsim_nvrtc_compile(b.n, &source, header, b.a, &second));
    assert_true(second.cached);
    assert_int_equal(first.bytes, second.bytes);
    assert_memory_equal(first.cubin, second.cubin, first.bytes);
    assert_string_equal(first.log, second.log);
    assert_int_equal(second.entry[0].registers, first.entry[0].registers);
    assert_true(fsim_nvrtc_compile(b.n, &source, "typedef long long fs_i64; /* other */\n", b.a, &other));
    assert_false(other.cached);
    fsim_arena_free(b.a);
}

static void a_damaged_entry_is_compiled_again(void **unused)
{
    (void)unused;
    bench b = open_nvrtc(80);
    fsim_cubin first, second;
    glob_t found;
    const fsim_nvrtc_source source = {"twice.cu", fsim_printf(b.a, "%s/* twice */\n", scale), 80};
    assert_true(fsim_nvrtc_compile(b.n, &source, header, b.a, &first));
    assert_int_equal(glob(fsim_printf(b.a, "%s/*.cubin", folder), 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        assert_int_equal(truncate(found.gl_pathv[i], 200), 0);
    globfree(&found);
    assert_true(fsim_nvrtc_compile(b.n, &source, header, b.a, &second));
    assert_false(second.cached);
    assert_memory_equal(first.cubin, second.cubin, first.bytes);
    fsim_arena_free(b.a);
}

static void broken_sources_say_their_error(void **unused)
{
    (void)unused;
    bench b = open_nvrtc(80);
    fsim_cubin c[2];
    const fsim_nvrtc_source source[] = {
        {"broken.cu", "extern \"C\" __global__ void k(float *x) { x[0] = no_such_name; }", 80},
        {"scale.cu", scale, 80}};
    assert_false(fsim_nvrtc_compile_all(b.n, source, 2, &(fsim_nvrtc_how){header, 2}, b.a, c));
    assert_null(c[0].cubin);
    assert_int_equal(c[0].fault.status, FSIM_FAILED);
    assert_non_null(strstr(c[0].fault.message, "no_such_name"));
    assert_non_null(c[1].cubin);
    const fsim_nvrtc_source tile = {"tile.cu",
                                    "extern \"C\" __global__ void k(float *x) { __shared__ float s[16384]; "
                                    "s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[5]; }",
                                    80};
    assert_false(fsim_nvrtc_compile(b.n, &tile, NULL, b.a, &c[0]));
    assert_non_null(strstr(c[0].fault.message, "shared data"));
    fsim_arena_free(b.a);
}

static void a_warning_is_in_the_log(void **unused)
{
    (void)unused;
    bench b = open_nvrtc(80);
    fsim_cubin c;
    const fsim_nvrtc_source source = {"unused.cu",
                                      "extern \"C\" __global__ void k(float *x) { int unread; x[0] = 1.0f; }", 80};
    assert_true(fsim_nvrtc_compile(b.n, &source, NULL, b.a, &c));
    assert_int_equal(fsim_warnings(c.log), 1);
    assert_true(fsim_nvrtc_compile(b.n, &(fsim_nvrtc_source){"scale.cu", scale, 80}, header, b.a, &c));
    assert_int_equal(fsim_warnings(c.log), 0);
    fsim_arena_free(b.a);
}

static void unknown_architectures_are_named(void **unused)
{
    (void)unused;
    bench b = open_nvrtc(80);
    fsim_cubin c;
    assert_false(fsim_nvrtc_compile(b.n, &(fsim_nvrtc_source){"scale.cu", scale, 20}, header, b.a, &c));
    assert_int_equal(c.fault.status, FSIM_UNAVAILABLE);
    assert_non_null(strstr(c.fault.message, "sm_20"));
    fsim_arena_free(b.a);
}

static void missing_libraries_are_named(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    fsim_fault fault = {0};
    setenv("FUSESIM_NVRTC_LIB", "/no/such/libnvrtc.so", 1);
    assert_null(fsim_nvrtc_open(a, 0, &fault));
    assert_int_equal(fault.status, FSIM_UNAVAILABLE);
    assert_non_null(strstr(fault.message, "/no/such/libnvrtc.so"));
    setenv("FUSESIM_NVRTC_LIB", "libm.so.6", 1); /* there, but no NVRTC */
    assert_null(fsim_nvrtc_open(a, 0, &fault));
    assert_non_null(strstr(fault.message, "nvrtcCompileProgram"));
    unsetenv("FUSESIM_NVRTC_LIB");
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_lines_are_read_by_words),
        cmocka_unit_test(odd_logs_are_no_trouble),
        cmocka_unit_test(what_is_no_cubin_is_refused),
        cmocka_unit_test(first_error_line_is_found),
        cmocka_unit_test(warnings_are_counted),
        cmocka_unit_test(a_warning_is_in_the_log),
        cmocka_unit_test(cache_gives_back_what_it_got),
        cmocka_unit_test(damaged_entries_are_as_good_as_none),
        cmocka_unit_test(kernels_compile_for_each_architecture),
        cmocka_unit_test(cache_spares_a_compilation),
        cmocka_unit_test(a_damaged_entry_is_compiled_again),
        cmocka_unit_test(broken_sources_say_their_error),
        cmocka_unit_test(unknown_architectures_are_named),
        cmocka_unit_test(missing_libraries_are_named),
    };
    return cmocka_run_group_tests(tests, open_folder, clear_folder);
}
