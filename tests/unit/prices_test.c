/* SPDX-License-Identifier: Apache-2.0 */
/* Generated kernels worked by hand on a GPU whose numbers are round (tests/hw/toy.yaml): a byte of DRAM takes 1 ns, an
 * instruction 2 ns, 64 warp instructions are issued in 1 ns, memory answers in 1 ns, and a row's reduction waits 30 ns
 * for its block. depends: compiler memory cost: 1 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/price/price.h"
#include "predict.h"
#include <string.h>

typedef struct {
    const char *what, *text, *key; /* key: another value of one of toy's ("key=value"); NULL */
    struct {
        double read, written, l2, shared;
    } bytes; /* moved; NAN: not looked at */
    struct {
        double compute, special, issue, latency, l2;
    } ns; /* of each unit */
    struct {
        int registers, vector, launches, passes;
        int64_t grid;
    } is;
    double waves, coalescing;
    bool penalised;
} row;

#define X(shape)    "tensors: {x: {shape: " shape ", dtype: f32}}\noperators:\n"
#define XZ(x, z)    "tensors: {x: {shape: " x ", dtype: f32}, z: {shape: " z ", dtype: f32}}\noperators:\n"
#define RELU        X("[4096]") "  - {op: relu, in: [x], out: y}\noutputs: [y]\n"
#define SOFTMAX(of) "  - {op: softmax, in: [" of "], out: y, dim: 1}\noutputs: [y]\n"

#define CONV(x, w) "tensors: {x: {shape: " x ", dtype: f32}, w: {shape: " w ", dtype: f32}}\noperators:\n  - {op: "
#define CHAINED(width, u)                                                                                              \
    "tensors: {x: {shape: [64, 256], dtype: f32}, w: {shape: [" width ", 256], dtype: f32}, u: {shape: " u ", dtype: " \
    "f32}}\noperators:\n  - {op: linear, in: [x, w], out: l}\n  - {op: relu, in: [l], out: r}\n"                       \
    "  - {op: linear, in: [r, u], out: y}\noutputs: [y]\n"
#define ATTENTION(k)                                                                                                   \
    "tensors: {q: {shape: [2, 128, 64], dtype: f32}, k: {shape: " k ", dtype: f32}, v: {shape: " k ", dtype: f32}}\n"  \
    "operators:\n  - {op: transpose, in: k, out: t, dims: [1, 2]}\n  - {op: matmul, in: [q, t], out: s}\n"             \
    "  - {op: softmax, in: s, out: p, dim: 2}\n  - {op: matmul, in: [p, v], out: y}\noutputs: [y]\n"
#define LARGE "shared_memory_per_sm=96 KiB; shared_memory_per_block=96 KiB" /* as chains need */
#define SCATTER(op)                                                                                                    \
    "tensors: {x: {shape: [256], dtype: f32}, i: {shape: [65536], dtype: i64}, v: {shape: [65536], dtype: f32}}\n"     \
    "operators:\n  - {op: " op ", in: [x, i, v], out: y, dim: 0}\noutputs: [y]\n"

