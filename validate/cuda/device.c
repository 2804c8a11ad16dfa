/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/device.h"

#include "base/unit.h"
#include "validate/cuda/activity.h"
#include "validate/cuda/blas.h"
#include "validate/cuda/blaslt.h"
#include "validate/device/texts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OLDEST_DRIVER = 11000, STATIC_SHARED_BYTES = 48 << 10, SWEPT_BYTES = 64 << 20 };
static const double usual_timeout_s = 30, usual_budget_s = 0.25;

/* The kernels that measuring takes. Not in the dialect: they use what is NVIDIA's alone. Emulated, as in tests, a sweep
 * is only seen to read its buffer. */
const char fsim_helper_source[] =
    "#ifdef FS_EMULATED\n"
    "void fsim_empty(void **params) { (void)params; }\n"
    "void fsim_flush(void **params) { (void)*(const unsigned **)params[0]; }\n"
    "void fsim_clock(void **params)\n"
    "{\n"
    "    unsigned long long *at = *(unsigned long long **)params[0];\n"
    "    at[0] = (unsigned long long)fs_globaltimer();\n"
    "    at[1] = (unsigned long long)fs_clock();\n"
    "}\n"
    "#else\n"
    "extern \"C\" __global__ void fsim_empty() {}\n"
    "__device__ __forceinline__ unsigned load(const uint4 *at) /* past L1 */\n"
    "{\n"
    "    uint4 v;\n"
    "    asm volatile(\"ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];\" : \"=r\"(v.x), \"=r\"(v.y), \"=r\"(v.z), "
    "\"=r\"(v.w) : \"l\"(at));\n"
    "    return v.x ^ v.y ^ v.z ^ v.w;\n"
    "}\n"
    "/* count: of 16 bytes, a multiple of 4. */\n"
    "extern \"C\" __global__ void __launch_bounds__(256) fsim_flush(const uint4 *at, unsigned long long count, "
    "unsigned *sink)\n"
    "{\n"
    "    unsigned sum = 0;\n"
    "    for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < count / 4; i += gridDim.x * 256ull)\n"
    "        sum ^= load(at + i) ^ load(at + i + count / 4) ^ load(at + i + count / 2) ^ load(at + i + count / 4 * "
    "3);\n"
    "    if (sum == 0x12345677u)\n"
    "        *sink = sum;\n"
    "}\n"
    "/* Nanoseconds and cycles of the SM that a block runs on. */\n"
    "extern \"C\" __global__ void fsim_clock(unsigned long long *at)\n"
    "{\n"
    "    unsigned sm;\n"
    "    unsigned long long ns;\n"
    "    asm volatile(\"mov.u32 %0, %%smid;\" : \"=r\"(sm));\n"
    "    asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(ns));\n"
    "    if (sm < 1024) {\n"
    "        at[2 * sm] = ns;\n"
    "        at[2 * sm + 1] = clock64();\n"
    "    }\n"
    "}\n"
    "#endif\n";

/* Errors. */

/* Those that leave the context unusable: NVIDIA says so of each of them. */
static bool fatal(int result)
{
    static const int known[] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == result)
            return true;
    return false;
}

bool fsim_gpu_usable(fsim_gpu *g, fsim_fault *fault)
{
    return !g->lost || fsim_fail(fault, g->a, FSIM_UNAVAILABLE, "%s", g->lost);
}

bool fsim_gpu_ok(fsim_gpu *g, int result, const char *doing, fsim_fault *fault)
{
    const char *name = NULL, *text = NULL;
    if (result == 0)
        return true;
    (void)!g->cu.cuGetErrorName(result, &name);
    (void)!g->cu.cuGetErrorString(result, &text);
    const char *message = fsim_printf(g->a, "%s failed: %s (%s, %d)", doing, text ? text : "the driver gives no reason",
                                      name ? name : "unknown error", result);
    if (fatal(result) && !g->lost)
        g->lost = fsim_printf(g->a, "%s; nothing more can be run on the device", message);
    return fsim_fail(fault, g->a, FSIM_UNAVAILABLE, "%s", fatal(result) ? g->lost : message);
}

