/* SPDX-License-Identifier: Apache-2.0 */
/* abi.h: what we call of the CUDA driver, NVRTC, CUPTI, cuBLAS, cuBLASLt and NVML. Declared here, so that the build
 * needs neither their headers nor their libraries. tests/abi_check.c compares every size, offset and enumerator with
 * the real headers (CUDA 13.0) where they are installed.
 *
 * The libraries are opened at run time (library.h). All entry points are listed at the end. */
#ifndef FUSESIM_VALIDATE_CUDA_ABI_H
#define FUSESIM_VALIDATE_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Driver. */

typedef int fsim_cu_device;
typedef uint64_t fsim_cu_pointer; /* CUdeviceptr */
typedef struct CUctx_st *fsim_cu_context;
typedef struct CUmod_st *fsim_cu_module;
typedef struct CUfunc_st *fsim_cu_function;
typedef struct CUstream_st *fsim_cu_stream;
typedef struct CUevent_st *fsim_cu_event;
typedef struct CUgraph_st *fsim_cu_graph;
typedef struct CUgraphExec_st *fsim_cu_graph_exec;
typedef struct {
    unsigned char byte[16];
} fsim_cu_uuid;

enum { /* CUresult */
       FSIM_CU_OUT_OF_MEMORY = 2,
       FSIM_CU_STUB_LIBRARY = 34,
       FSIM_CU_DEVICE_UNAVAILABLE = 46,
       FSIM_CU_NO_DEVICE = 100,
       FSIM_CU_INVALID_IMAGE = 200,
       FSIM_CU_NO_BINARY_FOR_GPU = 209,
       FSIM_CU_NOT_READY = 600,
       FSIM_CU_LAUNCH_OUT_OF_RESOURCES = 701,
       FSIM_CU_LAUNCH_TIMEOUT = 702,
       FSIM_CU_SYSTEM_DRIVER_MISMATCH = 803
};
enum { /* CUdevice_attribute */
       FSIM_CU_THREADS_PER_BLOCK = 1,
       FSIM_CU_WARP_SIZE = 10,
       FSIM_CU_CLOCK_KHZ = 13,
       FSIM_CU_SMS = 16,
       FSIM_CU_MEMORY_CLOCK_KHZ = 36,
       FSIM_CU_MEMORY_BUS_BITS = 37,
       FSIM_CU_L2_BYTES = 38,
       FSIM_CU_THREADS_PER_SM = 39,
       FSIM_CU_CAPABILITY_MAJOR = 75,
       FSIM_CU_CAPABILITY_MINOR = 76,
       FSIM_CU_SHARED_BYTES_PER_SM = 81,
       FSIM_CU_REGISTERS_PER_SM = 82,
       FSIM_CU_SHARED_BYTES_PER_BLOCK_OPTIN = 97,
       FSIM_CU_BLOCKS_PER_SM = 106
};
enum { /* CUfunction_attribute */
       FSIM_CU_FUNC_STATIC_SHARED_BYTES = 1,
       FSIM_CU_FUNC_LOCAL_BYTES = 3, /* per thread */
       FSIM_CU_FUNC_REGISTERS = 4,
       FSIM_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES = 8
};
enum { FSIM_CU_STREAM_DEFAULT = 0, FSIM_CU_EVENT_DEFAULT = 0, FSIM_CU_CAPTURE_THREAD_LOCAL = 1 };

/* NVRTC. */

typedef struct _nvrtcProgram *fsim_nvrtc_program;
enum { FSIM_NVRTC_INVALID_OPTION = 5, FSIM_NVRTC_COMPILATION = 6, FSIM_NVRTC_BUILTIN_FAILURE = 7 }; /* nvrtcResult */

/* CUPTI. */

enum {                                    /* CUptiResult */
       FSIM_CUPTI_MAX_LIMIT_REACHED = 12, /* also: the buffer has no more records */
       FSIM_CUPTI_INVALID_METRIC_NAME = 17,
       FSIM_CUPTI_HARDWARE_BUSY = 26,
       FSIM_CUPTI_NOT_SUPPORTED = 27,
       FSIM_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
       FSIM_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
       FSIM_CUPTI_VIRTUAL_INSUFFICIENT_PRIVILEGES = 40,
       FSIM_CUPTI_INVALID_CHIP_NAME = 46
};
enum { FSIM_ACTIVITY_KERNEL = 3, FSIM_ACTIVITY_CONCURRENT_KERNEL = 10, FSIM_ACTIVITY_FLUSH_FORCED = 1 };

