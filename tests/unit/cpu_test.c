/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 4 */
/* The host's compiler and threads on kernels written by hand: a chain of elementwise operators, fused and one by one,
 * and a softmax of rows. What they compute is asserted; how long they take is printed only. */
#include "hw/relatives.h"
#include "validate/cpu/cpu.h"
#include "validate/cpu/hardware.h"
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h> /* needs those above */

enum { BLOCK = 256, N = 100003, ROWS = 37, COLS = 1000, STEPS = 3 };

static const char dialect[] = "#include <math.h>\n"
                              "#define LANES(i, n) for (long long b = first; b < end; b++) { long long lo = b * 256, "
                              "hi = lo + 256 < (n) ? lo + 256 : (n);\\\n"
                              "    _Pragma(\"omp simd\") for (long long i = lo; i < hi; i++)\n"
                              "#define KERNEL(name) void name(long long first, long long end, void *const *args)\n";

#define CHAIN(entry, count, body)                                                                                      \
    "#include \"fusesim_dialect.h\"\n"                                                                                 \
    "KERNEL(" entry ") { const float *restrict x = args[0]; float *restrict y = args[1];\n"                            \
    "LANES(i, " count ") { float t = x[i]; " body " y[i] = t; } } }\n"
#define STEP0 "t = t * 1.25f + 0.5f;"
#define STEP1 "t = t > 0.0f ? t : 0.0f;"
#define STEP2 "t = t * t - 0.25f;"

static const char softmax_text[] =
    "#include \"fusesim_dialect.h\"\n"
    "KERNEL(softmax) {\n"
    "    for (long long b = first; b < end; b++) {\n"
    "        const float *x = (const float *)args[0] + b * 1000; float *y = (float *)args[1] + b * 1000;\n"
    "        float keep[65536], most = x[0], sum = 0;\n" /* 256 KiB of stack */
    "        for (int i = 0; i < 1000; i++) most = x[i] > most ? x[i] : most;\n"
    "        for (int i = 0; i < 1000; i++) { keep[i] = expf(x[i] - most); sum += keep[i]; }\n"
    "        for (int i = 0; i < 1000; i++) y[i] = keep[i] / sum;\n"
    "    }\n"
    "}\n";

enum { BLOCKS = (N + BLOCK - 1) / BLOCK };
static fsim_launch launches[] = {{"step0", BLOCKS, BLOCK, 0},
                                 {"step1", BLOCKS, BLOCK, 0},
                                 {"step2", BLOCKS, BLOCK, 0},
                                 {"fused", BLOCKS, BLOCK, 0},
                                 {"softmax", ROWS, BLOCK, 0}};
static const fsim_program programs[] = {
    {.name = "step0", .source = CHAIN("step0", "100003", STEP0), .launch = &launches[0], .launches = 1},
    {.name = "step1", .source = CHAIN("step1", "100003", STEP1), .launch = &launches[1], .launches = 1},
    {.name = "step2", .source = CHAIN("step2", "100003", STEP2), .launch = &launches[2], .launches = 1},
    {.name = "fused", .source = CHAIN("fused", "100003", STEP0 STEP1 STEP2), .launch = &launches[3], .launches = 1},
    {.name = "softmax", .source = softmax_text, .launch = &launches[4], .launches = 1},
};
enum { FUSED = 3, SOFTMAX = 4, PROGRAMS = sizeof programs / sizeof *programs };

/* A folder of the test's own; temporary files and the cache go there. */
static char scratch[] = "/tmp/fusesim-cpu-test-XXXXXX";
static const char *cache;

static int entries(const char *folder, const char *but)
{
    int count = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        count += e->d_name[0] != '.' && strcmp(e->d_name, but) != 0;
    if (d)
        closedir(d);
    return count;
}

