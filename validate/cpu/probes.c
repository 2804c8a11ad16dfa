/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cpu/probes.h"

#include "graph/op.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const fsim_probe_names[FSIM_PROBES] = {
    "copy", "read",    "write",   "triad", "copy in cache", "read in cache", "copy in core", "FP32",
    "FP64", "INT32",   "product", "clock", "dispatch",      "wake",          "latency",      "exp",
    "tanh", "sigmoid", "erf",     "sqrt",  "rsqrt",         "div",           "log"};
const char *const fsim_probe_units[FSIM_PROBES] = {
    "B/s",       "B/s",       "B/s",       "B/s",       "B/s",       "B/s",       "B/s",      "FLOP/s",
    "FLOP/s",    "results/s", "FLOP/s",    "Hz",        "s",         "s",         "s",        "results/s",
    "results/s", "results/s", "results/s", "results/s", "results/s", "results/s", "results/s"};
const unsigned fsim_probes_quick =
    FSIM_PROBE_BIT(FSIM_PROBE_COPY) | FSIM_PROBE_BIT(FSIM_PROBE_READ) | FSIM_PROBE_BIT(FSIM_PROBE_CACHE_COPY) |
    FSIM_PROBE_BIT(FSIM_PROBE_CORE_COPY) | FSIM_PROBE_BIT(FSIM_PROBE_FP32) | FSIM_PROBE_BIT(FSIM_PROBE_PRODUCT) |
    FSIM_PROBE_BIT(FSIM_PROBE_CLOCK) | FSIM_PROBE_BIT(FSIM_PROBE_DISPATCH) | FSIM_PROBE_BIT(FSIM_PROBE_EXP) |
    FSIM_PROBE_BIT(FSIM_PROBE_TANH) | FSIM_PROBE_BIT(FSIM_PROBE_SIGMOID) | FSIM_PROBE_BIT(FSIM_PROBE_ERF);

enum {
    ROUNDS = 9,
    BLOCK = 256, /* elements of a block, as in generated kernels */
    ELEM_BYTES = 4,
    CORE_ELEMS = 4096, /* of each tensor that belongs to one thread */
    LINE_BYTES = 64,
    CHASED = 20000, /* loads in one sample */
    TRIES = 4,
    WAKE_AFTER_US = 3000 /* after so long, pool threads sleep */
};
static const double most_dispatch_s = 0.05; /* of a sample of empty launches, where it has enough of them */
static const double most_idle = 0.05;
static const double sample_s = 1.5e-3; /* a sample repeats its launch for about so long */

/* args: two buffers, a constant, a number of iterations. NEXT hides from the compiler that all iterations do the
 * same. */
static const char streams_text[] =
    "#define KERNEL(name) void name(long long first, long long end, void *const *args)\n"
    "#define OPEN const float *restrict x = args[0], c = *(const float *)args[2]; float *restrict y = args[1]; const "
    "long long n = *(const long long *)args[3]; (void)x, (void)y, (void)c, (void)n;\n"
    "#define NEXT __asm__ volatile(\"\" ::: \"memory\")\n"
    "#define BLOCKS for (long long b = first; b < end; b++)\n"
    "KERNEL(probe_copy) { OPEN BLOCKS for (int i = 0; i < 256; i++) y[b * 256 + i] = x[b * 256 + i] + c; }\n"
    "KERNEL(probe_write) { OPEN BLOCKS { NEXT; for (int i = 0; i < 256; i++) y[b * 256 + i] = c + (float)i; } }\n"
    "KERNEL(probe_triad) { OPEN BLOCKS for (int i = 0; i < 256; i++) y[b * 256 + i] = x[b * 256 + i] + c * x[n + b * "
    "256 + i]; }\n"
    "KERNEL(probe_read) { OPEN float s[64] = {0};\n"
    "    BLOCKS for (int k = 0; k < 256; k += 64) for (int i = 0; i < 64; i++) s[i] += x[b * 256 + k + i];\n"
    "    for (int i = 0; i < 64; i++) if (s[i] == 12345.0f) y[0] = s[i]; }\n"
    "KERNEL(probe_core) { OPEN BLOCKS for (long long t = 0; t < n; t++) { NEXT; for (int i = 0; i < 4096; i++) y[b * "
    "4096 + i] = x[b * 4096 + i] + c; } }\n"
    "KERNEL(probe_empty) { (void)first, (void)end, (void)args; }\n"
    "KERNEL(probe_chase) { void **p = args[0]; const long long n = *(const long long *)args[3]; (void)first, "
    "(void)end;\n"
    "    for (long long i = 0; i < n; i++) p = *p;\n"
    "    *(void **)args[1] = p; }\n";

