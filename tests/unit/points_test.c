/* SPDX-License-Identifier: Apache-2.0 */
/* Points of the reference, worked by hand: values at the ends of their ranges, how far rounding may be off, and where
 * an argument that is known only within b may fall on either side of a jump. depends: compiler memory cost: 1 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "validate/reference/element.h"
#include "validate/reference/point.h"

typedef struct {
    fsim_op op;
    double x[3], wanted;
    fsim_attrs attrs;
} value_case;

static const value_case values[] = {
    {FSIM_OP_RECIPROCAL, {4}, 0.25, {0}},
    {FSIM_OP_MAXIMUM, {2, 3}, 3, {0}},
    {FSIM_OP_MAXIMUM, {NAN, 3}, NAN, {0}},
    {FSIM_OP_MINIMUM, {2, 3}, 2, {0}},
    {FSIM_OP_MINIMUM, {NAN, 3}, NAN, {0}},
    {FSIM_OP_RELU, {-0.5}, 0, {0}},
    {FSIM_OP_RELU, {NAN}, NAN, {0}},
    {FSIM_OP_RELU, {0.5}, 0.5, {0}},
    {FSIM_OP_RELU6, {6.5}, 6, {0}},
    {FSIM_OP_RELU6, {0.5}, 0.5, {0}},
    {FSIM_OP_RELU6, {-0.5}, 0, {0}},
    {FSIM_OP_RELU6, {NAN}, NAN, {0}},
    {FSIM_OP_LEAKY_RELU, {0.5}, 0.5, {.alpha = 0.25}},
    {FSIM_OP_LEAKY_RELU, {-1}, -0.25, {.alpha = 0.25}},
    {FSIM_OP_SOFTPLUS, {20.5}, 20.5, {0}},
    {FSIM_OP_CLAMP, {NAN}, NAN, {.min = 0, .max = 1}},
    {FSIM_OP_CLAMP, {-3}, 0, {.min = 0, .max = 1}},
    {FSIM_OP_CLAMP, {3}, 1, {.min = 0, .max = 1}},
    {FSIM_OP_HARDSIGMOID, {-3.5}, 0, {0}},
    {FSIM_OP_HARDSIGMOID, {3.5}, 1, {0}},
    {FSIM_OP_HARDSIGMOID, {1.5}, 0.75, {0}},
    {FSIM_OP_HARDSWISH, {-4}, 0, {0}},
    {FSIM_OP_HARDSWISH, {4}, 4, {0}},
    {FSIM_OP_HARDSWISH, {-1}, -1.0 / 3, {0}},
    {FSIM_OP_LT, {2, 2}, 0, {0}},
    {FSIM_OP_LE, {2, 2}, 1, {0}},
    {FSIM_OP_GT, {2, 2}, 0, {0}},
    {FSIM_OP_GE, {2, 2}, 1, {0}},
    {FSIM_OP_SIGN, {-2}, -1, {0}},
    {FSIM_OP_SIGN, {0}, 0, {0}},
    {FSIM_OP_SIGN, {0.5}, 1, {0}},
    {FSIM_OP_CELU, {0.5}, 0.5, {.alpha = 2}},
    {FSIM_OP_HARDSHRINK, {0.5}, 0, {.lambd = 0.5}},
    {FSIM_OP_HARDSHRINK, {-0.75}, -0.75, {.lambd = 0.5}},
    {FSIM_OP_SOFTSHRINK, {0.5}, 0, {.lambd = 0.5}},
    {FSIM_OP_SOFTSHRINK, {-0.75}, -0.25, {.lambd = 0.5}},
    {FSIM_OP_SOFTSHRINK, {0.75}, 0.25, {.lambd = 0.5}},
    {FSIM_OP_THRESHOLD, {2}, 7, {.threshold = 2, .value = 7}},
    {FSIM_OP_THRESHOLD, {2.5}, 2.5, {.threshold = 2, .value = 7}},
    {FSIM_OP_PRELU, {0.5, 3}, 0.5, {0}},
    {FSIM_OP_PRELU, {-0.5, 3}, -1.5, {0}},
    {FSIM_OP_BITWISE_AND, {6, 3}, 2, {0}},
    {FSIM_OP_BITWISE_OR, {6, 3}, 7, {0}},
    {FSIM_OP_BITWISE_XOR, {6, 3}, 5, {0}},
    {FSIM_OP_BITWISE_NOT, {6}, -7, {0}},
    {FSIM_OP_BITWISE_LEFT_SHIFT, {3, 2}, 12, {0}},
    {FSIM_OP_BITWISE_LEFT_SHIFT, {3, 0}, 3, {0}},
    {FSIM_OP_BITWISE_LEFT_SHIFT, {1, 63}, 0x1p63, {0}},
    {FSIM_OP_BITWISE_LEFT_SHIFT, {3, 64}, 0, {0}},
    {FSIM_OP_BITWISE_LEFT_SHIFT, {3, -1}, 0, {0}},
    {FSIM_OP_BITWISE_RIGHT_SHIFT, {13, 2}, 3, {0}},
    {FSIM_OP_BITWISE_RIGHT_SHIFT, {-13, 2}, -4, {0}},
    {FSIM_OP_BITWISE_RIGHT_SHIFT, {13, 0}, 13, {0}},
    {FSIM_OP_BITWISE_RIGHT_SHIFT, {0x1p63, 63}, 1, {0}},
    {FSIM_OP_BITWISE_RIGHT_SHIFT, {-13, 64}, -1, {0}},
    {FSIM_OP_BITWISE_RIGHT_SHIFT, {-13, -1}, -1, {0}},
    {FSIM_OP_F4_CODE, {0.25}, 0, {0}}, /* 0 and 0.5 are as near: the even code */
    {FSIM_OP_F4_CODE, {0.75}, 2, {0}},
    {FSIM_OP_F4_CODE, {5}, 6, {0}},
    {FSIM_OP_F4_CODE, {5.5}, 7, {0}},
    {FSIM_OP_F4_CODE, {100}, 7, {0}},
    {FSIM_OP_F4_CODE, {NAN}, 7, {0}},
    {FSIM_OP_F4_CODE, {-2.1}, 12, {0}},
    {FSIM_OP_F4_VALUE, {12}, -2, {0}},
    {FSIM_OP_LOGICAL_AND, {2, 0}, 0, {0}},
    {FSIM_OP_LOGICAL_AND, {2, -1}, 1, {0}},
    {FSIM_OP_LOGICAL_OR, {0, 0}, 0, {0}},
    {FSIM_OP_LOGICAL_OR, {0, 2}, 1, {0}},
    {FSIM_OP_LOGICAL_XOR, {3, 2}, 0, {0}},
    {FSIM_OP_LOGICAL_XOR, {3, 0}, 1, {0}},
    {FSIM_OP_LOGICAL_NOT, {0}, 1, {0}},
    {FSIM_OP_LOGICAL_NOT, {2}, 0, {0}},
    {FSIM_OP_WHERE, {1, 5, 6}, 5, {0}},
    {FSIM_OP_WHERE, {0, 5, 6}, 6, {0}},
    {FSIM_OP_WHERE_INPUT, {0, 5}, 5, {.input = 9}},
    {FSIM_OP_WHERE_INPUT, {2, 5}, 9, {.input = 9}},
    {FSIM_OP_WHERE_OTHER, {0, 5}, 9, {.other = 9}},
    {FSIM_OP_WHERE_OTHER, {2, 5}, 5, {.other = 9}},
    {FSIM_OP_MASKED_FILL, {5, 1}, 8, {.value = 8}},
    {FSIM_OP_MASKED_FILL, {5, 0}, 5, {.value = 8}},
    {FSIM_OP_MASK_OUT, {5, 0}, -INFINITY, {0}},
    {FSIM_OP_MASK_OUT, {5, 2}, 5, {0}},
    {FSIM_OP_SMOOTH_L1, {0.5}, 0.125, {0}},
    {FSIM_OP_SMOOTH_L1, {-2}, 1.5, {0}},
    {FSIM_OP_XLOGX, {0}, 0, {0}},
    {FSIM_OP_XLOGX, {1}, 0, {0}},
    {FSIM_OP_LOGSIGMOID, {-1000}, -1000, {0}},
    {FSIM_OP_LOGSIGMOID, {1000}, 0, {0}},
};

