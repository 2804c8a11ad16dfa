
/* Tiles: a block computes fs_tm x fs_tn results of a matrix product, the sum over k of left[row, k] x right[k, column],
 * in steps along k.
 *
 *   FS_TILE, FS_TILE_PLACE      sizes; the block's tile: rows from fs_m0, columns from fs_n0, of batch b
 *   FS_TILE_ROWS, FS_TILE_COLUMNS, FS_TILE_SUM      an operand's part of a step, and the sums
 *   FS_TILE_STEPS, FS_TILE_READY      the loop along k
 *       FS_TILE_LOAD_K/_C .. FS_LANES .. FS_TILE_SET .. FS_LANES_END .. FS_TILE_LOAD_END
 *           computes an operand's elements, with lanes along k or along its rows (columns)
 *       FS_TILE_COPY_K/_C .. FS_TILE_FETCH .. FS_TILE_COPY_END      or copies them unchanged, asynchronously
 *       FS_TILE_MULTIPLY, FS_TILE_STORE
 *   FS_TILE_STEPS_END
 *   FS_TILE_RESULTS .. FS_LANES .. FS_TILE_SUMMED .. FS_LANES_END .. FS_TILE_RESULTS_END
 *       rows o = b x rows + row, columns c
 *
 * On a GPU the operands of one step are loaded while those of an earlier step are multiplied. Shared memory holds
 * fs_stages steps; each step has one barrier. On the host a block is a loop nest over its tile. kind: f d i l: each
 * thread has rows and columns in groups of four; f16 bf16 tf32 f8e4m3 f8e5m2: warps use tensor units, with f32 sums; i8
 * u8: with i32 sums; gf16 gbf16 gf8e4m3 gf8e5m2: the same in groups of four warps (dialect_groups.h). */

/* The tile of block fs_b, where blocks from `first` on have tiles. Consecutive blocks go down m within bands of
 * `band` tiles, then along n, so that blocks that run at the same time share operands in L2. */
