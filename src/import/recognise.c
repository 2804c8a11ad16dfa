/* SPDX-License-Identifier: Apache-2.0 */
#include "import/recognise.h"

#include "import/recogniser.h"

/* x * sigmoid(x) */
static bool is_silu(recogniser *r, found *f, int last)
{
    const fsim_yaml *y = op_at(r, last);
    const int side = strcmp(text_of(y, "op"), "mul") == 0 ? side_of(r, y, "sigmoid", 1) : -1;
    if (side < 0)
        return false;
    const int s = made_by(r, f, input(y, side), "sigmoid", 1);
    f->op = "silu";
    f->in[f->ins++] = input(y, 1 - side);
    return s >= 0 && strcmp(input(op_at(r, s), 0), f->in[0]) == 0 && is_closed(r, f, NULL);
}

static bool is_bound(const fsim_yaml *op, const char *key, double number)
{
    const char *text = text_of(op, key);
    return *text && strtod(text, NULL) == number;
}

/* x + 3, at least 0 and at most 6: x, or NULL. */
static const char *within_six(const recogniser *r, found *f, const char *tensor)
{
    const int most = made_by(r, f, tensor, "clamp", 1);
    if (most < 0 || !is_bound(op_at(r, most), "max", 6))
        return NULL;
    int least = most;
    if (!*text_of(op_at(r, most), "min"))
        least = made_by(r, f, input(op_at(r, most), 0), "clamp", 1);
    if (least < 0 || !is_bound(op_at(r, least), "min", 0))
        return NULL;
    const int sum = made_by(r, f, input(op_at(r, least), 0), "add", 1);
    return sum >= 0 && is_scalar(op_at(r, sum), 3) ? input(op_at(r, sum), 0) : NULL;
}

/* The sixth of what within_six() finds, or of x times that. */
static bool is_hard(recogniser *r, found *f, int last)
{
    const fsim_yaml *y = op_at(r, last);
    if (strcmp(text_of(y, "op"), "div") != 0 || inputs(y) != 1 || !is_scalar(y, 6))
        return false;
    const int product = made_by(r, f, input(y, 0), "mul", 2);
    const int side = product < 0 ? -1 : side_of(r, op_at(r, product), "clamp", 1);
    if (product >= 0 && side < 0)
        return false;
    const char *x = within_six(r, f, product < 0 ? input(y, 0) : input(op_at(r, product), side));
    f->op = product < 0 ? "hardsigmoid" : "hardswish";
    f->in[f->ins++] = x;
    return x && (product < 0 || strcmp(x, input(op_at(r, product), 1 - side)) == 0) && is_closed(r, f, NULL);
}

/* 1 + erf(x / root 2): x, or NULL. */
static const char *erf_part(const recogniser *r, found *f, const char *tensor)
{
    const int a = made_by(r, f, tensor, "add", 1), e = a < 0 ? -1 : made_by(r, f, input(op_at(r, a), 0), "erf", 1);
    if (e < 0 || !is_scalar(op_at(r, a), 1))
        return NULL;
    const char *inner = input(op_at(r, e), 0);
    int d = made_by(r, f, inner, "div", 1);
    if (d >= 0 && is_scalar(op_at(r, d), sqrt(2)))
        return input(op_at(r, d), 0);
    d = d < 0 ? made_by(r, f, inner, "mul", 1) : -1;
    return d >= 0 && is_scalar(op_at(r, d), sqrt(0.5)) ? input(op_at(r, d), 0) : NULL;
}

/* x * ((1 + erf(x / root 2)) * 0.5) */
static bool is_halved_gelu(recogniser *r, found *f, int last)
{
    const fsim_yaml *y = op_at(r, last);
    const int side = side_of(r, y, "mul", 1), half = side < 0 ? -1 : made_by(r, f, input(y, side), "mul", 1);
    const char *x = half >= 0 && is_scalar(op_at(r, half), 0.5) ? erf_part(r, f, input(op_at(r, half), 0)) : NULL;
    f->op = "gelu";
    f->in[f->ins++] = x;
    return x && strcmp(text_of(y, "op"), "mul") == 0 && strcmp(x, input(y, 1 - side)) == 0 && is_closed(r, f, NULL);
}

