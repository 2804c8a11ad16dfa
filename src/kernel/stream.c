/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/stream.h"

int fsim_stream_vector(int vector, int elem_bytes, int64_t points, int64_t inner, int block, double sms)
{
    enum { USUAL = 4, ACCESS_BYTES = 16, BLOCKS_AN_SM = 16 };
    int v = vector;
    if (v == USUAL)
        while (v * elem_bytes < ACCESS_BYTES && inner % (v * 2) == 0 &&
               (double)points / (block * v * 2) >= BLOCKS_AN_SM * sms)
            v *= 2;
    return v;
}

bool fsim_turning_of(const fsim_map *map, int64_t points, fsim_turning *t)
{
    const fsim_map m = fsim_map_simplify(*map);
    const int last = m.modes - 1;
    int y = -1;
    if (m.split != m.modes || fsim_map_points(&m) != points)
        return false;
    for (int i = 0; i < last; i++)
        y = m.mode[i].stride == 1 ? i : y;
    if (y < 0 || m.mode[last].stride == 0)
        return false;
    int64_t below = 1;
    for (int i = y + 1; i <= last; i++)
        below *= m.mode[i].extent;
    *t = (fsim_turning){.rows = m.mode[y].extent, .columns = m.mode[last].extent};
    t->others = points / t->rows / t->columns;
    fsim_map_push(&t->map, points / t->rows / below, t->rows * below);
    fsim_map_push(&t->map, below / t->columns, t->columns);
    fsim_map_push(&t->map, t->columns, 1);
    t->map.split = t->map.modes;
    fsim_map_push(&t->map, t->rows, below);
    return true;
}

static int64_t tiles_along(int64_t side) { return (side + FSIM_TRANSPOSE_TILE - 1) / FSIM_TRANSPOSE_TILE; }

int64_t fsim_turning_tiles(const fsim_turning *t) { return t->others * tiles_along(t->rows) * tiles_along(t->columns); }
