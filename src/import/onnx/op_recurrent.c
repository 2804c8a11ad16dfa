/* SPDX-License-Identifier: Apache-2.0 */
/* op_recurrent.c: LSTM, GRU and RNN as what they compute: for each direction one product of all steps' inputs, then for
 * each step the product of the last state, and the gates. */
#include "import/onnx/activation.h"
#include "import/onnx/import.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 1 << 14, MOST_TOGETHER = 128, NODES_A_STEP = 16 };

/* The node. */
typedef struct {
    fsim_operand *x, *w, *r, *b, *h, *c0, *p; /* x[T, B, I], w[dirs, gates H, I], r[dirs, gates H, H], b[dirs, 2 gates
                                                 H], h and c0[dirs, B, H], p[dirs, 3 H]; b to p may be NULL */
    int64_t steps, batch, hidden, gates;
    int dirs;
    bool backward; /* the only direction is backward */
    bool batch_first;
    const char *const *act;
    int acts;
} layer;

/* One direction of it. */
typedef struct {
    const layer *l;
    int dir;
    bool backward;
    fsim_operand *inputs;               /* [T, B, gates H] */
    fsim_operand *r, *bias;             /* of the state's product */
    fsim_operand *h, *c;                /* the state: [B, H] */
    fsim_operand *peephole[3];          /* [H], of the gates i, o and f; NULL */
    fsim_operand *reset_r, *reset_bias; /* GRU: the part of r and bias that comes after the reset gate */
} direction;

static fsim_onnx_at step(fsim_onnx_call *c, const direction *d, int64_t t, const char *what)
{
    return FSIM_STEP(fsim_printf(c->a, "%s%lld.%s", d->dir ? "back" : "t", (long long)t, what));
}

static fsim_onnx_at part(fsim_onnx_call *c, const direction *d, const char *what)
{
    return FSIM_STEP(d->dir ? fsim_printf(c->a, "back_%s", what) : what);
}

/* This direction's part of a parameter, without that dimension. */
static fsim_operand *own(fsim_onnx_call *c, const direction *d, const char *what, fsim_operand *v)
{
    if (!v)
        return NULL;
    const fsim_shape s = fsim_onnx_shape(v->shape.rank - 1, v->shape.dim + 1);
    fsim_operand *half = fsim_onnx_slice(c, part(c, d, fsim_printf(c->a, "%s_half", what)), v, 0, d->dir, 1);
    return fsim_onnx_view(c, part(c, d, what), half, &s);
}

/* Elements [k H, (k + n) H) of the last dimension. */
static fsim_operand *gate(fsim_onnx_call *c, fsim_onnx_at at, const direction *d, fsim_operand *all, int64_t k,
                          int64_t n)
{
    return all ? fsim_onnx_slice(c, at, all, all->shape.rank - 1, k * d->l->hidden, n * d->l->hidden) : NULL;
}

static fsim_operand *rows(fsim_onnx_call *c, fsim_onnx_at at, const direction *d, fsim_operand *all, int64_t k,
                          int64_t n)
{
    return all ? fsim_onnx_slice(c, at, all, 0, k * d->l->hidden, n * d->l->hidden) : NULL;
}

/* Activation `which` of the direction: 0 of the gates, 1 of the candidate, 2 of the result. */
static fsim_operand *activate(fsim_onnx_call *c, fsim_onnx_at at, const direction *d, int which, fsim_operand *x)
{
    const int each = d->l->gates == 4 ? 3 : d->l->gates == 3 ? 2 : 1, i = d->dir * each + which;
    const char *name = i < d->l->acts ? d->l->act[i] : which == 0 && each > 1 ? "Sigmoid" : "Tanh";
    return fsim_onnx_activate(c, at, name, x);
}

/* The sum of a gate (0 input, 1 output, 2 forget) with what it sees of the cell. */
static fsim_operand *plus_peephole(fsim_onnx_call *c, const direction *d, int64_t t, int which, fsim_operand *x)
{
    static const char *const name[3] = {"i_peep", "o_peep", "f_peep"};
    if (!d->peephole[which])
        return x;
    fsim_operand *seen = fsim_onnx_binary(c, step(c, d, t, "peep"), "mul", d->c, d->peephole[which]);
    return fsim_onnx_binary(c, step(c, d, t, name[which]), "add", x, seen);
}

