
/* Chains whose products are multiplied by groups of four warps (Hopper's wgmma). A group has 64 of a block's rows, and
 * its warps share scores and results as with FS_FLASH_MMA. The operands' tiles are in lines of 64 elements
 * (dialect_groups.h). Those that change with the columns have two places: one is multiplied, the other is loaded.
 *
 *   FS_FLASH_GROUPS, FS_FLASH_LINES, FS_FLASH_COPY_LINES
 *       in place of FS_FLASH_MMA, FS_FLASH_TILE, FS_FLASH_COPY
 *   FS_FLASH_ARRIVED, FS_FLASH_FIRST_GROUPS, the next step's copies, FS_FLASH_FIRST_DONE, .., FS_FLASH_SECOND_GROUPS
 *       a step: both operands are there; the first product runs while the copies begin */
#ifdef FS_GPU

#define FS_FLASH_GROUPS(type, results)                                                                                 \
    FS_FLASH_MMA(type, results, 1)                                                                                     \
    int fs_stage = 0, fs_into = 0;
#define FS_FLASH_LINES(type, host_type, name, offset, count, stages, x, host_x, y, host_y)                             \
    type *const name = (type *)((unsigned char *)fs_lines_shared() + (offset));                                        \
    enum { name##_##x = host_x, name##_##y = host_y, name##_stage = (stages) > 1 ? (count) : 0 };
/* Copies 16 bytes to the element `place` of a tile. */
#ifdef FS_SM_80
FS_FN void fs_flash_copy(const void *tile, int place, const void *global)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(fs_shared_address(tile) + (fs_u32)place * 2),
                 "l"(global)
                 : "memory");
}
#elif !defined(FS_CUDA)
FS_FN void fs_flash_copy(void *tile, int place, const void *global) { fs_copy_async((fs_u16 *)tile + place, global); }
#endif
/* Copies as FS_FLASH_COPY, to the place that is not multiplied. All threads copy equally often. Where the threads
 * copy whole lines, one thread's copies are a constant apart. */
#define FS_FLASH_LINE(length)                                                                                          \
    (fs_threads * 8 % (length) == 0 ? fs_e0 / (length) + fs_t * 8 / (length) : (fs_e0 + fs_t * 8) / (length))
#define FS_FLASH_IN_LINE(length) (fs_threads * 8 % (length) == 0 ? fs_t * 8 % (length) : (fs_e0 + fs_t * 8) % (length))
#define FS_FLASH_COPY_LINES(type, tile, u, u0, us, u_end, v, v0, vs, v_end, pointer, number)                           \
    FS_UNROLL for (int fs_e0 = 0; fs_e0 < (us) * (vs); fs_e0 += fs_threads * 8)                                        \
    {                                                                                                                  \
        const int fs_u = FS_FLASH_LINE(vs), fs_v = FS_FLASH_IN_LINE(vs);                                               \
        const fs_int u = (u_end) % (us) == 0 || (u0) + fs_u < (u_end) ? (u0) + fs_u : (u_end)-1,                       \
                     v = (v_end) % (vs) == 0 || (v0) + fs_v < (v_end) ? (v0) + fs_v : (v_end)-8;                       \
        fs_flash_copy(tile, fs_into *tile##_stage + fs_line_at(fs_u, fs_v, us), &(pointer)[number]);                   \
    }
#define FS_FLASH_COPY_ROWS_LINES(type, tile, p, row_of, k, k0, ks, k_end, pointer, number)                             \
    FS_UNROLL for (int fs_e0 = 0; fs_e0 < fs_m * (ks); fs_e0 += fs_threads * 8)                                        \
    {                                                                                                                  \
        const int fs_u = FS_FLASH_LINE(ks), fs_v = FS_FLASH_IN_LINE(ks);                                               \
        const fs_int p = (fs_int)row_of(fs_q + (fs_u < fs_last ? fs_u : fs_last)), k = (k0) + fs_v;                    \
        fs_flash_copy(tile, fs_line_at(fs_u, fs_v, fs_m), &(pointer)[number]);                                         \
    }
#define FS_FLASH_FILL_ROWS_LINES(tile, p, row_of, k, k0, ks, k_end)                                                    \
    FS_FLASH_FILL_ROWS_TO(fs_line_at(fs_u, fs_v, fs_m), p, row_of, k, k0, ks, k_end)
#define FS_FLASH_ARRIVED                                                                                               \
    fs_copy_wait(0);                                                                                                   \
    fs_groups_see();                                                                                                   \
    fs_barrier();

typedef struct {
    int m, n, across, along; /* rows of the block; columns; k of the first product, or results; the second operand's
                                lines follow what is summed over */
} fs_flash_shape;

#ifdef FS_GROUPS
#define FS_FLASH_SUMS_4(sign, j) sign(top[2 * (j)]), sign(top[2 * (j) + 1]), sign(low[2 * (j)]), sign(low[2 * (j) + 1])
#define FS_FLASH_SUMS_16(sign, j)                                                                                      \
    FS_FLASH_SUMS_4(sign, j), FS_FLASH_SUMS_4(sign, (j) + 1), FS_FLASH_SUMS_4(sign, (j) + 2),                          \
        FS_FLASH_SUMS_4(sign, (j) + 3)
#define FS_FLASH_SUMS_32(sign) FS_FLASH_SUMS_16(sign, 0), FS_FLASH_SUMS_16(sign, 4)
#define FS_FLASH_SUMS_64(sign) FS_FLASH_SUMS_32(sign), FS_FLASH_SUMS_16(sign, 8), FS_FLASH_SUMS_16(sign, 12)
/* 64 rows x `columns` x 16 of k. Scores: both operands in shared memory; `sums` words, %x and %y are the descriptors.
 * more: scores are added to, not set. Results: the left operand is in registers. */
#define FS_FLASH_SCORES_GROUP(type, columns, sums, sign, x, y, more, columns_first)                                    \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." #type "." #type " {" FS_REGISTERS_##sums      \
                 "}, %" #x ", %" #y ", " #more ", 1, 1, 0, " #columns_first ";"                                        \
                 : FS_FLASH_SUMS_##sums(sign)                                                                          \
                 : "l"(left), "l"(right));
