/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/counters.h"

#include "validate/cuda/activity.h"
#include "validate/cuda/helpers.h"
#include "validate/cuda/kernel.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The metrics: names as chips have them, the first that a chip knows being taken. GB20x renamed DRAM's; integrated
 * chips have none. */
enum { SPELLINGS = 2, SECTOR_BYTES = 32, WAVEFRONT_BYTES = 128, REPEATS = 3, MOST_PASSES = 64 };
static const char *const spelling[FSIM_COUNTS][SPELLINGS] = {
    [FSIM_COUNT_DRAM_READ] = {"dram__bytes_read.sum", "dram__bytes_op_read.sum"},
    [FSIM_COUNT_DRAM_WRITE_BY_END] = {"dram__bytes_write.sum", "dram__bytes_op_write.sum"},
    [FSIM_COUNT_DRAM_WRITE] = {"dram__bytes_write.sum", "dram__bytes_op_write.sum"},
    [FSIM_COUNT_TEX_WRITE] = {"lts__t_sectors_srcunit_tex_op_write.sum"},
    [FSIM_COUNT_TEX] = {"lts__t_sectors_srcunit_tex.sum"},
    [FSIM_COUNT_WARPS] = {"sm__warps_active.avg.pct_of_peak_sustained_active"},
    [FSIM_COUNT_CLOCK] = {"sm__cycles_elapsed.avg.per_second"},
    [FSIM_COUNT_LOCAL_LOAD] = {"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"},
    [FSIM_COUNT_LOCAL_STORE] = {"l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"},
    [FSIM_COUNT_SHARED] = {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"},
};

/* One pass each, as CUPTI 13.0 says of GA100, GA102, AD102, GH100, GB100, GB110 and GB202. */
enum { SWEPT_SET = 1 }; /* its ranges take in a sweep behind the kernel */
static const unsigned sets[FSIM_COUNT_SETS] = {
    1u << FSIM_COUNT_DRAM_READ | 1u << FSIM_COUNT_DRAM_WRITE_BY_END | 1u << FSIM_COUNT_TEX_WRITE,
    1u << FSIM_COUNT_DRAM_WRITE,
    1u << FSIM_COUNT_TEX | 1u << FSIM_COUNT_WARPS | 1u << FSIM_COUNT_CLOCK | 1u << FSIM_COUNT_SHARED,
    1u << FSIM_COUNT_LOCAL_LOAD | 1u << FSIM_COUNT_LOCAL_STORE, /* with shared memory it would be two */
};

/* What the chip calls it, or NULL. One name that it does not know would fail a whole set, so each is asked for. */
static const char *known_name(const fsim_cupti_entries *cupti, void *host, int count)
{
    for (int i = 0; i < SPELLINGS && spelling[count][i]; i++) {
        fsim_host_metric_properties p = FSIM_CUPTI_PARAMS(fsim_host_metric_properties, type);
        p.host = host;
        p.metric = spelling[count][i];
        if (cupti->cuptiProfilerHostGetMetricProperties(&p) == 0)
            return spelling[count][i];
    }
    return NULL;
}

static int make_config(const fsim_cupti_entries *cupti, fsim_arena *a, fsim_count_set *s)
{
    fsim_host_add_metrics add = FSIM_CUPTI_PARAMS(fsim_host_add_metrics, metrics);
    fsim_host_config_size size = FSIM_CUPTI_PARAMS(fsim_host_config_size, config_bytes);
    fsim_host_config config = FSIM_CUPTI_PARAMS(fsim_host_config, config);
    fsim_host_passes passes = FSIM_CUPTI_PARAMS(fsim_host_passes, passes);
    add.host = size.host = config.host = s->host;
    add.metric = s->name;
    add.metrics = (size_t)s->metrics;
    int result = cupti->cuptiProfilerHostConfigAddMetrics(&add);
    if (result == 0)
        result = cupti->cuptiProfilerHostGetConfigImageSize(&size);
    if (result != 0)
        return result;
    s->config_bytes = config.config_bytes = passes.config_bytes = size.config_bytes;
    s->config = config.config = passes.config = fsim_new(a, uint8_t, size.config_bytes + 1);
    result = cupti->cuptiProfilerHostGetConfigImage(&config);
    if (result == 0)
        result = cupti->cuptiProfilerHostGetNumOfPasses(&passes);
    s->passes = passes.passes;
    return result;
}

int fsim_count_set_open(const fsim_cupti_entries *cupti, fsim_arena *a, const char *chip, const uint8_t *availability,
                        int set, fsim_count_set *out)
{
    fsim_host_initialize p = FSIM_CUPTI_PARAMS(fsim_host_initialize, host);
    *out = (fsim_count_set){0};
    p.chip = chip;
    p.availability = availability;
    const int result = cupti->cuptiProfilerHostInitialize(&p);
    if (result != 0)
        return result;
    out->host = p.host;
    for (int c = 0; c < FSIM_COUNTS; c++) {
        const char *name = sets[set] >> c & 1 ? known_name(cupti, p.host, c) : NULL;
        if (name) {
            out->of[out->metrics] = c;
            out->name[out->metrics++] = name;
        }
    }
    return out->metrics > 0 ? make_config(cupti, a, out) : 0;
}

void fsim_count_set_close(const fsim_cupti_entries *cupti, fsim_count_set *s)
{
    fsim_host_deinitialize p = FSIM_CUPTI_PARAMS(fsim_host_deinitialize, host);
    p.host = s->host;
    if (s->host)
        (void)!cupti->cuptiProfilerHostDeinitialize(&p);
    s->host = NULL;
}

/* Why CUPTI refuses. */

/* "1", "0" or "unknown". */
static const char *admin_only(fsim_arena *a)
{
    char line[256];
    int value;
    const char *state = "unknown";
    FILE *f = fopen("/proc/driver/nvidia/params", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "RmProfilingAdminOnly: %d", &value) == 1)
            state = fsim_printf(a, "%d", value);
    if (f)
        fclose(f);
    return state;
}

