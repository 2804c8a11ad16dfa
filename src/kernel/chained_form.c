/* SPDX-License-Identifier: Apache-2.0 */
/* chained_form.c: decides which form a chain in tiles takes, from its reductions and the tensors that it stores. */
#include "kernel/chained.h"

static bool is_index(fsim_op op) { return op == FSIM_OP_ARGMAX || op == FSIM_OP_ARGMIN; }

static int most_levels(const fsim_chained *f)
{
    int levels = 0;
    for (int i = 0; i < f->group->members; i++)
        if (fsim_chained_between(f, i) && f->group->member[i].node != f->group->first &&
            fsim_chained_level(f, i) > levels)
            levels = fsim_chained_level(f, i);
    return levels;
}

/* Are all reductions of floats, and is only their value used (no index)? */
static bool plain_reductions(const fsim_chained *f)
{
    bool plain = true;
    for (int i = 0; i < f->group->members; i++) {
        const fsim_node *n = fsim_chained_node(f, i);
        if (!fsim_chained_between(f, i) || fsim_chained_class(f, i) != FSIM_REDUCE)
            continue;
        plain = plain && !is_index(n->op) && fsim_ctype_of(n->dtype) == f->type &&
                fsim_ctype_of(f->g->tensor[n->result[0]].dtype) == f->type;
        for (int r = 1; r < n->results; r++)
            plain = plain && f->g->tensor[n->result[r]].readers == 0 && !f->g->tensor[n->result[r]].output;
    }
    return plain;
}

static fsim_row_kind kind_of_argument(const fsim_chained *f, const fsim_node *n, int k)
{
    const int from = fsim_chained_maker(f, n->arg[k].tensor);
    return fsim_chained_between(f, from) ? fsim_chained_kind(f, from) : FSIM_FREE;
}

/* Is member i x - maximum, or a copy of it? Sets f->peak, the maximum's member. */
static bool shifts(fsim_chained *f, int i)
{
    const fsim_node *n = fsim_chained_node(f, i);
    if (n->op != FSIM_OP_SUB)
        return (n->op == FSIM_OP_CAST && !n->rounds) || n->op == FSIM_OP_COPY ||
               (fsim_ops[n->op].class == FSIM_PERMUTE && fsim_ops[n->op].flops == 0);
    const int from = fsim_chained_maker(f, n->arg[1].tensor);
    if (!fsim_chained_between(f, from) || fsim_chained_node(f, from)->op != FSIM_OP_MAX ||
        fsim_chained_level(f, from) != 1 || (f->peak >= 0 && f->peak != from))
        return false;
    f->peak = from;
    return true;
}

/* Is member i a product with at most one factor proportional to exp(x - maximum)? Its other factors must be the same
 * for the whole row; they are applied at the end. */
static bool scales(fsim_chained *f, int i)
{
    const fsim_node *n = fsim_chained_node(f, i);
    int exponentials = n->op == FSIM_OP_EXP, later = 0;
    for (int k = 0; k < n->args; k++) {
        const int from = fsim_chained_maker(f, n->arg[k].tensor);
        const fsim_row_kind kind = kind_of_argument(f, n, k);
        if (kind == FSIM_SCALED) {
            exponentials += f->linear[from];
            later += f->scaled[from];
        }
        if (kind == FSIM_ROW) {
            if (n->args != 2 || (n->op != FSIM_OP_MUL && n->op != FSIM_OP_DIV))
                return false;
            f->passes[i] = 1 - k;
            later++;
        }
    }
    f->linear[i] = exponentials == 1;
    f->scaled[i] = later == 1;
    return exponentials <= 1 && later <= 1;
}

/* Can every reduction be updated with each tile? */
static bool runs_online(fsim_chained *f)
{
    for (int i = 0; i < f->group->members; i++) {
        const fsim_node *n = fsim_chained_node(f, i);
        if (!fsim_chained_between(f, i) || f->group->member[i].node == f->group->first)
            continue;
        if (fsim_chained_class(f, i) == FSIM_REDUCE) {
            const int from = fsim_chained_maker(f, n->arg[0].tensor);
            const fsim_row_kind kind = kind_of_argument(f, n, 0);
            if (kind != FSIM_FREE &&
                (kind != FSIM_SCALED || (n->op != FSIM_OP_SUM && n->op != FSIM_OP_MEAN) || f->scaled[from]))
                return false;
            continue;
        }
        if (fsim_chained_kind(f, i) == FSIM_BOUND || (fsim_chained_kind(f, i) == FSIM_SHIFTED && !shifts(f, i)) ||
            (fsim_chained_kind(f, i) == FSIM_SCALED && !scales(f, i)))
            return false;
    }
    const int maker = fsim_chained_maker(f, f->intermediate);
    return fsim_chained_kind(f, maker) == FSIM_FREE || fsim_chained_kind(f, maker) == FSIM_SCALED;
}

