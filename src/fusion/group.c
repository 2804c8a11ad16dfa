/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/chain.h"
#include "fusion/fold.h"

#include "fusion/assembly.h"
#include "fusion/online.h"
#include <math.h>
#include <string.h>

#define FSIM_TEMPLATE(id, name, price, emit, residual, compile, line) [FSIM_##id] = name,
const char *const fsim_template_names[FSIM_TEMPLATE_COUNT] = {
#include "fusion/template.def"
};
#undef FSIM_TEMPLATE
#define FSIM_TEMPLATE(id, name, price, emit, residual, compile, line) [FSIM_##id] = line,
const char *const fsim_template_lines[FSIM_TEMPLATE_COUNT] = {
#include "fusion/template.def"
};
#undef FSIM_TEMPLATE

enum { WARP = 32 };      /* threads that take a branch together */
enum { FEW_ROWS = 256 }; /* fewer than this and longer than FSIM_LONGEST_ROW: split over blocks */

/* A member under construction: the maps at which its value is wanted, over the kernel's space. */
typedef struct {
    int maps, room, level; /* level: dependent reductions before its value exists */
    fsim_map *map;
    unsigned stages[FSIM_MAX_VIEWS];
    fsim_scope scope[FSIM_MAX_VIEWS];
    bool prologue, stored, clone;
    bool late;          /* stored from the piece of the kernel that computes it, known once that is */
    uint64_t branches;  /* as in fsim_read */
    int root;           /* the map at which it is stored */
    int operand;        /* of the contraction that a prologue member feeds */
    bool middle, outer; /* chained: between the contractions; behind them */
    int after;          /* chained: 1: depends on the first, 2: on the second */
    fsim_row_kind kind;
    fsim_form form;
} wanted;

typedef struct {
    const fsim_limits *limits;
    const fsim_graph *g;
    const int *node;
    int count;
    wanted *want;
    fsim_group *out;
    fsim_refusal *why;
    fsim_arena *a;
    fsim_map frame, row; /* (p, r) to a full-size tensor's element; (p, r) to row p */
    int read_room, branches;
    fsim_joint joint;
    fsim_scope scope; /* of what is being wanted */
} work;

static bool refuse(work *w, fsim_rule rule, int a, int b, double needed, double limit, fsim_refusal_unit unit)
{
    *w->why =
        (fsim_refusal){.rule = rule, .a = a, .b = b, .through = -1, .needed = needed, .limit = limit, .unit = unit};
    return false;
}

/* The same for every larger set. */
static bool refuse_for_good(work *w, fsim_rule rule, int a, int b, double needed, double limit, fsim_refusal_unit unit)
{
    refuse(w, rule, a, b, needed, limit, unit);
    w->why->final = true;
    return false;
}

static const fsim_node *node_at(const work *w, int i) { return &w->g->node[w->node[i]]; }
static fsim_class class_of(const work *w, int i) { return fsim_ops[node_at(w, i)->op].class; }
/* The member that makes tensor t, or -1. */
static int maker(const work *w, int t)
{
    const int n = w->g->tensor[t].producer;
    return n < 0 ? -1 : fsim_position(w->node, w->count, n);
}

static bool must_store(const work *w, int i)
{
    const fsim_node *n = node_at(w, i);
    for (int k = 0; k < n->results; k++) {
        const fsim_tensor *t = &w->g->tensor[n->result[k]];
        if (t->output || t->materialize)
            return true;
        for (int r = 0; r < t->readers; r++)
            if (fsim_position(w->node, w->count, t->reader[r]) < 0)
                return true;
    }
    return false;
}

static bool read_inside(const work *w, int i)
{
    const fsim_node *n = node_at(w, i);
    for (int k = 0; k < n->results; k++) {
        const fsim_tensor *t = &w->g->tensor[n->result[k]];
        for (int r = 0; r < t->readers; r++)
            if (fsim_position(w->node, w->count, t->reader[r]) >= 0)
                return true;
    }
    return false;
}

static uint64_t branch_bit(const work *w) { return (uint64_t)1 << (w->scope.branch < 63 ? w->scope.branch : 63); }

/* Adds a place where member i's value is wanted. */
static bool demand(work *w, int i, const fsim_map *m, unsigned stages, int by)
{
    wanted *x = &w->want[i];
    const fsim_map s = fsim_map_simplify(*m);
    x->branches |= branch_bit(w);
    for (int k = 0; k < x->maps; k++)
        if (fsim_map_equal(&x->map[k], &s) && fsim_scope_equal(&x->scope[k], &w->scope)) {
            x->stages[k] |= stages;
            return true;
        }
    if (x->maps == FSIM_MAX_VIEWS)
        return refuse(w, FSIM_RULE_INDEX_MAP, w->node[i], by, FSIM_MAX_VIEWS + 1, FSIM_MAX_VIEWS, FSIM_IN_INDEX_MAPS);
    if (!x->map) { /* nearly always the only one */
        x->map = fsim_new(w->a, fsim_map, 1);
        x->room = 1;
    }
    x->stages[x->maps] = stages;
    x->scope[x->maps] = w->scope;
    *FSIM_PUSH(w->a, x->map, x->maps, x->room) = s;
    return true;
}

/* Is it wanted at every point of points x reduced, not once a row? Pieces may have one point a row. */
static bool reads_full(const fsim_map *m, const fsim_scope *scope, const fsim_group *o)
{
    if ((scope->place ? o->reduced : fsim_map_reduced(m)) == 1)
        return true;
    for (int i = m->split; i < m->modes; i++)
        if (m->mode[i].stride != 0)
            return true;
    return false;
}

/* The view's place beside its map: an array that is there once some view has one. */
static void place_view(work *w, fsim_read *r, int view, int room)
{
    if (w->scope.place && !r->place) {
        r->place = fsim_new(w->a, fsim_map, r->room);
        for (int i = 0; i < view; i++)
            r->place[i].offset = -1;
    } else if (r->place && room != r->room) {
        fsim_map *grown = fsim_new(w->a, fsim_map, r->room);
        memcpy(grown, r->place, (size_t)view * sizeof *grown);
        r->place = grown;
    }
    if (r->place)
        r->place[view] = w->scope.place ? fsim_map_simplify(*w->scope.place) : (fsim_map){.offset = -1};
}

