/* SPDX-License-Identifier: Apache-2.0 */
/* cost: 4 */
/* The interpreter: each class of operators against numbers done by hand (or by PyTorch), dtypes bit by bit, and bounds
 * that see what is wrong and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "validate/reference/inputs.h"
#include "validate/reference/interpret.h"
#include "validate/reference/reference.h"
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef FSIM_SANITIZED
enum { EVERY = 8, SMALL = 10000000, REAL = 10 };
#else
enum { EVERY = 1, SMALL = 30000000, REAL = 20 };
#endif

typedef struct {
    fsim_arena *a;
    fsim_graph *g;
    fsim_reference *r;
} subject;

static subject interpret_with(const char *path, const char *text, size_t bytes, const fsim_binding *set, int sets,
                              uint64_t seed)
{
    subject s = {.a = fsim_arena_new()};
    fsim_diag *d = fsim_diag_new(s.a);
    s.g = fsim_graph_parse(s.a, d, path, text, bytes, &(fsim_bindings){set, sets, NULL});
    if (!s.g)
        fsim_diag_print(d, stderr, true);
    assert_non_null(s.g);
    s.r = fsim_reference_of(s.g, seed);
    return s;
}

static subject interpret(const char *text) { return interpret_with("test.yaml", text, strlen(text), NULL, 0, 1); }

static void end(subject *s)
{
    fsim_reference_free(s->r);
    fsim_arena_free(s->a);
}

static int id(const subject *s, const char *name)
{
    for (int t = 0; t < s->g->tensors; t++)
        if (strcmp(s->g->tensor[t].name, name) == 0)
            return t;
    fail_msg("no tensor %s", name);
    return -1;
}

static const fsim_expected *of(const subject *s, const char *name)
{
    return &s->r->of[s->g->tensor[id(s, name)].storage];
}

/* One operator on tensors whose elements are known: ramps, made of sums of ones. x: 1 2 3 4 5 6 as [2, 3]; n: -3 -2 -1
 * 0 1 2 as [2, 3]; y: 1 ... 6 as [3, 2]; s: 4 1 3 2 as [4]; v: 1 2 3 as [3]; w: 1 ... 16 as [1, 1, 4, 4]; z: 1 2 3 4 as
 * [1, 1, 2, 2]; i: 2 0 (i64). */
static const char prelude[] = "tensors: {}\n"
                              "operators:\n"
                              "  - {op: fill, out: o16, shape: [16], value: 1, dtype: i64}\n"
                              "  - {op: cumsum, in: o16, out: i16, dim: 0}\n"
                              "  - {op: cast, in: i16, out: r16, dtype: f32}\n"
                              "  - {op: slice, in: r16, out: r6, dim: 0, start: 0, size: 6}\n"
                              "  - {op: slice, in: r16, out: v, dim: 0, start: 0, size: 3}\n"
                              "  - {op: slice, in: r16, out: r4, dim: 0, start: 0, size: 4}\n"
                              "  - {op: reshape, in: r6, out: x, shape: [2, 3]}\n"
                              "  - {op: reshape, in: r6, out: y, shape: [3, 2]}\n"
                              "  - {op: sub, in: x, out: n, scalar: 4}\n"
                              "  - {op: reshape, in: r16, out: w, shape: [1, 1, 4, 4]}\n"
                              "  - {op: reshape, in: r4, out: z, shape: [1, 1, 2, 2]}\n"
                              "  - {op: flip, in: r4, out: f4, dims: [0]}\n"
                              "  - {op: slice, in: f4, out: p4, dim: 0, start: 0, size: 1}\n"
                              "  - {op: slice, in: r4, out: q4, dim: 0, start: 0, size: 1}\n"
                              "  - {op: slice, in: f4, out: t4, dim: 0, start: 1, size: 2}\n"
                              "  - {op: concat, in: [p4, q4, t4], out: s, dim: 0}\n"
                              "  - {op: slice, in: f4, out: three, dim: 0, start: 1, size: 1}\n"
                              "  - {op: sub, in: three, out: two, scalar: 1}\n"
                              "  - {op: sub, in: three, out: zero, scalar: 3}\n"
                              "  - {op: concat, in: [two, zero], out: fi, dim: 0}\n"
                              "  - {op: cast, in: fi, out: i, dtype: i64}\n"
                              "  - {op: gt, in: n, out: m, scalar: 0}\n";