static const char *refusal(fsim_gpu *g, int result, const char *call)
{
    const char *text = NULL;
    switch (result) {
    case FSIM_CUPTI_INSUFFICIENT_PRIVILEGES:
    case FSIM_CUPTI_VIRTUAL_INSUFFICIENT_PRIVILEGES:
        return fsim_printf(g->a,
                           "the driver keeps hardware counters to administrators (ERR_NVGPUCTRPERM, "
                           "RmProfilingAdminOnly: %s)%s. Run as root, in a container also with docker run "
                           "--cap-add SYS_ADMIN; or put 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' into "
                           "/etc/modprobe.d/nvidia-profiling.conf, rebuild the initramfs and reboot",
                           admin_only(g->a),
                           result == FSIM_CUPTI_VIRTUAL_INSUFFICIENT_PRIVILEGES
                               ? "; this is a virtual GPU, so its host must allow it"
                               : "");
    case FSIM_CUPTI_HARDWARE_BUSY:
        return "another program has the hardware counters, such as DCGM: pause it (dcgmi profile --pause), or end the "
               "other profiler";
    case FSIM_CUPTI_MULTIPLE_SUBSCRIBERS:
    case FSIM_CUPTI_MAX_LIMIT_REACHED:
        return "another profiler is attached to this program (nsys, ncu, compute-sanitizer): run it without";
    case FSIM_CUPTI_NOT_SUPPORTED:
        return fsim_printf(g->a,
                           "CUPTI (%s) has no range profiler for this GPU: it came with CUDA 12.6, and GPUs before "
                           "sm_75 have none. Install a newer CUPTI, or set $FUSESIM_CUPTI_LIB to one",
                           g->facts.cupti_path);
    case FSIM_CUPTI_INVALID_CHIP_NAME:
        return fsim_printf(
            g->a, "this CUPTI (%s) does not know the GPU's chip: install a newer one, or set $FUSESIM_CUPTI_LIB",
            g->facts.cupti_path);
    default:
        (void)!g->cupti.cuptiGetResultString(result, &text);
        return fsim_printf(g->a, "CUPTI's %s failed: %s (%d)", call, text ? text : "no reason given", result);
    }
}