static void values_at_the_ends(void **unused)
{
    (void)unused;
    static const fsim_place nowhere = {0, 0, 0, 1};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const value_case *c = &values[i];
        const fsim_node n = {.op = c->op, .args = 2, .dtype = FSIM_F32, .attrs = c->attrs};
        const double got = fsim_point_rows[c->op].value(&n, c->x, &nowhere);
        if (isnan(c->wanted) ? !isnan(got) : got != c->wanted)
            fail_msg("case %zu: %g, wanted %g", i, got, c->wanted);
    }
}

/* Row 1, column 2 of 4, element 6. */
static void values_by_place(void **unused)
{
    (void)unused;
    static const fsim_place at = {6, 1, 2, 4}, first = {4, 1, 1, 4};
    static const struct {
        fsim_op op;
        int64_t k;
        double here, before; /* at column 2 and column 1 */
    } cases[] = {{FSIM_OP_TRIL, 0, 0, 5},
                 {FSIM_OP_TRIL, 1, 5, 5},
                 {FSIM_OP_TRIU, 0, 5, 5},
                 {FSIM_OP_TRIU, 1, 5, 0},
                 {FSIM_OP_CAUSAL_MASK, 0, -INFINITY, 5},
                 {FSIM_OP_CAUSAL_MASK, 1, 5, 5},
                 {FSIM_OP_WINDOW_MASK, 1, 5, -INFINITY},
                 {FSIM_OP_WINDOW_MASK, 0, 5, 5},
                 {FSIM_OP_ROTATE_HALF, 0, 5, -5},
                 {FSIM_OP_BIT_PLACE, 0, 4, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fsim_node n = {.op = cases[i].op, .dtype = FSIM_F32, .attrs = {.k = cases[i].k}};
        const double x[] = {5};
        assert_true(fsim_point_rows[n.op].value(&n, x, &at) == cases[i].here);
        assert_true(fsim_point_rows[n.op].value(&n, x, &first) == cases[i].before);
    }
    const fsim_node hot = {.op = FSIM_OP_ONE_HOT}, range = {.op = FSIM_OP_ARANGE, .attrs = {.first = 3, .step = 2}},
                    field = {.op = FSIM_OP_BIT_FIELD, .attrs = {.bits = 4}};
    const double two[] = {2}, byte[] = {0xb7};
    assert_true(fsim_point_rows[FSIM_OP_ONE_HOT].value(&hot, two, &at) == 1);
    assert_true(fsim_point_rows[FSIM_OP_ONE_HOT].value(&hot, two, &first) == 0);
    assert_true(fsim_point_rows[FSIM_OP_ARANGE].value(&range, two, &at) == 15);
    assert_true(fsim_point_rows[FSIM_OP_BIT_FIELD].value(&field, byte, &at) == 7);
    assert_true(fsim_point_rows[FSIM_OP_BIT_FIELD].value(&field, byte, &first) == 0xb);
}

typedef struct {
    fsim_op op;
    double x[2], b[2];
    bool jumps;
    fsim_attrs attrs;
} jump_case;

/* A divisor of 1 within 1 may be 0, within 0.5 may not; an exact 0 is one. And so on. */
static const jump_case jumps[] = {
    {FSIM_OP_DIV, {1, 1}, {0, 1}, true, {0}},
    {FSIM_OP_DIV, {1, 1}, {0, 0.5}, false, {0}},
    {FSIM_OP_DIV, {1, 0}, {1, 0}, false, {0}},
    {FSIM_OP_RECIPROCAL, {-1}, {1}, true, {0}},
    {FSIM_OP_RECIPROCAL, {-1}, {0.5}, false, {0}},
    {FSIM_OP_RECIPROCAL, {0}, {0}, false, {0}},
    {FSIM_OP_FLOOR, {2.25}, {0.25}, false, {0}},
    {FSIM_OP_FLOOR, {2.25}, {0.5}, true, {0}},
    {FSIM_OP_FLOOR, {2}, {0}, false, {0}},
    {FSIM_OP_FLOOR, {2.75}, {0.25}, true, {0}},
    {FSIM_OP_CEIL, {2.25}, {0.25}, true, {0}},
    {FSIM_OP_CEIL, {2.5}, {0.25}, false, {0}},
    {FSIM_OP_CEIL, {2}, {0}, false, {0}},
    {FSIM_OP_TRUNC, {2.5}, {0.5}, true, {0}},
    {FSIM_OP_ROUND, {2.25}, {0.125}, false, {0}},
    {FSIM_OP_ROUND, {2.25}, {0.5}, true, {0}},
    {FSIM_OP_ROUND, {2.5}, {0}, false, {0}},
    {FSIM_OP_TAN, {1.5}, {0.0625}, false, {0}},
    {FSIM_OP_TAN, {1.5}, {0.125}, true, {0}},
    {FSIM_OP_TAN, {1.5}, {0}, false, {0}},
    {FSIM_OP_ATAN2, {0.5, -1}, {0.5, 0}, true, {0}},
    {FSIM_OP_ATAN2, {0.5, -1}, {0.25, 0}, false, {0}},
    {FSIM_OP_ATAN2, {0.5, 1}, {0.5, 0.5}, false, {0}},
    {FSIM_OP_ATAN2, {0.5, 1}, {0.5, 1}, true, {0}},
    {FSIM_OP_ATAN2, {0, -1}, {0, 0}, false, {0}},
    {FSIM_OP_ATAN2, {0, 1}, {0, 1}, true, {0}},
    {FSIM_OP_HARDSHRINK, {1}, {0.5}, true, {.lambd = 0.5}},
    {FSIM_OP_HARDSHRINK, {-1}, {0.5}, true, {.lambd = 0.5}},
    {FSIM_OP_HARDSHRINK, {1}, {0.25}, false, {.lambd = 0.5}},
    {FSIM_OP_HARDSHRINK, {0.5}, {0}, true, {.lambd = 0.5}},
    {FSIM_OP_THRESHOLD, {1}, {0.5}, true, {.threshold = 0.5}},
    {FSIM_OP_THRESHOLD, {1}, {0.25}, false, {.threshold = 0.5}},
    {FSIM_OP_THRESHOLD, {0.5}, {0.25}, false, {.threshold = 0.5}},
    {FSIM_OP_BITWISE_AND, {1, 1}, {0, 0}, false, {0}},
    {FSIM_OP_BITWISE_AND, {1, 1}, {0, 1}, true, {0}},
    {FSIM_OP_BITWISE_AND, {1, 1}, {1, 0}, true, {0}},
    {FSIM_OP_F4_CODE, {0.5}, {0.125}, false, {0}},
    {FSIM_OP_F4_CODE, {0.5}, {0.375}, true, {0}},
    {FSIM_OP_F4_CODE, {0.25}, {0}, false, {0}},
    {FSIM_OP_LOGICAL_AND, {1, 1}, {0.5, 0.5}, false, {0}},
    {FSIM_OP_LOGICAL_AND, {1, 1}, {1, 0}, true, {0}},
    {FSIM_OP_LOGICAL_AND, {1, 1}, {0, 1}, true, {0}},
    {FSIM_OP_LOGICAL_AND, {1, 0}, {0, 0}, false, {0}},
    {FSIM_OP_POW, {1, -1}, {1, 0}, true, {0}},
    {FSIM_OP_POW, {1, -1}, {0.5, 0}, false, {0}},
    {FSIM_OP_POW, {1, 1}, {1, 0.5}, false, {0}},
    {FSIM_OP_POW, {1, 1}, {1, 2}, true, {0}},
    {FSIM_OP_POW, {0, -1}, {0, 0}, false, {0}},
    {FSIM_OP_EQ, {1, 2}, {0.5, 0.5}, true, {0}},
    {FSIM_OP_EQ, {1, 2}, {0.5, 0.25}, false, {0}},
    {FSIM_OP_EQ, {2, 2}, {0, 0}, false, {0}},
    {FSIM_OP_LT, {1, 2}, {0, 1}, true, {0}},
    {FSIM_OP_LT, {1, 2}, {0, 0.5}, false, {0}},
    {FSIM_OP_GE, {2, 2}, {0.5, 0}, true, {0}},
    {FSIM_OP_GE, {2, 2}, {0, 0.5}, true, {0}},
    {FSIM_OP_FLOOR_DIVIDE, {5, 2}, {0.5, 0}, false, {0}},
    {FSIM_OP_FLOOR_DIVIDE, {5, 2}, {1, 0}, true, {0}},
    {FSIM_OP_FLOOR_DIVIDE, {5, 2}, {0, 0.5}, true, {0}},    /* 5 / 1.5 is more than 3 */
    {FSIM_OP_FLOOR_DIVIDE, {5, 2}, {0, 0.25}, false, {0}},  /* 2.5 and at most 2.5 x 0.25 / 1.75, 0.36, more */
    {FSIM_OP_FLOOR_DIVIDE, {5, 2}, {0, 0.4375}, true, {0}}, /* 0.7 more */
    {FSIM_OP_FLOOR_DIVIDE, {5, 0}, {0, 1}, true, {0}},
    {FSIM_OP_FLOOR_DIVIDE, {4, 2}, {0, 0}, false, {0}},
    {FSIM_OP_FLOOR_DIVIDE, {5, 2}, {0, 2}, true, {0}},
    {FSIM_OP_FLOOR_DIVIDE, {5, 0}, {0, 0}, false, {0}},
    {FSIM_OP_FLOOR_DIVIDE, {5, 0}, {1, 0}, true, {0}},
    {FSIM_OP_CAST, {1}, {1}, true, {.dtype = FSIM_BOOL}},
    {FSIM_OP_CAST, {1}, {0.5}, false, {.dtype = FSIM_BOOL}},
    {FSIM_OP_CAST, {0}, {0}, false, {.dtype = FSIM_BOOL}},
    {FSIM_OP_CAST, {127}, {0.5}, false, {.dtype = FSIM_I8}},
    {FSIM_OP_CAST, {127}, {1}, true, {.dtype = FSIM_I8}},
    {FSIM_OP_CAST, {-128}, {0}, true, {.dtype = FSIM_I8}},
    {FSIM_OP_CAST, {255}, {0.5}, false, {.dtype = FSIM_U8}},
    {FSIM_OP_CAST, {0}, {0.5}, false, {.dtype = FSIM_U8}},
    {FSIM_OP_CAST, {0}, {1}, true, {.dtype = FSIM_U8}},
    {FSIM_OP_CAST, {32767}, {1}, true, {.dtype = FSIM_I16}},
    {FSIM_OP_CAST, {32767}, {0.5}, false, {.dtype = FSIM_I16}},
    {FSIM_OP_CAST, {2147483647.}, {0.5}, false, {.dtype = FSIM_I32}},
    {FSIM_OP_CAST, {2147483647.}, {1}, true, {.dtype = FSIM_I32}},
    {FSIM_OP_CAST, {0x1p62}, {0}, false, {.dtype = FSIM_I64}},
    {FSIM_OP_CAST, {0x1p63}, {0}, true, {.dtype = FSIM_I64}},
    {FSIM_OP_CAST, {1e30}, {1}, false, {.dtype = FSIM_F32}},
};

static void jumps_within_a_bound(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
        const jump_case *c = &jumps[i];
        const fsim_node n = {.op = c->op, .args = 2, .dtype = FSIM_F32, .attrs = c->attrs};
        if (fsim_point_rows[c->op].jumps(&n, c->x, c->b) != c->jumps)
            fail_msg("case %zu: wanted %d", i, c->jumps);
    }
    /* whole numbers are exact or not known; an f32 quotient just below 3 may have been rounded to it, an f64 one not */
    const double x[] = {5, 2}, none[] = {0, 0}, some[] = {0, 1}, near[] = {3 - 0x1p-21, 1};
    fsim_node n = {.op = FSIM_OP_FLOOR_DIVIDE, .args = 2, .dtype = FSIM_I32};
    assert_false(fsim_point_rows[n.op].jumps(&n, x, none));
    assert_true(fsim_point_rows[n.op].jumps(&n, x, some));
    n.dtype = FSIM_F32;
    assert_true(fsim_point_rows[n.op].jumps(&n, near, none));
    n.dtype = FSIM_F64;
    assert_false(fsim_point_rows[n.op].jumps(&n, near, none));
    n.dtype = FSIM_F32;
    n.op = FSIM_OP_FMOD;
    assert_false(fsim_point_rows[n.op].jumps(&n, near, none));
}

