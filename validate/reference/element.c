/* SPDX-License-Identifier: Apache-2.0 */
/* element.c: elements of all dtypes as bits, without a compiler's or a GPU's own types; and dropout's generator. */
#include "validate/reference/element.h"

#include <math.h>
#include <string.h>

/* A float format with a sign, an exponent and `man` mantissa bits. A code is its bits without the sign. emin:
 * exponent of the smallest normal number. */
typedef struct {
    int man, emin;
    uint32_t most, over, nan, sign; /* codes of the largest finite number, of overflow, of NaN; the bit of the sign */
} format;

static const format *format_of(fsim_dtype t)
{
    static const format f16 = {10, -14, 0x7bff, 0x7c00, 0x7e00, 0x8000},
                        bf16 = {7, -126, 0x7f7f, 0x7f80, 0x7fc0, 0x8000};
    static const format e4m3 = {3, -6, 0x7e, 0x7f, 0x7f, 0x80}; /* OCP's FN: no infinity; overflow is NaN */
    static const format e5m2 = {2, -14, 0x7b, 0x7c, 0x7e, 0x80};
    return t == FSIM_F16 ? &f16 : t == FSIM_BF16 ? &bf16 : t == FSIM_F8E4M3 ? &e4m3 : &e5m2;
}

/* 2 to the code less 127: to the nearest power, half way up. */
static uint32_t encode_power(double v)
{
    int e;
    if (!isfinite(v))
        return 255;
    if (v == 0)
        return 0;
    const int code = (frexp(fabs(v), &e) < 0.75 ? e - 1 : e) + 127; /* |v| is 0.5 to 1 times 2^e */
    return (uint32_t)(code < 0 ? 0 : code > 254 ? 254 : code);
}

static uint32_t encode(const format *f, double v)
{
    const uint32_t sign = signbit(v) ? f->sign : 0;
    const double a = fabs(v);
    int e;
    if (isnan(v))
        return f->nan | sign;
    if (isinf(v))
        return f->over | sign;
    if (a == 0)
        return sign;
    frexp(a, &e);
    e = e - 1 < f->emin ? f->emin : e - 1;
    /* nearbyint rounds to even; a carry into the exponent is correct as an addition */
    const uint32_t code = ((uint32_t)(e - f->emin) << f->man) + (uint32_t)nearbyint(ldexp(a, f->man - e));
    return (code > f->most ? f->over : code) | sign;
}

static double decode(const format *f, uint32_t bits)
{
    const uint32_t code = bits & (f->sign - 1);
    const int e = (int)(code >> f->man), m = (int)(code & ((1u << f->man) - 1));
    const double a = code > f->over || (code == f->over && f->over == f->nan) ? NAN
                     : code == f->over                                        ? INFINITY
                     : e == 0                                                 ? ldexp(m, f->emin - f->man)
                              : ldexp(m + (1 << f->man), e - 1 + f->emin - f->man);
    return bits & f->sign ? -a : a;
}

/* Truncates, modulo 2^64; NaN and infinities become 0. */
static uint64_t whole(double v)
{
    const double t = isfinite(v) ? fmod(trunc(v), 0x1p64) : 0, a = fabs(t);
    const uint64_t u = (uint64_t)a;
    return t < 0 ? 0 - u : u;
}

double fsim_element(fsim_dtype t, const void *bytes, int64_t i)
{
    const char *p = (const char *)bytes + i * fsim_dtype_bytes(t);
    float f32;
    double f64;
    uint64_t u = 0;
    memcpy(&u, p, (size_t)fsim_dtype_bytes(t)); /* little-endian, like every supported device */
    switch (t) {
    case FSIM_F64:
        memcpy(&f64, p, sizeof f64);
        return f64;
    case FSIM_F32:
        memcpy(&f32, p, sizeof f32);
        return f32;
    case FSIM_F16:
    case FSIM_BF16:
    case FSIM_F8E4M3:
    case FSIM_F8E5M2:
        return decode(format_of(t), (uint32_t)u);
    case FSIM_F8E8M0:
        return u == 255 ? NAN : ldexp(1, (int)u - 127);
    case FSIM_I64:
        return (double)(int64_t)u;
    case FSIM_I32:
        return (int32_t)u;
    case FSIM_I16:
        return (int16_t)u;
    case FSIM_I8:
        return (int8_t)u;
    case FSIM_U8:
    case FSIM_F4E2M1: /* the byte that holds two */
    case FSIM_I4:
        return (double)u;
    default:
        return u != 0;
    }
}

void fsim_set_element(fsim_dtype t, void *bytes, int64_t i, double value)
{
    char *p = (char *)bytes + i * fsim_dtype_bytes(t);
    const float f32 = (float)value;
    uint64_t u;
    switch (t) {
    case FSIM_F64:
        memcpy(&u, &value, sizeof value);
        break;
    case FSIM_F32:
        u = 0;
        memcpy(&u, &f32, sizeof f32);
        break;
    case FSIM_F16:
    case FSIM_BF16:
    case FSIM_F8E4M3:
    case FSIM_F8E5M2:
        u = encode(format_of(t), value);
        break;
    case FSIM_F8E8M0:
        u = encode_power(value);
        break;
    case FSIM_BOOL:
        u = value != 0;
        break;
    default:
        u = whole(value);
        break;
    }
    memcpy(p, &u, (size_t)fsim_dtype_bytes(t));
}

bool fsim_dropout_keeps(int64_t i, double p)
{
    uint64_t z = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (float)(z >> 40) * 0x1p-24f >= (float)p;
}
