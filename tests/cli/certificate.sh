#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once     cost: 6
# Certificates of bounds (--proof): tests/check/proof_check.py, which shares no code with fusesim, confirms those of chains, fork-joins,
# softmax, MLPs, attention and random graphs, and refuses spoiled ones. A certificate of "proven" reaches the plan's cost, or says what
# it proves. Where none can be written, the file says why.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export PYTHONDONTWRITEBYTECODE=1 LC_ALL=C
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "no python3: certificates are not checked"; exit 77; }
failures=0
complain() {
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}

for hw in t4 h100-sxm5-80gb; do
    "$FUSESIM" hw show $hw --json $hw.json >/dev/null || exit 1
done
list() {
    local w
    for w in mlp golden/exp_chain_8 golden/two_readers_cheap golden/softmax_rows golden/norm_quantise golden/gemm_gelu liger/swiglu \
        ops/attention seeds/attention_standard seeds/attn_out_residual_ln seeds/two_consumers_costly seeds/mlp_stack seeds/cycle \
        seeds/external_dependency seeds/boundaries seeds/materialize; do
        echo "$w --hw t4"
        echo "$w --hw h100-sxm5-80gb"
    done
    printf '%s\n' 'mlp --hw t4 --objective bytes' 'golden/norm_quantise --hw t4 --l2 warm' 'mlp --hw t4 --launch graph --recompute off' \
        'seeds/attn_out_residual_ln --hw t4 --numerics strict' 'golden/softmax_rows --hw t4 --launch eager'
    # Random graphs: chains with forks, joins, broadcasts and reductions.
    "$python" "$SOURCE_DIR/tests/check/random_graphs.py" 24 "${SEED:-20}"
}
list >calls || complain 'the calls'
"$python" "$SOURCE_DIR/tests/check/proof_check.py" --run "$FUSESIM" calls table || complain 'certificates'
# The search proves no more than the certificate, but for what L2 holds: these are complete.
for w in mlp golden/two_readers_cheap golden/softmax_rows ops/attention seeds/attention_standard seeds/attn_out_residual_ln seeds/mlp_stack; do
    grep -q "^$w --hw t4	confirmed	all	0	" table || complain "$w: $(grep "^$w --hw t4	" table)"
done
"$python" "$SOURCE_DIR/tests/check/proof_spoil.py" "$FUSESIM" t4.json || complain 'spoiled certificates'

# Where there is none: a reason, and no bound. The file is whole or not there, and the plan is the same with and without.
without() { # WHY CALL...
    local why=$1
    shift
    "$FUSESIM" "$@" --hw t4 --quiet --proof - >out 2>err || complain "fusesim $*: $(cat err)"
    grep -q "\"checked\": \"no\", \"reason\": \"$why" out && grep -q '"bound": null, "gap": null, "complete": false' out || complain "fusesim $*: $(head -c 400 out)"
}
without 'the workload is differentiated' mlp --train --search-steps 20000
without 'the bound is of memory' golden/softmax_rows --objective memory
without 'the plan shown is not' mlp --strategy greedy
without 'the plan may call a library' ops/matmul_w8
"$FUSESIM" seeds/wide_fusion --hw t4 --quiet --proof - >out 2>err && grep -q '"checked": "no", "reason": "it has more than 64 primitives"' out || complain 'a wide piece'
stable() { sed -E 's/"search_s": [^,]*/"search_s": 0/' "$1"; }
"$FUSESIM" mlp --hw t4 --json with.json --proof mlp.proof >with.txt && "$FUSESIM" mlp --hw t4 --json without.json >without.txt || complain 'mlp'
cmp with.txt without.txt && diff <(stable with.json) <(stable without.json) || complain 'a plan differs with --proof'
"$FUSESIM" mlp --hw t4,h100-sxm5-80gb --jobs 1 --quiet --proof one.proof >out && "$FUSESIM" mlp --hw t4,h100-sxm5-80gb --jobs 4 --quiet --proof four.proof >out &&
    cmp one.proof four.proof || complain 'threads change a certificate'
"$FUSESIM" sweep mlp --hw t4 --over M=1:2 --proof x.proof >out 2>err
[ $? = 2 ] && grep -q -- "--proof means nothing to 'sweep'" err || complain "sweep --proof: $(cat err)"
"$FUSESIM" mlp --hw t4 --quiet --proof nowhere/x.proof >out 2>err
[ $? != 0 ] && grep -q "cannot write 'nowhere/x.proof'" err || complain "a folder that is not there: $(cat err)"

SCHEMA=$SOURCE_DIR/reports/schema/proof.schema.json "$python" - <<'END' || complain 'the schema'
import json, os, sys
try:
    import jsonschema
except ImportError:
    sys.exit(0)
schema = jsonschema.Draft202012Validator(json.load(open(os.environ["SCHEMA"])))
bad = 0
for name in ("mlp.proof", "four.proof"):
    document = json.load(open(name))
    for error in list(schema.iter_errors(document))[:3]:
        print(name, "/".join(map(str, error.absolute_path)), error.message[:200])
        bad = 2
for change in ({"schema": 2}, {"proofs": []}, {"proofs": [{}]}):
    if schema.is_valid({**document, **change}):
        print("accepts", change)
        bad = 2
sys.exit(bad)
END
[ $failures -eq 0 ]
