/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/options.h"

#include "serving/constants.h"
#include <math.h>
#include <string.h>

typedef struct {
    const fsim_capacity_asked *q;
    fsim_arena *arena;
    fsim_option *option;
    int options;
} adding;

/* Memory, and whether it leaves place for a request. */
static void place(fsim_option *x)
{
    x->memory = fsim_deployed_memory_of(&x->on, x->on.budget);
    x->places = fsim_places(&x->on, &x->memory);
    x->fits = x->memory.cache >= x->memory.token * (double)(x->on.input + x->on.output) && x->places > 0;
    x->reason = x->fits ? NULL : "does not fit";
}

static bool has_f8(const fsim_hw *hw) { return fsim_hw_has(hw, FSIM_HW_TENSOR_F8); }

/* Does the GPU have what the precisions need? Caches of 8 bits belong to weights of at most as many. */
static bool may_store(const fsim_capacity_asked *q, const fsim_hw *hw, fsim_precision weights, fsim_precision cache)
{
    if (!q->weights[weights] || !q->caches[cache])
        return false;
    return (weights != FSIM_8_BITS || has_f8(hw)) && (cache == FSIM_16_BITS || (weights != FSIM_16_BITS && has_f8(hw)));
}

/* TensorRT-LLM is for NVIDIA's GPUs, from Volta on; vLLM for theirs and AMD's. Both have builds for other devices, of
 * which nothing is known here. */
static bool runs_engine(const fsim_hw *hw, const fsim_engine *engine)
{
    const fsim_design d = hw->arch->design;
    return strncmp(engine->words, "vllm", 4) == 0 || (d != FSIM_CDNA && d != FSIM_OTHER && d != FSIM_CPU);
}

/* How a copy's GPUs share the model. */
typedef struct {
    int64_t tp, ep, pp;
} sharing;

/* stored: of weights and of the cache. */
static void add_option(adding *s, const fsim_machine *machine, const fsim_precision stored[2], sharing by)
{
    const fsim_hw *hw = machine->hw;
    const fsim_capacity_asked *q = s->q;
    fsim_option x = {
        .machine = machine,
        .on = {.model = q->model,
               .engine = q->engine,
               .hw = hw,
               .hw_name = hw->name,
               .dtype = strcmp(q->model->dtype, "f16") == 0 || !fsim_hw_has(hw, FSIM_HW_TENSOR_BF16) ? "f16" : "bf16",
               .weights = stored[0],
               .cache = stored[1],
               .tp = by.tp,
               .ep = by.ep,
               .pp = by.pp,
               .budget = q->engine->tokens,
               .near = machine->gpus,
               .network = fsim_machine_network(machine),
               .input = q->load->input,
               .output = q->load->output,
               .arena = s->arena}};
    if (!runs_engine(hw, q->engine) || fsim_unshared(q->model, by.tp, by.ep, s->arena) || q->model->layers < by.pp ||
        fsim_deployed_gpus(&x.on) > q->most_gpus)
        return;
    place(&x);
    if (x.fits && fsim_deployed_nodes(&x.on) > 1 && isnan(x.on.network))
        x.reason = "it spans nodes, and no network between them is known ('network' in the system's file)";
    s->option[s->options++] = x;
}

/* May n GPUs that share each layer be a stage of pp? Inside a node they may; nodes are stages as a whole, where the
 * network between them is known. What is asked for may span nodes in any way. */
static bool may_be_stage(const adding *s, const fsim_machine *machine, int64_t n, int64_t pp)
{
    enum { MOST_NODES = 4 };
    if (s->q->stages)
        return pp == s->q->stages;
    return pp == 1 || n * pp <= machine->gpus ||
           (n == machine->gpus && pp <= MOST_NODES && !isnan(fsim_machine_network(machine)));
}

/* All ways to share the layers. */
static void add_sharing(adding *s, const fsim_machine *machine, const fsim_precision stored[2], int64_t pp)
{
    const fsim_model *m = s->q->model;
    for (int64_t n = 1; n <= machine->shared; n *= 2) {
        if (!may_be_stage(s, machine, n, pp))
            continue;
        add_option(s, machine, stored, m->kv_lora ? (sharing){1, n, pp} : (sharing){n, 1, pp});
        if (!m->kv_lora && m->experts && n > 1)
            add_option(s, machine, stored, (sharing){n, n, pp});
    }
}

static void add_options(adding *s)
{
    const fsim_capacity_asked *q = s->q;
    enum { SHARES = 12, STAGES = 8, MOST_EACH = 3 * 2 * SHARES * STAGES * FSIM_STORED * FSIM_STORED };
    const int64_t first = q->stages ? q->stages : 1, last = q->stages ? q->stages : 1 << (STAGES - 1);
    s->option = fsim_new(s->arena, fsim_option, q->ons * MOST_EACH + 1);
    for (int h = 0; h < q->ons; h++)
        for (int64_t pp = first; pp <= last; pp *= 2)
            for (fsim_precision w = 0; w < FSIM_STORED; w++)
                for (fsim_precision c = 0; c < FSIM_STORED; c++)
                    if (may_store(q, q->on[h].hw, w, c))
                        add_sharing(s, &q->on[h], (fsim_precision[]){w, c}, pp);
}

int fsim_options_of(const fsim_capacity_asked *q, fsim_arena *a, fsim_option **out)
{
    adding s = {.q = q, .arena = a};
    add_options(&s);
    *out = s.option;
    return s.options;
}

fsim_option fsim_option_in_chunks(const fsim_option *x, int64_t budget)
{
    fsim_option y = {.on = x->on, .machine = x->machine};
    y.on.budget = budget;
    place(&y);
    return y;
}

bool fsim_loop_is_priced(const fsim_loop *l)
{
    bool ok = l->alone_s > 0 && isfinite(l->alone_s) && isfinite(l->beside_s);
    for (int i = 0; i < l->points; i++)
        ok = ok && l->decode_s[i] > 0 && isfinite(l->decode_s[i]) && isfinite(l->stage_s[i]);
    return ok;
}

bool fsim_option_is_priced(const fsim_option *x)
{
    return x->fits && fsim_loop_is_priced(&x->loop) && (!x->reason || x->fault); /* a fault is a goal that fails */
}

double fsim_option_running(const fsim_option *x) { return x->times.running * fsim_option_parts(x) * x->filled; }

double fsim_option_batch(const fsim_option *x) { return fsim_loop_batch(&x->loop, x->times.running); }

double fsim_option_parts(const fsim_option *x) { return (double)fsim_deployed_groups(&x->on); }

/* The first goal that fails; NULL: all hold. */
const fsim_gate *fsim_goal_failing(const fsim_capacity_asked *q, const fsim_loop_times *t)
{
    for (int i = 0; i < q->goals; i++)
        if (fsim_goal_value(&q->goal[i], t) > q->goal[i].limit)
            return &q->goal[i];
    return NULL;
}

/* Power of a GPU (idle, and work by its kind, within the board's limit), and of what is around it in its node. */
double fsim_watts_of(const fsim_machine *machine, const fsim_loop_times *t)
{
    const fsim_hw *hw = machine->hw;
    if (!fsim_hw_has(hw, FSIM_HW_POWER_LIMIT))
        return NAN;
    const double work = t->prompts * prompt_power + (1 - t->prompts) * decode_power;
    return fsim_hw_get(hw, FSIM_HW_POWER_LIMIT) * ((1 - t->busy) * idle_power + t->busy * work) +
           fsim_machine_rest_w(machine);
}
