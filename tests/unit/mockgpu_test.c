/* SPDX-License-Identifier: Apache-2.0 */
/* The mock GPU, used as the real one is: opened at run time. Each scenario has a process of its own, with the faults it
 * asks for. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h> /* needs those above */

#include "scenario.h"

static void *mock;

/* Calls a function of the mock. */
#define CALL(name, types, ...) ((int(*) types)(uintptr_t)dlsym(mock, #name))(__VA_ARGS__)

#define GIVES(result, ...) CHECK((__VA_ARGS__) == (result))

/* Runs the scenario with variables set, "NAME=VALUE", up to NULL. */
static void in_process(void (*scenario)(void), ...)
{
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        va_list args;
        va_start(args, scenario);
        for (const char *set; (set = va_arg(args, const char *));)
            putenv(strdup(set));
        va_end(args);
        mock = dlopen(MOCKGPU, RTLD_NOW | RTLD_LOCAL);
        if (!mock)
            fprintf(stderr, "%s\n", dlerror());
        CHECK(mock);
        scenario();
        exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static const char text[] = "#include \"helper.h\"\n"
                           "#ifdef FS_EMULATED\n"
                           "void scale(void **params)\n"
                           "{\n"
                           "    const float *x = *(const float **)params[0];\n"
                           "    float *y = *(float **)params[1];\n"
                           "#else\n"
                           "extern \"C\" __global__ void __launch_bounds__(128) scale(const float *x, float *y)\n"
                           "{\n"
                           "#endif\n"
                           "    FS_SHARED(float, part, 128);\n"
                           "    const long long i = fs_block() * 128 + fs_thread();\n"
                           "    part[fs_thread()] = FACTOR * x[i];\n"
                           "    fs_barrier();\n"
                           "    y[i] = part[127 - fs_thread()];\n"
                           "}\n"
                           "#ifdef FS_EMULATED\n"
                           "#define FS_ENTRY(name, threads, parameters) void name(void **params)\n"
                           "FS_ENTRY(stray, 64, (float *x))\n"
                           "{\n"
                           "    (*(float **)params[0])[fs_block() * 1000] = 1;\n"
                           "}\n"
                           "#endif\n";

enum { COUNT = 4096, BYTES = COUNT * 4 };
typedef void *handle;
typedef uint64_t pointer;
static handle module, scale, stray, stream;
static pointer x, y;
static float in[COUNT], out[COUNT];

/* Compiles; the log in `log`, the cubin returned. */
static char *compile(const char *source, int expected, char *log, size_t room)
{
    static const char *const option[] = {"--gpu-architecture=sm_90", "--std=c++17", "--ptxas-options=-v", "-w"};
    const char *const header = "#define FACTOR 3.0f\n", *const header_name = "helper.h";
    handle program;
    size_t bytes = 0;
    GIVES(0, CALL(nvrtcCreateProgram,
                  (handle *, const char *, const char *, int, const char *const *, const char *const *), &program,
                  source, "scale.cu", 1, &header, &header_name));
    GIVES(expected, CALL(nvrtcCompileProgram, (handle, int, const char *const *), program, 4, option));
    GIVES(0, CALL(nvrtcGetProgramLogSize, (handle, size_t *), program, &bytes));
    CHECK(bytes <= room);
    GIVES(0, CALL(nvrtcGetProgramLog, (handle, char *), program, log));
    char *cubin = NULL;
    if (expected == 0) {
        GIVES(0, CALL(nvrtcGetCUBINSize, (handle, size_t *), program, &bytes));
        CHECK((cubin = malloc(bytes)) != NULL);
        GIVES(0, CALL(nvrtcGetCUBIN, (handle, char *), program, cubin));
    }
    GIVES(0, CALL(nvrtcDestroyProgram, (handle *), &program));
    return cubin;
}

/* A context, the kernels, x filled. */
static handle start(void)
{
    char log[8192];
    handle context;
    GIVES(0, CALL(cuInit, (unsigned), 0));
    GIVES(0, CALL(cuDevicePrimaryCtxRetain, (handle *, int), &context, 0));
    GIVES(0, CALL(cuCtxSetCurrent, (handle), context));
    char *const cubin = compile(text, 0, log, sizeof log);
    CHECK(strstr(log, "Compiling entry function 'scale' for 'sm_90'"));
    CHECK(strstr(log, " registers, used 1 barriers, 512 bytes smem"));
    CHECK(strstr(log, "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
    GIVES(200,
          CALL(cuModuleLoadDataEx, (handle *, const void *, unsigned, int *, void **), &module, "none", 0, NULL, NULL));
    GIVES(0,
          CALL(cuModuleLoadDataEx, (handle *, const void *, unsigned, int *, void **), &module, cubin, 0, NULL, NULL));
    free(cubin);
    GIVES(500, CALL(cuModuleGetFunction, (handle *, handle, const char *), &scale, module, "none"));
    GIVES(0, CALL(cuModuleGetFunction, (handle *, handle, const char *), &scale, module, "scale"));
    GIVES(0, CALL(cuModuleGetFunction, (handle *, handle, const char *), &stray, module, "stray"));
    GIVES(0, CALL(cuStreamCreate, (handle *, unsigned), &stream, 1));
    GIVES(0, CALL(cuMemAlloc_v2, (pointer *, size_t), &x, BYTES));
    GIVES(0, CALL(cuMemAlloc_v2, (pointer *, size_t), &y, BYTES));
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)i;
    GIVES(0, CALL(cuMemcpyHtoD_v2, (pointer, const void *, size_t), x, in, BYTES));
    return context;
}

static int launch(handle kernel, unsigned grid, unsigned block, unsigned shared_bytes)
{
    void *params[] = {&x, &y};
    return CALL(
        cuLaunchKernel,
        (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **),
        kernel, grid, 1, 1, block, 1, 1, shared_bytes, stream, params, NULL);
}

static int synchronize(void) { return CALL(cuStreamSynchronize, (handle), stream); }

static void check_result(void)
{
    GIVES(0, CALL(cuMemcpyDtoH_v2, (void *, pointer, size_t), out, y, BYTES));
    for (int i = 0; i < COUNT; i++)
        CHECK(out[i] == 3 * in[i / 128 * 128 + 127 - i % 128]);
}

static void finish(void)
{
    GIVES(0, CALL(cuMemFree_v2, (pointer), x));
    GIVES(0, CALL(cuMemFree_v2, (pointer), y));
    GIVES(0, CALL(cuStreamDestroy_v2, (handle), stream));
    GIVES(0, CALL(cuModuleUnload, (handle), module));
}

static void runs(void)
{
    start();
    GIVES(1, launch(scale, COUNT / 128, 2048, 0));
    GIVES(1, launch(scale, 0, 128, 0));
    GIVES(701, launch(scale, COUNT / 128, 256, 0)); /* beyond its launch bounds */
    GIVES(701, launch(stray, 1, 65, 0));
    GIVES(1, launch(scale, COUNT / 128, 128, 49152 - 511));
    GIVES(0, CALL(cuFuncSetAttribute, (handle, int, int), scale, 8, 100000));
    GIVES(0, launch(scale, COUNT / 128, 128, 100000));
    GIVES(0, synchronize());
    check_result();

    /* A graph does it again, on memory that was cleared. */
    handle graph, exec, before, after;
    float ms = 0;
    GIVES(0, CALL(cuStreamBeginCapture_v2, (handle, int), stream, 1));
    GIVES(0, CALL(cuMemsetD32Async, (pointer, unsigned, size_t, handle), y, 0, COUNT, stream));
    GIVES(0, launch(scale, COUNT / 128, 128, 0));
    GIVES(0, CALL(cuStreamEndCapture, (handle, handle *), stream, &graph));
    GIVES(0, CALL(cuGraphInstantiateWithFlags, (handle *, handle, unsigned long long), &exec, graph, 0));
    GIVES(0, CALL(cuGraphDestroy, (handle), graph));
    GIVES(0, CALL(cuMemsetD32Async, (pointer, unsigned, size_t, handle), y, 7, COUNT, stream));
    GIVES(0, CALL(cuEventCreate, (handle *, unsigned), &before, 0));
    GIVES(0, CALL(cuEventCreate, (handle *, unsigned), &after, 0));
    GIVES(0, CALL(cuEventRecord, (handle, handle), before, stream));
    GIVES(0, CALL(cuGraphLaunch, (handle, handle), exec, stream));
    GIVES(0, CALL(cuEventRecord, (handle, handle), after, stream));
    GIVES(0, CALL(cuStreamQuery, (handle), stream));
    GIVES(0, CALL(cuEventElapsedTime, (float *, handle, handle), &ms, before, after));
    CHECK(ms > 0.004f && ms < 0.006f);
    check_result();
    GIVES(0, CALL(cuGraphExecDestroy, (handle), exec));
    GIVES(0, CALL(cuEventDestroy_v2, (handle), before));
    GIVES(0, CALL(cuEventDestroy_v2, (handle), after));
    finish();
}

static void does_not_compile(void)
{
    char log[8192];
    compile("#include \"helper.h\"\nvoid f(void **params) { *params = FACTOR; }\n", 6, log, sizeof log);
    CHECK(strstr(log, "scale.cu:2:") && strstr(log, "error"));
    compile("void f(void **params) { undeclared(params); }\n", 6, log, sizeof log);
    CHECK(strstr(log, "undeclared"));
}

static void is_out_of_bounds(void)
{
    start();
    GIVES(0, launch(stray, 5, 32, 0)); /* floats 0 to 4000 are there */
    GIVES(0, synchronize());
    GIVES(0, launch(stray, 6, 32, 0)); /* 5000 is in the page behind */
    GIVES(700, synchronize());
    GIVES(700, launch(scale, 1, 32, 0));
}

static void writes_behind(void)
{
    start();
    GIVES(0, CALL(cuMemFree_v2, (pointer), x));
    GIVES(0, CALL(cuMemAlloc_v2, (pointer *, size_t), &x, 3990 * 4)); /* 4000 is within what is rounded up */
    GIVES(0, launch(stray, 5, 32, 0));
    GIVES(700, synchronize());
}

/* Activities. */

static struct {
    uint64_t ns[64];
    int count, bad;
    size_t dropped;
} seen;

static void request(uint8_t **buffer, size_t *bytes, size_t *records)
{
    *bytes = 1000; /* four records */
    *records = 0;
    *buffer = aligned_alloc(8, *bytes);
}

static void complete(handle context, uint32_t stream_id, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    void *record = NULL;
    size_t dropped = 0;
    (void)bytes;
    while (CALL(cuptiActivityGetNextRecord, (uint8_t *, size_t, void **), buffer, valid_bytes, &record) == 0) {
        int32_t kind, grid;
        uint64_t time_ns[2];
        const char *name;
        memcpy(&kind, record, sizeof kind);
        memcpy(time_ns, (char *)record + 16, sizeof time_ns);
        memcpy(&grid, (char *)record + 52, sizeof grid);
        memcpy(&name, (char *)record + 104, sizeof name);
        CHECK(kind == 10 && grid == COUNT / 128 && strcmp(name, "scale") == 0);
        if (time_ns[0] == 0)
            seen.bad++;
        else
            seen.ns[seen.count++] = time_ns[1] - time_ns[0];
    }
    CALL(cuptiActivityGetNumDroppedRecords, (handle, uint32_t, size_t *), context, stream_id, &dropped);
    seen.dropped += dropped;
    free(buffer);
}

static void record_launches(int launches)
{
    GIVES(0, CALL(cuptiActivityRegisterCallbacks,
                  (void (*)(uint8_t **, size_t *, size_t *), void (*)(handle, uint32_t, uint8_t *, size_t, size_t)),
                  request, complete));
    GIVES(0, CALL(cuptiActivityEnable, (int), 10));
    for (int i = 0; i < launches; i++)
        GIVES(0, launch(scale, COUNT / 128, 128, 0));
    GIVES(0, synchronize());
    GIVES(0, CALL(cuptiActivityFlushAll, (uint32_t), 1));
    GIVES(0, CALL(cuptiActivityDisable, (int), 10));
}

static void records(void)
{
    start();
    record_launches(12);
    CHECK(seen.count == 12 && seen.bad == 0 && seen.dropped == 0);
    for (int i = 0; i < 12; i++)
        CHECK(seen.ns[i] >= 2000 && seen.ns[i] < 2100);
    finish();
}

static void records_without_times(void)
{
    start();
    record_launches(12);
    CHECK(seen.count == 8 && seen.bad == 4);
}

static void records_are_lost(void)
{
    start();
    record_launches(12);
    CHECK(seen.count == 9 && seen.dropped == 3);
}

static void refuses_activities(void)
{
    start();
    GIVES(39, CALL(cuptiActivityEnable, (int), 10));
}

/* Counters: the members by their offsets, all 8 bytes, but for those of SetConfig. */

enum { MAX_WORDS = 16 };
typedef uint64_t words[MAX_WORDS];

static uint64_t word(const void *p) { return (uint64_t)(uintptr_t)p; }

/* Calls NAME with a struct of `bytes` whose words from the third on are given. */
#define PROFILE(name, bytes, w, ...) (memcpy(w, (words){bytes, 0, __VA_ARGS__}, sizeof(words)), CALL(name, (void *), w))

static int count(handle context, const char *read_metric, double *value)
{
    words w;
    const char *metrics[] = {"gpu__time_duration.sum", read_metric, "lts__t_bytes.sum"};
    uint8_t image[64];
    int result = PROFILE(cuptiProfilerInitialize, 16, w, 0);
    if (result != 0)
        return result;
    CHECK(PROFILE(cuptiDeviceGetChipName, 32, w, 0) == 0);
    const uint64_t chip = w[3];
    if ((result = PROFILE(cuptiProfilerGetCounterAvailability, 40, w, word(context))) != 0)
        return result;
    CHECK(w[3] <= sizeof image);
    GIVES(0, PROFILE(cuptiProfilerGetCounterAvailability, 40, w, word(context), w[3], word(image)));
    GIVES(1, PROFILE(cuptiProfilerHostInitialize, 40, w, 0, chip, word(image))); /* a wrong size */
    GIVES(46, PROFILE(cuptiProfilerHostInitialize, 48, w, 0, word("H100"), word(image)));
    GIVES(0, PROFILE(cuptiProfilerHostInitialize, 48, w, 0, chip, word(image)));
    const uint64_t host = w[5];
    GIVES(17, PROFILE(cuptiProfilerHostGetMetricProperties, 60, w, host, word("none")));
    if ((result = PROFILE(cuptiProfilerHostGetMetricProperties, 60, w, host, word(read_metric))) != 0)
        return result;
    GIVES(0, PROFILE(cuptiProfilerHostConfigAddMetrics, 40, w, host, word(metrics), 3));
    GIVES(0, PROFILE(cuptiProfilerHostGetConfigImageSize, 32, w, host));
    const uint64_t config_bytes = w[3];
    uint8_t *const config = malloc(config_bytes);
    GIVES(0, PROFILE(cuptiProfilerHostGetConfigImage, 40, w, host, config_bytes, word(config)));
    GIVES(0, PROFILE(cuptiProfilerHostGetNumOfPasses, 40, w, config_bytes, word(config)));
    const uint64_t passes = w[4];
    if ((result = PROFILE(cuptiRangeProfilerEnable, 32, w, word(context))) != 0) {
        free(config);
        return result;
    }
    const uint64_t profiler = w[3];
    GIVES(7, PROFILE(cuptiRangeProfilerStart, 24, w, profiler)); /* too early */
    words nodes = {64, 0, profiler, word(metrics), 3, 1, 1};
    GIVES(0, CALL(cuptiRangeProfilerGetCounterDataSize, (void *), nodes));
    const uint64_t data_bytes = nodes[7];
    uint8_t *const data = malloc(data_bytes);
    GIVES(0, PROFILE(cuptiRangeProfilerCounterDataImageInitialize, 40, w, profiler, data_bytes, word(data)));
    words set = {90, 0, profiler, config_bytes, word(config), data_bytes, word(data)};
    const int range_and_replay[2] = {2, 3};
    const size_t one = 1;
    const uint16_t level = 1;
    memcpy(&set[7], range_and_replay, sizeof range_and_replay);
    memcpy(&set[8], &one, sizeof one);
    memcpy((char *)&set[9], &level, sizeof level);
    memcpy((char *)&set[9] + 2, &level, sizeof level);
    memcpy(&set[11], &level, sizeof level);
    GIVES(0, CALL(cuptiRangeProfilerSetConfig, (void *), set));
    for (uint64_t pass = 1; pass <= passes; pass++) {
        GIVES(0, PROFILE(cuptiRangeProfilerStart, 24, w, profiler));
        GIVES(0, PROFILE(cuptiRangeProfilerPushRange, 32, w, profiler, word("scale")));
        GIVES(0, launch(scale, COUNT / 128, 128, 0));
        GIVES(0, synchronize());
        GIVES(0, PROFILE(cuptiRangeProfilerPopRange, 24, w, profiler));
        GIVES(0, PROFILE(cuptiRangeProfilerStop, 41, w, profiler));
        CHECK((*(uint8_t *)&w[5] == 1) == (pass == passes));
    }
    GIVES(0, PROFILE(cuptiRangeProfilerDecodeData, 32, w, profiler));
    CHECK(w[3] == 0);
    GIVES(0, PROFILE(cuptiRangeProfilerGetCounterDataInfo, 40, w, word(data), data_bytes));
    CHECK(w[4] == 1);
    GIVES(0, PROFILE(cuptiProfilerHostEvaluateToGpuValues, 72, w, host, word(data), data_bytes, 0, word(metrics), 3,
                     word(value)));
    GIVES(0, PROFILE(cuptiRangeProfilerDisable, 24, w, profiler));
    GIVES(0, PROFILE(cuptiProfilerHostDeinitialize, 24, w, host));
    GIVES(0, PROFILE(cuptiProfilerDeInitialize, 16, w, 0));
    free(config);
    free(data);
    return (int)passes - 1;
}

/* MOCK_FAIL's first word as the number that count should give. */
static void counts(void)
{
    double value[3] = {0};
    handle const context = start();
    const char *const fail = getenv("MOCK_FAIL");
    const int expected = !fail                           ? 0
                         : strcmp(fail, "perm") == 0     ? 35
                         : strcmp(fail, "busy") == 0     ? 26
                         : strcmp(fail, "profiler") == 0 ? 39
                         : strcmp(fail, "oldcupti") == 0 ? 27
                         : strcmp(fail, "twopass") == 0  ? 1
                                                         : 17;
    GIVES(expected, count(context, "dram__bytes_read.sum", value));
    if (expected == 0)
        CHECK(value[0] > 2000 && value[0] < 2100 && value[1] == BYTES && value[2] == 2 * BYTES);
    if (expected == 0)
        finish();
}

static void counts_by_other_names(void)
{
    double value[3];
    GIVES(0, count(start(), "dram__bytes_op_read.sum", value));
}

static void has_no_device(void)
{
    const char *name = "";
    GIVES(100, CALL(cuInit, (unsigned), 0));
    GIVES(0, CALL(cuGetErrorName, (int, const char **), 100, &name));
    CHECK(strcmp(name, "CUDA_ERROR_NO_DEVICE") == 0);
}

static void is_a_stub(void)
{
    const char *name = "";
    GIVES(34, CALL(cuInit, (unsigned), 0));
    CALL(cuGetErrorName, (int, const char **), 34, &name);
    CHECK(name == NULL);
}

static void fails_at_the_third(void)
{
    start();
    GIVES(0, launch(scale, 1, 128, 0));
    GIVES(0, launch(scale, 1, 128, 0));
    GIVES(719, launch(scale, 1, 128, 0));
    GIVES(719, synchronize());
}

static void hangs(void)
{
    start();
    GIVES(0, CALL(cuStreamQuery, (handle), stream));
    GIVES(0, launch(scale, 1, 128, 0));
    GIVES(600, CALL(cuStreamQuery, (handle), stream));
    GIVES(702, synchronize());
    GIVES(600, CALL(cuStreamQuery, (handle), stream));
}

static void has_little_memory(void)
{
    pointer p;
    size_t free_bytes, total_bytes;
    start();
    GIVES(2, CALL(cuMemAlloc_v2, (pointer *, size_t), &p, 1 << 20));
    GIVES(0, CALL(cuMemGetInfo_v2, (size_t *, size_t *), &free_bytes, &total_bytes));
    CHECK(total_bytes == 1000000 && free_bytes == 1000000 - 2 * BYTES);
}

/* 2x2: columns of a are 1 2 and 3 4. */
static void multiplies(void)
{
    handle blas;
    const float one = 1, zero = 0, a[4] = {1, 2, 3, 4}, expected[4] = {7, 10, 15, 22};
    start();
    GIVES(0, CALL(cublasCreate_v2, (handle *), &blas));
    GIVES(0, CALL(cublasSetStream_v2, (handle, handle), blas, stream));
    GIVES(0, CALL(cuMemcpyHtoD_v2, (pointer, const void *, size_t), x, a, sizeof a));
    GIVES(0, CALL(cublasGemmEx,
                  (handle, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int,
                   const void *, void *, int, int, int, int),
                  blas, 0, 0, 2, 2, 2, &one, (void *)(uintptr_t)x, 0, 2, (void *)(uintptr_t)x, 0, 2, &zero,
                  (void *)(uintptr_t)y, 0, 2, 68, -1));
    GIVES(0, CALL(cuMemcpyDtoH_v2, (void *, pointer, size_t), out, y, sizeof expected));
    CHECK(memcmp(out, expected, sizeof expected) == 0);
    GIVES(0, CALL(cublasDestroy_v2, (handle), blas));
    finish();
}

static handle layout(uint64_t rows, uint64_t columns, int64_t leading)
{
    handle l;
    GIVES(0, CALL(cublasLtMatrixLayoutCreate, (handle *, int, uint64_t, uint64_t, int64_t), &l, 0, rows, columns,
                  leading));
    return l;
}

static handle lt, dense, preference;
static uint64_t found[16]; /* an algorithm and what is said of it */

static int choose(handle a, handle b, handle c)
{
    int count = 0;
    return CALL(cublasLtMatmulAlgoGetHeuristic,
                (handle, handle, handle, handle, handle, handle, handle, int, uint64_t *, int *), lt, dense, a, b, c, c,
                preference, 1, found, &count);
}

/* added: what the library calls C; NULL: nothing is added. */
static int multiply_and_add(handle a, handle b, handle c, const void *added, pointer workspace, size_t workspace_bytes)
{
    const float one = 1, beta = added ? 1 : 0;
    void *const from = (void *)(uintptr_t)x, *const to = (void *)(uintptr_t)y;
    return CALL(cublasLtMatmul,
                (handle, handle, const void *, const void *, handle, const void *, handle, const void *, const void *,
                 handle, void *, handle, const uint64_t *, void *, size_t, handle),
                lt, dense, &one, from, a, from, b, &beta, added ? added : to, c, to, c, found,
                (void *)(uintptr_t)workspace, workspace_bytes, stream);
}

static int multiply(handle a, handle b, handle c, pointer workspace, size_t workspace_bytes)
{
    return multiply_and_add(a, b, c, NULL, workspace, workspace_bytes);
}

static int describe(int attribute, const void *value, size_t bytes)
{
    return CALL(cublasLtMatmulDescSetAttribute, (handle, int, const void *, size_t), dense, attribute, value, bytes);
}

/* Columns 1 2 and 3 4; times itself, and a bias of -8 and 20, no less than 0; the same and C, the operand again. Then
 * what the library refuses. */
static void adds_a_bias(void)
{
    enum { EPILOGUE = 7, BIAS = 8, MOST_BYTES = 1 << 20 };
    const float from[] = {1, 2, 3, 4, -8, 20}, expected[4] = {0, 30, 7, 42}, with_c[4] = {0, 32, 10, 46};
    const uint32_t relu_bias = 6, bias_alone = 4;
    const uint64_t most = MOST_BYTES;
    const void *bias, *none = NULL;
    pointer workspace;
    start();
    bias = (void *)(uintptr_t)(x + 16);
    GIVES(0, CALL(cuMemcpyHtoD_v2, (pointer, const void *, size_t), x, from, sizeof from));
    GIVES(0, CALL(cuMemAlloc_v2, (pointer *, size_t), &workspace, MOST_BYTES));
    GIVES(0, CALL(cublasLtCreate, (handle *), &lt));
    GIVES(0, CALL(cublasLtMatmulDescCreate, (handle *, int, int), &dense, 68, 0));
    GIVES(0, CALL(cublasLtMatmulPreferenceCreate, (handle *), &preference));
    GIVES(0, CALL(cublasLtMatmulPreferenceSetAttribute, (handle, int, const void *, size_t), preference, 1, &most,
                  sizeof most));
    handle square = layout(2, 2, 2), narrow = layout(2, 2, 1), tall = layout(3, 2, 3);
    GIVES(7, describe(EPILOGUE, &relu_bias, 8));
    GIVES(0, describe(EPILOGUE, &relu_bias, sizeof relu_bias));
    GIVES(7, choose(square, square, square)); /* without its bias */
    GIVES(0, describe(BIAS, &bias, sizeof bias));
    GIVES(7, choose(narrow, square, square));
    GIVES(7, choose(square, square, narrow));
    GIVES(7, choose(tall, square, square));
    GIVES(0, choose(square, square, square));
    GIVES(7, multiply(square, square, square, 0, MOST_BYTES));
    GIVES(7, multiply(square, square, square, workspace, 1024));
    GIVES(7, multiply(tall, square, tall, workspace, MOST_BYTES)); /* by an algorithm for another */
    GIVES(7, multiply(narrow, square, square, workspace, MOST_BYTES));
    GIVES(0, multiply(square, square, square, workspace, MOST_BYTES));
    GIVES(0, CALL(cuMemcpyDtoH_v2, (void *, pointer, size_t), out, y, sizeof expected));
    CHECK(memcmp(out, expected, sizeof expected) == 0);
    GIVES(0, multiply_and_add(square, square, square, (void *)(uintptr_t)x, workspace, MOST_BYTES));
    GIVES(0, CALL(cuMemcpyDtoH_v2, (void *, pointer, size_t), out, y, sizeof with_c));
    CHECK(memcmp(out, with_c, sizeof with_c) == 0);
    GIVES(0, describe(EPILOGUE, &bias_alone, sizeof bias_alone));
    GIVES(7, multiply(square, square, square, workspace, MOST_BYTES)); /* chosen for another epilogue */
    GIVES(0, describe(BIAS, &none, sizeof none));
    GIVES(7, multiply(square, square, square, workspace, MOST_BYTES));
    const handle layouts[] = {square, narrow, tall};
    for (int i = 0; i < 3; i++)
        GIVES(0, CALL(cublasLtMatrixLayoutDestroy, (handle), layouts[i]));
    GIVES(0, CALL(cublasLtMatmulDescDestroy, (handle), dense));
    GIVES(0, CALL(cublasLtMatmulPreferenceDestroy, (handle), preference));
    GIVES(0, CALL(cublasLtDestroy, (handle), lt));
    GIVES(0, CALL(cuMemFree_v2, (pointer), workspace));
    finish();
}

#define SCENARIO(name, ...)                                                                                            \
    static void name##_(void **unused)                                                                                 \
    {                                                                                                                  \
        (void)unused;                                                                                                  \
        in_process(name, __VA_ARGS__);                                                                                 \
    }
#define END (const char *)NULL
SCENARIO(runs, END)
SCENARIO(does_not_compile, END)
SCENARIO(is_out_of_bounds, END)
SCENARIO(writes_behind, END)
SCENARIO(records, END)
SCENARIO(records_without_times, "MOCK_FAIL=badts", END)
SCENARIO(records_are_lost, "MOCK_FAIL=noise,lost", END)
SCENARIO(refuses_activities, "MOCK_FAIL=profiler", END)
SCENARIO(counts_by_other_names, "MOCK_FAIL=gb202", END)
SCENARIO(has_no_device, "MOCK_FAIL=nodev", END)
SCENARIO(is_a_stub, "MOCK_FAIL=stub", END)
SCENARIO(fails_at_the_third, "MOCK_FAIL=launch", "MOCK_FAIL_AT=3", END)
SCENARIO(hangs, "MOCK_FAIL=hang", "MOCK_HANG_S=0", END)
SCENARIO(has_little_memory, "MOCK_MEMORY=1000000", END)
SCENARIO(multiplies, END)
SCENARIO(adds_a_bias, END)

static void counts_or_says_why_not(void **unused)
{
    (void)unused;
    in_process(counts, END);
    in_process(counts, "MOCK_FAIL=perm", END);
    in_process(counts, "MOCK_FAIL=busy", END);
    in_process(counts, "MOCK_FAIL=profiler", END);
    in_process(counts, "MOCK_FAIL=oldcupti", END);
    in_process(counts, "MOCK_FAIL=twopass", END);
    in_process(counts, "MOCK_FAIL=gb202", END);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_),
        cmocka_unit_test(does_not_compile_),
        cmocka_unit_test(is_out_of_bounds_),
        cmocka_unit_test(writes_behind_),
        cmocka_unit_test(records_),
        cmocka_unit_test(records_without_times_),
        cmocka_unit_test(records_are_lost_),
        cmocka_unit_test(refuses_activities_),
        cmocka_unit_test(counts_or_says_why_not),
        cmocka_unit_test(counts_by_other_names_),
        cmocka_unit_test(has_no_device_),
        cmocka_unit_test(is_a_stub_),
        cmocka_unit_test(fails_at_the_third_),
        cmocka_unit_test(hangs_),
        cmocka_unit_test(has_little_memory_),
        cmocka_unit_test(multiplies_),
        cmocka_unit_test(adds_a_bias_),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
