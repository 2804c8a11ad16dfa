/* SPDX-License-Identifier: Apache-2.0 */
/* --proof. Sets of primitives are written as hexadecimal masks: bit i is the i-th primitive of the piece. */
#include "report/proof.h"

#include "report/describe.h"
#include "report/json_stream.h"
#include <inttypes.h>
#include <math.h>

/* What the checker can't confirm, and takes on trust. */
static const char *const trusted[] = {
    "the price of a kernel is what the price model says; checked: no less than its launch and its DRAM bytes and FLOPs "
    "at peak rates, "
    "and what the plan's JSON says where the plan has the kernel with the same contents of L2",
    "no other contents of L2 make a kernel cheaper than those that each price takes: all that may be there",
    "a refused set is no kernel, nor are larger ones where 'larger' says so; checked: that its rule can apply, for the "
    "rules whose "
    "conditions show in the graph; the bound does not rest on refusals of sets that cost too much by their bytes and "
    "FLOPs alone",
    "two primitives that are 'apart' share no kernel, whatever else it has; checked: that the rule can apply",
    "bytes that a kernel reads of a tensor, where the maps do not tell; checked: no less and no more than they allow"};

static void put_mask(FILE *out, const char *before, const char *key, fsim_mask x)
{
    fprintf(out, "%s\"%s\": \"0x%" PRIx64 "\"", before, key, x);
}

static void put_count(FILE *out, const char *before, const char *key, fsim_sum x)
{
    char buffer[FSIM_SUM_DIGITS];
    fprintf(out, "%s\"%s\": %s", before, key, x < FSIM_SUM_MOST ? fsim_sum_digits(buffer, x) : "null");
}

static void put_names(FILE *out, const fsim_graph *g, const char *key, const int *at, int count, bool tensors)
{
    fprintf(out, ", \"%s\": [", key);
    for (int i = 0; i < count; i++) {
        fputs(i ? ", " : "", out);
        fsim_json_string(out, tensors ? g->tensor[at[i]].name : g->node[at[i]].name);
    }
    fputc(']', out);
}

static void put_kernels(FILE *out, const fsim_certified_piece *x)
{
    fputs(",\n   \"kernels\": [", out);
    for (int i = 0; i < x->kernels; i++) {
        const fsim_priced_set *k = &x->kernel[i];
        put_mask(out, i ? ",\n    {" : "\n    {", "set", k->set);
        put_mask(out, ", ", "stored", k->stored);
        put_mask(out, ", ", "seen", k->seen);
        fsim_json_bool(out, ", ", "room", k->room);
        put_count(out, ", ", "price", k->price);
        fputc('}', out);
    }
    fputs("],\n   \"refused\": [", out);
    for (int i = 0; i < x->refusals; i++) {
        const fsim_refused_set *r = &x->refused[i];
        put_mask(out, i ? ",\n    {" : "\n    {", "set", r->set);
        if (r->any_stored || r->larger)
            fputs(", \"stored\": null", out);
        else
            put_mask(out, ", ", "stored", r->stored);
        fsim_json_bool(out, ", ", "larger", r->larger);
        fsim_json_text(out, ", ", "rule", fsim_rule_names[r->why.rule]);
        fputc('}', out);
    }
    fputc(']', out);
}

static void put_piece(FILE *out, const fsim_graph *g, const fsim_certified_piece *x)
{
    fsim_json_bool(out, "\n  {", "checked", !x->without);
    fsim_json_text(out, ", ", "reason", x->without);
    put_count(out, ", ", "bound", x->bound);
    fprintf(out, ", \"steps\": %" PRId64, x->steps);
    put_names(out, g, "primitives", x->node, x->count, false);
    put_names(out, g, "inputs", x->input, x->without ? 0 : x->inputs, true);
    put_mask(out, ", ", "again", x->without ? 0 : x->again);
    put_kernels(out, x);
    fputs(",\n   \"states\": [", out);
    for (int i = 0; i < x->states; i++) {
        put_mask(out, i ? ",\n    {" : "\n    {", "done", x->state[i].done);
        put_mask(out, ", ", "dropped", x->state[i].dropped);
        put_count(out, ", ", "potential", x->state[i].least);
        fputs(x->state[i].cut ? ", \"cut\": true}" : "}", out);
    }
    fputs("]}", out);
}

