/* SPDX-License-Identifier: Apache-2.0 */
/* aten_recurrent.c: lstm, gru and rnn as what they compute: for each layer and direction one product of all steps'
 * inputs, then for each step the product of the last state, and the gates. */
#include "import/torch/aten.h"

#include <string.h>

enum { MOST_STEPS = 4096 };

/* The node. Shapes are steps first. */
typedef struct {
    fsim_aten *c;
    int gates, layers, dirs, each;       /* each: parameters of a layer and direction */
    const char *act;                     /* of a plain RNN */
    int64_t steps, batch, hidden, shown; /* shown: of the state that is read, where an lstm projects it; else hidden */
    fsim_dtype dtype;
    fsim_torch_value **weight; /* w_ih, w_hh, then b_ih, b_hh, and what projects, of each layer and direction */
    fsim_torch_value *state[2], *last[2][64]; /* h and c: [layers dirs, B, H]; what becomes of them */
} recurrent;

/* One direction of a layer. */
typedef struct {
    recurrent *r;
    const char *name;                            /* "l0", "l0_back" */
    fsim_torch_value *inputs, *weight, *bias;    /* [T, B, gates H]; of the state's product */
    fsim_torch_value *reset_weight, *reset_bias; /* gru: the rows that the reset gate multiplies */
    fsim_torch_value *project;                   /* lstm: [shown, H]; NULL: none */
    fsim_torch_value *h, *cell;                  /* [B, shown], [B, H] */
} direction;

static const char *named(const direction *d, int64_t t, const char *what)
{
    return t < 0 ? fsim_printf(d->r->c->a, "%s.%s", d->name, what)
                 : fsim_printf(d->r->c->a, "%s.t%lld.%s", d->name, (long long)t, what);
}

static fsim_shape of_batch(const recurrent *r, int64_t width)
{
    return (fsim_shape){.rank = 2, .dim = {r->batch, width}};
}

/* A step's operator on x (and y) of the batch, so many numbers wide. */
static fsim_torch_value *point(direction *d, const char *name, const char *op, int64_t width, fsim_torch_value *x,
                               fsim_torch_value *y)
{
    const fsim_shape s = of_batch(d->r, width);
    return fsim_aten_step(d->r->c, op, FSIM_AS(name, &s, d->r->dtype), y ? 2 : 1, (fsim_torch_value *[2]){x, y});
}

/* Elements start to start + size along dim. */
static fsim_torch_value *part(fsim_aten *c, const char *name, fsim_torch_value *x, int dim, int64_t start, int64_t size)
{
    if (!x || x->shape.dim[dim] == size)
        return x;
    fsim_shape s = x->shape;
    s.dim[dim] = size;
    x = fsim_aten_step(c, "slice", FSIM_AS(name, &s, x->dtype), 1, &x);
    if (x) {
        fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){dim});
        fsim_draft_ints(c->x, "start", 1, &start);
        fsim_draft_ints(c->x, "end", 1, (int64_t[1]){start + size});
    }
    return x;
}

/* Gate k of what is [B, gates H]. */
static fsim_torch_value *gate(direction *d, int64_t t, const char *what, fsim_torch_value *all, int k, int count)
{
    return part(d->r->c, named(d, t, what), all, 1, k * d->r->hidden, count * d->r->hidden);
}

/* x of one step, [B, gates H]. */
static fsim_torch_value *input_of(direction *d, int64_t t)
{
    const fsim_shape s = of_batch(d->r, d->r->gates * d->r->hidden);
    return fsim_aten_reshaped(d->r->c, part(d->r->c, named(d, t, "row"), d->inputs, 0, t, 1), &s);
}

static fsim_torch_value *product(direction *d, int64_t t, const char *what, fsim_torch_value *weight,
                                 fsim_torch_value *bias)
{
    fsim_torch_value *in[3] = {d->h, weight, bias};
    const fsim_shape s = of_batch(d->r, weight ? weight->shape.dim[0] : 1);
    return fsim_aten_step(d->r->c, "linear", FSIM_AS(named(d, t, what), &s, d->r->dtype), 2 + (bias != NULL), in);
}