/* cuInit and what follows it, in words that say what to do. */
static bool start_failed(fsim_gpu *g, int result, fsim_fault *fault)
{
    fsim_arena *a = g->a;
    switch (result) {
    case FSIM_CU_STUB_LIBRARY:
        return fsim_fail(fault, a, FSIM_UNAVAILABLE,
                         "%s is the stub that programs are linked with, not the driver: take the toolkit's lib64/stubs "
                         "out of LD_LIBRARY_PATH, or install the driver",
                         g->facts.driver_path);
    case FSIM_CU_NO_DEVICE:
        return fsim_fail(fault, a, FSIM_UNAVAILABLE,
                         "the NVIDIA driver finds no GPU: see that nvidia-smi lists one and that CUDA_VISIBLE_DEVICES "
                         "does not hide it (in a container: docker run --gpus all)");
    case FSIM_CU_DEVICE_UNAVAILABLE:
        return fsim_fail(
            fault, a, FSIM_UNAVAILABLE,
            "the GPU is taken by another process in exclusive mode: wait for that, or set nvidia-smi -c DEFAULT");
    case FSIM_CU_SYSTEM_DRIVER_MISMATCH:
        return fsim_fail(
            fault, a, FSIM_UNAVAILABLE,
            "%s and the kernel's NVIDIA driver are of different versions: reboot, or reload the driver's module",
            g->facts.driver_path);
    default:
        return fsim_gpu_ok(g, result, "starting the NVIDIA driver", fault);
    }
}

bool fsim_gpu_wait(fsim_gpu *g, const char *name, fsim_fault *fault)
{
    static const double spin_s = 0.02; /* as long as a nap would show in what is measured by the processor's clock */
    const double start_s = fsim_now_s();
    const struct timespec nap = {.tv_nsec = 50000};
    int result;
    while ((result = g->cu.cuStreamQuery(g->stream)) == FSIM_CU_NOT_READY) {
        const double waited_s = fsim_now_s() - start_s;
        if (waited_s > g->option.timeout_s) {
            g->lost = fsim_printf(g->a, "'%s' did not finish within %g s: the kernel hangs, and the device is given up",
                                  name, g->option.timeout_s);
            return fsim_gpu_usable(g, fault);
        }
        if (waited_s > spin_s)
            nanosleep(&nap, NULL);
    }
    if (result == 0)
        return true;
    fsim_fault why = {0};
    fsim_gpu_ok(g, result, fsim_printf(g->a, "running '%s'", name), &why);
    g->lost = g->lost ? g->lost : why.message;
    return fsim_gpu_usable(g, fault);
}

const char *fsim_gpu_noise(fsim_gpu *g, const char *name, const fsim_times *t)
{
    static const double most_spread = 0.25, resolution_s = 1e-6;
    const double spread_s = t->high_s - t->low_s;
    if (t->samples == 0 || spread_s <= resolution_s || spread_s <= most_spread * t->median_s)
        return NULL;
    return fsim_printf(g->a,
                       "the middle half of the times of '%s' spreads over %.0f %% of their median: is something else "
                       "running on the GPU?",
                       name, 100 * spread_s / t->median_s);
}

/* Opening. */

static int attribute(const fsim_gpu *g, int which)
{
    int value = 0;
    return g->cu.cuDeviceGetAttribute(&value, which, g->device) == 0 ? value : 0;
}

static const char *uuid_of(fsim_gpu *g)
{
    fsim_cu_uuid uuid;
    if (!g->cu.cuDeviceGetUuid || g->cu.cuDeviceGetUuid(&uuid, g->device) != 0)
        return NULL;
    char *text = fsim_strdup(g->a, "GPU");
    for (int i = 0; i < 16; i++)
        text = fsim_printf(g->a, "%s%s%02x", text, i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                           uuid.byte[i]);
    return text;
}

static bool open_driver(fsim_gpu *g, fsim_fault *fault)
{
    fsim_library library;
    int count = 0;
    if (!fsim_open_cuda(g->a, &library, &g->cu, fault))
        return false;
    g->facts.driver_path = library.path;
    int result = g->cu.cuInit(0);
    if (result == 0)
        result = g->cu.cuDriverGetVersion(&g->facts.driver_version);
    if (result == 0)
        result = g->cu.cuDeviceGetCount(&count);
    if (result == 0 && count == 0)
        result = FSIM_CU_NO_DEVICE;
    if (result != 0)
        return start_failed(g, result, fault);
    if (g->facts.driver_version < OLDEST_DRIVER)
        return fsim_fail(fault, g->a, FSIM_UNAVAILABLE,
                         "the NVIDIA driver is too old: it supports CUDA %d.%d, and 11.0 is needed. Update it",
                         g->facts.driver_version / 1000, g->facts.driver_version % 1000 / 10);
    if (g->option.device < 0 || g->option.device >= count)
        return fsim_fail(fault, g->a, FSIM_UNAVAILABLE, "there is no GPU %d: the driver finds %d, counted from 0",
                         g->option.device, count);
    return fsim_gpu_ok(g, g->cu.cuDeviceGet(&g->device, g->option.device), "choosing the GPU", fault);
}

