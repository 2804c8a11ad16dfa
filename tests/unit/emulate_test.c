/* SPDX-License-Identifier: Apache-2.0 */
#include "../mock/emulate.h"
#include "../mock/emulated.h"
#include "random.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h> /* needs those above */

static char why[400];

/* Runs `entry` with one parameter, a pointer. */
static mock_outcome run(void (*entry)(void **), void *pointer, long long grid, int block, int shared_bytes)
{
    fs_emulator = mock_calls();
    void *params[] = {&pointer};
    return mock_run(&(mock_grid){.name = "test",
                                 .entry = entry,
                                 .params = params,
                                 .grid = grid,
                                 .block = block,
                                 .shared_bytes = shared_bytes},
                    why, sizeof why);
}

#define assert_ran(...) (assert_int_equal(run(__VA_ARGS__), MOCK_RAN), assert_string_equal(why, ""))
#define assert_fault(outcome, text, ...)                                                                               \
    do {                                                                                                               \
        assert_int_equal(run(__VA_ARGS__), outcome);                                                                   \
        if (!strstr(why, text))                                                                                        \
            fail_msg("\"%s\" lacks \"%s\"", why, text);                                                                \
    } while (0)

static const char *const orders[] = {"ascending", "reverse", "random:1", "random:77"};
enum { ORDERS = sizeof orders / sizeof *orders };

/* Sum of the block's threads by halves in shared memory; out[block] */
static void sum_by_halves(void **params)
{
    float *const out = *(float **)params[0];
    FS_SHARED(float, part, 256);
    const int t = fs_thread();
    part[t] = (float)(t + fs_block());
    fs_barrier();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half)
            part[t] += part[t + half];
        fs_barrier();
    }
    if (t == 0)
        out[fs_block()] = part[0];
}

static void barriers_hold_in_any_order_and_on_several_threads(void **unused)
{
    (void)unused;
    float out[37];
    for (int o = 0; o < ORDERS; o++)
        for (int jobs = 1; jobs <= 3; jobs += 2)
            for (int slow = 0; slow < 2; slow++) {
                setenv("MOCK_ORDER", orders[o], 1);
                setenv("MOCK_JOBS", jobs == 1 ? "1" : "3", 1);
                setenv("MOCK_UCONTEXT", slow ? "1" : "0", 1);
                memset(out, 0, sizeof out);
                assert_ran(sum_by_halves, out, 37, 256, 0);
                for (int i = 0; i < 37; i++)
                    assert_true(out[i] == (float)(255 * 128 + 256 * i));
            }
    unsetenv("MOCK_ORDER");
    unsetenv("MOCK_JOBS");
    unsetenv("MOCK_UCONTEXT");
}

/* Each thread reads what its neighbour, the next one or the one before, wrote; the barrier between is missing. */
static void shift_without_barrier(void **params)
{
    float *const out = *(float **)params[0];
    FS_SHARED(float, x, 64);
    const int t = fs_thread();
    x[t] = (float)t;
    out[t] = x[(t + 63) % 64];
}

static void a_missing_barrier_gives_poison_in_some_order(void **unused)
{
    (void)unused;
    float out[64];
    int wrong[2] = {0, 0};
    for (int o = 0; o < 2; o++) {
        setenv("MOCK_ORDER", orders[o], 1);
        assert_ran(shift_without_barrier, out, 1, 64, 0);
        for (int t = 0; t < 64; t++)
            if (out[t] != (float)((t + 63) % 64)) {
                assert_int_equal(fs_bits(out[t]), MOCK_POISON);
                wrong[o]++;
            }
    }
    unsetenv("MOCK_ORDER");
    assert_int_equal(wrong[0], 1);
    assert_int_equal(wrong[1], 63);
}

/* Each reads what the other warp wrote, twice; no barrier keeps the second write behind the first read. */
static void exchange_twice(void **params)
{
    float *const out = *(float **)params[0];
    FS_SHARED(float, x, 64);
    const int t = fs_thread();
    for (int round = 0; round < 2; round++) {
        x[t] = (float)(round * 100 + t);
        fs_barrier();
        out[round * 64 + t] = x[(t + 32) % 64];
    }
}

