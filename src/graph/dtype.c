/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.c: the dtype of each operator's result, and which dtypes may meet in one operator, by PyTorch's rules.
 * unit.types compares this file with PyTorch's own answers (tests/types/torch_types.csv). */
#include "graph/build.h"

fsim_dtype fsim_dtype_promote(fsim_dtype a, fsim_dtype b)
{
    if (a == b)
        return a;
    if (fsim_dtype_floating(a) != fsim_dtype_floating(b))
        return fsim_dtype_floating(a) ? a : b;
    const int x = fsim_dtype_bytes(a), y = fsim_dtype_bytes(b);
    if (x != y)
        return x > y ? a : b;
    if (a == FSIM_BOOL || b == FSIM_BOOL)
        return a == FSIM_BOOL ? b : a;
    if (fsim_dtype_floating(a))
        return x == 2 ? FSIM_F32 : FSIM_F16;
    return FSIM_I16; /* i8 with u8 */
}

/* The dtypes of an operator's operands, by PyTorch's three categories. Where both are floats, or both integers, the
 * earlier category decides. FSIM_DTYPE_NONE: there is no such operand. */
typedef struct {
    fsim_dtype tensors, zero_dim, number; /* tensors with dimensions; those without; numbers that are attributes */
} operands;

const char *const fsim_makes_texts[] = {
#define FSIM_MAKES(id, text) [FSIM_MAKES_##id] = text,
    FSIM_MAKES_ROWS
#undef FSIM_MAKES
};

static bool is_byte(fsim_dtype t) { return t == FSIM_I8 || t == FSIM_U8; }
bool fsim_is_float8(fsim_dtype t) { return t == FSIM_F8E4M3 || t == FSIM_F8E5M2 || t == FSIM_F8E8M0; }

/* Sets *to to the dtype that it and `with` promote to. */
static bool promote(const fsim_call *call, fsim_dtype *to, fsim_dtype with)
{
    if (*to == FSIM_DTYPE_NONE)
        *to = with;
    if (with == FSIM_DTYPE_NONE || with == *to)
        return true;
    if (fsim_is_float8(*to) || fsim_is_float8(with))
        return fsim_refuse(call, "%s and %s have no common dtype: PyTorch does not promote floats of 8 bits; cast one",
                           fsim_dtype_names[*to], fsim_dtype_names[with]);
    *to = fsim_dtype_promote(*to, with);
    return true;
}

/* Sets *to to the common dtype with operands of a later category: a float without dimensions makes an integer tensor
 * a float, but does not widen a float tensor. */
static bool combine(const fsim_call *call, fsim_dtype *to, fsim_dtype lower)
{
    if (*to != FSIM_DTYPE_NONE && lower != FSIM_DTYPE_NONE &&
        (fsim_dtype_floating(*to) || (*to != FSIM_BOOL && !fsim_dtype_floating(lower))))
        return true;
    return promote(call, to, lower);
}

/* Sets *to to the dtype that the arguments from `first` on and the numbers among the attributes promote to. */
static bool promoted(const fsim_call *call, int first, fsim_dtype *to)
{
    operands of = {FSIM_DTYPE_NONE, FSIM_DTYPE_NONE, FSIM_DTYPE_NONE};
    for (int i = first; i < call->args; i++) {
        const fsim_tensor *t = fsim_arg(call, i);
        const bool zero_dim = t->shape.rank == 0 || (i < 32 && (call->scalars >> i & 1));
        if (!promote(call, zero_dim ? &of.zero_dim : &of.tensors, t->dtype))
            return false;
    }
    if (call->number != FSIM_NO_NUMBER)
        of.number = call->number == FSIM_FRACTION ? FSIM_F32 : FSIM_I64;
    *to = of.tensors;
    return combine(call, &of.zero_dim, of.number) && combine(call, to, of.zero_dim);
}

/* May argument i of a product whose result has a dtype of its own be of this dtype? A bias is of the result's, operands
 * of 8-bit integers may differ in sign. */
static bool fits_product(const fsim_call *call, int i, fsim_dtype t)
{
    const bool bias = i == 2 && call->op != FSIM_OP_EINSUM;
    if (call->attrs.dtype == FSIM_DTYPE_NONE)
        return false;
    return bias ? t == call->attrs.dtype : is_byte(t) && is_byte(fsim_arg(call, 0)->dtype);
}

/* Sets *t to the first argument's dtype. All others but the one numbered `but` must have it. */
static bool equal(const fsim_call *call, int but, fsim_dtype *t)
{
    *t = fsim_arg(call, 0)->dtype;
    for (int i = 1; i < call->args; i++) {
        const fsim_tensor *first = fsim_arg(call, 0), *other = fsim_arg(call, i);
        if (i != but && other->dtype != *t && !fits_product(call, i, other->dtype))
            return fsim_refuse(call, "wants inputs of one dtype; '%s' is %s and '%s' is %s: cast one", first->name,
                               fsim_dtype_names[*t], other->name, fsim_dtype_names[other->dtype]);
    }
    return true;
}

fsim_dtype fsim_product_arithmetic(const fsim_call *call)
{
    return call->attrs.compute != FSIM_DTYPE_NONE ? call->attrs.compute : fsim_arg(call, 0)->dtype;
}

static bool only_float(const fsim_call *call, fsim_dtype *t)
{
    *t = fsim_arg(call, 0)->dtype;
    return fsim_dtype_floating(*t) || fsim_refuse(call, "wants a float; found %s: cast it", fsim_dtype_names[*t]);
}

