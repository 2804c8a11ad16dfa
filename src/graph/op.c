/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/op.h"

#include "graph/rule.h"
#include <string.h>
#include <strings.h>

const char *const fsim_dtype_names[FSIM_DTYPE_COUNT + 1] = {"f64",    "f32",    "f16", "bf16", "f8e4m3", "f8e5m2",
                                                            "f8e8m0", "i64",    "i32", "i16",  "i8",     "u8",
                                                            "bool",   "f4e2m1", "i4",  "tf32"};
static const int dtype_bytes[FSIM_DTYPE_COUNT + 1] = {8, 4, 2, 2, 1, 1, 1, 8, 4, 2, 1, 1, 1, 1, 1, 4};

int fsim_dtype_bytes(fsim_dtype t) { return dtype_bytes[t]; }
bool fsim_dtype_floating(fsim_dtype t) { return t <= FSIM_F8E8M0; }
bool fsim_dtype_paired(fsim_dtype t) { return t == FSIM_F4E2M1 || t == FSIM_I4; }

/* No dtype's name begins with a digit, and most texts that might be one are numbers. */
static bool is_number(const char *text) { return *text >= '0' && *text <= '9'; }

bool fsim_dtype_parse(const char *name, fsim_dtype *t)
{
    if (is_number(name))
        return false;
    for (int i = 0; i < FSIM_DTYPE_COUNT; i++)
        if (strcmp(name, fsim_dtype_names[i]) == 0) {
            *t = (fsim_dtype)i;
            return true;
        }
    return false;
}

fsim_dtype fsim_dtype_elsewhere(const char *name)
{
    static const struct {
        const char *name;
        fsim_dtype dtype;
    } other[] = {{"float16", FSIM_F16},
                 {"fp16", FSIM_F16},
                 {"half", FSIM_F16},
                 {"bfloat16", FSIM_BF16},
                 {"float32", FSIM_F32},
                 {"fp32", FSIM_F32},
                 {"float", FSIM_F32},
                 {"float64", FSIM_F64},
                 {"fp64", FSIM_F64},
                 {"double", FSIM_F64},
                 {"fp8", FSIM_F8E4M3},
                 {"float8_e4m3fn", FSIM_F8E4M3},
                 {"float8", FSIM_F8E4M3},
                 {"float8_e5m2", FSIM_F8E5M2},
                 {"float8_e8m0fnu", FSIM_F8E8M0},
                 {"e8m0", FSIM_F8E8M0},
                 {"f4", FSIM_F4E2M1},
                 {"fp4", FSIM_F4E2M1},
                 {"e2m1", FSIM_F4E2M1},
                 {"nvfp4", FSIM_F4E2M1},
                 {"mxfp4", FSIM_F4E2M1},
                 {"float4_e2m1fn_x2", FSIM_F4E2M1},
                 {"int4", FSIM_I4},
                 {"int64", FSIM_I64},
                 {"long", FSIM_I64},
                 {"int32", FSIM_I32},
                 {"int", FSIM_I32},
                 {"int16", FSIM_I16},
                 {"int8", FSIM_I8},
                 {"uint8", FSIM_U8},
                 {"boolean", FSIM_BOOL}};
    static const char prefix[] = "torch.";
    if (is_number(name))
        return FSIM_DTYPE_NONE;
    if (strncmp(name, prefix, sizeof prefix - 1) == 0)
        name += sizeof prefix - 1;
    fsim_dtype same = FSIM_DTYPE_NONE;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (strcasecmp(name, other[i].name) == 0)
            return other[i].dtype;
    for (int i = 0; i < FSIM_DTYPE_COUNT; i++) /* "F16", "torch.bool" */
        if (strcasecmp(name, fsim_dtype_names[i]) == 0)
            same = (fsim_dtype)i;
    return same;
}

const char *fsim_dtype_list(fsim_arena *a)
{
    const char *text = "";
    for (int i = 0; i < FSIM_DTYPE_COUNT; i++)
        text = fsim_printf(a, "%s%s%s", text, i ? ", " : "", fsim_dtype_names[i]);
    return text;
}

