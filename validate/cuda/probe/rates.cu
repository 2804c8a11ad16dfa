/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of an SM's pipes: a block of 1024 threads for each SM, its cycles in cycles[block]. x: operands; n[1]: turns. EIGHT chains a thread, FOUR steps of each a turn. Behind cycles.cu. */
#ifdef FS_EMULATED

MADE_UP(probe_ffma, 256)
MADE_UP(probe_hfma2, 256)
MADE_UP(probe_dfma, 512)
MADE_UP(probe_imad, 512)
MADE_UP(probe_special, 2048)
MADE_UP(probe_shared, 512)
MADE_UP(probe_shared_chase, 928)

#else

#define RATE(name) extern "C" __global__ void __launch_bounds__(1024) name(const float *x, u64 *cycles, const u64 *n)
#define EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define FOUR(X) EIGHT(X) EIGHT(X) EIGHT(X) EIGHT(X)

#define BEGIN                                                                                                                                       \
    const int turns = (int)n[1];                                                                                                                    \
    __syncthreads();                                                                                                                                \
    const u64 start = now();                                                                                                                        \
    for (int turn = 0; turn < turns; turn++) {
#define END(odd)                                                                                                                                    \
    }                                                                                                                                               \
    finish(start, cycles, odd);

#define OPEN(k) float a##k = x[2] + k;
#define SUM(k) +a##k
RATE(probe_ffma)
{
    const float s = x[0], t = x[1];
    EIGHT(OPEN)
    BEGIN
#define STEP(k) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(a##k) : "f"(s), "f"(t));
        FOUR(STEP)
#undef STEP
    END((0 EIGHT(SUM)) == 12345.0f)
}

RATE(probe_special)
{
    EIGHT(OPEN)
    BEGIN
#define STEP(k) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(a##k));
        FOUR(STEP)
#undef STEP
    END((0 EIGHT(SUM)) == 12345.0f)
}
#undef OPEN

#define OPEN(k) double a##k = x[2] + k;
RATE(probe_dfma)
{
    const double s = x[0], t = x[1];
    EIGHT(OPEN)
    BEGIN
#define STEP(k) asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(a##k) : "d"(s), "d"(t));
        FOUR(STEP)
#undef STEP
    END((0 EIGHT(SUM)) == 12345.0)
}
#undef OPEN

#define OPEN(k) unsigned a##k = __float_as_uint(x[2]) + k;
RATE(probe_imad)
{
    const unsigned s = __float_as_uint(x[0]), t = __float_as_uint(x[1]);
    EIGHT(OPEN)
    BEGIN
#define STEP(k) asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(a##k) : "r"(s), "r"(t));
        FOUR(STEP)
#undef STEP
    END((0 EIGHT(SUM)) == 12345u)
}

/* Pairs of halves: 0.75 and 0.25. */
RATE(probe_hfma2)
{
    const unsigned s = 0x3a003a00u, t = x[1] > 0 ? 0x34003400u : 0;
    EIGHT(OPEN)
    BEGIN
#define STEP(k) asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(a##k) : "r"(s), "r"(t));
        FOUR(STEP)
#undef STEP
    END((0 EIGHT(SUM)) == 12345u)
}
#undef OPEN

__device__ __forceinline__ unsigned in_shared(const void *at)
{
    unsigned address;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(address) : "l"(at));
    return address;
}

/* Four loads of 16 bytes a thread and turn, without conflicts. */
RATE(probe_shared)
{
    __shared__ uint4 tile[2048];
    for (int i = (int)threadIdx.x; i < 2048; i += 1024)
        tile[i] = make_uint4(i, __float_as_uint(x[0]), __float_as_uint(x[1]), 3);
    const unsigned at = in_shared(&tile[threadIdx.x]);
    unsigned sum = 0;
    BEGIN
#define STEP(offset)                                                                                                                                \
    {                                                                                                                                               \
        uint4 v;                                                                                                                                    \
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at + offset));                   \
        sum ^= v.x ^ v.w;                                                                                                                           \
    }
        STEP(0)
        STEP(16384)
        STEP(0)
        STEP(16384)
#undef STEP
    END(sum == 12345u)
}

/* The first thread goes from element to element, 32 of them a turn. */
RATE(probe_shared_chase)
{
    __shared__ unsigned next[1024];
    next[threadIdx.x] = in_shared(&next[(threadIdx.x + 33) % 1024]);
    unsigned at = in_shared(&next[0]);
    if (threadIdx.x > 0 && x[0] < 0)
        at++;
    BEGIN
        if (threadIdx.x == 0) {
#pragma unroll
            for (int i = 0; i < 32; i++)
                asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));
        }
    END(at == 12345u)
}

#endif
