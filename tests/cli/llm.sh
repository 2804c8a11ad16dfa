#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Layers of language models as they are served (workloads/llm): what a serving stack launches for them, what they must read, and how
# their symbols change them. The optimum is never slower than the stack.
# depends: once
# cost: 3
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
command -v python3 >/dev/null || { echo 'no python3'; exit 77; }
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
failures=0

# plans NAME SET...: the workload on an H100 with these symbols, into NAME.json.
plans() {
    local name=$1 workload=$2 set=()
    shift 2
    for one in "$@"; do set+=(--set "$one"); done
    "$FUSESIM" "$SOURCE_DIR/workloads/llm/$workload.yaml" --hw h100-sxm5-80gb --launch graph --search-steps 1000 "${set[@]}" --json "$name.json" >out 2>err || {
        echo "FAILED: $workload ${set[*]}: $(cat err)"
        failures=1
    }
    [ ! -s err ] || { echo "FAILED: $workload ${set[*]} warns: $(cat err)"; failures=1; }
}
for path in "$SOURCE_DIR"/workloads/llm/*.yaml; do
    case $path in *_train.yaml) continue ;; esac # is not served: cli.trainings
    workload=$(basename "$path" .yaml)
    plans "$workload-bf16" "$workload"
    plans "$workload-f8" "$workload" weight_dtype=f8e4m3
done
# A sweep, which makes no plan that it does not show, ends with the same one.
"$FUSESIM" sweep "$SOURCE_DIR/workloads/llm/mla_decode.yaml" --hw h100-sxm5-80gb --launch graph --search-steps 1000 --set weight_dtype=f8e4m3 --over B=32 --json swept.points >out 2>err || { echo "FAILED: sweep: $(cat err)"; failures=1; }
plans dense_decode-tp dense_decode tp=8
plans dense_decode-pp dense_decode layers=8 pp=4
plans dense_decode-cache dense_decode kv_dtype=f8e4m3
plans moe_decode-ep moe_decode tp=4 ep=4
plans moe_mixed-tp moe_mixed tp=4
for phase in decode mixed prefill; do plans moe_$phase-dp moe_$phase ep=4; done
for name in dense_decode-tp:dense_decode:tp=8 moe_decode-ep:moe_decode:tp=4,ep=4; do
    IFS=: read -r file workload set <<<"$name"
    "$FUSESIM" "$SOURCE_DIR/workloads/llm/$workload.yaml" --hw h100-sxm5-80gb --launch graph --strategy serving --set "${set%,*}" --set "${set#*,}" --json "$file-serving.json" >out 2>err || { echo "FAILED: $file: $(cat err)"; failures=1; }
done
plans mla_decode-one mla_decode ep=1 experts=32
for steps in 100 20000; do # no bound of a short search is above what a longer one finds
    for workload in mla_mixed moe_decode; do
        "$FUSESIM" "$SOURCE_DIR/workloads/llm/$workload.yaml" --hw h100-sxm5-80gb --launch graph --search-steps $steps --set weight_dtype=f8e4m3 --json "bound-$workload-$steps.json" >out 2>err || {
            echo "FAILED: $workload, $steps steps: $(cat err)"
            failures=1
        }
    done
done
python3 - <<'END' || failures=1
import glob, json, sys

failed = False
bounds = {path: json.load(open(path))["plans"][0] for path in glob.glob("bound-*.json")}


def complain(text):
    global failed
    failed = True
    print("FAILED:", text)


plan = {}
for path in set(glob.glob("*.json")) - set(bounds) - set(glob.glob("*-serving.json")):
    p = json.load(open(path))["plans"][0]
    strategies = {s["name"]: s for s in p["strategies"]}
    plan[path[:-5]] = strategies
    if path[:-5].endswith(("-bf16", "-f8")) and not p["plan"]["gap"] < 0.5:  # calls, and kernels of exchanges, are part of the bound, as are products whose results are read in parts, and caches
        complain(f"{path}: a gap of {p['plan']['gap']:.2f} after few steps")
    for other in ("eager", "serving", "inductor", "greedy"):
        if strategies["optimal"]["time_s"] > strategies[other]["time_s"] * (1 + 1e-9):
            complain(f"{path}: {other} takes {strategies[other]['time_s']:.4g} s, optimal {strategies['optimal']['time_s']:.4g}")


def kernels(name, strategy="serving"):
    return plan[name][strategy]["kernels"]


# What a stack launches: residual and norm, QKV, attention with rotary embedding and cache write, output; norm, gate and up, SwiGLU, down; at the end the residual.
for name, want in {"dense_decode-bf16": 9, "dense_prefill-bf16": 9, "dense_decode-f8": 10, "dense_decode-tp": 10, "dense_decode-pp": 18, "dense_decode-cache": 9,
                   "moe_decode-bf16": 8, "moe_decode-f8": 9, "moe_decode-ep": 9, "encoder-bf16": 8, "encoder-f8": 10}.items():
    if kernels(name) != want:
        complain(f"serving runs {name} in {kernels(name)} kernels; wants {want}")

# The all-reduce behind attention, the residual and the norm are one kernel of the stack where GPUs share a layer; of 8-bit weights it quantises, too.
for name, members in {"dense_decode-tp": ["hidden_1.0", "residual_2.0", "n2.0"], "moe_decode-ep": ["hidden_1.0", "residual_2.0", "n2.0"]}.items():
    if not any(set(members) <= set(k["source_operators"]) for k in json.load(open(name + "-serving.json"))["plans"][0]["plan"]["kernels"]):
        complain(f"serving runs {members} of {name} in several kernels")

# Bytes that a decode step can't avoid: weights and caches once.
weights = (4096 + 2048) * 4096 + 4096 * 4096 + 3 * 14336 * 4096
cache = 2 * 32 * 8 * 4096 * 128
for name, least in {"dense_decode-bf16": 2 * weights + 2 * cache, "dense_decode-f8": weights + 2 * cache, "dense_decode-cache": 2 * weights + cache,
                    "dense_decode-tp": (2 * weights + 2 * cache) / 8}.items():
    read = plan[name]["optimal"]["dram_read_bytes"]
    if not least <= read <= 1.02 * least + 4e6:
        complain(f"{name} reads {read:.4g} B; its weights and caches have {least:.4g}")
expert = 3 * 14336 * 4096
if not 8 * 2 * expert < plan["moe_decode-bf16"]["optimal"]["dram_read_bytes"] < 8 * 2 * expert + 2 * cache + 2e8:
    complain("moe_decode does not read all experts once")
if not 2 * 2 * expert < plan["moe_decode-ep"]["optimal"]["dram_read_bytes"] < 2 * 2 * expert + cache:
    complain("a rank of moe_decode does not read its experts alone")

# Attention data parallel: a rank of four has a quarter of the experts, to which the tokens of all four come; what it computes is what one GPU alone does.
if kernels("moe_decode-dp") != kernels("moe_decode-bf16") + 2:
    complain("tokens are not gathered and their results not scattered, once each")
if not plan["moe_prefill-dp"]["serving"]["time_s"] > plan["moe_prefill-bf16"]["serving"]["time_s"]:
    complain("experts of four ranks' tokens take no longer than those of one alone")

# 8-bit weights and more ranks take less time, more layers more.
for less, more in (("dense_decode-f8", "dense_decode-bf16"), ("dense_decode-tp", "dense_decode-bf16"), ("moe_decode-ep", "moe_decode-bf16"), ("dense_decode-bf16", "dense_decode-pp"),
                   ("dense_prefill-f8", "dense_prefill-bf16"), ("mla_prefill-f8", "mla_prefill-bf16"), ("dense_decode-bf16", "dense_mixed-bf16"), ("moe_mixed-tp", "moe_mixed-bf16")):
    for strategy in ("serving", "optimal"):
        if not plan[less][strategy]["time_s"] < plan[more][strategy]["time_s"]:
            complain(f"{strategy}: {less} takes no less than {more}")
swept = json.load(open("swept.points"))["points"][0]["time_s"]
if swept != plan["mla_decode-f8"]["optimal"]["time_s"]:
    complain(f"a sweep's plan of mla_decode-f8 takes {swept:.6g} s, the plan {plan['mla_decode-f8']['optimal']['time_s']:.6g}")
for name in ("mla_mixed", "moe_decode"):
    few, many = (bounds[f"bound-{name}-{steps}.json"] for steps in (100, 20000))
    least = min(s["time_s"] for p in (few, many) for s in p["strategies"] if s["name"] == "optimal")
    for p in few, many:
        if not 0.5 * least < p["plan"]["lower_bound_s"] <= least:
            complain(f"{name}: a bound of {p['plan']['lower_bound_s']:.6g} s, a plan takes {least:.6g}")
sys.exit(failed)
END
[ "$failures" = 0 ]
