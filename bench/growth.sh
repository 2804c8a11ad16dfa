#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/growth.sh [FOLDER [HW]]: how the cost of planning grows with the graph, from 10 to 100,000 primitives. Layered families are those of workloads/stacks
# (bert, gpt2, llama, resnet, t5_encoder, gpt_j, convnext) with as many layers as come nearest to the size, and:
#     chain         elementwise operators one after the other, every ninth and tenth a sum and its subtraction, over columns and rows in turn
#     rows          the same, every sum over rows: any stretch of it may be one kernel
#     transformer   decoder blocks with grouped-query attention written as operators, in a repeat block
#     recurrence    an unrolled recurrent network: concat, linear, tanh, linear a step
#     fork-join     eight branches of four elementwise operators from one tensor and back into one, again and again
# Default: the five, and bert, t5_encoder and convnext of the layered ones. Goals: k at most 1.1 for layered graphs and 1.2 for the others, 10,000 primitives
# within 1 s, 100,000 within 15 s and 2 GiB; a line for each family says what was reached.
# Per size wall time and memory of the whole call and the search's own count of seconds; per family the exponent k of n^k, fitted by least squares on the
# logarithms of the sizes from FIT_FROM primitives on, where starting up no longer counts (where the search reaches its time limit, k is that of the rest). A
# size whose call takes longer than LIMIT seconds or more than MEMORY GiB (0: any) is given up, and so is what is larger. The table goes to FOLDER (default
# build/growth) as growth.dat, the chart as growth.gp and growth.png (gnuplot). SIZES, FAMILIES and OPTIONS choose others. Default: h100-sxm5-80gb.
# With WRITE set it only writes the graphs into FOLDER, as FAMILY_SIZE.yaml. Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
folder=${1:-$top/build/growth}
mkdir -p "$folder"
rm -f "$folder"/growth.{dat,gp,png}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
FUSESIM=$program SIZES=${SIZES:-10 30 100 300 1000 3000 10000 30000 100000} FAMILIES=${FAMILIES:-chain rows transformer recurrence fork-join bert t5_encoder convnext} LIMIT=${LIMIT:-60} MEMORY=${MEMORY:-6} \
    FIT_FROM=${FIT_FROM:-300} OPTIONS=${OPTIONS:-} python3 - "$folder" "$scratch" "${2:-h100-sxm5-80gb}" "$top/workloads/stacks" <<'END'
import json, math, os, re, resource, signal, subprocess, sys, time

folder, scratch, hw, stacks = sys.argv[1:]
limit, memory, fit_from = float(os.environ["LIMIT"]), float(os.environ["MEMORY"]), int(os.environ["FIT_FROM"])
KINDS = ["tanh", "relu", "sigmoid", "exp", "neg"]

def head(name, tensors):
    return [f"name: {name}", "symbols: {dtype: f16}", "tensors:", *tensors, "operators:"]

def chain(n, dims=(0, 1)):
    lines, last = head("chain", ["  x: {shape: [4096, 1024], dtype: dtype, role: input}"]), "x"
    for i in range(1, n + 1):
        if i % 10 == 9 and i < n:
            lines.append(f"  - {{op: sum, in: {last}, out: r{i}, dim: {dims[i // 10 % len(dims)]}, keepdim: true}}")
        elif i % 10 == 0:
            lines.append(f"  - {{op: sub, in: [{last}, r{i - 1}], out: t{i}}}")
            last = f"t{i}"
        else:
            lines.append(f"  - {{op: {KINDS[i % 5]}, in: {last}, out: t{i}}}")
            last = f"t{i}"
    return lines + [f"outputs: [{last}]"]

def transformer(n):
    per_block = 35
    lines = head("transformer", ["  x: {shape: [1, 1024, 2048], dtype: dtype, role: input}"]) + [f"  - repeat: {max(1, round(n / per_block))}", "    carry: {x: y}", "    tensors:"]
    for name, shape in {"n1": [2048], "wq": [2048, 2048], "wk": [512, 2048], "wv": [512, 2048], "wo": [2048, 2048], "n2": [2048],
                        "wg": [5632, 2048], "wu": [5632, 2048], "wd": [2048, 5632]}.items():
        lines.append(f"      {name}: {{shape: {shape}, dtype: dtype, role: weight}}")
    lines.append("    operators:")
    steps = ["rms_norm, in: [x, n1], out: h, normalized_shape: [2048]"]
    for name, heads in {"q": 32, "k": 8, "v": 8}.items():
        steps += [f"linear, in: [h, w{name}], out: {name}f", f"reshape, in: {name}f, out: {name}s, shape: [1, 1024, {heads}, 64]",
                  f"permute, in: {name}s, out: {name}, dims: [0, 2, 1, 3]"]
    steps += ["attention, in: [q, k, v], out: m, causal: true", "permute, in: m, out: mp, dims: [0, 2, 1, 3]", "copy, in: mp, out: mc",
              "reshape, in: mc, out: c, shape: [1, 1024, 2048]", "linear, in: [c, wo], out: o", "add, in: [x, o], out: a",
              "rms_norm, in: [a, n2], out: b, normalized_shape: [2048]", "linear, in: [b, wg], out: g", "linear, in: [b, wu], out: u",
              "swiglu, in: [g, u], out: s", "linear, in: [s, wd], out: f", "add, in: [a, f], out: y"]
    return lines + [f"      - {{op: {s}}}" for s in steps] + ["outputs: [y]"]