/* x * (1 + erf(x / root 2)) * 0.5, the half behind either */
static bool is_gelu(recogniser *r, found *f, int last)
{
    const fsim_yaml *y = op_at(r, last), *product = y;
    if (strcmp(text_of(y, "op"), "mul") != 0)
        return false;
    if (inputs(y) == 1) {
        const int m = is_scalar(y, 0.5) ? made_by(r, f, input(y, 0), "mul", 2) : -1;
        if (m < 0)
            return false;
        product = op_at(r, m);
    }
    const int side = side_of(r, product, "add", 1);
    const char *x = side < 0 ? NULL : erf_part(r, f, input(product, side));
    const char *with = side < 0 ? NULL : input(product, 1 - side);
    if (x && product == y) {
        const int half = made_by(r, f, with, "mul", 1);
        if (half < 0 || !is_scalar(op_at(r, half), 0.5))
            return false;
        with = input(op_at(r, half), 0);
    }
    f->op = "gelu";
    f->in[f->ins++] = x;
    return x && strcmp(x, with) == 0 && is_closed(r, f, NULL);
}

/* Is it a weight of one dimension, as long as the last one of x? */
static bool is_vector(const recogniser *r, const char *tensor, int64_t length)
{
    const fsim_shape *s = fsim_names_get(&r->weight, tensor) >= 0 ? r->facts->shape(r->facts->model, tensor) : NULL;
    return s && s->rank == 1 && s->dim[0] == length;
}

/* The mean of tensor along the last dimension: what it is the mean of; NULL: it is none. */
static const char *mean_of(const recogniser *r, found *f, const char *tensor)
{
    const int m = made_by(r, f, tensor, "mean", 1);
    const fsim_yaml *y = m < 0 ? NULL : op_at(r, m);
    const fsim_shape *s = y ? r->facts->shape(r->facts->model, input(y, 0)) : NULL;
    return s && is_last(y, s) && strcmp(text_of(y, "keepdim"), "true") == 0 ? input(y, 0) : NULL;
}

/* root(mean(centred squared) + eps); sets the eps. */
static bool is_deviation(const recogniser *r, found *f, const char *tensor, const char *centred)
{
    const int s = made_by(r, f, tensor, "sqrt", 1), e = s < 0 ? -1 : made_by(r, f, input(op_at(r, s), 0), "add", 1);
    if (e < 0)
        return false;
    const char *eps = text_of(op_at(r, e), "scalar"), *squares = mean_of(r, f, input(op_at(r, e), 0));
    const int p = squares ? made_by(r, f, squares, "pow", 1) : -1;
    f->key = "eps";
    f->number = strtod(eps, NULL);
    return p >= 0 && *eps && is_scalar(op_at(r, p), 2) && strcmp(input(op_at(r, p), 0), centred) == 0;
}

/* (x - mean) / deviation * weight + bias */
static bool is_layer_norm(recogniser *r, found *f, int last)
{
    const fsim_yaml *y = op_at(r, last);
    const int side = strcmp(text_of(y, "op"), "add") == 0 ? side_of(r, y, "mul", 2) : -1;
    const int scaled = side < 0 ? -1 : made_by(r, f, input(y, side), "mul", 2);
    const int from = scaled < 0 ? -1 : side_of(r, op_at(r, scaled), "div", 2);
    const int n = from < 0 ? -1 : made_by(r, f, input(op_at(r, scaled), from), "div", 2);
    const char *centred = n < 0 ? NULL : input(op_at(r, n), 0);
    const int c = centred ? made_by(r, f, centred, "sub", 2) : -1;
    if (c < 0 || !is_deviation(r, f, input(op_at(r, n), 1), centred))
        return false;
    const char *x = input(op_at(r, c), 0), *mean = mean_of(r, f, input(op_at(r, c), 1));
    const fsim_shape *s = r->facts->shape(r->facts->model, x);
    f->op = "layer_norm";
    f->in[f->ins++] = x;
    f->in[f->ins++] = input(op_at(r, scaled), 1 - from);
    f->in[f->ins++] = input(y, 1 - side);
    return mean && strcmp(mean, x) == 0 && s && s->rank > 0 && is_vector(r, f->in[1], s->dim[s->rank - 1]) &&
           is_vector(r, f->in[2], s->dim[s->rank - 1]) && is_closed(r, f, centred);
}

