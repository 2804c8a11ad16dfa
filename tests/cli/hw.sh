#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every shipped hardware file passes its own checks; list, show and check say what is in the files.
# depends: once cost: 5
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=${PYTHON:-python3}
export LC_ALL=C
unset COLUMNS FUSESIM_HWMODELS
failures=0

complain() {
    echo "FAILED: $1" >&2
    [ ! -s err ] || head -n 12 err >&2
    failures=$((failures + 1))
}

for file in "$SOURCE_DIR"/hwmodels/*.yaml "$SOURCE_DIR"/tests/hw/*.yaml; do
    "$FUSESIM" hw check "$file" >out 2>err || complain "hw check $file"
    [ "$(cat out)" = "$file: ok" ] || complain "hw check $file does not say ok"
    [ ! -s err ] || complain "hw check $file says something else"
    name=$(basename "$file" .yaml)
    [ "$(sed -n 's/^name: *//p' "$file")" = "$name" ] || complain "$file has another name inside"
    "$FUSESIM" hw show "$file" >out 2>err || complain "hw show $file"
    for key in $(grep -oE '^[a-z0-9_]+:' "$file" | tr -d : | grep -vxE 'name|description|architecture'); do
        grep -q "^$key " out || complain "hw show $file leaves out $key"
    done
    # What it prints is what a prediction uses.
    "$FUSESIM" hw show "$file" --json - >out 2>err || complain "hw show $file --json -"
    "$python" - "$name" <<'END' || complain "hw show $file: the JSON"
import json, sys
hw = json.load(open("out"))
assert hw["name"] == sys.argv[1] and len(hw["hash"]) == 64, hw
for key in "sms sm_clock dram_bandwidth dram_capacity l2_capacity fp32_peak launch_stream".split():
    q = hw["keys"][key]
    assert (q["value"] or q["achieved"]) > 0 and q["source"], key
END
done

# What nobody measured there comes from its relatives, and says so.
"$FUSESIM" hw show b200 >out 2>err
grep -Eq '^gemm_tensor_efficiency .*assumed: as on h[12]00' out || complain 'hw show: what relatives tell'

# All at once, and a bad one among good ones.
"$FUSESIM" hw check "$SOURCE_DIR"/hwmodels/*.yaml >out 2>err || complain 'hw check of all'
[ "$(grep -c ': ok$' out)" = "$(ls "$SOURCE_DIR"/hwmodels/*.yaml | wc -l)" ] || complain 'hw check of all: a line each'
sed '/^warp_size/d' "$SOURCE_DIR/hwmodels/l4.yaml" >bad.yaml
"$FUSESIM" hw check l4 bad.yaml t4 >out 2>err
[ $? = 65 ] || complain 'hw check of a bad one: exit status'
[ "$(grep -c ': ok$' out)" = 2 ] || complain 'hw check of a bad one: the others are ok'
grep -q "^bad.yaml:.*missing key 'warp_size'" err || complain 'hw check of a bad one: the message'
"$FUSESIM" hw check l4 bad.yaml --json - >out 2>err
"$python" -c 'import json; assert [(f["ok"], f["errors"]) for f in json.load(open("out"))] == [(True, 0), (False, 1)]' ||
    complain 'hw check --json -'
rm bad.yaml

# The list: every shipped name, sorted.
"$FUSESIM" hw list >out 2>err || complain 'hw list'
tail -n +2 out | awk '{ print $1 }' >names
ls "$SOURCE_DIR/hwmodels" | sed -n 's/\.yaml$//p' | sort | cmp -s - names || complain 'hw list is not what hwmodels/ holds'
grep -Eq '^a100-sxm4-80gb +sm_80 +108 +2039 GB/s +19.5 TFLOP/s +312 TFLOP/s$' out || complain 'hw list: the row of the A100'
"$FUSESIM" hw list --json - >out 2>err
"$python" -c '
import json
rows = {r["name"]: r for r in json.load(open("out"))}
assert rows["a100-sxm4-80gb"]["dram_bandwidth"] == 2.039e12 and rows["p4"]["tensor_f16"] is None' || complain 'hw list --json -'

# Where names are looked for: here, then $FUSESIM_HWMODELS, then what is shipped.
mkdir -p mine
sed 's/^description: .*/description: mine/' "$SOURCE_DIR/hwmodels/l4.yaml" >mine/l4.yaml
sed 's/^name: .*/name: card/' "$SOURCE_DIR/hwmodels/l4.yaml" >mine/card.yaml
FUSESIM_HWMODELS=mine "$FUSESIM" hw show l4 | head -n 1 | grep -q mine || complain '$FUSESIM_HWMODELS comes before what is shipped'
FUSESIM_HWMODELS=mine "$FUSESIM" hw list | grep -q '^card ' || complain '$FUSESIM_HWMODELS is listed'
sed 's/^description: .*/description: here/' "$SOURCE_DIR/hwmodels/l4.yaml" >l4.yaml
FUSESIM_HWMODELS=mine "$FUSESIM" hw show l4 | head -n 1 | grep -q here || complain 'the current folder comes first'
echo 'architecture: sm_80' >broken.yaml
"$FUSESIM" hw list >out 2>err || complain 'hw list with a broken file here'
grep -Eq '^broken +not valid' out || complain 'hw list marks a broken file'
[ ! -s err ] || complain 'hw list complains about a broken file'

# What if.
"$FUSESIM" hw show h100-sxm5-80gb --hw-set sms=64 --hw-set 'dram_bandwidth=2 TB/s' >out 2>err || complain 'hw show --hw-set'
grep -Eq '^sms +64 +--hw-set' out || complain 'hw show --hw-set sms=64'
grep -Eq '^dram_bandwidth +2000 GB/s' out || complain 'hw show --hw-set dram_bandwidth'

[ $failures = 0 ] || { echo "$failures failures" >&2; exit 1; }
