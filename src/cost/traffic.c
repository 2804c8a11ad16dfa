/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/traffic.h"

#include "cost/constants.h"
#include "fusion/assembly.h"
#include <math.h>

enum { STREAM_BLOCK = 256 }; /* threads of a pooling block */
enum { TILE = 32 };          /* of the shared-memory tile that makes accesses to a strided side contiguous */

static int64_t sectors_of_run(int64_t bytes) { return (bytes + FSIM_SECTOR_BYTES - 1) / FSIM_SECTOR_BYTES; }

/* What L2 takes for requests that are made directly: it answers two neighbouring sectors at a time, and one alone no
 * sooner. */
static double answered(const fsim_map *m, const fsim_map *place, int elem_bytes, int warp)
{
    return (place ? fsim_piece_requests(m, place, elem_bytes, LINE_PAIR_BYTES, warp)
                  : fsim_map_requests(m, elem_bytes, LINE_PAIR_BYTES, warp)) *
           LINE_PAIR_BYTES;
}

/* Requests of one map: directly, or through a tile whose rows run along the map's contiguous digit; whichever is
 * less. */
static double requests(const fsim_map *m, const fsim_map *place, int elem_bytes, int warp, fsim_traffic *t)
{
    const double direct = (place ? fsim_piece_requests(m, place, elem_bytes, FSIM_SECTOR_BYTES, warp)
                                 : fsim_map_requests(m, elem_bytes, FSIM_SECTOR_BYTES, warp)) *
                          FSIM_SECTOR_BYTES;
    const fsim_map s = fsim_map_simplify(*m);
    int64_t run = 0;
    bool across = false;
    for (int i = 0; i + 1 < s.modes; i++)
        if (s.mode[i].stride == 1) {
            run = s.mode[i].extent;
            across = i < s.split && s.split < s.modes;
        }
    t->direct_bytes = direct;
    if (run < 2 || s.mode[s.modes - 1].stride == 0)
        return direct;
    run = run < TILE ? run : TILE;
    const double points = (double)fsim_map_points(&s) * (double)fsim_map_reduced(&s);
    const double tiled = points / (double)run * (double)(sectors_of_run(run * elem_bytes) * FSIM_SECTOR_BYTES);
    if (tiled >= direct)
        return direct;
    t->staged_bytes = points * elem_bytes;
    t->across = across;
    t->answered_bytes = fmax(direct, answered(m, place, elem_bytes, warp));
    return tiled;
}

/* A digit with stride 0 outside of others uses the same elements again after everything that the kernel moves in
 * between: its share of total_bytes. If that exceeds l2_bytes, the elements are loaded again. */
static double rereads(const fsim_map *m, int elem_bytes, double total_bytes, double l2_bytes)
{
    double outside = 1, times = 1;
    for (int i = 0; i < m->modes; i++) {
        double again = elem_bytes;
        bool inner = false;
        outside *= (double)m->mode[i].extent;
        for (int k = i + 1; k < m->modes; k++) {
            inner = inner || m->mode[k].stride != 0;
            again *= m->mode[k].stride != 0 ? (double)m->mode[k].extent : 1;
        }
        if (m->mode[i].stride == 0 && inner &&
            total_bytes / outside + again * (1 - 1 / (double)m->mode[i].extent) > l2_bytes)
            times *= (double)m->mode[i].extent;
    }
    return times;
}

/* warp 0: requests to L2 are counted for the tile, not for the map. */
static fsim_traffic of_map(const fsim_map *m, const fsim_map *place, int elem_bytes, int warp, double total_bytes,
                           double l2_bytes)
{
    fsim_traffic t = {0};
    bool exact;
    t.compulsory_bytes = fsim_map_distinct(m, &exact) * elem_bytes;
    t.sector_bytes = fsim_map_sectors(m, elem_bytes, FSIM_SECTOR_BYTES, &exact) * FSIM_SECTOR_BYTES;
    if (warp > 0)
        t.request_bytes = requests(m, place, elem_bytes, warp, &t);
    t.reread = warp == 0 ? 1 : rereads(m, elem_bytes, total_bytes, l2_bytes);
    return t;
}

/* The part of m that a value of a whole row needs: reduced digits, all with stride 0, are dropped. In *room where there
 * are any. */
static const fsim_map *of_rows(const fsim_map *m, bool full, fsim_map *room)
{
    if (full || m->modes == m->split)
        return m;
    *room = *m;
    room->modes = m->split;
    return room;
}

