#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depends: once cost: 3
# Every command prices with the same figures of a GPU, whatever --hw-set changes and whatever lies in the working directory.
set -u
: "${FUSESIM:?}" "${SOURCE_DIR:?}"
python=$(command -v python3) || exit 77
cd "$(mktemp -d)" || exit 70
trap 'rm -rf "$PWD"' EXIT
unset COLUMNS FUSESIM_HWMODELS
bad=0
complain() { echo "FAIL: $*"; bad=1; }

# planned WORKLOAD HW [options]: the time of eager in a CUDA graph, warm, as plan has it.
planned() {
    local workload=$1 hw=$2
    shift 2
    "$FUSESIM" "$workload" --hw "$hw" --strategy eager --launch graph --l2 warm --json - "$@" 2>err | "$python" -c '
import json, sys
j = json.load(sys.stdin)
j = j["plans"] if "plans" in j else j
print("%.9g" % (j[0] if isinstance(j, list) else j)["strategies"][0]["time_s"])'
}

# validated WORKLOAD HW [options]: the same as validate predicts it for a row of a measurements file.
validated() {
    local workload=$1 hw=$2
    shift 2
    printf 'id,hw,workload,strategy,l2,launch,time_s\none,%s,%s,eager,warm,graph,1\n' "$hw" "$workload" >row.csv
    "$FUSESIM" validate --measurements row.csv --json - "$@" 2>err | "$python" -c '
import json, sys
print("%.9g" % json.load(sys.stdin)["rows"][0]["predicted_s"])'
}

# agree WORKLOAD HW [options]
agree() {
    local plan validate
    plan=$(planned "$@")
    validate=$(validated "$@")
    [ -n "$plan" ] && [ "$plan" = "$validate" ] || complain "$*: plan says $plan s, validate $validate s: $(cat err)"
}
agree bert_layer rtx-4090
agree bert_layer rtx-4090 --hw-set power_limit=2x
agree bert_layer rtx-4090 --hw-set fp32_peak=0.5x --hw-set gemm_tensor_efficiency=0.6
agree mlp t4 --hw-set power_limit=0.5x
agree mlp b200 --hw-set tensor_bf16=2x
[ "$(planned bert_layer rtx-4090 --hw-set gemm_tensor_efficiency=0.3)" != "$(planned bert_layer rtx-4090 --hw-set gemm_tensor_efficiency=0.9)" ] ||
    complain '--hw-set of a key that the file lacks has no effect'
# The GPUs of --hw and those that rows name alone are loaded alike.
[ "$(validated bert_layer rtx-4090 --hw-set power_limit=2x)" = "$(validated bert_layer rtx-4090 --hw-set power_limit=2x --hw rtx-4090)" ] ||
    complain 'validate: --hw changes the prediction of its rows'

# Other hardware files, in the working directory or in the user's folder, have no say in what a shipped GPU's file lacks.
before=$(planned mlp t4)
key=gemm_tensor_efficiency
grep -q "^$key:" "$SOURCE_DIR/hwmodels/t4.yaml" && complain "t4 has $key by now: the test needs a key that it lacks"
sed "/^name:/d; /^$key:/d; \$a$key: {value: 0.1, source: \"fitted: here\"}" "$SOURCE_DIR/hwmodels/t4.yaml" >mine.yaml
"$FUSESIM" hw check mine.yaml >out 2>&1 || complain "the file that should have no say is not valid: $(cat out)"
[ "$(planned mlp t4)" = "$before" ] || complain 'a hardware file in the working directory changes predictions for the t4'
mkdir own && mv mine.yaml own
[ "$(FUSESIM_HWMODELS=own planned mlp t4)" = "$before" ] || complain 'a file in $FUSESIM_HWMODELS changes predictions for the t4'
rm -r own

# A file that is there and can't be read is an error that says so, also where only its name was given.
mkdir folder.yaml && truncate -s 65M large.yaml
for wrong in "folder: is a directory (folder.yaml)" "folder.yaml: is a directory" "large: "; do
    "$FUSESIM" mlp --hw "${wrong%%: *}" >out 2>err
    status=$?
    [ $status = 66 ] && grep -Fq "cannot read hardware file" err && grep -Fq "${wrong#*: }" err || complain "--hw ${wrong%%: *}: exit $status: $(cat err)"
done
rm -r folder.yaml large.yaml

# With few descriptors left, the prediction is the same or an error: nothing is left out.
"$FUSESIM" mlp --hw rtx-4090 --json want.json >out 2>err || complain "plan: $(cat err)"
for limit in 4 5 6 8 12; do
    (ulimit -n $limit && exec "$FUSESIM" mlp --hw rtx-4090 --json now.json) >out 2>err
    status=$?
    if [ $status -ne 0 ]; then
        grep -Eiq 'too many open files|Error 24' err || complain "ulimit -n $limit: exit $status: $(cat err)"
        continue
    fi
    for file in want now; do
        sed 's/"search_s": *[-+.e0-9]*//' $file.json >$file.txt
    done
    cmp -s want.txt now.txt || complain "ulimit -n $limit: another prediction"
done

# A start reads one hardware file.
if command -v strace >/dev/null && strace -o trace -e trace=openat "$FUSESIM" mlp --hw rtx-4090 >out 2>err; then
    [ "$(grep -c 'hwmodels/.*\.yaml' trace)" = 1 ] || complain "a start reads more than one hardware file: $(grep hwmodels/ trace)"