/* Remainders have the divisor's sign or the dividend's; whole numbers over 0 are 0. */
static void divisions_of_whole_numbers(void **unused)
{
    (void)unused;
    static const struct {
        fsim_op op;
        fsim_dtype t;
        double x, y, wanted;
    } cases[] = {{FSIM_OP_REMAINDER, FSIM_I32, 7, 4, 3},
                 {FSIM_OP_REMAINDER, FSIM_I32, -7, 4, 1},
                 {FSIM_OP_REMAINDER, FSIM_I32, 7, -4, -1},
                 {FSIM_OP_REMAINDER, FSIM_I32, 8, -4, 0},
                 {FSIM_OP_REMAINDER, FSIM_I32, 7, 0, 0},
                 {FSIM_OP_REMAINDER, FSIM_F32, 7, 0, NAN},
                 {FSIM_OP_FMOD, FSIM_I32, -7, 4, -3},
                 {FSIM_OP_FMOD, FSIM_I32, 7, 0, 0},
                 {FSIM_OP_FMOD, FSIM_F32, 7, 0, NAN},
                 {FSIM_OP_FLOOR_DIVIDE, FSIM_I32, 7, 0, 0},
                 {FSIM_OP_FLOOR_DIVIDE, FSIM_F32, 7, 0, INFINITY},
                 {FSIM_OP_FLOOR_DIVIDE, FSIM_I32, -7, 2, -4},
                 {FSIM_OP_REMAINDER, FSIM_I32, 1, 3, 1},
                 {FSIM_OP_FMOD, FSIM_I32, 2, 1, 0},
                 {FSIM_OP_FLOOR_DIVIDE, FSIM_I32, 7, 1, 7}};
    static const fsim_place nowhere = {0, 0, 0, 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fsim_node n = {.op = cases[i].op, .args = 2, .dtype = cases[i].t};
        const double x[] = {cases[i].x, cases[i].y}, got = fsim_point_rows[n.op].value(&n, x, &nowhere);
        assert_true(isnan(cases[i].wanted) ? isnan(got) : got == cases[i].wanted);
    }
}

