/* SPDX-License-Identifier: Apache-2.0 */
/* aten_work.c: operators that are kernels of their own in PyTorch, with what they compute. */
#include "import/torch/work.h"

#include <math.h>
#include <string.h>

static const fsim_aten_work each[FSIM_ATEN_WORKS] = {
#define FSIM_ATEN_WORK(id, flops, instructions, source) {flops, instructions},
#include "import/torch/aten_work.def"
#undef FSIM_ATEN_WORK
};

fsim_aten_work fsim_aten_work_of(fsim_aten_work_id id, double units)
{
    return (fsim_aten_work){each[id].flops * units, each[id].instructions * units};
}

/* Of a binary search among n elements. */
static double search_steps(int64_t n)
{
    double steps = 0;
    for (int64_t places = 1; places < n + 1; places *= 2) /* n elements have n + 1 places between and beside them */
        steps++;
    return steps;
}

double fsim_aten_fourier_flops(double length, double count, bool real)
{
    /* FFTW's convention (fftw.org/speed): 5 N log2 N of complex numbers, half of it of real ones */
    return length > 1 ? (real ? 2.5 : 5.0) * length * log2(length) * count : 0;
}

void fsim_aten_put_work(fsim_aten *c, const fsim_shape *s, fsim_aten_work work)
{
    const double elems = (double)fsim_aten_elems(s), flops = elems > 0 ? work.flops / elems : 0,
                 instructions = elems > 0 ? work.instructions / elems : 0;
    if (flops > 0)
        fsim_aten_put(c, "flops", flops, flops == floor(flops));
    fsim_aten_put(c, "instructions", instructions, instructions == floor(instructions));
}

static void put_result(fsim_aten *c, const fsim_shape *s, fsim_dtype dtype, fsim_aten_work work)
{
    fsim_draft_ints(c->x, "shape", s->rank, s->dim);
    fsim_draft_word(c->x, "dtype", fsim_dtype_names[dtype]);
    fsim_aten_put_work(c, s, work);
}

bool fsim_aten_own_kernel(fsim_aten *c, int k, int ins, fsim_torch_value *const *in, fsim_aten_work work)
{
    if (!fsim_aten_make(c, k, "custom", ins, in))
        return false;
    put_result(c, &c->out[k]->shape, c->out[k]->dtype, work);
    return true;
}

fsim_torch_value *fsim_aten_own_step(fsim_aten *c, const fsim_draft_result *as, int ins, fsim_torch_value *const *in,
                                     fsim_aten_work work)
{
    fsim_torch_value *v = fsim_aten_step(c, "custom", as, ins, in);
    if (v)
        put_result(c, &as->shape, as->dtype, work);
    return v;
}

/* The output's elements. */
static double results(const fsim_aten *c, int k) { return (double)fsim_aten_elems(&c->out[k]->shape); }

/* An element of each of n: at least 1. */
static double elems_of(const fsim_torch_value *v) { return v ? (double)fsim_aten_elems(&v->shape) : 0; }

/* A search for each element: in one row of boundaries, or each row in its own. */
bool fsim_aten_op_search(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *row = fsim_aten_tensor(c, "sorted_sequence|boundaries");
    if (!row || row->shape.rank < 1)
        return false;
    const double steps = search_steps(row->shape.dim[row->shape.rank - 1]);
    return fsim_aten_whole_kernel(c, fsim_aten_work_of(FSIM_ATEN_SEARCH, steps * results(c, 0)));
}

bool fsim_aten_op_cross(fsim_aten *c, const char *word)
{
    (void)word;
    return fsim_aten_whole_kernel(c, fsim_aten_work_of(FSIM_ATEN_CROSS, results(c, 0)));
}

/* Random numbers: only tensors that say what is drawn are read, not the one that is filled or whose shape is taken. */
static const struct {
    const char *word;
    fsim_aten_work_id work;
} drawn[] = {{"uniform", FSIM_ATEN_UNIFORM},
             {"normal", FSIM_ATEN_NORMAL},
             {"exponential", FSIM_ATEN_EXPONENTIAL},
             {"integers", FSIM_ATEN_INTEGER},
             {"bernoulli", FSIM_ATEN_BERNOULLI}};

bool fsim_aten_op_drawn(fsim_aten *c, const char *word)
{
    fsim_torch_value *in[2], *mean = fsim_aten_tensor(c, "mean"), *std = fsim_aten_tensor(c, "std"),
                             *p = fsim_aten_tensor(c, "p");
    int ins = 0;
    size_t i = 0;
    while (strcmp(drawn[i].word, word) != 0)
        i++;
    if (mean && !c->in_place)
        in[ins++] = mean;
    if (std && !c->in_place)
        in[ins++] = std;
    if (drawn[i].work == FSIM_ATEN_BERNOULLI && (p || (!fsim_aten_arg(c, "p") && !c->in_place)))
        in[ins++] = p ? p : fsim_aten_self(c);
    return fsim_aten_own_kernel(c, 0, ins, in, fsim_aten_work_of(drawn[i].work, results(c, 0)));
}

