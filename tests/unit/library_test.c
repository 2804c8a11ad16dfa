/* SPDX-License-Identifier: Apache-2.0 */
/* libfusesim through its public header alone. The linker sends what the library allocates through the counters here
 * (--wrap, tests/CMakeLists.txt), so that each allocation in turn can fail. */
#include <fusesim.h>

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void __real_free(void *what);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void __wrap_free(void *what);

static _Thread_local long allocations, failing; /* since the last reset; which of them fails, 0: none */

static int refused(void) { return ++allocations == failing; }

void *__wrap_malloc(size_t bytes) { return refused() ? NULL : __real_malloc(bytes); }

void *__wrap_calloc(size_t count, size_t bytes) { return refused() ? NULL : __real_calloc(count, bytes); }

void *__wrap_realloc(void *old, size_t bytes) { return refused() ? NULL : __real_realloc(old, bytes); }

void __wrap_free(void *what) { __real_free(what); }

static const char chain[] = "name: chain\n"
                            "tensors:\n"
                            "  x: {shape: [N, 1024], dtype: f32, role: input}\n"
                            "symbols: {N: 512}\n"
                            "operators:\n"
                            "  - {op: relu, in: x, out: a}\n"
                            "  - {op: exp, in: a, out: b}\n"
                            "  - {op: softmax, in: b, out: y, dim: -1}\n"
                            "outputs: [y]\n";
static const fsim_document document = {"chain.yaml", chain, sizeof chain - 1};
#define FSIM_TOY FUSESIM_SOURCE_DIR "/tests/hw/toy.yaml"
static const fsim_session_options here = {.size = sizeof here, .data_folder = FUSESIM_SOURCE_DIR};

static fsim_session *session_of(void **state) { return *state; }

static int open_one(void **state)
{
    fsim_session *s = NULL;
    const fsim_status status = fsim_session_open(&here, &s);
    *state = s;
    return (int)status;
}

static int close_one(void **state)
{
    fsim_session_close(*state);
    return 0;
}

static void show(const fsim_session *s)
{
    for (int i = 0; i < fsim_diagnostic_count(s); i++) {
        fsim_diagnostic d = {.size = sizeof d};
        assert_int_equal(fsim_diagnostic_get(s, i, &d), FSIM_OK);
        print_message("%s:%d:%d: %s\n", d.file ? d.file : "", d.line, d.column, d.message);
    }
}

static void version(void **state)
{
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", FSIM_VERSION_MAJOR, FSIM_VERSION_MINOR, FSIM_VERSION_PATCH);
    assert_string_equal(fsim_version(), FSIM_VERSION);
    assert_string_equal(fsim_version(), text);
    for (int i = 0; i < FSIM_NO_MEMORY; i++)
        assert_string_not_equal(fsim_status_text((fsim_status)i), fsim_status_text((fsim_status)(i + 1)));
    assert_string_equal(fsim_status_text((fsim_status)99), "unknown status");
}