static const row rows[] = {
    /* 16 KiB read and written; one instruction an element; 8192 loads and stores of four elements take two each: 4096
     * warp lanes and 4096 more. 9 registers, 0.75 for each of 4 elements of 2 live values, 0.4 for the instruction. */
    {"relu", RELU, NULL, {16384, 16384, 32768, 0}, {8192, 0, 64 + 64, 1, 0}, {15, 4, 1, 1, 4}, 1, 1, false},
    /* 64 SMs: 16 blocks of single elements keep a quarter of them busy, which computes a sixteenth as long; issue a
     * quarter of an SM's 64 + 256 ns / 64 x 4 */
    {"relu on many SMs",
     RELU,
     "sms=64",
     {16384, 16384, 32768, 0},
     {8192 / 16., 0, (64 + 256) / 16., 1, 0},
     {10, 1, 1, 1, 16},
     1. / 16,
     1,
     true},
    /* 32 KiB through L2 at 10 GB/s */
    {"relu through L2",
     RELU,
     "l2_bandwidth=10 GB/s",
     {16384, 16384, 32768, 0},
     {8192, 0, 128, 1, 3276.8},
     {15, 4, 1, 1, 4},
     1,
     1,
     false},
    /* exp takes six instructions and one of the special units; the sum one */
    {"exp and sum",
     XZ("[4096]", "[4096]") "  - {op: exp, in: [x], out: e}\n  - {op: add, in: [e, z], out: y}\noutputs: [y]\n",
     NULL,
     {32768, 16384, 49152, 0},
     {4096 * 7 * 2, 8192, 4096 * 7 / 64. + 96, 1, 0},
     {20, 4, 1, 1, 4},
     1,
     1,
     false},
    /* 1 MiB each way; maximum, difference, exponential, sum and quotient are 1 + 1 + 6 + 1 + 9 instructions, two of
     * them special. Four blocks of 256 threads on the SM, 16 waves of 64 rows: each waits once for 16 elements a
     * thread, and for its block. 20 registers, and the row's 16. */
    {"softmax",
     X("[64, 4096]") SOFTMAX("x"),
     NULL,
     {1 << 20, 1 << 20, 2 << 20, 0},
     {262144 * 18 * 2, 262144 * 2 * 2, 262144 * 18 / 64. + 262144 / 64., 16 + 16 * 30, 0},
     {36, 4, 1, 1, 64},
     16,
     1,
     true},
    /* Rows of 256 KiB fit nowhere: they are read twice, exponentials computed twice. A wave is one block of 1024
     * threads and waits for 4 x 2 loads of 16 elements */
    {"softmax, twice",
     X("[64, 65536]") SOFTMAX("x"),
     NULL,
     {2 << 24, 1 << 24, 3 << 24, 0},
     {4194304 * 25 * 2, 4194304 * 3 * 2, 4194304 * 25 / 64. + 3 * 4194304 * 2 / 4 / 64., 64 * 8 + 64 * 30, 0},
     {32, 4, 1, 2, 64},
     64,
     1,
     true},
    /* Rows along the strided side: L2 answers 64 bytes for each element read, of which 32 are asked for and 4 of use.
     * 16 rows a block: 256 blocks in 64 waves */
    {"softmax across",
     X("[64, 4096]") "  - {op: permute, in: [x], out: t, dims: [1, 0]}\n" SOFTMAX("t"),
     NULL,
     {1 << 20, 1 << 20, 262144 * 68, 0},
     {262144 * 18 * 2, 262144 * 2 * 2, 262144 * 18 / 64. + 262144 / 64., 64 + 64 * 30, 0},
     {32, 4, 1, 1, 256},
     64,
     0.125,
     true},
    /* Columns: each of 4096 threads adds 64 elements, four at a time, in four waves */
    {"sums of columns",
     X("[64, 4096]") "  - {op: sum, in: [x], out: y, dims: [0]}\noutputs: [y]\n",
     NULL,
     {1 << 20, 16384, (1 << 20) + 16384, 0},
     {262144 * 2, 0, 262144 / 64. + (262144 + 4096) * 2 / 64., 4 * 16 + 4 * 30, 0},
     {22, 1, 1, 1, 16},
     4,
     1,
     true},
    {"softmax of columns",
     X("[32, 4096]") "  - {op: softmax, in: [x], out: y, dim: 0}\noutputs: [y]\n",
     NULL,
     {1 << 19, 1 << 19, 1 << 20, 0},
     {131072 * 18 * 2, 131072 * 2 * 2, 131072 * 18 / 64. + 2 * 131072 * 2 / 64., 4 * 8 + 4 * 30, 0},
     {52, 1, 1, 1, 16},
     4,
     1,
     true},
    {"sums of rows",
     X("[64, 4096]") "  - {op: sum, in: [x], out: y, dims: [1]}\noutputs: [y]\n",
     NULL,
     {1 << 20, 256, (1 << 20) + 256, 0},
     {262144 * 2, 0, 262144 / 64. + (262144 + 64) * 2 / 4 / 64., 16 + 16 * 30, 0},
     {29, 4, 1, 1, 64},
     16,
     1,
     false},
    /* 32 rows of 32 elements a block, 8 threads each */
    {"sums of short rows",
     X("[4096, 32]") "  - {op: sum, in: [x], out: y, dims: [1]}\noutputs: [y]\n",
     NULL,
     {1 << 19, 16384, (1 << 19) + 16384, 0},
     {131072 * 2, 0, 131072 / 64. + (131072 + 4096) * 2 / 4 / 64., 32 + 32 * 30, 0},
     {29, 4, 1, 1, 128},
     32,
     1,
     false},
    /* Softmax of 1024 rows of 512 whose columns are added up too: two blocks of 256 threads, eight rows at a time, take
     * 64 turns, each with a wait and a barrier, the first of which every kernel has. 512 sums for each block are added
     * in shared memory, and go through L2 to a second launch. 20 + 12 registers and the row's 16. */
    {"softmax and sums of columns",
     X("[1024, 512]") "  - {op: softmax, in: [x], out: m, dim: 1}\n  - {op: sum, in: [m], out: s, dims: [0]}\noutputs: "
                      "[m, s]\n",
     NULL,
     {1 << 21, (1 << 21) + 2048, (1 << 22) + 2048 + 8192, 2 << 21},
     {524288 * 19 * 2, 524288 * 2 * 2, 524288 * 19 / 64. + (2 * 524288 + 512) * 2 / 4 / 64., 64 + 63 * 30 + 30 + 1, 0},
     {48, 4, 2, 1, 2},
     1,
     1,
     true},
    /* A tile of 32 x 33 turns the matrix around in shared memory: written and read */
    {"transpose",
     X("[64, 64]") "  - {op: transpose, in: [x], out: y, dims: [0, 1]}\noutputs: [y]\n",
     NULL,
     {16384, 16384, 32768, 32768},
     {0, 0, 64, 1, 0},
     {28, 4, 1, 1, 4},
     1,
     1,
     false},
    /* Two tensors as one: 8 instructions an element ask which part it is in, twice */
    {"concatenation",
     XZ("[64, 4096]",
        "[64, 4096]") "  - {op: concat, in: [x, z], out: c, dim: 1}\n  - {op: relu, in: [c], out: y}\noutputs: [y]\n",
     NULL,
     {2 << 20, 2 << 20, 4 << 20, 0},
     {524288 * 3 * 2, 0, 524288 * 3 / 64. + 524288 / 64. + 524288 * 8 * 2 / 64., 128, 0},
     {18, 4, 1, 1, 512},
     128,
     1,
     true},
    /* 4095 elements are no multiple of two, 4094 none of four: a thread takes one, or two; sectors are whole */
    {"relu of 4095",
     X("[4095]") "  - {op: relu, in: [x], out: y}\noutputs: [y]\n",
     NULL,
     {16384, 16384, 32768, 0},
     {8190, 0, 4095 * 5 / 64., 4, 0},
     {10, 1, 1, 1, 16},
     4,
     16380 / 16384.,
     false},
    {"relu of 4094",
     X("[4094]") "  - {op: relu, in: [x], out: y}\noutputs: [y]\n",
     NULL,
     {16384, 16384, 32768, 0},
     {8188, 0, 4094 * 3 / 64., 2, 0},
     {12, 2, 1, 1, 8},
     2,
     16376 / 16384.,
     false},
    /* cuBLAS: one block of 64 x 128, whose 64 steps and 10 of start take 2 x 64 x 128 FLOP each, a tenth more as the
     * tile is narrow by one half. It loads 192 rows and columns of 256 bytes; L2 answers 250 bytes a ns, and a stored
     * byte counts 1.5 times. Of what two resident blocks as a square load more than the operands once, 49152 / sqrt(2)
     * - 32768, DRAM gives 1.6 x (0.5 - 0.22) / 0.3, half for each operand. */
    {"product",
     XZ("[64, 64]", "[64, 64]") "  - {op: linear, in: [x, z], out: y}\noutputs: [y]\n",
     NULL,
     {32768 + 2 * 1484, 16384, 16384 + 49152, 49152 * 4},
     {2. * 64 * 128 * 74 * 1.1, 0, 0, 0, (49152 + 1.5 * 16384) / 250},
     {72, 4, 1, 1, 1},
     0.5,
     1,
     true},
    /* The same with C beside D: 16 KiB more from DRAM, and through L2; a sum for each of 4096 results. */
    {"product and what is added",
     "tensors: {x: {shape: [64, 64], dtype: f32}, z: {shape: [64, 64], dtype: f32}, r: {shape: [64, 64], dtype: "
     "f32}}\noperators:\n"
     "  - {op: linear, in: [x, z], out: p}\n  - {op: add, in: [r, p], out: y}\noutputs: [y]\n",
     NULL,
     {32768 + 2 * 1484 + 16384, 16384, 16384 + 49152 + 16384, 49152 * 4},
     {2. * 64 * 128 * 74 * 1.1 + 8192, 0, 64, 0, (49152 + 16384 + 1.5 * 16384) / 250},
     {72, 4, 1, 1, 1},
     0.5,
     1,
     true},
    /* Two products with relu between: 64 rows, 32 wide, in two steps of 16. Tiles of 64 rows are a tenth slower; a
     * start is 10 steps of the first tile. Operands pass L2 once, 16 bytes at a time, and shared memory, with the tile
     * between, twice for each of two sides. A block starts in 250 ns and waits 500 for each step. */
    {"chain",
     CHAINED("32", "[32, 32]"),
     LARGE,
     {65536 + 32768 + 4096, 8192, 102400 + 8192, 2. * (80 * 256 + 16 * 32 + 64 * 16) * 4 * 4},
     {(2. * 64 * 32 * (256 + 32) + 2. * 64 * 16 * 10) * 1.1 + 2048 * 2, 0,
      2048 / 64. + 2 * (2048 / 4 + 102400 / 16) / 64., 250 + 2 * 500 + 1, 0},
     {84, 4, 1, 1, 1},
     1,
     1,
     true},
    /* The same with sides that no tile divides: three steps of 16 have the 40 columns, 24 results are one part */
    {"ragged chain",
     CHAINED("40", "[24, 40]"),
     LARGE,
     {65536 + 40 * 1024 + 24 * 160, 6144, 65536 + 4. * 40 * (256 + 24) + 6144, NAN},
     {(2. * 64 * 48 * (256 + 24) + 2. * 64 * 16 * 10) * 1.1 + 2560 * 2, 0,
      2560 / 64. + 2 * (1536 / 4 + 4. * (64 * 256 + 40 * 280) / 16) / 64., 250 + 3 * 500 + 1, 0},
     {84, 4, 1, 1, 1},
     1,
     1,
     true},
    /* Attention over 128 columns, which one tile holds: two blocks one after the other, eight steps each; softmax's 18
     * instructions, two of them special; two waits for a block. */
    {"attention in whole rows",
     ATTENTION("[2, 128, 64]"),
     LARGE,
     {3 * 65536, 65536, 4 * 65536, 2 * 8 * 16. * ((128 + 16) * 64 + 16 * 64 + 128 * 16)},
     {2. * (2 * 128 * 128 * 128 + 2 * 128 * 16 * 10) + 32768 * 18 * 2, 32768 * 2 * 2,
      32768 * 18 / 64. + 2 * (16384 / 4 + 3 * 65536 / 16) / 64., 250 + 8 * 500 + 2 * (1 + 2 * 30), 0},
     {108, 4, 1, 1, 2},
     2,
     1,
     true},
    /* On 16 SMs, which have a sixteenth of the FLOPs each, eight blocks share a row's columns. Each loads the rows and
     * leaves 64 sums, a maximum and a sum for each, which are written and read; a second launch adds eight parts up,
     * 2 FLOP each and 4 for each row, in two rounds of 128 rows, three values one after the other. */
    {"attention in parts",
     ATTENTION("[2, 128, 64]"),
     LARGE "; sms=16",
     {3 * 65536, 65536, 65536 * 8 + 2 * 65536 + 2 * 8 * 256 * 66 * 4 + 65536, NAN},
     {16. * (2 * 128 * 16 * 128 + 2 * 128 * 16 * 10) + 32768 * 18 * 2 / 16. + 256 * 8 * (2 * 64 + 4) * 2 / 16.,
      32768 * 2 * 2 / 16., 32768 * 18 / 1024. + 2 * (16384 / 4 + (10 * 65536 + 2 * 8 * 256 * 66 * 4) / 16) / 1024.,
      250 + 500 + 1 + 2 * 30 + 2 * 3, 0},
     {108, 4, 2, 1, 16},
     1,
     1,
     true},
    /* Over 512 columns maximum and sum run along: 16 steps correct 64 sums of each row, and 4 numbers. An exponential
     * of base two takes two instructions, of five for each element; the nine of the quotient come once for a result. */
    {"attention",
     ATTENTION("[2, 512, 64]"),
     LARGE,
     {9 * 65536, 65536, 10 * 65536, 2 * 16 * 16. * ((128 + 32) * 64 + 32 * 64 + 128 * 32)},
     {2. * (2 * 128 * 512 * 128 + 2 * 128 * 32 * 10) + 256 * 16 * (64 + 4) * 2 + (131072 * 5 + 16384 * 9) * 2,
      (131072 + 16384) * 2, (131072 * 5 + 16384 * 9) / 64. + 2 * (16384 / 4 + 9 * 65536 / 16) / 64.,
      250 + 16 * 500 + 2 * 1, 0},
     {116, 4, 1, 1, 2},
     2,
     1,
     true},
    /* Below the diagonal of 512 are (512 + 64 + 16) / 1024 of the tiles of 64 x 16: 18.5 of 32 steps. Three blocks are
     * under way of eight that read the same keys and values, of which L2 keeps nothing: DRAM gives them 8/3 times. */
    {"causal attention",
     "tensors: {q: {shape: [1, 2, 512, 64], dtype: f32}, k: {shape: [1, 2, 512, 64], dtype: f32}, v: {shape: [1, 2, "
     "512, 64], dtype: f32}}\noperators:\n  - {op: attention, in: [q, k, v], out: y, causal: true}\noutputs: [y]\n",
     LARGE,
     {262144 + 2 * 699050, 262144, 2 * 262144 + 4. * 16 * 512 * 128 * 18.5 / 32,
      16 * 18.5 * 16. * ((64 + 16) * 64 + 16 * 64 + 64 * 16)},
     {16. * (2 * 64 * 16 * 18.5 * 128 + 2 * 64 * 16 * 10) * 1.1 + 1024 * 18.5 * (64 + 4) * 2 +
          (524288 + 65536) * 9 * 18.5 / 32 * 2,
      (524288 + 65536) * 18.5 / 32 * 2,
      (524288 + 65536) * 9 * 18.5 / 32 / 64. + 2 * (65536 / 4 + (262144 + 4. * 16 * 512 * 128 * 18.5 / 32) / 16) / 64.,
      250 + 18.5 * 500 + 6, 0},
     {108, 4, 1, 1, 16},
     16. / 3,
     1,
     true},
    /* 288 elements across are read by 8 threads for each of 32 neighbouring rows, 36 each, and turned around in shared
     * memory; nine steps of 32 elements a row, and a barrier, in each of 32 waves */
    {"softmax across, in bands",
     X("[288, 4096]") "  - {op: permute, in: [x], out: t, dims: [1, 0]}\n" SOFTMAX("t"),
     NULL,
     {288 << 14, 288 << 14, 2 * (288 << 14), 2 * (288 << 14)},
     {1179648 * 18 * 2., 1179648 * 2 * 2., 1179648 * 18 / 64. + 2 * 1179648 * 2 / 64., 32 * 9 + 32 * 30, 0},
     {56, 1, 1, 1, 128},
     32,
     1,
     true},
    /* Running sums take four instructions an element. 32 threads take a row of 128 at once, and need no barrier; 64
     * wait for each other in each of four waves */
    {"running sums",
     X("[64, 128]") "  - {op: cumsum, in: [x], out: y, dim: 1}\noutputs: [y]\n",
     NULL,
     {32768, 32768, 65536, 0},
     {8192 * 4 * 2, 0, 8192 * 4 / 64. + 2 * 8192 * 2 / 64., 2, 0},
     {16, 1, 1, 1, 8},
     2,
     1,
     true},
    {"longer running sums",
     X("[64, 256]") "  - {op: cumsum, in: [x], out: y, dim: 1}\noutputs: [y]\n",
     NULL,
     {65536, 65536, 131072, 0},
     {16384 * 4 * 2, 0, 16384 * 4 / 64. + 2 * 16384 * 2 / 64., 4 + 4 * 30, 0},
     {16, 1, 1, 1, 16},
     4,
     1,
     true},
    /* Rows that are scaled at the end by those of another matrix: its 4 elements a thread are loaded while the row is
     * still in registers. A row of halves fits beside it */
    {"softmax, scaled",
     XZ("[64, 4096]",
        "[64, 4096]") "  - {op: softmax, in: [x], out: s, dim: 1}\n  - {op: mul, in: [s, z], out: y}\noutputs: [y]\n",
     NULL,
     {2 << 20, 1 << 20, 3 << 20, 0},
     {262144 * 19 * 2, 262144 * 2 * 2, 262144 * 19 / 64. + 3 * 262144 * 2 / 4 / 64., 16 + 16 * 30, 0},
     {40, 4, 1, 1, 64},
     16,
     1,
     true},
    {"softmax of halves, scaled",
     "tensors: {x: {shape: [64, 4096], dtype: f16}, z: {shape: [4096], dtype: f16}}\noperators:\n"
     "  - {op: softmax, in: [x], out: s, dim: 1}\n  - {op: mul, in: [s, z], out: y}\noutputs: [y]\n",
     NULL,
     {(1 << 19) + 8192, 1 << 19, 3 << 19, 0},
     {262144 * 19 * 2, 262144 * 2 * 2, 262144 * 19 / 64. + 3 * 262144 * 2 / 4 / 64., 16 + 16 * 30, 0},
     {36, 4, 1, 1, 64},
     16,
     1,
     true},
    /* The other matrix lies across: each of its elements is in another sector, whose other seven belong to rows that
     * are not in progress. Four blocks have 64 KiB of it under way, twice what L2 holds, so DRAM gives all eight times
     * as much; L2 answers pairs of sectors */
    {"softmax, scaled across",
     XZ("[64, 4096]",
        "[4096, 64]") "  - {op: softmax, in: [x], out: s, dim: 1}\n  - {op: permute, in: [z], out: t, dims: [1, 0]}\n"
                      "  - {op: mul, in: [s, t], out: y}\noutputs: [y]\n",
     NULL,
     {9 << 20, 1 << 20, (2 << 20) + 262144 * 64, 0},
     {262144 * 19 * 2, 262144 * 2 * 2, 262144 * 19 / 64. + 3 * 262144 * 2 / 4 / 64., 16 + 16 * 30, 0},
     {36, 4, 1, 1, 64},
     16,
     0.125,
     true},
    /* 65536 numbers are added to 256 places, 256 each, one a clock of 2 ns behind the other; plain stores wait for
     * none. The first launch copies. Indices have 8 bytes */
    {"scatter_add",
     SCATTER("scatter_add"),
     NULL,
     {1024 + 65536 * 12, 1024, 1024 + 65536 * 12 + 1024 + 2 * 65536 * 4, 0},
     {256 * 8 * 2, 0, 256 * 8 / 64. + 4 * 256 * 2 / 2 / 64., 1 + 255 * 2, 0},
     {15, 2, 2, 1, 1},
     0.25,
     1,
     true},
    {"scatter",
     SCATTER("scatter"),
     NULL,
     {1024 + 65536 * 12, 1024, 1024 + 65536 * 12 + 1024 + 2 * 65536 * 4, 0},
     {256 * 6 * 2, 0, 256 * 6 / 64. + 4 * 256 * 2 / 64., 1, 0},
     {15, 1, 2, 1, 1},
     0.25,
     1,
     true},
    /* With 16 registers, four of 20 of each of 1024 threads are stored and loaded, 4 bytes each */
    {"exp and sum, spilled",
     XZ("[4096]", "[4096]") "  - {op: exp, in: [x], out: e}\n  - {op: add, in: [e, z], out: y}\noutputs: [y]\n",
     "registers_per_thread=16",
     {32768, 16384, 49152 + 1024 * 4 * 4 * 2, 0},
     {4096 * 7 * 2, 8192, 4096 * 7 / 64. + 96, 1, 0},
     {16, 4, 1, 1, 4},
     1,
     1,
     true},
    /* Rows put together from 61 and 67 elements: one at a time, and not kept. In each of two walks both parts are
     * asked, eight instructions each, and two instructions find the place; exponentials are computed twice */
    {"softmax of parts",
     XZ("[64, 61]", "[64, 67]") "  - {op: concat, in: [x, z], out: c, dim: 1}\n" SOFTMAX("c"),
     NULL,
     {32768, 32768, 3 * 32768, 0},
     {8192 * (25 + 4) * 2, 8192 * 3 * 2, 8192 * 29 / 64. + 3 * 8192 * 2 / 64. + 2 * 2 * 8192 * 8 / 64., 2 * 2 + 2 * 30,
      0},
     {22, 1, 1, 2, 8},
     2,
     1,
     true},
    /* cuDNN's product of 256 pixels, 64 filters and 9 x 16 terms, which fill its tiles; Winograd's kernels reach 1.27
     * of products. Two tiles of 128 x 64 would take it least time. A block starts in 250 ns, and waits 240 for each 64
     * terms. */
    {"convolution",
     CONV("[1, 16, 16, 16]", "[64, 16, 3, 3]") "conv2d, in: [x, w], out: y, padding: 1}\noutputs: [y]\n",
     NULL,
     {16384 + 36864, 65536, 65536, 0},
     {2. * 256 * 64 * 144 / 1.2, 0, 0, 250 + 240 * 144 / 64. + 1, 0},
     {128 * 64 / 256 + 40, 4, 1, 1, 2},
     1,
     1,
     false},
    /* A filter for each channel: ATen's kernel can't be faster than its nine products a result on FP32 units. The
     * blocks that stand for it, two for each channel, come three at once: memory answers six times. */
    {"convolution of single channels",
     CONV("[1, 8, 16, 16]", "[8, 1, 3, 3]") "conv2d, in: [x, w], out: y, padding: 1, groups: 8}\noutputs: [y]\n",
     NULL,
     {8192 + 288, 8192, 8192, 0},
     {18432 * 2, 0, 0, 250 + 240 * 9 / 64. + 6, 0},
     {128 * 32 / 128 + 40, 4, 1, 1, 16},
     16. / 3,
     1,
     false},
    /* Each of 31 x 31 pixels meets a quarter of nine taps, and its thread asks for two of three along each axis, at
     * most: 16/9 of the products' loads, two of 4 bytes. A step takes 50 cycles of 2 ns. */
    {"transposed convolution",
     CONV("[1, 8, 16, 16]", "[8, 16, 3, 3]") "conv_transpose2d, in: [x, w], out: y, stride: 2, padding: 1}\noutputs: "
                                             "[y]\n",
     NULL,
     {8192 + 4608, 961 * 64, 961 * 64, 256 * 16 * 72 * 16. / 9 * 8},
     {256 * 16 * 72 * 2, 0, 2 * 256 * 16 * 72 * 16. / 9 / 64 + 3 * 961 * 16 * 2 / 64., 250 + 72 * 100 + 16, 0},
     {32, 1, 1, 1, 61},
     15.25,
     1,
     true},
    /* 32 pixels by 16 filters, filled up to 64, and 16384 terms: a library splits them into parts of 4096 or more, so
     * that four of eight SMs, an eighth of the rate each, have one. */
    {"convolution with a long sum",
     CONV("[8, 16384, 2, 2]", "[16, 16384, 1, 1]") "conv2d, in: [x, w], out: y}\noutputs: [y]\n",
     "sms=8",
     {(8 * 4 + 16) * 65536, 2048, 2048, 0},
     {2. * 32 * 64 * 16384 * 2, 0, 0, 250 + 240 * 4096 / 64. + 1, 0},
     {32 * 32 / 128 + 40, 4, 1, 1, 4},
     4. / 8 / 8,
     1,
     true},
    /* Ours has two tiles of 128 x 16, narrow by seven. An element of a window takes 18 instructions for each axis, and
     * 12; an exponential six, one of them special. 144 rows and columns of 288 bytes pass L2 for each tile. */
    {"convolution and exp",
     CONV("[1, 8, 16, 16]", "[16, 8, 3, 3]") "conv2d, in: [x, w], out: c, padding: 1}\n  - {op: exp, in: c, out: "
                                             "y}\noutputs: [y]\n",
     NULL,
     {8192 + 4608, 16384, 16384 + 2 * 144 * 288, NAN},
     {4096 * 6 * 2 + 2. * 2 * 128 * 16 * 72 * 3.31 + 256 * 72 * 2 * 18 * 2, 8192,
      4096 * 6 / 64. + 256 * 72 * (2 * 18 + 12) / 64. + 3 * 4096 * 2 / 4 / 64., 1, (2 * 144 * 288 + 1.5 * 16384) / 250},
     {106, 4, 1, 1, 2},
     2. / 3,
     1,
     true},
    /* The same with one tap, which is an element itself; and along one axis */
    {"convolution of one tap and exp",
     CONV("[1, 72, 16, 16]", "[16, 72, 1, 1]") "conv2d, in: [x, w], out: c}\n  - {op: exp, in: c, out: y}\noutputs: "
                                               "[y]\n",
     NULL,
     {72 * 1024 + 4608, 16384, 16384 + 2 * 144 * 288, NAN},
     {4096 * 6 * 2 + 2. * 2 * 128 * 16 * 72 * 3.31, 8192, 4096 * 6 / 64. + 3 * 4096 * 2 / 4 / 64., 1,
      (2 * 144 * 288 + 1.5 * 16384) / 250},
     {66, 4, 1, 1, 2},
     2. / 3,
     1,
     true},
    {"convolution of signals and exp",
     CONV("[1, 24, 256]", "[16, 24, 3]") "conv1d, in: [x, w], out: c, padding: 1}\n  - {op: exp, in: c, out: "
                                         "y}\noutputs: [y]\n",
     NULL,
     {24 * 1024 + 4608, 16384, 16384 + 2 * 144 * 288, NAN},
     {4096 * 6 * 2 + 2. * 2 * 128 * 16 * 72 * 3.31 + 256 * 72 * 18 * 2, 8192,
      4096 * 6 / 64. + 256 * 72 * (18 + 12) / 64. + 3 * 4096 * 2 / 4 / 64., 1, (2 * 144 * 288 + 1.5 * 16384) / 250},
     {106, 4, 1, 1, 2},
     2. / 3,
     1,
     true},
};

