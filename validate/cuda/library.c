/* SPDX-License-Identifier: Apache-2.0 */
#include "validate/cuda/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))
enum { SONAMES = 3 };

typedef struct {
    const char *what, *environment, *remedy;
    const char *soname[SONAMES]; /* newest first */
    const char *needs_open; /* pattern of libraries that it opens itself by bare name: these are opened first, from its
                               folder */
    bool toolkit;           /* is part of the toolkit, otherwise of the driver */
} names;

static const names cuda_names = {
    .what = "the NVIDIA driver's library",
    .environment = "FUSESIM_CUDA_LIB",
    .remedy = "Predictions, `validate --registers` and the CPU device need no driver; run this on a machine with an "
              "NVIDIA GPU and driver (in a container: docker run --gpus all)",
    .soname = {"libcuda.so.1"},
};
static const names nvrtc_names = {
    .what = "NVIDIA's run-time compiler NVRTC",
    .environment = "FUSESIM_NVRTC_LIB",
    .remedy = "Install a CUDA toolkit (Debian: nvidia-cuda-toolkit; Python: pip install nvidia-cuda-nvrtc), or set "
              "FUSESIM_NVRTC_LIB to libnvrtc.so",
    .soname = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"},
    .needs_open = "libnvrtc-builtins.so.[0-9]*",
    .toolkit = true,
};
static const names cupti_names = {
    .what = "NVIDIA's profiling library CUPTI",
    .environment = "FUSESIM_CUPTI_LIB",
    .remedy = "Install a CUDA toolkit (Python: pip install nvidia-cuda-cupti), or set FUSESIM_CUPTI_LIB to libcupti.so",
    .soname = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"},
    .needs_open = "libnvperf_host.so*",
    .toolkit = true,
};
static const names cublas_names = {
    .what = "NVIDIA's matrix library cuBLAS",
    .environment = "FUSESIM_CUBLAS_LIB",
    .remedy = "Library contractions are not measured without it: install a CUDA toolkit, or set FUSESIM_CUBLAS_LIB to "
              "libcublas.so",
    .soname = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"},
    .needs_open = "libcublasLt.so.[0-9]*",
    .toolkit = true,
};
static const names cublaslt_names = {
    .what = "NVIDIA's matrix library cuBLASLt",
    .environment = "FUSESIM_CUBLASLT_LIB",
    .remedy = "Without it our own kernels run where a plan's library adds a bias or an activation to its product: "
              "install a CUDA toolkit, or set FUSESIM_CUBLASLT_LIB to libcublasLt.so",
    .soname = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"},
    .toolkit = true,
};
static const names nvml_names = {
    .what = "the NVIDIA driver's library of sensors, NVML,",
    .environment = "FUSESIM_NVML_LIB",
    .remedy = "Power and temperature are not known without it",
    .soname = {"libnvidia-ml.so.1"},
};

typedef struct {
    fsim_arena *a;
    const names *n;
    fsim_library *library;
    const char *why; /* the loader's error for a file that exists, else for the first one that does not */
    bool there;
} search;

