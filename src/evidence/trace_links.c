/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/trace_links.h"

#include <math.h>
#include <stdlib.h>

static int id_slot(const fsim_id_map *m, int64_t key)
{
    int i = (int)((uint64_t)key * 0x9e3779b97f4a7c15u >> 32 & (uint64_t)(m->slots - 1));
    while (m->value[i] && m->key[i] != key)
        i = (i + 1) & (m->slots - 1);
    return i;
}

static int id_get(const fsim_id_map *m, int64_t key) { return m->slots ? m->value[id_slot(m, key)] - 1 : -1; }

void fsim_id_set(fsim_arena *a, fsim_id_map *m, int64_t key, int value)
{
    if (m->count * 2 >= m->slots) {
        const fsim_id_map old = *m;
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

/* The step that runs at this time; -1 where none does. */
static int step_at(const fsim_trace *r, double at_us)
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

/* Sorts by thread and start; an operator comes before those that it calls. */
static int by_thread(const void *left, const void *right)
{
    const fsim_trace_operator *x = left, *y = right;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return x->end_us != y->end_us ? (x->end_us > y->end_us ? -1 : 1) : x->call < y->call ? -1 : 1;
}

static void nest(fsim_trace *r)
{
    if (r->runnings > 0)
        qsort(r->running, (size_t)r->runnings, sizeof *r->running, by_thread);
    for (int i = 1, around = 0; i < r->runnings; around = i++) {
        const fsim_trace_operator *x = &r->running[i];
        while (around >= 0 && (r->running[around].thread != x->thread || r->running[around].end_us <= x->start_us))
            around = r->running[around].outer;
        r->running[i].outer = around;
    }
}

/* The call of the innermost operator that ran at this time in the thread; -1: none. */
static int running_at(const fsim_trace *r, int thread, double at_us)
{
    int low = 0, high = r->runnings;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const fsim_trace_operator *x = &r->running[middle];
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

static void link_launch(fsim_trace *r, fsim_trace_launch *s, double base_us)
{
    const int runtime = s->correlation >= 0 ? id_get(&r->by_correlation, s->correlation) : -1;
    const fsim_trace_call *by = runtime >= 0 ? &r->runtime[runtime] : NULL;
    if (by && isfinite(by->start_us))
        s->launch.call = running_at(r, by->thread, by->start_us);
    if (s->launch.call < 0 && s->external >= 0)
        s->launch.call = id_get(&r->by_external, s->external);
    if (s->launch.call < 0 && by && by->external >= 0)
        s->launch.call = id_get(&r->by_external, by->external);
    s->launch.graph = by && by->graph;
    if (s->launch.graph) /* a CUDA graph: one runtime call launched all its kernels */
        s->launch.call = -1;
    s->launched_us = by && isfinite(by->start_us) ? by->start_us : s->start_us;
    s->launch.start_s = (s->start_us - base_us) * 1e-6;
    s->launch.step = step_at(r, s->launched_us);
}

/* Sorts by the time of the launch on the host: streams run at the same time, so the order on the device differs from
 * run to run. */
static int by_launch(const void *left, const void *right)
{
    const fsim_trace_launch *x = left, *y = right;
    if (x->launched_us != y->launched_us)
        return x->launched_us < y->launched_us ? -1 : 1;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static int by_step_start(const void *left, const void *right)
{
    const fsim_trace_step *x = left, *y = right;
    return x->start_us < y->start_us ? -1 : x->start_us > y->start_us;
}

void fsim_trace_link(fsim_trace *r, fsim_arena *a, fsim_profile *out)
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
    out->launch = fsim_new(a, fsim_profiled_launch, r->launches + 1);
    out->launches = r->launches;
    out->timeline = true;
    for (int i = 0; i < r->launches; i++)
        out->launch[i] = r->launch[i].launch;
}
