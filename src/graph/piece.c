/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/piece.h"

#include <math.h>
#include <stdlib.h>

enum { WALKED_POINTS = 1 << 10, WIDEST_WARP = 64 };

/* One digit of a piece: its extent, its stride in `map` and its stride (step) in `place`. */
typedef struct {
    int64_t extent, stride, step;
} digit;

typedef struct {
    int digits, split;
    int64_t offset, start; /* offsets of map and of place */
    digit at[FSIM_MAX_MODES];
} piece;

fsim_map fsim_place_of(const fsim_map *m)
{
    fsim_map place = {.split = m->split, .modes = m->modes};
    int64_t stride = 1;
    for (int i = m->modes; i-- > 0; stride *= m->mode[i].extent)
        place.mode[i] = (fsim_mode){m->mode[i].extent, stride};
    return place;
}

bool fsim_map_invert(const fsim_map *m, fsim_map *out)
{
    const fsim_map place = fsim_place_of(m);
    bool taken[FSIM_MAX_MODES] = {false};
    int64_t span = fsim_map_points(m);
    *out = (fsim_map){0};
    int64_t lowest = m->offset;
    for (int i = 0; i < m->modes; i++)
        lowest += m->mode[i].stride < 0 ? m->mode[i].stride * (m->mode[i].extent - 1) : 0;
    if (lowest != 0)
        return false;
    for (int n = 0; n < m->modes; n++) {
        int largest = -1;
        for (int i = 0; i < m->modes; i++)
            if (!taken[i] && (largest < 0 || llabs(m->mode[i].stride) > llabs(m->mode[largest].stride)))
                largest = i;
        const fsim_mode d = m->mode[largest];
        taken[largest] = true;
        if (llabs(d.stride) * d.extent != span)
            return false;
        span /= d.extent;
        const int64_t step = place.mode[largest].stride;
        out->offset += d.stride < 0 ? step * (d.extent - 1) : 0;
        fsim_map_push(out, d.extent, d.stride < 0 ? -step : step);
    }
    out->split = out->modes;
    return span == 1;
}

/* Splits the digits map[0, maps) and place[0, places), which number the same points, until both have the same extents,
 * and appends them to out[0, *digits), innermost first. False where an extent of one does not divide the other's, or
 * where there are more digits than an fsim_map can have. */
static bool align(const fsim_mode *map, int maps, const fsim_mode *place, int places, digit *out, int *digits)
{
    fsim_mode a = {1, 0}, b = {1, 0};
    while (maps > 0 || places > 0 || a.extent > 1 || b.extent > 1) {
        if (a.extent == 1 && maps > 0)
            a = map[--maps];
        if (b.extent == 1 && places > 0)
            b = place[--places];
        if (a.extent == 1 && b.extent == 1)
            continue;
        const int64_t common = a.extent < b.extent ? a.extent : b.extent;
        if (common == 1 || a.extent % common != 0 || b.extent % common != 0 || *digits == FSIM_MAX_MODES)
            return false;
        out[(*digits)++] = (digit){common, a.stride, b.stride};
        a = (fsim_mode){a.extent / common, a.stride * common};
        b = (fsim_mode){b.extent / common, b.stride * common};
    }
    return true;
}

static bool piece_of(const fsim_map *map, const fsim_map *place, piece *out)
{
    digit inner[FSIM_MAX_MODES];
    int digits = 0, reduced;
    *out = (piece){.offset = map->offset, .start = place->offset};
    if (!align(map->mode + map->split, map->modes - map->split, place->mode + place->split, place->modes - place->split,
               inner, &digits))
        return false;
    reduced = digits;
    if (!align(map->mode, map->split, place->mode, place->split, inner, &digits))
        return false;
    out->digits = digits;
    out->split = digits - reduced;
    for (int i = 0; i < digits; i++)
        out->at[i] = inner[digits - 1 - i];
    return true;
}

