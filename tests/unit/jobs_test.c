/* SPDX-License-Identifier: Apache-2.0 */
/* base/jobs.h: each item once, results in their order, memory counted for who has it, and what happens when it runs
 * out. */
#include "base/arena.h"
#include "base/jobs.h"

#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ITEMS = 1000 };

typedef struct {
    int jobs, times[ITEMS];
    int64_t square[ITEMS];
    int calls[FSIM_MOST_JOBS];
} squares;

static void square(void *to, int i, int worker)
{
    squares *s = to;
    assert_true(worker >= 0 && worker < s->jobs);
    s->calls[worker]++; /* a worker's own: no other thread writes it */
    s->times[i]++;
    s->square[i] = (int64_t)i * i;
}

static void each_item_is_done_once(void **state)
{
    (void)state;
    static const int jobs[] = {1, 2, 3, 64, FSIM_MOST_JOBS};
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++)
        for (int count = 0; count <= ITEMS; count = count < 3 ? count + 1 : count == 3 ? ITEMS : count + 1) {
            squares s = {.jobs = jobs[j]};
            int calls = 0;
            fsim_in_parallel(jobs[j], count, square, &s);
            for (int i = 0; i < ITEMS; i++) {
                assert_int_equal(s.times[i], i < count);
                assert_int_equal(s.square[i], i < count ? (int64_t)i * i : 0);
            }
            for (int w = 0; w < FSIM_MOST_JOBS; w++)
                calls += s.calls[w];
            assert_int_equal(calls, count);
        }
}

static void jobs_asked_for_and_not(void **state)
{
    (void)state;
    assert_int_equal(fsim_jobs_of(5), 5);
    assert_true(fsim_jobs_of(0) >= 1 && fsim_jobs_of(0) <= FSIM_MOST_JOBS);
    assert_int_equal(fsim_jobs_of(INT64_MAX), FSIM_MOST_JOBS);
}

/* Two items, the first of which ends only when the second has begun: two threads run them. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t begun;
    int waiting;
    locale_t numbers; /* that each must have */
} meeting;

static void meet(void *to, int i, int worker)
{
    meeting *m = to;
    (void)i;
    (void)worker;
    pthread_mutex_lock(&m->lock);
    assert_true(uselocale((locale_t)0) == m->numbers);
    m->waiting++;
    pthread_cond_broadcast(&m->begun);
    while (m->waiting < 2)
        pthread_cond_wait(&m->begun, &m->lock);
    pthread_mutex_unlock(&m->lock);
}

static void items_run_at_the_same_time(void **state)
{
    (void)state;
    meeting m = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, LC_GLOBAL_LOCALE};
    fsim_in_parallel(2, 2, meet, &m);
    assert_int_equal(m.waiting, 2);
}

/* A caller whose process writes 1,5 has set "C" for its own thread: the other thread writes 1.5, too. */
static void threads_have_the_callers_locale(void **state)
{
    (void)state;
    const locale_t own = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(own);
    meeting m = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, own};
    fsim_in_parallel(2, 2, meet, &m);
    assert_int_equal(m.waiting, 2);
    uselocale(before);
    freelocale(own);
}

static void fill(void *to, int i, int worker)
{
    fsim_arena *const *a = to;
    (void)worker;
    fsim_alloc(a[i], 1000, 100);
    fsim_arena *own = fsim_arena_new();
    fsim_alloc(own, 1000, 1000);
    fsim_arena_free(own);
}

static void memory_is_counted_for_who_keeps_it(void **state)
{
    (void)state;
    enum { ARENAS = 40 };
    size_t held[2];
    for (int jobs = 1; jobs <= 2; jobs++) {
        const size_t before = fsim_arena_held();
        fsim_arena *a = fsim_arena_new(), *child[ARENAS];
        for (int i = 0; i < ARENAS; i++)
            child[i] = fsim_arena_child(a);
        fsim_in_parallel(jobs, ARENAS, fill, child);
        held[jobs - 1] = fsim_arena_held() - before;
        fsim_arena_free(a);
        assert_true(fsim_arena_held() == before);
    }
    assert_true(held[0] >= (size_t)ARENAS * 1000 * 100 && held[0] == held[1]);
}

typedef struct {
    int jobs, at, ended;
} shortage;

static void run_out(void *to, int i, int worker)
{
    const shortage *s = to;
    (void)worker;
    fsim_arena *own = fsim_arena_new();
    fsim_alloc(own, 1000, 1000);
    if (i == s->at)
        fsim_out_of_memory(); /* which frees it */
    fsim_arena_free(own);
}

static void try_to(void *of)
{
    shortage *s = of;
    fsim_in_parallel(s->jobs, 100, run_out, s);
    s->ended++;
}

static void memory_that_runs_out_ends_the_callers_attempt(void **state)
{
    (void)state;
    for (int jobs = 1; jobs <= 4; jobs++)
        for (int at = 0; at < 100; at += 33) {
            shortage s = {jobs, at, 0};
            assert_false(fsim_attempt(try_to, &s));
            assert_int_equal(s.ended, 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_is_done_once),
        cmocka_unit_test(jobs_asked_for_and_not),
        cmocka_unit_test(items_run_at_the_same_time),
        cmocka_unit_test(threads_have_the_callers_locale),
        cmocka_unit_test(memory_is_counted_for_who_keeps_it),
        cmocka_unit_test(memory_that_runs_out_ends_the_callers_attempt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
