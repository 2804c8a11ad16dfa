/* SPDX-License-Identifier: Apache-2.0 */
#include "base/jobs.h"

#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

int fsim_jobs_of(int64_t asked)
{
    int64_t jobs = asked > 0 ? asked : sysconf(_SC_NPROCESSORS_ONLN);
#ifdef CPU_COUNT
    cpu_set_t usable; /* taskset and containers leave fewer than the machine has */
    if (asked <= 0 && sched_getaffinity(0, sizeof usable, &usable) == 0)
        jobs = CPU_COUNT(&usable);
#endif
    return jobs < 1 ? 1 : jobs > FSIM_MOST_JOBS ? FSIM_MOST_JOBS : (int)jobs;
}

typedef struct {
    fsim_job *job;
    void *to;
    int count;
    atomic_int next; /* the next item that nobody has begun */
    atomic_bool failed;
    locale_t numbers; /* of the thread that called: of its own, a thread has the process's */
} list;

typedef struct {
    list *all;
    int number;
    size_t held_bytes; /* of arenas, when it ended */
} worker;

static void take_items(void *of)
{
    const worker *w = of;
    list *all = w->all;
    for (int i; !atomic_load(&all->failed) && (i = atomic_fetch_add(&all->next, 1)) < all->count;)
        all->job(all->to, i, w->number);
}

static void work(worker *w)
{
    if (!fsim_attempt(take_items, w))
        atomic_store(&w->all->failed, true);
}

static void *begin(void *of)
{
    worker *w = of;
    uselocale(w->all->numbers);
    work(w);
    w->held_bytes = fsim_arena_held();
    return NULL;
}

void fsim_in_parallel(int jobs, int count, fsim_job *job, void *to)
{
    pthread_t thread[FSIM_MOST_JOBS];
    worker w[FSIM_MOST_JOBS];
    list all = {.job = job, .to = to, .count = count, .numbers = uselocale((locale_t)0)};
    int started = 1;
    jobs = jobs > FSIM_MOST_JOBS ? FSIM_MOST_JOBS : jobs > count ? count : jobs;
    w[0] = (worker){&all, 0, 0};
    if (jobs <= 1) {
        take_items(&w[0]);
        return;
    }
    for (; started < jobs; started++) {
        w[started] = (worker){&all, started, 0};
        if (pthread_create(&thread[started], NULL, begin, &w[started]) != 0)
            break;
    }
    work(&w[0]);
    for (int i = 1; i < started; i++) {
        pthread_join(thread[i], NULL);
        fsim_arena_take_over(w[i].held_bytes);
    }
    if (atomic_load(&all.failed))
        fsim_out_of_memory();
}

fsim_arena **fsim_arena_children(fsim_arena *a, int count)
{
    fsim_arena **child = fsim_new(a, fsim_arena *, count + 1);
    for (int i = 0; i < count; i++)
        child[i] = fsim_arena_child(a);
    return child;
}
