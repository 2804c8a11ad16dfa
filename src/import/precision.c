/* SPDX-License-Identifier: Apache-2.0 */
#include "import/precision.h"

#include "base/names.h"
#include "graph/alias.h"
#include "graph/attribute.h"

#include <string.h>

static const char low[] = "f8e4m3"; /* the operands of products with --precision f8 */

typedef struct {
    fsim_arena *a;
    const char *to;   /* the dtype of floats */
    bool eight;       /* products read 8 bits */
    bool tf32;        /* products round their f32 operands */
    bool trained;     /* weights are updated in wider floats: products cast them */
    fsim_names reads; /* weight -> how often it is read; as far as products do, less */
    fsim_names casts; /* name -> its cast is there */
} recasting;

static bool is_float(const char *text)
{
    fsim_dtype t;
    return text && fsim_dtype_parse(text, &t) && fsim_dtype_floating(t);
}

static fsim_yaml *scalar(const recasting *r, const fsim_yaml *like, const char *text)
{
    fsim_yaml *y = fsim_new(r->a, fsim_yaml, 1);
    *y = (fsim_yaml){.kind = FSIM_YAML_SCALAR, .at = like->at, .text = text};
    return y;
}

/* A copy with room for more items, which are shared. */
static fsim_yaml *shallow(const recasting *r, const fsim_yaml *y, int more)
{
    fsim_yaml *copy = fsim_new(r->a, fsim_yaml, 1);
    *copy = *y;
    copy->item = fsim_new(r->a, fsim_yaml *, y->count + more + 1);
    copy->key = fsim_new(r->a, fsim_yaml *, y->count + more + 1);
    for (int i = 0; i < y->count; i++) {
        copy->item[i] = y->item[i];
        copy->key[i] = y->kind == FSIM_YAML_MAPPING ? y->key[i] : NULL;
    }
    return copy;
}

static void put(const recasting *r, fsim_yaml *map, const char *key, fsim_yaml *item)
{
    map->key[map->count] = scalar(r, map, key);
    map->item[map->count++] = item;
}

static bool is_map(const fsim_yaml *y) { return y && y->kind == FSIM_YAML_MAPPING; }
static bool is_list(const fsim_yaml *y) { return y && y->kind == FSIM_YAML_SEQUENCE; }
static const char *text_of(const fsim_yaml *y) { return y && y->kind == FSIM_YAML_SCALAR ? y->text : NULL; }

/* Is it a product of matrices, whose result has a dtype of its own? */
static bool is_product(const fsim_yaml *op)
{
    const char *name = text_of(fsim_yaml_get(op, "op"));
    const fsim_alias *alias;
    fsim_op which;
    return name && fsim_op_named(name, &which, &alias) && !fsim_yaml_get(op, "dtype") &&
           (which == FSIM_OP_MATMUL || which == FSIM_OP_BMM || which == FSIM_OP_LINEAR);
}

static const char *input(const fsim_yaml *op, int i)
{
    const fsim_yaml *in = fsim_yaml_get(op, "in");
    return is_list(in) ? (i < in->count ? text_of(in->item[i]) : NULL) : i == 0 ? text_of(in) : NULL;
}

/* Counts what reads each name: 1 for an operand of a product, 1000 for all else. */
static void count_reads(recasting *r, const fsim_yaml *ops)
{
    enum { OTHER = 1000 };
    const char *name;
    for (int i = 0; is_list(ops) && i < ops->count; i++) {
        const fsim_yaml *op = ops->item[i];
        const bool product = is_map(op) && is_product(op);
        for (int k = 0; is_map(op) && (name = input(op, k)); k++) {
            const int now = fsim_names_get(&r->reads, name);
            fsim_names_set(r->a, &r->reads, name, (now > 0 ? now : 0) + (product && k < 2 ? 1 : OTHER) % (1 << 20));
        }
        count_reads(r, is_map(op) ? fsim_yaml_get(op, "operators") : NULL);
    }
}

static bool read_by_products(const recasting *r, const char *name)
{
    const int reads = fsim_names_get(&r->reads, name);
    return reads > 0 && reads < 1000;
}

static fsim_yaml *recast_tensors(recasting *r, fsim_yaml *tensors)
{
    fsim_yaml *copy = shallow(r, tensors, 0);
    for (int t = 0; t < copy->count; t++) {
        const fsim_yaml *tensor = copy->item[t];
        const char *name = copy->key[t]->text, *role = is_map(tensor) ? text_of(fsim_yaml_get(tensor, "role")) : NULL;
        fsim_yaml *own = shallow(r, tensor, 0);
        const bool stored = r->eight && !r->trained && role && strcmp(role, "weight") == 0 && read_by_products(r, name);
        for (int i = 0; is_map(tensor) && i < own->count; i++)
            if (strcmp(own->key[i]->text, "dtype") == 0 && is_float(text_of(own->item[i]))) {
                own->item[i] = scalar(r, own->item[i], stored ? low : r->to);
                if (stored)
                    fsim_names_set(r->a, &r->casts, name, 1);
            } else if (stored && strcmp(own->key[i]->text, "dtype") == 0) { /* a symbol, which stands for a float */
                own->item[i] = scalar(r, own->item[i], low);
                fsim_names_set(r->a, &r->casts, name, 1);
            }
        copy->item[t] = own;
    }
    return copy;
}

/* Is it a product of floats, whose arithmetic can be named? One that names its result's dtype may be of integers. */
static bool takes_compute(const fsim_yaml *op)
{
    const char *name = text_of(fsim_yaml_get(op, "op"));
    const fsim_alias *alias;
    fsim_op which;
    return name && fsim_op_named(name, &which, &alias) && fsim_taken_named(which, "compute") != FSIM_ATTR_COUNT &&
           !fsim_yaml_get(op, "dtype");
}

