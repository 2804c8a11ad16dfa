/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/chain.h"

#include "fusion/partners.h"
#include "fusion/sums.h"
#include "fusion/walks.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SIBLINGS = 8, STEP_BYTES = 64 };

static fsim_class class_of(const fsim_graph *g, int n) { return fsim_ops[g->node[n].op].class; }

static bool refuse(fsim_refusal *why, fsim_rule rule, int a, int b, fsim_excess excess, bool final)
{
    fsim_refuse_pair(why, rule, a, b, excess);
    why->final = final;
    return false;
}

bool fsim_map_align(const fsim_map *x, const fsim_map *y, fsim_map *out_x, fsim_map *out_y)
{
    fsim_mode dx[FSIM_MAX_MODES * 2], dy[FSIM_MAX_MODES * 2];
    int i = x->split - 1, j = y->split - 1, n = 0;
    fsim_mode a = i >= 0 ? x->mode[i] : (fsim_mode){1, 0}, b = j >= 0 ? y->mode[j] : (fsim_mode){1, 0};
    while (i >= 0 && j >= 0) {
        const int64_t extent = a.extent < b.extent ? a.extent : b.extent;
        if (a.extent % extent != 0 || b.extent % extent != 0 || n == FSIM_MAX_MODES)
            return false;
        dx[n] = (fsim_mode){extent, a.stride};
        dy[n++] = (fsim_mode){extent, b.stride};
        a = (fsim_mode){a.extent / extent, a.stride * extent};
        b = (fsim_mode){b.extent / extent, b.stride * extent};
        if (a.extent == 1 && --i >= 0)
            a = x->mode[i];
        if (b.extent == 1 && --j >= 0)
            b = y->mode[j];
    }
    if (i >= 0 || j >= 0)
        return false;
    *out_x = (fsim_map){.offset = x->offset};
    *out_y = (fsim_map){.offset = y->offset};
    while (n-- > 0) {
        fsim_map_push(out_x, dx[n].extent, dx[n].stride);
        fsim_map_push(out_y, dy[n].extent, dy[n].stride);
    }
    out_x->split = out_x->modes;
    out_y->split = out_y->modes;
    return true;
}

static fsim_map points_of(fsim_map m)
{
    m.modes = m.split;
    return m;
}

/* Chains. */

/* Bytes of shared memory of a chained kernel's block: tiles of m rows and n columns, `kept` columns of the first
 * operand and `results` results for each row, elements of elem_bytes. The results are in registers where there are
 * at most FSIM_REGISTER_RESULTS. This asks for more than a layout (kernel/chain.h) needs, whose blocks share the
 * results of long rows: some chains that could be laid out count as illegal. */
static int64_t chain_bytes(int64_t m, int64_t n, int64_t kept, int64_t results, int elem_bytes)
{
    const int64_t step = STEP_BYTES / elem_bytes, first = kept <= FSIM_KEPT_WIDTH ? kept : step,
                  last = results < FSIM_KEPT_WIDTH ? results : FSIM_KEPT_WIDTH;
    const int64_t sums = m * results <= FSIM_REGISTER_RESULTS ? 0 : m * results * 4;
    return m * first * elem_bytes * (kept <= FSIM_KEPT_WIDTH ? 1 : 2) + m * n * elem_bytes +
           2 * n * (first + last) * elem_bytes + sums;
}

/* Fills out->frame, rows, width and other from the maps of the second contraction. */
static bool frame_of(const fsim_graph *g, int second, fsim_joint *out)
{
    const fsim_node *n = &g->node[second];
    const fsim_access *chained = &n->arg[out->side], *other = &n->arg[1 - out->side];
    fsim_map x = points_of(chained->map), y = points_of(other->map), mine, theirs;
    if (chained->how != FSIM_READ_MAP || other->how != FSIM_READ_MAP || !fsim_map_align(&x, &y, &mine, &theirs))
        return false;
    out->frame = out->other = (fsim_map){0};
    for (bool more = true; more;) { /* rows in memory order */
        int largest = -1;
        for (int i = 0; i < mine.modes; i++)
            if (mine.mode[i].stride != 0 &&
                (largest < 0 || llabs(mine.mode[i].stride) > llabs(mine.mode[largest].stride)))
                largest = i;
        more = largest >= 0;
        if (!more)
            break;
        fsim_map_push(&out->frame, mine.mode[largest].extent, mine.mode[largest].stride);
        fsim_map_push(&out->other, theirs.mode[largest].extent, theirs.mode[largest].stride);
        mine.mode[largest].stride = 0;
    }
    out->frame.offset = chained->map.offset;
    out->frame.split = out->frame.modes;
    out->other.split = out->other.modes;
    for (int i = chained->map.split; i < chained->map.modes; i++)
        fsim_map_push(&out->frame, chained->map.mode[i].extent, chained->map.mode[i].stride);
    if (out->frame.modes > FSIM_MAX_MODES)
        return false;
    out->frame = fsim_map_simplify(out->frame);
    out->rows = fsim_map_points(&out->frame);
    out->width = fsim_map_reduced(&out->frame);
    return true;
}

