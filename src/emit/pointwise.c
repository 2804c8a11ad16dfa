/* SPDX-License-Identifier: Apache-2.0 */
/* pointwise.c: kernels in which each thread computes some points of the result: pointwise, copies, pooling,
 * contractions without tiles. */
#include "cost/traffic.h"
#include "emit/emit.h"
#include "kernel/rows.h"

#include <string.h>

enum { SHORTEST_INNER = 16, TILE = FSIM_TRANSPOSE_TILE };

/* The number of innermost points that have their own digits in every map. */
static int64_t inner_of(const fsim_emitter *e, int64_t points)
{
    const fsim_group *o = e->group;
    int64_t inner = points;
    for (int i = 0; i < o->reads + o->writes; i++)
        for (int k = 0; k < (i < o->reads ? o->read[i].maps : 1); k++) {
            const bool placed = i < o->reads && o->read[i].place && o->read[i].place[k].offset >= 0;
            const fsim_map m = fsim_map_simplify(i < o->reads ? o->read[i].map[k] : o->write[i - o->reads].map);
            if (placed || m.split == 0 || fsim_map_points(&m) != points)
                continue;
            const int64_t own = m.mode[m.split - 1].extent;
            inner = own < inner ? own : inner;
        }
    return inner < SHORTEST_INNER || points % inner != 0 ? points : inner;
}

/* How many neighbouring elements a thread can compute. */
static int vector_of(const fsim_emitter *e, int64_t inner)
{
    const fsim_group *o = e->group;
    int largest = 1;
    for (int i = 0; i < o->reads + o->writes; i++) {
        const int bytes =
            fsim_dtype_bytes(e->g->tensor[i < o->reads ? o->read[i].tensor : o->write[i - o->reads].tensor].dtype);
        largest = bytes > largest ? bytes : largest;
    }
    int v = fsim_stream_vector(e->kernel->vector, largest, o->points, inner, e->kernel->block,
                               fsim_hw_get(e->hw, FSIM_HW_SMS));
    while (v > 1 && inner % v != 0)
        v /= 2;
    return v < 1 ? 1 : v;
}

/* Does some read or write of the kernel go through tiles? */
static bool find_tiles(const fsim_emitter *e, int64_t points, fsim_turning *t)
{
    const fsim_group *o = e->group;
    const int warp = (int)fsim_hw_get(e->hw, FSIM_HW_WARP_SIZE);
    fsim_traffic *read = fsim_new(e->a, fsim_traffic, o->reads + 1),
                 *write = fsim_new(e->a, fsim_traffic, o->writes + 1);
    if (e->kernel->block % 32 != 0 || TILE * TILE % e->kernel->block != 0)
        return false;
    for (int i = 0; i < o->reads; i++)
        read[i] = fsim_read_traffic(e->g, &o->read[i], warp, 0, 1);
    for (int i = 0; i < o->writes; i++)
        write[i] = fsim_write_traffic(e->g, &o->write[i], warp);
    return fsim_find_turning(o, read, write, points, t);
}

