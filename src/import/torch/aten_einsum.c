/* SPDX-License-Identifier: Apache-2.0 */
/* aten_einsum.c: sums of products by letters. */
#include "import/torch/aten.h"

#include <string.h>

/* The dimensions that "..." stands for in each term of an equation, as letters that it does not have: as many as the
 * operand has beside its own letters, the last ones of those of the widest. NULL where they do not fit. */
static const char *without_dots(fsim_aten *c, const char *equation, int count, fsim_torch_value *const *in)
{
    char spare[FSIM_MAX_RANK + 1] = "", *text = fsim_new(c->a, char, 3 * strlen(equation) + 1);
    size_t spares = 0, at = 0;
    int term = 0, widest = 0;
    for (char l = 'A'; l <= 'Z' && spares < FSIM_MAX_RANK; l++)
        if (!strchr(equation, l))
            spare[spares++] = l;
    for (const char *p = equation; *p; p++) {
        term += *p == ',';
        if (*p != '.') {
            text[at++] = *p;
            continue;
        }
        const char *from = p, *to = p;
        while (from > equation && from[-1] != ',' && from[-1] != '>')
            from--;
        to += strcspn(p, ",-");
        int own = 0, wide = widest; /* the result has those of the widest */
        for (const char *q = from; q < to; q++)
            own += *q != '.' && *q != ' ';
        if (from == equation || from[-1] == ',')
            wide = term < count && in[term] ? in[term]->shape.rank - own : -1;
        if (wide < 0 || wide > (int)spares || strncmp(p, "...", 3) != 0)
            return NULL;
        widest = wide > widest ? wide : widest;
        memcpy(text + at, spare + spares - wide, (size_t)wide);
        at += (size_t)wide;
        p += 2;
    }
    return text;
}

/* The operand whose letters are [from, to), in the order of the result and with 1 for letters that it lacks. NULL: it
 * has a letter twice, or one that the result lacks. */
static fsim_torch_value *as_result(fsim_aten *c, fsim_torch_value *x, const char *from, const char *to,
                                   const char *result)
{
    int64_t order[FSIM_MAX_RANK];
    fsim_shape turned = {.rank = 0}, wide = {.rank = 0};
    const int rank = (int)(to - from);
    if (!x || x->shape.rank != rank)
        return NULL;
    for (const char *l = result; *l; l++) {
        const char *at = memchr(from, *l, (size_t)rank);
        if (wide.rank == FSIM_MAX_RANK)
            return NULL;
        wide.dim[wide.rank++] = at ? x->shape.dim[at - from] : 1;
        if (!at)
            continue;
        order[turned.rank] = at - from;
        turned.dim[turned.rank++] = x->shape.dim[at - from];
    }
    bool moves = false;
    for (int i = 0; i < turned.rank; i++)
        moves = moves || order[i] != i;
    if (turned.rank != rank)
        return NULL;
    if (moves) {
        x = fsim_aten_step(c, "permute", FSIM_AS("turned", &turned, x->dtype), 1, &x);
        fsim_draft_ints(c->x, "dim", rank, order);
    }
    return fsim_aten_reshaped(c, x, &wide);
}

/* "bi,bj->bij": nothing is summed, so PyTorch multiplies the two, each as wide as the result. */
static bool outer_product(fsim_aten *c, const char *equation, fsim_torch_value *const *in)
{
    char *text = fsim_new(c->a, char, strlen(equation) + 1);
    size_t length = 0;
    for (const char *p = equation; *p; p++)
        if (*p != ' ')
            text[length++] = *p;
    const char *comma = strchr(text, ','), *arrow = strstr(text, "->");
    if (!comma || !arrow || arrow < comma)
        return false;
    const char *result = arrow + 2, *part[2][2] = {{text, comma}, {comma + 1, arrow}};
    for (int i = 0; i < 2; i++) /* before anything is made: does each fit? */
        for (const char *l = part[i][0]; l < part[i][1]; l++)
            if (!strchr(result, *l) || memchr(part[i][0], *l, (size_t)(l - part[i][0])))
                return false;
    fsim_torch_value *x[2];
    for (int i = 0; i < 2; i++)
        if (!(x[i] = as_result(c, in[i], part[i][0], part[i][1], result)))
            return false;
    return fsim_aten_make(c, 0, "mul", 2, x);
}

/* Letters in order, and the product of their lengths. */
typedef struct {
    char letter[3 * FSIM_MAX_RANK + 1];
    int count;
    int64_t length[3 * FSIM_MAX_RANK], elems;
} letters;

