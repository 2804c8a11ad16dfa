/* SPDX-License-Identifier: Apache-2.0 */
/* aten_index.c: what data choose: lookups, indexing as NumPy has it, writes into a part. */
#include "import/torch/work.h"

#include <string.h>

static void put_dim(fsim_aten *c, int64_t dim) { fsim_draft_ints(c->x, "dim", 1, &dim); }

static bool is_mask(const fsim_torch_value *v) { return v->dtype == FSIM_BOOL || v->dtype == FSIM_U8; }

bool fsim_aten_op_embedding(fsim_aten *c, const char *word)
{
    (void)word;
    return fsim_aten_make(c, 0, "embedding", 2,
                          (fsim_torch_value *[2]){fsim_aten_tensor(c, "indices"), fsim_aten_tensor(c, "weight")});
}

/* Does anything read an output from number k on? */
static bool any_read(const fsim_aten *c, int k)
{
    for (; k < c->outs; k++)
        if (c->out[k] && !c->out[k]->empty && c->read[k])
            return true;
    return false;
}

/* Rows of a table, and sums of segments of them: as many rows are read as there are indices. */
bool fsim_aten_op_embedding_bag(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *table = fsim_aten_tensor(c, "weight"), *index = fsim_aten_tensor(c, "indices");
    fsim_torch_value *offsets = fsim_aten_tensor(c, "offsets");
    if (!table || !index || table->shape.rank != 2 || index->shape.rank > 2)
        return false;
    static const char *const mode[] = {"sum", "mean", "max"};
    const int64_t which = fsim_aten_int(c, "mode", 0);
    const bool bags = index->shape.rank == 2 ? !offsets : offsets && offsets->shape.dim[0] == c->out[0]->shape.dim[0];
    if (bags && which >= 0 && which < 3 && !fsim_aten_tensor(c, "per_sample_weights") && !any_read(c, 1)) {
        if (!fsim_aten_make(c, 0, "embedding_bag", offsets ? 3 : 2, (fsim_torch_value *[3]){index, table, offsets}))
            return false;
        fsim_draft_word(c->x, "mode", mode[which]);
        return true;
    }
    fsim_shape rows = index->shape;
    rows.dim[rows.rank++] = table->shape.dim[1];
    fsim_torch_value *row =
        fsim_aten_step(c, "embedding", FSIM_AS("rows", &rows, table->dtype), 2, (fsim_torch_value *[2]){index, table});
    fsim_torch_value *in[2] = {row, offsets};
    for (int k = 0; k < c->outs; k++) {
        fsim_torch_value *v = c->out[k];
        if (!v || v->empty || (k > 0 && !c->read[k]))
            continue;
        const double sums = k == 0 ? (double)fsim_aten_elems(&rows) : 0;
        if (!fsim_aten_own_kernel(c, k, offsets ? 2 : 1, in, (fsim_aten_work){sums, sums}))
            return false;
    }
    return true;
}

bool fsim_aten_op_gather(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *index = fsim_aten_tensor(c, "index|indices");
    const int dim = x ? fsim_aten_axis(fsim_aten_int(c, "dim", 0), x->shape.rank) : -1;
    if (dim < 0 || !index || index->shape.rank != x->shape.rank)
        return false;
    for (int i = 0; i < x->shape.rank; i++) /* take_along_dim broadcasts */
        if (i != dim && index->shape.dim[i] > x->shape.dim[i])
            return false;
    index = fsim_aten_expanded(c, index, &c->out[0]->shape);
    if (!fsim_aten_make(c, 0, "gather", 2, (fsim_torch_value *[2]){x, index}))
        return false;
    put_dim(c, dim);
    return true;
}

/* Output k is the rows of x along dim that index[n] names. */
static bool rows_along(fsim_aten *c, fsim_torch_value *x, int dim, fsim_torch_value *index)
{
    if (!fsim_aten_make(c, 0, "index_select", 2, (fsim_torch_value *[2]){x, index}))
        return false;
    put_dim(c, dim);
    return true;
}

bool fsim_aten_op_index_select(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const int dim = x ? fsim_aten_axis(fsim_aten_int(c, "dim", 0), x->shape.rank) : -1;
    return dim >= 0 && rows_along(c, x, dim, fsim_aten_tensor(c, "index"));
}