static const struct {
    const char *op;
    int count;
    double want[16];
} cases[] = {
    {"{op: add, in: [x, v], out: o}", 6, {2, 4, 6, 5, 7, 9}},
    {"{op: sub, in: [v, x], out: o}", 6, {0, 0, 0, -3, -3, -3}},
    {"{op: mul, in: x, out: o, scalar: 0.5}", 6, {0.5, 1, 1.5, 2, 2.5, 3}},
    {"{op: div, in: [x, v], out: o}", 6, {1, 1, 1, 4, 2.5, 2}},
    {"{op: pow, in: x, out: o, scalar: 2}", 6, {1, 4, 9, 16, 25, 36}},
    {"{op: pow, in: [x, v], out: o}", 6, {1, 4, 27, 4, 25, 216}},
    {"{op: maximum, in: [n, v], out: o}", 6, {1, 2, 3, 1, 2, 3}},
    {"{op: minimum, in: n, out: o, scalar: 0}", 6, {-3, -2, -1, 0, 0, 0}},
    {"{op: neg, in: n, out: o}", 6, {3, 2, 1, 0, -1, -2}},
    {"{op: abs, in: n, out: o}", 6, {3, 2, 1, 0, 1, 2}},
    {"{op: exp, in: n, out: o}",
     6,
     {0.049787068367863944, 0.1353352832366127, 0.36787944117144233, 1, 2.718281828459045, 7.38905609893065}},
    {"{op: log, in: v, out: o}", 3, {0, 0.6931471805599453, 1.0986122886681098}},
    {"{op: sqrt, in: v, out: o}", 3, {1, 1.4142135623730951, 1.7320508075688772}},
    {"{op: rsqrt, in: r4, out: o}", 4, {1, 0.7071067811865476, 0.5773502691896258, 0.5}},
    {"{op: reciprocal, in: r4, out: o}", 4, {1, 0.5, 0.3333333333333333, 0.25}},
    {"{op: sin, in: v, out: o}", 3, {0.8414709848078965, 0.9092974268256817, 0.1411200080598672}},
    {"{op: cos, in: v, out: o}", 3, {0.5403023058681398, -0.4161468365471424, -0.9899924966004454}},
    {"{op: erf, in: v, out: o}", 3, {0.8427007929497149, 0.9953222650189527, 0.9999779095030014}},
    {"{op: tanh, in: v, out: o}", 3, {0.7615941559557649, 0.9640275800758169, 0.9950547536867305}},
    {"{op: sigmoid, in: n, out: o}",
     6,
     {0.04742587317756678, 0.11920292202211755, 0.2689414213699951, 0.5, 0.7310585786300049, 0.8807970779778823}},
    {"{op: relu, in: n, out: o}", 6, {0, 0, 0, 0, 1, 2}},
    {"{op: relu6, in: r16, out: o}", 16, {1, 2, 3, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6}},
    {"{op: leaky_relu, in: n, out: o, negative_slope: 0.5}", 6, {-1.5, -1, -0.5, 0, 1, 2}},
    {"{op: elu, in: n, out: o, alpha: 1}", 6, {-0.950212931632136, -0.8646647167633873, -0.6321205588285577, 0, 1, 2}},
    {"{op: selu, in: n, out: o}",
     6,
     {-1.670568728767112, -1.5201664685956948, -1.1113307378125625, 0, 1.05070098735548, 2.10140197471096}},
    {"{op: softplus, in: n, out: o}",
     6,
     {0.04858735157374206, 0.1269280110429726, 0.3132616875182228, 0.6931471805599453, 1.3132616875182228,
      2.1269280110429727}},
    {"{op: hardtanh, in: n, out: o}", 6, {-1, -1, -1, 0, 1, 1}},
    {"{op: clamp, in: n, out: o, min: -2}", 6, {-2, -2, -1, 0, 1, 2}},
    {"{op: clamp, in: n, out: o, min: -1, max: 1}", 6, {-1, -1, -1, 0, 1, 1}},
    {"{op: hardsigmoid, in: n, out: o}", 6, {0, 1.0 / 6, 2.0 / 6, 0.5, 4.0 / 6, 5.0 / 6}},
    {"{op: hardswish, in: n, out: o}", 6, {0, -2.0 / 6, -2.0 / 6, 0, 4.0 / 6, 10.0 / 6}},
    {"{op: eq, in: n, out: o, scalar: 0}", 6, {0, 0, 0, 1, 0, 0}},
    {"{op: tan, in: x, out: o}",
     6,
     {1.5574077246549023, -2.185039863261519, -0.1425465430742778, 1.1578212823495775, -3.380515006246586,
      -0.29100619138474915}},
    {"{op: atan, in: n, out: o}",
     6,
     {-1.2490457723982544, -1.1071487177940904, -0.7853981633974483, 0, 0.7853981633974483, 1.1071487177940904}},
    {"{op: sinh, in: n, out: o}",
     6,
     {-10.017874927409903, -3.626860407847019, -1.1752011936438014, 0, 1.1752011936438014, 3.626860407847019}},
    {"{op: cosh, in: n, out: o}",
     6,
     {10.067661995777765, 3.7621956910836314, 1.5430806348152437, 1, 1.5430806348152437, 3.7621956910836314}},
    {"{op: asinh, in: n, out: o}",
     6,
     {-1.8184464592320668, -1.4436354751788103, -0.881373587019543, 0, 0.881373587019543, 1.4436354751788103}},
    {"{op: acosh, in: x, out: o}",
     6,
     {0, 1.3169578969248166, 1.762747174039086, 2.0634370688955608, 2.2924316695611777, 2.477888730288475}},
    {"{op: log10, in: x, out: o}",
     6,
     {0, 0.3010299956639812, 0.47712125471966244, 0.6020599913279624, 0.6989700043360189, 0.7781512503836436}},
    {"{op: softsign, in: n, out: o}", 6, {-0.75, -0.6666666666666666, -0.5, 0, 0.5, 0.6666666666666666}},
    {"{op: tanhshrink, in: n, out: o}",
     6,
     {-2.0049452463132695, -1.035972419924183, -0.23840584404423515, 0, 0.23840584404423515, 1.035972419924183}},
    {"{op: logsigmoid, in: n, out: o}",
     6,
     {-3.048587351573742, -2.1269280110429727, -1.3132616875182228, -0.6931471805599453, -0.31326168751822286,
      -0.1269280110429725}},
    {"{op: isfinite, in: n, out: o}", 6, {1, 1, 1, 1, 1, 1}},
    {"{op: asin, in: h, out: o}",
     6,
     {-0.848062078981481, -0.5235987755982989, -0.25268025514207865, 0, 0.25268025514207865, 0.5235987755982989}},
    {"{op: acos, in: h, out: o}",
     6,
     {2.4188584057763776, 2.0943951023931957, 1.8234765819369754, 1.5707963267948966, 1.318116071652818,
      1.0471975511965976}},
    {"{op: atanh, in: h, out: o}",
     6,
     {-0.9729550745276566, -0.5493061443340548, -0.25541281188299536, 0, 0.25541281188299536, 0.5493061443340548}},
    {"{op: atan2, in: [n, v], out: o}",
     6,
     {-1.2490457723982544, -0.7853981633974483, -0.3217505543966422, 0, 0.4636476090008061, 0.5880026035475675}},
    {"{op: celu, in: n, out: o, alpha: 2}",
     6,
     {-1.5537396797031404, -1.2642411176571153, -0.7869386805747332, 0, 1, 2}},
    {"{op: hardshrink, in: n, out: o, lambd: 1.5}", 6, {-3, -2, 0, 0, 0, 2}},
    {"{op: softshrink, in: n, out: o, lambd: 1.5}", 6, {-1.5, -0.5, -0, 0, 0, 0.5}},
    {"{op: threshold, in: n, out: o, threshold: -1.5, value: 7}", 6, {7, 7, -1, 0, 1, 2}},
    {"{op: prelu, in: [n, v], out: o}", 6, {-3, -4, -3, 0, 1, 2}},
    {"{op: prelu, in: [nw, q4], out: o}", 16, {-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15, -16}},
    {"{op: bitwise_and, in: i16, out: o, scalar: 6}", 16, {0, 2, 2, 4, 4, 6, 6, 0, 0, 2, 2, 4, 4, 6, 6, 0}},
    {"{op: bitwise_or, in: i16, out: o, scalar: 6}", 16, {7, 6, 7, 6, 7, 6, 7, 14, 15, 14, 15, 14, 15, 14, 15, 22}},
    {"{op: bitwise_xor, in: [i16, i16], out: o}", 16, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"{op: bitwise_xor, in: i16, out: o, scalar: -3}",
     16,
     {-4, -1, -2, -7, -8, -5, -6, -11, -12, -9, -10, -15, -16, -13, -14, -19}},
    {"{op: bitwise_not, in: i16, out: o}",
     16,
     {-2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15, -16, -17}},
    {"{op: bitwise_not, in: m, out: o}", 6, {1, 1, 1, 1, 0, 0}},
    {"{op: bitwise_and, in: [m, m], out: o}", 6, {0, 0, 0, 0, 1, 1}},
    {"{op: bitwise_left_shift, in: i16, out: o, scalar: 3}",
     16,
     {8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128}},
    {"{op: bitwise_right_shift, in: i16, out: o, scalar: 1}", 16, {0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8}},
    {"{op: isnan, in: ln, out: o}", 6, {1, 1, 1, 0, 0, 0}},
    {"{op: isinf, in: ln, out: o}", 6, {0, 0, 0, 1, 0, 0}},
    {"{op: any, in: m, out: o, dim: 1}", 2, {0, 1}},
    {"{op: any, in: n, out: o, dim: 0}", 3, {1, 1, 1}},
    {"{op: all, in: n, out: o, dim: 1}", 2, {1, 0}},
    {"{op: all, in: m, out: o}", 1, {0}},
    {"{op: var, in: x, out: o, dim: 1}", 2, {1, 1}},
    {"{op: std, in: x, out: o, correction: 0}", 1, {1.707825127659933}},
    {"{op: glu, in: w, out: o, dim: 2}",
     8,
     {0.9998766054240137, 1.9999092042625952, 2.9999498957344564, 3.999975423301591, 4.999988698378511,
      5.999995010831833, 6.999997858684411, 7.999999099718703}},
    {"{op: le, in: [x, v], out: o}", 6, {1, 1, 1, 0, 0, 0}},
    {"{op: floor, in: q, out: o}", 6, {-2, -1, -1, 0, 0, 1}},
    {"{op: ceil, in: q, out: o}", 6, {-1, -1, -0, 0, 1, 1}},
    {"{op: round, in: q, out: o}", 6, {-2, -1, -0, 0, 0, 1}},
    {"{op: trunc, in: q, out: o}", 6, {-1, -1, -0, 0, 0, 1}},
    {"{op: sign, in: n, out: o}", 6, {-1, -1, -1, 0, 1, 1}},
    {"{op: square, in: n, out: o}", 6, {9, 4, 1, 0, 1, 4}},
    {"{op: log1p, in: x, out: o}",
     6,
     {0.6931471805599453, 1.09861228866811, 1.386294361119891, 1.6094379124341, 1.791759469228055, 1.945910149055313}},
    {"{op: expm1, in: n, out: o}",
     6,
     {-0.950212931632136, -0.8646647167633873, -0.6321205588285577, 0, 1.718281828459045, 6.38905609893065}},
    {"{op: log2, in: x, out: o}", 6, {0, 1, 1.584962500721156, 2, 2.321928094887362, 2.584962500721156}},
    {"{op: exp2, in: n, out: o}", 6, {0.125, 0.25, 0.5, 1, 2, 4}},
    {"{op: floor_divide, in: n, out: o, scalar: 2}", 6, {-2, -1, -1, 0, 0, 1}},
    {"{op: remainder, in: n, out: o, scalar: 2}", 6, {1, -0, 1, 0, 1, 0}},
    {"{op: remainder, in: x, out: o, scalar: -4}", 6, {-3, -2, -1, 0, -3, -2}},
    {"{op: fmod, in: n, out: o, scalar: 2}", 6, {-1, -0, -1, 0, 1, 0}},
    {"{op: floor_divide, in: [n, v], out: o}", 6, {-3, -1, -1, 0, 0, 0}},
    {"{op: logical_and, in: [m, n], out: o}", 6, {0, 0, 0, 0, 1, 1}},
    {"{op: logical_or, in: [m, n], out: o}", 6, {1, 1, 1, 0, 1, 1}},
    {"{op: logical_xor, in: [m, x], out: o}", 6, {1, 1, 1, 1, 0, 0}},
    {"{op: logical_not, in: n, out: o}", 6, {0, 0, 0, 1, 0, 0}},
    {"{op: where, in: [m, x], out: o, other: -1}", 6, {-1, -1, -1, -1, 5, 6}},
    {"{op: where, in: [m, x], out: o, input: 9}", 6, {1, 2, 3, 4, 9, 9}},
    {"{op: where, in: m, out: o, input: 2, other: 3}", 6, {3, 3, 3, 3, 2, 2}},
    {"{op: one_hot, in: i, out: o, num_classes: 3}", 6, {0, 0, 1, 1, 0, 0}},
    {"{op: where, in: [m, x, n], out: o}", 6, {-3, -2, -1, 0, 5, 6}},
    {"{op: masked_fill, in: [x, m], out: o, value: 9}", 6, {1, 2, 3, 4, 9, 9}},
    {"{op: cast, in: n, out: o, dtype: i8}", 6, {-3, -2, -1, 0, 1, 2}},
    {"{op: tril, in: x, out: o}", 6, {1, 0, 0, 4, 5, 0}},
    {"{op: triu, in: x, out: o, diagonal: 1}", 6, {0, 2, 3, 0, 0, 6}},
    {"{op: transpose, in: x, out: o}", 6, {1, 4, 2, 5, 3, 6}},
    {"{op: slice, in: x, out: o, dim: 1, start: 1, size: 2}", 4, {2, 3, 5, 6}},
    {"{op: expand, in: v, out: o, repeats: [2]}", 6, {1, 2, 3, 1, 2, 3}},
    {"{op: expand, in: v, out: o, shape: [2, 3]}", 6, {1, 2, 3, 1, 2, 3}},
    {"{op: flip, in: x, out: o, dims: [1]}", 6, {3, 2, 1, 6, 5, 4}},
    {"{op: concat, in: [x, n], out: o, dim: 1}", 12, {1, 2, 3, -3, -2, -1, 4, 5, 6, 0, 1, 2}},
    {"{op: pad, in: x, out: o, padding: [1, 0, 0, 1], value: 7}", 12, {7, 1, 2, 3, 7, 4, 5, 6, 7, 7, 7, 7}},
    {"{op: pad, in: x, out: o, padding: [-1, 1]}", 6, {2, 3, 0, 5, 6, 0}},
    {"{op: roll, in: x, out: o, dims: [0, 1], roll: [1, 1]}", 6, {6, 4, 5, 3, 1, 2}},
    {"{op: gather, in: [y, i], out: o}", 4, {5, 6, 1, 2}},
    {"{op: index_select, in: [x, i], out: o, dim: 1}", 4, {3, 1, 6, 4}},
    {"{op: gather, in: [x, ig], out: o, dim: 1}", 4, {3, 1, 6, 4}},
    {"{op: gather, in: [y, ig], out: o, dim: 0}", 4, {5, 2, 5, 2}},
    {"{op: index, in: [y, i], out: o}", 4, {5, 6, 1, 2}},
    {"{op: index, in: [x, i], out: o, dim: 1}", 4, {3, 1, 6, 4}},
    {"{op: index, in: [w, i, ic], out: o, dim: [2, 3]}", 4, {11, 3, 9, 1}},
    {"{op: index, in: [w, zz, ic], out: o, dim: [1, 3]}", 16, {3, 7, 11, 15, 3, 7, 11, 15, 1, 5, 9, 13, 1, 5, 9, 13}},
    {"{op: index, in: [w, zz, i, i], out: o, dim: [0, 2, 3]}", 2, {11, 1}},
    {"{op: embedding, in: [i, y], out: o}", 4, {5, 6, 1, 2}},
    {"{op: scatter, in: [y, i, z2], out: o, dim: 0}", 6, {3, 4, 3, 4, 1, 2}},
    {"{op: scatter, in: [x, i, z2], out: o, dim: 1}", 6, {2, 2, 1, 4, 5, 3}},
    {"{op: scatter_add, in: [x, ig, z2], out: o, dim: 1}", 6, {3, 2, 4, 8, 5, 9}},
    {"{op: scatter_add, in: [y, ig, z2], out: o, dim: 0}", 6, {1, 8, 3, 4, 9, 6}},
    {"{op: scatter_add, in: [x, zg, z2], out: o, dim: 1}", 6, {4, 2, 3, 11, 5, 6}},
    {"{op: index_copy, in: [yo, i, z2], out: o, dim: 0}", 6, {3, 4, 3, 4, 1, 2}},
    {"{op: index_copy, in: [xo, i, z2], out: o, dim: 1, inplace: false}", 6, {2, 2, 1, 4, 5, 3}},
    {"{op: index_add, in: [yo, i, z2], out: o, dim: 0}", 6, {4, 6, 3, 4, 6, 8}},
    {"{op: index_add, in: [xo, i, z2], out: o, dim: 1}", 6, {3, 2, 4, 8, 5, 9}},
    {"{op: index_add, in: [xo, i, z2], out: o, dim: 1, inplace: false}", 6, {3, 2, 4, 8, 5, 9}},
    {"{op: index_put, in: [yo, i, z2], out: o}", 6, {3, 4, 3, 4, 1, 2}},
    {"{op: index_put, in: [yo, i, z1, r2], out: o}", 6, {2, 2, 3, 4, 1, 6}},
    {"{op: index_put, in: [yo, zz, z1, r2], out: o, accumulate: true}", 6, {4, 2, 3, 4, 5, 6}},
    {"{op: sum, in: x, out: o, dims: [1]}", 2, {6, 15}},
    {"{op: sum, in: x, out: o, dims: [0], keepdim: true}", 3, {5, 7, 9}},
    {"{op: sum, in: m, out: o}", 1, {2}},
    {"{op: mean, in: x, out: o}", 1, {3.5}},
    {"{op: prod, in: x, out: o, dims: [1]}", 2, {6, 120}},
    {"{op: max, in: x, out: o, dims: [0]}", 3, {4, 5, 6}},
    {"{op: max, in: s, out: [p, o], dims: [0]}", 1, {0}},
    {"{op: min, in: s, out: [p, o], dims: [0]}", 1, {1}},
    {"{op: argmax, in: n, out: o, dim: 1}", 2, {2, 2}},
    {"{op: argmin, in: s, out: o, dim: 0}", 1, {1}},
    {"{op: norm, in: z, out: o}", 1, {5.477225575051661}},
    {"{op: norm, in: n, out: o, p: 1, dims: [1]}", 2, {6, 3}},
    {"{op: norm, in: v, out: o, p: 3}", 1, {3.3019272488946263}},
    {"{op: matmul, in: [x, y], out: o}", 4, {22, 28, 49, 64}},
    {"{op: matmul, in: [x, v], out: o}", 2, {14, 32}},
    {"{op: linear, in: [x, n, two], out: o}", 4, {-8, 10, -26, 19}},
    {"{op: einsum, in: [x, n], out: o, equation: \"ab,cb->ca\"}", 4, {-10, -28, 8, 17}},
    {"{op: einsum, in: [x, y, z2], out: o, equation: \"ij,jk,kl->li\"}", 4, {106, 241, 156, 354}},
    {"{op: einsum, in: [x, y, x], out: o, equation: \"ij,jk, il\"}", 6, {218, 289, 360, 284, 376, 468}},
    {"{op: einsum, in: [x, n, v], out: o, equation: \"ij,ij,j->i\"}", 2, {-20, 46}},
    {"{op: einsum, in: x, out: o, equation: \"ij->ji\"}", 6, {1, 4, 2, 5, 3, 6}},
    {"{op: einsum, in: x, out: o, equation: \"ij->j\"}", 3, {5, 7, 9}},
    {"{op: einsum, in: [x, y], out: o, equation: \"ij,jk\"}", 4, {22, 28, 49, 64}},
    {"{op: scaled_dot_product_attention, in: [h4, h4, h4], out: o, scale: 0.25}",
     4,
     {1.562176500885798, 1.622459331201854, 3.679178699175393, 3.731058578630005}},
    {"{op: bmm, in: [b1, b2], out: o}", 4, {22, 28, 49, 64}},
    {"{op: conv2d, in: [w, z], out: o}", 9, {44, 54, 64, 84, 94, 104, 124, 134, 144}},
    {"{op: conv2d, in: [w, z], out: o, stride: 2, padding: 1}", 9, {4, 18, 12, 46, 94, 44, 26, 44, 16}},
    {"{op: conv2d, in: [w, z], out: o, dilation: 3}", 1, {1 + 8 + 39 + 64}},
    {"{op: conv1d, in: [c1, c2], out: o, groups: 2}", 4, {5, 8, 32, 39}},
    {"{op: conv1d, in: [t1, t3], out: o}", 6, {7, 10, 15, 22, 23, 34}},
    {"{op: conv_transpose1d, in: [t1, t2], out: o}", 6, {13, 18, 17, 24, 21, 30}},
    {"{op: conv_transpose2d, in: [z, z], out: o}", 9, {1, 4, 4, 6, 20, 16, 9, 24, 16}},
    {"{op: conv_transpose2d, in: [z, z], out: o, stride: 2, padding: 1, output_padding: 1}",
     9,
     {4, 6, 8, 6, 4, 8, 12, 12, 16}},
    {"{op: max_pool2d, in: w, out: o, kernel: 2}", 4, {6, 8, 14, 16}},
    {"{op: max_pool2d, in: nw, out: o, kernel: 2, padding: 1}", 9, {-1, -2, -4, -5, -6, -8, -13, -14, -16}},
    {"{op: avg_pool2d, in: w, out: o, kernel: 2, padding: 1}", 9, {0.25, 1.25, 1, 3.5, 8.5, 5, 3.25, 7.25, 4}},
    {"{op: adaptive_avg_pool2d, in: w, out: o, output_size: [3, 1]}", 3, {4.5, 8.5, 12.5}},
    {"{op: arange, out: o, end: 5, start: -1, step: 2}", 3, {-1, 1, 3}},
    {"{op: arange, out: o, end: 0, start: 3, step: -1, dtype: f32}", 3, {3, 2, 1}},
    {"{op: interpolate, in: z, out: o, scale_factor: 2}", 16, {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}},
    {"{op: interpolate, in: z, out: o, scale_factor: 1.3}", 4, {1, 2, 3, 4}},
    {"{op: interpolate, in: z, out: o, scale_factor: 1.3, mode: bilinear}", 4, {1, 2, 3, 4}},
    {"{op: interpolate, in: z, out: o, size: 3}", 9, {1, 1, 2, 1, 1, 2, 3, 3, 4}},
    {"{op: interpolate, in: z, out: o, scale_factor: 2, mode: bilinear}",
     16,
     {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4}},
    {"{op: interpolate, in: z, out: o, size: [3, 4], mode: bilinear, align_corners: true}",
     12,
     {1, 1.333333333333333, 1.666666666666667, 2, 2, 2.333333333333333, 2.666666666666667, 3, 3, 3.333333333333333,
      3.666666666666667, 4}},
    {"{op: interpolate, in: w, out: o, size: 3, mode: bilinear}",
     9,
     {1.833333333333333, 3.166666666666667, 4.499999999999999, 7.166666666666667, 8.5, 9.833333333333332, 12.5,
      13.83333333333333, 15.16666666666667}},
    {"{op: interpolate, in: c1, out: o, scale_factor: 1.5, mode: linear}",
     8,
     {1, 1.5, 2.166666666666667, 2.833333333333333, 4, 4.5, 5.166666666666666, 5.833333333333334}},
    {"{op: interpolate, in: c1, out: o, scale_factor: 2.5}", 14, {1, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 6}},
    {"{op: interpolate, in: z5, out: o, size: [1, 2, 3], mode: trilinear}", 6, {1, 1.5, 2, 3, 3.5, 4}},
    {"{op: interpolate, in: w, out: o, size: 3, mode: bicubic}",
     9,
     {1.6307870370370416, 3.0046296296296333, 4.378472222222226, 7.12615740740741, 8.5, 9.873842592592592,
      12.621527777777784, 13.99537037037037, 15.369212962962964}},
    {"{op: interpolate, in: w, out: o, size: [2, 6], mode: bicubic, align_corners: true}",
     12,
     {1, 1.5039999999999991, 2.247999999999998, 2.751999999999999, 3.4959999999999978, 4, 13, 13.503999999999994,
      14.247999999999992, 14.752000000000002, 15.495999999999988, 16}},
    {"{op: interpolate, in: z, out: o, scale_factor: 2, mode: bicubic}",
     16,
     {0.68359375, 1.015625, 1.5625, 1.89453125, 1.34765625, 1.6796875, 2.2265625, 2.55859375, 2.44140625, 2.7734375,
      3.3203125, 3.65234375, 3.10546875, 3.4375, 3.984375, 4.31640625}},
    {"{op: batch_norm, in: [x, v, v, v, v3], out: [p, o, r], training: true, momentum: 0.3}",
     3,
     {1.45, 2.45, 3.4499999999999993}},
    {"{op: batch_norm, in: [x, v, v, v, v3], out: [p, r, o], training: true, momentum: 0.3}",
     3,
     {2.75, 4.1499999999999995, 5.549999999999999}},
    {"{op: batch_norm, in: [x, v, v, v, v3], out: [p, r, p2, o], training: true}", 3, {2.5, 3.5, 4.5}},
    {"{op: batch_norm, in: [x, v, v, v, v3], out: [p, r, p2, p3, o], training: true, eps: 0.5}",
     3,
     {0.6030226891555273, 0.6030226891555273, 0.6030226891555273}},
    {"{op: adaptive_max_pool2d, in: nw, out: o, output_size: [3, 2]}", 6, {-1, -3, -5, -7, -9, -11}},
    {"{op: adaptive_max_pool2d, in: w, out: o, output_size: 1}", 1, {16}},
    {"{op: unfold, in: x, out: o, dim: 1, size: 2}", 8, {1, 2, 2, 3, 4, 5, 5, 6}},
    {"{op: unfold, in: r16, out: o, dim: 0, size: 4, step: 5}", 12, {1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14}},
    {"{op: im2col, in: z, out: o, kernel: [2, 1], padding: [1, 0]}", 12, {0, 0, 1, 2, 3, 4, 1, 2, 3, 4, 0, 0}},
    {"{op: im2col, in: w, out: o, kernel: 2, stride: 2}", 16, {1, 3, 9, 11, 2, 4, 10, 12, 5, 7, 13, 15, 6, 8, 14, 16}},
    {"{op: embedding_bag, in: [ii, y, off], out: o}", 4, {0, 0, 3, 4}},
    {"{op: embedding_bag, in: [ii, y, off], out: o, mode: sum}", 4, {0, 0, 6, 8}},
    {"{op: embedding_bag, in: [ig, y], out: o, mode: sum}", 4, {6, 8, 6, 8}},
    {"{op: embedding_bag, in: [ig, y], out: o, mode: max}", 4, {5, 6, 5, 6}},
    {"{op: pixel_shuffle, in: p8, out: o, upscale_factor: 2}",
     16,
     {1, 3, 2, 4, 5, 7, 6, 8, 9, 11, 10, 12, 13, 15, 14, 16}},
    {"{op: repeat_interleave, in: x, out: o, repeats: 2, dim: 1}", 12, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}},
    {"{op: l1_loss, in: [x, n], out: o}", 1, {4}},
    {"{op: binary_cross_entropy_with_logits, in: [n, x], out: o}", 1, {-0.3963143451239872}},
    {"{op: cumsum, in: x, out: o, dim: 0}", 6, {1, 2, 3, 5, 7, 9}},
    {"{op: cumprod, in: x, out: o, dim: 1}", 6, {1, 2, 6, 4, 20, 120}},
    {"{op: sort, in: s, out: o, dim: 0}", 4, {1, 2, 3, 4}},
    {"{op: sort, in: s, out: [p, o], dim: 0}", 4, {1, 3, 2, 0}},
    {"{op: topk, in: s, out: o, k: 2}", 2, {4, 3}},
    {"{op: topk, in: [y], out: [p, o], k: 2, dim: 0}", 4, {2, 2, 1, 1}},
    {"{op: all_gather, in: v, out: o, size: 2}", 6, {1, 2, 3, 1, 2, 3}},
    {"{op: reduce_scatter, in: x, out: o, size: 2}", 3, {1, 2, 3}},
    {"{op: all_reduce, in: x, out: o}", 6, {1, 2, 3, 4, 5, 6}},
    {"{op: transfer, in: x, out: o}", 6, {1, 2, 3, 4, 5, 6}},
    {"{op: quantize_linear, in: [qx, q4], out: o, dtype: i8}", 6, {-112, -75, -37, 0, 37, 75}},
    {"{op: quantize_linear, in: [qx, v, v8], out: o, dtype: u8}", 6, {0, 0, 0, 1, 21, 28}},
    {"{op: quantize, in: qx, out: o, dtype: i8, per: tensor}", 6, {-127, -85, -42, 0, 42, 85}},
    {"{op: quantize, in: qx, out: o, per: tensor}", 6, {-448, -896 / 3., -448 / 3., 0, 448 / 3., 896 / 3.}},
    {"{op: quantize, in: qx, out: o, per: block, block: 3}", 6, {-448, -896 / 3., -448 / 3., 0, 224, 448}},
    {"{op: quantize, in: s, out: o, dtype: f4e2m1}", 2, {0x37, 0x56}}, /* of 4 1 3 2 the codes 7 3 6 5 */
    {"{op: dequantize_linear, in: [n8, v, z8], out: o}", 6, {-4, -8, -12, -1, -2, -3}},
    {"{op: dequantize_linear, in: [n8, r2], out: o, dim: 0}", 6, {-3, -2, -1, 0, 2, 4}},
    {"{op: unpack, in: u16, out: o}", 16, {13, 0, 10, 1, 7, 2, 4, 3, 1, 4, 14, 4, 11, 5, 8, 6}},
    {"{op: unpack, in: u4, out: o, bits: 2}", 16, {1, 3, 0, 0, 2, 2, 1, 0, 3, 1, 2, 0, 0, 1, 3, 0}},
    {"{op: softmax, in: v, out: o, dim: -1}", 3, {0.09003057317038046, 0.24472847105479764, 0.6652409557748218}},
    {"{op: layer_norm, in: v, out: o}", 3, {-1.22473568590839, 0, 1.22473568590839}},
    {"{op: gelu, in: v, out: o}", 3, {0.8413447460685429, 1.9544997361036416, 2.9959503059051097}},
    {"{op: rotary_embedding, in: [r4, k4, f4], out: o}", 4, {1 - 3 * 4, 2 - 4 * 3, 3 + 1 * 2, 4 + 2}},
    {"{op: cross_entropy, in: [x, i1], out: o}", 1, {(0.4076059644443803 + 2.4076059644443803) / 2}},
    {"{op: smooth_l1_loss, in: [v, v2], out: o}", 1, {(0.5 * 0.25 + 0.5 + 1) / 3}},
    {"{op: kl_div, in: [v, v2], out: o}",
     1,
     {(0.5 * -0.6931471805599453 - 0.5 + 0 - 2 + 1.5 * 0.4054651081081644 - 4.5) / 3}},
};

