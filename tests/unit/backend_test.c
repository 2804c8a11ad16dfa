/* SPDX-License-Identifier: Apache-2.0 */
/* depends: once */
/* The table of back ends: each is of the version that the program calls, one of another version is refused before it is
 * called, and what an operation needs of the others is there. And trials on a device that is a page of this file: what
 * it computes is checked, each fault is told, plans are compared with each other, and what was allocated is released.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "validate/device/backends.h"
#include "validate/trial/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int opened;

static fsim_device *open_device(const fsim_device_options *options, fsim_arena *a, fsim_fault *fault)
{
    (void)options, (void)fault;
    opened++;
    return fsim_new(a, fsim_device, 1);
}

static void another_version_is_refused(void **state)
{
    static const int apart[] = {-1, 1};
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const fsim_device_options options = {0};
    for (int i = 0; i < 2; i++) {
        const fsim_backend other = {.name = "made up", .version = FSIM_BACKEND_VERSION + apart[i], .open = open_device};
        fsim_fault fault = {0};
        assert_null(fsim_backend_open(&other, &options, a, &fault));
        assert_int_equal(fault.status, FSIM_FAILED);
        assert_non_null(strstr(fault.message, "the back end 'made up' is of version"));
        assert_int_equal(opened, 0);
    }
    const fsim_backend same = {.name = "made up", .version = FSIM_BACKEND_VERSION, .open = open_device};
    fsim_fault fault = {0};
    assert_non_null(fsim_backend_open(&same, &options, a, &fault));
    assert_int_equal(opened, 1);
    assert_int_equal(fault.status, FSIM_OK);
    fsim_arena_free(a);
}

static void all_of_the_table_are_whole(void **state)
{
    (void)state;
    for (fsim_device_kind kind = 0; kind < FSIM_DEVICE_COUNT; kind++) {
        const fsim_backend *b = fsim_backend_of(kind);
        assert_string_equal(b->name, fsim_device_names[kind]);
        assert_int_equal(b->version, FSIM_BACKEND_VERSION);
        assert_true(b->open && b->close && b->lost && b->facts);
        assert_true(b->compile && b->run_on_host_memory && b->load && b->unload && b->run && b->measure);
        assert_true(b->allocate && b->release && b->upload && b->download);
        assert_true((b->library == NULL) == (b->no_library != NULL));
        if (b->calibrator)
            assert_true(b->calibrator->describes && b->calibrator->is_own && b->calibrator->probe);
    }
}

/* A device with kernels of r = relu(x) and y = -r, one element after the other. */
enum { ELEMENTS = 24 };
typedef enum {
    RIGHT,
    ONE_ELEMENT,  /* element 5 of y is 1 more */
    BEHIND,       /* a byte behind y is written */
    NO_COMPILER,  /* nothing can be compiled */
    NO_TEXT,      /* the kernel of y alone does not compile */
    NO_LOAD,      /* it can't be loaded */
    NO_RUN,       /* it can't be run */
    LOST,         /* and the device with it */
    OTHER_RESULT, /* a kernel that reads x makes another y than one that reads r */
    NO_ROOM       /* 100 bytes are free */
} mistake;

struct fsim_device_kernel {
    int program;
    const fsim_buffer *argument;
};

static struct {
    const fsim_program *program;
    int programs, allocated, loaded, runs;
    mistake what;
    const char *lost;
} paper;

static bool makes(const fsim_program *p, const char *name)
{
    bool any = false;
    for (int i = 0; i < p->parameters; i++)
        any = any || (p->parameter[i].written && strcmp(p->parameter[i].name, name) == 0);
    return any;
}

static float element_of(const fsim_program *p, void *const *argument, const char *name, int i)
{
    for (int k = 0; k < p->parameters; k++)
        if (strcmp(p->parameter[k].name, name) == 0 && !p->parameter[k].written)
            return ((const float *)argument[k])[i];
    if (strcmp(name, "t_y") == 0)
        return -element_of(p, argument, "t_r", i);
    const float x = element_of(p, argument, "t_x", i);
    return x > 0 ? x : 0;
}

