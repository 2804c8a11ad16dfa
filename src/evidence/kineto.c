/* SPDX-License-Identifier: Apache-2.0 */
/* kineto.c: reads traces of PyTorch's profiler, {"traceEvents": [{"ph": "X", "cat": "kernel", ...}, ...], ...}. The
 * file is cut into its events, and cJSON parses one at a time. A tree of the whole file would take many times its size,
 * and traces can have gigabytes.
 *
 * Field and category names changed over time: "Kernel", "external id", "Runtime", "Operator" are those before
 * PyTorch 1.12. trace_links.h says how events are linked. */
#include "evidence/json_scan.h"
#include "evidence/trace_links.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EVENT_BYTES = 64 << 20, MOST_TENSORS = 16 };

typedef enum { OTHER, KERNEL, COPY, FILL, OPERATOR, RUNTIME, ANNOTATION } category;
static const struct {
    const char *name;
    category is;
} categories[] = {{"kernel", KERNEL},
                  {"gpu_memcpy", COPY},
                  {"memcpy", COPY},
                  {"gpu_memset", FILL},
                  {"memset", FILL},
                  {"cpu_op", OPERATOR},
                  {"operator", OPERATOR},
                  {"cuda_runtime", RUNTIME},
                  {"cuda_driver", RUNTIME},
                  {"runtime", RUNTIME},
                  {"hip_runtime", RUNTIME},
                  {"hip_driver", RUNTIME},
                  {"user_annotation", ANNOTATION}};

typedef struct {
    fsim_arena *a;
    fsim_scan s;
    fsim_profile *out;
    fsim_names names, op_names;
    const char **op_name;
    int name_room, call_room, op_name_count, op_name_room;
    fsim_names threads;
    fsim_trace trace;
} reader;

/* Parses the value between two places of the text. NULL after an error. The caller deletes it. */
static cJSON *parse(const reader *r, const char *from, const char *to)
{
    const char *stop = from;
    cJSON *tree = cJSON_ParseWithLengthOpts(from, (size_t)(to - from), &stop, false);
    if (tree)
        return tree;
    char *copy = fsim_json_without_nan(from, (size_t)(to - from));
    const char *ignored;
    tree = copy ? cJSON_ParseWithLengthOpts(copy, (size_t)(to - from), &ignored, false) : NULL;
    free(copy);
    if (!tree)
        fsim_scan_fail(&r->s, stop >= from && stop < to ? stop : from, "this is no JSON");
    return tree;
}

/* Events. */

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *x = cJSON_GetObjectItemCaseSensitive(object, key);
    if (cJSON_IsNumber(x))
        return x->valuedouble;
    if (cJSON_IsString(x)) { /* some versions write numbers as strings */
        char *end;
        const double value = strtod(x->valuestring, &end);
        return end != x->valuestring && *end == '\0' ? value : NAN;
    }
    return NAN;
}

static int64_t whole_of(const cJSON *object, const char *key, int64_t otherwise)
{
    const double x = number_of(object, key);
    return x >= 0 && x <= 9e15 ? (int64_t)x : otherwise;
}

static int small_of(const cJSON *object, const char *key)
{
    const int64_t x = whole_of(object, key, 0);
    return x <= 1 << 30 ? (int)x : 0;
}

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *x = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(x) ? x->valuestring : "";
}

static int64_t external_of(const cJSON *args)
{
    const int64_t now = whole_of(args, "External id", -1);
    return now >= 0 ? now : whole_of(args, "external id", -1);
}

static void read_size(const cJSON *args, const char *key, int64_t size[3])
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(args, key), *x = NULL;
    int n = 0;
    if (cJSON_IsArray(list))
        cJSON_ArrayForEach(x, list) if (n < 3 && cJSON_IsNumber(x) && x->valuedouble >= 1 &&
                                        x->valuedouble < 4294967296.0) size[n++] = (int64_t)x->valuedouble;
    for (; n > 0 && n < 3; n++)
        size[n] = 1;
}

static void on_launch(reader *r, const cJSON *event, const cJSON *args, fsim_ran ran)
{
    const double start_us = number_of(event, "ts"), time_us = number_of(event, "dur");
    if (!isfinite(start_us) || !(time_us >= 0) || !isfinite(time_us))
        return; /* the event has no end */
    const char *name = text_of(event, "name");
    fsim_trace_launch s = {
        .launch = {.name = fsim_profile_name(r->a, r->out, &r->names, &r->name_room, *name ? name : "(no name)"),
                   .ran = ran,
                   .device = small_of(args, "device"),
                   .stream = small_of(args, "stream"),
                   .time_s = time_us * 1e-6,
                   .dram_read_bytes = NAN,
                   .dram_write_bytes = NAN,
                   .l2_bytes = NAN,
                   .registers = small_of(args, "registers per thread"),
                   .call = -1,
                   .step = -1},
        .start_us = start_us,
        .correlation = whole_of(args, "correlation", -1),
        .external = external_of(args),
        .order = r->trace.launches};
    read_size(args, "grid", s.launch.grid);
    read_size(args, "block", s.launch.block);
    *FSIM_PUSH(r->a, r->trace.launch, r->trace.launches, r->trace.launch_room) = s;
}

