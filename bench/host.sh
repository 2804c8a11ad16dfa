#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/host.sh: how much fusing helps on this machine's threads, predicted beside measured: chains of 2 to 16 elementwise operators, softmax, layer norm, bias + GELU, a producer with two readers. RUNS
# repetitions (3), each with the machine's bandwidth measured anew, or as the file HW states it; ROWS x 4096 tensors of f32 (4096). Ratio: unfused over optimal. Regret: of the plan chosen among eager, unfused, greedy,
# maximal and optimal; or of STRATEGIES, which unfused and optimal must be of.
. "$(dirname "$0")/program.sh"
rows=${ROWS:-4096}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for n in ${CHAINS:-2 3 4 6 8 12 16}; do
    {
        printf 'name: chain_%d\nsymbols: {M: 4096}\ntensors:\n  x: {shape: [M, 4096], dtype: f32, role: input}\noperators:\n' "$n"
        in=x
        for ((i = 1; i <= n; i++)); do
            ops=("{op: mul, scalar: 1.01, " "{op: add, scalar: 0.125, " "{op: maximum, scalar: -0.25, " "{op: abs, ")
            printf '  - %sin: %s, out: t%d}\n' "${ops[i % 4]}" "$in" "$i"
            in=t$i
        done
        printf 'outputs: [t%d]\n' "$n"
    } >"$dir/chain_$n.yaml"
done
for ((run = 1; run <= ${RUNS:-3}; run++)); do
    for w in "$dir"/chain_*.yaml ${OTHERS-seeds/softmax_primitive seeds/layer_norm seeds/bias_gelu seeds/two_consumers}; do
        "$program" validate "$w" --device cpu --set M="$rows" --no-check --budget "${BUDGET:-4}" ${HW:+--hw "$HW"} ${STRATEGIES:+--strategies "$STRATEGIES"} --json "$dir/$run-$(basename "$w" .yaml).json" --quiet >/dev/null || exit
    done
done
python3 - "$dir" <<'PY'
import glob, json, re, statistics, sys
rows = {}
for path in glob.glob(sys.argv[1] + "/*.json"):
    run, name = re.match(r".*/(\d+)-(.*)\.json", path).groups()
    w = json.load(open(path))["workloads"][0]
    plan = {p["strategy"]: p for p in w["plans"]}
    ratio = lambda key: key(plan["unfused"]) / key(plan["optimal"])
    predicted, measured = ratio(lambda p: p["predicted_s"]), ratio(lambda p: p["measured"]["median_s"])
    rows.setdefault(name, []).append((int(run), predicted, measured, w["regret"], statistics.median(abs(p["error"]) for p in w["plans"])))
natural = lambda s: [int(t) if t.isdigit() else t for t in re.split(r"(\d+)", s)]
print(f"{'workload':20} {'run':>3} {'predicted':>9} {'measured':>8} {'ratio error':>11} {'time error':>10} {'regret':>7}")
errors, regrets, by_run = [], [], {}
for name in sorted(rows, key=natural):
    for run, predicted, measured, regret, error in sorted(rows[name]):
        errors.append(abs(predicted / measured - 1))
        regrets.append(regret)
        by_run.setdefault(run, []).append(errors[-1])
        print(f"{name:20} {run:3} {predicted:8.2f}x {measured:7.2f}x {100 * (predicted / measured - 1):+10.1f}% {100 * error:9.1f}% {100 * regret:6.1f}%")
print("median ratio error: " + ", ".join(f"run {r}: {100 * statistics.median(e):.1f} %" for r, e in sorted(by_run.items())) +
      f"; all: {100 * statistics.median(errors):.1f} %; regret: median {100 * statistics.median(regrets):.1f} %, largest {100 * max(regrets):.1f} %")
PY
