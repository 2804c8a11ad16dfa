
#ifdef FS_GPU

/* Stretches of a row, which neighbouring threads of a warp hold: they are all in a step of the walk, or none of them.
 */
#define FS_STRETCHES(length)                                                                                           \
    {                                                                                                                  \
        enum { fs_holders = (length) / fs_vector };
#define FS_STRETCHES_END }
#define FS_STRETCH_FIRST(r)                                                                                            \
    if (fs_lane % fs_holders == 0) {                                                                                   \
        enum { fs_j = 0 };                                                                                             \
        const fs_int r = fs_c;
#define FS_STRETCH_FIRST_END }
#define FS_STRETCH_COMBINE(name, s, type, x, y, combined)                                                              \
    FS_FN type fs_stretch_##name##s(type x, int threads)                                                               \
    {                                                                                                                  \
        const int lane = fs_thread() % 32;                                                                             \
        const fs_u32 mask = threads < 32 ? ((1u << threads) - 1u) << (lane / threads * threads) : 0xffffffffu;         \
        for (int d = threads / 2; d > 0; d >>= 1) {                                                                    \
            const type y = fs_shfl_among_##s(mask, x, d);                                                              \
            x = combined;                                                                                              \
        }                                                                                                              \
        return x;                                                                                                      \
    }
#define fs_shfl_among_f fs_shfl_xor_among_f32
#define fs_shfl_among_d fs_shfl_xor_among_f64
#define fs_shfl_among_i fs_shfl_xor_among_i32
#define fs_shfl_among_l fs_shfl_xor_among_i64
#define FS_STRETCH_TYPE(s, type)                                                                                       \
    FS_STRETCH_COMBINE(sum_, s, type, x, y, x + y)                                                                     \
    FS_STRETCH_COMBINE(max_, s, type, x, y, fs_max##s(x, y))                                                           \
    FS_STRETCH_COMBINE(min_, s, type, x, y, fs_min##s(x, y))
FS_STRETCH_TYPE(f, float)
FS_STRETCH_TYPE(d, double)
FS_STRETCH_TYPE(i, int)
FS_STRETCH_TYPE(l, fs_i64)
#define FS_STRETCH_SUM(s, a) a = fs_stretch_sum_##s(a, fs_holders);
#define FS_STRETCH_MAX(s, a) a = fs_stretch_max_##s(a, fs_holders);
#define FS_STRETCH_MIN(s, a) a = fs_stretch_min_##s(a, fs_holders);

#else

#define FS_STRETCHES(length)                                                                                           \
    for (fs_int fs_at = fs_from, fs_row_stop = fs_stop; fs_at < fs_row_stop; fs_at += (length)) {                      \
        const fs_int fs_from = fs_at, fs_stop = fs_at + (length);
#define FS_STRETCHES_END }
#define FS_STRETCH_FIRST(r)                                                                                            \
    {                                                                                                                  \
        const fs_int r = fs_from;
#define FS_STRETCH_FIRST_END }
#define FS_STRETCH_SUM(s, a)
#define FS_STRETCH_MAX(s, a)
#define FS_STRETCH_MIN(s, a)

#endif
