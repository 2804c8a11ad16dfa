/* SPDX-License-Identifier: Apache-2.0 */
/* op_experts.c: MoE and QMoE of domain com.microsoft: a router picks k experts for each token, and each expert is two
 * products with an activation between them, or three where a gate is a product of its own.
 *
 * How many rows an expert gets is data. As in workloads/llm/moe_*, tokens are spread evenly (input/routing.h): so many
 * experts have rows as that gives, each equally many. */
#include "import/onnx/activation.h"
#include "input/routing.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { MOST_PACKED = 8 }; /* bits of a code, and of what it is packed into */

/* Where a product's weights, scales, bias and zeros stand among the inputs; -1: it has none. */
typedef struct {
    int weight, scale, bias, zero;
} places;

typedef struct {
    fsim_onnx_call *c;
    int64_t tokens, hidden, experts, k;
    int64_t active, rows; /* experts that have rows, and how many each of them has */
    bool coded;           /* QMoE: weights are codes */
} mixture;

static const places first_of[] = {{2, -1, 3, -1}, {2, 3, 4, 11}}, second_of[] = {{4, -1, 5, -1}, {5, 6, 7, 12}},
                    third_of[] = {{6, -1, 7, -1}, {8, 9, 10, 13}};

static const fsim_operand *input(const mixture *m, int place) { return place < 0 ? NULL : fsim_onnx_in(m->c, place); }

/* The active experts' part of an input, whose first dimension is that of the experts. */
static fsim_operand *active_part(const mixture *m, const char *step, int place)
{
    fsim_operand *v = fsim_onnx_in(m->c, place);
    if (v->constant)
        v->parameter = true;
    return fsim_onnx_slice(m->c, FSIM_STEP(step), v, 0, 0, m->active);
}

/* Codes of 4 bits lie two in a byte: weight[active, N, K / 2] as numbers[active, N, K], by a scale for each row of N
 * or for each block of it. */
static fsim_operand *numbers_of(const mixture *m, const places *p, fsim_operand *codes, fsim_dtype dtype)
{
    fsim_onnx_call *c = m->c;
    const int64_t bits = fsim_onnx_int(c, "expert_weight_bits", 4), each = MOST_PACKED / bits;
    const fsim_operand *scale = input(m, p->scale), *zero = input(m, p->zero);
    fsim_shape s = codes->shape;
    s.dim[2] *= each;
    const int64_t blocks = scale->shape.rank == 3 ? scale->shape.dim[2] : 1;
    const fsim_shape line = {.rank = 1, .dim = {fsim_onnx_elems(codes)}},
                     all = {.rank = 1, .dim = {fsim_onnx_elems(codes) * each}},
                     apart = {.rank = 4, .dim = {s.dim[0], s.dim[1], blocks, blocks ? s.dim[2] / blocks : 0}},
                     beside = {.rank = 4, .dim = {s.dim[0], s.dim[1], blocks, 1}};
    if (blocks < 1 || s.dim[2] % blocks != 0 || scale->shape.dim[0] != m->experts ||
        fsim_onnx_elems(scale) != m->experts * s.dim[1] * blocks) {
        fsim_onnx_refuse(c, "scales %s do not fit with weights %s of %lld bits", fsim_shape_text(c->a, &scale->shape),
                         fsim_shape_text(c->a, &fsim_onnx_in(c, p->weight)->shape), (long long)bits);
        return NULL;
    }
    fsim_operand *y = codes;
    if (each > 1) {
        y = fsim_onnx_view(c, FSIM_STEP("bytes"), y, &line);
        if ((y = fsim_onnx_emit(c, FSIM_STEP("parts"), "unpack", &all, FSIM_U8, FSIM_ARGS(y))))
            fsim_onnx_put_int(c, "bits", bits);
    }
    y = fsim_onnx_as(c, FSIM_STEP("numbers"), fsim_onnx_view(c, FSIM_STEP("codes"), y, &apart), dtype);
    if (zero && fsim_onnx_elems(zero) == fsim_onnx_elems(scale))
        y = fsim_onnx_binary(
            c, FSIM_STEP("centred"), "sub", y,
            fsim_onnx_as(c, FSIM_STEP("zeros"),
                         fsim_onnx_view(c, FSIM_STEP("zero_codes"), active_part(m, "some_zeros", p->zero), &beside),
                         dtype));
    else
        y = fsim_onnx_scalar(c, FSIM_STEP("centred"), "sub", y, (double)((int64_t)1 << (bits - 1)));
    y = fsim_onnx_binary(c, FSIM_STEP("scaled"), "mul", y,
                         fsim_onnx_view(c, FSIM_STEP("scales"), active_part(m, "some_scales", p->scale), &beside));
    return fsim_onnx_view(c, FSIM_STEP("weight"), y, &s);
}