const char *fsim_unknown_dtype(fsim_arena *a, const char *name)
{
    if (strcmp(name, fsim_dtype_names[FSIM_TF32]) == 0)
        return "no tensor has dtype 'tf32': a product of f32 takes 'compute: tf32'";
    const fsim_dtype t = fsim_dtype_elsewhere(name);
    const char *nearest =
        t != FSIM_DTYPE_NONE ? fsim_dtype_names[t] : fsim_nearest(name, fsim_dtype_names, FSIM_DTYPE_COUNT);
    return nearest ? fsim_printf(a, "unknown dtype '%s'; did you mean '%s'?", name, nearest)
                   : fsim_printf(a, "unknown dtype '%s'; there are %s", name, fsim_dtype_list(a));
}

const fsim_class_row fsim_classes[FSIM_CLASS_COUNT] = {
    [FSIM_ELEMENTWISE] = {"elementwise", true, true, false, NULL},
    [FSIM_RANDOM] = {"random", true, true, false, NULL},
    [FSIM_PERMUTE] = {"permute", true, true, false, NULL},
    [FSIM_VIEW] = {"view", true, false, false, NULL},
    [FSIM_ASSEMBLE] = {"assemble", true, false, false, NULL},
    [FSIM_GATHER] = {"gather", true, false, false, NULL},
    [FSIM_REDUCE] = {"reduce", false, false, false, NULL},
    [FSIM_WINDOW] = {"window", false, false, false, NULL},
    [FSIM_CONTRACTION] = {"contraction", false, false, false, NULL},
    [FSIM_SCAN] = {"scan", false, false, false,
                   "a running sum shares its kernel with operators that work element by element, and with no others"},
    [FSIM_SCATTER] = {"scatter", false, false, false,
                      "data decides where it writes, so its readers wait until it has finished"},
    [FSIM_COMMUNICATION] = {"communication", false, false, true,
                            "it exchanges data with other devices; it overlaps, it does not merge"},
    [FSIM_TRANSFER] = {"transfer", false, false, true, "it crosses between host and device memory"},
    [FSIM_OPAQUE] = {"opaque", false, false, true, "its kernel is a program of its own, which no other operator joins"},
    [FSIM_COMPOSITE] = {"composite", false, false, false, NULL},
};

static bool is_internal(fsim_op op) /* only expansions make it */
{
    return op == FSIM_OP_CAUSAL_MASK || op == FSIM_OP_WINDOW_MASK || op == FSIM_OP_MASK_OUT ||
           op == FSIM_OP_SMOOTH_L1 || op == FSIM_OP_XLOGX || op == FSIM_OP_ROTATE_HALF || op == FSIM_OP_PICK ||
           op == FSIM_OP_WHERE_INPUT || op == FSIM_OP_WHERE_OTHER || op == FSIM_OP_WHERE_SCALARS ||
           op == FSIM_OP_BIT_FIELD || op == FSIM_OP_BIT_PLACE || op == FSIM_OP_ROUND_E4M3 || op == FSIM_OP_ROUND_E8M0 ||
           op == FSIM_OP_F4_VALUE || op == FSIM_OP_F4_CODE;
}

const char *const fsim_operands[FSIM_OP_COUNT] = {
#define FSIM_OPERANDS(id, text) [FSIM_OP_##id] = text,
#include "graph/operands.def"
#undef FSIM_OPERANDS
};

const fsim_op_row fsim_ops[FSIM_OP_COUNT] = {
#define FSIM_OP(id, name, class, least, most, outs, flops, instr, special, rule, makes, batch, takes, expr)            \
    [FSIM_OP_##                                                                                                        \
        id] = {name,  FSIM_##class, least, most, outs, flops, instr, special, fsim_rule_##rule, FSIM_MAKES_##makes,    \
               takes, expr},
#include "graph/op.def"
#undef FSIM_OP
};

const char *const *fsim_op_names(int *count)
{
    static const char *const names[FSIM_OP_COUNT] = {
#define FSIM_OP(id, name, ...) name,
#include "graph/op.def"
#undef FSIM_OP
    };
    *count = FSIM_OP_COUNT;
    return names;
}

bool fsim_op_parse(const char *name, fsim_op *op)
{
    for (int i = 0; i < FSIM_OP_COUNT; i++)
        if (strcmp(fsim_ops[i].name, name) == 0 && !is_internal((fsim_op)i)) {
            *op = (fsim_op)i;
            return true;
        }
    return false;
}
