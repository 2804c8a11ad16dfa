/* SPDX-License-Identifier: Apache-2.0 */
/* Where NVIDIA's libraries are looked for: folders that have a link to the mock, each in a process of its own; which
 * one is taken of several; what is said of none, of one that can't be loaded, and of one that is something else.
 * cost: 1 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h> /* needs those above */

#include "scenario.h"
#include "validate/cuda/library.h"

enum { LINKS = 3 };

typedef struct {
    const char *name, *folder; /* a variable, and the folder below the scratch folder that it names */
} setting;

typedef struct {
    setting set[2];
    const char *link[LINKS]; /* files below the scratch folder; "!NAME": not a library; "?NAME": another library */
    int major;
    const char *taken; /* "": none; */
    const char *says;  /* and why */
} scenario;

/* A library of version 13, 12 and 11, of a toolkit or of Python's packages. @13: its file of that version. */
static const scenario scenarios[] = {
    {{{"CUDA_HOME", "a"}}, {"a/lib64/@13"}, 13, "a/lib64/@13", NULL},
    {{{"CUDA_HOME", "a"}}, {"a/lib/@13"}, 13, "a/lib/@13", NULL},
    {{{"CUDA_HOME", "a"}}, {"a/extras/CUPTI/lib64/@12"}, 12, "a/extras/CUPTI/lib64/@12", NULL},
    {{{"CUDA_HOME", "a"}}, {"a/targets/x86_64-linux/lib/@11"}, 0, "a/targets/x86_64-linux/lib/@11", NULL},
    {{{"CUDA_PATH", "b"}}, {"b/lib64/@13"}, 13, "b/lib64/@13", NULL},
    {{{"CONDA_PREFIX", "c"}}, {"c/lib/@12"}, 12, "c/lib/@12", NULL},
    {{{"CUDA_HOME", "a"}, {"CUDA_PATH", "b"}}, {"a/lib64/@12", "b/lib64/@12"}, 12, "a/lib64/@12", NULL},
    /* the version that is asked for, then the newest */
    {{{"CUDA_HOME", "a"}}, {"a/lib64/@13", "a/lib64/@12"}, 12, "a/lib64/@12", NULL},
    {{{"CUDA_HOME", "a"}}, {"a/lib64/@13", "a/lib64/@12"}, 11, "a/lib64/@13", NULL},
    {{{"CUDA_HOME", "a"}, {"CUDA_PATH", "b"}}, {"a/lib64/@12", "b/lib64/@13"}, 13, "b/lib64/@13", NULL},
    {{{"VIRTUAL_ENV", "v"}},
     {"v/lib/python3.11/site-packages/nvidia/cu13/lib/@13"},
     13,
     "v/lib/python3.11/site-packages/nvidia/cu13/lib/@13",
     NULL},
    {{{"VIRTUAL_ENV", "v"}},
     {"v/lib/python3.9/dist-packages/nvidia/cuda_nvrtc/lib/@12"},
     12,
     "v/lib/python3.9/dist-packages/nvidia/cuda_nvrtc/lib/@12",
     NULL},
    {{{"CONDA_PREFIX", "c"}},
     {"c/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/@12"},
     12,
     "c/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/@12",
     NULL},
    {{{"HOME", "h"}},
     {"h/.local/lib/python3.11/site-packages/nvidia/cublas/lib/@12"},
     12,
     "h/.local/lib/python3.11/site-packages/nvidia/cublas/lib/@12",
     NULL},
    {{{"HOME", "h"}, {"CUDA_HOME", "a"}}, /* a toolkit before packages */
     {"h/.local/lib/python3.11/site-packages/nvidia/cu13/lib/@13", "a/lib/@13"},
     13,
     "a/lib/@13",
     NULL},
    {{{"VIRTUAL_ENV", "v"}}, /* of several, the last by name */
     {"v/lib/python3.10/site-packages/nvidia/cu13/lib/@13", "v/lib/python3.12/site-packages/nvidia/cu13/lib/@13",
      "v/lib/python3.11/site-packages/nvidia/cu13/lib/@13"},
     13,
     "v/lib/python3.12/site-packages/nvidia/cu13/lib/@13",
     NULL},
    {{{"VIRTUAL_ENV", "v"}}, /* one that can't be loaded is passed over */
     {"v/lib/python3.10/site-packages/nvidia/cu13/lib/@13", "!v/lib/python3.12/site-packages/nvidia/cu13/lib/@13"},
     13,
     "v/lib/python3.10/site-packages/nvidia/cu13/lib/@13",
     NULL},
    {{{"@LIB", "f/mine.so"}, {"CUDA_HOME", "a"}}, {"f/mine.so", "a/lib64/@13"}, 13, "f/mine.so", NULL},
    {{{"@LIB", "f/none.so"}, {"CUDA_HOME", "a"}}, {"a/lib64/@13"}, 13, "", "could not be loaded from '"},
    {{{"@LIB", "f/mine.so"}}, {"!f/mine.so"}, 13, "", "as $@LIB says: "},
    {{{"@LIB", "f/mine.so"}}, {"?f/mine.so"}, 13, "", " lacks "},
    {{{"CUDA_HOME", "a"}}, {"!a/lib64/@12"}, 13, "", "a/lib64/@12: "}, /* not the one that is not there */
    {{{"CUDA_HOME", "a"}}, {"a/lib65/@13"}, 13, "", "(@13) could not be loaded: "},
};

/* Libraries that are found alike; which one is looked for: one that the machine has not. */
enum { NVRTC, CUPTI, CUBLAS, CUBLASLT, KINDS };
static const struct {
    const char *stem, *old, *variable; /* old: its version 11 */
} kinds[KINDS] = {{"libnvrtc", "11.2", "FUSESIM_NVRTC_LIB"},
                  {"libcupti", "11.8", "FUSESIM_CUPTI_LIB"},
                  {"libcublas", "11", "FUSESIM_CUBLAS_LIB"},
                  {"libcublasLt", "11", "FUSESIM_CUBLASLT_LIB"}};
