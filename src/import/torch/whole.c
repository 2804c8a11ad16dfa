/* SPDX-License-Identifier: Apache-2.0 */
#include "import/torch/whole.h"

#include "import/torch/parts.h"

#include <limits.h>
#include <string.h>

static const struct {
    const char *op;
    fsim_part_rule *how;
} rows[] = {
#define FSIM_WHOLE(op, how) {#op, fsim_part_##how},
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

/* Adds to *found what is read behind the parts. False where that is more than one. */
static bool find_read(const fsim_torch_parts *p, const fsim_torch_arg *out, int count, int last,
                      const fsim_torch_arg **found)
{
    for (int k = 0; k < count; k++) {
        if (out[k].kind == FSIM_TORCH_LIST && !find_read(p, out[k].item, out[k].count, last, found))
            return false;
        const int t = out[k].kind == FSIM_TORCH_TENSOR ? fsim_names_get(&p->m->s->g->tensor_at, out[k].text) : -1;
        if (t < 0 || p->m->s->last_reader[t] <= last)
            continue;
        if (*found)
            return false;
        *found = &out[k];
    }
    return true;
}

/* The only result of the parts that is read behind them. NULL: there is none, or there are several. */
static const fsim_torch_arg *result_of(const fsim_torch_parts *p, int last)
{
    const fsim_torch_arg *found = NULL;
    for (int i = 0; i < p->nodes; i++)
        if (!find_read(p, p->first[i].out, p->first[i].outs, last, &found))
            return NULL;
    return found;
}

/* base[..., index, ...] = source, as PyTorch takes it apart whatever was written: places along dim, compared with the
 * index; the source widened; the one where they are equal, the base elsewhere. */
static int selected(fsim_torch_parts *p, int n, fsim_torch_node *whole)
{
    static const char *const ops[] = {"arange", "view", "eq", "unsqueeze", "expand", "where"};
    enum { PARTS = sizeof ops / sizeof *ops };
    const fsim_torch_graph *g = p->m->s->g;
    for (int i = 0; i < PARTS; i++)
        if (n + i >= g->nodes || !fsim_part_is_op(&g->node[n + i], ops[i]))
            return 0;
    p->nodes = PARTS;
    const fsim_torch_node *last = &p->first[PARTS - 1];
    const fsim_torch_arg *base = fsim_part_arg(last, "other"),
                         *source = fsim_part_arg(fsim_part_part(p, "unsqueeze", 0), "self"),
                         *dim = fsim_part_arg(fsim_part_part(p, "unsqueeze", 0), "dim"),
                         *index = fsim_part_arg(fsim_part_part(p, "eq", 0), "other"),
                         *chosen_by = fsim_part_arg(last, "condition"), *from = fsim_part_arg(last, "self");
    p->result = result_of(p, n + PARTS - 1);
    if (!p->result || !fsim_part_made_by(last, p->result->text) || !base || !source ||
        fsim_part_number(dim) == INT64_MIN || fsim_part_number(index) < 0 || fsim_part_maker(p, base->text) ||
        fsim_part_maker(p, source->text) || !chosen_by || !from ||
        fsim_part_maker(p, chosen_by->text) != &p->first[2] || fsim_part_maker(p, from->text) != &p->first[4])
        return 0;
    const fsim_part_writer w = {p->m->a, whole};
    *whole = (fsim_torch_node){.target = "aten.select_scatter.default", .layer = p->first->layer, .outs = 1};
    whole->in = fsim_new(p->m->a, fsim_torch_arg, FSIM_PART_MOST_ARGS);
    whole->out = last->out;
    fsim_part_put_copy(&w, "self", base);
    fsim_part_put_copy(&w, "src", source);
    fsim_part_put_copy(&w, "dim", dim);
    fsim_part_put_copy(&w, "index", index);
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
    const bool begun = n > 0 && r >= 0 && same_origin(p.first, &g->node[n - 1]);
    if (r < 0 || (begun && strcmp(rows[r].op, "linear") != 0)) /* a layer may widen its input first */
        return 0;
    while (n + p.nodes < g->nodes && same_origin(p.first, &g->node[n + p.nodes]))
        p.nodes++;
    if (p.nodes < 2 || !(p.result = result_of(&p, n + p.nodes - 1)))
        return 0;
    *whole = (fsim_torch_node){.target = fsim_printf(m->a, "aten.%s.default", rows[r].op),
                               .layer = p.first->layer,
                               .in = fsim_new(m->a, fsim_torch_arg, FSIM_PART_MOST_ARGS),
                               .outs = 1};
    whole->out = fsim_new(m->a, fsim_torch_arg, 1);
    whole->out[0] = *p.result;
    return rows[r].how(&p, &(fsim_part_writer){m->a, whole}) ? p.nodes : 0;
}
