/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling this is the test: every size, offset and enumerator of validate/cuda/abi.h is that of CUDA's own headers.
 * tests/shim stands before them in the include path: cupti_profiler_host.h includes C++'s <string>, which is an empty
 * file there. */
#include "validate/cuda/abi.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <library_types.h>
#include <nvrtc.h>

#if CUPTI_API_VERSION >= 130000 /* older headers lack some of the names */
#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #ours " is " #theirs)
#define MEMBER(type, member, real, name)                                                                               \
    _Static_assert(offsetof(type, member) == offsetof(real, name) &&                                                   \
                       sizeof(((type *)0)->member) == sizeof(((real *)0)->name),                                       \
                   #type "." #member " is " #real "." #name)
/* Later versions append members, and know shorter structs by their size. */
#define PARAMS(type, last, real)                                                                                       \
    _Static_assert(FSIM_CUPTI_SIZE(type, last) == real##_STRUCT_SIZE ||                                                \
                       (CUPTI_API_VERSION >= 130100 && FSIM_CUPTI_SIZE(type, last) < real##_STRUCT_SIZE),              \
                   #type " is " #real)

SAME(sizeof(fsim_cu_device), sizeof(CUdevice));
SAME(sizeof(fsim_cu_pointer), sizeof(CUdeviceptr));
SAME(sizeof(fsim_cu_uuid), sizeof(CUuuid));
SAME(FSIM_CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(FSIM_CU_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
SAME(FSIM_CU_DEVICE_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(FSIM_CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(FSIM_CU_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE);
SAME(FSIM_CU_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(FSIM_CU_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(FSIM_CU_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(FSIM_CU_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(FSIM_CU_SYSTEM_DRIVER_MISMATCH, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(FSIM_CU_CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(FSIM_CU_SMS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(FSIM_CU_MEMORY_CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(FSIM_CU_MEMORY_BUS_BITS, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(FSIM_CU_L2_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(FSIM_CU_THREADS_PER_SM, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME(FSIM_CU_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(FSIM_CU_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(FSIM_CU_SHARED_BYTES_PER_BLOCK_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(FSIM_CU_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(FSIM_CU_WARP_SIZE, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME(FSIM_CU_SHARED_BYTES_PER_SM, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME(FSIM_CU_REGISTERS_PER_SM, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME(FSIM_CU_BLOCKS_PER_SM, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
SAME(FSIM_CU_FUNC_STATIC_SHARED_BYTES, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(FSIM_CU_FUNC_LOCAL_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(FSIM_CU_FUNC_REGISTERS, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(FSIM_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(FSIM_CU_STREAM_DEFAULT, CU_STREAM_DEFAULT);
SAME(FSIM_CU_EVENT_DEFAULT, CU_EVENT_DEFAULT);
SAME(FSIM_CU_CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);

SAME(FSIM_NVRTC_INVALID_OPTION, NVRTC_ERROR_INVALID_OPTION);
SAME(FSIM_NVRTC_COMPILATION, NVRTC_ERROR_COMPILATION);
SAME(FSIM_NVRTC_BUILTIN_FAILURE, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE);

SAME(FSIM_CUPTI_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME(FSIM_CUPTI_INVALID_METRIC_NAME, CUPTI_ERROR_INVALID_METRIC_NAME);
SAME(FSIM_CUPTI_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
SAME(FSIM_CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
SAME(FSIM_CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME(FSIM_CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(FSIM_CUPTI_VIRTUAL_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
SAME(FSIM_CUPTI_INVALID_CHIP_NAME, CUPTI_ERROR_INVALID_CHIP_NAME);
SAME(FSIM_ACTIVITY_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
SAME(FSIM_ACTIVITY_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(FSIM_ACTIVITY_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

#define KERNEL(real)                                                                                                   \
    MEMBER(fsim_activity_kernel, kind, real, kind);                                                                    \
    MEMBER(fsim_activity_kernel, registers, real, registersPerThread);                                                 \
    MEMBER(fsim_activity_kernel, start_ns, real, start);                                                               \
    MEMBER(fsim_activity_kernel, end_ns, real, end);                                                                   \
    MEMBER(fsim_activity_kernel, completed_ns, real, completed);                                                       \
    MEMBER(fsim_activity_kernel, device, real, deviceId);                                                              \
    MEMBER(fsim_activity_kernel, stream, real, streamId);                                                              \
    MEMBER(fsim_activity_kernel, grid_x, real, gridX);                                                                 \
    MEMBER(fsim_activity_kernel, block_z, real, blockZ);                                                               \
    MEMBER(fsim_activity_kernel, static_shared_bytes, real, staticSharedMemory);                                       \
    MEMBER(fsim_activity_kernel, dynamic_shared_bytes, real, dynamicSharedMemory);                                     \
    MEMBER(fsim_activity_kernel, local_bytes_per_thread, real, localMemoryPerThread);                                  \
    MEMBER(fsim_activity_kernel, correlation, real, correlationId);                                                    \
    MEMBER(fsim_activity_kernel, grid_id, real, gridId);                                                               \
    MEMBER(fsim_activity_kernel, name, real, name)
KERNEL(CUpti_ActivityKernel4);
KERNEL(CUpti_ActivityKernel9);
KERNEL(CUpti_ActivityKernel10);

PARAMS(fsim_profiler_initialize, priv, CUpti_Profiler_Initialize_Params);
PARAMS(fsim_profiler_initialize, priv, CUpti_Profiler_DeInitialize_Params);
PARAMS(fsim_profiler_device_supported, api, CUpti_Profiler_DeviceSupported_Params);
MEMBER(fsim_profiler_device_supported, device, CUpti_Profiler_DeviceSupported_Params, cuDevice);
MEMBER(fsim_profiler_device_supported, supported, CUpti_Profiler_DeviceSupported_Params, isSupported);
MEMBER(fsim_profiler_device_supported, api, CUpti_Profiler_DeviceSupported_Params, api);
SAME(FSIM_PROFILER_UNSUPPORTED, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED);
SAME(FSIM_PROFILER_DISABLED, CUPTI_PROFILER_CONFIGURATION_DISABLED);
SAME(FSIM_PROFILER_SUPPORTED, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
SAME(FSIM_PROFILER_API_RANGE, CUPTI_PROFILER_RANGE_PROFILING);
SAME(0, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
PARAMS(fsim_device_chip_name, chip, CUpti_Device_GetChipName_Params);
PARAMS(fsim_counter_availability, image, CUpti_Profiler_GetCounterAvailability_Params);
MEMBER(fsim_counter_availability, image_bytes, CUpti_Profiler_GetCounterAvailability_Params,
       counterAvailabilityImageSize);
PARAMS(fsim_host_initialize, host, CUpti_Profiler_Host_Initialize_Params);
MEMBER(fsim_host_initialize, availability, CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
PARAMS(fsim_host_deinitialize, host, CUpti_Profiler_Host_Deinitialize_Params);
PARAMS(fsim_host_metric_properties, type, CUpti_Profiler_Host_GetMetricProperties_Params);
MEMBER(fsim_host_metric_properties, metric, CUpti_Profiler_Host_GetMetricProperties_Params, pMetricName);
PARAMS(fsim_host_add_metrics, metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params);
PARAMS(fsim_host_config_size, config_bytes, CUpti_Profiler_Host_GetConfigImageSize_Params);
PARAMS(fsim_host_config, config, CUpti_Profiler_Host_GetConfigImage_Params);
PARAMS(fsim_host_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params);
PARAMS(fsim_host_evaluate, value, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
MEMBER(fsim_host_evaluate, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
MEMBER(fsim_host_evaluate, metric, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
MEMBER(fsim_host_evaluate, value, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
PARAMS(fsim_range_enable, profiler, CUpti_RangeProfiler_Enable_Params);
PARAMS(fsim_range_object, profiler, CUpti_RangeProfiler_Disable_Params);
PARAMS(fsim_range_object, profiler, CUpti_RangeProfiler_Start_Params);
PARAMS(fsim_range_object, profiler, CUpti_RangeProfiler_PopRange_Params);
PARAMS(fsim_range_data_size, data_bytes, CUpti_RangeProfiler_GetCounterDataSize_Params);
MEMBER(fsim_range_data_size, max_tree_nodes, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumRangeTreeNodes);
PARAMS(fsim_range_data_initialize, data, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
PARAMS(fsim_range_config, target_nesting_level, CUpti_RangeProfiler_SetConfig_Params);
MEMBER(fsim_range_config, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
MEMBER(fsim_range_config, data, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
MEMBER(fsim_range_config, range, CUpti_RangeProfiler_SetConfig_Params, range);
MEMBER(fsim_range_config, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
MEMBER(fsim_range_config, max_ranges_per_pass, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
MEMBER(fsim_range_config, nesting_levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
MEMBER(fsim_range_config, min_nesting_level, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
MEMBER(fsim_range_config, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
PARAMS(fsim_range_stop, all_passes_submitted, CUpti_RangeProfiler_Stop_Params);
PARAMS(fsim_range_push, name, CUpti_RangeProfiler_PushRange_Params);
PARAMS(fsim_range_decode, dropped, CUpti_RangeProfiler_DecodeData_Params);
PARAMS(fsim_range_data_info, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params);
SAME(FSIM_RANGE_AUTO, CUPTI_AutoRange);
SAME(FSIM_RANGE_USER, CUPTI_UserRange);
SAME(FSIM_REPLAY_APPLICATION, CUPTI_ApplicationReplay);
SAME(FSIM_REPLAY_KERNEL, CUPTI_KernelReplay);
SAME(FSIM_REPLAY_USER, CUPTI_UserReplay);

SAME(FSIM_CUBLAS_OP_N, CUBLAS_OP_N);
SAME(FSIM_CUBLAS_OP_T, CUBLAS_OP_T);
SAME(FSIM_CUBLAS_GEMM_DEFAULT, CUBLAS_GEMM_DEFAULT);
SAME(FSIM_CUDA_R_32F, CUDA_R_32F);
SAME(FSIM_CUDA_R_64F, CUDA_R_64F);
SAME(FSIM_CUDA_R_16F, CUDA_R_16F);
SAME(FSIM_CUDA_R_16BF, CUDA_R_16BF);
SAME(FSIM_CUBLAS_32F, CUBLAS_COMPUTE_32F);
SAME(FSIM_CUBLAS_64F, CUBLAS_COMPUTE_64F);
SAME(FSIM_CUBLAS_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);

SAME(sizeof(fsim_lt_algorithm), sizeof(cublasLtMatmulAlgo_t));
SAME(sizeof(fsim_lt_heuristic), sizeof(cublasLtMatmulHeuristicResult_t));
MEMBER(fsim_lt_heuristic, algorithm, cublasLtMatmulHeuristicResult_t, algo);
MEMBER(fsim_lt_heuristic, workspace_bytes, cublasLtMatmulHeuristicResult_t, workspaceSize);
MEMBER(fsim_lt_heuristic, status, cublasLtMatmulHeuristicResult_t, state);
MEMBER(fsim_lt_heuristic, waves, cublasLtMatmulHeuristicResult_t, wavesCount);
SAME(FSIM_LT_LAYOUT_BATCH, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(FSIM_LT_LAYOUT_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(FSIM_LT_OP_A, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(FSIM_LT_OP_B, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(FSIM_LT_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(FSIM_LT_BIAS, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(FSIM_LT_BIAS_STRIDE, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
SAME(FSIM_LT_BIAS_TYPE, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
SAME(FSIM_LT_EPILOGUE_NONE, CUBLASLT_EPILOGUE_DEFAULT);
SAME(FSIM_LT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU);
SAME(FSIM_LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS);
SAME(FSIM_LT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU);
SAME(FSIM_LT_EPILOGUE_RELU | FSIM_LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS);
SAME(FSIM_LT_EPILOGUE_GELU | FSIM_LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS);
SAME(FSIM_LT_WORKSPACE_MOST, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(FSIM_LT_ALIGNMENT_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(FSIM_LT_ALIGNMENT_A + 1, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(FSIM_LT_ALIGNMENT_A + 2, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(FSIM_LT_ALIGNMENT_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

#endif

/* Not a source without a declaration. */
typedef int fsim_abi_is_checked;
