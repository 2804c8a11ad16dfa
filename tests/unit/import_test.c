/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of other tools: CSV, Nsight Compute, PyTorch's traces, what names say, steps, and what is matched to a plan.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/unit.h"
#include "evidence/kernel_name.h"
#include "evidence/profile_rows.h"
#include "input/csv.h"
#include "plan/price/price.h"
#include "plan/rivals/rivals.h"
#include "predict.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    fsim_profile p;
    bool good;
} reading;

/* Text as a profile, from memory without a NUL behind it. */
static reading read_profile(const char *text)
{
    reading r = {.a = fsim_arena_new()};
    const size_t bytes = strlen(text);
    char *copy = malloc(bytes + 1);
    r.d = fsim_diag_new(r.a);
    memcpy(copy, text, bytes);
    copy[bytes] = '?'; /* whatever is there is no part of it */
    r.good = fsim_profile_read(r.a, r.d, "p", copy, bytes, &r.p);
    assert_int_equal(r.good, fsim_errors(r.d) == 0);
    free(copy);
    return r;
}

/* What is printed when text is no profile. In a static buffer. */
static const char *complaint(const char *text)
{
    static char said[8192];
    memset(said, 0, sizeof said);
    FILE *out = fmemopen(said, sizeof said - 1, "w");
    const reading r = read_profile(text);
    assert_false(r.good);
    fsim_diag_print(r.d, out, false);
    fclose(out);
    fsim_arena_free(r.a);
    return said;
}

#define assert_says(text, part) assert_non_null(strstr(complaint(text), part))
#define assert_near(x, y)       assert_true(fabs((double)(x) - (double)(y)) <= 1e-9 * fabs((double)(y)))

static void csv_reads_what_rfc_4180_writes(void **unused)
{
    (void)unused;
    static const char text[] = "\xEF\xBB\xBF"
                               "a,\"b,\"\"c\"\"\",\r\n\n\"two\nlines\",x,y z\nlast";
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    fsim_csv c = fsim_csv_open(a, d, "f", text, sizeof text - 1);
    assert_true(fsim_csv_next(&c));
    assert_int_equal(c.fields, 3);
    assert_string_equal(c.field[0].text, "a");
    assert_string_equal(c.field[1].text, "b,\"c\"");
    assert_true(c.field[1].quoted);
    assert_string_equal(c.field[2].text, "");
    assert_true(fsim_csv_next(&c));
    assert_string_equal(c.field[0].text, "two\nlines");
    assert_string_equal(c.field[2].text, "y z");
    assert_int_equal(fsim_csv_place(&c, 0).line, 3);
    assert_int_equal(fsim_csv_place(&c, 1).line, 4);
    assert_true(fsim_csv_next(&c));
    assert_string_equal(c.field[0].text, "last");
    assert_false(fsim_csv_next(&c));
    assert_int_equal(fsim_errors(d), 0);
    fsim_arena_free(a);
}

/* What a spreadsheet would run is written as text, and read back as it was; numbers with a sign stay numbers. */
static void csv_holds_no_formulas(void **unused)
{
    (void)unused;
    static const char *const cells[] = {"=1+1", "=cmd|' /C x'!A1", "+x",  "-x", "@sum(a,b)", "-1.5e-3",
                                        "+2",   "'quoted",         "a=b", ""};
    static const char wanted[] = "'=1+1|'=cmd|' /C x'!A1|'+x|'-x|\"'@sum(a,b)\"|-1.5e-3|+2|'quoted|a=b||";
    fsim_arena *a = fsim_arena_new();
    char *text = NULL;
    size_t bytes = 0;
    for (int pass = 0; pass < 2; pass++) {
        FILE *out = open_memstream(&text, &bytes);
        assert_non_null(out);
        for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
            fsim_csv_put(out, cells[i]);
            putc(pass ? ',' : '|', out);
        }
        fclose(out);
        if (pass == 0)
            assert_string_equal(text, wanted);
        else {
            fsim_csv c = fsim_csv_open(a, fsim_diag_new(a), "f", text, bytes);
            assert_true(fsim_csv_next(&c));
            for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
                assert_string_equal(c.field[i].text, cells[i]);
        }
        free(text);
    }
    fsim_arena_free(a);
}

