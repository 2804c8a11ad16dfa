/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels run and measured, on a GPU or on what stands in for one by $FUSESIM_CUDA_LIB and its likes; skipped where
 * there is neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "validate/cuda/cuda.h"
#include "validate/device/backends.h"
#include "validate/reference/reference.h"
#include "validate/trial/run.h"
#include <math.h>
#include <string.h>

enum { N = 1 << 14, BLOCK = 256, LEAST = 5 };

static const char source[] = "#ifdef FS_EMULATED\n"
                             "void twice(void **params)\n"
                             "{\n"
                             "    const float *x = *(const float **)params[0];\n"
                             "    float *y = *(float **)params[1];\n"
                             "    const long long i = fs_block() * 256 + fs_thread();\n"
                             "    y[i] = 2 * x[i];\n"
                             "}\n"
                             "void plus(void **params)\n"
                             "{\n"
                             "    const float *x = *(const float **)params[0];\n"
                             "    float *y = *(float **)params[1];\n"
                             "    const long long i = fs_block() * 256 + fs_thread();\n"
                             "    y[i] = y[i] + x[i];\n"
                             "}\n"
                             "#else\n"
                             "extern \"C\" __global__ void __launch_bounds__(256) twice(const float *x, float *y) { "
                             "const long long i = blockIdx.x * 256ll + threadIdx.x; y[i] = 2 * x[i]; }\n"
                             "extern \"C\" __global__ void __launch_bounds__(256) plus(const float *x, float *y) { "
                             "const long long i = blockIdx.x * 256ll + threadIdx.x; y[i] = y[i] + x[i]; }\n"
                             "#endif\n";

static fsim_parameter parameter[] = {{.tensor = 0, .bytes = N * 4, .name = "x", .type = "float"},
                                     {.tensor = 1, .bytes = N * 4, .written = true, .name = "y", .type = "float"}};
static fsim_launch one[] = {{"twice", N / BLOCK, BLOCK, 0}},
                   two[] = {{"twice", N / BLOCK, BLOCK, 0}, {"plus", N / BLOCK, BLOCK, 0}};
static const fsim_program program[] = {
    {.name = "double", .source = source, .parameter = parameter, .parameters = 2, .launch = one, .launches = 1},
    {.name = "triple", .source = source, .parameter = parameter, .parameters = 2, .launch = two, .launches = 2},
    {.name = "none", .skipped = "has no source"}};

typedef struct {
    fsim_arena *a;
    fsim_gpu *g; /* NULL: there is none */
    fsim_gpu_buffer x, y;
    fsim_gpu_kernel *kernel[2];
    float in[N], out[N];
} bench;

static bool open_kernels(bench *b, fsim_fault *fault)
{
    fsim_cubin cubin[3];
    if (!fsim_gpu_allocate(b->g, "x", N * 4, &b->x, fault) || !fsim_gpu_allocate(b->g, "y", N * 4, &b->y, fault) ||
        !fsim_gpu_upload(b->g, b->x, b->in, N * 4, fault) ||
        !fsim_gpu_compile(b->g, program, 3, &(fsim_nvrtc_how){"", 2}, cubin, fault))
        return false;
    for (int i = 0; i < 2; i++) {
        b->kernel[i] = fsim_gpu_load(b->g, &program[i], &cubin[i], (fsim_gpu_buffer[]){b->x, b->y}, fault);
        if (!b->kernel[i])
            return false;
    }
    return true;
}

static int open_bench(void **state)
{
    static bench b;
    fsim_fault fault = {0};
    b.a = fsim_arena_new();
    for (int i = 0; i < N; i++)
        b.in[i] = (float)(i % 1000) - 500;
    b.g = fsim_gpu_open(b.a, &(fsim_gpu_options){.timeout_s = 20, .least = LEAST, .most = LEAST}, &fault);
    if (!b.g)
        print_message("%s\n", fault.message);
    else if (!open_kernels(&b, &fault)) {
        print_message("%s\n", fault.message);
        return -1;
    }
    *state = &b;
    return 0;
}

static int close_bench(void **state)
{
    bench *b = *state;
    for (int i = 0; i < 2 && b->g; i++)
        fsim_gpu_unload(b->g, b->kernel[i]);
    if (b->g) {
        fsim_gpu_free(b->g, &b->x);
        fsim_gpu_free(b->g, &b->y);
    }
    fsim_gpu_close(b->g);
    fsim_arena_free(b->a);
    return 0;
}