static void maps_of(const piece *p, fsim_map *map, fsim_map *place)
{
    *map = (fsim_map){.offset = p->offset};
    *place = (fsim_map){.offset = p->start};
    for (int i = 0; i < p->digits; i++) {
        if (i == p->split) {
            map->split = map->modes;
            place->split = place->modes;
        }
        fsim_map_push(map, p->at[i].extent, p->at[i].stride);
        fsim_map_push(place, p->at[i].extent, p->at[i].step);
    }
    if (p->split == p->digits) {
        map->split = map->modes;
        place->split = place->modes;
    }
}

/* Splits every digit whose values cross multiples of `boundary`, so that each digit counts either within one
 * multiple or in whole multiples. */
static bool refine(piece *p, int64_t boundary)
{
    for (int i = 0; i < p->digits; i++) {
        const digit d = p->at[i];
        const int64_t stride = llabs(d.stride);
        if (stride == 0 || stride >= boundary || stride * (d.extent - 1) < boundary)
            continue;
        const int64_t below = boundary / stride;
        if (boundary % stride != 0 || d.extent % below != 0 || p->digits == FSIM_MAX_MODES)
            return false;
        for (int k = p->digits; k > i + 1; k--)
            p->at[k] = p->at[k - 1];
        p->digits++;
        p->split += i < p->split;
        p->at[i] = (digit){d.extent / below, d.stride * below, d.step * below};
        p->at[i + 1] = (digit){below, d.stride, d.step};
        i++;
    }
    return true;
}

/* Restricts the digits that number the cut's dimension to [from, from + size). The digit with the longest stride
 * loses values at its ends; the range must contain all values of the others. base: the lowest value, in units of
 * c->inner. */
static fsim_piece_answer clip(piece *p, const fsim_cut *c, int64_t base)
{
    int widest = -1;
    int64_t others = 0;
    for (int i = 0; i < p->digits; i++) {
        const int64_t stride = llabs(p->at[i].stride);
        if (stride < c->inner || stride >= c->inner * c->extent || p->at[i].extent == 1)
            continue;
        if (widest < 0 || stride > llabs(p->at[widest].stride)) {
            others += widest >= 0 ? llabs(p->at[widest].stride) / c->inner * (p->at[widest].extent - 1) : 0;
            widest = i;
        } else {
            others += stride / c->inner * (p->at[i].extent - 1);
        }
    }
    if (widest < 0)
        return base >= c->from && base < c->from + c->size ? FSIM_PIECE_SOME : FSIM_PIECE_NONE;
    digit *d = &p->at[widest];
    const int64_t step = llabs(d->stride) / c->inner, end = c->from + c->size;
    const int64_t room = end - 1 - others - base;
    int64_t low = c->from <= base ? 0 : (c->from - base + step - 1) / step, high = room < 0 ? 0 : room / step + 1;
    low = low < d->extent ? low : d->extent;
    high = high < d->extent ? high : d->extent;
    const bool cut_below = low > 0 && base + (low - 1) * step + others >= c->from && base + (low - 1) * step < end;
    const bool cut_above = high < d->extent && base + high * step < end && base + high * step + others >= c->from;
    if (cut_below || cut_above)
        return FSIM_PIECE_UNKNOWN;
    if (high <= low)
        return FSIM_PIECE_NONE;
    const int64_t first = d->stride > 0 ? low : d->extent - high;
    p->offset += first * d->stride;
    p->start += first * d->step;
    d->extent = high - low;
    return FSIM_PIECE_SOME;
}

static fsim_piece_answer cut_one(piece *p, const fsim_cut *c)
{
    const int64_t span = c->inner * c->extent;
    if (!refine(p, c->inner) || !refine(p, span))
        return FSIM_PIECE_UNKNOWN;
    int64_t lowest = p->offset, low = 0, middle = 0;
    for (int i = 0; i < p->digits; i++) {
        const int64_t stride = llabs(p->at[i].stride), reach = stride * (p->at[i].extent - 1);
        lowest -= p->at[i].stride < 0 ? reach : 0;
        if (stride < c->inner)
            low += reach;
        else if (stride < span && stride % c->inner == 0)
            middle += reach / c->inner;
        else if (stride >= span && stride % span != 0)
            return FSIM_PIECE_UNKNOWN;
        else if (stride < span)
            return FSIM_PIECE_UNKNOWN;
    }
    const int64_t base = lowest / c->inner % c->extent;
    if (lowest < 0 || lowest % c->inner + low >= c->inner || base + middle >= c->extent)
        return FSIM_PIECE_UNKNOWN; /* digits carry into the next dimension */
    const fsim_piece_answer answer = clip(p, c, base);
    if (answer != FSIM_PIECE_SOME)
        return answer;
    for (int i = 0; i < p->digits; i++)
        if (llabs(p->at[i].stride) >= span)
            p->at[i].stride = p->at[i].stride / c->extent * c->source_extent;
    const int64_t outer = p->offset / span, at = p->offset / c->inner % c->extent, rest = p->offset % c->inner;
    p->offset = (outer * c->source_extent + at - c->from + c->source_from) * c->inner + rest;
    return FSIM_PIECE_SOME;
}

