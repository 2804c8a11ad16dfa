/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/kernel_name.h"

#include <ctype.h>
#include <string.h>

enum {
    GEMM = FSIM_DOES_GEMM,
    CONV = FSIM_DOES_CONVOLUTION,
    ATTENTION = FSIM_DOES_ATTENTION,
    POINT = FSIM_DOES_POINTWISE,
    REDUCE = FSIM_DOES_REDUCTION,
    POOL = FSIM_DOES_POOLING,
    SCAN = FSIM_DOES_SCAN,
    SORT = FSIM_DOES_SORT,
    GATHER = FSIM_DOES_GATHER,
    SCATTER = FSIM_DOES_SCATTER,
    COMMUNICATION = FSIM_DOES_COMMUNICATION
};

/* Part of a name, in any letter case, and what a kernel of that name does; the first row that fits decides. */
static const struct {
    const char *part;
    unsigned kinds;
    fsim_helps helps;
} kernels[] = {
    {"nchwToNhwc", CONV, FSIM_HELPS_NEXT},
    {"nhwcToNchw", CONV, FSIM_HELPS_LAST},
    {"nchwAddPadding", CONV, FSIM_HELPS_NEXT},
    {"nhwcAddPadding", CONV, FSIM_HELPS_NEXT},
    {"generateWinogradTiles", CONV, FSIM_HELPS_NEXT},
    {"computeOffsetsKernel", CONV, FSIM_HELPS_NEXT},
    {"cublasLtSplitKReduce", GEMM, FSIM_HELPS_LAST},
    {"splitKreduce", GEMM, FSIM_HELPS_LAST},
    {"splitK_reduce", GEMM, FSIM_HELPS_LAST},
    {"split_k_reduce", GEMM, FSIM_HELPS_LAST},
    {"cask_plugin_cudnn::reorg", CONV, FSIM_HELPS_NEXT},
    {"im2col", CONV, FSIM_HELPS_NEXT},
    {"fft2d_r2c", CONV, FSIM_HELPS_NEXT},
    {"flip_filter", CONV, FSIM_HELPS_NEXT},
    {"fft2d_c2r", CONV, FSIM_HELPS_LAST},
    {"fmha", ATTENTION, 0},
    {"flash_fwd", ATTENTION, 0},
    {"flash_attn", ATTENTION, 0},
    {"flash::", ATTENTION, 0},
    {"sdpa", ATTENTION, 0},
    {"attention_kernel", ATTENTION, 0},
    {"mem_eff_attention", ATTENTION, 0},
    {"attn_fwd", ATTENTION, 0},
    {"FlashAttn", ATTENTION, 0},
    {"nccl", COMMUNICATION, 0},
    {"rccl", COMMUNICATION, 0},
    {"AllReduce", COMMUNICATION, 0},
    {"batch_norm", REDUCE, 0},
    {"bn_fw", REDUCE, 0},
    {"layer_norm", REDUCE, 0},
    {"layernorm", REDUCE, 0},
    {"rms_norm", REDUCE, 0},
    {"rmsnorm", REDUCE, 0},
    {"RowwiseMoments", REDUCE, 0},
    {"GroupNorm", REDUCE, 0},
    {"group_norm", REDUCE, 0},
    {"softmax", REDUCE, 0},
    {"nll_loss", REDUCE | GATHER, 0},
    {"cross_entropy", REDUCE, 0},
    {"fprop", CONV, 0},
    {"dgrad", CONV, 0},
    {"wgrad", CONV, 0},
    {"implicit_convolve", CONV, 0},
    {"implicit_gemm", CONV, 0},
    {"implicitgemm", CONV, 0},
    {"scudnn", CONV, 0},
    {"cudnn", CONV, 0},
    {"winograd", CONV, 0},
    {"conv_depthwise", CONV, 0},
    {"conv2d", CONV, 0},
    {"convolve", CONV, 0},
    {"convolution", CONV, 0},
    {"fft2d", CONV, 0},
    {"miopen", CONV, 0},
    {"slow_conv", CONV, 0},
    {"conv1d", CONV, 0},
    {"conv3d", CONV, 0},
    {"gemm", GEMM, 0},
    {"gemv", GEMM, 0},
    {"nvjet", GEMM, 0},
    {"Cijk_", GEMM, 0},
    {"wmma_tensorop", GEMM, 0},
    {"s16816", GEMM, 0},
    {"s1688", GEMM, 0},
    {"xmma", GEMM, 0},
    {"cutlass", GEMM, 0},
    {"cublas", GEMM, 0},
    {"dot_kernel", GEMM, 0},
    {"reduce_1Block_kernel", GEMM, FSIM_HELPS_LAST},
    {"pool", POOL, 0},
    {"tensor_kernel_scan", SCAN, 0},
    {"DeviceScan", SCAN, 0},
    {"cumsum", SCAN, 0},
    {"cumprod", SCAN, 0},
    {"RadixSort", SORT, 0},
    {"bitonicSort", SORT, 0},
    {"radixSort", SORT, 0},
    {"gatherTopK", SORT, 0},
    {"topk", SORT, 0},
    {"segmented_sort", SORT, 0},
    {"sbtopk", SORT, 0},
    {"indexSelect", GATHER, 0},
    {"index_elementwise", GATHER, 0},
    {"vectorized_gather", GATHER, 0},
    {"scatter_gather", GATHER | SCATTER, 0},
    {"embedding", GATHER, 0},
    {"scatter", SCATTER, 0},
    {"indexAdd", SCATTER, 0},
    {"index_put", SCATTER, 0},
    {"gather", GATHER, 0},
    {"CatArrayBatchedCopy", POINT, 0},
    {"reduce_kernel", REDUCE, 0},
    {"DeviceReduce", REDUCE, 0},
    {"elementwise", POINT, 0},
    {"dropout", POINT, 0},
    {"triu_tril", POINT, 0},
    {"distribution_", POINT, 0},
    {"roll_cuda", POINT, 0},
    {"flip", POINT, 0},
    {"reduce", REDUCE, 0},
    {"transpose", POINT, 0},
    {"copy", POINT, 0},
};

