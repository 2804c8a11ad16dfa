#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/bounds.sh [HW [FOLDER...]]: is the lower bound of a search that ends early ever above a plan that any search found? Plans every workload under the
# folders with STEPS_LONG steps, then with each of the LIMITS, options of the program, and compares the bounds with the best plan of all of these calls, to the
# last digit. Prints for each limit how many are proven and the largest gap, and each bound that is too high; exit status 1 where there is one. JOBS calls run
# at once. Default: h100-sxm5-80gb; ../shared/data/workloads where it is, and workloads/. Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
hw=${1:-h100-sxm5-80gb}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || [ -d "$top/../shared/data/workloads" ] || echo 'no ../shared/data/workloads: the shipped workloads alone' >&2
workloads "$@" | FUSESIM="$program" python3 -c '
import concurrent.futures, json, os, subprocess, sys
hw, longest = sys.argv[1], "--search-steps " + os.environ.get("STEPS_LONG", "12000000")
limits = os.environ.get("LIMITS", "--time-limit 0.001,--time-limit 0.01,--time-limit 0.1,--search-steps 100,--search-steps 3000,--search-steps 100000").split(",")

def plan(path, limit):
    r = subprocess.run([os.environ["FUSESIM"], path, "--hw", hw, "--jobs", "1", "--json", "-", *limit.split()], capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"{path} {limit}: exit status {r.returncode}\n{r.stderr}")
    d = json.loads(r.stdout)["plans"][0]
    return d["plan"]["lower_bound_s"], min(s["time_s"] for s in d["strategies"] if s["name"] == "optimal"), d["plan"]["proven"]

def bounds(path):
    return path, [plan(path, limit) for limit in [longest, *limits]]

with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
    rows = list(pool.map(bounds, sys.stdin.read().split("\n")[:-1]))
wrong = 0
print("limit                      proven  largest gap  bounds above a plan")
for i, limit in enumerate([longest, *limits]):
    gaps, high = [], 0
    for path, answers in rows:
        best = min(time for _, time, _ in answers)
        bound = answers[i][0]
        gaps.append(1 - bound / answers[i][1])
        if bound > best:
            high += 1
            print(f"{path} {limit}: the bound is {bound!r}, a plan takes {best!r}")
    wrong += high
    print("%-26s %6d %11.1f%%  %d" % (limit, sum(a[i][2] for _, a in rows), 100 * max(gaps), high))
print(f"{len(rows)} workloads on {hw}: {wrong} bounds above a plan")
sys.exit(wrong > 0)
' "$hw"
