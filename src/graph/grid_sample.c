/* SPDX-License-Identifier: Apache-2.0 */
/* grid_sample.c: torch.nn.functional.grid_sample: an image at places that data say, between neighbours, at the nearest
 * element, or by cubic sums of four along an axis. It costs what its steps do: numbers for each place, which all
 * channels share, and for each element of the result a gather for each neighbour, with the bytes of any gather. Places
 * outside take the nearest element of the image (padding_mode border); zeros there cost a few instructions more for
 * each place.
 */
#include "graph/steps.h"

enum { MOST_AXES = 3, CUBIC_TAPS = 4 };

/* An axis of the image: how many elements it has, how far its neighbours are apart in memory, and of each place the
 * lower neighbour, and how much the lower and the upper one count; cubic: all four neighbours and what each counts. */
typedef struct {
    int64_t length, stride;
    int low, at[CUBIC_TAPS], weight[CUBIC_TAPS];
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

/* Where the places lie along an axis, in elements from its first one on. */
static int place_along(fsim_call *c, int which, const fsim_shape *places, double length)
{
    int p = coordinate(c, which, places);
    p = scalar(c, FSIM_OP_MUL, along(c, "wide", which), p, length / 2);
    return scalar(c, FSIM_OP_ADD, along(c, "moved", which), p, (length - 1) / 2);
}

static bool look_along(fsim_call *c, int which, const fsim_shape *places, axis *a)
{
    const double length = (double)a->length;
    const int p = clamped(c, along(c, "inside", which), place_along(c, which, places, length), length - 1);
    const int whole = p < 0 ? -1 : unary(c, FSIM_OP_FLOOR, along(c, "whole", which), p);
    a->low = clamped(c, along(c, "low", which), whole, length > 1 ? length - 2 : 0);
    a->weight[1] = a->low < 0 ? -1 : binary(c, FSIM_OP_SUB, along(c, "upper", which), p, a->low);
    const int less = a->weight[1] < 0 ? -1 : scalar(c, FSIM_OP_MUL, along(c, "less", which), a->weight[1], -1);
    a->weight[0] = less < 0 ? -1 : scalar(c, FSIM_OP_ADD, along(c, "lower", which), less, 1);
    return a->weight[0] >= 0;
}

/* An element of a channel by its places along the axes, as a number. name: of what it is. */
static int numbered(fsim_call *c, const char *name, int axes, const axis *a, const int *place)
{
    int at = place[axes - 1];
    fsim_step step;
    for (int i = axes - 2; i >= 0 && at >= 0; i--) {
        at = scalar(c, FSIM_OP_MUL, along(c, fsim_printf(c->build->arena, "row%s", name), i), at, (double)a[i].length);
        at = at < 0 ? -1
                    : binary(c, FSIM_OP_ADD, along(c, fsim_printf(c->build->arena, "place%s", name), i), at, place[i]);
    }
    fsim_step_start(&step, c, FSIM_OP_CAST, fsim_printf(c->build->arena, "index%s", name));
    step.call.attrs.dtype = FSIM_I64;
    return fsim_step_end(&step, 1, &at);
}

/* The lowest neighbour of each place. */
static int lowest(fsim_call *c, int axes, const axis *a)
{
    int low[MOST_AXES];
    for (int i = 0; i < axes; i++)
        low[i] = a[i].low;
    return numbered(c, "", axes, a, low);
}

/* The elements at[N, places] of all channels: [N, C, places]. */
static int gathered(fsim_call *c, int tap, int at, int image, const fsim_shape *made)
{
    fsim_arena *arena = c->build->arena;
    const fsim_shape one = {.rank = 3, .dim = {made->dim[0], 1, made->dim[2]}};
    fsim_step wide, gather;
    at = view(c, fsim_printf(arena, "line%d", tap), at, &one);
    fsim_step_start(&wide, c, FSIM_OP_EXPAND, fsim_printf(arena, "all%d", tap));
    wide.call.list[FSIM_ATTR_SHAPE] =
        (fsim_list){.present = true, .count = 3, .at = {made->dim[0], made->dim[1], made->dim[2]}};
    at = fsim_step_end(&wide, 1, &at);
    fsim_step_start(&gather, c, FSIM_OP_GATHER, fsim_printf(arena, "neighbour%d", tap));
    gather.call.list[FSIM_ATTR_DIMS] = (fsim_list){.present = true, .count = 1, .at = {2}};
    return fsim_step_end(&gather, 2, (int[2]){image, at});
}

/* Elements of all channels times what they count. */
static int weighted(fsim_call *c, int tap, int found, int weight, const fsim_shape *made)
{
    fsim_arena *arena = c->build->arena;
    const fsim_shape one = {.rank = 3, .dim = {made->dim[0], 1, made->dim[2]}};
    weight = view(c, fsim_printf(arena, "weight%d", tap), weight, &one);
    return found < 0 || weight < 0 ? -1 : like_x(c, FSIM_OP_MUL, fsim_printf(arena, "part%d", tap), found, weight);
}

/* A neighbour of each place in all channels, times what it counts: [N, C, places]. corner: bit i: the upper one along
 * axis i. */
static int neighbour(fsim_call *c, int corner, int axes, const axis *a, const int source[2], const fsim_shape *made)
{
    fsim_arena *arena = c->build->arena;
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
    return weighted(c, corner, gathered(c, corner, at, source[0], made), weight, made);
}

/* The nearest element of each place. */
static int nearest(fsim_call *c, int axes, const axis *a, int image, const fsim_shape shape[2])
{
    int place[MOST_AXES];
    for (int i = 0; i < axes; i++) {
        int p = place_along(c, i, &shape[0], (double)a[i].length);
        p = p < 0 ? -1 : unary(c, FSIM_OP_ROUND, along(c, "whole", i), p);
        place[i] = clamped(c, along(c, "inside", i), p, (double)(a[i].length - 1));
    }
    const int at = numbered(c, "", axes, a, place);
    return at < 0 ? -1 : gathered(c, 0, at, image, &shape[1]);
}

/* ((x d + e) x + f) x + g */
static int polynomial(fsim_call *c, const char *name, int x, const double by[4])
{
    int y = scalar(c, FSIM_OP_MUL, fsim_printf(c->build->arena, "%s_3", name), x, by[0]);
    for (int i = 1; i < 4 && y >= 0; i++) {
        if (by[i] != 0)
            y = scalar(c, FSIM_OP_ADD, fsim_printf(c->build->arena, "%s_%d", name, 6 + i), y, by[i]);
        if (i < 3 && y >= 0)
            y = binary(c, FSIM_OP_MUL, fsim_printf(c->build->arena, "%s_%d", name, 3 - i), y, x);
    }
    return y;
}

/* Four neighbours along an axis: t behind the second, 1 - t before the third. Their weights are Keys' cubic convolution
 * with A = -0.75, as PyTorch has it. */
static bool look_cubic(fsim_call *c, int which, const fsim_shape *places, axis *a)
{
    static const double A = -0.75;
    const double far[4] = {A, -5 * A, 8 * A, -4 * A}, near[4] = {A + 2, -(A + 3), 0, 1};
    fsim_arena *arena = c->build->arena;
    const int p = place_along(c, which, places, (double)a->length);
    const int whole = p < 0 ? -1 : unary(c, FSIM_OP_FLOOR, along(c, "whole", which), p);
    int away[CUBIC_TAPS]; /* how far the place is from each neighbour */
    away[1] = whole < 0 ? -1 : binary(c, FSIM_OP_SUB, along(c, "behind", which), p, whole);
    const int less = scalar(c, FSIM_OP_MUL, along(c, "less", which), away[1], -1);
    away[0] = scalar(c, FSIM_OP_ADD, along(c, "behind0", which), away[1], 1);
    away[2] = scalar(c, FSIM_OP_ADD, along(c, "before2", which), less, 1);
    away[3] = scalar(c, FSIM_OP_ADD, along(c, "before3", which), less, 2);
    for (int k = 0; k < CUBIC_TAPS; k++) {
        const int at =
            k == 1 ? whole : scalar(c, FSIM_OP_ADD, along(c, fsim_printf(arena, "next%d", k), which), whole, k - 1);
        a->at[k] = clamped(c, along(c, fsim_printf(arena, "tap%d", k), which), at, (double)(a->length - 1));
        if (a->at[k] < 0 || away[k] < 0)
            return false;
        a->weight[k] =
            polynomial(c, along(c, fsim_printf(arena, "count%d", k), which), away[k], k == 0 || k == 3 ? far : near);
    }
    return true;
}

/* Sums of 4 by 4 neighbours. */
static int cubic(fsim_call *c, axis *a, int image, const fsim_shape shape[2])
{
    fsim_arena *arena = c->build->arena;
    int sum = -1;
    for (int i = 0; i < 2; i++)
        if (!look_cubic(c, i, &shape[0], &a[i]))
            return -1;
    for (int tap = 0; tap < CUBIC_TAPS * CUBIC_TAPS; tap++) {
        const int i = tap % CUBIC_TAPS, j = tap / CUBIC_TAPS;
        const int at = numbered(c, fsim_printf(arena, "%d", tap), 2, a, (int[2]){a[0].at[i], a[1].at[j]});
        const int weight =
            binary(c, FSIM_OP_MUL, fsim_printf(arena, "weight%d_1", tap), a[0].weight[i], a[1].weight[j]);
        const int part =
            at < 0 || weight < 0 ? -1 : weighted(c, tap, gathered(c, tap, at, image, &shape[1]), weight, &shape[1]);
        if (part < 0)
            return -1;
        sum = tap == 0 ? part : binary(c, FSIM_OP_ADD, fsim_printf(arena, "sum%d", tap), sum, part);
    }
    return sum;
}

/* Sums of the two neighbours along each axis. */
static int linear(fsim_call *c, int axes, axis *a, int image, const fsim_shape shape[2])
{
    for (int i = 0; i < axes; i++)
        if (!look_along(c, i, &shape[0], &a[i]))
            return -1;
    const int source[2] = {image, lowest(c, axes, a)};
    int sum = -1;
    for (int corner = 0; corner < 1 << axes && source[1] >= 0; corner++) {
        bool there = true;
        for (int i = 0; i < axes; i++)
            there = there && (!(corner >> i & 1) || a[i].length > 1);
        const int part = there ? neighbour(c, corner, axes, a, source, &shape[1]) : -1;
        if (there && part < 0)
            return -1;
        if (there)
            sum = sum < 0 ? part : binary(c, FSIM_OP_ADD, fsim_printf(c->build->arena, "sum%d", corner), sum, part);
    }
    return sum;
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
    if (c->attrs.mode == FSIM_BICUBIC && axes != 2)
        return fsim_refuse(c, "'mode: bicubic' is for two spatial dimensions; found %d", axes);
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
    }
    const fsim_shape shape[2] = {places, {.rank = 3, .dim = {x.dim[0], x.dim[1], places.dim[1]}}};
    const int image = view(c, "image", c->arg[0], &flat);
    const int sum = image < 0                       ? -1
                    : c->attrs.mode == FSIM_NEAREST ? nearest(c, axes, a, image, shape)
                    : c->attrs.mode == FSIM_BICUBIC ? cubic(c, a, image, shape)
                                                    : linear(c, axes, a, image, shape);
    return sum >= 0 && finish(c, view(c, NULL, sum, &out));
}