/* Part of a name, and an operator that such a kernel may compute; all rows that fit count. */
static const struct {
    const char *part;
    fsim_op op;
} functors[] = {
#define IS(part, op) {part, FSIM_OP_##op},
    IS("CUDAFunctor_add", ADD) IS("CUDAFunctor_add", SUB) IS("CUDAFunctorOnSelf_add", ADD) IS(
        "CUDAFunctorOnSelf_add", SUB) IS("CUDAFunctorOnOther_add", ADD) IS("CUDAFunctorOnOther_add", SUB)
        IS("AddFunctor", ADD) IS("MulFunctor", MUL) IS("MulFunctor", DIV) IS("DivFunctor", DIV) IS(
            "DivTrueFunctor", DIV) IS("pow_tensor", POW) IS("maximum_kernel", MAXIMUM) IS("minimum_kernel",
                                                                                          MINIMUM) IS("neg_kernel", NEG)
            IS("abs_kernel", ABS) IS("AbsFunctor", ABS) IS("::exp_kernel", EXP) IS("log_kernel", LOG) IS(
                "sqrt_kernel", SQRT) IS("rsqrt_kernel", RSQRT) IS("reciprocal_kernel", RECIPROCAL) IS("sin_kernel", SIN)
                IS("cos_kernel", COS) IS("erf_kernel", ERF) IS("tanh_kernel", TANH) IS("hardtanh", HARDTANH) IS(
                    "sigmoid_kernel", SIGMOID) IS("launch_clamp_scalar",
                                                  RELU) IS("launch_clamp_scalar", CLAMP)
                    IS("launch_clamp_scalar", RELU6) IS("launch_clamp_scalar", HARDTANH) IS(
                        "leaky_relu", LEAKY_RELU) IS("threshold_kernel",
                                                     RELU) IS("elu_kernel", ELU)
                        IS("elu_kernel", SELU) IS("softplus_kernel", SOFTPLUS) IS("hardsigmoid", HARDSIGMOID) IS(
                            "hardswish",
                            HARDSWISH) IS("clamp_kernel",
                                          CLAMP) IS("clamp_min_scalar", RELU)
                            IS("CompareEqFunctor", EQ) IS("CompareEqFunctor", NE) IS("CompareFunctor", LT) IS(
                                "CompareFunctor",
                                LE) IS("CompareFunctor", GT)
                                IS("CompareFunctor", GE) IS("where_kernel", WHERE) IS("masked_fill", MASKED_FILL) IS(
                                    "FillFunctor",
                                    FILL) IS("triu_tril", TRIL) IS("triu_tril", TRIU)
                                    IS("GeluCUDAKernel", GELU) IS("silu_kernel", SILU) IS("mish_kernel", MISH) IS(
                                        "smooth_l1",
                                        SMOOTH_L1_LOSS) IS("mse_kernel", MSE_LOSS) IS("direct_copy_kernel", COPY)
                                        IS("direct_copy_kernel", CAST) IS("direct_copy_kernel", PERMUTE) IS(
                                            "direct_copy_kernel",
                                            TRANSPOSE) IS("direct_copy_kernel",
                                                          SLICE) IS("direct_copy_kernel", EXPAND)
                                            IS("direct_copy_kernel", CONCAT) IS("direct_copy_kernel", PAD) IS(
                                                "direct_copy_kernel", SPLIT) IS("CatArrayBatchedCopy", CONCAT)
                                                IS("dropout", DROPOUT) IS("roll_cuda", ROLL) IS("MeanOps", MEAN) IS(
                                                    "sum_functor",
                                                    SUM) IS("SumFunctor", SUM)
                                                    IS("MaxOps", MAX) IS("MaxNanFunctor", MAX) IS(
                                                        "MinOps", MIN) IS("MinNanFunctor",
                                                                          MIN) IS("ArgMaxOps",
                                                                                  ARGMAX) IS("ArgMinOps", ARGMIN)
                                                        IS("prod_functor", PROD) IS(
                                                            "NormTwoOps",
                                                            NORM) IS("NormOneOps",
                                                                     NORM) IS("layer_norm", LAYER_NORM)
                                                            IS("rms_norm", RMS_NORM) IS("batch_norm", BATCH_NORM) IS(
                                                                "batch_norm",
                                                                INSTANCE_NORM) IS("bn_fw",
                                                                                  BATCH_NORM) IS("GroupNorm", GROUP_NORM)
                                                                IS("RowwiseMoments", GROUP_NORM) IS(
                                                                    "RowwiseMoments",
                                                                    LAYER_NORM) IS("RowwiseMoments", INSTANCE_NORM)
                                                                    IS("softmax", SOFTMAX) IS("softmax", LOG_SOFTMAX) IS(
                                                                        "softmax",
                                                                        CROSS_ENTROPY) IS("nll_loss", CROSS_ENTROPY)
                                                                        IS("max_pool", MAX_POOL1D) IS(
                                                                            "max_pool",
                                                                            MAX_POOL2D) IS("max_pool", MAX_POOL3D)
                                                                            IS("MaxPool", MAX_POOL2D) IS(
                                                                                "avg_pool",
                                                                                AVG_POOL1D) IS("avg_pool", AVG_POOL2D)
                                                                                IS("avg_pool",
                                                                                   AVG_POOL3D) IS("AveragePool",
                                                                                                  AVG_POOL2D)
                                                                                    IS("avg_pool3d", AVG_POOL3D) IS(
                                                                                        "adaptive_average_pool",
                                                                                        ADAPTIVE_AVG_POOL2D)
                                                                                        IS("adaptive_average_pool",
                                                                                           ADAPTIVE_AVG_POOL1D) IS("ada"
                                                                                                                   "pti"
                                                                                                                   "vea"
                                                                                                                   "ver"
                                                                                                                   "age"
                                                                                                                   "poo"
                                                                                                                   "l",
                                                                                                                   ADAPTIVE_AVG_POOL3D)
                                                                                            IS("cumsum",
                                                                                               CUMSUM) IS("cumprod",
                                                                                                          CUMPROD)
                                                                                                IS("topk", TOPK) IS(
                                                                                                    "gatherTopK",
                                                                                                    TOPK) IS("indexSele"
                                                                                                             "ct",
                                                                                                             GATHER)
                                                                                                    IS("indexSelect",
                                                                                                       EMBEDDING) IS("i"
                                                                                                                     "n"
                                                                                                                     "d"
                                                                                                                     "e"
                                                                                                                     "x"
                                                                                                                     "_"
                                                                                                                     "e"
                                                                                                                     "l"
                                                                                                                     "e"
                                                                                                                     "m"
                                                                                                                     "e"
                                                                                                                     "n"
                                                                                                                     "t"
                                                                                                                     "w"
                                                                                                                     "i"
                                                                                                                     "s"
                                                                                                                     "e",
                                                                                                                     GATHER)
                                                                                                        IS(
                                                                                                            "vectorized"
                                                                                                            "_"
                                                                                                            "gather",
                                                                                                            GATHER)
                                                                                                            IS("vector"
                                                                                                               "i"
                                                                                                               "zed_"
                                                                                                               "gathe"
                                                                                                               "r",
                                                                                                               EMBEDDING)
                                                                                                                IS("fli"
                                                                                                                   "p_"
                                                                                                                   "ker"
                                                                                                                   "ne"
                                                                                                                   "l",
                                                                                                                   FLIP)};