static bool same_view(const work *w, const fsim_read *r, int view, const fsim_map *m)
{
    const bool placed = r->place && r->place[view].offset >= 0;
    return fsim_map_equal(&r->map[view], m) && placed == (w->scope.place != NULL) &&
           (!placed || fsim_map_equal(&r->place[view], w->scope.place));
}

static bool external(work *w, const fsim_access *x, const fsim_map *m, unsigned stages, int by, int operand)
{
    fsim_group *o = w->out;
    fsim_read *r = NULL;
    for (int i = 0; i < o->reads && !r; i++)
        if (o->read[i].tensor == x->tensor)
            r = &o->read[i];
    if (!r) {
        r = FSIM_PUSH(w->a, o->read, o->reads, w->read_room);
        *r =
            (fsim_read){.tensor = x->tensor, .access = x, .operand = -1, .map = fsim_new(w->a, fsim_map, 1), .room = 1};
    }
    r->branches |= branch_bit(w);
    r->repeats = fmax(r->repeats, w->scope.repeats);
    r->window = w->scope.window ? w->scope.window : r->window;
    if (operand >= 0) { /* x x^T loads one tensor for both: its bytes count once */
        r->beside = r->operand < 0 ? r->maps : r->beside;
        r->operand = operand;
    }
    r->stages |= stages;
    if (!m) {
        r->full = true;
        return true;
    }
    r->full = r->full || w->scope.repeats > 0 || reads_full(m, &w->scope, o);
    const fsim_map s = fsim_map_simplify(*m);
    for (int i = 0; i < r->maps; i++)
        if (same_view(w, r, i, &s))
            return true;
    if (r->maps >= FSIM_MAX_VIEWS && !w->scope.place) /* pieces exclude each other: a thread has one of them */
        return refuse(w, FSIM_RULE_INDEX_MAP, by, -1, FSIM_MAX_VIEWS + 1, FSIM_MAX_VIEWS, FSIM_IN_INDEX_MAPS);
    const int view = r->maps, room = r->room;
    *FSIM_PUSH(w->a, r->map, r->maps, r->room) = s;
    place_view(w, r, view, room);
    return true;
}

/* Rows at places that are data, of an argument of something that a gather takes in. */
static bool external_rows(work *w, const fsim_access *x, const fsim_map *m, unsigned stages, int by)
{
    fsim_access *own = fsim_new(w->a, fsim_access, 1);
    *own = fsim_indirect_access(w->g, x->tensor, m, &w->scope);
    const int reads = w->out->reads;
    if (!external(w, own, NULL, stages, by, -1))
        return false;
    if (w->out->reads > reads) {
        w->out->read[reads].derived = true;
        w->out->read[reads].full = !w->scope.once_a_row;
    }
    return true;
}

/* Wants what x reads, at map `through` over the kernel's space. */
static bool want_through(work *w, int i, const fsim_access *x, const fsim_map *through, unsigned stages)
{
    const int from = maker(w, x->tensor);
    if (from >= 0)
        return demand(w, from, through, stages, w->node[i]);
    if (w->scope.any)
        return external_rows(w, x, through, stages, w->node[i]);
    return external(w, x, through, stages, w->node[i], w->want[i].prologue ? w->want[i].operand : -1);
}

/* Wants argument x of member i where its own value is wanted at (m, scope). */
static bool want_argument(work *w, int i, const fsim_access *x, const fsim_map *m, const fsim_scope *scope,
                          unsigned stages)
{
    const int from = maker(w, x->tensor);
    fsim_map through;
    if (from < 0 && x->how != FSIM_READ_MAP && x->how != FSIM_READ_PIECE)
        return external(w, x, NULL, stages, w->node[i], -1);
    const fsim_piece_answer answer = fsim_scope_through(x, m, scope, w->out->reduced, w->a, &through, &w->scope);
    if (x->how == FSIM_READ_PIECE && w->scope.branch == 0)
        w->scope.branch = ++w->branches;
    bool made = true;
    if (answer == FSIM_PIECE_SOME)
        made = want_through(w, i, x, &through, stages);
    else if (answer == FSIM_PIECE_UNKNOWN && from < 0 && x->how == FSIM_READ_PIECE)
        made = external(w, x, NULL, stages, w->node[i], -1); /* all of it, in an order that is not known */
    else if (answer == FSIM_PIECE_UNKNOWN)
        made =
            refuse(w, x->how == FSIM_READ_MAP || x->how == FSIM_READ_PIECE ? FSIM_RULE_INDEX_MAP : FSIM_RULE_ASSEMBLY,
                   from >= 0 ? w->node[from] : w->node[i], from >= 0 ? w->node[i] : -1, 0, 0, FSIM_IN_NONE);
    w->scope = (fsim_scope){0};
    return made;
}

/* A reduction's value is there for its own row only. */
static bool check_reduction(work *w, int i)
{
    const wanted *x = &w->want[i];
    for (int k = 0; k < x->maps; k++) {
        const fsim_scope *s = &x->scope[k];
        const bool own =
            s->place ? fsim_piece_in_row(&x->map[k], s->place, w->out->reduced) : fsim_map_equal(&x->map[k], &w->row);
        if (!own || s->any)
            return refuse(w, FSIM_RULE_GRID_BARRIER, w->node[i], -1, (double)node_at(w, i)->points, 1, FSIM_IN_BLOCKS);
    }
    return true;
}

/* The map is over all of the kernel's points. */
static bool everywhere(const fsim_scope *s) { return !s->place && !s->any && s->repeats == 0; }

/* Contractions and pooling compute each point once: their value is wanted at one map, one to one. */
static bool check_anchor(work *w, int i)
{
    const wanted *x = &w->want[i];
    const bool plain = x->maps == 1 && everywhere(&x->scope[0]);
    fsim_map m = plain ? x->map[0] : fsim_identity(1);
    if (!plain || fsim_map_points(&m) != node_at(w, i)->points || !fsim_map_injective(&m))
        return refuse(w, FSIM_RULE_INDEX_MAP, w->node[i], -1, x->maps == 1 ? (double)w->out->points : x->maps,
                      x->maps == 1 ? (double)node_at(w, i)->points : 1,
                      x->maps == 1 ? FSIM_IN_POINTS : FSIM_IN_INDEX_MAPS);
    w->out->anchor_map = m;
    return true;
}

