/* SPDX-License-Identifier: Apache-2.0 */
/* emulated.h: what the text of a kernel may use when cc compiles it to run on the processor, a fiber for each thread of
 * the grid (emulate.c). It comes before the text (-include); the same names stand for intrinsics and inline PTX where
 * NVRTC compiles it. Needs no other header, and every name begins with fs_. */
#ifndef FS_EMULATED_H
#define FS_EMULATED_H

/* An array that FS_SHARED declared: one of these in the section fs_shared_sites. */
typedef struct {
    const char *function;
    unsigned long bytes;
} fs_shared_site;

/* Collectives of a warp: each lane comes with `in` and leaves with `out`. */
typedef enum {
    FS_SHUFFLE,       /* in: unsigned long long, out: that of lane `from` */
    FS_SHUFFLE_AMONG, /* the same of neighbouring lanes alone: from: the lane, and 256 times how many */
    FS_WARP_BARRIER,
    FS_LDMATRIX2, /* in: a row in shared memory, out: unsigned[2] or [4] */
    FS_LDMATRIX2_TRANS,
    FS_LDMATRIX4,
    FS_LDMATRIX4_TRANS,
    FS_MMA_F16, /* in: unsigned[6], four of A and two of B, out: float[4], also the summand */
    FS_MMA_BF16,
    FS_MMA_TF32,
    FS_MMA_F8E4M3,
    FS_MMA_F8E5M2,
    FS_MMA_I8, /* out: int[4] */
    FS_MMA_U8,
} fs_collective;

/* What emulate.c does for a thread; whoever loads the kernel sets fs_emulator. */
typedef struct {
    int (*thread)(void);
    long long (*block)(void);
    void (*barrier)(int line);
    void (*collective)(fs_collective what, const void *in, void *out, int from);
    void *(*static_shared)(const fs_shared_site *site);
    void *(*dynamic_shared)(void);
    void (*copy)(void *shared, const void *global, int bytes);
    void (*commit)(void);
    void (*wait)(int pending);
    long long (*time_ns)(void);
} fs_emulator_calls;
__attribute__((weak)) const fs_emulator_calls *fs_emulator;

/* Beside an entry function: nothing but the first `threads` of the first `blocks` blocks does anything, and the others
 * are not run. */
#define FS_IDLE_BUT(entry, blocks, threads) const int entry##_idle_but[2] = {blocks, threads};

/* Index of the thread in its block. */
static inline int fs_thread(void) { return fs_emulator->thread(); }

/* Index of the block in the grid. */
static inline long long fs_block(void) { return fs_emulator->block(); }

/* Waits for every thread of the block that has not ended. All must come by the same line of the text. */
#define fs_barrier() fs_emulator->barrier(__LINE__)

/* In a function: T *name, n elements of shared memory of the block, 16-byte aligned. (A pointer here: sizeof name
 * differs.) */