static bool run_program(int at, void *const *argument)
{
    const fsim_program *p = &paper.program[at];
    const bool last = makes(p, "t_y"), whole = last && !makes(p, "t_r") && p->parameters == 2;
    bool reads_x = false;
    for (int k = 0; k < p->parameters; k++)
        reads_x = reads_x || strcmp(p->parameter[k].name, "t_x") == 0;
    paper.runs++;
    if (last && (paper.what == NO_RUN || paper.what == LOST)) {
        paper.lost = paper.what == LOST ? "the page is torn" : NULL;
        return false;
    }
    for (int k = 0; k < p->parameters; k++)
        for (int i = 0; p->parameter[k].written && i < ELEMENTS; i++) {
            float *to = argument[k];
            to[i] = element_of(p, argument, p->parameter[k].name, i);
            if (last && i == 5 && (paper.what == ONE_ELEMENT || (paper.what == OTHER_RESULT && reads_x && whole)))
                to[i] += 1;
        }
    for (int k = 0; k < p->parameters && paper.what == BEHIND; k++)
        if (strcmp(p->parameter[k].name, "t_y") == 0)
            ((float *)argument[k])[ELEMENTS] = 1;
    return true;
}

static bool fails(fsim_fault *fault, const char *text)
{
    if (fault)
        *fault = (fsim_fault){.status = FSIM_FAILED, .message = text};
    return false;
}

static const char *paper_lost(const fsim_device *d)
{
    (void)d;
    return paper.lost;
}
static bool paper_compile(fsim_device *d, const fsim_program *p, int count, const char **wrong, fsim_fault *fault)
{
    (void)d;
    paper.program = p;
    paper.programs = count;
    for (int i = 0; i < count; i++)
        wrong[i] = paper.what == NO_TEXT && makes(&p[i], "t_y") ? "a word too many" : NULL;
    return paper.what != NO_COMPILER || fails(fault, "no pencil");
}
static bool paper_run_on_host(fsim_device *d, int i, void *const *argument, fsim_fault *fault)
{
    (void)d;
    return run_program(i, argument) || fails(fault, "no hand");
}
static int64_t paper_free(const fsim_device *d)
{
    (void)d;
    return paper.what == NO_ROOM ? 100 : 1 << 20;
}
static bool paper_allocate(fsim_device *d, const char *name, int64_t bytes, fsim_buffer *out, fsim_fault *fault)
{
    (void)d, (void)name, (void)fault;
    *out = (fsim_buffer){.at = (uint64_t)(uintptr_t)calloc(1, (size_t)bytes), .bytes = bytes};
    paper.allocated++;
    return true;
}
static void paper_release(fsim_device *d, fsim_buffer *b)
{
    (void)d;
    free((void *)(uintptr_t)b->at);
    paper.allocated--;
}
static bool paper_upload(fsim_device *d, fsim_buffer to, const void *from, int64_t bytes, fsim_fault *fault)
{
    (void)d, (void)fault;
    memcpy((void *)(uintptr_t)to.at, from, (size_t)bytes);
    return true;
}
static bool paper_download(fsim_device *d, void *to, fsim_buffer from, int64_t bytes, fsim_fault *fault)
{
    (void)d, (void)fault;
    memcpy(to, (const void *)(uintptr_t)from.at, (size_t)bytes);
    return true;
}
static fsim_device_kernel *paper_load(fsim_device *d, int i, const fsim_buffer *argument, fsim_fault *fault)
{
    if (paper.what == NO_LOAD && makes(&paper.program[i], "t_y")) {
        fails(fault, "no glue");
        return NULL;
    }
    fsim_device_kernel *k = fsim_new(d->a, fsim_device_kernel, 1);
    *k = (fsim_device_kernel){i, argument};
    paper.loaded++;
    return k;
}
static void paper_unload(fsim_device *d, fsim_device_kernel *k)
{
    (void)d, (void)k;
    paper.loaded--;
}
static bool paper_run(fsim_device *d, fsim_device_kernel *k, fsim_fault *fault)
{
    void *argument[8];
    (void)d;
    for (int i = 0; i < paper.program[k->program].parameters; i++)
        argument[i] = (void *)(uintptr_t)k->argument[i].at;
    return run_program(k->program, argument) || fails(fault, "no hand");
}
/* A plan takes as many seconds as it has kernels; the first kernel of the list 1 s, the next 2 s. */
static bool paper_measure(fsim_device *d, fsim_device_work *work, fsim_fault *fault)
{
    (void)d, (void)fault;
    for (int i = 0; i < work->plans; i++) {
        const double s = work->plan[i].kernels;
        work->of_plan[i].stream = (fsim_times){.samples = 3, .median_s = s, .low_s = s, .high_s = s, .least_s = s};
    }
    for (int i = 0; i < work->kernels; i++) {
        work->of_kernel[i] = fsim_not_measured();
        work->of_kernel[i].cold = (fsim_times){.samples = 1, .median_s = i + 1};
    }
    work->disturbed = 0.25;
    return true;
}