static bool read_facts(fsim_gpu *g, fsim_fault *fault)
{
    fsim_gpu_facts *f = &g->facts;
    char name[256] = "";
    if (!fsim_gpu_ok(g, g->cu.cuDeviceGetName(name, sizeof name, g->device), "reading the GPU's name", fault))
        return false;
    f->name = fsim_strdup(g->a, name);
    f->uuid = uuid_of(g);
    f->sm = 10 * attribute(g, FSIM_CU_CAPABILITY_MAJOR) + attribute(g, FSIM_CU_CAPABILITY_MINOR);
    f->sms = attribute(g, FSIM_CU_SMS);
    f->threads_per_sm = attribute(g, FSIM_CU_THREADS_PER_SM);
    f->memory_bus_bits = attribute(g, FSIM_CU_MEMORY_BUS_BITS);
    f->clock_hz = 1e3 * attribute(g, FSIM_CU_CLOCK_KHZ);
    f->memory_clock_hz = 1e3 * attribute(g, FSIM_CU_MEMORY_CLOCK_KHZ);
    f->l2_bytes = attribute(g, FSIM_CU_L2_BYTES);
    f->shared_bytes_per_block = attribute(g, FSIM_CU_SHARED_BYTES_PER_BLOCK_OPTIN);
    f->shared_bytes_per_sm = attribute(g, FSIM_CU_SHARED_BYTES_PER_SM);
    f->threads_per_block = attribute(g, FSIM_CU_THREADS_PER_BLOCK);
    f->blocks_per_sm = attribute(g, FSIM_CU_BLOCKS_PER_SM);
    f->registers_per_sm = attribute(g, FSIM_CU_REGISTERS_PER_SM);
    f->warp_size = attribute(g, FSIM_CU_WARP_SIZE);
    if (f->sm > 0 && f->sms > 0)
        return true;
    return fsim_fail(fault, g->a, FSIM_UNAVAILABLE, "the NVIDIA driver does not say what kind of GPU '%s' is", name);
}

static bool open_compiler(fsim_gpu *g, fsim_fault *fault)
{
    g->nvrtc = fsim_nvrtc_open(g->a, g->facts.driver_version / 1000, fault);
    if (!g->nvrtc)
        return false;
    g->facts.nvrtc_version = 1000 * g->nvrtc->major + 10 * g->nvrtc->minor;
    g->facts.nvrtc_path = g->nvrtc->library.path;
    return true;
}

/* The primary context: there is one way to get it in all versions of CUDA, and cuBLAS uses it too. */
static bool open_context(fsim_gpu *g, fsim_fault *fault)
{
    size_t free_bytes = 0, total_bytes = 0;
    const int result = g->cu.cuDevicePrimaryCtxRetain(&g->context, g->device);
    if (result == FSIM_CU_DEVICE_UNAVAILABLE)
        return start_failed(g, result, fault);
    if (!fsim_gpu_ok(g, result, "opening the GPU", fault) ||
        !fsim_gpu_ok(g, g->cu.cuCtxSetCurrent(g->context), "opening the GPU", fault) ||
        !fsim_gpu_ok(g, g->cu.cuMemGetInfo_v2(&free_bytes, &total_bytes), "asking for the GPU's memory", fault))
        return false;
    g->facts.free_bytes = (int64_t)free_bytes;
    g->facts.memory_bytes = (int64_t)total_bytes;
    return fsim_gpu_ok(g, g->cu.cuStreamCreate(&g->stream, FSIM_CU_STREAM_DEFAULT), "making a stream", fault);
}

