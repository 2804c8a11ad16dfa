/* SPDX-License-Identifier: Apache-2.0 */
/* flash_kernel.c: the kernel of a chain in tiles: loads of the tiles, the loop over the intermediate, the entry
 * points. */
#include "emit/flash.h"

#include <string.h>

enum { JOINING_THREADS = 128 }; /* threads of a block in the launch that combines partial results */

static const fsim_chain_operand_tile *place_of(const fsim_flash *f, const fsim_flash_tile *t)
{
    return &f->layout.l.tile[t->which];
}

static const char *whole_number(fsim_flash *f, int64_t x) { return fsim_printf(f->e->a, "%lld", (long long)x); }

/* Text that loads a tile. *head: the declarations that stand once in front of the loop. */
static const char *filled(fsim_flash *f, fsim_flash_tile *t, const char *name, const char *where, const char **head)
{
    fsim_emitter *e = f->e;
    fsim_text out = {0};
    const char *rows = t == &f->rows ? "_ROWS" : "", *lines = f->layout.l.grouped ? "_LINES" : "";
    fsim_flash_begin_scope(e);
    e->passes = NULL;
    if (t->copied) {
        const fsim_variable at = fsim_number(e, &t->at);
        fsim_text_put(e->a, &out, "    FS_FLASH_COPY%s%s(%s, %s, %s, %s, %s) /* %s */\n", rows, lines, f->dtype, name,
                      where, fsim_pointer(e, t->tensor), at.name, e->g->tensor[t->tensor].name);
    } else if (t->widened) {
        const fsim_variable at = fsim_number(e, &t->at);
        fsim_text_put(e->a, &out, "    FS_FLASH_WIDEN(%s, %s, %s, %s, %s, %s) /* %s */\n",
                      fsim_dtype_names[e->g->tensor[t->tensor].dtype], f->dtype, name, where,
                      fsim_pointer(e, t->tensor), at.name, e->g->tensor[t->tensor].name);
    } else {
        const fsim_variable v = fsim_value(e, t->tensor, &t->at);
        fsim_say(e, 1, "FS_FLASH_PUT(%s, %s, %s%s)", f->dtype, name,
                 fsim_ctype_of(e->g->tensor[t->tensor].dtype) == f->c->type
                     ? ""
                     : fsim_printf(e->a, "(%s)", fsim_flash_c_type(f)),
                 v.name);
        fsim_text_put(e->a, &out, "    FS_FLASH_FILL%s%s(%s, %s) /* %s */\n%s    FS_FLASH_FILL_END\n", rows, lines,
                      name, where, e->g->tensor[t->tensor].name, fsim_text_of(&e->body));
    }
    *head = fsim_printf(e->a, "%s", fsim_text_of(&e->head));
    return out.at;
}

static const char *fill_rows(fsim_flash *f, const char *k0, const char **head)
{
    const bool kept = f->layout.l.kept;
    return filled(f, &f->rows, "rows_tile",
                  fsim_printf(f->e->a, "p, %s, k, %s, %lld, %lld", f->row_of, kept ? "0" : k0,
                              (long long)(kept ? f->layout.l.depth : f->layout.l.depth_step),
                              (long long)f->c->first->reduced),
                  head);
}

static const char *fill_one(fsim_flash *f, const char *c0, const char *k0, const char **head)
{
    const char *c = fsim_printf(f->e->a, "c, %s, %d, %lld", c0, f->layout.l.n, (long long)f->e->group->width);
    const char *k = fsim_printf(f->e->a, "k, %s, %lld, %lld", k0, (long long)f->layout.l.depth_step,
                                (long long)f->c->first->reduced);
    return filled(f, &f->one, "first_tile",
                  fsim_printf(f->e->a, "%s, %s", fsim_chained_reduced_contiguous(&f->one.at.map) ? c : k,
                              fsim_chained_reduced_contiguous(&f->one.at.map) ? k : c),
                  head);
}