static void profiler_units_are_decimal(void **unused)
{
    (void)unused;
    double f = 0;
    assert_true(fsim_profiler_unit("usecond", FSIM_DIM_SECONDS, &f) && f == 1e-6);
    assert_true(fsim_profiler_unit("Kbyte", FSIM_DIM_BYTES, &f) && f == 1e3);
    assert_true(fsim_profiler_unit("Gbyte", FSIM_DIM_BYTES, &f) && f == 1e9);
    assert_true(fsim_profiler_unit("sector", FSIM_DIM_BYTES, &f) && f == 32);
    assert_false(fsim_profiler_unit("byte", FSIM_DIM_SECONDS, &f));
    assert_false(fsim_profiler_unit("cycle", FSIM_DIM_SECONDS, &f));
}

#define LONG_HEADER                                                                                                    \
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block "             \
    "Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\","                                         \
    "\"Metric Unit\",\"Metric Value\"\n"
#define LONG_ROW(id, name, metric, unit, value)                                                                        \
    "\"" id "\",\"9\",\"python\",\"host\",\"" name                                                                     \
    "\",\"1\",\"7\",\"(256, 1, 1)\",\"(16384, 2, 1)\",\"0\",\"8.0\",\"s\",\"" metric "\",\"" unit "\",\"" value "\"\n"

static void ncu_with_a_line_a_metric(void **unused)
{
    (void)unused;
    const reading r = read_profile(
        "==PROF== Connected to process 9\nthe program's own line\n" LONG_HEADER LONG_ROW(
            "0", "k<int, 4>(int)", "gpu__time_duration.sum", "us", "1,205.50")
            LONG_ROW("0", "k<int, 4>(int)", "dram__bytes_read.sum", "Mbyte",
                     "12.5") "printed by the program\n" LONG_ROW("0", "k<int, 4>(int)", "dram__bytes_write.sum", "",
                                                                 "2.048")
                LONG_ROW("0", "k<int, 4>(int)", "Registers Per Thread", "register/thread", "40")
                    LONG_ROW("0", "k<int, 4>(int)", "sm__throughput.avg", "%", "n/a")
                        LONG_ROW("1", "k<int, 4>(int)", "gpu__time_duration.sum", "nsecond", "2,000") LONG_ROW(
                            "1", "k<int, 4>(int)", "dram__bytes_read.sum", "byte", "n/a") "==PROF== Disconnected\n");
    assert_true(r.good);
    assert_int_equal(r.p.launches, 2);
    assert_int_equal(r.p.names, 1);
    assert_string_equal(r.p.name[0], "k<int, 4>(int)");
    const fsim_profiled_launch *l = r.p.launch;
    assert_near(l[0].time_s, 1205.5e-6);
    assert_near(l[0].dram_read_bytes, 12.5e6);
    assert_near(l[0].dram_write_bytes, 2.048);
    assert_int_equal(l[0].registers, 40);
    assert_int_equal(l[0].grid[0], 16384);
    assert_int_equal(l[0].grid[1], 2);
    assert_int_equal(l[0].block[0], 256);
    assert_near(l[1].time_s, 2e-6);
    assert_true(isnan(l[1].dram_read_bytes));
    assert_false(r.p.timeline);
    fsim_arena_free(r.a);
}

static void ncu_with_a_line_a_kernel(void **unused)
{
    (void)unused;
    const reading r = read_profile("\"ID\",\"Kernel Name\",\"Grid "
                                   "Size\",\"dram__bytes_read.sum\",\"gpu__time_duration.sum\",\"lts__t_sectors.sum\","
                                   "\"launch__registers_per_thread\"\n"
                                   "\"\",\"\",\"\",\"Kbyte\",\"ms\",\"sector\",\"register/thread\"\n"
                                   "\"0\",\"a\",\"(4, 1, 1)\",\"1.5\",\"0.25\",\"10\",\"32\"\n"
                                   "\"1\",\"b\",\"(8, 1, 1)\",\"2\",\"1\",\"n/a\",\"16\"\n");
    assert_true(r.good);
    assert_int_equal(r.p.launches, 2);
    assert_near(r.p.launch[0].dram_read_bytes, 1500);
    assert_near(r.p.launch[0].time_s, 0.25e-3);
    assert_near(r.p.launch[0].l2_bytes, 320);
    assert_int_equal(r.p.launch[1].registers, 16);
    assert_true(isnan(r.p.launch[1].l2_bytes));
    fsim_arena_free(r.a);
}

