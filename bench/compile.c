/* SPDX-License-Identifier: Apache-2.0 */
/* compile.c: how long NVRTC takes for generated kernels, from source to machine code, and the line through it:
 * bench/compile.sh builds and runs it. Prints a row per kernel and architecture (processor seconds of REPEATS
 * compilations, each of a source of its own; the wall clock's lowest), then per class seconds = a + b x instructions,
 * fitted to the lowest by least relative squares, with its errors. Instructions are counted as plan/compile_cost.h
 * counts them: by the operator table, in the source, for one thread. Needs no GPU: NVRTC is found at run time and only
 * compiles. */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    REPEATS = 5,
    MOST_ROWS = 512,
    UNAVAILABLE = 69,
    STEP = 8 /* what a contraction counts per result: its step along k is unrolled */
};

/* The operator table's instructions and expressions. */
typedef enum {
#define FSIM_OP(id, ...) OP_##id,
#include "graph/op.def"
#undef FSIM_OP
} op;
static const struct {
    double instructions;
    const char *expr;
} ops_table[] = {
#define FSIM_OP(id, name, class, least, most, outs, flops, instr, special, rule, makes, batch, takes, expr)            \
    {instr, expr},
#include "graph/op.def"
#undef FSIM_OP
};

/* NVRTC. */

typedef struct {
    int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*log_size)(void *, size_t *), (*log)(void *, char *);
    int (*destroy)(void **);
    int (*version)(int *, int *);
} nvrtc;

static void *open_nvrtc(void)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so",
                                        "libnvrtc.so"};
    const char *own = getenv("FUSESIM_NVRTC_LIB");
    void *h = own ? dlopen(own, RTLD_NOW) : NULL;
    for (size_t i = 0; !own && !h && i < sizeof names / sizeof *names; i++)
        h = dlopen(names[i], RTLD_NOW);
    return h;
}

static nvrtc load(void)
{
    void *h = open_nvrtc();
    nvrtc n = {0};
    if (!h) {
        fprintf(stderr, "no NVRTC: %s (FUSESIM_NVRTC_LIB names one)\n", dlerror());
        exit(UNAVAILABLE);
    }
    *(void **)&n.create = dlsym(h, "nvrtcCreateProgram");
    *(void **)&n.compile = dlsym(h, "nvrtcCompileProgram");
    *(void **)&n.log_size = dlsym(h, "nvrtcGetProgramLogSize");
    *(void **)&n.log = dlsym(h, "nvrtcGetProgramLog");
    *(void **)&n.destroy = dlsym(h, "nvrtcDestroyProgram");
    *(void **)&n.version = dlsym(h, "nvrtcVersion");
    return n;
}