/* x of x * x or x to the power of 2; NULL: it is neither. */
static const char *squared(const recogniser *r, found *f, const char *tensor)
{
    const int p = made_by(r, f, tensor, "pow", 1);
    if (p >= 0)
        return is_scalar(op_at(r, p), 2) ? input(op_at(r, p), 0) : NULL;
    const int m = made_by(r, f, tensor, "mul", 2);
    return m >= 0 && strcmp(input(op_at(r, m), 0), input(op_at(r, m), 1)) == 0 ? input(op_at(r, m), 0) : NULL;
}

/* x / root(mean(x squared) + eps), which exporters write as a quotient, or with the reciprocal of the root: x. */
static const char *over_its_size(const recogniser *r, found *f, const fsim_yaml *y)
{
    const bool quotient = strcmp(text_of(y, "op"), "div") == 0;
    const int inverse = quotient ? -1 : side_of(r, y, "rsqrt", 1);
    const int side = quotient ? 1 : inverse >= 0 ? inverse : side_of(r, y, "reciprocal", 1);
    if (inputs(y) != 2 || side < 0 || (!quotient && strcmp(text_of(y, "op"), "mul") != 0))
        return NULL;
    const char *root = input(y, side);
    if (!quotient) {
        const int one = made_by(r, f, root, inverse >= 0 ? "rsqrt" : "reciprocal", 1);
        root = one < 0 ? NULL : input(op_at(r, one), 0);
    }
    const int s = !root || inverse >= 0 ? -1 : made_by(r, f, root, "sqrt", 1);
    const char *sum = inverse >= 0 ? root : s < 0 ? NULL : input(op_at(r, s), 0);
    const int e = sum ? made_by(r, f, sum, "add", 1) : -1;
    const char *squares = e < 0 ? NULL : mean_of(r, f, input(op_at(r, e), 0));
    const char *x = squares ? squared(r, f, squares) : NULL;
    if (!x || !*text_of(op_at(r, e), "scalar") || strcmp(x, input(y, 1 - side)) != 0)
        return NULL;
    f->key = "eps";
    f->number = strtod(text_of(op_at(r, e), "scalar"), NULL);
    return x;
}

/* The same without a weight: Llama's norm has a cast before it */
static bool is_plain_rms_norm(recogniser *r, found *f, int last)
{
    const char *x = over_its_size(r, f, op_at(r, last));
    f->op = "rms_norm";
    f->in[f->ins++] = x;
    return x && is_closed(r, f, NULL);
}

/* x / root(mean(x squared) + eps) * weight */
static bool is_rms_norm(recogniser *r, found *f, int last)
{
    const fsim_yaml *y = op_at(r, last);
    for (int side = 0; side < 2 && inputs(y) == 2 && strcmp(text_of(y, "op"), "mul") == 0; side++) {
        found with = *f;
        const char *norm = input(y, side);
        int n = made_by(r, &with, norm, "mul", 2);
        n = n < 0 ? made_by(r, &with, norm, "div", 2) : n;
        const char *x = n < 0 ? NULL : over_its_size(r, &with, op_at(r, n));
        const fsim_shape *s = x ? r->facts->shape(r->facts->model, x) : NULL;
        if (!s || s->rank == 0 || !is_vector(r, input(y, 1 - side), s->dim[s->rank - 1]) || !is_closed(r, &with, NULL))
            continue;
        *f = with;
        f->op = "rms_norm";
        f->in[f->ins++] = x;
        f->in[f->ins++] = input(y, 1 - side);
        return true;
    }
    return false;
}