static void plans_are_read(void **state)
{
    fsim_session *s = session_of(state);
    fsim_workload *w;
    fsim_hardware *h;
    fsim_plans *p;
    const fsim_setting large = {"N", "8192"};
    const char *const change = "dram_bandwidth=2x";
    assert_int_equal(fsim_workload_parse(s, &document, &large, 1, &w), FSIM_OK);
    assert_string_equal(fsim_workload_name(w), "chain");
    assert_int_equal(fsim_workload_operators(w), 3);
    assert_true(fsim_workload_primitives(w) > 3);
    assert_int_equal(fsim_hardware_load(s, "a100-sxm4-40gb", NULL, 0, &h), FSIM_OK);
    assert_string_equal(fsim_hardware_name(h), "a100-sxm4-40gb");
    assert_true(fsim_hardware_value(h, "sms") == 108);
    assert_true(isnan(fsim_hardware_value(h, "no_such_key")));
    assert_int_equal(fsim_plan_workload(s, w, h, NULL, &p), FSIM_OK);
    assert_int_equal(fsim_diagnostic_count(s), 0);
    fsim_plan_summary best = {.size = sizeof best}, one = {.size = sizeof one};
    assert_int_equal(fsim_plans_strategy(p, fsim_plans_chosen(p), &best), FSIM_OK);
    assert_string_equal(best.strategy, "optimal");
    assert_int_equal(best.kernels, 1);
    assert_int_equal(best.proven, 1);
    assert_true(best.gap == 0 && best.lower_bound > 0);
    assert_true(best.time_low_s < best.time_s && best.time_s < best.time_high_s);
    assert_true(best.dram_read_bytes == 8192 * 1024 * 4 && best.dram_write_bytes == 8192 * 1024 * 4);
    for (int i = 0; i < fsim_plans_count(p); i++) {
        double sum_s = 0;
        assert_int_equal(fsim_plans_strategy(p, i, &one), FSIM_OK);
        assert_true(one.time_s >= best.time_s);
        for (int k = 0; k < one.kernels; k++) {
            fsim_kernel_summary kernel = {.size = sizeof kernel};
            assert_int_equal(fsim_plans_kernel(p, i, k, &kernel), FSIM_OK);
            for (int m = 0; m < kernel.members; m++)
                assert_non_null(fsim_plans_member(p, i, k, m));
            assert_null(fsim_plans_member(p, i, k, kernel.members));
            sum_s += kernel.time_s;
        }
        assert_true(fabs(sum_s - one.time_s) < 1e-12);
    }
    const char *json;
    size_t bytes;
    assert_int_equal(fsim_plans_json(p, &json, &bytes), FSIM_OK);
    assert_int_equal(strlen(json), bytes);
    assert_non_null(strstr(json, "\"plans\""));
    assert_non_null(strstr(json, "\"operators\":\t3,"));
    fsim_hardware *faster;
    fsim_plans *sooner;
    assert_int_equal(fsim_hardware_load(s, "a100-sxm4-40gb", &change, 1, &faster), FSIM_OK);
    assert_int_equal(fsim_plan_workload(s, w, faster, NULL, &sooner), FSIM_OK);
    assert_int_equal(fsim_plans_strategy(sooner, fsim_plans_chosen(sooner), &one), FSIM_OK);
    assert_true(one.time_s < best.time_s);
    fsim_plans_free(sooner);
    fsim_plans_free(p);
    fsim_hardware_free(h);
    fsim_workload_free(w);
}

static void options_choose(void **state)
{
    fsim_session *s = session_of(state);
    fsim_workload *w;
    fsim_hardware *h;
    fsim_plans *p;
    fsim_plan_summary one = {.size = sizeof one};
    assert_int_equal(fsim_workload_parse(s, &document, NULL, 0, &w), FSIM_OK);
    assert_int_equal(fsim_hardware_load(s, "t4", NULL, 0, &h), FSIM_OK);
    const fsim_plan_options eager = {
        .size = sizeof eager, .strategy = "eager", .objective = "bytes", .launch = "graph", .l2 = "warm"};
    assert_int_equal(fsim_plan_workload(s, w, h, &eager, &p), FSIM_OK);
    assert_int_equal(fsim_plans_strategy(p, fsim_plans_chosen(p), &one), FSIM_OK);
    assert_string_equal(one.strategy, "eager");
    assert_true(one.objective == (double)(one.dram_read_bytes + one.dram_write_bytes));
    assert_int_equal(one.kernels, 3);
    fsim_refusal_summary r = {.size = sizeof r};
    assert_true(fsim_plans_refusal_count(p) > 0);
    assert_int_equal(fsim_plans_refusal(p, 0, &r), FSIM_OK);
    assert_true(r.first && r.rule && *r.text);
    fsim_plans *none;
    const fsim_plan_options wrong = {.size = sizeof wrong, .strategy = "eagre", .time_limit_s = -1};
    assert_int_equal(fsim_plan_workload(s, w, h, &wrong, &none), FSIM_BAD_ARGUMENT);
    assert_null(none);
    assert_int_equal(fsim_diagnostic_count(s), 2);
    fsim_diagnostic d = {.size = sizeof d};
    assert_int_equal(fsim_diagnostic_get(s, 0, &d), FSIM_OK);
    assert_string_equal(d.message, "strategy: unknown word 'eagre'; did you mean 'eager'?");
    assert_int_equal(d.status, FSIM_BAD_ARGUMENT);
}

