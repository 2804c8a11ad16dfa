# SPDX-License-Identifier: Apache-2.0
# Writes the table of result shapes that unit.shapes compares with: python3 tests/types/torch_shapes.py >tests/types/torch_shapes.csv
# Needs PyTorch, any build. A row: operator under the name that PyTorch has, shapes of its arguments, attributes, and the shape of each result
# as PyTorch has it, or "error".
import itertools
import torch

ROWS = []


def case(op, function, shapes, **attributes):
    try:
        results = function(*[torch.ones(s) for s in shapes], **attributes)
        results = results if isinstance(results, (tuple, list)) else (results,)
        found = " ".join(f"[{','.join(map(str, r.shape))}]" for r in results)
        if any(0 in r.shape for r in results):
            found = "error"  # fusesim has no empty tensors
    except (RuntimeError, IndexError, ValueError, TypeError):
        found = "error"
    words = ", ".join(f"{k}: {list(v) if isinstance(v, tuple) else str(v).lower() if isinstance(v, bool) else v}" for k, v in attributes.items())
    ROWS.append("|".join((op, " ".join(f"[{','.join(map(str, s))}]" for s in shapes), words, found)))


SHAPES = [(), (1,), (5,), (1, 1), (2, 8, 4), (3, 1, 6, 1), (1, 4, 1, 2, 5)]
for s in SHAPES:
    case("flatten", torch.flatten, [s])
    case("squeeze", torch.squeeze, [s])
    case("view", lambda x, shape: x.view(shape), [s], shape=(-1,))
    case("reshape", torch.reshape, [s], shape=(2, -1))
    case("t", torch.t, [s])
    for a in range(-3, 3):
        case("unsqueeze", torch.unsqueeze, [s], dim=a)
        case("squeeze", torch.squeeze, [s], dim=a)
        case("stack", lambda *x, dim: torch.stack(x, dim), [s, s, s], dim=a)
        case("cat", lambda *x, axis: torch.cat(x, axis=axis), [s, s], axis=a)
        case("amax", torch.amax, [s], axis=a, keepdims=True)
        case("sum", torch.sum, [s], axis=a)
        for b in range(-3, 3):
            case("flatten", torch.flatten, [s], start_dim=a, end_dim=b)
            case("squeeze", torch.squeeze, [s], dim=(a, b))
            case("select", torch.select, [s], dim=a, index=b)
            case("swapaxes", lambda x, dim: torch.swapaxes(x, *dim), [s], dim=(a, b))
        for chunks in (1, 2, 3, 4, 5):
            case("chunk", torch.chunk, [s], chunks=chunks, dim=a)
            case("split", lambda x, split_size, dim: torch.split(x, split_size, dim), [s], split_size=chunks, dim=a)
for length, chunks in itertools.product((1, 4, 7, 10, 12), (1, 2, 3, 4, 6, 9)):
    case("chunk", torch.chunk, [(2, length)], chunks=chunks, dim=1)
for start, end in itertools.product((0, 2, -3, 9, -20), (1, 8, -1, -6, 30)):
    case("slice", lambda x, dim, start, end: x[:, start:end], [(2, 8)], dim=1, start=start, end=end)
for start, length in ((0, 8), (3, 2), (-3, 2), (7, 2), (0, 0)):
    case("narrow", torch.narrow, [(2, 8)], dim=1, start=start, length=length)
for sizes in ((2, 4), (-1, 2), (2, -1, 2), (3, -1), (8, 1), (2, 2), (-1, -1)):
    case("unflatten", torch.unflatten, [(3, 8, 2)], dim=1, sizes=sizes)
    case("unflatten", torch.unflatten, [(3, 8, 2)], dim=-2, sizes=sizes)
    case("unflatten", torch.unflatten, [(3, 8, 2)], dim=0, sizes=sizes)
for shapes in ([(2, 3), (3, 4)], [(2, 3), (3,)], [(3,), (3,)], [(3,), (3, 4)], [(5, 2, 3), (3, 4)], [(5, 2, 3), (5, 3, 4)], [(2, 3), (2, 3)]):
    for op, f in (("mm", torch.mm), ("mv", torch.mv), ("dot", torch.dot), ("matmul", torch.matmul), ("bmm", torch.bmm)):
        case(op, f, shapes)
for shape in ((2, 3, 4), (-1, 4), (5, -1, 4), (3, 5)):
    case("broadcast_to", torch.broadcast_to, [(3, 4)], size=shape)
    case("expand", lambda x, size: x.expand(size), [(3, 1)], size=shape)
case("stack", lambda *x, dim: torch.stack(x, dim), [(2, 3), (3, 2)], dim=0)
case("cat", lambda *x, dim: torch.cat(x, dim), [(2, 3), (4, 3)], dim=0)
case("cat", lambda *x, dim: torch.cat(x, dim), [(2, 3), (4, 3)], dim=1)
for s in SHAPES:
    for a in range(-3, 3):
        case("glu", lambda x, dim: torch.nn.functional.glu(x, dim), [s], dim=a)
        case("any", torch.any, [s], dim=a)
        case("var", lambda x, dim, keepdim, correction: torch.var(x, dim, correction=correction, keepdim=keepdim), [s], dim=a, keepdim=True, correction=0)
        for size, step in ((1, 1), (2, 1), (3, 2), (2, 5), (9, 1)) if s else ():  # fusesim unfolds no numbers
            case("unfold", lambda x, dim, size, step: x.unfold(dim, size, step), [s], dim=a, size=size, step=step)
for kernel, stride, padding, dilation in itertools.product((1, 3, (2, 3)), (1, 2), (0, (1, 2)), (1, 2)):
    case("im2col", lambda x, kernel, **k: torch.nn.functional.unfold(x, kernel, **k), [(2, 3, 5, 6)], kernel=kernel, stride=stride, padding=padding, dilation=dilation)
for output_size in (1, 4, (2, 3), (9, 7)):
    case("adaptive_max_pool2d", torch.nn.functional.adaptive_max_pool2d, [(2, 3, 5, 6)], output_size=output_size)
case("prelu", torch.nn.functional.prelu, [(2, 3, 4), (3,)])
case("prelu", torch.nn.functional.prelu, [(2, 3, 4), (1,)])
case("prelu", torch.nn.functional.prelu, [(2, 3, 4), (4,)])
case("prelu", torch.nn.functional.prelu, [(3,), (3,)])
print(f"# result shapes of PyTorch {torch.__version__.split('+')[0]}, written by tests/types/torch_shapes.py")
print("op|arguments|attributes|result")
print("\n".join(dict.fromkeys(ROWS)))