/* rows_from: chained, of the first contraction: its operand that belongs to a block's rows. */
static bool want_operands(work *w, int i, int rows_from)
{
    const fsim_node *n = node_at(w, i);
    const bool chained = w->joint.kind == FSIM_CHAINED, second = chained && w->node[i] == w->joint.second;
    for (int k = 0; k < n->args; k++) {
        const fsim_access *x = &n->arg[k];
        const int from = maker(w, x->tensor);
        const int operand = !chained         ? k
                            : second         ? FSIM_CHAIN_SECOND
                            : k == rows_from ? FSIM_CHAIN_ROWS
                                             : FSIM_CHAIN_FIRST;
        if (second && k == w->joint.side) {
            if (from < 0 || !(w->want[from].after & 1))
                return refuse(w, FSIM_RULE_CONTRACTIONS, w->joint.first, w->joint.second, 2, 1, FSIM_IN_GAP);
            w->want[from].middle = true;
            if (!demand(w, from, &w->joint.frame, 1u << w->want[from].level, w->node[i]))
                return false;
            continue;
        }
        if (from < 0) {
            if (!external(w, x, x->how == FSIM_READ_MAP ? &x->map : NULL, 1, w->node[i],
                          class_of(w, i) == FSIM_CONTRACTION ? operand : -1))
                return false;
            continue;
        }
        if (class_of(w, i) == FSIM_WINDOW && x->how == FSIM_READ_WINDOW) {
            fsim_map m;
            fsim_scope_of_window(x, &m, &w->scope);
            const bool made = demand(w, from, &m, 1, w->node[i]);
            w->scope = (fsim_scope){0};
            if (!made)
                return false;
            continue;
        }
        if (w->joint.kind != FSIM_ALONE &&
            (w->want[from].after || class_of(w, from) == FSIM_REDUCE || class_of(w, from) == FSIM_CONTRACTION))
            return refuse(w, FSIM_RULE_PROLOGUE, w->node[from], w->node[i], 0, 0, FSIM_IN_OPERAND_LOADS);
        const bool window =
            x->how == FSIM_READ_WINDOW &&
            class_of(w, i) == FSIM_CONTRACTION; /* computed again for every tap that loads it: the cost decides */
        if (class_of(w, i) == FSIM_WINDOW || (x->how != FSIM_READ_MAP && !window))
            return refuse(w, FSIM_RULE_WINDOW, w->node[from], w->node[i], (double)n->reduced, 1, FSIM_IN_EVALUATIONS);
        if (class_of(w, from) == FSIM_ASSEMBLE || class_of(w, from) == FSIM_GATHER)
            return refuse(w, FSIM_RULE_PROLOGUE, w->node[from], w->node[i], 0, 0, FSIM_IN_NONE);
        w->want[from].prologue = true;
        w->want[from].operand = operand;
        const fsim_map loaded = window                           ? fsim_identity(w->g->tensor[x->tensor].elems)
                                : w->joint.kind == FSIM_SIBLINGS ? fsim_map_moving(&x->map)
                                                                 : x->map; /* the same for all that read it alike */
        if (!demand(w, from, &loaded, 1, w->node[i]))
            return false;
    }
    return true;
}

/* A contraction that is not what the kernel's points are counted by: it must be wanted tile by tile. */
static bool check_tile(work *w, int i, int *rows_from)
{
    const wanted *x = &w->want[i];
    const bool tile = x->maps == 1 && everywhere(&x->scope[0]) && !x->prologue &&
                      fsim_tile_rows(w->g, w->node[i], &x->map[0], &w->joint, rows_from);
    if (w->joint.kind == FSIM_ROWS && (!tile || *rows_from != 0))
        return refuse(w, FSIM_RULE_REDUCED_EPILOGUE, w->node[i], -1, (double)w->out->whole_row, 1, FSIM_IN_OTHER_TILES);
    if (tile)
        return true;
    return refuse(w, FSIM_RULE_INDEX_MAP, w->node[i], -1, x->maps, 1, FSIM_IN_TILE_MAPS);
}

static bool want_contraction(work *w, int i)
{
    int rows_from = 0;
    const bool tile = w->joint.kind == FSIM_ROWS || (w->joint.kind == FSIM_CHAINED && w->node[i] == w->joint.first);
    return (tile ? check_tile(w, i, &rows_from) : check_anchor(w, i)) && want_operands(w, i, rows_from);
}

/* Chained: a member computes in one place, in front of, between or behind the contractions, and so do those that feed
 * it. */
static bool enter_region(work *w, int i)
{
    const fsim_node *n = node_at(w, i);
    wanted *x = &w->want[i];
    if (x->middle + x->outer + x->prologue > 1)
        return refuse(w, FSIM_RULE_INDEX_MAP, w->node[i], -1, 2, 1, FSIM_IN_CHAIN_STAGES);
    if (class_of(w, i) == FSIM_REDUCE && !x->middle)
        return refuse(w, FSIM_RULE_REDUCED_EPILOGUE, w->node[i], w->joint.second, (double)n->reduced, 1,
                      FSIM_IN_OUTSIDE_CHAIN);
    for (int k = 0; k < n->args && class_of(w, i) != FSIM_CONTRACTION; k++) {
        const int from = maker(w, n->arg[k].tensor);
        if (from >= 0) {
            w->want[from].middle = w->want[from].middle || x->middle;
            w->want[from].outer = w->want[from].outer || x->outer;
        }
    }
    return true;
}

/* What overlapping windows compute again must be cheap, and is. */
static bool recomputes_cheaply(work *w, int i)
{
    const fsim_class class = class_of(w, i);
    for (int k = 0; k < w->want[i].maps; k++)
        if (w->want[i].scope[k].repeats > 1 && !fsim_classes[class].clones && class != FSIM_ASSEMBLE)
            return refuse(w, FSIM_RULE_WINDOW, w->node[i], w->out->anchor, w->want[i].scope[k].repeats, 1,
                          FSIM_IN_EVALUATIONS);
    return true;
}

/* Scatter walks each argument in its own order: producers are computed there, once an element. */
static bool want_once(work *w, int i)
{
    const fsim_node *n = node_at(w, i);
    for (int k = 0; k < n->args; k++) {
        const fsim_access *x = &n->arg[k];
        const int from = maker(w, x->tensor);
        fsim_map m = fsim_identity(x->distinct);
        m.offset = x->map.offset;
        w->scope = (fsim_scope){.repeats = from >= 0};
        const bool made = from >= 0 ? demand(w, from, &m, 1, w->node[i]) : external(w, x, NULL, 1, w->node[i], -1);
        w->scope = (fsim_scope){0};
        if (!made)
            return false;
    }
    return true;
}