static fsim_cpu_module *compiled(fsim_arena *a, const fsim_program *p, int count, const char *cache_folder)
{
    const fsim_cpu_compiler how = {.header = dialect, .cache = cache_folder};
    const char *why = "";
    fsim_cpu_module *m = fsim_cpu_compile(p, count, &how, a, &why);
    if (!m)
        fail_msg("%s", why);
    return m;
}

static double chain(double t)
{
    t = t * 1.25 + 0.5;
    t = t > 0 ? t : 0;
    return t * t - 0.25;
}

static void chain_and_softmax_on(int threads)
{
    fsim_arena *a = fsim_arena_new();
    fsim_cpu_module *m = compiled(a, programs, PROGRAMS, "");
    fsim_cpu_pool *p = fsim_cpu_pool_new(threads);
    assert_non_null(p);
    assert_int_equal(m->failures, 0);
    assert_int_equal(m->cached, 0);
    float *x = fsim_cpu_memory(p, N * 4), *y = fsim_cpu_memory(p, N * 4), *z = fsim_cpu_memory(p, N * 4);
    for (int i = 0; i < N; i++)
        x[i] = (float)((i * 37 % 1001) - 500) / 250;
    void *const fused[] = {x, y}, *const first[] = {x, z}, *const again[] = {z, z};
    fsim_cpu_run(p, &m->kernel[FUSED], fused);
    for (int s = 0; s < STEPS; s++)
        fsim_cpu_run(p, &m->kernel[s], s ? again : first);
    for (int i = 0; i < N; i++) {
        assert_true(fabs(y[i] - chain(x[i])) <= 4e-6);
        assert_true(fabs(z[i] - chain(x[i])) <= 4e-6);
    }
    memset(y, 0, N * 4);
    fsim_cpu_run(p, &m->kernel[SOFTMAX], fused);
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int i = 0; i < COLS; i++)
            sum += exp((double)x[r * COLS + i]);
        for (int i = 0; i < COLS; i++)
            assert_true(fabs(y[r * COLS + i] * sum / exp((double)x[r * COLS + i]) - 1) < 1e-5);
    }
    assert_true(y[ROWS * COLS] == 0); /* nothing behind the grid */
    fsim_cpu_memory_free(x, N * 4);
    fsim_cpu_memory_free(y, N * 4);
    fsim_cpu_memory_free(z, N * 4);
    fsim_cpu_pool_free(p);
    fsim_cpu_unload(m);
    fsim_arena_free(a);
}

static void results_are_right_on_one_thread(void **state)
{
    (void)state;
    chain_and_softmax_on(1);
}

static void results_are_right_on_several_threads(void **state)
{
    (void)state;
    chain_and_softmax_on(0);
    chain_and_softmax_on(5); /* more than CPUs: not pinned, and they sleep */
}

/* Every block exactly once, whatever the grid. */
static void count_blocks(long long first, long long end, void *const *args)
{
    for (long long b = first; b < end; b++)
        ((int *)args[0])[b]++;
}

static void every_block_runs_once(void **state)
{
    (void)state;
    int seen[100] = {0};
    void *const args[] = {seen};
    for (int threads = 1; threads <= 4; threads++) {
        fsim_cpu_pool *p = fsim_cpu_pool_new(threads);
        for (int grid = 0; grid < 50; grid++) {
            memset(seen, 0, sizeof seen);
            fsim_cpu_launch(p, count_blocks, grid, args);
            for (int b = 0; b < 100; b++)
                assert_int_equal(seen[b], b < grid);
        }
        fsim_cpu_pool_free(p);
    }
}

static void sleeping_threads_wake(void **state)
{
    (void)state;
    int seen[4] = {0};
    void *const args[] = {seen};
    fsim_cpu_pool *p = fsim_cpu_pool_new(4);
    for (int i = 0; i < 5; i++) {
        usleep(20000);
        fsim_cpu_launch(p, count_blocks, 4, args);
    }
    for (int b = 0; b < 4; b++)
        assert_int_equal(seen[b], 5);
    fsim_cpu_pool_free(p);
}