/* x[active, rows, K] times each expert's weight, [N, K] or in older files [K, N], and its bias. */
static fsim_operand *expert_product(const mixture *m, const char *step, const places *p, fsim_operand *x)
{
    fsim_onnx_call *c = m->c;
    const fsim_operand *w = input(m, p->weight), *bias = input(m, p->bias);
    if (!x || !fsim_onnx_need(c, p->weight) || (m->coded && !fsim_onnx_need(c, p->scale)))
        return NULL;
    const int64_t bits = m->coded ? fsim_onnx_int(c, "expert_weight_bits", 4) : MOST_PACKED, depth = x->shape.dim[2],
                  each = bits == 4 ? 2 : 1;
    const bool fits = w->shape.rank == 3 && w->shape.dim[0] == m->experts && (bits == 4 || bits == MOST_PACKED),
               turned = fits && w->shape.dim[2] * each == depth,
               straight = fits && !m->coded && w->shape.dim[1] == depth;
    if (!turned && !straight) {
        fsim_onnx_refuse(c, "weights %s do not fit with %lld experts of %lld columns", fsim_shape_text(c->a, &w->shape),
                         (long long)m->experts, (long long)depth);
        return NULL;
    }
    const fsim_shape out = {.rank = 3, .dim = {m->active, m->rows, w->shape.dim[turned ? 1 : 2]}};
    fsim_operand *part = active_part(m, fsim_printf(c->a, "%s_weights", step), p->weight);
    if (m->coded && part)
        part = numbers_of(m, p, part, x->dtype);
    if (!part)
        return NULL;
    fsim_operand *y = fsim_onnx_emit(c, FSIM_STEP(step), "einsum", &out, x->dtype, FSIM_ARGS(x, part));
    if (y)
        fsim_onnx_put_word(c, "equation", turned ? "erk,enk->ern" : "erk,ekn->ern");
    if (!y || !bias)
        return y;
    const fsim_shape row = {.rank = 3, .dim = {m->active, 1, out.dim[2]}};
    if (fsim_onnx_elems(bias) != m->experts * out.dim[2]) {
        fsim_onnx_refuse(c, "the bias %s does not fit with weights %s", fsim_shape_text(c->a, &bias->shape),
                         fsim_shape_text(c->a, &w->shape));
        return NULL;
    }
    fsim_operand *b = fsim_onnx_view(c, FSIM_STEP(fsim_printf(c->a, "%s_bias", step)),
                                     active_part(m, fsim_printf(c->a, "%s_biases", step), p->bias), &row);
    return fsim_onnx_binary(c, FSIM_STEP(fsim_printf(c->a, "%s_biased", step)), "add", y, b);
}

/* gate sigmoid(alpha gate) (up + beta): both are halves of x, or every other of its elements, which costs the same. */
static fsim_operand *swiglu(fsim_onnx_call *c, fsim_operand *x, fsim_operand *up)
{
    const double beta = fsim_onnx_float(c, "activation_beta", 0), limit = fsim_onnx_float(c, "swiglu_limit", 0);
    fsim_operand *gate = x;
    if (!x || (!up && x->shape.dim[2] % 2)) {
        if (x)
            fsim_onnx_refuse(c, "swiglu wants an even number of columns; found %s", fsim_shape_text(c->a, &x->shape));
        return NULL;
    }
    if (!up) {
        const int64_t half = x->shape.dim[2] / 2;
        gate = fsim_onnx_slice(c, FSIM_STEP("gate"), x, 2, 0, half);
        up = fsim_onnx_slice(c, FSIM_STEP("up"), x, 2, half, half);
    }
    if (limit > 0 && isfinite(limit)) {
        gate = fsim_onnx_scalar(c, FSIM_STEP("gate_limited"), "minimum", gate, limit);
        up = fsim_onnx_unary(c, FSIM_STEP("up_limited"), "clamp", up);
        if (up) {
            fsim_onnx_put_number(c, "min", -limit);
            fsim_onnx_put_number(c, "max", limit);
        }
    }
    if (beta != 0)
        up = fsim_onnx_scalar(c, FSIM_STEP("up_shifted"), "add", up, beta);
    return fsim_onnx_binary(c, FSIM_STEP("gated"), "mul",
                            fsim_onnx_swish(c, FSIM_STEP("swish"), gate, fsim_onnx_float(c, "activation_alpha", 1)),
                            up);
}

