/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/tiling.h"

#include "fusion/joint.h"
#include "kernel/ctype.h"
#include "kernel/registers.h"
#include "kernel/stream.h"

enum { MOST_PARTIAL = 1 << 28 }; /* most partial sums, of all parts of k together */

static int maker_in(const fsim_tiling *t, int tensor) { return fsim_member_that_makes(t->g, t->group, tensor); }

/* Which contractions share a tile. */

/* The contractions that a result is computed from, and the element of each that a point of the result needs. */
typedef struct {
    int count, member[2];
    fsim_map at[2];
    bool broken; /* there are more than two, or the elements are not one to one with the points */
    struct place {
        int tensor;
        fsim_map at;
    } * seen;
    int seens, seen_room;
} origin;

static bool seen_before(const origin *o, int tensor, const fsim_map *m)
{
    for (int i = 0; i < o->seens; i++)
        if (o->seen[i].tensor == tensor && fsim_map_equal(&o->seen[i].at, m))
            return true;
    return false;
}

/* Does the tensor depend on a contraction of the group? Members are in topological order. */
static bool made_of_contraction(const fsim_tiling *t, int tensor)
{
    const int last = maker_in(t, tensor);
    bool *behind = fsim_new(t->a, bool, last + 2);
    for (int i = last; i >= 0; i--) {
        const fsim_node *n = &t->g->node[t->group->member[i].node];
        if (!behind[i] && i != last)
            continue;
        if (fsim_ops[n->op].class == FSIM_CONTRACTION)
            return true;
        for (int k = 0; k < n->args; k++) {
            const int from = maker_in(t, n->arg[k].tensor);
            if (from >= 0)
                behind[from] = true;
        }
    }
    return false;
}

/* Finds the contractions that `tensor` is computed from. m: from the kernel's points to the tensor's element that
 * they need. */
static void trace(const fsim_tiling *t, int tensor, const fsim_map *m, origin *o)
{
    const int member = maker_in(t, tensor);
    if (member < 0 || o->broken || seen_before(o, tensor, m))
        return;
    const fsim_node *n = &t->g->node[t->group->member[member].node];
    const fsim_class class = fsim_ops[n->op].class;
    if (class == FSIM_CONTRACTION) {
        for (int i = 0; i < o->count; i++)
            if (o->member[i] == member) {
                o->broken = !fsim_map_equal(&o->at[i], m);
                return;
            }
        if (o->count == 2) {
            o->broken = true;
            return;
        }
        o->member[o->count] = member;
        o->at[o->count++] = *m;
        return;
    }
    *FSIM_PUSH(t->a, o->seen, o->seens, o->seen_room) = (struct place){tensor, *m};
    for (int i = 0; i < n->args && !o->broken; i++) {
        fsim_map at = {0};
        const bool plain = n->arg[i].how == FSIM_READ_MAP && class != FSIM_REDUCE && class != FSIM_WINDOW &&
                           fsim_map_compose(m, &n->arg[i].map, &at);
        if (plain) {
            trace(t, n->arg[i].tensor, &at, o);
            continue;
        }
        o->broken = made_of_contraction(t, n->arg[i].tensor); /* it may need any element */
    }
}

static int plan_of(const fsim_tiling *t, int member)
{
    for (int i = 0; i < t->plans; i++)
        for (int k = 0; k < t->plan[i].products; k++)
            if (t->plan[i].product[k].member == member)
                return i;
    return -1;
}

/* Have both products of a tile the same rows, and their results the same places? */
static bool meet(const fsim_tile_product *a, const fsim_tile_product *b)
{
    return a->batch == b->batch && a->rows == b->rows && a->columns == b->columns && a->depth == b->depth &&
           a->swapped == b->swapped && fsim_map_equal(&a->result, &b->result) &&
           fsim_map_equal(&a->points, &b->points) && a->side[0].access->tensor == b->side[0].access->tensor &&
           a->side[0].window == b->side[0].window && fsim_map_equal(&a->side[0].map, &b->side[0].map);
}

static bool add_product(const fsim_tiling *t, fsim_tile_plan *p, int member, const fsim_map *at)
{
    fsim_tile_product *a = &p->product[p->products];
    if (p->products == 2 || !fsim_tile_product_of(t->g, t->group, member, a) ||
        fsim_map_points(at) != a->node->points || !fsim_map_invert(at, &a->points))
        return false;
    p->products++;
    return p->products == 1 || meet(&p->product[0], a);
}

