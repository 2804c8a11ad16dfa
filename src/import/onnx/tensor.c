/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c: values of ONNX tensors, read from the file's memory when asked for. They are in raw_data, little-endian and
 * packed; or in the field that element.def names for their type, in which small integers and the bits of 16-bit floats
 * are numbers of 32. */
#include "import/onnx/proto.h"

#include <math.h>
#include <string.h>

enum { FLOAT_DATA = 4, INT32_DATA = 5, INT64_DATA = 7, RAW_DATA = 9, DOUBLE_DATA = 10, UINT64_DATA = 11 };
typedef enum { NONE, INT, UINT, FLOAT, BFLOAT, OTHER } form;

typedef struct {
    fsim_dtype dtype;
    int bits;
    form form;
    int field;
} element;

static const element elements[] = {
#define FSIM_ONNX_ELEMENT(id, number, dtype, bits, form, field) [number] = {dtype, bits, form, field},
#include "import/onnx/element.def"
#undef FSIM_ONNX_ELEMENT
};

static const element *element_of(int type)
{
    static const element none = {FSIM_DTYPE_NONE, 0, NONE, 0};
    const bool known = type >= 0 && type < (int)(sizeof elements / sizeof *elements) && elements[type].form;
    return known ? &elements[type] : &none;
}

fsim_dtype fsim_onnx_element_dtype(int type) { return element_of(type)->dtype; }
int fsim_onnx_element_bits(int type) { return element_of(type)->bits; }

const fsim_onnx_attribute *fsim_onnx_find(const fsim_onnx_node *node, const char *name)
{
    for (int i = 0; i < node->attributes; i++)
        if (strcmp(node->attribute[i].name, name) == 0)
            return &node->attribute[i];
    return NULL;
}

/* A walk over a tensor's values. Each has `unit` bits of its own in a piece of memory; 0: it is a varint. */
typedef struct {
    const fsim_onnx_data *data;
    int datas, field, unit, bits;
    const uint8_t *at, *end;
    int nibbles;   /* elements of 4 bits that are left of the last byte */
    uint64_t rest; /* and they */
} walk;

/* The field that holds the values, and its newest piece only where it is raw_data, which occurs once. False where they
 * are not in the file. */
static bool begin(const fsim_onnx_tensor *t, const element *e, walk *w)
{
    *w = (walk){.data = t->data, .datas = t->datas, .field = e->field, .bits = e->bits};
    for (int i = 0; i < t->datas; i++)
        if (t->data[i].field == RAW_DATA) {
            w->data = &t->data[i];
            w->datas = 1;
            w->field = RAW_DATA;
        }
    w->unit = w->field == RAW_DATA      ? e->bits < 8 ? 8 : e->bits
              : w->field == FLOAT_DATA  ? 32
              : w->field == DOUBLE_DATA ? 64
                                        : 0;
    return !t->external && (e->form == INT || e->form == UINT || e->form == FLOAT || e->form == BFLOAT);
}

static bool more(walk *w)
{
    while (w->at == w->end) {
        while (w->datas && w->data->field != w->field) {
            w->data++;
            w->datas--;
        }
        if (w->datas == 0)
            return false;
        w->at = w->data->at;
        w->end = w->at + w->data->bytes;
        w->data++;
        w->datas--;
    }
    return true;
}

static bool varint(walk *w, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; w->at < w->end && shift < 64; shift += 7) {
        const uint8_t byte = *w->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool unit(walk *w, uint64_t *value)
{
    if (!more(w))
        return false;
    if (w->unit == 0)
        return varint(w, value);
    const size_t bytes = (size_t)w->unit / 8;
    if ((size_t)(w->end - w->at) < bytes)
        return false;
    *value = 0;
    for (size_t i = 0; i < bytes; i++)
        *value |= (uint64_t)w->at[i] << 8 * i;
    w->at += bytes;
    return true;
}

/* The bits of the next value. Two elements of 4 bits share a byte, or a number of int32_data. */
static bool next(walk *w, uint64_t *bits)
{
    if (w->bits >= 8)
        return unit(w, bits);
    if (w->nibbles == 0) {
        if (!unit(w, &w->rest))
            return false;
        w->nibbles = 8 / w->bits;
    }
    *bits = w->rest & ((1u << w->bits) - 1);
    w->rest >>= w->bits;
    w->nibbles--;
    return true;
}

static int64_t integer_of(const element *e, uint64_t bits)
{
    const uint64_t mask = e->bits < 64 ? ((uint64_t)1 << e->bits) - 1 : UINT64_MAX;
    bits &= mask;
    if (e->form == UINT)
        return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
    const uint64_t sign = (uint64_t)1 << (e->bits - 1);
    return (int64_t)((bits ^ sign) - sign);
}

static double half_of(uint64_t bits)
{
    const int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    const double value = exponent == 31  ? fraction ? (double)NAN : (double)INFINITY
                         : exponent == 0 ? ldexp(fraction, -24)
                                         : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 & 1 ? -value : value;
}

static double float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static double number_of(const element *e, uint64_t bits)
{
    double value;
    if (e->form == BFLOAT)
        return float_of((uint32_t)bits << 16);
    if (e->form != FLOAT)
        return e->form == UINT && e->bits == 64 ? (double)bits : (double)integer_of(e, bits);
    if (e->bits == 16)
        return half_of(bits);
    if (e->bits == 32)
        return float_of((uint32_t)bits);
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool fsim_onnx_integers(const fsim_onnx_tensor *t, int64_t count, int64_t *out)
{
    const element *e = element_of(t->type);
    walk w;
    uint64_t bits;
    if (!begin(t, e, &w) || (e->form != INT && e->form != UINT) || count > t->elems)
        return false;
    for (int64_t i = 0; i < count; i++) {
        if (!next(&w, &bits))
            return false;
        out[i] = integer_of(e, bits);
    }
    return true;
}

bool fsim_onnx_numbers(const fsim_onnx_tensor *t, int64_t count, double *out)
{
    const element *e = element_of(t->type);
    walk w;
    uint64_t bits;
    if (!begin(t, e, &w) || count > t->elems)
        return false;
    for (int64_t i = 0; i < count; i++) {
        if (!next(&w, &bits))
            return false;
        out[i] = number_of(e, bits);
    }
    return true;
}