static void a_warp_runs_ahead_as_far_as_barriers_let_it(void **unused)
{
    (void)unused;
    float out[128];
    for (int o = 0; o < ORDERS; o++) {
        int early = 0;
        setenv("MOCK_ORDER", orders[o], 1);
        assert_ran(exchange_twice, out, 1, 64, 0);
        for (int t = 0; t < 64; t++)
            early += out[t] == (float)(100 + (t + 32) % 64);
        assert_int_equal(early, 32);
    }
    unsetenv("MOCK_ORDER");
}

static void some_skip_the_barrier(void **params)
{
    (void)params;
    if (fs_thread() < 40)
        fs_barrier();
    fs_warp_barrier();
}

static void two_barriers(void **params)
{
    (void)params;
    if (fs_thread() % 2)
        fs_barrier();
    else
        fs_barrier();
}

static void half_a_warp_shuffles(void **params)
{
    float *const out = *(float **)params[0];
    if (fs_thread() < 16)
        out[fs_thread()] = fs_shfl_xor_f32(1.0f, 1);
}

static void different_collectives(void **params)
{
    float *const out = *(float **)params[0];
    if (fs_thread() % 2)
        out[fs_thread()] = fs_shfl_xor_f32(1.0f, 2);
    else
        fs_warp_barrier();
}

/* Some end before the barrier of the others. */
static void early_end(void **params)
{
    (void)params;
    if (fs_thread() >= 40)
        return;
    fs_barrier();
}

static void what_never_comes_is_told(void **unused)
{
    (void)unused;
    float out[64];
    assert_fault(
        MOCK_BROKEN,
        "of warp 1 lanes 0xffffff00 came, thread 40 waits in fs_warp_barrier, thread 32 waits at the barrier of",
        some_skip_the_barrier, NULL, 2, 64, 0);
    assert_fault(MOCK_BROKEN, "divergent barrier: thread 0 waits at line", two_barriers, NULL, 1, 64, 0);
    assert_fault(MOCK_BROKEN, "lanes 0x0000ffff came, thread 0 waits in fs_shfl, thread 16 has ended",
                 half_a_warp_shuffles, out, 1, 64, 0);
    assert_fault(MOCK_BROKEN, "lanes 0x000000ff came, thread 0 waits in fs_shfl, thread 8 does not exist",
                 half_a_warp_shuffles, out, 1, 8, 0);
    assert_fault(MOCK_BROKEN, "different collectives: thread 0 in fs_warp_barrier, thread 31 in fs_shfl",
                 different_collectives, out, 1, 32, 0);
    assert_ran(early_end, NULL, 1, 64, 0);
    setenv("MOCK_STRICT", "1", 1);
    assert_fault(MOCK_BROKEN, "never reach: thread 0 waits at the barrier of line", early_end, NULL, 1, 64, 0);
    unsetenv("MOCK_STRICT");
    assert_ran(early_end, NULL, 1, 64, 0);
}

static void shuffle_all(void **params)
{
    double *const out = *(double **)params[0];
    const int t = fs_thread();
    float sum = (float)t;
    for (int mask = 16; mask > 0; mask /= 2)
        sum += fs_shfl_xor_f32(sum, mask);
    out[t * 6] = (double)sum;
    out[t * 6 + 1] = fs_shfl_xor_f64(t + 0.25, 1);
    out[t * 6 + 2] = fs_shfl_xor_i32(-t, 3);
    out[t * 6 + 3] = (double)fs_shfl_xor_i64(-((long long)t << 40), 31);
    out[t * 6 + 4] = (double)fs_shfl_f32((float)t, 5);
    out[t * 6 + 5] = fs_shfl_i32(-t, t + 1);
}

static void shuffles_give_the_other_lanes_value(void **unused)
{
    (void)unused;
    double out[96 * 6];
    for (int o = 0; o < ORDERS; o++) {
        setenv("MOCK_ORDER", orders[o], 1);
        assert_ran(shuffle_all, out, 1, 96, 0);
        for (int t = 0; t < 96; t++) {
            const int warp = t & ~31;
            const double expected[6] = {31 * 16 + 32 * warp,        (t ^ 1) + 0.25, -(t ^ 3),
                                        -(double)(t ^ 31) * 0x1p40, warp + 5,       -(warp + ((t + 1) & 31))};
            for (int i = 0; i < 6; i++)
                assert_true(out[t * 6 + i] == expected[i]);
        }
    }
    unsetenv("MOCK_ORDER");
}

