/* SPDX-License-Identifier: Apache-2.0 */
/* protobuf.h: writes protocol buffers, for tests that make ONNX files. Inner messages are written first and then put
 * into the outer one. */
#ifndef FUSESIM_TESTS_PROTOBUF_H
#define FUSESIM_TESTS_PROTOBUF_H

#include "base/arena.h"

#include <stdint.h>
#include <string.h>

typedef struct {
    fsim_arena *a;
    char *at;
    size_t bytes, room;
} pb;

static inline void pb_raw(pb *p, const void *bytes, size_t count)
{
    if (p->bytes + count > p->room) {
        p->room = 2 * (p->bytes + count);
        char *to = fsim_alloc(p->a, p->room, 1);
        if (p->bytes)
            memcpy(to, p->at, p->bytes);
        p->at = to;
    }
    if (count)
        memcpy(p->at + p->bytes, bytes, count);
    p->bytes += count;
}

static inline void pb_varint(pb *p, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        pb_raw(p, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
    pb_raw(p, &(uint8_t){(uint8_t)value}, 1);
}

static inline void pb_tag(pb *p, unsigned number, unsigned wire) { pb_varint(p, number << 3 | wire); }

static inline void pb_int(pb *p, unsigned number, int64_t value)
{
    pb_tag(p, number, 0);
    pb_varint(p, (uint64_t)value);
}

static inline void pb_bytes(pb *p, unsigned number, const void *bytes, size_t count)
{
    pb_tag(p, number, 2);
    pb_varint(p, count);
    pb_raw(p, bytes, count);
}

static inline void pb_text(pb *p, unsigned number, const char *text) { pb_bytes(p, number, text, strlen(text)); }

static inline void pb_message(pb *p, unsigned number, const pb *inner) { pb_bytes(p, number, inner->at, inner->bytes); }

static inline void pb_float(pb *p, unsigned number, float value)
{
    pb_tag(p, number, 5);
    pb_raw(p, &value, sizeof value);
}

static inline void pb_double(pb *p, unsigned number, double value)
{
    pb_tag(p, number, 1);
    pb_raw(p, &value, sizeof value);
}

#endif