/* Arithmetic results; a multiply-add is two. Turning around computes nothing. */
static const struct {
    const char *what;
    double flops;
    int shared_bytes; /* of a block; -1: not looked at */
} counted[] = {{"relu", 4096, 0},
               {"transpose", 0, 32 * 33 * 4},
               {"softmax", 262144 * 5, 0},
               {"product", 2. * 64 * 64 * 64, (64 + 128) * 8 * 2 * 4},
               {"convolution", 2. * 256 * 64 * 144, (128 + 64) * 8 * 2 * 4},
               {"convolution and exp", 2. * 256 * 16 * 72 + 4096, -1},
               {"chain", 2. * 64 * 32 * (256 + 32) + 2048, -1},
               {"attention in parts", 2. * 256 * 128 * 128 + 5 * 32768 + 256 * 8 * (2 * 64 + 4), -1},
               {"attention", 2. * 256 * 512 * 128 + 5 * 131072 + 256 * 16 * (64 + 4), -1},
               {"softmax of parts", 8192 * 7, 0}};

static void kernels_by_hand(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *w = &rows[i];
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_options options = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 1000};
        const fsim_graph *g = fsim_graph_parse(a, d, "prices.yaml", w->text, strlen(w->text), NULL);
        fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/tests/hw/toy.yaml");
        assert_true(g && hw);
        for (const char *key = w->key; key;) {
            const char *end = strstr(key, "; ");
            assert_true(fsim_hw_set(a, d, hw, fsim_strndup(a, key, end ? (size_t)(end - key) : strlen(key))));
            key = end ? end + 2 : NULL;
        }
        fsim_problem p = fsim_problem_of(g, hw, &options, a);
        int *node = fsim_new(a, int, g->nodes);
        for (int n = 0; n < g->nodes; n++)
            node[n] = n;
        const fsim_kernel *k = fsim_kernel_alone(&p, node, g->nodes, a);
        assert_non_null(k);
        enum { DRAM = 5 }; /* whose bytes are counted as whole ones */
        const struct {
            const char *what;
            double got, wanted;
        } facts[] = {{"read", (double)k->dram_read_bytes, w->bytes.read},
                     {"written", (double)k->dram_write_bytes, w->bytes.written},
                     {"L2 bytes", k->l2_bytes, w->bytes.l2},
                     {"shared bytes", k->shared_bytes_moved, w->bytes.shared},
                     {"launches", k->unit[FSIM_LAUNCH] * 1e9, 1000. * w->is.launches},
                     {"DRAM", k->unit[FSIM_DRAM] * 1e9, w->bytes.read + w->bytes.written},
                     {"L2", k->unit[FSIM_L2] * 1e9, w->ns.l2},
                     {"shared memory", k->unit[FSIM_SHARED] * 1e9,
                      k->template == FSIM_LIBRARY_CONTRACTION ? 0 : w->bytes.shared / 64}, /* its rate has it */
                     {"compute", k->unit[FSIM_COMPUTE] * 1e9, w->ns.compute},
                     {"special", k->unit[FSIM_SPECIAL] * 1e9, w->ns.special},
                     {"issue", k->unit[FSIM_ISSUE] * 1e9, w->ns.issue},
                     {"latency", k->unit[FSIM_LATENCY] * 1e9, w->ns.latency},
                     {"registers", k->registers, w->is.registers},
                     {"vector", k->vector, w->is.vector},
                     {"passes", k->passes, w->is.passes},
                     {"grid", (double)k->grid, (double)w->is.grid},
                     {"waves", k->waves, w->waves},
                     {"coalescing", k->coalescing, w->coalescing},
                     {"penalised", k->penalised, w->penalised}};
        for (size_t n = 0; n < sizeof counted / sizeof *counted; n++)
            assert_true(strcmp(counted[n].what, w->what) != 0 ||
                        (k->flops == counted[n].flops &&
                         (counted[n].shared_bytes < 0 || k->shared_bytes == counted[n].shared_bytes)));
        for (size_t f = 0; f < sizeof facts / sizeof *facts; f++)
            if (!isnan(facts[f].wanted) &&
                !(fabs(facts[f].got - facts[f].wanted) <= (f == DRAM ? 1e-5 : 1e-9) * fabs(facts[f].wanted)))
                fail_msg("%s: %s is %.10g, by hand %.10g", w->what, facts[f].what, facts[f].got, facts[f].wanted);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_by_hand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