/* The beginning that CUpti_ActivityKernel4 to 10 (CUPTI 9 to 13) share; records are longer. */
typedef struct {
    int32_t kind; /* FSIM_ACTIVITY_* */
    uint8_t cache_config, shared_config;
    uint16_t registers; /* per thread */
    int32_t cache_requested, cache_executed;
    uint64_t start_ns, end_ns, completed_ns; /* 0: unknown */
    uint32_t device, context, stream;
    int32_t grid_x, grid_y, grid_z, block_x, block_y, block_z;
    int32_t static_shared_bytes, dynamic_shared_bytes;
    uint32_t local_bytes_per_thread, local_bytes, correlation;
    int64_t grid_id;
    const char *name;
} fsim_activity_kernel;

typedef void (*fsim_activity_request)(uint8_t **buffer, size_t *bytes, size_t *max_records);
typedef void (*fsim_activity_complete)(fsim_cu_context context, uint32_t stream, uint8_t *buffer, size_t bytes,
                                       size_t valid_bytes);

/* Parameter structs begin with their own size: not sizeof, but up to the end of the last member that we know,
 * without padding. */
#define FSIM_CUPTI_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)NULL)->last))
#define FSIM_CUPTI_PARAMS(type, last)                                                                                  \
    (type) { .size = FSIM_CUPTI_SIZE(type, last) }

typedef struct {
    size_t size;
    void *priv;
} fsim_profiler_initialize; /* and DeInitialize; last: priv */

typedef struct {
    size_t size;
    void *priv;
    int device;
    int supported, architecture, sli, vgpu, confidential_compute, cmp, wsl; /* FSIM_PROFILER_SUPPORTED */
    int api;                                                                /* 0: range profiling */
} fsim_profiler_device_supported;                                           /* last: api */
enum {
    FSIM_PROFILER_UNSUPPORTED = 1,
    FSIM_PROFILER_DISABLED = 2,
    FSIM_PROFILER_SUPPORTED = 3,
    FSIM_PROFILER_API_RANGE = 0
};

typedef struct {
    size_t size;
    void *priv;
    size_t device;
    const char *chip;    /* "GH100" */
} fsim_device_chip_name; /* last: chip */

typedef struct {
    size_t size;
    void *priv;
    fsim_cu_context context;
    size_t image_bytes;
    uint8_t *image;          /* NULL: asks for image_bytes */
} fsim_counter_availability; /* last: image */

typedef struct {
    size_t size;
    void *priv;
    int type; /* 0: range profiler */
    const char *chip;
    const uint8_t *availability;
    void *host;
} fsim_host_initialize; /* last: host */

typedef struct {
    size_t size;
    void *priv;
    void *host;
} fsim_host_deinitialize; /* last: host */

typedef struct {
    size_t size;
    void *priv;
    void *host;
    const char *metric, *description, *hardware_unit, *dimension;
    int type;
} fsim_host_metric_properties; /* last: type */

typedef struct {
    size_t size;
    void *priv;
    void *host;
    const char **metric;
    size_t metrics;
} fsim_host_add_metrics; /* last: metrics */

typedef struct {
    size_t size;
    void *priv;
    void *host;
    size_t config_bytes;
} fsim_host_config_size; /* last: config_bytes */

typedef struct {
    size_t size;
    void *priv;
    void *host;
    size_t config_bytes;
    uint8_t *config;
} fsim_host_config; /* last: config */

typedef struct {
    size_t size;
    void *priv;
    size_t config_bytes;
    uint8_t *config;
    size_t passes;
} fsim_host_passes; /* last: passes */

typedef struct {
    size_t size;
    void *priv;
    void *host;
    const uint8_t *data;
    size_t data_bytes, range;
    const char **metric;
    size_t metrics;
    double *value;
} fsim_host_evaluate; /* last: value */

typedef struct {
    size_t size;
    void *priv;
    fsim_cu_context context;
    void *profiler;
} fsim_range_enable; /* last: profiler */