/* The plan (a tile) for a result's contractions, added if there is none yet; -1 where none is possible. */
static int plan_for(fsim_tiling *t, const origin *o)
{
    int found = -1;
    for (int i = 0; i < o->count; i++) {
        const int p = plan_of(t, o->member[i]);
        if (p >= 0 && found >= 0 && p != found)
            return -1;
        found = p >= 0 ? p : found;
    }
    if (found < 0) {
        found = t->plans;
        *FSIM_PUSH(t->a, t->plan, t->plans, t->room) = (fsim_tile_plan){0};
    }
    for (int i = 0; i < o->count; i++) {
        fsim_map back;
        fsim_tile_plan *p = &t->plan[found];
        if (plan_of(t, o->member[i]) < 0) {
            if (!add_product(t, p, o->member[i], &o->at[i]))
                return -1;
            continue;
        }
        const int k = p->product[0].member == o->member[i] ? 0 : 1;
        if (!fsim_map_invert(&o->at[i], &back) || !fsim_map_equal(&back, &p->product[k].points))
            return -1;
    }
    return found;
}

/* The plan of what the group needs of the tensor at each of its points, at map `at`: in *plan, -1 where it depends on
 * no contraction. False where none is possible. */
static bool assign_value(fsim_tiling *t, int tensor, const fsim_map *at, int *plan)
{
    origin from = {0};
    *plan = -1;
    trace(t, tensor, at, &from);
    if (from.broken || at->split != at->modes)
        return false;
    return from.count == 0 || (*plan = plan_for(t, &from)) >= 0;
}

/* The same of what the sums over all tiles add up. */
static bool assign_totals(fsim_tiling *t)
{
    const fsim_group *o = t->group;
    for (int i = 0; i < o->members && o->across > 0; i++) {
        const fsim_node *n = &t->g->node[o->member[i].node];
        fsim_map at = fsim_identity(o->points);
        int plan;
        at.offset = n->args > 0 ? n->arg[0].map.offset : 0;
        if (o->member[i].across && !assign_value(t, n->arg[0].tensor, &at, &plan))
            return false;
    }
    if (o->across == 0)
        return true;
    const fsim_tile_product *a = &t->plan[0].product[0]; /* a tile's columns are those of the results */
    return t->plans == 1 && (o->columns == 0 || (!a->swapped && fsim_map_is_identity(&a->result)));
}

/* Shared bytes for what each line of threads, or of warps, has of the columns' sums. */
static int column_room(const fsim_tile_plan *p) { return p->l.across_m * p->l.n * (int)sizeof(double); }

/* Assigns every result to a plan. */
static bool assign(fsim_tiling *t)
{
    const fsim_group *o = t->group;
    for (int i = 0; i < o->writes; i++) {
        const fsim_write *w = &o->write[i];
        const fsim_member *m = &o->member[maker_in(t, w->tensor)];
        t->of[i] = FSIM_AFTER_TILES;
        if (!m->across && !m->past && !assign_value(t, w->tensor, &w->map, &t->of[i]))
            return false;
    }
    if (!assign_totals(t))
        return false;
    for (int i = 0; i < o->writes; i++) { /* results that depend on no contraction: producers of an operand, or
                                             operators beside a plan's results */
        const int member = maker_in(t, o->write[i].tensor);
        if (t->of[i] >= 0 || t->of[i] == FSIM_AFTER_TILES)
            continue;
        if (!o->member[member].prologue &&
            (o->contractions > 1 || t->plans != 1 || fsim_map_points(&o->write[i].map) != o->points))
            return false;
        if (!o->member[member].prologue)
            t->of[i] = 0;
        else if (t->plans == 0 || t->g->node[o->anchor].arg[0].how == FSIM_READ_WINDOW)
            return false;
    }
    for (int i = 0; i < o->members; i++)
        if (fsim_ops[t->g->node[o->member[i].node].op].class == FSIM_CONTRACTION && plan_of(t, i) < 0)
            return false;
    return t->plans > 0;
}

static bool are_integers(fsim_dtype t) { return t == FSIM_I8 || t == FSIM_U8; }