/* The optimum's summary, and as text its JSON, with these options. */
static fsim_plan_summary with_options(fsim_session *s, const fsim_document *text, const char *gpu,
                                      const fsim_plan_options *options, const char **json)
{
    fsim_workload *w;
    fsim_hardware *h;
    fsim_plans *p;
    fsim_plan_summary one = {.size = sizeof one};
    assert_int_equal(fsim_workload_parse(s, text, NULL, 0, &w), FSIM_OK);
    assert_int_equal(fsim_hardware_load(s, gpu, NULL, 0, &h), FSIM_OK);
    assert_int_equal(fsim_plan_workload(s, w, h, options, &p), FSIM_OK);
    assert_int_equal(fsim_plans_strategy(p, fsim_plans_chosen(p), &one), FSIM_OK);
    assert_int_equal(fsim_plans_json(p, json, NULL), FSIM_OK);
    return one;
}

/* Does a kernel of the plan compute t again? */
static bool recomputes_t(const char *json)
{
    const char *list = strstr(json, "\"recomputed\":");
    for (; list; list = strstr(list + 1, "\"recomputed\":"))
        if (memchr(list, 't', strcspn(list, "]")) && strncmp(list + 13 + strspn(list + 13, " \t\n["), "\"t\"", 3) == 0)
            return true;
    return false;
}

static void each_option_counts(void **state)
{
    fsim_session *s = session_of(state);
    static const char twice[] = "tensors: {x: {shape: [250, 1000], dtype: f32}}\noperators:\n"
                                "  - {op: neg, in: x, out: t}\n"
                                "  - {op: sum, in: t, out: s, dim: [0, 1], keepdim: true}\n"
                                "  - {op: mul, in: [t, s], out: y}\noutputs: [y]\n";
    const fsim_document producer = {"twice.yaml", twice, sizeof twice - 1};
    const int now = 1;
    const fsim_plan_options plain = {.size = sizeof plain}, warm = {.size = sizeof warm, .l2 = "warm"},
                            once = {.size = sizeof once, .recompute = "off"},
                            strict = {.size = sizeof strict, .numerics = "strict"},
                            small = {.size = sizeof small, .memory_limit_bytes = 123456},
                            stopped = {.size = sizeof stopped, .stop = &now};
    const char *json, *other;
    const fsim_plan_summary usual = with_options(s, &producer, "t4", &plain, &json);
    assert_int_equal(usual.interrupted, 0);
    assert_true(with_options(s, &producer, "t4", &warm, &other).time_s < usual.time_s);
    with_options(s, &producer, FSIM_TOY, &plain, &json);
    assert_true(recomputes_t(json));
    with_options(s, &producer, FSIM_TOY, &once, &json);
    assert_false(recomputes_t(json));
    with_options(s, &producer, "t4", &small, &json);
    assert_non_null(strstr(json, "123456"));
    with_options(s, &producer, "t4", &strict, &other);
    assert_non_null(strstr(other, "strict"));
    fsim_workload *w;
    fsim_hardware *h;
    fsim_plans *p;
    fsim_refusal_summary r = {.size = sizeof r};
    assert_int_equal(fsim_workload_parse(s, &producer, NULL, 0, &w), FSIM_OK);
    assert_int_equal(fsim_hardware_load(s, "t4", NULL, 0, &h), FSIM_OK);
    assert_int_equal(fsim_plan_workload(s, w, h, &strict, &p), FSIM_OK);
    assert_int_equal(fsim_plans_refusal(p, 0, &r), FSIM_OK);
    assert_string_equal(r.rule, "numerics"); /* about one primitive alone */
    assert_string_equal(r.first, "s");
    assert_null(r.second);
    assert_int_equal(with_options(s, &producer, "t4", &stopped, &json).interrupted, 1);
}