/* out: what a thread sees of its own 16 bytes before, at the start of, and after an asynchronous copy; then of a later
 * one of 4. */
static void copy_and_look(void **params)
{
    const unsigned *const in = *(const unsigned **)params[0];
    unsigned *const out = *(unsigned **)params[0] + 4 * 32 + 32, t = (unsigned)fs_thread();
    unsigned *const x = fs_dynamic_shared();
    out[t * 8] = x[t * 4];
    x[t * 4] = 1;
    fs_copy_async(&x[t * 4], &in[t * 4]);
    fs_copy_commit();
    out[t * 8 + 1] = x[t * 4];
    fs_copy_async4(&x[4 * 32 + t], &in[4 * 32 + t]);
    fs_copy_commit();
    fs_copy_wait(2);
    out[t * 8 + 2] = x[t * 4];
    fs_copy_wait(1);
    out[t * 8 + 3] = x[t * 4 + 3];
    out[t * 8 + 4] = x[4 * 32 + t];
    fs_copy_wait(0);
    fs_barrier();
    out[t * 8 + 5] = x[4 * 32 + (t + 1) % 32];
}

static void copies_arrive_at_the_wait(void **unused)
{
    (void)unused;
    _Alignas(16) unsigned data[5 * 32 + 8 * 32];
    for (unsigned i = 0; i < 5 * 32; i++)
        data[i] = i + 100;
    assert_ran(copy_and_look, data, 1, 32, 5 * 32 * 4);
    for (unsigned t = 0; t < 32; t++) {
        const unsigned expected[6] = {MOCK_POISON, MOCK_POISON, MOCK_POISON,
                                      4 * t + 103, MOCK_POISON, 228 + (t + 1) % 32};
        assert_memory_equal(data + 5 * 32 + t * 8, expected, sizeof expected);
    }
    assert_fault(MOCK_BAD_ADDRESS, "which is not in shared memory", copy_and_look, data, 1, 32, 5 * 32 * 4 - 4);
    assert_fault(MOCK_MISALIGNED, "thread 0: misaligned asynchronous copy of 16 bytes", copy_and_look, data + 1, 1, 32,
                 4096);
}

static void write_behind_dynamic(void **params)
{
    (void)params;
    ((char *)fs_dynamic_shared())[40] = 1;
}

static void write_behind_static(void **params)
{
    (void)params;
    FS_SHARED(short, x, 33);
    FS_SHARED(char, y, 5);
    volatile short *const last = x;
    last[33] = y[0];
}

static void much_static(void **params)
{
    (void)params;
    FS_SHARED(double, x, 6000);
    FS_SHARED(double, y, 6000);
    x[0] = y[0] = 1;
}

static void write_anywhere(void **params) { *(*(volatile float **)params[0] + fs_thread()) = 1; }

/* A sanitizer would tell first. */
__attribute__((no_sanitize("undefined"))) static void divide(void **params)
{
    (void)params;
    volatile int zero = 0;
    zero = 100 / zero;
}

static void use_all_stack(void **params)
{
    volatile char room[1000];
    room[0] = 1;
    if (fs_thread() < 2000)
        use_all_stack(params);
    room[999] = room[0];
}

static void faults_are_told(void **unused)
{
    (void)unused;
    assert_fault(MOCK_BAD_ADDRESS, "beyond the 37 bytes of dynamic", write_behind_dynamic, NULL, 3, 32, 37);
    assert_ran(write_behind_dynamic, NULL, 3, 32, 41);
    assert_fault(MOCK_BAD_ADDRESS, "beyond the 66 bytes of an array in shared memory of write_behind_static",
                 write_behind_static, NULL, 1, 32, 0);
    assert_fault(MOCK_BROKEN, "96000 bytes of static shared memory, at most 49152", much_static, NULL, 1, 32, 0);
    assert_fault(MOCK_BROKEN, "48000 bytes of static and 200000 of dynamic shared memory, at most 232448", much_static,
                 NULL, 1, 32, 200000);
    assert_fault(MOCK_BROKEN, "1 blocks of 32 threads and 232449 bytes", early_end, NULL, 1, 32, 232449);
    assert_fault(MOCK_BROKEN, "1 blocks of 1025 threads", early_end, NULL, 1, 1025, 0);
#ifdef __x86_64__
    assert_fault(MOCK_BAD_ADDRESS, "block 0: thread 0: invalid address 0x10", write_anywhere, (void *)16, 4, 64, 0);
    assert_fault(MOCK_BROKEN, "thread 0: more than 131072 bytes of stack", use_all_stack, NULL, 1, 32, 0);
    assert_fault(MOCK_BROKEN, "an integer divided by zero", divide, NULL, 1, 32, 0);
#else
    (void)write_anywhere, (void)use_all_stack, (void)divide;
#endif
}