static const char *fill_two(fsim_flash *f, const char *c0, const char **head)
{
    const char *c = fsim_printf(f->e->a, "c, %s, %d, %lld", c0, f->layout.l.n, (long long)f->e->group->width);
    const char *j = fsim_printf(f->e->a, "j, %s, %lld, %lld", f->layout.l.chunks > 1 ? "j0" : "0",
                                (long long)f->layout.l.columns, (long long)f->c->maps.columns);
    return filled(f, &f->two, "second_tile",
                  fsim_printf(f->e->a, "%s, %s", fsim_chained_reduced_contiguous(&f->two.at.map) ? j : c,
                              fsim_chained_reduced_contiguous(&f->two.at.map) ? c : j),
                  head);
}

/* How much of k the step at k0 of the first product takes: rows that are kept end where k does. */
static const char *taken_depth(fsim_flash *f, const char *k0)
{
    const fsim_chain_layout *l = &f->layout.l;
    const char *step = whole_number(f, l->depth_step), *end = whole_number(f, l->depth);
    return !l->kept || l->depth % l->depth_step == 0
               ? step
               : fsim_printf(f->e->a, "%s - %s < %s ? %s - %s : %s", end, k0, step, end, k0, step);
}

static void emit_first(fsim_flash *f, int depth, const char *k0)
{
    const bool kept = f->layout.l.kept;
    const char *from = kept ? k0 : "0", *taken = taken_depth(f, k0);
    if (f->c->tensor)
        fsim_flash_put(f, depth, "FS_FLASH_FIRST_MMA(%s, rows_tile, %s, first_tile, %d, %s, %s)", f->dtype, from,
                       place_of(f, &f->one)->lead, f->one.along ? "K" : "J", taken);
    else
        fsim_flash_put(f, depth, "FS_FLASH_FIRST_SIMT(%s, rows_tile, %s, first_tile, %d, %s)", fsim_flash_c_type(f),
                       from, place_of(f, &f->one)->lead, taken);
}

static void emit_second(fsim_flash *f)
{
    if (f->c->tensor)
        fsim_flash_put(f, 2, "FS_FLASH_SECOND_MMA(%s, second_tile, %d, %s)", f->dtype, place_of(f, &f->two)->lead,
                       f->two.along ? "K" : "J");
    else
        fsim_flash_put(f, 2, "FS_FLASH_SECOND_SIMT(%s, scores, second_tile, %d)", fsim_flash_c_type(f),
                       place_of(f, &f->two)->lead);
}

static const char *from_of(const fsim_flash *f) { return f->layout.pieces > 1 ? "from" : "0"; }

static void emit_overlapped(fsim_flash *f, const char *stop)
{
    const char *head;
    const int next = f->e->next;
    const char *one = fill_one(f, from_of(f), "0", &head);
    fsim_flash_put_lines(f, 0, head);
    fsim_flash_put_lines(f, 0, one);
    fsim_flash_put(f, 1, "FS_FLASH_COMMIT");
    const char *two = fill_two(f, "c0", &head);
    fsim_flash_put_lines(f, 0, head);
    fsim_flash_put(f, 1, "for (fs_int c0 = %s; c0 < %s; c0 += %d) {", from_of(f), stop, f->layout.l.n);
    fsim_flash_put(f, 2, "FS_FLASH_WAIT(0)\nFS_ROW_BARRIER");
    fsim_flash_put_lines(f, 1, two);
    fsim_flash_put(f, 2, "FS_FLASH_COMMIT\nFS_FLASH_CLEAR");
    emit_first(f, 2, "0");
    fsim_flash_put(f, 2, "FS_ROW_BARRIER");
    fsim_flash_put(f, 2, "if (c0 + %d < %s) {", f->layout.l.n, stop);
    const int after = f->e->next;
    f->e->next =
        next; /* reuse the names of the first load: the variables that they name were declared in front of the loop */
    fsim_flash_put_lines(f, 2, fill_one(f, fsim_printf(f->e->a, "c0 + %d", f->layout.l.n), "0", &head));
    f->e->next = after;
    fsim_flash_put(f, 2, "}\nFS_FLASH_COMMIT");
    fsim_flash_emit_middle(f);
    fsim_flash_put(f, 2, "FS_FLASH_WAIT(1)\nFS_ROW_BARRIER");
    emit_second(f);
    fsim_flash_put(f, 1, "}");
}