/* What some cases want besides. */
static const char more[] = "  - {op: reshape, in: r16, out: p8, shape: [1, 8, 1, 2]}\n"
                           "  - {op: reshape, in: r4, out: z5, shape: [1, 1, 1, 2, 2]}\n"
                           "  - {op: reshape, in: r4, out: h4, shape: [1, 2, 2, 1]}\n"
                           "  - {op: mul, in: x, out: xo, scalar: 1}\n"
                           "  - {op: mul, in: y, out: yo, scalar: 1}\n"
                           "  - {op: mul, in: i, out: zz, scalar: 0}\n"
                           "  - {op: mul, in: i, out: z1, scalar: 0}\n"
                           "  - {op: slice, in: r4, out: r2, dim: 0, start: 0, size: 2}\n"
                           "  - {op: mul, in: n, out: q, scalar: 0.5}\n"
                           "  - {op: reshape, in: i, out: ic, shape: [2, 1]}\n"
                           "  - {op: mul, in: v, out: v3, scalar: 2}\n"
                           "  - {op: mul, in: i, out: ii, scalar: 1}\n"
                           "  - {op: mul, in: i, out: off, scalar: 0}\n"
                           "  - {op: mul, in: n, out: qx, scalar: 37.3}\n"
                           "  - {op: cast, in: v, out: v8, dtype: u8}\n"
                           "  - {op: cast, in: v, out: z8, dtype: i8}\n"
                           "  - {op: cast, in: n, out: n8, dtype: i8}\n"
                           "  - {op: mul, in: i16, out: i13, scalar: 13}\n"
                           "  - {op: cast, in: i13, out: u13, dtype: u8}\n"
                           "  - {op: slice, in: u13, out: u16, start: 0, size: 8}\n"
                           "  - {op: slice, in: u13, out: u4, start: 0, size: 4}\n"
                           "  - {op: mul, in: ig, out: zg, scalar: 0}\n"
                           "  - {op: mul, in: n, out: h, scalar: 0.25}\n"
                           "  - {op: log, in: n, out: ln}\n"
                           "  - {op: expand, in: i, out: ig, shape: [2, 2]}\n"
                           "  - {op: reshape, in: r4, out: z2, shape: [2, 2]}\n"
                           "  - {op: reshape, in: x, out: b1, shape: [1, 2, 3]}\n"
                           "  - {op: reshape, in: y, out: b2, shape: [1, 3, 2]}\n"
                           "  - {op: reshape, in: r6, out: c1, shape: [1, 2, 3]}\n"
                           "  - {op: reshape, in: r4, out: c2, shape: [2, 1, 2]}\n"
                           "  - {op: reshape, in: r4, out: t1, shape: [1, 2, 2]}\n"
                           "  - {op: reshape, in: r6, out: t2, shape: [2, 3, 1]}\n"
                           "  - {op: reshape, in: r6, out: t3, shape: [3, 2, 1]}\n"
                           "  - {op: neg, in: w, out: nw}\n"
                           "  - {op: fill, out: k4, shape: [4], value: 1}\n"
                           "  - {op: copy, in: i, out: i1}\n"
                           "  - {op: mul, in: v, out: v2, scalar: 0.5}\n";

