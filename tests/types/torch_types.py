# SPDX-License-Identifier: Apache-2.0
# Writes the table of result types that unit.types compares with: python3 tests/types/torch_types.py >tests/types/torch_types.csv
# Needs PyTorch, any build. A row: operator, arguments as dtype[shape], attributes, and the dtype of each result as PyTorch has it, or
# "error" where PyTorch refuses those types. Asked is the CPU; where that has no kernel for floats, the rules alone (device "meta"; not for bits, which floats have on no device). Float 8
# has a row only where the CPU answers: its rules on "meta" are others than those of the kernels.
import itertools
import torch
import torch.nn.functional as F

DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f8e4m3": torch.float8_e4m3fn,
          "f8e5m2": torch.float8_e5m2, "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8,
          "bool": torch.bool}
NAMES = {v: k for k, v in DTYPES.items()}
FLOATS = ["f64", "f32", "f16", "bf16"]
ROWS = set()


def result_on(device, function, arguments):
    """The results' dtypes, "error", or None where the device has no kernel for these types."""
    try:
        results = function(*[torch.ones(shape, dtype=DTYPES[dtype], device=device) for dtype, shape in arguments])
        results = results if isinstance(results, (tuple, list)) else (results,)
        return " ".join(NAMES[r.dtype] for r in results)
    except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError) as e:
        return None if "not implemented" in str(e) or "not supported" in str(e) and "romotion" not in str(e) else "error"


def case(op, function, *arguments, **attributes):
    """arguments: (dtype, shape); function takes the tensors."""
    found = result_on("cpu", function, arguments)
    if found is None:
        if any(dtype.startswith("f8") for dtype, _ in arguments):
            return
        found = result_on("meta", function, arguments) if all(dtype in FLOATS for dtype, _ in arguments) and "bitwise" not in op else "error"
    ROWS.add((op, " ".join(f"{d}[{' '.join(map(str, s))}]".replace(" ", "x") for d, s in arguments),
              " ".join(f"{k}={v}" for k, v in attributes.items()), found))


M, V, N = (4, 8), (8,), ()
BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow, "maximum": torch.maximum,
          "minimum": torch.minimum, "eq": torch.eq, "lt": torch.lt}
for op, f in BINARY.items():
    for a, b in itertools.product(DTYPES, DTYPES):
        case(op, f, (a, M), (b, M))
        if op in ("add", "div", "maximum", "eq"):
            case(op, f, (a, M), (b, N))
            case(op, f, (a, N), (b, M))
            case(op, f, (a, M), (b, V))
    if op not in ("maximum", "minimum"):
        for a in DTYPES:
            case(op, lambda x: f(x, 2), (a, M), scalar=2)
            case(op, lambda x: f(x, 2.5), (a, M), scalar=2.5)

QUOTIENTS = {"floor_divide": torch.floor_divide, "remainder": torch.remainder, "fmod": torch.fmod}
for op, f in QUOTIENTS.items():
    for a, b in itertools.product(DTYPES, DTYPES):
        case(op, f, (a, M), (b, M))
        case(op, f, (a, M), (b, N))
    for a in DTYPES:
        case(op, lambda x: f(x, 2), (a, M), scalar=2)
        case(op, lambda x: f(x, 2.5), (a, M), scalar=2.5)
LOGICAL = {"logical_and": torch.logical_and, "logical_or": torch.logical_or, "logical_xor": torch.logical_xor}
BITWISE = {"bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or, "bitwise_xor": torch.bitwise_xor,
           "bitwise_left_shift": torch.bitwise_left_shift, "bitwise_right_shift": torch.bitwise_right_shift, "atan2": torch.atan2}
for op, f in BITWISE.items():
    for a, b in itertools.product(DTYPES, DTYPES):
        case(op, f, (a, M), (b, V))
for op, f in LOGICAL.items():
    for a, b in itertools.product(DTYPES, DTYPES):
        case(op, f, (a, M), (b, V))

