/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of the tensor cores by mma.sync, which generated kernels use: on sm_90 and sm_100 that is less than the device has, whose wgmma and tcgen05 are other instructions. A block of 1024 threads for
 * each SM, its cycles in cycles[block]; n[1]: turns of eight independent products a warp. Needs sm_80. Behind cycles.cu. */
#ifdef FS_EMULATED

MADE_UP(probe_mma_f16, 512)
MADE_UP(probe_mma_bf16, 512)
MADE_UP(probe_mma_tf32, 512)
MADE_UP(probe_mma_i8, 512)

#else

/* Bits of a thread's own: what is all alike takes less power. */
__device__ __forceinline__ unsigned bits(unsigned i)
{
    unsigned z = (threadIdx.x * 8 + i + 1) * 0x9e3779b9u;
    z = (z ^ z >> 16) * 0x85ebca6bu;
    return z ^ z >> 13;
}

/* shown, meant: of the operands' bits, those that are random, and those of an exponent near 1. */
#define TENSOR(name, type, letter, shape, kinds, shown, meant)                                                                                      \
    extern "C" __global__ void __launch_bounds__(1024) name(const float *x, u64 *cycles, const u64 *n)                                              \
    {                                                                                                                                               \
        const int turns = (int)n[1];                                                                                                                \
        unsigned a[4], b[2];                                                                                                                        \
        type c[8][4];                                                                                                                               \
        for (int i = 0; i < 4; i++)                                                                                                                 \
            a[i] = (bits(i) & shown) | meant;                                                                                                       \
        for (int i = 0; i < 2; i++)                                                                                                                 \
            b[i] = (bits(4 + i) & shown) | meant;                                                                                                   \
        _Pragma("unroll") for (int k = 0; k < 8; k++)                                                                                               \
            _Pragma("unroll") for (int i = 0; i < 4; i++)                                                                                           \
                c[k][i] = (type)x[2];                                                                                                               \
        __syncthreads();                                                                                                                            \
        const u64 start = now();                                                                                                                    \
        for (int turn = 0; turn < turns; turn++) {                                                                                                  \
            _Pragma("unroll") for (int k = 0; k < 8; k++)                                                                                           \
                asm volatile("mma.sync.aligned." shape ".row.col." kinds " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"         \
                             : "+" letter(c[k][0]), "+" letter(c[k][1]), "+" letter(c[k][2]), "+" letter(c[k][3])                                   \
                             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                                                   \
        }                                                                                                                                           \
        __syncthreads();                                                                                                                            \
        const u64 end = now();                                                                                                                      \
        type sum = 0;                                                                                                                               \
        _Pragma("unroll") for (int k = 0; k < 8; k++)                                                                                               \
            sum += c[k][0] + c[k][1] + c[k][2] + c[k][3];                                                                                           \
        if (threadIdx.x == 0 || sum == (type)12345)                                                                                                 \
            cycles[blockIdx.x] = end - start;                                                                                                       \
    }

TENSOR(probe_mma_f16, float, "f", "m16n8k16", "f32.f16.f16.f32", 0x83ff83ffu, 0x38003800u)
TENSOR(probe_mma_bf16, float, "f", "m16n8k16", "f32.bf16.bf16.f32", 0x807f807fu, 0x3f003f00u)
TENSOR(probe_mma_tf32, float, "f", "m16n8k8", "f32.tf32.tf32.f32", 0x807fe000u, 0x3f000000u)
TENSOR(probe_mma_i8, int, "r", "m16n8k32", "s32.s8.s8.s32", 0xffffffffu, 0u)

#endif