#define FS_SHARED(T, name, n)                                                                                          \
    static const fs_shared_site name##_site                                                                            \
        __attribute__((section("fs_shared_sites"), used, aligned(16))) = {__func__, sizeof(T) * (n)};                  \
    T *const name = (T *)fs_emulator->static_shared(&name##_site)

/* The shared memory that the launch asked for, 16-byte aligned. */
static inline void *fs_dynamic_shared(void) { return fs_emulator->dynamic_shared(); }

typedef unsigned __attribute__((may_alias)) fs_word;

/* The bits of a float, and a float of those bits. */
static inline unsigned fs_bits(float value)
{
    unsigned bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}
static inline float fs_float(unsigned bits)
{
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

/* `value` of the lane whose index differs from this one's by exclusive or with mask; all 32 lanes come. */
static inline unsigned long long fs_exchange(unsigned long long value, int from)
{
    unsigned long long got = 0;
    fs_emulator->collective(FS_SHUFFLE, &value, &got, from);
    return got;
}
static inline float fs_shfl_xor_f32(float value, int mask)
{
    return fs_float((unsigned)fs_exchange(fs_bits(value), (fs_thread() & 31) ^ mask));
}
static inline double fs_shfl_xor_f64(double value, int mask)
{
    unsigned long long bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    bits = fs_exchange(bits, (fs_thread() & 31) ^ mask);
    __builtin_memcpy(&value, &bits, sizeof bits);
    return value;
}
static inline int fs_shfl_xor_i32(int value, int mask)
{
    return (int)(unsigned)fs_exchange((unsigned)value, (fs_thread() & 31) ^ mask);
}
static inline long long fs_shfl_xor_i64(long long value, int mask)
{
    return (long long)fs_exchange((unsigned long long)value, (fs_thread() & 31) ^ mask);
}

/* The same among the neighbouring lanes of `among` alone. */
static inline unsigned long long fs_exchange_among(unsigned among, unsigned long long value, int mask)
{
    unsigned long long got = 0;
    fs_emulator->collective(FS_SHUFFLE_AMONG, &value, &got,
                            ((fs_thread() & 31) ^ mask) + 256 * __builtin_popcount(among));
    return got;
}
static inline float fs_shfl_xor_among_f32(unsigned among, float value, int mask)
{
    return fs_float((unsigned)fs_exchange_among(among, fs_bits(value), mask));
}
static inline double fs_shfl_xor_among_f64(unsigned among, double value, int mask)
{
    unsigned long long bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    bits = fs_exchange_among(among, bits, mask);
    __builtin_memcpy(&value, &bits, sizeof bits);
    return value;
}
static inline int fs_shfl_xor_among_i32(unsigned among, int value, int mask)
{
    return (int)(unsigned)fs_exchange_among(among, (unsigned)value, mask);
}
static inline long long fs_shfl_xor_among_i64(unsigned among, long long value, int mask)
{
    return (long long)fs_exchange_among(among, (unsigned long long)value, mask);
}

/* `value` of a lane; all 32 lanes come. */
static inline float fs_shfl_f32(float value, int lane)
{
    return fs_float((unsigned)fs_exchange(fs_bits(value), lane & 31));
}
static inline int fs_shfl_i32(int value, int lane) { return (int)(unsigned)fs_exchange((unsigned)value, lane & 31); }

/* Waits for all 32 lanes of the warp. */
static inline void fs_warp_barrier(void) { fs_emulator->collective(FS_WARP_BARRIER, 0, 0, 0); }

/* Starts to copy 16 bytes, both ends 16-byte aligned; they arrive at fs_copy_wait, until when they are poison. */
static inline void fs_copy_async(void *shared, const void *global) { fs_emulator->copy(shared, global, 16); }

/* The same with 4 bytes. */
static inline void fs_copy_async4(void *shared, const void *global) { fs_emulator->copy(shared, global, 4); }

/* What this thread started to copy since the last commit is a group. */
static inline void fs_copy_commit(void) { fs_emulator->commit(); }

/* Until at most so many of this thread's groups, the latest ones, are still being copied. */
static inline void fs_copy_wait(int groups_that_may_be_pending) { fs_emulator->wait(groups_that_may_be_pending); }

/* ldmatrix.sync.aligned.m8n8.x4.shared.b16: lane 8 i + j names row j of matrix i, 8 elements of 16 bits. */
static inline void fs_ldmatrix4(unsigned r[4], const void *shared_row)
{
    fs_emulator->collective(FS_LDMATRIX4, shared_row, r, 0);
}

/* ... .x4.trans: each matrix arrives transposed. */
static inline void fs_ldmatrix4_trans(unsigned r[4], const void *shared_row)
{
    fs_emulator->collective(FS_LDMATRIX4_TRANS, shared_row, r, 0);
}

/* ... .x2: only lanes 0 to 15 name rows. */
static inline void fs_ldmatrix2(unsigned r[2], const void *shared_row)
{
    fs_emulator->collective(FS_LDMATRIX2, shared_row, r, 0);
}

/* ... .x2.trans */
static inline void fs_ldmatrix2_trans(unsigned r[2], const void *shared_row)
{
    fs_emulator->collective(FS_LDMATRIX2_TRANS, shared_row, r, 0);
}

static inline void fs_mma(fs_collective what, void *c, const unsigned a[4], unsigned b0, unsigned b1)
{
    const unsigned in[6] = {a[0], a[1], a[2], a[3], b0, b1};
    fs_emulator->collective(what, in, c, 0);
}

/* mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32, c += a b */
static inline void fs_mma_f16(float c[4], const unsigned a[4], unsigned b0, unsigned b1)
{
    fs_mma(FS_MMA_F16, c, a, b0, b1);
}

/* mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32, c += a b */
static inline void fs_mma_bf16(float c[4], const unsigned a[4], unsigned b0, unsigned b1)
{
    fs_mma(FS_MMA_BF16, c, a, b0, b1);
}

/* mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32, c += a b; of a and b the last 13 bits are not seen. */
static inline void fs_mma_tf32(float c[4], const unsigned a[4], unsigned b0, unsigned b1)
{
    fs_mma(FS_MMA_TF32, c, a, b0, b1);
}

/* mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32, c += a b */
static inline void fs_mma_f8e4m3(float c[4], const unsigned a[4], unsigned b0, unsigned b1)
{
    fs_mma(FS_MMA_F8E4M3, c, a, b0, b1);
}

/* mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32, c += a b */
static inline void fs_mma_f8e5m2(float c[4], const unsigned a[4], unsigned b0, unsigned b1)
{
    fs_mma(FS_MMA_F8E5M2, c, a, b0, b1);
}

/* mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32, c += a b */
static inline void fs_mma_i8(int c[4], const unsigned a[4], unsigned b0, unsigned b1)
{
    fs_mma(FS_MMA_I8, c, a, b0, b1);
}

/* mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32, c += a b */
static inline void fs_mma_u8(int c[4], const unsigned a[4], unsigned b0, unsigned b1)
{
    fs_mma(FS_MMA_U8, c, a, b0, b1);
}

/* *p += v, at once for all threads of the grid. */
static inline void fs_atomic_add_f32(float *p, float v)
{
    fs_word seen = __atomic_load_n((fs_word *)p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n((fs_word *)p, &seen, fs_bits(fs_float(seen) + v), 1, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
}

/* 1 / sqrt(x) */
static inline float fs_rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }

/* 2^x */
static inline float fs_exp2(float x) { return __builtin_exp2f(x); }

/* Nanoseconds, in steps of 32, that pass only by asking. */
static inline long long fs_globaltimer(void) { return fs_emulator->time_ns(); }

/* Cycles of a multiprocessor, 1.75 to a nanosecond. */
static inline long long fs_clock(void) { return fs_emulator->time_ns() * 7 / 4; }

#endif