/* Operators of ATen by their names there, where they are not ours; each row is one that it may be. "_" at either end is
 * not looked at. */
static const struct {
    const char *name;
    fsim_op op;
} operators[] = {
    IS("addmm", LINEAR) IS("addmm", MATMUL) IS("mm", LINEAR) IS("mm", MATMUL) IS("mm", EINSUM) IS("mv", MATMUL) IS(
        "dot", MATMUL) IS("addmv", LINEAR) IS("matmul", LINEAR) IS("matmul", BMM) IS("bmm", MATMUL) IS("bmm", EINSUM)
        IS("bmm", LINEAR) IS("bmm", ATTENTION) IS("baddbmm", BMM) IS("baddbmm", LINEAR) IS("baddbmm", ATTENTION)
            IS("linear", MATMUL) IS("convolution", CONV1D) IS("convolution", CONV2D) IS("convolution", CONV3D) IS(
                "convolution", CONV_TRANSPOSE1D) IS("convolution", CONV_TRANSPOSE2D) IS("convolution", CONV_TRANSPOSE3D)
                IS("convolution_relu", CONV2D) IS("convolution_add_relu", CONV2D) IS(
                    "convolution_transpose", CONV_TRANSPOSE1D) IS("convolution_transpose", CONV_TRANSPOSE2D)
                    IS("convolution_transpose", CONV_TRANSPOSE3D) IS("depthwise_convolution", CONV2D) IS(
                        "conv_depthwise2d", CONV1D) IS("conv_depthwise2d", CONV2D) IS("conv_depthwise3d", CONV3D)
                        IS("slow_conv2d_forward", CONV2D) IS("slow_conv3d_forward", CONV3D) IS("slow_conv_transpose2d",
                                                                                               CONV_TRANSPOSE2D)
                            IS("addmm_activation", LINEAR) IS("scaled_mm", MATMUL) IS("scaled_mm", LINEAR) IS(
                                "elu",
                                SELU) IS("layer_norm", LAYER_NORM)
                                IS("group_norm", GROUP_NORM) IS("group_norm", INSTANCE_NORM) IS(
                                    "fused_rms_norm",
                                    RMS_NORM) IS("batch_norm",
                                                 BATCH_NORM) IS("batch_norm", INSTANCE_NORM)
                                    IS("batch_norm_legit", BATCH_NORM) IS("batch_norm_legit", INSTANCE_NORM) IS(
                                        "batch_norm_with_update",
                                        BATCH_NORM) IS("log_softmax", CROSS_ENTROPY)
                                        IS("nll_loss_forward", CROSS_ENTROPY) IS("nll_loss", CROSS_ENTROPY) IS(
                                            "scaled_dot_product_attention",
                                            ATTENTION) IS("scaled_dot_product_flash_attention", ATTENTION)
                                            IS("scaled_dot_product_efficient_attention", ATTENTION) IS(
                                                "scaled_dot_product_cudnn_attention",
                                                ATTENTION) IS("flash_attention_forward",
                                                              ATTENTION) IS("efficient_attention_forward", ATTENTION)
                                                IS("softmax", ATTENTION) IS("index_select", GATHER) IS(
                                                    "index_select",
                                                    EMBEDDING) IS("index",
                                                                  GATHER) IS("cat", CONCAT)
                                                    IS("clamp_min", RELU) IS("clamp_min", CLAMP) IS(
                                                        "clamp_max",
                                                        CLAMP) IS("relu",
                                                                  RELU6) IS("hardtanh", RELU6)
                                                        IS("hardtanh", CLAMP) IS("rsub", SUB) IS(
                                                            "threshold",
                                                            RELU) IS("var",
                                                                     SUM) IS("var",
                                                                             MEAN) IS("var_mean",
                                                                                      SUM) IS("var_mean", MEAN)
                                                            IS("var_mean", LAYER_NORM) IS("var_mean", GROUP_NORM) IS(
                                                                "var_mean",
                                                                INSTANCE_NORM) IS("var_mean",
                                                                                  BATCH_NORM) IS("std", SUM)
                                                                IS("constant_pad_nd", PAD) IS("copy", COPY) IS(
                                                                    "copy",
                                                                    CAST) IS("copy",
                                                                             PERMUTE) IS("copy",
                                                                                         TRANSPOSE) IS("copy", SLICE)
                                                                    IS("copy", EXPAND) IS("copy", CONCAT) IS(
                                                                        "copy",
                                                                        PAD) IS("copy", SPLIT)
                                                                        IS("clone", COPY) IS("clone", PERMUTE) IS(
                                                                            "clone",
                                                                            TRANSPOSE) IS("clone",
                                                                                          EXPAND) IS("clone", SLICE)
                                                                            IS("contiguous", PERMUTE) IS(
                                                                                "contiguous",
                                                                                TRANSPOSE) IS("to_copy",
                                                                                              CAST) IS("fill", FILL)
                                                                                IS("zero", FILL) IS("zeros", FILL) IS(
                                                                                    "ones",
                                                                                    FILL) IS("full",
                                                                                             FILL) IS("amax",
                                                                                                      MAX) IS("amin",
                                                                                                              MIN)
                                                                                    IS(
                                                                                        "linalg_vector_norm",
                                                                                        NORM) IS("norm",
                                                                                                 NORM) IS("linalg_"
                                                                                                          "vector_norm",
                                                                                                          NORMALIZE) IS("native_dropout",
                                                                                                                        DROPOUT) IS("bernoulli",
                                                                                                                                    DROPOUT)
                                                                                        IS("smooth_l1_loss", SMOOTH_L1) IS("xlogy", KL_DIV) IS(
                                                                                            "xlogy",
                                                                                            XLOGX) IS("max_pool2d_with_"
                                                                                                      "indices",
                                                                                                      MAX_POOL2D) IS("m"
                                                                                                                     "a"
                                                                                                                     "x"
                                                                                                                     "_"
                                                                                                                     "p"
                                                                                                                     "o"
                                                                                                                     "o"
                                                                                                                     "l"
                                                                                                                     "2"
                                                                                                                     "d"
                                                                                                                     "_"
                                                                                                                     "w"
                                                                                                                     "i"
                                                                                                                     "t"
                                                                                                                     "h"
                                                                                                                     "_"
                                                                                                                     "i"
                                                                                                                     "n"
                                                                                                                     "d"
                                                                                                                     "i"
                                                                                                                     "c"
                                                                                                                     "e"
                                                                                                                     "s",
                                                                                                                     MAX_POOL1D) IS("max_pool3d_with_indices",
                                                                                                                                    MAX_POOL3D) IS("low_memory_max_pool2d_with_offsets",
                                                                                                                                                   MAX_POOL2D)
                                                                                            IS("adaptive_avg_pool2d", ADAPTIVE_AVG_POOL1D) IS(
                                                                                                "mean",
                                                                                                ADAPTIVE_AVG_POOL1D) IS("mean", ADAPTIVE_AVG_POOL2D)
                                                                                                IS("mean",
                                                                                                   ADAPTIVE_AVG_POOL3D) IS("avg_pool2d", AVG_POOL1D)
                                                                                                    IS("silu", SWIGLU) IS("glu", SWIGLU) IS(
                                                                                                        "sigmoid",
                                                                                                        SILU) IS("mul",
                                                                                                                 SILU) IS("erf",
                                                                                                                          GELU)
                                                                                                        IS("tanh", GELU) IS(
                                                                                                            "softplus",
                                                                                                            MISH) IS("b"
                                                                                                                     "i"
                                                                                                                     "t"
                                                                                                                     "w"
                                                                                                                     "i"
                                                                                                                     "s"
                                                                                                                     "e"
                                                                                                                     "_"
                                                                                                                     "n"
                                                                                                                     "o"
                                                                                                                     "t",
                                                                                                                     NE) IS("true_divide", DIV)
                                                                                                            IS("square", POW) IS(
                                                                                                                "squar"
                                                                                                                "e",
                                                                                                                MUL) IS("pow", MUL)
                                                                                                                IS(
                                                                                                                    "sc"
                                                                                                                    "al"
                                                                                                                    "ar"
                                                                                                                    "_t"
                                                                                                                    "en"
                                                                                                                    "so"
                                                                                                                    "r",
                                                                                                                    FILL) IS("lt",
                                                                                                                             CROSS_ENTROPY)
                                                                                                                    IS("prelu", LEAKY_RELU) IS(
                                                                                                                        "narrow",
                                                                                                                        SLICE) IS("split_with_sizes",
                                                                                                                                  SPLIT)
                                                                                                                        IS("chunk",
                                                                                                                           SPLIT) IS("stack",
                                                                                                                                     CONCAT)
                                                                                                                            IS("repeat",
                                                                                                                               EXPAND) IS("native_layer_norm",
                                                                                                                                          LAYER_NORM)
                                                                                                                                IS("native_group_norm",
                                                                                                                                   GROUP_NORM)
                                                                                                                                    IS("native_batch_norm",
                                                                                                                                       BATCH_NORM)
#undef IS
};
/* In front of a name of ATen's, they say how it is computed and no more; and what Inductor lists although it moves
 * nothing. */