static bool want_arguments(work *w, int i)
{
    const fsim_node *n = node_at(w, i);
    const wanted *x = &w->want[i];
    if (w->joint.kind == FSIM_CHAINED && !enter_region(w, i))
        return false;
    switch (fsim_ops[n->op].class) {
    case FSIM_REDUCE:
        return check_reduction(w, i) && want_through(w, i, &n->arg[0], &n->arg[0].map, 1u << (x->level - 1));
    case FSIM_CONTRACTION:
        return want_contraction(w, i);
    case FSIM_WINDOW:
        return check_anchor(w, i) && want_operands(w, i, 0);
    case FSIM_SCATTER:
        return want_once(w, i);
    default:
        for (int k = 0; k < x->maps; k++)
            for (int arg = 0; arg < n->args; arg++) {
                if (x->prologue) {
                    const int from = maker(w, n->arg[arg].tensor);
                    if (from >= 0) {
                        w->want[from].prologue = true;
                        w->want[from].operand = x->operand;
                    }
                }
                if (!want_argument(w, i, &n->arg[arg], &x->map[k], &x->scope[k], x->stages[k]))
                    return false;
            }
        return recomputes_cheaply(w, i);
    }
}

/* The reduction's argument is a full-size tensor; `frame` numbers its elements as (row, place in the row). */
static bool same_frame(const work *w, const fsim_node *n)
{
    fsim_map m = n->arg[0].map;
    m.offset = 0;
    return fsim_map_equal(&m, &w->frame);
}

/* Does reduction i run along with one that its elements depend on? */
static bool along(const work *w, int i)
{
    return !w->limits->strict && fsim_position(w->node, w->count, fsim_online_with(w->g, w->node[i])) >= 0;
}

/* Values that only reductions which run along with another want: gone when the first walk of the row ends. */
static bool *only_along(const work *w)
{
    bool *passing = fsim_new(w->a, bool, w->count);
    for (int i = w->count; i-- > 0;) {
        passing[i] = class_of(w, i) != FSIM_REDUCE && !w->want[i].stored && read_inside(w, i);
        for (int k = 0; k < node_at(w, i)->results && passing[i]; k++) {
            const fsim_tensor *t = &w->g->tensor[node_at(w, i)->result[k]];
            for (int r = 0; r < t->readers && passing[i]; r++) {
                const int at = fsim_position(w->node, w->count, t->reader[r]);
                passing[i] = at < 0 || passing[at] || (class_of(w, at) == FSIM_REDUCE && along(w, at));
            }
        }
    }
    return passing;
}

static bool reduction_space(work *w, int first)
{
    const fsim_node *n = node_at(w, first);
    fsim_group *o = w->out;
    o->points = n->points;
    o->reduced = n->reduced;
    w->frame = n->arg[0].map;
    w->frame.offset = 0;
    w->row = (fsim_map){0};
    fsim_map_push(&w->row, n->points, 1);
    w->row.split = w->row.modes;
    fsim_map_push(&w->row, n->reduced, 0);
    o->stages = 1;
    bool full_after = false, *passing = only_along(w);
    for (int i = 0; i < w->count; i++) {
        const fsim_node *m = node_at(w, i);
        const bool reduces = class_of(w, i) == FSIM_REDUCE;
        if (reduces && !same_frame(w, m)) /* no kernel has reductions over different rows, whatever else it holds */
            return refuse_for_good(w, FSIM_RULE_SPACE, w->node[first], w->node[i], (double)m->points, (double)n->points,
                                   FSIM_IN_ROWS);
        for (int k = 0; k < m->args; k++) {
            const int from = maker(w, m->arg[k].tensor);
            if (from >= 0 && w->want[from].level > w->want[i].level)
                w->want[i].level = w->want[from].level;
        }
        w->want[i].level += reduces && (w->want[i].level == 0 || !along(w, i));
        if (w->want[i].level >= FSIM_MAX_STAGES)
            return refuse(w, FSIM_RULE_SPACE, w->node[first], w->node[i], FSIM_MAX_STAGES + 1, FSIM_MAX_STAGES,
                          FSIM_IN_REDUCTIONS);
        if (w->want[i].level + 1 > o->stages)
            o->stages = w->want[i].level + 1;
        full_after = full_after || (w->want[i].level > (reduces && !along(w, i)) && !passing[i] &&
                                    (reduces ? !along(w, i) : m->points == n->points * n->reduced) &&
                                    m->reduced * m->points > n->points);
    }
    const bool few = n->points < FEW_ROWS && n->reduced > FSIM_LONGEST_ROW;
    if (n->points == 1 && few && full_after) {
        int after = first;
        for (int i = first + 1; i < w->count && after == first; i++)
            if (w->want[i].level > 0 && i != first)
                after = i;
        return refuse(w, FSIM_RULE_GRID_BARRIER, w->node[first], w->node[after], (double)n->reduced, FSIM_LONGEST_ROW,
                      FSIM_IN_BLOCK_ELEMENTS);
    }
    const bool innermost = w->frame.modes > w->frame.split && w->frame.mode[w->frame.modes - 1].stride == 1;
    o->template = few && !full_after                                    ? FSIM_FULL_REDUCTION
                  : innermost || w->frame.split == 0 || n->reduced == 1 ? FSIM_ROW_REDUCTION
                                                                        : FSIM_COLUMN_REDUCTION;
    return true;
}

/* Side of the matrices that a tensor holds; 0 where they are not square. */
static int64_t last_square(const fsim_shape *s)
{
    return s->rank > 1 && s->dim[s->rank - 1] == s->dim[s->rank - 2] ? s->dim[s->rank - 1] : 0;
}

/* No reduction sees the intermediate before member i: what it masks is never needed. */
static bool masks_first(const work *w, int i)
{
    for (int k = 0; k < i; k++)
        if (class_of(w, k) == FSIM_REDUCE)
            return false;
    return true;
}

/* Levels and row kinds of a chain's members, and its spaces: (row, place) between the contractions, the second's points
 * behind them. */
