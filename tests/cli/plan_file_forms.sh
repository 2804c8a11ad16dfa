#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --plan reads back, to the same bits, plans of a training in other forms, with library calls, and with values that are computed again.
# depends: once cost: 4
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
fail=0
complain() { echo "FAILED: $1"; fail=1; }

# Plans whose derivatives have other forms than the first (log_chain), or with library calls and values that are computed again for
# them (gpt2_layer), of every maker.
again() {
    "$FUSESIM" $1 --hw a100-sxm4-80gb --train --search-steps 20000 $2 --json written.json >/dev/null 2>err || complain "$1 $2: $(cat err)"
    "$FUSESIM" $1 --hw a100-sxm4-80gb --train --search-steps 20000 --plan written.json --json read.json >/dev/null 2>err || complain "$1 $2: $(cat err)"
    "$python" - "$3" <<'END' || complain "$1 $2: read back, it differs"
import json, sys
written, read = (json.load(open(name))["plans"][0] for name in ("written.json", "read.json"))
assert sorted(written["plan"].get("derivation", {})) == sys.argv[1].split(), written["plan"].get("derivation")
for kernel in written["plan"]["kernels"]:
    kernel.pop("rule", None)
assert written["plan"]["kernels"] == read["plan"]["kernels"]
time = lambda p, name: next(s["time_s"] for s in p["strategies"] if s["name"] == name)
assert time(written, written["plan"]["strategy"]) == time(read, "file")
END
}
again 'seeds/log_chain --grad x1' '' forms
again gpt2_layer '' 'again calls forms'
again gpt2_layer '--strategy eager' 'again calls forms'
again gpt2_layer '--strategy greedy' '' # the best plan calls a library, and has other operators than this one
# And plans with calls of a serving stack's library, and kernels that it has by hand.
called() { # options
    "$FUSESIM" "$@" --json written.json >/dev/null 2>err || complain "$*: $(cat err)"
    "$FUSESIM" "$@" --strategy optimal --plan written.json --json read.json >/dev/null 2>err || complain "$*, read: $(cat err)"
    "$python" - <<'END' || complain "$*: read back, it differs"
import json
written, read = (json.load(open(name))["plans"][0] for name in ("written.json", "read.json"))
assert any(k["template"] == "serving" for k in written["plan"]["kernels"]), "no call"
for kernel in written["plan"]["kernels"] + read["plan"]["kernels"]:
    kernel.pop("rule", None)
assert written["plan"]["kernels"] == read["plan"]["kernels"]
time = lambda p, name: next(s["time_s"] for s in p["strategies"] if s["name"] == name)
assert time(written, written["plan"]["strategy"]) == time(read, "file")
assert time(written, "optimal") == time(read, "optimal")
END
}
called ops/matmul_w8 --hw t4
for strategy in optimal serving; do called llm/mla_decode --hw b200 --search-steps 100000 --strategy $strategy; done
exit $fail
