/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/map.h"
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { WALK_POINTS = 1 << 20, REQUEST_POINTS = 1 << 13, MAX_WARP = 64 };

fsim_map fsim_identity(int64_t points)
{
    fsim_map m = {0};
    fsim_map_push(&m, points, 1);
    m.split = m.modes;
    return m;
}

void fsim_map_push(fsim_map *m, int64_t extent, int64_t stride)
{
    if (extent == 1)
        return;
    if (m->modes < FSIM_MAX_MODES)
        m->mode[m->modes] = (fsim_mode){extent, stride};
    m->modes++;
}

/* Can no two digits of m be one, and is each needed? */
static bool is_canonical(const fsim_map *m)
{
    for (int i = 0; i < m->modes; i++) {
        const fsim_mode *in = &m->mode[i];
        if (in->extent == 1 || (i > 0 && i != m->split && m->mode[i - 1].stride == in->stride * in->extent))
            return false;
    }
    return true;
}

fsim_map fsim_map_simplify(fsim_map m)
{
    int modes = 0, split = 0;
    if (is_canonical(&m))
        return m;
    for (int side = 0; side < 2; side++) {
        const int from = side ? m.split : 0, to = side ? m.modes : m.split, base = modes;
        for (int i = from; i < to; i++) {
            const fsim_mode in = m.mode[i];
            fsim_mode *last = modes > base ? &m.mode[modes - 1] : NULL;
            if (in.extent == 1)
                continue;
            if (last && last->stride == in.stride * in.extent)
                *last = (fsim_mode){last->extent * in.extent, in.stride};
            else
                m.mode[modes++] = in;
        }
        split = side ? split : modes;
    }
    m.modes = modes;
    m.split = split;
    return m;
}

static bool same_digits(const fsim_map *x, const fsim_map *y)
{
    return x->modes == y->modes && x->split == y->split && x->offset == y->offset &&
           memcmp(x->mode, y->mode, (size_t)x->modes * sizeof x->mode[0]) == 0;
}

bool fsim_map_equal(const fsim_map *a, const fsim_map *b)
{
    if (a->offset != b->offset)
        return false;
    if (same_digits(a, b))
        return true;
    if (is_canonical(a) && is_canonical(b))
        return false;
    const fsim_map x = fsim_map_simplify(*a), y = fsim_map_simplify(*b);
    return same_digits(&x, &y);
}

static int64_t product(const fsim_map *m, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++)
        n *= m->mode[i].extent;
    return n;
}

int64_t fsim_map_points(const fsim_map *m) { return product(m, 0, m->split); }
int64_t fsim_map_reduced(const fsim_map *m) { return product(m, m->split, m->modes); }

int64_t fsim_map_at(const fsim_map *m, int64_t p, int64_t r)
{
    int64_t at = m->offset;
    for (int i = m->modes; i-- > 0;) {
        int64_t *index = i >= m->split ? &r : &p;
        at += *index % m->mode[i].extent * m->mode[i].stride;
        *index /= m->mode[i].extent;
    }
    return at;
}

/* Appends digit f, (extent, stride) over the points of g, to *out as digits over g's elements. top[j]: the largest
 * value that g's digit j has taken so far. While no digit of g can overflow there is no carry, and f applied to a
 * sum of g's digits is the sum of f applied to each. */
static bool compose_mode(fsim_mode f, const fsim_map *g, const int64_t *place, int64_t *top, fsim_map *out)
{
    const bool reversed = f.stride < 0;
    fsim_mode part[FSIM_MAX_MODES];
    int parts = 0;
    int64_t left = f.extent, stride = reversed ? -f.stride : f.stride;
    if (stride == 0) {
        fsim_map_push(out, f.extent, 0);
        return true;
    }
    while (left > 1) {
        int j = 0;
        while (j < g->modes && place[j] > stride)
            j++;
        if (j == g->modes || parts == FSIM_MAX_MODES || stride % place[j] != 0)
            return false;
        const int64_t step = stride / place[j], digits = g->mode[j].extent;
        int64_t count = left;
        if ((left - 1) * step + top[j] > digits - 1) {
            count = digits / step;
            if (count < 2 || digits % step != 0 || left % count != 0 || (count - 1) * step + top[j] > digits - 1)
                return false;
        }
        top[j] += (count - 1) * step;
        part[parts++] = (fsim_mode){count, step * g->mode[j].stride};
        left /= count;
        stride *= count;
    }
    while (parts-- > 0) {
        if (reversed)
            out->offset += part[parts].stride * (part[parts].extent - 1);
        fsim_map_push(out, part[parts].extent, reversed ? -part[parts].stride : part[parts].stride);
    }
    return true;
}

