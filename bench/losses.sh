#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/losses.sh [HW...]: what the plans of greedy, inductor, pattern, xla, eager and maximal lose on whole networks against the optimum: BERT, GPT-2, Llama,
# T5, GPT-J, ResNet, ConvNeXt, U-Net blocks, and DenseNet and other networks of ../shared/data where it is. Writes reports/networks.md; OUT=FILE names another
# file, - the terminal. Default: h100-sxm5-80gb t4 mi300x. NETWORKS chooses others (names of workloads or paths, each maybe with ,SYMBOL=VALUE), a further
# argument to the program is in OPTIONS. Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
[ $# -gt 0 ] || set -- h100-sxm5-80gb t4 mi300x
kernelbench=$top/../shared/data/workloads/kernelbench/v01/l3
usual='stacks/bert models/bert_large stacks/gpt2 models/gpt2_large stacks/llama stacks/t5_encoder stacks/gpt_j stacks/resnet stacks/convnext stacks/unet'
for number in 009 014 015 016 027; do [ -e "$kernelbench/$number.yaml" ] && usual="$usual $kernelbench/$number.yaml"; done
out=${OUT:-$top/reports/networks.md}
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT
FUSESIM=$program NETWORKS=${NETWORKS:-$usual} OPTIONS=${OPTIONS:-} PYTHONPATH=$top/bench PYTHONDONTWRITEBYTECODE=1 python3 - "$@" >"$scratch" <<'END'
import json, os, re, subprocess, sys
from written import duration

RIVALS = ["greedy", "inductor", "pattern", "xla", "eager", "maximal"]
options = os.environ["OPTIONS"].split()

def run(network, hw, *more, **environment):
    path, *sets = network.split(",")
    args = [os.environ["FUSESIM"], path, "--hw", hw, *(x for s in sets for x in ("--set", s)), *more, *options]
    r = subprocess.run(args, capture_output=True, text=True, env={**os.environ, **environment})
    if r.returncode:
        sys.exit(f"{' '.join(args)}: exit status {r.returncode}\n{r.stderr}")
    return r.stdout

def digits(x):
    return "%.2g" % x if x < 99.5 else "%.0f" % x

def percent(x):
    return "%.1f" % (100 * x) if abs(x) < 9.995 else "%.0f" % (100 * x)

def loss(strategy, best, bound):
    """Over the best plan; where that is not proven, up to what it may be over the optimum. ~: too close to call."""
    least, most = strategy["time_s"] / best - 1, strategy["time_s"] / bound - 1
    text = percent(least) if percent(least) == percent(most) else f"{percent(least)} to {percent(most)}"
    return ("~" if strategy["against_optimal"] == "no difference" and least > 0 else "") + text

def title(network, d):
    if "kernelbench" in network:
        described = re.search(r"^description: .*, \d+_(.*)", open(network).read(), re.M)
        return f"{described.group(1)} (KernelBench)"
    return network.replace(",", ", ")

def dearest(network, hw, strategy):
    """The first line of what the strategy's plan does otherwise than the optimum."""
    lines = run(network, hw, "--strategy", strategy, COLUMNS="160").splitlines()
    at = next((i for i, line in enumerate(lines) if line == f"{strategy} against optimal"), None)
    if at is None:
        return None
    text = lines[at + 1].strip()
    for line in lines[at + 2:]:
        if not line.startswith("    "):
            break
        text += " " + line.strip()
    return text

def escaped(text):
    return re.sub(r"([|<>*`])", r"\\\1", text)

print("""# What other systems' plans lose on whole networks

Made by `bench/losses.sh%s`; do not edit. Each row is a network as shipped or as KernelBench has it, planned with the defaults: GPU time, L2 cold.

All plans are priced by the same model, so that the figures compare partitions, not software: *greedy* is priority fusion with our costs, *inductor* the kernels of
torch.compile, *pattern* the named rules of ONNX Runtime and TensorRT (transposes, slices and expansions are kernels there, and views in PyTorch), *xla* XLA:GPU's passes, *eager* each operator alone, *maximal* whatever is legal. The figures say how
much longer the plan takes than the optimum, in percent. Where the optimum is not proven, *a to b* says: a over the best plan found, b over the proven lower bound, and
the loss lies between. `~`: the 80 %% interval of the difference holds 0, so that a measurement might show none.""" % "".join(" " + a for a in sys.argv[1:]))
proven = total = 0
for hw in sys.argv[1:]:
    where = []
    sums = {r: [] for r in RIVALS}
    print(f"\n## {hw}\n\n| network | primitives | kernels | optimum | proof | " + " | ".join(RIVALS) + " |\n| :-- | --: | --: | --: | :-- |" + " --: |" * len(RIVALS))
    for network in os.environ["NETWORKS"].split():
        d = json.loads(run(network, hw, "--strategy", "xla", "--json", "-"))["plans"][0]
        by = {s["name"]: s for s in d["strategies"]}
        optimal, plan = by["optimal"], json.loads(run(network, hw, "--json", "-"))["plans"][0]["plan"]
        best = min(s["time_s"] for s in by.values())
        bound = min(best, plan["lower_bound_s"])
        total += 1
        proven += plan["proven"]
        for r in RIVALS:
            if r in by:
                sums[r].append((by[r]["time_s"] / best - 1, by[r]["time_s"] / bound - 1))
        print(f"| {title(network, d)} | {d['workload']['primitives']} | {optimal['kernels']} | {duration(best)} | " + ("proven" if plan["proven"] else "bounded: gap %s %%" % digits(100 * plan["gap"])) +
              " | " + " | ".join(loss(by[r], best, bound) if r in by else "-" for r in RIVALS) + " |", flush=True)
        if hw == sys.argv[1]:
            where += [(title(network, d), r, dearest(network, hw, r)) for r in RIVALS[:4] if r in by]
    median = lambda xs: sorted(xs)[len(xs) // 2] if xs else float("nan")
    print("| **median** | | | | | " + " | ".join(f"{percent(median([x for x, _ in sums[r]]))}" for r in RIVALS) + " |")
    if where:
        print("\n### Where it is lost\n\nThe dearest difference of each plan from the best one; names are the workload's, those of the first of equal layers.\n")
        for name, r, text in where:
            if text:
                print(f"- {name}, *{r}*: {escaped(text)}")
print(f"\n{proven} of {total} optima are proven; the others are bounded.")
END
if [ "$out" = - ]; then cat "$scratch"; else cp "$scratch" "$out"; chmod 644 "$out"; tail -n 1 "$out"; echo "written: $out"; fi