static const char rates_text[] =
    "#define KERNEL(name) void name(long long first, long long end, void *const *args)\n"
    "#define OPEN const long long n = *(const long long *)args[3]; const float c = *(const float *)args[2];\n"
    "typedef float f32 __attribute__((vector_size(64)));\n"
    "typedef double f64 __attribute__((vector_size(64)));\n"
    "typedef int i32 __attribute__((vector_size(64)));\n"
    "#define TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)\n"
    "#define BEGIN(k) a##k = a + k;\n"
    "#define MADD(k) a##k = a##k * s + c;\n"
    "#define ADDXOR(k) a##k = (a##k + s) ^ z;\n"
    "#define JOIN(k) sum += a##k;\n"
    "#define RATE(name, type, elem, step) KERNEL(name) { OPEN type a = {0}, s = a + (elem)c, z = a + (elem)3, sum = a, "
    "TWELVE_OF; (void)z;\\\n"
    "    TWELVE(BEGIN) for (long long b = first; b < end; b++) for (long long t = 0; t < n; t++) { TWELVE(step) }\\\n"
    "    TWELVE(JOIN) if (sum[0] == 12345) *(elem *)args[1] = sum[1]; }\n"
    "#define TWELVE_OF a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11\n"
    "RATE(probe_fp32, f32, float, MADD)\n"
    "RATE(probe_fp64, f64, double, MADD)\n"
    "RATE(probe_int32, i32, int, ADDXOR)\n"
    "KERNEL(probe_clock) { OPEN unsigned x = (unsigned)n, p = (unsigned)(c * 3), q = (unsigned)(c * 5) + 1;\n"
    "    for (long long b = first; b < end; b++) for (long long t = 0; t < n; t++) {\n"
    "        x = (x ^ p) + q; x = (x ^ p) + q; x = (x ^ p) + q; x = (x ^ p) + q; x = (x ^ p) + q; x = (x ^ p) + q; x = "
    "(x ^ p) + q; x = (x ^ p) + q; __asm__ volatile(\"\" : \"+r\"(x)); }\n"
    "    if (x == 12345) *(unsigned *)args[1] = x; }\n"
    "KERNEL(probe_product) { OPEN enum { T = 64, K = 256 };\n"
    "    for (long long b = first; b < end; b++) for (long long t = 0; t < n; t++) {\n"
    "        const float *restrict p = (const float *)args[0] + b * 2 * T * K, *restrict q = p + T * K; float "
    "*restrict y = (float *)args[1] + b * T * T;\n"
    "        for (int i = 0; i < T; i += 4) for (int j = 0; j < T; j += 32) {\n"
    "            float a0[32] = {0}, a1[32] = {0}, a2[32] = {0}, a3[32] = {0};\n"
    "            for (int k = 0; k < K; k++) {\n"
    "                const float *z = q + k * T + j, *w = p + i * K + k; const float w0 = w[0], w1 = w[K], w2 = w[2 * "
    "K], w3 = w[3 * K];\n"
    "                _Pragma(\"omp simd\") for (int l = 0; l < 32; l++) { a0[l] += w0 * z[l]; a1[l] += w1 * z[l]; "
    "a2[l] += w2 * z[l]; a3[l] += w3 * z[l]; } }\n"
    "            float *u = y + i * T + j;\n"
    "            for (int l = 0; l < 32; l++) { u[l] = a0[l]; u[T + l] = a1[l]; u[2 * T + l] = a2[l]; u[3 * T + l] = "
    "a3[l]; }\n"
    "        } __asm__ volatile(\"\" ::: \"memory\"); } }\n";

/* Replacements for the dialect's functions where the dialect is missing: vectors of the same length and the same
 * kind of arithmetic. */