/* Range profiling. */

/* One set at a time, from its list of metrics to its values, in the order of NVIDIA's samples. */
typedef struct {
    fsim_gpu *g;
    const char *chip;
    const uint8_t *availability;
    fsim_count_set set;
    void *profiler;
    bool initialized, swept;
} session;

/* True for 0; otherwise sets why there are no counters. */
static bool did(session *s, int result, const char *call)
{
    if (result != 0 && !s->g->facts.no_counters)
        s->g->facts.no_counters = refusal(s->g, result, call);
    return result == 0;
}

static bool complete(const fsim_cupti_entries *c)
{
    return c->cuptiProfilerInitialize && c->cuptiProfilerDeInitialize && c->cuptiProfilerDeviceSupported &&
           c->cuptiDeviceGetChipName && c->cuptiProfilerGetCounterAvailability && c->cuptiProfilerHostInitialize &&
           c->cuptiProfilerHostDeinitialize && c->cuptiProfilerHostGetMetricProperties &&
           c->cuptiProfilerHostConfigAddMetrics && c->cuptiProfilerHostGetConfigImageSize &&
           c->cuptiProfilerHostGetConfigImage && c->cuptiProfilerHostGetNumOfPasses &&
           c->cuptiProfilerHostEvaluateToGpuValues && c->cuptiRangeProfilerEnable && c->cuptiRangeProfilerDisable &&
           c->cuptiRangeProfilerStart && c->cuptiRangeProfilerStop && c->cuptiRangeProfilerPushRange &&
           c->cuptiRangeProfilerPopRange && c->cuptiRangeProfilerSetConfig && c->cuptiRangeProfilerGetCounterDataSize &&
           c->cuptiRangeProfilerCounterDataImageInitialize && c->cuptiRangeProfilerDecodeData &&
           c->cuptiRangeProfilerGetCounterDataInfo;
}

static const char *unsupported(const fsim_profiler_device_supported *p)
{
    return p->architecture != FSIM_PROFILER_SUPPORTED
               ? "the GPU is older than sm_75, for which CUPTI's range profiler was made"
           : p->vgpu == FSIM_PROFILER_DISABLED                  ? "the virtual GPU's host has profiling turned off"
           : p->vgpu != FSIM_PROFILER_SUPPORTED                 ? "this kind of virtual GPU has no hardware counters"
           : p->confidential_compute != FSIM_PROFILER_SUPPORTED ? "the GPU runs in confidential mode"
           : p->wsl != FSIM_PROFILER_SUPPORTED ? "there are no hardware counters under this version of WSL"
                                               : "CUPTI does not profile this GPU as it is configured";
}

static const uint8_t *availability_of(session *s)
{
    fsim_counter_availability p = FSIM_CUPTI_PARAMS(fsim_counter_availability, image);
    p.context = s->g->context;
    if (!did(s, s->g->cupti.cuptiProfilerGetCounterAvailability(&p), "cuptiProfilerGetCounterAvailability"))
        return NULL;
    p.image = fsim_new(s->g->a, uint8_t, p.image_bytes + 1);
    return did(s, s->g->cupti.cuptiProfilerGetCounterAvailability(&p), "cuptiProfilerGetCounterAvailability") ? p.image
                                                                                                              : NULL;
}

