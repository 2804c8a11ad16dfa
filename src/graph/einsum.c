/* SPDX-License-Identifier: Apache-2.0 */
/* einsum.c: Einstein's sum of one operand, or of three and more: a sequence of products of two, in the order that takes
 * the fewest multiplications. A result that the equation leaves out has the letters that stand once, sorted. */
#include "graph/batch.h"
#include "graph/build.h"

#include <stdio.h>
#include <string.h>

enum { MOST_TERMS = 6, LETTERS = 52 };

typedef struct {
    char letter[FSIM_MAX_RANK + 1];
    int tensor;
} term;

/* The equation of a call, and how long the dimension of each letter is. */
typedef struct {
    term in[MOST_TERMS], out;
    int count;
    int64_t extent[LETTERS];
} equation;

static int number_of(char letter) { return letter >= 'a' ? letter - 'a' : letter - 'A' + 26; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Reads letters up to what is none. NULL where there are too many, or one stands twice. */
static const char *read_term(const char *p, term *t)
{
    int rank = 0;
    for (*t = (term){.tensor = -1}; *p && (is_letter(*p) || *p == ' '); p++) {
        if (*p == ' ')
            continue;
        if (rank == FSIM_MAX_RANK || strchr(t->letter, *p))
            return NULL;
        t->letter[rank++] = *p;
    }
    return p;
}

/* The letters that stand in one term, in the order of the alphabet, capitals first. */
static void imply_result(equation *q)
{
    int rank = 0;
    for (char c = 'A'; c <= 'z'; c++) {
        int terms = 0;
        for (int i = 0; i < q->count && is_letter(c); i++)
            terms += strchr(q->in[i].letter, c) != NULL;
        if (terms == 1 && rank < FSIM_MAX_RANK)
            q->out.letter[rank++] = c;
    }
}

static bool read_equation(const fsim_call *call, equation *q)
{
    const char *p = call->equation ? call->equation : "";
    *q = (equation){0};
    do {
        p = q->count < MOST_TERMS ? read_term(*p == ',' ? p + 1 : p, &q->in[q->count++]) : NULL;
    } while (p && *p == ',');
    if (p && p[0] == '-' && p[1] == '>')
        p = read_term(p + 2, &q->out);
    else if (p && !*p)
        imply_result(q);
    return (p && !*p) || fsim_refuse(call,
                                     "equation \"%s\": wants terms of distinct letters, one for each of at most %d "
                                     "operands, and '->' with the result",
                                     call->equation ? call->equation : "", MOST_TERMS);
}

static bool check_equation(const fsim_call *call, equation *q)
{
    if (q->count != call->args)
        return fsim_refuse(call, "equation \"%s\" has %d terms for %d operands", call->equation, q->count, call->args);
    for (int i = 0; i < q->count; i++) {
        const fsim_tensor *t = fsim_arg(call, i);
        q->in[i].tensor = call->arg[i];
        if ((int)strlen(q->in[i].letter) != t->shape.rank)
            return fsim_refuse(call, "equation \"%s\" has %d letters for '%s' of rank %d", call->equation,
                               (int)strlen(q->in[i].letter), t->name, t->shape.rank);
        for (int d = 0; d < t->shape.rank; d++) {
            int64_t *e = &q->extent[number_of(q->in[i].letter[d])];
            *e = t->shape.dim[d] > *e ? t->shape.dim[d] : *e;
        }
    }
    for (const char *c = q->out.letter; *c; c++)
        if (q->extent[number_of(*c)] == 0)
            return fsim_refuse(call, "equation \"%s\": the result names a letter that no operand has", call->equation);
    return true;
}

/* Multiplications of the product of x and y: of the lengths of all their letters. */
static double steps_of(const equation *q, const term *x, const term *y)
{
    double steps = 1;
    for (const char *c = x->letter; *c; c++)
        steps *= (double)q->extent[number_of(*c)];
    for (const char *c = y->letter; *c; c++)
        steps *= strchr(x->letter, *c) ? 1 : (double)q->extent[number_of(*c)];
    return steps;
}

/* The equation with terms i and j as one: first the letters that both have, then those of i, then those of j, as far as
 * another term or the result has them. The last product has the result's order. */
static equation joined(const equation *q, int i, int j)
{
    equation next = *q;
    term *to = &next.in[i];
    int rank = 0;
    memset(to->letter, 0, sizeof to->letter);
    for (int pass = 0; pass < 3; pass++)
        for (const char *c = q->in [pass < 2 ? i : j].letter; *c; c++) {
            bool wanted = strchr(q->out.letter, *c) != NULL;
            for (int k = 0; k < q->count && !wanted; k++)
                wanted = k != i && k != j && strchr(q->in[k].letter, *c);
            const bool both = strchr(q->in[i].letter, *c) && strchr(q->in[j].letter, *c);
            if (wanted && both == (pass == 0) && rank < FSIM_MAX_RANK)
                to->letter[rank++] = *c;
        }
    if (q->count == 2)
        *to = q->out;
    to->tensor = -1;
    for (int k = j; k + 1 < q->count; k++)
        next.in[k] = q->in[k + 1];
    next.count--;
    return next;
}

/* The fewest multiplications, and the pair to begin with. */
static double best_order(const equation *q, int pair[2])
{
    double best = -1;
    for (int i = 0; i < q->count; i++)
        for (int j = i + 1; j < q->count; j++) {
            int then[2];
            const equation next = joined(q, i, j);
            const double steps = steps_of(q, &q->in[i], &q->in[j]) + (q->count > 2 ? best_order(&next, then) : 0);
            if (best < 0 || steps < best) {
                best = steps;
                pair[0] = i;
                pair[1] = j;
            }
        }
    return best;
}

/* The product of x and y, with these letters; last: it is the call's result. */
static int product(fsim_call *call, const term *x, const term *y, const term *result, int number)
{
    fsim_arena *a = call->build->arena;
    fsim_step step;
    fsim_step_start(&step, call, FSIM_OP_EINSUM, number < 0 ? NULL : fsim_printf(a, "%d_%s", number, result->letter));
    step.call.attrs.compute = call->attrs.compute;
    if (number < 0)
        step.call.attrs.dtype = call->attrs.dtype;
    step.call.equation = fsim_printf(a, "%s,%s->%s", x->letter, y->letter, result->letter);
    return fsim_step_end(&step, 2, (int[2]){x->tensor, y->tensor});
}

/* One operand: a sum over the letters that the result lacks, and a permutation. */
static int of_one(fsim_call *call, const equation *q)
{
    const char *from = q->in[0].letter;
    fsim_list gone = {.present = true}, order = {.present = true};
    char left[FSIM_MAX_RANK + 1] = "";
    int rank = 0;
    for (int d = 0; from[d]; d++)
        if (strchr(q->out.letter, from[d]))
            left[rank++] = from[d];
        else
            gone.at[gone.count++] = d;
    for (const char *c = q->out.letter; *c; c++)
        order.at[order.count++] = strchr(left, *c) - left;
    const bool moves = strcmp(left, q->out.letter) != 0;
    int x = call->arg[0];
    fsim_step step;
    if (gone.count > 0) {
        fsim_step_start(&step, call, FSIM_OP_SUM, moves ? "sum" : NULL);
        step.call.list[FSIM_ATTR_DIMS] = gone;
        x = fsim_step_end(&step, 1, &x);
    }
    if (x < 0 || (gone.count > 0 && !moves))
        return x;
    fsim_step_start(&step, call, FSIM_OP_PERMUTE, NULL);
    step.call.list[FSIM_ATTR_DIMS] = order;
    return fsim_step_end(&step, 1, &x);
}

bool fsim_einsum_in_steps(fsim_call *call)
{
    equation q;
    if (!read_equation(call, &q) || !check_equation(call, &q))
        return false;
    int result = q.count == 1 ? of_one(call, &q) : -1;
    for (int number = 1; q.count > 1; number++) {
        int pair[2] = {0, 1};
        best_order(&q, pair);
        equation next = joined(&q, pair[0], pair[1]);
        result = product(call, &q.in[pair[0]], &q.in[pair[1]], &next.in[pair[0]], q.count == 2 ? -1 : number);
        if (result < 0)
            return false;
        next.in[pair[0]].tensor = result;
        q = next;
    }
    call->result[0] = result;
    return result >= 0;
}

/* Adds a letter for the batch that the equation does not use. */
bool fsim_batch_einsum(fsim_call *call)
{
    fsim_arena *a = call->build->arena;
    equation q;
    char letter = 'Z';
    if (!read_equation(call, &q) || q.count != call->args)
        return fsim_ops[call->op].rule(call); /* it reports what is wrong */
    while (letter > 'A' && strchr(call->equation, letter))
        letter--;
    const char *text = "";
    for (int i = 0; i < q.count; i++)
        text = fsim_printf(a, "%s%s%.*s%s", text, i ? "," : "", fsim_arg(call, i)->mapped, &letter, q.in[i].letter);
    call->equation = fsim_printf(a, "%s->%c%s", text, letter, q.out.letter);
    return fsim_ops[call->op].rule(call);
}