static bool same_shape(const fsim_shape *x, const fsim_shape *y)
{
    return x->rank == y->rank && memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim) == 0;
}

/* Is it a weight with one element for each channel, [C, 1, 1] beside images? */
static bool is_channelwise(const recogniser *r, const char *tensor, const fsim_shape *x)
{
    const fsim_shape *s = fsim_names_get(&r->weight, tensor) >= 0 ? r->facts->shape(r->facts->model, tensor) : NULL;
    bool fits = s && x->rank > 2 && s->rank >= x->rank - 1;
    for (int d = 0; fits && d < s->rank; d++)
        fits = s->dim[d] == (d == s->rank - (x->rank - 1) ? x->dim[1] : 1);
    return fits;
}

/* The instance norm of x[N, C, ...] as [N, groups, the rest], back in the shape of x: x. Its groups become f->number.
 */
static const char *norm_of_groups(const recogniser *r, found *f, const char *tensor)
{
    const int back = made_by(r, f, tensor, "reshape", 1);
    const int n = back < 0 ? -1 : made_by(r, f, input(op_at(r, back), 0), "instance_norm", 3);
    const int to = n < 0 ? -1 : made_by(r, f, input(op_at(r, n), 0), "reshape", 1);
    if (to < 0 || !r->facts->filled || !r->facts->filled(r->facts->model, input(op_at(r, n), 1), 1) ||
        !r->facts->filled(r->facts->model, input(op_at(r, n), 2), 0))
        return NULL;
    const char *x = input(op_at(r, to), 0);
    const fsim_shape *s = r->facts->shape(r->facts->model, x), *own = r->facts->shape(r->facts->model, tensor),
                     *groups = r->facts->shape(r->facts->model, text_of(op_at(r, to), "out"));
    if (!s || !own || !groups || s->rank < 3 || !same_shape(s, own) || groups->rank != 3 ||
        groups->dim[0] != s->dim[0] || groups->dim[1] < 1 || s->dim[1] % groups->dim[1] != 0)
        return NULL;
    f->key = "eps";
    f->number = strtod(text_of(op_at(r, n), "eps"), NULL);
    f->groups = groups->dim[1];
    return x;
}

/* What exporters make of group norm: an instance norm of the groups, times weight, plus bias. */
static bool is_group_norm(recogniser *r, found *f, int last)
{
    const fsim_yaml *y = op_at(r, last);
    const int side = strcmp(text_of(y, "op"), "add") == 0 ? side_of(r, y, "mul", 2) : -1;
    const int scaled = side < 0 ? -1 : made_by(r, f, input(y, side), "mul", 2);
    const int from = scaled < 0 ? -1 : side_of(r, op_at(r, scaled), "reshape", 1);
    const char *x = from < 0 ? NULL : norm_of_groups(r, f, input(op_at(r, scaled), from));
    if (!x)
        return false;
    const fsim_shape *s = r->facts->shape(r->facts->model, x);
    f->op = "group_norm";
    f->in[f->ins++] = x;
    f->in[f->ins++] = input(op_at(r, scaled), 1 - from);
    f->in[f->ins++] = input(y, 1 - side);
    return is_channelwise(r, f->in[1], s) && is_channelwise(r, f->in[2], s) && is_closed(r, f, NULL);
}