#define FS_FLASH_RESULTS_GROUP(type, columns, sums, a, b, c, d, y, columns_first)                                      \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." #type "." #type " {" FS_REGISTERS_##sums      \
                 "}, {%" #a ", %" #b ", %" #c ", %" #d "}, %" #y ", 1, 1, 1, " #columns_first ";"                      \
                 : FS_FLASH_SUMS_##sums("+f")                                                                          \
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
#define FS_FLASH_GROUP_FORMS(type, columns, sums, a, b, c, d, e)                                                       \
    FS_FN void fs_flash_scores_##type##_##columns(float *top, float *low, fs_u64 left, fs_u64 right, int along,        \
                                                  int more)                                                            \
    {                                                                                                                  \
        if (more && along)                                                                                             \
            FS_FLASH_SCORES_GROUP(type, columns, sums, "+f", a, b, 1, 0)                                               \
        else if (more)                                                                                                 \
            FS_FLASH_SCORES_GROUP(type, columns, sums, "+f", a, b, 1, 1)                                               \
        else if (along)                                                                                                \
            FS_FLASH_SCORES_GROUP(type, columns, sums, "=f", a, b, 0, 0)                                               \
        else                                                                                                           \
            FS_FLASH_SCORES_GROUP(type, columns, sums, "=f", a, b, 0, 1)                                               \
    }                                                                                                                  \
    FS_FN void fs_flash_results_##type##_##columns(float *top, float *low, const fs_u32 *left, fs_u64 right,           \
                                                   int along)                                                          \
    {                                                                                                                  \
        if (along)                                                                                                     \
            FS_FLASH_RESULTS_GROUP(type, columns, sums, a, b, c, d, e, 0)                                              \
        else                                                                                                           \
            FS_FLASH_RESULTS_GROUP(type, columns, sums, a, b, c, d, e, 1)                                              \
    }