static const char *const makers[] = {"cudnn_", "miopen_", "native_", "mkldnn_", "thnn_"};
static const char *const nothing[] = {"view",
                                      "unsqueeze",
                                      "squeeze",
                                      "t",
                                      "detach",
                                      "alias",
                                      "reshape",
                                      "as_strided",
                                      "lift_fresh",
                                      "unsafe_view",
                                      "prims",
                                      "arange",
                                      "iota",
                                      "select",
                                      "unbind",
                                      "fused",
                                      "convert_element_type",
                                      "broadcast_in_dim",
                                      "collapse_view",
                                      "getitem",
                                      "functional",
                                      "forward",
                                      "default",
                                      "wait_tensor"};

int fsim_op_common(const fsim_op_set *x, const fsim_op_set *y)
{
    int n = 0;
    for (int i = 0; i < FSIM_OP_WORDS; i++)
        n += __builtin_popcountll(x->word[i] & y->word[i]);
    return n;
}

static bool is_name(const char *at, size_t bytes, const char *name)
{
    return strlen(name) == bytes && strncmp(at, name, bytes) == 0;
}

/* What ATen's operator name[0, bytes) may be. False where it is none that is known. */
static bool add_operator(fsim_op_set *ops, const char *name, size_t bytes)
{
    char plain[64];
    while (bytes > 0 && name[0] == '_') {
        name++;
        bytes--;
    }
    while (bytes > 0 && name[bytes - 1] == '_')
        bytes--;
    bool known = false;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (is_name(name, bytes, operators[i].name)) {
            fsim_op_add(ops, operators[i].op);
            known = true;
        }
    fsim_op op;
    if (bytes > 0 && bytes < sizeof plain) {
        memcpy(plain, name, bytes);
        plain[bytes] = '\0';
        if (fsim_op_parse(plain, &op)) {
            fsim_op_add(ops, op);
            known = true;
        }
    }
    for (size_t i = 0; i < sizeof makers / sizeof *makers && !known; i++) {
        const size_t skip = strlen(makers[i]);
        if (bytes > skip && strncmp(name, makers[i], skip) == 0)
            known = add_operator(ops, name + skip, bytes - skip);
    }
    return known;
}

