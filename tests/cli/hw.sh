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
    [ "$(head -n 1 out)" = "$file: ok" ] && grep -Eq '^  of [0-9]+ figures: [0-9]+ given, [0-9]+ from the architecture ' out || complain "hw check $file does not say ok"
    [ ! -s err ] || complain "hw check $file says something else"
    name=$(basename "$file" .yaml)
    [ "$(sed -n 's/^name: *//p' "$file")" = "$name" ] || complain "$file has another name inside"
    "$FUSESIM" hw show "$file" >out 2>err || complain "hw show $file"
    lacking=$(grep -oE '^[a-z0-9_]+:' "$file" | tr -d : | grep -vxE 'name|description|architecture' | grep -vxFf <(sed -n 's/^\([a-z0-9_]*\) .*/\1/p' out))
    [ -z "$lacking" ] || complain "hw show $file leaves out $lacking"
    # What it prints is what a prediction uses.
    "$FUSESIM" hw show "$file" --json "$name.json" >out 2>err || complain "hw show $file --json"
done
"$python" - <<'END' || complain "hw show: the JSON"
import glob, json
for path in glob.glob("*.json"):
    hw = json.load(open(path))
    assert hw["name"] + ".json" == path and len(hw["hash"]) == 64, hw
    for key in "sms sm_clock dram_bandwidth dram_capacity l2_capacity fp32_peak launch_stream kernel_floor warp_size".split():
        q = hw["keys"][key]
        assert (q["value"] or q["achieved"]) > 0 and q["source"], (path, key)
    price = hw["keys"].get("rent")
    assert not price or ", 20" in price["source"], (path, "a price has a date")