static bool load_module(fsim_gpu *g, const fsim_cubin *c, const char *name, fsim_cu_module *module, fsim_fault *fault)
{
    const int result = g->cu.cuModuleLoadDataEx(module, c->cubin, 0, NULL, NULL);
    if (result == FSIM_CU_INVALID_IMAGE || result == FSIM_CU_NO_BINARY_FOR_GPU)
        return fsim_fail(fault, g->a, FSIM_UNAVAILABLE,
                         "the driver, of CUDA %d.%d, does not take what NVRTC %d.%d made of '%s': update the driver, "
                         "or set $FUSESIM_NVRTC_LIB to a libnvrtc of its version",
                         g->facts.driver_version / 1000, g->facts.driver_version % 1000 / 10, g->nvrtc->major,
                         g->nvrtc->minor, name);
    return fsim_gpu_ok(g, result, fsim_printf(g->a, "loading '%s'", name), fault);
}

static bool get_function(fsim_gpu *g, fsim_cu_module module, const char *symbol, const char *name,
                         fsim_cu_function *out, fsim_fault *fault)
{
    return fsim_gpu_ok(g, g->cu.cuModuleGetFunction(out, module, symbol),
                       fsim_printf(g->a, "looking for kernel '%s'", name), fault);
}

static bool open_helpers(fsim_gpu *g, fsim_fault *fault)
{
    fsim_cubin c;
    if (!fsim_nvrtc_compile(g->nvrtc, &(fsim_nvrtc_source){"fusesim_helpers.cu", fsim_helper_source, g->facts.sm}, NULL,
                            g->a, &c)) {
        if (fault)
            *fault = c.fault;
        return false;
    }
    const int64_t swept = 2 * g->facts.l2_bytes > SWEPT_BYTES ? 2 * g->facts.l2_bytes : SWEPT_BYTES;
    if (!load_module(g, &c, "fusesim_helpers.cu", &g->helpers, fault) ||
        !get_function(g, g->helpers, "fsim_flush", "fsim_flush", &g->flush, fault) ||
        !get_function(g, g->helpers, "fsim_clock", "fsim_clock", &g->clock, fault) ||
        !get_function(g, g->helpers, "fsim_empty", "fsim_empty", &g->empty, fault) ||
        !fsim_gpu_allocate(g, "the L2 flush", swept / 64 * 64, &g->swept, fault))
        return false;
    for (int i = 0; i < 2; i++)
        if (!fsim_gpu_allocate(g, "clock readings", (int64_t)(2 * FSIM_CLOCK_SLOTS * sizeof(uint64_t)), &g->clocks[i],
                               fault) ||
            !fsim_gpu_ok(g, g->cu.cuMemsetD32Async(g->clocks[i].at, 0, (size_t)g->clocks[i].bytes / 4, g->stream),
                         "clearing memory", fault))
            return false;
    if (g->cu.cuCtxResetPersistingL2Cache)
        (void)!g->cu.cuCtxResetPersistingL2Cache(); /* what another program left there; not on all devices */
    return fsim_gpu_wait(g, "clearing memory", fault);
}

fsim_gpu *fsim_gpu_open(fsim_arena *a, const fsim_gpu_options *options, fsim_fault *fault)
{
    fsim_gpu *g = fsim_new(a, fsim_gpu, 1);
    *g = (fsim_gpu){.a = a, .option = options ? *options : (fsim_gpu_options){0}, .sensors = fsim_no_sensors()};
    g->option.timeout_s = g->option.timeout_s > 0 ? g->option.timeout_s : usual_timeout_s;
    g->option.budget_s = g->option.budget_s > 0 ? g->option.budget_s : usual_budget_s;
    g->option.least = g->option.least > 0 ? g->option.least : 25;
    g->option.most = g->option.most > g->option.least ? g->option.most : g->option.most > 0 ? g->option.least : 200;
    if (g->option.no_counters)
        g->facts.no_counters = "not asked for";
    if (!open_driver(g, fault) || !read_facts(g, fault) || !open_compiler(g, fault))
        return NULL;
    fsim_activity_open(g); /* before the context; a device-side call of CUPTI before cuInit would crash */
    if (open_context(g, fault) && open_helpers(g, fault))
        return g;
    fsim_gpu_close(g);
    return NULL;
}

void fsim_gpu_close(fsim_gpu *g)
{
    if (!g)
        return;
    fsim_activity_close(g);
    fsim_nvml_close(&g->nvml);
    if (g->lost) /* the driver would wait for a kernel that hangs */
        return;
    fsim_blas_close(g);
    fsim_blaslt_close(g);
    fsim_gpu_free(g, &g->swept);
    fsim_gpu_free(g, &g->clocks[0]);
    fsim_gpu_free(g, &g->clocks[1]);
    if (g->helpers)
        (void)!g->cu.cuModuleUnload(g->helpers);
    if (g->stream)
        (void)!g->cu.cuStreamDestroy_v2(g->stream);
    if (g->context)
        (void)!g->cu.cuDevicePrimaryCtxRelease_v2(g->device);
    g->lost = "the device was closed";
}

