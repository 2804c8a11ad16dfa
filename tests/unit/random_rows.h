/* SPDX-License-Identifier: Apache-2.0 */
/* random_rows.h: small workloads by chance, of operators that kernels over rows have. */
#ifndef FUSESIM_TESTS_RANDOM_ROWS_H
#define FUSESIM_TESTS_RANDOM_ROWS_H

#include "base/arena.h"
#include "random.h"

enum { ALL_OF_IT, EACH_ROW, EACH_COLUMN, HALVES }; /* [R, C]; [R, 1]; [C]; [R, C] of two bytes an element */
enum { MOST_TENSORS = 40 };

typedef struct {
    fsim_arena *a;
    const char *text, *name[MOST_TENSORS];
    int kind[MOST_TENSORS], count, rows, columns;
} rows_draft;

static inline int pick_tensor(const rows_draft *d, unsigned kinds)
{
    int at = (int)draw((uint32_t)d->count);
    while (!(kinds >> d->kind[at] & 1))
        at = (at + 1) % d->count;
    return at;
}

static inline void add_operator(rows_draft *d, const char *out, int kind, const char *line)
{
    d->text = fsim_printf(d->a, "%s%s", d->text, line);
    d->name[d->count] = out;
    d->kind[d->count++] = kind;
}

/* One more operator, on what there is. */
static inline void grow_rows(rows_draft *d, int i)
{
    static const char *const unary[] = {"exp", "relu", "tanh", "neg", "sigmoid", "gelu", "abs"}, *const binary[] = {
                                                                                                     "add", "mul",
                                                                                                     "maximum", "sub"};
    static const char *const reduce[] = {"sum", "max", "mean", "min"};
    const char *out = fsim_printf(d->a, "t%d", i), *last = d->name[d->count - 1];
    const int any = pick_tensor(d, 15), full = pick_tensor(d, 1 << ALL_OF_IT),
              wide = pick_tensor(d, 1 << ALL_OF_IT | 1 << HALVES);
    const bool square = d->rows == d->columns, follow = draw(2) && d->kind[d->count - 1] == ALL_OF_IT;
    const char *x = follow ? last : d->name[full];
    switch (draw(19)) {
    case 0:
    case 1:
    case 2:
        add_operator(d, out, d->kind[any],
                     fsim_printf(d->a, "  - {op: %s, in: %s, out: %s}\n", unary[draw(7)], d->name[any], out));
        break;
    case 3:
    case 4:
    case 5:
        add_operator(d, out, ALL_OF_IT,
                     fsim_printf(d->a, "  - {op: %s, in: [%s, %s], out: %s}\n", binary[draw(4)], x, d->name[any], out));
        break;
    case 6:
        add_operator(
            d, out, EACH_ROW,
            fsim_printf(d->a, "  - {op: %s, in: %s, out: %s, dims: [1], keepdim: true}\n", reduce[draw(4)], x, out));
        break;
    case 7:
        add_operator(d, out, EACH_COLUMN,
                     fsim_printf(d->a, "  - {op: %s, in: %s, out: %s, dims: [0]}\n", reduce[draw(4)], x, out));
        break;
    case 8:
        add_operator(d, out, ALL_OF_IT,
                     fsim_printf(d->a, "  - {op: softmax, in: %s, out: %s, dim: %d}\n", x, out, (int)draw(2)));
        break;
    case 9:
        add_operator(d, out, ALL_OF_IT, fsim_printf(d->a, "  - {op: layer_norm, in: %s, out: %s}\n", x, out));
        break;
    case 10:
        add_operator(
            d, out, HALVES,
            fsim_printf(d->a, "  - {op: cast, in: %s, out: %s, dtype: %s}\n", x, out, draw(2) ? "f16" : "bf16"));
        break;
    case 11:
        add_operator(d, out, ALL_OF_IT,
                     square ? fsim_printf(d->a, "  - {op: matmul, in: [%s, %s], out: %s}\n", x, d->name[full], out)
                            : fsim_printf(d->a, "  - {op: matmul, in: [%s, w], out: %s}\n", x, out));
        break;
    case 12:
        add_operator(d, out, ALL_OF_IT,
                     square ? fsim_printf(d->a, "  - {op: transpose, in: %s, out: %s, dims: [0, 1]}\n", x, out)
                            : fsim_printf(d->a, "  - {op: flip, in: %s, out: %s, dims: [%d]}\n", x, out, (int)draw(2)));
        break;
    case 13:
        add_operator(d, out, ALL_OF_IT,
                     fsim_printf(d->a, "  - {op: roll, in: %s, out: %s, dims: [%d], roll: [%d]}\n", x, out,
                                 (int)draw(2), 1 + (int)draw(3)));
        break;
    case 14:
        add_operator(d, out, ALL_OF_IT, fsim_printf(d->a, "  - {op: gather, in: [%s, at], out: %s}\n", x, out));
        break;
    case 15:
        add_operator(d, out, ALL_OF_IT, fsim_printf(d->a, "  - {op: dropout, in: %s, out: %s, p: 0.5}\n", x, out));
        break;
    case 16: { /* halves of rows, the other way round */
        const int half = d->columns / 2;
        d->text = fsim_printf(d->a,
                              "%s  - {op: slice, in: %s, out: %sl, dim: 1, start: 0, size: %d}\n  - {op: slice, in: "
                              "%s, out: %sh, dim: 1, start: %d, size: %d}\n",
                              d->text, x, out, half, x, out, half, d->columns - half);
        add_operator(d, out, ALL_OF_IT,
                     fsim_printf(d->a, "  - {op: concat, in: [%sh, %sl], out: %s, dim: 1}\n", out, out, out));
        break;
    }
    case 17:
        add_operator(d, out, ALL_OF_IT,
                     fsim_printf(d->a, "  - {op: cumsum, in: %s, out: %s, dim: %d}\n", x, out, (int)draw(2)));
        break;
    default:
        add_operator(
            d, out, ALL_OF_IT,
            fsim_printf(d->a, "  - {op: %s, in: [%s, %s], out: %s}\n", binary[draw(3)], x, d->name[wide], out));
    }
}

/* In it so many operators on [R, C] tensors. */
static inline const char *random_rows(fsim_arena *a, int operators)
{
    static const int rows[] = {5, 33, 64, 200}, columns[] = {6, 64, 100, 260};
    rows_draft d = {.a = a,
                    .name = {"x0", "x1", "b", "r"},
                    .kind = {ALL_OF_IT, ALL_OF_IT, EACH_COLUMN, EACH_ROW},
                    .count = 4,
                    .rows = rows[draw(4)],
                    .columns = columns[draw(4)]};
    if (draw(3) == 0)
        d.rows = d.columns = draw(2) ? 64 : 48;
    d.text = fsim_printf(a,
                         "name: random\ntensors:\n  x0: {shape: [%d, %d], dtype: f32, role: input}\n  x1: {shape: [%d, "
                         "%d], dtype: f32, role: input}\n  b: {shape: [%d], dtype: f32, role: weight}\n"
                         "  r: {shape: [%d, 1], dtype: f32, role: input}\n  w: {shape: [%d, %d], dtype: f32, role: "
                         "weight}\n  at: {shape: [%d], dtype: i64, role: input}\noperators:\n",
                         d.rows, d.columns, d.rows, d.columns, d.columns, d.rows, d.columns, d.columns, d.rows);
    for (int i = 0; i < operators; i++)
        grow_rows(&d, i);
    return d.text;
}

#endif
