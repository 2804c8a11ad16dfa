/* SPDX-License-Identifier: Apache-2.0 */
#include "serving/predict.h"

#include "evidence/step.h"
#include "serving/batching.h"
#include "serving/constants.h"
#include "serving/evidence.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a row may say, and what is predicted of it, by mode. */
static const struct {
    fsim_system_mode mode;
    const char *metric, *unit;
} figures[] = {{FSIM_SYSTEM_STATIC, "output tokens per second per GPU", "1/s"},
               {FSIM_SYSTEM_PREFILL, "time to first token", "s"},
               {FSIM_SYSTEM_MAXIMUM, "output tokens per second", "1/s"},
               {FSIM_SYSTEM_MAXIMUM, "output tokens per second per GPU", "1/s"},
               {FSIM_SYSTEM_FIXED, "mean time to first token", "s"},
               {FSIM_SYSTEM_FIXED, "mean time per output token", "s"},
               {FSIM_SYSTEM_TRAINING, "tokens per second per GPU", "1/s"},
               {FSIM_SYSTEM_TRAINING, "seconds per global batch", "s"}};

/* Why the row is no figure of a system; NULL: it is one. In a. */
static const char *misstated(const fsim_system *r, fsim_arena *a)
{
    static const char *const known[] = {"", "bf16", "f16", "f8e4m3", "nvfp4"};
    enum { KNOWN = sizeof known / sizeof *known };
    bool weights = false, cache = false, metric = false;
    const char *wanted = "";
    for (int i = 0; i < KNOWN; i++) {
        weights = weights || (i > 0 && strcmp(r->precision, known[i]) == 0);
        cache = cache || (strcmp(r->kv_precision, known[i]) == 0 && strcmp(known[i], "nvfp4") != 0);
    }
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (figures[i].mode == r->mode) {
            metric = metric || (strcmp(r->metric, figures[i].metric) == 0 && strcmp(r->unit, figures[i].unit) == 0);
            wanted =
                fsim_printf(a, "%s%s'%s' in %s", wanted, *wanted ? " or " : "", figures[i].metric, figures[i].unit);
        }
    if (r->fault)
        return r->fault;
    if (!metric)
        return fsim_printf(a, "'%s' in %s is not predicted of mode '%s': %s is", r->metric, r->unit,
                           fsim_system_mode_names[r->mode], wanted);
    if (!weights || !cache)
        return fsim_printf(a, "no precision '%s' is known: bf16, f16, f8e4m3%s",
                           weights ? r->kv_precision : r->precision, weights ? "" : ", nvfp4");
    if (r->tp * r->pp > r->gpus || r->dp > r->gpus || r->ep > r->gpus ||
        (r->tp && r->pp && r->dp && r->tp * r->pp * r->dp != r->gpus))
        return fsim_printf(a, "tp %lld, pp %lld, dp %lld and ep %lld are not %lld GPU%s", (long long)r->tp,
                           (long long)r->pp, (long long)r->dp, (long long)r->ep, (long long)r->gpus,
                           r->gpus == 1 ? "" : "s");
    return NULL;
}

/* The precision of the words of a row; 16 bits where they say nothing. */
static fsim_precision precision_of(const char *words)
{
    return strcmp(words, "f8e4m3") == 0 ? FSIM_8_BITS : strcmp(words, "nvfp4") == 0 ? FSIM_4_BITS : FSIM_16_BITS;
}

static double decode_s(const fsim_serving *s, int64_t requests, double cached)
{
    return fsim_decode_s(&s->on, requests, cached);
}

/* Requests of a batch, where stages have as many batches under way as there are stages. */
static int64_t batch_of(const fsim_serving *s, int64_t requests) { return (requests + s->on.pp - 1) / s->on.pp; }

/* The share of a prompt's seconds that is the fullest stage's. */
static double prompt_share(const fsim_serving *s)
{
    return (double)fsim_stage_layers(&s->on) / (double)s->on.model->layers;
}

