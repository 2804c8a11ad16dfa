/* SPDX-License-Identifier: Apache-2.0 */
/* parts_products.c: parts of products: layers, attention, sums of products by letters, recurrences. */
#include "import/torch/parts.h"

#include <string.h>

/* Does the weight [out, in] make the parts' result of the input, whose leading dimensions it keeps? */
static bool makes_result(const fsim_torch_parts *p, const char *input, const char *weight)
{
    const fsim_torch_value *x = fsim_part_known(p, input), *w = fsim_part_known(p, weight);
    const fsim_torch_tensor *y = fsim_part_described(p, p->result->text);
    bool fits = x && w && y && w->shape.rank == 2 && x->shape.rank == y->rank && y->rank > 0 &&
                x->shape.dim[y->rank - 1] == w->shape.dim[1];
    for (int i = 0; fits && i < y->rank; i++)
        fits = y->dim[i].expression || y->dim[i].value == (i < y->rank - 1 ? x->shape.dim[i] : w->shape.dim[0]);
    return fits;
}

/* A product of matrices, of each row's with the weight again and again where the input has more dimensions than two and
 * does not lie as a matrix, and the bias. */
bool fsim_part_linear(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const fsim_torch_node *with = fsim_part_part(p, "addmm", 0), *rows = fsim_part_part(p, "bmm", 0),
                          *sum = fsim_part_part(p, "add", 0);
    const fsim_torch_node *product = with ? with : rows ? rows : fsim_part_part(p, "mm", 0);
    const char *input = fsim_part_from_outside(p, fsim_part_arg(product, with ? "mat1" : "self")),
               *weight = fsim_part_from_outside(p, fsim_part_arg(product, "mat2")),
               *bias = with  ? fsim_part_from_outside(p, fsim_part_arg(with, "self"))
                       : sum ? fsim_part_from_outside(p, fsim_part_arg(sum, "other"))
                             : NULL;
    const fsim_torch_value *turned = fsim_part_known(p, weight);
    if (turned && turned->base && turned->dim == -2) /* by a part that was left out */
        weight = turned->base->name;
    return product && ((!with && !sum) || bias) && makes_result(p, input, weight) &&
           fsim_part_put_tensor(w, "input", input) && fsim_part_put_tensor(w, "weight", weight) &&
           (!bias || fsim_part_put_tensor(w, "bias", bias));
}

/* A tensor and the product of two others, of matrices or of numbers, each perhaps times a number. */
bool fsim_part_summed_product(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const fsim_torch_node *sum = &p->first[p->nodes - 1], *product = fsim_part_part(p, "bmm", 0);
    const bool matrices = product != NULL;
    const char *one = NULL, *two = NULL, *other;
    if (!fsim_part_is_op(sum, "add"))
        return false;
    for (int i = 0; i < p->nodes - 1 && !matrices; i++) {
        const fsim_torch_arg *x = fsim_part_arg(&p->first[i], "self"), *y = fsim_part_arg(&p->first[i], "other");
        const char *a = fsim_part_from_outside(p, x),
                   *b = y && y->kind == FSIM_TORCH_TENSOR ? fsim_part_from_outside(p, y) : NULL;
        one = one ? one : a;
        two = b;
    }
    if (matrices) {
        one = fsim_part_from_outside(p, fsim_part_arg(product, "self"));
        two = fsim_part_from_outside(p, fsim_part_arg(product, "mat2"));
    }
    other = fsim_part_from_outside(p, fsim_part_arg(sum, "self"));
    return fsim_part_put_tensor(w, "self", other) && fsim_part_put_tensor(w, matrices ? "batch1" : "tensor1", one) &&
           fsim_part_put_tensor(w, matrices ? "batch2" : "tensor2", two);
}

/* The tensor from outside that is none of three; "": there are several. NULL: there is none. */
static const char *fourth(const fsim_torch_parts *p, const fsim_torch_arg *a, int count, const char *const three[3])
{
    const char *found = NULL;
    for (int i = 0; i < count; i++) {
        const char *here = a[i].kind == FSIM_TORCH_LIST     ? fourth(p, a[i].item, a[i].count, three)
                           : a[i].kind != FSIM_TORCH_TENSOR ? NULL
                           : fsim_part_maker(p, a[i].text)  ? NULL
                                                            : a[i].text;
        for (int k = 0; k < 3 && here; k++)
            here = strcmp(here, three[k]) == 0 ? NULL : here;
        found = !here ? found : found && strcmp(found, here) != 0 ? "" : here;
    }
    return found;
}

/* Two products, of the query with the keys and of the probabilities with the values; a mask, or a condition that the
 * parts make of places. */