/* Matrices: a[m][k], b[k][n], 16 bits or, tf32, 32. */

typedef enum { F16, BF16, TF32 } number;

static unsigned bits_of(number type, float value)
{
    const unsigned bits = fs_bits(value);
    if (type == TF32)
        return bits;
    if (type == BF16)
        return bits >> 16;
    return value == 0 ? 0 : (bits >> 31 << 15) | (((bits >> 23 & 255) - 112) << 10) | (bits >> 13 & 1023);
}

typedef struct {
    _Alignas(16) uint16_t a[16][16], a_transposed[16][16], b[16][8], b_transposed[8][16];
    float a_value[16][16], b_value[16][8], c[16][8], initial[16][8];
    number type;
    int way; /* 0: a by ldmatrix4, b by ldmatrix2_trans; 1: transposed and by ldmatrix4_trans, ldmatrix2; 2: by hand */
} product;

/* The fragments by hand, element i of lane l as PTX ISA's tables have it. */
static int row_of_a(int i, int l) { return (i >= 0 && i < 2) || (i >= 4 && i < 6) ? l >> 2 : (l >> 2) + 8; }
static int column_of_a(int i, int l) { return i < 4 ? l % 4 * 2 + (i & 1) : l % 4 * 2 + (i & 1) + 8; }
static int row_of_b(int i, int l) { return i < 2 ? l % 4 * 2 + (i & 1) : l % 4 * 2 + (i & 1) + 8; }

static void multiply(void **params)
{
    product *const p = *(product **)params[0];
    const int l = fs_thread();
    unsigned a[4] = {0}, b[2] = {0};
    float c[4];
    for (int i = 0; i < 4; i++)
        c[i] = p->initial[i < 2 ? l >> 2 : (l >> 2) + 8][l % 4 * 2 + (i & 1)];
    FS_SHARED(uint16_t, shared_a, 16 * 24);
    FS_SHARED(uint16_t, shared_b, 16 * 24);
    const int of_b = p->way ? 16 : 8;
    fs_copy_async(&shared_a[l / 2 * 24 + l % 2 * 8],
                  p->way ? &p->a_transposed[l / 2][l % 2 * 8] : &p->a[l / 2][l % 2 * 8]);
    if (l < 16)
        fs_copy_async(&shared_b[l * 8 / of_b * 24 + l * 8 % of_b], (p->way ? p->b_transposed[0] : p->b[0]) + l * 8);
    fs_copy_commit();
    fs_copy_wait(0);
    fs_barrier();
    if (p->type == TF32) {
        for (int i = 0; i < 4; i++)
            a[i] = fs_bits(p->a_value[i == 0 || i == 2 ? l >> 2 : (l >> 2) + 8][i < 2 ? l % 4 : l % 4 + 4]);
        for (int i = 0; i < 2; i++)
            b[i] = fs_bits(p->b_value[i == 0 ? l % 4 : l % 4 + 4][l >> 2]);
    } else if (p->way == 0) {
        fs_ldmatrix4(a, &shared_a[l % 16 * 24 + l / 16 * 8]);
        fs_ldmatrix2_trans(b, &shared_b[l % 16 * 24]);
    } else if (p->way == 1) {
        fs_ldmatrix4_trans(a, &shared_a[(l / 16 * 8 + l % 8) * 24 + l / 8 % 2 * 8]);
        fs_ldmatrix2(b, l < 16 ? &shared_b[l % 8 * 24 + l / 8 * 8] : NULL);
    } else {
        for (int i = 0; i < 8; i++)
            a[i / 2] |= (unsigned)p->a[row_of_a(i, l)][column_of_a(i, l)] << 16 * (i & 1);
        for (int i = 0; i < 4; i++)
            b[i / 2] |= (unsigned)p->b[row_of_b(i, l)][l >> 2] << 16 * (i & 1);
    }
    (p->type == TF32 ? fs_mma_tf32 : p->type == F16 ? fs_mma_f16 : fs_mma_bf16)(c, a, b[0], b[1]);
    for (int i = 0; i < 4; i++)
        p->c[i < 2 ? l >> 2 : (l >> 2) + 8][l % 4 * 2 + (i & 1)] = c[i];
}