/* The sums of one step, [B, gates H]: its part of the inputs and the state's product. */
static fsim_operand *input_of(fsim_onnx_call *c, const direction *d, int64_t t)
{
    const fsim_shape two = {.rank = 2, .dim = {d->l->batch, d->l->gates * d->l->hidden}};
    fsim_operand *x = fsim_onnx_slice(c, step(c, d, t, "x_row"), d->inputs, 0, t, 1);
    return fsim_onnx_view(c, step(c, d, t, "x"), x, &two);
}

/* Gates in ONNX's order: input, output, forget, candidate. */
static bool lstm_step(fsim_onnx_call *c, direction *d, int64_t t)
{
    fsim_operand *state = fsim_onnx_linear(c, step(c, d, t, "state"), d->h, d->r, d->bias), *x = input_of(c, d, t);
    fsim_operand *sums = fsim_onnx_binary(c, step(c, d, t, "sums"), "add", x, state);
    fsim_operand *i = gate(c, step(c, d, t, "i_sum"), d, sums, 0, 1),
                 *o = gate(c, step(c, d, t, "o_sum"), d, sums, 1, 1),
                 *f = gate(c, step(c, d, t, "f_sum"), d, sums, 2, 1),
                 *g = gate(c, step(c, d, t, "g_sum"), d, sums, 3, 1);
    i = activate(c, step(c, d, t, "i"), d, 0, plus_peephole(c, d, t, 0, i));
    if (fsim_onnx_int(c, "input_forget", 0))
        f = fsim_onnx_scalar(c, step(c, d, t, "f"), "add", fsim_onnx_unary(c, step(c, d, t, "minus_i"), "neg", i), 1);
    else
        f = activate(c, step(c, d, t, "f"), d, 0, plus_peephole(c, d, t, 2, f));
    g = activate(c, step(c, d, t, "g"), d, 1, g);
    fsim_operand *kept = fsim_onnx_binary(c, step(c, d, t, "kept"), "mul", f, d->c);
    d->c = fsim_onnx_binary(c, step(c, d, t, "c"), "add", kept, fsim_onnx_binary(c, step(c, d, t, "new"), "mul", i, g));
    o = activate(c, step(c, d, t, "o"), d, 0, plus_peephole(c, d, t, 1, o));
    d->h = fsim_onnx_binary(c, step(c, d, t, "h"), "mul", o, activate(c, step(c, d, t, "c_act"), d, 2, d->c));
    return d->h != NULL;
}

/* The candidate's sum. The reset gate multiplies the state before its product, or with linear_before_reset after. */
static fsim_operand *candidate(fsim_onnx_call *c, direction *d, int64_t t, fsim_operand *reset, fsim_operand *x)
{
    fsim_operand *h;
    if (fsim_onnx_int(c, "linear_before_reset", 0)) {
        h = fsim_onnx_linear(c, step(c, d, t, "state_n"), d->h, d->reset_r, d->reset_bias);
        h = fsim_onnx_binary(c, step(c, d, t, "reset_h"), "mul", reset, h);
    } else {
        h = fsim_onnx_binary(c, step(c, d, t, "reset_h"), "mul", reset, d->h);
        h = fsim_onnx_linear(c, step(c, d, t, "state_n"), h, d->reset_r, d->reset_bias);
    }
    return fsim_onnx_binary(c, step(c, d, t, "n_sum"), "add", x, h);
}

