/* SPDX-License-Identifier: Apache-2.0 */
/* direct_back.c: gradients of pooling, and fold: a thread gathers what its element gets from the windows that hold it.
 */
#include "emit/emit.h"

#include <math.h>

/* A window's taps along one axis, in the pooling's own order. */
static const char *tap_of(fsim_emitter *e, const fsim_axis *a, const char *at, const char *window)
{
    const char *tap = fsim_fresh(e, "k");
    fsim_say(e, e->depth, "const fs_int %s = %s + %lld - %s * %lld;", tap, at, (long long)a->pad, window,
             (long long)a->stride);
    return tap;
}

/* Opens a loop over the windows along one axis that hold element `at`; `window` is its variable. Returns how many
 * blocks are open. *tap: NULL, or else it becomes the element's place in the window. */
static int window_loop(fsim_emitter *e, const fsim_axis *a, const char *at, const char *window, const char **tap)
{
    const char *from = fsim_fresh(e, "i"), *end = fsim_fresh(e, "i");
    const long long span = (long long)(a->taps - 1) * a->dilation, s = (long long)a->stride;
    if (s == 0) { /* window o holds floor(o extent / out) to ceil((o + 1) extent / out) */
        fsim_say(e, e->depth, "const fs_int %s = %s * %lld / %lld, %s = ((%s + 1) * %lld - 1) / %lld;", from, at,
                 (long long)a->out, (long long)a->extent, end, at, (long long)a->out, (long long)a->extent);
        fsim_open(e, "for (fs_int %s = %s; %s <= %s; %s++) {", window, from, window, end, window);
        *tap = "0";
        return 1;
    }
    fsim_say(e, e->depth, "const fs_int %s = %s > %lld ? (%s - %lld) / %lld : 0, %s = (%s + %lld) / %lld;", from, at,
             span - (long long)a->pad, at, span - (long long)a->pad - (s - 1), s, end, at, (long long)a->pad, s);
    fsim_open(e, "for (fs_int %s = %s; %s <= %s && %s < %lld; %s++) {", window, from, window, end, window,
              (long long)a->out, window);
    if (a->dilation == 1 && !*tap)
        return 1;
    *tap = tap_of(e, a, at, window);
    if (a->dilation == 1)
        return 1;
    fsim_open(e, "if (%s %% %lld == 0) {", *tap, (long long)a->dilation);
    *tap = fsim_printf(e->a, "%s / %lld", *tap, (long long)a->dilation);
    return 2;
}

/* The first element of a window along an axis, in front of the tensor where it is padded, and the end behind the last.
 */
static void bounds_of(fsim_emitter *e, const fsim_axis *a, const char *window, const char **from, const char **end)
{
    *from = fsim_fresh(e, "i");
    *end = fsim_fresh(e, "i");
    if (a->stride == 0)
        fsim_say(e, e->depth, "const fs_int %s = %s * %lld / %lld, %s = ((%s + 1) * %lld + %lld) / %lld;", *from,
                 window, (long long)a->extent, (long long)a->out, *end, window, (long long)a->extent,
                 (long long)(a->out - 1), (long long)a->out);
    else
        fsim_say(e, e->depth, "const fs_int %s = %s * %lld - %lld, %s = %s + %lld;", *from, window,
                 (long long)a->stride, (long long)a->pad, *end, *from, (long long)((a->taps - 1) * a->dilation + 1));
}

/* Opens loops over the elements of the window with these numbers along the axes, in order; `inside` are their
 * coordinates. while_: a condition beside, or "". Returns how many blocks are open. */
