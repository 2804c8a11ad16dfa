/* SPDX-License-Identifier: Apache-2.0 */
/* random_workload.h: small workloads by chance. */
#ifndef FUSESIM_TESTS_RANDOM_WORKLOAD_H
#define FUSESIM_TESTS_RANDOM_WORKLOAD_H

#include "base/arena.h"
#include "random.h"

enum { FULL, ROW, HALF }; /* [R, C]; [R, 1]; [R, C] of two bytes an element */

/* Whether sums and means of all elements are among them: in long runs (FUSESIM_RANDOM_GRAPHS), so that usual ones have
 * the graphs that they had. */
static bool has_totals;

/* n primitives over [rows, columns] tensors: forks, joins, shared inputs, broadcasts, reductions, casts, slices of a
 * row's halves put together again, random numbers, sums over all rows, and where they are square transposes and
 * contractions; some results reach memory for their own sake. turns: the whole as a block so many times. */
static inline const char *random_workload(fsim_arena *a, int n, int rows, int columns, int turns)
{
    static const char *const unary[] = {"exp", "relu", "tanh", "neg", "sqrt"}, *const binary[] = {"add", "mul",
                                                                                                  "maximum", "sub"};
    const char *text =
        fsim_printf(a,
                    "name: random\ntensors:\n  x0: {shape: [%d, %d], dtype: f32, role: input}\n  x1: {shape: [%d, %d], "
                    "dtype: f32, role: input}\n"
                    "  x2: {shape: [%d], dtype: f32, role: weight}\n  x3: {shape: [%d, 1], dtype: f32, role: "
                    "input}\n  mask: {shape: [%d, %d], dtype: bool, role: input}\noperators:\n%s",
                    rows, columns, rows, columns, columns, rows, rows, columns,
                    turns > 1 ? fsim_printf(a, "- repeat: %d\n  carry: {x0: next}\n  operators:\n", turns) : "");
    const char *name[32] = {"x0", "x1", "x2", "x3"};
    int kind[32] = {FULL, FULL, FULL, ROW}, count = 4; /* x2 broadcasts to a full one */
    const char *kept = "";
    for (int i = 0; i < n; i++) {
        const char *out = fsim_printf(a, "t%d", i);
        int x = (int)draw((uint32_t)count), y = (int)draw((uint32_t)count);
        if (i > 0 && draw(2))
            x = count - 1; /* depth */
        const uint32_t what = draw(16);
        const bool whole = kind[x] == FULL && x != 2;
        const char *line = fsim_printf(a, "  - {op: %s, in: %s, out: %s}\n", unary[draw(5)], name[x], out);
        int made = kind[x];
        if (what < 6) {
            if (kind[x] == ROW && kind[y] == ROW) {
                line = fsim_printf(a, "  - {op: %s, in: [%s, %s], out: %s}\n", binary[draw(4)], name[x], name[y], out);
            } else {
                if (kind[x] == ROW || x == 2)
                    x = (int)draw(2);
                line = fsim_printf(a, "  - {op: %s, in: [%s, %s], out: %s}\n", binary[draw(4)], name[x], name[y], out);
                made = kind[x] == HALF && (kind[y] == HALF) ? HALF : FULL;
            }
        } else if (what == 6 && whole) {
            line = fsim_printf(a, "  - {op: %s, in: %s, out: %s, dims: [1], keepdim: true}\n", draw(2) ? "sum" : "max",
                               name[x], out);
            made = ROW;
        } else if (what == 7 && whole) {
            line = fsim_printf(a, "  - {op: cast, in: %s, out: %s, dtype: f16}\n", name[x], out);
            made = HALF;
        } else if (what == 8 && whole && rows == columns) {
            const int b = kind[y] == FULL && y != 2 ? y : (int)draw(2);
            line = fsim_printf(a, "  - {op: matmul, in: [%s, %s], out: %s}\n", name[x], name[b], out);
        } else if (what == 9 && whole && rows == columns) {
            line = fsim_printf(a, "  - {op: transpose, in: %s, out: %s, dims: [0, 1]}\n", name[x], out);
        } else if (what == 10 && whole && kind[y] == FULL && y != 2 && columns % 2 == 0) {
            line = fsim_printf(a, "  - {op: where, in: [mask, %s, %s], out: %s}\n", name[y], name[x], out);
        } else if (what == 11 && whole) {
            line = fsim_printf(a, "  - {op: dropout, in: %s, out: %s, p: 0.5}\n", name[x], out);
        }
        if (what == 12 && whole && rows > 1) {
            line = fsim_printf(a, "  - {op: %s, in: %s, out: %s, dims: [0]}\n", draw(3) ? "sum" : "max", name[x], out);
            made = -1;
        } else if (what == 13 && kind[x] == ROW) {
            line = fsim_printf(a, "  - {op: mean, in: %s, out: %s_all}\n  - {op: neg, in: %s_all, out: %s}\n", name[x],
                               out, out, out);
            made = -1;
        } else if (what >= 14 && has_totals && x != 2) {
            line = fsim_printf(a, "  - {op: %s, in: %s, out: %s}\n", what == 14 ? "sum" : "mean", name[x], out);
            made = -1;
        }
        if (x == 2 && what >= 6)
            made = -1; /* a vector: nothing but unary operators took it */
        text = fsim_printf(a, "%s%s", text, line);
        if (draw(12) == 0)
            kept = fsim_printf(a, "%s%s%s", kept, *kept ? ", " : "", out);
        if (made >= 0) {
            name[count] = out;
            kind[count++] = made;
        }
    }
    if (turns > 1) { /* the same block again, on what it made */
        int last = count - 1;
        while (kind[last] != FULL || last == 2)
            last--;
        return fsim_printf(a, "%s  - {op: maximum, in: [%s, x1], out: next}\n", text, name[last]);
    }
    return *kept && draw(2) ? fsim_printf(a, "%smaterialize: [%s]\n", text, kept) : text;
}

#endif
