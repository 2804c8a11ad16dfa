/* SPDX-License-Identifier: Apache-2.0 */
/* Registers as predicted beside canned figures of a compiler: occupancy classes, sums, gates, and texts without names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/compiled.h"
#include "validate/device/texts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char log_of_two[] = "ptxas info    : Compiling entry function 'k0_y' for 'sm_80'\n"
                                 "    64 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
                                 "ptxas info    : Used 40 registers, used 1 barriers, 512 bytes smem\n"
                                 "ptxas info    : Compiling entry function 'k0_y_1' for 'sm_80'\n"
                                 "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                                 "ptxas info    : Used 20 registers, used 0 barriers\n";

static fsim_hw *hw_named(fsim_arena *a, const char *name)
{
    fsim_diag *d = fsim_diag_new(a);
    fsim_hw *hw = fsim_hw_read(a, d, fsim_printf(a, "%s/hwmodels/%s.yaml", FUSESIM_SOURCE_DIR, name));
    assert_non_null(hw);
    return hw;
}

static void classes_are_blocks_on_an_sm(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    fsim_launch launch[] = {{"k0_y", 1000, 256, 1024}, {"k0_y_1", 10, 32, 0}};
    const fsim_program p = {.name = "k0_y", .launch = launch, .launches = 2};
    fsim_register_row r = {.hw = hw_named(a, "a100-sxm4-40gb"), .program = &p, .sm = 80, .registers = 32, .blocks = 8};
    fsim_resources *entry;
    const int entries = fsim_resources_of_log(log_of_two, a, &entry);
    assert_true(fsim_register_row_compare(&r, entry, entries));
    assert_int_equal(r.compiled_registers, 40);
    assert_int_equal(r.compiled_shared_bytes, 1536);
    assert_int_equal(r.compiled_block, 256);
    assert_int_equal(r.compiled_blocks, 6); /* 65536 / (40 x 256) */
    assert_float_equal(r.compiled_occupancy, 0.75, 1e-12);
    assert_int_equal(r.stack_bytes, 64);
    assert_int_equal(r.spill_bytes, 20);
    assert_false(r.disagrees);
    launch[1].entry = "another";
    assert_false(fsim_register_row_compare(&r, entry, entries));
    fsim_arena_free(a);
}

static void sums_and_gates(void **unused)
{
    (void)unused;
    fsim_register_row row[] = {
        {.sm = 80,
         .template = FSIM_POINTWISE,
         .uses = 3,
         .registers = 20,
         .compiled_registers = 16,
         .blocks = 8,
         .compiled_blocks = 8},
        {.sm = 80,
         .template = FSIM_POINTWISE,
         .uses = 1,
         .registers = 30,
         .compiled_registers = 40,
         .blocks = 7,
         .compiled_blocks = 6,
         .spill_bytes = 4,
         .stack_bytes = 8},
        {.sm = 90,
         .template = FSIM_TILED_CONTRACTION,
         .uses = 1,
         .registers = 200,
         .compiled_registers = 100,
         .blocks = 1,
         .compiled_blocks = 2,
         .warnings = 3,
         .disagrees = true},
        {.sm = 90, .template = FSIM_POOLING, .uses = 1, .registers = 200, .left_out = "nothing"}};
    const fsim_register_rows x = {.row = row, .rows = 4};
    fsim_register_sum s = fsim_register_rows_sum(&x, FSIM_EVERY_TEMPLATE, 0);
    assert_int_equal(s.kernels, 3);
    assert_int_equal(s.uses, 5);
    assert_float_equal(s.class_share, 1.0 / 3, 1e-12);
    assert_float_equal(s.near_share, 1, 1e-12);
    assert_float_equal(s.registers_error, (0.25 + 0.25 + 1) / 3, 1e-12);
    assert_float_equal(s.registers_bias, (0.25 - 0.25 + 1) / 3, 1e-12);
    assert_int_equal(s.spilling, 1);
    assert_int_equal(s.stacked, 1);
    assert_int_equal(s.disagreeing, 1);
    assert_int_equal(s.warned, 1);
    s = fsim_register_rows_sum(&x, FSIM_NO_CONTRACTION, 0);
    assert_int_equal(s.kernels, 2);
    assert_float_equal(s.class_share, 0.5, 1e-12);
    s = fsim_register_rows_sum(&x, FSIM_POINTWISE, 90);
    assert_int_equal(s.kernels, 0);
    assert_true(isnan(s.class_share) && isnan(s.registers_error));

    const struct {
        const char *text;
        bool passes;
    } gate[] = {{"no_contraction:class=50%", true}, {"class=50%", false},  {"pointwise:registers=25%", true},
                {"registers=25%", false},           {"spills=1", true},    {"spills=0", false},
                {"pointwise:disagree=0", true},     {"warnings=0", false}, {"pointwise:warnings=0", true},
                {"pooling:class=0", false}}; /* no kernel: no verdict in its favour */
    for (size_t i = 0; i < sizeof gate / sizeof *gate; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_gate g;
        assert_true(fsim_gate_read(a, fsim_diag_new(a), gate[i].text, &fsim_register_gates, &g));
        fsim_register_gate_try(&g, &x, a);
        if (g.passed != gate[i].passes)
            fail_msg("%s: %s", g.text, g.says);
        fsim_arena_free(a);
    }
}