/* What does not fit: 40 GiB of input and result, and 1 GiB of weights, for the 16 GB of a T4. */
static void summaries_say_what_fits(void **state)
{
    fsim_session *s = session_of(state);
    static const char text[] = "symbols: {M: 1}\ntensors: {x: {shape: [M, 16384], dtype: f16},\n"
                               "  w: {shape: [16384, 16384], dtype: f16, role: weight}}\n"
                               "operators: [{op: linear, in: [x, w], out: y}]\noutputs: [y]\n";
    const fsim_document product = {"product.yaml", text, sizeof text - 1};
    const int64_t weights = (int64_t)16384 * 16384 * 2;
    const fsim_setting large = {"M", "655360"};
    fsim_workload *w;
    fsim_hardware *h;
    fsim_plans *p;
    assert_int_equal(fsim_hardware_load(s, "t4", NULL, 0, &h), FSIM_OK);
    for (int sets = 0; sets <= 1; sets++) {
        fsim_plan_summary one = {.size = sizeof one};
        assert_int_equal(fsim_workload_parse(s, &product, &large, sets, &w), FSIM_OK);
        assert_int_equal(fsim_plan_workload(s, w, h, NULL, &p), FSIM_OK);
        assert_int_equal(fsim_plans_strategy(p, fsim_plans_chosen(p), &one), FSIM_OK);
        assert_int_equal(one.fits, !sets);
        assert_int_equal(one.weight_bytes, weights);
        assert_int_equal(one.activation_bytes, one.peak_memory_bytes - weights);
    }
}

/* The bound is one for all strategies; what a plan loses against it is its own. */
static void summaries_are_of_their_strategy(void **state)
{
    fsim_session *s = session_of(state);
    fsim_workload *w;
    fsim_hardware *h;
    fsim_plans *p;
    fsim_plan_summary best = {.size = sizeof best}, one = {.size = sizeof one};
    assert_int_equal(fsim_workload_parse(s, &document, NULL, 0, &w), FSIM_OK);
    assert_int_equal(fsim_hardware_load(s, "t4", NULL, 0, &h), FSIM_OK);
    const fsim_plan_options eager = {.size = sizeof eager, .strategy = "eager"};
    assert_int_equal(fsim_plan_workload(s, w, h, &eager, &p), FSIM_OK);
    assert_int_equal(fsim_plans_strategy(p, fsim_plans_chosen(p), &best), FSIM_OK);
    assert_string_equal(best.strategy, "eager");
    for (int i = 0; i < fsim_plans_count(p); i++) {
        assert_int_equal(fsim_plans_strategy(p, i, &one), FSIM_OK);
        assert_true(one.objective == one.time_s && one.lower_bound == best.lower_bound);
        assert_true(fabs(one.gap - (one.objective - one.lower_bound) / one.objective) < 1e-12);
        assert_int_equal(one.proven, one.gap == 0);
        assert_true(fabs(one.speedup * one.time_s / best.time_s - 1) < 1e-12);
        assert_true(one.speedup_low <= one.speedup && one.speedup <= one.speedup_high);
    }
    fsim_refusal_summary first = {.size = sizeof first}, again = {.size = sizeof again};
    assert_true(fsim_plans_refusal_count(p) > 0);
    for (int i = 0; i < fsim_plans_refusal_count(p); i++) {
        assert_int_equal(fsim_plans_refusal(p, i, &first), FSIM_OK);
        assert_int_equal(fsim_plans_refusal(p, i, &again), FSIM_OK);
        assert_ptr_equal(first.text, again.text); /* made once, however often it is read */
    }
}