static void errors_name_the_kernel_and_its_line(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_launch launch = {"broken", 1, BLOCK, 0}, absent = {"absent", 1, BLOCK, 0};
    const fsim_program p[] = {{.name = "broken",
                               .source = "#include \"fusesim_dialect.h\"\nKERNEL(broken) {\n    int x = nowhere;\n}\n",
                               .launch = &launch,
                               .launches = 1},
                              {.name = "absent", .source = "int other;\n", .launch = &absent, .launches = 1},
                              {.name = "skipped", .skipped = "communication"},
                              {.name = "../x", .source = "int x;\n"},
                              programs[FUSED]};
    fsim_cpu_module *m = compiled(a, p, 5, "");
    assert_int_equal(m->failures, 3);
    assert_non_null(strstr(m->kernel[0].failed, "broken: broken.c:3:"));
    assert_non_null(strstr(m->kernel[0].failed, "nowhere"));
    assert_non_null(strstr(m->kernel[0].failed, "\n        int x = nowhere;"));
    assert_string_equal(m->kernel[1].failed, "absent: no function 'absent' in its source");
    assert_string_equal(m->kernel[2].failed, "communication");
    assert_non_null(m->kernel[3].failed);
    assert_null(m->kernel[4].failed);
    fsim_cpu_unload(m);
    const fsim_cpu_compiler none = {.compiler = "no-such-compiler-here -O1", .cache = ""};
    const char *why = NULL;
    assert_null(fsim_cpu_compile(p, 1, &none, a, &why));
    assert_non_null(strstr(why, "'no-such-compiler-here'"));
    fsim_arena_free(a);
}

static void libraries_are_found_again(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    for (int turn = 0; turn < 2; turn++) {
        fsim_cpu_module *m = compiled(a, programs, PROGRAMS, cache);
        assert_int_equal(m->failures, 0);
        assert_int_equal(m->cached, turn ? PROGRAMS : 0);
        print_message("%d kernels %s: %.0f ms, %s\n", PROGRAMS, turn ? "from the cache" : "compiled",
                      m->compile_s * 1e3, m->compiler);
        fsim_cpu_unload(m);
    }
    /* A library that is damaged is compiled again. */
    char path[512] = "";
    DIR *d = opendir(cache);
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        if (e->d_name[0] != '.')
            snprintf(path, sizeof path, "%s/%s", cache, e->d_name);
    closedir(d);
    FILE *out = fopen(path, "wb");
    fclose(out);
    fsim_cpu_module *m = compiled(a, programs, PROGRAMS, cache);
    assert_int_equal(m->failures, 0);
    assert_int_equal(m->cached, PROGRAMS - 1);
    fsim_cpu_unload(m);
    fsim_arena_free(a);
}

#define SHIFT(entry, x, y, word)                                                                                       \
    "/* " entry " of " x " */\n#include \"fusesim_dialect.h\"\nKERNEL(" entry ") {\n    const float *" x               \
    " = args[0];\n    float *" y " = args[1]; // " y "\n"                                                              \
    "    LANES(i, 256) { " y "[i] = " x "[i] + " word "; } } }\n"
#define SHIFTS(program, number, x, y, word)                                                                            \
    {                                                                                                                  \
        .name = program, .source = SHIFT(program, x, y, word), .launch = &(fsim_launch){program, 1, BLOCK, 0},         \
        .launches = 1,                                                                                                 \
        .parameter = (fsim_parameter[]){{0, 1024, false, x, "float"}, {number, 1024, true, y, "float"}},               \
        .parameters = 2                                                                                                \
    }