/* Tokens a second and GPU: a prefill of the batch, in as many steps as its tokens need, then decodes. */
static double static_batch(const fsim_serving *s)
{
    const fsim_system *r = s->row;
    const int64_t together = fsim_prompts_a_step(&s->on, r->batch), in = batch_of(s, r->batch);
    const double steps = (double)r->batch / (double)together, share = prompt_share(s);
    const double first = fsim_prefill_s(&s->on, together, r->input) * (steps * share + 1 - share);
    double step = fsim_host_s(&s->on), stage = 0;
    for (int i = 1; i <= 3; i += 2) { /* at a quarter and three quarters of the output: the time is linear in it */
        const double cached = (double)r->input + i * (double)r->output / 4;
        step += decode_s(s, in, cached) / 2;
        stage += s->on.pp > 1 ? fsim_decode_stage_s(&s->on, in, cached) / 2 : 0;
    }
    step = fmax(step, (double)((r->batch + in - 1) / in) * stage);
    return (double)(r->batch * r->output) / (first + (double)r->output * step) / (double)r->gpus;
}

static double first_token(const fsim_serving *s)
{
    return fsim_prefill_s(&s->on, 1, s->row->input) + fsim_host_s(&s->on) + s->on.engine->first_s;
}

/* Tokens a second with as many requests as the memory has place for, in a steady state: every step has a token of each,
 * and the share of a prompt that its request pays for with each token. */
static double maximum_load(const fsim_serving *s, fsim_system_answer *x)
{
    const fsim_system *r = s->row;
    const double cached = (double)r->input + (double)r->output / 2;
    const int64_t copies = r->gpus / (r->tp * s->on.pp); /* attention data parallel */
    const double ranks = (double)(copies > 1 ? copies : 1);
    x->requests = fmax(1, (double)fsim_places(&s->on, &s->memory));
    const double in = fmax(1, x->requests / (double)s->on.pp);
    int64_t below = 1; /* priced at powers of 2, and between them on a straight line */
    while (2 * below <= (int64_t)in)
        below *= 2;
    fsim_loop l = {.points = 2,
                   .running = {(double)below, 2 * (double)below},
                   .beside_s = fsim_prompt_beside_s(&s->on, below, cached),
                   .host_s = fsim_host_s(&s->on),
                   .stages = s->on.pp,
                   .prompt_share = prompt_share(s)};
    for (int i = 0; i < l.points; i++) {
        l.decode_s[i] = decode_s(s, (int64_t)l.running[i], cached);
        l.stage_s[i] = s->on.pp > 1 ? fsim_decode_stage_s(&s->on, (int64_t)l.running[i], cached) : 0;
    }
    const double rate = ranks * x->requests / fsim_loop_round_s(&l, x->requests, x->requests / (double)r->output);
    return strstr(r->metric, "per GPU") ? rate / (double)r->gpus : rate;
}

static double fixed_concurrency(const fsim_serving *s, fsim_system_answer *x)
{
    enum { POINTS = 3 };
    const fsim_system *r = s->row;
    const double cached = (double)r->input + (double)r->output / 2;
    const int64_t in = batch_of(s, r->batch), at[POINTS] = {1, in > 4 ? in / 4 : 1, in};
    const fsim_let_in let_in = fsim_let_in_of(&s->on, &s->memory);
    fsim_loop l = {.points = POINTS,
                   .slots = r->batch,
                   .requests = r->batch * REQUESTS_A_SLOT,
                   .input = r->input,
                   .output = r->output,
                   .tokens = s->on.budget,
                   .most = let_in.requests > 1 ? let_in.requests : 1,
                   .cache_tokens = let_in.tokens,
                   .shortest = shortest_request,
                   .longest = 1,
                   .alone_s = fsim_prefill_s(&s->on, 1, r->input),
                   .beside_s = fsim_prompt_beside_s(&s->on, in, cached),
                   .host_s = fsim_host_s(&s->on),
                   .first_s = s->on.engine->first_s,
                   .stages = s->on.pp,
                   .prompt_share = prompt_share(s)};
    for (int i = 0; i < POINTS; i++) {
        l.running[i] = (double)at[i];
        l.decode_s[i] = decode_s(s, at[i], cached);
        l.stage_s[i] = s->on.pp > 1 ? fsim_decode_stage_s(&s->on, at[i], cached) : 0;
    }
    const double copies = fmax(1, (double)(r->gpus / (r->tp * s->on.pp))); /* attention data parallel */
    x->places = copies * fmax(1, (double)fsim_places(&s->on, &s->memory));
    x->prompt_tokens = copies * (double)l.tokens;
    x->requests = (double)r->batch;
    const fsim_loop_times t = fsim_continuous_batching(&l, s->on.arena);
    return strstr(r->metric, "first token") ? t.first_s : t.token_s;
}