static bench *on_device(void **state)
{
    bench *b = *state;
    if (!b->g)
        skip();
    return b;
}

static void kernels_compute(void **state)
{
    bench *b = on_device(state);
    for (int k = 0; k < 2; k++) {
        assert_true(fsim_gpu_run(b->g, b->kernel[k], NULL));
        assert_true(fsim_gpu_download(b->g, b->out, b->y, N * 4, NULL));
        for (int i = 0; i < N; i++)
            assert_true(b->out[i] == (float)(k + 2) * b->in[i]);
    }
}

static void show(const fsim_fault *fault)
{
    if (fault->message)
        print_message("%s\n", fault->message);
    assert_true(fault->status == FSIM_OK || fault->status == FSIM_INCONCLUSIVE);
}

static void kernels_are_measured(void **state)
{
    bench *b = on_device(state);
    fsim_measured_kernel m[2];
    fsim_fault fault = {0};
    (void)!fsim_gpu_measure(b->g, b->kernel, 2, m, &fault);
    show(&fault);
    const fsim_gpu_facts *facts = fsim_gpu_facts_of(b->g);
    print_message("%s, sm_%d, %d SMs; %s; counters: %s\n", facts->name, facts->sm, facts->sms, facts->timing,
                  facts->no_counters ? facts->no_counters : "read");
    assert_true(facts->floor.samples > 0);
    for (int k = 0; k < 2; k++) {
        assert_null(m[k].failed);
        assert_true(m[k].cold.samples > 0 && m[k].cold.samples <= LEAST && m[k].warm.samples == m[k].cold.samples);
        assert_true(m[k].cold.least_s > 0 && m[k].cold.least_s <= m[k].cold.median_s &&
                    m[k].cold.low_s <= m[k].cold.high_s);
        assert_true(m[k].registers > 0 && m[k].static_shared_bytes == 0 && m[k].local_bytes_per_thread == 0);
        assert_true(m[k].occupancy > 0 && m[k].occupancy <= 1);
        if (!facts->no_counters) /* every byte of x comes from DRAM, as L2 was flushed */
        {
            assert_true(m[k].dram_read_bytes >= N * 4 && m[k].l2_bytes >= 2 * N * 4 && m[k].local_bytes == 0);
            assert_true(m[k].dram_write_bytes >= N * 4 &&
                        m[k].dram_write_bytes <=
                            1.5 * N * 4); /* y fits in L2: all of it is counted behind the kernel's end */
            assert_true(m[k].dram_write_by_end_bytes < N * 4 && m[k].l2_write_bytes >= N * 4 &&
                        m[k].l2_write_bytes <= m[k].l2_bytes);
        } else
            assert_true(isnan(m[k].dram_read_bytes) && isnan(m[k].achieved_occupancy));
    }
}

static void plans_are_measured(void **state)
{
    bench *b = on_device(state);
    const fsim_gpu_plan plan[] = {
        {"both", b->kernel, 2, false}, {"first", b->kernel, 1, true}, {"empty", b->kernel, 0, false}};
    fsim_measured_plan m[3] = {{0}};
    fsim_times wall[3];
    fsim_fault fault = {0};
    (void)!fsim_gpu_measure_plans(b->g, plan, 3, m, wall, &fault);
    show(&fault);
    for (int p = 0; p < 2; p++) {
        assert_null(m[p].failed);
        assert_true(m[p].stream.samples == LEAST && m[p].graph.samples == LEAST && wall[p].samples == LEAST);
        assert_true(m[p].stream.least_s > 0 && m[p].graph.least_s > 0 && wall[p].least_s > 0);
    }
    assert_int_equal(m[2].stream.samples, 0);
}