/* Layers that differ in names alone: one compilation for all of them, and another process's from the cache too. */
static void names_do_not_make_another_text(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_program p[] = {SHIFTS("k0_a", 1, "t_x", "t_a", "1"), SHIFTS("k1_b", 2, "t_a", "t_b", "1"),
                              SHIFTS("k2_c", 3, "t_b", "t_c", "2"), SHIFTS("k3_d", 4, "t_c", "t_d", "1")};
    const fsim_program other = SHIFTS("k9_z", 9, "t_q", "t_z", "1"),
                       broken[] = {SHIFTS("k0_u", 1, "t_x", "t_u", "t_u.nowhere"),
                                   SHIFTS("k1_v", 2, "t_u", "t_v", "t_v.nowhere")};
    const struct {
        const fsim_program *p;
        int count, texts, compiled, cached;
    } turn[] = {{p, 4, 2, 2, 0}, {p, 4, 2, 0, 4}, {&other, 1, 1, 0, 1}, {p + 1, 2, 2, 0, 2}};
    fsim_cpu_pool *pool = fsim_cpu_pool_new(1);
    for (size_t i = 0; i < sizeof turn / sizeof *turn; i++) {
        fsim_cpu_module *m = compiled(a, turn[i].p, turn[i].count, cache);
        assert_int_equal(m->failures, 0);
        assert_int_equal(m->texts, turn[i].texts);
        assert_int_equal(m->compiled, turn[i].compiled);
        assert_int_equal(m->cached, turn[i].cached);
        for (int k = 0; k < turn[i].count; k++) {
            float x[256] = {0}, y[256];
            void *const args[] = {x, y};
            fsim_cpu_run(pool, &m->kernel[k], args);
            assert_true(y[0] == (&turn[i].p[k] == &p[2] ? 2.0f : 1.0f) && y[255] == y[0]);
        }
        fsim_cpu_unload(m);
    }
    fsim_cpu_module *m = compiled(a, p, 4, "");
    assert_true(m->compiled == 2 && m->compilers == 2 && m->cached == 0);
    fsim_cpu_unload(m);
    m = compiled(a, broken, 2, "");
    assert_int_equal(m->failures, 2);
    assert_non_null(strstr(m->kernel[0].failed, "k0_u: k0_u.c:6:"));
    assert_non_null(strstr(m->kernel[0].failed, "\n        LANES(i, 256) { t_u[i] = t_x[i] + t_u.nowhere; } } }"));
    assert_non_null(strstr(m->kernel[1].failed, "k1_v: k1_v.c:6:"));
    assert_non_null(strstr(m->kernel[1].failed, "t_v[i] = t_u[i] + t_v.nowhere;"));
    fsim_cpu_unload(m);
    fsim_cpu_pool_free(pool);
    fsim_arena_free(a);
}

#define ENTRY(own, value)                                                                                              \
    "#include \"fusesim_dialect.h\"\n\nFS_ENTRY(" own                                                                  \
    ")\n{\n    for (long long b = first; b < end; b++)\n        ((float *)args[0])[b] = " value ";\n}\n"
#define ENTRIES(own, value)                                                                                            \
    {                                                                                                                  \
        .name = own, .source = ENTRY(own, value), .launch = &(fsim_launch){own, 2, BLOCK, 0}, .launches = 1            \
    }