/* 1 - p loses digits of p: at p = 0.75 it has those of 0.25, twice 3 more units. Differences inside of elu and
 * softshrink are as large as their constants. */
static void attributes_add_to_the_error(void **unused)
{
    (void)unused;
    const fsim_node dropped = {.op = FSIM_OP_DROPOUT, .attrs = {.p = 0.75}},
                    all = {.op = FSIM_OP_DROPOUT, .attrs = {.p = 1}}, elu = {.op = FSIM_OP_ELU, .attrs = {.alpha = -2}},
                    celu = {.op = FSIM_OP_CELU, .attrs = {.alpha = 2}},
                    shrunk = {.op = FSIM_OP_SOFTSHRINK, .attrs = {.lambd = 0.5}},
                    sum = {.op = FSIM_OP_ADD, .attrs = {.alpha = 2, .lambd = 2, .p = 0.5}};
    assert_true(fsim_point_error(&dropped).ulps == 3 + 6 && fsim_point_error(&all).ulps == 3);
    assert_true(fsim_point_error(&elu).flat == 8 && fsim_point_error(&celu).flat == 8);
    assert_true(fsim_point_error(&shrunk).flat == 1);
    assert_true(fsim_point_error(&sum).ulps == 1 && fsim_point_error(&sum).flat == 0);
}

