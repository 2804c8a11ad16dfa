/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/price/parallel.h"

#include "cost/collective.h"
#include "plan/price/memory.h"
#include "plan/price/phases.h"
#include <math.h>
#include <stdlib.h>

const char *const fsim_collective_names[FSIM_COLLECTIVES] = {"all_reduce", "reduce_scatter", "all_gather"};

/* torch.nn.parallel.DistributedDataParallel: sizes at which a bucket is closed. */
#define FIRST_BUCKET_BYTES ((int64_t)1 << 20)
#define BUCKET_BYTES       ((int64_t)25 << 20)

/* A weight, its gradient, and the kernel that makes it. */
typedef struct {
    int weight, gradient, kernel, node;
} item;

/* Weights that are gathered together, or gradients that are reduced together. */
typedef struct {
    int count, room, *tensor;
    int64_t bytes;
    int kernel; /* gathered before it, or ready behind it */
    fsim_phase phase;
    fsim_dtype dtype;
    fsim_sum end;
} bunch;

typedef struct {
    const fsim_graph *g;
    const fsim_plan *plan;
    const fsim_hw *hw;
    fsim_replicas how;
    fsim_arena *a;
    fsim_phase *phase;     /* by kernel */
    fsim_sum *start, *end; /* by kernel, ticks from the start of a pass */
    fsim_sum lane, clock;  /* when communication, and computation, have time */
    item *item;
    int items;
    bunch *bucket, *gather;
    int buckets, bucket_room, gathers, gather_room;
    fsim_sum busy;
    fsim_parallel out;
    int room;
} work;

static int passes_of(const fsim_graph *g) { return g->micro_batches > 1 ? (int)g->micro_batches : 1; }

static fsim_sum part_of(const work *w, const fsim_tensor *t)
{
    const int64_t n = w->how.gpus;
    return (fsim_sum)(t->elems / n + (t->elems % n > 0)) * (t->bytes / t->elems);
}

/* What each GPU sends: around a ring, rounded up to bytes. */
static fsim_sum sent_by(const work *w, fsim_collective kind, int64_t bytes)
{
    const fsim_sum times = kind == FSIM_COLLECTIVE_ALL_REDUCE ? 2 : 1, n = w->how.gpus;
    return (times * (n - 1) * bytes + n - 1) / n;
}

static fsim_sum ticks_of(const work *w, fsim_collective kind, int64_t bytes)
{
    const int steps = (kind == FSIM_COLLECTIVE_ALL_REDUCE ? 2 : 1) * (w->how.gpus - 1);
    if (w->how.gpus == 1)
        return 0;
    return fsim_ticks(fsim_stepwise_s(w->hw, steps, (double)sent_by(w, kind, bytes)));
}

/* Runs a collective that may begin at `ready`, behind those before it. Returns its end. */
static fsim_sum exchange(work *w, fsim_collective kind, const bunch *b, fsim_sum ready, fsim_phase phase, bool last)
{
    const fsim_sum start = ready > w->lane ? ready : w->lane, ticks = ticks_of(w, kind, b->bytes);
    w->lane = start + ticks;
    if (w->how.gpus == 1)
        return w->lane;
    w->busy += ticks;
    w->out.calls[kind]++;
    w->out.sent_bytes[kind] += sent_by(w, kind, b->bytes);
    if (last)
        *FSIM_PUSH(w->a, w->out.exchange, w->out.exchanges, w->room) = (fsim_exchange){kind,
                                                                                       phase,
                                                                                       b->count,
                                                                                       b->tensor,
                                                                                       b->bytes,
                                                                                       (double)ready * FSIM_TICK_S,
                                                                                       (double)start * FSIM_TICK_S,
                                                                                       (double)w->lane * FSIM_TICK_S};
    return w->lane;
}

static void put(work *w, bunch *b, int tensor)
{
    *FSIM_PUSH(w->a, b->tensor, b->count, b->room) = tensor;
    b->bytes += w->g->tensor[tensor].bytes;
}

/* In the order in which backward makes them: of one kernel, by primitive, then from the last weight to the first. */
static int by_time(const void *x, const void *y)
{
    const item *a = x, *b = y;
    return a->kernel != b->kernel ? a->kernel - b->kernel
           : a->node != b->node   ? a->node - b->node
                                  : b->weight - a->weight;
}

static int by_kernel(const void *x, const void *y)
{
    const bunch *a = x, *b = y;
    return a->kernel != b->kernel ? a->kernel - b->kernel : a->tensor[0] - b->tensor[0];
}