/* What is late is left out, and that is no fault. */
static void measuring_ends_in_time(void **state)
{
    bench *b = on_device(state);
    const fsim_gpu_plan plan = {"both", b->kernel, 2, false};
    fsim_measured_kernel m[2];
    fsim_measured_plan whole = {0};
    fsim_fault fault = {0};
    fsim_gpu_limit(b->g, 1e-9); /* long ago */
    (void)!fsim_gpu_measure(b->g, b->kernel, 2, m, &fault);
    show(&fault);
    (void)!fsim_gpu_measure_plans(b->g, &plan, 1, &whole, NULL, &fault);
    show(&fault);
    for (int k = 0; k < 2; k++)
        assert_true(m[k].cold.samples == 0 && m[k].left_out && !m[k].failed);
    assert_true(whole.stream.samples == 0 && whole.left_out && !whole.failed);
    fsim_gpu_limit(b->g, fsim_now_s() + 60);
    (void)!fsim_gpu_measure(b->g, b->kernel, 2, m, &fault);
    show(&fault);
    assert_true(m[0].cold.samples > 0 && m[1].cold.samples > 0 && !m[1].left_out && !m[1].uncounted);
    fsim_gpu_limit(b->g, 0);
}

/* A kernel that differs in its names is the same cubin; its own names are in what is said of it. */
static void names_do_not_make_another_cubin(void **state)
{
    bench *b = on_device(state);
    fsim_launch launch[] = {{"other", N / BLOCK, BLOCK, 0}, {"plus", N / BLOCK, BLOCK, 0}};
    char *text = fsim_printf(b->a, "%s", source);
    for (char *at = text; (at = strstr(at, "twice"));)
        memcpy(at, "other", 5);
    const fsim_program p[] = {
        program[1],
        {.name = "other", .source = text, .parameter = parameter, .parameters = 2, .launch = launch, .launches = 2}};
    fsim_cubin cubin[2];
    assert_true(fsim_gpu_compile(b->g, p, 2, &(fsim_nvrtc_how){"", 2}, cubin, NULL));
    assert_ptr_equal(cubin[0].cubin, cubin[1].cubin);
    assert_non_null(fsim_resources_find(cubin[0].entry, cubin[0].entries, "twice"));
    assert_non_null(fsim_resources_find(cubin[1].entry, cubin[1].entries, "other"));
    fsim_gpu_kernel *k = fsim_gpu_load(b->g, &p[1], &cubin[1], (fsim_gpu_buffer[]){b->x, b->y}, NULL);
    assert_non_null(k);
    assert_true(fsim_gpu_run(b->g, k, NULL) && fsim_gpu_download(b->g, b->out, b->y, N * 4, NULL));
    for (int i = 0; i < N; i++)
        assert_true(b->out[i] == 3 * b->in[i]);
    fsim_gpu_unload(b->g, k);
}

static void faults_are_named(void **state)
{
    bench *b = on_device(state);
    fsim_gpu_buffer huge;
    fsim_fault fault = {0};
    assert_false(fsim_gpu_allocate(b->g, "tensor 'logits'", (int64_t)1 << 50, &huge, &fault));
    assert_int_equal(fault.status, FSIM_UNAVAILABLE);
    assert_non_null(strstr(fault.message, "tensor 'logits' needs "));
    fsim_gpu_free(b->g, &huge);
    fsim_program greedy = program[0];
    fsim_launch launch = {"twice", N / BLOCK, BLOCK, 1 << 20};
    fsim_cubin cubin;
    greedy.launch = &launch;
    assert_true(fsim_gpu_compile(b->g, &greedy, 1, &(fsim_nvrtc_how){"", 1}, &cubin, NULL));
    const fsim_gpu_buffer argument[] = {b->x, b->y};
    assert_null(fsim_gpu_load(b->g, &greedy, &cubin, argument, &fault));
    assert_non_null(strstr(fault.message, "shared memory"));
    launch = (fsim_launch){"no_such_kernel", 1, BLOCK, 0};
    assert_null(fsim_gpu_load(b->g, &greedy, &cubin, argument, &fault));
    assert_non_null(strstr(fault.message, "no_such_kernel"));
    assert_false(fsim_gpu_download(b->g, b->out, b->x, N * 4 + 1, &fault));
    assert_int_equal(fault.status, FSIM_FAILED);
    fsim_program future = program[0];
    future.sm = 999;
    assert_false(fsim_gpu_compile(b->g, &future, 1, &(fsim_nvrtc_how){"", 1}, &cubin, &fault));
    assert_non_null(strstr(fault.message, "sm_999"));
}

enum { M = 5, COLUMNS = 7, K = 9, BATCH = 3 };

