/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/nvrtc.h"

#include "base/file.h"
#include "hw/architecture.h"
#include "validate/cuda/cache.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int ascending(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

static bool read_version(fsim_nvrtc *n, fsim_arena *a, fsim_fault *fault)
{
    const fsim_nvrtc_entries *call = &n->call;
    if (call->nvrtcVersion(&n->major, &n->minor) != 0 || call->nvrtcGetNumSupportedArchs(&n->archs) != 0 ||
        n->archs < 1 || n->archs > 1000)
        return fsim_fail(fault, a, FSIM_UNAVAILABLE, "NVRTC %s does not say its version or what it compiles for",
                         n->library.path);
    n->sm = fsim_new(a, int, n->archs);
    if (call->nvrtcGetSupportedArchs(n->sm) != 0)
        return fsim_fail(fault, a, FSIM_UNAVAILABLE, "NVRTC %s does not say what it compiles for", n->library.path);
    qsort(n->sm, (size_t)n->archs, sizeof *n->sm, ascending);
    return true;
}

fsim_nvrtc *fsim_nvrtc_open(fsim_arena *a, int major, fsim_fault *fault)
{
    fsim_nvrtc *n = fsim_new(a, fsim_nvrtc, 1);
    if (!fsim_open_nvrtc(a, major, &n->library, &n->call, fault) || !read_version(n, a, fault))
        return NULL;
    n->cache = fsim_cache_folder(a, &n->no_cache);
    return n;
}

/* The compiler's options after the architecture, whose text is the first. */
enum { OPTIONS = 3 };
static void options_of(fsim_arena *a, int sm, const char *option[OPTIONS])
{
    const fsim_architecture *arch = fsim_architecture_of_sm(sm); /* wgmma is in a feature set of its own: sm_90a */
    option[0] = fsim_printf(a, "--gpu-architecture=sm_%d%s", sm, arch->sm == sm && arch->wgmma ? "a" : "");
    option[1] = "--std=c++17";
    option[2] = "--ptxas-options=-v"; /* the log has the resources of each kernel */
}

/* Hash of everything that the cubin depends on; each text with its length. */
static void key_of(const fsim_nvrtc *n, const fsim_nvrtc_source *s, const char *header, const char *const *option,
                   fsim_arena *a, char key[65])
{
    char *text = fsim_printf(a, "nvrtc %d.%d\n", n->major, n->minor);
    for (int i = 0; i < OPTIONS; i++)
        text = fsim_printf(a, "%s%s\n", text, option[i]);
    text = fsim_printf(a, "%s%zu %s%zu %s", text, strlen(header), header, strlen(s->source), s->source);
    fsim_sha256(text, strlen(text), key);
}

const char *fsim_first_error(fsim_arena *a, const char *log)
{
    const char *first = log + strspn(log, " \t\r\n");
    for (const char *line = first; *line; line += strcspn(line, "\n"), line += strspn(line, "\n")) {
        const size_t length = strcspn(line, "\n");
        const char *word = strstr(line, "error");
        if (word && word < line + length)
            return fsim_strndup(a, line, length);
    }
    return fsim_strndup(a, first, strcspn(first, "\n"));
}

int fsim_warnings(const char *log)
{
    int warnings = 0;
    for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *word = strstr(line, "warning");
        warnings += word && word < line + strcspn(line, "\n") && strncmp(line, "Remark", strlen("Remark")) != 0;
    }
    return warnings;
}

static bool supported(const fsim_nvrtc *n, int sm)
{
    for (int i = 0; i < n->archs; i++)
        if (n->sm[i] == sm)
            return true;
    return false;
}

static bool refuse_architecture(const fsim_nvrtc *n, const fsim_nvrtc_source *s, fsim_arena *a, fsim_cubin *out)
{
    return fsim_fail(&out->fault, a, FSIM_UNAVAILABLE,
                     "NVRTC %d.%d (%s) does not compile for sm_%d, only for sm_%d to sm_%d: set $FUSESIM_NVRTC_LIB to "
                     "the libnvrtc of %s CUDA toolkit",
                     n->major, n->minor, n->library.path, s->sm, n->sm[0], n->sm[n->archs - 1],
                     s->sm < n->sm[0] ? "an older" : "a newer");
}

/* ptxas for sm_80 fails without a message for more than 48 KiB of static shared memory. */
static const char *error_of(fsim_arena *a, const char *log)
{
    enum { STATIC_SHARED_BYTES = 48 << 10 };
    fsim_resources *entry;
    const int entries = fsim_resources_of_log(log, a, &entry);
    for (int i = 0; i < entries && !strstr(log, "error"); i++)
        if (entry[i].static_shared_bytes > STATIC_SHARED_BYTES)
            return fsim_printf(a, "%s uses too much shared data: %d bytes, at most %d can be static", entry[i].entry,
                               entry[i].static_shared_bytes, STATIC_SHARED_BYTES);
    return fsim_first_error(a, log);
}

/* A source that does not compile is the generator's fault; a compiler that does not run is the machine's. */
static bool report_failure(const fsim_nvrtc *n, const fsim_nvrtc_source *s, int result, fsim_arena *a, fsim_cubin *out)
{
    if (result == FSIM_NVRTC_INVALID_OPTION)
        return refuse_architecture(n, s, a, out);
    if (result == FSIM_NVRTC_BUILTIN_FAILURE)
        return fsim_fail(&out->fault, a, FSIM_UNAVAILABLE,
                         "NVRTC %s does not find libnvrtc-builtins: its folder should have it, or LD_LIBRARY_PATH",
                         n->library.path);
    const char *text = n->call.nvrtcGetErrorString(result);
    if (result == FSIM_NVRTC_COMPILATION && out->log[0])
        return fsim_fail(&out->fault, a, FSIM_FAILED, "%s does not compile for sm_%d: %s", s->name, s->sm,
                         error_of(a, out->log));
    return fsim_fail(&out->fault, a, FSIM_UNAVAILABLE, "NVRTC could not compile %s for sm_%d: %s (%d)", s->name, s->sm,
                     text ? text : "no reason given", result);
}

