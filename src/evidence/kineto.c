/* SPDX-License-Identifier: Apache-2.0 */
/* kineto.c: traces of PyTorch's profiler, {"traceEvents": [{"ph": "X", "cat": "kernel", ...}, ...], ...}. The file is
 * cut into its events, which cJSON then reads one by one: a tree of all of them would take many times the file's size,
 * and a file of gigabytes is no matter.
 *
 * A kernel's "correlation" names the runtime's call that launched it; the operator is the innermost one that was
 * running then in that call's thread. Where there is none, it is the one of the kernel's "External id", which some
 * versions number otherwise. Names of fields and categories changed over the years: "Kernel", "external id", "Runtime",
 * "Operator" are those before PyTorch 1.12. */
#include "evidence/profile.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 60, MOST_EVENT_BYTES = 64 << 20, MOST_TENSORS = 16 };

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

/* Numbers to numbers. */
typedef struct {
    int64_t *key;
    int *value;
    int count, slots;
} id_map;

static int id_slot(const id_map *m, int64_t key)
{
    int i = (int)((uint64_t)key * 0x9e3779b97f4a7c15u >> 32 & (uint64_t)(m->slots - 1));
    while (m->value[i] && m->key[i] != key)
        i = (i + 1) & (m->slots - 1);
    return i;
}

static int id_get(const id_map *m, int64_t key) { return m->slots ? m->value[id_slot(m, key)] - 1 : -1; }

static void id_set(fsim_arena *a, id_map *m, int64_t key, int value)
{
    if (m->count * 2 >= m->slots) {
        const id_map old = *m;
        m->slots = old.slots ? old.slots * 2 : 256;
        m->key = fsim_new(a, int64_t, m->slots);
        m->value = fsim_new(a, int, m->slots);
        for (int i = 0; i < old.slots; i++)
            if (old.value[i]) {
                const int to = id_slot(m, old.key[i]);
                m->key[to] = old.key[i];
                m->value[to] = old.value[i];
            }
    }
    const int i = id_slot(m, key);
    m->count += m->value[i] == 0;
    m->key[i] = key;
    m->value[i] = value + 1;
}

typedef struct {
    double start_us;
    int64_t external; /* -1: none */
    int thread;
    bool graph;
} runtime_call;
typedef struct {
    double start_us, end_us;
    int thread, call;
    int outer; /* the operator around it: an index into the same list; -1 */
} running;
typedef struct {
    double start_us, end_us;
} step;
typedef struct {
    fsim_profiled_launch launch;
    double start_us, launched_us;
    int64_t correlation, external; /* -1: none */
    int order;
} seen;

typedef struct {
    fsim_arena *a;
    fsim_diag *d;
    const char *path, *text, *at, *end;
    fsim_profile *out;
    fsim_names names, op_names;
    const char **op_name;
    int name_room, call_room, op_name_count, op_name_room;
    seen *launch;
    int launches, launch_room;
    runtime_call *runtime;
    int runtimes, runtime_room;
    running *running; /* operators; in the end by thread and start */
    int runnings, running_room;
    fsim_names threads;
    step *step;
    int steps, step_room;
    id_map by_correlation, by_external; /* runtime calls; operators' calls */
} reader;

/* The text. */

static fsim_loc place(const reader *r, const char *at)
{
    fsim_loc l = {r->path, 1, 1};
    const char *line = r->text;
    for (const char *p = line; (p = memchr(p, '\n', (size_t)(at - p))) != NULL; line = ++p)
        l.line++;
    l.col = at - line < INT_MAX ? (int)(at - line) + 1 : INT_MAX; /* a trace may be one line */
    return l;
}

static bool fail(const reader *r, const char *at, const char *what)
{
    fsim_error(r->d, place(r, at), "%s", what);
    return false;
}

static bool cut_short(const reader *r)
{
    return fail(r, r->end, "the trace ends here, unfinished: was the profiler stopped, or the copy cut short?");
}