static void numbers_of_any_locale(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        double value;
    } rows[] = {{"1205", 1205},
                {"1,205", 1205},
                {"117.344", 117.344},
                {"1,205.5", 1205.5},
                {"1.205,5", 1205.5},
                {"1.234.567", 1234567},
                {"12,5", 12.5},
                {"1 205,25", 1205.25},
                {"1'205", 1205},
                {"2.5e+3", 2500},
                {"12 (3 instances)", 12},
                {"1,234,567", 1234567},
                {"1\xC2\xA0"
                 "205",
                 1205},
                {"0.125", 0.125}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fsim_arena *a = fsim_arena_new();
        const reading r = read_profile(fsim_printf(a,
                                                   "%s\"0\",\"9\",\"p\",\"h\",\"k\",\"1\",\"7\",\"\",\"\",\"0\",\"8."
                                                   "0\",\"s\",\"gpu__time_duration.sum\",\"s\",\"%s\"\n",
                                                   LONG_HEADER, rows[i].text));
        assert_true(r.good);
        assert_near(r.p.launch[0].time_s, rows[i].value);
        fsim_arena_free(r.a);
        fsim_arena_free(a);
    }
}

static void one_number_tells_the_locale(void **unused)
{
    (void)unused;
    const reading r =
        read_profile(LONG_HEADER LONG_ROW("0", "k", "gpu__time_duration.sum", "ns", "117.344")
                         LONG_ROW("0", "k", "dram__bytes_read.sum", "byte", "27.595.520")
                             LONG_ROW("0", "k", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "65,77"));
    assert_true(r.good);
    assert_near(r.p.launch[0].time_s, 117344e-9);
    assert_near(r.p.launch[0].dram_read_bytes, 27595520);
    fsim_arena_free(r.a);
}

static void mistakes_have_a_place(void **unused)
{
    (void)unused;
    assert_says("", "p:1:1: error: the file is empty");
    assert_says("\x1F\x8B\x08zip", "gunzip");
    assert_says("PK\3\4", "zip archive");
    assert_says("hello\nworld\n", "p:1:1: error: this is no profile: wanted ");
    assert_says(LONG_HEADER, "p:1:1: error: a header and no kernels");
    assert_says("x\n" LONG_HEADER LONG_ROW("0", "k", "other", "%", "1"), "p:2:1: error: no kernel has a duration");
    assert_says(LONG_HEADER LONG_ROW("0", "k", "gpu__time_duration.sum", "fortnight", "1"),
                "is in 'fortnight': wanted ns, us, ms or s");
    assert_says(LONG_HEADER LONG_ROW("0", "k", "gpu__time_duration.sum", "us", "fast"),
                "error: 'fast' of 'gpu__time_duration.sum' is no number");
    assert_says(LONG_HEADER "\"0\",\"9\"\n", "p:2:1: error: 2 fields, the header has 15: is the file cut short?");
    assert_says(LONG_HEADER "\"0\",\"9\n", "p:2:5: error: this quote never ends");
    assert_says("\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\"\n", "no 'Metric Value'");
    assert_says("{", "p:1:2: error: the trace ends here");
    assert_says("{\"traceEvents\": [\n{\"ph\": \"X\", ", "p:2:13: error: the trace ends here");
    assert_says("{\"traceEvents\": [\n{\"ph\": }]}", "p:2:");
    assert_says("{\"traceEvents\": [{]}", "does not match the one that was opened");
    assert_says("{\"traceEvents\": {}}", "'traceEvents' is a list");
    assert_says("{\"traceEvents\": [1]}", "an event is an object");
    assert_says("{\"traceEvents\": [{} {}]}", "wanted a comma or ]");
    assert_says("{\"nothing\": 1}", "no 'traceEvents'");
    assert_says("{\"traceEvents\": []} x", "p:1:21: error: text behind the end");
    assert_says("{\"traceEvents\": []}", "the trace has no kernels");
    fsim_arena *a = fsim_arena_new();
    char *deep = fsim_new(a, char, 4000);
    memset(deep, '[', 3999);
    assert_says(fsim_printf(a, "{\"traceEvents\": [{\"a\": %s", deep), "nested too deeply");
    fsim_arena_free(a);
}

