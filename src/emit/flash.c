/* SPDX-License-Identifier: Apache-2.0 */
/* flash.c: writes two chained contractions tile by tile (fused MLPs; attention with online softmax: Milakov and
 * Gimelshein, 2018; Dao, 2023, FlashAttention-2), in the layout that was priced. flash.h says what each of the files
 * flash*.c writes. */
#include "emit/flash.h"

#include "kernel/layout.h"

/* The tile of an operand. `base` has the variables that number its elements. */
static fsim_flash_tile tile_of(fsim_emitter *e, const fsim_chained *c, fsim_chain_operand which, fsim_base base)
{
    const fsim_chained_tile *t = &c->operand[which];
    return (fsim_flash_tile){.which = which,
                             .along = t->along,
                             .copied = t->copied,
                             .widened = t->widened,
                             .at = {fsim_add_base(e, base), t->at},
                             .tensor = t->tensor};
}

/* The variables that number each operand's elements: the rows' operand by row p and depth k; the first product's
 * other operand by column c of the intermediate and k; the second product's by column j of the result and c. */
static void place_operands(fsim_flash *f)
{
    fsim_emitter *e = f->e;
    const fsim_base row = {.outer = "p", .inner_extent = 1, .reduced = "k", .outer_depth = 1, .reduced_depth = 1};
    fsim_base column = {.outer = "p0",
                        .inner = "c",
                        .inner_extent = e->group->width,
                        .reduced = "k",
                        .inner_depth = 1,
                        .reduced_depth = 1};
    f->rows = tile_of(e, f->c, FSIM_CHAIN_ROWS, row);
    f->one = tile_of(e, f->c, FSIM_CHAIN_FIRST, column);
    column.inner = "j";
    column.inner_extent = f->c->maps.columns;
    column.reduced = "c";
    f->two = tile_of(e, f->c, FSIM_CHAIN_SECOND, column);
    /* copies of eight elements have no bounds check along k, so the depth must be a multiple of the step */
    const fsim_chain_layout *l = &f->layout.l;
    const bool even = l->depth == f->c->first->reduced && l->depth % l->depth_step == 0;
    f->rows.copied = f->rows.copied && even;
    f->one.copied = f->one.copied && even;
    f->one.widened = f->one.widened && even;
}

bool fsim_emit_flash(fsim_emitter *e)
{
    if (e->kernel->tile_m == 0)
        return false; /* the price has no tiles for it: fsim_emit_chain writes it row by row */
    fsim_layout l = {.g = e->g, .hw = e->hw, .group = e->group, .chain = fsim_chained_of(e->g, e->hw, e->group, e->a)};
    if (!fsim_schedule_of(&l, &e->program->schedule))
        return false;
    fsim_flash f = {.e = e, .c = l.chain, .layout = l.chained, .dtype = "f32"};
    f.state = fsim_new(e->a, const char *, e->group->members + 1);
    e->walk = true;
    e->vector = 1;
    e->bases = 0;
    fsim_add_base(e, (fsim_base){.outer = "p", .inner_extent = 1, .reduced = "c", .reduced_depth = 1});
    place_operands(&f);
    f.dtype = f.c->tensor ? fsim_dtype_names[f.c->first->gemm.arithmetic] : f.c->type == FSIM_C_DOUBLE ? "f64" : "f32";
    e->program->sm = f.c->tensor ? fsim_least_mma_sm(FSIM_MATRIX_F16) : 0;
    fsim_flash_emit_kernel(&f);
    return true;
}