/* Fills in what the graph alone says of the pair. False where no kernel chains it, whatever else it holds. */
static bool find_pair(const fsim_graph *g, fsim_pair *p)
{
    const int first = p->first, second = p->second;
    const fsim_node *a = &g->node[first], *b = &g->node[second];
    fsim_joint *out = &p->joint;
    fsim_refusal *why = &p->why;
    fsim_flow f;
    *out = (fsim_joint){.kind = FSIM_CHAINED, .first = first, .second = second, .side = -1};
    if (a->gemm.convolution || b->gemm.convolution)
        return refuse(why, FSIM_RULE_CONTRACTIONS, first, second, (fsim_excess){2, 1, FSIM_IN_CONVOLUTION}, true);
    fsim_flow_from(g, first, second, &f);
    bool reads[2] = {false, false}, reductions = false;
    fsim_row_kind kind = FSIM_BOUND;
    for (int side = 0; side < 2; side++) {
        const int from = g->tensor[b->arg[side].tensor].producer, at = from < 0 ? -1 : fsim_place_in_flow(&f, from);
        reads[side] = from == first || at >= 0;
        if (reads[side]) {
            out->side = side;
            kind = at < 0 ? FSIM_FREE : f.kind[at];
        }
    }
    if (out->side < 0)
        return refuse(why, FSIM_RULE_CONTRACTIONS, first, second, (fsim_excess){2, 1, FSIM_IN_UNRELATED}, !f.more);
    if (reads[0] && reads[1])
        return refuse(why, FSIM_RULE_CONTRACTIONS, first, second, (fsim_excess){2, 1, FSIM_IN_BOTH_OPERANDS}, true);
    if (!frame_of(g, second, out) || out->rows * out->width != a->points || a->reduced != a->gemm.k)
        return refuse(why, FSIM_RULE_CONTRACTIONS, first, second,
                      (fsim_excess){(double)(out->rows * out->width), (double)a->points, FSIM_IN_CROSS_ROWS}, true);
    for (int i = 0; i < f.count; i++)
        reductions = reductions || (class_of(g, f.node[i]) == FSIM_REDUCE && f.node[i] < second);
    out->online = reductions && out->width > FSIM_TILE_ROW;
    out->batch = a->gemm.batch > b->gemm.batch ? a->gemm.batch : b->gemm.batch;
    if (out->online && kind != FSIM_FREE && kind != FSIM_SCALED)
        return refuse(why, FSIM_RULE_REDUCED_EPILOGUE, first, second,
                      (fsim_excess){(double)out->width, FSIM_TILE_ROW, FSIM_IN_TILE_ROW}, true);
    out->online = out->online && kind == FSIM_SCALED;
    p->least_bytes = chain_bytes(FSIM_CHAIN_LEAST, FSIM_CHAIN_LEAST, a->gemm.k, b->points / out->rows,
                                 fsim_dtype_bytes(g->tensor[a->arg[0].tensor].dtype));
    return true;
}

/* Can a kernel chain first and second, whatever else it holds? False with *why. */
static bool may_chain(const fsim_limits *limits, int first, int second, fsim_joint *out, fsim_refusal *why)
{
    fsim_pair room, *p = fsim_pair_of(limits, first, second, &room);
    if (!p->known)
        p->may = find_pair(limits->graph, p);
    p->known = true;
    *out = p->joint;
    if (!p->may) {
        *why = p->why;
        return false;
    }
    if (out->online && limits->strict)
        return refuse(why, FSIM_RULE_NUMERICS, first, second,
                      (fsim_excess){(double)out->width, FSIM_TILE_ROW, FSIM_IN_ONLINE}, true);
    return fsim_note_room(limits, p->least_bytes <= limits->shared_per_block, p->least_bytes) ||
           refuse(why, FSIM_RULE_SHARED, first, second,
                  (fsim_excess){(double)p->least_bytes, (double)limits->shared_per_block, FSIM_IN_SHARED_BYTES}, true);
}

