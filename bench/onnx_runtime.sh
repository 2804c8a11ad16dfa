#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/onnx_runtime.sh [HW [FOLDER]]: kernels of `pattern` beside the nodes that ONNX Runtime keeps after optimisation (level extended, CPU provider, dimensions unbound),
# for every ONNX model with expectations in a folder, and where the difference lies: nodes that compute no numbers of the model (views, sizes, constants), and kernels and
# nodes that compute. Default: a100-sxm4-40gb, ../shared/models. Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
hw=${1:-a100-sxm4-40gb}
folder=${2:-$top/../shared/models}
[ -d "$folder" ] || { echo "bench/onnx_runtime.sh: no folder $folder" >&2; exit 77; }
FUSESIM=$program python3 - "$folder" "$hw" <<'END'
import glob, json, os, subprocess, sys
folder, gpu = sys.argv[1:]
VIEWS = {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Transpose", "Slice", "Split", "Expand"}
SIZES = {"Shape", "Constant", "ConstantOfShape", "Range", "Size"}

def counts(path, d):
    words = [w for n, v in (d.get("dims") or {}).items() for w in ("--dim", f"{n}={v}")]
    run = subprocess.run([os.environ["FUSESIM"], path, "--hw", gpu, "--strategy", "pattern", "--json", "-", *words], capture_output=True, text=True)
    if run.returncode:
        return None
    return {s["name"]: s["kernels"] for s in json.loads(run.stdout)["plans"][0]["strategies"]}

print("| model | eager | pattern | ONNX Runtime | of them views | of them sizes | the rest: nodes that compute | pattern less the rest |\n|---|---|---|---|---|---|---|---|")
for path in sorted(glob.glob(folder + "/*.onnx")):
    d = json.load(open(os.path.splitext(path)[0] + ".expect.json"))
    ops = (d.get("ort") or {}).get("ops", {}).get("extended")
    n = counts(path, d)
    if not ops or not n:
        print(f"| {os.path.basename(path)} | {n['eager'] if n else '-'} | {n['pattern'] if n else '-'} | cannot load | | | | |")
        continue
    views, sizes = (sum(c for o, c in ops.items() if o in which) for which in (VIEWS, SIZES))
    rest = sum(ops.values()) - views - sizes
    print(f"| {os.path.basename(path)} | {n.get('eager', '-')} | {n['pattern']} | {sum(ops.values())} | {views} | {sizes} | {rest} | {n['pattern'] - rest:+d} |", flush=True)
END
