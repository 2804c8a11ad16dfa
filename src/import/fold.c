/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c: operators are equal where they are but for names and for numbers in the path of their layer; stretches of
 * them become blocks. What a block reads is made in the same turn, in the turn before (carried), or outside. */
#include "import/fold.h"

#include "base/names.h"
#include "import/layers.h"
#include "import/template.h"

#include <ctype.h>
#include <string.h>

enum { TURNS = 4096 /* of a block, at most */ };

/* Where a name is made: output `out` of operator `op`. */
typedef struct {
    int op, out;
} maker;

typedef struct {
    fsim_arena *a;
    const fsim_yaml *ops, *tensors;
    fsim_names makers;   /* name -> index into `of` */
    fsim_names declared; /* name -> index of the tensor */
    maker *of;
    bool *claimed; /* per tensor: a block declares it */
    int *order;    /* tensors that blocks declare, as they are declared */
    int ordered;
} folder;

/* A block under construction. */
typedef struct {
    folder *f;
    fsim_layers at;
    const char **name; /* one for each turn, scratch */
    fsim_yaml *carry, *tensors, *operators;
    const char ***out; /* templates of what each operator makes */
    int *tensor;       /* the tensors that it declares, each with one for each turn */
} block;

/* Trees. */

static fsim_yaml *node(fsim_arena *a, fsim_yaml_kind kind, const fsim_yaml *like, int room)
{
    fsim_yaml *y = fsim_new(a, fsim_yaml, 1);
    *y = (fsim_yaml){.kind = kind, .at = like->at};
    if (kind != FSIM_YAML_SCALAR) {
        y->item = fsim_new(a, fsim_yaml *, room + 1);
        y->key = fsim_new(a, fsim_yaml *, room + 1);
    }
    return y;
}

static fsim_yaml *scalar(fsim_arena *a, const fsim_yaml *like, const char *text)
{
    fsim_yaml *y = node(a, FSIM_YAML_SCALAR, like, 0);
    y->text = text;
    return y;
}

static void put(fsim_arena *a, fsim_yaml *map, const char *key, fsim_yaml *item)
{
    map->key[map->count] = scalar(a, map, key);
    map->item[map->count++] = item;
}

static bool same_tree(const fsim_yaml *x, const fsim_yaml *y)
{
    if (x->kind != y->kind || x->count != y->count || (x->kind == FSIM_YAML_SCALAR && strcmp(x->text, y->text) != 0))
        return false;
    for (int i = 0; i < x->count; i++)
        if ((x->kind == FSIM_YAML_MAPPING && strcmp(x->key[i]->text, y->key[i]->text) != 0) ||
            !same_tree(x->item[i], y->item[i]))
            return false;
    return true;
}

static int names_of(const fsim_yaml *y) { return !y ? 0 : y->kind == FSIM_YAML_SEQUENCE ? y->count : 1; }

static const char *name_of(const fsim_yaml *y, int i)
{
    return y->kind == FSIM_YAML_SEQUENCE ? y->item[i]->text : y->text;
}

static int tensors_in(const folder *f) { return f->tensors ? f->tensors->count : 0; }

/* Kinds of operators. */

static uint64_t hash_text(uint64_t h, const char *text, bool numbers)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)(!numbers && isdigit((unsigned char)*text) ? '#' : *text)) * 0x100000001b3u;
    return (h ^ 0xff) * 0x100000001b3u;
}

static uint64_t hash_tree(uint64_t h, const fsim_yaml *y)
{
    h = (h ^ ((uint64_t)y->kind << 32 | (unsigned)y->count)) * 0x100000001b3u;
    if (y->kind == FSIM_YAML_SCALAR)
        return hash_text(h, y->text, true);
    for (int i = 0; i < y->count; i++) {
        if (y->kind == FSIM_YAML_MAPPING)
            h = hash_text(h, y->key[i]->text, true);
        h = hash_tree(h, y->item[i]);
    }
    return h;
}

/* The path of a layer without its numbers, however many digits they have. */
static uint64_t hash_layer(uint64_t h, const char *text)
{
    for (const char *c = text; *c; c++)
        if (!isdigit((unsigned char)*c) || c == text || !isdigit((unsigned char)c[-1]))
            h = (h ^ (unsigned char)(isdigit((unsigned char)*c) ? '#' : *c)) * 0x100000001b3u;
    return h;
}