static bool chain_space(work *w)
{
    fsim_group *o = w->out;
    const fsim_joint *j = &w->joint;
    w->frame = j->frame;
    w->row = (fsim_map){0};
    fsim_map_push(&w->row, j->rows, 1);
    w->row.split = w->row.modes;
    fsim_map_push(&w->row, j->width, 0);
    for (int i = 0; i < w->count; i++) {
        const fsim_node *n = node_at(w, i);
        wanted *x = &w->want[i];
        const bool reduces = class_of(w, i) == FSIM_REDUCE;
        fsim_row_kind *arg = fsim_new(w->a, fsim_row_kind, n->args + 1);
        if (reduces && !same_frame(w, n))
            return refuse(w, FSIM_RULE_SPACE, j->second, w->node[i], (double)j->rows, (double)n->points, FSIM_IN_ROWS);
        for (int k = 0; k < n->args; k++) {
            const int from = maker(w, n->arg[k].tensor);
            if (from < 0)
                continue;
            x->after |= w->want[from].after | (w->node[from] == j->first ? 1 : w->node[from] == j->second ? 2 : 0);
            arg[k] = w->want[from].kind;
            x->level = w->want[from].level > x->level ? w->want[from].level : x->level;
        }
        x->kind = class_of(w, i) == FSIM_CONTRACTION ? FSIM_FREE : fsim_row_kind_of(n, arg);
        for (int k = 0; k < n->args && x->kind == FSIM_SCALED; k++)
            x->form = arg[k] == FSIM_ROW ? FSIM_DEFERRED : arg[k] == FSIM_SHIFTED ? FSIM_BASE_TWO : x->form;
        x->level = class_of(w, i) == FSIM_CONTRACTION ? 0 : x->level + reduces;
        if (x->level >= FSIM_MAX_STAGES)
            return refuse(w, FSIM_RULE_SPACE, j->second, w->node[i], FSIM_MAX_STAGES + 1, FSIM_MAX_STAGES,
                          FSIM_IN_REDUCTIONS);
        o->stages = x->level + 1 > o->stages && !j->online ? x->level + 1 : o->stages;
        if (n->op == FSIM_OP_CAUSAL_MASK && j->online && masks_first(w, i))
            o->causal = n->attrs.k == 0 ? last_square(&w->g->tensor[n->result[0]].shape) : 0;
        if (w->node[i] == j->first || w->node[i] == j->second)
            x->after |= w->node[i] == j->first ? 1 : 2;
    }
    return true;
}

/* A contraction whose output tile holds the rows that reductions behind it walk. */
static bool rows_in_tile(work *w, int reduction)
{
    fsim_group *o = w->out;
    const fsim_node *n = &w->g->node[w->joint.first], *r = node_at(w, reduction);
    o->template = FSIM_TILED_CONTRACTION;
    o->whole_row = r->reduced;
    return o->points * o->reduced == n->points ||
           refuse(w, FSIM_RULE_SPACE, w->joint.first, w->node[reduction], (double)(o->points * o->reduced),
                  (double)n->points, FSIM_IN_POINTS);
}

/* after: which of the contractions side by side a member depends on. */
static bool sibling_space(work *w)
{
    int branch = 0;
    w->out->points = 0;
    for (int i = 0; i < w->count; i++) {
        const fsim_node *n = node_at(w, i);
        wanted *x = &w->want[i];
        for (int k = 0; k < n->args; k++) {
            const int from = maker(w, n->arg[k].tensor);
            x->after |= from >= 0 ? w->want[from].after : 0;
        }
        if (class_of(w, i) != FSIM_CONTRACTION)
            continue;
        if (x->after)
            return refuse(w, FSIM_RULE_CONTRACTIONS, w->joint.first, w->node[i], 2, 1, FSIM_IN_NEEDS_OTHER);
        x->after = 1 << branch++;
        w->out->points += n->points;
    }
    return true;
}

/* Contractions whose results meet must be wanted column by column alike: they are in the same place of their tiles. */
static bool side_by_side(work *w)
{
    for (int i = 0; i < w->count; i++)
        for (int j = 0; j < i; j++) {
            const wanted *x = &w->want[i], *y = &w->want[j];
            bool meet = false;
            if (class_of(w, i) != FSIM_CONTRACTION || class_of(w, j) != FSIM_CONTRACTION)
                continue;
            for (int k = 0; k < w->count && !meet; k++)
                meet = (w->want[k].after & x->after) && (w->want[k].after & y->after);
            if (meet && !fsim_map_equal(&x->map[0], &y->map[0]))
                return refuse(w, FSIM_RULE_INDEX_MAP, w->node[j], w->node[i], 2, 1, FSIM_IN_INDEX_MAPS);
        }
    return true;
}

/* Where root i of a chain is wanted. */
static bool chain_root(work *w, int i, fsim_map *m)
{
    const fsim_node *n = node_at(w, i);
    wanted *x = &w->want[i];
    x->middle = (x->after & 3) == 1;
    x->outer = !x->middle;
    if (x->outer)
        return n->points == w->out->points || refuse(w, FSIM_RULE_SPACE, w->node[i], w->out->anchor, (double)n->points,
                                                     (double)w->out->points, FSIM_IN_POINTS);
    const bool row = n->points == w->joint.rows && (x->kind == FSIM_ROW || w->joint.width > 1);
    *m = row ? w->row : w->frame;
    if (!row)
        w->out->causal = 0; /* all of it is stored */
    if (!row && n->points != w->joint.rows * w->joint.width)
        return refuse(w, FSIM_RULE_SPACE, w->node[i], w->out->anchor, (double)n->points,
                      (double)(w->joint.rows * w->joint.width), FSIM_IN_POINTS);
    if (!row && w->joint.online && x->kind != FSIM_FREE)
        return refuse(w, FSIM_RULE_REDUCED_EPILOGUE, w->joint.first, w->node[i], (double)w->joint.width, FSIM_TILE_ROW,
                      FSIM_IN_TILE_ROW);
    return true;
}

/* Does a concat or another range of this kernel read it? */
static bool read_in_part(const work *w, int i)
{
    const fsim_tensor *t = &w->g->tensor[node_at(w, i)->result[0]];
    for (int r = 0; r < t->readers; r++) {
        const int at = fsim_position(w->node, w->count, t->reader[r]);
        if (at >= 0 && class_of(w, at) == FSIM_ASSEMBLE)
            return true;
    }
    return false;
}