/* A caller that was compiled with a shorter struct gets no byte beyond it, and its missing options are the defaults. */
static void older_callers(void **state)
{
    fsim_session *s = session_of(state);
    fsim_workload *w;
    fsim_hardware *h;
    fsim_plans *p;
    assert_int_equal(fsim_workload_parse(s, &document, NULL, 0, &w), FSIM_OK);
    assert_int_equal(fsim_hardware_load(s, "t4", NULL, 0, &h), FSIM_OK);
    const fsim_plan_options old = {
        .size = offsetof(fsim_plan_options, objective), .strategy = "eager", .objective = "nonsense"};
    assert_int_equal(fsim_plan_workload(s, w, h, &old, &p), FSIM_OK);
    fsim_plan_summary summary;
    memset(&summary, 0x55, sizeof summary);
    summary.size = offsetof(fsim_plan_summary, time_s);
    assert_int_equal(fsim_plans_strategy(p, 0, &summary), FSIM_OK);
    assert_string_equal(summary.strategy, "eager");
    struct {
        fsim_plan_summary known;
        unsigned char more[16];
    } newer;
    memset(&newer, 0x55, sizeof newer);
    newer.known.size = sizeof newer; /* a caller of a later version */
    assert_int_equal(fsim_plans_strategy(p, 0, &newer.known), FSIM_OK);
    for (size_t i = 0; i < sizeof newer.more; i++)
        assert_int_equal(newer.more[i], 0x55);
    unsigned char rest[sizeof summary.time_s];
    memcpy(rest, &summary.time_s, sizeof rest);
    for (size_t i = 0; i < sizeof rest; i++)
        assert_int_equal(rest[i], 0x55);
}

static void errors_are_data(void **state)
{
    fsim_session *s = session_of(state);
    fsim_workload *w = (fsim_workload *)s;
    fsim_hardware *h = (fsim_hardware *)s;
    static const char bad[] = "name: bad\ntensors:\n  x: {shape: [4], dtype: f32, role: input}\noperators:\n"
                              "  - {op: relo, in: x, out: y}\noutputs: [y]\n";
    const fsim_document text = {"bad.yaml", bad, sizeof bad - 1};
    fsim_diagnostic d = {.size = sizeof d};
    assert_int_equal(fsim_workload_parse(s, &text, NULL, 0, &w), FSIM_BAD_INPUT);
    assert_null(w);
    assert_true(fsim_diagnostic_count(s) >= 1);
    assert_int_equal(fsim_diagnostic_get(s, 0, &d), FSIM_OK);
    assert_string_equal(d.file, "bad.yaml");
    assert_int_equal(d.line, 5);
    assert_int_equal(d.severity, FSIM_ERROR);
    assert_int_equal(d.status, FSIM_BAD_INPUT);
    assert_non_null(strstr(d.message, "relu"));
    assert_int_equal(fsim_diagnostic_get(s, fsim_diagnostic_count(s), &d), FSIM_BAD_ARGUMENT);
    assert_int_equal(fsim_workload_load(s, "no-such-workload", NULL, 0, &w), FSIM_NO_INPUT);
    assert_int_equal(fsim_hardware_load(s, "no-such-gpu", NULL, 0, &h), FSIM_NO_INPUT);
    assert_null(h);
    const char *const change = "smx=3";
    assert_int_equal(fsim_hardware_load(s, "t4", &change, 1, &h), FSIM_BAD_ARGUMENT);
    assert_int_equal(fsim_workload_load(s, NULL, NULL, 0, &w), FSIM_BAD_ARGUMENT);
    assert_int_equal(fsim_workload_parse(s, &text, NULL, 0, &w), FSIM_BAD_INPUT);
    assert_int_equal(fsim_workload_parse(s, NULL, NULL, 0, &w), FSIM_BAD_ARGUMENT);
    assert_int_equal(fsim_diagnostic_count(s), 1); /* of this call, not of the one before */
    assert_int_equal(fsim_diagnostic_get(s, 0, &d), FSIM_OK);
    assert_int_equal(d.status, FSIM_BAD_ARGUMENT);
    assert_null(d.file);
    const fsim_document empty = {.name = "empty.yaml"};
    assert_int_equal(fsim_workload_parse(s, &empty, NULL, 0, &w), FSIM_BAD_ARGUMENT);
    assert_int_equal(fsim_hardware_parse(s, &empty, NULL, 0, &h), FSIM_BAD_ARGUMENT);
    assert_int_equal(fsim_hardware_load(s, "t4", NULL, 1, &h), FSIM_BAD_ARGUMENT);
    assert_int_equal(fsim_workload_load(s, "mlp", NULL, -1, &w), FSIM_BAD_ARGUMENT);
    assert_int_equal(fsim_workload_parse(NULL, &document, NULL, 0, &w), FSIM_BAD_ARGUMENT);
    assert_int_equal(fsim_workload_parse(s, &document, NULL, 0, NULL), FSIM_BAD_ARGUMENT);
    assert_int_equal(fsim_plan_workload(s, NULL, NULL, NULL, NULL), FSIM_BAD_ARGUMENT);
    assert_int_equal(fsim_diagnostic_count(NULL), 0);
}

