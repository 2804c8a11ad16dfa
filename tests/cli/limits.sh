#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --search-steps ends a search at the same place in every run and with any --jobs; --time-limit ends it by the clock, and the report and the JSON say which it was.
# depends: memory cost: 4
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
python=${PYTHON:-python3}
fail=0
complain() { echo "FAILED: $1"; fail=1; }

# A stack that no search is through with in a millisecond.
awk 'BEGIN {
    print "tensors: {x0: {shape: [4096, 1024], dtype: f16}}"
    print "operators:"
    for (i = 1; i <= 50; i++)
        if (i % 5 == 4) printf "  - {op: sum, in: x%d, out: s%d, dim: %d, keepdim: true}\n  - {op: sub, in: [x%d, s%d], out: x%d}\n", i - 1, i, i % 2, i - 1, i, i
        else printf "  - {op: tanh, in: x%d, out: x%d}\n", i - 1, i
}' >stack.yaml

# ended FILE BY: the plan of the JSON is whole, not proven, and ended BY steps, clock or memory alone.
ended() {
    "$python" - "$1" "$2" <<'END' || complain "$1 was not ended by $2 alone"
import json, sys
p = json.load(open(sys.argv[1]))["plans"][0]
plan = p["plan"]
by = [k for k in ("steps", "clock", "memory") if plan["stopped_by_" + k]]
done = {o for k in plan["kernels"] for o in k["operators"]}
sys.exit(by != [sys.argv[2]] or plan["proven"] or not 0 < plan["gap"] <= 1 or plan["interrupted"] or len(done) < p["workload"]["operators"])
END
}

for steps in 1 5000; do
    for run in 1 2 3; do
        "$FUSESIM" stack.yaml --hw t4,h100-sxm5-80gb --search-steps $steps --jobs $run --json steps.$run >steps.out.$run || complain "exit status $? with --search-steps $steps"
    done
    for run in 2 3; do
        cmp -s steps.1 steps.$run && cmp -s steps.out.1 steps.out.$run || complain "--search-steps $steps ends elsewhere with --jobs $run"
    done
    ended steps.1 steps
    grep -q 'stopped by' steps.out.1 && complain 'steps end a search as they do everywhere: nothing to say'
done
"$FUSESIM" stack.yaml --hw t4 --time-limit 0.001 --json clock.json >clock.out || complain "exit status $? with --time-limit"
ended clock.json clock
grep -q 'stopped by the clock: another run may end elsewhere' clock.out || complain "the report does not say that the clock ended the search: $(sed -n 3,9p clock.out)"
for strategy in eager unfused optimal; do grep -q "^  $strategy " clock.out || complain "no row of $strategy in an answer that had no time"; done
"$FUSESIM" stack.yaml --hw t4 --time-limit 0.001 --strategy maximal >maximal.out && grep -q '^  maximal ' maximal.out || complain 'the strategy that is asked for is planned however long it takes'
"$FUSESIM" stack.yaml --hw t4 --search-memory 1B --json memory.json >memory.out || complain "exit status $? with --search-memory"
ended memory.json memory
# A limit that the search does not reach changes nothing but its own words.
for limit in '--search-steps 500000000' '--time-limit 600'; do
    "$FUSESIM" mlp --hw t4 $limit >limit.out && "$FUSESIM" mlp --hw t4 >free.out && cmp -s limit.out free.out || complain "$limit changes a search that ends before it: $(diff limit.out free.out)"
done
# enumerate stops by the clock; its last line says that there are more.
"$FUSESIM" enumerate bert_layer --hw t4 --time-limit 0.05 >enumerate.out || complain "exit status $? of enumerate"
tail -n 1 enumerate.out | grep -q '"truncated": *true' || complain "enumerate: $(tail -c 200 enumerate.out)"
exit $fail
