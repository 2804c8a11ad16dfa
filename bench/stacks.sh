#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/stacks.sh [HW...]: what planning costs as shipped layers are stacked: 1, 2, 12 and 48 of each, with their own weights, one after the other in a
# `repeat` block. Default: h100-sxm5-80gb and a100-sxm4-40gb. LAYERS and COUNTS choose others, a further argument to the program is in OPTIONS.
# Columns: primitives; sets of primitives tried; the search's own count of seconds (its steps at their usual rate); wall time and largest resident set of the
# whole call; kernels and predicted time of the plan; proven, or how far the bound lies below. Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
[ $# -gt 0 ] || set -- h100-sxm5-80gb a100-sxm4-40gb
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
FUSESIM=$program LAYERS=${LAYERS:-mlp resnet50_block bert_layer gpt2_layer llama_block} COUNTS=${COUNTS:-1 2 12 48} OPTIONS=${OPTIONS:-} \
    python3 - "$top/workloads" "$scratch" "$@" <<'END'
import json, os, re, subprocess, sys, time

def section(text, name):
    """The lines below `name:`, up to the next key that is not indented."""
    return re.search(r"^%s:\n((?: .*\n)*)" % name, text, re.M).group(1).splitlines()

def stack(layer, count):
    """`count` of a layer that maps its first tensor to one of the same shape. Weights are one set a turn, inputs are shared."""
    text = open(f"{sys.argv[1]}/{layer}.yaml").read()
    tensors = section(text, "tensors")
    first, last = tensors[0].split(":")[0].strip(), re.search(r"^outputs: \[(\w+)\]", text, re.M).group(1)
    own = [line for line in tensors if "role: weight" in line]
    lines = [f"name: {layer}_{count}", re.search(r"^symbols: .*", text, re.M).group(), "tensors:", *(line for line in tensors if line not in own),
             "operators:", f"  - repeat: {count}", f"    carry: {{{first}: {last}}}", "    tensors:", *("    " + line for line in own),
             "    operators:", *("    " + line for line in section(text, "operators")), f"outputs: [{last}]"]
    path = f"{sys.argv[2]}/{layer}_{count}.yaml"
    with open(path, "w") as out:
        out.write("\n".join(lines) + "\n")
    return path

def call(path, hw):
    """The plan, wall seconds and the largest resident set in MiB."""
    began = time.monotonic()
    with open(f"{sys.argv[2]}/plan.json", "w+") as out:
        child = subprocess.Popen([os.environ["FUSESIM"], path, "--hw", hw, "--json", "-", *os.environ["OPTIONS"].split()], stdout=out)
        status, used = os.wait4(child.pid, 0)[1:]
        child.returncode = os.waitstatus_to_exitcode(status)
        if status:
            sys.exit(f"{path} on {hw}: exit status {child.returncode}")
        out.seek(0)
        return json.load(out)["plans"][0], time.monotonic() - began, used.ru_maxrss / 1024

# A child's largest resident set counts what it was before it became the program: this process.
floor = os.wait4(os.posix_spawnp("true", ["true"], os.environ), 0)[2].ru_maxrss / 1024 + 1

for hw in sys.argv[3:]:
    print(f"\n{hw}\n{'layer':<16}{'layers':>7}{'primitives':>12}{'sets':>9}{'states':>9}{'search s':>10}{'wall s':>8}{'MiB':>7}{'kernels':>9}{'time':>12}  proof")
    for layer in os.environ["LAYERS"].split():
        for count in map(int, os.environ["COUNTS"].split()):
            d, wall, mib = call(stack(layer, count), hw)
            p = d["plan"]
            best = next(s for s in d["strategies"] if s["name"] == p["strategy"])
            proof = "proven" if p["proven"] else "gap %.3g %%" % (100 * p["gap"])
            print(f"{layer:<16}{count:7}{d['workload']['primitives']:12}{p['groups_considered']:9}{p['states']:9}{p['search_s']:10.3f}{wall:8.2f}{'%s%.0f' % ('<' if mib < floor else '', max(mib, floor)):>7}"
                  f"{best['kernels']:9}{1e3 * best['time_s']:9.3f} ms  {proof}{', stopped by the clock' if p.get('stopped_by_clock') else ''}", flush=True)
END