typedef struct {
    size_t size;
    void *priv;
    void *profiler;
} fsim_range_object; /* Disable, Start, PopRange; last: profiler */

typedef struct {
    size_t size;
    void *priv;
    void *profiler;
    const char **metric;
    size_t metrics, max_ranges;
    uint32_t max_tree_nodes;
    size_t data_bytes;
} fsim_range_data_size; /* last: data_bytes */

typedef struct {
    size_t size;
    void *priv;
    void *profiler;
    size_t data_bytes;
    uint8_t *data;
} fsim_range_data_initialize; /* last: data */

typedef struct {
    size_t size;
    void *priv;
    void *profiler;
    size_t config_bytes;
    const uint8_t *config;
    size_t data_bytes;
    uint8_t *data;
    int range, replay; /* FSIM_RANGE_*, FSIM_REPLAY_* */
    size_t max_ranges_per_pass;
    uint16_t nesting_levels, min_nesting_level;
    size_t pass;
    uint16_t target_nesting_level;
} fsim_range_config; /* last: target_nesting_level */
enum {
    FSIM_RANGE_AUTO = 1,
    FSIM_RANGE_USER = 2,
    FSIM_REPLAY_APPLICATION = 1,
    FSIM_REPLAY_KERNEL = 2,
    FSIM_REPLAY_USER = 3
};

typedef struct {
    size_t size;
    void *priv;
    void *profiler;
    size_t pass, target_nesting_level;
    uint8_t all_passes_submitted;
} fsim_range_stop; /* last: all_passes_submitted */

typedef struct {
    size_t size;
    void *priv;
    void *profiler;
    const char *name;
} fsim_range_push; /* last: name */

typedef struct {
    size_t size;
    void *priv;
    void *profiler;
    size_t dropped;
} fsim_range_decode; /* last: dropped */

typedef struct {
    size_t size;
    void *priv;
    const uint8_t *data;
    size_t data_bytes, ranges;
} fsim_range_data_info; /* last: ranges */

/* cuBLAS. */

typedef struct cublasContext *fsim_cublas_handle;
enum { FSIM_CUBLAS_OP_N = 0, FSIM_CUBLAS_OP_T = 1, FSIM_CUBLAS_GEMM_DEFAULT = -1 };
enum { FSIM_CUDA_R_32F = 0, FSIM_CUDA_R_64F = 1, FSIM_CUDA_R_16F = 2, FSIM_CUDA_R_16BF = 14 };
enum { FSIM_CUBLAS_32F = 68, FSIM_CUBLAS_64F = 70, FSIM_CUBLAS_32F_FAST_TF32 = 77 };

/* cuBLASLt. */

typedef struct cublasLtContext *fsim_lt_handle;
typedef struct fsim_lt_layout_of
    *fsim_lt_layout; /* cublasLtMatrixLayout_t; only the library creates, destroys and reads these three */
typedef struct fsim_lt_product_of *fsim_lt_product;       /* cublasLtMatmulDesc_t */
typedef struct fsim_lt_preference_of *fsim_lt_preference; /* cublasLtMatmulPreference_t */
typedef struct {
    uint64_t data[8];
} fsim_lt_algorithm;
typedef struct {
    fsim_lt_algorithm algorithm;
    size_t workspace_bytes; /* that it needs */
    int status;             /* 0: the other fields are set */
    float waves;
    int reserved[4];
} fsim_lt_heuristic;
enum { FSIM_LT_LAYOUT_BATCH = 5 /* int32 */, FSIM_LT_LAYOUT_STRIDE = 6 /* int64, elements */ };
enum { /* of a product */
       FSIM_LT_OP_A = 3 /* int32 */,
       FSIM_LT_OP_B = 4,
       FSIM_LT_EPILOGUE = 7 /* uint32 */,
       FSIM_LT_BIAS = 8 /* pointer */,
       FSIM_LT_BIAS_STRIDE = 10 /* int64, elements */,
       FSIM_LT_AUX = 11 /* pointer */,
       FSIM_LT_AUX_LEADING = 12 /* int64, elements; bits of a mask */,
       FSIM_LT_AUX_STRIDE = 13 /* the same, from one matrix to the next */,
       FSIM_LT_BIAS_TYPE = 26 /* int32 */
};
enum {
    FSIM_LT_EPILOGUE_NONE = 1,
    FSIM_LT_EPILOGUE_RELU = 2,
    FSIM_LT_EPILOGUE_BIAS = 4,
    FSIM_LT_EPILOGUE_RELU_SLOPE = 8,
    FSIM_LT_EPILOGUE_SUMS = 16, /* of columns, behind a slope: to FSIM_LT_BIAS */
    FSIM_LT_EPILOGUE_GELU = 32,
    FSIM_LT_EPILOGUE_GELU_SLOPE = 64,
    FSIM_LT_EPILOGUE_AUX = 128
}; /* bits, except for NONE */
enum {
    FSIM_LT_WORKSPACE_MOST = 1 /* uint64, bytes */,
    FSIM_LT_ALIGNMENT_A = 5 /* uint32, bytes; B, C, D follow */,
    FSIM_LT_ALIGNMENT_D = 8
};

