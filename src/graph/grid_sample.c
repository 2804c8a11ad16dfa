/* SPDX-License-Identifier: Apache-2.0 */
/* grid_sample.c: torch.nn.functional.grid_sample between neighbours: an image at places that data say. It costs what
 * its steps do: numbers for each place, which all channels share, and for each element of the result a gather for each
 * neighbour, with the bytes of any gather. Places outside take the nearest element of the image (padding_mode border);
 * zeros there cost a few instructions more for each place. */
#include "graph/steps.h"

enum { MOST_AXES = 3 };

/* An axis of the image: how many elements it has, how far its neighbours are apart in memory, and of each place the
 * lower neighbour, and how much the lower and the upper one count. */
typedef struct {
    int64_t length, stride;
    int low, weight[2];
} axis;

static int clamped(fsim_call *c, const char *name, int x, double most)
{
    fsim_step step;
    if (x < 0)
        return -1;
    fsim_step_start(&step, c, FSIM_OP_CLAMP, name);
    fsim_set_attr(&step.call, FSIM_ATTR_MIN, 0);
    fsim_set_attr(&step.call, FSIM_ATTR_MAX, most);
    return fsim_step_end(&step, 1, &x);
}

static const char *along(const fsim_call *c, const char *name, int which)
{
    static const char *const letter[MOST_AXES] = {"x", "y", "z"};
    return fsim_printf(c->build->arena, "%s_%s", name, letter[which]);
}

/* Coordinate `which` of all places, [N, places]: -1 to 1 from the outer edge of the first element to that of the last.
 */
static int coordinate(fsim_call *c, int which, const fsim_shape *places)
{
    fsim_step step;
    const int last = fsim_arg(c, 1)->shape.rank - 1;
    fsim_step_start(&step, c, FSIM_OP_SLICE, along(c, "of", which));
    step.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {last}};
    step.call.list[FSIM_ATTR_START] = (fsim_list){.present = true, .count = 1, .at = {which}};
    step.call.list[FSIM_ATTR_END] = (fsim_list){.present = true, .count = 1, .at = {which + 1}};
    return view(c, along(c, "at", which), fsim_step_end(&step, 1, &c->arg[1]), places);
}

static bool look_along(fsim_call *c, int which, const fsim_shape *places, axis *a)
{
    const double length = (double)a->length;
    int p = coordinate(c, which, places);
    p = scalar(c, FSIM_OP_MUL, along(c, "wide", which), p, length / 2);
    p = scalar(c, FSIM_OP_ADD, along(c, "moved", which), p, (length - 1) / 2);
    p = clamped(c, along(c, "inside", which), p, length - 1);
    const int whole = p < 0 ? -1 : unary(c, FSIM_OP_FLOOR, along(c, "whole", which), p);
    a->low = clamped(c, along(c, "low", which), whole, length > 1 ? length - 2 : 0);
    a->weight[1] = a->low < 0 ? -1 : binary(c, FSIM_OP_SUB, along(c, "upper", which), p, a->low);
    const int less = a->weight[1] < 0 ? -1 : scalar(c, FSIM_OP_MUL, along(c, "less", which), a->weight[1], -1);
    a->weight[0] = less < 0 ? -1 : scalar(c, FSIM_OP_ADD, along(c, "lower", which), less, 1);
    return a->weight[0] >= 0;
}

/* The lowest neighbour of each place, as a number of an element of a channel. */
static int lowest(fsim_call *c, int axes, const axis *a)
{
    int at = a[axes - 1].low;
    fsim_step step;
    for (int i = axes - 2; i >= 0 && at >= 0; i--) {
        at = scalar(c, FSIM_OP_MUL, along(c, "row", i), at, (double)a[i].length);
        at = at < 0 ? -1 : binary(c, FSIM_OP_ADD, along(c, "place", i), at, a[i].low);
    }
    fsim_step_start(&step, c, FSIM_OP_CAST, "index");
    step.call.attrs.dtype = FSIM_I64;
    return fsim_step_end(&step, 1, &at);
}

/* A neighbour of each place in all channels, times what it counts: [N, C, places]. corner: bit i: the upper one along
 * axis i. */