#define KERNEL(name, ts, dur, more)                                                                                    \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"ts\":" ts ",\"dur\":" dur                                \
    ",\"args\":{\"device\":0,\"stream\":7," more "}},\n"

static void a_trace_links_kernels_to_operators(void **unused)
{
    (void)unused;
    const reading r = read_profile(
        "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA T4\"}], "
        "\"traceEvents\": [\n"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::addmm\",\"ts\":1,\"dur\":9,\"args\":{"
        "\"External id\":5,\"Input Dims\":[[8],[4,16],[16,8],[],[[1],[2]]]}},\n"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"ts\":2,\"dur\":1,"
        "\"args\":{\"External id\":5,\"correlation\":77}},\n"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaGraphLaunch\",\"ts\":40,\"dur\":1,"
        "\"args\":{\"correlation\":78}},\n"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#3\",\"ts\":30,\"dur\":20,"
        "\"args\":{}},\n" KERNEL("late", "50", "2.5", "\"correlation\":78,\"grid\":[3,1,1],\"block\":[32,2,1]")
            KERNEL("early", "20.5", "1",
                   "\"correlation\":77,\"registers per thread\":\"24\",\"est. achieved occupancy %\": "
                   "NaN") "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pageable -> "
                          "Device)\",\"ts\":10,\"dur\":3,\"args\":{\"device\":0}},\n"
                          "{\"ph\":\"s\",\"id\":1,\"ts\":3,\"cat\":\"ac2g\",\"name\":\"ac2g\"},\n"
                          "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"f.py(1): "
                          "\\u00e9\",\"ts\":3,\"dur\":1}\n], \"traceName\": \"t.json\"}\n");
    assert_true(r.good);
    assert_string_equal(r.p.device_name, "NVIDIA T4");
    assert_int_equal(r.p.launches, 3);
    assert_true(r.p.timeline);
    assert_int_equal(r.p.launch[1].ran, FSIM_RAN_COPY); /* in the order of the host's calls */
    const fsim_profiled_launch *early = &r.p.launch[0], *late = &r.p.launch[2];
    assert_string_equal(r.p.name[early->name], "early");
    assert_near(early->start_s, 10.5e-6);
    assert_near(early->time_s, 1e-6);
    assert_int_equal(early->registers, 24);
    assert_int_equal(early->step, -1);
    assert_string_equal(r.p.call[early->call].name, "aten::addmm");
    assert_int_equal(r.p.call[early->call].tensors, 5);
    assert_int_equal(r.p.call[early->call].tensor[1].dim[1], 16);
    assert_int_equal(r.p.call[early->call].tensor[4].rank, 0);
    assert_true(late->graph);
    assert_int_equal(late->call, -1);
    assert_int_equal(late->step, 0);
    assert_int_equal(late->grid[0], 3);
    assert_int_equal(late->block[1], 2);
    fsim_arena_free(r.a);
}

static void the_first_kineto_is_read_too(void **unused)
{
    (void)unused;
    const reading r = read_profile("{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"aten::relu\","
                                   "\"ts\":1,\"dur\":1,\"args\":{\"External id\":2,\"Input dims\":[[4]]}},"
                                   "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"k\",\"ts\":2,\"dur\":7,\"args\":{"
                                   "\"external id\":2,\"device\":0}}]}");
    assert_true(r.good);
    assert_near(r.p.launch[0].time_s, 7e-6);
    assert_string_equal(r.p.call[r.p.launch[0].call].name, "aten::relu");
    fsim_arena_free(r.a);
}