static bool open_profiler(session *s)
{
    fsim_gpu *g = s->g;
    const fsim_cupti_entries *c = &g->cupti;
    fsim_profiler_initialize start = FSIM_CUPTI_PARAMS(fsim_profiler_initialize, priv);
    fsim_profiler_device_supported support = FSIM_CUPTI_PARAMS(fsim_profiler_device_supported, api);
    fsim_device_chip_name chip = FSIM_CUPTI_PARAMS(fsim_device_chip_name, chip);
    s->initialized = did(s, c->cuptiProfilerInitialize(&start), "cuptiProfilerInitialize");
    if (!s->initialized)
        return false;
    support.device = g->device;
    if (c->cuptiProfilerDeviceSupported(&support) == 0 && support.supported != FSIM_PROFILER_SUPPORTED) {
        g->facts.no_counters = unsupported(&support);
        return false;
    }
    chip.device = (size_t)g->device;
    if (!did(s, c->cuptiDeviceGetChipName(&chip), "cuptiDeviceGetChipName"))
        return false;
    s->chip = fsim_strdup(g->a, chip.chip ? chip.chip : "");
    s->availability = availability_of(s);
    return s->availability != NULL;
}

static void close_profiler(session *s)
{
    fsim_profiler_initialize stop = FSIM_CUPTI_PARAMS(fsim_profiler_initialize, priv);
    if (s->initialized && !s->g->lost)
        (void)!s->g->cupti.cuptiProfilerDeInitialize(&stop);
}

static bool open_set(session *s, int set)
{
    fsim_range_enable enable = FSIM_CUPTI_PARAMS(fsim_range_enable, profiler);
    enable.context = s->g->context;
    if (!did(s, fsim_count_set_open(&s->g->cupti, s->g->a, s->chip, s->availability, set, &s->set), "list of metrics"))
        return false;
    if (s->set.metrics == 0)
        return true;
    const bool enabled = did(s, s->g->cupti.cuptiRangeProfilerEnable(&enable), "cuptiRangeProfilerEnable");
    s->profiler = enabled ? enable.profiler : NULL;
    return enabled;
}

static void close_set(session *s)
{
    fsim_range_object disable = FSIM_CUPTI_PARAMS(fsim_range_object, profiler);
    disable.profiler = s->profiler;
    if (s->profiler && !s->g->lost)
        (void)!s->g->cupti.cuptiRangeProfilerDisable(&disable);
    s->profiler = NULL;
    fsim_count_set_close(&s->g->cupti, &s->set);
}

typedef struct {
    uint8_t *data;
    size_t bytes;
} image;

static bool make_image(session *s, const fsim_count_set *set, image *out)
{
    fsim_range_data_size size = FSIM_CUPTI_PARAMS(fsim_range_data_size, data_bytes);
    size.profiler = s->profiler;
    size.metric = (const char **)set->name;
    size.metrics = (size_t)set->metrics;
    size.max_ranges = 1;
    size.max_tree_nodes = 1;
    if (!did(s, s->g->cupti.cuptiRangeProfilerGetCounterDataSize(&size), "cuptiRangeProfilerGetCounterDataSize"))
        return false;
    out->bytes = size.data_bytes;
    out->data = fsim_new(s->g->a, uint8_t, size.data_bytes + 1);
    return true;
}

static bool configure(session *s, const fsim_count_set *set, const image *im)
{
    fsim_range_data_initialize clear = FSIM_CUPTI_PARAMS(fsim_range_data_initialize, data);
    fsim_range_config config = FSIM_CUPTI_PARAMS(fsim_range_config, target_nesting_level);
    clear.profiler = config.profiler = s->profiler;
    clear.data_bytes = config.data_bytes = im->bytes;
    clear.data = config.data = im->data;
    config.config = set->config;
    config.config_bytes = set->config_bytes;
    config.range = FSIM_RANGE_USER;
    config.replay = FSIM_REPLAY_USER;
    config.max_ranges_per_pass = 1;
    config.nesting_levels = config.min_nesting_level = config.target_nesting_level = 1;
    return did(s, s->g->cupti.cuptiRangeProfilerCounterDataImageInitialize(&clear),
               "cuptiRangeProfilerCounterDataImageInitialize") &&
           did(s, s->g->cupti.cuptiRangeProfilerSetConfig(&config), "cuptiRangeProfilerSetConfig");
}

/* One pass over the kernel, with L2 flushed before. A range that was begun is always ended, unless the device is
 * lost. */