/* Gates in ONNX's order: update, reset, candidate. h = (1 - z) n + z h, as n + z (h - n). */
static bool gru_step(fsim_onnx_call *c, direction *d, int64_t t)
{
    fsim_operand *x = input_of(c, d, t);
    fsim_operand *state = fsim_onnx_linear(c, step(c, d, t, "state"), d->h, d->r, d->bias),
                 *gates = gate(c, step(c, d, t, "x_gates"), d, x, 0, 2),
                 *sums = fsim_onnx_binary(c, step(c, d, t, "sums"), "add", gates, state);
    fsim_operand *z = activate(c, step(c, d, t, "z"), d, 0, gate(c, step(c, d, t, "z_sum"), d, sums, 0, 1));
    fsim_operand *r = activate(c, step(c, d, t, "r"), d, 0, gate(c, step(c, d, t, "r_sum"), d, sums, 1, 1));
    fsim_operand *n =
        activate(c, step(c, d, t, "n"), d, 1, candidate(c, d, t, r, gate(c, step(c, d, t, "x_n"), d, x, 2, 1)));
    fsim_operand *gap = fsim_onnx_binary(c, step(c, d, t, "gap"), "sub", d->h, n);
    d->h = fsim_onnx_binary(c, step(c, d, t, "h"), "add", n, fsim_onnx_binary(c, step(c, d, t, "kept"), "mul", z, gap));
    return d->h != NULL;
}

static bool rnn_step(fsim_onnx_call *c, direction *d, int64_t t)
{
    fsim_operand *state = fsim_onnx_linear(c, step(c, d, t, "state"), d->h, d->r, d->bias), *x = input_of(c, d, t);
    fsim_operand *sums = fsim_onnx_binary(c, step(c, d, t, "sums"), "add", x, state);
    d->h = activate(c, step(c, d, t, "h"), d, 0, sums);
    return d->h != NULL;
}

/* Directions. */

static fsim_operand *zeros(fsim_onnx_call *c, const direction *d, const char *what)
{
    const fsim_shape s = {.rank = 2, .dim = {d->l->batch, d->l->hidden}};
    fsim_operand *y = fsim_onnx_emit(c, part(c, d, what), "fill", &s, d->l->x->dtype, FSIM_NO_ARGS);
    if (y) {
        fsim_onnx_put_ints(c, "shape", 2, s.dim);
        fsim_onnx_put_word(c, "dtype", fsim_dtype_names[d->l->x->dtype]);
    }
    return y;
}

/* The product of all inputs, and what the steps take. */
static bool begin(fsim_onnx_call *c, direction *d)
{
    const layer *l = d->l;
    fsim_operand *w = own(c, d, "w", l->w), *r = own(c, d, "r", l->r), *b = own(c, d, "b", l->b);
    fsim_operand *state_bias = gate(c, part(c, d, "state_bias"), d, b, l->gates, l->gates);
    const int64_t direct = l->gates == 3 ? 2 : l->gates; /* gates of the first product of the state */
    d->inputs =
        fsim_onnx_linear(c, part(c, d, "inputs"), l->x, w, gate(c, part(c, d, "input_bias"), d, b, 0, l->gates));
    d->r = rows(c, part(c, d, "r_gates"), d, r, 0, direct);
    d->bias = rows(c, part(c, d, "bias_gates"), d, state_bias, 0, direct);
    if (l->gates == 3) {
        d->reset_r = rows(c, part(c, d, "r_n"), d, r, 2, 1);
        d->reset_bias = rows(c, part(c, d, "bias_n"), d, state_bias, 2, 1);
    }
    fsim_operand *p = own(c, d, "p", l->p);
    for (int i = 0; i < 3 && p; i++)
        d->peephole[i] = rows(c, part(c, d, fsim_printf(c->a, "p%d", i)), d, p, i, 1);
    d->h = l->h ? own(c, d, "h0", l->h) : zeros(c, d, "h0");
    d->c = l->gates != 4 ? NULL : l->c0 ? own(c, d, "c0", l->c0) : zeros(c, d, "c0");
    return d->inputs && d->r && d->h;
}

/* All states of a direction behind one another, [T, 1, B, H] or batch first [B, T, 1, H]. */
static fsim_operand *sequence(fsim_onnx_call *c, const direction *d, fsim_onnx_at at, int64_t count,
                              fsim_operand *const *state)
{
    const layer *l = d->l;
    const int64_t *dim = (int64_t[]){l->batch_first ? l->batch : 1, 1, l->batch_first ? 1 : l->batch, l->hidden};
    const fsim_shape one = {.rank = 4, .dim = {dim[0], dim[1], dim[2], dim[3]}};
    fsim_operand **in = fsim_new(c->a, fsim_operand *, count);
    for (int64_t t = 0; t < count; t++)
        in[t] = fsim_onnx_view(c, step(c, d, t, "row"), state[t], &one);
    int64_t have = count;
    while (have > MOST_TOGETHER) { /* of very long ones: pieces, then the pieces */
        int64_t next = 0;
        for (int64_t from = 0; from < have; from += MOST_TOGETHER, next++) {
            const int64_t n = have - from < MOST_TOGETHER ? have - from : MOST_TOGETHER;
            in[next] = fsim_onnx_concat(c, step(c, d, from, "piece"), l->batch_first, (int)n, in + from);
        }
        have = next;
    }
    return have == 1 && at.step ? in[0] : fsim_onnx_concat(c, at, l->batch_first, (int)have, in);
}

