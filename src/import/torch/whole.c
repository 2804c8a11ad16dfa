/* SPDX-License-Identifier: Apache-2.0 */
#include "import/torch/whole.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGS = 6 };

/* Parts. */

/* Is it a node of this operator, "aten.roll"? */
static bool is_op(const fsim_torch_node *n, const char *op)
{
    const size_t length = strlen(op);
    return strncmp(n->target, "aten.", 5) == 0 && strncmp(n->target + 5, op, length) == 0 &&
           n->target[5 + length] == '.';
}

/* The number-th part of this operator; NULL: there is none. */
static const fsim_torch_node *part(const fsim_torch_parts *p, const char *op, int number)
{
    for (int i = 0; i < p->nodes; i++)
        if (is_op(&p->first[i], op) && number-- == 0)
            return &p->first[i];
    return NULL;
}

static const fsim_torch_arg *arg(const fsim_torch_node *n, const char *name)
{
    for (int i = 0; n && i < n->ins; i++)
        if (strcmp(n->in[i].name, name) == 0 && n->in[i].kind != FSIM_TORCH_NONE)
            return &n->in[i];
    return NULL;
}

/* A number of the file; INT64_MIN: it is none, or symbolic. */
static int64_t number(const fsim_torch_arg *a)
{
    return a && a->kind == FSIM_TORCH_INT && !a->text ? a->integer : INT64_MIN;
}

static bool made_by(const fsim_torch_node *n, const char *tensor)
{
    for (int k = 0; k < n->outs; k++)
        if (n->out[k].kind == FSIM_TORCH_TENSOR && strcmp(n->out[k].text, tensor) == 0)
            return true;
    return false;
}

static const fsim_torch_node *maker(const fsim_torch_parts *p, const char *tensor)
{
    for (int i = 0; i < p->nodes; i++)
        if (made_by(&p->first[i], tensor))
            return &p->first[i];
    return NULL;
}

/* A tensor from outside that an argument is, through parts that view, widen or cast it, or multiply it by a number;
 * NULL: it is none. */
static const char *from_outside(const fsim_torch_parts *p, const fsim_torch_arg *a)
{
    static const char *const views[] = {"expand", "view", "permute", "unsqueeze", "clone", "_unsafe_view", "_to_copy"};
    while (a && a->kind == FSIM_TORCH_TENSOR) {
        const fsim_torch_node *n = maker(p, a->text);
        if (!n)
            return a->text;
        bool view = false;
        for (size_t i = 0; i < sizeof views / sizeof *views; i++)
            view = view || is_op(n, views[i]);
        const fsim_torch_arg *other = is_op(n, "mul") ? arg(n, "other") : NULL;
        view = view || (other && other->kind != FSIM_TORCH_TENSOR);
        a = view ? arg(n, "self") : NULL;
    }
    return NULL;
}

static const char *only_one(const fsim_torch_parts *p, const fsim_torch_arg *a, int count, const char *found)
{
    for (int i = 0; i < count && (!found || *found); i++) {
        if (a[i].kind == FSIM_TORCH_LIST)
            found = only_one(p, a[i].item, a[i].count, found);
        if (a[i].kind != FSIM_TORCH_TENSOR || maker(p, a[i].text))
            continue;
        found = !found || strcmp(found, a[i].text) == 0 ? a[i].text : "";
    }
    return found;
}

/* The only tensor from outside that the parts read; NULL: there is none, or there are several. */
static const char *the_input(const fsim_torch_parts *p)
{
    const char *found = NULL;
    for (int i = 0; i < p->nodes && (!found || *found); i++)
        found = only_one(p, p->first[i].in, p->first[i].ins, found);
    return found && *found ? found : NULL;
}

static const fsim_torch_tensor *described(const fsim_torch_parts *p, const char *tensor)
{
    const int t = tensor ? fsim_names_get(&p->m->s->g->tensor_at, tensor) : -1;
    return t < 0 ? NULL : &p->m->s->g->tensor[t];
}

