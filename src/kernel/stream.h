/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h: how threads share the points of a streaming kernel. */
#ifndef FUSESIM_KERNEL_STREAM_H
#define FUSESIM_KERNEL_STREAM_H

#include <stdint.h>

enum {
    FSIM_BLOCK = 256, /* threads of a streaming block */
    FSIM_TRANSPOSE_TILE =
        32 /* rows and columns of the tile in shared memory that makes accesses to a strided side contiguous */
};

/* Elements for each thread of a block of `block`, where the price assumes four and the widest tensor has elements of
 * elem_bytes: more if elements are small, up to 16 bytes, while every SM still gets 16 blocks. Bytes in flight hide
 * latency. Returns `vector` where that is not 4, or where `inner`, the number of neighbouring points, is not
 * divisible by more. */
int fsim_stream_vector(int vector, int elem_bytes, int64_t points, int64_t inner, int block, double sms);

#endif
