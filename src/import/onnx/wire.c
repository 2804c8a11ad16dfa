/* SPDX-License-Identifier: Apache-2.0 */
#include "import/onnx/wire.h"

#include <stdarg.h>

bool fsim_wire_fail(fsim_wire *w, const uint8_t *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!w->why) {
        w->why = fsim_vprintf(w->a, format, args);
        w->bad = at;
    }
    va_end(args);
    return false;
}

bool fsim_wire_long_varint(fsim_wire *w, fsim_onnx_span *in, uint64_t *value)
{
    const uint8_t *from = in->at;
    *value = 0;
    for (int shift = 0; in->at < in->end; shift += 7) {
        const uint8_t byte = *in->at++;
        if (shift == 63 && byte > 1)
            return fsim_wire_fail(w, from, "a number is longer than 64 bits");
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return fsim_wire_fail(w, from, "the file ends, or the message does, inside a number");
}

static bool fixed(fsim_wire *w, fsim_onnx_span *in, size_t bytes, fsim_wire_field *f)
{
    if ((size_t)(in->end - in->at) < bytes)
        return fsim_wire_fail(w, f->at, "the file ends, or the message does, inside a number of %zu bytes", bytes);
    f->bytes = (fsim_onnx_span){in->at, in->at + bytes};
    in->at += bytes;
    return true;
}

static bool length(fsim_wire *w, fsim_onnx_span *in, fsim_wire_field *f)
{
    uint64_t bytes;
    if (!fsim_wire_varint(w, in, &bytes))
        return false;
    const size_t left = (size_t)(in->end - in->at);
    if (bytes > left)
        return fsim_wire_fail(w, f->at, "a field of %llu bytes, but only %zu are left: cut short or damaged",
                              (unsigned long long)bytes, left);
    return fixed(w, in, (size_t)bytes, f);
}

/* The next field. */
static bool next(fsim_wire *w, fsim_onnx_span *in, fsim_wire_field *f)
{
    uint64_t tag;
    w->now = f->at = in->at;
    if (!fsim_wire_varint(w, in, &tag))
        return false;
    f->number = (uint32_t)(tag >> 3);
    f->type = (int)(tag & 7);
    f->bytes.at = in->at;
    if (tag > UINT32_MAX || f->number == 0)
        return fsim_wire_fail(w, f->at, "a field without a number: not an ONNX model, or damaged");
    switch (f->type) {
    case FSIM_WIRE_VARINT:
        if (!fsim_wire_varint(w, in, &f->value))
            return false;
        f->bytes.end = in->at;
        return true;
    case FSIM_WIRE_FIXED64:
        return fixed(w, in, 8, f);
    case FSIM_WIRE_FIXED32:
        return fixed(w, in, 4, f);
    case FSIM_WIRE_LENGTH:
        return length(w, in, f);
    default:
        return fsim_wire_fail(w, f->at, "field %u is of wire type %d, which ONNX does not use: damaged", f->number,
                              f->type);
    }
}

bool fsim_wire_next(fsim_wire *w, fsim_wire_message *m, fsim_wire_field *f)
{
    while (m->now.at == m->now.end) {
        if (m->parts == 0)
            return false;
        m->now = *m->part++;
        m->parts--;
    }
    return next(w, &m->now, f);
}