/* Gates in PyTorch's order: input, forget, candidate, output. */
static bool lstm_step(direction *d, int64_t t)
{
    const int64_t H = d->r->hidden;
    fsim_torch_value *state = product(d, t, "state", d->weight, d->bias), *x = input_of(d, t);
    fsim_torch_value *sums = point(d, named(d, t, "sums"), "add", 4 * H, x, state);
    fsim_torch_value *i = point(d, named(d, t, "i"), "sigmoid", H, gate(d, t, "i_sum", sums, 0, 1), NULL);
    fsim_torch_value *f = point(d, named(d, t, "f"), "sigmoid", H, gate(d, t, "f_sum", sums, 1, 1), NULL);
    fsim_torch_value *g = point(d, named(d, t, "g"), "tanh", H, gate(d, t, "g_sum", sums, 2, 1), NULL);
    fsim_torch_value *o = point(d, named(d, t, "o"), "sigmoid", H, gate(d, t, "o_sum", sums, 3, 1), NULL);
    fsim_torch_value *kept = point(d, named(d, t, "kept"), "mul", H, f, d->cell);
    d->cell = point(d, named(d, t, "c"), "add", H, kept, point(d, named(d, t, "new"), "mul", H, i, g));
    d->h = point(d, named(d, t, d->project ? "wide" : "h"), "mul", H, o,
                 point(d, named(d, t, "c_act"), "tanh", H, d->cell, NULL));
    if (d->project)
        d->h = product(d, t, "h", d->project, NULL);
    return d->h != NULL;
}

/* Gates reset, update, candidate; h = n + z (h - n). */
static bool gru_step(direction *d, int64_t t)
{
    const int64_t H = d->r->hidden;
    fsim_torch_value *x = input_of(d, t);
    fsim_torch_value *state = product(d, t, "state", d->weight, d->bias), *gates = gate(d, t, "x_gates", x, 0, 2);
    fsim_torch_value *sums = point(d, named(d, t, "sums"), "add", 2 * H, gates, state);
    fsim_torch_value *r = point(d, named(d, t, "r"), "sigmoid", H, gate(d, t, "r_sum", sums, 0, 1), NULL);
    fsim_torch_value *z = point(d, named(d, t, "z"), "sigmoid", H, gate(d, t, "z_sum", sums, 1, 1), NULL);
    fsim_torch_value *seen = product(d, t, "state_n", d->reset_weight, d->reset_bias);
    fsim_torch_value *kept_n = point(d, named(d, t, "reset_h"), "mul", H, r, seen), *x_n = gate(d, t, "x_n", x, 2, 1);
    fsim_torch_value *n_sum = point(d, named(d, t, "n_sum"), "add", H, x_n, kept_n);
    fsim_torch_value *n = point(d, named(d, t, "n"), "tanh", H, n_sum, NULL);
    fsim_torch_value *gap = point(d, named(d, t, "gap"), "sub", H, d->h, n);
    d->h = point(d, named(d, t, "h"), "add", H, n, point(d, named(d, t, "kept"), "mul", H, z, gap));
    return d->h != NULL;
}

static bool rnn_step(direction *d, int64_t t)
{
    const int64_t H = d->r->hidden;
    fsim_torch_value *state = product(d, t, "state", d->weight, d->bias), *x = input_of(d, t);
    fsim_torch_value *sums = point(d, named(d, t, "sums"), "add", H, x, state);
    d->h = point(d, named(d, t, "h"), d->r->act, H, sums, NULL);
    return d->h != NULL;
}

/* Row `at` of a state [layers dirs, B, H]. */
static fsim_torch_value *state_at(direction *d, const char *what, fsim_torch_value *state, int at)
{
    const fsim_shape s = of_batch(d->r, state ? state->shape.dim[2] : 1);
    return fsim_aten_reshaped(d->r->c, part(d->r->c, named(d, -1, what), state, 0, at, 1), &s);
}

/* The product of all inputs, and what the steps take. */
static bool begin(direction *d, fsim_torch_value *x, int at)
{
    recurrent *r = d->r;
    fsim_torch_value **own = r->weight + (ptrdiff_t)at * r->each;
    const bool biased = r->each >= 4, projects = r->shown != r->hidden;
    const int64_t rows = (r->gates == 3 ? 2 : r->gates) * r->hidden;
    fsim_shape s = {.rank = 3, .dim = {r->steps, r->batch, r->gates * r->hidden}};
    if (!x || !own[0] || !own[1] || (biased && (!own[2] || !own[3])) || own[1]->shape.rank != 2 ||
        own[1]->shape.dim[0] != r->gates * r->hidden || own[1]->shape.dim[1] != r->shown)
        return false;
    d->project = projects ? own[r->each - 1] : NULL;
    fsim_torch_value *in[3] = {x, own[0], biased ? own[2] : NULL};
    d->inputs = fsim_aten_step(r->c, "linear", FSIM_AS(named(d, -1, "inputs"), &s, r->dtype), 2 + biased, in);
    d->weight = part(r->c, named(d, -1, "weight"), own[1], 0, 0, rows);
    d->bias = biased ? part(r->c, named(d, -1, "bias"), own[3], 0, 0, rows) : NULL;
    if (r->gates == 3) {
        d->reset_weight = part(r->c, named(d, -1, "weight_n"), own[1], 0, rows, r->hidden);
        d->reset_bias = biased ? part(r->c, named(d, -1, "bias_n"), own[3], 0, rows, r->hidden) : NULL;
    }
    d->h = state_at(d, "h0", r->state[0], at);
    d->cell = r->state[1] ? state_at(d, "c0", r->state[1], at) : NULL;
    return d->inputs && d->weight && d->h && (r->gates != 4 || d->cell);
}