static void products_are_those_of_plain_loops(void **unused)
{
    (void)unused;
    state = 1;
    for (int turn = 0; turn < 60; turn++) {
        product p = {.type = (number)(turn % 3), .way = turn / 3 % 3};
        const int depth = p.type == TF32 ? 8 : 16;
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 16; j++) {
                p.a_value[i][j] = (float)((int)draw(255) - 127) / 16;
                p.a[i][j] = p.a_transposed[j][i] = (uint16_t)bits_of(p.type, p.a_value[i][j]);
                if (j < 8) {
                    p.b_value[i][j] = (float)((int)draw(255) - 127) / 32;
                    p.b[i][j] = p.b_transposed[j][i] = (uint16_t)bits_of(p.type, p.b_value[i][j]);
                    p.initial[i][j] = (float)draw(100);
                }
            }
        setenv("MOCK_ORDER", orders[turn % ORDERS], 1);
        assert_ran(multiply, &p, 1, 32, 0);
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++) {
                double sum = (double)p.initial[i][j];
                for (int k = 0; k < depth; k++)
                    sum += (double)p.a_value[i][k] * (double)p.b_value[k][j];
                assert_true((double)p.c[i][j] == sum); /* few bits: exact */
            }
    }
    unsetenv("MOCK_ORDER");
}

/* c = a b of one element each, the others 0. */
static double multiply_one(number type, unsigned a, unsigned b)
{
    product p = {.type = type, .way = 2};
    p.a[0][0] = (uint16_t)a;
    p.b[0][0] = (uint16_t)b;
    p.a_value[0][0] = fs_float(a);
    p.b_value[0][0] = fs_float(b);
    assert_ran(multiply, &p, 1, 32, 0);
    return (double)p.c[0][0];
}

static void every_kind_of_number_is_read(void **unused)
{
    (void)unused;
    assert_true(multiply_one(F16, 0x0001, 0x3c00) == 0x1p-24);
    assert_true(multiply_one(F16, 0x83ff, 0x3c00) == -0x1.ff8p-15);
    assert_true(multiply_one(F16, 0x7bff, 0x4000) == 131008.0);
    assert_true(isinf(multiply_one(F16, 0xfc00, 0x3c00)));
    assert_true(isnan(multiply_one(F16, 0x7c01, 0x3c00)));
    assert_true(multiply_one(BF16, 0x3f81, 0xc000) == -2.015625);
    assert_true(multiply_one(TF32, 0x3f801fff, 0x3f802000) == 1.0009765625); /* the last 13 bits are not seen */
}

static void add_up(void **params)
{
    float *const out = *(float **)params[0];
    fs_atomic_add_f32(out, 1.0f);
    if (fs_thread() == 0 && fs_block() == 0) {
        out[1] = fs_rsqrt(4.0f) + fs_exp2(3.0f);
        const long long ns = fs_globaltimer();
        out[2] = (float)(fs_globaltimer() - ns);
        const long long cycles = fs_clock();
        out[3] = (float)(fs_clock() - cycles);
    }
}

static void atomics_count_and_clocks_run(void **unused)
{
    (void)unused;
    float out[4] = {0};
    setenv("MOCK_JOBS", "4", 1);
    assert_ran(add_up, out, 500, 64, 0);
    unsetenv("MOCK_JOBS");
    const float expected[4] = {32000, 8.5f, 32, 56};
    assert_memory_equal(out, expected, sizeof expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_hold_in_any_order_and_on_several_threads),
        cmocka_unit_test(a_missing_barrier_gives_poison_in_some_order),
        cmocka_unit_test(a_warp_runs_ahead_as_far_as_barriers_let_it),
        cmocka_unit_test(what_never_comes_is_told),
        cmocka_unit_test(shuffles_give_the_other_lanes_value),
        cmocka_unit_test(copies_arrive_at_the_wait),
        cmocka_unit_test(faults_are_told),
        cmocka_unit_test(products_are_those_of_plain_loops),
        cmocka_unit_test(every_kind_of_number_is_read),
        cmocka_unit_test(atomics_count_and_clocks_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