/* experts: has its model any? */
static double spread_of(const fsim_system *row, bool experts)
{
    static const fsim_evidence_kind kind[FSIM_SYSTEM_MODES][2] = {
        [FSIM_SYSTEM_STATIC] = {FSIM_EVIDENCE_STATIC, FSIM_EVIDENCE_STATIC},
        [FSIM_SYSTEM_PREFILL] = {FSIM_EVIDENCE_PREFILL, FSIM_EVIDENCE_PREFILL},
        [FSIM_SYSTEM_MAXIMUM] = {FSIM_EVIDENCE_MAXIMUM, FSIM_EVIDENCE_MAXIMUM_EXPERTS},
        [FSIM_SYSTEM_FIXED] = {FSIM_EVIDENCE_TOKEN, FSIM_EVIDENCE_TOKEN_EXPERTS},
        [FSIM_SYSTEM_TRAINING] = {FSIM_EVIDENCE_TRAINING, FSIM_EVIDENCE_TRAINING}};
    if (row->mode == FSIM_SYSTEM_FIXED && strstr(row->metric, "first token"))
        return fsim_evidence_factor(experts ? FSIM_EVIDENCE_FIRST_EXPERTS : FSIM_EVIDENCE_FIRST);
    return fsim_evidence_factor(kind[row->mode][experts]);
}

/* The number behind `word` in notes; `otherwise` where it is not there. */
static long number_behind(const char *notes, const char *word, long otherwise)
{
    const char *at = strstr(notes, word);
    return at ? strtol(at + strlen(word), NULL, 10) : otherwise;
}

/* Tokens a second and GPU of a training that evidence/step.h can price. */
static double training(const fsim_system *r, fsim_priced_steps *steps, fsim_arena *a, const char **reason)
{
    char *workload = fsim_printf(a, "models/%s", r->model);
    for (char *c = workload; *c; c++)
        *c = *c == ' ' ? '-' : (char)tolower((unsigned char)*c);
    const char *size;
    fsim_sized_model(workload, true, &size);
    if (*size == '\0')
        *reason = "no workload of its size trains this architecture";
    else if (r->tp > 1 || r->pp > 1)
        *reason = "tensor and pipeline parallel training are not priced";
    else if (strcmp(r->precision, "bf16") != 0 && strcmp(r->precision, "f16") != 0)
        *reason = "training in 8 bits is not priced";
    if (*reason)
        return NAN;
    const long micro = number_behind(r->notes, "micro batch ", 1), sums = number_behind(r->notes, "accumulation ", 1);
    const char *set =
        fsim_printf(a, "S=%ld;gpus=%ld;microbatch=%ld;accumulate=%ld;dtype=amp_%s;sharding=%s;checkpoint=%s",
                    (long)r->input, (long)r->gpus, micro, sums, r->precision[0] == 'b' ? "bf16" : "fp16",
                    strstr(r->notes, "NO_SHARD") ? "NO_SHARD" : "FULL_SHARD",
                    strstr(r->notes, "checkpointing True") ? "True" : "False");
    const double step = fsim_training_step_s(steps, r->hw, workload, set);
    if (strcmp(r->unit, "s") == 0) /* of a global batch */
        return r->batch ? (double)r->batch / (double)(r->gpus * micro * sums) * step : NAN;
    return (double)(micro * sums * r->input) / step;
}