static void skip_space(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

/* From a quote to behind the one that ends it. */
static bool skip_string(reader *r)
{
    for (r->at++; r->at < r->end && *r->at != '"'; r->at++)
        if (*r->at == '\\')
            r->at++;
    if (r->at >= r->end)
        return cut_short(r);
    r->at++;
    return true;
}

/* Over a value of any kind: only its end is looked for, cJSON judges the rest. */
static bool skip_value(reader *r)
{
    char open[MOST_DEPTH];
    int depth = 0;
    do {
        skip_space(r);
        if (r->at == r->end)
            return cut_short(r);
        const char c = *r->at;
        if (c == '"') {
            if (!skip_string(r))
                return false;
        } else if (c == '{' || c == '[') {
            if (depth == MOST_DEPTH)
                return fail(r, r->at, "nested too deeply for a trace");
            open[depth++] = c == '{' ? '}' : ']';
            r->at++;
        } else if (c == '}' || c == ']') {
            if (depth == 0 || open[depth - 1] != c)
                return fail(r, r->at, depth ? "this bracket closes another than was opened" : "a value is wanted here");
            depth--;
            r->at++;
        } else if (depth == 0 && (c == ',' || c == ':')) {
            return fail(r, r->at, "a value is wanted here");
        } else {
            r->at++;
            while (depth == 0 && r->at < r->end && !strchr(",]} \n\t\r", *r->at))
                r->at++;
        }
    } while (depth > 0);
    return true;
}

/* c, with space around it. */
static bool take(reader *r, char c)
{
    skip_space(r);
    const bool there = r->at < r->end && *r->at == c;
    r->at += there;
    if (there)
        skip_space(r);
    return there;
}

/* NaN and infinities are no JSON, but C's printf writes them and profilers use it: as zeros. In malloc's memory. */
static char *without_nan(const char *text, size_t bytes)
{
    static const char *const words[] = {"-Infinity", "Infinity", "-infinity", "infinity", "-inf",
                                        "inf",       "-nan",     "nan",       "NaN"};
    char *copy = malloc(bytes + 1);
    bool inside = false;
    if (!copy)
        return NULL;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    for (char *p = copy; *p; p++) {
        if (inside && *p == '\\' && p[1])
            p++;
        else if (*p == '"')
            inside = !inside;
        else if (!inside && strchr("-iInN", *p))
            for (size_t k = 0; k < sizeof words / sizeof *words; k++)
                if (strncmp(p, words[k], strlen(words[k])) == 0) {
                    memset(p, ' ', strlen(words[k]));
                    *p = '0';
                }
    }
    return copy;
}

/* The value between two places. NULL after an error. The caller deletes it. */
static cJSON *parse(const reader *r, const char *from, const char *to)
{
    const char *stop = from;
    cJSON *tree = cJSON_ParseWithLengthOpts(from, (size_t)(to - from), &stop, false);
    if (tree)
        return tree;
    char *copy = without_nan(from, (size_t)(to - from));
    const char *ignored;
    tree = copy ? cJSON_ParseWithLengthOpts(copy, (size_t)(to - from), &ignored, false) : NULL;
    free(copy);
    if (!tree)
        fail(r, stop >= from && stop < to ? stop : from, "this is no JSON");
    return tree;
}

/* Events. */

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *x = cJSON_GetObjectItemCaseSensitive(object, key);
    if (cJSON_IsNumber(x))
        return x->valuedouble;
    if (cJSON_IsString(x)) { /* some versions quote their numbers */
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
        return; /* an event that never ended */
    const char *name = text_of(event, "name");
    seen s = {.launch = {.name = fsim_profile_name(r->a, r->out, &r->names, &r->name_room, *name ? name : "(no name)"),
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
              .order = r->launches};
    read_size(args, "grid", s.launch.grid);
    read_size(args, "block", s.launch.block);
    *FSIM_PUSH(r->a, r->launch, r->launches, r->launch_room) = s;
}

/* A number for the thread of an event. */
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
            __builtin_mul_overflow(elems, n, &elems)) { /* a list of tensors, or nonsense */
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
        id_set(r->a, &r->by_external, external, call); /* of several with one id, the innermost comes last */
    if (isfinite(start_us) && time_us >= 0)
        *FSIM_PUSH(r->a, r->running, r->runnings, r->running_room) =
            (running){start_us, start_us + time_us, thread_of(r, event), call, -1};
}

static void on_runtime(reader *r, const cJSON *event, const cJSON *args)
{
    const int64_t correlation = whole_of(args, "correlation", -1);
    if (correlation < 0)
        return;
    *FSIM_PUSH(r->a, r->runtime, r->runtimes, r->runtime_room) =
        (runtime_call){number_of(event, "ts"), external_of(args), thread_of(r, event),
                       strstr(text_of(event, "name"), "GraphLaunch") != NULL};
    id_set(r->a, &r->by_correlation, correlation, r->runtimes - 1);
}

static void on_annotation(reader *r, const cJSON *event)
{
    const double start_us = number_of(event, "ts"), time_us = number_of(event, "dur");
    if (strncmp(text_of(event, "name"), "ProfilerStep", 12) == 0 && isfinite(start_us) && time_us > 0)
        *FSIM_PUSH(r->a, r->step, r->steps, r->step_room) = (step){start_us, start_us + time_us};
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
    /* Python's own calls are most of a trace with stacks, and of no use here. */
    if (memmem(from, (size_t)(to - from < 200 ? to - from : 200), "\"python_function\"", 17))
        return true;
    if (to - from > MOST_EVENT_BYTES)
        return fail(r, from, "an event of more than 64 MiB");
    cJSON *event = parse(r, from, to);
    if (!event)
        return false;
    if (!cJSON_IsObject(event)) {
        cJSON_Delete(event);
        return fail(r, from, "an event is an object, {...}");
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
    if (!take(r, '['))
        return fail(r, r->at, "'traceEvents' is a list, [...]");
    if (take(r, ']'))
        return true;
    do {
        const char *from = r->at;
        if (!skip_value(r) || !on_event(r, from, r->at))
            return false;
    } while (take(r, ','));
    return take(r, ']') || (r->at == r->end ? cut_short(r) : fail(r, r->at, "wanted a comma or ] between events"));
}

/* The first device's name. */
static bool read_devices(reader *r)
{
    const char *from = r->at;
    if (!skip_value(r))
        return false;
    cJSON *list = parse(r, from, r->at);
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

/* What is behind the document's {. */
static bool read_members(reader *r)
{
    bool events = false;
    if (take(r, '}'))
        return fail(r, r->text, "no 'traceEvents': this is no trace of PyTorch's profiler");
    do {
        const char *key = r->at;
        if (r->at == r->end)
            return cut_short(r);
        if (*r->at != '"')
            return fail(r, r->at, "wanted a name in quotes");
        if (!skip_string(r))
            return false;
        const char *key_end = r->at;
        if (!take(r, ':'))
            return r->at == r->end ? cut_short(r) : fail(r, r->at, "wanted a colon");
        const bool these = is_key(key, key_end, "traceEvents");
        events = events || these;
        if (these ? !read_events(r) : is_key(key, key_end, "deviceProperties") ? !read_devices(r) : !skip_value(r))
            return false;
    } while (take(r, ','));
    if (!take(r, '}'))
        return r->at == r->end ? cut_short(r) : fail(r, r->at, "wanted a comma or }");
    return events || fail(r, r->text, "no 'traceEvents': this is no trace of PyTorch's profiler");
}

/* An object with the list of events, or that list alone. */
static bool read_document(reader *r)
{
    if (!(take(r, '{') ? read_members(r) : read_events(r)))
        return false;
    return r->at == r->end || fail(r, r->at, "text behind the end of the trace");
}

/* What belongs together. */

/* The last step that starts in time, where it has not ended. */
static int step_at(const reader *r, double at_us)
{
    int low = 0, high = r->steps;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (r->step[middle].start_us <= at_us)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && at_us < r->step[low - 1].end_us ? low - 1 : -1;
}

/* By thread and start; the one around comes before what is within. */
static int by_thread(const void *left, const void *right)
{
    const running *x = left, *y = right;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return x->end_us != y->end_us ? (x->end_us > y->end_us ? -1 : 1) : x->call < y->call ? -1 : 1;
}

static void nest(reader *r)
{
    if (r->runnings > 0)
        qsort(r->running, (size_t)r->runnings, sizeof *r->running, by_thread);
    for (int i = 1, around = 0; i < r->runnings; around = i++) {
        const running *x = &r->running[i];
        while (around >= 0 && (r->running[around].thread != x->thread || r->running[around].end_us <= x->start_us))
            around = r->running[around].outer;
        r->running[i].outer = around;
    }
}

/* The call of the innermost operator that ran then; -1. */
static int running_at(const reader *r, int thread, double at_us)
{
    int low = 0, high = r->runnings;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const running *x = &r->running[middle];
        if (x->thread < thread || (x->thread == thread && x->start_us <= at_us))
            low = middle + 1;
        else
            high = middle;
    }
    int i = low - 1;
    while (i >= 0 && (r->running[i].thread != thread || r->running[i].end_us < at_us))
        i = r->running[i].outer;
    return i >= 0 ? r->running[i].call : -1;
}

static void link_launch(reader *r, seen *s, double base_us)
{
    const int runtime = s->correlation >= 0 ? id_get(&r->by_correlation, s->correlation) : -1;
    const runtime_call *by = runtime >= 0 ? &r->runtime[runtime] : NULL;
    if (by && isfinite(by->start_us))
        s->launch.call = running_at(r, by->thread, by->start_us);
    if (s->launch.call < 0 && s->external >= 0)
        s->launch.call = id_get(&r->by_external, s->external);
    if (s->launch.call < 0 && by && by->external >= 0)
        s->launch.call = id_get(&r->by_external, by->external);
    s->launch.graph = by && by->graph;
    if (s->launch.graph) /* one call launched them all */
        s->launch.call = -1;
    s->launched_us = by && isfinite(by->start_us) ? by->start_us : s->start_us;
    s->launch.start_s = (s->start_us - base_us) * 1e-6;
    s->launch.step = step_at(r, s->launched_us);
}

/* As the host launched them: streams run beside each other, and never twice alike. */
static int by_launch(const void *left, const void *right)
{
    const seen *x = left, *y = right;
    if (x->launched_us != y->launched_us)
        return x->launched_us < y->launched_us ? -1 : 1;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static int by_step_start(const void *left, const void *right)
{
    const step *x = left, *y = right;
    return x->start_us < y->start_us ? -1 : x->start_us > y->start_us;
}

static void finish(reader *r)
{
    if (r->steps > 0)
        qsort(r->step, (size_t)r->steps, sizeof *r->step, by_step_start);
    nest(r);
    double base_us = r->launches ? r->launch[0].start_us : 0;
    for (int i = 1; i < r->launches; i++)
        base_us = fmin(base_us, r->launch[i].start_us);
    for (int i = 0; i < r->launches; i++)
        link_launch(r, &r->launch[i], base_us);
    if (r->launches > 0)
        qsort(r->launch, (size_t)r->launches, sizeof *r->launch, by_launch);
    r->out->launch = fsim_new(r->a, fsim_profiled_launch, r->launches + 1);
    r->out->launches = r->launches;
    r->out->timeline = true;
    for (int i = 0; i < r->launches; i++)
        r->out->launch[i] = r->launch[i].launch;
}

bool fsim_kineto_read(fsim_arena *a, fsim_diag *d, const char *path, const char *text, size_t bytes, fsim_profile *out)
{
    const size_t mark = bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    reader r = {.a = a, .d = d, .path = path, .text = text, .at = text + mark, .end = text + bytes, .out = out};
    *out = (fsim_profile){.path = path};
    skip_space(&r);
    if (!read_document(&r))
        return false;
    finish(&r);
    bool kernels = false;
    for (int i = 0; i < out->launches; i++)
        kernels = kernels || out->launch[i].ran == FSIM_RAN_KERNEL;
    if (!kernels)
        return fail(&r, r.text, "the trace has no kernels: profile with ProfilerActivity.CUDA");
    return true;
}
