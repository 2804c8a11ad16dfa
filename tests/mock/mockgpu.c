/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: libcuda's names. */
#include "mockgpu.h"
#include "emulate.h"
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { /* CUresult */
       SUCCESS = 0,
       INVALID_VALUE = 1,
       OUT_OF_MEMORY = 2,
       NOT_INITIALIZED = 3,
       STUB_LIBRARY = 34,
       NO_DEVICE = 100,
       INVALID_DEVICE = 101,
       INVALID_IMAGE = 200,
       INVALID_CONTEXT = 201,
       NO_BINARY_FOR_GPU = 209,
       INVALID_HANDLE = 400,
       NOT_FOUND = 500,
       NOT_READY = 600,
       ILLEGAL_ADDRESS = 700,
       LAUNCH_OUT_OF_RESOURCES = 701,
       LAUNCH_TIMEOUT = 702,
       STREAM_CAPTURE_UNSUPPORTED = 900,
       UNKNOWN = 999,
};

typedef uint64_t device_pointer;

#define GUARD_BYTE 0xc3
enum { ALIGNMENT = 256, DEFAULT_SHARED_BYTES = 48 << 10 };

/* [page that faults][guard bytes, data, guard bytes: whole pages][page that faults] */
typedef struct allocation {
    struct allocation *next;
    char *map, *at;
    size_t map_bytes, bytes, body_bytes; /* body: the data, up to the last page's end */
    uint64_t used;                       /* bytes that kernels had used when one used it last; 0: never */
    double dirty;                        /* bytes in L2 that memory does not have */
    uint64_t version;                    /* of its contents */
    uint64_t filled_version;             /* at which it was filled with this value; 0: never */
    unsigned filled_value;
} allocation;

typedef struct module {
    void *library;
    struct function *functions;
} module;

typedef struct function {
    struct function *next;
    module *owner;
    const char *name;
    void (*entry)(void **params);
    mock_entry about;
    int registers, max_dynamic_bytes;
    const int *idle_but;           /* FS_IDLE_BUT of emulated.h; NULL: all of the grid runs */
    bool written[MOCK_MAX_PARAMS]; /* a launch changed what it points at */
    /* The last launch, as MOCK_SKIP_REPEATS compares it. */
    bool has_last;
    uint64_t last_param[MOCK_MAX_PARAMS], last_version[MOCK_MAX_PARAMS];
    unsigned last_shape[7];
} function;

/* What a captured stream does. */
typedef struct node {
    struct node *next;
    function *kernel;  /* NULL: a memset */
    unsigned shape[7]; /* grid, block, dynamic shared bytes */
    uint64_t param[MOCK_MAX_PARAMS];
    device_pointer to;
    unsigned value;
    size_t words;
} node;

typedef struct {
    node *first, **end;
} graph;

typedef struct {
    graph *capture;
} stream;

typedef struct {
    uint64_t ns;
    bool recorded, hung;
} event;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool initialized, has_context;
static int broken; /* the error that all calls give, once there was one */
static bool hung, busy;
static allocation *allocations;
static size_t allocated_bytes;
static uint64_t now_ns = 1000000000, used_bytes, launches, chosen_launches, versions;
static stream default_stream;

static void unlock(pthread_mutex_t *const *held) { pthread_mutex_unlock(*held); }

static pthread_mutex_t *locked(void)
{
    pthread_mutex_lock(&lock);
    return &lock;
}
#define LOCKED __attribute__((cleanup(unlock), unused)) pthread_mutex_t *const held = locked()

/* What is told by the header */

bool mock_fails(const char *word)
{
    const char *at = getenv("MOCK_FAIL");
    for (size_t length; at && *at; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        if (length == strlen(word) && memcmp(at, word, length) == 0)
            return true;
    }
    return false;
}

void mock_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    flockfile(stderr);
    fputs("mock: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    funlockfile(stderr);
    va_end(args);
}

long long mock_number(const char *name, long long otherwise)
{
    const char *const text = getenv(name);
    return text && *text ? strtoll(text, NULL, 10) : otherwise;
}

bool mock_initialized(void) { return initialized; }

bool mock_busy(void) { return busy; }

int mock_sm(void) { return (int)mock_number("MOCK_SM", 90); }

int mock_registers(const char *entry)
{
    unsigned hash = 5381;
    for (; *entry; entry++)
        hash = hash * 33 + (unsigned char)*entry;
    return 24 + (int)(hash >> 8) % 6 * 8;
}

static double device_bytes(void) { return (double)mock_number("MOCK_MEMORY", mock_fails("oom") ? 0 : 2ll << 30); }