/* Writes with `points` points, from block `first` on. Returns the number of blocks. */
static int64_t range(fsim_emitter *e, int64_t points, int64_t first)
{
    const fsim_group *o = e->group;
    const int block = e->kernel->block;
    const int64_t inner = inner_of(e, points);
    fsim_begin_loop(e);
    fsim_turning t;
    e->tiled = find_tiles(e, points, &t);
    e->staged = 0;
    e->stages_writes = false;
    e->vector = e->tiled || o->contractions > 0 || o->template == FSIM_POOLING ? 1 : vector_of(e, inner);
    e->program->schedule.vector = e->tiled ? TILE * TILE / block : e->vector;
    fsim_add_base(
        e, e->tiled
               ? (fsim_base){.outer = "o",
                             .inner = "c",
                             .reduced = "y",
                             .inner_extent = t.columns,
                             .outer_depth = 0,
                             .inner_depth = 1,
                             .reduced_depth = 1}
               : (fsim_base){.outer = "o", .inner = "c", .inner_extent = inner, .outer_depth = 0, .inner_depth = 1});
    for (int i = 0; i < o->writes; i++) {
        fsim_where w = {0, o->write[i].map};
        if (e->tiled && fsim_map_points(&w.map) == points)
            fsim_map_compose(&t.map, &o->write[i].map, &w.map);
        if (fsim_map_points(&o->write[i].map) * fsim_map_reduced(&o->write[i].map) != points ||
            !e->stored[fsim_maker_in(e, o->write[i].tensor)])
            continue;
        const fsim_variable v = fsim_value(e, o->write[i].tensor, &w);
        fsim_store_value(e, o->write[i].tensor, &w, v.name, false);
    }
    if (e->tiled) {
        const int each = TILE * TILE / block;
        const char *tile_note =
            each == e->kernel->vector
                ? ""
                : fsim_printf(e->a, " /* %d points a thread; the prediction has %d */", each, e->kernel->vector);
        fsim_text_put(e->a, &e->out,
                      "    FS_TILES(%lld, o, y, c, %lld, %lld, %lld)%s\n%s%s%s    FS_TILE_LANES(y, c)\n%s    "
                      "FS_TILE_LANES_END\n%s%s    FS_TILES_END\n",
                      (long long)first, (long long)t.others, (long long)t.rows, (long long)t.columns, tile_note,
                      fsim_text_of(&e->head), fsim_text_of(&e->before), e->staged > 0 ? "    FS_TILE_BARRIER\n" : "",
                      fsim_text_of(&e->body), e->stages_writes ? "    FS_TILE_BARRIER\n" : "", fsim_text_of(&e->after));
        return fsim_turning_tiles(&t);
    }
    const char *predicted =
        e->vector == e->kernel->vector
            ? ""
            : fsim_printf(e->a, " /* %d elements a thread; the prediction has %d */", e->vector, e->kernel->vector);
    fsim_text_put(
        e->a, &e->out,
        "    FS_POINTS(%lld, o, c, %lld, %lld, %d)%s\n%s%s    FS_LANES(c)\n%s    FS_LANES_END\n%s    FS_POINTS_END\n",
        (long long)first, (long long)points, (long long)inner, e->vector, predicted, e->head.used ? e->head.at : "",
        e->before.used ? e->before.at : "", e->body.used ? e->body.at : "", e->after.used ? e->after.at : "");
    const int64_t each = (int64_t)block * e->vector;
    return (points + each - 1) / each;
}

void fsim_emit_pointwise(fsim_emitter *e)
{
    const fsim_group *o = e->group;
    int64_t grid = 0, *done = fsim_new(e->a, int64_t, o->writes + 1);
    int ranges = 0;
    const fsim_text before = e->out;
    e->out = (fsim_text){0};
    for (int i = 0; i < o->writes;
         i++) { /* what another size than the kernel's own, and is no contraction's, is stored in passing */
        const int64_t points = fsim_map_points(&o->write[i].map) * fsim_map_reduced(&o->write[i].map);
        const bool own = points == o->points || o->contractions > 1;
        e->stored[fsim_maker_in(e, o->write[i].tensor)] = own;
    }
    for (int i = 0; i < o->writes; i++) {
        const int64_t points = fsim_map_points(&o->write[i].map) * fsim_map_reduced(&o->write[i].map);
        bool known = !e->stored[fsim_maker_in(e, o->write[i].tensor)];
        for (int k = 0; k < ranges && !known; k++)
            known = done[k] == points;
        if (known)
            continue;
        done[ranges++] = points;
        grid += range(e, points, grid);
    }
    const fsim_text body = e->out;
    e->out = before;
    fsim_begin_entry(e, grid, e->kernel->block, 0);
    fsim_text_put(e->a, &e->out, "%s", body.at);
    fsim_end_entry(e);
}