END
rm -f ./*.json

# What nobody measured there comes from its relatives, and says so.
"$FUSESIM" hw show b300 >out 2>err
grep -Eq '^gemm_tensor_efficiency .*assumed: as on b200' out || complain 'hw show: what relatives tell'

# All at once, and a bad one among good ones.
"$FUSESIM" hw check "$SOURCE_DIR"/hwmodels/*.yaml >out 2>err || complain 'hw check of all'
[ "$(grep -c ': ok$' out)" = "$(ls "$SOURCE_DIR"/hwmodels/*.yaml | wc -l)" ] || complain 'hw check of all: a line each'
sed '/^sm_clock/d' "$SOURCE_DIR/hwmodels/l4.yaml" >bad.yaml
"$FUSESIM" hw check l4 bad.yaml t4 >out 2>err
[ $? = 65 ] || complain 'hw check of a bad one: exit status'
[ "$(grep -c ': ok$' out)" = 2 ] || complain 'hw check of a bad one: the others are ok'
grep -q "^bad.yaml:.*missing key 'sm_clock'" err || complain 'hw check of a bad one: the message'
"$FUSESIM" hw check l4 bad.yaml --json - >out 2>err
"$python" -c 'import json; assert [(f["ok"], f["errors"]) for f in json.load(open("out"))] == [(True, 0), (False, 1)]' ||
    complain 'hw check --json -'
rm bad.yaml

# A GPU that is not shipped: eight figures of its data sheet and its architecture, as docs/FORMATS.md has them.
sed -n '/^This is a whole one\|: an architecture, and eight figures/,/^The first five/{/^[a-z_0-9]*: /p}' "$SOURCE_DIR/docs/FORMATS.md" >typed.yaml
[ "$(wc -l <typed.yaml)" = 9 ] && "$FUSESIM" hw check typed.yaml >out 2>err && [ ! -s err ] && grep -q ': 8 given, ' out || complain 'the example of docs/FORMATS.md'
rm -f typed.yaml
cat >a6000.yaml <<'END'
architecture:   sm_86
sms:            {value: 84, source: NVIDIA data sheet}
sm_clock:       {peak: 1800 MHz, source: NVIDIA data sheet}
dram_bandwidth: {peak: 768 GB/s, source: NVIDIA data sheet}
dram_capacity:  {value: 48 GiB, source: NVIDIA data sheet}
l2_capacity:    {value: 6 MiB, source: NVIDIA data sheet}
tensor_f16:     {peak: 154.8 TFLOP/s, source: NVIDIA data sheet}
power_limit:    {value: 300 W, source: NVIDIA data sheet}
link_bandwidth: {peak: 31.5 GB/s, source: NVIDIA data sheet}
END
"$FUSESIM" hw check a6000.yaml >out 2>err && [ ! -s err ] || complain "hw check of eight figures: $(cat err)"
grep -q '^  of .*: 8 given, 15 from the architecture sm_86, ' out || complain "hw check of eight figures: $(cat out)"
grep -q 'not given' out && complain "hw check of eight figures: something lacks: $(cat out)"
COLUMNS=300 "$FUSESIM" hw show a6000.yaml >out 2>err || complain 'hw show of eight figures'
for row in 'warp_size +32 +from the architecture sm_86: CUDA' 'fp32_peak +38.7072 TFLOP/s .*SMs x fp32_rate x 2 x clock; achieved assumed: as on' \
    'tensor_bf16 +154.8 TFLOP/s .*1 x tensor_f16, as on sm_86' 'tensor_i8 +309.6 TFLOP/s' 'launch_stream .*assumed: as on rtx-3090 and a10'; do
    grep -Eq "^$row" out || complain "hw show of eight figures: no row '$row'"
done
"$FUSESIM" mlp --hw a6000.yaml >out 2>err && [ ! -s err ] || complain "a plan with eight figures: $(cat err)"
# Without one of them the message says which, and what shipped GPUs have.
sed '/^l2_cap/d' a6000.yaml >less.yaml
"$FUSESIM" hw check less.yaml >out 2>err
[ $? = 65 ] && grep -q "missing key 'l2_capacity': .*e.g. l2_capacity: {value: [0-9]* MiB, source: ...}; shipped GPUs have 2 MiB to " err || complain "seven figures: $(cat err)"
sed '/^power/d; /^tensor/d' a6000.yaml >less.yaml
"$FUSESIM" hw check less.yaml >out 2>err || complain "six figures: $(cat err)"
grep -q 'not given, and in every data sheet: tensor_f16, power_limit$' out || complain "six figures: $(cat out)"

# A sparse rate is one mistake, whatever follows from it; of another kind of accelerator the message says what its keys mean.
sed 's/154.8/309.7/' a6000.yaml >less.yaml
"$FUSESIM" hw check less.yaml >out 2>err
[ $? = 65 ] && [ "$(grep -c 'error: ' err)" = 1 ] && grep -q 'looks like the 2:1 sparse figure: the dense one is 154.85' err || complain "a sparse rate: $(cat err)"
sed 's/sm_86/generic/' a6000.yaml >less.yaml
"$FUSESIM" hw check less.yaml >out 2>err
[ $? = 65 ] && [ "$(grep -c 'error: missing key' err)" = 2 ] && grep -q 'sms are its cores, shared_memory_per_sm is the memory of one core' err || complain "another kind: $(cat err)"

# Inheritance: what is inherited is never measured, and figures of a data sheet that are another product's are named.
printf 'like: l40s\nsms: {value: 71, source: s}\ndram_bandwidth: {peak: 432 GB/s, source: s}\n' >half.yaml
COLUMNS=300 "$FUSESIM" hw show half.yaml >out 2>err || complain "hw show of a like: $(cat err)"
grep -q "^half.yaml:1:7: warning: these figures are those of l40s, as the file gives none: sm_clock, dram_capacity, l2_capacity, tensor_f16, power_limit, link_bandwidth\$" err ||
    complain "a like: $(cat err)"
for row in 'fp32_peak +45.8 TFLOP/s .*from l40s by SMs and clock: ' 'l2_bandwidth +- +2602.5 GB/s +from l40s by SMs and clock: measured: ' 'l2_capacity +96 MiB +from l40s: ' \
    'dram_bandwidth +432 GB/s .*s; achieved assumed: as on l40s' 'gemm_floor .*from l40s: fitted: '; do
    grep -Eq "^$row" out || complain "hw show of a like: no row '$row'"
done
grep -q '^dram_bus' out && complain 'a like inherits the bus of another bandwidth'
"$FUSESIM" hw show half.yaml --json - 2>err | "$python" -c '
import json, sys
k = json.load(sys.stdin)["keys"]
assert k["sms"]["from"] == "given" and k["l2_capacity"]["from"] == "inherited" and k["warp_size"]["from"] == "architecture", k' || complain 'hw show --json: from'
"$FUSESIM" bert_layer --hw half.yaml --json - 2>err | "$python" -c '
import json, sys
text = sys.stdin.read()
plan = json.loads(text)
rests = (plan["plans"][0] if "plans" in plan else plan)["plan"]["rests_on"]
assert not rests["measured"] and not rests["fitted"] and rests["assumed"], rests' || complain 'a like counts as measured'
# A like of a like, a path, a file that has the name of the GPU that it changes.
mkdir -p fleet && printf 'like: ../half.yaml\nsms: {value: 35, source: s}\n' >fleet/quarter.yaml
COLUMNS=300 "$FUSESIM" hw show fleet/quarter.yaml 2>err | grep -Eq '^dram_bandwidth +432 GB/s .*from half: s' || complain 'a like of a like'
printf 'like: t4\npower_limit: {value: 60 W, source: s}\n' >fleet/t4.yaml
"$FUSESIM" hw check fleet/t4.yaml >out 2>err || complain "a like of its own name: $(cat err)"
# What can't be.
printf 'like: rtx-3900\n' >none.yaml
"$FUSESIM" hw check none.yaml >out 2>err
[ $? = 65 ] && grep -q "^none.yaml:1:7: error: like: there is no GPU 'rtx-3900'; nearest: rtx-" err || complain "a like of nothing: $(cat err)"
printf 'like: there.yaml\n' >here.yaml
printf 'like: here.yaml\n' >there.yaml
"$FUSESIM" hw check here.yaml >out 2>err
[ $? = 65 ] && grep -q "^./there.yaml:1:7: error: like: 'here.yaml' is ./here.yaml, which inherits from this file: a GPU can't inherit from itself" err || complain "a circle: $(cat err)"
printf 'like: l4\nl2_capacity: {value: 90 GiB, source: s}\n' >wrong.yaml
"$FUSESIM" hw check wrong.yaml >out 2>err
[ $? = 65 ] && grep -q '^wrong.yaml:2' err || complain "a like with a wrong figure: $(cat err)"
rm -r fleet ./*.yaml

# hw new: a file to fill in, and one that inherits and is valid at once. Nothing is overwritten.
"$FUSESIM" hw new card >out 2>err || complain 'hw new'
grep -q "^Wrote card.yaml: replace each TODO" out || complain "hw new: $(cat out)"
"$FUSESIM" hw check card.yaml >out 2>err
[ $? = 65 ] && [ "$(grep -c 'error: .* is still to be filled in: ' err)" = 9 ] || complain 'hw check of a new file'
grep -q 'error: sms is still to be filled in: multiprocessors .*, e.g. {value: [0-9]*, source: ...}; shipped GPUs have 20 to 304$' err || complain 'hw check of a new file: sms'
sed -i 's/^\(architecture: \)TODO/\1sm_86/; s/^\(sms: .*\)TODO/\184/; s/^\(sm_clock: .*\)TODO/\11800 MHz/; s/^\(dram_bandwidth: .*\)TODO/\1768 GB\/s/; s/^\(dram_capacity: .*\)TODO/\148 GiB/
    s/^\(l2_capacity: .*\)TODO/\16 MiB/; s/^\(tensor_f16: .*\)TODO/\1154.8 TFLOP\/s/; s/^\(power_limit: .*\)TODO/\1300 W/; s/^\(link_bandwidth: .*\)TODO/\156.25 GB\/s/' card.yaml
"$FUSESIM" hw check card.yaml >out 2>err && [ ! -s err ] && grep -q ': 8 given, 15 from the architecture sm_86' out || complain "hw check of a filled file: $(cat out)"
"$FUSESIM" hw new heir --like 3090 >out 2>err || complain 'hw new --like'
grep -q "warning: '3090' is taken to be rtx-3090" err || complain 'hw new --like: the GPU'
"$FUSESIM" hw check heir.yaml >out 2>err && grep -q ': 0 given, [0-9]* from rtx-3090, ' out || complain "hw check of a new file that inherits: $(cat out)"
sed -i 's/^# \(sms: .*\)82/\184/; s/^# \(power_limit: .*\)350/\1300/' heir.yaml
"$FUSESIM" hw check heir.yaml >out 2>err && grep -q ': 2 given, ' out || complain "hw check with two figures: $(cat out err)"
cp card.yaml kept && "$FUSESIM" hw new card >out 2>err
[ $? = 2 ] && cmp -s card.yaml kept && grep -q "hw new: 'card.yaml' is there already" err || complain 'hw new overwrites'
"$FUSESIM" hw new l4 >out 2>err
[ $? = 2 ] && [ ! -e l4.yaml ] && grep -q 'l4 is shipped' err || complain 'hw new hides a shipped GPU'
"$FUSESIM" hw new a/b >out 2>err
[ $? = 2 ] && grep -q "'a/b' is no name" err || complain 'hw new with a path as name'
"$FUSESIM" hw list --like t4 >out 2>err
[ $? = 2 ] && grep -q -- '--like is of hw new, not of hw list' err || complain '--like elsewhere'
"$FUSESIM" hw new none --like rtx-3900 >out 2>err
[ $? != 0 ] && [ ! -e none.yaml ] || complain 'hw new --like of nothing'
"$FUSESIM" hw new spoken -o - >out 2>err && [ ! -e spoken.yaml ] && grep -q '^architecture: TODO' out || complain 'hw new -o -'
rm card.yaml heir.yaml kept

# Another kind of accelerator: its roofline, done by hand. 8192^3 in bf16 at the peak, and at the share of it that GPUs reach on average; a copy of 1 GiB; a
# product with a vector, which reads its matrix once.
cat >mm.yaml <<'END'
tensors: {a: {shape: [8192, 8192], dtype: bf16}, b: {shape: [8192, 8192], dtype: bf16}}
operators: [{op: matmul, in: [a, b], out: c}]
END
cat >copy.yaml <<'END'
tensors: {a: {shape: [16384, 16384], dtype: bf16}}
operators: [{op: relu, in: [a], out: c}]
END
cat >vector.yaml <<'END'
tensors: {a: {shape: [1, 8192], dtype: bf16}, b: {shape: [8192, 8192], dtype: bf16}}
operators: [{op: matmul, in: [a, b], out: c}]
END
for hw in tpu-v5e tpu-v5p tpu-v6e gaudi3; do
    for workload in mm copy vector; do
        "$FUSESIM" $workload.yaml --hw $hw --json $hw-$workload.json >out 2>err || complain "$workload on $hw"
    done
done
"$python" - <<'END' || complain 'an accelerator of another kind: not its roofline'
import json
peak = {"tpu-v5e": (197e12, 819e9), "tpu-v5p": (459e12, 2765e9), "tpu-v6e": (918e12, 1638e9), "gaudi3": (1677e12, 3700e9)}
for hw, (flops, bytes_s) in peak.items():
    for workload, least in (("mm", 2 * 8192**3 / flops), ("copy", 2**30 / bytes_s), ("vector", 2 * 8192**2 / bytes_s)):
        plan = json.load(open("%s-%s.json" % (hw, workload)))
        plan = plan["plans"][0] if "plans" in plan else plan
        s = plan["strategies"]
        ratio = (s[0] if isinstance(s, list) else s["optimal"])["time_s"] / least
        assert 1 < ratio < 1.6, (hw, workload, ratio)
END
grep -q 'priced by its peaks and its bytes alone (architecture: generic)' out || complain 'gaudi3: what is not modelled'
"$FUSESIM" codegen mlp --hw tpu-v5e -o code >out 2>err
[ $? = 2 ] && [ ! -e code ] && grep -q "codegen can't write for tpu-v5e: it is no GPU" err || complain 'codegen for a TPU'
rm -f ./*.json ./*.yaml

# The list: every shipped name, sorted.
"$FUSESIM" hw list >out 2>err || complain 'hw list'
tail -n +2 out | awk '{ print $1 }' >names
ls "$SOURCE_DIR/hwmodels" | sed -n 's/\.yaml$//p' | sort | cmp -s - names || complain 'hw list is not what hwmodels/ holds'
grep -Eq '^a100-sxm4-80gb +sm_80 +108 +2039 GB/s +19.5 TFLOP/s +312 TFLOP/s +[-0-9]' out || complain 'hw list: the row of the A100'
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
# Half of the SMs have half of the peak, as in a file with `like:`; what is set itself stays, in any order.
"$FUSESIM" hw show h100-sxm5-80gb --hw-set fp32_peak='50 TFLOP/s' --hw-set sms=0.5x --hw-set sm_clock=0.5x --hw-set fp16_rate=2x >out || complain 'hw show of fewer SMs'
grep -Eq '^tensor_bf16 +247.* TFLOP/s +198.* --hw-set' out || complain 'a quarter of the SMs and clocks has a quarter of the peak'
grep -Eq '^l2_bandwidth +- +2524 GB/s' out || complain 'a quarter of the L2 bandwidth'
grep -Eq '^fp32_peak +50 TFLOP/s' out || complain 'a peak that is set stays'
grep -Eq '^fp16_peak +67 TFLOP/s' out || complain 'fp16_peak goes with its rate'


# A folder that is there but can't be listed is an error, not an empty list.
ln -s loop loop
FUSESIM_HWMODELS=$PWD/loop "$FUSESIM" hw list >out 2>err
[ $? = 66 ] && [ ! -s out ] && grep -q "cannot list '.*/loop'" err || complain 'hw list of a folder that leads to itself'
[ $failures = 0 ] || { echo "$failures failures" >&2; exit 1; }
