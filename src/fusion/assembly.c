/* SPDX-License-Identifier: Apache-2.0 */
#include "fusion/assembly.h"

#include <math.h>
#include <stdlib.h>

static bool same(const fsim_map *x, const fsim_map *y) { return x == y || (x && y && fsim_map_equal(x, y)); }

bool fsim_scope_equal(const fsim_scope *x, const fsim_scope *y)
{
    return same(x->place, y->place) && same(x->any, y->any) && x->once_a_row == y->once_a_row &&
           x->repeats == y->repeats;
}

static const fsim_map *keep(fsim_arena *a, const fsim_map *m)
{
    fsim_map *own = fsim_new(a, fsim_map, 1);
    *own = *m;
    return own;
}

/* One map with the digits of both: those of `any` as points, those of m as reduced points. Composing with another
 * map then keeps the two apart. */
static bool join(const fsim_map *any, const fsim_map *m, fsim_map *out)
{
    *out = (fsim_map){.offset = m->offset};
    for (int i = 0; i < any->modes; i++)
        fsim_map_push(out, any->mode[i].extent, any->mode[i].stride);
    out->split = out->modes;
    for (int i = 0; i < m->modes; i++)
        fsim_map_push(out, m->mode[i].extent, m->mode[i].stride);
    return out->modes <= FSIM_MAX_MODES;
}

/* The inverse of join: the reduced digits of `both` become a map again, of which the innermost `reduced` points
 * are a row. */
static bool part(const fsim_map *both, int64_t reduced, fsim_map *any, fsim_map *m)
{
    int64_t inside = 1;
    int i = both->modes;
    *any = (fsim_map){0};
    *m = (fsim_map){.offset = both->offset};
    for (int k = 0; k < both->split; k++)
        if (both->mode[k].stride != 0)
            fsim_map_push(any, both->mode[k].extent, both->mode[k].stride);
    any->split = any->modes;
    while (i > both->split && inside * both->mode[i - 1].extent <= reduced)
        inside *= both->mode[--i].extent;
    for (int k = both->split; k < i; k++) {
        const fsim_mode d = both->mode[k];
        const int64_t below =
            k == i - 1 && inside < reduced ? reduced / inside : 1; /* the end of the row falls inside this digit */
        if (reduced % inside != 0 || d.extent % below != 0)
            return false;
        fsim_map_push(m, d.extent / below, d.stride * below);
        m->split = m->modes;
        fsim_map_push(m, below, d.stride);
    }
    for (int k = i; k < both->modes; k++)
        fsim_map_push(m, both->mode[k].extent, both->mode[k].stride);
    return m->modes <= FSIM_MAX_MODES && fsim_map_reduced(m) == reduced;
}

static fsim_piece_answer composed(const fsim_map *m, const fsim_map *by, fsim_scope *scope, fsim_arena *a,
                                  fsim_map *out)
{
    fsim_map both, any;
    if (!scope->any)
        return fsim_map_compose(m, by, out) ? FSIM_PIECE_SOME : FSIM_PIECE_UNKNOWN;
    if (!join(scope->any, m, &both) || !fsim_map_compose(&both, by, &both) ||
        !part(&both, fsim_map_reduced(m), &any, out))
        return FSIM_PIECE_UNKNOWN;
    scope->any = any.modes > 0 ? keep(a, &any) : NULL;
    scope->once_a_row = scope->once_a_row && scope->any;
    return FSIM_PIECE_SOME;
}

static bool once_a_row(const fsim_map *m, int64_t reduced)
{
    for (int i = m->split; i < m->modes; i++)
        if (m->mode[i].stride != 0)
            return false;
    return reduced > 1;
}