/* All states of a direction, [T, B, H]. NULL after an error. */
static fsim_torch_value *run_direction(direction *d, fsim_torch_value *x, int at, bool backward)
{
    recurrent *r = d->r;
    const fsim_shape all = {.rank = 3, .dim = {r->steps, r->batch, r->shown}};
    fsim_torch_value **state = fsim_new(r->c->a, fsim_torch_value *, r->steps);
    if (!begin(d, x, at))
        return NULL;
    for (int64_t n = 0; n < r->steps; n++) {
        const int64_t t = backward ? r->steps - 1 - n : n;
        if (!(r->gates == 4 ? lstm_step(d, t) : r->gates == 3 ? gru_step(d, t) : rnn_step(d, t)))
            return NULL;
        state[t] = d->h;
    }
    r->last[0][at] = d->h;
    r->last[1][at] = d->cell;
    if (r->steps == 1)
        return fsim_aten_reshaped(r->c, state[0], &all);
    fsim_torch_value *y =
        fsim_aten_step(r->c, "stack", FSIM_AS(named(d, -1, "states"), &all, r->dtype), (int)r->steps, state);
    if (y)
        fsim_draft_ints(r->c->x, "dim", 1, (int64_t[1]){0});
    return y;
}

/* A layer: x[T, B, I] becomes [T, B, dirs H]. */
static fsim_torch_value *run_layer(recurrent *r, int layer, fsim_torch_value *x)
{
    fsim_torch_value *y[2] = {NULL, NULL};
    const fsim_shape both = {.rank = 3, .dim = {r->steps, r->batch, 2 * r->shown}};
    for (int i = 0; i < r->dirs; i++) {
        direction d = {.r = r, .name = fsim_printf(r->c->a, "l%d%s", layer, i ? "_back" : "")};
        if (!(y[i] = run_direction(&d, x, layer * r->dirs + i, i == 1)))
            return NULL;
    }
    if (r->dirs == 1)
        return y[0];
    x = fsim_aten_step(r->c, "concat", FSIM_AS(fsim_printf(r->c->a, "l%d.both", layer), &both, r->dtype), 2, y);
    if (x)
        fsim_draft_ints(r->c->x, "dim", 1, (int64_t[1]){2});
    return x;
}

/* The first two dimensions in each other's place. */
static fsim_torch_value *steps_first(fsim_aten *c, fsim_torch_value *x)
{
    fsim_shape s = x->shape;
    s.dim[0] = x->shape.dim[1];
    s.dim[1] = x->shape.dim[0];
    x = fsim_aten_step(c, "transpose", FSIM_AS("steps_first", &s, x->dtype), 1, &x);
    if (x)
        fsim_draft_ints(c->x, "dim", 2, (int64_t[2]){0, 1});
    return x;
}

/* What becomes of the states, [layers dirs, B, H], as output k. */
static bool last_states(recurrent *r, int k)
{
    fsim_aten *c = r->c;
    if (k >= c->outs || !c->out[k] || !c->read[k])
        return true;
    if (r->layers * r->dirs == 1)
        return fsim_aten_reshape(c, k, r->last[k - 1][0]);
    if (!fsim_aten_make(c, k, "stack", r->layers * r->dirs, r->last[k - 1]))
        return false;
    fsim_draft_ints(c->x, "dim", 1, (int64_t[1]){0});
    return true;
}

