/* SPDX-License-Identifier: Apache-2.0 */
/* tile_text.c: the text of tiles: how the elements of their operands are loaded or computed, and the operators that
 * follow their sums. */
#include "emit/tile.h"

#include <string.h>

enum {
    BAND = 8
}; /* consecutive blocks take so many tiles along m before the next along n: they share operands in L2 */

static const char *const operand_names[FSIM_TILE_OPERANDS] = {"left", "right", "right2"}, *const sum_names[] = {"sum",
                                                                                                                "sum2"};

/* Operands. */

/* A digit of the mixed-radix number in `var`: var / below % extent. extent 0: the outermost digit, without %. */
static const char *digit(fsim_emitter *e, const char *var, int64_t below, int64_t extent)
{
    const char *from = below > 1 ? fsim_printf(e->a, "%s / %lld", var, (long long)below) : var;
    return extent ? fsim_printf(e->a, "%s %% %lld", from, (long long)extent) : from;
}

static const char *times(fsim_emitter *e, const char *x, int64_t by)
{
    return by == 1 ? x : fsim_printf(e->a, "%s * %lld", x, (long long)by);
}

/* The input's element under a padded window at (b, c, k); 0 in the padding. Channel and tap follow from k alone, so
 * they are computed in front of the loop over lanes. */
static const char *window_value(fsim_emitter *e, const fsim_tile_product *p, const fsim_access *x, const char *type)
{
    int64_t taps = 1, pixels = 1;
    for (int i = 0; i < x->axes; i++) {
        taps *= x->axis[i].taps;
        pixels *= x->axis[i].out;
    }
    const long long channels = p->depth / taps, groups = p->batch;
    const char *tap[3], *inside = "", *name = fsim_fresh(e, "v"), *channel = fsim_fresh(e, "q"),
                        *image = fsim_fresh(e, "q"), *number, *element = fsim_fresh(e, "e");
    fsim_say(e, 0, "const fs_int %s = %s;", channel, digit(e, "k", taps, 0));
    int64_t below = taps;
    for (int i = 0; i < x->axes; i++) {
        const fsim_axis *a = &x->axis[i];
        below /= a->taps;
        tap[i] = fsim_fresh(e, "k");
        fsim_say(e, 0, "const fs_int %s = %s - %lld;", tap[i], times(e, digit(e, "k", below, a->taps), a->dilation),
                 (long long)a->pad);
    }
    fsim_say(e, 1, "const fs_int %s = %s;", image, digit(e, "c", pixels, 0));
    number = groups == 1 ? fsim_printf(e->a, "%s * %lld + %s", image, channels, channel)
                         : fsim_printf(e->a, "%s * %lld + b * %lld + %s", image, groups * channels, channels, channel);
    below = pixels;
    for (int i = 0; i < x->axes; i++) {
        const fsim_axis *a = &x->axis[i];
        const char *at = fsim_fresh(e, "i");
        below /= a->out;
        fsim_say(e, 1, "const fs_int %s = %s + %s;", at, times(e, digit(e, "c", below, a->out), a->stride), tap[i]);
        inside = fsim_printf(e->a, "%s%s%s >= 0 && %s < %lld", inside, i ? " && " : "", at, at, (long long)a->extent);
        number = fsim_printf(e->a, "(%s) * %lld + %s", number, (long long)a->extent, at);
    }
    fsim_say(e, 1, "%s %s = 0;", type, name);
    fsim_open(e, "if (%s) {", inside);
    fsim_say(e, e->depth, x->map.offset ? "const fs_int %s = %s + %lld;" : "const fs_int %s = %s;", element, number,
             (long long)x->map.offset);
    const fsim_where at = fsim_where_var(e, element, e->g->tensor[x->tensor].elems);
    const fsim_variable v = fsim_value(e, x->tensor, &at);
    fsim_say(e, e->depth, "%s = %s;", name, v.name);
    fsim_close(e);
    return name;
}

