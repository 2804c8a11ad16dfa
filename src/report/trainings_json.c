/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_stream.h"
#include "report/machines.h"
#include "report/trainings.h"
#include <math.h>

static void whole_field(FILE *out, const char *before, const char *key, int64_t n)
{
    fprintf(out, "%s\"%s\": %lld", before, key, (long long)n);
}

static void put_way(FILE *out, const fsim_sharing *w)
{
    whole_field(out, ", \"way\": {", "tp", w->tp);
    whole_field(out, ", ", "pp", w->pp);
    whole_field(out, ", ", "dp", w->dp);
    whole_field(out, ", ", "chunks", w->chunks);
    whole_field(out, ", ", "micro_batch", w->micro);
    whole_field(out, ", ", "sequences_a_step", w->batch);
    whole_field(out, ", ", "zero", w->zero);
    fsim_json_bool(out, ", ", "recompute", w->again);
    putc('}', out);
}

static void put_time(FILE *out, const fsim_trained_time *t)
{
    fsim_json_number(out, ", \"step_s\": {", "layers", t->layers);
    fsim_json_number(out, ", ", "recomputed", t->again);
    fsim_json_number(out, ", ", "head", t->head);
    fsim_json_number(out, ", ", "links", t->links);
    fsim_json_number(out, ", ", "bubble", t->bubble);
    fsim_json_number(out, ", ", "sends", t->sends);
    fsim_json_number(out, ", ", "exchange", t->gradients);
    fsim_json_number(out, ", ", "update", t->update);
    fsim_json_number(out, ", ", "all", t->step);
    putc('}', out);
}

static void put_memory(FILE *out, const fsim_trained_memory *m)
{
    fsim_json_number(out, ", \"memory_bytes\": {", "weights", m->weights);
    fsim_json_number(out, ", ", "gradients", m->gradients);
    fsim_json_number(out, ", ", "state", m->state);
    fsim_json_number(out, ", ", "activations", m->activations);
    fsim_json_number(out, ", ", "logits", m->logits);
    fsim_json_number(out, ", ", "framework", m->framework);
    fsim_json_number(out, ", ", "all", m->all);
    fsim_json_number(out, ", ", "capacity", m->capacity);
    putc('}', out);
}

static void put_row(FILE *out, const fsim_trainings *x, const fsim_trained_on *t)
{
    fsim_json_text(out, "{", "machine", x->asked->on[t->on].name);
    whole_field(out, ", ", "gpus", t->gpus);
    fsim_json_text(out, ", ", "reason", t->reason);
    if (t->way.tp) {
        put_way(out, &t->way);
        put_memory(out, &t->memory);
    }
    if (!t->reason) {
        put_time(out, &t->time);
        fsim_json_number(out, ", ", "tokens_per_s", t->tokens_s);
        fsim_json_number(out, ", ", "mfu", t->mfu);
        fsim_json_number(out, ", ", "train_s", t->train_s);
        fsim_json_number(out, ", ", "usd", t->usd);
        fsim_json_number(out, ", ", "joules", t->joules);
        fsim_json_bool(out, ", ", "in_time", t->in_time);
    }
    putc('}', out);
}

/* A row's index, or null. */
static void put_choice(FILE *out, const char *key, int row)
{
    row < 0 ? fprintf(out, ", \"%s\": null", key) : fprintf(out, ", \"%s\": %d", key, row);
}

void fsim_json_trainings(FILE *out, const fsim_trainings *x)
{
    const fsim_trainings_asked *q = x->asked;
    fputs("{\"schema\": 1", out);
    fsim_json_text(out, ", ", "fusesim", fsim_version());
    fsim_json_text(out, ", ", "model", q->model->name);
    fsim_json_number(out, ", ", "tokens", q->tokens);
    fsim_json_number(out, ", ", "deadline_s", q->deadline_s);
    whole_field(out, ", ", "sequence_tokens", q->length);
    whole_field(out, ", ", "sequences_a_step", q->batch);
    fputs(", ", out);
    fsim_json_machines(out, q->on, q->ons);
    put_choice(out, "fewest", x->fewest);
    put_choice(out, "cheapest", x->cheapest);
    put_choice(out, "least_energy", x->coolest);
    put_choice(out, "fastest", x->fastest);
    fsim_json_number(out, ", ", "factor", fsim_training_spread());
    whole_field(out, ", ", "steps", x->steps);
    whole_field(out, ", ", "ways", x->ways);
    fputs(", \"rows\": [", out);
    for (int i = 0; i < x->count; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        put_row(out, x, &x->at[i]);
    }
    fputs("\n]}\n", out);
}
