/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI: activity records of kernels, and the range profiler. Parameter structs are those of CUPTI 13, declared here
 * once more, so that they are compared with those of whoever calls. */
#include "mockgpu.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { /* CUptiResult */
       SUCCESS = 0,
       INVALID_PARAMETER = 1,
       INVALID_OPERATION = 7,
       OUT_OF_MEMORY = 8,
       MAX_LIMIT_REACHED = 12,
       NOT_INITIALIZED = 15,
       INVALID_METRIC_NAME = 17,
       INVALID_KIND = 21,
       HARDWARE_BUSY = 26,
       NOT_SUPPORTED = 27,
       INSUFFICIENT_PRIVILEGES = 35,
       MULTIPLE_SUBSCRIBERS = 39,
       INVALID_CHIP_NAME = 46,
       UNKNOWN = 999,
};

EXPORT int cuptiGetVersion(uint32_t *version)
{
    *version = mock_fails("oldcupti") ? 22 : 130001;
    return SUCCESS;
}

EXPORT int cuptiGetResultString(int result, const char **text)
{
    static const struct {
        int result;
        const char *text;
    } known[] = {
        {SUCCESS, "CUPTI_SUCCESS"},
        {INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
        {INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION"},
        {OUT_OF_MEMORY, "CUPTI_ERROR_OUT_OF_MEMORY"},
        {MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
        {NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
        {INVALID_METRIC_NAME, "CUPTI_ERROR_INVALID_METRIC_NAME"},
        {INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
        {HARDWARE_BUSY, "CUPTI_ERROR_HARDWARE_BUSY"},
        {NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
        {INSUFFICIENT_PRIVILEGES, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
        {MULTIPLE_SUBSCRIBERS, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
        {INVALID_CHIP_NAME, "CUPTI_ERROR_INVALID_CHIP_NAME"},
        {UNKNOWN, "CUPTI_ERROR_UNKNOWN"},
    };
    *text = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].result == result)
            *text = known[i].text;
    return *text ? SUCCESS : INVALID_PARAMETER;
}

/* Activities */

enum { KERNEL = 3, CONCURRENT_KERNEL = 10, RECORD_BYTES = 216 /* CUpti_ActivityKernel10 */ };

typedef struct { /* how CUpti_ActivityKernel4 to 10 begin */
    int32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    int32_t cache_requested, cache_executed;
    uint64_t start_ns, end_ns, completed_ns;
    uint32_t device, context, stream;
    int32_t grid[3], block[3], static_shared_bytes, dynamic_shared_bytes;
    uint32_t local_bytes_per_thread, local_bytes, correlation;
    int64_t grid_id;
    const char *name;
} record;
_Static_assert(offsetof(record, correlation) == 92 && offsetof(record, name) == 104, "as CUPTI has it");

static void (*request)(uint8_t **buffer, size_t *bytes, size_t *records);
static void (*complete)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes);
static int enabled; /* kind of activity, or 0 */
static record *records;
static size_t record_count, record_room, dropped, completed; /* completed: the first so many of them */
static uint32_t correlation;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

EXPORT int cuptiActivityRegisterCallbacks(void (*request_)(uint8_t **, size_t *, size_t *),
                                          void (*complete_)(void *, uint32_t, uint8_t *, size_t, size_t))
{
    if (!request_ || !complete_)
        return INVALID_PARAMETER;
    request = request_;
    complete = complete_;
    return SUCCESS;
}

EXPORT int cuptiActivityEnable(int kind)
{
    if (!mock_initialized() && (mock_fails("nodev") || mock_fails("stub")))
        return UNKNOWN;
    if (mock_fails("profiler"))
        return MULTIPLE_SUBSCRIBERS;
    if (!request)
        mock_say("cuptiActivityEnable before cuptiActivityRegisterCallbacks: records would be lost");
    if (!request)
        return INVALID_OPERATION;
    if (kind != KERNEL && kind != CONCURRENT_KERNEL)
        return SUCCESS; /* nothing else ever happens */
    enabled = kind;
    return SUCCESS;
}

EXPORT int cuptiActivityDisable(int kind)
{
    if (kind == enabled)
        enabled = 0;
    return SUCCESS;
}

static void keep_record(const mock_launch *launch)
{
    correlation++;
    if (!enabled)
        return;
    if (mock_fails("lost") && correlation % 4 == 0) {
        dropped++;
        return;
    }
    if (record_count == record_room) {
        record_room = record_room ? 2 * record_room : 256;
        records = realloc(records, record_room * sizeof *records);
        if (!records)
            abort();
    }
    const bool timeless = mock_fails("badts") && correlation % 3 == 0;
    record *const r = &records[record_count++];
    *r = (record){.kind = enabled,
                  .registers = (uint16_t)launch->registers,
                  .start_ns = timeless ? 0 : launch->start_ns,
                  .end_ns = timeless ? 0 : launch->end_ns,
                  .context = 1,
                  .stream = 7,
                  .static_shared_bytes = launch->static_shared_bytes,
                  .dynamic_shared_bytes = launch->dynamic_shared_bytes,
                  .correlation = correlation,
                  .grid_id = correlation,
                  .name = launch->name};
    for (int i = 0; i < 3; i++) {
        r->grid[i] = (int32_t)launch->grid[i];
        r->block[i] = (int32_t)launch->block[i];
    }
}

void mock_synchronized(void)
{
    pthread_mutex_lock(&lock);
    completed = record_count;
    pthread_mutex_unlock(&lock);
}

/* Buffers are completed in the thread that flushes; the real one has its own as well. All are in one buffer, which only
 * force hands out while a record is incomplete. */
EXPORT int cuptiActivityFlushAll(uint32_t flags)
{
    if (flags > 1)
        return INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    if (flags == 0 && (completed < record_count || mock_fails("late"))) {
        pthread_mutex_unlock(&lock);
        return SUCCESS;
    }
    record *const mine = records;
    const size_t count = record_count;
    for (size_t i = completed; i < count; i++)
        mine[i].start_ns = mine[i].end_ns = 0;
    records = NULL;
    record_count = record_room = completed = 0;
    pthread_mutex_unlock(&lock);
    for (size_t done = 0; done < count;) {
        uint8_t *buffer = NULL;
        size_t bytes = 0, most = 0, used = 0;
        request(&buffer, &bytes, &most);
        if (!buffer || bytes < RECORD_BYTES || (uintptr_t)buffer % 8 != 0) {
            mock_say("a buffer of %zu bytes at %p for activity records of %d, 8-byte aligned", bytes, (void *)buffer,
                     RECORD_BYTES);
            dropped += count - done;
            if (buffer)
                complete(NULL, 0, buffer, bytes, 0);
            break;
        }
        for (size_t n = 0; done < count && used + RECORD_BYTES <= bytes && (most == 0 || n < most); n++, done++) {
            memset(buffer + used, 0, RECORD_BYTES);
            memcpy(buffer + used, &mine[done], sizeof *mine);
            used += RECORD_BYTES;
        }
        complete(NULL, 0, buffer, bytes, used);
    }
    free(mine);
    return SUCCESS;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, void **at)
{
    if (!buffer || !at)
        return INVALID_PARAMETER;
    uint8_t *const next = *at ? (uint8_t *)*at + RECORD_BYTES : buffer;
    if (next + RECORD_BYTES > buffer + valid_bytes)
        return MAX_LIMIT_REACHED;
    *at = next;
    return SUCCESS;
}

/* Since it was asked last. */
EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
    (void)context, (void)stream;
    *count = dropped;
    dropped = 0;
    return SUCCESS;
}

EXPORT int cuptiGetTimestamp(uint64_t *ns)
{
    *ns = 1;
    return SUCCESS;
}

/* The profiler. Each struct begins with its size, up to the end of the last member. */

#define OF(type, last) (offsetof(type, last) + sizeof(((type *)NULL)->last))

/* Says what is wrong and returns the error. */
static int refuse(const char *function, const char *why, int error)
{
    mock_say("%s: %s", function, why);
    return error;
}
#define NEED(type, last)                                                                                               \
    const int unfit = unfit_for(__func__, params, OF(type, last));                                                     \
    if (unfit != SUCCESS)                                                                                              \
        return unfit;                                                                                                  \
    type *const p = params
#define EXPECT(condition, why)                                                                                         \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return refuse(__func__, why, INVALID_OPERATION);                                                           \
    } while (0)

static int unfit_for(const char *function, const void *params, size_t bytes)
{
    size_t size;
    if (mock_fails("oldcupti"))
        return NOT_SUPPORTED;
    if (!params)
        return refuse(function, "no parameters", INVALID_PARAMETER);
    memcpy(&size, params, sizeof size);
    if (size == bytes)
        return SUCCESS;
    mock_say("%s: structSize is %zu, not %zu", function, size, bytes);
    return INVALID_PARAMETER;
}

/* The functions that ask the device crash without a driver. */
static void need_driver(const char *function)
{
    if (mock_initialized())
        return;
    mock_say("%s before cuInit succeeded: CUPTI crashes here", function);
    abort();
}

typedef struct {
    size_t size;
    void *priv;
} empty;
typedef struct {
    size_t size;
    void *priv;
    int device, supported, architecture, sli, vgpu, confidential, cmp, wsl, api;
} device_supported;
typedef struct {
    size_t size;
    void *priv;
    size_t device;
    const char *chip;
} chip_name;
typedef struct {
    size_t size;
    void *priv, *context;
    size_t image_bytes;
    uint8_t *image;
} availability;
typedef struct {
    size_t size;
    void *priv;
    int type;
    const char *chip;
    const uint8_t *image;
    void *host;
} host_initialize;
typedef struct {
    size_t size;
    void *priv, *host;
} host_object;
typedef struct {
    size_t size;
    void *priv, *host;
    const char *metric, *description, *unit, *dimension;
    int type;
} host_properties;
typedef struct {
    size_t size;
    void *priv, *host;
    const char **metric;
    size_t metrics;
} host_add;
typedef struct {
    size_t size;
    void *priv, *host;
    size_t config_bytes;
} host_config_size;
typedef struct {
    size_t size;
    void *priv, *host;
    size_t config_bytes;
    uint8_t *config;
} host_config;
typedef struct {
    size_t size;
    void *priv;
    size_t config_bytes;
    uint8_t *config;
    size_t passes;
} host_passes;
typedef struct {
    size_t size;
    void *priv, *host;
    const uint8_t *data;
    size_t data_bytes, range;
    const char **metric;
    size_t metrics;
    double *value;
} host_evaluate;
typedef struct {
    size_t size;
    void *priv, *context, *profiler;
} range_enable;
typedef struct {
    size_t size;
    void *priv, *profiler;
} range_object;
typedef struct {
    size_t size;
    void *priv, *profiler;
    const char **metric;
    size_t metrics, max_ranges;
    uint32_t max_nodes;
    size_t data_bytes;
} range_data_size;
typedef struct {
    size_t size;
    void *priv, *profiler;
    size_t data_bytes;
    uint8_t *data;
} range_data;
typedef struct {
    size_t size;
    void *priv, *profiler;
    size_t config_bytes;
    const uint8_t *config;
    size_t data_bytes;
    uint8_t *data;
    int range, replay;
    size_t max_ranges_per_pass;
    uint16_t nesting_levels, min_nesting_level;
    size_t pass;
    uint16_t target_nesting_level;
} range_config;
typedef struct {
    size_t size;
    void *priv, *profiler;
    size_t pass, target_nesting_level;
    uint8_t all_submitted;
} range_stop;
typedef struct {
    size_t size;
    void *priv, *profiler;
    const char *name;
} range_push;
typedef struct {
    size_t size;
    void *priv, *profiler;
    size_t dropped;
} range_decode;
typedef struct {
    size_t size;
    void *priv;
    const uint8_t *data;
    size_t data_bytes, ranges;
} range_info;
enum { AUTO_RANGE = 1, USER_RANGE = 2, KERNEL_REPLAY = 2, USER_REPLAY = 3 };

/* What the kernels of a range did. */
typedef struct {
    double ns, dram_read_bytes, dram_write_bytes, read_bytes, written_bytes, threads;
    int kernels;
} counters;

enum { MAX_RANGES = 64, MAX_METRICS = 64, CONFIG_MAGIC = 0x636f6e66, DATA_MAGIC = 0x64617461 };

/* A configuration image begins so. */
typedef struct {
    uint32_t magic, metrics, passes;
    char name[MAX_METRICS][96];
} config_image;

/* A counter data image begins so. */
typedef struct {
    uint32_t magic, max_ranges, ranges;
    counters range[];
} data_image;

static bool profiler_initialized;
enum { MAX_HOSTS = 16 };
typedef struct {
    bool live;
    config_image config;
} host_state;
static host_state hosts[MAX_HOSTS];
static struct {
    bool enabled, configured, started;
    int nesting, range, passes_done;
    uint32_t passes;
    uint8_t *data;
    size_t data_bytes;
    size_t ranges, dropped; /* of this pass */
    counters current[MAX_RANGES];
} profiler;

void mock_launched(const mock_launch *launch)
{
    pthread_mutex_lock(&lock);
    keep_record(launch);
    pthread_mutex_unlock(&lock);
    if (!profiler.started || (profiler.range == USER_RANGE && profiler.nesting == 0))
        return;
    if (profiler.range == AUTO_RANGE) {
        if (profiler.ranges == MAX_RANGES) {
            profiler.dropped++;
            return;
        }
        profiler.current[profiler.ranges++] = (counters){.kernels = 0};
    }
    counters *const c = &profiler.current[profiler.ranges - 1];
    c->ns += (double)(launch->end_ns - launch->start_ns);
    c->dram_read_bytes += launch->dram_read_bytes;
    c->dram_write_bytes += launch->dram_write_bytes;
    c->read_bytes += launch->read_bytes;
    c->written_bytes += launch->written_bytes;
    c->threads += (double)launch->grid[0] * launch->grid[1] * launch->grid[2] * launch->block[0] * launch->block[1] *
                  launch->block[2];
    c->kernels++;
}

static const char *const chips[] = {"GV100", "TU102", "TU104", "TU106", "TU116", "TU117", "GA100", "GA102", "GA103",
                                    "GA104", "GA106", "GA107", "GA10B", "GH100", "AD102", "AD103", "AD104", "AD106",
                                    "AD107", "GB100", "GB102", "GB110", "GB202", "GB203", "GB205", "GB206", "GB207"};

/* The value of a metric; false: there is none of that name. */
static bool value_of(const char *metric, const counters *c, double *value)
{
    const bool renamed = mock_fails("gb202");
    const struct {
        const char *name;
        double value;
    } known[] = {
        {"gpu__time_duration.sum", c->ns},
        {renamed ? "dram__bytes_op_read.sum" : "dram__bytes_read.sum", c->dram_read_bytes},
        {renamed ? "dram__bytes_op_write.sum" : "dram__bytes_write.sum", c->dram_write_bytes},
        {"lts__t_bytes.sum", c->read_bytes + c->written_bytes},
        {"lts__t_sectors_srcunit_tex.sum", (c->read_bytes + c->written_bytes) / 32},
        {"lts__t_sectors_srcunit_tex_op_read.sum", c->read_bytes / 32},
        {"lts__t_sectors_srcunit_tex_op_write.sum", c->written_bytes / 32},
        {"lts__t_sectors_srcunit_ltcfabric.sum", 0},
        {"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", 0},
        {"l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", 0},
        {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 0},
        {"sm__inst_executed_pipe_tensor.sum", 0},
        {"smsp__inst_executed.sum", c->threads},
        {"sm__warps_active.avg.pct_of_peak_sustained_active", 75},
        {"sm__cycles_elapsed.avg.per_second", 1.755e9},
        {"sm__cycles_elapsed.max", c->ns * 1.755},
    };
    for (size_t i = 0; metric && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, metric) == 0) {
            *value = known[i].value;
            return true;
        }
    return false;
}

static bool is_metric(const char *name)
{
    double value;
    return value_of(name, &(counters){.kernels = 0}, &value);
}

EXPORT int cuptiProfilerInitialize(void *params)
{
    NEED(empty, priv);
    (void)p;
    if (!mock_initialized())
        return UNKNOWN;
    profiler_initialized = true;
    return SUCCESS;
}

EXPORT int cuptiProfilerDeInitialize(void *params)
{
    NEED(empty, priv);
    (void)p;
    EXPECT(profiler_initialized, "before cuptiProfilerInitialize");
    profiler_initialized = false;
    return SUCCESS;
}

EXPORT int cuptiProfilerDeviceSupported(void *params)
{
    NEED(device_supported, api);
    if (!mock_initialized())
        return UNKNOWN;
    EXPECT(profiler_initialized, "before cuptiProfilerInitialize");
    if (p->device != 0 || p->api != 0)
        return INVALID_PARAMETER;
    p->supported = p->architecture = p->sli = p->vgpu = p->confidential = p->cmp = p->wsl = 3;
    return SUCCESS;
}

EXPORT int cuptiDeviceGetChipName(void *params)
{
    NEED(chip_name, chip);
    need_driver(__func__);
    if (p->device != 0)
        return INVALID_PARAMETER;
    const int sm = mock_sm();
    p->chip = mock_fails("gb202") || sm >= 120 ? "GB202"
              : sm >= 100                      ? "GB100"
              : sm >= 90                       ? "GH100"
              : sm >= 89                       ? "AD102"
              : sm >= 86                       ? "GA102"
              : sm >= 80                       ? "GA100"
                                               : "TU102";
    return SUCCESS;
}

EXPORT int cuptiProfilerGetCounterAvailability(void *params)
{
    NEED(availability, image);
    need_driver(__func__);
    EXPECT(profiler_initialized, "before cuptiProfilerInitialize");
    if (mock_fails("perm"))
        return INSUFFICIENT_PRIVILEGES;
    if (!p->context)
        return refuse(__func__, "no context", INVALID_PARAMETER);
    enum { IMAGE_BYTES = 64 };
    if (p->image && p->image_bytes < IMAGE_BYTES)
        return refuse(__func__, "an image that is too small", INVALID_PARAMETER);
    if (p->image)
        memset(p->image, 0xaa, IMAGE_BYTES);
    p->image_bytes = IMAGE_BYTES;
    return SUCCESS;
}

EXPORT int cuptiProfilerHostInitialize(void *params)
{
    NEED(host_initialize, host);
    if (p->type != 0 || !p->chip)
        return refuse(__func__, "not of the range profiler, or no chip", INVALID_PARAMETER);
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (strcmp(chips[i], p->chip) == 0) {
            int free_one = 0;
            while (free_one < MAX_HOSTS && hosts[free_one].live)
                free_one++;
            if (free_one == MAX_HOSTS)
                return refuse(__func__, "too many host objects that were not deinitialized", OUT_OF_MEMORY);
            hosts[free_one] = (host_state){.live = true};
            p->host = &hosts[free_one];
            return SUCCESS;
        }
    return INVALID_CHIP_NAME;
}

static host_state *host_of(const void *object)
{
    for (int i = 0; i < MAX_HOSTS; i++)
        if (object == &hosts[i] && hosts[i].live)
            return &hosts[i];
    return NULL;
}

#define NEED_HOST()                                                                                                    \
    host_state *const host = host_of(p->host);                                                                         \
    EXPECT(host, "no host object")

EXPORT int cuptiProfilerHostDeinitialize(void *params)
{
    NEED(host_object, host);
    NEED_HOST();
    host->live = false;
    return SUCCESS;
}

EXPORT int cuptiProfilerHostGetMetricProperties(void *params)
{
    NEED(host_properties, type);
    NEED_HOST();
    p->description = p->unit = p->dimension = "";
    return is_metric(p->metric) ? SUCCESS : INVALID_METRIC_NAME;
}

EXPORT int cuptiProfilerHostConfigAddMetrics(void *params)
{
    NEED(host_add, metrics);
    NEED_HOST();
    for (size_t i = 0; i < p->metrics; i++)
        if (!is_metric(p->metric[i]))
            return INVALID_PARAMETER;
    if (p->metrics == 0 || host->config.metrics + p->metrics > MAX_METRICS)
        return INVALID_PARAMETER;
    for (size_t i = 0; i < p->metrics; i++)
        memcpy(host->config.name[host->config.metrics++], p->metric[i], strlen(p->metric[i]) + 1);
    return SUCCESS;
}

EXPORT int cuptiProfilerHostGetConfigImageSize(void *params)
{
    NEED(host_config_size, config_bytes);
    NEED_HOST();
    EXPECT(host->config.metrics > 0, "before cuptiProfilerHostConfigAddMetrics");
    p->config_bytes = sizeof(config_image);
    return SUCCESS;
}

EXPORT int cuptiProfilerHostGetConfigImage(void *params)
{
    NEED(host_config, config);
    NEED_HOST();
    EXPECT(host->config.metrics > 0, "before cuptiProfilerHostConfigAddMetrics");
    if (!p->config || p->config_bytes < sizeof(config_image))
        return refuse(__func__, "an image that is too small", INVALID_PARAMETER);
    host->config.magic = CONFIG_MAGIC;
    host->config.passes = mock_fails("twopass") ? 2 : 1;
    memcpy(p->config, &host->config, sizeof host->config);
    return SUCCESS;
}

/* The header of an image; false: it is none. */
static bool read_config(const uint8_t *config, size_t bytes, config_image *image)
{
    if (!config || bytes < sizeof *image)
        return false;
    memcpy(image, config, sizeof *image);
    return image->magic == CONFIG_MAGIC;
}

EXPORT int cuptiProfilerHostGetNumOfPasses(void *params)
{
    NEED(host_passes, passes);
    config_image image;
    if (!read_config(p->config, p->config_bytes, &image))
        return refuse(__func__, "no configuration image", INVALID_PARAMETER);
    p->passes = image.passes;
    return SUCCESS;
}

static bool read_data(const uint8_t *data, size_t bytes, data_image *image)
{
    if (!data || bytes < sizeof *image)
        return false;
    memcpy(image, data, sizeof *image);
    return image->magic == DATA_MAGIC;
}

EXPORT int cuptiProfilerHostEvaluateToGpuValues(void *params)
{
    NEED(host_evaluate, value);
    NEED_HOST();
    data_image image;
    if (!read_data(p->data, p->data_bytes, &image))
        return refuse(__func__, "no counter data image", INVALID_PARAMETER);
    if (p->range >= image.ranges)
        return refuse(__func__, "no such range, or it was not decoded", INVALID_PARAMETER);
    counters c;
    memcpy(&c, p->data + offsetof(data_image, range) + p->range * sizeof c, sizeof c);
    for (size_t i = 0; i < p->metrics; i++) {
        bool configured = false;
        for (uint32_t k = 0; k < host->config.metrics; k++)
            configured = configured || (p->metric[i] && strcmp(host->config.name[k], p->metric[i]) == 0);
        if (!configured || !value_of(p->metric[i], &c, &p->value[i]))
            return refuse(__func__, "a metric that was not configured", INVALID_METRIC_NAME);
    }
    return SUCCESS;
}

EXPORT int cuptiRangeProfilerEnable(void *params)
{
    NEED(range_enable, profiler);
    need_driver(__func__);
    EXPECT(profiler_initialized, "before cuptiProfilerInitialize");
    EXPECT(!profiler.enabled, "is enabled already");
    if (mock_fails("perm"))
        return INSUFFICIENT_PRIVILEGES;
    if (mock_fails("busy"))
        return HARDWARE_BUSY;
    if (mock_fails("profiler"))
        return MULTIPLE_SUBSCRIBERS;
    if (!p->context)
        return refuse(__func__, "no context", INVALID_PARAMETER);
    memset(&profiler, 0, sizeof profiler);
    profiler.enabled = true;
    p->profiler = &profiler;
    return SUCCESS;
}

#define NEED_PROFILER() EXPECT(profiler.enabled && p->profiler == &profiler, "no range profiler is enabled")

EXPORT int cuptiRangeProfilerDisable(void *params)
{
    NEED(range_object, profiler);
    NEED_PROFILER();
    EXPECT(!profiler.started, "between Start and Stop");
    profiler.enabled = false;
    return SUCCESS;
}

EXPORT int cuptiRangeProfilerGetCounterDataSize(void *params)
{
    NEED(range_data_size, data_bytes);
    NEED_PROFILER();
    if (p->metrics == 0 || p->max_ranges < 1 || p->max_ranges > MAX_RANGES || p->max_nodes < 1)
        return refuse(__func__, "no metrics, ranges or nodes", INVALID_PARAMETER);
    for (size_t i = 0; i < p->metrics; i++)
        if (!is_metric(p->metric[i]))
            return INVALID_METRIC_NAME;
    p->data_bytes = sizeof(data_image) + p->max_ranges * sizeof(counters);
    return SUCCESS;
}

EXPORT int cuptiRangeProfilerCounterDataImageInitialize(void *params)
{
    NEED(range_data, data);
    NEED_PROFILER();
    if (!p->data || p->data_bytes < sizeof(data_image) + sizeof(counters))
        return refuse(__func__, "an image that is too small", INVALID_PARAMETER);
    const data_image image = {.magic = DATA_MAGIC,
                              .max_ranges = (uint32_t)((p->data_bytes - sizeof(data_image)) / sizeof(counters))};
    memset(p->data, 0, p->data_bytes);
    memcpy(p->data, &image, sizeof image);
    return SUCCESS;
}

EXPORT int cuptiRangeProfilerSetConfig(void *params)
{
    NEED(range_config, target_nesting_level);
    NEED_PROFILER();
    EXPECT(!profiler.started, "between Start and Stop");
    config_image config;
    data_image data;
    if (!read_config(p->config, p->config_bytes, &config))
        return refuse(__func__, "no configuration image", INVALID_PARAMETER);
    if (!read_data(p->data, p->data_bytes, &data) || data.ranges != 0)
        return refuse(__func__, "a counter data image that is not, or not newly, initialized", INVALID_PARAMETER);
    if (p->range < AUTO_RANGE || p->range > USER_RANGE || p->replay < 1 || p->replay > USER_REPLAY)
        return INVALID_PARAMETER;
    if (p->range == USER_RANGE && p->replay == KERNEL_REPLAY)
        return refuse(__func__, "user ranges do not go with kernel replay", INVALID_PARAMETER);
    if (p->max_ranges_per_pass < 1 || p->max_ranges_per_pass > data.max_ranges || p->nesting_levels < 1 ||
        p->min_nesting_level < 1 || p->pass != 0 || p->target_nesting_level != p->min_nesting_level)
        return refuse(__func__, "ranges, nesting levels or the first pass are wrong", INVALID_PARAMETER);
    profiler.configured = true;
    profiler.range = p->range;
    profiler.passes = config.passes;
    profiler.passes_done = 0;
    profiler.data = p->data;
    profiler.data_bytes = p->data_bytes;
    return SUCCESS;
}

EXPORT int cuptiRangeProfilerStart(void *params)
{
    NEED(range_object, profiler);
    NEED_PROFILER();
    EXPECT(profiler.configured, "before cuptiRangeProfilerSetConfig");
    EXPECT(!profiler.started, "is started already");
    EXPECT(profiler.passes_done < (int)profiler.passes, "all passes are done");
    profiler.started = true;
    profiler.ranges = profiler.dropped = 0;
    return SUCCESS;
}

EXPORT int cuptiRangeProfilerPushRange(void *params)
{
    NEED(range_push, name);
    NEED_PROFILER();
    EXPECT(profiler.started, "before cuptiRangeProfilerStart");
    EXPECT(profiler.range == USER_RANGE, "with automatic ranges");
    EXPECT(profiler.nesting == 0, "deeper than the one level that was configured");
    if (!p->name)
        return refuse(__func__, "a range without name", INVALID_PARAMETER);
    if (profiler.ranges == MAX_RANGES)
        return MAX_LIMIT_REACHED;
    profiler.nesting++;
    profiler.current[profiler.ranges++] = (counters){.kernels = 0};
    return SUCCESS;
}

EXPORT int cuptiRangeProfilerPopRange(void *params)
{
    NEED(range_object, profiler);
    NEED_PROFILER();
    EXPECT(profiler.started && profiler.nesting > 0, "before cuptiRangeProfilerPushRange");
    profiler.nesting--;
    return SUCCESS;
}

EXPORT int cuptiRangeProfilerStop(void *params)
{
    NEED(range_stop, all_submitted);
    NEED_PROFILER();
    EXPECT(profiler.started, "before cuptiRangeProfilerStart");
    EXPECT(profiler.nesting == 0, "within a range");
    profiler.started = false;
    p->pass = (size_t)++profiler.passes_done;
    p->target_nesting_level = 1;
    p->all_submitted = profiler.passes_done == (int)profiler.passes;
    return SUCCESS;
}

EXPORT int cuptiRangeProfilerDecodeData(void *params)
{
    NEED(range_decode, dropped);
    NEED_PROFILER();
    EXPECT(!profiler.started, "before cuptiRangeProfilerStop");
    EXPECT(profiler.configured && profiler.passes_done == (int)profiler.passes, "before all passes were done");
    data_image image;
    if (!read_data(profiler.data, profiler.data_bytes, &image))
        return refuse(__func__, "the counter data image is gone", INVALID_OPERATION);
    image.ranges = (uint32_t)(profiler.ranges < image.max_ranges ? profiler.ranges : image.max_ranges);
    memcpy(profiler.data, &image, sizeof image);
    memcpy(profiler.data + offsetof(data_image, range), profiler.current, image.ranges * sizeof(counters));
    p->dropped = profiler.dropped + profiler.ranges - image.ranges;
    return SUCCESS;
}

EXPORT int cuptiRangeProfilerGetCounterDataInfo(void *params)
{
    NEED(range_info, ranges);
    data_image image;
    if (!read_data(p->data, p->data_bytes, &image))
        return refuse(__func__, "no counter data image", INVALID_PARAMETER);
    p->ranges = image.ranges;
    return SUCCESS;
}