/* Wants root i at the kernel's points. *first: the root that gave the kernel its points. */
static bool want_root(work *w, int i, bool inside, int *first)
{
    fsim_group *o = w->out;
    wanted *x = &w->want[i];
    const bool reduces = o->template == FSIM_ROW_REDUCTION || o->template == FSIM_COLUMN_REDUCTION ||
                         o->template == FSIM_FULL_REDUCTION || w->joint.kind == FSIM_ROWS;
    const fsim_node *n = node_at(w, i);
    fsim_map m = fsim_identity(n->points);
    bool fits = true;
    if (w->joint.kind == FSIM_CHAINED) {
        if (!chain_root(w, i, &m))
            return false;
    } else if (w->joint.kind == FSIM_SIBLINGS) {
        if (!x->after)
            return refuse(w, FSIM_RULE_SPACE, w->node[i], o->anchor, (double)n->points,
                          (double)w->g->node[o->anchor].points, FSIM_IN_POINTS);
    } else if (reduces) {
        const bool row =
            n->points == o->points && (class_of(w, i) == FSIM_REDUCE || n->points != o->points * o->reduced);
        fits = row || n->points == o->points * o->reduced;
        m = row ? w->row : w->frame;
    } else if (*first < 0 && o->points == 0) {
        o->points = n->points;
    } else {
        fits = n->points == o->points;
    }
    x->late = !fits && inside && read_in_part(w, i);
    if (x->late)
        return true;
    if (!fits)
        return refuse(w, FSIM_RULE_SPACE, w->node[i], *first >= 0 ? *first : o->anchor, (double)n->points,
                      (double)(o->points * o->reduced), FSIM_IN_POINTS);
    if (*first < 0)
        *first = w->node[i];
    return demand(w, i, &m, 1u << x->level, -1);
}

/* Wants every root: what nothing inside reads gives the kernel its points; what is stored besides follows. */
static bool want_roots(work *w)
{
    int first = -1;
    for (int inside = 0; inside < 2; inside++)
        for (int i = 0; i < w->count; i++)
            if (read_inside(w, i) == inside && (w->want[i].stored || !inside) && !want_root(w, i, inside, &first))
                return false;
    return true;
}

/* A stored value of another size than the kernel's results: from the piece that computes each of its elements once. */
static bool store_late(work *w, int i)
{
    wanted *x = &w->want[i];
    for (int k = 0; k < x->maps; k++)
        if (x->scope[k].place && !x->scope[k].any &&
            fsim_map_points(&x->map[k]) * fsim_map_reduced(&x->map[k]) == node_at(w, i)->points &&
            fsim_map_injective(&x->map[k])) {
            x->root = k;
            return true;
        }
    return refuse(w, FSIM_RULE_SPACE, w->node[i], w->out->anchor, (double)node_at(w, i)->points,
                  (double)(w->out->points * w->out->reduced), FSIM_IN_POINTS);
}

static void list_writes(work *w)
{
    fsim_group *o = w->out;
    for (int i = 0; i < w->count; i++) {
        const fsim_node *n = node_at(w, i);
        const wanted *x = &w->want[i];
        for (int k = 0; k < n->results && x->stored; k++) {
            const fsim_tensor *t = &w->g->tensor[n->result[k]];
            if (t->readers > 0 || t->output || t->materialize || k == 0 || n->effect)
                o->write[o->writes++] = (fsim_write){.tensor = n->result[k],
                                                     .map = x->map[x->root],
                                                     .full = reads_full(&x->map[x->root], &x->scope[x->root], o)};
        }
    }
}

/* Registers that a value of this type takes: two for 8 bytes; halves are computed on as floats. */
static int width(const fsim_tensor *t) { return fsim_dtype_bytes(t->dtype) > 4 ? 2 : 1; }

/* What is wanted outside of all branches is there all along; the rest only in its branches. */
static bool in_branch(uint64_t branches, int branch)
{
    return branch == 0 ? branches & 1 : !(branches & 1) && (branches >> branch & 1);
}

/* One for each map, but of pieces only one. */
static int values_at_once(const wanted *x)
{
    int values = 0, pieces = 0;
    for (int k = 0; k < x->maps; k++)
        *(x->scope[k].place ? &pieces : &values) += 1;
    return values + (pieces > 0) > 0 ? values + (pieces > 0) : 1;
}

/* Adds to change[] the registers of the values of one branch (0: those of none): a loaded value lives from its first
 * reader to its last, a computed one to its last reader. */
static void add_lives(const work *w, int branch, int *change)
{
    const fsim_group *o = w->out;
    for (int i = 0; i < w->count; i++) {
        const fsim_node *n = node_at(w, i);
        int last = i;
        if (!in_branch(w->want[i].branches, branch))
            continue;
        for (int k = 0; k < n->results; k++) {
            const fsim_tensor *t = &w->g->tensor[n->result[k]];
            for (int r = 0; r < t->readers; r++) {
                const int at = fsim_position(w->node, w->count, t->reader[r]);
                last = at > last ? at : last;
            }
        }
        const int weight = width(&w->g->tensor[n->result[0]]) * values_at_once(&w->want[i]);
        change[i] += weight;
        change[last + 1] -= weight;
    }
    for (int i = 0; i < o->reads; i++) {
        const fsim_tensor *t = &w->g->tensor[o->read[i].tensor];
        int first = w->count, last = -1;
        if (!in_branch(o->read[i].branches, branch))
            continue;
        for (int r = 0; r < t->readers; r++) {
            const int at = fsim_position(w->node, w->count, t->reader[r]);
            if (at < 0)
                continue;
            first = at < first ? at : first;
            last = at > last ? at : last;
        }
        if (last < 0)
            continue;
        const int weight = width(t) * (o->read[i].maps > 1 && !o->read[i].place ? o->read[i].maps : 1);
        change[first] += weight;
        change[last + 1] -= weight;
    }
}

/* Values live at once, in registers of 4 bytes, walking the members in order. Of branches that exclude each other a
 * thread is in one: the widest counts, all along. */
static int live_values(work *w)
{
    int most[2] = {0, 0}; /* without branches; the widest of them */
    for (int branch = 0; branch <= w->branches && branch < 64; branch++) {
        const fsim_mark mark = fsim_save(w->a);
        int *change = fsim_new(w->a, int, w->count + 2), live = 0, *peak = &most[branch > 0];
        add_lives(w, branch, change);
        for (int i = 0; i <= w->count; i++) {
            live += change[i];
            *peak = live > *peak ? live : *peak;
        }
        fsim_rewind(w->a, mark);
    }
    return most[0] + most[1];
}