bool fsim_part_attention(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const fsim_torch_node *scores = fsim_part_part(p, "bmm", 0), *sum = fsim_part_part(p, "bmm", 1);
    const char *in[3], *mask = NULL;
    if (!scores || !sum || fsim_part_part(p, "bmm", 2))
        return false;
    in[0] = fsim_part_from_outside(p, fsim_part_arg(scores, "self"));
    in[1] = fsim_part_from_outside(p, fsim_part_arg(scores, "mat2"));
    in[2] = fsim_part_from_outside(p, fsim_part_arg(sum, "mat2"));
    if (!fsim_part_put_tensor(w, "query", in[0]) || !fsim_part_put_tensor(w, "key", in[1]) ||
        !fsim_part_put_tensor(w, "value", in[2]))
        return false;
    for (int i = 0; i < p->nodes; i++) {
        const char *here = fourth(p, p->first[i].in, p->first[i].ins, in);
        mask = !here ? mask : mask && strcmp(mask, here) != 0 ? "" : here;
    }
    if (mask)
        return *mask && fsim_part_put_tensor(w, "attn_mask", mask);
    fsim_part_put(w, "is_causal", FSIM_TORCH_BOOL)->integer =
        fsim_part_part(p, "arange", 0) || fsim_part_part(p, "tril", 0);
    return true;
}

/* Sums of products by letters. */

enum { MOST_LETTERS = 3 * FSIM_MAX_RANK };

/* The letter of each dimension; 0: a dimension of length 1 that was put in. */
typedef struct {
    char at[MOST_LETTERS];
    int count, depth; /* depth: parts that were followed */
} letters;

static bool insert(letters *l, int at)
{
    if (at < 0 || at > l->count || l->count == FSIM_MAX_RANK)
        return false;
    memmove(l->at + at + 1, l->at + at, (size_t)(l->count++ - at));
    l->at[at] = 0;
    return true;
}

static bool reorder(letters *l, const fsim_torch_arg *dims)
{
    const letters old = *l;
    if (!dims || dims->kind != FSIM_TORCH_LIST || dims->count != l->count)
        return false;
    for (int i = 0; i < l->count; i++) {
        const int from = fsim_aten_axis(fsim_part_number(&dims->item[i]), l->count);
        if (from < 0)
            return false;
        l->at[i] = old.at[from];
    }
    return true;
}

/* The letters of an operand, first, first + 1, ... in its own order, as parts put ones in and turned it. *from: the
 * operand. */
static bool trace(const fsim_torch_parts *p, const fsim_torch_arg *a, char first, const char **from, letters *l)
{
    if (l->depth++ > p->nodes) /* a cycle */
        return false;
    const fsim_torch_node *n = a && a->kind == FSIM_TORCH_TENSOR ? fsim_part_maker(p, a->text) : NULL;
    const fsim_torch_value *x = a && !n && a->kind == FSIM_TORCH_TENSOR ? fsim_part_known(p, a->text) : NULL;
    if (x) {
        *from = a->text;
        for (l->count = 0; l->count < x->shape.rank; l->count++)
            l->at[l->count] = (char)(first + l->count);
        return true;
    }
    if (!n || !trace(p, fsim_part_arg(n, "self"), first, from, l))
        return false;
    if (fsim_part_is_op(n, "unsqueeze"))
        return insert(l, fsim_aten_axis(fsim_part_number(fsim_part_arg(n, "dim")), l->count + 1));
    return fsim_part_is_op(n, "permute") ? reorder(l, fsim_part_arg(n, "dims")) : fsim_part_is_op(n, "clone");
}

/* One side of the product: its operand, and how many of its letters make up the first and the second dimension. */
typedef struct {
    const char *from;
    letters all, ones; /* ones: of length 1, which nothing tells from each other: each is the operand's own */
    int64_t length[MOST_LETTERS];
    int group[3];
} side;

static bool read_side(const fsim_torch_parts *p, const fsim_torch_arg *a, char first, side *s)
{
    const fsim_torch_tensor *t = a ? fsim_part_described(p, a->text) : NULL;
    const fsim_torch_node *n = a && a->kind == FSIM_TORCH_TENSOR ? fsim_part_maker(p, a->text) : NULL;
    letters l = {.depth = 0};
    if (!t || t->rank != 3 ||
        !trace(p, n && fsim_part_is_op(n, "view") ? fsim_part_arg(n, "self") : a, first, &s->from, &l))
        return false;
    const fsim_torch_value *x = fsim_part_known(p, s->from);
    int64_t left = 1;
    int g = 0;
    memset(s->group, 0, sizeof s->group);
    s->all.count = s->ones.count = 0;
    for (int i = 0; i < l.count; i++) {
        const int64_t length = l.at[i] ? x->shape.dim[l.at[i] - first] : 1;
        if (length == 1) {
            if (l.at[i])
                s->ones.at[s->ones.count++] = l.at[i];
            continue;
        }
        while (g < 3 && left > (t->dim[g].expression ? 0 : t->dim[g].value / length)) {
            left = 1;
            g++;
        }
        if (g == 3)
            return false;
        left *= length;
        s->group[g]++;
        s->length[s->all.count] = length;
        s->all.at[s->all.count++] = l.at[i];
    }
    return true;
}