static int element_loops(fsim_emitter *e, const fsim_access *x, const char *const *window, const char *while_,
                         const char **inside)
{
    const char *from[3], *end[3];
    for (int i = 0; i < x->axes; i++)
        bounds_of(e, &x->axis[i], window[i], &from[i], &end[i]);
    for (int i = 0; i < x->axes; i++) {
        const fsim_axis *a = &x->axis[i];
        const long long step = (long long)a->dilation;
        inside[i] = fsim_fresh(e, "i");
        const char *first = a->pad > 0 && step == 1 ? fsim_printf(e->a, "%s > 0 ? %s : 0", from[i], from[i]) : from[i];
        fsim_open(e, "for (fs_int %s = %s; %s < %s && %s < %lld%s; %s += %lld) {", inside[i], first, inside[i], end[i],
                  inside[i], (long long)a->extent, while_, inside[i], step);
        if (a->pad > 0 && step > 1)
            fsim_open(e, "if (%s >= 0) {", inside[i]);
    }
    int opened = 0;
    for (int i = 0; i < x->axes; i++)
        opened += 1 + (x->axis[i].pad > 0 && x->axis[i].dilation > 1);
    return opened;
}

static void close_all(fsim_emitter *e, int opened)
{
    while (opened-- > 0)
        fsim_close(e);
}

/* A result being gathered: the variable it goes to, its C type; its plane, and the window that is being asked. */
typedef struct {
    fsim_emitter *e;
    const fsim_node *n;
    const char *acc;
    fsim_ctype t;
    const char *plane, *window[3];
} gathering;

/* Is the element the first of its window that equals the window's maximum? Adds the window's gradient then. */
static void take_if_first(const gathering *w, const char *element, const char *own)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = w->n;
    const char *plane = w->plane, *const *window = w->window;
    const fsim_ctype t = w->t;
    const fsim_access *x = &n->arg[0];
    int64_t in[3], out[3];
    const char *inside[3], *first = fsim_fresh(e, "f");
    for (int i = 0; i < x->axes; i++) {
        in[i] = x->axis[i].extent;
        out[i] = x->axis[i].out;
    }
    const fsim_where there = fsim_direct_inside(e, &n->arg[1], plane, window, out);
    const char *most = fsim_direct_factor(e, &n->arg[1], &there, t);
    fsim_open(e, "if (%s == %s) {", own, most);
    fsim_say(e, e->depth, "fs_int %s = -1;", first);
    const int opened = element_loops(e, x, window, fsim_printf(e->a, " && %s < 0", first), inside);
    const fsim_where other = fsim_direct_inside(e, x, plane, inside, in);
    const char *value = fsim_direct_factor(e, x, &other, t), *number = plane;
    for (int i = 0; i < x->axes; i++)
        number = fsim_printf(e->a, "(%s) * %lld + %s", number, (long long)in[i], inside[i]);
    fsim_say(e, e->depth, "if (%s == %s) %s = %s;", value, most, first, number);
    close_all(e, opened);
    fsim_open(e, "if (%s == %s) {", first, element);
    const fsim_where from = fsim_direct_inside(e, &n->arg[2], plane, window, out);
    fsim_say(e, e->depth, "%s += %s;", w->acc, fsim_direct_factor(e, &n->arg[2], &from, t));
    fsim_close(e);
    fsim_close(e);
}

/* The gradient of a mean: each of its elements gets the window's gradient over the number of elements. */
static void take_mean(const gathering *w)
{
    fsim_emitter *e = w->e;
    const fsim_access *x = &w->n->arg[0];
    int64_t out[3];
    const char *count = "1", *from, *end;
    for (int i = 0; i < x->axes; i++) {
        out[i] = x->axis[i].out;
        if (x->axis[i].stride == 0) {
            bounds_of(e, &x->axis[i], w->window[i], &from, &end);
            count = fsim_printf(e->a, "%s * (%s - %s)", count, end, from);
        }
    }
    const fsim_where there = fsim_direct_inside(e, x, w->plane, w->window, out);
    const char *g = fsim_direct_factor(e, x, &there, w->t);
    fsim_say(e, e->depth, x->axis[0].stride == 0 ? "%s += %s / (%s)(%s);" : "%s += %s;", w->acc, g,
             fsim_ctype_names[w->t], count);
}

