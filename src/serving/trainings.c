/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/trainings.h"

#include "serving/constants.h"
#include "serving/evidence.h"
#include <math.h>

/* 1, 2, 4, 8 GPUs a layer; micro-batches of 1 to 16 sequences, and not many more tokens than that. */
enum { TPS = 4, MICROS = 5, MOST_TOKENS = 65536 };

double fsim_training_spread(void) { return fsim_evidence_factor(FSIM_EVIDENCE_TRAINING); }

typedef struct {
    const fsim_trainings_asked *q;
    fsim_training training;
    fsim_layer_price (*price)[TPS][MICROS]; /* of each kind of GPU */
    fsim_trainings *out;
    const char *fault; /* why some step has no price; NULL */
    bool unpriced;     /* of the GPUs at hand: a way there is has none */
} search;

/* GPUs that may share a layer: of one node. */
static int64_t sharing(const fsim_machine *on) { return on->shared < on->gpus ? on->shared : on->gpus; }

static void fill_prices(search *s)
{
    for (int k = 0; k < s->q->ons; k++)
        for (int t = 0; t < TPS; t++)
            for (int m = 0; m < MICROS; m++) {
                const fsim_sharing w = {.tp = 1 << t, .pp = 1, .dp = 1, .chunks = 1, .micro = 1 << m, .batch = 1 << m};
                if (w.tp <= sharing(&s->q->on[k]) && w.micro <= MOST_TOKENS / s->q->length + 1 &&
                    fsim_is_way(&s->training, &w))
                    s->price[k][t][m] = fsim_layer_priced(&s->training, s->q->on[k].hw, w.tp, w.micro);
            }
}

/* Is it a better answer than the best so far, where there is one? One that fits beats one that does not. */
static bool is_better(const fsim_trained_on *best, const fsim_trained_memory *memory, double step_s)
{
    if (!best->way.tp || memory->fits != best->memory.fits)
        return !best->way.tp || memory->fits;
    return memory->fits ? step_s < best->time.step : memory->all < best->memory.all;
}

static void try_way(search *s, fsim_trained_on *best, const fsim_sharing *w, const fsim_layer_price *price)
{
    const fsim_machine *on = &s->q->on[best->on];
    if (w->batch == 0 || !fsim_is_way(&s->training, w))
        return;
    if (!(price->both_s > 0 && isfinite(price->both_s + price->head_s))) {
        s->unpriced = s->unpriced || isnan(price->both_s + price->head_s);
        return;
    }
    const fsim_trained_memory memory = fsim_trained_memory_of(&s->training, on, w);
    const fsim_trained_time time = fsim_trained_time_of(&s->training, on, w, price);
    s->out->ways++;
    if (isfinite(time.step) && is_better(best, &memory, time.step)) {
        best->way = *w;
        best->memory = memory;
        best->time = time;
    }
}

/* Sequences of a step that so many at once share out: those asked for, or where about as many will do and they do not,
 * the nearest multiple; 0: it is too far. */
static int64_t batch_of(const fsim_trainings_asked *q, int64_t at_once)
{
    enum { NEAR = 8 }; /* an eighth of it */
    const int64_t near = (q->batch + at_once / 2) / at_once * at_once;
    const int64_t apart = near > q->batch ? near - q->batch : q->batch - near;
    return q->batch % at_once == 0 ? q->batch : q->about && near > 0 && NEAR * apart <= q->batch ? near : 0;
}

/* All ways to share GPUs among layers, stages and copies. */
static void try_ways(search *s, fsim_trained_on *best)
{
    enum { MOST_STAGES = 64, MOST_CHUNKS = 8 };
    for (int t = 0; t < TPS && 1 << t <= best->gpus && 1 << t <= sharing(&s->q->on[best->on]); t++)
        for (int64_t pp = 1; pp <= MOST_STAGES && best->gpus % (pp << t) == 0; pp *= 2)
            for (int m = 0; m < MICROS; m++)
                for (int64_t chunks = 1; chunks <= (pp > 1 ? MOST_CHUNKS : 1); chunks++)
                    for (int i = 0; i < 4; i++) { /* with and without computing again, and with shared weights */
                        fsim_sharing w = {.tp = 1 << t, .pp = pp, .dp = best->gpus / (pp << t), .chunks = chunks};
                        w.micro = 1 << m;
                        w.batch = batch_of(s->q, w.dp * w.micro);
                        w.again = i & 1;
                        w.zero = w.dp == 1 ? 0 : i & 2 ? 3 : 1;
                        if ((w.again || !s->q->again) && (i < 2 || (w.dp > 1 && pp == 1)))
                            try_way(s, best, &w, &s->price[best->on][t][m]);
                    }
}

