/* SPDX-License-Identifier: Apache-2.0 */
/* How a child process that runs kernels ends, as its parent sees it; and sums of registers, predicted and compiled,
 * worked by hand. depends: compiler cost: 1 */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include <cmocka.h> /* needs those above */

#include "validate/cpu/guard.h"
#include "validate/cuda/compiled.h"

/* What a child does. */
typedef enum {
    ENDS,
    CRASHES,
    CRASHES_IN_KERNEL,
    CRASHES_BEHIND_KERNEL,
    HANGS_IN_KERNEL,
    COMPILES,
    COMPILES_FOREVER
} deed;

static void sleep_long(void)
{
    const struct timespec nap = {20, 0};
    nanosleep(&nap, NULL);
}

/* A compiler that does not end, in a group of its own, as the runner starts it. */
static pid_t start_compiler(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        sleep_long();
        _exit(0);
    }
    setpgid(pid, pid);
    return pid;
}

/* One compiler ends; one is there when the child ends, and its number is in a file. */
static void compile(void)
{
    char said[300];
    const pid_t done = start_compiler();
    fsim_guard_compiler(done);
    fsim_guard_compiled(done);
    kill(done, SIGKILL);
    waitpid(done, NULL, 0);
    const pid_t pid = start_compiler();
    fsim_guard_compiler(pid);
    snprintf(said, sizeof said, "%s/compiler", getenv("TMPDIR"));
    FILE *out = fopen(said, "w");
    if (!out || fprintf(out, "%ld", (long)pid) < 0 || fclose(out) != 0)
        _exit(9);
}

static void do_deed(deed what, fsim_arena *a)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s/%sabcdef", getenv("TMPDIR"), fsim_guard_prefix(a));
    if (mkdir(folder, 0700) != 0)
        _exit(9);
    fclose(stderr);
    if (what == CRASHES)
        abort();
    fsim_guard_kernel("k0");
    if (what == CRASHES_IN_KERNEL)
        raise(SIGSEGV);
    if (what == HANGS_IN_KERNEL)
        sleep_long();
    fsim_guard_kernel(NULL);
    if (what == CRASHES_BEHIND_KERNEL)
        raise(SIGSEGV);
    if (what == COMPILES || what == COMPILES_FOREVER)
        compile();
    if (what == COMPILES_FOREVER)
        sleep_long();
    exit(7); /* not _exit: what counts lines does so here */
}

/* Was the compiler killed whose number a child left? It is ours to bury, as its parent is gone. */
static bool compiler_was_killed(const char *home)
{
    char path[128];
    long compiler = 0;
    int status = 0;
    snprintf(path, sizeof path, "%s/compiler", home);
    FILE *in = fopen(path, "r");
    const bool told = in && fscanf(in, "%ld", &compiler) == 1;
    if (in)
        fclose(in);
    remove(path);
    return told && waitpid((pid_t)compiler, &status, 0) == compiler && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGKILL;
}