/* NVML, the driver's library of sensors. */

typedef struct nvmlDevice_st *fsim_nvml_device;
enum { FSIM_NVML_TEMPERATURE_GPU = 0, FSIM_NVML_CLOCK_SM = 1, FSIM_NVML_CLOCK_MEMORY = 2 };
enum { /* why clocks are what they are: a set of bits */
       FSIM_NVML_IDLE = 0x1,
       FSIM_NVML_APPLICATION_CLOCKS = 0x2,
       FSIM_NVML_POWER_CAP = 0x4,
       FSIM_NVML_HARDWARE_SLOWDOWN = 0x8,
       FSIM_NVML_SYNC_BOOST = 0x10,
       FSIM_NVML_THERMAL_SOFTWARE = 0x20,
       FSIM_NVML_THERMAL_HARDWARE = 0x40,
       FSIM_NVML_POWER_BRAKE = 0x80,
       FSIM_NVML_DISPLAY_CLOCKS = 0x100
};

/* The entry points. X(result, name, parameters): required; O(result, name, parameters): used where the library has
 * it. */

#define FSIM_CUDA_ENTRIES(X, O)                                                                                        \
    X(int, cuInit, (unsigned flags))                                                                                   \
    X(int, cuDriverGetVersion, (int *version))                                                                         \
    X(int, cuDeviceGetCount, (int *count))                                                                             \
    X(int, cuDeviceGet, (fsim_cu_device * device, int ordinal))                                                        \
    X(int, cuDeviceGetName, (char *name, int bytes, fsim_cu_device device))                                            \
    X(int, cuDeviceGetAttribute, (int *value, int attribute, fsim_cu_device device))                                   \
    O(int, cuDeviceGetUuid, (fsim_cu_uuid * uuid, fsim_cu_device device))                                              \
    X(int, cuDevicePrimaryCtxRetain, (fsim_cu_context * context, fsim_cu_device device))                               \
    X(int, cuDevicePrimaryCtxRelease_v2, (fsim_cu_device device))                                                      \
    X(int, cuCtxSetCurrent, (fsim_cu_context context))                                                                 \
    O(int, cuCtxResetPersistingL2Cache, (void))                                                                        \
    X(int, cuMemGetInfo_v2, (size_t * free_bytes, size_t * total_bytes))                                               \
    X(int, cuMemAlloc_v2, (fsim_cu_pointer * pointer, size_t bytes))                                                   \
    X(int, cuMemFree_v2, (fsim_cu_pointer pointer))                                                                    \
    X(int, cuMemcpyHtoD_v2, (fsim_cu_pointer to, const void *from, size_t bytes))                                      \
    X(int, cuMemcpyDtoH_v2, (void *to, fsim_cu_pointer from, size_t bytes))                                            \
    X(int, cuMemsetD32Async, (fsim_cu_pointer to, unsigned value, size_t words, fsim_cu_stream stream))                \
    X(int, cuModuleLoadDataEx,                                                                                         \
      (fsim_cu_module * module, const void *image, unsigned options, int *option, void **value))                       \
    X(int, cuModuleUnload, (fsim_cu_module module))                                                                    \
    X(int, cuModuleGetFunction, (fsim_cu_function * function, fsim_cu_module module, const char *name))                \
    X(int, cuFuncGetAttribute, (int *value, int attribute, fsim_cu_function function))                                 \
    X(int, cuFuncSetAttribute, (fsim_cu_function function, int attribute, int value))                                  \
    X(int, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                                \
      (int *blocks, fsim_cu_function function, int threads, size_t dynamic_shared_bytes))                              \
    X(int, cuLaunchKernel,                                                                                             \
      (fsim_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,                 \
       unsigned block_y, unsigned block_z, unsigned dynamic_shared_bytes, fsim_cu_stream stream, void **parameter,     \
       void **extra))                                                                                                  \
    X(int, cuStreamCreate, (fsim_cu_stream * stream, unsigned flags))                                                  \
    X(int, cuStreamDestroy_v2, (fsim_cu_stream stream))                                                                \
    X(int, cuStreamQuery, (fsim_cu_stream stream))                                                                     \
    X(int, cuStreamSynchronize, (fsim_cu_stream stream))                                                               \
    X(int, cuStreamBeginCapture_v2, (fsim_cu_stream stream, int mode))                                                 \
    X(int, cuStreamEndCapture, (fsim_cu_stream stream, fsim_cu_graph * graph))                                         \
    X(int, cuGraphInstantiateWithFlags, (fsim_cu_graph_exec * exec, fsim_cu_graph graph, unsigned long long flags))    \
    X(int, cuGraphLaunch, (fsim_cu_graph_exec exec, fsim_cu_stream stream))                                            \
    X(int, cuGraphExecDestroy, (fsim_cu_graph_exec exec))                                                              \
    X(int, cuGraphDestroy, (fsim_cu_graph graph))                                                                      \
    X(int, cuEventCreate, (fsim_cu_event * event, unsigned flags))                                                     \
    X(int, cuEventDestroy_v2, (fsim_cu_event event))                                                                   \
    X(int, cuEventRecord, (fsim_cu_event event, fsim_cu_stream stream))                                                \
    X(int, cuEventElapsedTime, (float *ms, fsim_cu_event from, fsim_cu_event to))                                      \
    X(int, cuGetErrorName, (int result, const char **name))                                                            \
    X(int, cuGetErrorString, (int result, const char **text))

