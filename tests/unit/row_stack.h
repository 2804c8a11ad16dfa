/* SPDX-License-Identifier: Apache-2.0 */
/* row_stack.h: stacks of equal layers through which few states lead, by chance. Needs draw() of random.h. */
#ifndef FUSESIM_TESTS_ROW_STACK_H
#define FUSESIM_TESTS_ROW_STACK_H

#include "base/arena.h"

/* A layer of a product and more operators, `count` in all, each on the one before, and a running sum at its end, which
 * nothing computes again and some on what is further back in
 * the layer, on a weight of the layer's own, or on one that all layers share; `before` operators in front of the stack,
 * and two behind it. */
typedef struct {
    int count, op[8], from[8], before, layers;
    bool own_weight, shared;
} stack;

static inline stack random_stack(void)
{
    stack s = {.count = 2 + (int)draw(4), .before = (int)draw(3), .own_weight = draw(2), .shared = draw(2)};
    for (int i = 0; i < s.count; i++) {
        s.op[i] = (int)draw(6);
        s.from[i] = (int)draw((uint32_t)i + 1);
    }
    return s;
}

/* side: of the square tensors. */
static inline const char *stack_text(fsim_arena *a, const stack *s, int layers, int side)
{
    static const char *const unary[] = {"exp", "relu", "tanh", "neg", "sin", "cos"};
    const char *text = fsim_printf(a,
                                   "name: stack\ntensors:\n  x: {shape: [%d, %d], dtype: f32}\n  u: {shape: [%d, "
                                   "%d], dtype: f32, role: weight}\n",
                                   side, side, side, side),
               *in = "x";
    for (int l = 0; l < layers && s->own_weight; l++)
        text = fsim_printf(a, "%s  w%d: {shape: [%d, %d], dtype: f32, role: weight}\n", text, l, side, side);
    text = fsim_printf(a, "%soperators:\n", text);
    for (int i = 0; i < s->before; i++) {
        text = fsim_printf(a, "%s  - {op: sigmoid, in: %s, out: b%d}\n", text, in, i);
        in = fsim_printf(a, "b%d", i);
    }
    for (int l = 0; l < layers; l++) {
        const char *name[9] = {in};
        for (int i = 0; i < s->count; i++) {
            const char *out = fsim_printf(a, "t%d_%d", l, i), *other = i == 0 && s->own_weight
                                                                           ? fsim_printf(a, "w%d", l)
                                                                       : i == 0 && s->shared ? "u"
                                                                                             : name[s->from[i]];
            if (i == s->count - 1)
                text = fsim_printf(a, "%s  - {op: cumsum, in: %s, out: %s, dim: 1}\n", text, name[i], out);
            else if (s->op[i] < 3 || i == 0)
                text = fsim_printf(a, "%s  - {op: %s, in: [%s, %s], out: %s}\n", text, i ? "mul" : "matmul", name[i],
                                   other, out);
            else
                text = fsim_printf(a, "%s  - {op: %s, in: %s, out: %s}\n", text, unary[s->op[i]], name[i], out);
            name[i + 1] = out;
        }
        in = name[s->count];
    }
    return fsim_printf(a, "%s  - {op: sigmoid, in: %s, out: e0}\n  - {op: log, in: e0, out: e1}\n", text, in);
}

#endif