/* The operators that Inductor's "add_native_layer_norm_0" lists, the longest names first: they hold underscores
 * themselves. Returns how many that do work. */
static int add_fused(fsim_op_set *ops, const char *list)
{
    int fused = 0;
    for (const char *at = list; *at;) {
        at += strspn(at, "_");
        size_t take = strcspn(at, "_");
        bool known = false;
        for (size_t end = strlen(at); end > 0 && !known; end--) {
            if (at[end] != '\0' && at[end] != '_')
                continue;
            bool idle = false;
            for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
                idle = idle || is_name(at, end, nothing[i]);
            known = idle || add_operator(ops, at, end);
            fused += known && !idle;
            take = known ? end : take;
        }
        at += take;
    }
    return fused;
}

static const struct {
    const char *prefix;
    unsigned kinds;
} generated[] = {{"triton_poi_fused", POINT},
                 {"triton_red_fused", REDUCE},
                 {"triton_per_fused", REDUCE},
                 {"triton_tem_fused", GEMM},
                 {"triton_for_fused", POINT | REDUCE},
                 {"triton_split_scan_fused", SCAN},
                 {"triton_mm", GEMM},
                 {"triton_bmm", GEMM}};

static bool says_fused(const char *kernel, fsim_says *out)
{
    for (size_t i = 0; i < sizeof generated / sizeof *generated; i++)
        if (strncmp(kernel, generated[i].prefix, strlen(generated[i].prefix)) == 0) {
            out->kinds = generated[i].kinds;
            out->fused = add_fused(&out->ops, kernel + strlen(generated[i].prefix));
            return true;
        }
    return false;
}

