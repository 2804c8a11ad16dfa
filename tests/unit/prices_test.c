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
     "tensors: {x: {shape: [64, 256], dtype: f32}, w: {shape: [32, 256], dtype: f32}, u: {shape: [32, 32], dtype: "
     "f32}}\noperators:\n"
     "  - {op: linear, in: [x, w], out: l}\n  - {op: relu, in: [l], out: r}\n  - {op: linear, in: [r, u], out: "
     "y}\noutputs: [y]\n",
     "shared_memory_per_sm=96 KiB; shared_memory_per_block=96 KiB",
     {65536 + 32768 + 4096, 8192, 102400 + 8192, 2. * (80 * 256 + 16 * 32 + 64 * 16) * 4 * 4},
     {(2. * 64 * 32 * (256 + 32) + 2. * 64 * 16 * 10) * 1.1 + 2048 * 2, 0,
      2048 / 64. + 2 * (2048 / 4 + 102400 / 16) / 64., 250 + 2 * 500 + 1, 0},
     {84, 4, 1, 1, 1},
     1,
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
               {"chain", 2. * 64 * 32 * (256 + 32) + 2048, -1},
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

#define TABLE(shape, i) "tensors: {t: {shape: " shape ", dtype: f32}, i: {shape: [" i "], dtype: i64}}\noperators:\n"
#define WRITE(how)                                                                                                     \
    "tensors: {x: {shape: [64, 64], dtype: f32}, i: {shape: [8], dtype: i64}, v: {shape: [8, 64], dtype: f32}}\n"      \
    "operators:\n  - {op: index_put, in: [x, i, v], out: y" how "}\noutputs: [y]\n"
#define EMBEDDING(of) "  - {op: embedding, in: [i, " of "], out: y}\noutputs: [y]\n"
#define MAX_POOL(of)  "  - {op: max_pool2d, in: " of ", out: y, kernel_size: 3, stride: 2, padding: 1}\noutputs: [y]\n"