UNARY = {"floor": torch.floor, "ceil": torch.ceil, "round": torch.round, "trunc": torch.trunc, "sign": torch.sign, "square": torch.square,
         "log1p": torch.log1p, "expm1": torch.expm1, "log2": torch.log2, "exp2": torch.exp2, "logical_not": torch.logical_not,
         "tan": torch.tan, "asin": torch.asin, "acos": torch.acos, "atan": torch.atan, "sinh": torch.sinh, "cosh": torch.cosh,
         "asinh": torch.asinh, "acosh": torch.acosh, "atanh": torch.atanh, "log10": torch.log10, "celu": F.celu, "softsign": F.softsign,
         "hardshrink": F.hardshrink, "softshrink": F.softshrink, "tanhshrink": F.tanhshrink, "logsigmoid": F.logsigmoid,
         "bitwise_not": torch.bitwise_not, "isnan": torch.isnan, "isinf": torch.isinf, "isfinite": torch.isfinite, "any": torch.any,
         "all": torch.all, "var": torch.var, "std": torch.std, "glu": F.glu,
         "neg": torch.neg, "abs": torch.abs, "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
         "reciprocal": torch.reciprocal, "sin": torch.sin, "cos": torch.cos, "erf": torch.erf, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
         "relu": torch.relu, "relu6": F.relu6, "leaky_relu": F.leaky_relu, "elu": F.elu, "softplus": F.softplus, "hardtanh": F.hardtanh,
         "gelu": F.gelu, "silu": F.silu, "mish": F.mish, "tril": torch.tril, "triu": torch.triu, "transpose": lambda x: x.transpose(0, 1),
         "softmax": lambda x: torch.softmax(x, -1), "log_softmax": lambda x: torch.log_softmax(x, -1),
         "logsumexp": lambda x: torch.logsumexp(x, -1), "sum": torch.sum, "mean": torch.mean, "prod": torch.prod, "norm": torch.norm,
         "cumsum": lambda x: torch.cumsum(x, 0), "cumprod": lambda x: torch.cumprod(x, 0), "argmax": torch.argmax, "argmin": torch.argmin,
         "layer_norm": lambda x: F.layer_norm(x, (8,)), "rms_norm": lambda x: F.rms_norm(x, (8,))}
ALONG = {"softmax": -1, "log_softmax": -1, "logsumexp": -1, "cumsum": 0, "cumprod": 0}
for op, f in UNARY.items():
    for a in DTYPES:
        case(op, f, (a, M), **({"dim": ALONG[op]} if op in ALONG else {}))