static void operators_compute_what_pytorch_does(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char text[8192];
        snprintf(text, sizeof text, "%s%s  - %s\noutputs: [o]\n", prelude, more, cases[c].op);
        subject s = interpret(text);
        const int t = id(&s, "o"), storage = s.g->tensor[t].storage;
        if (s.g->tensor[t].elems != cases[c].count)
            fail_msg("%s: %lld elements", cases[c].op, (long long)s.g->tensor[t].elems);
        for (int i = 0; i < cases[c].count; i++) {
            const double got = s.r->of[storage].value[s.g->tensor[t].offset + i],
                         bound = s.r->of[storage].bound[s.g->tensor[t].offset + i];
            const double doubt =
                fsim_dtype_bytes(s.g->tensor[t].dtype) == 1 ? 0x1p-4 : 4e-5; /* a step of 8-bit floats */
            if (fabs(got - cases[c].want[i]) > 1e-12 * (1 + fabs(got)) || !(bound <= doubt * (1 + fabs(got))))
                fail_msg("%s: element %d is %.17g +- %g; wants %.17g", cases[c].op, i, got, bound, cases[c].want[i]);
        }
        end(&s);
    }
}

/* Every 16-bit pattern, and every 8-bit one, is a number that goes back to the same bits; halfway between two is the
 * even one. */