/* Elements by their number in x as a whole. */
bool fsim_aten_op_take(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *index = fsim_aten_tensor(c, "index");
    if (!x || !index)
        return false;
    const fsim_shape flat = {.rank = 1, .dim = {fsim_aten_elems(&x->shape)}},
                     at = {.rank = 1, .dim = {fsim_aten_elems(&index->shape)}};
    fsim_torch_value *in[2] = {fsim_aten_reshaped(c, x, &flat), fsim_aten_reshaped(c, index, &at)};
    x = fsim_aten_step(c, "index_select", FSIM_AS("taken", &at, x->dtype), 2, in);
    if (x)
        put_dim(c, 0);
    return fsim_aten_reshape(c, 0, x);
}

/* x[i, j] with indices that are tensors or nothing (':'). */

typedef struct {
    fsim_torch_value *index[FSIM_MAX_RANK]; /* of each dimension of x; NULL: ':' */
    int first, count;                       /* the indices stand in dimensions first to first + count - 1 */
    fsim_shape at;                          /* what they broadcast to */
} picks;

static bool broadcast(fsim_shape *to, const fsim_shape *with)
{
    fsim_shape wide = to->rank >= with->rank ? *to : *with;
    for (int i = 1; i <= wide.rank; i++) {
        const int64_t a = i <= to->rank ? to->dim[to->rank - i] : 1,
                      b = i <= with->rank ? with->dim[with->rank - i] : 1;
        if (a != b && a != 1 && b != 1)
            return false;
        wide.dim[wide.rank - i] = a == 1 ? b : a;
    }
    *to = wide;
    return true;
}

/* The indices of a node. False: masks among them, or not side by side. */
static bool read_picks(fsim_aten *c, const fsim_torch_value *x, picks *p)
{
    fsim_torch_value **list;
    const int count = fsim_aten_tensors(c, "indices", &list);
    *p = (picks){.first = -1};
    if (count < 1 || count > x->shape.rank)
        return false;
    for (int i = 0; i < count; i++) {
        if (!list[i])
            continue;
        if (is_mask(list[i]) || !broadcast(&p->at, &list[i]->shape) || (p->first >= 0 && i > p->first + p->count))
            return false;
        p->index[i] = list[i];
        p->first = p->first < 0 ? i : p->first;
        p->count = i - p->first + 1;
    }
    return p->first >= 0;
}

/* Where a mask of x's dimensions from `dim` on holds: as PyTorch has it, the places first, whose number the file says
 * (a symbol of --dim), then a gather of rows by the gather's rule. */
static bool where_it_holds(fsim_aten *c, fsim_torch_value *x, fsim_torch_value *mask, int dim)
{
    const fsim_shape *out = &c->out[0]->shape;
    const int skipped = mask->shape.rank;
    if (out->rank <= dim || dim + skipped > x->shape.rank || out->rank != x->shape.rank - skipped + 1)
        return false;
    const fsim_shape places = {.rank = 1, .dim = {out->dim[dim]}};
    fsim_shape rows = x->shape;
    rows.rank = dim;
    rows.dim[rows.rank++] = fsim_aten_elems(&mask->shape);
    for (int i = dim + skipped; i < x->shape.rank; i++)
        rows.dim[rows.rank++] = x->shape.dim[i];
    if (fsim_aten_elems(&rows) != fsim_aten_elems(&x->shape))
        return false;
    fsim_aten_assume(c, fsim_printf(c->a, "where its mask holds depends on data; assumed: in %lld of %lld places",
                                    (long long)places.dim[0], (long long)rows.dim[dim]));
    fsim_torch_value *at =
        fsim_aten_own_step(c, FSIM_AS("places", &places, FSIM_I64), 1, &mask, (fsim_aten_work){0, 0});
    return at && rows_along(c, fsim_aten_reshaped(c, x, &rows), dim, at);
}

bool fsim_aten_op_masked_select(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *mask = fsim_aten_tensor(c, "mask");
    if (!x || !mask)
        return false;
    fsim_shape both = x->shape;
    if (!broadcast(&both, &mask->shape))
        return false;
    return where_it_holds(c, fsim_aten_expanded(c, x, &both), fsim_aten_expanded(c, mask, &both), 0);
}

/* Is the index of dimension i the only one? */
static bool alone(fsim_torch_value *const *list, int count, int i)
{
    for (int k = 0; k < count; k++)
        if (k != i && list[k])
            return false;
    return true;
}