/* Names last as long as the process, as those of activity records must. */
static const char *lasting(const char *name)
{
    static struct known {
        struct known *next;
        char name[];
    } * names;
    for (const struct known *k = names; k; k = k->next)
        if (strcmp(k->name, name) == 0)
            return k->name;
    struct known *const k = malloc(sizeof *k + strlen(name) + 1);
    if (!k)
        abort();
    strcpy(k->name, name);
    k->next = names;
    names = k;
    return k->name;
}

/* What a call says before it does anything. */
static int state_of_context(void) { return !initialized ? NOT_INITIALIZED : !has_context ? INVALID_CONTEXT : broken; }

/* Devices */

EXPORT int cuInit(unsigned flags)
{
    if (flags != 0)
        return INVALID_VALUE;
    if (mock_fails("nodev"))
        return NO_DEVICE;
    if (mock_fails("stub"))
        return STUB_LIBRARY;
    initialized = true;
    return SUCCESS;
}

EXPORT int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return SUCCESS;
}

EXPORT int cuDeviceGetCount(int *count)
{
    *count = 1;
    return initialized ? SUCCESS : NOT_INITIALIZED;
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
    *device = 0;
    return !initialized ? NOT_INITIALIZED : ordinal == 0 ? SUCCESS : INVALID_DEVICE;
}

EXPORT int cuDeviceGetName(char *name, int bytes, int device)
{
    if (!initialized || device != 0)
        return !initialized ? NOT_INITIALIZED : INVALID_DEVICE;
    snprintf(name, (size_t)bytes, "Mock H100");
    return SUCCESS;
}

EXPORT int cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    if (!initialized || device != 0)
        return !initialized ? NOT_INITIALIZED : INVALID_DEVICE;
    memcpy(uuid, "mock gpu, no uid", 16);
    return SUCCESS;
}

EXPORT int cuDeviceGetUuid(unsigned char *uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)device_bytes();
    return !initialized ? NOT_INITIALIZED : device == 0 ? SUCCESS : INVALID_DEVICE;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    static const int known[][2] = {
        {1, 1024}, /* threads of a block */
        {2, 1024},
        {3, 1024},
        {4, 64},
        {5, INT32_MAX},
        {6, 65535},
        {7, 65535},                /* extents of blocks and grids */
        {8, DEFAULT_SHARED_BYTES}, /* shared memory of a block */
        {9, 65536},                /* constant memory */
        {10, 32},                  /* warp */
        {12, 65536},               /* registers of a block */
        {13, 1980000},             /* kHz */
        {16, MOCK_SMS},
        {17, 0}, /* no time limit of kernels */
        {18, 0}, /* not integrated */
        {20, 0}, /* compute mode: default */
        {32, 1}, /* ECC */
        {33, 0},
        {34, 0},
        {50, 0}, /* PCI bus, device, domain */
        {35, 0},
        {36, 2619000}, /* memory, kHz */
        {37, 5120},    /* bits of the bus */
        {38, MOCK_L2_BYTES},
        {39, 2048},      /* threads of a multiprocessor */
        {41, 1},         /* unified addresses */
        {81, 228 << 10}, /* shared memory of a multiprocessor */
        {82, 65536},     /* registers of a multiprocessor */
        {97, MOCK_SHARED_BYTES},
        {106, 32},       /* blocks of a multiprocessor */
        {108, 30 << 20}, /* persisting L2 */
        {111, 1024},     /* shared memory that the driver takes of a block */
    };
    if (!initialized || device != 0)
        return !initialized ? NOT_INITIALIZED : INVALID_DEVICE;
    if (attribute == 75 || attribute == 76) {
        *value = attribute == 75 ? mock_sm() / 10 : mock_sm() % 10;
        return SUCCESS;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i][0] == attribute) {
            *value = known[i][1];
            return SUCCESS;
        }
    mock_say("cuDeviceGetAttribute(%d) is not known here", attribute);
    return INVALID_VALUE;
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
    if (!initialized || device != 0)
        return !initialized ? NOT_INITIALIZED : INVALID_DEVICE;
    *context = &initialized;
    has_context = true;
    return SUCCESS;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    return !initialized ? NOT_INITIALIZED : device == 0 ? SUCCESS : INVALID_DEVICE;
}

EXPORT int cuCtxSetCurrent(const void *context)
{
    return !initialized ? NOT_INITIALIZED : !context || context == &initialized ? SUCCESS : INVALID_CONTEXT;
}

EXPORT int cuCtxGetCurrent(void **context)
{
    *context = has_context ? &initialized : NULL;
    return initialized ? SUCCESS : NOT_INITIALIZED;
}

EXPORT int cuCtxResetPersistingL2Cache(void) { return state_of_context(); }

/* Memory */

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