def recurrence(n):
    steps = max(1, round(n / 6))
    shapes = {"h0": [64, 512], "wh": [512, 768], "bh": [512], "wo": [128, 512], "bo": [128], **{f"x{i}": [64, 256] for i in range(steps)}}
    lines = head("recurrence", [f"  {name}: {{shape: {shape}, dtype: dtype, role: {'weight' if name[0] in 'wb' else 'input'}}}" for name, shape in shapes.items()])
    for i in range(steps):
        lines += [f"  - {{op: concat, in: [x{i}, h{i}], out: c{i}, dim: 1}}", f"  - {{op: linear, in: [c{i}, wh, bh], out: l{i}}}",
                  f"  - {{op: tanh, in: l{i}, out: h{i + 1}}}", f"  - {{op: linear, in: [h{i + 1}, wo, bo], out: y{i}}}"]
    return lines + ["outputs: [" + ", ".join(f"y{i}" for i in range(steps)) + "]"]

def fork_join(n):
    width, depth = 8, 4
    block = width * depth + width - 1
    lines = head("fork_join", ["  x: {shape: [4096, 1024], dtype: dtype, role: input}"]) + [f"  - repeat: {max(1, round(n / block))}", "    carry: {x: y}", "    operators:"]
    for b in range(width):
        for i in range(depth):
            lines.append(f"      - {{op: {KINDS[(b + i) % 5]}, in: {f'b{b}_{i - 1}' if i else 'x'}, out: b{b}_{i}}}")
    for b in range(1, width):
        last = f"j{b - 1}" if b > 1 else f"b0_{depth - 1}"
        lines.append(f"      - {{op: add, in: [{last}, b{b}_{depth - 1}], out: {'y' if b == width - 1 else f'j{b}'}}}")
    return lines + ["outputs: [y]"]

def stack(family, n):
    """workloads/stacks/FAMILY with the number of layers that comes nearest to n primitives."""
    if family not in counted:
        sizes = [call(f"{stacks}/{family}.yaml", "--set", f"layers={layers}", "--time-limit", "0.01", "--strategy", "eager")[0]["workload"]["primitives"] for layers in (1, 2)]
        counted[family] = (2 * sizes[0] - sizes[1], sizes[1] - sizes[0])
    ends, layer = counted[family]
    lines = open(f"{stacks}/{family}.yaml").read().splitlines()
    return [re.sub(r"\blayers: \d+", f"layers: {max(1, round((n - ends) / layer))}", line) if line.startswith("symbols:") else line for line in lines]

LAYERED = ["transformer", *(name[:-5] for name in sorted(os.listdir(stacks)) if name.endswith(".yaml"))]
counted = {}  # per stack: primitives of its ends, and of a layer
FAMILY = {"chain": chain, "rows": lambda n: chain(n, (1,)), "transformer": transformer, "recurrence": recurrence, "fork-join": fork_join}

def call(path, *options):
    """The plan, wall seconds and MiB; or what the call takes more of than it may."""
    with open(f"{scratch}/plan.json", "w+") as out:
        began = time.monotonic()
        child = subprocess.Popen([os.environ["FUSESIM"], path, "--hw", hw, "--json", "-", *options, *os.environ["OPTIONS"].split()], stdout=out, stderr=subprocess.PIPE,
                                 preexec_fn=lambda: memory and resource.setrlimit(resource.RLIMIT_AS, 2 * (int(memory * 2**30),)))
        signal.signal(signal.SIGALRM, lambda *_: child.kill())
        signal.setitimer(signal.ITIMER_REAL, limit)
        status, used = os.wait4(child.pid, 0)[1:]
        signal.setitimer(signal.ITIMER_REAL, 0)
        wall = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode == -signal.SIGKILL or wall > limit:
            return f"{limit:g} s"
        said = child.stderr.read().decode()
        if "memory" in said:
            return f"{memory:g} GiB"
        if status:
            sys.exit(f"{path}: exit status {child.returncode}\n{said}")
        out.seek(0)
        return json.load(out)["plans"][0], wall, used.ru_maxrss / 1024