const fsim_gpu_facts *fsim_gpu_facts_of(const fsim_gpu *g) { return &g->facts; }
const char *fsim_gpu_lost(const fsim_gpu *g) { return g->lost; }
void fsim_gpu_limit(fsim_gpu *g, double until_s) { g->until_s = until_s; }
bool fsim_gpu_is_late(const fsim_gpu *g, double until_s) { return g->until_s > 0 && fsim_now_s() > until_s; }
fsim_sensors fsim_gpu_sensors(const fsim_gpu *g) { return g->sensors; }

const char fsim_not_reached[] = "not reached within --budget";

/* Memory. */

bool fsim_gpu_allocate(fsim_gpu *g, const char *name, int64_t bytes, fsim_gpu_buffer *out, fsim_fault *fault)
{
    char need[32], left[32];
    size_t free_bytes = 0, total_bytes = 0;
    *out = (fsim_gpu_buffer){0};
    if (!fsim_gpu_usable(g, fault))
        return false;
    const int result = g->cu.cuMemAlloc_v2(&out->at, bytes > 16 ? (size_t)bytes : 16);
    if (result == 0) {
        out->bytes = bytes;
        return true;
    }
    if (result != FSIM_CU_OUT_OF_MEMORY)
        return fsim_gpu_ok(g, result, fsim_printf(g->a, "allocating memory for %s", name), fault);
    (void)!g->cu.cuMemGetInfo_v2(&free_bytes, &total_bytes);
    return fsim_fail(
        fault, g->a, FSIM_UNAVAILABLE,
        "out of device memory: %s needs %s, and %s are free; free the GPU, or choose smaller shapes (--dim)", name,
        fsim_show_bytes(need, sizeof need, (double)bytes), fsim_show_bytes(left, sizeof left, (double)free_bytes));
}

void fsim_gpu_free(fsim_gpu *g, fsim_gpu_buffer *buffer)
{
    if (buffer->at && !g->lost)
        (void)!g->cu.cuMemFree_v2(buffer->at);
    *buffer = (fsim_gpu_buffer){0};
}

static bool fits(fsim_gpu *g, fsim_gpu_buffer b, int64_t bytes, fsim_fault *fault)
{
    return (bytes >= 0 && bytes <= b.bytes) ||
           fsim_fail(fault, g->a, FSIM_FAILED, "a copy of %lld bytes to or from a buffer of %lld", (long long)bytes,
                     (long long)b.bytes);
}

bool fsim_gpu_upload(fsim_gpu *g, fsim_gpu_buffer to, const void *from, int64_t bytes, fsim_fault *fault)
{
    return fsim_gpu_usable(g, fault) && fits(g, to, bytes, fault) &&
           (bytes == 0 ||
            fsim_gpu_ok(g, g->cu.cuMemcpyHtoD_v2(to.at, from, (size_t)bytes), "copying to the GPU", fault));
}

bool fsim_gpu_download(fsim_gpu *g, void *to, fsim_gpu_buffer from, int64_t bytes, fsim_fault *fault)
{
    return fsim_gpu_usable(g, fault) && fits(g, from, bytes, fault) &&
           (bytes == 0 ||
            fsim_gpu_ok(g, g->cu.cuMemcpyDtoH_v2(to, from.at, (size_t)bytes), "copying from the GPU", fault));
}

/* Kernels. */

/* Has the program its text compiled? */
static bool is_for(fsim_gpu *g, const fsim_program *p, fsim_fault *fault)
{
    return p->source &&
           (p->sm <= g->facts.sm || fsim_fail(fault, g->a, FSIM_UNAVAILABLE, "'%s' needs sm_%d, and %s is sm_%d",
                                              p->name, p->sm, g->facts.name, g->facts.sm));
}

/* What was made of p's text without names. */
static fsim_cubin cubin_of(fsim_gpu *g, const fsim_program *p, const fsim_cubin *nameless)
{
    fsim_cubin c = *nameless;
    c.entry = fsim_named_resources(p, nameless->entry, nameless->entries, g->a);
    c.symbol = fsim_new(g->a, fsim_cubin_symbol, p->launches + 1);
    for (c.symbols = 0; c.symbols < p->launches; c.symbols++)
        c.symbol[c.symbols] = (fsim_cubin_symbol){p->launch[c.symbols].entry, fsim_nameless_entry(c.symbols, g->a)};
    return c;
}