/* How many refusals of each rule there are. */
static void put_refusals(FILE *out, const fsim_certificate *c)
{
    int count[FSIM_RULE_COUNT] = {0};
    const char *before = ", \"refusals\": {";
    for (int i = 0; i < c->pieces; i++)
        for (int k = 0; k < c->piece[i].refusals; k++)
            count[c->piece[i].refused[k].why.rule]++;
    for (int r = 0; r < FSIM_RULE_COUNT; r++)
        if (count[r] > 0) {
            fprintf(out, "%s\"%s\": %d", before, fsim_rule_names[r], count[r]);
            before = ", ";
        }
    fputs(before[2] ? ", \"refusals\": {}" : "}", out);
}

static const char *method_of(const fsim_certificate *c)
{
    return c->without ? "none"
                      : "potentials: the least cost from each state, with kernels in any order and with the best "
                        "contents of L2";
}

/* "all", "part" or "no": the pieces that are certified. */
static const char *checked(const fsim_certificate *c)
{
    int with = 0;
    for (int i = 0; i < c->pieces; i++)
        with += !c->piece[i].without;
    return c->without || with == 0 ? "no" : with == c->pieces ? "all" : "part";
}

static const char *reason_of(const fsim_certificate *c)
{
    const char *reason = c->without;
    for (int i = 0; i < c->pieces && !reason; i++)
        reason = c->piece[i].without;
    return reason;
}

/* A tensor's name where the mask has its bit. */
static void put_chosen(FILE *out, const fsim_graph *g, const fsim_real_price *x, const char *key, bool writes)
{
    const fsim_group *o = x->group;
    const char *before = "";
    fprintf(out, ", \"%s\": [", key);
    for (int i = 0; i < (writes ? o->writes : o->reads); i++)
        if ((writes ? x->absorbed : x->hit) >> i & 1) {
            fputs(before, out);
            fsim_json_string(out, g->tensor[writes ? o->write[i].tensor : o->read[i].tensor].name);
            before = ", ";
        }
    fputc(']', out);
}

/* What a kernel accesses. */
static void put_accesses(FILE *out, const fsim_graph *g, const fsim_group *o)
{
    fputs(", \"reads\": [", out);
    for (int i = 0; i < o->reads; i++) {
        fsim_json_text(out, i ? ", {" : "{", "tensor", g->tensor[o->read[i].tensor].name);
        fprintf(out, ", \"bytes\": %" PRId64, o->read[i].bytes);
        fsim_json_bool(out, ", ", "whole", o->read[i].whole);
        fputc('}', out);
    }
    fputs("], \"writes\": [", out);
    for (int i = 0; i < o->writes; i++) {
        fputs(i ? ", " : "", out);
        fsim_json_string(out, g->tensor[o->write[i].tensor].name);
    }
    fputc(']', out);
}

static void put_followed(FILE *out, const fsim_graph *g, const fsim_certificate *c)
{
    const fsim_followed *y = &c->followed;
    fsim_json_bool(out, ",\n  \"followed\": {", "checked", !c->without && !y->without);
    fsim_json_text(out, ", ", "reason", c->without ? c->without : y->without);
    fprintf(out, ", \"steps\": %" PRId64, y->without ? 0 : y->steps);
    put_count(out, ", ", "bound", c->without || y->without ? FSIM_SUM_MOST : y->bound);
    fputs(", \"prices\": [", out);
    for (int i = 0; i < y->prices; i++) {
        const fsim_real_price *x = &y->price[i];
        const fsim_priced_set *k = &c->piece[x->piece].kernel[x->kernel];
        fprintf(out, "%s{\"piece\": %d", i ? ",\n    " : "\n    ", x->piece);
        put_mask(out, ", ", "set", k->set);
        put_mask(out, ", ", "stored", k->stored);
        put_accesses(out, g, x->group);
        put_chosen(out, g, x, "hits", false);
        put_chosen(out, g, x, "absorbed", true);
        put_count(out, ", ", "price", x->price);
        fputc('}', out);
    }
    fputs("]}", out);
}