/* x times a weight that the exporter transposed, and a bias where it is added right away */
static bool is_linear(recogniser *r, found *f, int last)
{
    const fsim_yaml *y = op_at(r, last), *product = y;
    const int side = strcmp(text_of(y, "op"), "add") == 0 ? side_of(r, y, "matmul", 2) : -1;
    if (side >= 0) {
        const int m = made_by(r, f, input(y, side), "matmul", 2);
        product = m < 0 ? y : op_at(r, m);
    }
    if (strcmp(text_of(product, "op"), "matmul") != 0)
        return false;
    const char *w = input(product, 1);
    const fsim_shape *s = r->facts->shape(r->facts->model, w);
    f->op = "linear";
    f->in[f->ins++] = input(product, 0);
    f->in[f->ins++] = w;
    if (!s || s->rank != 2 || !read_times(r, w, 1) || fsim_names_get(&r->weight, w) < 0 ||
        !r->facts->transposed(r->facts->model, w))
        return false;
    if (product == y)
        return true;
    f->in[f->ins++] = input(y, 1 - side);
    return is_vector(r, f->in[2], s->dim[1]) && is_closed(r, f, NULL);
}

/* Writing. */

static fsim_yaml *scalar(const recogniser *r, const char *text)
{
    fsim_yaml *y = fsim_new(r->a, fsim_yaml, 1);
    *y = (fsim_yaml){.kind = FSIM_YAML_SCALAR, .text = text};
    return y;
}

static void put(const recogniser *r, fsim_yaml *map, const char *key, fsim_yaml *value)
{
    map->key[map->count] = scalar(r, key);
    map->item[map->count++] = value;
}

static fsim_yaml *list(const recogniser *r, int count, const char *const *text)
{
    fsim_yaml *y = fsim_new(r->a, fsim_yaml, 1);
    *y = (fsim_yaml){.kind = FSIM_YAML_SEQUENCE, .count = count, .item = fsim_new(r->a, fsim_yaml *, count + 1)};
    for (int i = 0; i < count; i++)
        y->item[i] = scalar(r, text[i]);
    return y;
}

/* The origins of the members, in their order: "MatMul + Add". */
static const char *origins(const recogniser *r, const found *f)
{
    const char *text = "";
    for (int i = f->members - 1; i >= 0; i--) {
        const char *from = text_of(op_at(r, f->member[i]), "from");
        text = fsim_printf(r->a, "%s%s%s", text, *text && *from ? " + " : "", from);
    }
    return text;
}

static int by_place(const void *x, const void *y) { return *(const int *)y - *(const int *)x; }

/* The last member becomes the operator that they are together. */
static void write_found(recogniser *r, found *f)
{
    const int last = f->member[0];
    const fsim_yaml *old = op_at(r, last), *layer = fsim_yaml_get(old, "layer");
    fsim_yaml *y = fsim_new(r->a, fsim_yaml, 1);
    *y = (fsim_yaml){.kind = FSIM_YAML_MAPPING,
                     .at = old->at,
                     .key = fsim_new(r->a, fsim_yaml *, 8),
                     .item = fsim_new(r->a, fsim_yaml *, 8)};
    qsort(f->member, (size_t)f->members, sizeof *f->member, by_place);
    put(r, y, "op", scalar(r, f->op));
    put(r, y, "in", list(r, f->ins, f->in));
    put(r, y, "out", scalar(r, text_of(old, "out")));
    if (layer)
        put(r, y, "layer", scalar(r, layer->text));
    put(r, y, "from", scalar(r, origins(r, f)));
    if (f->key)
        put(r, y, f->key, scalar(r, fsim_printf(r->a, "%.7g", f->number)));
    if (f->groups)
        put(r, y, "groups", scalar(r, fsim_printf(r->a, "%lld", (long long)f->groups)));
    if (f->causal)
        put(r, y, "causal", scalar(r, "true"));
    for (int i = 0; i < f->members; i++)
        r->merged[f->member[i]] = f->member[i] != last;
    r->ops->item[last] = y;
}

/* Exchanges the last two entries of a list. */
static void turn_list(const fsim_yaml *list)
{
    fsim_yaml **item = list->item + list->count - 2, *former = item[0];
    item[0] = item[1];
    item[1] = former;
}

static void count_read(recogniser *r, const char *tensor)
{
    const int before = fsim_names_get(&r->readers, tensor);
    fsim_names_set(r->a, &r->readers, tensor, before < 0 ? 1 : before + 1);
}