static bool is_condition(const fsim_call *call, int i)
{
    const fsim_dtype t = fsim_arg(call, i)->dtype;
    return t == FSIM_BOOL ||
           fsim_refuse(call, "'%s' is %s; a condition is bool", fsim_arg(call, i)->name, fsim_dtype_names[t]);
}

/* Of the operands of `where` the second and third may be numbers. */
static bool has_branches(const fsim_call *call)
{
    const bool input = call->list[FSIM_ATTR_INPUT].present, other = call->list[FSIM_ATTR_OTHER].present;
    return call->op != FSIM_OP_WHERE || call->args + input + other == 3 ||
           fsim_refuse(call,
                       "has %d input%s%s%s; wants a condition and two values, of which 'input' and 'other' may be "
                       "numbers",
                       call->args, call->args == 1 ? "" : "s", input ? " and 'input'" : "",
                       other ? " and 'other'" : "");
}

static bool result_dtype(const fsim_call *call, fsim_dtype *t)
{
    *t = call->args ? fsim_arg(call, 0)->dtype : FSIM_F32;
    if (call->typed) {
        *t = call->type;
        return true;
    }
    switch (fsim_ops[call->op].makes) {
    case FSIM_MAKES_FIRST:
    case FSIM_MAKES_STEPS:
        break;
    case FSIM_MAKES_SECOND:
        *t = fsim_arg(call, 1)->dtype;
        break;
    case FSIM_MAKES_PROMOTED:
        return promoted(call, 0, t);
    case FSIM_MAKES_FLOATING:
        if (!promoted(call, 0, t))
            return false;
        *t = fsim_dtype_floating(*t) ? *t : FSIM_F32;
        break;
    case FSIM_MAKES_FLOATS:
        return only_float(call, t);
    case FSIM_MAKES_BOOL:
        if (!promoted(call, 0, t))
            return false;
        *t = FSIM_BOOL;
        break;
    case FSIM_MAKES_BRANCHES:
        return has_branches(call) && is_condition(call, 0) && promoted(call, 1, t);
    case FSIM_MAKES_MASKED:
        return is_condition(call, 1);
    case FSIM_MAKES_NAMED:
        *t = call->attrs.dtype != FSIM_DTYPE_NONE ? call->attrs.dtype : *t;
        break;
    case FSIM_MAKES_SUMMED:
        *t = fsim_dtype_floating(*t) ? *t : FSIM_I64;
        break;
    case FSIM_MAKES_INDICES:
        *t = FSIM_I64;
        break;
    case FSIM_MAKES_EQUAL:
        if (!equal(call, call->args, t))
            return false;
        *t = call->attrs.dtype != FSIM_DTYPE_NONE ? call->attrs.dtype : *t;
        break;
    case FSIM_MAKES_SCATTERED:
        return equal(call, 1, t);
    }
    return true;
}

/* Does PyTorch refuse bools, all of them? */
static bool is_of_numbers(fsim_op op)
{
    return op == FSIM_OP_FLOOR || op == FSIM_OP_CEIL || op == FSIM_OP_ROUND || op == FSIM_OP_TRUNC ||
           op == FSIM_OP_THRESHOLD || op == FSIM_OP_FLOOR_DIVIDE || op == FSIM_OP_REMAINDER || op == FSIM_OP_FMOD;
}

/* Bits are of integers; shifts not of bools. */
static bool has_bits(const fsim_call *call, fsim_dtype t)
{
    const bool shift = call->op == FSIM_OP_BITWISE_LEFT_SHIFT || call->op == FSIM_OP_BITWISE_RIGHT_SHIFT,
               bits = shift || call->op == FSIM_OP_BITWISE_AND || call->op == FSIM_OP_BITWISE_OR ||
                      call->op == FSIM_OP_BITWISE_XOR || call->op == FSIM_OP_BITWISE_NOT;
    return !bits || (!fsim_dtype_floating(t) && !(shift && t == FSIM_BOOL)) ||
           fsim_refuse(call, "wants integers%s; found %s", shift ? "" : " or bools", fsim_dtype_names[t]);
}

bool fsim_result_dtype(const fsim_call *call, fsim_dtype *t)
{
    for (int i = 0; i < call->args && (call->op == FSIM_OP_SUB || call->op == FSIM_OP_NEG); i++)
        if (fsim_arg(call, i)->dtype == FSIM_BOOL)
            return fsim_refuse(call, "'%s' is bool; PyTorch does not subtract bools: cast it, or use ne",
                               fsim_arg(call, i)->name);
    if (!result_dtype(call, t))
        return false;
    if (*t == FSIM_BOOL && call->op == FSIM_OP_SQUARE)
        *t = FSIM_I64;
    if (*t == FSIM_BOOL && is_of_numbers(call->op))
        return fsim_refuse(call, "'%s' is bool; wants numbers: cast it", fsim_arg(call, 0)->name);
    return has_bits(call, *t);
}

bool fsim_pairs_are_known(const fsim_call *c)
{
    for (int i = 0; i < c->args && c->op != FSIM_OP_DEQUANTIZE; i++)
        if (fsim_dtype_paired(fsim_arg(c, i)->dtype))
            return fsim_refuse(c, "'%s' is %s, two elements in a byte: 'dequantize' makes numbers of it",
                               fsim_arg(c, i)->name, fsim_dtype_names[fsim_arg(c, i)->dtype]);
    return c->op == FSIM_OP_QUANTIZE || !fsim_dtype_paired(c->attrs.dtype) ||
           fsim_refuse(c, "has dtype %s, two elements in a byte: only 'quantize' makes it",
                       fsim_dtype_names[c->attrs.dtype]);
}
