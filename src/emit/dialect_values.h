
/* Elements of 16 and 8 bits. */
FS_FN float fs_from_bf16(fs_bf16 h) { return fs_float((fs_u32)h << 16); }
FS_FN fs_bf16 fs_to_bf16(float f)
{
    const fs_u32 u = fs_bits(f);
    return (fs_bf16)((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
#ifdef FS_CUDA
FS_FN float fs_from_f16(fs_f16 h)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}
FS_FN fs_f16 fs_to_f16(float f)
{
    fs_f16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
#else
FS_FN float fs_from_f16(fs_f16 h)
{
    const fs_u32 sign = (fs_u32)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    const float small = (float)rest * 5.9604644775390625e-8f; /* subnormal: rest x 2^-24 */
    const fs_u32 usual = (rest << 13) + (112u << 23), extreme = 0x7f800000u | (rest << 13);
    return fs_float((rest < 0x400u ? fs_bits(small) : rest >= 0x7c00u ? extreme : usual) | sign);
}
FS_FN fs_f16 fs_to_f16(float f)
{
    const fs_u32 u = fs_bits(f), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
    const fs_u32 usual = (a + 0xfffu + ((a >> 13) & 1u) - (112u << 23)) >> 13;
    const fs_u32 small = fs_bits(fs_float(a) + 0.5f) - 0x3f000000u; /* rounds at 2^-24 */
    return (fs_f16)(sign | (a > 0x7f800000u ? 0x7e00u : a >= 0x477ff000u ? 0x7c00u : a < 0x38800000u ? small : usual));
}
#endif
/* f8: e exponent and m mantissa bits, bias b. `top` is the code of the largest finite value; larger values become
 * `over`. */
FS_FN float fs_from_f8(fs_u32 h, int m, int bias, fs_u32 nan_from, fs_u32 infinity)
{
    const fs_u32 a = h & 0x7fu, sign = (h & 0x80u) << 24;
    const fs_u32 e = a >> m, f = a & ((1u << m) - 1u);
    const float unit = fs_float((fs_u32)(127 + 1 - bias - m) << 23); /* of a subnormal */
    const fs_u32 usual = ((e + (fs_u32)(127 - bias)) << 23) | (f << (23 - m));
    return fs_float((a == infinity   ? 0x7f800000u
                     : a >= nan_from ? 0x7fc00000u
                     : e == 0        ? fs_bits((float)f * unit)
                                     : usual) |
                    sign);
}
FS_FN fs_u32 fs_to_f8(float x, int m, int bias, fs_u32 top, fs_u32 over)
{
    const fs_u32 u = fs_bits(x), sign = (u >> 24) & 0x80u, a = u & 0x7fffffffu;
    const float unit = fs_float((fs_u32)(127 + 1 - bias - m) << 23), least = fs_float((fs_u32)(127 + 1 - bias) << 23);
    const int drop = 23 - m;
    const fs_u32 small = fs_bits(fs_float(a) * (1.0f / unit) + 8388608.0f) - fs_bits(8388608.0f);
    const fs_u32 usual = ((a + ((1u << (drop - 1)) - 1u) + ((a >> drop) & 1u)) >> drop) - ((fs_u32)(127 - bias) << m);
    const fs_u32 code = fs_float(a) < least ? small : usual;
    return sign | (a > 0x7f800000u ? 0x7fu : code > top ? over : code);
}
#if defined(FS_CUDA) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
/* By instructions, which convert pairs. What rounds to more than the largest value is `over`: they would take the
 * largest. */
#define FS_F8(name, format, fits, over)                                                                                \
    FS_FN float fs_from_##name(fs_##name h)                                                                            \
    {                                                                                                                  \
        fs_u32 pair;                                                                                                   \
        asm("cvt.rn.f16x2." format "x2 %0, %1;" : "=r"(pair) : "h"((fs_u16)h));                                        \
        return fs_from_f16((fs_f16)(pair & 0xffffu));                                                                  \
    }                                                                                                                  \
    FS_FN fs_##name fs_to_##name(float x)                                                                              \
    {                                                                                                                  \
        fs_u16 pair;                                                                                                   \
        const fs_u32 u = fs_bits(x), a = u & 0x7fffffffu;                                                              \
        asm("cvt.rn.satfinite." format "x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));                         \
        return (fs_##name)(a > 0x7f800000u ? ((u >> 24) & 0x80u) | 0x7fu                                               \
                           : fits          ? pair & 0xffu                                                              \
                                           : ((u >> 24) & 0x80u) | (over));                                                     \
    }
FS_F8(f8e4m3, "e4m3", fs_float(a) <= 464.0f, 0x7fu)
FS_F8(f8e5m2, "e5m2", fs_float(a) < 61440.0f, 0x7cu)
#else
FS_FN float fs_from_f8e4m3(fs_f8e4m3 h) { return fs_from_f8(h, 3, 7, 0x7fu, 0xffffffffu); }
FS_FN float fs_from_f8e5m2(fs_f8e5m2 h) { return fs_from_f8(h, 2, 15, 0x7du, 0x7cu); }
FS_FN fs_f8e4m3 fs_to_f8e4m3(float x) { return (fs_f8e4m3)fs_to_f8(x, 3, 7, 0x7eu, 0x7fu); }
FS_FN fs_f8e5m2 fs_to_f8e5m2(float x) { return (fs_f8e5m2)fs_to_f8(x, 2, 15, 0x7bu, 0x7cu); }
#endif

/* Functions, one for each C type: f float, d double, i int, l fs_i64. */
typedef float fs_type_f;
typedef double fs_type_d;
typedef int fs_type_i;
typedef fs_i64 fs_type_l;
#ifdef FS_CUDA
FS_FN float fs_maxf(float a, float b) { return fmaxf(a, b); }
FS_FN float fs_minf(float a, float b) { return fminf(a, b); }
#else
FS_FN float fs_maxf(float a, float b) { return a > b ? a : b; }
FS_FN float fs_minf(float a, float b) { return a < b ? a : b; }
#endif
FS_FN double fs_maxd(double a, double b) { return a > b ? a : b; }
FS_FN double fs_mind(double a, double b) { return a < b ? a : b; }
FS_FN int fs_maxi(int a, int b) { return a > b ? a : b; }
FS_FN int fs_mini(int a, int b) { return a < b ? a : b; }
FS_FN fs_i64 fs_maxl(fs_i64 a, fs_i64 b) { return a > b ? a : b; }
FS_FN fs_i64 fs_minl(fs_i64 a, fs_i64 b) { return a < b ? a : b; }
FS_FN float fs_absf(float x) { return fabsf(x); }
FS_FN double fs_absd(double x) { return fabs(x); }
FS_FN int fs_absi(int x) { return x < 0 ? -x : x; }
FS_FN fs_i64 fs_absl(fs_i64 x) { return x < 0 ? -x : x; }
FS_FN fs_i64 fs_powi(fs_i64 x, fs_i64 n)
{
    fs_i64 y = 1;
    for (fs_i64 i = 0; i < n; i++)
        y *= x;
    return y;
}
#if defined(FS_GPU)
FS_FN float fs_expf(float x) { return expf(x); }
FS_FN float fs_logf(float x) { return logf(x); }
FS_FN float fs_tanhf(float x) { return tanhf(x); }
FS_FN float fs_erff(float x) { return erff(x); }
FS_FN float fs_sinf(float x) { return sinf(x); }
FS_FN float fs_cosf(float x) { return cosf(x); }
FS_FN float fs_expm1f(float x) { return expm1f(x); }
FS_FN float fs_log1pf(float x) { return log1pf(x); }
FS_FN float fs_powf(float x, float y) { return powf(x, y); }
#else
/* For the host: without branches and tables, so that the compiler vectorises loops over them. Subnormals, infinities
 * and NaNs give what the C library gives. The polynomials minimise the largest relative error; their coefficients
 * are rounded to float. tests/unit/dialect_test.c checks the errors over all exponents against double precision. */
FS_FN float fs_power_of_two(int n) { return fs_float((fs_u32)(n + 127) << 23); } /* -126 <= n <= 127 */
FS_FN float fs_sign_of(float sign, float x)
{
    return fs_float((fs_bits(sign) & 0x80000000u) | (fs_bits(x) & 0x7fffffffu));
}
/* a = n ln 2 + r, n whole, |r| <= ln 2 / 2; returns e^r - 1 = r + r^2 p(r), p to 5e-9. |a| < 1e4. */
FS_FN float fs_exp_part(float a, int *whole)
{
    const float n = (a * 1.44269504f + 12582912.0f) - 12582912.0f;
    const float r = (a - n * 0.693359375f) + n * 2.12194440e-4f;
    *whole = (int)n;
    return r +
           r * r * (0.49999994f + r * (0.166665196f + r * (0.0416683927f + r * (0.00836875103f + r * 0.00138144754f))));
}
FS_FN float fs_expf(float x) /* 1 ulp */
{
    int n;
    const float q = fs_exp_part(!(x > -105.0f) ? -105.0f
                                : x > 89.0f    ? 89.0f
                                               : x,
                                &n),
                y = (q + 1.0f) * fs_power_of_two(n >> 1) * fs_power_of_two(n - (n >> 1));
    return x != x ? x : y;
}
FS_FN float fs_expm1f(float x) /* 1.5 ulp */
{
    int n;
    const float q = fs_exp_part(!(x > -30.0f) ? -30.0f
                                : x > 89.0f   ? 89.0f
                                              : x,
                                &n),
                half = fs_power_of_two(n - 1), y = (half * q + (half - 0.5f)) * 2.0f;
    return x != x ? x : y;
}
/* x = m 2^k, m in [sqrt(1/2), sqrt(2)); ln(1 + f) = f - f^2 / 2 + f^3 p(f), p to 8e-9. */
FS_FN float fs_logf(float x) /* 1 ulp */
{
    const int tiny = x < 1.17549435e-38f;
    const fs_u32 u = fs_bits(tiny ? x * 8388608.0f : x) - 0x3f3504f3u;
    const float k = (float)((int)u >> 23) - (tiny ? 23.0f : 0.0f), f = fs_float((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    const float p = 0.333333313f +
                    f * (-0.250008225f +
                         f * (0.200012252f +
                              f * (-0.166233525f +
                                   f * (0.142017841f + f * (-0.131602556f + f * (0.1276142f + f * -0.0763410777f))))));
    const float y = (f - (0.5f * f * f - (f * f * f * p - k * 2.12194440e-4f))) + k * 0.693359375f;
    return x > 3.4028234e38f ? x : x > 0 ? y : x == 0 ? -FS_INFf : x - x + fs_float(0x7fc00000u);
}
FS_FN float fs_log1pf(float x) /* 1.5 ulp: what rounding 1 + x lost comes back as its share of 1 + x */
{
    const float u = 1.0f + x, y = fs_logf(u);
    return u > 0 && u < FS_INFf ? y + (x - (u - 1.0f)) / u : y;
}
FS_FN float fs_tanhf(float x) /* 2 ulp: q / (q + 2), q = e^2|x| - 1 */
{
    const float a = fs_float(fs_bits(x) & 0x7fffffffu), q = fs_expm1f(a < 10.0f ? a * 2.0f : 20.0f);
    return x != x ? x : fs_sign_of(x, q / (q + 2.0f));
}
/* |x| <= 1: x + x p(x^2), p to 4e-9; beyond: 1 - e^(-x p(x)), to 4e-9 up to 4, from where on it is 1. */
FS_FN float fs_erff(float x) /* 1.5 ulp */
{
    const float a = fs_float(fs_bits(x) & 0x7fffffffu), s = x * x, c = a < 4.0f ? a : 4.0f;
    const float near_0 =
        x + x * (0.128379166f +
                 s * (-0.37612626f +
                      s * (0.112835854f +
                           s * (-0.026853811f + s * (0.00518832682f + s * (-0.00080101873f + s * 7.85384109e-05f))))));
    const float t =
        c * (1.12866569f +
             c * (0.635081947f +
                  c * (0.106350742f +
                       c * (-0.0238594301f + c * (0.00368818571f + c * (-0.00033397993f + c * 1.23414775e-05f))))));
    return a <= 1.0f || x != x ? near_0 : fs_sign_of(x, 1.0f - fs_expf(-t));
}
/* x = n pi / 2 + r in double, pi / 2 in two parts: r exact to a float's precision for |x| < 1e6, beyond to 1e-16 |x|.
 */
FS_FN float fs_turned(float x, int quarter) /* sine of x + quarter pi / 2: 1.5 ulp */
{
    const double n = ((double)x * 0.63661977236758134 + 6755399441055744.0) - 6755399441055744.0,
                 fours = (n * 0.25 + 6755399441055744.0) - 6755399441055744.0;
    const float rest = (float)(((double)x - n * 1.57079632673412561417) - n * 6.07710050650619224932e-11),
                r = rest > 0.8f    ? 0.8f
                    : rest < -0.8f ? -0.8f
                                   : rest,
                s = r * r;
    const int q = (int)(rest == rest ? n - 4.0 * fours : 0.0) + quarter; /* a NaN is in no quadrant */
    const float sine =
        r + r * s * (-0.166666672f + s * (0.00833332911f + s * (-0.000198393085f + s * 2.71808221e-06f)));
    const float cosine = 1.0f - s * (0.5f - s * (0.0416666456f + s * (-0.0013887313f + s * 2.44327748e-05f)));
    const float y = q & 1 ? cosine : sine;
    return q & 2 ? -y : y;
}
FS_FN float fs_sinf(float x) { return fs_turned(x, 0); }
FS_FN float fs_cosf(float x) { return fs_turned(x, 1); }
/* 2^(y log2 |x|) in double: ln m = 2 atanh((m - 1) / (m + 1)) to 1e-12, e^f by its series to 1e-13. */
FS_FN float fs_powf(float x, float y) /* 1 ulp */
{
    const float a = fs_float(fs_bits(x) & 0x7fffffffu);
    const int tiny = a < 1.17549435e-38f;
    const fs_u32 u = fs_bits(tiny ? a * 8388608.0f : a) - 0x3f3504f3u;
    const double m = (double)fs_float((u & 0x7fffffu) + 0x3f3504f3u), s = (m - 1.0) / (m + 1.0), z = s * s;
    const double k = (double)((int)u >> 23) - (tiny ? 23.0 : 0.0);
    const double ln =
        s * (2.0 + z * (2.0 / 3 + z * (2.0 / 5 + z * (2.0 / 7 + z * (2.0 / 9 + z * (2.0 / 11 + z * (2.0 / 13)))))));
    const double log2_a = a > 3.4028234e38f || a == 0 ? (a == 0 ? -1e60 : 1e60) : k + ln * 1.4426950408889634,
                 exact = (double)y * log2_a;
    const double t = exact > 200.0    ? 200.0
                     : exact < -200.0 ? -200.0
                                      : exact,
                 n = (t + 6755399441055744.0) - 6755399441055744.0, f = (t - n) * 0.6931471805599453;
    const double e =
        1.0 +
        f * (1.0 + f * (1.0 / 2 +
                        f * (1.0 / 6 +
                             f * (1.0 / 24 +
                                  f * (1.0 / 120 +
                                       f * (1.0 / 720 + f * (1.0 / 5040 + f * (1.0 / 40320 + f * (1.0 / 362880)))))))));
    const int i = (int)(n == n ? n : 0.0);
    const float size = (float)(e * (double)fs_power_of_two(i >> 1) * (double)fs_power_of_two(i - (i >> 1)));
    const float w = fs_float(fs_bits(y) & 0x7fffffffu), half = w * 0.5f; /* beyond 2^24 every float is even */
    const float whole = w < 8388608.0f ? (w + 8388608.0f) - 8388608.0f : w,
                half_whole = half < 8388608.0f ? (half + 8388608.0f) - 8388608.0f : half;
    const int is_whole = whole == w, is_odd = is_whole && half_whole != half, negative = (fs_bits(x) >> 31) != 0;
    const float result = negative && a > 0 && a <= 3.4028235e38f && !is_whole ? fs_float(0x7fc00000u)
                         : negative && is_odd                                 ? -size
                                                                              : size;
    return y == 0 || x == 1.0f || (a == 1.0f && w == FS_INFf) ? 1.0f : x != x || y != y ? x + y : result;
}
#endif
FS_FN float fs_sqrtf(float x) { return sqrtf(x); }
#ifdef FS_CUDA
FS_FN float fs_rsqrtf(float x) { return rsqrtf(x); }
#else
FS_FN float fs_rsqrtf(float x) { return 1.0f / sqrtf(x); }
#endif
FS_FN float fs_sigmoidf(float x) { return 1.0f / (1.0f + fs_expf(-x)); }
FS_FN double fs_expd(double x) { return exp(x); }
FS_FN double fs_logd(double x) { return log(x); }
FS_FN double fs_tanhd(double x) { return tanh(x); }
FS_FN double fs_erfd(double x) { return erf(x); }
FS_FN double fs_sind(double x) { return sin(x); }
FS_FN double fs_cosd(double x) { return cos(x); }
#define FS_LIBRARY(name)                                                                                               \
    FS_FN float fs_##name##f(float x) { return name##f(x); }                                                           \
    FS_FN double fs_##name##d(double x) { return name(x); }
FS_LIBRARY(tan)
FS_LIBRARY(asin)
FS_LIBRARY(acos)
FS_LIBRARY(atan)
FS_LIBRARY(sinh)
FS_LIBRARY(cosh)
FS_LIBRARY(asinh)
FS_LIBRARY(acosh)
FS_LIBRARY(atanh)
FS_FN float fs_atan2f(float y, float x) { return atan2f(y, x); }
FS_FN double fs_atan2d(double y, double x) { return atan2(y, x); }
FS_FN double fs_powd(double x, double y) { return pow(x, y); }
FS_FN double fs_sqrtd(double x) { return sqrt(x); }
FS_FN double fs_rsqrtd(double x) { return 1.0 / sqrt(x); }
FS_FN double fs_expm1d(double x) { return expm1(x); }
FS_FN double fs_log1pd(double x) { return log1p(x); }
FS_FN double fs_sigmoidd(double x) { return 1.0 / (1.0 + exp(-x)); }

/* Whole numbers: rounding, and quotients. Of a division of integers by 0 the result is 0. */
FS_FN float fs_floorf(float x) { return floorf(x); }
FS_FN float fs_ceilf(float x) { return ceilf(x); }
FS_FN float fs_roundf(float x) { return rintf(x); }
FS_FN float fs_truncf(float x) { return truncf(x); }
FS_FN float fs_fmodf(float x, float y) { return fmodf(x, y); }
FS_FN double fs_floord(double x) { return floor(x); }
FS_FN double fs_ceild(double x) { return ceil(x); }
FS_FN double fs_roundd(double x) { return rint(x); }
FS_FN double fs_truncd(double x) { return trunc(x); }
FS_FN double fs_fmodd(double x, double y) { return fmod(x, y); }
#define FS_QUOTIENTS(s, type)                                                                                          \
    FS_FN type fs_floordiv##s(type x, type y) { return fs_floor##s(x / y); }                                           \
    FS_FN type fs_remainder##s(type x, type y)                                                                         \
    {                                                                                                                  \
        const type r = fs_fmod##s(x, y);                                                                               \
        return r != 0 && (r < 0) != (y < 0) ? r + y : r;                                                               \
    }
FS_QUOTIENTS(f, float)
FS_QUOTIENTS(d, double)
#define FS_WHOLE(s, type, wide)                                                                                        \
    FS_FN type fs_floor##s(type x) { return x; }                                                                       \
    FS_FN type fs_ceil##s(type x) { return x; }                                                                        \
    FS_FN type fs_round##s(type x) { return x; }                                                                       \
    FS_FN type fs_trunc##s(type x) { return x; }                                                                       \
    FS_FN type fs_fmod##s(type x, type y) { return y == 0 || y == -1 ? 0 : x % y; }                                    \
    FS_FN type fs_remainder##s(type x, type y)                                                                         \
    {                                                                                                                  \
        const type r = fs_fmod##s(x, y);                                                                               \
        return r != 0 && (r < 0) != (y < 0) ? r + y : r;                                                               \
    }                                                                                                                  \
    FS_FN type fs_floordiv##s(type x, type y)                                                                          \
    {                                                                                                                  \
        const type q = y == 0 ? 0 : y == -1 ? (type)(0 - (wide)x) : x / y;                                             \
        return fs_remainder##s(x, y) != fs_fmod##s(x, y) ? q - 1 : q;                                                  \
    }
FS_WHOLE(i, int, fs_u32)
FS_WHOLE(l, fs_i64, fs_u64)

/* Is the number infinite, or none? Integers are finite. */
FS_FN int fs_isinff(float x) { return x == FS_INFf || x == -FS_INFf; }
FS_FN int fs_isinfd(double x) { return x == FS_INFd || x == -FS_INFd; }
FS_FN int fs_isinfi(fs_i64 x) { return (void)x, 0; }
FS_FN int fs_isnanf(float x) { return x != x; }
FS_FN int fs_isnand(double x) { return x != x; }
FS_FN int fs_isnani(fs_i64 x) { return (void)x, 0; }
/* Weight of a neighbour at this distance in cubic interpolation with A = -0.75, PyTorch's. */
#define FS_CUBIC(s, type)                                                                                              \
    FS_FN type fs_cubic##s(type x)                                                                                     \
    {                                                                                                                  \
        const type d = fs_abs##s(x), a = (type)-0.75;                                                                  \
        return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;               \
    }
FS_CUBIC(f, float)
FS_CUBIC(d, double)
/* Shifts: by more bits than there are, all are lost, or become the sign. */
#define FS_SHIFTS(s, type, wide, bits)                                                                                 \
    FS_FN type fs_shl##s(type x, type n) { return n < 0 || n >= bits ? 0 : (type)((wide)x << n); }                     \
    FS_FN type fs_shr##s(type x, type n) { return x >> (n < 0 || n >= bits ? bits - 1 : n); }
FS_SHIFTS(i, int, fs_u32, 32)
FS_SHIFTS(l, fs_i64, fs_u64, 64)

/* Adds to an element in memory that other threads may add to at the same time. Types without an instruction for that
 * exchange the word of 4 or 8 bytes around the element until nobody else has changed it. */
#ifdef FS_CUDA
FS_FN fs_u32 fs_exchange_32(fs_u32 *at, fs_u32 old, fs_u32 now) { return atomicCAS(at, old, now); }
FS_FN void fs_add_f32(float *at, float x) { atomicAdd(at, x); }
FS_FN void fs_add_f64(double *at, double x) { atomicAdd(at, x); }
FS_FN void fs_add_i32(fs_i32 *at, int x) { atomicAdd(at, x); }
FS_FN void fs_add_i64(fs_i64 *at, fs_i64 x) { atomicAdd((fs_u64 *)at, (fs_u64)x); }
#else
FS_FN fs_u32 fs_exchange_32(fs_u32 *at, fs_u32 old, fs_u32 now)
{
    __atomic_compare_exchange_n(at, &old, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return old;
}
FS_FN void fs_add_i32(fs_i32 *at, int x) { __atomic_fetch_add((fs_u32 *)at, (fs_u32)x, __ATOMIC_RELAXED); }
FS_FN void fs_add_i64(fs_i64 *at, fs_i64 x) { __atomic_fetch_add((fs_u64 *)at, (fs_u64)x, __ATOMIC_RELAXED); }
FS_FN void fs_add_f32(float *at, float x)
{
    float old = *at, now = old + x;
    while (!__atomic_compare_exchange(at, &old, &now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        now = old + x;
}
FS_FN void fs_add_f64(double *at, double x)
{
    double old = *at, now = old + x;
    while (!__atomic_compare_exchange(at, &old, &now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        now = old + x;
}
#endif
/* e8m0: 2 to the code less 127, NaN at 255; rounds to the nearest power, half way up. Signs are dropped. */
FS_FN float fs_from_f8e8m0(fs_f8e8m0 h)
{
    return fs_float(h == 255u ? 0x7fc00000u : h == 0 ? 0x00400000u : (fs_u32)h << 23);
}
FS_FN fs_f8e8m0 fs_to_f8e8m0(float x)
{
    const fs_u32 a = fs_bits(x) & 0x7fffffffu, code = (a + 0x400000u) >> 23;
    return (fs_f8e8m0)(a >= 0x7f800000u ? 255u : code > 254u ? 254u : a < 0x600000u ? 0u : code);
}
/* e2m1, a sign and 0 0.5 1 1.5 2 3 4 6: rounds to even, what is beyond 6 becomes 6. */
FS_FN float fs_from_f4(int code)
{
    const fs_u32 a = (fs_u32)code & 7u;
    return fs_float((a < 2u ? a * 0x3f000000u : (a << 22) + (126u << 23)) | ((fs_u32)code & 8u) << 28);
}
FS_FN int fs_to_f4(float x)
{
    const float a = fs_float(fs_bits(x) & 0x7fffffffu);
    const int code = (a > 0.25f) + (a >= 0.75f) + (a > 1.25f) + (a >= 1.75f) + (a > 2.5f) + (a >= 3.5f) + !(a <= 5.0f);
    return code | (int)(fs_bits(x) >> 28 & 8u);
}
#define FS_ADD_NARROW(name, type, bits, value, from, to)                                                               \
    FS_FN void fs_add_##name(type *at, value x)                                                                        \
    {                                                                                                                  \
        fs_u32 *word = (fs_u32 *)((char *)at - ((size_t)at & 3)), seen = *word, old;                                   \
        const fs_u32 shift = (fs_u32)((size_t)at & 3) * 8, mask = ((1u << bits) - 1u) << shift;                        \
        do {                                                                                                           \
            old = seen;                                                                                                \
            const type now = (type)to(from((type)(old >> shift)) + x);                                                 \
            seen = fs_exchange_32(word, old, (old & ~mask) | (((fs_u32)now << shift) & mask));                         \
        } while (seen != old);                                                                                         \
    }
FS_ADD_NARROW(f16, fs_f16, 16, float, fs_from_f16, fs_to_f16)
FS_ADD_NARROW(bf16, fs_bf16, 16, float, fs_from_bf16, fs_to_bf16)
FS_ADD_NARROW(f8e4m3, fs_f8e4m3, 8, float, fs_from_f8e4m3, fs_to_f8e4m3)
FS_ADD_NARROW(f8e5m2, fs_f8e5m2, 8, float, fs_from_f8e5m2, fs_to_f8e5m2)
FS_ADD_NARROW(f8e8m0, fs_f8e8m0, 8, float, fs_from_f8e8m0, fs_to_f8e8m0)
FS_ADD_NARROW(i16, fs_i16, 16, int, , )
FS_ADD_NARROW(i8, fs_i8, 8, int, , )
FS_ADD_NARROW(u8, fs_u8, 8, int, , )
FS_FN void fs_add_bool(fs_bool *at, int x)
{
    if (x)
        *at = 1;
}

/* Two dependent reductions in one pass. exp: the largest x so far, and the sum of e^(x - largest), which is rescaled
 * whenever the largest grows. moments: the mean of n elements, and q, the sum of their squared deviations from it.
 * take: adds an element; merge: adds another part of the row. */
#define FS_ONLINE(s, type, one)                                                                                        \
    FS_FN void fs_take_exp_##s(type *largest, type *sum, type x)                                                       \
    {                                                                                                                  \
        const type d = x == *largest ? 0 : x - *largest, e = fs_exp##s(-fs_abs##s(d));                                 \
        *sum = d > 0 ? *sum * e + one : *sum + e;                                                                      \
        *largest = fs_max##s(*largest, x);                                                                             \
    }                                                                                                                  \
    FS_FN type fs_rescale_##s(type from, type to) { return from == to ? one : fs_exp##s(from - to); }                  \
    FS_FN void fs_merge_exp_##s(type *largest, type *sum, type x, type y)                                              \
    {                                                                                                                  \
        const type all = fs_max##s(*largest, x);                                                                       \
        *sum = *sum * fs_rescale_##s(*largest, all) + y * fs_rescale_##s(x, all);                                      \
        *largest = all;                                                                                                \
    }                                                                                                                  \
    FS_FN void fs_take_moments_##s(type *n, type *mean, type *q, type x)                                               \
    {                                                                                                                  \
        const type d = x - *mean;                                                                                      \
        *n += one;                                                                                                     \
        *mean += d / *n;                                                                                               \
        *q += d * (x - *mean);                                                                                         \
    }                                                                                                                  \
    FS_FN void fs_merge_moments_##s(type *n, type *mean, type *q, type m, type x, type y)                              \
    {                                                                                                                  \
        const type all = *n + m, share = all > 0 ? m / all : 0, d = x - *mean;                                         \
        *q += y + d * d * *n * share;                                                                                  \
        *mean += d * share;                                                                                            \
        *n = all;                                                                                                      \
    }
FS_ONLINE(f, float, 1.0f)
FS_ONLINE(d, double, 1.0)

/* Dropout: is element i kept with probability 1 - p? SplitMix64 of its number. */
FS_FN int fs_keeps(fs_i64 i, float p)
{
    fs_u64 z = ((fs_u64)i + 1u) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    return (float)(int)(z >> 40) * 5.9604644775390625e-8f >= p;
}