/* Does `tensor` depend on the first product, other than through member `stop` or through reductions? */
static bool needs_scores(const fsim_chained *f, int tensor, int stop)
{
    const int i = fsim_chained_maker(f, tensor);
    if (!fsim_chained_between(f, i) || i == stop || fsim_chained_class(f, i) == FSIM_REDUCE)
        return false;
    if (f->group->member[i].node == f->group->first)
        return true;
    const fsim_node *n = fsim_chained_node(f, i);
    for (int k = 0; k < n->args; k++)
        if (needs_scores(f, n->arg[k].tensor, stop))
            return true;
    return false;
}

bool fsim_chained_is_late(const fsim_chained *f, int i)
{
    return kind_of_argument(f, fsim_chained_node(f, i), 0) == FSIM_SCALED;
}

static void find_kept(fsim_chained *f)
{
    f->kept = -1;
    if (f->peak < 0)
        return;
    const int x = fsim_chained_maker(f, fsim_chained_node(f, f->peak)->arg[0].tensor);
    if (!fsim_chained_between(f, x) || f->group->member[x].node == f->group->first)
        return;
    bool enough = !needs_scores(f, f->intermediate, x);
    for (int i = 0; i < f->group->members && enough; i++)
        if (fsim_chained_between(f, i) && fsim_chained_class(f, i) == FSIM_REDUCE && fsim_chained_is_late(f, i))
            enough = !needs_scores(f, fsim_chained_node(f, i)->arg[0].tensor, x);
    f->kept = enough ? x : -1;
}

/* Finds the member exp(x - maximum) whose x is the argument of the maximum itself. */
static void find_power(fsim_chained *f)
{
    int found = 0;
    for (int i = 0; i < f->group->members && f->peak >= 0 && f->type == FSIM_C_FLOAT; i++) {
        const fsim_node *n = fsim_chained_node(f, i);
        if (!fsim_chained_between(f, i) || n->op != FSIM_OP_EXP || fsim_chained_kind(f, i) != FSIM_SCALED)
            continue;
        const int from = fsim_chained_maker(f, n->arg[0].tensor), x = fsim_chained_node(f, f->peak)->arg[0].tensor;
        const bool kept = f->kept >= 0 || x == f->first->result[0];
        f->power = kept && fsim_chained_node(f, from)->op == FSIM_OP_SUB &&
                           fsim_chained_node(f, from)->arg[0].tensor == x && fsim_ctype_of(n->dtype) == FSIM_C_FLOAT
                       ? i
                       : -1;
        found++;
    }
    f->power = found == 1 ? f->power : -1;
}

bool fsim_chained_is_row(const fsim_chained *f, int i)
{
    return fsim_chained_kind(f, i) == FSIM_ROW || fsim_chained_class(f, i) == FSIM_REDUCE;
}

/* Can the form store all that the group writes? Values of a row are known at the end; elements are known while their
 * tile is computed. */
static bool may_write(const fsim_chained *f, bool online)
{
    const fsim_group *o = f->group;
    for (int i = 0; i < o->writes; i++) {
        const fsim_write *x = &o->write[i];
        const int member = fsim_chained_maker(f, x->tensor);
        if (o->member[member].prologue)
            return false;
        if (!o->member[member].middle)
            continue;
        if (fsim_map_points(&x->map) != o->rows || x->tensor != fsim_chained_node(f, member)->result[0])
            return false;
        if (!fsim_chained_is_row(f, member) &&
            (fsim_map_reduced(&x->map) != o->width || (online && fsim_chained_kind(f, member) != FSIM_FREE)))
            return false;
    }
    return true;
}

bool fsim_chained_writes_elements(const fsim_chained *f)
{
    const fsim_group *o = f->group;
    bool any = false;
    for (int i = 0; i < o->writes; i++) {
        const int member = fsim_chained_maker(f, o->write[i].tensor);
        any = any || (o->member[member].middle && !fsim_chained_is_row(f, member));
    }
    return any;
}

bool fsim_chained_choose_form(fsim_chained *f)
{
    const fsim_group *o = f->group;
    f->levels = most_levels(f);
    if (!plain_reductions(f))
        return false;
    f->online = (!o->strict || f->levels == 0) && runs_online(f) && may_write(f, true);
    if (f->online) {
        find_kept(f);
        find_power(f);
        return true;
    }
    f->peak = -1;
    return o->width <= FSIM_TILE_ROW && may_write(f, false);
}