fsim_piece_answer fsim_demand_through(const fsim_access *x, const fsim_demand *result, int64_t reduced, fsim_arena *a,
                                      fsim_demand *out)
{
    const fsim_map *m = &result->map;
    const fsim_scope *scope = &result->scope;
    out->scope = *scope;
    switch (x->how) {
    case FSIM_READ_MAP:
        return composed(m, &x->map, &out->scope, a, &out->map);
    case FSIM_READ_PIECE: {
        fsim_map place = scope->place ? *scope->place : fsim_place_of(m);
        out->map = *m;
        if (scope->any)
            return FSIM_PIECE_UNKNOWN;
        const fsim_piece_answer answer = fsim_piece_cut(&out->map, &place, x->cut, x->cuts);
        out->map.offset += x->map.offset;
        out->scope.place = keep(a, &place);
        return answer;
    }
    case FSIM_READ_INDIRECT: {
        fsim_map any = {0};
        if (scope->any)
            return FSIM_PIECE_UNKNOWN;
        fsim_map_push(&any, x->any.extent, x->any.stride);
        any.split = any.modes;
        if (any.modes > 0) {
            out->scope.any = keep(a, &any);
            out->scope.once_a_row = once_a_row(m, reduced);
        }
        return fsim_map_compose(m, &x->map, &out->map) ? FSIM_PIECE_SOME : FSIM_PIECE_UNKNOWN;
    }
    case FSIM_READ_ONCE:
    case FSIM_READ_WINDOW:
        break;
    }
    return FSIM_PIECE_UNKNOWN;
}

/* Pairs of an output and a tap whose element lies inside the axis and not in its padding. */
static double taps_inside(const fsim_axis *x)
{
    double pairs = 0;
    for (int64_t k = 0; k < x->taps; k++) {
        const int64_t at = k * x->dilation - x->pad; /* element of output 0 */
        const int64_t first = at >= 0 ? 0 : (-at + x->stride - 1) / x->stride;
        const int64_t last = x->extent - 1 - at < 0 ? -1 : (x->extent - 1 - at) / x->stride;
        const int64_t end = last < x->out - 1 ? last : x->out - 1;
        pairs += end >= first ? (double)(end - first + 1) : 0;
    }
    return pairs;
}

void fsim_scope_of_window(const fsim_access *x, fsim_map *out, fsim_scope *scope)
{
    int64_t inner[3], stride = 1;
    double computed = (double)x->planes;
    for (int i = x->axes; i-- > 0; stride *= x->axis[i].extent)
        inner[i] = stride;
    *out = (fsim_map){.offset = x->map.offset};
    fsim_map_push(out, x->planes, stride);
    for (int i = 0; i < x->axes; i++) {
        const fsim_axis *a = &x->axis[i];
        const int64_t span = (a->taps - 1) * a->dilation + 1, reach = (a->out - 1) * a->stride + span - a->pad;
        if (a->pad == 0 && a->stride > span) { /* gaps between the windows */
            fsim_map_push(out, a->out, a->stride * inner[i]);
            fsim_map_push(out, a->taps, a->dilation * inner[i]);
        } else {
            fsim_map_push(out, reach < a->extent ? reach : a->extent, inner[i]);
        }
        computed *= taps_inside(a);
    }
    out->split = out->modes;
    *scope = (fsim_scope){.repeats = computed / (double)fsim_map_points(out), .window = x};
}

fsim_access fsim_indirect_access(const fsim_graph *g, int tensor, const fsim_map *m, const fsim_scope *scope)
{
    fsim_map known = *m, both;
    bool exact;
    if (scope->once_a_row)
        known.modes = known.split;
    known.split = known.modes;
    known = fsim_map_simplify(known);
    const int64_t points = fsim_map_points(&known), elems = g->tensor[tensor].elems;
    fsim_access x = {.tensor = tensor, .how = FSIM_READ_INDIRECT, .run = 1, .any = scope->any->mode[0]};
    if (known.modes > 0 && known.mode[known.modes - 1].stride == 1)
        x.run = known.mode[known.modes - 1].extent;
    x.rows = points / x.run;
    const int64_t reach = join(scope->any, &known, &both) ? fsim_map_distinct(&both, &exact) : elems;
    x.distinct = points < reach ? points : reach;
    return x;
}

double fsim_window_halo(const fsim_access *x, int block)
{
    double halo = 1, inside = 1; /* outputs of a block along the inner axes */
    for (int i = x->axes; i-- > 0;) {
        const fsim_axis *a = &x->axis[i];
        const double span = (double)((a->taps - 1) * a->dilation + 1), step = (double)a->stride;
        const double together =
            fmin((double)a->out, fmax(1, floor(block / inside))); /* outputs of a block along this axis */
        const fsim_axis block_axis = {.extent = (int64_t)((together - 1) * step + span),
                                      .out = (int64_t)together,
                                      .taps = a->taps,
                                      .stride = a->stride,
                                      .dilation = a->dilation};
        halo *= span > step ? fmax(1, (double)fsim_axis_touched(&block_axis) / (together * step)) : 1;
        inside *= (double)a->out;
    }
    return halo;
}