/* Against a loop, either operand transposed, several matrices; B is the same for all. */
static void library_contractions_are_row_major(void **state)
{
    bench *b = on_device(state);
    fsim_fault fault = {0};
    for (int way = 0; way < 8; way++) {
        const bool at = way & 1, bt = way & 2;
        const int batch = way & 4 ? BATCH : 1;
        const fsim_gpu_gemm_call call = {.name = "product",
                                         .m = M,
                                         .n = COLUMNS,
                                         .k = K,
                                         .batch = batch,
                                         .a_stride = M * K,
                                         .c_stride = M * COLUMNS,
                                         .a_transposed = at,
                                         .b_transposed = bt,
                                         .type = FSIM_F32};
        fsim_gpu_buffer second = {b->x.at + 4000, b->x.bytes - 4000};
        fsim_gpu_kernel *k = fsim_gpu_gemm(b->g, &call, b->x, second, b->y, &fault);
        if (!k) {
            print_message("%s\n", fault.message);
            skip();
        }
        assert_true(fsim_gpu_run(b->g, k, NULL));
        assert_true(fsim_gpu_download(b->g, b->out, b->y, N * 4, NULL));
        for (int e = 0; e < batch * M * COLUMNS; e++) {
            const float *x = b->in + e / (M * COLUMNS) * M * K, *y = b->in + 1000;
            const int i = e / COLUMNS % M, j = e % COLUMNS;
            double sum = 0;
            for (int p = 0; p < K; p++)
                sum += (double)x[at ? p * M + i : i * K + p] * (double)y[bt ? j * K + p : p * COLUMNS + j];
            assert_true(fabs(sum - (double)b->out[e]) < 1);
        }
    }
}

/* Ones times ones is K. */
static void library_contractions_of_each_type(void **state)
{
    static const struct {
        fsim_dtype type;
        bool tf32;
        int bytes;
        uint64_t one, nine;
    } types[] = {{FSIM_F16, false, 2, 0x3c00, 0x4880},
                 {FSIM_BF16, false, 2, 0x3f80, 0x4110},
                 {FSIM_F32, true, 4, 0x3f800000, 0x41100000},
                 {FSIM_F64, false, 8, 0x3ff0000000000000, 0x4022000000000000}};
    bench *b = on_device(state);
    fsim_fault fault = {0};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        unsigned char ones[1024], out[1024];
        for (int i = 0; i < 1024; i++)
            ones[i] = (unsigned char)(types[t].one >> i % types[t].bytes * 8);
        assert_true(fsim_gpu_upload(b->g, b->y, ones, sizeof ones, NULL));
        fsim_gpu_buffer c = {b->y.at + 4096, 1024};
        const fsim_gpu_gemm_call call = {
            .name = "ones", .m = M, .n = COLUMNS, .k = K, .batch = 1, .type = types[t].type, .tf32 = types[t].tf32};
        fsim_gpu_kernel *k = fsim_gpu_gemm(b->g, &call, b->y, b->y, c, &fault);
        if (!k) {
            print_message("%s\n", fault.message);
            skip();
        }
        assert_true(fsim_gpu_run(b->g, k, NULL));
        assert_true(fsim_gpu_download(b->g, out, c, sizeof out, NULL));
        for (int e = 0; e < M * COLUMNS; e++) {
            uint64_t got = 0;
            memcpy(&got, out + e * types[t].bytes, (size_t)types[t].bytes);
            assert_int_equal(got, types[t].nine);
        }
    }
}

static double activated(fsim_gpu_activation a, double x)
{
    return a == FSIM_WITH_RELU        ? fmax(x, 0)
           : a == FSIM_WITH_TANH_GELU ? 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
                                      : x;
}

/* Where the operands lie: elements from the start of x. Odd, so that none is aligned to more than an element. */
enum { AT_B = 1001, AT_BIAS = 2003, AT_RESIDUAL = 2201, OPERANDS = 2400 };

