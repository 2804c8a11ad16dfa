/* SPDX-License-Identifier: Apache-2.0 */
/* op_product.c: MatMul, Gemm, Einsum, and the products of com.microsoft. */
#include "import/onnx/activation.h"
#include "import/onnx/quantised.h"

#include <string.h>

static fsim_operand *transposed(fsim_onnx_call *c, const char *step, fsim_operand *x)
{
    int64_t order[FSIM_MAX_RANK];
    if (!x || x->shape.rank < 2)
        return x;
    for (int d = 0; d < x->shape.rank; d++)
        order[d] = d;
    order[x->shape.rank - 1] = x->shape.rank - 2;
    order[x->shape.rank - 2] = x->shape.rank - 1;
    return fsim_onnx_reorder(c, FSIM_STEP(step), x, order);
}

bool fsim_onnx_op_matmul(fsim_onnx_call *c)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *y = fsim_onnx_need(c, 1), *weight = fsim_onnx_turned(y);
    if (x && weight && x->shape.rank > 1 && x->shape.dim[x->shape.rank - 1] == y->shape.dim[0])
        return fsim_onnx_linear(c, FSIM_OUT(0), x, weight, NULL) != NULL;
    if (!x || !y || !fsim_onnx_are_codes(x, y, y->shape.rank - 1) || y->shape.rank < 2 || x->shape.rank < 2)
        return fsim_onnx_product(c, FSIM_OUT(0), x, y) != NULL;
    fsim_operand *sums = fsim_onnx_code_product(c, FSIM_STEP("sums"), x->codes->code, y->codes->code);
    return sums && fsim_onnx_rescale(c, FSIM_OUT(0), sums, x->codes->scale, y->codes->scale, sums->shape.rank - 1);
}

/* alpha A' B' + beta C. */
typedef struct {
    fsim_operand *a, *b, *sum;
    bool turn_b;
    double alpha, beta;
} gemm;

/* Is it a bias that PyTorch's linear adds? */
static bool is_bias(const gemm *g)
{
    const int64_t width = g->b->shape.dim[g->turn_b ? 0 : 1];
    return g->sum && g->alpha == 1 && g->beta == 1 && g->sum->shape.rank == 1 && g->sum->shape.dim[0] == width &&
           g->sum->dtype == g->a->dtype;
}

/* PyTorch adds a bias in the product also where the weight lies as [K, N] (addmm): a linear layer whose weight is a
 * transpose. */
static bool as_addmm(fsim_onnx_call *c, gemm *g)
{
    fsim_operand *weight = g->turn_b ? NULL : fsim_onnx_turned(g->b);
    g->b = weight ? weight : g->b;
    g->turn_b = g->turn_b || weight;
    if (g->turn_b || !g->b->constant || !is_bias(g))
        return true;
    const bool kept = c->keep;
    c->keep = true;
    g->b = transposed(c, "weight", g->b);
    c->keep = kept;
    g->turn_b = true;
    return g->b != NULL;
}

static fsim_operand *write_gemm(fsim_onnx_call *c, fsim_onnx_at to, const gemm *g)
{
    const bool scaled = g->alpha != 1, bias = g->turn_b && is_bias(g), added = g->sum && !bias && g->beta != 0;
    const fsim_onnx_at last = added ? FSIM_STEP("scaled") : to, at = scaled || added ? FSIM_STEP("product") : to;
    fsim_operand *y =
        g->turn_b ? fsim_onnx_linear(c, at, g->a, g->b, bias ? g->sum : NULL) : fsim_onnx_product(c, at, g->a, g->b);
    if (scaled)
        y = fsim_onnx_scalar(c, last, "mul", y, g->alpha);
    if (!added)
        return y;
    fsim_operand *sum = g->beta == 1 ? g->sum : fsim_onnx_scalar(c, FSIM_STEP("addend"), "mul", g->sum, g->beta);
    return fsim_onnx_binary(c, to, "add", y, sum);
}

/* The product of the codes of both, of 8 bits, with sums of 32 bits, then as numbers. */
static fsim_operand *gemm_of_codes(fsim_onnx_call *c, fsim_onnx_at to, const gemm *g)
{
    const struct fsim_onnx_codes *a = g->a->codes, *b = g->b->codes;
    fsim_operand *codes = g->turn_b && is_bias(g) ? fsim_onnx_bias_codes(g->sum) : NULL, *bias = codes ? NULL : g->sum;
    fsim_operand *in[3] = {a->code, b->code, codes};
    fsim_operand *y = g->turn_b ? fsim_onnx_linear_of(c, FSIM_STEP("sums"), in, FSIM_I32)
                                : fsim_onnx_code_product(c, FSIM_STEP("sums"), a->code, b->code);
    y = fsim_onnx_rescale(c, bias ? FSIM_STEP("numbers") : to, y, a->scale, b->scale, 1);
    return bias ? fsim_onnx_binary(c, to, "add", y, bias) : y;
}