bool fsim_gpu_compile(fsim_gpu *g, const fsim_program *program, int count, const char *header, int jobs,
                      fsim_cubin *cubin, fsim_fault *fault)
{
    fsim_texts texts = {.a = g->a};
    int *text = fsim_new(g->a, int, count + 1);
    const fsim_fault *first = NULL;
    for (int i = 0; i < count; i++) {
        cubin[i] = (fsim_cubin){.log = ""};
        text[i] = is_for(g, &program[i], &cubin[i].fault) ? fsim_texts_add(&texts, &program[i], g->facts.sm) : -1;
    }
    fsim_nvrtc_source *source = fsim_new(g->a, fsim_nvrtc_source, texts.count + 1);
    fsim_cubin *made = fsim_new(g->a, fsim_cubin, texts.count + 1);
    for (int t = 0; t < texts.count; t++)
        source[t] = (fsim_nvrtc_source){.name = fsim_printf(g->a, "%s.cu", texts.at[t].program->name),
                                        .source = texts.at[t].source,
                                        .sm = g->facts.sm};
    (void)!fsim_nvrtc_compile_all(g->nvrtc, source, texts.count, header, jobs, g->a, made);
    for (int i = 0; i < count; i++) {
        const fsim_program *p = &program[i];
        const fsim_cubin *m = text[i] >= 0 ? &made[text[i]] : NULL;
        const fsim_nvrtc_source own = {
            .name = fsim_printf(g->a, "%s.cu", p->name), .source = p->source, .sm = g->facts.sm};
        if (m && m->cubin)
            cubin[i] = cubin_of(g, p, m);
        else if (m && m->fault.status == FSIM_FAILED) /* the message should speak of the kernel's own names */
            (void)!fsim_nvrtc_compile(g->nvrtc, &own, header, g->a, &cubin[i]);
        else if (m)
            cubin[i] = *m;
        if (p->source && !cubin[i].cubin && !first)
            first = &cubin[i].fault;
    }
    if (first && fault)
        *fault = *first;
    return !first;
}

static const char *symbol_of(const fsim_cubin *c, const char *entry)
{
    for (int i = 0; i < c->symbols; i++)
        if (strcmp(c->symbol[i].entry, entry) == 0)
            return c->symbol[i].symbol;
    return entry;
}

/* What a launch takes of an SM. The compiler's word goes before the driver's, which is only asked for what the log
 * lacks. */
static void take_resources(fsim_gpu *g, fsim_gpu_kernel *k, int launch, const fsim_cubin *c)
{
    const fsim_launch *l = &k->program->launch[launch];
    const fsim_resources *r = fsim_resources_find(c->entry, c->entries, l->entry);
    const bool logged = r && r->registers >= 0;
    int registers = -1, shared = -1, local = -1, blocks = 0;
    if (logged) {
        registers = r->registers;
        shared = r->static_shared_bytes;
        local = r->stack_bytes;
    } else if (g->cu.cuFuncGetAttribute(&registers, FSIM_CU_FUNC_REGISTERS, k->function[launch]) != 0 ||
               g->cu.cuFuncGetAttribute(&shared, FSIM_CU_FUNC_STATIC_SHARED_BYTES, k->function[launch]) != 0 ||
               g->cu.cuFuncGetAttribute(&local, FSIM_CU_FUNC_LOCAL_BYTES, k->function[launch]) != 0) {
        registers = shared = local = -1;
    }
    k->registers = registers > k->registers ? registers : k->registers;
    k->static_shared_bytes = shared > k->static_shared_bytes ? shared : k->static_shared_bytes;
    k->local_bytes_per_thread = local > k->local_bytes_per_thread ? local : k->local_bytes_per_thread;
    bool largest = true;
    for (int i = 0; i < k->program->launches; i++)
        largest = largest && k->program->launch[i].grid <= l->grid;
    if (largest && g->facts.threads_per_sm > 0 &&
        g->cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k->function[launch], l->block,
                                                          (size_t)l->shared_bytes) == 0)
        k->occupancy = (double)blocks * ((l->block + 31) / 32 * 32) / g->facts.threads_per_sm;
}