/* The row of a column of patches that has this tap. */
static void take_patch(const gathering *w, const char *const *tap)
{
    fsim_emitter *e = w->e;
    const fsim_access *x = &w->n->arg[0];
    int64_t out[3];
    const char *plane = w->plane;
    for (int i = 0; i < x->axes; i++) {
        plane = fsim_printf(e->a, "(%s) * %lld + %s", plane, (long long)x->axis[i].taps, tap[i]);
        out[i] = x->axis[i].out;
    }
    const fsim_where there = fsim_direct_inside(e, x, plane, w->window, out);
    fsim_say(e, e->depth, "%s += %s;", w->acc, fsim_direct_factor(e, x, &there, w->t));
}

/* v at the first maximum of the window. */
static void picked(const gathering *w)
{
    fsim_emitter *e = w->e;
    const fsim_node *n = w->n;
    const char *plane = w->plane;
    const fsim_access *x = &n->arg[0];
    const fsim_ctype of = fsim_ctype_of(e->g->tensor[x->tensor].dtype);
    int64_t in[3];
    const char *inside[3], *most = fsim_fresh(e, "m"), *any = fsim_fresh(e, "f");
    for (int i = 0; i < x->axes; i++)
        in[i] = x->axis[i].extent;
    fsim_say(e, e->depth, "%s %s = %s; fs_int %s = 0;", fsim_ctype_names[of], most,
             of <= FSIM_C_DOUBLE ? fsim_literal(e, -INFINITY, of)
                                 : fsim_printf(e->a, "-FS_MOST%s", fsim_ctype_suffix[of]),
             any);
    const int opened = element_loops(e, x, w->window, "", inside);
    const fsim_where at = fsim_direct_inside(e, x, plane, inside, in);
    const char *value = fsim_direct_factor(e, x, &at, of);
    fsim_open(e, "if (!%s || %s > %s) {", any, value, most);
    const fsim_where there = fsim_direct_inside(e, &n->arg[1], plane, inside, in);
    fsim_say(e, e->depth, "%s = %s; %s = 1; %s = %s;", most, value, any, w->acc,
             fsim_direct_factor(e, &n->arg[1], &there, w->t));
    fsim_close(e);
    close_all(e, opened);
}

void fsim_direct_back(fsim_emitter *e, const fsim_node *n, const fsim_where *w, const char *acc, fsim_ctype t)
{
    const fsim_access *x = &n->arg[0];
    const bool pick = n->op == FSIM_OP_MAX_POOL_PICK;
    int64_t own[3];
    double taps = 1;
    const char *at[3], *tap[3], *element = fsim_direct_number(e, w), *value = NULL;
    gathering g = {.e = e, .n = n, .acc = acc, .t = t};
    for (int i = 0; i < x->axes; i++) {
        own[i] = pick ? x->axis[i].out : x->axis[i].extent;
        taps *= (double)x->axis[i].taps;
        g.window[i] = pick ? NULL : fsim_fresh(e, "o");
        tap[i] = n->op == FSIM_OP_FOLD ? "" : NULL;
    }
    g.plane = fsim_direct_coordinates(e, element, own, x->axes, at);
    if (pick) {
        for (int i = 0; i < x->axes; i++)
            g.window[i] = at[i];
        picked(&g);
        return;
    }
    if (n->op == FSIM_OP_MAX_POOL_GRAD) {
        const fsim_where here = fsim_direct_inside(e, x, g.plane, at, own);
        value = fsim_direct_factor(e, x, &here, t);
    }
    int opened = 0;
    for (int i = 0; i < x->axes; i++)
        opened += window_loop(e, &x->axis[i], at[i], g.window[i], &tap[i]);
    if (n->op == FSIM_OP_MAX_POOL_GRAD)
        take_if_first(&g, element, value);
    else if (n->op == FSIM_OP_FOLD)
        take_patch(&g, tap);
    else
        take_mean(&g);
    close_all(e, opened);
    if (n->op == FSIM_OP_AVG_POOL_GRAD && x->axis[0].stride > 0)
        fsim_say(e, e->depth, "%s *= %s;", acc, fsim_literal(e, 1 / taps, t));
}