/* Copies x to the result, unless it is written in place; then stores the elements of the last argument, or adds them,
 * where the data say: along dimension d, with the index in the shape that it has. */
void fsim_emit_scatter(fsim_emitter *e)
{
    const fsim_node *n = &e->g->node[e->group->anchor];
    const int result = n->result[0], last = n->args - 1;
    const int64_t whole = e->g->tensor[result].elems, elems[2] = {whole, n->arg[last].distinct};
    e->program->schedule.vector = 1;
    for (int half = e->g->tensor[result].over >= 0 ? 1 : 0; half < 2; half++) {
        fsim_begin_loop(e);
        e->vector = 1;
        fsim_add_base(
            e,
            (fsim_base){.outer = "o", .inner = "c", .inner_extent = elems[half], .outer_depth = 0, .inner_depth = 1});
        fsim_where at = {0, fsim_identity(elems[half])};
        if (half == 0) {
            fsim_where from = at;
            from.map.offset += n->arg[0].map.offset;
            const fsim_variable v = fsim_value(e, n->arg[0].tensor, &from);
            fsim_store_value(e, result, &at, v.name, true);
        } else {
            const fsim_shape *s = &e->g->tensor[result].shape;
            int64_t below = 1;
            for (int d = s->rank; d-- > n->attrs.dim + 1;)
                below *= s->dim[d];
            const int64_t indices = n->arg[1].distinct, rows = indices == elems[1] ? elems[1] : indices;
            const int64_t run = indices == elems[1] ? 1 : below;
            fsim_where which = at, from = at;
            which.map = (fsim_map){.offset = n->arg[1].map.offset};
            fsim_map_push(&which.map, elems[1] / (rows * run), 0); /* an index for each element, or one for each row */
            fsim_map_push(&which.map, rows, 1);
            fsim_map_push(&which.map, run, 0);
            which.map.split = which.map.modes;
            from.map.offset += n->arg[last].map.offset;
            const fsim_variable index = fsim_value(e, n->arg[1].tensor, &which),
                                v = fsim_value(e, n->arg[last].tensor, &from);
            const int64_t extent = s->rank ? s->dim[n->attrs.dim] : 1;
            const int64_t src_along = elems[1] / (whole / extent) > 0 ? elems[1] / (whole / extent) : 1;
            const char *name = fsim_fresh(e, "e");
            fsim_say(e, 1, "const fs_int %s = c / %lld * %lld + (fs_int)%s * %lld + c %% %lld;", name,
                     (long long)(src_along * below), (long long)(extent * below), index.name, (long long)below,
                     (long long)below);
            const fsim_where there = fsim_where_var(e, name, whole);
            if (n->op == FSIM_OP_INDEX_ADD || n->op == FSIM_OP_SCATTER_ADD)
                fsim_add_value(e, result, name, v.name);
            else
                fsim_store_value(e, result, &there, v.name, true);
        }
        fsim_begin_entry(e, (elems[half] + e->kernel->block - 1) / e->kernel->block, e->kernel->block, 0);
        fsim_text_put(
            e->a, &e->out,
            "    FS_POINTS(0, o, c, %lld, %lld, 1)\n%s    FS_LANES(c)\n%s    FS_LANES_END\n    FS_POINTS_END\n",
            (long long)elems[half], (long long)elems[half], e->head.used ? e->head.at : "",
            e->body.used ? e->body.at : "");
        fsim_end_entry(e);
    }
}

/* Stores what the kernel makes at a point of the scan, whose running value is in acc. */
static void store_scanned(fsim_emitter *e, const fsim_where *at)
{
    e->computed[fsim_member_of(e->group, e->group->anchor)] = (fsim_computed){"acc", NULL, e->depth};
    for (int i = 0; i < e->group->writes; i++) {
        const fsim_variable v = fsim_value(e, e->group->write[i].tensor, at);
        fsim_store_value(e, e->group->write[i].tensor, at, v.name, true);
    }
}

/* Rows of contiguous elements: the threads of a row walk it together. In each step they take their elements, and then
 * know what lies before these. */
