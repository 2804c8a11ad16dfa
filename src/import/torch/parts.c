/* SPDX-License-Identifier: Apache-2.0 */
#include "import/torch/parts.h"

#include <string.h>

/* Parts. */

/* Is it a node of this operator, "aten.roll"? */
bool fsim_part_is_op(const fsim_torch_node *n, const char *op)
{
    const size_t length = strlen(op);
    return strncmp(n->target, "aten.", 5) == 0 && strncmp(n->target + 5, op, length) == 0 &&
           n->target[5 + length] == '.';
}

/* The number-th part of this operator; NULL: there is none. */
const fsim_torch_node *fsim_part_part(const fsim_torch_parts *p, const char *op, int number)
{
    for (int i = 0; i < p->nodes; i++)
        if (fsim_part_is_op(&p->first[i], op) && number-- == 0)
            return &p->first[i];
    return NULL;
}

const fsim_torch_arg *fsim_part_arg(const fsim_torch_node *n, const char *name)
{
    for (int i = 0; n && i < n->ins; i++)
        if (strcmp(n->in[i].name, name) == 0 && n->in[i].kind != FSIM_TORCH_NONE)
            return &n->in[i];
    return NULL;
}

/* A number of the file; INT64_MIN: it is none, or symbolic. */
int64_t fsim_part_number(const fsim_torch_arg *a)
{
    return a && a->kind == FSIM_TORCH_INT && !a->text ? a->integer : INT64_MIN;
}

static bool is_among(const fsim_torch_arg *out, int count, const char *tensor)
{
    for (int k = 0; k < count; k++)
        if ((out[k].kind == FSIM_TORCH_TENSOR && strcmp(out[k].text, tensor) == 0) ||
            (out[k].kind == FSIM_TORCH_LIST && is_among(out[k].item, out[k].count, tensor)))
            return true;
    return false;
}

bool fsim_part_made_by(const fsim_torch_node *n, const char *tensor) { return is_among(n->out, n->outs, tensor); }

const fsim_torch_node *fsim_part_maker(const fsim_torch_parts *p, const char *tensor)
{
    for (int i = 0; tensor && i < p->nodes; i++)
        if (fsim_part_made_by(&p->first[i], tensor))
            return &p->first[i];
    return NULL;
}

/* A tensor from outside that an argument is, through parts that view, widen or cast it, or multiply it by a number;
 * NULL: it is none. */
const char *fsim_part_from_outside(const fsim_torch_parts *p, const fsim_torch_arg *a)
{
    static const char *const views[] = {"expand", "view", "permute", "unsqueeze", "clone", "_unsafe_view", "_to_copy"};
    for (int left = p->nodes; left >= 0 && a && a->kind == FSIM_TORCH_TENSOR; left--) { /* a file may have a cycle */
        const fsim_torch_node *n = fsim_part_maker(p, a->text);
        if (!n)
            return a->text;
        bool view = false;
        for (size_t i = 0; i < sizeof views / sizeof *views; i++)
            view = view || fsim_part_is_op(n, views[i]);
        const fsim_torch_arg *other = fsim_part_is_op(n, "mul") ? fsim_part_arg(n, "other") : NULL;
        view = view || (other && other->kind != FSIM_TORCH_TENSOR) ||
               strncmp(n->target, "prims.convert_element_type.", 27) == 0;
        a = !view ? NULL : strncmp(n->target, "prims.", 6) == 0 ? fsim_part_arg(n, "a") : fsim_part_arg(n, "self");
    }
    return NULL;
}

static const char *only_one(const fsim_torch_parts *p, const fsim_torch_arg *a, int count, const char *found)
{
    for (int i = 0; i < count && (!found || *found); i++) {
        if (a[i].kind == FSIM_TORCH_LIST)
            found = only_one(p, a[i].item, a[i].count, found);
        if (a[i].kind != FSIM_TORCH_TENSOR || fsim_part_maker(p, a[i].text))
            continue;
        found = !found || strcmp(found, a[i].text) == 0 ? a[i].text : "";
    }
    return found;
}

