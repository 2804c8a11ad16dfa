/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of a workload's text: what is wrong with them, in words, or the primitives that they become, with their
 * shapes. x, y: 4 x 6; v: 6; i: 3 indices; g: 2 x 6; m: 2 x 3 x 8 x 8; and so on, see below. depends: compiler memory
 * cost: 1 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *op, *says;
} cases[] = {
    {"relu, in: [x, y]", "relu 'o': has 2 inputs; wants 1\n"},
    {"relu, in: []", "relu 'o': has 0 inputs; wants 1\n"},
    {"add, in: [x, y, v, x]", "add 'o': has 4 inputs; wants at most 2\n"},
    {"layer_norm, in: []", "layer_norm 'o': has 0 inputs; wants at least 1\n"},
    {"concat, in: [], dim: 0", "concat 'o': has 0 inputs; wants at least 1\n"},
    {"max, in: [x, y]", "'maximum' is of two tensors, 'max' reduces one"},
    {"softmax, in: x, dim: 2", "dimension 2 is out of range for a tensor of rank 2"},
    {"softmax, in: x, dim: -3", "dimension -3 is out of range for a tensor of rank 2"},
    {"softmax, in: x, dim: -2", "max o/max [1, 6]; sub o/sub [4, 6]; exp o/exp [4, 6]; sum o/sum [1, 6]; div o [4, 6]"},
    {"add, in: [x, i]", "shapes [4, 6] and [3] do not broadcast: 6 against 3"},
    {"add, in: [x, v]", "add o [4, 6]"},
    {"unfold, in: x, dim: 0, size: 2, step: 0", "wants 1 to 7 dimensions, one 'size', and a 'step' above 0"},
    {"unfold, in: x, dim: 0, size: 2, step: 1", "unfold o [3, 6, 2]"},
    {"unfold, in: x, dim: 1, size: 3, step: 2", "unfold o [4, 2, 3]"},
    {"im2col, in: x, kernel: 2", "wants x[N, C, H, W]; found [4, 6]"},
    {"im2col, in: m, kernel: 9", "the window does not fit into [2, 3, 8, 8]"},
    {"im2col, in: m, kernel: 8", "im2col o [2, 192, 1]"},
    {"im2col, in: m, kernel: 2, padding: -1", "'padding' is negative"},
    {"im2col, in: m, kernel: 3", "im2col o [2, 27, 36]"},
    {"im2col, in: m, kernel: 3, padding: [1, 0]", "pad o/padded [2, 3, 10, 8]; im2col o [2, 27, 48]"},
    {"im2col, in: m, kernel: 3, padding: [0, 2], stride: 3", "pad o/padded [2, 3, 8, 12]; im2col o [2, 27, 8]"},
    {"gather, in: [x, i], dim: 0",
     "with 'dim' wants an index of x's rank, not longer than x outside of 'dim'; found [3] for [4, 6]"},
    {"gather, in: [x, g], dim: 0", "gather o [2, 6]"},
    {"gather, in: [v, i], dim: 0", "gather o [3]"},
    {"gather, in: [x, g], dim: 1", "gather o [2, 6]"},
    {"index_select, in: [x, i], dim: 1", "index_select o [4, 3]"},
    {"conv2d, in: [m, x]", "wants x[N, C, ...] and weight[O, C / groups, ...]; found [2, 3, 8, 8] and [4, 6]"},
    {"einsum, in: [x, y], equation: \"ij,ij->i\"", "einsum o [4]"},
    {"einsum, in: [x, y], equation: \"ij,kj->ik\"", "einsum o [4, 4]"},
    {"einsum, in: [x, y, v], equation: \"ij,ij,j->i\"", "einsum o/1_ij [4, 6]; einsum o [4]"},
    {"einsum, in: [x], equation: \"ij->j\"", "sum o [6]"},
    {"add, in: [x, m]", "shapes [4, 6] and [2, 3, 8, 8] do not broadcast: 4 against 8"},
    {"sub, in: [n, n]", "'n' is bool; PyTorch does not subtract bools"},
    {"where, in: [x, x, y]", "'x' is f32; a condition is bool"},
    {"where, in: [n, x, v]", "where o [4, 6]"},
    {"prelu, in: [m, v]", "wants a weight of [3], or [1]; found [6]"},
    {"prelu, in: [x, v]", "prelu o [4, 6]"},
    {"hardtanh, in: x, min: 3, max: 2", "'min' 3 is above 'max' 2"},
    {"clamp, in: x, min: 3, max: 2", "clamp o [4, 6]"},
    {"one_hot, in: x, num_classes: 3", "'x' is f32; wants integers"},
    {"one_hot, in: i, num_classes: 7", "one_hot o [3, 7]"},
    {"arange, in: [], start: 1, end: 8, step: 3", "arange o [3]"},
    {"arange, in: [], start: 1, end: 1", "has no numbers from 1 to 1 in steps of 1"},
    {"arange, in: [], start: 8, end: 1, step: -3", "arange o [3]"},
    {"arange, in: [], start: 1, end: 8, step: -1", "has no numbers from 1 to 8 in steps of -1"},
    {"dropout, in: x, p: 1.5", "'p' is 1.5; wants 0 to 1"},
    {"sum, in: x, dim: [0, 0]", "dimension 0 is reduced twice"},
    {"sum, in: x, dim: [0, -2]", "dimension 0 is reduced twice"},
    {"sum, in: x", "sum o []"},
    {"argmax, in: x, dim: [0, 1]", "wants one 'dim', or none for all elements"},
    {"topk, in: x, k: 7", "k is 7; dimension 1 has 6"},
    {"topk, in: x, k: 5, dim: 0", "k is 5; dimension 0 has 4"},
    {"topk, in: x, k: 6", "topk o [4, 6]"},
    {"matmul, in: [x, y]", "inner dimensions of [4, 6] and [4, 6] differ: 6 against 4"},
    {"matmul, in: [x, v]", "matmul o [4]"},
    {"matmul, in: [v, v]", "matmul o []"},
    {"matmul, in: [m, m]", "matmul o [2, 3, 8, 8]"},
    {"bmm, in: [x, y]", "wants two batches of matrices of equal length; found [4, 6] and [4, 6]"},
    {"linear, in: [x, v]", "wants x[..., K] and weight[N, K]; found [4, 6] and [6]"},
    {"linear, in: [x, m]", "wants x[..., K] and weight[N, K]; found [4, 6] and [2, 3, 8, 8]"},
    {"linear, in: [m, x]", "wants x[..., K] and weight[N, K]; found [2, 3, 8, 8] and [4, 6]"},
    {"linear, in: [x, y, v]", "shapes [4, 4] and [6] do not broadcast: 4 against 6"},
    {"linear, in: [v, x]", "linear o [4]"},
    {"einsum, in: [x, y], equation: \"ij,ij->k\"", "the result names a letter that no operand has"},
    {"einsum, in: [x, y], equation: \"ijk,ij->k\"", "has 3 and 2 letters for tensors of rank 2 and 2"},
    {"einsum, in: [x, y], equation: \"ij->i\"", "wants two terms of distinct letters and '->' with the result"},
    {"einsum, in: [x, v], equation: \"ij,j->i\"", "einsum o [4]"},
    {"concat, in: [x, v], dim: 0", "ranks 2 and 1 differ"},
    {"concat, in: [x, g], dim: 0", "concat o [6, 6]"},
    {"concat, in: [x, y], dim: 1", "concat o [4, 12]"},
    {"pad, in: x, padding: [1]", "wants 'padding' as pairs of before and after, last dimension first"},
    {"pad, in: v, padding: [1, 1, 1, 1]", "wants 'padding' as pairs of before and after, last dimension first"},
    {"pad, in: x, padding: [1, 2]", "pad o [4, 9]"},
    {"pad, in: x, padding: [0, 0, 1, 2]", "pad o [7, 6]"},
    {"pad, in: x, padding: [-1, 0, 0, -3]", "pad o [1, 5]"},
    {"roll, in: x, roll: [1, 2], dim: [0]", "'roll' has 2 entries for 1 dimensions"},
    {"roll, in: x, roll: [1, 2]", "'roll' has 2 entries: wants a 'dim' for each"},
    {"roll, in: x, roll: [1]", "roll o [4, 6]"},
    {"gather, in: [x, x]", "gather o [4, 6, 6]"},
    {"gather, in: [x, i]", "gather o [3, 6]"},
    {"index_select, in: [x, g], dim: 0", "wants x of at least one dimension and index[n]; found [4, 6] and [2, 6]"},
    {"index_select, in: [x, v], dim: 0", "the index 'v' is f32; wants integers"},
    {"embedding, in: [g, x]", "embedding o [2, 6, 6]"},
    {"embedding, in: [x, x]", "embedding o [4, 6, 6]"},
    {"scatter, in: [x, i, y], dim: 0",
     "wants an index for each element of the source, or for each row of it; found [4, 6], [3] and [4, 6]"},
    {"index_add, in: [x, i, y], dim: 0",
     "wants x, index[n], and a source of x's shape with n along 'dim'; found [4, 6], [3] and [4, 6]"},
    {"index, in: [x, v]", "the index 'v' is f32; wants integers"},
    {"index, in: [x, n]", "the index 'n' is bool, a mask: write 'where' or 'masked_fill'; wants integers"},
    {"index, in: [v, i, i]", "has 2 indices for 1 dimensions"},
    {"index, in: [x, i, i], dim: [0]", "'dim' names 1 dimensions for 2 indices"},
    {"index, in: [x, i, i], dim: [1, 0]", "'dim' wants dimensions in ascending order, each once"},
    {"index, in: [x, i, i]", "[3]"},
    {"interpolate, in: x, scale_factor: 2", "wants x[N, C, ...] with 1 to 3 spatial dimensions; found [4, 6]"},
    {"interpolate, in: m", "wants either 'size' or 'scale_factor'"},
    {"interpolate, in: m, size: [4, 4], scale_factor: 2", "wants either 'size' or 'scale_factor'"},
    {"interpolate, in: m, size: [4, 4, 4]", "'size' lists 3 values for 2 axes"},
    {"interpolate, in: m, size: 4, mode: linear", "x has 2 spatial dimensions: wants 'mode: bilinear', or 'nearest'"},
    {"interpolate, in: m, size: 4, align_corners: true", "'align_corners' goes with linear modes"},
    {"interpolate, in: m, size: [4, 5]", "interpolate o [2, 3, 4, 5]"},
    {"interpolate, in: m, scale_factor: 1.2", "interpolate o [2, 3, 9, 9]"},
    {"reshape, in: x, shape: [-1, -1]", "only one dimension may be -1"},
    {"reshape, in: x, shape: [5, -1]", "cannot view [4, 6] (24 elements) as [5, -1]"},
    {"reshape, in: x, shape: [5, 5]", "cannot view [4, 6] (24 elements) as [5, 5]"},
    {"permute, in: x, dim: [0]", "'dims' lists 1 of the tensor's 2 dimensions"},
    {"permute, in: x, dim: [1, -1]", "'dims' names dimension 1 twice"},
    {"permute, in: m, dim: [0, 2, 3, 1]", "permute o [2, 8, 8, 3]"},
    {"transpose, in: v", "wants 'dim: [i, j]', the two dimensions to swap: the tensor has 1"},
    {"transpose, in: x, dim: [0]", "'dims' names the two dimensions to swap; found 1"},
    {"transpose, in: m", "wants 'dim: [i, j]', the two dimensions to swap: the tensor has 4"},
    {"transpose, in: m, dim: [0, 1]", "transpose o [3, 2, 8, 8]"},
    {"slice, in: x, dim: 1, start: 2, end: 8", "slice o [4, 4]"},
    {"slice, in: x, dim: 1, start: 2, size: 5", "elements 2 to 6 of dimension 1, which has 6"},
    {"slice, in: x, dim: 1, start: 2, size: 4", "slice o [4, 4]"},
    {"slice, in: x, dim: 1, start: 4, end: 2", "nothing lies from 4 to 2 of 6 elements"},
    {"slice, in: x, dim: 1, start: 0, end: 2, size: 2", "has both 'end' and 'size'; wants one of them"},
    {"slice, in: x, dim: [0, 1], start: 1", "'dim' and 'start' differ in length"},
    {"slice, in: x, dim: [0, 1], start: [1, 2], size: [3, 2]", "slice o [3, 2]"},
    {"slice, in: x, dim: [0, 0], start: [1, 2], size: [3, 2]", "'dim' names dimension 0 twice"},
    {"split, in: x, size: 2, chunks: 2", "has both 'size' and 'chunks'; wants one of them"},
    {"expand, in: x", "wants 'shape' or 'repeats'"},
    {"expand, in: x, shape: [6]", "cannot expand [4, 6] to rank 1"},
    {"expand, in: x, shape: [-1, 4, 6]", "-1 leaves a dimension as it is; the tensor has none there"},
    {"expand, in: x, shape: [8, 6]", "cannot expand [4, 6] to [8, 6]"},
    {"expand, in: v, shape: [4, -1]", "expand o [4, 6]"},
    {"expand, in: x, repeats: [2, 3]", "expand o [8, 18]"},
    {"expand, in: v, repeats: [2, 3]", "expand o [2, 18]"},
    {"flip, in: x, dim: [0, 0]", "'dim' names dimension 0 twice"},
    {"flip, in: x, dim: [0, 1]", "flip o [4, 6]"},
    {"unfold, in: v, dim: 0, size: 7", "'size' 7 is more than the 6 elements of dimension 0"},
    {"unfold, in: v, dim: 0, size: 6", "unfold o [1, 6]"},
    {"flatten, in: m, start_dim: 2, end_dim: 1", "'start_dim' 2 comes after 'end_dim' 1"},
    {"unflatten, in: v, dim: 0, shape: [-1, -1]", "only one dimension may be -1"},
    {"unflatten, in: v, dim: 0, shape: [4, 2]", "'shape' does not hold the 6 elements of dimension 0"},
    {"squeeze, in: x, dim: [0, 0]", "'dim' names dimension 0 twice"},
    {"select, in: x, dim: 1, index: 6", "index 6 is out of range for dimension 1, which has 6"},
    {"select, in: x, dim: 1, index: -7", "index -7 is out of range for dimension 1, which has 6"},
    {"stack, in: [x, v]", "shapes [4, 6] and [6] differ"},
    {"pixel_shuffle, in: m, upscale_factor: 2", "wants x[N, C, H, W] with C a multiple of 4; found [2, 3, 8, 8]"},
    {"layer_norm, in: x, normalized_shape: [4]", "'normalized_shape' 4 is not the tensor's 6"},
    {"layer_norm, in: v, normalized_shape: [4, 6]", "'normalized_shape' has 2 dimensions, the tensor 1"},
    {"group_norm, in: m, groups: 2", "[2, 3, 8, 8] does not divide into 2 groups of channels"},
    {"group_norm, in: [m, v, v], groups: 3", "'v' has 6 elements for 3 channels"},
    {"batch_norm, in: [m, v, v, v, v]", "'v' has 6 elements for 3 channels"},
    {"batch_norm, in: [m, i]", "has 2 inputs; without 'training: true' wants x, weight, bias, mean and variance"},
    {"instance_norm, in: v", "wants x[N, C, ...]; found [6]"},
    {"glu, in: c", "wants an even dimension"},
    {"attention, in: [x, x, x]",
     "wants q[B, heads, Sq, D] and k, v[B, kv_heads, Sk, D]; found [4, 6], [4, 6] and [4, 6]"},
    {"linear, in: [x, y, i]", "wants inputs of one dtype"},
    {"attention, in: [q, k, k], enable_gqa: false", "6 query heads for 3 key heads want 'enable_gqa: true'"},
    {"gather, in: [x, n], dim: 0", "the index 'n' is bool; wants integers"},
    {"gather, in: [x, n]", "the index 'n' is bool; wants integers"},
    {"max, in: x, dim: 1, keepdim: true", "max o [4, 1]"},
    {"mean, in: m, dim: [1, -1]", "mean o [2, 8]"},
    {"norm, in: m, dim: [0, 1, 2]", "norm o [8]"},
    {"cumsum, in: x, dim: 2", "dimension 2 is out of range for a tensor of rank 2"},
    {"conv1d, in: [m, w]", "found [2, 3, 8, 8] and [6, 3, 3, 3]"},
    {"conv2d, in: [m, w], padding: 3, stride: 5", "conv2d o [2, 6, 3, 3]"},
    {"max_pool2d, in: m, kernel: [2, 4]", "max_pool2d o [2, 3, 4, 2]"},
    {"avg_pool2d, in: m, kernel: 9", "a window of 9 does not fit 8 padded elements"},
    {"attention, in: [k, q, q], enable_gqa: true", "3 query heads do not divide over 6 key heads"},
    {"attention, in: [q, q, q], window: 3", "a 'window' of 3 keys wants 'causal: true'"},
    {"cross_entropy, in: [x, i]", "wants logits[N, C, ...] and targets[N, ...]; found [4, 6] and [3]"},
    {"cross_entropy, in: [x, v]", "wants logits"},
    {"conv2d, in: [m, w], groups: 3", "x [2, 3, 8, 8] and weight [6, 3, 3, 3] do not fit with groups 3"},
    {"conv2d, in: [m, w, i]", "wants inputs of one dtype; 'm' is f32 and 'i' is i64: cast one"},
    {"conv2d, in: [m, w, v]", "conv2d o/conv [2, 6, 6, 6]; add o [2, 6, 6, 6]"},
    {"conv2d, in: [m, w], kernel: 3", "unknown attribute 'kernel'"},
    {"conv2d, in: [m, w], stride: [1, 2, 3]", "'stride' lists 3 values for 2 axes"},
    {"conv2d, in: [m, w], padding: -1", "stride, dilation and kernel are at least 1, padding at least 0"},
    {"conv2d, in: [m, w], dilation: 4", "a window of 9 does not fit 8 padded elements"},
    {"conv2d, in: [m, w], dilation: [3, 1], stride: [1, 2]", "conv2d o [2, 6, 2, 3]"},
    {"conv2d, in: [m, w], dilation: [4, 1], padding: [1, 0]", "conv2d o [2, 6, 2, 6]"},
    {"conv_transpose2d, in: [m, w]", "x [2, 3, 8, 8] and weight [6, 3, 3, 3] do not fit with groups 1"},
    {"conv_transpose2d, in: [r, w], stride: 2, output_padding: 2",
     "'output_padding' 2 wants a larger stride or dilation than 2 and 1"},
    {"conv_transpose2d, in: [r, w], stride: 2, output_padding: 1", "conv_transpose2d o [2, 3, 18, 18]"},
    {"conv_transpose2d, in: [r, w], padding: -1", "stride and dilation are at least 1, padding at least 0"},
    {"conv2d_weight, in: [m, x], kernel: 3",
     "wants x[N, C, ...] and the gradient [N, O, ...] of the result; found [2, 3, 8, 8] and [4, 6]"},
    {"conv2d_weight, in: [m, r], kernel: 3, groups: 2", "3 channels and 6 filters do not divide into 2 groups"},
    {"conv2d_weight, in: [m, r], kernel: 3", "the gradient has 8 elements along axis 0; these windows make 6"},
    {"conv2d_weight, in: [m, r], kernel: 3, padding: 1", "conv2d_weight o [6, 3, 3, 3]"},
    {"max_pool2d, in: m, kernel: 3, padding: 2", "'padding' 2 is more than half of the window, 3"},
    {"max_pool2d, in: m, kernel: 3, padding: 1, stride: 2", "max_pool2d o [2, 3, 4, 4]"},
    {"max_pool2d, in: v, kernel: 3", "the tensor has too few dimensions"},
    {"adaptive_avg_pool2d, in: v, output_size: 3", "the tensor has too few dimensions"},
    {"adaptive_avg_pool2d, in: m, output_size: [3, 9]", "adaptive_avg_pool2d o [2, 3, 3, 9]"},
    {"fold, in: x, output_size: [4, 4], kernel: 2", "wants a multiple of 4 rows and 9 windows; found [4, 6]"},
    {"mse_loss, in: [x, v]", "sub o/sub [4, 6]; mul o/square [4, 6]; mean o []"},
    {"repeat_interleave, in: x, repeats: [2, 3], dim: 0", "'repeats' has 2 entries; wants one number for all elements"},
    {"rotary_embedding, in: [x, c, c]", "shapes [4, 6] and [4, 5] do not broadcast: 6 against 5"},
    {"swiglu, in: c", "wants gate and up, or one tensor with an even last dimension"},
    {"unpack, in: x, bits: 4", "wants u8[..., n]; found f32"},
    {"unpack, in: u, bits: 3", "'bits' is 3; wants 1, 2 or 4"},
    {"unpack, in: u, bits: 2", "[4, 24]"},
    {"cast, in: x, dtype: f4e2m1", "two elements in a byte"},
    {"topk, in: s, k: 1, out: [o, p]", "topk o []"},
    {"topk, in: s, k: 2", "k is 2; dimension 0 has 1"},
    {"topk, in: x, k: 0", "'k' is 0; wants 1 to 4294967296"},
    {"sort, in: s", "sort o []"},
    {"cumsum, in: s, dim: 0", "cumsum o []"},
    {"softmax, in: s, dim: 0", "max o/max []"},
    {"softmax, in: s, dim: 1", "dimension 1 is out of range for a tensor of rank 0"},
    {"sum, in: s, dim: 0", "sum o []"},
    {"sum, in: s, dim: 1", "dimension 1 is out of range for a tensor of rank 0"},
    {"argmax, in: s, dim: 0", "argmax o []"},
    {"add, in: [s, x]", "add o [4, 6]"},
    {"matmul, in: [s, x]", "wants"},
    {"flip, in: s, dim: 0", "flip o []"},
    {"split, in: s, size: 1", "wants a tensor of at least one dimension"},
    {"split, in: x, size: 4, out: [o, p], dim: 1", "slice o [4, 4]; slice p [4, 2]"},
    {"split, in: x, size: [1, 5], out: [o, p], dim: 1", "slice o [4, 1]; slice p [4, 5]"},
    {"split, in: x, size: [1, 4], out: [o, p], dim: 1", "the pieces hold 5 of dimension 1's 6"},
    {"split, in: x, size: [1, 4, 1], out: [o, p], dim: 1", "3 sizes for 2 outputs"},
    {"pad, in: s, padding: [1, 1]", "wants 'padding' as pairs of before and after, last dimension first"},
    {"pad, in: x, padding: [4294967297, 0]", "4294967297"},
    {"pad, in: x, padding: [-7, 0]", "dimension 1 is -1; dimensions are 1 to 4294967296"},
    {"roll, in: x, roll: 2, dim: 5", "dimension 5 is out of range for a tensor of rank 2"},
    {"roll, in: x, roll: 6, dim: 1", "o [4, 6]"},
    {"max_pool2d, in: m, kernel: 0", "'kernel' is 0; wants 1 to 4294967296"},
    {"max_pool2d, in: m, kernel: 8", "max o [2, 3, 1, 1]"},
    {"max_pool2d, in: m, kernel: 2, stride: 0", "'stride' is 0; wants 1 to 4294967296"},
    {"max_pool2d, in: m, kernel: 2, dilation: 0", "'dilation' is 0; wants 1 to 4294967296"},
    {"max_pool2d, in: m, kernel: 2, stride: 4294967296", "max_pool2d o [2, 3, 1, 1]"},
    {"max_pool2d, in: m, kernel: 2, stride: 4294967297", "4294967297"},
    {"max_pool2d, in: m, kernel: 4294967296", "a window of 4294967296 does not fit 8 padded elements"},
    {"max_pool2d, in: m, kernel: 2, dilation: 4294967296", "a window of 4294967297 does not fit 8 padded elements"},
    {"conv2d, in: [m, w], padding: 4294967296", "takes 2.39e+22 steps; at most 1152921504606846976"},
    {"max_pool2d, in: m, kernel: [1, 2, 3]", "'kernel' lists 3 values for 2 axes"},
    {"attention, in: [q, k, k]", "einsum o/qk [2, 3, 10, 5]; mul o/scale [2, 6, 5, 5]"},
    {"attention, in: [q, q, q], causal: true, window: 3",
     "causal_mask o/mask [2, 6, 5, 5]; window_mask o/window [2, 6, 5, 5]"},
    {"select, in: x, dim: 1, index: -6", "slice o/slice [4, 1]"},
    {"select, in: x, dim: 1, index: 5", "slice o/slice [4, 1]"},
    {"squeeze, in: c, dim: 2", "dimension 2 is out of range for a tensor of rank 2"},
    {"stack, in: [x, y], dim: 3", "out of range"},
    {"stack, in: [x, y], dim: 2", "[4, 6, 2]"},
    {"expand, in: s, shape: [3, 2]", "expand o [3, 2]"},
    {"permute, in: s, dim: []", "o []"},
    {"reshape, in: x, shape: [0, -1]", "cannot view [4, 6] (24 elements) as [0, -1]"},
    {"one_hot, in: i, num_classes: 0", "num_classes"},
    {"embedding, in: [i, v]", "embedding o [3]"},
    {"glu, in: x, dim: 3", "out of range"},
    {"layer_norm, in: s, normalized_shape: [1]", "has 1 dimensions, the tensor 0"},
    {"rms_norm, in: x, normalized_shape: [6]", "o [4, 6]"},
    {"einsum, in: [x, y], equation: \"ij,ik->jk\"", "einsum o [6, 6]"},
    {"einsum, in: [m, m], equation: \"abcd,abcd->ab\"", "einsum o [2, 3]"},
    {"einsum, in: [s, x], equation: \",ij->ij\"", "[4, 6]"},
    {"einsum, in: [x, y, c], equation: \"ij,kj,km->im\"", "einsum o [4, 5]"},
    {"quantize, in: x", "abs o/magnitude [4, 6]; max o/largest [4, 1]; div o/scale [4, 1]; div o/scaled [4, 6]; clamp "
                        "o/clamp [4, 6]; cast o [4, 6]"},
};

