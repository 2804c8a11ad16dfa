
/* Tiles on the host (dialect_tile.h): a block is a loop nest over its tile, with operands and sums in FP32 or wider. */
#ifndef FS_GPU

typedef float fs_tile_f, fs_tile_tf32, fs_tile_f16, fs_tile_bf16, fs_tile_gf16, fs_tile_gbf16, fs_tile_f8e4m3,
    fs_tile_f8e5m2, fs_tile_gf8e4m3, fs_tile_gf8e5m2;
typedef double fs_tile_d;
typedef int fs_tile_i, fs_tile_i8, fs_tile_u8;
typedef fs_i64 fs_tile_l;
#define FS_TILE_FROM_f16(x)    fs_from_f16(x)
#define FS_TILE_FROM_bf16(x)   fs_from_bf16(x)
#define FS_TILE_FROM_tf32(x)   x
#define FS_TILE_FROM_gf16      FS_TILE_FROM_f16
#define FS_TILE_FROM_gbf16     FS_TILE_FROM_bf16
#define FS_TILE_FROM_f8e4m3(x) fs_from_f8e4m3(x)
#define FS_TILE_FROM_f8e5m2(x) fs_from_f8e5m2(x)
#define FS_TILE_FROM_gf8e4m3   FS_TILE_FROM_f8e4m3
#define FS_TILE_FROM_gf8e5m2   FS_TILE_FROM_f8e5m2
#define FS_TILE_FROM_i8(x)     x
#define FS_TILE_FROM_u8(x)     x
enum { fs_step = 64, fs_strip = 4 }; /* step along k; rows that are summed at once */
#define FS_TILE(kind, tile_m, tile_n, step, stages, across_m, across_n)                                                \
    {                                                                                                                  \
        enum { fs_tm = tile_m, fs_tn = tile_n };                                                                       \
        typedef fs_tile_##kind fs_element;
#define FS_TILE_END }
/* Whole strips of rows and whole vectors of columns are summed, so elements outside of the operand are zeros. */
#define FS_TILE_ROWS(kind, x, along_k, vector)                                                                         \
    enum { fs_##x##_row = fs_step, fs_##x##_k = 1 };                                                                   \
    const fs_int fs_##x##_first = fs_m0, fs_##x##_end = fs_m0 + fs_tm < fs_rows ? fs_m0 + fs_tm : fs_rows;             \
    FS_ALIGNED(64) fs_element fs_##x[fs_tm * fs_step];                                                                 \
    if (fs_##x##_end - fs_m0 < fs_tm)                                                                                  \
        memset(fs_##x, 0, sizeof fs_##x);
#define FS_TILE_COLUMNS(kind, x, along_k, vector)                                                                      \
    enum { fs_##x##_row = 1, fs_##x##_k = fs_tn };                                                                     \
    const fs_int fs_##x##_first = fs_n0, fs_##x##_end = fs_n0 + fs_tn < fs_columns ? fs_n0 + fs_tn : fs_columns;       \
    FS_ALIGNED(64) fs_element fs_##x[fs_tn * fs_step];                                                                 \
    if (fs_##x##_end - fs_n0 < fs_tn)                                                                                  \
        memset(fs_##x, 0, sizeof fs_##x);
#define FS_TILE_SUM(kind, sum)                                                                                         \
    FS_ALIGNED(64) fs_element sum[fs_tm * fs_tn];                                                                      \
    memset(sum, 0, sizeof sum);
/* fs_k0, fs_kn: where the elements of k begin that a step loads, and how many; fs_loaded: how many it multiplies. */
#define FS_TILE_STEPS(depth) FS_TILE_STEPS_OF(0, depth, depth)
#define FS_TILE_STEPS_OF(part, span, depth)                                                                            \
    const fs_int fs_k_end = FS_TILE_END_OF(part, span, depth);                                                         \
    for (fs_int fs_k0 = (part) * (fs_int)(span); fs_k0 < fs_k_end; fs_k0 += fs_step) {                                 \
        const fs_int fs_kn = fs_k_end - fs_k0 < fs_step ? fs_k_end - fs_k0 : fs_step, fs_loaded = fs_kn;
#define FS_TILE_END_OF(part, span, depth)                                                                              \
    (((part) + 1) * (fs_int)(span) < (depth) ? ((part) + 1) * (fs_int)(span) : (depth))
/* The first step is loaded before; each step loads the next, if there is one, after it has multiplied. */
#define FS_TILE_FIRST_STEPS(depth) FS_TILE_FIRST_STEPS_OF(0, depth, depth)
#define FS_TILE_FIRST_STEPS_OF(part, span, depth)                                                                      \
    {                                                                                                                  \
        const fs_int fs_k0 = (part) * (fs_int)(span), fs_k_end = FS_TILE_END_OF(part, span, depth),                    \
                     fs_kn = fs_k_end - fs_k0 < fs_step ? fs_k_end - fs_k0 : fs_step;
#define FS_TILE_NEXT_STEPS(depth) FS_TILE_NEXT_STEPS_OF(0, depth, depth)
#define FS_TILE_NEXT_STEPS_OF(part, span, depth)                                                                       \
    const fs_int fs_k_end = FS_TILE_END_OF(part, span, depth);                                                         \
    for (fs_int fs_k1 = (part) * (fs_int)(span); fs_k1 < fs_k_end; fs_k1 += fs_step) {                                 \
        const fs_int fs_loaded = fs_k_end - fs_k1 < fs_step ? fs_k_end - fs_k1 : fs_step, fs_k0 = fs_k1 + fs_loaded,   \
                     fs_kn = fs_k_end - fs_k0 < fs_step ? fs_k_end - fs_k0 : fs_step;
#define FS_TILE_READY
#define FS_TILE_READY_ASYNC
#define FS_TILE_STEPS_END }
#define FS_TILE_COMMIT
#define FS_TILE_LOAD_K(x, i, r)                                                                                        \
    {                                                                                                                  \
        const fs_int fs_c = fs_k0, fs_n = fs_kn;                                                                       \
        for (fs_int i = fs_##x##_first; i < fs_##x##_end; i++) {
#define FS_TILE_LOAD_C(x, c, k)                                                                                        \
    {                                                                                                                  \
        const fs_int fs_c = fs_##x##_first, fs_n = fs_##x##_end - fs_##x##_first;                                      \
        for (fs_int k = fs_k0; k < fs_k0 + fs_kn; k++) {
#define FS_TILE_LOAD_END                                                                                               \
    }                                                                                                                  \
    }
#define FS_TILE_SET(kind, x, row, k, value)                                                                            \
    fs_##x[((row)-fs_##x##_first) * fs_##x##_row + ((k)-fs_k0) * fs_##x##_k] = value;
#define FS_TILE_COPY_K(x, i, r)                                                                                        \
    for (fs_int i = fs_##x##_first; i < fs_##x##_end; i++)                                                             \
        FS_PRAGMA(omp simd) for (fs_int r = fs_k0; r < fs_k0 + fs_kn; r++)                                             \
        {
#define FS_TILE_COPY_C(x, c, k)                                                                                        \
    for (fs_int k = fs_k0; k < fs_k0 + fs_kn; k++)                                                                     \
        FS_PRAGMA(omp simd) for (fs_int c = fs_##x##_first; c < fs_##x##_end; c++)                                     \
        {
#define FS_TILE_FETCH(kind, x, row, k, pointer, i) FS_TILE_SET(kind, x, row, k, FS_TILE_FROM_##kind((pointer)[i]))
#define FS_TILE_COPY_END(x)                        }
#define FS_TILE_STORE(x)
#define FS_TILE_MULTIPLY(kind, sum, x, y)                                                                              \
    fs_multiply_##kind(sum, fs_tn, fs_##x, fs_step, fs_##y, fs_tn, fs_##x##_end - fs_##x##_first,                      \
                       fs_##y##_end - fs_##y##_first, fs_loaded);
/* The sums of four rows and two vectors of columns stay in registers along k. */
#define FS_TILE_STRIPS(kind, type)                                                                                     \
    typedef type fs_vector_##kind __attribute__((vector_size(64), aligned(64), may_alias));                            \
    FS_FN void fs_multiply_##kind(type *sum, int pitch, const type *x, int x_pitch, const type *y, int y_pitch,        \
                                  fs_i64 rows, fs_i64 columns, fs_i64 depth)                                           \
    {                                                                                                                  \
        enum { lanes = 64 / sizeof(type) };                                                                            \
        for (int j = 0; j < columns; j += 2 * lanes)                                                                   \
            for (int i = 0; i < rows; i += fs_strip) {                                                                 \
                fs_vector_##kind *const s0 = (fs_vector_##kind *)&sum[i * pitch + j],                                  \
                                        *const s1 = (fs_vector_##kind *)&sum[(i + 1) * pitch + j],                     \
                                        *const s2 = (fs_vector_##kind *)&sum[(i + 2) * pitch + j],                     \
                                        *const s3 = (fs_vector_##kind *)&sum[(i + 3) * pitch + j];                     \
                fs_vector_##kind a0 = s0[0], a1 = s0[1], b0 = s1[0], b1 = s1[1], c0 = s2[0], c1 = s2[1], d0 = s3[0],   \
                                 d1 = s3[1];                                                                           \
                const type *const x0 = x + i * x_pitch, *const x1 = x0 + x_pitch, *const x2 = x1 + x_pitch,            \
                                  *const x3 = x2 + x_pitch;                                                            \
                for (int k = 0; k < depth; k++) {                                                                      \
                    const fs_vector_##kind *const at = (const fs_vector_##kind *)&y[k * y_pitch + j];                  \
                    const fs_vector_##kind y0 = at[0], y1 = at[1];                                                     \
                    a0 += x0[k] * y0, a1 += x0[k] * y1, b0 += x1[k] * y0, b1 += x1[k] * y1;                            \
                    c0 += x2[k] * y0, c1 += x2[k] * y1, d0 += x3[k] * y0, d1 += x3[k] * y1;                            \
                }                                                                                                      \
                s0[0] = a0, s0[1] = a1, s1[0] = b0, s1[1] = b1, s2[0] = c0, s2[1] = c1, s3[0] = d0, s3[1] = d1;        \
            }                                                                                                          \
    }
FS_TILE_STRIPS(f, float)
FS_TILE_STRIPS(d, double)
FS_TILE_STRIPS(i, int)
FS_TILE_STRIPS(l, fs_i64)
#define fs_multiply_f16     fs_multiply_f
#define fs_multiply_bf16    fs_multiply_f
#define fs_multiply_gf16    fs_multiply_f
#define fs_multiply_gbf16   fs_multiply_f
#define fs_multiply_f8e4m3  fs_multiply_f
#define fs_multiply_f8e5m2  fs_multiply_f
#define fs_multiply_gf8e4m3 fs_multiply_f
#define fs_multiply_gf8e5m2 fs_multiply_f
#define fs_multiply_i8      fs_multiply_i
#define fs_multiply_u8      fs_multiply_i
#define FS_TILE_MULTIPLIED
#define FS_TILE_SETTLE(sum)
#define fs_multiply_tf32 fs_multiply_f
#define FS_TILE_RESULTS(kind, o, c, b, vector)                                                                         \
    for (fs_int fs_row = fs_m0; fs_row < fs_m0 + fs_tm && fs_row < fs_rows; fs_row++) {                                \
        const fs_int o = (b)*fs_rows + fs_row, fs_c = fs_n0,                                                           \
                     fs_n = fs_columns - fs_n0 < fs_tn ? fs_columns - fs_n0 : fs_tn;                                   \
        (void)o;
#define FS_TILE_KEEP(kind, sum, type) const fs_element *const fs_kept = sum;
#define FS_TILE_EACH_ROW(b, p, type, name, length, threads)                                                            \
    for (fs_int fs_at_row = fs_m0; fs_at_row < fs_m0 + fs_tm && fs_at_row < fs_rows; fs_at_row++)                      \
        for (fs_int fs_at_block = fs_n0 / (length);                                                                    \
             fs_at_block * (length) < fs_n0 + fs_tn && fs_at_block < fs_columns / (length); fs_at_block++) {           \
            const fs_int p = ((b)*fs_rows + fs_at_row) * (fs_columns / (length)) + fs_at_block;                        \
            const fs_element *const name = fs_kept + (fs_at_row - fs_m0) * fs_tn + fs_at_block * (length)-fs_n0;       \
            const fs_int fs_from = 0, fs_to = (fs_int)FS_MOSTi;                                                        \
            (void)p;                                                                                                   \
            (void)name;
#define FS_TILE_EACH_ROW_END }
#define FS_TILE_SUMMED(sum)  sum[(fs_row - fs_m0) * fs_tn + (c - fs_n0)]
#define FS_TILE_RESULTS_END  }

#endif
