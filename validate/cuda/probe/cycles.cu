/* SPDX-License-Identifier: Apache-2.0 */
/* What probes by the SMs' own cycle counters begin with. Plain CUDA without headers; emulated, as in tests, the cycles are made up. */
#ifdef FS_EMULATED

#define MADE_UP(name, cycles_a_turn)                                                                                                                \
    FS_IDLE_BUT(name, 0x7fffffff, 1)                                                                                                                \
    void name(void **params)                                                                                                                        \
    {                                                                                                                                               \
        const float *x = *(const float **)params[0];                                                                                                \
        unsigned long long *cycles = *(unsigned long long **)params[1];                                                                             \
        const unsigned long long *n = *(const unsigned long long **)params[2];                                                                      \
        (void)x;                                                                                                                                    \
        if (fs_thread() == 0)                                                                                                                       \
            cycles[fs_block()] = n[1] * cycles_a_turn;                                                                                              \
    }

#else

typedef unsigned long long u64;

__device__ __forceinline__ u64 now()
{
    u64 t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}

/* What a block writes so that nothing can be left out. */
__device__ __forceinline__ void finish(u64 start, u64 *cycles, bool odd)
{
    __syncthreads();
    const u64 end = now();
    if (threadIdx.x == 0 || odd)
        cycles[blockIdx.x] = end - start;
}

#endif