static const char *log_of(const fsim_nvrtc *n, fsim_nvrtc_program program, fsim_arena *a)
{
    size_t bytes = 0;
    if (n->call.nvrtcGetProgramLogSize(program, &bytes) != 0 || bytes == 0)
        return "";
    char *log = fsim_new(a, char, bytes + 1);
    return n->call.nvrtcGetProgramLog(program, log) == 0 ? log : "";
}

static bool take_cubin(const fsim_nvrtc *n, const fsim_nvrtc_source *s, fsim_nvrtc_program program, fsim_arena *a,
                       fsim_cubin *out)
{
    size_t bytes = 0;
    int result = n->call.nvrtcGetCUBINSize(program, &bytes);
    char *cubin = fsim_new(a, char, bytes + 1);
    if (result == 0 && bytes > 0)
        result = n->call.nvrtcGetCUBIN(program, cubin);
    if (result != 0)
        return report_failure(n, s, result, a, out);
    if (bytes == 0)
        return fsim_fail(&out->fault, a, FSIM_FAILED, "NVRTC gave no code for %s", s->name);
    out->cubin = cubin;
    out->bytes = bytes;
    return true;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool compile(const fsim_nvrtc *n, const fsim_nvrtc_source *s, const char *header, const char *const *option,
                    fsim_arena *a, fsim_cubin *out)
{
    static const char *const header_name = "fusesim_dialect.h";
    fsim_nvrtc_program program = NULL;
    const double start_s = now_s();
    int result = n->call.nvrtcCreateProgram(&program, s->source, s->name, header[0] ? 1 : 0, &header, &header_name);
    if (result != 0)
        return report_failure(n, s, result, a, out);
    result = n->call.nvrtcCompileProgram(program, OPTIONS, option);
    out->log = log_of(n, program, a);
    const bool done = result == 0 ? take_cubin(n, s, program, a, out) : report_failure(n, s, result, a, out);
    (void)!n->call.nvrtcDestroyProgram(&program);
    out->compile_s = now_s() - start_s;
    return done;
}

static void read_resources(fsim_cubin *c, fsim_arena *a)
{
    c->entries = fsim_resources_of_log(c->log, a, &c->entry);
    c->checked = fsim_resources_check(c->cubin, c->bytes, c->entry, c->entries);
}

bool fsim_nvrtc_compile(const fsim_nvrtc *n, const fsim_nvrtc_source *s, const char *header, fsim_arena *a,
                        fsim_cubin *out)
{
    const char *option[OPTIONS], *why;
    char key[65];
    fsim_cached item;
    *out = (fsim_cubin){.log = ""};
    if (!supported(n, s->sm))
        return refuse_architecture(n, s, a, out);
    header = header ? header : "";
    options_of(a, s->sm, option);
    key_of(n, s, header, option, a, key);
    out->cached = n->cache && fsim_cache_get(a, n->cache, key, &item) && item.cubin_bytes > 0;
    if (out->cached) {
        out->log = item.log;
        out->cubin = item.cubin;
        out->bytes = item.cubin_bytes;
    } else if (!compile(n, s, header, option, a, out)) {
        return false;
    } else if (n->cache) {
        item = (fsim_cached){.log = out->log, .cubin = out->cubin, .cubin_bytes = out->bytes};
        (void)!fsim_cache_put(a, n->cache, key, &item, &why); /* a full disk only costs another compilation */
    }
    read_resources(out, a);
    return true;
}

typedef struct {
    const fsim_nvrtc *n;
    const fsim_nvrtc_source *source;
    const char *header;
    fsim_arena **arena; /* for each source: arenas can't be shared between threads */
    fsim_cubin *out;
    int count;
    atomic_int next;
} work;

static void *compile_some(void *argument)
{
    work *w = argument;
    for (int i = atomic_fetch_add(&w->next, 1); i < w->count; i = atomic_fetch_add(&w->next, 1))
        (void)!fsim_nvrtc_compile(w->n, &w->source[i], w->header, w->arena[i], &w->out[i]);
    return NULL;
}

bool fsim_nvrtc_compile_all(const fsim_nvrtc *n, const fsim_nvrtc_source *source, int count, const fsim_nvrtc_how *how,
                            fsim_arena *a, fsim_cubin *out)
{
    work w = {.n = n,
              .source = source,
              .header = how->header,
              .arena = fsim_new(a, fsim_arena *, count),
              .out = out,
              .count = count};
    const int threads = how->jobs < 1 || count < 1 ? 1 : how->jobs < count ? how->jobs : count;
    pthread_t *thread = fsim_new(a, pthread_t, threads);
    int started = 0;
    bool all = true;
    for (int i = 0; i < count; i++)
        w.arena[i] = fsim_arena_child(a);
    while (started < threads - 1 && pthread_create(&thread[started], NULL, compile_some, &w) == 0)
        started++;
    compile_some(&w);
    for (int t = 0; t < started; t++)
        pthread_join(thread[t], NULL);
    for (int i = 0; i < count; i++)
        all = all && out[i].cubin;
    return all;
}