bool fsim_aten_op_index(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c), **list, *in[FSIM_MAX_RANK + 1] = {x};
    int64_t dims[FSIM_MAX_RANK];
    int ins = 1;
    const int count = x ? fsim_aten_tensors(c, "indices", &list) : -1;
    if (count < 1 || count > x->shape.rank)
        return false;
    for (int i = 0; i < count; i++) {
        if (list[i] && is_mask(list[i]))
            return alone(list, count, i) && where_it_holds(c, x, list[i], i);
        if (list[i]) {
            dims[ins - 1] = i;
            in[ins++] = list[i];
        }
    }
    if (ins > 5)
        return false; /* more than our operator takes */
    if (ins < 2 || !fsim_aten_make(c, 0, word, ins, in))
        return ins < 2 && fsim_aten_same(c, 0, x);
    fsim_draft_ints(c->x, "dim", ins - 1, dims);
    return true;
}

/* Writes. */

/* As many of a source's elements as the mask holds, in their order: the sums of the mask say which one each place
 * takes. A mask of x's first dimensions stands for all that follow. */
static bool scatter_masked(fsim_aten *c, fsim_torch_value *x, fsim_torch_value *mask, fsim_torch_value *from)
{
    const fsim_shape *s = &c->out[0]->shape;
    if (from->empty || !fsim_aten_same_shape(&x->shape, s))
        return false;
    const fsim_shape flat = {.rank = 1, .dim = {fsim_aten_elems(s)}},
                     given = {.rank = 1, .dim = {fsim_aten_elems(&from->shape)}};
    mask = fsim_aten_expanded(c, fsim_aten_cast(c, mask, FSIM_BOOL), s);
    fsim_torch_value *sums = fsim_aten_reshaped(c, mask, &flat);
    sums = sums ? fsim_aten_step(c, "cumsum", FSIM_AS("sums", &flat, FSIM_I64), 1, &sums) : NULL;
    put_dim(c, 0);
    from = fsim_aten_reshaped(c, fsim_aten_cast(c, from, x->dtype), &given);
    from = fsim_aten_step(c, "index_select", FSIM_AS("taken", &flat, x->dtype), 2, (fsim_torch_value *[2]){from, sums});
    put_dim(c, 0);
    return fsim_aten_make(c, 0, "where", 3, (fsim_torch_value *[3]){mask, fsim_aten_reshaped(c, from, s), x});
}

/* Where a mask holds: x elsewhere. */
static bool put_masked(fsim_aten *c, fsim_torch_value *x, fsim_torch_value *mask, fsim_torch_value *values)
{
    fsim_shape wide = x->shape;
    for (int i = mask->shape.rank; i < wide.rank; i++)
        wide.dim[i] = 1;
    mask = fsim_aten_reshaped(c, fsim_aten_cast(c, mask, FSIM_BOOL), &wide);
    if (fsim_aten_elems(&values->shape) == 1)
        return fsim_aten_make(c, 0, "where", 3, (fsim_torch_value *[3]){mask, values, x});
    return mask && scatter_masked(c, x, mask, values);
}

/* Puts rows into x: index_copy, index_add. */
static bool write_rows(fsim_aten *c, const char *op, int dim, fsim_torch_value *x, fsim_torch_value *at,
                       fsim_torch_value *rows)
{
    const bool over = x && fsim_aten_may_overwrite(c, x);
    if (!fsim_aten_make(c, 0, op, 3, (fsim_torch_value *[3]){x, at, rows}))
        return false;
    put_dim(c, dim);
    fsim_draft_flag(c->x, "inplace", over);
    return true;
}

/* index_put with indices from the first dimension on, as our operator has it. */
static bool put_front(fsim_aten *c, fsim_torch_value *x, const picks *p, fsim_torch_value *values)
{
    fsim_torch_value *in[FSIM_MAX_RANK + 2] = {x};
    fsim_shape wide = p->at;
    const bool over = fsim_aten_may_overwrite(c, x);
    for (int i = p->count; i < x->shape.rank; i++) {
        if (wide.rank == FSIM_MAX_RANK)
            return false;
        wide.dim[wide.rank++] = x->shape.dim[i];
    }
    for (int i = 0; i < p->count; i++)
        in[1 + i] = fsim_aten_expanded(c, p->index[i], &p->at);
    in[1 + p->count] = fsim_aten_expanded(c, values, &wide);
    if (!fsim_aten_make(c, 0, "index_put", 2 + p->count, in))
        return false;
    fsim_draft_flag(c->x, "accumulate", fsim_aten_flag(c, "accumulate", false));
    fsim_draft_flag(c->x, "inplace", over);
    return true;
}