static double clock_s(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct {
    double processor, wall;
} seconds;

static seconds compile(const nvrtc *n, const char *source, const char *arch)
{
    char option_text[64];
    snprintf(option_text, sizeof option_text, "--gpu-architecture=%s", arch);
    const char *option[] = {option_text, "--std=c++17"};
    const double wall = clock_s(CLOCK_MONOTONIC), processor = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    void *program;
    n->create(&program, source, "kernel.cu", 0, NULL, NULL);
    if (n->compile(program, 2, option)) {
        size_t bytes = 0;
        n->log_size(program, &bytes);
        char *log = calloc(bytes + 1, 1);
        n->log(program, log);
        fprintf(stderr, "%s\n%s\n", source, log);
        exit(70);
    }
    n->destroy(&program);
    return (seconds){clock_s(CLOCK_PROCESS_CPUTIME_ID) - processor, clock_s(CLOCK_MONOTONIC) - wall};
}

/* Sources. Each function writes a kernel with `ops` operators besides its frame and returns its instructions. */

static const char prelude[] =
    "typedef unsigned int u32; typedef unsigned short u16; typedef long long i64;\n"
    "#define FS_MAX(a, b) ((a) > (b) ? (a) : (b))\n"
    "#define fs_expf expf\n"
    "__device__ __forceinline__ float fs_sigmoidf(float x) { return 1.0f / (1.0f + expf(-x)); }\n"
    "__device__ __forceinline__ float block_max(float v, float *s) {\n"
    "  for (int d = 16; d; d >>= 1) v = FS_MAX(v, __shfl_xor_sync(~0u, v, d));\n"
    "  if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = v; __syncthreads();\n"
    "  v = s[threadIdx.x & 7]; for (int d = 4; d; d >>= 1) v = FS_MAX(v, __shfl_xor_sync(~0u, v, d)); __syncthreads(); "
    "return v; }\n"
    "__device__ __forceinline__ float block_sum(float v, float *s) {\n"
    "  for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);\n"
    "  if ((threadIdx.x & 31) == 0) s[threadIdx.x >> 5] = v; __syncthreads();\n"
    "  v = s[threadIdx.x & 7]; for (int d = 4; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d); __syncthreads(); return v; "
    "}\n";

static const char tensor_prelude[] =
    "__device__ __forceinline__ u32 sp(const void *p) { return (u32)__cvta_generic_to_shared(p); }\n"
    "__device__ __forceinline__ void cpa(void *s, const void *g) { asm volatile(\"cp.async.cg.shared.global "
    "[%0],[%1],16;\" ::\"r\"(sp(s)), \"l\"(g)); }\n"
    "__device__ __forceinline__ void ldm4(u32 *r, const void *p) { asm "
    "volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];\"\n"
    "  : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3]) : \"r\"(sp(p))); }\n"
    "__device__ __forceinline__ void ldm4t(u32 *r, const void *p) { asm "
    "volatile(\"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];\"\n"
    "  : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3]) : \"r\"(sp(p))); }\n"
    "__device__ __forceinline__ void mma(float *c, const u32 *a, u32 b0, u32 b1) { asm volatile(\n"
    "  \"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};\"\n"
    "  : \"+f\"(c[0]), \"+f\"(c[1]), \"+f\"(c[2]), \"+f\"(c[3]) : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), "
    "\"r\"(b0), \"r\"(b1)); }\n"
    "__device__ __forceinline__ u32 pack(float lo, float hi) { u32 r; asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : "
    "\"=r\"(r) : \"f\"(hi), \"f\"(lo)); return r; }\n";

/* Operators on the variable v, each from the operator table, from place `from` of the list on: $0 is v, $1 a constant,
 * which tells sources apart. Returns their instructions. */
static double chain(FILE *out, const char *v, int ops, int from, int seed)
{
    static const op kinds[] = {OP_MUL,     OP_ADD, OP_TANH, OP_SUB, OP_MAXIMUM, OP_EXP, OP_ADD, OP_MUL,
                               OP_SIGMOID, OP_ADD, OP_RELU, OP_SUB, OP_ERF,     OP_DIV, OP_ABS, OP_ADD};
    double instructions = 0;
    for (int i = 0; i < ops; i++) {
        const op which = kinds[(i + from) % (int)(sizeof kinds / sizeof *kinds)];
        fprintf(out, "%s = ", v);
        for (const char *c = ops_table[which].expr; *c; c++)
            if (c[0] == '$' && c[1] == '0')
                fprintf(out, "(%s)", v), c++;
            else if (c[0] == '$' && c[1] == '1')
                fprintf(out, "%.5ff", 0.3 + 0.001 * ((i * 37 + seed * 101) % 997)), c++;
            else
                fputc(*c, out);
        fputs("; ", out);
        instructions += ops_table[which].instructions;
    }
    return instructions;
}

static double pointwise(FILE *out, int ops, int vector, int seed)
{
    fprintf(out,
            "extern \"C\" __global__ void __launch_bounds__(256) k(const float *__restrict__ x, const float "
            "*__restrict__ w, float *__restrict__ y, i64 n) {\n"
            "  const i64 i = ((i64)blockIdx.x * 256 + threadIdx.x) * %d; if (i >= n) return;\n#pragma unroll\n"
            "  for (int j = 0; j < %d; j++) { float v = x[i + j], u = w[i + j]; v = v + u;\n",
            vector, vector);
    const double n = 1 + chain(out, "v", ops, 0, seed);
    fputs("y[i + j] = v; } }\n", out);
    return n * vector;
}

/* `ops` operators a point in all, spread over the stages; a loop over the row for each. */
static double row_pass(FILE *out, const char *name, int ops, int vector, int stages, int seed)
{
    double n = 0;
    fprintf(out,
            "extern \"C\" __global__ void __launch_bounds__(256) %s(const float *__restrict__ x, float *__restrict__ "
            "y, int cols) {\n"
            "  __shared__ float s[8]; const float *r = x + (i64)blockIdx.x * cols; float *o = y + (i64)blockIdx.x * "
            "cols; float p = 0;\n",
            name);
    for (int t = 0; t < stages; t++) {
        fprintf(out,
                "  { float acc = 0; for (int c = threadIdx.x * %d; c < cols; c += 256 * %d) {\n#pragma unroll\n  for "
                "(int j = 0; j < %d; j++) {\n"
                "    float v = r[c + j] - p; ",
                vector, vector, vector);
        n += 1 + chain(out, "v", ops / stages + (t < ops % stages), 2 * t, seed);
        if (t + 1 < stages)
            fprintf(out, "acc = %s; } } p = %s(acc, s); }\n", t % 2 ? "acc + v" : "FS_MAX(acc, v)",
                    t % 2 ? "block_sum" : "block_max"),
                n += 1;
        else
            fputs("o[c + j] = v; } } }\n", out);
    }
    fputs("}\n", out);
    return n * vector;
}

static double row(FILE *out, int ops, int vector, int seed) { return row_pass(out, "k", ops, vector, 3, seed); }

static double full(FILE *out, int ops, int vector, int seed)
{
    return row_pass(out, "first", ops, vector, 2, seed) + row_pass(out, "second", 0, 1, 2, seed);
}

/* side x side tile of 256 threads on FP32 units, k in steps of 8. */
static double simt(FILE *out, int ops, int side, int seed)
{
    const int t = side / 16;
    fprintf(out,
            "extern \"C\" __global__ void __launch_bounds__(256) k(const float *__restrict__ A, const float "
            "*__restrict__ B, const float *__restrict__ w, float *__restrict__ C, int M, int N, int K) {\n"
            "  __shared__ float a[2][8][%d], b[2][8][%d]; float acc[%d][%d] = {}; const int x = threadIdx.x & 15, y = "
            "threadIdx.x >> 4;\n"
            "  const int m0 = blockIdx.y * %d, n0 = blockIdx.x * %d; int s = 0;\n",
            side, side, t, t, side, side);
    fprintf(
        out,
        "  auto load = [&](int to, int k0) { for (int i = threadIdx.x; i < %d * 8; i += 256) {\n"
        "      a[to][i & 7][i >> 3] = A[(i64)(m0 + (i >> 3)) * K + k0 + (i & 7)]; b[to][i / %d][i %% %d] = B[(i64)(k0 "
        "+ i / %d) * N + n0 + i %% %d]; } };\n"
        "  load(0, 0); __syncthreads();\n"
        "  for (int k0 = 0; k0 < K; k0 += 8, s ^= 1) { if (k0 + 8 < K) load(s ^ 1, k0 + 8);\n#pragma unroll\n"
        "    for (int q = 0; q < 8; q++)\n#pragma unroll\n      for (int i = 0; i < %d; i++)\n#pragma unroll\n        "
        "for (int j = 0; j < %d; j++)\n"
        "          acc[i][j] = fmaf(a[s][q][y * %d + i], b[s][q][x * %d + j], acc[i][j]);\n    __syncthreads(); }\n",
        side, side, side, side, side, t, t, t, t);
    fprintf(out,
            "#pragma unroll\n  for (int i = 0; i < %d; i++)\n#pragma unroll\n    for (int j = 0; j < %d; j++) { const "
            "int c = n0 + x * %d + j; float v = acc[i][j] + w[c]; ",
            t, t, t);
    const double n = STEP + 1 + chain(out, "v", ops, 0, seed); /* product, bias */
    fprintf(out, "C[(i64)(m0 + y * %d + i) * N + c] = v; } }\n", t);
    return n * t * t;
}

/* side x side tile of 256 threads on tensor cores, bf16, k in steps of 32. */
static double tensor(FILE *out, int ops, int side, int seed)
{
    const int tm = side / 32, tn = side / 32; /* 2 x 4 warps of side/2 x side/4: mma tiles of 16 x 8 */
    fputs(tensor_prelude, out);
    fprintf(out,
            "extern \"C\" __global__ void __launch_bounds__(256) k(const u16 *__restrict__ A, const u16 *__restrict__ "
            "B, const float *__restrict__ bias, u16 *__restrict__ C, int M, int N, int K) {\n"
            "  __shared__ __align__(16) u16 As[2][%d][40]; __shared__ __align__(16) u16 Bs[2][32][%d];\n"
            "  int tid = threadIdx.x, w = tid >> 5, l = tid & 31, wm = w & 1, wn = w >> 1; int m0 = blockIdx.y * %d, "
            "n0 = blockIdx.x * %d;\n"
            "  float acc[%d][%d][4] = {};\n",
            side, side + 8, side, side, tm, tn);
    fprintf(out,
            "  auto load = [&](int st, int k0) {\n#pragma unroll\n    for (int t = tid; t < %d; t += 256) { int r = t "
            "/ 4, c = (t & 3) * 8; cpa(&As[st][r][c], A + (size_t)(m0 + r) * K + k0 + c); }\n"
            "#pragma unroll\n    for (int t = tid; t < %d; t += 256) { int r = t / %d, c = (t %% %d) * 8; "
            "cpa(&Bs[st][r][c], B + (size_t)(k0 + r) * N + n0 + c); }\n"
            "    asm volatile(\"cp.async.commit_group;\"); };\n",
            side * 4, side * 4, side / 8, side / 8);
    fprintf(out,
            "  load(0, 0); int st = 0;\n  for (int k0 = 0; k0 < K; k0 += 32, st ^= 1) {\n"
            "    if (k0 + 32 < K) { load(st ^ 1, k0 + 32); asm volatile(\"cp.async.wait_group 1;\"); } else asm "
            "volatile(\"cp.async.wait_group 0;\");\n"
            "    __syncthreads();\n#pragma unroll\n    for (int kk = 0; kk < 32; kk += 16) { u32 a[%d][4], b[%d][4];\n"
            "#pragma unroll\n      for (int i = 0; i < %d; i++) ldm4(a[i], &As[st][wm * %d + i * 16 + (l & 15)][kk + "
            "(l >> 4) * 8]);\n"
            "#pragma unroll\n      for (int j = 0; j < %d; j++) ldm4t(b[j], &Bs[st][kk + (l & 15)][wn * %d + j * 16 + "
            "(l >> 4) * 8]);\n"
            "#pragma unroll\n      for (int i = 0; i < %d; i++)\n#pragma unroll\n        for (int j = 0; j < %d; j++) "
            "mma(acc[i][j], a[i], b[j >> 1][(j & 1) * 2], b[j >> 1][(j & 1) * 2 + 1]);\n"
            "    }\n    __syncthreads(); }\n",
            tm, (tn + 1) / 2, tm, side / 2, (tn + 1) / 2, side / 4, tm, tn);
    fprintf(out,
            "#pragma unroll\n  for (int i = 0; i < %d; i++)\n#pragma unroll\n    for (int j = 0; j < %d; j++) { int r "
            "= m0 + wm * %d + i * 16 + (l >> 2), c = n0 + wn * %d + j * 8 + (l & 3) * 2;\n"
            "#pragma unroll\n      for (int q = 0; q < 4; q++) { float v = acc[i][j][q] + bias[c + (q & 1)]; ",
            tm, tn, side / 2, side / 4);
    const double n = STEP + 1 + chain(out, "v", ops, 0, seed); /* product, bias */
    fputs("acc[i][j][q] = v; }\n      *(u32 *)&C[(size_t)r * N + c] = pack(acc[i][j][0], acc[i][j][1]); *(u32 "
          "*)&C[(size_t)(r + 8) * N + c] = pack(acc[i][j][2], acc[i][j][3]); } }\n",
          out);
    return n * tm * tn * 4;
}

/* Attention on tensor cores: 64 rows and 64 columns of the scores a step, 128 threads, width d of a head; `ops`
 * operators on each score besides the online softmax. */
static double chained(FILE *out, int ops, int d, int seed)
{
    fputs(tensor_prelude, out);
    fprintf(out,
            "extern \"C\" __global__ void __launch_bounds__(128) k(const u16 *__restrict__ Q, const u16 *__restrict__ "
            "K, const u16 *__restrict__ V, u16 *__restrict__ O, int S, float scale) {\n"
            "  extern __shared__ __align__(16) u16 sh[]; u16 *q = sh, *kb = q + 64 * %d, *vb = kb + 64 * %d;\n"
            "  int tid = threadIdx.x, w = tid >> 5, l = tid & 31; i64 head = (i64)blockIdx.y * S * %d; float o[%d][4] "
            "= {}; float m[2] = {-1e30f, -1e30f}, z[2] = {};\n",
            d + 8, d + 8, d, d / 8);
    fprintf(out,
            "  auto load = [&](u16 *to, const u16 *from, int r0) {\n#pragma unroll\n    for (int t = tid; t < %d; t += "
            "128) { int r = t / %d, c = (t %% %d) * 8; cpa(to + r * %d + c, from + head + (i64)(r0 + r) * %d + c); }\n"
            "    asm volatile(\"cp.async.commit_group;\"); };\n  load(q, Q, blockIdx.x * 64);\n",
            64 * d / 8, d / 8, d / 8, d + 8, d);
    fprintf(out,
            "  for (int j0 = 0; j0 < S; j0 += 64) { load(kb, K, j0); load(vb, V, j0); asm "
            "volatile(\"cp.async.wait_group 0;\"); __syncthreads(); float s[8][4] = {};\n"
            "#pragma unroll\n    for (int kk = 0; kk < %d; kk += 16) { u32 a[4]; ldm4(a, q + (w * 16 + (l & 15)) * %d "
            "+ kk + (l >> 4) * 8);\n"
            "#pragma unroll\n      for (int j = 0; j < 4; j++) { u32 b[4]; ldm4(b, kb + (j * 16 + (l & 15)) * %d + kk "
            "+ (l >> 4) * 8); mma(s[2 * j], a, b[0], b[2]); mma(s[2 * j + 1], a, b[1], b[3]); } }\n",
            d, d + 8, d + 8);
    fputs("    float t[2] = {m[0], m[1]};\n#pragma unroll\n    for (int j = 0; j < 8; j++)\n#pragma unroll\n      for "
          "(int e = 0; e < 4; e++) { float v = s[j][e] * scale; ",
          out);
    const double n = STEP + 1 + chain(out, "v", ops, 0, seed) + 1 + 1 + 6 +
                     1; /* product, scale; maximum, difference, exponential, sum */
    fputs("s[j][e] = v; t[e >> 1] = FS_MAX(t[e >> 1], v); }\n#pragma unroll\n    for (int h = 0; h < 2; h++) { t[h] = "
          "FS_MAX(t[h], __shfl_xor_sync(~0u, t[h], 1)); t[h] = FS_MAX(t[h], __shfl_xor_sync(~0u, t[h], 2));\n"
          "      float f = expf(m[h] - t[h]); m[h] = t[h]; z[h] *= f;\n#pragma unroll\n",
          out);
    fprintf(
        out,
        "      for (int j = 0; j < %d; j++) { o[j][2 * h] *= f; o[j][2 * h + 1] *= f; } }\n"
        "#pragma unroll\n    for (int j = 0; j < 8; j++)\n#pragma unroll\n      for (int e = 0; e < 4; e++) { s[j][e] "
        "= expf(s[j][e] - m[e >> 1]); z[e >> 1] += s[j][e]; }\n"
        "#pragma unroll\n    for (int kk = 0; kk < 4; kk++) { u32 a[4] = {pack(s[2 * kk][0], s[2 * kk][1]), pack(s[2 * "
        "kk][2], s[2 * kk][3]), pack(s[2 * kk + 1][0], s[2 * kk + 1][1]), pack(s[2 * kk + 1][2], s[2 * kk + 1][3])};\n"
        "#pragma unroll\n      for (int j = 0; j < %d; j++) { u32 b[4]; ldm4t(b, vb + (kk * 16 + (l & 15)) * %d + j * "
        "16 + (l >> 4) * 8); mma(o[2 * j], a, b[0], b[1]); mma(o[2 * j + 1], a, b[2], b[3]); } }\n"
        "    __syncthreads(); }\n",
        d / 8, d / 16, d + 8);
    fprintf(
        out,
        "#pragma unroll\n  for (int h = 0; h < 2; h++) { z[h] += __shfl_xor_sync(~0u, z[h], 1); z[h] += "
        "__shfl_xor_sync(~0u, z[h], 2); float f = 1.0f / z[h]; i64 r = blockIdx.x * 64 + w * 16 + (l >> 2) + 8 * h;\n"
        "#pragma unroll\n    for (int j = 0; j < %d; j++) *(u32 *)&O[head + r * %d + j * 8 + (l & 3) * 2] = "
        "pack(o[j][2 * h] * f, o[j][2 * h + 1] * f); } }\n",
        d / 8, d);
    return n * 64 * 64 / 128 + (STEP + 1) * 64.0 * d / 128; /* scores; results: product, times the reciprocal */
}

/* What is measured. */

static const struct {
    const char *name;
    double (*write)(FILE *out, int ops, int shape, int seed);
    int shapes[3], ops[10]; /* up to the first -1 */
} classes[] = {
    {"pointwise", pointwise, {1, 2, 4}, {1, 2, 5, 10, 20, 35, 50, 100, 200, -1}},
    {"row reduction", row, {1, 4, -1}, {0, 2, 5, 10, 20, 50, 100, -1}},
    {"full reduction", full, {1, 4, -1}, {0, 2, 5, 10, 20, 50, -1}},
    {"FP32 contraction", simt, {64, 128, -1}, {0, 1, 2, 4, 8, 12, -1}},
    {"tensor contraction", tensor, {64, 128, -1}, {0, 1, 2, 4, 8, 12, -1}},
    {"chained contraction", chained, {64, 128, -1}, {0, 1, 2, 4, 8, 12, -1}},
};
static const char *const archs[] = {"sm_80", "sm_90"}; /* as in --gpu-architecture */
enum { CLASSES = sizeof classes / sizeof *classes, ARCHS = 2 };

typedef struct {
    double x, y;
} point;

static char *source_of(int class, int ops, int shape, int seed, double *instructions)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    fputs(prelude, out);
    *instructions = classes[class].write(out, ops, shape, seed);
    fclose(out);
    return text;
}