static void dtypes_are_exact(void **state)
{
    static const struct {
        fsim_dtype t;
        uint32_t count, over; /* patterns; the first of infinity or NaN */
    } floats[] = {{FSIM_F16, 0x10000, 0x7c00},
                  {FSIM_BF16, 0x10000, 0x7f80},
                  {FSIM_F8E4M3, 0x100, 0x7f},
                  {FSIM_F8E5M2, 0x100, 0x7c},
                  {FSIM_F8E8M0, 0x100, 0}};
    (void)state;
    for (size_t f = 0; f < sizeof floats / sizeof floats[0]; f++)
        for (uint32_t i = 0; i < floats[f].count; i++) {
            uint32_t back = 0;
            const double v = fsim_element(floats[f].t, &i, 0);
            fsim_set_element(floats[f].t, &back, 0, v);
            if (isnan(v) ? !isnan(fsim_element(floats[f].t, &back, 0)) : back != i)
                fail_msg("%s %#x is %g and goes back to %#x", fsim_dtype_names[floats[f].t], i, v, back);
            if (i + 1 < floats[f].over) {
                const uint32_t next = i + 1;
                const double w = fsim_element(floats[f].t, &next, 0), half = (v + w) / 2;
                assert_true(w > v);
                fsim_set_element(floats[f].t, &back, 0, half);
                assert_int_equal(back, i & 1 ? next : i);
                fsim_set_element(floats[f].t, &back, 0, nextafter(half, INFINITY));
                assert_int_equal(back, next);
            }
        }
}

