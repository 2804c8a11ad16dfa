/* SPDX-License-Identifier: Apache-2.0 */
/* legal_reasons.h: why the sets of legal_test.c are no kernel: in words, with the numbers in them; and the primitives
 * that break the rule, by their place in the workload (-1: one alone). */
#ifndef FUSESIM_TESTS_LEGAL_REASONS_H
#define FUSESIM_TESTS_LEGAL_REASONS_H

typedef struct {
    const char *idea, *words;
    int a, b;
} legal_reason;

static const legal_reason reasons[] = {
    {"nothing shared", "'a' and 'b' share no tensor", 0, 1},
    {"the same in order", "different iteration spaces: 131072 rows against 4096", 0, 2},
    {"blocks that more than a warp would hold", "different iteration spaces: 65536 rows against 4096", 0, 2},
    {"blocks of two lengths", "different iteration spaces: 262144 rows against 4096", 0, 2},
    {"blocks of a product's rows that no tile holds",
     "a reduction fused with a contraction needs 512 elements of a row in one tile, and there can be at "
     "most 256",
     0, 1},
    {"the mean of a product's elements, in order",
     "a reduction fused with a contraction needs 262144 elements of a row in one tile, and there can be at "
     "most 256",
     0, 1},
    {"an element over the sum of a product's elements",
     "needs a barrier across the grid: 262144 blocks that must finish first (one block holds 1)", 2, -1},
    {"a sum of half of a product's elements",
     "a reduction fused with a contraction needs 131072 elements of rows of the product that other blocks make, and "
     "there can be none",
     0, 1},
    {"another row's sum", "needs a barrier across the grid: 64 blocks that must finish first (one block holds 1)", 0,
     -1},
    {"the transposed of a normalised row",
     "needs a barrier across the grid: 64 blocks that must finish first (one block holds 1)", 0, -1},
    {"a total separates",
     "needs a barrier across the grid: 16777216 elements reduced by one block (one block holds 65536)", 0, 1},
    {"a maximum of columns beside rows", "different iteration spaces: 64 rows against as many of another dimension", 0,
     1},
    {"maxima of rows and columns", "different iteration spaces: 64 rows against as many of another dimension", 0, 1},
    {"rows and columns in order", "different iteration spaces: 64 rows against as many of another dimension", 0, 1},
    {"a sum of all rows, and each row with it",
     "needs a barrier across the grid: 64 blocks that must finish first (one block holds 1)", 2, -1},
    {"results of two sizes", "different iteration spaces: 4096 points against 64", 1, 0},
    {"a prologue that must be stored",
     "'a' would have to be computed while the contraction loads its operand, but other kernels read its "
     "value from memory",
     0, 1},
    {"a contraction broadcast by its reader", "different iteration spaces: 4096 points against 64", 1, 0},
    {"a contraction wanted twice over",
     "the readers of 'c' in this kernel need it through 2 index maps, and a kernel can serve 1", 0, -1},
    {"a stored producer of which concat's reader wants a part", "different iteration spaces: 4096 points against 2048",
     0, -1},
    {"a contraction feeds concat", "different iteration spaces: 8192 points against 4096", 1, 0},
    {"a reduction's rows feed concat", "different iteration spaces: 8192 points against 4096", 2, -1},
    {"rows rolled past each other",
     "needs a barrier across the grid: 64 blocks that must finish first (one block holds 1)", 0, -1},
    {"a gathered table's row sums",
     "needs a barrier across the grid: 64 blocks that must finish first (one block holds 1)", 0, -1},
    {"scatter's reader waits for all of it",
     "scatter 'a' ends its kernel: data decides where it writes, so its readers wait until it has finished", 0, 1},
    {"a sum beside a scatter",
     "scatter 'y' ends its kernel: data decides where it writes, so its readers wait until it has finished", 2, 0},
    {"a window of windows", "'a' and 'c' each need a kernel's loop over windows or sums, of which it has one", 0, 1},
    {"sort is a boundary",
     "sort 's' is a kernel of its own: its kernel is a program of its own, which no other operator joins", 1, 0},
    {"a path leaves and comes back", "would create a cycle through c", 0, 2},
    {"attention, strictly",
     "strict numerics: 768 elements of a row summed online, tile by tile, one block keeps the order of 256", 0, 7},
    {"probabilities kept: their sum comes after them",
     "a reduction fused with a contraction needs 768 elements of a row in one tile, and there can be at "
     "most 256; with the contraction at their other end the three could be one kernel",
     0, 5},
    {"half a softmax",
     "a reduction fused with a contraction needs 768 elements of a row in one tile, and there can be at "
     "most 256; with the contraction at their other end the three could be one kernel",
     0, 2},
    {"the other half",
     "a reduction fused with a contraction needs 768 elements of a row in one tile, and there can be at "
     "most 256; with the contraction at their other end the three could be one kernel",
     5, 7},
    {"half a softmax, strictly",
     "strict numerics: 768 elements of a row summed online, tile by tile, one block keeps the order of 256", 0, 2},
    {"both products and nothing between",
     "two contractions ('o/qk' and 'o') in one kernel: what lies on the path between them is not all in "
     "the kernel",
     0, 7},
    {"a softmax that no second product reads",
     "a reduction fused with a contraction needs 768 elements of a row in one tile, and there can be at "
     "most 256",
     0, 1},
    {"a mean can't be put right",
     "a reduction fused with a contraction needs 512 elements of a row in one tile, and there can be at "
     "most 256",
     0, 8},
    {"an MLP too wide", "needs 301 KiB of shared memory per block, the GPU allows 163 KiB", 0, 2},
    {"values of a head are a part of the first's rows and columns",
     "its readers do not read 'vf' tile by tile, each of its rows once", 0, -1},
    {"batches of other dimensions", "its readers do not read 's' tile by tile, each of its rows once", 0, -1},
    {"siblings that meet in different columns",
     "the readers of 'c' in this kernel need it through 2 index maps, and a kernel can serve 1", 0, 1},
    {"contractions of other operands",
     "two contractions ('c' and 'd') in one kernel: neither reads the result of the other, and they share "
     "no operand",
     0, 1},
    {"three in a row",
     "two contractions ('c' and 'e') in one kernel: a chain fuses two contractions, and here are more", 0, 2},
    {"a row longer than the tile",
     "a reduction fused with a contraction needs 512 elements of a row in one tile, and there can be at "
     "most 256",
     0, 1},
    {"columns of a product turned around",
     "a reduction fused with a contraction needs 64 elements of rows of the product that other blocks make, and there "
     "can be none",
     0, 2},
    {"columns of a product in order",
     "a reduction fused with a contraction needs 64 elements of rows of the product that other blocks "
     "make, and there can be none",
     0, -1},
    {"the largest of a product",
     "a reduction fused with a contraction needs 4096 elements of a row in one tile, and there can be at "
     "most 256",
     0, 1},
};

#endif