static void fill(char *at, unsigned word, size_t bytes)
{
    for (size_t done = 0; done < bytes && done < sizeof word; done++)
        at[done] = (char)(word >> 8 * done & 0xff);
    for (size_t done = sizeof word; done < bytes; done *= 2)
        memcpy(at + done, at, done < bytes - done ? done : bytes - done);
}

/* The allocation in which all the bytes lie, or NULL. */
static allocation *allocation_of(device_pointer at, size_t bytes)
{
    for (allocation *a = allocations; a; a = a->next)
        if (at >= (uintptr_t)a->at && at - (uintptr_t)a->at <= a->bytes && bytes <= a->bytes - (at - (uintptr_t)a->at))
            return a;
    return NULL;
}

static bool all_bytes(const char *from, const char *to, int byte)
{
    while (from < to)
        if ((unsigned char)*from++ != byte)
            return false;
    return true;
}

/* Are the bytes around the data as they were? */
static bool is_whole(const allocation *a)
{
    const char *const page = a->map + page_bytes();
    if (all_bytes(page, a->at, GUARD_BYTE) && all_bytes(a->at + a->bytes, a->at + a->body_bytes, GUARD_BYTE))
        return true;
    mock_say("a write %s the allocation of %zu bytes at %p", all_bytes(page, a->at, GUARD_BYTE) ? "beyond" : "before",
             a->bytes, (void *)a->at);
    return false;
}

EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    LOCKED;
    *total_bytes = (size_t)device_bytes();
    *free_bytes = *total_bytes > allocated_bytes ? *total_bytes - allocated_bytes : 0;
    return state_of_context();
}

EXPORT int cuMemAlloc_v2(device_pointer *pointer, size_t bytes)
{
    LOCKED;
    const int state = state_of_context();
    if (state != SUCCESS || bytes == 0)
        return state != SUCCESS ? state : INVALID_VALUE;
    if ((double)allocated_bytes + (double)bytes > device_bytes())
        return OUT_OF_MEMORY;
    allocation *const a = calloc(1, sizeof *a);
    if (!a)
        return OUT_OF_MEMORY;
    const size_t page = page_bytes(), body = round_up(bytes, ALIGNMENT), inner = round_up(body, page);
    a->map_bytes = inner + 2 * page;
    a->map = mmap(NULL, a->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a->map == MAP_FAILED || mprotect(a->map + page, inner, PROT_READ | PROT_WRITE) != 0) {
        free(a);
        return OUT_OF_MEMORY;
    }
    a->at = a->map + page + inner - body;
    a->bytes = bytes;
    a->body_bytes = body;
    memset(a->map + page, GUARD_BYTE, (size_t)(a->at - a->map) - page);
    fill(a->at, MOCK_POISON, bytes);
    memset(a->at + bytes, GUARD_BYTE, body - bytes);
    a->version = ++versions;
    a->next = allocations;
    allocations = a;
    allocated_bytes += bytes;
    *pointer = (uintptr_t)a->at;
    return SUCCESS;
}

EXPORT int cuMemFree_v2(device_pointer pointer)
{
    LOCKED;
    if (pointer == 0)
        return state_of_context();
    for (allocation **link = &allocations; *link; link = &(*link)->next) {
        allocation *const a = *link;
        if ((uintptr_t)a->at != pointer)
            continue;
        const bool whole = is_whole(a);
        *link = a->next;
        allocated_bytes -= a->bytes;
        /* The addresses are not used again: who still has them faults. */
        if (mmap(a->map, a->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
            MAP_FAILED)
            abort();
        free(a);
        if (!whole && !broken)
            broken = ILLEGAL_ADDRESS;
        return broken;
    }
    mock_say("cuMemFree of %#llx, which is not allocated", (unsigned long long)pointer);
    return INVALID_VALUE;
}

/* Waits for what never ends. */
static int wait_for_hung(void)
{
    const struct timespec some = {.tv_nsec = 20000000};
    struct timespec t, start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        nanosleep(&some, NULL);
        clock_gettime(CLOCK_MONOTONIC, &t);
    } while (t.tv_sec - start.tv_sec < mock_number("MOCK_HANG_S", 10));
    return LAUNCH_TIMEOUT;
}

/* The driver takes down what it has when the program ends by exit. */
__attribute__((destructor)) static void take_down(void)
{
    if (hung)
        wait_for_hung();
}

static int synchronize(void)
{
    if (hung)
        return wait_for_hung();
    LOCKED;
    busy = false;
    const int state = state_of_context();
    for (const allocation *a = allocations; a && state == SUCCESS; a = a->next)
        if (!is_whole(a)) {
            broken = ILLEGAL_ADDRESS;
            return broken;
        }
    return state;
}

