
#ifdef FS_GPU

#define FS_BLOCKS(threads)                                                                                             \
    {                                                                                                                  \
        const fs_i64 fs_b = fs_block();                                                                                \
        const int fs_t = fs_thread();                                                                                  \
        enum { fs_threads = threads };
#define FS_BLOCKS_END                                                                                                  \
    (void)fs_b;                                                                                                        \
    (void)fs_t;                                                                                                        \
    }

/* Points: a thread computes `vector` neighbouring inner points of one outer point. */
#define FS_POINTS(first, o, c, points, inner, vector)                                                                  \
    {                                                                                                                  \
        enum { fs_vector = vector };                                                                                   \
        const fs_i64 fs_i = ((fs_b - (first)) * fs_threads + fs_t) * (vector);                                         \
        if (fs_i >= 0 && fs_i < (points)) {                                                                            \
            const fs_int o = (fs_int)fs_i / (fs_int)(inner), fs_c = (fs_int)fs_i - o * (fs_int)(inner);                \
            (void)o;
#define FS_LANES(c)                                                                                                    \
    FS_UNROLL for (int fs_j = 0; fs_j < fs_vector; fs_j++)                                                             \
    {                                                                                                                  \
        const fs_int c = fs_c + fs_j;                                                                                  \
        (void)c;
#define FS_LANES_BY(c, clause) FS_LANES(c)
#define FS_LANES_END           }
#define FS_POINTS_END                                                                                                  \
    }                                                                                                                  \
    }
/* Tiles: a block computes 32 x 32 points, with lanes along c. A tensor that is contiguous along y goes through
 * shared memory: a loop with lanes along y loads or stores it. Loaded tiles are complete after FS_TILE_BARRIER. i is
 * the element's number at (y, c). */
#define FS_TILES(first, o, y, c, others, rows, columns)                                                                \
    {                                                                                                                  \
        enum { fs_high = (int)(((rows) + 31) / 32), fs_broad = (int)(((columns) + 31) / 32) };                         \
        const int fs_tile = (int)(fs_b - (first));                                                                     \
        if (fs_tile >= 0 && fs_tile < (others)*fs_high * fs_broad) {                                                   \
            const fs_int fs_rows = rows, fs_columns = columns;                                                         \
            const fs_int o = fs_tile / (fs_high * fs_broad), fs_rest = fs_tile % (fs_high * fs_broad);                 \
            const fs_int fs_y = fs_rest / fs_broad * 32, fs_c = fs_rest % fs_broad * 32;                               \
            (void)o;
#define FS_TILE_WALK(y, c, along, across)                                                                              \
    FS_UNROLL for (int fs_k = 0; fs_k < 1024 / fs_threads; fs_k++)                                                     \
    {                                                                                                                  \
        const int fs_at = fs_k * fs_threads + fs_t;                                                                    \
        const fs_int along = fs_##along + fs_at % 32, across = fs_##across + fs_at / 32;                               \
        if (y < fs_rows && c < fs_columns) {
#define FS_STAGE(type, name, pointer, i)                                                                               \
    FS_SHARED(type, name, 32 * 33);                                                                                    \
    FS_TILE_WALK(y, c, y, c) name[fs_at / 32 * 33 + fs_at % 32] = (pointer)[i];                                        \
    }                                                                                                                  \
    }
#define FS_STAGE_ROOM(type, name) FS_SHARED(type, name, 32 * 33);
#define FS_TILE_BARRIER           fs_barrier();
#define FS_TILE_LANES(y, c)       FS_TILE_WALK(y, c, c, y)
#define FS_STAGED(name)           name[fs_at % 32 * 33 + fs_at / 32]
#define FS_TILE_LANES_END                                                                                              \
    }                                                                                                                  \
    }
#define FS_UNSTAGE(name, pointer, i)                                                                                   \
    FS_TILE_WALK(y, c, y, c)(pointer)[i] = name[fs_at / 32 * 33 + fs_at % 32];                                         \
    }                                                                                                                  \
    }
#define FS_TILES_END                                                                                                   \
    }                                                                                                                  \
    }
/* Vector accesses. FS_GET loads a thread's neighbouring elements in front of the loop over lanes, FS_AT is a lane's
 * element; FS_ROOM, FS_PUT and FS_FLUSH do the same for stores. i is the first lane's element. */
#define FS_GROUP(type)                                                                                                 \
    struct FS_ALIGNED(sizeof(type) * fs_vector) {                                                                      \
        type at[fs_vector];                                                                                            \
    }
#define FS_GET(type, name, pointer, i)                                                                                 \
    FS_GROUP(type) name;                                                                                               \
    {                                                                                                                  \
        const fs_int c = fs_c, r = fs_c;                                                                               \
        (void)c;                                                                                                       \
        (void)r;                                                                                                       \
        fs_copy_group(&name, &(pointer)[i], sizeof name);                                                              \
    }