/* What a tensor made before the parts is; NULL: it is none. */
static const fsim_torch_value *known(const fsim_torch_parts *p, const char *tensor)
{
    const int t = tensor ? fsim_names_get(&p->m->s->g->tensor_at, tensor) : -1;
    return t < 0 ? NULL : p->m->s->value[t];
}

/* Arguments of the whole. */

typedef struct {
    fsim_arena *a;
    fsim_torch_node *n;
} writer;

static fsim_torch_arg *put(const writer *w, const char *name, fsim_torch_kind kind)
{
    fsim_torch_arg *at = &w->n->in[w->n->ins++];
    *at = (fsim_torch_arg){.kind = kind, .name = name};
    return at;
}

static bool put_tensor(const writer *w, const char *name, const char *tensor)
{
    if (tensor)
        put(w, name, FSIM_TORCH_TENSOR)->text = tensor;
    return tensor != NULL;
}

static void put_ints(const writer *w, const char *name, int count, const int64_t *value)
{
    fsim_torch_arg *at = put(w, name, FSIM_TORCH_LIST);
    at->count = count;
    at->item = fsim_new(w->a, fsim_torch_arg, count + 1);
    for (int i = 0; i < count; i++)
        at->item[i] = (fsim_torch_arg){.kind = FSIM_TORCH_INT, .name = "", .integer = value[i]};
}

static bool of_none(const fsim_torch_parts *p, const writer *w)
{
    (void)w;
    return !the_input(p);
}

static bool of_one(const fsim_torch_parts *p, const writer *w) { return put_tensor(w, "self", the_input(p)); }

/* Two slices along a dimension. */
static bool halves(const fsim_torch_parts *p, const writer *w)
{
    const int64_t dim = number(arg(part(p, "slice", 0), "dim"));
    if (dim == INT64_MIN || !of_one(p, w))
        return false;
    put(w, "dim", FSIM_TORCH_INT)->integer = dim;
    return true;
}

/* (place + length - shift) mod length, along each dimension that is rolled. */
static bool rolled(const fsim_torch_parts *p, const writer *w)
{
    int64_t shift[FSIM_MAX_RANK], dim[FSIM_MAX_RANK];
    int count = 0;
    for (const fsim_torch_node *s; (s = part(p, "index_select", count)) && count < FSIM_MAX_RANK; count++) {
        const int64_t length = number(arg(part(p, "fmod", count), "other")),
                      start = number(arg(part(p, "add", count), "other"));
        dim[count] = number(arg(s, "dim"));
        shift[count] = length - start;
        if (dim[count] == INT64_MIN || length < 1 || start < 0 || start > length)
            return false;
    }
    if (count == 0 || !of_one(p, w))
        return false;
    put_ints(w, "shifts", count, shift);
    put_ints(w, "dims", count, dim);
    return true;
}

/* By reflection, or the nearest element: as many in front as behind, which costs what other splits do. */
static bool padded(const fsim_torch_parts *p, const writer *w)
{
    const fsim_torch_value *x = known(p, the_input(p));
    const fsim_torch_tensor *y = described(p, p->result->text);
    int64_t pad[2 * FSIM_MAX_RANK];
    if (!x || x->shape.rank != y->rank || !part(p, "index", 0))
        return false;
    for (int i = 0; i < y->rank; i++) {
        const int d = y->rank - 1 - i;
        const int64_t more = y->dim[d].value - x->shape.dim[d];
        if (y->dim[d].expression)
            return false;
        pad[2 * i] = more / 2;
        pad[2 * i + 1] = more - more / 2;
    }
    if (!of_one(p, w))
        return false;
    put_ints(w, "pad", 2 * y->rank, pad);
    return true;
}