/* What the generator makes is compiled several at a time, but an error is its own kernel's alone. */
static void several_texts_share_a_compiler(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_program p[] = {ENTRIES("k0_a", "0"),       ENTRIES("k1_b", "1"), ENTRIES("k2_c", "2"),
                              ENTRIES("k3_d", "nowhere"), ENTRIES("k4_e", "4"), ENTRIES("k5_f", "1")};
    fsim_cpu_compiler how = {
        .header = fsim_printf(a, "%s#define FS_ENTRY KERNEL\n", dialect), .cache = cache, .jobs = 2};
    fsim_cpu_pool *pool = fsim_cpu_pool_new(1);
    const char *why = "";
    for (int turn = 0; turn < 3; turn++) {
        fsim_cpu_module *m = fsim_cpu_compile(turn == 2 ? p + 1 : p, turn == 2 ? 2 : 6, &how, a, &why);
        assert_int_equal(m->texts, turn == 2 ? 2 : 5);
        if (turn == 0)
            assert_true(
                m->compilers == 2 + 2 + 1 &&
                m->cached ==
                    0); /* of 3 and 2 texts; then one by one those with the broken one; and that with its own names */
        if (turn == 1)
            assert_true(m->compilers == 2 && m->cached == 5);
        if (turn == 2)
            assert_true(m->compilers == 0 && m->cached == 2);
        for (int k = 0; k < m->kernels; k++) {
            float y[2] = {-1, -1};
            void *const args[] = {y};
            if (m->kernel[k].failed)
                continue;
            fsim_cpu_run(pool, &m->kernel[k], args);
            const float wanted = (float)atof(strstr(m->kernel[k].program->source, "[b] = ") + 6);
            assert_true(y[0] == wanted && y[1] == wanted);
        }
        assert_int_equal(m->failures, turn < 2);
        if (turn < 2)
            assert_non_null(strstr(m->kernel[3].failed, "k3_d: k3_d.c:6:"));
        fsim_cpu_unload(m);
    }
    fsim_cpu_pool_free(pool);
    fsim_arena_free(a);
}

static void nothing_is_left_behind(void **state)
{
    (void)state;
    assert_int_equal(entries(scratch, "cache"), 0);
}

/* Threads that sleep look like ones whose CPU other processes have. */
static void count_and_sleep(long long first, long long end, void *const *args)
{
    (void)first, (void)end;
    ++*(int *)args[0];
    usleep(100000);
}

/* A sample that is disturbed is repeated, but not when its time is up: 3 rounds, each once cold and once warm, behind
 * one run that is not timed. */
static void measuring_interleaves(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_cpu_compiler how = {.header = dialect, .cache = cache};
    fsim_cpu_module *m = compiled(a, programs, PROGRAMS, cache);
    fsim_cpu_pool *p = fsim_cpu_pool_new(0);
    float *x = fsim_cpu_memory(p, N * 4), *y = fsim_cpu_memory(p, N * 4);
    void *const args[] = {x, y};
    const fsim_cpu_call fused = {&m->kernel[FUSED], args},
                        steps[] = {{&m->kernel[0], args}, {&m->kernel[1], args}, {&m->kernel[2], args}};
    int calls = 0;
    void *const counter[] = {&calls};
    fsim_cpu_entry *const sleep = count_and_sleep;
    static fsim_launch once = {"count", 1, 1, 0};
    static const fsim_program counting = {.name = "count", .launch = &once, .launches = 1};
    const fsim_cpu_kernel sleeping = {.program = &counting, .entry = (fsim_cpu_entry **)&sleep};
    const fsim_cpu_call counted = {&sleeping, counter};
    const fsim_cpu_work work[] = {{&fused, 1}, {steps, STEPS}, {&counted, 1}};
    const fsim_cpu_how quick = {.compiler = &how, .rounds = 5, .most_s = 1e-9};
    const char *why = "";
    const fsim_cpu_measurement *got = fsim_cpu_measure(p, work, 3, &quick, a, &why);
    assert_non_null(got);
    assert_int_equal(got->rounds, 3);
    assert_int_equal(calls, 1 + 3 * 2);
    assert_int_equal(got->copy.samples, 9);
    assert_true(got->dispatch.samples > 0 && got->dispatch.median_s > 0 && got->dispatch.median_s < 1);
    assert_true(got->copy.median_s > 0 && got->copy.median_s < 100 && got->disturbed >= 0 && got->disturbed <= 1);
    for (int w = 0; w < 2; w++) {
        assert_true(got->work[w].cold.median_s < 100 && got->work[w].warm.median_s < 100);
        assert_int_equal(got->work[w].cold.samples, 3);
        assert_true(got->work[w].cold.least_s > 0 && got->work[w].warm.low_s <= got->work[w].warm.high_s &&
                    got->work[w].cold_copies.median > 0);
    }
    print_message("unfused / fused: cold %.2f, warm %.2f; copy %.1f GB/s; empty launch %.2f us\n",
                  got->work[1].cold.median_s / got->work[0].cold.median_s,
                  got->work[1].warm.median_s / got->work[0].warm.median_s, 2e-9 * got->copy_bytes / got->copy.median_s,
                  1e6 * got->dispatch.median_s);
    fsim_cpu_memory_free(x, N * 4);
    fsim_cpu_memory_free(y, N * 4);
    fsim_cpu_pool_free(p);
    fsim_cpu_unload(m);
    fsim_arena_free(a);
}