static void dtypes_have_their_limits(void **state)
{
    static const struct {
        fsim_dtype t;
        double in, out;
    } limits[] = {
        {FSIM_F16, 1, 1},
        {FSIM_F16, 65519, 65504},
        {FSIM_F16, 65520, INFINITY},
        {FSIM_F16, 0x1p-24, 0x1p-24},
        {FSIM_F16, 0x1p-25, 0},
        {FSIM_BF16, 257, 256},
        {FSIM_BF16, 259, 260},
        {FSIM_BF16, -1e39, -INFINITY},
        {FSIM_F8E4M3, 448, 448},
        {FSIM_F8E4M3, 464, 448},
        {FSIM_F8E4M3, 465, NAN},
        {FSIM_F8E4M3, INFINITY, NAN},
        {FSIM_F8E4M3, 1.0625, 1},
        {FSIM_F8E4M3, 0x1p-9, 0x1p-9},
        {FSIM_F8E5M2, 57344, 57344},
        {FSIM_F8E5M2, 61440, INFINITY},
        {FSIM_F8E5M2, 1.125, 1},
        {FSIM_F8E5M2, 1.375, 1.5},
        {FSIM_F8E8M0, 1.49, 1},
        {FSIM_F8E8M0, -1.5, 2},
        {FSIM_F8E8M0, 0, 0x1p-127},
        {FSIM_F8E8M0, 0x1p-127 * 1.5, 0x1p-126},
        {FSIM_F8E8M0, INFINITY, NAN},
        {FSIM_F8E8M0, 0x1.fp127, 0x1p127},
        {FSIM_F32, 16777217, 16777216},
        {FSIM_F64, 0.1, 0.1},
        {FSIM_I8, 200, -56},
        {FSIM_U8, -1, 255},
        {FSIM_I16, 32768, -32768},
        {FSIM_I32, 2147483648.0, -2147483648.0},
        {FSIM_I64, -3.9, -3},
        {FSIM_I8, NAN, 0},
        {FSIM_BOOL, 0.5, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        uint64_t bits[2] = {0, 0};
        fsim_set_element(limits[i].t, bits, 1, limits[i].in);
        const double got = fsim_element(limits[i].t, bits, 1);
        if (!(got == limits[i].out || (isnan(got) && isnan(limits[i].out))))
            fail_msg("%s of %g is %g; wants %g", fsim_dtype_names[limits[i].t], limits[i].in, got, limits[i].out);
    }
}

static void store_and_compare(subject *s, const char *name, int64_t at, double by, int64_t wrong)
{
    const int t = s->g->tensor[id(s, name)].storage;
    char *bytes = calloc((size_t)s->g->tensor[t].bytes, 1);
    assert_non_null(bytes);
    fsim_reference_store(s->r, t, bytes);
    if (at >= 0)
        fsim_set_element(s->g->tensor[t].dtype, bytes, at, fsim_element(s->g->tensor[t].dtype, bytes, at) + by);
    const fsim_comparison c = fsim_reference_compare(s->r, t, bytes);
    if (c.wrong != wrong)
        fail_msg("%s[%lld] %+g: %lld wrong, first %lld is %.9g and not %.9g +- %g", name, (long long)at, by,
                 (long long)c.wrong, (long long)c.at, c.got, c.wanted, c.bound);
    free(bytes);
}

/* One of 1000 terms is missing from a sum, a mean, a matrix product; two elements are swapped. */
static void bounds_see_errors(void **state)
{
    (void)state;
    subject s = interpret(
        "tensors: {x: {shape: [8, 1000], dtype: f32, role: input}, w: {shape: [8, 1000], dtype: f32, role: weight}}\n"
        "operators:\n"
        "  - {op: exp, in: x, out: e}\n"
        "  - {op: sum, in: e, out: sum, dims: [1]}\n"
        "  - {op: mean, in: x, out: mean, dims: [1]}\n"
        "  - {op: linear, in: [e, w], out: y}\n"
        "  - {op: softmax, in: x, out: p, dim: 1}\n"
        "  - {op: cumsum, in: e, out: c, dim: 1}\n"
        "outputs: [sum, mean, y, p, c]\n");
    const fsim_expected *x = of(&s, "x"), *e = of(&s, "e"), *w = of(&s, "w");
    int64_t missed = 0;
    for (int k = 0; k < 1000; k++) {
        missed += fabs(e->value[k]) <= of(&s, "sum")->bound[0];
        missed += fabs(x->value[k]) / 1000 <= of(&s, "mean")->bound[0];
        missed += fabs(e->value[k] * w->value[k]) <= of(&s, "y")->bound[0];
    }
    assert_true(missed < 30); /* those next to 0 */
    for (int i = 0; i < 5; i++)
        store_and_compare(&s, (const char *[]){"sum", "mean", "y", "p", "c"}[i], -1, 0, 0);
    store_and_compare(&s, "sum", 3, 0.4, 1);
    store_and_compare(&s, "y", 9, 0.001, 1);
    store_and_compare(&s, "p", 5, 1e-7, 1);
    store_and_compare(&s, "p", 5, NAN, 1);
    for (int k = 1; k < 1000; k++)
        if (fabs(of(&s, "p")->value[k] - of(&s, "p")->value[k - 1]) <= of(&s, "p")->bound[k])
            missed++;
    assert_true(missed < 60);
    end(&s);
}

/* f32 arithmetic of the same graph, in another order than a reference has, lies inside; so does what goes through bf16
 * memory, and what does not. */
static void bounds_hold(void **state)
{
    (void)state;
    for (int narrow = 0; narrow < 2; narrow++) {
        enum { ROWS = 64, COLS = 768 };
        char text[1024];
        snprintf(
            text, sizeof text,
            "tensors: {x: {shape: [%d, %d], dtype: %s, role: input}, u: {shape: [%d, %d], dtype: %s, role: input}}\n"
            "operators: [{op: mul, in: [x, u], out: a}, {op: softmax, in: a, out: p, dim: 1}, {op: layer_norm, in: a, "
            "out: n}]\noutputs: [p, n]\n",
            ROWS, COLS, narrow ? "bf16" : "f32", ROWS, COLS, narrow ? "bf16" : "f32");
        subject s = interpret(text);
        const fsim_dtype t = narrow ? FSIM_BF16 : FSIM_F32;
        for (int stored = 0; stored <= narrow; stored++) {
            static char p[4 * ROWS * COLS], n[4 * ROWS * COLS], sums[4 * ROWS];
            for (int r = 0; r < ROWS; r++) {
                static float a[COLS], e[COLS];
                float max = -INFINITY, sum = 0, mean = 0, var = 0;
                uint32_t bits = 0;
#define KEEP(v) (stored ? (fsim_set_element(FSIM_BF16, &bits, 0, (v)), (float)fsim_element(FSIM_BF16, &bits, 0)) : (v))
                for (int c = COLS; c-- > 0;) {
                    a[c] = KEEP((float)of(&s, "x")->value[r * COLS + c] * (float)of(&s, "u")->value[r * COLS + c]);
                    max = fmaxf(max, a[c]);
                    mean += a[c];
                }
                mean = KEEP(mean / COLS);
                for (int c = COLS; c-- > 0;) {
                    e[c] = KEEP(expf(KEEP(a[c] - max)));
                    sum += e[c];
                    const float d = KEEP(a[c] - mean);
                    var += KEEP(d * d);
                }
                sum = KEEP(sum);
                fsim_set_element(t, sums, r, sum);
                const float rstd = KEEP(1 / sqrtf(KEEP(KEEP(var / COLS) + 1e-5f)));
                for (int c = 0; c < COLS; c++) {
                    fsim_set_element(t, p, r * COLS + c, e[c] / sum);
                    fsim_set_element(t, n, r * COLS + c, KEEP(a[c] - mean) * rstd);
                }
            }
            const fsim_comparison all[3] = {fsim_reference_compare(s.r, id(&s, "p"), p),
                                            fsim_reference_compare(s.r, id(&s, "n"), n),
                                            fsim_reference_compare(s.r, id(&s, "p/sum"), sums)};
            for (int i = 0; i < 3; i++)
                if (all[i].wrong || !all[i].compared || !(all[i].worst > 0.001))
                    fail_msg("narrow %d, stored %d, result %d: %lld of %lld wrong, worst %g: %g, not %g +- %g", narrow,
                             stored, i, (long long)all[i].wrong, (long long)all[i].compared, all[i].worst, all[i].got,
                             all[i].wanted, all[i].bound);
        }
        end(&s);
    }
}

/* Products, sums and functions in f32, terms in order and every 32nd together, as threads take them. */
static void bounds_hold_in_any_order(void **state)
{
    (void)state;
    enum { ROWS = 40, COLS = 1024, OUTS = 24 };
    subject s = interpret(
        "tensors: {x: {shape: [40, 1024], dtype: f32, role: input}, w: {shape: [24, 1024], dtype: f32, role: weight}}\n"
        "operators: [{op: linear, in: [x, w], out: y}, {op: gelu, in: y, out: g}, {op: exp, in: x, out: e}, {op: sum, "
        "in: e, out: z, dims: [1]}, {op: norm, in: x, out: l, dims: [1]},\n"
        "            {op: cumsum, in: x, out: c, dim: 1}]\noutputs: [g, z, l, c]\n");
    const double *x = of(&s, "x")->value, *w = of(&s, "w")->value;
    for (int lanes = 1; lanes <= 32; lanes += 31) {
        static float g[ROWS * OUTS], z[ROWS], l[ROWS], c[ROWS * COLS];
        for (int r = 0; r < ROWS; r++) {
            float all = 0, squares = 0, run = 0;
            for (int o = 0; o < OUTS; o++) {
                float y = 0;
                for (int lane = 0; lane < lanes; lane++) {
                    float part = 0;
                    for (int k = lane; k < COLS; k += lanes)
                        part += (float)x[r * COLS + k] * (float)w[o * COLS + k];
                    y += part;
                }
                g[r * OUTS + o] = 0.5f * y * (1 + erff(y * 0.70710678f));
            }
            for (int lane = 0; lane < lanes; lane++) {
                float part = 0, part2 = 0;
                for (int k = lane; k < COLS; k += lanes) {
                    part += expf((float)x[r * COLS + k]);
                    part2 = fmaf((float)x[r * COLS + k], (float)x[r * COLS + k], part2);
                }
                all += part;
                squares += part2;
            }
            for (int k = 0; k < COLS; k++)
                c[r * COLS + k] = run += (float)x[r * COLS + k];
            z[r] = all;
            l[r] = sqrtf(squares);
        }
        const struct {
            const char *name;
            const float *at;
        } all[] = {{"g", g}, {"z", z}, {"l", l}, {"c", c}};
        for (int i = 0; i < 4; i++) {
            const fsim_comparison d = fsim_reference_compare(s.r, id(&s, all[i].name), all[i].at);
            if (d.wrong || !(d.worst > 0.001))
                fail_msg("%s in %d lanes: %lld of %lld wrong, worst %g: %g, not %g +- %g", all[i].name, lanes,
                         (long long)d.wrong, (long long)d.compared, d.worst, d.got, d.wanted, d.bound);
        }
    }
    end(&s);
}

/* What a row has wrong together adds up, with the signs of what it meets; what elements have wrong each for itself
 * mostly cancels. */
static void shared_errors_add_up(void **state)
{
    (void)state;
    subject s = interpret("tensors: {x: {shape: [4, 1000], dtype: f32, role: input}, r: {shape: [4, 1], dtype: f32, "
                          "role: input}, u: {shape: [4, 1000], dtype: bf16, role: input},\n"
                          "          v: {shape: [4, 1000], dtype: bf16, role: input}}\n"
                          "operators:\n"
                          "  - {op: exp, in: r, out: e}\n"
                          "  - {op: cast, in: e, out: rough, dtype: bf16}\n"
                          "  - {op: cast, in: rough, out: row, dtype: f32}\n"
                          "  - {op: mul, in: [x, row], out: scaled}\n"
                          "  - {op: abs, in: scaled, out: positive}\n"
                          "  - {op: sum, in: positive, out: sum, dims: [1]}\n"
                          "  - {op: linear, in: [scaled, x], out: own}\n"
                          "  - {op: mul, in: [u, v], out: a}\n"
                          "  - {op: sum, in: a, out: each, dims: [1]}\n"
                          "outputs: [sum, own, each]\n");
    for (int i = 0; i < 4; i++) {
        const double off = of(&s, "row")->bound[i];
        double sum = 0, squares = 0;
        for (int k = 0; k < 1000; k++) {
            sum += fabs(of(&s, "x")->value[i * 1000 + k]);
            squares += of(&s, "x")->value[i * 1000 + k] * of(&s, "x")->value[i * 1000 + k];
        }
        assert_true(of(&s, "sum")->bound[i] > 0.999 * off * sum && of(&s, "sum")->bound[i] < 1.1 * off * sum);
        assert_true(of(&s, "own")->bound[i * 4 + i] > 0.999 * off * squares);
        assert_true(of(&s, "own")->bound[i * 4 + (i + 1) % 4] < 0.5 * off * squares);
        assert_true(of(&s, "each")->bound[i] < 0.4); /* worst case: 1 */
    }
    end(&s);
}

static bool from_memory(const void *with, int node, int tensor)
{
    const fsim_graph *g = with;
    return g->tensor[tensor].producer < 0 || g->node[g->tensor[tensor].producer].source != g->node[node].source;
}

static double as_f16(double v)
{
    uint16_t bits;
    fsim_set_element(FSIM_F16, &bits, 0, v);
    return fsim_element(FSIM_F16, &bits, 0);
}

/* A square deviates by the square of the bound where the value may be 0: both arguments do, though each alone changes
 * nothing. */
static void squares_of_what_may_be_zero_deviate(void **state)
{
    (void)state;
    subject s = interpret("tensors: {x: {shape: [64, 64], dtype: f16}, y: {shape: [64, 64], dtype: f16}}\n"
                          "operators:\n"
                          "  - {op: sub, in: [x, x], out: zero}\n"
                          "  - {op: matmul, in: [x, y], out: h}\n"
                          "  - {op: sub, in: [h, h], out: none}\n"
                          "  - {op: mul, in: [none, none], out: square}\n"
                          "outputs: [zero, square]\n");
    for (int i = 0; i < 64 * 64; i++) {
        const double off = of(&s, "none")->bound[i];
        assert_true(of(&s, "none")->value[i] == 0 && off > 0);
        assert_true(of(&s, "square")->bound[i] >= off * off);
    }
    end(&s);
}

/* All rows of what is expanded are rounded alike when they are stored: over 128 of them a product is off by 128
 * such errors, not by the root of 128. */
static void equal_elements_have_equal_errors(void **state)
{
    (void)state;
    enum { ROWS = 128, COLUMNS = 8 };
    subject s = interpret("tensors: {g: {shape: [1, 8], dtype: f32}, ones: {shape: [128, 8], dtype: f16}}\n"
                          "operators:\n"
                          "  - {op: exp, in: g, out: e}\n"
                          "  - {op: cast, in: e, out: h, dtype: f16}\n"
                          "  - {op: expand, in: h, out: rows, shape: [128, 8]}\n"
                          "  - {op: copy, in: rows, out: stored}\n"
                          "  - {op: abs, in: ones, out: weights}\n"
                          "  - {op: transpose, in: weights, out: turned, dims: [0, 1]}\n"
                          "  - {op: matmul, in: [turned, stored], out: product}\n"
                          "outputs: [product]\n");
    fsim_reference *kernels = fsim_reference_within(s.g, 1, from_memory, s.g);
    const fsim_expected *stored = &kernels->of[id(&s, "stored")], *weights = &kernels->of[id(&s, "weights")];
    for (int k = 0; k < COLUMNS; k++) {
        const double v = stored->value[k], error = fabs(as_f16(v) - v);
        double all = 0;
        for (int i = 0; i < ROWS; i++)
            all += as_f16(weights->value[i * COLUMNS]);
        assert_true(kernels->of[id(&s, "product")].bound[k] >= 0.999 * all * (error + 0x1p-11 * v)); /* and its own */
    }
    fsim_reference_free(kernels);
    end(&s);
}

/* Tensor units drop the last 13 bits of f32. */
static void tf32_has_its_bound(void **state)
{
    (void)state;
    enum { K = 256 };
    subject s = interpret(
        "tensors: {x: {shape: [8, 256], dtype: f32, role: input}, w: {shape: [8, 256], dtype: f32, role: weight}}\n"
        "operators: [{op: linear, in: [x, w], out: y, compute: tf32}, {op: linear, in: [x, w], out: exact}]\noutputs: "
        "[y, exact]\n");
    float y[64];
    for (int i = 0; i < 64; i++) {
        y[i] = 0;
        for (int k = 0; k < K; k++) {
            const float in[2] = {(float)of(&s, "x")->value[i / 8 * K + k], (float)of(&s, "w")->value[i % 8 * K + k]};
            uint32_t bits[2];
            float cut[2];
            memcpy(bits, in, sizeof bits);
            bits[0] &= 0xffffe000u;
            bits[1] &= 0xffffe000u;
            memcpy(cut, bits, sizeof cut);
            y[i] += cut[0] * cut[1];
        }
    }
    const fsim_comparison narrow = fsim_reference_compare(s.r, id(&s, "y"), y),
                          exact = fsim_reference_compare(s.r, id(&s, "exact"), y);
    assert_int_equal(narrow.wrong, 0);
    assert_true(narrow.worst > 0.05 && exact.wrong > 30);
    end(&s);
}

static void jumps_are_free(void **state)
{
    (void)state;
    subject s = interpret(
        "tensors: {x: {shape: [100], dtype: f32, role: input}}\n"
        "operators:\n"
        "  - {op: exp, in: x, out: e}\n"
        "  - {op: sub, in: [e, e2], out: nothing}\n"
        "  - {op: exp, in: x, out: e2}\n"
        "  - {op: gt, in: nothing, out: sign, scalar: 0}\n"
        "  - {op: gt, in: e, out: large, scalar: 100}\n"
        "  - {op: cast, in: nothing, out: whole, dtype: i32}\n"
        "  - {op: where, in: [sign, e, x], out: either}\n"
        "  - {op: where, in: [large, e, x], out: settled}\n"
        "  - {op: sum, in: sign, out: count}\n"
        "  - {op: div, in: [x, nothing], out: wild}\n"
        "  - {op: argmax, in: nothing, out: top, dim: 0}\n"
        "  - {op: argmax, in: e, out: clear, dim: 0}\n"
        "  - {op: fill, out: same, shape: [5], value: 1}\n"
        "  - {op: argmax, in: same, out: tie, dim: 0}\n"
        "  - {op: gather, in: [x, top], out: any_row}\n"
        "  - {op: gather, in: [x, clear], out: a_row}\n"
        "  - {op: fill, out: zeros, shape: [2], value: 0, dtype: i64}\n"
        "  - {op: slice, in: x, out: pair, dim: 0, start: 0, size: 2}\n"
        "  - {op: scatter, in: [same, zeros, pair], out: twice, dim: 0}\n"
        "outputs: [sign, large, whole, either, settled, count, wild, top, clear, tie, any_row, a_row, twice]\n");
    static const struct {
        const char *name;
        bool free;
    } which[] = {{"sign", true},    {"large", false}, {"whole", false}, {"either", false}, {"settled", false},
                 {"count", true},   {"wild", true},   {"top", true},    {"clear", false},  {"tie", true},
                 {"any_row", true}, {"a_row", false}, {"twice", true}};
    for (size_t i = 0; i < sizeof which / sizeof which[0]; i++)
        if (isinf(of(&s, which[i].name)->bound[0]) != which[i].free)
            fail_msg("%s is %g +- %g", which[i].name, of(&s, which[i].name)->value[0], of(&s, which[i].name)->bound[0]);
    const double e = of(&s, "e")->value[0], x = of(&s, "x")->value[0];
    assert_true(of(&s, "either")->bound[0] >= fabs(e - x)); /* one of the two */
    assert_true(of(&s, "settled")->bound[0] == 0);
    assert_true(of(&s, "twice")->bound[1] == 0 && of(&s, "twice")->value[1] == 1);
    assert_true(of(&s, "large")->bound[0] == 0 && of(&s, "large")->value[0] == 0);
    end(&s);
}

static void overflow_is_free(void **state)
{
    (void)state;
    subject s = interpret("tensors: {x: {shape: [64], dtype: f16, role: input}}\n"
                          "operators: [{op: add, in: x, out: y, scalar: 2}, {op: mul, in: y, out: big, scalar: 30000}, "
                          "{op: mul, in: y, out: small, scalar: 1000},\n"
                          "            {op: tril, in: m, out: t}, {op: reshape, in: x, out: m, shape: [8, "
                          "8]}]\noutputs: [big, small, t]\n");
    for (int i = 0; i < 64; i++) {
        const double big = of(&s, "big")->value[i], bound = of(&s, "big")->bound[i];
        assert_true(isinf(bound) == (big * (1 + 0x1p-10) > 65504) || fabs(big - 65504) < 100);
        assert_true(isfinite(of(&s, "small")->bound[i]));
    }
    end(&s);
}

static void inputs_suit_their_readers(void **state)
{
    (void)state;
    const char *text = "tensors: {x: {shape: [40, 6], dtype: f32, role: input}, d: {shape: [6, 40], dtype: f16, role: "
                       "input}, at: {shape: [30], dtype: f32, role: input},\n"
                       "          rows: {shape: [30], dtype: i64, role: input}, w: {shape: [64, 6], dtype: f32, role: "
                       "weight}, b: {shape: [9], dtype: bool, role: input}}\n"
                       "operators:\n"
                       "  - {op: transpose, in: d, out: dt}\n"
                       "  - {op: add, in: dt, out: de, scalar: 0.001}\n"
                       "  - {op: div, in: [x, de], out: q}\n"
                       "  - {op: gather, in: [q, at], out: g}\n"
                       "  - {op: scatter, in: [x, rows, g], out: s, dim: 0}\n"
                       "  - {op: linear, in: [s, w], out: y}\n"
                       "  - {op: copy, in: b, out: c}\n"
                       "outputs: [y, c]\n";
    subject s = interpret(text), again = interpret(text), other = interpret_with("t", text, strlen(text), NULL, 0, 2);
    bool seen[40] = {false}, differs = false;
    for (int i = 0; i < 240; i++) {
        assert_true(of(&s, "d")->value[i] >= 0.5 && of(&s, "d")->value[i] <= 1.5);
        assert_true(fabs(of(&s, "x")->value[i]) <= 1);
        assert_true(of(&s, "x")->value[i] == (double)(float)of(&s, "x")->value[i]);
        assert_true(of(&s, "x")->value[i] == of(&again, "x")->value[i]);
        differs = differs || of(&s, "x")->value[i] != of(&other, "x")->value[i];
    }
    assert_true(differs);
    for (int i = 0; i < 30; i++) {
        const double at = of(&s, "at")->value[i], row = of(&s, "rows")->value[i];
        assert_true(at >= 0 && at < 40 && at == floor(at) && row >= 0 && row < 40 && row == floor(row));
        assert_false(seen[(int)row]);
        seen[(int)row] = true;
    }
    for (int i = 0; i < 64 * 6; i++)
        assert_true(fabs(of(&s, "w")->value[i]) <= 0.7072); /* sqrt(3 / 6) */
    for (int i = 0; i < 9; i++)
        assert_true(of(&s, "b")->value[i] == 0 || of(&s, "b")->value[i] == 1);
    end(&s);
    end(&again);
    end(&other);
}

static void dropout_keeps_its_share(void **state)
{
    (void)state;
    int kept = 0;
    for (int i = 0; i < 100000; i++)
        kept += fsim_dropout_keeps(i, 0.3);
    assert_true(kept > 69300 && kept < 70700);
    assert_true(fsim_dropout_keeps(0, 0)); /* SplitMix64 of seed 0 begins with e220a839 7b1dcdaf: 0.8833... */
    assert_true(fsim_dropout_keeps(0, 0.8833));
    assert_false(fsim_dropout_keeps(0, 0.8834));
    assert_false(fsim_dropout_keeps(0, 1));
    subject s = interpret(
        "tensors: {x: {shape: [100], dtype: f32, role: input}}\noperators: [{op: dropout, in: x, out: y, p: 0.5}]\n");
    for (int i = 0; i < 100; i++)
        assert_true(of(&s, "y")->value[i] == (fsim_dropout_keeps(i, 0.5) ? 2 * of(&s, "x")->value[i] : 0));
    end(&s);
}

static void made_up_is_said(void **state)
{
    (void)state;
    subject s = interpret("tensors: {x: {shape: [4], dtype: f32, role: input}}\n"
                          "operators: [{op: custom, in: [x], out: c}, {op: recv, out: r, shape: [4]}, {op: add, in: "
                          "[c, r], out: y}, {op: relu, in: x, out: z}]\n");
    assert_non_null(s.r->unknown[id(&s, "c")]);
    assert_non_null(s.r->unknown[id(&s, "r")]);
    assert_non_null(s.r->unknown[id(&s, "y")]);
    assert_null(s.r->unknown[id(&s, "z")]);
    assert_true(of(&s, "c")->value[0] != of(&s, "r")->value[0]);
    end(&s);
}

static void views_keep_their_place(void **state)
{
    (void)state;
    subject s = interpret("tensors: {x: {shape: [2, 1, 1, 6], dtype: f32, role: input}, w: {shape: [1, 1, 1, 2], "
                          "dtype: f32, role: weight}}\n"
                          "operators: [{op: slice, in: x, out: half, dim: 0, start: 1, size: 1}, {op: conv2d, in: "
                          "[half, w], out: y}, {op: adaptive_avg_pool2d, in: half, out: a, output_size: [1, 2]},\n"
                          "            {op: conv_transpose2d, in: [half, w], out: t}]\n");
    const double *x = of(&s, "x")->value + 6, *w = of(&s, "w")->value;
    assert_true(fabs(of(&s, "y")->value[4] - (x[4] * w[0] + x[5] * w[1])) < 1e-15);
    assert_true(fabs(of(&s, "a")->value[1] - (x[3] + x[4] + x[5]) / 3) < 1e-15);
    assert_true(fabs(of(&s, "t")->value[1] - (x[0] * w[1] + x[1] * w[0])) < 1e-15);
    end(&s);
}

/* Twelve layers in f16: bounds of the whole grow until nothing is known; those of operators that start from stored
 * tensors stay. */
static void bounds_start_anew_at_kernels(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    size_t bytes;
    const char *why;
    const fsim_binding set[] = {{"B", "1"}, {"S", "8"}, {"H", "32"}, {"heads", "2"}, {"V", "50"}};
    char *text =
        fsim_read_file(a, fsim_printf(a, "%s/workloads/bert_12_layers.yaml", FUSESIM_SOURCE_DIR), &bytes, &why);
    assert_non_null(text);
    subject s = interpret_with("bert_12_layers.yaml", text, bytes, set, 5, 1);
    fsim_reference *kernels = fsim_reference_within(s.g, 1, from_memory, s.g);
    for (int t = 0; t < s.g->tensors; t++)
        for (int64_t i = 0; s.g->tensor[t].storage == t && i < s.g->tensor[t].elems; i++) {
            const double v = s.r->of[t].value[i], of_one = kernels->of[t].bound[i];
            assert_true(v == kernels->of[t].value[i]);
            assert_true(of_one <= s.r->of[t].bound[i] * 1.0000001 || of_one < 1e-6);
            if (!(of_one < 0.1 * (1 + fabs(v))))
                fail_msg("%s[%lld]: %g +- %g", s.g->tensor[t].name, (long long)i, v, of_one);
        }
    fsim_reference_free(kernels);
    end(&s);
    fsim_arena_free(a);
}

/* A result that an argument's rounding moves past a power of two is rounded to the wider spacing there. */
static void bounds_hold_past_powers_of_two(void **state)
{
    (void)state;
    static const char text[] = "name: t\n"
                               "tensors:\n"
                               "  x: {shape: [512, 512], dtype: f32, role: input}\n"
                               "  w: {shape: [512], dtype: f32, role: weight}\n"
                               "operators:\n"
                               "  - {op: cast, in: x, out: narrow, dtype: bf16}\n"
                               "  - {op: mul, in: [w, narrow], out: y}\n"
                               "outputs: [y]\n";
    subject s = interpret_with("t.yaml", text, sizeof text - 1, NULL, 0, 1);
    fsim_reference *r = fsim_reference_within(s.g, 1, from_memory, s.g);
    const fsim_expected *x = &r->of[0], *w = &r->of[1], *y = &r->of[s.g->node[1].result[0]];
    int past = 0;
    for (int64_t i = 0; i < 512 * 512; i++) {
        const double kernel = (float)(w->value[i % 512] * fsim_stored(FSIM_BF16, x->value[i]));
        assert_true(fabs(kernel - y->value[i]) <= y->bound[i]);
        past += ilogb(kernel) != ilogb(y->value[i]);
    }
    assert_true(past > 100);
    fsim_reference_free(r);
    end(&s);
}

/* Real graphs, those that are small enough as they are. */
static void real_graphs_are_finite(void **state)
{
    (void)state;
    fsim_arena *a = fsim_arena_new();
    const char *root = FUSESIM_SOURCE_DIR "/../shared/data/workloads/", *why;
    size_t bytes;
    int graphs = 0;
    char *lines = fsim_read_file(a, fsim_printf(a, "%sshapes.jsonl", root), &bytes, &why);
    if (!lines) {
        print_message("skipped: ../shared/data/workloads/shapes.jsonl is absent\n");
        fsim_arena_free(a);
        skip();
    }
    for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
        fsim_arena *scratch = fsim_arena_new();
        fsim_diag *d = fsim_diag_new(scratch);
        char *name = strstr(line, "\"workload\":\"") + 12;
        *strchr(name, '"') = '\0';
        char *text = fsim_read_file(scratch, fsim_printf(scratch, "%s%s.yaml", root, name), &bytes, &why);
        assert_non_null(text);
        const fsim_graph *g = fsim_graph_parse(scratch, d, name, text, bytes, NULL);
        assert_non_null(g);
        if (fsim_reference_bytes(g) < SMALL && g->contraction_flops < SMALL) {
            fsim_reference *r = fsim_reference_of(g, 1);
            for (int t = 0; t < g->tensors; t++)
                for (int64_t i = 0; g->tensor[t].storage == t && i < g->tensor[t].elems; i++)
                    if (!isfinite(r->of[t].value[i]) || !isfinite(r->of[t].bound[i]))
                        fail_msg("%s: %s[%lld] is %g +- %g", name, g->tensor[t].name, (long long)i, r->of[t].value[i],
                                 r->of[t].bound[i]);
            fsim_reference_free(r);
            graphs++;
        }
        fsim_arena_free(scratch);
    }
    print_message("%d graphs\n", graphs);
    assert_true(graphs > REAL);
    fsim_arena_free(a);
}