#define FS_TILE_PLACE(b, first, batch, rows, columns, band)                                                            \
    enum {                                                                                                             \
        fs_rows = rows,                                                                                                \
        fs_columns = columns,                                                                                          \
        fs_tiles_m = (fs_rows + fs_tm - 1) / fs_tm,                                                                    \
        fs_tiles_n = (fs_columns + fs_tn - 1) / fs_tn,                                                                 \
        fs_band = fs_tiles_m < (band) ? fs_tiles_m : (band)                                                            \
    };                                                                                                                 \
    const fs_i64 fs_tile = fs_b - (first);                                                                             \
    if (fs_tile >= 0 && fs_tile < (fs_i64)(batch)*fs_tiles_m * fs_tiles_n) {                                           \
        const fs_int b = (fs_int)(fs_tile / (fs_tiles_m * fs_tiles_n));                                                \
        const int fs_in_batch = (int)(fs_tile % (fs_tiles_m * fs_tiles_n)),                                            \
                  fs_low = fs_in_batch / (fs_band * fs_tiles_n) * fs_band,                                             \
                  fs_high = fs_tiles_m - fs_low < fs_band ? fs_tiles_m - fs_low : fs_band,                             \
                  fs_in_band = fs_in_batch % (fs_band * fs_tiles_n);                                                   \
        const fs_int fs_m0 = (fs_low + fs_in_band % fs_high) * fs_tm, fs_n0 = fs_in_band / fs_high * fs_tn;            \
        (void)b;
/* The same where k is split into `parts`: each block has one part, and another launch adds the sums. */
#define FS_TILE_PLACE_PART(b, part, parts, batch, rows, columns, band)                                                 \
    FS_TILE_PLACE(fs_any, 0, (parts) * (batch), rows, columns, band)                                                   \
    const fs_int b = fs_any % (batch), part = fs_any / (batch);                                                        \
    (void)b;
#define FS_TILE_PLACE_END }

#ifdef FS_GPU

typedef float fs_tile_f, fs_tile_tf32;
typedef double fs_tile_d;
typedef int fs_tile_i;
typedef fs_i64 fs_tile_l;
typedef fs_u16 fs_tile_f16, fs_tile_bf16, fs_tile_gf16, fs_tile_gbf16;
typedef fs_u8 fs_tile_f8e4m3, fs_tile_f8e5m2, fs_tile_gf8e4m3, fs_tile_gf8e5m2, fs_tile_i8, fs_tile_u8;
typedef float fs_sum_f, fs_sum_f16, fs_sum_bf16, fs_sum_gf16, fs_sum_gbf16, fs_sum_tf32, fs_sum_f8e4m3, fs_sum_f8e5m2,
    fs_sum_gf8e4m3, fs_sum_gf8e5m2;
typedef double fs_sum_d;
typedef int fs_sum_i, fs_sum_i8, fs_sum_u8;
typedef fs_i64 fs_sum_l;
#define FS_TILE_TO_f(x)      x
#define FS_TILE_TO_d(x)      x
#define FS_TILE_TO_i(x)      x
#define FS_TILE_TO_l(x)      x
#define FS_TILE_TO_f16(x)    fs_to_f16(x)
#define FS_TILE_TO_bf16(x)   fs_to_bf16(x)
#define FS_TILE_TO_tf32(x)   x
#define FS_TILE_TO_gf16      FS_TILE_TO_f16
#define FS_TILE_TO_gbf16     FS_TILE_TO_bf16
#define FS_TILE_TO_f8e4m3(x) fs_to_f8e4m3(x)
#define FS_TILE_TO_f8e5m2(x) fs_to_f8e5m2(x)
#define FS_TILE_TO_gf8e4m3   FS_TILE_TO_f8e4m3
#define FS_TILE_TO_gf8e5m2   FS_TILE_TO_f8e5m2
#define FS_TILE_TO_i8(x)     (fs_u8)(int)(x)
#define FS_TILE_TO_u8        FS_TILE_TO_i8
/* Layout in shared memory: elements beside each other follow k (1: only where they do so in memory; 2: always, for
 * units that take bytes in no other order), otherwise they follow rows or columns. Lines are padded so that the threads
 * of a warp access different banks. */
enum {
    fs_in_k_f = 0,
    fs_in_k_d = 0,
    fs_in_k_i = 0,
    fs_in_k_l = 0,
    fs_in_k_f16 = 1,
    fs_in_k_bf16 = 1,
    fs_in_k_tf32 = 1,
    fs_in_k_gf16 = 1,
    fs_in_k_gbf16 = 1,
    fs_in_k_f8e4m3 = 2,
    fs_in_k_f8e5m2 = 2,
    fs_in_k_gf8e4m3 = 2,
    fs_in_k_gf8e5m2 = 2,
    fs_in_k_i8 = 2,
    fs_in_k_u8 = 2
};
enum {
    fs_pad_f = 4,
    fs_pad_d = 2,
    fs_pad_i = 4,
    fs_pad_l = 2,
    fs_pad_f16 = 8,
    fs_pad_bf16 = 8,
    fs_pad_tf32 = 8,
    fs_pad_gf16 = 0,
    fs_pad_gbf16 = 0,
    fs_pad_f8e4m3 = 0,
    fs_pad_f8e5m2 = 0,
    fs_pad_gf8e4m3 = 0,
    fs_pad_gf8e5m2 = 0,
    fs_pad_i8 = 0,
    fs_pad_u8 = 0
};
enum {
    fs_k_pad_f16 = 8,
    fs_k_pad_bf16 = 8,
    fs_k_pad_tf32 = 4,
    fs_k_pad_f = 0,
    fs_k_pad_d = 0,
    fs_k_pad_i = 0,
    fs_k_pad_l = 0,
    fs_k_pad_gf16 = 0,
    fs_k_pad_gbf16 = 0,
    fs_k_pad_f8e4m3 = 16,
    fs_k_pad_f8e5m2 = 16,
    fs_k_pad_gf8e4m3 = 0,
    fs_k_pad_gf8e5m2 = 0,
    fs_k_pad_i8 = 16,
    fs_k_pad_u8 = 16
};
enum {
    fs_grouped_f = 0,
    fs_grouped_d = 0,
    fs_grouped_i = 0,
    fs_grouped_l = 0,
    fs_grouped_f16 = 0,
    fs_grouped_bf16 = 0,
    fs_grouped_tf32 = 0,
    fs_grouped_gf16 = 1,
    fs_grouped_gbf16 = 1,
    fs_grouped_f8e4m3 = 0,
    fs_grouped_f8e5m2 = 0,
    fs_grouped_gf8e4m3 = 1,
    fs_grouped_gf8e5m2 = 1,
    fs_grouped_i8 = 0,
    fs_grouped_u8 = 0
};

/* tile_m x tile_n results, in steps of `step` along k, by across_m x across_n threads (or warps) side by side. */
#define FS_TILE(kind, tile_m, tile_n, step, stages, across_m, across_n)                                                \
    {                                                                                                                  \
        enum {                                                                                                         \
            fs_tm = tile_m,                                                                                            \
            fs_tn = tile_n,                                                                                            \
            fs_step = step,                                                                                            \
            fs_stages = stages,                                                                                        \
            fs_across_m = across_m,                                                                                    \
            fs_across_n = across_n,                                                                                    \
            fs_grouped = fs_grouped_##kind,                                                                            \
            fs_pending = fs_grouped && fs_stages > 3, /* products that still run in the next step */                   \
            fs_ahead = fs_stages - 1 - fs_pending,    /* steps that loads run ahead */                                 \
            fs_each = fs_tm * fs_tn / fs_threads                                                                       \
        };                                                                                                             \
        typedef fs_tile_##kind fs_element;                                                                             \
        fs_element *fs_free = (fs_element *)(fs_grouped ? fs_lines_shared() : fs_dynamic_shared());
#define FS_TILE_END }
#define FS_TILE_OPERAND(kind, x, count, first, all, along_k, vector)                                                   \
    enum {                                                                                                             \
        fs_##x##_count = count,                                                                                        \
        fs_##x##_all = all,                                                                                            \
        fs_##x##_along = along_k,                                                                                      \
        fs_##x##_vector = vector,                                                                                      \
        fs_##x##_each = (count)*fs_step / fs_threads,                                                                  \
        fs_##x##_in_k = fs_in_k_##kind == 2 || ((along_k) && fs_in_k_##kind),                                          \
        fs_##x##_pitch = fs_##x##_in_k ? fs_step + fs_k_pad_##kind : (count) + fs_pad_##kind,                          \
        fs_##x##_size = fs_grouped ? (count)*fs_step : (fs_##x##_in_k ? (count) : fs_step) * fs_##x##_pitch            \
    };                                                                                                                 \
    const fs_int fs_##x##_first = first;                                                                               \
    fs_element *const fs_##x = fs_free;                                                                                \
    fs_free += fs_stages * fs_##x##_size;
#define FS_TILE_ROWS(kind, x, along_k, vector)    FS_TILE_OPERAND(kind, x, fs_tm, fs_m0, fs_rows, along_k, vector)
#define FS_TILE_COLUMNS(kind, x, along_k, vector) FS_TILE_OPERAND(kind, x, fs_tn, fs_n0, fs_columns, along_k, vector)
#define FS_TILE_SUM(kind, sum)                                                                                         \
    fs_sum_##kind sum[fs_each];                                                                                        \
    FS_UNROLL for (int fs_e = 0; fs_e < fs_each; fs_e++) sum[fs_e] = 0;

/* Operands are loaded fs_ahead steps ahead: what step fs_s loads, step fs_s + fs_ahead multiplies. _OF: part `part` of
 * k, of `span` each. */
#define FS_TILE_STEPS(depth)                FS_TILE_STEPS_FROM(depth, 0, depth, (depth) % fs_step == 0)
#define FS_TILE_STEPS_OF(part, span, depth) FS_TILE_STEPS_FROM(depth, (part) * (span), span, (depth) % (span) == 0)
#define FS_TILE_STEPS_FROM(depth, from, span, exact)                                                                   \
    FS_TILE_STEPS_OVER(depth, from, span, exact, 0, fs_steps + fs_ahead)
#define FS_TILE_STEPS_OVER(depth, from, span, exact, first, end)                                                       \
    {                                                                                                                  \
        enum { fs_depth = depth, fs_exact = exact, fs_steps = ((span) + fs_step - 1) / fs_step };                      \
        for (int fs_s = first; fs_s < (end); fs_s++) {                                                                 \
            const fs_int fs_k0 = (from) + fs_s * fs_step;
/* The same in two loops: one that only loads, and one whose steps all multiply. */
#define FS_TILE_FIRST_STEPS(depth) FS_TILE_STEPS_OVER(depth, 0, depth, (depth) % fs_step == 0, 0, fs_ahead)
#define FS_TILE_FIRST_STEPS_OF(part, span, depth)                                                                      \
    FS_TILE_STEPS_OVER(depth, (part) * (span), span, (depth) % (span) == 0, 0, fs_ahead)
#define FS_TILE_NEXT_STEPS(depth)                                                                                      \
    FS_TILE_STEPS_OVER(depth, 0, depth, (depth) % fs_step == 0, fs_ahead, fs_steps + fs_ahead)
#define FS_TILE_NEXT_STEPS_OF(part, span, depth)                                                                       \
    FS_TILE_STEPS_OVER(depth, (part) * (span), span, (depth) % (span) == 0, fs_ahead, fs_steps + fs_ahead)
/* A barrier: the operands of this step are in shared memory, and the part that this step overwrites has been
 * multiplied. */
#define FS_TILE_READY                                                                                                  \
    if (fs_grouped || fs_s >= fs_ahead)                                                                                \
        fs_barrier();
#define FS_TILE_READY_ASYNC                                                                                            \
    if (fs_grouped || fs_s >= fs_ahead) {                                                                              \
        fs_copy_wait(fs_ahead - 1);                                                                                    \
        if (fs_grouped)                                                                                                \
            fs_groups_see();                                                                                           \
        fs_barrier();                                                                                                  \
    }
#define FS_TILE_STEPS_END                                                                                              \
    }                                                                                                                  \
    }
#define FS_TILE_COMMIT fs_copy_commit();

#define FS_TILE_INSIDE(x, row, k)                                                                                      \
    ((fs_##x##_all % fs_##x##_count == 0 || (row) < fs_##x##_all) && (fs_exact || (k) < fs_depth))
#define FS_TILE_INDEX(x, row, k)                                                                                       \
    (fs_grouped      ? fs_line_place(fs_##x##_in_k, row, k, fs_step, (int)sizeof(fs_element))                          \
     : fs_##x##_in_k ? (row)*fs_##x##_pitch + (k)                                                                      \
                     : (k)*fs_##x##_pitch + (row))
/* A thread loads `vector` neighbouring elements at a time; elements outside of the operand are 0. */
#define FS_TILE_GROUPS(x)                                                                                              \
    if (fs_s < fs_steps) {                                                                                             \
        enum { fs_vector = fs_##x##_vector };                                                                          \
        FS_UNROLL for (int fs_e = 0; fs_e < fs_##x##_each / fs_vector; fs_e++)                                         \
        {                                                                                                              \
            const int fs_at = (fs_e * fs_threads + fs_t) * fs_vector;
#define FS_TILE_LOAD(x)                                                                                                \
    FS_ALIGNED(16) fs_element fs_##x##_stage[fs_##x##_each];                                                           \
    FS_UNROLL for (int fs_e = 0; fs_e < fs_##x##_each; fs_e++) fs_##x##_stage[fs_e] = 0;                               \
    FS_TILE_GROUPS(x)
#define FS_TILE_LOAD_K(x, i, r)                                                                                        \
    FS_TILE_LOAD(x)                                                                                                    \
    const fs_int i = fs_##x##_first + fs_at / fs_step, fs_c = fs_k0 + fs_at % fs_step;                                 \
    (void)i;                                                                                                           \
    if (FS_TILE_INSIDE(x, i, fs_c)) {
#define FS_TILE_LOAD_C(x, c, k)                                                                                        \
    FS_TILE_LOAD(x)                                                                                                    \
    const fs_int fs_c = fs_##x##_first + fs_at % fs_##x##_count, k = fs_k0 + fs_at / fs_##x##_count;                   \
    (void)k;                                                                                                           \
    if (FS_TILE_INSIDE(x, fs_c, k)) {
#define FS_TILE_LOAD_END                                                                                               \
    }                                                                                                                  \
    }                                                                                                                  \
    }
#define FS_TILE_SET(kind, x, row, k, value) fs_##x##_stage[fs_e * fs_vector + fs_j] = FS_TILE_TO_##kind(value);
#define FS_TILE_COPY_K(x, i, r)                                                                                        \
    FS_TILE_GROUPS(x)                                                                                                  \
    const fs_int fs_row = fs_at / fs_step, fs_k = fs_at % fs_step, i = fs_##x##_first + fs_row, r = fs_k0 + fs_k;      \
    fs_element *const fs_to = fs_##x + fs_s % fs_stages * fs_##x##_size + FS_TILE_INDEX(x, fs_row, fs_k);              \
    if (FS_TILE_INSIDE(x, i, r)) {
#define FS_TILE_COPY_C(x, c, k)                                                                                        \
    FS_TILE_GROUPS(x)                                                                                                  \
    const fs_int fs_row = fs_at % fs_##x##_count, fs_k = fs_at / fs_##x##_count, c = fs_##x##_first + fs_row,          \
                 k = fs_k0 + fs_k;                                                                                     \
    fs_element *const fs_to = fs_##x + fs_s % fs_stages * fs_##x##_size + FS_TILE_INDEX(x, fs_row, fs_k);              \
    if (FS_TILE_INSIDE(x, c, k)) {
#define FS_TILE_FETCH(kind, x, row, k, pointer, i) fs_copy_async(fs_to, &(pointer)[i]);
#define FS_TILE_COPY_END(x)                                                                                            \
    }                                                                                                                  \
    else fs_zero16(fs_to);                                                                                             \
    }                                                                                                                  \
    }
FS_FN void fs_zero16(void *to)
{
    for (int i = 0; i < 4; i++)
        ((fs_group16 *)to)->at[i] = 0;
}
/* Stores in shared memory what FS_TILE_LOAD computed. */
#define FS_TILE_STORE(x)                                                                                               \
    FS_TILE_GROUPS(x)                                                                                                  \
    fs_element *const fs_to = fs_##x + fs_s % fs_stages * fs_##x##_size;                                               \
    const int fs_row = fs_##x##_along ? fs_at / fs_step : fs_at % fs_##x##_count,                                      \
              fs_k = fs_##x##_along ? fs_at % fs_step : fs_at / fs_##x##_count;                                        \
    if (fs_##x##_in_k == fs_##x##_along)                                                                               \
        fs_copy_group(&fs_to[FS_TILE_INDEX(x, fs_row, fs_k)], &fs_##x##_stage[fs_e * fs_vector],                       \
                      (int)(fs_vector * sizeof(fs_element)));                                                          \
    else                                                                                                               \
        FS_UNROLL for (int fs_j = 0; fs_j < fs_vector; fs_j++)                                                         \
            fs_to[FS_TILE_INDEX(x, fs_row + (fs_##x##_along ? 0 : fs_j), fs_k + (fs_##x##_along ? fs_j : 0))] =        \
                fs_##x##_stage[fs_e * fs_vector + fs_j];                                                               \
    }                                                                                                                  \
    }

#define FS_TILE_MULTIPLY(kind, sum, x, y)                                                                              \
    if (fs_grouped || fs_s >= fs_ahead) {                                                                              \
        const fs_tile_shape fs_shape = {fs_tm, fs_tn, fs_step, fs_across_m, fs_across_n};                              \
        const fs_tile_operand fs_of_rows = {fs_##x + (fs_s - fs_ahead) % fs_stages * fs_##x##_size, fs_##x##_in_k,     \
                                            fs_##x##_pitch};                                                           \
        const fs_tile_operand fs_of_columns = {fs_##y + (fs_s - fs_ahead) % fs_stages * fs_##y##_size, fs_##y##_in_k,  \
                                               fs_##y##_pitch};                                                        \
        fs_multiply_##kind(sum, fs_of_rows, fs_of_columns, fs_shape);                                                  \
    }

/* The sizes of FS_TILE; an operand's part of a step in shared memory: do its neighbours follow k, and the elements from
 * one line to the next. */
typedef struct {
    int tm, tn, step, across_m, across_n;
} fs_tile_shape;
typedef struct {
    const void *at;
    int in_k, pitch;
} fs_tile_operand;

/* A thread's rows and columns: groups of four neighbours (fewer where it has fewer in all), spread over the whole
 * tile. A thread's sum `at` is at row fs_row_.. and column fs_column_.. */
FS_FN int fs_spread(int i, int each, int across, int place)
{
    const int group = each < 4 ? each : 4;
    return i / group * (across * group) + place * group + i % group;
}
FS_FN int fs_row_simt(int at, int tm, int tn, int across_m, int across_n)
{
    return fs_spread(at / (tn / across_n), tm / across_m, across_m, fs_thread() / across_n);
}
FS_FN int fs_column_simt(int at, int tm, int tn, int across_m, int across_n)
{
    (void)tm;
    (void)across_m;
    return fs_spread(at % (tn / across_n), tn / across_n, across_n, fs_thread() % across_n);
}
#define FS_TILE_THREADS(kind, type)                                                                                    \
    FS_FN void fs_multiply_##kind(type *sum, fs_tile_operand left_operand, fs_tile_operand right_operand,              \
                                  fs_tile_shape s)                                                                     \
    {                                                                                                                  \
        enum { most = 16 };                                                                                            \
        const type *const x = (const type *)left_operand.at, *const y = (const type *)right_operand.at;                \
        const int rows = s.tm / s.across_m, columns = s.tn / s.across_n, group = rows < 4 ? rows : 4,                  \
                  across = columns < 4 ? columns : 4;                                                                  \
        FS_UNROLL for (int k = 0; k < s.step; k++)                                                                     \
        {                                                                                                              \
            FS_ALIGNED(16) type left[most], right[most];                                                               \
            FS_UNROLL for (int i = 0; i < rows; i += group) fs_copy_group(                                             \
                &left[i], &x[k * left_operand.pitch + fs_spread(i, rows, s.across_m, fs_thread() / s.across_n)],       \
                group *(int)sizeof(type));                                                                             \
            FS_UNROLL for (int j = 0; j < columns; j += across) fs_copy_group(                                         \
                &right[j], &y[k * right_operand.pitch + fs_spread(j, columns, s.across_n, fs_thread() % s.across_n)],  \
                across *(int)sizeof(type));                                                                            \
            FS_UNROLL for (int i = 0; i < rows; i++) FS_UNROLL for (int j = 0; j < columns; j++)                       \
                sum[i * columns + j] += left[i] * right[j];                                                            \
        }                                                                                                              \
    }
FS_TILE_THREADS(f, float)
FS_TILE_THREADS(d, double)
FS_TILE_THREADS(i, int)
FS_TILE_THREADS(l, fs_i64)

/* A warp computes tm / across_m rows and tn / across_n columns, in fragments of 16 x 8 sums: lane t has columns 2 (t
 * % 4) and 2 (t % 4) + 1 of rows t / 4 and t / 4 + 8. */
FS_FN int fs_row_mma(int at, int tm, int tn, int across_m, int across_n)
{
    const int fragment = at / 4 / (tn / across_n / 8);
    return fs_thread() / 32 / across_n * (tm / across_m) + fragment * 16 + at / 2 % 2 * 8 + fs_thread() % 32 / 4;
}
FS_FN int fs_column_mma(int at, int tm, int tn, int across_m, int across_n)
{
    const int fragment = at / 4 % (tn / across_n / 8);
    (void)tm;
    (void)across_m;
    return fs_thread() / 32 % across_n * (tn / across_n) + fragment * 8 + fs_thread() % 4 * 2 + at % 2;
}
/* The layout of a kind's sums. */
#define FS_LAYOUT_f                simt
#define FS_LAYOUT_d                simt
#define FS_LAYOUT_i                simt
#define FS_LAYOUT_l                simt
#define FS_LAYOUT_f16              mma
#define FS_LAYOUT_bf16             mma
#define FS_LAYOUT_tf32             mma
#define FS_LAYOUT_gf16             mma
#define FS_LAYOUT_gbf16            mma
#define FS_LAYOUT_f8e4m3           mma
#define FS_LAYOUT_f8e5m2           mma
#define FS_LAYOUT_i8               mma
#define FS_LAYOUT_u8               mma
#define FS_LAYOUT_gf8e4m3          mma
#define FS_LAYOUT_gf8e5m2          mma
#define FS_PASTED(what, layout)    what##_##layout
#define FS_BY_LAYOUT(what, layout) FS_PASTED(what, layout)
#define FS_LAID_OUT(what, kind)    FS_BY_LAYOUT(what, FS_LAYOUT_##kind)
/* The columns that a thread has sums of: how many, which one sum `at` is of, and a sum that is of column `slot`.
 * Threads (warps) of different lines have different rows of the same columns; within a warp eight threads have. */
#define fs_slots_simt(tn, across_n)    ((tn) / (across_n))
#define fs_slots_mma(tn, across_n)     ((tn) / (across_n) / 4)
#define fs_slot_simt(at, tn, across_n) ((at) % ((tn) / (across_n)))
#define fs_slot_mma(at, tn, across_n)  ((at) / 4 % ((tn) / (across_n) / 8) * 2 + (at) % 2)
#define fs_at_simt(slot)               (slot)
#define fs_at_mma(slot)                ((slot) / 2 * 4 + (slot) % 2)
#define fs_line_simt(across_n)         (fs_thread() / (across_n))
#define fs_line_mma(across_n)          (fs_thread() / 32 / (across_n))
#define fs_first_row_simt()            1
#define fs_first_row_mma()             (fs_thread() % 32 < 4)
#define FS_FRAGMENT_ROWS_simt(s, sum)
#define FS_FRAGMENT_ROWS_mma(s, sum)                                                                                   \
    sum += fs_shfl_##s(sum, 4);                                                                                        \
    sum += fs_shfl_##s(sum, 8);                                                                                        \
    sum += fs_shfl_##s(sum, 16);

#if !defined(FS_CUDA) || defined(FS_SM_80)
enum { fs_most_rows = 4, fs_most_columns = 8 }; /* fragments that a warp has at most */
enum { fs_byte_steps = 2 };                     /* pieces of 32 bytes in a step */
/* 16 rows x 16 elements of k: the four matrices of an A fragment. 16 columns x 16 elements of k: two B fragments. */
FS_FN void fs_left_16(fs_u32 r[4], fs_tile_operand left, int row, int k)
{
    const fs_u16 *const x = (const fs_u16 *)left.at;
    const int lane = fs_thread() % 32;
    if (left.in_k)
        fs_ldmatrix4(r, &x[(row + lane % 16) * left.pitch + k + lane / 16 * 8]);
    else
        fs_ldmatrix4_trans(r, &x[(k + lane / 16 * 8 + lane % 8) * left.pitch + row + lane / 8 % 2 * 8]);
}
FS_FN void fs_right_16(fs_u32 r[4], fs_tile_operand right, int column, int k)
{
    const fs_u16 *const y = (const fs_u16 *)right.at;
    const int lane = fs_thread() % 32;
    if (right.in_k)
        fs_ldmatrix4(r, &y[(column + lane / 16 * 8 + lane % 8) * right.pitch + k + lane / 8 % 2 * 8]);
    else
        fs_ldmatrix4_trans(r, &y[(k + lane % 16) * right.pitch + column + lane / 16 * 8]);
}
#define FS_TILE_WARPS(kind)                                                                                            \
    FS_FN void fs_multiply_##kind(float *sum, fs_tile_operand x, fs_tile_operand y, fs_tile_shape s)                   \
    {                                                                                                                  \
        const int warp = fs_thread() / 32, rows = s.tm / s.across_m / 16, columns = s.tn / s.across_n / 8,             \
                  row0 = warp / s.across_n * (s.tm / s.across_m), column0 = warp % s.across_n * (s.tn / s.across_n);   \
        FS_UNROLL for (int k = 0; k < s.step; k += 16)                                                                 \
        {                                                                                                              \
            fs_u32 left[fs_most_rows][4], right[fs_most_columns / 2][4];                                               \
            FS_UNROLL for (int i = 0; i < rows; i++) fs_left_16(left[i], x, row0 + i * 16, k);                         \
            FS_UNROLL for (int j = 0; j < columns / 2; j++) fs_right_16(right[j], y, column0 + j * 16, k);             \
            FS_UNROLL for (int i = 0; i < rows; i++) FS_UNROLL for (int j = 0; j < columns; j++) fs_mma_##kind(        \
                &sum[(i * columns + j) * 4], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);           \
        }                                                                                                              \
    }
FS_TILE_WARPS(f16)
FS_TILE_WARPS(bf16)

/* 8 bits, neighbours along k, lie as pairs of 16 bits do. Of floats tensor units keep about 14 bits of a sum of their
 * products, so each step's sums begin at zero and are added up in f32; sums of integers are exact. */
#define FS_TILE_BYTES(kind, type)                                                                                      \
    FS_FN void fs_multiply_##kind(type *sum, fs_tile_operand x, fs_tile_operand y, fs_tile_shape s)                    \
    {                                                                                                                  \
        const fs_tile_operand left_pairs = {x.at, 1, x.pitch / 2}, right_pairs = {y.at, 1, y.pitch / 2};               \
        const int warp = fs_thread() / 32, rows = s.tm / s.across_m / 16, columns = s.tn / s.across_n / 8,             \
                  row0 = warp / s.across_n * (s.tm / s.across_m), column0 = warp % s.across_n * (s.tn / s.across_n);   \
        fs_u32 left[fs_byte_steps][fs_most_rows][4];                                                                   \
        FS_UNROLL for (int k = 0; k < s.step / 32; k++) FS_UNROLL for (int i = 0; i < rows; i++)                       \
            fs_left_16(left[k][i], left_pairs, row0 + i * 16, k * 16);                                                 \
        FS_UNROLL for (int j = 0; j < columns / 2; j++)                                                                \
        {                                                                                                              \
            fs_u32 right[fs_byte_steps][4];                                                                            \
            FS_UNROLL for (int k = 0; k < s.step / 32; k++)                                                            \
                fs_right_16(right[k], right_pairs, column0 + j * 16, k * 16);                                          \
            FS_UNROLL for (int i = 0; i < rows; i++) FS_UNROLL for (int half = 0; half < 2; half++)                    \
            {                                                                                                          \
                type part[4] = {0, 0, 0, 0}, *const to = &sum[(i * columns + 2 * j + half) * 4];                       \
                FS_UNROLL for (int k = 0; k < s.step / 32; k++)                                                        \
                    fs_mma_##kind(part, left[k][i], right[k][half * 2], right[k][half * 2 + 1]);                       \
                FS_UNROLL for (int q = 0; q < 4; q++) to[q] += part[q];                                                \
            }                                                                                                          \
        }                                                                                                              \
    }
FS_TILE_BYTES(i8, int)
FS_TILE_BYTES(u8, int)
#if !defined(FS_CUDA) || defined(FS_SM_89)
FS_TILE_BYTES(f8e4m3, float)
FS_TILE_BYTES(f8e5m2, float)
#endif

#ifdef FS_CUDA
FS_FN fs_u32 fs_to_tf32(float x)
{
    fs_u32 u;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(u) : "f"(x));
    return u;
}
#else
FS_FN fs_u32 fs_to_tf32(float x) { return x == x ? fs_bits(x) + 0x1000u : fs_bits(x); }
#endif
FS_FN void fs_multiply_tf32(float *sum, fs_tile_operand left_operand, fs_tile_operand right_operand, fs_tile_shape s)
{
    const float *const x = (const float *)left_operand.at, *const y = (const float *)right_operand.at;
    const int warp = fs_thread() / 32, lane = fs_thread() % 32, rows = s.tm / s.across_m / 16,
              columns = s.tn / s.across_n / 8, row0 = warp / s.across_n * (s.tm / s.across_m) + lane / 4,
              column0 = warp % s.across_n * (s.tn / s.across_n) + lane / 4;
    const int x_row = left_operand.in_k ? left_operand.pitch : 1, x_k = left_operand.in_k ? 1 : left_operand.pitch,
              y_column = right_operand.in_k ? right_operand.pitch : 1,
              y_k = right_operand.in_k ? 1 : right_operand.pitch;
    FS_UNROLL for (int k = 0; k < s.step; k += 8)
    {
        fs_u32 left[fs_most_rows][4], right[fs_most_columns][2];
        FS_UNROLL for (int i = 0; i < rows; i++) FS_UNROLL for (int q = 0; q < 4; q++) left[i][q] =
            fs_to_tf32(x[(row0 + i * 16 + q % 2 * 8) * x_row + (k + lane % 4 + q / 2 * 4) * x_k]);
        FS_UNROLL for (int j = 0; j < columns; j++) FS_UNROLL for (int q = 0; q < 2; q++) right[j][q] =
            fs_to_tf32(y[(column0 + j * 8) * y_column + (k + lane % 4 + q * 4) * y_k]);
        FS_UNROLL for (int i = 0; i < rows; i++) FS_UNROLL for (int j = 0; j < columns; j++)
            fs_mma_tf32(&sum[(i * columns + j) * 4], left[i], right[j][0], right[j][1]);
    }
}
#endif

/* A block's sums by rows, in shared memory: its threads then go through them, `threads` to a row, or to a block of
 * `length` of its elements. p: the number of the row, or of the block. */
#define FS_TILE_KEEP(kind, sum, type)                                                                                  \
    enum { fs_kept_pitch = fs_tn + 4 };                                                                                \
    type *const fs_kept = (type *)fs_dynamic_shared();                                                                 \
    fs_barrier();                                                                                                      \
    FS_UNROLL for (int fs_e = 0; fs_e < fs_each; fs_e++)                                                               \
        fs_kept[FS_LAID_OUT(fs_row, kind)(fs_e, fs_tm, fs_tn, fs_across_m, fs_across_n) * fs_kept_pitch +              \
                FS_LAID_OUT(fs_column, kind)(fs_e, fs_tm, fs_tn, fs_across_m, fs_across_n)] = sum[fs_e];               \
    fs_barrier();
#define FS_TILE_EACH_ROW(b, p, type, name, length, threads)                                                            \
    {                                                                                                                  \
        enum {                                                                                                         \
            fs_row_threads = threads,                                                                                  \
            fs_most = 2147483647,                                                                                      \
            fs_beside = fs_tn / (length) > 0 ? fs_tn / (length) : 1,                                                   \
            fs_slots = fs_threads / (threads)                                                                          \
        };                                                                                                             \
        for (int fs_round = 0; fs_round < (fs_tm * fs_beside + fs_slots - 1) / fs_slots; fs_round++) {                 \
            const int fs_own = fs_round * fs_slots + fs_t / fs_row_threads, fs_lane = fs_t % fs_row_threads,           \
                      fs_down = fs_own < fs_tm * fs_beside ? fs_own / fs_beside : 0, fs_along = fs_own % fs_beside;    \
            const fs_int fs_at_row = fs_m0 + fs_down, fs_at_block = fs_n0 / (length) + fs_along;                       \
            const int fs_live =                                                                                        \
                fs_own < fs_tm * fs_beside && fs_at_row < fs_rows && fs_at_block < fs_columns / (length);              \
            const fs_int p = fs_live ? ((b)*fs_rows + fs_at_row) * (fs_columns / (length)) + fs_at_block : 0;          \
            const type *const name = fs_kept + fs_down * fs_kept_pitch + fs_along * (length);                          \
            const fs_int fs_from = 0, fs_to = (fs_int)FS_MOSTi;                                                        \
            double *const fs_scratch = (double *)fs_kept;                                                              \
            int fs_turn = 0;                                                                                           \
            (void)p;                                                                                                   \
            (void)name;                                                                                                \
            (void)fs_scratch;                                                                                          \
            (void)fs_turn;
#define FS_TILE_EACH_ROW_END                                                                                           \
    }                                                                                                                  \
    }
#define FS_TILE_RESULTS(kind, o, c, b, vector)                                                                         \
    {                                                                                                                  \
        enum { fs_vector = vector };                                                                                   \
        FS_UNROLL for (int fs_e = 0; fs_e < fs_each / fs_vector; fs_e++)                                               \
        {                                                                                                              \
            const fs_int fs_row = fs_m0 +                                                                              \
                                  FS_LAID_OUT(fs_row, kind)(fs_e * fs_vector, fs_tm, fs_tn, fs_across_m, fs_across_n), \
                         fs_c = fs_n0 + FS_LAID_OUT(fs_column, kind)(fs_e * fs_vector, fs_tm, fs_tn, fs_across_m,      \
                                                                     fs_across_n);                                     \
            if ((fs_rows % fs_tm == 0 || fs_row < fs_rows) && (fs_columns % fs_tn == 0 || fs_c < fs_columns)) {        \
                const fs_int o = (b)*fs_rows + fs_row;                                                                 \
                (void)o;
#define FS_TILE_SUMMED(sum) sum[fs_e * fs_vector + fs_j]
#define FS_TILE_RESULTS_END                                                                                            \
    }                                                                                                                  \
    }                                                                                                                  \
    }

#endif
