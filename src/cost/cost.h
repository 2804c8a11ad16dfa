/* SPDX-License-Identifier: Apache-2.0 */
/* cost.h: a group as a kernel on a GPU: tile, grid, registers, bytes per memory level, seconds.
 *
 *     time_s = launch_s + (sum over units of unit_s ^ 3) ^ (1 / 3)
 * The exponent says that units overlap, imperfectly: it lies between the 4 that fits measured streaming kernels and
 * the 2.5 that fits GEMMs. One norm for every template keeps the triangle inequality across templates, which
 * plan/search/optimal.c's proofs rest on. Matrix products alone take 2.5 (gemm.h): a kernel that holds one and anything
 * else is `penalised`. The shares in `time` sum to time_s: each unit's share of the overlapped part is in proportion to
 * unit_s ^ 3. A generated contraction is taken to reach the rate of the vendor's: nothing has measured the difference
 * yet. That is a kernel as fusesim would generate it, or the vendor's contraction. What frameworks launch for the same
 * group, fsim_kernel_made_by says. */
#ifndef FUSESIM_COST_COST_H
#define FUSESIM_COST_COST_H

#include "fusion/group.h"
#include "hw/hw.h"

enum { FSIM_SECTOR_BYTES = 32 };
/* Kernel times are whole femtoseconds: sums do not depend on their order, and the search compares them exactly. */
#define FSIM_TICK_S 1e-15

typedef enum {
    FSIM_LAUNCH,
    FSIM_DRAM,
    FSIM_L2,
    FSIM_SHARED,
    FSIM_COMPUTE,
    FSIM_SPECIAL,
    FSIM_ISSUE,
    FSIM_LATENCY,
    FSIM_UNIT_COUNT
} fsim_unit;
extern const char *const fsim_unit_names[FSIM_UNIT_COUNT]; /* launch dram l2 shared compute special issue latency */

typedef enum {
    FSIM_REGIME_EAGER,
    FSIM_REGIME_STREAM,
    FSIM_REGIME_GRAPH,
    FSIM_REGIME_KERNEL,
    FSIM_REGIME_COUNT
} fsim_regime;
extern const char *const fsim_regime_names[FSIM_REGIME_COUNT];

/* How a benchmark ran what it measured, where that shows in the times. */
typedef enum {
    FSIM_HARNESS_NONE,
    FSIM_HARNESS_ROTATES, /* over copies of the weights in turn, activations in place: L2 holds the latter, and weights
                             so small that five copies fit */
    FSIM_HARNESS_CALLS,   /* events around one call of the framework: the device waits for what the host does in it */
    FSIM_HARNESS_RESTS    /* eager calls far apart: a device that is held to little power runs faster at first */
} fsim_harness;

/* What a kernel finds and leaves in L2: bit-like flags per read and write of its group. */
typedef struct {
    const bool *hit;      /* per read: its tensor is resident when the kernel starts; NULL: none is */
    const bool *absorbed; /* per write: every reader finds it in L2, so it need not reach DRAM; NULL: none is */
    fsim_harness harness; /* of a measured run: frameworks' matrix products go by it */
} fsim_residency;

typedef struct {
    int tensor;
    int64_t bytes;      /* compulsory: each element once */
    int64_t read_bytes; /* what DRAM serves, whole sectors, re-reads included */
    double l2_bytes;    /* sectors that the SMs request */
} fsim_input;

typedef struct {
    int tensor;
    int64_t bytes, write_bytes; /* compulsory; what reaches DRAM */
} fsim_result;

typedef struct {
    const fsim_group *group;
    fsim_template template;
    int launches;
    int64_t grid;
    int block, registers, shared_bytes;
    int64_t spilled_bytes;               /* local memory traffic of all threads */
    double occupancy, waves;             /* resident warps over the most; blocks over those resident at once */
    int tile_m, tile_n, split_k, vector; /* contraction tile; elements per thread and access */
    int passes;                          /* times that a row is read: 1 where it stays on chip */
    double coalescing;                   /* useful bytes over requested bytes of the worst access */
    int64_t dram_read_bytes, dram_write_bytes;
    double l2_bytes, shared_bytes_moved;
    double flops;
    fsim_unit bound;
    double time_s, time[FSIM_UNIT_COUNT], unit[FSIM_UNIT_COUNT];
    int inputs, outputs;
    fsim_input *input;
    fsim_result *output;
    bool penalised; /* some unit may take longer than in the best split of this group: see plan/search/optimal.c */
} fsim_kernel;

/* Cost of a group. Picks tile, split and vector width with the least time. Result in a. */
fsim_kernel fsim_kernel_of(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, const fsim_group *group,
                           const fsim_residency *l2, fsim_arena *a);

/* Whose kernel it is. */
typedef enum {
    FSIM_BY_FUSESIM,  /* generated, or the vendor's contraction: what fsim_kernel_of says */
    FSIM_BY_ATEN,     /* PyTorch without a compiler: ATen, cuDNN, cuBLAS, FlashAttention */
    FSIM_BY_INDUCTOR, /* torch.compile: Triton, the same libraries for contractions */
    FSIM_BY_VLLM,
    FSIM_BY_SGLANG,
    FSIM_BY_TENSORRT_LLM /* serving stacks: PyTorch with attention kernels of their own */
} fsim_maker;
/* Kernels of PyTorch without a compiler, whatever attention the stack brings. */
static inline bool fsim_is_eager(fsim_maker maker) { return maker == FSIM_BY_ATEN || maker >= FSIM_BY_VLLM; }
/* Whose kernels `software` (what a measurement names as its source) ran: fusesim's own; of a serving stack where
 * `otherwise` is PyTorch without a compiler; else `otherwise`. */
fsim_maker fsim_maker_named(const char *software, fsim_maker otherwise);

/* The kernel, or the few kernels, that the framework launches for this group: more passes, other layouts, other rates.
 * Never faster than fsim_kernel_of's for the same group, so that no framework's plan beats the optimum. Sources:
 * aten.c, triton.c, convolution.c, attention.c. Result in a. */
fsim_kernel fsim_kernel_made_by(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, fsim_maker maker,
                                const fsim_group *group, const fsim_residency *l2, fsim_arena *a);
/* The same where fsim_kernel_of's answer for the group is known already (NULL: it is not). */
fsim_kernel fsim_kernel_made_from(const fsim_graph *g, const fsim_hw *hw, fsim_regime regime, fsim_maker maker,
                                  const fsim_group *group, const fsim_residency *l2, const fsim_kernel *known,
                                  fsim_arena *a);

/* Seconds that contraction `node` keeps its units busy in any kernel that holds it, whatever else that does. */
double fsim_least_contraction_s(const fsim_graph *g, const fsim_hw *hw, int node);
/* Seconds that DRAM takes for so many bytes read and written. */
double fsim_dram_seconds(const fsim_hw *hw, double read_bytes, double write_bytes);
/* No kernel moves them faster. The vendor's matrix products, `products`, take writes for as long as reads. */
double fsim_least_dram_seconds(const fsim_hw *hw, double read_bytes, double write_bytes, bool products);
/* Effective L2 capacity in bytes: what a kernel can expect to find again. */
double fsim_l2_effective(const fsim_hw *hw);
/* Registers per thread of a kernel with `live` values, each `vector` elements wide. Rule and calibration in
 * occupancy.c. */
int fsim_registers(int live, int vector);
/* Blocks of one SM at once; 0 when it does not fit. */
int fsim_blocks_per_sm(const fsim_hw *hw, int threads, int registers, int shared_bytes);

#endif
