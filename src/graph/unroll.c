/* SPDX-License-Identifier: Apache-2.0 */
/* unroll.c: operators with repeat blocks unrolled and names resolved. */
#include "graph/reader.h"

#include <string.h>

enum {
    MAX_OPERATORS = 1 << 18,
    MAX_DEPTH = 8,
    MAX_ENTRIES = 1 << 22 /* turns, tensors, operators and their names that all repeat blocks together unroll into */
};

/* Names inside a repeat block. What the block computes gets the iteration's suffix; a carried name means the value
 * of the iteration before. */
typedef struct frame {
    const struct frame *outer;
    const fsim_names *local; /* names that the block computes */
    fsim_iteration now;
    const fsim_yaml *carry;
    int depth, layer_number; /* layer_number: as in fsim_source */
} frame;

/* The turn of this number, of a block in `outer`; NULL: in none. */
static fsim_iteration turn_of(fsim_reader *r, const fsim_iteration *outer, int64_t turn, int64_t turns)
{
    const char *around = outer ? outer->suffix : "";
    return (fsim_iteration){turn, turns, fsim_printf(r->arena, "%s.%lld", around, (long long)turn), around};
}

static const char *resolve(fsim_reader *r, const frame *inner, const char *name, fsim_loc at)
{
    for (const frame *f = inner; f; f = f->outer) {
        const fsim_yaml *carried = f->carry ? fsim_yaml_get(f->carry, name) : NULL;
        if (carried && f->now.number > 0) {
            const fsim_iteration before = turn_of(r, f->outer ? &f->outer->now : NULL, f->now.number - 1, f->now.count);
            return fsim_turn_name(r->arena, r->diag, at, carried->text, &before);
        }
        if (!carried && fsim_names_get(f->local, name) >= 0)
            return fsim_turn_name(r->arena, r->diag, at, name, &f->now);
    }
    return inner ? fsim_turn_text(r->arena, r->diag, at, name, &inner->now) : name;
}

/* One name or a list of them. */
static int read_names(fsim_reader *r, const fsim_yaml *y, const char *what, const char ***names)
{
    if (y->kind == FSIM_YAML_MAPPING) {
        fsim_error(r->diag, y->at, "%s is a mapping; wants a name or a list of names", what);
        return -1;
    }
    const int count = y->kind == FSIM_YAML_SEQUENCE ? y->count : 1;
    *names = fsim_new(r->arena, const char *, count + 1);
    for (int i = 0; i < count; i++) {
        const fsim_yaml *one = y->kind == FSIM_YAML_SEQUENCE ? y->item[i] : y;
        if (!fsim_want_scalar(r, one, what))
            return -1;
        (*names)[i] = one->text;
    }
    return count;
}

static void collect_local(fsim_reader *r, const fsim_yaml *block, fsim_names *local)
{
    const fsim_yaml *tensors = fsim_yaml_get(block, "tensors"), *ops = fsim_yaml_get(block, "operators");
    for (int i = 0; tensors && tensors->kind == FSIM_YAML_MAPPING && i < tensors->count; i++)
        fsim_names_set(r->arena, local, tensors->key[i]->text, 1);
    for (int i = 0; ops && ops->kind == FSIM_YAML_SEQUENCE && i < ops->count; i++) {
        const fsim_yaml *out = ops->item[i]->kind == FSIM_YAML_MAPPING ? fsim_yaml_get(ops->item[i], "out") : NULL;
        if (out && out->kind == FSIM_YAML_SCALAR)
            fsim_names_set(r->arena, local, out->text, 1);
        for (int o = 0; out && out->kind == FSIM_YAML_SEQUENCE && o < out->count; o++)
            if (out->item[o]->kind == FSIM_YAML_SCALAR)
                fsim_names_set(r->arena, local, out->item[o]->text, 1);
        if (ops->item[i]->kind == FSIM_YAML_MAPPING && fsim_yaml_get(ops->item[i], "repeat")) {
            const fsim_yaml *carry = fsim_yaml_get(ops->item[i], "carry");
            for (int c = 0; carry && carry->kind == FSIM_YAML_MAPPING && c < carry->count; c++)
                if (carry->item[c]->kind == FSIM_YAML_SCALAR)
                    fsim_names_set(r->arena, local, carry->item[c]->text, 1);
        }
    }
}