#define FSIM_NVRTC_ENTRIES(X, O)                                                                                       \
    X(int, nvrtcVersion, (int *major, int *minor))                                                                     \
    X(const char *, nvrtcGetErrorString, (int result))                                                                 \
    X(int, nvrtcGetNumSupportedArchs, (int *count))                                                                    \
    X(int, nvrtcGetSupportedArchs, (int *arch))                                                                        \
    X(int, nvrtcCreateProgram,                                                                                         \
      (fsim_nvrtc_program * program, const char *source, const char *name, int headers, const char *const *header,     \
       const char *const *header_name))                                                                                \
    X(int, nvrtcDestroyProgram, (fsim_nvrtc_program * program))                                                        \
    X(int, nvrtcCompileProgram, (fsim_nvrtc_program program, int options, const char *const *option))                  \
    X(int, nvrtcGetProgramLogSize, (fsim_nvrtc_program program, size_t * bytes))                                       \
    X(int, nvrtcGetProgramLog, (fsim_nvrtc_program program, char *log))                                                \
    X(int, nvrtcGetCUBINSize, (fsim_nvrtc_program program, size_t * bytes))                                            \
    X(int, nvrtcGetCUBIN, (fsim_nvrtc_program program, char *cubin))

/* What came with CUPTI 12.6 is optional: without it there are times but no counters. */
#define FSIM_CUPTI_ENTRIES(X, O)                                                                                       \
    X(int, cuptiGetVersion, (uint32_t * version))                                                                      \
    X(int, cuptiGetResultString, (int result, const char **text))                                                      \
    X(int, cuptiActivityEnable, (int kind))                                                                            \
    X(int, cuptiActivityDisable, (int kind))                                                                           \
    X(int, cuptiActivityRegisterCallbacks, (fsim_activity_request request, fsim_activity_complete complete))           \
    X(int, cuptiActivityFlushAll, (uint32_t flags))                                                                    \
    X(int, cuptiActivityGetNextRecord, (uint8_t * buffer, size_t valid_bytes, void **record))                          \
    X(int, cuptiActivityGetNumDroppedRecords, (fsim_cu_context context, uint32_t stream, size_t * dropped))            \
    O(int, cuptiProfilerInitialize, (fsim_profiler_initialize *))                                                      \
    O(int, cuptiProfilerDeInitialize, (fsim_profiler_initialize *))                                                    \
    O(int, cuptiProfilerDeviceSupported, (fsim_profiler_device_supported *))                                           \
    O(int, cuptiDeviceGetChipName, (fsim_device_chip_name *))                                                          \
    O(int, cuptiProfilerGetCounterAvailability, (fsim_counter_availability *))                                         \
    O(int, cuptiProfilerHostInitialize, (fsim_host_initialize *))                                                      \
    O(int, cuptiProfilerHostDeinitialize, (fsim_host_deinitialize *))                                                  \
    O(int, cuptiProfilerHostGetMetricProperties, (fsim_host_metric_properties *))                                      \
    O(int, cuptiProfilerHostConfigAddMetrics, (fsim_host_add_metrics *))                                               \
    O(int, cuptiProfilerHostGetConfigImageSize, (fsim_host_config_size *))                                             \
    O(int, cuptiProfilerHostGetConfigImage, (fsim_host_config *))                                                      \
    O(int, cuptiProfilerHostGetNumOfPasses, (fsim_host_passes *))                                                      \
    O(int, cuptiProfilerHostEvaluateToGpuValues, (fsim_host_evaluate *))                                               \
    O(int, cuptiRangeProfilerEnable, (fsim_range_enable *))                                                            \
    O(int, cuptiRangeProfilerDisable, (fsim_range_object *))                                                           \
    O(int, cuptiRangeProfilerStart, (fsim_range_object *))                                                             \
    O(int, cuptiRangeProfilerStop, (fsim_range_stop *))                                                                \
    O(int, cuptiRangeProfilerPushRange, (fsim_range_push *))                                                           \
    O(int, cuptiRangeProfilerPopRange, (fsim_range_object *))                                                          \
    O(int, cuptiRangeProfilerSetConfig, (fsim_range_config *))                                                         \
    O(int, cuptiRangeProfilerGetCounterDataSize, (fsim_range_data_size *))                                             \
    O(int, cuptiRangeProfilerCounterDataImageInitialize, (fsim_range_data_initialize *))                               \
    O(int, cuptiRangeProfilerDecodeData, (fsim_range_decode *))                                                        \
    O(int, cuptiRangeProfilerGetCounterDataInfo, (fsim_range_data_info *))