/* Why a served row can't be predicted; NULL: it can. */
static const char *refusal(const fsim_serving *s, fsim_arena *a)
{
    const fsim_system *r = s->row;
    const fsim_model *m = s->on.model;
    if (!m) {
        const char *const *names;
        const int count = fsim_model_names(&names);
        return fsim_printf(a, "no model '%s' is known%s", r->model,
                           fsim_did_you_mean(a, fsim_model_key(a, r->model), names, count));
    }
    if (!s->on.engine)
        return "the source names no serving program that is known: TensorRT-LLM, trtllm or vllm";
    if (r->pp > m->layers)
        return fsim_printf(a, "%lld layers can't be divided into %lld stages", (long long)m->layers, (long long)r->pp);
    if (r->input == 0 || r->output == 0)
        return "the lengths of input and output are not stated";
    if (r->batch == 0 && r->mode != FSIM_SYSTEM_MAXIMUM)
        return "the batch is not stated";
    const char *why = fsim_unserved(m, a);
    return why ? why : fsim_unshared(m, s->on.tp, s->on.ep, a);
}

/* What a GPU's memory holds, and whether one request fits beside it. */
static void fill_memory(fsim_serving *s, fsim_system_answer *x)
{
    const fsim_system *r = s->row;
    s->memory = fsim_deployed_memory_of(&s->on, r->mode == FSIM_SYSTEM_PREFILL ? r->input : s->on.budget);
    x->weight_bytes = s->memory.weights;
    x->token_bytes = s->memory.token;
    x->left_bytes = s->memory.cache;
    x->judged = true;
    x->fits = s->memory.cache >= s->memory.token * (double)(r->input + r->output);
}

static double served(fsim_serving *s, fsim_system_answer *x)
{
    fill_memory(s, x);
    x->requests = (double)s->row->batch;
    switch (s->row->mode) {
    case FSIM_SYSTEM_STATIC:
        return static_batch(s);
    case FSIM_SYSTEM_PREFILL:
        return first_token(s);
    case FSIM_SYSTEM_MAXIMUM:
        return maximum_load(s, x);
    default:
        return fixed_concurrency(s, x);
    }
}

/* The row's model, where it has a name of the table. */
static const fsim_model *model_of(const fsim_system *row, fsim_arena *a)
{
    const char *const *names, *key = fsim_model_key(a, row->model);
    const int count = fsim_model_names(&names);
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], key) == 0)
            return fsim_model_load(a, fsim_diag_new(a), key);
    return NULL;
}

fsim_system_answer fsim_system_predict(const fsim_system *row, const fsim_hw *hw, fsim_priced_steps *steps,
                                       fsim_arena *a)
{
    fsim_system own = *row;
    fsim_system_answer x = {.predicted = NAN, .low = NAN, .high = NAN};
    const fsim_engine *engine = fsim_engine_in(row->source);
    if (engine && *row->kv_precision == '\0' && strcmp(row->precision, "f8e4m3") == 0)
        own.kv_precision = engine->cache;
    fsim_serving s = {.row = &own,
                      .on = {.model = model_of(row, a),
                             .engine = engine,
                             .hw = hw,
                             .hw_name = row->hw,
                             .dtype = strcmp(row->precision, "f16") == 0 ? "f16" : "bf16",
                             .weights = precision_of(row->precision),
                             .cache = precision_of(own.kv_precision),
                             .tp = row->tp ? row->tp : 1,
                             .ep = row->ep ? row->ep : 1,
                             .pp = row->pp ? row->pp : 1,
                             .budget = engine ? engine->tokens : 0,
                             .input = row->input,
                             .output = row->output,
                             .steps = steps,
                             .arena = a}};
    x.experts = s.on.model && s.on.model->experts;
    own.tp = s.on.tp;
    own.ep = s.on.ep;
    if ((x.reason = misstated(row, a)))
        ;
    else if (!hw)
        x.reason = fsim_printf(a, "no hardware file is named '%s'", row->hw);
    else if (row->mode == FSIM_SYSTEM_TRAINING)
        x.predicted = training(&own, steps, a, &x.reason);
    else if (!(x.reason = refusal(&s, a)))
        x.predicted = served(&s, &x);
    const char *fault = fsim_steps_fault(steps);
    if (!x.reason && !(x.predicted > 0 && isfinite(x.predicted)))
        x.reason = fault ? fsim_printf(a, "a step can't be priced: %s", fault) : "a step of it can't be priced";
    if (x.reason)
        x.predicted = NAN;
    x.low = x.predicted / spread_of(row, x.experts);
    x.high = x.predicted * spread_of(row, x.experts);
    return x;
}