/* The number of the event's thread, counted from 0. */
static int thread_of(reader *r, const cJSON *event)
{
    char text[64];
    const cJSON *tid = cJSON_GetObjectItemCaseSensitive(event, "tid");
    if (cJSON_IsString(tid))
        snprintf(text, sizeof text, "%s", tid->valuestring);
    else
        snprintf(text, sizeof text, "%.0f", number_of(event, "tid"));
    const int known = fsim_names_get(&r->threads, text), fresh = r->threads.count;
    if (known < 0)
        fsim_names_set(r->a, &r->threads, fsim_strdup(r->a, text), fresh);
    return known < 0 ? fresh : known;
}

static void read_dims(const cJSON *list, fsim_shape *shape)
{
    const cJSON *x = NULL;
    int64_t elems = 1;
    if (!cJSON_IsArray(list))
        return;
    cJSON_ArrayForEach(x, list)
    {
        const int64_t n =
            cJSON_IsNumber(x) && x->valuedouble >= 0 && x->valuedouble < 4e9 ? (int64_t)x->valuedouble : -1;
        if (n < 0 || shape->rank == FSIM_MAX_RANK ||
            __builtin_mul_overflow(elems, n, &elems)) { /* an argument that is a list of tensors, or invalid */
            shape->rank = 0;
            return;
        }
        shape->dim[shape->rank++] = n;
    }
}

static void on_operator(reader *r, const cJSON *event, const cJSON *args)
{
    const int64_t external = external_of(args);
    const double start_us = number_of(event, "ts"), time_us = number_of(event, "dur");
    const cJSON *dims = cJSON_GetObjectItemCaseSensitive(args, "Input Dims"), *x = NULL;
    if (!dims)
        dims = cJSON_GetObjectItemCaseSensitive(args, "Input dims");
    const char *name = text_of(event, "name");
    fsim_shape shape[MOST_TENSORS] = {{0}}, *kept = NULL;
    int tensors = 0;
    if (cJSON_IsArray(dims))
        cJSON_ArrayForEach(x, dims) if (tensors < MOST_TENSORS) read_dims(x, &shape[tensors++]);
    if (tensors > 0) {
        kept = fsim_new(r->a, fsim_shape, tensors);
        memcpy(kept, shape, (size_t)tensors * sizeof *shape);
    }
    int known = fsim_names_get(&r->op_names, name);
    if (known < 0) {
        known = r->op_name_count;
        *FSIM_PUSH(r->a, r->op_name, r->op_name_count, r->op_name_room) = fsim_strdup(r->a, name);
        fsim_names_set(r->a, &r->op_names, r->op_name[known], known);
    }
    *FSIM_PUSH(r->a, r->out->call, r->out->calls, r->call_room) = (fsim_call_seen){r->op_name[known], tensors, kept};
    const int call = r->out->calls - 1;
    if (external >= 0)
        fsim_id_set(r->a, &r->trace.by_external, external,
                    call); /* of several operators with one id, the innermost comes last and stays */
    if (isfinite(start_us) && time_us >= 0)
        *FSIM_PUSH(r->a, r->trace.running, r->trace.runnings, r->trace.running_room) =
            (fsim_trace_operator){start_us, start_us + time_us, thread_of(r, event), call, -1};
}

static void on_runtime(reader *r, const cJSON *event, const cJSON *args)
{
    const int64_t correlation = whole_of(args, "correlation", -1);
    if (correlation < 0)
        return;
    *FSIM_PUSH(r->a, r->trace.runtime, r->trace.runtimes, r->trace.runtime_room) =
        (fsim_trace_call){number_of(event, "ts"), external_of(args), thread_of(r, event),
                          strstr(text_of(event, "name"), "GraphLaunch") != NULL};
    fsim_id_set(r->a, &r->trace.by_correlation, correlation, r->trace.runtimes - 1);
}

static void on_annotation(reader *r, const cJSON *event)
{
    const double start_us = number_of(event, "ts"), time_us = number_of(event, "dur");
    if (strncmp(text_of(event, "name"), "ProfilerStep", 12) == 0 && isfinite(start_us) && time_us > 0)
        *FSIM_PUSH(r->a, r->trace.step, r->trace.steps, r->trace.step_room) =
            (fsim_trace_step){start_us, start_us + time_us};
}

static category category_of(const cJSON *event)
{
    const char *name = text_of(event, "cat");
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (strcasecmp(name, categories[i].name) == 0)
            return categories[i].is;
    return OTHER;
}

