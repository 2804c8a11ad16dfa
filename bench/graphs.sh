#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/graphs.sh [HW [FOLDER...]]: plans every workload under the folders and prints primitives, sets looked at, proof, wall, user and search time and largest
# resident set of each, slowest first, and a summary: how many are proven, how many gaps are above 1 % and 5 %. Default: h100-sxm5-80gb;
# ../shared/data/workloads where it is, and workloads/, whose stacks/ are layered networks (bench/growth.sh and bench/depth.sh have them of every size).
# SHOWN lines are printed (15); a further argument to the program is in OPTIONS. Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
hw=${1:-h100-sxm5-80gb}
[ $# -gt 0 ] && shift
workloads "$@" | FUSESIM="$program" SHOWN=${SHOWN:-15} OPTIONS=${OPTIONS:-} python3 -c '
import json, os, subprocess, sys, tempfile, time
rows, warned, start = [], 0, time.monotonic()
for path in sys.stdin.read().split("\n")[:-1]:
    with tempfile.TemporaryFile("w+") as out:
        began = time.monotonic()
        child = subprocess.Popen([os.environ["FUSESIM"], path, "--hw", sys.argv[1], "--json", "-", *os.environ["OPTIONS"].split()], stdout=out, stderr=subprocess.PIPE)
        said = child.stderr.read().decode()
        status, used = os.wait4(child.pid, 0)[1:]
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        if status:
            sys.exit(f"{path}: exit status {child.returncode}\n{said}")
        out.seek(0)
        d = json.load(out)["plans"][0]
    warned += said.count("warning:")
    rows.append((wall, used.ru_utime, used.ru_maxrss / 1024, d["workload"]["primitives"], d["plan"], path))
total = time.monotonic() - start
rows.sort(key=lambda r: -r[0])
print("   wall s    user s  search s    MiB  primitives     sets  proof    workload")
for wall, user, mib, n, p, path in rows[:int(os.environ["SHOWN"])]:
    proof = "proven" if p["proven"] else "%.2g %%" % (100 * p["gap"])
    print("%9.3f %9.3f %9.3f %6.0f %11d %8d  %-8s %s" % (wall, user, p["search_s"], mib, n, p["groups_considered"], proof, "/".join(path.split("/")[-4:])))
gaps = sorted(r[4]["gap"] for r in rows)
above = lambda most: sum(g > most for g in gaps)
print("%d workloads on %s in %.1f s, %.1f s of them user time; %d proven; %d gaps above 1 %%, %d above 5 %%, largest %.1f %%; most memory %.0f MiB; %d warnings" %
      (len(rows), sys.argv[1], total, sum(r[1] for r in rows), sum(r[4]["proven"] for r in rows), above(0.01), above(0.05), 100 * gaps[-1], max(r[2] for r in rows), warned))
' "$hw"