/* Places of windows and of elements in them, along both axes; padded before, or behind, on the way back. */
static bool windows(const fsim_torch_parts *p, const writer *w)
{
    int64_t kernel[2], stride[2], dilation[2], padding[2] = {0, 0};
    const fsim_torch_node *pads = part(p, "constant_pad_nd", 0);
    const fsim_torch_arg *pad = arg(pads, "pad");
    for (int i = 0; i < 2; i++) {
        const fsim_torch_node *place = part(p, "arange", 2 * i), *element = part(p, "arange", 2 * i + 1);
        const int64_t reach = number(arg(element, "end")), apart = number(arg(element, "step")),
                      step = number(arg(place, "step"));
        dilation[i] = apart < 1 ? 1 : apart;
        stride[i] = step < 1 ? 1 : step;
        if (reach < 1)
            return false;
        kernel[i] = (reach - 1) / dilation[i] + 1;
        if (pads && (!pad || pad->count != 4 || llabs(padding[i] = number(&pad->item[2 - 2 * i])) > FSIM_MAX_DIM))
            return false;
        padding[i] = llabs(padding[i]);
    }
    if (!of_one(p, w))
        return false;
    put_ints(w, "kernel_size", 2, kernel);
    put_ints(w, "dilation", 2, dilation);
    put_ints(w, "padding", 2, padding);
    put_ints(w, "stride", 2, stride);
    return true;
}

static bool windows_back(const fsim_torch_parts *p, const writer *w)
{
    const fsim_torch_tensor *y = described(p, p->result->text);
    int64_t size[2];
    for (int i = 0; i < 2; i++) {
        if (y->rank != 4 || y->dim[2 + i].expression)
            return false;
        size[i] = y->dim[2 + i].value;
    }
    if (!windows(p, w))
        return false;
    put_ints(w, "output_size", 2, size);
    return true;
}

/* Does the weight [out, in] make the parts' result of the input, whose leading dimensions it keeps? */
static bool makes_result(const fsim_torch_parts *p, const char *input, const char *weight)
{
    const fsim_torch_value *x = known(p, input), *w = known(p, weight);
    const fsim_torch_tensor *y = described(p, p->result->text);
    bool fits = x && w && y && w->shape.rank == 2 && x->shape.rank == y->rank && y->rank > 0 &&
                x->shape.dim[y->rank - 1] == w->shape.dim[1];
    for (int i = 0; fits && i < y->rank; i++)
        fits = y->dim[i].expression || y->dim[i].value == (i < y->rank - 1 ? x->shape.dim[i] : w->shape.dim[0]);
    return fits;
}

/* A product of matrices, of each row's with the weight again and again where the input has more dimensions than two and
 * does not lie as a matrix, and the bias. */
static bool linear(const fsim_torch_parts *p, const writer *w)
{
    const fsim_torch_node *with = part(p, "addmm", 0), *rows = part(p, "bmm", 0), *sum = part(p, "add", 0);
    const fsim_torch_node *product = with ? with : rows ? rows : part(p, "mm", 0);
    const char *input = from_outside(p, arg(product, with ? "mat1" : "self")),
               *weight = from_outside(p, arg(product, "mat2")),
               *bias = with  ? from_outside(p, arg(with, "self"))
                       : sum ? from_outside(p, arg(sum, "other"))
                             : NULL;
    return product && ((!with && !sum) || bias) && makes_result(p, input, weight) && put_tensor(w, "input", input) &&
           put_tensor(w, "weight", weight) && (!bias || put_tensor(w, "bias", bias));
}