static int kind;
static int down; /* 1: the machine has version 13: 12 and 11 are looked for in place of 13 and 12 */

static bool open_it(fsim_arena *a, int major, fsim_library *library, fsim_fault *fault)
{
    fsim_nvrtc_entries nvrtc;
    fsim_cupti_entries cupti;
    fsim_cublas_entries cublas;
    fsim_cublaslt_entries cublaslt;
    return kind == NVRTC    ? fsim_open_nvrtc(a, major, library, &nvrtc, fault) && nvrtc.nvrtcVersion
           : kind == CUPTI  ? fsim_open_cupti(a, major, library, &cupti, fault)
           : kind == CUBLAS ? fsim_open_cublas(a, major, library, &cublas, fault)
                            : fsim_open_cublaslt(a, major, library, &cublaslt, fault);
}

/* The text with the names of the library's files, or of its variable, in place of @. */
static const char *named(fsim_arena *a, const char *text)
{
    const char *at = strchr(text, '@'), *const version[] = {"13", "12", kinds[kind].old};
    if (!at)
        return text;
    if (strncmp(at, "@LIB", 4) == 0)
        return fsim_printf(a, "%.*s%s%s", (int)(at - text), text, kinds[kind].variable, at + 4);
    return fsim_printf(a, "%.*s%s.so.%s%s", (int)(at - text), text, kinds[kind].stem, version['3' - at[2] + down],
                       at + 3);
}

static char scratch[] = "/tmp/fusesim-toolkit-test-XXXXXX";

static void make(const char *name)
{
    char path[512], folder[512];
    const bool other = *name == '?', text = *name == '!';
    snprintf(path, sizeof path, "%s/%s", scratch, name + (other || text));
    for (char *slash = strchr(path + strlen(scratch) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        mkdir(folder, 0700);
    }
    if (text) {
        FILE *out = fopen(path, "w");
        CHECK(out && fputs("no library", out) >= 0 && fclose(out) == 0);
        return;
    }
    Dl_info cmocka;
    CHECK(!other || dladdr((void *)(uintptr_t)_cmocka_run_group_tests, &cmocka) != 0);
    CHECK(symlink(other ? cmocka.dli_fname : MOCKGPU, path) == 0);
}

static void forget_variables(void)
{
    static const char *const variables[] = {"CUDA_HOME",   "CUDA_PATH", "CONDA_PREFIX",
                                            "VIRTUAL_ENV", "HOME",      "LD_LIBRARY_PATH"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    for (int i = 0; i < KINDS; i++)
        unsetenv(kinds[i].variable);
}

static void look_for(const scenario *s)
{
    char path[512];
    fsim_arena *a = fsim_arena_new();
    fsim_fault fault = {0};
    fsim_library library;
    forget_variables();
    for (int i = 0; i < LINKS && s->link[i]; i++)
        make(named(a, s->link[i]));
    for (int i = 0; i < 2 && s->set[i].name; i++) {
        snprintf(path, sizeof path, "%s/%s", scratch, s->set[i].folder);
        CHECK(setenv(named(a, s->set[i].name), path, 1) == 0);
    }
    const bool found = open_it(a, s->major ? s->major - down : 0, &library, &fault);
    if (*s->taken) {
        snprintf(path, sizeof path, "%s/%s", scratch, named(a, s->taken));
        if (!found || strcmp(library.path, path) != 0)
            fprintf(stderr, "%s, wanted %s\n", found ? library.path : fault.message, path);
        CHECK(found && strcmp(library.path, path) == 0 && fault.status == 0);
    } else {
        if (!found && !strstr(fault.message, named(a, s->says)))
            fprintf(stderr, "%s, wanted %s\n", fault.message, named(a, s->says));
        CHECK(!found && fault.status == FSIM_UNAVAILABLE && strstr(fault.message, named(a, s->says)));
    }
    fsim_arena_free(a);
}

/* Is a file of the library on this machine, of any version, or of that one? Asked in a process of its own. */
static bool machine_has_it(int major)
{
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fsim_arena *a = fsim_arena_new();
        fsim_library library;
        fsim_fault fault = {0};
        forget_variables();
        const bool has = open_it(a, major, &library, &fault) &&
                         (major == 0 || strstr(library.path, fsim_printf(a, ".so.%d", major)));
        fsim_arena_free(a);
        exit(has);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status != 0;
}

/* Does what the machine has change the scenario's end? What is asked for by its version comes first. */
static bool is_disturbed(const scenario *s)
{
    const bool by_variable = strcmp(s->set[0].name, "@LIB") == 0;
    return down && !by_variable && (s->major < 12 || !*s->taken);
}

static void in_process(const scenario *s)
{
    char command[sizeof scratch + 16];
    strcpy(scratch + strlen(scratch) - 6, "XXXXXX");
    assert_non_null(mkdtemp(scratch));
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        look_for(s);
        exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    snprintf(command, sizeof command, "rm -rf %s", scratch);
    assert_int_equal(system(command), 0);
    assert_int_equal(status, 0);
}

static void a_library_is_looked_for(void **unused)
{
    (void)unused;
    while (kind < KINDS && machine_has_it(0))
        kind++;
    down = kind == KINDS;
    for (kind = down ? 0 : kind; kind < KINDS && down && (machine_has_it(12) || machine_has_it(11));)
        kind++;
    if (kind == KINDS)
        skip(); /* all are found before what the scenarios make */
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (!is_disturbed(&scenarios[i]))
            in_process(&scenarios[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_library_is_looked_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