/* One index for a later dimension: rows along it. */
static bool put_along(fsim_aten *c, fsim_torch_value *x, const picks *p, fsim_torch_value *values)
{
    fsim_shape rows = x->shape;
    const fsim_shape flat = {.rank = 1, .dim = {fsim_aten_elems(&p->at)}};
    rows.dim[p->first] = flat.dim[0];
    fsim_torch_value *at = fsim_aten_reshaped(c, p->index[p->first], &flat);
    return write_rows(c, fsim_aten_flag(c, "accumulate", false) ? "index_add" : "index_copy", p->first, x, at,
                      fsim_aten_expanded(c, values, &rows));
}

/* x with dimensions first to first + count in front, or back from there. */
static fsim_torch_value *turned(fsim_aten *c, const char *what, fsim_torch_value *x, const picks *p, bool back)
{
    int64_t order[FSIM_MAX_RANK];
    fsim_shape s = {.rank = x ? x->shape.rank : 0};
    for (int i = 0; i < s.rank; i++) {
        const int from = i < p->count ? p->first + i : i < p->first + p->count ? i - p->count : i;
        order[back ? from : i] = back ? i : from;
    }
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = x->shape.dim[order[i]];
    x = x ? fsim_aten_step(c, "permute", FSIM_AS(what, &s, x->dtype), 1, &x) : NULL;
    if (x)
        fsim_draft_ints(c->x, "dim", s.rank, order);
    return x;
}

/* index_put along later dimensions side by side: with those in front. The values have the indices' dimensions where the
 * indices stand. */
static bool put_turned(fsim_aten *c, fsim_torch_value *x, const picks *p, fsim_torch_value *values)
{
    fsim_shape wide = {.rank = p->first};
    picks front = {.first = 0, .count = p->count, .at = p->at}, moved = {.first = p->first, .count = p->at.rank};
    if (p->count > 3 || x->shape.rank - p->count + p->at.rank > FSIM_MAX_RANK)
        return false;
    for (int i = 0; i < p->count; i++)
        if (!(front.index[i] = p->index[p->first + i]))
            return false;
    memcpy(wide.dim, x->shape.dim, (size_t)p->first * sizeof *wide.dim);
    for (int i = 0; i < p->at.rank; i++)
        wide.dim[wide.rank++] = p->at.dim[i];
    for (int i = p->first + p->count; i < x->shape.rank; i++)
        wide.dim[wide.rank++] = x->shape.dim[i];
    values = turned(c, "values_first", fsim_aten_expanded(c, values, &wide), &moved, false);
    fsim_torch_value *in[FSIM_MAX_RANK + 2] = {turned(c, "indexed_first", x, p, false)};
    for (int i = 0; i < p->count; i++)
        in[1 + i] = fsim_aten_expanded(c, front.index[i], &p->at);
    in[1 + p->count] = values;
    if (!in[0] || !values)
        return false;
    const fsim_shape made = in[0]->shape;
    fsim_torch_value *y = fsim_aten_step(c, "index_put", FSIM_AS("put", &made, x->dtype), 2 + p->count, in);
    fsim_draft_flag(c->x, "accumulate", fsim_aten_flag(c, "accumulate", false));
    fsim_draft_flag(c->x, "inplace", false);
    return fsim_aten_same(c, 0, turned(c, "back", y, p, true));
}

bool fsim_aten_op_index_put(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *values = fsim_aten_tensor(c, "values"), **list;
    picks p;
    const int count = x ? fsim_aten_tensors(c, "indices", &list) : -1;
    if (count < 1 || !values)
        return false;
    values = fsim_aten_cast(c, values, x->dtype);
    if (count == 1 && list[0] && is_mask(list[0]))
        return put_masked(c, x, list[0], values);
    if (!read_picks(c, x, &p) || fsim_aten_elems(&p.at) == 0)
        return false;
    if (p.first == 0 && p.count <= 3)
        return put_front(c, x, &p, values);
    return p.count == 1 && p.at.rank == 1 ? put_along(c, x, &p, values) : put_turned(c, x, &p, values);
}