/* Sectors that windows touch. An axis whose windows have gaps and need no padding counts as two digits (output,
 * tap); others count as dense. */
static int64_t window_sectors(const fsim_access *x, int elem_bytes)
{
    fsim_map m = {0};
    int64_t stride = 1, inner[3];
    bool exact;
    for (int i = x->axes; i-- > 0; stride *= x->axis[i].extent)
        inner[i] = stride;
    fsim_map_push(&m, x->planes, stride);
    for (int i = 0; i < x->axes; i++) {
        const fsim_axis *a = &x->axis[i];
        if (a->pad == 0 && a->stride > (a->taps - 1) * a->dilation + 1) {
            fsim_map_push(&m, a->out, a->stride * inner[i]);
            fsim_map_push(&m, a->taps, a->dilation * inner[i]);
        } else {
            fsim_map_push(&m, a->extent, inner[i]);
        }
    }
    m.split = m.modes;
    return fsim_map_sectors(&m, elem_bytes, FSIM_SECTOR_BYTES, &exact);
}

/* Maps that read the tensor in the same order at a small distance find each other's sectors in L2. So do, as is
 * assumed, readers without a map; rows that data choose, where all that they may be lie that close. */
static bool walk_together(const fsim_read *read, int elem_bytes, double l2_bytes)
{
    if (read->unmapped && read->access->how == FSIM_READ_INDIRECT) {
        const fsim_mode *any = &read->access->any;
        if (fabs((double)any->extent * (double)any->stride) * elem_bytes > l2_bytes)
            return false;
    }
    for (int i = 1; i < read->maps; i++) {
        fsim_map a = read->map[0], b = read->map[i];
        const double apart = fabs((double)(a.offset - b.offset)) * elem_bytes;
        a.offset = b.offset = 0;
        if (!fsim_map_equal(&a, &b) || apart > l2_bytes)
            return false;
    }
    return true;
}

/* What a reader without a map takes. Each sector that a scatter or windows touch is asked for once, as the same
 * argument is where the kernel computes it (fusion/demand.c: by a map over its elements); windows that blocks share, by
 * each of these. Rows that data choose are asked for one by one: nothing says that neighbours are. asks: its requests
 * count. */
static fsim_traffic of_access(const fsim_access *x, int64_t tensor_bytes, int elem_bytes, bool asks)
{
    fsim_traffic t = {.coalescing = 1, .reread = 1};
    t.compulsory_bytes = x->distinct * elem_bytes;
    t.sector_bytes = sectors_of_run(t.compulsory_bytes) * FSIM_SECTOR_BYTES;
    if (x->how == FSIM_READ_WINDOW)
        t.sector_bytes = window_sectors(x, elem_bytes) * FSIM_SECTOR_BYTES;
    if (x->how == FSIM_READ_INDIRECT)
        t.sector_bytes = x->rows * sectors_of_run(x->run * elem_bytes) * FSIM_SECTOR_BYTES;
    t.request_bytes = asks ? (double)t.sector_bytes : 0;
    if (x->how == FSIM_READ_WINDOW)
        t.request_bytes *= fsim_window_halo(x, STREAM_BLOCK);
    if (x->how == FSIM_READ_INDIRECT) {
        const int64_t whole = sectors_of_run(tensor_bytes) * FSIM_SECTOR_BYTES;
        t.sector_bytes = t.sector_bytes < whole ? t.sector_bytes : whole;
        t.coalescing = asks ? fmin(1, (double)(x->rows * x->run * elem_bytes) / t.request_bytes) : 1;
    }
    t.direct_bytes = t.answered_bytes = t.request_bytes;
    return t;
}

static void add_reader(fsim_traffic *all, fsim_traffic one)
{
    const double asked = all->request_bytes + one.request_bytes;
    if (asked > 0)
        all->coalescing = fmin(1, (all->coalescing * all->request_bytes + one.coalescing * one.request_bytes) / asked);
    all->compulsory_bytes += one.compulsory_bytes;
    all->sector_bytes += one.sector_bytes;
    all->request_bytes = asked;
    all->direct_bytes += one.direct_bytes;
    all->answered_bytes += one.answered_bytes;
}

