
/* Products by groups of four warps (Hopper's wgmma): kinds gf16, gbf16, gf8e4m3 and gf8e5m2. A group has 64 rows of the
 * tile and all of its columns; each of its warps has 16 of the rows, with sums as in fragments of mma. wgmma reads both
 * operands from shared memory, where they lie in lines of 128 bytes: 64 elements (128 of 8 bits) along k of one row, or
 * 64 neighbouring rows at one k, but not those of 8 bits. Eight lines are 1,024 bytes, and the 16-byte chunks of line i
 * are exchanged: chunk c is at c ^ (i % 8), so that neither copies nor products meet in a bank. The PTX ISA has the
 * layout (128-byte swizzle, wgmma's matrix descriptors).
 *
 * What is compiled for another architecture multiplies the same lines by mma. */
#ifdef FS_GPU
enum { fs_line = 64, fs_lines_bytes = 1024 };
FS_FN void *fs_lines_shared(void)
{
    return (void *)(((fs_u64)fs_dynamic_shared() + fs_lines_bytes - 1) & ~(fs_u64)(fs_lines_bytes - 1));
}
/* The place of element `at` of a line, in blocks of `lines` lines of 64 elements. */
FS_FN int fs_line_at(int line, int at, int lines)
{
    return at / fs_line * lines * fs_line + line * fs_line + ((at % fs_line / 8 ^ line % 8) * 8) + at % 8;
}
/* The place of an operand's element, of `bytes` bytes, in a step. 8-bit ones lie as pairs of 16 bits. */
FS_FN int fs_line_place(int in_k, int row, int k, int step, int bytes)
{
    return bytes == 1 ? fs_line_at(row, k / 2, 0) * 2 + k % 2 : in_k ? fs_line_at(row, k, 0) : fs_line_at(k, row, step);
}