static void list_gradients(work *w)
{
    const fsim_graph *g = w->g;
    int *made = fsim_new(w->a, int, g->tensors + 1);
    for (int k = 0; k < w->plan->kernels; k++)
        for (int i = 0; i < w->plan->kernel[k].outputs; i++)
            made[w->plan->kernel[k].output[i].tensor] = k;
    w->item = fsim_new(w->a, item, g->gradients + 1);
    for (int i = 0; i < g->gradients; i++) {
        const int t = g->tensor[g->gradient[i].tensor].storage;
        if (g->tensor[g->gradient[i].of].role == FSIM_WEIGHT)
            w->item[w->items++] = (item){g->gradient[i].of, t, made[t], g->tensor[t].producer};
    }
    if (w->items > 1)
        qsort(w->item, (size_t)w->items, sizeof *w->item, by_time);
}

/* A bucket has one dtype and is closed when it has reached its size. */
static void fill_buckets(work *w)
{
    enum { DTYPES = 32 };
    bunch open[DTYPES] = {{0}};
    bool later[DTYPES] = {false};
    for (int i = 0; i < w->items; i++) {
        const fsim_dtype dtype = w->g->tensor[w->item[i].gradient].dtype;
        bunch *b = &open[dtype];
        put(w, b, w->item[i].gradient);
        b->kernel = w->item[i].kernel;
        if (b->bytes < (later[dtype] ? BUCKET_BYTES : FIRST_BUCKET_BYTES))
            continue;
        *FSIM_PUSH(w->a, w->bucket, w->buckets, w->bucket_room) = *b;
        *b = (bunch){0};
        later[dtype] = true;
    }
    for (int t = 0; t < DTYPES; t++)
        if (open[t].count > 0)
            *FSIM_PUSH(w->a, w->bucket, w->buckets, w->bucket_room) = open[t];
    if (w->buckets > 1)
        qsort(w->bucket, (size_t)w->buckets, sizeof *w->bucket, by_kernel);
}

/* ZeRO 3. */

static bool has(const bunch *b, int tensor)
{
    for (int i = 0; i < b->count; i++)
        if (b->tensor[i] == tensor)
            return true;
    return false;
}

/* Weights in the order in which forward reads them, in units of at least BUCKET_BYTES. */
static void gather_forward(work *w)
{
    bool *seen = fsim_new(w->a, bool, w->g->tensors + 1);
    bunch b = {0};
    for (int k = 0; k < w->plan->kernels; k++) {
        const fsim_kernel *x = &w->plan->kernel[k];
        for (int i = 0; i < x->inputs && w->phase[k] == FSIM_FORWARD; i++) {
            const int t = x->input[i].tensor;
            if (w->g->tensor[t].role != FSIM_WEIGHT || seen[t])
                continue;
            seen[t] = true;
            b.kernel = b.count == 0 ? k : b.kernel;
            b.phase = FSIM_FORWARD;
            put(w, &b, t);
        }
        if (b.bytes < BUCKET_BYTES && k + 1 < w->plan->kernels)
            continue;
        if (b.count > 0)
            *FSIM_PUSH(w->a, w->gather, w->gathers, w->gather_room) = b;
        b = (bunch){0};
    }
}

/* The first kernel of backward that reads a weight of the unit or makes its gradient; *last: when all are made. */
static int first_use(const work *w, const bunch *unit, int *last)
{
    int first = w->plan->kernels;
    *last = 0;
    for (int i = 0; i < w->items; i++)
        if (has(unit, w->item[i].weight)) {
            first = w->item[i].kernel < first ? w->item[i].kernel : first;
            *last = w->item[i].kernel > *last ? w->item[i].kernel : *last;
        }
    for (int k = 0; k < first; k++)
        for (int i = 0; i < w->plan->kernel[k].inputs && w->phase[k] == FSIM_BACKWARD && k < first; i++)
            first = has(unit, w->plan->kernel[k].input[i].tensor) ? k : first;
    return first;
}

/* Each unit is gathered again before backward needs it, and its gradients are one bucket. */
static void gather_backward(work *w)
{
    const int units = w->gathers;
    for (int u = 0; u < units; u++) {
        bunch again = w->gather[u], gradients = {.phase = FSIM_BACKWARD};
        again.kernel = first_use(w, &w->gather[u], &gradients.kernel);
        again.phase = FSIM_BACKWARD;
        for (int i = 0; i < w->items; i++)
            if (has(&again, w->item[i].weight))
                put(w, &gradients, w->item[i].gradient);
        if (gradients.count > 0)
            *FSIM_PUSH(w->a, w->bucket, w->buckets, w->bucket_room) = gradients;
        if (again.kernel < w->plan->kernels)
            *FSIM_PUSH(w->a, w->gather, w->gathers, w->gather_room) = again;
    }
    if (w->gathers > 1)
        qsort(w->gather, (size_t)w->gathers, sizeof *w->gather, by_kernel);
    if (w->buckets > 1)
        qsort(w->bucket, (size_t)w->buckets, sizeof *w->bucket, by_kernel);
}