/* What is asked of L2 by readers that no map describes, and beside them. */
static const struct {
    const char *what, *text;
    double read, l2, coalescing; /* bytes of DRAM; bytes of L2, in both directions */
} asked[] = {
    /* A sector for each of 1024 rows of 4 bytes, of which the table has only half; the index, 8 KiB; 4 KiB written */
    {"rows of 4 bytes", TABLE("[4096, 1]", "1024") EMBEDDING("t"), 8192 + 16384, 8192 + 32768 + 4096, 0.125},
    {"rows of 4 bytes, computed", TABLE("[4096, 1]", "1024") "  - {op: exp, in: t, out: e}\n" EMBEDDING("e"),
     8192 + 16384, 8192 + 32768 + 4096, 0.125},
    /* Two sectors for 36 bytes; the nine warps ask for 16 sectors of the index */
    {"rows of 36 bytes", TABLE("[4096, 9]", "32") EMBEDDING("t"), 256 + 32 * 64, 16 * 32 + 32 * 64 + 32 * 36, 36. / 64},
    /* As much for 16 rows of 256 bytes: each sector once; an index for each warp */
    {"rows of 256 bytes", TABLE("[4096, 64]", "16") EMBEDDING("t"), 128 + 4096, 32 * 32 + 4096 + 4096, 1},
    /* Beside the gather the kernel reads the table in its order: so much for each, and once from DRAM */
    {"rows beside the table",
     TABLE("[4096, 1]", "4096") "  - {op: embedding, in: [i, t], out: g}\n  - {op: add, in: [g, t], out: y}\n"
                                "outputs: [y]\n",
     32768 + 16384, 32768 + 131072 + 16384 + 16384, (16384. + 16384) / (131072 + 16384)},
    /* A block has the 16 x 16 results of a plane, which reach over 33 x 33 elements */
    {"windows", X("[2, 4, 32, 32]") MAX_POOL("x"), 32768, 32768 * (33. / 32) * (33. / 32) + 8192, 1},
    {"windows, computed", X("[2, 4, 32, 32]") "  - {op: relu, in: x, out: r}\n" MAX_POOL("r"), 32768,
     32768 * (33. / 32) * (33. / 32) + 8192, 1},
    {"windows side by side",
     X("[1, 4, 256]") "  - {op: avg_pool1d, in: x, out: y, kernel_size: 4, stride: 4}\noutputs: [y]\n", 4096,
     4096 + 1024, 1},
    /* A block has half a row of 512 results: 260 elements of each of three rows, which are two apart */
    {"windows with gaps",
     X("[1, 1, 8, 516]") "  - {op: max_pool2d, in: x, out: y, kernel_size: 3, stride: 1, dilation: 2}\noutputs: [y]\n",
     8 * 516 * 4, 8 * 516 * 4 * (260. / 256) * 3 + 4 * 512 * 4, 1},
    /* The first element of each row is asked for by each of its four warps, and lies where the windows read */
    {"windows beside a column",
     X("[1, 64, 512]") "  - {op: max_pool1d, in: x, out: m, kernel_size: 4, stride: 4}\n"
                       "  - {op: slice, in: x, out: f, dim: 2, start: 0, end: 1}\n  - {op: sub, in: [m, f], out: y}\n"
                       "outputs: [y]\n",
     131072, 131072 + 64 * 4 * 32 + 32768, 1},
    /* Once for the sum and for what is taken from it: they are the same element of the same thread */
    {"running sums without their own",
     X("[64, 128]") "  - {op: cumsum, in: x, out: c, dim: 1}\n  - {op: sub, in: [c, x], out: y}\noutputs: [y]\n", 32768,
     65536, 1},
    {"running sums from the first on",
     X("[64, 128]") "  - {op: cumsum, in: x, out: c, dim: 1}\n  - {op: slice, in: x, out: f, dim: 1, start: 0, end: "
                    "1}\n"
                    "  - {op: sub, in: [c, f], out: y}\noutputs: [y]\n",
     32768, 32768 + 64 * 4 * 32 + 32768, 1},
    /* 8 rows of 256 bytes are written, and no others read; or added to, which L2 does */
    {"rows put", WRITE(""), 64 + 2048, 64 + 2048 + 2048, 1},
    {"rows added", WRITE(", accumulate: true"), 64 + 2048 + 2048, 64 + 2048 + 2048 + 2048, 1},
    {"halves side by side", XZ("[64, 32]", "[64, 32]") "  - {op: concat, in: [x, z], out: y, dim: 1}\noutputs: [y]\n",
     16384, 32768, 1},
    /* 31 rows are copied; a row of zeros is written, too */
    {"padded", X("[31, 32]") "  - {op: pad, in: x, out: y, padding: [0, 0, 0, 1]}\noutputs: [y]\n", 31 * 128,
     31 * 128 + 32 * 128, 1},
};

static void l2_is_asked_by_hand(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(a);
        const fsim_options options = {
            .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 1000};
        const fsim_graph *g = fsim_graph_parse(a, d, "asked.yaml", asked[i].text, strlen(asked[i].text), NULL);
        const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/tests/hw/toy.yaml");
        assert_true(g && hw);
        fsim_problem p = fsim_problem_of(g, hw, &options, a);
        int *node = fsim_new(a, int, g->nodes);
        for (int n = 0; n < g->nodes; n++)
            node[n] = n;
        const fsim_kernel *k = fsim_kernel_alone(&p, node, g->nodes, a);
        assert_non_null(k);
        if ((double)k->dram_read_bytes != asked[i].read || !(fabs(k->coalescing - asked[i].coalescing) < 1e-9) ||
            fabs(k->l2_bytes - asked[i].l2) > 1e-9 * asked[i].l2)
            fail_msg("%s: %lld bytes are read, by hand %.0f; L2 is asked for %.10g, by hand %.10g; coalescing %.6g, by "
                     "hand %.6g",
                     asked[i].what, (long long)k->dram_read_bytes, asked[i].read, k->l2_bytes, asked[i].l2,
                     k->coalescing, asked[i].coalescing);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_by_hand), cmocka_unit_test(l2_is_asked_by_hand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
