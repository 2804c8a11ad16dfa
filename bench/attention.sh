#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/attention.sh [HW...]: attention fused against attention as written (scores and probabilities in memory), sequence 256 to 32,768, f16: predicted
# DRAM bytes, arithmetic, time, kernels and share of the peak, beside the published shape of those curves:
#     bytes        arXiv 2205.14135, theorem 2: standard attention makes O(N d + N^2) accesses to DRAM, the fused one O(N^2 d^2 / M), M being the on-chip
#                  memory. Between d and M/d query rows a block, N d^2 / M is below 1 as long as L2 holds the keys and values that all blocks of a head
#                  read again: bytes that grow as N
#     time         the fused kernel does no less arithmetic and wins once the matrix no longer fits L2
#     efficiency   arXiv 2307.08691: 50 to 73 % of an A100's peak; arXiv 2407.08608: up to 75 % of an H100's (740 TFLOP/s), both forward, long sequences
# Default: a100-sxm4-40gb and h100-sxm5-80gb. SEQUENCES, SHAPE (further symbols, default B=1 heads=16 D=64) and WORKLOAD choose others.
# Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
[ $# -gt 0 ] || set -- a100-sxm4-40gb h100-sxm5-80gb
FUSESIM=$program SEQUENCES=${SEQUENCES:-256 512 1024 2048 4096 8192 16384 32768} SHAPE=${SHAPE:-B=1 heads=16 D=64} \
    WORKLOAD=${WORKLOAD:-$top/workloads/seeds/attention_standard.yaml} python3 - "$@" <<'END'
import json, math, os, re, subprocess, sys

PUBLISHED = {"a100": "arXiv 2307.08691 measured 50 to 73 %", "h100": "arXiv 2407.08608 measured up to 75 %"}

def run(*arguments):
    r = subprocess.run([os.environ["FUSESIM"], *arguments], capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"{' '.join(arguments)}: exit status {r.returncode}\n{r.stderr}")
    return r.stdout

def number(hw, key):
    """A key of the hardware file in its base unit: the peak, or the value."""
    value, unit = re.search(r"^%s:.*?(?:peak|value): *([\d.]+) *(\S*?)[,}]" % key, hw, re.M).groups()
    return float(value) * {"TFLOP/s": 1e12, "PFLOP/s": 1e15, "GiB": 2**30, "MiB": 2**20}[unit]

def plans(hw, s):
    bindings = [x for symbol in [f"S={s}", "dtype=f16", *os.environ["SHAPE"].split()] for x in ("--set", symbol)]
    d = json.loads(run(os.environ["WORKLOAD"], "--hw", hw, "--json", "-", "--quiet", *bindings))["plans"][0]
    return {r["name"]: r for r in d["strategies"]}, d["plan"], d["workload"]["contraction_flops"]

def exponents(rows, at):
    """Of growth from one row to the next."""
    return "".join("%9.2f" % (math.log(at(b) / at(a)) / math.log(b[0] / a[0])) for a, b in zip(rows, rows[1:]))

for name in sys.argv[1:]:
    text = open(json.loads(run(os.environ["WORKLOAD"], "--hw", name, "--json", "-", "--quiet"))["plans"][0]["hardware"]["path"]).read()
    peak, capacity = number(text, "tensor_f16"), number(text, "dram_capacity")
    rows = []
    print(f"\n{name}, {os.environ['SHAPE']}, f16\n{'':8}{'---------- fused (optimal) -----------':^44}{'------- unfused -------':^34}{'-- eager --':^20}")
    print(f"{'S':>6}  {'DRAM MB':>10}{'GFLOP':>9}{'kernels':>8}{'ms':>9}{'peak':>8}{'DRAM MB':>12}{'GFLOP':>9}{'kernels':>8}{'ms':>10}{'ms':>10}{'fused wins':>12}")
    for s in map(int, os.environ["SEQUENCES"].split()):
        found, plan, flops = plans(name, s)
        rows.append((s, found, flops))
        best, split, eager = (found[k] for k in ("optimal", "unfused", "eager"))
        dram = lambda p: (p["dram_read_bytes"] + p["dram_write_bytes"]) / 1e6
        print(f"{s:6}  {dram(best):10.2f}{best['flops'] / 1e9:9.2f}{best['kernels']:8}{1e3 * best['time_s']:9.3f}{100 * flops / best['time_s'] / peak:6.0f} %"
              f"{dram(split):12.1f}{split['flops'] / 1e9:9.2f}{split['kernels']:8}{1e3 * split['time_s']:10.3f}{1e3 * eager['time_s']:10.3f}"
              f"{eager['time_s'] / best['time_s']:11.2f}x" + ("" if plan["proven"] else "  not proven")
              + (f"  needs {split['peak_memory_bytes'] / 2**30:.0f} GiB unfused, the GPU has {capacity / 2**30:.0f}" if split["peak_memory_bytes"] > capacity else ""))
    total = lambda which: lambda r: r[1][which]["dram_read_bytes"] + r[1][which]["dram_write_bytes"]
    if len(rows) > 1:
        print("growth exponents from one sequence to the next: 1 is N, 2 is N^2")
        for label, which in (("fused", "optimal"), ("unfused", "unfused"), ("eager", "eager")):
            print(f"  {label + ' DRAM bytes':<20}{exponents(rows, total(which))}")
        for label, which in (("fused", "optimal"), ("unfused", "unfused")):
            print(f"  {label + ' memory':<20}{exponents(rows, lambda r: r[1][which]['peak_memory_bytes'])}")
    wins = [[s for s, found, _ in rows if found["optimal"]["time_s"] < share * found[other]["time_s"]] for other, share in (("eager", 1), ("eager", 0.5))]
    print("fused is faster than eager %s, twice as fast %s" % tuple(f"from {w[0]} on" if w and w == [s for s, *_ in rows if s >= w[0]] else f"at {w}" if w else "nowhere" for w in wins))
    best = max(flops / found["optimal"]["time_s"] / peak for _, found, flops in rows)
    print(f"fused reaches {100 * best:.0f} % of {peak / 1e12:.0f} TFLOP/s" + next((f"; {said}" for key, said in PUBLISHED.items() if name.startswith(key)), ""))
END