/* Opens the matching files of the folder, visible to all libraries. */
static void open_beside(const search *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    glob_t found;
    if (!slash || !s->n->needs_open)
        return;
    if (glob(fsim_printf(s->a, "%.*s/%s", (int)(slash - path), path, s->n->needs_open), 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            (void)!dlopen(found.gl_pathv[i],
                          RTLD_NOW |
                              RTLD_GLOBAL); /* if it can't be opened, the library reports that when it needs it */
    globfree(&found);
}

static bool try_file(search *s, const char *path)
{
    open_beside(s, path);
    s->library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!s->library->handle) {
        const char *why = dlerror();
        const bool there = why && !strstr(why, "No such file");
        if (why && (!s->why || (there && !s->there)))
            s->why = fsim_strdup(s->a, why);
        s->there = s->there || there;
        return false;
    }
    struct link_map *map = NULL;
    const bool known = dlinfo(s->library->handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name[0];
    s->library->path = fsim_strdup(s->a, known ? map->l_name : path);
    return true;
}

/* The matching files, newest last. */
static bool try_pattern(search *s, const char *pattern)
{
    glob_t found;
    bool done = false;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i-- > 0 && !done;)
            done = try_file(s, found.gl_pathv[i]);
    globfree(&found);
    return done;
}

static bool try_toolkits(search *s, const char *soname)
{
    const char *root[] = {getenv("CUDA_HOME"),
                          getenv("CUDA_PATH"),
                          getenv("CONDA_PREFIX"),
                          "/usr/local/cuda",
                          "/usr/local/cuda-1[0-9].[0-9]*",
                          "/opt/cuda"};
    static const char *const folder[] = {"lib64", "lib", "extras/CUPTI/lib64", "targets/x86_64-linux/lib"};
    for (int r = 0; r < COUNT_OF(root); r++)
        for (int f = 0; f < COUNT_OF(folder); f++)
            if (root[r] && root[r][0] && try_pattern(s, fsim_printf(s->a, "%s/%s/%s", root[r], folder[f], soname)))
                return true;
    return false;
}

static bool try_python(search *s, const char *soname)
{
    const char *home = getenv("HOME");
    const char *root[] = {getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX"),
                          home && home[0] ? fsim_printf(s->a, "%s/.local", home) : NULL, "/usr/local", "/usr"};
    static const char *const folder[] = {"cu13/lib", "cuda_nvrtc/lib", "cuda_cupti/lib", "cublas/lib"};
    static const char *const packages[] = {"site-packages", "dist-packages"};
    for (int r = 0; r < COUNT_OF(root); r++)
        for (int f = 0; f < COUNT_OF(folder); f++)
            for (int p = 0; p < COUNT_OF(packages); p++)
                if (root[r] && root[r][0] &&
                    try_pattern(s, fsim_printf(s->a, "%s/lib/python3*/%s/nvidia/%s/%s", root[r], packages[p], folder[f],
                                               soname)))
                    return true;
    return false;
}

static bool try_driver_folders(search *s, const char *soname)
{
    static const char *const folder[] = {"/usr/local/nvidia/lib64", "/usr/lib/wsl/lib", "/run/opengl-driver/lib"};
    for (int f = 0; f < COUNT_OF(folder); f++)
        if (try_pattern(s, fsim_printf(s->a, "%s/%s", folder[f], soname)))
            return true;
    return false;
}

/* Of CUDA version `major`, or of any other. */
static bool try_sonames(search *s, int major, bool of_major)
{
    char part[16];
    snprintf(part, sizeof part, ".so.%d", major);
    for (int i = 0; i < SONAMES && s->n->soname[i]; i++) {
        const char *soname = s->n->soname[i];
        if ((strstr(soname, part) != NULL) != of_major)
            continue;
        if (try_file(s, soname))
            return true;
        if (s->n->toolkit ? try_toolkits(s, soname) || try_python(s, soname) : try_driver_folders(s, soname))
            return true;
    }
    return false;
}

static bool find(fsim_arena *a, const names *n, int major, fsim_library *library, fsim_fault *fault)
{
    search s = {.a = a, .n = n, .library = library};
    const char *named = getenv(n->environment);
    *library = (fsim_library){0};
    if (named && named[0])
        return try_file(&s, named) ||
               fsim_fail(fault, a, FSIM_UNAVAILABLE, "%s could not be loaded from '%s', as $%s says: %s", n->what,
                         named, n->environment, s.why ? s.why : "the loader says nothing");
    if (try_sonames(&s, major, true) || try_sonames(&s, major, false))
        return true;
    return fsim_fail(fault, a, FSIM_UNAVAILABLE, "%s (%s) could not be loaded: %s. %s", n->what, n->soname[0],
                     s.why ? s.why : "not found", n->remedy);
}

typedef struct {
    const char *name;
    size_t offset; /* in the table */
    bool needed;
} entry;

#define CUDA_NEEDED(result, name, parameters)       {#name, offsetof(fsim_cuda_entries, name), true},
#define CUDA_OPTIONAL(result, name, parameters)     {#name, offsetof(fsim_cuda_entries, name), false},
#define NVRTC_NEEDED(result, name, parameters)      {#name, offsetof(fsim_nvrtc_entries, name), true},
#define CUPTI_NEEDED(result, name, parameters)      {#name, offsetof(fsim_cupti_entries, name), true},
#define CUPTI_OPTIONAL(result, name, parameters)    {#name, offsetof(fsim_cupti_entries, name), false},
#define CUBLAS_NEEDED(result, name, parameters)     {#name, offsetof(fsim_cublas_entries, name), true},
#define CUBLAS_OPTIONAL(result, name, parameters)   {#name, offsetof(fsim_cublas_entries, name), false},
#define CUBLASLT_NEEDED(result, name, parameters)   {#name, offsetof(fsim_cublaslt_entries, name), true},
#define CUBLASLT_OPTIONAL(result, name, parameters) {#name, offsetof(fsim_cublaslt_entries, name), false},
#define NVML_NEEDED(result, name, parameters)       {#name, offsetof(fsim_nvml_entries, name), true},
#define NVML_OPTIONAL(result, name, parameters)     {#name, offsetof(fsim_nvml_entries, name), false},
static const entry cuda_entries[] = {FSIM_CUDA_ENTRIES(CUDA_NEEDED, CUDA_OPTIONAL)};
static const entry nvrtc_entries[] = {FSIM_NVRTC_ENTRIES(NVRTC_NEEDED, NVRTC_NEEDED)};
static const entry cupti_entries[] = {FSIM_CUPTI_ENTRIES(CUPTI_NEEDED, CUPTI_OPTIONAL)};
static const entry cublas_entries[] = {FSIM_CUBLAS_ENTRIES(CUBLAS_NEEDED, CUBLAS_OPTIONAL)};
static const entry cublaslt_entries[] = {FSIM_CUBLASLT_ENTRIES(CUBLASLT_NEEDED, CUBLASLT_OPTIONAL)};
static const entry nvml_entries[] = {FSIM_NVML_ENTRIES(NVML_NEEDED, NVML_OPTIONAL)};

/* ISO C has no conversion from object to function pointers; POSIX says that they are alike. */
/* A library's entry points, and the table that gets them. */
typedef struct {
    const entry *at;
    int count;
    void *into;
} entry_points;

static bool look_up(fsim_arena *a, const names *n, const fsim_library *library, entry_points e, fsim_fault *fault)
{
    const char *missing = NULL;
    for (int i = 0; i < e.count; i++) {
        void *const symbol = dlsym(library->handle, e.at[i].name);
        memcpy((char *)e.into + e.at[i].offset, &symbol, sizeof symbol);
        if (!symbol && e.at[i].needed)
            missing = missing ? fsim_printf(a, "%s, %s", missing, e.at[i].name) : e.at[i].name;
    }
    if (!missing)
        return true;
    return fsim_fail(fault, a, FSIM_UNAVAILABLE,
                     "%s, %s, lacks %s: it is too old, or no such library. Set $%s to a newer one", n->what,
                     library->path, missing, n->environment);
}

bool fsim_open_cuda(fsim_arena *a, fsim_library *library, fsim_cuda_entries *entries, fsim_fault *fault)
{
    return find(a, &cuda_names, 0, library, fault) &&
           look_up(a, &cuda_names, library, (entry_points){cuda_entries, COUNT_OF(cuda_entries), entries}, fault);
}

bool fsim_open_nvrtc(fsim_arena *a, int major, fsim_library *library, fsim_nvrtc_entries *entries, fsim_fault *fault)
{
    return find(a, &nvrtc_names, major, library, fault) &&
           look_up(a, &nvrtc_names, library, (entry_points){nvrtc_entries, COUNT_OF(nvrtc_entries), entries}, fault);
}

bool fsim_open_cupti(fsim_arena *a, int major, fsim_library *library, fsim_cupti_entries *entries, fsim_fault *fault)
{
    return find(a, &cupti_names, major, library, fault) &&
           look_up(a, &cupti_names, library, (entry_points){cupti_entries, COUNT_OF(cupti_entries), entries}, fault);
}

bool fsim_open_cublas(fsim_arena *a, int major, fsim_library *library, fsim_cublas_entries *entries, fsim_fault *fault)
{
    return find(a, &cublas_names, major, library, fault) &&
           look_up(a, &cublas_names, library, (entry_points){cublas_entries, COUNT_OF(cublas_entries), entries}, fault);
}

bool fsim_open_cublaslt(fsim_arena *a, int major, fsim_library *library, fsim_cublaslt_entries *entries,
                        fsim_fault *fault)
{
    return find(a, &cublaslt_names, major, library, fault) &&
           look_up(a, &cublaslt_names, library, (entry_points){cublaslt_entries, COUNT_OF(cublaslt_entries), entries},
                   fault);
}

bool fsim_open_nvml(fsim_arena *a, fsim_library *library, fsim_nvml_entries *entries, fsim_fault *fault)
{
    return find(a, &nvml_names, 0, library, fault) &&
           look_up(a, &nvml_names, library, (entry_points){nvml_entries, COUNT_OF(nvml_entries), entries}, fault);
}