static void look_at(recogniser *r, const fsim_yaml *tree)
{
    const fsim_yaml *outputs = fsim_yaml_get(tree, "outputs");
    for (int i = 0; i < r->tensors->count; i++)
        fsim_names_set(r->a, &r->weight, r->tensors->key[i]->text, i);
    for (int i = 0; i < r->ops->count; i++) {
        for (int k = 0; k < inputs(op_at(r, i)); k++)
            count_read(r, input(op_at(r, i), k));
        if (*text_of(op_at(r, i), "out"))
            fsim_names_set(r->a, &r->maker, text_of(op_at(r, i), "out"), i);
    }
    for (int i = 0; outputs && i < outputs->count; i++) /* as if two more read it: it is no member but the last */
        for (int k = 0; k < 2; k++)
            count_read(r, outputs->item[i]->text);
}

static bool recognise_at(recogniser *r, int last)
{
    /* Eager runs RMS norm step by step, as PyTorch does; so it is the same whether PyTorch's exporter split it. */
    static const struct {
        bool (*is)(recogniser *, found *, int);
        bool always;
    } rules[] = {{is_layer_norm, false},     {is_group_norm, false}, {is_rms_norm, true}, {is_halved_gelu, false},
                 {is_gelu, false},           {is_silu, false},       {is_hard, false},    {is_plain_rms_norm, true},
                 {fsim_is_attention, false}, {is_linear, false}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        found f = {.member = {last}, .members = 1};
        if ((!rules[i].always && !r->facts->decomposed) || !rules[i].is(r, &f, last))
            continue;
        if (rules[i].is == is_linear) /* the weight as its module has it */
            f.turned = fsim_yaml_get(r->tensors->item[fsim_names_get(&r->weight, f.in[1])], "shape");
        if (f.turned) {
            turn_list(f.turned);
            fsim_draft_turn(r->facts->draft, f.in[1]);
        }
        write_found(r, &f);
        return true;
    }
    return false;
}

/* Masks of causal attention that nobody reads any more are no tensors of the workload. */
static void drop_masks(const recogniser *r, const fsim_yaml *tree)
{
    const fsim_yaml *outputs = fsim_yaml_get(tree, "outputs");
    fsim_yaml *tensors = (fsim_yaml *)(uintptr_t)r->tensors;
    fsim_names read = {0};
    for (int i = 0; outputs && i < outputs->count; i++)
        fsim_names_set(r->a, &read, outputs->item[i]->text, 1);
    for (int i = 0; i < r->ops->count; i++)
        for (int k = 0; k < inputs(op_at(r, i)); k++)
            fsim_names_set(r->a, &read, input(op_at(r, i), k), 1);
    int kept = 0;
    for (int i = 0; i < tensors->count; i++) {
        const char *name = tensors->key[i]->text;
        if (fsim_names_get(&read, name) < 0 && r->facts->causal && r->facts->causal(r->facts->model, name))
            continue;
        tensors->key[kept] = tensors->key[i];
        tensors->item[kept++] = tensors->item[i];
    }
    tensors->count = kept;
}

const fsim_yaml *fsim_recognise(fsim_arena *a, const fsim_yaml *tree, const fsim_recognise_facts *facts)
{
    fsim_yaml *ops = (fsim_yaml *)(uintptr_t)fsim_yaml_get(tree, "operators");
    recogniser r = {.a = a, .facts = facts, .ops = ops};
    r.tensors = fsim_yaml_get(tree, "tensors");
    r.merged = fsim_new(a, bool, ops->count + 1);
    look_at(&r, tree);
    for (int i = ops->count - 1; i >= 0; i--)
        if (!r.merged[i])
            recognise_at(&r, i);
    int kept = 0;
    for (int i = 0; i < ops->count; i++)
        if (!r.merged[i])
            ops->item[kept++] = ops->item[i];
    ops->count = kept;
    drop_masks(&r, tree);
    return tree;
}