static const fsim_backend on_paper = {.name = "paper",
                                      .version = FSIM_BACKEND_VERSION,
                                      .goes_on = true,
                                      .no_library = "paper has no library",
                                      .lost = paper_lost,
                                      .compile = paper_compile,
                                      .run_on_host_memory = paper_run_on_host,
                                      .free_bytes = paper_free,
                                      .allocate = paper_allocate,
                                      .release = paper_release,
                                      .upload = paper_upload,
                                      .download = paper_download,
                                      .load = paper_load,
                                      .unload = paper_unload,
                                      .run = paper_run,
                                      .measure = paper_measure};

/* Each primitive alone: two kernels; both in one, twice. */
static fsim_trial on_a_page(fsim_arena *a, mistake what)
{
    static const char text[] =
        "tensors: {x: {shape: [4, 6], dtype: f32}}\noperators:\n  - {op: relu, in: x, out: r}\n  - {op: neg, in: r, "
        "out: y}\noutputs: [y]\n";
    static const fsim_strategy strategy[] = {FSIM_STRATEGY_UNFUSED, FSIM_STRATEGY_OPTIMAL, FSIM_STRATEGY_MAXIMAL};
    const fsim_options options = {
        .strategy = FSIM_STRATEGY_OPTIMAL, .regime = FSIM_REGIME_STREAM, .search_steps = 1000};
    fsim_diag *d = fsim_diag_new(a);
    const fsim_graph *g = fsim_graph_parse(a, d, "page.yaml", text, sizeof text - 1, NULL);
    const fsim_hw *hw = fsim_hw_read(a, d, FUSESIM_SOURCE_DIR "/hwmodels/a100-sxm4-40gb.yaml");
    assert_true(g && hw);
    memset(&paper, 0, sizeof paper);
    paper.what = what;
    const fsim_trial t = fsim_trial_of(g, hw, &options, strategy, 3, a);
    assert_true(t.plans == 3 && t.plan[0].plan.kernels == 2 && t.plan[1].plan.kernels == 1 &&
                t.plan[2].plan.kernels == 1);
    return t;
}

