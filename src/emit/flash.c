/* SPDX-License-Identifier: Apache-2.0 */
/* flash.c: two contractions chained, tile by tile: fused MLPs, attention with online softmax (Milakov, Gimelshein,
 * 2018; Dao, 2023: FlashAttention-2). Here is the order of the decisions; flash.h says which file makes which. */
#include "emit/flash.h"

/* The tile that the price assumes, as far as registers and shared memory go. */
static bool choose_tile(fsim_flash *f)
{
    const fsim_emitter *e = f->e;
    const fsim_chain_request request = {.batch_rows = f->batch_rows,
                                        .width = e->group->width,
                                        .depth = f->first->reduced,
                                        .columns = f->maps.columns,
                                        .tensor = f->tensor,
                                        .elem_bytes = f->elem_bytes,
                                        .whole = !f->online && f->levels > 0,
                                        .first_along_k = f->one.along,
                                        .second_along_width = f->two.along,
                                        .shared_most = (int64_t)fsim_hw_get(e->hw, FSIM_HW_SHARED_PER_BLOCK),
                                        .m = e->kernel->tile_m,
                                        .n = e->kernel->tile_n};
    return fsim_chain_layout_of(&request, &f->l);
}

/* As the prediction has it: few rows, whose width several blocks share. */
static void choose_pieces(fsim_flash *f)
{
    const fsim_group *o = f->e->group;
    bool between_written = false;
    int reductions = 0;
    f->pieces = 1;
    for (int i = 0; i < o->writes; i++)
        between_written = between_written || o->member[fsim_maker_in(f->e, o->write[i].tensor)].middle;
    for (int i = 0; i < o->members; i++)
        reductions += fsim_flash_between(f, i) && fsim_flash_class(f, i) == FSIM_REDUCE;
    if (!f->online || o->strict || f->causal || between_written)
        return;
    const int64_t pieces = fsim_chain_pieces(o->width, f->l.n, f->e->kernel->split_k, &f->piece);
    if ((double)pieces * (double)o->rows * (double)(f->maps.columns + reductions) < 1e9)
        f->pieces = pieces;
}

static void choose_copies(fsim_flash *f)
{
    const bool even = f->l.depth == f->first->reduced && f->l.depth % f->l.depth_step == 0;
    f->rows.copied = even && fsim_flash_in_eights(f, &f->rows, true);
    f->one.copied =
        even && fsim_flash_in_eights(f, &f->one, f->one.along) && (f->one.along || f->e->group->width % 8 == 0);
    f->two.copied = fsim_flash_in_eights(f, &f->two, f->two.along) &&
                    (f->two.along ? f->e->group->width : f->maps.columns) % 8 == 0;
}

static bool on_tensor_cores(const fsim_flash *f)
{
    const fsim_emitter *e = f->e;
    const fsim_dtype t = f->first->gemm.arithmetic;
    bool same = e->hw->arch->mma && (t == FSIM_F16 || t == FSIM_BF16) && f->second->gemm.arithmetic == t &&
                f->type == FSIM_C_FLOAT;
    for (int k = 0; k < 2 && same; k++)
        same = e->g->tensor[f->first->arg[k].tensor].dtype == t && e->g->tensor[f->second->arg[k].tensor].dtype == t;
    return same;
}

static bool analyse(fsim_flash *f)
{
    fsim_emitter *e = f->e;
    f->joint = e->group->joint;
    if (!fsim_chain_maps_of(f->second, f->joint, &f->maps))
        return false;
    f->intermediate = f->second->arg[f->joint->side].tensor;
    f->type = fsim_ctype_of(e->g->tensor[f->first->result[0]].dtype);
    if (f->type > FSIM_C_DOUBLE || fsim_ctype_of(e->g->tensor[f->second->result[0]].dtype) != f->type ||
        fsim_ctype_of(e->g->tensor[f->intermediate].dtype) != f->type)
        return false;
    if (!fsim_flash_choose_form(f))
        return false;
    e->passes = f->online ? f->passes : NULL;
    const bool placed = fsim_flash_place_operands(f);
    e->passes = NULL;
    return placed;
}

bool fsim_emit_flash(fsim_emitter *e)
{
    const fsim_group *o = e->group;
    fsim_flash f = {.e = e,
                    .first = &e->g->node[o->first],
                    .second = &e->g->node[o->anchor],
                    .peak = -1,
                    .power = -1,
                    .kept = -1,
                    .rows.which = FSIM_CHAIN_ROWS,
                    .one.which = FSIM_CHAIN_FIRST,
                    .two.which = FSIM_CHAIN_SECOND,
                    .dtype = "f32",
                    .elem_bytes = 4};
    f.passes = fsim_new(e->a, int, o->members + 1);
    f.linear = fsim_new(e->a, bool, o->members + 1);
    f.scaled = fsim_new(e->a, bool, o->members + 1);
    f.state = fsim_new(e->a, const char *, o->members + 1);
    for (int i = 0; i < o->members; i++)
        f.passes[i] = -1;
    e->walk = true;
    e->vector = 1;
    e->bases = 0;
    fsim_add_base(e, (fsim_base){.outer = "p", .inner_extent = 1, .reduced = "c", .reduced_depth = 1});
    if (!analyse(&f))
        return false;
    f.tensor = on_tensor_cores(&f);
    if (f.tensor) {
        f.dtype = fsim_dtype_names[f.first->gemm.arithmetic];
        f.elem_bytes = 2;
        f.one.along = fsim_flash_reduced_contiguous(&f.one.at.map);
        f.two.along = fsim_flash_reduced_contiguous(&f.two.at.map);
    } else if (f.type == FSIM_C_DOUBLE) {
        f.dtype = "f64";
        f.elem_bytes = 8;
    }
    if (!choose_tile(&f))
        return false;
    e->program->sm = f.tensor ? 80 : 0;
    choose_copies(&f);
    f.causal = fsim_flash_leaves_out(&f);
    choose_pieces(&f);
    e->program->schedule.tile_m = f.l.m;
    e->program->schedule.tile_n = f.l.n;
    e->program->schedule.split_k = (int)f.pieces;
    fsim_flash_emit_kernel(&f);
    return true;
}