fsim_traffic fsim_read_traffic(const fsim_graph *g, const fsim_read *read, int warp, double total_bytes,
                               double l2_bytes)
{
    const fsim_tensor *tensor = &g->tensor[read->tensor];
    const int elem_bytes = fsim_dtype_bytes(tensor->dtype);
    const double halo = read->window ? fsim_window_halo(read->window, STREAM_BLOCK) : 1;
    const bool in_tiles = read->operand >= 0; /* the contraction's price counts what L2 serves of them */
    const int asking = in_tiles ? read->other_maps : read->maps;
    fsim_traffic all = {.coalescing = 1, .reread = 1};
    double useful = 0;
    if (in_tiles && asking == 0)
        warp = 0;
    for (int i = 0; i < read->maps; i++) {
        fsim_map room, room_of_place;
        const fsim_map *m = of_rows(&read->map[i], read->full, &room);
        const fsim_map *place =
            read->place && read->place[i].offset >= 0 ? of_rows(&read->place[i], read->full, &room_of_place) : NULL;
        const fsim_traffic one = of_map(m, place, elem_bytes, i < asking ? warp : 0, total_bytes, l2_bytes);
        all.compulsory_bytes += one.compulsory_bytes;
        all.sector_bytes += one.sector_bytes;
        all.request_bytes += one.request_bytes;
        all.staged_bytes += one.staged_bytes;
        all.direct_bytes += one.direct_bytes;
        all.answered_bytes += fmax(one.direct_bytes, one.answered_bytes);
        all.across = all.across || one.across;
        all.reread = fmax(all.reread, one.reread);
        useful += fmax((double)one.compulsory_bytes,
                       fmin((double)fsim_map_points(m) * (double)fsim_map_reduced(m) * elem_bytes, one.request_bytes));
    }
    all.coalescing = all.request_bytes > 0 ? fmin(1, useful / all.request_bytes) : 1;
    all.direct_bytes *= halo;
    all.answered_bytes *= halo;
    all.request_bytes *= halo;
    if (read->unmapped)
        add_reader(&all, of_access(read->access, tensor->bytes, elem_bytes, warp > 0 && !in_tiles));
    if (fsim_read_ways(read) > 1) { /* together they touch at most the tensor */
        const int64_t whole = sectors_of_run(tensor->bytes) * FSIM_SECTOR_BYTES;
        all.compulsory_bytes = all.compulsory_bytes < tensor->bytes ? all.compulsory_bytes : tensor->bytes;
        if (all.sector_bytes > whole &&
            (in_tiles || (double)whole <= l2_bytes || walk_together(read, elem_bytes, l2_bytes)))
            all.sector_bytes = whole;
    }
    return all;
}

double fsim_read_rereads(const fsim_graph *g, const fsim_read *read, double total_bytes, double l2_bytes)
{
    if (read->maps == 0 || (read->operand >= 0 && read->other_maps == 0))
        return 1;
    fsim_map room;
    return fmax(1, rereads(of_rows(&read->map[0], read->full, &room), fsim_dtype_bytes(g->tensor[read->tensor].dtype),
                           total_bytes, l2_bytes));
}

fsim_traffic fsim_write_traffic(const fsim_graph *g, const fsim_write *write, int warp)
{
    fsim_map room;
    fsim_traffic t = of_map(of_rows(&write->map, write->full, &room), NULL,
                            fsim_dtype_bytes(g->tensor[write->tensor].dtype), warp, 0, 1);
    t.reread = 1;
    t.coalescing = fmin(1, (double)t.compulsory_bytes / t.request_bytes);
    return t;
}

/* Do the tiles reach every result of so many points? */
static bool reaches(const fsim_group *o, int64_t points, const fsim_turning *t)
{
    fsim_map at;
    for (int i = 0; i < o->writes; i++)
        if (fsim_map_points(&o->write[i].map) == points && !fsim_map_compose(&t->map, &o->write[i].map, &at))
            return false;
    return true;
}

bool fsim_find_turning(const fsim_group *o, const fsim_traffic *read, const fsim_traffic *write, int64_t points,
                       fsim_turning *t)
{
    bool found = false;
    if (o->contractions > 0 || (o->template != FSIM_POINTWISE && o->template != FSIM_COPY))
        return false;
    for (int i = 0; i < o->reads && !found; i++)
        found = read[i].staged_bytes > 0 && o->read[i].maps > 0 && !o->read[i].place && !o->read[i].window &&
                fsim_turning_of(&o->read[i].map[0], points, t);
    for (int i = 0; i < o->writes && !found; i++)
        found = write[i].staged_bytes > 0 && fsim_turning_of(&o->write[i].map, points, t);
    return found && reaches(o, points, t);
}