static void kernels_are_checked(void **unused)
{
    static const struct {
        mistake what;
        int checked, wrong; /* of the two kernels of the first plan */
        const char *told;
    } cases[] = {{RIGHT, 2, 0, NULL},
                 {ONE_ELEMENT, 2, 1, "1 of 24 elements are wrong"},
                 {BEHIND, 2, 1, "it writes behind the end of t_y"},
                 {NO_TEXT, 2, 1, "a word too many"},
                 {NO_COMPILER, 0, 0, "no pencil"},
                 {NO_RUN, 1, 0, "no hand"}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_fault fault = {0};
        fsim_device d = {.backend = &on_paper, .name = "paper", .a = a};
        fsim_trial t = on_a_page(a, cases[i].what);
        const bool good = fsim_trial_check(&t, &d, &(fsim_trial_source){.most_s = 10}, &fault),
                   whole = cases[i].checked == 2;
        assert_true(good == whole && t.scale == 1);
        assert_true(t.plan[0].checked == cases[i].checked && t.plan[0].wrong == cases[i].wrong &&
                    t.plan[0].untold == 0);
        assert_int_equal(t.plan[1].wrong, cases[i].wrong);
        assert_int_equal(t.plan[2].checked, whole);
        const char *told = whole ? t.plan[0].first_wrong : fault.message;
        if (cases[i].told ? !told || !strstr(told, cases[i].told) : told != NULL)
            fail_msg("'%s', wanted '%s'", told ? told : "", cases[i].told ? cases[i].told : "");
        if (cases[i].what == ONE_ELEMENT) { /* -relu(x) + 1 in row 0, place 5; and the line that stores it */
            assert_true(strstr(told, "y[0, 5] is ") && strstr(told, "; line ") && strstr(told, "t_y["));
            assert_true(!t.plan[0].check[0].message && t.plan[0].check[1].message && t.plan[0].check[1].tensor >= 0);
        }
        fsim_arena_free(a);
    }
}

static void plans_are_compared_and_measured(void **unused)
{
    static const struct {
        mistake what;
        const char *failed, *differs, *kernel; /* of the trial; of the second plan; of its kernel */
        int runs;
    } cases[] = {{RIGHT, NULL, NULL, NULL, 3},
                 {OTHER_RESULT, NULL, "1 of 24 elements differ from the result of unfused", NULL, 3},
                 {NO_TEXT, NULL, NULL, "does not compile: a word too many", 1},
                 {NO_LOAD, NULL, NULL, "no glue", 1},
                 {NO_RUN, NULL, NULL, "no hand", 3},
                 {LOST, "the page is torn", NULL, NULL, 2},
                 {NO_ROOM, "out of memory: the plans' tensors take", NULL, NULL, 0}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        fsim_fault fault = {0};
        fsim_device d = {.backend = &on_paper, .name = "paper", .a = a};
        fsim_trial t = on_a_page(a, cases[i].what);
        const bool good = fsim_trial_measure(&t, &d, &(fsim_trial_how){.kernels = true}, &fault);
        assert_int_equal(good, cases[i].what != LOST);
        assert_true(cases[i].failed ? t.failed && strstr(t.failed, cases[i].failed) : !t.failed);
        if (paper.runs != cases[i].runs || paper.allocated != 0 || paper.loaded != 0)
            fail_msg("case %zu: %d runs, %d buffers and %d kernels left", i, paper.runs, paper.allocated, paper.loaded);
        const fsim_trial_plan *both = &t.plan[1];
        const char *why = both->measured.kernel[0].failed;
        assert_true(cases[i].differs ? both->differs && strstr(both->differs, cases[i].differs) : !both->differs);
        assert_true(!cases[i].kernel || (why && strstr(why, cases[i].kernel) && both->failed == why));
        assert_true(t.plan[0].differs == NULL && t.plan[2].differs == both->differs);
        assert_true(!t.has_library && !t.warm);
        if (cases[i].what == RIGHT || cases[i].what == OTHER_RESULT) {
            assert_true(t.plan[0].measured.stream.median_s == 2 && both->measured.stream.median_s == 1 &&
                        t.plan[2].measured.stream.median_s == 1 && t.disturbed == 0.25);
            const double first_s = t.plan[0].measured.kernel[0].cold.median_s;
            assert_true(!why && t.plan[2].measured.kernel[0].cold.median_s == both->measured.kernel[0].cold.median_s);
            assert_true(first_s + t.plan[0].measured.kernel[1].cold.median_s + both->measured.kernel[0].cold.median_s ==
                        1 + 2 + 3); /* each of three kernels once */
        }
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_version_is_refused), cmocka_unit_test(all_of_the_table_are_whole),
        cmocka_unit_test(kernels_are_checked), cmocka_unit_test(plans_are_compared_and_measured)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