/* What belongs to another session, limits that are no number, and what a failed call left. */
static void handles_are_checked(void **state)
{
    fsim_session *s = session_of(state), *foreign = NULL;
    fsim_workload *w, *their_w;
    fsim_hardware *h, *their_h;
    fsim_plans *p = (fsim_plans *)s;
    assert_int_equal(fsim_session_open(&here, &foreign), FSIM_OK);
    assert_int_equal(fsim_workload_parse(s, &document, NULL, 0, &w), FSIM_OK);
    assert_int_equal(fsim_hardware_load(s, "t4", NULL, 0, &h), FSIM_OK);
    assert_int_equal(fsim_workload_parse(foreign, &document, NULL, 0, &their_w), FSIM_OK);
    assert_int_equal(fsim_hardware_load(foreign, "t4", NULL, 0, &their_h), FSIM_OK);
    assert_int_equal(fsim_plan_workload(s, their_w, h, NULL, &p), FSIM_BAD_ARGUMENT);
    assert_null(p);
    assert_int_equal(fsim_plan_workload(s, w, their_h, NULL, &p), FSIM_BAD_ARGUMENT);
    assert_int_equal(fsim_diagnostic_count(s), 1);
    assert_int_equal(fsim_plan_workload(foreign, w, their_h, NULL, &p), FSIM_BAD_ARGUMENT);
    fsim_session_close(foreign);
    const fsim_plan_options no_number = {.size = sizeof no_number, .time_limit_s = NAN},
                            negative = {.size = sizeof negative, .memory_limit_bytes = -1};
    assert_int_equal(fsim_plan_workload(s, w, h, &no_number, &p), FSIM_BAD_ARGUMENT);
    assert_int_equal(fsim_plan_workload(s, w, h, &negative, &p), FSIM_BAD_ARGUMENT);
    assert_null(p);
    assert_int_equal(fsim_plans_count(p), 0);
    assert_int_equal(fsim_plans_chosen(p), -1);
    assert_int_equal(fsim_plans_refusal_count(p), 0);
    assert_null(fsim_plans_member(p, 0, 0, 0));
    assert_null(fsim_workload_name(NULL));
    assert_int_equal(fsim_workload_operators(NULL) + fsim_workload_primitives(NULL), 0);
    assert_null(fsim_hardware_name(NULL));
    assert_true(isnan(fsim_hardware_value(NULL, "sms")));
}

/* A program whose locale writes a comma reads and writes points all the same. */
static void locale(void **state)
{
    fsim_session *s = session_of(state);
    const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
    bool set = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !set; i++)
        set = setlocale(LC_NUMERIC, names[i]) != NULL;
    if (!set)
        print_message("no locale with a comma here\n");
    fsim_hardware *h;
    const locale_t own = duplocale(LC_GLOBAL_LOCALE), before = uselocale(own);
    assert_int_equal(fsim_hardware_load(s, "a100-sxm4-40gb", NULL, 0, &h), FSIM_OK);
    assert_true(uselocale(before) == own); /* the caller's thread has its own locale again */
    freelocale(own);
    assert_true(fsim_hardware_value(h, "sms") == 108);
    setlocale(LC_NUMERIC, "C");
}