/* What it means for the whole training. */
static void conclude(const search *s, fsim_trained_on *x)
{
    const fsim_trainings_asked *q = s->q;
    const fsim_machine *on = &q->on[x->on];
    const double hour_s = 3600, gpus = (double)x->gpus, tokens = (double)(q->length * x->way.batch);
    if (!x->way.tp)
        x->reason = s->fault && s->unpriced ? fsim_printf(s->training.arena, "a step can't be priced: %s", s->fault)
                                            : "no way to share the layers, heads and sequences";
    else if (!x->memory.fits)
        x->reason = "does not fit";
    if (x->reason)
        return;
    x->tokens_s = tokens / x->time.step;
    x->mfu = x->tokens_s * fsim_model_flops(&s->training) / (gpus * fsim_hw_peak(on->hw, FSIM_HW_TENSOR_BF16));
    x->train_s = q->tokens / x->tokens_s;
    x->usd = on->price.value * gpus * x->train_s / hour_s;
    const double work = (x->time.layers + x->time.again + x->time.head) / x->time.step;
    const double limit = fsim_hw_get(on->hw, FSIM_HW_POWER_LIMIT);
    x->joules =
        (limit * (work * prompt_power + (1 - work) * decode_power) + fsim_machine_rest_w(on)) * gpus * x->train_s;
    x->in_time = isnan(q->deadline_s) || x->train_s <= q->deadline_s;
}

/* The one in time with the least of a measure; -1: none has it. */
static int least(const fsim_trainings *out, double (*measure)(const fsim_trained_on *x))
{
    int best = -1;
    for (int i = 0; i < out->count; i++) {
        const fsim_trained_on *x = &out->at[i];
        const double value = measure(x);
        if (x->reason || !x->in_time || isnan(value))
            continue;
        if (best < 0 || value < measure(&out->at[best]) ||
            (value == measure(&out->at[best]) && x->train_s < out->at[best].train_s))
            best = i;
    }
    return best;
}

/* The fastest way of so many GPUs of a kind. */
static fsim_trained_on trained_on(search *s, int on, int64_t gpus)
{
    fsim_trained_on x = {.on = on, .gpus = gpus, .usd = NAN, .joules = NAN};
    s->unpriced = false;
    try_ways(s, &x);
    conclude(s, &x);
    return x;
}

/* The fewest whole nodes in time that are less than `enough` GPUs and more than half of them: in large steps first. */
static void add_fewer(search *s, int on, int64_t enough)
{
    enum { STEPS = 16 };
    const int64_t node = s->q->on[on].gpus;
    int64_t low = enough / 2, high = enough;
    fsim_trained_on best = {.reason = "none"};
    for (int64_t step = (enough / 2 / STEPS + node - 1) / node * node; low >= node; step = node) {
        for (int64_t gpus = (low / step + 1) * step; gpus < high; gpus += step) {
            const fsim_trained_on x = trained_on(s, on, gpus);
            if (x.reason || !x.in_time)
                continue;
            best = x;
            low = gpus - step;
            high = gpus;
        }
        if (step == node)
            break;
    }
    if (!best.reason)
        s->out->at[s->out->count++] = best;
}

static double gpus_of(const fsim_trained_on *x) { return (double)x->gpus; }
static double usd_of(const fsim_trained_on *x) { return x->usd; }
static double joules_of(const fsim_trained_on *x) { return x->joules; }
static double seconds_of(const fsim_trained_on *x) { return x->train_s; }

bool fsim_trainings_find(const fsim_trainings_asked *q, const fsim_folders *where, int jobs, fsim_arena *a,
                         fsim_diag *d, fsim_trainings *out)
{
    enum { MOST_DOUBLINGS = 24 + 1 };
    search s = {.q = q,
                .training = {q->model, q->length, q->batch, fsim_priced_steps_new(a, NULL), a},
                .price = fsim_alloc(a, (size_t)q->ons + 1, sizeof *s.price),
                .out = out};
    *out = (fsim_trainings){.asked = q, .at = fsim_new(a, fsim_trained_on, q->ons * MOST_DOUBLINGS + 1)};
    for (int pass = 0; pass < 2; pass++) {
        fill_prices(&s);
        if (!fsim_price_steps(s.training.steps, where, jobs, d))
            return false;
    }
    out->steps = fsim_priced_steps_count(s.training.steps);
    s.fault = fsim_steps_fault(s.training.steps);
    for (int k = 0; k < q->ons; k++) {
        bool met = false; /* the deadline, by a number of GPUs before */
        for (int64_t gpus = 1; gpus <= q->most_gpus && (gpus <= q->on[k].gpus || q->on[k].node); gpus *= 2) {
            const fsim_trained_on x = trained_on(&s, k, gpus);
            if (!x.reason && x.in_time && !met && !isnan(q->deadline_s))
                add_fewer(&s, k, gpus);
            met = met || (!x.reason && x.in_time);
            out->at[out->count++] = x;
        }
    }
    out->fewest = least(out, gpus_of);
    out->cheapest = least(out, usd_of);
    out->coolest = least(out, joules_of);
    out->fastest = least(out, seconds_of);
    return true;
}