static void put_plan(FILE *out, const fsim_prediction *p, const fsim_certificate *c)
{
    const fsim_plan *plan = &p->plan[FSIM_STRATEGY_OPTIMAL];
    const double unit = p->options.objective == FSIM_MINIMISE_TIME ? FSIM_TICK_S : 1;
    const bool planned = plan->kernels > 0 && p->options.objective != FSIM_MINIMISE_MEMORY;
    put_count(out, ",\n  \"plan\": {", "cost", planned ? plan->objective : FSIM_SUM_MOST);
    put_count(out, ", ", "lower_bound", planned ? fsim_sum_term(p->proof.lower_bound / unit) : FSIM_SUM_MOST);
    fsim_json_bool(out, ", ", "proven", p->proof.proven);
    fputc('}', out);
    put_count(out, ", ", "pieces_bound", c->without ? FSIM_SUM_MOST : c->pieces_bound);
    put_count(out, ", ", "bound", c->without ? FSIM_SUM_MOST : c->bound);
    fsim_json_number(out, ", ", "gap",
                     c->without || !planned || plan->objective == 0
                         ? NAN
                         : (double)(plan->objective - c->bound) / (double)plan->objective);
    fsim_json_bool(out, ", ", "complete", !c->without && planned && c->bound == plan->objective);
}

static void put_proof(FILE *out, const fsim_prediction *p, const fsim_certificate *c)
{
    const fsim_graph *g = p->graph;
    fsim_json_text(out, "\n {", "workload", g->name);
    fsim_json_text(out, ", ", "hardware", p->hw->name);
    fsim_json_text(out, ", ", "objective", fsim_objective_names[p->options.objective]);
    fsim_json_text(out, ", ", "unit", p->options.objective == FSIM_MINIMISE_TIME ? "femtosecond" : "byte");
    fsim_json_text(out, ", ", "launch", fsim_regime_names[p->options.regime]);
    fsim_json_text(out, ", ", "l2", fsim_l2_words[p->options.warm]);
    fsim_json_text(out, ", ", "numerics", fsim_numerics_words[p->options.strict]);
    fsim_json_text(out, ", ", "recompute", fsim_recompute_words[p->options.no_recompute]);
    fsim_json_text(out, ",\n  ", "checked", checked(c));
    fsim_json_text(out, ", ", "reason", reason_of(c));
    fsim_json_text(out, ", ", "method", method_of(c));
    put_plan(out, p, c);
    fputs(",\n  \"trusted\": [", out);
    for (size_t i = 0; i < sizeof trusted / sizeof *trusted && !c->without; i++) {
        fputs(i ? ",\n   " : "\n   ", out);
        fsim_json_string(out, trusted[i]);
    }
    fputc(']', out);
    put_refusals(out, c);
    fputs(",\n  \"apart\": [", out);
    for (int i = 0; i < c->pairs; i++) {
        fsim_json_text(out, i ? ",\n   {" : "\n   {", "a", g->node[c->separated[i].a].name);
        fsim_json_text(out, ", ", "b", g->node[c->separated[i].b].name);
        fsim_json_text(out, ", ", "rule", fsim_rule_names[c->separated[i].why.rule]);
        fputc('}', out);
    }
    fputc(']', out);
    put_followed(out, g, c);
    fputs(",\n  \"pieces\": [", out);
    for (int i = 0; i < c->pieces; i++) {
        fputs(i ? "," : "", out);
        put_piece(out, g, &c->piece[i]);
    }
    fputs("]}", out);
}

void fsim_report_proof(FILE *out, const fsim_prediction *p, const fsim_certificate *certificate, int count)
{
    fprintf(out, "{\"schema\": %d, ", FSIM_PROOF_SCHEMA);
    fsim_json_text(out, "", "fusesim", FUSESIM_VERSION);
    fputs(", \"proofs\": [", out);
    for (int i = 0; i < count; i++) {
        fputs(i ? "," : "", out);
        put_proof(out, &p[i], &certificate[i]);
    }
    fputs("]}\n", out);
}