/* One way: against a loop. false: there is no such library. */
static bool epilogue_is_right(bench *b, const fsim_gpu_gemm_call *shape, int type_bytes)
{
    const int batch = (int)shape->batch;
    fsim_gpu_gemm_call call = *shape;
    fsim_fault fault = {0};
    fsim_gpu_buffer second = {b->x.at + (fsim_cu_pointer)(AT_B * type_bytes), b->x.bytes - AT_B * type_bytes};
    if (call.bias.bytes)
        call.bias = (fsim_gpu_buffer){b->x.at + (fsim_cu_pointer)(AT_BIAS * type_bytes), call.bias.bytes};
    if (call.residual.bytes)
        call.residual = (fsim_gpu_buffer){b->x.at + (fsim_cu_pointer)(AT_RESIDUAL * type_bytes), call.residual.bytes};
    fsim_gpu_kernel *k = fsim_gpu_gemm(b->g, &call, b->x, second, b->y, &fault);
    if (!k) {
        print_message("%s\n", fault.message);
        return false;
    }
    assert_string_equal(fsim_gpu_library_of(k), "cuBLASLt");
    assert_true(fsim_gpu_run(b->g, k, NULL));
    fsim_gpu_unload(b->g, k);
    assert_true(fsim_gpu_download(b->g, b->out, b->y, batch * M * COLUMNS * type_bytes, NULL));
    for (int e = 0; e < batch * M * COLUMNS; e++) {
        const int matrix = e / (M * COLUMNS), i = e / COLUMNS % M, j = e % COLUMNS;
        const float *x = b->in + matrix * M * K, *y = b->in + AT_B;
        double sum = call.bias.at ? (double)b->in[AT_BIAS + matrix * (int)call.bias_stride + j] : 0;
        sum += call.residual.at ? (double)b->in[AT_RESIDUAL + e] : 0;
        for (int p = 0; p < K; p++)
            sum += (double)x[call.a_transposed ? p * M + i : i * K + p] *
                   (double)y[call.b_transposed ? j * K + p : p * COLUMNS + j];
        const double wanted = activated(call.activation, sum), got = fsim_element(call.type, b->out, e);
        assert_true(fabs(wanted - got) <=
                    (type_bytes == 2 ? 1e-2 : 2e-3) * fmax(1, fabs(wanted))); /* 2e-3: TF32, and hardware's tanh */
    }
    return true;
}

/* Either operand transposed, several matrices, with a bias, one for all or one each, a residual and an activation, in
 * every type. */
static void library_contractions_with_epilogues(void **state)
{
    static const struct {
        fsim_dtype type;
        bool tf32;
        int bytes;
    } types[] = {
        {FSIM_F32, false, 4}, {FSIM_F32, true, 4}, {FSIM_F16, false, 2}, {FSIM_BF16, false, 2}, {FSIM_F64, false, 8}};
    static unsigned char bytes[OPERANDS * 8];
    static float kept[N];
    bench *b = on_device(state);
    bool there = true;
    memcpy(kept, b->in, sizeof kept);
    for (int i = 0; i < OPERANDS; i++)
        b->in[i] = (float)(i * 37 % 64 - 32) / 16;
    for (size_t t = 0; t < sizeof types / sizeof *types && there; t++) {
        for (int i = 0; i < OPERANDS; i++)
            fsim_set_element(types[t].type, bytes, i, (double)b->in[i]);
        assert_true(fsim_gpu_upload(b->g, b->x, bytes, OPERANDS * types[t].bytes, NULL));
        for (int way = 0; way < 144 && there; way++) {
            const int batch = way & 4 ? BATCH : 1, bias = way / 8 % 3, activation = way / 24 % 3, residual = way / 72;
            if ((!bias && !activation && !residual) || (bias == 2 && batch == 1))
                continue;
            const fsim_gpu_gemm_call call = {
                .name = "dense",
                .m = M,
                .n = COLUMNS,
                .k = K,
                .batch = batch,
                .a_stride = M * K,
                .c_stride = M * COLUMNS,
                .a_transposed = way & 1,
                .b_transposed = way & 2,
                .type = types[t].type,
                .tf32 = types[t].tf32,
                .activation = (fsim_gpu_activation)activation,
                .bias_stride = bias == 2 ? 2 * COLUMNS : 0,
                .bias = {.bytes = bias ? 5 * COLUMNS * types[t].bytes : 0},
                .residual = {.bytes = residual ? batch * M * COLUMNS * types[t].bytes : 0}};
            there = epilogue_is_right(b, &call, types[t].bytes) ||
                    types[t].type == FSIM_F64; /* which the library may not have */
        }
    }
    memcpy(b->in, kept, sizeof kept);
    assert_true(fsim_gpu_upload(b->g, b->x, b->in, N * 4, NULL));
    if (!there)
        skip();
}

enum { WIDE = 128, AT_AUX = 4096 }; /* a row of bits that the library takes */