static const fsim_binding small[] = {{"M", "8"},        {"N", "12"}, {"K", "6"}, {"R", "4"},  {"B", "2"},
                                     {"H", "16"},       {"S", "8"},  {"D", "4"}, {"V", "10"}, {"F", "32"},
                                     {"T", "6"},        {"P", "30"}, {"C", "4"}, {"W", "8"},  {"heads", "4"},
                                     {"kv_heads", "2"}, {"Sq", "8"}, {"Sk", "8"}};

/* Those of the bindings whose symbol the workload has: others are refused. */
static int bindings_of(const char *text, fsim_binding *out)
{
    const char *line = strstr(text, "\nsymbols:"), *stop = line ? strchr(line + 1, '\n') : NULL;
    int count = 0;
    for (size_t i = 0; line && i < sizeof small / sizeof small[0]; i++)
        for (const char *p = strchr(line, '{'); p && p < stop; p = strchr(p + 1, ' '))
            if (strncmp(p + 1, small[i].name, strlen(small[i].name)) == 0 && p[1 + strlen(small[i].name)] == ':') {
                out[count++] = small[i];
                break;
            }
    for (int i = 0; i < count; i++) /* blocks of a row with a scale each */
        if (strcmp(out[i].name, "K") == 0 && (strstr(text, "K / 16") || strstr(text, "per: block")))
            out[i].value = strstr(text, "per: block") ? "128" : "32";
    return count;
}

