/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/stream.h"

int fsim_stream_vector(int vector, int elem_bytes, int64_t points, int64_t inner, int block, double sms)
{
    enum { USUAL = 4, ACCESS_BYTES = 16, BLOCKS_AN_SM = 16 };
    int v = vector;
    if (v == USUAL)
        while (v * elem_bytes < ACCESS_BYTES && inner % (v * 2) == 0 &&
               (double)points / (block * v * 2) >= BLOCKS_AN_SM * sms)
            v *= 2;
    return v;
}