static bool load_launch(fsim_gpu *g, fsim_gpu_kernel *k, int launch, const fsim_cubin *c, fsim_fault *fault)
{
    const fsim_launch *l = &k->program->launch[launch];
    const fsim_resources *r = fsim_resources_find(c->entry, c->entries, l->entry);
    const int64_t shared = l->shared_bytes + (r ? r->static_shared_bytes : 0);
    if (l->grid < 1 || l->grid > INT32_MAX || l->block < 1)
        return fsim_fail(fault, g->a, FSIM_FAILED, "'%s' is launched with %lld blocks of %d threads", k->name,
                         (long long)l->grid, l->block);
    if (!get_function(g, k->module, k->launch[launch].entry, l->entry, &k->function[launch], fault))
        return false;
    if (shared > g->facts.shared_bytes_per_block && g->facts.shared_bytes_per_block > 0)
        return fsim_fail(fault, g->a, FSIM_UNAVAILABLE,
                         "'%s' needs %lld bytes of shared memory a block, and %s has %lld", k->name, (long long)shared,
                         g->facts.name, (long long)g->facts.shared_bytes_per_block);
    if (shared > STATIC_SHARED_BYTES &&
        !fsim_gpu_ok(
            g, g->cu.cuFuncSetAttribute(k->function[launch], FSIM_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES, l->shared_bytes),
            fsim_printf(g->a, "giving '%s' %d bytes of shared memory", k->name, l->shared_bytes), fault))
        return false;
    take_resources(g, k, launch, c);
    return true;
}

fsim_gpu_kernel *fsim_gpu_load(fsim_gpu *g, const fsim_program *program, const fsim_cubin *cubin,
                               const fsim_gpu_buffer *argument, fsim_fault *fault)
{
    if (!fsim_gpu_usable(g, fault))
        return NULL;
    fsim_gpu_kernel *k = fsim_new(g->a, fsim_gpu_kernel, 1);
    *k = (fsim_gpu_kernel){.name = program->name,
                           .program = program,
                           .registers = -1,
                           .static_shared_bytes = -1,
                           .local_bytes_per_thread = -1,
                           .occupancy = NAN};
    k->launch = fsim_new(g->a, fsim_launch, program->launches);
    for (int l = 0; l < program->launches; l++) {
        k->launch[l] = program->launch[l];
        k->launch[l].entry = symbol_of(cubin, program->launch[l].entry);
    }
    k->function = fsim_new(g->a, fsim_cu_function, program->launches);
    k->pointer = fsim_new(g->a, fsim_cu_pointer, program->parameters);
    k->argument = fsim_new(g->a, void *, program->parameters + 1);
    for (int i = 0; i < program->parameters; i++) {
        if (argument[i].bytes < program->parameter[i].bytes) {
            fsim_fail(fault, g->a, FSIM_FAILED, "'%s': parameter '%s' has %lld bytes, its buffer %lld", k->name,
                      program->parameter[i].name, (long long)program->parameter[i].bytes, (long long)argument[i].bytes);
            return NULL;
        }
        k->pointer[i] = argument[i].at;
        k->argument[i] = &k->pointer[i];
    }
    if (!cubin->cubin) {
        fsim_fail(fault, g->a, FSIM_FAILED, "'%s' was not compiled%s%s", k->name, cubin->fault.message ? ": " : "",
                  cubin->fault.message ? cubin->fault.message : "");
        return NULL;
    }
    if (!load_module(g, cubin, k->name, &k->module, fault))
        return NULL;
    for (int l = 0; l < program->launches; l++)
        if (!load_launch(g, k, l, cubin, fault)) {
            fsim_gpu_unload(g, k);
            return NULL;
        }
    return k;
}

void fsim_gpu_unload(fsim_gpu *g, fsim_gpu_kernel *k)
{
    if (k && k->module && !g->lost)
        (void)!g->cu.cuModuleUnload(k->module);
    if (k) {
        k->module = NULL;
        fsim_blaslt_release(g, k);
    }
}