for a in DTYPES:
    case("prelu", F.prelu, (a, M), (a, V))
    case("threshold", lambda x: F.threshold(x, 1, 2), (a, M), threshold=1, value=2)
    case("max", lambda x: torch.max(x, 0), (a, M), dim=0)
    case("min", lambda x: torch.min(x, 0), (a, M), dim=0)
    case("sort", lambda x: torch.sort(x, -1), (a, M), dim=-1)
    case("topk", lambda x: torch.topk(x, 2), (a, M), k=2)
    case("clamp", lambda x: torch.clamp(x, 0, 1), (a, M), min=0, max=1)
    case("clamp", lambda x: torch.clamp(x, 0.5, 1), (a, M), min=0.5, max=1)
    case("masked_fill", lambda x, m: x.masked_fill(m, 0), (a, M), ("bool", M))
    case("masked_fill", lambda x, m: x.masked_fill(m, 0), ("f32", M), (a, M))
    case("embedding", lambda i, t: F.embedding(i, t), (a, (3,)), ("bf16", M))
    case("attention", F.scaled_dot_product_attention, *[(a, (1, 2, 8, 4))] * 3)
    case("embedding", lambda i, t: F.embedding(i, t), ("i64", (3,)), (a, M))
    case("max_pool2d", lambda x: F.max_pool2d(x, 2), (a, (1, 2, 8, 8)), kernel=2)
    case("avg_pool2d", lambda x: F.avg_pool2d(x, 2), (a, (1, 2, 8, 8)), kernel=2)
    case("where", lambda c, x: torch.where(c, x, 0), ("bool", M), (a, M), other=0)
    case("where", lambda c, x: torch.where(c, x, 0.5), ("bool", M), (a, M), other=0.5)
    case("where", lambda c, x: torch.where(c, x, float("-inf")), ("bool", M), (a, M), other="-inf")
    case("where", lambda c, x: torch.where(c, 2, x), ("bool", M), (a, M), input=2)
    case("where", lambda c, x: torch.where(c, 2.5, x), ("bool", M), (a, N), input=2.5)
    case("one_hot", lambda x: F.one_hot(x, 3), (a, M), num_classes=3)
    case("index_select", lambda x, i: torch.index_select(x, 0, i), (a, M), ("i64", (3,)), dim=0)
    case("index_select", lambda x, i: torch.index_select(x, 0, i), ("bf16", M), (a, (3,)), dim=0)
    case("gather", lambda x, i: torch.gather(x, 1, i), (a, M), ("i64", M), dim=1)
    case("gather", lambda x, i: torch.gather(x, 1, i), ("bf16", M), (a, M), dim=1)
    case("interpolate", lambda x: F.interpolate(x, scale_factor=2), (a, (1, 2, 4, 4)), scale_factor=2)
    case("interpolate", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (a, (1, 2, 4, 4)), scale_factor=2, mode="bilinear")
    for b in DTYPES:
        case("concat", lambda x, y: torch.cat((x, y)), (a, M), (b, M))
        case("where", torch.where, ("bool", M), (a, M), (b, M))
        case("where", torch.where, ("bool", M), (a, M), (b, N))
        case("scatter", lambda x, i, y: x.scatter(0, i, y), (a, M), ("i64", M), (b, M), dim=0)
        case("index_copy", lambda x, i, y: x.index_copy(0, i, y), (a, M), ("i64", (2,)), (b, (2, 8)), dim=0)
        case("index_add", lambda x, i, y: x.index_add(0, i, y), (a, M), ("i64", (2,)), (b, (2, 8)), dim=0)
        case("index_put", lambda x, i, y: x.index_put((i,), y), (a, M), ("i64", (2,)), (b, (2, 8)))
        case("matmul", torch.matmul, (a, M), (b, (8, 4)))
        case("bmm", torch.bmm, (a, (2, 4, 8)), (b, (2, 8, 4)))
        case("linear", F.linear, (a, M), (b, (16, 8)))
        case("conv2d", F.conv2d, (a, (1, 2, 8, 8)), (b, (4, 2, 3, 3)))

for x, w in itertools.product(FLOATS, FLOATS):
    case("linear", F.linear, (x, M), (x, (16, 8)), (w, (16,)))
    case("conv2d", F.conv2d, (x, (1, 2, 8, 8)), (x, (4, 2, 3, 3)), (w, (4,)))
    case("layer_norm", lambda a, b, c: F.layer_norm(a, (8,), b, c), (x, M), (w, V), (w, V))
    case("rms_norm", lambda a, b: F.rms_norm(a, (8,), b), (x, M), (w, V))
    case("group_norm", lambda a, b, c: F.group_norm(a, 2, b, c), (x, (1, 4, 6)), (w, (4,)), (w, (4,)), groups=2)
    case("batch_norm", lambda a, b, c, d, e: F.batch_norm(a, d, e, b, c), (x, (2, 4, 6)), *[(w, (4,))] * 4)
    case("mse_loss", F.mse_loss, (x, M), (w, M))
    case("smooth_l1_loss", F.smooth_l1_loss, (x, M), (w, M))
    q = (1, 2, 8, 4)
    case("attention", F.scaled_dot_product_attention, (x, q), (x, q), (w, q))
    case("attention", F.scaled_dot_product_attention, (x, q), (w, q), (x, q))
    case("attention", F.scaled_dot_product_attention, (x, q), (x, q), (x, q), (w, (8, 8)))

case("where", lambda c: torch.where(c, 1, 0), ("bool", M), input=1, other=0)
case("where", lambda c: torch.where(c, 1.5, 0), ("bool", M), input=1.5, other=0)

print(f"# result types of PyTorch {torch.__version__.split('+')[0]}, written by tests/types/torch_types.py")
print("op,arguments,attributes,result")
for row in sorted(ROWS):
    print(",".join(row))