static const char stand_ins[] =
    "#include <math.h>\n"
    "static inline float fs_expf(float x) { union { int i; float f; } u; x = x < -87.0f ? -87.0f : x; x = x > 88.0f ? "
    "88.0f : x; float k = x * 1.44269504f; k = (k + 12582912.0f) - 12582912.0f;\n"
    "    float r = x - k * 0.693359375f; r = r + k * 2.12194440e-4f; float p = 1.9875691500e-4f; p = p * r + "
    "1.3981999507e-3f; p = p * r + 8.3334519073e-3f; p = p * r + 4.1665795894e-2f;\n"
    "    p = p * r + 1.6666665459e-1f; p = p * r + 5.0000001201e-1f; p = p * r * r + r + 1.0f; u.i = ((int)k + 127) << "
    "23; return p * u.f; }\n"
    "static inline float fs_sigmoidf(float x) { return 1.0f / (1.0f + fs_expf(-x)); }\n"
    "static inline float fs_rsqrtf(float x) { return 1.0f / sqrtf(x); }\n"
    "static inline float fs_tanhf(float x) { return 1.0f - 2.0f / (1.0f + fs_expf(2.0f * x)); }\n"
    "static inline float fs_erff(float x) { float z = x < 0 ? -x : x, t = 1.0f / (1.0f + 0.3275911f * z), p = "
    "1.061405429f; p = p * t - 1.453152027f; p = p * t + 1.421413741f;\n"
    "    p = p * t - 0.284496736f; p = p * t + 0.254829592f; z = 1.0f - p * t * fs_expf(-z * z); return x < 0 ? -z : "
    "z; }\n"
    "static inline float fs_logf(float x) { union { float f; int i; } u = {x}; int e = (u.i - 0x3f3504f3) >> 23; u.i "
    "-= e << 23; float m = u.f - 1.0f, s = m / (2.0f + m), z = s * s;\n"
    "    return (float)e * 0.693147181f + 2.0f * s * (1.0f + z * (0.333333333f + z * (0.2f + z * 0.142857143f))); }\n"
    "#define tanhf fs_tanhf\n#define erff fs_erff\n#define logf fs_logf\n";

/* The functions, by the expression that kernels contain. */
static const struct {
    fsim_probe probe;
    fsim_op op;
} functions[] = {{FSIM_PROBE_EXP, FSIM_OP_EXP}, {FSIM_PROBE_TANH, FSIM_OP_TANH}, {FSIM_PROBE_SIGMOID, FSIM_OP_SIGMOID},
                 {FSIM_PROBE_ERF, FSIM_OP_ERF}, {FSIM_PROBE_SQRT, FSIM_OP_SQRT}, {FSIM_PROBE_RSQRT, FSIM_OP_RSQRT},
                 {FSIM_PROBE_DIV, FSIM_OP_DIV}, {FSIM_PROBE_LOG, FSIM_OP_LOG}};
enum { FUNCTIONS = sizeof functions / sizeof *functions, FIRST_FUNCTION = 2, PROGRAMS = FIRST_FUNCTION + FUNCTIONS };

static const char *const stream_entries[] = {"probe_copy", "probe_write", "probe_triad", "probe_read",
                                             "probe_core", "probe_empty", "probe_chase"};
static const char *const rate_entries[] = {"probe_fp32", "probe_fp64", "probe_int32", "probe_clock", "probe_product"};

typedef struct {
    fsim_cpu_pool *pool;
    fsim_arena *arena;
    fsim_cpu_module *module;
    fsim_cpu_entry *of[FSIM_PROBES]; /* NULL: not available */
    float *x, *y;
    void *chain;   /* chain of pointers; NULL: latency is not measured */
    int64_t bytes; /* of x, of y and of the chain */
    float c;
    long long n;
} bench;

/* expr with $0 and $1 replaced; $t is the letter of the type. */
static const char *expression(fsim_arena *a, const char *expr)
{
    const char *out = "";
    for (const char *p = expr; *p; p++) {
        const char *word = *p != '$' ? NULL : p[1] == '0' ? "x[i]" : p[1] == '1' ? "c" : p[1] == 't' ? "f" : NULL;
        out = word ? fsim_printf(a, "%s%s", out, word) : fsim_printf(a, "%s%c", out, *p);
        p += word != NULL;
    }
    return out;
}

