
/* Chains of two products: a block keeps fs_m rows of one batch and walks the width of the intermediate, fs_n columns at
 * a time.
 *
 *   FS_FLASH .. FS_FLASH_MMA or FS_FLASH_SIMT .. FS_FLASH_END
 *       the block's rows, and how its threads share the scores fs_s and the results fs_o
 *   FS_FLASH_TILE, FS_FLASH_FILL .. FS_FLASH_FILL_END, FS_FLASH_COPY
 *       an operand's tile, loaded element by element, or with copies of 16 bytes
 *   FS_FLASH_ROWS .. FS_FLASH_COLUMNS .. FS_FLASH_COLUMNS_END .. FS_FLASH_ROWS_END
 *       elements of a tile of the intermediate: row p, column c
 *   FS_FLASH_ROWS .. FS_FLASH_RESULTS .. FS_FLASH_RESULTS_END .. FS_FLASH_ROWS_END
 *       elements of the results: row p, column j
 *
 *   FS_FLASH_MEET { FS_FLASH_MINE { FS_FLASH_LEAVE .. FS_FLASH_LEFT } FS_ROW_BARRIER .. }
 *       warps that share the columns of their rows combine what they have
 *
 * A thread has fs_rows rows, fs_step apart. The fs_group threads that share a row divide its columns among them as
 * the fragments of tensor cores do. fs_across warps have the same rows; each has columns of a tile from fs_aside on. */
#define FS_SAME_ROW(q) (q)
#define fs_to_f32(x)   (x)
#define fs_to_f64(x)   (x)
#define fs_from_f32(x) (x)
#define fs_from_f64(x) (x)
/* What is subtracted for a running maximum: 0 where all elements of the row so far are masked (-infinity). */
FS_FN float fs_flash_peakf(float m) { return m == -FS_INFf ? 0.0f : m; }
FS_FN double fs_flash_peakd(double m) { return m == -FS_INFd ? 0.0 : m; }
/* e^(x - peak) as a power of two. The peak times log2(e) is rounded once, so that every element of a row subtracts
 * the same number. */
#define FS_LOG2E 1.44269504f
#ifdef FS_CUDA
FS_FN float fs_flash_base2(float m) { return __fmul_rn(m, FS_LOG2E); }
FS_FN float fs_flash_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#elif defined(FS_GPU)
FS_FN float fs_flash_base2(float m) { return m * FS_LOG2E; }
FS_FN float fs_flash_exp2(float x) { return exp2f(x); }
#else
FS_FN float fs_flash_base2(float m) { return m * FS_LOG2E; }
/* As fs_expf: 2^x = 2^n p(r), n whole, |r| <= 1/2. */
FS_FN float fs_flash_exp2(float x)
{
    const float a = x < -126.0f ? -126.0f : x > 127.9f ? 127.9f : x, n = (a + 12582912.0f) - 12582912.0f, r = a - n;
    float p = 1.535336188319500e-4f;
    p = p * r + 1.339887440266574e-3f;
    p = p * r + 9.618437357674640e-3f;
    p = p * r + 5.550332471162809e-2f;
    p = p * r + 2.402264791363012e-1f;
    p = p * r + 6.931472028550421e-1f;
    p = p * r + 1.0f;
    const float y = p * fs_float((fs_u32)((int)n + 126) << 23) * 2.0f;
    return x < -126.0f ? 0.0f : x > 127.9f ? FS_INFf : x != x ? x : y;
}
#endif
/* Columns that at least one of the rows [first, first + last] sees under a causal mask. The mask has `side` rows,
 * and repeats. */
FS_FN fs_int fs_flash_stop(fs_int first, fs_int last, fs_int side)
{
    return first / side == (first + last) / side ? (first + last) % side + 1 : side;
}