/* A tensor and the product of two others, of matrices or of numbers, each perhaps times a number. */
static bool summed_product(const fsim_torch_parts *p, const writer *w)
{
    const fsim_torch_node *sum = &p->first[p->nodes - 1], *product = part(p, "bmm", 0);
    const bool matrices = product != NULL;
    const char *one = NULL, *two = NULL, *other;
    if (!is_op(sum, "add"))
        return false;
    for (int i = 0; i < p->nodes - 1 && !matrices; i++) {
        const fsim_torch_arg *x = arg(&p->first[i], "self"), *y = arg(&p->first[i], "other");
        const char *a = from_outside(p, x), *b = y && y->kind == FSIM_TORCH_TENSOR ? from_outside(p, y) : NULL;
        one = one ? one : a;
        two = b;
    }
    if (matrices) {
        one = from_outside(p, arg(product, "self"));
        two = from_outside(p, arg(product, "mat2"));
    }
    other = from_outside(p, arg(sum, "self"));
    return put_tensor(w, "self", other) && put_tensor(w, matrices ? "batch1" : "tensor1", one) &&
           put_tensor(w, matrices ? "batch2" : "tensor2", two);
}

/* The root of a sum of powers. */
static bool power_sum(const fsim_torch_parts *p, const writer *w)
{
    const fsim_torch_node *power = part(p, "pow", 0), *sum = part(p, "sum", 0);
    const fsim_torch_arg *exponent = arg(power, "exponent"), *dim = arg(sum, "dim"), *keep = arg(sum, "keepdim");
    if (!power || !sum || !exponent || (exponent->kind != FSIM_TORCH_INT && exponent->kind != FSIM_TORCH_FLOAT))
        return false;
    if (!of_one(p, w))
        return false;
    fsim_torch_arg *at = put(w, "ord", exponent->kind);
    at->integer = exponent->integer;
    at->number = exponent->number;
    if (dim) {
        *put(w, "dim", FSIM_TORCH_LIST) = *dim;
        w->n->in[w->n->ins - 1].name = "dim";
    }
    if (keep) {
        *put(w, "keepdim", FSIM_TORCH_BOOL) = *keep;
        w->n->in[w->n->ins - 1].name = "keepdim";
    }
    return true;
}

/* v * (g / the norm of v), whose sum is over all dimensions but one */
static bool weight_norm(const fsim_torch_parts *p, const writer *w)
{
    const fsim_torch_node *power = part(p, "pow", 0), *quotient = part(p, "div", 0);
    const fsim_torch_arg *dim = arg(part(p, "sum", 0), "dim");
    if (!power || !quotient || !dim || dim->kind != FSIM_TORCH_LIST ||
        !put_tensor(w, "v", from_outside(p, arg(power, "self"))) ||
        !put_tensor(w, "g", from_outside(p, arg(quotient, "self"))))
        return false;
    int64_t left = (int64_t)dim->count * (dim->count + 1) / 2;
    for (int i = 0; i < dim->count; i++)
        left -= number(&dim->item[i]);
    put(w, "dim", FSIM_TORCH_INT)->integer = left;
    return left >= 0 && left <= dim->count;
}

/* Not any of those that are not. */
static bool none_not(const fsim_torch_parts *p, const writer *w)
{
    const fsim_torch_node *any = part(p, "any", 0);
    const fsim_torch_arg *dim = arg(any, "dim"), *keep = arg(any, "keepdim");
    if (!any || !of_one(p, w))
        return false;
    if (dim)
        *put(w, "dim", FSIM_TORCH_INT) = *dim;
    if (keep)
        *put(w, "keepdim", FSIM_TORCH_BOOL) = *keep;
    return true;
}

/* A number that a part fills a tensor without dimensions with, under that name; else the tensor from outside. */
static bool put_number_or_tensor(const fsim_torch_parts *p, const writer *w, const char *name, const fsim_torch_arg *a)
{
    const fsim_torch_node *n = a && a->kind == FSIM_TORCH_TENSOR ? maker(p, a->text) : NULL;
    const fsim_torch_arg *value = n && is_op(n, "scalar_tensor") ? arg(n, "s") : NULL;
    if (n && is_op(n, "full"))
        value = arg(n, "fill_value");
    if (!value)
        return put_tensor(w, name, from_outside(p, a));
    *put(w, name, value->kind) = *value;
    w->n->in[w->n->ins - 1].name = name;
    return true;
}