static double gelu_slope(double x)
{
    const double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 0.134145 * x * x);
}

/* A tanh GELU that stores what it reads, and slopes with sums of columns, of one matrix and of two: against a loop. */
static void library_contractions_with_slopes(void **state)
{
    bench *b = on_device(state);
    for (int way = 0; way < 6; way++) {
        const fsim_gpu_activation how = (fsim_gpu_activation)(FSIM_WITH_TANH_GELU + way % 3);
        const bool stores = how == FSIM_WITH_TANH_GELU;
        const int batch = way / 3 + 1, points = batch * M * WIDE;
        const fsim_gpu_buffer all = stores ? b->y : b->x;
        const fsim_gpu_gemm_call call = {.name = "sloped",
                                         .m = M,
                                         .n = WIDE,
                                         .k = K,
                                         .batch = batch,
                                         .a_stride = M * K,
                                         .c_stride = M * WIDE,
                                         .type = FSIM_F32,
                                         .activation = how,
                                         .sums = {stores || batch > 1 ? 0 : b->y.at + 2 * AT_AUX * 4, WIDE * 4},
                                         .aux = {all.at + AT_AUX * 4, all.bytes - AT_AUX * 4}};
        fsim_fault fault = {0};
        fsim_gpu_kernel *k = fsim_gpu_gemm(b->g, &call, b->x, b->x, b->y, &fault);
        if (!k) {
            print_message("%s\n", fault.message);
            skip();
        }
        assert_true(fsim_gpu_run(b->g, k, NULL));
        fsim_gpu_unload(b->g, k);
        assert_true(fsim_gpu_download(b->g, b->out, b->y, (2 * AT_AUX + WIDE) * 4, NULL));
        for (int c = 0; c < WIDE && call.sums.at; c++) {
            double sum = 0;
            for (int i = c; i < points; i += WIDE)
                sum += (double)b->out[i];
            assert_true(fabs(sum - (double)b->out[2 * AT_AUX + c]) <= 1e-4 * fmax(1, fabs(sum)));
        }
        for (int e = 0; e < points; e++) {
            double sum = 0;
            for (int p = 0; p < K; p++)
                sum += (double)b->in[e / WIDE * K + p] * (double)b->in[p * WIDE + e % WIDE];
            const bool bit = ((const unsigned char *)(b->in + AT_AUX))[e / 8] >> e % 8 & 1;
            const double wanted = stores                        ? activated(how, sum)
                                  : how == FSIM_WITH_RELU_SLOPE ? sum * bit
                                                                : sum * gelu_slope((double)b->in[AT_AUX + e]);
            assert_true(fabs(wanted - (double)b->out[e]) <= 2e-3 * fmax(1, fabs(wanted)));
            assert_true(!stores || fabs(sum - (double)b->out[AT_AUX + e]) <= 2e-3 * fmax(1, fabs(sum)));
        }
    }
}

/* The same call in a plan: launched one by one and as a graph. */
static void library_contractions_are_captured(void **state)
{
    bench *b = on_device(state);
    fsim_fault fault = {0};
    const fsim_gpu_gemm_call call = {.name = "dense",
                                     .m = M,
                                     .n = COLUMNS,
                                     .k = K,
                                     .batch = 1,
                                     .type = FSIM_F32,
                                     .activation = FSIM_WITH_RELU,
                                     .bias = {b->x.at + 8000, COLUMNS * 4}};
    fsim_gpu_kernel *k = fsim_gpu_gemm(b->g, &call, b->x, b->x, b->y, &fault);
    if (!k) {
        print_message("%s\n", fault.message);
        skip();
    }
    const fsim_gpu_plan plan = {"dense", &k, 1, false};
    fsim_measured_plan m = {0};
    fsim_measured_kernel measured;
    (void)!fsim_gpu_measure_plans(b->g, &plan, 1, &m, NULL, &fault);
    show(&fault);
    assert_null(m.failed);
    assert_true(m.graph.samples == LEAST && m.stream.samples == LEAST);
    (void)!fsim_gpu_measure(b->g, &k, 1, &measured, &fault);
    show(&fault);
    assert_true(measured.cold.samples > 0 && !measured.failed);
    fsim_gpu_unload(b->g, k);
    const fsim_gpu_gemm_call short_bias = {.name = "dense",
                                           .m = M,
                                           .n = COLUMNS,
                                           .k = K,
                                           .batch = 1,
                                           .type = FSIM_F32,
                                           .bias = {b->x.at, COLUMNS * 4 - 1}};
    assert_null(fsim_gpu_gemm(b->g, &short_bias, b->x, b->x, b->y, &fault));
    assert_int_equal(fault.status, FSIM_FAILED);
    const fsim_gpu_gemm_call short_residual = {.name = "dense",
                                               .m = M,
                                               .n = COLUMNS,
                                               .k = K,
                                               .batch = 1,
                                               .type = FSIM_F32,
                                               .residual = {b->x.at, M * COLUMNS * 4 - 1}};
    assert_null(fsim_gpu_gemm(b->g, &short_residual, b->x, b->x, b->y, &fault));
    assert_int_equal(fault.status, FSIM_FAILED);
}