static fsim_launch *launches_of(fsim_arena *a, const char *const *entry, int count)
{
    fsim_launch *l = fsim_new(a, fsim_launch, count);
    for (int i = 0; i < count; i++)
        l[i] = (fsim_launch){entry[i], 1, BLOCK, 0};
    return l;
}

/* The dialect. Where it has functions of its own, they replace those of libm in the operator table. */
static const char *prelude_of(fsim_arena *a, const char *header)
{
    static const char *const names[] = {"tanhf", "erff", "logf"};
    if (!header)
        return stand_ins;
    const char *text = "#include \"fusesim_dialect.h\"\n";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(header, fsim_printf(a, "fs_%s(", names[i])))
            text = fsim_printf(a, "%s#define %s fs_%s\n", text, names[i], names[i]);
    return text;
}

/* All sources: streams, rates, and one for each function, so that one that does not compile fails alone. */
static const fsim_program *programs_of(fsim_arena *a, const char *header, unsigned probes)
{
    fsim_program *p = fsim_new(a, fsim_program, PROGRAMS);
    p[0] = (fsim_program){
        .name = "probe_streams", .source = streams_text, .launches = sizeof stream_entries / sizeof *stream_entries};
    p[0].launch = launches_of(a, stream_entries, p[0].launches);
    p[1] = (fsim_program){
        .name = "probe_rates", .source = rates_text, .launches = sizeof rate_entries / sizeof *rate_entries};
    p[1].launch = launches_of(a, rate_entries, p[1].launches);
    for (int f = 0; f < FUNCTIONS; f++) {
        const char *source =
            fsim_printf(a,
                        "%s\nvoid probe_function(long long first, long long end, void *const *args)\n{\n"
                        "    const long long n = *(const long long *)args[3]; const float c = *(const float *)args[2] "
                        "+ 1.5f; (void)c;\n"
                        "    for (long long b = first; b < end; b++) {\n"
                        "        const float *restrict x = (const float *)args[0] + b * 4096; float *restrict y = "
                        "(float *)args[1] + b * 4096;\n"
                        "        for (long long t = 0; t < n; t++) { __asm__ volatile(\"\" ::: \"memory\");\n"
                        "            _Pragma(\"omp simd\") for (int i = 0; i < 4096; i++) y[i] = %s; } }\n}\n",
                        prelude_of(a, header), expression(a, fsim_ops[functions[f].op].expr));
        static const char *const entry[] = {"probe_function"};
        p[FIRST_FUNCTION + f] = (fsim_program){.name = fsim_printf(a, "probe_function_%d", f),
                                               .source = source,
                                               .launch = launches_of(a, entry, 1),
                                               .launches = 1};
        if (!(probes & FSIM_PROBE_BIT(functions[f].probe)))
            p[FIRST_FUNCTION + f] = (fsim_program){.name = "not_asked_for", .skipped = "not asked for"};
    }
    return p;
}

static fsim_cpu_entry *entry_of(const bench *b, int program, int launch)
{
    const fsim_cpu_kernel *k = &b->module->kernel[program];
    return k->failed ? NULL : k->entry[launch];
}

static void find_entries(bench *b)
{
    static const struct {
        fsim_probe probe;
        int program, launch;
    } table[] = {{FSIM_PROBE_COPY, 0, 0},      {FSIM_PROBE_CACHE_COPY, 0, 0}, {FSIM_PROBE_WRITE, 0, 1},
                 {FSIM_PROBE_TRIAD, 0, 2},     {FSIM_PROBE_READ, 0, 3},       {FSIM_PROBE_CACHE_READ, 0, 3},
                 {FSIM_PROBE_CORE_COPY, 0, 4}, {FSIM_PROBE_DISPATCH, 0, 5},   {FSIM_PROBE_WAKE, 0, 5},
                 {FSIM_PROBE_LATENCY, 0, 6},   {FSIM_PROBE_FP32, 1, 0},       {FSIM_PROBE_FP64, 1, 1},
                 {FSIM_PROBE_INT32, 1, 2},     {FSIM_PROBE_CLOCK, 1, 3},      {FSIM_PROBE_PRODUCT, 1, 4}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        b->of[table[i].probe] = entry_of(b, table[i].program, table[i].launch);
    for (int f = 0; f < FUNCTIONS; f++)
        b->of[functions[f].probe] = entry_of(b, FIRST_FUNCTION + f, 0);
}

/* A chain of pointers through all cache lines in random order, as one cycle (Sattolo). */
static void *chain_of(fsim_cpu_pool *p, int64_t bytes)
{
    const int64_t lines = bytes / LINE_BYTES;
    char *at = fsim_cpu_memory(p, bytes);
    uint32_t *order = malloc((size_t)lines * sizeof *order);
    uint64_t state = 88172645463325252u;
    for (int64_t i = 0; order && i < lines; i++)
        order[i] = (uint32_t)i;
    for (int64_t i = lines - 1; order && i > 0; i--) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        const int64_t k = (int64_t)(state % (uint64_t)i);
        const uint32_t other = order[k];
        order[k] = order[i];
        order[i] = other;
    }
    for (int64_t i = 0; at && order && i < lines; i++)
        *(void **)(void *)(at + (int64_t)order[i] * LINE_BYTES) = at + (int64_t)order[(i + 1) % lines] * LINE_BYTES;
    free(order);
    return at;
}