#define FS_FLASH(tile_m, tile_n, rows, columns, chunks, row_of, backwards)                                             \
    {                                                                                                                  \
        enum { fs_m = tile_m, fs_n = tile_n, fs_even = (columns) % (tile_n) == 0 };                                    \
        const fs_int fs_width = (fs_int)(columns);                                                                     \
        const fs_i64 fs_tiles = ((rows) + (tile_m)-1) / (tile_m), fs_turn = fs_b / (chunks) % fs_tiles;                \
        const fs_int fs_chunk = (fs_int)(fs_b % (chunks)),                                                             \
                     fs_top = (fs_int)((backwards) ? fs_tiles - 1 - fs_turn : fs_turn) * fs_m;                         \
        const fs_int fs_last = ((fs_int)(rows)-fs_top < fs_m ? (fs_int)(rows)-fs_top : fs_m) - 1;                      \
        const fs_int fs_q = (fs_int)(fs_b / (chunks) / fs_tiles) * (fs_int)(rows) + fs_top, p0 = (fs_int)row_of(fs_q); \
        (void)fs_chunk;                                                                                                \
        (void)fs_width;                                                                                                \
        (void)p0;
#define FS_FLASH_END }
#define FS_FLASH_STATE(type, name, start)                                                                              \
    type name[fs_rows];                                                                                                \
    FS_UNROLL for (int fs_i = 0; fs_i < fs_rows; fs_i++) name[fs_i] = start;
#define FS_FLASH_OF(name) name[fs_i]
#define FS_SCORE          fs_s[fs_i][fs_j]
#define FS_RESULT         fs_o[fs_i][fs_j]

#ifdef FS_CUDA /* unrolling more steps of a product would take registers that the fragments need */
#define FS_FLASH_PRAGMA(text) _Pragma(#text)
#define FS_UNROLL_SOME(steps) FS_FLASH_PRAGMA(unroll steps)
#else
#define FS_UNROLL_SOME(steps)
#endif

#ifdef FS_GPU

#define FS_FLASH_LAYOUT(type, results)                                                                                 \
    type fs_s[fs_rows][fs_columns], fs_o[fs_rows][fs_results];                                                         \
    (void)fs_lane;                                                                                                     \
    (void)fs_warp;                                                                                                     \
    FS_UNROLL for (int fs_i = 0; fs_i < fs_rows; fs_i++) FS_UNROLL for (int fs_j = 0; fs_j < fs_results; fs_j++)       \
        fs_o[fs_i][fs_j] = 0;
/* A warp has 16 rows, in fragments of m16n8. */
#define FS_FLASH_MMA(type, results, across)                                                                            \
    enum {                                                                                                             \
        fs_rows = 2,                                                                                                   \
        fs_step = 8,                                                                                                   \
        fs_group = 4,                                                                                                  \
        fs_pair = 2,                                                                                                   \
        fs_result_pair = 2,                                                                                            \
        fs_across = across,                                                                                            \
        fs_side = fs_n / fs_across,                                                                                    \
        fs_columns = fs_side / 4,                                                                                      \
        fs_results = (results) / 4                                                                                     \
    };                                                                                                                 \
    const int fs_warp = fs_t / 32 % (fs_m / 16), fs_beside = fs_t / 32 / (fs_m / 16), fs_aside = fs_beside * fs_side,  \
              fs_lane = fs_t % 32, fs_row0 = fs_warp * 16 + fs_lane / 4, fs_place = fs_lane % 4;                       \
    FS_FLASH_LAYOUT(type, results)
/* Sixteen threads share a row: each has `pair` neighbouring columns out of every 16 x `pair`. */
#define FS_FLASH_SIMT(type, results, pair, result_pair)                                                                \
    enum {                                                                                                             \
        fs_step = fs_threads / 16,                                                                                     \
        fs_rows = fs_m / fs_step,                                                                                      \
        fs_group = 16,                                                                                                 \
        fs_pair = pair,                                                                                                \
        fs_result_pair = result_pair,                                                                                  \
        fs_columns = fs_n / 16,                                                                                        \
        fs_results = (results) / 16,                                                                                   \
        fs_beside = 0,                                                                                                 \
        fs_aside = 0                                                                                                   \
    };                                                                                                                 \
    const int fs_warp = fs_t / 32, fs_lane = fs_t % 32, fs_row0 = fs_t / 16, fs_place = fs_t % 16;                     \
    FS_FLASH_LAYOUT(type, results)
#define FS_FLASH_COLUMN(j, pair) (fs_place * (pair) + (j) / (pair) * (fs_group * (pair)) + (j) % (pair))

#define FS_FLASH_TILE(type, host_type, name, offset, count, x, x_step, host_x, y, y_step, host_y)                      \
    type *const name = (type *)((unsigned char *)fs_dynamic_shared() + (offset));                                      \
    enum { name##_##x = x_step, name##_##y = y_step };
/* Loads the elements (u, v) of a tile that begins at (u0, v0). Elements from u_end or v_end on are 0. Neighbouring
 * threads take neighbouring v. */
#define FS_FLASH_FILL(tile, u, u0, us, u_end, v, v0, vs, v_end)                                                        \
    for (int fs_e = fs_t; fs_e < (us) * (vs); fs_e += fs_threads) {                                                    \
        const int fs_u = fs_e / (vs), fs_v = fs_e % (vs);                                                              \
        const fs_int u = (u0) + fs_u < (u_end) ? (u0) + fs_u : (u_end)-1,                                              \
                     v = (v0) + fs_v < (v_end) ? (v0) + fs_v : (v_end)-1;                                              \
        const int fs_in = (u0) + fs_u < (u_end) && (v0) + fs_v < (v_end),                                              \
                  fs_to = fs_u * tile##_##u + fs_v * tile##_##v;                                                       \
        (void)u;                                                                                                       \
        (void)v;
#define FS_FLASH_FILL_ROWS(tile, p, row_of, k, k0, ks, k_end)                                                          \
    FS_FLASH_FILL_ROWS_TO(fs_u *tile##_##p + fs_v, p, row_of, k, k0, ks, k_end)
#define FS_FLASH_FILL_ROWS_TO(place, p, row_of, k, k0, ks, k_end)                                                      \
    FS_UNROLL_SOME(8) for (int fs_e = fs_t; fs_e < fs_m * (ks); fs_e += fs_threads)                                    \
    {                                                                                                                  \
        const int fs_u = fs_e / (ks), fs_v = fs_e % (ks);                                                              \
        const fs_int p = (fs_int)row_of(fs_q + (fs_u < fs_last ? fs_u : fs_last)),                                     \
                     k = (k0) + fs_v < (k_end) ? (k0) + fs_v : (k_end)-1;                                              \
        const int fs_in = (k0) + fs_v < (k_end), fs_to = place;                                                        \
        (void)p;                                                                                                       \
        (void)k;
#define FS_FLASH_PUT(type, tile, value) tile[fs_to] = fs_in ? fs_to_##type(value) : 0;
#define FS_FLASH_FILL_END               }
/* The same with asynchronous copies of 8 elements along v, complete after FS_FLASH_WAIT and a barrier. Rows and
 * columns beyond the ends repeat the last one. */
#define FS_FLASH_COPY(type, tile, u, u0, us, u_end, v, v0, vs, v_end, pointer, number)                                 \
    FS_UNROLL for (int fs_e = fs_t * 8; fs_e < (us) * (vs); fs_e += fs_threads * 8)                                    \
    {                                                                                                                  \
        const int fs_u = fs_e / (vs), fs_v = fs_e % (vs);                                                              \
        const fs_int u = (u0) + fs_u < (u_end) ? (u0) + fs_u : (u_end)-1,                                              \
                     v = (v0) + fs_v < (v_end) ? (v0) + fs_v : (v_end)-8;                                              \
        fs_copy_async(&tile[fs_u * tile##_##u + fs_v * tile##_##v], &(pointer)[number]);                               \
    }
#define FS_FLASH_COPY_ROWS(type, tile, p, row_of, k, k0, ks, k_end, pointer, number)                                   \
    FS_UNROLL for (int fs_e = fs_t * 8; fs_e < fs_m * (ks); fs_e += fs_threads * 8)                                    \
    {                                                                                                                  \
        const int fs_u = fs_e / (ks), fs_v = fs_e % (ks);                                                              \
        const fs_int p = (fs_int)row_of(fs_q + (fs_u < fs_last ? fs_u : fs_last)), k = (k0) + fs_v;                    \
        fs_copy_async(&tile[fs_u * tile##_##p + fs_v], &(pointer)[number]);                                            \
    }
/* The same for 8-bit floats, which are converted between the load and the store, FS_FLASH_AHEAD loads at a time. No
 * copy is under way afterwards. */
enum { FS_FLASH_AHEAD = 8 };
#define FS_FLASH_WIDEN(from, type, tile, u, u0, us, u_end, v, v0, vs, v_end, pointer, number)                          \
    for (int fs_e0 = fs_t * 8; fs_e0 < (us) * (vs); fs_e0 += fs_threads * 8 * FS_FLASH_AHEAD) {                        \
        fs_u64 fs_eight[FS_FLASH_AHEAD];                                                                               \
        FS_UNROLL for (int fs_i = 0; fs_i < FS_FLASH_AHEAD; fs_i++)                                                    \
        {                                                                                                              \
            const int fs_e = fs_e0 + fs_i * fs_threads * 8, fs_u = fs_e / (vs), fs_v = fs_e % (vs);                    \
            const fs_int u = (u0) + fs_u < (u_end) ? (u0) + fs_u : (u_end)-1,                                          \
                         v = (v0) + fs_v < (v_end) ? (v0) + fs_v : (v_end)-8;                                          \
            fs_eight[fs_i] = *(const fs_u64 *)&(pointer)[number];                                                      \
        }                                                                                                              \
        FS_UNROLL for (int fs_i = 0; fs_i < FS_FLASH_AHEAD; fs_i++)                                                    \
        {                                                                                                              \
            const int fs_e = fs_e0 + fs_i * fs_threads * 8, fs_u = fs_e / (vs), fs_v = fs_e % (vs);                    \
            if (fs_e < (us) * (vs))                                                                                    \
                fs_flash_widen_##from##_##type(&tile[fs_u * tile##_##u + fs_v * tile##_##v], fs_eight[fs_i]);          \
        }                                                                                                              \
    }
#define FS_FLASH_COMMIT        fs_copy_commit();
#define FS_FLASH_WAIT(pending) fs_copy_wait(pending);

#define FS_FLASH_CLEAR                                                                                                 \
    FS_UNROLL for (int fs_i = 0; fs_i < fs_rows; fs_i++) FS_UNROLL for (int fs_j = 0; fs_j < fs_columns; fs_j++)       \
        fs_s[fs_i][fs_j] = 0;
#define FS_FLASH_ROWS(p, row_of)                                                                                       \
    FS_UNROLL for (int fs_i = 0; fs_i < fs_rows; fs_i++)                                                               \
    {                                                                                                                  \
        const fs_int fs_row = fs_row0 + fs_step * fs_i;                                                                \
        const int fs_live = fs_row <= fs_last;                                                                         \
        const fs_int p = (fs_int)row_of(fs_q + (fs_live ? fs_row : fs_last));                                          \
        (void)fs_live;                                                                                                 \
        (void)p;
#define FS_FLASH_ROWS_END }
#define FS_FLASH_COLUMNS(c, c0, clause)                                                                                \
    FS_UNROLL for (int fs_j = 0; fs_j < fs_columns; fs_j++)                                                            \
    {                                                                                                                  \
        const fs_int fs_c = (c0) + fs_aside + FS_FLASH_COLUMN(fs_j, fs_pair);                                          \
        const int fs_in = fs_even || fs_c < fs_width;                                                                  \
        const fs_int c = fs_in ? fs_c : fs_width - 1;                                                                  \
        (void)c;                                                                                                       \
        (void)fs_in;
#define FS_FLASH_COLUMNS_END }
/* Runs the statement for columns within the row only. FS_FLASH_STORE: the same for a store; of the blocks that share
 * a row's results, only the first stores. */
#define FS_FLASH_IN(statement)                                                                                         \
    if (fs_in) {                                                                                                       \
        statement                                                                                                      \
    }
#define FS_FLASH_STORE           if (fs_in && fs_live && fs_chunk == 0)
#define FS_FLASH_KEEP(value)     FS_SCORE = fs_in ? (value) : 0;
#define FS_FLASH_ONCE            if (fs_live && fs_place == 0 && fs_beside == 0 && fs_chunk == 0)
#define FS_FLASH_EACH            if (fs_live && fs_place == 0 && fs_beside == 0)
#define FS_FLASH_RESCALE(factor) FS_UNROLL for (int fs_j = 0; fs_j < fs_results; fs_j++) FS_RESULT *= factor;
#define FS_FLASH_RESULTS(j, j0, j_end)                                                                                 \
    FS_UNROLL for (int fs_j = 0; fs_j < fs_results; fs_j++)                                                            \
    {                                                                                                                  \
        const fs_int j = (j0) + FS_FLASH_COLUMN(fs_j, fs_result_pair);                                                 \
        if (fs_live && fs_beside == 0 && j < (j_end)) {
#define FS_FLASH_RESULTS_END                                                                                           \
    }                                                                                                                  \
    }
/* Combines a value over the threads that share a row. */
#define FS_FLASH_TYPE_f float
#define FS_FLASH_TYPE_d double
#define FS_FLASH_COMBINE(s, a, combined)                                                                               \
    FS_UNROLL for (int fs_d = fs_group / 2; fs_d > 0; fs_d >>= 1)                                                      \
    {                                                                                                                  \
        const FS_FLASH_TYPE_##s x = a, y = fs_shfl_##s(a, fs_d);                                                       \
        a = combined;                                                                                                  \
    }
#define FS_FLASH_MAX(s, a)  FS_FLASH_COMBINE(s, a, fs_max##s(x, y))
#define FS_FLASH_MIN(s, a)  FS_FLASH_COMBINE(s, a, fs_min##s(x, y))
#define FS_FLASH_SUM(s, a)  FS_FLASH_COMBINE(s, a, x + y)
#define FS_FLASH_PROD(s, a) FS_FLASH_COMBINE(s, a, x *y)

/* Warps that share columns. Each thread leaves its values in shared memory, in the place of the tiles; the threads of
 * the other warps with the same rows and results take them. slot: which value of a thread. */
#define FS_FLASH_MEET fs_barrier();
#define FS_FLASH_MINE FS_UNROLL for (int fs_i = 0; fs_i < fs_rows; fs_i++)
#define FS_FLASH_LEFT(type, slot, warp)                                                                                \
    ((type *)fs_dynamic_shared())[(((slot)*fs_rows + fs_i) * fs_across + (warp)) * (fs_threads / fs_across) +          \
                                  fs_t % (fs_threads / fs_across)]
#define FS_FLASH_LEAVE(type, slot, value) FS_FLASH_LEFT(type, slot, fs_beside) = value;
#define FS_FLASH_LEAVE_RESULTS(type, slot)                                                                             \
    FS_UNROLL for (int fs_j = 0; fs_j < fs_results; fs_j++) FS_FLASH_LEAVE(type, (slot) + fs_j, FS_RESULT)
#define FS_FLASH_TAKE_RESULTS(type, slot)                                                                              \
    FS_UNROLL for (int fs_j = 0; fs_j < fs_results; fs_j++)                                                            \
    {                                                                                                                  \
        type fs_sum = 0;                                                                                               \
        FS_UNROLL for (int i = 0; i < fs_across; i++) fs_sum += FS_FLASH_LEFT(type, (slot) + fs_j, i);                 \
        FS_RESULT = fs_sum;                                                                                            \
    }

/* The B fragments of two groups of 8 columns, of an operand at k and column j. _K: its elements beside each other
 * follow k; _J: they follow j. */
#define FS_FLASH_ALONG_K(y, tile, lead, j, k)                                                                          \
    fs_ldmatrix4(y, &(tile)[((j) + fs_lane % 8 + fs_lane / 16 * 8) * (lead) + (k) + fs_lane / 8 % 2 * 8]);
#define FS_FLASH_ALONG_J(y, tile, lead, j, k)                                                                          \
    fs_ldmatrix4_trans(y, &(tile)[((k) + fs_lane % 16) * (lead) + (j) + fs_lane / 16 * 8]);
#define FS_FLASH_MULTIPLY(type, sums, a, y, j)                                                                         \
    FS_UNROLL for (int fs_h = 0; fs_h < 2; fs_h++)                                                                     \
    {                                                                                                                  \
        const int fs_f = ((j) + fs_h) * 2;                                                                             \
        float fs_c[4] = {sums[0][fs_f], sums[0][fs_f + 1], sums[1][fs_f], sums[1][fs_f + 1]};                          \
        fs_mma_##type(fs_c, a, y[fs_h * 2], y[fs_h * 2 + 1]);                                                          \
        sums[0][fs_f] = fs_c[0];                                                                                       \
        sums[0][fs_f + 1] = fs_c[1];                                                                                   \
        sums[1][fs_f] = fs_c[2];                                                                                       \
        sums[1][fs_f + 1] = fs_c[3];                                                                                   \
    }
/* FIRST: scores += rows x first operand, over `depth`. SECOND: results += scores x second operand, with scores
 * rounded to `type`. */
#define FS_FLASH_FIRST_MMA(type, rows, k0, first, first_lead, along, depth)                                            \
    FS_UNROLL_SOME(2) for (int fs_k = 0; fs_k < (depth); fs_k += 16)                                                   \
    {                                                                                                                  \
        fs_u32 fs_a[4];                                                                                                \
        fs_ldmatrix4(fs_a, &rows[(fs_warp * 16 + fs_lane % 16) * rows##_p + (k0) + fs_k + fs_lane / 16 * 8]);          \
        FS_UNROLL for (int fs_j = 0; fs_j < fs_side / 8; fs_j += 2)                                                    \
        {                                                                                                              \
            fs_u32 fs_y[4];                                                                                            \
            FS_FLASH_ALONG_##along(fs_y, first, first_lead, fs_aside + fs_j * 8, fs_k)                                 \
                FS_FLASH_MULTIPLY(type, fs_s, fs_a, fs_y, fs_j)                                                        \
        }                                                                                                              \
    }
#define FS_FLASH_SECOND_MMA(type, second, second_lead, along)                                                          \
    FS_UNROLL for (int fs_k = 0; fs_k < fs_side / 4; fs_k += 4)                                                        \
    {                                                                                                                  \
        const fs_u32 fs_a[4] = {fs_flash_pair_##type(fs_s[0][fs_k], fs_s[0][fs_k + 1]),                                \
                                fs_flash_pair_##type(fs_s[1][fs_k], fs_s[1][fs_k + 1]),                                \
                                fs_flash_pair_##type(fs_s[0][fs_k + 2], fs_s[0][fs_k + 3]),                            \
                                fs_flash_pair_##type(fs_s[1][fs_k + 2], fs_s[1][fs_k + 3])};                           \
        FS_UNROLL for (int fs_j = 0; fs_j < fs_results / 2; fs_j += 2)                                                 \
        {                                                                                                              \
            fs_u32 fs_y[4];                                                                                            \
            FS_FLASH_ALONG_##along(fs_y, second, second_lead, fs_j * 8, fs_aside + fs_k * 4)                           \
                FS_FLASH_MULTIPLY(type, fs_o, fs_a, fs_y, fs_j)                                                        \
        }                                                                                                              \
    }
#ifdef FS_SM_80
FS_FN fs_u32 fs_flash_pair_f16(float low, float high)
{
    fs_u32 r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}
FS_FN fs_u32 fs_flash_pair_bf16(float low, float high)
{
    fs_u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}
#else
FS_FN fs_u32 fs_flash_pair_f16(float low, float high) { return (fs_u32)fs_to_f16(low) | (fs_u32)fs_to_f16(high) << 16; }
FS_FN fs_u32 fs_flash_pair_bf16(float low, float high)
{
    return (fs_u32)fs_to_bf16(low) | (fs_u32)fs_to_bf16(high) << 16;
}
#endif
/* Two 8-bit floats as floats: exact. */
#if defined(FS_CUDA) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define FS_FLASH_NARROW(from, ptx)                                                                                     \
    FS_FN void fs_flash_floats_##from(fs_u32 pair, float y[2])                                                         \
    {                                                                                                                  \
        asm("{.reg .b32 x; .reg .b16 l, h; cvt.rn.f16x2." ptx                                                          \
            " x, %2; mov.b32 {l, h}, x; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}"                                        \
            : "=f"(y[0]), "=f"(y[1])                                                                                   \
            : "h"((unsigned short)pair));                                                                              \
    }
#else
#define FS_FLASH_NARROW(from, ptx)                                                                                     \
    FS_FN void fs_flash_floats_##from(fs_u32 pair, float y[2])                                                         \
    {                                                                                                                  \
        y[0] = fs_from_##from((fs_##from)(pair & 0xffu));                                                              \
        y[1] = fs_from_##from((fs_##from)(pair >> 8 & 0xffu));                                                         \
    }
#endif
FS_FLASH_NARROW(f8e4m3, "e4m3x2")
FS_FLASH_NARROW(f8e5m2, "e5m2x2")
typedef struct FS_ALIGNED(16) {
    fs_u32 x[4];
} fs_flash_eight;
#define FS_FLASH_WIDENS(from, type)                                                                                    \
    FS_FN void fs_flash_widen_##from##_##type(fs_##type *to, fs_u64 eight)                                             \
    {                                                                                                                  \
        fs_flash_eight y;                                                                                              \
        FS_UNROLL for (int i = 0; i < 4; i++)                                                                          \
        {                                                                                                              \
            float two[2];                                                                                              \
            fs_flash_floats_##from((fs_u32)(eight >> 16 * i) & 0xffffu, two);                                          \
            y.x[i] = fs_flash_pair_##type(two[0], two[1]);                                                             \
        }                                                                                                              \
        *(fs_flash_eight *)to = y;                                                                                     \
    }
FS_FLASH_WIDENS(f8e4m3, f16)
FS_FLASH_WIDENS(f8e4m3, bf16)
FS_FLASH_WIDENS(f8e5m2, f16)
FS_FLASH_WIDENS(f8e5m2, bf16)
/* The same without tensor cores; the scores go through shared memory. */
#define FS_FLASH_SUMS(type, sums, count, pair, x, x_lead, y, y_lead, depth)                                            \
    FS_UNROLL_SOME(1) for (int fs_k = 0; fs_k < (depth); fs_k += 4) FS_UNROLL for (int fs_h = 0; fs_h < 4; fs_h++)     \
    {                                                                                                                  \
        type fs_x[fs_rows], fs_y[count];                                                                               \
        FS_UNROLL for (int fs_i = 0; fs_i < fs_rows; fs_i++) fs_x[fs_i] =                                              \
            (x)[(fs_row0 + fs_step * fs_i) * (x_lead) + fs_k + fs_h];                                                  \
        FS_UNROLL for (int fs_j = 0; fs_j < count; fs_j++) fs_y[fs_j] =                                                \
            (y)[(fs_k + fs_h) * (y_lead) + FS_FLASH_COLUMN(fs_j, pair)];                                               \
        FS_UNROLL for (int fs_i = 0; fs_i < fs_rows; fs_i++) FS_UNROLL for (int fs_j = 0; fs_j < count; fs_j++)        \
            sums[fs_i][fs_j] += fs_x[fs_i] * fs_y[fs_j];                                                               \
    }
#define FS_FLASH_FIRST_SIMT(type, rows, k0, first, first_lead, depth)                                                  \
    FS_FLASH_SUMS(type, fs_s, fs_columns, fs_pair, rows + (k0), rows##_p, first, first_lead, depth)
#define FS_FLASH_SCORES(type, name, offset, lead)                                                                      \
    type *const name = (type *)((unsigned char *)fs_dynamic_shared() + (offset));                                      \
    enum { name##_p = lead };
#define FS_FLASH_SECOND_SIMT(type, scores, second, second_lead)                                                        \
    FS_UNROLL for (int fs_i = 0; fs_i < fs_rows; fs_i++) FS_UNROLL for (int fs_j = 0; fs_j < fs_columns; fs_j++)       \
        scores[(fs_row0 + fs_step * fs_i) * scores##_p + FS_FLASH_COLUMN(fs_j, fs_pair)] = fs_s[fs_i][fs_j];           \
    fs_barrier();                                                                                                      \
    FS_FLASH_SUMS(type, fs_o, fs_results, fs_result_pair, scores, scores##_p, second, second_lead, fs_n)

#else

#define FS_FLASH_LAYOUT(type, results)                                                                                 \
    enum { fs_rows = fs_m, fs_results = results };                                                                     \
    type fs_s[fs_m][fs_n], fs_o[fs_m][fs_results];                                                                     \
    for (int fs_i = 0; fs_i < fs_m; fs_i++)                                                                            \
        for (int fs_j = 0; fs_j < fs_results; fs_j++)                                                                  \
            fs_o[fs_i][fs_j] = 0;
#define FS_FLASH_MMA(type, results, across)             FS_FLASH_LAYOUT(type, results)
#define FS_FLASH_SIMT(type, results, pair, result_pair) FS_FLASH_LAYOUT(type, results)
#define FS_FLASH_TILE(type, host_type, name, offset, count, x, x_step, host_x, y, y_step, host_y)                      \
    FS_PRIVATE(host_type, name, count);                                                                                \
    enum { name##_##x = host_x, name##_##y = host_y };
#define FS_FLASH_FILL(tile, u, u0, us, u_end, v, v0, vs, v_end)                                                        \
    for (int fs_u = 0; fs_u < (us); fs_u++)                                                                            \
        for (int fs_v = 0; fs_v < (vs); fs_v++) {                                                                      \
            const fs_int u = (u0) + fs_u < (u_end) ? (u0) + fs_u : (u_end)-1,                                          \
                         v = (v0) + fs_v < (v_end) ? (v0) + fs_v : (v_end)-1;                                          \
            const int fs_in = (u0) + fs_u < (u_end) && (v0) + fs_v < (v_end),                                          \
                      fs_to = fs_u * tile##_##u + fs_v * tile##_##v;                                                   \
            (void)u;                                                                                                   \
            (void)v;                                                                                                   \
            (void)fs_in;
#define FS_FLASH_FILL_ROWS(tile, p, row_of, k, k0, ks, k_end)                                                          \
    for (int fs_u = 0; fs_u <= fs_last; fs_u++)                                                                        \
        for (int fs_v = 0; fs_v < (ks); fs_v++) {                                                                      \
            const fs_int p = (fs_int)row_of(fs_q + fs_u), k = (k0) + fs_v < (k_end) ? (k0) + fs_v : (k_end)-1;         \
            const int fs_in = (k0) + fs_v < (k_end), fs_to = fs_u * tile##_##p + fs_v;                                 \
            (void)p;                                                                                                   \
            (void)k;                                                                                                   \
            (void)fs_in;
#define FS_FLASH_PUT(type, tile, value) tile[fs_to] = fs_in ? (value) : 0;
#define FS_FLASH_FILL_END               }
#define FS_FLASH_COPY(type, tile, u, u0, us, u_end, v, v0, vs, v_end, pointer, number)                                 \
    FS_FLASH_FILL(tile, u, u0, us, u_end, v, v0, vs, v_end) tile[fs_to] = fs_from_##type((pointer)[number]);           \
    }
#define FS_FLASH_WIDEN(from, type, tile, u, u0, us, u_end, v, v0, vs, v_end, pointer, number)                          \
    FS_FLASH_FILL(tile, u, u0, us, u_end, v, v0, vs, v_end) tile[fs_to] = fs_from_##from((pointer)[number]);           \
    }
#define FS_FLASH_COPY_ROWS(type, tile, p, row_of, k, k0, ks, k_end, pointer, number)                                   \
    FS_FLASH_FILL_ROWS(tile, p, row_of, k, k0, ks, k_end) tile[fs_to] = fs_from_##type((pointer)[number]);             \
    }
#define FS_FLASH_COMMIT
#define FS_FLASH_WAIT(pending)

#define FS_FLASH_CLEAR                                                                                                 \
    for (int fs_i = 0; fs_i <= fs_last; fs_i++)                                                                        \
        for (int fs_j = 0; fs_j < fs_n; fs_j++)                                                                        \
            fs_s[fs_i][fs_j] = 0;
#define FS_FLASH_ROWS(p, row_of)                                                                                       \
    for (int fs_i = 0; fs_i <= fs_last; fs_i++) {                                                                      \
        const fs_int p = (fs_int)row_of(fs_q + fs_i);                                                                  \
        (void)p;
#define FS_FLASH_ROWS_END }
#define FS_FLASH_COLUMNS(c, c0, clause)                                                                                \
    {                                                                                                                  \
        const int fs_here = fs_width - (c0) < fs_n ? (int)(fs_width - (c0)) : (int)fs_n;                               \
        FS_PRAGMA(omp simd clause) for (int fs_j = 0; fs_j < fs_here; fs_j++)                                          \
        {                                                                                                              \
            const fs_int c = (c0) + fs_j;                                                                              \
            (void)c;
#define FS_FLASH_COLUMNS_END                                                                                           \
    }                                                                                                                  \
    for (int fs_j = fs_here; fs_j < fs_n; fs_j++)                                                                      \
        fs_s[fs_i][fs_j] = 0;                                                                                          \
    }
#define FS_FLASH_IN(statement) statement
#define FS_FLASH_STORE         if (fs_chunk == 0)
#define FS_FLASH_KEEP(value)   FS_SCORE = value;
#define FS_FLASH_ONCE          if (fs_chunk == 0)
#define FS_FLASH_EACH
#define FS_FLASH_RESCALE(factor)                                                                                       \
    for (int fs_j = 0; fs_j < fs_results; fs_j++)                                                                      \
        FS_RESULT *= factor;
#define FS_FLASH_RESULTS(j, j0, j_end)                                                                                 \
    FS_PRAGMA(omp simd)                                                                                                \
    for (int fs_j = 0; fs_j < ((j_end) - (j0) < fs_results ? (int)((j_end) - (j0)) : (int)fs_results); fs_j++) {       \
        const fs_int j = (j0) + fs_j;
#define FS_FLASH_RESULTS_END }
#define FS_FLASH_MAX(s, a)
#define FS_FLASH_MIN(s, a)
#define FS_FLASH_SUM(s, a)
#define FS_FLASH_PROD(s, a)
/* Four elements of k at a time: four multiply-adds for each load and store of a sum. */
#define FS_FLASH_SUMS(sums, count, x, x_lead, y, depth)                                                                \
    for (int fs_i = 0; fs_i <= fs_last; fs_i++) {                                                                      \
        int fs_k = 0;                                                                                                  \
        for (; fs_k + 4 <= (depth); fs_k += 4) {                                                                       \
            const __typeof__(**sums) fs_x0 = (x)[fs_i * (x_lead) + fs_k], fs_x1 = (x)[fs_i * (x_lead) + fs_k + 1],     \
                                     fs_x2 = (x)[fs_i * (x_lead) + fs_k + 2], fs_x3 = (x)[fs_i * (x_lead) + fs_k + 3]; \
            FS_PRAGMA(omp simd)                                                                                        \
            for (int fs_j = 0; fs_j < count; fs_j++)                                                                   \
                sums[fs_i][fs_j] += fs_x0 * (y)[fs_k * count + fs_j] + fs_x1 * (y)[(fs_k + 1) * count + fs_j] +        \
                                    fs_x2 * (y)[(fs_k + 2) * count + fs_j] + fs_x3 * (y)[(fs_k + 3) * count + fs_j];   \
        }                                                                                                              \
        for (; fs_k < (depth); fs_k++)                                                                                 \
            FS_PRAGMA(omp simd)                                                                                        \
        for (int fs_j = 0; fs_j < count; fs_j++)                                                                       \
            sums[fs_i][fs_j] += (x)[fs_i * (x_lead) + fs_k] * (y)[fs_k * count + fs_j];                                \
    }
#define FS_FLASH_FIRST_MMA(type, rows, k0, first, first_lead, along, depth)                                            \
    FS_FLASH_SUMS(fs_s, fs_n, rows + (k0), rows##_p, first, depth)
#define FS_FLASH_FIRST_SIMT(type, rows, k0, first, first_lead, depth)                                                  \
    FS_FLASH_SUMS(fs_s, fs_n, rows + (k0), rows##_p, first, depth)
#define FS_FLASH_SECOND_MMA(type, second, second_lead, along)                                                          \
    FS_FLASH_SUMS(fs_o, fs_results, &fs_s[0][0], fs_n, second, fs_n)
#define FS_FLASH_SECOND_SIMT(type, scores, second, second_lead)                                                        \
    FS_FLASH_SUMS(fs_o, fs_results, &fs_s[0][0], fs_n, second, fs_n)
#define FS_FLASH_SCORES(type, name, offset, lead)
#define FS_FLASH_MEET                     if (0)
#define FS_FLASH_MINE                     for (int fs_i = 0; fs_i < fs_rows; fs_i++)
#define FS_FLASH_LEFT(type, slot, warp)   fs_o[fs_i][0]
#define FS_FLASH_LEAVE(type, slot, value) FS_FLASH_LEFT(type, slot, 0) = value;
#define FS_FLASH_LEAVE_RESULTS(type, slot)
#define FS_FLASH_TAKE_RESULTS(type, slot)

#endif