/* Behind the block a carried name means its value in the last iteration: an alias. (A name with <...> is not the name
 * of anything there; what it stood for in the last turn is.) */
static void add_alias(fsim_reader *r, const char *name, const char *of, fsim_loc at)
{
    const int op = fsim_names_get(&r->maker, of);
    if (op < 0 || !fsim_claim_name(r, name, at, "another"))
        return;
    fsim_names_set(r->arena, &r->maker, name, op);
    fsim_pending *p = &r->op[op];
    if (!p->alias)
        p->alias = fsim_new(r->arena, const char *, p->outs);
    for (int i = 0; i < p->outs; i++)
        if (strcmp(p->out[i], of) == 0)
            p->alias[i] = name;
}

/* Size of a list of operators after unrolling. Doubles, because products may be huge. */
typedef struct {
    double operators, entries; /* entries: turns, tensors, operators and the names that each operator lists */
} expansion;

static int names_in(const fsim_yaml *y) { return !y ? 0 : y->kind == FSIM_YAML_SEQUENCE ? y->count : 1; }

static expansion expansion_of(fsim_reader *r, const fsim_yaml *list, int depth)
{
    expansion sum = {0};
    for (int i = 0; list && list->kind == FSIM_YAML_SEQUENCE && i < list->count; i++) {
        const fsim_yaml *y = list->item[i], *repeat = fsim_yaml_get(y, "repeat"), *tensors;
        if (!repeat) {
            sum.operators++;
            sum.entries += 1 + names_in(fsim_yaml_get(y, "in")) + names_in(fsim_yaml_get(y, "out"));
            continue;
        }
        int64_t iterations = 0;
        if (depth == MAX_DEPTH || !fsim_read_int(r, repeat, "'repeat'", &iterations) || iterations < 1)
            continue; /* the error is reported where it is read */
        tensors = fsim_yaml_get(y, "tensors");
        const expansion inner = expansion_of(r, fsim_yaml_get(y, "operators"), depth + 1);
        const int called = names_in(fsim_yaml_get(y, "calls"));
        const int own = 1 + called + (tensors && tensors->kind == FSIM_YAML_MAPPING ? tensors->count : 0);
        sum.operators += (double)iterations * inner.operators;
        sum.entries += (double)iterations * (own + inner.entries);
    }
    return sum;
}

/* Reports errors of a block's keys and values. Returns its number of iterations, or 0. */
static int64_t check_repeat(fsim_reader *r, const fsim_yaml *y, int depth)
{
    static const char *const keys[] = {"repeat", "carry", "tensors", "operators", "calls"};
    const fsim_yaml *ops = fsim_yaml_get(y, "operators"), *repeat = fsim_yaml_get(y, "repeat");
    int64_t iterations;
    fsim_yaml_check_keys(r->arena, r->diag, y, "a repeat block", keys, sizeof keys / sizeof *keys);
    if (!fsim_read_int(r, repeat, "'repeat'", &iterations))
        return 0;
    if (iterations < 1)
        fsim_error(r->diag, repeat->at, "'repeat' is %lld; wants at least 1", (long long)iterations);
    else if (depth == MAX_DEPTH)
        fsim_error(r->diag, y->at, "repeat blocks nest more than %d deep", MAX_DEPTH);
    else if (!ops || ops->kind != FSIM_YAML_SEQUENCE)
        fsim_error(r->diag, y->at, "a repeat block wants 'operators', a list");
    else
        return iterations;
    return 0;
}