/* Loads, plans and reads in a session of its own. */
static fsim_status whole_run(void)
{
    fsim_session *s = NULL;
    fsim_workload *w = NULL;
    fsim_hardware *h = NULL;
    fsim_plans *p = NULL;
    const char *json = NULL;
    fsim_kernel_summary k = {.size = sizeof k};
    const fsim_plan_options brief = {.size = sizeof brief, .search_steps = 30000};
    fsim_status status = fsim_session_open(&here, &s);
    status = status ? status : fsim_workload_load(s, "mlp", NULL, 0, &w);
    status = status ? status : fsim_hardware_load(s, "t4", NULL, 0, &h);
    status = status ? status : fsim_plan_workload(s, w, h, &brief, &p);
    status = status ? status : fsim_plans_kernel(p, 0, 0, &k);
    status = status ? status : fsim_plans_json(p, &json, NULL);
    assert_true(status == FSIM_OK || fsim_diagnostic_count(s) == 0);
    fsim_session_close(s);
    return status;
}

/* Whichever allocation fails, the call says so, and nothing is lost (the address sanitizer looks for leaks). */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    allocations = failing = 0;
    assert_int_equal(whole_run(), FSIM_OK);
    const long all = allocations;
    assert_true(all > 20);
    for (long n = 1; n <= all; n++) {
        allocations = 0;
        failing = n;
        assert_int_equal(whole_run(), FSIM_NO_MEMORY);
    }
    failing = 0;
    assert_int_equal(whole_run(), FSIM_OK);
}

/* A session outlives its failures: what was there before stays good. */
static void a_session_survives(void **state)
{
    fsim_session *s = session_of(state);
    fsim_workload *w, *other;
    fsim_hardware *h;
    fsim_plans *p;
    assert_int_equal(fsim_workload_parse(s, &document, NULL, 0, &w), FSIM_OK);
    assert_int_equal(fsim_hardware_load(s, "t4", NULL, 0, &h), FSIM_OK);
    for (long n = 1; n < 40; n++) {
        allocations = 0;
        failing = n;
        const fsim_status status =
            n % 2 ? fsim_workload_parse(s, &document, NULL, 0, &other) : fsim_plan_workload(s, w, h, NULL, &p);
        failing = 0;
        assert_true(status == FSIM_NO_MEMORY || status == FSIM_OK);
    }
    assert_int_equal(fsim_plan_workload(s, w, h, NULL, &p), FSIM_OK);
    show(s);
}

static void *run_in_a_thread(void *status)
{
    *(fsim_status *)status = FSIM_OK;
    for (int i = 0; i < 4 && *(fsim_status *)status == FSIM_OK; i++)
        *(fsim_status *)status = whole_run();
    return NULL;
}

/* Each thread has a session of its own; ThreadSanitizer looks for what they share. */
static void two_threads(void **state)
{
    (void)state;
    pthread_t thread[2];
    fsim_status status[2] = {FSIM_FAILED, FSIM_FAILED};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_in_a_thread, &status[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(status[0], FSIM_OK);
    assert_int_equal(status[1], FSIM_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version),
        cmocka_unit_test_setup_teardown(plans_are_read, open_one, close_one),
        cmocka_unit_test_setup_teardown(options_choose, open_one, close_one),
        cmocka_unit_test_setup_teardown(each_option_counts, open_one, close_one),
        cmocka_unit_test_setup_teardown(summaries_say_what_fits, open_one, close_one),
        cmocka_unit_test_setup_teardown(summaries_are_of_their_strategy, open_one, close_one),
        cmocka_unit_test_setup_teardown(handles_are_checked, open_one, close_one),
        cmocka_unit_test_setup_teardown(older_callers, open_one, close_one),
        cmocka_unit_test_setup_teardown(errors_are_data, open_one, close_one),
        cmocka_unit_test_setup_teardown(locale, open_one, close_one),
        cmocka_unit_test(two_threads),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test_setup_teardown(a_session_survives, open_one, close_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
