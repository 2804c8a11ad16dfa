/* SPDX-License-Identifier: Apache-2.0 */
#include "report/capacity.h"
#include "report/json_stream.h"
#include "report/machines.h"
#include <math.h>

static void whole_field(FILE *out, const char *before, const char *key, int64_t n)
{
    fprintf(out, "%s\"%s\": %lld", before, key, (long long)n);
}

static void put_load(FILE *out, const fsim_load *l)
{
    static const char *const arrivals[] = {"closed", "poisson", "even", "trace"};
    whole_field(out, ", \"load\": {", "input", l->input);
    whole_field(out, ", ", "output", l->output);
    fsim_json_text(out, ", ", "arrivals", arrivals[l->arrivals]);
    fsim_json_number(out, ", ", "rate_per_s", l->rate);
    whole_field(out, ", ", "concurrency", l->concurrency);
    whole_field(out, ", ", "trace_requests", l->traced);
    putc('}', out);
}

static void put_goals(FILE *out, const fsim_capacity_asked *q)
{
    fputs(", \"goals\": [", out);
    for (int i = 0; i < q->goals; i++) {
        fsim_json_text(out, i ? ", {" : "{", "metric", fsim_gate_metric_of(&q->goal[i])->name);
        fsim_json_number(out, ", ", "limit_s", q->goal[i].limit);
        putc('}', out);
    }
    putc(']', out);
}

static void put_percentiles(FILE *out, const char *key, const fsim_percentiles *p)
{
    fprintf(out, ", \"%s\": {", key);
    fsim_json_number(out, "", "mean", p->mean);
    fsim_json_number(out, ", ", "p50", p->p50);
    fsim_json_number(out, ", ", "p90", p->p90);
    fsim_json_number(out, ", ", "p99", p->p99);
    putc('}', out);
}

static void put_phase(FILE *out, const char *key, const fsim_step_shares *p)
{
    fprintf(out, ", \"%s\": {", key);
    fsim_json_text(out, "", "most", p->by);
    fsim_json_number(out, ", ", "weights", p->weights);
    fsim_json_number(out, ", ", "cache", p->cache);
    fsim_json_number(out, ", ", "products", p->products);
    fsim_json_number(out, ", ", "host", p->host);
    fsim_json_number(out, ", ", "other", p->other);
    putc('}', out);
}

static void put_served(FILE *out, const fsim_option *o)
{
    whole_field(out, ", ", "copies", o->replicas);
    whole_field(out, ", ", "gpus", o->gpus);
    put_percentiles(out, "ttft_s", &o->times.first);
    put_percentiles(out, "tpot_s", &o->times.token);
    put_percentiles(out, "latency_s", &o->times.whole);
    fsim_json_number(out, ", ", "tokens_per_s", o->tokens_s);
    fsim_json_number(out, ", ", "tokens_per_s_per_gpu", o->tokens_s / (double)o->gpus);
    fsim_json_number(out, ", ", "tokens_per_s_per_user", o->user_s);
    fsim_json_number(out, ", ", "running", fsim_option_running(o));
    fsim_json_number(out, ", ", "busy", o->times.busy);
    fsim_json_number(out, ", ", "prompts", o->times.prompts);
    fsim_json_number(out, ", ", "preempted", o->times.given_up);
    fsim_json_number(out, ", ", "usd_per_h", o->usd_h);
    fsim_json_number(out, ", ", "usd_per_million_tokens", o->usd_million);
    fsim_json_number(out, ", ", "watts", o->watts);
    fsim_json_number(out, ", ", "joules_per_token", o->joules);
    put_phase(out, "decode", &o->decode);
    put_phase(out, "prefill", &o->prefill);
}

static void put_memory(FILE *out, const fsim_deployed_memory *m)
{
    fsim_json_number(out, ", \"memory\": {", "capacity_bytes", m->capacity);
    fsim_json_number(out, ", ", "weight_bytes", m->weights);
    fsim_json_number(out, ", ", "cache_bytes", m->cache);
    fsim_json_number(out, ", ", "token_bytes", m->token);
    fsim_json_number(out, ", ", "activation_bytes", m->activations);
    fsim_json_number(out, ", ", "framework_bytes", m->framework + m->collectives);
    putc('}', out);
}