bool fsim_gpu_launch(fsim_gpu *g, const fsim_gpu_kernel *k, fsim_fault *fault)
{
    if (!k->program)
        return k->lt ? fsim_blaslt_launch(g, k, fault) : fsim_blas_launch(g, k, fault);
    for (int i = 0; i < k->program->launches; i++) {
        const fsim_launch *l = &k->program->launch[i];
        const int result = g->cu.cuLaunchKernel(k->function[i], (unsigned)l->grid, 1, 1, (unsigned)l->block, 1, 1,
                                                (unsigned)l->shared_bytes, g->stream, k->argument, NULL);
        if (result != 0)
            return fsim_gpu_ok(
                g, result,
                fsim_printf(g->a,
                            "launching kernel '%s' of '%s' (%lld blocks of %d threads, %d bytes of shared memory)",
                            l->entry, k->name, (long long)l->grid, l->block, l->shared_bytes),
                fault);
    }
    return true;
}

bool fsim_gpu_run(fsim_gpu *g, fsim_gpu_kernel *k, fsim_fault *fault)
{
    return fsim_gpu_usable(g, fault) && fsim_gpu_launch(g, k, fault) && fsim_gpu_wait(g, k->name, fault);
}

/* Helpers on the stream. */

typedef struct {
    fsim_cu_function function;
    int grid, block; /* blocks; threads of one */
    void **argument;
    const char *doing; /* for a fault's message */
} helper;

static bool launch_helper(fsim_gpu *g, helper h, fsim_fault *fault)
{
    return fsim_gpu_ok(g,
                       g->cu.cuLaunchKernel(h.function, (unsigned)h.grid, 1, 1, (unsigned)h.block, 1, 1, 0, g->stream,
                                            h.argument, NULL),
                       h.doing, fault);
}

bool fsim_gpu_sweep(fsim_gpu *g, fsim_fault *fault)
{
    unsigned long long count = (unsigned long long)g->swept.bytes / 16;
    void *argument[] = {&g->swept.at, &count, &g->clocks[0].at}; /* the sink is never written */
    return launch_helper(g, (helper){g->flush, 2 * g->facts.sms, 256, argument, "flushing L2"}, fault);
}

bool fsim_gpu_flush(fsim_gpu *g, fsim_fault *fault)
{
    return fsim_gpu_ok(g, g->cu.cuMemsetD32Async(g->swept.at, 0, (size_t)g->swept.bytes / 4, g->stream), "flushing L2",
                       fault) &&
           fsim_gpu_sweep(g, fault);
}

/* Four blocks for each SM, so that every SM gets one. */
bool fsim_gpu_stamp_clocks(fsim_gpu *g, int which, fsim_fault *fault)
{
    void *argument[] = {&g->clocks[which].at};
    return launch_helper(g, (helper){g->clock, 4 * g->facts.sms, 1, argument, "reading the SM clock"}, fault);
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

double fsim_gpu_clock_hz(fsim_gpu *g)
{
    static const double least_ns = 10e3; /* the nanosecond timer moves in steps of up to 1 us */
    uint64_t stamp[2][2 * FSIM_CLOCK_SLOTS];
    double rate[FSIM_CLOCK_SLOTS];
    int rates = 0;
    for (int i = 0; i < 2; i++)
        if (!fsim_gpu_download(g, stamp[i], g->clocks[i], sizeof stamp[i], NULL))
            return NAN;
    for (int s = 0; s < FSIM_CLOCK_SLOTS; s++) {
        const double ns = (double)(int64_t)(stamp[1][2 * s] - stamp[0][2 * s]),
                     cycles = (double)(int64_t)(stamp[1][2 * s + 1] - stamp[0][2 * s + 1]);
        if (stamp[0][2 * s] != 0 && ns >= least_ns && cycles > 0)
            rate[rates++] = 1e9 * cycles / ns;
    }
    qsort(rate, (size_t)rates, sizeof *rate, ascending);
    return rates > 0 ? rate[rates / 2] : NAN;
}

fsim_gpu_kernel *fsim_gpu_empty_kernel(fsim_gpu *g)
{
    static const fsim_launch launch = {.entry = "fsim_empty", .grid = 1, .block = 32};
    fsim_program *p = fsim_new(g->a, fsim_program, 1);
    fsim_gpu_kernel *k = fsim_new(g->a, fsim_gpu_kernel, 1);
    *p = (fsim_program){.name = "fsim_empty", .launch = fsim_new(g->a, fsim_launch, 1), .launches = 1};
    p->launch[0] = launch;
    *k = (fsim_gpu_kernel){.name = p->name,
                           .program = p,
                           .launch = p->launch,
                           .function = &g->empty,
                           .registers = -1,
                           .static_shared_bytes = -1,
                           .local_bytes_per_thread = -1,
                           .occupancy = NAN};
    return k;
}