static void load_operand(fsim_emitter *e, const fsim_tile_writing *t, int i)
{
    const fsim_tile_plan *p = t->plan;
    const fsim_tile_product *of = &p->product[i > 1];
    const fsim_tile_side *s = fsim_tile_side_of(p, i);
    const char *name = operand_names[i];
    const char *row = s->along_k ? "i" : "c", *k = s->along_k ? "r" : "k", *lanes = s->along_k ? "K" : "C";
    const fsim_ctype c = fsim_ctype_of(e->g->tensor[of->node->result[0]].dtype);
    const fsim_tensor *from = &e->g->tensor[s->access->tensor];
    fsim_begin_loop(e);
    e->walk = s->along_k;
    e->vector = p->l.vector[i];
    const int base = fsim_add_base(e, (fsim_base){.outer = "b",
                                                  .inner = row,
                                                  .inner_extent = s->extent,
                                                  .reduced = k,
                                                  .inner_depth = !s->along_k,
                                                  .reduced_depth = s->along_k});
    const fsim_where at = {base, s->map};
    if (p->l.copied[i]) {
        const fsim_variable number = fsim_number(e, &at);
        fsim_text_put(e->a, &e->out,
                      "    FS_TILE_COPY_%s(%s, %s, %s)\n%s        FS_TILE_FETCH(%s, %s, %s, %s, %s, %s) /* %s */\n    "
                      "FS_TILE_COPY_END(%s)\n",
                      lanes, name, row, k, fsim_text_of(&e->head), t->kind, name, row, k,
                      fsim_pointer(e, s->access->tensor), number.name, from->name, name);
        return;
    }
    const char *x =
        s->window ? window_value(e, of, s->access, fsim_ctype_names[c]) : fsim_value(e, s->access->tensor, &at).name;
    if (!s->window && fsim_ctype_of(from->dtype) != c)
        x = fsim_printf(e->a, "(%s)%s", fsim_ctype_names[c], x);
    fsim_text_put(e->a, &e->out,
                  "    FS_TILE_LOAD_%s(%s, %s, %s)\n%s%s    FS_LANES(%s)\n%s        FS_TILE_SET(%s, %s, %s, %s, %s)\n  "
                  "  FS_LANES_END\n%s    FS_TILE_LOAD_END\n",
                  lanes, name, row, k, fsim_text_of(&e->head), fsim_text_of(&e->before), s->along_k ? k : row,
                  fsim_text_of(&e->body), t->kind, name, row, k, x, fsim_text_of(&e->after));
}

/* Results. */

static int result_lanes(fsim_emitter *e, const fsim_tile_writing *t)
{
    const fsim_tile_plan *p = t->plan;
    fsim_begin_loop(e);
    e->walk = false;
    e->vector = p->vector;
    return fsim_add_base(
        e, (fsim_base){.outer = "o", .inner = "c", .inner_extent = p->product[0].columns, .inner_depth = 1});
}

/* Writes the operators that follow p's products, whose results are in the variables `name`, and stores what the
 * group writes. */
static void epilogue(fsim_emitter *e, const fsim_tile_writing *t, int base, const char *const *name, const bool *write)
{
    const fsim_tile_plan *p = t->plan;
    const fsim_where element = {base, p->product[0].result};
    for (int i = 0; i < p->products; i++)
        e->computed[p->product[i].member] = (fsim_computed){.name = name[i], .depth = 1};
    const fsim_where point = fsim_through(e, &element, &p->product[0].points);
    for (int i = 0; i < e->group->writes; i++) {
        if (!write[i])
            continue;
        const fsim_where at = fsim_through(e, &point, &e->group->write[i].map);
        const fsim_variable v = fsim_value(e, e->group->write[i].tensor, &at);
        fsim_store_value(e, e->group->write[i].tensor, &at, v.name, false);
    }
    if (t->totals)
        fsim_totals_take(t->totals, &point, t->kind);
    for (int i = 0; i < p->products; i++)
        e->computed[p->product[i].member] = (fsim_computed){0};
}

static void put_lanes(fsim_emitter *e, const fsim_tile_writing *t)
{
    const char *lanes =
        t->totals ? fsim_printf(e->a, "FS_LANES_BY(c, %s)", fsim_totals_clause(t->totals)) : "FS_LANES(c)";
    fsim_text_put(e->a, &e->out, "%s%s    %s\n%s    FS_LANES_END\n%s", fsim_text_of(&e->head), fsim_text_of(&e->before),
                  lanes, fsim_text_of(&e->body), fsim_text_of(&e->after));
}