static void add_letter(letters *l, char letter, int64_t length)
{
    l->letter[l->count] = letter;
    l->length[l->count++] = length;
    l->elems *= length;
}

static const letters none = {.elems = 1};

/* A term of an equation, or its result. */
typedef struct {
    const char *from, *to;
    fsim_torch_value *x; /* NULL: the result */
} term;

static const char *letter_in(const term *t, char letter) { return memchr(t->from, letter, (size_t)(t->to - t->from)); }

/* The term's operand in the order of three groups of letters, each of which becomes one dimension. */
static fsim_torch_value *grouped(fsim_aten *c, const term *t, const letters *const group[3])
{
    int64_t order[FSIM_MAX_RANK];
    fsim_shape turned = {.rank = 0};
    const fsim_shape joined = {.rank = 3, .dim = {group[0]->elems, group[1]->elems, group[2]->elems}};
    bool moves = false;
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < group[g]->count; i++) {
            order[turned.rank] = letter_in(t, group[g]->letter[i]) - t->from;
            moves = moves || order[turned.rank] != turned.rank;
            turned.dim[turned.rank++] = group[g]->length[i];
        }
    fsim_torch_value *x = t->x;
    if (moves) {
        x = fsim_aten_step(c, "permute", FSIM_AS("turned", &turned, x->dtype), 1, &x);
        fsim_draft_ints(c->x, "dim", turned.rank, order);
    }
    return fsim_aten_reshaped(c, x, &joined);
}

/* What kind each letter is: in both terms and the result; summed; of one term alone. False where PyTorch does more than
 * one product of matrices: a letter twice in a term, or summed in one alone, or lengths that broadcast. */
static bool sort_letters(const term t[3], letters *both, letters *summed, letters own[2])
{
    *both = *summed = own[0] = own[1] = none;
    for (const char *l = t[2].from; l < t[2].to; l++) {
        const char *at[2] = {letter_in(&t[0], *l), letter_in(&t[1], *l)};
        if (!at[0] && !at[1])
            return false;
        const int of = at[0] ? 0 : 1;
        add_letter(at[0] && at[1] ? both : &own[of], *l, t[of].x->shape.dim[at[of] - t[of].from]);
    }
    for (int i = 0; i < 2; i++)
        for (const char *l = t[i].from; l < t[i].to; l++) {
            const char *there = letter_in(&t[1 - i], *l);
            const int64_t length = t[i].x->shape.dim[l - t[i].from];
            if (letter_in(&(term){t[i].from, l, NULL}, *l) || (!there && !letter_in(&t[2], *l)) ||
                (there && t[1 - i].x->shape.dim[there - t[1 - i].from] != length))
                return false;
            if (i == 0 && there && !letter_in(&t[2], *l))
                add_letter(summed, *l, length);
        }
    return summed->count > 0;
}

/* Two operands as PyTorch multiplies them: matrices of the letters that one has alone by those that are summed, in a
 * batch of the letters that all have; the product back in the order of the result. */
static bool product_of_two(fsim_aten *c, const char *equation, fsim_torch_value *const *in)
{
    const char *comma = strchr(equation, ','), *arrow = strstr(equation, "->");
    letters both, summed, own[2];
    if (!comma || !arrow || arrow < comma || strchr(equation, ' ') || strlen(arrow + 2) > FSIM_MAX_RANK)
        return false;
    const term t[3] = {{equation, comma, in[0]}, {comma + 1, arrow, in[1]}, {arrow + 2, arrow + strlen(arrow), NULL}};
    for (int i = 0; i < 2; i++)
        if (!t[i].x || t[i].x->shape.rank != t[i].to - t[i].from)
            return false;
    if (!sort_letters(t, &both, &summed, own))
        return false;
    fsim_torch_value *side[2] = {grouped(c, &t[0], (const letters *const[3]){&both, &own[0], &summed}),
                                 grouped(c, &t[1], (const letters *const[3]){&both, &summed, &own[1]})};
    const fsim_shape made = {.rank = 3, .dim = {both.elems, own[0].elems, own[1].elems}};
    fsim_torch_value *y = fsim_aten_step(c, "bmm", FSIM_AS("product", &made, c->out[0]->dtype), 2, side);
    const letters *const group[3] = {&both, &own[0], &own[1]};
    fsim_shape apart = {.rank = 0};
    int64_t order[FSIM_MAX_RANK];
    bool moves = false;
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < group[g]->count; i++) {
            const int64_t to = letter_in(&t[2], group[g]->letter[i]) - t[2].from;
            order[to] = apart.rank;
            moves = moves || to != apart.rank;
            apart.dim[apart.rank++] = group[g]->length[i];
        }
    if (!moves)
        return fsim_aten_reshape(c, 0, y);
    y = fsim_aten_reshaped(c, y, &apart);
    if (!fsim_aten_make(c, 0, "permute", 1, &y))
        return false;
    fsim_draft_ints(c->x, "dim", apart.rank, order);
    return true;
}

