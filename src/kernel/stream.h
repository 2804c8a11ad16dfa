/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h: how threads share the points of a streaming kernel. */
#ifndef FUSESIM_KERNEL_STREAM_H
#define FUSESIM_KERNEL_STREAM_H

#include <stdint.h>

enum {
    FSIM_BLOCK = 256,        /* threads of a block */
    FSIM_TRANSPOSE_TILE = 32 /* rows and columns of the transposing tile in shared memory */
};

/* Elements that each thread of a block of `block` threads takes. The price asks for `vector`. Where that is four,
 * small elements (the widest tensor has elem_bytes) get more, up to 16 bytes, while every SM still gets 16 blocks:
 * bytes in flight hide latency. `inner`, the number of neighbouring points, must be divisible; otherwise `vector` is
 * returned. */
int fsim_stream_vector(int vector, int elem_bytes, int64_t points, int64_t inner, int block, double sms);

#endif