static bool open_bench(bench *b, fsim_cpu_pool *p, const fsim_cpu_compiler *compiler, unsigned probes, fsim_arena *a,
                       const char **why)
{
    const int64_t twice = 2 * fsim_cpu_cache_bytes(), least = (int64_t)64 << 20;
    *b = (bench){.pool = p, .arena = a, .bytes = twice > least ? twice : least, .c = 0};
    b->module = fsim_cpu_compile(programs_of(a, compiler->header, probes), PROGRAMS, compiler, a, why);
    if (b->module && b->module->kernel[0].failed)
        *why = b->module->kernel[0].failed;
    if (!b->module || b->module->kernel[0].failed)
        return false;
    find_entries(b);
    b->x = fsim_cpu_memory(p, b->bytes);
    b->y = fsim_cpu_memory(p, b->bytes);
    b->chain = probes & FSIM_PROBE_BIT(FSIM_PROBE_LATENCY) ? chain_of(p, b->bytes) : NULL;
    if (!b->x || !b->y)
        *why = "not enough memory";
    for (int64_t i = 0; b->x && i < b->bytes / ELEM_BYTES; i++)
        b->x[i] = 0.1f + (float)(i % 997) * 0.003f;
    return b->x && b->y;
}

static void close_bench(bench *b)
{
    fsim_cpu_memory_free(b->x, b->bytes);
    fsim_cpu_memory_free(b->y, b->bytes);
    fsim_cpu_memory_free(b->chain, b->bytes);
    fsim_cpu_unload(b->module);
}

/* A launch: `grid` points of a function. */
typedef struct {
    fsim_cpu_entry *entry;
    int64_t grid;
    void *const *args;
} probe_launch;

/* Seconds of one launch: repeats it for sample_s, at most `most` times. *idle: share of the time in which the
 * threads had no CPU. busiest: measure CPU time. */
static double try_launch_s(bench *b, probe_launch x, int most, bool busiest, double *idle)
{
    int done = 0;
    double took_s = 0;
    fsim_cpu_count_busiest(b->pool, busiest);
    const double start_s = fsim_now_s(), busy_s = fsim_cpu_busy_s(),
                 threads = x.grid < fsim_cpu_threads(b->pool) ? (double)x.grid : fsim_cpu_threads(b->pool);
    while (done == 0 || (took_s < sample_s && done < most)) {
        fsim_cpu_launch(b->pool, x.entry, x.grid, x.args);
        done++;
        took_s = fsim_now_s() - start_s;
    }
    *idle = 1 - (fsim_cpu_busy_s() - busy_s) / (threads * took_s);
    took_s = busiest ? fsim_cpu_busiest_s(b->pool) : took_s;
    fsim_cpu_count_busiest(b->pool, false);
    return took_s / done;
}

/* Repeats a measurement that other processes disturbed; the last repetition measures CPU time, which leaves out the
 * barrier. */
static double launch_s(bench *b, fsim_cpu_entry *entry, int64_t grid, void *const *args, int most)
{
    double idle = 1, took_s = 0;
    for (int i = 0; i < TRIES && idle > most_idle; i++)
        took_s = try_launch_s(b, (probe_launch){entry, grid, args}, most, i == TRIES - 1, &idle);
    return took_s;
}