static void names_say_what_kernels_do(void **unused)
{
    (void)unused;
    static const struct {
        const char *kernel, *operator, * shorter;
        unsigned kinds;
        int op; /* -1: none */
        fsim_helps helps;
    } rows[] = {
        {"ampere_sgemm_128x64_tn", "aten::addmm", "ampere_sgemm_128x64_tn", FSIM_DOES_GEMM, FSIM_OP_LINEAR, 0},
        {"void cutlass::Kernel<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(cutlass_80_simt_sgemm::Params)", NULL,
         "cutlass_80_simt_sgemm_256x128_8x4_nn_align1", FSIM_DOES_GEMM, -1, 0},
        {"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32", NULL,
         "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32", FSIM_DOES_GEMM, -1, 0},
        {"nvjet_hsh_192x192_64x4_1x2_h_bz_coopB_TNT", "aten::mm", "nvjet_hsh_192x192_64x4_1x2_h_bz_coopB_TNT",
         FSIM_DOES_GEMM, FSIM_OP_MATMUL, 0},
        {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw", NULL,
         "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw", FSIM_DOES_CONVOLUTION, -1, 0},
        {"void cudnn::ops::nchwToNhwcKernel<__half, __half, float, true, true>(int)", NULL, "nchwToNhwcKernel",
         FSIM_DOES_CONVOLUTION, -1, FSIM_HELPS_NEXT},
        {"void splitKreduce_kernel<32, 16>(x)", "aten::addmm", "splitKreduce_kernel", FSIM_DOES_GEMM, FSIM_OP_LINEAR,
         FSIM_HELPS_LAST},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
         "at::detail::Array<char*, 3> >(int)",
         NULL, "vectorized_elementwise_kernel<CUDAFunctor_add>", FSIM_DOES_POINTWISE, FSIM_OP_ADD, 0},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
         "at::native::binary_internal::MulFunctor<float> >, x>(int)",
         NULL, "vectorized_elementwise_kernel<MulFunctor>", FSIM_DOES_POINTWISE, FSIM_OP_MUL, 0},
        {"void at::native::vectorized_elementwise_kernel<4, "
         "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)::{lambda()#1}, x>(int)",
         NULL, "vectorized_elementwise_kernel<GeluCUDAKernelImpl>", FSIM_DOES_POINTWISE, FSIM_OP_GELU, 0},
        {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)", NULL,
         "vectorized_layer_norm_kernel", FSIM_DOES_REDUCTION, FSIM_OP_LAYER_NORM, 0},
        {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*)", NULL,
         "softmax_warp_forward", FSIM_DOES_REDUCTION, FSIM_OP_SOFTMAX, 0},
        {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float>(float*)", "aten::_softmax",
         "cunn_SoftMaxForward", FSIM_DOES_REDUCTION, FSIM_OP_SOFTMAX, 0},
        {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, "
         "float>, unsigned int, float, 4> >(x)",
         NULL, "reduce_kernel<MeanOps>", FSIM_DOES_REDUCTION, FSIM_OP_MEAN, 0},
        {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64> >(x)", NULL, "flash_fwd_kernel",
         FSIM_DOES_ATTENTION, -1, 0},
        {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(x)", "aten::_efficient_attention_forward",
         "fmha_cutlassF_f32_aligned_64x64_rf_sm80", FSIM_DOES_ATTENTION, FSIM_OP_ATTENTION, 0},
        {"void at::native::batch_norm_collect_statistics_kernel<x>(y)", "aten::native_batch_norm",
         "batch_norm_collect_statistics_kernel", FSIM_DOES_REDUCTION, FSIM_OP_BATCH_NORM, 0},
        {"void at::native::(anonymous namespace)::max_pool_forward_nchw<float>(x)", NULL, "max_pool_forward_nchw",
         FSIM_DOES_POOLING, FSIM_OP_MAX_POOL2D, 0},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", NULL, "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
         FSIM_DOES_COMMUNICATION, -1, 0},
        {"my_own_thing", NULL, "my_own_thing", 0, -1, 0},
    };
    fsim_arena *a = fsim_arena_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const fsim_says s = fsim_kernel_says(rows[i].kernel, rows[i].operator);
        assert_int_equal(s.kinds, rows[i].kinds);
        assert_int_equal(s.helps, rows[i].helps);
        assert_string_equal(fsim_kernel_short(a, rows[i].kernel), rows[i].shorter);
        if (rows[i].op >= 0)
            assert_true(fsim_op_in(&s.ops, (fsim_op)rows[i].op));
        else
            assert_true(fsim_op_none(&s.ops));
    }
    assert_false(fsim_op_in(&(fsim_op_set){{0}}, FSIM_OP_ADD));
    fsim_arena_free(a);
}