static const char *type_of(const fsim_emitter *e, const fsim_tile_product *p)
{
    return fsim_ctype_names[fsim_ctype_of(e->g->tensor[p->node->result[0]].dtype)];
}

static void results(fsim_emitter *e, const fsim_tile_writing *t, const bool *write)
{
    const fsim_tile_plan *p = t->plan;
    static const char *const sum[2] = {"sum", "sum2"};
    const int base = result_lanes(e, t);
    const fsim_tile_product *a = &p->product[0];
    const char *name[2];
    for (int i = 0; i < p->products && t->of->parts == 1; i++) {
        name[i] = fsim_fresh(e, "a");
        fsim_say(e, 1, "const %s %s = FS_TILE_SUMMED(%s); /* %s */", type_of(e, a), name[i], sum[i],
                 e->g->tensor[p->product[i].node->result[0]].name);
    }
    if (t->of->parts == 1) {
        epilogue(e, t, base, name, write);
    } else {
        fsim_text_put(e->a, &e->before, "        FS_ROOM(%s, part_sum)\n", type_of(e, a));
        fsim_say(e, 0, "const fs_int row = (part * %lld + o) * %lld;", (long long)(a->batch * a->rows),
                 (long long)a->columns);
        fsim_say(e, 1, "FS_PUT(part_sum, %s, row + c, FS_TILE_SUMMED(sum));", t->partial);
        fsim_text_put(e->a, &e->after, "        FS_FLUSH(%s, part_sum, %s, row + c)\n", type_of(e, a), t->partial);
    }
    if (t->totals)
        fsim_totals_declare(t->totals, t->kind);
    fsim_text_put(e->a, &e->out, "    FS_TILE_RESULTS(%s, o, c, b, %d)\n", t->kind, p->vector);
    put_lanes(e, t);
    fsim_text_put(e->a, &e->out, "    FS_TILE_RESULTS_END\n");
    if (t->totals)
        fsim_totals_leave(t->totals, t->kind);
}

int64_t fsim_tile_sum_blocks(const fsim_tile_writing *t)
{
    const fsim_tile_plan *p = t->plan;
    const int64_t each = (int64_t)t->threads * p->vector;
    return (p->product[0].node->points + each - 1) / each;
}

void fsim_tile_sum_text(fsim_emitter *e, const fsim_tile_writing *t, const bool *write)
{
    const fsim_tile_plan *p = t->plan;
    const int base = result_lanes(e, t);
    const fsim_tile_product *a = &p->product[0];
    const char *name = fsim_fresh(e, "a");
    fsim_say(e, 0, "const fs_int row = o * %lld;", (long long)a->columns);
    fsim_say(e, 1, "%s %s = 0; /* %s */", type_of(e, a), name, e->g->tensor[a->node->result[0]].name);
    fsim_say(e, 1, "for (fs_int part = 0; part < %d; part++)", t->of->parts);
    fsim_say(e, 2, "%s += %s[part * %lld + row + c];", name, t->partial, (long long)a->node->points);
    epilogue(e, t, base, &name, write);
    fsim_text_put(e->a, &e->out, "    FS_POINTS(0, o, c, %lld, %lld, %d)\n", (long long)a->node->points,
                  (long long)a->columns, p->vector);
    put_lanes(e, t);
    fsim_text_put(e->a, &e->out, "    FS_POINTS_END\n");
}

static void multiply(fsim_emitter *e, const fsim_tile_writing *t)
{
    for (int i = 0; i < t->plan->products; i++)
        fsim_text_put(e->a, &e->out, "    FS_TILE_MULTIPLY(%s, %s, %s, %s)\n", t->kind, sum_names[i], operand_names[0],
                      operand_names[i + 1]);
}