/* Seconds of an empty launch: the median of short series. It is mostly barrier, so CPU time does not measure it; and a
 * thread that waits for its CPU while another process has it takes as long as thousands of launches, in few series. */
static double dispatch_s(bench *b)
{
    enum { SERIES = 101, LEAST_SERIES = 15, EACH = 8 };
    void *const none[] = {NULL};
    double each_s[SERIES];
    int done = 0;
    const double start_s = fsim_now_s();
    while (done < SERIES && (done < LEAST_SERIES || fsim_now_s() - start_s < most_dispatch_s)) {
        const double from_s = fsim_now_s();
        for (int i = 0; i < EACH; i++)
            fsim_cpu_launch(b->pool, b->of[FSIM_PROBE_DISPATCH], fsim_cpu_threads(b->pool), none);
        each_s[done++] = (fsim_now_s() - from_s) / EACH;
    }
    return fsim_times_of(each_s, done).median_s;
}

/* Bytes per second, where `tensors` tensors of `bytes` each are read or written. */
static double stream(bench *b, fsim_cpu_entry *entry, int64_t bytes, int tensors)
{
    const int64_t grid = bytes / (BLOCK * ELEM_BYTES);
    b->n = bytes / ELEM_BYTES;
    void *const args[] = {b->x, b->y, &b->c, &b->n};
    const bool in_cache = bytes < b->bytes / 2;
    if (in_cache)
        fsim_cpu_launch(b->pool, entry, grid, args);
    return (double)tensors * (double)bytes / launch_s(b, entry, grid, args, in_cache ? 1000 : 1);
}

/* Rate of `per` operations in each of n iterations, in every thread. */
static double thread_rate(bench *b, fsim_probe p, double per, long long n)
{
    const int threads = fsim_cpu_threads(b->pool);
    b->n = n;
    void *const args[] = {b->x, b->y, &b->c, &b->n};
    return per * (double)n * threads / launch_s(b, b->of[p], threads, args, 1);
}

static double wake_s(bench *b)
{
    void *const args[] = {NULL};
    double ignored;
    usleep(WAKE_AFTER_US);
    return try_launch_s(b, (probe_launch){b->of[FSIM_PROBE_WAKE], fsim_cpu_threads(b->pool), args}, 1, false, &ignored);
}

static double latency_s(bench *b)
{
    void *end = NULL;
    b->n = CHASED;
    void *const args[] = {b->chain, &end, &b->c, &b->n};
    const double took_s = launch_s(b, b->of[FSIM_PROBE_LATENCY], 1, args, 1);
    b->chain = end ? end : b->chain; /* continue in the chain: no line is visited twice */
    return took_s / CHASED;
}

/* A sample of the probe, in its unit. */
static double sample(bench *b, fsim_probe p)
{
    const int64_t quarter = fsim_cpu_cache_bytes() / 8 / (BLOCK * ELEM_BYTES) *
                            (BLOCK * ELEM_BYTES); /* an eighth of the cache for each of the two tensors */
    switch (p) {
    case FSIM_PROBE_COPY:
        return stream(b, b->of[p], b->bytes, 2);
    case FSIM_PROBE_READ:
    case FSIM_PROBE_WRITE:
        return stream(b, b->of[p], b->bytes, 1);
    case FSIM_PROBE_TRIAD:
        return stream(b, b->of[p], b->bytes / 2, 3);
    case FSIM_PROBE_CACHE_COPY:
        return stream(b, b->of[p], quarter, 2);
    case FSIM_PROBE_CACHE_READ:
        return stream(b, b->of[p], 2 * quarter, 1);
    case FSIM_PROBE_CORE_COPY:
        return thread_rate(b, p, 2.0 * CORE_ELEMS * ELEM_BYTES, 8000);
    case FSIM_PROBE_FP32:
        return thread_rate(b, p, 2.0 * 12 * 16, 200000);
    case FSIM_PROBE_FP64:
        return thread_rate(b, p, 2.0 * 12 * 8, 200000);
    case FSIM_PROBE_INT32:
        return thread_rate(b, p, 2.0 * 12 * 16, 200000);
    case FSIM_PROBE_PRODUCT:
        return thread_rate(b, p, 2.0 * 64 * 64 * 256, 100);
    case FSIM_PROBE_CLOCK:
        return thread_rate(b, p, 16, 400000) / fsim_cpu_threads(b->pool);
    case FSIM_PROBE_DISPATCH:
        return dispatch_s(b);
    case FSIM_PROBE_WAKE:
        return wake_s(b);
    case FSIM_PROBE_LATENCY:
        return latency_s(b);
    default:
        return thread_rate(b, p, CORE_ELEMS, 400);
    }
}