static void texts_without_names(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    fsim_launch launch[] = {{"k0_y", 1, 32, 0}};
    fsim_parameter parameter[] = {{0, 4, false, "t_x", "float"}, {1, 4, true, "t_xy", "float"}};
    const fsim_program p = {
        .source = "/* k0_y: t_x */\nFS_ENTRY(k0_y, 32) // t_x\nt_xy[i] = t_x[i] + xt_x; /* t_x\nt_x */ k0_y /* t_x",
        .launch = launch,
        .launches = 1,
        .parameter = parameter,
        .parameters = 2};
    assert_string_equal(fsim_nameless_text(&p, a),
                        "\nFS_ENTRY(fs_entry_0, 32) \nfs_parameter_1[i] = fs_parameter_0[i] + xt_x; \n fs_entry_0 ");
    fsim_arena_free(a);
}

static void other_architectures_have_their_limits(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    static const char *const names[] = {"t4", "a100-sxm4-40gb", "rtx-3090", "l4", "h100-sxm5-80gb", "b200", "rtx-5090"};
    static const struct {
        int threads, registers, shared_bytes;
    } kernel[] = {{256, 16, 0},        {256, 40, 0},         {32, 16, 0},   {1024, 64, 0},
                  {128, 32, 48 << 10}, {256, 255, 96 << 10}, {64, 24, 5000}};
    const fsim_hw *from = hw_named(a, "h100-sxm5-80gb");
    assert_ptr_equal(fsim_hw_as_architecture(from, 90, a), from);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) { /* as the shipped file of such a GPU has them */
        const fsim_hw *hw = hw_named(a, names[i]), *as = fsim_hw_as_architecture(from, hw->sm, a);
        for (size_t k = 0; k < sizeof kernel / sizeof *kernel; k++)
            assert_int_equal(fsim_blocks_per_sm(as, kernel[k].threads, kernel[k].registers, kernel[k].shared_bytes),
                             fsim_blocks_per_sm(hw, kernel[k].threads, kernel[k].registers, kernel[k].shared_bytes));
    }
    fsim_arena_free(a);
}

static fsim_trial trial_of(fsim_arena *a, const fsim_hw *hw, const char *text)
{
    static const fsim_strategy strategy[] = {FSIM_STRATEGY_OPTIMAL, FSIM_STRATEGY_UNFUSED};
    const fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "rows.yaml", text, strlen(text), NULL);
    const fsim_options options = {
        .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 10000};
    assert_non_null(g);
    return fsim_trial_of(g, hw, &options, strategy, 2, a);
}