static fsim_hw *shipped(fsim_arena *a, const char *name)
{
    fsim_diag *d = fsim_diag_new(a);
    fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, name));
    fsim_diag_print(d, stderr, false);
    assert_non_null(hw);
    return hw;
}

static void this_machine_takes_the_place_of_the_shipped_one(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_cpu_compiler how = {.cache = cache};
    const char *why = "";
    fsim_cpu_pool *p = fsim_cpu_pool_new(0);
    const fsim_hw *hw = shipped(a, "host");
    const double start_s = fsim_now_s();
    const fsim_hw *own = fsim_host_recalibrated(hw, p, &how, a, &why);
    assert_non_null(own);
    print_message("recalibrated in %.2f s: copy %.1f GB/s, shipped %.1f\n", fsim_now_s() - start_s,
                  1e-9 * fsim_hw_get(own, FSIM_HW_DRAM_BANDWIDTH), 1e-9 * fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH));
    assert_true(own->host && hw->host && strcmp(own->hash, hw->hash) != 0);
    assert_true(fsim_hw_get(own, FSIM_HW_SMS) == fsim_cpu_threads(p));
    for (int k = 0; k < FSIM_HW_COUNT; k++)
        if (fsim_hw_rows[k].required)
            assert_true(fsim_hw_get(own, (fsim_hw_key)k) > 0);
    assert_true(fsim_hw_origin(own, FSIM_HW_DRAM_BANDWIDTH) == FSIM_FROM_MEASURED &&
                fsim_hw_origin(own, FSIM_HW_FP32_PEAK) == FSIM_FROM_MEASURED);
    fsim_diag *d = fsim_diag_new(a);
    assert_int_equal(fsim_hw_lint(a, d, own), 0);
    fsim_cpu_pool_free(p);
    fsim_arena_free(a);
}

/* However much figures scatter on a busy machine, the keys are such as a hardware file may have. */
static void wild_figures_make_a_file(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_host_probes h = {.threads = 2,
                          .rounds = 9,
                          .cpu = "busy",
                          .compiler = "cc",
                          .cache_bytes = 1 << 24,
                          .core_cache_bytes = 1 << 20,
                          .memory_bytes = INT64_C(1) << 34};
    for (int p = 0; p < FSIM_PROBES; p++)
        h.of[p] = (fsim_spread_of){.samples = 9, .median = 1e9, .low = 1, .high = 1e15};
    fsim_host_key *key;
    const int keys = fsim_host_keys(&h, a, &key);
    assert_true(keys > 10);
    for (int i = 0; i < keys; i++)
        assert_true(isnan(key[i].spread) || key[i].spread <= FSIM_HW_MOST_SPREAD);
    fsim_arena_free(a);
}

/* A copy that is as quick as reading reads a byte and writes one in twice a byte's time: a written one costs 1. One of
 * 4 GB/s beside reading at 5 costs 2 x 5 / 4 - 1 = 1.5. A file may say 0.7 to 1.8. */
