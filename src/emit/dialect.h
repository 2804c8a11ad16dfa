/* SPDX-License-Identifier: Apache-2.0 */
/* fusesim_dialect.h: the dialect of generated kernels. A kernel is one text, compiled as CUDA (NVRTC, nvcc) or as C for
 * the host. CUDA needs no other header.
 *
 * A kernel is a sequence of loops over lanes. On a GPU a lane is a thread, or one of the few neighbouring points that a
 * thread computes; on the host it is an iteration of a loop that the compiler vectorises. Each loop over lanes is
 * therefore a pair of macros. Text between two such loops runs once for a row, or once for a thread's points.
 *
 *   FS_POINTS .. FS_LANES .. FS_LANES_END .. FS_POINTS_END
 *       points of a block: outer point o, inner points c
 *   FS_TILES .. FS_TILE_LANES .. FS_TILE_LANES_END .. FS_TILES_END
 *       tiles of 32 x 32 points, for tensors that are strided along the lanes
 *   FS_ROWS .. FS_WALK .. FS_LANES_OF .. FS_WALK_END .. FS_ROWS_END
 *       a row p, and its elements r
 *   FS_BAND .. FS_BAND_WALK .. FS_BAND_WALK_END .. FS_BAND_END
 *       neighbouring rows side by side, an element of each at a time */
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define FS_CUDA 1
#endif
#if defined(FS_CUDA) || defined(FS_EMULATED)
#define FS_GPU 1
#endif
/* cp.async, ldmatrix and mma with f32 sums need sm_80. nvcc also reads the source for the host, without
 * __CUDA_ARCH__: the functions that kernels call must be declared then, though no code is made of them. */
#if defined(FS_CUDA) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
#define FS_SM_80 1
#endif
/* mma of 8-bit floats. */
#if defined(FS_CUDA) && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890)
#define FS_SM_89 1
#endif

typedef long long fs_i64;
typedef unsigned long long fs_u64;
typedef unsigned int fs_u32;
typedef unsigned short fs_u16, fs_f16, fs_bf16;
typedef unsigned char fs_u8, fs_bool, fs_f8e4m3, fs_f8e5m2, fs_f8e8m0, fs_f4e2m1, fs_i4;
typedef signed char fs_i8;
typedef short fs_i16;
typedef int fs_i32;
#ifdef FS_WIDE /* some number of points or elements needs more than 31 bits */
typedef fs_i64 fs_int;
#else
typedef int fs_int;
#endif

#define FS_MOSTi 2147483647
#define FS_MOSTl 9223372036854775807LL

#ifdef FS_CUDA

#define FS_RESTRICT __restrict__
#define FS_FN       static __device__ __forceinline__
#define FS_INFf     __int_as_float(0x7f800000)
#define FS_INFd     __longlong_as_double(0x7ff0000000000000LL)
/* FS_ENTRY(k, 256 FS_RESIDENT(2), ..): the compiler may use as many registers as let two blocks fit on an SM. */
#define FS_RESIDENT(blocks)                 , blocks
#define FS_ENTRY(name, threads, parameters) extern "C" __global__ void __launch_bounds__(threads) name parameters
#define FS_ARGUMENT(i, type, name)
#define FS_SHARED(type, name, count) __shared__ __align__(16) type name[count]
FS_FN int fs_thread(void) { return (int)threadIdx.x; }
FS_FN fs_i64 fs_block(void) { return (fs_i64)blockIdx.x; }
FS_FN void fs_barrier(void) { __syncthreads(); }
FS_FN float fs_shfl_xor_f32(float v, int d) { return __shfl_xor_sync(0xffffffffu, v, d); }
FS_FN int fs_shfl_xor_i32(int v, int d) { return __shfl_xor_sync(0xffffffffu, v, d); }
FS_FN double fs_shfl_xor_f64(double v, int d) { return __shfl_xor_sync(0xffffffffu, v, d); }
FS_FN fs_i64 fs_shfl_xor_i64(fs_i64 v, int d) { return __shfl_xor_sync(0xffffffffu, v, d); }
/* The same among the threads of the mask alone. */
FS_FN float fs_shfl_xor_among_f32(fs_u32 mask, float v, int d) { return __shfl_xor_sync(mask, v, d); }
FS_FN int fs_shfl_xor_among_i32(fs_u32 mask, int v, int d) { return __shfl_xor_sync(mask, v, d); }
FS_FN double fs_shfl_xor_among_f64(fs_u32 mask, double v, int d) { return __shfl_xor_sync(mask, v, d); }
FS_FN fs_i64 fs_shfl_xor_among_i64(fs_u32 mask, fs_i64 v, int d) { return __shfl_xor_sync(mask, v, d); }
extern __shared__ __align__(16) unsigned char fs_dynamic_bytes[];
FS_FN void *fs_dynamic_shared(void) { return fs_dynamic_bytes; }
FS_FN float fs_float(fs_u32 u) { return __uint_as_float(u); }
FS_FN fs_u32 fs_bits(float f) { return __float_as_uint(f); }
#define FS_UNROLL         _Pragma("unroll")
#define FS_UNROLL_FOUR    _Pragma("unroll 4")
#define FS_ALIGNED(bytes) __align__(bytes)

