#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/regret.sh [HW [FOLDER...]]: what each strategy loses against the optimum over every workload under the folders: median, 90th percentile and worst with its
# workload, over those whose optimum is proven, and how often it is the optimum. Default: h100-sxm5-80gb; ../shared/data/workloads where it is, and
# workloads/. Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
hw=${1:-h100-sxm5-80gb}
[ $# -gt 0 ] && shift
workloads "$@" | FUSESIM="$program" python3 -c '
import json, os, subprocess, sys
over, proven, total = {}, 0, 0
for path in sys.stdin.read().split("\n")[:-1]:
    r = subprocess.run([os.environ["FUSESIM"], path, "--hw", sys.argv[1], "--strategy", "xla", "--quiet", "--json", "-"], capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"{path}: exit status {r.returncode}\n{r.stderr}")
    d = json.loads(r.stdout)["plans"][0]
    objective = {s["name"]: s["time_s"] for s in d["strategies"]}
    total += 1
    bound = d["plan"]["lower_bound_s"]
    if objective["optimal"] > bound * (1 + 1e-12):
        continue
    proven += 1
    for name, time_s in objective.items():
        over.setdefault(name, []).append((time_s / objective["optimal"] - 1, "/".join(path.split("/")[-4:])))
print("%d workloads on %s, %d with a proven optimum" % (total, sys.argv[1], proven))
print("strategy   optimal in   median      p90    worst  workload")
for name in ("greedy", "inductor", "pattern", "xla", "eager", "maximal", "unfused"):
    rows = sorted(over[name])
    best = sum(x < 1e-9 for x, _ in rows)
    at = lambda share: rows[min(len(rows) - 1, int(share * len(rows)))]
    print("%-9s %10.1f%% %7.1f%% %7.1f%% %7.1f%%  %s" % (name, 100 * best / len(rows), 100 * at(0.5)[0], 100 * at(0.9)[0], 100 * rows[-1][0], rows[-1][1]))
' "$hw"