/* The letters of the result, from the product's, which are those that both sides have, and each one's own. */
static bool read_result(const fsim_torch_parts *p, const fsim_torch_node *product, const letters *made,
                        const int64_t *length, letters *l)
{
    const char *at = product->outs == 1 ? product->out[0].text : NULL;
    *l = *made;
    if (!at)
        return false;
    for (const fsim_torch_node *n = product + 1; n < p->first + p->nodes && strcmp(at, p->result->text) != 0; n++) {
        const fsim_torch_arg *x = fsim_part_arg(n, "self");
        const fsim_torch_tensor *t = n->outs == 1 ? fsim_part_described(p, n->out[0].text) : NULL;
        if (!x || !x->text || strcmp(x->text, at) != 0 || !t)
            return false;
        if (fsim_part_is_op(n, "permute") && !reorder(l, fsim_part_arg(n, "dims")))
            return false;
        if (fsim_part_is_op(n, "view")) { /* ones come and go */
            const letters old = *l;
            int from = 0;
            for (l->count = 0; l->count < t->rank; l->count++) {
                while (from < old.count && !old.at[from])
                    from++;
                const bool one = !t->dim[l->count].expression && t->dim[l->count].value == 1;
                if (!one && from == old.count)
                    return false;
                l->at[l->count] = one ? 0 : old.at[from];
                for (int i = 0; !one && i < made->count; i++)
                    if (made->at[i] == old.at[from] && t->dim[l->count].value != length[i])
                        return false;
                from += !one;
            }
        } else if (!fsim_part_is_op(n, "permute"))
            return false;
        at = n->out[0].text;
    }
    return strcmp(at, p->result->text) == 0;
}

static void append(char *text, const letters *l)
{
    size_t end = strlen(text);
    for (int i = 0; i < l->count; i++)
        if (l->at[i])
            text[end++] = l->at[i];
    text[end] = 0;
}

/* The second operand's letters by those that it shares with the first: L's groups are of both, of its own, summed; R's
 * of both, summed, its own. */
static bool share(const side *left, side *right, char *own)
{
    const int summed = left->group[0] + left->group[1];
    memcpy(own, right->all.at, (size_t)right->all.count);
    if (left->group[0] != right->group[0] || left->group[2] != right->group[1])
        return false;
    for (int i = 0; i < right->group[0] + right->group[1]; i++) {
        const int of = i < right->group[0] ? i : summed + i - right->group[0];
        if (left->length[of] != right->length[i])
            return false;
        right->all.at[i] = left->all.at[of];
    }
    return true;
}

bool fsim_part_equation(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const fsim_torch_node *product = fsim_part_part(p, "bmm", 0);
    side s[2];
    char own[MOST_LETTERS], text[4 * MOST_LETTERS] = "";
    if (!product || fsim_part_part(p, "bmm", 1) || !read_side(p, fsim_part_arg(product, "self"), 'a', &s[0]) ||
        !read_side(p, fsim_part_arg(product, "mat2"), 'm', &s[1]) || !share(&s[0], &s[1], own))
        return false;
    letters made = {.count = 0}, result;
    int64_t length[MOST_LETTERS];
    for (int k = 0; k < 2; k++) /* of both and the left one's own; the right one's own */
        for (int i = k ? s[1].group[0] + s[1].group[1] : 0; i < (k ? s[1].all.count : s[0].group[0] + s[0].group[1]);
             i++) {
            length[made.count] = s[k].length[i];
            made.at[made.count++] = s[k].all.at[i];
        }
    if (!read_result(p, product, &made, length, &result))
        return false;
    int ones = 0;
    for (int i = 0; i < result.count; i++) {
        const int left = s[0].ones.count;
        if (!result.at[i] && ones < left + s[1].ones.count)
            result.at[i] = ones < left ? s[0].ones.at[ones] : s[1].ones.at[ones - left];
        else if (!result.at[i])
            return false;
        else
            continue;
        ones++;
    }
    if (ones < s[0].ones.count + s[1].ones.count)
        return false;
    for (int k = 0; k < 2; k++) { /* each in the order of its own dimensions */
        const int rank = fsim_part_known(p, s[k].from)->shape.rank;
        letters term = {.count = rank};
        for (int i = 0; i < s[k].all.count; i++)
            term.at[(k ? own[i] - 'm' : s[k].all.at[i] - 'a')] = s[k].all.at[i];
        for (int i = 0; i < s[k].ones.count; i++)
            term.at[s[k].ones.at[i] - (k ? 'm' : 'a')] = s[k].ones.at[i];
        if (rank != s[k].all.count + s[k].ones.count)
            return false;
        append(text, &term);
        strcat(text, k ? "->" : ",");
    }
    append(text, &result);
    fsim_part_put_tensors(w, "tensors", 2, (const char *const[2]){s[0].from, s[1].from});
    fsim_part_put(w, "equation", FSIM_TORCH_TEXT)->text = fsim_strdup(w->a, text);
    return true;
}