static bool run_pass(session *s, const fsim_gpu_kernel *k, bool *last, fsim_fault *fault)
{
    fsim_gpu *g = s->g;
    fsim_range_object object = FSIM_CUPTI_PARAMS(fsim_range_object, profiler);
    fsim_range_push push = FSIM_CUPTI_PARAMS(fsim_range_push, name);
    fsim_range_stop stop = FSIM_CUPTI_PARAMS(fsim_range_stop, all_passes_submitted);
    object.profiler = push.profiler = stop.profiler = s->profiler;
    push.name = k->name;
    if (!fsim_gpu_flush(g, fault) || !fsim_gpu_wait(g, "the L2 flush", fault) ||
        !did(s, g->cupti.cuptiRangeProfilerStart(&object), "cuptiRangeProfilerStart"))
        return false;
    const bool pushed = did(s, g->cupti.cuptiRangeProfilerPushRange(&push), "cuptiRangeProfilerPushRange");
    const bool ran = pushed && fsim_gpu_launch(g, k, fault) && (!s->swept || fsim_gpu_sweep(g, fault)) &&
                     fsim_gpu_wait(g, k->name, fault);
    if (g->lost)
        return false;
    const bool popped = pushed && did(s, g->cupti.cuptiRangeProfilerPopRange(&object), "cuptiRangeProfilerPopRange");
    const bool stopped = did(s, g->cupti.cuptiRangeProfilerStop(&stop), "cuptiRangeProfilerStop");
    *last = stop.all_passes_submitted != 0;
    return ran && popped && stopped;
}

static bool evaluate(session *s, const fsim_count_set *set, const image *im, double value[FSIM_COUNTS])
{
    const fsim_cupti_entries *c = &s->g->cupti;
    fsim_range_decode decode = FSIM_CUPTI_PARAMS(fsim_range_decode, dropped);
    fsim_range_data_info info = FSIM_CUPTI_PARAMS(fsim_range_data_info, ranges);
    fsim_host_evaluate e = FSIM_CUPTI_PARAMS(fsim_host_evaluate, value);
    double of[FSIM_COUNTS];
    decode.profiler = s->profiler;
    info.data = e.data = im->data;
    info.data_bytes = e.data_bytes = im->bytes;
    e.host = set->host;
    e.metric = (const char **)set->name;
    e.metrics = (size_t)set->metrics;
    e.value = of;
    if (!did(s, c->cuptiRangeProfilerDecodeData(&decode), "cuptiRangeProfilerDecodeData") ||
        !did(s, c->cuptiRangeProfilerGetCounterDataInfo(&info), "cuptiRangeProfilerGetCounterDataInfo"))
        return false;
    if (decode.dropped != 0 || info.ranges != 1) {
        s->g->facts.no_counters = fsim_printf(s->g->a, "CUPTI counted %zu ranges, and dropped %zu, where there was one",
                                              info.ranges, decode.dropped);
        return false;
    }
    if (!did(s, c->cuptiProfilerHostEvaluateToGpuValues(&e), "cuptiProfilerHostEvaluateToGpuValues"))
        return false;
    for (int m = 0; m < set->metrics; m++)
        value[set->of[m]] = of[m];
    return true;
}