def exponent(rows, column):
    points = [(math.log(r[0]), math.log(r[column])) for r in rows if r[0] >= 0.9 * fit_from and r[column] > 0]
    if len({x for x, _ in points}) < 2:
        return "-"
    mx, my = (sum(p[i] for p in points) / len(points) for i in (0, 1))
    return "%.2f" % (sum((x - mx) * (y - my) for x, y in points) / sum((x - mx) ** 2 for x, _ in points))

table, fits = {}, {}
if os.environ.get("WRITE"):
    sys.stdout = open(os.devnull, "w")
print(f"{hw}\n{'family':<13}{'primitives':>12}{'wall s':>10}{'search s':>10}{'MiB':>8}{'sets':>10}{'kernels':>9}  proof")
for family in os.environ["FAMILIES"].split():
    rows = table[family] = []
    for n in map(int, os.environ["SIZES"].split()):
        path = f"{folder if os.environ.get('WRITE') else scratch}/{family}_{n}.yaml"
        with open(path, "w") as out:
            out.write("\n".join(FAMILY[family](n) if family in FAMILY else stack(family, n)) + "\n")
        if os.environ.get("WRITE"):
            continue
        result = call(path)
        os.remove(path)
        if isinstance(result, str):
            print(f"{family:<13}{n:12}   takes more than {result}: left out, and what is larger", flush=True)
            break
        d, wall, mib = result
        p, count = d["plan"], d["workload"]["primitives"]
        if rows and rows[-1][0] == count:
            continue
        rows.append((count, wall, p["search_s"], mib))
        print(f"{family:<13}{count:12}{wall:10.3f}{p['search_s']:10.3f}{mib:8.0f}{p['groups_considered']:10}{len(p['kernels']):9}  "
              + ("proven" if p["proven"] else "gap %.3g %%" % (100 * p["gap"])) + (", stopped by the clock" if p.get("stopped_by_clock") else ""), flush=True)
def reached(rows, size):
    """Wall seconds and MiB of the first size that is at least nearly so large."""
    return next(("%.2f s, %.0f MiB" % (r[1], r[3]) for r in rows if r[0] >= 0.95 * size), "-")

print(f"\ntime grows as n^k, n from {fit_from} primitives\n{'family':<13}{'k, wall':>9}{'goal':>6}{'k, search':>11}{'k, memory':>11}{'10,000 take':>20}{'100,000 take':>20}")
for family, rows in table.items():
    fits[family] = exponent(rows, 1)
    print(f"{family:<13}{fits[family]:>9}{'1.1' if family in LAYERED else '1.2':>6}{exponent(rows, 2):>11}{exponent(rows, 3):>11}{reached(rows, 10000):>20}{reached(rows, 100000):>20}")

table = {family: rows for family, rows in table.items() if rows}
if not table:
    sys.exit(0)
with open(f"{folder}/growth.dat", "w") as out:
    for family, rows in table.items():
        out.write(f"# {family}\n# primitives wall_s search_s memory_MiB\n" + "".join("%d %.6f %.6f %.1f\n" % r for r in rows) + "\n\n")
series = [f"'growth.dat' index {i} using 1:2 with linespoints lw 2 pt 7 lc {i + 1} title '{family}: n^{{{fits[family]}}}'" for i, family in enumerate(table)]
series += [f"'growth.dat' index {i} using 1:($3 > 0 ? $3 : NaN) with lines dt 2 lc {i + 1} notitle" for i, family in enumerate(table) if any(r[2] > 0 for r in table[family])]
with open(f"{folder}/growth.gp", "w") as out:
    out.write("set terminal pngcairo size 900, 600\nset output 'growth.png'\nset logscale xy\nset format '10^{%T}'\nset grid\nset key bottom right\n"
              f"set title 'Planning on {hw}: whole call (solid), search (dashed)'\nset xlabel 'primitives'\nset ylabel 'seconds'\nplot " + ", \\\n     ".join(series) + "\n")
END
if [ -n "${WRITE-}" ]; then
    :
elif [ ! -s "$folder/growth.gp" ]; then
    echo "nothing to draw"
elif command -v gnuplot >/dev/null; then
    (cd "$folder" && gnuplot growth.gp) && echo "chart: $folder/growth.png"
else
    echo "no gnuplot: $folder/growth.gp is not drawn" >&2
fi