static void put_option(FILE *out, const fsim_option *o)
{
    fsim_json_text(out, "{", "hardware", o->on.hw->name);
    fsim_json_text(out, ", ", "system", o->machine->node ? o->machine->name : NULL);
    whole_field(out, ", ", "tp", o->on.tp);
    whole_field(out, ", ", "ep", o->on.ep);
    whole_field(out, ", ", "pp", o->on.pp);
    whole_field(out, ", ", "step_tokens", o->on.budget);
    fsim_json_text(out, ", ", "weights", fsim_precision_names[o->on.weights]);
    fsim_json_text(out, ", ", "cache", fsim_precision_names[o->on.cache]);
    fsim_json_bool(out, ", ", "fits", o->fits);
    fsim_json_text(out, ", ", "reason", o->reason);
    whole_field(out, ", ", "places", o->places * fsim_deployed_groups(&o->on));
    put_memory(out, &o->memory);
    if (!o->reason)
        put_served(out, o);
    putc('}', out);
}

/* Copies of one kind, for prompts or for new tokens. */
static void put_kind(FILE *out, const char *key, const fsim_option *o, int64_t copies, double busy)
{
    fprintf(out, ", \"%s\": {", key);
    whole_field(out, "", "copies", copies);
    whole_field(out, ", ", "tp", o->on.tp);
    whole_field(out, ", ", "ep", o->on.ep);
    whole_field(out, ", ", "pp", o->on.pp);
    whole_field(out, ", ", "gpus", copies * fsim_deployed_gpus(&o->on));
    whole_field(out, ", ", "places", o->places * fsim_deployed_groups(&o->on));
    fsim_json_number(out, ", ", "busy", busy);
    put_memory(out, &o->memory);
    putc('}', out);
}

/* An option's index, or null. */
static void put_choice(FILE *out, const char *key, int option)
{
    option < 0 ? fprintf(out, ", \"%s\": null", key) : fprintf(out, ", \"%s\": %d", key, option);
}

static void put_range(FILE *out, const char *before, const char *key, double x, double y)
{
    fprintf(out, "%s\"%s\": {", before, key);
    fsim_json_number(out, "", "low", fmin(x, y));
    fsim_json_number(out, ", ", "high", fmax(x, y));
    putc('}', out);
}

/* Figures at the two ends of an interval. */
typedef struct {
    double gpus, tokens_s, usd_h, usd_million, joules;
} end_figures;

#define END_FIGURES(x) (&(end_figures){(double)(x)->gpus, (x)->tokens_s, (x)->usd_h, (x)->usd_million, (x)->joules})

/* Figures with all times at the ends of their interval; an end that is NULL: no number of GPUs meets the goals there.
 * Times are those of as many GPUs as were chosen. */
static void put_interval(FILE *out, const fsim_capacity *x, const fsim_loop_times *t, const end_figures *quick,
                         const end_figures *slow)
{
    const double first = fsim_evidence_factor(fsim_first_evidence(x->asked->model)),
                 token = fsim_evidence_factor(fsim_token_evidence(x->asked->model));
    fsim_json_number(out, "{\"gpus\": {", "low", quick ? quick->gpus : NAN);
    fsim_json_number(out, ", ", "high", slow ? slow->gpus : NAN);
    putc('}', out);
    put_range(out, ", ", "ttft_p99_s", t->first.p99 / first, t->first.p99 * first);
    put_range(out, ", ", "tpot_p99_s", t->token.p99 / token, t->token.p99 * token);
    if (quick && slow) {
        put_range(out, ", ", "tokens_per_s", quick->tokens_s, slow->tokens_s);
        put_range(out, ", ", "usd_per_h", quick->usd_h, slow->usd_h);
        put_range(out, ", ", "usd_per_million_tokens", quick->usd_million, slow->usd_million);
        put_range(out, ", ", "joules_per_token", quick->joules, slow->joules);
    }
    putc('}', out);
}

static void put_apart_intervals(FILE *out, const fsim_capacity *x)
{
    const fsim_disaggregated *q = x->disaggregated_ends.quick, *w = x->disaggregated_ends.slow;
    fputs(", \"intervals\": ", out);
    put_interval(out, x, &x->disaggregated->times, q ? END_FIGURES(q) : NULL, w ? END_FIGURES(w) : NULL);
}