bool fsim_aten_op_index_write(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c), *at = fsim_aten_tensor(c, "index"), *rows = fsim_aten_tensor(c, "source");
    const int dim = x ? fsim_aten_axis(fsim_aten_int(c, "dim", 0), x->shape.rank) : -1;
    if (dim < 0 || !rows)
        return false;
    fsim_shape s = x->shape;
    s.dim[dim] = at ? fsim_aten_elems(&at->shape) : 0;
    return fsim_aten_same_shape(&s, &rows->shape) && write_rows(c, word, dim, x, at, rows);
}

/* An index for each element of the source, or one number for all. */
bool fsim_aten_op_scatter(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *at = fsim_aten_tensor(c, "index"), *from = fsim_aten_tensor(c, "src");
    const int dim = x ? fsim_aten_axis(fsim_aten_int(c, "dim", 0), x->shape.rank) : -1;
    if (dim < 0 || !at)
        return false;
    fsim_shape s = at->shape;
    if (strcmp(c->op, "index_fill") == 0) {
        s = x->shape;
        s.dim[dim] = fsim_aten_elems(&at->shape);
    }
    if (!from)
        from = fsim_aten_expanded(c, fsim_aten_constant(c, fsim_aten_number(c, "value", 0), false, x->dtype), &s);
    if (from && (at->shape.rank != x->shape.rank ? at->shape.rank != 1 : from->shape.rank != x->shape.rank))
        return false;
    const bool sums = strcmp(c->op, "scatter_add") == 0 ||
                      (strcmp(c->op, "scatter_reduce") == 0 && strcmp(fsim_aten_text(c, "reduce", ""), "sum") == 0);
    if (!fsim_aten_make(c, 0, sums ? "scatter_add" : "scatter", 3, (fsim_torch_value *[3]){x, at, from}))
        return false;
    put_dim(c, dim);
    return true;
}

/* x with a part of it replaced: rows start to start + n along dim. */
bool fsim_aten_op_slice_scatter(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *rows = fsim_aten_tensor(c, "src");
    const int dim = x ? fsim_aten_axis(fsim_aten_int(c, "dim", 0), x->shape.rank) : -1;
    const int64_t step = fsim_aten_int(c, "step", 1);
    if (dim < 0 || !rows || step < 1 || step > FSIM_MAX_DIM)
        return false;
    int64_t start = fsim_aten_int(c, "start|index", 0);
    start = start < 0 ? start + x->shape.dim[dim] : start;
    if (rows->shape.rank < x->shape.rank) { /* select_scatter */
        fsim_shape s = x->shape;
        s.dim[dim] = 1;
        rows = fsim_aten_reshaped(c, rows, &s);
    }
    if (rows && fsim_aten_same_shape(&rows->shape, &x->shape))
        return fsim_aten_same(c, 0, rows);
    if (!rows || start < 0 || start > x->shape.dim[dim])
        return false;
    if (rows->base && rows->dim == dim && rows->start == start && rows->step == step &&
        fsim_aten_is_same_view(rows->base, x))
        return fsim_aten_same(c, 0, x); /* what was there already */
    const fsim_aten_part at = {dim, start, step, fsim_aten_may_overwrite(c, x)};
    return fsim_aten_same(c, 0, fsim_aten_with_part(c, x, &at, rows));
}

/* How many elements fall into each place: ones, or weights, added up there. word: "bins": of a range, else the elements
 * are the places. */
bool fsim_aten_op_counts(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c), *weights = fsim_aten_tensor(c, "weights"), *out = c->out[0];
    if (!x || out->shape.rank != 1)
        return false;
    const fsim_shape flat = {.rank = 1, .dim = {fsim_aten_elems(&x->shape)}};
    x = fsim_aten_reshaped(c, x, &flat);
    if (*word) { /* (x - least) bins / range */
        const double least = fsim_aten_number(c, "min", 0), most = fsim_aten_number(c, "max", 0);
        x = x ? fsim_aten_step(c, "sub", FSIM_AS("from_least", &flat, x->dtype), 1, &x) : NULL;
        fsim_draft_number(c->x, "scalar", least);
        x = x ? fsim_aten_step(c, "mul", FSIM_AS("bins", &flat, x->dtype), 1, &x) : NULL;
        fsim_draft_number(c->x, "scalar", most > least ? (double)out->shape.dim[0] / (most - least) : 1);
    }
    x = fsim_aten_cast(c, x, FSIM_I64);
    if (!weights)
        weights = fsim_aten_expanded(c, fsim_aten_constant(c, 1, true, out->dtype), &flat);
    fsim_torch_value *none = fsim_aten_expanded(c, fsim_aten_constant(c, 0, true, out->dtype), &out->shape);
    if (!fsim_aten_make(c, 0, "scatter_add", 3, (fsim_torch_value *[3]){none, x, weights}))
        return false;
    put_dim(c, 0);
    return true;
}