/* The last states of the directions as output k: [dirs, B, H], or batch first [B, dirs, H]. */
static bool last_states(fsim_onnx_call *c, const layer *l, int k, fsim_operand *const *state)
{
    const fsim_shape one = {.rank = 3,
                            .dim = {l->batch_first ? l->batch : 1, l->batch_first ? 1 : l->batch, l->hidden}};
    static const char *const name[2] = {"last", "back_last"};
    fsim_operand *in[2] = {NULL, NULL};
    if (!fsim_onnx_wants(c, k))
        return true;
    if (l->dirs == 1)
        return fsim_onnx_view(c, FSIM_OUT(k), state[0], &one) != NULL;
    for (int i = 0; i < 2; i++)
        in[i] = fsim_onnx_view(c, FSIM_STEP(name[i]), state[i], &one);
    return fsim_onnx_concat(c, FSIM_OUT(k), l->batch_first, 2, in) != NULL;
}

typedef bool (*one_step)(fsim_onnx_call *c, direction *d, int64_t t);

static bool run(fsim_onnx_call *c, const layer *l, one_step next)
{
    fsim_operand *h[2] = {NULL, NULL}, *cell[2] = {NULL, NULL}, *all[2] = {NULL, NULL};
    fsim_operand **state = fsim_new(c->a, fsim_operand *, l->steps);
    for (int i = 0; i < l->dirs; i++) {
        direction d = {.l = l, .dir = i, .backward = i == 1 || l->backward};
        if (!begin(c, &d))
            return false;
        for (int64_t n = 0; n < l->steps; n++) {
            const int64_t t = d.backward ? l->steps - 1 - n : n;
            if (!next(c, &d, t))
                return false;
            state[t] = d.h;
        }
        h[i] = d.h;
        cell[i] = d.c;
        if (fsim_onnx_wants(c, 0))
            all[i] = sequence(c, &d, l->dirs == 1 ? FSIM_OUT(0) : part(c, &d, "states"), l->steps, state);
    }
    if (l->dirs == 2 && fsim_onnx_wants(c, 0) && !fsim_onnx_concat(c, FSIM_OUT(0), l->batch_first ? 2 : 1, 2, all))
        return false;
    return last_states(c, l, 1, h) && (l->gates != 4 || last_states(c, l, 2, cell));
}

/* The node. */

static bool has_shape(const fsim_operand *v, int64_t a, int64_t b, int64_t last)
{
    const fsim_shape *s = &v->shape;
    return s->rank == (b ? 3 : 2) && s->dim[0] == a && s->dim[s->rank - 1] == last && (!b || s->dim[1] == b);
}

static bool check(fsim_onnx_call *c, const layer *l)
{
    const int64_t wide = l->gates * l->hidden, width = l->x->shape.dim[2];
    if (!has_shape(l->w, l->dirs, wide, width) || !has_shape(l->r, l->dirs, wide, l->hidden) ||
        (l->b && !has_shape(l->b, l->dirs, 0, 2 * wide)) || (l->p && !has_shape(l->p, l->dirs, 0, 3 * l->hidden)) ||
        (l->h && !has_shape(l->h, l->dirs, l->batch, l->hidden)) ||
        (l->c0 && !has_shape(l->c0, l->dirs, l->batch, l->hidden)))
        return fsim_onnx_refuse(c, "x %s, w %s and r %s do not fit with %d direction%s of %lld",
                                fsim_shape_text(c->a, &l->x->shape), fsim_shape_text(c->a, &l->w->shape),
                                fsim_shape_text(c->a, &l->r->shape), l->dirs, l->dirs == 1 ? "" : "s",
                                (long long)l->hidden);
    return true;
}

