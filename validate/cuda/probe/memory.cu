/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of memory. x, y: tensors; n[0]: elements of 16 bytes; n[1]: turns. Plain CUDA without headers; emulated, as in tests, a kernel is only seen to read and write what it does, and tests make up
 * its time. */
#ifdef FS_EMULATED

#define MEMORY(name, does)                                                                                                                          \
    FS_IDLE_BUT(name, 1, 1)                                                                                                                         \
    void name(void **params)                                                                                                                        \
    {                                                                                                                                               \
        const unsigned *x = *(const unsigned **)params[0];                                                                                          \
        unsigned *y = *(unsigned **)params[1];                                                                                                      \
        const unsigned *n = *(const unsigned **)params[2];                                                                                          \
        (void)x, (void)y, (void)n;                                                                                                                  \
        if (fs_block() == 0 && fs_thread() == 0)                                                                                                    \
            does;                                                                                                                                   \
    }
MEMORY(probe_copy, y[0] = x[0] ^ 1)
MEMORY(probe_scale, y[0] = x[0] ^ 2)
MEMORY(probe_write, y[0] = 3)
MEMORY(probe_read, (void)0)
MEMORY(probe_l2, (void)0)
MEMORY(probe_chase, (void)0)

#else

typedef unsigned long long u64;
#define MEMORY(name) extern "C" __global__ void __launch_bounds__(256) name(const uint4 *x, uint4 *y, const u64 *n)
#define ELEMENT const u64 i = blockIdx.x * 256ull + threadIdx.x

MEMORY(probe_copy)
{
    ELEMENT;
    if (i < n[0])
        y[i] = x[i];
}

MEMORY(probe_scale)
{
    ELEMENT;
    if (i < n[0]) {
        const float4 v = ((const float4 *)x)[i];
        ((float4 *)y)[i] = make_float4(0.5f * v.x, 0.5f * v.y, 0.5f * v.z, 0.5f * v.w);
    }
}

MEMORY(probe_write)
{
    ELEMENT;
    const unsigned v = (unsigned)i;
    if (i < n[0])
        y[i] = make_uint4(v, v + 1, v + 2, v + 3);
}

MEMORY(probe_read)
{
    ELEMENT;
    if (i < n[0]) {
        const uint4 v = x[i];
        if ((v.x ^ v.y ^ v.z ^ v.w) == 0x12345677u) /* of random bits, hardly ever */
            y[0] = v;
    }
}

/* Past L1. Each turn reads all of x, a block another part of it than in the turn before. */
MEMORY(probe_l2)
{
    unsigned sum = 0;
    for (u64 turn = 0; turn < n[1]; turn++)
        for (u64 i = (blockIdx.x + 61 * turn) % gridDim.x * 256ull + threadIdx.x; i < n[0]; i += gridDim.x * 256ull) {
            uint4 v;
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(x + i));
            sum ^= v.x ^ v.y ^ v.z ^ v.w;
        }
    if (sum == 0x12345677u)
        y[0] = make_uint4(sum, 0, 0, 0);
}

/* One thread; x holds at each offset the next one, in bytes. */
MEMORY(probe_chase)
{
    u64 at = 0;
    for (u64 turn = 0; turn < n[1]; turn++)
        asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(at) : "l"((const char *)x + at));
    if (at == 1)
        y[0] = make_uint4(1, 1, 1, 1);
}

#endif
