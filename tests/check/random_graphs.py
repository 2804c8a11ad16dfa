# SPDX-License-Identifier: Apache-2.0
"""Writes random workloads, random-N.yaml, and a call for each to standard output: random_graphs.py COUNT SEED."""
import random
import sys

UNARY = ["exp", "tanh", "relu", "neg", "gelu"]
BINARY = ["add", "mul", "sub", "maximum"]


def workload(r):
    """A few operators over tensors of rows x columns, rows, and columns; what nobody reads is an output."""
    rows, columns = r.choice([64, 512, 4096]), r.choice([64, 1024, 3072])
    shapes = {"x": "full", "c": "columns"}
    lines, used = [], set()
    for i in range(r.randint(4, 7)):
        out, full = "t%d" % i, [t for t in shapes if shapes[t] == "full"]
        kind = r.random()
        a = r.choice(full[-3:])
        if kind < 0.3:
            lines.append("  - {op: %s, in: %s, out: %s}" % (r.choice(UNARY), a, out))
            shapes[out] = "full"
        elif kind < 0.65:
            b = r.choice(list(shapes))
            lines.append("  - {op: %s, in: [%s, %s], out: %s}" % (r.choice(BINARY), a, b, out))
            used.add(b)
            shapes[out] = "full"
        elif kind < 0.8:
            lines.append("  - {op: sum, in: %s, out: %s, dims: [1], keepdim: true}" % (a, out))
            shapes[out] = "row"
        elif kind < 0.9:
            lines.append("  - {op: softmax, in: %s, out: %s, dim: 1}" % (a, out))
            shapes[out] = "full"
        else:
            lines.append("  - {op: linear, in: [%s, w], out: %s}" % (a, out))
            used.add("w")
            shapes[out] = "full"
        used.add(a)
    given = {"x": "[%d, %d]" % (rows, columns), "c": "[%d]" % columns, "w": "[%d, %d]" % (columns, columns)}
    tensors = ["  %s: {shape: %s, dtype: f16%s}" % (t, s, "" if t == "x" else ", role: weight") for t, s in given.items() if t in used]
    outputs = [t for t in shapes if t not in used and t not in given]
    return "tensors:\n%s\noperators:\n%s\noutputs: [%s]\n" % ("\n".join(tensors), "\n".join(lines), ", ".join(outputs))


def main(count, seed):
    r = random.Random(seed)
    for i in range(count):
        with open("random-%d.yaml" % i, "w", encoding="utf-8") as file:
            file.write(workload(r))
        print("random-%d.yaml --hw %s" % (i, r.choice(["t4", "h100-sxm5-80gb"])))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