static uint64_t kind_of(const folder *f, const fsim_yaml *op)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < op->count; i++) {
        const char *key = op->key[i]->text;
        const fsim_yaml *y = op->item[i];
        h = hash_text(h, key, true);
        if (strcmp(key, "layer") == 0 && y->kind == FSIM_YAML_SCALAR)
            h = hash_layer(h, y->text);
        else if (strcmp(key, "out") == 0)
            h = (h ^ (unsigned)names_of(y)) * 0x100000001b3u;
        else if (strcmp(key, "in") != 0)
            h = hash_tree(h, y);
        for (int k = 0; strcmp(key, "in") == 0 && k < names_of(y); k++) {
            const int t = fsim_names_get(&f->declared, name_of(y, k));
            h = t < 0 ? (h ^ 0x5f) * 0x100000001b3u : hash_tree(h, f->tensors->item[t]);
        }
    }
    return h;
}

/* Are two operators equal but for names and layer? */
static bool alike(const fsim_yaml *x, const fsim_yaml *y)
{
    bool same = x->count == y->count;
    for (int i = 0; same && i < x->count; i++) {
        const char *key = x->key[i]->text;
        const bool name = strcmp(key, "in") == 0 || strcmp(key, "out") == 0, layer = strcmp(key, "layer") == 0;
        same = strcmp(key, y->key[i]->text) == 0 && x->item[i]->kind == y->item[i]->kind &&
               (layer || (name ? names_of(x->item[i]) == names_of(y->item[i]) : same_tree(x->item[i], y->item[i])));
    }
    return same;
}

/* How well a turn may begin at each operator: better where its layer shares less of its path with the one before. */
static int *cuts(const folder *f)
{
    int *cut = fsim_new(f->a, int, f->ops->count + 1);
    const char *before = "";
    for (int i = 0; i < f->ops->count; i++) {
        const fsim_yaml *layer = fsim_yaml_get(f->ops->item[i], "layer");
        const char *now = layer && layer->kind == FSIM_YAML_SCALAR ? layer->text : "";
        size_t shared = 0;
        while (now[shared] && now[shared] == before[shared])
            shared++;
        cut[i] = *now ? -(int)shared : -(1 << 20);
        before = now;
    }
    return cut;
}

/* Blocks. */

static const fsim_yaml *op_at(const block *b, int k, int turn)
{
    return b->f->ops->item[b->at.first + turn * b->at.period + k];
}

/* The template of what key's name i is in each turn. */
static const char *template_of(block *b, int k, const char *key, int i)
{
    for (int t = 0; t < b->at.times; t++)
        b->name[t] = name_of(fsim_yaml_get(op_at(b, k, t), key), i);
    return fsim_name_template(b->f->a, b->name, b->at.times);
}

/* Where b->name[t] is made, as the operator of the block and how many turns before; op -1: outside. */
static maker made_in(const block *b, int t, int turns_before)
{
    const int made = fsim_names_get(&b->f->makers, b->name[t]);
    const int first = b->at.first + (t - turns_before) * b->at.period;
    if (made < 0 || t < turns_before || b->f->of[made].op < first || b->f->of[made].op >= first + b->at.period)
        return (maker){-1, 0};
    return (maker){b->f->of[made].op - first, b->f->of[made].out};
}

/* Do all turns from `from` on read what one place of the block made so many turns before? */
static bool made_alike(const block *b, int from, maker *out)
{
    *out = made_in(b, from, from);
    for (int t = from; t < b->at.times; t++) {
        const maker one = made_in(b, t, from);
        if (one.op < 0 || one.op != out->op || one.out != out->out)
            return false;
    }
    return true;
}

static bool made_inside(const block *b, const char *name)
{
    const int made = fsim_names_get(&b->f->makers, name);
    return made >= 0 && b->f->of[made].op >= b->at.first &&
           b->f->of[made].op < b->at.first + b->at.period * b->at.times;
}

/* Declares the tensors b->name[0, turns) in the block, where they are equal tensors that nothing else declares. */
static void declare(block *b, const char *name)
{
    folder *f = b->f;
    const int first = fsim_names_get(&f->declared, b->name[0]), turns = b->at.times, at = b->tensors->count;
    bool good = first >= 0 && strchr(name, '<');
    for (int t = 0; t < turns && good; t++) {
        const int tensor = fsim_names_get(&f->declared, b->name[t]);
        good = tensor >= 0 && !f->claimed[tensor] && same_tree(f->tensors->item[tensor], f->tensors->item[first]);
    }
    if (!good)
        return;
    for (int t = 0; t < turns; t++) {
        const int tensor = fsim_names_get(&f->declared, b->name[t]);
        b->tensor[at * turns + t] = tensor;
        f->claimed[tensor] = true;
    }
    put(f->a, b->tensors, name, f->tensors->item[first]);
}

/* Carries what operator `from` makes to the next turn, which reads it as `first`. False where that name means something
 * else already. */
static bool carry(block *b, const char *first, maker from)
{
    const char *last = b->out[from.op][from.out];
    const fsim_yaml *carried = fsim_yaml_get(b->carry, first);
    if (carried)
        return strcmp(carried->text, last) == 0;
    put(b->f->a, b->carry, first, scalar(b->f->a, b->carry, last));
    return true;
}