/* Functors of ATen are arguments of its templates, which only its own kernels have. */
static void add_functors(fsim_op_set *ops, const char *kernel)
{
    for (size_t i = 0; i < sizeof functors / sizeof *functors; i++)
        if (strcasestr(kernel, functors[i].part))
            fsim_op_add(ops, functors[i].op);
}

fsim_says fsim_kernel_says(const char *kernel, const char *operator)
{
    fsim_says s = {0};
    if (says_fused(kernel, &s))
        return s;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels && s.kinds == 0; i++)
        if (strcasestr(kernel, kernels[i].part)) {
            s.kinds = kernels[i].kinds;
            s.helps = kernels[i].helps;
        }
    const char *colons = operator? strstr(operator, "::") : NULL;
    if (!(colons && add_operator(&s.ops, colons + 2, strlen(colons + 2))) && !(s.kinds & (GEMM | CONV | ATTENTION)))
        add_functors(&s.ops, kernel);
    return s;
}

/* The functor of one of ATen's generic kernels, from its template's arguments; NULL where there is none. *bytes is its
 * length. */
static const char *functor_of(const char *arguments, size_t *bytes)
{
    static const char scope[] = "at::native::", hidden[] = "(anonymous namespace)::";
    static const char *const wrappers[] = {"gpu_kernel_impl",
                                           "gpu_kernel_impl_nocast",
                                           "AUnaryFunctor",
                                           "BUnaryFunctor",
                                           "BinaryFunctor",
                                           "binary_internal",
                                           "ReduceOp",
                                           "func_wrapper_t",
                                           "detail",
                                           "memory",
                                           "reduce_kernel",
                                           "opmath_symmetric_gpu_kernel_with_scalars",
                                           "elementwise_kernel_helper"};
    for (const char *at = arguments; (at = strstr(at, scope)) != NULL;) {
        at += sizeof scope - 1;
        at += strncmp(at, hidden, sizeof hidden - 1) == 0 ? sizeof hidden - 1 : 0;
        size_t n = 0;
        while (isalnum((unsigned char)at[n]) || at[n] == '_')
            n++;
        bool wraps = n == 0;
        for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
            wraps = wraps || is_name(at, n, wrappers[i]);
        if (!wraps) {
            *bytes = n;
            return at;
        }
        if (strncmp(at, "binary_internal::", 17) == 0) {
            at += 17;
            for (n = 0; isalnum((unsigned char)at[n]) || at[n] == '_'; n++)
                ;
            *bytes = n;
            return n ? at : NULL;
        }
    }
    return NULL;
}

