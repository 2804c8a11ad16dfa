
#ifdef FS_GPU

/* Rows in turn: a block takes row group fs_b, then the one `blocks` behind it, and so on; sums over all rows stay on
 * chip. Each thread adds to places of its own. FS_PARTS: the parts of all blocks, added by the second launch. */
#define FS_TURNS(threads)                                                                                              \
    {                                                                                                                  \
        enum { fs_row_threads = threads, fs_most = 2147483647 };                                                       \
        const int fs_lane = fs_t % (threads);                                                                          \
        const fs_int fs_from = 0, fs_to = (fs_int)FS_MOSTi;                                                            \
        FS_SHARED(double, fs_scratch, 64);                                                                             \
        int fs_turn = 0;                                                                                               \
        (void)fs_scratch;                                                                                              \
        (void)fs_turn;                                                                                                 \
        (void)fs_lane;                                                                                                 \
        (void)fs_from;                                                                                                 \
        (void)fs_to;
#define FS_COLUMNS(type, name, offset, width, vector, parts)                                                           \
    enum { name##_places = FS_STEPS(width, fs_row_threads * (vector)) * (vector) };                                    \
    type *const name##_all = (type *)((unsigned char *)fs_dynamic_shared() + (offset));                                \
    type *const name = name##_all + fs_t / fs_row_threads * name##_places * fs_row_threads + fs_lane;                  \
    for (int fs_i = 0; fs_i < name##_places; fs_i++)                                                                   \
        name[fs_i * fs_row_threads] = 0;
#define FS_COLUMN_ADD(name, r, value) name[(fs_at * fs_vector + fs_j) * fs_row_threads] += value;
#define FS_ROWS_IN_TURN(p, rows, per_block, blocks)                                                                    \
    for (fs_i64 fs_group = fs_b; fs_group * (per_block) < (rows); fs_group += (blocks)) {                              \
        const fs_i64 fs_row = fs_group * (per_block) + fs_t / fs_row_threads;                                          \
        const int fs_live = (rows) % (per_block) == 0 || fs_row < (rows);                                              \
        const fs_int p = (fs_int)(fs_live ? fs_row : (rows)-1);                                                        \
        (void)p;                                                                                                       \
        (void)fs_live;
#define FS_ROWS_IN_TURN_END }
#define FS_COLUMNS_LEAVE(type, name, width, vector, per_block, parts)                                                  \
    fs_barrier();                                                                                                      \
    for (fs_int fs_i = fs_t; fs_i < (width); fs_i += fs_threads) {                                                     \
        const int fs_step = fs_row_threads * (vector);                                                                 \
        const fs_int fs_place =                                                                                        \
            (fs_i / fs_step * (vector) + fs_i % (vector)) * fs_row_threads + fs_i % fs_step / (vector);                \
        type fs_sum = 0;                                                                                               \
        for (int fs_k = 0; fs_k < (per_block); fs_k++)                                                                 \
            fs_sum += name##_all[fs_k * name##_places * fs_row_threads + fs_place];                                    \
        (parts)[fs_b * (width) + fs_i] = fs_sum;                                                                       \
    }
#define FS_TOTAL_LEAVE(s, name, parts)                                                                                 \
    {                                                                                                                  \
        fs_barrier();                                                                                                  \
        name = fs_row_sum_##s(name, fs_threads, FS_TURN);                                                              \
        if (fs_t == 0)                                                                                                 \
            (parts)[fs_b] = name;                                                                                      \
    }
#define FS_TURNS_END }
#define FS_PARTS(p, first, width)                                                                                      \
    if (fs_b >= (first) && fs_b < (first) + FS_STEPS(width, 32)) {                                                     \
        enum { fs_slices = fs_threads / 32 };                                                                          \
        const int fs_lane = fs_t % 32, fs_slice = fs_t / 32;                                                           \
        const fs_int p = (fs_int)(fs_b - (first)) * 32 + fs_lane;                                                      \
        const int fs_live = (width) % 32 == 0 || p < (width);                                                          \
        (void)p;
#define FS_PART_SUM(type, name, p, width, blocks, parts)                                                               \
    type name = 0;                                                                                                     \
    for (int fs_i = fs_slice; fs_i < (blocks) && fs_live; fs_i += fs_slices)                                           \
        name += (parts)[fs_i * (fs_i64)(width) + p];                                                                   \
    {                                                                                                                  \
        FS_SHARED(double, fs_scratch, fs_threads);                                                                     \
        FS_BAND_COMBINE(type, name, x + y)                                                                             \
    }
#define FS_PART_ONCE(p) if (fs_live && fs_slice == 0)
#define FS_PARTS_END    }
/* Sums over all tiles: a block's part of each, and the one block that adds up those of all. */
#define FS_TILE_TOTALS                                                                                                 \
    {                                                                                                                  \
        double *const fs_scratch = (double *)fs_dynamic_shared();                                                      \
        int fs_turn = 0;
#define FS_TILE_TOTALS_END }
/* Sums of a tile's columns: a thread has one for each column of its results. Lines of threads above each other leave
 * theirs in shared memory; warps first add up the rows of their fragments. */
#define FS_TILE_COLUMN_SUMS(kind, type, name)                                                                          \
    type name[FS_LAID_OUT(fs_slots, kind)(fs_tn, fs_across_n)];                                                        \
    FS_UNROLL for (int fs_i = 0; fs_i < FS_LAID_OUT(fs_slots, kind)(fs_tn, fs_across_n); fs_i++) name[fs_i] = 0;
#define FS_TILE_COLUMN(kind, name, c) name[FS_LAID_OUT(fs_slot, kind)(fs_e * fs_vector + fs_j, fs_tn, fs_across_n)]
#define FS_TILE_COLUMNS_LEAVE(kind, s, name, parts)                                                                    \
    {                                                                                                                  \
        fs_type_##s *const fs_sums = (fs_type_##s *)fs_dynamic_shared();                                               \
        fs_barrier();                                                                                                  \
        FS_UNROLL for (int fs_i = 0; fs_i < FS_LAID_OUT(fs_slots, kind)(fs_tn, fs_across_n); fs_i++)                   \
        {                                                                                                              \
            fs_type_##s fs_sum = name[fs_i];                                                                           \
            FS_LAID_OUT(FS_FRAGMENT_ROWS, kind)                                                                        \
            (s, fs_sum) if (FS_LAID_OUT(fs_first_row, kind)())                                                         \
                fs_sums[FS_LAID_OUT(fs_line, kind)(fs_across_n) * fs_tn +                                              \
                        FS_LAID_OUT(fs_column, kind)(FS_LAID_OUT(fs_at, kind)(fs_i), fs_tm, fs_tn, fs_across_m,        \
                                                     fs_across_n)] = fs_sum;                                           \
        }                                                                                                              \
        fs_barrier();                                                                                                  \
        for (int fs_i = fs_t; fs_i < fs_tn && fs_n0 + fs_i < fs_columns; fs_i += fs_threads) {                         \
            fs_type_##s fs_sum = 0;                                                                                    \
            for (int fs_k = 0; fs_k < fs_across_m; fs_k++)                                                             \
                fs_sum += fs_sums[fs_k * fs_tn + fs_i];                                                                \
            (parts)[(b * fs_tiles_m + fs_m0 / fs_tm) * (fs_i64)fs_columns + fs_n0 + fs_i] = fs_sum;                    \
        }                                                                                                              \
    }
#define FS_TOTALS(p)                                                                                                   \
    {                                                                                                                  \
        const fs_int p = 0;                                                                                            \
        FS_SHARED(double, fs_scratch, 64);                                                                             \
        int fs_turn = 0;                                                                                               \
        (void)p;
#define FS_TOTAL_SUM(s, name, blocks, parts)                                                                           \
    fs_type_##s name = 0;                                                                                              \
    for (int fs_i = fs_t; fs_i < (blocks); fs_i += fs_threads)                                                         \
        name += (parts)[fs_i];                                                                                         \
    name = fs_row_sum_##s(name, fs_threads, FS_TURN);
#define FS_TOTALS_ONCE if (fs_t == 0)
#define FS_TOTALS_END  }

#else

#define FS_TURNS(threads) {
#define FS_COLUMNS(type, name, offset, width, vector, parts)                                                           \
    type *const FS_RESTRICT name = (parts) + fs_b * (width);                                                           \
    for (fs_int fs_i = 0; fs_i < (width); fs_i++)                                                                      \
        name[fs_i] = 0;
#define FS_COLUMN_ADD(name, r, value) name[r] += value;
#define FS_ROWS_IN_TURN(p, rows, per_block, blocks)                                                                    \
    for (fs_i64 fs_group = fs_b; fs_group * (per_block) < (rows); fs_group += (blocks))                                \
        for (fs_i64 fs_row = fs_group * (per_block); fs_row < (fs_group + 1) * (per_block) && fs_row < (rows);         \
             fs_row++) {                                                                                               \
            const fs_int p = (fs_int)fs_row, fs_from = 0, fs_to = (fs_int)FS_MOSTi;                                    \
            (void)p;
#define FS_ROWS_IN_TURN_END }
#define FS_COLUMNS_LEAVE(type, name, width, vector, per_block, parts)
#define FS_TOTAL_LEAVE(s, name, parts) (parts)[fs_b] = name;
#define FS_TURNS_END                   }
#define FS_PARTS(p, first, width)                                                                                      \
    for (fs_int fs_low = (fs_int)(fs_b - (first)) * 32, p = fs_low; fs_b >= (first) && p < fs_low + 32 && p < (width); \
         p++) {
#define FS_PART_SUM(type, name, p, width, blocks, parts)                                                               \
    type name = 0;                                                                                                     \
    for (int fs_i = 0; fs_i < (blocks); fs_i++)                                                                        \
        name += (parts)[fs_i * (fs_i64)(width) + p];
#define FS_PART_ONCE(p)
#define FS_PARTS_END       }
#define FS_TILE_TOTALS     {
#define FS_TILE_TOTALS_END }
#define FS_TILE_COLUMN_SUMS(kind, type, name)                                                                          \
    type name[fs_tn];                                                                                                  \
    for (int fs_i = 0; fs_i < fs_tn; fs_i++)                                                                           \
        name[fs_i] = 0;
#define FS_TILE_COLUMN(kind, name, c) name[(c)-fs_n0]
#define FS_TILE_COLUMNS_LEAVE(kind, s, name, parts)                                                                    \
    for (int fs_i = 0; fs_i < fs_tn && fs_n0 + fs_i < fs_columns; fs_i++)                                              \
        (parts)[(b * fs_tiles_m + fs_m0 / fs_tm) * (fs_i64)fs_columns + fs_n0 + fs_i] = name[fs_i];
#define FS_TOTALS(p)                                                                                                   \
    {                                                                                                                  \
        const fs_int p = 0;                                                                                            \
        (void)p;
#define FS_TOTAL_SUM(s, name, blocks, parts)                                                                           \
    fs_type_##s name = 0;                                                                                              \
    for (int fs_i = 0; fs_i < (blocks); fs_i++)                                                                        \
        name += (parts)[fs_i];
#define FS_TOTALS_ONCE
#define FS_TOTALS_END }

#endif