bool fsim_map_compose(const fsim_map *f, const fsim_map *g, fsim_map *out)
{
    if (fsim_map_is_identity(g) && fsim_map_points(g) > 0) {
        *out = *f;
        return true;
    }
    if (g->split == g->modes && fsim_map_is_identity(f) && fsim_map_points(f) == fsim_map_points(g) &&
        fsim_map_points(g) > 0 && is_canonical(g)) {
        *out = *g;
        return true;
    }
    int64_t place[FSIM_MAX_MODES], top[FSIM_MAX_MODES], lowest = f->offset, weight = 1;
    for (int i = 0; i < f->modes; i++)
        if (f->mode[i].stride < 0)
            lowest += f->mode[i].stride * (f->mode[i].extent - 1);
    for (int j = g->modes; j-- > 0; weight *= g->mode[j].extent)
        place[j] = weight;
    if (g->split != g->modes || lowest < 0 || lowest >= weight)
        return false;
    fsim_map composed = {.offset = g->offset};
    for (int j = 0; j < g->modes; j++) {
        top[j] = lowest / place[j] % g->mode[j].extent;
        composed.offset += top[j] * g->mode[j].stride;
    }
    for (int i = 0; i < f->modes; i++) {
        if (i == f->split)
            composed.split = composed.modes;
        if (!compose_mode(f->mode[i], g, place, top, &composed))
            return false;
    }
    if (f->split == f->modes)
        composed.split = composed.modes;
    if (composed.modes > FSIM_MAX_MODES)
        return false;
    *out = fsim_map_simplify(composed);
    return true;
}

/* The digits whose stride is not 0, longest stride first, strides made positive. *base is the lowest element.
 * Returns how many there are. */
static int strided_digits(const fsim_map *m, fsim_mode *out, int64_t *base)
{
    int n = 0;
    *base = m->offset;
    for (int i = 0; i < m->modes; i++) {
        fsim_mode d = m->mode[i];
        if (d.stride == 0 || d.extent == 1)
            continue;
        if (d.stride < 0) {
            *base += d.stride * (d.extent - 1);
            d.stride = -d.stride;
        }
        int at = n++;
        for (; at > 0 && out[at - 1].stride < d.stride; at--)
            out[at] = out[at - 1];
        out[at] = d;
    }
    return n;
}

/* Does each digit step over everything that the inner digits span? Then no element is reached by two combinations of
 * digits. */