/* relu is the same kernel in both plans: a row that two use. exp and neg are one kernel in the one, two in the other.
 * Each text is one, whatever plan and workload it is of, but of each architecture; an operator without a text is
 * skipped. */
static void kernels_are_rows(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    const fsim_hw *hw = hw_named(a, "a100-sxm4-40gb");
    fsim_register_rows *x = fsim_register_rows_new(a);
    const unsigned both = 1u << FSIM_STRATEGY_OPTIMAL | 1u << FSIM_STRATEGY_UNFUSED;
#define INPUT "tensors: {x: {shape: [64, 256], dtype: f32}}\noperators:\n"
    const fsim_trial one = trial_of(a, hw, INPUT "  - {op: relu, in: x, out: y}\noutputs: [y]\n"),
                     two = trial_of(a, hw,
                                    INPUT "  - {op: exp, in: x, out: e}\n  - {op: neg, in: e, out: y}\noutputs: "
                                          "[y]\n"),
                     sorted = trial_of(a, hw, INPUT "  - {op: sort, in: x, out: [y, i]}\noutputs: [y]\n"),
                     halves = trial_of(a, hw,
                                       "tensors: {x: {shape: [64, 64], dtype: bf16}, w: {shape: [64, 64], dtype: "
                                       "bf16}}\noperators:\n  - {op: linear, in: [x, w], out: y}\noutputs: [y]\n");
    fsim_register_rows_add(x, &one, 80);
    assert_true(x->rows == 1 && x->row[0].uses == 2 && x->row[0].strategies == both && x->texts == 1);
    assert_true(x->row[0].sm == 80 && x->row[0].hw == hw && x->row[0].blocks > 0 && !x->row[0].left_out);
    assert_true(x->row[0].block == 256 && x->row[0].registers > 0 && x->row[0].text == 0);
    /* 8 blocks of 256 threads are the 2048 of an SM */
    assert_true(x->row[0].blocks == 8 && x->row[0].occupancy == 1);
    fsim_register_rows_add(x, &two, 80);
    assert_true(x->rows == 4 && x->texts == 4);
    for (int i = 1; i < 4; i++)
        assert_true(x->row[i].uses == 1 && x->row[i].strategies != both && x->row[i].text == i);
    fsim_register_rows_add(x, &one, 90); /* a row of its own, and a text */
    assert_true(x->rows == 5 && x->texts == 5 && x->row[4].uses == 2 && x->row[4].sm == 90 && x->row[4].hw->sm == 90);
    const fsim_trial again = trial_of(a, hw, INPUT "  - {op: relu, in: x, out: y}\noutputs: [y]\n");
    fsim_register_rows_add(x, &again, 80); /* another workload's row of the first text */
    assert_true(x->rows == 6 && x->texts == 5 && x->row[5].text == 0);
    fsim_register_rows_add(x, &sorted, 80);
    assert_true(x->rows == 6 && x->skipped == 2);
    /* tensor units' instructions for bf16 begin with sm_80; in place of the library's kernel ours is compiled */
    fsim_register_rows_add(x, &halves, 75);
    assert_true(x->rows == 8 && x->row[6].left_out && strcmp(x->row[6].left_out, "its text needs sm_80") == 0);
    fsim_register_rows_add(x, &halves, 80);
    assert_true(x->rows == 9 && !x->row[8].left_out && x->row[8].stands_in && x->row[8].uses == 2);
    const fsim_program *p = x->row[8].program;
    assert_true(x->row[8].registers == p->registers && x->row[8].block == p->launch[0].block &&
                x->row[8].shared_bytes == p->launch[0].shared_bytes);
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(classes_are_blocks_on_an_sm), cmocka_unit_test(sums_and_gates),
                                       cmocka_unit_test(texts_without_names), cmocka_unit_test(kernels_are_rows),
                                       cmocka_unit_test(other_architectures_have_their_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