static void a_parent_says_how_its_child_ended(void **unused)
{
    (void)unused;
    static const struct {
        deed what;
        int status;
        fsim_status fault;
        const char *message;
    } cases[] = {
        {ENDS, 7, 0, NULL},
        {COMPILES, 7, 0, NULL},
        {CRASHES, -1, FSIM_FAILED, "what runs the kernels crashed: Aborted"},
        {CRASHES_IN_KERNEL, -1, FSIM_FAILED, "kernel k0 crashed: Segmentation fault"},
        {CRASHES_BEHIND_KERNEL, -1, FSIM_FAILED, "what runs the kernels crashed: Segmentation fault"},
        {HANGS_IN_KERNEL, -1, FSIM_FAILED, "kernel k0 does not end in 0.02 s: FUSESIM_CPU_LIMIT sets the limit"},
        {COMPILES_FOREVER, -1, FSIM_UNAVAILABLE, "a compiler does not end in 0.02 s: FUSESIM_CPU_LIMIT sets the limit"},
    };
    char home[] = "/tmp/guard-test-XXXXXX", path[128];
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_non_null(mkdtemp(home));
    assert_int_equal(setenv("TMPDIR", home, 1), 0);
    /* left long ago by a process that is gone, a moment ago by one, and by one that is there */
    const struct utimbuf old = {time(NULL) - 7200, time(NULL) - 7200};
    const long gone = 4194304 + 17; /* no process has a number above 2^22 */
    snprintf(path, sizeof path, "%s/fusesim-%ld-aaaaaa", home, gone);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(utime(path, &old), 0);
    snprintf(path, sizeof path, "%s/fusesim-%ld-bbbbbb", home, gone);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/fusesim-%ld-cccccc", home, (long)getpid());
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(utime(path, &old), 0);
    snprintf(path, sizeof path, "%s/fusesim-%ld-toolong", home, gone);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(utime(path, &old), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_guarded g = {0};
        const bool ends = cases[i].what != HANGS_IN_KERNEL && cases[i].what != COMPILES_FOREVER;
        assert_int_equal(setenv("FUSESIM_CPU_LIMIT", ends ? "300" : "0.02", 1), 0);
        fflush(NULL);
        static const int crashes[] = {SIGSEGV, SIGABRT};
        struct sigaction usual = {.sa_handler = SIG_DFL}, before[2]; /* a child has no handlers of the test's */
        for (int k = 0; k < 2; k++)
            assert_int_equal(sigaction(crashes[k], &usual, &before[k]), 0);
        if (fsim_guard_begin(a, &g))
            do_deed(cases[i].what, a);
        for (int k = 0; k < 2; k++)
            assert_int_equal(sigaction(crashes[k], &before[k], NULL), 0);
        assert_int_equal(g.status, cases[i].status);
        assert_int_equal(g.fault.status, cases[i].fault);
        if (cases[i].message)
            assert_string_equal(g.fault.message, cases[i].message);
        if (cases[i].what == COMPILES || cases[i].what == COMPILES_FOREVER)
            assert_true(compiler_was_killed(home));
        fsim_arena_free(a);
    }
    static const char *const stay[] = {"bbbbbb", "cccccc", "toolong"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/fusesim-%ld-%s", home, i == 1 ? (long)getpid() : gone, stay[i]);
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(rmdir(home), 0); /* all else was deleted: what the children left, and what was left long ago */
}

/* Two tiles, of which one has a block more than was predicted, a row kernel with half of them, and one left out. */
static void registers_are_summed_by_hand(void **unused)
{
    (void)unused;
    fsim_register_row row[] = {
        {.template = FSIM_TILED_CONTRACTION, .sm = 80, .uses = 2, .registers = 110, .blocks = 2},
        {.template = FSIM_LIBRARY_CONTRACTION, .sm = 90, .uses = 1, .registers = 90, .blocks = 2},
        {.template = FSIM_ROW_REDUCTION, .sm = 80, .uses = 4, .registers = 30, .blocks = 8},
        {.template = FSIM_ROW_REDUCTION, .sm = 80, .uses = 5, .registers = 30, .blocks = 8, .left_out = "its text"}};
    row[0].compiled_registers = 100;
    row[0].compiled_blocks = 2;
    row[0].spill_bytes = 8;
    row[1].compiled_registers = 100;
    row[1].compiled_blocks = 3;
    row[1].stack_bytes = 16;
    row[1].warnings = 2;
    row[2].compiled_registers = 40;
    row[2].compiled_blocks = 4;
    row[2].disagrees = true;
    const fsim_register_rows all = {.row = row, .rows = 4};
    const fsim_register_sum x = fsim_register_rows_sum(&all, FSIM_EVERY_TEMPLATE, 0);
    assert_true(x.kernels == 3 && x.uses == 7 && x.same == 1 && x.near == 2);
    assert_true(x.class_share == 1 / 3. && x.near_share == 2 / 3.);
    assert_true(fabs(x.registers_error - (0.1 + 0.1 + 0.25) / 3) < 1e-12);
    assert_true(fabs(x.registers_bias - (0.1 - 0.1 - 0.25) / 3) < 1e-12);
    assert_true(x.spilling == 1 && x.stacked == 1 && x.disagreeing == 1 && x.warned == 1);
    const fsim_register_sum y = fsim_register_rows_sum(&all, FSIM_NO_CONTRACTION, 0);
    assert_true(y.kernels == 1 && y.uses == 4 && y.same == 0 && y.near == 0);
    const fsim_register_sum z = fsim_register_rows_sum(&all, FSIM_TILED_CONTRACTION, 80);
    assert_true(z.kernels == 1 && z.same == 1 && z.spilling == 1 && z.warned == 0);
    const fsim_register_sum none = fsim_register_rows_sum(&all, FSIM_ROW_REDUCTION, 90);
    assert_true(none.kernels == 0 && isnan(none.class_share) && isnan(none.near_share) && isnan(none.registers_error) &&
                isnan(none.registers_bias));
}

/* On an SM of 64 KiB registers with 2048 threads: 256 threads of 40 registers fit six times, of 33 (40 are given) too.
 */
static void a_row_gets_what_was_compiled(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_hw *hw = fsim_hw_read(a, fsim_diag_new(a), FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-80gb.yaml");
    assert_non_null(hw);
    assert_ptr_equal(fsim_hw_as_architecture(hw, 80, a), hw);
    const fsim_hw *turing = fsim_hw_as_architecture(hw, 75, a);
    assert_int_equal(turing->sm, 75);
    assert_string_equal(turing->architecture, "sm_75");
    assert_false(turing->host);
    assert_true(fsim_hw_get(turing, FSIM_HW_THREADS_PER_SM) == 1024 && fsim_hw_get(hw, FSIM_HW_THREADS_PER_SM) == 2048);
    assert_true(fsim_hw_get(turing, FSIM_HW_SMS) == fsim_hw_get(hw, FSIM_HW_SMS));
    assert_true(fsim_hw_get(turing, FSIM_HW_DRAM_BANDWIDTH) == fsim_hw_get(hw, FSIM_HW_DRAM_BANDWIDTH));
    fsim_launch launch[] = {{.entry = "k0", .grid = 8, .block = 256, .shared_bytes = 1024},
                            {.entry = "k0_1", .grid = 1, .block = 32},
                            {.entry = "k0_2", .grid = 1, .block = 64}};
    const fsim_program p = {.name = "k0", .launch = launch, .launches = 3};
    fsim_register_row row = {.hw = hw, .program = &p, .block = 256};
    fsim_resources entry[] = {
        {.entry = "k0", .registers = 40, .static_shared_bytes = 512, .stack_bytes = 8, .spill_store_bytes = 4},
        {.entry = "k0_1",
         .registers = 200,
         .stack_bytes = 24,
         .spill_store_bytes = 2,
         .spill_load_bytes = 1,
         .disagrees = true},
        {.entry = "k0_2", .registers = 16, .stack_bytes = 32, .spill_load_bytes = 8}};
    assert_true(fsim_register_row_compare(&row, entry, 3));
    assert_true(row.compiled_registers == 40 && row.compiled_shared_bytes == 1536 && row.compiled_block == 256);
    assert_true(row.compiled_blocks == 6 && row.compiled_occupancy == 6 * 256 / 2048.);
    assert_true(row.stack_bytes == 32 && row.spill_bytes == 15 && row.disagrees);
    assert_false(fsim_register_row_compare(&row, entry, 2)); /* the third one was not read */
    entry[1].registers = -1;
    assert_false(fsim_register_row_compare(&row, entry, 3));
    assert_false(fsim_register_row_compare(&row, entry, 1));
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_parent_says_how_its_child_ended),
                                       cmocka_unit_test(registers_are_summed_by_hand),
                                       cmocka_unit_test(a_row_gets_what_was_compiled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