bool fsim_tensor_text(const fsim_architecture *arch, fsim_dtype arithmetic)
{
    const bool wide = arithmetic == FSIM_F16 || arithmetic == FSIM_BF16 || arithmetic == FSIM_TF32,
               bytes = arithmetic == FSIM_F8E4M3 || arithmetic == FSIM_F8E5M2;
    return arch->mma && (wide || (bytes && arch->tensor_rate[FSIM_MATRIX_F8] > 0) ||
                         (are_integers(arithmetic) && arch->tensor_rate[FSIM_MATRIX_I8] > 0));
}

bool fsim_tile_groups(const fsim_architecture *arch, fsim_dtype arithmetic)
{
    return arch->wgmma && arithmetic != FSIM_TF32 && !are_integers(arithmetic);
}

int fsim_tile_sm(const fsim_tile_plan *p)
{
    const fsim_dtype a = p->product[0].node->gemm.arithmetic;
    return !p->tensor                 ? 0
           : are_integers(a)          ? fsim_least_mma_sm(FSIM_MATRIX_I8)
           : fsim_dtype_bytes(a) == 1 ? fsim_least_mma_sm(FSIM_MATRIX_F8)
                                      : fsim_least_mma_sm(FSIM_MATRIX_F16);
}

/* Can the generator write these products for tensor cores? */
static bool on_tensor_cores(const fsim_tiling *t, const fsim_node *n)
{
    const fsim_dtype a = n->gemm.arithmetic, result = t->g->tensor[n->result[0]].dtype;
    const bool held = fsim_dtype_floating(result) ? result != FSIM_F64 : are_integers(a) && result == FSIM_I32;
    return fsim_tensor_text(t->hw->arch, a) && held;
}

const fsim_tile_side *fsim_tile_side_of(const fsim_tile_plan *p, int operand)
{
    return operand == 0 ? &p->product[0].side[0] : &p->product[operand - 1].side[1];
}

/* An operand's dtype in shared memory: tf32 stays f32 until it is multiplied. */
static fsim_dtype staged_dtype(const fsim_node *n)
{
    return n->gemm.arithmetic == FSIM_TF32 ? FSIM_F32 : n->gemm.arithmetic;
}

/* Bytes of an operand's element in shared memory. */
static int staged_elem(const fsim_tiling *t, const fsim_tile_plan *p)
{
    const fsim_dtype result = t->g->tensor[p->product[0].node->result[0]].dtype;
    if (p->tensor)
        return fsim_dtype_bytes(staged_dtype(p->product[0].node));
    return result == FSIM_F64 || result == FSIM_I64 ? 8 : 4;
}

static fsim_tile_operand operand_of(const fsim_tiling *t, const fsim_tile_side *s, fsim_dtype wanted)
{
    const int tensor = s->access->tensor;
    return (fsim_tile_operand){.extent = s->extent,
                               .vector = s->vector,
                               .along_k = s->along_k,
                               .verbatim =
                                   !s->window && t->g->tensor[tensor].dtype == wanted && maker_in(t, tensor) < 0};
}

static fsim_tile_shape shape_of(const fsim_tiling *t, const fsim_tile_plan *p)
{
    const fsim_tile_product *a = &p->product[0];
    fsim_tile_shape shape = {.products = p->products,
                             .tensor = p->tensor,
                             .groups = fsim_tile_groups(t->hw->arch, a->node->gemm.arithmetic),
                             .depth = a->depth,
                             .elem_bytes = staged_elem(t, p),
                             .live = t->group->live};
    for (int i = 0; i <= p->products; i++)
        shape.operand[i] = operand_of(t, fsim_tile_side_of(p, i), staged_dtype(a->node));
    return shape;
}

/* A product whose results are reduced by rows, or by blocks of them, one after the other in the kernel's points. */
static bool assign_rows(fsim_tiling *t)
{
    enum { LEAST_ROW = 8, MOST_ROW = FSIM_TILE_SIDE };
    const fsim_group *o = t->group;
    fsim_tile_plan *p = &t->plan[0];
    int member = -1;
    for (int i = 0; i < o->members; i++) {
        const fsim_node *n = &t->g->node[o->member[i].node];
        member = fsim_ops[n->op].class == FSIM_CONTRACTION ? i : member;
    }
    for (int i = 0; i < o->writes; i++)
        if (o->member[maker_in(t, o->write[i].tensor)].prologue)
            return false;
    fsim_map at = o->joint->at;
    at.split = at.modes;
    at = fsim_map_simplify(at);
    if (o->contractions != 1 || o->whole_row < LEAST_ROW || o->whole_row > MOST_ROW || !fsim_map_is_identity(&at) ||
        !fsim_tile_product_of(t->g, o, member, &p->product[0]))
        return false;
    const fsim_tile_product *a = &p->product[0];
    const bool whole = a->columns == o->whole_row, blocks = FSIM_TILE_SIDE % o->whole_row == 0;
    t->plans = p->products = 1;
    t->row = o->whole_row;
    return !a->swapped && fsim_map_is_identity(&a->result) && a->columns % o->whole_row == 0 && (whole || blocks);
}

