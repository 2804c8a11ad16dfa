#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/exports.sh [--hw HW[,HW...]] FOLDER: plans every exported model of a folder (bench/exports.py fills one) with default settings and writes reports/exports.md: operators and
# primitives, what share of them is known, kernels and times, the proof or its gap, FLOPs beside those that PyTorch counts, time and memory of the run. OUT=FILE names
# another file, - the terminal; STEPS is what a search may take, 6000000: the default, without the clock, so that the report is the same everywhere. What runs give is kept in the folder KEEP, where it is named, and
# taken from there: after an interruption, or where a few models are new. Default: h100-sxm5-80gb. Needs python3 and a release build, not PyTorch.
set -eu
. "$(dirname "$0")/program.sh"
hw=h100-sxm5-80gb
[ "${1:-}" != --hw ] || { hw=$2; shift 2; }
[ $# = 1 ] && [ -d "$1" ] || { echo 'usage: bench/exports.sh [--hw HW[,HW...]] FOLDER' >&2; exit 64; }
out=${OUT:-$top/reports/exports.md}
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT
FUSESIM=$program LIMIT=3600 STEPS=${STEPS:-6000000} KEEP=${KEEP:-} PYTHONDONTWRITEBYTECODE=1 python3 - "$1" "$hw" "$top/bench" >"$scratch" <<'END'
import collections, json, os, sys
folder, gpus, bench = sys.argv[1], sys.argv[2].split(","), sys.argv[3]
sys.path.insert(0, bench)
from exported import Run, expected, kernels_and_time, models, planned, proof

def beside(flops, counted):
    """FLOPs of contractions beside those that PyTorch counts."""
    if counted is None:
        return "-"
    return "equal" if flops == counted else f"{100 * (flops / counted - 1):+.2f} %" if counted else f"{flops:.4g}, not 0"

def measured(path, gpu):
    """What the report says of a model on a GPU."""
    row = {"name": os.path.splitext(os.path.basename(path))[0], "gpu": gpu, "unknown": {}}
    shown, run = Run(path, "import", path), planned(path, gpu, "--search-steps", os.environ["STEPS"])
    row.update(error=shown.error or run.error, messages=run.messages, cpu_s=run.cpu_s, mebibytes=run.mebibytes)
    if row["error"]:
        return row
    workload, plan = run.plan["workload"], run.plan["plan"]
    row.update({n: kernels_and_time(run.strategies, n) for n in ("eager", "inductor", "optimal")})
    row.update({n: workload[n] for n in ("operators", "primitives", "coverage")})
    return {**row, "gpu": run.plan["hardware"]["name"], "proven": plan["proven"], "gap": plan["gap"], "unknown": shown.result["unknown"], "flops": workload["contraction_flops"], "proof": proof(plan)}

def kept(path, gpu):
    """The same, from KEEP where it is there."""
    place = os.environ["KEEP"] and os.path.join(os.environ["KEEP"], f"{os.path.basename(path)}.{os.path.basename(gpu)}.json")
    if place and os.path.exists(place):
        with open(place) as file:
            return json.load(file)
    row = measured(path, gpu)
    print(f"{row['name']} on {gpu}: {row['error'] or row['proof']}, {row['cpu_s']:.1f} s", file=sys.stderr, flush=True)
    if place:
        os.makedirs(os.environ["KEEP"], exist_ok=True)
        with open(place, "w") as file:
            json.dump(row, file, indent=1)
    return row

def text(row):
    if row["error"]:
        return f"| {row['name']} | {row['gpu']} | {row['error'].replace(folder + '/', '')} |" + " |" * 8
    known = "100 %" if not row["unknown"] else f"{int(1000 * row['coverage']) / 10} %"
    return " | ".join([f"| {row['name']}", row["gpu"], f"{row['operators']}, {row['primitives']}", known, row["eager"], row["inductor"], row["optimal"], row["proof"],
                       beside(row["flops"], counted[row["name"]]), f"{row['cpu_s']:.1f} s", f"{row['mebibytes']:.0f} MiB |"])

rows, versions, counted = [], {}, {}
for path in models(folder):
    said = expected(path)
    versions.update(said.get("versions") or {})
    rows += [kept(path, gpu) for gpu in gpus]
    counted[rows[-1]["name"]] = said.get("flops_torch_flop_counter")
failed = json.load(open(folder + "/failed.json")) if os.path.exists(folder + "/failed.json") else {}

good = [r for r in rows if not r["error"]]
within = lambda share: sum(r["proven"] or r["gap"] <= share for r in good)
both = [(r["flops"], counted[r["name"]]) for r in good if counted[r["name"]] is not None]
unknown, where = collections.Counter(), collections.defaultdict(set)
for r in rows[::len(gpus)]:
    for name, n in r["unknown"].items():
        unknown[name] += n
        where[name].add(r["name"])
print(f"""# Architectures that were exported from PyTorch

Made by `bench/exports.sh` of what `bench/exports.py` exports; do not edit. Architectures are built from their configurations, without weights, and exported by torch.export as PyTorch's users
do; stacks of transformers are cut to the number of layers that `bench/exports_table.py` says. Versions: {", ".join(f"{n} {v}" for n, v in sorted(versions.items())) or "not known"}. Default settings without
the clock (`--search-steps`), which ends a search of 30 s otherwise; L2 cold.

| what | {", ".join(dict.fromkeys(r["gpu"] for r in rows))} |
| :-- | --: |
| runs | {len(rows)} |
| imported and planned | {len(good)} |
| all operators known | {sum(not r["unknown"] for r in good)} |
| FLOPs of contractions as PyTorch counts them, of {len(both)} where it can | {sum(x == y for x, y in both)} |
| the best plan is proven | {sum(r["proven"] for r in good)} |
| proven, or a gap of 1 % at most | {within(0.01)} |
| proven, or a gap of 5 % at most | {within(0.05)} |
| more than 10 s of CPU time | {sum(r["cpu_s"] > 10 for r in good)} |
| more than 1 GiB of memory | {sum(r["mebibytes"] > 1024 for r in good)} |
| could not be exported by PyTorch | {len(failed)} |
""")
if unknown:
    print("Operators that are not known and cost a copy each:\n\n| operator | how many | in |\n| :-- | --: | :-- |")
    for name, n in sorted(unknown.items(), key=lambda x: (-x[1], x[0])):
        print(f"| {name} | {n} | {', '.join(sorted(where[name]))} |")
    print()
print("""Of each: operators of the model and primitives that the plan is made of; the share of operators that are known; kernels and GPU time of three plans; the proof of the third, or how far it
may be above the optimum; FLOPs of contractions beside those of torch.utils.flop_counter, fewer where it counts
what no output depends on, more where it leaves out the product inside cdist; CPU time and memory of the run, from file to JSON.

| architecture | GPU | operators, primitives | known | eager | inductor | optimal | proof | FLOPs | CPU | memory |
| :-- | :-- | --: | --: | --: | --: | --: | :-- | --: | --: | --: |""")
for r in rows:
    print(text(r))
if failed:
    print("\n## Not exported\n\nBy torch.export, before fusesim sees a file.\n\n| architecture | what PyTorch says |\n| :-- | :-- |")
    for name, why in sorted(failed.items()):
        print(f"| {name} | {why.replace('|', chr(92) + '|').replace('<', '&lt;')} |")
END
[ "$out" = - ] && { cat "$scratch"; exit; }
mv "$scratch" "$out"
chmod 644 "$out"
echo "wrote $out"