static void a_written_byte_costs_what_reading_leaves_of_a_copy(void **state)
{
    (void)state;
    static const struct {
        double read, copy, cost;
    } cases[] = {{4e9, 4e9, 1}, {5e9, 4e9, 1.5}, {4e9, 1e9, 1.8}, {1e9, 2e9, 0.7}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        fsim_arena *a = fsim_arena_new();
        fsim_host_probes h = {.threads = 1, .rounds = 1, .cpu = "one", .compiler = "cc", .memory_bytes = 1 << 30};
        for (int p = 0; p < FSIM_PROBES; p++)
            h.of[p] = (fsim_spread_of){.samples = 9, .median = 1e9, .low = 1e9, .high = 1e9};
        h.of[FSIM_PROBE_READ].median = cases[c].read;
        h.of[FSIM_PROBE_COPY].median = cases[c].copy;
        fsim_host_key *key;
        const int keys = fsim_host_keys(&h, a, &key);
        double cost = NAN;
        for (int i = 0; i < keys; i++)
            if (key[i].key == FSIM_HW_DRAM_WRITE_COST)
                cost = key[i].value;
        assert_true(fabs(cost - cases[c].cost) < 1e-12);
        fsim_arena_free(a);
    }
}

/* What a CPU reaches of its peaks says nothing of a GPU, and the other way round. */
static void cpus_and_gpus_say_nothing_of_each_other(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    fsim_hw *gpu = shipped(a, "b200"), *host = shipped(a, "host");
    const fsim_relative cpu = fsim_relative_of(host), b200 = fsim_relative_of(gpu);
    const fsim_hw before = *gpu, own = *host;
    fsim_hw_fill_from(a, gpu, &cpu, 1);
    fsim_hw_fill_from(a, host, &b200, 1);
    for (int k = 0; k < FSIM_HW_COUNT; k++) {
        assert_memory_equal(&gpu->q[k].value, &before.q[k].value, 2 * sizeof(double));
        assert_memory_equal(&host->q[k].value, &own.q[k].value, 2 * sizeof(double));
    }
    fsim_arena_free(a);
}

static void times_are_quantiles(void **state)
{
    (void)state;
    double s[] = {5, 1, 4, 2, 3};
    const fsim_times t = fsim_times_of(s, 5);
    assert_true(t.median_s == 3 && t.low_s == 2 && t.high_s == 4 && t.least_s == 1);
    assert_int_equal(fsim_times_of(s, 0).samples, 0);
    assert_true(fsim_times_of(s, 1).high_s == 1 && fsim_times_of(s, 2).median_s == 1.5);
}

static void remove_cache(void)
{
    DIR *d = opendir(cache);
    char path[512];
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        snprintf(path, sizeof path, "%s/%s", cache, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    rmdir(cache);
    rmdir(scratch);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_quantiles),
        cmocka_unit_test(every_block_runs_once),
        cmocka_unit_test(sleeping_threads_wake),
        cmocka_unit_test(results_are_right_on_one_thread),
        cmocka_unit_test(results_are_right_on_several_threads),
        cmocka_unit_test(errors_name_the_kernel_and_its_line),
        cmocka_unit_test(libraries_are_found_again),
        cmocka_unit_test(names_do_not_make_another_text),
        cmocka_unit_test(several_texts_share_a_compiler),
        cmocka_unit_test(measuring_interleaves),
        cmocka_unit_test(this_machine_takes_the_place_of_the_shipped_one),
        cmocka_unit_test(cpus_and_gpus_say_nothing_of_each_other),
        cmocka_unit_test(wild_figures_make_a_file),
        cmocka_unit_test(a_written_byte_costs_what_reading_leaves_of_a_copy),
        cmocka_unit_test(nothing_is_left_behind),
    };
    fsim_arena *a = fsim_arena_new();
    const fsim_cpu_compiler how = {0};
    const char *why = "";
    if (!fsim_cpu_has_compiler(&how, a, &why)) {
        printf("skipped: %s\n", why);
        return 77;
    }
    if (!mkdtemp(scratch))
        return 1;
    cache = fsim_printf(a, "%s/cache", scratch);
    setenv("TMPDIR", scratch, 1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_cache();
    fsim_arena_free(a);
    return failed;
}