/* Groups of warps: while a step's products run, both operands of the next step are loaded. */
static void emit_grouped(fsim_flash *f, const char *stop)
{
    const int next = f->e->next;
    const char *head, *ahead = fsim_printf(f->e->a, "c0 + %d", f->layout.l.n), *const at[2] = {from_of(f), ahead};
    for (int i = 0; i < 2; i++) {
        const int after = f->e->next;
        f->e->next = next; /* the second time, the variables that the loads name have been declared */
        const char *one = fill_one(f, at[i], "0", &head);
        fsim_flash_put_lines(f, 0, i ? "" : head);
        fsim_flash_put_lines(f, 2 * i, one);
        const char *two = fill_two(f, at[i], &head);
        fsim_flash_put_lines(f, 0, i ? "" : head);
        fsim_flash_put_lines(f, 2 * i, two);
        if (i == 0) {
            fsim_flash_put(f, 1, "FS_FLASH_COMMIT\nfor (fs_int c0 = %s; c0 < %s; c0 += %d) {", from_of(f), stop,
                           f->layout.l.n);
            fsim_flash_put(f, 2, "FS_FLASH_ARRIVED\nFS_FLASH_FIRST_GROUPS(%s, rows_tile, first_tile, %d, %lld)",
                           f->dtype, f->one.along, (long long)f->layout.l.depth);
            fsim_flash_put(f, 2, "if (%s < %s) {", ahead, stop);
        } else
            f->e->next = after;
    }
    fsim_flash_put(f, 2, "}\nFS_FLASH_COMMIT\nFS_FLASH_FIRST_DONE");
    fsim_flash_emit_middle(f);
    fsim_flash_put(f, 2, "FS_FLASH_SECOND_GROUPS(%s, second_tile, %d)", f->dtype, f->two.along);
    fsim_flash_put(f, 1, "}");
}

static void emit_steps(fsim_flash *f, const char *stop)
{
    const bool chunked = f->layout.l.depth_step < f->layout.l.depth, kept = f->layout.l.kept;
    const char *head, *k0 = chunked ? "k0" : "0";
    const char *rows = kept ? NULL : fill_rows(f, k0, &head);
    const char *one = fill_one(f, "c0", k0, &head);
    fsim_flash_put_lines(f, 0, head);
    const char *two = fill_two(f, "c0", &head);
    fsim_flash_put_lines(f, 0, head);
    fsim_flash_put(f, 1, "for (fs_int c0 = %s; c0 < %s; c0 += %d) {", from_of(f), stop, f->layout.l.n);
    fsim_flash_put(f, 2, "FS_ROW_BARRIER");
    fsim_flash_put_lines(f, 1, two);
    fsim_flash_put(f, 2, "FS_FLASH_CLEAR");
    if (chunked)
        fsim_flash_put(f, 2, "for (fs_int k0 = 0; k0 < %lld; k0 += %lld) {", (long long)f->layout.l.depth,
                       (long long)f->layout.l.depth_step);
    if (rows)
        fsim_flash_put_lines(f, 1 + chunked, rows);
    fsim_flash_put_lines(f, 1 + chunked, one);
    if (f->rows.copied || f->one.copied || f->two.copied)
        fsim_flash_put(f, 2 + chunked, "FS_FLASH_COMMIT\nFS_FLASH_WAIT(0)");
    fsim_flash_put(f, 2 + chunked, "FS_ROW_BARRIER");
    emit_first(f, 2 + chunked, k0);
    if (chunked)
        fsim_flash_put(f, 2, "    FS_ROW_BARRIER\n}");
    fsim_flash_emit_middle(f);
    emit_second(f);
    fsim_flash_put(f, 1, "}");
}

/* A dimension of a tile: its variable, and the stride in elements, on the GPU and on the host. */
typedef struct {
    const char *variable;
    int64_t step, host_step;
} tile_dimension;