/* The number of the thread's group, known to be the same for a warp. */
FS_FN int fs_flash_group(void) { return __shfl_sync(0xffffffffu, fs_thread() / 128, 0); }
/* Descriptors are those of a tile's first lines, plus a constant: addresses in units of 16 bytes. */
#define FS_FLASH_GROUP_TYPE(type)                                                                                      \
    FS_FLASH_GROUP_FORMS(type, 64, 32, 32, 33, 34, 35, 36)                                                             \
    FS_FLASH_GROUP_FORMS(type, 128, 64, 64, 65, 66, 67, 68)                                                            \
    FS_FN void fs_flash_first_##type(float *top, float *low, const void *x, const void *y, fs_flash_shape s)           \
    {                                                                                                                  \
        const fs_u64 left = fs_group_operand((const fs_u16 *)x + fs_flash_group() * fs_line * fs_line, 0,              \
                                             fs_lines_bytes),                                                          \
                     right = fs_group_operand(y, s.across * fs_line * 2, fs_lines_bytes);                              \
        fs_groups_begin();                                                                                             \
        FS_UNROLL for (int k = 0; k < s.across; k += 16)                                                               \
        {                                                                                                              \
            const fs_u64 a = left + (k / fs_line * s.m * fs_line + k % fs_line) / 8,                                   \
                         b = right + (s.along ? k / fs_line * s.n * fs_line + k % fs_line : k * fs_line) / 8;          \
            if (s.n == 64)                                                                                             \
                fs_flash_scores_##type##_64(top, low, a, b, s.along, k > 0);                                           \
            else                                                                                                       \
                fs_flash_scores_##type##_128(top, low, a, b, s.along, k > 0);                                          \
        }                                                                                                              \
        fs_groups_commit();                                                                                            \
    }                                                                                                                  \
    FS_FN void fs_flash_second_##type(float *top, float *low, const fs_u32 *x, const void *y, fs_flash_shape s)        \
    {                                                                                                                  \
        const fs_u64 right = fs_group_operand(y, s.n * fs_line * 2, fs_lines_bytes);                                   \
        fs_groups_begin();                                                                                             \
        FS_UNROLL for (int k = 0; k < s.n; k += 16)                                                                    \
        {                                                                                                              \
            const fs_u64 b = right + (s.along ? k / fs_line * s.across * fs_line + k % fs_line : k * fs_line) / 8;     \
            if (s.across % 128 == 0)                                                                                   \
                FS_UNROLL for (int j = 0; j < s.across; j += 128) fs_flash_results_##type##_128(                       \
                    top + j / 4, low + j / 4, x + k / 4, b + j * (s.along ? fs_line : s.n) / 8, s.along);              \
            else                                                                                                       \
                FS_UNROLL for (int j = 0; j < s.across; j += 64) fs_flash_results_##type##_64(                         \
                    top + j / 4, low + j / 4, x + k / 4, b + j * (s.along ? fs_line : s.n) / 8, s.along);              \
        }                                                                                                              \
        fs_groups_commit();                                                                                            \
    }
