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

/* NVRTC of version 13, 12 and 11.2, of a toolkit or of Python's packages. */
static const scenario nvrtc[] = {
    {{{"CUDA_HOME", "a"}}, {"a/lib64/libnvrtc.so.13"}, 13, "a/lib64/libnvrtc.so.13", NULL},
    {{{"CUDA_HOME", "a"}}, {"a/lib/libnvrtc.so.13"}, 13, "a/lib/libnvrtc.so.13", NULL},
    {{{"CUDA_HOME", "a"}}, {"a/extras/CUPTI/lib64/libnvrtc.so.12"}, 13, "a/extras/CUPTI/lib64/libnvrtc.so.12", NULL},
    {{{"CUDA_HOME", "a"}},
     {"a/targets/x86_64-linux/lib/libnvrtc.so.11.2"},
     0,
     "a/targets/x86_64-linux/lib/libnvrtc.so.11.2",
     NULL},
    {{{"CUDA_PATH", "b"}}, {"b/lib64/libnvrtc.so.13"}, 0, "b/lib64/libnvrtc.so.13", NULL},
    {{{"CONDA_PREFIX", "c"}}, {"c/lib/libnvrtc.so.12"}, 12, "c/lib/libnvrtc.so.12", NULL},
    {{{"CUDA_HOME", "a"}, {"CUDA_PATH", "b"}},
     {"a/lib64/libnvrtc.so.12", "b/lib64/libnvrtc.so.12"},
     12,
     "a/lib64/libnvrtc.so.12",
     NULL},
    /* the version that is asked for, then the newest */
    {{{"CUDA_HOME", "a"}}, {"a/lib64/libnvrtc.so.13", "a/lib64/libnvrtc.so.12"}, 12, "a/lib64/libnvrtc.so.12", NULL},
    {{{"CUDA_HOME", "a"}}, {"a/lib64/libnvrtc.so.13", "a/lib64/libnvrtc.so.12"}, 11, "a/lib64/libnvrtc.so.13", NULL},
    {{{"CUDA_HOME", "a"}, {"CUDA_PATH", "b"}},
     {"a/lib64/libnvrtc.so.12", "b/lib64/libnvrtc.so.13"},
     13,
     "b/lib64/libnvrtc.so.13",
     NULL},
    {{{"VIRTUAL_ENV", "v"}},
     {"v/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13"},
     13,
     "v/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
     NULL},
    {{{"VIRTUAL_ENV", "v"}},
     {"v/lib/python3.9/dist-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"},
     13,
     "v/lib/python3.9/dist-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
     NULL},
    {{{"CONDA_PREFIX", "c"}},
     {"c/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"},
     12,
     "c/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
     NULL},
    {{{"HOME", "h"}},
     {"h/.local/lib/python3.11/site-packages/nvidia/cublas/lib/libnvrtc.so.12"},
     12,
     "h/.local/lib/python3.11/site-packages/nvidia/cublas/lib/libnvrtc.so.12",
     NULL},
    {{{"HOME", "h"}, {"CUDA_HOME", "a"}}, /* a toolkit before packages */
     {"h/.local/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13", "a/lib/libnvrtc.so.13"},
     13,
     "a/lib/libnvrtc.so.13",
     NULL},
    {{{"VIRTUAL_ENV", "v"}}, /* of several, the last by name */
     {"v/lib/python3.10/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
      "v/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
      "v/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13"},
     13,
     "v/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
     NULL},
    {{{"VIRTUAL_ENV", "v"}}, /* one that can't be loaded is passed over */
     {"v/lib/python3.10/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
      "!v/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13"},
     13,
     "v/lib/python3.10/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
     NULL},
    {{{"FUSESIM_NVRTC_LIB", "f/mine.so"}, {"CUDA_HOME", "a"}},
     {"f/mine.so", "a/lib64/libnvrtc.so.13"},
     13,
     "f/mine.so",
     NULL},
    {{{"FUSESIM_NVRTC_LIB", "f/none.so"}, {"CUDA_HOME", "a"}},
     {"a/lib64/libnvrtc.so.13"},
     13,
     "",
     "NVIDIA's run-time compiler NVRTC could not be loaded from '"},
    {{{"FUSESIM_NVRTC_LIB", "f/mine.so"}}, {"!f/mine.so"}, 13, "", "as $FUSESIM_NVRTC_LIB says: "},
    {{{"FUSESIM_NVRTC_LIB", "f/mine.so"}}, {"?f/mine.so"}, 13, "", "lacks nvrtcVersion, "},
    {{{"CUDA_HOME", "a"}},
     {"!a/lib64/libnvrtc.so.12"},
     13,
     "",
     "a/lib64/libnvrtc.so.12: "}, /* not the one that is not there */
    {{{"CUDA_HOME", "a"}}, {"a/lib65/libnvrtc.so.13"}, 13, "", "(libnvrtc.so.13) could not be loaded: "},
};

static char scratch[] = "/tmp/fusesim-toolkit-test-XXXXXX";

/* Writes nothing where there is a library of the machine's own, which is found instead. */
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

static void look_for(const scenario *s)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH",       "CONDA_PREFIX",      "VIRTUAL_ENV",
                                            "HOME",      "LD_LIBRARY_PATH", "FUSESIM_NVRTC_LIB", "FUSESIM_CUDA_LIB"};
    char path[512];
    fsim_arena *a = fsim_arena_new();
    fsim_fault fault = {0};
    fsim_library library;
    fsim_nvrtc_entries entries;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    const bool machine_has_one = fsim_open_nvrtc(a, s->major, &library, &entries, &fault);
    fault = (fsim_fault){0};
    for (int i = 0; i < LINKS && s->link[i]; i++)
        make(s->link[i]);
    for (int i = 0; i < 2 && s->set[i].name; i++) {
        snprintf(path, sizeof path, "%s/%s", scratch, s->set[i].folder);
        CHECK(setenv(s->set[i].name, path, 1) == 0);
    }
    if (machine_has_one)
        return;
    const bool found = fsim_open_nvrtc(a, s->major, &library, &entries, &fault);
    if (*s->taken) {
        snprintf(path, sizeof path, "%s/%s", scratch, s->taken);
        if (!found || strcmp(library.path, path) != 0)
            fprintf(stderr, "%s, wanted %s\n", found ? library.path : fault.message, path);
        CHECK(found && strcmp(library.path, path) == 0 && fault.status == 0);
        CHECK(entries.nvrtcVersion != NULL);
    } else {
        if (!found && !strstr(fault.message, s->says))
            fprintf(stderr, "%s\n", fault.message);
        CHECK(!found && fault.status == FSIM_UNAVAILABLE && strstr(fault.message, s->says));
    }
    fsim_arena_free(a);
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

static void the_compiler_is_looked_for(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof nvrtc / sizeof *nvrtc; i++)
        in_process(&nvrtc[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_compiler_is_looked_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
