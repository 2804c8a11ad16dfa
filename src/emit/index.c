/* SPDX-License-Identifier: Apache-2.0 */
/* index.c: index maps as expressions of variables in the text. */
#include "emit/emit.h"

#include <stdlib.h>
#include <string.h>

int fsim_add_base(fsim_emitter *e, fsim_base b)
{
    *FSIM_PUSH(e->a, e->base, e->bases, e->base_room) = b;
    return e->bases - 1;
}

fsim_where fsim_where_var(fsim_emitter *e, const char *name, int64_t elems)
{
    const fsim_base b = {.outer = name, .inner_extent = 1, .outer_depth = e->depth};
    return (fsim_where){fsim_add_base(e, b), fsim_identity(elems)};
}

/* Digits, outermost first. */
typedef struct {
    int count;
    fsim_mode at[FSIM_MAX_MODES + 1];
} digits;

static const char *plus(fsim_emitter *e, const char *x, const char *y)
{
    return *x == 0 ? y : *y == 0 ? x : fsim_printf(e->a, "%s + %s", x, y);
}

/* The sum of digit x stride, for the digits of variable var; "" where all strides are 0. */
static const char *terms(fsim_emitter *e, const digits *d, const char *var)
{
    const char *sum = "";
    int64_t place = 1;
    bool outermost = true;
    for (int i = 0; i < d->count; i++)
        place *= d->at[i].extent;
    for (int i = 0; i < d->count; i++) {
        const fsim_mode m = d->at[i];
        place /= m.extent;
        if (m.extent == 1)
            continue;
        const bool first = outermost;
        outermost = false;
        if (m.stride == 0)
            continue;
        const char *digit = place > 1 ? fsim_printf(e->a, "%s / %lldu", var, (long long)place)
                                      : var; /* numbers are not negative, and unsigned division is cheaper */
        if (!first)
            digit = fsim_printf(e->a, "%s %% %lldu", digit, (long long)m.extent);
        const bool bare = place == 1 && first;
        const long long stride = llabs(m.stride);
        const char *term = stride == 1 ? digit
                           : bare      ? fsim_printf(e->a, "%s * %lld", digit, stride)
                                       : fsim_printf(e->a, "(%s) * %lld", digit, stride);
        if (m.stride < 0)
            sum = fsim_printf(e->a, "%s - %s", *sum ? sum : "0",
                              stride == 1 && !bare ? fsim_printf(e->a, "(%s)", term) : term);
        else
            sum = plus(e, sum, term);
    }
    return sum;
}

/* Splits the points' digits into the innermost ones, which number `inner` points, and the others. False where no
 * digit ends there. */
static bool cut(const fsim_map *m, int64_t inner, digits *outside, digits *within)
{
    int i = m->split;
    fsim_mode half = {1, 0};
    *outside = *within = (digits){0};
    while (i > 0 && inner > 1) {
        const fsim_mode d = m->mode[--i];
        const int64_t take = d.extent < inner ? d.extent : inner;
        if (d.extent % take != 0 || inner % take != 0)
            return false;
        memmove(within->at + 1, within->at, (size_t)within->count++ * sizeof *within->at);
        within->at[0] = (fsim_mode){take, d.stride};
        half = (fsim_mode){d.extent / take, d.stride * take};
        inner /= take;
    }
    for (int k = 0; k < i; k++)
        outside->at[outside->count++] = m->mode[k];
    if (half.extent > 1)
        outside->at[outside->count++] = half;
    return inner == 1;
}

static digits digits_of(const fsim_map *m, int from, int to)
{
    digits d = {.count = to - from};
    memcpy(d.at, m->mode + from, (size_t)d.count * sizeof *d.at);
    return d;
}

static bool is_strided(const digits *d)
{
    bool any = false;
    for (int i = 0; i < d->count; i++)
        any = any || (d->at[i].stride != 0 && d->at[i].extent > 1);
    return any;
}

/* A variable in the head for an expression that is the same for all lanes. */
static const char *hoist(fsim_emitter *e, const char *text)
{
    for (int i = 0; i < e->hoists; i += 2)
        if (strcmp(e->hoisted[i], text) == 0)
            return e->hoisted[i + 1];
    const char *name = fsim_fresh(e, "o");
    fsim_say(e, 0, "const fs_int %s = %s;", name, text);
    *FSIM_PUSH(e->a, e->hoisted, e->hoists, e->hoist_room) = text;
    *FSIM_PUSH(e->a, e->hoisted, e->hoists, e->hoist_room) = name;
    return name;
}

static int deeper(int x, int y) { return x > y ? x : y; }

fsim_variable fsim_number(fsim_emitter *e, const fsim_where *w)
{
    const fsim_base b = e->base[w->base];
    const fsim_map *m = &w->map;
    digits outside, within = {0}, reduced = digits_of(m, m->split, m->modes);
    fsim_variable out = {"", 0};
    const char *lanes = "";
    if (b.inner && !cut(m, b.inner_extent, &outside,
                        &within)) { /* a digit spans both variables: use the index that combines them */
        const digits all = digits_of(m, 0, m->split);
        lanes = terms(e, &all, fsim_printf(e->a, "(%s * %lld + %s)", b.outer, (long long)b.inner_extent, b.inner));
        out.depth = is_strided(&all) ? deeper(b.inner_depth, b.outer_depth) : 0;
        outside.count = within.count = 0;
    }
    if (!b.inner)
        outside = digits_of(m, 0, m->split);
    if (is_strided(&outside))
        out.depth = deeper(out.depth, b.outer_depth);
    if (is_strided(&within)) {
        lanes = terms(e, &within, b.inner);
        out.depth = deeper(out.depth, b.inner_depth);
    }
    if (is_strided(&reduced)) {
        lanes = plus(e, lanes, terms(e, &reduced, b.reduced));
        out.depth = deeper(out.depth, b.reduced_depth);
    }
    const char *fixed = is_strided(&outside) ? terms(e, &outside, b.outer) : "";
    if (m->offset > 0)
        fixed = plus(e, fixed, fsim_printf(e->a, "%lld", (long long)m->offset));
    if (m->offset < 0)
        fixed = fsim_printf(e->a, "%s - %lld", *fixed ? fixed : "0", -(long long)m->offset);
    if (is_strided(&outside) && b.outer_depth == 0 && strchr(fixed, ' '))
        fixed = hoist(e, fixed);
    out.name = plus(e, fixed, lanes);
    out.name = *out.name ? out.name : "0";
    return out;
}

fsim_where fsim_through(fsim_emitter *e, const fsim_where *w, const fsim_map *f)
{
    fsim_where out = {.base = w->base};
    if (f->split == f->modes && fsim_map_compose(&w->map, f, &out.map))
        return out;
    const fsim_variable at = fsim_number(e, w); /* the digits do not line up: compute them from the index */
    const char *name = fsim_fresh(e, "e");
    fsim_say(e, at.depth == 0 ? 0 : e->depth, "const fs_int %s = %s;", name, at.name);
    const int depth = e->depth;
    e->depth = at.depth == 0 ? 0 : depth;
    out = fsim_where_var(e, name, fsim_map_points(f));
    e->depth = depth;
    out.map = *f;
    return out;
}