static bool no_arithmetic(const work *w)
{
    for (int i = 0; i < w->count; i++)
        if (node_at(w, i)->flops > 0 || (class_of(w, i) != FSIM_PERMUTE && class_of(w, i) != FSIM_ASSEMBLE &&
                                         class_of(w, i) != FSIM_GATHER && node_at(w, i)->instructions > 0))
            return false;
    return true;
}

static void list_members(work *w)
{
    fsim_group *o = w->out;
    for (int i = 0; i < w->count; i++) {
        const fsim_node *n = node_at(w, i);
        const wanted *x = &w->want[i];
        fsim_member m = {.node = w->node[i],
                         .prologue = x->prologue,
                         .middle = x->middle,
                         .kind = x->kind,
                         .level = x->level,
                         .operand = x->operand,
                         .clone = x->clone,
                         .divergence = 1};
        if (x->middle)
            m.operand = FSIM_CHAIN_OPERANDS;
        if (x->form == FSIM_FOLDED || (w->joint.online && x->middle && x->kind == FSIM_SCALED))
            m.form = x->form;
        if (w->node[i] == o->anchor || class_of(w, i) == FSIM_REDUCE || class_of(w, i) == FSIM_CONTRACTION) {
            m.evaluations = n->points * n->reduced;
            m.full = true;
            m.stages = 1;
        } else {
            for (int k = 0; k < x->maps && x->form != FSIM_FOLDED; k++) {
                const fsim_scope *s = &x->scope[k];
                const bool full = s->any ? !s->once_a_row : reads_full(&x->map[k], s, o);
                const int64_t rows = fsim_map_points(&x->map[k]), each = full ? fsim_map_reduced(&x->map[k]) : 1;
                bool exact;
                m.evaluations += x->prologue      ? fsim_map_distinct(&x->map[k], &exact)
                                 : s->repeats > 0 ? llrint((double)rows * s->repeats)
                                                  : rows * each;
                m.divergence = fmax(m.divergence, s->place ? fsim_piece_divergence(s->place, WARP) : 1);
                m.full = m.full || full;
                m.stages |= x->stages[k];
            }
            o->recomputes = o->recomputes || m.evaluations > n->points;
        }
        o->member[o->members++] = m;
    }
}

static int by_tensor(const void *a, const void *b)
{
    return ((const fsim_read *)a)->tensor - ((const fsim_read *)b)->tensor;
}

static void sort_reads(fsim_group *o)
{
    for (int i = 1; i < o->reads; i++) /* few and nearly sorted */
        for (int k = i; k > 0 && by_tensor(&o->read[k - 1], &o->read[k]) > 0; k--) {
            const fsim_read swap = o->read[k];
            o->read[k] = o->read[k - 1];
            o->read[k - 1] = swap;
        }
}

/* Scales and shifts by column vanish into the weights, and with them what only they read, but for one vector of shifts.
 */
static void fold_members(work *w)
{
    fsim_group *o = w->out;
    bool *folded = fsim_new(w->a, bool, w->count), *stored = fsim_new(w->a, bool, w->count), shifts;
    for (int i = 0; i < w->count; i++)
        stored[i] = w->want[i].stored;
    o->folded =
        fsim_fold(w->g, w->node, w->count, fsim_position(w->node, w->count, o->anchor), stored, folded, &shifts);
    if (o->folded == 0)
        return;
    int kept = 0, vector = -1;
    for (int i = 0; i < o->reads; i++) {
        const fsim_tensor *t = &w->g->tensor[o->read[i].tensor];
        bool gone = true;
        for (int k = 0; k < t->readers && gone; k++) {
            const int reader = fsim_position(w->node, w->count, t->reader[k]);
            gone = reader < 0 || folded[reader];
        }
        if (gone && shifts && (vector < 0 || t->elems > w->g->tensor[o->read[vector].tensor].elems)) {
            if (vector < 0)
                vector = kept++;
            o->read[vector] = o->read[i];
        } else if (!gone) {
            o->read[kept++] = o->read[i];
        }
    }
    o->reads = kept;
    for (int i = 0; i < w->count; i++)
        w->want[i].form = folded[i] ? FSIM_FOLDED : w->want[i].form;
}

static int reader_inside(const work *w, int i)
{
    const fsim_tensor *t = &w->g->tensor[node_at(w, i)->result[0]];
    int at = -1;
    for (int r = 0; r < t->readers && at < 0; r++)
        at = fsim_position(w->node, w->count, t->reader[r]);
    return at;
}

/* What sort of kernel the members ask for, and its anchor. */
static bool choose_template(work *w, int *first_reduction)
{
    static const fsim_template of_class[FSIM_CLASS_COUNT] = {[FSIM_SCAN] = FSIM_SCAN_KERNEL,
                                                             [FSIM_SCATTER] = FSIM_OPAQUE_KERNEL,
                                                             [FSIM_COMMUNICATION] = FSIM_COMMUNICATION_KERNEL,
                                                             [FSIM_TRANSFER] = FSIM_TRANSFER_KERNEL,
                                                             [FSIM_OPAQUE] = FSIM_OPAQUE_KERNEL};
    fsim_group *o = w->out;
    int reduction = -1, anchor = -1;
    for (int i = 0; i < w->count; i++) {
        const fsim_class class = class_of(w, i);
        if (fsim_classes[class].boundary) {
            if (w->count > 1)
                return refuse_for_good(w, FSIM_RULE_BOUNDARY, w->node[i], w->node[i ? 0 : 1], 0, 0, FSIM_IN_NONE);
            o->template = of_class[class];
            anchor = i;
        }
        if (class == FSIM_REDUCE && reduction < 0)
            reduction = i;
        if (class == FSIM_SCATTER) {
            const int reader = w->count > 1 ? reader_inside(w, i) : -1;
            if (reader >= 0 || anchor >= 0)
                return refuse_for_good(w, FSIM_RULE_BOUNDARY, w->node[i], w->node[reader >= 0 ? reader : anchor], 0, 0,
                                       FSIM_IN_NONE);
            o->template = of_class[class];
            anchor = i;
        }
        if (class != FSIM_CONTRACTION && class != FSIM_WINDOW)
            continue;
        if (anchor >= 0 && class_of(w, anchor) == FSIM_SCATTER)
            return refuse_for_good(w, FSIM_RULE_BOUNDARY, w->node[anchor], w->node[i], 0, 0, FSIM_IN_NONE);
        o->contractions += class == FSIM_CONTRACTION;
        if (anchor >= 0 && class == FSIM_CONTRACTION && class_of(w, anchor) == FSIM_CONTRACTION)
            continue;
        if (anchor >= 0)
            return refuse_for_good(w, FSIM_RULE_WINDOW, w->node[anchor], w->node[i], 2, 1, FSIM_IN_WINDOWS);
        anchor = i;
        o->template = class == FSIM_CONTRACTION ? FSIM_TILED_CONTRACTION : FSIM_POOLING;
    }
    if (anchor >= 0 && reduction >= 0 && class_of(w, anchor) == FSIM_SCATTER)
        return refuse_for_good(w, FSIM_RULE_BOUNDARY, w->node[anchor], w->node[reduction], 0, 0, FSIM_IN_NONE);
    const bool contraction = o->template == FSIM_TILED_CONTRACTION;
    if (anchor >= 0 && reduction >= 0 && !contraction)
        return refuse_for_good(w, FSIM_RULE_REDUCED_EPILOGUE, w->node[anchor < reduction ? anchor : reduction],
                               w->node[anchor < reduction ? reduction : anchor], (double)node_at(w, reduction)->reduced,
                               1, FSIM_IN_TILE_ROW);
    if (contraction && (o->contractions > 1 || reduction >= 0) &&
        !fsim_joint_of(w->limits, w->node, w->count, &w->joint, w->why))
        return false;
    if (w->joint.kind == FSIM_CHAINED) {
        o->template = FSIM_CHAINED_CONTRACTION;
        o->first = w->joint.first;
        o->rows = w->joint.rows;
        o->width = w->joint.width;
        o->batch = w->joint.batch;
        o->online = w->joint.online;
        anchor = fsim_position(w->node, w->count, w->joint.second);
    }
    o->anchor = anchor < 0 ? -1 : w->node[anchor];
    if (anchor >= 0)
        o->points = node_at(w, anchor)->points;
    *first_reduction = reduction;
    return true;
}

