#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# calibrate --host: what tools/host.py measured of a machine's host (tests/measured/host.csv: plausible figures, of no machine) becomes keys of its GPU's file, and eager
# predictions take them.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
export LC_ALL=C SOURCE_DATE_EPOCH=86400
unset COLUMNS FUSESIM_HWMODELS
failures=0
complain() { echo "FAILED: $*"; failures=1; }
host=$SOURCE_DIR/tests/measured/host.csv

"$FUSESIM" calibrate --hw h100-sxm5-80gb --host "$host" -o my.yaml >out 2>err || complain "calibrate --host: $(cat err)"
grep -q "^batch_norm\|host_batch_norm  *3.51  *4.5" out || complain "the report: $(cat out)"
grep -q '^launch_eager: *{value: 4.20 us, source: "measured: tools/host.py, host.csv, torch 2.5.1; NVIDIA H100 80GB HBM3; x86_64, 1970-01-02"}$' my.yaml || complain "launch_eager: $(grep launch_eager my.yaml)"
grep -q '^host_convolution_bias: *{value: 2.31, ' my.yaml || complain "host_convolution_bias: $(grep host_ my.yaml)" # 18.1 / 4.2 - 2
grep -q '^# Measured by: fusesim calibrate --hw h100-sxm5-80gb --host host.csv (1970-01-02)$' my.yaml || complain "the head: $(head -3 my.yaml)"
[ "$(grep -c '"measured: tools/host.py' my.yaml)" = 14 ] || complain "$(grep -c tools/host.py my.yaml) keys"
diff <(grep -v 'tools/host.py\|^# Measured by' my.yaml) <(grep -v '^launch_eager' "$SOURCE_DIR/hwmodels/h100-sxm5-80gb.yaml") >diffs || complain "other lines changed: $(cat diffs)"

# Rows of whole networks fit no scalar, which is said; so is what to do with a fit.
printf '%s\n' id,hw,workload,set,strategy,l2,launch,time_s l4/b8,l4,models/bert_large,'B=8;S=512;dtype=f32',eager,unknown,eager,0.4099 >pairs.csv
"$FUSESIM" calibrate --hw l4 --measurements pairs.csv >out 2>err || complain "a network: $(cat err)"
grep -q '^residuals  *1  *too few rows of any kind$' out && grep -q '^No figure of l4 changes: ' out || complain "rows that fit nothing: $(cat out)"
"$FUSESIM" calibrate --hw h100-sxm5-80gb --host "$host" >out 2>err && grep -q '^Nothing was written: -o FILE gets' out || complain "no -o: $(cat out err)"

# A batch norm takes this host 23.1 us in all, and so does the eager prediction of one that the GPU is done with sooner.
cat >norm.yaml <<'YAML'
tensors: {x: {shape: [4, 64, 8, 8], dtype: f32}, w: {shape: [64], dtype: f32, role: weight}, b: {shape: [64], dtype: f32, role: weight}, m: {shape: [64], dtype: f32, role: weight}, v: {shape: [64], dtype: f32, role: weight}}
operators:
  - {op: batch_norm, in: [x, w, b, m, v], out: y}
outputs: [y]
YAML
eager() { "$FUSESIM" norm.yaml --hw "$1" --launch eager --strategy eager --json - | python3 -c 'import json, sys; p = json.load(sys.stdin)["plans"][0]["plan"]; print(sum(k["time_s"] for k in p["kernels"]))'; }
command -v python3 >/dev/null && {
    old=$(eager h100-sxm5-80gb) new=$(eager ./my.yaml)
    awk -v old="$old" -v new="$new" 'BEGIN {exit !(new > 2.2e-5 && new < 2.5e-5 && old != new)}' || complain "a batch norm takes $new s, $old before"
}

# refused TEXT LINE...: the file of these lines is refused with a message that holds TEXT.
refused() {
    local text=$1
    shift
    printf '%s\n' "$@" >bad.csv
    "$FUSESIM" calibrate --hw h100-sxm5-80gb --host bad.csv -o no.yaml >out 2>err
    [ $? = 65 ] && grep -qF "$text" err && [ ! -e no.yaml ] || complain "wanted '$text', found: $(cat err)"
}
header=operator,launches,seconds,machine
refused "bad.csv:1:1: error: no column 'seconds'" operator,launches,time,machine add,1,4e-6,m
refused "bad.csv:2:1: error: no operator 'batchnorm'; did you mean 'batch_norm'?" $header batchnorm,1,2e-5,m
refused "bad.csv:2:7: error: 'seconds' is '-1'; wants 1e-08 to 0.01" $header add,1,-1,m
refused "bad.csv:3:1: error: a second row of 'add'; the first is in line 2" $header add,1,4e-6,m add,1,5e-6,m
refused "bad.csv:1:1: error: no row of 'add'" $header pool,1,4e-6,m
"$FUSESIM" calibrate --host "$host" >out 2>err && complain "without --hw"
"$FUSESIM" calibrate --hw l4 --host "$host" --device cpu >out 2>err && complain "with --device"
exit $failures