FS_FN void fs_flash_settle_words(fs_u32 *word) { asm volatile("" : "+r"(*word)::"memory"); }
#elif !defined(FS_CUDA) || defined(FS_SM_80)
FS_FN void fs_flash_columns(fs_u32 r[4], const void *y, int along, int column, int k, int lines)
{
    const int lane = fs_thread() % 32;
    if (along)
        fs_ldmatrix4(r, (const fs_u16 *)y + fs_line_at(column + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8, lines));
    else
        fs_ldmatrix4_trans(r, (const fs_u16 *)y + fs_line_at(k + lane % 16, column + lane / 16 * 8, lines));
}
#define FS_FLASH_GROUP_TYPE(type)                                                                                      \
    FS_FN void fs_flash_first_##type(float *top, float *low, const void *x, const void *y, fs_flash_shape s)           \
    {                                                                                                                  \
        const int lane = fs_thread() % 32;                                                                             \
        float *const sums[2] = {top, low};                                                                             \
        FS_UNROLL for (int j = 0; j < s.n / 4; j++) top[j] = low[j] = 0;                                               \
        FS_UNROLL_SOME(2) for (int k = 0; k < s.across; k += 16)                                                       \
        {                                                                                                              \
            fs_u32 a[4], b[4];                                                                                         \
            fs_ldmatrix4(a,                                                                                            \
                         (const fs_u16 *)x + fs_line_at(fs_thread() / 32 * 16 + lane % 16, k + lane / 16 * 8, s.m));   \
            FS_UNROLL for (int j = 0; j < s.n / 8; j += 2)                                                             \
            {                                                                                                          \
                fs_flash_columns(b, y, s.along, j * 8, k, s.along ? s.n : s.across);                                   \
                FS_FLASH_MULTIPLY(type, sums, a, b, j)                                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    FS_FN void fs_flash_second_##type(float *top, float *low, const fs_u32 *x, const void *y, fs_flash_shape s)        \
    {                                                                                                                  \
        float *const sums[2] = {top, low};                                                                             \
        FS_UNROLL for (int k = 0; k < s.n; k += 16) FS_UNROLL for (int j = 0; j < s.across / 8; j += 2)                \
        {                                                                                                              \
            fs_u32 b[4];                                                                                               \
            fs_flash_columns(b, y, s.along, j * 8, k, s.along ? s.across : s.n);                                       \
            FS_FLASH_MULTIPLY(type, sums, (x + k / 4), b, j)                                                           \
        }                                                                                                              \
    }
FS_FN void fs_flash_settle_words(fs_u32 *word) { (void)word; }
#endif
#if defined(FS_GROUPS) || !defined(FS_CUDA) || defined(FS_SM_80)
FS_FLASH_GROUP_TYPE(f16)
FS_FLASH_GROUP_TYPE(bf16)
#endif

#define FS_FLASH_FIRST_GROUPS(type, rows, first, along, depth)                                                         \
    {                                                                                                                  \
        const fs_flash_shape fs_shape = {fs_m, fs_n, depth, along};                                                    \
        fs_flash_first_##type(fs_s[0], fs_s[1], rows, first + fs_stage * first##_stage, fs_shape);                     \
    }                                                                                                                  \
    fs_into = 1 - fs_stage;
#define FS_FLASH_FIRST_DONE                                                                                            \
    fs_groups_wait(0) FS_UNROLL for (int fs_i = 0; fs_i < fs_rows; fs_i++)                                             \
        FS_UNROLL for (int fs_j = 0; fs_j < fs_columns; fs_j++) fs_groups_settle(&fs_s[fs_i][fs_j]);
/* Results are settled before the product, since rows were multiplied by factors, and after it. */
#define FS_FLASH_SETTLE_RESULTS                                                                                        \
    FS_UNROLL for (int fs_i = 0; fs_i < fs_rows; fs_i++) FS_UNROLL for (int fs_j = 0; fs_j < fs_results; fs_j++)       \
        fs_groups_settle(&fs_o[fs_i][fs_j]);
#define FS_FLASH_SECOND_GROUPS(type, second, along)                                                                    \
    {                                                                                                                  \
        const fs_flash_shape fs_shape = {fs_m, fs_n, fs_results * 4, along};                                           \
        fs_u32 fs_left[fs_columns];                                                                                    \
        FS_UNROLL for (int fs_k = 0; fs_k < fs_columns; fs_k += 2) FS_UNROLL for (int fs_i = 0; fs_i < 2; fs_i++)      \
            fs_left[fs_k + fs_i] = fs_flash_pair_##type(fs_s[fs_i][fs_k], fs_s[fs_i][fs_k + 1]);                       \
        FS_UNROLL for (int fs_k = 0; fs_k < fs_columns; fs_k++) fs_flash_settle_words(&fs_left[fs_k]);                 \
        FS_FLASH_SETTLE_RESULTS                                                                                        \
        fs_flash_second_##type(fs_o[0], fs_o[1], fs_left, second + fs_stage * second##_stage, fs_shape);               \
        fs_groups_wait(0) FS_FLASH_SETTLE_RESULTS                                                                      \
    }                                                                                                                  \
    fs_stage = fs_into;

#else

#define FS_FLASH_GROUPS(type, results)                                                                                 \
    FS_FLASH_LAYOUT(type, results)                                                                                     \
    int fs_stage = 0, fs_into = 0;
#define FS_FLASH_LINES(type, host_type, name, offset, count, stages, x, host_x, y, host_y)                             \
    FS_PRIVATE(host_type, name, (count) * (stages));                                                                   \
    enum { name##_##x = host_x, name##_##y = host_y, name##_stage = (stages) > 1 ? (count) : 0 };
#define FS_FLASH_COPY_LINES(type, tile, u, u0, us, u_end, v, v0, vs, v_end, pointer, number)                           \
    FS_FLASH_FILL(tile, u, u0, us, u_end, v, v0, vs, v_end)                                                            \
    tile[fs_into * tile##_stage + fs_to] = fs_from_##type((pointer)[number]);                                          \
    }
#define FS_FLASH_COPY_ROWS_LINES FS_FLASH_COPY_ROWS
#define FS_FLASH_FILL_ROWS_LINES FS_FLASH_FILL_ROWS
#define FS_FLASH_ARRIVED
#define FS_FLASH_FIRST_GROUPS(type, rows, first, along, depth)                                                         \
    FS_FLASH_CLEAR FS_FLASH_SUMS(fs_s, fs_n, rows, rows##_p, (first + fs_stage * first##_stage), depth) fs_into =      \
        1 - fs_stage;
#define FS_FLASH_FIRST_DONE
#define FS_FLASH_SECOND_GROUPS(type, second, along)                                                                    \
    FS_FLASH_SUMS(fs_o, fs_results, &fs_s[0][0], fs_n, (second + fs_stage * second##_stage), fs_n)                     \
    fs_stage = fs_into;

#endif