static const char *said_of(const char *op, fsim_arena *a)
{
    fsim_diag *d = fsim_diag_new(a);
    const char
        *text = fsim_printf(
            a,
            "tensors: {x: {shape: [4, 6], dtype: f32}, y: {shape: [4, 6], dtype: f32}, v: {shape: [6], dtype: f32}, "
            "i: {shape: [3], dtype: i64}, g: {shape: [2, 6], dtype: i64}, m: {shape: [2, 3, 8, 8], dtype: f32}, n: "
            "{shape: [4, 6], dtype: bool}, "
            "w: {shape: [6, 3, 3, 3], dtype: f32}, r: {shape: [2, 6, 8, 8], dtype: f32}, q: {shape: [2, 6, 5, 8], "
            "dtype: f32}, "
            "s: {shape: [], dtype: f32}, k: {shape: [2, 3, 5, 8], dtype: f32}, c: {shape: [4, 5], dtype: f32}, u: "
            "{shape: [4, 6], dtype: u8}}\n"
            "operators: [{op: %s%s}]\n",
            op, strstr(op, "out:") ? "" : ", out: o"),
        *said = "";
    const fsim_graph *g = fsim_graph_parse(a, d, "wording.yaml", text, strlen(text), NULL);
    if (!g) {
        assert_int_equal(fsim_errors(d), 1); /* once */
        char *printed = NULL;
        size_t bytes;
        FILE *out = open_memstream(&printed, &bytes);
        assert_non_null(out);
        fsim_diag_print(d, out, false);
        fclose(out);
        said = fsim_strdup(a, printed);
        free(printed);
        return said;
    }
    for (int n = 0; n < g->nodes; n++) {
        const fsim_tensor *t = &g->tensor[g->node[n].result[0]];
        said = fsim_printf(a, "%s%s%s %s %s", said, n ? "; " : "", fsim_ops[g->node[n].op].name, t->name,
                           fsim_shape_text(a, &t->shape));
    }
    return said;
}

static void operators_in_words(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fsim_arena *a = fsim_arena_new();
        const char *said = said_of(cases[i].op, a);
        if (!strstr(said, cases[i].says))
            fail_msg("%s: %s", cases[i].op, said);
        fsim_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(operators_in_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
