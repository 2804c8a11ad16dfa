/* SPDX-License-Identifier: Apache-2.0 */
/* The dialect's functions on the host, against double precision over all exponents. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "emit/dialect.h"
#include "emit/dialect_values.h"

enum { EACH = 400 }; /* floats of each exponent and sign */

static uint32_t state = 12345;
static uint32_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    return state ^= state << 5;
}

/* Distance of y from the exact value in units of its last place; a subnormal's is that of the smallest. */
static double ulps(float y, double exact)
{
    if (isnan(exact) || isnan(y))
        return isnan(exact) && isnan(y) ? 0 : INFINITY;
    if (isinf(y) || isinf((float)exact))
        return y == (float)exact || (isinf(y) && fabs(exact) > 3.4028e38 && (y > 0) == (exact > 0)) ? 0 : INFINITY;
    int e;
    frexp(exact, &e);
    const double unit = ldexp(1, e < -125 ? -149 : e - 24);
    return fabs((double)y - exact) / unit;
}

typedef struct {
    const char *name;
    float (*own)(float);
    double (*exact)(double);
    double least, most; /* arguments */
    double ulps;
} function;

static double exact_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double exact_rsqrt(double x) { return 1 / sqrt(x); }

static const function functions[] = {
    {"exp", fs_expf, exp, -INFINITY, INFINITY, 1},
    {"expm1", fs_expm1f, expm1, -INFINITY, INFINITY, 1.5},
    {"log", fs_logf, log, -INFINITY, INFINITY, 1},
    {"log1p", fs_log1pf, log1p, -INFINITY, INFINITY, 1.5},
    {"tanh", fs_tanhf, tanh, -INFINITY, INFINITY, 2},
    {"erf", fs_erff, erf, -INFINITY, INFINITY, 1.5},
    {"sin", fs_sinf, sin, -1e6, 1e6, 1.5},
    {"cos", fs_cosf, cos, -1e6, 1e6, 1.5},
    {"sigmoid", fs_sigmoidf, exact_sigmoid, -87, INFINITY, 2.5},
    {"rsqrt", fs_rsqrtf, exact_rsqrt, 0, INFINITY, 1.5},
};

static void functions_are_exact_to_a_few_ulps(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const function *f = &functions[i];
        double worst = 0, at = 0;
        for (uint32_t top = 0; top < 512; top++) /* sign and exponent */
            for (int k = 0; k < EACH; k++) {
                const uint32_t fraction = k == 0 ? 0 : k == 1 ? 0x7fffff : random_bits() & 0x7fffff;
                const float x = fs_float(top << 23 | fraction);
                if ((double)x < f->least || (double)x > f->most)
                    continue;
                const double off = ulps(f->own(x), f->exact((double)x));
                if (off > worst) {
                    worst = off;
                    at = (double)x;
                }
            }
        print_message("%-8s %.2f ulp, at %.9g\n", f->name, worst, at);
        if (!(worst <= f->ulps))
            fail_msg("%s(%.9g) is %.2f ulp off: %.9g", f->name, at, worst, (double)f->own((float)at));
    }
}

/* Where arguments are dense in what workloads have. */
static void functions_are_exact_where_values_lie(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (int k = -400000; k <= 400000; k++) {
            const float x = (float)k * 5e-5f;
            if ((double)x >= functions[i].least &&
                !(ulps(functions[i].own(x), functions[i].exact((double)x)) <= functions[i].ulps))
                fail_msg("%s(%.9g) is %.9g", functions[i].name, (double)x, (double)functions[i].own(x));
        }
}

static void powers_are_exact(void **unused)
{
    (void)unused;
    static const float some[] = {0,        -0.0f,     1,     -1,     2,       -2,       3,         -3,
                                 0.5f,     -0.5f,     1.5f,  2.5f,   -2.5f,   10,       0.1f,      8388609,
                                 16777216, -16777215, 3e38f, 1e-40f, -1e-40f, INFINITY, -INFINITY, NAN};
    enum { SOME = sizeof some / sizeof *some };
    for (int i = 0; i < SOME; i++)
        for (int k = 0; k < SOME; k++)
            if (!(ulps(fs_powf(some[i], some[k]), pow((double)some[i], (double)some[k])) <= 1))
                fail_msg("pow(%.9g, %.9g) is %.9g, not %.9g", (double)some[i], (double)some[k],
                         (double)fs_powf(some[i], some[k]), pow((double)some[i], (double)some[k]));
    double worst = 0;
    for (int i = 0; i < 2000000; i++) {
        const float x = fs_float(random_bits() & 0x7fffffffu);
        const float y = i % 2 ? (float)((int)(random_bits() % 2001) - 1000) * 0.01f
                              : fs_float((random_bits() & 0x807fffffu) | ((random_bits() % 20 + 117) << 23));
        const double off = ulps(fs_powf(x, y), pow((double)x, (double)y));
        worst = off > worst ? off : worst;
        if (!(off <= 1))
            fail_msg("pow(%.9g, %.9g) is %.9g, not %.9g", (double)x, (double)y, (double)fs_powf(x, y),
                     pow((double)x, (double)y));
    }
    print_message("pow      %.2f ulp\n", worst);
}