EXPORT int cuMemcpyHtoD_v2(device_pointer to, const void *from, size_t bytes)
{
    const int state = synchronize();
    if (state != SUCCESS)
        return state;
    LOCKED;
    allocation *const a = allocation_of(to, bytes);
    if (!a) {
        mock_say("cuMemcpyHtoD of %zu bytes to %#llx, which are not allocated", bytes, (unsigned long long)to);
        return INVALID_VALUE;
    }
    memcpy(a->at + (to - (uintptr_t)a->at), from, bytes);
    a->version = ++versions;
    now_ns += 5000 + bytes / 20;
    return SUCCESS;
}

EXPORT int cuMemcpyDtoH_v2(void *to, device_pointer from, size_t bytes)
{
    const int state = synchronize();
    if (state != SUCCESS)
        return state;
    LOCKED;
    const allocation *const a = allocation_of(from, bytes);
    if (!a) {
        mock_say("cuMemcpyDtoH of %zu bytes from %#llx, which are not allocated", bytes, (unsigned long long)from);
        return INVALID_VALUE;
    }
    memcpy(to, a->at + (from - (uintptr_t)a->at), bytes);
    now_ns += 5000 + bytes / 20;
    return SUCCESS;
}

static stream *stream_of(stream *s) { return s ? s : &default_stream; }

static node *captured(stream *s)
{
    node *const n = calloc(1, sizeof *n);
    if (!n)
        abort();
    *s->capture->end = n;
    s->capture->end = &n->next;
    return n;
}

/* The allocation is used, all of it; is it in L2? */
static bool use(allocation *a)
{
    const bool warm = a->used > 0 && used_bytes - a->used + a->bytes <= MOCK_L2_BYTES;
    used_bytes += a->bytes;
    a->used = used_bytes;
    return warm;
}

/* Bytes that went to memory since: of what was not used for so long that others took its place. */
static double write_back(void)
{
    double bytes = 0;
    for (allocation *a = allocations; a; a = a->next)
        if (a->dirty > 0 && used_bytes - a->used + (uint64_t)a->dirty > MOCK_L2_BYTES) {
            bytes += a->dirty;
            a->dirty = 0;
        }
    return bytes;
}

/* All of the allocation is written: what L2 can't hold goes to memory at once, the rest when others take its place.
 * What went there. */
static double make_dirty(allocation *a)
{
    const double bytes = (double)a->bytes, held = bytes < MOCK_L2_BYTES ? bytes : MOCK_L2_BYTES;
    a->dirty = held;
    return bytes - held;
}

static int set_words(device_pointer to, unsigned value, size_t words)
{
    allocation *const a = allocation_of(to, words * sizeof value);
    if (!a || to % sizeof value != 0) {
        mock_say("cuMemsetD32Async of %zu words at %#llx, which are not allocated", words, (unsigned long long)to);
        return INVALID_VALUE;
    }
    /* Flushing L2 writes the same once more. */
    if (a->filled_version != a->version || a->filled_value != value) {
        fill(a->at + (to - (uintptr_t)a->at), value, words * sizeof value);
        a->version = ++versions;
    }
    if (words * sizeof value == a->bytes) {
        a->filled_version = a->version;
        a->filled_value = value;
    }
    use(a);
    make_dirty(a);
    write_back();
    now_ns += 2000 + words * sizeof value / 2500;
    return SUCCESS;
}

EXPORT int cuMemsetD32Async(device_pointer to, unsigned value, size_t words, stream *s)
{
    LOCKED;
    const int state = state_of_context();
    if (state != SUCCESS || hung)
        return state;
    if (!stream_of(s)->capture)
        return set_words(to, value, words);
    node *const n = captured(stream_of(s));
    n->to = to;
    n->value = value;
    n->words = words;
    return SUCCESS;
}

EXPORT int cuMemsetD32_v2(device_pointer to, unsigned value, size_t words)
{
    return cuMemsetD32Async(to, value, words, NULL);
}

/* Modules */

void *mock_open(const void *image, size_t bytes)
{
    const char *const temporary = getenv("TMPDIR");
    char path[2048];
    snprintf(path, sizeof path, "%s/fusesim-mock-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    const int file = mkstemp(path);
    FILE *const out = file < 0 ? NULL : fdopen(file, "wb");
    const bool written = out && fwrite(image, 1, bytes, out) == bytes;
    void *library = NULL;
    if (out && fclose(out) == 0 && written)
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        mock_say("a module that cannot be loaded: %s", written ? dlerror() : path);
    if (file >= 0)
        unlink(path);
    return library;
}

/* Bytes of an ELF file that ends with its sections or their table; 0: it is none. */
static size_t elf_bytes(const char *image)
{
    Elf64_Ehdr header;
    if (memcmp(image, ELFMAG, SELFMAG) != 0)
        return 0;
    memcpy(&header, image, sizeof header);
    size_t end = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
    for (int i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, image + header.e_shoff + (size_t)i * header.e_shentsize, sizeof section);
        if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > end)
            end = section.sh_offset + section.sh_size;
    }
    return end;
}

