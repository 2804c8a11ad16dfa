#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/rooflines.sh [DATA]: what the model adds over a roofline, on the calls of serving stacks and collectives: errors of the data sheet's roofline, of the best fit of it with three
# numbers a GPU and kind (a start, a share of the rate, a share of the bandwidth), and of fusesim. Prints reports/rooflines.md. DATA: ../shared/data. Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
FUSESIM=$program python3 - "${1:-$top/../shared/data}" <<'END_OF_PYTHON'
import csv, json, math, os, subprocess, sys, tempfile

DATA, PROGRAM = sys.argv[1], os.environ["FUSESIM"]
FILES = ("gemm_f8", "gemm_int", "gemm_w4", "gemm_nvfp4", "quantize", "context_attention", "decode_attention", "mla", "moe", "moe_nvfp4")
WEIGHT = {"matmul_i8": 1, "matmul_w8": 1, "matmul_w4": .5, "matmul_nvfp4": .5625, "moe": 2, "moe_nvfp4": .5625}
UNIT = {"matmul_i8": "tensor_i8", "matmul_nvfp4": "tensor_f4", "moe_nvfp4": "tensor_f4"}

def work(kind, v):
    """Operations, the unit that does them, and bytes that must move, of one row."""
    n = lambda k: float(v[k])
    cache = 1 if v.get("kv_dtype", "").startswith("f8") else 2
    unit = UNIT.get(kind, "tensor_f8" if "_f8" in kind else "tensor_f16")
    if kind.startswith("matmul"):
        m, cols, k = n("M"), n("N"), n("K")
        return 2 * m * cols * k, unit, 2 * m * k + WEIGHT.get(kind, 1) * cols * k + 2 * m * cols
    if kind.startswith("quantize"):
        return 0, unit, 3 * n("M") * n("K")
    if kind.startswith("moe"):
        rows, active = n("active") * n("rows"), n("active")
        return 6 * rows * n("H") * n("F"), unit, active * 3 * n("H") * n("F") * WEIGHT.get(kind, 1) + 4 * n("T") * n("H")
    if kind == "context_mla": # features: 192 of a query and key, 128 of a value
        points = n("B") * n("heads") * n("S")
        return points * n("S") / 2 * 2 * (192 + 128), unit, 2 * points * 2 * (192 + 128)
    if kind == "decode_mla": # absorbed: 576 of a key, 512 of a value, one for all heads
        return 2 * n("B") * n("heads") * n("S") * (576 + 512), unit, cache * n("B") * n("S") * 576 + 2 * n("B") * n("heads") * (576 + 512)
    if kind == "decode_attention":
        return 4 * n("B") * n("heads") * n("S") * n("D"), unit, 2 * cache * n("B") * n("kv_heads") * n("S") * n("D") + 4 * n("B") * n("heads") * n("D")
    queries, keys = float(v.get("Sq") or v["S"]), float(v.get("Sk") or v["S"])
    causal = .5 if v.get("causal", "1") == "1" and queries == keys else 1
    moved = 2 * (2 * n("B") * n("heads") * queries * n("D") + 2 * n("B") * n("kv_heads") * keys * n("D"))
    written = 2 * cache * n("B") * n("kv_heads") * keys * n("D") if kind == "context_attention" else 0
    return 4 * n("B") * n("heads") * queries * keys * n("D") * causal, unit, moved + written

def hardware(name, kept={}):
    if name not in kept:
        keys = json.loads(subprocess.run([PROGRAM, "hw", "show", name, "--json", "-"], capture_output=True, text=True, check=True).stdout)["keys"]
        kept[name] = {k: x["value"] for k, x in keys.items()}
    return kept[name]

def errors(pairs):
    all_ = sorted(abs(p / m - 1) for p, m in pairs)
    return f"{100 * sum(all_) / len(all_):.1f} ({100 * all_[len(all_) // 2]:.1f})"

def fitted(rows):
    """The start and the shares with the least mean size of the logarithm's error: a pattern search from several starts."""
    def off(x):
        a, p, q = (math.exp(min(50, v)) for v in x)
        return sum(abs(math.log((a + max(c / p, d / q)) / m)) for c, d, m in rows) / len(rows)
    best = None
    for start in ((2e-6, .5, .7), (2e-5, .3, .5)):
        x, step = [math.log(v) for v in start], .8
        least = off(x)
        while step > .01:
            moved = False
            for i in range(3):
                for by in (step, -step):
                    y = list(x)
                    y[i] += by
                    o = off(y)
                    if o < least:
                        x, least, moved = y, o, True
            step = step if moved else step / 2
        best = min(best or (least, x), (least, x))
    a, p, q = (math.exp(v) for v in best[1])
    return a, p, q

print("""# What the model adds over a roofline

Made by `bench/rooflines.sh`; do not edit. Mean error in percent, median in brackets, on calls of serving stacks as they were measured (vLLM, SGLang, TensorRT-LLM). *Data sheet*: the larger of operations over
the data sheet's rate and compulsory bytes over its bandwidth. *Three numbers*: the best fit of that for each GPU and operator, a start and a share of each rate, to all of these rows. fusesim's equations were fitted to them too
([MODEL.md](../docs/MODEL.md#calls-of-serving-stacks-srcvendorservingh)).

| rows | GPU | number | data sheet | three numbers | fusesim | start, us; shares of rate, bandwidth |
|---|---|--:|--:|--:|--:|---|""")
for name in FILES:
    path = os.path.join(DATA, "measured", f"aiconfigurator_{name}.csv")
    if not os.path.exists(path):
        continue
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "rows.json")
        subprocess.run([PROGRAM, "validate", "--measurements", path, "--workload-root", os.path.join(DATA, "workloads"), "--json", out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        predicted = {r["id"]: r["predicted_s"] for r in json.load(open(out))["rows"]}
    groups = {}
    for r in csv.DictReader(open(path)):
        kind, hw = r["workload"].split("/")[1], hardware(r["hw"])
        ops, unit, moved = work(kind, dict(x.split("=") for x in r["set"].split(";")))
        if predicted.get(r["id"]):
            groups.setdefault((kind, r["hw"]), []).append((ops / hw[unit] if ops else 0, moved / hw["dram_bandwidth"], float(r["time_s"]), predicted[r["id"]]))
    for (kind, gpu), rows in sorted(groups.items()):
        a, p, q = fitted([x[:3] for x in rows])
        print(f"| {kind} | {gpu} | {len(rows)} | {errors([(max(c, d), m) for c, d, m, _ in rows])} | {errors([(a + max(c / p, d / q), m) for c, d, m, _ in rows])} | {errors([(f, m) for _, _, m, f in rows])} | {a * 1e6:.3g}; {min(p, 99):.2f}, {min(q, 99):.2f} |")
END_OF_PYTHON