/* The order of random keys. */
bool fsim_aten_op_shuffled(fsim_aten *c, const char *word)
{
    (void)word;
    const fsim_shape *s = &c->out[0]->shape;
    fsim_torch_value *keys = fsim_aten_own_step(c, FSIM_AS("keys", s, FSIM_I64), 0, NULL,
                                                fsim_aten_work_of(FSIM_ATEN_INTEGER, results(c, 0)));
    if (!keys || s->rank != 1)
        return false;
    const char *out[2] = {fsim_printf(c->a, "%s.sorted", c->out[0]->name), c->out[0]->name};
    fsim_draft_op_outs(c->x, "sort", 1, &keys->tensor, 2, out);
    keys->reads++;
    c->out[0]->tensor = out[1];
    fsim_draft_expect(c->x, out[1], s, c->out[0]->dtype);
    return true;
}

/* Without putting back, or one alone: the largest of p over random numbers, as PyTorch has it; else a search among the
 * sums of p for each. */
bool fsim_aten_op_multinomial(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *p = fsim_aten_self(c);
    const int64_t count = fsim_aten_int(c, "num_samples", 1);
    if (!p || p->shape.rank < 1)
        return false;
    const int last = p->shape.rank - 1;
    if (fsim_aten_flag(c, "replacement", false) && count > 1) {
        fsim_torch_value *sums = fsim_aten_step(c, "cumsum", FSIM_AS("sums", &p->shape, p->dtype), 1, &p);
        fsim_draft_int(c->x, "dim", last);
        fsim_aten_work work = fsim_aten_work_of(FSIM_ATEN_SEARCH, search_steps(p->shape.dim[last]));
        const fsim_aten_work number = fsim_aten_work_of(FSIM_ATEN_UNIFORM, 1);
        work.flops = (work.flops + number.flops) * results(c, 0);
        work.instructions = (work.instructions + number.instructions) * results(c, 0);
        return fsim_aten_own_kernel(c, 0, 1, &sums, work);
    }
    fsim_torch_value *q = fsim_aten_own_step(c, FSIM_AS("drawn", &p->shape, p->dtype), 0, NULL,
                                             fsim_aten_work_of(FSIM_ATEN_EXPONENTIAL, elems_of(p)));
    q = fsim_aten_step(c, "div", FSIM_AS("ranked", &p->shape, p->dtype), 2, (fsim_torch_value *[2]){p, q});
    if (count == 1) {
        if (!fsim_aten_make(c, 0, "argmax", 1, &q))
            return false;
        fsim_draft_int(c->x, "dim", last);
        fsim_draft_flag(c->x, "keepdim", true);
        return true;
    }
    if (!q)
        return false;
    const char *out[2] = {fsim_printf(c->a, "%s.values", c->out[0]->name), c->out[0]->name};
    fsim_draft_op_outs(c->x, "topk", 1, &q->tensor, 2, out);
    fsim_draft_int(c->x, "k", count);
    fsim_draft_int(c->x, "dim", last);
    q->reads++;
    c->out[0]->tensor = out[1];
    fsim_draft_expect(c->x, out[1], &c->out[0]->shape, c->out[0]->dtype);
    return true;
}

/* A step of a scan for each element. */
bool fsim_aten_op_running(fsim_aten *c, const char *word)
{
    return fsim_aten_whole_kernel(
        c, fsim_aten_work_of(*word == 'l' ? FSIM_ATEN_RUNNING_LOG : FSIM_ATEN_RUNNING, results(c, 0)));
}

/* What is equal stands side by side in a sorted row: mode, unique. word: "sorted": it is sorted as it is. The number of
 * different elements depends on data, of the mode not. */
bool fsim_aten_op_counted(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!x)
        return false;
    const bool mode = strcmp(word, "mode") == 0;
    const fsim_shape flat = {.rank = 1, .dim = {fsim_aten_elems(&x->shape)}};
    fsim_torch_value *row = mode ? x : fsim_aten_reshaped(c, x, &flat);
    if (!mode)
        fsim_aten_assume(c, fsim_printf(c->a, "how many elements differ depends on data; assumed: %.0f of %.0f",
                                        results(c, 0), elems_of(x)));
    if (strcmp(word, "sorted") != 0 && row->tensor && row->shape.rank > 0) {
        const char *out[2] = {fsim_printf(c->a, "%s.sorted", c->out[0]->name),
                              fsim_printf(c->a, "%s.places", c->out[0]->name)};
        const int64_t dim = fsim_aten_axis(mode ? fsim_aten_int(c, "dim", -1) : -1, row->shape.rank);
        fsim_draft_op_outs(c->x, "sort", 1, &row->tensor, 2, out);
        fsim_draft_int(c->x, "dim", dim);
        row->reads++;
        fsim_torch_value *sorted = fsim_new(c->a, fsim_torch_value, 1);
        *sorted = (fsim_torch_value){.shape = row->shape, .dtype = row->dtype, .dim = -1, .tensor = out[0]};
        row = sorted;
    }
    const fsim_aten_work none = {0, 0}, work = fsim_aten_work_of(FSIM_ATEN_COUNTED, elems_of(x));
    const int first = fsim_aten_first_read(c);
    for (int k = first; k < c->outs; k++)
        if (c->out[k] && !c->out[k]->empty && (k == first || c->read[k]) &&
            !fsim_aten_own_kernel(c, k, k == first ? 1 : 0, &row, k == first ? work : none))
            return false;
    return true;
}