EXPORT int cuModuleLoadDataEx(module **out, const void *image, unsigned options, const int *option, void **value)
{
    (void)options, (void)option, (void)value;
    LOCKED;
    const int state = state_of_context();
    if (state != SUCCESS)
        return state;
    const size_t bytes = image ? elf_bytes(image) : 0;
    if (bytes == 0)
        return INVALID_IMAGE;
    void *const library = mock_open(image, bytes);
    void *const calls = library ? dlsym(library, "fs_emulator") : NULL;
    if (!calls || !dlsym(library, MOCK_ENTRIES)) {
        if (library)
            dlclose(library);
        return NO_BINARY_FOR_GPU;
    }
    const void *const ours = mock_calls();
    memcpy(calls, &ours, sizeof ours);
    *out = calloc(1, sizeof **out);
    if (!*out)
        return OUT_OF_MEMORY;
    (*out)->library = library;
    return SUCCESS;
}

EXPORT int cuModuleLoadData(module **out, const void *image) { return cuModuleLoadDataEx(out, image, 0, NULL, NULL); }

EXPORT int cuModuleUnload(module *m)
{
    LOCKED;
    if (!m)
        return INVALID_HANDLE;
    for (function *f = m->functions, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    dlclose(m->library);
    free(m);
    return broken;
}

EXPORT int cuModuleGetFunction(function **out, module *m, const char *name)
{
    enum { ROOM = 64 };
    LOCKED;
    const int state = state_of_context();
    if (state != SUCCESS || !m || !name)
        return state != SUCCESS ? state : INVALID_HANDLE;
    for (function *f = m->functions; f; f = f->next)
        if (strcmp(f->name, name) == 0) {
            *out = f;
            return SUCCESS;
        }
    mock_entry *const entry = calloc(ROOM, sizeof *entry);
    function *const f = calloc(1, sizeof *f);
    if (!entry || !f)
        abort();
    const int entries = mock_entries(m->library, entry, ROOM);
    int at = 0;
    while (at < entries && strcmp(entry[at].name, name) != 0)
        at++;
    void *const symbol = at < entries ? dlsym(m->library, name) : NULL;
    if (symbol) {
        f->owner = m;
        f->name = lasting(name);
        memcpy(&f->entry, &symbol, sizeof symbol);
        f->about = entry[at];
        char idle_but[sizeof entry->name + 16];
        snprintf(idle_but, sizeof idle_but, "%s_idle_but", name);
        f->idle_but = dlsym(m->library, idle_but);
        f->registers = mock_registers(name);
        f->next = m->functions;
        m->functions = f;
        *out = f;
    } else {
        free(f);
    }
    free(entry);
    return symbol ? SUCCESS : NOT_FOUND;
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, const function *f)
{
    if (!f)
        return INVALID_HANDLE;
    const int known[] = {f->about.threads,    f->about.static_shared_bytes, 0, 0, f->registers, mock_sm(), mock_sm(), 0,
                         f->max_dynamic_bytes};
    if (attribute < 0 || (size_t)attribute >= sizeof known / sizeof *known)
        return INVALID_VALUE;
    *value = attribute == 8 && f->max_dynamic_bytes == 0 ? DEFAULT_SHARED_BYTES - f->about.static_shared_bytes
                                                         : known[attribute];
    return SUCCESS;
}

EXPORT int cuFuncSetAttribute(function *f, int attribute, int value)
{
    if (!f)
        return INVALID_HANDLE;
    if (attribute == 9) /* carve-out, a hint */
        return SUCCESS;
    if (attribute != 8 || value < 0 || value + f->about.static_shared_bytes > MOCK_SHARED_BYTES)
        return INVALID_VALUE;
    f->max_dynamic_bytes = value;
    return SUCCESS;
}

EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const function *f, int threads, size_t shared_bytes)
{
    if (!f || threads < 1 || threads > 1024)
        return !f ? INVALID_HANDLE : INVALID_VALUE;
    const int warps = (threads + 31) / 32, by_threads = 64 / warps;
    const int by_registers = 65536 / (f->registers * 32 * warps);
    const int by_shared = (int)((228 << 10) / ((size_t)f->about.static_shared_bytes + shared_bytes + 1024));
    *blocks = by_threads < by_registers ? by_threads : by_registers;
    *blocks = by_shared < *blocks ? by_shared : *blocks;
    *blocks = *blocks > 32 ? 32 : *blocks;
    return SUCCESS;
}

/* Launches */