bool fsim_aten_op_masked_scatter(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c), *mask = fsim_aten_tensor(c, "mask"), *from = fsim_aten_tensor(c, "source");
    return x && mask && from && scatter_masked(c, x, mask, from);
}

bool fsim_aten_op_one_hot(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const fsim_shape *s = &c->out[0]->shape;
    if (s->rank < 1 || !fsim_aten_make(c, 0, "one_hot", 1, &x))
        return false;
    fsim_draft_int(c->x, "num_classes", s->dim[s->rank - 1]);
    return true;
}

/* Orders. */

bool fsim_aten_op_topk(fsim_aten *c, const char *word)
{
    fsim_torch_value *x = fsim_aten_self(c);
    const int dim = x ? fsim_aten_axis(fsim_aten_int(c, "dim", -1), x->shape.rank) : -1;
    if (dim < 0 || !fsim_aten_make_all(c, word, 1, &x))
        return false;
    if (strcmp(word, "topk") == 0)
        fsim_draft_int(c->x, "k", fsim_aten_int(c, "k", 1));
    put_dim(c, dim);
    return true;
}

/* The second result of a sort. */
bool fsim_aten_op_argsort(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    const int dim = x ? fsim_aten_axis(fsim_aten_int(c, "dim", -1), x->shape.rank) : -1;
    if (dim < 0 || !x->tensor)
        return false;
    const char *out[2] = {fsim_printf(c->a, "%s.sorted", c->out[0]->name), c->out[0]->name};
    fsim_draft_op_outs(c->x, "sort", 1, &x->tensor, 2, out);
    put_dim(c, dim);
    x->reads++;
    c->out[0]->tensor = out[1];
    fsim_draft_expect(c->x, out[1], &c->out[0]->shape, c->out[0]->dtype);
    return true;
}

/* One of each row by its rank, and its place: kthvalue, median. Selected as the largest are. */
bool fsim_aten_op_ranked(fsim_aten *c, const char *word)
{
    (void)word;
    fsim_torch_value *x = fsim_aten_self(c);
    if (!x || x->shape.rank < 1)
        return false;
    const bool all = !fsim_aten_arg(c, "dim") && c->outs == 1;
    const fsim_shape flat = {.rank = 1, .dim = {fsim_aten_elems(&x->shape)}};
    x = all ? fsim_aten_reshaped(c, x, &flat) : x;
    const int dim = fsim_aten_axis(fsim_aten_int(c, "dim", -1), x->shape.rank);
    if (dim < 0 || !x->tensor)
        return false;
    fsim_shape one = x->shape;
    one.dim[dim] = 1;
    fsim_torch_value *made[2];
    const char *out[2];
    for (int k = 0; k < 2; k++) {
        const bool kept = k < c->outs && c->out[k];
        made[k] = fsim_new(c->a, fsim_torch_value, 1);
        *made[k] = (fsim_torch_value){.shape = one, .dtype = k ? FSIM_I64 : x->dtype, .dim = -1};
        out[k] = fsim_printf(c->a, "%s.%s", kept ? c->out[k]->name : c->out[0]->name, k ? "at" : "kept");
    }
    fsim_draft_op_outs(c->x, "topk", 1, &x->tensor, 2, out);
    fsim_draft_int(c->x, "k", 1);
    put_dim(c, dim);
    x->reads++;
    for (int k = 0; k < 2; k++) {
        made[k]->tensor = out[k];
        fsim_draft_expect(c->x, out[k], &one, made[k]->dtype);
        if (k < c->outs && c->out[k] && !fsim_aten_reshape(c, k, made[k]))
            return false;
    }
    return true;
}