/* The letters of x and y together, as far as another term or the result has them. */
static char *letters_left(fsim_aten *c, const char *x, const char *y, const char *others)
{
    const char *const side[2] = {x, y};
    char *left = fsim_new(c->a, char, strlen(x) + strlen(y) + 1);
    size_t count = 0;
    for (int i = 0; i < 2; i++)
        for (const char *l = side[i]; *l; l++)
            if (strchr(others, *l) && !strchr(left, *l))
                left[count++] = *l;
    return left;
}

/* Three operands and more, two at a time, as PyTorch contracts them: in the order of `path`, which the exporter notes
 * where opt_einsum is installed, else from left to right. Each product takes the place of its first operand; in a path,
 * the last place. */
static bool in_pairs(fsim_aten *c, const char *equation, int count, fsim_torch_value **in)
{
    enum { MOST = 6 };
    int64_t path[16], length[128] = {0};
    const int steps = fsim_aten_ints(c, "path", path);
    const char *letter[MOST], *arrow = strstr(equation, "->"), *from = equation;
    if (!arrow || strchr(equation, ' '))
        return false;
    for (int i = 0; i < count; i++, from += strcspn(from, ",-") + 1) {
        letter[i] = fsim_strndup(c->a, from, strcspn(from, ",-"));
        if (!in[i] || in[i]->shape.rank != (int)strlen(letter[i]))
            return false;
        for (int d = 0; d < in[i]->shape.rank; d++) {
            int64_t *l = &length[(unsigned char)letter[i][d] & 127];
            *l = in[i]->shape.dim[d] > *l ? in[i]->shape.dim[d] : *l;
        }
    }
    for (int step = 0; count > 2; step++) {
        int64_t a = 0, b = 1;
        if (steps >= 2 * (step + 1)) {
            a = path[2 * step] < path[2 * step + 1] ? path[2 * step] : path[2 * step + 1];
            b = path[2 * step] + path[2 * step + 1] - a;
        }
        if (a < 0 || a == b || b >= count)
            return false;
        const char *others = arrow + 2;
        for (int i = 0; i < count; i++)
            others = i != a && i != b ? fsim_printf(c->a, "%s%s", others, letter[i]) : others;
        char *left = letters_left(c, letter[a], letter[b], others);
        fsim_shape s = {.rank = 0};
        if (strlen(left) > FSIM_MAX_RANK)
            return false;
        for (const char *l = left; *l; l++)
            s.dim[s.rank++] = length[(unsigned char)*l & 127];
        fsim_torch_value *y =
            fsim_aten_step(c, "einsum", FSIM_AS(left, &s, c->out[0]->dtype), 2, (fsim_torch_value *[2]){in[a], in[b]});
        if (!y)
            return false;
        fsim_draft_word(c->x, "equation", fsim_printf(c->a, "%s,%s->%s", letter[a], letter[b], left));
        if (steps < 0) {
            in[a] = y;
            letter[a] = left;
        }
        for (int i = 0, to = 0; i < count; i++)
            if (i != b && (steps < 0 || i != a)) {
                in[to] = in[i];
                letter[to++] = letter[i];
            }
        count--;
        if (steps >= 0) {
            in[count - 1] = y;
            letter[count - 1] = left;
        }
    }
    if (!fsim_aten_make(c, 0, "einsum", 2, in))
        return false;
    fsim_draft_word(c->x, "equation", fsim_printf(c->a, "%s,%s->%s", letter[0], letter[1], arrow + 2));
    return true;
}

bool fsim_aten_op_einsum(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value **in;
    const int count = fsim_aten_tensors(c, "tensors", &in);
    const char *equation = fsim_aten_text(c, "equation", "");
    if (count < 1 || count > 6 || strlen(equation) > 256 || (strchr(equation, '.') && !strstr(equation, "->")))
        return false;
    equation = without_dots(c, equation, count, in);
    if (equation && count == 2 && (outer_product(c, equation, in) || product_of_two(c, equation, in)))
        return true;
    if (equation && count > 2)
        return in_pairs(c, equation, count, in);
    if (!equation || !fsim_aten_make(c, 0, "einsum", count, in))
        return false;
    fsim_draft_word(c->x, "equation", equation);
    return true;
}