int fsim_tile_row_threads(int64_t length)
{
    enum { EACH = 4, WARP = 32 };
    int threads = 1;
    while (threads < WARP && (int64_t)threads * EACH < length)
        threads *= 2;
    return threads;
}

fsim_tiling *fsim_tiling_of(const fsim_graph *g, const fsim_hw *hw, const fsim_group *group, fsim_arena *a)
{
    fsim_tiling *t = fsim_new(a, fsim_tiling, 1);
    *t = (fsim_tiling){.g = g, .hw = hw, .group = group, .a = a, .of = fsim_new(a, int, group->writes + 1)};
    t->room = group->contractions < 1 ? 1 : group->contractions < group->writes ? group->contractions : group->writes;
    t->plan = fsim_new(a, fsim_tile_plan, t->room);
    if (group->anchor < 0 || (group->whole_row > 0 ? !assign_rows(t) : !assign(t)))
        return NULL;
    for (int i = 0; i < group->writes; i++)
        t->in_passing = t->in_passing || t->of[i] == -1;
    for (int i = 0; i < t->plans; i++) {
        t->plan[i].tensor = on_tensor_cores(t, t->plan[i].product[0].node);
        t->plan[i].shape = shape_of(t, &t->plan[i]);
    }
    return t;
}

/* How a block is laid out. */

/* Lays out one tile for blocks of `threads` threads (0: as many as suit it). */
static bool size(fsim_tile_plan *p, fsim_tile_wish wish, int threads)
{
    const fsim_tile_product *a = &p->product[0];
    p->shape.m = a->swapped ? wish.n : wish.m;
    p->shape.n = a->swapped ? wish.m : wish.n;
    if (!fsim_tile_layout_of(&p->shape, threads, &p->l))
        return false;
    p->vector = p->tensor ? 2 : 4;
    while (p->vector > 1 && a->columns % p->vector != 0)
        p->vector /= 2;
    p->blocks = fsim_tile_blocks(&p->l, a->batch, a->rows, a->columns);
    return true;
}

/* Does a tile have whole rows, and its block room for their results? */
static bool holds_rows(const fsim_tiling *t, fsim_tile_plan *p)
{
    enum { PAD = 4 }; /* results, by which rows lie apart in shared memory: FS_TILE_KEEP */
    const fsim_ctype c = fsim_ctype_of(t->g->tensor[p->product[0].node->result[0]].dtype);
    const int bytes = p->l.m * (p->l.n + PAD) * (c == FSIM_C_DOUBLE || c == FSIM_C_LONG ? 8 : 4);
    p->l.shared_bytes = bytes > p->l.shared_bytes ? bytes : p->l.shared_bytes;
    return (p->l.n % t->row == 0 || (p->product[0].columns == t->row && p->l.n >= t->row)) &&
           p->l.shared_bytes <= fsim_hw_get(t->hw, FSIM_HW_SHARED_PER_BLOCK);
}

/* Splits k into the parts asked for. Only a single product whose tile computes all results of the group can be
 * split. */
static void split(fsim_tiling *t, int split_k)
{
    const fsim_tile_plan *p = &t->plan[0];
    const fsim_tile_product *a = &p->product[0];
    const int64_t steps = (a->depth + p->l.step - 1) / p->l.step, wanted = split_k < steps ? split_k : steps;
    t->parts = 1;
    t->span = a->depth;
    if (t->plans > 1 || p->products > 1 || t->row > 0 || t->group->across > 0 || t->in_passing || wanted < 2 ||
        wanted * a->node->points > MOST_PARTIAL)
        return;
    t->span = (steps + wanted - 1) / wanted * p->l.step;
    t->parts = (int)((a->depth + t->span - 1) / t->span);
}