/* States that come batch first, [B, dirs, H]. */
static fsim_operand *dirs_first(fsim_onnx_call *c, const char *name, fsim_operand *v)
{
    static const int64_t order[3] = {1, 0, 2};
    return v && v->shape.rank == 3 ? fsim_onnx_reorder(c, FSIM_STEP(name), v, order) : v;
}

static bool read_layer(fsim_onnx_call *c, layer *l)
{
    const char *way = fsim_onnx_string(c, "direction", "forward");
    static const int64_t turn[3] = {1, 0, 2};
    l->x = fsim_onnx_need(c, 0);
    l->w = fsim_onnx_need(c, 1);
    l->r = fsim_onnx_need(c, 2);
    l->b = fsim_onnx_in(c, 3);
    l->h = fsim_onnx_in(c, 5);
    l->c0 = l->gates == 4 ? fsim_onnx_in(c, 6) : NULL;
    l->p = l->gates == 4 ? fsim_onnx_in(c, 7) : NULL;
    l->batch_first = fsim_onnx_int(c, "layout", 0) != 0;
    l->backward = strcmp(way, "reverse") == 0;
    l->dirs = strcmp(way, "bidirectional") == 0 ? 2 : 1;
    l->act = fsim_onnx_strings(c, "activations", &l->acts);
    if (!l->act)
        l->acts = 0;
    if (!l->x || !l->w || !l->r)
        return false;
    if (l->x->shape.rank != 3 || l->r->shape.rank != 3)
        return fsim_onnx_refuse(c, "wants x[steps, B, I]; found %s", fsim_shape_text(c->a, &l->x->shape));
    if (l->batch_first) {
        l->x = fsim_onnx_reorder(c, FSIM_STEP("steps_first"), l->x, turn);
        l->h = dirs_first(c, "h_turned", l->h);
        l->c0 = dirs_first(c, "c_turned", l->c0);
    }
    l->steps = l->x->shape.dim[0];
    l->batch = l->x->shape.dim[1];
    l->hidden = l->r->shape.dim[2];
    return check(c, l);
}

/* Without its steps, where there are too many or none. */
static bool as_copy(fsim_onnx_call *c, const layer *l)
{
    fsim_draft_result type[3];
    for (int i = 0; i < 3; i++)
        type[i] = (fsim_draft_result){NULL, {.rank = 3, .dim = {l->dirs, l->batch, l->hidden}}, l->x->dtype};
    if (l->batch_first)
        type[1].shape = type[2].shape = (fsim_shape){.rank = 3, .dim = {l->batch, l->dirs, l->hidden}};
    type[0].shape = (fsim_shape){.rank = 4, .dim = {l->steps, l->dirs, l->batch, l->hidden}};
    if (l->batch_first)
        type[0].shape = (fsim_shape){.rank = 4, .dim = {l->batch, l->steps, l->dirs, l->hidden}};
    return fsim_onnx_opaque(c, l->gates == 4 ? 3 : 2, type);
}

static bool recurrent(fsim_onnx_call *c, int64_t gates, one_step next)
{
    layer l = {.gates = gates};
    if (!read_layer(c, &l))
        return false;
    if (fsim_onnx_in(c, 4))
        fsim_note(c->d, "%s: sequence_lens is not followed: all sequences have %lld steps", c->op, (long long)l.steps);
    if (l.steps < 1 || l.batch < 1 || l.hidden < 1 || l.steps > MOST_STEPS ||
        c->m->budget < l.dirs * l.steps * NODES_A_STEP)
        return as_copy(c, &l);
    c->m->budget -= l.dirs * l.steps * NODES_A_STEP;
    return run(c, &l, next);
}

bool fsim_onnx_op_lstm(fsim_onnx_call *c) { return recurrent(c, 4, lstm_step); }
bool fsim_onnx_op_gru(fsim_onnx_call *c) { return recurrent(c, 3, gru_step); }
bool fsim_onnx_op_rnn(fsim_onnx_call *c) { return recurrent(c, 1, rnn_step); }