/* Every primitive on a path from first to second, both included. */
static int core_of(const fsim_limits *limits, int first, int second, int *node, int room)
{
    const fsim_graph *g = limits->graph;
    fsim_joint joint;
    fsim_refusal why;
    fsim_flow f;
    int count = 0;
    bool leads[FSIM_MOST_WALKED] = {false};
    if (!may_chain(limits, first, second, &joint, &why))
        return 0;
    fsim_flow_from(g, first, second, &f);
    for (int i = f.count; i-- > 0;)
        for (int r = 0; r < g->node[f.node[i]].results; r++) {
            const fsim_tensor *t = &g->tensor[g->node[f.node[i]].result[r]];
            for (int k = 0; k < t->readers; k++) {
                const int at = fsim_place_in_flow(&f, t->reader[k]);
                leads[i] = leads[i] || t->reader[k] == second || (at >= 0 && leads[at]);
            }
        }
    if (room < f.count + 2)
        return 0;
    node[count++] = first;
    for (int i = 0; i < f.count; i++)
        if (leads[i])
            node[count++] = f.node[i];
    node[count++] = second;
    return count;
}

int fsim_chain_from(const fsim_limits *limits, int first, int *node, int room)
{
    fsim_flow f;
    int count = 0;
    fsim_flow_from(limits->graph, first, limits->graph->nodes, &f);
    for (int i = 0; i < f.contractions && count == 0; i++)
        count = core_of(limits, first, f.contraction[i], node, room);
    return count;
}

bool fsim_tile_rows(const fsim_graph *g, int first, const fsim_map *at, const fsim_joint *joint, int *rows_from)
{
    const fsim_node *n = &g->node[first];
    fsim_map operand[2], row[2];
    if (n->arg[0].how != FSIM_READ_MAP || n->arg[1].how != FSIM_READ_MAP ||
        fsim_map_points(at) * fsim_map_reduced(at) != n->points || !fsim_map_injective(at))
        return false;
    *rows_from = -1;
    for (int k = 0; k < 2; k++) {
        const fsim_map points = points_of(n->arg[k].map);
        bool constant = true;
        if (!fsim_map_compose(at, &points, &operand[k]))
            return false;
        for (int i = operand[k].split; i < operand[k].modes; i++)
            constant = constant && operand[k].mode[i].stride == 0;
        if (constant)
            *rows_from = k;
    }
    const int64_t width = *rows_from == 0 ? n->gemm.n : n->gemm.m;
    if (*rows_from < 0 ||
        (joint->kind == FSIM_ROWS ? width % fsim_map_reduced(at) != 0 : fsim_map_reduced(at) != width))
        return false; /* rows, or blocks of them */
    if (joint->kind != FSIM_CHAINED)
        return true;
    /* The rows of a block must share the other operands of both contractions. A digit of the row over which one of
     * those changes numbers blocks: it is part of the batch. */
    const fsim_map columns = points_of(operand[1 - *rows_from]);
    int64_t batch = 1;
    if (!fsim_map_align(&columns, &joint->other, &row[0], &row[1]))
        return false;
    for (int i = 0; i < row[0].modes; i++)
        batch *= row[0].mode[i].stride || row[1].mode[i].stride ? row[0].mode[i].extent : 1;
    return batch <= joint->batch;
}

/* Siblings. */

fsim_map fsim_map_without_broadcasts(const fsim_map *m)
{
    fsim_map out = {.offset = m->offset};
    for (int i = 0; i < m->modes; i++) {
        if (i == m->split)
            out.split = out.modes;
        if (m->mode[i].stride != 0)
            fsim_map_push(&out, m->mode[i].extent, m->mode[i].stride);
    }
    if (m->split == m->modes)
        out.split = out.modes;
    return fsim_map_simplify(out);
}

/* Do both contractions read the same first operand in the same way, with the same batch, m, k and arithmetic? One
 * kernel then loads it once for both. Convolutions never do. */
static bool are_siblings(const fsim_graph *g, int a, int b)
{
    const fsim_node *x = &g->node[a], *y = &g->node[b];
    if (class_of(g, a) != FSIM_CONTRACTION || class_of(g, b) != FSIM_CONTRACTION ||
        x->arg[0].tensor != y->arg[0].tensor || x->arg[0].how != FSIM_READ_MAP || y->arg[0].how != FSIM_READ_MAP ||
        x->gemm.batch != y->gemm.batch || x->gemm.m != y->gemm.m || x->gemm.k != y->gemm.k ||
        x->gemm.arithmetic != y->gemm.arithmetic || x->gemm.convolution || y->gemm.convolution)
        return false;
    const fsim_map mx = fsim_map_without_broadcasts(&x->arg[0].map), my = fsim_map_without_broadcasts(&y->arg[0].map);
    return fsim_map_equal(&mx, &my);
}