/* Does some operator below read the name? */
static bool is_read(const fsim_yaml *ops, const char *name)
{
    for (int i = 0; ops && ops->kind == FSIM_YAML_SEQUENCE && i < ops->count; i++) {
        const fsim_yaml *in = fsim_yaml_get(ops->item[i], "in");
        if (in && in->kind == FSIM_YAML_SCALAR && strcmp(in->text, name) == 0)
            return true;
        for (int k = 0; in && in->kind == FSIM_YAML_SEQUENCE && k < in->count; k++)
            if (in->item[k]->kind == FSIM_YAML_SCALAR && strcmp(in->item[k]->text, name) == 0)
                return true;
        if (is_read(fsim_yaml_get(ops->item[i], "operators"), name))
            return true;
    }
    return false;
}

static bool check_carry(fsim_reader *r, const fsim_yaml *y, const fsim_names *local)
{
    const fsim_yaml *carry = fsim_yaml_get(y, "carry");
    if (carry && !fsim_want_mapping(r, carry, "'carry'"))
        return false;
    for (int c = 0; carry && c < carry->count; c++) {
        if (!fsim_want_scalar(r, carry->item[c], "a carried name"))
            return false;
        if (fsim_names_get(local, carry->item[c]->text) < 0) {
            fsim_error(r->diag, carry->item[c]->at, "'%s' is carried, but no operator of the block makes it",
                       carry->item[c]->text);
            return false;
        }
        if (!is_read(fsim_yaml_get(y, "operators"), carry->key[c]->text))
            fsim_warning(r->diag, carry->key[c]->at,
                         "'%s' is carried from turn to turn, but no operator of the block reads it",
                         carry->key[c]->text);
    }
    return true;
}

static void read_list(fsim_reader *r, const fsim_yaml *list, const frame *f);

static void read_repeat(fsim_reader *r, const fsim_yaml *y, const frame *outer)
{
    const int depth = outer ? outer->depth + 1 : 0;
    const fsim_iteration *around = outer ? &outer->now : NULL;
    const fsim_yaml *carry = fsim_yaml_get(y, "carry"), *ops = fsim_yaml_get(y, "operators");
    const int64_t iterations = check_repeat(r, y, depth);
    fsim_names local = {0};
    if (iterations < 1)
        return;
    collect_local(r, y, &local);
    if (!check_carry(r, y, &local))
        return;
    for (int64_t iteration = 0; iteration < iterations; iteration++) {
        const int layer_number = outer ? outer->layer_number : ++r->layers;
        const frame f = {outer, &local, turn_of(r, around, iteration, iterations), carry, depth, layer_number};
        const int errors = fsim_errors(r->diag);
        fsim_read_tensors(r, fsim_yaml_get(y, "tensors"), &f.now);
        read_list(r, ops, &f);
        fsim_add_calls(r, fsim_yaml_get(y, "calls"), &f.now);
        if (fsim_errors(r->diag) > errors)
            return; /* the other iterations would report the same errors */
    }
    const fsim_iteration last = turn_of(r, around, iterations - 1, iterations);
    for (int c = 0; carry && c < carry->count; c++)
        if (!fsim_has_turn(carry->item[c]->text))
            add_alias(r, fsim_printf(r->arena, "%s%s", carry->item[c]->text, last.outer),
                      fsim_printf(r->arena, "%s%s", carry->item[c]->text, last.suffix), carry->item[c]->at);
}

/* A remark at an operator, `layer` or `from`; NULL: none. */
static const char *remark(fsim_reader *r, const fsim_yaml *y, const char *key, const frame *f)
{
    const fsim_yaml *said = fsim_yaml_get(y, key);
    if (!said || said->kind != FSIM_YAML_SCALAR)
        return NULL;
    return f ? fsim_turn_text(r->arena, r->diag, said->at, said->text, &f->now) : said->text;
}