/* The name by which the block's operator k reads its input i. NULL where there is none. */
static const char *input_of(block *b, int k, int i)
{
    const char *name = template_of(b, k, "in", i);
    maker from;
    if (!name)
        return NULL;
    if (made_alike(b, 0, &from))
        return b->out[from.op][from.out];
    if (b->at.times > 1 && !made_inside(b, b->name[0]) && made_alike(b, 1, &from) && carry(b, b->name[0], from))
        return b->name[0];
    declare(b, name);
    return name;
}

/* Do names that every turn reads from outside stay what they are: is none of them carried? */
static bool constants_are_free(const block *b)
{
    bool free = true;
    for (int k = 0; k < b->operators->count; k++) {
        const fsim_yaml *in = fsim_yaml_get(b->operators->item[k], "in"), *last = fsim_yaml_get(op_at(b, k, 1), "in");
        for (int i = 0; in && i < names_of(in); i++)
            if (fsim_yaml_get(b->carry, name_of(in, i)))
                free = free && strcmp(name_of(in, i), name_of(last, i)) != 0;
    }
    return free;
}

static fsim_yaml *block_names(block *b, const fsim_yaml *like, int k, bool in)
{
    fsim_yaml *list = node(b->f->a, FSIM_YAML_SEQUENCE, like, names_of(like));
    for (int i = 0; i < names_of(like); i++) {
        const char *name = in ? input_of(b, k, i) : b->out[k][i];
        if (!name)
            return NULL;
        list->item[list->count++] = scalar(b->f->a, like, name);
    }
    return like->kind == FSIM_YAML_SEQUENCE ? list : list->item[0];
}

/* Operator k of the block. NULL where the turns can't be one. */
static fsim_yaml *block_op(block *b, int k)
{
    const fsim_yaml *op = op_at(b, k, 0);
    fsim_yaml *copy = node(b->f->a, FSIM_YAML_MAPPING, op, op->count);
    for (int i = 0; i < op->count; i++) {
        const char *key = op->key[i]->text;
        fsim_yaml *item = op->item[i];
        if (strcmp(key, "in") == 0 || strcmp(key, "out") == 0) {
            item = block_names(b, item, k, *key == 'i');
        } else if (strcmp(key, "layer") == 0) {
            const char *path = template_of(b, k, key, 0);
            item = path ? scalar(b->f->a, item, path) : NULL;
        }
        if (!item)
            return NULL;
        put(b->f->a, copy, key, item);
    }
    return copy;
}

/* Templates of all that the block makes. */
static bool name_outputs(block *b)
{
    b->out = fsim_new(b->f->a, const char **, b->at.period);
    for (int k = 0; k < b->at.period; k++) {
        const int outs = names_of(fsim_yaml_get(op_at(b, k, 0), "out"));
        b->out[k] = fsim_new(b->f->a, const char *, outs + 1);
        for (int t = 1; t < b->at.times; t++)
            if (!alike(op_at(b, k, 0), op_at(b, k, t)))
                return false;
        for (int i = 0; i < outs; i++)
            if (!(b->out[k][i] = template_of(b, k, "out", i)))
                return false;
    }
    return true;
}

static fsim_yaml *finished(block *b)
{
    fsim_arena *a = b->f->a;
    fsim_yaml *y = node(a, FSIM_YAML_MAPPING, b->operators, 4);
    put(a, y, "repeat", scalar(a, y, fsim_printf(a, "%d", b->at.times)));
    if (b->carry->count)
        put(a, y, "carry", b->carry);
    if (b->tensors->count)
        put(a, y, "tensors", b->tensors);
    put(a, y, "operators", b->operators);
    for (int t = 0; t < b->at.times; t++)
        for (int i = 0; i < b->tensors->count; i++)
            b->f->order[b->f->ordered++] = b->tensor[i * b->at.times + t];
    return y;
}

/* The stretch as a block. NULL where it can't be one. */
static fsim_yaml *block_of(folder *f, const fsim_layers *at)
{
    block b = {.f = f, .at = *at};
    int inputs = 0;
    if (at->times > TURNS)
        return NULL;
    for (int k = 0; k < at->period; k++)
        inputs += names_of(fsim_yaml_get(op_at(&b, k, 0), "in"));
    b.name = fsim_new(f->a, const char *, at->times);
    b.tensor = fsim_new(f->a, int, (size_t)inputs *(size_t)at->times);
    b.carry = node(f->a, FSIM_YAML_MAPPING, f->ops, inputs);
    b.tensors = node(f->a, FSIM_YAML_MAPPING, f->ops, inputs);
    b.operators = node(f->a, FSIM_YAML_SEQUENCE, f->ops, at->period);
    fsim_yaml *op = NULL;
    bool good = name_outputs(&b);
    for (int k = 0; k < at->period && good; k++, good = op != NULL)
        if ((op = block_op(&b, k)))
            b.operators->item[b.operators->count++] = op;
    if (good && constants_are_free(&b))
        return finished(&b);
    for (int i = 0; i < b.tensors->count * at->times; i++)
        f->claimed[b.tensor[i]] = false;
    return NULL;
}