/* The only tensor from outside that the parts read; NULL: there is none, or there are several. */
const char *fsim_part_the_input(const fsim_torch_parts *p)
{
    const char *found = NULL;
    for (int i = 0; i < p->nodes && (!found || *found); i++)
        found = only_one(p, p->first[i].in, p->first[i].ins, found);
    return found && *found ? found : NULL;
}

const fsim_torch_tensor *fsim_part_described(const fsim_torch_parts *p, const char *tensor)
{
    const int t = tensor ? fsim_names_get(&p->m->s->g->tensor_at, tensor) : -1;
    return t < 0 ? NULL : &p->m->s->g->tensor[t];
}

/* What a tensor made before the parts is; NULL: it is none. */
const fsim_torch_value *fsim_part_known(const fsim_torch_parts *p, const char *tensor)
{
    const int t = tensor ? fsim_names_get(&p->m->s->g->tensor_at, tensor) : -1;
    return t < 0 ? NULL : p->m->s->value[t];
}

/* Arguments of the whole. */

fsim_torch_arg *fsim_part_put(const fsim_part_writer *w, const char *name, fsim_torch_kind kind)
{
    fsim_torch_arg *at = &w->n->in[w->n->ins++];
    *at = (fsim_torch_arg){.kind = kind, .name = name};
    return at;
}

bool fsim_part_put_tensor(const fsim_part_writer *w, const char *name, const char *tensor)
{
    if (tensor)
        fsim_part_put(w, name, FSIM_TORCH_TENSOR)->text = tensor;
    return tensor != NULL;
}

void fsim_part_put_ints(const fsim_part_writer *w, const char *name, int count, const int64_t *value)
{
    fsim_torch_arg *at = fsim_part_put(w, name, FSIM_TORCH_LIST);
    at->count = count;
    at->item = fsim_new(w->a, fsim_torch_arg, count + 1);
    for (int i = 0; i < count; i++)
        at->item[i] = (fsim_torch_arg){.kind = FSIM_TORCH_INT, .name = "", .integer = value[i]};
}

void fsim_part_put_copy(const fsim_part_writer *w, const char *name, const fsim_torch_arg *from)
{
    *fsim_part_put(w, name, from->kind) = *from;
    w->n->in[w->n->ins - 1].name = name;
}

void fsim_part_put_tensors(const fsim_part_writer *w, const char *name, int count, const char *const *tensor)
{
    fsim_torch_arg *at = fsim_part_put(w, name, FSIM_TORCH_LIST);
    at->count = count;
    at->item = fsim_new(w->a, fsim_torch_arg, count + 1);
    for (int i = 0; i < count; i++)
        at->item[i] = (fsim_torch_arg){.kind = FSIM_TORCH_TENSOR, .name = "", .text = tensor[i]};
}

/* Adds those of a list of arguments to the `have` that are there. */
static int add_inputs(const fsim_torch_parts *p, const fsim_torch_arg *arg, int count, int most, int have,
                      const char **in)
{
    for (int i = 0; i < count && have <= most; i++) {
        if (arg[i].kind == FSIM_TORCH_LIST)
            have = add_inputs(p, arg[i].item, arg[i].count, most, have, in);
        bool there = arg[i].kind != FSIM_TORCH_TENSOR || fsim_part_maker(p, arg[i].text);
        for (int j = 0; j < have && j < most && !there; j++)
            there = strcmp(in[j], arg[i].text) == 0;
        if (!there && have < most)
            in[have] = arg[i].text;
        have += !there;
    }
    return have;
}

int fsim_part_inputs(const fsim_torch_parts *p, int most, const char **in)
{
    int have = 0;
    for (int i = 0; i < p->nodes && have <= most; i++)
        have = add_inputs(p, p->first[i].in, p->first[i].ins, most, have, in);
    return have;
}
