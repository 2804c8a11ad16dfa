#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# validate --device cpu: plans run as real kernels on this machine's threads: what is checked, measured, written; the command line of
# --device.
# depends: once cost: 25
. "${SOURCE_DIR:?}/tests/trial.sh"

# On this machine: compared only.
exits 0 seeds/layer_norm seeds/linear_gelu seeds/attention_standard --device cpu --hw a100-sxm4-80gb $small --no-measure
[ "$(grep -c 'agree with the reference' out)" = 3 ] || complain "three workloads compared: $(cat out)"
hasnt out 'measured'
exits 0 seeds/boundaries --device cpu --hw a100-sxm4-80gb $small --no-measure
has out 'are not generated'

# Eight exponentials of anything overflow: nothing is wrong, and nothing is known.
exits 0 golden/exp_chain_8 --device cpu --hw a100-sxm4-80gb --strategies optimal,eager --scale-shapes 64 --no-measure --json untold.json
has out '^All 3 kernels of 2 plans agree with the reference. 7 are not compared'
has out 'optimal: not compared: k0_y: [0-9]+ of [0-9]+ elements of y can be compared, 0 of them finite'
"$python" - "$SOURCE_DIR/reports/schema/trials.schema.json" <<'PY' || complain "untold.json: $(head -c 600 untold.json)"
import json, sys
import jsonschema
d = json.load(open("untold.json"))
jsonschema.validate(d, json.load(open(sys.argv[1])))
plan = {p["strategy"]: p for p in d["workloads"][0]["plans"]}
assert plan["optimal"]["checked"] == 0 and plan["optimal"]["not_compared"] == len(plan["optimal"]["kernels"]) and plan["eager"]["checked"] == 3
assert all((k["not_compared"] is None) == (k["comparable"] > 0.9) for k in plan["eager"]["kernels"][:4])
PY

# Measured: the figures are this machine's, so that only their presence is asked for.
exits 0 seeds/tanh_axpb seeds/softmax_primitive --device cpu --set M=512 --strategies eager,optimal --samples 3 --measured rows.csv --json out.json --markdown out.md --junit out.xml
[ "$(grep -Ec '^(optimal|eager)( \*)? +[0-9]+ +[0-9.]+ [mun]s +[0-9.]+ [mun]s ' out)" = 4 ] || complain "plans: $(cat out)"
has out '^Regret [0-9.]+ %'
has out '^k0_y '
has out.md '^\| *plan'
has out.xml 'classname="fusesim.kernels" name="tanh_axpb/optimal"'
"$python" - <<'PY' || complain "JSON: $(head -c 600 out.json)"
import json
d = json.load(open("out.json"))
assert d["schema"] == 1 and d["device"]["kind"] == "cpu" and len(d["workloads"]) == 2
for w in d["workloads"]:
    assert w["checked_scale"] >= 1 and w["regret"] >= 0 and {p["strategy"] for p in w["plans"]} == {"eager", "optimal"}
    for p in w["plans"]:
        assert p["wrong"] == 0 and p["checked"] == len(p["kernels"]) and p["measured"]["samples"] >= 3 and p["predicted_s"] > 0 and p["differs"] is None
        assert all(k["measured"]["cold"]["median_s"] > 0 and k["predicted"]["cold_s"] > 0 for k in p["kernels"])
PY
"$python" - "$SOURCE_DIR/reports/schema/trials.schema.json" <<'PY' || complain "out.json is not of its schema"
import json, sys
import jsonschema
jsonschema.validate(json.load(open("out.json")), json.load(open(sys.argv[1])))
PY
# What was measured is predicted again without the device.
timeout 60 "$FUSESIM" validate --measurements rows.csv >again 2>err || complain "rows.csv is not read: $(cat err)"
has again '^host '
[ "$(grep -c ',kernel,' rows.csv)" -ge 8 ] || complain "rows of kernels: $(cat rows.csv)"
for width in 80 120; do
    COLUMNS=$width exits 0 seeds/exp_add_log --device cpu --set M=256 --strategies eager,optimal --samples 3 --threads 1 --no-check
    [ "$(awk 'length > n { n = length } END { print n }' out)" -le $width ] || complain "wider than $width: $(awk -v w=$width 'length > w' out)"
done

# Gates: nothing is that far off, and something is.
exits 0 seeds/tanh_axpb --device cpu --set M=256 --strategies eager,optimal --samples 3 --threads 1 --gate mape=1000000% --gate regret=100000%
has out 'gate mape=1000000% holds'
exits 1 seeds/tanh_axpb --device cpu --set M=256 --strategies eager,optimal --samples 3 --threads 1 --gate bytes=3%
has err 'gate bytes=3% failed'

# The command line.
exits 2 seeds/tanh_axpb
has err 'wanted --device cpu or cuda'
exits 2 --device cpu
has err 'wants a workload'
exits 2 seeds/tanh_axpb --device cpu --strategies eagre
has err "did you mean 'eager'"
exits 2 seeds/tanh_axpb --device cpu --gate mpae=3%
has err "did you mean 'mape'"
exits 2 seeds/tanh_axpb --device cpu --gate mape
exits 2 seeds/tanh_axpb --device cpu --no-check --no-measure
exits 2 seeds/tanh_axpb --device cpu --measured x.csv --scale-shapes 4
exits 2 seeds/tanh_axpb --device cuda
has err 'wants one --hw'
exits 66 seeds/tanh_axbp --device cpu
exits 2 seeds/tanh_axpb --device cuda --hw h100-sxm5-80gb --measurements rows.csv
CC=no-such-compiler exits 69 seeds/tanh_axpb --device cpu --no-measure
has err 'no C compiler'

exit $fail