static void inductor_lists_what_it_fused(void **unused)
{
    (void)unused;
    const fsim_says s = fsim_kernel_says("triton_per_fused_add_native_layer_norm_5", NULL),
                    t = fsim_kernel_says("triton_poi_fused__softmax_max_pool2d_with_indices_mul_view_12", NULL);
    assert_int_equal(s.fused, 2);
    assert_true(fsim_op_in(&s.ops, FSIM_OP_ADD) && fsim_op_in(&s.ops, FSIM_OP_LAYER_NORM));
    assert_false(fsim_op_in(&s.ops, FSIM_OP_MUL));
    assert_int_equal(s.kinds, FSIM_DOES_REDUCTION);
    assert_int_equal(t.fused, 3);
    assert_true(fsim_op_in(&t.ops, FSIM_OP_SOFTMAX) && fsim_op_in(&t.ops, FSIM_OP_MAX_POOL2D) &&
                fsim_op_in(&t.ops, FSIM_OP_MUL));
    assert_int_equal(fsim_kernel_says("triton_poi_fused_1", NULL).fused, 0);
}

/* A profile of kernels "a" to "z", as the letters of order say; digits are steps, - is outside of any. */
static fsim_profile profile_of(const char *order, const char *step, fsim_arena *a)
{
    fsim_profile p = {.path = "p", .names = 26, .launches = (int)strlen(order)};
    p.launch = fsim_new(a, fsim_profiled_launch, p.launches + 1);
    p.name = fsim_new(a, const char *, 26);
    for (int i = 0; i < 26; i++)
        p.name[i] = fsim_printf(a, "%c", 'a' + i);
    for (int i = 0; i < p.launches; i++)
        p.launch[i] = (fsim_profiled_launch){
            .name = order[i] - 'a', .time_s = 1e-6, .call = -1, .step = step && step[i] != '-' ? step[i] - '0' : -1};
    return p;
}

static void steps_are_what_repeats(void **unused)
{
    (void)unused;
    static const struct {
        const char *order, *step;
        int wanted; /* of "a" */
        int launches, repeats, before, behind;
    } rows[] = {
        {"abcabcabc", NULL, 0, 3, 3, 0, 0},
        {"xyabcabcabc", NULL, 0, 3, 3, 2, 0},   /* warm-up */
        {"abcabcabcab", NULL, 0, 3, 3, 0, 2},   /* cut at the end */
        {"abcabcabcabzq", NULL, 0, 3, 3, 0, 4}, /* and something follows */
        {"abcdefg", NULL, 0, 7, 1, 0, 0},
        {"xababy", NULL, 0, 2, 2, 1, 1},
        {"xyzababuvw", NULL, 0, 10, 1, 0, 0}, /* two equal layers are no steps */
        {"abababab", NULL, 2, 4, 2, 0, 0},    /* two layers a step */
        {"abababab", NULL, 4, 8, 1, 0, 0},
        {"abcabxabxabxz", "0001112223338", 0, 3, 3, 3, 1}, /* marked: the first is warm-up */
        {"abababz", "000000-", 1, 2, 3, 0, 1},             /* one mark around three */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fsim_arena *a = fsim_arena_new();
        const fsim_profile p = profile_of(rows[i].order, rows[i].step, a);
        bool counted[26] = {true};
        const fsim_steps s = fsim_steps_of(&p, rows[i].wanted, counted, a);
        assert_int_equal(s.launches, rows[i].launches);
        assert_int_equal(s.repeats, rows[i].repeats);
        assert_int_equal(s.before, rows[i].before);
        assert_int_equal(s.behind, rows[i].behind);
        assert_int_equal(s.before + s.behind + s.launches * s.repeats, p.launches);
        fsim_arena_free(a);
    }
}

typedef struct {
    fsim_arena *a;
    fsim_profile p;
    fsim_import x;
} imported;