/* The whole. */

static void index_names(folder *f)
{
    int outs = 0, count = 0;
    for (int i = 0; f->tensors && i < f->tensors->count; i++)
        fsim_names_set(f->a, &f->declared, f->tensors->key[i]->text, i);
    for (int i = 0; i < f->ops->count; i++)
        outs += names_of(fsim_yaml_get(f->ops->item[i], "out"));
    f->of = fsim_new(f->a, maker, outs + 1);
    for (int i = 0; i < f->ops->count; i++) {
        const fsim_yaml *out = fsim_yaml_get(f->ops->item[i], "out");
        for (int o = 0; o < names_of(out); o++) {
            f->of[count] = (maker){i, o};
            fsim_names_set(f->a, &f->makers, name_of(out, o), count++);
        }
    }
    f->claimed = fsim_new(f->a, bool, tensors_in(f) + 1);
    f->order = fsim_new(f->a, int, tensors_in(f) + 1);
}

/* A copy of the workload with other tensors and operators. */
static fsim_yaml *with(fsim_arena *a, const fsim_yaml *y, fsim_yaml *tensors, fsim_yaml *ops)
{
    fsim_yaml *copy = node(a, FSIM_YAML_MAPPING, y, y->count);
    for (int i = 0; i < y->count; i++) {
        const char *key = y->key[i]->text;
        if (strcmp(key, "tensors") != 0 || tensors->count > 0)
            put(a, copy, key,
                strcmp(key, "tensors") == 0            ? tensors
                : ops && strcmp(key, "operators") == 0 ? ops
                                                       : y->item[i]);
    }
    return copy;
}

/* The tensors that no block declares, and then, where `all`, those that blocks do. */
static fsim_yaml *tensors_of(const folder *f, bool all)
{
    fsim_yaml *list = node(f->a, FSIM_YAML_MAPPING, f->ops, tensors_in(f));
    for (int i = 0; i < tensors_in(f); i++)
        if (!f->claimed[i])
            put(f->a, list, f->tensors->key[i]->text, f->tensors->item[i]);
    for (int i = 0; i < f->ordered && all; i++)
        put(f->a, list, f->tensors->key[f->order[i]]->text, f->tensors->item[f->order[i]]);
    return list;
}

static bool can_fold(const fsim_yaml *y)
{
    const fsim_yaml *ops = fsim_yaml_get(y, "operators"), *tensors = fsim_yaml_get(y, "tensors");
    bool good = ops && ops->kind == FSIM_YAML_SEQUENCE && (!tensors || tensors->kind == FSIM_YAML_MAPPING);
    for (int i = 0; good && i < ops->count; i++) {
        const fsim_yaml *out = fsim_yaml_get(ops->item[i], "out");
        good = out && out->kind != FSIM_YAML_MAPPING && !fsim_yaml_get(ops->item[i], "repeat");
    }
    return good;
}

fsim_folded fsim_fold_layers(fsim_arena *a, const fsim_yaml *y)
{
    fsim_folded out = {y, y, 0};
    if (!can_fold(y))
        return out;
    folder f = {.a = a, .ops = fsim_yaml_get(y, "operators"), .tensors = fsim_yaml_get(y, "tensors")};
    index_names(&f);
    const int count = f.ops->count;
    uint64_t *kind = fsim_new(a, uint64_t, count + 1);
    for (int i = 0; i < count; i++)
        kind[i] = kind_of(&f, f.ops->item[i]);
    int found, done = 0;
    const fsim_layers *layers = fsim_find_layers(a, kind, cuts(&f), count, &found);
    fsim_yaml *ops = node(a, FSIM_YAML_SEQUENCE, f.ops, count);
    for (int i = 0; i < found; i++) {
        fsim_yaml *one = block_of(&f, &layers[i]);
        if (!one)
            continue;
        while (done < layers[i].first)
            ops->item[ops->count++] = f.ops->item[done++];
        ops->item[ops->count++] = one;
        done += layers[i].period * layers[i].times;
        out.blocks++;
    }
    while (done < count)
        ops->item[ops->count++] = f.ops->item[done++];
    if (out.blocks == 0)
        return out;
    out.flat = with(a, y, tensors_of(&f, true), NULL);
    out.folded = with(a, y, tensors_of(&f, false), ops);
    return out;
}