static void declare_tile(fsim_flash *f, const fsim_flash_tile *t, const char *name, tile_dimension x, tile_dimension y,
                         int64_t count)
{
    const char *storage = strcmp(f->dtype, "f16") == 0    ? "fs_f16"
                          : strcmp(f->dtype, "bf16") == 0 ? "fs_bf16"
                                                          : fsim_flash_c_type(f);
    if (f->layout.l.grouped)
        fsim_flash_put(f, 1, "FS_FLASH_LINES(%s, %s, %s, %lld, %lld, %d, %s, %lld, %s, %lld)", storage,
                       fsim_flash_c_type(f), name, (long long)place_of(f, t)->offset, (long long)count,
                       t == &f->rows ? 1 : f->layout.l.stages, x.variable, (long long)x.host_step, y.variable,
                       (long long)y.host_step);
    else
        fsim_flash_put(f, 1, "FS_FLASH_TILE(%s, %s, %s, %lld, %lld, %s, %lld, %lld, %s, %lld, %lld)", storage,
                       fsim_flash_c_type(f), name, (long long)place_of(f, t)->offset, (long long)count, x.variable,
                       (long long)x.step, (long long)x.host_step, y.variable, (long long)y.step,
                       (long long)y.host_step);
}

static int neighbours(int64_t columns) { return columns % 64 == 0 ? 4 : columns % 32 == 0 ? 2 : 1; }

/* A block takes rows of one batch. Where these are not consecutive in the intermediate, the text gets a function
 * that maps their numbers. */
static void emit_order(fsim_flash *f)
{
    fsim_emitter *e = f->e;
    f->row_of = "FS_SAME_ROW";
    if (fsim_map_is_identity(&f->c->order))
        return;
    fsim_flash_begin_scope(e);
    const fsim_where q = fsim_where_var(e, "q", e->group->rows);
    const fsim_where at = {q.base, f->c->order};
    f->row_of = fsim_printf(e->a, "%s_row", e->program->name);
    fsim_text_put(e->a, &e->out, "\nFS_FN fs_int %s(fs_int q) { return %s; }\n", f->row_of, fsim_number(e, &at).name);
}

/* Reserves memory for the partial results of blocks that share a row. */
static void declare_scratch(fsim_flash *f)
{
    fsim_emitter *e = f->e;
    const fsim_group *o = e->group;
    if (f->layout.pieces == 1)
        return;
    int64_t each = f->c->maps.columns;
    for (int i = 0; i < o->members; i++)
        each += fsim_chained_between(f->c, i) && fsim_chained_class(f->c, i) == FSIM_REDUCE;
    f->scratch = fsim_scratch(e, fsim_flash_c_type(f),
                              f->layout.pieces * o->rows * each * (f->c->type == FSIM_C_DOUBLE ? 8 : 4));
}

static void declare_tiles(fsim_flash *f)
{
    const int64_t deep = f->layout.l.depth_step * f->layout.l.n, wide = f->layout.l.n * f->layout.l.columns;
    const int64_t rows = place_of(f, &f->rows)->lead, one = place_of(f, &f->one)->lead,
                  two = place_of(f, &f->two)->lead;
    declare_tile(f, &f->rows, "rows_tile", (tile_dimension){"p", rows, rows}, (tile_dimension){"k", 1, 1},
                 place_of(f, &f->rows)->count);
    declare_tile(f, &f->one, "first_tile", (tile_dimension){"c", f->one.along ? one : 1, 1},
                 (tile_dimension){"k", f->one.along ? 1 : one, f->layout.l.n}, deep);
    declare_tile(f, &f->two, "second_tile", (tile_dimension){"c", f->two.along ? 1 : two, f->layout.l.columns},
                 (tile_dimension){"j", f->two.along ? two : 1, 1}, wide);
    if (!f->c->tensor)
        fsim_flash_put(f, 1, "FS_FLASH_SCORES(%s, scores, %lld, %d)", fsim_flash_c_type(f),
                       (long long)f->layout.l.scores, f->layout.l.n + 4);
    if (f->layout.l.chunks > 1)
        fsim_flash_put(f, 1, "const fs_int j0 = fs_chunk %% %lld * %lld;", (long long)f->layout.l.chunks,
                       (long long)f->layout.l.columns);
}