static bool filled(const fsim_torch_parts *p, const writer *w)
{
    const fsim_torch_node *n = part(p, "where", 0);
    return n && put_tensor(w, "self", from_outside(p, arg(n, "other"))) &&
           put_tensor(w, "mask", from_outside(p, arg(n, "condition"))) &&
           put_number_or_tensor(p, w, "value", arg(n, "self"));
}

static bool chosen(const fsim_torch_parts *p, const writer *w)
{
    const fsim_torch_node *n = part(p, "where", 0);
    return n && put_tensor(w, "condition", from_outside(p, arg(n, "condition"))) &&
           put_number_or_tensor(p, w, "self", arg(n, "self")) && put_number_or_tensor(p, w, "other", arg(n, "other"));
}

/* The tensor from outside that is none of three; "": there are several. NULL: there is none. */
static const char *fourth(const fsim_torch_parts *p, const fsim_torch_arg *a, int count, const char *const three[3])
{
    const char *found = NULL;
    for (int i = 0; i < count; i++) {
        const char *here = a[i].kind == FSIM_TORCH_LIST     ? fourth(p, a[i].item, a[i].count, three)
                           : a[i].kind != FSIM_TORCH_TENSOR ? NULL
                           : maker(p, a[i].text)            ? NULL
                                                            : a[i].text;
        for (int k = 0; k < 3 && here; k++)
            here = strcmp(here, three[k]) == 0 ? NULL : here;
        found = !here ? found : found && strcmp(found, here) != 0 ? "" : here;
    }
    return found;
}

/* Two products, of the query with the keys and of the probabilities with the values; a mask, or a condition that the
 * parts make of places. */
static bool attention(const fsim_torch_parts *p, const writer *w)
{
    const fsim_torch_node *scores = part(p, "bmm", 0), *sum = part(p, "bmm", 1);
    const char *in[3], *mask = NULL;
    if (!scores || !sum || part(p, "bmm", 2))
        return false;
    in[0] = from_outside(p, arg(scores, "self"));
    in[1] = from_outside(p, arg(scores, "mat2"));
    in[2] = from_outside(p, arg(sum, "mat2"));
    if (!put_tensor(w, "query", in[0]) || !put_tensor(w, "key", in[1]) || !put_tensor(w, "value", in[2]))
        return false;
    for (int i = 0; i < p->nodes; i++) {
        const char *here = fourth(p, p->first[i].in, p->first[i].ins, in);
        mask = !here ? mask : mask && strcmp(mask, here) != 0 ? "" : here;
    }
    if (mask)
        return *mask && put_tensor(w, "attn_mask", mask);
    put(w, "is_causal", FSIM_TORCH_BOOL)->integer = part(p, "arange", 0) || part(p, "tril", 0);
    return true;
}

static const struct {
    const char *op;
    bool (*how)(const fsim_torch_parts *, const writer *);
} rows[] = {
#define FSIM_WHOLE(op, how) {#op, how},
#include "import/torch/whole.def"
#undef FSIM_WHOLE
};

/* Finding them. */

/* The row of an operator that was taken apart, "aten.silu_.default"; -1: it has none. */
static int row_of(const char *target)
{
    if (strncmp(target, "aten.", 5) != 0)
        return -1;
    size_t length = strcspn(target + 5, ".");
    if (length > 1 && target[5 + length - 1] == '_')
        length--;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].op) == length && strncmp(rows[i].op, target + 5, length) == 0)
            return (int)i;
    return -1;
}

static bool same_origin(const fsim_torch_node *x, const fsim_torch_node *y)
{
    return y->origin && strcmp(x->origin, y->origin) == 0;
}