static bool nested(const fsim_mode *d, int n)
{
    int64_t span = 1;
    for (int i = n; i-- > 0;) {
        if (d[i].stride < span)
            return false;
        span += d[i].stride * (d[i].extent - 1);
    }
    return true;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* What is counted: distinct values of element * elem_bytes / unit_bytes. Strides are positive. */
typedef struct {
    fsim_mode d[FSIM_MAX_MODES];
    int n, elem_bytes, unit_bytes;
    int64_t base;
} counted;

/* Sets *element and the digits to those of the next point; false behind the last one. */
static bool next_point(const counted *c, int64_t *digit, int64_t *element)
{
    for (int i = c->n; i-- > 0;) {
        *element += c->d[i].stride;
        if (++digit[i] < c->d[i].extent)
            return true;
        *element -= digit[i] * c->d[i].stride;
        digit[i] = 0;
    }
    return false;
}

/* One by one; the map has at most WALK_POINTS points. */
static int64_t count_distinct(const counted *c)
{
    int64_t points = 1, last = c->base, distinct = 0, digit[FSIM_MAX_MODES] = {0}, element = c->base, p = 0;
    for (int i = 0; i < c->n; i++) {
        points *= c->d[i].extent;
        last += c->d[i].stride * (c->d[i].extent - 1);
    }
    const int64_t first = c->base * c->elem_bytes / c->unit_bytes,
                  units = last * c->elem_bytes / c->unit_bytes - first + 1;
    const bool dense = units / 64 < points; /* a bit for each takes no more than a list */
    uint64_t *met = calloc((size_t)(dense ? units / 64 + 1 : points), sizeof *met);
    if (!met)
        fsim_out_of_memory();
    do {
        const int64_t unit = element * c->elem_bytes / c->unit_bytes - first;
        if (dense) {
            distinct += !(met[unit / 64] >> unit % 64 & 1);
            met[unit / 64] |= (uint64_t)1 << unit % 64;
        } else {
            ((int64_t *)met)[p++] = unit;
        }
    } while (next_point(c, digit, &element));
    if (!dense)
        qsort(met, (size_t)points, sizeof *met, by_value);
    for (int64_t i = 0; i < points && !dense; i++)
        distinct += i == 0 || met[i] != met[i - 1];
    free(met);
    return distinct;
}

/* The same with a memory: searches ask for the same few maps many times. */
static int64_t walk(const fsim_mode *d, int n, int64_t base, int elem_bytes, int unit_bytes)
{
    enum { REMEMBERED = 64 };
    static _Thread_local struct {
        counted what;
        int64_t distinct;
    } memory[REMEMBERED];
    counted c = {.n = n, .elem_bytes = elem_bytes, .unit_bytes = unit_bytes, .base = base};
    uint64_t h = (uint64_t)base * 31 + (uint64_t)elem_bytes * 7 + (uint64_t)unit_bytes;
    for (int i = 0; i < n; i++) {
        c.d[i] = d[i];
        h = (h ^ (uint64_t)d[i].extent * 0x9e3779b97f4a7c15u ^ (uint64_t)d[i].stride) * 0xbf58476d1ce4e5b9u;
    }
    const uint64_t at = (h ^ h >> 32) % REMEMBERED;
    const counted *known = &memory[at].what;
    bool same = known->n == n && known->elem_bytes == elem_bytes && known->unit_bytes == unit_bytes &&
                known->base == base && memory[at].distinct > 0;
    for (int i = 0; i < n && same; i++)
        same = known->d[i].extent == d[i].extent && known->d[i].stride == d[i].stride;
    if (!same) {
        memory[at].what = c;
        memory[at].distinct = count_distinct(&c);
    }
    return memory[at].distinct;
}

static bool walkable(const fsim_mode *d, int n)
{
    double points = 1;
    for (int i = 0; i < n; i++)
        points *= (double)d[i].extent;
    return points <= WALK_POINTS;
}

int64_t fsim_map_distinct(const fsim_map *m, bool *exact)
{
    fsim_mode d[FSIM_MAX_MODES];
    int64_t base, product_of = 1, span = 1;
    const int n = strided_digits(m, d, &base);
    *exact = true;
    for (int i = 0; i < n; i++) {
        product_of *= d[i].extent;
        span += d[i].stride * (d[i].extent - 1);
    }
    if (nested(d, n))
        return product_of;
    if (walkable(d, n))
        return walk(d, n, base, 1, 1);
    *exact = false;
    return product_of < span ? product_of : span;
}

typedef struct {
    int64_t count, first,
        last; /* count of sectors; the first and the last, relative to the sector of the base element */
    bool known;
} run;

typedef struct {
    const fsim_mode *d;
    int n, elem_bytes, sector_bytes;
    run memo[FSIM_MAX_MODES + 1][32]; /* per digit and per position of the base in its sector, in elements; a sector of
                                         32 bytes has at most 32 */
} sector_count;

/* Sectors of digits [level, n) whose base lies `place` elements into a sector. Runs of the inner digits are disjoint
 * and ascending, so that neighbours share at most one sector, where one ends and the next begins. Their position in
 * the sector repeats after at most sector / elem runs. */
static run count_sectors(sector_count *c, int level, int place)
{
    run *memo = &c->memo[level][place];
    const int per = c->sector_bytes / c->elem_bytes;
    if (memo->known)
        return *memo;
    run all = {1, 0, 0, true};
    if (level + 1 == c->n && c->d[level].stride == 1) { /* contiguous: from the sector of the base to that of the end */
        all.last = (place + c->d[level].extent - 1) / per;
        all.count = all.last + 1;
    } else if (level < c->n && c->d[level].stride % per == 0) { /* every run has the sectors of the first */
        const fsim_mode d = c->d[level];
        const run one = count_sectors(c, level + 1, place);
        const int64_t step = d.stride / per, added = one.count - (one.first + step == one.last);
        all.count = one.count + (d.extent - 1) * added;
        all.first = one.first;
        all.last = one.last + (d.extent - 1) * step;
    } else if (level < c->n) {
        const fsim_mode d = c->d[level];
        run before = all;
        const int64_t turns = d.extent < per + 1 ? d.extent : per + 1; /* run i has the sectors of run i - per */
        int64_t added[65] = {0};
        all.count = 0;
        for (int64_t i = 0; i < turns; i++) {
            const int64_t at = place + i * d.stride;
            run one = count_sectors(c, level + 1, (int)(at % per));
            one.first += at / per;
            one.last += at / per;
            if (i == 0)
                all.first = one.first;
            added[i] = one.count - (i > 0 && one.first == before.last);
            before = one;
        }
        for (int64_t i = 0; i < turns; i++) {
            const int64_t repeats = i == 0 ? 1 : (d.extent - 1 - i) / per + 1;
            all.count += added[i] * repeats;
        }
        const int64_t end = place + (d.extent - 1) * d.stride;
        all.last = count_sectors(c, level + 1, (int)(end % per)).last + end / per;
    }
    *memo = all;
    return all;
}

int64_t fsim_map_sectors(const fsim_map *m, int elem_bytes, int sector_bytes, bool *exact)
{
    const int per = sector_bytes / elem_bytes;
    sector_count c;
    fsim_mode d[FSIM_MAX_MODES];
    int64_t base;
    c.elem_bytes = elem_bytes;
    c.sector_bytes = sector_bytes;
    c.n = strided_digits(m, d, &base);
    c.d = d;
    *exact = true;
    if (c.n == 1 && d[0].stride == 1)
        return (base % per + d[0].extent - 1) / per + 1;
    if (nested(d, c.n)) {
        for (int level = 0; level <= c.n; level++)
            memset(c.memo[level], 0, (size_t)per * sizeof c.memo[level][0]);
        return count_sectors(&c, 0, (int)(base % per)).count;
    }
    if (walkable(d, c.n))
        return walk(d, c.n, base, elem_bytes, sector_bytes);
    *exact = false;
    const int64_t elems = fsim_map_distinct(m, exact) * elem_bytes;
    return (elems + sector_bytes - 1) / sector_bytes;
}

static int distinct_in_warp(int64_t *at, int n)
{
    int distinct = 1, most = 0; /* most: index of the largest so far; they mostly ascend */
    for (int i = 1; i < n; i++) {
        int j = at[i] > at[most] ? distinct : at[i] == at[most] ? most : 0;
        while (j < distinct && at[j] != at[i])
            j++;
        if (j < distinct)
            continue;
        most = at[i] > at[most] ? distinct : most;
        at[distinct++] = at[i];
    }
    return distinct;
}

/* Sectors of the first `walked` points where no walk is needed, because every group of `warp` points reads neighbours
 * or one element; -1: it is. */
static int64_t plain_requests(const fsim_map *s, int64_t per, int64_t walked, int warp)
{
    const fsim_mode *last = s->modes ? &s->mode[s->modes - 1] : NULL;
    if (!last || walked % warp != 0)
        return -1;
    if (last->stride == 0 && last->extent % warp == 0)
        return walked / warp;
    bool contiguous = last->stride == 1 && s->offset % per == 0 && warp % per == 0;
    for (int i = 0; i + 1 < s->modes; i++) /* also from points to reduced points, which fsim_map_simplify keeps apart */
        contiguous = contiguous && s->mode[i].stride == s->mode[i + 1].stride * s->mode[i + 1].extent;
    return contiguous ? walked / per : -1;
}

/* How many points must be looked at: all, or as many as show the pattern, or as many as are enough. */
static int64_t points_to_walk(const fsim_map *s, int64_t per, int64_t points, int warp)
{
    int64_t walked = points;
    if (s->modes > 0 && s->mode[s->modes - 1].extent % warp == 0) {
        bool repeats = s->mode[s->modes - 1].stride * warp % per == 0;
        for (int i = 0; i + 1 < s->modes; i++)
            repeats = repeats && s->mode[i].stride % per == 0;
        if (repeats)
            walked = warp;
    }
    return walked > REQUEST_POINTS ? REQUEST_POINTS : walked;
}

/* The same point by point. */
static int64_t walk_requests(const fsim_map *m, int64_t per, int64_t walked, int warp)
{
    const fsim_map s = *m;
    int64_t sectors = 0, digit[FSIM_MAX_MODES] = {0}, elem = s.offset, at[MAX_WARP];
    const int shift = __builtin_ctzll((unsigned long long)per); /* sizes of sectors and elements are powers of two */
    const fsim_mode last = s.modes > 0 ? s.mode[s.modes - 1] : (fsim_mode){1, 0};
    for (int64_t p = 0; p < walked; p += warp) {
        const int n = (int)(walked - p < warp ? walked - p : warp);
        if (s.modes > 0 && digit[s.modes - 1] + n < last.extent) { /* along one digit, in steps of the same length */
            const int64_t end = elem + (n - 1) * last.stride, apart = (end >> shift) - (elem >> shift);
            sectors += last.stride >= per || -last.stride >= per ? n : (apart < 0 ? -apart : apart) + 1;
            digit[s.modes - 1] += n;
            elem += n * last.stride;
            continue;
        }
        for (int i = 0; i < n; i++) {
            at[i] = elem >> shift;
            for (int k = s.modes; k-- > 0;) { /* go to the next point */
                elem += s.mode[k].stride;
                if (++digit[k] < s.mode[k].extent)
                    break;
                elem -= digit[k] * s.mode[k].stride;
                digit[k] = 0;
            }
        }
        sectors += distinct_in_warp(at, n);
    }
    return sectors;
}

/* A cache: searches ask for the same few maps many times. */
typedef struct {
    fsim_map map;
    int64_t per, walked, sectors;
    int warp;
} remembered;

static int64_t walked_sectors(const fsim_map *s, int64_t per, int64_t walked, int warp)
{
    enum { REMEMBERED = 256 };
    static _Thread_local remembered memory[REMEMBERED];
    uint64_t h = (uint64_t)s->offset + (uint64_t)per * 31 + (uint64_t)s->split;
    for (int i = 0; i < s->modes; i++)
        h = (h ^ (uint64_t)s->mode[i].extent * 0x9e3779b97f4a7c15u ^ (uint64_t)s->mode[i].stride) * 0xbf58476d1ce4e5b9u;
    remembered *r = &memory[(h ^ h >> 32) % REMEMBERED];
    if (r->warp != warp || r->per != per || r->walked != walked || !fsim_map_equal(&r->map, s))
        *r = (remembered){*s, per, walked, walk_requests(s, per, walked, warp), warp};
    return r->sectors;
}

double fsim_map_requests(const fsim_map *m, int elem_bytes, int sector_bytes, int warp)
{
    const fsim_map s = fsim_map_simplify(*m);
    const int64_t per = sector_bytes / elem_bytes, points = fsim_map_points(&s) * fsim_map_reduced(&s);
    if (s.modes == 1 && s.mode[0].stride == 1 && s.offset % per == 0 && warp % per == 0)
        return (double)((points + per - 1) / per); /* contiguous: each sector once */
    const int64_t walked = points_to_walk(&s, per, points, warp), plain = plain_requests(&s, per, walked, warp),
                  sectors = plain >= 0 ? plain : walked_sectors(&s, per, walked, warp);
    return walked == points ? (double)sectors : (double)sectors * ((double)points / (double)walked);
}

bool fsim_map_injective(const fsim_map *m)
{
    fsim_mode d[FSIM_MAX_MODES];
    int64_t base;
    for (int i = 0; i < m->modes; i++)
        if (m->mode[i].stride == 0 && m->mode[i].extent > 1)
            return false;
    return nested(d, strided_digits(m, d, &base));
}

bool fsim_map_is_identity(const fsim_map *m)
{
    int64_t span = 1; /* of the digits further in */
    for (int i = m->modes; i-- > 0;) {
        if (m->mode[i].extent == 1)
            continue;
        if (i >= m->split || m->mode[i].stride != span)
            return false;
        span *= m->mode[i].extent;
    }
    return m->offset == 0;
}