/* Recurrences. */

enum { MOST_WEIGHTS = 320 };

static int place_of(const fsim_torch_parts *p, const char *tensor)
{
    for (int i = 0; i < p->m->p->inputs; i++)
        if (p->m->p->input[i].arg.kind == FSIM_TORCH_TENSOR && strcmp(p->m->p->input[i].arg.text, tensor) == 0)
            return p->m->p->input[i].role == FSIM_TORCH_PARAMETER ? i : -1;
    return -1;
}

/* What a recurrence reads. */
typedef struct {
    const char *weight[MOST_WEIGHTS], *other[3];
    int weights, biases, others;
} read;

/* Parameters in the program's order, which is the operator's; what else there is. False where it is too much. */
static bool read_all(const fsim_torch_parts *p, read *r)
{
    const char *in[MOST_WEIGHTS];
    const int ins = fsim_part_inputs(p, MOST_WEIGHTS, in);
    *r = (read){.weights = 0};
    for (int i = 0; i < ins && ins <= MOST_WEIGHTS; i++) {
        const fsim_torch_value *v = fsim_part_known(p, in[i]);
        if (v && v->shape.rank < 3 && place_of(p, in[i]) >= 0) {
            int at = r->weights++;
            for (; at > 0 && place_of(p, r->weight[at - 1]) > place_of(p, in[i]); at--)
                r->weight[at] = r->weight[at - 1];
            r->weight[at] = in[i];
            r->biases += v->shape.rank == 1;
        } else if (v && v->shape.rank == 3 && r->others < 3)
            r->other[r->others++] = in[i];
        else
            return false;
    }
    return r->weights > 1 && r->others > 1 && fsim_part_known(p, r->weight[0])->shape.rank == 2;
}

/* Is the sequence turned first, so that its steps are in front? */
static bool is_turned(const fsim_torch_parts *p, const char *x)
{
    for (int i = 0; i < p->nodes; i++) {
        const fsim_torch_arg *from = fsim_part_arg(&p->first[i], "self");
        if (fsim_part_is_op(&p->first[i], "permute") && from && from->text && strcmp(from->text, x) == 0)
            return true;
    }
    return false;
}

/* Parameters; the sequence [steps, B, I]; states [layers directions, B, H] before the first step. */
bool fsim_part_recurrence(const fsim_torch_parts *p, const fsim_part_writer *w)
{
    const fsim_torch_tensor *y = fsim_part_described(p, p->result->text);
    const char *x = NULL, *state[2] = {NULL, NULL};
    read r;
    if (!read_all(p, &r) || !y || y->rank != 3 || y->dim[2].expression)
        return false;
    const int64_t wide = fsim_part_known(p, r.weight[0])->shape.dim[1], rows = r.biases ? r.biases / 2 : r.weights / 2;
    int states = 0;
    for (int i = 0; i < r.others; i++) {
        const fsim_shape *s = &fsim_part_known(p, r.other[i])->shape;
        if (s->dim[0] == rows && states < 2 && (s->dim[2] != wide || x || i + 1 == r.others))
            state[states++] = r.other[i];
        else if (!x && s->dim[2] == wide)
            x = r.other[i];
        else
            return false;
    }
    const int64_t shown = state[0] ? fsim_part_known(p, state[0])->shape.dim[2] : 0;
    const int64_t dirs = shown > 0 ? y->dim[2].value / shown : 0;
    if (!x || (dirs != 1 && dirs != 2) || rows % dirs != 0)
        return false;
    state[1] = states > 1 ? state[1] : state[0];
    fsim_part_put_tensor(w, "input", x);
    fsim_part_put_tensors(w, "hx", 2, state);
    fsim_part_put_tensors(w, "params", r.weights, r.weight);
    fsim_part_put(w, "has_biases", FSIM_TORCH_BOOL)->integer = r.biases > 0;
    fsim_part_put(w, "num_layers", FSIM_TORCH_INT)->integer = rows / dirs;
    fsim_part_put(w, "bidirectional", FSIM_TORCH_BOOL)->integer = dirs == 2;
    fsim_part_put(w, "batch_first", FSIM_TORCH_BOOL)->integer = is_turned(p, x);
    return true;
}
