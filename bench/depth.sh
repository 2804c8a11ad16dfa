#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/depth.sh [HW...]: what planning costs as networks get deeper: workloads/stacks with 1, 2, 12, 48, 96 and 1,000 layers. Default: h100-sxm5-80gb t4 mi300x.
# Columns: primitives; kernels and predicted time of the plan; wall time, user time and largest resident set of the whole call, from file to text report, of
# the fastest of RUNS calls where they are short; proven, or the gap, and what ended the search, from a call more that writes JSON. Then, for each network and GPU, the time of the deepest stack up
# to 96 layers over that of the shallowest, and whether it is within 1.5 times and 10 ms. FAMILIES, COUNTS and RUNS choose others, a further argument to the
# program is in OPTIONS; a call that takes longer than LIMIT seconds is given up. MARKDOWN=1 prints tables for a report. Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
[ $# -gt 0 ] || set -- h100-sxm5-80gb t4 mi300x
FUSESIM=$program FAMILIES=${FAMILIES:-bert gpt2 llama resnet t5_encoder gpt_j convnext} COUNTS=${COUNTS:-1 2 12 48 96 1000} LIMIT=${LIMIT:-60} RUNS=${RUNS:-3} \
    OPTIONS=${OPTIONS:-} MARKDOWN=${MARKDOWN:-} python3 - "$top/workloads/stacks" "$@" <<'END'
import json, os, signal, subprocess, sys, tempfile, time

limit, runs, markdown = float(os.environ["LIMIT"]), int(os.environ["RUNS"]), os.environ["MARKDOWN"]
counts = sorted(map(int, os.environ["COUNTS"].split()))
SHORT = 0.5  # seconds: a call that takes longer is made once

def run(family, count, hw, to, *options):
    """Wall and user seconds and MiB of one call that writes to a file; None where it takes too long."""
    began = time.monotonic()
    child = subprocess.Popen([os.environ["FUSESIM"], f"{sys.argv[1]}/{family}.yaml", "--set", f"layers={count}", "--hw", hw, *options, *os.environ["OPTIONS"].split()],
                             stdout=to, stderr=subprocess.PIPE)
    signal.signal(signal.SIGALRM, lambda *_: child.kill())
    signal.setitimer(signal.ITIMER_REAL, limit)
    said = child.stderr.read().decode()
    status, used = os.wait4(child.pid, 0)[1:]
    signal.setitimer(signal.ITIMER_REAL, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode == -signal.SIGKILL:
        return None
    if status:
        sys.exit(f"{family} with {count} layers on {hw}: exit status {child.returncode}\n{said}")
    return time.monotonic() - began, used.ru_utime, used.ru_maxrss / 1024

def plan(family, count, hw):
    with tempfile.TemporaryFile("w+") as out:
        if not run(family, count, hw, out, "--json", "-"):
            return None
        out.seek(0)
        return json.load(out)["plans"][0]

def fastest(family, count, hw):
    """The plan, and wall and user seconds and MiB of the fastest call."""
    best = run(family, count, hw, subprocess.DEVNULL)
    for _ in range(runs - 1):
        if best and best[0] < SHORT:
            best = min(best, run(family, count, hw, subprocess.DEVNULL) or best)
    d = best and plan(family, count, hw)
    return d and (d, *best)

def digits(x):
    return "%.2g" % x if x < 99.5 else "%.0f" % x

def proof_of(p):
    ends = [what for key, what in (("stopped_by_steps", "steps"), ("stopped_by_clock", "clock"), ("stopped_by_memory", "memory"), ("interrupted", "interrupted")) if p.get(key)]
    return ("proven" if p["proven"] else "gap %s %%" % digits(100 * p["gap"])) + "".join(", " + e for e in ends)

# A child's largest resident set counts what it was before it became the program: this process.
floor = os.wait4(os.posix_spawnp("true", ["true"], os.environ), 0)[2].ru_maxrss / 1024 + 1

HEADS = ["network", "layers", "primitives", "kernels", "time", "wall", "user", "memory", "proof"]
WIDTHS = [12, 7, 11, 8, 11, 10, 10, 9, 0]

def line(cells):
    if markdown:
        return "| " + " | ".join(cells) + " |"
    return "  ".join(c.ljust(w) if i in (0, 8) else c.rjust(w) for i, (c, w) in enumerate(zip(cells, WIDTHS))).rstrip()

def head(heads):
    print(line(heads) + ("\n|" + " :-- |" + " --: |" * (len(heads) - 2) + " :-- |" if markdown else ""), flush=True)

def milliseconds(s):
    return "%.1f ms" % (1e3 * s)

ratios, rows = [], []
for hw in sys.argv[2:]:
    print(f"\n{'### ' if markdown else ''}{hw}\n" + ("\n" if markdown else ""), end="")
    head(HEADS)
    for family in os.environ["FAMILIES"].split():
        found = {}
        for count in counts:
            r = fastest(family, count, hw)
            if not r:
                print(line([family, str(count), "", "", "", "> %g s" % limit, "", "", "given up, and what is deeper"]), flush=True)
                break
            d, wall, user, mib = r
            p, best = d["plan"], next(s for s in d["strategies"] if s["name"] == d["plan"]["strategy"])
            found[count] = r
            rows.append((p["proven"], p["gap"], mib))
            print(line([family, str(count), str(d["workload"]["primitives"]), str(best["kernels"]), milliseconds(best["time_s"]), milliseconds(wall), milliseconds(user),
                        "%s%.0f MiB" % ("< " if mib < floor else "", max(mib, floor)), proof_of(p)]), flush=True)
        deep = [c for c in found if c <= 96]
        if len(deep) > 1:
            ratios.append((family, hw, deep[0], deep[-1], found[deep[0]][1], found[deep[-1]][1], found[deep[0]][2], found[deep[-1]][2]))
if ratios:
    print("\ndeep over shallow, wall and user time; goal: at most 1.5 times and 10 ms\n")
    WIDTHS = [12, 14, 10, 10, 10, 7, 7, 0, 5]
    head(["network", "GPU", "layers", "shallow", "deep", "wall", "user", "goal"])
    for family, hw, few, many, w1, w2, u1, u2 in ratios:
        print(line([family, hw, f"{few} to {many}", milliseconds(w1), milliseconds(w2), "%.2f" % (w2 / w1), "%.2f" % (u2 / u1 if u1 > 0 else float("nan")),
                    "met" if w2 <= 1.5 * w1 + 0.01 else "missed"]))
if rows:
    print("\n%d of %d proven, largest gap %.2g %%, most memory %.0f MiB" % (sum(r[0] for r in rows), len(rows), 100 * max(r[1] for r in rows), max(max(r[2] for r in rows), floor)))
END