/* Does a contraction that feeds n through inlined primitives form a chain with it? *more: only because there are more
 * of these than are looked at. */
static bool chained_above(const fsim_limits *limits, int n, int low, bool *more)
{
    fsim_joint joint;
    fsim_refusal why;
    int room[FSIM_MOST_ENDS];
    const fsim_walk_ends x = fsim_ends_above(limits, n, room);
    for (int i = 0; i < x.contractions; i++)
        if (x.contraction[i] < low && may_chain(limits, x.contraction[i], n, &joint, &why))
            return true;
    if (x.more)
        *more = true; /* assume that it may */
    return x.more;
}

static bool chained_below(const fsim_limits *limits, int n, int high, bool *more)
{
    fsim_joint joint;
    fsim_refusal why;
    int room[FSIM_MOST_ENDS];
    const fsim_walk_ends x = fsim_ends_below(limits, n, room);
    for (int i = 0; i < x.contractions; i++)
        if (x.contraction[i] > high && may_chain(limits, n, x.contraction[i], &joint, &why))
            return true;
    return *more = x.more;
}

/* Where a walk is too long to say: may contraction n be the first of a chain, or the last (up)? */
static bool may_have_partner(const fsim_limits *limits, int n, bool up)
{
    int other[FSIM_MOST_WALKED];
    fsim_joint joint;
    fsim_refusal why;
    const int count = fsim_chain_partners(limits->graph, n, up, other, FSIM_MOST_WALKED);
    for (int i = 0; i < count; i++)
        if (may_chain(limits, up ? other[i] : n, up ? n : other[i], &joint, &why))
            return true;
    return count < 0;
}

bool fsim_may_lead_chain(const fsim_limits *limits, int n)
{
    bool more = false;
    return chained_below(limits, n, -1, &more) && (!more || may_have_partner(limits, n, false));
}

static bool may_end_chain(const fsim_limits *limits, int n)
{
    bool more = false;
    return chained_above(limits, n, limits->graph->nodes, &more) && (!more || may_have_partner(limits, n, true));
}

int fsim_chains_from(const fsim_limits *limits, int n, fsim_joint *out, int room)
{
    fsim_joint joint;
    fsim_refusal why;
    int count = 0, other[FSIM_MOST_WALKED], room_of_ends[FSIM_MOST_ENDS];
    const fsim_walk_ends x = fsim_ends_below(limits, n, room_of_ends);
    const int seconds = x.more ? fsim_chain_partners(limits->graph, n, false, other, FSIM_MOST_WALKED) : x.contractions;
    for (int i = 0; i < seconds; i++) {
        const int second = x.more ? other[i] : x.contraction[i];
        if (second <= n || !may_chain(limits, n, second, &joint, &why))
            continue;
        if (count == room)
            return -1;
        out[count++] = joint;
    }
    return seconds < 0 ? -1 : count;
}

int fsim_contraction_siblings(const fsim_limits *limits, int n)
{
    const fsim_graph *g = limits->graph;
    const fsim_tensor *shared = &g->tensor[g->node[n].arg[0].tensor];
    int count = 0;
    for (int r = 0; r < shared->readers && count + 1 < MOST_SIBLINGS; r++)
        count += shared->reader[r] != n && are_siblings(g, n, shared->reader[r]);
    return count;
}

int fsim_siblings_of(const fsim_limits *limits, int n, int *out, int room)
{
    const fsim_graph *g = limits->graph;
    const fsim_tensor *shared = &g->tensor[g->node[n].arg[0].tensor];
    int count = 0;
    for (int r = 0; r < shared->readers; r++) {
        if (shared->reader[r] == n || !are_siblings(g, n, shared->reader[r]))
            continue;
        if (count == room)
            return -1;
        out[count++] = shared->reader[r];
    }
    return count;
}

bool fsim_may_be_chained(const fsim_limits *limits, int n)
{
    return !limits->graph->node[n].gemm.convolution && (fsim_may_lead_chain(limits, n) || may_end_chain(limits, n));
}

int fsim_contraction_company(const fsim_limits *limits, int n)
{
    const int siblings = fsim_contraction_siblings(limits, n);
    return siblings > 0 ? 1 + siblings : fsim_may_be_chained(limits, n) ? 2 : 1;
}

/* Could the reductions from low to high be in the middle of a chain between contraction n and another one? None of
 * them is before a chain's first contraction, or behind its second one. */