static void scan_rows(fsim_emitter *e, const fsim_node *n, const fsim_where *in, const fsim_where *out, int64_t rows,
                      int64_t width)
{
    const fsim_schedule *l = &e->kernel->schedule;
    const fsim_ctype t = fsim_ctype_of(n->dtype);
    const char *s = fsim_ctype_suffix[t], *start = fsim_accumulator_start(e, n, t);
    const fsim_variable v = fsim_value(e, n->arg[0].tensor, in);
    fsim_say(e, e->depth, "%s", fsim_accumulate(e, n, "acc", v.name, t));
    const fsim_text take = e->body;
    e->body = (fsim_text){0};
    e->knowns = 0;
    store_scanned(e, out);
    fsim_begin_entry(e, l->grid, l->block, 0);
    fsim_text_put(e->a, &e->out,
                  "    FS_ROWS(p, %lld, %d, %d)\n%s    FS_SCAN(%s, acc, r, %lld, %d, %s)\n%s    FS_SCAN_SO_FAR(%s, "
                  "acc, r, %lld, %s, %s)\n%s    FS_SCAN_END\n    FS_ROWS_END\n",
                  (long long)rows, l->rows_per_block, l->row_threads, fsim_text_of(&e->head), s, (long long)width,
                  FSIM_SCAN_EACH, start, fsim_text_of(&take), s, (long long)width, start,
                  n->op == FSIM_OP_CUMPROD ? "prod_" : "sum_", fsim_text_of(&e->body));
    fsim_end_entry(e);
}

/* A running sum or product along a dimension whose elements are not contiguous: a thread has a row of its own. */
void fsim_emit_scan(fsim_emitter *e)
{
    const fsim_node *n = &e->g->node[e->group->anchor];
    const fsim_scan_shape x = fsim_scan_shape_of(e->g, e->group->anchor);
    const int64_t rows = x.rows, extent = x.width, below = x.below;
    const fsim_ctype t = fsim_ctype_of(n->dtype);
    fsim_begin_loop(e);
    e->vector = 1;
    fsim_add_base(
        e, below == 1
               ? (fsim_base){.outer = "p", .inner_extent = 1, .outer_depth = 0, .reduced = "r", .reduced_depth = 1}
               : (fsim_base){.outer = "o",
                             .inner = "c",
                             .inner_extent = rows,
                             .outer_depth = 0,
                             .inner_depth = 1,
                             .reduced = "r",
                             .reduced_depth = 2});
    fsim_map m = {0};
    fsim_map_push(&m, rows / below, extent * below);
    fsim_map_push(&m, below, 1);
    m.split = m.modes;
    fsim_map_push(&m, extent, below);
    const fsim_where out = {0, m};
    fsim_where in = out;
    in.map.offset += n->arg[0].map.offset;
    if (below == 1) {
        scan_rows(e, n, &in, &out, rows, extent);
        return;
    }
    fsim_say(e, 1, "%s acc = %s;", fsim_ctype_names[t], fsim_accumulator_start(e, n, t));
    fsim_say(e, 1, "FS_UNROLL_FOUR");
    fsim_open(e, "for (fs_int r = 0; r < %lld; r++) {", (long long)extent);
    const fsim_variable v = fsim_value(e, n->arg[0].tensor, &in);
    fsim_say(e, e->depth, "%s", fsim_accumulate(e, n, "acc", v.name, t));
    store_scanned(e, &out);
    fsim_close(e);
    fsim_begin_entry(e, e->kernel->grid, e->kernel->block, 0);
    fsim_text_put(e->a, &e->out,
                  "    FS_POINTS(0, o, c, %lld, %lld, 1)\n%s    FS_LANES(c)\n%s    FS_LANES_END\n    FS_POINTS_END\n",
                  (long long)rows, (long long)rows, e->head.used ? e->head.at : "", e->body.used ? e->body.at : "");
    fsim_end_entry(e);
}