#if defined(FS_CUDA) && defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define FS_GROUPS 1
#endif
#ifdef FS_GROUPS
FS_FN void fs_groups_begin(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
FS_FN void fs_groups_commit(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
#define fs_groups_wait(pending) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"((int)(pending)) : "memory");
/* What threads have written to shared memory is seen by wgmma. */
FS_FN void fs_groups_see(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
FS_FN void fs_groups_settle(float *sum) { asm volatile("" : "+f"(*sum)::"memory"); }
FS_FN fs_u64 fs_group_operand(const void *at, int along, int across)
{
    const fs_u32 address = fs_shared_address(at);
    return (fs_u64)((address & 0x3ffffu) >> 4) | (fs_u64)(along >> 4) << 16 | (fs_u64)(across >> 4) << 32 | 1ull << 62;
}
#define FS_REGISTERS_32                                                                                                \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, "        \
    "%23, %24, %25, %26, %27, %28, %29, %30, %31"
#define FS_REGISTERS_64                                                                                                \
    FS_REGISTERS_32                                                                                                    \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, "           \
    "%52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define FS_REGISTERS_128                                                                                               \
    FS_REGISTERS_64                                                                                                    \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, "           \
    "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, "         \
    "%104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, "           \
    "%121, %122, %123, %124, %125, %126, %127"
#define FS_SUMS_8(i)                                                                                                   \
    "+f"(sum[i]), "+f"(sum[(i) + 1]), "+f"(sum[(i) + 2]), "+f"(sum[(i) + 3]), "+f"(sum[(i) + 4]), "+f"(sum[(i) + 5]),  \
        "+f"(sum[(i) + 6]), "+f"(sum[(i) + 7])
#define FS_SUMS_32(i)  FS_SUMS_8(i), FS_SUMS_8((i) + 8), FS_SUMS_8((i) + 16), FS_SUMS_8((i) + 24)
#define FS_SUMS_64(i)  FS_SUMS_32(i), FS_SUMS_32((i) + 32)
#define FS_SUMS_128(i) FS_SUMS_64(i), FS_SUMS_64((i) + 64)
/* 64 rows x `columns` x 16 of k; rows_first, columns_first: the operand's lines follow its rows (columns), not k. */
#define FS_GROUP_INSTRUCTION(type, columns, sums, left, right, rows_first, columns_first)                              \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." #type "." #type " {" FS_REGISTERS_##sums      \
                 "}, %" #left ", %" #right ", 1, 1, 1, " #rows_first ", " #columns_first ";"                           \
                 : FS_SUMS_##sums(0)                                                                                   \
                 : "l"(x), "l"(y));
#define FS_GROUP_FORMS(type, columns, sums, left, right)                                                               \
    FS_FN void fs_group_##type##_##columns(float *sum, fs_u64 x, fs_u64 y, int x_in_k, int y_in_k)                     \
    {                                                                                                                  \
        if (x_in_k && y_in_k)                                                                                          \
            FS_GROUP_INSTRUCTION(type, columns, sums, left, right, 0, 0)                                               \
        else if (x_in_k)                                                                                               \
            FS_GROUP_INSTRUCTION(type, columns, sums, left, right, 0, 1)                                               \
        else if (y_in_k)                                                                                               \
            FS_GROUP_INSTRUCTION(type, columns, sums, left, right, 1, 0)                                               \
        else                                                                                                           \
            FS_GROUP_INSTRUCTION(type, columns, sums, left, right, 1, 1)                                               \
    }
#define FS_GROUP_TYPE(type)                                                                                            \
    FS_GROUP_FORMS(type, 64, 32, 32, 33)                                                                               \
    FS_GROUP_FORMS(type, 128, 64, 64, 65)                                                                              \
    FS_GROUP_FORMS(type, 256, 128, 128, 129)                                                                           \
    FS_FN void fs_multiply_g##type(float *sum, fs_tile_operand x, fs_tile_operand y, fs_tile_shape s)                  \
    {                                                                                                                  \
        const int group = fs_thread() / 128, along = s.step * fs_line * 2;                                             \
        const fs_u16 *const left = (const fs_u16 *)x.at + group * fs_line * (x.in_k ? fs_line : s.step);               \
        fs_groups_begin();                                                                                             \
        FS_UNROLL for (int k = 0; k < s.step; k += 16)                                                                 \
        {                                                                                                              \
            const fs_u64 a = fs_group_operand(left + k * (x.in_k ? 1 : fs_line), along, fs_lines_bytes),               \
                         b = fs_group_operand((const fs_u16 *)y.at + k * (y.in_k ? 1 : fs_line), along,                \
                                              fs_lines_bytes);                                                         \
            if (s.tn == 64)                                                                                            \
                fs_group_##type##_64(sum, a, b, x.in_k, y.in_k);                                                       \
            else if (s.tn == 128)                                                                                      \
                fs_group_##type##_128(sum, a, b, x.in_k, y.in_k);                                                      \
            else                                                                                                       \
                fs_group_##type##_256(sum, a, b, x.in_k, y.in_k);                                                      \
        }                                                                                                              \
        fs_groups_commit();                                                                                            \
    }
FS_GROUP_TYPE(f16)
FS_GROUP_TYPE(bf16)
/* 8-bit floats. Tensor units keep about 14 bits of a sum of their products, so each step's sums begin at zero and are
 * added up in f32, for which the group waits; meanwhile the other group of the block multiplies. */
#define FS_GROUP_BYTES_FORM(type, columns, sums, left, right)                                                          \
    FS_FN void fs_group_##type##_##columns(float *sum, fs_u64 x, fs_u64 y)                                             \
    {                                                                                                                  \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k32.f32." #type "." #type " {" FS_REGISTERS_##sums  \
                     "}, %" #left ", %" #right ", 1, 1, 1;"                                                            \
                     : FS_SUMS_##sums(0)                                                                               \
                     : "l"(x), "l"(y));                                                                                \
    }
#define FS_GROUP_BYTES(type)                                                                                           \
    FS_GROUP_BYTES_FORM(type, 64, 32, 32, 33)                                                                          \
    FS_GROUP_BYTES_FORM(type, 128, 64, 64, 65)                                                                         \
    FS_FN void fs_multiply_gf8##type(float *total, fs_tile_operand x, fs_tile_operand y, fs_tile_shape s)              \
    {                                                                                                                  \
        const fs_u8 *const left = (const fs_u8 *)x.at + fs_thread() / 128 * 64 * 128, *const right =                   \
                                                                                          (const fs_u8 *)y.at;         \
        float sum[64];                                                                                                 \
        FS_UNROLL for (int i = 0; i < s.tn / 2; i++) sum[i] = 0;                                                       \
        fs_groups_begin();                                                                                             \
        FS_UNROLL for (int k = 0; k < s.step; k += 32)                                                                 \
        {                                                                                                              \
            const fs_u64 a = fs_group_operand(left + k, 0, fs_lines_bytes),                                            \
                         b = fs_group_operand(right + k, 0, fs_lines_bytes);                                           \
            if (s.tn == 64)                                                                                            \
                fs_group_##type##_64(sum, a, b);                                                                       \
            else                                                                                                       \
                fs_group_##type##_128(sum, a, b);                                                                      \
        }                                                                                                              \
        fs_groups_commit();                                                                                            \
        fs_groups_wait(0);                                                                                             \
        FS_UNROLL for (int i = 0; i < s.tn / 2; i++)                                                                   \
        {                                                                                                              \
            fs_groups_settle(&sum[i]);                                                                                 \
            total[i] += sum[i];                                                                                        \
        }                                                                                                              \
    }
FS_GROUP_BYTES(e4m3)
FS_GROUP_BYTES(e5m2)
#else
#define fs_groups_wait(pending)
FS_FN void fs_groups_see(void) {}
FS_FN void fs_groups_settle(float *sum) { (void)sum; }
#endif

#ifndef FS_GROUPS
#if !defined(FS_CUDA) || defined(FS_SM_80)
FS_FN void fs_group_rows(fs_u32 r[4], fs_tile_operand x, int row, int k, int step)
{
    const fs_u16 *const at = (const fs_u16 *)x.at;
    const int lane = fs_thread() % 32;
    if (x.in_k)
        fs_ldmatrix4(r, &at[fs_line_at(row + lane % 16, k + lane / 16 * 8, 0)]);
    else
        fs_ldmatrix4_trans(r, &at[fs_line_at(k + lane / 16 * 8 + lane % 8, row + lane / 8 % 2 * 8, step)]);
}
FS_FN void fs_group_columns(fs_u32 r[4], fs_tile_operand y, int column, int k, int step)
{
    const fs_u16 *const at = (const fs_u16 *)y.at;
    const int lane = fs_thread() % 32;
    if (y.in_k)
        fs_ldmatrix4(r, &at[fs_line_at(column + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8, 0)]);
    else
        fs_ldmatrix4_trans(r, &at[fs_line_at(k + lane % 16, column + lane / 16 * 8, step)]);
}
#define FS_GROUP_TYPE(type)                                                                                            \
    FS_FN void fs_multiply_g##type(float *sum, fs_tile_operand x, fs_tile_operand y, fs_tile_shape s)                  \
    {                                                                                                                  \
        FS_UNROLL for (int k = 0; k < s.step; k += 16)                                                                 \
        {                                                                                                              \
            fs_u32 left[4], right[4];                                                                                  \
            fs_group_rows(left, x, fs_thread() / 32 * 16, k, s.step);                                                  \
            FS_UNROLL for (int j = 0; j < s.tn; j += 16)                                                               \
            {                                                                                                          \
                fs_group_columns(right, y, j, k, s.step);                                                              \
                fs_mma_##type(&sum[j / 2], left, right[0], right[1]);                                                  \
                fs_mma_##type(&sum[j / 2 + 4], left, right[2], right[3]);                                              \
            }                                                                                                          \
        }                                                                                                              \
    }
FS_GROUP_TYPE(f16)
FS_GROUP_TYPE(bf16)
#endif
#if !defined(FS_CUDA) || defined(FS_SM_89)
#define FS_GROUP_BYTES(type)                                                                                           \
    FS_FN void fs_multiply_g##type(float *sum, fs_tile_operand x, fs_tile_operand y, fs_tile_shape s)                  \
    {                                                                                                                  \
        const fs_tile_operand left_pairs = {x.at, 1, 0}, right_pairs = {y.at, 1, 0};                                   \
        FS_UNROLL for (int j = 0; j < s.tn; j += 16) FS_UNROLL for (int half = 0; half < 2; half++)                    \
        {                                                                                                              \
            float part[4] = {0, 0, 0, 0}, *const to = &sum[j / 2 + half * 4];                                          \
            FS_UNROLL for (int k = 0; k < s.step / 2; k += 16)                                                         \
            {                                                                                                          \
                fs_u32 left[4], right[4];                                                                              \
                fs_group_rows(left, left_pairs, fs_thread() / 32 * 16, k, 0);                                          \
                fs_group_columns(right, right_pairs, j, k, 0);                                                         \
                fs_mma_##type(part, left, right[half * 2], right[half * 2 + 1]);                                       \
            }                                                                                                          \
            FS_UNROLL for (int q = 0; q < 4; q++) to[q] += part[q];                                                    \
        }                                                                                                              \
    }
FS_GROUP_BYTES(f8e4m3)
FS_GROUP_BYTES(f8e5m2)
#endif
#endif

/* After a step's products: those of the step before are done, and with fs_pending 0 its own. */
#define FS_TILE_MULTIPLIED fs_groups_wait(fs_pending)
/* After the last step: all are done. */
#define FS_TILE_SETTLE(sum)                                                                                            \
    fs_groups_wait(0) FS_UNROLL for (int fs_e = 0; fs_e < fs_each; fs_e++) fs_groups_settle(&sum[fs_e]);
#endif