#else

#include <math.h>
#include <string.h>
#define FS_FN   static inline __attribute__((always_inline))
#define FS_INFf ((float)INFINITY)
#define FS_INFd ((double)INFINITY)
#define FS_RESIDENT(blocks)
#define FS_UNROLL
#define FS_UNROLL_FOUR
#define FS_ALIGNED(bytes) __attribute__((aligned(bytes)))
#ifdef FS_EMULATED /* the GPU's text, thread by thread; ids, barriers and shuffles come from the emulator */
#define FS_RESTRICT
#define FS_ENTRY(name, threads, parameters)                                                                            \
    void name(void **fs_params);                                                                                       \
    void name(void **fs_params)
#define FS_ARGUMENT(i, type, name)                                                                                     \
    type *name = *(type **)fs_params[i];                                                                               \
    (void)name;
#else
#define FS_RESTRICT restrict
#define FS_ENTRY(name, threads, parameters)                                                                            \
    void name(fs_i64 fs_first, fs_i64 fs_end, void *const *fs_args);                                                   \
    void name(fs_i64 fs_first, fs_i64 fs_end, void *const *fs_args)
#define FS_ARGUMENT(i, type, name)                                                                                     \
    type *restrict name = (type *)fs_args[i];                                                                          \
    (void)name;
FS_FN float fs_float(fs_u32 u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}
FS_FN fs_u32 fs_bits(float f)
{
    fs_u32 u;
    memcpy(&u, &f, 4);
    return u;
}
#endif
#endif

/* Instructions for tiles.
 *   fs_copy_async: copies 16 bytes from global to shared memory, both aligned; they are there after fs_copy_wait and
 *       a barrier
 *   fs_ldmatrix4: loads four 8 x 8 matrices of 16-bit elements; each lane passes the address of a row
 *   fs_mma_*: D += A B by a warp, with fragments as in the PTX ISA: m16n8k32 for f8, m16n8k16 for f16 and bf16, m16n8k8
 *       for tf32 (operands are the bits of floats) */
#ifdef FS_SM_80
FS_FN fs_u32 fs_shared_address(const void *p) { return (fs_u32)__cvta_generic_to_shared(p); }
FS_FN void fs_copy_async(void *shared, const void *global)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(fs_shared_address(shared)), "l"(global) : "memory");
}
FS_FN void fs_copy_commit(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }
#define fs_copy_wait(pending) asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory")
FS_FN void fs_ldmatrix4(fs_u32 r[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(fs_shared_address(row))
                 : "memory");
}
FS_FN void fs_ldmatrix4_trans(fs_u32 r[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(fs_shared_address(row))
                 : "memory");
}
FS_FN void fs_ldmatrix2(fs_u32 r[2], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(fs_shared_address(row))
                 : "memory");
}
FS_FN void fs_ldmatrix2_trans(fs_u32 r[2], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(fs_shared_address(row))
                 : "memory");
}
#define FS_MMA(name, shape, type)                                                                                      \
    FS_FN void fs_mma_##name(float c[4], const fs_u32 a[4], fs_u32 b0, fs_u32 b1)                                      \
    {                                                                                                                  \
        asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type                                           \
                     ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                            \
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                  \
    }
FS_MMA(f16, "m16n8k16", "f16")
FS_MMA(bf16, "m16n8k16", "bf16")
FS_MMA(tf32, "m16n8k8", "tf32")
#define FS_MMA_INTEGERS(name, type)                                                                                    \
    FS_FN void fs_mma_##name(int c[4], const fs_u32 a[4], fs_u32 b0, fs_u32 b1)                                        \
    {                                                                                                                  \
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." type "." type                                            \
                     ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                            \
                     : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                  \
    }
FS_MMA_INTEGERS(i8, "s8")
FS_MMA_INTEGERS(u8, "u8")
#ifdef FS_SM_89
FS_MMA(f8e4m3, "m16n8k32", "e4m3")
FS_MMA(f8e5m2, "m16n8k32", "e5m2")
#endif
#endif
FS_FN float fs_exp2f(float x) { return exp2f(x); }
