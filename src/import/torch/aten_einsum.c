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

bool fsim_aten_op_einsum(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value **in;
    const int count = fsim_aten_tensors(c, "tensors", &in);
    const char *equation = fsim_aten_text(c, "equation", "");
    if (count < 1 || count > 6 || strlen(equation) > 256 || (strchr(equation, '.') && !strstr(equation, "->")))
        return false;
    equation = without_dots(c, equation, count, in);
    if (equation && count == 2 && outer_product(c, equation, in))
        return true;
    if (!equation || !fsim_aten_make(c, 0, "einsum", count, in))
        return false;
    fsim_draft_word(c->x, "equation", equation);
    return true;
}