char *fsim_kernel_short(fsim_arena *a, const char *kernel)
{
    static const char hidden[] = "(anonymous namespace)::"; /* its bracket is no argument list */
    const char *from = strncmp(kernel, "void ", 5) == 0 ? kernel + 5 : kernel, *end = from;
    while (*end && *end != '<') {
        const bool scope = strncmp(end, "::", 2) == 0, nameless = strncmp(end, hidden, sizeof hidden - 1) == 0;
        if (*end == '(' && !nameless)
            break;
        end += nameless ? sizeof hidden - 1 : scope ? 2 : 1;
        from = nameless || scope ? end : from;
    }
    static const char *const launchers[] = {"Kernel", "Kernel2",
                                            "device_kernel"}; /* CUTLASS's: what they run is their argument */
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (*end == '<' && is_name(from, (size_t)(end - from), launchers[i]) && end[1 + strcspn(end + 1, "<>(),")])
            return fsim_kernel_short(a, fsim_strndup(a, end + 1, strcspn(end + 1, "<>(),")));
    size_t bytes = 0;
    const bool generic =
        strncmp(end, "<", 1) == 0 && (strstr(kernel, "elementwise_kernel<") || strstr(kernel, "::reduce_kernel<"));
    const char *functor = generic ? functor_of(end, &bytes) : NULL;
    if (functor)
        return fsim_printf(a, "%.*s<%.*s>", (int)(end - from), from, (int)bytes, functor);
    return end > from ? fsim_strndup(a, from, (size_t)(end - from)) : fsim_strdup(a, kernel);
}