static void put_apart(FILE *out, const fsim_capacity *c)
{
    const fsim_disaggregated *x = c->disaggregated;
    if (!x) {
        fputs(", \"disaggregated\": null", out);
        return;
    }
    fsim_json_text(out, ", \"disaggregated\": {", "hardware", x->prompt->on.hw->name);
    fsim_json_text(out, ", ", "system", x->prompt->machine->node ? x->prompt->machine->name : NULL);
    fsim_json_text(out, ", ", "weights", fsim_precision_names[x->prompt->on.weights]);
    fsim_json_text(out, ", ", "cache", fsim_precision_names[x->prompt->on.cache]);
    whole_field(out, ", ", "gpus", x->gpus);
    put_kind(out, "prompts", x->prompt, x->prompts, x->prompts_busy);
    put_kind(out, "new_tokens", x->token, x->tokens, x->times.busy);
    fsim_json_number(out, ", \"move\": {", "bytes", x->bytes);
    fsim_json_number(out, ", ", "s", x->move_s);
    fsim_json_text(out, ", ", "by", x->near ? "links" : "network");
    putc('}', out);
    fsim_json_number(out, ", ", "waited_s", x->waited_s);
    put_percentiles(out, "ttft_s", &x->times.first);
    put_percentiles(out, "tpot_s", &x->times.token);
    put_percentiles(out, "latency_s", &x->times.whole);
    fsim_json_number(out, ", ", "rate_per_s", x->rate);
    fsim_json_number(out, ", ", "tokens_per_s", x->tokens_s);
    fsim_json_number(out, ", ", "usd_per_h", x->usd_h);
    fsim_json_number(out, ", ", "usd_per_million_tokens", x->usd_million);
    fsim_json_number(out, ", ", "watts", x->watts);
    fsim_json_number(out, ", ", "joules_per_token", x->joules);
    put_apart_intervals(out, c);
    putc('}', out);
}

/* Of each choice its interval; null: there is no such choice. */
static void put_intervals(FILE *out, const fsim_capacity *x)
{
    static const char *const names[FSIM_CHOICES] = {"fewest", "cheapest", "least_energy"};
    const int choice[FSIM_CHOICES] = {x->fewest, x->cheapest, x->coolest};
    for (int i = 0; i < FSIM_CHOICES; i++) {
        const fsim_option *q = x->ends[i].quick, *w = x->ends[i].slow;
        fprintf(out, "%s\"%s\": ", i ? ", " : ", \"intervals\": {", names[i]);
        if (choice[i] < 0)
            fputs("null", out);
        else
            put_interval(out, x, &x->option[choice[i]].times, q ? END_FIGURES(q) : NULL, w ? END_FIGURES(w) : NULL);
    }
    putc('}', out);
}

/* The measured systems that stand behind the figures. */
static void put_evidence(FILE *out, const fsim_model *m)
{
    const struct {
        const char *figure;
        fsim_evidence_kind kind;
    } of[] = {{"ttft", fsim_first_evidence(m)}, {"tpot", fsim_token_evidence(m)}, {"rate", fsim_rate_evidence(m)}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const fsim_evidence *e = &fsim_evidences[of[i].kind];
        fsim_json_text(out, i ? ", {" : ", \"evidence\": [{", "figure", of[i].figure);
        fsim_json_text(out, ", ", "kind", e->title);
        whole_field(out, ", ", "rows", e->rows);
        fsim_json_number(out, ", ", "median_error", e->median);
        fsim_json_number(out, ", ", "factor", fsim_evidence_factor(of[i].kind));
        putc('}', out);
    }
    putc(']', out);
}

void fsim_json_capacity(FILE *out, const fsim_capacity *x)
{
    const fsim_capacity_asked *q = x->asked;
    fputs("{\"schema\": 1", out);
    fsim_json_text(out, ", ", "fusesim", fsim_version());
    fsim_json_text(out, ", ", "model", q->model->name);
    fsim_json_text(out, ", ", "engine", q->engine->words);
    put_load(out, q->load);
    put_goals(out, q);
    fputs(", ", out);
    fsim_json_machines(out, q->on, q->ons);
    put_choice(out, "fewest", x->fewest);
    put_choice(out, "cheapest", x->cheapest);
    put_choice(out, "least_energy", x->coolest);
    put_intervals(out, x);
    fsim_json_text(out, ", ", "one_copy_fewer", x->fewer);
    fsim_json_number(out, ", ", "one_copy_fewer_needs", x->fewest < 0 ? NAN : x->needed);
    fputs(", \"fused\": ", out);
    x->fused ? put_option(out, x->fused) : (void)fputs("null", out);
    put_apart(out, x);
    put_evidence(out, q->model);
    fprintf(out, ", \"steps\": %d, \"options\": [", x->steps);
    for (int i = 0; i < x->options; i++) {
        fputs(i ? ",\n" : "\n", out);
        put_option(out, &x->option[i]);
    }
    fputs("\n], \"front\": [", out);
    for (int i = 0; i < x->fronts; i++) {
        const fsim_front_point *p = &x->front[i];
        whole_field(out, i ? ",\n{" : "\n{", "option", p->option);
        whole_field(out, ", ", "requests", p->batch);
        fsim_json_number(out, ", ", "tokens_per_s_per_gpu", p->gpu_s);
        fsim_json_number(out, ", ", "tokens_per_s_per_user", p->user_s);
        putc('}', out);
    }
    fputs("\n]}\n", out);
}