static bool count_once(session *s, const fsim_count_set *set, const image *im, const fsim_gpu_kernel *k,
                       double value[FSIM_COUNTS], fsim_fault *fault)
{
    bool last = false;
    if (!configure(s, set, im))
        return false;
    for (int pass = 0; pass < MOST_PASSES && !last; pass++)
        if (!run_pass(s, k, &last, fault))
            return false;
    return evaluate(s, set, im, value);
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

/* The median of REPEATS runs for each count of the open set. */
static bool count_kernel(session *s, const fsim_gpu_kernel *k, double value[FSIM_COUNTS], fsim_fault *fault)
{
    double run[REPEATS][FSIM_COUNTS], column[REPEATS];
    image im;
    if (!make_image(s, &s->set, &im))
        return false;
    for (int r = 0; r < REPEATS; r++)
        if (!count_once(s, &s->set, &im, k, run[r], fault))
            return false;
    for (int m = 0; m < s->set.metrics; m++) {
        for (int r = 0; r < REPEATS; r++)
            column[r] = run[r][s->set.of[m]];
        qsort(column, REPEATS, sizeof *column, ascending);
        value[s->set.of[m]] = column[REPEATS / 2];
    }
    return true;
}

static void take_counts(const double value[FSIM_COUNTS], fsim_measured_kernel *out)
{
    out->dram_read_bytes = value[FSIM_COUNT_DRAM_READ];
    out->dram_write_bytes = value[FSIM_COUNT_DRAM_WRITE];
    out->dram_write_by_end_bytes = value[FSIM_COUNT_DRAM_WRITE_BY_END];
    out->l2_bytes = SECTOR_BYTES * value[FSIM_COUNT_TEX];
    out->l2_write_bytes = SECTOR_BYTES * value[FSIM_COUNT_TEX_WRITE];
    out->local_bytes = SECTOR_BYTES * (value[FSIM_COUNT_LOCAL_LOAD] + value[FSIM_COUNT_LOCAL_STORE]);
    out->shared_bytes = WAVEFRONT_BYTES * value[FSIM_COUNT_SHARED];
    out->achieved_occupancy = value[FSIM_COUNT_WARPS] / 100;
    if (isnan(out->sm_clock_hz))
        out->sm_clock_hz = value[FSIM_COUNT_CLOCK];
}

static bool can_count(fsim_gpu *g)
{
    if (g->facts.no_counters)
        return false;
    if (!g->facts.cupti_path)
        g->facts.no_counters = "there is no CUPTI";
    else if (!complete(&g->cupti))
        g->facts.no_counters = fsim_printf(g->a,
                                           "%s has no range profiler, which came with CUDA 12.6: install a newer "
                                           "CUPTI, or set $FUSESIM_CUPTI_LIB to one",
                                           g->facts.cupti_path);
    return !g->facts.no_counters;
}

/* The kernels to count, and their counts. */
typedef struct {
    fsim_gpu_kernel *const *kernel;
    int count;
    double (*value)[FSIM_COUNTS];
    fsim_measured_kernel *out;
} counted_kernels;

static bool count_set(session *s, int set, const counted_kernels *k, double until_s, fsim_fault *fault)
{
    bool done = open_set(s, set);
    s->swept = set == SWEPT_SET;
    for (int i = 0; i < k->count && done && s->set.metrics > 0; i++)
        if (fsim_gpu_is_late(s->g, until_s))
            k->out[i].uncounted = fsim_not_reached;
        else if (!k->out[i].failed && !k->out[i].left_out)
            done = count_kernel(s, k->kernel[i], k->value[i], fault);
    close_set(s);
    return done;
}

void fsim_counters_measure(fsim_gpu *g, fsim_gpu_kernel *const *kernel, int count, fsim_measured_kernel *out,
                           fsim_fault *fault)
{
    session s = {.g = g};
    fsim_fault own = {0};
    if (!can_count(g))
        return;
    double(*value)[FSIM_COUNTS] = fsim_alloc(g->a, (size_t)count, sizeof *value);
    for (int i = 0; i < count; i++)
        for (int c = 0; c < FSIM_COUNTS; c++)
            value[i][c] = NAN;
    const counted_kernels k = {kernel, count, value, out};
    fsim_activity_pause(g);
    bool done = open_profiler(&s);
    for (int set = 0; set < FSIM_COUNT_SETS && done; set++) {
        /* each set has its share of the time, so that kernels that are counted have all sets */
        const double now_s = fsim_now_s();
        done = count_set(&s, set, &k, now_s + (g->until_s - now_s) / (FSIM_COUNT_SETS - set), &own);
    }
    close_profiler(&s);
    for (int i = 0; i < count; i++)
        take_counts(value[i], &out[i]);
    if (own.status != 0 && !g->lost && !g->facts.no_counters)
        g->facts.no_counters = own.message;
    if (g->lost && fault)
        *fault = own;
    if (!g->lost)
        fsim_activity_resume(g);
}
