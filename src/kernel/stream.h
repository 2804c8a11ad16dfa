/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h: how threads share the points of a streaming kernel. */
#ifndef FUSESIM_KERNEL_STREAM_H
#define FUSESIM_KERNEL_STREAM_H

#include <stdint.h>

enum {
    FSIM_BLOCK = 256,        /* threads of a streaming block */
    FSIM_TRANSPOSE_TILE = 32 /* rows and columns of the tile, in shared memory, that turns a strided side around */
};

/* Elements that a thread of a block of `block` takes, where the price has four and the widest tensor's elements take
 * elem_bytes: more of small ones, up to 16 bytes, as long as every SM gets 16 blocks. What is in flight hides latency.
 * `vector` where that is not 4, or where `inner`, the neighbouring points, don't divide by more. */
int fsim_stream_vector(int vector, int elem_bytes, int64_t points, int64_t inner, int block, double sms);

#endif