static int neighbour(fsim_call *c, int corner, int axes, const axis *a, const int source[2], const fsim_shape *made)
{
    fsim_arena *arena = c->build->arena;
    const fsim_shape one = {.rank = 3, .dim = {made->dim[0], 1, made->dim[2]}};
    int64_t further = 0;
    int weight = -1;
    for (int i = 0; i < axes; i++) {
        const int own = a[i].weight[corner >> i & 1];
        further += corner >> i & 1 ? a[i].stride : 0;
        weight = i == 0 ? own : binary(c, FSIM_OP_MUL, fsim_printf(arena, "weight%d_%d", corner, i), weight, own);
        if (weight < 0)
            return -1;
    }
    int at = source[1];
    if (further > 0)
        at = scalar(c, FSIM_OP_ADD, fsim_printf(arena, "index%d", corner), at, (double)further);
    at = view(c, fsim_printf(arena, "line%d", corner), at, &one);
    fsim_step wide, gather;
    fsim_step_start(&wide, c, FSIM_OP_EXPAND, fsim_printf(arena, "all%d", corner));
    wide.call.list[FSIM_ATTR_SHAPE] =
        (fsim_list){.present = true, .count = 3, .at = {made->dim[0], made->dim[1], made->dim[2]}};
    at = fsim_step_end(&wide, 1, &at);
    fsim_step_start(&gather, c, FSIM_OP_GATHER, fsim_printf(arena, "neighbour%d", corner));
    gather.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {2}};
    const int found = fsim_step_end(&gather, 2, (int[2]){source[0], at});
    weight = view(c, fsim_printf(arena, "weight%d", corner), weight, &one);
    return found < 0 || weight < 0 ? -1 : like_x(c, FSIM_OP_MUL, fsim_printf(arena, "part%d", corner), found, weight);
}

bool fsim_rule_grid_sample(fsim_call *c)
{
    const fsim_shape x = fsim_arg(c, 0)->shape, g = fsim_arg(c, 1)->shape;
    const int axes = x.rank - 2;
    axis a[MOST_AXES];
    if (axes < 2 || axes > MOST_AXES || g.rank != x.rank || g.dim[0] != x.dim[0] || g.dim[g.rank - 1] != axes)
        return fsim_refuse(c,
                           "wants x[N, C, H, W] and grid[N, h, w, 2], or x[N, C, D, H, W] and grid[N, d, h, w, 3]; "
                           "found %s and %s",
                           fsim_shape_text(c->build->arena, &x), fsim_shape_text(c->build->arena, &g));
    if (!fsim_dtype_floating(fsim_arg(c, 1)->dtype))
        return fsim_refuse(c, "the grid '%s' is %s; wants numbers with a fraction", fsim_arg(c, 1)->name,
                           fsim_dtype_names[fsim_arg(c, 1)->dtype]);
    fsim_shape out = {.rank = x.rank, .dim = {x.dim[0], x.dim[1]}}, places = {.rank = 2, .dim = {x.dim[0], 1}},
               flat = {.rank = 3, .dim = {x.dim[0], x.dim[1], 1}};
    for (int d = 1; d < g.rank - 1; d++) {
        out.dim[1 + d] = g.dim[d];
        places.dim[1] *= g.dim[d];
    }
    for (int i = 0; i < axes; i++) { /* the last axis of the image is a grid's first */
        a[i] = (axis){.length = x.dim[x.rank - 1 - i], .stride = flat.dim[2]};
        flat.dim[2] *= a[i].length;
        if (!look_along(c, i, &places, &a[i]))
            return false;
    }
    const fsim_shape made = {.rank = 3, .dim = {x.dim[0], x.dim[1], places.dim[1]}};
    const int source[2] = {view(c, "image", c->arg[0], &flat), lowest(c, axes, a)};
    int sum = -1;
    for (int corner = 0; corner < 1 << axes && source[0] >= 0 && source[1] >= 0; corner++) {
        bool there = true;
        for (int i = 0; i < axes; i++)
            there = there && (!(corner >> i & 1) || a[i].length > 1);
        const int part = there ? neighbour(c, corner, axes, a, source, &made) : -1;
        if (there && part < 0)
            return false;
        if (there)
            sum = sum < 0 ? part : binary(c, FSIM_OP_ADD, fsim_printf(c->build->arena, "sum%d", corner), sum, part);
    }
    return finish(c, view(c, NULL, sum, &out));
}