static imported import_file(const char *trace, const char *workload, fsim_strategy strategy)
{
    imported m = {.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(m.a);
    const char *why = "", *path = fsim_printf(m.a, "%s/tests/traces/%s", FUSESIM_SOURCE_DIR, trace),
               *yaml = fsim_printf(m.a, "%s/workloads/%s.yaml", FUSESIM_SOURCE_DIR, workload);
    size_t bytes = 0;
    fsim_mapped *file = fsim_map_file(m.a, path, &why);
    assert_non_null(file);
    assert_true(fsim_profile_read(m.a, d, path, file->text, file->bytes, &m.p));
    fsim_unmap(file);
    const char *text = fsim_read_file(m.a, yaml, &bytes, &why);
    const fsim_graph *g = fsim_graph_parse(m.a, d, yaml, text, bytes, NULL);
    const fsim_hw *hw = fsim_hw_read(m.a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
    assert_true(g && hw);
    const fsim_options how = {.strategy = strategy, .regime = FSIM_REGIME_KERNEL, .search_steps = 300000};
    fsim_problem problem = fsim_problem_of(g, hw, &how, m.a);
    fsim_plan *plan = fsim_new(m.a, fsim_plan, 1);
    fsim_baseline(&problem, strategy, m.a, plan);
    const fsim_import_as as = {"a100-sxm4-40gb", workload, "", strategy};
    m.x = fsim_import_of(&m.p, g, plan, &as, m.a);
    return m;
}

static const fsim_matched *match_of(const fsim_import *x, const char *primitives)
{
    for (int i = 0; i < x->matches; i++)
        if (strcmp(x->matched[i].primitives, primitives) == 0)
            return &x->matched[i];
    return NULL;
}

static const fsim_measured *row_of(const fsim_import *x, const char *end)
{
    for (int i = 0; i < x->rows; i++)
        if (strlen(x->row[i].id) >= strlen(end) && strcmp(x->row[i].id + strlen(x->row[i].id) - strlen(end), end) == 0)
            return &x->row[i];
    return NULL;
}

static void ncu_is_matched_by_order_and_kind(void **unused)
{
    (void)unused;
    const imported m = import_file("ncu-mlp.csv", "mlp", FSIM_STRATEGY_EAGER);
    assert_int_equal(m.x.steps.repeats, 3);
    assert_int_equal(m.x.matches, 3);
    assert_int_equal(m.x.lefts, 0);
    assert_int_equal(m.x.missings, 0);
    assert_int_equal(match_of(&m.x, "y")->launches, 2); /* with the sums of split-K */
    assert_non_null(strstr(match_of(&m.x, "g")->launched, "Gelu"));
    const fsim_measured *whole = row_of(&m.x, "/kernels");
    assert_non_null(whole);
    assert_int_equal(whole->l2, FSIM_L2_COLD);
    assert_true(whole->dram_read_bytes > 9e7 && whole->time_s > 4e-4 && whole->time_s < 5e-4);
    assert_null(row_of(&m.x, "/step")); /* ncu does not say when kernels started */
    assert_string_equal(row_of(&m.x, "[h]")->kernel, "h");
    fsim_arena_free(m.a);
}

static void a_trace_is_matched_by_operators_and_shapes(void **unused)
{
    (void)unused;
    const imported m = import_file("pytorch-bert-layer.json", "bert_layer", FSIM_STRATEGY_EAGER);
    assert_true(m.x.steps.marked);
    assert_int_equal(m.x.steps.repeats, 2); /* the first of three has a fill more */
    assert_int_equal(m.x.missings, 0);
    assert_null(m.x.not_whole);
    static const char *const pairs[][2] = {{"scaled", "MulFunctor"},    {"probabilities", "softmax"},
                                           {"sum1", "CUDAFunctor_add"}, {"sum2", "CUDAFunctor_add"},
                                           {"a", "layer_norm"},         {"y", "layer_norm"},
                                           {"f1", "256x128"},           {"f2", "128x128"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const fsim_matched *x = match_of(&m.x, pairs[i][0]);
        assert_non_null(x);
        assert_non_null(strstr(x->launched, pairs[i][1]));
    }
    const fsim_measured *step = row_of(&m.x, "/step"), *whole = row_of(&m.x, "/kernels");
    assert_int_equal(step->launch, FSIM_REGIME_STREAM);
    assert_true(step->time_s > whole->time_s);
    assert_string_equal(m.x.left[0].why, "moved by the driver, no kernel");
    fsim_arena_free(m.a);
}

static void a_compiled_trace_is_matched_by_fused_names(void **unused)
{
    (void)unused;
    const imported m = import_file("pytorch-bert-layer-compiled.json", "bert_layer", FSIM_STRATEGY_INDUCTOR);
    int triton = 0, right = 0;
    for (int i = 0; i < m.x.matches; i++) {
        const fsim_matched *x = &m.x.matched[i];
        triton += strstr(x->launched, "triton_") != NULL;
        right += strstr(x->launched, "softmax") && strstr(x->primitives, "probabilities");
        right += strstr(x->launched, "gelu") && strstr(x->primitives, "g");
        right += strstr(x->launched, "native_layer_norm_5") && strstr(x->primitives, "+a");
        right += strstr(x->launched, "native_layer_norm_7") && strstr(x->primitives, "+y");
    }
    assert_int_equal(right, 4);
    assert_true(triton >= 5);
    fsim_arena_free(m.a);
}

static void another_workload_gets_no_whole(void **unused)
{
    (void)unused;
    const imported m = import_file("pytorch-bert-layer.json", "ops/softmax", FSIM_STRATEGY_EAGER);
    assert_non_null(m.x.not_whole);
    assert_null(row_of(&m.x, "/kernels"));
    assert_null(row_of(&m.x, "/step"));
    double left = 0;
    for (int i = 0; i < m.x.lefts; i++)
        left += m.x.left[i].time_s;
    double matched = 0;
    for (int i = 0; i < m.x.matches; i++)
        matched += m.x.matched[i].time_s * m.x.steps.repeats;
    assert_true(fabs(left + matched - m.x.total_s) < 0.02 * m.x.total_s); /* nothing is lost: medians stand for steps */
    fsim_arena_free(m.a);
}

static void part_of_a_step_needs_sizes(void **unused)
{
    (void)unused;
    /* Of ncu's two matrix products one may be a linear layer's; the file has no sizes of theirs. */
    const imported m = import_file("ncu-mlp-raw.csv", "ops/linear", FSIM_STRATEGY_EAGER);
    assert_non_null(m.x.not_whole);
    assert_int_equal(m.x.matches, 1);
    assert_int_equal(m.x.withheld, 1);
    assert_int_equal(m.x.rows, 0);
    fsim_arena_free(m.a);
}

static void without_a_plan_kernels_are_listed(void **unused)
{
    (void)unused;
    const reading r =
        read_profile("\"ID\",\"Kernel Name\",\"Grid Size\",\"gpu__time_duration.sum\"\n\"\",\"\",\"\",\"us\"\n"
                     "\"0\",\"a\",\"(4, 1, 1)\",\"1\"\n\"1\",\"b\",\"(4, 1, 1)\",\"7\"\n\"2\",\"a\",\"(4, 1, "
                     "1)\",\"3\"\n\"3\",\"a\",\"(8, 1, 1)\",\"1\"\n");
    const fsim_import_as as = {"", "", "", FSIM_STRATEGY_EAGER};
    const fsim_import x = fsim_import_of(&r.p, NULL, NULL, &as, r.a);
    assert_int_equal(x.rows, 3);
    assert_string_equal(x.row[0].kernel, "b");
    assert_string_equal(x.row[0].workload, "");
    assert_near(x.row[1].time_s, 2e-6);
    assert_int_equal(x.matched[1].launches, 2);
    fsim_arena_free(r.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_reads_what_rfc_4180_writes),
        cmocka_unit_test(csv_holds_no_formulas),
        cmocka_unit_test(profiler_units_are_decimal),
        cmocka_unit_test(ncu_with_a_line_a_metric),
        cmocka_unit_test(ncu_with_a_line_a_kernel),
        cmocka_unit_test(numbers_of_any_locale),
        cmocka_unit_test(one_number_tells_the_locale),
        cmocka_unit_test(mistakes_have_a_place),
        cmocka_unit_test(a_trace_links_kernels_to_operators),
        cmocka_unit_test(the_first_kineto_is_read_too),
        cmocka_unit_test(names_say_what_kernels_do),
        cmocka_unit_test(inductor_lists_what_it_fused),
        cmocka_unit_test(steps_are_what_repeats),
        cmocka_unit_test(ncu_is_matched_by_order_and_kind),
        cmocka_unit_test(a_trace_is_matched_by_operators_and_shapes),
        cmocka_unit_test(a_compiled_trace_is_matched_by_fused_names),
        cmocka_unit_test(another_workload_gets_no_whole),
        cmocka_unit_test(part_of_a_step_needs_sizes),
        cmocka_unit_test(without_a_plan_kernels_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