/* Of at most 64 Ki words, evenly spread. */
static uint64_t hash_of(const allocation *a)
{
    const size_t words = a->bytes / 4, step = words / 65536 + 1;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < words; i += step) {
        unsigned word;
        memcpy(&word, a->at + i * 4, sizeof word);
        hash = (hash ^ word) * 1099511628211u;
    }
    return hash;
}

/* splitmix64 of n, in [0, 1) */
static double scatter(uint64_t n)
{
    uint64_t z = n * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static bool repeats(const function *f, const unsigned *shape, const uint64_t *param, allocation *const *memory)
{
    if (!f->has_last || memcmp(f->last_shape, shape, sizeof f->last_shape) != 0)
        return false;
    for (int i = 0; i < f->about.params; i++)
        if (f->last_param[i] != param[i] || (memory[i] && f->last_version[i] != memory[i]->version))
            return false;
    return true;
}

/* Runs the kernel, and makes up its time. */
static void execute(function *f, const unsigned *shape, uint64_t *param)
{
    allocation *memory[MOCK_MAX_PARAMS] = {NULL};
    void *params[MOCK_MAX_PARAMS] = {NULL};
    uint64_t before[MOCK_MAX_PARAMS];
    for (int i = 0; i < f->about.params; i++) {
        params[i] = &param[i];
        memory[i] = allocation_of(param[i], 1);
        if (memory[i] && !f->about.read_only[i] && !f->written[i])
            before[i] = hash_of(memory[i]);
    }
    double dram = 0; /* what takes the time of memory */
    mock_launch launch = {.name = f->name,
                          .grid = {shape[0], shape[1], shape[2]},
                          .block = {shape[3], shape[4], shape[5]},
                          .registers = f->registers,
                          .static_shared_bytes = f->about.static_shared_bytes,
                          .dynamic_shared_bytes = (int)shape[6]};
    if (mock_number("MOCK_SKIP_REPEATS", 0) != 1 || !repeats(f, shape, param, memory)) {
        char why[512];
        long long grid = (long long)shape[0] * shape[1] * shape[2];
        int block = (int)(shape[3] * shape[4] * shape[5]);
        if (f->idle_but) {
            grid = f->idle_but[0] < grid ? f->idle_but[0] : grid;
            block = f->idle_but[1] < block ? f->idle_but[1] : block;
        }
        const int outcome = (int)mock_run(&(mock_grid){.name = f->name,
                                                       .entry = f->entry,
                                                       .params = params,
                                                       .grid = grid,
                                                       .block = block,
                                                       .shared_bytes = (int)shape[6],
                                                       .shared_limit_bytes = MOCK_SHARED_BYTES,
                                                       .start_ns = (long long)now_ns},
                                          why, sizeof why);
        if (outcome != MOCK_RAN) {
            mock_say("%s<<<%u, %u, %u>>>: %s", f->name, shape[0] * shape[1] * shape[2], shape[3] * shape[4] * shape[5],
                     shape[6], why);
            broken = outcome;
            return;
        }
        for (int i = 0; i < f->about.params; i++) {
            if (!memory[i] || f->about.read_only[i])
                continue;
            f->written[i] = f->written[i] || hash_of(memory[i]) != before[i];
            memory[i]->version = ++versions;
        }
        f->has_last = true;
        memcpy(f->last_shape, shape, sizeof f->last_shape);
        for (int i = 0; i < f->about.params; i++) {
            f->last_param[i] = param[i];
            f->last_version[i] = memory[i] ? memory[i]->version : 0;
        }
    }
    for (int i = 0; i < f->about.params; i++) {
        bool again = !memory[i];
        for (int j = 0; j < i; j++)
            again = again || memory[j] == memory[i];
        if (again)
            continue;
        const bool warm = use(memory[i]);
        const double bytes = (double)memory[i]->bytes;
        if (f->written[i]) {
            launch.written_bytes += bytes;
            dram += warm ? 0 : bytes;
            launch.dram_write_bytes += make_dirty(memory[i]);
        } else {
            launch.read_bytes += bytes;
            dram += warm ? 0 : bytes;
            launch.dram_read_bytes += warm ? 0 : bytes;
            if (bytes > 2 * MOCK_L2_BYTES - 1) { /* its own first lines make place for the last */
                launch.dram_write_bytes += memory[i]->dirty;
                memory[i]->dirty = 0;
            }
        }
    }
    launch.dram_write_bytes += write_back();
    double ns = 2000 + dram / 3000 + (launch.read_bytes + launch.written_bytes - dram) / 9000;
    ns *= 1 + 0.01 * scatter(launches);
    if (mock_fails("noise"))
        ns *= 0.5 + scatter(launches + 1000003);
    launch.start_ns = now_ns + 700;
    launch.end_ns = launch.start_ns + (uint64_t)ns;
    now_ns = launch.end_ns + 300;
    mock_launched(&launch);
}

static int check_launch(const function *f, const unsigned *shape)
{
    const uint64_t threads = (uint64_t)shape[3] * shape[4] * shape[5];
    if (shape[0] == 0 || shape[1] == 0 || shape[2] == 0 || threads == 0)
        return INVALID_VALUE;
    if (threads > 1024 || shape[0] > INT32_MAX || shape[1] > 65535 || shape[2] > 65535)
        return INVALID_VALUE;
    if (threads > (unsigned)f->about.threads || (double)threads * f->registers > 65536)
        return LAUNCH_OUT_OF_RESOURCES;
    const unsigned allowed = f->max_dynamic_bytes > 0 ? (unsigned)f->max_dynamic_bytes
                                                      : (unsigned)(DEFAULT_SHARED_BYTES - f->about.static_shared_bytes);
    return shape[6] > allowed ? INVALID_VALUE : SUCCESS;
}

/* Is this launch the one that MOCK_FAIL is about? */
static bool is_chosen(const function *f)
{
    const char *const name = getenv("MOCK_FAIL_KERNEL");
    launches++;
    chosen_launches += !name || strstr(f->name, name);
    return (!name || strstr(f->name, name)) && chosen_launches == (uint64_t)mock_number("MOCK_FAIL_AT", 1);
}

/* As the driver does, which knows the number of parameters: 8 bytes of each. */
__attribute__((no_sanitize("address"))) static void read_params(int count, void *const *from, uint64_t *to)
{
    for (int i = 0; i < count; i++)
        for (size_t byte = 0; byte < sizeof *to; byte++)
            ((volatile unsigned char *)&to[i])[byte] = ((volatile unsigned char *)from[i])[byte];
}

EXPORT int cuLaunchKernel(function *f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared_bytes, stream *s, void **params,
                          void **extra)
{
    LOCKED;
    const int state = state_of_context();
    if (state != SUCCESS)
        return state;
    if (!f || extra || (f->about.params > 0 && !params))
        return f ? INVALID_VALUE : INVALID_HANDLE;
    const unsigned shape[7] = {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes};
    const int unfit = check_launch(f, shape);
    if (unfit != SUCCESS)
        return unfit;
    if (stream_of(s)->capture) {
        node *const n = captured(stream_of(s));
        n->kernel = f;
        memcpy(n->shape, shape, sizeof shape);
        read_params(f->about.params, params, n->param);
        return SUCCESS;
    }
    const bool now = is_chosen(f);
    busy = true;
    if (now && mock_fails("launch")) {
        broken = (int)mock_number("MOCK_FAIL_CODE", MOCK_BROKEN);
        return broken;
    }
    hung = hung || (now && mock_fails("hang"));
    if (hung)
        return SUCCESS;
    uint64_t param[MOCK_MAX_PARAMS];
    read_params(f->about.params, params, param);
    execute(f, shape, param);
    return SUCCESS; /* what it did wrong is found by who waits for it */
}

int mock_launch_own(function **made, const char *name, void (*entry)(void **params), int params, int read_only,
                    uint64_t *param, unsigned grid, void *s)
{
    void *pointers[MOCK_MAX_PARAMS];
    for (int i = 0; i < params; i++)
        pointers[i] = &param[i];
    if (!*made) {
        function *const f = calloc(1, sizeof *f);
        if (!f)
            abort();
        f->name = name;
        f->entry = entry;
        f->registers = 128;
        f->about.params = params;
        f->about.threads = 256;
        for (int i = 0; i < read_only; i++)
            f->about.read_only[i] = true;
        *made = f;
    }
    return cuLaunchKernel(*made, grid, 1, 1, 256, 1, 1, 0, s, pointers, NULL);
}

/* Streams, graphs, events */

EXPORT int cuStreamCreate(stream **out, unsigned flags)
{
    (void)flags;
    const int state = state_of_context();
    if (state != SUCCESS)
        return state;
    *out = calloc(1, sizeof **out);
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT int cuStreamDestroy_v2(stream *s)
{
    if (!s)
        return INVALID_HANDLE;
    free(s);
    return broken;
}

static int synchronize_records(void)
{
    const int state = synchronize();
    mock_synchronized();
    return state;
}

EXPORT int cuStreamSynchronize(stream *s)
{
    return stream_of(s)->capture ? STREAM_CAPTURE_UNSUPPORTED : synchronize_records();
}

EXPORT int cuStreamQuery(stream *s)
{
    return stream_of(s)->capture ? STREAM_CAPTURE_UNSUPPORTED : hung ? NOT_READY : synchronize();
}

EXPORT int cuCtxSynchronize(void) { return synchronize_records(); }

EXPORT int cuStreamBeginCapture_v2(stream *s, int mode)
{
    const int state = state_of_context();
    if (state != SUCCESS)
        return state;
    if (mock_fails("nograph"))
        return STREAM_CAPTURE_UNSUPPORTED;
    if (!s || s->capture || mode < 0 || mode > 2)
        return s && s->capture ? INVALID_VALUE : STREAM_CAPTURE_UNSUPPORTED;
    s->capture = calloc(1, sizeof *s->capture);
    if (!s->capture)
        return OUT_OF_MEMORY;
    s->capture->end = &s->capture->first;
    return SUCCESS;
}

EXPORT int cuStreamEndCapture(stream *s, graph **out)
{
    if (!s || !s->capture)
        return INVALID_VALUE;
    *out = s->capture;
    s->capture = NULL;
    return broken;
}

static void free_nodes(node *first)
{
    for (node *next; first; first = next) {
        next = first->next;
        free(first);
    }
}

/* An executable graph is a copy of the graph. */
EXPORT int cuGraphInstantiateWithFlags(graph **out, const graph *from, unsigned long long flags)
{
    const int state = state_of_context();
    if (state != SUCCESS || !from || flags > 15)
        return state != SUCCESS ? state : INVALID_VALUE;
    graph *const copy = calloc(1, sizeof *copy);
    if (!copy)
        return OUT_OF_MEMORY;
    copy->end = &copy->first;
    for (const node *n = from->first; n; n = n->next) {
        node *const mine = malloc(sizeof *mine);
        if (!mine)
            abort();
        *mine = *n;
        mine->next = NULL;
        *copy->end = mine;
        copy->end = &mine->next;
    }
    *out = copy;
    return SUCCESS;
}

EXPORT int cuGraphLaunch(graph *g, stream *s)
{
    LOCKED;
    const int state = state_of_context();
    if (state != SUCCESS || !g || stream_of(s)->capture)
        return state != SUCCESS ? state : INVALID_VALUE;
    busy = true;
    for (node *n = g->first; n && !broken && !hung; n = n->next) {
        if (!n->kernel) {
            set_words(n->to, n->value, n->words);
            continue;
        }
        const bool now = is_chosen(n->kernel);
        if (now && mock_fails("launch"))
            broken = (int)mock_number("MOCK_FAIL_CODE", MOCK_BROKEN);
        else if (now && mock_fails("hang"))
            hung = true;
        else
            execute(n->kernel, n->shape, n->param);
    }
    return SUCCESS;
}

EXPORT int cuGraphDestroy(graph *g)
{
    if (!g)
        return INVALID_VALUE;
    free_nodes(g->first);
    free(g);
    return broken;
}

EXPORT int cuGraphExecDestroy(graph *g) { return cuGraphDestroy(g); }

EXPORT int cuEventCreate(event **out, unsigned flags)
{
    (void)flags;
    const int state = state_of_context();
    if (state != SUCCESS)
        return state;
    *out = calloc(1, sizeof **out);
    return *out ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT int cuEventDestroy_v2(event *e)
{
    if (!e)
        return INVALID_HANDLE;
    free(e);
    return broken;
}

EXPORT int cuEventRecord(event *e, stream *s)
{
    (void)s;
    const int state = state_of_context();
    if (state != SUCCESS || !e)
        return state != SUCCESS ? state : INVALID_HANDLE;
    *e = (event){.ns = now_ns, .recorded = true, .hung = hung};
    return SUCCESS;
}

EXPORT int cuEventSynchronize(const event *e)
{
    return !e ? INVALID_HANDLE : e->hung ? wait_for_hung() : state_of_context();
}

EXPORT int cuEventQuery(const event *e) { return !e ? INVALID_HANDLE : e->hung ? NOT_READY : state_of_context(); }

EXPORT int cuEventElapsedTime(float *ms, const event *from, const event *to)
{
    if (!from || !to || !from->recorded || !to->recorded)
        return INVALID_HANDLE;
    if (from->hung || to->hung)
        return NOT_READY;
    *ms = (float)((double)(to->ns - from->ns) * 1e-6);
    return broken;
}

EXPORT int cuEventElapsedTime_v2(float *ms, const event *from, const event *to)
{
    return cuEventElapsedTime(ms, from, to);
}

/* Errors */

static const struct {
    int error;
    const char *name, *text;
} errors[] = {
    {SUCCESS, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {MOCK_MISALIGNED, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {MOCK_BROKEN, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int describe(int error, bool by_name, const char **out)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors && !mock_fails("stub"); i++)
        if (errors[i].error == error)
            *out = by_name ? errors[i].name : errors[i].text;
    return *out ? SUCCESS : INVALID_VALUE;
}

EXPORT int cuGetErrorName(int error, const char **name) { return describe(error, true, name); }

EXPORT int cuGetErrorString(int error, const char **text) { return describe(error, false, text); }