fsim_piece_answer fsim_piece_cut(fsim_map *map, fsim_map *place, const fsim_cut *cut, int cuts)
{
    piece p;
    if (!piece_of(map, place, &p))
        return FSIM_PIECE_UNKNOWN;
    for (int i = 0; i < cuts; i++) {
        const fsim_piece_answer answer = cut_one(&p, &cut[i]);
        if (answer != FSIM_PIECE_SOME)
            return answer;
    }
    maps_of(&p, map, place);
    return FSIM_PIECE_SOME;
}

bool fsim_piece_in_row(const fsim_map *map, const fsim_map *place, int64_t reduced)
{
    piece p;
    if (!piece_of(map, place, &p) || map->offset != place->offset / reduced)
        return false;
    int64_t within = place->offset % reduced;
    for (int i = 0; i < p.digits; i++) {
        within += i >= p.split ? p.at[i].step * (p.at[i].extent - 1) : 0;
        if (i >= p.split ? p.at[i].stride != 0 || p.at[i].step < 0 : p.at[i].stride * reduced != p.at[i].step)
            return false;
    }
    return within < reduced;
}

double fsim_piece_divergence(const fsim_map *place, int warp)
{
    int64_t run = 1, period = 0;
    bool aligned = place->offset % warp == 0;
    for (int i = place->modes; i-- > 0;) {
        const fsim_mode d = place->mode[i];
        if (period == 0 && d.stride == run) {
            run *= d.extent;
        } else if (period == 0) {
            period = llabs(d.stride);
            aligned = aligned && period % warp == 0;
        } else {
            aligned = aligned && d.stride % warp == 0;
        }
    }
    const double straddling =
        aligned ? ceil((double)run / warp) * warp / (double)run : (double)(run + warp - 1) / (double)run;
    const double all = period ? (double)period / (double)run : straddling; /* every warp has some of the points */
    return fmax(1, fmin(straddling, fmin(all, warp)));
}

double fsim_piece_requests(const fsim_map *map, const fsim_map *place, int elem_bytes, int sector_bytes, int warp)
{
    piece p;
    const fsim_map laid = fsim_map_simplify(*place);
    const bool long_runs =
        laid.modes > 0 && laid.mode[laid.modes - 1].stride == 1 && laid.mode[laid.modes - 1].extent >= warp;
    if (long_runs || !piece_of(map, place, &p))
        return fsim_map_requests(map, elem_bytes, sector_bytes, warp);
    const int64_t per = sector_bytes / elem_bytes, points = fsim_map_points(map) * fsim_map_reduced(map),
                  walked = points < WALKED_POINTS ? points : WALKED_POINTS;
    int64_t seen[WIDEST_WARP], sectors = 0, last = -1;
    int in_warp = 0;
    for (int64_t at = 0; at < walked; at++) {
        int64_t left = at, element = p.offset, point = p.start;
        for (int i = p.digits; i-- > 0; left /= p.at[i].extent) {
            element += left % p.at[i].extent * p.at[i].stride;
            point += left % p.at[i].extent * p.at[i].step;
        }
        if (point / warp != last)
            in_warp = 0;
        last = point / warp;
        int i = 0;
        while (i < in_warp && seen[i] != element / per)
            i++;
        if (i < in_warp || in_warp == WIDEST_WARP)
            continue;
        seen[in_warp++] = element / per;
        sectors++;
    }
    return (double)sectors * ((double)points / (double)walked);
}