/* The largest tile: its sizes go into the schedule. */
static const fsim_tile_plan *widest(const fsim_tiling *t)
{
    const fsim_tile_plan *w = &t->plan[0];
    for (int i = 1; i < t->plans; i++)
        if (t->plan[i].l.m * t->plan[i].l.n > w->l.m * w->l.n)
            w = &t->plan[i];
    return w;
}

/* Lays out the tile of every plan. */
static bool size_all(fsim_tiling *t, fsim_tile_wish wish)
{
    int threads = 0;
    t->sides.m = 0;
    for (int i = 0; i < t->plans; i++) {
        if (!size(&t->plan[i], wish, 0) || (t->row > 0 && !holds_rows(t, &t->plan[i])))
            return false;
        threads = t->plan[i].l.threads > threads ? t->plan[i].l.threads : threads;
    }
    for (int i = 0; i < t->plans; i++)
        if (t->plan[i].l.threads != threads && !size(&t->plan[i], wish, threads))
            return false;
    t->sides = wish;
    return true;
}

bool fsim_tiling_lay_out(fsim_tiling *t, fsim_tile_wish wish, fsim_schedule *s)
{
    const bool sized = wish.m > 0 && t->sides.m == wish.m && t->sides.n == wish.n; /* for another split */
    if (!sized && !size_all(t, wish))
        return false;
    s->grid = 0;
    s->block = t->plan[0].l.threads;
    s->shared_bytes = s->registers = 0;
    for (int i = 0; i < t->plans; i++) {
        const fsim_tile_plan *p = &t->plan[i];
        s->shared_bytes = p->l.shared_bytes > s->shared_bytes ? p->l.shared_bytes : s->shared_bytes;
        s->registers = p->l.registers > s->registers ? p->l.registers : s->registers;
        s->grid += p->blocks;
    }
    const int sums = t->group->columns ? column_room(&t->plan[0]) : 0;
    s->shared_bytes = sums > s->shared_bytes ? sums : s->shared_bytes;
    split(t, wish.split_k);
    const fsim_tile_plan *w = widest(t);
    s->tile_m = w->product[0].swapped ? w->l.n : w->l.m;
    s->tile_n = w->product[0].swapped ? w->l.m : w->l.n;
    s->split_k = t->parts;
    s->grid *= t->parts;
    s->launches = t->parts > 1 || t->group->across > 0 ? 2 : 1;
    s->vector = w->vector;
    s->stages = w->l.stages;
    return true;
}

int64_t fsim_tiles_down(const fsim_tiling *t)
{
    const fsim_tile_product *a = &t->plan[0].product[0];
    return a->batch * ((a->rows + t->plan[0].l.m - 1) / t->plan[0].l.m);
}

void fsim_tiling_loads(const fsim_tiling *t, double loads[2])
{
    loads[0] = loads[1] = 0;
    for (int i = 0; i < t->plans; i++) {
        const fsim_tile_plan *p = &t->plan[i];
        const fsim_tile_product *a = &p->product[0];
        const double rows = (double)((a->rows + p->l.m - 1) / p->l.m),
                     columns = (double)((a->columns + p->l.n - 1) / p->l.n);
        const double across = a->swapped ? rows : columns, down = a->swapped ? columns : rows;
        loads[0] += across;
        loads[1] = down > loads[1] ? down : loads[1];
    }
}

static int64_t points_of(const fsim_write *w) { return fsim_map_points(&w->map) * fsim_map_reduced(&w->map); }

void fsim_lay_out_direct(const fsim_group *o, fsim_schedule *s)
{
    s->launches = s->split_k = s->vector = 1;
    s->block = FSIM_BLOCK;
    s->shared_bytes = s->tile_m = s->tile_n = s->stages = 0;
    s->registers = fsim_direct_registers(o->live);
    s->grid = 0;
    for (int i = 0; i < o->writes; i++) { /* results with the same number of points are computed by the same threads */
        const int64_t points = points_of(&o->write[i]);
        bool first = points == o->points || o->contractions > 1;
        for (int k = 0; k < i && first; k++)
            first = points_of(&o->write[k]) != points;
        s->grid += first ? (points + FSIM_BLOCK - 1) / FSIM_BLOCK : 0;
    }
}