/* Is there no such operator, because its `when` is 0? Its result is then its first input; others are not looked for.
 * False after an error. */
static bool read_presence(fsim_reader *r, const fsim_yaml *y, fsim_pending *p)
{
    const fsim_yaml *when = fsim_yaml_get(y, "when");
    bool present = true;
    if (when && !fsim_read_flag(r, when, "'when'", &present))
        return false;
    if (present)
        return true;
    if (p->ins < 1) {
        fsim_error(r->diag, when->at, "'when' is 0, and '%s' has no input to stand for its result", p->out[0]);
        return false;
    }
    for (int i = 0; i < p->ins; i++) {
        const int tensor = fsim_names_get(&r->tensor, p->in[i]);
        if (tensor >= 0)
            r->graph->tensor[tensor].used = true;
    }
    p->absent = true;
    for (int i = 0; i < p->outs; i++)
        fsim_names_set(r->arena, &r->absent, p->out[i], 1);
    p->ins = p->outs = 1;
    return true;
}

static void read_operator(fsim_reader *r, const fsim_yaml *y, const frame *f)
{
    const fsim_yaml *in = fsim_yaml_get(y, "in"), *out = fsim_yaml_get(y, "out");
    fsim_pending p = {.yaml = y, .at = y->at, .layer_number = f ? f->layer_number : 0};
    if (!fsim_yaml_get(y, "op") || !out) {
        fsim_error(r->diag, y->at, "an operator has no '%s'", out ? "op" : "out");
        return;
    }
    p.ins = in ? read_names(r, in, "'in'", &p.in) : 0;
    p.outs = read_names(r, out, "'out'", &p.out);
    if (p.ins < 0 || p.outs < 1) {
        if (p.outs == 0)
            fsim_error(r->diag, out->at, "'out' names nothing");
        return;
    }
    for (int i = 0; i < p.ins; i++)
        p.in[i] = resolve(r, f, p.in[i], in->kind == FSIM_YAML_SEQUENCE ? in->item[i]->at : in->at);
    p.layer = remark(r, y, "layer", f);
    p.from = remark(r, y, "from", f);
    for (int i = 0; i < p.outs; i++) {
        if (f)
            p.out[i] = fsim_turn_name(r->arena, r->diag, out->at, p.out[i], &f->now);
        if (!fsim_claim_name(r, p.out[i], out->kind == FSIM_YAML_SEQUENCE ? out->item[i]->at : out->at, "another"))
            return;
    }
    if (!read_presence(r, y, &p))
        return;
    for (int i = 0; i < p.outs; i++)
        fsim_names_set(r->arena, &r->maker, p.out[i], r->ops);
    *FSIM_PUSH(r->arena, r->op, r->ops, r->op_room) = p;
}

static void read_list(fsim_reader *r, const fsim_yaml *list, const frame *f)
{
    for (int i = 0; i < list->count; i++) {
        const fsim_yaml *y = list->item[i];
        if (!fsim_want_mapping(r, y, "an operator"))
            continue;
        if (fsim_yaml_get(y, "repeat"))
            read_repeat(r, y, f);
        else
            read_operator(r, y, f);
        if (fsim_errors(r->diag) > 20)
            return;
    }
}

void fsim_read_operators(fsim_reader *r, const fsim_yaml *list)
{
    const int errors = fsim_errors(r->diag);
    const expansion all = expansion_of(r, list, 0);
    if (all.operators > MAX_OPERATORS)
        fsim_error(r->diag, list->at, "%.15g operators with repeat blocks unrolled; at most %d", all.operators,
                   MAX_OPERATORS);
    else if (all.entries > MAX_ENTRIES)
        fsim_error(r->diag, list->at, "repeat blocks unroll into %.3g turns, tensors and names; at most %d",
                   all.entries, MAX_ENTRIES);
    if (fsim_errors(r->diag) == errors)
        read_list(r, list, NULL);
}