/* What compares, chooses, moves or counts has no rounding of its own. */
static void exact_operators(void **unused)
{
    (void)unused;
    static const fsim_op exact[] = {FSIM_OP_MAXIMUM,
                                    FSIM_OP_MINIMUM,
                                    FSIM_OP_NEG,
                                    FSIM_OP_ABS,
                                    FSIM_OP_RELU,
                                    FSIM_OP_RELU6,
                                    FSIM_OP_HARDTANH,
                                    FSIM_OP_CLAMP,
                                    FSIM_OP_EQ,
                                    FSIM_OP_NE,
                                    FSIM_OP_LT,
                                    FSIM_OP_LE,
                                    FSIM_OP_GT,
                                    FSIM_OP_GE,
                                    FSIM_OP_FLOOR,
                                    FSIM_OP_CEIL,
                                    FSIM_OP_ROUND,
                                    FSIM_OP_TRUNC,
                                    FSIM_OP_SIGN,
                                    FSIM_OP_FLOOR_DIVIDE,
                                    FSIM_OP_HARDSHRINK,
                                    FSIM_OP_THRESHOLD,
                                    FSIM_OP_BIT_FIELD,
                                    FSIM_OP_BIT_PLACE,
                                    FSIM_OP_ROUND_E4M3,
                                    FSIM_OP_ROUND_E8M0,
                                    FSIM_OP_F4_VALUE,
                                    FSIM_OP_F4_CODE,
                                    FSIM_OP_BITWISE_AND,
                                    FSIM_OP_BITWISE_OR,
                                    FSIM_OP_BITWISE_XOR,
                                    FSIM_OP_BITWISE_NOT,
                                    FSIM_OP_BITWISE_LEFT_SHIFT,
                                    FSIM_OP_BITWISE_RIGHT_SHIFT,
                                    FSIM_OP_ISNAN,
                                    FSIM_OP_ISINF,
                                    FSIM_OP_ISFINITE,
                                    FSIM_OP_LOGICAL_AND,
                                    FSIM_OP_LOGICAL_OR,
                                    FSIM_OP_LOGICAL_XOR,
                                    FSIM_OP_LOGICAL_NOT,
                                    FSIM_OP_ONE_HOT,
                                    FSIM_OP_ARANGE,
                                    FSIM_OP_WHERE,
                                    FSIM_OP_WHERE_INPUT,
                                    FSIM_OP_WHERE_OTHER,
                                    FSIM_OP_WHERE_SCALARS,
                                    FSIM_OP_MASKED_FILL,
                                    FSIM_OP_CAST,
                                    FSIM_OP_COPY,
                                    FSIM_OP_TRIL,
                                    FSIM_OP_TRIU,
                                    FSIM_OP_FILL,
                                    FSIM_OP_CAUSAL_MASK,
                                    FSIM_OP_WINDOW_MASK,
                                    FSIM_OP_MASK_OUT,
                                    FSIM_OP_PERMUTE,
                                    FSIM_OP_TRANSPOSE,
                                    FSIM_OP_SLICE,
                                    FSIM_OP_EXPAND,
                                    FSIM_OP_UNFOLD,
                                    FSIM_OP_IM2COL,
                                    FSIM_OP_FLIP,
                                    FSIM_OP_SPLIT,
                                    FSIM_OP_ROTATE_HALF,
                                    FSIM_OP_TRANSFER};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        const fsim_error_units e = fsim_point_rows[exact[i]].error;
        assert_true(fsim_point_rows[exact[i]].value && e.ulps == 0 && e.of_x == 0 && e.flat == 0);
    }
}