#define FS_AT(name, pointer, i)         name.at[fs_j]
#define FS_ROOM(type, name)             FS_GROUP(type) name;
#define FS_PUT(name, pointer, i, value) name.at[fs_j] = (value)
#define FS_FLUSH(type, name, pointer, i)                                                                               \
    {                                                                                                                  \
        const fs_int c = fs_c, r = fs_c;                                                                               \
        (void)c;                                                                                                       \
        (void)r;                                                                                                       \
        fs_copy_group(&(pointer)[i], &name, sizeof name);                                                              \
    }
typedef struct FS_ALIGNED(16) {
    fs_u32 at[4];
} fs_group16;
typedef struct FS_ALIGNED(8) {
    fs_u32 at[2];
} fs_group8;
FS_FN void fs_copy_group(void *to, const void *from, int bytes)
{
    if (bytes % 16 == 0)
        for (int i = 0; i < bytes / 16; i++)
            ((fs_group16 *)to)[i] = ((const fs_group16 *)from)[i];
    else if (bytes == 8)
        *(fs_group8 *)to = *(const fs_group8 *)from;
    else if (bytes == 4)
        *(fs_u32 *)to = *(const fs_u32 *)from;
    else if (bytes == 2)
        *(fs_u16 *)to = *(const fs_u16 *)from;
    else
        *(fs_u8 *)to = *(const fs_u8 *)from;
}

/* Rows: `threads` threads of a block share a row. Threads without a row take part in the barriers only. A loop over
 * the row takes fs_steps steps of fs_step elements; it is unrolled whole (FS_UNROLL) where the row is kept in
 * registers, otherwise four times (FS_UNROLL_FOUR). */