/* One micro-batch: forward and backward. A unit of weights is gathered while the one before it is used. */
static void run_pass(work *w, bool last)
{
    const fsim_collective reduces = w->how.zero > 0 ? FSIM_COLLECTIVE_REDUCE_SCATTER : FSIM_COLLECTIVE_ALL_REDUCE;
    int asked = 0, there = 0, bucket = 0;
    w->lane = w->clock = 0;
    for (int k = 0; k < w->plan->kernels; k++) {
        if (w->phase[k] == FSIM_OPTIMIZER)
            continue;
        for (; there < w->gathers && w->gather[there].kernel <= k; there++) {
            bunch *b = &w->gather[there];
            if (asked == there) {
                b->end = exchange(w, FSIM_COLLECTIVE_ALL_GATHER, b, w->clock, b->phase, last);
                asked++;
            }
            w->clock = b->end > w->clock ? b->end : w->clock;
        }
        w->start[k] = w->clock;
        if (asked == there && asked < w->gathers) {
            bunch *b = &w->gather[asked++];
            b->end = exchange(w, FSIM_COLLECTIVE_ALL_GATHER, b, w->clock, b->phase, last);
        }
        w->end[k] = w->clock += fsim_ticks(w->plan->kernel[k].time_s);
        for (; last && bucket < w->buckets && w->bucket[bucket].kernel <= k; bucket++)
            w->bucket[bucket].end = exchange(w, reduces, &w->bucket[bucket], w->clock, FSIM_BACKWARD, true);
    }
}

/* The update, of a share of the weights where its state is shared out. */
static fsim_sum update_ticks(const work *w)
{
    fsim_sum ticks = 0;
    for (int k = 0; k < w->plan->kernels; k++) {
        const fsim_kernel *x = &w->plan->kernel[k];
        const double whole = x->time_s, launch = fmin(x->time[FSIM_LAUNCH], whole);
        if (w->phase[k] == FSIM_OPTIMIZER)
            ticks += fsim_ticks(w->how.zero > 0 ? launch + (whole - launch) / w->how.gpus : whole);
    }
    return ticks;
}

/* Each GPU gets the weights that the others have updated. */
static void gather_updated(work *w)
{
    for (int b = 0; b < w->buckets; b++) {
        bunch weights = {0};
        for (int i = 0; i < w->items; i++)
            if (has(&w->bucket[b], w->item[i].gradient))
                put(w, &weights, w->item[i].weight);
        exchange(w, FSIM_COLLECTIVE_ALL_GATHER, &weights, w->clock, FSIM_OPTIMIZER, true);
    }
    w->clock = w->lane > w->clock ? w->lane : w->clock;
}

static void run_step(work *w)
{
    const int passes = passes_of(w->g);
    fsim_sum before = 0, update = update_ticks(w);
    const fsim_sum one = fsim_ticks(fsim_step_seconds(w->g, w->plan)) - fsim_ticks(w->plan->phase_s[FSIM_OPTIMIZER]);
    if (passes > 1) { /* the same for each but the last */
        run_pass(w, false);
        before = w->clock * (passes - 1);
        w->busy *= passes - 1;
        for (int i = 0; i < FSIM_COLLECTIVES; i++) {
            w->out.calls[i] *= passes - 1;
            w->out.sent_bytes[i] *= passes - 1;
        }
    }
    run_pass(w, true);
    w->clock = (w->lane > w->clock ? w->lane : w->clock) + update;
    if ((w->how.zero == 1 || w->how.zero == 2) && update > 0)
        gather_updated(w);
    w->out.step_s = (double)(before + w->clock) * FSIM_TICK_S;
    w->out.update_s = (double)update * FSIM_TICK_S;
    w->out.one_step_s = fsim_step_seconds(w->g, w->plan);
    w->out.communication_s = (double)w->busy * FSIM_TICK_S;
    w->out.exposed_s = (double)(before + w->clock - one - update) * FSIM_TICK_S;
}

/* Memory. */

static bool is_state(const work *w, int t)
{
    const fsim_tensor *x = &w->g->tensor[t];
    bool updates = false;
    for (int i = 0; i < x->readers; i++)
        updates = updates || w->g->node[x->reader[i]].phase == FSIM_OPTIMIZER;
    return t >= w->g->own_tensors && x->producer < 0 && x->storage == t && !x->after_outputs && updates;
}

