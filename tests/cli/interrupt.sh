#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ctrl-C ends a search with the best plan so far and its gap: a whole report, exit status 1, long before the time limit.
# depends: once
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
[ -r /proc/self/status ] || { echo 'needs /proc'; exit 77; }
fail=0
complain() { echo "FAILED: $1"; fail=1; }

# Waits until the process catches SIGINT: from then on a signal ends the search, before it would have ended the program.
wait_for_handler() {
    local caught
    for _ in $(seq 600); do
        caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null)
        [ -n "$caught" ] && [ $((0x${caught: -2} & 2)) -ne 0 ] && return 0
        [ -d "/proc/$1" ] || return 1
        sleep 0.05
    done
    return 1
}

# interrupt SECONDS ARGUMENT...: the program, with a SIGINT that long after it has begun. A background process of a script ignores SIGINT unless it says otherwise.
interrupt() {
    local after=$1 pid status start
    shift
    start=$SECONDS
    "$python" -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' "$FUSESIM" "$@" >out 2>err &
    pid=$!
    if wait_for_handler $pid; then
        sleep "$after"
        kill -INT $pid 2>/dev/null
    fi
    wait $pid
    status=$?
    [ $status = 1 ] || complain "exit status $status after $after s: $* $(cat err)"
    [ $((SECONDS - start)) -lt 45 ] || complain "it took $((SECONDS - start)) s to stop: $*"
}

whole() {
    for line in '^kernels of optimal' '^  optimal ' '^  unfused '; do grep -q "$line" out || complain "no '$line' in the report: $(head -n 5 out)"; done
}

# A graph that no search goes through in the time: sums over both dimensions among elementwise operators that read any two of the twenty before them.
awk 'BEGIN {
    print "tensors: {t0: {shape: [512, 512], dtype: f32}, t1: {shape: [512, 512], dtype: f32}}"
    print "operators:"
    for (i = 2; i < 60; i++) {
        seed = (seed * 1103515245 + 12345) % 2147483648
        a = i - 1 - int(seed / 65536) % (i < 20 ? i : 20)
        b = i - 2 - int(seed / 1024) % (i < 20 ? i - 1 : 20)
        if (i % 9 == 0) printf "  - {op: sum, in: t%d, out: s%d, dim: %d, keepdim: true}\n  - {op: add, in: [s%d, t%d], out: t%d}\n", a, i, i % 2, i, b, i
        else printf "  - {op: %s, in: [t%d, t%d], out: t%d}\n", i % 2 ? "mul" : "add", a, b, i
    }
}' >hard.yaml

# At once: nothing is proven yet, and the report says how far from the bound the plan may be.
interrupt 0 hard.yaml --hw a100-sxm4-40gb --time-limit 60
whole
tr '\n' ' ' <out | grep -Eq 'not proven: another plan could be faster, by +[0-9.]+% at most [(]interrupted[)]' || complain "no gap: $(sed -n 1,8p out)"
interrupt 0 hard.yaml --hw a100-sxm4-40gb --time-limit 60 --json -
"$python" - <<'END' || complain 'the JSON of an interrupted search'
import json, sys
p = json.load(open("out"))["plans"][0]
plan = p["plan"]
primitives = {o for k in plan["kernels"] for o in k["operators"]}
sys.exit(not (plan["interrupted"] and not plan["proven"] and 0 < plan["gap"] <= 1 and len(primitives) == p["workload"]["primitives"]))
END
# Some way into it, with everything that comes after the search.
interrupt 1 stacks/gpt_j --hw a100-sxm4-40gb,t4 --time-limit 60 --verbose
whole
interrupt 0.5 hard.yaml --hw t4 --time-limit 60 --top 3
whole
interrupt 0 explain hard.yaml --hw t4 --time-limit 60 t2 t3
grep -q 't2' out || complain "explain: $(cat out)"
exit $fail
