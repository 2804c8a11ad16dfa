#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/models.sh [HW[,HW...] [FOLDER]]: plans every exported model (.onnx, .pt2) of a folder and prints a table: primitives, kernels and times of eager, inductor,
# pattern and optimal, the proof or its gap, seconds and memory of the whole run. Dimensions have the values of `MODEL.expect.json` beside the model (`dims`; of
# .pt2 files `symbols` says which is which), or what DIMS says, such as '--dim batch=8'. LIMIT ends a run, in seconds. Default: a100-sxm4-40gb, h100-sxm5-80gb and
# rtx-4090; ../shared/models where it is, else workloads/models with DIMS for their names. Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
hw=${1:-a100-sxm4-40gb,h100-sxm5-80gb,rtx-4090}
folder=${2:-$top/../shared/models}
[ -d "$folder" ] || folder=$top/workloads/models
FUSESIM=$program DIMS=${DIMS:-} LIMIT=${LIMIT:-60} python3 - "$folder" "$hw" <<'END'
import glob, json, os, resource, subprocess, sys, time
folder, gpus = sys.argv[1], sys.argv[2].split(",")

def dims(path):
    """--dim NAME=VALUE for each open dimension."""
    if os.environ["DIMS"]:
        return os.environ["DIMS"].split()
    for name in (path + ".expect.json", os.path.splitext(path)[0] + ".expect.json"):
        if os.path.exists(name):
            d = json.load(open(name))
            value, symbols = d.get("dims") or {}, d.get("symbols") or {}
            named = {s: value[x["dim"]] for s, x in symbols.items() if x["dim"] in value} if path.endswith(".pt2") else value
            return [w for n, v in named.items() for w in ("--dim", f"{n}={v}")]
    return []

def plan(path, gpu):
    began = time.time()
    limit = float(os.environ["LIMIT"])
    run = subprocess.Popen([os.environ["FUSESIM"], path, "--hw", gpu, "--json", "-", *dims(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = run.communicate(timeout=limit)
    if run.returncode:
        return f"| {os.path.basename(path)} | {gpu} | {err.decode().strip().splitlines()[-1]} |"
    d = json.loads(out)["plans"][0]
    s = {x["name"]: x for x in d["strategies"]}
    cells = [f"{s[n]['kernels']}, {s[n]['time_s'] * 1e6:.4g} us" if n in s else "-" for n in ("eager", "inductor", "pattern", "optimal")]
    proof = "proven" if d["plan"]["proven"] else f"gap {d['plan']['gap'] * 100:.1f} %"
    return " ".join(["|", os.path.basename(path), "|", d["hardware"]["name"], "|", str(d["workload"]["primitives"]), "|", " | ".join(cells), "|", proof, "|", f"{time.time() - began:.2f} s |"])

print("| model | GPU | primitives | eager | inductor | pattern | optimal | proof | whole run |\n|---|---|---|---|---|---|---|---|---|")
count = 0
for path in sorted(glob.glob(folder + "/*.onnx") + glob.glob(folder + "/*.pt2")):
    for gpu in gpus:
        print(plan(path, gpu), flush=True)
        count += 1
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(f"\n{count} runs; the largest took {most:.0f} MiB")
END