static bool run(recurrent *r, fsim_torch_value *x, bool batch_first)
{
    fsim_aten *c = r->c;
    for (int i = 0; i < r->layers && x; i++)
        x = run_layer(r, i, x);
    if (!x || !last_states(r, 1) || !last_states(r, 2))
        return false;
    if (!batch_first)
        return fsim_aten_same(c, 0, x);
    if (!fsim_aten_make(c, 0, "transpose", 1, &x))
        return false;
    fsim_draft_ints(c->x, "dim", 2, (int64_t[2]){0, 1});
    return true;
}

/* The states before the first step: one, or two in a list. */
static bool read_states(recurrent *r)
{
    fsim_torch_value **list;
    const int count = fsim_aten_tensors(r->c, "hx", &list);
    r->state[0] = count > 0 ? list[0] : fsim_aten_tensor(r->c, "hx");
    r->state[1] = count > 1 ? list[1] : NULL;
    const fsim_torch_value *h = r->state[0], *cell = r->gates == 4 ? r->state[1] : h;
    if (!h || !cell || h->shape.rank != 3 || cell->shape.rank != 3)
        return false;
    r->shown = h->shape.dim[2];
    r->hidden = cell->shape.dim[2];
    r->each += r->shown != r->hidden;
    fsim_shape s = h->shape;
    s.dim[2] = r->hidden;
    return r->hidden > 0 && r->shown > 0 && h->shape.dim[0] == r->layers * r->dirs && h->shape.dim[1] == r->batch &&
           fsim_aten_same_shape(&s, &cell->shape);
}

/* One step of one layer: lstm_cell, gru_cell, rnn_tanh_cell. States are [B, H]; word as below. */
bool fsim_aten_op_cell(fsim_aten *c, const char *word)
{
    recurrent r = {.c = c, .gates = *word == '4' ? 4 : *word == '3' ? 3 : 1, .act = word, .layers = 1, .dirs = 1};
    fsim_torch_value *x = fsim_aten_tensor(c, "input"), **list,
                     *weight[4] = {fsim_aten_tensor(c, "w_ih"), fsim_aten_tensor(c, "w_hh"),
                                   fsim_aten_tensor(c, "b_ih"), fsim_aten_tensor(c, "b_hh")};
    const int count = fsim_aten_tensors(c, "hx", &list);
    fsim_torch_value *state[2] = {count > 0 ? list[0] : fsim_aten_tensor(c, "hx"), count > 1 ? list[1] : NULL};
    if (!x || x->shape.rank != 2 || !state[0] || state[0]->shape.rank != 2 || (r.gates == 4 && !state[1]))
        return false;
    r.steps = 1;
    r.batch = x->shape.dim[0];
    r.hidden = r.shown = state[0]->shape.dim[1];
    r.dtype = x->dtype;
    r.weight = weight;
    r.each = weight[2] ? 4 : 2;
    const fsim_shape row = {.rank = 3, .dim = {1, r.batch, x->shape.dim[1]}},
                     states = {.rank = 3, .dim = {1, r.batch, r.hidden}};
    for (int i = 0; i < 2; i++)
        r.state[i] = fsim_aten_reshaped(c, state[i], &states);
    direction d = {.r = &r, .name = "cell"};
    if (!run_direction(&d, fsim_aten_reshaped(c, x, &row), 0, false))
        return false;
    for (int k = 0; k < c->outs; k++)
        if (c->out[k] && !fsim_aten_same(c, k, r.last[k][0]))
            return false;
    return true;
}

/* word: "4", "3", or the activation of a plain RNN. */
bool fsim_aten_op_recurrent(fsim_aten *c, const char *word)
{
    recurrent r = {.c = c, .gates = *word == '4' ? 4 : *word == '3' ? 3 : 1, .act = word};
    fsim_torch_value *x = fsim_aten_self(c);
    const bool batch_first = fsim_aten_flag(c, "batch_first", false);
    const int64_t layers = fsim_aten_int(c, "num_layers", 1);
    r.dirs = 1 + fsim_aten_flag(c, "bidirectional", false);
    r.each = fsim_aten_flag(c, "has_biases", true) ? 4 : 2;
    if (!x || x->shape.rank != 3 || layers < 1 || layers > 32)
        return false;
    r.layers = (int)layers;
    x = batch_first ? steps_first(c, x) : x;
    if (!x)
        return false;
    r.steps = x->shape.dim[0];
    r.batch = x->shape.dim[1];
    r.dtype = x->dtype;
    return r.steps >= 1 && r.steps <= MOST_STEPS && read_states(&r) &&
           fsim_aten_tensors(c, "params", &r.weight) == r.layers * r.dirs * r.each && run(&r, x, batch_first);
}