#define FSIM_CUBLAS_ENTRIES(X, O)                                                                                      \
    X(int, cublasCreate_v2, (fsim_cublas_handle * handle))                                                             \
    X(int, cublasDestroy_v2, (fsim_cublas_handle handle))                                                              \
    X(int, cublasSetStream_v2, (fsim_cublas_handle handle, fsim_cu_stream stream))                                     \
    X(int, cublasSetWorkspace_v2, (fsim_cublas_handle handle, void *workspace, size_t bytes))                          \
    O(const char *, cublasGetStatusString, (int status))                                                               \
    X(int, cublasGemmEx,                                                                                               \
      (fsim_cublas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,           \
       int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c, int c_type, int ldc,        \
       int compute, int algorithm))                                                                                    \
    X(int, cublasGemmStridedBatchedEx,                                                                                 \
      (fsim_cublas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,           \
       int a_type, int lda, long long stride_a, const void *b, int b_type, int ldb, long long stride_b,                \
       const void *beta, void *c, int c_type, int ldc, long long stride_c, int batch, int compute, int algorithm))

#define FSIM_CUBLASLT_ENTRIES(X, O)                                                                                    \
    X(int, cublasLtCreate, (fsim_lt_handle * handle))                                                                  \
    X(int, cublasLtDestroy, (fsim_lt_handle handle))                                                                   \
    O(const char *, cublasLtGetStatusString, (int status))                                                             \
    X(int, cublasLtMatrixLayoutCreate,                                                                                 \
      (fsim_lt_layout * layout, int type, uint64_t rows, uint64_t columns, int64_t leading))                           \
    X(int, cublasLtMatrixLayoutDestroy, (fsim_lt_layout layout))                                                       \
    X(int, cublasLtMatrixLayoutSetAttribute, (fsim_lt_layout layout, int attribute, const void *value, size_t bytes))  \
    X(int, cublasLtMatmulDescCreate, (fsim_lt_product * product, int compute, int scale_type))                         \
    X(int, cublasLtMatmulDescDestroy, (fsim_lt_product product))                                                       \
    X(int, cublasLtMatmulDescSetAttribute, (fsim_lt_product product, int attribute, const void *value, size_t bytes))  \
    X(int, cublasLtMatmulPreferenceCreate, (fsim_lt_preference * preference))                                          \
    X(int, cublasLtMatmulPreferenceDestroy, (fsim_lt_preference preference))                                           \
    X(int, cublasLtMatmulPreferenceSetAttribute,                                                                       \
      (fsim_lt_preference preference, int attribute, const void *value, size_t bytes))                                 \
    X(int, cublasLtMatmulAlgoGetHeuristic,                                                                             \
      (fsim_lt_handle handle, fsim_lt_product product, fsim_lt_layout a, fsim_lt_layout b, fsim_lt_layout c,           \
       fsim_lt_layout d, fsim_lt_preference preference, int room, fsim_lt_heuristic *found, int *count))               \
    X(int, cublasLtMatmul,                                                                                             \
      (fsim_lt_handle handle, fsim_lt_product product, const void *alpha, const void *a, fsim_lt_layout a_layout,      \
       const void *b, fsim_lt_layout b_layout, const void *beta, const void *c, fsim_lt_layout c_layout, void *d,      \
       fsim_lt_layout d_layout, const fsim_lt_algorithm *algorithm, void *workspace, size_t workspace_bytes,           \
       fsim_cu_stream stream))