static int by_processor(const void *x, const void *y)
{
    const seconds *a = x, *b = y;
    return (a->processor > b->processor) - (a->processor < b->processor);
}

/* y = a + b x with the least sum of squares of (a + b x - y) / y. */
static void fit(const char *name, const char *arch, const point *p, int count)
{
    double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, squares = 0, worst = 0;
    for (int i = 0; i < count; i++) {
        const double w = 1 / (p[i].y * p[i].y);
        s += w, sx += w * p[i].x, sy += w * p[i].y, sxx += w * p[i].x * p[i].x, sxy += w * p[i].x * p[i].y;
    }
    const double b = (s * sxy - sx * sy) / (s * sxx - sx * sx), a = (sy - b * sx) / s;
    for (int i = 0; i < count; i++) {
        const double error = (a + b * p[i].x) / p[i].y - 1;
        squares += error * error;
        worst = fmax(worst, fabs(error));
    }
    printf("%-20s %-6s %8.1f ms %+9.2f us per instruction   %3d kernels, error %4.1f%% rms, %4.1f%% at most\n", name,
           arch, 1e3 * a, 1e6 * b, count, 100 * sqrt(squares / count), 100 * worst);
}

/* Processor seconds that the first compilation of a process takes longer than the next, loading included. */
static void first(const char *arch)
{
    double extra[REPEATS];
    for (int r = 0; r < REPEATS; r++) {
        int pipes[2];
        if (pipe(pipes))
            exit(70);
        if (fork() == 0) {
            double n, next = INFINITY;
            char *text = source_of(0, 2, 4, 0, &n);
            const double start = clock_s(CLOCK_PROCESS_CPUTIME_ID);
            const nvrtc own = load();
            compile(&own, text, arch);
            double total = clock_s(CLOCK_PROCESS_CPUTIME_ID) - start;
            for (int i = 0; i < 3; i++)
                next = fmin(next, compile(&own, text, arch).processor);
            total -= next;
            _exit(write(pipes[1], &total, sizeof total) != sizeof total);
        }
        close(pipes[1]);
        int status = 0;
        const bool told = read(pipes[0], &extra[r], sizeof extra[r]) == sizeof extra[r];
        close(pipes[0]);
        wait(&status);
        if (!told)
            exit(WIFEXITED(status) ? WEXITSTATUS(status) : 70);
    }
    double low = INFINITY, high = 0, sum = 0;
    for (int r = 0; r < REPEATS; r++)
        low = fmin(low, extra[r]), high = fmax(high, extra[r]), sum += extra[r];
    printf("%-20s %-6s %8.1f ms (%.1f to %.1f) once a process\n", "start", arch, 1e3 * sum / REPEATS, 1e3 * low,
           1e3 * high);
}

