#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/graphs.sh [HW [FOLDER...]]: plans every workload under the folders and prints primitives, sets looked at, proof and search time of each,
# slowest first, and a summary. Default: h100-sxm5-80gb; ../shared/data/workloads where it is, and workloads/. Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
hw=${1:-h100-sxm5-80gb}
[ $# -gt 0 ] && shift
workloads "$@" | FUSESIM="$program" python3 -c '
import json, os, subprocess, sys, time
rows, warned, start = [], 0, time.monotonic()
for path in sys.stdin.read().split("\n")[:-1]:
    began = time.monotonic()
    r = subprocess.run([os.environ["FUSESIM"], path, "--hw", sys.argv[1], "--json", "-"], capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"{path}: exit status {r.returncode}\n{r.stderr}")
    warned += r.stderr.count("warning:")
    d = json.loads(r.stdout)["plans"][0]
    rows.append((time.monotonic() - began, d["workload"]["primitives"], d["plan"], path))
total = time.monotonic() - start
rows.sort(key=lambda r: -r[0])
print("   wall s  search s  primitives     sets  proof    workload")
for wall, n, p, path in rows[:15]:
    proof = "proven" if p["proven"] else "%.1f %%" % (100 * p["gap"])
    print("%9.3f %9.3f %11d %8d  %-8s %s" % (wall, p["search_s"], n, p["groups_considered"], proof, "/".join(path.split("/")[-4:])))
gaps = sorted(r[2]["gap"] for r in rows)
print("%d workloads on %s in %.1f s; %d proven; largest gap %.1f %%; %d warnings" %
      (len(rows), sys.argv[1], total, sum(r[2]["proven"] for r in rows), 100 * gaps[-1], warned))
' "$hw"