static bool on_event(reader *r, const char *from, const char *to)
{
    /* Python's own calls are not used; with stacks recorded they are most of a trace */
    if (memmem(from, (size_t)(to - from < 200 ? to - from : 200), "\"python_function\"", 17))
        return true;
    if (to - from > MOST_EVENT_BYTES)
        return fsim_scan_fail(&r->s, from, "an event of more than 64 MiB");
    cJSON *event = parse(r, from, to);
    if (!event)
        return false;
    if (!cJSON_IsObject(event)) {
        cJSON_Delete(event);
        return fsim_scan_fail(&r->s, from, "an event is an object, {...}");
    }
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(event, "args");
    const char *phase = text_of(event, "ph");
    const bool span = !*phase || strcmp(phase, "X") == 0;
    switch (span ? category_of(event) : OTHER) {
    case KERNEL:
        on_launch(r, event, args, FSIM_RAN_KERNEL);
        break;
    case COPY:
        on_launch(r, event, args, FSIM_RAN_COPY);
        break;
    case FILL:
        on_launch(r, event, args, FSIM_RAN_FILL);
        break;
    case OPERATOR:
        on_operator(r, event, args);
        break;
    case RUNTIME:
        on_runtime(r, event, args);
        break;
    case ANNOTATION:
        on_annotation(r, event);
        break;
    case OTHER:
        break;
    }
    cJSON_Delete(event);
    return true;
}

/* The document. */

static bool read_events(reader *r)
{
    if (!fsim_scan_take(&r->s, '['))
        return fsim_scan_fail(&r->s, r->s.at, "'traceEvents' is a list, [...]");
    if (fsim_scan_take(&r->s, ']'))
        return true;
    do {
        const char *from = r->s.at;
        if (!fsim_scan_value(&r->s) || !on_event(r, from, r->s.at))
            return false;
    } while (fsim_scan_take(&r->s, ','));
    return fsim_scan_take(&r->s, ']') ||
           (r->s.at == r->s.end ? fsim_scan_cut_short(&r->s)
                                : fsim_scan_fail(&r->s, r->s.at, "wanted a comma or ] between events"));
}

/* Reads the name of the first device. */
static bool read_devices(reader *r)
{
    const char *from = r->s.at;
    if (!fsim_scan_value(&r->s))
        return false;
    cJSON *list = parse(r, from, r->s.at);
    if (!list)
        return false;
    const char *name = text_of(cJSON_GetArrayItem(list, 0), "name");
    if (cJSON_IsArray(list) && *name)
        r->out->device_name = fsim_strdup(r->a, name);
    cJSON_Delete(list);
    return true;
}

static bool is_key(const char *from, const char *to, const char *key)
{
    return (size_t)(to - from) == strlen(key) + 2 && memcmp(from + 1, key, strlen(key)) == 0;
}

/* Reads the members of the document's object, behind its {. */
static bool read_members(reader *r)
{
    bool events = false;
    if (fsim_scan_take(&r->s, '}'))
        return fsim_scan_fail(&r->s, r->s.text, "no 'traceEvents': this is no trace of PyTorch's profiler");
    do {
        const char *key = r->s.at;
        if (r->s.at == r->s.end)
            return fsim_scan_cut_short(&r->s);
        if (*r->s.at != '"')
            return fsim_scan_fail(&r->s, r->s.at, "wanted a name in quotes");
        if (!fsim_scan_string(&r->s))
            return false;
        const char *key_end = r->s.at;
        if (!fsim_scan_take(&r->s, ':'))
            return r->s.at == r->s.end ? fsim_scan_cut_short(&r->s) : fsim_scan_fail(&r->s, r->s.at, "wanted a colon");
        const bool these = is_key(key, key_end, "traceEvents");
        events = events || these;
        if (these                                      ? !read_events(r)
            : is_key(key, key_end, "deviceProperties") ? !read_devices(r)
                                                       : !fsim_scan_value(&r->s))
            return false;
    } while (fsim_scan_take(&r->s, ','));
    if (!fsim_scan_take(&r->s, '}'))
        return r->s.at == r->s.end ? fsim_scan_cut_short(&r->s) : fsim_scan_fail(&r->s, r->s.at, "wanted a comma or }");
    return events || fsim_scan_fail(&r->s, r->s.text, "no 'traceEvents': this is no trace of PyTorch's profiler");
}

/* Reads the document: an object that has the list of events, or that list alone. */
static bool read_document(reader *r)
{
    if (!(fsim_scan_take(&r->s, '{') ? read_members(r) : read_events(r)))
        return false;
    return r->s.at == r->s.end || fsim_scan_fail(&r->s, r->s.at, "text behind the end of the trace");
}

bool fsim_kineto_read(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes, fsim_profile *out)
{
    const size_t mark = bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    reader r = {.a = a, .s = {d, path, text, text + mark, text + bytes}, .out = out};
    *out = (fsim_profile){.path = path};
    fsim_scan_space(&r.s);
    if (!read_document(&r))
        return false;
    fsim_trace_link(&r.trace, a, out);
    bool kernels = false;
    for (int i = 0; i < out->launches; i++)
        kernels = kernels || out->launch[i].ran == FSIM_RAN_KERNEL;
    if (!kernels)
        return fsim_scan_fail(&r.s, r.s.text, "the trace has no kernels: profile with ProfilerActivity.CUDA");
    return true;
}