static fsim_operand *read_gemm(fsim_onnx_call *c, fsim_onnx_at to)
{
    gemm g = {fsim_onnx_need(c, 0),
              fsim_onnx_need(c, 1),
              fsim_onnx_in(c, 2),
              fsim_onnx_int(c, "transB", 0) != 0,
              fsim_onnx_float(c, "alpha", 1),
              fsim_onnx_float(c, "beta", 1)};
    if (!g.a || !g.b)
        return NULL;
    if (g.a->shape.rank != 2 || g.b->shape.rank != 2) {
        fsim_onnx_refuse(c, "wants two matrices; found %s and %s", fsim_shape_text(c->a, &g.a->shape),
                         fsim_shape_text(c->a, &g.b->shape));
        return NULL;
    }
    if (fsim_onnx_are_codes(g.a, g.b, g.turn_b ? 0 : 1) && !fsim_onnx_int(c, "transA", 0) && g.alpha == 1 &&
        g.beta == 1)
        return gemm_of_codes(c, to, &g);
    if (fsim_onnx_int(c, "transA", 0))
        g.a = transposed(c, "a", g.a);
    return g.a && as_addmm(c, &g) ? write_gemm(c, to, &g) : NULL;
}

bool fsim_onnx_op_gemm(fsim_onnx_call *c) { return read_gemm(c, FSIM_OUT(0)) != NULL; }

/* com.microsoft: with an activation, whose parameters are called otherwise. */
bool fsim_onnx_op_fused_gemm(fsim_onnx_call *c)
{
    const char *name = fsim_onnx_string(c, "activation", "");
    if (!*name)
        return fsim_onnx_op_gemm(c);
    return fsim_onnx_activate(c, FSIM_OUT(0), name, read_gemm(c, FSIM_STEP("gemm"))) != NULL;
}

/* com.microsoft: alpha A' B', where the last two dimensions may be swapped, or the first moved to the last but one. */
bool fsim_onnx_op_fused_matmul(fsim_onnx_call *c)
{
    fsim_operand *in[2] = {fsim_onnx_need(c, 0), fsim_onnx_need(c, 1)};
    const double alpha = fsim_onnx_float(c, "alpha", 1);
    static const char *const batch[] = {"transBatchA", "transBatchB"}, *const turn[] = {"transA", "transB"},
                             *const step[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        int64_t order[FSIM_MAX_RANK] = {0};
        const int rank = in[i] ? in[i]->shape.rank : 0;
        for (int d = 0; d < rank; d++)
            order[d] = d < rank - 2 ? d + 1 : d == rank - 2 ? 0 : d;
        if (rank > 2 && fsim_onnx_int(c, batch[i], 0))
            in[i] = fsim_onnx_reorder(c, FSIM_STEP(step[i]), in[i], order);
        if (rank > 1 && fsim_onnx_int(c, turn[i], 0))
            in[i] = transposed(c, step[i], in[i]);
    }
    fsim_operand *y = fsim_onnx_product(c, alpha == 1 ? FSIM_OUT(0) : FSIM_STEP("product"), in[0], in[1]);
    return alpha == 1 ? y != NULL : fsim_onnx_scalar(c, FSIM_OUT(0), "mul", y, alpha) != NULL;
}

/* Einsum. */

enum { MOST_TERMS = 6, LETTERS = 128 };

/* An equation with a letter for each dimension; of an ellipsis too. */
typedef struct {
    char term[MOST_TERMS + 1][FSIM_MAX_RANK + 1]; /* of each operand, then of the result */
    int terms;
    int64_t extent[LETTERS];
    char dots[FSIM_MAX_RANK + 1]; /* letters for the dimensions of the ellipsis */
    bool repeats;                 /* a letter stands twice in an operand: a diagonal */
} equation;

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Reads one term up to a comma, "->" or the end; `dots` is what an ellipsis stands for in it. */
static const char *read_term(const char *p, const char *dots, char *out)
{
    int rank = 0;
    for (; *p && *p != ',' && *p != '-'; p++) {
        if (*p == ' ')
            continue;
        const bool ellipsis = strncmp(p, "...", 3) == 0;
        const char one[2] = {*p, 0}, *more = ellipsis ? dots : one;
        if ((!ellipsis && !is_letter(*p)) || rank + (int)strlen(more) > FSIM_MAX_RANK)
            return NULL;
        memcpy(out + rank, more, strlen(more));
        rank += (int)strlen(more);
        p += ellipsis ? 2 : 0;
    }
    out[rank] = 0;
    return p;
}

/* Letters of a term, without those of its ellipsis. */
static int letters_of(const char *p)
{
    int count = 0;
    for (; *p && *p != ',' && *p != '-'; p++)
        count += is_letter(*p);
    return count;
}