/* The end of a block's loop over the intermediate, as an expression. */
static const char *declare_stop(fsim_flash *f)
{
    const fsim_group *o = f->e->group;
    const char *stop = whole_number(f, o->width);
    if (f->layout.pieces > 1) {
        fsim_flash_put(
            f, 1,
            "const fs_int piece = fs_chunk / %lld, from = piece * %lld, stop = from + %lld < %lld ? from + %lld : "
            "%lld;",
            (long long)f->layout.l.chunks, (long long)f->layout.piece, (long long)f->layout.piece, (long long)o->width,
            (long long)f->layout.piece, (long long)o->width);
        stop = "stop";
    }
    if (f->c->causal) {
        fsim_flash_put(f, 1, "const fs_int stop = fs_flash_stop(fs_top, fs_last, %lld);", (long long)o->causal);
        stop = "stop";
    }
    return stop;
}

void fsim_flash_emit_kernel(fsim_flash *f)
{
    fsim_emitter *e = f->e;
    const fsim_group *o = e->group;
    const int64_t tiles = (f->c->batch_rows + f->layout.l.m - 1) / f->layout.l.m;
    emit_order(f);
    declare_scratch(f);
    fsim_begin_held_entry(e, f->c->batches * tiles * f->layout.l.chunks * f->layout.pieces, f->layout.l.threads,
                          (int)f->layout.l.shared_bytes, f->layout.l.registers, true);
    fsim_flash_put(f, 1, "FS_FLASH(%d, %d, %lld, %lld, %lld, %s, %d)", f->layout.l.m, f->layout.l.n,
                   (long long)f->c->batch_rows, (long long)o->width, (long long)(f->layout.l.chunks * f->layout.pieces),
                   f->row_of, f->c->causal);
    if (f->layout.l.grouped)
        fsim_flash_put(f, 1, "FS_FLASH_GROUPS(%s, %lld)", fsim_flash_c_type(f), (long long)f->layout.l.columns);
    else if (f->c->tensor)
        fsim_flash_put(f, 1, "FS_FLASH_MMA(%s, %lld, %d)", fsim_flash_c_type(f), (long long)f->layout.l.columns,
                       f->layout.l.across);
    else
        fsim_flash_put(f, 1, "FS_FLASH_SIMT(%s, %lld, %d, %d)", fsim_flash_c_type(f), (long long)f->layout.l.columns,
                       neighbours(f->layout.l.n), neighbours(f->layout.l.columns));
    declare_tiles(f);
    const char *stop = declare_stop(f);
    fsim_flash_declare_states(f);
    if (f->layout.l.kept) {
        const char *head, *rows = fill_rows(f, "0", &head);
        fsim_flash_put_lines(f, 0, head);
        fsim_flash_put_lines(f, 0, rows);
    }
    if (f->layout.l.grouped)
        emit_grouped(f, stop);
    else if (f->one.copied && f->two.copied && f->layout.l.depth_step == f->layout.l.depth)
        emit_overlapped(f, stop);
    else
        emit_steps(f, stop);
    if (f->layout.l.across > 1)
        fsim_flash_emit_meeting(f);
    if (f->layout.pieces == 1)
        fsim_flash_emit_results(f);
    else
        fsim_flash_emit_piece(f);
    fsim_flash_put(f, 1, "FS_FLASH_END");
    fsim_end_entry(e);
    if (f->layout.pieces == 1)
        return;
    fsim_begin_entry(e, o->rows, JOINING_THREADS, 0);
    fsim_flash_put(f, 1, "FS_ROWS(p, %lld, 1, %d)", (long long)o->rows, JOINING_THREADS);
    fsim_flash_emit_results(f);
    fsim_flash_put(f, 1, "FS_ROWS_END");
    fsim_end_entry(e);
}