static void interpret_folder(const char *folder, int *workloads)
{
    fsim_arena *a = fsim_arena_new();
    const char *path = fsim_printf(a, "%s/workloads/%s", FUSESIM_SOURCE_DIR, folder);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        size_t bytes;
        const char *why, *file = fsim_printf(a, "%s/%s", path, e->d_name), *dot = strrchr(e->d_name, '.');
        fsim_binding set[sizeof small / sizeof small[0]];
        if (!dot || strcmp(dot, ".yaml") != 0 || ++*workloads % EVERY != 0)
            continue;
        char *text = fsim_read_file(a, file, &bytes, &why);
        assert_non_null(text);
        if (strcmp(e->d_name, "copy_1gb.yaml") == 0)
            set[0] = (fsim_binding){"N", "100"};
        subject s = interpret_with(file, text, bytes, set,
                                   strcmp(e->d_name, "copy_1gb.yaml") == 0 ? 1 : bindings_of(text, set), 7);
        for (int t = 0; t < s.g->tensors; t++) {
            int64_t known = 0;
            if (s.g->tensor[t].storage != t)
                continue;
            for (int64_t i = 0; i < s.g->tensor[t].elems; i++) {
                const double v = s.r->of[t].value[i], b = s.r->of[t].bound[i];
                if (isnan(b) || b < 0 || isnan(v) ||
                    (isinf(v) && !strstr(text, "op: exp") && !strstr(text, "causal: true")))
                    fail_msg("%s: %s[%lld] is %g +- %g", e->d_name, s.g->tensor[t].name, (long long)i, v, b);
                known += isfinite(b);
            }
            if (known == 0)
                fail_msg("%s: nothing is known of %s", e->d_name, s.g->tensor[t].name);
        }
        for (int t = 0; t < s.g->tensors; t++)
            if (s.g->tensor[t].storage == t)
                store_and_compare(&s, s.g->tensor[t].name, -1, 0, 0);
        end(&s);
    }
    closedir(d);
    fsim_arena_free(a);
}

static void workloads_are_finite(void **state)
{
    (void)state;
    int workloads = 0;
    interpret_folder("seeds", &workloads);
    interpret_folder("ops", &workloads);
    interpret_folder("golden", &workloads);
    interpret_folder("liger", &workloads);
    assert_true(workloads > 50);
}

/* Every operator that may become a primitive is interpreted, or its values are made up and it is said why. */
static void every_operator_has_a_reference(void **unused)
{
    (void)unused;
    /* a view is never computed */
    static const fsim_op none[] = {FSIM_OP_RESHAPE, FSIM_OP_FLATTEN, FSIM_OP_UNFLATTEN, FSIM_OP_SQUEEZE,
                                   FSIM_OP_UNSQUEEZE};
    for (int i = 0; i < FSIM_OP_COUNT; i++) {
        bool wanted = fsim_ops[i].class != FSIM_COMPOSITE;
        for (size_t k = 0; k < sizeof none / sizeof *none; k++)
            wanted = wanted && i != (int)none[k];
        if (fsim_reference_knows((fsim_op)i) != wanted)
            fail_msg("the reference and '%s'", fsim_ops[i].name);
    }
}

/* One that it does not know is named, and is not taken for the identity. */
static void an_operator_without_a_reference_is_named(void **unused)
{
    (void)unused;
    fsim_arena *a = fsim_arena_new();
    static const char text[] = "tensors: {x: {shape: [4], dtype: f32}}\noperators: [{op: exp, in: x, out: y}]\n";
    fsim_graph *g = fsim_graph_parse(a, fsim_diag_new(a), "test.yaml", text, sizeof text - 1, NULL);
    assert_non_null(g);
    assert_null(fsim_reference_lacks(g));
    g->node[0].op = FSIM_OP_SOFTMAX;
    assert_string_equal(fsim_reference_lacks(g), "softmax");
    fsim_arena_free(a);
}

/* Positions pick types, and types pick rows of an embedding that has two. */
static void indices_that_indices_pick_are_in_range(void **state)
{
    (void)state;
    static const char text[] = "name: test\ntensors:\n  table: {shape: [2, 8], dtype: f32, role: weight}\n"
                               "  types: {shape: [16], dtype: i64, role: buffer}\n  at: {shape: [4], dtype: i64}\n"
                               "operators:\n  - {op: gather, in: [types, at], out: type, dim: [0]}\n"
                               "  - {op: embedding, in: [type, table], out: y}\n";
    fsim_arena *a = fsim_arena_new();
    fsim_diag *d = fsim_diag_new(a);
    const fsim_graph *g = fsim_graph_parse(a, d, "test.yaml", text, sizeof text - 1, NULL);
    if (!g)
        fsim_diag_print(d, stderr, false);
    assert_non_null(g);
    fsim_fill *fill = fsim_new(a, fsim_fill, g->tensors + 1);
    fsim_fills_of(g, fill);
    for (int t = 0; t < g->tensors; t++) {
        if (strcmp(g->tensor[t].name, "types") == 0)
            assert_int_equal(fill[t].below, 2);
        if (strcmp(g->tensor[t].name, "at") == 0)
            assert_int_equal(fill[t].below, 16);
    }
    fsim_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_has_a_reference),
        cmocka_unit_test(indices_that_indices_pick_are_in_range),
        cmocka_unit_test(an_operator_without_a_reference_is_named),
        cmocka_unit_test(operators_compute_what_pytorch_does),
        cmocka_unit_test(dtypes_are_exact),
        cmocka_unit_test(dtypes_have_their_limits),
        cmocka_unit_test(bounds_see_errors),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(bounds_hold_in_any_order),
        cmocka_unit_test(shared_errors_add_up),
        cmocka_unit_test(squares_of_what_may_be_zero_deviate),
        cmocka_unit_test(equal_elements_have_equal_errors),
        cmocka_unit_test(tf32_has_its_bound),
        cmocka_unit_test(jumps_are_free),
        cmocka_unit_test(overflow_is_free),
        cmocka_unit_test(inputs_suit_their_readers),
        cmocka_unit_test(dropout_keeps_its_share),
        cmocka_unit_test(made_up_is_said),
        cmocka_unit_test(views_keep_their_place),
        cmocka_unit_test(bounds_start_anew_at_kernels),
        cmocka_unit_test(bounds_hold_past_powers_of_two),
        cmocka_unit_test(workloads_are_finite),
        cmocka_unit_test(real_graphs_are_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