/* Begins a loop along k: FS_TILE_STEPS, or a part of it. */
static void begin_steps(fsim_emitter *e, const fsim_tile_writing *t, const char *which)
{
    const char *part = t->of->parts == 1 ? "(" : fsim_printf(e->a, "_OF(part, %lld, ", (long long)t->of->span);
    fsim_text_put(e->a, &e->out, "    FS_TILE_%sSTEPS%s%lld)\n", which, part, (long long)t->plan->product[0].depth);
}

static void load_step(fsim_emitter *e, const fsim_tile_writing *t)
{
    for (int i = 0; i <= t->plan->products; i++)
        load_operand(e, t, i);
    if (t->plan->l.async)
        fsim_text_put(e->a, &e->out, "    FS_TILE_COMMIT\n");
}

/* Groups of warps: a step's products run while the next operands are copied. Each step of that loop multiplies, or the
 * compiler lets the products wait for each other. */
static void grouped_steps(fsim_emitter *e, const fsim_tile_writing *t)
{
    begin_steps(e, t, "FIRST_");
    load_step(e, t);
    fsim_text_put(e->a, &e->out, "    FS_TILE_STEPS_END\n");
    begin_steps(e, t, "NEXT_");
    fsim_text_put(e->a, &e->out, "    FS_TILE_READY_ASYNC\n");
    multiply(e, t);
    load_step(e, t);
    fsim_text_put(e->a, &e->out, "    FS_TILE_MULTIPLIED\n    FS_TILE_STEPS_END\n");
}

static void steps(fsim_emitter *e, const fsim_tile_writing *t)
{
    const fsim_tile_plan *p = t->plan;
    if (p->l.grouped) {
        grouped_steps(e, t);
        return;
    }
    begin_steps(e, t, "");
    fsim_text_put(e->a, &e->out, "    FS_TILE_READY%s\n", p->l.async ? "_ASYNC" : "");
    load_step(e, t);
    multiply(e, t);
    for (int i = 0; i <= p->products; i++)
        if (!p->l.copied[i])
            fsim_text_put(e->a, &e->out, "    FS_TILE_STORE(%s)\n", operand_names[i]);
    fsim_text_put(e->a, &e->out, "    FS_TILE_STEPS_END\n");
}

void fsim_tile_sums_text(fsim_emitter *e, const fsim_tile_writing *t, int64_t first)
{
    const fsim_tile_plan *p = t->plan;
    const fsim_tile_product *a = &p->product[0];
    fsim_text_put(e->a, &e->out, "    FS_TILE(%s, %d, %d, %d, %d, %d, %d)\n", t->kind, p->l.m, p->l.n, p->l.step,
                  p->l.stages, p->l.across_m, p->l.across_n);
    const char *place = t->of->parts == 1 ? fsim_printf(e->a, "(b, %lld,", (long long)first)
                                          : fsim_printf(e->a, "_PART(b, part, %d,", t->of->parts);
    fsim_text_put(e->a, &e->out, "    FS_TILE_PLACE%s %lld, %lld, %lld, %d)\n", place, (long long)a->batch,
                  (long long)a->rows, (long long)a->columns, BAND);
    for (int i = 0; i <= p->products; i++)
        fsim_text_put(e->a, &e->out, "    FS_TILE_%s(%s, %s, %d, %d)\n", i ? "COLUMNS" : "ROWS", t->kind,
                      operand_names[i], fsim_tile_side_of(p, i)->along_k, p->l.vector[i]);
    for (int i = 0; i < p->products; i++)
        fsim_text_put(e->a, &e->out, "    FS_TILE_SUM(%s, %s)\n", t->kind, sum_names[i]);
    steps(e, t);
    for (int i = 0; i < p->products && p->l.grouped; i++)
        fsim_text_put(e->a, &e->out, "    FS_TILE_SETTLE(%s)\n", sum_names[i]);
}

void fsim_tile_end_text(fsim_emitter *e) { fsim_text_put(e->a, &e->out, "    FS_TILE_PLACE_END\n    FS_TILE_END\n"); }

void fsim_tile_text(fsim_emitter *e, const fsim_tile_writing *t, int64_t first, const bool *write)
{
    fsim_tile_sums_text(e, t, first);
    results(e, t, write);
    fsim_tile_end_text(e);
}