fi

# A GPU in anybody's words: the variant that is taken, and the others, are named.
while read -r taken others name; do
    "$FUSESIM" mlp --hw "$name" --json plan.json >out 2>err || complain "--hw '$name': $(cat err)"
    grep -q "\"name\":.*\"$taken\"" plan.json || complain "--hw '$name': wanted $taken"
    case $others in
    -) [ ! -s err ] || complain "--hw '$name': $(cat err)" ;;
    .) grep -q "warning: '$name' is taken to be $taken\$" err || complain "--hw '$name': $(cat err)" ;;
    *) grep -q "warning: '$name' is taken to be $taken; there are also $(echo "$others" | sed 's/,/, /g')\$" err || complain "--hw '$name': $(cat err)" ;;
    esac
done <<'END'
a100-sxm4-80gb a100-pcie-40gb,a100-pcie-80gb,a100-sxm4-40gb a100.yaml
a100-sxm4-80gb a100-pcie-40gb,a100-pcie-80gb,a100-sxm4-40gb A100
a100-pcie-80gb a100-pcie-40gb NVIDIA A100 PCIe
a100-sxm4-40gb a100-pcie-40gb a100 40gb
a100-sxm4-80gb a100-pcie-80gb A100-80
h100-sxm5-80gb h100-nvl,h100-pcie-80gb h100
h100-nvl - NVIDIA H100 NVL
h100-sxm5-80gb . H100-SXM
mi300x . mi300
mi250x . AMD Instinct MI250
rtx-6000-ada - NVIDIA RTX 6000 Ada Generation
rtx-pro-6000 - NVIDIA RTX PRO 6000 Blackwell Workstation Edition
rtx-a6000 . A6000
a10 - NVIDIA A10
tpu-v5e . v5e
h200-sxm-141gb . H200
h100-sxm5-80gb h100-pcie-80gb NVIDIA H100 80GB HBM3
rtx-4090 . 4090
rtx-4090 - RTX4090
rtx-4090 - GeForce RTX 4090
v100-sxm2-32gb v100-pcie-32gb tesla v100
mi300x - Mi300X
l4 - L4.yaml
END
# Words of several GPUs, of none, or of another product are no name, nor is a path that is not there.
for name in 80gb 80 rtx sxm mi a1000 l40 m3 gpus/a100.yaml; do
    "$FUSESIM" mlp --hw $name >out 2>err
    [ $? -eq 66 ] || complain "--hw $name: wanted exit 66"
    grep -q "'$name'; nearest: " err || complain "--hw $name: $(cat err)"
done
# One GPU under two names is told.
"$FUSESIM" mlp --hw t4,l4,Tesla-T4 >out 2>err || complain "a GPU twice: $(cat err)"
grep -q "^fusesim: warning: --hw names t4 twice, as 't4' and 'Tesla-T4'$" err || complain "a GPU twice: $(cat err)"
# A dtype that one of several GPUs has no fast unit for is told, and of which.
"$FUSESIM" llama_block --hw t4,l4 --set dtype=bf16 >out 2>err || complain "llama_block: $(cat err)"
grep -q '^t4 has no tensor unit for bf16: ' out && ! grep -q '^l4 has no\|This GPU' out || complain "a slow dtype on one of two GPUs: $(cat out)"
# So are products in tf32 where no unit has it.
printf '%s\n' 'tensors: {a: {shape: [64, 64], dtype: f32}, b: {shape: [64, 64], dtype: f32}}' \
    'operators: [{op: matmul, in: [a, b], out: y, compute: tf32}]' 'outputs: [y]' >tf32.yaml
"$FUSESIM" tf32.yaml --hw t4 >out 2>err || complain "tf32.yaml: $(cat err)"
tr '\n' ' ' <out | grep -q 'This GPU has no tensor unit for tf32: 1 product ' || complain "tf32 on a T4: $(cat out)"
"$FUSESIM" tf32.yaml --hw l4 >out 2>err && ! grep -q 'no tensor unit' out || complain "tf32 on an L4: $(cat out)"
# So are products of which a library's fast kernels cannot copy the rows.
for shape in 64,100,y 64,104, 16,100,; do
    m=${shape%%,*} k=${shape#*,}
    printf '%s\n' "tensors: {a: {shape: [$m, ${k%,*}], dtype: f16}, b: {shape: [${k%,*}, 64], dtype: f16}}" \
        'operators: [{op: matmul, in: [a, b], out: y}]' 'outputs: [y]' >rows.yaml
    "$FUSESIM" rows.yaml --hw l4 --json rows.json >out 2>err || complain "rows.yaml: $(cat err)"
    told=$(tr '\n' ' ' <out | grep -c "'y' reads rows that are no multiple of 16 bytes (100 elements)")
    [ "$told" = "$([ "${k#*,}" ] && echo 1 || echo 0)" ] || complain "rows of $shape: $(cat out)"
    [ "$(grep -c '"unaligned"' rows.json)" = "$told" ] || complain "rows of $shape: $(cat rows.json)"
done
# Part of a name finds the workloads that have it.
"$FUSESIM" bert --hw t4 >out 2>err
grep -q "no such file; there are: bert_12_layers, bert_layer, models/bert_large, models/bert_train, stacks/bert$" err || complain "a workload's name in part: $(cat err)"
exit $bad