/* Attributes that name a dtype. Arithmetic of its own is left to the dtype. */
static fsim_yaml *recast_operator(const recasting *r, const fsim_yaml *op)
{
    fsim_yaml *copy = shallow(r, op, 2);
    copy->count = 0;
    for (int i = 0; i < op->count; i++) {
        const char *key = op->key[i]->text, *text = text_of(op->item[i]);
        const bool compute = strcmp(key, "compute") == 0;
        if (compute && text && (is_float(text) || strcmp(text, "tf32") == 0))
            continue;
        copy->key[copy->count] = op->key[i];
        copy->item[copy->count++] =
            !compute && strcmp(key, "dtype") == 0 && is_float(text) ? scalar(r, op->item[i], r->to) : op->item[i];
    }
    if (r->tf32 && takes_compute(op))
        put(r, copy, "compute", scalar(r, op, "tf32"));
    return copy;
}

/* The name of an operand in 8 bits; its cast is added to the list where it is not there yet. */
static const char *in_eight(recasting *r, fsim_yaml *list, const fsim_yaml *like, const char *name, fsim_names *here)
{
    if (fsim_names_get(&r->casts, name) > 0)
        return name; /* a weight that is stored so */
    const char *cast_name = fsim_printf(r->a, "f8.%s", name);
    if (fsim_names_get(here, name) > 0)
        return cast_name;
    fsim_names_set(r->a, here, name, 1);
    fsim_yaml *cast = fsim_new(r->a, fsim_yaml, 1);
    *cast = (fsim_yaml){.kind = FSIM_YAML_MAPPING, .at = like->at};
    cast->item = fsim_new(r->a, fsim_yaml *, 6);
    cast->key = fsim_new(r->a, fsim_yaml *, 6);
    put(r, cast, "op", scalar(r, like, "cast"));
    put(r, cast, "in", scalar(r, like, name));
    put(r, cast, "out", scalar(r, like, cast_name));
    fsim_yaml *layer = (fsim_yaml *)fsim_yaml_get(like, "layer");
    if (layer)
        put(r, cast, "layer", layer);
    put(r, cast, "dtype", scalar(r, like, low));
    list->item[list->count++] = cast;
    return cast_name;
}

static fsim_yaml *recast_list(recasting *r, const fsim_yaml *ops);

/* A repeat block, or the workload as a whole. */
static fsim_yaml *recast_block(recasting *r, const fsim_yaml *y)
{
    fsim_yaml *copy = shallow(r, y, 0);
    for (int pass = 0; pass < 2; pass++) /* tensors first: operators ask which weights are stored in 8 bits */
        for (int i = 0; i < y->count; i++) {
            const char *key = y->key[i]->text;
            if (pass == 0 && strcmp(key, "tensors") == 0 && is_map(y->item[i]))
                copy->item[i] = recast_tensors(r, y->item[i]);
            if (pass == 1 && strcmp(key, "operators") == 0 && is_list(y->item[i]))
                copy->item[i] = recast_list(r, y->item[i]);
        }
    return copy;
}

static fsim_yaml *recast_list(recasting *r, const fsim_yaml *ops)
{
    fsim_yaml *list = shallow(r, ops, 2 * ops->count);
    fsim_names here = {0}; /* what has a cast in this list */
    list->count = 0;
    for (int i = 0; i < ops->count; i++) {
        const fsim_yaml *op = ops->item[i], *in = is_map(op) ? fsim_yaml_get(op, "in") : NULL;
        if (!is_map(op) || fsim_yaml_get(op, "repeat")) {
            list->item[list->count++] = is_map(op) ? recast_block(r, op) : (fsim_yaml *)op;
            continue;
        }
        fsim_yaml *copy = recast_operator(r, op);
        if (r->eight && is_product(op) && is_list(in) && in->count > 1 && input(op, 0) && input(op, 1)) {
            fsim_yaml *operands = shallow(r, in, 0);
            for (int k = 0; k < 2; k++)
                operands->item[k] = scalar(r, in, in_eight(r, list, op, input(op, k), &here));
            for (int k = 0; k < copy->count; k++)
                copy->item[k] = strcmp(copy->key[k]->text, "in") == 0 ? operands : copy->item[k];
            put(r, copy, "dtype", scalar(r, op, r->to));
        }
        list->item[list->count++] = copy;
    }
    return list;
}

const fsim_yaml *fsim_recast(fsim_arena *a, const fsim_yaml *y, const char *to, bool trained)
{
    recasting r = {
        .a = a, .to = to, .eight = strcmp(to, "f8") == 0, .tf32 = strcmp(to, "tf32") == 0, .trained = trained};
    if (!is_map(y))
        return y;
    if (r.eight)
        r.to = "bf16";
    if (r.tf32)
        r.to = "f32";
    count_reads(&r, fsim_yaml_get(y, "operators"));
    fsim_yaml *copy = recast_block(&r, y);
    for (int i = 0; i < copy->count; i++) {
        if (strcmp(copy->key[i]->text, "symbols") != 0 || !is_map(copy->item[i]))
            continue;
        fsim_yaml *symbols = copy->item[i] = shallow(&r, copy->item[i], 0);
        for (int s = 0; s < symbols->count; s++)
            if (is_float(text_of(symbols->item[s])))
                symbols->item[s] = scalar(&r, symbols->item[s], r.to);
    }
    return copy;
}
