/* SPDX-License-Identifier: Apache-2.0 */
#include "import/recogniser.h"

/* The other factor of a product with a constant; NULL: it is none. */
static const char *scaled_of(const recogniser *r, found *f, const char *tensor, double *factor)
{
    const int m = made_by(r, f, tensor, "mul", 1);
    const char *text = m < 0 ? "" : text_of(op_at(r, m), "scalar");
    *factor = strtod(text, NULL);
    return *text ? input(op_at(r, m), 0) : NULL;
}

/* k of its transpose, which is a permutation of 4 dimensions: a permutation without that last exchange, or what is
 * permuted where there is no other. NULL: it is none. */
static const char *untransposed(recogniser *r, found *f, const char *tensor)
{
    const int at = fsim_names_get(&r->maker, tensor);
    const fsim_yaml *dim = at < 0 || r->merged[at] || strcmp(text_of(op_at(r, at), "op"), "permute") != 0
                               ? NULL
                               : fsim_yaml_get(op_at(r, at), "dim");
    if (!dim || dim->kind != FSIM_YAML_SEQUENCE || dim->count != 4 || !read_times(r, tensor, 1))
        return NULL;
    if (strcmp(dim->item[0]->text, "0") == 0 && strcmp(dim->item[1]->text, "1") == 0) {
        f->member[f->members++] = at;
        return input(op_at(r, at), 0);
    }
    f->turned = dim;
    return tensor;
}

/* What a bias of 0 where it holds and minus infinity elsewhere is made of; NULL: it is no such bias. */
static const char *condition_of(const recogniser *r, found *f, const char *bias)
{
    const int w = read_times(r, bias, 1) ? fsim_names_get(&r->maker, bias) : -1;
    const fsim_yaml *y = w < 0 ? NULL : op_at(r, w);
    if (!y || strcmp(text_of(y, "op"), "where") != 0 || !*text_of(y, "input") || strtod(text_of(y, "input"), NULL) != 0)
        return NULL;
    const bool none = inputs(y) == 2 ? r->facts->filled && r->facts->filled(r->facts->model, input(y, 1), -INFINITY)
                                     : strtod(text_of(y, "other"), NULL) == -INFINITY;
    return none && made_by(r, f, bias, "where", inputs(y)) >= 0 ? input(y, 0) : NULL;
}

/* Scores with a mask added: the scores, and in *mask what is added, or what that is made of. NULL: no mask is added. */
static const char *unmasked(const recogniser *r, found *f, const char *scores, const char **mask)
{
    const int a = made_by(r, f, scores, "add", 2), side = a < 0 ? -1 : side_of(r, op_at(r, a), "matmul", 2);
    if (side < 0)
        return NULL;
    *mask = input(op_at(r, a), 1 - side);
    const char *condition = condition_of(r, f, *mask);
    *mask = condition ? condition : *mask;
    return input(op_at(r, a), side);
}

/* Has it four dimensions, the first two those of s? */
static bool has_heads(const recogniser *r, const char *tensor, const fsim_shape *s)
{
    const fsim_shape *own = r->facts->shape(r->facts->model, tensor);
    return own && own->rank == 4 && own->dim[0] == s->dim[0] && own->dim[1] == s->dim[1];
}

bool fsim_is_attention(recogniser *r, found *f, int last)
{
    const fsim_yaml *y = op_at(r, last);
    double q_factor, k_factor;
    const int p = strcmp(text_of(y, "op"), "matmul") == 0 ? made_by(r, f, input(y, 0), "softmax", 1) : -1;
    const char *scores = p < 0 ? NULL : input(op_at(r, p), 0), *mask = NULL;
    const fsim_shape *s = scores ? r->facts->shape(r->facts->model, scores) : NULL;
    if (!s || s->rank != 4 || !is_last(op_at(r, p), s))
        return false;
    const char *plain = unmasked(r, f, scores, &mask);
    const int m = made_by(r, f, plain ? plain : scores, "matmul", 2);
    const char *q = m < 0 ? NULL : scaled_of(r, f, input(op_at(r, m), 0), &q_factor);
    const char *k = q ? scaled_of(r, f, input(op_at(r, m), 1), &k_factor) : NULL;
    if (!k || q_factor != k_factor || !has_heads(r, q, s) || !has_heads(r, k, s) || !has_heads(r, input(y, 1), s) ||
        !is_closed(r, f, NULL))
        return false;
    f->op = "attention";
    f->in[f->ins++] = q;
    f->in[f->ins++] = untransposed(r, f, k);
    f->in[f->ins++] = input(y, 1);
    f->causal = mask && r->facts->causal && r->facts->causal(r->facts->model, mask);
    if (mask && !f->causal)
        f->in[f->ins++] = mask;
    f->key = "scale";
    f->number = q_factor * k_factor;
    return f->in[1] != NULL;
}