#define FSIM_NVML_ENTRIES(X, O)                                                                                        \
    X(int, nvmlInit_v2, (void))                                                                                        \
    O(int, nvmlShutdown, (void))                                                                                       \
    O(int, nvmlDeviceGetHandleByUUID, (const char *uuid, fsim_nvml_device *device))                                    \
    O(int, nvmlDeviceGetHandleByIndex_v2, (unsigned index, fsim_nvml_device *device))                                  \
    O(int, nvmlSystemGetDriverVersion, (char *version, unsigned bytes))                                                \
    O(int, nvmlDeviceGetPowerUsage, (fsim_nvml_device device, unsigned *mw))                                           \
    O(int, nvmlDeviceGetEnforcedPowerLimit, (fsim_nvml_device device, unsigned *mw))                                   \
    O(int, nvmlDeviceGetClockInfo, (fsim_nvml_device device, int which, unsigned *mhz))                                \
    O(int, nvmlDeviceGetTemperature, (fsim_nvml_device device, int which, unsigned *celsius))                          \
    O(int, nvmlDeviceGetCurrentClocksEventReasons, (fsim_nvml_device device, unsigned long long *reasons))             \
    O(int, nvmlDeviceGetCurrentClocksThrottleReasons,                                                                  \
      (fsim_nvml_device device, unsigned long long *reasons)) /* its older name */

/* A table of a library's entry points: struct { int (*cuInit)(unsigned flags); ... }. */
#define FSIM_ENTRY_MEMBER(result, name, parameters) result(*name) parameters;
typedef struct {
    FSIM_CUDA_ENTRIES(FSIM_ENTRY_MEMBER, FSIM_ENTRY_MEMBER)
} fsim_cuda_entries;
typedef struct {
    FSIM_NVRTC_ENTRIES(FSIM_ENTRY_MEMBER, FSIM_ENTRY_MEMBER)
} fsim_nvrtc_entries;
typedef struct {
    FSIM_CUPTI_ENTRIES(FSIM_ENTRY_MEMBER, FSIM_ENTRY_MEMBER)
} fsim_cupti_entries;
typedef struct {
    FSIM_CUBLAS_ENTRIES(FSIM_ENTRY_MEMBER, FSIM_ENTRY_MEMBER)
} fsim_cublas_entries;
typedef struct {
    FSIM_CUBLASLT_ENTRIES(FSIM_ENTRY_MEMBER, FSIM_ENTRY_MEMBER)
} fsim_cublaslt_entries;
typedef struct {
    FSIM_NVML_ENTRIES(FSIM_ENTRY_MEMBER, FSIM_ENTRY_MEMBER)
} fsim_nvml_entries;

#endif