/* Does one walk of the kernel over the tensor touch all of it? Then it is in L2 afterwards, if it fits. */
static void measure_read(const fsim_graph *g, fsim_read *r)
{
    const fsim_tensor *t = &g->tensor[r->tensor];
    int64_t touched = r->maps == 0 ? r->access->distinct : 0;
    bool exact;
    r->whole = r->maps == 0 && r->access->how != FSIM_READ_INDIRECT && r->access->distinct == t->elems;
    for (int i = 0; i < r->maps; i++) {
        const int64_t distinct = fsim_map_distinct(&r->map[i], &exact);
        r->whole = r->whole || distinct == t->elems;
        touched += distinct;
    }
    r->whole = r->whole || (r->access->how == FSIM_READ_PIECE && r->access->distinct == t->elems &&
                            touched == t->elems); /* pieces do not meet */
    r->bytes = touched < t->elems ? touched * fsim_dtype_bytes(t->dtype) : t->bytes;
}

static void kept_on_chip(work *w)
{
    fsim_group *o = w->out;
    for (int i = 0; i < o->reads; i++) {
        const fsim_read *r = &o->read[i];
        int64_t elems = r->place ? 0 : o->reduced;
        for (int k = 0; k < r->maps && r->place; k++)
            elems += fsim_map_reduced(&r->map[k]);
        if (r->full && (r->stages & (r->stages - 1)))
            o->kept_row_bytes +=
                (elems < o->reduced ? elems : o->reduced) * fsim_dtype_bytes(w->g->tensor[r->tensor].dtype);
    }
}

bool fsim_group_of(const fsim_limits *limits, const int *node, int count, const bool *stored, const bool *clone,
                   fsim_arena *a, fsim_group *out, fsim_refusal *why)
{
    int first_reduction;
    *out = (fsim_group){.reduced = 1, .stages = 1, .anchor = -1, .first = -1, .strict = limits->strict};
    work w = {.limits = limits,
              .g = limits->graph,
              .node = node,
              .count = count,
              .want = fsim_new(a, wanted, count),
              .out = out,
              .why = why,
              .a = a};
    if (!choose_template(&w, &first_reduction))
        return false;
    int results = 0;
    for (int i = 0; i < count; i++) {
        w.want[i].clone = clone && clone[i];
        w.want[i].stored = stored ? stored[i] : must_store(&w, i);
        results += w.want[i].stored ? node_at(&w, i)->results : 0;
    }
    if (w.joint.kind == FSIM_CHAINED ? !chain_space(&w) : first_reduction >= 0 && !reduction_space(&w, first_reduction))
        return false;
    if (w.joint.kind == FSIM_SIBLINGS && !sibling_space(&w))
        return false;
    if (w.joint.kind == FSIM_ROWS && !rows_in_tile(&w, first_reduction))
        return false;
    out->write = fsim_new(a, fsim_write, results + 1);
    out->member = fsim_new(a, fsim_member, count);
    if (!want_roots(&w))
        return false;
    for (int i = count; i-- > 0;) {
        if (w.want[i].prologue && w.want[i].stored)
            return refuse(&w, FSIM_RULE_PROLOGUE, node[i], out->anchor, 0, 0, FSIM_IN_NONE);
        if ((w.want[i].late && !store_late(&w, i)) || !want_arguments(&w, i))
            return false;
    }
    if (w.joint.kind == FSIM_SIBLINGS && !side_by_side(&w))
        return false;
    if (out->template == FSIM_TILED_CONTRACTION && w.joint.kind == FSIM_ALONE && !limits->strict)
        fold_members(&w);
    list_writes(&w);
    for (int i = 0; i < out->reads; i++)
        measure_read(w.g, &out->read[i]);
    if (count > 1 && out->reads + out->writes > FSIM_MAX_PARAMETERS) /* one operator alone passes a table of pointers */
        return refuse(&w, FSIM_RULE_PARAMETERS, node[0], count > 1 ? node[count - 1] : -1, out->reads + out->writes,
                      FSIM_MAX_PARAMETERS, FSIM_IN_PARAMETERS);
    sort_reads(out);
    if (w.joint.kind != FSIM_ALONE) {
        fsim_joint *joint = fsim_new(a, fsim_joint, 1);
        *joint = w.joint;
        out->joint = joint;
    }
    list_members(&w);
    kept_on_chip(&w);
    out->live = live_values(&w);
    if (out->template == FSIM_POINTWISE && no_arithmetic(&w))
        out->template = FSIM_COPY;
    return true;
}