/* Sets the footprints to measure: 64 KiB up to both buffers, doubling. */
static void begin_sizes(const bench *b, fsim_host_probes *h)
{
    for (int64_t bytes = 64 << 10; bytes <= 2 * b->bytes && h->sizes < FSIM_MOST_SIZES; bytes *= 2)
        h->size[h->sizes++].bytes = bytes;
}

/* The footprint at which the bandwidth of copies is half way from the cache's to memory's. */
static int64_t effective_bytes(const fsim_host_probes *h)
{
    const double fast = h->of[FSIM_PROBE_CACHE_COPY].median, slow = h->of[FSIM_PROBE_COPY].median,
                 half = sqrt(fast * slow);
    if (!(fast > 1.2 * slow))
        return 0;
    for (int i = h->sizes - 1; i > 0; i--) {
        const double below = h->size[i - 1].bytes_per_s.median, above = h->size[i].bytes_per_s.median;
        if (below >= half)
            return (int64_t)((double)h->size[i - 1].bytes *
                             (above < half ? exp2(log(below / half) / log(below / above)) : 1));
    }
    return 0;
}

/* In each round, takes a sample of each probe, then of each size. */
static void run_rounds(bench *b, unsigned probes, int rounds, fsim_host_probes *h)
{
    double *s = fsim_new(b->arena, double, (FSIM_PROBES + FSIM_MOST_SIZES) * rounds);
    for (int r = 0; r < rounds; r++) {
        for (int p = 0; p < FSIM_PROBES; p++)
            if ((probes & FSIM_PROBE_BIT(p)) && b->of[p] && (p != FSIM_PROBE_LATENCY || b->chain))
                s[p * rounds + r] = sample(b, (fsim_probe)p);
        for (int i = 0; i < h->sizes; i++)
            s[(FSIM_PROBES + i) * rounds + r] = stream(b, b->of[FSIM_PROBE_COPY], h->size[i].bytes / 2, 2);
    }
    for (int p = 0; p < FSIM_PROBES; p++)
        h->of[p] = fsim_spread_of_samples(s + p * rounds, s[p * rounds] > 0 ? rounds : 0);
    for (int i = 0; i < h->sizes; i++)
        h->size[i].bytes_per_s = fsim_spread_of_samples(s + (FSIM_PROBES + i) * rounds, rounds);
}

fsim_host_probes *fsim_host_probe(fsim_cpu_pool *p, const fsim_cpu_compiler *compiler, unsigned probes, int rounds,
                                  fsim_arena *a, const char **why)
{
    bench b;
    fsim_host_probes *h = fsim_new(a, fsim_host_probes, 1);
    const double start_s = fsim_now_s();
    const char *info = fsim_cpu_info(a, why);
    const bool good = info && open_bench(&b, p, compiler, probes, a, why);
    void *const chain = b.chain;
    if (good) {
        *h = (fsim_host_probes){.threads = fsim_cpu_threads(p),
                                .rounds = rounds > 0 ? rounds : ROUNDS,
                                .cpu = fsim_cpu_name(info, a),
                                .compiler = b.module->compiler};
        h->cache_bytes = fsim_cpu_cache_bytes();
        h->core_cache_bytes = fsim_cpu_core_cache_bytes();
        h->memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
        if (probes == FSIM_PROBES_ALL)
            begin_sizes(&b, h);
        run_rounds(&b, probes, h->rounds, h);
        h->effective_bytes = h->sizes ? effective_bytes(h) : 0;
    }
    b.chain = chain;
    close_bench(&b);
    h->took_s = fsim_now_s() - start_s;
    return good ? h : NULL;
}

double fsim_relative_spread(fsim_spread_of x)
{
    return x.samples > 0 && x.median > 0 ? (x.high - x.low) / 2 / x.median : 0;
}