/* Every code of the small formats comes back; between two of them the nearer is taken. */
static void small_floats_come_back(void **unused)
{
    (void)unused;
    for (unsigned h = 0; h < 65536; h++) {
        const float f = fs_from_f16((fs_f16)h), b = fs_from_bf16((fs_bf16)h);
        assert_true(isnan(f) || fs_to_f16(f) == h);
        assert_true(isnan(b) || fs_to_bf16(b) == h);
    }
    for (unsigned h = 0; h < 256; h++) {
        const float x = fs_from_f8e4m3((fs_f8e4m3)h), y = fs_from_f8e5m2((fs_f8e5m2)h);
        assert_true(isnan(x) || fs_to_f8e4m3(x) == h);
        assert_true(isnan(y) || isinf(y) || fs_to_f8e5m2(y) == h);
        const float p = fs_from_f8e8m0((fs_f8e8m0)h);
        assert_true(h == 255 ? isnan(p) : (double)p == ldexp(1, (int)h - 127));
        assert_int_equal(fs_to_f8e8m0(p), h);
        if (h > 0 && h < 254) {
            assert_int_equal(fs_to_f8e8m0(nextafterf(1.5f * p, 0)), h);
            assert_int_equal(fs_to_f8e8m0(1.5f * p), h + 1);
        }
    }
    static const float fours[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    for (int h = 0; h < 8; h++) {
        assert_true(fs_from_f4(h) == fours[h] && fs_from_f4(h + 8) == -fours[h]);
        assert_int_equal(fs_to_f4(fours[h]), h);
        assert_int_equal(fs_to_f4(h ? -fours[h] : -0.0f), h + 8);
        if (h < 7) {
            const float middle = (fours[h] + fours[h + 1]) / 2;
            assert_int_equal(fs_to_f4(nextafterf(middle, 0)), h);
            assert_int_equal(fs_to_f4(nextafterf(middle, 9)), h + 1);
            assert_int_equal(fs_to_f4(middle), h + (h & 1));
        }
    }
    assert_int_equal(fs_to_f4(1e30f), 7);
    assert_int_equal(fs_to_f4(-INFINITY), 15);
    for (unsigned h = 0; h < 0x7e; h++) {
        const float x = fs_from_f8e4m3((fs_f8e4m3)h), next = fs_from_f8e4m3((fs_f8e4m3)(h + 1)),
                    middle = (x + next) / 2;
        assert_int_equal(fs_to_f8e4m3(nextafterf(middle, 0)), h);
        assert_int_equal(fs_to_f8e4m3(nextafterf(middle, INFINITY)), h + 1);
        assert_int_equal(fs_to_f8e4m3(middle), h + (h & 1));
    }
}

/* One pass gives what two give, however the row is cut. */
static void running_reductions_meet(void **unused)
{
    (void)unused;
    enum { N = 1000 };
    for (int cut = 0; cut <= N; cut += 250) {
        double largest = -INFINITY, sum = 0, mean = 0, q = 0;
        float x[N], m[2] = {-INFINITY, -INFINITY}, s[2] = {0, 0}, n[2] = {0, 0}, u[2] = {0, 0}, v[2] = {0, 0};
        for (int i = 0; i < N; i++) {
            x[i] = (float)(random_bits() % 20001) * 1e-3f - 5;
            largest = x[i] > largest ? (double)x[i] : largest;
            mean += (double)x[i] / N;
            fs_take_exp_f(&m[i >= cut], &s[i >= cut], x[i]);
            fs_take_moments_f(&n[i >= cut], &u[i >= cut], &v[i >= cut], x[i]);
        }
        for (int i = 0; i < N; i++) {
            sum += exp((double)x[i] - largest);
            q += ((double)x[i] - mean) * ((double)x[i] - mean);
        }
        fs_merge_exp_f(&m[0], &s[0], m[1], s[1]);
        fs_merge_moments_f(&n[0], &u[0], &v[0], n[1], u[1], v[1]);
        assert_true((double)m[0] == largest && n[0] == N);
        assert_true(fabs((double)s[0] - sum) < 1e-5 * sum && fabs((double)u[0] - mean) < 1e-5 &&
                    fabs((double)v[0] - q) < 1e-5 * q);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_exact_to_a_few_ulps),
        cmocka_unit_test(functions_are_exact_where_values_lie),
        cmocka_unit_test(powers_are_exact),
        cmocka_unit_test(small_floats_come_back),
        cmocka_unit_test(running_reductions_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