/* Plans of a workload whose kernels are compiled, run on the reference's inputs and measured: three kernels as they
 * come, of which one is the library's product, and one kernel. */
static void plans_run_through_the_back_end(void **state)
{
    (void)state;
    static const char text[] = "tensors: {x: {shape: [64, 128], dtype: f32}, w: {shape: [96, 128], dtype: f32}, c: "
                               "{shape: [96], dtype: f32}}\n"
                               "operators:\n  - {op: linear, in: [x, w], out: l}\n  - {op: add, in: [l, c], out: a}\n  "
                               "- {op: relu, in: a, out: "
                               "y}\noutputs: [y]\n";
    static const fsim_strategy strategy[] = {FSIM_STRATEGY_UNFUSED, FSIM_STRATEGY_OPTIMAL};
    fsim_arena *a = fsim_arena_new();
    fsim_fault fault = {0};
    fsim_diag *d = fsim_diag_new(a);
    const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-80gb.yaml");
    const fsim_graph *g = fsim_graph_parse(a, d, "back.yaml", text, strlen(text), NULL);
    assert_true(hw && g);
    const fsim_options options = {
        .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 60000};
    fsim_device *r = fsim_device_open(FSIM_DEVICE_CUDA, &(fsim_device_options){.samples = LEAST, .jobs = 1}, a, &fault);
    if (!r) {
        print_message("%s\n", fault.message);
        fsim_arena_free(a);
        skip();
    }
    fsim_trial t = fsim_trial_of(g, hw, &options, strategy, 2, a);
    assert_true(fsim_trial_check(&t, r, &(fsim_trial_source){.most_s = 10}, &fault));
    assert_int_equal(t.scale, 1);
    for (int p = 0; p < 2; p++) {
        assert_int_equal(t.plan[p].plan.kernels, p ? 1 : 3);
        assert_int_equal(t.plan[p].checked, t.plan[p].plan.kernels);
        assert_int_equal(t.plan[p].wrong, 0);
    }
    (void)!fsim_trial_measure(&t, r, &(fsim_trial_how){.samples = LEAST, .kernels = true}, &fault);
    show(&fault);
    for (int p = 0; p < 2; p++) {
        assert_true(!t.plan[p].failed && !t.plan[p].differs && !t.plan[p].left_out);
        assert_true(t.plan[p].measured.stream.samples == LEAST);
        for (int k = 0; k < t.plan[p].plan.kernels; k++)
            assert_true(t.plan[p].measured.kernel[k].cold.samples > 0);
    }
    const char *facts = r->backend->facts(r, a);
    assert_true(strstr(facts, " SMs, ") && strstr(facts, "times by "));
    assert_true(r->backend->free_bytes(r) > 0);
    assert_null(r->backend->lost(r));
    r->backend->close(r);
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_compute),
        cmocka_unit_test(kernels_are_measured),
        cmocka_unit_test(plans_are_measured),
        cmocka_unit_test(measuring_ends_in_time),
        cmocka_unit_test(names_do_not_make_another_cubin),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(library_contractions_are_row_major),
        cmocka_unit_test(library_contractions_of_each_type),
        cmocka_unit_test(library_contractions_with_epilogues),
        cmocka_unit_test(library_contractions_with_slopes),
        cmocka_unit_test(library_contractions_are_captured),
    };
    const struct CMUnitTest alone[] = {cmocka_unit_test(plans_run_through_the_back_end)};
    return cmocka_run_group_tests(tests, open_bench, close_bench) || cmocka_run_group_tests(alone, NULL, NULL);
}