static fsim_operand *activated(fsim_onnx_call *c, fsim_operand *x, fsim_operand *up)
{
    const char *name = fsim_onnx_string(c, "activation_type", "relu");
    if (strcasecmp(name, "swiglu") == 0)
        return swiglu(c, x, up);
    if (strcasecmp(name, "silu") == 0)
        x = fsim_onnx_unary(c, FSIM_STEP("activated"), "silu", x);
    else if (strcasecmp(name, "gelu") == 0)
        x = fsim_onnx_gelu(c, FSIM_STEP("activated"), x, false);
    else if (strcasecmp(name, "relu") == 0)
        x = fsim_onnx_unary(c, FSIM_STEP("activated"), "relu", x);
    else if (strcasecmp(name, "identity") != 0) {
        fsim_onnx_refuse(c, "there is no activation_type '%s': relu, gelu, silu, swiglu, identity", name);
        return NULL;
    }
    return up ? fsim_onnx_binary(c, FSIM_STEP("gated"), "mul", x, up) : x;
}

/* The experts' rows of tokens, [active, rows, hidden], by the experts that the router chose. */
static fsim_operand *rows_of(const mixture *m, fsim_operand *x, fsim_operand *chosen)
{
    fsim_onnx_call *c = m->c;
    const int64_t picked = m->tokens * m->k, all = m->active * m->rows, before_after[2] = {0, all - picked};
    const fsim_shape line = {.rank = 1, .dim = {picked}}, filled = {.rank = 1, .dim = {all}},
                     tokens = {.rank = 2, .dim = {m->tokens, m->hidden}}, flat = {.rank = 2, .dim = {all, m->hidden}},
                     apart = {.rank = 3, .dim = {m->active, m->rows, m->hidden}};
    const fsim_draft_result sorted[2] = {{"by_expert", line, chosen->dtype}, {"row", line, FSIM_I64}};
    fsim_operand *made[2];
    if (!fsim_onnx_steps(c, "sort", 2, sorted, FSIM_ARGS(fsim_onnx_view(c, FSIM_STEP("choices"), chosen, &line)), made))
        return NULL;
    fsim_onnx_put_int(c, "dim", 0);
    fsim_operand *index = made[1];
    if (m->k > 1) /* which token it is */
        index = fsim_onnx_scalar(c, FSIM_STEP("token"), "floor_divide", index, (double)m->k);
    if (all > picked && (index = fsim_onnx_emit(c, FSIM_STEP("tokens"), "pad", &filled, FSIM_I64, FSIM_ARGS(index))))
        fsim_onnx_put_ints(c, "padding", 2, before_after);
    x = fsim_onnx_view(c, FSIM_STEP("flat"), x, &tokens);
    if (!x || !index)
        return NULL;
    fsim_operand *y = fsim_onnx_emit(c, FSIM_STEP("permuted"), "index_select", &flat, x->dtype, FSIM_ARGS(x, index));
    if (y)
        fsim_onnx_put_int(c, "dim", 0);
    return fsim_onnx_view(c, FSIM_STEP("expert_rows"), y, &apart);
}