/* As many results as data say. */
bool fsim_aten_op_chosen(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    if (!x || !c->out[0])
        return false;
    if (strcmp(word, "static") != 0) {
        const fsim_shape *s = &c->out[0]->shape;
        fsim_aten_assume(c, fsim_printf(c->a, "how many it finds depends on data; assumed: %lld of %.0f",
                                        s->rank > 0 ? (long long)s->dim[0] : 1, elems_of(x)));
    }
    return fsim_aten_whole_kernel(c, (fsim_aten_work){0, 0});
}

/* Values put back to where a pool took them from, zeros elsewhere. */
bool fsim_aten_op_unpool(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c), *index = fsim_aten_tensor(c, "indices");
    const int axes = *word - '0', rank = x ? x->shape.rank : 0;
    fsim_shape rows = {.rank = 2, .dim = {1, 1}}, all = rows;
    if (!x || !index || rank < axes || !fsim_aten_same_shape(&x->shape, &index->shape))
        return false;
    for (int i = 0; i < rank; i++) {
        rows.dim[i >= rank - axes] *= x->shape.dim[i];
        all.dim[i >= rank - axes] *= c->out[0]->shape.dim[i];
    }
    if (rows.dim[0] != all.dim[0])
        return false;
    fsim_torch_value *zeros = fsim_aten_step(c, "fill", FSIM_AS("zeros", &all, x->dtype), 0, NULL);
    fsim_draft_ints(c->x, "shape", all.rank, all.dim);
    fsim_draft_word(c->x, "dtype", fsim_dtype_names[x->dtype]);
    fsim_torch_value *in[3] = {zeros, fsim_aten_reshaped(c, index, &rows), fsim_aten_reshaped(c, x, &rows)};
    x = fsim_aten_step(c, "scatter", FSIM_AS("placed", &all, x->dtype), 3, in);
    fsim_draft_int(c->x, "dim", 1);
    return fsim_aten_reshape(c, 0, x);
}

/* Rows that are joined with those of x by more than a sum. */
bool fsim_aten_op_index_reduce(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *from = fsim_aten_tensor(c, "source");
    return from && fsim_aten_whole_kernel(c, fsim_aten_work_of(FSIM_ATEN_ADDED, elems_of(from)));
}

/* Places of an affine map: the base grid's [1, H W, 3] times the map's transpose. */
bool fsim_aten_op_affine_grid(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *map = fsim_aten_tensor(c, "theta");
    const fsim_shape *s = &c->out[0]->shape;
    if (!map || map->shape.rank != 3 || s->rank < 4 || fsim_aten_elems(s) == 0)
        return false;
    const int64_t axes = s->dim[s->rank - 1], places = fsim_aten_elems(s) / (s->dim[0] * axes);
    if (map->shape.dim[0] != s->dim[0] || map->shape.dim[1] != axes || map->shape.dim[2] != axes + 1)
        return false;
    const fsim_shape base = {.rank = 3, .dim = {s->dim[0], places, axes + 1}},
                     turned = {.rank = 3, .dim = {s->dim[0], axes + 1, axes}},
                     made = {.rank = 3, .dim = {s->dim[0], places, axes}};
    fsim_torch_value *grid = fsim_aten_step(c, "fill", FSIM_AS("base", &base, map->dtype), 0, NULL);
    fsim_draft_ints(c->x, "shape", base.rank, base.dim);
    fsim_draft_word(c->x, "dtype", fsim_dtype_names[map->dtype]);
    map = fsim_aten_step(c, "transpose", FSIM_AS("turned", &turned, map->dtype), 1, &map);
    if (map)
        fsim_draft_ints(c->x, "dim", 2, (int64_t[2]){1, 2});
    return fsim_aten_reshape(
        c, 0,
        fsim_aten_step(c, "bmm", FSIM_AS("places", &made, c->out[0]->dtype), 2, (fsim_torch_value *[2]){grid, map}));
}