/* The only result of the parts that is read behind them. NULL: there is none, or there are several. */
static const fsim_torch_arg *result_of(const fsim_torch_parts *p, int last)
{
    const fsim_torch_arg *found = NULL;
    for (int i = 0; i < p->nodes; i++)
        for (int k = 0; k < p->first[i].outs; k++) {
            const fsim_torch_arg *out = &p->first[i].out[k];
            const int t = out->kind == FSIM_TORCH_TENSOR ? fsim_names_get(&p->m->s->g->tensor_at, out->text) : -1;
            if (out->kind != FSIM_TORCH_TENSOR || t < 0 || p->m->s->last_reader[t] <= last)
                continue;
            if (found)
                return NULL;
            found = out;
        }
    return found;
}

static void put_copy(const writer *w, const char *name, const fsim_torch_arg *from)
{
    *put(w, name, from->kind) = *from;
    w->n->in[w->n->ins - 1].name = name;
}

/* base[..., index, ...] = source, as PyTorch takes it apart whatever was written: places along dim, compared with the
 * index; the source widened; the one where they are equal, the base elsewhere. */
static int selected(fsim_torch_parts *p, int n, fsim_torch_node *whole)
{
    static const char *const ops[] = {"arange", "view", "eq", "unsqueeze", "expand", "where"};
    enum { PARTS = sizeof ops / sizeof *ops };
    const fsim_torch_graph *g = p->m->s->g;
    for (int i = 0; i < PARTS; i++)
        if (n + i >= g->nodes || !is_op(&g->node[n + i], ops[i]))
            return 0;
    p->nodes = PARTS;
    const fsim_torch_node *last = &p->first[PARTS - 1];
    const fsim_torch_arg *base = arg(last, "other"), *source = arg(part(p, "unsqueeze", 0), "self"),
                         *dim = arg(part(p, "unsqueeze", 0), "dim"), *index = arg(part(p, "eq", 0), "other"),
                         *chosen_by = arg(last, "condition"), *from = arg(last, "self");
    p->result = result_of(p, n + PARTS - 1);
    if (!p->result || !made_by(last, p->result->text) || !base || !source || number(dim) == INT64_MIN ||
        number(index) < 0 || maker(p, base->text) || maker(p, source->text) || !chosen_by || !from ||
        maker(p, chosen_by->text) != &p->first[2] || maker(p, from->text) != &p->first[4])
        return 0;
    const writer w = {p->m->a, whole};
    *whole = (fsim_torch_node){.target = "aten.select_scatter.default", .layer = p->first->layer, .outs = 1};
    whole->in = fsim_new(p->m->a, fsim_torch_arg, MOST_ARGS);
    whole->out = last->out;
    put_copy(&w, "self", base);
    put_copy(&w, "src", source);
    put_copy(&w, "dim", dim);
    put_copy(&w, "index", index);
    return PARTS;
}

int fsim_torch_whole(const fsim_torch_import *m, int n, fsim_torch_node *whole)
{
    const fsim_torch_graph *g = m->s->g;
    fsim_torch_parts p = {.m = m, .first = &g->node[n]};
    const int places = selected(&p, n, whole);
    if (places > 0)
        return places;
    p = (fsim_torch_parts){.m = m, .first = &g->node[n]};
    const int r = p.first->origin ? row_of(p.first->origin_target) : -1;
    if (r < 0 || (n > 0 && same_origin(p.first, &g->node[n - 1])))
        return 0;
    while (n + p.nodes < g->nodes && same_origin(p.first, &g->node[n + p.nodes]))
        p.nodes++;
    if (p.nodes < 2 || !(p.result = result_of(&p, n + p.nodes - 1)))
        return 0;
    *whole = (fsim_torch_node){.target = fsim_printf(m->a, "aten.%s.default", rows[r].op),
                               .layer = p.first->layer,
                               .in = fsim_new(m->a, fsim_torch_arg, MOST_ARGS),
                               .outs = 1};
    whole->out = fsim_new(m->a, fsim_torch_arg, 1);
    whole->out[0] = *p.result;
    return rows[r].how(&p, &(writer){m->a, whole}) ? p.nodes : 0;
}
