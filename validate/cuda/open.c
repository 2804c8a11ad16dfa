/* SPDX-License-Identifier: Apache-2.0 */
/* open.c: driver, compiler, profiler and context of a device, opened and closed. */
#include "validate/cuda/activity.h"
#include "validate/cuda/blas.h"
#include "validate/cuda/blaslt.h"
#include "validate/cuda/helpers.h"

enum { OLDEST_DRIVER = 11000 };
static const double usual_timeout_s = 30, usual_budget_s = 0.25;

/* cuInit and what follows, with messages that say what to do. */
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

/* The primary context: all versions of CUDA have the same call for it, and cuBLAS uses it too. */
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
    if (open_context(g, fault) && fsim_gpu_open_helpers(g, fault))
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
    if (g->lost) /* the driver would wait for the kernel that hangs */
        return;
    fsim_blas_close(g);
    fsim_blaslt_close(g);
    fsim_gpu_close_helpers(g);
    if (g->stream)
        (void)!g->cu.cuStreamDestroy_v2(g->stream);
    if (g->context)
        (void)!g->cu.cuDevicePrimaryCtxRelease_v2(g->device);
    g->lost = "the device was closed";
}