static bool chained_apart(const fsim_limits *limits, int n, int low, int high)
{
    bool more;
    return (low > n && chained_below(limits, n, high, &more)) || (high < n && chained_above(limits, n, low, &more));
}

/* The first reduction among those that is no sum of all elements of contraction c's results, or of as many; -1. */
static int first_of_rows(const fsim_limits *limits, const int *node, int count, int c)
{
    for (int i = 0; i < count; i++)
        if (class_of(limits->graph, node[i]) == FSIM_REDUCE && !fsim_may_sum_tiles(limits, node[i], c))
            return node[i];
    return -1;
}

bool fsim_joint_of(const fsim_limits *limits, const int *node, int count, fsim_joint *out, fsim_refusal *why)
{
    const fsim_graph *g = limits->graph;
    int contraction[MOST_SIBLINGS + 1] = {0}, contractions = 0, low = -1,
                                    high = -1; /* low, high: the first and the last reduction */
    for (int i = 0; i < count; i++) {
        const fsim_class class = class_of(g, node[i]);
        if (class == FSIM_REDUCE) {
            low = low < 0 ? node[i] : low;
            high = node[i];
        }
        if (class != FSIM_CONTRACTION)
            continue;
        contraction[contractions++] = node[i];
        if (contractions > MOST_SIBLINGS)
            return refuse(why, FSIM_RULE_CONTRACTIONS, contraction[0], node[i],
                          (fsim_excess){contractions, MOST_SIBLINGS, FSIM_IN_SIBLINGS}, true);
    }
    const int c = contraction[0];
    *out = (fsim_joint){.kind = FSIM_ROWS, .first = c};
    if (contractions == 1) {
        const fsim_node *n = &g->node[c];
        const int rows = first_of_rows(limits, node, count, c);
        out->kind = rows < 0 ? FSIM_TOTALS : FSIM_ROWS;
        if (low > c && !n->gemm.convolution && (rows < 0 || g->node[rows].reduced <= FSIM_TILE_ROW))
            return true;
        const int first = c < low ? c : low, other = c < low ? low : c;
        fsim_limits loose = *limits;
        loose.strict = false;
        if (chained_apart(limits, c, low, high))
            return refuse(why, FSIM_RULE_REDUCED_EPILOGUE, first, other,
                          (fsim_excess){(double)g->node[low].reduced, FSIM_TILE_ROW, FSIM_IN_TILE_ROW}, false);
        if (limits->strict && chained_apart(&loose, c, low, high))
            return refuse(why, FSIM_RULE_NUMERICS, first, other,
                          (fsim_excess){(double)g->node[low].reduced, FSIM_TILE_ROW, FSIM_IN_ONLINE}, true);
        /* The values of rows that a tile holds may be added up, too, once their reductions are in the kernel. */
        if (low > c && !n->gemm.convolution && !limits->strict && g->node[rows].points == 1 &&
            fsim_may_sum_across(g, rows))
            return refuse(why, FSIM_RULE_REDUCED_EPILOGUE, c, rows,
                          (fsim_excess){(double)g->node[rows].reduced, 1, FSIM_IN_OTHER_TILES}, false);
        return refuse(why, FSIM_RULE_REDUCED_EPILOGUE, first, other,
                      (fsim_excess){(double)g->node[low].reduced, FSIM_TILE_ROW, FSIM_IN_TILE_ROW}, true);
    }
    bool siblings = true;
    for (int i = 0; i < contractions; i++)
        for (int j = 0; j < i && siblings; j++)
            siblings = are_siblings(g, contraction[j], contraction[i]);
    out->kind = FSIM_SIBLINGS;
    if (siblings)
        return low < 0 || refuse(why, FSIM_RULE_REDUCED_EPILOGUE, c, low,
                                 (fsim_excess){(double)g->node[low].reduced, 1, FSIM_IN_SEVERAL_TILES}, true);
    if (contractions > 2)
        return refuse(why, FSIM_RULE_CONTRACTIONS, c, contraction[contractions - 1],
                      (fsim_excess){contractions, 2, FSIM_IN_MORE_BETWEEN}, true);
    if (!may_chain(limits, c, contraction[1], out, why))
        return false;
    if (low >= 0 && (low < c || high > contraction[1]))
        return refuse(why, FSIM_RULE_REDUCED_EPILOGUE, low < c ? low : contraction[1], low < c ? c : high,
                      (fsim_excess){(double)g->node[low < c ? low : high].reduced, 1, FSIM_IN_OUTSIDE_CHAIN}, true);
    return true;
}