/* What a GPU does not have of the tensors that are shared out from the first kernel to the last. */
static fsim_sum shared_out(work *w)
{
    fsim_sum less = 0;
    fsim_parallel *out = &w->out;
    for (int t = 0; t < w->g->tensors; t++) {
        const fsim_tensor *x = &w->g->tensor[t];
        const bool weight = t < w->g->own_tensors && x->role == FSIM_WEIGHT && x->storage == t && x->readers > 0,
                   state = is_state(w, t);
        const fsim_sum kept = (weight && w->how.zero == 3) || (state && w->how.zero > 0) ? part_of(w, x) : x->bytes;
        if (!weight && !state)
            continue;
        *(weight ? &out->weight_bytes : &out->state_bytes) += kept;
        less += x->bytes - kept;
    }
    for (int i = 0; i < w->items; i++) {
        const fsim_tensor *x = &w->g->tensor[w->item[i].gradient];
        out->gradient_bytes += w->how.zero > 1 && passes_of(w->g) == 1 ? part_of(w, x) : x->bytes;
    }
    return less;
}

/* Gradients that have been reduced before kernel k begins, less the part that stays. */
static fsim_sum reduced_before(const work *w, int k)
{
    fsim_sum less = 0;
    for (int b = 0; b < w->buckets && w->how.zero > 1 && passes_of(w->g) == 1; b++)
        for (int i = 0; i < w->bucket[b].count && w->bucket[b].kernel < k; i++) {
            const fsim_tensor *t = &w->g->tensor[w->bucket[b].tensor[i]];
            if ((w->phase[k] == FSIM_OPTIMIZER || w->bucket[b].end <= w->start[k]) && fsim_taken_bytes(t) > 0)
                less += t->bytes - part_of(w, t);
        }
    return less;
}

static bool uses(const work *w, const bunch *b, int k)
{
    for (int i = 0; i < w->plan->kernel[k].inputs; i++)
        if (has(b, w->plan->kernel[k].input[i].tensor))
            return true;
    return k == b->kernel;
}

/* Whole weights while kernel k runs: those of units that are gathered by its end and used from it on in their phase. */
static fsim_sum gathered_at(const work *w, int k)
{
    fsim_sum bytes = 0;
    for (int j = 0; j < w->gathers && w->phase[k] != FSIM_OPTIMIZER; j++) {
        int last = w->gather[j].kernel;
        for (int x = last; x < w->plan->kernels; x++)
            if (w->phase[x] == w->gather[j].phase && uses(w, &w->gather[j], x))
                last = x;
        const bool asked = w->gather[j].kernel <= k || (j > 0 && w->gather[j - 1].kernel <= k);
        bytes += asked && k <= last ? w->gather[j].bytes : 0;
    }
    return bytes;
}

/* Results that the update hands from kernel to kernel are a share, too: kernel k's part of them is not taken. */
static void find_peak(work *w)
{
    const fsim_memory_step *at = fsim_memory_steps(w->g, w->plan, w->a);
    const fsim_sum less = shared_out(w);
    for (int k = 0; k < w->plan->kernels; k++) {
        const fsim_sum bytes = at[k].live_bytes - less - reduced_before(w, k) + gathered_at(w, k);
        w->out.peak_bytes = bytes > w->out.peak_bytes ? bytes : w->out.peak_bytes;
    }
}

bool fsim_has_weight_gradients(const fsim_graph *g)
{
    for (int i = 0; i < g->gradients; i++)
        if (g->tensor[g->gradient[i].of].role == FSIM_WEIGHT)
            return true;
    return false;
}

fsim_parallel fsim_parallel_of(const fsim_graph *g, const fsim_plan *plan, const fsim_hw *hw, fsim_replicas how,
                               fsim_arena *a)
{
    work w = {.g = g, .plan = plan, .hw = hw, .how = how, .a = a};
    w.phase = fsim_new(a, fsim_phase, plan->kernels + 1);
    w.start = fsim_new(a, fsim_sum, plan->kernels + 1);
    w.end = fsim_new(a, fsim_sum, plan->kernels + 1);
    for (int k = 0; k < plan->kernels; k++)
        w.phase[k] = fsim_phase_of(g, &plan->partition.part[k]);
    list_gradients(&w);
    if (how.zero == 3) {
        gather_forward(&w);
        gather_backward(&w);
    } else {
        fill_buckets(&w);
    }
    run_step(&w);
    find_peak(&w);
    return w.out;
}