int main(void)
{
    static point points[CLASSES][ARCHS + 1][MOST_ROWS];
    int count[CLASSES][ARCHS + 1] = {0}, major = 0, minor = 0;
    for (int k = 0; k < ARCHS; k++)
        first(archs[k]); /* before this process loads NVRTC */
    const nvrtc n = load();
    n.version(&major, &minor);
    printf("NVRTC %d.%d\n%-20s %6s %5s %-6s %12s %10s %10s %10s %10s\n", major, minor, "class", "shape", "ops", "arch",
           "instructions", "lowest ms", "median", "highest", "wall");
    for (int c = 0; c < CLASSES; c++)
        for (int s = 0; s < 3 && classes[c].shapes[s] > 0; s++)
            for (int o = 0; classes[c].ops[o] >= 0; o++)
                for (int k = 0; k < ARCHS; k++) {
                    seconds t[REPEATS];
                    double x = 0, wall = INFINITY;
                    for (int r = 0; r < REPEATS; r++) {
                        char *text = source_of(c, classes[c].ops[o], classes[c].shapes[s], r, &x);
                        t[r] = compile(&n, text, archs[k]);
                        wall = fmin(wall, t[r].wall);
                        free(text);
                    }
                    qsort(t, REPEATS, sizeof *t, by_processor);
                    const double y = t[0].processor; /* what other work on the machine adds least to */
                    printf("%-20s %6d %5d %-6s %12.0f %10.1f %10.1f %10.1f %10.1f\n", classes[c].name,
                           classes[c].shapes[s], classes[c].ops[o], archs[k], x, 1e3 * y,
                           1e3 * t[REPEATS / 2].processor, 1e3 * t[REPEATS - 1].processor, 1e3 * wall);
                    fflush(stdout);
                    points[c][k][count[c][k]++] = points[c][ARCHS][count[c][ARCHS]] = (point){x, y};
                    count[c][ARCHS]++;
                }
    for (int c = 0; c < CLASSES; c++)
        for (int k = 0; k <= ARCHS; k++)
            fit(classes[c].name, k < ARCHS ? archs[k] : "both", points[c][k], count[c][k]);
    return 0;
}