/* Letters that the text does not use, for as many dimensions as the longest ellipsis of an operand has. */
static void name_dots(fsim_onnx_call *c, const char *text, equation *q)
{
    int most = 0, rank = 0;
    const char *p = text;
    for (int i = 0; i < c->ins && p; i++) {
        const size_t length = strcspn(p, ",-");
        const char *dots = strstr(p, "...");
        if (dots && dots < p + length && c->in[i] && c->in[i]->shape.rank - letters_of(p) > most)
            most = c->in[i]->shape.rank - letters_of(p);
        p = p[length] == ',' ? p + length + 1 : NULL;
    }
    for (char letter = 'A'; letter <= 'z' && rank < most; letter++)
        if (is_letter(letter) && !strchr(text, letter))
            q->dots[rank++] = letter;
}

static bool measure(fsim_onnx_call *c, equation *q, int i)
{
    const fsim_shape *s = &c->in[i]->shape;
    if ((int)strlen(q->term[i]) != s->rank)
        return fsim_onnx_refuse(c, "'equation' has %d letters for input %d, which has %d dimensions",
                                (int)strlen(q->term[i]), i + 1, s->rank);
    for (int d = 0; d < s->rank; d++) {
        int64_t *e = &q->extent[(int)q->term[i][d]];
        if (*e > 1 && s->dim[d] > 1 && *e != s->dim[d])
            return fsim_onnx_refuse(c, "'equation': '%c' is %lld and %lld", q->term[i][d], (long long)*e,
                                    (long long)s->dim[d]);
        *e = s->dim[d] > *e || *e == 0 ? s->dim[d] : *e;
        q->repeats = q->repeats || strchr(q->term[i] + d + 1, q->term[i][d]);
    }
    return true;
}

/* Without "->": the ellipsis, then the letters that stand once, in the order of the alphabet. */
static void imply_result(equation *q)
{
    char *out = q->term[q->terms];
    int rank = (int)strlen(q->dots);
    memcpy(out, q->dots, (size_t)rank + 1);
    for (char letter = 'A'; letter <= 'z'; letter++) {
        int count = 0;
        for (int i = 0; i < q->terms; i++)
            for (const char *at = q->term[i]; *at; at++)
                count += *at == letter;
        if (is_letter(letter) && count == 1 && !strchr(q->dots, letter) && rank < FSIM_MAX_RANK)
            out[rank++] = letter;
    }
    out[rank] = 0;
}

static bool not_an_equation(fsim_onnx_call *c, const char *text)
{
    return fsim_onnx_refuse(c, "'equation' \"%s\" is none for %d inputs", text, c->ins);
}

static bool read_equation(fsim_onnx_call *c, const char *text, equation *q)
{
    const char *p = text;
    *q = (equation){.terms = c->ins};
    if (c->ins < 1 || c->ins > MOST_TERMS)
        return fsim_onnx_refuse(c, "has %d inputs; wants 1 to %d", c->ins, MOST_TERMS);
    for (int i = 0; i < c->ins; i++)
        if (!fsim_onnx_need(c, i))
            return false;
    name_dots(c, text, q);
    const int most = (int)strlen(q->dots);
    for (int i = 0; i < c->ins; i++) {
        const int dots = c->in[i]->shape.rank - letters_of(p);
        p = read_term(p, q->dots + (dots >= 0 && dots < most ? most - dots : 0), q->term[i]);
        if (!p || (i + 1 < c->ins && *p++ != ','))
            return not_an_equation(c, text);
        if (!measure(c, q, i))
            return false;
    }
    if (*p == 0)
        imply_result(q);
    else if (p[0] != '-' || p[1] != '>' || !(p = read_term(p + 2, q->dots, q->term[q->terms])) || *p)
        return not_an_equation(c, text);
    return true;
}

static const char *equation_text(fsim_onnx_call *c, const equation *q)
{
    const char *text = q->term[0];
    for (int i = 1; i < q->terms; i++)
        text = fsim_printf(c->a, "%s,%s", text, q->term[i]);
    return fsim_printf(c->a, "%s->%s", text, q->term[q->terms]);
}

bool fsim_onnx_op_einsum(fsim_onnx_call *c)
{
    equation q;
    fsim_shape out = {0};
    if (!read_equation(c, fsim_onnx_string(c, "equation", ""), &q))
        return false;
    for (const char *letter = q.term[q.terms]; *letter; letter++) {
        if (q.extent[(int)*letter] == 0)
            return fsim_onnx_refuse(c, "'equation': no input has the result's '%c'", *letter);
        out.dim[out.rank++] = q.extent[(int)*letter];
    }
    if (q.repeats)
        return fsim_onnx_opaque(c, 1, &(fsim_draft_result){NULL, out, c->in[0]->dtype});
    if (!fsim_onnx_make(c, 0, "einsum", &out, c->in[0]->dtype, FSIM_LIST(c->ins, c->in)))
        return false;
    fsim_onnx_put_word(c, "equation", equation_text(c, &q));
    return true;
}