static bool is_one_of(fsim_op op, const fsim_op *list, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found = found || list[i] == op;
    return found;
}

/* An error grows with the argument where that is rounded in front of an exponential, twice as much in front of one
 * whose base is 2, and has absolute units where something is subtracted inside. One operation alone, which every device
 * rounds to the nearest, has one unit; a quotient or a root three; what is computed of several operations more, and two
 * where a constant is subtracted that is no float. */
static void units_of_errors(void **unused)
{
    (void)unused;
    static const fsim_op exponentials[] = {FSIM_OP_EXP,  FSIM_OP_SIGMOID, FSIM_OP_SOFTPLUS,  FSIM_OP_EXP2,
                                           FSIM_OP_SINH, FSIM_OP_COSH,    FSIM_OP_LOGSIGMOID},
                         differences[] = {FSIM_OP_SIN, FSIM_OP_COS, FSIM_OP_SELU, FSIM_OP_HARDSIGMOID, FSIM_OP_TAN},
                         nearest[] = {FSIM_OP_ADD, FSIM_OP_SUB, FSIM_OP_MUL, FSIM_OP_SQUARE, FSIM_OP_FMOD},
                         divided[] = {FSIM_OP_DIV,        FSIM_OP_SQRT,        FSIM_OP_RECIPROCAL,
                                      FSIM_OP_LEAKY_RELU, FSIM_OP_HARDSIGMOID, FSIM_OP_PRELU,
                                      FSIM_OP_SMOOTH_L1,  FSIM_OP_DROPOUT,     FSIM_OP_REMAINDER};
#define IS_IN(list) is_one_of((fsim_op)op, list, sizeof(list) / sizeof *(list))
    int computed = 0;
    for (int op = 0; op < FSIM_OP_COUNT; op++) {
        const fsim_error_units e = fsim_point_rows[op].error;
        if (e.ulps == 0)
            continue;
        computed++;
        assert_true(e.of_x == (op == FSIM_OP_EXP2 ? 3 : IS_IN(exponentials) ? 2 : 0));
        assert_true(e.flat == (op == FSIM_OP_SELU ? 8 : op == FSIM_OP_HARDSIGMOID ? 2 : IS_IN(differences) ? 4 : 0));
        assert_true(IS_IN(nearest)   ? e.ulps == 1
                    : IS_IN(divided) ? e.ulps == 3
                                     : e.ulps == (op == FSIM_OP_SOFTSHRINK     ? 2
                                                  : e.ulps == 4 || e.ulps == 6 ? e.ulps
                                                                               : 8));
    }
    assert_int_equal(computed, 46);
#undef IS_IN
}

/* The first outputs of splitmix64 from 0 are 0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4 and 0x06c45d188009454f: of 2^64
 * 0.8833, 0.4315 and 0.0264. An element is kept where its number is not below p. */
static void dropout_by_hand(void **unused)
{
    (void)unused;
    static const double number[] = {0.88330, 0.43152, 0.02643};
    for (int i = 0; i < 3; i++) {
        assert_true(fsim_dropout_keeps(i, number[i] - 1e-4));
        assert_false(fsim_dropout_keeps(i, number[i] + 1e-4));
    }
    assert_true(fsim_dropout_keeps(7, 0) && !fsim_dropout_keeps(7, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_at_the_ends),
        cmocka_unit_test(values_by_place),
        cmocka_unit_test(jumps_within_a_bound),
        cmocka_unit_test(divisions_of_whole_numbers),
        cmocka_unit_test(attributes_add_to_the_error),
        cmocka_unit_test(exact_operators),
        cmocka_unit_test(units_of_errors),
        cmocka_unit_test(dropout_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
