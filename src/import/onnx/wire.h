/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h: protocol buffers as bytes: a message's fields, one after the other. */
#ifndef FUSESIM_IMPORT_ONNX_WIRE_H
#define FUSESIM_IMPORT_ONNX_WIRE_H

#include "import/onnx/strings.h"

/* Wire types. */
enum { FSIM_WIRE_VARINT, FSIM_WIRE_FIXED64, FSIM_WIRE_LENGTH, FSIM_WIRE_FIXED32 = 5 };

/* A file that is read, and what is wrong with it. */
typedef struct {
    fsim_arena *a;      /* of `why` */
    const uint8_t *now; /* the newest field */
    const char *why;    /* the first fault; NULL: none */
    const uint8_t *bad; /* where it is */
} fsim_wire;

/* Notes a fault at a place, unless there was one; returns false. */
bool fsim_wire_fail(fsim_wire *w, const uint8_t *at, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The parts of a message. One that should occur once but occurs several times is read as all of them, one behind the
 * other: so protocol buffers define it. */
typedef struct {
    const fsim_onnx_span *part;
    int64_t parts;
    fsim_onnx_span now; /* what is left of the part before */
} fsim_wire_message;

/* A field. bytes: its value, without the length; of a varint and a fixed number, the number's own. */
typedef struct {
    uint32_t number; /* not 0 */
    int type;        /* FSIM_WIRE_LENGTH etc. */
    uint64_t value;  /* of a varint */
    fsim_onnx_span bytes;
    const uint8_t *at; /* where it begins */
} fsim_wire_field;

/* Takes the next field from m. False at the end, and where it is damaged: then w->why is set. */
bool fsim_wire_next(fsim_wire *w, fsim_wire_message *m, fsim_wire_field *f);
/* Takes a number of 7 bits a byte, the lowest first, from `in`. False with w->why set. */
bool fsim_wire_long_varint(fsim_wire *w, fsim_onnx_span *in, uint64_t *value);
/* The same; most have one byte. */
static inline bool fsim_wire_varint(fsim_wire *w, fsim_onnx_span *in, uint64_t *value)
{
    if (in->at == in->end || *in->at >= 0x80)
        return fsim_wire_long_varint(w, in, value);
    *value = *in->at++;
    return true;
}

#endif
