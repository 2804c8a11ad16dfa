#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/limits.sh [HW]: by how much the answer is later than --time-limit. Wall time of the whole call, with its JSON, on graphs that no limit here is enough for and
# on some that it is: the generated graphs of bench/growth.sh (FAMILIES, SIZES) and shipped workloads (WORKLOADS). A limit holds where the answer is out within a
# tenth or 50 ms of it, whichever is longer. What is always made (the workload is read, eager and unfused are planned, the report is written) takes the time of
# column "least", that of a limit of 1 ms: a shorter limit can't hold. The best of RUNS calls counts, since a busy machine takes its time from all of them.
# LIMITS: seconds. Default: h100-sxm5-80gb. Needs python3 and a release build.
set -eu
. "$(dirname "$0")/program.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
WRITE=1 FAMILIES=${FAMILIES:-chain rows transformer recurrence fork-join} SIZES=${SIZES:-1000 10000} FUSESIM=$program "$top/bench/growth.sh" "$scratch"
FUSESIM=$program LIMITS=${LIMITS:-0.1 0.3 1 3} RUNS=${RUNS:-3} python3 - "$scratch" "${1:-h100-sxm5-80gb}" ${WORKLOADS-stacks/bert stacks/llama stacks/gpt2 stacks/resnet models/bert_large} <<'END'
import glob, json, os, re, subprocess, sys, time

folder, hw, *shipped = sys.argv[1:]
limits, runs = [float(x) for x in os.environ["LIMITS"].split()], int(os.environ["RUNS"])
graphs = sorted(glob.glob(f"{folder}/*.yaml"), key=lambda p: (int(re.search(r"_(\d+)\.yaml$", p)[1]), p)) + shipped

def call(graph, limit):
    """The least wall seconds of some calls, and what the JSON of that one says."""
    best = None
    for _ in range(runs):
        began = time.monotonic()
        done = subprocess.run([os.environ["FUSESIM"], graph, "--hw", hw, "--time-limit", f"{limit:g}", "--json", "-"], capture_output=True, text=True)
        wall = time.monotonic() - began
        if done.returncode not in (0, 1): # 1: it does not fit the memory
            sys.exit(f"{graph}: exit status {done.returncode}\n{done.stderr}")
        if not best or wall < best[0]:
            best = wall, json.loads(done.stdout)["plans"][0]
    return best

def ended(plan):
    by = [k for k in ("steps", "clock", "memory") if plan["stopped_by_" + k]]
    return "proven" if plan["proven"] else "gap %.3g %%%s" % (100 * plan["gap"], ", by the " + by[0] if by else "")

held = asked = short = 0
print(f"{hw}\n{'graph':<20}{'primitives':>11}{'least s':>9}{'limit s':>9}{'wall s':>9}{'late ms':>9}  holds    end")
for graph in graphs:
    least = call(graph, 0.001)[0]
    for limit in limits:
        wall, p = call(graph, limit)
        late = wall - limit
        holds = late <= max(0.05, 0.1 * limit)
        never = least > limit + max(0.05, 0.1 * limit)
        held, asked, short = held + (holds and not never), asked + (not never), short + never
        name = re.sub(r"_\d+$", "", os.path.basename(graph)[:-5]) if graph.endswith(".yaml") else graph
        print(f"{name:<20}{p['workload']['primitives']:11}{least:9.3f}{limit:9.3f}{wall:9.3f}{max(0, 1e3 * late):9.0f}  {'yes' if holds else 'too short' if never else 'NO':<11}{ended(p['plan'])}", flush=True)
print(f"{held} of {asked} limits hold; {short} others are shorter than what is always made")
END