/* Each token's k results, weighted and added up. */
static bool combine(const mixture *m, const fsim_operand *x, fsim_operand *y, fsim_operand *weights,
                    fsim_operand *chosen)
{
    fsim_onnx_call *c = m->c;
    const int64_t all = m->active * m->rows, picked = m->tokens * m->k;
    const fsim_shape flat = {.rank = 2, .dim = {all, m->hidden}}, line = {.rank = 1, .dim = {picked}},
                     rows = {.rank = 2, .dim = {picked, m->hidden}},
                     each = {.rank = 3, .dim = {m->tokens, m->k, m->hidden}},
                     beside = {.rank = 3, .dim = {m->tokens, m->k, 1}};
    static const fsim_onnx_dims second = {1, {1}};
    fsim_operand *index = fsim_onnx_view(c, FSIM_STEP("back"), chosen, &line);
    y = fsim_onnx_view(c, FSIM_STEP("results"), y, &flat);
    if (!y || !index)
        return false;
    if ((y = fsim_onnx_emit(c, FSIM_STEP("chosen_rows"), "index_select", &rows, y->dtype, FSIM_ARGS(y, index))))
        fsim_onnx_put_int(c, "dim", 0);
    y = fsim_onnx_view(c, FSIM_STEP("by_token"), y, &each);
    y = fsim_onnx_binary(c, FSIM_STEP("weighted"), "mul", y, fsim_onnx_view(c, FSIM_STEP("weights"), weights, &beside));
    const bool same = x->shape.rank == 2;
    y = fsim_onnx_reduced(c, same ? FSIM_OUT(0) : FSIM_STEP("combined"), "sum", y, &second, false);
    return y && (same || fsim_onnx_view(c, FSIM_OUT(0), y, &x->shape));
}

static bool experts(fsim_onnx_call *c, bool coded)
{
    fsim_operand *x = fsim_onnx_need(c, 0), *router = fsim_onnx_need(c, 1);
    if (!x || !router)
        return false;
    mixture m = {.c = c, .coded = coded, .k = fsim_onnx_int(c, "k", 1)};
    m.hidden = x->shape.rank > 0 ? x->shape.dim[x->shape.rank - 1] : 0;
    m.tokens = m.hidden > 0 ? fsim_onnx_elems(x) / m.hidden : 0;
    m.experts = router->shape.rank == 2 ? router->shape.dim[1] : 0;
    if (x->shape.rank < 2 || m.tokens < 1 || m.experts < 1 || m.experts > FSIM_MOST_EXPERTS || m.k < 1 ||
        m.k > m.experts || router->shape.dim[0] != m.tokens)
        return fsim_onnx_refuse(c, "router_probs %s do not fit with input %s and k %lld",
                                fsim_shape_text(c->a, &router->shape), fsim_shape_text(c->a, &x->shape),
                                (long long)m.k);
    fsim_draft_assume(c->x, c->op,
                      "how many rows an expert gets depends on data; assumed: as many as each other one that has any");
    c->keep = true; /* weights are read in part, and stored packed */
    const fsim_routing even = {(double)m.tokens, (double)m.experts, (double)m.k, 1, 0};
    m.active = (int64_t)round(fsim_routed_experts(&even));
    m.rows = (m.tokens * m.k + m.active - 1) / m.active;
    fsim_draft_result picks[2] = {{"scores", router->shape, router->dtype}, {"chosen", router->shape, FSIM_I64}};
    picks[0].shape.dim[1] = picks[1].shape.dim[1] = m.k;
    fsim_operand *made[2], *scores = fsim_onnx_unary(c, FSIM_STEP("router"), "softmax", router);
    if (!scores)
        return false;
    fsim_onnx_put_int(c, "dim", -1);
    if (!fsim_onnx_steps(c, "topk", 2, picks, FSIM_ARGS(scores), made))
        return false;
    fsim_onnx_put_int(c, "k", m.k);
    fsim_onnx_put_int(c, "dim", 1);
    fsim_operand *weights = made[0];
    static const fsim_onnx_dims second = {1, {1}};
    if (fsim_onnx_int(c, "normalize_routing_weights", 0) && m.k > 1)
        weights = fsim_onnx_binary(c, FSIM_STEP("normalised"), "div", weights,
                                   fsim_onnx_reduced(c, FSIM_STEP("total"), "sum", weights, &second, true));
    fsim_operand *rows = rows_of(&m, x, made[1]), *up = NULL;
    fsim_operand *y = expert_product(&m, "fc1", &first_of[coded], rows);
    if (input(&m, third_of[coded].weight) && !(up = expert_product(&m, "fc3", &third_of[coded], rows)))
        return false;
    y = expert_product(&m, "fc2", &second_of[coded], activated(c, y, up));
    return combine(&m, x, y, weights, made[1]);
}

bool fsim_onnx_op_moe(fsim_onnx_call *c) { return experts(c, false); }
bool fsim_onnx_op_qmoe(fsim_onnx_call *c) { return experts(c, true); }