#define FS_ROWS(p, rows, per_block, threads)                                                                           \
    {                                                                                                                  \
        enum { fs_row_threads = threads, fs_most = 2147483647 };                                                       \
        const fs_i64 fs_row = fs_b * (per_block) + fs_t / (threads);                                                   \
        const int fs_live = (rows) % (per_block) == 0 || fs_row < (rows), fs_lane = fs_t % (threads);                  \
        const fs_int p = (fs_int)(fs_live ? fs_row : (rows)-1);                                                        \
        const fs_int fs_from = 0, fs_to = (fs_int)FS_MOSTi;                                                            \
        FS_SHARED(double, fs_scratch, 64);                                                                             \
        int fs_turn = 0;                                                                                               \
        (void)p;                                                                                                       \
        (void)fs_scratch;                                                                                              \
        (void)fs_turn;                                                                                                 \
        (void)fs_lane;                                                                                                 \
        (void)fs_live;                                                                                                 \
        (void)fs_from;                                                                                                 \
        (void)fs_to;
#define FS_PIECES(p, rows, pieces, threads, piece)                                                                     \
    {                                                                                                                  \
        enum { fs_row_threads = threads, fs_most = piece };                                                            \
        const fs_int p = (fs_int)fs_b / (pieces), fs_piece = (fs_int)fs_b % (pieces);                                  \
        const int fs_live = 1, fs_lane = fs_t;                                                                         \
        const fs_int fs_from = fs_piece * (fs_int)(piece), fs_to = fs_from + (fs_int)(piece);                          \
        FS_SHARED(double, fs_scratch, 64);                                                                             \
        int fs_turn = 0;                                                                                               \
        (void)p;                                                                                                       \
        (void)fs_scratch;                                                                                              \
        (void)fs_turn;                                                                                                 \
        (void)fs_live;
#define FS_ROWS_END                    }
#define FS_STEPS(span, step)           (int)(((long long)(span) + (step)-1) / (step))
#define FS_WALK(r, width, vector)      FS_WALK_BY(FS_UNROLL_FOUR, width, vector)
#define FS_WALK_KEPT(r, width, vector) FS_WALK_BY(FS_UNROLL, width, vector)
#define FS_WALK_BY(loop, width, vector)                                                                                \
    {                                                                                                                  \
        enum {                                                                                                         \
            fs_vector = vector,                                                                                        \
            fs_step = fs_row_threads * fs_vector,                                                                      \
            fs_span = (width) < fs_most ? (int)(width) : fs_most,                                                      \
            fs_whole = (width) % fs_span == 0 ? fs_span / fs_step : 0                                                  \
        };                                                                                                             \
        const fs_int fs_stop = fs_to < (fs_int)(width) ? fs_to : (fs_int)(width);                                      \
        loop for (int fs_at = 0; fs_at < FS_STEPS(fs_span, fs_step); fs_at++)                                          \
        {                                                                                                              \
            const fs_int fs_c = fs_from + (fs_int)(fs_at * fs_row_threads + fs_lane) * fs_vector;                      \
            if (fs_live && (fs_at < fs_whole || fs_c < fs_stop)) {
#define FS_LANES_OF(r, clause)                                                                                         \
    FS_UNROLL for (int fs_j = 0; fs_j < fs_vector; fs_j++)                                                             \
    {                                                                                                                  \
        const fs_int r = fs_c + fs_j;                                                                                  \
        (void)r;
#define FS_WALK_END                                                                                                    \
    }                                                                                                                  \
    }                                                                                                                  \
    }
/* Rows that several loops read: the first loop loads and keeps them, FS_KEEP a vector at once, FS_KEEP_EACH element
 * by element. A thread reads back only what it kept itself, so no barrier is needed. */
#define FS_KEPT_IN_REGISTERS(type, name, width, vector)                                                                \
    struct FS_ALIGNED(sizeof(type) * (vector)) {                                                                       \
        type at[vector];                                                                                               \
    } name[FS_STEPS(width, fs_row_threads * (vector))];                                                                \
    enum { name##_next = 1 };
#define FS_KEPT_IN_SHARED(type, name, offset, width, vector)                                                           \
    struct name##_group {                                                                                              \
        type at[vector];                                                                                               \
    };                                                                                                                 \
    enum { name##_next = fs_row_threads };                                                                             \
    struct name##_group *const name = (struct name##_group *)((unsigned char *)fs_dynamic_shared() + (offset)) +       \
                                      fs_t / fs_row_threads * FS_STEPS(width, vector) + fs_lane;
#define FS_KEEP(name, pointer, i)                                                                                      \
    {                                                                                                                  \
        const fs_int r = fs_c;                                                                                         \
        (void)r;                                                                                                       \
        fs_copy_group(&name[fs_at * name##_next], &(pointer)[i], sizeof name[0]);                                      \
    }
#define FS_KEEP_EACH(name, pointer, i)                                                                                 \
    FS_UNROLL for (int fs_e = 0; fs_e < fs_vector; fs_e++)                                                             \
    {                                                                                                                  \
        const fs_int r = fs_c + fs_e;                                                                                  \
        (void)r;                                                                                                       \
        name[fs_at * name##_next].at[fs_e] = (pointer)[i];                                                             \
    }
#define FS_KEPT(name, pointer, i) name[fs_at * name##_next].at[fs_j]
#define FS_ONCE                   if (fs_live && fs_lane == 0)
#define FS_ROW_BARRIER            fs_barrier();
#define FS_ROW_ARRAY(type, name, width, rows)                                                                          \
    FS_SHARED(type, name##_rows, (width) * (rows));                                                                    \
    type *const name = name##_rows + fs_t / fs_row_threads * (width);
#define FS_DYNAMIC(type, name, offset, count)                                                                          \
    type *const name = (type *)((unsigned char *)fs_dynamic_shared() + (offset));

#define fs_shfl_f fs_shfl_xor_f32
#define fs_shfl_d fs_shfl_xor_f64
#define fs_shfl_i fs_shfl_xor_i32
#define fs_shfl_l fs_shfl_xor_i64
/* Combines a value over the `threads` threads of a row, a power of two: within warps, then over the warps through
 * `scratch`. Its two halves are used in turn: a thread that writes one half has passed the barrier
 * behind the last reads of it. Every thread of the block must take part. */
#define FS_ROW_COMBINE(name, s, type, x, y, combined)                                                                  \
    FS_FN type fs_row_##name##s(type x, int threads, double *scratch)                                                  \
    {                                                                                                                  \
        for (int d = threads < 32 ? threads / 2 : 16; d > 0; d >>= 1) {                                                \
            const type y = fs_shfl_##s(x, d);                                                                          \
            x = combined;                                                                                              \
        }                                                                                                              \
        if (threads > 32) {                                                                                            \
            const int warps = threads / 32, first = fs_thread() / threads * warps;                                     \
            type *const of = (type *)scratch;                                                                          \
            if (fs_thread() % 32 == 0)                                                                                 \
                of[fs_thread() / 32] = x;                                                                              \
            fs_barrier();                                                                                              \
            x = of[first + fs_thread() % warps];                                                                       \
            for (int d = warps / 2; d > 0; d >>= 1) {                                                                  \
                const type y = fs_shfl_##s(x, d);                                                                      \
                x = combined;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
        return x;                                                                                                      \
    }
FS_ROW_COMBINE(sum_, f, float, x, y, x + y)
FS_ROW_COMBINE(sum_, d, double, x, y, x + y)
FS_ROW_COMBINE(sum_, i, int, x, y, x + y)
FS_ROW_COMBINE(sum_, l, fs_i64, x, y, x + y)
FS_ROW_COMBINE(prod_, f, float, x, y, x *y)
FS_ROW_COMBINE(prod_, d, double, x, y, x *y)
FS_ROW_COMBINE(prod_, i, int, x, y, x *y)
FS_ROW_COMBINE(prod_, l, fs_i64, x, y, x *y)
FS_ROW_COMBINE(max_, f, float, x, y, fs_maxf(x, y))
FS_ROW_COMBINE(max_, d, double, x, y, fs_maxd(x, y))
FS_ROW_COMBINE(max_, i, int, x, y, fs_maxi(x, y))
FS_ROW_COMBINE(max_, l, fs_i64, x, y, fs_maxl(x, y))
FS_ROW_COMBINE(min_, f, float, x, y, fs_minf(x, y))
FS_ROW_COMBINE(min_, d, double, x, y, fs_mind(x, y))
FS_ROW_COMBINE(min_, i, int, x, y, fs_mini(x, y))
FS_ROW_COMBINE(min_, l, fs_i64, x, y, fs_minl(x, y))
#define FS_TURN           (fs_scratch + (fs_turn = 32 - fs_turn))
#define FS_ROW_SUM(s, a)  a = fs_row_sum_##s(a, fs_row_threads, FS_TURN);
#define FS_ROW_PROD(s, a) a = fs_row_prod_##s(a, fs_row_threads, FS_TURN);
#define FS_ROW_MAX(s, a)  a = fs_row_max_##s(a, fs_row_threads, FS_TURN);
#define FS_ROW_MIN(s, a)  a = fs_row_min_##s(a, fs_row_threads, FS_TURN);
/* Combines the online reductions of a row's threads, each in one pass. */
#define FS_COMBINE_EXP(rows, s, m, a)                                                                                  \
    {                                                                                                                  \
        const fs_type_##s mine_ = m;                                                                                   \
        FS_##rows##_MAX(s, m) a *= fs_rescale_##s(mine_, m);                                                           \
        FS_##rows##_SUM(s, a)                                                                                          \
    }
#define FS_COMBINE_MOMENTS(rows, s, n, mean, q)                                                                        \
    {                                                                                                                  \
        const fs_type_##s n_ = n, mean_ = mean;                                                                        \
        FS_##rows##_SUM(s, n) mean *= n_;                                                                              \
        FS_##rows##_SUM(s, mean) mean /= n;                                                                            \
        q += n_ * (mean_ - mean) * (mean_ - mean);                                                                     \
        FS_##rows##_SUM(s, q)                                                                                          \
    }
#define FS_ROW_EXP(s, m, a)            FS_COMBINE_EXP(ROW, s, m, a)
#define FS_ROW_MOMENTS(s, n, mean, q)  FS_COMBINE_MOMENTS(ROW, s, n, mean, q)
#define FS_BAND_EXP(s, m, a)           FS_COMBINE_EXP(BAND, s, m, a)
#define FS_BAND_MOMENTS(s, n, mean, q) FS_COMBINE_MOMENTS(BAND, s, n, mean, q)
/* The extreme value, and the index of the first element that has it. */
#define FS_ROW_ARGMAX(s, a, i)                                                                                         \
    {                                                                                                                  \
        const fs_type_##s mine_ = a;                                                                                   \
        a = fs_row_max_##s(a, fs_row_threads, FS_TURN);                                                                \
        i = mine_ == a ? i : FS_MOSTl;                                                                                 \
        i = fs_row_min_l(i, fs_row_threads, FS_TURN);                                                                  \
    }
#define FS_ROW_ARGMIN(s, a, i)                                                                                         \
    {                                                                                                                  \
        const fs_type_##s mine_ = a;                                                                                   \
        a = fs_row_min_##s(a, fs_row_threads, FS_TURN);                                                                \
        i = mine_ == a ? i : FS_MOSTl;                                                                                 \
        i = fs_row_min_l(i, fs_row_threads, FS_TURN);                                                                  \
    }

/* A row's running sum or product: in each step, each of the row's threads takes `vector` neighbouring elements, and
 * then gets the sum or product of all elements before them. start: the value for no elements. */
#define FS_SCAN(s, name, r, width, vector, start)                                                                      \
    {                                                                                                                  \
        enum { fs_vector = vector };                                                                                   \
        fs_type_##s fs_carry = start;                                                                                  \
        for (fs_int fs_base = 0; fs_base < (fs_int)(width); fs_base += fs_row_threads * fs_vector) {                   \
            const fs_int fs_c = fs_base + fs_lane * fs_vector;                                                         \
            fs_type_##s fs_part[fs_vector], name = start;                                                              \
            FS_UNROLL for (int fs_j = 0; fs_j < fs_vector; fs_j++)                                                     \
            {                                                                                                          \
                const fs_int r = fs_c + fs_j;                                                                          \
                if (fs_live && r < (fs_int)(width)) {
#define FS_SCAN_SO_FAR(s, name, r, width, start, kind)                                                                 \
    }                                                                                                                  \
    fs_part[fs_j] = name;                                                                                              \
    }                                                                                                                  \
    const fs_type_##s fs_before = fs_row_scan_##kind##s(name, start, &fs_carry, fs_row_threads, FS_TURN);              \
    FS_UNROLL for (int fs_j = 0; fs_j < fs_vector; fs_j++)                                                             \
    {                                                                                                                  \
        const fs_int r = fs_c + fs_j;                                                                                  \
        if (fs_live && r < (fs_int)(width)) {                                                                          \
            name = fs_scan_##kind##s(fs_before, fs_part[fs_j]);
#define FS_SCAN_END                                                                                                    \
    }                                                                                                                  \
    }                                                                                                                  \
    }                                                                                                                  \
    }
#define FS_ROW_SCAN(kind, s, type, combined)                                                                           \
    FS_FN type fs_scan_##kind##s(type x, type y) { return combined; }                                                  \
    FS_FN type fs_row_scan_##kind##s(type all, type before, type *carry, int threads, double *scratch)                 \
    {                                                                                                                  \
        for (int d = 1; d < 32 && d < threads; d *= 2) {                                                               \
            const type beside = fs_shfl_##s(all, d);                                                                   \
            before = fs_thread() & d ? fs_scan_##kind##s(beside, before) : before;                                     \
            all = fs_thread() & d ? fs_scan_##kind##s(beside, all) : fs_scan_##kind##s(all, beside);                   \
        }                                                                                                              \
        before = fs_scan_##kind##s(*carry, before);                                                                    \
        if (threads > 32) {                                                                                            \
            const int warps = threads / 32, first = fs_thread() / threads * warps, warp = fs_thread() % threads / 32;  \
            type *const of = (type *)scratch;                                                                          \
            if (fs_thread() % 32 == 0)                                                                                 \
                of[first + warp] = all;                                                                                \
            fs_barrier();                                                                                              \
            for (int i = 0; i < warps; i++) {                                                                          \
                before = i < warp ? fs_scan_##kind##s(of[first + i], before) : before;                                 \
                *carry = fs_scan_##kind##s(*carry, of[first + i]);                                                     \
            }                                                                                                          \
        } else {                                                                                                       \
            *carry = fs_scan_##kind##s(*carry, all);                                                                   \
        }                                                                                                              \
        return before;                                                                                                 \
    }
FS_ROW_SCAN(sum_, f, float, x + y)
FS_ROW_SCAN(sum_, d, double, x + y)
FS_ROW_SCAN(sum_, i, int, x + y)
FS_ROW_SCAN(sum_, l, fs_i64, x + y)
FS_ROW_SCAN(prod_, f, float, x *y)
FS_ROW_SCAN(prod_, d, double, x *y)
FS_ROW_SCAN(prod_, i, int, x *y)
FS_ROW_SCAN(prod_, l, fs_i64, x *y)

/* Bands: 32 neighbouring rows, one for each lane of a warp; the block's warps share the elements of the rows. */
#define FS_BAND(p, rows, band, threads) FS_BAND_PIECES(p, rows, 1, threads, 2147483647)
#define FS_BAND_PIECES(p, rows, pieces, threads, piece)                                                                \
    {                                                                                                                  \
        enum { fs_slices = (threads) / 32, fs_most = piece };                                                          \
        const int fs_lane = fs_t % 32, fs_slice = fs_t / 32;                                                           \
        const fs_i64 fs_p = (fs_i64)((int)fs_b % FS_STEPS(rows, 32)) * 32 + fs_lane;                                   \
        const fs_int fs_piece = (int)fs_b / FS_STEPS(rows, 32),                                                        \
                     fs_from = (pieces) > 1 ? fs_piece * (fs_int)(piece) : 0;                                          \
        const int fs_live = (rows) % 32 == 0 || fs_p < (rows);                                                         \
        FS_SHARED(double, fs_scratch, threads);                                                                        \
        (void)fs_scratch;                                                                                              \
        (void)fs_slice;                                                                                                \
        (void)fs_piece;
#define FS_BAND_END                         }
#define FS_BAND_VARIABLE(type, name, start) type name = start;
#define FS_BAND_OF(name)                    name
#define FS_BAND_SET(type, name, value)      const type name = value;
#define FS_BAND_WALK(r, p, width)           FS_BAND_WALK_BY(FS_UNROLL_FOUR, r, p, width)
#define FS_BAND_WALK_KEPT(r, p, width)      FS_BAND_WALK_BY(FS_UNROLL, r, p, width)
#define FS_BAND_WALK_BY(loop, r, p, width)                                                                             \
    {                                                                                                                  \
        enum {                                                                                                         \
            fs_vector = 1,                                                                                             \
            fs_j = 0,                                                                                                  \
            fs_span = (width) < fs_most ? (int)(width) : fs_most,                                                      \
            fs_whole = (width) % fs_span == 0 ? fs_span / fs_slices : 0                                                \
        };                                                                                                             \
        const fs_int p = (fs_int)fs_p;                                                                                 \
        const fs_int fs_stop = (fs_int)(width)-fs_from > fs_most ? fs_from + fs_most : (fs_int)(width);                \
        loop for (int fs_at = 0; fs_at < FS_STEPS(fs_span, fs_slices); fs_at++)                                        \
        {                                                                                                              \
            const fs_int r = fs_from + (fs_int)fs_at * fs_slices + fs_slice, fs_c = r;                                 \
            if (fs_live && (fs_at < fs_whole || r < fs_stop)) {                                                        \
                (void)p;                                                                                               \
                (void)fs_c;
#define FS_BAND_WALK_END                                                                                               \
    }                                                                                                                  \
    }                                                                                                                  \
    }
#define FS_BAND_KEPT_IN_REGISTERS(type, name, width)                                                                   \
    struct {                                                                                                           \
        type at[1];                                                                                                    \
    } name[FS_STEPS(width, fs_slices)];                                                                                \
    enum { name##_next = 1 };
#define FS_BAND_KEPT_IN_SHARED(type, name, offset, width)                                                              \
    struct name##_group {                                                                                              \
        type at[1];                                                                                                    \
    };                                                                                                                 \
    enum { name##_next = fs_threads };                                                                                 \
    struct name##_group *const name = (struct name##_group *)((unsigned char *)fs_dynamic_shared() + (offset)) + fs_t;
#define FS_BAND_ONCE(p) for (fs_int p = (fs_int)fs_p, fs_once = fs_live && fs_slice == 0; fs_once; fs_once = 0)
#define FS_BAND_COMBINE(type, a, combined)                                                                             \
    {                                                                                                                  \
        type *const of_ = (type *)fs_scratch;                                                                          \
        fs_barrier();                                                                                                  \
        of_[fs_t] = a;                                                                                                 \
        fs_barrier();                                                                                                  \
        a = of_[fs_lane];                                                                                              \
        for (int i_ = 1; i_ < fs_slices; i_++) {                                                                       \
            const type x = a, y = of_[i_ * 32 + fs_lane];                                                              \
            a = combined;                                                                                              \
        }                                                                                                              \
    }
#define FS_BAND_SUM(s, a)  FS_BAND_COMBINE(fs_type_##s, a, x + y)
#define FS_BAND_PROD(s, a) FS_BAND_COMBINE(fs_type_##s, a, x *y)
#define FS_BAND_MAX(s, a)  FS_BAND_COMBINE(fs_type_##s, a, (x > y ? x : y))
#define FS_BAND_MIN(s, a)  FS_BAND_COMBINE(fs_type_##s, a, (x < y ? x : y))
#define FS_BAND_ARGMAX(s, a, i)                                                                                        \
    {                                                                                                                  \
        const fs_type_##s mine_ = a;                                                                                   \
        FS_BAND_MAX(s, a) i = mine_ == a ? i : FS_MOSTl;                                                               \
        FS_BAND_MIN(l, i)                                                                                              \
    }
#define FS_BAND_ARGMIN(s, a, i)                                                                                        \
    {                                                                                                                  \
        const fs_type_##s mine_ = a;                                                                                   \
        FS_BAND_MIN(s, a) i = mine_ == a ? i : FS_MOSTl;                                                               \
        FS_BAND_MIN(l, i)                                                                                              \
    }

#else

#define FS_PRAGMA(text) _Pragma(#text)
#define FS_IN_ORDER     safelen(1) /* an OpenMP clause: keeps the order, so the loop is not vectorised */
#define FS_BLOCKS(threads)                                                                                             \
    for (fs_i64 fs_b = fs_first; fs_b < fs_end; fs_b++) {                                                              \
        enum { fs_threads = threads };
#define FS_BLOCKS_END }
#define FS_POINTS(first, o, c, points, inner, vector)                                                                  \
    {                                                                                                                  \
        const fs_i64 fs_low = (fs_b - (first)) * fs_threads * (vector), fs_all = (points);                             \
        const fs_i64 fs_high = fs_low + fs_threads * (vector) < fs_all ? fs_low + fs_threads * (vector) : fs_all;      \
        for (fs_i64 fs_i = fs_low; fs_low >= 0 && fs_i < fs_high;) {                                                   \
            const fs_int o = (fs_int)(fs_i / (inner)), fs_c = (fs_int)(fs_i - (fs_i64)o * (inner));                    \
            const fs_int fs_n = (fs_int)((inner)-fs_c < fs_high - fs_i ? (inner)-fs_c : fs_high - fs_i);               \
            (void)o;
#define FS_LANES(c) FS_LANES_BY(c, )
#define FS_LANES_BY(c, clause)                                                                                         \
    FS_PRAGMA(omp simd clause) for (fs_int c = fs_c; c < fs_c + fs_n; c++)                                             \
    {
#define FS_LANES_END }
#define FS_POINTS_END                                                                                                  \
    fs_i += fs_n;                                                                                                      \
    }                                                                                                                  \
    }
/* The same tiles; here the caches hold them, and each cache line is read once, whatever the stride between rows. */
#define FS_TILES(first, o, y, c, others, rows, columns)                                                                \
    {                                                                                                                  \
        enum { fs_high = (int)(((rows) + 31) / 32), fs_broad = (int)(((columns) + 31) / 32) };                         \
        const int fs_tile = (int)(fs_b - (first));                                                                     \
        if (fs_tile >= 0 && fs_tile < (others)*fs_high * fs_broad) {                                                   \
            const fs_int o = fs_tile / (fs_high * fs_broad), fs_rest = fs_tile % (fs_high * fs_broad);                 \
            const fs_int fs_y = fs_rest / fs_broad * 32, fs_c = fs_rest % fs_broad * 32;                               \
            (void)o;                                                                                                   \
            const fs_int fs_y_end = fs_y + 32 < (fs_int)(rows) ? fs_y + 32 : (fs_int)(rows),                           \
                         fs_c_end = fs_c + 32 < (fs_int)(columns) ? fs_c + 32 : (fs_int)(columns);
#define FS_TILE_WALK(along, across)                                                                                    \
    for (fs_int across = fs_##across; across < fs_##across##_end; across++) {                                          \
        FS_PRAGMA(omp simd) for (fs_int along = fs_##along; along < fs_##along##_end; along++)                         \
        {
#define FS_STAGED(name) name[(c - fs_c) * 33 + y - fs_y]
#define FS_STAGE(type, name, pointer, i)                                                                               \
    type name[32 * 33];                                                                                                \
    FS_TILE_WALK(y, c) FS_STAGED(name) = (pointer)[i];                                                                 \
    }                                                                                                                  \
    }
#define FS_STAGE_ROOM(type, name) type name[32 * 33];
#define FS_TILE_BARRIER
#define FS_TILE_LANES(y, c) FS_TILE_WALK(c, y)
#define FS_TILE_LANES_END                                                                                              \
    }                                                                                                                  \
    }
#define FS_UNSTAGE(name, pointer, i)                                                                                   \
    FS_TILE_WALK(y, c)(pointer)[i] = FS_STAGED(name);                                                                  \
    }                                                                                                                  \
    }
#define FS_TILES_END                                                                                                   \
    }                                                                                                                  \
    }
#define FS_GET(type, name, pointer, i)
#define FS_AT(name, pointer, i) (pointer)[i]
#define FS_ROOM(type, name)
#define FS_PUT(name, pointer, i, value) (pointer)[i] = (value)
#define FS_FLUSH(type, name, pointer, i)

#define FS_ROWS(p, rows, per_block, threads)                                                                           \
    for (fs_i64 fs_row = fs_b * (per_block); fs_row < (fs_b + 1) * (per_block) && fs_row < (rows); fs_row++) {         \
        const fs_int p = (fs_int)fs_row, fs_from = 0, fs_to = (fs_int)FS_MOSTi;                                        \
        (void)p;
#define FS_PIECES(p, rows, pieces, threads, piece)                                                                     \
    {                                                                                                                  \
        const fs_int p = (fs_int)(fs_b / (pieces)), fs_piece = (fs_int)(fs_b % (pieces)),                              \
                     fs_from = fs_piece * (fs_int)(piece), fs_to = fs_from + (fs_int)(piece);                          \
        (void)p;                                                                                                       \
        (void)fs_piece;
#define FS_ROWS_END }
#define FS_WALK(r, width, vector)                                                                                      \
    {                                                                                                                  \
        const fs_int fs_stop = fs_to < (fs_int)(width) ? fs_to : (fs_int)(width);
#define FS_LANES_OF(r, clause)                                                                                         \
    FS_PRAGMA(omp simd clause) for (fs_int r = fs_from; r < fs_stop; r++)                                              \
    {
#define FS_WALK_END                                     }
#define FS_WALK_KEPT(r, width, vector)                  FS_WALK(r, width, vector)
#define FS_KEPT_IN_REGISTERS(type, name, width, vector) /* caches keep it */
#define FS_KEPT_IN_SHARED(type, name, offset, width, vector)
#define FS_KEEP(name, pointer, i)
#define FS_KEEP_EACH(name, pointer, i)
#define FS_KEPT(name, pointer, i) (pointer)[i]
#define FS_ONCE
#define FS_ROW_BARRIER
#define FS_ROW_ARRAY(type, name, width, rows) type name[width];
/* On the stack, not thread-local: clang keeps values in registers 16 to 31 of AVX-512 across a shared library's call of
 * __tls_get_addr, which may change them. */
#define FS_PRIVATE(type, name, count)         FS_ALIGNED(64) type name[count]
#define FS_DYNAMIC(type, name, offset, count) FS_PRIVATE(type, name, count);
#define FS_ROW_SUM(s, a)
#define FS_ROW_PROD(s, a)
#define FS_ROW_MAX(s, a)
#define FS_ROW_MIN(s, a)
#define FS_ROW_ARGMAX(s, a, i)
#define FS_ROW_ARGMIN(s, a, i)
#define FS_SCAN(s, name, r, width, vector, start)                                                                      \
    {                                                                                                                  \
        fs_type_##s name = start;                                                                                      \
        for (fs_int r = 0; r < (fs_int)(width); r++) {
#define FS_SCAN_SO_FAR(s, name, r, width, start, kind)
#define FS_SCAN_END                                                                                                    \
    }                                                                                                                  \
    }
#define FS_ROW_EXP(s, m, a)
#define FS_ROW_MOMENTS(s, n, mean, q)

/* Up to 16 neighbouring bands at once, so that more neighbouring elements are read from each line. */
enum { FS_BESIDE = 16 * 32 };
#define FS_BAND(p, rows, band, threads) FS_BAND_PIECES(p, rows, 1, threads, FS_MOSTi)
#define FS_BAND_PIECES(p, rows, pieces, threads, piece)                                                                \
    {                                                                                                                  \
        enum { fs_bands = (int)(((rows) + 31) / 32) };                                                                 \
        const fs_i64 fs_p = fs_b % fs_bands * 32;                                                                      \
        const fs_i64 fs_side =                                                                                         \
            fs_bands - fs_b % fs_bands < fs_end - fs_b ? fs_bands - fs_b % fs_bands : fs_end - fs_b;                   \
        const int fs_beside = (int)(fs_side < 16 ? fs_side : 16);                                                      \
        const int fs_n = (int)((rows)-fs_p < 32 * fs_beside ? (rows)-fs_p : 32 * fs_beside);                           \
        const fs_int fs_piece = (fs_int)(fs_b / fs_bands), fs_most = piece,                                            \
                     fs_from = (pieces) > 1 ? fs_piece * fs_most : 0;                                                  \
        (void)fs_piece;
#define FS_BAND_END                                                                                                    \
    fs_b += fs_beside - 1;                                                                                             \
    }
#define FS_BAND_VARIABLE(type, name, start)                                                                            \
    type name[FS_BESIDE];                                                                                              \
    for (int fs_l = 0; fs_l < fs_n; fs_l++)                                                                            \
        name[fs_l] = start;
#define FS_BAND_OF(name) name[fs_l]
#define FS_BAND_SET(type, name, value)                                                                                 \
    type name[FS_BESIDE];                                                                                              \
    for (int fs_l = 0; fs_l < fs_n; fs_l++)                                                                            \
        name[fs_l] = value;
#define FS_BAND_WALK(r, p, width)                                                                                      \
    for (fs_int r = fs_from; r < (fs_int)(width) && r - fs_from < fs_most; r++) {                                      \
        FS_PRAGMA(omp simd) for (int fs_l = 0; fs_l < fs_n; fs_l++)                                                    \
        {                                                                                                              \
            const fs_int p = (fs_int)fs_p + fs_l;                                                                      \
            (void)p;
#define FS_BAND_WALK_END                                                                                               \
    }                                                                                                                  \
    }
#define FS_BAND_WALK_KEPT(r, p, width) FS_BAND_WALK(r, p, width)
#define FS_BAND_KEPT_IN_REGISTERS(type, name, width)
#define FS_BAND_KEPT_IN_SHARED(type, name, offset, width)
#define FS_BAND_ONCE(p) for (fs_int fs_l = 0, p = (fs_int)fs_p; fs_l < fs_n; fs_l++, p++)
#define FS_BAND_SUM(s, a)
#define FS_BAND_PROD(s, a)
#define FS_BAND_MAX(s, a)
#define FS_BAND_MIN(s, a)
#define FS_BAND_ARGMAX(s, a, i)
#define FS_BAND_ARGMIN(s, a, i)
#define FS_BAND_EXP(s, m, a)
#define FS_BAND_MOMENTS(s, n, mean, q)

#endif
